"""nexo terminals: tasks become messages, error conditions become results (docs/reference/nexo.md).

The ServiceID of an operation is made from its own name, which is in the journal before the first byte is sent. By it
the terminal reports exactly how the operation ended, even after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.web.iweb import IAgent
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.money import hryvnias
from dmtwisted.results import Refused, Res
from dmtwisted.security import mask_cards
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import TerminalDriver
from dmtwisted.terminals.card_first import CardDue, ConfirmedCard
from dmtwisted.terminals.codes import catalogued
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.interface import (
    ECHO,
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
    Verdict,
)
from dmtwisted.terminals.nexo.settings import CAPABILITIES, SERVICES, NexoSettings, blocks_of
from dmtwisted.terminals.proof import batch_closed
from dmtwisted.terminals.service import TerminalService
from dmtwisted.wording import wording
from protocols.errors import Garbled, NotReached, WireError
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.nexo.messages import (
    LONGEST_ID,
    CardAnswer,
    Category,
    Condition,
    PaymentAnswer,
    Receipt,
    Response,
    Result,
    TotalsAnswer,
    Transaction,
    new_service_id,
)
from protocols.terminals.nexo.notice import Notice, Step
from protocols.terminals.nexo.notices import NoticePort, Notices
from protocols.terminals.nexo.sealing import Seal
from protocols.terminals.nexo.terminal import NexoTerminal, Settings, local_agent

CONDITIONS: dict[str, Res] = {
    **dict.fromkeys(
        (
            Condition.MESSAGE_FORMAT,
            Condition.LOGGED_OUT,
            Condition.INSERTED_CARD,
            Condition.UNAVAILABLE_DEVICE,
            Condition.DEVICE_OUT,
        ),
        Res.TERMINAL_ERROR,
    ),
    Condition.CANCEL: Res.CANCELLED_BY_USER,
    Condition.UNREACHABLE_HOST: Res.NO_BANK_CONNECTION,
    Condition.REFUSAL: Res.BANK_REFUSED,
    Condition.PAYMENT_RESTRICTION: Res.BANK_AMOUNT_NOT_ALLOWED,
    Condition.INVALID_CARD: Res.BANK_WRONG_CARD,
    Condition.WRONG_PIN: Res.WRONG_PIN,
    **dict.fromkeys((Condition.BUSY, Condition.IN_PROGRESS), Res.TERMINAL_BUSY),
    Condition.ABORTED: Res.OPERATION_CANCELLED,
    Condition.NOT_FOUND: Res.OPERATION_NOT_FOUND,
    **dict.fromkeys((Condition.NOT_ALLOWED, Condition.UNAVAILABLE_SERVICE), Res.TASK_NOT_SUPPORTED),
}
"""Results by condition (docs/reference/nexo.md#result-codes); any other condition is 5009."""

WORDS: dict[str, tuple[tuple[tuple[str, ...], Res], ...]] = {
    Condition.DEVICE_OUT: ((("print", "paper"), Res.NO_PAPER), (("reader", "card"), Res.CARD_READER_MISSING)),
    Condition.PAYMENT_RESTRICTION: ((("limit",), Res.BANK_LIMIT_EXCEEDED),),
}
"""Conditions with several results, by words in the terminal's text."""

REASON, MESSAGE = "refusalReason", "message"
"""Members of the details with the bank's reason."""

STEPS: dict[str, Activity] = {
    **dict.fromkeys((Step.TENDER_CREATED, Step.PROVIDE_CARD_DETAILS), Activity.WAITING_CARD),
    **dict.fromkeys(
        (
            Step.CARD_INSERTED,
            Step.CARD_PRESENTED,
            Step.CARD_SWIPED,
            Step.CARD_DETAILS_PROVIDED,
            Step.WAIT_FOR_APP_SELECTION,
            Step.APPLICATION_SELECTED,
        ),
        Activity.CARD_READ,
    ),
    Step.WAIT_FOR_PIN: Activity.PIN,
    **dict.fromkeys((Step.PIN_ENTERED, Step.SIGNATURE_CHECKED), Activity.BANK),
    **dict.fromkeys((Step.ASK_SIGNATURE, Step.CHECK_SIGNATURE), Activity.WAITING_CASHIER),
    Step.PRINT_RECEIPT: Activity.PRINTING,
}
"""The activity for what the display shows; any other step is `WORKING`."""

BETWEEN = "@"
"""The character between the terminal's name of a transaction and its time: a reversal has to name both."""


class Batch(msgspec.Struct, frozen=True):
    """The sums of the open batch, by which a lost general report is found out."""

    sums: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, answer: TotalsAnswer) -> Batch:
        """Kind, count and hundredths of each sum that counts something."""
        return cls(tuple((total.kind, total.count, total.amount) for total in answer.totals if total.count))


