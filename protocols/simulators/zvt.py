"""The terminal's end of a ZVT line, made from the same codec, on the bank terminal behind every wire.

Its rules (docs/reference/zvt.md#simulator): one till at a time; every command but a status enquiry requires a
registration; while the terminal is master each of its messages waits for its acknowledgement. A booking that is not
acknowledged, slip included, is reversed at once, or when the next command's last receipt number shows it, as set.
Goods for a smaller sum (``84 9D``) are an acknowledgement: the booking stays as it is.

The scenario's ``code`` is a cause of `protocols.simulators.terminal`, a code of the bank (`1` to `99`), or a ZVT
result in hex (``0x6C``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from twisted.internet.interfaces import IAddress, IDelayedCall, IReactorTime
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from protocols.errors import Garbled, WireError
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import (
    CANCEL,
    CARD,
    MONEY,
    TOTALS,
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
from protocols.simulators.terminal_line import UNHEARD
from protocols.terminals.lines import stop
from protocols.terminals.zvt import codes
from protocols.terminals.zvt import fields as f
from protocols.terminals.zvt import messages as m
from protocols.terminals.zvt.apdu import Apdu
from protocols.terminals.zvt.fields import Fields, bcd, from_bcd, pan_nibbles
from protocols.terminals.zvt.link import T1, T2, Link, SerialLink, TcpLink
from protocols.terminals.zvt.slips import print_lines
from protocols.terminals.zvt.tlv import find

RESULTS = {
    Cause.CANCELLED: codes.ABORTED,
    Cause.TIMEOUT: codes.ABORTED,
    Cause.CARD: codes.UNREADABLE_CARD,
    Cause.CHIP: codes.CHIP_ERROR,
    Cause.PIN: 55,
    Cause.NO_LINK: codes.NO_CONNECTION,
    Cause.NO_PAPER: codes.PRINTER,
    Cause.KEYS: codes.KEY_MISSING,
    Cause.READER: codes.PIN_PAD,
    Cause.JOURNAL_FULL: codes.JOURNAL_FULL,
    Cause.SETTLE_FIRST: codes.RECONCILIATION_DUE,
    Cause.MERCHANT: codes.NOT_POSSIBLE,
    Cause.AMOUNT: codes.OVER_LIMIT,
    Cause.NOT_FOUND: codes.NOTHING_TO_REVERSE,
    Cause.REVERSED: codes.ALREADY_REVERSED,
}
"""The result for each cause of a refusal."""

STATES = {
    State.WAITING_CARD: 0x0A,
    State.CARD_READ: 0x0D,
    State.PIN: 0x01,
    State.AUTHORISING: 0x04,
    State.PRINTING: 0x0D,
}
"""The intermediate state that is sent for each state."""

GARBAGE = b"\x00\x00\x00\x3eVER|APP 1.0"
"""What a port that does not speak ZVT sends; the beginning is that of docs/reference/zvt.md#vendors."""

BRANDS = {"MASTERCARD": 6, "VISA": 10}
"""Number of a card's brand."""
OTHER_BRAND = 0xFF


@dataclass(frozen=True)
class TerminalSettings:
    """How a simulated ZVT terminal is set up."""

    password: str = "000000"
    currency: int = 980
    reverses_at_once: bool = True
    """A booking that was not acknowledged is reversed at once; otherwise only when the next command's last receipt
    number is one less than ours. Terminals of both kinds exist (docs/reference/zvt.md#in-step)."""
    tells_original: bool = True
    """A reversal has the trace number of what it reversed; not every terminal sends that field."""
    abortable: bool = True
    """An abort also stops payments, until the bank is asked."""
    serial: bool = False
    t1: float = T1
    t2: float = T2
    t3: float = 5.0
    """Seconds to wait for an acknowledgement of the till."""
    asks_again: float = 2.0
    """Seconds after which a status information is repeated when the till answered ``84 9C``."""
    version: str = "SIM 1.0"


class ZvtTerminal:
    """One device, over all its lines. Call `protocol` for each line, or use it as a TCP factory by `factory`."""

    def __init__(self, terminal: Terminal, clock: IReactorTime, settings: TerminalSettings | None = None) -> None:
        self.terminal, self.clock = terminal, clock
        self.settings = settings or TerminalSettings()
        self.registered = False
        self.config = 0
        self.blocks = False
        """Whether the till takes whole slips."""
        self.line: ZvtLine | None = None

    def protocol(self) -> ZvtLine | None:
        """The terminal's end of a new line; `None` when the caller is turned away or another till is connected."""
        if self.line is not None or not self.terminal.takes_call():
            return None
        return ZvtLine(self)

    def factory(self) -> Factory:
        """For a listening port."""
        return _ZvtFactory(self)


