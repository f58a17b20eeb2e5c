"""Documents as XML: the official samples byte for byte, order, types, lengths, and what is said of faults."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, time
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal import simple_types, zrep_xml
from protocols.fiscal.check_goods import BodyRow, ExciseRow
from protocols.fiscal.check_head import CheckHead
from protocols.fiscal.check_xml import (
    CardRow,
    Check,
    CheckTotal,
    DutyFreeRemainsRow,
    DutyFreeRow,
    PayRow,
    Ptks,
    TaxRow,
)
from protocols.fiscal.document_kinds import content_faults, kind_of
from protocols.fiscal.document_xml import decode, decode_as, encode
from protocols.fiscal.kinds import Kind
from protocols.fiscal.letters import trouble, writable
from protocols.fiscal.schema import DocumentError, choice_of, elements
from protocols.fiscal.simple_types import SimpleType
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.xml_tree import MalformedXml, parse
from tests.fiscal_papers import Shop, in_sample_layout
from tests.vectors.fiscal_documents import ORDERS, REQUIRED, SAMPLES, TICKET

SECTIONS: dict[str, type[Any]] = {
    "CHECK": Check,
    "CHECKHEAD": CheckHead,
    "CHECKTOTAL": CheckTotal,
    "CHECKPAY/ROW": PayRow,
    "PAYSYS/ROW": CardRow,
    "CHECKTAX/ROW": TaxRow,
    "CHECKPTKS": Ptks,
    "CHECKDUTYFREE/ROW": DutyFreeRow,
    "CHECKDUTYFREEREMAINS/ROW": DutyFreeRemainsRow,
    "CHECKBODY/ROW": BodyRow,
    "ZREP": zrep_xml.ZRep,
    "ZREPHEAD": zrep_xml.ZRepHead,
    "ZREPREALIZ": zrep_xml.Turnover,
    "PAYFORMS/ROW": zrep_xml.PayFormRow,
    "TAXES/ROW": zrep_xml.ZTaxRow,
    "ZREPCASH": zrep_xml.ZRepCash,
    "ZREPBODY": zrep_xml.ZRepBody,
    "TICKET": Ticket,
}

NOON = 1_790_000_000.0


def kind_named(annotated: Any) -> SimpleType:
    """The simple type in an annotation."""
    found = get_args(annotated)[1]
    assert isinstance(found, SimpleType)
    return found


MONEY, QUANTITY, RATE = (kind_named(kind) for kind in (simple_types.Money, simple_types.Quantity, simple_types.Rate))


class SampleTests(SynchronousTestCase):
    """What the tax service itself published."""

    def test_bytes(self) -> None:
        """Every official sample is read, and written again byte for byte."""
        for sample in SAMPLES:
            self.assertEqual(in_sample_layout(encode(decode(sample.data))), sample.data, sample.source)

    def test_compact(self) -> None:
        """Without blanks a sample means the same and is shorter."""
        for sample in SAMPLES:
            compact = encode(decode(sample.data))
            self.assertEqual(decode(compact), decode(sample.data))
            self.assertLess(len(compact), len(sample.data))
            self.assertNotIn(b"\n", compact)

    def test_kinds(self) -> None:
        """Every sample is of its kind, carries what that kind carries, and has its number."""
        for sample in SAMPLES:
            document = decode(sample.data)
            self.assertEqual((kind_of(document), list(content_faults(document))), (sample.kind, []))
            self.assertEqual(document.head.ordertaxnum or "", sample.number)

    def test_values(self) -> None:
        """The official sale says what it says."""
        sale = decode(SAMPLES[2].data)
        assert isinstance(sale, Check) and sale.checktotal is not None
        head = sale.checkhead
        self.assertEqual((head.orderdate, head.ordertime, head.ordernum), (date(2021, 3, 12), time(17, 53, 22), 1838))
        self.assertEqual((head.pointnm, head.cashregisternum, head.offline), ("Пункт тестування", 4000000202, True))
        self.assertEqual(sale.checktotal.sum, 5000)
        self.assertEqual(
            sale.checkpay, (PayRow(payformcd=0, payformnm="ГОТІВКА", sum=5000, provided=5000, remains=0),)
        )
        (row,) = sale.checkbody
        self.assertEqual((row.name, row.amount, row.price, row.cost), ('Кофе "черная карта"', 1000, 5000, 5000))

    def test_ticket(self) -> None:
        """A ticket of the real server is read, and written again byte for byte."""
        ticket = decode_as(Ticket, TICKET)
        self.assertEqual((ticket.ordernum, ticket.ordertaxnum, ticket.errorcode), (357, "2559207071", 0))
        self.assertEqual(encode(ticket), TICKET)


class OrderTests(SynchronousTestCase):
    """The sections against the tables that were written by hand."""

    def test_order(self) -> None:
        """Every section has the elements of its table, in that order."""
        for name, order in ORDERS.items():
            self.assertEqual([element.name for element in elements(SECTIONS[name])], order.split(), name)

    def test_required(self) -> None:
        """Every section requires the elements of its table, and no others."""
        for name, required in REQUIRED.items():
            found = [element.name for element in elements(SECTIONS[name]) if element.required]
            self.assertEqual(found, required.split(), name)


class FaultTests(SynchronousTestCase):
    """What is said of a document that does not keep to its schema."""

    def faults(self, changed: dict[str, str], sample: int = 2) -> list[str]:
        """The faults of a sample with some texts replaced."""
        text = SAMPLES[sample].text
        for old, new in changed.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        error = self.assertRaises(DocumentError, decode, text.encode("windows-1251"))
        return [fault.path for fault in error.faults]

    def test_choice(self) -> None:
        """A row has one code: of goods, UKTZED, or of services, DKPP."""
        name = "      <NAME>Кофе"
        codes = "      <UKTZED>2203000100</UKTZED>\n      <DKPP>56.10</DKPP>\n"
        self.assertEqual(self.faults({name: codes + name}), ["CHECK/CHECKBODY/ROW[1]/DKPP"])
        row = BodyRow(uktzed="2203000100", dkpp="56.10")
        check = Check(checkhead=Shop(lambda: NOON).open().checkhead, checkbody=(row,))
        error = self.assertRaises(DocumentError, encode, check)
        self.assertEqual(error.faults[0].path, "CHECK/CHECKBODY/ROW[1]/DKPP")

    def test_order(self) -> None:
        """An element in the wrong place is named."""
        moved = {
            "    <TIN>10899999</TIN>\n": "",
            "    <ORGNM>test</ORGNM>\n": "    <ORGNM>test</ORGNM>\n    <TIN>10899999</TIN>\n",
        }
        self.assertEqual(self.faults(moved), ["CHECK/CHECKHEAD/TIN"])

    def test_missing(self) -> None:
        """An element that has to be there is named when it is not."""
        self.assertEqual(self.faults({"    <VER>1</VER>\n": ""}), ["CHECK/CHECKHEAD/VER"])
        self.assertEqual(self.faults({"      <PRC>20.00</PRC>\n": ""}), ["CHECK/CHECKTAX/ROW[1]/PRC"])

    def test_unknown(self) -> None:
        """An unknown element is named; so is one of another section."""
        self.assertEqual(self.faults({"<VER>1</VER>": "<VER>1</VER><VERS>1</VERS>"}), ["CHECK/CHECKHEAD/VERS"])
        self.assertEqual(self.faults({"<PRICE>50.00</PRICE>": "<PRC>50.00</PRC>"}), ["CHECK/CHECKBODY/ROW[1]/PRC"])

    def test_twice(self) -> None:
        """An element that occurs twice is named."""
        self.assertEqual(self.faults({"<VER>1</VER>": "<VER>1</VER><VER>1</VER>"}), ["CHECK/CHECKHEAD/VER"])

    def test_types(self) -> None:
        """A value that is not of its type is named, each one of them."""
        self.assertEqual(
            self.faults(
                {
                    "<ORDERDATE>12032021": "<ORDERDATE>31022021",
                    "<ORDERTIME>175322": "<ORDERTIME>246000",
                    "<PRICE>50.00": "<PRICE>50.0",
                    "<ORDERNUM>1838": "<ORDERNUM>0",
                    "<TIN>10899999": "<TIN>1089",
                    "<OFFLINE>true": "<OFFLINE>yes",
                }
            ),
            [
                *("CHECK/CHECKHEAD/TIN", "CHECK/CHECKHEAD/ORDERDATE", "CHECK/CHECKHEAD/ORDERTIME"),
                *("CHECK/CHECKHEAD/ORDERNUM", "CHECK/CHECKHEAD/OFFLINE", "CHECK/CHECKBODY/ROW[1]/PRICE"),
            ],
        )

    def test_length(self) -> None:
        """A text that is too long is named, one that just fits is taken."""
        name = "<PAYFORMNM>ГОТІВКА"
        self.assertEqual(self.faults({"<ORGNM>test": f"<ORGNM>{'я' * 257}"}), ["CHECK/CHECKHEAD/ORGNM"])
        fits = SAMPLES[2].text.replace("<ORGNM>test", f"<ORGNM>{'я' * 256}").replace(name, f"{name}{'я' * 500}")
        self.assertEqual(decode(fits.encode("windows-1251")).head.orgnm, "я" * 256)

    def test_rows(self) -> None:
        """A row without its number, or with a wrong one, is named; so is anything else between rows."""
        self.assertEqual(
            self.faults({'<CHECKTAX>\n    <ROW ROWNUM="1">': "<CHECKTAX>\n    <ROW>"})[0][-7:], "@ROWNUM"
        )
        for number in ("0", "1000000", "-1", "x", "١"):
            changed = SAMPLES[2].text.replace('ROWNUM="1"', f'ROWNUM="{number}"').replace("windows-1251", "utf-8")
            self.assertRaises(DocumentError, decode, changed.encode())
        self.assertIn("CHECK/CHECKTAX/LINE[1]", self.faults({"<CHECKTAX>\n": "<CHECKTAX><LINE>1</LINE>\n"}))

    def test_text_between(self) -> None:
        """Text between elements is named."""
        self.assertEqual(self.faults({"<CHECKTOTAL>": "<CHECKTOTAL>x"}), ["CHECK/CHECKTOTAL"])

    def test_writing(self) -> None:
        """A value that cannot be written is named with its place, before anything is signed."""
        sale = Shop(lambda: NOON).sale()
        wrong = dataclasses.replace(sale, checkbody=(BodyRow(name="a"), BodyRow(name="₴")))
        error = self.assertRaises(DocumentError, encode, wrong)
        self.assertEqual([fault.path for fault in error.faults], ["CHECK/CHECKBODY/ROW[2]/NAME"])
        for head in ({"tin": "12"}, {"ordernum": 0}, {"orgnm": "x" * 257}, {"cashier": "a\x07"}):
            self.assertRaises(
                DocumentError,
                encode,
                Check(checkhead=dataclasses.replace(sale.checkhead, **head)),
            )

    def test_other_root(self) -> None:
        """What is neither a receipt nor a report is refused, a ticket too."""
        self.assertRaises(DocumentError, decode, TICKET)
        self.assertRaises(DocumentError, decode_as, Ticket, SAMPLES[0].data)


class XmlTests(SynchronousTestCase):
    """Reading without trust."""

    def test_no_document_type(self) -> None:
        """A document type is refused, so that no entity can grow."""
        bomb = b'<!DOCTYPE a [<!ENTITY b "cccccccc">]><CHECK>&b;</CHECK>'
        self.assertRaises(MalformedXml, parse, bomb)

    def test_depth(self) -> None:
        """Levels without end are refused."""
        self.assertRaises(MalformedXml, parse, b"<a>" * 40 + b"</a>" * 40)

    def test_encodings(self) -> None:
        """A document in another encoding is read when it names it."""
        text = SAMPLES[2].text.replace("windows-1251", "utf-8")
        self.assertEqual(decode(text.encode()), decode(SAMPLES[2].data))
        self.assertRaises(MalformedXml, parse, b'<?xml version="1.0" encoding="no-such"?><a/>')

    @given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda part: SAMPLES[0].data[:400] + part))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes at all bring the reader down."""
        try:
            decode(data)
        except DocumentError as error:
            self.assertTrue(error.faults)

    @settings(max_examples=60)
    @given(st.data())
    def test_cut_and_changed(self, data: st.DataObject) -> None:
        """A sample that was cut or changed anywhere is read or refused, never a crash."""
        sample = bytearray(data.draw(st.sampled_from(SAMPLES)).data)
        place = data.draw(st.integers(0, len(sample) - 1))
        sample[place] = data.draw(st.integers(0, 255))
        try:
            decode(bytes(sample[: data.draw(st.integers(0, len(sample)))]))
        except DocumentError as error:
            self.assertTrue(error.faults)


