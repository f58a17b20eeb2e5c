"""A simulated nexo terminal: the device's end of the wire (docs/reference/nexo.md#simulator).

- A message is a POST to ``/nexo``; the answer to an operation comes when the operation is over.
- While one operation runs, another one is answered with `Busy`; a query about the running one with `InProgress`.
- An operation goes on when the connection breaks, and is found by its ServiceID later, also after a restart.
- A used ServiceID is refused: the same operation is not done twice.
- A message that it cannot read, or whose seal does not match, is answered with the event `Reject`.
- If set so, it posts each step of an operation to the till, once; one that is not delivered is lost.

The answer to `Abort` is empty. Codes of the scenario: the bank's, or the name of a `Condition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from twisted.internet.interfaces import IAddress, IProtocolFactory, IReactorTime
from twisted.internet.ssl import PrivateCertificate
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, readBody
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from twisted.web.server import Request as HttpRequest

from protocols.errors import Garbled
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import (
    CANCEL,
    CARD,
    PAYMENT,
    REFUND,
    Busy,
    Card,
    Cause,
    Ending,
    Operation,
    Outcome,
    State,
    Terminal,
)
from protocols.terminals.nexo.messages import (
    Abort,
    CardAnswer,
    Category,
    Condition,
    Diagnose,
    GetTotals,
    Header,
    NexoAnswer,
    Payment,
    PaymentAnswer,
    PlainAnswer,
    ReadCard,
    Receipt,
    Reconcile,
    Reference,
    ReleaseCard,
    Request,
    Response,
    Result,
    Reversal,
    Status,
    StatusAnswer,
    Total,
    TotalsAnswer,
    Transaction,
    decode_request,
    encode_answer,
)
from protocols.terminals.nexo.notice import Notice, Shown, Step
from protocols.terminals.nexo.sealing import Seal

CONDITIONS = {
    Cause.BANK: Condition.REFUSAL,
    Cause.CANCELLED: Condition.CANCEL,
    Cause.TIMEOUT: Condition.ABORTED,
    Cause.CARD: Condition.INVALID_CARD,
    Cause.CHIP: Condition.REFUSAL,
    Cause.PIN: Condition.WRONG_PIN,
    Cause.NO_LINK: Condition.UNREACHABLE_HOST,
    Cause.NO_PAPER: Condition.DEVICE_OUT,
    Cause.READER: Condition.DEVICE_OUT,
    Cause.KEYS: Condition.LOGGED_OUT,
    Cause.AMOUNT: Condition.PAYMENT_RESTRICTION,
    Cause.NOT_FOUND: Condition.NOT_FOUND,
    Cause.REVERSED: Condition.NOT_ALLOWED,
}
"""Its answer for a cause; for others that it is not available."""

BRANDS = {"MASTERCARD": "mc", "VISA": "visa"}
ENTRIES = {"CONTACTLESS": "Contactless", "CHIP": "ICC"}

STEPS = {
    State.WAITING_CARD: Step.TENDER_CREATED,
    State.PIN: Step.WAIT_FOR_PIN,
    State.AUTHORISING: Step.PIN_ENTERED,
    State.PRINTING: Step.PRINT_RECEIPT,
}
"""The step that it posts for a state; for the card it depends on how it was read."""

ENTERED = {"CONTACTLESS": Step.CARD_PRESENTED, "CHIP": Step.CARD_INSERTED}

GARBAGE = b"\x00\xff{]"
LONGEST = 1_000_000
"""Bytes of a message."""


class NexoDevice(Resource):
    """The device as a resource for ``/nexo``.

    :param seal: the shared key; without one it takes messages as they are, and no sealed ones.
    :param post: sends one notice to the till; without it there are no notices.
    """

    isLeaf = True

    def __init__(
        self,
        terminal: Terminal,
        clock: IReactorTime,
        poi_id: str,
        seal: Seal | None = None,
        currency: str = "UAH",
        post: Callable[[bytes], object] | None = None,
    ) -> None:
        Resource.__init__(self)
        self._post, self._posted = post, 0
        self.terminal, self.clock, self.poi_id, self.currency = terminal, clock, poi_id, currency
        self._seal = seal
        self._card: tuple[str, Card] | None = None
        self._aborted = ""

    def site(self) -> NexoSite:
        """The HTTP server of the device."""
        return NexoSite(self)

    def render_POST(self, request: HttpRequest) -> int:
        """Take one message."""
        assert request.content is not None
        reply = _Reply(request)
        message = request.content.read(LONGEST)
        try:
            header, asked = decode_request(message if self._seal is None else self._seal.open(message))
        except Garbled as garbled:
            reply.say(self._sealed(Notice("Reject", f"message={garbled.what}").encode(self.poi_id)))
            return NOT_DONE_YET

        def tell(answer: NexoAnswer) -> None:
            reply.say(self._sealed(encode_answer(header, answer)))

        match asked:
            case Abort():
                self._abort(asked.about)
                reply.say(b"")
            case Status():
                self._probed(reply, lambda: tell(self._status(header, asked.about)))
            case Diagnose() | ReleaseCard():
                if isinstance(asked, ReleaseCard):
                    self._card = None
                self._probed(reply, lambda: tell(PlainAnswer(Response(Result.SUCCESS), asked.category)))
            case _:
                self._operate(header, asked, reply, tell)
        return NOT_DONE_YET

    def _sealed(self, message: bytes) -> bytes:
        return message if self._seal is None else self._seal.seal(message)

    # Queries.

    def _probed(self, reply: _Reply, answer: Callable[[], None]) -> None:
        self.terminal.query(lambda fate: reply.play(fate.line, answer))

    def _status(self, header: Header, about: Reference) -> StatusAnswer:
        running = self.terminal.running
        if running is not None and running.reference == about.service_id:
            return StatusAnswer(_failed(Condition.IN_PROGRESS))
        outcome = self.terminal.find(about.service_id)
        category = Category.REVERSAL if outcome is not None and outcome.kind == CANCEL else Category.PAYMENT
        if outcome is None or outcome.kind not in (PAYMENT, REFUND, CANCEL) or about.category != category:
            return StatusAnswer(_failed(Condition.NOT_FOUND))
        repeats = Header(category, about.service_id, about.sale_id or header.sale_id, self.poi_id)
        return StatusAnswer(Response(Result.SUCCESS), self._payment_answer(outcome), repeats)

    def _abort(self, about: Reference) -> None:
        running = self.terminal.running
        if running is not None and running.reference == about.service_id:
            self._aborted = about.service_id
            self.terminal.interrupt()

    # Operations.

    def _operate(self, header: Header, asked: Request, reply: _Reply, tell: Callable[[NexoAnswer], None]) -> None:
        if header.poi_id != self.poi_id:
            tell(_refusal(asked, Condition.UNAVAILABLE_DEVICE))
            return
        if self.terminal.find(header.service_id) is not None:
            tell(_refusal(asked, Condition.MESSAGE_FORMAT))
            return
        if isinstance(asked, Payment) and asked.currency != self.currency:
            tell(_refusal(asked, Condition.PAYMENT_RESTRICTION))
            return
        try:
            operation = self._begin(asked, header)
        except Busy:
            tell(_refusal(asked, Condition.BUSY))
            return
        if operation is None:
            tell(_refusal(asked, Condition.NOT_FOUND))
            return
        operation.ending.addCallback(self._ended, asked, reply, tell)

    def _begin(self, asked: Request, header: Header) -> Operation | None:
        terminal, service_id = self.terminal, header.service_id
        shows = self._shows(header)
        match asked:
            case Payment(refund=True):
                return terminal.refund(asked.amount, reference=service_id, progress=shows)
            case Payment():
                card = None
                if asked.card is not None:
                    if self._card is None or self._card[0] != asked.card.id:
                        return None
                    card, self._card = self._card[1], None
                goods = asked.amount - asked.cash
                return terminal.purchase(goods, cash=asked.cash, reference=service_id, card=card, progress=shows)
            case Reversal():
                found = terminal.find_rrn(asked.original.id)
                if found is None:
                    return None
                return terminal.cancel(found.invoice or -1, amount=asked.amount, reference=service_id, progress=shows)
            case ReadCard():
                return terminal.read_card(reference=service_id, progress=shows)
            case GetTotals():
                return terminal.report(reference=service_id)
            case Reconcile():
                return terminal.settle(reference=service_id)
        raise AssertionError("every other request is answered before")

    def _shows(self, header: Header) -> Callable[[State], None]:
        """What posts each step of an operation to the till."""
        post = self._post
        began = datetime.fromtimestamp(self.clock.seconds(), UTC)
        entered = False

        def shows(state: State) -> None:
            nonlocal entered
            step = STEPS.get(state)
            if state is State.CARD_READ:
                card = self.terminal.running.card if self.terminal.running is not None else None
                step = ENTERED.get(card.entry if card is not None else "", Step.CARD_SWIPED)
            if state is State.AUTHORISING and not entered:
                step = None
            entered = entered or state is State.PIN
            if post is None or step is None:
                return
            self._posted += 1
            name = f"T{int(began.timestamp())}"
            at = began.isoformat(timespec="seconds")
            shown = Shown(step, header.service_id, header.sale_id, f"{self._posted:010d}", name, at)
            post(self._sealed(shown.encode(self.poi_id)))

        return shows

    def _ended(self, ending: Ending, asked: Request, reply: _Reply, tell: Callable[[NexoAnswer], None]) -> None:
        outcome = ending.outcome
        if outcome is not None and outcome.kind == CARD and outcome.card is not None:
            self._card = f"C{int(outcome.at.timestamp())}", outcome.card

        def answer() -> None:
            assert outcome is not None
            tell(self._answer(outcome, asked))

        reply.play(ending.line, answer)

    def _answer(self, outcome: Outcome, asked: Request) -> NexoAnswer:
        response = self._response(outcome)
        match asked:
            case ReadCard():
                if self._card is None or not outcome.approved:
                    return CardAnswer(response)
                name, card = self._card
                return CardAnswer(response, Transaction(name, _time(outcome)), _pan(card), _brand(card))
            case GetTotals() | Reconcile():
                return TotalsAnswer(response, self._totals(outcome), asked.category)
        answer = self._payment_answer(outcome)
        if isinstance(asked, (Payment, Reversal)):
            return replace(answer, sale=asked.sale)
        return answer

    def _payment_answer(self, outcome: Outcome) -> PaymentAnswer:
        category = Category.REVERSAL if outcome.kind == CANCEL else Category.PAYMENT
        response = self._response(outcome)
        if not outcome.approved:
            return PaymentAnswer(response, category=category)
        card = outcome.card if category is Category.PAYMENT else None
        receipts: tuple[Receipt, ...] = ()
        if category is Category.PAYMENT:
            lines = tuple(outcome.slip.splitlines())
            receipts = tuple(Receipt(kind, lines) for kind in ("CashierReceipt", "CustomerReceipt"))
        return PaymentAnswer(
            response,
            transaction=Transaction(outcome.rrn, _time(outcome)),
            approved_amount=outcome.reported,
            cash=outcome.cash,
            currency=self.currency if category is Category.PAYMENT else "",
            approval_code=outcome.auth_code if category is Category.PAYMENT else "",
            masked_pan=_pan(card),
            brand=_brand(card),
            entry_modes=(ENTRIES.get(card.entry, "MagStripe"),) if card is not None else (),
            receipts=receipts,
            category=category,
        )

    def _response(self, outcome: Outcome) -> Response:
        if outcome.approved:
            return Response(Result.PARTIAL if outcome.partial else Result.SUCCESS)
        cause = outcome.cause or Cause.BANK
        if cause is Cause.CANCELLED and outcome.reference and outcome.reference == self._aborted:
            return _failed(Condition.ABORTED)
        if cause is Cause.BANK:
            if outcome.code in {each.value for each in Condition}:
                # A rule of the scenario may name a condition of the wire.
                return _failed(outcome.code)
            reason = f"refusalReason={outcome.code}%20refused&message=REFUSED"
            return Response(Result.FAILURE, Condition.REFUSAL, reason)
        return _failed(CONDITIONS.get(cause, Condition.UNAVAILABLE_SERVICE))

    def _totals(self, outcome: Outcome) -> tuple[Total, ...]:
        totals = outcome.totals
        if totals is None:
            return ()
        kinds: Iterable[tuple[str, int, int]] = (
            ("Debit", totals.payments, totals.payments_sum),
            ("Credit", totals.refunds, totals.refunds_sum),
            ("ReverseDebit", totals.cancels, totals.cancels_sum),
        )
        return tuple(Total(kind, count, amount, self.currency) for kind, count, amount in kinds if count)


class NexoSite(Site):
    """The device's HTTP server; a caller that the scenario turns away gets no connection."""

    def __init__(self, device: NexoDevice) -> None:
        root = Resource()
        root.putChild(b"nexo", device)
        # An operation takes as long as its customer.
        Site.__init__(self, root, timeout=None, reactor=device.clock)
        self._terminal = device.terminal

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A connection, unless the scenario says `unreachable`."""
        if not self._terminal.takes_call():
            return None
        return Site.buildProtocol(self, addr)


class _TlsSite(TLSMemoryBIOFactory):
    """A site behind TLS."""

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A connection, unless the site turns the caller away."""
        inner = self.wrappedFactory.buildProtocol(addr)
        return None if inner is None else self.protocol(self, inner)


