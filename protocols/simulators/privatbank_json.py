"""A simulated PrivatBank terminal: the device's end of the wire (docs/reference/privatbank-json.md#simulator).

It serves one client: a second one connects and gets no answers. A primary method while another one runs is answered
with ``deviceBusy``; service messages are answered at any time. `protocols.simulators.terminal` prints, numbers,
remembers and follows the scenario. Rules for ``probe`` apply to queries (ping, receipt data, slip), no rule applies
to service messages.

In process a client is connected to `PrivatbankSimulator.buildProtocol`; behind a port the simulator is the factory.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import (
    BUSY,
    CANCEL,
    PAYMENT,
    REFUND,
    Busy,
    Card,
    Cause,
    Ending,
    Fate,
    Operation,
    Outcome,
    State,
    Terminal,
)
from protocols.simulators.terminal_line import TerminalDevice, TerminalLine
from protocols.terminals.lines import stop
from protocols.terminals.privatbank_json import requests
from protocols.terminals.privatbank_json.amounts import amount_text, kopecks_of
from protocols.terminals.privatbank_json.messages import (
    APPROVED,
    SERVICE,
    Deframer,
    Identity,
    PresentedCard,
    Reply,
    Request,
    Transaction,
    frame,
)

GARBAGE = b'\x15\x07 \xc3\x28 {"method":\x00'
"""What the scenario sends instead of an answer; it ends as a message does."""

GENERAL, NO_RECORDS = "1000", "0001"

CODES = {
    Cause.CANCELLED: "1001",
    Cause.CHIP: "1002",
    Cause.JOURNAL_FULL: "1003",
    Cause.NO_LINK: "1004",
    Cause.NO_PAPER: "1005",
    Cause.KEYS: "1006",
    Cause.READER: "1007",
    Cause.REVERSED: "1008",
    Cause.PIN: "0055",
}
"""The terminal's own codes (docs/reference/privatbank-json.md#codes); every other cause is the general error."""

WORDS = {
    Cause.CANCELLED: "Transaction canceled by user",
    Cause.JOURNAL_FULL: "Журнал заповнено, проведіть звірку підсумків",
    Cause.SETTLE_FIRST: "Потрібна звірка підсумків",
    Cause.NOT_FOUND: "Операцію не знайдено",
    Cause.MERCHANT: "Невірний мерчант!",
}

PROGRESS = {
    State.IDLE: 0,
    State.WAITING_CARD: 9,
    State.CARD_READ: 1,
    State.HELD: 11,
    State.PIN: 6,
    State.AUTHORISING: 3,
    State.PRINTING: 5,
}
"""Progress codes (docs/reference/privatbank-json.md#service-messages)."""

_TXN_TYPES = {PAYMENT: "1", REFUND: "2", CANCEL: "3"}

_QUERIES = (
    requests.PingDevice,
    requests.CheckConnection,
    requests.GetTerminalInfo,
    requests.PrintReceiptNum,
    requests.GetReceiptInfo,
)


