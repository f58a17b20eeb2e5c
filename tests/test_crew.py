"""Work in child processes that stay: done, refused, slow, greedy, broken, too much at once; and none left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock, deferLater
from twisted.python.runtime import platform
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.documents.model import Cut, Element, Line, Qr
from dmtwisted.printing.composing import _composed
from dmtwisted.requests import malformed
from dmtwisted.results import Refused, Res, Text
from dmtwisted.system import crew
from dmtwisted.system.crew import BUSY, DIED, LARGE, NO_PROCESS, Crew, CrewFailed
from dmtwisted.wording import wording
from protocols.printers.profiles import PROFILES


def double(given: bytes) -> bytes:
    """Twice what was given."""
    return given * 2


def process() -> int:
    """Where this runs."""
    return os.getpid()


def sleep(seconds: float) -> float:
    """Nothing, for a while."""
    time.sleep(seconds)
    return seconds


def grow() -> int:
    """More memory than there may be."""
    return len(bytearray(4 * crew.MEMORY))


def end() -> None:
    """End the process."""
    os._exit(3)


def refuse() -> None:
    """A refusal with its words in both languages."""
    raise malformed("doc.lines[3].t", Text("так", "yes"))


class CrewTests(TestCase):
    """The processes."""

    timeout = 120

    def setUp(self) -> None:
        """Without processes yet; each has time to import what it needs."""
        self.patch(crew, "PATIENCE", 100)
        self.crew = Crew(reactor)
        self.addCleanup(lambda: Deferred.fromCoroutine(self.crew.close()))

    def do(self, work: Callable[..., Any], *given: object) -> Deferred[Any]:
        """What comes of the work."""
        return Deferred.fromCoroutine(self.crew.do(work, *given))

    def fails(self, asked: Deferred[Any], why: str) -> Deferred[None]:
        """See that there is no result, and why."""
        return self.assertFailure(asked, CrewFailed).addCallback(lambda error: self.assertEqual(str(error), why))

    async def _done(self) -> None:
        given = bytes(range(256)) * 20_000
        self.assertEqual(await self.crew.do(double, given), given * 2)
        first = await self.crew.do(process)
        self.assertNotEqual(first, os.getpid())
        self.assertEqual(await self.crew.do(process), first)
        self.assertEqual(self.crew.pids, [first])

    def test_done(self) -> Deferred[None]:
        """The value comes back, also a large one; the process stays for the next work."""
        return Deferred.fromCoroutine(self._done())

    async def _refused(self) -> None:
        try:
            await self.crew.do(refuse)
        except Refused as refused:
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertIn("doc.lines[3].t: так", refused.errortxt("uk"))
            self.assertIn("doc.lines[3].t: yes", refused.errortxt("en"))
        else:
            self.fail("it was not refused")

    def test_refused(self) -> Deferred[None]:
        """An error of the work is raised here with all its data."""
        return Deferred.fromCoroutine(self._refused())

    async def _slow(self) -> None:
        hurried = self.patch(crew, "PATIENCE", 0.5)
        await self.fails(self.do(sleep, 50), crew.SLOW)
        hurried.restore()
        self.assertEqual(await self.crew.do(double, b"a"), b"aa")

    def test_slow(self) -> Deferred[None]:
        """A work that takes too long is ended, and the next one gets another process."""
        return Deferred.fromCoroutine(self._slow())

    async def _greedy(self) -> None:
        await self.fails(self.do(grow), LARGE)
        self.assertEqual(await self.crew.do(double, b"a"), b"aa")

    def test_greedy(self) -> Deferred[None]:
        """A work that needs too much memory is ended."""
        return Deferred.fromCoroutine(self._greedy())

    if not platform.isLinux():
        test_greedy.skip = "memory is limited on Linux only"  # type: ignore[attr-defined]

    async def _broken(self) -> None:
        await self.fails(self.do(end), DIED)
        self.assertEqual(await self.crew.do(double, b"a"), b"aa")

    def test_broken(self) -> Deferred[None]:
        """A process that dies takes only its own work with it."""
        return Deferred.fromCoroutine(self._broken())

    async def _much(self) -> None:
        self.patch(crew, "MOST_WAITING", 3)
        self.patch(crew, "QUEUED", 50)
        asked = [self.do(sleep, 0.2) for _ in range(3)]
        await self.fails(self.do(double, b"a"), BUSY)
        self.assertLessEqual(len(self.crew.pids), crew.MOST)
        self.assertEqual(await gatherResults(asked), [0.2] * 3)

    def test_much(self) -> Deferred[None]:
        """Two processes share what waits; more than may wait is refused at once."""
        return Deferred.fromCoroutine(self._much())

    async def _waiting(self) -> None:
        await self.crew.do(double, b"a")
        self.patch(crew, "QUEUED", 0.3)
        self.patch(crew, "MOST", 1)
        asked = self.do(sleep, 2)
        await self.fails(self.do(double, b"a"), BUSY)
        self.assertEqual(await asked, 2)

    def test_waiting(self) -> Deferred[None]:
        """A work that waits too long is refused; the one before it is done."""
        return Deferred.fromCoroutine(self._waiting())

    async def _idle(self) -> None:
        self.patch(crew, "IDLE", 0.2)
        first = await self.crew.do(process)
        while self.crew.pids:
            await deferLater(reactor, 0.02)
        self.assertNotEqual(await self.crew.do(process), first)

    def test_idle(self) -> Deferred[None]:
        """A process without work ends, and the next work starts one again."""
        return Deferred.fromCoroutine(self._idle())

    def test_not_started(self) -> Deferred[None]:
        """Where no process can be started, a work fails and says so; the log has the reason."""
        self.patch(crew, "COMMAND", ("/nowhere/python",))
        return self.fails(self.do(double, b"a"), NO_PROCESS)

    async def _closed(self) -> None:
        asked = [self.do(sleep, 50) for _ in range(3)]
        reached: Deferred[None] = Deferred()
        reactor.callLater(0.5, reached.callback, None)
        await reached
        await self.crew.close()
        for one in asked:
            await self.assertFailure(one, CrewFailed)
        await self.fails(self.do(double, b"a"), BUSY)
        self.assertEqual(self.crew.pids, [])

    def test_closed(self) -> Deferred[None]:
        """Closing ends the processes and what waits; nothing is taken after it."""
        return Deferred.fromCoroutine(self._closed())

    async def _composed(self) -> None:
        given: list[Element] = [Line("Кава"), Qr("https://example.com"), Cut()]
        for profile in PROFILES.values():
            there = await self.crew.do(_composed, given, "paper", profile)
            self.assertEqual(there, _composed(given, "paper", profile), profile.name)

    def test_composed(self) -> Deferred[None]:
        """A form and the profile of any printer go there, and the same job comes back."""
        return Deferred.fromCoroutine(self._composed())


class AtOnceTests(SynchronousTestCase):
    """Without processes."""

    def test_crew(self) -> None:
        """A reactor without processes does the work itself, and so does a clock without a crew."""
        for do in (Crew(Clock()).do, ServiceClock(Clock()).apart):
            work: Coroutine[Any, Any, int] = do(process)
            self.assertEqual(self.successResultOf(Deferred.fromCoroutine(work)), os.getpid())

    def test_words(self) -> None:
        """Every reason is said in both languages."""
        for why in (BUSY, crew.SLOW, LARGE, NO_PROCESS, DIED):
            self.assertNotEqual(wording(CrewFailed(why)).uk, wording(CrewFailed(why)).en)
