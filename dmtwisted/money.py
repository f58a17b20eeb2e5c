"""Amounts are whole kopecks, quantities whole thousandths; only requests and answers have fractions.

A number of a request is a JSON number or a text and never becomes a binary float, so it is rounded exactly
(specification 2.2).
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from dmtwisted.results import Text

LARGEST = 10**15
"""The largest scaled amount: ten trillion hryvnias. A larger number is a mistake."""

_NUMERIC = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LAST_DIGIT = {100: Decimal("0.01"), 1000: Decimal("0.001")}
"""The smallest step of what is scaled by a factor."""


class NotANumber(ValueError):
    """A value is not a number, or is out of range; ``text`` says which."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


NUMBER_EXPECTED = Text("очікується число", "a number is expected")
TOO_LARGE = Text("число завелике", "the number is too large")


def number(value: object) -> Decimal | int:
    """The number in ``value``, a JSON number or a numeric text.

    :raises NotANumber: for anything else.
    """
    if value.__class__ is int or value.__class__ is Decimal:
        return value
    if isinstance(value, str):
        text = value.strip()
        if len(text) <= 40 and _NUMERIC.fullmatch(text):
            return Decimal(text)
    raise NotANumber(NUMBER_EXPECTED)


def scaled(value: object, factor: int) -> int:
    """``value`` times ``factor``, 100 or 1000, as a whole number, halves rounded away from zero.

    :raises NotANumber: when ``value`` is not a number or is too large.
    """
    digits = number(value)
    if isinstance(digits, int):
        whole = digits * factor
    else:
        if digits and digits.adjusted() > 15:
            raise NotANumber(TOO_LARGE)
        # A rounding error of a till that calculates in binary, such as 0.1 + 0.2.
        if digits and digits.adjusted() < -9:
            return 0
        # Rounded before the multiplication, which itself rounds to 28 digits.
        whole = int(digits.quantize(_LAST_DIGIT[factor], ROUND_HALF_UP) * factor)
    if not -LARGEST <= whole <= LARGEST:
        raise NotANumber(TOO_LARGE)
    return whole


def kopecks(value: object) -> int:
    """An amount in hryvnias as kopecks: ``"12.5"`` is 1250.

    :raises NotANumber: when it is not a number.
    """
    return scaled(value, 100)


def thousandths(value: object) -> int:
    """A quantity as thousandths: ``1.25`` is 1250.

    :raises NotANumber: when it is not a number.
    """
    return scaled(value, 1000)


def half_up(numerator: int, denominator: int) -> int:
    """``numerator / denominator`` rounded once, halves away from zero; ``denominator`` is positive."""
    if numerator < 0:
        return -half_up(-numerator, denominator)
    return (2 * numerator + denominator) // (2 * denominator)


@lru_cache(maxsize=1024)
def decimal_text(whole: int, places: int) -> str:
    """``whole`` with ``places`` decimals, zeros at the end left out but one (specification 9.4).

    ``decimal_text(1250, 2)`` is ``"12.5"`` and ``decimal_text(200, 2)`` is ``"2.0"``.
    """
    sign = "-" if whole < 0 else ""
    head, tail = divmod(abs(whole), 10**places)
    fraction = f"{tail:0{places}d}".rstrip("0")
    return f"{sign}{head}.{fraction or '0'}"


def hryvnias(whole: int) -> str:
    """Kopecks as hryvnias for people: ``12.50``."""
    sign = "-" if whole < 0 else ""
    return f"{sign}{abs(whole) // 100}.{abs(whole) % 100:02d}"
