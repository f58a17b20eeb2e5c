"""Commands of the classic dialect of Datecs (docs/reference/registers.md#classic-dialect).

Data is text in CP1251, separated by commas as a rule. No answer has an error in it: six bytes of status tell it, and
in some answers a letter. Tax letters are Cyrillic.

Sources differ about amounts in answers: ten digits of kopecks, or a decimal point. Both are read; the device's end
writes the first. That bit 1.1 tells of no paper and of the end of the day too, what ``76`` and ``113`` count, and the
order of the sums of ``110`` are readings (L).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from protocols.errors import Garbled
from protocols.registers.records import Command, Decimals, Format, Number, Text, formats
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

CHARSET = "cp1251"
TAXES = "АБВГД"
DEFAULT_PASSWORD = "0000"


class Kopecks(Format[int]):
    """An amount in an answer: ten digits of kopecks; one with a decimal point is read too."""

    def write(self, value: int) -> str:
        """Ten digits, with a sign when negative."""
        return f"{'-' if value < 0 else ''}{abs(value):010d}"

    def read(self, text: str) -> int:
        """The kopecks."""
        return Decimals(2).read(text) if "." in text else Number().read(text)


class Shortest(Decimals):
    """A number without zeros at its end."""

    def write(self, value: int) -> str:
        """As few digits as it needs."""
        return super().write(value).rstrip("0").rstrip(".")


class Rate(Decimals):
    """A tax rate in hundredths of a percent, ``05.00``."""

    def __init__(self) -> None:
        super().__init__(2)

    def write(self, value: int) -> str:
        """With two digits before the point."""
        return f"{value // 100:02d}.{value % 100:02d}"


Count: TypeAlias = Annotated[int, Number()]
Four: TypeAlias = Annotated[int, Number(4)]
Six: TypeAlias = Annotated[int, Number(6)]
Money: TypeAlias = Annotated[int, Decimals(2)]
Amount: TypeAlias = Annotated[int, Kopecks()]
Percent: TypeAlias = Annotated[int, Decimals(2)]
Thousandths: TypeAlias = Annotated[int, Decimals(3)]
Words: TypeAlias = Annotated[str, Text(",")]
FreeText: TypeAlias = Annotated[str, Text()]

_Answer_co = TypeVar("_Answer_co", bound="ClassicAnswer", covariant=True)


def _write(record: Any, name: str) -> str:
    return str(formats(type(record))[name].write(getattr(record, name)))


class ClassicAnswer:
    """The data of an answer, its fields separated by commas."""

    def encode(self) -> bytes:
        """The data of the frame."""
        return ",".join(_write(self, name) for name in formats(type(self))).encode(CHARSET)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The answer of a command that was executed.

        :raises Garbled: it is not such an answer.
        """
        text = data.decode(CHARSET, "replace")
        known = formats(cls)
        try:
            parts = text.split(",", len(known) - 1) if known else []
            if len(parts) != len(known):
                raise ValueError(text)
            return cls(**{name: each.read(part) for (name, each), part in zip(known.items(), parts, strict=True)})
        except ValueError:
            raise Garbled(f"this is not {cls.__name__}", data) from None


class ClassicCommand(Command[_Answer_co]):
    """One command: `text` writes its data, and ``pattern`` reads them."""

    pattern: ClassVar[str] = ""

    def text(self) -> str:
        """The data as text; as it stands, the fields separated by commas.

        :raises ValueError: a field cannot be written.
        """
        return ",".join(_write(self, name) for name in formats(type(self)))

    def encode(self) -> bytes:
        """The data of the frame.

        :raises ValueError: a field cannot be written.
        """
        return self.text().encode(CHARSET)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """What the till wants.

        :raises ValueError: it cannot be read.
        """
        text = data.decode(CHARSET, "replace")
        known = formats(cls)
        pattern = cls.pattern or ",".join(f"(?P<{name}>[^,]*)" for name in known)
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found is None:
            raise ValueError(f"this is not {cls.__name__}: {text!r}")
        given = found.groupdict()
        return cls(**{name: each.read(given[name]) for name, each in known.items() if given.get(name) is not None})


