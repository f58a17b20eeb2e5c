"""Which drivers there are: each is one module that declares itself by a `Driver` named ``DRIVER``.

A new driver is a new module in one of the folders below; nothing else has to be changed. Other packages announce
theirs as entry points (`dmtwisted.devices.third_party`, docs/drivers.md).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import ModuleInfo, iter_modules

from dmtwisted.devices.driver import Driver
from dmtwisted.devices.third_party import third_party_drivers

FOLDERS = ("dmtwisted.registers.drivers", "dmtwisted.printing.drivers")
"""Folders in which every module is a driver."""

TERMINALS = "dmtwisted.terminals"
"""The folder in which every package is a driver, declared in its module ``settings``."""


def _inside(folder: str) -> list[ModuleInfo]:
    """The modules and packages of a package, in the order of their names."""
    return sorted(iter_modules(import_module(folder).__path__), key=lambda module: module.name)


def find_drivers() -> dict[tuple[str, str], Driver]:
    """Every driver by kind and name, third-party drivers last."""
    found: dict[tuple[str, str], Driver] = {}
    driver: Driver
    names = [f"{folder}.{module.name}" for folder in FOLDERS for module in _inside(folder)]
    names += [f"{TERMINALS}.{module.name}.settings" for module in _inside(TERMINALS) if module.ispkg]
    for name in names:
        driver = import_module(name).DRIVER
        found[driver.kind, driver.name] = driver
    for driver in third_party_drivers(found):
        found[driver.kind, driver.name] = driver
    return found
