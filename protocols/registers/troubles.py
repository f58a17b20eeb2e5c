"""What goes wrong in a register, in words that all protocols share; their codes are tables beside their commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from protocols.errors import NotReached, WireError


@unique
class Trouble(Enum):
    """A kind of fault, whatever the device calls it."""

    NO_PAPER = "no_paper"
    COVER_OPEN = "cover_open"
    PRINTER = "printer_fault"
    CLOCK = "clock"
    MEMORY_FULL = "fiscal_memory_full"
    MEMORY_FAULT = "fiscal_memory_fault"
    SHIFT_OVER = "shift_over_24h"
    NOT_FISCALISED = "not_fiscalised"
    WRONG_MODE = "wrong_mode"
    BAD_SYNTAX = "bad_syntax"
    BAD_PASSWORD = "bad_password"
    TAX_FORBIDDEN = "tax_forbidden"
    ARTICLE = "article_conflict"
    OVERFLOW = "sum_overflow"
    CASH_SHORT = "cash_insufficient"
    UNSENT = "modem_unsent_72h"
    BUSY = "busy"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Meaning:
    """What one error of a device means, for programs and for people."""

    trouble: Trouble
    english: str
    ukrainian: str


class DeviceRefused(WireError):
    """The register answers that it did not execute the command.

    :param code: of the error, as the device's manual writes it.
    """

    def __init__(self, code: str, meaning: Meaning) -> None:
        super().__init__(f"the register refuses: {code} {meaning.english}")
        self.code, self.meaning = code, meaning


class NotTaken(NotReached):
    """The register was reached, but it could not read any copy of the command: nothing happened."""

    def __init__(self) -> None:
        super().__init__("the register refused every copy of the command")


class LeftOpen(WireError):
    """The register refused, and the document that was open then could not be taken back."""

    def __init__(self, refusal: DeviceRefused) -> None:
        super().__init__(f"a document is left open: {refusal}")
        self.refusal = refusal
