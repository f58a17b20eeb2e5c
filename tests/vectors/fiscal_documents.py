"""Documents of the tax service with their meaning and source.

The samples are the tax service's own, byte for byte: windows-1251, line ends CR LF, two blanks for each level. The
orders of elements are written by hand after the schemas of 2025, to check our sections.
"""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A document that the tax service published, and its meaning."""

    kind: str
    number: str
    """Its fiscal number; empty when the server assigns it."""
    text: str
    source: str

    @property
    def data(self) -> bytes:
        """The bytes of the document."""
        return self.text.replace("\n", "\r\n").encode("windows-1251")


_PACKAGE = "official interface description of 08.08.2025, offline_packet.bin, document "
_SIGNED = "official interface description of 08.08.2025, signed sample, "

SAMPLES = (
    Sample(
        "offline_begin",
        "21182.1.9536",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>102</DOCTYPE>
    <UID>93A01E4F-3FA6-4F6B-96F7-D62B3DE8B72E</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175253</ORDERTIME>
    <ORDERNUM>1836</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <REVOKELASTONLINEDOC>false</REVOKELASTONLINEDOC>
    <CASHIER>ДЗЮ</CASHIER>
    <LOGOURL>https://tax.gov.ua/images/new_logo.png</LOGOURL>
    <VER>1</VER>
    <ORDERTAXNUM>21182.1.9536</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
  </CHECKHEAD>
</CHECK>""",
        _PACKAGE + "1",
    ),
    Sample(
        "open",
        "21182.2.7773",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>100</DOCTYPE>
    <UID>AD5FBDC3-4945-4C45-B175-E30136F6E9C2</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175253</ORDERTIME>
    <ORDERNUM>1837</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <CASHIER>ДЗЮ</CASHIER>
    <LOGOURL>https://tax.gov.ua/images/new_logo.png</LOGOURL>
    <VER>1</VER>
    <ORDERTAXNUM>21182.2.7773</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
  </CHECKHEAD>
</CHECK>""",
        _PACKAGE + "2",
    ),
    Sample(
        "sale",
        "21182.3.5807",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>0</DOCTYPE>
    <DOCSUBTYPE>0</DOCSUBTYPE>
    <UID>1D8C53E2-8C8D-40CE-9E54-6075895A47A5</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175322</ORDERTIME>
    <ORDERNUM>1838</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <CASHIER>ДЗЮ</CASHIER>
    <LOGOURL>https://tax.gov.ua/images/new_logo.png</LOGOURL>
    <VER>1</VER>
    <ORDERTAXNUM>21182.3.5807</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
    <PREVDOCHASH>49496c323e0033ffc1fd56b9fbbfe0fc6456b9589aa82efa18cefdb680bde796</PREVDOCHASH>
  </CHECKHEAD>
  <CHECKTOTAL>
    <SUM>50.00</SUM>
  </CHECKTOTAL>
  <CHECKPAY>
    <ROW ROWNUM="1">
      <PAYFORMCD>0</PAYFORMCD>
      <PAYFORMNM>ГОТІВКА</PAYFORMNM>
      <SUM>50.00</SUM>
      <PROVIDED>50.00</PROVIDED>
      <REMAINS>0.00</REMAINS>
    </ROW>
  </CHECKPAY>
  <CHECKTAX>
    <ROW ROWNUM="1">
      <TYPE>0</TYPE>
      <NAME>ПДВ</NAME>
      <LETTER>А</LETTER>
      <PRC>20.00</PRC>
      <TURNOVER>50.00</TURNOVER>
      <SUM>8.33</SUM>
    </ROW>
  </CHECKTAX>
  <CHECKBODY>
    <ROW ROWNUM="1">
      <CODE>1</CODE>
      <BARCODE>4602216001077</BARCODE>
      <NAME>Кофе "черная карта"</NAME>
      <UNITNM>кг.</UNITNM>
      <AMOUNT>1.000</AMOUNT>
      <PRICE>50.00</PRICE>
      <LETTERS>А</LETTERS>
      <COST>50.00</COST>
    </ROW>
  </CHECKBODY>
</CHECK>""",
        _PACKAGE + "3",
    ),
    Sample(
        "z",
        "21182.5.8814",
        """<?xml version="1.0" encoding="windows-1251"?>
<ZREP xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="zrep01.xsd">
  <ZREPHEAD>
    <UID>805B992C-9A64-4A12-80C4-03D05AFEF8F2</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175346</ORDERTIME>
    <ORDERNUM>1840</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <CASHIER>ДЗЮ</CASHIER>
    <VER>1</VER>
    <ORDERTAXNUM>21182.5.8814</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
    <PREVDOCHASH>4fae75e8111663bfad52844fa9a9d7fd70b394837edb8500c308692d6ace0cd0</PREVDOCHASH>
  </ZREPHEAD>
  <ZREPREALIZ>
    <SUM>100.00</SUM>
    <ORDERSCNT>2</ORDERSCNT>
    <PAYFORMS>
      <ROW ROWNUM="1">
        <PAYFORMCD>0</PAYFORMCD>
        <PAYFORMNM>ГОТІВКА</PAYFORMNM>
        <SUM>100.00</SUM>
      </ROW>
    </PAYFORMS>
    <TAXES>
      <ROW ROWNUM="1">
        <TYPE>0</TYPE>
        <NAME>ПДВ</NAME>
        <LETTER>А</LETTER>
        <PRC>20.00</PRC>
        <TURNOVER>100.00</TURNOVER>
        <SUM>16.66</SUM>
      </ROW>
    </TAXES>
  </ZREPREALIZ>
  <ZREPBODY>
    <SERVICEINPUT>0.00</SERVICEINPUT>
    <SERVICEOUTPUT>0.00</SERVICEOUTPUT>
  </ZREPBODY>
</ZREP>""",
        _PACKAGE + "5",
    ),
    Sample(
        "close",
        "21182.6.1734",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>101</DOCTYPE>
    <UID>3F635D39-7218-4165-90E1-005C1484D2E8</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175346</ORDERTIME>
    <ORDERNUM>1841</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <CASHIER>ДЗЮ</CASHIER>
    <LOGOURL>https://tax.gov.ua/images/new_logo.png</LOGOURL>
    <VER>1</VER>
    <ORDERTAXNUM>21182.6.1734</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
    <PREVDOCHASH>57ecdc3fa39bc5c117df310515e963d99a47edbcacd4f36094f49c2f2f7c1dae</PREVDOCHASH>
  </CHECKHEAD>
</CHECK>""",
        _PACKAGE + "6",
    ),
    Sample(
        "offline_end",
        "21182.7.44",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>103</DOCTYPE>
    <UID>533F4BF3-4BD0-4506-A881-FC3E3CF025AE</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт тестування</POINTNM>
    <POINTADDR>УКРАЇНА, м. Киев, Адреса</POINTADDR>
    <ORDERDATE>12032021</ORDERDATE>
    <ORDERTIME>175346</ORDERTIME>
    <ORDERNUM>1842</ORDERNUM>
    <CASHDESKNUM>6</CASHDESKNUM>
    <CASHREGISTERNUM>4000000202</CASHREGISTERNUM>
    <CASHIER>ДЗЮ</CASHIER>
    <LOGOURL>https://tax.gov.ua/images/new_logo.png</LOGOURL>
    <VER>1</VER>
    <ORDERTAXNUM>21182.7.44</ORDERTAXNUM>
    <OFFLINE>true</OFFLINE>
    <PREVDOCHASH>682ee1e51649bb24472d1f6753539b50f0a447df54ad28cb7549ce3ca8bc4af8</PREVDOCHASH>
  </CHECKHEAD>
</CHECK>""",
        _PACKAGE + "7",
    ),
    Sample(
        "sale",
        "",
        """<?xml version="1.0" encoding="windows-1251"?>
<CHECK xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="check01.xsd">
  <CHECKHEAD>
    <DOCTYPE>0</DOCTYPE>
    <DOCSUBTYPE>0</DOCSUBTYPE>
    <UID>23D4498C-4E1B-44C5-AC74-F46B540ADAA9</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт запліднення</POINTNM>
    <POINTADDR>УКРАЇНА, АВТОНОМНА РЕСПУБЛІКА КРИМ Чернігівька обл.с.Шабалинів</POINTADDR>
    <ORDERDATE>21072020</ORDERDATE>
    <ORDERTIME>103722</ORDERTIME>
    <ORDERNUM>244</ORDERNUM>
    <CASHDESKNUM>1</CASHDESKNUM>
    <CASHREGISTERNUM>4000000001</CASHREGISTERNUM>
    <CASHIER>Симоненко Валентина Андреевна</CASHIER>
    <VER>1</VER>
  </CHECKHEAD>
  <CHECKTOTAL>
    <SUM>25.00</SUM>
  </CHECKTOTAL>
  <CHECKPAY>
    <ROW ROWNUM="1">
      <PAYFORMCD>0</PAYFORMCD>
      <PAYFORMNM>ГОТІВКА</PAYFORMNM>
      <SUM>25.00</SUM>
      <PROVIDED>25.00</PROVIDED>
    </ROW>
  </CHECKPAY>
  <CHECKTAX>
    <ROW ROWNUM="1">
      <TYPE>0</TYPE>
      <NAME>ПДВ</NAME>
      <LETTER>А</LETTER>
      <PRC>20.00</PRC>
      <TURNOVER>25.00</TURNOVER>
      <SUM>4.17</SUM>
    </ROW>
  </CHECKTAX>
  <CHECKBODY>
    <ROW ROWNUM="1">
      <CODE>11</CODE>
      <NAME>Лате</NAME>
      <UNITNM>250 мл.</UNITNM>
      <AMOUNT>1.000</AMOUNT>
      <PRICE>25.00</PRICE>
      <LETTERS>А</LETTERS>
      <COST>25.00</COST>
    </ROW>
  </CHECKBODY>
</CHECK>""",
        _SIGNED + "sale",
    ),
    Sample(
        "z",
        "",
        """<?xml version="1.0" encoding="windows-1251"?>
<ZREP xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="zrep01.xsd">
  <ZREPHEAD>
    <UID>5CBC9658-F77A-4D71-9421-CE781519FF79</UID>
    <TIN>10899999</TIN>
    <IPN>108999999999</IPN>
    <ORGNM>test</ORGNM>
    <POINTNM>Пункт запліднення</POINTNM>
    <POINTADDR>УКРАЇНА, АВТОНОМНА РЕСПУБЛІКА КРИМ Чернігівька обл.с.Шабалинів</POINTADDR>
    <ORDERDATE>21072020</ORDERDATE>
    <ORDERTIME>104339</ORDERTIME>
    <ORDERNUM>244</ORDERNUM>
    <CASHDESKNUM>1</CASHDESKNUM>
    <CASHREGISTERNUM>4000000001</CASHREGISTERNUM>
    <CASHIER>Симоненко Валентина Андреевна</CASHIER>
    <VER>1</VER>
  </ZREPHEAD>
  <ZREPREALIZ>
    <SUM>50.00</SUM>
    <ORDERSCNT>2</ORDERSCNT>
    <PAYFORMS>
      <ROW ROWNUM="1">
        <PAYFORMCD>0</PAYFORMCD>
        <PAYFORMNM>ГОТІВКА</PAYFORMNM>
        <SUM>50.00</SUM>
      </ROW>
    </PAYFORMS>
    <TAXES>
      <ROW ROWNUM="1">
        <TYPE>0</TYPE>
        <NAME>ПДВ</NAME>
        <LETTER>А</LETTER>
        <PRC>20.00</PRC>
        <TURNOVER>50.00</TURNOVER>
        <SUM>8.34</SUM>
      </ROW>
    </TAXES>
  </ZREPREALIZ>
  <ZREPBODY>
    <SERVICEINPUT>0.00</SERVICEINPUT>
    <SERVICEOUTPUT>0.00</SERVICEOUTPUT>
  </ZREPBODY>
</ZREP>""",
        _SIGNED + "z",
    ),
)
"""Documents that our encoder must reproduce byte for byte."""

