"""Move a database: copy every row into another database, which may be of another kind.

Rows are copied in portions, in the order of their keys. Each portion is one transaction with a note of the progress:
after a kill at any moment, the next run continues after the last committed portion. Until the end the target has the
revision `MOVING`, so no service works with it. At the end both databases are read from the first row to the last and
their sums are compared; only then can services use the target. The source is only read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from dmtwisted.crash_points import reached
from dmtwisted.store.carry.looking import expect_fit, fitness
from dmtwisted.store.carry.recording import record
from dmtwisted.store.revisions import MOVING, head
from dmtwisted.store.rows import NOTES, PAGE, SCHEMA, CarryError, Rows
from dmtwisted.store.schema import all_tables, shapes
from dmtwisted.store.shapes import Key, Row, Shape, Sum
from dmtwisted.store.values import Change

PATIENCE = 10.0
"""Seconds to wait for a killed run of ours whose end the server has not noticed yet."""

Report = Callable[[str, int, int], None]
"""Called with the current step, the number of rows done, and the number of all rows."""

Make = Callable[[], None]
"""Makes the schema in an empty database."""

Ready = Callable[[], None]
"""Called when every row is there and compared, before services are let in."""

SOURCE = "source"
"""The note that says which database the rows come from."""


@dataclass(frozen=True)
class Moved:
    """The result of a move: rows and sum of each table, and how many rows this run copied."""

    sums: dict[str, Sum]
    carried: int


def move(
    source: Rows,
    target: Rows,
    make: Make,
    report: Report,
    anew: bool = False,
    ready: Ready = lambda: None,
    change: Change | None = None,
) -> Moved:
    """Copy every row of ``source`` into ``target``.

    :param make: makes the schema in the target.
    :param anew: delete first what an earlier run has copied.
    :param ready: called once, before the last step.
    :param change: the record of the move, which the target gets with that step.
    :raises CarryError: when one of them is in use, the source is damaged, the target holds other data, or the sums
        differ.
    """
    source.keep_others_out(PATIENCE)
    target.keep_others_out(PATIENCE)
    expect_fit(source)
    if target.revision() == MOVING and NOTES in target.tables():
        _take_up(source, target, anew)
    else:
        begin(target, make, source.name)
    source.freeze()
    report("integrity", 0, 1)
    wrong = next(source.faults(), "")
    if wrong:
        raise CarryError(f"{source.name} is damaged, and is not moved: {wrong}")
    carried = _carry(source, target, report)
    with target.transaction():
        for shape in shapes():
            if shape.numbered:
                target.set_counter(shape, source.counter(shape))
    reached("move.carried")
    catch_up(target, report)
    sums = compare(source, target, report)
    reached("move.compared")
    ready()
    target.end_notes(head(), lambda: None if change is None else record(target, change))
    return Moved(sums, carried)


def begin(target: Rows, make: Make, source: str) -> None:
    """Prepare an empty target for rows from ``source``: until the end no service works with it.

    :raises CarryError: when it is not empty.
    """
    there = target.tables()
    strange = sorted(there - all_tables() - {"alembic_version"})
    if strange:
        raise CarryError(f"{target.name} holds other tables ({', '.join(strange[:3])}); name an empty database")
    if there and target.revision() is None:
        raise CarryError(f"{target.name} holds tables with our names that are not ours; name an empty database")
    if there and target.revision() != head():
        raise CarryError(f"{target.name} {fitness(target.revision())}; name an empty database")
    if not there:
        make()
    for name in sorted(all_tables()):
        if target.ask(f'SELECT count(*) FROM "{name}"')[0][0]:
            raise CarryError(f"{target.name} holds data already (in {name}); name an empty database")
    target.begin_notes()
    # From now on no service starts with it. One may have started while the schema was made.
    target.keep_others_out(PATIENCE)
    with target.transaction():
        target.note(SOURCE, source)


def expect_same_schema(target: Rows) -> None:
    """Check that no other version has begun to fill a target: its tables may differ.

    :raises CarryError: when another version has.
    """
    if target.notes().get(SCHEMA) != head():
        raise CarryError(f"{target.name} was begun by another version of this program; name an empty database")


def _take_up(source: Rows, target: Rows, anew: bool) -> None:
    """Continue with a target that an earlier run has begun to fill.

    :raises CarryError: when that was another move.
    """
    expect_same_schema(target)
    begun = target.notes().get(SOURCE, source.name)
    if anew:
        with target.transaction():
            target.clear()
            for shape in shapes():
                target.note(shape.name, "{}")
            target.note(SOURCE, source.name)
    elif begun != source.name:
        raise CarryError(f"{target.name}: a move from {begun} is not finished; `--anew` starts from the first row")


def _carry(source: Rows, target: Rows, report: Report) -> int:
    """Copy the missing rows; return how many there were."""
    notes = target.notes()
    places = {shape.name: _read(notes.get(shape.name, "{}")) for shape in shapes()}
    total = sum(source.count(shape) for shape in shapes())
    done = sum(rows for _, rows in places.values())
    carried = 0
    for shape in shapes():
        after, there = places[shape.name]
        report(shape.name, done, total)
        for page in ahead(source.walk(shape, after, PAGE)):
            after, there = shape.key_of(page[-1]), there + len(page)
            with target.transaction():
                target.add(shape, page)
                target.note(shape.name, json.dumps({"after": after, "rows": there}))
            reached("move.portion-carried")
            done, carried = done + len(page), carried + len(page)
            report(shape.name, done, total)
    return carried


def _read(note: str) -> tuple[Key | None, int]:
    """The key of the last copied row, and how many rows were copied."""
    noted = json.loads(note)
    return (tuple(noted["after"]), noted["rows"]) if noted else (None, 0)


def compare(source: Rows, target: Rows, report: Report) -> dict[str, Sum]:
    """Compare the sums of all tables, and return them.

    :raises CarryError: when they differ: it names the first row that differs.
    """
    total = 2 * sum(source.count(shape) for shape in shapes())
    sums, done = {}, 0
    for shape in shapes():
        both = [Sum(), Sum()]

        def advance(shape: Shape = shape, both: list[Sum] = both, done: int = done) -> None:
            report(f"compare {shape.name}", min(done + sum(side.rows for side in both), total), total)

        with ThreadPoolExecutor(1) as beside:
            # Two databases work at the same time, and most of the hashing runs beside other threads.
            theirs = beside.submit(_add_up, both[1], target.walk(shape), lambda: None)
            _add_up(both[0], source.walk(shape), advance)
            theirs.result()
        done += sum(side.rows for side in both)
        if both[0] != both[1]:
            raise CarryError(
                f"{_first_difference(source, target, shape)}: differs between the two. The source was changed while "
                "the move was interrupted; `--anew` starts from the first row"
            )
        sums[shape.name] = both[0]
    return sums


def _add_up(found: Sum, pages: Iterator[list[Row]], advance: Callable[[], None]) -> None:
    for page in pages:
        found.add(page)
        advance()


def ahead(pages: Iterator[list[Row]]) -> Iterator[list[Row]]:
    """The same pages; the next one is read while the one before is processed."""
    with ThreadPoolExecutor(1) as reader:
        coming: Future[list[Row]] = reader.submit(next, pages, [])
        while page := coming.result():
            coming = reader.submit(next, pages, [])
            yield page


def catch_up(target: Rows, report: Report) -> None:
    """Make what was put off in ``target`` while rows went in; after a kill in between, the next run continues."""
    names = target.put_off()
    for number, name in enumerate(names):
        report(name, number, len(names))
        target.catch_up(name)


def _first_difference(source: Rows, target: Rows, shape: Shape) -> str:
    after: Key | None = None
    while True:
        ours, theirs = source.page(shape, after), target.page(shape, after)
        for one, other in zip(ours, theirs, strict=False):
            if one != other:
                return shape.name_of(min(shape.key_of(one), shape.key_of(other)))
        longer = ours if len(ours) > len(theirs) else theirs
        shorter = min(len(ours), len(theirs))
        if len(ours) != len(theirs):
            return shape.name_of(shape.key_of(longer[shorter]))
        if not ours:
            return shape.name
        after = shape.key_of(ours[-1])
