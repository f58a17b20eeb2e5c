"""A store on a database server: a pool of sessions, and no question without an answer.

A verb whose answer was lost is not given up: first its session is seen to be gone at the server, so that nothing of
it is still under way, and then the verb is tried again. It finds what the first try stored, by the mark of the
question, or is the same however often it is done. Only when the server stays away does a verb fail: `StoreFailed`.

Different registers write at the same time: each verb has a session of its own while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from secrets import token_bytes, token_hex
from typing import Any, Generic

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from dmtwisted.store.claims import Claim, ClaimedElsewhere, Claims, ClaimWords
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrating import run_migration
from dmtwisted.store.revisions import head, unfit
from dmtwisted.store.sessions import AWAY, Attempt, Lost, Patience, Pool, S, once_more
from dmtwisted.store.urls import URL_VARIABLE
from dmtwisted.store.values import StoreFailed

POOL = 8
"""Sessions for verbs; more of them are no faster (stack.md 4). One more holds the claims."""

AFTERWARDS = frozenset({"conclude", "accept_document", "note"})
"""Verbs that tell of what has happened: they wait for a server that is away, for there is no way back."""


class ServerStore(IStore, Generic[S]):
    """The store in the database that ``url`` names; a kind of server says how it is asked.

    :param installation: the name by which other services on the same database know this one; the same after each
        start.
    :param words: how the claims are said to this kind of server.
    """

    log = Logger()

    def __init__(
        self, reactor: Any, url: str, installation: str, words: ClaimWords[S], patience: Patience | None, size: int
    ) -> None:
        self._reactor, self._url, self._size, self._words = reactor, url, size, words
        self._patience = patience or Patience()
        self._turn = DeferredLock()  # opening and closing: one after the other
        self._pool: Pool[S] | None = None
        self._unburied: set[str] = set()
        self._life = token_hex(6)
        self.claims = Claims(installation, self._life, self._patience, words)
        self._names = self._name_sessions()
        self._holder: S | None = None
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
            holder = self._session(self.claims.lost, self.claims.back)
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

    def _session(self, lost: Callable[[S], None], back: Callable[[S], None]) -> S:
        """A session that reports when it was lost and when it is back."""
        raise NotImplementedError("a kind of server has sessions of its own")

    async def _greet(self, session: S) -> list[str]:
        """Look the server over with its first session: warn of what it cannot promise.

        :return: the revisions that the database has.
        """
        raise NotImplementedError("a kind of server has statements of its own")

    async def _run(self, session: S, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        """The value of a verb, asked on ``session``.

        :raises Lost: when no answer came.
        """
        raise NotImplementedError("a kind of server has statements of its own")

    async def _let_go(self, pool: Pool[S], holder: S) -> None:
        await holder.stop()
        await pool.stop()

    async def _bring_up_to_date(self, session: S) -> None:
        current = await self._greet(session)
        for why in filter(None, map(unfit, current)):
            raise StoreFailed(f"the database {why}")
        if current != [head()]:
            # The URL is not among the arguments, which everyone on the machine can read.
            await run_migration(self._reactor, [], {URL_VARIABLE: self._url})

    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
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
                    await self._words.bury(session, self._unburied, self._patience)
                return await self._run(session, verb, attempt, arguments)
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
            raise StoreFailed("another service worked with this device meanwhile; its state has to be read anew")
