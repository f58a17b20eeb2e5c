"""The board of a register: the next step, what else can be done now, and why the rest cannot.

Everything is read from the journal and the register's state. So the page, the preview of a Z too, has no effect and
never keeps a till waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.documents.documents import ShiftTotals
from dmtwisted.registers import totals
from dmtwisted.registers.drafting import LEAST_KEY_DAYS
from dmtwisted.registers.interface import (
    LAST_COPY,
    LAST_NUMBERS,
    OPEN_SHIFT,
    STATUS,
    X_REPORT,
    Z_REPORT,
    TaxServiceRegister,
)
from dmtwisted.registers.offline_time import HOUR, LONGEST_MONTH_OFFLINE, MINUTE
from dmtwisted.registers.totals import RegisterState
from dmtwisted.store.interface import IStore
from dmtwisted.unfinished import FISCAL
from web.pages.overview import Standing
from web.rights import EXECUTE, RIGHTS

SELL = "GET /dm/main/registers/{dev_id}/sell"
"""The page on which a cashier sells."""

GO_ONLINE, GO_OFFLINE = (f"POST /dm/api/v3/devices/{{dev_id}}/{mode}" for mode in ("go-online", "go-offline"))
SET_UP = "PATCH /dm/api/v3/devices/{dev_id}"

SOON = HOUR
"""Milliseconds before the longest shift from which closing it is the next step."""


class Deed(NamedTuple):
    """Something to do: the key of its name, and its task, its mode or its page."""

    word: str
    task: int | None = None
    mode: str = ""
    page: str = ""
    sure: str = ""
    """The question before it is done."""
    why: str = ""
    """The key of why it cannot be done now; empty when it can."""


DEEDS: Mapping[str, Deed] = {
    "open": Deed("open_shift", OPEN_SHIFT),
    "sell": Deed("sell", page="/dm/main/registers/{}/sell"),
    "x": Deed("x_report", X_REPORT),
    "z": Deed("z_report", Z_REPORT, sure="sure-z"),
    "cash": Deed("cash_moves"),
    "find_out": Deed("find_out", STATUS),
    "key": Deed("board_key", page="/dm/devices/{}#key-title"),
    "set_up": Deed("set_up", page="/dm/devices/{}"),
    "go_online": Deed("go_online", mode="go-online"),
    "go_offline": Deed("go_offline", mode="go-offline", sure="sure-offline"),
    "last_copy": Deed("last_copy", LAST_COPY),
    "last_numbers": Deed("last_numbers", LAST_NUMBERS),
}
"""Everything that a board offers, in the order in which it does."""

USUAL, RARE = ("open", "sell", "x", "z"), ("last_copy", "last_numbers", "go_offline", "go_online")


class Doubt(NamedTuple):
    """The document whose outcome is unknown."""

    number: int
    kind: str
    at: int
    sum: int


class Board(NamedTuple):
    """What the page shows.

    ``why`` is the key of the sentence about the next step. ``folded`` are rare deeds, and usual ones that are
    impossible now. ``totals`` is what a Z would say now, `None` while it cannot be known. ``drawer`` is in kopecks,
    `None` when no cash can be moved now.
    """

    why: str
    next: Deed | None
    also: tuple[Deed, ...] = ()
    folded: tuple[Deed, ...] = ()
    totals: ShiftTotals | None = None
    drawer: int | None = None
    limits_cash: bool = True
    doubt: Doubt | None = None
    queued: int = 0
    """Documents that wait for the way back online."""
    home: Deed | None = None


async def board_of(
    store: IStore, device: Device, shown: Standing, now: int, may: Callable[[str], bool], sells: bool
) -> Board:
    """The board of a register.

    :param may: whether the reader may use a route. :param sells: whether the reader may make documents.
    :raises StoreFailed: when the store does not answer.
    """
    allowed = {
        **dict.fromkeys(("open", "z", "cash"), sells),
        **dict.fromkeys(("x", "find_out", "last_copy", "last_numbers"), may(EXECUTE)),
        **dict.fromkeys(("key", "set_up"), may(SET_UP)),
        "sell": sells and SELL in RIGHTS and may(SELL),
        "go_online": may(GO_ONLINE),
        "go_offline": may(GO_OFFLINE),
    }

    def deed(name: str, why: str = "") -> Deed:
        found = DEEDS[name]
        return found._replace(page=found.page.format(shown.dev_id), why=why)

    if shown.trouble:
        return Board("next_trouble", deed("set_up") if allowed["set_up"] else None)
    stored = await store.register_state(device.row.n)
    state = totals.decode(stored) if stored else RegisterState()
    doubt = await _doubt(store, device) if shown.state.get("collision") else None
    reasons = _reasons(device, shown.state, state, doubt is not None)
    steps = [*_steps(device, shown.state, reasons, now, allowed["sell"])]
    why, name = next(((why, name) for why, name in steps if allowed.get(name)), (steps[0][0], ""))
    possible = {each: allowed[each] and not reasons[each] for each in reasons}
    impossible = [each for each in ("cash", *USUAL) if allowed[each] and reasons[each]]
    return Board(
        why,
        deed(name) if name else None,
        tuple(deed(each) for each in USUAL if possible[each] and each != name),
        tuple(
            deed(each, reasons[each])
            for each in (*RARE, *impossible)
            if allowed[each] and not (each == "go_online" and possible[each])
        ),
        state.report() if stored and state.shift_open else None,
        state.safe if possible["cash"] else None,
        register_settings(device).check_cash,
        doubt,
        state.last.number - state.offline.first + 1 if state.offline is not None else 0,
        deed("go_online") if possible["go_online"] and name != "go_online" else None,
    )


async def _doubt(store: IStore, device: Device) -> Doubt | None:
    found = [one for one in await store.unresolved(device.row.n) if one.kind in FISCAL and one.documents]
    return Doubt(*((paper := found[0].documents[0]).number, paper.kind, paper.at, paper.sum)) if found else None


def _keyless(device: Device, shown: Mapping[str, Any]) -> bool:
    """Whether a register that has to sign cannot."""
    key = shown.get("key")
    return isinstance(device.built, TaxServiceRegister) and (not key or key["days_left"] < 0)


def _is_over(shown: Mapping[str, Any]) -> bool:
    """Whether the time offline is used up."""
    left = shown.get("offline_left")
    return left is not None and not min(left["session_min"], left["month_min"])


def _reasons(device: Device, shown: Mapping[str, Any], state: RegisterState, doubt: bool) -> dict[str, str]:
    """The keys of why each deed is impossible now; empty where it is possible."""
    is_open, offline = bool(shown["shift_status"]), bool(shown["online_status"])
    blocked = "why_key" if _keyless(device, shown) else "why_doubt" if doubt else ""
    trading = "why_is_closed" if not is_open else blocked or ("why_over" if _is_over(shown) else "")
    reading = "why_doubt" if doubt else ""
    return {
        "open": "why_is_open" if is_open else blocked or ("why_over" if _is_over(shown) else ""),
        **dict.fromkeys(("sell", "cash"), trading),
        "x": reading if is_open else "why_is_closed",
        "z": blocked if is_open else "why_is_closed",
        "last_copy": reading if state.last_receipt else "why_no_receipt",
        "last_numbers": reading,
        "go_offline": "why_is_offline" if offline else blocked or _why_online(device, shown),
        "go_online": blocked if offline else "why_is_online",
    }


def _why_online(device: Device, shown: Mapping[str, Any]) -> str:
    """The key of why a register may not go offline."""
    days = shown.get("key_days_left")
    if not register_settings(device).offline_allowed:
        return "why_offline_forbidden"
    if not shown["offline_numbers"]:
        return "why_no_numbers"
    if days is not None and days < LEAST_KEY_DAYS:
        return "why_key_ends"
    return "why_month_over" if shown["offline_month_min"] * MINUTE >= LONGEST_MONTH_OFFLINE else ""


def _steps(
    device: Device, shown: Mapping[str, Any], reasons: Mapping[str, str], now: int, sells_here: bool
) -> list[tuple[str, str]]:
    """What is next, each with the key of why; the first one that the reader may do is the main button."""
    longest = int(register_settings(device).warn_shift_h * HOUR)
    if _keyless(device, shown):
        return [("next_key", "key")]
    if reasons["last_numbers"]:
        return [("next_doubt", "find_out")]
    if not reasons["z"] and now - shown["opened_at"] >= longest - SOON:
        return [("next_old", "z")]
    if _is_over(shown):
        return [("next_over", "go_online"), ("next_over", "" if reasons["z"] else "z")]
    if reasons["x"]:
        return [("next_open", "open")]
    return [("next_sell", "sell"), ("next_till", "x")] if sells_here else [("next_till", "x")]
