"""PrivatBank terminals: tasks become methods, codes become results (docs/reference/privatbank-json.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Action, Refused, Res, Text
from dmtwisted.security import mask_pan
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import ProvingDriver
from dmtwisted.terminals.card_first import CardDue
from dmtwisted.terminals.codes import SETTLE_FIRST, bank_refusal
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import (
    ECHO,
    MASKS,
    MERCHANTS,
    READING,
    Activity,
    Approved,
    Declined,
    Found,
    ITerminal,
    Keep,
    NeverStarted,
    Order,
    ReadCard,
    Task,
    Undecided,
    Verdict,
)
from dmtwisted.terminals.privatbank.proof import (
    LastReceipt,
    decode_last,
    encode_last,
    prove,
    refused_by_bank,
    shows_receipt,
)
from dmtwisted.terminals.privatbank.settings import BAUDRATE, CAPABILITIES, PORT, SERVICES, PrivatbankSettings
from dmtwisted.terminals.proof import latest_end, local_time
from dmtwisted.terminals.service import TerminalService
from protocols.errors import Garbled, NotReached, WireError
from protocols.terminals.privatbank_json import requests
from protocols.terminals.privatbank_json.line import Pace
from protocols.terminals.privatbank_json.messages import PARTLY_APPROVED, DiscountCard, PresentedCard, Reply
from protocols.terminals.privatbank_json.opening import Opening
from protocols.terminals.privatbank_json.recovery import Finding, Snapshot
from protocols.terminals.privatbank_json.terminal import PrivatbankTerminal

BETWEEN_PINGS = 2.0
"""Seconds between two pings of a busy terminal."""

TERMINAL: dict[str, Res] = {
    "1000": Res.TERMINAL_ERROR,
    "1001": Res.CANCELLED_BY_USER,
    "1002": Res.EMV_DECLINED,
    "1003": Res.TERMINAL_JOURNAL_FULL,
    "1004": Res.NO_BANK_CONNECTION,
    "1005": Res.NO_PAPER,
    "1006": Res.TERMINAL_KEYS_WRONG,
    "1007": Res.CARD_READER_MISSING,
    "1008": Res.TRANSACTION_COMPLETE,
}
"""The terminal's own codes, from 1000 on (docs/reference/privatbank-json.md#result-codes)."""

GENERAL, CANCELLED, LOCAL = "1000", "1001", "0001"
"""A general error with a text, a key on the terminal, and a failure before the bank was asked."""

RRN_WORDS = ("rrn",)
"""Words in it when a refund names no payment (5025)."""

REQUESTS: dict[int, Callable[[Order, str, PrivatbankSettings], requests.Primary]] = {
    Task.PAYMENT: lambda order, merchant, _: requests.Purchase(order.sum, merchant_id=merchant),
    Task.READ_CARD: lambda order, merchant, _: requests.Purchase(order.sum, merchant_id=merchant),
    Task.REFUND: lambda order, merchant, _: requests.Refund(order.sum, merchant_id=merchant, rrn=order.rrn),
    Task.CANCEL: lambda order, *_: (
        requests.WithdrawalPartly(order.sum, order.cancelid) if order.part else requests.Withdrawal(order.cancelid)
    ),
    Task.BANK_SERVICE: lambda order, merchant, _: requests.ServiceGeneric(
        order.sum, order.param, order.service, merchant
    ),
    Task.CASH_ISSUE: lambda order, merchant, _: requests.Cashback(order.sum, order.cash, merchant),
    Task.INSTALMENTS: lambda order, _, settings: requests.Instalments(
        order.sum, order.parts, service=settings.instalments
    ),
    Task.INSTALMENTS_REFUND: lambda order, _, settings: requests.InstalmentsRefund(
        order.sum, order.agreement, service=settings.instalments_refund
    ),
    Task.TOTALS: lambda _, merchant, __: requests.Audit(merchant),
    Task.SETTLEMENT: lambda _, merchant, __: requests.Verify(merchant),
    Task.DISCOUNT_CARD: lambda *_: requests.ReadCardDiscount(),
}
"""The method for each task (docs/reference/privatbank-json.md#methods)."""

PROGRESS = {
    0: Activity.WORKING,
    1: Activity.CARD_READ,
    2: Activity.CARD_READ,
    3: Activity.BANK,
    4: Activity.WAITING_CASHIER,
    5: Activity.PRINTING,
    6: Activity.PIN,
    7: Activity.WORKING,
    8: Activity.WAITING_CARD,
    9: Activity.WAITING_CARD,
    10: Activity.WORKING,
    11: Activity.WAITING_CASHIER,
}
"""Activities by progress code (docs/reference/privatbank-json.md#service-messages)."""

