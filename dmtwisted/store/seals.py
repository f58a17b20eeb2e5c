"""The chain of seals: a later change of a concluded operation is noticed.

Each time an operation is concluded, and each time a concluded one changes again, a row of `seal` is added in the
same transaction. It holds two hashes:

====================  =========================================================================
``content``           SHA-256 over the operation and its documents as they are now (`content_hash`)
``chain``             SHA-256 over the seal before it of the same device, and this one (`link`)
====================  =========================================================================

The newest seal of an operation matches its rows; each seal matches the one before it. The row of the device in
`chain` holds the end of its chain, so that missing rows at the end are noticed too, and the place where the chain
begins (the *anchor*). Retention moves the anchor forward: it seals removed operations as removed, seals kept ones
again at the end of the chain, and can then remove the oldest seals. Each time it adds a seal of no operation that
records the anchor.

The encoding under the hashes is the same for every database and never changes: a row keeps its hash when it moves to
another database. A row is encoded as its numbers, then the lengths of its texts (UTF-8) and bodies, eight bytes each,
big-endian; then the texts and bodies themselves. An absent body has the length −1, an absent number is the smallest
number, −2⁶³.

=============  ====================================  ===============================================
row            numbers                               texts and bodies
=============  ====================================  ===============================================
operation      n, device_n, task, at, ended_at, res  kind, key, fingerprint, state, answer, request
each document  n, device_n, number, shift, at, sum   kind, state, fiscal_number, value, sent
=============  ====================================  ===============================================

The documents follow their operation in the order of their ``n``.

It holds no secret: someone who can change the whole database can also calculate all hashes again (docs/databases.md).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

OPERATION_NUMBERS = ("n", "device_n", "task", "at", "ended_at", "res")
OPERATION_BODIES = ("kind", "key", "fingerprint", "state", "answer", "request")
OPERATION_COLUMNS = (*OPERATION_NUMBERS, *OPERATION_BODIES)
"""The sealed columns of an operation in the order of the encoding: all but the mark of the request (`token`)."""

DOCUMENT_NUMBERS = ("n", "device_n", "number", "shift", "at", "sum")
DOCUMENT_BODIES = ("kind", "state", "fiscal_number", "value", "sent")
DOCUMENT_COLUMNS = (*DOCUMENT_NUMBERS, *DOCUMENT_BODIES)
"""The sealed columns of a document in the order of the encoding; its place shows which operation it belongs to."""

TEXTS = frozenset({"kind", "key", "state", "fiscal_number"})
"""The bodies that are texts."""

ABSENT_NUMBER, ABSENT_LENGTH = -(2**63), -1

GENESIS = bytes(32)
"""Used in place of a seal before the first one."""

_PLACE = struct.Struct(">qq")
_OPERATION = struct.Struct(">12q")
_DOCUMENT = struct.Struct(">11q")


def content_hash(operation: Sequence[Any], documents: Iterable[Sequence[Any]]) -> bytes:
    """The hash of an operation with its documents.

    :param operation: its `OPERATION_COLUMNS`.
    :param documents: the `DOCUMENT_COLUMNS` of each, in the order of their ``n``.
    :raises ValueError: when a value is not of its column's type.
    """
    # Written out for speed: it is part of every sale.
    n, device_n, task, at, ended_at, res, kind, key, fingerprint, state, answer, request = operation
    try:
        kind, key, state = kind.encode(), key.encode(), state.encode()
        head = _OPERATION.pack(
            *(n, device_n, task, at, ABSENT_NUMBER if ended_at is None else ended_at, res),
            *(len(kind), len(key), len(fingerprint), len(state)),
            *(ABSENT_LENGTH if answer is None else len(answer), ABSENT_LENGTH if request is None else len(request)),
        )
        parts = [head, kind, key, fingerprint, state, answer or b"", request or b""]
        for n, device_n, number, shift, at, total, kind, state, fiscal_number, value, sent in documents:
            kind, state, fiscal_number = kind.encode(), state.encode(), fiscal_number.encode()
            sizes = len(kind), len(state), len(fiscal_number), len(value), len(sent)
            parts += (_DOCUMENT.pack(n, device_n, number, shift, at, total, *sizes), kind, state, fiscal_number)
            parts += (value, sent)
        return sha256(b"".join(parts)).digest()
    except (TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"not a value of the journal: {error}") from None


def removal(operation_n: int) -> bytes:
    """The ``content`` of the last seal of an operation that retention removed."""
    return sha256(b"removed by retention" + _PLACE.pack(0, operation_n)).digest()


def mark(device_n: int, removed: int, anchor: bytes) -> bytes:
    """The ``content`` of the seal, of no operation, that records where the chain of a device begins now.

    :param removed: how many seals of the chain retention has removed.
    """
    return sha256(b"the chain begins" + _PLACE.pack(device_n, removed) + anchor).digest()


def appended(
    device_n: int, before: bytes, contents: Iterable[tuple[int, bytes]]
) -> list[tuple[int, int, bytes, bytes]]:
    """Seals that follow a seal with the chain ``before``: device, operation, content, chain of each.

    :param contents: operation and content of each.
    """
    seals = []
    for operation_n, content in contents:
        before = link(before, device_n, operation_n, content)
        seals.append((device_n, operation_n, content, before))
    return seals


def link(before: bytes, device_n: int, operation_n: int, content: bytes) -> bytes:
    """The ``chain`` of a seal that follows one with the chain ``before``."""
    return sha256(before + _PLACE.pack(device_n, operation_n) + content).digest()
