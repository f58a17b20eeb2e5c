"""The fiscal server's error codes and error texts (docs/reference/tax-service.md#error-codes)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """Why the fiscal server refused."""

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
    """Nothing found; HTTP status 204 without `resultAsJson`."""

    @property
    def symbol(self) -> str:
        """The server's own name: ``CheckLocalNumberInvalid``."""
        return "".join(word.capitalize() for word in self.name.split("_"))


_BY_SYMBOL = {code.symbol: code for code in Code}

LONGEST_TEXT = 4_000
"""Characters of an error text that are kept."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ERROR = re.compile(
    r"\s*Код\s+помилки\s*:\s*(?P<code>[0-9]{1,5})?\s*(?P<name>[A-Za-z]\w*)?\s*(?P<text>.*)", re.DOTALL
)


@dataclass(frozen=True)
class ErrorText:
    """Content of an error body; ``code`` is `None` without one."""

    code: int | None
    text: str


def words(body: bytes) -> str:
    """``body`` as text in UTF-8 or windows-1251, which both occur, without control characters."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = body.decode("windows-1251", "replace")
    return _CONTROLS.sub(" ", text[: 2 * LONGEST_TEXT]).strip()[:LONGEST_TEXT]


def read_error(body: bytes) -> ErrorText:
    """Code and text of an error body, for any bytes."""
    text = words(body)
    found = _ERROR.match(text)
    if found is None or not (found["code"] or found["name"] in _BY_SYMBOL):
        return ErrorText(None, text)
    code = int(found["code"]) if found["code"] else int(_BY_SYMBOL[found["name"]])
    return ErrorText(code, found["text"].strip())


def write_error(code: Code, text: str) -> bytes:
    """An error body in UTF-8."""
    return f"Код помилки: {code.value} {code.symbol}\r\n{text}".encode()


def code_of(value: object) -> int | None:
    """A code in JSON: a number, a number in a text, or a symbolic name; `None` for anything else."""
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
