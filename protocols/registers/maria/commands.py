"""Commands of Maria: four letters and fields of fixed width (docs/reference/registers.md#maria).

Amounts are kopecks in decimal digits with zeros before them. Text is CP866, where Ukrainian І and і are written as
Latin letters: see `printable`. **ZREP is the X report, NREP the Z report.**

The one byte of ``expected``, the ten digits of ``GLCN`` and the order of the sums of ``CCAS`` are readings (L).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from protocols.errors import Garbled
from protocols.registers.maria.frames import CHARSET
from protocols.registers.records import Command, Format, formats, shortened
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

DEFAULT_PASSWORD = "1" * 10

LONGEST_VALUE = 40
"""Characters of one of the values of `CardSlip`, so that all of them fit (L)."""


class Fixed(Format[Any]):
    """A field of ``width`` characters; the last of a command may be shorter when ``most`` is given instead."""

    width: int
    most: int | None = None


class Digits(Fixed):
    """A number with zeros before it."""

    def __init__(self, width: int) -> None:
        self.width = width

    def write(self, value: int) -> str:
        """All its digits."""
        text = f"{value:0{self.width}d}"
        if len(text) != self.width or value < 0:
            raise ValueError(f"{value} does not fit into {self.width} digits")
        return text

    def read(self, text: str) -> int:
        """The number; blanks are 0."""
        if not text.strip():
            return 0
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"no number: {text!r}")
        return int(text)


class Padded(Fixed):
    """Text with spaces behind it."""

    def __init__(self, width: int) -> None:
        self.width = width

    def write(self, value: str) -> str:
        """All its characters."""
        if len(value) > self.width:
            raise ValueError(f"{value!r} is longer than {self.width} characters")
        return f"{value:<{self.width}}"

    def read(self, text: str) -> str:
        """Without the spaces."""
        return text.rstrip(" ")


class Tail(Fixed):
    """The rest of the text, at most ``most`` characters."""

    def __init__(self, most: int) -> None:
        self.most = self.width = most

    def write(self, value: str) -> str:
        """As it is."""
        if len(value) > self.width:
            raise ValueError(f"{value!r} is longer than {self.width} characters")
        return value

    def read(self, text: str) -> str:
        """As it is."""
        return text


class Values(Fixed):
    """The rest of the text: values behind two digits with their length."""

    most = width = 230

    def write(self, value: tuple[str, ...]) -> str:
        """Each with its length."""
        if any(len(each) > LONGEST_VALUE for each in value):
            raise ValueError(f"one of {value!r} is longer than {LONGEST_VALUE} characters")
        return "".join(f"{len(each):02d}{each}" for each in value)

    def read(self, text: str) -> tuple[str, ...]:
        """The values."""
        values: list[str] = []
        while text:
            end = 2 + Digits(2).read(text[:2])
            if len(text) < end:
                raise ValueError("a value is too short")
            values.append(text[2:end])
            text = text[end:]
        return tuple(values)


class RawByte(Fixed):
    """One byte that is a number by itself."""

    width = 1

    def write(self, value: int) -> str:
        """The character of that number."""
        return bytes([value]).decode(CHARSET)

    def read(self, text: str) -> int:
        """The number of that character."""
        return text.encode(CHARSET)[0]


Sum9: TypeAlias = Annotated[int, Digits(9)]
Sum10: TypeAlias = Annotated[int, Digits(10)]
Sum11: TypeAlias = Annotated[int, Digits(11)]
Count: TypeAlias = Annotated[int, Digits(10)]
Flag: TypeAlias = Annotated[str, Padded(1)]
Words: TypeAlias = Annotated[str, Tail(230)]

_Answer_co = TypeVar("_Answer_co", bound="MariaAnswer", covariant=True)
_Record = TypeVar("_Record")


def printable(text: str, most: int) -> str:
    """``text`` as Maria can print it."""
    return shortened(text.replace("І", "I").replace("і", "i"), most, CHARSET, "¤■\u00a0")


def _write(record: Any) -> str:
    return "".join(each.write(getattr(record, name)) for name, each in formats(type(record)).items())


def _read(kind: type[_Record], text: str) -> _Record:
    values: dict[str, Any] = {}
    for name, each in formats(kind).items():
        part, text = text[: each.width], text[each.width :]
        if len(part) < each.width and each.most is None:
            raise ValueError(f"{kind.__name__} is too short")
        values[name] = each.read(part)
    return kind(**values)


class MariaAnswer:
    """What is in the frames between WAIT and DONE, without the command's name."""

    def encode(self) -> list[bytes]:
        """The texts of the frames, without the name."""
        return [_write(self).encode(CHARSET)]

    @classmethod
    def decode(cls, texts: list[bytes]) -> Self:
        """The answer.

        :raises Garbled: it is another one.
        """
        try:
            if len(texts) != 1:
                raise ValueError(f"{len(texts)} frames")
            return _read(cls, texts[0].decode(CHARSET))
        except ValueError as error:
            raise Garbled(f"this is not {cls.__name__}: {error}", b"".join(texts)) from None


