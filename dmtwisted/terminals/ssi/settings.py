"""The driver for terminals that speak SSI JSON: what it can do and how it is set up."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dmtwisted.terminals.interface import ECHO, MERCHANTS, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (
        Task.PAYMENT,
        Task.REFUND,
        Task.CANCEL,
        Task.CASH_ISSUE,
        Task.READ_CARD,
        Task.FINISH,
        Task.TOTALS,
        Task.SETTLEMENT,
    )
)
"""Terminals.md 1; instalments, services and discount cards are not in this protocol."""

SERVICES = frozenset({MERCHANTS, ECHO})
"""Http-api 3.4."""

PORT, BAUDRATE = 3000, 9600
"""Where these terminals listen (terminals.md 5.1); several bank applications on one device have a port each."""


class SsiSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between firmwares."""

    two_steps: Annotated[
        bool, Meta(description="Whether a payment goes in two steps: the card first, then the sum")
    ] = True
    confirm_s: Annotated[
        float, Meta(ge=5, le=600, description="Seconds for which task 6 waits for task 7 before it is stopped")
    ] = 70.0


DRIVER = terminal_driver("ssi-json", "SSI JSON", SsiSettings, CAPABILITIES, f"{__package__}.driver")
