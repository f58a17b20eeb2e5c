"""Datecs registers of the classic dialect, over a network or a COM port (docs/registers.md#hardware-registers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.settings import WiredSettings


class ClassicSettings(WiredSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any hardware register, with the operator who works at it."""

    usual_baudrate: ClassVar[int] = 9600
    tax_groups_there: ClassVar[int] = 5
    usual_forms: ClassVar[Mapping[int, int]] = {CASH: 0, CARD: 2}

    operator: Annotated[int, Meta(ge=1, le=99, description="Number of the operator in the register")] = 1
    password: Annotated[
        str, Meta(pattern="^([0-9]{4,8})?$", description="The operator's password; empty is the factory's")
    ] = ""
    till: Annotated[int, Meta(ge=1, le=99999, description="Number of the till on receipts")] = 1


DRIVER = wired_driver(
    "datecs_classic",
    "FP-3530T (old), Exellio FP-280, FPU-550, LP-1000",
    ClassicSettings,
    "dmtwisted.registers.wired.datecs.classic",
    secrets=("password",),
)
