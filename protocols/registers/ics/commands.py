"""Commands of ICS registers: binary fields, lowest byte first (docs/reference/registers.md#ics).

Text is CP866, where Ukrainian і is written as the Latin letter: see `printable`. An answer begins with three bytes:
STATUS, RESULT and RESERVE. Whether a receipt is open is bit 6 of RESERVE, in every answer.

What ``20`` and ``35`` answer, bit 31 of a payment, and the order of bytes in the memory are readings (L).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from protocols.errors import Garbled
from protocols.registers.records import Command, formats, shortened
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

CHARSET = "cp866"
LONGEST_NAME = 75
FROM_MEMORY = 0xFF
"""A length of a name: the register has the name."""

_NEGATIVE = 1 << 31

_Record = TypeVar("_Record")
_Answer_co = TypeVar("_Answer_co", bound="IcsAnswer", covariant=True)


class Binary:
    """How a value is written as bytes."""

    def write(self, value: Any) -> bytes:
        """The bytes.

        :raises ValueError: it does not fit.
        """
        raise NotImplementedError

    def read(self, data: bytes) -> tuple[Any, bytes]:
        """The value, and the bytes behind it.

        :raises ValueError: they are too few.
        """
        raise NotImplementedError


class Unsigned(Binary):
    """A whole number of ``size`` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def write(self, value: int) -> bytes:
        """Lowest byte first."""
        if not 0 <= value < 1 << 8 * self.size:
            raise ValueError(f"{value} does not fit into {self.size} bytes")
        return value.to_bytes(self.size, "little")

    def read(self, data: bytes) -> tuple[int, bytes]:
        """The number."""
        if len(data) < self.size:
            raise ValueError(f"{len(data)} bytes instead of {self.size}")
        return int.from_bytes(data[: self.size], "little"), data[self.size :]


class Signed(Unsigned):
    """Four bytes whose bit 31 is the sign ``-``."""

    def __init__(self) -> None:
        super().__init__(4)

    def write(self, value: int) -> bytes:
        """The amount and its sign."""
        if abs(value) >= _NEGATIVE:
            raise ValueError(f"{value} does not fit into 31 bits")
        return super().write(abs(value) | (_NEGATIVE if value < 0 else 0))

    def read(self, data: bytes) -> tuple[int, bytes]:
        """The amount with its sign."""
        raw, rest = super().read(data)
        return (-(raw & ~_NEGATIVE) if raw & _NEGATIVE else raw), rest


class Packed(Binary):
    """``size`` bytes of two decimal digits, as text of digits."""

    def __init__(self, size: int) -> None:
        self.size = size

    def write(self, value: str) -> bytes:
        """Two digits in a byte."""
        if not re.fullmatch(rf"[0-9]{{{2 * self.size}}}", value):
            raise ValueError(f"not {2 * self.size} digits: {value!r}")
        return bytes.fromhex(value)

    def read(self, data: bytes) -> tuple[str, bytes]:
        """The digits."""
        text = data[: self.size].hex()
        if len(text) < 2 * self.size or not text.isdigit():
            raise ValueError(f"not {self.size} packed bytes")
        return text, data[self.size :]


class Counted(Binary):
    """Text of at most ``most`` characters behind a byte with its length."""

    def __init__(self, most: int = 255) -> None:
        self.most = most

    def write(self, value: str) -> bytes:
        """Length and text."""
        raw = value.encode(CHARSET)
        if len(raw) > self.most:
            raise ValueError(f"{value!r} is longer than {self.most} characters")
        return bytes([len(raw)]) + raw

    def read(self, data: bytes) -> tuple[str, bytes]:
        """The text."""
        if not data or len(data) <= data[0] or data[0] > self.most:
            raise ValueError("a text is too short")
        end = 1 + data[0]
        return data[1:end].decode(CHARSET), data[end:]


class Rest(Binary):
    """All bytes that are left."""

    def write(self, value: bytes) -> bytes:
        """As they are."""
        return value

    def read(self, data: bytes) -> tuple[bytes, bytes]:
        """As they are."""
        return data, b""


