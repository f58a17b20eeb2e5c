"""The answers of an ECR17 terminal: fields of fixed width, positions from 1 (docs/reference/ecr17.md#answers)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeAlias

from protocols.errors import Garbled
from protocols.terminals.ecr17.fields import ANY_TERMINAL, amount, header, number, opened, to_bytes

APPROVED, REFUSED, NO_CARD, UNKNOWN_COMMAND = "00", "01", "05", "09"
"""Result codes of final answers."""


class TerminalState(Enum):
    """The state of the terminal (position 31 of `StatusAnswer`)."""

    NOT_CONFIGURED = "0"
    NO_DOWNLOAD = "1"
    OPERATIVE = "2"
    NOT_ALIGNED = "3"
    KEYS = "4"
    DOWNLOAD_PENDING = "5"
    UPDATE_PENDING = "6"


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """A message of the terminal: its number, a letter, and fields."""

    terminal: str = ANY_TERMINAL
    letter: ClassVar[str]

    @property
    def code(self) -> str:
        """The letter that names it."""
        return self.letter

    def encode(self) -> bytes:
        """The payload."""
        return header(self.terminal, self.code) + to_bytes(self._fields())

    def _fields(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class StatusAnswer(_Answer):
    """The terminal's clock (``DDMMYYhhmm``), its state and its software."""

    state: TerminalState
    time: str = "0000000000"
    software: str = ""
    letter = "s"

    def _fields(self) -> str:
        return f"{'0' * 10}{self.time:0>10.10}{self.state.value}{self.software}"


@dataclass(frozen=True)
class Conversion:
    """The customer paid in the card's own currency: what `V` answers add.

    ``cents`` is the amount in the till's currency, ``converted`` that in ``currency`` with ``precision`` decimals;
    ``rate`` stays as the terminal wrote it.
    """

    cents: int
    rate: str
    currency: str
    converted: int
    precision: str = "2"
    action: str = "000"
    flag: str = "1"

    def encode(self) -> str:
        """Positions 72 to 107."""
        amounts = amount(self.cents), amount(self.converted, 12)
        return (
            f"{self.action:0>3.3}{amounts[0]}{self.flag:.1}{self.rate:0>8.8}{self.currency:<3.3}{amounts[1]}"
            f"{self.precision:.1}"
        )