POLL = 0.5
"""Seconds between two questions for the progress, which is shown less than a second old."""

NOTHING_SHOWN = ("NO_D_GROUP", "PAN_UNDEF")
"""Values of a card that was not read (docs/reference/privatbank-json.md#service-messages)."""


@implementer(ITerminal)
class PrivatbankDriver(ProvingDriver[PrivatbankSettings]):
    """One PrivatBank terminal.

    :param pace: deadlines; the operation's own is the setting ``wait_s``.
    """

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "privatbank-json"
    terminal: PrivatbankTerminal

    def __init__(
        self,
        settings: PrivatbankSettings,
        endpoint: IStreamClientEndpoint,
        clock: ServiceClock,
        reactor: IReactorTime,
        unreached: Callable[[WireError], Refused],
        pace: Pace | None = None,
    ) -> None:
        super().__init__(settings, unreached)
        self._clock, self._reactor = clock, reactor
        opening = Opening(thorough=settings.opening == "thorough", pause=settings.opening_pause_s)
        pace = pace or Pace(operation=settings.wait_s, poll=POLL)
        self.terminal = PrivatbankTerminal(endpoint, reactor, pace, opening, self._came_late)
        self._tells = settings.tells_receipts
        # The last receipt of the open batch that the terminal reported.
        self._receipt = Snapshot()
        self._interrupted = False
        # The operation whose answer did not come.
        self._unanswered: Order | None = None
        # Opens the line for a question; and why that failed.
        self._reaching: Deferred[None] | None = None
        self._why_not: WireError | None = None
        # What task 7 made of the payment that stopped at its card.
        self._corrected: Order | None = None

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """The last receipt as it is now; the question also shows that the terminal is there and idle."""
        with self._refused():
            reply = await self._last_receipt()
        if reply.busy:
            raise Refused(Res.TERMINAL_BUSY)
        self._tells = self._tells or shows_receipt(reply)
        self._receipt = self._receipt if reply.error else Snapshot.of(reply)
        return encode_last(
            LastReceipt.of(reply, self._receipt, local_time(self._clock), self._tells, self._settings.place)
        )

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._interrupted, self._unanswered = False, None
        request = self._request(order)
        with self._sending(order):
            reply = await self.terminal.run(request, self.wait_s, self._moved)
        return self._verdict(order, reply)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """A purchase that the terminal stops at its card, as long as it is set up for."""
        self._interrupted, self._unanswered, self._corrected = False, None, None
        return await self._card_first.read(lambda card: self._held(order, card))

    async def _held(self, order: Order, card: CardDue) -> Verdict:
        with self._sending(order):
            opened = await self.terminal.read_card(order.sum, self._merchant(order), self.wait_s, self._moved)
            shown = await opened.card
            if shown is not None:
                card.callback(_card(order, shown))
            reply = await opened.ended
        return self._verdict(self._corrected or order, reply)

    async def proceed(self, order: Order) -> None:
        """Send the sum even if it is unchanged: the terminal then goes on at once, not after its timeout."""
        self._corrected = order
        reply = await self.terminal.correct(order.wanted)
        if reply.error or reply.unknown_method:
            raise Refused(
                Res.TERMINAL_ERROR, reply.text or Text("виправлення надійшло запізно", "the correction came too late")
            )

    async def interrupt(self) -> None:
        """See `ITerminal.interrupt`."""
        reply = await self.terminal.interrupt()
        if reply.unknown_method:
            raise Refused(Res.TASK_NOT_SUPPORTED, "interrupt")
        if reply.error:
            raise Refused(Res.TERMINAL_ERROR, reply.text)
        self._interrupted = True

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Compare the last receipt, once the terminal is idle, with the one from before the request."""
        self._unanswered = order
        before = decode_last(snapshot)
        with self._refused(NotReached):
            reply = await self._last(patience)
        if reply.busy:
            return Undecided("the terminal is still busy")
        if order.task == Task.SETTLEMENT:
            return _settled(before, reply)
        ended = latest_end(datetime.fromisoformat(before.begun), self.wait_s, local_time(self._clock))
        finding = prove(order, before, reply, ended)
        if finding is Finding.NOTHING:
            return NeverStarted()
        if finding is Finding.OURS:
            return self._verdict(order, reply)
        return Undecided(f"the last receipt is {reply.transaction.invoice_number or 'not reported'}")

    async def _last(self, patience: float) -> Reply:
        """The last receipt of an idle terminal, or the answer that it is still busy after ``patience`` seconds."""
        deadline = self._reactor.seconds() + patience
        while True:
            reply = await self.terminal.ping()
            if not reply.busy:
                reply = await self._last_receipt()
            if not reply.busy or self._reactor.seconds() + BETWEEN_PINGS > deadline:
                return reply
            await deferLater(self._reactor, BETWEEN_PINGS)

    async def _last_receipt(self) -> Reply:
        """The answer to ``GetReceiptInfo``; if it has no receipt, the question is asked twice.

        Once a day the batch is empty. At any other time a person would have to look at the slip.
        """
        reply = await self.terminal.last()
        return await self.terminal.last() if reply.error else reply

    def _came_late(self, reply: Reply) -> None:
        """The answer to an operation that was given up. It has no number, so everything else has to match."""
        order = self._unanswered
        if order is None or reply.method != self._request(order).method or not reply.code:
            return
        amount = reply.transaction.amount
        fits = amount in (None, order.sum + order.cash, order.wanted) or reply.code == PARTLY_APPROVED
        if reply.approved and order.sum and not fits:
            self.log.warn("a late answer over another sum: {reply!r}", reply=reply)
            return
        self._unanswered = None
        self._late(order.uid, self._verdict(order, reply))

    # Service methods

    async def check(self) -> None:
        """A ping."""
        with self._refused():
            reply = await self.terminal.ping()
        if reply.busy:
            raise Refused(Res.TERMINAL_BUSY)

    async def inquire(self) -> bool | None:
        """See `IInquired`: a ping. Opening the line takes longer than a question may, and goes on after it."""
        why, self._why_not = self._why_not, None
        if why is not None:
            raise self._not_sent(why)
        if self.terminal.is_open:
            return await super().inquire()
        if self._reaching is not None:
            return False
        waits = Deferred[None]()
        self._reaching = reaching = Deferred.fromCoroutine(self.terminal.reach())
        reaching.addBoth(self._reached, waits)
        try:
            with self._refused():
                await waits
        except CancelledError:
            return False
        return True

    def _reached(self, result: Failure | None, waits: Deferred[None]) -> None:
        """The line for a question is open, or is not."""
        self._reaching = None
        if not waits.called:
            waits.callback(result)
        elif isinstance(result, Failure) and isinstance(result.value, WireError):
            self._why_not = result.value

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`."""
        with self._refused():
            return await self._serve(name)

    async def _serve(self, name: str) -> dict[str, object]:
        if name == MERCHANTS:
            return {"merchListValue": _listed(await self.terminal.service("getMerchantList"))}
        if name == MASKS:
            return {"maskListValue": _listed(await self.terminal.service("getMaskList"))}
        reply = await (
            self.terminal.run(requests.CheckConnection(), self.wait_s) if name == ECHO else self.terminal.ping()
        )
        if reply.busy:
            raise Refused(Res.TERMINAL_BUSY)
        if not reply.approved:
            raise self._declined(Order(task=Task.PAYMENT, uid=""), reply).refused()
        return {"restxt": reply.text or "OK"}

    def close(self) -> None:
        """Close the line."""
        Deferred.fromCoroutine(self.terminal.close())

    # Requests and the meaning of answers

    def _request(self, order: Order) -> requests.Primary:
        """The method that does what ``order`` says."""
        return REQUESTS[order.task](order, self._merchant(order), self._settings)

    def _merchant(self, order: Order) -> str:
        return order.merchant or self._settings.merchant or requests.EVERY_MERCHANT

    def _verdict(self, order: Order, reply: Reply) -> Verdict:
        """The verdict of an answer.

        :raises Refused: when the terminal did not take the request.
        :raises Garbled: when the answer has no code.
        """
        if reply.busy:
            raise Refused(Res.TERMINAL_BUSY)
        if reply.unknown_method:
            raise Refused(Res.TASK_NOT_SUPPORTED, order.task)
        if order.task == Task.DISCOUNT_CARD:
            return _discount_card(reply)
        if not reply.code:
            raise Garbled("an answer without a code")
        if not reply.approved:
            return self._declined(order, reply)
        if order.task == Task.SETTLEMENT:
            self._receipt = Snapshot()
        elif order.task not in READING:
            self._receipt = Snapshot.of(reply)
        return _approved(order, reply)

    def _declined(self, order: Order, reply: Reply) -> Declined:
        code, text = reply.code, reply.text
        if code == CANCELLED and self._interrupted:
            return Declined.of(Res.OPERATION_CANCELLED, text=text)
        if code == GENERAL:
            return _general(order, text)
        if code == LOCAL:
            return Declined.of(Res.TERMINAL_ERROR, text or code, text=text)
        if code in TERMINAL:
            return Declined.of(TERMINAL[code], text=text)
        if code.isdigit() and code < GENERAL:
            return bank_refusal(order, code, text, reply.transaction.trn_status)
        return Declined.of(Res.UNHANDLED_CODE, code, text=text)

    def _moved(self, code: int) -> None:
        self._report(PROGRESS.get(code, Activity.WORKING))


