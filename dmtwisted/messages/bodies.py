"""Makes the bodies of events from what the journal keeps of their operations.

Only what an event says is read here, whatever else a driver or a form has stored. No body has a card number that is
not masked, a secret, or the goods of a receipt: who needs those asks for the receipt.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from dmtwisted.documents.documents import OFFLINE_BEGIN, OFFLINE_END, OPEN, Z
from dmtwisted.messages.kinds import (
    BatchData,
    Body,
    ChangeData,
    Data,
    DeviceName,
    DocumentData,
    EventType,
    Message,
    Paper,
    PaperData,
    PaymentData,
)
from dmtwisted.security import mask_cards
from dmtwisted.store.values import CHANGE, EVENT, EventRow, OperationRow, State

NameOf = Callable[[int], DeviceName]
"""The name of a device by its number."""

Made = tuple[EventType, Data | msgspec.Raw] | None

_OF_DOCUMENT = {
    OPEN: EventType.SHIFT_OPENED,
    Z: EventType.SHIFT_CLOSED,
    OFFLINE_BEGIN: EventType.OFFLINE_BEGUN,
    OFFLINE_END: EventType.OFFLINE_ENDED,
}
"""What documents of these kinds are events of, when they are made."""

_CHARGING, _GIVING_BACK = frozenset({1, 4, 7, 14, 15}), frozenset({2, 3, 16})
"""Tasks of a terminal (`dmtwisted.terminals.interface.Task`) that take money from a card, or give it back."""

_READ_CARD, _SETTLEMENT = 6, 11


class _Verdict(msgspec.Struct):
    sum: int | None = 0
    rrn: str = ""
    cancelid: str = ""
    auth_code: str = ""
    cardmask: str = ""
    paysys: str = ""
    terminal_id: str = ""


class _Caller(msgspec.Struct):
    label: str = ""


class _Pay(msgspec.Struct):
    """The part of `dmtwisted.terminals.journal.Record` that an event tells."""

    caller: _Caller = msgspec.field(default_factory=_Caller)
    verdict: _Verdict | None = None


class _Saga(msgspec.Struct):
    """The part of `dmtwisted.batch.saga.Saga` that an event tells."""

    label: str = ""


class _Job(msgspec.Struct):
    """The part of `dmtwisted.printing.jobs.Job` that an event tells."""

    paper: str = ""
    reason: str = ""


class _Record(msgspec.Struct):
    """The part of `dmtwisted.changes.Record` that an event tells."""

    by: str = ""
    action: str = ""
    name: str = ""
    subject: str = ""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    outcome: str = "done"
    why: str = ""


_pay_of = msgspec.json.Decoder(_Pay).decode
_saga_of = msgspec.json.Decoder(_Saga).decode
_job_of = msgspec.json.Decoder(_Job).decode
_record_of = msgspec.json.Decoder(_Record).decode
_encode = msgspec.json.Encoder().encode

BEGUN = "begun"
"""The outcome of a change that is under way (`dmtwisted.changes.Outcome`)."""


def message_of(row: EventRow, name_of: NameOf) -> Message | None:
    """The message about an event; `None` when it tells nothing to others, or cannot be read."""
    try:
        made = _MAKERS.get(row.operation.kind, _nothing)(row)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # A row that somebody damaged; `dmtwisted db check` names it.
        return None
    if made is None:
        return None
    kind, data = made
    name = f"{row.n}-{row.chain[:4].hex()}"
    device = name_of(row.device_n)
    at = row.operation.at if row.operation.ended_at is None else row.operation.ended_at
    return Message(row.n, name, kind, row.device_n, device, _encode(Body(name, kind, iso(at), device, data)))


def iso(at: int) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def _superseded(row: EventRow) -> bool:
    return not row.last or row.operation.state is not row.state


def _told(row: EventRow) -> dict[str, Any]:
    """What every event of an operation has."""
    old = _superseded(row)
    operation = row.operation
    return {"res": 0 if old else operation.res, "begun": iso(operation.at), "superseded": old}


def _nothing(row: EventRow) -> Made:
    return None


def _of_register(row: EventRow) -> Made:
    operation = row.operation
    made = next((_OF_DOCUMENT[each.kind] for each in operation.documents if each.kind in _OF_DOCUMENT), None)
    kind = {
        State.DONE: made or EventType.DOCUMENT_MADE,
        State.REFUSED: EventType.DOCUMENT_REFUSED,
    }.get(row.state, EventType.DOCUMENT_UNKNOWN)
    documents = [
        Paper(each.kind, each.number, each.fiscal_number, each.shift, each.sum / 100, iso(each.at))
        for each in operation.documents
    ]
    tag = operation.key if operation.kind == "fiscal" else ""
    return kind, DocumentData(tag=tag, task=operation.task, documents=documents, **_told(row))


def _of_terminal(row: EventRow) -> Made:
    operation = row.operation
    record = _pay_of(operation.request)
    verdict = _Verdict() if _superseded(row) or record.verdict is None else record.verdict
    if row.state is State.DONE:
        kind = _paid(operation, verdict)
    else:
        kind = EventType.PAYMENT_REFUSED if row.state is State.REFUSED else EventType.PAYMENT_UNKNOWN
    data = PaymentData(
        transaction_id=record.caller.label,
        task=operation.task,
        sum=(verdict.sum or 0) / 100,
        rrn=verdict.rrn,
        auth_code=verdict.auth_code,
        card=mask_cards(verdict.cardmask),
        paysys=verdict.paysys,
        terminal_id=verdict.terminal_id,
        **_told(row),
    )
    return kind, data


def _paid(operation: OperationRow, verdict: _Verdict) -> EventType:
    task = operation.task
    # Of a payment that stopped at its card the first operation has the card only.
    if task in _CHARGING or (task == _READ_CARD and (verdict.rrn or verdict.cancelid)):
        return EventType.PAYMENT_MADE
    if task in _GIVING_BACK:
        return EventType.PAYMENT_REFUNDED
    return EventType.TERMINAL_SETTLED if task == _SETTLEMENT else EventType.TERMINAL_DONE


def _of_batch(row: EventRow) -> Made:
    operation = row.operation
    data = BatchData(
        tag=operation.key, task=operation.task, transaction_id=_saga_of(operation.request).label, **_told(row)
    )
    return EventType.BATCH_UNKNOWN if row.state is State.UNKNOWN else EventType.BATCH_ENDED, data


def _of_printer(row: EventRow) -> Made:
    job = _job_of(row.operation.request)
    told = _told(row)
    kind = {State.DONE: EventType.PAPER_PRINTED, State.REFUSED: EventType.PAPER_FAILED}.get(
        row.state, EventType.PAPER_UNKNOWN
    )
    return kind, PaperData(
        job=row.operation.n, document=job.paper, reason="" if told["superseded"] else job.reason, **told
    )


def _of_change(row: EventRow) -> Made:
    """A change is told when it is over; its end replaces its begin in the journal."""
    record = _record_of(row.operation.request)
    if not row.last or record.outcome == BEGUN:
        return None
    return EventType.SETTINGS_CHANGED, ChangeData(area=row.operation.key, **msgspec.structs.asdict(record))


def _of_own(row: EventRow) -> Made:
    """An event that was stored as such: its data is in the journal as it goes out."""
    try:
        return EventType(row.operation.key), msgspec.Raw(row.operation.request)
    except ValueError:
        # Of a later version.
        return None


_MAKERS: dict[str, Callable[[EventRow], Made]] = {
    "fiscal": _of_register,
    "untagged": _of_register,
    "pay": _of_terminal,
    "pkg": _of_batch,
    "doc": _of_printer,
    CHANGE: _of_change,
    EVENT: _of_own,
}
