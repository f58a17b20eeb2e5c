"""A terminal's line with disturbances: single bytes, breaks, doubled, late, too many or foreign bytes."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from dmtwisted.conformance.desk import WAIT, expect, same
from dmtwisted.conformance.desks import APPROVED, TerminalDesk, said
from dmtwisted.conformance.suite import SAFE, check
from dmtwisted.devices.driver import TERMINAL

PAGE = "docs/reference/terminals.md"
LINE = ("line",)

NOISE = b"\x00\xff\x13~garbage~"

CUTS = 16
"""Places at which the terminal's bytes are cut off."""

FLOOD, CHUNK = 4_000_000, 50_000
"""Bytes of a program that sends without end, and of each piece."""


class Banner(Protocol):
    """Another program that listens on the terminal's port."""

    def connectionMade(self) -> None:
        """Send the banner."""
        assert self.transport is not None
        self.transport.write(b"SSH-2.0-OpenSSH_9.6\r\n")


class Endless(Protocol):
    """A program that answers the first byte with megabytes."""

    def __init__(self) -> None:
        self.gone, self.said = False, 0

    def dataReceived(self, data: bytes) -> None:
        """Start, and go on while the line is open."""
        for sign in (b"\x02", b"{", b"A", b"\x00\x01", b"\x04\x0f\xff\xff\xff"):
            self._say(sign)
        while self.said < FLOOD and not self.gone:
            self._say(b"7" * CHUNK)

    def _say(self, data: bytes) -> None:
        assert self.transport is not None
        self.said += len(data)
        self.transport.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Stop."""
        self.gone = True


@check(TERMINAL, level=SAFE, source="docs/drivers.md#what-has-to-be-true", needs=LINE)
def one_byte_at_a_time(desk: TerminalDesk) -> None:
    """Frames are put together from any pieces: a payment succeeds although each byte arrives alone."""
    desk.weather.one_by_one = True
    desk.sold()
    desk.sold()


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2", needs=LINE)
def cut_anywhere(desk: TerminalDesk) -> None:
    """The line breaks after any byte of the terminal: caller, journal and bank still agree."""
    desk.sold()
    before = desk.world.said
    desk.sold()
    whole = desk.world.said - before
    for place in range(CUTS):
        desk.weather.hang_after = whole * place // CUTS
        desk.honest(*desk.tried())


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-18", needs=LINE)
def answers_that_come_twice(desk: TerminalDesk) -> None:
    """Everything from the terminal arrives twice: one payment, and its answer never counts for the next one."""
    desk.sold()
    desk.weather.twice = True
    answer, _, amount = desk.tried()
    second, _, another = desk.tried()
    if said(second) == APPROVED:
        same((second["info"]["sum"], desk.taken(another)), (another, 1), "the next payment")
    believed = said(answer)
    desk.switch_on()
    same(desk.taken(amount) <= 1, True, "a payment whose answer came twice")
    if believed == APPROVED:
        same((answer["info"]["sum"], desk.taken(amount)), (amount, 1), "the payment")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-18", needs=LINE)
def late_answers_are_not_reused(desk: TerminalDesk) -> None:
    """A late answer of the terminal never counts for the next payment."""
    desk.sold()
    due, label, amount = desk.started()
    desk.until(lambda: str(desk.device.state) != "idle", "the payment at the terminal")
    desk.weather.late_s = WAIT + 15
    answer = desk.answer(due)
    desk.weather.late_s = 0.0
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2", needs=LINE)
def noise_before_an_answer(desk: TerminalDesk) -> None:
    """Noise on the line, early or late in a payment, never makes a wrong answer."""
    desk.sold()
    for pause in (0.0, 0.2, 0.7):
        due, label, amount = desk.started(pause)
        desk.weather.noise = NOISE
        desk.honest(desk.answer(due), label, amount)


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-17", needs=LINE)
def another_program_on_the_port(desk: TerminalDesk) -> None:
    """Another program on the terminal's port is reported within the payment's time, and the end is known."""
    _other_program(desk, Banner)


@check(TERMINAL, level=SAFE, source="docs/security.md", needs=LINE)
def endless_answers_are_given_up(desk: TerminalDesk) -> None:
    """A program that sends without end is given up in time, and its megabytes are not kept."""
    _other_program(desk, Endless)


def _other_program(desk: TerminalDesk, program: Callable[[], Protocol]) -> None:
    desk.sold()
    desk.world.hang_up()
    desk.instead = program
    began = desk.world.seconds()
    answer, label, amount = desk.tried()
    expect(answer["res"] != 0, "another program approves payments")
    expect(desk.world.seconds() - began <= WAIT + 10, "the caller waits too long")
    expect(len(str(answer)) < 5000, "the megabytes are in the answer")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-13", needs=LINE)
def a_line_comes_back(desk: TerminalDesk) -> None:
    """After a line that broke between two payments the next payment opens another one and succeeds."""
    for _ in range(3):
        desk.sold()
        desk.world.hang_up()
        desk.run(5)
    desk.sold()