U8: TypeAlias = Annotated[int, Unsigned(1)]
U16: TypeAlias = Annotated[int, Unsigned(2)]
U24: TypeAlias = Annotated[int, Unsigned(3)]
U32: TypeAlias = Annotated[int, Unsigned(4)]
U48: TypeAlias = Annotated[int, Unsigned(6)]
Money: TypeAlias = Annotated[int, Signed()]
Date: TypeAlias = Annotated[str, Packed(3)]
"""DDMMYY; of a time HHMMSS."""
Words: TypeAlias = Annotated[str, Counted()]


def printable(text: str, most: int = LONGEST_NAME) -> str:
    """``text`` as the register can print it."""
    return shortened(text.replace("І", "I").replace("і", "i").replace("№", "N"), most, CHARSET)


def _write(record: Any) -> bytes:
    return b"".join(each.write(getattr(record, name)) for name, each in formats(type(record)).items())


def _read(kind: type[_Record], data: bytes) -> _Record:
    values: dict[str, Any] = {}
    for name, each in formats(kind).items():
        values[name], data = each.read(data)
    if data:
        raise ValueError(f"{len(data)} bytes too many")
    return kind(**values)


class Status(IntFlag):
    """The first byte of an answer: what is wrong."""

    PRINTER = 1
    MODEM = 2
    MEMORY = 4
    CLOCK = 8
    DISPLAY = 16
    SHIFT_OVER = 32
    VOLTAGE = 64
    FORBIDDEN = 128


class Reserve(IntFlag):
    """The third byte of an answer: the state."""

    SERVICE_REPORT = 1
    EMERGENCY = 2
    NO_PAPER = 4
    RETURN = 8
    FISCALISED = 16
    SHIFT_OPEN = 32
    RECEIPT_OPEN = 64
    NOT_PERSONALISED = 128


@dataclass(frozen=True)
class Head:
    """The three bytes before the data of an answer."""

    status: Status
    result: int
    reserve: Reserve

    def encode(self) -> bytes:
        """The three bytes."""
        return bytes((self.status, self.result, self.reserve))

    @classmethod
    def decode(cls, data: bytes) -> tuple[Head, bytes]:
        """They, and what follows.

        :raises Garbled: there are fewer.
        """
        if len(data) < 3:
            raise Garbled("an answer without its status", data)
        return cls(Status(data[0]), data[1], Reserve(data[2])), data[3:]

    @property
    def refusal(self) -> DeviceRefused | None:
        """Why the command was not executed; `None` when it was."""
        if self.result:
            return DeviceRefused(str(self.result), meaning(self.result, self.status))
        if Status.FORBIDDEN in self.status:
            return DeviceRefused("S7", meaning(16, self.status))
        return None


