"""A simulated SSI terminal: the device's end of the wire (docs/reference/ssi-json.md#simulator).

It serves one client at a time; a second one connects and gets no answers. A request that moves money is acknowledged
at once; `GetStatus`, then `GetResultByUid` or `GetLastResult` return its outcome. A fault in a frame is answered by
its error, and the line is closed.

`protocols.simulators.terminal` decides what happens. ``lost_after`` and ``garbage`` apply to the acknowledgement,
rules for ``probe`` to every query but `GetStatus`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.simulators.scenario import Then
from protocols.simulators.terminal import (
    BUSY as BUSY_ELSEWHERE,
)
from protocols.simulators.terminal import (
    INTERRUPTIBLE,
    SETTLEMENT,
    Busy,
    Cause,
    Ending,
    Fate,
    Operation,
    Outcome,
    State,
    Terminal,
)
from protocols.simulators.terminal_line import UNHEARD, TerminalDevice, TerminalLine
from protocols.terminals.ssi_json import requests
from protocols.terminals.ssi_json.messages import (
    BUSY,
    IN_WORK,
    NOT_FOUND,
    Deframer,
    Misframed,
    Reply,
    Request,
    Result,
    frame,
)

GARBAGE = b"\x15\x02\x66\x00\x00\xff"
"""What the scenario sends instead of a reply."""

GENERAL, MEMBER_MISSING, UNKNOWN_METHOD, NO_MERCHANT, TOO_LATE, WRONG = "E00", "E04", "E05", "E07", "E08", "E21"

CODES = {
    Cause.CANCELLED: "E12",
    Cause.TIMEOUT: "E12",
    Cause.CARD: "E16",
    Cause.READER: "E16",
    Cause.CHIP: "E17",
    Cause.PIN: "E11",
    Cause.NO_LINK: "E10",
    Cause.NO_PAPER: "E18",
    Cause.KEYS: "E14",
    Cause.JOURNAL_FULL: "E15",
    Cause.SETTLE_FIRST: "E15",
    Cause.MERCHANT: NO_MERCHANT,
    Cause.AMOUNT: "E19",
    Cause.NOT_FOUND: NOT_FOUND,
    Cause.REVERSED: WRONG,
}
"""The errors of the terminal (docs/reference/ssi-json.md#errors); a refusal by the bank is a result, not an error."""

STATUSES = {
    State.IDLE: "S00",
    State.WAITING_CARD: "S02",
    State.CARD_READ: "S03",
    State.HELD: "S08",
    State.PIN: "S03",
    State.AUTHORISING: "S04",
    State.PRINTING: "S04",
}
"""Statuses with a public meaning (docs/reference/ssi-json.md#statuses)."""

_NAMES = {"payment": "Purchase", "refund": "Refund", "cancel": "Void", SETTLEMENT: "ZReport"}


class SsiSimulator(TerminalDevice["SsiWire"]):
    """The device, see `TerminalDevice`.

    :param one_step: whether a purchase does not stop at the card, as with some firmware.
    :param status_inside: whether the status is among the params.
    :param repeats: how often each reply is sent; 2 for a terminal that repeats itself.
    """

    def __init__(
        self,
        terminal: Terminal,
        clock: IReactorTime,
        *,
        one_step: bool = False,
        status_inside: bool = False,
        repeats: int = 1,
    ) -> None:
        super().__init__(terminal, clock)
        self.one_step, self.status_inside, self.repeats = one_step, status_inside, repeats
        self.client: SsiWire | None = None
        self.requested_at: list[float] = []
        """The time of each request, in seconds of the clock."""
        self._report: Outcome | None = None

    def line(self) -> SsiWire:
        """See `TerminalDevice.line`."""
        return SsiWire(self)

    def answer(self, wire: SsiWire, request: Request) -> None:
        """Carry out a request and reply to it."""
        self.requested_at.append(self.clock.seconds())
        try:
            asked = requests.read_method(request)
        except LookupError:
            wire.say(_error(request.method, UNKNOWN_METHOD, "unknown method"))
            return
        except ValueError as error:
            wire.say(_error(request.method, MEMBER_MISSING, str(error)))
            return
        match asked:
            case requests.GetStatus():
                wire.say(self._status())
            case requests.Interrupt():
                wire.say(self._interrupted())
            case requests.Operation() if not isinstance(asked, requests.Echo):
                self._begin(wire, asked, request.step)
            case _:
                self._query(wire, asked)

    # Operations.

    def _begin(self, wire: SsiWire, asked: requests.Operation, step: str) -> None:
        name = type(asked).__name__
        if isinstance(asked, requests.Purchase) and step == "2":
            wire.say(self._second_step(asked))
            return
        if asked.uid and self.terminal.find(asked.uid) is not None:
            wire.say(_error(name, WRONG, "transactionUid is used already"))
            return
        try:
            operation = self._operation(asked, step)
        except Busy:
            wire.say(_error(name, BUSY, "terminal busy"))
            return
        except LookupError:
            wire.say(_error(name, UNKNOWN_METHOD, "unknown method"))
            return
        except ValueError as error:
            wire.say(_error(name, str(error), "wrong value"))
            return
        refused: list[Reply] = []
        begun = False

        def ended(ending: Ending) -> None:
            outcome = ending.outcome
            if outcome is None:
                wire.suffer(ending.line)
                return
            if outcome.kind not in _NAMES or outcome.kind == SETTLEMENT:
                self._report = outcome
            if not begun and not outcome.approved and outcome.cause in CODES:
                refused.append(_error(name, CODES[outcome.cause], outcome.cause.value))

        operation.ending.addCallback(ended)
        begun = True
        if operation.fate in UNHEARD:
            return
        if operation.fate is Then.ACCEPT:
            wire.say(refused[0] if refused else Reply(name))
        else:
            wire.suffer(operation.fate)

    def _operation(self, asked: requests.Operation, step: str) -> Operation:
        """Start the operation of ``asked``.

        :raises ValueError: with the error of a terminal that does not begin.
        :raises LookupError: when this model does not have the method.
        """
        terminal, uid = self.terminal, asked.uid
        match asked:
            case requests.Purchase():
                merchant, hold = self._merchant(asked.merchant_id), step == "1" and not self.one_step
                return terminal.purchase(asked.trans_amount, merchant=merchant, reference=uid, hold=hold)
            case requests.CashBack():
                merchant = self._merchant(asked.merchant_id)
                return terminal.purchase(asked.trans_amount, cash=asked.cash_amount, merchant=merchant, reference=uid)
            case requests.Refund():
                if not asked.rrn:
                    raise ValueError(MEMBER_MISSING)
                merchant = self._merchant(asked.merchant_id)
                return terminal.refund(asked.trans_amount, rrn=asked.rrn, merchant=merchant, reference=uid)
            case requests.Void():
                # Without a number the last operation would be taken.
                if not asked.invoice_num.isdecimal() or len(asked.invoice_num) > 9 or not int(asked.invoice_num):
                    raise ValueError(NOT_FOUND)
                return terminal.cancel(int(asked.invoice_num), reference=uid)
            case requests.XReport():
                return terminal.report(merchant=self._merchant(asked.merchant_id))
            case requests.ZReport():
                return terminal.settle(merchant=self._merchant(asked.merchant_id))
        raise LookupError(type(asked).__name__)

    def _merchant(self, name: str) -> int:
        """The number of a merchant called ``M1`` or ``1``; without a name it is the first one."""
        digits = name.removeprefix("M")
        if not name:
            return 0
        if not digits.isdecimal() or len(digits) > 9 or int(digits) not in self.terminal.merchants:
            raise ValueError(NO_MERCHANT)
        return int(digits)

    def _second_step(self, asked: requests.Purchase) -> Reply:
        running = self.terminal.running
        if running is None or self.terminal.state is not State.HELD:
            return _error("Purchase", BUSY if running is not None else WRONG, "no second step is waited for")
        if running.reference != asked.uid or running.asked != asked.trans_amount:
            return _error("Purchase", WRONG, "another operation waits")
        self.terminal.correct(asked.discounted_amount)
        return Reply("Purchase")

    def _interrupted(self) -> Reply:
        if self.terminal.state in INTERRUPTIBLE and self.terminal.interrupt():
            return Reply("Interrupt")
        return _error("Interrupt", TOO_LATE, "interrupt prohibited")

    # Queries.

    def _status(self) -> Reply:
        status = STATUSES[self.terminal.state]
        return Reply("GetStatus", {"status": status}) if self.status_inside else Reply("GetStatus", status=status)

    def _query(self, wire: SsiWire, asked: requests.Method) -> None:
        name = type(asked).__name__

        def answer(fate: Fate) -> None:
            if fate.line is Then.REFUSE:
                wire.say(_error(name, BUSY if fate.code == BUSY_ELSEWHERE else fate.code or GENERAL, "refused"))
            elif fate.line is Then.ACCEPT:
                wire.say(self._answer(asked))
            else:
                wire.suffer(fate.line)

        self.terminal.query(answer)

    def _answer(self, asked: requests.Method) -> Reply:
        name, terminal = type(asked).__name__, self.terminal
        match asked:
            case requests.GetTerminalInfo():
                return Reply(name, {"terminalModel": "SIM", "terminalSerialNumber": terminal.terminal_id})
            case requests.GetMerchantListDetailed():
                return Reply(name, self._merchants())
            case requests.GetResultByUid():
                return self._result(name, asked.transaction_uid)
            case requests.GetLastResult():
                return self._result(name, None)
            case requests.GetLastReceipt():
                last = terminal.last()
                return _error(name, NOT_FOUND, "none") if last is None else Reply(name, {"receipt": last.slip})
            case requests.GetLastReport() | requests.GetLastReportReceipt():
                return self._last_report(name)
            case requests.Echo():
                try:
                    self._merchant(asked.merchant_id)
                except ValueError as error:
                    return _error(name, str(error), "merchant")
        return Reply(name)

    def _merchants(self) -> Mapping[str, str]:
        titles = self.terminal.merchants
        listed = [
            {"merchantId": f"M{number}", "terminalId": self.terminal.terminal_id, "merchantName": title}
            for number, title in titles.items()
        ]
        return {"merchantCount": str(len(titles)), "merchantList": msgspec.json.encode(listed).decode()}

    def _result(self, name: str, uid: str | None) -> Reply:
        running = self.terminal.running
        if running is not None and (uid is None or running.reference == uid):
            if self.terminal.state is not State.HELD or running.card is None:
                return _error(name, IN_WORK if uid else BUSY, "in work")
            result = Result(
                transaction_result="FIRST_STEP_COMPLETED",
                trans_amount=running.asked,
                pan=running.card.pan,
                bin_name=running.card.brand,
                merchant_id=f"M{running.merchant}",
                transaction_uid=running.reference,
            )
            return Reply(name, result.filled())
        found = self.terminal.last() if uid is None else self.terminal.find(uid)
        if found is None:
            return _error(name, NOT_FOUND, "no last transaction")
        return Reply(name, _result_of(found).filled())

    def _last_report(self, name: str) -> Reply:
        report = self._report
        if report is None:
            return _error(name, NOT_FOUND, "no report")
        if not report.approved:
            return _error(name, CODES.get(report.cause or Cause.BANK, GENERAL), "report refused")
        return Reply(name, {"receipt": report.slip, "merchantId": f"M{report.merchant}"})


class SsiWire(TerminalLine):
    """The terminal's end of one connection."""

    garbage = GARBAGE
    log = Logger()

    def __init__(self, device: SsiSimulator) -> None:
        self._device = device
        self._deframer = Deframer()

    def connectionMade(self) -> None:
        """Become the client if there is none."""
        if self._device.client is None:
            self._device.client = self

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Make room for the next client."""
        super().connectionLost(reason)
        if self._device.client is self:
            self._device.client = None

    def dataReceived(self, data: bytes) -> None:
        """Answer requests; a fault closes the connection."""
        if self._device.client is not self or self._gone:
            return
        try:
            for payload in self._deframer.feed(data):
                self._device.answer(self, Request.decode(payload))
        except Misframed as fault:
            self.log.info("a fault: {fault}", fault=fault)
            self.say(_error("", fault.code, fault.what))
            self._hang_up()

    def say(self, reply: Reply) -> None:
        """Send ``reply``; it is lost when the client is gone."""
        for _ in range(self._device.repeats):
            self._write(frame(reply.encode()))


def _error(method: str, code: str, text: str) -> Reply:
    return Reply(method, {}, True, code, text)


def _result_of(outcome: Outcome) -> Result:
    """An operation that is over, as a reply has it."""
    card, cause = outcome.card, outcome.cause
    if outcome.approved:
        word = "APPROVED-ONLINE"
    elif cause is Cause.CANCELLED:
        word = "CANCELLED"
    else:
        word = "DECLINED-ONLINE" if cause is Cause.BANK else "DECLINED"
    return Result(
        original_trn_name=_NAMES.get(outcome.kind, ""),
        transaction_result=word,
        trans_amount=outcome.reported if outcome.approved else outcome.asked,
        cash_amount=outcome.cash or None,
        auth_code=outcome.auth_code,
        rrn=outcome.rrn,
        invoice_num=str(outcome.invoice or ""),
        pan=card.pan if card else "",
        bin_name=card.brand if card else "",
        merchant_id=f"M{outcome.merchant}",
        terminal_id=outcome.terminal_id,
        pos_entry_mode=card.entry if card else "",
        response_code=outcome.code.zfill(4) if outcome.code else "",
        transaction_uid=outcome.reference,
        error_details=CODES.get(cause, "") if cause else "",
        date=f"{outcome.at:%d/%m/%Y}",
        time=f"{outcome.at:%H:%M:%S}",
    )
