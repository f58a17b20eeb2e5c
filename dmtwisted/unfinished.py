"""Operations with an unknown outcome, and what a person can do about each."""

from __future__ import annotations

from dataclasses import dataclass

from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import PRINTER, TERMINAL
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED
from dmtwisted.registers.interface import OnALine
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, OperationRow, State

OPEN = (State.INTENDED, State.UNKNOWN)
"""The states of an operation with an unknown outcome."""

MOST = 50
"""Operations that are listed."""

FISCAL = (KIND, UNTAGGED)
"""The kinds of a register's operations in the journal."""

PRINTS_COUNT = 86_400_000
"""Milliseconds after which a print with an unknown outcome is no longer listed."""


@dataclass(frozen=True)
class Unfinished:
    """An operation with an unknown outcome, and what a person can do about it.

    ``way`` is one of ``ask`` (any task makes the service find out), ``look`` (so it does, and a person may say what
    the register's paper shows), ``settle`` (a person says what the slip shows), ``reprint``, ``give_up`` (a receipt
    with a card that is not repeated), or empty when there is nothing to do.
    """

    n: int
    device: str
    dev_id: str
    kind: str
    task: int
    at: int
    way: str
    number: int = 0
    """The number of its fiscal document; 0 without one."""


async def unfinished(store: IStore, devices: Devices, now: int) -> list[Unfinished]:
    """Operations with an unknown outcome, newest first.

    Left out are operations of a busy device, prints that were printed again, and old prints.

    :raises StoreFailed: when the store does not answer.
    """
    found = await store.find_operations(OperationQuery(states=list(OPEN), limit=MOST))
    by_n = {device.row.n: device for device in devices}
    replaced = await _replaced(store, now) if any(row.kind == JOB for row in found.operations) else set()
    numbers = await _numbers(store) if any(row.kind in FISCAL for row in found.operations) else {}
    waiting = []
    for row in found.operations:
        device = by_n.get(row.device_n)
        if device is not None and device.turns.busy:
            continue
        if row.kind == JOB and (row.n in replaced or now - row.at > PRINTS_COUNT):
            continue
        waiting.append(
            Unfinished(
                row.n,
                device.name if device else "",
                device.row.dev_id if device else "",
                row.kind,
                row.task,
                row.at,
                _way(row, device),
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
    query = OperationQuery(kinds=[JOB], at_from=now - PRINTS_COUNT, limit=500, counted=False)
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
    if row.kind in FISCAL:
        return "look" if isinstance(device.built, OnALine) else "ask"
    return ""
