"""Records of changes by commands, while no service works with the database: added to the rows, and sealed."""

from __future__ import annotations

from typing import Any

from dmtwisted.store.events import HAPPENED
from dmtwisted.store.rows import Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.seals import GENESIS, OPERATION_COLUMNS, content_hash, link
from dmtwisted.store.shapes import Shape
from dmtwisted.store.values import CHANGE, Change, State


def record(rows: Rows, change: Change) -> int:
    """Keep a change with its seal, within the transaction of the caller; return its number."""
    operation = _shape("operation")
    members: dict[str, Any] = {
        "n": rows.counter(operation) + 1,
        "device_n": change.device_n,
        "kind": CHANGE,
        "task": 0,
        "res": 0,
        "key": change.subject,
        "fingerprint": b"",
        "state": str(State.DONE),
        "at": change.at,
        "ended_at": change.at,
        "request": change.request,
    }
    _add(rows, operation, members)
    _seal(rows, members)
    return int(members["n"])


def end(rows: Rows, n: int, request: bytes) -> None:
    """Keep the outcome of the change ``n``, within the transaction of the caller."""
    operation = _shape("operation")
    [row] = rows.pick(operation, "n", [n])
    rows.ask(f"DELETE FROM operation WHERE n = {n}")
    members = {**dict(zip(operation.columns, row, strict=True)), "request": request}
    _add(rows, operation, members)
    _seal(rows, members)


def _seal(rows: Rows, operation: dict[str, Any]) -> None:
    seal, chain = _shape("seal"), _shape("chain")
    n, device_n = operation["n"], operation["device_n"]
    known = rows.pick(chain, "device_n", [device_n])
    began = {"count": 0, "hash": GENESIS, "anchor": GENESIS, "removed": 0}
    chained = dict(zip(chain.columns, known[0], strict=True)) if known else {"device_n": device_n, **began}
    content = content_hash([operation.get(name) for name in OPERATION_COLUMNS], [])
    hash = link(chained["hash"], device_n, n, content)
    place = {"n": rows.counter(seal) + 1, "device_n": device_n, "operation_n": n}
    _add(rows, seal, {**place, "content": content, "chain": hash, "event": HAPPENED})
    rows.ask(f"DELETE FROM chain WHERE device_n = {device_n}")
    _add(rows, chain, {**chained, "count": chained["count"] + 1, "hash": hash})


def _shape(name: str) -> Shape:
    return next(shape for shape in shapes() if shape.name == name)


def _add(rows: Rows, shape: Shape, members: dict[str, Any]) -> None:
    rows.add(shape, [tuple(members.get(column) for column in shape.columns)])
    if shape.numbered:
        rows.set_counter(shape, members["n"])
