"""The values that pass between the rooms and a database.

A store returns rows as these. Bodies that only their owner understands (settings, register states, documents) are
bytes here. This module stays light: the writer process imports little more.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StoreFailed(Exception):
    """The database did not confirm a verb; the service answers 1082 (specification 7.1)."""


class StoreDamaged(StoreFailed):
    """The database is there but unusable: its file is damaged or not accessible, or the disk is full."""


class NameTaken(Exception):
    """Another device has this name already (specification 2.1)."""


class State(StrEnum):
    """The life of an operation: ``intended → done | refused | unknown`` (docs/architecture.md)."""

    INTENDED = "intended"
    """Durable before the first byte was sent; after a crash it is not known whether it was sent."""
    DONE = "done"
    """It happened; the answer is stored."""
    REFUSED = "refused"
    """It certainly did not happen."""
    UNKNOWN = "unknown"
    """It was sent and no answer came; only the remote device or the tax service knows the outcome."""


class DeviceRow(msgspec.Struct, frozen=True, array_like=True):
    """A stored device. ``n`` is never used again, even when the device is deleted."""

    n: int
    dev_id: str
    name: str
    kind: str
    driver: str
    settings: bytes


CHANGE = "change"
"""The kind of operation that records a change of the service itself (`dmtwisted.changes`)."""

EVENT = "event"
"""The kind of operation that records an event without another operation: of a device, of what needs a person."""


class Change(msgspec.Struct, frozen=True, array_like=True):
    """A change of the service, kept as an operation of the kind `CHANGE` that is done at once.

    ``subject`` is the kind of thing that was changed, ``request`` the rest as JSON; ``device_n`` is 0 for what is no
    device, and for a device that gets its number with the same verb. With the kind `EVENT` it is no change of a
    person's but something that the service noticed, and ``subject`` is the type of the event.
    """

    subject: str
    at: int
    request: bytes
    device_n: int = 0
    kind: str = CHANGE


class DocumentIntent(msgspec.Struct, frozen=True, array_like=True):
    """A fiscal document about to be sent; its members are in the order of the columns.

    ``value`` is our own form of it, ``sent`` the exact bytes for the wire; ``at`` is in milliseconds since 1970,
    ``sum`` in kopecks.
    """

    number: int
    kind: str
    shift: int
    at: int
    sum: int
    value: bytes
    sent: bytes


class Marks(msgspec.Struct, frozen=True, array_like=True):
    """Excise marks that an intent reserves, in the same transaction.

    ``shared``: what is sold is a part, so other parts under the same mark may be sold; the whole may not.
    ``heir_of`` is an operation whose marks pass to this one.
    """

    marks: list[str]
    shared: bool = False
    heir_of: int = 0


class MarkRow(msgspec.Struct, frozen=True, array_like=True):
    """A mark that a receipt holds: ``reserved`` since its intent, ``sold`` since its outcome.

    The row outlives the receipt, so it has what names that: register, local number, fiscal number and time.
    """

    mark: str
    device_n: int
    operation_n: int
    number: int
    fiscal_number: str
    at: int
    state: str


class MarkStep(StrEnum):
    """What an outcome does with marks."""

    SPEND = "spend"
    """Those of the operation are sold; those named are, where it holds none and nobody else does."""
    RELEASE = "release"
    """Those of the operation may be sold again: it certainly did not happen."""
    FREE = "free"
    """They came back with a return."""
    TAKE_BACK = "take_back"
    """They came back with the storno of the document ``number`` of this register."""


class MarkMove(msgspec.Struct, frozen=True, array_like=True):
    """A step with marks, in the same transaction as the outcome; the store knows those of the operation."""

    step: MarkStep
    marks: list[str] = []
    shared: bool = False
    number: int = 0
    at: int = 0


class Letter(msgspec.Struct, frozen=True, array_like=True):
    """Something to tell outwards later, kept until it is told (`dmtwisted.outbox`).

    ``kind`` says who sends it, ``payload`` only that one understands. It is due at ``due``, milliseconds since 1970.
    """

    kind: str
    device_n: int
    due: int
    payload: bytes


class LetterRow(msgspec.Struct, frozen=True, array_like=True):
    """A stored letter: ``attempts`` tries have begun, ``why`` says how the last one failed.

    A ``dead`` one is not tried again by itself.
    """

    n: int
    kind: str
    device_n: int
    due: int
    attempts: int
    dead: bool
    why: str
    payload: bytes


class HookCursor(msgspec.Struct, frozen=True, array_like=True):
    """How far a subscriber has got the events of a device (`dmtwisted.hooks`); times in milliseconds since 1970.

    ``told`` is the place of the last event that needs no more, ``told_at`` when one was taken last. Since then
    ``attempts`` tries have failed, the first at ``since``, the last because of ``why``; the next one is at ``due``.
    """

    subscriber: str
    device_n: int
    told: int
    told_at: int = 0
    attempts: int = 0
    since: int = 0
    due: int = 0
    why: str = ""


class DeadLetter(msgspec.Struct, frozen=True, array_like=True):
    """A letter that is dead from its beginning, and how its last try failed."""

    letter: Letter
    why: str


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """An operation about to have an effect (specification 1.10): its key, and what it will send.

    ``request`` is the request to its device, in a form that only the device's service understands. The members are in
    the order of the columns.
    """

    device_n: int
    kind: str
    task: int
    key: str
    fingerprint: bytes
    at: int
    documents: list[DocumentIntent]
    request: bytes = b""
    marks: Marks | None = None


class DocumentRow(msgspec.Struct, frozen=True, array_like=True):
    """A stored fiscal document."""

    number: int
    kind: str
    shift: int
    at: int
    sum: int
    state: State
    fiscal_number: str
    value: bytes
    sent: bytes


class OperationRow(msgspec.Struct, frozen=True, array_like=True):
    """A stored operation; ``answer`` is empty until it is done, ``ended_at`` `None` until it has an outcome."""

    n: int
    device_n: int
    kind: str
    task: int
    key: str
    fingerprint: bytes
    state: State
    at: int
    res: int
    answer: bytes
    documents: list[DocumentRow]
    request: bytes = b""
    ended_at: int | None = None


class Reserved(msgspec.Struct, frozen=True, array_like=True):
    """The result of :meth:`IStore.reserve`: the number of the new row, or the row that has the key already.

    When another receipt holds one of its marks, ``taken`` is that, and nothing was stored.
    """

    n: int
    known: OperationRow | None
    taken: MarkRow | None = None


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of an operation.

    ``fiscal_numbers`` maps local numbers of its documents to fiscal numbers; ``register_state`` is the state of
    the register that follows from it, `None` when it stays as it was; ``sold`` are item codes with their tax
    groups that the shift number ``shift`` had not sold before; ``request`` replaces what was asked, unless empty;
    ``marks`` are steps with excise marks, ``letters`` go into the outbox, once for an operation that is done.
    """

    n: int
    device_n: int
    state: State
    at: int
    res: int
    answer: bytes = b""
    fiscal_numbers: dict[int, str] = {}
    register_state: bytes | None = None
    shift: int = 0
    sold: dict[str, int] = {}
    request: bytes = b""
    marks: MarkMove | None = None
    letters: list[Letter] = []


