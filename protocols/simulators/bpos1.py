"""A BPOS1 terminal, its cable and the vendor's library in front of it (docs/reference/bpos1.md#simulator).

`Bpos1Library` has the methods and properties of the COM object ``ECRCommX.BPOS1Lib`` and keeps the rules of the
vendor's text: a call returns at once, ``LastResult`` is 2 meanwhile; what is not confirmed is cancelled; a terminal
that does not answer is error 3 after six seconds. `protocols.simulators.terminal` decides what happens.

=====================  ==============================================================================================
the scenario           the library
=====================  ==============================================================================================
`refuse`               error 4 with a code; ``busy``: error 3, for the terminal works for another till
`lost_before`          error 3, nothing happened
`silent`               error 3 after six seconds, nothing happened
`lost_after`           error 3, it happened and is not confirmed
`garbage`              as `lost_after`
=====================  ==============================================================================================

Faults of the library itself: `Bpos1Device.hangs` and the others beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from protocols.simulators.scenario import Then
from protocols.simulators.terminal import (
    CANCEL,
    PAYMENT,
    REFUND,
    Busy,
    Cause,
    Ending,
    Fate,
    Operation,
    Outcome,
    State,
)
from protocols.simulators.terminal import Terminal as Bank
from protocols.simulators.terminal_line import TerminalDevice, TerminalLine
from protocols.terminals.bpos1 import messages as bpos1
from protocols.terminals.bpos1.library import POLL, Library
from protocols.terminals.bpos1.messages import Lines, Said, line_of, read_call
from protocols.terminals.lines import stop

VERSION = "1.10.5.8"

UNANSWERED = 6.0
"""Seconds after which the library gives a terminal up that does not answer."""

CODES = {
    Cause.CANCELLED: 1001,
    Cause.TIMEOUT: 1001,
    Cause.CHIP: 1002,
    Cause.JOURNAL_FULL: 1003,
    Cause.NO_LINK: 1004,
    Cause.NO_PAPER: 1005,
    Cause.KEYS: 1006,
    Cause.READER: 1007,
    Cause.REVERSED: 1008,
    Cause.PIN: 55,
}
"""``ResponseCode`` of a refusal (docs/reference/bpos1.md#codes); any other cause is the general 1000."""

STATUSES = {
    State.IDLE: bpos1.NO_STATUS,
    State.WAITING_CARD: bpos1.WAITING_CARD,
    State.CARD_READ: bpos1.CARD_READ,
    State.HELD: bpos1.CORRECTABLE,
    State.PIN: bpos1.PIN,
    State.AUTHORISING: bpos1.AUTHORISING,
    State.PRINTING: bpos1.PRINTING,
}

WORDS = {
    bpos1.WAITING_CARD: "Очікування картки",
    bpos1.CARD_READ: "Картку прочитано",
    bpos1.CORRECTABLE: "Коригування транзакції",
    bpos1.PIN: "Введення ПІН",
    bpos1.AUTHORISING: "Авторизація",
    bpos1.PRINTING: "Друк чека",
}

KINDS = {PAYMENT: bpos1.PURCHASE, REFUND: bpos1.REFUND, CANCEL: bpos1.VOID}


class Hangs(BaseException):
    """A call of the library that never comes back."""


def _hang() -> None:
    raise Hangs()


class Bpos1Device(TerminalDevice["Bpos1Wire"]):
    """The terminal with its cable, and a process with the library for each line.

    :param stops: whether a purchase waits at its card for a correction, for seconds as the terminal's `hold`.
    :param at_once: whether the terminal cancels an unconfirmed transaction when the line ends; otherwise when the
        next operation comes.
    """

    def __init__(self, terminal: Bank, clock: IReactorTime, *, stops: bool = False, at_once: bool = False) -> None:
        super().__init__(terminal, clock)
        self.stops, self.at_once = stops, at_once
        self.hangs = ""
        """The method that does not come back the next time."""
        self.hang: Callable[[], None] = _hang
        """How it does that."""
        self.stale: tuple[str, float] = ("", 0.0)
        """The method after which the library still has the result of the call before, once, and for how long."""
        self.confirming = Then.ACCEPT
        """What happens to the next Confirm: `lost_before`, `lost_after`, `refuse`."""
        self.till: Bpos1Library | None = None
        self._unconfirmed: Outcome | None = None
        self._taken_back: set[str] = set()

    def line(self) -> Bpos1Wire:
        """See `TerminalDevice.line`."""
        return Bpos1Wire(self)

    def buildProtocol(self, addr: Any) -> Bpos1Wire:
        """A process can always be started; `unreachable` is for the cable."""
        return self.line()

    # What the terminal keeps

    def journal(self) -> list[Outcome]:
        """The transactions of the open batch, oldest first."""
        bank = self.terminal
        return [
            outcome
            for outcome in bank._journal.values()
            if outcome.batch == bank.batch
            and outcome.kind in KINDS
            and (outcome.approved or outcome.invoice)
            and not (outcome.kind == CANCEL and outcome.reverses in self._taken_back)
        ]

    def status_of(self, outcome: Outcome) -> int:
        """``TrnStatus`` of a transaction."""
        if not outcome.approved:
            return bpos1.DECLINED
        if outcome.rrn in self._taken_back:
            return bpos1.TAKEN_BACK
        gone = outcome.kind != CANCEL and not self.terminal.left_of(outcome)
        return bpos1.REVERSED if gone else bpos1.APPROVED

    def approve(self, outcome: Outcome, line: Bpos1Library) -> None:
        """An approval that the till has to confirm."""
        self._unconfirmed = outcome
        if self.at_once and self.till is not line:
            self.cancel_unconfirmed()

    def confirm(self) -> bool:
        """The till has the approval; false when there is none."""
        found, self._unconfirmed = self._unconfirmed, None
        return found is not None

    def cancel_unconfirmed(self) -> None:
        """What was not confirmed in time is cancelled."""
        found, self._unconfirmed = self._unconfirmed, None
        if found is not None:
            self._taken_back.add(found.rrn)
            self.terminal.reverse(found.rrn)

    def connect(self, line: Bpos1Library) -> bool:
        """A till opens the line; the one before is gone."""
        if not self.terminal.takes_call():
            return False
        if self.till is not line:
            self.disconnect(self.till)
        self.till = line
        return True

    def disconnect(self, line: Bpos1Library | None) -> None:
        """A till has left the line."""
        if line is not None and self.till is line:
            self.till = None
            if self.at_once:
                self.cancel_unconfirmed()


class Bpos1Library:
    """The object behind ``ECRCommX.BPOS1Lib``."""

    LibraryVersion = VERSION

    def __init__(self, device: Bpos1Device) -> None:
        self._device, self._clock = device, device.clock
        self._result = self._error = 0
        self._stale: tuple[float, int, Outcome | None] = (0.0, 0, None)
        self._code = 0
        self._words = ""
        self._outcome: Outcome | None = None
        self._told: int | None = None
        self._count = 0
        self._slip = ""
        self._running: Operation | None = None
        self._timer: IDelayedCall | None = None

    # Calls

    def _begin(self, name: str) -> bool:
        """Whether a call may begin; the result is 2 from now on."""
        device = self._device
        self._hang(name)
        if device.stale[0] == name:
            self._stale = (self._clock.seconds() + device.stale[1], self._result, self._outcome)
            device.stale = ("", 0.0)
        self._error = self._code = 0
        self._words, self._outcome = "", None
        if device.till is not self:
            self._fail(bpos1.PORT_CLOSED, "Порт не відкрито")
            return False
        self._result = bpos1.RUNNING
        return True

    def _hang(self, name: str) -> None:
        device = self._device
        if device.hangs == name:
            device.hangs = ""
            device.hang()

    def _fail(self, error: int, words: str, code: int = 0) -> None:
        self._result, self._error, self._words, self._code = bpos1.FAILED, error, words, code

    def _unanswered(self, seconds: float = UNANSWERED) -> None:
        self._later(seconds, lambda: self._fail(bpos1.LINK_FAILED, "Помилка зв'язку з терміналом"))

    def _later(self, seconds: float, what: Callable[[], object]) -> None:
        self._timer = self._clock.callLater(seconds, what)

    def _ask(self, name: str, answer: Callable[[], object]) -> None:
        """A question, which a terminal that works does not answer."""
        if not self._begin(name):
            return
        if self._device.terminal.running is not None:
            self._unanswered()
            return

        def fated(fate: Fate) -> None:
            if fate.line is Then.REFUSE:
                self._fail(bpos1.REFUSED, "Відмова термінала", bpos1.GENERAL)
            elif fate.line is Then.ACCEPT:
                self._result = bpos1.DONE
                answer()
            else:
                self._unanswered(UNANSWERED if fate.line is Then.SILENT else 0.1)

        self._device.terminal.query(fated)

    def _operate(self, name: str, start: Callable[[], Operation], confirmed: bool = False) -> None:
        """An operation; ``confirmed`` says whether it is final without a Confirm."""
        if not self._begin(name):
            return
        self._device.cancel_unconfirmed()
        try:
            self._running = operation = start()
        except Busy:
            self._unanswered()
            return
        operation.ending.addCallback(lambda ending: self._ended(ending, confirmed))

    def _ended(self, ending: Ending, confirmed: bool) -> None:
        self._running = None
        outcome = ending.outcome
        if outcome is not None and outcome.approved and outcome.kind in (PAYMENT, REFUND) and not confirmed:
            self._device.approve(outcome, self)
        if ending.line is Then.SILENT:
            self._unanswered()
        elif ending.line is not Then.ACCEPT or outcome is None:
            self._unanswered(0.1)
        elif outcome.approved:
            self._outcome, self._result = outcome, bpos1.DONE
            self._code = int(outcome.code or 0)
            self._told = outcome.reported
        else:
            code = CODES.get(outcome.cause or Cause.BANK, bpos1.GENERAL)
            if outcome.code.isdecimal():
                code = int(outcome.code)
            due = outcome.cause is Cause.SETTLE_FIRST
            self._fail(bpos1.REFUSED, "Потрібна звірка" if due else f"Відмова {code}", code)
            self._outcome = outcome
        self._slip = outcome.slip if outcome is not None else ""

    # Methods

    def CommOpen(self, port: int, speed: int) -> None:
        """Open a COM port."""
        self._open("CommOpen", bpos1.PORT_FAILED)

    def CommOpenTCP(self, address: str, port: str) -> None:
        """Open a connection."""
        self._open("CommOpenTCP", bpos1.LINK_FAILED)

    def _open(self, name: str, error: int) -> None:
        self._hang(name)
        self._result = bpos1.DONE
        if not self._device.connect(self):
            self._fail(error, "Немає зв'язку")

    def CommClose(self) -> None:
        """Close the port."""
        self._device.disconnect(self)

    def SetErrorLang(self, language: int) -> None:
        """Choose the language of the library's own texts."""

    def Purchase(self, amount: int, discount: int, merchant: int) -> None:
        """Take money."""
        device = self._device
        self._operate(
            "Purchase", lambda: device.terminal.purchase(amount - discount, merchant=merchant, hold=device.stops)
        )

    def Refund(self, amount: int, discount: int, merchant: int, rrn: str) -> None:
        """Give money back."""
        self._operate("Refund", lambda: self._device.terminal.refund(amount, rrn=rrn, merchant=merchant))

    def Void(self, invoice: int, merchant: int) -> None:
        """Cancel a transaction of the open batch; it needs no Confirm."""
        # Without a number the simulated terminal would take the last one.
        self._operate("Void", lambda: self._device.terminal.cancel(invoice or -1), confirmed=True)

    def PurchaseService(self, merchant: int, amount: int, parameters: str) -> None:
        """A service of the bank."""
        self._operate("PurchaseService", lambda: self._device.terminal.purchase(amount, merchant=merchant))

    def Settlement(self, merchant: int) -> None:
        """Close the batch."""
        self._operate("Settlement", lambda: self._device.terminal.settle(merchant=merchant), confirmed=True)

    def PrintBatchTotals(self, merchant: int) -> None:
        """Print the totals of the open batch."""
        self._operate("PrintBatchTotals", lambda: self._device.terminal.report(merchant=merchant), confirmed=True)

    def ReadCard(self) -> None:
        """Read a card."""
        self._operate("ReadCard", self._device.terminal.read_card, confirmed=True)

    def Confirm(self) -> None:
        """The till has the approval."""
        kept = self._outcome, self._told
        if not self._begin("Confirm"):
            return
        device = self._device
        then, device.confirming = device.confirming, Then.ACCEPT
        if then is Then.LOST_BEFORE:
            self._unanswered(0.1)
        elif then is Then.REFUSE or not device.confirm():
            self._fail(bpos1.REFUSED, "Нічого підтверджувати", bpos1.GENERAL)
        elif then is Then.LOST_AFTER:
            self._unanswered(0.1)
        else:
            self._result = bpos1.DONE
        self._outcome, self._told = kept

    def Cancel(self) -> None:
        """Stop the call that works, if it is still in time."""
        if self._device.till is self:
            self._device.terminal.interrupt()

    def CorrectTransaction(self, amount: int, discount: int) -> None:
        """Let a purchase go on that stops at its card."""
        if self._device.till is self:
            self._device.terminal.correct(amount - discount)

    def Ping(self) -> None:
        """Is the terminal there?"""
        self._ask("Ping", lambda: None)

    def CheckConnection(self, merchant: int) -> None:
        """Does the terminal reach the bank?"""
        self._ask("CheckConnection", lambda: None)

    def GetTxnNum(self) -> None:
        """Count the transactions of the journal."""

        def answer() -> None:
            self._count = len(self._device.journal())

        self._ask("GetTxnNum", answer)

    def GetTxnDataByOrder(self, number: int) -> None:
        """A transaction of the journal, from 1."""
        self._ask("GetTxnDataByOrder", lambda: self._tell(dict(enumerate(self._device.journal(), 1)).get(number)))

    def GetTxnDataByInv(self, invoice: int, merchant: int) -> None:
        """A transaction of the journal by its invoice number."""
        found = {outcome.invoice: outcome for outcome in self._device.journal()}
        self._ask("GetTxnDataByInv", lambda: self._tell(found.get(invoice)))

    def _tell(self, outcome: Outcome | None) -> None:
        if outcome is None:
            self._fail(bpos1.REFUSED, "Немає такої транзакції", bpos1.GENERAL)
            return
        self._outcome, self._told = outcome, None
        self._code = int(outcome.code or 0)

    def ReqCurrReceipt(self) -> None:
        """Fetch the slip of the last operation."""
        self._ask("ReqCurrReceipt", lambda: None)

    # Properties

    @property
    def LastResult(self) -> int:
        """0 done, 1 failed, 2 at work."""
        return self._stale[1] if self._is_stale else self._result

    @property
    def _is_stale(self) -> bool:
        return self._clock.seconds() < self._stale[0]

    @property
    def _shown(self) -> Outcome | None:
        return self._stale[2] if self._is_stale else self._outcome

    @property
    def LastErrorCode(self) -> int:
        """1 and 2 the port, 3 the line, 4 the terminal."""
        return self._error

    @property
    def LastErrorDescription(self) -> str:
        """The library's words."""
        return self._words

    @property
    def LastStatMsgCode(self) -> int:
        """What the terminal does."""
        return STATUSES[self._device.terminal.state] if self._running is not None else bpos1.NO_STATUS

    @property
    def LastStatMsgDescription(self) -> str:
        """The same in words."""
        return WORDS.get(self.LastStatMsgCode, "")

    @property
    def ResponseCode(self) -> int:
        """The bank's code, or from 1000 the terminal's."""
        return self._code

    @property
    def Receipt(self) -> str:
        """The slip, as a library has it on a system whose character set is not Windows-1251."""
        return self._slip.encode("cp1251", "replace").decode("cp1252", "replace")

    @property
    def TxnNum(self) -> int:
        """Transactions in the journal."""
        return self._count

    @property
    def Amount(self) -> int:
        """The sum in kopecks; the property has no sign."""
        if self._told is not None and not self._is_stale:
            return self._told % 2**32 if abs(self._told) < 2**32 else 0
        outcome = self._shown
        return 0 if outcome is None else outcome.amount or outcome.asked

    @property
    def TxnType(self) -> int:
        """The kind of transaction."""
        return KINDS.get(self._shown.kind, bpos1.NO_TYPE) if self._shown is not None else bpos1.NO_TYPE

    @property
    def TrnStatus(self) -> int:
        """What became of it."""
        return bpos1.UNDEFINED if self._shown is None else self._device.status_of(self._shown)

    @property
    def TrnBatchNum(self) -> int:
        """Its batch."""
        return 0 if self._shown is None else self._shown.batch

    @property
    def InvoiceNum(self) -> int:
        """Its number in the batch."""
        return 0 if self._shown is None else self._shown.invoice

    @property
    def RRN(self) -> str:
        """The bank's number."""
        return "" if self._shown is None else self._shown.rrn

    @property
    def DateTime(self) -> str:
        """Its time."""
        return "" if self._shown is None else f"{self._shown.at:%y%m%d%H%M%S}"

    @property
    def AuthCode(self) -> str:
        """The bank's authorisation."""
        return "" if self._shown is None else self._shown.auth_code

    @property
    def TerminalID(self) -> str:
        """The terminal's number."""
        return self._device.terminal.terminal_id if self._shown is not None else ""

    @property
    def MerchantID(self) -> str:
        """The shop's number."""
        return "" if self._shown is None else str(self._shown.merchant)

    @property
    def PAN(self) -> str:
        """The card."""
        card = self._card
        return card.pan if card is not None else ""

    @property
    def IssuerName(self) -> str:
        """Its brand."""
        card = self._card
        return card.brand if card is not None else ""

    DiscountName = ""

    @property
    def _card(self) -> Any:
        return self._running.card if self._running is not None else self._shown and self._shown.card

    def gone(self) -> None:
        """The process with this object has ended."""
        stop(self._timer)
        self._device.disconnect(self)


class Bpos1Wire(TerminalLine):
    """The library's process at the end of a line in memory: the same code as in a real one, on a clock of tests."""

    def __init__(self, device: Bpos1Device) -> None:
        self._device = device
        self._com = Bpos1Library(device)
        self._library = Library(self._com, self._say, device.clock.seconds)
        self._lines = Lines()
        self._hung = False

    def connectionMade(self) -> None:
        """The process has loaded the library."""
        self._say(Said(version=VERSION))
        self._look()

    def dataReceived(self, data: bytes) -> None:
        """Calls."""
        for line in self._lines.feed(data):
            if not self._hung:
                try:
                    self._library.take(read_call(line))
                except Hangs:
                    self._hung = True

    def _look(self) -> None:
        if not self._gone:
            self._later(self._device.clock, POLL, self._look)
            if not self._hung:
                self._library.look()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The pipe is closed, or the process was killed."""
        super().connectionLost(reason)
        self._com.gone()

    def _say(self, said: Said) -> None:
        self._write(line_of(said))
