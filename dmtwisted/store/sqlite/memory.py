"""A store in memory: the statements of the SQLite store, run at once."""

from __future__ import annotations

import sqlite3
from typing import Any

from twisted.internet.defer import Deferred, execute, fail

from dmtwisted.store.interface import READS, IStore
from dmtwisted.store.schema import ddl
from dmtwisted.store.sqlite.wire import BY_NAME, Deframer, Verb, frame
from dmtwisted.store.sqlite.writer import run_batch
from dmtwisted.store.values import StoreFailed


class MemoryStore(IStore):
    """For tests and trials; ``broken`` makes every verb fail, as a full disk would."""

    def __init__(self) -> None:
        self.broken = False
        self._db: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Make an empty database, unless there is one from before a `close`."""
        if self._db is None:
            self._db = sqlite3.connect(":memory:", isolation_level=None)
            for statement in ddl():
                self._db.execute(statement)

    async def close(self) -> None:
        """Nothing is under way; the content stays for the next `open`."""

    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
        assert self._db is not None, "the store is not open"
        if self.damage and verb not in READS:
            return fail(StoreFailed(self.damage))
        if self.broken:
            return fail(StoreFailed("database or disk is full"))
        return execute(self._run, self._db, BY_NAME[verb], arguments)

    def _run(self, db: sqlite3.Connection, verb: Verb, arguments: tuple[Any, ...]) -> Any:
        # Through the same frames as the writer process, so that callers share no object with the store.
        asked = frame(1, verb.index, verb.pack_arguments(arguments))
        batch = [(seq, verb, body) for seq, _, body in Deframer().feed(asked)]
        [(_, status, body)] = Deframer().feed(b"".join(run_batch(db, batch)))
        return verb.value(status, body)
