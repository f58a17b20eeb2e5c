"""A document whose answer was lost is asked for while its caller still waits, so that most callers never hear of it.

What is found decides. The tax service has the document: it is done. It says twice that it does not: the document is
sent again, as the same bytes under the same number, so that one copy can be registered and never both. Another
document has the number, or nothing is known when the time is over: the question stays open for the next task.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    Away,
    ChannelOutcome,
    IFiscalChannel,
    Rejected,
    Unknown,
)
from dmtwisted.results import Refused, Res

GRANTED_S = 20.0
"""Seconds for which the caller of a register waits at least (specification 4.7)."""

RESERVE_S = 2.0
"""Seconds of them for what follows: the store, and the way of the answer."""

LEAST_S = 5.0
"""Seconds of them for asking: a document that is not answered before that is asked for."""

PAUSE_S = 1.0
"""Seconds between two questions. The tax service may not know a document yet that it is still busy with."""

REVOKING_TRIES = 2
"""Questions without an answer after which a register goes offline that may do so with a lost answer."""

Became = ChannelOutcome | Absent
Submitting = Coroutine[Any, Any, ChannelOutcome]

S = TypeVar("S")


def nothing() -> None:
    """There is nothing to let through."""


class Asking:
    """Asks for the documents of one register in the time that their callers grant.

    :param insist: lets the next question through though the tax service did not answer just now.
    :param tries: questions without an answer after which it gives up; 0: only when the time is over.
    :param lasts: seconds for which it asks from the loss on, however long the caller has waited; 0: in their time.
    """

    def __init__(
        self,
        channel: IFiscalChannel,
        clock: ServiceClock,
        insist: Callable[[], None] = nothing,
        tries: int = 0,
        lasts: float = 0.0,
    ) -> None:
        self._channel, self._clock, self._insist, self._tries = channel, clock, insist, tries
        self._lasts = lasts
        self._end = 0.0
        self._stopped = False
        self._waits: Deferred[Any] | None = None

    def begin(self, caller: bool = True) -> None:
        """Count the time of a caller from now on; without a caller there is none."""
        self._end = self._clock.steady() + GRANTED_S - RESERVE_S if caller else 0.0

    def stop(self) -> None:
        """Ask no more; what is not known yet stays open."""
        self._stopped = True
        if self._waits is not None:
            self._waits.cancel()

    async def there(self, within: float) -> bool:
        """Whether the tax service answers ``within`` so many seconds, even if it did not answer just now."""
        self._insist()
        asked = Deferred.fromCoroutine(self._channel.answers())
        answered: bool = await asked.addTimeout(within, self._clock, lambda result, _: result is True)
        return answered

    @property
    def over(self) -> bool:
        """Whether a caller was granted time, and it is over."""
        return self._end > 0 and self._left <= PAUSE_S

    @property
    def under_way(self) -> bool:
        """Whether a document is asked for now."""
        return self._waits is not None

    @property
    def _left(self) -> float:
        """Seconds until the caller has to be answered."""
        return self._end - self._clock.steady()

    def submitted(self, submit: Callable[[S], Submitting], submission: S) -> Awaitable[ChannelOutcome]:
        """The outcome of a document, which is waited for only while there is time to ask for it afterwards."""
        left = self._left
        if left <= 0:
            return submit(submission)
        within = max(left - LEAST_S, PAUSE_S)
        return self._within(within, Deferred.fromCoroutine(submit(submission)))

    async def became(
        self,
        number: int,
        sent: Callable[[], bytes],
        outcome: Unknown | Rejected,
        submit: Callable[[], Submitting],
        due: bool,
    ) -> Became:
        """What became of the document ``number``; refused or absent only when that is certain.

        :param sent: gives its bytes. :param outcome: of its submission. :param submit: sends it again.
        :param due: whether it follows an accepted document: one that did not leave is tried again too.
        """
        doubt: Became = outcome
        absent = unanswered = 0
        if self._lasts:
            self._end = self._clock.steady() + self._lasts
        self._insist()
        while self._left > 0 and not self._stopped:
            found = await self.asked(self._left, lambda: self._channel.probe(number, sent()))
            reached("collision.asked")
            if isinstance(found, Accepted):
                return found
            if isinstance(found, Unknown):
                if found.res is Res.COLLISION_UNSOLVABLE:
                    return found
                doubt, unanswered = Unknown(found.why), unanswered + 1
                if unanswered == self._tries:
                    break
            elif isinstance(outcome, Rejected) and not isinstance(outcome.refused, Away):
                # It was refused, and no earlier copy had arrived.
                return outcome
            else:
                absent, unanswered = absent + 1, 0
            if absent > 1 and self._left > 2 * PAUSE_S:
                absent, outcome = 0, await self.asked(self._left - PAUSE_S, submit)
                away = isinstance(outcome, Rejected) and isinstance(outcome.refused, Away)
                if isinstance(outcome, Accepted) or (away and not due):
                    return outcome
                if not away:
                    continue
            if not await self.pause():
                break
        if self._stopped:
            return Unknown("the service stops")
        return Absent() if absent > 1 else doubt

    async def asked(self, seconds: float, ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The answer that comes within ``seconds``; `Unknown` when none comes."""
        self._waits = waits = Deferred[Any].fromCoroutine(ask())
        try:
            return await self._within(seconds, waits)
        except (CancelledError, Refused) as error:
            # Stopped; or the key that signs the question cannot be used.
            return Unknown(str(error))
        finally:
            self._waits = None

    async def pause(self) -> bool:
        """Wait before the next question; whether there is time for it then."""
        if self._stopped or self._left <= PAUSE_S:
            return False
        self._waits = waits = Deferred[Any]()
        over = self._clock.callLater(PAUSE_S, waits.callback, None)
        try:
            await waits
        except CancelledError:
            if over.active():
                over.cancel()
            return False
        finally:
            self._waits = None
        return True

    def _within(self, seconds: float, waits: Deferred[Any]) -> Deferred[Any]:
        """``waits``, which is given up after ``seconds``: what was sent then may have arrived."""

        def given_up(result: Any, _: float) -> Any:
            certain = isinstance(result, Accepted | Absent | Rejected)
            return result if certain else Unknown(f"no answer in {seconds:g} s")

        return waits.addTimeout(seconds, self._clock, given_up)
