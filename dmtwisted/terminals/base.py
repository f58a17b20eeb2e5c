"""What the drivers of all terminals share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.results import Refused, Res, Text
from dmtwisted.terminals.answers import nothing_sent
from dmtwisted.terminals.card_first import CardFirst
from dmtwisted.terminals.interface import (
    Activity,
    Found,
    IInquired,
    Keep,
    Order,
    ReadCard,
    Task,
    TerminalProgress,
    Undecided,
    Verdict,
)
from dmtwisted.terminals.proof import told_before
from dmtwisted.terminals.settings import TerminalSettings
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError

S = TypeVar("S", bound=TerminalSettings)

LOOK = "this protocol has no question for it: look at the terminal's slip"
"""Why nothing can be found out."""


@implementer(IInquired)
class TerminalDriver(Generic[S]):
    """The parts of `ITerminal` that most wires have in common; a driver overrides what its wire can do.

    Drivers are given an ``endpoint`` that opens lines, the ``clock`` of the service for comparing with receipts, and
    the ``reactor`` for deadlines, whose time is never set.

    :param unreached: makes the refusal for a terminal to which there is no connection.
    """

    terminal: Any
    """The wire."""

    log = Logger()
    keeps_early = False
    names_sum = True
    """Whether approvals of this wire name their sum, so that another one is noticed."""

    def __init__(self, settings: S, unreached: Callable[[WireError], Refused]) -> None:
        self._settings, self._unreached = settings, unreached
        self.wait_s, self.return_lost_answer = settings.wait_s, settings.return_lost_answer
        self._card_first = CardFirst()
        # The operation whose answer did not come.
        self._unanswered: Any = None
        self._progressed: Callable[[TerminalProgress], None] = lambda _: None
        self._late: Callable[[str, Verdict], None] = lambda *_: None

    def listen(self, progress: Callable[[TerminalProgress], None], late: Callable[[str, Verdict], None]) -> None:
        """See `ITerminal.listen`."""
        self._progressed, self._late = progress, late

    def recall(self, snapshot: bytes) -> None:
        """See `ITerminal.recall`: nothing is learned here."""

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """This wire reads no card without paying.

        :raises Refused: 5029.
        """
        raise Refused(Res.TASK_NOT_SUPPORTED, order.task)

    async def proceed(self, order: Order) -> None:
        """See `ITerminal.proceed`."""
        self._card_first.confirm(order.wanted)

    async def interrupt(self) -> None:
        """Give up a card that waits for the cashier; only the terminal's own key stops a running operation.

        :raises Refused: 5029 when no card waits.
        """
        if not self._card_first.waits:
            raise Refused(Res.TASK_NOT_SUPPORTED, "interrupt")
        self._card_first.confirm(None)

    async def check(self) -> None:
        """See `ITerminal.check`: a ping."""
        with self._refused():
            await self.terminal.ping()

    port_only = False

    async def inquire(self) -> bool | None:
        """See `IInquired`: a ping, which most wires have for this."""
        await self.check()
        return True

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`; there is only the ping."""
        await self.check()
        return {"restxt": "OK"}

    def close(self) -> None:
        """End a payment that waits for task 7; no line is kept between operations."""
        self._card_first.close()

    def _report(self, activity: Activity, text: str = "") -> None:
        self._progressed(TerminalProgress(activity, text))

    def _not_sent(self, error: WireError) -> Refused:
        """The refusal for a request that was certainly not sent."""
        return nothing_sent(error, self._unreached(error))

    @contextmanager
    def _refused(self, errors: type[WireError] | tuple[type[WireError], ...] = WireError) -> Iterator[None]:
        """Turn wire errors that come before the request was sent into refusals."""
        try:
            yield
        except errors as error:
            raise self._not_sent(error) from error

    @contextmanager
    def _sending(self, operation: object) -> Iterator[None]:
        """Around a request: a refusal when it was not sent; else a late answer may belong to ``operation``."""
        try:
            yield
        except NotReached as error:
            raise self._not_sent(error) from error
        except WireError:
            self._unanswered = operation
            raise

    @contextmanager
    def _moving_nothing(self) -> Iterator[None]:
        """Around a question that moves no money: nothing has to be found out, so every wire error is a refusal."""
        try:
            yield
        except NotReached as error:
            raise self._not_sent(error) from error
        except WireError as error:
            raise Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=wording(error)) from error


class ProvingDriver(TerminalDriver[S]):
    """A driver that proves the end of an operation by what the terminal reports about its last one."""

    _tells: bool
    """Whether the terminal is known to report that."""

    def recall(self, snapshot: bytes) -> None:
        """See `ITerminal.recall`: a terminal that reported its last operation at this place still does."""
        self._tells = self._tells or told_before(snapshot, self._settings.place)


class SlipOnlyDriver(TerminalDriver[S]):
    """A terminal that cannot be asked how an operation ended: a person has to read its slip.

    Its operations have no number either. A cancel names the sum, and the terminal asks the cashier for the rest.
    """

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Nothing: a person has to read the slip."""
        return Undecided(LOOK)


def refuse_part(order: Order) -> None:
    """Check that a cancel is over the whole operation, where the wire has no other.

    :raises Refused: 5029.
    """
    if order.part:
        raise Refused(Res.TASK_NOT_SUPPORTED, Task.CANCEL, note=Text("скасування частини суми", "a cancel of a part"))


def check_slip_only(order: Order, least: int, most: int) -> None:
    """Check that a terminal without operation numbers can do ``order``: a whole cancel, with its sum, within limits.

    :raises Refused: when it cannot; nothing was sent.
    """
    refuse_part(order)
    if order.task == Task.CANCEL and not order.sum:
        raise Refused(Res.MISSING_OBJECT, "pay.sum")
    if not least <= order.sum <= most:
        raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED)


def handle_of(order: Order) -> str:
    """The name of an operation for a later cancel, where the wire has none and the terminal goes by the sum."""
    return order.uid[:8]