class _ZvtFactory(Factory):
    """Makes the terminal's end of each line."""

    noisy = False

    def __init__(self, device: ZvtTerminal) -> None:
        self._device = device

    def buildProtocol(self, addr: IAddress | None) -> ZvtLine | None:
        """A line, or none when the caller is turned away."""
        return self._device.protocol()


class ZvtLine(Protocol):
    """The terminal's end of one line."""

    def __init__(self, device: ZvtTerminal) -> None:
        self._device = device
        self._settings = device.settings
        self._terminal = device.terminal
        self._link: Link | None = None
        self._queue: deque[tuple[m.Message, Callable[[m.Message | None], None] | None]] = deque()
        self._due: IDelayedCall | None = None
        self._operation: Operation | None = None
        self._unconfirmed: Outcome | None = None
        self._reading = False
        self._card: Card | None = None
        self._early: list[State] | None = None

    # The line.

    def connectionMade(self) -> None:
        """Take the line."""
        assert self.transport is not None
        self._device.line = self
        write = self.transport.write
        settings = self._settings
        if settings.serial:
            self._link = SerialLink(self._device.clock, write, self._received, self._drop, settings.t1, settings.t2)
        else:
            self._link = TcpLink(write, self._received)

    def dataReceived(self, data: bytes) -> None:
        """Read what the till sends; noise ends the line."""
        if self._link is None:
            return
        try:
            self._link.feed(data)
        except Garbled as garbled:
            self._drop(garbled)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Abort the running operation; what the till did not acknowledge stays unacknowledged."""
        if self._device.line is self:
            self._device.line = None
        self._stop()
        if self._operation is not None and self._terminal.running is self._operation:
            self._terminal.interrupt()
        self._take_back()

    def _drop(self, _: WireError | None = None) -> None:
        """Close the line from this end."""
        self._stop()
        if self.transport is not None:
            self.transport.loseConnection()

    def _stop(self) -> None:
        stop(self._due)
        self._queue.clear()
        if self._link is not None:
            self._link.stop()
            self._link = None

    def _write(self, message: m.Message) -> None:
        if self._link is not None:
            self._link.send(message.encode())

    def _received(self, apdu: Apdu) -> None:
        message = m.decode(apdu)
        if isinstance(message, m.Acknowledge | m.Negative):
            self._answered(message)
        else:
            self._commanded(message)

    # Messages of the terminal, one at a time.

    def _say(self, message: m.Message, then: Callable[[m.Message | None], None] | None = None) -> None:
        """Send ``message`` after those before it; ``then`` is called with the till's answer, `None` for silence."""
        if self._link is None:
            if then is not None:
                then(None)
            return
        self._queue.append((message, then))
        if len(self._queue) == 1:
            self._next()

    def _next(self) -> None:
        self._due = self._device.clock.callLater(self._settings.t3, self._unanswered)
        self._write(self._queue[0][0])

    def _answered(self, answer: m.Message) -> None:
        if not self._queue:
            return
        stop(self._due)
        message, then = self._queue[0]
        if answer == m.Negative(codes.WAIT) and isinstance(message, m.StatusInformation):
            # The till needs more time: the same again a little later.
            self._due = self._device.clock.callLater(self._settings.asks_again, self._next)
            return
        self._queue.popleft()
        # What `then` sends is transmitted at once when nothing else waits.
        more = bool(self._queue)
        if then is not None:
            then(answer)
        if more and self._link is not None:
            self._next()

    def _unanswered(self) -> None:
        """Close the line to a silent till and reverse a booking that it did not confirm."""
        self._drop()
        self._take_back()

    # Commands of the till.

    def _commanded(self, message: m.Message) -> None:
        if isinstance(message, m.Abort):
            self._abort()
        elif self._operation is not None or self._queue:
            self._write(m.Negative(codes.WAIT))
        elif isinstance(message, m.Registration):
            self._register(message)
        elif isinstance(message, m.StatusEnquiry):
            self._tell_status(message)
        elif isinstance(message, m.LogOff):
            self._device.registered = False
            self._write(m.Acknowledge())
        elif isinstance(message, _KNOWN):
            self._serve(message)
        else:
            self._write(m.Negative(codes.UNKNOWN_COMMAND))

    def _serve(self, message: m.Message) -> None:
        """A command that requires a registration and the right password."""
        if not self._device.registered:
            self._fail(codes.NOT_REGISTERED)
        elif getattr(message, "password", self._settings.password) != self._settings.password:
            self._fail(codes.NOT_ALLOWED)
        elif self._terminal.running is not None:
            # An operation of an earlier line still runs, so the last receipt is not final.
            self._write(m.Negative(codes.WAIT))
        elif isinstance(message, m.RepeatReceipt):
            self._repeat(message)
        elif isinstance(message, m.ReprintReceipts):
            self._reprint(message)
        elif isinstance(message, m.Diagnosis | m.Initialisation):
            self._write(m.Acknowledge())
            self._tell_state(0xC9 if isinstance(message, m.Diagnosis) else 0xCA)
            self._say(m.Completion())
        else:
            self._operate(message)

    def _fail(self, code: int) -> None:
        self._write(m.Acknowledge())
        self._say(m.AbortReport(code))

    def _register(self, message: m.Registration) -> None:
        if message.password != self._settings.password:
            self._fail(codes.NOT_ALLOWED)
            return
        if message.currency not in (m.UNKNOWN_CURRENCY, self._settings.currency):
            self._fail(codes.WRONG_CURRENCY)
            return
        device = self._device
        device.registered, device.config = True, message.config
        device.blocks = bytes.fromhex("06d3") in (find(message.fields.tlv, m.COMMANDS, 0x0A) or b"")
        self._write(m.Acknowledge())
        self._say(
            m.Completion(
                Fields.of(
                    (f.PAYMENT_TYPE, b"\0"), (f.TERMINAL_ID, self._terminal_id), (f.CURRENCY, self._currency)
                ).encode()
            )
        )

    def _tell_status(self, message: m.StatusEnquiry) -> None:
        fate = self._probed()
        if fate is None:
            return
        service = message.fields.byte(f.SERVICE)
        version = b"" if service & m.WITHOUT_VERSION else self._settings.version.encode("ascii")
        digits = bytes(0xF0 | int(digit) for digit in f"{len(version):03d}") if version else b""
        status = codes.OK if self._terminal.running is None else codes.WAIT
        if fate.line is Then.REFUSE:
            status = _result_of_code(fate.code)
        self._write(m.Acknowledge())
        self._say(m.Completion(digits + version + bytes([status])))

    def _probed(self) -> Fate | None:
        """The fate of a query; `None` when the scenario has dealt with it."""
        fate = self._terminal.probe()
        if fate.line in (Then.LOST_BEFORE, Then.LOST_AFTER):
            self._drop()
        elif fate.line is Then.GARBAGE:
            self._garbage()
        return fate if fate.line in (Then.ACCEPT, Then.REFUSE) else None

    def _repeat(self, message: m.RepeatReceipt) -> None:
        """The last receipt again: as a status information, as a slip, or as both."""
        fate = self._probed()
        if fate is None:
            return
        last = self._terminal.last_receipt()
        if fate.line is Then.REFUSE or last is None:
            self._fail(_result_of_code(fate.code) if fate.line is Then.REFUSE else codes.NOT_POSSIBLE)
            return
        self._write(m.Acknowledge())
        if message.service & m.SEND_AGAIN:
            self._say(self._status(last))
        if not message.service & m.DO_NOT_PRINT:
            self._print(last)
        self._say(m.Completion())

    def _reprint(self, message: m.ReprintReceipts) -> None:
        self._write(m.Acknowledge())
        for number in range(message.first, (message.last or message.first) + 1):
            found = self._terminal.find_invoice(number) if number else None
            if found is not None:
                self._print(found)
        self._say(m.Completion())

    def _abort(self) -> None:
        """Acknowledge an abort that is allowed; the operation's end shows whether it came in time."""
        if self._operation is None or not (self._reading or self._settings.abortable):
            self._write(m.Negative(codes.NOT_ALLOWED))
            return
        self._write(m.Acknowledge())
        self._terminal.interrupt()

    # Operations of the bank terminal.

    def _operate(self, message: m.Message) -> None:
        self._mind_last_receipt(message)
        try:
            operation = self._begin(message)
        except Busy:
            self._early = None
            self._write(m.Negative(codes.WAIT))
            return
        if operation is None:
            self._early = None
            self._fail(codes.NOT_POSSIBLE)
            return
        self._reading = isinstance(message, m.ReadCard)
        self._operation = operation
        if operation.fate not in UNHEARD:
            self._write(m.Acknowledge())
        # States that were passed while the operation began are sent after the acknowledgement.
        early, self._early = self._early or [], None
        if operation.fate not in UNHEARD:
            for state in early:
                self._tell_state(STATES[state])
        operation.ending.addCallback(self._ended)

    def _begin(self, message: m.Message) -> Operation | None:
        self._early = []
        terminal = self._terminal
        if isinstance(message, m.Authorisation) and message.amount:
            kind = message.fields.byte(f.PAYMENT_TYPE)
            card = self._card if kind & m.CARD_JUST_READ else None
            self._card = None
            return terminal.purchase(message.amount, card=card, progress=self._progress)
        if isinstance(message, m.Refund) and message.amount:
            return terminal.refund(message.amount, progress=self._progress)
        if isinstance(message, m.Reversal) and message.receipt:
            return terminal.cancel(message.receipt, amount=message.amount, progress=self._progress)
        if isinstance(message, m.EndOfDay):
            return terminal.settle(progress=self._progress)
        if isinstance(message, m.SendTotals):
            return terminal.report(progress=self._progress)
        if isinstance(message, m.ReadCard):
            return terminal.read_card(progress=self._progress)
        return None

    def _progress(self, state: State) -> None:
        if self._early is not None:
            self._early.append(state)
        else:
            self._tell_state(STATES[state])

    def _tell_state(self, code: int) -> None:
        if self._device.config & m.WANTS_STATES and self._link is not None:
            self._say(m.IntermediateStatus(code))

    def _ended(self, ending: Ending) -> None:
        """Send the end of an operation."""
        if ending.line in (Then.LOST_BEFORE, Then.LOST_AFTER):
            self._operation = None
            self._drop()
        elif ending.line is Then.GARBAGE:
            self._operation = None
            self._garbage()
        elif ending.outcome is None:
            self._operation = None
        else:
            self._finish(ending.outcome)

    def _garbage(self) -> None:
        if self.transport is not None:
            self.transport.write(GARBAGE)

    def _finish(self, outcome: Outcome) -> None:
        result = _result(outcome)
        if self._link is None:
            self._operation = None
            if outcome.approved and outcome.kind in MONEY:
                self._unconfirmed = outcome
                self._take_back()
        elif outcome.kind == TOTALS:
            self._say(self._status(outcome))
            self._print(outcome)
            self._say(m.Completion(), self._done)
        elif self._reading:
            # No completion follows a card; a failure ends in an abort.
            if outcome.approved:
                self._card = outcome.card
                self._say(self._status(outcome), self._done)
            else:
                self._say(m.AbortReport(result), self._done)
        else:
            if outcome.approved and outcome.kind in MONEY:
                self._unconfirmed = outcome
            self._say(self._status(outcome), lambda answer: self._confirmed(outcome, answer))

    def _confirmed(self, outcome: Outcome, answer: m.Message | None) -> None:
        """Keep or reverse the booking, by the till's answer to the status information."""
        if answer is None:
            return
        if isinstance(answer, m.Negative) and not answer.positive and answer.code != codes.SMALLER_GOODS:
            self._take_back(ordered=True)
            self._say(m.AbortReport(codes.ABORTED), self._done)
            return
        if outcome.approved:
            self._print(outcome, self._kept)
            self._say(m.Completion(), self._done)
        else:
            if outcome.invoice:
                self._print(outcome)
            self._say(m.AbortReport(_result(outcome)), self._done)

    def _kept(self) -> None:
        self._unconfirmed = None

    def _done(self, _: m.Message | None) -> None:
        self._operation = None
        self._reading = False

    def _take_back(self, *, ordered: bool = False) -> None:
        """Reverse the booking that the till did not confirm, if the terminal is set up so."""
        outcome, self._unconfirmed = self._unconfirmed, None
        if outcome is not None and (ordered or self._settings.reverses_at_once):
            self._terminal.reverse(outcome.rrn)

    def _mind_last_receipt(self, message: m.Message) -> None:
        """Reverse our last booking when the till is one receipt behind: it did not store it."""
        fields = getattr(message, "fields", None)
        known = find(fields.tlv, m.RECEIPT_IN_STEP) if fields is not None else None
        last = self._terminal.last_receipt()
        if known and last is not None and last.approved and from_bcd(known) == last.invoice - 1:
            self._terminal.reverse(last.rrn)

    # Messages.

    def _print(self, outcome: Outcome, then: Callable[[], None] | None = None) -> None:
        """Send the slip when the till prints; ``then`` is called once the till has all of it."""
        config = self._device.config
        payment = outcome.kind in MONEY or outcome.kind == CANCEL
        prints = config & (m.PRINTS_PAYMENTS if payment else m.PRINTS_REPORTS) and config & m.WANTS_LINES
        messages = list(self._slip(outcome)) if prints else []
        for message in messages[:-1]:
            self._say(message)
        if messages:
            self._say(messages[-1], lambda _: then() if then is not None else None)
        elif then is not None:
            then()

    def _slip(self, outcome: Outcome) -> Iterator[m.Message]:
        # CP437 has no Ukrainian letters; a terminal in Ukraine uses another character set (TLV 14).
        if not self._device.blocks:
            yield from print_lines(outcome.slip, CHARSET)
            return
        kind = 2 if outcome.kind in MONEY or outcome.kind == CANCEL else 3
        yield m.PrintBlock.of(kind, *(line.encode(CHARSET, "replace") for line in outcome.slip.split("\n")))

    @property
    def _terminal_id(self) -> bytes:
        digits = "".join(sign for sign in self._terminal.terminal_id if sign.isdigit())
        return bcd(int(digits[-8:] or "0"), 4)

    @property
    def _currency(self) -> bytes:
        return bcd(self._settings.currency, 2)

    def _status(self, outcome: Outcome) -> m.StatusInformation:
        """The status information of an operation."""
        card = outcome.card
        paid = outcome.kind in MONEY or outcome.kind == CANCEL
        receipt = bcd(outcome.invoice % 10_000, 2) if outcome.invoice else None
        totals = None
        if outcome.totals is not None:
            totals = _totals(outcome).encode()
        trace = bcd(outcome.stan, 3) if outcome.stan else None
        original = self._terminal.find_rrn(outcome.reverses) if self._settings.tells_original else None
        return m.StatusInformation(
            Fields.of(
                (f.RESULT, bytes([_result(outcome)])),
                (f.AMOUNT, _amount(outcome) if outcome.approved and outcome.kind != CARD else None),
                (f.TRACE, trace),
                (f.TIME, bytes.fromhex(f"{outcome.at:%H%M%S}")),
                (f.DATE, bytes.fromhex(f"{outcome.at:%m%d}")),
                (f.EXPIRY, bytes.fromhex(card.expiry) if card else None),
                (f.PAN, pan_nibbles(card.pan) if card else None),
                (f.TERMINAL_ID, self._terminal_id),
                (f.ORIGINAL_TRACE, bcd(original.stan, 3) if original is not None else None),
                (f.AUTHORISATION, outcome.auth_code.encode("ascii").ljust(8, b"\0") if outcome.auth_code else None),
                (f.CURRENCY, self._currency if paid else None),
                (f.RECEIPT, receipt),
                (f.CARD_TYPE, bytes([BRANDS.get(card.brand, OTHER_BRAND)]) if card else None),
                (f.CARD_NAME, card.brand.encode("ascii") + b"\0" if card else None),
                (f.TOTALS, totals),
            )
        )


