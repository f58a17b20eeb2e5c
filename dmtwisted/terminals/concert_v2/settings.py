"""The driver for terminals that speak Concert V2: what it can do and how it is set up."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dmtwisted.devices.drivers import BadSettings
from dmtwisted.terminals.interface import PING, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset({Task.PAYMENT, Task.REFUND, Task.CANCEL})
"""Terminals.md 1: there are no reports on this wire."""

SERVICES = frozenset({PING})
"""A call that the terminal answers."""

BAUDRATE = 9600
"""Speed of the line (terminals.md 10)."""


class ConcertSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal on a serial line; in a network it needs a port of its own, for there is no usual one."""

    interface: Annotated[
        Literal["tcp", "serial"], Meta(description="The line: COM port, or a network that leads to one")
    ] = "serial"
    register: Annotated[str, Meta(pattern=r"^\d{2}$", description="Number of the till, 2 digits")] = "01"
    currency: Annotated[
        str, Meta(pattern=r"^\d{3}$", description="ISO number of the currency: 980 hryvnia, 978 euro")
    ] = "980"
    least: Annotated[
        int, Meta(ge=1, description="Smallest sum in hundredths that the terminal takes; some take 100 at least")
    ] = 1
    full: Annotated[bool, Meta(description="Whether the answer shall tell the masked card number")] = True
    force: Annotated[bool, Meta(description="Whether the terminal shall ask the bank each time")] = False

    def __post_init__(self) -> None:
        """See that the members say where the terminal is.

        :raises BadSettings: with the path of the one that is missing.
        """
        super().__post_init__()
        if self.interface == "tcp" and not self.port:
            raise BadSettings("settings.port", "a network line of this protocol has no usual port")


DRIVER = terminal_driver(
    "concert-v2", "Concert V2 (Telium, E/E+)", ConcertSettings, CAPABILITIES, f"{__package__}.driver"
)
