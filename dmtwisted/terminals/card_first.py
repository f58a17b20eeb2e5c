"""A payment that stops at its card: task 6 reads the card, task 7 names the sum.

See docs/reference/terminals.md#card-first.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from dmtwisted.results import Refused, Res
from dmtwisted.terminals.interface import Approved, ReadCard, Verdict

CardDue = Deferred[Approved | None]
"""Fires with the card that was read."""


class CardFirst:
    """The payment of one terminal that stops at its card."""

    _ended: Deferred[Verdict] | None = None
    waits = False
    """Whether a card waits for the cashier now."""

    def confirm(self, wanted: int | None) -> None:
        """Go on with ``wanted`` kopecks, or give the card up for `None`.

        :raises Refused: 5074 when no card waits.
        """
        raise Refused(Res.NOTHING_TO_CONFIRM)

    async def read(self, pay: Callable[[CardDue], Coroutine[Any, Any, Verdict]]) -> ReadCard:
        """Start ``pay`` and return when it has read a card, or when it has ended without one.

        :param pay: the whole payment; it fires the Deferred that it gets with the card, and goes on.
        """
        card: CardDue = Deferred()
        self._ended = ended = Deferred.fromCoroutine(pay(card))

        def over(result: Any) -> Any:
            if not card.called:
                card.callback(None)
            return result

        ended.addBoth(over)
        return ReadCard(await card, ended)

    def close(self) -> None:
        """Let go of a payment that waits for task 7."""
        if self._ended is not None:
            self._ended.cancel()


class ConfirmedCard(CardFirst):
    """The same for a terminal that leaves the waiting for the cashier to the service.

    :param patience: seconds that the cashier has.
    """

    def __init__(self, clock: IReactorTime, patience: float) -> None:
        self._clock, self._patience = clock, patience
        self._sum: Deferred[int | None] | None = None

    async def confirmed(self) -> int | None:
        """The sum to go on with, in kopecks; `None` when the cashier gives up or does not confirm in time."""
        self._sum = wanted = Deferred[int | None]()
        self.waits = True
        try:
            return await wanted.addTimeout(self._patience, self._clock)
        except TimeoutError:
            return None
        finally:
            self._sum, self.waits = None, False

    def confirm(self, wanted: int | None) -> None:
        """See `CardFirst.confirm`."""
        if self._sum is None or self._sum.called:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        self._sum.callback(wanted)
