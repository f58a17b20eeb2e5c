"""BPOS1 terminals: tasks become calls of the vendor's library, in a process of its own (docs/reference/bpos1.md).

**Confirm is money.** A terminal cancels an approval that is not confirmed. So it is durable before `Confirm` is
called, and the terminal's journal has the last word about it (docs/reference/terminals.md#rule-7).

**A process for an operation.** It is started for the snapshot and ends after the slip; when a call does not come back
it is killed, and the end is unknown. The next one asks the terminal's journal:

=============================================  ===============================================================
since the snapshot the journal has             then
=============================================  ===============================================================
nothing of our kind                            nothing happened
one transaction of our kind, sum and time      it is ours: confirmed once more, read again, and its status counts
anything else                                  the end stays unknown
=============================================  ===============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.requests import malformed
from dmtwisted.results import Action, Refused, Res, Text
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import ProvingDriver, refuse_part
from dmtwisted.terminals.bpos1.process import LibraryEndpoint
from dmtwisted.terminals.bpos1.proof import Before, decode_before, encode_before, judge
from dmtwisted.terminals.bpos1.settings import (
    BAUDRATE,
    CAPABILITIES,
    MOST_MERCHANTS,
    SERVICES,
    Bpos1Settings,
    index_of,
)
from dmtwisted.terminals.card_first import CardDue, ConfirmedCard
from dmtwisted.terminals.codes import SETTLE_FIRST, bank_refusal, catalogued
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.interface import (
    ECHO,
    READING,
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
from dmtwisted.wording import wording
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.bpos1 import messages as bpos1
from protocols.terminals.bpos1.child import BROKEN, NO_PYWIN32, NO_WINDOWS, UNREGISTERED
from protocols.terminals.bpos1.messages import CARD, TRANSACTION, Said, Transaction, Value
from protocols.terminals.bpos1.protocol import Bpos1Line, NoLibrary
from protocols.terminals.lines import open_line

TERMINAL: dict[int, Res] = {
    1000: Res.TERMINAL_ERROR,
    1001: Res.CANCELLED_BY_USER,
    1002: Res.EMV_DECLINED,
    1003: Res.TERMINAL_JOURNAL_FULL,
    1004: Res.NO_BANK_CONNECTION,
    1005: Res.NO_PAPER,
    1006: Res.TERMINAL_KEYS_WRONG,
    1007: Res.CARD_READER_MISSING,
    1008: Res.TRANSACTION_COMPLETE,
}
"""``ResponseCode`` of the terminal itself, from 1000 on; any other is 5009 (docs/reference/bpos1.md#codes)."""

PROGRESS = {
    bpos1.CARD_READ: Activity.CARD_READ,
    bpos1.CHIP: Activity.CARD_READ,
    bpos1.AUTHORISING: Activity.BANK,
    bpos1.WAITING_CASHIER: Activity.WAITING_CASHIER,
    bpos1.PRINTING: Activity.PRINTING,
    bpos1.PIN: Activity.PIN,
    bpos1.SEVERAL_APPLICATIONS: Activity.WAITING_CARD,
    bpos1.WAITING_CARD: Activity.WAITING_CARD,
    bpos1.CORRECTABLE: Activity.WAITING_CASHIER,
    **dict.fromkeys((bpos1.PIN_KEY, bpos1.PIN_ERASED, bpos1.PIN_DIGIT), Activity.PIN),
}
"""Activities by ``LastStatMsgCode``; any other is work in progress (docs/reference/bpos1.md#statuses)."""

UNCONFIRMED = frozenset({Task.CANCEL, Task.SETTLEMENT, Task.TOTALS, Task.DISCOUNT_CARD})
"""Tasks that are final without a Confirm."""

NO_LIBRARY: dict[str, Text] = {
    NO_WINDOWS: Text(
        "бібліотека термінала BPOS1 (ECRCommX) є лише для Windows: під’єднайте термінал до комп’ютера з Windows і "
        "встановіть dmtwisted там",
        "the library of BPOS1 terminals (ECRCommX) is for Windows only: connect the terminal to a computer with "
        "Windows and install dmtwisted there",
    ),
    UNREGISTERED: Text(
        "бібліотеку ECRCommX на цьому комп’ютері не зареєстровано: візьміть ECRCommX.dll у банку й виконайте від "
        "імені адміністратора regsvr32 ECRCommX.dll",
        "the library ECRCommX is not registered on this computer: get ECRCommX.dll from the bank and run "
        "regsvr32 ECRCommX.dll as administrator",
    ),
    NO_PYWIN32: Text(
        "бракує pywin32: перевстановіть dmtwisted",
        "pywin32 is missing: install dmtwisted again",
    ),
    BROKEN: Text(
        "бібліотека ECRCommX не запускається: зареєструйте її ще раз і встановіть Visual C++ Redistributable 2012",
        "the library ECRCommX does not start: register it again and install Visual C++ Redistributable 2012",
    ),
}
"""What to do without the library."""

MOST = 2**31 - 1
"""Kopecks that every version of the library takes."""

START_WAIT = 10.0
"""Seconds for starting the process."""

BETWEEN_LOOKS = 1.0
"""Seconds between two questions to a terminal that works."""

LEAST = 3.0
"""Seconds for an operation whose process was slow to start."""

BEFORE_THE_END = 2.0
"""Seconds before its deadline at which an operation is stopped, so that it ends with a verdict where it still can."""

MOST_NEW = 50
"""Transactions since the snapshot that are read."""

TAKEN_BACK = Declined.of(Res.REQUEST_NOT_TAKEN, text="the terminal took the transaction back")


class _StillWorks(WireError):
    """The terminal does not answer, perhaps because it works."""


class _Refuses(WireError):
    """The terminal refuses a question."""


@implementer(ITerminal, IKeepsEarly)
class Bpos1Driver(ProvingDriver[Bpos1Settings]):
    """One BPOS1 terminal."""

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "bpos1"
    keeps_early = True
    """A transaction that is not confirmed may still be cancelled."""
    _card_first: ConfirmedCard

    def __init__(
        self,
        settings: Bpos1Settings,
        endpoint: IStreamClientEndpoint,
        clock: ServiceClock,
        reactor: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        super().__init__(settings, lambda error: _no_library(error) or unreached(error))
        self._endpoint, self._clock, self._reactor = endpoint, clock, reactor
        self._line: Bpos1Line | None = None
        self._tells = False
        # When the running operation began, the start of its process included.
        self._begun = 0.0
        self._interrupted = False
        # The last approval that was made durable, with the name of its operation.
        self._booked: tuple[str, Approved] | None = None
        self._card_first = ConfirmedCard(reactor, settings.confirm_s)

    def remember(self, uid: str, verdict: Verdict) -> None:
        """See `IKeepsEarly.remember`."""
        if isinstance(verdict, Approved):
            self._booked = uid, verdict

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """The size of the journal and its last transaction. The process goes on to the operation."""
        self._check(order)
        self._begun = self._reactor.seconds()
        try:
            with self._refused():
                line = await self._open()
                if order.task in READING:
                    return b""
                return encode_before(await self._before(line, order))
        except BaseException:
            self._leave()
            raise

    async def _before(self, line: Bpos1Line, order: Order) -> Before:
        begun = local_time(self._clock).isoformat()
        place = self._settings.place
        try:
            count = await self._count(line)
        except _Refuses as error:
            if self._tells:
                raise Refused(Res.TERMINAL_ERROR, wording(error), action=Action.REPEAT) from error
            # Perhaps it cannot. It takes payments all the same.
            self.log.warn("the terminal does not tell its journal: a lost answer will stay unknown")
            return Before(begun, place=place)
        self._tells = True
        last = await self._transaction(line, count) if count else None
        named = await self._named(line, order) if order.task == Task.CANCEL else None
        return Before(begun, count, last, named, self._tells, place)

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._interrupted, self._booked = False, None
        try:
            line = await self._still_open()
            corrected = False

            def moved(said: Said) -> None:
                nonlocal corrected
                self._moved(said)
                if said.status == bpos1.CORRECTABLE and not corrected:
                    corrected = True
                    line.at_once("CorrectTransaction", order.wanted, 0)

            return await self._finished(line, order, snapshot, await self._operate(line, order, moved), keep)
        finally:
            self._leave()

    async def _operate(self, line: Bpos1Line, order: Order, moved: Callable[[Said], object]) -> Said:
        name, *given = self._request(order)
        read = CARD if order.task == Task.DISCOUNT_CARD else TRANSACTION
        left = max(self.wait_s - (self._reactor.seconds() - self._begun), LEAST)
        stopping = self._reactor.callLater(left - BEFORE_THE_END, lambda: line.at_once("Cancel"))
        try:
            return await line.call(str(name), *given, read=read, patience=left, progress=moved)
        finally:
            if stopping.active():
                stopping.cancel()

    def _request(self, order: Order) -> tuple[Value, ...]:
        merchant = self._merchant(order)
        if order.task == Task.REFUND:
            return "Refund", order.sum, 0, merchant, order.rrn
        if order.task == Task.CANCEL:
            return "Void", int(order.cancelid), merchant
        if order.task == Task.BANK_SERVICE:
            return "PurchaseService", merchant, order.sum, f"{order.service.zfill(4)}//{order.param}"
        if order.task == Task.DISCOUNT_CARD:
            return ("ReadCard",)
        if order.task in (Task.TOTALS, Task.SETTLEMENT):
            return "Settlement" if order.task == Task.SETTLEMENT else "PrintBatchTotals", self._merchant(order, 0)
        return "Purchase", order.sum, 0, merchant

    async def _finished(self, line: Bpos1Line, order: Order, snapshot: bytes, said: Said, keep: Keep) -> Verdict:
        """The verdict; an approval is durable first, then confirmed, and then it gets its slip."""
        verdict = self._verdict(order, snapshot, said)
        if isinstance(verdict, Declined):
            return verdict
        if order.task not in READING:
            await keep(verdict)
            self._booked = order.uid, verdict
        if order.task not in UNCONFIRMED:
            confirmed = await line.call("Confirm")
            if confirmed.result != bpos1.DONE:
                raise LineLost(f"the approval was not confirmed: {confirmed.error} {confirmed.words_of_error}")
        return msgspec.structs.replace(verdict, slip=await self._slip(line, order))

    async def _slip(self, line: Bpos1Line, order: Order) -> str:
        if order.task == Task.DISCOUNT_CARD:
            return ""
        try:
            return (await line.call("ReqCurrReceipt", read=("Receipt",))).words("Receipt")
        except WireError as error:
            self.log.warn("the terminal did not send the slip: {error}", error=error)
            return ""

    # A card first (tasks 6 and 7)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """Start a purchase; where the terminal stops at the card it goes on when task 7 comes."""
        self._interrupted, self._booked = False, None
        return await self._card_first.read(lambda card: self._held(order, snapshot, keep, card))

    async def _held(self, order: Order, snapshot: bytes, keep: Keep, card: CardDue) -> Verdict:
        try:
            line = await self._still_open()

            def moved(said: Said) -> None:
                self._moved(said)
                if said.status == bpos1.CORRECTABLE and not card.called:
                    deciding.append(Deferred.fromCoroutine(decide()))
                    card.callback(_card(order, said))

            async def decide() -> None:
                nonlocal order
                wanted = await self._card_first.confirmed()
                if wanted is None:
                    self._stop()
                else:
                    order = msgspec.structs.replace(order, corrected=wanted)
                    line.at_once("CorrectTransaction", wanted, 0)

            deciding: list[Deferred[None]] = []
            try:
                said = await self._operate(line, order, moved)
            finally:
                if self._card_first.waits:
                    # The terminal waits no longer.
                    self._card_first.confirm(None)
            return await self._finished(line, order, snapshot, said, keep)
        finally:
            self._leave()

    async def interrupt(self) -> None:
        """See `ITerminal.interrupt`.

        :raises Refused: 5029 when no call of the library works.
        """
        if self._card_first.waits or self._line is None or not self._line.working:
            await super().interrupt()
        else:
            self._stop()

    def _stop(self) -> None:
        if self._line is not None and self._line.working:
            self._interrupted = True
            self._line.at_once("Cancel")

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """See what the journal has since the snapshot, once the terminal answers."""
        before = decode_before(snapshot)
        deadline = self._reactor.seconds() + patience
        try:
            with self._refused(NotReached):
                line = await self._open()
            while True:
                try:
                    count = await self._count(line)
                    break
                except _StillWorks:
                    if self._reactor.seconds() + BETWEEN_LOOKS > deadline:
                        return Undecided("the terminal is still busy")
                    await deferLater(self._reactor, BETWEEN_LOOKS)
            if before.count is None:
                return Undecided("the terminal did not tell its journal before")
            return await self._found(line, order, before, count, keep)
        finally:
            self._leave()

    async def _found(self, line: Bpos1Line, order: Order, before: Before, count: int, keep: Keep) -> Found:
        assert before.count is not None
        if order.task == Task.SETTLEMENT:
            return batch_closed(before.count, count)
        first = max(before.count, 1)
        if count - first > MOST_NEW:
            return Undecided(f"{count - before.count} transactions since then")
        now = [await self._transaction(line, place) for place in range(first, count + 1)]
        named = await self._named(line, order) if order.task == Task.CANCEL else None
        asked = local_time(self._clock)
        ended = latest_end(datetime.fromisoformat(before.begun), self.wait_s, asked)
        held = self._booked[1].rrn if self._booked is not None and self._booked[0] == order.uid else ""
        found = judge(order, before, now, named, ended, asked, held)
        if not isinstance(found, int):
            return found
        if found < 0:
            assert before.named is not None
            return Approved(sum=order.sum or before.named.amount, text="found out: it is cancelled")
        return await self._settled(line, order, first + found, keep)

    async def _settled(self, line: Bpos1Line, order: Order, place: int, keep: Keep) -> Found:
        """What became of our transaction, which is confirmed unless it was taken back already."""
        said = await self._read(line, place)
        if Transaction.of(said).status == bpos1.APPROVED and order.task not in UNCONFIRMED:
            await keep(self._approved(order, said))
            await self._asked(line, "Confirm")
            said = await self._read(line, place)
        status = Transaction.of(said).status
        if status == bpos1.APPROVED:
            slip = (await self._asked(line, "ReqCurrReceipt", read=("Receipt",))).words("Receipt")
            return msgspec.structs.replace(self._approved(order, said), slip=slip)
        if status in (bpos1.REVERSED, bpos1.TAKEN_BACK):
            return TAKEN_BACK
        if status == bpos1.DECLINED:
            return self._declined(order, said)
        return Undecided(f"the terminal gives transaction {Transaction.of(said).invoice} no status")

    # Questions

    async def _asked(self, line: Bpos1Line, name: str, *given: Value, read: tuple[str, ...] = ()) -> Said:
        """The answer to a question; `REFUSED` is one, too.

        :raises WireError: when the terminal did not answer.
        """
        said = await line.call(name, *given, read=read)
        if said.result == bpos1.FAILED and said.error != bpos1.REFUSED:
            raise _StillWorks(f"error {said.error} of the library: {said.words_of_error}")
        return said

    async def _answered(self, line: Bpos1Line, name: str, *given: Value, read: tuple[str, ...]) -> Said:
        said = await self._asked(line, name, *given, read=read)
        if said.result == bpos1.FAILED:
            raise _Refuses(f"the terminal refuses {name}: {said.words_of_error}")
        return said

    async def _count(self, line: Bpos1Line) -> int:
        return (await self._answered(line, "GetTxnNum", read=("TxnNum",))).number("TxnNum")

    async def _read(self, line: Bpos1Line, place: int) -> Said:
        return await self._answered(line, "GetTxnDataByOrder", place, read=TRANSACTION)

    async def _transaction(self, line: Bpos1Line, place: int) -> Transaction:
        return Transaction.of(await self._read(line, place))

    async def _named(self, line: Bpos1Line, order: Order) -> Transaction | None:
        said = await self._asked(
            line, "GetTxnDataByInv", int(order.cancelid), self._merchant(order), read=TRANSACTION
        )
        return Transaction.of(said) if said.result == bpos1.DONE else None

    # The line

    async def _open(self) -> Bpos1Line:
        """A process with the library and an open port; the one before has ended.

        :raises NotReached: when there is none.
        """
        before, self._line = self._line, None
        if before is not None:
            _close(before)
            await before.lost
        line = await open_line(self._endpoint, lambda: Bpos1Line(self._reactor), self._reactor, START_WAIT)
        self._line = line
        await line.ready()
        settings = self._settings
        call: tuple[Value, ...] = ("CommOpen", settings.com_port, settings.baudrate or BAUDRATE)
        if settings.interface == "tcp":
            call = ("CommOpenTCP", settings.host, str(settings.port))
        try:
            opened = await line.call(str(call[0]), *call[1:])
        except Silent as error:
            raise NotReached("the library does not open the line") from error
        if opened.result != bpos1.DONE:
            raise NotReached(opened.words_of_error or f"error {opened.error} of the library")
        return line

    async def _still_open(self) -> Bpos1Line:
        """The process of the snapshot, or a new one when it has ended meanwhile.

        :raises Refused: when there is none; nothing was sent.
        """
        if self._line is not None and not self._line.gone:
            return self._line
        with self._refused():
            return await self._open()

    def _leave(self) -> None:
        """Let the process close its port and end."""
        if self._line is not None:
            _close(self._line)

    # Service methods

    async def check(self) -> None:
        """Is the terminal there?"""
        await self._serve("Ping")

    async def inquire(self) -> bool | None:
        """See `IInquired`: each question would start the bank's library, so there is none."""
        return None

    async def serve(self, name: str) -> dict[str, object]:
        """See `ITerminal.serve`: a ping, or the terminal's test of its connection to the bank."""
        if name == ECHO:
            await self._serve("CheckConnection", self._merchant(Order(Task.PAYMENT, "")))
        else:
            await self.check()
        return {"restxt": "OK"}

    async def _serve(self, name: str, *given: Value) -> None:
        try:
            with self._refused():
                said = await self._asked(await self._open(), name, *given)
        finally:
            self._leave()
        if said.result == bpos1.FAILED:
            raise self._declined(Order(Task.PAYMENT, ""), said).refused()

    def close(self) -> None:
        """End the process and a payment that waits for task 7."""
        super().close()
        self._leave()

    # Requests and the meaning of answers

    def _check(self, order: Order) -> None:
        """See that the library can do it.

        :raises Refused: when it cannot; nothing was sent.
        """
        refuse_part(order)
        if order.wanted > MOST:
            raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED)
        if order.merchant and index_of(order.merchant) is None:
            raise malformed("pay.merch", wording(f"a number from 1 to {MOST_MERCHANTS} is expected"))
        number = order.cancelid
        if order.task == Task.CANCEL and not (number.isascii() and number.isdigit() and 0 < int(number) <= MOST):
            raise Refused(Res.OPERATION_NOT_FOUND)

    def _merchant(self, order: Order, usual: int = 1) -> int:
        return index_of(order.merchant or self._settings.merchant) or usual

    def _verdict(self, order: Order, snapshot: bytes, said: Said) -> Verdict:
        """The verdict of the library on an operation.

        :raises WireError: when it proves nothing: a port may fail after the operation has reached the terminal.
        """
        if said.result == bpos1.FAILED:
            if said.error != bpos1.REFUSED:
                raise LineLost(f"error {said.error} of the library: {said.words_of_error}")
            return self._declined(order, said)
        if order.task == Task.DISCOUNT_CARD:
            return _card(order, said)
        if order.task in (Task.TOTALS, Task.SETTLEMENT):
            return Approved()
        if Transaction.of(said).is_same(decode_before(snapshot).last):
            raise Garbled("the library reported the transaction before")
        return self._approved(order, said)

    def _approved(self, order: Order, said: Said) -> Approved:
        amount: int | None = said.number("Amount")
        if not isinstance(said.values.get("Amount"), int):
            amount = NOT_A_SUM
        elif order.task in (Task.CANCEL, Task.BANK_SERVICE) and not amount:
            amount = None
        return Approved(
            sum=amount,
            text="",
            cardmask=said.words("PAN"),
            paysys=said.words("IssuerName"),
            auth_code=said.words("AuthCode"),
            rrn=said.words("RRN"),
            cancelid=str(said.number("InvoiceNum") or ""),
            terminal_id=said.words("TerminalID"),
            merchant=said.words("MerchantID"),
        )

    def _declined(self, order: Order, said: Said) -> Declined:
        code, text = said.number("ResponseCode"), said.words_of_error
        if 0 < code < bpos1.GENERAL:
            return bank_refusal(order, f"{code:04d}", text)
        if code == bpos1.CANCELLED and self._interrupted:
            return Declined.of(Res.OPERATION_CANCELLED, text=text)
        if code == bpos1.GENERAL and any(word in text.lower() for word in SETTLE_FIRST):
            return Declined.of(Res.SETTLEMENT_REQUIRED, text=text)
        if code in (0, bpos1.GENERAL) and order.task == Task.CANCEL:
            return Declined.of(Res.OPERATION_NOT_FOUND, text=text)
        return catalogued(order, TERMINAL.get(code or bpos1.GENERAL), str(code), text or str(code), text)

    def _moved(self, said: Said) -> None:
        self._report(PROGRESS.get(said.status or 0, Activity.WORKING), bpos1.readable(said.text))


def _card(order: Order, said: Said) -> Approved:
    """A card that was only read."""
    return Approved(
        sum=order.sum,
        cardmask=said.words("PAN"),
        paysys=said.words("IssuerName"),
        discount=said.words("DiscountName"),
    )


def _no_library(error: WireError) -> Refused | None:
    """The refusal where the library is missing; the device itself may be all right."""
    if not isinstance(error, NoLibrary):
        return None
    return Refused(Res.DEVICE_ERROR, NO_LIBRARY[error.kind], aq_errortxt=wording(error.reason))


def _close(line: Bpos1Line) -> None:
    if line.transport is not None and not line.gone:
        line.transport.loseConnection()


def build(
    row: DeviceRow, settings: Bpos1Settings, around: Surroundings, endpoint: IStreamClientEndpoint | None = None
) -> TerminalService:
    """The service of a BPOS1 terminal; ``endpoint`` starts the library's process in another way."""
    endpoint = LibraryEndpoint(around.reactor) if endpoint is None else endpoint
    driver = Bpos1Driver(settings, endpoint, around.clock, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