def _general(order: Order, text: str) -> Declined:
    """The result of the general error, by its task and its text."""
    low = text.lower()
    if any(word in low for word in SETTLE_FIRST):
        return Declined.of(Res.SETTLEMENT_REQUIRED, text=text)
    if order.task == Task.CANCEL:
        return Declined.of(Res.OPERATION_NOT_FOUND, text=text)
    if order.task == Task.REFUND and any(word in low for word in RRN_WORDS):
        return Declined.of(Res.WRONG_RRN, text=text)
    return Declined.of(Res.TERMINAL_ERROR, text or GENERAL, text=text)


def _approved(order: Order, reply: Reply) -> Approved:
    """An approval; a terminal that prints by itself may send only its code."""
    booked = reply.transaction
    amount, partial = booked.amount, reply.text or f"another sum was approved, code {reply.code}"
    if booked.result_cashback is False:
        # The goods are paid and no cash was given; firmwares differ in the amount that they report then.
        partial = booked.result or "no cash was given"
        amount = order.sum if amount in (None, order.wanted) else amount
    return Approved(
        sum=amount,
        text=booked.result or reply.text,
        cardmask=booked.pan,
        paysys=booked.payment_system or booked.issuer_name,
        bank=booked.bank_acquirer,
        auth_code=booked.approval_code,
        rrn=booked.rrn or booked.rrn_ext,
        cancelid=booked.invoice_number,
        slip=booked.receipt,
        terminal_id=booked.terminal_id,
        merchant=booked.merchant,
        agreement=booked.agreement_number,
        partial=partial,
    )


