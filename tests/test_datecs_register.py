"""Registers of both Datecs dialects: sales, rules and faults, with the simulators at the other end of the line."""

from __future__ import annotations

import random
from collections.abc import Awaitable
from typing import Any

from twisted.internet.task import Clock

from protocols.errors import LineLost, NotReached, Silent
from protocols.registers.datecs import classic
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.link import (
    CLOSE_LIMIT,
    Z_LIMIT,
    ClassicRegister,
    DatecsLink,
    UkrainianRegister,
    numbers,
)
from protocols.registers.troubles import NotTaken, Trouble
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.iron import DAY, AfterCut, IronSettings, Kind
from tests.register_desk import Desk, DeskTestCase, Fault, What, always, spoilt, steered

HARMLESS = (
    Fault(What.UNHEARD),
    Fault(What.REFUSED),
    Fault(What.SLOW, 2),
    Fault(What.STORM, 3000),
    Fault(What.LOST),
    Fault(What.GARBAGE, 200),
    *(Fault(what, place) for what in (What.SHORT, What.DAMAGED) for place in range(22)),
)
"""Faults that repeats mend."""


class UkrainianCase(DeskTestCase):
    """A till and a register of the Ukrainian dialect."""

    settings = IronSettings(needs_operators=True)

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = UkrainianDevice(self.clock, self.settings)
        self.iron = self.device.iron
        self.desk = Desk(self.clock, self.device)
        self.numbers = numbers()
        self.connect()
        self.do(ua.WriteOperator(1, "0000", "Олена"))
        self.do(ua.WriteArticle(20, "Вода", 0))

    def connect(self) -> None:
        """A new line."""
        link = self.desk.open(lambda: DatecsLink(self.clock, self.numbers))
        self.register = UkrainianRegister(link)

    def do(self, command: Any, limit: float = 5.0, again: bool = False) -> Any:
        """Have a command executed."""
        return self.desk.done(self.register.do(command, limit, again))

    def code(self, command: Any) -> str:
        """The code with which a command is refused."""
        return self.refused(self.desk, self.register.do(command))

    def state(self) -> ua.Document:
        """The state of the document by the last answer."""
        return ua.document_of(self.register.status)

    def sell(self, *commands: Any) -> ua.Closed:
        """A whole receipt of one line for 25.50, with ``commands`` behind the line."""
        self.do(ua.Open(1, 1, ua.Opens.SALE))
        self.do(ua.Sell(20, 1000, 2550))
        for command in commands:
            self.do(command)
        due = self.do(ua.Total()).amount
        self.do(ua.Pay(ua.Form.CASH, due))
        closed: ua.Closed = self.do(ua.Close(), CLOSE_LIMIT)
        return closed


