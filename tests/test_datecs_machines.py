"""Machines of Datecs: slips of all kinds, refusals, and what became of a slip when the line or the power failed."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, Z
from dmtwisted.registers.wired.interface import IMachine, Made, NotMade, Slip, SlipLine, SlipPayment, Unclear
from dmtwisted.wording import wording
from protocols.errors import LineLost, NotReached, Silent, WireError
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.troubles import DeviceRefused, LeftOpen, NotTaken
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.iron import DAY, AfterCut, Article, Kind, Refuses, Why
from tests.datecs_desk import MachineDesk, line, slip
from tests.register_desk import Fault, What, always, steered

MENDED = (
    Fault(What.UNHEARD),
    Fault(What.REFUSED),
    Fault(What.SLOW, 2),
    Fault(What.STORM, 300),
    Fault(What.LOST),
    Fault(What.SHORT, 5),
    Fault(What.DAMAGED, 9),
    Fault(What.GARBAGE, 200),
)
BROKEN = (Fault(What.BROKEN_BEFORE), Fault(What.BROKEN_AFTER), Fault(What.BROKEN_AFTER, 9))
PREPARING = ("ReadFirmware", "WriteArticle")
"""What fails here has no effect: the caller is told that the machine was not reached."""

CUT = (Fault(What.DARK_BEFORE, 30), Fault(What.DARK_AFTER, 30))


class MachineCase(SynchronousTestCase):
    """A machine."""

    classic: ClassVar[bool] = False
    paying: ClassVar[str] = "Pay"

    def setUp(self) -> None:
        self.shop = MachineDesk(self.classic)

    def refused(self, document: Slip) -> DeviceRefused:
        """The refusal of a slip, of which nothing is left."""
        before = self.shop.figures()
        ledger = len(self.shop.iron.ledger)
        error: DeviceRefused = self.assertRaises(DeviceRefused, self.shop.make, document, before)
        self.assertEqual((len(self.shop.iron.ledger), self.shop.iron.document), (ledger, None))
        return error

    def sold(self) -> list[tuple[str, int, int, int, int]]:
        """The lines of the last receipt."""
        return [(one.name, one.tax, one.quantity, one.price, one.cost) for one in self.shop.made()[-1].lines]

    def full_sale(self) -> Slip:
        """A sale with everything in it."""
        return slip(
            line("Хліб", 1500, 2550, 0, discount=25),
            line("Кава; з молоком", 1000, 3000, 1, uktzed="2101", marks=("ABCD123456",), text="Гарячого\nсмаження"),
            card=2000,
            form=self.shop.card,
            given=10000,
            cashier="Олена",
            above=("Вітаємо!",),
            below=("Дякуємо за покупку",),
        )


class SellingTests(MachineCase):
    """What a machine does when nothing goes wrong."""

    def test_interface(self) -> None:
        """It is a machine, and says which."""
        verifyObject(IMachine, self.shop.machine)
        about = self.shop.desk.done(self.shop.machine.about())
        self.assertIn("FP-", about.model)
        self.assertTrue(about.firmware)

    def test_sale(self) -> None:
        """Lines, a discount, codes, marks, texts, two payments and change."""
        document = self.full_sale()
        self.assertEqual(self.shop.make(document), Made("1"))
        [receipt] = self.shop.made()
        name = "2101 Кава; з молоком" if self.classic else "2101 Кава, з молоком"
        self.assertEqual(self.sold(), [("Хліб", 0, 1500, 2550, 3800), (name, 1, 1000, 3000, 3000)])
        self.assertEqual((receipt.total, receipt.change), (6800, 5200))
        self.assertEqual(receipt.payments, ((0, 4800), (self.shop.card, 2000)))

    def test_texts(self) -> None:
        """Texts stand in their order: above, under their line, what a card payment needs, below."""
        document = slip(line(text="Свіжий, " + "дуже " * 8), above=("Вітаємо!", ""), below=("Дякуємо",))
        payment = SlipPayment(self.shop.card, 2550, False, "123456789012", "****1111", "Банк", "T0001", "A1B2C3")
        document = Slip(**{**_members(document), "payments": (payment,)})
        texts: list[str] = []
        self.patch(self.shop.iron, "text", texts.append)
        self.shop.make(document)
        self.assertEqual(texts[0], "Вітаємо!")
        self.assertEqual(" ".join(texts[1:3]), "Свіжий, " + "дуже " * 7 + "дуже")
        self.assertEqual(
            texts[3:],
            ["Банк", "Термінал T0001", "Картка ****1111", "Код авторизації A1B2C3", "RRN 123456789012", "Дякуємо"],
        )

    def test_text_refused(self) -> None:
        """A line of text that the register refuses is left out; the receipt is made."""
        self.patch(self.shop.iron, "text", lambda _: self.shop.iron.open_document(Kind.TEXT))
        self.assertEqual(self.shop.make(slip(line(), above=("Вітаємо!",))), Made("1"))

    def test_return(self) -> None:
        """A return is a document of its own."""
        self.shop.make(slip(line()))
        self.assertEqual(self.shop.make(slip(line(price=1000), kind=RETURN, purchase="1")), Made("2"))
        self.assertEqual([receipt.kind for receipt in self.shop.made()], [Kind.SALE, Kind.RETURN])
        figures = self.shop.figures()
        self.assertEqual(figures.drawer, 1550)

    def test_cash(self) -> None:
        """Cash in and out."""
        for kind, amount in ((CASH_IN, 10000), (CASH_OUT, 4000)):
            made = self.shop.make(Slip(kind=kind, total=amount, above=("Розмінна монета",)))
            self.assertEqual(made, Made(str(len(self.shop.made()))))
        self.assertEqual([receipt.total for receipt in self.shop.made()], [10000, -4000])
        self.assertEqual(self.shop.figures().drawer, 6000)

    def test_z(self) -> None:
        """A Z report has its number, and begins the sums anew."""
        self.shop.make(slip(line(), card=2550, form=self.shop.card))
        self.assertEqual(self.shop.figures().forms[self.shop.card], 2550)
        self.assertEqual(self.shop.make(Slip(kind=Z)), Made("1"))
        figures = self.shop.figures()
        self.assertEqual((figures.z, figures.forms[self.shop.card]), (1, 0))

    def test_zero(self) -> None:
        """A receipt of nothing is paid with nothing."""
        self.assertEqual(self.shop.make(slip(line(price=0))), Made("1"))
        self.assertEqual(self.shop.make(Slip(kind="sale", lines=(line(price=0),))), Made("2"))

    def test_rest(self) -> None:
        """X, texts, and what is not there is refused."""
        machine, desk, iron = self.shop.machine, self.shop.desk, self.shop.iron
        self.shop.make(slip(line()))
        desk.done(machine.x_report())
        desk.done(machine.print_text(("Меню", "", "Борщ " * 10)))
        self.assertEqual((iron.document, len(iron.ledger)), (None, 1))
        for doing in (machine.copy_last, machine.open_drawer):
            if self.classic:
                desk.done(doing())
            else:
                self.assertRaises(DeviceRefused, desk.done, doing())
        self.assertEqual((iron.copied, iron.opened_drawer), (1, 1) if self.classic else (0, 0))

    def test_line_kept(self) -> None:
        """A day's work needs one line, and none after the close."""
        for _ in range(3):
            self.shop.make(slip(line()))
        self.assertEqual(len(self.shop.desk.endpoint.sent), 1)
        self.shop.machine.close()
        self.assertRaises(NotReached, self.shop.figures)