class IcsAnswer:
    """What follows the status."""

    def encode(self) -> bytes:
        """The bytes."""
        return _write(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The answer.

        :raises Garbled: it is another one.
        """
        try:
            return _read(cls, data)
        except ValueError as error:
            raise Garbled(f"this is not {cls.__name__}: {error}", data) from None


class IcsCommand(Command[_Answer_co]):
    """One command."""

    def encode(self) -> bytes:
        """The data of its frame.

        :raises ValueError: a field does not fit.
        """
        return _write(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """What the till wants.

        :raises ValueError: it cannot be read.
        """
        return _read(cls, data)


class PayKind(IntEnum):
    """Forms of payment."""

    CARD = 0
    CREDIT = 1
    CHEQUE = 2
    CASH = 3


class ChangeKind(IntEnum):
    """What a discount or markup is of: percentages are in hundredths."""

    LINE_PERCENT = 0
    LINE_SUM = 1
    TOTAL_PERCENT = 2
    TOTAL_SUM = 3


TAXES = "АБВГДЕ"
FIRST_TAX = 0x80

MEMORY_PAGE = 16
"""The external memory."""

FISCAL_NUMBER, SERIAL = (0x0005, 10), (0x001F, 24)
Z_NUMBER, SALES, RETURNS = (0x0037, 2), (0x301B, 2), (0x30AB, 2)
"""Address and size in `MEMORY_PAGE`: the counts of receipts tell what became of an uncertain payment (M)."""


# Answers.


@dataclass(frozen=True)
class Nothing(IcsAnswer):
    """Done; some commands say more, which means nothing to us."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Whatever it is."""
        return cls()


@dataclass(frozen=True)
class State(IcsAnswer):
    """Settings and counters, which differ between models, and at the end the name of the protocol."""

    raw: Annotated[bytes, Rest()]

    @property
    def version(self) -> str:
        """``ЕП-11``; empty when it is not there."""
        found = re.search(r"[ЕE][ПP]-\d\d|[ОO][ПP]-\d\d", self.raw.decode(CHARSET))
        return found[0] if found else ""

    @property
    def crc(self) -> bool:
        """Whether registers of that protocol add a CRC to frames."""
        return self.version[-2:] in ("09", "11")


@dataclass(frozen=True)
class Day(IcsAnswer):
    """A date DDMMYY, or a time HHMMSS."""

    digits: Date


@dataclass(frozen=True)
class LineAdded(IcsAnswer):
    """What the line costs, and the sum so far."""

    cost: Money
    total: Money


@dataclass(frozen=True)
class Paid(IcsAnswer):
    """The rest, or the change when negative; the number of the packet."""

    rest: Money
    packet: U32 = 0


@dataclass(frozen=True)
class Drawer(IcsAnswer):
    """The cash in the drawer."""

    cash: Annotated[int, Unsigned(5)]


@dataclass(frozen=True)
class Memory(IcsAnswer):
    """Bytes of the memory."""

    raw: Annotated[bytes, Rest()]

    @property
    def number(self) -> int:
        """As a counter."""
        return int.from_bytes(self.raw, "little")

    @property
    def text(self) -> str:
        """As text, up to the first byte of 00."""
        return self.raw.split(b"\0")[0].decode(CHARSET).strip()


# Commands.


@dataclass(frozen=True)
class ReadState(IcsCommand[State], code=0):
    """Ask for the state; possible at any time."""


@dataclass(frozen=True)
class ReadDate(IcsCommand[Day], code=1):
    """Ask for the date."""


@dataclass(frozen=True)
class SetDate(IcsCommand[Nothing], code=2):
    """Set the date."""

    digits: Date


@dataclass(frozen=True)
class ReadTime(IcsCommand[Day], code=3):
    """Ask for the time."""


@dataclass(frozen=True)
class SetTime(IcsCommand[Nothing], code=4):
    """Set the time."""

    digits: Date


@dataclass(frozen=True)
class LogIn(IcsCommand[Nothing], code=6):
    """Log a cashier in."""

    password: U16
    id: U8
    name: Words


@dataclass(frozen=True)
class _Line(IcsCommand[LineAdded]):
    """A line.

    :param quantity: in parts of ``10 ** -(flags & 0x7F)``; bit 7 of the flags hides a quantity of one.
    :param tax: `FIRST_TAX` + the place in `TAXES`.
    :param name: `None` for the one that the register has.
    """

    quantity: U24
    flags: U8
    price: Money
    tax: U8
    name: Annotated[str | None, Counted(LONGEST_NAME)]
    article: U48

    def encode(self) -> bytes:
        """The data of its frame."""
        if self.name is not None:
            return _write(self)
        known = formats(type(self))
        parts = [known[each].write(getattr(self, each)) for each in ("quantity", "flags", "price", "tax")]
        return b"".join((*parts, bytes([FROM_MEMORY]), known["article"].write(self.article)))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The line."""
        if data[9:10] != bytes([FROM_MEMORY]):
            return super().decode(data)
        known = super().decode(data[:9] + b"\x00" + data[10:])
        return cls(known.quantity, known.flags, known.price, known.tax, None, known.article)

    @property
    def thousandths(self) -> int:
        """The quantity in thousandths; finer ones are cut off."""
        return self.quantity * 1000 // int(10 ** (self.flags & 0x7F))


@dataclass(frozen=True)
class TakeBack(_Line, code=8):
    """Add a line of a return."""


@dataclass(frozen=True)
class XReport(IcsCommand[Nothing], code=9):
    """Print the X report."""

    password: U16 = 0


@dataclass(frozen=True)
class ArticleReport(IcsCommand[Nothing], code=10):
    """Print what was sold."""

    password: U16 = 0


@dataclass(frozen=True)
class Comment(IcsCommand[Nothing], code=11):
    """Print a line in the receipt; with ``opens_return`` it opens the receipt of a return."""

    text: Annotated[str, Counted(127)]
    opens_return: Annotated[bool, Rest()] = False

    def encode(self) -> bytes:
        """The data of its frame: bit 7 of the length opens a return."""
        raw = Counted(127).write(self.text)
        return bytes([raw[0] | (0x80 if self.opens_return else 0)]) + raw[1:]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The comment."""
        if not data:
            raise ValueError("a comment without its length")
        text, rest = Counted(127).read(bytes([data[0] & 0x7F]) + data[1:])
        if rest:
            raise ValueError(f"{len(rest)} bytes too many")
        return cls(text, bool(data[0] & 0x80))


@dataclass(frozen=True)
class ZReport(IcsCommand[Nothing], code=13):
    """Print the Z report."""

    password: U16 = 0


@dataclass(frozen=True)
class Feed(IcsCommand[Nothing], code=14):
    """Feed the paper."""


@dataclass(frozen=True)
class Cancel(IcsCommand[Nothing], code=15):
    """Cancel the receipt."""


@dataclass(frozen=True)
class PutIn(IcsCommand[Nothing], code=16):
    """Put cash into the drawer."""

    amount: U32


@dataclass(frozen=True)
class TakeOut(IcsCommand[Nothing], code=24):
    """Take cash out of the drawer."""

    amount: U32


@dataclass(frozen=True)
class Sell(_Line, code=18):
    """Add a line of a sale."""


@dataclass(frozen=True)
class Pay(IcsCommand[Paid], code=20):
    """Pay with a form of `PayKind`; with ``closes``, bit 31, the receipt is closed when all is paid."""

    kind: U8
    amount: U32
    text: Words = ""
    closes: Annotated[bool, Rest()] = True

    def encode(self) -> bytes:
        """The data of its frame."""
        amount = Unsigned(4).write(self.amount | (_NEGATIVE if self.closes else 0))
        return Unsigned(1).write(self.kind) + amount + Counted().write(self.text)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The payment."""
        kind, rest = Unsigned(1).read(data)
        amount, rest = Unsigned(4).read(rest)
        text, rest = Counted().read(rest)
        if rest:
            raise ValueError(f"{len(rest)} bytes too many")
        return cls(kind, amount & ~_NEGATIVE, text, bool(amount & _NEGATIVE))


@dataclass(frozen=True)
class ShowText(IcsCommand[Nothing], code=27):
    """Show a line to the customer."""

    line: U8
    text: Words


@dataclass(frozen=True)
class ReadMemory(IcsCommand[Memory], code=28):
    """Read the memory."""

    address: U16
    page: U8
    size: U8


@dataclass(frozen=True)
class OpenDrawer(IcsCommand[Nothing], code=29):
    """Open the drawer."""


@dataclass(frozen=True)
class Copy(IcsCommand[Nothing], code=30):
    """Print the last receipt again."""


@dataclass(frozen=True)
class ReadDrawer(IcsCommand[Drawer], code=33):
    """Ask for the cash in the drawer."""


@dataclass(frozen=True)
class Change(IcsCommand[LineAdded], code=35):
    """A discount, negative, or a markup of a kind of `ChangeKind`."""

    kind: U8
    value: Money


# Errors.

_T = Trouble
_WELL = Status(0)
_RESULTS = {
    1: (_T.PRINTER, "fault of the printer", "несправність принтера"),
    2: (_T.NO_PAPER, "no paper", "немає паперу"),
    4: (_T.MEMORY_FAULT, "fault of the fiscal memory", "несправність фіскальної пам’яті"),
    6: (_T.PRINTER, "the voltage is low", "низька напруга живлення"),
    8: (_T.MEMORY_FULL, "the fiscal memory is full", "фіскальна пам’ять заповнена"),
    10: (_T.NOT_FISCALISED, "the register is not personalised", "реєстратор не персоналізовано"),
    16: (_T.WRONG_MODE, "forbidden in this mode", "команду в цьому режимі заборонено"),
    19: (_T.BAD_SYNTAX, "wrong logo", "неправильний логотип"),
    20: (_T.BAD_SYNTAX, "wrong length of a text", "неправильна довжина рядка"),
    21: (_T.BAD_PASSWORD, "wrong password", "неправильний пароль"),
    22: (_T.ARTICLE, "no such number", "немає такого номера"),
    23: (_T.TAX_FORBIDDEN, "wrong tax group", "неправильна податкова група"),
    24: (_T.BAD_SYNTAX, "wrong form of payment", "неправильна форма оплати"),
    25: (_T.BAD_SYNTAX, "forbidden characters", "недопустимі символи"),
    26: (_T.TAX_FORBIDDEN, "too many taxes", "забагато податків"),
    27: (_T.OVERFLOW, "the amount taken off is larger than the sum", "від’ємна сума більша за суму чека"),
    28: (_T.ARTICLE, "wrong description of the article", "неправильний опис товару"),
    30: (_T.BAD_SYNTAX, "wrong date", "неправильна дата"),
    31: (_T.OVERFLOW, "too many lines", "забагато рядків"),
    32: (_T.OVERFLOW, "the cost is too large", "переповнення вартості"),
    33: (_T.OVERFLOW, "the sum of the day is too large", "переповнення денного підсумку"),
    34: (_T.OVERFLOW, "the payment is too large", "переповнення оплати"),
    35: (_T.CASH_SHORT, "not enough cash in the drawer", "недостатньо готівки в касі"),
    36: (_T.CLOCK, "the date is before the last Z report", "дата раніша за останній Z-звіт"),
    37: (_T.WRONG_MODE, "a return is open", "відкрито чек повернення"),
    38: (_T.WRONG_MODE, "a sale is open", "відкрито чек продажу"),
    39: (_T.WRONG_MODE, "no receipt is open", "чек не відкрито"),
    40: (_T.ARTICLE, "the memory of articles is full", "пам’ять товарів заповнена"),
    41: (_T.WRONG_MODE, "a Z report is needed first", "спочатку потрібен Z-звіт"),
    42: (_T.NOT_FISCALISED, "not before fiscalisation", "неможливо до фіскалізації"),
    43: (_T.ARTICLE, "this change is forbidden", "таку зміну заборонено"),
    44: (_T.WRONG_MODE, "a receipt is open", "відкрито чек"),
    45: (_T.WRONG_MODE, "nothing to discount", "немає на що нарахувати знижку"),
    46: (_T.WRONG_MODE, "the payment has begun", "оплату вже розпочато"),
    47: (_T.UNSENT, "nothing was sent for 72 hours", "дані не передано понад 72 години"),
    48: (_T.UNSENT, "the modem is silent", "модем не відповідає"),
}


def meaning(result: int, status: Status = _WELL) -> Meaning:
    """What a RESULT means; with the bit of 24 hours a Z report is needed because of them (L)."""
    trouble, english, ukrainian = _RESULTS.get(result, (_T.UNKNOWN, "unknown error", "невідома помилка"))
    if result == 41 and Status.SHIFT_OVER in status:
        return Meaning(_T.SHIFT_OVER, "the shift is longer than 24 hours", "зміна триває понад 24 години")
    return Meaning(trouble, english, ukrainian)
