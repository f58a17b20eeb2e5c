"""How a driver of hardware registers is declared."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from dmtwisted.devices.driver import REGISTER, Driver, Surroundings
from dmtwisted.registers.settings import RECEIVERS, SECRETS, is_loopback
from dmtwisted.store.values import DeviceRow

if TYPE_CHECKING:
    from dmtwisted.registers.wired.interface import IMachine
    from dmtwisted.registers.wired.register import WiredRegister

MakeMachine = Callable[[Any, Surroundings], "IMachine"]
"""Makes the machine that settings describe; opens nothing yet."""

CAPABILITIES = ("open", "sale", "return", "cash_in", "cash_out", "x", "z", "status")
COPY = "copy"


def wired_driver(
    name: str,
    title: str,
    settings: type[msgspec.Struct],
    machine: str | MakeMachine,
    secrets: tuple[str, ...] = (),
    copies: bool = True,
    **others: Any,
) -> Driver:
    """The declaration of a hardware register's driver.

    :param title: names the models.
    :param machine: the module whose function ``machine`` makes one, imported when the first device is built: a shop
        without such a register does not load it. Tests give the function.
    :param secrets: the passwords among the settings.
    :param copies: whether the machine prints its last receipt again.
    :param others: further members of `Driver`.
    """

    def build(row: DeviceRow, chosen: Any, around: Surroundings) -> WiredRegister:
        make: MakeMachine = import_module(machine).machine if isinstance(machine, str) else machine
        kind: type[WiredRegister] = import_module("dmtwisted.registers.wired.register").WiredRegister
        return kind(row, chosen, around, make(chosen, around))

    return Driver(
        kind=REGISTER,
        name=name,
        title=title,
        settings=settings,
        build=build,
        capabilities=(*CAPABILITIES, COPY) if copies else CAPABILITIES,
        secrets=(*secrets, *SECRETS),
        receivers={**{one: ("interface", "host", "port", "serial_port") for one in secrets}, **RECEIVERS},
        stays=lambda chosen: chosen.interface == "tcp" and is_loopback(chosen.host),
        **others,
    )