class ArticleTests(MachineCase):
    """Numbers of articles."""

    def writes(self) -> int:
        """How often an article was written."""
        return self.shop.device.heard.count("WriteArticle") - self.questions

    questions = 0

    def test_written_once(self) -> None:
        """An article that was sold in this shift is not written again, and is after the Z report."""
        for _ in range(3):
            self.shop.make(slip(line(), line()))
        self.assertEqual(self.writes(), 1)
        self.shop.make(Slip(kind=Z))
        self.shop.make(slip(line()))
        self.assertEqual(self.writes(), 2)

    def test_z_by_hand(self) -> None:
        """After a Z report that somebody made at the register nothing is taken for known."""
        self.shop.make(slip(line()))
        self.shop.iron.z_report()
        number = next(iter(self.shop.iron.articles))
        self.shop.iron.articles[number] = Article("Інше", 1)
        self.shop.make(slip(line()))
        self.assertEqual(self.sold()[0][0], "Хліб")

    def test_same_after_restart(self) -> None:
        """Another process finds the same number."""
        for _ in range(2):
            self.shop.make(slip(line()))
            self.shop.machine.close()
            self.shop.machine = self.shop.build()
        self.assertEqual(len(self.shop.iron.articles), 1)

    def test_conflict(self) -> None:
        """A number that another article has taken in this shift is left to it."""
        self.shop.make(slip(line()))
        [number] = self.shop.iron.articles
        self.shop.make(Slip(kind=Z))
        self.shop.machine = self.shop.build()
        for taken in (number, number % 10_000 + 1):
            self.shop.iron.write_article(taken, Article("Вода", 0))
            self.shop.iron.used.add(taken)
        self.shop.make(slip(line()))
        self.assertEqual(self.sold()[0][0], "Хліб")
        self.assertEqual(self.shop.iron.articles[number].name, "Вода")

    def test_two_of_one_receipt(self) -> None:
        """Two articles of a receipt never share a number."""
        self.shop = MachineDesk(self.classic, articles=2)
        self.shop.make(slip(line("Хліб"), line("Кава")))
        self.assertEqual([each[0] for each in self.sold()], ["Хліб", "Кава"])
        refusal = self.refused(slip(line("Чай")))
        self.assertIn("Z-звіт", refusal.meaning.ukrainian)
        self.shop.make(Slip(kind=Z))
        self.shop.make(slip(line("Чай")))
        self.assertEqual(self.sold()[0][0], "Чай")

    def test_same_name(self) -> None:
        """The tax is a part of the article, and so is the price where the table has one."""
        self.shop.make(slip(line(tax=0), line(tax=1), line(price=100)))
        self.assertEqual(
            [each[1:] for each in self.sold()], [(0, 1000, 2550, 2550), (1, 1000, 2550, 2550), (0, 1000, 100, 100)]
        )
        self.assertEqual(len(self.shop.iron.articles), 3 if self.classic else 2)

    def test_wrong_tax(self) -> None:
        """A tax group that the register does not have."""
        self.refused(slip(line(tax=5)))