class LetterTests(SynchronousTestCase):
    """Characters that a document can hold."""

    def test_neighbours(self) -> None:
        """Characters outside the code page become a neighbour or a question mark."""
        self.assertEqual(writable("5 ₴ за м\u02bcясо\u200b − 漢"), "5 грн за м’ясо - ?")
        self.assertEqual(writable("й"), "й")
        self.assertEqual(writable("abc", 2), "ab")

    @given(st.text())
    def test_always_writable(self, text: str) -> None:
        """Any text becomes writable, and a writable text stays as it is."""
        self.assertEqual(trouble(writable(text)), "")
        self.assertEqual(writable(writable(text)), writable(text))

    @given(st.text())
    def test_survives(self, text: str) -> None:
        """A text that can be written is read back as it was, with its line ends and blanks."""
        shop = Shop(lambda: NOON)
        document = Check(checkhead=dataclasses.replace(shop.open().checkhead, comment=writable(text)))
        self.assertEqual(decode(encode(document)), document)
        self.assertEqual(decode(in_sample_layout(encode(document))), document)


class NumberTests(SynchronousTestCase):
    """Numbers and their written form."""

    def test_money(self) -> None:
        """Kopecks have exactly two places."""
        for kopecks, text in (
            (0, "0.00"),
            (5, "0.05"),
            (-5, "-0.05"),
            (-12345, "-123.45"),
            (10**14, "1000000000000.00"),
        ):
            self.assertEqual((MONEY.write(kopecks), MONEY.read(text)), (text, kopecks))
        for text in ("1", "1.0", "1.000", ".50", "+1.00", "1,00", "", "١.00", "1e2", "0" * 16 + ".00"):
            self.assertRaises(ValueError, MONEY.read, text)
        self.assertRaises(ValueError, MONEY.write, 10**17)

    def test_quantity(self) -> None:
        """Thousandths are written with three places and read with up to three."""
        self.assertEqual(QUANTITY.write(1250), "1.250")
        for text, value in (("1", 1000), ("1.2", 1200), ("0.005", 5), ("-1.25", -1250)):
            self.assertEqual(QUANTITY.read(text), value)
        self.assertRaises(ValueError, QUANTITY.read, "1.2345")

    def test_rate(self) -> None:
        """A rate of exchange has no needless zeros."""
        self.assertEqual(RATE.write(4_125_000_000), "41.25")
        self.assertEqual(RATE.write(4_000_000_000), "40")
        self.assertEqual(RATE.read("41.25"), 4_125_000_000)

    def test_codes(self) -> None:
        """Codes of goods keep their leading zeros; others are refused."""
        uktzed, dkpp, tin = (kind_named(kind) for kind in (simple_types.Uktzed, simple_types.Dkpp, simple_types.Tin))
        for good in ("0203", "220300", "22030001", "2203000100", "00123"):
            self.assertEqual(uktzed.read(good), good)
        for bad in ("22030", "220300010", "x203"):
            self.assertRaises(ValueError, uktzed.read, bad)
        for good in ("11.22", "11.22.3", "11.22.33", "11.22.33-4", "11.22.33-44.55"):
            self.assertEqual(dkpp.read(good), good)
        self.assertRaises(ValueError, dkpp.read, "1122")
        for good in ("12345", "1234567890", "КН123456"):
            self.assertEqual(tin.read(good), good)
        for bad in ("1234", "12345678901", "КН12345", "kh123456"):
            self.assertRaises(ValueError, tin.read, bad)


