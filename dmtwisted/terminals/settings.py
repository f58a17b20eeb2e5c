"""The settings that every real terminal has, and the declaration of its driver."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from dmtwisted.devices.driver import TERMINAL, BadSettings, Driver, Surroundings
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.interface import names_of

DEFAULT_WAIT = 300.0
"""Seconds that a terminal has for an operation (specification 4.7, 8)."""


CardWait = Annotated[
    float, Meta(ge=5, le=600, description="Seconds for which task 6 waits for task 7 before the payment is given up")
]
"""How long a card waits for the cashier."""

ReturnLostAnswer = Annotated[
    bool,
    Meta(
        description="Whether the same request with transaction_search 0 gets, for ten minutes, an approval that no"
        " caller has received; off: it is always a new operation"
    ),
]
"""Whether a lost answer is returned to a till that does not ask for it."""

TillNumber = Annotated[str, Meta(pattern=r"^\d{2}$", description="Number of the till, 2 digits")]
CurrencyNumber = Annotated[
    str, Meta(pattern=r"^\d{3}$", description="ISO number of the currency: 980 hryvnia, 978 euro")
]


class TerminalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a terminal is, and how long an operation may take."""

    network_only: ClassVar[bool] = False
    has_usual_port: ClassVar[bool] = True

    interface: Annotated[Literal["tcp", "serial"], Meta(description="The line: network or COM port")] = "tcp"
    host: Annotated[str, Meta(description="Address of the terminal")] = ""
    port: Annotated[int, Meta(ge=0, le=65535, description="TCP port; 0 is the protocol's usual one")] = 0
    serial_port: Annotated[str, Meta(description="COM3, /dev/ttyACM0")] = ""
    baudrate: Annotated[int, Meta(ge=0, description="Speed of the COM port; 0 is the protocol's usual one")] = 0
    wait_s: Annotated[
        float, Meta(ge=5, le=3600, description="Seconds that an operation may take, the customer included")
    ] = DEFAULT_WAIT
    merchant: Annotated[
        str, Meta(description="Merchant inside the terminal for requests that name none; empty is the usual one")
    ] = ""
    return_lost_answer: ReturnLostAnswer = False

    def __post_init__(self) -> None:
        """Check that the members say where the terminal is.

        :raises BadSettings: with the path of the member that is missing or wrong.
        """
        needed = "host" if self.interface == "tcp" else "serial_port"
        if not getattr(self, needed):
            raise BadSettings(f"settings.{needed}", f"interface {self.interface} needs it")
        if self.network_only and self.interface != "tcp":
            raise BadSettings("settings.interface", "this protocol goes over a network only")
        if self.interface == "tcp" and not (self.port or self.has_usual_port):
            raise BadSettings("settings.port", "this protocol has no usual port")

    @property
    def place(self) -> str:
        """Where the terminal is, for messages."""
        return f"{self.host}:{self.port}" if self.interface == "tcp" else self.serial_port


def terminal_driver(
    name: str, title: str, settings: type[msgspec.Struct], capabilities: Iterable[int], module: str, **others: Any
) -> Driver:
    """The declaration of a terminal's driver.

    This is the one import that waits. A service finds all drivers when it starts, but wires, serial ports, HTTP
    clients and ciphers need memory that only a shop with such a terminal has to spend.

    :param module: has the function ``build``, and is imported when the first device is built.
    :param others: further members of `Driver`.
    """

    def build(row: DeviceRow, chosen: Any, around: Surroundings) -> Any:
        return import_module(module).build(row, chosen, around)

    return Driver(TERMINAL, name, title, settings, build, names_of(capabilities), **others)