class RefusalTests(MachineCase):
    """What the register refuses."""

    def test_total(self) -> None:
        """A register that reckons otherwise: both sums are said, and nothing is left open."""
        wrong = SlipLine("Хліб", 1000, 2550, 2500, 0)
        error = self.refused(slip(wrong))
        self.assertEqual(error.meaning.english, "the receipt comes to 25.00, the register says 25.50")
        self.assertEqual(self.shop.iron.voided, 1)

    def test_cash_short(self) -> None:
        """A return of more cash than there is."""
        self.refused(slip(line(), kind=RETURN))
        self.refused(Slip(kind=CASH_OUT, total=1))

    def test_payment(self) -> None:
        """Payments that the register cannot take."""
        for change, *payments in (
            (1, SlipPayment(self.shop.card, 2551)),
            (0, SlipPayment(9, 2550)),
            (0, SlipPayment(0, 1)),
            (0, SlipPayment(self.shop.card, 2550), SlipPayment(0, 100)),
        ):
            self.refused(Slip(kind="sale", lines=(line(),), payments=tuple(payments), total=2550, change=change))
        cash_back = (SlipPayment(0, 100, True), SlipPayment(self.shop.card, 2550))
        self.shop.make(Slip(kind="sale", lines=(line(),), payments=cash_back, total=2550, change=100))
        self.assertEqual(self.shop.made()[0].payments, ((self.shop.card, 2550),))

    def test_day(self) -> None:
        """After 24 hours only a Z report is possible."""
        self.shop.make(slip(line()))
        self.shop.clock.advance(DAY)
        self.refused(slip(line()))
        self.shop.make(Slip(kind=Z))
        self.shop.make(slip(line()))

    def test_no_paper(self) -> None:
        """No paper before the receipt: a refusal. In its middle: the document stays until there is paper."""
        self.shop.iron.paper = 0
        self.refused(slip(line()))
        for paper in range(1, 6):
            self.shop.iron.paper = None
            before, ledger = self.shop.figures(), len(self.shop.made())
            self.shop.iron.paper = paper
            document = slip(line(), line(), above=("Вітаємо!",))
            error = self.assertRaises(LeftOpen, self.shop.make, document, before)
            self.assertIn("документ на реєстраторі лишився відкритим", wording(error).uk)
            self.shop.clock.advance(1)
            self.assertRaises(WireError, self.shop.desk.done, self.shop.machine.became(document, before))
            self.shop.iron.paper = None
            became = self.shop.became(document, before)
            self.assertEqual(
                (len(self.shop.made()) - ledger, self.shop.iron.document), (isinstance(became, Made), None)
            )
            self.assertIsInstance(became, Made | NotMade)

    def test_by_hand(self) -> None:
        """A document that somebody has opened by hand is left alone; one of text is closed."""
        self.shop.iron.operators[1] = "Олена"
        self.shop.iron.open(Kind.SALE, 1)
        before = self.shop.figures()
        self.assertTrue(before.document_open)
        error = self.assertRaises(DeviceRefused, self.shop.make, slip(line()), before)
        self.assertIn("чужий документ", error.meaning.ukrainian)
        self.assertEqual(self.shop.became(slip(line()), before), NotMade())
        self.assertRaises(DeviceRefused, self.shop.desk.done, self.shop.machine.x_report())
        self.assertRaises(DeviceRefused, self.shop.desk.done, self.shop.machine.print_text(("Меню",)))
        self.assertIsNotNone(self.shop.iron.document)
        self.shop.iron.void()
        self.shop.iron.open(Kind.TEXT)
        self.assertEqual(len(self.shop.made()), 0)
        self.shop.make(slip(line()))
        self.shop.iron.open(Kind.TEXT)
        self.shop.desk.done(self.shop.machine.x_report())

    def test_not_fiscalised(self) -> None:
        """A register that is not fiscalised sells nothing."""
        self.shop.iron.fiscalised = False
        self.refused(slip(line()))
        self.refused(Slip(kind=Z))


