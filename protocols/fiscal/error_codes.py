"""The fiscal server's error codes, and the texts in which it tells them (fiscal-server 2, 8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """Why the fiscal server refused; `symbol` is its own name for it."""

    OK = 0
    TRANSACTIONS_REGISTRAR_ABSENT = 1
    """The register is not registered."""
    OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED = 2
    """The key has no right to the register."""
    INVALID_TIN = 3
    SHIFT_ALREADY_OPENED = 4
    SHIFT_NOT_OPENED = 5
    LAST_DOCUMENT_MUST_BE_Z_REP = 6
    CHECK_LOCAL_NUMBER_INVALID = 7
    Z_REP_ALREADY_REGISTERED = 8
    DOCUMENT_VALIDATION_ERROR = 9
    PACKAGE_VALIDATION_ERROR = 10
    INVALID_QUERY_PARAMETER = 11
    CRYPTOGRAPHY_ERROR = 12
    NO_CONTENT = 13
    """What was asked for is not there; without `resultAsJson` the HTTP status 204 says so."""

    @property
    def symbol(self) -> str:
        """``CheckLocalNumberInvalid``."""
        return "".join(word.capitalize() for word in self.name.split("_"))


_BY_SYMBOL = {code.symbol: code for code in Code}

LONGEST_TEXT = 4_000
"""Characters of an error text that are kept."""

_ERROR = re.compile(
    r"\s*Код\s+помилки\s*:\s*(?P<code>[0-9]{1,5})?\s*(?P<name>[A-Za-z]\w*)?\s*(?P<text>.*)", re.DOTALL
)


@dataclass(frozen=True)
class ErrorText:
    """What an error body says; ``code`` is `None` when it names none."""

    code: int | None
    text: str


def words(body: bytes) -> str:
    """``body`` as text: UTF-8 when it is that, else windows-1251; both are met."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = body.decode("windows-1251", "replace")
    return text.strip()[:LONGEST_TEXT]


def read_error(body: bytes) -> ErrorText:
    """The code and the text of an error body; any bytes at all are read."""
    text = words(body)
    found = _ERROR.match(text)
    if found is None or not (found["code"] or found["name"] in _BY_SYMBOL):
        return ErrorText(None, text)
    code = int(found["code"]) if found["code"] else int(_BY_SYMBOL[found["name"]])
    return ErrorText(code, found["text"].strip())


def write_error(code: Code, text: str) -> bytes:
    """The error body that says ``code`` and ``text``, in UTF-8."""
    return f"Код помилки: {code.value} {code.symbol}\r\n{text}".encode()


def code_of(value: object) -> int | None:
    """A code as JSON may tell it: a number, a number in a text, or a symbolic name; `None` for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        given = value.strip()
        if given.isascii() and given.isdigit() and len(given) < 6:
            return int(given)
        return _BY_SYMBOL.get(given)
    return None
