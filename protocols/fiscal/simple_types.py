"""Simple values in documents: amounts, dates, codes and texts (docs/reference/tax-service.md#simple-types).

Each `SimpleType` reads and writes values; a `ValueError` says what is wrong. Amounts are integer kopecks, percentages
hundredths, quantities thousandths, never binary fractions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Annotated, Any

from protocols.fiscal.letters import trouble

_DIGITS = 15
"""Digits before the dot, from comments in the schema."""

_CAPITALS = "АБВГДЕЄЖЗИІКЛМНОПРСТУФХЦЧШЩЮЯ"


@dataclass(frozen=True)
class SimpleType:
    """One kind of value; ``read`` from text and ``write`` to text raise `ValueError`.

    ``pattern`` of its texts (empty: any), ``longest`` number of characters (0: any) and ``bounds`` of whole numbers
    are for the XSD (`protocols.fiscal.xsd`).
    """

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    pattern: str = ""
    longest: int = 0
    bounds: tuple[int, int] | None = None


def _matched(pattern: str, expected: str) -> Callable[[str], re.Match[str]]:
    compiled = re.compile(pattern, re.ASCII)

    def match(text: str) -> re.Match[str]:
        found = compiled.fullmatch(text)
        if found is None:
            raise ValueError(f"{expected} is expected, not {text[:40]!r}")
        return found

    return match


def _decimal(name: str, places: int, exact: bool, shortened: bool = False) -> SimpleType:
    """Numbers with a dot, kept as integers in units of the last place.

    :param exact: all places are required; otherwise up to so many.
    :param shortened: zeros at the end are not written.
    """
    fraction = rf"\.([0-9]{{{places}}})" if exact else rf"(?:\.([0-9]{{1,{places}}}))?"
    match = _matched(rf"(-?)([0-9]{{1,{_DIGITS}}}){fraction}", f"a number like {'0.' + '0' * places}")
    least = places if exact else 1
    tail = rf"(\.[0-9]{{{least},{places}}})" + ("" if exact else "?")
    unit = 10**places

    def read(text: str) -> int:
        found = match(text.strip())
        value: int = int(found[2]) * unit + int((found[3] or "").ljust(places, "0"))
        return -value if found[1] else value

    def write(value: int) -> str:
        if abs(value) >= 10**_DIGITS * unit:
            raise ValueError(f"at most {_DIGITS} digits are expected before the dot")
        text = f"{'-' if value < 0 else ''}{abs(value) // unit}.{abs(value) % unit:0{places}d}"
        return text.rstrip("0").rstrip(".") if shortened else text

    return SimpleType(name, read, write, rf"\s*-?[0-9]{{1,{_DIGITS}}}{tail}\s*")


def _whole(name: str, least: int, most: int, zeros_after_dot: bool = False) -> SimpleType:
    match = _matched(r"[+-]?[0-9]{1,18}" + (r"(?:\.0{1,2})?" if zeros_after_dot else ""), "a whole number")

    def checked(value: int) -> int:
        if not least <= value <= most:
            raise ValueError(f"a number from {least} to {most} is expected, not {value}")
        return value

    return SimpleType(
        name,
        lambda text: checked(int(match(text.strip())[0].partition(".")[0])),
        lambda value: str(checked(value)),
        r"\s*[+-]?[0-9]{1,18}(\.0{1,2})?\s*" if zeros_after_dot else "",
        bounds=None if zeros_after_dot else (least, most),
    )


def _text(name: str, longest: int) -> SimpleType:
    def read(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"at most {longest} characters are expected, not {len(text)}")
        return text

    def write(value: str) -> str:
        wrong = trouble(read(value))
        if wrong:
            raise ValueError(wrong)
        return value

    return SimpleType(name, read, write, longest=longest)


def _pattern(name: str, pattern: str, expected: str) -> SimpleType:
    match = _matched(pattern, expected)
    return SimpleType(name, lambda text: match(text)[0], lambda value: match(value)[0], pattern)


_DATE = _matched(r"([0-9]{2})([0-9]{2})((?:19|20)[0-9]{2})", "a date ddmmyyyy")
_TIME = _matched(r"([0-9]{2})([0-9]{2})([0-9]{2})", "a time hhmmss")


def _read_date(text: str) -> date:
    found = _DATE(text)
    return date(int(found[3]), int(found[2]), int(found[1]))


def _read_time(text: str) -> time:
    found = _TIME(text)
    return time(int(found[1]), int(found[2]), int(found[3]))


def _write_date(value: date) -> str:
    return _DATE(f"{value.day:02d}{value.month:02d}{value.year:04d}")[0]


def _write_time(value: time) -> str:
    return f"{value.hour:02d}{value.minute:02d}{value.second:02d}"


def _read_moment(text: str) -> datetime:
    return datetime.combine(_read_date(text[:8]), _read_time(text[8:]))


def _read_flag(text: str) -> bool:
    if text.strip() not in ("true", "false", "1", "0"):
        raise ValueError(f"true or false is expected, not {text[:40]!r}")
    return text.strip() in ("true", "1")


Money = Annotated[int, _decimal("money", 2, exact=True)]
"""Kopecks, written ``12.50``."""

Percent = Annotated[int, _decimal("percent", 2, exact=True)]
"""Hundredths of a percent, written ``20.00``."""

Volume = Annotated[int, _decimal("volume", 2, exact=True)]
"""Hundredths of a millilitre, written ``1000.00``."""

Quantity = Annotated[int, _decimal("quantity", 3, exact=False)]
"""Thousandths, written ``1.000``, read with up to three decimals."""

Rate = Annotated[int, _decimal("rate", 8, exact=False, shortened=True)]
"""An exchange rate in units of the eighth decimal."""

Count = Annotated[int, _whole("count", 0, 10**18 - 1)]
"""A whole number from 0."""

Number = Annotated[int, _whole("number", 1, 10**18 - 1)]
"""A whole number from 1."""

Code = Annotated[int, _whole("code", 0, 10**15, zeros_after_dot=True)]
"""A code in a Z-report; ``0.00`` is read too."""

UnitCode = Annotated[int, _whole("unit code", 1, 99_999)]
"""A unit of measure by the state's list."""

