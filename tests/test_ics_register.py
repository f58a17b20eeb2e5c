"""ICS registers: sales, rules and faults, with the simulator at the other end of the line."""

from __future__ import annotations

import contextlib
import random
from typing import Any

from twisted.internet.task import Clock

from protocols.errors import LineLost, Silent
from protocols.registers.ics import commands as ics
from protocols.registers.ics.commands import PayKind, Reserve
from protocols.registers.ics.link import PATIENCE, REPORT_LIMIT, IcsLink, IcsRegister, numbers
from protocols.registers.troubles import DeviceRefused, NotTaken, Trouble
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.iron import DAY, IronSettings, Kind
from tests.register_desk import Desk, DeskTestCase, Fault, What, always, every, spoilt, steered

BREAD = ics.Sell(2000, 3, 2550, ics.FIRST_TAX, "Хлiб", 7)

HARMLESS = (
    Fault(What.UNHEARD),
    Fault(What.REFUSED),
    Fault(What.SLOW, 2),
    Fault(What.STORM, 3000),
    Fault(What.LOST),
    Fault(What.GARBAGE, 200),
    *(Fault(what, place) for what in (What.SHORT, What.DAMAGED) for place in range(20)),
)
"""Faults that repeats mend."""


class IcsCase(DeskTestCase):
    """A till and a register."""

    settings = IronSettings(taxes=6)
    crc = False

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = IcsDevice(self.clock, self.settings, crc=self.crc)
        self.iron = self.device.iron
        self.desk = Desk(self.clock, self.device)
        self.numbers = numbers()
        self.connect()
        self.do(ics.LogIn(0, 1, "Олена"))

    def connect(self) -> None:
        """A new line."""
        self.register = IcsRegister(self.desk.open(lambda: IcsLink(self.clock, self.numbers, self.crc)))

    def do(self, command: Any, limit: float = 5.0, again: bool = False) -> Any:
        """Have a command executed."""
        return self.desk.done(self.register.do(command, limit, again))

    def code(self, command: Any) -> str:
        """The RESULT with which a command is refused."""
        return self.refused(self.desk, self.register.do(command))

    def sell(self) -> ics.Paid:
        """A whole receipt for 51.00."""
        self.do(BREAD)
        paid: ics.Paid = self.do(ics.Pay(PayKind.CASH, 5100))
        return paid

    def count(self, place: tuple[int, int] = ics.SALES) -> int:
        """A counter in the memory."""
        count: int = self.do(ics.ReadMemory(place[0], ics.MEMORY_PAGE, place[1])).number
        return count


