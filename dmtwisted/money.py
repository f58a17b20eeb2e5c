"""Amounts are whole kopecks, quantities whole thousandths; fractions exist at the edges only.

A request may spell a number as JSON number or as text; a binary float never enters, so nothing has to be
guessed when it is rounded (specification 2.2, "Value typing").
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

LARGEST = 10**15
"""The largest scaled amount that is taken: ten trillion hryvnias. Beyond it a number is a mistake."""

_NUMERIC = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LAST_DIGIT = {100: Decimal("0.01"), 1000: Decimal("0.001")}
"""The smallest step of what is scaled by a factor."""


class NotANumber(ValueError):
    """A value that should be a number is none, or lies outside of what can be meant."""


def number(value: object) -> Decimal | int:
    """The number that ``value`` spells: a JSON number or a numeric text.

    :raises NotANumber: for anything else.
    """
    if value.__class__ is int or value.__class__ is Decimal:
        return value
    if isinstance(value, str):
        text = value.strip()
        if len(text) <= 40 and _NUMERIC.fullmatch(text):
            return Decimal(text)
    raise NotANumber("a number is expected")


def scaled(value: object, factor: int) -> int:
    """``value`` times ``factor``, 100 or 1000, as a whole number, halves rounded away from zero.

    :raises NotANumber: when ``value`` is no number or is out of all proportion.
    """
    digits = number(value)
    if isinstance(digits, int):
        whole = digits * factor
    else:
        if digits and digits.adjusted() > 15:
            raise NotANumber("the number is too large")
        # A tail beyond this is dust: 0.1 + 0.2 of a till that calculates in binary.
        if digits and digits.adjusted() < -9:
            return 0
        # Rounded before it is multiplied: a product of many digits would be rounded to 28 of them first.
        whole = int(digits.quantize(_LAST_DIGIT[factor], ROUND_HALF_UP) * factor)
    if not -LARGEST <= whole <= LARGEST:
        raise NotANumber("the number is too large")
    return whole


def kopecks(value: object) -> int:
    """An amount in hryvnias as kopecks: ``"12.5"`` is 1250.

    :raises NotANumber: when it is no number.
    """
    return scaled(value, 100)


def thousandths(value: object) -> int:
    """A quantity as thousandths: ``1.25`` is 1250.

    :raises NotANumber: when it is no number.
    """
    return scaled(value, 1000)


def half_up(numerator: int, denominator: int) -> int:
    """``numerator / denominator`` rounded once, halves away from zero; ``denominator`` is positive."""
    if numerator < 0:
        return -half_up(-numerator, denominator)
    return (2 * numerator + denominator) // (2 * denominator)


@lru_cache(maxsize=1024)
def decimal_text(whole: int, places: int) -> str:
    """``whole`` with its last ``places`` digits behind the point, at least one of them kept.

    ``decimal_text(1250, 2)`` is ``"12.5"`` and ``decimal_text(200, 2)`` is ``"2.0"``: the form of numbers in
    answers (specification 9.4).
    """
    sign = "-" if whole < 0 else ""
    head, tail = divmod(abs(whole), 10**places)
    fraction = f"{tail:0{places}d}".rstrip("0")
    return f"{sign}{head}.{fraction or '0'}"


def hryvnias(whole: int) -> str:
    """Kopecks as people read them: ``12.50``."""
    sign = "-" if whole < 0 else ""
    return f"{sign}{abs(whole) // 100}.{abs(whole) % 100:02d}"
