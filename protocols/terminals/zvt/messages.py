"""The messages of ZVT as values that encode and decode themselves, those of the till and those of the terminal.

The till is master until it sends a command; then the terminal is, until its completion or abort
(docs/reference/zvt.md#apdu)::

    till        06 01  authorisation         ->
    terminal                                 <-  80 00  taken
    terminal                                 <-  04 FF  insert the card        till -> 80 00
    terminal                                 <-  04 0F  approved, receipt 473  till -> 80 00 once it is stored
    terminal                                 <-  06 D1  a line of the slip     till -> 80 00
    terminal                                 <-  06 0F  done                   till -> 80 00

`decode` turns any APDU into its message; an unknown one becomes `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, get_args

from protocols.errors import Garbled
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.zvt import fields as f
from protocols.terminals.zvt.apdu import Apdu
from protocols.terminals.zvt.fields import NO_FIELDS, Fields, bcd, from_bcd, masked_pan
from protocols.terminals.zvt.tlv import Tlv, decode_all, find, read_length

UNKNOWN_CURRENCY = 0
"""Currency of a message that names none."""

RECEIPT_IN_STEP = 0x1F1F
"""Data object with the last receipt number that the till knows (docs/reference/zvt.md#in-step)."""
RECEIPT_KIND, BLOCK, LINE, ATTRIBUTE = 0x1F07, 0x25, 0x07, 0x09
"""Data objects of a block of print lines."""
TEXTS, COMMANDS = 0x24, 0x26
"""Data objects: texts for a display, and the list of commands that the till understands."""
SEQUENCE = 0x1F73
"""Data object with the number of a message, where both sides number them."""

PRINTS_PAYMENTS, PRINTS_REPORTS, WANTS_STATES = 0x02, 0x04, 0x08
RULES_PAYMENT, RULES_ADMINISTRATION, WANTS_LINES = 0x10, 0x20, 0x80
"""Bits of the registration: what the till prints, receives and reserves for itself
(docs/reference/zvt.md#commands)."""

WITHOUT_VERSION = 0x02
"""Service of a status enquiry: the answer is the status alone."""
SEND_AGAIN, DO_NOT_PRINT = 0x01, 0x02
"""Services of a repeat receipt; both together ask for the last result without printing."""

CARD_JUST_READ = 0x02
"""Payment type: use the card that was read before."""


def in_step(receipt: int) -> Tlv:
    """The last receipt number that we know; 0 for none, which is sent without a value."""
    return Tlv(RECEIPT_IN_STEP, bcd(receipt, 2) if receipt else b"")


def _password(data: bytes) -> tuple[str, bytes]:
    if len(data) < 3:
        raise Garbled("the password is cut short", data)
    return f"{from_bcd(data[:3]):06d}", data[3:]


def _pw(password: str) -> bytes:
    if len(password) != 6 or not password.isdecimal():
        raise ValueError("a password has six digits")
    return bytes.fromhex(password)


class _Message:
    """A message with a control field of its own."""

    control: ClassVar[int]

    def encode(self) -> Apdu:
        """The message as an APDU."""
        return Apdu(self.control, self._data())

    @classmethod
    def decode(cls, apdu: Apdu) -> Self:
        """The message of an APDU with this control field.

        :raises Garbled: when the data are cut short, or are not what this message carries.
        """
        return cls._read(apdu.data)

    def _data(self) -> bytes:
        raise NotImplementedError

    @classmethod
    def _read(cls, data: bytes) -> Self:
        raise NotImplementedError


@dataclass(frozen=True)
class _Bare(_Message):
    """A message without data."""

    def _data(self) -> bytes:
        return b""

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if data:
            raise Garbled(f"{cls.control:04X} carries no data", data)
        return cls()


@dataclass(frozen=True)
class _OfFields(_Message):
    """A message that is fields and nothing else."""

    fields: Fields = NO_FIELDS

    @property
    def amount(self) -> int | None:
        """The sum in minor units, when there is one."""
        return self.fields.number(f.AMOUNT)

    def _data(self) -> bytes:
        return self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        return cls(Fields.decode(data))


@dataclass(frozen=True)
class _WithPassword(_Message):
    """A command that is a password and fields."""

    password: str
    fields: Fields = NO_FIELDS

    @property
    def amount(self) -> int | None:
        """The sum in minor units, when there is one."""
        return self.fields.number(f.AMOUNT)

    def _data(self) -> bytes:
        return _pw(self.password) + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        password, rest = _password(data)
        return cls(password, Fields.decode(rest))


# Answers to a message, of either side.


class Acknowledge(_OfFields):
    """``80 00``: taken. In a numbered session it carries its number."""

    control = 0x8000


@dataclass(frozen=True)
class Negative:
    """``84 xx``: not taken, or taken with a remark; ``84 00`` counts as positive (docs/reference/zvt.md#apdu)."""

    code: int
    data: bytes = b""

    @property
    def positive(self) -> bool:
        """Whether the message was taken after all."""
        return self.code == 0

    def encode(self) -> Apdu:
        """The message as an APDU."""
        return Apdu(0x8400 | self.code, self.data)


# Commands of the till.


@dataclass(frozen=True)
class Registration(_Message):
    """``06 00``: introduce the till; `config` is a sum of the bits above."""

    control = 0x0600
    password: str
    config: int
    currency: int = UNKNOWN_CURRENCY
    """ISO number, 0 when it is left out."""
    fields: Fields = NO_FIELDS

    def _data(self) -> bytes:
        currency = bcd(self.currency, 2) if self.currency else b""
        return _pw(self.password) + bytes([self.config]) + currency + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        password, rest = _password(data)
        if not rest:
            raise Garbled("a registration without its configuration", data)
        config, rest = rest[0], rest[1:]
        # The currency has no name; 03 and 06 are the fields that may come instead.
        currency = UNKNOWN_CURRENCY
        if len(rest) >= 2 and rest[0] not in (f.SERVICE, f.CONTAINER):
            currency, rest = from_bcd(rest[:2]), rest[2:]
        return cls(password, config, currency, Fields.decode(rest))


@dataclass(frozen=True)
class StatusEnquiry(_Message):
    """``05 01``: query the terminal's status. The password may be left out when there are no fields."""

    control = 0x0501
    password: str = ""
    fields: Fields = NO_FIELDS

    def _data(self) -> bytes:
        return (_pw(self.password) if self.password else b"") + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if not data:
            return cls()
        password, rest = _password(data)
        return cls(password, Fields.decode(rest))


def _currency(currency: int) -> bytes | None:
    return bcd(currency, 2) if currency else None


class Authorisation(_OfFields):
    """``06 01``: take money from a card."""

    control = 0x0601

    @classmethod
    def of(
        cls, amount: int, currency: int = UNKNOWN_CURRENCY, payment_type: int | None = None, *tlv: Tlv
    ) -> Authorisation:
        """An authorisation of ``amount`` in minor units."""
        kind = None if payment_type is None else bytes([payment_type])
        items = ((f.AMOUNT, bcd(amount, 6)), (f.CURRENCY, _currency(currency)), (f.PAYMENT_TYPE, kind))
        return cls(Fields.of(*items, tlv=tlv))


class Reversal(_WithPassword):
    """``06 30``: take back the operation with a receipt number."""

    control = 0x0630

    @classmethod
    def of(
        cls, password: str, receipt: int, amount: int | None = None, currency: int = UNKNOWN_CURRENCY, *tlv: Tlv
    ) -> Reversal:
        """A reversal of ``receipt``, of the whole sum when none is given."""
        items = (
            (f.RECEIPT, bcd(receipt, 2)),
            (f.AMOUNT, None if amount is None else bcd(amount, 6)),
            (f.CURRENCY, _currency(currency)),
        )
        return cls(password, Fields.of(*items, tlv=tlv))

    @property
    def receipt(self) -> int | None:
        """The receipt number."""
        return self.fields.number(f.RECEIPT)


class Refund(_WithPassword):
    """``06 31``: give money back on the card that the customer shows."""

    control = 0x0631

    @classmethod
    def of(cls, password: str, amount: int, currency: int = UNKNOWN_CURRENCY, *tlv: Tlv) -> Refund:
        """A refund of ``amount`` in minor units."""
        return cls(password, Fields.of((f.AMOUNT, bcd(amount, 6)), (f.CURRENCY, _currency(currency)), tlv=tlv))


class EndOfDay(_WithPassword):
    """``06 50``: close the batch."""

    control = 0x0650


class SendTotals(_WithPassword):
    """``06 10``: the totals without closing."""

    control = 0x0610


class Initialisation(_WithPassword):
    """``06 93``: begin the terminal's own initialisation."""

    control = 0x0693


class RepeatReceipt(_WithPassword):
    """``06 20``: the last receipt once more, on paper, as status information, or both."""

    control = 0x0620

    @classmethod
    def of(cls, password: str, service: int | None = None) -> RepeatReceipt:
        """A repeat; ``service`` is a sum of `SEND_AGAIN` and `DO_NOT_PRINT`."""
        return cls(password, Fields.of((f.SERVICE, None if service is None else bytes([service]))))

    @property
    def service(self) -> int:
        """The sum of the services, 0 when none is named."""
        return self.fields.byte(f.SERVICE)


@dataclass(frozen=True)
class ReprintReceipts(_Message):
    """``06 12``: print the receipts from one number to another."""

    control = 0x0612
    password: str
    first: int
    last: int = 0
    """0 when only one number is given."""

    def _data(self) -> bytes:
        last = bcd(self.last, 2) if self.last else b""
        return _pw(self.password) + bcd(self.first, 2) + last

    @classmethod
    def _read(cls, data: bytes) -> Self:
        password, rest = _password(data)
        if len(rest) not in (2, 4):
            raise Garbled("receipt numbers have two bytes", data)
        return cls(password, from_bcd(rest[:2]), from_bcd(rest[2:]) if len(rest) == 4 else 0)


@dataclass(frozen=True)
class ReadCard(_Message):
    """``06 C0``: wait ``timeout`` seconds for a card and send its data."""

    control = 0x06C0
    timeout: int
    fields: Fields = NO_FIELDS

    def _data(self) -> bytes:
        return bcd(self.timeout, 1) + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if not data:
            raise Garbled("no time limit to read a card")
        return cls(from_bcd(data[:1]), Fields.decode(data[1:]))


class Abort(_Bare):
    """``06 B0``: stop the running command."""

    control = 0x06B0


class LogOff(_Bare):
    """``06 02``: the till leaves."""

    control = 0x0602


class Diagnosis(_OfFields):
    """``06 70``: try the connection to the bank."""

    control = 0x0670


# Messages of the terminal.


class StatusInformation(_OfFields):
    """``04 0F``: how an operation went, or what a card is.

    The terminal keeps the booking once this message is acknowledged. `amount` is the approved sum; it may be less
    than the requested one.
    """

    control = 0x040F

    @property
    def amount(self) -> int | None:
        """The sum in minor units, when there is one; `NOT_A_SUM` when it cannot be read."""
        try:
            return super().amount
        except Garbled:
            return NOT_A_SUM

    @property
    def result(self) -> int:
        """The result, 0 for success; without one it is a success (end of day, read card)."""
        return self.fields.byte(f.RESULT)

    @property
    def receipt(self) -> int | None:
        """Receipt number, the name for a reversal."""
        return self.fields.number(f.RECEIPT)

    @property
    def trace(self) -> int | None:
        """Trace number."""
        return self.fields.number(f.TRACE)

    @property
    def original_trace(self) -> int | None:
        """Of a reversal the trace number of what it took back, where the terminal sends it."""
        return self.fields.number(f.ORIGINAL_TRACE)

    @property
    def currency(self) -> int | None:
        """ISO number of the currency."""
        return self.fields.number(f.CURRENCY)

    @property
    def terminal_id(self) -> str:
        """Terminal id, eight digits."""
        return self.fields.hex(f.TERMINAL_ID)

    @property
    def pan(self) -> str:
        """Masked card number."""
        return masked_pan(self.fields.get(f.PAN) or b"")

    @property
    def date(self) -> str:
        """``MMDD``; there is no year."""
        return self.fields.hex(f.DATE)

    @property
    def time(self) -> str:
        """``HHMMSS`` of the terminal's clock."""
        return self.fields.hex(f.TIME)

    @property
    def expiry(self) -> str:
        """``YYMM`` of the card."""
        return self.fields.hex(f.EXPIRY)

    @property
    def authorisation(self) -> str:
        """The bank's code of the approval."""
        return _ascii(self.fields.get(f.AUTHORISATION))

    @property
    def vu_number(self) -> str:
        """The contract of the shop."""
        return _ascii(self.fields.get(f.VU_NUMBER))

    @property
    def card_name(self) -> str:
        """Name of the card's brand."""
        return _ascii(self.fields.get(f.CARD_NAME))

    @property
    def card_type(self) -> int | None:
        """Number of the card's brand."""
        raw = self.fields.get(f.CARD_TYPE)
        return None if raw is None else raw[0]

    @property
    def totals(self) -> BatchTotals | None:
        """What an end of day closed."""
        raw = self.fields.get(f.TOTALS)
        return None if raw is None else BatchTotals.decode(raw)

    def text(self, charset: str = "cp437") -> str:
        """The terminal's remark."""
        return (self.fields.get(f.TEXT) or b"").decode(charset, "replace")

    @classmethod
    def _read(cls, data: bytes) -> Self:
        message = super()._read(data)
        # Checked now, so that reading a property of a message that was taken never fails.
        for name in (f.RECEIPT, f.TRACE, f.CURRENCY):
            message.fields.number(name)
        message.totals  # noqa: B018
        return message


def _ascii(raw: bytes | None) -> str:
    return (raw or b"").split(b"\0")[0].decode("cp437").strip()


GROUPS = ("girocard", "jcb", "mastercard", "amex", "visa", "diners", "other")
"""Card groups of the totals, in their order."""


@dataclass(frozen=True)
class BatchTotals:
    """Field 60: first and last receipt number, and count and turnover in minor units for each of `GROUPS`."""

    first: int
    last: int
    groups: tuple[tuple[int, int], ...]

    def encode(self) -> bytes:
        """The bytes of the field."""
        groups = b"".join(bytes([count]) + bcd(turnover, 6) for count, turnover in self.groups)
        return bcd(self.first, 2) + bcd(self.last, 2) + groups

    @classmethod
    def decode(cls, raw: bytes) -> BatchTotals:
        """The totals of the field.

        :raises Garbled: when it is cut short.
        """
        if len(raw) < 4 or (len(raw) - 4) % 7:
            raise Garbled("the totals are cut short", raw)
        groups = tuple((raw[at], from_bcd(raw[at + 1 : at + 7])) for at in range(4, len(raw), 7))
        return cls(from_bcd(raw[:2]), from_bcd(raw[2:4]), groups)


@dataclass(frozen=True)
class IntermediateStatus(_Message):
    """``04 FF``: what the terminal does or waits for."""

    control = 0x04FF
    status: int
    minutes: int | None = None
    """How long the next message may take, instead of the usual limit."""
    fields: Fields = NO_FIELDS

    @property
    def texts(self) -> tuple[bytes, ...]:
        """Lines for a display, as bytes of the terminal's character set."""
        return tuple(
            line.value for part in self.fields.tlv if part.tag == TEXTS for line in part.parts if line.tag == LINE
        )

    def _data(self) -> bytes:
        minutes = b"" if self.minutes is None else bcd(self.minutes, 1)
        return bytes([self.status]) + minutes + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if not data:
            raise Garbled("an intermediate status without a status")
        rest = data[1:]
        # The limit may be left out; then a container begins at once. Its length distinguishes it from a limit of 06.
        bare = rest[:1] == b"\x06" and _is_container(rest)
        minutes = from_bcd(rest[:1]) if rest and not bare else None
        message = cls(data[0], minutes, Fields.decode(rest if bare else rest[1:]))
        message.texts  # noqa: B018
        return message


def _is_container(raw: bytes) -> bool:
    """Whether ``raw`` is a container of data objects and nothing else."""
    try:
        size, start = read_length(raw, 1)
        decode_all(raw[start:])
    except Garbled:
        return False
    return start + size == len(raw)


@dataclass(frozen=True)
class StatusReport:
    """The answer to a status enquiry: ``status`` 0 is ready; ``version`` of the software may be missing."""

    status: int
    version: str = ""


@dataclass(frozen=True)
class Completion(_Message):
    """``06 0F``: the operation is over and the till is master again. What the data mean depends on the command."""

    control = 0x060F
    data: bytes = b""

    @property
    def fields(self) -> Fields:
        """The data as fields: everywhere but after a status enquiry.

        :raises Garbled: when they are not fields.
        """
        return Fields.decode(self.data)

    @property
    def result(self) -> int:
        """The result that it carries, 0 when it carries none.

        :raises Garbled: when the data are not fields.
        """
        return self.fields.byte(f.RESULT)

    @property
    def report(self) -> StatusReport:
        """The data as the answer to a status enquiry.

        :raises Garbled: when they are cut short.
        """
        data, version = self.data, b""
        # The version has no name, only the three digits of its length.
        if len(data) >= 3 and all(byte & 0xF0 == 0xF0 for byte in data[:3]):
            size = int("".join(str(byte & 0x0F) for byte in data[:3]))
            version, data = data[3 : 3 + size], data[3 + size :]
        if not data:
            raise Garbled("the answer to a status enquiry is cut short", self.data)
        return StatusReport(data[0], _ascii(version))

    def _data(self) -> bytes:
        return self.data

    @classmethod
    def _read(cls, data: bytes) -> Self:
        return cls(data)


@dataclass(frozen=True)
class AbortReport(_Message):
    """``06 1E``: the operation failed and the till is master again."""

    control = 0x061E
    result: int
    data: bytes = b""
    """What follows: the currency, when that is wrong, or fields."""

    def _data(self) -> bytes:
        return bytes([self.result]) + self.data

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if not data:
            raise Garbled("an abort without a result")
        return cls(data[0], data[1:])


@dataclass(frozen=True)
class PrintLine(_Message):
    """``06 D1``: one line of a slip; `protocols.terminals.zvt.slips` reads the attribute."""

    control = 0x06D1
    attribute: int
    text: bytes = b""
    fields: Fields = NO_FIELDS
    """Some terminals add a container behind the text (docs/reference/zvt.md#vendors)."""

    def _data(self) -> bytes:
        return bytes([self.attribute]) + self.text + self.fields.encode()

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if not data:
            raise Garbled("a print line without its attribute")
        text = data[1:]
        for at in range(len(text)):
            if text[at] == f.CONTAINER and _is_container(text[at:]):
                return cls(data[0], text[:at], Fields.decode(text[at:]))
        return cls(data[0], text)


class PrintBlock(_OfFields):
    """``06 D3``: a whole slip, as data objects in a container."""

    control = 0x06D3

    @classmethod
    def of(cls, kind: int, *lines: bytes) -> PrintBlock:
        """A slip of plain lines, with the cut behind them; for ``kind`` see `PrintBlock.kind`."""
        parts = (*(Tlv(LINE, line) for line in lines), Tlv(ATTRIBUTE, b"\x81"))
        return cls(Fields.of(tlv=(Tlv(RECEIPT_KIND, bytes([kind])), Tlv.of(BLOCK, *parts))))

    @property
    def kind(self) -> int:
        """1 merchant, 2 customer, 3 administration, 0 when it is missing."""
        raw = find(self.fields.tlv, RECEIPT_KIND)
        return raw[0] if raw else 0

    @property
    def lines(self) -> tuple[tuple[int, bytes], ...]:
        """Attribute and text of each line; an attribute holds for the lines behind it."""
        lines = []
        attribute = 0
        for part in decode_all(find(self.fields.tlv, BLOCK) or b""):
            if part.tag == LINE:
                lines.append((attribute, part.value))
            elif part.tag == ATTRIBUTE:
                attribute = part.value[0] if part.value else 0
                # One with bit 80 is a feed or a cut: a line of its own, without text.
                if attribute & 0x80:
                    lines.append((attribute, part.value[1:]))
                    attribute = 0
        return tuple(lines)

    @classmethod
    def _read(cls, data: bytes) -> Self:
        message = super()._read(data)
        message.lines  # noqa: B018
        return message


@dataclass(frozen=True)
class Unknown:
    """Any other message: its control field and its data as they are."""

    control: int
    data: bytes = b""

    def encode(self) -> Apdu:
        """The message as an APDU."""
        return Apdu(self.control, self.data)


Known = (
    Acknowledge
    | Registration
    | StatusEnquiry
    | Authorisation
    | Reversal
    | Refund
    | EndOfDay
    | SendTotals
    | Initialisation
    | RepeatReceipt
    | ReprintReceipts
    | ReadCard
    | Abort
    | LogOff
    | Diagnosis
    | StatusInformation
    | IntermediateStatus
    | Completion
    | AbortReport
    | PrintLine
    | PrintBlock
)
"""Messages with a control field of their own."""

Message = Known | Negative | Unknown

_DECODERS: dict[int, Callable[[Apdu], Message]] = {kind.control: kind.decode for kind in get_args(Known)}


def decode(apdu: Apdu) -> Message:
    """The message that ``apdu`` is.

    :raises Garbled: when its data are not what its control field promises.
    """
    if apdu.control >> 8 == 0x84:
        return Negative(apdu.control & 0xFF, apdu.data)
    decoder = _DECODERS.get(apdu.control)
    return Unknown(apdu.control, apdu.data) if decoder is None else decoder(apdu)
