"""What Concert V2 terminals can do, and their settings (docs/reference/concert-v2.md#settings)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from dmtwisted.terminals.interface import PING, Task
from dmtwisted.terminals.settings import CurrencyNumber, TerminalSettings, TillNumber, terminal_driver

CAPABILITIES: frozenset[int] = frozenset({Task.PAYMENT, Task.REFUND, Task.CANCEL})
"""This wire has no reports."""

SERVICES = frozenset({PING})
"""A call that the terminal answers."""

BAUDRATE = 9600
"""Speed of the line (docs/reference/concert-v2.md#frames)."""


class ConcertSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal on a serial line; in a network it needs a port."""

    has_usual_port: ClassVar[bool] = False
    interface: Annotated[
        Literal["tcp", "serial"], Meta(description="The line: COM port, or a network that leads to one")
    ] = "serial"
    register: TillNumber = "01"
    currency: CurrencyNumber = "980"
    least: Annotated[
        int, Meta(ge=1, description="Smallest sum in hundredths that the terminal takes; some take 100 at least")
    ] = 1
    full: Annotated[bool, Meta(description="Whether the answer includes the masked card number")] = True
    force: Annotated[bool, Meta(description="Whether the terminal asks the bank each time")] = False


DRIVER = terminal_driver(
    "concert-v2", "Concert V2 (Telium, E/E+)", ConcertSettings, CAPABILITIES, f"{__package__}.driver"
)
