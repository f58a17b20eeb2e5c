"""Printers with Star's line mode, on any interface."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.devices.driver import PRINTER, Driver
from dmtwisted.printing.settings import PrinterSettings, build
from protocols.printers.profiles import Language


class StarSettings(PrinterSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any printer, of the family with Star's language."""

    profile: Annotated[str, Meta(description="Family of printers that it belongs to")] = "star"

    language: ClassVar[Language] = "star"


DRIVER = Driver(
    kind=PRINTER,
    name="star",
    title="Star line mode",
    settings=StarSettings,
    build=build,
    capabilities=("print", "drawer", "test"),
)
