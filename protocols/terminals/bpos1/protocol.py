"""The service's end of the pipe to the library's process (docs/reference/bpos1.md#process)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.terminals.bpos1.messages import NO_STATUS, Call, Lines, Said, Value, line_of, read_said
from protocols.terminals.lines import drop, notify, stop


class NoLibrary(NotReached):
    """There is no library here; ``kind`` is the reason that `protocols.terminals.bpos1.child` has for it."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Pace:
    """Seconds: for a question, for the start, and without any word before the process is killed."""

    question: float = 10.0
    start: float = 15.0
    mute: float = 10.0


Progress = Callable[[Said], object]


class Bpos1Line(Protocol):
    """A process of the library. Each call has its end, its deadline, and a heartbeat until then."""

    log = Logger()

    def __init__(self, clock: IReactorTime, pace: Pace | None = None) -> None:
        self._clock, self.pace = clock, pace or Pace()
        self._lines = Lines()
        self._n = 0
        self._due: Deferred[Said] | None = None
        self._progress: Progress | None = None
        self._taken = False
        self._starting = False
        self._deadline: IDelayedCall | None = None
        self._mute: IDelayedCall | None = None
        self.gone = False
        self.lost: Deferred[None] = Deferred()

    # Asking

    def ready(self) -> Deferred[Said]:
        """Fires when the library is loaded.

        :raises NoLibrary: when there is none; the Deferred fails with it.
        """
        due = self._wait(self.pace.start, self.pace.start, None)
        self._starting = True
        return due

    def call(
        self,
        name: str,
        *given: Value,
        read: Sequence[str] = (),
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Deferred[Said]:
        """Call a method of the library; fires with its end, or fails with a `WireError`."""
        if self.gone:
            failed: Deferred[Said] = Deferred()
            failed.errback(LineLost())
            return failed
        due = self._wait(patience or self.pace.question, self.pace.mute, progress)
        self._write(Call(self._n, name, list(given), list(read)))
        return due

    @property
    def working(self) -> bool:
        """Whether a call works."""
        return self._due is not None

    def at_once(self, name: str, *given: Value) -> None:
        """Call a method that acts on the call that works."""
        if self._due is not None and not self.gone:
            self._write(Call(self._n, name, list(given), at_once=True))

    def _wait(self, patience: float, mute: float, progress: Progress | None) -> Deferred[Said]:
        assert self._due is None
        self._n += 1
        self._due = due = Deferred[Said](lambda _: self._fail(LineLost("it was given up")))
        self._progress, self._taken = progress, False
        self._deadline = self._clock.callLater(patience, lambda: self._fail(Silent(patience, self._taken)))
        self._listen(mute)
        return due

    def _listen(self, seconds: float) -> None:
        stop(self._mute)
        self._mute = self._clock.callLater(seconds, lambda: self._fail(Silent(seconds, self._taken)))

    def _write(self, call: Call) -> None:
        assert self.transport is not None
        self.transport.write(line_of(call))

    # What the process says

    def dataReceived(self, data: bytes) -> None:
        """Pieces of lines; noise ends the process."""
        try:
            for line in self._lines.feed(data):
                if not self.gone:
                    self._heard(read_said(line))
        except Garbled as error:
            self._fail(error)

    def _heard(self, said: Said) -> None:
        if self._due is not None and self._starting:
            if said.absent is not None:
                self._fail(NoLibrary(said.reason, said.absent))
            elif said.version is not None:
                self._end().callback(said)
            else:
                self._fail(Garbled("no library's process"))
        elif self._due is None or said.n != self._n:
            self.log.info("a word of the library that nothing waits for: {n}", n=said.n)
        elif said.failed is not None:
            self._fail(LineLost(f"the library failed: {said.failed}"))
        elif said.status is not None:
            self._taken = self._taken or said.status != NO_STATUS
            self._listen(self.pace.mute)
            notify(self._progress, said)
        elif said.result is not None:
            self._end().callback(said)

    def _end(self) -> Deferred[Said]:
        due = self._due
        assert due is not None
        self._due, self._progress, self._starting = None, None, False
        stop(self._deadline)
        stop(self._mute)
        return due

    def _fail(self, error: WireError) -> None:
        """End the process: a call that did not come back would be in the way of the next one."""
        self.gone = True
        if self.transport is not None:
            drop(self.transport)
        if self._due is not None:
            due = self._end()
            if not due.called:
                due.errback(error)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The process has ended."""
        self.gone = True
        if self._due is not None:
            self._end().errback(LineLost("the library's process ended"))
        self.lost.callback(None)
