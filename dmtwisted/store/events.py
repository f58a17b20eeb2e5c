"""Events in the store: the seals of outcomes, read again in their order.

Each outcome adds a seal to the chain of its device in the same transaction (`dmtwisted.store.seals`). The column
`event` of the seal holds which outcome it was, or 0 for a seal that tells nothing new: of retention, of a note. So an
event costs no row, is there exactly when its outcome is, and the order of a device is that of its chain.

A verb whose answer was lost may be done twice by a server's store. Both seals have the same content then; the first
one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dmtwisted.store.queries import OPERATION, WIDTH, Text, read_operation, same
from dmtwisted.store.values import DocumentRow, EventPage, EventRow, State, StoreFailed

CODES = {State.DONE: 1, State.REFUSED: 2, State.UNKNOWN: 3}
"""`event` of the seal of each outcome."""

NOTHING, HAPPENED = 0, CODES[State.DONE]

_STATES = {code: state for state, code in CODES.items()}

SCANNED = 5000
"""Seals that one question looks at, at most: others wait for the reader meanwhile."""

_PAPER = "d.number, d.kind, d.shift, d.at, d.sum, d.state, d.fiscal_number"

_EVENTS = (
    "SELECT s.n, s.device_n, s.chain, s.event, CASE WHEN EXISTS (SELECT 1 FROM seal l "
    "WHERE l.operation_n = s.operation_n AND l.n > s.n AND l.event > 0 AND l.content <> s.content) "
    "THEN 0 ELSE 1 END, {operation}, {paper} FROM (SELECT {first}s.n, s.device_n, s.operation_n, s.content, s.chain, "
    "s.event FROM seal s "
    "WHERE s.n > {mark} AND s.n <= {mark} AND s.event > 0{devices} AND NOT EXISTS (SELECT 1 FROM seal e "
    "WHERE e.operation_n = s.operation_n AND e.n < s.n AND e.event > 0 AND e.content = s.content) "
    "ORDER BY s.n{last}) s LEFT JOIN operation o ON o.n = s.operation_n "
    "LEFT JOIN document d ON d.operation_n = o.n ORDER BY s.n, d.n"
)

_HEAD = 5
"""Columns before those of the operation."""


def events_between(mark: str, empty: str, devices: Sequence[int], first: str = "", last: str = "") -> str:
    """The statement for the events after one place up to another one, of some devices or of all.

    An event whose operation retention has removed is a row too: who reads has missed it.

    :param mark: stands for a value.
    :param empty: how the server writes no bytes.
    :param first: limits the number of events before the columns, ``last`` after the order.
    """
    among = f" AND s.device_n IN ({', '.join(map(str, map(int, devices)))})" if devices else ""
    operation = OPERATION.format(empty=empty)
    return _EVENTS.format(mark=mark, operation=operation, paper=_PAPER, devices=among, first=first, last=last)


def end_of_look(after: int, first: int | None, top: int) -> int:
    """The place up to which one question looks; ``first`` is the first seal after ``after``, ``top`` the last one."""
    return after if first is None or first > top else min(first + SCANNED, top)


def page_of(rows: Iterable[tuple[Any, ...]], limit: int, end: int, chain: bytes, kept: Text = same) -> EventPage:
    """The page that the rows of `events_between` are.

    :param end: up to where was looked.
    :param kept: makes the text again of what the store keeps for it.
    :raises StoreFailed: when a row is damaged.
    """
    found: dict[int, EventRow | None] = {}
    for row in rows:
        n, device_n, seal, code, last = row[:_HEAD]
        if row[_HEAD] is None:
            found[n] = None
            continue
        event = found.get(n)
        if event is None:
            if code not in _STATES:
                raise StoreFailed(f"a damaged row: {code!r} is not a state")
            operation = read_operation(row[_HEAD : _HEAD + WIDTH], kept)
            event = found[n] = EventRow(n, device_n, bytes(seal), _STATES[code], bool(last), operation)
        if row[_HEAD + WIDTH] is not None:
            number, kind, shift, at, total, state, fiscal_number = row[_HEAD + WIDTH :]
            event.operation.documents.append(
                DocumentRow(number, kind, shift, at, total, State(state), kept(fiscal_number), b"", b"")
            )
    events = [event for event in found.values() if event is not None]
    return EventPage(events, max(found) if len(found) >= limit else end, chain, len(events) < len(found))
