"""Values of attributes in documents of protocol B (docs/reference/tax-cabinet.md#values).

Amounts are whole kopecks, quantities thousandths; only percentages have a dot. A `ValueError` says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated, Any

from protocols.fiscal.letters import trouble
from protocols.fiscal.simple_types import SimpleType


def _spelled(
    name: str, spelling: str, expected: str, value_of: Callable[[str], Any], spell: Callable[[Any], str]
) -> SimpleType:
    """Values whose texts match ``spelling``, read by ``value_of`` and written by ``spell``."""
    compiled = re.compile(spelling, re.ASCII)

    def checked(text: str) -> str:
        if compiled.fullmatch(text) is None:
            raise ValueError(f"{expected} is expected, not {text[:40]!r}")
        return text

    return SimpleType(name, lambda text: value_of(checked(text)), lambda value: checked(spell(value)), spelling)


def _number(name: str, spelling: str, expected: str) -> SimpleType:
    return _spelled(name, spelling, expected, int, str)


def _percentage(text: str) -> int:
    whole, _, decimals = text.partition(".")
    return int(whole) * 100 + int(decimals.ljust(2, "0"))


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%d%H%M%S")


def _spell_moment(value: datetime) -> str:
    # Not `strftime`, which writes years before 1000 without zeros.
    return f"{_spell_day(value)}{value.hour:02d}{value.minute:02d}{value.second:02d}"


def _spell_day(value: date) -> str:
    return f"{value.year:04d}{value.month:02d}{value.day:02d}"


def _words(name: str, longest: int) -> SimpleType:
    def read(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"at most {longest} characters are expected, not {len(text)}")
        return text

    def write(text: str) -> str:
        wrong = trouble(read(text))
        if wrong:
            raise ValueError(wrong)
        return text

    return SimpleType(name, read, write, longest=longest)


Kopecks = Annotated[int, _number("kopecks", "-?[0-9]{1,15}", "whole kopecks")]
"""An amount, written ``1250`` for 12.50."""

Thousandths = Annotated[int, _number("thousandths", "[0-9]{1,15}", "whole thousandths")]
"""A quantity, written ``1500`` for 1.5."""

Percent = Annotated[
    int,
    _spelled(
        "percent",
        r"[0-9]{1,7}(\.[0-9]{1,2})?",
        "a percentage like 20.00",
        _percentage,
        lambda value: f"{value // 100}.{value % 100:02d}",
    ),
]
"""Hundredths of a percent, written ``20.00``, read with fewer decimals too."""

Count = Annotated[int, _number("count", "[0-9]{1,10}", "a whole number")]
"""A number, a code or a count."""

TaxCode = Annotated[str, _spelled("tax", "-1|[0-9]{1,3}", "the number of a tax", str, str)]
"""The tax of a row: ``0`` exempt, ``-1`` not taxable, ``1``, ``2`` and so on for the letters of taxes."""

Uktzed = Annotated[str, _spelled("uktzed", "[0-9]{1,10}", "a code of at most 10 digits", str, str)]
"""A code of the customs' list of goods, with leading zeros."""

Moment = Annotated[datetime, _spelled("moment", "[0-9]{14}", "a time yyyymmddhhmmss", _moment, _spell_moment)]
"""Kyiv time, written ``20260921090000``."""

Day = Annotated[
    date,
    _spelled("day", "[0-9]{8}", "a day yyyymmdd", lambda text: datetime.strptime(text, "%Y%m%d").date(), _spell_day),
]
"""A day, written ``20260921``."""

Words64 = Annotated[str, _words("text of 64", 64)]
Words = Annotated[str, _words("text", 100_000)]
"""A text of any length; the limit keeps it within a document's size."""
