"""The settings that every hardware register has; a driver adds its own to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from dmtwisted.devices.driver import BadSettings
from dmtwisted.registers.settings import RegisterSettings


class WiredSettings(RegisterSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any register, with the line to the machine and what the machine calls taxes and payments."""

    network_only: ClassVar[bool] = False
    usual_port: ClassVar[int] = 0
    """The TCP port when none is set; 0: the protocol has none."""
    usual_baudrate: ClassVar[int] = 9600
    tax_groups_there: ClassVar[int] = 5
    """How many tax groups the machine has."""
    usual_forms: ClassVar[Mapping[int, int]] = {}
    """The machine's form of payment by payment type; the one of cash must be there."""

    interface: Annotated[Literal["tcp", "serial"], Meta(description="The line: network or COM port")] = "tcp"
    host: Annotated[str, Meta(description="Address of the register")] = ""
    port: Annotated[int, Meta(ge=0, le=65535, description="TCP port; 0 is the protocol's usual one")] = 0
    serial_port: Annotated[str, Meta(description="COM3, /dev/ttyUSB0")] = ""
    baudrate: Annotated[int, Meta(ge=0, description="Speed of the COM port; 0 is the protocol's usual one")] = 0
    fiscal_number: Annotated[
        str,
        Meta(
            pattern="^[0-9]{0,18}$",
            description="Fiscal number of the register: another machine at this address is refused",
        ),
    ] = ""
    tax_map: Annotated[
        tuple[Annotated[str, Meta(pattern="^[0-9]{1,3}=[0-9]{1,2}$")], ...],
        Meta(
            description="Tax groups as the register has them, GROUP=ITS NUMBER from 1, such as 2=3; "
            "empty: in the order of `tax_groups`"
        ),
    ] = ()
    form_map: Annotated[
        tuple[Annotated[str, Meta(pattern="^[0-9]{1,3}=[0-9]{1,2}$")], ...],
        Meta(
            description="Payment types as the register has them, TYPE=ITS FORM, such as 2=4; "
            "empty: cash and card as the factory sets them"
        ),
    ] = ()
    storno_allowed: Annotated[
        bool, Meta(description="Whether the last document may be taken back: a hardware register cannot")
    ] = False

    def __post_init__(self) -> None:
        """Check that the members say where the register is, and that both maps can be read.

        :raises BadSettings: with the path of the member that is missing or wrong.
        """
        RegisterSettings.__post_init__(self)
        needed = "host" if self.interface == "tcp" else "serial_port"
        if not getattr(self, needed):
            raise BadSettings(f"settings.{needed}", f"interface {self.interface} needs it")
        if self.network_only and self.interface != "tcp":
            raise BadSettings("settings.interface", "this protocol goes over a network only")
        if self.interface == "tcp" and not (self.port or self.usual_port):
            raise BadSettings("settings.port", "this protocol has no usual port")
        for name, why in _NEVER.items():
            if getattr(self, name):
                raise BadSettings(f"settings.{name}", why)
        for name in ("tax_map", "form_map"):
            given = [row.partition("=")[0] for row in getattr(self, name)]
            if len(set(given)) < len(given):
                raise BadSettings(f"settings.{name}", "a number is listed twice")
        if any(not 1 <= there <= self.tax_groups_there for there in _pairs(self.tax_map).values()):
            raise BadSettings("settings.tax_map", f"the register's numbers are 1 to {self.tax_groups_there}")

    @property
    def taxes_there(self) -> dict[int, int]:
        """The machine's tax group, from 0, by the code of ours; of those that it has."""
        if self.tax_map:
            return {code: there - 1 for code, there in _pairs(self.tax_map).items()}
        codes = [group.code for group in self.tax_groups if group.enabled]
        return {code: there for there, code in enumerate(codes[: self.tax_groups_there])}

    @property
    def forms_there(self) -> dict[int, int]:
        """The machine's form of payment by payment type; of those that it has."""
        return _pairs(self.form_map) if self.form_map else dict(self.usual_forms)


_NEVER = {
    "storno_allowed": "a hardware register takes nothing back",
    "rounding_step": "a hardware register does not round cash",
    "offline_allowed": "a hardware register has no offline mode",
}
"""Settings of software registers that a machine cannot have."""


def _pairs(rows: tuple[str, ...]) -> dict[int, int]:
    split = (row.split("=") for row in rows)
    return {int(ours): int(theirs) for ours, theirs in split}