def values_of(section: type[Any]) -> st.SearchStrategy[Any]:
    """Any value that a section can hold."""
    members: dict[str, st.SearchStrategy[Any]] = {}
    for element in elements(section):
        if element.simple is not None:
            value = SIMPLE[element.simple.name]
        else:
            assert element.section is not None
            inner = values_of(element.section)
            value = (
                st.lists(inner, min_size=1 if element.required else 0, max_size=2).map(tuple)
                if element.rows
                else inner
            )
        members[element.field] = value if element.required or element.rows else st.none() | value
    _, *others = choice_of(section) or ("",)
    # The first of the elements that exclude each other is enough here.
    return st.builds(section, **members | dict.fromkeys((name.lower() for name in others), st.none()))


TEXTS = st.text(alphabet="aЯі’ \n\r\t<>&\"'№", max_size=15)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)).map(lambda moment: moment.replace(microsecond=0))

SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(-(10**16), 10**16) for name in ("money", "percent", "volume", "quantity", "rate")},
    **{name: st.integers(0, 10**9) for name in ("count", "code")},
    "number": st.integers(1, 10**17),
    "unit code": st.integers(1, 99_999),
    "version": st.integers(-5, 5),
    "flag": st.booleans(),
    "moment": MOMENTS,
    "date": MOMENTS.map(datetime.date),
    "time": MOMENTS.map(datetime.time),
    "tin": st.sampled_from(["34554363", "КН123456"]),
    "ipn": st.sampled_from(["0", "123456789012"]),
    "uktzed": st.sampled_from(["0203", "00123"]),
    "dkpp": st.sampled_from(["11.22", "11.22.33-44.5"]),
    "letter": st.sampled_from(["А", "", "B"]),
    "text": TEXTS,
    **{f"text of {length}": TEXTS for length in (15, 64, 128, 256, 1024)},
}