@dataclass(frozen=True)
class _Result(_Answer):
    """An answer with a result code."""

    result: str

    @property
    def approved(self) -> bool:
        """Whether it was done: money moved, or is held."""
        return self.result == APPROVED

    def _fields(self) -> str:
        return f"{self.result:0>2.2}{self._details()}"

    def _details(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class _CardResult(_Result):
    """The result of an operation with a card."""

    pan: str = field(default="", repr=False)
    entry: str = ""
    auth: str = ""

    @property
    def card(self) -> str:
        """The card number with all but its first 6 and last 4 digits masked; empty when there is none."""
        return mask(self.pan)


@dataclass(frozen=True)
class PaymentAnswer(_CardResult):
    """The final answer to a payment or a reversal (`E`, `V`), or the last one once more.

    ``text`` says why it was refused; card, ``entry`` (ICC, MAG, CLI), ``auth`` and ``host_time`` (``DDDHHMM``, day of
    the year) are there when it was approved. ``stan`` is what a reversal names. The amount is not part of the answer,
    unless there is a conversion.
    """

    host_time: str = ""
    text: str = ""
    card_type: str = "0"
    acquirer: str = ""
    stan: str = ""
    online: str = ""
    conversion: Conversion | None = None

    @property
    def code(self) -> str:
        """See `_Answer.code`."""
        return "V" if self.conversion is not None else "E"

    def _details(self) -> str:
        if self.approved:
            details = f"{self.pan:0>19.19}{self.entry:<3.3}{self.auth:<6.6}{self.host_time:0>7.7}"
        else:
            details = f"{self.text:<24.24}{'':0>11}"
        tail = f"{self.card_type:.1}{self.acquirer:<11.11}{self.stan:0>6.6}{self.online:0>6.6}"
        return details + tail + (self.conversion.encode() if self.conversion is not None else "")


@dataclass(frozen=True)
class PreauthorisationAnswer(_CardResult):
    """The final answer to a pre-authorisation (`e`); ``original`` is the code that its closure names.

    Terminals may leave out what follows the time (the published sample does), so it may be empty.
    """

    cents: int = 0
    original: str = ""
    action: str = "000"
    host_time: str = ""
    text: str = ""
    acquirer: str = ""
    stan: str = ""
    online: str = ""
    letter = "e"

    def _details(self) -> str:
        if not self.approved:
            return f"{self.text:<24.24}"
        card = f"{self.pan:0>19.19}{self.entry:<3.3}{self.auth:<6.6}{amount(self.cents)}{self.original:0>9.9}"
        tail = f"{'':4}{self.acquirer:<11.11}{self.stan:0>6.6}{self.online:0>6.6}" if self.stan else ""
        return f"{card}{self.action:0>3.3}{self.host_time:0>7.7}{tail}"


@dataclass(frozen=True)
class TotalsAnswer(_Result):
    """The sum of the session in the terminal, in cents (`T`)."""

    terminal_total: int = 0
    text: str = ""
    letter = "T"

    def _details(self) -> str:
        return f"{amount(self.terminal_total, 16)}000000" if self.approved else f"{self.text:<19.19}000"


@dataclass(frozen=True)
class CloseAnswer(_Result):
    """The end of the session: the sums of terminal and bank in cents, or why it was refused (`C`)."""

    terminal_total: int = 0
    host_total: int = 0
    text: str = ""
    action: str = "000"
    letter = "C"

    def _details(self) -> str:
        if self.approved:
            return f"{amount(self.terminal_total, 16)}{amount(self.host_total, 16)}"
        return f"{self.text:<19.19}{self.action:0>3.3}"


@dataclass(frozen=True)
class CardAnswer:
    """What a card verification found (`H`); the layout is that of `PaymentAnswer`."""

    found: PaymentAnswer
    code: ClassVar[str] = "H"

    def encode(self) -> bytes:
        """The payload."""
        payload = self.found.encode()
        return payload[:9] + b"H" + payload[10:]


@dataclass(frozen=True)
class Receipt(_Answer):
    """Lines of a receipt that the till must print (`S`)."""

    text: str
    letter = "S"

    def _fields(self) -> str:
        return self.text


@dataclass(frozen=True)
class ServicePart(_Answer):
    """A piece of the answer of an application on the terminal (`K`): pieces are numbered from 1."""

    xml: str
    n: int = 1
    more: bool = False
    letter = "K"

    def _fields(self) -> str:
        # No page says what the four zeros before the length mean.
        return f"0000{self.more:d}{self.n:03d}0000{len(to_bytes(self.xml)):04d}{self.xml}"


@dataclass(frozen=True)
class ServiceAnswer:
    """The whole answer of an application on the terminal."""

    xml: str
    code: ClassVar[str] = "K"


@dataclass(frozen=True)
class Acknowledged:
    """The terminal took a request that has no other answer."""

    code: ClassVar[str] = ""


Message: TypeAlias = (
    StatusAnswer
    | PaymentAnswer
    | PreauthorisationAnswer
    | TotalsAnswer
    | CloseAnswer
    | CardAnswer
    | Receipt
    | ServicePart
)
"""What travels in a frame of the terminal."""

Ecr17Answer: TypeAlias = Message | ServiceAnswer | Acknowledged


def mask(pan: str) -> str:
    """``pan`` without leading zeros, all but the first 6 and the last 4 digits masked."""
    digits = pan.strip().lstrip("0")
    return digits if len(digits) <= 10 else f"{digits[:6]}{'*' * (len(digits) - 10)}{digits[-4:]}"


def decode_answer(payload: bytes) -> Message:
    """The answer in ``payload``, as the till reads it.

    What a short answer leaves out is empty. The errors contain no bytes of it: a card number could be among them.

    :raises Garbled: for an unknown letter, or without a result.
    """
    text, code = opened(payload)
    terminal, result = text[:8], text[10:12]
    if code == "S":
        return Receipt(text[10:], terminal=terminal)
    if code == "K":
        flag, xml = text[14:15], text[26:]
        if flag not in ("0", "1") or number(text[22:26]) != len(xml):
            raise Garbled("a piece of a service's answer that is not whole")
        return ServicePart(xml, number(text[15:18]), flag == "1", terminal=terminal)
    if code == "s":
        if text[30:31] not in {state.value for state in TerminalState}:
            raise Garbled("a status without a known state")
        return StatusAnswer(TerminalState(text[30]), text[20:30], text[31:].rstrip(), terminal=terminal)
    if code not in "EVHeTC":
        raise Garbled(f"an answer with the unknown letter {code!r}")
    if len(result) < 2 or not (result.isascii() and result.isdigit()):
        raise Garbled(f"an answer {code!r} without a result")
    approved = result == APPROVED
    match code:
        case "e":
            return _preauthorisation(text, terminal, result)
        case "T":
            if approved:
                return TotalsAnswer(result, number(text[12:28]), terminal=terminal)
            return TotalsAnswer(result, text=text[12:31].rstrip(), terminal=terminal)
        case "C":
            if approved:
                return CloseAnswer(result, number(text[12:28]), number(text[28:44]), terminal=terminal)
            return CloseAnswer(result, text=text[12:31].rstrip(), action=text[31:34], terminal=terminal)
    final = _final(text, terminal, result, with_conversion=code == "V")
    return CardAnswer(final) if code == "H" else final


def _final(text: str, terminal: str, result: str, with_conversion: bool) -> PaymentAnswer:
    approved = result == APPROVED
    return PaymentAnswer(
        result,
        pan=text[12:31].strip() if approved else "",
        entry=text[31:34].strip() if approved else "",
        auth=text[34:40].strip() if approved else "",
        host_time=text[40:47] if approved else "",
        text="" if approved else text[12:36].rstrip(),
        card_type=text[47:48],
        acquirer=text[48:59].strip(),
        stan=text[59:65],
        online=text[65:71],
        conversion=_conversion(text) if with_conversion else None,
        terminal=terminal,
    )


def _conversion(text: str) -> Conversion | None:
    """The fields from position 72 on; unreadable numbers there do not make an approval doubtful."""
    if not (text[74:82].isdecimal() and text[94:106].isdecimal()):
        return None
    cents, converted = int(text[74:82]), int(text[94:106])
    return Conversion(cents, text[83:91], text[91:94], converted, text[106:107], text[71:74], text[82:83])


def _preauthorisation(text: str, terminal: str, result: str) -> PreauthorisationAnswer:
    if result != APPROVED:
        return PreauthorisationAnswer(result, text=text[12:36].rstrip(), terminal=terminal)
    return PreauthorisationAnswer(
        result,
        pan=text[12:31].strip(),
        entry=text[31:34].strip(),
        auth=text[34:40].strip(),
        cents=number(text[40:48]),
        original=text[48:57],
        action=text[57:60],
        host_time=text[60:67],
        acquirer=text[71:82].strip(),
        stan=text[82:88],
        online=text[88:94],
        terminal=terminal,
    )
