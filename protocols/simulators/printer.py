"""A simulated receipt printer, ESC/POS or Star, with a buffer, a state, a ledger and a scenario.

`feed` takes bytes and returns answers; `protocols.simulators.printer_port` is its TCP port. The rules of the scenario
control it (`on` is `print` or `probe`), and so do the actions of people: `open_cover`, `load_paper`, `break_down`,
`power_cycle`.

====================  ========================================================================================
rule                  effect
====================  ========================================================================================
``refuse``            out of paper, or the condition in ``code`` (`CONDITIONS`), until the line is closed
``lost_before``       the line breaks before anything is printed
``lost_after``        everything is printed, and the line breaks instead of the proof
``silent``            it neither answers nor prints, and its port reads nothing more
``garbage``           everything is printed, and garbage is sent instead of the proof
``unreachable``       the connection fails
``delay_ms``          it waits that long before it prints; only with a clock
====================  ========================================================================================

``lost_after`` has no effect on a printer that proves nothing. A *job* is everything printed up to a proof or to the
end of the connection; each complete job has an entry in the ledger.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from protocols.printers import instructions as op
from protocols.printers.escpos import EscPosReader
from protocols.printers.hazards import RealTime, RealTimeScanner
from protocols.printers.profiles import PROFILES, Profile
from protocols.printers.reading import InstructionReader
from protocols.printers.star import StarReader
from protocols.printers.star_status import COUNTS, encode_count, encode_length
from protocols.printers.status import Fault, PrinterStatus
from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger
from protocols.simulators.print_mechanism import PrintMechanism
from protocols.simulators.scenario import Rule, Scenario, Then

PRINT, PROBE = "print", "probe"
BUFFER = 4096
"""Bytes that small printers buffer (docs/reference/printers.md#pictures)."""

_ROOM_TO_STOP, _ROOM_TO_GO = 512, 1024
"""Free bytes at which a serial printer sends XOFF and XON."""

XON, XOFF = b"\x11", b"\x13"
RUBBISH = b"\xff\x80\xa5\xff"
"""Not an answer of any printer: the highest bit is never set."""

_OFFLINE = PrinterStatus(online=False, cover_open=False, paper="ok", drawer_open=False)
PAPER_OUT, COVER_OPEN = "paper", "cover"
CONDITIONS: dict[str, PrinterStatus] = {
    PAPER_OUT: replace(_OFFLINE, paper="out"),
    "5005": replace(_OFFLINE, paper="out"),
    COVER_OPEN: replace(_OFFLINE, cover_open=True),
    "offline": _OFFLINE,
    "cutter": replace(_OFFLINE, error="cutter"),
    "mechanical": replace(_OFFLINE, error="mechanical"),
    "overheat": replace(_OFFLINE, error="overheat"),
    "unrecoverable": replace(_OFFLINE, error="unrecoverable"),
}
"""Valid values of ``code`` in a refusing rule; any other value is the end of the paper."""


class SimulatedPrinter:
    """The part common to printers of both languages.

    :param ledger: the file of its entries; `None` keeps them in memory.
    :param roll_dots: length of its paper; `None` never ends.
    :param clock: for the delays of rules; without it there are none.
    :param now: the time of entries.
    :param mute: it never answers, like many clones.
    :param flow_control: whether it sends XOFF and XON, as on a serial line.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        ledger: Path | None = None,
        roll_dots: int | None = None,
        clock: IReactorTime | None = None,
        now: Callable[[], datetime] = datetime.now,
        mute: bool = False,
        flow_control: bool = False,
        buffer_size: int = BUFFER,
    ) -> None:
        self.profile = profile
        self.mechanism = PrintMechanism(profile, roll_dots)
        self.scenario = Scenario()
        self.ledger = Ledger(ledger)
        self.lost = 0
        """Bytes that were lost because the buffer was full."""
        self.on_answer: Callable[[bytes], None] | None = None
        """Receives answers immediately; without it `feed` returns them."""
        self.on_break: Callable[[], None] | None = None
        """Called when the printer breaks the line."""
        self.on_room: Callable[[], None] | None = None
        """Called when the buffer may have room again."""
        self._clock, self._now, self._mute, self._flow = clock, now, mute, flow_control
        self._size = buffer_size
        self._jobs = sum(entry.status == ACCEPTED for entry in self.ledger.entries())
        self._reader = self._new_reader()
        self._queue: deque[tuple[op.Instruction | None, int]] = deque()
        """Instructions with their bytes; `None` is the end of a connection."""
        self._queued = 0
        self._answers = b""
        self._printed = 0
        self._stopped_line = False
        self._working = False
        self._held: IDelayedCall | None = None
        self._reports_changes = False
        self._last_reported = b""
        self._connected = False
        self._forget_line()

    def _forget_line(self) -> None:
        """Reset the state of one connection."""
        self._begun = self._probed = False
        self._deaf = False
        self._condition: PrinterStatus | None = None
        self._then: Then | None = None
        self._probe: Then | None = None

    # The line

    @property
    def connected(self) -> bool:
        """Whether a client is connected."""
        return self._connected

    @property
    def deaf(self) -> bool:
        """Whether it takes nothing more on this connection."""
        return self._deaf

    def takes_call(self) -> bool:
        """Whether a client can connect; a rule that prevents it is used up."""
        for rule in self.scenario.document()["rules"]:
            if rule["on"] in (PRINT, PROBE, "any"):
                if rule["then"] == Then.UNREACHABLE:
                    self.scenario.take(PROBE if rule["on"] == PROBE else PRINT)
                    return False
                break
        return True

    def connect(self) -> None:
        """Begin a connection."""
        self._forget_line()
        self._connected = True

    def hang_up(self) -> None:
        """End the connection; data that was taken is still printed, and the current job ends here."""
        if not self._connected:
            return
        self._connected = False
        if self._condition is not None and self._begun:
            self._drop()
        self._forget_line()
        self._queue.append((None, 0))
        self._work()

    @property
    def room(self) -> int:
        """Free bytes of the buffer."""
        # An incomplete instruction counts only while the printer has stopped; else it goes to the head directly.
        waiting = self._queued + (self._reader.waiting if self._halted else 0)
        return max(0, self._size - waiting)

    def feed(self, data: bytes) -> bytes:
        """Process bytes from the line; return the answers, unless `on_answer` takes them.

        Bytes that do not fit into the buffer are lost, as on a serial line whose client ignores XOFF.
        """
        if not self._connected:
            if not self.takes_call():
                return b""
            self.connect()
        if not self._deaf:
            self._arrive(data)
            self._work()
            self._mind_the_buffer()
        return self._said()

    def _arrive(self, data: bytes) -> None:
        """Take bytes in the order of arrival."""
        self._store(data)

    def _store(self, data: bytes) -> None:
        while data and not self._deaf:
            room = self.room
            if not room:
                self.lost += len(data)
                return
            part, data = data[:room], data[room:]
            before = self._reader.waiting
            instructions = list(self._reader.feed(part))
            size = before + len(part) - self._reader.waiting
            for place, instruction in enumerate(instructions):
                if self._deaf:
                    return
                self._see(instruction)
                if not self._deaf:
                    self._queue.append((instruction, size if place == len(instructions) - 1 else 0))
            if instructions and not self._deaf:
                self._queued += size
            self._work()

    def _see(self, instruction: op.Instruction) -> None:
        """Examine an instruction on arrival, before it is executed."""
        if not self._begun and isinstance(instruction, (op.Initialise, op.Pulse, op.PulseNow, *op.PRINTS)):
            self._begin()
        if self._then is Then.LOST_BEFORE and isinstance(instruction, op.PRINTS):
            self._break()

    def _begin(self) -> None:
        """A client begins to print: apply the scenario."""
        self._begun = True
        rule = self.scenario.take(PRINT)
        if rule is None:
            return
        self._then = rule.then
        if rule.then is Then.REFUSE:
            self._condition = CONDITIONS.get(str(rule.code), CONDITIONS[PAPER_OUT])
            self.ledger.add(PRINT, REFUSED, "", 0, "", self._dt())
        elif rule.then in (Then.SILENT, Then.UNREACHABLE):
            self._deaf = True
        if rule.delay_ms and self._clock is not None and not self._deaf:
            self._held = self._clock.callLater(rule.delay_ms / 1000, self._go_on)

    def _go_on(self) -> None:
        self._held = None
        self._work()

    def _asked_now(self) -> bool:
        """A state query arrived; return whether it is answered as usual."""
        if not self._begun and not self._probed:
            self._probed = True
            rule: Rule | None = self.scenario.take(PROBE)
            self._probe = rule.then if rule is not None else None
            if rule is not None and rule.then is Then.REFUSE:
                self._condition = CONDITIONS.get(str(rule.code), CONDITIONS[PAPER_OUT])
        if self._probe in (Then.LOST_BEFORE, Then.LOST_AFTER):
            self._break()
        elif self._probe is Then.GARBAGE:
            self._say(RUBBISH)
        elif self._probe in (Then.SILENT, Then.UNREACHABLE):
            self._deaf = True
        return not self._deaf and self._probe is not Then.GARBAGE

    def _break(self) -> None:
        """Break the line; everything not printed yet is lost."""
        self._deaf = True
        self._drop()
        if self.on_break is not None:
            self.on_break()

    def _drop(self) -> None:
        self._queue.clear()
        self._queued = 0
        self._reader.reset()
        self.mechanism.reset()

    # The work

    @property
    def _halted(self) -> bool:
        return self.mechanism.stopped or self._condition is not None or self._held is not None

    def _work(self) -> None:
        """Execute the pending instructions as far as possible."""
        if self._working:
            return
        self._working = True
        try:
            while self._queue and not self._halted:
                instruction, size = self._queue[0]
                if instruction is None:
                    self._queue.popleft()
                    self._job_ends()
                    continue
                pieces = self.mechanism.pieces
                if not self.mechanism.obey(instruction):
                    break
                self._printed += self.mechanism.pieces - pieces
                # The instruction may have broken the line, which empties the queue.
                if self._queue and self._queue[0][0] is instruction:
                    self._queue.popleft()
                    self._queued -= size
                self._answer(instruction)
        finally:
            self._working = False
        self._changed()
        if self.on_room is not None and self.room:
            self.on_room()

    def _answer(self, instruction: op.Instruction) -> None:
        """Send the answer that an instruction requests in turn."""
        raise NotImplementedError

    def _prove(self, proof: bytes) -> None:
        """Everything before this is printed: send ``proof``, unless the scenario prevents it."""
        printed, then = self._printed > 0, self._then
        self._job_ends()
        if printed and then is Then.LOST_AFTER:
            self._break()
        else:
            self._say(RUBBISH if printed and then is Then.GARBAGE else proof)

    def _job_ends(self) -> None:
        if not self._printed:
            return
        self._printed = 0
        self._jobs += 1
        self.ledger.add(PRINT, ACCEPTED, "", 0, str(self._jobs), self._dt())

    def _dt(self) -> str:
        return self._now().strftime("%Y%m%d%H%M%S")

    def entries(self) -> list[Entry]:
        """The ledger, oldest first."""
        return list(self.ledger.entries())

    # Actions of people

    def open_cover(self) -> None:
        """Open the cover."""
        self.mechanism.cover_open = True
        self._after_a_person()

    def close_cover(self) -> None:
        """Close the cover; the printer continues."""
        self.mechanism.cover_open = False
        self._after_a_person()

    def load_paper(self, roll_dots: int | None = None) -> None:
        """Put in a new roll; the printer continues."""
        self.mechanism.load(roll_dots)
        self._after_a_person()

    def take_paper_out(self) -> None:
        """Take the roll out."""
        self.mechanism.load(0)
        self._after_a_person()

    def break_down(self, fault: Fault) -> None:
        """Let a fault occur."""
        self.mechanism.fault = fault
        self._after_a_person()

    def mend(self) -> None:
        """Clear the fault."""
        self.mechanism.fault = "none"
        self._after_a_person()

    def close_drawer(self) -> None:
        """Push the drawer in."""
        self.mechanism.drawer_open = False
        self._after_a_person()

    def power_cycle(self) -> None:
        """Switch it off and on: the line breaks, the buffer and a partly printed job are lost."""
        self._break()
        self._printed = 0
        self._queued = 0
        self._reports_changes = False
        self._stopped_line = False
        self._answers = b""
        if self.mechanism.fault == "unrecoverable":
            self.mechanism.fault = "none"
        self._power_lost()

    def _power_lost(self) -> None:
        """Reset what else is lost without power."""

    def _after_a_person(self) -> None:
        self._work()
        self._mind_the_buffer()

    # Answers

    @property
    def status(self) -> PrinterStatus:
        """Its state, or the one that a rule simulates."""
        status = self.mechanism.status
        if self._condition is None:
            return status
        return replace(self._condition, drawer_open=status.drawer_open)

    def take_answers(self) -> bytes:
        """The answers since the last call, without `on_answer`."""
        answers, self._answers = self._answers, b""
        return answers

    def _said(self) -> bytes:
        return b"" if self.on_answer is not None else self.take_answers()

    def _say(self, data: bytes) -> None:
        if self._mute or self._deaf or not data:
            return
        if self.on_answer is not None:
            self.on_answer(data)
        elif self._connected:
            self._answers += data

    def _changed(self) -> None:
        """Send an automatic status after a change of state, if it is switched on."""
        state = self._state()
        if self._reports_changes and state != self._last_reported:
            self._last_reported = state
            self._say(state)

    def _state(self) -> bytes:
        """The automatic status."""
        raise NotImplementedError

    def _mind_the_buffer(self) -> None:
        if not self._flow:
            return
        if not self._stopped_line and self.room < _ROOM_TO_STOP:
            self._stopped_line = True
            self._say(XOFF)
        elif self._stopped_line and self.room >= min(_ROOM_TO_GO, self._size):
            self._stopped_line = False
            self._say(XON)

    def _new_reader(self) -> InstructionReader:
        raise NotImplementedError


class EscPosPrinter(SimulatedPrinter):
    """A printer that speaks ESC/POS; its receive interrupt obeys real-time commands anywhere in the input."""

    _scanner: RealTimeScanner

    def _new_reader(self) -> InstructionReader:
        self._scanner = RealTimeScanner()
        return EscPosReader()

    def _arrive(self, data: bytes) -> None:
        for piece, real_time in self._scanner.feed(data):
            self._store(piece)
            if real_time is not None and not self._deaf:
                self._at_once(real_time)

    def _at_once(self, real_time: RealTime) -> None:
        first = real_time.parameters[0]
        if real_time.function == 0x04 and 1 <= first <= 4:
            if self._asked_now():
                self._say(bytes([_real_time_answer(first, self.status)]))
        elif real_time.function == 0x14 and first == 1 and real_time.parameters[1] < 2 and self._condition is None:
            if not self._begun:
                self._begin()
            if not self._deaf:
                self.mechanism.kick()
                self._changed()
        elif real_time.function == 0x05 and first in (1, 2) and self.mechanism.fault in ("cutter", "mechanical"):
            if first == 2:
                self._drop()
            self.mend()

    def _answer(self, instruction: op.Instruction) -> None:
        match instruction:
            case op.AskInTurn(1):
                self._prove(bytes([_paper_bits(self.status, out=0x0C, near_end=0x03)]))
            case op.AskInTurn(2):
                self._say(bytes([bool(self.status.drawer_open)]))
            case op.ReportName(name):
                self._prove(b"\x37\x22" + name + b"\0")
            case op.AskName(number) if number in _NAMES:
                self._say(b"_" + _NAMES[number] + b"\0")
            case op.ReportChanges(mask):
                self._reports_changes = mask != 0
                self._last_reported = b""
            case op.Initialise():
                self._reports_changes = False

    def _state(self) -> bytes:
        status = self.status
        first = 0x10 | (0x04 if status.drawer_open else 0) | (0 if status.online else 0x08)
        first |= 0x20 if status.cover_open else 0
        return bytes([first, _FAULT_BITS[status.error], _paper_bits(status, out=0x0F, near_end=0x03), 0])


_NAMES = {65: b"1.00", 66: b"EPSON", 67: b"TM-SIM", 68: b"0000001"}
"""Answers to `GS I`."""


def _real_time_answer(number: int, status: PrinterStatus) -> int:
    byte = 0x12
    if number == 1:
        byte |= (0x04 if status.drawer_open else 0) | (0 if status.online else 0x08)
    elif number == 2:
        byte |= (0x04 if status.cover_open else 0) | (0x20 if status.paper == "out" else 0)
        byte |= 0x40 if status.error != "none" else 0
    elif number == 3:
        byte |= _FAULT_BITS[status.error]
    else:
        byte |= _paper_bits(status, out=0x6C, near_end=0x0C)
    return byte


_FAULT_BITS: dict[Fault, int] = {
    "none": 0,
    "mechanical": 0x04,
    "cutter": 0x08,
    "unrecoverable": 0x20,
    "overheat": 0x40,
}


def _paper_bits(status: PrinterStatus, out: int, near_end: int) -> int:
    return {"out": out, "near_end": near_end}.get(status.paper or "", 0)


class StarPrinter(SimulatedPrinter):
    """A printer that speaks Star line mode and counts documents."""

    _count = 0

    def _new_reader(self) -> InstructionReader:
        return StarReader()

    def _power_lost(self) -> None:
        self._count = 0

    def _see(self, instruction: op.Instruction) -> None:
        super()._see(instruction)
        if isinstance(instruction, op.AskNow) and not self._deaf and self._asked_now():
            self._say(self._state())

    def _answer(self, instruction: op.Instruction) -> None:
        match instruction:
            case op.CountDocument():
                self._count = (self._count + 1) % COUNTS
                self._prove(self._state() if self._reports_changes else b"")
            case op.ClearCount():
                self._count = 0
            case op.ReportChanges(mask):
                self._reports_changes = mask != 0

    def _state(self) -> bytes:
        status = self.status
        flags = (0x20 if status.cover_open else 0) | (0 if status.online else 0x08)
        flags |= 0x04 if status.drawer_open else 0
        paper = _paper_bits(status, out=0x08, near_end=0x04)
        count = encode_count(self._count)
        return bytes([encode_length(9), 0x06, flags, _FAULT_BITS[status.error], 0, paper, 0, count, 0])


def simulated_printer(profile: Profile | str = "epson", **options: Any) -> SimulatedPrinter:
    """A printer of ``profile``, or of the profile of that name; ``options`` are those of `SimulatedPrinter`."""
    wanted = PROFILES[profile] if isinstance(profile, str) else profile
    kind = StarPrinter if wanted.language == "star" else EscPosPrinter
    return kind(wanted, **options)
