"""Bytes of a wire for logs: in hex, without card numbers (docs/reference/terminals.md#rule-19).

Card numbers travel as digits in ASCII or as two digits in a byte. Every long run of ASCII digits
is hidden; of digits in groups, and of packed digits, which look like many other things, every number with a correct
check digit.
"""

from __future__ import annotations

import re

MOST = 32
"""Bytes that are shown."""

FIRST, LAST = 6, 4
"""Digits of a card number that may be shown."""

LENGTHS = range(13, 20)
"""Digits of a card number."""

_FURTHER = 32
"""Bytes behind those that are shown in which a number that begins there can end."""

_ASCII = re.compile(rb"[0-9]{13,}")
# Groups have at least three digits, unlike dates and times.
_GROUPED = re.compile(rb"[0-9]{3,}(?:[ \t.,/_:;|+-]{1,3}[0-9]{3,})+")
_MOST_GROUPS = 6
_TWO_DIGITS = bytes(byte for byte in range(0x9A) if byte & 0x0F <= 9)
_PACKED = re.compile(b"[" + re.escape(_TWO_DIGITS) + b"]{7,}")
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def shown(data: bytes, most: int = MOST) -> str:
    """The beginning of ``data`` in hex; of card numbers the first six and last four digits, the rest as ``*``."""
    # Hidden first and cut afterwards, because a cut could leave a visible part of a longer number. Bytes further away
    # than the length of a card number change nothing, and a search through all of them would be slow.
    near = data[: most + _FURTHER]
    return (
        _PACKED.sub(_hide_packed, _GROUPED.sub(_hide_grouped, _ASCII.sub(_hide, near)))[:most]
        .hex(" ")
        .replace("aa", "**")
    )


def _hide(run: re.Match[bytes]) -> bytes:
    return run[0][:FIRST] + b"*" * (len(run[0]) - FIRST - LAST) + run[0][-LAST:]


def _hide_grouped(run: re.Match[bytes]) -> bytes:
    """Groups of digits with the middle of every possible card number among them as ``*``."""
    shown = bytearray(run[0])
    groups = [list(range(*group.span())) for group in re.finditer(rb"[0-9]+", run[0])]
    for first in range(len(groups)):
        for last in range(first + 1, min(first + _MOST_GROUPS, len(groups)) + 1):
            places = [place for group in groups[first:last] for place in group]
            if len(places) in LENGTHS and _checks(bytes(run[0][place] for place in places).decode()):
                for place in places[FIRST:-LAST]:
                    shown[place] = ord("*")
    return bytes(shown)


def _hide_packed(run: re.Match[bytes]) -> bytes:
    """A run of bytes of two digits with every byte in the middle of a card number replaced."""
    digits = run[0].hex()
    hidden: set[int] = set()
    for start in range(len(digits)):
        for length in LENGTHS:
            end = start + length
            if end <= len(digits) and _checks(digits[start:end]):
                hidden.update(range((start + FIRST) // 2, (end - LAST) // 2))
    return bytes(0xAA if n in hidden else byte for n, byte in enumerate(run[0]))


def _checks(digits: str) -> bool:
    """Whether the last digit is right (ISO/IEC 7812), and this is not one digit many times."""
    total = sum(map(int, digits[-1::-2])) + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])
    return total % 10 == 0 and digits.strip("0") != ""
