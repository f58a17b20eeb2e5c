"""Datecs registers of the Ukrainian dialect, over a network or a COM port (docs/registers.md#hardware-registers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.settings import WiredSettings


class DatecsSettings(WiredSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any hardware register, with its password and who works at it."""

    usual_baudrate: ClassVar[int] = 115200
    tax_groups_there: ClassVar[int] = 8
    usual_forms: ClassVar[Mapping[int, int]] = {CASH: 0, CARD: 1}

    password: Annotated[
        str, Meta(pattern="^([0-9]{6})?$", description="Password of commands, 6 digits; empty is the factory's")
    ] = ""
    operator: Annotated[int, Meta(ge=0, le=99, description="Number of the operator in the register")] = 1
    till: Annotated[int, Meta(ge=0, le=99, description="Number of the till on receipts")] = 1


DRIVER = wired_driver(
    "datecs",
    "FP-T260, FP-3141T, FP-320, FP-101, CMP-10, FP-T88",
    DatecsSettings,
    "dmtwisted.registers.wired.datecs.ukrainian",
    secrets=("password",),
    copies=False,
)
