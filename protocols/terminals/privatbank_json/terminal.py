"""A PrivatBank terminal as the service uses it: one method for each operation, over a line that it keeps open.

Answers are `Reply` values: ask them for ``approved``, ``code``, ``busy``, ``unknown_method``, ``transaction``.
Whoever calls sees to it that one operation runs at a time; `interrupt`, `correct` and `progress` may come in between.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater

from protocols.terminals.lines import ignore
from protocols.terminals.privatbank_json.line import (
    PACE,
    LateReply,
    OpenPurchase,
    Pace,
    PrivatbankLine,
    Progress,
)
from protocols.terminals.privatbank_json.messages import DiscountCard, Reply
from protocols.terminals.privatbank_json.opening import OPENING, Opening, greeted_line
from protocols.terminals.privatbank_json.recovery import Finding, Snapshot, Wanted, judge
from protocols.terminals.privatbank_json.requests import (
    EVERY_MERCHANT,
    Audit,
    Cashback,
    CheckConnection,
    GetReceiptInfo,
    GetTerminalInfo,
    Instalments,
    InstalmentsRefund,
    PingDevice,
    Primary,
    PrintReceiptNum,
    Purchase,
    ReadCardDiscount,
    Refund,
    ServiceGeneric,
    Verify,
    Withdrawal,
    WithdrawalPartly,
)

BETWEEN_PINGS = 2.0
"""Seconds between two questions whether a busy terminal is free."""


class PrivatbankTerminal:
    """One terminal, reached through ``endpoint``.

    Every method raises `protocols.errors` alone: `NotReached` when the request did not leave, so that nothing
    happened; after anything else an operation that moves money is in doubt, see `resolve`.

    :param endpoint: opens the line, TCP port 2000 or a serial port with 115200 8N1.
    :param late: called with replies that answer no question, such as that of an operation given up before.
    """

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        pace: Pace = PACE,
        opening: Opening = OPENING,
        late: LateReply = ignore,
    ) -> None:
        self.pace, self.opening = pace, opening
        self._endpoint, self._clock, self._late = endpoint, clock, late
        self._line: PrivatbankLine | None = None
        self._opening = DeferredLock()

    # Operations that move money.

    async def pay(
        self,
        kopecks: int,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Take ``kopecks`` from a card; with code 0010 the reply's amount is less."""
        return await self.run(Purchase(kopecks, merchant_id=merchant), patience, progress)

    async def read_card(
        self,
        kopecks: int,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> OpenPurchase:
        """Begin a purchase that stops at the card; see `OpenPurchase`, `correct` and `interrupt`."""
        line = await self._reach()
        return line.read_card(Purchase(kopecks, merchant_id=merchant), patience, progress)

    async def refund(
        self,
        kopecks: int,
        rrn: str,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Give ``kopecks`` back of the purchase with ``rrn``."""
        return await self.run(Refund(kopecks, merchant_id=merchant, rrn=rrn), patience, progress)

    async def void(
        self,
        invoice_number: str,
        kopecks: int | None = None,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Cancel an operation of the open batch, or ``kopecks`` of it."""
        if kopecks is None:
            return await self.run(Withdrawal(invoice_number), patience, progress)
        return await self.run(WithdrawalPartly(kopecks, invoice_number), patience, progress)

    async def cashback(
        self,
        kopecks: int,
        cash: int,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Take ``kopecks`` for goods and ``cash`` to be handed out; the reply says whether the cash part passed."""
        return await self.run(Cashback(kopecks, cash, merchant), patience, progress)

    async def instalments(
        self,
        kopecks: int,
        parts: int,
        service: str = "ServicePbP",
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Take ``kopecks`` in ``parts``; the agreement's number is in the transaction."""
        return await self.run(Instalments(kopecks, parts, service=service), patience, progress)

    async def refund_instalments(
        self,
        kopecks: int,
        agreement: str,
        service: str = "ServiceRefPbP",
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Give ``kopecks`` of an instalment agreement back."""
        return await self.run(InstalmentsRefund(kopecks, agreement, service=service), patience, progress)

    async def bank_service(
        self,
        number: str,
        param: str,
        kopecks: int,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        """Run the bank's service ``number`` with ``param``."""
        return await self.run(ServiceGeneric(kopecks, param, number, merchant), patience, progress)

    async def settle(
        self, merchant: str = EVERY_MERCHANT, patience: float | None = None, progress: Progress | None = None
    ) -> Reply:
        """Close the batch; never while an operation is in doubt: receipt numbers start anew (rule 14)."""
        return await self.run(Verify(merchant), patience, progress)

    async def run(self, request: Primary, patience: float | None = None, progress: Progress | None = None) -> Reply:
        """Run any primary method over an open line."""
        line = await self._reach()
        return await line.ask(request, patience, progress)

    # While an operation runs.

    async def correct(self, kopecks: int, discount: int | None = None) -> Reply:
        """Change the sum of a purchase that stopped at the card; its own reply has the true sum."""
        return await (await self._reach()).correct(kopecks, discount)

    async def interrupt(self) -> Reply:
        """Wish that the running operation stops; it ends by its own reply, which may be an approval (rule 8)."""
        return await (await self._reach()).interrupt()

    async def progress(self) -> int:
        """The progress code of the running or last operation, -1 when the terminal tells none."""
        told = (await self._service("getLastStatMsgCode")).params.get("LastStatMsgCode", "")
        return int(told) if told.isdecimal() and len(told) < 4 else -1

    # Questions.

    async def ping(self) -> Reply:
        """Whether the terminal is free and ready; a busy one says so."""
        return await self.run(PingDevice(), self.pace.handshake)

    async def check_connection(self, patience: float | None = None) -> Reply:
        """Try the line to the bank; the cashier picks the merchant on the terminal."""
        return await self.run(CheckConnection(), patience or self.pace.operation)

    async def info(self) -> Reply:
        """Software version and serial number, in ``params["version"]``."""
        return await self.run(GetTerminalInfo())

    async def totals(self, merchant: str = EVERY_MERCHANT) -> Reply:
        """Print the totals and leave the batch open; the slip is in the transaction's receipt."""
        return await self.run(Audit(merchant))

    async def read_discount_card(self, patience: float | None = None) -> DiscountCard | Reply:
        """The discount card that was shown; a `Reply` when the terminal did not read one."""
        reply = await self.run(ReadCardDiscount(), patience or self.pace.operation)
        card = DiscountCard.read(reply.params)
        return card if card.was_read else reply

    async def slip(self, invoice_number: str = "", printed: bool = False) -> Reply:
        """The slip of an operation of the open batch, the last one without a number; no money moves."""
        return await self.run(PrintReceiptNum(invoice_number, printed))

    async def merchants(self) -> Reply:
        """The merchants by number, in ``numbered``."""
        return await self._service("getMerchantList")

    async def masks(self) -> Reply:
        """The merchant masks by number, in ``numbered``."""
        return await self._service("getMaskList")

    async def status(self) -> Reply:
        """Whether the last operation is done: ``params["LastResult"]`` is 0 when done, 2 while it runs."""
        return await self._service("getLastResult")

    # After a lost answer.

    async def last(self, invoice_number: str = "") -> Reply:
        """What became of an operation of the open batch, the last one without a number."""
        return await self.run(GetReceiptInfo(invoice_number))

    async def snapshot(self) -> Snapshot:
        """The last receipt as it is now: to be stored before an operation, for `resolve`."""
        return Snapshot.of(await self.last())

    async def resolve(self, wanted: Wanted, before: Snapshot, patience: float = 60.0) -> tuple[Finding, Reply]:
        """What became of an operation in doubt, and what the terminal told last.

        :param before: the snapshot from before the request.
        :param patience: seconds to wait for a terminal that is still at work.
        """
        deadline = self._clock.seconds() + patience
        while True:
            told = await self.ping()
            if not told.busy:
                told = await self.last()
            if not told.busy:
                return judge(wanted, before, told), told
            if self._clock.seconds() + BETWEEN_PINGS > deadline:
                return Finding.UNKNOWN, told
            await deferLater(self._clock, BETWEEN_PINGS)

    async def close(self) -> None:
        """Let go of the terminal."""
        if self._line is not None:
            await self._line.close()
            self._line = None

    # The line.

    async def _service(self, name: str) -> Reply:
        return await (await self._reach()).service(name)

    async def _reach(self) -> PrivatbankLine:
        if self._line is not None and self._line.usable:
            return self._line
        opened: Deferred[PrivatbankLine] = self._opening.run(self._open)
        return await opened

    async def _open(self) -> PrivatbankLine:
        if self._line is None or not self._line.usable:
            self._line = await greeted_line(self._endpoint, self._clock, self.opening, self.pace, self._late)
        return self._line