class RoundTripTests(SynchronousTestCase):
    """Documents with anything in them."""

    @settings(max_examples=25, deadline=None)
    @given(
        st.one_of(
            st.builds(
                Check, checkhead=values_of(CheckHead), checkbody=st.lists(values_of(BodyRow), max_size=2).map(tuple)
            ),
            values_of(zrep_xml.ZRep),
        )
    )
    def test_documents(self, document: Check | zrep_xml.ZRep) -> None:
        """What is written is read back as it was, in both layouts, and always written the same."""
        written = encode(document)
        self.assertEqual(decode(written), document)
        self.assertEqual(decode(in_sample_layout(written)), document)
        self.assertEqual(encode(decode(written)), written)

    @settings(max_examples=25, deadline=None)
    @given(values_of(CheckTotal), values_of(PayRow), values_of(TaxRow), values_of(Ptks), values_of(DutyFreeRow))
    def test_sections(self, total: CheckTotal, pay: PayRow, tax: TaxRow, ptks: Ptks, free: DutyFreeRow) -> None:
        """Every section of a receipt is read back as it was written."""
        head = Shop(lambda: NOON).open().checkhead
        check = Check(
            checkhead=head,
            checktotal=total,
            checkpay=(pay, pay),
            checktax=(tax,),
            checkptks=ptks,
            checkdutyfree=(free,),
            checkdutyfreeremains=(DutyFreeRemainsRow(valcd=840, valsymcd="USD", valsum=1, sum=2),),
            checkbody=(BodyRow(exciselabels=(ExciseRow(exciselabel="AATE508932 0000412167"),)),),
        )
        self.assertEqual(decode(encode(check)), check)

    @settings(max_examples=25)
    @given(values_of(Ticket))
    def test_tickets(self, ticket: Ticket) -> None:
        """Tickets are read back as they were written."""
        self.assertEqual(decode_as(Ticket, encode(ticket)), ticket)


