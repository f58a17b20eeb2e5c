"""A simulated ECR17 terminal: the device's end of the wire (docs/reference/ecr17.md#simulator).

- While an operation runs it answers nothing, not even the status request.
- A frame with a wrong check byte gets NAK, a right one ACK. It repeats its own answers until they are acknowledged.
- An operation goes on when the line breaks; `G` returns its final answer later.
- Its applications (`K`) are one function of XML; without one it knows no service. Long answers come in pieces.
- Pre-authorisations are switched off, as a bank may do: they are answered with `09`.

Faults come from the scenario of the `Terminal` behind it: `garbage` is an answer whose check byte is always wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import CANCEL, PAYMENT, Busy, Card, Cause, Ending, Outcome, State, Terminal
from protocols.simulators.terminal_line import UNHEARD, TerminalDevice, TerminalLine
from protocols.terminals.ecr17 import requests
from protocols.terminals.ecr17.answers import (
    APPROVED,
    NO_CARD,
    REFUSED,
    UNKNOWN_COMMAND,
    CardAnswer,
    CloseAnswer,
    Message,
    PaymentAnswer,
    PreauthorisationAnswer,
    Receipt,
    ServicePart,
    StatusAnswer,
    TerminalState,
    TotalsAnswer,
)
from protocols.terminals.ecr17.frames import (
    Acknowledgement,
    Deframer,
    DisplayText,
    Lrc,
    control,
    frame,
)
from protocols.terminals.ecr17.ticket import write_ticket
from protocols.terminals.lines import stop
from protocols.terminals.stx_frames import (
    ACK,
    NAK,
    Damaged,
    Payload,
)

REPEATS = 3
"""How often the terminal repeats an answer that is not acknowledged."""

DISPLAY = {
    State.WAITING_CARD: "INSERIRE CARTA",
    State.CARD_READ: "CARTA LETTA",
    State.PIN: "DIGITARE PIN",
    State.AUTHORISING: "IN CORSO",
    State.PRINTING: "STAMPA",
}
"""What the customer reads."""

REASONS = {
    Cause.CANCELLED: (NO_CARD, "ANNULLATA"),
    Cause.TIMEOUT: (NO_CARD, "CARTA ASSENTE"),
    Cause.CARD: (REFUSED, "CARTA ILLEGGIBILE"),
    Cause.CHIP: (REFUSED, "RIFIUTATA DAL CHIP"),
    Cause.PIN: (REFUSED, "PIN ERRATO"),
    Cause.NO_LINK: (REFUSED, "BANCA NON RAGGIUNTA"),
    Cause.NOT_FOUND: (REFUSED, "OPERAZIONE ASSENTE"),
    Cause.REVERSED: (REFUSED, "GIA STORNATA"),
    Cause.SETTLE_FIRST: (REFUSED, "CHIUSURA NECESSARIA"),
    Cause.JOURNAL_FULL: (REFUSED, "MEMORIA PIENA"),
}
"""Result code and text of a refusal by the terminal itself."""

NO_SERVICE = '<ecrres><p k="RESPID">1</p><p k="RESPMSG">SERVIZIO SCONOSCIUTO</p></ecrres>'
"""What a terminal without applications answers."""

ENTRIES = {"CONTACTLESS": "CLI", "CHIP": "ICC"}
SPOILT = 0x55
"""What `garbage` does to a check byte."""


class Ecr17Device(TerminalDevice["_Ecr17Line"]):
    """The device: one terminal, whose lines come and go; see `TerminalDevice`.

    :param lrc: the variant of the check byte that it understands.
    :param number: the terminal's number in its answers, 8 digits.
    :param closes: close the line when an answer is acknowledged, as some terminals do.
    :param services: its applications: XML in and out.
    :param ack_wait: after so many seconds it repeats an answer that was not acknowledged.
    """

    def __init__(
        self,
        terminal: Terminal,
        clock: IReactorTime,
        lrc: Lrc = Lrc.STD,
        number: str = "12345678",
        ack_wait: float = 2.0,
        state: TerminalState = TerminalState.OPERATIVE,
        closes: bool = False,
        services: Callable[[str], str] = lambda _: NO_SERVICE,
    ) -> None:
        super().__init__(terminal, clock)
        self.lrc = lrc
        self.number, self.ack_wait, self.state, self.closes = number, ack_wait, state, closes
        self.services = services
        self.prints_on_register = False
        self.card: Card | None = None
        self._last: Outcome | None = None

    def line(self) -> _Ecr17Line:
        """See `TerminalDevice.line`."""
        return _Ecr17Line(self)

    def remember(self, outcome: Outcome) -> None:
        """Keep the outcome that `G` returns."""
        self._last = outcome

    @property
    def last(self) -> Outcome | None:
        """The last payment or reversal, refused ones included, over a restart too."""
        if self._last is None:
            newest = self.terminal.last()
            return newest if newest is not None and newest.kind in (PAYMENT, CANCEL) else None
        return self._last

    def final(self, outcome: Outcome | None) -> PaymentAnswer:
        """The final answer for ``outcome``."""
        if outcome is None:
            return PaymentAnswer(REFUSED, text="NESSUNA OPERAZIONE", terminal=self.number)
        if not outcome.approved:
            result, text = REASONS.get(outcome.cause or Cause.BANK, (REFUSED, f"RIFIUTATA {outcome.code}".rstrip()))
            return PaymentAnswer(result, text=text, stan=f"{outcome.stan:06d}", terminal=self.number)
        card = outcome.card
        return PaymentAnswer(
            APPROVED,
            pan=card.pan if card is not None else "",
            entry=ENTRIES.get(card.entry, "MAG") if card is not None else "MAG",
            auth=outcome.auth_code,
            host_time=f"{outcome.at:%j%H%M}",
            card_type="2",
            acquirer="00000000001",
            stan=f"{outcome.stan:06d}",
            online=outcome.rrn[-6:],
            terminal=self.number,
        )

    def slip(self, outcome: Outcome) -> str:
        """A receipt in characters that this wire can carry."""
        title = "APPROVATA" if outcome.approved else "NON APPROVATA"
        card = outcome.card.pan if outcome.card is not None else ""
        sums = f"EUR {outcome.amount // 100}.{outcome.amount % 100:02d}"
        return "\n".join((title, card, sums, f"STAN {outcome.stan:06d}", f"{outcome.at:%d/%m/%Y %H:%M}"))


class _Ecr17Line(TerminalLine):
    """One line to the device."""

    log = Logger()

    def __init__(self, device: Ecr17Device) -> None:
        self._device = device
        self._deframer = Deframer(device.lrc)
        self._sending: list[bytes] = []
        self._tries = 0

    def dataReceived(self, data: bytes) -> None:
        """Read what the till sends."""
        for piece in self._deframer.feed(data):
            match piece:
                case Payload():
                    self._asked(piece.data)
                case Damaged() if not self._device.terminal.running:
                    self._write(control(NAK, self._device.lrc))
                case Acknowledgement():
                    self._acknowledged(piece)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `TerminalLine.connectionLost`."""
        super().connectionLost(reason)
        self._sending.clear()

    # Requests.

    def _asked(self, payload: bytes) -> None:
        device = self._device
        if device.terminal.running is not None or self._sending:
            return  # While an operation runs the terminal does not even acknowledge.
        try:
            request = requests.decode_request(payload)
        except Garbled as garbled:
            self.log.info("{what}", what=garbled.what)
            self._write(control(ACK, device.lrc))
            self._send(PaymentAnswer(UNKNOWN_COMMAND, text="COMANDO SCONOSCIUTO", terminal=device.number))
            return
        match request:
            case requests.StatusRequest():
                time = f"{device.terminal.now():%d%m%y%H%M}"
                self._probed(StatusAnswer(device.state, time, "SIMULATOR", terminal=device.number))
            case requests.LastResult():
                self._probed(device.final(device.last))
            case requests.PrintOnRegister() | requests.Reprint():
                self._print(request)
            case requests.Service():
                self._write(control(ACK, device.lrc))
                self._send(*_pieces(device.services(request.xml), device.number))
            case _:
                self._run(request)

    def _print(self, request: requests.PrintOnRegister | requests.Reprint) -> None:
        device = self._device
        self._write(control(ACK, device.lrc))
        if isinstance(request, requests.PrintOnRegister):
            device.prints_on_register = request.on
        elif request.to_register and device.last is not None:
            self._send(*_tickets(device.slip(device.last), device.number))

    def _probed(self, answer: Message) -> None:
        """Answer a query, unless the scenario wants something else."""
        self._device.terminal.query(lambda fate: self._play(fate.line, answer))

    def _play(self, line: Then, answer: Message) -> None:
        match line:
            case Then.SILENT:
                return
            case Then.LOST_BEFORE:
                self._hang_up()
            case Then.REFUSE:
                self._write(control(NAK, self._device.lrc))
            case Then.LOST_AFTER:
                self._write(control(ACK, self._device.lrc))
                self._hang_up()
            case _:
                self._write(control(ACK, self._device.lrc))
                self._send(answer, spoilt=line is Then.GARBAGE)

    def _run(self, request: requests.Request) -> None:
        device = self._device
        terminal = device.terminal
        tell: Callable[[Outcome], Message] = device.final
        seen: list[State] = []
        taken: list[bool] = []

        def watch(state: State) -> None:
            seen.append(state)
            if taken:
                self._show(state)

        try:
            match request:
                case requests.Payment(kind=requests.PaymentKind.PREAUTHORISATION) | requests.FollowUp():
                    self._write(control(ACK, device.lrc))
                    self._send(PreauthorisationAnswer(UNKNOWN_COMMAND, text="NON ABILITATO", terminal=device.number))
                    return
                case requests.Payment():
                    card = device.card if request.card_present else None
                    operation = terminal.purchase(request.cents, card=card, progress=watch)
                case requests.Reversal():
                    operation = terminal.cancel(stan=int(request.stan) if request.stan.isdecimal() else -1)
                case requests.CardCheck():
                    operation, tell = terminal.read_card(progress=watch), self._card
                case requests.Report(kind=requests.ReportKind.TOTALS):
                    operation, tell = terminal.report(), self._totals
                case requests.Report():
                    operation, tell = terminal.settle(), self._closed
                case _:
                    raise AssertionError("every other request is answered before")
        except Busy:
            return  # As while an operation runs.
        if operation.fate not in UNHEARD:
            self._write(control(ACK, device.lrc))
            taken.append(True)
            for state in seen:
                self._show(state)
        operation.ending.addCallback(self._ended, tell)

    def _show(self, state: State) -> None:
        if not self._gone and state in DISPLAY:
            self._write(DisplayText(DISPLAY[state]).encode())

    def _ended(self, ending: Ending, tell: Callable[[Outcome], Message]) -> None:
        device, outcome = self._device, ending.outcome
        if outcome is None:
            if ending.line is Then.LOST_BEFORE:
                self._hang_up()
            return
        moves_money = outcome.kind in (PAYMENT, CANCEL)
        if moves_money:
            device.remember(outcome)
        if ending.line is Then.LOST_AFTER:
            self._hang_up()
            return
        answers = [tell(outcome)]
        if moves_money and device.prints_on_register:
            answers += _tickets(device.slip(outcome), device.number)
            # When it is idle again the terminal prints by itself.
            device.prints_on_register = False
        self._send(*answers, spoilt=ending.line is Then.GARBAGE)

    # Answers to other operations.

    def _card(self, outcome: Outcome) -> Message:
        self._device.card = outcome.card if outcome.approved else None
        return CardAnswer(self._device.final(outcome))

    def _totals(self, outcome: Outcome) -> Message:
        number = self._device.number
        if outcome.totals is None:
            return TotalsAnswer(REFUSED, text=_why(outcome), terminal=number)
        return TotalsAnswer(APPROVED, max(outcome.totals.net, 0), terminal=number)

    def _closed(self, outcome: Outcome) -> Message:
        number = self._device.number
        if outcome.totals is None:
            return CloseAnswer(REFUSED, text=_why(outcome), action="100", terminal=number)
        net = max(outcome.totals.net, 0)
        return CloseAnswer(APPROVED, net, net, terminal=number)

    # Answers, each repeated until it is acknowledged.

    def _send(self, *answers: Message, spoilt: bool = False) -> None:
        if self._gone:
            return
        frames = [frame(answer.encode(), self._device.lrc) for answer in answers]
        if spoilt:
            frames = [whole[:-1] + bytes((whole[-1] ^ SPOILT,)) for whole in frames]
        self._sending += frames
        if len(self._sending) == len(frames):
            self._tries = 0
            self._transmit()

    def _transmit(self) -> None:
        if self._tries > REPEATS:
            self._sending.clear()
            self._hang_up()
            return
        self._tries += 1
        self._write(self._sending[0])
        self._later(self._device.clock, self._device.ack_wait, self._transmit)

    def _acknowledged(self, piece: Acknowledgement) -> None:
        if not self._sending:
            return
        if not piece.taken:
            self._transmit()
            return
        stop(self._timer)
        self._sending.pop(0)
        if self._sending:
            self._tries = 0
            self._transmit()
        elif self._device.closes:
            self._hang_up()


def _tickets(slip: str, number: str) -> list[Message]:
    return [Receipt(piece, terminal=number) for piece in write_ticket(slip)]


def _pieces(xml: str, number: str) -> list[Message]:
    """``xml`` in as many messages as it needs."""
    cut = [xml[start : start + requests.LONGEST_XML] for start in range(0, len(xml), requests.LONGEST_XML)] or [""]
    return [ServicePart(piece, n, n < len(cut), terminal=number) for n, piece in enumerate(cut, 1)]


def _why(outcome: Outcome) -> str:
    return REASONS.get(outcome.cause or Cause.BANK, (REFUSED, f"RIFIUTATA {outcome.code}".rstrip()))[1]
