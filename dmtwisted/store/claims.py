"""Which of several services on one database works with a device.

A device belongs to one service at a time. Three things see to it:

* a lock for each device, held on a session of its own: when the service dies its session ends, and with
  it the lock;
* the row of the device in ``claim``, which names the service: each statement that writes for the device checks it, so
  that a service that was cut off cannot write any more (`dmtwisted.store.postgres.statements`, `mssql_statements`);
* a pause before the device of a service that left without a word is taken: it may be cut off from the database
  only, and still be talking to the device.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, unique
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.store.sessions import ISession, Lost, Patience
from dmtwisted.store.values import StoreFailed

T_contra = TypeVar("T_contra", bound=ISession, contravariant=True)


class ClaimedElsewhere(StoreFailed):
    """Another service, ``owner``, works with the device ``device_n``; nothing was kept.

    Callers are answered with 1105.
    """

    def __init__(self, device_n: int, owner: str = "") -> None:
        super().__init__("another service on the same database works with this device")
        self.device_n, self.owner = device_n, owner


Owner = tuple[str, bool, int]
"""The row of a device in `claim`: the service, whether that has let go of it in order, how often it was taken."""


@unique
class Claim(Enum):
    """Whose a device is."""

    OURS = "ours"
    """It is ours, and nobody else had it since we know it."""
    TAKEN = "taken"
    """It is ours from now on. Another service had it before: what we remember of it may be wrong.

    Whoever is told so forgets what there is to remember, and then says `Claims.renewed`.
    """
    ELSEWHERE = "elsewhere"
    """Another service has it, or had it a moment ago."""


class ClaimWords(Protocol[T_contra]):
    """How the claims are said to a kind of server. Each may raise `Lost` and `StoreFailed`."""

    async def lock(self, session: T_contra, device_n: int) -> bool:
        """Whether the session holds the lock of the device now; it waits for nobody."""

    async def unlock(self, session: T_contra, device_n: int) -> None:
        """Let go of the lock of the device."""

    async def owner(self, session: T_contra, device_n: int) -> Owner | None:
        """Which service works with the device or did so last; `None` when there was none."""

    async def take(self, session: T_contra, device_n: int, instance: str) -> None:
        """Make the device that of ``instance``, when what others have under way for it has ended."""

    async def release(self, session: T_contra, instance: str, locked: Collection[int]) -> None:
        """Let go of every device in order, and of the locks of those that are ``locked``."""

    async def bury(self, session: T_contra, names: set[str], patience: Patience) -> None:
        """Return when none of the lost sessions ``names`` lives on at the server; those are forgotten then.

        What such a session was asked may still be on its way or at work there. Only when it is gone can be said what
        became of it: it is stored, or never will be.

        :raises StoreFailed: when one of them does not end.
        """


SEPARATOR = "#"
"""Between the name of an installation and the mark of one life of it."""

PAUSE = 0.02
"""Seconds between looks whether the server is back."""

RETRY = 0.1
"""Seconds between attempts to take the devices of our own earlier life."""


class Claims:
    """The devices of this service.

    :param installation: the same after each start of this service, and that of no other one.
    :param life: a mark that no other start of any service has.
    :param words: how the server is told.
    """

    log = Logger()

    def __init__(self, installation: str, life: str, patience: Patience, words: ClaimWords[Any]) -> None:
        self._installation = installation[-200:]
        self.instance = f"{self._installation}{SEPARATOR}{life}"
        self._patience, self._words = patience, words
        self._session: ISession | None = None
        self._turn = DeferredLock()
        self._gone: set[str] = set()
        self._locked: set[int] = set()
        self._held: set[int] = set()
        self._missed: set[int] = set()
        self._known: set[int] = set()
        self._stale: set[int] = set()
        self._due: dict[int, tuple[str, int, float]] = {}
        self._ended = False
        self._asking: dict[int, list[Deferred[Claim]]] = {}

    def use(self, session: ISession) -> None:
        """Hold the locks on ``session`` from now on."""
        self._session, self._ended = session, False

    def end(self) -> None:
        """Wait for nothing any more."""
        self._ended = True

    def lost(self, session: ISession) -> None:
        """The session of the locks was lost, and all locks with it."""
        self._gone.add(session.name)
        self._missed |= self._held
        self._locked.clear()
        self._held.clear()

    def back(self, session: ISession) -> None:
        """The session of the locks is there again: hold what it held, for a task of ours may be at work with it."""
        if session is self._session and self._missed:
            Deferred.fromCoroutine(self._hold_again())

    async def _hold_again(self) -> None:
        for device_n in sorted(self._missed):
            if self._ended:
                return
            try:
                await self._claim(device_n, True)
            except StoreFailed as error:
                # When the session was lost once more it comes back once more; else the next task for the device asks.
                self.log.info("device {n} is not held: {why}", n=device_n, why=str(error))
                return
            self._missed.discard(device_n)

    async def claim(self, device_n: int, stubborn: bool = False) -> Claim:
        """Whose the device is; ours, if nobody else has it. Without a round trip when it is ours already.

        :param stubborn: wait for the server to come back, when it is away.
        :raises StoreFailed: when the database cannot say.
        """
        if device_n in self._held:
            return self._answer(device_n)
        until: float | None = None
        while True:
            try:
                return await self._for_everybody(device_n)
            except StoreFailed:
                if not stubborn or self._ended or self._session is None:
                    raise
                now = self._session.reactor.seconds()
                until = until or now + self._patience.recovery
                if now >= until:
                    raise
                await deferLater(self._session.reactor, PAUSE)

    async def _for_everybody(self, device_n: int) -> Claim:
        if device_n in self._asking:
            # Asked already: the answer is for everybody. A queue for the lock would let one go after the other, each
            # from within the one before.
            waiter: Deferred[Claim] = Deferred()
            self._asking[device_n].append(waiter)
            return await waiter
        self._asking[device_n] = []
        answer: Claim | Failure
        try:
            answer = claim = await self._claim(device_n, False)
        except BaseException:
            answer = Failure()
            raise
        finally:
            for waiter in self._asking.pop(device_n):
                waiter.callback(answer)
        return claim

    async def resume(self, device_n: int) -> bool:
        """Whether we may see to the device at a start, without a task for it.

        Only if nobody else worked with it last: devices stay with the service that tasks for them come to.

        :raises StoreFailed: when the database cannot say.
        """
        return await self._claim(device_n, True) is not Claim.ELSEWHERE

    def renewed(self, device_n: int) -> None:
        """What we remembered of a device that was `Claim.TAKEN` is forgotten."""
        self._stale.discard(device_n)

    def holds(self, device_n: int) -> bool:
        """Whether we think that the device is ours."""
        return device_n in self._held

    def is_ours(self, owner: str) -> bool:
        """Whether ``owner`` of a device is this service or an earlier life of it."""
        return owner.rpartition(SEPARATOR)[0] == self._installation

    def doubt(self, device_n: int) -> None:
        """Another service has the device: if we thought it ours, our session has ended without our notice."""
        if self._session is not None and device_n in self._held:
            self._session.close()

    async def release(self) -> None:
        """Let go of every device in order, so that others may take them at once."""
        async with self._turn:
            if self._session is not None and self._session.alive and self._known:
                await self._words.release(self._session, self.instance, sorted(self._locked))

    def _asked(self) -> ISession:
        if self._session is None or not self._session.alive:
            raise StoreFailed("the database server is away")
        return self._session

    async def _foreign(self, session: ISession, device_n: int) -> bool:
        """Whether another installation worked with it last."""
        owner = await self._words.owner(session, device_n)
        return owner is not None and not self.is_ours(owner[0])

    def _answer(self, device_n: int) -> Claim:
        return Claim.TAKEN if device_n in self._stale else Claim.OURS

    async def _claim(self, device_n: int, resuming: bool) -> Claim:
        async with self._turn:
            if device_n in self._held:
                return self._answer(device_n)
            session = self._asked()
            try:
                if self._gone:
                    # Our own earlier session may still hold the locks where the server has not noticed its end.
                    await self._words.bury(session, self._gone, self._patience)
                if resuming and await self._foreign(session, device_n):
                    return Claim.ELSEWHERE
                if not await self._lock(session, device_n):
                    return Claim.ELSEWHERE
                return await self._take(session, device_n)
            except Lost as error:
                raise StoreFailed(str(error)) from error

    async def _lock(self, session: ISession, device_n: int) -> bool:
        """Whether the lock of the device is ours."""
        until = session.reactor.seconds() + self._patience.restart
        while device_n not in self._locked:
            if await self._words.lock(session, device_n):
                self._locked.add(device_n)
            elif session.reactor.seconds() >= until or await self._foreign(session, device_n):
                return False
            else:
                # The server has not noticed yet that our own earlier life is over.
                await deferLater(session.reactor, RETRY)
        return True

    async def _take(self, session: ISession, device_n: int) -> Claim:
        """Make the device ours, whose lock we hold."""
        owner, released, turn = await self._words.owner(session, device_n) or (self.instance, True, 0)
        foreign = not self.is_ours(owner)
        if foreign and not released and self._too_soon(session.reactor.seconds(), device_n, owner, turn):
            # Not held meanwhile: should the other one come back, the device is its.
            await self._words.unlock(session, device_n)
            self._locked.discard(device_n)
            return Claim.ELSEWHERE
        if foreign or (owner != self.instance and device_n in self._known):
            # Before the answer, which may be lost.
            self._stale.add(device_n)
            self.log.info("device {n} is taken over from {owner}", n=device_n, owner=owner)
        # Waits for what the other one has at work at the server, and ends what is still on its way there.
        await self._words.take(session, device_n, self.instance)
        self._due.pop(device_n, None)
        self._held.add(device_n)
        self._known.add(device_n)
        return self._answer(device_n)

    def _too_soon(self, now: float, device_n: int, owner: str, turn: int) -> bool:
        """Whether ``owner`` may still be talking to the device: it has not been gone for the whole pause.

        With each ``turn`` that it took meanwhile the pause begins anew.
        """
        seen = self._due.get(device_n)
        if seen is None or seen[:2] != (owner, turn):
            seen = self._due[device_n] = (owner, turn, now + self._patience.takeover)
        return now < seen[2]
