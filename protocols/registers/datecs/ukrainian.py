"""Commands of the Ukrainian dialect of Datecs (docs/reference/registers.md#ukrainian-dialect).

A command's data is the password of six digits and the fields, each closed by ``;``. An answer's data is the error,
four hexadecimal digits, and its fields likewise. The third byte of the status tells the state of the document.

Only answers were seen in a log. The frame of commands, ``68`` as percent and ``69`` as a sum, ``73`` for voiding, and
the places of ``6B`` are readings (M and L): they are constants here, so that a device which differs is one change.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from protocols.errors import Garbled
from protocols.registers.records import Command, Decimals, Number, Text, formats
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

CHARSET = "cp1251"
DEFAULT_PASSWORD = "000000"

Count: TypeAlias = Annotated[int, Number()]
Money: TypeAlias = Annotated[int, Decimals(2)]
Thousandths: TypeAlias = Annotated[int, Decimals(3)]
Words: TypeAlias = Annotated[str, Text(";")]

_Answer_co = TypeVar("_Answer_co", bound="UkrainianAnswer", covariant=True)
_Record = TypeVar("_Record")


class UkrainianAnswer:
    """The fields of an answer without an error."""

    def encode(self) -> bytes:
        """The data of the frame."""
        return _join("0000", self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """What the register answers.

        :raises DeviceRefused: with an error.
        :raises Garbled: it is not such an answer.
        """
        error, rest = split_error(data)
        if error:
            raise refused(error)
        return _read(cls, rest)


class UkrainianCommand(Command[_Answer_co]):
    """One command."""

    def encode(self, password: str = DEFAULT_PASSWORD) -> bytes:
        """The data of the frame.

        :raises ValueError: a field cannot be written.
        """
        return _join(password, self)

    @classmethod
    def decode(cls, data: bytes) -> tuple[str, Self]:
        """Password and command.

        :raises FieldError: with the number of the field that cannot be read.
        """
        password, _, rest = data.decode(CHARSET, "replace").partition(";")
        return password, _read_fields(cls, rest)


class FieldError(ValueError):
    """Field ``number`` of a command, from 1, cannot be read."""

    def __init__(self, number: int) -> None:
        super().__init__(f"field {number}")
        self.number = number


def split_error(data: bytes) -> tuple[int, str]:
    """The error of an answer, 0 for none, and the text behind it.

    :raises Garbled: it has none.
    """
    head, mark, rest = data.decode(CHARSET, "replace").partition(";")
    try:
        if len(head) != 4 or not mark:
            raise ValueError(head)
        return Number(4, 16).read(head), rest
    except ValueError:
        raise Garbled("an answer without its error", data) from None


def encode_error(error: int) -> bytes:
    """The data of an answer with an error."""
    return f"{error:04X};".encode()


def _join(head: str, record: Any) -> bytes:
    texts = [each.write(getattr(record, name)) for name, each in formats(type(record)).items()]
    return "".join(f"{text};" for text in (head, *texts)).encode(CHARSET)


def _read(kind: type[_Record], rest: str) -> _Record:
    try:
        return _read_fields(kind, rest)
    except FieldError as error:
        raise Garbled(f"{error} of {kind.__name__} cannot be read", rest.encode(CHARSET, "replace")) from None


def _read_fields(kind: type[_Record], rest: str) -> _Record:
    texts = rest.removesuffix(";").split(";") if rest else []
    values: dict[str, Any] = {}
    for number, (name, each) in enumerate(formats(kind).items(), 1):
        try:
            values[name] = each.read(texts[number - 1])
        except (ValueError, IndexError):
            raise FieldError(number) from None
    return kind(**values)


class Document(IntEnum):
    """The state of the document: the low four bits of the third status byte."""

    NONE = 0
    OPEN = 1
    SALES = 2
    TOTALLED = 3
    PAID = 4
    TEXT = 5


def document_of(status: bytes) -> Document:
    """The state of the document by the status of any answer, also of one with an error.

    :raises Garbled: the byte has none of the known states.
    """
    try:
        return Document(status[2] & 0x0F)
    except (ValueError, IndexError):
        raise Garbled("an unknown state of the document", status) from None


class Opens(IntEnum):
    """Kinds of fiscal documents."""

    SALE = 0
    RETURN = 1
    CASH = 2


class Form(IntEnum):
    """Forms of payment as they are set in the factory (L)."""

    CASH = 0
    CARD = 1


class ReportKind(IntEnum):
    """Reports."""

    Z = 0
    X = 1


DRAWER = 0
"""The place of the cash in the drawer for `ReadSum`; from 1, n is the turnover of payment form n (L)."""

TAXES = "АБВГДЕЖЗ"
"""Letters of tax groups; the wire has their numbers from 0."""


# Answers.


@dataclass(frozen=True)
class Nothing(UkrainianAnswer):
    """Done."""


@dataclass(frozen=True)
class Written(UkrainianAnswer):
    """An article is written: its index, as the register shows it."""

    index: Words


@dataclass(frozen=True)
class Sum(UkrainianAnswer):
    """An amount: the running sum, the total, the rest to pay, a sum register."""

    amount: Money


@dataclass(frozen=True)
class Closed(UkrainianAnswer):
    """The number of the closed document."""

    number: Count


@dataclass(frozen=True)
class LineSettings(UkrainianAnswer):
    """The line and six settings without a known meaning."""

    speed: Count
    second: Words
    third: Words
    fourth: Words
    fifth: Words
    sixth: Words
    seventh: Words


@dataclass(frozen=True)
class FormName(UkrainianAnswer):
    """A form of payment: flags in hexadecimal digits, and the name."""

    mask: Words
    name: Words


@dataclass(frozen=True)
class OperatorName(UkrainianAnswer):
    """An operator."""

    known: Words
    name: Words


@dataclass(frozen=True)
class LastZ(UkrainianAnswer):
    """The date of the last Z report, DDMMYY, and two numbers without a known meaning."""

    date: Words
    second: Words
    third: Words


@dataclass(frozen=True)
class Firmware(UkrainianAnswer):
    """Who the register is; of the numbers only the capacity of articles is sure."""

    model: Words
    version: Words
    country: Words
    date: Words
    articles: Count
    second: Count
    third: Count
    dots: Count
    columns: Count
    taxes: Count
    forms: Count


@dataclass(frozen=True)
class State(UkrainianAnswer):
    """The state: the number of the Z report, and the register's clock as DDMMYY and HHMM."""

    first: Words = "0"
    second: Words = "0"
    third: Words = "0"
    fourth: Words = "0"
    fifth: Words = "0"
    sixth: Words = "0"
    seventh: Words = "0"
    z: Count = 0
    date: Words = ""
    time: Words = ""
    articles_left: Words = "0"
    lines_left: Words = "0"


