"""Sessions on a Microsoft SQL Server, each with its own connection and thread.

pymssql blocks its thread while it waits for the server; Twisted's adbapi lends it one. A lost session reconnects by
itself, and an idle session checks now and then whether it is still connected.

Each connection holds a lock at the server under its own name. The server releases the lock when the connection has
ended there and its transaction is undone: who gets the lock knows that nothing of the connection is still at work.
This needs no permission beyond that of an ordinary database role.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from twisted.enterprise import adbapi
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from dmtwisted.store.mssql.driver import DRIVER, LOST_NUMBERS, load_driver, number_of, public_words, words_of
from dmtwisted.store.sessions import AWAY, Lost, Patience, Rows, pauses
from dmtwisted.store.values import NameTaken, StoreFailed

T = TypeVar("T")

WATCH = 5.0
"""Seconds after which an idle session checks whether it is still connected; a takeover waits longer."""

DEADLOCK = 1205
"""The server chose our transaction as the deadlock victim: all of it is undone, and it may be tried again at once."""

LOCKED = 1222
"""A lock did not become free in time."""

DUPLICATES = frozenset({2601, 2627})
"""A unique index or constraint has such a row already."""

TRIES = 10
"""How often a transaction is tried that the server undid in favour of others."""

SET_UP = (
    # A statement that fails undoes its whole transaction.
    "SET XACT_ABORT ON",
    "SET NOCOUNT OFF",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    # Filtered indexes require these settings of a connection that writes.
    "SET ANSI_NULLS ON",
    "SET ANSI_WARNINGS ON",
    "SET ANSI_PADDING ON",
    "SET QUOTED_IDENTIFIER ON",
    "SET CONCAT_NULL_YIELDS_NULL ON",
    "SET ARITHABORT ON",
    "SET NUMERIC_ROUNDABORT OFF",
)

LOCK = (
    "DECLARE @got INT; EXEC @got = sp_getapplock @Resource = %s, @LockMode = '{mode}', "
    "@LockOwner = 'Session', @LockTimeout = %s; SELECT @got"
)
"""At least 0 when the lock is ours, exclusive or shared; the time in milliseconds."""

IN_USE = "dmtwisted in use"
"""The lock that sessions of services share, and that a command which changes everything takes exclusively."""

UNLOCK = "EXEC sp_releaseapplock @Resource = %s, @LockOwner = 'Session'"


class Duplicate(Exception):
    """The row exists already; the text names the index. The transaction is undone."""


class Again(Exception):
    """Another session made the row between two statements of ours; the transaction is undone and tried again."""


class Uncertain(Exception):
    """The end of a transaction was not confirmed: its outcome is not known."""


class Link:
    """A session within its thread, for the statements of one verb.

    :param lock_ms: milliseconds that a statement waits for a lock.
    """

    def __init__(self, driver: Any, cursor: Any, lock_ms: int) -> None:
        self._driver, self._cursor, self._lock_ms = driver, cursor, lock_ms
        self.changed = 0
        """How many rows the last statement changed."""

    def ask(self, statement: str, values: Sequence[Any] = ()) -> Rows:
        """The rows of a statement; an empty list when it returns none.

        :raises Duplicate: when a row exists already.
        """
        try:
            self._cursor.execute(statement, tuple(values) if values else None)
        except self._driver.Error as error:
            if number_of(error) not in DUPLICATES:
                raise
            self.undo()
            raise Duplicate(words_of(error)) from None
        self.changed = self._cursor.rowcount
        return [tuple(row) for row in self._cursor.fetchall()] if self._cursor.description else []

    def ask_within(self, milliseconds: int, statement: str) -> Rows | None:
        """The rows of a statement outside of a transaction; `None` when a lock would take it longer."""
        self.ask(f"SET LOCK_TIMEOUT {milliseconds}")
        try:
            return self.ask(statement)
        except self._driver.Error as error:
            if number_of(error) != LOCKED:
                raise
            return None
        finally:
            self.ask(f"SET LOCK_TIMEOUT {self._lock_ms}")

    def change(self, update: str, insert: str, values: Sequence[Any], more: Sequence[Any] = ()) -> None:
        """Change a row, or make it when there is none; ``insert`` takes ``more`` after the same values.

        :raises Again: when another session made it meanwhile.
        """
        self.ask(update, values)
        if not self.changed:
            self.make(insert, (*values, *more))

    def make(self, insert: str, values: Sequence[Any]) -> None:
        """Make a row.

        :raises Again: when another session made it meanwhile.
        """
        try:
            self.ask(insert, values)
        except Duplicate:
            raise Again("the row was made meanwhile") from None

    def begin(self) -> None:
        """Begin a transaction; otherwise each statement is its own transaction."""
        self.ask("BEGIN TRANSACTION")

    def commit(self) -> None:
        """End the transaction: what it did is durable.

        :raises Uncertain: when the server does not confirm that.
        """
        try:
            self.ask("COMMIT TRANSACTION")
        except self._driver.Error as error:
            raise Uncertain(words_of(error)) from None

    def undo(self) -> None:
        """Undo the transaction, if there is one."""
        self._cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")


class Session:
    """One session on the server, lent to one verb at a time (`ISession`).

    :param parameters: server and login, as `read_url` returns them.
    :param names: gives each connection its own name.
    :param lost: called when the session was lost.
    :param back: called when it is connected again.
    """

    log = Logger()

    def __init__(
        self,
        reactor: Any,
        parameters: dict[str, str],
        names: Iterator[str],
        patience: Patience,
        lost: Callable[[Session], None],
        back: Callable[[Session], None],
    ) -> None:
        self.reactor, self._parameters, self._names, self._patience = reactor, parameters, names, patience
        self._report_lost, self._report_back = lost, back
        self.name = ""
        self._turn = DeferredLock()
        """One question at a time: there is one thread."""
        self._threads: adbapi.ConnectionPool | None = None
        self._alive = self._stopped = False
        self._pauses = pauses()
        self._call: IDelayedCall | None = None

    @property
    def alive(self) -> bool:
        return self._alive

    @property
    def _lock_ms(self) -> int:
        return int(self._patience.statement * 1000)

    # Connection

    async def start(self) -> None:
        load_driver()
        try:
            await self._reach()
        except Lost as error:
            raise StoreFailed(f"{AWAY}: {error}") from None
        self._is_back()

    def start_later(self) -> None:
        self._later()

    def close(self) -> None:
        if self._alive:
            self._was_lost()

    async def stop(self) -> None:
        self._stopped, self._alive = True, False
        self._forget_call()
        async with self._turn:
            await self._hang_up()

    def _later(self) -> None:
        self._forget_call()
        if not self._stopped:
            self._call = self.reactor.callLater(next(self._pauses), lambda: Deferred.fromCoroutine(self._come_back()))

    def _forget_call(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    async def _come_back(self) -> None:
        self._call = None
        try:
            await self._reach()
        except (Lost, StoreFailed):
            self._later()
        else:
            self._is_back()

    def _is_back(self) -> None:
        if not self._stopped:
            self._alive, self._pauses = True, pauses()
            self._watch_later()
            self._report_back(self)

    def _was_lost(self) -> None:
        self._alive = False
        self._report_lost(self)
        self._later()

    def _watch_later(self) -> None:
        self._forget_call()
        self._call = self.reactor.callLater(WATCH, lambda: Deferred.fromCoroutine(self._watch()))

    async def _watch(self) -> None:
        """Check whether the session is still connected, unless it is in use."""
        self._call = None
        if not self._turn.locked:
            with suppress(Lost, StoreFailed):
                await self.run(lambda link: link.ask("SELECT 1"))
        if self._alive and self._call is None and not self._stopped:
            self._watch_later()

    async def _reach(self) -> None:
        """Connect and set up, with a new name and a new thread.

        :raises Lost: when the server cannot be reached.
        """
        async with self._turn:
            await self._hang_up()
            if self._stopped:
                raise StoreFailed("the session is being stopped")
            self.name = next(self._names)
            self._threads = self._new_threads()
            try:
                await self._threads.runWithConnection(self._set_up)
            except Exception as error:
                await self._hang_up()
                raise Lost(self.name, words_of(error)) from None

    def _new_threads(self) -> adbapi.ConnectionPool:
        """One thread with one connection."""
        parameters: dict[str, Any] = {**self._parameters, "appname": self.name, "charset": "UTF-8"}
        return adbapi.ConnectionPool(
            DRIVER,
            cp_min=1,
            cp_max=1,
            cp_noisy=False,
            cp_reactor=self.reactor,
            cp_name=self.name,
            autocommit=True,
            login_timeout=math.ceil(self._patience.connect),
            # After this the driver gives up an answer and the connection; the server then undoes the rest.
            timeout=math.ceil(self._patience.answer),
            **parameters,
        )

    def _set_up(self, connection: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("; ".join([*SET_UP, f"SET LOCK_TIMEOUT {self._lock_ms}"]))
        for mode, name in (("Exclusive", self.name), ("Shared", IN_USE)):
            cursor.execute(LOCK.format(mode=mode), (name, 0))
            if cursor.fetchall()[0][0] < 0:
                raise StoreFailed("a command works with the database; wait for it to end")
        cursor.close()

    async def _hang_up(self) -> None:
        """End the thread and its connection, without waiting for a silent server."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.close()

    # Questions

    async def run(self, work: Callable[[Link], T]) -> T:
        """The result of ``work`` on the session, in one transaction if it begins one.

        :raises StoreFailed: when the server refused it: nothing was stored.
        :raises NameTaken: when ``work`` raises it: nothing was stored.
        :raises Lost: when no answer came.
        """
        name = self.name
        async with self._turn:
            if not self._alive or self._threads is None:
                raise Lost(name, "there is no connection")
            threads = self._threads
            try:
                value: T = await threads.runWithConnection(_perform, self._lock_ms, work)
            except (StoreFailed, NameTaken):
                raise
            except Duplicate as error:
                raise StoreFailed(public_words(error)) from None
            except Uncertain as error:
                self.close()
                raise Lost(name, str(error)) from None
            except (UnicodeError, OverflowError, ValueError) as error:
                raise StoreFailed(str(error)) from None
            except Exception as error:
                driver = load_driver()
                if not isinstance(error, driver.Error):
                    self.log.failure("an internal error in a verb of the database")
                    raise StoreFailed(type(error).__name__) from error
                if isinstance(error, driver.InterfaceError) or number_of(error) in LOST_NUMBERS:
                    self.close()
                    raise Lost(name, words_of(error)) from None
                raise StoreFailed(public_words(error)) from None
            if not self._alive:
                # It was closed meanwhile: the server ends all that it holds, locks included.
                raise Lost(name, "the session was closed")
            return value

    async def ask(self, statement: str, values: Sequence[Any] = ()) -> Rows:
        """The rows of one statement, which is its own transaction."""
        return await self.run(lambda link: link.ask(statement, values))


def _perform(connection: Any, lock_ms: int, work: Callable[[Link], T]) -> T:
    """Run ``work`` in the thread of the connection; a failure leaves no transaction open."""
    driver = load_driver()
    turn = 0
    while True:
        turn += 1
        cursor = connection.cursor()
        link = Link(driver, cursor, lock_ms)
        try:
            return work(link)
        except driver.Error as error:
            if isinstance(error, driver.InterfaceError) or number_of(error) in LOST_NUMBERS:
                raise
            link.undo()
            if number_of(error) != DEADLOCK or turn == TRIES:
                raise
        except Again as error:
            if turn == TRIES:
                raise StoreFailed(str(error)) from None
        except Uncertain:
            raise
        except BaseException:
            link.undo()
            raise
        finally:
            cursor.close()
