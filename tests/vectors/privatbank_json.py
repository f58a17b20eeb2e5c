"""PrivatBank JSON: messages as the vendor's document and public clients have them.

See docs/reference/privatbank-json.md.

``sent`` is written by the register, ``received`` comes from the terminal. Where the source has JSON only, its members
are here without blanks and with the zero byte that ends each message.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.terminals.privatbank_json.messages import PromptLine
from protocols.terminals.privatbank_json.requests import (
    Audit,
    CheckConnection,
    GetBalance,
    GetReceiptInfo,
    GetTerminalInfo,
    InstalmentsRefund,
    PingDevice,
    Preauthorization,
    Primary,
    PrintBatchJournal,
    PrintReceiptNum,
    Purchase,
    ReadBonusCard,
    ReadCardDiscount,
    SaleCompletion,
    Verify,
    Withdrawal,
    WithdrawalPartly,
)

DOCUMENT = "PrivatBank ECR JSON protocol 1.0.3.1 (17.01.2025), kept in VSydorenko/SimplyAddinConnect, section "


class Sent(NamedTuple):
    """A message of the register: its bytes, the primary method it is, or the type of the service message."""

    wire: bytes
    asks: Primary | str
    meaning: str
    source: str


class Received(NamedTuple):
    """A message of the terminal: its bytes, method, and what has to be read of it."""

    wire: bytes
    method: str
    message_type: str
    code: str
    error: bool
    text: str
    meaning: str
    source: str


class Malformed(NamedTuple):
    """A message that has to be refused."""

    wire: bytes
    meaning: str
    source: str


def _message(text: str) -> bytes:
    return text.encode() + b"\x00"


SENT = (
    Sent(
        bytes.fromhex(
            "00 7b 22 6d 65 74 68 6f 64 22 3a 22 50 69 6e 67 44 65 76 69 63 65 22 2c 22 73 74 65 70 22 3a 30 7d 00"
        ),
        PingDevice(),
        "handshake: PingDevice with one extra leading 00 (first message after connect)",
        DOCUMENT + "2",
    ),
    Sent(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 22 47 65 74 54 65 72 6d 69 6e 61 6c 49 6e 66 6f 22 2c 22 73 74 65 70 "
            "22 3a 30 7d 00"
        ),
        GetTerminalInfo(),
        "GetTerminalInfo",
        DOCUMENT + "2",
    ),
    Sent(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 22 53 65 72 76 69 63 65 4d 65 73 73 61 67 65 22 2c 22 73 74 65 70 22 "
            "3a 30 2c 22 70 61 72 61 6d 73 22 3a 7b 22 6d 73 67 54 79 70 65 22 3a 22 69 64 65 6e 74 69 66 79 22 "
            "7d 7d 00"
        ),
        "identify",
        "identify",
        DOCUMENT + "2",
    ),
    Sent(
        _message('{"method":"Withdrawal","step":0,"params":{"invoiceNumber":"131220"}}'),
        Withdrawal("131220"),
        "cancel in the open batch by receipt number",
        DOCUMENT + "5.3",
    ),
    Sent(
        _message('{"method":"WithdrawalPartly","step":0,"params":{"amount":"0.30","invoiceNumber":"131220"}}'),
        WithdrawalPartly(30, "131220"),
        "partial cancel",
        DOCUMENT + "5.4",
    ),
    Sent(
        _message('{"method":"CheckConnection","step":0}'),
        CheckConnection(),
        "host link test",
        DOCUMENT + "5.5",
    ),
    Sent(
        _message('{"method":"ReadCardDiscount","step":0}'),
        ReadCardDiscount(),
        "read discount card",
        DOCUMENT + "5.7",
    ),
    Sent(
        _message('{"method":"GetBalance","step":0,"params":{"merchantId":"1"}}'),
        GetBalance("1"),
        "card balance, list of merchants shown",
        DOCUMENT + "5.10",
    ),
    Sent(
        _message('{"method":"ServiceRefPbP","step":0,"params":{"amount":"350","agreementNum":"12345"}}'),
        InstalmentsRefund(35000, "12345", service="ServiceRefPbP"),
        "instalments refund",
        DOCUMENT + "5.13",
    ),
    Sent(
        _message('{"method":"Audit","step":0,"params":{"merchantId":"0"}}'),
        Audit("0"),
        "X-balance for all merchants",
        DOCUMENT + "5.17",
    ),
    Sent(
        _message('{"method":"Verify","step":0,"params":{"merchantId":"0"}}'),
        Verify("0"),
        "general report for all merchants",
        DOCUMENT + "5.18",
    ),
    Sent(
        _message('{"method":"PrintReceiptNum","step":0,"params":{"invoiceNumber":"123","prnFlag":"0"}}'),
        PrintReceiptNum("123", prn_flag=False),
        "receipt by number without printing",
        DOCUMENT + "5.20",
    ),
    Sent(
        _message('{"method":"PrintBatchJournal","step":0,"params":{"merchantId":"0","prnFlag":"0"}}'),
        PrintBatchJournal("0", prn_flag=False),
        "batch journal",
        DOCUMENT + "5.21",
    ),
    Sent(
        _message(
            '{"method":"ReadBonusCard","step":0,"prompt":{"line":[{"text":"qwerty","font":"B","align":"C"}]},'
            '"params":{"enterPIN":"1","timeout":"6000"}}'
        ),
        ReadBonusCard(enter_pin=True, timeout=6000, prompt=(PromptLine("qwerty", "B", "C"),)),
        "bonus card with PIN: prompt is a sibling of params",
        DOCUMENT + "5.22",
    ),
    Sent(
        _message('{"method":"Preauthorization","step":0,"params":{"amount":"500.00","merchantId":"1"}}'),
        Preauthorization(50000, "1"),
        "pre-authorisation",
        DOCUMENT + "5.26",
    ),
    Sent(
        _message(
            '{"method":"SaleCompletion","step":0,"params":{"amount":"500.00","addamount":"500.00","approvalCo'
            'de":"999999","rrn":"9999999999999"}}'
        ),
        SaleCompletion(50000, 50000, "999999", "9999999999999"),
        "completion",
        DOCUMENT + "5.27",
    ),
    Sent(
        _message('{"method":"GetReceiptInfo","step":0,"params":{"invoiceNumber":""}}'),
        GetReceiptInfo(""),
        "data of the last receipt of the batch (recovery query)",
        DOCUMENT + "5.30",
    ),
    Sent(
        _message('{"method":"ServiceMessage","step":0,"params":{"msgType":"getLastResult"}}'),
        "getLastResult",
        "state of the last operation",
        DOCUMENT + "6.7",
    ),
    Sent(
        _message('{"method":"ServiceMessage","step":0,"params":{"msgType":"getLastStatMsgCode"}}'),
        "getLastStatMsgCode",
        "progress code",
        DOCUMENT + "6.8",
    ),
    Sent(
        _message('{"method":"ServiceMessage","step":0,"params":{"msgType":"getDiscountName"}}'),
        "getDiscountName",
        "read the discount group of the presented card (only at progress 11)",
        DOCUMENT + "6.11",
    ),
    Sent(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 73 74 65 70 22 3a 30 2c 22 70 61 "
            "72 61 6d 73 22 3a 7b 22 61 6d 6f 75 6e 74 22 3a 22 31 32 2e 35 30 22 2c 22 64 69 73 63 6f 75 6e 74 "
            "22 3a 22 22 2c 22 6d 65 72 63 68 61 6e 74 49 64 22 3a 22 30 22 7d 7d 00"
        ),
        Purchase(1250, None, "0"),
        "Purchase as really written by an independent Python client",
        "captured from goodpesik/barhandler-manager privatbank adapter driven against a stub",
    ),
)

RECEIVED = (
    Received(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 22 50 69 6e 67 44 65 76 69 63 65 22 2c 22 73 74 65 70 22 3a 30 2c 22 "
            "70 61 72 61 6d 73 22 3a 7b 22 63 6f 64 65 22 3a 22 30 30 22 2c 22 72 65 73 70 6f 6e 73 65 43 6f 64 "
            "65 22 3a 22 30 30 30 30 22 7d 2c 22 65 72 72 6f 72 22 3a 66 61 6c 73 65 2c 22 65 72 72 6f 72 44 65 "
            "73 63 72 69 74 70 74 69 6f 6e 22 3a 22 22 7d 00"
        ),
        "PingDevice",
        "",
        "0000",
        False,
        "",
        "handshake answer as really dumped: the firmware misspells the last key (errorDescritption)",
        DOCUMENT + "2",
    ),
    Received(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 20 22 53 65 72 76 69 63 65 4d 65 73 73 61 67 65 22 2c 20 22 73 74 65 "
            "70 22 3a 20 30 2c 20 22 70 61 72 61 6d 73 22 3a 20 7b 22 6d 73 67 54 79 70 65 22 3a 20 22 69 64 65 "
            "6e 74 69 66 79 22 2c 20 22 72 65 73 75 6c 74 22 3a 20 22 74 72 75 65 22 2c 20 22 76 65 6e 64 6f 72 "
            "22 3a 20 22 50 41 58 22 2c 20 22 6d 6f 64 65 6c 22 3a 20 22 73 38 30 30 22 7d 2c 20 22 65 72 72 6f "
            "72 22 3a 20 66 61 6c 73 65 2c 20 22 65 72 72 6f 72 44 65 73 63 72 69 70 74 69 6f 6e 22 3a 20 22 22 "
            "7d 00"
        ),
        "ServiceMessage",
        "identify",
        "",
        False,
        "",
        "identify answer",
        DOCUMENT + "2",
    ),
    Received(
        _message(
            '{"method":"Purchase","step":0,"params":{"amount":"0.60","approvalCode":"999999","captureReferenc'
            'e":"","cardExpiryDate":"2020","cardHolderName":"INSTANT/ISSUE","date":"02.10.2019","discount":"0'
            '.00","hstFld63Sf89":"","invoiceNumber":"999999","issuerName":"VISA ПРИВАТ","merchant":"TSTTTTTT"'
            ',"pan":"4731XXXXXXXX9838","posConditionCode":"00","posEntryMode":"022","processingCode":"000000"'
            ',"receipt":"text-of-receipt","responseCode":"0000","rrn":"9999999999999","rrnExt":"8888888888888'
            '","terminalId":"TSTSALE2","time":"09:11:07","track1":"","signVerif":"0","txnType":"1","trnStatus'
            '":"1","adv":"ПриватБанк","adv2p":"Беремо і робимо!","bankAcquirer":"ПриватБанк","paymentSystem":'
            '"VISA","subMerchant":""},"error":false,"errorDescription":""}'
        ),
        "Purchase",
        "",
        "0000",
        False,
        "",
        "purchase approved, full field set",
        DOCUMENT + "5.1.2",
    ),
    Received(
        _message(
            '{"method":"Purchase","step":0,"params":{"responseCode":"1001"},"error":true,"errorDecsription":"'
            'Transaction canceled by user"}'
        ),
        "Purchase",
        "",
        "1001",
        True,
        "Transaction canceled by user",
        "purchase cancelled at the terminal: shortened answer, misspelt key errorDecsription",
        DOCUMENT + "4",
    ),
    Received(
        _message(
            '{"method":"Purchase","step":0,"params":{"amount":"1500.00","approvalCode":"999999","captureRefer'
            'ence":"","cardExpiryDate":"2020","cardHolderName":"INSTANT/ISSUE","date":"02.10.2023","discount"'
            ':"0.00","hstFld63Sf89":"","invoiceNumber":"999999","issuerName":"VISA ПРИВАТ","merchant":"TSTTTT'
            'TT","pan":"4731XXXXXXXX9838","posConditionCode":"00","posEntryMode":"022","processingCode":"0000'
            '00","receipt":"text-of-receipt","responseCode":"0010","rrn":"9999999999999","rrnExt":"8888888888'
            '888","terminalId":"TSTSALE2","time":"09:11:07","track1":"","signVerif":"0","txnType":"1","trnSta'
            'tus":"1","adv":"ПриватБанк","adv2p":"Беремо і робимо!","bankAcquirer":"ПриватБанк","paymentSyste'
            'm":"VISA","subMerchant":""},"error":false,"errorDescription":""}'
        ),
        "Purchase",
        "",
        "0010",
        False,
        "",
        "purchase answered for partial approval: asked 2000.00, approved 1500.00, responseCode 0010 with error false",
        DOCUMENT + "5.28",
    ),
    Received(
        _message(
            '{"method":"ReadCardDiscount","step":0,"params":{"hash":"","track1":"","track2":"9999999999999939'
            '","track3":""},"error":false,"errorDescription":""}'
        ),
        "ReadCardDiscount",
        "",
        "",
        False,
        "",
        "discount card read",
        DOCUMENT + "5.7",
    ),
    Received(
        _message(
            '{"method":"GetTerminalInfo","step":0,"params":{"version":"TE7E132 TESTKKM000CT22927302"},"error"'
            ':false,"errorDescription":""}'
        ),
        "GetTerminalInfo",
        "",
        "",
        False,
        "",
        "software version",
        DOCUMENT + "5.8",
    ),
    Received(
        _message(
            '{"method":" ServicePbP ","step":0,"params":{"amount":"0.60","amountOfParts":"6","responseCode":"'
            '0000","rrn":"9999999999999","approvalCode":"999999","hstFld63Sf89":"text-of-6389-field"},"error"'
            ':false,"errorDescription":""}'
        ),
        "ServicePbP",
        "",
        "0000",
        False,
        "",
        "instalments answer: method name may be padded with blanks",
        DOCUMENT + "5.12",
    ),
    Received(
        _message(
            '{"method":"Cashback","step":0,"params":{"amount":"1.30","amountCash":"1.00","approvalCode":"5270'
            '80","invoiceNumber":"139","merchant":"1","receipt":"text-of-receipt","result":"Операція успішна"'
            ',"resultCashback":"true","rrn":"014721391803","responseCode":"0000"},"error":false,"errorDescrip'
            'tion":""}'
        ),
        "Cashback",
        "",
        "0000",
        False,
        "",
        "cash issue answer: amount is the sum of both; resultCashback false + 0010 means only the goods part passed",
        DOCUMENT + "5.16",
    ),
    Received(
        _message(
            '{"method":"Verify","step":0,"params":{"receipt":"","responseCode":"0001"},"error":true,"errorDes'
            'cription":"Cannot obtain receipt: log file is empty!"}'
        ),
        "Verify",
        "",
        "0001",
        True,
        "Cannot obtain receipt: log file is empty!",
        "general report refused: batch empty",
        DOCUMENT + "5.18.3",
    ),
    Received(
        _message(
            '{"method":"GetPhoneNumber","step":0,"params":{"PhoneNumber":"1234567890","responseCode":"0000"},'
            '"error":false,"errorDescription":""}'
        ),
        "GetPhoneNumber",
        "",
        "0000",
        False,
        "",
        "phone number entered (capital P)",
        DOCUMENT + "5.25",
    ),
    Received(
        _message(
            '{"method":"GetReceiptInfo","step":0,"params":{"responseCode":"1000"},"error":true,"errorDescript'
            'ion":"Cannot get receipt: Невірний мерчант!"}'
        ),
        "GetReceiptInfo",
        "",
        "1000",
        True,
        "Cannot get receipt: Невірний мерчант!",
        "receipt data not available",
        DOCUMENT + "5.30.3",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"deviceBusy"},"error":false,"errorDescri'
            'ption":""}'
        ),
        "ServiceMessage",
        "deviceBusy",
        "",
        False,
        "",
        "busy: sent instead of an answer to a second primary method",
        DOCUMENT + "6.1",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":" interruptTransmitted"},"error":false,"'
            'errorDescription":""}'
        ),
        "ServiceMessage",
        "interruptTransmitted",
        "",
        False,
        "",
        "interrupt accepted (value carries a leading blank)",
        DOCUMENT + "6.2.1",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":" methodNotImplemented"},"error":false,"'
            'errorDescription":""}'
        ),
        "ServiceMessage",
        "methodNotImplemented",
        "",
        False,
        "",
        "method not supported (leading blank)",
        DOCUMENT + "6.3",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"3":"Оплата Частинами в періоді","4":"Оплата части'
            'нами","5":"Миттєва Розстрочка","6":"Миттєва Розстрочка Акція","12":"Табелювання","msgType":"getM'
            'erchantList"},"error":false,"errorDescription":""}'
        ),
        "ServiceMessage",
        "getMerchantList",
        "",
        False,
        "",
        "merchant list: numeric keys beside msgType, gaps allowed",
        DOCUMENT + "6.4.2",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"1":"TESTKKM0","2":"TESTKKM1","3":"X1110B6L","msgT'
            'ype":"getMaskList"},"error":false,"errorDescription":""}'
        ),
        "ServiceMessage",
        "getMaskList",
        "",
        False,
        "",
        "mask list",
        DOCUMENT + "6.5.2",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"getLastResult","LastResult":"0"},"error'
            '":false,"errorDescription":""}'
        ),
        "ServiceMessage",
        "getLastResult",
        "",
        False,
        "",
        "last operation done (0) / running (2)",
        DOCUMENT + "6.7",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"getLastStatMsgCode","LastStatMsgCode":"'
            '6"},"error":false,"errorDescription":""}'
        ),
        "ServiceMessage",
        "getLastStatMsgCode",
        "",
        False,
        "",
        "progress: PIN wanted",
        DOCUMENT + "6.8",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"getLastStatMsgDescription ","LastStatMs'
            'gDescription":"pin entry is needed"},"error":false,"errorDescription":""}'
        ),
        "ServiceMessage",
        "getLastStatMsgDescription",
        "",
        False,
        "",
        "progress text (msgType has a trailing blank)",
        DOCUMENT + "6.9",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"getDiscountName","discountName":"someDi'
            'scountGroup","pan":"123456******9876","posEntryMode":"071"},"error":false,"errorDescritption":""'
            "}"
        ),
        "ServiceMessage",
        "getDiscountName",
        "",
        False,
        "",
        "discount group and masked PAN; misspelt key",
        DOCUMENT + "6.11",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"correctionTransmitted"},"error":false,"'
            'errorDescritption":""}'
        ),
        "ServiceMessage",
        "correctionTransmitted",
        "",
        False,
        "",
        "correction accepted",
        DOCUMENT + "6.12.1",
    ),
    Received(
        _message(
            '{"method":"ServiceMessage","step":0,"params":{"msgType":"correctTransaction"},"error":true,"erro'
            'rDescritption":"Корекція неможлива"}'
        ),
        "ServiceMessage",
        "correctTransaction",
        "",
        True,
        "Корекція неможлива",
        "correction refused; the purchase goes on with the first amount",
        DOCUMENT + "6.12",
    ),
)

MALFORMED = (
    Malformed(
        bytes.fromhex(
            "7b 22 6d 65 74 68 6f 64 22 3a 22 50 69 6e 67 44 65 76 69 63 65 22 2c 22 73 74 65 70 22 3a 30 2c 22 "
            "70 61 72 61 6d 73 22 3a 7b 22 63 6f 64 65 22 3a 20 30 30 2c 22 72 65 73 70 6f 6e 73 65 43 6f 64 65 "
            "22 3a 20 22 30 30 30 30 22 2c 22 65 72 72 6f 72 22 3a 20 66 61 6c 73 65 2c 22 65 72 72 6f 72 44 65 "
            "73 63 72 69 70 74 69 6f 6e 22 3a 22 22 7d 00"
        ),
        "as the same document prints it: a number written 00, and params never closed",
        DOCUMENT + "2",
    ),
)