class FaultTests(MachineCase):
    """Every fault at every command."""

    def commands(self, document: Slip) -> list[str]:
        """The commands of a slip, each once, in their order."""
        shop = self.prepared(AfterCut.KEEPS)
        before = shop.figures()
        heard = len(shop.device.heard)
        shop.make(document, before)
        return list(dict.fromkeys(shop.device.heard[heard:]))

    def prepared(self, stays: AfterCut) -> MachineDesk:
        """A shop with cash in its drawer."""
        shop = MachineDesk(self.classic, stays)
        shop.make(Slip(kind=CASH_IN, total=100000))
        return shop

    def documents(self) -> list[Slip]:
        """A slip of each kind."""
        self.shop = MachineDesk(self.classic)
        return [
            self.full_sale(),
            slip(line(), kind=RETURN),
            Slip(kind=CASH_IN, total=500),
            Slip(kind=CASH_OUT, total=700),
            Slip(kind=Z),
        ]

    def check(self, shop: MachineDesk, document: Slip, outcome: Any, what: object) -> None:
        """The register has registered the slip once, or not at all, as the outcome says."""
        made = isinstance(outcome, Made)
        self.assertIsInstance(outcome, Made | NotMade, what)
        self.assertEqual(shop.iron.z if document.kind == Z else len(shop.made(1)), made, what)
        self.assertIsNone(shop.iron.document, what)
        if made and document.kind != Z:
            [receipt] = shop.made(1)
            signed = -document.total if document.kind == CASH_OUT else document.total
            self.assertEqual(receipt.total, signed, what)

    def test_mended(self) -> None:
        """A word that is lost, damaged, late or refused once is said again: the slip is made."""
        for document in self.documents():
            for name in self.commands(document):
                for fault in MENDED:
                    shop = self.prepared(AfterCut.KEEPS)
                    before = shop.figures()
                    shop.device.steer = steered(**{name: fault})
                    outcome: Any = shop.tried(document, before)
                    self.assertIsInstance(outcome, Made, (document.kind, name, fault))
                    self.check(shop, document, outcome, (document.kind, name, fault))

    def test_broken(self) -> None:
        """The line breaks once: before the close nothing is made, and the close is sent again at once."""
        for document in self.documents():
            names = self.commands(document)
            for name in names:
                for fault in BROKEN:
                    what = (document.kind, name, fault)
                    shop = self.prepared(AfterCut.KEEPS)
                    before = shop.figures()
                    shop.device.steer = steered(**{name: fault})
                    outcome: Any = shop.tried(document, before)
                    if name == "Close":
                        self.assertEqual(outcome, Made("2"), what)
                    elif name == "ReadNumber":
                        self.assertEqual(outcome, Made(""), what)
                    elif name in PREPARING:
                        self.assertEqual(outcome, NotMade(), what)
                    else:
                        self.assertIsInstance(outcome, LineLost, what)
                        outcome = shop.became(document, before)
                        executed = fault.what is What.BROKEN_AFTER
                        alone = name in ("Report", "PrintReport") or (name == "MoveCash" and self.classic)
                        paid = name == self.paying and document.kind == RETURN and executed
                        self.assertEqual(isinstance(outcome, Made), (alone and executed) or paid, what)
                    self.check(shop, document, outcome, what)

    def test_power(self) -> None:
        """The power fails: the machine is not reached, then what it keeps or voids is finished or taken back."""
        for stays in AfterCut:
            for document in self.documents():
                for name in self.commands(document):
                    for fault in CUT:
                        what = (document.kind, name, fault, stays)
                        shop = self.prepared(stays)
                        before = shop.figures()
                        shop.device.steer = steered(**{name: fault})
                        outcome: Any = shop.tried(document, before)
                        if name == "ReadNumber":
                            self.assertEqual(outcome, Made(""), what)
                            continue
                        if name in PREPARING:
                            self.check(shop, document, outcome, what)
                            continue
                        self.assertIsInstance(outcome, LineLost, what)
                        self.assertRaises(NotReached, shop.desk.done, shop.machine.became(document, before))
                        outcome = shop.became(document, before)
                        self.check(shop, document, outcome, what)
                        if name == "Close" and (
                            fault.what is What.DARK_AFTER or (stays is AfterCut.KEEPS and document.lines)
                        ):
                            self.assertIsInstance(outcome, Made, what)
                        self.assertEqual(shop.settled(slip(line()), shop.figures()), _numbered(shop), what)

    def test_silent(self) -> None:
        """From one command on nothing arrives any more: nobody guesses, and later the register tells."""
        for what, error in ((What.UNHEARD, Silent), (What.LOST, Silent), (What.REFUSED, WireError)):
            for document in self.documents():
                names = self.commands(document)
                for place, name in enumerate(names):
                    later = set(names[place:])
                    shop = self.prepared(AfterCut.KEEPS)
                    before = shop.figures()
                    shop.device.steer = lambda said, later=later, what=what: Fault(what) if said in later else None  # type: ignore[misc]
                    outcome: Any = shop.tried(document, before)
                    if isinstance(outcome, NotMade):
                        self.assertTrue(what is What.REFUSED or name in PREPARING)
                    elif isinstance(outcome, WireError):
                        self.assertIsInstance(outcome, error)
                        outcome = shop.became(document, before)
                    self.check(shop, document, outcome, (document.kind, name, what))

    def test_not_reached(self) -> None:
        """Without power nothing is sent; a register that refuses every copy of the first command did nothing."""
        before = self.shop.figures()
        self.shop.device.go_dark(30)
        self.assertRaises(NotReached, self.shop.make, slip(line()), before)
        self.shop.clock.advance(60)
        self.shop.figures()
        self.shop.device.steer = always(Fault(What.REFUSED))
        self.assertRaises(NotTaken, self.shop.make, slip(line()), before)
        self.assertEqual(self.shop.iron.document, None)

    def test_new_process(self) -> None:
        """The service dies at any command; the next process asks the register and tells the same."""
        for stays in AfterCut:
            for document in self.documents():
                for name in self.commands(document):
                    for fault in (*BROKEN, *CUT):
                        shop = self.prepared(stays)
                        before = shop.figures()
                        gone = [False]

                        def steer(
                            said: str, name: str = name, fault: Fault = fault, gone: list[bool] = gone
                        ) -> Fault | None:
                            if gone[0]:
                                return Fault(What.BROKEN_BEFORE)
                            gone[0] = said == name
                            return fault if gone[0] else None

                        shop.device.steer = steer
                        outcome: Any = shop.tried(document, before)
                        shop.machine.close()
                        shop.machine = shop.build()
                        outcome = shop.became(document, before)
                        self.check(shop, document, outcome, (document.kind, name, fault, stays))


