"""The types of events, and the data that each of them has.

The body of an event is JSON: ``id``, ``type``, ``timestamp`` (UTC, ISO 8601), ``device`` and ``data``. It is made
from the journal when it is handed out. Members may be added; those that are here keep their meaning.
"""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any

import msgspec


@unique
class EventType(StrEnum):
    """What happened."""

    DOCUMENT_MADE = "document.made"
    """A fiscal document is valid, online or offline; also one that was found later. `DocumentData`"""
    DOCUMENT_REFUSED = "document.refused"
    """A document was refused or voided: it does not exist. `DocumentData`"""
    DOCUMENT_UNKNOWN = "document.unknown"
    """It is not known whether a document exists; another event follows. `DocumentData`"""
    SHIFT_OPENED = "shift.opened"
    """`DocumentData`"""
    SHIFT_CLOSED = "shift.closed"
    """The Z-report is made. `DocumentData`"""
    OFFLINE_BEGUN = "offline.begun"
    """A register went offline. `DocumentData`"""
    OFFLINE_ENDED = "offline.ended"
    """A register is online again, and its offline documents are handed in. `DocumentData`"""
    PAYMENT_MADE = "payment.made"
    """A card was charged. `PaymentData`"""
    PAYMENT_REFUNDED = "payment.refunded"
    """Money went back to a card: a refund, or a payment that was cancelled. `PaymentData`"""
    PAYMENT_REFUSED = "payment.refused"
    """Nothing happened on the terminal. `PaymentData`"""
    PAYMENT_UNKNOWN = "payment.unknown"
    """It is not known whether money moved; another event follows. `PaymentData`"""
    TERMINAL_SETTLED = "terminal.settled"
    """A terminal's day was settled with the bank. `PaymentData`"""
    TERMINAL_DONE = "terminal.done"
    """Another task of a terminal. `PaymentData`"""
    BATCH_ENDED = "batch.ended"
    """Card payment and receipt as one operation are over. `BatchData`"""
    BATCH_UNKNOWN = "batch.unknown"
    """A batch waits for a person. `BatchData`"""
    PAPER_PRINTED = "paper.printed"
    """`PaperData`"""
    PAPER_FAILED = "paper.failed"
    """A paper was certainly not printed. `PaperData`"""
    PAPER_UNKNOWN = "paper.unknown"
    """It is not known whether a paper was printed. `PaperData`"""
    SERVICE_STARTED = "service.started"
    """A service began to work; what was told of the needs of its devices before holds no more. `StartedData`"""
    DEVICE_CHANGED = "device.changed"
    """A device began or ceased to work. `DeviceData`"""
    NEED_RAISED = "need.raised"
    """Something needs a person; told again after a restart. `NeedData`"""
    NEED_ENDED = "need.ended"
    """It does not any more. `NeedData`"""
    SETTINGS_CHANGED = "settings.changed"
    """Somebody changed something of the service, or tried to. `ChangeData`"""


class DeviceName(msgspec.Struct, frozen=True):
    """``device`` of an event; all members are empty for the service itself, and for a device that was deleted."""

    id: str = ""
    name: str = ""
    kind: str = ""


class Paper(msgspec.Struct, frozen=True):
    """A document of an operation; ``sum`` is in hryvnias, ``time`` that of the document."""

    kind: str
    number: int
    fiscal_number: str
    shift: int
    sum: float
    time: str


class DocumentData(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operation of a register; ``tag`` is the caller's, empty for what the service did by itself.

    ``res`` is 0 or the result code of the refusal. ``documents`` are in their order; closing a shift makes two.
    ``superseded``: the operation has another outcome by now, which has an event of its own; then members that only
    the outcome knows are left out.
    """

    tag: str
    task: int
    res: int
    begun: str
    documents: list[Paper]
    superseded: bool = False


class PaymentData(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operation of a terminal; ``sum`` is in hryvnias, ``card`` masked."""

    transaction_id: str
    task: int
    res: int
    begun: str
    sum: float = 0
    rrn: str = ""
    auth_code: str = ""
    card: str = ""
    paysys: str = ""
    terminal_id: str = ""
    superseded: bool = False


class BatchData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A card payment and its receipt as one operation; ``res`` is 0 when both were made."""

    tag: str
    task: int
    res: int
    begun: str
    transaction_id: str = ""
    superseded: bool = False


class PaperData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A print job; ``document`` names the register's document that it prints, empty for a free form."""

    job: int
    res: int
    begun: str
    document: str = ""
    reason: str = ""
    superseded: bool = False


class DeviceData(msgspec.Struct, frozen=True, omit_defaults=True):
    """``health`` is ``good`` or ``bad``; ``res`` and ``text`` say how it failed, in both languages."""

    health: str
    res: int = 0
    text: dict[str, str] = {}


class StartedData(msgspec.Struct, frozen=True):
    """The ids of the devices of a service that has started: what is wrong with them is told anew."""

    devices: list[str]


class NeedData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What needs a person: a stable ``code``, the ``level`` (``warn``, ``bad``), and words in both languages."""

    code: str
    level: str = ""
    text: dict[str, str] = {}
    advice: dict[str, str] = {}


class ChangeData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of the journal of changes; ``before`` and ``after`` have no secrets."""

    area: str
    action: str
    by: str
    name: str = ""
    subject: str = ""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    outcome: str = "done"
    why: str = ""


Data = DocumentData | PaymentData | BatchData | PaperData | DeviceData | NeedData | ChangeData


class Body(msgspec.Struct, frozen=True):
    """The body of an event, member by member."""

    id: str
    type: EventType
    timestamp: str
    device: DeviceName
    data: Data | msgspec.Raw


class Message(msgspec.Struct, frozen=True):
    """An event to hand out. ``place`` is where a reader goes on after it, ``body`` its JSON.

    ``id`` is the same whenever the event is handed out, and no other event's: ``<place>-<begin of the chain hash>``.
    """

    place: int
    id: str
    type: EventType
    device_n: int
    device: DeviceName
    body: bytes
