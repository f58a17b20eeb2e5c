"""A delivery that goes on after its caller was answered."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.printing.interface import Delivering
from protocols.printers.verdict import Outcome, Verdict


class UnderWay:
    """One delivery; ``ended`` fires once with the verdict and never fails."""

    log = Logger()

    def __init__(self, delivering: Delivering) -> None:
        self.taken = False
        """Whether the printer has every byte."""
        self.verdict: Verdict | None = None
        """`None` until it has ended."""
        self.ended: Deferred[Verdict] = Deferred()
        self._delivering = delivering
        self._waiter: Deferred[None] | None = None
        delivering.taken.addCallback(self._taken)
        delivering.done.addErrback(self._failed).addCallback(self._over)

    @property
    def begun(self) -> bool:
        """Whether anything that prints may have been sent."""
        return self._delivering.begun()

    @property
    def trouble(self) -> str:
        """Why the printer does not print, by its last status: a name of a reason, or empty."""
        return self._delivering.trouble()

    def give_up(self) -> None:
        """Give the job up, so that it is not printed later."""
        self._delivering.done.cancel()

    async def wait(self, seconds: float, clock: IReactorTime) -> None:
        """Return when the verdict is there, or after ``seconds``."""
        if self.verdict is not None:
            return
        waiter = self._waiter = Deferred[None]()
        late = clock.callLater(seconds, self._wake)
        await waiter
        if late.active():
            late.cancel()

    def _taken(self, _: None) -> None:
        self.taken = True

    def _failed(self, failure: Failure) -> Verdict:
        self.log.failure("a delivery failed", failure)
        return Verdict(Outcome.UNKNOWN if self.begun else Outcome.NOT_PRINTED, "lost")

    def _over(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.ended.callback(verdict)
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)
