"""The requests of the till to an ECR17 terminal: fields of fixed width, positions from 1.

See docs/reference/ecr17.md#requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import ClassVar, TypeAlias

from protocols.errors import Garbled
from protocols.terminals.ecr17.fields import ANY_TERMINAL, amount, header, number, opened, to_bytes

LAST_STAN = "000000"
"""The number of the last operation in a reversal."""


LONGEST_XML = 1024
"""Bytes of XML that one message of a service holds."""


class CardType(Enum):
    """Which circuit the payment goes to (position 23)."""

    AUTO = "0"
    DEBIT = "1"
    CREDIT = "2"
    OTHER = "3"


class PaymentKind(StrEnum):
    """The letter of a request with the layout of a payment."""

    PAYMENT = "P"
    EXTENDED = "X"
    PREAUTHORISATION = "p"


class FollowUpKind(StrEnum):
    """The letter of a request that continues a pre-authorisation."""

    INCREMENT = "i"
    CLOSURE = "c"


class ReportKind(StrEnum):
    """The letter of a request for sums."""

    CLOSE = "C"
    TOTALS = "T"


_ANSWERS = {"s": "s", "P": "EV", "X": "EV", "p": "eEV", "i": "eEV", "c": "eEV", "H": "HEV", "C": "C", "T": "T"}
_ANSWERS |= {"G": "EVe", "E": "", "R": "", "S": "EV", "K": "K"}

_MONEY = frozenset("PXpicCSK")


@dataclass(frozen=True, kw_only=True)
class _Request:
    """A request: the terminal's number, a letter, mostly the till's number, and fields."""

    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    letter: ClassVar[str] = ""
    names_register: ClassVar[bool] = True

    @property
    def code(self) -> str:
        """The letter that names it."""
        return self.letter

    @property
    def answers(self) -> frozenset[str]:
        """Letters of the messages that answer it; none when it is only acknowledged."""
        return frozenset(_ANSWERS[self.code])

    @property
    def money(self) -> bool:
        """Whether doing it twice would differ from doing it once."""
        return self.code in _MONEY

    def encode(self) -> bytes:
        """The payload.

        :raises ValueError: for an amount that its digits do not hold, or XML that is too long.
        """
        return header(self.terminal, self.code, self.register if self.names_register else "") + to_bytes(
            self._fields()
        )

    def _fields(self) -> str:
        return ""


@dataclass(frozen=True)
class StatusRequest(_Request):
    """Query whether the terminal is ready; it answers only while nothing runs on it."""

    letter = "s"
    names_register = False


@dataclass(frozen=True)
class Payment(_Request):
    """Take ``cents`` from a card, or hold them when the kind is a pre-authorisation.

    ``text`` is printed on the receipt (128 characters), ``card_present`` continues with a card that was just
    verified, ``extra`` announces additional data.
    """

    cents: int
    kind: PaymentKind = PaymentKind.PAYMENT
    text: str = ""
    card_present: bool = False
    card_type: CardType = CardType.AUTO
    extra: bool = False

    @property
    def code(self) -> str:
        """See `_Request.code`."""
        return self.kind

    def _fields(self) -> str:
        flags = f"{self.extra:d}00{self.card_present:d}{self.card_type.value}"
        return f"{flags}{amount(self.cents)}{self.text:>128.128}00000000"


@dataclass(frozen=True)
class FollowUp(_Request):
    """Raise a pre-authorisation by ``cents``, or close it with them; ``original`` is its code of 9 digits."""

    kind: FollowUpKind
    cents: int
    original: str
    text: str = ""

    @property
    def code(self) -> str:
        """See `_Request.code`."""
        return self.kind

    def _fields(self) -> str:
        return f"00000{amount(self.cents)}{self.text:>128.128}{self.original:0>9.9}00000000"


@dataclass(frozen=True)
class CardCheck(_Request):
    """Ask for a card and verify it; a payment with ``card_present`` can follow."""

    letter = "H"

    def _fields(self) -> str:
        return "0" * 21


@dataclass(frozen=True)
class Report(_Request):
    """Ask for the totals, or close the session with the bank."""

    kind: ReportKind
    extra: bool = False

    @property
    def code(self) -> str:
        """See `_Request.code`."""
        return self.kind

    def _fields(self) -> str:
        return f"{self.extra:d}0000000"


@dataclass(frozen=True)
class LastResult(_Request):
    """Ask for the last final answer once more: no money moves."""

    extra: bool = False
    letter = "G"

    def _fields(self) -> str:
        return f"{self.extra:d}000"


@dataclass(frozen=True)
class PrintOnRegister(_Request):
    """Have receipts sent to the till instead of printed by the terminal; acknowledged only."""

    on: bool
    letter = "E"
    names_register = False

    def _fields(self) -> str:
        return f"{self.on:d}"


@dataclass(frozen=True)
class Reprint(_Request):
    """Ask for the last receipt once more; acknowledged, and sent as `Receipt` when it goes to the till."""

    to_register: bool
    kind: str = "0"
    letter = "R"
    names_register = False

    def _fields(self) -> str:
        return f"{self.to_register:d}{self.kind:.1}0000000000"


@dataclass(frozen=True)
class Reversal(_Request):
    """Give the money of an operation back; ``stan`` is its number of 6 digits, `LAST_STAN` the last one."""

    stan: str = LAST_STAN
    letter = "S"

    def _fields(self) -> str:
        return f"{self.stan:0>6.6}00"


@dataclass(frozen=True)
class Service(_Request):
    """A request in XML to an application on the terminal.

    Some applications take money, so it is never repeated, and `LastResult` says nothing about it.
    """

    xml: str
    letter = "K"

    def _fields(self) -> str:
        size = len(to_bytes(self.xml))
        if not 0 < size <= LONGEST_XML:
            raise ValueError(f"{size} bytes of XML, {LONGEST_XML} are the most")
        return f"0000{size:04d}{self.xml}"


Request: TypeAlias = (
    StatusRequest
    | Payment
    | FollowUp
    | CardCheck
    | Report
    | LastResult
    | PrintOnRegister
    | Reprint
    | Reversal
    | Service
)

_LENGTHS = {"s": 10, "P": 167, "X": 167, "p": 167, "i": 176, "c": 176, "H": 39, "C": 26, "T": 26}
_LENGTHS |= {"G": 22, "E": 11, "R": 22, "S": 26}


def decode_request(payload: bytes) -> Request:
    """The request in ``payload``, as the terminal reads it.

    :raises Garbled: for an unknown letter, a wrong length, or characters where digits belong.
    """
    text, code = opened(payload)
    if code == "K":
        xml = text[26:]
        if not xml or len(xml) > LONGEST_XML or number(text[22:26]) != len(xml):
            raise Garbled("a service whose XML is longer or shorter than it says")
        return Service(xml, terminal=text[:8], register=text[10:18])
    if len(text) != _LENGTHS.get(code, -1):
        raise Garbled(f"no request {code!r} of {len(text)} characters")
    terminal = text[:8]
    numbers = {"terminal": terminal, "register": text[10:18]}
    match code:
        case "s":
            return StatusRequest(terminal=terminal)
        case "P" | "X" | "p":
            if text[22] not in "0123":
                raise Garbled("unknown type of card")
            cents, words, present = number(text[23:31]), text[31:159].strip(), text[21] == "1"
            return Payment(cents, PaymentKind(code), words, present, CardType(text[22]), text[18] == "1", **numbers)
        case "i" | "c":
            cents, words = number(text[23:31]), text[31:159].strip()
            return FollowUp(FollowUpKind(code), cents, text[159:168], words, **numbers)
        case "H":
            return CardCheck(**numbers)
        case "C" | "T":
            return Report(ReportKind(code), text[18] == "1", **numbers)
        case "G":
            return LastResult(text[18] == "1", **numbers)
        case "E":
            return PrintOnRegister(text[10] == "1", terminal=terminal)
        case "R":
            return Reprint(text[10] == "1", text[11], terminal=terminal)
    return Reversal(text[18:24], **numbers)
