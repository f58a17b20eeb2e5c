"""ZVT terminals: tasks become commands, result codes become results (docs/reference/zvt.md).

**Acknowledgements are money.** The terminal keeps a booking once its status information, and each slip line after it,
is acknowledged. So an approval is durable before it is acknowledged. If it cannot be stored, the acknowledgement is a
refusal, and the terminal takes the booking back (docs/reference/terminals.md#rule-7).

**A lost answer** is found out by the terminal's last receipt, compared with the one from before the request:

=======================================  ==================================================================
the last receipt is                      then
=======================================  ==================================================================
the same                                 nothing was booked
the next one, with our sum and time      it is ours
two on, after a booking that we stored   the terminal took ours back, for it missed an acknowledgement
two on, and takes back the one before    nothing is left of both, whichever was ours
anything else                            the end stays unknown
=======================================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import ProvingDriver, refuse_part
from dmtwisted.terminals.card_first import CardDue, ConfirmedCard
from dmtwisted.terminals.codes import bank_refusal, catalogued
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import (
    ECHO,
    Activity,
    Approved,
    Declined,
    Found,
    IKeepsEarly,
    ITerminal,
    Keep,
    Order,
    ReadCard,
    Task,
    Undecided,
    Verdict,
)
from dmtwisted.terminals.proof import batch_closed, latest_end, local_time
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.zvt.proof import LAST_RECEIPT, Batch, Before, Receipt, decode_before, encode_before, judge
from dmtwisted.terminals.zvt.settings import BAUDRATE, CAPABILITIES, PORT, SERVICES, ZvtSettings
from dmtwisted.wording import wording
from protocols.errors import Garbled, NotReached, WireError
from protocols.serial import SerialEndpoint
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.lines import open_line, silent
from protocols.terminals.zvt import codes
from protocols.terminals.zvt.link import line_settings
from protocols.terminals.zvt.messages import IntermediateStatus, StatusInformation
from protocols.terminals.zvt.protocol import Store, ZvtAnswer, ZvtProtocol
from protocols.terminals.zvt.protocol import ZvtSettings as WireSettings

RESULTS: dict[int, Res] = {
    **dict.fromkeys((0x72, 0x7E), Res.EMV_DECLINED),
    **dict.fromkeys((0x6A, 0xB2), Res.TERMINAL_JOURNAL_FULL),
    **dict.fromkeys((0x7D, 0x9B, 0xA1, 0xA3), Res.NO_BANK_CONNECTION),
    codes.PRINTER: Res.NO_PAPER,
    **dict.fromkeys((codes.KEY_MISSING, 0x74, 0xEB), Res.TERMINAL_KEYS_WRONG),
    **dict.fromkeys((0xE2, 0xFC, codes.PIN_PAD), Res.CARD_READER_MISSING),
    codes.ALREADY_REVERSED: Res.TRANSACTION_COMPLETE,
    **dict.fromkeys((codes.OVER_LIMIT, 0xC8, 0xB7), Res.BANK_AMOUNT_NOT_ALLOWED),
    **dict.fromkeys((0x73, 0x78, 0x79, 0x7A), Res.BANK_WRONG_CARD),
    0x71: Res.INSUFFICIENT_FUNDS,
    **dict.fromkeys((codes.WAIT, codes.CARD_INSERTED, 0xA0), Res.TERMINAL_BUSY),
    **dict.fromkeys((0x77, codes.RECONCILIATION_DUE), Res.SETTLEMENT_REQUIRED),
    codes.NOTHING_TO_REVERSE: Res.OPERATION_NOT_FOUND,
    codes.NOT_POSSIBLE: Res.TASK_NOT_SUPPORTED,
}
"""Results above the bank's (docs/reference/zvt.md#result-codes); any other with a text is 5000, without one 5009."""

STATES = {
    **dict.fromkeys((0x01, 0x02), Activity.PIN),
    **dict.fromkeys((0x04, 0x06, 0xD2, 0xD3), Activity.BANK),
    **dict.fromkeys((0x0A, 0x0B, 0x0C), Activity.WAITING_CARD),
    0xC8: Activity.WAITING_CASHIER,
}
"""Activities by intermediate state; every other state is work in progress (docs/reference/zvt.md#codes)."""

AT_THE_PIN_PAD = frozenset({0x01, 0x02, 0x41, 0x42})
"""States in which an abort is a key that the customer pressed."""

