"""A simulated Caisse-AP terminal: the device's end of the wire (docs/reference/caisse-ap.md#simulator).

- One request for each line; after the answer it closes the line.
- While it works it ignores every other request.
- A request in an unknown currency, or without a required field, is answered with AE 01.
- An operation goes on when the line breaks, and cannot be queried later.
- A debit takes any amount; a cancel takes back the last operation of that amount in the open batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from twisted.internet.interfaces import IReactorTime

from protocols.errors import Garbled
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Busy, Cause, Ending, Operation, Outcome, Terminal
from protocols.simulators.terminal_line import UNHEARD, TerminalDevice, TerminalLine
from protocols.terminals.caisse_ap import (
    Action,
    CaisseApAnswer,
    CaisseApRequest,
    Deframer,
    Detail,
    Done,
    Fields,
    encode_fields,
)
from protocols.terminals.lines import stop

QUIET = 0.05
"""Seconds after which a request with all its fields counts as ended."""

DETAILS = {
    Cause.BANK: Detail.REFUSED,
    Cause.CANCELLED: Detail.ABANDONED,
    Cause.TIMEOUT: Detail.INPUT_TIMEOUT,
    Cause.NO_LINK: Detail.NOT_COMPLETED,
    Cause.CARD: Detail.SELECTION,
    Cause.AMOUNT: Detail.FORMAT,
    Cause.NOT_FOUND: Detail.FORBIDDEN,
    Cause.REVERSED: Detail.FORBIDDEN,
}
"""Its answer for a cause; for others that it was not completed."""

GARBAGE = b"\x00\xffHTTP/1.1 500"


class CaisseApDevice(TerminalDevice["_CaisseApLine"]):
    """The device: one terminal, whose lines come and go; see `TerminalDevice`.

    :param currencies: ISO numbers that it takes.
    """

    def __init__(
        self, terminal: Terminal, clock: IReactorTime, currencies: frozenset[str] = frozenset({"978", "980"})
    ) -> None:
        super().__init__(terminal, clock)
        self.currencies = currencies

    def line(self) -> _CaisseApLine:
        """See `TerminalDevice.line`."""
        return _CaisseApLine(self)

    def answer(self, ask: CaisseApRequest, outcome: Outcome) -> CaisseApAnswer:
        """The answer for ``outcome``."""
        if not outcome.approved:
            if outcome.cause is Cause.BANK and outcome.code in {detail.value for detail in Detail}:
                # A rule of the scenario may name the wire's own code.
                return CaisseApAnswer(ask, Done.NOT_DONE, Detail(outcome.code))
            return CaisseApAnswer(ask, Done.NOT_DONE, DETAILS.get(outcome.cause or Cause.BANK, Detail.NOT_COMPLETED))
        card = outcome.card
        contactless = card is not None and card.entry == "CONTACTLESS"
        return CaisseApAnswer(
            replace(ask, cents=outcome.amount),
            Done.DONE,
            application="00B" if contactless else "001",
            read_mode="2" if contactless else "1",
            authorisation=outcome.auth_code,
            pan=card.pan.replace("*", "#") if card is not None else "",
            expiry=card.expiry if card is not None else "",
            contract="6424242",
            more={"CB": outcome.told} if outcome.told else {},
        )


class _CaisseApLine(TerminalLine):
    """One line to the device."""

    def __init__(self, device: CaisseApDevice) -> None:
        self._device = device
        self._deframer = Deframer()
        self._served = False

    def dataReceived(self, data: bytes) -> None:
        """Read the request; it ends when nothing follows."""
        if self._served:
            return
        stop(self._timer)
        try:
            self._deframer.feed(data)
        except Garbled:
            self._refuse(self._deframer.fields, Detail.FORMAT)
            return
        if self._deframer.between_fields and CaisseApRequest.complete(self._deframer.fields):
            self._later(self._device.clock, QUIET, self._serve)

    def _serve(self) -> None:
        device, fields = self._device, self._deframer.fields
        self._served = True
        if device.terminal.running is not None:
            return  # It ignores other requests while it works.
        try:
            ask = CaisseApRequest.of(fields)
        except Garbled:
            unknown = fields["CD"] not in {each.value for each in Action}
            self._refuse(fields, Detail.UNKNOWN_ACTION if unknown else Detail.FORMAT)
            return
        if not all(value.isascii() for value in fields.values()):
            # It cannot mirror what it cannot send.
            self._refuse(fields, Detail.FORMAT)
            return
        if ask.currency not in device.currencies:
            self._refuse(fields, Detail.CURRENCY)
            return
        if ask.action is Action.DUPLICATE:
            self._duplicate(ask)
            return
        try:
            operation = self._operation(ask)
        except Busy:
            return
        if ask.at_once and operation.fate not in UNHEARD:
            self._say(CaisseApAnswer(ask, Done.TAKEN).encode())
            return
        operation.ending.addCallback(self._tell, lambda outcome: device.answer(ask, outcome))

    def _operation(self, ask: CaisseApRequest) -> Operation:
        terminal = self._device.terminal
        if ask.action is Action.DEBIT:
            return terminal.purchase(ask.cents, reference=ask.reference)
        if ask.action is Action.CREDIT:
            return terminal.refund(ask.cents, reference=ask.reference)
        return terminal.cancel(amount=ask.cents, reference=ask.reference)

    def _duplicate(self, ask: CaisseApRequest) -> None:
        device = self._device
        found = device.terminal.last()
        answer = (
            CaisseApAnswer(ask, Done.DONE)
            if found is not None
            else CaisseApAnswer(ask, Done.NOT_DONE, Detail.NOT_COMPLETED)
        )
        device.terminal.query(lambda fate: self._play(fate.line, answer.encode()))

    def _tell(self, ending: Ending, answer: Callable[[Outcome], CaisseApAnswer]) -> None:
        self._play(ending.line, answer(ending.outcome).encode() if ending.outcome is not None else b"")

    def _play(self, line: Then, message: bytes) -> None:
        match line:
            case Then.SILENT:
                return
            case Then.LOST_BEFORE | Then.LOST_AFTER:
                self._hang_up()
            case Then.GARBAGE:
                self._say(GARBAGE)
            case _:
                self._say(message)

    def _refuse(self, fields: Fields, detail: Detail) -> None:
        """Refuse a request that cannot be mirrored as a whole."""
        self._served = True
        mirrored = {tag: value for tag, value in fields.items() if tag in ("CJ", "CA", "CE", "BA", "CD", "CB")}
        version = {"CZ": fields.get("CZ", "0300")}
        try:
            message = encode_fields(version | mirrored | {"AE": Done.NOT_DONE.value, "AF": detail.value})
        except ValueError:
            message = encode_fields({"CZ": "0300", "AE": Done.NOT_DONE.value, "AF": detail.value})
        self._say(message)

    def _say(self, message: bytes) -> None:
        self._write(message)
        self._hang_up()