# Commands.


@dataclass(frozen=True)
class WriteHeader(UkrainianCommand[Nothing], code=0x22):
    """Write a line above or below every receipt."""

    line: Count
    text: Words
    style: Count = 0


@dataclass(frozen=True)
class WriteArticle(UkrainianCommand[Written], code=0x24):
    """Write an article. ``tax`` counts the letters of `TAXES` from 0."""

    article: Count
    name: Words
    tax: Count
    department: Count = 1
    modifier: Words = "00"
    unit: Words = ""


@dataclass(frozen=True)
class ReadLineSettings(UkrainianCommand[LineSettings], code=0x28):
    """Read how the line is set."""


@dataclass(frozen=True)
class WriteForm(UkrainianCommand[Nothing], code=0x2D):
    """Write a form of payment; refused while the shift is open."""

    form: Count
    mask: Words
    name: Words


@dataclass(frozen=True)
class ReadForm(UkrainianCommand[FormName], code=0x2E):
    """Read a form of payment."""

    form: Count


@dataclass(frozen=True)
class WriteOperator(UkrainianCommand[Nothing], code=0x2F):
    """Write an operator, who must exist before the first document."""

    number: Count
    password: Words
    name: Words


@dataclass(frozen=True)
class ReadOperator(UkrainianCommand[OperatorName], code=0x30):
    """Read an operator."""

    number: Count


@dataclass(frozen=True)
class ReadLastZ(UkrainianCommand[LastZ], code=0x36):
    """Read about the last Z report."""


@dataclass(frozen=True)
class WriteTax(UkrainianCommand[Nothing], code=0x47):
    """Write a tax group; ``rate`` in hundredths of a percent."""

    group: Count
    kind: Count
    rate: Money
    name: Words
    last: Words = "-1"


@dataclass(frozen=True)
class OpenText(UkrainianCommand[Nothing], code=0x60):
    """Open a document without sales."""


@dataclass(frozen=True)
class PrintText(UkrainianCommand[Nothing], code=0x61):
    """Print a line of it."""

    text: Words


@dataclass(frozen=True)
class Open(UkrainianCommand[Nothing], code=0x63):
    """Open a fiscal document of a kind of `Opens`."""

    operator: Count
    till: Count
    kind: Count


