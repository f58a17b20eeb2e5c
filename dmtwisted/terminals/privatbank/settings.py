"""What PrivatBank terminals can do, and their settings (docs/reference/privatbank-json.md#settings)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dmtwisted.terminals.interface import ECHO, MASKS, MERCHANTS, PING, TASKS, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = TASKS - {Task.TRANSFER, Task.STORED}

SERVICES = frozenset({PING, MERCHANTS, MASKS, ECHO})

PORT, BAUDRATE = 2000, 115_200
"""The usual port and speed (docs/reference/privatbank-json.md#line)."""


class PrivatbankSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between models."""

    opening: Annotated[
        Literal["thorough", "short"],
        Meta(description="thorough: three connections, as the vendor has it; short: one, enough for many models"),
    ] = "thorough"
    opening_pause_s: Annotated[
        float, Meta(ge=0, le=30, description="Seconds between two connections; 3 to 5 with Verifone")
    ] = 1.0
    tells_receipts: Annotated[
        bool,
        Meta(description="Whether it always reports the last receipt; else assumed once it has reported one"),
    ] = False
    instalments: Annotated[
        Literal["ServicePbP", "ServicePbPperiod", "ServiceInstantPbI", "ServicePbIAct", "ServicePbPAct"],
        Meta(description="The bank's service behind task 15"),
    ] = "ServicePbP"
    instalments_refund: Annotated[
        Literal[
            "ServiceRefPbP",
            "ServicePartlyRefPbP",
            "ServiceRefPbPperiod",
            "ServicePartlyRefPbPperiod",
            "ServiceRefPbI",
            "ServicePartlyRefPbI",
            "ServiceRefPbIAct",
            "ServicePartlyRefPbIAct",
            "ServiceRefPbPAct",
            "ServicePartlyRefPbPAct",
        ],
        Meta(description="The bank's service behind task 16"),
    ] = "ServiceRefPbP"


DRIVER = terminal_driver(
    "privatbank-json", "PrivatBank JSON", PrivatbankSettings, CAPABILITIES, f"{__package__}.driver"
)
