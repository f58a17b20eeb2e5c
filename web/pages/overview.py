"""The service at a glance: the state of every device, and what needs a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dmtwisted.devices.devices import Device, Devices, Mark
from dmtwisted.needs import Need, of_device
from dmtwisted.observed import Health, Inquired
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, StoreFailed
from dmtwisted.terminals.interface import NAMES
from dmtwisted.watching import state_of
from web.receipts import ListedDocument, listed

LAST = 3
"""Documents that a register's card shows."""

OF_MARKS = ("real_in_training", "simulated")
"""The needs that `Standing.mark` shows."""


@dataclass(frozen=True)
class Standing:
    """A device and its state; ``trouble`` is why it does not work, empty when it does."""

    dev_id: str
    name: str
    kind: str
    driver: str
    title: str
    state: dict[str, Any]
    trouble: str

    mark: Mark = ""
    """What is unusual about it."""

    needs: Sequence[Need] = ()
    """What about it needs a person, the worst first."""

    health: Health = "unknown"
    asked: bool = False
    """Whether it can be asked how it is; while that is not known, it counts as one that can."""

    worked_at: int = 0
    """When it last worked, in milliseconds since 1970; 0 when that is not known."""

    @property
    def need(self) -> Need | None:
        """What is wrong with it, the worst; `mark` tells what is unusual."""
        return next((need for need in self.needs if need.code not in OF_MARKS), None)

    @property
    def busy(self) -> bool:
        """Whether a task is under way."""
        return bool(self.state.get("busy"))


@dataclass(frozen=True)
class Verdict:
    """Whether the shop can sell: a key of the words, and the registers that it is about."""

    word: str
    level: str
    names: Sequence[str] = ()


def verdict(registers: Sequence[Standing]) -> Verdict | None:
    """Whether the shop can sell on ``registers``; `None` without any."""
    broken = [one.name for one in registers if one.trouble or (one.need is not None and one.need.level == "bad")]
    able = [one for one in registers if one.name not in broken]
    if not able:
        return Verdict("sells_not", "bad") if registers else None
    if broken:
        return Verdict("sells_partly", "warn", broken)
    if all(one.health == "unknown" for one in able):
        return Verdict("sells_unknown", "warn")
    away = [one.name for one in able if one.state.get("online_status")]
    if away:
        return Verdict("sells_offline", "warn", away)
    return Verdict("sells" if any(one.state.get("shift_status") for one in able) else "sells_opened", "good")


async def standing(device: Device, devices: Devices) -> Standing:
    """The state of ``device``; never raises."""
    try:
        state = await state_of(device)
    except StoreFailed:
        state = {"error": Refused(Res.STORE_FAILED).errortxt("en")}
    except Exception as error:
        # A broken device is still listed; otherwise nobody could repair it.
        state = {"error": f"{type(error).__name__}: {error}"}
    mark = devices.mark(device)
    observed = device.built.observed if isinstance(device.built, Inquired) else None
    return Standing(
        device.row.dev_id,
        device.name,
        device.kind,
        device.row.driver,
        device.driver.title,
        state,
        str(state.get("error", "")),
        mark,
        sorted(of_device(device, state, mark, devices.clock.now()), key=lambda need: need.level != "bad"),
        "unknown" if observed is None else observed.health,
        observed is not None and observed.asked is not False,
        0 if observed is None else observed.worked_at,
    )


@dataclass(frozen=True)
class LastPayment:
    """The last operation of a terminal: the key of its name, its state, its start."""

    word: str
    state: str
    at: int


async def last_payment(store: IStore, device: Device) -> LastPayment | None:
    """The last operation of a terminal; `None` when there was none.

    :raises StoreFailed: when the store does not answer.
    """
    row = await store.latest(device.row.n, "pay", "")
    return None if row is None else LastPayment(NAMES.get(row.task, "other"), str(row.state), row.at)


async def last_documents(store: IStore, device: Device, limit: int = LAST) -> list[ListedDocument]:
    """The newest documents of a register.

    :raises StoreFailed: when the store does not answer.
    """
    found = await store.find_documents(DocumentQuery(devices=[device.row.n], limit=limit, counted=False))
    return [listed(row, device) for row in found.documents]
