"""A document whose answer was lost while the far end stays away: made again offline, its online copy revoked.

The tax service lets the begin of an offline session revoke the last online document (fiscal-server 7.2). Whether that
document arrived is known only after the session, so the begin is signed in both ways before it is stored: neither
its own number nor the hash or number of what follows depends on it.

What is stored on the way out, and what happens if the power goes after each step:

1. the lost operation is refused, which frees its tag and its number, and the register's state keeps what it was: at
   the next start it is opened again, and asked for as if nothing had been begun;
2. the intent of the begin: it never left, so it is void, and then as after step 1;
3. the begin is done: from here it goes on only forward. At the next start the document is made again;
4. the intent of the document: it never left, so it is void, and made anew under the same number;
5. the document is done: its tag has the offline receipt for its answer.

On the way home the far end is asked each time what it has under the begin's number, and what it has decides. So
nothing has to be remembered but the bytes of both begins, which were stored in step 2.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, WITHDRAWAL, Document
from dmtwisted.registers.channels.interface import Absent, Accepted, IFiscalChannel
from dmtwisted.registers.totals import LostOnline, RegisterState
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, OperationRow

REVOCABLE = frozenset({SALE, RETURN, CASH_IN, CASH_OUT, WITHDRAWAL})
"""Documents that may be revoked: those that move money (fiscal-server 7.2)."""

UNKNOWN: Final = "unknown"
REVOKED: Final = "revoked"
ABSENT: Final = "absent"
"""What became of an online copy: nobody knows yet; it was there and the begin revokes it; it never arrived."""


class Revocation(msgspec.Struct, frozen=True):
    """What the begin of such a session keeps: the lost document as it was sent, and the begin that revokes it."""

    operation: int
    sent: bytes
    revoking: bytes


class OnlineCopy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the online copy of a document that was made again offline; kept with the lost operation."""

    again: int
    """The local number of the document that counts."""
    became: Literal["unknown", "revoked", "absent"] = UNKNOWN
    number: str = ""
    """The fiscal number of the online copy, once it is known."""


class OnlineCopyRecord(msgspec.Struct):
    """What became of the online copy of a document that was made again offline."""

    became: Literal["unknown", "revoked", "absent"]
    number: str
    """Its fiscal number, once it is known."""
    again: str
    """The local number of the document that counts."""
    text: str


class _Kept(msgspec.Struct):
    """What is ours in an operation's ``request``; the moments of its documents stand beside it."""

    revocation: Revocation | None = None
    online_copy: OnlineCopy | None = None


_encode = msgspec.json.Encoder().encode
_kept = msgspec.json.Decoder(_Kept).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def with_revocation(request: bytes, revocation: Revocation) -> bytes:
    """``request`` with what a begin keeps."""
    return _with(request, "revocation", revocation)


def with_copy(request: bytes, copy: OnlineCopy) -> bytes:
    """``request`` with what became of the online copy."""
    return _with(request, "online_copy", copy)


def _with(request: bytes, name: str, value: Revocation | OnlineCopy) -> bytes:
    members = _members(request) if request else {}
    return _encode({**members, name: value})


def begin_key(first: int) -> str:
    """The key of the operation that began the session whose first local number is ``first``."""
    return f"{documents.OFFLINE_BEGIN} {first}"


def revocable(operation: OperationRow, state: RegisterState) -> Document | None:
    """The document of ``operation`` if it may be made again offline; `None` when it has to be asked for first.

    Without a tag of the caller's nobody could tell its repeat from another sale, so that waits too.
    """
    if len(operation.documents) != 1 or state.offline is not None or not state.shift_open:
        return None
    row = operation.documents[0]
    document = documents.decode(row.value)
    online = document.offline is None and not row.fiscal_number
    fits = document.kind in REVOCABLE and document.number == state.next_number and not document.caller.untagged
    return document if online and fits else None


def lost_in(operation: OperationRow) -> LostOnline:
    """What is kept of ``operation`` until its document was made again."""
    row = operation.documents[0]
    named = (operation.kind, operation.key, operation.fingerprint)
    return LostOnline(operation.n, *named, row.value, row.sent, operation.request)


async def read_revocation(store: IStore, device_n: int, kind: str, first: int) -> Revocation:
    """What the begin with the local number ``first`` keeps.

    :raises Refused: 1074 when it is gone from the journal.
    """
    begun = await store.find(device_n, kind, begin_key(first))
    revocation = _kept(begun.request).revocation if begun is not None and begun.request else None
    if revocation is None:
        raise Refused(Res.COLLISION_UNSOLVABLE, aq_errortxt=f"the offline begin {first} is not in the journal")
    return revocation


async def begin_to_send(store: IStore, channel: IFiscalChannel, lost: Revocation, first: int, plain: bytes) -> bytes:
    """The begin as it is to be handed in: ``plain``, or the one that revokes the online copy, if there is one.

    What the far end has decides, and is asked each time; both ways are the same bytes at each repeat.

    :raises Refused: 1074 when another document has its number; as the question fails when it cannot be answered.
    """
    found = await channel.probe(first, plain)
    if isinstance(found, Accepted):
        # It is there already, in the way that was right then.
        return plain
    if isinstance(found, Absent):
        await _note(store, lost.operation, OnlineCopy(again=first + 1, became=ABSENT))
        return plain
    if found.res is Res.COLLISION_UNSOLVABLE:
        found = await channel.probe(first, lost.sent)
        if isinstance(found, Accepted):
            await _note(store, lost.operation, OnlineCopy(first + 1, REVOKED, found.fiscal_number))
            return lost.revoking
        if isinstance(found, Absent):
            raise Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=f"the server is not sure about document {first}")
    raise Refused(found.res, aq_errortxt=found.why)


async def _note(store: IStore, n: int, copy: OnlineCopy) -> None:
    """Keep what became of the online copy, for people; before the begin is sent."""
    found = await store.find_operations(OperationQuery(n=n))
    for operation in found.operations:
        noted = with_copy(operation.request, copy)
        if operation.request != noted:
            await store.note(n, noted)
            reached("offline.copy-noted")


def online_copy_of(request: bytes, language: str) -> OnlineCopyRecord | None:
    """What a lost operation keeps, for programs and people; `None` for any other one."""
    copy = _kept(request).online_copy if request else None
    if copy is None:
        return None
    named = (copy.again, copy.number) if copy.became == REVOKED else (copy.again,)
    text = _WORDS[copy.became].for_language(language) % named
    return OnlineCopyRecord(copy.became, copy.number, str(copy.again), text)


_WORDS = {
    UNKNOWN: Text(
        "Відповідь загубилася; документ видано офлайн під № %d. Чи дійшов він онлайн, стане відомо після повернення.",
        "The answer was lost; the document was made again offline as %d. Whether it arrived is found out later.",
    ),
    REVOKED: Text(
        "Документ видано офлайн під № %d; онлайн-копію %s відкликає початок офлайн-сесії.",
        "The document was made again offline as %d; its online copy %s is revoked by the begin of the session.",
    ),
    ABSENT: Text(
        "Документ видано офлайн під № %d; онлайн він не дійшов.",
        "The document was made again offline as %d; it never arrived online.",
    ),
}
