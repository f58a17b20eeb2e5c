"""How far each subscriber has got each device's events, kept durable without a transaction for each."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.clock import ServiceClock
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DeadLetter, HookCursor, StoreFailed

AGAIN_S = 5.0
"""Seconds until the store is asked again that did not answer."""


class Cursors:
    """Keeps cursors; those that come while one transaction is under way share the next one."""

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock) -> None:
        self._store, self._clock = store, clock
        self._rows: dict[tuple[str, int], HookCursor] = {}
        self._dead: list[DeadLetter] = []
        self._waiting: list[Deferred[Any]] = []
        self._busy = self._ending = False
        self._pause: Deferred[None] | None = None

    def end(self) -> None:
        """Wait no longer for a store that does not answer: what waits fails with `StoreFailed`."""
        self._ending = True
        if self._pause is not None:
            self._pause.cancel()

    def keep(self, cursors: list[HookCursor], dead: list[DeadLetter] | None = None) -> Deferred[Any]:
        """Keep cursors, with letters that are dead now; fires when they are durable, however long that takes."""
        self._rows.update({(one.subscriber, one.device_n): one for one in cursors})
        self._dead += dead or []
        kept: Deferred[Any] = Deferred()
        self._waiting.append(kept)
        if not self._busy:
            self._busy = True
            Deferred.fromCoroutine(self._write())
        return kept

    async def _write(self) -> None:
        while self._waiting:
            rows, dead, waiting = list(self._rows.values()), self._dead, self._waiting
            self._rows, self._dead, self._waiting = {}, [], []
            failure = await self._stored(rows, dead) if rows or dead else None
            for kept in waiting:
                if not kept.called:
                    kept.callback(failure)
        self._busy = False

    async def _stored(self, rows: list[HookCursor], dead: list[DeadLetter]) -> Failure | None:
        """Store these, sooner or later; return the failure when nobody waits any more."""
        while True:
            try:
                await self._store.keep_cursors(rows, dead)
                return None
            except StoreFailed as error:
                self.log.warn("what subscribers have got waits for the database: {why}", why=str(error))
                if self._ending:
                    return Failure()
            self._pause = deferLater(self._clock, AGAIN_S)
            with suppress(CancelledError):
                await self._pause
            self._pause = None