class MariaCommand(Command[_Answer_co]):
    """One command; its ``code`` is its name."""

    def encode(self) -> bytes:
        """The text of its frame.

        :raises ValueError: a field does not fit.
        """
        return f"{self.code}{_write(self)}".encode(CHARSET)

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """What the till wants.

        :raises ValueError: it cannot be read.
        """
        return _read(cls, text.decode(CHARSET)[4:])


class Expects(IntFlag):
    """The commands that the register would take: bits of `Configuration.expected`."""

    PREP = 1
    DBEG = 2
    FISC = 4
    COMP = 8
    BFIS = 16
    DEND = 64


# Answers.


@dataclass(frozen=True)
class Nothing(MariaAnswer):
    """Done; some commands say more, which means nothing to us."""

    def encode(self) -> list[bytes]:
        """No frame."""
        return []

    @classmethod
    def decode(cls, texts: list[bytes]) -> Self:
        """Whatever it is."""
        return cls()


@dataclass(frozen=True)
class Completed(MariaAnswer):
    """A closed receipt: its number, its sums, and taxes that are added, included and withheld."""

    number: Count
    sold: Sum10
    sold_added: Sum10 = 0
    sold_included: Sum10 = 0
    sold_withheld: Sum10 = 0
    returned: Sum10 = 0
    returned_added: Sum10 = 0
    returned_included: Sum10 = 0
    returned_withheld: Sum10 = 0


@dataclass(frozen=True)
class LastNumber(MariaAnswer):
    """The number of the last receipt that was printed and registered."""

    number: Count


@dataclass(frozen=True)
class Configuration(MariaAnswer):
    """Who the register is and what it waits for; ``id`` is that of the cashier."""

    serial: Annotated[str, Padded(10)]
    fiscal: Annotated[str, Padded(10)]
    name: Annotated[str, Padded(36)]
    date: Annotated[str, Padded(8)]
    time: Annotated[str, Padded(6)]
    key: Flag
    expected: Annotated[int, RawByte()]
    cashier: Flag
    id: Annotated[str, Padded(4)]
    z_needed: Flag
    z: Annotated[int, Digits(12)]
    receipt: Annotated[int, Digits(12)]
    last: Annotated[str, Padded(4)]
    version: Annotated[str, Padded(4)]
    made: Annotated[str, Padded(8)]
    line: Annotated[str, Padded(18)]
    more: Annotated[str, Tail(110)] = ""

    @property
    def expects(self) -> Expects:
        """The commands that it would take."""
        return Expects(self.expected)

    @property
    def receipt_open(self) -> bool:
        """Whether a receipt is open."""
        return bool(self.expects & (Expects.FISC | Expects.COMP | Expects.BFIS))


@dataclass(frozen=True)
class CashCounters(MariaAnswer):
    """Sums since the last Z report (order L)."""

    drawer: Sum11
    cash: Sum11
    cashless1: Sum11
    cashless2: Sum11
    cashless3: Sum11
    put_in: Sum11
    taken_out: Sum11
    returned: Sum11


@dataclass(frozen=True)
class Said(MariaAnswer):
    """Text whose parts no source describes."""

    text: Words


@dataclass(frozen=True)
class Schemes(MariaAnswer):
    """The tax schemes, six characters each: see `TaxMark`."""

    text: Words


# Commands.


@dataclass(frozen=True)
class Cancel(MariaCommand[Nothing], code="CANC"):
    """Return to the beginning: an open document is void. Sent before PREP and after COMP."""


@dataclass(frozen=True)
class LogIn(MariaCommand[Nothing], code="UPAS"):
    """Log a cashier in."""

    password: Annotated[str, Padded(10)] = DEFAULT_PASSWORD
    name: Annotated[str, Tail(9)] = ""


@dataclass(frozen=True)
class Open(MariaCommand[Nothing], code="PREP"):
    """Open a receipt of a trading unit."""

    unit: Annotated[str, Tail(15)] = ""


@dataclass(frozen=True)
class ReturnOf(MariaCommand[Nothing], code="BCHN"):
    """The number of the original receipt, before the `Open` of a return."""

    number: Annotated[str, Tail(86)]


@dataclass(frozen=True)
class AddText(MariaCommand[Nothing], code="TEXT"):
    """A line of text: ``place`` 0 before the fiscal part, 1 behind it."""

    place: Flag
    journal: Flag
    wide: Flag
    text: Annotated[str, Tail(43)]


@dataclass(frozen=True)
class ForgetText(MariaCommand[Nothing], code="CTXT"):
    """Drop the lines of `AddText`."""