encode_batch = msgspec.json.Encoder().encode
decode_batch = msgspec.json.Decoder(Batch).decode


@implementer(ITerminal)
class NexoDriver(TerminalDriver[NexoSettings]):
    """One nexo terminal.

    :param agent: sends the requests.
    :param port: the port to which the terminal posts its display texts, if any.
    """

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "nexo"
    terminal: NexoTerminal
    _card_first: ConfirmedCard

    def __init__(
        self,
        settings: NexoSettings,
        agent: IAgent,
        clock: IReactorTime,
        unreached: Callable[[WireError], Refused],
        port: NoticePort | None = None,
    ) -> None:
        super().__init__(settings, unreached)
        seal = None
        if settings.passphrase:
            seal = Seal(settings.passphrase, settings.key_identifier, settings.key_version)
        wire = Settings(
            settings.url,
            settings.poi_id,
            settings.sale_id,
            settings.currency,
            answer_wait=settings.wait_s,
        )
        self.terminal = NexoTerminal(agent, clock, wire, seal)
        # What runs now, for an abort.
        self._running: tuple[Category, str] | None = None
        self._card_first = ConfirmedCard(clock, settings.confirm_s)
        self._port = port
        if port is not None:
            port.open(Notices(self._noticed, seal, _address(settings.host)))

    def _noticed(self, notice: Notice) -> None:
        """Report what the display shows (docs/reference/nexo.md#notices); it proves nothing."""
        if self._running is not None and notice.service_id == self._running[1]:
            self._report(STEPS.get(notice.step, Activity.WORKING), mask_cards(notice.details))

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """A diagnosis shows that the terminal is there and idle; before a general report also read the batch."""
        if order.task == Task.CANCEL or (order.task == Task.REFUND and self._settings.refunds == "referenced"):
            self._original(order)
        with self._refused():
            await self._diagnose(host=False)
            if order.task != Task.SETTLEMENT:
                return b""
            answer = await self.terminal.totals()
        return encode_batch(Batch.of(answer)) if answer.response.result is Result.SUCCESS else b""

    async def _diagnose(self, host: bool) -> None:
        """Ask the terminal for its state.

        :raises Refused: when it cannot work now.
        """
        response = (await self.terminal.diagnose(host)).response
        # A terminal that does not allow a diagnosis may still take payments.
        if response.result is Result.FAILURE and (host or response.condition not in _NOT_GRANTED):
            raise _declined(Order(Task.PAYMENT, ""), response).refused()

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._report(Activity.WORKING)
        try:
            with self._refused(NotReached):
                return await self._operate(order)
        finally:
            self._running = None

    async def _operate(self, order: Order, card: Transaction | None = None) -> Verdict:
        terminal, name, service_id = self.terminal, order.uid, service_id_of(order)
        if order.task == Task.TOTALS:
            return self._totals(order, await terminal.totals())
        if order.task == Task.SETTLEMENT:
            self._running = Category.RECONCILIATION, service_id
            return self._totals(order, await terminal.reconcile(service_id))
        if order.task == Task.DISCOUNT_CARD:
            return await self._discount_card(order)
        self._running = self._category(order), service_id
        if self._running[0] is Category.REVERSAL:
            part = order.sum if order.part or order.task == Task.REFUND else None
            return self._verdict(order, await terminal.reverse(service_id, name, self._original(order), part))
        if order.task == Task.REFUND:
            return self._verdict(order, await terminal.refund(service_id, name, order.sum))
        answer = await terminal.pay(service_id, name, order.wanted, cash=order.cash, card=card)
        return self._verdict(order, answer)

    async def _discount_card(self, order: Order) -> Verdict:
        """The shop's own card; it is released at once, for nothing is paid with it."""
        read = await self._read(order, loyalty=True)
        if read.response.result is Result.FAILURE:
            return _declined(order, read.response)
        await self._release()
        return Approved(cardmask=_masked(read.masked_pan), paysys=read.brand)

    # A card first (tasks 6 and 7)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """A card acquisition; the payment that refers to it follows when task 7 comes."""
        return await self._card_first.read(lambda card: self._held(order, card))

    async def _held(self, order: Order, card: CardDue) -> Verdict:
        self._report(Activity.WAITING_CARD)
        try:
            with self._refused(NotReached):
                with self._moving_nothing():
                    read = await self._read(order)
                if read.response.result is Result.FAILURE:
                    return _declined(order, read.response)
                card.callback(Approved(sum=order.sum, cardmask=_masked(read.masked_pan), paysys=read.brand))
                self._report(Activity.WAITING_CASHIER)
                wanted = await self._card_first.confirmed()
                if wanted is None:
                    await self._release()
                    return Declined.of(Res.OPERATION_CANCELLED)
                return await self._operate(msgspec.structs.replace(order, corrected=wanted), read.transaction)
        finally:
            self._running = None

    async def _read(self, order: Order, loyalty: bool = False) -> CardAnswer:
        service_id = new_service_id()
        self._running = Category.CARD, service_id
        return await self.terminal.read_card(service_id, order.uid, loyalty)

    async def _release(self) -> None:
        try:
            await self.terminal.release_card()
        except WireError as error:
            # The terminal releases it by itself after a while.
            self.log.info("the card was not released: {error}", error=error)

    async def interrupt(self) -> None:
        """See `ITerminal.interrupt`."""
        if self._card_first.waits or self._running is None:
            await super().interrupt()
        else:
            await self.terminal.abort(*self._running)

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Ask for the operation by its ServiceID; for a general report, which has none, read the open batch."""
        with self._refused(NotReached):
            if order.task == Task.SETTLEMENT:
                before = decode_batch(snapshot) if snapshot else None
                now = await self.terminal.totals()
                sums = Batch.of(now).sums if now.response.result is Result.SUCCESS else None
                return batch_closed(before and before.sums, sums)
            answer = await self.terminal.recover(self._category(order), service_id_of(order), patience)
        if answer is None or (not answer.approved and answer.response.condition in _NOT_TAKEN):
            return NeverStarted()
        return self._verdict(order, answer)

    # Service methods

    async def check(self) -> None:
        """A diagnosis; a port for notices has to be open, too."""
        with self._refused():
            await self._diagnose(host=False)
        if self._port is not None and self._port.why:
            raise Refused(Res.TERMINAL_ERROR, wording(f"port {self._port.number} for its notices: {self._port.why}"))

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`: a diagnosis, of the line to the bank too when that is wanted."""
        with self._refused():
            await self._diagnose(host=name == ECHO)
        return {"restxt": "OK"}

    def close(self) -> None:
        """End a payment that waits for task 7 and close the port for notices; no connection is kept."""
        if self._port is not None:
            self._port.close()
        super().close()

    # Requests and the meaning of answers

    def _category(self, order: Order) -> Category:
        """The category of an operation, which a question about it has to name."""
        referenced = order.task == Task.REFUND and self._settings.refunds == "referenced"
        return Category.REVERSAL if order.task == Task.CANCEL or referenced else Category.PAYMENT

    def _original(self, order: Order) -> Transaction:
        """The transaction that a cancel or a refund names.

        :raises Refused: when that is not a name of ours; nothing was sent.
        """
        given = order.rrn if order.task == Task.REFUND else order.cancelid
        name, between, at = given.partition(BETWEEN)
        if not (name and between and at):
            raise Refused(Res.WRONG_RRN if order.task == Task.REFUND else Res.OPERATION_NOT_FOUND)
        return Transaction(name, at)

    def _verdict(self, order: Order, answer: PaymentAnswer) -> Verdict:
        """The verdict of an answer.

        :raises Refused: when the terminal did not take it.
        :raises Garbled: when it approves a part without an amount.
        """
        if not answer.approved:
            return _taken(_declined(order, answer.response))
        partly = answer.response.result is Result.PARTIAL
        if partly and answer.approved_amount is None:
            raise Garbled("a part was approved, but the terminal does not say how much")
        ours = answer.currency in ("", self._settings.currency)
        named = "" if answer.transaction is None else f"{answer.transaction.id}{BETWEEN}{answer.transaction.at}"
        return Approved(
            sum=answer.approved_amount if ours else NOT_A_SUM,
            cardmask=answer.card,
            paysys=answer.brand,
            auth_code=answer.approval_code,
            rrn=named,
            cancelid=named,
            slip=_slip(answer.receipts),
            terminal_id=self._settings.poi_id,
        )

    def _totals(self, order: Order, answer: TotalsAnswer) -> Verdict:
        """The verdict of the answer to a report.

        :raises Refused: when the terminal did not take it.
        """
        if answer.response.result is Result.FAILURE:
            return _taken(_declined(order, answer.response))
        lines = (f"{total.kind} {total.count} {hryvnias(total.amount)} {total.currency}" for total in answer.totals)
        return Approved(slip="\n".join(line.rstrip() for line in lines))