Version = Annotated[int, _whole("version", -(10**9), 10**9)]
"""A version of the format."""

Flag = Annotated[
    bool, SimpleType("flag", _read_flag, lambda value: "true" if value else "false", r"\s*(true|false|0|1)\s*")
]
"""``true`` or ``false``; ``1`` and ``0`` are read too."""

_DAY, _HOUR = "(0[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2])(19|20)[0-9]{2}", "([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]"

Date = Annotated[date, SimpleType("date", _read_date, _write_date, _DAY)]
"""``ddmmyyyy`` of a day that exists."""

Time = Annotated[time, SimpleType("time", _read_time, _write_time, _HOUR)]
"""``hhmmss``."""

Moment = Annotated[
    datetime,
    SimpleType(
        "moment",
        _read_moment,
        lambda value: _write_date(value.date()) + _write_time(value.time()),
        _DAY + _HOUR,
    ),
]
"""``ddmmyyyyhhmmss``."""

Tin = Annotated[
    str, _pattern("tin", rf"[0-9]{{5,10}}|[{_CAPITALS}]{{2}}[0-9]{{6}}", "a payer's code of 5 to 10 digits")
]
"""The code of a payer; for a person without one the passport number."""

Ipn = Annotated[
    str, _pattern("ipn", rf"0|[0-9]{{6,12}}|[{_CAPITALS}]{{2}}[0-9]{{6}}", "a VAT number of 6 to 12 digits")
]
"""The number of a VAT payer."""

Uktzed = Annotated[
    str, _pattern("uktzed", "[0-9]{4}|[0-9]{6}|[0-9]{8}|[0-9]{10}|00[0-9]{3}", "a code of 4, 6, 8 or 10 digits")
]
"""A code of the customs' list of goods, with leading zeros."""

Dkpp = Annotated[
    str, _pattern("dkpp", r"[0-9]{2}\.[0-9]{2}(\.[0-9]{1,2})*(-[0-9]{1,2}(\.[0-9]{1,2})*)?", "a code like 11.22.33")
]
"""A code of the state's list of services."""

Letter = Annotated[str, _text("letter", 1)]
"""The letter of a tax."""

Text15 = Annotated[str, _text("text of 15", 15)]
Text64 = Annotated[str, _text("text of 64", 64)]
Text128 = Annotated[str, _text("text of 128", 128)]
Text256 = Annotated[str, _text("text of 256", 256)]
Text1024 = Annotated[str, _text("text of 1024", 1024)]
Text = Annotated[str, _text("text", 100_000)]
"""A text of any length; the limit keeps it within a document's size."""
