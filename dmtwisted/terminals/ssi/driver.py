"""SSI terminals: tasks become methods, error codes become results (docs/reference/ssi-json.md)."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import TerminalDriver, refuse_part
from dmtwisted.terminals.card_first import CardDue
from dmtwisted.terminals.codes import bank_refusal, catalogued
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import (
    MERCHANTS,
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
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.ssi.settings import BAUDRATE, CAPABILITIES, PORT, SERVICES, SsiSettings
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.terminals.ssi_json import requests
from protocols.terminals.ssi_json.messages import IDLE as AT_REST
from protocols.terminals.ssi_json.messages import NOT_FOUND, Reply, Stage
from protocols.terminals.ssi_json.terminal import Pace, SsiTerminal

ERRORS: dict[str, Res] = {
    **dict.fromkeys(("E00", "E04", "E07", "E09"), Res.TERMINAL_ERROR),
    **dict.fromkeys(("E01", "E02", "E03"), Res.REQUEST_NOT_TAKEN),
    "E05": Res.TASK_NOT_SUPPORTED,
    **dict.fromkeys(("E06", "E22"), Res.TERMINAL_BUSY),
    "E10": Res.NO_BANK_CONNECTION,
    "E11": Res.WRONG_PIN,
    "E12": Res.CANCELLED_BY_USER,
    **dict.fromkeys(("E13", "E14"), Res.TERMINAL_KEYS_WRONG),
    "E15": Res.SETTLEMENT_REQUIRED,
    "E16": Res.CARD_READER_MISSING,
    "E17": Res.EMV_DECLINED,
    "E18": Res.NO_PAPER,
    "E19": Res.BANK_AMOUNT_NOT_ALLOWED,
    "E20": Res.OPERATION_NOT_FOUND,
}
"""The terminal's errors (docs/reference/ssi-json.md#result-codes); any other is 5009."""

METHODS: dict[int, str] = {
    Task.PAYMENT: "Purchase",
    Task.READ_CARD: "Purchase",
    Task.REFUND: "Refund",
    Task.CANCEL: "Void",
    Task.CASH_ISSUE: "CashBack",
    Task.SETTLEMENT: "ZReport",
    Task.TOTALS: "XReport",
}
"""The method of each task."""

CANCELLED = "E12"

OWN_CODE = re.compile(r"E[0-9]{2}(?![0-9])")
"""A code of the terminal itself in ``errorDetails``; anything else there is the bank's."""

STATES = {
    "S00": Activity.WORKING,
    "S02": Activity.WAITING_CARD,
    "S03": Activity.WAITING_CARD,
    "S04": Activity.BANK,
    "S08": Activity.WAITING_CASHIER,
}
"""The statuses whose meaning is public; any other is work in progress (docs/reference/ssi-json.md#statuses)."""

CONFIRM_POLL = 1.0
"""Seconds between two questions whether a card still waits for task 7."""


class Report(msgspec.Struct, frozen=True):
    """The terminal's last report; a new settlement is recognised by its difference."""

    code: str
    params: dict[str, str]


encode_report = msgspec.json.Encoder().encode
decode_report = msgspec.json.Decoder(Report).decode


