"""What all wires of terminals have in common about sums."""

from __future__ import annotations

from typing import Final

NOT_A_SUM: Final = -(10**18)
"""Stands for the sum of an approval that cannot be read, or is in another currency: nobody takes it for money.

A sum that is missing is `None`. The two differ, because some terminals approve without naming a sum.
"""


def signed(text: str, digits: int = 15) -> int | None:
    """The whole number in ``text``, which may be negative; `None` when it is blank, `NOT_A_SUM` for anything else."""
    if not text.strip():
        return None
    number = text.removeprefix("-")
    return int(text) if number.isascii() and number.isdigit() and len(number) <= digits else NOT_A_SUM