class PayForm(Enum):
    """Forms of payment."""

    CASH = "P"
    CREDIT = "N"
    CARD = "C"
    CHEQUE = "D"


class Paid(Enum):
    """The letter in the answer of a payment."""

    ERROR = "F"
    NEGATIVE = "E"
    REST = "D"
    CHANGE = "R"
    """Everything is paid; exact payment has a change of 0."""
    NEGATIVE_GROUP = "I"


class ReportKind(IntEnum):
    """Reports."""

    Z = 0
    X = 2


# Answers.


@dataclass(frozen=True)
class Nothing(ClassicAnswer):
    """Done, or not: the status tells."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Some registers send something that nobody described."""
        return cls()


@dataclass(frozen=True)
class Counts(ClassicAnswer):
    """All documents, and the fiscal receipts."""

    documents: Count
    receipts: Count


@dataclass(frozen=True)
class Subtotals(ClassicAnswer):
    """The sum so far, and those of the tax groups."""

    total: Amount
    taxes: FreeText

    @property
    def by_tax(self) -> tuple[int, ...]:
        """The sums of the tax groups."""
        return tuple(Kopecks().read(part) for part in self.taxes.split(","))


@dataclass(frozen=True)
class PaidAnswer(ClassicAnswer):
    """What a payment came to."""

    letter: Annotated[str, Text()]
    amount: Amount = 0

    def encode(self) -> bytes:
        """The data of the frame."""
        return f"{self.letter}{_write(self, 'amount')}".encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The answer."""
        try:
            text = data.decode("ascii")
            Paid(text[:1])
            return cls(text[0], Kopecks().read(text[1:]) if text[1:] else 0)
        except ValueError:
            raise Garbled("this is not the answer of a payment", data) from None


@dataclass(frozen=True)
class Cash(ClassicAnswer):
    """Whether cash was moved (``P``) or not (``F``), what is in the drawer, what came in and went out."""

    result: Words
    drawer: Amount
    put_in: Amount
    taken_out: Amount


@dataclass(frozen=True)
class Result(ClassicAnswer):
    """``P`` for done, ``F`` for refused."""

    result: FreeText


@dataclass(frozen=True)
class ReceiptState(ClassicAnswer):
    """The open receipt: whether there is one, its lines, its sum, what was paid."""

    open: Count
    lines: Four
    total: Amount
    paid: Amount


@dataclass(frozen=True)
class LastNumber(ClassicAnswer):
    """How many documents there were, voided ones too."""

    number: Six


@dataclass(frozen=True)
class FormSums(ClassicAnswer):
    """The turnover of each form of payment since the last Z report, in the order of `PayForm`."""

    cash: Amount
    credit: Amount
    card: Amount
    cheque: Amount


@dataclass(frozen=True)
class Report(ClassicAnswer):
    """The number of the Z report, and the sums of the tax groups."""

    z: Four
    sums: FreeText


@dataclass(frozen=True)
class DaySums(ClassicAnswer):
    """The sums of the tax groups since the last Z report."""

    sums: FreeText


@dataclass(frozen=True)
class FreeRecords(ClassicAnswer):
    """Room for Z reports: logical and physical."""

    logical: Four
    physical: Four


@dataclass(frozen=True)
class Clock(ClassicAnswer):
    """``DD-MM-YY HH:MM:SS``."""

    time: FreeText


@dataclass(frozen=True)
class Rates(ClassicAnswer):
    """The rates of the tax groups, in hundredths of a percent."""

    a: Annotated[int, Rate()]
    b: Annotated[int, Rate()]
    c: Annotated[int, Rate()]
    d: Annotated[int, Rate()]
    e: Annotated[int, Rate()]
    f: Annotated[int, Rate()] = 0


@dataclass(frozen=True)
class TaxNumber(ClassicAnswer):
    """The tax number and its kind."""

    number: Words
    kind: Words


@dataclass(frozen=True)
class Said(ClassicAnswer):
    """Text whose fields differ between models: the version, an article, an exchange with the tax service."""

    text: FreeText


@dataclass(frozen=True)
class StatusAnswer(ClassicAnswer):
    """The status again, as data."""

    raw: Annotated[str, Text()]

    def encode(self) -> bytes:
        """The six bytes."""
        return self.raw.encode("latin-1")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """What it holds is in the status of the frame too."""
        return cls(data.decode("latin-1"))


# Commands.


@dataclass(frozen=True)
class OpenText(ClassicCommand[Result], code=38):
    """Open a document without sales; the answer is the number of an error, or empty."""


@dataclass(frozen=True)
class CloseText(ClassicCommand[Nothing], code=39):
    """Close it."""


@dataclass(frozen=True)
class PrintText(ClassicCommand[Nothing], code=42):
    """Print a line of it."""

    line: FreeText
    pattern = r"(?P<line>.*)"


@dataclass(frozen=True)
class ClearDisplay(ClassicCommand[Nothing], code=33):
    """Clear the customer's display."""


