"""The values that travel between the rooms and a database.

Rows leave a store as these. Bodies that only their owner understands (settings, register states, documents) are
bytes here. This module stays light: the writer process imports little more.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StoreFailed(Exception):
    """The database did not confirm what was asked; callers are answered with 1082 (specification 7.1)."""


class StoreDamaged(StoreFailed):
    """The database is there and cannot be worked with: its file is damaged, closed to us, or the disk is full."""


class NameTaken(Exception):
    """Another device has this name already (specification 2.1)."""


class State(StrEnum):
    """The life of an operation: ``intended → done | refused | unknown`` (docs/architecture.md)."""

    INTENDED = "intended"
    """Durable before the first byte left; after a crash nobody knows whether it was sent."""
    DONE = "done"
    """It happened; the answer is stored."""
    REFUSED = "refused"
    """It certainly did not happen."""
    UNKNOWN = "unknown"
    """It was sent and no answer came; only the far end knows."""


class DeviceRow(msgspec.Struct, frozen=True, array_like=True):
    """A device as it is kept. ``n`` is never used again, even when the device is deleted."""

    n: int
    dev_id: str
    name: str
    kind: str
    driver: str
    settings: bytes


class DocumentIntent(msgspec.Struct, frozen=True, array_like=True):
    """A fiscal document about to be sent.

    ``value`` is our own reading of it, ``sent`` the exact bytes for the wire; ``at`` is in milliseconds since
    1970, ``sum`` in kopecks.
    """

    number: int
    kind: str
    shift: int
    at: int
    sum: int
    value: bytes
    sent: bytes


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """An operation about to have an effect (specification 1.10): its key, and what it will send.

    ``request`` is what its device is asked for, as only the device's service understands it.
    """

    device_n: int
    kind: str
    task: int
    key: str
    fingerprint: bytes
    at: int
    documents: list[DocumentIntent]
    request: bytes = b""


class DocumentRow(msgspec.Struct, frozen=True, array_like=True):
    """A fiscal document as it is kept."""

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
    """An operation as it is kept; ``answer`` is empty until it is done."""

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


class Reserved(msgspec.Struct, frozen=True, array_like=True):
    """The answer to :meth:`IStore.reserve`: the number of the new row, or the row that has the key already."""

    n: int
    known: OperationRow | None


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What became of an operation.

    ``fiscal_numbers`` maps local numbers of its documents to fiscal numbers; ``register_state`` is the state of
    the register that follows from it, `None` when it stays as it was; ``sold`` are item codes with their tax
    groups that the shift number ``shift`` had not sold before; ``request`` replaces what was asked, unless empty.
    """

    n: int
    device_n: int
    state: State
    at: int
    res: int
    answer: bytes
    fiscal_numbers: dict[int, str]
    register_state: bytes | None
    shift: int = 0
    sold: dict[str, int] = {}
    request: bytes = b""


class OperationQuery(msgspec.Struct, frozen=True, array_like=True):
    """Which operations are looked for, newest first; members that are empty or `None` narrow nothing.

    Times are milliseconds since 1970, both ends included.
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


class FoundOperations(msgspec.Struct, frozen=True, array_like=True):
    """One page of the operations that were looked for, without their documents, and how many there are in all."""

    total: int
    operations: list[OperationRow]


class DocumentQuery(msgspec.Struct, frozen=True, array_like=True):
    """Which accepted documents are looked for; members that are empty or `None` narrow nothing.

    Times are milliseconds since 1970, both ends included.
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
    """One page of the documents that were looked for, and how many there are in all."""

    total: int
    documents: list[FoundDocument]


class ChainRow(msgspec.Struct, frozen=True, array_like=True):
    """The chain of seals of a device (`dmtwisted.store.seals`).

    ``count`` seals were ever made, the ``removed`` oldest of them are gone in order; ``anchor`` is the chain hash of
    the last that is gone, ``hash`` that of the newest.
    """

    device_n: int
    count: int
    hash: bytes
    anchor: bytes
    removed: int


class SealRow(msgspec.Struct, frozen=True, array_like=True):
    """A seal, and what it stands for.

    ``actual`` is the content hash of its operation as the rows are now: empty when they hold what no row of ours
    holds, `None` when the operation is gone; ``newest`` tells that the operation has no later seal.
    """

    n: int
    device_n: int
    operation_n: int
    content: bytes
    chain: bytes
    actual: bytes | None
    newest: bool


class ConcludedRow(msgspec.Struct, frozen=True, array_like=True):
    """An operation that has an outcome, and so has to be sealed."""

    n: int
    device_n: int
    sealed: bool


class AgedPaper(msgspec.Struct, frozen=True, array_like=True):
    """What retention has to know of a document."""

    kind: str
    number: int
    shift: int


class AgedRow(msgspec.Struct, frozen=True, array_like=True):
    """What retention has to know of an operation (`dmtwisted.retention`).

    ``batch`` tells that its register has a batch under the same key, ``last`` that its device has made no later
    payment or print job. ``ended_at`` is `None` while it is under way.
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
    """What retention takes from a device in one step.

    ``operations`` go, with their documents; the seals ``dropped``, the oldest of the chain in their order, go as
    well. ``renewed`` operations, whose seal is among those, get a new one with the same content, unless they were
    sealed anew since the seals were looked at. ``anchor`` is where the chain begins until now: when it begins
    elsewhere, somebody else was quicker.
    """

    device_n: int
    anchor: bytes
    operations: list[int] = []
    dropped: list[int] = []
    renewed: dict[int, bytes] = {}
