"""ECR17 terminals: tasks become letters, result codes become results (docs/reference/ecr17.md).

A lost answer is found out by the terminal's last answer, compared with the one from before the request. That answer
has no sum, so an operation of another till on the same terminal would look like ours: a terminal belongs to one
service.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256

import msgspec
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.money import hryvnias
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.answers import nothing_sent
from dmtwisted.terminals.base import ProvingDriver, refuse_part
from dmtwisted.terminals.card_first import CardDue, ConfirmedCard
from dmtwisted.terminals.codes import catalogued
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.ecr17.settings import BAUDRATE, CAPABILITIES, SERVICES, Ecr17Settings
from dmtwisted.terminals.interface import (
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
from dmtwisted.terminals.proof import CLOCK_ERROR, batch_closed, latest_end, local_time
from dmtwisted.terminals.service import TerminalService
from dmtwisted.wording import wording
from protocols.errors import Garbled, NotReached, WireError
from protocols.terminals.ecr17.answers import (
    APPROVED,
    NO_CARD,
    REFUSED,
    UNKNOWN_COMMAND,
    CardAnswer,
    CloseAnswer,
    Ecr17Answer,
    PaymentAnswer,
    PreauthorisationAnswer,
    Receipt,
    TerminalState,
    TotalsAnswer,
)
from protocols.terminals.ecr17.frames import Lrc
from protocols.terminals.ecr17.line import Keep as WireKeep
from protocols.terminals.ecr17.line import NotOperative, NotTaken, Settings
from protocols.terminals.ecr17.requests import LAST_STAN
from protocols.terminals.ecr17.terminal import Ecr17Terminal
from protocols.terminals.ecr17.ticket import read_tickets

MOST = 99_999_999
"""Hundredths that eight digits hold."""

RESULTS: dict[str, Res] = {NO_CARD: Res.OPERATION_CANCELLED, UNKNOWN_COMMAND: Res.TERMINAL_ERROR}
"""Result codes besides the bank's refusal (docs/reference/ecr17.md#result-codes); any other is 5009."""