class KindTests(SynchronousTestCase):
    """Which document is what."""

    def test_every_kind(self) -> None:
        """Each type and subtype of the table has its kind."""
        shop = Shop(lambda: NOON)
        for kind, sub, expected in (
            *((0, 0, Kind.SALE), (0, 1, Kind.RETURN), (0, 2, Kind.CASH_IN), (0, 3, Kind.REINFORCEMENT)),
            *((0, 4, Kind.CASH_OUT), (0, 5, Kind.STORNO), (1, 0, Kind.TRANSFER), (2, 0, Kind.CURRENCY)),
            *((2, 4, Kind.CASH_OUT), (3, 0, Kind.WITHDRAWAL), (4, 0, Kind.PAWNSHOP), (100, None, Kind.OPEN)),
            *((101, None, Kind.CLOSE), (102, None, Kind.OFFLINE_BEGIN), (103, None, Kind.OFFLINE_END)),
            *((0, None, None), (0, 6, None), (5, 0, None), (104, None, None)),
        ):
            self.assertEqual(kind_of(Check(checkhead=shop.head(kind, sub))), expected, f"{kind}/{sub}")

    def paths(self, document: Check) -> list[str]:
        """The places of what is wrong with a document's content."""
        return [fault.path.removeprefix("CHECK/") for fault in content_faults(document)]

    def test_right(self) -> None:
        """Documents of a usual day carry what they have to."""
        shop = Shop(lambda: NOON)
        for document in (
            *(shop.open(), shop.sale(), shop.back("1"), shop.cash(5, 2), shop.cash(5, 4), shop.storno("1")),
            *(shop.withdrawal(100, 1), shop.close()),
        ):
            self.assertEqual(self.paths(document), [])

    def test_sections(self) -> None:
        """A section too many or too few is named."""
        shop = Shop(lambda: NOON)
        sale = shop.sale()
        self.assertEqual(self.paths(dataclasses.replace(shop.open(), checktotal=CheckTotal(sum=1))), ["CHECKTOTAL"])
        self.assertEqual(self.paths(dataclasses.replace(sale, checkpay=(), checkbody=())), ["CHECKPAY", "CHECKBODY"])
        self.assertEqual(self.paths(dataclasses.replace(sale, checktotal=CheckTotal())), ["CHECKTOTAL/SUM"])

    def test_heads(self) -> None:
        """Members of the head that belong to one kind are missed there and not wanted elsewhere."""
        shop = Shop(lambda: NOON)
        self.assertEqual(self.paths(shop.sale(sub=1)), ["CHECKHEAD/ORDERRETNUM"])
        self.assertEqual(self.paths(Check(checkhead=shop.head(0, 5))), ["CHECKHEAD/ORDERSTORNUM"])
        self.assertEqual(self.paths(shop.sale(revokelastonlinedoc=False)), ["CHECKHEAD/REVOKELASTONLINEDOC"])
        self.assertEqual(self.paths(shop.sale(offline=True)), ["CHECKHEAD/ORDERTAXNUM"])
        self.assertEqual(self.paths(shop.sale(ordertaxnum="1.2.3")), ["CHECKHEAD/ORDERTAXNUM"])
        opening = Check(checkhead=shop.head(102))
        self.assertEqual(self.paths(opening), ["CHECKHEAD/OFFLINE"])
