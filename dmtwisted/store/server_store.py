"""A store on a database server: a pool of sessions, and retries of verbs whose answer was lost.

When an answer is lost, the store first makes sure that the server has ended the lost session, so that nothing of it
is still at work. Then it tries the verb again. The verb finds what the first try stored, by the mark of the question,
or it may be done any number of times. Only when the server stays away does a verb fail with `StoreFailed`.

Different registers write at the same time: intents, and outcomes, that come together are kept in one transaction
(`dmtwisted.store.gathering`), and every other verb has a session of its own while it runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from itertools import count
from secrets import token_bytes, token_hex
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.store.claims import Claim, ClaimedElsewhere, Claims, ClaimWords
from dmtwisted.store.gathering import ALONE, Gathering
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrating import run_migration
from dmtwisted.store.revisions import REVISION, head, unfit
from dmtwisted.store.sessions import AWAY, Attempt, Lost, Patience, Pool, S, once_more
from dmtwisted.store.urls import URL_VARIABLE
from dmtwisted.store.values import StoreFailed

V = TypeVar("V")

Question = tuple[Any, ...]
"""The mark of a question, and the arguments of its verb."""

Together = Callable[[S, str, list[Question]], Awaitable[list[Any]]]
"""Asks questions of one verb for the service of that name; `ALONE` when it did nothing about a question."""

POOL = 8
"""Sessions for verbs; more of them are no faster. One more holds the claims."""

AFTERWARDS = frozenset({"conclude", "accept_document", "note"})
"""Verbs that record what has happened already: they wait for a server that is away."""


CLAIMING = frozenset({"reserve", "conclude_at_once"})
"""Verbs that begin an operation: their device must be ours."""


class ServerStore(IStore, Generic[S]):
    """The store in the database that ``url`` names; a subclass for each kind of server.

    :param installation: the name of this service for other services on the same database; the same after each start.
    :raises ValueError: when the URL is not valid; the text repeats nothing of it.
    """

    log = Logger()
    words: ClaimWords[S]
    make_session: Callable[..., S]
    read_url: Callable[[str], dict[str, str]]
    revisions: str
    """Asks the server whether it has a table of revisions."""
    together: Mapping[str, Together[S]] = MappingProxyType({})
    """Verbs that several callers may ask in one transaction."""

    def __init__(
        self, reactor: Any, url: str, installation: str, patience: Patience | None = None, size: int = POOL
    ) -> None:
        self._reactor, self._url, self._size = reactor, url, size
        self._parameters = self.read_url(url)
        self._patience = patience or Patience()
        self._turn = DeferredLock()  # opening and closing: one after the other
        self._pool: Pool[S] | None = None
        self._gatherings: dict[str, Gathering[Question]] = {}
        self._unburied: set[str] = set()
        self._life = token_hex(6)
        self.claims = Claims(installation, self._life, self._patience, self.words)
        self._names = (f"dmtwisted {self._life}.{number}" for number in count(1))
        self._holder: S | None = None
        self._running = 0
        self._drained: Deferred[None] | None = None

    async def open(self) -> None:
        """Connect, bring the database up to date, and keep one session for the claims.

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
            self._gatherings = {verb: self._gather(pool, verb) for verb in self.together}
            self.claims.use(holder)

    async def close(self) -> None:
        """Wait for running verbs, release the devices in order, and disconnect."""
        async with self._turn:
            pool, self._pool = self._pool, None
            holder, self._holder = self._holder, None
            self._gatherings = {}
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
        """How many sessions for verbs are connected."""
        return 0 if self._pool is None else self._pool.alive

    def _session(self, lost: Callable[[S], None], back: Callable[[S], None]) -> S:
        return self.make_session(self._reactor, self._parameters, self._names, self._patience, lost, back)

    @abstractmethod
    async def _check_server(self, session: S) -> None:
        """Warn of what the server cannot guarantee.

        :raises StoreFailed: when the database is unusable.
        """

    @abstractmethod
    async def _run(self, session: S, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        """The value of a verb, asked on ``session``.

        :raises Lost: when no answer came.
        """

    async def _let_go(self, pool: Pool[S], holder: S) -> None:
        await holder.stop()
        await pool.stop()

    async def _bring_up_to_date(self, session: S) -> None:
        await self._check_server(session)
        [(known,)] = await session.ask(self.revisions)
        current = [row[0] for row in await session.ask(REVISION)] if known else []
        for why in filter(None, map(unfit, current)):
            raise StoreFailed(f"the database {why}")
        if current != [head()]:
            # The URL is not among the arguments, which everyone on the machine can read.
            await run_migration(self._reactor, [], {URL_VARIABLE: self._url})

    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
        """The value of a verb. A caller that cancels stops waiting; the verb goes on."""
        due: Deferred[Any] = Deferred(lambda _: None)
        self._running += 1
        attempt = Attempt(self.claims.instance, token_bytes(16))
        gathering = self._gatherings.get(verb)
        if gathering is not None and self._goes_together(verb, arguments):
            asked = gathering.ask(arguments[0].device_n, (attempt.token, *arguments))
            asked.addBoth(self._gathered, partial(self._perform, self._pool, verb), attempt, arguments, due)
        else:
            Deferred.fromCoroutine(self._perform(self._pool, verb, attempt, arguments)).addBoth(self._settle, due)
        return due

    def _gathered(
        self,
        answer: Any,
        perform: Callable[[Attempt, tuple[Any, ...]], Coroutine[Any, Any, Any]],
        attempt: Attempt,
        arguments: tuple[Any, ...],
        due: Deferred[Any],
    ) -> None:
        """Pass on the answer that a question got in a group."""
        lost = isinstance(answer, Failure) and answer.check(Lost)
        if lost or answer is ALONE:
            again = perform(once_more(attempt) if lost else attempt, arguments)
            Deferred.fromCoroutine(again).addBoth(self._settle, due)
        else:
            self._settle(answer, due)

    def _settle(self, result: Any, due: Deferred[Any]) -> None:
        self._running -= 1
        if not due.called:
            due.callback(result)
        if self._drained is not None and not self._running:
            drained, self._drained = self._drained, None
            drained.callback(None)

    async def _perform(self, pool: Pool[S] | None, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        # As it was when the question came: closing waits for its answer.
        if pool is None:
            raise StoreFailed("the database is not open")
        until: float | None = None
        while True:
            if verb in CLAIMING:
                await self._own(arguments[0].device_n, attempt.again)
            try:
                return await self._on_session(
                    pool,
                    attempt.again or verb in AFTERWARDS,
                    partial(self._run, verb=verb, attempt=attempt, arguments=arguments),
                )
            except Lost as error:
                attempt = once_more(attempt)
                now = self._reactor.seconds()
                until = until or now + self._patience.recovery
                if now >= until:
                    raise StoreFailed(f"{AWAY}: {error}") from None
            except ClaimedElsewhere as error:
                if self.claims.holds(error.device_n) or not self.claims.is_ours(error.owner):
                    self.claims.doubt(error.device_n)
                    raise
                # Our earlier run had the device, and left something to be concluded.
                await self._own(error.device_n, attempt.again)

    async def _on_session(self, pool: Pool[S], stubborn: bool, ask: Callable[[S], Awaitable[V]]) -> V:
        """What ``ask`` returns, which is given a session.

        :raises StoreFailed: when no session is free in time, or ``ask`` raises it.
        :raises Lost: when no answer came.
        """
        session = await pool.take(stubborn)
        try:
            if self._unburied:
                await self.words.bury(session, self._unburied, self._patience)
            return await ask(session)
        except Lost as error:
            self._unburied.add(error.name)
            raise
        finally:
            pool.give_back(session)

    def _gather(self, pool: Pool[S], verb: str) -> Gathering[Question]:
        """What gathers the questions of a verb for `together`."""

        async def together(session: S, questions: list[Question]) -> list[Any]:
            try:
                return await self.together[verb](session, self.claims.instance, questions)
            except StoreFailed:
                if len(questions) == 1:
                    raise
                # Nothing of the group was stored: one of its questions must not fail the others.
                return [ALONE] * len(questions)

        async def ask(questions: list[Question]) -> list[Any]:
            return await self._on_session(pool, verb in AFTERWARDS, partial(together, questions=questions))

        return Gathering(self._reactor, ask)

    def _goes_together(self, verb: str, arguments: tuple[Any, ...]) -> bool:
        """Whether an intent or outcome may be in a group: what touches rows of other devices is asked alone."""
        if verb in CLAIMING and not self.claims.settled(arguments[0].device_n):
            return False
        return all(value.marks is None and not getattr(value, "letters", None) for value in arguments)

    async def _own(self, device_n: int, stubborn: bool) -> None:
        """Claim the device before anything is done with it.

        :raises ClaimedElsewhere: when another service has it.
        :raises StoreFailed: when another service had it until now: the caller must read its state again.
        """
        claim = await self.claims.claim(device_n, stubborn)
        if claim is Claim.ELSEWHERE:
            raise ClaimedElsewhere(device_n)
        if claim is Claim.TAKEN:
            raise StoreFailed("another service worked with this device meanwhile; its state must be read again")
