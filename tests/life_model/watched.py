"""Watches the real service on a shop day: each write to the journal as a transition of the table."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from dmtwisted.batch.saga import Step
from tests.life_model.table import INTENDED, NONE, TABLES, UNKNOWN
from tests.simulated_days.world import Watch

OF_ONE = {"conclude": lambda arguments: arguments[0].n, "note": lambda arguments: arguments[0]}
OF_ONE["accept_document"] = OF_ONE["note"]
"""The number of the operation that a verb changes."""

NEW = ("reserve", "conclude_at_once")


class Transitions(Watch):
    """``seen`` has each transition: kind, state before, verb, state after."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str, str, str]] = Counter()
        self._before: tuple[str, str] | None = None
        self._last = 0

    def before(self, verb: str, arguments: tuple[Any, ...]) -> None:
        """Remember the state."""
        if verb in OF_ONE:
            self._before = self._state(OF_ONE[verb](arguments))
        elif verb in NEW:
            self._last = self._newest()

    def after(self, verb: str, arguments: tuple[Any, ...]) -> None:
        """Count the transition."""
        if verb in OF_ONE and self._before is not None:
            after = self._state(OF_ONE[verb](arguments))
            assert after is not None
            self.seen[*self._before, verb, after[1]] += 1
        elif verb in NEW and self._newest() > self._last:
            after = self._state(self._newest())
            if after is not None:
                self.seen[after[0], NONE, verb, after[1]] += 1

    @property
    def _db(self) -> Any:
        return self.world.database._db

    def _newest(self) -> int:
        [(n,)] = self._db.execute("SELECT coalesce(max(n), 0) FROM operation").fetchall()
        return int(n)

    def _state(self, n: int) -> tuple[str, str] | None:
        """Kind and state of an operation, with how far it came; `None` for one of another kind."""
        row = self._db.execute("SELECT kind, state, request FROM operation WHERE n = ?", (n,)).fetchone()
        if row is None:
            return None
        kind, state, request = row
        if kind in ("fiscal", "untagged"):
            asked = "SELECT 1 FROM document WHERE operation_n = ? AND state = 'done'"
            half = state in (INTENDED, UNKNOWN) and self._db.execute(asked, (n,)).fetchone()
            return "fiscal", f"{state} half" if half else state
        if kind not in TABLES:
            return None
        members = json.loads(request)
        if kind == "pkg":
            return kind, f"{state} {members.get('step', Step.PAYING)}"
        return kind, "sent" if state == INTENDED and members.get("sent") else state
