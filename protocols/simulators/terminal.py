"""The bank terminal behind every simulated wire: the state and decisions of terminal and bank, without any bytes.

A wire simulator starts an operation and is called with its states and its end; the end says what happens to the
line::

    operation = terminal.purchase(12550, progress=show)         Busy when one is running
    operation.fate                                              known at once: what will happen to the line
    operation.ending -> Ending(line, outcome)                   a Deferred that never fails

=============  =========================  ==========================================
``line``       ``outcome``                what the wire does
=============  =========================  ==========================================
`accept`       approved or refused        answers
`lost_before`  `None`: nothing happened   closes the line without any answer
`silent`       `None`: nothing happened   sends nothing, not even an acknowledgement
`lost_after`   it happened                closes the line instead of the last answer
`garbage`      it happened                sends unreadable bytes
=============  =========================  ==========================================

**Scenario**: `payment`, `refund`, `cancel`, `settlement` and `any` for what moves money, `probe` for the rest
(totals, reading a card, queries). `unreachable` turns the next caller away (`takes_call`); on an open line it is
`lost_before`. The `code` of a rule:

- with `refuse`: the name of a `Cause` (``journal_full``, ``cancelled``, ``no_link``, …); ``busy`` for a terminal that
  works for another till; anything else is a code of the bank or of the wire, passed on as it is (`05` when absent);
- with `accept`, `lost_after`, `garbage`: ``partial:5000`` approves 50.00 at most, ``no_cash`` leaves out the cash of
  a cashback, ``sum:99900`` takes and reports 999.00 whatever was asked for, ``sum:-100``, ``sum:0`` and ``sum:nan``
  only report that.

**Memory**: the ledger, and beside it ``<ledger>.journal`` with what the ledger lacks, written first. A line without
an entry in the ledger never happened. Without a journal the ledger alone gives numbers and sums.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO
from zoneinfo import ZoneInfo

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger
from protocols.simulators.scenario import Scenario, Then
from protocols.terminals.amounts import signed
from protocols.terminals.lines import stop

PAYMENT, REFUND, CANCEL, SETTLEMENT = "payment", "refund", "cancel", "settlement"
"""Kinds in the ledger."""
TOTALS, CARD = "totals", "card"
"""Kinds that move no money: the report without closing, and a card that was only read."""

MONEY = frozenset({PAYMENT, REFUND})
"""Kinds that a cancel can reverse."""

KYIV = ZoneInfo("Europe/Kyiv")

BUSY, PARTIAL, NO_CASH, SUM = "busy", "partial:", "no_cash", "sum:"
"""Codes of a rule, see above."""

DO_NOT_HONOUR, RECORD_NOT_FOUND, PARTLY_APPROVED, APPROVED = "05", "25", "10", "00"
"""Two-digit codes of the bank (docs/reference/terminals.md#bank-codes)."""

JOURNAL_SIZE = 10_000
"""Operations that the terminal remembers; older ones are only in the ledger."""

_NUMBERS = 999_999
"""Invoice numbers and STAN start again after this."""


class State(StrEnum):
    """What the terminal is doing."""

    IDLE = "idle"
    WAITING_CARD = "waiting_card"
    CARD_READ = "card_read"
    HELD = "held"
    """The card is read and the cashier may correct the sum (`Terminal.correct`)."""
    PIN = "pin"
    AUTHORISING = "authorising"
    PRINTING = "printing"


class Cause(StrEnum):
    """Why an operation was refused; each wire has its own code for it."""

    BANK = "bank"
    """The bank refused; `Outcome.code` is its code."""
    CANCELLED = "cancelled"
    """A key on the terminal, or an interrupt of ours."""
    TIMEOUT = "timeout"
    """No card was shown."""
    CARD = "card"
    """The card cannot be read."""
    CHIP = "chip"
    """The chip declined."""
    PIN = "wrong_pin"
    NO_LINK = "no_link"
    """The bank is not reached."""
    NO_PAPER = "no_paper"
    KEYS = "keys"
    """The terminal's keys are wrong or missing."""
    READER = "reader"
    """The reader or PIN pad is not connected."""
    JOURNAL_FULL = "journal_full"
    SETTLE_FIRST = "settle_first"
    """A settlement is due."""
    MERCHANT = "merchant"
    """There is no such merchant."""
    AMOUNT = "amount"
    """0, or more than is left to give back."""
    NOT_FOUND = "not_found"
    """No such operation in the open batch, or no such RRN."""
    REVERSED = "reversed"
    """Cancelled already."""


INTERRUPTIBLE = frozenset({State.WAITING_CARD, State.CARD_READ, State.HELD, State.PIN})
"""States in which an interrupt is in time: before the bank is asked."""

_AT_ONCE = frozenset({Cause.JOURNAL_FULL, Cause.SETTLE_FIRST, Cause.MERCHANT, Cause.AMOUNT, Cause.NO_PAPER})
"""Refusals before the customer is asked for a card."""
_AT_THE_CARD = frozenset({Cause.CANCELLED, Cause.TIMEOUT, Cause.CARD, Cause.READER})
"""Refusals while the terminal waits for the card."""


class Busy(Exception):
    """Another operation runs, of this till or of another one."""


@dataclass(frozen=True)
class Card:
    """A card: masked number, brand, `YYMM`, and how it was read."""

    pan: str
    brand: str
    expiry: str
    entry: str = "CONTACTLESS"


CARDS = (
    Card("516875******7414", "MASTERCARD", "2809"),
    Card("414949******0318", "VISA", "2911", "CHIP"),
    Card("980412******5526", "PROSTIR", "2703"),
)
"""Cards of the simulated customers, used in turn."""


@dataclass(frozen=True)
class Totals:
    """Counts and sums in kopecks of a batch; `cancels` are the reversals of either kind."""

    batch: int
    payments: int = 0
    payments_sum: int = 0
    refunds: int = 0
    refunds_sum: int = 0
    cancels: int = 0
    cancels_sum: int = 0
    net: int = 0
    """The shop's income: payments less refunds, with reversals taken into account."""
    first: int = 0
    """First and last invoice number of the batch, 0 when it is empty."""
    last: int = 0

    @property
    def count(self) -> int:
        """How many operations the batch holds."""
        return self.payments + self.refunds + self.cancels


@dataclass(frozen=True)
class Outcome:
    """How an operation ended; all sums in kopecks."""

    kind: str
    approved: bool
    asked: int
    amount: int
    """The approved sum, cash included; 0 when refused."""
    at: datetime
    terminal_id: str
    merchant: int
    cause: Cause | None = None
    code: str = APPROVED
    """The bank's code, two digits, or that of a rule; empty for a refusal by the terminal itself."""
    cash: int = 0
    rrn: str = ""
    auth_code: str = ""
    invoice: int = 0
    """Receipt number within the batch, which a cancel names; 0 for none."""
    stan: int = 0
    """Number of the operation over the terminal's life."""
    batch: int = 1
    card: Card | None = None
    reference: str = ""
    """The till's own id of the operation, if any."""
    reverses: str = ""
    """RRN of the operation that this one reverses."""
    totals: Totals | None = None
    slip: str = ""
    told: str = ""
    """What a rule has the terminal report as the sum."""

    @property
    def reported(self) -> int:
        """The sum that the terminal reports."""
        told = signed(self.told)
        return self.amount if told is None else told

    @property
    def partial(self) -> bool:
        """Whether less was approved than requested."""
        return self.approved and self.amount < self.asked


@dataclass(frozen=True)
class Ending:
    """The end of an operation: what happens to the line, and the outcome; `None` when nothing happened."""

    line: Then
    outcome: Outcome | None


@dataclass(frozen=True)
class Fate:
    """What happens to the line when a query comes; `code` goes with `refuse`, `delay` is in seconds."""

    line: Then
    code: str = ""
    delay: float = 0.0


DisplayListener = Callable[[State], None]


def _unwatched(_: State) -> None:
    """Ignore the display."""


@dataclass(eq=False)
class Operation:
    """A running operation; made by `Terminal` only."""

    kind: str
    asked: int
    fate: Then
    reference: str = ""
    merchant: int = 0
    cash: int = 0
    code: str = ""
    card: Card | None = None
    named: str = ""
    """The `ref` in the ledger when the operation is refused: the receipt that a cancel named."""
    ending: Deferred[Ending] = field(default_factory=Deferred)
    _states: list[State] = field(default_factory=list)
    _share: float = 0.0
    _delay: float = 0.0
    _progress: DisplayListener = _unwatched
    _decide: Callable[[Operation], Outcome] | None = None
    _outcome: Outcome | None = None
    _timer: IDelayedCall | None = None


class Terminal:
    """A bank terminal with its bank, its journal and its ledger.

    :param clock: for the time of day and the durations.
    :param ledger: file of the entries; `None` keeps everything in memory.
    :param duration: seconds that an operation takes from request to end, the customer included; 0 for at once.
    :param hold: seconds for which a held purchase waits for the cashier before it goes on with the first sum.
    :param merchants: names by number; 0 in a request means the first of them.
    """

    def __init__(
        self,
        clock: IReactorTime,
        ledger: Path | None = None,
        *,
        duration: float = 1.5,
        hold: float = 60.0,
        terminal_id: str = "DM000001",
        merchants: Mapping[int, str] | None = None,
        cards: Sequence[Card] = CARDS,
    ) -> None:
        self._clock = clock
        self.duration, self.hold = duration, hold
        self.terminal_id = terminal_id
        self.merchants = dict(merchants or {1: "МАГАЗИН"})
        self.scenario = Scenario()
        self.running: Operation | None = None
        self.state = State.IDLE
        self.batch = 1
        self._cards = cards
        self._invoice = self._stan = 0
        self._journal: dict[int, Outcome] = {}
        self._ledger = Ledger(ledger)
        self._file: IO[bytes] | None = None
        self._remember(ledger)

    # Operations.

    def purchase(
        self,
        amount: int,
        *,
        cash: int = 0,
        merchant: int = 0,
        reference: str = "",
        hold: bool = False,
        card: Card | None = None,
        progress: DisplayListener = _unwatched,
    ) -> Operation:
        """Take ``amount`` for goods, and ``cash`` to give out.

        :param hold: wait after the card for `correct`.
        :param card: the card that was read before.
        :raises Busy: when another operation runs.
        """
        states = [State.PIN, State.AUTHORISING, State.PRINTING]
        if card is None:
            states = [State.WAITING_CARD, State.CARD_READ, *([State.HELD] if hold else []), *states]
        operation = self._operation(PAYMENT, amount + cash, reference, merchant, cash, card)
        return self._start(operation, states, self._pay, progress)

    def refund(
        self,
        amount: int,
        *,
        rrn: str = "",
        merchant: int = 0,
        reference: str = "",
        progress: DisplayListener = _unwatched,
    ) -> Operation:
        """Give ``amount`` back, of the payment ``rrn`` or, without one, on the card that is shown.

        :raises Busy: when another operation runs.
        """
        states = [State.WAITING_CARD, State.CARD_READ, State.AUTHORISING, State.PRINTING]
        operation = self._operation(REFUND, amount, reference, merchant)
        return self._start(operation, states, lambda begun: self._give_back(begun, rrn), progress)

    def cancel(
        self,
        invoice: int = 0,
        *,
        stan: int = 0,
        amount: int | None = None,
        reference: str = "",
        progress: DisplayListener = _unwatched,
    ) -> Operation:
        """Reverse an operation of the open batch, named by ``invoice`` or ``stan``; the last one without either.

        :param amount: a part of it; `None` for all that is left.
        :raises Busy: when another operation runs.
        """
        operation = self._operation(CANCEL, amount or 0, reference)
        operation.named = str(invoice or stan or "")
        found = self._to_cancel(invoice, stan)
        states = [State.AUTHORISING, State.PRINTING]
        return self._start(operation, states, lambda begun: self._take_back(begun, found, amount), progress)

    def report(self, *, merchant: int = 0, reference: str = "", progress: DisplayListener = _unwatched) -> Operation:
        """Print the totals of the open batch (X); nothing changes.

        :raises Busy: when another operation runs.
        """
        operation = self._operation(TOTALS, 0, reference, merchant)
        return self._start(operation, [State.PRINTING], self._report, progress)

    def settle(self, *, merchant: int = 0, reference: str = "", progress: DisplayListener = _unwatched) -> Operation:
        """Close the batch with the bank (Z): invoice numbers start again, and its operations cannot be cancelled.

        An empty batch is closed too; a device that refuses it checks `totals` before.

        :raises Busy: when another operation runs.
        """
        operation = self._operation(SETTLEMENT, 0, reference, merchant)
        operation.named = str(self.batch)
        return self._start(operation, [State.AUTHORISING, State.PRINTING], self._close_batch, progress)

    def read_card(self, *, reference: str = "", progress: DisplayListener = _unwatched) -> Operation:
        """Read a card and ask the bank nothing; `Outcome.card` has it.

        :raises Busy: when another operation runs.
        """
        operation = self._operation(CARD, 0, reference)
        return self._start(operation, [State.WAITING_CARD, State.CARD_READ], self._read, progress)

    def correct(self, amount: int | None = None) -> bool:
        """Let a held purchase go on, with another sum if one is given; false when none is held."""
        operation = self.running
        if operation is None or self.state is not State.HELD:
            return False
        if amount is not None:
            operation.asked = amount + operation.cash
        self._stop_timer(operation)
        self._enter(operation)
        return True

    def interrupt(self) -> bool:
        """Cancel the running operation; false when the bank is asked already, or nothing runs."""
        operation = self.running
        if operation is None or operation._outcome is not None or self.state not in INTERRUPTIBLE:
            return False
        self._stop_timer(operation)
        operation._states.clear()
        operation._outcome = self._refuse(operation, Cause.CANCELLED)
        self._enter(operation)
        return True

    def reverse(self, rrn: str) -> Outcome | None:
        """Reverse what is left of an approved operation, because the till did not acknowledge it.

        The reversal is in the ledger when this returns; `None` when nothing is left to reverse.
        """
        found = self.find_rrn(rrn)
        if found is None or found.kind not in MONEY or not self.left_of(found):
            return None
        operation = self._operation(CANCEL, 0)
        operation.fate = Then.ACCEPT
        return self._take_back(operation, found, None)

    # Queries.

    def takes_call(self) -> bool:
        """Whether a caller gets a connection; the refusal uses up an `unreachable` rule that is next."""
        rules = self.scenario.document()["rules"]
        if not rules or rules[0]["then"] != Then.UNREACHABLE:
            return True
        self.scenario.take(rules[0]["on"])
        return False

    def probe(self) -> Fate:
        """The fate of a query that the wire answers by itself: ping, last operation, look-up."""
        rule = self.scenario.take("probe")
        if rule is None:
            return Fate(Then.ACCEPT)
        line = Then.LOST_BEFORE if rule.then is Then.UNREACHABLE else rule.then
        return Fate(line, str(rule.code), rule.delay_ms / 1000)

    def query(self, answer: Callable[[Fate], None]) -> None:
        """Call ``answer`` with the fate of a query, after the delay that the scenario wants."""
        fate = self.probe()
        if fate.delay:
            self._clock.callLater(fate.delay, answer, fate)
        else:
            answer(fate)

    def last(self) -> Outcome | None:
        """The last operation with money, refused ones and settlements included."""
        return next(reversed(self._journal.values()), None)

    def last_receipt(self) -> Outcome | None:
        """The last operation that got a receipt number, approved or refused by the bank, in any batch."""
        return self._newest(lambda outcome: outcome.invoice)

    def find(self, reference: str) -> Outcome | None:
        """The latest operation with this id of the till."""
        return self._newest(lambda outcome: outcome.reference == reference)

    def find_invoice(self, invoice: int) -> Outcome | None:
        """The operation of the open batch with this receipt number, refused by the bank or not; 0 is the last one."""
        return self._newest(
            lambda outcome: outcome.batch == self.batch and outcome.invoice and invoice in (0, outcome.invoice)
        )

    def find_rrn(self, rrn: str) -> Outcome | None:
        """The approved operation with this RRN, in any batch."""
        return self._newest(lambda outcome: rrn and outcome.rrn == rrn)

    def left_of(self, outcome: Outcome) -> int:
        """Kopecks of an approved payment or refund that were neither cancelled nor refunded yet."""
        taken = sum(each.amount for each in self._journal.values() if each.approved and each.reverses == outcome.rrn)
        return outcome.amount - taken

    def totals(self) -> Totals:
        """The totals of the open batch now."""
        in_batch = [each for each in self._journal.values() if each.batch == self.batch and each.approved]
        payments = [each.amount for each in in_batch if each.kind == PAYMENT]
        refunds = [each.amount for each in in_batch if each.kind == REFUND]
        cancels = [each for each in in_batch if each.kind == CANCEL]
        net = sum(payments) - sum(refunds)
        for each in cancels:
            reversed_one = self.find_rrn(each.reverses)
            net += each.amount if reversed_one is not None and reversed_one.kind == REFUND else -each.amount
        invoices = [each.invoice for each in in_batch if each.invoice]
        return Totals(
            self.batch,
            len(payments),
            sum(payments),
            len(refunds),
            sum(refunds),
            len(cancels),
            sum(each.amount for each in cancels),
            net,
            min(invoices, default=0),
            max(invoices, default=0),
        )

    def entries(self) -> list[Entry]:
        """The ledger, oldest first."""
        return list(self._ledger.entries())

    def now(self) -> datetime:
        """The terminal's time, Kyiv's."""
        return datetime.fromtimestamp(self._clock.seconds(), KYIV)

    def close(self) -> None:
        """Close the files and stop the timers; a running operation never ends."""
        if self.running is not None:
            self._stop_timer(self.running)
            self.running = None
        self._ledger.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    # How an operation runs.

    def _operation(
        self,
        kind: str,
        asked: int,
        reference: str = "",
        merchant: int = 0,
        cash: int = 0,
        card: Card | None = None,
    ) -> Operation:
        first = next(iter(self.merchants))
        return Operation(kind, asked, Then.ACCEPT, reference, merchant or first, cash, card=card)

    def _start(
        self,
        operation: Operation,
        states: list[State],
        decide: Callable[[Operation], Outcome],
        progress: DisplayListener,
    ) -> Operation:
        if self.running is not None:
            raise Busy(f"{self.running.kind} is running")
        rule = self.scenario.take("probe" if operation.kind in (TOTALS, CARD) else operation.kind)
        then = Then.ACCEPT
        if rule is not None:
            then, operation.code, operation._delay = rule.then, str(rule.code), rule.delay_ms / 1000
        if then is Then.REFUSE and operation.code == BUSY:
            raise Busy("the terminal works for another till")
        if then in (Then.LOST_BEFORE, Then.UNREACHABLE, Then.SILENT):
            operation.fate = Then.SILENT if then is Then.SILENT else Then.LOST_BEFORE
            self._later(operation, operation._delay, lambda: operation.ending.callback(Ending(operation.fate, None)))
            return operation
        operation.fate = Then.ACCEPT if then is Then.REFUSE else then
        operation._states, operation._decide, operation._progress = states, decide, progress
        cause = self._cause(operation, then)
        if cause is not None:
            operation._states = _up_to(states, cause)
            operation._decide = lambda begun: self._refuse(begun, cause, begun.code if cause is Cause.BANK else "")
        operation._share = self.duration / len(states)
        self.running = operation
        self._enter(operation)
        return operation

    def _cause(self, operation: Operation, then: Then) -> Cause | None:
        """Why the operation will be refused, as far as that is known before it begins."""
        if then is Then.REFUSE:
            operation.code = operation.code or DO_NOT_HONOUR
            return Cause(operation.code) if operation.code in set(Cause) else Cause.BANK
        if operation.merchant not in self.merchants:
            return Cause.MERCHANT
        if operation.kind in MONEY and operation.asked <= 0:
            return Cause.AMOUNT
        return None

    def _enter(self, operation: Operation) -> None:
        """Go to the operation's next state, or to its end."""
        if not operation._states:
            wait = operation._delay if operation._outcome is None else 0
            self._later(operation, wait, lambda: self._finish(operation))
            return
        self.state = state = operation._states.pop(0)
        if state is State.CARD_READ and operation.card is None:
            operation.card = self._cards[self._stan % len(self._cards)]
        operation._progress(state)
        if self.running is not operation or self.state is not state:
            return  # the listener interrupted or corrected the operation
        if state is State.HELD:
            self._later(operation, self.hold, lambda: self._enter(operation))
            return
        slow = state is State.AUTHORISING or (State.AUTHORISING not in operation._states and not operation._outcome)
        wait = operation._share + (operation._delay if slow else 0)
        if slow:
            operation._delay = 0
        self._later(operation, wait, lambda: self._leave(operation, state))

    def _leave(self, operation: Operation, state: State) -> None:
        if state is State.AUTHORISING:
            self._settle_outcome(operation)
        self._enter(operation)

    def _settle_outcome(self, operation: Operation) -> Outcome:
        if operation._outcome is None:
            assert operation._decide is not None
            operation._outcome = operation._decide(operation)
            if not operation._outcome.approved:
                operation._states.clear()
        return operation._outcome

    def _finish(self, operation: Operation) -> None:
        outcome = self._settle_outcome(operation)
        self.running, self.state = None, State.IDLE
        operation.ending.callback(Ending(operation.fate, outcome))

    def _later(self, operation: Operation, seconds: float, then: Callable[[], object]) -> None:
        if seconds <= 0:
            then()
            return
        operation._timer = self._clock.callLater(seconds, then)

    def _stop_timer(self, operation: Operation) -> None:
        stop(operation._timer)
        operation._timer = None

    # Decisions of bank and journal.

    def _pay(self, operation: Operation) -> Outcome:
        amount, cash, code = operation.asked, operation.cash, APPROVED
        if operation.code == NO_CASH:
            amount, cash, code = amount - cash, 0, PARTLY_APPROVED
        elif operation.code.startswith(PARTIAL) and operation.code.removeprefix(PARTIAL).isdecimal():
            amount, code = min(amount, int(operation.code.removeprefix(PARTIAL))), PARTLY_APPROVED
        return self._approve(operation, amount, code=code, cash=cash)

    def _give_back(self, operation: Operation, rrn: str) -> Outcome:
        if not rrn:
            return self._approve(operation, operation.asked)
        paid = self.find_rrn(rrn)
        if paid is None or paid.kind != PAYMENT:
            return self._refuse(operation, Cause.NOT_FOUND, RECORD_NOT_FOUND)
        if not self.left_of(paid):
            return self._refuse(operation, Cause.REVERSED)
        if operation.asked > self.left_of(paid):
            return self._refuse(operation, Cause.AMOUNT)
        operation.card, operation.merchant = paid.card, paid.merchant
        return self._approve(operation, operation.asked, reverses=rrn)

    def _to_cancel(self, invoice: int, stan: int) -> Outcome | None:
        """The approved operation of the open batch that is named."""
        return self._newest(
            lambda outcome: (
                outcome.batch == self.batch
                and outcome.kind in MONEY
                and outcome.approved
                and invoice in (0, outcome.invoice)
                and stan in (0, outcome.stan)
            )
        )

    def _take_back(self, operation: Operation, found: Outcome | None, amount: int | None) -> Outcome:
        if found is None:
            return self._refuse(operation, Cause.NOT_FOUND)
        left = self.left_of(found)
        if not left:
            return self._refuse(operation, Cause.REVERSED)
        if amount is not None and not 0 < amount <= left:
            return self._refuse(operation, Cause.AMOUNT)
        operation.asked = left if amount is None else amount
        operation.card, operation.merchant = found.card, found.merchant
        return self._approve(operation, operation.asked, reverses=found.rrn)

    def _report(self, operation: Operation) -> Outcome:
        return self._outcome(operation, approved=True, totals=self.totals())

    def _read(self, operation: Operation) -> Outcome:
        return self._outcome(operation, approved=True)

    def _close_batch(self, operation: Operation) -> Outcome:
        totals = self.totals()
        operation.asked = totals.net
        return self._approve(operation, totals.net, totals=totals)

    def _outcome(
        self,
        operation: Operation,
        *,
        approved: bool,
        amount: int = 0,
        code: str = APPROVED,
        cause: Cause | None = None,
        cash: int = 0,
        reverses: str = "",
        totals: Totals | None = None,
    ) -> Outcome:
        outcome = Outcome(
            operation.kind,
            approved,
            operation.asked,
            amount,
            self.now(),
            self.terminal_id,
            operation.merchant,
            cause,
            code,
            cash,
            batch=self.batch,
            card=operation.card,
            reference=operation.reference,
            reverses=reverses,
            totals=totals,
        )
        return replace(outcome, slip=self._slip(outcome)) if operation.kind in (TOTALS, CARD) else outcome

    def _approve(
        self,
        operation: Operation,
        amount: int,
        *,
        code: str = APPROVED,
        cash: int = 0,
        reverses: str = "",
        totals: Totals | None = None,
    ) -> Outcome:
        told = operation.code.removeprefix(SUM) if operation.code.startswith(SUM) else ""
        amount = max(signed(told) or 0, 0) or amount
        outcome = self._outcome(
            operation, approved=True, amount=amount, code=code, cash=cash, reverses=reverses, totals=totals
        )
        stan = self._stan % _NUMBERS + 1
        outcome = replace(
            outcome,
            told=told,
            stan=stan,
            rrn=f"{outcome.at:%Y%j%H}"[3:] + f"{stan:06d}",
            auth_code=f"{stan * 7919 % 1_000_000:06d}",
            invoice=0 if operation.kind == SETTLEMENT else self._invoice % _NUMBERS + 1,
        )
        ref = str(outcome.invoice)
        if operation.kind == CANCEL:
            ref = reverses
        elif operation.kind == SETTLEMENT:
            ref = str(self.batch)
        return self._write(outcome, ref)

    def _refuse(self, operation: Operation, cause: Cause, code: str = "") -> Outcome:
        outcome = self._outcome(operation, approved=False, code=code, cause=cause)
        if operation.kind in (TOTALS, CARD):
            return outcome
        outcome = replace(outcome, stan=self._stan % _NUMBERS + 1)
        if cause is Cause.BANK and operation.kind in MONEY:
            outcome = replace(outcome, invoice=self._invoice % _NUMBERS + 1)
        return self._write(outcome, operation.named or (str(outcome.invoice) if outcome.invoice else ""))

    def _write(self, outcome: Outcome, ref: str) -> Outcome:
        """Write the operation to the journal and then to the ledger: it has happened when this returns."""
        outcome = replace(outcome, slip=self._slip(outcome))
        n = len(self._ledger) + 1
        if self._file is not None:
            self._file.write(_encode(_JournalLine(n, outcome)) + b"\n")
        status = ACCEPTED if outcome.approved else REFUSED
        amount = outcome.amount if outcome.approved else outcome.asked
        self._ledger.add(outcome.kind, status, outcome.rrn, amount, ref, f"{outcome.at:%Y%m%d%H%M%S}")
        self._took(n, outcome)
        return outcome

    # Memory.

    def _took(self, n: int, outcome: Outcome) -> None:
        self._journal[n] = outcome
        if len(self._journal) > JOURNAL_SIZE:
            del self._journal[next(iter(self._journal))]
        self._stan = outcome.stan
        if outcome.invoice:
            self._invoice = outcome.invoice
        if outcome.kind == SETTLEMENT and outcome.approved:
            self.batch, self._invoice = outcome.batch + 1, 0

    def _remember(self, ledger: Path | None) -> None:
        lines: deque[bytes] = deque(maxlen=JOURNAL_SIZE)
        if ledger is not None:
            path = ledger.with_name(f"{ledger.name}.journal")
            self._file = file = path.open("a+b", buffering=0)
            end = 0
            with path.open("rb") as written:
                for line in written:
                    if not line.endswith(b"\n"):
                        file.truncate(end)
                        break
                    end += len(line)
                    lines.append(line)
        # A later line for the same entry replaces one whose entry was not written to the ledger.
        known = {read.n: read.outcome for read in map(_decode, lines)}
        forgotten = len(self._ledger) - JOURNAL_SIZE
        for entry in self._ledger.entries():
            if entry.n <= forgotten:
                self._count(entry)
                continue
            outcome = known.get(entry.n)
            if outcome is None or outcome.rrn != entry.number or outcome.kind != entry.kind:
                outcome = self._from_entry(entry)
            self._took(entry.n, outcome)

    def _count(self, entry: Entry) -> None:
        """Count an operation that is too old to be remembered."""
        self._stan = self._stan % _NUMBERS + 1
        if entry.kind == SETTLEMENT and entry.status == ACCEPTED:
            self.batch, self._invoice = self.batch + 1, 0
        elif entry.kind in MONEY and entry.ref.isdecimal():
            self._invoice = int(entry.ref)
        elif entry.kind == CANCEL and entry.status == ACCEPTED:
            self._invoice += 1

    def _from_entry(self, entry: Entry) -> Outcome:
        """An operation from the ledger alone."""
        approved = entry.status == ACCEPTED
        own = entry.kind in MONEY and entry.ref.isdecimal()
        return Outcome(
            entry.kind,
            approved,
            entry.sum,
            entry.sum if approved else 0,
            datetime.strptime(entry.dt, "%Y%m%d%H%M%S").replace(tzinfo=KYIV),
            self.terminal_id,
            next(iter(self.merchants)),
            None if approved else Cause.BANK,
            APPROVED if approved else DO_NOT_HONOUR,
            rrn=entry.number,
            invoice=int(entry.ref) if own else (self._invoice + 1 if approved and entry.kind == CANCEL else 0),
            stan=self._stan % _NUMBERS + 1,
            batch=self.batch,
            reverses=entry.ref if approved and entry.kind == CANCEL else "",
        )

    def _newest(self, wanted: Callable[[Outcome], object]) -> Outcome | None:
        """The latest operation that is wanted."""
        return next(filter(wanted, reversed(self._journal.values())), None)

    def _slip(self, outcome: Outcome) -> str:
        """The receipt as the terminal would print it, lines of at most 32 characters."""
        lines = [
            self.merchants.get(outcome.merchant, "").center(32).rstrip(),
            _pair("ТЕРМІНАЛ", outcome.terminal_id),
            _pair(f"{outcome.at:%d.%m.%Y}", f"{outcome.at:%H:%M:%S}"),
            _TITLES[outcome.kind].center(32).rstrip(),
        ]
        if outcome.totals is not None:
            lines += _totals_lines(outcome.totals)
        elif outcome.kind != CARD:
            lines.append(_pair("СУМА", f"{_money(outcome.amount or outcome.asked)} грн"))
        if outcome.cash:
            lines.append(_pair("З НЕЇ ГОТІВКА", f"{_money(outcome.cash)} грн"))
        if outcome.card is not None:
            lines += [_pair(outcome.card.brand, outcome.card.pan)]
        for name, value in (
            ("ЧЕК", f"{outcome.invoice:06d}" if outcome.invoice else ""),
            ("RRN", outcome.rrn),
            ("КОД АВТОРИЗАЦІЇ", outcome.auth_code),
            ("ДО RRN", outcome.reverses),
        ):
            if value:
                lines.append(_pair(name, value))
        if outcome.kind not in (TOTALS, CARD):
            lines.append(("СХВАЛЕНО" if outcome.approved else f"ВІДМОВА {outcome.code}".rstrip()).center(32).rstrip())
        return "\n".join(lines)


_TITLES = {
    PAYMENT: "ОПЛАТА",
    REFUND: "ПОВЕРНЕННЯ",
    CANCEL: "СКАСУВАННЯ",
    SETTLEMENT: "ЗВІРКА ПІДСУМКІВ",
    TOTALS: "ПРОМІЖНИЙ ЗВІТ",
    CARD: "КАРТКА",
}


class _JournalLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: the number of the ledger's entry, and the whole operation."""

    n: int
    outcome: Outcome


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_JournalLine).decode


def _up_to(states: list[State], cause: Cause) -> list[State]:
    """The states that an operation goes through before it is refused for ``cause``."""
    if cause in _AT_ONCE:
        return []
    if cause in _AT_THE_CARD:
        return states[:1]
    return states


def _money(kopecks: int) -> str:
    return f"{'-' if kopecks < 0 else ''}{abs(kopecks) // 100}.{abs(kopecks) % 100:02d}"


def _pair(name: str, value: str) -> str:
    return f"{name} {value:>{31 - len(name)}}" if len(name) < 31 else f"{name} {value}"


def _totals_lines(totals: Totals) -> list[str]:
    return [
        _pair("ПАКЕТ", str(totals.batch)),
        _pair(f"ОПЛАТИ {totals.payments}", _money(totals.payments_sum)),
        _pair(f"ПОВЕРНЕННЯ {totals.refunds}", _money(totals.refunds_sum)),
        _pair(f"СКАСУВАННЯ {totals.cancels}", _money(totals.cancels_sum)),
        _pair("РАЗОМ", f"{_money(totals.net)} грн"),
    ]
