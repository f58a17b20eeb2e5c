"""MG registers by Help Micro, over the network (docs/registers.md#hardware-registers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.settings import WiredSettings


class MgSettings(WiredSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any hardware register, with its user."""

    network_only: ClassVar[bool] = True
    usual_port: ClassVar[int] = 80
    tax_groups_there: ClassVar[int] = 8
    usual_forms: ClassVar[Mapping[int, int]] = {CASH: 1, CARD: 4}

    user: Annotated[
        str, Meta(max_length=40, description="User of the register: `service`, or the number of a cashier")
    ] = "service"
    password: Annotated[str, Meta(max_length=40, description="Their password; empty is the factory's")] = ""


DRIVER = wired_driver(
    "mg", "MG-N707TS, MG-P777TL, MG-T808TL", MgSettings, "dmtwisted.registers.wired.mg", secrets=("password",)
)