ORDERS = {
    "CHECK": "CHECKHEAD CHECKTOTAL CHECKPAY CHECKTAX CHECKPTKS CHECKDUTYFREE CHECKDUTYFREEREMAINS CHECKBODY",
    "CHECKHEAD": (
        "DOCTYPE DOCSUBTYPE UID TIN IPN ORGNM POINTNM POINTADDR ORDERDATE ORDERTIME ORDERNUM CASHDESKNUM "
        "CASHREGISTERNUM ORDERRETCASHREGNUM ORDERRETDATE ORDERRETNUM ORDERSTORNUM OPERTYPENM VEHICLERN "
        "REVOKELASTONLINEDOC CASHIER LOGOURL COMMENT VER ORDERTAXNUM OFFLINE PREVDOCHASH REVOKED STORNED TESTING"
    ),
    "CHECKTOTAL": (
        "SUM PWNSUMISSUED PWNSUMRECEIVED RNDSUM NORNDSUM NOTAXSUM COMMISSION USAGETYPE SUBCHECK DISCOUNTTYPE "
        "DISCOUNTPERCENT DISCOUNTSUM PARTPAYTYPE PARTPAYPERCENT PARTPAYSUM PARTPAYORDPREPAYNUM"
    ),
    "CHECKPAY/ROW": "PAYFORMCD PAYFORMNM SUM PROVIDED REMAINS PAYSYS",
    "PAYSYS/ROW": (
        "TAXNUM NAME ACQUIREID ACQUIREPN ACQUIRENM ACQUIRETRANSID POSTRANSDATE POSTRANSNUM DEVICEID EPZDETAILS "
        "AUTHCD CLIENTINFO SUM COMMISSION"
    ),
    "CHECKTAX/ROW": "TYPE NAME LETTER PRC SIGN TURNOVER TURNOVERDISCOUNT SOURCESUM SUM",
    "CHECKPTKS": (
        "PTKSPN PTKSNM PAYSYSTEMPN PAYSYSTEMNM ACQUIREID ACQUIREPN ACQUIRENM ACQUIRETRANSID POSTRANSDATE POSTRANSNUM "
        "DEVICEID EPZDETAILS AUTHCD TERMINALNUM TERMINALADDR OPERNUM OPERSYSNUM BANKCD BANKNM"
    ),
    "CHECKDUTYFREE/ROW": "PASSPORTDOC PASSPORTCOUNTRY VALCD VALSYMCD VALNM VALCOURSE SUM PROVIDED",
    "CHECKDUTYFREEREMAINS/ROW": "VALCD VALSYMCD VALNM VALCOURSE VALSUM SUM",
    "CHECKBODY/ROW": (
        "CODE BARCODE UKTZED DKPP NAME DESCRIPTION UNITCD UNITNM AMOUNT TOBACCOWEIGHT TOBACCOQT ALCOSTRENGTH ALCOVOL "
        "PRICE LETTERS COST RECIPIENTNM RECIPIENTIPN BANKCD BANKNM BANKRS PAYDETAILS PAYPURPOSE PAYERNM PAYERIPN "
        "PAYERPACTNUM PAYDETAILSP BASISPAY PTKSDEPTNUM PROVIDERNM PROVIDERTIN PROVIDERRCPRS TRANSFERID PAYOUTTYPE "
        "FUELORDERNUM FUELUNITNM FUELTANKNUM FUELCOLUMNNUM FUELFAUCETNUM FUELSALESIGN VALCD VALSYMCD VALNM "
        "VALOPERTYPE VALOUTCD VALOUTSYMCD VALOUTNM VALCOURSE VALCOURSEDATE VALFOREIGNSUM VALNATIONALSUM "
        "VALCOMMISSION VALOPERCNT VALREFUSESELL PWNDIR USAGETYPE DISCOUNTTYPE SUBTOTAL DISCOUNTNUM DISCOUNTTAX "
        "DISCOUNTPERCENT DISCOUNTSUM PARTPAYSUM COMMENT EXCISELABELS"
    ),
    "ZREP": "ZREPHEAD ZREPREALIZ ZREPRETURN ZREPCASH ZREPVAL ZREPFUEL ZREPBODY",
    "ZREPHEAD": (
        "UID TIN IPN ORGNM POINTNM POINTADDR ORDERDATE ORDERTIME ORDERNUM CASHDESKNUM CASHREGISTERNUM CASHIER VER "
        "ORDERTAXNUM OFFLINE PREVDOCHASH REVOKED TESTING"
    ),
    "ZREPREALIZ": (
        "SUM PWNSUMISSUED PWNSUMRECEIVED RNDSUM NORNDSUM ORDERSCNT PWNORDERSCNTISSUED PWNORDERSCNTRECEIVED "
        "TOTALCURRENCYCOST TOTALCURRENCYSUM TOTALCURRENCYCOMMISSION PAYFORMS TAXES"
    ),
    "PAYFORMS/ROW": "PAYFORMCD PAYFORMNM SUM",
    "TAXES/ROW": "TYPE NAME LETTER PRC SIGN TURNOVER TURNOVERDISCOUNT SOURCESUM SUM",
    "ZREPCASH": "SUM COMMISSION ORDERSCNT",
    "ZREPBODY": "SERVICEINPUT SERVICEOUTPUT VEHICLERN",
    "TICKET": ("UID ORDERDATE ORDERTIME ORDERNUM ORDERTAXNUM OFFLINESESSIONID OFFLINESEED ERRORCODE ERRORTEXT VER"),
}
"""The elements of each section in the order of the schemas of 2025 (docs/reference/tax-service.md#sources)."""

