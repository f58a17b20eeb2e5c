"""The line to a register that is kept: opened when needed, opened again after pauses, and never in two copies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from twisted.internet.task import Clock

from protocols.errors import LineLost, NotReached, Silent
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.link import DatecsLink, UkrainianRegister, numbers
from protocols.registers.lines import KeptLine, underway
from protocols.registers.troubles import DeviceRefused
from protocols.simulators.datecs_register import UkrainianDevice
from tests.register_desk import Desk, DeskTestCase, Fault, What, always, steered


class KeptLineTests(DeskTestCase):
    """A line to a register of Datecs."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = UkrainianDevice(self.clock)
        self.desk = Desk(self.clock, self.device)
        self.numbers = numbers()
        self.line = KeptLine(self.desk.endpoint, self.clock, self.build, self.begin)

    def build(self) -> DatecsLink:
        """The till's end."""
        return DatecsLink(self.clock, self.numbers)

    async def begin(self, link: DatecsLink) -> UkrainianRegister:
        """A greeting."""
        register = UkrainianRegister(link)
        await register.greet()
        return register

    def read(self) -> ua.State:
        """A question."""
        return self.desk.done(self.line.ask(lambda register: register.do(ua.ReadState())))

    @property
    def opened(self) -> int:
        """How many lines were opened."""
        return len(self.desk.endpoint.sent)

    def test_kept(self) -> None:
        """Nothing is opened before the first use, and one line serves all of them."""
        self.assertEqual(self.opened, 0)
        for _ in range(3):
            self.read()
        self.assertEqual((self.opened, self.device.heard), (1, ["ReadState"] * 4))

    def test_asked_again(self) -> None:
        """A question whose answer is lost is asked once more, on a new line that begins with a greeting."""
        self.read()
        for fault in (Fault(What.BROKEN_AFTER, 3), Fault(What.BROKEN_BEFORE)):
            before = self.opened
            self.device.steer = steered(ReadState=fault)
            self.read()
            self.assertEqual(self.opened, before + 1)

    def test_failed_twice(self) -> None:
        """A second failure is told, and the next use begins a new line."""
        self.read()
        self.device.steer = always(Fault(What.BROKEN_BEFORE))
        self.assertRaises(NotReached, self.read)
        self.device.steer = always(None)
        self.clock.advance(1)
        self.read()

    def test_failed_twice_after_greeting(self) -> None:
        """The greeting goes well and the question does not: that is a lost answer."""
        faults = iter([Fault(What.BROKEN_BEFORE), None, Fault(What.BROKEN_BEFORE)])
        self.read()
        self.device.steer = lambda _: next(faults, None)
        self.assertRaises(LineLost, self.read)
        self.read()

    def test_refused(self) -> None:
        """A refusal is an answer: the line stays."""
        doing = self.line.ask(lambda register: register.do(ua.Total()))
        self.assertEqual(self.refused(self.desk, doing), "000B")
        self.read()
        self.assertEqual(self.opened, 1)

    def test_one_at_a_time(self) -> None:
        """A line is closed before the next one is opened: serial ports are not shared."""
        open_then: list[int] = []

        def accept() -> Any:
            pumps = self.desk.endpoint.pumps
            open_then.append(sum(not pump.clientIO.disconnected for pump in pumps))
            return self.device.buildProtocol(None)

        self.desk.endpoint.accept = accept
        self.read()
        for _ in range(3):
            self.line.drop()
            self.read()
        self.assertEqual(open_then, [0] * 4)

    def test_pauses(self) -> None:
        """Attempts in vain are followed by 1, 2, 5, 10, 10 seconds in which nothing is tried."""
        self.device.go_dark(1000)
        tries: list[float] = []
        self.desk.endpoint.accept = lambda: tries.append(self.clock.seconds())
        for _ in range(300):
            self.assertRaises(NotReached, self.read)
            self.clock.advance(0.1)
        gaps = [round(later - earlier) for earlier, later in pairwise(tries)]
        self.assertEqual(gaps, [1, 2, 5, 10, 10])

    def test_silent_register(self) -> None:
        """A port that opens and a register that does not answer: it is not reached."""
        self.device.steer = always(Fault(What.UNHEARD))
        error = self.assertRaises(NotReached, self.read)
        self.assertIsInstance(error.__cause__, Silent)
        self.assertIn("no answer in 2", error.reason)
        self.device.steer = always(None)
        self.assertRaises(NotReached, self.read)
        self.clock.advance(1)
        self.read()

    def test_first_refusal(self) -> None:
        """A register that refuses what the line begins with says why; the line is not kept."""

        async def begin(link: DatecsLink) -> UkrainianRegister:
            register = UkrainianRegister(link, "111111")
            await register.do(ua.ReadState())
            return register

        line = KeptLine(self.desk.endpoint, self.clock, self.build, begin)
        self.assertRaises(DeviceRefused, self.desk.done, line.register())
        self.assertRaises(NotReached, self.desk.done, line.register())

    def test_given_up(self) -> None:
        """Who stops waiting for the greeting leaves no line behind."""
        self.device.steer = always(Fault(What.UNHEARD))
        waiting = self.desk.begin(self.line.register())
        waiting.addErrback(lambda _: None)
        waiting.cancel()
        self.device.steer = always(None)
        self.read()
        self.assertEqual((self.opened, len(self.desk.endpoint.pumps)), (2, 1))

    def test_closed(self) -> None:
        """A closed line stays closed."""
        self.read()
        self.line.close()
        self.assertRaises(NotReached, self.read)
        self.assertEqual((self.opened, self.desk.endpoint.pumps), (1, []))

    def test_underway(self) -> None:
        """Behind the first command nothing is said not to have been sent."""

        with self.assertRaises(LineLost) as caught, underway():
            raise NotReached("the line was closed before the command")
        self.assertEqual(caught.exception.reason, "the line was closed before the command")

    def test_repeated(self) -> None:
        """A command whose line broke is the first one of a new line, with its number; the next use greets."""
        self.read()
        command = ua.WriteOperator(1, "0000", "Олена")
        for fault in (Fault(What.BROKEN_AFTER, 2), Fault(What.BROKEN_BEFORE)):
            self.device.steer = steered(WriteOperator=fault)
            self.assertRaises(LineLost, self.desk.done, self.desk.done(self.line.register()).do(command))
            heard = len(self.device.heard)
            again = self.line.repeat(lambda link: UkrainianRegister(link).do(command, again=True))
            self.assertEqual(self.desk.done(again), ua.Nothing())
            self.read()
            executed = [] if fault.what is What.BROKEN_AFTER else ["WriteOperator"]
            self.assertEqual(self.device.heard[heard:], [*executed, "ReadState", "ReadState"])
