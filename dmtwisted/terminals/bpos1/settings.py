"""What BPOS1 terminals can do, and their settings (docs/reference/bpos1.md#settings)."""

from __future__ import annotations

import re
from typing import ClassVar

from dmtwisted.devices.driver import BadSettings
from dmtwisted.terminals.interface import ECHO, PING, Task
from dmtwisted.terminals.settings import CardWait, TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (
        Task.PAYMENT,
        Task.REFUND,
        Task.CANCEL,
        Task.BANK_SERVICE,
        Task.READ_CARD,
        Task.FINISH,
        Task.DISCOUNT_CARD,
        Task.TOTALS,
        Task.SETTLEMENT,
    )
)
"""Instalments and cash are services of single banks."""

SERVICES = frozenset({PING, ECHO})

BAUDRATE = 115_200
"""The usual speed (docs/reference/bpos1.md#line); there is no usual port."""

COM_PORT = re.compile(r"COM([1-9]\d{0,2})", re.IGNORECASE)

MOST_MERCHANTS = 255


class Bpos1Settings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal; ``merchant`` is an index from 1."""

    has_usual_port: ClassVar[bool] = False
    confirm_s: CardWait = 70.0

    def __post_init__(self) -> None:
        """Check what the library takes.

        :raises BadSettings: with the path of the member that does not fit.
        """
        super().__post_init__()
        if self.interface == "serial" and not 1 <= self.com_port <= 255:
            raise BadSettings("settings.serial_port", "the name of a COM port is expected, numbers are from 1 to 255")
        if self.merchant and index_of(self.merchant) is None:
            raise BadSettings("settings.merchant", f"a number from 1 to {MOST_MERCHANTS} is expected")

    @property
    def com_port(self) -> int:
        """The number of the COM port; 0 when there is none."""
        found = COM_PORT.fullmatch(self.serial_port.strip())
        return int(found[1]) if found is not None else 0


def index_of(merchant: str) -> int | None:
    """The index of a merchant; `None` when it is none."""
    plain = merchant.isascii() and merchant.isdigit() and len(merchant) <= 3
    return int(merchant) if plain and 1 <= int(merchant) <= MOST_MERCHANTS else None


DRIVER = terminal_driver("bpos1", "BPOS1 (ECRCommX, Windows)", Bpos1Settings, CAPABILITIES, f"{__package__}.driver")
