"""The chain of seals (`dmtwisted.store.seals`) in the SQL of PostgreSQL: parts of the one statement of a verb.

They seal any number of operations at once, each of another device.

The server calculates the hashes itself, from the rows as the statement leaves them. The row of the device in `chain`
is locked while its chain grows, so that the seals are in the order of their numbers; other devices do not wait for
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmtwisted.store.events import CODES, HAPPENED, NOTHING
from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.seals import (
    ABSENT_LENGTH,
    ABSENT_NUMBER,
    DOCUMENT_BODIES,
    DOCUMENT_NUMBERS,
    GENESIS,
    OPERATION_BODIES,
    OPERATION_NUMBERS,
    TEXTS,
)
from dmtwisted.store.values import CHANGE, EVENT, ChainRow, ConcludedRow, SealRow


def _encoded(alias: str, numbers: Sequence[str], bodies: Sequence[str]) -> str:
    """These columns in the encoding of `seals.content_hash`."""
    whole = [f"int8send(coalesce({alias}.{name}, {ABSENT_NUMBER}))" for name in numbers]
    bytes_of = [f"convert_to({alias}.{name}, 'UTF8')" if name in TEXTS else f"{alias}.{name}" for name in bodies]
    sizes = [f"int8send(coalesce(octet_length({body}), {ABSENT_LENGTH}))" for body in bytes_of]
    return " || ".join((*whole, *sizes, *(f"coalesce({body}, ''::bytea)" for body in bytes_of)))


_PAPERS = f"string_agg({_encoded('d', DOCUMENT_NUMBERS, DOCUMENT_BODIES)}, ''::bytea ORDER BY d.n)"
_WHOLE = f"sha256({_encoded('o', OPERATION_NUMBERS, OPERATION_BODIES)} || coalesce(({{papers}}), ''::bytea))"
_STORED = _WHOLE.format(papers=f"SELECT {_PAPERS} FROM document d WHERE d.operation_n = o.n")

_GENESIS = f"'\\x{GENESIS.hex()}'::bytea"

_SEALED = f"""
fresh AS MATERIALIZED (
    SELECT o.device_n, o.n, {{event}} AS event, {{content}} AS content FROM op o WHERE o.state <> 'intended'),
place AS MATERIALIZED (
    SELECT device_n, n, event, content, int8send(device_n) || int8send(n) || content AS link FROM fresh),
head AS (
    INSERT INTO chain (device_n, count, hash, anchor, removed)
    SELECT device_n, 1, sha256({_GENESIS} || link), {_GENESIS}, 0 FROM place ORDER BY device_n
    ON CONFLICT (device_n) DO UPDATE
    SET count = chain.count + 1,
        hash = sha256(chain.hash || (SELECT link FROM place WHERE place.device_n = chain.device_n))
    RETURNING device_n, hash),
sealed AS (
    INSERT INTO seal (device_n, operation_n, content, chain, event)
    SELECT device_n, place.n, place.content, head.hash, place.event FROM head JOIN place USING (device_n))"""

# The end of a change is told; how far another operation came is not.
_NOTED = f"CASE WHEN o.kind IN ('{CHANGE}', '{EVENT}') THEN {HAPPENED} ELSE {NOTHING} END"

SEALED = _SEALED.format(event=_NOTED, content=_STORED)
"""Seals the operation of ``op``, whose documents the statement does not change: a change, or one that was noted."""

_CHANGED = (
    f"SELECT {_PAPERS} FROM (SELECT * FROM papers WHERE operation_n = o.n UNION ALL SELECT * FROM document "
    "WHERE operation_n = o.n AND n NOT IN (SELECT n FROM papers)) d"
)

_EACH = " ".join(f"WHEN '{state.value}' THEN {code}" for state, code in CODES.items())
_OUTCOME = f"CASE o.state {_EACH} END"
_OF_PAPERS = _WHOLE.format(papers=_CHANGED)

CONCLUDED = _SEALED.format(event=_OUTCOME, content=_OF_PAPERS)
"""Seals the outcome of ``op``, some of whose documents are changed and returned by ``papers``."""

SEALED_WITH_PAPERS = _SEALED.format(event=NOTHING, content=_OF_PAPERS)
"""The same for an operation that was concluded before."""


async def chains(session: Session, attempt: object) -> list[ChainRow]:
    rows = await session.ask("SELECT device_n, count, hash, anchor, removed FROM chain ORDER BY device_n")
    return [ChainRow(*row) for row in rows]


async def seals(session: Session, attempt: object, after: int, limit: int) -> list[SealRow]:
    rows = await session.ask(
        f"SELECT s.n, s.device_n, s.operation_n, s.content, s.chain, "
        f"(SELECT {_STORED} FROM operation o WHERE o.n = s.operation_n), "
        "NOT EXISTS (SELECT 1 FROM seal later WHERE later.operation_n = s.operation_n AND later.n > s.n) "
        "FROM (SELECT * FROM seal WHERE n > %s ORDER BY n LIMIT %s) s ORDER BY s.n",
        (after, limit),
    )
    return [SealRow(*row) for row in rows]


async def concluded(session: Session, attempt: object, after: int, limit: int) -> list[ConcludedRow]:
    rows = await session.ask(
        "SELECT n, device_n, EXISTS (SELECT 1 FROM seal WHERE seal.operation_n = operation.n AND seal.n > 0) "
        "FROM operation WHERE n > %s AND state <> 'intended' ORDER BY n LIMIT %s",
        (after, limit),
    )
    return [ConcludedRow(*row) for row in rows]