class UkrainianTests(UkrainianCase):
    """What the register does."""

    def test_sale(self) -> None:
        """The flow of the log: every answer has the sum so far, every status the state of the document."""
        states = []
        for command, amount in (
            (ua.Open(1, 1, 0), None),
            (ua.Sell(20, 1500, 2550), 3825),
            (ua.Percent(-1000), None),
            (ua.Total(1), 3442),
            (ua.Pay(1, 1000), 2442),
            (ua.Pay(0, 5000), 0),
        ):
            answer = self.do(command)
            self.assertEqual(getattr(answer, "amount", None), amount)
            states.append(self.state().name)
        self.assertEqual(states, ["OPEN", "SALES", "SALES", "TOTALLED", "TOTALLED", "PAID"])
        self.assertEqual(self.do(ua.Close(1)), ua.Closed(1))
        self.assertEqual(self.state(), ua.Document.NONE)
        [receipt] = self.iron.ledger
        self.assertEqual((receipt.total, receipt.payments, receipt.change), (3442, ((0, 2442), (1, 1000)), 2558))
        self.assertEqual((self.do(ua.ReadSum(ua.DRAWER)), self.do(ua.ReadSum(1))), (ua.Sum(2442), ua.Sum(1000)))

    def test_return(self) -> None:
        """A return takes cash out of the drawer, if there is enough."""
        self.sell()
        for amount, code in ((2550, None), (2550, "080B")):
            self.do(ua.Open(1, 1, ua.Opens.RETURN))
            self.do(ua.Sell(20, 1000, amount))
            self.do(ua.Total())
            if code:
                self.assertEqual(self.code(ua.Pay(0, amount)), code)
                self.do(ua.Void())
            else:
                self.do(ua.Pay(0, amount))
                self.do(ua.Close())
        self.assertEqual([each.kind for each in self.iron.ledger], [Kind.SALE, Kind.RETURN])
        self.assertEqual((self.iron.drawer, self.iron.voided), (0, 1))

    def test_cash(self) -> None:
        """Cash moves in a document of its own; more than there is cannot be taken out."""
        for amount in (10000, -4000):
            self.do(ua.Open(1, 0, ua.Opens.CASH))
            self.do(ua.MoveCash(0, amount))
            self.do(ua.Close())
        self.do(ua.Open(1, 0, ua.Opens.CASH))
        self.assertEqual(self.code(ua.MoveCash(0, -6001)), "080B")
        self.do(ua.Void())
        self.assertEqual(self.do(ua.ReadSum(0)).amount, 6000)

    def test_text(self) -> None:
        """A document of text is registered nowhere."""
        self.do(ua.OpenText())
        self.assertEqual(self.state(), ua.Document.TEXT)
        self.do(ua.PrintText("Меню"))
        self.do(ua.Close())
        self.assertEqual(self.iron.ledger, [])

    def test_reports(self) -> None:
        """X changes nothing; Z empties the sums and frees the articles."""
        self.sell()
        self.do(ua.Report(ua.ReportKind.X), Z_LIMIT)
        self.assertEqual(self.do(ua.ReadSum(0)).amount, 2550)
        self.assertEqual(self.code(ua.WriteArticle(20, "Сік", 0)), "040A")
        self.assertEqual(self.code(ua.WriteForm(2, "83", "Бонус")), "0107")
        self.do(ua.Report(ua.ReportKind.Z), Z_LIMIT)
        self.do(ua.WriteArticle(20, "Сік", 0))
        self.do(ua.WriteForm(2, "83", "Бонус"))
        self.assertEqual(self.do(ua.ReadForm(2)).name, "Бонус")
        self.assertEqual(self.do(ua.ReadState()).z, 2)
        self.assertEqual(self.do(ua.ReadLastZ()).third, "01")

    def test_identity(self) -> None:
        """The register says who it is."""
        self.assertEqual(self.do(ua.ReadFirmware()).model, "Datecs FP-101")
        self.assertEqual(self.do(ua.ReadLineSettings()).speed, 9600)
        self.assertEqual(self.do(ua.ReadOperator(1)).name, "Олена")

    def test_order(self) -> None:
        """Commands out of their place are refused and change nothing."""
        for command in (ua.Sell(20, 1000, 100), ua.Total(), ua.Pay(0, 100), ua.Close(), ua.Change(-5), ua.Void()):
            self.assertEqual(self.code(command), "000B")
        self.assertEqual(self.code(ua.Open(1, 1, 7)), "000B")
        self.do(ua.Open(1, 1, 0))
        self.assertEqual(self.code(ua.Open(1, 1, 0)), "000B")
        self.assertEqual(self.code(ua.Report(0)), "000B")
        self.assertEqual(self.code(ua.Close()), "000B")
        self.do(ua.Sell(20, 1000, 1000))
        self.do(ua.Change(-100))
        self.assertEqual(self.code(ua.Change(-100)), "000B")
        self.do(ua.Total())
        self.assertEqual(self.code(ua.Sell(20, 1000, 100)), "000B")
        self.do(ua.Pay(1, 500))
        self.assertEqual(self.code(ua.Close()), "000B")
        self.assertEqual(self.code(ua.Pay(1, 500)), "0A0B")
        self.assertEqual(self.code(ua.Pay(9, 400)), "090B")
        self.assertEqual(self.iron.ledger, [])

    def test_data(self) -> None:
        """Wrong data has an error of its own."""
        for command, code in (
            (ua.WriteArticle(1, "x", 7), "050A"),
            (ua.ReadOperator(9), "020A"),
            (ua.Open(9, 1, 0), "020A"),
        ):
            self.assertEqual(self.code(command), code)
        self.do(ua.Open(1, 1, 0))
        for sale, code in (
            (ua.Sell(404, 1000, 1), "020A"),
            (ua.Sell(20, 0, 1), "0204"),
            (ua.Sell(20, 1000, 10**10), "0C0B"),
        ):
            self.assertEqual(self.code(sale), code)
        self.do(ua.Sell(20, 1000, 100))
        self.assertEqual(self.code(ua.Void("-1.01")), "0B0B")
        self.assertEqual(self.code(ua.Void("x")), "0103")
        frame = self.desk.done(self.register.link.ask(0xF3, b"000000;", 5))
        self.assertEqual(frame.data, b"0002;")
        frame = self.desk.done(self.register.link.ask(0x64, b"000000;20;", 5))
        self.assertEqual(frame.data, b"0203;")

    def test_password(self) -> None:
        """A wrong password is refused."""
        stranger = UkrainianRegister(self.register.link, "123456")
        self.assertEqual(self.refused(self.desk, stranger.do(ua.Open(1, 1, 0))), "0006")

    def test_paper(self) -> None:
        """The paper ends in a receipt: the command did nothing, and the receipt goes on with new paper."""
        self.do(ua.Open(1, 1, 0))
        self.iron.paper = 1
        self.do(ua.Sell(20, 1000, 100))
        self.assertEqual(self.code(ua.Sell(20, 1000, 100)), "0101")
        self.iron.paper, self.iron.cover_open = None, True
        self.assertEqual(self.code(ua.Total()), "0101")
        self.iron.cover_open = False
        self.assertEqual(self.do(ua.Total()).amount, 100)

    def test_day(self) -> None:
        """After 24 hours an open receipt can be finished, and only a Z report begins the next."""
        self.do(ua.Open(1, 1, 0))
        self.do(ua.Sell(20, 1000, 100))
        self.clock.advance(DAY)
        self.do(ua.Pay(0, 100))
        self.do(ua.Close())
        self.assertEqual(self.code(ua.Open(1, 1, 0)), "0905")
        self.do(ua.Report(ua.ReportKind.Z), Z_LIMIT)
        self.do(ua.Open(1, 1, 0))

    def test_not_fiscalised(self) -> None:
        """A register that is not fiscalised, or has sent nothing for 72 hours, sells nothing."""
        self.iron.unsent = True
        self.assertEqual(self.code(ua.Open(1, 1, 0)), "000B")
        self.iron.fiscalised = False
        for command in (ua.Open(1, 1, 0), ua.Report(ua.ReportKind.Z)):
            self.assertEqual(self.code(command), "0705")


