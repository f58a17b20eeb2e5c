"""ICS registers as machines: slips in their commands, refusals, what becomes of slips when lines and power fail."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, Z
from dmtwisted.registers.wired.ics import IcsMachine
from dmtwisted.registers.wired.interface import Made, NotMade, Slip, SlipPayment, Unclear
from protocols.errors import NotReached
from protocols.registers.ics import commands as ics
from protocols.registers.ics.commands import PayKind
from protocols.registers.troubles import DeviceRefused, LeftOpen, Trouble
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.iron import DAY, AfterCut, Article, IronSettings, Kind
from tests import machine_desk
from tests.machine_desk import BREAD, CHEESE
from tests.register_desk import What

changed = msgspec.structs.replace


class IcsMachineCase(machine_desk.MachineCase):
    """An ICS register."""

    cash, card = PayKind.CASH, PayKind.CARD
    crc: ClassVar[bool] = False

    def device(self, after_cut: AfterCut) -> Any:
        """A new register."""
        return IcsDevice(self.clock, IronSettings(taxes=6, after_cut=after_cut), crc=self.crc)

    def machine_of(self) -> Any:
        """A new machine for it."""
        return IcsMachine(self.desk.endpoint, self.clock)

    def whole_sale(self) -> Slip:
        """Text, a discount, a card and cash with change."""
        return self.sale(
            BREAD,
            CHEESE,
            above=("Вітаємо",),
            below=("Дякуємо",),
            payments=(
                SlipPayment(form=PayKind.CASH, sum=11000, cash=True),
                SlipPayment(form=PayKind.CARD, sum=9000, rrn="012345678901"),
            ),
            change=900,
        )


class IcsContractTests(machine_desk.MachineContract, IcsMachineCase):
    """Faults, cuts and chaos."""

    last = "Pay"
    cut_ends: ClassVar[set[tuple[str, bool]]] = {("made", True), ("LineLost", False)}
    before_it: ClassVar[dict[What, set[str]]] = {
        # The line sends the same bytes again, which mends what comes once.
        What.UNHEARD: {"Silent", "made"},
        What.REFUSED: {"LineLost", "made"},
        What.SLOW: {"made"},
        What.STORM: {"made"},
        What.LOST: {"Silent", "made"},
        What.SHORT: {"Silent", "made"},
        What.DAMAGED: {"Silent", "made"},
        What.GARBAGE: {"made"},
        What.BROKEN_BEFORE: {"LineLost"},
        What.BROKEN_AFTER: {"LineLost"},
        What.DARK_BEFORE: {"LineLost"},
        What.DARK_AFTER: {"LineLost"},
    }
    at_it: ClassVar[dict[What, set[tuple[str, bool]]]] = {
        What.UNHEARD: {("Silent", False), ("made", True)},
        What.REFUSED: {("LineLost", False), ("made", True)},
        What.SLOW: {("made", True)},
        What.STORM: {("made", True)},
        What.LOST: {("Silent", True), ("made", True)},
        What.SHORT: {("Silent", True), ("made", True)},
        What.DAMAGED: {("Silent", True), ("made", True)},
        What.GARBAGE: {("made", True)},
        # So does a new line.
        What.BROKEN_BEFORE: {("made", True)},
        What.BROKEN_AFTER: {("made", True)},
        What.DARK_BEFORE: {("LineLost", False)},
        What.DARK_AFTER: {("LineLost", True)},
    }


class CrcContractTests(IcsContractTests):
    """The same with a CRC behind every frame, which the machine finds out."""

    crc = True


class AutomaticDevice(IcsDevice):
    """A register as another source describes it: paid in full it closes, and bit 31 has it reckon the amount."""

    def _pay(self, command: ics.Pay) -> ics.Paid:
        rest = self.iron.open_document(Kind.SALE, Kind.RETURN).rest
        amount = rest if command.closes else command.amount
        return super()._pay(ics.Pay(command.kind, amount, command.text, closes=True))


class WrongDevice(IcsDevice):
    """A register that reckons each line one kopeck dearer than it books it."""

    def _line(self, line: Any, kind: Kind) -> ics.LineAdded:
        added = super()._line(line, kind)
        return ics.LineAdded(added.cost + 1, added.total + 1)


class IcsMachineTests(IcsMachineCase):
    """What the machine says to the register, and of it."""

    def test_sale(self) -> None:
        """A sale is one receipt with its texts and all payments, cash last; its number is that of the packet."""
        slip = self.whole_sale()
        self.assertEqual(self.make(slip), Made("1"))
        [receipt] = self.iron.ledger
        self.assertEqual(
            (receipt.total, receipt.payments, receipt.change), (slip.total, ((0, slip.total - 9000), (1, 9000)), 900)
        )
        self.assertEqual([line.name for line in receipt.lines], ["Хлiб", "Сир голландський твердий"])
        self.assertEqual([line.quantity for line in receipt.lines], [2000, 345])
        self.assertEqual(self.register.cashier, "Олена")

    def test_texts(self) -> None:
        """Everything that is to be said is a comment of at most 27 characters."""
        said: list[str] = []
        text = self.iron.text

        def note(line: str) -> None:
            said.append(line)
            text(line)

        self.iron.text = note
        line = changed(BREAD, uktzed="1905", marks=("ABCD123456",), text="є" * 28)
        card = SlipPayment(form=PayKind.CARD, sum=5100, bank="Банк", card="4***1", auth_code="A1")
        self.make(self.sale(line, above=("Вітаємо",), below=("Дякуємо",), payments=(card,)))
        goods = ["УКТЗЕД 1905", "ABCD123456", "є" * 27, "є"]
        of_card = ["Банк", "Картка 4***1", "Код авторизацiї A1"]
        self.assertEqual(said, ["Вiтаємо", *goods, *of_card, "Дякуємо"])
        self.make(self.slip(CASH_IN, 10_200))
        for purchase in ("", "17"):
            self.make(self.sale(BREAD, kind=RETURN, purchase=purchase))
        self.assertEqual(said[-2:], ["Повернення", "До чека 17"])

    def test_figures(self) -> None:
        """The figures are the register's own."""
        empty = self.figures()
        self.assertEqual((empty.shift_open, empty.document_open, empty.z, empty.sold), (False, False, 0, 0))
        self.make(self.slip(CASH_IN, 5_000))
        self.make(self.slip(CASH_OUT, 2_000))
        self.make(self.sale(BREAD))
        self.make(self.sale(BREAD, kind=RETURN, purchase="1"))
        now = self.figures()
        self.assertEqual((now.shift_open, now.drawer, now.sold, now.returned), (True, 3_000, 1, 1))
        about = self.desk.done(self.machine.about())
        self.assertEqual(
            (about.serial, about.fiscal_number, about.firmware), ("IKC0000001 01.01.24", "3000000001", "ЕП-06")
        )

    def test_reports(self) -> None:
        """A Z report has the register's number; an X report, a copy and the drawer register nothing."""
        self.make(self.sale())
        for doing in (self.machine.x_report(), self.machine.copy_last(), self.machine.open_drawer()):
            self.desk.done(doing)
        self.assertEqual((self.iron.copied, self.iron.opened_drawer, len(self.iron.ledger)), (1, 1, 1))
        self.assertEqual(self.make(self.slip(Z)), Made("1"))
        self.assertEqual((self.figures().z, self.figures().sold), (1, 0))
        self.assertRaises(DeviceRefused, self.desk.done, self.machine.print_text(("Меню",)))

    def test_lines(self) -> None:
        """Discounts and markups; two prices of one article have two numbers, because a receipt keeps the price."""
        dearer = changed(BREAD, price=2600, cost=5200, discount=-100)
        self.make(self.sale(BREAD, dearer, CHEESE))
        [receipt] = self.iron.ledger
        self.assertEqual([line.cost for line in receipt.lines], [5100, 5300, 14000])
        self.assertEqual(len({line.article for line in receipt.lines}), 3)
        self.make(self.sale(dearer))
        self.assertEqual(self.iron.ledger[1].lines[0].article, receipt.lines[0].article)

    def test_article_taken(self) -> None:
        """An article whose number another one has takes the receipt back, and the next number, which it keeps."""
        self.make(self.sale(BREAD))
        number = self.iron.ledger[0].lines[0].article
        self.machine = self.machine_of()
        self.iron.articles[number] = Article("Інший", 0)
        self.make(self.sale(CHEESE, BREAD))
        self.assertEqual((self.iron.voided, len(self.iron.ledger)), (1, 2))
        self.assertEqual(self.iron.ledger[1].lines[1].article, number + 1)
        self.make(self.sale(BREAD))
        self.assertEqual((self.iron.voided, len(self.iron.ledger)), (1, 3))

    def test_automatic(self) -> None:
        """A register that closes a receipt by itself gives the same change, and takes the same payments."""
        self.register.__class__ = AutomaticDevice
        slips = (self.whole_sale(), self.sale(BREAD), self.sale(CHEESE, given=20_000))
        for slip in slips:
            self.make(slip)
        self.assertEqual([receipt.change for receipt in self.iron.ledger], [900, 0, 6000])
        self.assertEqual([receipt.total for receipt in self.iron.ledger], [slip.total for slip in slips])

    def test_other_sums(self) -> None:
        """A register that reckons otherwise has its receipt taken back before a payment; both sums are said."""
        self.register.__class__ = WrongDevice
        error = self.assertRaises(DeviceRefused, self.make, self.sale(BREAD))
        self.assertIn("comes to 51.00, the register says 51.01", str(error))
        self.assertEqual((self.iron.ledger, self.iron.voided, self.iron.document), ([], 1, None))
        self.assertNotIn("Pay", self.register.heard)

    def test_unfit(self) -> None:
        """What the register cannot take is refused before anything is sent."""
        self.make(self.sale())
        heard = len(self.register.heard)
        for slip, said in (
            (self.sale(changed(BREAD, tax=6)), "no tax group 7"),
            (self.sale(changed(BREAD, quantity=20_000_500, cost=51_001_275)), "does not fit into 3 bytes"),
            (self.sale(BREAD, payments=(SlipPayment(form=4, sum=5100),)), "no form of payment 4"),
            (self.sale(BREAD, payments=(SlipPayment(form=0, sum=5000),)), "comes to 51.00, the register says 50.00"),
            (self.slip(CASH_IN, 2**31), "too large"),
        ):
            error = self.assertRaises(DeviceRefused, self.make, slip)
            self.assertIn(said, str(error))
        self.assertEqual(set(self.register.heard[heard:]), {"ReadMemory", "ReadDrawer"})

    def test_refused(self) -> None:
        """The register's own refusals: not enough cash, and a shift that is too long until its Z report."""
        for slip in (self.slip(CASH_OUT, 1), self.sale(BREAD, kind=RETURN)):
            error = self.assertRaises(DeviceRefused, self.make, slip)
            self.assertEqual((error.meaning.trouble, self.iron.document), (Trouble.CASH_SHORT, None))
        self.make(self.sale())
        self.clock.advance(DAY)
        error = self.assertRaises(DeviceRefused, self.make, self.sale())
        self.assertEqual(error.meaning.trouble, Trouble.SHIFT_OVER)
        self.make(self.slip(Z))
        self.assertEqual(self.make(self.sale()), Made("3"))

    def test_password(self) -> None:
        """A wrong password is tried once: the register counts them."""
        self.register.password = 7
        for _ in range(3):
            error = self.assertRaises(DeviceRefused, self.make, self.sale())
            self.assertEqual(error.meaning.trouble, Trouble.BAD_PASSWORD)
        self.assertEqual(self.register.heard.count("LogIn"), 1)

    def test_paper(self) -> None:
        """A receipt that cannot be taken back without paper is left open, until there is paper."""
        slip, before = self.sale(), self.figures()
        self.iron.paper = 2
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
            self.desk.done(self.machine.make(meanwhile, before))
            self.assertIsInstance(self.became(slip, before), Unclear)
        before = self.figures()
        for _ in range(2):
            self.make(self.slip(Z))
        unclear = self.became(self.slip(Z), before)
        self.assertIsInstance(unclear, Unclear)

    def test_forgotten(self) -> None:
        """A register that has forgotten its cashier refuses once; then the cashier is logged in again."""
        self.make(self.sale())
        self.register.cashier = ""
        error = self.assertRaises(DeviceRefused, self.make, self.sale())
        self.assertEqual(error.code, "16")
        self.make(self.sale())

    def test_closed(self) -> None:
        """A closed machine reaches nothing."""
        self.figures()
        self.machine.close()
        self.assertRaises(NotReached, self.figures)
