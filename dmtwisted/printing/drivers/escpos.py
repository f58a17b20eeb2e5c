"""Printers with ESC/POS, on any interface."""

from __future__ import annotations

from dmtwisted.devices.driver import PRINTER, Driver
from dmtwisted.printing.settings import PrinterSettings, build

DRIVER = Driver(
    kind=PRINTER,
    name="escpos",
    title="ESC/POS",
    settings=PrinterSettings,
    build=build,
    capabilities=("print", "drawer", "test"),
)
