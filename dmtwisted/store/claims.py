"""Which of several services on one database works with a device.

A device belongs to one service at a time. Three things ensure that:

* a lock for each device, held on a separate session: when the service dies, its session ends, and the lock with it;
* the row of the device in ``claim``, which names the service: each statement that writes for the device checks it, so
  that a service that was cut off cannot write any more (``statements.py`` of the server stores);
* a pause before the device of a service that disappeared is taken over: the service may have lost only the database,
  and still be working with the device.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, unique
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.store.sessions import AWAY, ISession, Lost, Patience
from dmtwisted.store.values import StoreFailed

T_contra = TypeVar("T_contra", bound=ISession, contravariant=True)


class ClaimedElsewhere(StoreFailed):
    """Another service, ``owner``, works with the device ``device_n``; nothing was stored. Reported as 1105."""

    def __init__(self, device_n: int, owner: str = "") -> None:
        super().__init__("another service on the same database works with this device")
        self.device_n, self.owner = device_n, owner


Owner = tuple[str, bool, int]
"""The row of a device in `claim`: the service, whether it released the device in order, how often it was taken."""


@unique
class Claim(Enum):
    """Whose a device is."""

    OURS = "ours"
    """It is ours, and no other service had it since we know it."""
    TAKEN = "taken"
    """It is ours from now on. Another service had it before: what we remember of it may be wrong.

    The caller forgets what it remembers of the device, then calls `Claims.renewed`.
    """
    ELSEWHERE = "elsewhere"
    """Another service has it, or had it a moment ago."""


class ClaimWords(Protocol[T_contra]):
    """The statements of the claims for a kind of server. Each may raise `Lost` and `StoreFailed`."""

    async def lock(self, session: T_contra, device_n: int) -> bool:
        """Try to lock the device, without waiting; return whether the session holds the lock now."""

    async def unlock(self, session: T_contra, device_n: int) -> None:
        """Unlock the device."""

    async def owner(self, session: T_contra, device_n: int) -> Owner | None:
        """The service that works with the device or did so last; `None` when there was none."""

    async def take(self, session: T_contra, device_n: int, instance: str) -> None:
        """Give the device to ``instance``, when running statements of others for it have ended."""

    async def release(self, session: T_contra, instance: str, locked: Collection[int]) -> None:
        """Release every device in order, and the locks of those that are ``locked``."""

    async def bury(self, session: T_contra, names: set[str], patience: Patience) -> None:
        """Return when the server has ended all lost sessions ``names``; the names are removed then.

        A statement of such a session may still be on its way or at work. Only when the session is gone is the outcome
        final: stored, or never.

        :raises StoreFailed: when one of them does not end.
        """


SEPARATOR = "#"
"""Between the name of an installation and the mark of one run of it."""

PAUSE = 0.02
"""Seconds between checks whether the server is back."""

RETRY = 0.1
"""Seconds between attempts to take the devices of our earlier run."""


class Claims:
    """The devices of this service.

    :param installation: the name of this service, the same after each start; no other service has it.
    :param life: a mark of this run; no other run of any service has it.
    :param words: the statements for the kind of server.
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
        """Stop waiting."""
        self._ended = True

    def lost(self, session: ISession) -> None:
        """The session with the locks was lost, and all locks with it."""
        self._gone.add(session.name)
        self._missed |= self._held
        self._locked.clear()
        self._held.clear()

    def back(self, session: ISession) -> None:
        """The session is connected again: lock what it had locked, for a task of ours may be at work with it."""
        if session is self._session and self._missed:
            Deferred.fromCoroutine(self._hold_again())

    async def _hold_again(self) -> None:
        for device_n in sorted(self._missed):
            if self._ended:
                return
            try:
                await self._claim(device_n, True)
            except StoreFailed as error:
                # If the session was lost again, it comes back again; otherwise the next task claims the device.
                self.log.info("device {n} is not held: {why}", n=device_n, why=str(error))
                return
            self._missed.discard(device_n)

    async def claim(self, device_n: int, stubborn: bool = False) -> Claim:
        """Claim the device; ours, if no other service has it. No round trip when it is ours already.

        :param stubborn: wait for a server that is away to come back.
        :raises StoreFailed: when the database does not answer.
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
            # Already asked: all callers get the same answer. A queue for the lock would serve them one after the
            # other, each from within the one before.
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
        """Whether we may work with the device at a start, without a task for it.

        Only if no other service worked with it last: a device stays with the service that gets its tasks.

        :raises StoreFailed: when the database does not answer.
        """
        return await self._claim(device_n, True) is not Claim.ELSEWHERE

    def renewed(self, device_n: int) -> None:
        """The caller has forgotten what it remembered of a device that was `Claim.TAKEN`."""
        self._stale.discard(device_n)

    def holds(self, device_n: int) -> bool:
        """Whether we think that the device is ours."""
        return device_n in self._held

    def settled(self, device_n: int) -> bool:
        """Whether a claim would be answered with `Claim.OURS`, and at once."""
        return device_n in self._held and device_n not in self._stale

    def is_ours(self, owner: str) -> bool:
        """Whether ``owner`` of a device is this service or an earlier run of it."""
        return owner.rpartition(SEPARATOR)[0] == self._installation

    def doubt(self, device_n: int) -> None:
        """Another service has the device: if we thought it ours, our session has ended unnoticed."""
        if self._session is not None and device_n in self._held:
            self._session.close()

    async def release(self) -> None:
        """Release every device in order, so that others may take them at once."""
        async with self._turn:
            if self._session is not None and self._session.alive and self._known:
                await self._words.release(self._session, self.instance, sorted(self._locked))

    def _asked(self) -> ISession:
        if self._session is None or not self._session.alive:
            raise StoreFailed(AWAY)
        return self._session

    async def _foreign(self, session: ISession, device_n: int) -> bool:
        """Whether another installation worked with the device last."""
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
                    # Our earlier session may still hold the locks: the server may not have noticed its end.
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
                # The server has not noticed yet that our earlier run is over.
                await deferLater(session.reactor, RETRY)
        return True

    async def _take(self, session: ISession, device_n: int) -> Claim:
        """Make a device ours whose lock we hold."""
        owner, released, turn = await self._words.owner(session, device_n) or (self.instance, True, 0)
        foreign = not self.is_ours(owner)
        if foreign and not released and self._too_soon(session.reactor.seconds(), device_n, owner, turn):
            # Not locked meanwhile: if the other service comes back, it keeps the device.
            await self._words.unlock(session, device_n)
            self._locked.discard(device_n)
            return Claim.ELSEWHERE
        if foreign or (owner != self.instance and device_n in self._known):
            # Before the answer comes: it may be lost.
            self._stale.add(device_n)
            self.log.info("device {n} is taken over from {owner}", n=device_n, owner=owner)
        # Waits for running statements of the other service; statements still on their way will be refused.
        await self._words.take(session, device_n, self.instance)
        self._due.pop(device_n, None)
        self._held.add(device_n)
        self._known.add(device_n)
        return self._answer(device_n)

    def _too_soon(self, now: float, device_n: int, owner: str, turn: int) -> bool:
        """Whether ``owner`` may still be working with the device: it has not been gone for the whole pause.

        Each ``turn`` that it took meanwhile starts the pause again.
        """
        seen = self._due.get(device_n)
        if seen is None or seen[:2] != (owner, turn):
            seen = self._due[device_n] = (owner, turn, now + self._patience.takeover)
        return now < seen[2]