def _address(host: str) -> str:
    """``host`` when it is an address; a name may have several addresses, so it is not compared."""
    try:
        return str(ip_address(host))
    except ValueError:
        return ""


_NOT_GRANTED = frozenset({Condition.NOT_ALLOWED, Condition.UNAVAILABLE_SERVICE})


_NOT_TAKEN = frozenset({Condition.BUSY, Condition.IN_PROGRESS})
"""Answers of a terminal that is busy with another operation: ours never started."""


def service_id_of(order: Order) -> str:
    """The ServiceID of an operation: the first characters of its random name."""
    return order.uid.replace("-", "")[:LONGEST_ID]


def _declined(order: Order, response: Response) -> Declined:
    """A refusal by its condition and the words beside it (docs/reference/nexo.md#result-codes)."""
    condition, details = response.condition, response.details
    reason, message = details.get(REASON, ""), details.get(MESSAGE, "")
    text = reason or message
    if condition == Condition.REFUSAL and reason:
        code = reason.split(" ", 1)[0]
        return Declined.of(Res.BANK_MESSAGE, reason, condition, code if code.isdigit() else "-", text=text)
    if condition == Condition.NOT_FOUND and order.task == Task.REFUND:
        return Declined.of(Res.WRONG_RRN, text=text)
    low = f"{reason} {message}".lower()
    by_words = (res for words, res in WORDS.get(condition, ()) if any(word in low for word in words))
    found = next(by_words, CONDITIONS.get(condition))
    words = f"{condition} {text}".strip()
    return catalogued(order, found, condition or "-", words, text or (condition if found else ""))


def _taken(declined: Declined) -> Declined:
    """A refusal of an operation that started.

    :raises Refused: when it did not start because the terminal was busy.
    """
    if declined.res == Res.TERMINAL_BUSY.code:
        raise declined.refused()
    return declined


def _slip(receipts: tuple[Receipt, ...]) -> str:
    """The customer's receipt, or else the first one."""
    kept = [receipt for receipt in receipts if receipt.kind == "CustomerReceipt"] or list(receipts[:1])
    return "\n\n".join("\n".join(receipt.lines) for receipt in kept)


def _masked(pan: str) -> str:
    return "".join(pan.split())


def build(row: DeviceRow, settings: NexoSettings, around: Surroundings) -> TerminalService:
    """The service of a nexo terminal."""
    agent = local_agent(around.reactor, settings.roots, settings.server_name)
    port = None
    if settings.notices_port:
        interface = "::" if ":" in settings.host else ""
        pem = "".join(block for _, block in blocks_of(settings.notices_pem))
        port = NoticePort(around.reactor, settings.notices_port, pem, interface)
    driver = NexoDriver(settings, agent, around.reactor, Unreached(settings), port)
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