class SmallTests(UkrainianCase):
    """A register with little room."""

    settings = IronSettings(reports=1, articles=2, lines=2, needs_operators=True)

    def test_full(self) -> None:
        """Full tables and a full fiscal memory are refused."""
        self.do(ua.WriteArticle(21, "Сік", 1))
        self.assertEqual(self.code(ua.WriteArticle(22, "Чай", 1)), "000A")
        self.do(ua.Open(1, 1, 0))
        for _ in range(2):
            self.do(ua.Sell(20, 1000, 100))
        self.assertEqual(self.code(ua.Sell(20, 1000, 100)), "010B")
        self.do(ua.Void())
        self.do(ua.Report(ua.ReportKind.Z), Z_LIMIT)
        for command in (ua.Open(1, 1, 0), ua.Report(ua.ReportKind.Z)):
            self.assertEqual(self.code(command), "0005")


class UkrainianFaultTests(UkrainianCase):
    """What the till gets when the line or the power fails."""

    def test_harmless(self) -> None:
        """Any fault that repeats mend, on any command of a receipt: one receipt."""
        for fault in HARMLESS:
            for name in ("Open", "Sell", "Total", "Pay", "Close"):
                before = len(self.iron.ledger)
                self.device.steer = steered(**{name: fault})
                closed = self.sell()
                self.assertEqual((len(self.iron.ledger), closed.number), (before + 1, before + 1), (name, fault))
        self.assertEqual({receipt.total for receipt in self.iron.ledger}, {2550})

    def test_chaos(self) -> None:
        """A fault on every third word of the line: each receipt is there once."""
        chance = random.Random(25)
        self.device.steer = lambda _: chance.choice(HARMLESS) if chance.random() < 0.2 else None
        for number in range(1, 101):
            self.assertEqual(self.sell().number, number)
        self.assertEqual([receipt.total for receipt in self.iron.ledger], [2550] * 100)

    def test_dead(self) -> None:
        """A register that never answers is silent, and one that refuses every copy did nothing."""
        for what, error in ((What.UNHEARD, Silent), (What.LOST, Silent), (What.REFUSED, NotTaken)):
            self.device.steer = always(Fault(what))
            self.assertRaises(error, self.do, ua.OpenText())

    def test_broken_at_every_byte(self) -> None:
        """The line breaks at any byte of the answer to Close: the same bytes again tell the same number."""
        for cut in range(26):
            before = len(self.iron.ledger)
            self.device.steer = steered(Close=Fault(What.BROKEN_AFTER, cut))
            try:
                closed = self.sell()
            except LineLost:
                self.connect()
                closed = self.do(ua.Close(), CLOSE_LIMIT, again=True)
            self.assertEqual((closed.number, len(self.iron.ledger)), (before + 1, before + 1), cut)
            self.connect()

    def test_spoilt_request(self) -> None:
        """A command that is cut, damaged or lengthened at any byte is sent again: one receipt."""
        for spoil in spoilt(18):
            before = len(self.iron.ledger)
            for command in (ua.Open(1, 1, 0), ua.Sell(20, 1000, 100), ua.Pay(0, 100)):
                self.do(command)
            self.desk.spoil = spoil
            self.assertEqual(self.do(ua.Close()), ua.Closed(before + 1))
            self.assertEqual(len(self.iron.ledger), before + 1)

    def test_broken_before(self) -> None:
        """The line breaks before Close arrives: the same bytes again close the receipt."""
        self.device.steer = steered(Close=Fault(What.BROKEN_BEFORE))
        self.assertRaises(LineLost, self.sell)
        self.connect()
        self.assertEqual(self.do(ua.Close(), CLOSE_LIMIT, again=True), ua.Closed(1))

    def test_new_process(self) -> None:
        """A till that does not know the last number greets, and is never given an old answer."""
        self.sell()
        self.numbers = numbers(used=self.device.played.number - 1 if self.device.played.number else 0)
        self.connect()
        self.desk.done(self.register.greet())
        self.assertEqual(self.do(ua.ReadSum(0)).amount, 2550)

    def test_state_after_break(self) -> None:
        """After a break the state of the document and the sums tell whether the receipt was closed."""
        for fault, state, drawer in (
            (Fault(What.BROKEN_BEFORE), ua.Document.PAID, 0),
            (Fault(What.BROKEN_AFTER), ua.Document.NONE, 2550),
        ):
            self.device.steer = steered(Close=fault)
            self.assertRaises(LineLost, self.sell)
            self.connect()
            self.desk.done(self.register.greet())
            self.assertEqual(self.do(ua.ReadSum(0)).amount, drawer)
            self.assertEqual(self.state(), state)
            if state is ua.Document.PAID:
                self.do(ua.Void())

    def test_power(self) -> None:
        """The power fails in a receipt: nobody answers until it is back, and the document is still open."""
        self.device.steer = steered(Total=Fault(What.DARK_AFTER, 30))
        self.assertRaises(LineLost, self.sell)
        self.assertRaises(NotReached, self.connect)
        self.clock.advance(30)
        self.connect()
        self.desk.done(self.register.greet())
        self.do(ua.ReadState())
        self.assertEqual(self.state(), ua.Document.TOTALLED)
        self.do(ua.Void())
        self.assertEqual((self.iron.ledger, self.iron.voided), ([], 1))


