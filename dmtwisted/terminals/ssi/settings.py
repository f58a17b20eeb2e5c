"""What SSI terminals can do, and their settings (docs/reference/ssi-json.md#settings)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dmtwisted.terminals.interface import ECHO, MERCHANTS, Task
from dmtwisted.terminals.settings import CardWait, TerminalSettings, terminal_driver

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
"""This protocol has no instalments, services and discount cards."""

SERVICES = frozenset({MERCHANTS, ECHO})

PORT, BAUDRATE = 3000, 9600
"""The usual port and speed (docs/reference/ssi-json.md#frame); each bank application has its own port."""


class SsiSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between firmwares."""

    two_steps: Annotated[
        bool, Meta(description="Whether a payment goes in two steps: the card first, then the sum")
    ] = True
    confirm_s: CardWait = 70.0


DRIVER = terminal_driver("ssi-json", "SSI JSON", SsiSettings, CAPABILITIES, f"{__package__}.driver")