REQUIRED = {
    "CHECK": "CHECKHEAD",
    "CHECKHEAD": ("DOCTYPE UID TIN ORGNM POINTNM ORDERDATE ORDERTIME ORDERNUM CASHDESKNUM CASHREGISTERNUM VER"),
    "CHECKTOTAL": "",
    "CHECKPAY/ROW": "PAYFORMCD PAYFORMNM",
    "CHECKTAX/ROW": "TYPE NAME PRC TURNOVER SUM",
    "CHECKDUTYFREE/ROW": "PASSPORTDOC PASSPORTCOUNTRY VALCD VALSYMCD SUM",
    "CHECKDUTYFREEREMAINS/ROW": "VALCD VALSYMCD VALSUM SUM",
    "CHECKBODY/ROW": "",
    "ZREP": "ZREPHEAD",
    "ZREPREALIZ": "SUM ORDERSCNT",
    "ZREPCASH": "SUM ORDERSCNT",
    "TICKET": "UID ORDERDATE ORDERTIME ORDERNUM VER",
}
"""The required ones."""

TICKET = (
    '<?xml version="1.0" encoding="windows-1251"?><TICKET xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:noNamespaceSchemaLocation="ticket01.xsd"><UID>CA9CA66A-7E21-418B-81C0-494BF07189E2</UID>'
    "<ORDERDATE>15062024</ORDERDATE><ORDERTIME>035429</ORDERTIME><ORDERNUM>357</ORDERNUM>"
    "<ORDERTAXNUM>2559207071</ORDERTAXNUM><ERRORCODE>0</ERRORCODE><VER>1</VER></TICKET>"
).encode("windows-1251")
"""A ticket as the server sends it, from the tests of an open client (number 2559207071 of 15.06.2024)."""

