"""The till's end of a ZVT line: one operation at a time, each ending in an `ZvtAnswer` or a wire error.

The terminal keeps a booking only when its status information is acknowledged, so the acknowledgement waits for the
caller's ``store`` (docs/reference/zvt.md#acknowledgements). When storing a payment or a refund fails, the answer is
``84 66`` and the terminal reverses the booking. A status information outside an operation is acknowledged only when
``stray`` has taken it.

After a timeout the line is closed, so that nothing late reaches the next operation; the caller queries
`ZvtProtocol.last_result` on a new line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred, fail, maybeDeferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, Silent, WireError
from protocols.terminals.lines import drop, notify, stop
from protocols.terminals.zvt import codes
from protocols.terminals.zvt import messages as m
from protocols.terminals.zvt.apdu import Apdu
from protocols.terminals.zvt.fields import NO_FIELDS, Fields
from protocols.terminals.zvt.link import T1, T2, Link, SerialLink, TcpLink
from protocols.terminals.zvt.slips import Slip, SlipCollector
from protocols.terminals.zvt.tlv import Tlv

Store = Callable[[m.StatusInformation], object]
"""Stores a status information; may return a Deferred or a coroutine, and may fail."""
StateListener = Callable[[m.IntermediateStatus], None]
"""Is called with each intermediate state."""
Stray = Callable[[m.Message], object]
"""Takes a message that belongs to no operation; may return a Deferred or a coroutine, and may fail."""


@dataclass(frozen=True)
class ZvtSettings:
    """How a till and its terminal work together."""

    password: str = "000000"
    """Six digits; some terminals have 123456."""
    currency: int = 980
    """ISO number: 980 hryvnia, 978 euro."""
    slips: bool = True
    """The terminal sends its slips to the till instead of printing them."""
    locks_menu: bool = True
    """Payments and administration are started at the till only."""
    abort_payments: bool = False
    """Send an abort during a payment too. By the standard only reading a card may be aborted; many terminals accept
    it anyway, some do not (docs/reference/zvt.md#vendors)."""
    charset: str = "cp437"
    """The terminal's character set; CardComplete has iso-8859-1."""
    serial: bool = False
    """Frames and acknowledgements of a serial line."""
    patience: float = 300.0
    """Seconds for a whole operation, whatever the terminal sends in between."""
    t1: float = T1
    t2: float = T2
    t3: float = 5.0
    """Seconds until a command is acknowledged."""
    t4: float = 180.0
    """Seconds until the terminal's next message while it is master."""

    @property
    def config(self) -> int:
        """The configuration byte of the registration."""
        prints = m.PRINTS_PAYMENTS | m.PRINTS_REPORTS | m.WANTS_LINES if self.slips else 0
        rules = m.RULES_PAYMENT | m.RULES_ADMINISTRATION if self.locks_menu else 0
        return m.WANTS_STATES | prints | rules


@dataclass(frozen=True)
class ZvtAnswer:
    """How an operation ended."""

    taken: bool
    """Whether the terminal took the command; otherwise nothing happened, and ``result`` is the code of ``84 xx``."""
    completed: bool
    """Whether it ended in a completion, not in an abort."""
    result: int
    """0 for success, else a code of `protocols.terminals.zvt.codes`."""
    statuses: tuple[m.StatusInformation, ...] = ()
    """Every status information, in order; repeats of one are left out."""
    stored: bool = True
    """False when storing a status information failed; the terminal was then ordered to reverse a payment."""
    completion: m.Completion | None = None
    slips: tuple[Slip, ...] = ()
    states: tuple[int, ...] = ()
    """Intermediate states, in order."""

    @property
    def status(self) -> m.StatusInformation | None:
        """The last status information."""
        return self.statuses[-1] if self.statuses else None

    @property
    def done(self) -> bool:
        """Whether the terminal did what was requested."""
        return self.taken and self.completed and self.result == codes.OK

    @property
    def approved(self) -> bool:
        """Whether a booking was made and is stored on both sides."""
        return self.done and self.stored and self.status is not None

    @property
    def doubtful(self) -> bool:
        """Whether the terminal's messages contradict each other: booked, and then aborted. Only a query decides."""
        booked = any(status.result == codes.OK and status.amount for status in self.statuses)
        return self.taken and not self.approved and booked


@dataclass(eq=False)
class _Exchange:
    """One operation on its way."""

    store: Store | None = None
    progress: StateListener | None = None
    refusable: bool = False
    """Whether ``84 66`` may answer a status information that could not be stored."""
    ends_with_status: bool = False
    ends_with_acknowledgement: bool = False
    abortable: bool = False
    taken: bool = False
    statuses: list[m.StatusInformation] = field(default_factory=list)
    not_stored: list[m.StatusInformation] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    due: Deferred[ZvtAnswer] = field(default_factory=Deferred)
    slips: SlipCollector = field(default_factory=SlipCollector)
    t4: float = 180.0


class ZvtProtocol(Protocol):
    """A till on a ZVT line. One method for each operation; each returns a Deferred of an `ZvtAnswer`.

    The Deferreds fail with `Silent` (T3, T4 or patience ran out), `LineLost` or `Garbled`; the line is then closed.
    Cancelling one closes the line too. The caller runs one operation at a time.

    :param stray: takes messages that belong to no operation.
    """

    log = Logger()

    def __init__(self, clock: IReactorTime, settings: ZvtSettings | None = None, stray: Stray | None = None) -> None:
        self._clock = clock
        self.settings = settings or ZvtSettings()
        self._stray = stray
        self._exchange: _Exchange | None = None
        self._link: Link | None = None
        self._limit: IDelayedCall | None = None
        self._storing = False
        # An abort was sent and is not answered: the next acknowledgement is for it.
        self._abort_open = False
        self._waiting: deque[m.Message] = deque()

    # Operations.

    def register(self) -> Deferred[ZvtAnswer]:
        """Introduce the till: the first command on every line."""
        settings = self.settings
        fields = NO_FIELDS
        if settings.slips:
            # Whole slips where the terminal can, single lines elsewhere.
            blocks = Tlv.of(m.COMMANDS, Tlv(0x0A, bytes.fromhex("06d3")))
            fields = Fields.of(tlv=(blocks,))
        return self._ask(m.Registration(settings.password, settings.config, settings.currency, fields), _Exchange())

    def status(self) -> Deferred[ZvtAnswer]:
        """Query the terminal's status; it is ``answer.completion.report``."""
        return self._ask(m.StatusEnquiry(), _Exchange())

    def pay(
        self,
        amount: int,
        store: Store,
        *,
        progress: StateListener | None = None,
        receipt_known: int | None = None,
        card_read: bool = False,
    ) -> Deferred[ZvtAnswer]:
        """Take ``amount`` minor units; the approved sum is that of the status information.

        :param receipt_known: the last receipt number that we stored, 0 when there is none yet: a terminal that is one
            ahead reverses its newer booking. `None` leaves it out.
        :param card_read: use the card of `read_card`.
        """
        kind = m.CARD_JUST_READ if card_read else None
        command = m.Authorisation.of(amount, self.settings.currency, kind, *_known(receipt_known))
        return self._ask(command, _Exchange(store, progress, refusable=True))

    def refund(
        self,
        amount: int,
        store: Store,
        *,
        progress: StateListener | None = None,
        receipt_known: int | None = None,
    ) -> Deferred[ZvtAnswer]:
        """Give ``amount`` minor units back on the card that is shown; ZVT has no reference to the payment."""
        command = m.Refund.of(self.settings.password, amount, self.settings.currency, *_known(receipt_known))
        return self._ask(command, _Exchange(store, progress, refusable=True))

    def reverse(
        self,
        receipt: int,
        store: Store,
        *,
        amount: int | None = None,
        progress: StateListener | None = None,
        receipt_known: int | None = None,
    ) -> Deferred[ZvtAnswer]:
        """Reverse the booking ``receipt``; some banks reverse only the last one.

        The message is acknowledged even when storing fails: the effect of a refusal is not specified here.
        """
        currency = self.settings.currency if amount is not None else m.UNKNOWN_CURRENCY
        command = m.Reversal.of(self.settings.password, receipt, amount, currency, *_known(receipt_known))
        return self._ask(command, _Exchange(store, progress))

    def settle(self, store: Store, *, progress: StateListener | None = None) -> Deferred[ZvtAnswer]:
        """Close the batch; ``answer.status.totals`` has counts and sums."""
        return self._ask(m.EndOfDay(self.settings.password), _Exchange(store, progress))

    def totals(self, *, progress: StateListener | None = None) -> Deferred[ZvtAnswer]:
        """Ask for the totals of the open batch; they come as a slip, and as fields from some terminals."""
        return self._ask(m.SendTotals(self.settings.password), _Exchange(progress=progress))

    def last_result(self) -> Deferred[ZvtAnswer]:
        """Query the last status information without printing (docs/reference/zvt.md#recovery).

        It belongs to our operation only when receipt number, sum and time match.
        """
        return self._ask(m.RepeatReceipt.of(self.settings.password, m.SEND_AGAIN | m.DO_NOT_PRINT), _Exchange())

    def reprint(self) -> Deferred[ZvtAnswer]:
        """Get the last slip again; no money moves."""
        return self._ask(m.RepeatReceipt.of(self.settings.password), _Exchange())

    def read_card(self, timeout: int = 30, *, progress: StateListener | None = None) -> Deferred[ZvtAnswer]:
        """Wait ``timeout`` seconds, 1 to 99, for a card; ``answer.status`` has its data."""
        return self._ask(m.ReadCard(timeout), _Exchange(progress=progress, ends_with_status=True, abortable=True))

    def diagnose(self, *, progress: StateListener | None = None) -> Deferred[ZvtAnswer]:
        """Let the terminal try its connection to the bank."""
        return self._ask(m.Diagnosis(), _Exchange(progress=progress))

    def log_off(self) -> Deferred[ZvtAnswer]:
        """Leave: the terminal goes back to working by itself."""
        return self._ask(m.LogOff(), _Exchange(ends_with_acknowledgement=True))

    def interrupt(self) -> bool:
        """Send an abort for the running operation; false when it cannot be aborted.

        The operation's own Deferred has its end: an approval may still come (docs/reference/terminals.md#rule-8).
        """
        exchange = self._exchange
        if exchange is None or self._link is None or not exchange.taken or self._abort_open:
            return False
        if not (exchange.abortable or self.settings.abort_payments):
            return False
        self._abort_open = True
        self._send(m.Abort())
        return True

    # The line.

    def connectionMade(self) -> None:
        """Take the line."""
        assert self.transport is not None
        write = self.transport.write
        if self.settings.serial:
            self._link = SerialLink(
                self._clock, write, self._received, self._broken, self.settings.t1, self.settings.t2
            )
        else:
            self._link = TcpLink(write, self._received)

    def dataReceived(self, data: bytes) -> None:
        """Read what the terminal sends; anything that is not ZVT ends the line."""
        if self._link is None:
            return
        try:
            self._link.feed(data)
        except Garbled as garbled:
            self._broken(garbled)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail the operation that waits."""
        self._end_line(LineLost(reason.getErrorMessage()))

    def _ask(self, command: m.Message, exchange: _Exchange) -> Deferred[ZvtAnswer]:
        assert self._exchange is None, "one operation at a time"
        if self._link is None:
            return fail(LineLost("the line is closed"))
        self._exchange = exchange
        exchange.due = due = Deferred[ZvtAnswer](self._abandon)
        exchange.slips, exchange.t4 = SlipCollector(self.settings.charset), self.settings.t4
        self._set_limit(self.settings.t3)
        self._send(command)
        return due.addTimeout(
            self.settings.patience, self._clock, lambda _, seconds: Failure(Silent(seconds, exchange.taken))
        )

    def _abandon(self, _: Deferred[ZvtAnswer]) -> None:
        # A late answer must not be taken for the answer to the next command, so the line is closed.
        self._exchange = None
        self._end_line(LineLost("the operation was given up"))

    def _send(self, message: m.Message) -> None:
        if self._link is None:
            return
        apdu = message.encode()
        self.log.debug("to terminal {control:04X}, {size} bytes", control=apdu.control, size=len(apdu.data))
        self._link.send(apdu)

    def _received(self, apdu: Apdu) -> None:
        self.log.debug("from terminal {control:04X}, {size} bytes", control=apdu.control, size=len(apdu.data))
        try:
            message = m.decode(apdu)
        except Garbled as garbled:
            # Without the data: they may contain card data (docs/reference/terminals.md#rule-19).
            raise Garbled(f"message {apdu.control:04X} cannot be read, {garbled.what}") from None
        if self._storing:
            # The terminal should wait for the acknowledgement; if it does not, the order is kept here.
            if not (self._exchange is not None and message in self._exchange.statuses):
                self._waiting.append(message)
            return
        self._take(message)

    def _take(self, message: m.Message) -> None:
        exchange = self._exchange
        if self._abort_open and isinstance(message, m.Acknowledge | m.Negative):
            self._abort_open = False
            self.log.info("the terminal answered our abort by {control:04X}", control=message.encode().control)
        elif exchange is None:
            self._take_stray(message)
        elif isinstance(message, m.Acknowledge) or (isinstance(message, m.Negative) and message.positive):
            self._acknowledged(exchange)
        elif isinstance(message, m.Negative):
            self._refused(exchange, message)
        elif not exchange.taken:
            # Until our command is acknowledged, every message belongs to something before it.
            self._take_stray(message)
        else:
            self._set_limit(exchange.t4)
            self._serve(exchange, message)

    def _acknowledged(self, exchange: _Exchange) -> None:
        if exchange.taken:
            return  # a repeat
        exchange.taken = True
        if exchange.ends_with_acknowledgement:
            self._settle(exchange, completed=True, result=codes.OK)
        else:
            self._set_limit(exchange.t4)

    def _refused(self, exchange: _Exchange, message: m.Negative) -> None:
        if exchange.taken:
            # It was taken and runs: only its own end counts.
            self.log.warn("the terminal sent 84 {code:02X} in the middle", code=message.code)
        else:
            self._settle(exchange, completed=False, result=message.code)

    def _serve(self, exchange: _Exchange, message: m.Message) -> None:
        """Answer one message of the terminal while it is master."""
        if isinstance(message, m.StatusInformation):
            self._status(exchange, message)
            return
        self._send(m.Acknowledge())
        if isinstance(message, m.IntermediateStatus):
            exchange.states.append(message.status)
            if message.minutes:
                exchange.t4 = message.minutes * 60.0
                self._set_limit(exchange.t4)
            notify(exchange.progress, message)
        elif isinstance(message, m.PrintLine):
            exchange.slips.add_line(message)
        elif isinstance(message, m.PrintBlock):
            exchange.slips.add_block(message)
        elif isinstance(message, m.Completion):
            self._settle(exchange, completed=True, result=_result(exchange, message), completion=message)
        elif isinstance(message, m.AbortReport):
            self._settle(exchange, completed=False, result=message.result or codes.SYSTEM)
        else:
            # Clock and dial-up messages need no more than the acknowledgement.
            self.log.info("the terminal sent {control:04X}", control=message.encode().control)

    def _status(self, exchange: _Exchange, message: m.StatusInformation) -> None:
        """Store a status information, then acknowledge it; a repeat gets the same answer."""
        if message in exchange.statuses:
            self._send(self._reply(exchange, message))
            return
        exchange.statuses.append(message)
        if exchange.store is None:
            self._answered(exchange, message)
            return
        self._storing = True
        storing = maybeDeferred(exchange.store, message)
        storing.addErrback(self._not_stored, exchange, message)
        storing.addCallback(lambda _: self._stored(exchange, message))

    def _not_stored(self, failure: Failure, exchange: _Exchange, message: m.StatusInformation) -> None:
        self.log.error("a status information could not be stored: {reason}", reason=failure.getErrorMessage())
        exchange.not_stored.append(message)

    def _stored(self, exchange: _Exchange, message: m.StatusInformation) -> None:
        self._storing = False
        if self._exchange is not exchange:
            return  # the line broke meanwhile
        self._answered(exchange, message)
        while self._waiting and not self._storing:
            self._take(self._waiting.popleft())

    def _answered(self, exchange: _Exchange, message: m.StatusInformation) -> None:
        self._send(self._reply(exchange, message))
        if exchange.ends_with_status:
            self._settle(exchange, completed=message.result == codes.OK, result=message.result)

    def _reply(self, exchange: _Exchange, message: m.StatusInformation) -> m.Message:
        """The answer to a status information."""
        if message in exchange.not_stored and exchange.refusable and message.result == codes.OK:
            return m.Negative(codes.NO_GOODS)
        return m.Acknowledge()

    def _settle(
        self, exchange: _Exchange, *, completed: bool, result: int, completion: m.Completion | None = None
    ) -> None:
        self._exchange = None
        stop(self._limit)
        answer = ZvtAnswer(
            exchange.taken,
            completed,
            result,
            tuple(exchange.statuses),
            not exchange.not_stored,
            completion,
            exchange.slips.slips(),
            tuple(exchange.states),
        )
        exchange.due.callback(answer)

    def _take_stray(self, message: m.Message) -> None:
        """Consume and log a message while nothing runs; it is never kept for the next operation."""
        self.log.warn("the terminal sent {control:04X} unasked", control=message.encode().control)
        if isinstance(message, m.Acknowledge | m.Negative):
            return
        if self._stray is None:
            if not isinstance(message, m.StatusInformation):
                self._send(m.Acknowledge())
            return
        taken = maybeDeferred(self._stray, message)
        taken.addCallbacks(
            lambda _: self._send(m.Acknowledge()),
            lambda failure: self.log.error("it was not taken: {reason}", reason=failure.getErrorMessage()),
        )

    def _set_limit(self, seconds: float) -> None:
        stop(self._limit)
        self._limit = self._clock.callLater(seconds, self._silent, seconds)

    def _silent(self, seconds: float) -> None:
        exchange = self._exchange
        taken = exchange is not None and exchange.taken
        noise = self._link.noise if self._link is not None and not taken else b""
        # A peer that sends something else is not a silent terminal (docs/reference/terminals.md#rule-17).
        self._broken(Garbled("this is not ZVT", noise) if noise else Silent(seconds, taken))

    def _broken(self, error: WireError) -> None:
        self.log.warn("the ZVT line is closed: {reason}", reason=error)
        self._end_line(error)

    def _end_line(self, error: WireError) -> None:
        """Close the line and fail the operation that waits; once."""
        stop(self._limit)
        self._waiting.clear()
        self._storing = False
        if self._link is not None:
            self._link.stop()
            self._link = None
            if self.transport is not None:
                drop(self.transport)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.due.errback(error)


def _known(receipt: int | None) -> tuple[Tlv, ...]:
    return () if receipt is None else (m.in_step(receipt),)


def _result(exchange: _Exchange, completion: m.Completion) -> int:
    """The result of an operation that was completed: that of its last status information, or its own."""
    if exchange.statuses:
        return exchange.statuses[-1].result
    try:
        return completion.result
    except Garbled:
        return codes.OK  # the answer to a status enquiry has no fields
