"""The driver for terminals that speak Caisse-AP over IP: what it can do and how it is set up."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dmtwisted.devices.drivers import BadSettings
from dmtwisted.terminals.interface import Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset({Task.PAYMENT, Task.REFUND, Task.CANCEL})
"""Terminals.md 1: there are no reports on this wire."""

SERVICES: frozenset[str] = frozenset()
"""None: a connection says that somebody listens, and no more."""

PORT = 8888
"""Where these terminals listen (terminals.md 9)."""


class CaisseApSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal in a network, with the numbers that till and terminal call each other by."""

    protocol_id: Annotated[
        str, Meta(pattern=r"^\d{12}$", description="The identifier of 12 digits that the maker of the till was given")
    ] = "000000000000"
    register: Annotated[str, Meta(pattern=r"^\d{2}$", description="Number of the till, 2 digits")] = "01"
    currency: Annotated[
        str, Meta(pattern=r"^\d{3}$", description="ISO number of the currency: 980 hryvnia, 978 euro")
    ] = "980"
    version: Annotated[
        str, Meta(pattern=r"^\d{4}$", description="Version of the protocol; 0301 and 0320 exist too")
    ] = "0300"

    def __post_init__(self) -> None:
        """See that it is a terminal in a network.

        :raises BadSettings: with the path of the member that does not fit.
        """
        super().__post_init__()
        if self.interface != "tcp":
            raise BadSettings("settings.interface", "this protocol goes over a network only")


DRIVER = terminal_driver(
    "caisse-ap", "Caisse-AP over IP (Concert V3)", CaisseApSettings, CAPABILITIES, f"{__package__}.driver"
)