class VoidingTests(UkrainianCase):
    """A register that voids the open document when its power is back."""

    settings = IronSettings(needs_operators=True, after_cut=AfterCut.VOIDS)

    def test_power(self) -> None:
        """Nothing is open, and nothing was sold."""
        self.device.steer = steered(Close=Fault(What.DARK_BEFORE, 1))
        self.assertRaises(LineLost, self.sell)
        self.clock.advance(1)
        self.connect()
        self.desk.done(self.register.greet())
        self.assertEqual(self.do(ua.ReadSum(0)).amount, 0)
        self.assertEqual(self.state(), ua.Document.NONE)


class ClassicCase(DeskTestCase):
    """A till and a register of the classic dialect."""

    settings = IronSettings()

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = ClassicDevice(self.clock, self.settings)
        self.iron = self.device.iron
        self.desk = Desk(self.clock, self.device)
        self.numbers = numbers()
        self.connect()
        self.assertEqual(self.do(classic.WriteArticle("P", "А", 1, price=2550, name="Хліб")), classic.Result("P"))

    def connect(self) -> None:
        """A new line."""
        self.register = ClassicRegister(self.desk.open(lambda: DatecsLink(self.clock, self.numbers)))

    def do(self, command: Any, limit: float = 5.0, again: bool = False) -> Any:
        """Have a command executed."""
        return self.desk.done(self.register.do(command, limit, again))

    def trouble(self, command: Any) -> tuple[str, Trouble]:
        """How a command is refused."""
        doing: Awaitable[object] = self.register.do(command)
        code = self.refused(self.desk, doing)
        refusal = self.register.status.refusal
        assert refusal is not None
        return code, refusal.meaning.trouble

    def sell(self) -> classic.Counts:
        """A whole receipt for 51.00."""
        self.do(classic.Open())
        self.do(classic.Sell(1, 2000))
        total = self.do(classic.Subtotal()).total
        self.do(classic.Pay("P", total))
        counts: classic.Counts = self.do(classic.Close(), CLOSE_LIMIT)
        return counts


