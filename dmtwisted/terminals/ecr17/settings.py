"""What ECR17 terminals can do, and their settings (docs/reference/ecr17.md#settings)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from dmtwisted.terminals.interface import PING, Task
from dmtwisted.terminals.settings import CardWait, TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (Task.PAYMENT, Task.CANCEL, Task.READ_CARD, Task.FINISH, Task.TOTALS, Task.SETTLEMENT)
)
"""This wire has no refund, only the reversal of a payment."""

SERVICES = frozenset({PING})
"""The status request."""

BAUDRATE = 115_200
"""Speed of a COM port; the maker calls serial lines outdated and names none."""


class Ecr17Settings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between models; the port is set on the terminal."""

    has_usual_port: ClassVar[bool] = False
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
        float, Meta(ge=0.1, le=30, description="Seconds to wait for a receipt after its operation")
    ] = 2.0
    tells_last: Annotated[
        bool,
        Meta(description="Whether it always reports the last operation; else assumed once it has reported one"),
    ] = False
    confirm_s: CardWait = 70.0


DRIVER = terminal_driver("ecr17", "ECR17", Ecr17Settings, CAPABILITIES, f"{__package__}.driver")
