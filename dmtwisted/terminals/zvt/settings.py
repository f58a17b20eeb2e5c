"""The driver for terminals that speak ZVT: what it can do and how it is set up."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dmtwisted.terminals.interface import ECHO, PING, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset(
    (Task.PAYMENT, Task.REFUND, Task.CANCEL, Task.READ_CARD, Task.FINISH, Task.TOTALS, Task.SETTLEMENT)
)
"""Terminals.md 1; cash with a payment is a bank's option, and cards of a shop's own need its card types."""

SERVICES = frozenset({PING, ECHO})
"""Status enquiry and diagnosis."""

PORT, BAUDRATE = 20007, 9600
"""Where these terminals listen (terminals.md 7.1, 7.2)."""


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
        bool, Meta(description="Whether payments can be begun at the till alone, not on the terminal's keys")
    ] = True
    abort_payments: Annotated[
        bool, Meta(description="Whether the terminal obeys an abort during a payment; by the paper it need not")
    ] = False
    tells_last: Annotated[
        bool,
        Meta(
            description="Whether the terminal surely tells its last receipt, so that none means an empty memory; "
            "left false, that is believed once it has told one"
        ),
    ] = False
    in_step: Annotated[
        bool,
        Meta(description="Whether a payment names the last receipt that the till knows, so that both stay in step"),
    ] = True
    confirm_s: Annotated[
        float, Meta(ge=5, le=600, description="Seconds for which task 6 waits for task 7 before it is given up")
    ] = 70.0


DRIVER = terminal_driver("zvt", "ZVT", ZvtSettings, CAPABILITIES, f"{__package__}.driver", secrets=("password",))
