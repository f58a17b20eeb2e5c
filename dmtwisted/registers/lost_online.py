"""A document whose answer was lost while the tax service stays away: made again offline, its online copy revoked.

The opening document of an offline session can revoke the last online document
(docs/reference/tax-service.md#revoking). Whether that one arrived is known only after the session, so the opening
document is signed in both ways before it is stored: its own number, and the hashes and numbers that follow, are the
same in both.

What is stored on the way offline, and what happens if the power goes after each step:

1. the lost operation is refused, which frees its tag and its number, and the register's state keeps its content: the
   next start opens the operation again and asks about it as if no session had been begun;
2. the opening document is done: there is no way back. The next start makes the document again;
3. the document is done: its tag has the offline receipt as its answer.

On the way back online the tax service is asked each time what it has under the opening document's number, and that
decides. Only the bytes of both opening documents have to be kept; step 2 stored them.

On protocol B no document revokes another one: if the lost sale is the last document of the tax service at the return,
it is deleted there before the opening document is sent (docs/reference/tax-cabinet.md#offline). The request for that
is signed together with the opening document: the shift may have ended, and its key may be gone at the return.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.channels.interface import Absent, Accepted, IFiscalChannel
from dmtwisted.registers.kept import ABSENT, REVOKED, UNKNOWN, OnlineCopy, Revocation, decode, with_copy
from dmtwisted.registers.totals import LostOnline, RegisterState
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, OperationRow
from dmtwisted.wording import wording


class OnlineCopyRecord(msgspec.Struct):
    """What became of the online copy of a document that was made again offline."""

    became: Literal["unknown", "revoked", "absent"]
    number: str
    """Its fiscal number, once it is known."""
    again: str
    """The local number of the document that counts."""
    text: str


def begin_key(first: int) -> str:
    """The key of the operation that opened the session whose first local number is ``first``."""
    return f"{documents.OFFLINE_BEGIN} {first}"


def revocable(operation: OperationRow, state: RegisterState, kinds: frozenset[str]) -> Document | None:
    """The document of ``operation`` if it may be made again offline; `None`: the tax service has to be asked first.

    Without a tag of the caller's its repeat could not be told from another sale, so it waits too.

    :param kinds: of documents that may be revoked.
    """
    if len(operation.documents) != 1 or state.offline is not None or not state.shift_open:
        return None
    row = operation.documents[0]
    document = documents.decode(row.value)
    online = document.offline is None and not row.fiscal_number
    fits = document.kind in kinds and document.number == state.next_number and not document.caller.untagged
    return document if online and fits else None


def lost_in(operation: OperationRow) -> LostOnline:
    """What the state keeps of ``operation`` until its document was made again."""
    row = operation.documents[0]
    named = (operation.kind, operation.key, operation.fingerprint)
    return LostOnline(operation.n, *named, row.value, row.sent, operation.request)


async def read_revocation(store: IStore, device_n: int, kind: str, first: int) -> Revocation:
    """The revocation that the opening document with the local number ``first`` keeps.

    :raises Refused: 1074 when it is no longer in the journal.
    """
    begun = await store.find(device_n, kind, begin_key(first))
    revocation = decode(begun.request).revocation if begun is not None else None
    if revocation is None:
        raise Refused(
            Res.COLLISION_UNSOLVABLE, aq_errortxt=wording(f"the offline begin {first} is not in the journal")
        )
    return revocation


async def begin_to_send(store: IStore, channel: IFiscalChannel, lost: Revocation, first: int, plain: bytes) -> bytes:
    """The opening document to submit: ``plain``, or the one that revokes the online copy, if there is such a copy.

    :raises Refused: 1074 when another document has its number; as the query fails.
    """
    found = await channel.probe(first, plain)
    if isinstance(found, Accepted):
        # It arrived before, in the form that was right then.
        return plain
    if isinstance(found, Absent):
        await _note(store, lost.operation, OnlineCopy(again=first + 1, became=ABSENT), unless=REVOKED)
        return plain
    if found.res is Res.COLLISION_UNSOLVABLE:
        found = await channel.probe(first, lost.sent)
        if isinstance(found, Accepted):
            await _note(store, lost.operation, OnlineCopy(first + 1, REVOKED, found.fiscal_number))
            if channel.closes:
                return lost.revoking
            await channel.withdraw(found.fiscal_number, lost.revoking)
            reached("offline.copy-deleted")
            return plain
        if isinstance(found, Absent):
            raise Refused(
                Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=wording(f"the server is not sure about document {first}")
            )
    raise Refused(found.res, aq_errortxt=wording(found.why))


async def _note(store: IStore, n: int, copy: OnlineCopy, unless: str = "") -> None:
    """Keep what became of the online copy, for people, before the opening document is sent.

    :param unless: what was kept before and stays: a copy that was deleted is absent from then on.
    """
    found = await store.find_operations(OperationQuery(n=n))
    for operation in found.operations:
        known = decode(operation.request).online_copy
        if known is not None and known.became == unless:
            continue
        noted = with_copy(operation.request, copy)
        if operation.request != noted:
            await store.note(n, noted)
            reached("offline.copy-noted")


def online_copy_of(request: bytes, language: str) -> OnlineCopyRecord | None:
    """What became of a lost operation's online copy, for programs and people; `None` for any other operation."""
    copy = decode(request).online_copy
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
