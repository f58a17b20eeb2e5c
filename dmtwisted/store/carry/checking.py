"""Check that a database is whole: read every row of it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from dmtwisted.store.carry.looking import expect_fit
from dmtwisted.store.carry.moving import Report
from dmtwisted.store.rows import Away, CarryError, Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.seals import DOCUMENT_COLUMNS, OPERATION_COLUMNS, content_hash
from dmtwisted.store.shapes import Key, Row, Shape, Sum
from dmtwisted.store.values import ChainRow, SealRow
from dmtwisted.store.verification import Flaw, Walk, Wrong


@dataclass
class Checked:
    """The sum of each table that could be read, and all faults, the worst first."""

    sums: dict[str, Sum] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def check(rows: Rows, report: Report) -> Checked:
    """Read and check everything.

    :raises CarryError: when a service works with a database that cannot be read at one moment.
    """
    if not rows.one_moment:
        rows.keep_others_out(0)
    found = Checked()
    try:
        expect_fit(rows)
    except Away:
        raise
    except CarryError as error:
        found.faults.append(str(error))
        return found
    report("integrity", 0, 1)
    found.faults += rows.faults()
    try:
        total = sum(rows.count(shape) for shape in shapes())
    except Away:
        raise
    except CarryError as error:
        found.faults.append(str(error))
        return found
    done = 0
    for shape in shapes():
        try:
            found.sums[shape.name] = _read(rows, shape, found.faults, report, done, total)
        except Away:
            raise
        except CarryError as error:
            found.faults.append(str(error))
            continue
        done += found.sums[shape.name].rows
    if len(found.sums) == len(shapes()):
        # When some rows cannot be read, the chain would only report them again.
        flaw = follow(rows, report)
        if flaw is not None:
            found.faults.append(str(flaw))
    return found


def follow(rows: Rows, report: Report) -> Flaw | None:
    """The first row that does not match its seal (`dmtwisted.store.verification`); `None` when all match.

    :raises CarryError: when something cannot be read.
    """
    seal, chain, operation, document = (_shape(name) for name in ("seal", "chain", "operation", "document"))
    chains = [ChainRow(*_part(chain, row, ChainRow.__struct_fields__)) for page in rows.walk(chain) for row in page]
    walk, total = Walk(chains), rows.count(seal)
    report("seals", 0, total)
    for page in rows.walk(seal):
        places = [_part(seal, row, ("n", "device_n", "operation_n", "content", "chain")) for row in page]
        wanted = sorted({place[2] for place in places})
        papers: dict[int, list[Row]] = {n: [] for n in wanted}
        at = document.columns.index("operation_n")
        for paper in rows.pick(document, "operation_n", wanted):
            papers[paper[at]].append(_part(document, paper, DOCUMENT_COLUMNS))
        actual = {}
        for row in rows.pick(operation, "n", wanted):
            sealed = _part(operation, row, OPERATION_COLUMNS)
            actual[sealed[0]] = _hash(sealed, papers[sealed[0]])
        numbers = ", ".join(map(str, wanted))
        newest = dict(
            rows.ask(f"SELECT operation_n, max(n) FROM seal WHERE operation_n IN ({numbers}) GROUP BY operation_n")
        )
        flaw = walk.take(
            SealRow(n, device_n, operation_n, content, link, actual.get(operation_n), newest[operation_n] == n)
            for n, device_n, operation_n, content, link in places
        )
        if flaw is not None:
            return flaw
        report("seals", walk.seen, total)
    flaw = walk.end(chains)
    [(unsealed,)] = rows.ask(UNSEALED) if flaw is None else [(None,)]
    if unsealed is None:
        return flaw
    [found] = rows.pick(operation, "n", [unsealed])
    return Flaw(Wrong.UNSEALED, _part(operation, found, ("device_n",))[0], unsealed)


UNSEALED = (
    "SELECT min(o.n) FROM operation o WHERE o.state <> 'intended' "
    "AND NOT EXISTS (SELECT 1 FROM seal s WHERE s.operation_n = o.n AND s.n > 0)"
)


def _shape(name: str) -> Shape:
    return next(shape for shape in shapes() if shape.name == name)


def _part(shape: Shape, row: Row, columns: Iterable[str]) -> Row:
    return tuple(row[shape.columns.index(name)] for name in columns)


def _hash(operation: Row, documents: list[Row]) -> bytes:
    try:
        return content_hash(operation, documents)
    except (ValueError, struct.error):
        # A value that our rows never hold.
        return b""


def _read(rows: Rows, shape: Shape, faults: list[str], report: Report, done: int, total: int) -> Sum:
    """The sum of a table; rows with a value of a wrong type are added to ``faults``."""
    read = Sum()
    last: Key | None = None
    for page in rows.walk(shape):
        for row in page:
            for name, kind, value in zip(shape.columns, shape.types, row, strict=True):
                if value is not None and type(value) is not kind:
                    faults.append(f"{shape.name_of(shape.key_of(row))}: {name} is not of its type")
                    break
        if last is not None and shape.key_of(page[0]) <= last:
            # With an index out of order the walk would never end.
            raise CarryError(f"{shape.name_of(last)}: the rows after it are out of order")
        last = shape.key_of(page[-1])
        read.add(page)
        report(shape.name, done + read.rows, total)
    return read