@dataclass(frozen=True)
class ShowLower(ClassicCommand[Nothing], code=35):
    """Show text in the lower line of the display."""

    line: FreeText
    pattern = r"(?P<line>.*)"


@dataclass(frozen=True)
class ShowUpper(ShowLower, code=47):
    """In the upper line."""


@dataclass(frozen=True)
class Show(ShowLower, code=100):
    """Anywhere."""


@dataclass(frozen=True)
class WriteHeader(ClassicCommand[Nothing], code=43):
    """Write a line above or below every receipt: index and text."""

    line: FreeText
    pattern = r"(?P<line>.*)"


@dataclass(frozen=True)
class Feed(ClassicCommand[Nothing], code=44):
    """Feed the paper."""

    lines: Count = 1
    pattern = r"(?P<lines>\d+)?.*"


@dataclass(frozen=True)
class Cut(ClassicCommand[Nothing], code=45):
    """Cut the paper."""


@dataclass(frozen=True)
class _Opening(ClassicCommand[Counts]):
    operator: Count = 1
    password: Words = DEFAULT_PASSWORD
    till: Count = 1
    invoice: Words = ""
    pattern = r"(?P<operator>\d+),(?P<password>[^,]*),(?P<till>\d+)(?:,(?P<invoice>.*))?"

    def text(self) -> str:
        """The fields; the last one only when it is there."""
        return super().text().removesuffix(",")


@dataclass(frozen=True)
class Open(_Opening, code=48):
    """Open a receipt."""


@dataclass(frozen=True)
class OpenReturn(_Opening, code=85):
    """Open a receipt of a return."""


_CHANGES = r"(?:,(?P<percent>[+-]?[\d.]+))?(?:;(?P<change>[+-]?[\d.]+))?"


@dataclass(frozen=True)
class SellFree(ClassicCommand[Nothing], code=49):
    """Add a line that is in no table; not allowed in Ukraine."""

    name: FreeText
    tax: FreeText
    price: Annotated[int, Decimals(2)]
    quantity: Annotated[int, Shortest(3)] = 1000
    percent: Annotated[int, Decimals(2)] = 0
    change: Annotated[int, Decimals(2)] = 0
    pattern = r"(?P<name>[^\t]*)\t(?P<tax>\D)(?P<price>[+-]?[\d.]+)(?:\*(?P<quantity>[\d.]+))?" + _CHANGES

    def text(self) -> str:
        """Name, tab, and the rest without spaces."""
        quantity = f"*{_write(self, 'quantity')}" if self.quantity != 1000 else ""
        return f"{_write(self, 'name')}\t{self.tax}{_write(self, 'price')}{quantity}{_changes(self)}"


@dataclass(frozen=True)
class SellFreeShown(SellFree, code=52):
    """The same, and show it."""


@dataclass(frozen=True)
class Sell(ClassicCommand[Nothing], code=58):
    """Add an article of the table, ``sign`` ``-`` takes it back.

    :param price: `NO_PRICE` for that of the table.
    """

    article: Count
    quantity: Thousandths
    price: Money = -1
    percent: Percent = 0
    change: Money = 0
    sign: FreeText = "+"
    pattern = r"(?P<sign>[+-]?)(?P<article>\d+)\*(?P<quantity>[\d.]+)" + _CHANGES + r"(?:#(?P<price>[\d.]+))?"

    def text(self) -> str:
        """Sign, article, quantity, and what is there of the rest."""
        price = f"#{_write(self, 'price')}" if self.price != NO_PRICE else ""
        return f"{self.sign}{self.article}*{_write(self, 'quantity')}{_changes(self)}{price}"


