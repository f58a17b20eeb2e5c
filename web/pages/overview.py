"""The service at a glance: the state of every device, and what needs a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmtwisted.devices.devices import Device, Devices, Mark
from dmtwisted.devices.driver import PRINTER, TERMINAL
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, OperationQuery, OperationRow, StoreFailed
from dmtwisted.terminals.interface import NAMES
from dmtwisted.watching import state_of
from web.journal import UNFINISHED
from web.pages.words import speaker
from web.receipts import ListedDocument, listed

LAST = 3
"""Documents that a register's card shows."""

MOST_UNFINISHED = 50
"""Unfinished operations that are listed."""

FISCAL = (KIND, UNTAGGED)
"""The kinds of a register's operations in the journal."""

PRINTS_COUNT = 86_400_000
"""Milliseconds after which a print with an unknown outcome is no longer listed."""


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

    @property
    def busy(self) -> bool:
        """Whether a task is under way."""
        return bool(self.state.get("busy"))


@dataclass(frozen=True)
class Unfinished:
    """An operation with an unknown outcome, and what a person can do about it.

    ``way`` is one of ``ask`` (any task makes the service find out), ``settle`` (a person says what the slip shows),
    ``reprint``, ``give_up`` (a receipt with a card that is not repeated), or empty when there is nothing to do.
    """

    n: int
    device: str
    dev_id: str
    kind: str
    task: int
    at: int
    advice: str
    way: str
    number: int = 0
    """The number of its fiscal document; 0 without one."""


async def standing(device: Device, devices: Devices) -> Standing:
    """The state of ``device``; never raises."""
    try:
        state = await state_of(device)
    except StoreFailed:
        state = {"error": Refused(Res.STORE_FAILED).errortxt("en")}
    except Exception as error:
        # A broken device is still listed; otherwise nobody could repair it.
        state = {"error": f"{type(error).__name__}: {error}"}
    return Standing(
        device.row.dev_id,
        device.name,
        device.kind,
        device.row.driver,
        device.driver.title,
        state,
        str(state.get("error", "")),
        devices.mark(device),
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
    found = await store.find_documents(DocumentQuery(devices=[device.row.n], limit=limit))
    return [listed(row, device) for row in found.documents]


async def unfinished(store: IStore, devices: Devices, now: int, language: str) -> list[Unfinished]:
    """Operations with an unknown outcome, newest first.

    Left out are operations of a busy device, prints that were printed again, and old prints.

    :raises StoreFailed: when the store does not answer.
    """
    found = await store.find_operations(OperationQuery(states=list(UNFINISHED), limit=MOST_UNFINISHED))
    by_n = {device.row.n: device for device in devices}
    replaced = await _replaced(store, now) if any(row.kind == JOB for row in found.operations) else set()
    say = speaker(language)
    numbers = await _numbers(store) if any(row.kind in FISCAL for row in found.operations) else {}
    waiting = []
    for row in found.operations:
        device = by_n.get(row.device_n)
        if device is not None and device.turns.busy:
            continue
        if row.kind == JOB and (row.n in replaced or now - row.at > PRINTS_COUNT):
            continue
        way = _way(row, device)
        waiting.append(
            Unfinished(
                row.n,
                device.name if device else "",
                device.row.dev_id if device else "",
                row.kind,
                row.task,
                row.at,
                say(f"advice_{way or 'wait'}"),
                way,
                numbers.get(row.n, 0),
            )
        )
    return waiting


async def _numbers(store: IStore) -> dict[int, int]:
    """The first document of each open operation of a register that has any."""
    return {
        row.n: row.documents[0].number for row in await store.unresolved(None) if row.kind in FISCAL and row.documents
    }


async def _replaced(store: IStore, now: int) -> set[int]:
    """The jobs that were printed again."""
    query = OperationQuery(kinds=[JOB], at_from=now - PRINTS_COUNT, limit=500)
    return {decode_job(row.request).replaces for row in (await store.find_operations(query)).operations}


def _way(row: OperationRow, device: Device | None) -> str:
    if device is None:
        return ""
    if row.kind == "pay" and device.kind == TERMINAL:
        return "settle"
    if row.kind == JOB and device.kind == PRINTER:
        return "reprint"
    if row.kind == "pkg":
        return "give_up"
    return "ask" if row.kind in FISCAL else ""