class PrivatbankSimulator(TerminalDevice["PrivatbankWire"]):
    """The device, see `TerminalDevice`.

    :param adjust: seconds for which a purchase stops at the card for ``getDiscountName``; after that it
        stops for the terminal's ``hold``. 0 never stops.
    :param lingers: seconds for which a client that left still blocks others.
    :param answers_newcomer: whether the answer to a client that left goes to the next one.
    :param terse: whether approvals contain the code only, as when the terminal prints by itself.
    :param repeats: how often each answer to a primary method is sent; 2 for a terminal that repeats itself.
    """

    def __init__(
        self,
        terminal: Terminal,
        clock: IReactorTime,
        *,
        adjust: float = 0.0,
        lingers: float = 0.0,
        answers_newcomer: bool = False,
        terse: bool = False,
        repeats: int = 1,
        vendor: str = "PAX",
        model: str = "s800",
    ) -> None:
        super().__init__(terminal, clock)
        self.adjust, self.lingers = adjust, lingers
        self.answers_newcomer, self.terse, self.repeats = answers_newcomer, terse, repeats
        self.identity = Identity("true", vendor, model)
        self.client: PrivatbankWire | None = None
        self._held: IDelayedCall | None = None

    def line(self) -> PrivatbankWire:
        """See `TerminalDevice.line`."""
        return PrivatbankWire(self)

    def came(self, wire: PrivatbankWire) -> None:
        """Serve ``wire`` unless there is a client already."""
        if self.client is None:
            self.client = wire

    def gone(self, wire: PrivatbankWire) -> None:
        """Be free for the next client, at once or after ``lingers``."""
        if self.client is wire:
            self.clock.callLater(self.lingers, self._free, wire) if self.lingers else self._free(wire)

    def _free(self, wire: PrivatbankWire) -> None:
        if self.client is wire:
            self.client = None

    # Primary methods.

    def primary(self, wire: PrivatbankWire, request: Request) -> None:
        """Run a primary method, or refuse it."""
        if self.terminal.running is not None:
            wire.say(_service("deviceBusy"))
            return
        try:
            asked = requests.read_primary(request)
        except LookupError:
            wire.say(_service("methodNotImplemented"))
            return
        except ValueError as error:
            wire.say(_short(request.method, GENERAL, str(error)))
            return
        if isinstance(asked, _QUERIES):
            self._query(wire, asked)
            return
        if isinstance(asked, requests.Verify) and not self.terminal.totals().count:
            empty = {"receipt": "", "responseCode": NO_RECORDS}
            wire.say(Reply(asked.method, empty, True, "Cannot obtain receipt: log file is empty!"))
            return
        try:
            operation = self._operation(asked, request)
        except Busy:
            wire.say(_service("deviceBusy"))
        except LookupError:
            wire.say(_service("methodNotImplemented"))
        except ValueError as error:
            wire.say(_short(request.method, GENERAL, str(error)))
        else:
            operation.ending.addCallback(lambda ending: self._ended(wire, asked, ending))

    def _operation(self, asked: requests.Primary, request: Request) -> Operation:
        """Start the operation of ``asked``.

        :raises ValueError: when the terminal does not begin.
        :raises LookupError: when this model does not have the method.
        """
        terminal = self.terminal
        match asked:
            case requests.Purchase():
                if "discount" not in (request.params or {}):
                    raise ValueError("discount is missing")
                merchant, hold = _number(asked.merchant_id), bool(self.adjust)
                return terminal.purchase(asked.amount, merchant=merchant, hold=hold, progress=self._moved)
            case requests.ServiceGeneric():
                return terminal.purchase(asked.amount, merchant=_number(asked.merchant_id))
            case requests.Instalments():
                return terminal.purchase(asked.amount)
            case requests.Cashback():
                return terminal.purchase(asked.amount, cash=asked.amount_cash, merchant=_number(asked.merchant_id))
            case requests.Refund() | requests.ServiceRefund():
                return terminal.refund(asked.amount, rrn=_named(asked.rrn))
            case requests.InstalmentsRefund():
                # The number of an agreement is the RRN of its payment.
                return terminal.refund(asked.amount, rrn=_named(asked.agreement_num))
            case requests.Withdrawal():
                return terminal.cancel(_number(_named(asked.invoice_number)))
            case requests.WithdrawalPartly():
                return terminal.cancel(_number(_named(asked.invoice_number)), amount=asked.amount)
            case requests.Audit():
                return terminal.report(merchant=_number(asked.merchant_id))
            case requests.Verify():
                return terminal.settle(merchant=_number(asked.merchant_id))
            case requests.ReadCardDiscount():
                return terminal.read_card()
        raise LookupError(asked.method)

    def _moved(self, state: State) -> None:
        self._let_go()
        if state is State.HELD:
            self._held = self.clock.callLater(self.adjust, self._go_on)

    def _let_go(self) -> None:
        stop(self._held)
        self._held = None

    def _go_on(self) -> None:
        self.terminal.correct()

    def _ended(self, wire: PrivatbankWire, asked: requests.Primary, ending: Ending) -> None:
        self._let_go()
        if ending.outcome is None:
            wire.suffer(ending.line)
            return
        if wire is not self.client and self.answers_newcomer and self.client is not None:
            wire = self.client
        if ending.line is Then.ACCEPT:
            reply = _reply(asked, ending.outcome)
            if self.terse and ending.outcome.approved:
                reply = Reply(reply.method, Transaction(response_code=reply.code).params())
            for _ in range(self.repeats):
                wire.say(reply)
        else:
            wire.suffer(ending.line)

    # Queries.

    def _query(self, wire: PrivatbankWire, asked: requests.Primary) -> None:

        def answer(fate: Fate) -> None:
            if fate.line is Then.REFUSE:
                busy = fate.code == BUSY
                wire.say(_service("deviceBusy") if busy else _short(asked.method, _refusal(fate.code), "Відмова"))
            elif fate.line is Then.ACCEPT:
                wire.say(self._answer(asked))
            else:
                wire.suffer(fate.line)

        self.terminal.query(answer)

    def _answer(self, asked: requests.Primary) -> Reply:
        match asked:
            case requests.GetTerminalInfo():
                return Reply(asked.method, {"version": f"SIM0100 {self.terminal.terminal_id} CT00000001"})
            case requests.PrintReceiptNum() | requests.GetReceiptInfo():
                return self._receipt(asked)
        return Reply(asked.method, {"code": "00", "responseCode": APPROVED})

    def _receipt(self, asked: requests.PrintReceiptNum | requests.GetReceiptInfo) -> Reply:
        named = asked.invoice_number
        found = self.terminal.find_invoice(int(named or 0)) if named.isdecimal() or not named else None
        if found is None:
            params = {"receipt": ""} if isinstance(asked, requests.PrintReceiptNum) else {}
            return Reply(
                asked.method,
                {**params, "responseCode": GENERAL},
                True,
                f"Cannot get receipt: {WORDS[Cause.NOT_FOUND]}",
            )
        if isinstance(asked, requests.PrintReceiptNum):
            return Reply(asked.method, {"receipt": found.slip, "responseCode": APPROVED})
        if not found.approved:
            return Reply(asked.method, {**Transaction().params(), "responseCode": _code(found)})
        return Reply(asked.method, {**_transaction(found).params(), "responseCode": _code(found)})

    # Service messages.

    def service(self, wire: PrivatbankWire, name: str, request: Request) -> None:
        """Answer a service message."""
        terminal, params = self.terminal, request.params or {}
        match name:
            case "identify":
                wire.say(_service(name, **self.identity.params()))
            case "interrupt":
                wire.say(_service(" interruptTransmitted"))
                terminal.interrupt()
            case "getMerchantList":
                wire.say(_service(name, **{str(number): title for number, title in terminal.merchants.items()}))
            case "getMaskList":
                masks = {str(number): terminal.terminal_id for number in terminal.merchants}
                wire.say(_service(name, **masks))
            case "getLastResult":
                wire.say(_service(name, LastResult="2" if terminal.running is not None else "0"))
            case "getLastStatMsgCode":
                wire.say(_service(name, LastStatMsgCode=str(PROGRESS[terminal.state])))
            case "getLastStatMsgDescription":
                wire.say(_service(f"{name} ", LastStatMsgDescription=terminal.state.value))
            case "getDiscountName":
                wire.say(_service(name, **self._card().params()))
            case "correctTransaction":
                wire.say(self._corrected(params))
            case _:
                wire.say(_service(" methodNotImplemented"))

    def _card(self) -> PresentedCard:
        running = self.terminal.running
        if self.terminal.state is not State.HELD or running is None or running.card is None:
            return PresentedCard("NO_D_GROUP", "PAN_UNDEF", "MODE_UNDEF")
        self._let_go()
        return PresentedCard(running.card.brand, running.card.pan, "071")

    def _corrected(self, params: Mapping[str, str]) -> Reply:
        try:
            amount = kopecks_of(params.get("amount", ""))
        except ValueError:
            amount = 0
        if amount and self.terminal.correct(amount):
            return _service("correctionTransmitted")
        return Reply(SERVICE, {"msgType": "correctTransaction"}, True, "Корекція неможлива")


