"""What the stores on a database server share: time limits, a pool that lends a session for one verb, and retries of a
verb until its outcome is known.

Nothing here knows a driver. Each kind of server adds its sessions and its statements.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from dmtwisted.store.values import StoreFailed

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Patience:
    """All time limits, in seconds."""

    connect: float = 5.0
    """To connect to the server and log in."""
    statement: float = 10.0
    """For the server to run one statement; then it aborts the statement and undoes it."""
    answer: float = 12.0
    """For an answer to arrive; a session that is silent for longer is lost."""
    free: float = 10.0
    """For a session of the pool to become free."""
    recovery: float = 5.0
    """For the server to come back, when the outcome of a statement is not known."""
    takeover: float = 30.0
    """For a service that disappeared to end its work with a device."""
    restart: float = 2.0
    """For the server to notice that the sessions of our earlier run are gone."""


class Lost(Exception):
    """The session broke before an answer came: the outcome of the statement is not known.

    ``name`` is the name that the broken connection has on the server.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


AWAY = "the database server is away"


@dataclass(frozen=True)
class Attempt:
    """One try at a verb: the service (as in `claim`), the mark of this question, whether it was tried before."""

    instance: str
    token: bytes
    again: bool = False


def once_more(attempt: Attempt) -> Attempt:
    """The next try at the same question."""
    return replace(attempt, again=True)


def pauses() -> Iterator[float]:
    """Seconds before each attempt to reconnect: short at first, then longer, to spare a server in trouble."""
    pause = 0.02
    while True:
        yield pause
        pause = min(pause * 1.7, 2.0)


class ISession(Protocol):
    """One session on a server, which reconnects by itself when it was lost."""

    name: str
    """Its name on the server; a new one for each connection."""
    reactor: Any

    @property
    def alive(self) -> bool:
        """Whether it is connected."""

    async def start(self) -> None:
        """Connect for the first time; from then on the session reconnects by itself.

        :raises StoreFailed: when it cannot be reached.
        """

    def start_later(self) -> None:
        """Like `start`, in the background, until it succeeds."""

    def close(self) -> None:
        """Close the connection; the session reconnects unless it was stopped."""

    async def ask(self, statement: str, values: Sequence[Any] = ()) -> Rows:
        """The rows of one statement, which is its own transaction.

        :raises StoreFailed: when the server refused it: nothing was stored.
        :raises Lost: when no answer came.
        """

    async def stop(self) -> None:
        """Close the session for good; when this returns, no call of it is pending."""


S = TypeVar("S", bound=ISession)


class Pool(Generic[S]):
    """Sessions that are lent for one verb at a time, in the order of the requests.

    :param make: makes a session that calls the two given functions when it is lost and when it is back.
    """

    def __init__(self, reactor: Any, make: Callable[[Any, Any], S], size: int, patience: Patience) -> None:
        self._reactor, self._patience = reactor, patience
        self._sessions = [make(self._lost, self._back) for _ in range(size)]
        self._idle: list[S] = []
        self._lent: set[S] = set()
        self._waiting: deque[tuple[Deferred[S], bool]] = deque()
        self._closed = self._lending = False

    @property
    def alive(self) -> int:
        """How many sessions are connected."""
        return sum(session.alive for session in self._sessions)

    async def open(self) -> S:
        """Connect one session, which is lent to the caller.

        :raises StoreFailed: when it cannot be reached.
        """
        first = self._sessions[0]
        self._lent.add(first)
        try:
            await first.start()
        except BaseException:
            self._lent.discard(first)
            await first.stop()
            raise
        return first

    def widen(self) -> None:
        """Connect all other sessions, in the background."""
        for session in self._sessions[1:]:
            session.start_later()

    async def take(self, stubborn: bool = False) -> S:
        """A connected session, for the caller alone until it is given back.

        :param stubborn: wait even when the server is away, for as long as it may take to recover.
        :raises StoreFailed: when there is none in time; nothing was asked then.
        """
        while self._idle:
            session = self._idle.pop()
            if session.alive:
                self._lent.add(session)
                return session
        if self._closed or not (stubborn or self.alive):
            raise StoreFailed(AWAY)
        waiter: Deferred[S] = Deferred()
        place = waiter, stubborn
        self._waiting.append(place)
        waiter.addTimeout(self._patience.recovery if stubborn else self._patience.free, self._reactor, _too_late)
        try:
            return await waiter
        finally:
            with suppress(ValueError):
                self._waiting.remove(place)

    def give_back(self, session: S) -> None:
        """End of a loan."""
        self._lent.discard(session)
        if session.alive:
            self._offer(session)

    def _offer(self, session: S) -> None:
        self._idle.append(session)
        if self._lending:
            # Called within the loop below, from a loan that ended at once: that loop goes on; loans do not nest.
            return
        self._lending = True
        try:
            while self._waiting and self._idle:
                waiter, _ = self._waiting.popleft()
                if not waiter.called:
                    session = self._idle.pop()
                    self._lent.add(session)
                    waiter.callback(session)
        finally:
            self._lending = False

    def _back(self, session: S) -> None:
        if session not in self._lent and session not in self._idle:
            self._offer(session)

    def _lost(self, session: S) -> None:
        if session in self._idle:
            self._idle.remove(session)
        if not self.alive:
            for waiter, stubborn in list(self._waiting):
                if not stubborn and not waiter.called:
                    waiter.errback(StoreFailed(AWAY))

    def lend_no_more(self) -> None:
        """Fail the callers that wait for a session, and later ones."""
        self._closed = True
        for waiter, _ in list(self._waiting):
            if not waiter.called:
                waiter.errback(StoreFailed("the database is being closed"))

    async def stop(self) -> None:
        """Close all sessions."""
        for session in self._sessions:
            await session.stop()


def _too_late(_: object, seconds: float) -> Failure:
    return Failure(StoreFailed(f"no session of the database became free in {seconds:g} s"))
