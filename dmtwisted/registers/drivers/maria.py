"""Maria registers by Resonance, over a COM port or a converter (docs/registers.md#hardware-registers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.settings import WiredSettings


class MariaSettings(WiredSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any hardware register, with the cashier's password."""

    usual_baudrate: ClassVar[int] = 115200
    tax_groups_there: ClassVar[int] = 8
    usual_forms: ClassVar[Mapping[int, int]] = {CASH: 0, CARD: 1}

    password: Annotated[
        str, Meta(pattern="^[0-9]{0,10}$", description="Password of the cashier, 10 digits; empty is the factory's")
    ] = ""


DRIVER = wired_driver(
    "maria", "Марія-301МТМ, Марія-304Т", MariaSettings, "dmtwisted.registers.wired.maria", secrets=("password",)
)
