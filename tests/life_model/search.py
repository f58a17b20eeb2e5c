"""Visits every state of a model, breadth first: invariants hold in each, and each can still come to a good end."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.life_model.table import NONE, TABLES, allowed


class Model(Protocol):
    """States and steps; a state is a named tuple."""

    def first(self) -> Iterable[Any]:
        """The states in which it begins."""

    def steps(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Everything that can happen next: what, and the state after it."""

    def wrong(self, state: Any) -> str:
        """The invariant that does not hold; empty when all do."""

    def settled(self, state: Any) -> bool:
        """Whether nothing is open any more and everybody knows what became of his task."""


class Journal:
    """Makes the transitions of the table, and no others; ``used`` are those that came."""

    def __init__(self) -> None:
        self.used: set[tuple[str, str, str, str]] = set()
        self._allowed = {kind: allowed(kind) for kind in TABLES}

    def write(self, kind: str, before: str, verb: str, after: str) -> str:
        """The state ``after``.

        :raises AssertionError: when the table has no such row.
        """
        assert (before, verb, after) in self._allowed[kind], f"{kind}: {before} {verb} {after} is no row"
        self.used.add((kind, before, verb, after))
        return after

    def intend(self, kind: str, first: str) -> str:
        """A new operation; an earlier one of the same tag was refused."""
        return self.write(kind, NONE, "reserve", first)


@dataclass
class Explored:
    """What a search came to."""

    states: int = 0
    steps: int = 0
    depth: int = 0
    settled: int = 0
    wrong: list[str] = field(default_factory=list)
    """Each with the way to it."""


def explore(model: Model, most: int = 5_000_000) -> Explored:
    """Visit every state, at most so many."""
    found = Explored()
    known: dict[Hashable, int] = {}
    states: list[Any] = []
    came: list[tuple[int, str]] = []
    back: list[list[int]] = []

    def meet(state: Any, parent: int, what: str) -> None:
        n = known.get(state)
        if n is None:
            n = known[state] = len(states)
            states.append(state)
            came.append((parent, what))
            back.append([])
        if parent >= 0:
            back[n].append(parent)

    def way(n: int) -> str:
        steps = []
        while n >= 0:
            parent, what = came[n]
            steps.append(what)
            n = parent
        return "; ".join(reversed(steps))

    for state in model.first():
        meet(state, -1, "begin")
    at, edge = 0, len(states)
    while at < len(states) and len(states) <= most and len(found.wrong) < 5:
        if at == edge:
            found.depth, edge = found.depth + 1, len(states)
        state = states[at]
        if wrong := model.wrong(state):
            found.wrong.append(f"{wrong}: {way(at)}: {state}")
        for what, after in model.steps(state):
            found.steps += 1
            meet(after, at, what)
        at += 1
    found.states = len(states)
    good = [n for n, state in enumerate(states) if model.settled(state)]
    found.settled = len(good)
    reached, todo = set(good), list(good)
    while todo:
        for before in back[todo.pop()]:
            if before not in reached:
                reached.add(before)
                todo.append(before)
    stuck = next((n for n in range(at) if n not in reached), None) if not found.wrong else None
    if stuck is not None:
        found.wrong.append(f"it comes to no good end: {way(stuck)}: {states[stuck]}")
    return found