MOST = 10**12 - 1
"""Hundredths that six bytes hold."""

CONNECT_WAIT = 5.0
"""Seconds for opening a line (docs/reference/terminals.md#rule-10)."""

ANSWER_WAIT = 10.0
"""Seconds for a question that moves no money."""

BETWEEN_LOOKS = 1.0
"""Seconds between two questions whether the terminal is idle."""

LONGEST_READING = 99
"""The longest time in seconds that a terminal can wait for a card."""


class ZvtLine(ZvtProtocol):
    """A ZVT line that reports when it is closed."""

    def __init__(self, clock: IReactorTime, settings: WireSettings) -> None:
        super().__init__(clock, settings)
        self.gone = False
        self.lost: Deferred[None] = Deferred()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The line is closed; the waiting exchange fails first."""
        self.gone = True
        super().connectionLost(reason)
        self.lost.callback(None)


@implementer(ITerminal, IKeepsEarly)
class ZvtDriver(ProvingDriver[ZvtSettings]):
    """One ZVT terminal.

    A line ends with its operation. What arrives on a new one before our command is not acknowledged: the question for
    the last receipt reports it.
    """

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "zvt"
    _card_first: ConfirmedCard
    keeps_early = True
    """A booking is final only when its slip was acknowledged too (docs/reference/zvt.md#acknowledgements)."""

    def __init__(
        self,
        settings: ZvtSettings,
        endpoint: IStreamClientEndpoint,
        clock: ServiceClock,
        reactor: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        super().__init__(settings, unreached)
        self._endpoint, self._clock, self._reactor = endpoint, clock, reactor
        self._wire = WireSettings(
            password=settings.password,
            currency=settings.currency,
            slips=settings.slips,
            locks_menu=settings.locks_menu,
            abort_payments=settings.abort_payments,
            charset=settings.charset,
            serial=settings.interface == "serial",
            patience=settings.wait_s,
        )
        self._line: ZvtLine | None = None
        self._tells = settings.tells_last
        # The last booking that was made durable, with the name of its operation.
        self._booked: tuple[str, Receipt] | None = None
        self._interrupted = False
        self._card_first = ConfirmedCard(reactor, settings.confirm_s)

    def remember(self, uid: str, verdict: Verdict) -> None:
        """See `IKeepsEarly.remember`."""
        booking = Receipt.held(verdict)
        if booking is not None and (self._booked is None or self._booked[0] != uid):
            self._booked = uid, booking

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """The last receipt as it is now. The line stays open for the operation."""
        _check(order)
        try:
            line = await self._open()
            await self._at_rest(line, order.task)
            if order.task == Task.TOTALS:
                return b""
            last, told = await self._last(line)
            batch = await self._batch(line) if order.task == Task.SETTLEMENT else None
        except WireError as error:
            self._leave()
            raise self._not_sent(error) from error
        except BaseException:
            self._leave()
            raise
        begun, place = local_time(self._clock).isoformat(), self._settings.place
        return encode_before(Before(last, begun, self._tells, batch, place, untold=not told))

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._interrupted, self._booked = False, None
        try:
            line = await self._still_open()
            return self._verdict(order, await self._operate(line, order, snapshot, keep))
        finally:
            self._leave()

    async def _operate(
        self, line: ZvtLine, order: Order, snapshot: bytes, keep: Keep, card_read: bool = False
    ) -> ZvtAnswer:
        store = self._storing(order, keep)
        if order.task == Task.TOTALS:
            return await line.totals(progress=self._moved)
        if order.task == Task.SETTLEMENT:
            return await line.settle(store, progress=self._moved)
        known = self._known(snapshot)
        if order.task == Task.REFUND:
            return await line.refund(order.sum, store, progress=self._moved, receipt_known=known)
        if order.task == Task.CANCEL:
            return await line.reverse(int(order.cancelid), store, progress=self._moved, receipt_known=known)
        return await line.pay(order.wanted, store, progress=self._moved, receipt_known=known, card_read=card_read)

    def _storing(self, order: Order, keep: Keep) -> Store:
        """The function that makes a booking durable before it is acknowledged."""

        async def store(status: StatusInformation) -> None:
            if status.result == codes.OK:
                await keep(self._approved(order, status, ""))
                self._booked = order.uid, Receipt.of(status)

        return store

    def _known(self, snapshot: bytes) -> int | None:
        """The last receipt number that we know, for the terminal to compare (docs/reference/zvt.md#in-step)."""
        last = decode_before(snapshot).last
        return last.number if self._settings.in_step and last is not None and last.number else None

    # A card first (tasks 6 and 7)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """Read a card; the payment with that card follows on the same line when task 7 comes."""
        self._interrupted, self._booked = False, None
        return await self._card_first.read(lambda card: self._held(order, snapshot, keep, card))

    async def _held(self, order: Order, snapshot: bytes, keep: Keep, card: CardDue) -> Verdict:
        try:
            line = await self._still_open()
            wait = min(LONGEST_READING, int(self.wait_s))
            with self._moving_nothing():
                read = await line.read_card(wait, progress=self._moved)
            if not read.taken:
                raise _not_taken(order, read.result)
            if not read.done or read.status is None:
                return self._declined(order, read)
            card.callback(self._approved(order, read.status, "", order.sum))
            self._report(Activity.WAITING_CASHIER)
            wanted = await self._card_first.confirmed()
            if wanted is None:
                return Declined.of(Res.OPERATION_CANCELLED)
            if line.gone:
                raise Refused(
                    Res.REQUEST_NOT_TAKEN, aq_errortxt=wording("the line was closed, and the card is forgotten")
                )
            order = msgspec.structs.replace(order, corrected=wanted)
            _check(order)
            answer = await self._operate(line, order, snapshot, keep, card_read=True)
            return self._verdict(order, answer)
        finally:
            self._leave()

    async def interrupt(self) -> None:
        """See `ITerminal.interrupt`. Reading a card can always be stopped, a payment where the setting says so.

        :raises Refused: 5029 when this operation cannot be stopped.
        """
        if self._card_first.waits or self._line is None or not self._line.interrupt():
            await super().interrupt()
        else:
            self._interrupted = True

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Compare the last receipt, once the terminal is idle, with the one from before the request."""
        before = decode_before(snapshot)
        deadline = self._reactor.seconds() + patience
        try:
            with self._refused(NotReached):
                line = await self._open()
                while not await self._rests(line):
                    if self._reactor.seconds() + BETWEEN_LOOKS > deadline:
                        return Undecided("the terminal is still busy")
                    await deferLater(self._reactor, BETWEEN_LOOKS)
                if order.task == Task.SETTLEMENT:
                    return batch_closed(before.batch, await self._batch(line))
                answer = self._told(await self._asked(line.last_result()))
        finally:
            self._leave()
        status = None if answer is None else answer.status
        begun = datetime.fromisoformat(before.begun)
        ended = latest_end(begun, self.wait_s, local_time(self._clock))
        ours = self._booked[1] if self._booked is not None and self._booked[0] == order.uid else None
        found = judge(order, before, None if status is None else Receipt.of(status), ended, ours)
        if found is not None:
            return found
        assert answer is not None and status is not None
        if status.result == codes.OK:
            return self._approved(order, status, "")
        return self._declined(order, answer, status.result)

    # The line

    async def _open(self) -> ZvtLine:
        """A line on which the till is registered; the line before it is closed first.

        :raises Refused: when the terminal does not accept the till.
        """
        before, self._line = self._line, None
        if before is not None:
            _close(before)
            await before.lost
        self._line = line = await self._call()
        answer = await self._asked(line.register())
        self._require(answer)
        return line

    async def _call(self) -> ZvtLine:
        """A new line."""
        return await open_line(
            self._endpoint, lambda: ZvtLine(self._reactor, self._wire), self._reactor, CONNECT_WAIT
        )

    async def _still_open(self) -> ZvtLine:
        """The line of the snapshot, or a new one when it was closed meanwhile.

        :raises Refused: when there is none; nothing was sent.
        """
        if self._line is not None and not self._line.gone:
            return self._line
        with self._refused():
            return await self._open()

    def _asked(self, due: Deferred[ZvtAnswer]) -> Deferred[ZvtAnswer]:
        """``due`` with the deadline of a question that moves no money."""
        return due.addTimeout(ANSWER_WAIT, self._reactor, silent)

    def _leave(self) -> None:
        """Close the line after what was written."""
        if self._line is not None:
            _close(self._line)

    # Questions

    async def _rests(self, line: ZvtLine) -> bool:
        """Whether the terminal is idle, so that its last receipt is final."""
        answer = await self._asked(line.status())
        if not answer.taken:
            return answer.result != codes.WAIT
        if answer.completion is None:
            return True
        return answer.completion.report.status not in (codes.WAIT, codes.CARD_INSERTED)

    async def _at_rest(self, line: ZvtLine, task: int = Task.PAYMENT) -> None:
        """See that the terminal can work.

        :raises Refused: with its reason when it cannot.
        """
        answer = await self._asked(line.status())
        if not answer.taken:
            if answer.result == codes.WAIT:
                raise Refused(Res.TERMINAL_BUSY)
            return  # A terminal without this command reports it in the operation itself.
        status = answer.completion.report.status if answer.completion is not None else answer.result
        if status == codes.RECONCILIATION_DUE and task in (Task.TOTALS, Task.SETTLEMENT):
            return  # The general report itself clears that.
        if status != codes.OK:
            raise self._declined(Order(Task.PAYMENT, ""), answer, status).refused()

    async def _last(self, line: ZvtLine) -> tuple[Receipt | None, bool]:
        """The last receipt before an operation, and whether the terminal answered the question for it.

        A refusal of the question says nothing about payments, and the journal has no open one now.

        :raises Refused: when the terminal is busy.
        """
        answer = await self._asked(line.last_result())
        if answer.result == codes.WAIT:
            raise Refused(Res.TERMINAL_BUSY)
        try:
            told = self._told(answer)
        except Refused as refused:
            self.log.warn(
                "the terminal refuses to report its last receipt, so a lost answer may stay unknown: {why}",
                why=f"{refused} {refused.aq_errortxt}".strip(),
            )
            return None, False
        return (None if told is None or told.status is None else Receipt.of(told.status)), True

    def _told(self, answer: ZvtAnswer) -> ZvtAnswer | None:
        """The answer when it has the last receipt; `None` when the terminal has no receipt.

        :raises Refused: when it refuses the question.
        """
        if answer.taken and answer.status is not None:
            self._tells = True
            return answer
        if answer.result in (codes.NOT_POSSIBLE, codes.NOTHING_TO_REVERSE, codes.OK):
            return None
        raise self._refusal(answer)

    def _require(self, answer: ZvtAnswer) -> None:
        if not (answer.taken and answer.done):
            raise self._refusal(answer)

    def _refusal(self, answer: ZvtAnswer) -> Refused:
        """The refusal for a question that the terminal did not answer."""
        order = Order(Task.PAYMENT, "")
        return self._declined(order, answer).refused() if answer.taken else _not_taken(order, answer.result)

    async def _batch(self, line: ZvtLine) -> Batch | None:
        """The content of the open batch; `None` when the terminal only prints it."""
        answer = await self._asked(line.totals())
        totals = answer.status.totals if answer.done and answer.status is not None else None
        return None if totals is None else Batch.of(totals)

    # Service methods

    async def check(self) -> None:
        """Registration and status enquiry."""
        try:
            with self._refused():
                await self._at_rest(await self._open())
        finally:
            self._leave()

    port_only = True

    async def inquire(self) -> bool | None:
        """See `IInquired`: whether its port is open; a registration would show on its screen."""
        if self._settings.interface != "tcp":
            return None
        with self._refused():
            _close(await self._call())
        return True

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`: a ping, or the terminal's test of its connection to the bank."""
        if name != ECHO:
            await self.check()
            return {"restxt": "OK"}
        try:
            with self._refused():
                answer = await (await self._open()).diagnose(progress=self._moved)
        finally:
            self._leave()
        self._require(answer)
        return {"restxt": "OK"}

    def close(self) -> None:
        """Close the line and end a payment that waits for task 7."""
        super().close()
        self._leave()

    # What an answer means

    def _verdict(self, order: Order, answer: ZvtAnswer) -> Verdict:
        """The verdict of the terminal's messages on an operation.

        :raises Refused: when it did not take the command.
        :raises Garbled: when they contradict each other, so that the terminal has to be asked.
        """
        if not answer.taken:
            raise _not_taken(order, answer.result)
        if not answer.stored and not answer.completed and order.task not in (Task.CANCEL, Task.SETTLEMENT):
            # This end is certain, and a later repeat gets it: not an error of the store.
            text = "the payment could not be stored, so the terminal took it back on request"
            return Declined.of(Res.REQUEST_NOT_TAKEN, text=text)
        if order.task in (Task.TOTALS, Task.SETTLEMENT) and answer.done:
            return self._approved(order, answer.status, _slips(answer), 0)
        if not answer.done and not answer.doubtful:
            return self._declined(order, answer)
        if answer.doubtful and (answer.stored or order.task not in (Task.CANCEL, Task.SETTLEMENT)):
            raise Garbled("the terminal reported a booking, and then something else")
        if answer.status is None:
            raise Garbled("the terminal completed without reporting a booking")
        if not answer.done:
            raise Garbled("the terminal reported a booking, and then aborted")
        return self._approved(order, answer.status, _slips(answer))

    def _approved(
        self, order: Order, status: StatusInformation | None, slip: str, amount: int | None = None
    ) -> Approved:
        """An approval.

        :param amount: the sum of the answer instead of the terminal's own.
        """
        if status is None:
            return Approved(sum=amount or 0, slip=slip)
        if amount is None:
            # A booking names its sum; only a reversal may leave it out.
            amount = status.amount if status.amount is not None or order.task == Task.CANCEL else 0
            if status.currency not in (None, self._settings.currency):
                amount = NOT_A_SUM
        return Approved(
            sum=amount,
            cardmask=status.pan,
            paysys=status.card_name,
            auth_code=status.authorisation,
            rrn=f"{status.trace:06d}" if status.trace else "",
            cancelid=f"{status.receipt:04d}" if status.receipt else "",
            slip=slip,
            terminal_id=status.terminal_id,
            merchant=status.vu_number,
        )

    def _declined(self, order: Order, answer: ZvtAnswer, result: int | None = None) -> Declined:
        """The refusal for a result code; that of ``answer`` unless another one is given."""
        code = answer.result if result is None else result
        words = answer.status.text(self._settings.charset).strip() if answer.status is not None else ""
        text = words or codes.result_text(code)
        if 0 < code <= codes.LAST_BANK_CODE:
            return bank_refusal(order, f"{code:04d}", text, f"{code:02X}")
        if code == codes.ABORTED:
            pressed = bool(answer.states) and answer.states[-1] in AT_THE_PIN_PAD
            by_customer = pressed and not self._interrupted
            return Declined.of(Res.CANCELLED_BY_USER if by_customer else Res.OPERATION_CANCELLED, text=text)
        return _of_terminal(order, code, text)

    def _moved(self, status: IntermediateStatus) -> None:
        text = codes.intermediate_text(status.status)
        self._report(STATES.get(status.status, Activity.WORKING), text)


def _check(order: Order) -> None:
    """See that the wire can carry an order.

    :raises Refused: when it cannot; nothing was sent.
    """
    refuse_part(order)
    if order.wanted > MOST:
        raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED)
    number = order.cancelid
    named = number.isascii() and number.isdigit() and 0 < int(number) <= LAST_RECEIPT
    if order.task == Task.CANCEL and not named:
        raise Refused(Res.OPERATION_NOT_FOUND)


def _not_taken(order: Order, code: int) -> Refused:
    """The refusal for a command that the terminal refused with ``84 xx``."""
    if code == codes.WAIT:
        return Refused(Res.TERMINAL_BUSY)
    if code == codes.UNKNOWN_COMMAND:
        return Refused(Res.TASK_NOT_SUPPORTED, order.task)
    return Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=wording(f"84 {code:02X}: {codes.result_text(code)}"))


def _of_terminal(order: Order, code: int, text: str) -> Declined:
    """A refusal of the terminal itself."""
    res = RESULTS.get(code)
    if res is None and code in codes.RESULTS:
        res = Res.TERMINAL_ERROR
    return catalogued(order, res, f"{code:02X}", text, text)


def _slips(answer: ZvtAnswer) -> str:
    return "\n\n".join(slip.text for slip in answer.slips)


def _close(line: ZvtLine) -> None:
    if line.transport is not None and not line.gone:
        line.transport.loseConnection()


def build(row: DeviceRow, settings: ZvtSettings, around: Surroundings) -> TerminalService:
    """The service of a ZVT terminal."""
    if settings.interface == "serial":
        # Two stop bits, unlike any other terminal.
        line = line_settings(settings.serial_port, settings.baudrate or BAUDRATE)
        endpoint: IStreamClientEndpoint = SerialEndpoint(around.reactor, line)
    else:
        endpoint = endpoint_of(settings, around.reactor, PORT, BAUDRATE)
    driver = ZvtDriver(settings, endpoint, around.clock, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
