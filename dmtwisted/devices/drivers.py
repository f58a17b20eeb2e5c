"""Which drivers there are: each is one module that says what it is by a `Driver` named ``DRIVER``.

A new driver is a new module in one of the folders below; nothing else has to know of it. Other packages bring theirs
as entry points (`dmtwisted.devices.strangers`, docs/drivers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import ModuleInfo, iter_modules
from typing import Any

import msgspec

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.strangers import announced
from dmtwisted.secrets import Secrets
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DeviceRow
from protocols.members import explain

REGISTER, PRINTER, TERMINAL, OTHER = "register", "printer", "terminal", "other"
KINDS = (REGISTER, PRINTER, TERMINAL, OTHER)
"""The kinds of devices (design 6)."""

FOLDERS = ("dmtwisted.registers.drivers", "dmtwisted.printing.drivers")
"""Folders in which every module is a driver."""

TERMINALS = "dmtwisted.terminals"
"""The folder in which every package is a driver, declared in its module ``settings``."""


class BadSettings(Exception):
    """Settings that a driver cannot take; ``path`` names the member."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path, self.text = path, text


@dataclass(frozen=True)
class Surroundings:
    """What every driver is given to work with."""

    reactor: Any
    clock: ServiceClock
    store: IStore
    state: Path | None
    """The folder for files of a device's own; `None` keeps them in memory."""
    secrets: Secrets = field(default_factory=lambda: Secrets(None))
    """What seals secrets in the store."""


@dataclass(frozen=True)
class Driver:
    """A way to drive one kind of device.

    ``settings`` is a msgspec struct; ``build`` makes the working device out of a row, its settings and the
    surroundings; ``simulator`` gives the far end behind a training device, for its scenario and ledger.
    """

    kind: str
    name: str
    title: str
    settings: type[msgspec.Struct]
    build: Callable[[DeviceRow, Any, Surroundings], Any]
    capabilities: tuple[str, ...] = ()
    simulator: Callable[[Any], Any] | None = None
    secrets: tuple[str, ...] = field(default=())
    """Settings that never leave the service, and are kept sealed; texts."""
    stand: str = ""
    """``module:NAME`` of the stand on which the conformance suite looks at it; only the suite imports it."""
    origin: str = ""
    """The package that brought it, with its version; empty for the drivers of the tree."""

    def read(self, members: Mapping[str, Any]) -> msgspec.Struct:
        """The settings that ``members`` spell.

        :raises BadSettings: when they do not fit, with the path of the member.
        """
        try:
            return msgspec.convert(dict(members), self.settings)
        except msgspec.ValidationError as error:
            path, text = explain(error)
            raise BadSettings(f"settings.{path}" if path else "settings", text) from None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the settings."""
        return msgspec.json.schema(self.settings)


def _inside(folder: str) -> list[ModuleInfo]:
    """The modules and packages of a package, in the order of their names."""
    return sorted(iter_modules(import_module(folder).__path__), key=lambda module: module.name)


def find_drivers() -> dict[tuple[str, str], Driver]:
    """Every driver by kind and name; those of other packages after those of the tree."""
    found: dict[tuple[str, str], Driver] = {}
    names = [f"{folder}.{module.name}" for folder in FOLDERS for module in _inside(folder)]
    names += [f"{TERMINALS}.{module.name}.settings" for module in _inside(TERMINALS) if module.ispkg]
    for name in names:
        driver: Driver = import_module(name).DRIVER
        found[driver.kind, driver.name] = driver
    for stranger in announced(found):
        found[stranger.kind, stranger.name] = stranger
    return found