LRC = {"std": Lrc.STD, "stx": Lrc.STX, "noext": Lrc.NOEXT, "stx_noext": Lrc.STX_NOEXT}
"""The variants of the check byte by their setting, without `auto`."""


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal reported about its last operation before a request.

    ``digest`` stands for the whole answer, which may hold a card number; ``stan`` is the operation's number, empty
    when it names none; ``begun`` is local time in ISO form; ``tells`` says whether the terminal is known to report
    its last operation; ``total`` is the open session's sum.
    """

    digest: str = ""
    stan: str = ""
    begun: str = ""
    tells: bool = False
    total: int | None = None
    place: str = ""
    """Where the terminal was."""


encode_before = msgspec.json.Encoder().encode
decode_before = msgspec.json.Decoder(Before).decode

Last = PaymentAnswer | PreauthorisationAnswer


@implementer(ITerminal)
class Ecr17Driver(ProvingDriver[Ecr17Settings]):
    """One ECR17 terminal."""

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "ecr17"
    names_sum = False
    terminal: Ecr17Terminal
    _card_first: ConfirmedCard

    def __init__(
        self,
        settings: Ecr17Settings,
        endpoint: IStreamClientEndpoint,
        clock: ServiceClock,
        reactor: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        super().__init__(settings, unreached)
        self._clock, self._reactor = clock, reactor
        wire = Settings(
            lrc=LRC.get(settings.lrc),
            terminal=settings.terminal_id,
            register=settings.register,
            answer_wait=settings.wait_s,
            receipt_wait=settings.receipt_wait_s if settings.receipts else 0.0,
        )
        self.terminal = Ecr17Terminal(endpoint, reactor, wire, self._shown, self._printed, self._came_late)
        self._tells = settings.tells_last
        self._receipts: list[str] = []
        self._receipt_due: Deferred[None] | None = None
        # The operation whose answer did not come, and what the terminal reported before it.
        self._unanswered: tuple[Order, Before] | None = None
        self._card_first = ConfirmedCard(reactor, settings.confirm_s)

    # Operations

    async def snapshot(self, order: Order) -> bytes:
        """The terminal's last answer as it is now; asking for it also shows that the terminal is there and free."""
        _check(order)
        with self._refused():
            if self.terminal.lrc is None:
                await self._find_variant()
            if self._settings.receipts:
                # It prints by itself again whenever an operation is over.
                await self.terminal.print_on_register(True)
            if order.task == Task.TOTALS:
                return b""
            last = await self.terminal.last()
            total = await self._total() if order.task == Task.SETTLEMENT else None
        self._tells = self._tells or _names(last)
        stan = last.stan if _names(last) else ""
        begun, place = local_time(self._clock).isoformat(), self._settings.place
        return encode_before(Before(_digest(last), stan, begun, self._tells, total, place))

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`."""
        self._unanswered = None
        self._receipts.clear()
        if order.task == Task.TOTALS:
            with self._refused(NotReached):
                return self._verdict(order, await self.terminal.totals())
        return await self._pay(order, snapshot, keep)

    async def _pay(self, order: Order, snapshot: bytes, keep: Keep, card_present: bool = False) -> Verdict:
        with self._sending((order, decode_before(snapshot))):
            answer = await self._operate(order, keep, card_present)
        return await self._with_receipt(self._verdict(order, answer))

    async def _operate(self, order: Order, keep: Keep, card_present: bool) -> Ecr17Answer:
        stored, terminal = self._storing(order, keep), self.terminal
        if order.task == Task.CANCEL:
            return await terminal.reverse(order.cancelid.zfill(6), stored)
        if order.task == Task.SETTLEMENT:
            return await terminal.close_session(stored)
        return await terminal.pay(order.wanted, card_present=card_present, keep=stored)

    def _storing(self, order: Order, keep: Keep) -> WireKeep:
        """The function that makes an approval durable before it is acknowledged."""

        async def stored(answer: Ecr17Answer) -> None:
            if isinstance(answer, PaymentAnswer | CloseAnswer) and answer.result == APPROVED:
                await keep(self._verdict(order, answer))

        return stored

    async def _total(self) -> int | None:
        """The sum of the open session; `None` when the terminal does not report it."""
        answer = await self.terminal.totals()
        return answer.terminal_total if answer.result == APPROVED else None

    # A card first (tasks 6 and 7)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """A card verification; the payment with that card follows when task 7 comes."""
        self._unanswered = None
        self._receipts.clear()
        return await self._card_first.read(lambda card: self._held(order, snapshot, keep, card))

    async def _held(self, order: Order, snapshot: bytes, keep: Keep, card: CardDue) -> Verdict:
        self._report(Activity.WAITING_CARD)
        with self._moving_nothing():
            verified = await self.terminal.verify_card()
        read = verified.found if isinstance(verified, CardAnswer) else verified
        if not read.approved:
            return self._declined(order, read.result, read.text)
        card.callback(Approved(sum=order.sum, cardmask=read.card))
        self._report(Activity.WAITING_CASHIER)
        wanted = await self._card_first.confirmed()
        if wanted is None:
            return Declined.of(Res.OPERATION_CANCELLED)
        order = msgspec.structs.replace(order, corrected=wanted)
        _check(order)
        return await self._pay(order, snapshot, keep, card_present=True)

    # After a lost answer

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Compare the terminal's last answer, once it is idle, with the one from before the request."""
        before = decode_before(snapshot)
        self._unanswered = order, before
        with self._refused(NotReached):
            last = await self.terminal.recover(None, patience)
            if order.task == Task.SETTLEMENT:
                return batch_closed(before.total, await self._total(), "session")
        assert last is not None
        if _digest(last) == before.digest:
            if before.tells and last.result != UNKNOWN_COMMAND:
                return NeverStarted()
            return Undecided("the terminal has never reported its last operation")
        if not isinstance(last, PaymentAnswer) or not _names(last):
            return Undecided("the terminal's last answer names no operation")
        if last.stan == before.stan:
            return Undecided(f"operation {last.stan} is reported in another way than before")
        if not self._in_time(before, last):
            return Undecided(f"operation {last.stan} is of another time")
        self._unanswered = None
        return self._verdict(order, last)

    def _in_time(self, before: Before, last: PaymentAnswer) -> bool:
        """Whether the operation can have started then; without a time in the answer the number decides."""
        begun, now = datetime.fromisoformat(before.begun), local_time(self._clock)
        at = _host_time(last.host_time, now)
        if at is None:
            return True
        end = latest_end(begun, self.wait_s, now)
        # The terminal reports no seconds.
        return begun - CLOCK_ERROR - timedelta(minutes=1) <= at <= end + CLOCK_ERROR

    def _came_late(self, answer: Ecr17Answer) -> None:
        """A final answer without a request: it is the lost one when it is new, and time and kind match.

        :raises LookupError: when it is not, so that it is not acknowledged.
        """
        if self._unanswered is None or not isinstance(answer, PaymentAnswer) or not _names(answer):
            raise LookupError("a late answer to nothing that is known")
        order, before = self._unanswered
        if order.task == Task.SETTLEMENT or answer.stan == before.stan or not self._in_time(before, answer):
            raise LookupError("a late answer to something else")
        self._unanswered = None
        self._late(order.uid, self._verdict(order, answer))

    # Service methods

    async def check(self) -> None:
        """The status request."""
        with self._refused():
            status = await self.terminal.status()
        if status.state is not TerminalState.OPERATIVE:
            raise self._not_sent(NotOperative(status.state))

    # Messages during an operation

    def _shown(self, text: str) -> None:
        self._report(Activity.WORKING, text.strip())

    def _printed(self, receipt: Receipt) -> None:
        self._receipts.append(receipt.text)
        if self._receipt_due is not None and not self._receipt_due.called:
            self._receipt_due.callback(None)

    async def _with_receipt(self, verdict: Verdict) -> Verdict:
        """An approval with the receipts that follow it, until none comes for a while."""
        if isinstance(verdict, Declined) or not self._settings.receipts or verdict.slip:
            return verdict
        count = -1
        while count != len(self._receipts):
            count = len(self._receipts)
            self._receipt_due = Deferred()
            try:
                await self._receipt_due.addTimeout(self._settings.receipt_wait_s, self._reactor)
            except TimeoutError:
                break
        self._receipt_due = None
        return msgspec.structs.replace(verdict, slip=read_tickets("".join(self._receipts)))

    # What an answer means

    def _verdict(self, order: Order, answer: Ecr17Answer) -> Verdict:
        """The verdict of a final answer.

        :raises Garbled: when it is an answer to something else.
        """
        if isinstance(answer, CloseAnswer | TotalsAnswer):
            if answer.result != APPROVED:
                return self._declined(order, answer.result, answer.text)
            return Approved(slip=f"TOTAL {hryvnias(answer.terminal_total)}")
        if not isinstance(answer, PaymentAnswer):
            raise Garbled("an answer to another question")
        if not answer.approved:
            return self._declined(order, answer.result, answer.text)
        stan = answer.stan.strip() if _names(answer) else ""
        return Approved(
            # Only a payment in the card's own currency names its sum.
            sum=answer.conversion.cents if answer.conversion is not None else None,
            cardmask=answer.card,
            auth_code=answer.auth,
            rrn=answer.online.strip() or stan,
            cancelid=stan,
            terminal_id=answer.terminal,
            merchant=answer.acquirer,
        )

    def _declined(self, order: Order, result: str, text: str) -> Declined:
        text = text.strip()
        if result == REFUSED:
            if order.task == Task.CANCEL:
                return Declined.of(Res.OPERATION_NOT_FOUND, text=text)
            if text:
                return Declined.of(Res.BANK_MESSAGE, text, "-", result, text=text)
            return Declined.of(Res.BANK_REFUSED)
        return catalogued(order, RESULTS.get(result), result, text or result, text)

    async def _find_variant(self) -> None:
        try:
            await self.terminal.status()
        except NotTaken as error:
            raise Refused(Res.HANDSHAKE_SILENT, aq_errortxt=wording(error.reason)) from error

    def _not_sent(self, error: WireError) -> Refused:
        """The refusal when the terminal certainly took nothing (docs/reference/ecr17.md#result-codes)."""
        if isinstance(error, NotOperative):
            if error.state is TerminalState.KEYS:
                return Refused(Res.TERMINAL_KEYS_WRONG, aq_errortxt=wording(error.reason))
            return Refused(Res.TERMINAL_ERROR, wording(error.reason))
        if isinstance(error, NotTaken):
            if isinstance(error.__cause__, WireError):
                # The question for the terminal's state failed.
                return nothing_sent(error.__cause__)
            return Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=wording(error.reason))
        return super()._not_sent(error)


def _check(order: Order) -> None:
    """Check that the wire can carry an order.

    :raises Refused: when it cannot; nothing was sent.
    """
    refuse_part(order)
    if order.wanted > MOST:
        raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED)
    stan = order.cancelid
    # Zeros mean the last operation, which is never the one that the caller named.
    if order.task == Task.CANCEL and not (stan.isascii() and stan.isdigit() and len(stan) <= 6 and stan.strip("0")):
        raise Refused(Res.OPERATION_NOT_FOUND)


def _digest(last: Last) -> str:
    return sha256(last.encode()).hexdigest()


def _names(answer: Last) -> bool:
    """Whether an answer has the number of an operation; without one it reports none."""
    return answer.stan.strip().isdigit() and answer.stan.strip() != LAST_STAN


def _host_time(text: str, now: datetime) -> datetime | None:
    """The moment that ``DDDHHMM`` means, in this year or, around New Year, the one beside it."""
    if not text.isdigit() or len(text) != 7 or not 1 <= int(text[:3]) <= 366:
        return None
    into = timedelta(days=int(text[:3]) - 1, hours=int(text[3:5]), minutes=int(text[5:]))
    return min((datetime(now.year + year, 1, 1) + into for year in (-1, 0, 1)), key=lambda at: abs(at - now))


def build(row: DeviceRow, settings: Ecr17Settings, around: Surroundings) -> TerminalService:
    """The service of an ECR17 terminal."""
    endpoint = endpoint_of(settings, around.reactor, 0, BAUDRATE)
    driver = Ecr17Driver(settings, endpoint, around.clock, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