def _amount(outcome: Outcome) -> bytes:
    """The sum; its field has no negative numbers, so a rule's number below zero has nibbles that are no digits."""
    reported = outcome.reported if outcome.told else abs(outcome.amount)
    return bcd(reported, 6) if reported >= 0 else b"\xff" * 6


CHARSET = "cp1125"
"""Character set of the simulated slips."""

_KNOWN = (
    m.Authorisation,
    m.Refund,
    m.Reversal,
    m.EndOfDay,
    m.SendTotals,
    m.RepeatReceipt,
    m.ReprintReceipts,
    m.ReadCard,
    m.Diagnosis,
    m.Initialisation,
)


def _result(outcome: Outcome) -> int:
    """The ZVT result of an operation."""
    if outcome.approved:
        return codes.OK
    if outcome.cause is not None and outcome.cause is not Cause.BANK:
        return RESULTS[outcome.cause]
    return _result_of_code(outcome.code)


def _result_of_code(code: str) -> int:
    """The result that a rule of the scenario asks for."""
    if code in set(Cause) - {Cause.BANK}:
        return RESULTS[Cause(code)]
    try:
        number = int(code, 16 if code.lower().startswith("0x") else 10)
    except ValueError:
        return codes.SYSTEM
    hexadecimal = code.lower().startswith("0x")
    return number if 0 < number <= (0xFF if hexadecimal else 99) else codes.SYSTEM


def _totals(outcome: Outcome) -> m.BatchTotals:
    """The totals of a batch, all of them among the other cards: the journal does not sort by brand."""
    assert outcome.totals is not None
    totals = outcome.totals
    empty = [(0, 0)] * (len(m.GROUPS) - 1)
    groups = (*empty, (min(totals.count, 0xFF), abs(totals.net)))
    return m.BatchTotals(totals.first % 10_000, totals.last % 10_000, groups)
