"""Sessions on a PostgreSQL server, which reconnect when they were lost.

txpostgres waits for the server without a thread. This module adds what it lacks: a time limit for connecting and for
each answer, and the set-up of a session after each connect.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import psycopg2
from psycopg2 import extensions
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.internet.error import ConnectionClosed
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from txpostgres.reconnection import ConnectionDead, DeadConnectionDetector
from txpostgres.txpostgres import Connection, Cursor

from dmtwisted.store.sessions import AWAY, Lost, Patience, Rows, pauses
from dmtwisted.store.urls import NOT_A_URL
from dmtwisted.store.values import StoreFailed

# Durable means on the disk of the server before the answer; a stronger setting of the server is kept.
# The answer of a sale is long enough to be compressed; pglz, the usual way, takes a fifth of the time of its outcome.
SET_UP = """
SET default_transaction_isolation TO 'read committed';
SET statement_timeout TO {statement_ms};
SET lock_timeout TO {statement_ms};
SET idle_in_transaction_session_timeout TO {statement_ms};
SET jit TO off;
SET plan_cache_mode TO force_generic_plan;
SET tcp_keepalives_idle TO 10;
SET tcp_keepalives_interval TO 5;
SET tcp_keepalives_count TO 3;
SELECT set_config(name, 'lz4', false) FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals);
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
SELECT current_setting('fsync'), current_setting('transaction_read_only');
"""

REVISIONS = "SELECT to_regclass('alembic_version') IS NOT NULL"
"""Asks the server whether it has a table of revisions."""

ALIVE = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "15000"}
"""How we notice a server whose cable was pulled, unless the URL says otherwise."""

_BYTEA = 17
_bytes = extensions.new_type((_BYTEA,), "BYTES", lambda text, cursor: _as_bytes(psycopg2.BINARY(text, cursor)))


def _as_bytes(value: memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)


PLANNED_FOR = 100
"""Runs after which prepared statements are planned again: a plan for small tables would read large ones whole."""

BRIEFLY = "SET LOCAL lock_timeout TO 300; "
"""Before a statement for several callers: it fails rather than that all of them wait for a lock of one."""


class Prepared:
    """A statement that each session reads and plans once for many runs.

    Its values are written ``%s::type``, in the order in which they are given.
    """

    def __init__(self, name: str, text: str) -> None:
        types = re.findall(r"%s(::\w+(?:\[\])?)", text)
        numbers = count(1)
        self.text = text
        self.preparing = f"PREPARE {name} AS {re.sub('%s', lambda _: f'${next(numbers)}', text)}"
        self.executing = f"EXECUTE {name}({', '.join(f'%s{kind}' for kind in types)})"


def read_url(url: str) -> dict[str, str]:
    """The parts of a ``postgresql://`` URL, as libpq names them.

    :raises ValueError: when it is not one; the text repeats nothing of it, because it may hold a password.
    """
    try:
        found: dict[str, str] = extensions.parse_dsn(url)
    except psycopg2.Error:
        found = {}
    # An @ within a password makes its end part of the host, which errors would show.
    if not found or "@" in found.get("host", ""):
        raise ValueError(NOT_A_URL)
    if not found.get("dbname"):
        raise ValueError("the name of a database is expected at the end of the URL")
    return found


def first_line(error: BaseException) -> str:
    """The first line of ``error``, without details that may repeat stored values."""
    lines = str(error).strip().splitlines()
    return lines[0].removeprefix("ERROR:").strip() if lines else type(error).__name__


class Watched:
    """A connection of the driver that the reactor watches through a separate descriptor.

    libpq closes its socket and opens another one at any time. The system then gives the old number to whatever is
    opened next, for example the connection of a till; the reactor would confuse the two and watch neither.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._descriptor = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def poll(self) -> int:
        """Let the driver continue as far as possible; return what it waits for."""
        state: int = self._connection.poll()
        self._follow()
        return state

    @property
    def unwatched(self) -> Any:
        """The driver's own connection."""
        return self._connection

    def _follow(self) -> None:
        """Make our descriptor one of the socket that libpq has now."""
        if not self._connection.closed:
            theirs = os.fstat(self._connection.fileno())
            if self._descriptor < 0 or not os.path.samestat(theirs, os.fstat(self._descriptor)):
                self.forget()
                self._descriptor = os.dup(self._connection.fileno())

    def fileno(self) -> int:
        """The separate descriptor; -1 before the first `poll`."""
        return self._descriptor

    def forget(self) -> None:
        """Close our descriptor; the reactor does not watch it any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _connect(*arguments: Any, **named: Any) -> Watched:
    return Watched(psycopg2.connect(*arguments, **named))


class _Cursor(Cursor):  # type: ignore[misc]
    """A cursor that keeps the connection's descriptor even when that is closed: the reactor must stop watching it."""

    def fileno(self) -> int:
        """The descriptor."""
        return int(self.pollable().fileno())


