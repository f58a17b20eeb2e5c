"""Child processes for work that takes long and whose length a caller chooses: drawing codes, pictures and pages.

A thread would not do: it holds the interpreter, so that every till waits, and it cannot be ended. Up to `MOST`
processes are started when there is work, stay for the next, and end when there is none for a while. Nothing that they
do lasts: what is lost with one is asked for again.

=====================  ========================================================================================
the service writes     a length of four bytes, and a function with its arguments (pickle)
a process writes       a length of four bytes, and the value or the error (pickle); once at its start, `READY`
the service            kills a process that takes too long; closes the input of one that is to end
=====================  ========================================================================================
"""

from __future__ import annotations

import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.system.environment import environment
from dmtwisted.system.processes import stand_back, start

if sys.platform == "linux":
    import resource

MOST, MOST_WAITING = 2, 16
"""Processes at the same time, and works that wait for one."""

PATIENCE, QUEUED = 10.0, 15.0
"""Seconds that one work may take, and may wait: for another work, or for a process to start."""

IDLE = 300.0
"""Seconds without work after which a process ends."""

MEMORY = 512 * 1024 * 1024
"""Bytes that a process may have, where the system can limit it."""

NICE = 5
"""How much further back than the service a process stands, when both want a processor."""

READY = b"\0\0\0\0"

# Not with "-m": errors of this module have to have the same name at both ends.
COMMAND = (sys.executable, "-c", "from dmtwisted.system.crew import main; main()")

T = TypeVar("T")


class CrewFailed(Exception):
    """A work has no result; the text is English, as `dmtwisted.wording` knows it."""


class Crew:
    """The processes, and the works that wait for them."""

    log = Logger()

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._clock: IReactorTime = reactor
        self._waiting: deque[_Work] = deque()
        self._hands: list[_Hand] = []
        self._closing: Deferred[None] | None = None

    async def do(self, work: Callable[..., T], *arguments: object) -> T:
        """The value of ``work``, a function of a module, which is called in a child process.

        A reactor without processes, as in tests, calls it at once.
        :raises CrewFailed: when it takes too long or too much memory, or too many others wait.
        :raises Exception: what it raises.
        """
        if not IReactorProcess.providedBy(self._reactor):
            return work(*arguments)
        if self._closing is not None or len(self._waiting) >= MOST_WAITING:
            raise CrewFailed(BUSY)
        asked = _Work(pickle.dumps((work, arguments)))
        asked.late = self._clock.callLater(QUEUED, self._waited, asked)
        self._waiting.append(asked)
        self._share()
        done, value = pickle.loads(await asked.answer)
        if not done:
            raise value
        result: T = value
        return result

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [hand.transport.pid for hand in self._hands if hand.transport is not None]

    async def close(self) -> None:
        """End every process; afterwards there is none."""
        if self._closing is None:
            self._closing = Deferred()
            for asked in list(self._waiting):
                self._waited(asked)
            for hand in self._hands:
                hand.kill()
            self._share()
            await self._closing

    def _share(self) -> None:
        """Give what waits to the processes, and start one where all are busy."""
        for hand in self._hands:
            if self._waiting and hand.free:
                hand.take(self._waiting.popleft())
        starting = sum(hand.starting for hand in self._hands)
        if self._closing is not None:
            if not self._hands and not self._closing.called:
                self._closing.callback(None)
        elif len(self._waiting) > starting and len(self._hands) < MOST:
            hand = _Hand(self._reactor, self._share, self._gone)
            self._hands.append(hand)
            try:
                start(self._reactor, hand, COMMAND, environment())
            except OSError as error:
                self._hands.remove(hand)
                hand.forget()
                self.log.error("no process for drawing can be started: {why}", why=str(error))
                self._waited(self._waiting[0], NO_PROCESS)

    def _gone(self, hand: _Hand) -> None:
        self._hands.remove(hand)
        if hand.said:
            self.log.warn("a process for drawing ended: {said}", said=hand.said.decode("utf-8", "replace"))
        if hand.starting and self._closing is None and self._waiting:
            # It is broken: another one would be, too.
            self._waited(self._waiting[0], NO_PROCESS)
        self._share()

    def _waited(self, asked: _Work, why: str = "") -> None:
        with suppress(ValueError):
            self._waiting.remove(asked)
            asked.fail(why or BUSY)