@dataclass(frozen=True)
class Sell(UkrainianCommand[Sum], code=0x64):
    """Add an article; the answer is the running sum."""

    article: Count
    quantity: Thousandths
    price: Money


@dataclass(frozen=True)
class Close(UkrainianCommand[Closed], code=0x65):
    """Close the document, whatever it is; the answer is its number."""

    display: Count = 0


@dataclass(frozen=True)
class Pay(UkrainianCommand[Sum], code=0x67):
    """Pay with a form; the answer is the rest, 0 when all is paid."""

    form: Count
    amount: Money


@dataclass(frozen=True)
class Percent(UkrainianCommand[Nothing], code=0x68):
    """Change the last line by hundredths of a percent: a discount is negative (L)."""

    percent: Money


@dataclass(frozen=True)
class Change(UkrainianCommand[Nothing], code=0x69):
    """Change the last line by a sum: a discount is negative (L)."""

    amount: Money


@dataclass(frozen=True)
class ReadSum(UkrainianCommand[Sum], code=0x6B):
    """Read a sum register: `DRAWER` or a form of payment (L)."""

    index: Count


@dataclass(frozen=True)
class Total(UkrainianCommand[Sum], code=0x6D):
    """Total the document."""

    display: Count = 1


@dataclass(frozen=True)
class PrintBarcode(UkrainianCommand[Nothing], code=0x71):
    """Print a bar code."""

    height: Count
    kind: Count
    place: Count
    fourth: Count
    text: Words


@dataclass(frozen=True)
class Void(UkrainianCommand[Nothing], code=0x73):
    """Void the document when ``amount`` is empty; a negative amount takes a sum from the last line (L)."""

    amount: Words = ""


@dataclass(frozen=True)
class MoveCash(UkrainianCommand[Nothing], code=0x77):
    """Put cash into the drawer, or take it out with a negative amount, in a document of `Opens.CASH`."""

    form: Count
    amount: Money


@dataclass(frozen=True)
class ReadFirmware(UkrainianCommand[Firmware], code=0x80):
    """Ask who the register is."""


@dataclass(frozen=True)
class ShowText(UkrainianCommand[Nothing], code=0x81):
    """Print a line in an open document, or show it."""

    first: Count
    second: Count
    text: Words


@dataclass(frozen=True)
class Service(UkrainianCommand[Nothing], code=0x84):
    """A service command of the log without a known meaning."""

    what: Count


@dataclass(frozen=True)
class ReadState(UkrainianCommand[State], code=0xA0):
    """Ask for the state; it changes nothing and is possible at any time."""


@dataclass(frozen=True)
class Report(UkrainianCommand[Nothing], code=0xA1):
    """Print a report: a kind of `ReportKind`."""

    kind: Count


# Errors: the low byte is the class, the high byte the detail.