class ClassicTests(ClassicCase):
    """What the register does."""

    def test_sale(self) -> None:
        """A receipt with a discount, two payments and change."""
        self.assertEqual(self.do(classic.Open()), classic.Counts(0, 0))
        self.assertIn(classic.RECEIPT_OPEN, self.register.status)
        self.do(classic.Sell(1, 2000, percent=-1000))
        self.do(classic.Sell(1, 1000, 1000))
        self.do(classic.Sell(1, 1000, sign="-"))
        subtotal = self.do(classic.Subtotal("1", "1", change=-90))
        self.assertEqual((subtotal.total, subtotal.by_tax), (4500, (4500, 0, 0, 0, 0)))
        self.do(classic.PrintFiscalText("Дякуємо"))
        self.assertEqual(self.do(classic.ReadReceipt()), classic.ReceiptState(1, 1, 4500, 0))
        self.assertEqual(self.do(classic.Pay("C", 1000)), classic.PaidAnswer("D", 3500))
        self.assertEqual(self.do(classic.Pay("P", 5000)), classic.PaidAnswer("R", 1500))
        self.assertEqual(self.do(classic.Close()), classic.Counts(1, 1))
        self.assertEqual(self.do(classic.ReadForms()), classic.FormSums(3500, 0, 1000, 0))
        self.assertEqual(self.do(classic.ReadReceipt()), classic.ReceiptState(0, 0, 0, 0))
        self.assertEqual(self.do(classic.ReadDay()).sums.split(",")[0], "0000004500")

    def test_exact(self) -> None:
        """A payment without a sum pays all in cash, with a change of 0."""
        self.do(classic.Open())
        self.do(classic.Sell(1, 1000))
        self.assertEqual(self.do(classic.Pay()), classic.PaidAnswer("R", 0))

    def test_return(self) -> None:
        """A return has its own command and its own bit."""
        self.sell()
        self.do(classic.OpenReturn())
        self.assertIn(classic.RETURN_OPEN, self.register.status)
        self.do(classic.Sell(1, 1000))
        self.do(classic.Pay("P", 2550))
        self.do(classic.Close())
        self.assertEqual(self.do(classic.ReadForms()).cash, 2550)

    def test_voided(self) -> None:
        """A voided document has a number too, so the number proves no receipt; the sums do."""
        self.do(classic.Open())
        self.do(classic.Sell(1, 1000))
        self.do(classic.Cancel())
        self.assertEqual(self.do(classic.ReadNumber()), classic.LastNumber(1))
        self.assertEqual(self.do(classic.ReadForms()), classic.FormSums(0, 0, 0, 0))
        self.do(classic.Open())
        self.do(classic.Sell(1, 1000))
        self.do(classic.Pay())
        self.assertEqual(self.trouble(classic.Cancel()), ("S1.1", Trouble.WRONG_MODE))
        self.assertEqual(self.do(classic.Close()), classic.Counts(2, 1))

    def test_cash(self) -> None:
        """Cash in and out in one command, all or nothing."""
        self.assertEqual(self.do(classic.MoveCash(10000)), classic.Cash("P", 10000, 10000, 0))
        self.assertEqual(self.trouble(classic.MoveCash(-10001))[0], "S1.1")
        self.assertEqual(self.do(classic.MoveCash(-4000)), classic.Cash("P", 6000, 10000, 4000))
        self.assertEqual(self.do(classic.MoveCash()), classic.Cash("P", 6000, 10000, 4000))

    def test_reports(self) -> None:
        """X changes nothing; Z empties the sums."""
        self.sell()
        self.assertEqual(self.do(classic.PrintReport(kind=2), Z_LIMIT).z, 1)
        self.assertEqual(self.do(classic.ReadForms()).cash, 5100)
        self.assertEqual(self.do(classic.PrintReport(kind=0), Z_LIMIT).sums.split(",")[0], "0000005100")
        self.assertEqual((self.do(classic.ReadForms()).cash, self.do(classic.ReadFree()).logical), (0, 999))

    def test_rest(self) -> None:
        """Text, clock, copy, drawer, and who it is."""
        self.do(classic.OpenText())
        self.do(classic.PrintText("Меню"))
        self.do(classic.CloseText())
        self.do(classic.SetClock("23-11-26 22:15:00"))
        self.assertEqual(self.do(classic.ReadClock()).time, "23-11-26 22:15:00")
        self.sell()
        self.do(classic.Copy())
        self.do(classic.OpenDrawer())
        self.assertEqual((self.iron.copied, self.iron.opened_drawer), (1, 1))
        self.assertEqual(self.trouble(classic.SetClock("24-11-26 22:15:00"))[0], "S1.1")
        self.assertEqual(self.do(classic.ReadRates()).a, 2000)
        self.assertIn("KBM", self.do(classic.ReadVersion()).text)

    def test_refused(self) -> None:
        """Bits tell what is wrong; a refused command changed nothing."""
        for command in (classic.Sell(1, 1000), classic.Close(), classic.Cancel(), classic.Copy()):
            self.assertEqual(self.trouble(command), ("S1.1", Trouble.WRONG_MODE))
        self.assertEqual(self.trouble(classic.Open(password="1111"))[0], "S1.1")
        self.do(classic.Open())
        self.assertEqual(self.trouble(classic.SellFree("Хліб", "А", 100))[0], "S1.1")
        self.assertEqual(self.trouble(classic.Sell(9, 1000))[0], "S1.1")
        self.assertEqual(self.trouble(classic.Sell(1, 1000, 10**10))[0], "S1.0")
        for code, data, bit in ((58, b"rubbish", classic.SYNTAX), (34, b"", classic.UNKNOWN)):
            frame = self.desk.done(self.register.link.ask(code, data, 5))
            self.assertIn(bit, classic.Status(frame.status))
        self.do(classic.Sell(1, 1000))
        self.assertEqual(self.trouble(classic.Pay("C", 9000))[0], "S1.1")
        self.assertEqual(self.trouble(classic.WriteArticle("P", "А", 1, name="Інше"))[0], "S1.1")

    def test_conditions(self) -> None:
        """No paper, an open cover and the end of the day forbid commands; reading stays possible."""
        self.do(classic.Open())
        self.iron.paper = 0
        self.assertEqual(self.trouble(classic.Sell(1, 1000)), ("S1.1", Trouble.NO_PAPER))
        self.do(classic.ReadStatus())
        self.assertEqual([each.trouble for each in self.register.status.conditions], [Trouble.NO_PAPER])
        self.iron.paper, self.iron.cover_open = None, True
        self.assertEqual(self.trouble(classic.Sell(1, 1000)), ("S1.1", Trouble.COVER_OPEN))
        self.iron.cover_open = False
        self.do(classic.Cancel())
        self.clock.advance(DAY)
        self.assertEqual(self.trouble(classic.Open()), ("S1.1", Trouble.WRONG_MODE))
        self.iron.fiscalised = False
        self.assertEqual(self.trouble(classic.Open()), ("S1.1", Trouble.NOT_FISCALISED))