def over_tls(site: NexoSite, pem: str) -> IProtocolFactory:
    """``site`` behind TLS.

    :param pem: its certificate and private key.
    """
    factory: IProtocolFactory = _TlsSite(PrivateCertificate.loadPEM(pem).options(), False, site)
    return factory


def posts_to(url: str, reactor: Any) -> Callable[[bytes], object]:
    """What posts notices to ``url``; failures are ignored."""
    agent = Agent(reactor, connectTimeout=5.0)
    headers = Headers({"Content-Type": ["application/json"]})

    def post(message: bytes) -> None:
        sent = agent.request(b"POST", url.encode(), headers, FileBodyProducer(BytesIO(message)))
        sent.addCallback(readBody).addErrback(lambda _: b"")

    return post


class _Reply:
    """The answer to one message, while its client waits."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._gone = False
        request.notifyFinish().addErrback(self._lost)

    def _lost(self, _: Failure) -> None:
        self._gone = True

    def say(self, body: bytes) -> None:
        """Answer with ``body``."""
        if self._gone:
            return
        self._request.setHeader("content-type", "application/json")
        self._request.write(body)
        self._request.finish()

    def play(self, line: Then, answer: Callable[[], None]) -> None:
        """Do to the line what the scenario wants, or call ``answer``."""
        match line:
            case Then.SILENT:
                return
            case Then.LOST_BEFORE | Then.LOST_AFTER:
                if not self._gone:
                    self._request.loseConnection()
            case Then.GARBAGE:
                self.say(GARBAGE)
            case _:
                answer()


def _failed(condition: str) -> Response:
    return Response(Result.FAILURE, condition)


def _refusal(asked: Request, condition: Condition) -> NexoAnswer:
    """The answer to an operation that is not begun."""
    response = _failed(condition)
    match asked:
        case ReadCard():
            return CardAnswer(response)
        case GetTotals() | Reconcile():
            return TotalsAnswer(response, category=asked.category)
    return PaymentAnswer(response, category=asked.category)


def _time(outcome: Outcome) -> str:
    return outcome.at.astimezone(UTC).isoformat(timespec="seconds")


def _pan(card: Card | None) -> str:
    return f"{card.pan[:6]} **** {card.pan[-4:]}" if card is not None else ""


def _brand(card: Card | None) -> str:
    return BRANDS.get(card.brand, card.brand.lower()) if card is not None else ""