NO_PRICE = -1
ALL = -1


@dataclass(frozen=True)
class Subtotal(ClassicCommand[Subtotals], code=51):
    """The sum so far, printed and shown if wanted, changed by a percentage or a sum."""

    printed: FreeText = "0"
    shown: FreeText = "0"
    percent: Percent = 0
    change: Money = 0
    pattern = r"(?P<printed>\d)(?P<shown>\d)" + _CHANGES

    def text(self) -> str:
        """Two flags, and what is there of the rest."""
        return f"{self.printed}{self.shown}{_changes(self)}"


@dataclass(frozen=True)
class Pay(ClassicCommand[PaidAnswer], code=53):
    """Pay ``amount``, or `ALL` that is left, with a form of `PayForm`; without a form all of it in cash."""

    form: FreeText = ""
    amount: Money = -1
    note: FreeText = ""
    pattern = r"(?P<note>[^\t]*)\t(?:(?P<form>[PNCD])(?P<amount>[\d.]+)?)?"

    def text(self) -> str:
        """Note, tab, and the payment."""
        amount = _write(self, "amount") if self.form and self.amount != ALL else ""
        return f"{_write(self, 'note')}\t{self.form}{amount}"


@dataclass(frozen=True)
class PrintFiscalText(ClassicCommand[Nothing], code=54):
    """Print a line in a receipt."""

    line: FreeText
    pattern = r"(?P<line>.*)"


@dataclass(frozen=True)
class Close(ClassicCommand[Counts], code=56):
    """Close the receipt."""


@dataclass(frozen=True)
class Cancel(ClassicCommand[Nothing], code=57):
    """Cancel the receipt; not possible when it is paid in full (L)."""


@dataclass(frozen=True)
class CancelAsInBulgaria(Cancel, code=60):
    """The same on registers of Bulgaria."""


@dataclass(frozen=True)
class SetClock(ClassicCommand[Nothing], code=61):
    """Set the clock: ``DD-MM-YY HH:MM:SS``."""

    time: FreeText
    pattern = r"(?P<time>.*)"


@dataclass(frozen=True)
class ReadClock(ClassicCommand[Clock], code=62):
    """Read the clock."""


@dataclass(frozen=True)
class ReadLastZ(ClassicCommand[Said], code=64):
    """Read the last Z report."""


@dataclass(frozen=True)
class ReadDay(ClassicCommand[DaySums], code=65):
    """Read the sums of the day."""


@dataclass(frozen=True)
class ReadFree(ClassicCommand[FreeRecords], code=68):
    """Read how many Z reports there is room for."""


@dataclass(frozen=True)
class PrintReport(ClassicCommand[Report], code=69):
    """Print a report of `ReportKind`."""

    password: Words = DEFAULT_PASSWORD
    kind: Count = 0
    options: FreeText = ""
    pattern = r"(?P<password>[^,]*),(?P<kind>\d)(?P<options>[NA]*)"

    def text(self) -> str:
        """The options stand behind the kind."""
        return f"{_write(self, 'password')},{self.kind}{self.options}"


@dataclass(frozen=True)
class MoveCash(ClassicCommand[Cash], code=70):
    """Put cash into the drawer, or take it out with a negative amount; 0 asks."""

    amount: Money = 0
    pattern = r"(?:(?P<amount>[+-]?[\d.]+))?"

    def text(self) -> str:
        """Nothing for 0."""
        return _write(self, "amount") if self.amount else ""


@dataclass(frozen=True)
class SelfTest(ClassicCommand[Nothing], code=71):
    """Print what the register thinks of itself."""


@dataclass(frozen=True)
class ReadStatus(ClassicCommand[StatusAnswer], code=74):
    """Read the status, ``W`` when everything is printed, ``X`` now."""

    when: FreeText = "X"
    pattern = r"(?P<when>[WX]?)"


@dataclass(frozen=True)
class ReadReceipt(ClassicCommand[ReceiptState], code=76):
    """Read the state of the open receipt."""


