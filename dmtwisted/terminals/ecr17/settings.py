"""The driver for terminals that speak ECR17: what it can do and how it is set up."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dmtwisted.devices.drivers import BadSettings
from dmtwisted.terminals.interface import PING, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (Task.PAYMENT, Task.CANCEL, Task.READ_CARD, Task.FINISH, Task.TOTALS, Task.SETTLEMENT)
)
"""Terminals.md 1: there is no refund on this wire, only the reversal of a payment."""

SERVICES = frozenset({PING})
"""The status request."""

BAUDRATE = 115_200
"""Speed of a COM port; the maker calls serial lines outdated and names none."""


class Ecr17Settings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between models; the port is set on the terminal."""

    lrc: Annotated[
        Literal["auto", "std", "stx", "noext", "stx_noext"],
        Meta(description="Variant of the check byte; auto finds it out"),
    ] = "auto"
    terminal_id: Annotated[
        str, Meta(pattern=r"^\d{8}$", description="Number of the terminal, 8 digits; zeros are any")
    ] = "00000000"
    register: Annotated[str, Meta(pattern=r"^\d{8}$", description="Number of the till, 8 digits")] = "00000001"
    receipts: Annotated[
        bool, Meta(description="Whether the terminal sends its receipts to the till instead of printing them")
    ] = False
    receipt_wait_s: Annotated[
        float, Meta(ge=0.1, le=30, description="Seconds for which a receipt is waited for after its operation")
    ] = 2.0
    tells_last: Annotated[
        bool,
        Meta(
            description="Whether the terminal surely tells its last operation, so that none means none; "
            "left false, that is believed once it has told one"
        ),
    ] = False
    confirm_s: Annotated[
        float, Meta(ge=5, le=600, description="Seconds for which task 6 waits for task 7 before it is given up")
    ] = 70.0

    def __post_init__(self) -> None:
        """See that the members say where the terminal is.

        :raises BadSettings: with the path of the one that is missing.
        """
        super().__post_init__()
        if self.interface == "tcp" and not self.port:
            raise BadSettings("settings.port", "this protocol has no usual port; it is set on the terminal")


DRIVER = terminal_driver("ecr17", "ECR17", Ecr17Settings, CAPABILITIES, f"{__package__}.driver")