class PrivatbankWire(TerminalLine):
    """The terminal's end of one connection."""

    garbage = GARBAGE
    log = Logger()

    def __init__(self, device: PrivatbankSimulator) -> None:
        self._device = device
        self._deframer = Deframer()

    def connectionMade(self) -> None:
        """Become the client if there is none."""
        self._device.came(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Make room for the next client."""
        super().connectionLost(reason)
        self._device.gone(self)

    def dataReceived(self, data: bytes) -> None:
        """Take messages; incomplete ones and noise end with the next zero byte."""
        if self._device.client is not self:
            return
        try:
            for payload in self._deframer.feed(data):
                self._take(payload)
        except Garbled as garbled:
            self.log.info("flushed: {reason}", reason=garbled)

    def _take(self, payload: bytes) -> None:
        try:
            request = Request.decode(payload)
        except Garbled as garbled:
            self.log.info("flushed: {reason}", reason=garbled)
            return
        if request.method == SERVICE:
            self._device.service(self, (request.params or {}).get("msgType", ""), request)
        else:
            self._device.primary(self, request)

    def say(self, reply: Reply) -> None:
        """Send ``reply``; it is lost when the client is gone."""
        self._write(frame(reply.encode()))


def _service(name: str, **params: str) -> Reply:
    return Reply(SERVICE, {"msgType": name, **params})


def _short(method: str, code: str, text: str) -> Reply:
    return Reply(method, {"responseCode": code}, True, text)


def _number(text: str) -> int:
    if not text:
        return 0
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"not a number: {text!r}")
    return int(text)


def _named(text: str) -> str:
    """A required number: without it another operation would be taken."""
    if not text.strip("0 "):
        raise ValueError(WORDS[Cause.NOT_FOUND])
    return text


def _refusal(code: str) -> str:
    if code in set(Cause):
        return CODES.get(Cause(code), GENERAL)
    return code.zfill(4) if code else GENERAL


def _code(outcome: Outcome) -> str:
    if outcome.code:
        return outcome.code.zfill(4)
    assert outcome.cause is not None
    return CODES.get(outcome.cause, GENERAL)


def _transaction(outcome: Outcome) -> Transaction:
    """An operation that the bank decided, as an answer has it."""
    card = outcome.card
    return Transaction(
        amount=outcome.reported if outcome.approved else outcome.asked,
        approval_code=outcome.auth_code,
        card_expiry_date=card.expiry if card else "",
        date=f"{outcome.at:%d.%m.%Y}",
        time=f"{outcome.at:%H:%M:%S}",
        discount=0,
        invoice_number=f"{outcome.invoice:06d}" if outcome.invoice and outcome.approved else "",
        issuer_name=f"{card.brand} ПРИВАТ" if card else "",
        merchant=str(outcome.merchant),
        pan=card.pan if card else "",
        pos_entry_mode="071" if card else "",
        receipt=outcome.slip,
        response_code=_code(outcome),
        rrn=outcome.rrn,
        terminal_id=outcome.terminal_id,
        sign_verif="0",
        txn_type=_TXN_TYPES.get(outcome.kind, "0"),
        trn_status="1" if outcome.approved else "2",
        bank_acquirer="ПриватБанк",
        payment_system=card.brand if card else "",
        # A card with its whole number has its track too, as terminals that are set up so send it.
        track1=_track(card) if card and card.pan.isdigit() else "",
    )


def _track(card: Card) -> str:
    return f"B{card.pan}^CARDHOLDER/TEST^{card.expiry}2011234567890"


def _reply(asked: requests.Primary, outcome: Outcome) -> Reply:
    """The answer that ends a primary method."""
    code = _code(outcome)
    if not outcome.approved and code >= GENERAL:
        return _short(asked.method, code, WORDS.get(outcome.cause or Cause.BANK, "Помилка термінала"))
    match asked:
        case requests.ReadCardDiscount():
            assert outcome.card is not None
            card = outcome.card
            tracks = {"track1": _track(card) if card.pan.isdigit() else "", "track2": card.pan.replace("*", "0")}
            return Reply(asked.method, {"hash": "", **tracks, "track3": ""})
        case requests.Audit() | requests.Verify():
            return Reply(asked.method, {"receipt": outcome.slip, "responseCode": code}, not outcome.approved)
    params = _transaction(outcome).params()
    if isinstance(asked, requests.Cashback) and outcome.approved:
        passed = bool(outcome.cash)
        params |= {"amountCash": amount_text(outcome.cash), "resultCashback": "true" if passed else "false"}
        params["result"] = "Операція успішна" if passed else "Готівку не видано"
    if isinstance(asked, requests.Instalments):
        params |= {"amountOfParts": str(asked.amount_of_parts), "hstFld63Sf89": outcome.rrn}
    text = "" if outcome.approved else "Відмова банку"
    return Reply(asked.method, params, not outcome.approved, text)
