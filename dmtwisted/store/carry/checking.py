"""Is a database whole? Every row of it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from dmtwisted.store.carry.looking import expect_fit
from dmtwisted.store.carry.moving import Report
from dmtwisted.store.carry.rows import CarryError, Rows
from dmtwisted.store.carry.shapes import Key, Row, Shape, Sum, shapes


@dataclass
class Checked:
    """The sum of each table that could be read, and all that is wrong, the worst first."""

    sums: dict[str, Sum] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def check(rows: Rows, report: Report) -> Checked:
    """Read and check everything."""
    found = Checked()
    try:
        expect_fit(rows)
    except CarryError as error:
        found.faults.append(str(error))
        return found
    report("integrity", 0, 1)
    found.faults += rows.faults()
    try:
        total = sum(rows.count(shape) for shape in shapes())
    except CarryError as error:
        found.faults.append(str(error))
        return found
    done = 0
    for shape in shapes():
        try:
            found.sums[shape.name] = _read(rows, shape, found.faults, report, done, total)
        except CarryError as error:
            found.faults.append(str(error))
            continue
        done += found.sums[shape.name].rows
    return found


def _read(rows: Rows, shape: Shape, faults: list[str], report: Report, done: int, total: int) -> Sum:
    """The sum of a table; rows with values of a wrong type are told."""
    read = Sum()
    last: Key | None = None
    for page in rows.walk(shape):
        for row in page:
            strange = _strange(shape, row)
            if strange:
                faults.append(f"{shape.name_of(shape.key_of(row))}: {strange} is not of its type")
        if last is not None and shape.key_of(page[0]) <= last:
            # An index out of order would let us walk in circles.
            raise CarryError(f"{shape.name_of(last)}: the rows after it are out of order")
        last = shape.key_of(page[-1])
        read.add(page)
        report(shape.name, done + read.rows, total)
    return read


def _strange(shape: Shape, row: Row) -> str:
    """The first column whose value is of another type than it should be."""
    for name, kind, value in zip(shape.columns, shape.types, row, strict=True):
        if value is not None and type(value) is not kind:
            return name
    return ""