class OperationQuery(msgspec.Struct, frozen=True, array_like=True):
    """A search for operations, newest first; members that are empty or `None` do not narrow it.

    Times are milliseconds since 1970, both ends included. Changes of the service are found by their kind only; those
    with numbers ``below`` are for a reader that continues where its last page ended. ``counted`` is whether the
    number of all is wanted, for which every entry of an index is read; else only those up to the page are counted.
    """

    devices: list[int] = []
    kinds: list[str] = []
    states: list[State] = []
    key: str = ""
    n: int | None = None
    at_from: int | None = None
    at_to: int | None = None
    limit: int = 100
    offset: int = 0
    below: int | None = None
    counted: bool = True


class FoundOperations(msgspec.Struct, frozen=True, array_like=True):
    """One page of the operations that were found, without their documents, and how many there are in all."""

    total: int
    operations: list[OperationRow]


class DocumentQuery(msgspec.Struct, frozen=True, array_like=True):
    """A search for accepted documents; members that are empty or `None` do not narrow it.

    Times are milliseconds since 1970, both ends included; ``counted`` as for operations.
    """

    devices: list[int] = []
    kinds: list[str] = []
    fiscal_number: str = ""
    shift_from: int | None = None
    shift_to: int | None = None
    at_from: int | None = None
    at_to: int | None = None
    newest_first: bool = True
    limit: int = 100
    offset: int = 0
    number: int | None = None
    counted: bool = True