class ZeroTests(MachineCase):
    """A receipt of nothing changes no sum."""

    def outcome(self, name: str, fault: Fault, stays: AfterCut) -> Any:
        """What is known after a fault."""
        self.shop = MachineDesk(self.classic, stays)
        document = slip(line(price=0))
        before = self.shop.figures()
        self.shop.device.steer = steered(**{name: fault})
        outcome = self.shop.settled(document, before)
        self.assertIsNone(self.shop.iron.document)
        return outcome

    def test_line(self) -> None:
        """A broken line leaves no doubt: what is open tells, and the close is sent again."""
        for fault in BROKEN:
            self.assertEqual(self.outcome("Close", fault, AfterCut.KEEPS), Made("1"))
            self.assertEqual(self.outcome("Sell", fault, AfterCut.KEEPS), NotMade())

    def test_power(self) -> None:
        """A power cut does, when the register has taken the document back or closed it: a person has to look."""
        for stays in AfterCut:
            outcome = self.outcome("Close", Fault(What.DARK_AFTER, 30), stays)
            self.assertIsInstance(outcome, Unclear)
            self.assertIn("0.00", outcome.advice.en)
            self.assertEqual(len(self.shop.made()), 1)
        self.assertIsInstance(self.outcome("Close", Fault(What.DARK_BEFORE, 30), AfterCut.VOIDS), Unclear)
        self.assertEqual(self.outcome("Close", Fault(What.DARK_BEFORE, 30), AfterCut.KEEPS), Made("1"))