@implementer(ITerminal)
class SsiDriver(TerminalDriver[SsiSettings]):
    """One SSI terminal.

    :param pace: deadlines; the operation's own is the setting ``wait_s``.
    """

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "ssi-json"
    terminal: SsiTerminal

    def __init__(
        self,
        settings: SsiSettings,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        unreached: Callable[[WireError], Refused],
        pace: Pace | None = None,
    ) -> None:
        super().__init__(settings, unreached)
        self._clock = clock
        self.terminal = SsiTerminal(
            endpoint,
            clock,
            pace or Pace(operation=settings.wait_s),
            self._came_late,
            keeps_line=settings.interface == "serial",
        )
        self._interrupted = False
        self._go: Deferred[None] | None = None
        self._wanted: int | None = None

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """See that the terminal is there and idle; before a general report also read the last one."""
        terminal = self.terminal
        with self._refused():
            status = (await terminal.ask(requests.GetStatus().request(), terminal.pace.ping)).status
            if status and status != AT_REST:
                raise Refused(Res.TERMINAL_BUSY, aq_errortxt=status)
            if order.task != Task.SETTLEMENT:
                return b""
            reply = await terminal.ask(requests.GetLastReport().request())
        return encode_report(Report(reply.code, dict(reply.params)))

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._interrupted = False
        refuse_part(order)
        with self._refused(NotReached):
            reply = await self._asked(order)
        return await self._with_slip(order, self._verdict(order, reply), keep)

    async def _asked(self, order: Order) -> Reply:
        if order.task == Task.PAYMENT:
            return await self._pay(order)
        merchant, uid = self._merchant(order), order.uid or None
        if order.task == Task.REFUND:
            asked: requests.Operation = requests.Refund(
                order.sum, merchant_id=merchant, rrn=order.rrn, transaction_uid=uid
            )
        elif order.task == Task.CANCEL:
            asked = requests.Void(order.cancelid, uid)
        elif order.task == Task.CASH_ISSUE:
            asked = requests.CashBack(order.sum, order.cash, merchant_id=merchant, transaction_uid=uid)
        else:
            report = requests.ZReport(merchant) if order.task == Task.SETTLEMENT else requests.XReport(merchant)
            return await self.terminal.report(report, self.wait_s, self._moved)
        return await self.terminal.run(asked, patience=self.wait_s, progress=self._moved)

    async def _pay(self, order: Order) -> Reply:
        """A purchase; where the terminal has two steps, the second one follows at once."""
        purchase = self._purchase(order)
        if not self._settings.two_steps:
            return await self.terminal.run(purchase, patience=self.wait_s, progress=self._moved)
        began = self._clock.seconds()
        read = await self.terminal.begin(purchase, self.wait_s, self._moved)
        if not read.waits:
            return read
        return await self._second_step(purchase, None, began)

    async def _second_step(self, purchase: requests.Purchase, corrected: int | None, began: float) -> Reply:
        left = max(self.wait_s - (self._clock.seconds() - began), self.terminal.pace.reply)
        try:
            return await self.terminal.finish(purchase, corrected, left, self._moved)
        except NotReached as error:
            # The first step is done: the terminal may go on with it by itself.
            raise LineLost(error.reason) from error

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """The first step of a purchase; the second one follows when task 7 comes."""
        self._interrupted, self._wanted = False, None
        return await self._card_first.read(lambda card: self._held(order, keep, card))

    async def _held(self, order: Order, keep: Keep, card: CardDue) -> Verdict:
        purchase, began = self._purchase(order), self._clock.seconds()
        with self._refused(NotReached):
            reply = await self.terminal.begin(purchase, self.wait_s, self._moved)
        if not reply.waits:
            return await self._with_slip(order, self._verdict(order, reply), keep)
        read = reply.result
        card.callback(Approved(sum=order.sum, cardmask=read.pan, paysys=read.bin_name, bank=read.bank_name))
        wanted = await self._confirmed()
        if wanted is None:
            reply = await self._give_up(order)
        else:
            corrected = wanted if wanted != order.sum else None
            reply = await self._second_step(purchase, corrected, began)
            order = msgspec.structs.replace(order, corrected=wanted)
        return await self._with_slip(order, self._verdict(order, reply), keep)

    async def _confirmed(self) -> int | None:
        """The sum to go on with; `None` without a confirmation in time, or when the terminal waits no longer."""
        until = self._clock.seconds() + self._settings.confirm_s
        try:
            while self._clock.seconds() < until and self._wanted is None:
                self._go = Deferred()
                try:
                    await self._go.addTimeout(CONFIRM_POLL, self._clock)
                except TimeoutError:
                    if await self._at_rest():
                        return None
            return self._wanted
        finally:
            self._go = None

    async def _at_rest(self) -> bool:
        try:
            return await self.terminal.status() == AT_REST
        except WireError as error:
            self.log.info("the status will be asked for again: {error}", error=error)
            return False

    async def _give_up(self, order: Order) -> Reply:
        """Stop a payment that was not confirmed and still waits: unwanted money must not be taken."""
        reply = await self.terminal.find(order.uid)
        if not reply.waits:
            return reply
        self._interrupted = True
        await self.terminal.interrupt()
        return await self.terminal.find(order.uid)

    async def proceed(self, order: Order) -> None:
        """Send the second step, with another sum if there is one."""
        if self._go is None:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        self._wanted = order.wanted
        if not self._go.called:
            self._go.callback(None)

    async def interrupt(self) -> None:
        """See `ITerminal.interrupt`."""
        reply = await self.terminal.interrupt()
        if reply.code:
            raise Refused(Res.TERMINAL_ERROR, reply.text or reply.code)
        self._interrupted = True

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Ask for the operation by its name; for a general report, which has none, ask for the last report."""
        with self._refused(NotReached):
            if order.task == Task.SETTLEMENT:
                return await self._report_since(order, decode_report(snapshot), patience)
            reply = await self.terminal.find(order.uid, patience)
            if reply.waits:
                # Its second step never came, and after a break it is unknown whether it is wanted.
                self._interrupted = True
                await self.terminal.interrupt()
                reply = await self.terminal.find(order.uid, patience)
        if reply.code == NOT_FOUND and reply.stage is Stage.MISSING:
            return NeverStarted()
        if reply.stage in (Stage.MISSING, Stage.FIRST_STEP):
            return Undecided(f"the terminal says {reply.code or reply.status or 'nothing'}")
        return await self._with_slip(order, self._verdict(order, reply), keep)

    async def _report_since(self, order: Order, before: Report, patience: float) -> Found:
        until = self._clock.seconds() + patience
        while await self.terminal.status() not in (AT_REST, ""):
            if self._clock.seconds() > until:
                raise Silent(patience)
        reply = await self.terminal.ask(requests.GetLastReport().request())
        if Report(reply.code, dict(reply.params)) == before:
            return NeverStarted()
        if reply.code in _CAUSES:
            return self._error(order, reply.code, reply.text)
        return Undecided(reply.code) if reply.code else Approved(slip=reply.result.receipt)

    def _came_late(self, reply: Reply) -> None:
        """A result without a request, with the name of its operation."""
        uid = reply.result.transaction_uid.lower()
        if uid and reply.stage not in (Stage.MISSING, Stage.FIRST_STEP):
            order = Order(Task.PAYMENT, uid, sum=reply.result.trans_amount or 0)
            self._late(uid, self._verdict(order, reply))

    # Service methods

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`."""
        with self._refused():
            if name == MERCHANTS:
                reply = await self.terminal.merchants()
                listed = {merchant.merchant_id: merchant.merchant_name for merchant in reply.merchants}
                info: dict[str, object] = {"merchListValue": listed}
            else:
                reply = await self.terminal.echo(self._settings.merchant, self.wait_s)
                info = {"restxt": reply.text or "OK"}
        if reply.code:
            raise self._error(Order(task=Task.PAYMENT, uid=""), reply.code, reply.text).refused()
        return info

    def close(self) -> None:
        """Close the line and end a payment that waits for task 7."""
        super().close()
        Deferred.fromCoroutine(self.terminal.close())

    # Requests and the meaning of answers

    def _purchase(self, order: Order) -> requests.Purchase:
        return requests.Purchase(order.sum, merchant_id=self._merchant(order), transaction_uid=order.uid)

    def _merchant(self, order: Order) -> str:
        return order.merchant or self._settings.merchant

    def _verdict(self, order: Order, reply: Reply) -> Verdict:
        """The verdict of a reply.

        :raises Refused: when the terminal did not take the request.
        :raises Garbled: when the reply proves nothing.
        """
        if reply.stage is Stage.MISSING:
            return self._without_result(order, reply)
        result = reply.result
        if reply.approved:
            return _approved(reply)
        own, details = OWN_CODE.match(result.error_details), result.error_details
        code = own[0] if own is not None else ""
        if reply.stage is Stage.CANCELLED or code == CANCELLED:
            res = Res.OPERATION_CANCELLED if self._interrupted else Res.CANCELLED_BY_USER
            return Declined.of(res, text=result.transaction_result)
        if reply.stage is Stage.FIRST_STEP:
            raise Garbled("the operation still waits for its second step")
        if code:
            return self._error(order, code, reply.text or result.transaction_result)
        text = reply.text or details or result.transaction_result
        number = details if details.isdecimal() else ""
        bank = result.response_code if result.response_code.strip("0") else number
        if bank:
            return bank_refusal(order, bank.zfill(4), text, result.transaction_result)
        return Declined.of(Res.BANK_REFUSED, text=text)

    def _without_result(self, order: Order, reply: Reply) -> Verdict:
        """A refusal to start, or the end of a report, which has no result."""
        if reply.code and (reply.method == METHODS[order.task] or order.task == Task.TOTALS):
            declined = self._error(order, reply.code, reply.text)
            if declined.res in _NOT_TAKEN:
                raise declined.refused()
            return declined
        if reply.code or order.task not in (Task.TOTALS, Task.SETTLEMENT):
            # A question was refused, not the operation, whose end still has to be found out.
            raise Garbled(f"a reply without a result: {reply.code or 'no error'}")
        return Approved(slip=reply.result.receipt, text=reply.text)

    def _error(self, order: Order, code: str, text: str) -> Declined:
        if code == CANCELLED and self._interrupted:
            return Declined.of(Res.OPERATION_CANCELLED, text=text)
        if code == NOT_FOUND and order.task == Task.REFUND:
            return Declined.of(Res.WRONG_RRN, text=text)
        return catalogued(order, ERRORS.get(code), code, f"{code} {text}".strip(), text)

    async def _with_slip(self, order: Order, verdict: Verdict, keep: Keep) -> Verdict:
        """An approval with its slip, for which the terminal is asked once the approval is durable."""
        if isinstance(verdict, Declined) or verdict.slip:
            return verdict
        await keep(verdict)
        try:
            report = order.task in (Task.TOTALS, Task.SETTLEMENT)
            reply = await (self.terminal.report_slip() if report else self.terminal.slip())
        except WireError as error:
            self.log.warn("the terminal did not send the slip: {error}", error=error)
            return verdict
        return msgspec.structs.replace(verdict, slip=reply.result.receipt)

    def _moved(self, status: str) -> None:
        self._report(STATES.get(status, Activity.WORKING), status)


_CAUSES = frozenset(f"E{number}" for number in range(10, 20))
"""Errors that only an operation can have; the others may belong to the question about it."""

_NOT_TAKEN = frozenset({Res.TERMINAL_BUSY.code, Res.REQUEST_NOT_TAKEN.code, Res.TASK_NOT_SUPPORTED.code})


def _approved(reply: Reply) -> Approved:
    result = reply.result
    return Approved(
        sum=result.trans_amount,
        text=result.transaction_result,
        cardmask=result.pan,
        paysys=result.bin_name,
        bank=result.bank_name,
        auth_code=result.auth_code,
        rrn=result.rrn,
        cancelid=result.invoice_num,
        slip=result.receipt,
        terminal_id=result.terminal_id,
        merchant=result.merchant_id,
        partial=f"another sum was approved: {result.transaction_result}",
    )


def build(row: DeviceRow, settings: SsiSettings, around: Surroundings) -> TerminalService:
    """The service of an SSI terminal."""
    endpoint = endpoint_of(settings, around.reactor, PORT, BAUDRATE)
    driver = SsiDriver(settings, endpoint, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
