"""Maria as a machine: slips in her commands, refusals, and what becomes of slips when lines and power fail."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, Z
from dmtwisted.registers.wired.articles import Articles
from dmtwisted.registers.wired.interface import Made, NotMade, Slip, SlipPayment, Unclear
from dmtwisted.registers.wired.maria import MariaMachine
from protocols.errors import NotReached
from protocols.registers.troubles import DeviceRefused, LeftOpen, Trouble
from protocols.simulators.iron import DAY, AfterCut, Article, IronSettings
from protocols.simulators.maria_register import MariaDevice
from tests import machine_desk
from tests.machine_desk import BREAD, CHEESE
from tests.register_desk import Fault, What, steered

changed = msgspec.structs.replace


class MariaMachineCase(machine_desk.MachineCase):
    """A Maria."""

    def device(self, after_cut: AfterCut) -> Any:
        """A new register."""
        return MariaDevice(self.clock, IronSettings(articles=9_999, lines=720, taxes=8, after_cut=after_cut))

    def machine_of(self) -> Any:
        """A new machine for it."""
        return MariaMachine(self.desk.endpoint, self.clock)

    def whole_sale(self) -> Slip:
        """Text, information, a discount, a card and cash."""
        return self.sale(
            BREAD,
            CHEESE,
            above=("Вітаємо",),
            below=("Дякуємо",),
            payments=(
                SlipPayment(form=1, sum=9000, bank="Банк", rrn="012345678901", auth_code="A1"),
                SlipPayment(form=0, sum=11000, cash=True),
            ),
            change=900,
        )


class MariaContractTests(machine_desk.MachineContract, MariaMachineCase):
    """Faults, cuts and chaos."""

    last = "Complete"
    before_it: ClassVar[dict[What, set[str]]] = {
        What.UNHEARD: {"Silent"},
        # The register asks for nothing again: it refuses what came damaged.
        What.REFUSED: {"DeviceRefused", "LeftOpen", "made"},
        What.SLOW: {"made"},
        What.STORM: {"made"},
        What.LOST: {"Silent"},
        What.SHORT: {"Silent", "made"},
        What.DAMAGED: {"Garbled", "made"},
        What.GARBAGE: {"made"},
        What.BROKEN_BEFORE: {"LineLost"},
        What.BROKEN_AFTER: {"LineLost"},
        What.DARK_BEFORE: {"LineLost"},
        What.DARK_AFTER: {"LineLost"},
    }
    at_it: ClassVar[dict[What, set[tuple[str, bool]]]] = {
        What.UNHEARD: {("Silent", False)},
        What.REFUSED: {("DeviceRefused", False), ("LeftOpen", False)},
        What.SLOW: {("made", True)},
        What.STORM: {("made", True)},
        What.LOST: {("Silent", True)},
        What.SHORT: {("Silent", True)},
        What.DAMAGED: {("Garbled", True)},
        What.GARBAGE: {("made", True)},
        What.BROKEN_BEFORE: {("LineLost", False)},
        What.BROKEN_AFTER: {("LineLost", True)},
        What.DARK_BEFORE: {("LineLost", False)},
        What.DARK_AFTER: {("LineLost", True)},
    }


class MariaMachineTests(MariaMachineCase):
    """What the machine says to the register, and of it."""

    def test_sale(self) -> None:
        """A sale is one receipt, with its texts, its articles and all payments; its number is the register's."""
        slip = self.whole_sale()
        self.assertEqual(self.make(slip), Made("1"))
        [receipt] = self.iron.ledger
        self.assertEqual(
            (receipt.total, receipt.payments, receipt.change), (slip.total, ((0, slip.total - 9000), (1, 9000)), 900)
        )
        self.assertEqual([line.name for line in receipt.lines], ["Хлiб1", "Сир голландський твердий0"])
        self.assertEqual(self.register.printed, ["Вiтаємо", "Дякуємо", "Банк", "A1", "012345678901"])
        self.assertEqual(self.register.cashier, "Олена")

    def test_figures(self) -> None:
        """The figures are the register's own."""
        empty = self.figures()
        self.assertEqual((empty.shift_open, empty.document_open, empty.number, empty.z), (None, False, 0, 0))
        self.make(self.slip(CASH_IN, 5_000))
        self.make(self.slip(CASH_OUT, 2_000))
        self.make(self.sale(BREAD))
        self.make(self.sale(BREAD, payments=(SlipPayment(form=2, sum=5100),)))
        now = self.figures()
        self.assertEqual(now.forms, {0: 5100, 1: 0, 2: 5100, 3: 0})
        self.make(self.sale(BREAD, kind=RETURN, purchase="1"))
        now = self.figures()
        self.assertEqual(
            (now.shift_open, now.number, now.drawer, now.sales, now.returns, now.forms),
            (True, 3, 3_000, 10_200, 5_100, {}),
        )
        self.assertEqual(now.more, {"put_in": 5_000, "taken_out": 2_000})
        about = self.desk.done(self.machine.about())
        self.assertEqual((about.serial, about.fiscal_number, about.firmware), ("1234567890", "3000000001", "0301"))

    def test_reports(self) -> None:
        """A Z report has the register's number; an X report, a copy, the drawer and text register nothing."""
        self.make(self.sale())
        for doing in (
            self.machine.x_report(),
            self.machine.copy_last(),
            self.machine.open_drawer(),
            self.machine.print_text(("Меню", "б" * 50)),
        ):
            self.desk.done(doing)
        self.assertEqual((self.iron.copied, self.iron.opened_drawer), (1, 1))
        self.assertEqual(self.register.printed, ["Меню", "б" * 43, "б" * 7])
        self.assertEqual(len(self.iron.ledger), 1)
        self.assertEqual(self.make(self.slip(Z)), Made("1"))
        self.assertEqual((self.figures().z, self.figures().sales), (1, 0))

    def test_text_refused(self) -> None:
        """A document of text that is refused in the middle is taken back at once, or before the next receipt."""
        for paper in (2, 3):
            self.iron.paper = paper
            error = self.assertRaises(DeviceRefused, self.desk.done, self.machine.print_text(("а", "б", "в")))
            self.assertEqual(error.code, "HARDPAPER")
            self.iron.paper = None
            self.make(self.sale())
        self.iron.cover_open = True
        self.assertRaises(DeviceRefused, self.desk.done, self.machine.print_text(("а",)))
        self.assertIsNone(self.iron.document)

    def test_lines(self) -> None:
        """Discounts and markups, whole units and parts, information behind 86 characters."""
        marked = changed(BREAD, discount=-100, uktzed="1905", marks=("ABCD123456",), text="є" * 90)
        self.make(self.sale(marked, changed(BREAD, quantity=500, cost=1275), CHEESE))
        [receipt] = self.iron.ledger
        self.assertEqual([line.cost for line in receipt.lines], [5200, 1275, 14000])
        self.assertEqual([line.quantity for line in receipt.lines], [2000, 500, 345])
        self.assertEqual(len({line.article for line in receipt.lines}), 3)
        self.assertEqual(self.register.infos, ["УКТЗЕД 1905 ABCD123456 " + "є" * 63])
        self.assertEqual(self.register.printed, ["є" * 27])

    def test_article_taken(self) -> None:
        """An article whose number another one has takes the receipt back, and the next number, which it keeps."""
        self.make(self.sale(BREAD))
        number = self.iron.ledger[0].lines[0].article
        self.iron.articles[number] = self.iron.articles[number % 9_999 + 1] = Article("Інший", 0)
        self.iron.used.add(number % 9_999 + 1)
        self.make(self.sale(CHEESE, BREAD))
        self.assertEqual((self.iron.voided, len(self.iron.ledger)), (2, 2))
        self.assertEqual(self.iron.ledger[1].lines[1].article, (number + 1) % 9_999 + 1)
        self.make(self.sale(BREAD))
        self.assertEqual((self.iron.voided, len(self.iron.ledger)), (2, 3))

    def test_all_taken(self) -> None:
        """A register whose numbers all have other articles refuses, and nothing stays open."""
        for number in range(1, 10_000):
            self.iron.articles[number] = Article("Інший", 0)
        self.iron.used.update(self.iron.articles)
        error = self.assertRaises(DeviceRefused, self.make, self.sale(BREAD))
        self.assertIn("numbers of others", str(error))
        self.assertEqual((self.iron.document, self.iron.ledger), (None, []))

    def test_card_slip_refused(self) -> None:
        """A register that takes no card slip prints the same as text."""
        self.register.card_slips = False
        self.make(self.whole_sale())
        self.assertEqual(self.register.printed[2:], ["Банк", "Код авторизацiї A1", "RRN 012345678901"])

    def test_unfit(self) -> None:
        """What the register cannot take is refused before anything is sent."""
        self.make(self.sale())
        heard = len(self.register.heard)
        for slip, said in (
            (self.sale(changed(BREAD, tax=6)), "no tax scheme 7"),
            (self.sale(changed(BREAD, quantity=100_500, cost=256_275)), "does not fit into 5 digits"),
            (self.sale(BREAD, payments=(SlipPayment(form=4, sum=5100),)), "no form of payment 4"),
            (self.sale(BREAD, payments=(SlipPayment(form=1, sum=5000),)), "comes to 51.00, the register says 50.00"),
            (self.sale(BREAD, change=100), "comes to 51.00"),
            (changed(self.sale(BREAD), total=5000), "comes to 51.00, the register says 50.00"),
            (self.slip(CASH_IN, 10**10), "too large"),
        ):
            error = self.assertRaises(DeviceRefused, self.make, slip)
            self.assertIn(said, str(error))
        self.assertEqual(set(self.register.heard[heard:]), {"ReadConfiguration", "ReadNumber", "ReadCash"})

    def test_refused(self) -> None:
        """The register's own refusals: not enough cash, and a shift that is too long until its Z report."""
        error = self.assertRaises(DeviceRefused, self.make, self.slip(CASH_OUT, 1))
        self.assertEqual(error.meaning.trouble, Trouble.OVERFLOW)
        self.make(self.sale())
        self.clock.advance(DAY)
        error = self.assertRaises(DeviceRefused, self.make, self.sale())
        self.assertEqual(error.meaning.trouble, Trouble.SHIFT_OVER)
        self.make(self.slip(Z))
        self.assertEqual(self.make(self.sale()), Made("2"))

    def test_other_sums(self) -> None:
        """A register that reckons otherwise voids the receipt, which is refused."""
        self.make(self.sale(BREAD))
        self.register.wrong_by = 1
        error = self.assertRaises(DeviceRefused, self.make, self.sale(BREAD))
        self.assertEqual((error.code, len(self.iron.ledger), self.iron.document), ("SOFTNEED", 1, None))

    def test_password(self) -> None:
        """A wrong password is tried once: the register counts them."""
        self.register.password = "2222222222"
        for _ in range(3):
            error = self.assertRaises(DeviceRefused, self.make, self.sale())
            self.assertEqual(error.code, "SOFTUPAS")
        self.assertEqual(self.register.heard.count("LogIn"), 1)

    def test_paper(self) -> None:
        """A receipt that cannot be taken back without paper is left open, until there is paper."""
        slip, before = self.sale(), self.figures()
        self.iron.paper = 1
        error = self.assertRaises(LeftOpen, self.make, slip, before)
        self.assertEqual(error.refusal.meaning.trouble, Trouble.NO_PAPER)
        self.assertRaises(DeviceRefused, self.desk.done, self.machine.became(slip, before))
        self.iron.paper = None
        self.assertEqual(self.became(slip, before), NotMade())
        self.assertIsNone(self.iron.document)

    def test_by_hand(self) -> None:
        """What somebody else registers meanwhile is not taken for ours."""
        slip = self.sale(BREAD)
        for meanwhile in (self.sale(CHEESE), self.slip(Z), self.slip(CASH_IN, 700)):
            before = self.figures()
            other = MariaMachine(self.desk.endpoint, self.clock)
            self.desk.done(other.make(meanwhile, before))
            expected = NotMade if meanwhile.kind == CASH_IN else Unclear
            self.assertIsInstance(self.became(slip, before), expected)
            unsure = self.became(self.slip(CASH_OUT, 700), before)
            self.assertIsInstance(unsure, Unclear if meanwhile.kind in (CASH_IN, Z) else NotMade)
        before = self.figures()
        for _ in range(2):
            self.make(self.slip(Z))
        self.assertIsInstance(self.became(self.slip(Z), before), Unclear)

    def test_asleep(self) -> None:
        """A register that was switched off and on without the line noticing is woken by a new line."""
        self.make(self.sale())
        self.register.forget()
        self.assertEqual(self.figures().number, 1)
        self.make(self.sale())

    def test_forgotten(self) -> None:
        """A register that has forgotten its cashier refuses once; then the cashier is logged in again."""
        self.make(self.sale())
        self.register.cashier = ""
        error = self.assertRaises(DeviceRefused, self.make, self.sale())
        self.assertEqual(error.code, "SOFTREGIST")
        self.make(self.sale())

    def test_damaged_question(self) -> None:
        """A question that arrives damaged is asked again."""
        for name in ("ReadConfiguration", "ReadNumber", "ReadCash"):
            self.register.steer = steered(**{name: Fault(What.REFUSED)})
            self.assertEqual(self.figures().number, 0)

    def test_articles(self) -> None:
        """Numbers are few: when all are given out, they are given out anew."""
        articles = Articles(3)
        numbers = {articles.number((name,)) for name in "абв"}
        self.assertEqual(numbers, {1, 2, 3})
        self.assertIn(articles.number(("г",)), numbers)
        self.assertEqual(articles.number(("г",)), articles.number(("г",)))

    def test_closed(self) -> None:
        """A closed machine reaches nothing."""
        self.figures()
        self.machine.close()
        self.assertRaises(NotReached, self.figures)
