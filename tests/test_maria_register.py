"""Maria: the line's dialogue, sales, rules and faults."""

from __future__ import annotations

import contextlib
import random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.registers.maria import commands as maria
from protocols.registers.maria.frames import FLUSH, WAKE, frame
from protocols.registers.maria.link import PATIENCE, Answered, MariaLink, MariaRegister, line_settings
from protocols.registers.numbered import MOST_NOISE
from protocols.registers.troubles import DeviceRefused
from protocols.simulators.iron import DAY, IronSettings, Kind
from protocols.simulators.maria_register import MariaDevice
from tests.register_desk import Desk, DeskTestCase, Fault, What, spoilt, steered
from tests.vectors.maria import BREAD


def said(*texts: bytes) -> bytes:
    """Frames with CRC."""
    return b"".join(frame(text, True) for text in texts)


class LinkTests(SynchronousTestCase):
    """The till's end of the line."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.link, self.transport = MariaLink(self.clock, crc=True), StringTransport()
        self.link.makeConnection(self.transport)

    def ask(self, text: bytes = b"GLCN", limit: float = 120) -> Deferred[Answered]:
        """Ask for the last number."""
        self.transport.clear()
        return self.link.ask(text, limit)

    def hear(self, *texts: bytes) -> None:
        """The register says something."""
        self.link.dataReceived(said(*texts))

    def test_dialogue(self) -> None:
        """WAIT, signs of life, the answer, DONE, READY; and no timer is left."""
        due = self.ask()
        self.assertEqual(self.transport.value(), said(b"GLCN"))
        for text in (b"WAIT", b"WRK", b"PRN", b"GLCN0000000007", b"DONE"):
            self.hear(text)
            self.assertNoResult(due)
        self.hear(b"READY")
        self.assertEqual(self.successResultOf(due), Answered([b"0000000007"]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_error(self) -> None:
        """An error ends the dialogue, with WAIT or in its place."""
        for texts in ((b"WAIT", b"SOFTNREP", b"READY"), (b"SOFTNREP", b"READY")):
            due = self.ask()
            self.hear(*texts)
            self.assertEqual(self.successResultOf(due), Answered([], b"SOFTNREP"))

    def test_cut_at_every_byte(self) -> None:
        """A dialogue cut into any two pieces is understood."""
        whole = said(b"WAIT", b"GLCN0000000007", b"DONE", b"READY")
        for cut in range(len(whole)):
            due = self.ask()
            self.link.dataReceived(whole[:cut])
            self.assertNoResult(due)
            self.link.dataReceived(whole[cut:])
            self.assertEqual(self.successResultOf(due).texts, [b"0000000007"])

    def test_stopped_at_every_byte(self) -> None:
        """A dialogue that stops at any byte is flushed, once, and its command is never sent again."""
        whole = said(b"WAIT", b"GLCN0000000007", b"DONE", b"READY")
        done = len(said(b"WAIT", b"GLCN0000000007", b"DONE"))
        for cut in range(len(whole)):
            due = self.ask()
            self.link.dataReceived(whole[:cut])
            self.clock.advance(PATIENCE.quiet)
            self.assertEqual(self.transport.value(), said(b"GLCN") + FLUSH)
            self.hear(b"SOFTBLOCK", b"READY")
            if cut >= done:
                self.assertEqual(self.successResultOf(due).texts, [b"0000000007"])
            else:
                error = self.failureResultOf(due, Silent).value
                self.assertEqual(error.taken, cut >= len(said(b"WAIT")))

    def test_damaged_at_every_byte(self) -> None:
        """A dialogue with any byte damaged never gives another answer."""
        whole = said(b"WAIT", b"GLCN0000000007", b"DONE", b"READY")
        for place in range(len(whole)):
            due = self.ask()
            self.link.dataReceived(whole[:place] + bytes([whole[place] ^ 0x11]) + whole[place + 1 :])
            self.clock.advance(PATIENCE.quiet)
            self.hear(b"SOFTBLOCK", b"READY")
            ended: list[Any] = []
            due.addBoth(ended.append)
            if isinstance(ended[0], Answered):
                self.assertIn(ended[0].texts, ([], [b"0000000007"]))
            else:
                self.assertTrue(ended[0].check(Silent, Garbled))

    def test_quiet(self) -> None:
        """One second without WAIT, or six without a sign of life, end the dialogue; signs of life do not add up."""
        due = self.ask()
        self.clock.advance(0.999)
        self.assertEqual(self.transport.value(), said(b"GLCN"))
        self.clock.advance(0.001)
        self.assertTrue(self.transport.value().endswith(FLUSH))
        self.hear(b"READY")
        self.assertFalse(self.failureResultOf(due, Silent).value.taken)
        due = self.ask(b"NREP", limit=60)
        self.hear(b"WAIT")
        for _ in range(11):
            self.clock.advance(5)
            self.hear(b"PRN")
        self.assertNoResult(due)
        self.clock.advance(5)
        self.hear(b"PRN", b"READY")
        self.assertTrue(self.failureResultOf(due, Silent).value.taken)

    def test_dead(self) -> None:
        """When nothing answers the flush, the next command is sent only after one that is answered."""
        due = self.ask()
        self.clock.pump([1, 1])
        self.failureResultOf(due, Silent)
        due = self.ask(b"COMP" + b"0" * 60)
        self.assertEqual(self.transport.value(), FLUSH)
        self.clock.advance(1)
        self.failureResultOf(due, NotReached)
        due = self.ask()
        self.hear(b"SOFTBLOCK", b"READY")
        self.assertEqual(self.transport.value(), FLUSH + said(b"GLCN"))
        self.hear(b"SOFTBLOCK", b"READY")
        self.assertNoResult(due)
        self.hear(b"WAIT", b"GLCN0000000007", b"DONE", b"READY")
        self.successResultOf(due)

    def test_early(self) -> None:
        """What is said before WAIT belongs to an earlier command."""
        due = self.ask()
        self.hear(b"GLCN0000000006", b"DONE", b"READY")
        self.assertNoResult(due)
        self.hear(b"WAIT", b"COMP1", b"GLCN0000000007", b"DONE", b"READY")
        self.assertEqual(self.successResultOf(due).texts, [b"0000000007"])

    def test_no_result(self) -> None:
        """READY without DONE or an error proves nothing."""
        due = self.ask()
        self.hear(b"WAIT", b"READY")
        self.failureResultOf(due, Garbled)

    def test_lost(self) -> None:
        """A line that breaks fails the command, unless DONE was said."""
        for texts, reason, error in (
            ((), ConnectionLost(), LineLost),
            ((b"WAIT",), ConnectionDone(), LineLost),
            ((b"WAIT", b"DONE"), ConnectionDone(), None),
        ):
            self.setUp()
            due = self.ask()
            self.hear(*texts)
            self.link.connectionLost(Failure(reason))
            if error is None:
                self.successResultOf(due)
            else:
                self.failureResultOf(due, error)
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.failureResultOf(self.ask(), NotReached)
            self.failureResultOf(self.link.wake(), NotReached)

    def test_cancelled(self) -> None:
        """After a cancelled command the line is flushed before the next."""
        due = self.ask()
        due.addErrback(lambda _: None)
        due.cancel()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        due = self.ask()
        self.assertEqual(self.transport.value(), FLUSH)

    def test_noise(self) -> None:
        """Noise is skipped; a line with nothing else is closed."""
        due = self.ask()
        self.link.dataReceived(b"\x00" * MOST_NOISE)
        self.hear(b"WAIT", b"DONE", b"READY")
        self.successResultOf(due)
        due = self.ask()
        self.link.dataReceived(b"HTTP/1.1 400 " * MOST_NOISE)
        self.failureResultOf(due, Garbled)
        self.assertTrue(self.transport.disconnecting)

    def test_wake(self) -> None:
        """Two letters, at least 1 ms apart, and READY within ten seconds."""
        waking = self.link.wake()
        self.assertEqual(self.transport.value(), WAKE)
        self.clock.advance(0.002)
        self.assertEqual(self.transport.value(), WAKE * 2)
        self.hear(b"WAIT", b"READY")
        self.successResultOf(waking)
        waking = self.link.wake()
        self.clock.advance(9.999)
        self.assertNoResult(waking)
        self.clock.advance(0.001)
        self.failureResultOf(waking, NotReached)
        self.assertTrue(self.transport.disconnecting)

    def test_wake_lost(self) -> None:
        """A line that breaks, or is given up, while the register wakes."""
        waking = self.link.wake()
        self.link.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(waking, NotReached)
        self.setUp()
        waking = self.link.wake()
        waking.addErrback(lambda _: None)
        waking.cancel()
        self.assertTrue(self.transport.disconnecting)

    def test_settings(self) -> None:
        """The line has even parity, two stop bits and DTR."""
        line = line_settings("COM3")
        self.assertEqual((line.baudrate, line.parity, line.stopbits, line.dtr), (115200, "E", 2, True))
        self.assertEqual(PATIENCE.doubled().wait, 2.0)


class MariaCase(DeskTestCase):
    """A till and a Maria."""

    settings: IronSettings | None = None

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = MariaDevice(self.clock, self.settings) if self.settings else MariaDevice(self.clock)
        self.iron = self.device.iron
        self.desk = Desk(self.clock, self.device)
        self.connect()

    def connect(self) -> None:
        """A new line, and a cashier."""
        self.register = MariaRegister(self.desk.open(lambda: MariaLink(self.clock)))
        self.desk.done(self.register.begin())
        self.do(maria.LogIn(name="Олена"))

    def do(self, command: Any, limit: float = 120) -> Any:
        """Have a command executed."""
        return self.desk.done(self.register.do(command, limit))

    def code(self, command: Any) -> str:
        """The error with which a command is refused."""
        return self.refused(self.desk, self.register.do(command))

    def sell(self) -> maria.Completed:
        """A whole receipt for 51.00."""
        for command in (maria.Cancel(), maria.Open("Крамниця"), BREAD):
            self.do(command)
        completed: maria.Completed = self.do(maria.Complete(5100, cash=6000))
        return completed

    def number(self) -> int:
        """The number of the last receipt."""
        number: int = self.do(maria.ReadNumber()).number
        return number


class MariaTests(MariaCase):
    """What the register does."""

    def test_sale(self) -> None:
        """A receipt: its number, its sum and its tax; change is cash that goes back."""
        self.assertTrue(self.register.link.crc)
        self.assertEqual(self.sell(), maria.Completed(1, 5100, sold_included=850))
        [receipt] = self.iron.ledger
        self.assertEqual((receipt.total, receipt.payments, receipt.change), (5100, ((0, 5100),), 900))
        self.assertEqual((self.number(), self.do(maria.ReadCash()).drawer), (1, 5100))

    def test_payments(self) -> None:
        """Cashless payments have places of their own; zeros everywhere mean cash."""
        for complete in (maria.Complete(5100, cashless1=1000, cash=4100), maria.Complete(5100)):
            for command in (maria.Open(), BREAD, complete):
                self.do(command)
        counters = self.do(maria.ReadCash())
        self.assertEqual((counters.cash, counters.cashless1), (9200, 1000))

    def test_return(self) -> None:
        """A return has lines of its own, and needs cash in the drawer."""
        line = maria.TakeBack("Хлiб", 5100, 2550, 2000, taxes="А02000" + maria.NO_TAX * 7)
        for command in (maria.ReturnOf("1"), maria.Open(), line):
            self.do(command)
        self.assertEqual(self.code(maria.Complete(0, 5100)), "SOFTOVER")
        self.do(maria.Cancel())
        self.do(maria.MoveCash("I", 10000))
        for command in (maria.Open(), line):
            self.do(command)
        self.assertEqual(self.code(BREAD), "SOFTCOMMAN")
        self.assertEqual(self.do(maria.Complete(0, 5100)).returned, 5100)
        self.assertEqual((self.iron.ledger[-1].kind, self.iron.drawer), (Kind.RETURN, 4900))

    def test_expected(self) -> None:
        """The configuration tells whether a receipt is open."""
        opened = []
        for command in (maria.Open(), BREAD, maria.Complete(5100), maria.OpenText()):
            self.do(command)
            found = self.do(maria.ReadConfiguration())
            opened.append((found.receipt_open, found.expects))
        expects = maria.Expects
        self.assertEqual(
            opened,
            [
                (True, expects.FISC | expects.BFIS),
                (True, expects.FISC | expects.COMP),
                (False, expects.PREP | expects.DBEG),
                (False, expects.DEND),
            ],
        )

    def test_sums(self) -> None:
        """Wrong sums void the receipt; cashless above the sum is only refused."""
        for command in (maria.Open(), BREAD):
            self.do(command)
        self.assertEqual(self.code(maria.Complete(5100, cashless1=5200)), "SOFTCHECK")
        self.assertEqual(self.code(maria.Complete(5000)), "SOFTNEED")
        self.assertEqual((self.number(), self.iron.voided, self.iron.ledger), (0, 1, []))

    def test_order(self) -> None:
        """Commands out of their place, wrong lines, strangers."""
        for command in (BREAD, maria.Complete(0), maria.PrintText()):
            self.assertEqual(self.code(command), "SOFTCOMMAN")
        self.do(maria.Open())
        self.assertEqual(self.code(maria.Open()), "SOFTCOMMAN")
        self.assertEqual(self.code(maria.Complete(0)), "SOFTCOMMAN")
        for line, code in (
            (maria.Sell("Хлiб", 5101, 2550, 2000), "SOFTPARAM"),
            (maria.Sell("Хлiб", 5100, 2550, 2000, taxes="А01900" + maria.NO_TAX * 7), "SOFTPARAM"),
            (maria.Sell("Хлiб", 5100, 2550, 2000, sign="-", change=5101), "SOFTBADDISC"),
        ):
            self.assertEqual(self.code(line), code)
        self.do(BREAD)
        self.assertEqual(self.code(maria.Sell("Сiль", 100, 100, 1000)), "SOFTDIFART")
        self.do(maria.Cancel())
        for text in (b"NONE", b"CAIOI1"):
            self.assertIn(self.desk.done(self.register.link.ask(text)).error, (b"SOFTCOMMAN", b"SOFTPARAM"))
        self.assertEqual(self.code(maria.LogIn("2222222222")), "SOFTUPAS")

    def test_reports(self) -> None:
        """ZREP is the X report and changes nothing, NREP the Z report."""
        self.sell()
        self.do(maria.XReport())
        self.assertEqual((self.do(maria.ReadCash()).cash, self.iron.z), (5100, 0))
        self.do(maria.ZReport())
        self.assertEqual((self.do(maria.ReadCash()).cash, self.iron.z, self.number()), (0, 1, 1))

    def test_rest(self) -> None:
        """Cash, text, copy, drawer, date."""
        self.assertEqual(self.code(maria.MoveCash("O", 1)), "SOFTOVER")
        self.assertEqual(self.code(maria.Copy()), "SOFTCOMMAN")
        self.sell()
        for command in (
            maria.OpenText(),
            maria.AddText("0", "0", "0", "Меню"),
            maria.PrintText(),
            maria.ForgetText(),
            maria.Copy(),
            maria.OpenDrawer(),
            maria.Feed(3),
        ):
            self.do(command)
        self.assertEqual((self.iron.copied, self.iron.opened_drawer), (1, 1))
        self.assertEqual(self.do(maria.ReadSchemes()).text[:6], "А02000")
        self.assertEqual(len(self.do(maria.ReadDate()).text + self.do(maria.ReadTime()).text), 14)

    def test_conditions(self) -> None:
        """Paper, cover, the end of the day."""
        self.do(maria.Open())
        self.iron.paper = 0
        self.assertEqual(self.code(BREAD), "HARDPAPER")
        self.iron.paper = 4
        self.do(BREAD)
        self.assertEqual(self.code(maria.Complete(5100)), "HARDPAPER")
        self.iron.paper, self.iron.cover_open = None, True
        self.assertEqual(self.code(maria.Feed(1)), "HARDSENSOR")
        self.iron.cover_open = False
        self.clock.advance(DAY)
        self.do(maria.Complete(5100))
        self.assertEqual(self.code(maria.Open()), "SOFT24HOUR")
        self.assertEqual(self.do(maria.ReadConfiguration()).z_needed, "1")

    def test_modes(self) -> None:
        """The key in position 0 leaves questions only; a register that may not sell says so."""
        self.device.key = "0"
        self.assertEqual(self.code(maria.Open()), "SOFTSL0")
        self.assertEqual(self.do(maria.ReadConfiguration()).key, "0")
        self.device.key, self.iron.unsent = "1", True
        self.assertEqual(self.code(maria.Open()), "SOFTSYSLOC")

    def test_without_crc(self) -> None:
        """A register without the CRC mode works without."""
        self.device.checks_frames = self.device.crc = False
        self.device.awake = False
        self.connect()
        self.assertFalse(self.register.link.crc)
        self.sell()

    def test_without_cashier(self) -> None:
        """Without a cashier nothing is sold."""
        self.device.cashier = ""
        self.assertEqual(self.code(maria.Open()), "SOFTREGIST")


class SmallTests(MariaCase):
    """A register with little room."""

    settings = IronSettings(lines=1, reports=1, articles=1, taxes=8)

    def test_full(self) -> None:
        """Full tables and a full fiscal memory."""
        self.do(maria.Open())
        self.assertEqual(self.do(BREAD), maria.Nothing())
        self.assertEqual(self.code(BREAD), "SOFTOVART")
        self.assertEqual(self.code(maria.Sell("Сiль", 100, 100, 1000, article=2)), "SOFTBADART")
        self.do(maria.Complete(5100))
        self.do(maria.ZReport())
        self.assertEqual(self.code(maria.Open()), "SOFTFMFULL")


class MariaFaultTests(MariaCase):
    """What the till gets when the line or the power fails."""

    def test_slow(self) -> None:
        """Slow printing with signs of life, and many at once, are waited for."""
        for number, fault in enumerate((Fault(What.SLOW, 60), Fault(What.STORM, 500), Fault(What.GARBAGE, 300)), 1):
            self.device.steer = steered(Complete=fault)
            self.assertEqual(self.sell().number, number)

    def test_number_tells(self) -> None:
        """Whatever happens to COMP or its answer, the number of the last receipt tells whether it was done."""
        answer = 120
        faults = [
            Fault(What.UNHEARD),
            Fault(What.REFUSED),
            Fault(What.LOST),
            *(Fault(what, place) for what in (What.SHORT, What.DAMAGED) for place in range(answer)),
        ]
        for fault in faults:
            before, done = self.number(), len(self.iron.ledger)
            self.device.steer = steered(Complete=fault)
            with contextlib.suppress(Silent, Garbled, DeviceRefused):
                self.assertEqual(self.sell().number, before + 1)
            self.assertEqual(self.number() - before, len(self.iron.ledger) - done, fault)
            executed = fault.what not in (What.UNHEARD, What.REFUSED)
            self.assertEqual(self.number() - before, int(executed), fault)

    def test_spoilt_request(self) -> None:
        """COMP that is cut, damaged or lengthened at any byte closes the receipt or not, and the number tells."""
        for spoil in spoilt(70):
            for command in (maria.Cancel(), maria.Open(), BREAD):
                self.do(command)
            before, done = self.number(), len(self.iron.ledger)
            self.desk.spoil = spoil
            with contextlib.suppress(Silent, Garbled, DeviceRefused):
                self.do(maria.Complete(5100, cash=6000))
            self.assertEqual(self.number() - before, len(self.iron.ledger) - done)
        self.assertEqual({receipt.total for receipt in self.iron.ledger}, {5100})

    def test_broken(self) -> None:
        """The line breaks before or after COMP: a new line reads what became of it."""
        for fault, expected in ((Fault(What.BROKEN_BEFORE), 0), (Fault(What.BROKEN_AFTER, 5), 1)):
            self.device.steer = steered(Complete=fault)
            self.assertRaises(LineLost, self.sell)
            self.connect()
            self.assertEqual(self.number(), expected)
            self.assertEqual(self.do(maria.ReadConfiguration()).receipt_open, not expected)
            self.do(maria.Cancel())

    def test_power(self) -> None:
        """After a power cut the register sleeps; its open receipt is void, a closed one is not."""
        for fault, expected in ((Fault(What.DARK_BEFORE, 9), 0), (Fault(What.DARK_AFTER, 9), 1)):
            self.device.steer = steered(Complete=fault)
            self.assertRaises(LineLost, self.sell)
            self.assertRaises(NotReached, self.connect)
            self.clock.advance(9)
            self.connect()
            self.assertEqual((self.number(), self.do(maria.ReadConfiguration()).receipt_open), (expected, False))

    def test_asleep(self) -> None:
        """A register that nobody woke hears nothing."""
        self.device.forget()
        self.assertRaises(Silent, self.do, maria.ReadNumber())

    def test_chaos(self) -> None:
        """Faults on any command: every receipt that the till knows is there once, and no other."""
        chance = random.Random(25)
        faults = [Fault(what, place) for what in (What.SHORT, What.DAMAGED, What.BROKEN_AFTER) for place in range(60)]
        faults += [Fault(What.UNHEARD), Fault(What.REFUSED), Fault(What.LOST), Fault(What.BROKEN_BEFORE)] * 20
        known = 0
        for _ in range(60):
            self.device.steer = lambda _: chance.choice(faults) if chance.random() < 0.05 else None
            with contextlib.suppress(WireError):
                self.sell()
            self.device.steer = lambda _: None
            if self.register.link.gone:
                self.connect()
            self.do(maria.Cancel())
            grown = self.number() - known
            self.assertIn(grown, (0, 1))
            known += grown
            self.assertEqual(len(self.iron.ledger), known)
        self.assertGreater(known, 30)
