"""What the service and the library's process say to each other, and what a transaction of the library is.

The bytes between the library and the terminal are not public. Ours are lines of JSON over pipes::

    service    {"n": 1, "call": "CommOpenTCP", "given": ["192.0.2.1", "2000"]}
    process    {"version": "1.10.5.8"}                        once, when the library is loaded
               {"absent": "…", "reason": "unregistered"}      or this, and it ends
               {"n": 1, "status": 9, "text": "…"}             while the call works: at each change, and as a heartbeat
               {"n": 1, "result": 0, "values": {…}}           its end: 0 done, 1 failed with ``error`` and ``text``
               {"n": 1, "failed": "…"}                        the library raised an exception

``at_once`` is for `Cancel` and `CorrectTransaction`, which come while a call works and have no end of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from protocols.errors import Garbled

LONGEST = 1 << 18
"""Bytes of a line: a slip has at most 32,648 characters, each of up to six bytes in JSON."""

DONE, FAILED, RUNNING = 0, 1, 2
"""``LastResult``."""

PORT_FAILED, PORT_CLOSED, LINK_FAILED, REFUSED = 1, 2, 3, 4
"""``LastErrorCode``; after `REFUSED`, ``ResponseCode`` has the reason."""

GENERAL, CANCELLED = 1000, 1001
"""``ResponseCode``: of the terminal itself from 1000 on, of the bank below."""

NO_TYPE, PURCHASE, REFUND, VOID = 0, 1, 2, 3
"""``TxnType``."""

UNDEFINED, APPROVED, DECLINED, REVERSED, TAKEN_BACK = range(5)
"""``TrnStatus``."""

NO_STATUS, CARD_READ, CHIP, AUTHORISING, WAITING_CASHIER, PRINTING, PIN, CARD_REMOVED = range(8)
SEVERAL_APPLICATIONS, WAITING_CARD, IN_PROGRESS, CORRECTABLE, PIN_KEY, PIN_ERASED, PIN_DIGIT = range(8, 15)
ACCOUNT, PURCHASE_ONLY, PURCHASE_ONLY_CONFIRMED, FINGER = range(15, 19)
"""``LastStatMsgCode``."""

CALLS = frozenset(
    {
        *("CommOpen", "CommOpenTCP", "Purchase", "Refund", "Void", "PurchaseService", "Settlement"),
        *("PrintBatchTotals", "ReadCard", "Confirm", "Cancel", "CorrectTransaction", "Ping", "CheckConnection"),
        *("GetTxnNum", "GetTxnDataByOrder", "GetTxnDataByInv", "ReqCurrReceipt"),
    }
)
"""The methods that the process calls."""

CARD = ("PAN", "IssuerName", "DiscountName")
"""The properties that are read where a purchase stops at its card."""

TRANSACTION = (
    *("ResponseCode", "TxnType", "TrnStatus", "TrnBatchNum", "InvoiceNum", "RRN", "DateTime", "Amount", "AuthCode"),
    *("PAN", "IssuerName", "TerminalID", "MerchantID"),
)
"""The properties of a transaction."""

Value = str | int


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """A method of the library, and the properties that are read at its end."""

    n: int
    call: str
    given: list[Value] = []
    read: list[str] = []
    at_once: bool = False


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the process says."""

    n: int = 0
    version: str | None = None
    absent: str | None = None
    reason: str = ""
    status: int | None = None
    text: str = ""
    result: int | None = None
    error: int = 0
    values: dict[str, Value] = {}
    failed: str | None = None

    def number(self, name: str) -> int:
        """A property that is a number; 0 when it was not given."""
        value = self.values.get(name, 0)
        return value if isinstance(value, int) else 0

    def words(self, name: str) -> str:
        """A property that is a text."""
        return readable(str(self.values.get(name, ""))).strip("\x00 ")

    @property
    def words_of_error(self) -> str:
        """The words of the library or the terminal for a failure."""
        return readable(self.text).strip("\x00 ")


class Transaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """A transaction as the terminal's journal has it; sums are in kopecks."""

    kind: int = NO_TYPE
    status: int = UNDEFINED
    code: int = 0
    batch: int = 0
    invoice: int = 0
    rrn: str = ""
    at: str = ""
    """``YYMMDDhhmmss``."""
    amount: int = 0

    @classmethod
    def of(cls, said: Said) -> Transaction:
        """The transaction in the properties of an answer."""
        return cls(
            said.number("TxnType"),
            said.number("TrnStatus"),
            said.number("ResponseCode"),
            said.number("TrnBatchNum"),
            said.number("InvoiceNum"),
            said.words("RRN"),
            said.words("DateTime"),
            said.number("Amount"),
        )

    def is_same(self, other: Transaction | None) -> bool:
        """Whether both are one transaction: its status and code may change."""
        return other is not None and _name(self) == _name(other)


def _name(one: Transaction) -> tuple[int | str, ...]:
    return one.invoice, one.rrn, one.at, one.amount


def readable(text: str) -> str:
    """A text of the terminal, which is Windows-1251, though the library took it for the system's own character set.

    On a system with another one each byte became a letter of Western Europe.
    """
    if text.isascii() or any("\u0400" <= sign <= "\u04ff" for sign in text):
        return text
    try:
        return b"".join(map(_byte, text)).decode("cp1251")
    except UnicodeError:
        return text


def _byte(sign: str) -> bytes:
    try:
        return sign.encode("cp1252")
    except UnicodeEncodeError:
        return sign.encode("latin-1")


class Lines:
    """Complete lines out of any pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete now.

        :raises Garbled: when a line has no end.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from lines
        if len(self._rest) > LONGEST:
            raise Garbled("a line without an end", self._rest)


_encode = msgspec.json.Encoder().encode
_said = msgspec.json.Decoder(Said).decode
_call = msgspec.json.Decoder(Call).decode


def line_of(message: Call | Said) -> bytes:
    """A message as a line."""
    return _encode(message) + b"\n"


def read_said(line: bytes) -> Said:
    """A line of the process.

    :raises Garbled: when it is none.
    """
    try:
        return _said(line)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise Garbled("no line of the library's process", line) from error


def read_call(line: bytes) -> Call:
    """A line of the service.

    :raises ValueError: when it is none.
    """
    call = _call(line)
    if call.call not in CALLS or not set(call.read) <= {*TRANSACTION, "TxnNum", "Receipt", *CARD}:
        raise ValueError(f"{call.call} is not called here")
    return call
