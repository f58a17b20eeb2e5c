"""Masks for card numbers and for values with secret names."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import Any

HIDDEN = "***"
"""In place of a secret."""

KEPT_FIRST, KEPT_LAST = 6, 4
"""The digits of a card number that may be shown: the issuer's and the last ones."""

_CARD_LENGTHS = range(13, 20)
"""Digits of a card number in free text; with 12, an RRN would be taken for a card number."""

_SYMBOL = re.compile(r"[0-9*Xx•]")
# A mask of another program may show eight digits and four; a mask of six and four has less than 12 digits anyway.
_MASKED = re.compile(r"[0-9]{8}[*Xx•]+[0-9]{4}")
# A cheap first check that finds every card number, and much else.
_LONG = re.compile(r"[0-9][0-9 -]{11}[0-9]")
# Groups of a card number have at least three digits, unlike dates and bytes in hex ("30 31 32").
_RUN = re.compile(r"[0-9]{3,}(?:[ -][0-9]{3,})*")
_MOST_GROUPS = 6
_SEPARATOR = re.compile(r"[ -]")
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_SECRET = re.compile(
    r"(.*[_.\- ])?((usr|user|conf|db|new|old)?pass(word|wd|phrase|code)?|pwd|pin|cvv2?|cvc2?|track[12]?"
    r"|(api|private)?key|authorization)s?|.*(password|passphrase|token|secret|cookie)s?",
    re.IGNORECASE | re.DOTALL,
)


def mask_pan(text: str) -> str:
    """A card number with its first six and last four digits, the rest as ``*``, without spaces and dashes.

    A masked number, and a text with fewer than 12 digits, stay as they are.
    """
    bare = _SEPARATOR.sub("", text)
    if sum("0" <= character <= "9" for character in bare) < 12 or _MASKED.fullmatch(bare):
        return text
    places = [match.start() for match in _SYMBOL.finditer(bare)]
    characters = list(bare)
    for place in places[KEPT_FIRST:-KEPT_LAST]:
        characters[place] = "*"
    return "".join(characters)


def mask_cards(text: str) -> str:
    """``text`` with its card numbers masked: 13 to 19 digits with a valid check digit."""
    if _LONG.search(text) is None:
        return text
    return _RUN.sub(_mask_run, text)


def _mask_run(run: re.Match[str]) -> str:
    """Groups of digits with every possible card number among them masked."""
    groups = _SEPARATOR.split(run[0])
    digits = "".join(groups)
    bounds = [0, *accumulate(map(len, groups))]
    hidden: set[int] = set()
    for index, start in enumerate(bounds):
        for end in bounds[index + 1 : index + 1 + _MOST_GROUPS]:
            if end - start in _CARD_LENGTHS and luhn(digits[start:end]):
                hidden.update(range(start + KEPT_FIRST, end - KEPT_LAST))
    if not hidden:
        return run[0]
    shown = iter("*" if index in hidden else digit for index, digit in enumerate(digits))
    return "".join(character if character in " -" else next(shown) for character in run[0])


def luhn(digits: str) -> bool:
    """Whether the check digit of a card number is valid (ISO/IEC 7812)."""
    total = sum(map(int, digits[-1::-2])) + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])
    return total % 10 == 0


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a member of this name is a secret, such as ``usr_pass``, ``x-api-key`` and ``DMUIToken``."""
    return _SECRET.fullmatch(name) is not None


def mask_secrets(value: Any) -> Any:
    """A copy of a JSON-like ``value`` with ``***`` for members with secret names, at every depth."""
    if isinstance(value, dict):
        return {name: HIDDEN if _names_secret(name) else mask_secrets(member) for name, member in value.items()}
    if value.__class__ is list:
        return [mask_secrets(member) for member in value]
    if value.__class__ is tuple:
        return tuple(mask_secrets(member) for member in value)
    return value


def _names_secret(name: object) -> bool:
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    return isinstance(name, str) and is_secret(name)
