"""A terminal's wire in bad weather: bytes one by one, cut, twice, late, too many, of somebody else."""

from __future__ import annotations

from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from dmtwisted.conformance.desk import WAIT, expect, same
from dmtwisted.conformance.desks import APPROVED, TerminalDesk, said
from dmtwisted.conformance.suite import SAFE, check
from dmtwisted.devices.drivers import TERMINAL

RULES = "docs/terminals.md, rule"
LINE = ("line",)

NOISE = b"\x00\xff\x13~garbage~"

CUTS = 16
"""Places at which the far end's words are cut."""

FLOOD, CHUNK = 4_000_000, 50_000
"""Bytes of a far end that does not stop talking, and of one word of it."""


class Banner(Protocol):
    """Something else that listens on the terminal's port."""

    def connectionMade(self) -> None:
        """Say what it is."""
        assert self.transport is not None
        self.transport.write(b"SSH-2.0-OpenSSH_9.6\r\n")


class Endless(Protocol):
    """A far end that answers the first byte with megabytes of nothing."""

    def __init__(self) -> None:
        self.gone, self.said = False, 0

    def dataReceived(self, data: bytes) -> None:
        """Begin, and do not end while somebody is there."""
        for sign in (b"\x02", b"{", b"A", b"\x00\x01", b"\x04\x0f\xff\xff\xff"):
            self._say(sign)
        while self.said < FLOOD and not self.gone:
            self._say(b"7" * CHUNK)

    def _say(self, data: bytes) -> None:
        assert self.transport is not None
        self.said += len(data)
        self.transport.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Be left."""
        self.gone = True


@check(TERMINAL, level=SAFE, source="docs/drivers.md, what has to be true", needs=LINE)
def one_byte_at_a_time(desk: TerminalDesk) -> None:
    """Frames are put together from any pieces: a payment goes well though each byte arrives on its own."""
    desk.weather.one_by_one = True
    desk.sold()
    desk.sold()


@check(TERMINAL, level=SAFE, source=RULES + " 2", needs=LINE)
def cut_anywhere(desk: TerminalDesk) -> None:
    """The line breaks after any byte of the terminal: caller, journal and bank agree all the same."""
    desk.sold()
    before = desk.world.said
    desk.sold()
    whole = desk.world.said - before
    for place in range(CUTS):
        label, amount = desk.sale()
        desk.weather.hang_after = whole * place // CUTS
        answer = desk.pay(label=label, sum=amount)
        desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=RULES + " 18", needs=LINE)
def words_heard_twice(desk: TerminalDesk) -> None:
    """Whatever the terminal says is heard twice: one payment, and never the answer to the next one."""
    desk.sold()
    desk.weather.twice = True
    label, amount = desk.sale()
    answer = desk.pay(label=label, sum=amount)
    other, another = desk.sale()
    second = desk.pay(label=other, sum=another)
    if said(second) == APPROVED:
        same((second["info"]["sum"], desk.taken(another)), (another, 1), "the next payment")
    believed = said(answer)
    desk.switch_on()
    same(desk.taken(amount) <= 1, True, "a payment that was heard of twice")
    if believed == APPROVED:
        same((answer["info"]["sum"], desk.taken(amount)), (amount, 1), "the payment")


@check(TERMINAL, level=SAFE, source=RULES + " 18", needs=LINE)
def late_words_are_nobodys(desk: TerminalDesk) -> None:
    """What the terminal says after its time is no answer to the next payment."""
    desk.sold()
    label, amount = desk.sale()
    due = desk.asked_pay(label=label, sum=amount)
    desk.until(lambda: str(desk.device.state) != "idle", "the payment at the terminal")
    desk.weather.late_s = WAIT + 15
    answer = desk.answer(due)
    desk.weather.late_s = 0.0
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=RULES + " 2 and 18", needs=LINE)
def noise_before_a_word(desk: TerminalDesk) -> None:
    """Noise on the line before the terminal's words, early or late in a payment, never makes a wrong answer."""
    desk.sold()
    for pause in (0.0, 0.2, 0.7):
        label, amount = desk.sale()
        due = desk.asked_pay(label=label, sum=amount)
        desk.run(pause)
        desk.weather.noise = NOISE
        desk.honest(desk.answer(due), label, amount)


@check(TERMINAL, level=SAFE, source=RULES + " 17", needs=LINE)
def somebody_else_on_the_port(desk: TerminalDesk) -> None:
    """What listens there instead of a terminal is told within the payment's time, and no doubt stays."""
    desk.sold()
    desk.world.hang_up()
    desk.instead = Banner
    label, amount = desk.sale()
    began = desk.world.seconds()
    answer = desk.pay(label=label, sum=amount)
    expect(answer["res"] != 0, "somebody else approves payments")
    expect(desk.world.seconds() - began <= WAIT + 10, "the caller waits too long")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source="docs/security.md, what comes in is limited", needs=LINE)
def endless_words_are_given_up(desk: TerminalDesk) -> None:
    """A far end that does not stop talking is given up: in time, without keeping its megabytes."""
    desk.sold()
    desk.world.hang_up()
    desk.instead = Endless
    label, amount = desk.sale()
    began = desk.world.seconds()
    answer = desk.pay(label=label, sum=amount)
    expect(answer["res"] != 0, "megabytes of nothing are taken for an approval")
    expect(desk.world.seconds() - began <= WAIT + 10, "the caller waits too long")
    expect(len(str(answer)) < 5000, "the megabytes are told to the caller")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=RULES + " 6", needs=LINE)
def a_line_comes_back(desk: TerminalDesk) -> None:
    """After a line that broke between two payments the next payment opens another, and goes well."""
    for _ in range(3):
        desk.sold()
        desk.world.hang_up()
        desk.run(5)
    desk.sold()