@dataclass(frozen=True)
class Inform(MariaCommand[Nothing], code="FINF"):
    """A block of information for the next line."""

    text: Annotated[str, Tail(86)]


_NO_CHANGE = "0" * 23
"""A line without discount and without the rest of a name."""
_PLAIN_LINE = 89
"""Characters of a line up to its article."""

NO_TAX = "000000"
NO_TAXES = NO_TAX * 8


def tax_mark(letter: str, kind: int, rate: int) -> str:
    """A tax: letter of the scheme; 0 included, 1 added, 2 withheld; hundredths of a percent."""
    return f"{letter}{kind}{rate:04d}"


@dataclass(frozen=True)
class _Line(MariaCommand[Nothing]):
    """A line.

    :param quantity: thousandths when ``whole`` is ``0``, units when it is ``1``.
    :param rounding: 0 normal, 1 up, 2 down.
    :param taxes: eight marks of `tax_mark` or `NO_TAX`.
    :param sign: of the discount: ``-``, ``+`` for a markup, ``0`` for none.
    """

    name: Annotated[str, Padded(12)]
    cost: Sum9
    price: Sum9
    quantity: Annotated[int, Digits(5)]
    whole: Flag = "0"
    rounding: Flag = "0"
    taxes: Annotated[str, Padded(48)] = NO_TAXES
    article: Annotated[int, Digits(4)] = 1
    sign: Flag = "0"
    change_name: Annotated[str, Padded(13)] = "0" * 13
    change: Sum9 = 0
    tail: Annotated[str, Tail(31)] = ""

    def encode(self) -> bytes:
        """The text of its frame; without discount and tail it ends behind the article."""
        text = super().encode()
        return text.removesuffix(_NO_CHANGE.encode()) if len(text) == 4 + _PLAIN_LINE + len(_NO_CHANGE) else text

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """The line."""
        return super().decode(text + _NO_CHANGE.encode() if len(text) == 4 + _PLAIN_LINE else text)


@dataclass(frozen=True)
class Sell(_Line, code="FISC"):
    """Add a sale."""


@dataclass(frozen=True)
class TakeBack(_Line, code="BFIS"):
    """Add a return."""


@dataclass(frozen=True)
class CardSlip(MariaCommand[Nothing], code="PSDt"):
    """What the bank said of a card payment, before `Complete`: bank, terminal, card, authorisation, RRN (order L)."""

    values: Annotated[tuple[str, ...], Values()]


@dataclass(frozen=True)
class Complete(MariaCommand[Completed], code="COMP"):
    """Close the receipt. Zeros in all payments mean cash; wrong sums void it."""

    sold: Sum10
    returned: Sum10 = 0
    cashless3: Sum10 = 0
    cashless2: Sum10 = 0
    cashless1: Sum10 = 0
    cash: Sum10 = 0


@dataclass(frozen=True)
class MoveCash(MariaCommand[Nothing], code="CAIO"):
    """Put cash in, ``I``, or take it out, ``O``."""

    way: Flag
    amount: Sum10


@dataclass(frozen=True)
class Copy(MariaCommand[Nothing], code="COPY"):
    """Print the last receipt again."""


@dataclass(frozen=True)
class OpenText(MariaCommand[Nothing], code="DBEG"):
    """Open a document of text."""

    kind: Annotated[str, Tail(1)] = ""


@dataclass(frozen=True)
class PrintText(MariaCommand[Nothing], code="PRTX"):
    """Print the document of text and close it."""


@dataclass(frozen=True)
class XReport(MariaCommand[Nothing], code="ZREP"):
    """Print the X report: the name misleads."""


@dataclass(frozen=True)
class ZReport(MariaCommand[Nothing], code="NREP"):
    """Print the Z report, which closes the day: the name misleads."""


@dataclass(frozen=True)
class ReadConfiguration(MariaCommand[Configuration], code="CONF"):
    """Ask who the register is and what it waits for."""


@dataclass(frozen=True)
class ReadNumber(MariaCommand[LastNumber], code="GLCN"):
    """Ask for the number of the last receipt: before COMP, and after a loss."""


@dataclass(frozen=True)
class ReadCash(MariaCommand[CashCounters], code="CCAS"):
    """Ask for the cash counters."""


@dataclass(frozen=True)
class ReadSchemes(MariaCommand[Schemes], code="CNAL"):
    """Ask for the tax schemes."""


@dataclass(frozen=True)
class ReadDate(MariaCommand[Said], code="GETD"):
    """Ask for the date."""


@dataclass(frozen=True)
class ReadTime(MariaCommand[Said], code="CTIM"):
    """Ask for the time."""


@dataclass(frozen=True)
class OpenDrawer(MariaCommand[Nothing], code="KASS"):
    """Open the drawer, after the print."""


