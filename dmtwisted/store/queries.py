"""What the statements of several stores share: the conditions of a search, and operations read from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from dmtwisted.store.values import (
    CHANGE,
    EVENT,
    DocumentQuery,
    DocumentRow,
    OperationQuery,
    OperationRow,
    State,
    StoreFailed,
)

OPERATION = (
    'o.n, o.device_n, o.kind, o.task, o."key", o.fingerprint, o.state, o.at, o.res, '
    "coalesce(o.answer, {empty}), coalesce(o.request, {empty}), o.ended_at"
)
"""The columns that `read_operation` reads; ``empty`` is how the server writes no bytes."""

WIDTH = 12
"""How many they are."""

PAPER = "d.number, d.kind, d.shift, d.at, d.sum, d.state, d.fiscal_number, d.value, d.sent"

Text = Callable[[str], str]


class Part(NamedTuple):
    """The operations that an index holds: its name and its condition.

    The condition has to be in a statement as it is written here. A database does not use an index of some rows for
    values that are bound later.
    """

    name: str
    where: str


FISCAL = frozenset({"fiscal", "untagged"})
"""The kinds of which a tag is used once."""

TAGGED = Part("operation_fiscal_tag", "kind IN ('fiscal', 'untagged') AND state <> 'refused'")
REFUSED_TAGS = Part("operation_refused", "kind IN ('fiscal', 'untagged') AND state = 'refused'")
OTHERS = Part("operation_key", "kind <> 'fiscal' AND kind <> 'untagged'")


def parts(*kinds: str) -> list[Part]:
    """Where the operations of ``kinds``, or of all, are by their key; each is in one of them."""
    fiscal = [] if kinds and FISCAL.isdisjoint(kinds) else [TAGGED, REFUSED_TAGS]
    return fiscal if kinds and FISCAL.issuperset(kinds) else [*fiscal, OTHERS]


def by_key(*kinds: str) -> str:
    """The operations of ``kinds``, or of all, as a table that a server can search by key."""
    each = (f"SELECT * FROM operation WHERE {part.where}" for part in parts(*kinds))
    return f"({' UNION ALL '.join(each)}) operation"


class Conditions:
    """The conditions of a search, as SQL and its values.

    :param mark: stands for a value in the SQL of the store.
    """

    def __init__(self, mark: str, *always: str) -> None:
        self._mark, self._conditions = mark, ["1 = 1", *always]
        self.values: list[Any] = []

    @property
    def where(self) -> str:
        """All conditions."""
        return " AND ".join(self._conditions)

    def among(self, column: str, wanted: Sequence[Any]) -> None:
        """``column`` is one of ``wanted``, unless that is empty."""
        if wanted:
            self.when(f"{column} IN ({', '.join([self._mark] * len(wanted))})")
            self.values += wanted

    def when(self, condition: str) -> None:
        """``condition``, which holds no value."""
        self._conditions.append(condition)

    def compare(self, *wanted: tuple[str, Any]) -> None:
        """Each comparison with its value, unless that is `None`."""
        for comparison, value in wanted:
            if value is not None:
                self.when(f"{comparison} {self._mark}")
                self.values.append(value)


def same(text: str) -> str:
    """``text``, where a store keeps texts as they are."""
    return text


def operations_wanted(query: OperationQuery, mark: str, keep: Text = same) -> Conditions:
    """The conditions for operations.

    :param keep: makes of a text what the store keeps for it.
    """
    found = Conditions(mark)
    found.among("device_n", query.devices)
    if query.kinds:
        found.among("kind", query.kinds)
    else:
        found.when(f"kind <> '{CHANGE}' AND kind <> '{EVENT}'")
    found.among("state", [state.value for state in query.states])
    found.compare(
        ('"key" =', keep(query.key) or None),
        ("n =", query.n),
        ("n <", query.below),
        ("at >=", query.at_from),
        ("at <=", query.at_to),
    )
    return found


def documents_wanted(query: DocumentQuery, mark: str, keep: Text = same) -> Conditions:
    """The conditions for accepted documents."""
    found = Conditions(mark, "state = 'done'")
    found.among("device_n", query.devices)
    if query.kinds == ["z"]:
        # Written out, as the index of Z-reports has it: a database does not use it for a value that is bound later.
        found.when("kind = 'z'")
    else:
        found.among("kind", query.kinds)
    if query.fiscal_number:
        # As its index has it.
        found.when("fiscal_number <> ''")
    found.compare(
        ("fiscal_number =", keep(query.fiscal_number) or None),
        ("number =", query.number),
        ("shift >=", query.shift_from),
        ("shift <=", query.shift_to),
        ("at >=", query.at_from),
        ("at <=", query.at_to),
    )
    return found


def read_operations(rows: Iterable[tuple[Any, ...]], kept: Text = same) -> list[OperationRow]:
    """Operations with their documents, from rows of `OPERATION` and `PAPER`.

    :param kept: makes the text again of what the store keeps for it.
    :raises StoreFailed: when a row is damaged.
    """
    found: dict[int, OperationRow] = {}
    for row in rows:
        operation = found.get(row[0])
        if operation is None:
            operation = found[row[0]] = read_operation(row[:WIDTH], kept)
        if row[WIDTH] is not None:
            number, kind, shift, at, total, state, fiscal_number, value, sent = row[WIDTH:]
            operation.documents.append(
                DocumentRow(number, kind, shift, at, total, _state(state), kept(fiscal_number), value, sent)
            )
    return list(found.values())


def read_operation(row: tuple[Any, ...], kept: Text = same) -> OperationRow:
    """An operation without its documents, from a row of `OPERATION`."""
    n, device_n, kind, task, key, fingerprint, state, at, res, answer, request, ended_at = row
    return OperationRow(
        n, device_n, kind, task, kept(key), fingerprint, _state(state), at, res, answer, [], request, ended_at
    )


def _state(text: str) -> State:
    try:
        return State(text)
    except ValueError:
        raise StoreFailed(f"a damaged row: {text!r} is not a state") from None