class ClassicFaultTests(ClassicCase):
    """What the till gets when the line or the power fails."""

    def test_chaos(self) -> None:
        """A fault on every fifth word of the line: each receipt is there once."""
        chance = random.Random(25)
        self.device.steer = lambda _: chance.choice(HARMLESS) if chance.random() < 0.2 else None
        for number in range(1, 101):
            self.assertEqual(self.sell(), classic.Counts(number, number))
        self.assertEqual([receipt.total for receipt in self.iron.ledger], [5100] * 100)

    def test_broken_at_every_byte(self) -> None:
        """The line breaks at any byte of the answer to Close: the same bytes again tell the same number."""
        for cut in range(24):
            before = len(self.iron.ledger)
            self.device.steer = steered(Close=Fault(What.BROKEN_AFTER, cut))
            try:
                counts = self.sell()
            except LineLost:
                self.connect()
                counts = self.do(classic.Close(), CLOSE_LIMIT, again=True)
            self.assertEqual((counts.receipts, len(self.iron.ledger)), (before + 1, before + 1), cut)
            self.connect()

    def test_power(self) -> None:
        """The power fails before Close: the receipt is still open and paid, and can be closed."""
        self.device.steer = steered(Close=Fault(What.DARK_BEFORE, 1))
        self.assertRaises(LineLost, self.sell)
        self.clock.advance(1)
        self.connect()
        self.desk.done(self.register.greet())
        self.assertEqual(self.do(classic.ReadReceipt()), classic.ReceiptState(1, 1, 5100, 5100))
        self.do(classic.Close())
        self.assertEqual(len(self.iron.ledger), 1)