class FoundDocument(msgspec.Struct, frozen=True, array_like=True):
    """An accepted document with the answer of its operation."""

    device_n: int
    number: int
    kind: str
    at: int
    fiscal_number: str
    value: bytes
    answer: bytes


class FoundDocuments(msgspec.Struct, frozen=True, array_like=True):
    """One page of the documents that were found, and how many there are in all."""

    total: int
    documents: list[FoundDocument]


class ChainRow(msgspec.Struct, frozen=True, array_like=True):
    """The chain of seals of a device (`dmtwisted.store.seals`).

    ``count`` seals were ever made; retention has removed the ``removed`` oldest. ``anchor`` is the chain hash of the
    last removed seal, ``hash`` that of the newest seal.
    """

    device_n: int
    count: int
    hash: bytes
    anchor: bytes
    removed: int


class SealRow(msgspec.Struct, frozen=True, array_like=True):
    """A seal, and the operation that it seals.

    ``actual`` is the content hash of the operation as its rows are now: empty when they hold values that our rows
    never hold, `None` when the operation is missing. ``newest``: the operation has no later seal.
    """

    n: int
    device_n: int
    operation_n: int
    content: bytes
    chain: bytes
    actual: bytes | None
    newest: bool


class EventRow(msgspec.Struct, frozen=True, array_like=True):
    """An event: an operation got an outcome.

    It is the seal of that outcome, so it is in the store exactly when the outcome is. ``n`` is the place of the seal,
    ``chain`` its chain hash, ``state`` the outcome. ``operation`` is the operation as it is now, with its documents,
    whose bodies (`value`, `sent`) are left empty; while ``last`` is false it has got another outcome since.
    """

    n: int
    device_n: int
    chain: bytes
    state: State
    last: bool
    operation: OperationRow


class EventPage(msgspec.Struct, frozen=True, array_like=True):
    """The next events after a place, in their order.

    ``until`` is the place up to which they are all that there are, and ever will be: the next question goes on there.
    ``chain`` is the chain hash at the place that was asked for, empty when no seal is there (any more).
    ``gone``: retention has removed what others among them told of.
    """

    events: list[EventRow]
    until: int
    chain: bytes
    gone: bool = False


class EventPlace(msgspec.Struct, frozen=True, array_like=True):
    """The place of the newest event, 0 when there is none, and the chain hash there."""

    n: int
    chain: bytes


class ConcludedRow(msgspec.Struct, frozen=True, array_like=True):
    """An operation that has an outcome, and therefore must be sealed."""

    n: int
    device_n: int
    sealed: bool


class AgedPaper(msgspec.Struct, frozen=True, array_like=True):
    """What retention needs of a document."""

    kind: str
    number: int
    shift: int


class AgedRow(msgspec.Struct, frozen=True, array_like=True):
    """What retention needs of an operation (`dmtwisted.retention`).

    ``batch``: its register has a batch under the same key. ``last``: its device has no later payment or print job.
    ``ended_at`` is `None` while it is under way.
    """

    n: int
    device_n: int
    kind: str
    state: State
    at: int
    ended_at: int | None
    batch: bool
    last: bool
    documents: list[AgedPaper]


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """What retention removes from a device in one step.

    It removes ``operations`` with their documents, and the seals ``dropped``, the oldest of the chain in their order.
    The ``renewed`` operations, whose seals are among those, get a new seal with the same content, unless they were
    sealed again since retention read the seals. ``anchor`` is where retention saw the chain begin: when it begins
    elsewhere, another service has removed seals meanwhile.
    """

    device_n: int
    anchor: bytes
    operations: list[int] = []
    dropped: list[int] = []
    renewed: dict[int, bytes] = {}