_T = Trouble
_BY_CODE = {
    0x0101: (_T.NO_PAPER, "printer: no paper or a fault", "принтер: немає паперу або несправність"),
    0x0201: (_T.MEMORY_FAULT, "fault of the working memory", "несправність оперативної пам’яті"),
    0x0301: (_T.MEMORY_FAULT, "fault of the program memory", "несправність пам’яті програм"),
    0x0401: (_T.MEMORY_FAULT, "fault of the flash memory", "несправність флеш-пам’яті"),
    0x0501: (_T.PRINTER, "fault of the display", "несправність дисплея"),
    0x0601: (_T.CLOCK, "fault of the clock", "несправність годинника"),
    0x0701: (_T.PRINTER, "fault of the power supply", "несправність живлення"),
    0x0002: (_T.BAD_SYNTAX, "unknown command", "невідома команда"),
    0x0005: (_T.MEMORY_FULL, "the fiscal memory is full", "фіскальна пам’ять заповнена"),
    0x0105: (_T.MEMORY_FAULT, "the fiscal memory was not written", "помилка запису фіскальної пам’яті"),
    0x0205: (_T.NOT_FISCALISED, "no serial number", "немає заводського номера"),
    0x0305: (_T.CLOCK, "the date is before the last record", "дата раніша за останній запис"),
    0x0405: (_T.MEMORY_FAULT, "the fiscal memory is damaged", "фіскальна пам’ять пошкоджена"),
    0x0505: (_T.MEMORY_FAULT, "the fiscal memory is damaged", "фіскальна пам’ять пошкоджена"),
    0x0605: (_T.MEMORY_FULL, "the fiscal memory is exhausted", "фіскальну пам’ять вичерпано"),
    0x0705: (_T.NOT_FISCALISED, "not in fiscal mode", "не у фіскальному режимі"),
    0x0805: (_T.CLOCK, "the clock is not set", "годинник не встановлено"),
    0x0905: (_T.SHIFT_OVER, "the shift is longer than 24 hours", "зміна триває понад 24 години"),
    0x0A05: (_T.CLOCK, "the time cannot be corrected so", "неможлива корекція часу"),
    0x0B05: (_T.TAX_FORBIDDEN, "the table of taxes", "таблиця податків"),
    0x0006: (_T.BAD_PASSWORD, "wrong password", "неправильний пароль"),
    0x0007: (_T.WRONG_MODE, "not possible in this mode", "неможливо в цьому режимі"),
    0x0107: (_T.WRONG_MODE, "the shift forbids it: a Z report is needed", "неможливо у зміні: потрібен Z-звіт"),
    0x0008: (_T.OVERFLOW, "overflow", "переповнення"),
    0x0009: (_T.WRONG_MODE, "not zeroed", "не обнулено"),
    0x000A: (_T.ARTICLE, "no room in the table", "у таблиці немає місця"),
    0x010A: (_T.BAD_SYNTAX, "too long", "задовгий запис"),
    0x020A: (_T.ARTICLE, "no such article or operator", "немає такого товару або оператора"),
    0x030A: (_T.BAD_SYNTAX, "wrong index", "неправильний індекс"),
    0x040A: (_T.ARTICLE, "it exists and differs", "такий запис уже є і відрізняється"),
    0x050A: (_T.TAX_FORBIDDEN, "the tax group is forbidden", "податкова група заборонена"),
    0x000B: (_T.WRONG_MODE, "not possible in this state of the document", "неможливо в цьому стані документа"),
    0x010B: (_T.OVERFLOW, "no more room in the document", "у документі немає місця"),
    0x020B: (_T.ARTICLE, "no such sale in the document", "у документі немає такого продажу"),
    **{
        code: (_T.WRONG_MODE, "it cannot be voided", "анулювання неможливе")
        for code in (0x030B, 0x040B, 0x050B, 0x060B)
    },
    0x070B: (_T.WRONG_MODE, "no copy is possible", "копія недоступна"),
    0x080B: (_T.CASH_SHORT, "not enough cash in the drawer", "недостатньо готівки в касі"),
    0x090B: (_T.WRONG_MODE, "the form of payment is forbidden", "форма оплати заборонена"),
    0x0A0B: (_T.WRONG_MODE, "no change from this form of payment", "решта з цієї форми оплати заборонена"),
    0x0B0B: (_T.BAD_SYNTAX, "the discount is out of range", "знижка поза межами"),
    0x0C0B: (_T.OVERFLOW, "overflow of the document", "переповнення документа"),
    0x0D0B: (_T.OVERFLOW, "overflow of the document", "переповнення документа"),
    0x0E0B: (_T.OVERFLOW, "overflow of the buffer", "переповнення буфера"),
    0x000C: (_T.BUSY, "the temporary buffer", "тимчасовий буфер"),
    0x010C: (_T.BUSY, "the temporary buffer", "тимчасовий буфер"),
}
_BY_CLASS = {
    0x01: (_T.PRINTER, "fault of the hardware", "несправність обладнання"),
    0x03: (_T.BAD_SYNTAX, "field {} has a wrong format", "поле {} має неправильний формат"),
    0x04: (_T.BAD_SYNTAX, "field {} is out of range", "поле {} поза межами"),
    0x05: (_T.MEMORY_FAULT, "fault of the fiscal memory", "несправність фіскальної пам’яті"),
    0x07: (_T.WRONG_MODE, "not possible in this mode", "неможливо в цьому режимі"),
    0x0A: (_T.BAD_SYNTAX, "wrong data", "неправильні дані"),
    0x0B: (_T.WRONG_MODE, "not possible in this document", "неможливо в цьому документі"),
}


def meaning(error: int) -> Meaning:
    """What an error means; details that are not listed mean what their class does."""
    found = _BY_CODE.get(error) or _BY_CLASS.get(error & 0xFF) or (_T.UNKNOWN, "unknown error", "невідома помилка")
    trouble, english, ukrainian = found
    return Meaning(trouble, english.format(error >> 8), ukrainian.format(error >> 8))


def refused(error: int) -> DeviceRefused:
    """The exception for an error."""
    return DeviceRefused(f"{error:04X}", meaning(error))