class OtherHandsTests(MachineCase):
    """Somebody uses the register between the break and the question."""

    def test_other_sums(self) -> None:
        """Sums that grew by something else prove nothing."""
        document = slip(line())
        before = self.shop.figures()
        self.shop.machine = self.shop.build()
        self.shop.make(slip(line(price=100)))
        outcome = self.shop.became(document, before)
        self.assertIsInstance(outcome, Unclear)

    def test_z(self) -> None:
        """After a Z report the sums of before are gone."""
        document = slip(line())
        self.shop.make(slip(line()))
        before = self.shop.figures()
        self.shop.iron.z_report()
        self.assertIsInstance(self.shop.became(document, before), Unclear)
        before = self.shop.figures()
        for _ in range(2):
            self.shop.iron.z_report()
        self.assertIsInstance(self.shop.became(Slip(kind=Z), before), Unclear)


def _members(document: Slip) -> dict[str, Any]:
    return {name: getattr(document, name) for name in document.__struct_fields__}


def _numbered(shop: MachineDesk) -> Made:
    return Made(str(shop.iron.number))


class _OfTheLog(UkrainianDevice):
    """A register on which 6B takes the open document back, as in the log of a device, and 73 does nothing."""

    def _do(self, command: Any) -> ua.UkrainianAnswer:
        match command:
            case ua.Void():
                raise Refuses(Why.ORDER)
            case ua.ReadSum():
                total = self.iron.open_document(Kind.SALE, Kind.RETURN).total
                self.iron.void()
                return ua.Sum(total)
        return super()._do(command)


class LogTests(MachineCase):
    """A register that does not tell its sums."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.device = _OfTheLog(self.shop.clock)
        self.shop.iron, self.shop.desk.device = self.shop.device.iron, self.shop.device

    def test_figures(self) -> None:
        """No sums are known, and reading the figures takes nothing back."""
        self.shop.make(slip(line()))
        figures = self.shop.figures()
        self.assertEqual((figures.drawer, figures.forms, figures.z), (None, {}, 0))
        self.shop.iron.open(Kind.SALE, 1)
        self.assertTrue(self.shop.figures().document_open)
        self.assertIsNotNone(self.shop.iron.document)

    def test_taken_back(self) -> None:
        """What is open tells; what is not open any more is for a person, who is told of the sum."""
        document = slip(line())
        before = self.shop.figures()
        for name, fault, kind in (
            ("Sell", Fault(What.BROKEN_AFTER), NotMade),
            ("Total", Fault(What.DARK_AFTER, 30), NotMade),
            ("Close", Fault(What.DARK_BEFORE, 30), Made),
            ("Close", Fault(What.DARK_AFTER, 30), Unclear),
            ("Close", Fault(What.BROKEN_AFTER), Made),
        ):
            self.shop.device.steer = steered(**{name: fault})
            outcome = self.shop.settled(document, before)
            self.assertIsInstance(outcome, kind, (name, fault))
            self.assertIsNone(self.shop.iron.document)
        self.assertEqual(len(self.shop.made()), 3)

    def test_refused(self) -> None:
        """A refusal in the receipt leaves nothing open."""
        self.refused(slip(SlipLine("Хліб", 1000, 2550, 2500, 0)))


class ClassicSellingTests(SellingTests):
    """The same, classic dialect."""

    classic = True


class ClassicArticleTests(ArticleTests):
    """The same, classic dialect."""

    classic = True
    questions = 1
    """How much room there is."""


class ClassicRefusalTests(RefusalTests):
    """The same, classic dialect."""

    classic = True


class ClassicFaultTests(FaultTests):
    """The same, classic dialect."""

    classic = True


class ClassicZeroTests(ZeroTests):
    """The same, classic dialect."""

    classic = True


class ClassicOtherHandsTests(OtherHandsTests):
    """The same, classic dialect."""

    classic = True
