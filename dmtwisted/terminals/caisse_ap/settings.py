"""What Caisse-AP terminals can do, and their settings (docs/reference/caisse-ap.md#settings)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.terminals.interface import Task
from dmtwisted.terminals.settings import CurrencyNumber, TerminalSettings, TillNumber, terminal_driver

CAPABILITIES: frozenset[int] = frozenset({Task.PAYMENT, Task.REFUND, Task.CANCEL})
"""This wire has no reports."""

SERVICES: frozenset[str] = frozenset()
"""None: a connection only shows that a program listens."""

PORT = 8888
"""The usual port (docs/reference/caisse-ap.md#messages)."""


class CaisseApSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal in a network, with the numbers of till and protocol."""

    network_only: ClassVar[bool] = True
    protocol_id: Annotated[
        str, Meta(pattern=r"^\d{12}$", description="The identifier of 12 digits that the maker of the till was given")
    ] = "000000000000"
    register: TillNumber = "01"
    currency: CurrencyNumber = "980"
    version: Annotated[
        str, Meta(pattern=r"^\d{4}$", description="Version of the protocol; 0301 and 0320 exist too")
    ] = "0300"


DRIVER = terminal_driver(
    "caisse-ap", "Caisse-AP over IP (Concert V3)", CaisseApSettings, CAPABILITIES, f"{__package__}.driver"
)