class _Detector(DeadConnectionDetector):  # type: ignore[misc]
    """Reconnects one session, again and again until it is stopped."""

    def __init__(self, session: Session, reactor: Any, report_loss: Callable[[], None]) -> None:
        super().__init__(lambda failure: session.broken, pauses, reactor)
        self._report_loss = report_loss
        self.setReconnectable(session)
        self.connectionIsDead = True
        self._again: IDelayedCall | None = None
        self.stopped = False

    def startReconnecting(self, reason: Failure) -> None:
        """Called by txpostgres, once for each lost connection: begin to reconnect."""
        self._report_loss()
        self.begin()

    def begin(self) -> None:
        """Try to connect until it succeeds."""
        self._pauses: Iterator[float] = self.reconnectionIterator()
        self._later()

    def _later(self) -> None:
        if not self.stopped:
            self._again = self.reactor.callLater(next(self._pauses), self._try)

    def _try(self) -> None:
        self._again = None
        trying = maybeDeferred(self.reconnect)
        trying.addCallbacks(lambda _: self.connectionRecovered(), lambda _: self._later())

    def stop(self) -> None:
        """Stop reconnecting."""
        self.stopped = True
        if self._again is not None:
            self._again.cancel()
            self._again = None


class Session(Connection):  # type: ignore[misc]
    """One session on the server, lent to one verb at a time (`ISession`).

    :param parameters: server and login, as `read_url` returns them.
    :param names: gives each connection its own name on the server.
    :param lost: called when the session was lost, with the name that it had.
    :param back: called when it is connected again.
    """

    connectionFactory = staticmethod(_connect)
    cursorFactory = _Cursor

    def __init__(
        self,
        reactor: Any,
        parameters: dict[str, str],
        names: Iterator[str],
        patience: Patience,
        lost: Callable[[Session], None],
        back: Callable[[Session], None],
    ) -> None:
        super().__init__(reactor, None, _Detector(self, reactor, lambda: lost(self)))
        self._parameters, self._names, self._patience = parameters, names, patience
        self._connecting: Deferred[None] | None = None
        self.name = self.fsync = ""
        self._prepared: set[Prepared] = set()
        self._runs = 0
        self._set_up = SET_UP.format(statement_ms=int(patience.statement * 1000))
        self.detector.addRecoveryHandler(lambda: back(self))

    @property
    def broken(self) -> bool:
        """Whether there is no usable connection."""
        return self._connection is None or bool(self._connection.closed)

    @property
    def alive(self) -> bool:
        return not (self.detector.connectionIsDead or self.broken)

    async def start(self) -> None:
        try:
            await self.connect()
        except (psycopg2.Error, ConnectionClosed, ConnectionDead, CancelledError, OSError) as error:
            raise StoreFailed(f"{AWAY}: {first_line(error)}") from None
        self.detector.connectionRecovered()

    def start_later(self) -> None:
        self.detector.begin()

    def connect(self, *_: Any, **__: Any) -> Deferred[None]:
        """Connect and set up; called at first, and for each reconnect."""
        return Deferred.fromCoroutine(self._connect())

    async def _connect(self) -> None:
        self._connecting = Deferred()
        try:
            await self._reach()
        finally:
            connecting, self._connecting = self._connecting, None
            connecting.callback(None)

    async def _reach(self) -> None:
        self.name = next(self._names)
        self._prepared.clear()
        parameters = {**ALIVE, **self._parameters, "client_encoding": "UTF8", "application_name": self.name}
        late = self.reactor.callLater(self._patience.connect, self.close)
        try:
            parameters.update(await _addresses(parameters))
            if self.detector.stopped:
                raise ConnectionDead("the session is being stopped")
            await super().connect(**parameters)
            extensions.register_type(_bytes, self._connection.unwatched)
            [(self.fsync, read_only)] = await self._runQuery(self._set_up)
        except BaseException:
            self.close()
            raise
        finally:
            if late.active():
                late.cancel()
        if read_only == "on":
            # A standby, or a server that was made read-only.
            self.close()
            raise psycopg2.OperationalError("the server is read-only")

    async def ask(self, statement: str | Prepared, values: Sequence[Any] = (), briefly: bool = False) -> Rows:
        """The rows of one statement, which is its own transaction.

        :param briefly: fail soon when a row is locked by somebody else.
        :raises StoreFailed: when the server refused it: nothing was stored.
        :raises Lost: when no answer came.
        """
        if isinstance(statement, Prepared):
            if statement not in self._prepared:
                await self._ask(f"{statement.preparing}; SELECT 1")
                self._prepared.add(statement)
            self._runs = (self._runs + 1) % PLANNED_FOR
            before = "" if self._runs else "DISCARD PLANS; "
            statement = f"{before}{BRIEFLY if briefly else ''}{statement.executing}"
        return await self._ask(statement, values)

    async def _ask(self, statement: str, values: Sequence[Any] = ()) -> Rows:
        name = self.name
        late = self.reactor.callLater(self._patience.answer, self.close)
        try:
            rows: Rows = await self.runQuery(statement, values or None)
        except CancelledError:
            # How txpostgres reports the server's time limit; nothing else cancels.
            raise StoreFailed("the database did not finish in time") from None
        except (ConnectionDead, ConnectionClosed) as error:
            raise Lost(name, first_line(error)) from None
        except psycopg2.Error as error:
            if self.broken:
                raise Lost(name, first_line(error)) from None
            raise StoreFailed(first_line(error)) from None
        except (ValueError, OverflowError) as error:
            # A text with a character that the database cannot store: it was never sent.
            raise StoreFailed(first_line(error)) from None
        finally:
            if late.active():
                late.cancel()
        return rows

    def close(self) -> None:
        watched = self._connection
        if watched is not None:
            for cursor in self._cursors:
                self.reactor.removeReader(cursor)
                self.reactor.removeWriter(cursor)
            super().close()
            watched.forget()

    def fileno(self) -> int:
        """The descriptor that the reactor watches."""
        return -1 if self._connection is None else int(self._connection.fileno())

    async def stop(self) -> None:
        self.detector.stop()
        self.close()
        if self._connecting is not None:
            stopped: Deferred[None] = Deferred()
            self._connecting.chainDeferred(stopped)
            await stopped

    def doRead(self) -> None:
        """Something came without a question: mostly the end of the connection."""
        try:
            super().doRead()
        except psycopg2.Error:
            self.close()


async def _addresses(parameters: dict[str, str]) -> dict[str, str]:
    """The addresses of the hosts: libpq would block the service while it looks a name up."""
    hosts = parameters.get("host", "")
    if "hostaddr" in parameters or not hosts or "," in hosts or hosts.startswith(("/", "@")):
        return {}
    found = await deferToThread(socket.getaddrinfo, hosts, None, type=socket.SOCK_STREAM)
    return {"hostaddr": str(found[0][4][0])}