SIGNED_COMMAND = (
    b'{"NumFiscal":4000000001,"OfflineSessionId":null,"OfflineSeed":null,"Command":"TransactionsRegistrarState"}'
)
"""The content of the official signed sample of a command."""

STATE_ANSWER = (
    '{"ShiftState":1,"ShiftId":4815828,"OpenShiftFiscalNum":"197242641","ZRepPresent":false,"Testing":false,'
    '"Name":"Касир","SubjectKeyId":"38","FirstLocalNum":877,"NextLocalNum":878,"LastFiscalNum":"197242641",'
    '"OfflineSupported":true,"ChiefCashier":true,"OfflineSessionId":"269623","OfflineSeed":"191273667568078",'
    '"OfflineNextLocalNum":"1","OfflineSessionDuration":"0","OfflineSessionsMonthlyDuration":"0",'
    '"OfflineSessionRolledBack":false,"Closed":false,"TaxObject":null}'
).encode()
"""An answer with numbers as text, as servers send it; names and keys are replaced."""

ERROR_BODIES = (
    (
        "Код помилки: 7 CheckLocalNumberInvalid\r\nНекоректний локальний номер документа 4978 для ПРРО з фіскальним "
        "номером 4000454063. Номер документа повинен дорівнювати 4979",
        7,
    ),
    ("Код помилки: 9 DocumentValidationError Помилки валідації XML", 9),
    ("Код помилки: 4 ShiftAlreadyOpened\r\nЗміну відкрито", 4),
)
"""Error bodies from real servers: text and code (docs/reference/tax-service.md#error-codes)."""