BUSY = "too much is being drawn at the moment, repeat it"
SLOW = f"it takes longer than {PATIENCE:.0f} s to draw, make it shorter"
LARGE = f"it takes more than {MEMORY >> 20} MB to draw, make it shorter"
NO_PROCESS = "no process can be started for it, see the log"
DIED = "the process that drew it ended, see the log"


class _Work:
    """A work that was asked for."""

    def __init__(self, question: bytes) -> None:
        self.question = question
        self.answer: Deferred[bytes] = Deferred()
        self.late: IDelayedCall | None = None

    def on_time(self) -> None:
        """It waits no longer."""
        if self.late is not None and self.late.active():
            self.late.cancel()

    def done(self, answer: bytes) -> None:
        """Its answer is here."""
        self.on_time()
        if not self.answer.called:
            self.answer.callback(answer)

    def fail(self, why: str) -> None:
        """There will be no answer."""
        self.done(pickle.dumps((False, CrewFailed(why))))


class _Hand(ProcessProtocol):
    """One process, its work and its time.

    :param ready: called when it can take a work.
    :param gone: called with it when it has ended.
    """

    def __init__(self, reactor: Any, ready: Callable[[], None], gone: Callable[[_Hand], None]) -> None:
        self._reactor, self._ready, self._gone = reactor, ready, gone
        self._output = bytearray()
        self._work: _Work | None = None
        self._why = DIED
        self.starting, self._ending, self.said = True, False, b""
        self._timer: IDelayedCall = reactor.callLater(QUEUED, self.kill)

    @property
    def free(self) -> bool:
        """Whether it can take a work."""
        return self._work is None and not self.starting and not self._ending

    def take(self, work: _Work) -> None:
        """Do ``work``."""
        work.on_time()
        self._work, self._why = work, DIED
        self._wait(PATIENCE, self._slow)
        assert self.transport is not None
        self.transport.write(len(work.question).to_bytes(4) + work.question)

    def outReceived(self, data: bytes) -> None:
        """A piece of an answer."""
        self._output += data
        if len(self._output) < 4 or len(self._output) < 4 + int.from_bytes(self._output[:4]):
            return
        answer, self._output = bytes(self._output[4:]), bytearray()
        work, self._work, self.starting = self._work, None, False
        self._wait(IDLE, self._rest)
        if work is not None:
            work.done(answer)
        self._ready()

    def errReceived(self, data: bytes) -> None:
        """What it has to say, for the log."""
        self.said = (self.said + data)[-2000:]

    def kill(self) -> None:
        """End it now."""
        if self.transport is not None:
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess("KILL")

    def forget(self) -> None:
        """It was never started."""
        self._timer.cancel()

    def processEnded(self, reason: Failure) -> None:
        """It has ended."""
        if self._timer.active():
            self._timer.cancel()
        work, self._work, self._ending = self._work, None, True
        # Before anyone hears of it, who may have the next work.
        self._gone(self)
        if work is not None:
            work.fail(self._why)

    def _slow(self) -> None:
        self._why = SLOW
        self.kill()

    def _rest(self) -> None:
        self._ending = True
        assert self.transport is not None
        self.transport.closeStdin()

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        if self._timer.active():
            self._timer.cancel()
        self._timer = self._reactor.callLater(seconds, then)


# The process


def main() -> None:
    """Do what comes from standard input until it ends."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints must not come between the answers.
    sys.stdout = sys.stderr
    _limit()
    answers.write(READY)
    answers.flush()
    while len(head := questions.read(4)) == 4:
        answer = _answer(questions.read(int.from_bytes(head)))
        answers.write(len(answer).to_bytes(4) + answer)
        answers.flush()


def _answer(question: bytes) -> bytes:
    try:
        work, arguments = pickle.loads(question)
        return pickle.dumps((True, work(*arguments)))
    except MemoryError:
        return pickle.dumps((False, CrewFailed(LARGE)))
    except Exception as error:
        with suppress(Exception):
            return pickle.dumps((False, error))
        return pickle.dumps((False, CrewFailed(f"{type(error).__name__}: {error}")))


def _limit() -> None:
    # It ends with the service, which finishes its tasks first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stand_back(NICE)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
