"""A card that was read and waits for the cashier: between tasks 6 and 7 (http-api 3.2)."""

from __future__ import annotations

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from dmtwisted.results import Refused, Res


class Cashier:
    """The cashier's word on a card, for terminals that leave the waiting to us.

    :param clock: the time of deadlines, which nobody moves.
    :param patience: seconds that the cashier has.
    """

    def __init__(self, clock: IReactorTime, patience: float) -> None:
        self._clock, self._patience = clock, patience
        self._word: Deferred[int | None] | None = None

    @property
    def waits(self) -> bool:
        """Whether a card waits now."""
        return self._word is not None

    async def confirmed(self) -> int | None:
        """The sum to go on with, in kopecks; `None` when it is not wanted, or nobody said so in time."""
        self._word = word = Deferred[int | None]()
        try:
            return await word.addTimeout(self._patience, self._clock)
        except TimeoutError:
            return None
        finally:
            self._word = None

    def say(self, wanted: int | None) -> None:
        """Go on with ``wanted`` kopecks, or give the card up.

        :raises Refused: 5074 when no card waits.
        """
        if self._word is None or self._word.called:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        self._word.callback(wanted)
