"""What ZVT terminals can do, and their settings (docs/reference/zvt.md#settings)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dmtwisted.terminals.interface import ECHO, PING, Task
from dmtwisted.terminals.settings import CardWait, TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (Task.PAYMENT, Task.REFUND, Task.CANCEL, Task.READ_CARD, Task.FINISH, Task.TOTALS, Task.SETTLEMENT)
)
"""Cash with a payment is an option of banks, and a shop's own cards need its card types."""

SERVICES = frozenset({PING, ECHO})
"""Status enquiry and diagnosis."""

PORT, BAUDRATE = 20007, 9600
"""The usual port and speed (docs/reference/zvt.md#lines)."""


class ZvtSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal, with what differs between models and banks."""

    password: Annotated[
        str, Meta(pattern=r"^\d{6}$", description="Password of the till, 6 digits; some set-ups have 123456")
    ] = "000000"
    currency: Annotated[int, Meta(ge=1, le=999, description="ISO number of the currency: 980 hryvnia, 978 euro")] = (
        980
    )
    charset: Annotated[
        Literal["cp437", "cp1125", "cp866", "cp1251", "iso-8859-1", "iso-8859-15", "utf-8"],
        Meta(description="Character set of the terminal's texts; CardComplete has iso-8859-1"),
    ] = "cp437"
    slips: Annotated[
        bool, Meta(description="Whether the terminal sends its slips to the till instead of printing them")
    ] = True
    locks_menu: Annotated[
        bool, Meta(description="Whether payments can be started only at the till, not on the terminal's keys")
    ] = True
    abort_payments: Annotated[
        bool,
        Meta(description="Whether the terminal obeys an abort during a payment, which is optional"),
    ] = False
    tells_last: Annotated[
        bool,
        Meta(description="Whether it always reports the last receipt; else assumed once it has reported one"),
    ] = False
    in_step: Annotated[
        bool,
        Meta(description="Whether a payment names the last receipt that the till knows, so that both stay in step"),
    ] = True
    confirm_s: CardWait = 70.0


DRIVER = terminal_driver("zvt", "ZVT", ZvtSettings, CAPABILITIES, f"{__package__}.driver", secrets=("password",))
