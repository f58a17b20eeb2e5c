"""The PostgreSQL store: a pool of sessions, each verb one round trip, and no question without an answer.

A statement whose answer was lost is not given up: its session is ended at the server, so that nothing of it is
still under way, and then the verb is tried again. It finds what the first try stored, by the mark of the question, or
is the same however often it is done. Only when the server stays away does a verb fail with `StoreFailed`.

Different registers write at the same time: each verb has a session of its own while it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from secrets import token_bytes, token_hex
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.utils import getProcessOutputAndValue
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.store.claims import Claim, ClaimedElsewhere, Claims
from dmtwisted.store.client import Verbs
from dmtwisted.store.environment import environment
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import URL_VARIABLE, head, unfit
from dmtwisted.store.postgres_sessions import AWAY, Lost, Patience, Pool, Session, bury, read_url
from dmtwisted.store.postgres_statements import VERBS, Attempt, once_more
from dmtwisted.store.values import StoreFailed

POOL = 8
"""Sessions for verbs; more of them are no faster (stack.md 4). One more holds the claims."""

AFTERWARDS = frozenset({"conclude", "accept_document", "note"})
"""Verbs that tell of what has happened: they wait for a server that is away, for there is no way back."""

REVISION = "SELECT to_regclass('alembic_version') IS NOT NULL"
VERSION = "SELECT version_num FROM alembic_version"


@implementer(IStore)
class PostgresStore(Verbs):
    """The store in the database that ``url`` names.

    :param installation: the name by which other services on the same database know this one; the same after each
        start.
    :raises ValueError: when the URL is none; the text repeats nothing of it.
    """

    log = Logger()

    def __init__(
        self, reactor: Any, url: str, installation: str, patience: Patience | None = None, size: int = POOL
    ) -> None:
        self._reactor, self._url, self._size = reactor, url, size
        self._parameters = read_url(url)
        self._patience = patience or Patience()
        self._turn = DeferredLock()  # opening and closing: one after the other
        self._pool: Pool | None = None
        self._unburied: set[str] = set()
        self._life = token_hex(6)
        self.claims = Claims(installation, self._life, self._patience)
        self._names = self._name_sessions()
        self._holder: Session | None = None
        self._running = 0
        self._drained: Deferred[None] | None = None

    async def open(self) -> None:
        """Reach the server, bring the database up to date, and hold a session for the claims.

        :raises StoreFailed: when the server is away, or its database was made by a newer version.
        """
        async with self._turn:
            if self._pool is not None:
                return
            pool = Pool(self._reactor, self._session, self._size, self._patience)
            first = await pool.open()
            holder = self._session(self.claims.lost, lambda _: None)
            try:
                try:
                    await self._bring_up_to_date(first)
                    await holder.start()
                finally:
                    pool.give_back(first)
            except Lost as error:
                await self._let_go(pool, holder)
                raise StoreFailed(f"{AWAY}: {error}") from None
            except BaseException:
                await self._let_go(pool, holder)
                raise
            if first.fsync != "on":
                self.log.warn(
                    "the database server runs with fsync={fsync}: it may lose receipts with the power",
                    fsync=first.fsync,
                )
            pool.widen()
            self._pool, self._holder = pool, holder
            self.claims.use(holder)

    async def close(self) -> None:
        """Let what is under way end, release the devices in order, and let go of the server."""
        async with self._turn:
            pool, self._pool = self._pool, None
            holder, self._holder = self._holder, None
            if pool is None or holder is None:
                return
            pool.lend_no_more()
            self.claims.end()
            if self._running:
                self._drained = Deferred()
                await self._drained
            await pool.stop()
            try:
                await self.claims.release()
            except (StoreFailed, Lost) as error:
                self.log.warn("the devices were not released: {why}", why=str(error))
            await holder.stop()

    @property
    def alive(self) -> int:
        """How many sessions for verbs there are now."""
        return 0 if self._pool is None else self._pool.alive

    def _name_sessions(self) -> Iterator[str]:
        return (f"dmtwisted {self._life}.{number}" for number in count(1))

    def _session(self, lost: Any, back: Any) -> Session:
        return Session(self._reactor, self._parameters, self._names, self._patience, lost, back)

    async def _let_go(self, pool: Pool, holder: Session) -> None:
        await holder.stop()
        await pool.stop()

    async def _bring_up_to_date(self, session: Session) -> None:
        [(known,)] = await session.ask(REVISION)
        current = [row[0] for row in await session.ask(VERSION)] if known else []
        for why in filter(None, map(unfit, current)):
            raise StoreFailed(f"the database {why}")
        if current != [head()]:
            await self._migrate()

    async def _migrate(self) -> None:
        try:
            ended = getProcessOutputAndValue(
                sys.executable,
                ["-m", "dmtwisted.store.migrate"],
                # Not among the arguments, which everybody on the machine can read.
                {**environment(), URL_VARIABLE: self._url},
                reactor=self._reactor,
            )
            # When a signal ended it, the same three things come as a failure that holds no exception.
            _, complaint, status = await ended.addErrback(lambda reason: reason.value)
        except OSError as error:
            raise StoreFailed(f"no process for the database: {error}") from error
        if status:
            last = complaint.decode(errors="replace").strip().splitlines()[-1:]
            raise StoreFailed(last[0] if last else "the database could not be brought up to date")

    def _ask(self, verb: str, *arguments: Any) -> Deferred[Any]:
        """The value of a verb. Who cancels it waits no longer; what was asked goes on."""
        due: Deferred[Any] = Deferred(lambda _: None)
        self._running += 1
        Deferred.fromCoroutine(self._perform(verb, arguments)).addBoth(self._settle, due)
        return due

    def _settle(self, result: Any, due: Deferred[Any]) -> None:
        self._running -= 1
        if not due.called:
            due.callback(result)
        if self._drained is not None and not self._running:
            drained, self._drained = self._drained, None
            drained.callback(None)

    async def _perform(self, verb: str, arguments: tuple[Any, ...]) -> Any:
        if self._pool is None:
            raise StoreFailed("the database is not open")
        pool = self._pool
        attempt = Attempt(self.claims.instance, token_bytes(16))
        until: float | None = None
        while True:
            if verb == "reserve":
                await self._own(arguments[0].device_n, attempt.again)
            session = await pool.take(stubborn=attempt.again or verb in AFTERWARDS)
            try:
                if self._unburied:
                    await bury(session, self._unburied, self._patience)
                return await VERBS[verb](session, attempt, *arguments)
            except Lost as error:
                self._unburied.add(error.name)
                attempt = once_more(attempt)
                now = self._reactor.seconds()
                until = until or now + self._patience.recovery
                if now >= until:
                    raise StoreFailed(f"{AWAY}: {error}") from None
            except ClaimedElsewhere as error:
                if self.claims.holds(error.device_n) or not self.claims.is_ours(error.owner):
                    self.claims.doubt(error.device_n)
                    raise
                # Our own earlier life had it, and left something to be concluded.
                await self._own(error.device_n, attempt.again)
            finally:
                pool.give_back(session)

    async def _own(self, device_n: int, stubborn: bool) -> None:
        """See to it that the device is ours before anything is done with it.

        :raises ClaimedElsewhere: when it is another service's.
        :raises StoreFailed: when it was another one's until now: who asks has to read its state anew.
        """
        claim = await self.claims.claim(device_n, stubborn)
        if claim is Claim.ELSEWHERE:
            raise ClaimedElsewhere(device_n)
        if claim is Claim.TAKEN:
            self.claims.renewed(device_n)
            raise StoreFailed("another service worked with this device meanwhile; its state has to be read anew")