@dataclass(frozen=True)
class Feed(MariaCommand[Nothing], code="FEED"):
    """Feed the paper by steps, up to 255."""

    steps: Annotated[int, Digits(3)]


@dataclass(frozen=True)
class CheckFrames(MariaCommand[Nothing], code="CSIN"):
    """Switch the CRC of frames on, ``1``, or off; the answer still comes in the old mode."""

    on: Flag


# Errors.

_T = Trouble
_ERRORS = {
    "HARDPAPER": (_T.NO_PAPER, "no paper", "немає паперу"),
    "HARDSENSOR": (_T.PRINTER, "a sensor of the printer", "датчик принтера"),
    "HARDPOINT": (_T.PRINTER, "the print head", "друкувальна головка"),
    "HARDTXD": (_T.PRINTER, "the line to the printer", "зв’язок із принтером"),
    "HARDTIMER": (_T.CLOCK, "fault of the clock", "несправність годинника"),
    "HARDMEMORY": (_T.MEMORY_FAULT, "fault of the memory", "несправність пам’яті"),
    "HARDLCD": (_T.PRINTER, "fault of the display", "несправність дисплея"),
    "HARDUCCLOW": (_T.PRINTER, "the voltage is low", "низька напруга живлення"),
    "HARDCUTTER": (_T.PRINTER, "fault of the cutter", "несправність обрізача"),
    "SHUTDOWN": (_T.PRINTER, "the register switches off", "реєстратор вимикається"),
    "SOFTBLOCK": (_T.BUSY, "the register is blocked", "реєстратор заблоковано"),
    "SOFTNREP": (_T.WRONG_MODE, "a Z report is needed", "потрібен Z-звіт"),
    "SOFTZREPOR": (_T.WRONG_MODE, "a Z report is needed", "потрібен Z-звіт"),
    "SOFTSYSLOC": (_T.BUSY, "the register is locked", "реєстратор замкнено"),
    "SOFTCOMMAN": (_T.WRONG_MODE, "not possible in this order", "неможливо в такій послідовності"),
    "SOFTPROTOC": (_T.BAD_SYNTAX, "the command arrived damaged", "команда надійшла пошкодженою"),
    "SOFTPARAM": (_T.BAD_SYNTAX, "wrong data", "неправильні дані"),
    "SOFTUPAS": (_T.BAD_PASSWORD, "wrong password", "неправильний пароль"),
    "SOFTCHECK": (_T.WRONG_MODE, "the payment is more than is due", "оплата більша за суму чека"),
    "SOFTSL": (_T.WRONG_MODE, "the key is in another position", "ключ в іншому положенні"),
    "SOFTREPL": (_T.WRONG_MODE, "a repeated command", "повторна команда"),
    "SOFTREGIST": (_T.WRONG_MODE, "no cashier is logged in", "касира не зареєстровано"),
    "SOFTOVER": (_T.OVERFLOW, "overflow, or not enough cash", "переповнення або недостатньо готівки"),
    "SOFTNEED": (_T.WRONG_MODE, "the sums are wrong: the receipt is void", "суми неправильні: чек анульовано"),
    "SOFTFMFULL": (_T.MEMORY_FULL, "the fiscal memory is full", "фіскальна пам’ять заповнена"),
    "SOFT24HOUR": (_T.SHIFT_OVER, "the shift is longer than 24 hours", "зміна триває понад 24 години"),
    "SOFTDIFART": (_T.ARTICLE, "the article was sold with other data", "товар уже продано з іншими даними"),
    "SOFTBADART": (_T.ARTICLE, "wrong article", "неправильний товар"),
    "SOFTARTMODE": (_T.ARTICLE, "articles are in another mode", "інший режим товарів"),
    "SOFTCOPY": (_T.WRONG_MODE, "no copy is possible", "копія неможлива"),
    "SOFTOVART": (_T.OVERFLOW, "too many lines", "забагато рядків"),
    "SOFTBADDISC": (_T.BAD_SYNTAX, "wrong discount", "неправильна знижка"),
    "SOFTBADCS": (_T.BAD_SYNTAX, "the CRC is wrong", "неправильна контрольна сума"),
}


def is_error(text: bytes) -> bool:
    """Whether a frame of the register is an error."""
    return text.startswith((b"SOFT", b"HARD", b"SHUTDOWN"))


def refused(text: bytes) -> DeviceRefused:
    """The exception for an error."""
    code = text.decode(CHARSET, "replace").strip()
    found = next((_ERRORS[code[:end]] for end in range(len(code), 3, -1) if code[:end] in _ERRORS), None)
    trouble, english, ukrainian = found or (_T.UNKNOWN, "unknown error", "невідома помилка")
    return DeviceRefused(code, Meaning(trouble, english, ukrainian))
