"""Concert V2 terminals: tasks become types, codes become results (docs/reference/concert-v2.md).

If an error comes before the request, nothing happened. After it the terminal cannot be asked: the end stays unknown
until a person has read the slip or the terminal sends its answer again (docs/reference/concert-v2.md#lost-answers).
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import SlipOnlyDriver, check_slip_only, handle_of
from dmtwisted.terminals.codes import catalogued
from dmtwisted.terminals.concert_v2.settings import BAUDRATE, CAPABILITIES, SERVICES, ConcertSettings
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import (
    Activity,
    Approved,
    Found,
    ITerminal,
    Keep,
    Order,
    Task,
    Verdict,
)
from dmtwisted.terminals.service import TerminalService
from dmtwisted.wording import wording
from protocols.errors import WireError
from protocols.terminals.concert_v2 import (
    MOST_CENTS,
    ConcertAnswer,
    ConcertTerminal,
    Interrupted,
    NotReady,
    NotTaken,
    Result,
    Settings,
    Unanswered,
)

RESULTS: dict[Result, Res] = {Result.REFUSED: Res.BANK_REFUSED, Result.NOT_VERIFIED: Res.TERMINAL_ERROR}
"""Results by code (docs/reference/concert-v2.md#result-codes); any other code is 5009."""

PRIVATE = 10
"""Characters of our own in a request, which some terminals send back."""


@implementer(ITerminal)
class ConcertDriver(SlipOnlyDriver[ConcertSettings]):
    """One Concert V2 terminal."""

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "concert-v2"
    terminal: ConcertTerminal

    def __init__(
        self,
        settings: ConcertSettings,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        super().__init__(settings, unreached)
        wire = Settings(
            settings.register,
            settings.currency,
            answer_wait=settings.wait_s,
            full=settings.full,
            force=settings.force,
        )
        self.terminal = ConcertTerminal(endpoint, clock, wire, self._came_late)
        # The operation whose answer did not come.
        self._unanswered: Order | None = None

    async def snapshot(self, order: Order) -> bytes:
        """Nothing can be asked beforehand; an order that the wire cannot carry is refused."""
        check_slip_only(order, self._settings.least, MOST_CENTS)
        return b""

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`. The answer is acknowledged once it is durable."""
        self._unanswered = None
        self._report(Activity.WORKING)
        private = order.uid.replace("-", "")[:PRIVATE]

        async def stored(answer: ConcertAnswer) -> None:
            if answer.approved:
                await keep(_verdict(order, answer))

        asks = {Task.PAYMENT: self.terminal.pay, Task.CANCEL: self.terminal.cancel}
        ask = asks.get(Task(order.task), self.terminal.refund)
        with self._sending(order):
            answer = await ask(order.sum, private, stored)
        return _verdict(order, answer)

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Nothing: a person has to read the slip, or the terminal sends its answer again."""
        self._unanswered = order
        return await super().find_out(order, snapshot, keep, patience)

    def _came_late(self, answer: ConcertAnswer) -> None:
        """An answer without a request: it is the lost one when all its members match.

        :raises LookupError: when they do not, so that it is not acknowledged and a person reads the slip.
        """
        order, settings = self._unanswered, self._settings
        named = answer.private.strip("0 ")
        fits = order is not None and (answer.register, answer.cents, answer.currency) == (
            settings.register,
            order.sum,
            settings.currency,
        )
        if order is None or not fits or (named and not order.uid.replace("-", "").startswith(named)):
            raise LookupError("a late answer to nothing that is known")
        self._unanswered = None
        self._late(order.uid, _verdict(order, answer))

    async def interrupt(self) -> None:
        """Withdraw the call before the request is sent.

        :raises Refused: 5029 after that: only the terminal's red key stops it then.
        """
        if not self.terminal.interrupt():
            raise Refused(
                Res.TASK_NOT_SUPPORTED, "interrupt", note=Text("запит уже надіслано", "the request is on its way")
            )

    def _not_sent(self, error: WireError) -> Refused:
        """The refusal for a call without a result."""
        if isinstance(error, NotReady):
            return Refused(Res.TERMINAL_BUSY, aq_errortxt=wording(error.reason))
        if isinstance(error, Interrupted):
            return Refused(Res.OPERATION_CANCELLED, aq_errortxt=wording(error.reason))
        if isinstance(error, NotTaken):
            return Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=wording(error.reason))
        if isinstance(error, Unanswered):
            return Refused(Res.HANDSHAKE_SILENT, aq_errortxt=wording(error.reason))
        return super()._not_sent(error)


def _verdict(order: Order, answer: ConcertAnswer) -> Verdict:
    """The verdict of an answer."""
    if answer.approved:
        handle = handle_of(order)
        return Approved(sum=answer.cents, cardmask=answer.card.replace("X", "*"), rrn=handle, cancelid=handle)
    res = RESULTS.get(answer.result) if answer.result is not None else None
    words = "not verified" if res is Res.TERMINAL_ERROR else ""
    return catalogued(order, res, answer.result_code, words, words)


def build(row: DeviceRow, settings: ConcertSettings, around: Surroundings) -> TerminalService:
    """The service of a Concert V2 terminal."""
    endpoint = endpoint_of(settings, around.reactor, 0, BAUDRATE)
    driver = ConcertDriver(settings, endpoint, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