class IcsTests(IcsCase):
    """What the register does."""

    def test_sale(self) -> None:
        """Two lines, discounts, two payments, change; every answer tells whether the receipt is open."""
        self.assertEqual(self.do(BREAD), ics.LineAdded(5100, 5100))
        self.assertTrue(self.register.receipt_open)
        self.assertEqual(self.do(ics.Change(ics.ChangeKind.LINE_PERCENT, -1000)), ics.LineAdded(4590, 4590))
        self.assertEqual(self.do(ics.Sell(1, 0, 1000, ics.FIRST_TAX, None, 7)), ics.LineAdded(1000, 5590))
        self.assertEqual(self.do(ics.Change(ics.ChangeKind.TOTAL_SUM, -90)).total, 5500)
        self.do(ics.Comment("Дякуємо"))
        self.assertEqual(self.do(ics.Pay(PayKind.CARD, 1500)), ics.Paid(4000))
        self.assertEqual(self.do(ics.Pay(PayKind.CASH, 5000)), ics.Paid(-1000, 1))
        self.assertFalse(self.register.receipt_open)
        [receipt] = self.iron.ledger
        self.assertEqual((receipt.total, receipt.payments, receipt.change), (5500, ((0, 4000), (1, 1500)), 1000))
        self.assertEqual((self.do(ics.ReadDrawer()).cash, self.count(), self.count(ics.RETURNS)), (4000, 1, 0))

    def test_open_when_paid(self) -> None:
        """Without bit 31 a paid receipt stays open until a payment of nothing has it."""
        self.do(BREAD)
        self.do(ics.Pay(PayKind.CASH, 5100, closes=False))
        self.assertTrue(self.register.receipt_open)
        self.assertEqual(self.code(ics.Pay(PayKind.CASH, 1)), "16")
        self.do(ics.Pay(PayKind.CASH, 0))
        self.assertFalse(self.register.receipt_open)

    def test_return(self) -> None:
        """A return has its own lines, its own bit and its own counter."""
        self.sell()
        self.do(ics.Comment("до чека 1", opens_return=True))
        self.assertIn(Reserve.RETURN, self.register.head.reserve)
        self.assertEqual(self.code(BREAD), "37")
        self.do(ics.TakeBack(1000, 3, 2550, ics.FIRST_TAX, "Хлiб", 7))
        self.do(ics.Pay(PayKind.CASH, 2550))
        self.assertEqual((self.count(), self.count(ics.RETURNS)), (1, 1))
        self.assertEqual(self.iron.ledger[-1].kind, Kind.RETURN)
        self.do(BREAD)
        self.assertEqual(self.code(ics.TakeBack(1000, 3, 2550, ics.FIRST_TAX, "Хлiб", 7)), "38")

    def test_refused(self) -> None:
        """Each rule has its RESULT, and a refused command changed nothing."""
        outside: tuple[tuple[Any, str], ...] = (
            (ics.Pay(PayKind.CASH, 1), "39"),
            (ics.Cancel(), "39"),
            (ics.Copy(), "16"),
            (ics.TakeOut(1), "35"),
            (ics.Sell(1, 0, 1, ics.FIRST_TAX, None, 9), "22"),
            (ics.Sell(1, 0, 1, 0x90, "x", 9), "23"),
            (ics.Sell(0, 0, 1, ics.FIRST_TAX, "x", 9), "28"),
            (ics.Sell(1, 0, 2_000_000_000, ics.FIRST_TAX, "x", 9), "32"),
            (ics.ZReport(7), "21"),
            (ics.LogIn(7, 1, "x"), "21"),
        )
        for command, code in outside:
            self.assertEqual((self.code(command), self.register.receipt_open), (code, False), command)
        self.do(BREAD)
        in_receipt: tuple[tuple[Any, str], ...] = (
            (ics.Sell(1, 0, 1, ics.FIRST_TAX, "Сiль", 7), "43"),
            (ics.Pay(PayKind.CARD, 9999), "34"),
            (ics.Pay(9, 1), "24"),
            (ics.ZReport(), "44"),
            (ics.Change(ics.ChangeKind.LINE_SUM, -5101), "27"),
            (ics.Change(9, 1), "27"),
        )
        for command, code in in_receipt:
            self.assertEqual(self.code(command), code, command)
        self.do(ics.Pay(PayKind.CARD, 100))
        self.assertEqual((self.code(BREAD), self.code(ics.Change(1, -1))), ("46", "46"))
        for number, data, result in ((99, b"", 16), (18, b"rubbish", 20)):
            frame = self.desk.done(self.register.link.ask(number, data, 5))
            self.assertEqual(frame.data[1], result)
        self.do(ics.Cancel())
        self.assertEqual((self.iron.ledger, self.iron.voided), ([], 1))

    def test_reports(self) -> None:
        """X changes nothing; Z empties the counters and is counted."""
        self.sell()
        self.do(ics.XReport(), REPORT_LIMIT)
        self.assertEqual(self.count(), 1)
        self.do(ics.ZReport(), REPORT_LIMIT)
        self.assertEqual(self.count(), 0)
        self.assertEqual(self.do(ics.ReadMemory(*reversed_(ics.Z_NUMBER))).raw.hex(), "0001")

    def test_rest(self) -> None:
        """Cash, drawer, copy, feed, date, who it is."""
        self.do(ics.PutIn(10000))
        self.do(ics.TakeOut(4000))
        self.assertEqual(self.do(ics.ReadDrawer()), ics.Drawer(6000))
        self.do(ics.OpenDrawer())
        self.do(ics.Feed())
        self.do(ics.Copy())
        self.assertEqual((self.iron.opened_drawer, self.iron.copied), (1, 1))
        self.assertEqual(len(self.do(ics.ReadDate()).digits + self.do(ics.ReadTime()).digits), 12)
        self.assertEqual(self.do(ics.ReadState()).version, "ЕП-11" if self.crc else "ЕП-06")

    def test_conditions(self) -> None:
        """No paper, an open cover and the end of the day."""
        self.do(BREAD)
        self.iron.paper = 1
        self.assertEqual(self.code(ics.Pay(PayKind.CASH, 5100)), "2")
        self.iron.paper = 0
        self.assertEqual(self.code(BREAD), "2")
        self.assertIn(Reserve.NO_PAPER, self.register.head.reserve)
        self.iron.paper, self.iron.cover_open = None, True
        self.assertEqual(self.code(BREAD), "1")
        self.iron.cover_open = False
        self.clock.advance(DAY)
        self.do(ics.Pay(PayKind.CASH, 5100))
        error = self.assertRaises(DeviceRefused, self.do, BREAD)
        self.assertEqual((error.code, error.meaning.trouble), ("41", Trouble.SHIFT_OVER))

    def test_modes(self) -> None:
        """A register that is not fiscalised, or has sent nothing for 72 hours, sells nothing."""
        self.iron.unsent = True
        self.assertEqual(self.code(BREAD), "47")
        self.iron.fiscalised = False
        self.assertEqual((self.code(BREAD), self.code(ics.ZReport())), ("42", "42"))
        self.assertNotIn(Reserve.FISCALISED, self.register.head.reserve)

    def test_without_cashier(self) -> None:
        """Without a cashier nothing is sold."""
        self.device.cashier = ""
        self.assertEqual((self.code(BREAD), self.register.receipt_open), ("16", False))


