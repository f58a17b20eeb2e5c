"""What the till asks an ECR17 terminal: fields of fixed width, positions from 1 (terminals.md 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import ClassVar, TypeAlias

from protocols.errors import Garbled
from protocols.terminals.ecr17.fields import ANY_TERMINAL, amount, header, number, opened, to_bytes

LAST_STAN = "000000"
"""Names the last operation in a reversal (terminals.md 8)."""


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
    """The letter of a request that goes on with a pre-authorisation."""

    INCREMENT = "i"
    CLOSURE = "c"


class ReportKind(StrEnum):
    """The letter of a request for sums."""

    CLOSE = "C"
    TOTALS = "T"


_FINAL = frozenset("EV")


@dataclass(frozen=True)
class StatusRequest:
    """Ask whether the terminal is ready; it answers only while nothing runs on it."""

    terminal: str = ANY_TERMINAL
    answers: ClassVar[frozenset[str]] = frozenset("s")
    money: ClassVar[bool] = False

    def encode(self) -> bytes:
        """The payload, 10 characters."""
        return header(self.terminal, "s")


@dataclass(frozen=True)
class Payment:
    """Take ``cents`` from a card, or hold them when the kind is a pre-authorisation.

    ``text`` is printed on the receipt (128 characters), ``card_present`` goes on with a card that was just verified,
    ``extra`` announces additional data.
    """

    cents: int
    kind: PaymentKind = PaymentKind.PAYMENT
    text: str = ""
    card_present: bool = False
    card_type: CardType = CardType.AUTO
    extra: bool = False
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    money: ClassVar[bool] = True

    @property
    def answers(self) -> frozenset[str]:
        """Letters of the messages that answer it."""
        return frozenset("eEV") if self.kind is PaymentKind.PREAUTHORISATION else _FINAL

    def encode(self) -> bytes:
        """The payload, 167 characters.

        :raises ValueError: for an amount that eight digits do not hold.
        """
        flags = f"{self.extra:d}00{self.card_present:d}{self.card_type.value}"
        return header(self.terminal, self.kind, self.register) + to_bytes(
            f"{flags}{amount(self.cents)}{self.text:>128.128}00000000"
        )


@dataclass(frozen=True)
class FollowUp:
    """Raise a pre-authorisation by ``cents``, or close it with them; ``original`` is its code of 9 digits."""

    kind: FollowUpKind
    cents: int
    original: str
    text: str = ""
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    answers: ClassVar[frozenset[str]] = frozenset("eEV")
    money: ClassVar[bool] = True

    def encode(self) -> bytes:
        """The payload, 176 characters.

        :raises ValueError: for an amount that eight digits do not hold.
        """
        return header(self.terminal, self.kind, self.register) + to_bytes(
            f"00000{amount(self.cents)}{self.text:>128.128}{self.original:0>9.9}00000000"
        )


@dataclass(frozen=True)
class CardCheck:
    """Ask for a card and verify it; a payment with ``card_present`` can follow."""

    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    answers: ClassVar[frozenset[str]] = frozenset("HEV")
    money: ClassVar[bool] = False

    def encode(self) -> bytes:
        """The payload, 39 characters."""
        return header(self.terminal, "H", self.register) + b"0" * 21


@dataclass(frozen=True)
class Report:
    """Ask for the totals, or close the session with the bank."""

    kind: ReportKind
    extra: bool = False
    terminal: str = ANY_TERMINAL
    register: str = "00000001"

    @property
    def answers(self) -> frozenset[str]:
        """Letters of the messages that answer it."""
        return frozenset(self.kind)

    @property
    def money(self) -> bool:
        """Whether doing it twice would differ from doing it once."""
        return self.kind is ReportKind.CLOSE

    def encode(self) -> bytes:
        """The payload, 26 characters."""
        return header(self.terminal, self.kind, self.register) + to_bytes(f"{self.extra:d}0000000")


@dataclass(frozen=True)
class LastResult:
    """Ask for the last final answer once more: no money moves."""

    extra: bool = False
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    answers: ClassVar[frozenset[str]] = frozenset("EVe")
    money: ClassVar[bool] = False

    def encode(self) -> bytes:
        """The payload, 22 characters."""
        return header(self.terminal, "G", self.register) + to_bytes(f"{self.extra:d}000")


@dataclass(frozen=True)
class PrintOnRegister:
    """Have receipts sent to the till instead of printed by the terminal; acknowledged only."""

    on: bool
    terminal: str = ANY_TERMINAL
    answers: ClassVar[frozenset[str]] = frozenset()
    money: ClassVar[bool] = False

    def encode(self) -> bytes:
        """The payload, 11 characters."""
        return header(self.terminal, "E") + to_bytes(f"{self.on:d}")


@dataclass(frozen=True)
class Reprint:
    """Ask for the last receipt once more; acknowledged, and sent as `Receipt` when it goes to the till."""

    to_register: bool
    kind: str = "0"
    terminal: str = ANY_TERMINAL
    answers: ClassVar[frozenset[str]] = frozenset()
    money: ClassVar[bool] = False

    def encode(self) -> bytes:
        """The payload, 22 characters."""
        return header(self.terminal, "R") + to_bytes(f"{self.to_register:d}{self.kind:.1}0000000000")


@dataclass(frozen=True)
class Reversal:
    """Give the money of an operation back; ``stan`` is its number of 6 digits, `LAST_STAN` the last one."""

    stan: str = LAST_STAN
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    answers: ClassVar[frozenset[str]] = _FINAL
    money: ClassVar[bool] = True

    def encode(self) -> bytes:
        """The payload, 26 characters."""
        return header(self.terminal, "S", self.register) + to_bytes(f"{self.stan:0>6.6}00")


@dataclass(frozen=True)
class Service:
    """Ask an application on the terminal for something, in XML; what it does is the application's matter.

    Some of them take money, so the question is never repeated.
    """

    xml: str
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    answers: ClassVar[frozenset[str]] = frozenset("K")
    money: ClassVar[bool] = True

    def encode(self) -> bytes:
        """The payload, 26 characters and the XML.

        :raises ValueError: for XML that is longer than `LONGEST_XML`.
        """
        xml = to_bytes(self.xml)
        if not 0 < len(xml) <= LONGEST_XML:
            raise ValueError(f"{len(xml)} bytes of XML, {LONGEST_XML} are the most")
        return header(self.terminal, "K", self.register) + to_bytes(f"0000{len(xml):04d}") + xml


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

    :raises Garbled: for an unknown letter, a wrong length, or something else than digits where digits belong.
    """
    text, code = opened(payload)
    if code == "K":
        xml = text[26:]
        if not xml or len(xml) > LONGEST_XML or number(text[22:26]) != len(xml):
            raise Garbled("a service whose XML is longer or shorter than it says")
        return Service(xml, text[:8], text[10:18])
    if len(text) != _LENGTHS.get(code, -1):
        raise Garbled(f"no request {code!r} of {len(text)} characters")
    terminal, register = text[:8], text[10:18]
    match code:
        case "s":
            return StatusRequest(terminal)
        case "P" | "X" | "p":
            kind = PaymentKind(code)
            if text[22] not in "0123":
                raise Garbled("unknown type of card")
            return Payment(
                number(text[23:31]),
                kind,
                text[31:159].strip(),
                text[21] == "1",
                CardType(text[22]),
                text[18] == "1",
                terminal,
                register,
            )
        case "i" | "c":
            cents, words = number(text[23:31]), text[31:159].strip()
            return FollowUp(FollowUpKind(code), cents, text[159:168], words, terminal, register)
        case "H":
            return CardCheck(terminal, register)
        case "C" | "T":
            return Report(ReportKind(code), text[18] == "1", terminal, register)
        case "G":
            return LastResult(text[18] == "1", terminal, register)
        case "E":
            return PrintOnRegister(text[10] == "1", terminal)
        case "R":
            return Reprint(text[10] == "1", text[11], terminal)
    return Reversal(text[18:24], terminal, register)
