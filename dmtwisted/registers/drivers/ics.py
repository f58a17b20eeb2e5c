"""ICS registers, over a COM port or a converter (docs/registers.md#hardware-registers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.settings import WiredSettings


class IcsSettings(WiredSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any hardware register, with who works at it and two passwords."""

    tax_groups_there: ClassVar[int] = 6
    usual_forms: ClassVar[Mapping[int, int]] = {CASH: 3, CARD: 0}

    operator: Annotated[int, Meta(ge=0, le=7, description="Number of the cashier in the register")] = 1
    password: Annotated[
        str, Meta(pattern="^[0-9]{0,4}$", description="Password of that cashier; empty is the factory's")
    ] = ""
    report_password: Annotated[
        str, Meta(pattern="^[0-9]{0,4}$", description="Password of X and Z reports; empty is the factory's")
    ] = ""


DRIVER = wired_driver(
    "ics",
    "IKC-A8800, E260T, E810T, E07",
    IcsSettings,
    "dmtwisted.registers.wired.ics",
    secrets=("password", "report_password"),
)