@dataclass(frozen=True)
class Beep(ClassicCommand[Nothing], code=80):
    """Beep."""


@dataclass(frozen=True)
class ReadVersion(ClassicCommand[Said], code=90):
    """Read who the register is."""

    sums: FreeText = ""
    pattern = r"(?P<sums>\d?)"


@dataclass(frozen=True)
class ReadRates(ClassicCommand[Rates], code=97):
    """Read the tax rates."""


@dataclass(frozen=True)
class ReadTaxNumber(ClassicCommand[TaxNumber], code=99):
    """Read the tax number."""


@dataclass(frozen=True)
class WriteOperator(ClassicCommand[Nothing], code=102):
    """Write an operator's name."""

    number: Count
    password: Words
    name: FreeText
    pattern = r"(?P<number>\d+),(?P<password>[^,]*),(?P<name>.*)"


@dataclass(frozen=True)
class OpenDrawer(ClassicCommand[Nothing], code=106):
    """Open the drawer."""


@dataclass(frozen=True)
class WriteArticle(ClassicCommand[Result], code=107):
    """Write an article; ``deed`` is ``P``.

    Or ``C`` to change its price, ``D`` to delete one or all, ``R`` to read one, ``F`` to read the first from a number
    on and ``N`` the next one, ``X`` for the first free number, ``I`` for how many there are.
    """

    deed: FreeText = "P"
    tax: FreeText = ""
    article: Count = 0
    group: Count = 1
    price: Money = 0
    password: Words = DEFAULT_PASSWORD
    name: FreeText = ""
    pattern = (
        r"(?P<deed>[IPCDRFNX])(?:(?P<tax>[^\d,])(?P<article>\d+),(?P<group>\d+),(?P<price>[\d.]+),"
        r"(?P<password>[^,]*),(?P<name>.*)|(?P<key>\d*))"
    )
    changing: ClassVar[re.Pattern[str]] = re.compile(
        r"(?:C(?P<article>\d+),(?P<price>[\d.]+)|D(?P<gone>\d+|A)),(?P<password>[^,]*)"
    )

    def text(self) -> str:
        """The whole row for ``P``; elsewhere the article at most, or what `changing` has."""
        if self.deed == "C":
            return f"C{self.article},{_write(self, 'price')},{_write(self, 'password')}"
        if self.deed == "D":
            return f"D{self.article or 'A'},{_write(self, 'password')}"
        if self.deed != "P":
            return f"{self.deed}{self.article or ''}"
        fields = (self.article, self.group, _write(self, "price"), _write(self, "password"), _write(self, "name"))
        return f"P{self.tax}" + ",".join(map(str, fields))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The row, or the article."""
        text = data.decode(CHARSET, "replace")
        found = cls.changing.fullmatch(text)
        if found is not None:
            price = Decimals(2).read(found["price"]) if found["price"] else 0
            article = found["article"] or found["gone"]
            return cls(text[0], "", 0 if article == "A" else int(article), 1, price, found["password"])
        if text[:1] in "P" or not (text[1:].isascii() and text[1:].isdigit()):
            return super().decode(data)
        return cls(text[0], article=int(text[1:]))


@dataclass(frozen=True)
class Copy(ClassicCommand[Nothing], code=109):
    """Print the last receipt again."""

    count: Count = 1


@dataclass(frozen=True)
class ReadForms(ClassicCommand[FormSums], code=110):
    """Read the turnover of the forms of payment."""


@dataclass(frozen=True)
class ReadNumber(ClassicCommand[LastNumber], code=113):
    """Read how many documents there were."""


@dataclass(frozen=True)
class ReadExchange(ClassicCommand[Said], code=122):
    """Read about the last exchange with the tax service."""


def _changes(record: Any) -> str:
    percent = f",{_write(record, 'percent')}" if record.percent else ""
    return percent + (f";{_write(record, 'change')}" if record.change else "")


# The status.

_T = Trouble

SYNTAX, UNKNOWN, OVERFLOW, FORBIDDEN = (0, 0), (0, 1), (1, 0), (1, 1)
PRINTER_FAULT, COVER, NO_PAPER = (0, 4), (1, 5), (2, 0)
CLOCK_UNSET, GENERAL, RETURN_OPEN = (0, 2), (0, 5), (1, 3)
RECEIPT_OPEN, TEXT_OPEN = (2, 3), (2, 5)
MEMORY_WRITE, NO_MEMORY, MEMORY_NEAR_END, MEMORY_FULL, MEMORY_ERROR = (4, 0), (4, 2), (4, 3), (4, 4), (4, 5)
LAST_Z_FAILED, FISCALISED = (5, 2), (5, 3)

_REFUSALS = {
    SYNTAX: (_T.BAD_SYNTAX, "the data cannot be read", "дані команди неправильні"),
    UNKNOWN: (_T.BAD_SYNTAX, "unknown command", "невідома команда"),
    OVERFLOW: (_T.OVERFLOW, "overflow", "переповнення"),
    FORBIDDEN: (_T.WRONG_MODE, "not allowed now", "команду зараз заборонено"),
}
"""Bits that mean that the command was not executed. The others are conditions, which stay between commands."""

_CONDITIONS = {
    NO_PAPER: (_T.NO_PAPER, "no paper", "немає паперу"),
    COVER: (_T.COVER_OPEN, "the cover is open", "відкрита кришка"),
    PRINTER_FAULT: (_T.PRINTER, "fault of the printer", "несправність принтера"),
    MEMORY_FULL: (_T.MEMORY_FULL, "the fiscal memory is full", "фіскальна пам’ять заповнена"),
    MEMORY_WRITE: (_T.MEMORY_FAULT, "the fiscal memory was not written", "помилка запису фіскальної пам’яті"),
    NO_MEMORY: (_T.MEMORY_FAULT, "no fiscal memory", "немає модуля фіскальної пам’яті"),
    MEMORY_ERROR: (_T.MEMORY_FAULT, "fault of the fiscal memory", "несправність фіскальної пам’яті"),
    LAST_Z_FAILED: (_T.MEMORY_FAULT, "the last Z report was not written", "останній Z-звіт не записано"),
    CLOCK_UNSET: (_T.CLOCK, "the clock is not set", "годинник не встановлено"),
}
"""Why a command is not allowed now, the surest first."""


@dataclass(frozen=True)
class Status:
    """The six bytes."""

    raw: bytes

    def __contains__(self, bit: tuple[int, int]) -> bool:
        byte, place = bit
        return byte < len(self.raw) and bool(self.raw[byte] >> place & 1)

    @classmethod
    def of(cls, *bits: tuple[int, int]) -> Self:
        """A status with these bits."""
        raw = bytearray(b"\x80" * 6)
        for byte, place in bits:
            raw[byte] |= 1 << place
        return cls(bytes(raw))

    @property
    def conditions(self) -> list[Meaning]:
        """What is wrong with the register, whatever became of the command."""
        return [Meaning(*words) for bit, words in _CONDITIONS.items() if bit in self]

    @property
    def refusal(self) -> DeviceRefused | None:
        """Why the command was not executed; `None` when it was."""
        for bit, words in _REFUSALS.items():
            if bit in self:
                meaning = Meaning(*words)
                if bit == FORBIDDEN and self.conditions:
                    meaning = self.conditions[0]
                elif bit == FORBIDDEN and FISCALISED not in self:
                    meaning = Meaning(_T.NOT_FISCALISED, "not in fiscal mode", "не у фіскальному режимі")
                return DeviceRefused(f"S{bit[0]}.{bit[1]}", meaning)
        if MEMORY_WRITE in self:
            return DeviceRefused("S4.0", Meaning(*_CONDITIONS[MEMORY_WRITE]))
        return None


TEXT_ERRORS = {
    "1": Meaning(_T.NOT_FISCALISED, "the fiscal memory is not formatted", "фіскальна пам’ять не форматована"),
    "2": Meaning(_T.WRONG_MODE, "a receipt is open", "відкрито фіскальний чек"),
    "3": Meaning(_T.WRONG_MODE, "it is open already", "документ уже відкрито"),
    "4": Meaning(_T.CLOCK, "the clock is not set", "годинник не встановлено"),
}
"""What `OpenText` answers."""
