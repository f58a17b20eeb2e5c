"""The chain of seals: what became of an operation cannot be changed later without being noticed.

Each time an operation is concluded, and each time a concluded one changes again, a row of `seal` is added in the
same transaction. It holds two hashes:

====================  =========================================================================
``content``           SHA-256 over the operation and its documents as they are now (`content_hash`)
``chain``             SHA-256 over the seal before it of the same device, and this one (`link`)
====================  =========================================================================

The newest seal of an operation fits its rows; each seal fits the one before it. The row of the device in `chain`
holds the end of its chain, so that rows missing at the end are noticed as well, and the place where the chain begins
(the *anchor*), which retention moves forward: what retention removes is sealed as removed, what it keeps is sealed
once more at the end of the chain, and so the oldest seals can go. Each time a seal of no operation says where the
chain begins.

The encoding under the hashes is the same for every database, and is never changed: a row keeps its hash when it moves
from one database to another. A row is its whole numbers, then the lengths of its texts (UTF-8) and bodies, each eight
bytes, big-endian; then texts and bodies themselves, one after the other. An absent body has the length −1, an absent
number is the smallest there is, −2⁶³.

=============  ====================================  ===============================================
row            numbers                               texts and bodies
=============  ====================================  ===============================================
operation      n, device_n, task, at, ended_at, res  kind, key, fingerprint, state, answer, request
each document  n, device_n, number, shift, at, sum   kind, state, fiscal_number, value, sent
=============  ====================================  ===============================================

The documents follow their operation in the order of their ``n``.

There is no secret in it: who can change the whole database can also reckon all hashes anew (docs/databases.md).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

OPERATION_NUMBERS = ("n", "device_n", "task", "at", "ended_at", "res")
OPERATION_BODIES = ("kind", "key", "fingerprint", "state", "answer", "request")
OPERATION_COLUMNS = (*OPERATION_NUMBERS, *OPERATION_BODIES)
"""What of an operation is sealed, in the order of the encoding: all but the mark of who asked a server."""

DOCUMENT_NUMBERS = ("n", "device_n", "number", "shift", "at", "sum")
DOCUMENT_BODIES = ("kind", "state", "fiscal_number", "value", "sent")
DOCUMENT_COLUMNS = (*DOCUMENT_NUMBERS, *DOCUMENT_BODIES)
"""What of a document is sealed, in the order of the encoding; which operation it is part of is told by its place."""

TEXTS = frozenset({"kind", "key", "state", "fiscal_number"})
"""Which of the bodies are texts."""

ABSENT_NUMBER, ABSENT_LENGTH = -(2**63), -1

GENESIS = bytes(32)
"""What stands in place of the seal before the first one."""

_PLACE = struct.Struct(">qq")
_OPERATION = struct.Struct(">12q")
_DOCUMENT = struct.Struct(">11q")


def content_hash(operation: Sequence[Any], documents: Iterable[Sequence[Any]]) -> bytes:
    """The hash of an operation with its documents.

    :param operation: its `OPERATION_COLUMNS`.
    :param documents: the `DOCUMENT_COLUMNS` of each, in the order of their ``n``.
    :raises ValueError: when a value is of a kind that its column never holds.
    """
    # Written out, for it is part of every sale.
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
        raise ValueError(f"nothing that is kept in a journal: {error}") from None


def removal(operation_n: int) -> bytes:
    """The ``content`` of the last seal of an operation that retention removed."""
    return sha256(b"removed by retention" + _PLACE.pack(0, operation_n)).digest()


def mark(device_n: int, removed: int, anchor: bytes) -> bytes:
    """The ``content`` of the seal, of no operation, that says where the chain of a device begins by now.

    :param removed: how many seals of the chain retention has removed.
    """
    return sha256(b"the chain begins" + _PLACE.pack(device_n, removed) + anchor).digest()


def appended(
    device_n: int, before: bytes, contents: Iterable[tuple[int, bytes]]
) -> list[tuple[int, int, bytes, bytes]]:
    """Seals that go on after one with the chain ``before``: device, operation, content, chain of each.

    :param contents: operation and content of each.
    """
    seals = []
    for operation_n, content in contents:
        before = link(before, device_n, operation_n, content)
        seals.append((device_n, operation_n, content, before))
    return seals


def link(before: bytes, device_n: int, operation_n: int, content: bytes) -> bytes:
    """The ``chain`` of a seal that comes after one with the chain ``before``."""
    return sha256(before + _PLACE.pack(device_n, operation_n) + content).digest()
