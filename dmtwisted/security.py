"""Masks for card numbers and for values with secret names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from unicodedata import digit

HIDDEN = "***"
"""In place of a secret."""

KEPT_FIRST, KEPT_LAST = 6, 4
"""The digits of a card number that may be shown: the issuer's and the last ones."""

_CARD_LENGTHS = range(13, 20)
"""Digits of a card number in free text; with 12, an RRN would be taken for a card number."""

_SYMBOL = re.compile(r"[0-9*Xx•]")
# A mask of another program may show eight digits and four; a mask of six and four has less than 12 digits anyway.
_MASKED = re.compile(r"[0-9]{8}[*Xx•]+[0-9]{4}")

_DIGIT = r"[\d⁰¹²³⁴-⁹₀-₉①-⑨]"
_UNSEEN = (
    r"[\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u20d0-\u20ff\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Signs of no width, and those that only decorate the one before: digits with them between are one number."""
_BETWEEN = (
    r"(?:[^\S\n\r]|[-.,_/\\:;|+~'’·‧∙⋅\u2010-\u2015\u2024\u2043\u2044\u2212\u2215\u3001\u3002]"
    r"|[\ufe58\ufe63\uff0c-\uff0f\uff1a\uff1b\uff3f\uff5c\uff61])"
)
"""Signs between two groups of a number, three at most."""
# Groups of a card number have at least three digits, unlike dates and bytes in hex ("30 31 32").
_GROUP = rf"{_DIGIT}(?:{_UNSEEN}*{_DIGIT}){{2,}}"
_RUN = re.compile(rf"{_GROUP}(?:{_UNSEEN}*{_BETWEEN}(?:{_UNSEEN}*{_BETWEEN}){{0,2}}{_UNSEEN}*{_GROUP})*")
_MOST_GROUPS = 6
_PLACE = re.compile(r"(?:[12]?[0-9]{2}\.){3}[12]?[0-9]{2}:[0-9]{3,5}").fullmatch
"""An address in a network with its port."""
_IS_DIGIT, _IS_UNSEEN = re.compile(_DIGIT).match, re.compile(_UNSEEN).match
_SEPARATOR = re.compile(rf"{_BETWEEN}|{_UNSEEN}")

# A first check that every text passes, many times cheaper than a search: 13 digits with no Latin letter between. The
# first byte of any sign that is neither Latin nor Cyrillic counts as a digit: it may be one of another script.
_SHORTEST = b"0" * _CARD_LENGTHS[0]
_OTHERS = bytes((*range(0xC0, 0xD0), *range(0xD4, 0x100)))
_TO_ZERO = bytes.maketrans(b"0123456789" + _OTHERS, b"0" * (10 + len(_OTHERS)))
_NO_WORD = bytes(byte for byte in range(256) if byte not in _OTHERS and not (byte < 128 and chr(byte).isalnum()))
_CODED = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|&#([0-9]{1,7});|&#[xX]([0-9A-Fa-f]{1,6});|&([a-z]{2,6});"
    r"|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})"
)
_NAMED = {
    "nbsp": " ",
    "ensp": " ",
    "emsp": " ",
    "thinsp": " ",
    "ndash": "-",
    "mdash": "-",
    "shy": "",
    "zwj": "",
    "zwnj": "",
}
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_SECRET = re.compile(
    r"(.*[_.\- ])?((usr|user|conf|db|new|old)?pass(word|wd|phrase|code)?|pwd|pin|cvv2?|cvc2?|track[12]?"
    r"|(api|private)?key|authorization)s?|.*(password|passphrase|token|secret|cookie)s?",
    re.IGNORECASE | re.DOTALL,
)


_AROUND = 256
"""Characters behind a cut that are looked at."""


def mask_pan(text: str) -> str:
    """A card number with its first six and last four digits, the rest as ``*``, without the signs between.

    A masked number, and a text with fewer than 12 digits, stay as they are.
    """
    bare = "".join(_ascii(character) for character in _SEPARATOR.sub("", text))
    if sum("0" <= character <= "9" for character in bare) < 12 or _MASKED.fullmatch(bare):
        return text
    places = [match.start() for match in _SYMBOL.finditer(bare)]
    characters = list(bare)
    for place in places[KEPT_FIRST:-KEPT_LAST]:
        characters[place] = "*"
    return "".join(characters)


def _ascii(character: str) -> str:
    return str(digit(character)) if _IS_DIGIT(character) else character


def mask_cards(text: str) -> str:
    """``text`` with its card numbers masked: 13 to 19 digits with a valid check digit.

    The digits may be of any script, in groups of at least three with signs between them, and with unseen signs
    anywhere. A number that is spelled in codes (``%34``, ``&#52;``, ``\\u0034``) is decoded and masked.
    """
    if _SHORTEST in text.encode("utf-8", "ignore").translate(_TO_ZERO, _NO_WORD):
        text = _RUN.sub(_mask_run, text)
    if "%" in text or "&" in text or "\\" in text:
        plain = _CODED.sub(_decoded, text)
        if plain != text and (masked := _RUN.sub(_mask_run, plain)) != plain:
            return masked
    return text


def shortened(text: str, most: int) -> str:
    """``text`` with its card numbers masked; of a longer one the beginning, how much is left out, and the end."""
    if len(text) <= most:
        return mask_cards(text)
    # Masked before the cut, which could leave a visible part of a number.
    half = most // 2
    head, tail = mask_cards(text[: half + _AROUND])[:half], mask_cards(text[-half - _AROUND :])[-half:]
    return f"{head}… {len(text) - most} characters left out …{tail}"


def _decoded(code: re.Match[str]) -> str:
    """What a code stands for, as far as it can be shown."""
    decimal, hexadecimal, name, long, short = code.groups()
    found = hexadecimal or long or short
    if decimal or found:
        number = int(found, 16) if found else int(decimal)
        plain = chr(number) if number < 0x110000 else ""
    elif name:
        plain = _NAMED.get(name, code[0])
    else:
        plain = bytes.fromhex(code[0].replace("%", "")).decode("utf-8", "replace")
    return "".join(character for character in plain if character.isprintable())


def _mask_run(run: re.Match[str]) -> str:
    """Groups of digits with every possible card number among them masked."""
    if _PLACE(run[0]):
        return run[0]
    characters = list(run[0])
    places: list[int] = []
    bounds = [0]
    for place, character in enumerate(characters):
        if _IS_DIGIT(character):
            places.append(place)
        elif not _IS_UNSEEN(character) and bounds[-1] != len(places):
            bounds.append(len(places))
    bounds.append(len(places))
    digits = "".join(_ascii(characters[place]) for place in places)
    for index, start in enumerate(bounds):
        for end in bounds[index + 1 : index + 1 + _MOST_GROUPS]:
            if end - start in _CARD_LENGTHS and luhn(digits[start:end]):
                for place in places[start + KEPT_FIRST : end - KEPT_LAST]:
                    characters[place] = "*"
    return "".join(characters)


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
