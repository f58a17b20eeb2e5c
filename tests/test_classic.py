"""The service as a classic Datecs register in front of its own: what a till that knows only such a device gets."""

from __future__ import annotations

from collections.abc import Callable

from protocols.errors import LineLost
from protocols.registers.datecs import classic
from protocols.registers.datecs.classic import PaidAnswer, ReceiptState
from protocols.registers.troubles import DeviceRefused
from tests.till_desk import Killed, Kills, TillCase


class SaleTests(TillCase):
    """Receipts of all kinds."""

    def test_sale(self) -> None:
        """A receipt with discounts, a line taken back, texts, two payments and change is one sale of the register."""
        self.program()
        self.assertEqual(self.do(classic.Open()), classic.Counts(0, 0))
        self.assertIn(classic.RECEIPT_OPEN, self.till.status)
        self.do(classic.PrintFiscalText("Вітаємо"))
        self.do(classic.Sell(1, 2000, percent=-1000))
        self.do(classic.Sell(1, 1000, 1000))
        self.do(classic.Sell(1, 1000, 1000, sign="-"))
        subtotal = self.do(classic.Subtotal("1", "1", change=-90))
        self.assertEqual((subtotal.total, subtotal.by_tax), (4500, (4500, 0, 0, 0, 0)))
        self.do(classic.PrintFiscalText("Дякуємо"))
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(1, 1, 4500, 0))
        self.assertEqual(self.do(classic.Pay("C", 1000)), PaidAnswer("D", 3500))
        self.assertEqual(self.do(classic.Pay("P", 5000)), PaidAnswer("R", 1500))
        self.assertEqual(self.do(classic.Close()), classic.Counts(1, 1))
        self.assertEqual(self.forms(), (3500, 0, 1000, 0))
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(0, 0, 0, 0))
        self.assertEqual(self.do(classic.ReadDay()).sums.split(",")[0], "0000004500")
        self.assertEqual(self.sales(), [4500])
        self.assertEqual(self.state().safe, 3500)


class KillTests(TillCase):
    """The service is killed at each durable step of a closing, and starts again."""

    def setUp(self) -> None:
        super().setUp()
        self.program()
        self.sell(1)
        self.kills = Kills(self)
        self.cash = 0

    def each(self, go_on: Callable[[], bool]) -> None:
        """Kill at each step; ``go_on`` is what the till does then: whether its receipt is closed, as it knows."""
        self.paid()
        self.kills.at(0)
        self.do(classic.Close())
        steps = list(self.kills.passed)
        self.assertIn("document.intent-stored", steps)
        outcomes = set()
        for step, name in enumerate(steps, 1):
            before = len(self.sales())
            self.cash = self.forms()[0]
            self.paid()
            self.kills.at(step)
            self.assertRaises(LineLost, self.do, classic.Close())
            self.kills.at(0)
            self.flushLoggedErrors(Killed)
            self.crash()
            closed = go_on()
            self.assertEqual(self.sales()[before:], [5100] * closed, name)
            self.assertEqual(self.forms()[0], self.cash + 5100 * closed, name)
            self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(0, 0, 0, 0))
            self.assertEqual(self.state().totals.base_p, sum(self.sales()))
            outcomes.add(closed)
        self.assertEqual(outcomes, {False, True})

    def closed(self, again: bool) -> bool:
        """Close; whether that is done."""
        try:
            return bool(self.do(classic.Close(), again=again).receipts)
        except DeviceRefused:
            return False

    def grown(self) -> bool:
        """Whether the sums say that the receipt is closed."""
        return self.forms()[0] == self.cash + 5100

    def test_same_bytes(self) -> None:
        """The till sends the same bytes again: the receipt is closed, or lost before its closing began."""

        def go_on() -> bool:
            self.connect()
            return self.closed(again=True)

        self.each(go_on)

    def test_closes_again(self) -> None:
        """The till closes again by a new command."""

        def go_on() -> bool:
            self.begin()
            return self.closed(again=False)

        self.each(go_on)

    def test_looks(self) -> None:
        """The till reads the sums."""

        def go_on() -> bool:
            self.begin()
            return self.grown()

        self.each(go_on)

    def test_cancels(self) -> None:
        """The till looks for an open receipt and cancels it."""

        def go_on() -> bool:
            self.begin()
            if classic.RECEIPT_OPEN in self.till.status:
                try:
                    self.do(classic.Cancel())
                except DeviceRefused:
                    return True
            return self.grown()

        self.each(go_on)

    def test_next(self) -> None:
        """The till begins the next receipt: what became of the last one is found out first."""

        def go_on() -> bool:
            self.begin()
            self.do(classic.Open())
            closed = self.grown()
            self.do(classic.Cancel())
            return closed

        self.each(go_on)