def _card(order: Order, shown: PresentedCard) -> Approved:
    discount, pan = ("" if value in NOTHING_SHOWN else value for value in (shown.discount_name, shown.pan))
    return Approved(sum=order.sum, cardmask=pan, paysys=discount, discount=discount)


def _discount_card(reply: Reply) -> Verdict:
    """A discount card; only the masked number of its tracks is kept (docs/reference/terminals.md#rule-19)."""
    card = DiscountCard.read(reply.params)
    if not card.was_read:
        return Declined.of(Res.EMV_DECLINED, text=reply.text)
    number = (card.track2 or card.track1 or card.track3).strip(";%?").split("=")[0].split("^")[0]
    return Approved(cardmask=mask_pan(number))


def _settled(before: LastReceipt, reply: Reply) -> Found:
    """Whether a general report whose answer was lost closed the batch: then its receipts are gone."""
    if before.receipt.invoice_number:
        if Snapshot.of(reply) == before.receipt:
            return NeverStarted()
        if reply.error and reply.code == GENERAL:
            return Approved(text="found out: the batch is closed")
    elif refused_by_bank(reply) and reply.code == before.code:
        return NeverStarted()
    return Undecided("whether the batch was closed is unknown")


def _listed(reply: Reply) -> dict[str, Any]:
    if reply.error or reply.unknown_method:
        raise Refused(Res.TERMINAL_ERROR, reply.text or reply.message_type, action=Action.REPEAT)
    return {str(number): title for number, title in reply.numbered.items()}


def build(row: DeviceRow, settings: PrivatbankSettings, around: Surroundings) -> TerminalService:
    """The service of a PrivatBank terminal."""
    endpoint = endpoint_of(settings, around.reactor, PORT, BAUDRATE)
    unreached = Unreached(settings, Res.TERMINAL_ADDRESS_UNREACHABLE, Res.COM_PORT_UNAVAILABLE)
    driver = PrivatbankDriver(settings, endpoint, around.clock, around.reactor, unreached)
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