class CrcTests(IcsTests):
    """The same with a CRC behind every frame."""

    crc = True


class SmallTests(IcsCase):
    """A register with little room."""

    settings = IronSettings(taxes=6, reports=1, articles=1, lines=1)

    def test_full(self) -> None:
        """Full tables and a full fiscal memory."""
        self.do(BREAD)
        self.assertEqual(self.code(BREAD), "31")
        self.assertEqual(self.code(ics.Sell(1, 0, 1, ics.FIRST_TAX, "x", 9)), "40")
        self.do(ics.Pay(PayKind.CASH, 5100))
        self.do(ics.ZReport())
        self.assertEqual((self.code(BREAD), self.code(ics.ZReport())), ("8", "8"))


class IcsFaultTests(IcsCase):
    """What the till gets when the line or the power fails."""

    def test_harmless(self) -> None:
        """Any fault that repeats mend, on a line or on the payment: one receipt."""
        for fault in HARMLESS:
            for name in ("Sell", "Pay"):
                before = len(self.iron.ledger)
                self.device.steer = steered(**{name: fault})
                self.assertEqual(self.sell().packet, before + 1)
                self.assertEqual(len(self.iron.ledger), before + 1, (name, fault))
        self.assertEqual({receipt.total for receipt in self.iron.ledger}, {5100})

    def test_chaos(self) -> None:
        """A fault on every twentieth word of the line: each receipt is there once."""
        chance = random.Random(25)
        self.device.steer = lambda _: chance.choice(HARMLESS) if chance.random() < 0.05 else None
        for number in range(1, 101):
            self.assertEqual(self.sell().packet, number)
        self.assertEqual([receipt.total for receipt in self.iron.ledger], [5100] * 100)

    def test_dead(self) -> None:
        """Three copies every 800 ms, then the outcome is unknown, or nothing happened."""
        for what, error in ((What.UNHEARD, Silent), (What.LOST, Silent), (What.REFUSED, NotTaken)):
            self.device.steer = always(Fault(what))
            self.assertRaises(error, self.do, ics.OpenDrawer())
        self.assertEqual((PATIENCE.reply_wait, PATIENCE.repeats, self.iron.opened_drawer), (0.8, 2, 1))

    def test_broken_at_every_byte(self) -> None:
        """The line breaks at any byte of the answer to the payment: the same bytes again tell the same packet."""
        for cut in range(24):
            before = len(self.iron.ledger)
            self.device.steer = steered(Pay=Fault(What.BROKEN_AFTER, cut))
            try:
                paid = self.sell()
            except LineLost:
                self.connect()
                paid = self.do(ics.Pay(PayKind.CASH, 5100), again=True)
            self.assertEqual((paid.packet, len(self.iron.ledger)), (before + 1, before + 1), cut)
            self.connect()

    def test_spoilt_request(self) -> None:
        """A payment that is cut, damaged or lengthened at any byte is sent again: one receipt."""
        for spoil in spoilt(13):
            before = len(self.iron.ledger)
            self.do(BREAD)
            self.desk.spoil = spoil
            with contextlib.suppress(DeviceRefused):
                # A lost or added 00 has a right sum and a wrong length.
                self.do(ics.Pay(PayKind.CASH, 5100))
            if self.register.receipt_open:
                self.do(ics.Pay(PayKind.CASH, 5100))
            self.assertEqual(len(self.iron.ledger), before + 1)

    def test_counters_tell(self) -> None:
        """After a break the state and the counter of receipts tell whether the receipt was closed."""
        for fault, closed in ((Fault(What.BROKEN_BEFORE), 0), (Fault(What.BROKEN_AFTER), 1), (Fault(What.LOST), 1)):
            before = self.count()
            self.device.steer = every(Pay=fault)
            self.assertRaises((LineLost, Silent), self.sell)
            self.device.steer = always(None)
            self.connect()
            self.desk.done(self.register.greet())
            self.assertEqual(self.count() - before, closed)
            self.assertEqual(self.register.receipt_open, not closed)
            if not closed:
                self.do(ics.Cancel())

    def test_power(self) -> None:
        """The power fails before the payment: the receipt is still open."""
        self.device.steer = steered(Pay=Fault(What.DARK_BEFORE, 1))
        self.assertRaises(LineLost, self.sell)
        self.clock.advance(1)
        self.connect()
        self.desk.done(self.register.greet())
        self.assertEqual((self.count(), self.register.receipt_open), (0, True))


def reversed_(place: tuple[int, int]) -> tuple[int, int, int]:
    """Address, page and size of a place in the memory."""
    return place[0], ics.MEMORY_PAGE, place[1]
