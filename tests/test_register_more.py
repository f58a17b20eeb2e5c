"""More of what a till asks of a register: returns, withdrawals, income, storno, summaries, copies, lists, forms."""

from __future__ import annotations

import base64
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.driver import BadSettings
from dmtwisted.documents import documents
from dmtwisted.store.values import DocumentQuery
from tests.shop import Shop, hurry, sale
from tests.specification import promises
from tests.test_register import FISID, LUNCH, fiscal_number, part, written

Told = dict[str, Any]

DAY = 24 * 3600

CARD = {"paysys": "VISA", "rrn": "123456789012", "cardmask": "411111******1111"}
"""The data of a card from a terminal."""

BY_CARD = {"type": 2, **CARD}

TEXT_FORM = "data:text/plain;charset=windows-1251;base64,"
"""How every text form begins."""

AMOUNTS = ("summary", "pays", "money", "cash", "money_transfer", "taxes", "safe", "safe_start_shift")
"""What a report counts."""


class _WithShop(SynchronousTestCase):
    """A shop whose register is open in the morning."""

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.shop.open_shift()

    def done(self, answer: Told) -> Told:
        """``info`` of an answer that must tell of success."""
        told = {name: answer[name] for name in ("res", "res_action", "errortxt", "task_status")}
        self.assertEqual(told, {"res": 0, "res_action": 0, "errortxt": "", "task_status": 1}, answer)
        info: Told = answer["info"]
        return info

    def assertTells(self, told: Any, **wanted: Any) -> None:
        """The answer has each expected member with the right value of the right type."""
        self.assertEqual(written(part(told, wanted)), written(wanted))

    def assertRefused(self, answer: Told, code: int, *words: str, action: int = 3) -> None:
        """A task was refused with ``code``, and its text holds ``words``."""
        self.assertTells(answer, res=code, res_action=action, task_status=3, info={})
        for word in words:
            self.assertIn(word, answer["errortxt"])

    def assertRepeats(self, answer: Told, first: Told) -> None:
        """An answer is the first one again, with ``task_status`` 2."""
        self.assertEqual(written(answer), written({**first, "task_status": 2}))

    def x(self) -> Told:
        """``info`` of an X-report."""
        return self.done(self.shop.fiscal(10))

    def cash_in(self, amount: float) -> Told:
        """Put cash into the drawer."""
        return self.done(self.shop.fiscal(3, cash={"type": 0, "sum": amount}))

    def give_back(self, amount: float | str = 10, tag: str = "", **receipt: Any) -> Told:
        """The answer to a return of one item for cash."""
        return self.shop.fiscal(2, tag, receipt={**sale(amount), **receipt})

    def withdraw(self, amount: float | str = 10, tag: str = "", **cash: Any) -> Told:
        """The answer to a cash withdrawal by card."""
        return self.shop.fiscal(14, tag, cash={**BY_CARD, "sum": amount, **cash})

    def turn_over(self, task: int, amount: float | str = 10, tag: str = "", **receipt: Any) -> Told:
        """The answer to an income (15) or expense (16) in cash."""
        return self.shop.fiscal(task, tag, receipt={"sum": amount, "pays": [{"type": 0, "sum": amount}], **receipt})

    def entries(self, *kinds: str) -> list[Any]:
        """The accepted entries of these kinds in the tax service's ledger."""
        return [entry for entry in self.shop.ledger() if entry.kind in kinds]

    def bad_setting(self, changes: Told) -> str:
        """The path of the setting that a change of the register is refused for."""
        devices = self.shop.core.devices
        change = devices.change(devices.by_name("test").row.dev_id, None, changes)
        failure = self.failureResultOf(Deferred.fromCoroutine(change), BadSettings)
        return str(failure.value.path)

    def stored(self, fiscal: str) -> documents.Document:
        """The document that the journal keeps under a fiscal number."""
        asked = self.shop.store.find_documents(DocumentQuery(fiscal_number=fiscal))
        (row,) = self.successResultOf(Deferred.fromCoroutine(asked)).documents
        return documents.decode(row.value)


class ReturnTests(_WithShop):
    """Task 2."""

    def setUp(self) -> None:
        super().setUp()
        self.cash_in(100)

    def test_info(self) -> None:
        """A return has the members of a sale, under its own task, and lowers the drawer by its cash."""
        info = self.done(self.shop.fiscal(2, receipt=LUNCH, cashier="Оля"))
        self.assertTells(
            info,
            task=2,
            fisid=FISID,
            dataid=3,
            docno="3",
            doccode=fiscal_number(3),
            dt="20260921090000",
            cashier="Оля",
            safe=77.0,
            shift_link=1,
            dtype=0,
            isoffline=False,
        )
        self.assertTells(
            info["printinfo"],
            task=2,
            fisdoctype=0,
            fisn=fiscal_number(3),
            comment_up="Вітаємо",
            comment_down="Дякуємо",
            sum_0=70.5,
            sum_disc=7.5,
            sum_receipt=63.0,
            sum_topay=63.0,
            round=0.0,
            change=2.0,
            safe=77.0,
            goods=[{"name": "Пиріг", "cost": 60.5, "disc": 6.5}, {"name": "Пиво", "cost": 10.0, "disc": 1.0}],
            pays=[{"type": 2, "sum": 40.0, "rrn": "123456789012"}, {"type": 0, "sum": 23.0, "change": 2.0}],
            taxes=[{"gr_code": 1, "base_sum": 54.0, "tax_sum": 9.0}, {"gr_code": 3, "base_sum": 9.0}],
        )

    def test_entry(self) -> None:
        """A return reaches the tax service once, with a positive sum."""
        self.give_back("12.50")
        (entry,) = self.entries("return")
        self.assertEqual((entry.number, entry.sum, entry.ref), (fiscal_number(3), 1250, "3"))

    def test_report(self) -> None:
        """Reports count returns beside the sales, in the members of their own."""
        self.done(self.shop.fiscal(1, receipt=LUNCH))
        self.done(self.shop.sell("20"))
        self.done(self.shop.fiscal(2, receipt=LUNCH))
        info = self.x()
        self.assertTells(
            info,
            safe=120.0,
            receipt={"count_p": 2, "count_m": 1, "count_14": 0, "last_docno_p": 4, "last_docno_m": 5},
            summary={"base_p": 83.0, "base_m": 63.0, "disc_p": 7.5, "disc_m": 7.5, "calc_p": 83.0, "calc_m": 63.0},
            pays=[
                {"type": 0, "name": "Готівка", "sum_p": 43.0, "sum_m": 23.0},
                {"type": 2, "name": "Картка", "sum_p": 40.0, "sum_m": 40.0},
            ],
        )
        for tax in info["taxes"]:
            of_sale = {"base_sum": {1: 74.0, 3: 9.0}, "tax_sum": {1: 12.33, 3: 1.43}, "ex_sum": {1: 0.0, 3: 0.43}}
            of_return = {"base_sum": {1: 54.0, 3: 9.0}, "tax_sum": {1: 9.0, 3: 1.43}, "ex_sum": {1: 0.0, 3: 0.43}}
            for name in of_sale:
                told = [tax[f"{name}_p"], tax[f"{name}_m"]]
                self.assertEqual(told, [of_sale[name][tax["gr_code"]], of_return[name][tax["gr_code"]]], name)

    def test_rounded(self) -> None:
        """The rounding of a return is counted by itself, up and down."""
        self.assertTells(
            self.done(self.give_back("10.30", autoround=True))["printinfo"], round=0.2, sum_topay=10.5, safe=89.5
        )
        self.assertTells(
            self.done(self.give_back("10.20", autoround=True))["printinfo"], round=-0.2, sum_topay=10.0, safe=79.5
        )
        self.assertTells(
            self.x(),
            safe=79.5,
            pays=[{"sum_p": 0.0, "sum_m": 20.5, "round_pu": 0.0, "round_pd": 0.0, "round_mu": 0.2, "round_md": 0.2}],
            summary={"base_m": 20.5, "calc_m": 20.5, "base_p": 0.0},
        )

    def test_zero_receipt(self) -> None:
        """A return of nothing is a receipt."""
        info = self.done(self.shop.fiscal(2, receipt={"sum": 0, "rows": [], "pays": []}))
        self.assertTells(info, safe=100.0, printinfo={"sum_topay": 0.0, "goods": [], "pays": []})
        self.assertTells(self.x(), receipt={"count_m": 1, "last_docno_m": 3})

    def test_purchase(self) -> None:
        """The receipt and the register of the purchase are kept with the return."""
        info = self.done(self.give_back(purchase_receipt_fisn="TEST_77", purchase_rro_fisn=4000000009))
        receipt = self.stored(info["doccode"]).receipt
        assert receipt is not None
        self.assertEqual(receipt.purchase_receipt_fisn, "TEST_77")
        self.assertEqual(receipt.purchase_rro_fisn, "4000000009")

    def test_whole_drawer(self) -> None:
        """All the cash there is can be given back."""
        self.assertTells(self.done(self.give_back(100)), safe=0.0)

    @promises("4.2.cash.1")
    def test_not_enough_cash(self) -> None:
        """1077: a return takes no more cash than there is, and leaves no trace."""
        before = self.shop.ledger(), self.x()
        self.assertRefused(self.give_back("100.01", "t"), 1077)
        self.assertEqual((self.shop.ledger(), self.x()), before)
        self.done(self.give_back(100, "t"))

    def test_cash_alone_counts(self) -> None:
        """Only the part in cash has to be in the drawer."""
        pays = [{**BY_CARD, "sum": 400}, {"type": 0, "sum": 100}]
        self.assertTells(self.done(self.give_back(500, pays=pays)), safe=0.0)
        self.assertTells(self.done(self.give_back(50, pays=[{**BY_CARD, "sum": 50}])), safe=0.0)
        pays = [{**BY_CARD, "sum": 400}, {"type": 0, "sum": "0.01"}]
        self.assertRefused(self.give_back("400.01", pays=pays), 1077)

    def test_not_check_safe(self) -> None:
        """A return with `not_check_safe` is made whatever is in the drawer."""
        for value, safe in ((True, -100.0), (1, -300.0), ("true", -500.0)):
            self.assertTells(self.done(self.give_back(200, not_check_safe=value)), safe=safe)
        for other in (False, 0, "", None):
            self.assertRefused(self.give_back(1, not_check_safe=other), 1077)

    def test_unchecked(self) -> None:
        """A register that does not check its cash gives back more than there is."""
        self.shop.settings(check_cash=False)
        self.assertTells(self.done(self.give_back(150)), safe=-50.0)

    @promises("3.3.tag-tasks.1", "3.3.1.1", "3.3.2.2")
    def test_tag(self) -> None:
        """A return is made once for a tag."""
        first = self.give_back(10, "t")
        self.done(first)
        self.assertRepeats(self.give_back(10, "t"), first)
        self.assertRepeats(self.shop.look_up("t"), first)
        self.assertEqual(len(self.entries("return")), 1)
        self.assertTells(self.x(), safe=90.0)

    @promises("3.2.2.1", "3.2.2.2", "3.2.2.4")
    def test_lost_answer(self) -> None:
        """A return whose answer was lost is completed by the repeat, once."""
        hurry(self)
        self.shop.scenario({"on": "return", "then": "lost_after"})
        self.assertRefused(self.give_back(10, "t"), 1075, action=2)
        answer = self.give_back(10, "t")
        self.assertTells(answer, res=0, task_status=2, info={"docno": "3", "safe": 90.0})
        self.assertEqual(len(self.entries("return")), 1)
        self.assertTells(self.x(), safe=90.0, receipt={"count_m": 1})

    def test_refused_as_a_sale(self) -> None:
        """A return keeps the rules of a sale: its receipt, sums, payments, names, and an open shift."""
        self.assertRefused(self.shop.fiscal(2), 1098, "fiscal.receipt")
        self.assertRefused(self.give_back(10, sum=9), 1101)
        self.assertRefused(self.give_back(10, pays=[{"type": 0, "sum": 9}]), 1102)
        self.assertRefused(self.give_back(10, rows=[]), 1097)
        self.assertRefused(self.give_back(0, rows=[{"name": "", "cnt": 1, "price": 1}]), 1103)
        self.done(self.shop.fiscal(11))
        self.assertRefused(self.give_back(10), 1092)
        self.assertEqual(self.entries("return"), [])


class WithdrawalTests(_WithShop):
    """Task 14: cash for the holder of a card."""

    def setUp(self) -> None:
        super().setUp()
        self.cash_in(100)

    def test_info(self) -> None:
        """A withdrawal lowers the drawer and returns the card."""
        info = self.done(self.withdraw("30.50", comment_up="Видача", comment_down="Ок", commission="1.5"))
        self.assertTells(info, task=14, docno="3", doccode=fiscal_number(3), safe=69.5)
        self.assertTells(
            info["printinfo"],
            task=14,
            goods=[],
            taxes=[],
            sum_topay=30.5,
            comment_up="Видача",
            comment_down="Ок",
            safe=69.5,
            pays=[{"type": 2, "typen": "Картка", "sum": 30.5, **CARD}],
        )

    def test_entry(self) -> None:
        """A withdrawal reaches the tax service under its own name."""
        self.withdraw("30.50")
        (entry,) = self.entries("withdrawal")
        self.assertEqual((entry.number, entry.sum, entry.ref), (fiscal_number(3), 3050, "3"))

    def test_report(self) -> None:
        """Reports count withdrawals apart from sales and from cash in and out."""
        self.withdraw(30)
        self.withdraw("5.25")
        self.assertTells(
            self.x(),
            safe=64.75,
            receipt={"count_14": 2, "count_p": 0, "count_m": 0, "last_docno_p": 0, "last_docno_m": 0},
            cash=[{"type": 2, "name": "Картка", "sum_p": 0.0, "sum_m": 35.25}],
            pays=[],
            taxes=[],
            money=[{"type": 0, "sum_p": 100.0, "sum_m": 0.0}],
            summary={"base_p": 0.0, "base_m": 0.0, "calc_m": 0.0},
        )

    def test_any_card(self) -> None:
        """Without a type it is a card, and other ways without cash are taken too."""
        self.done(self.shop.fiscal(14, cash={"sum": 10}))
        self.done(self.withdraw(10, type="1"))
        self.assertTells(self.x(), cash=[{"type": 1, "sum_m": 10.0}, {"type": 2, "sum_m": 10.0}], safe=80.0)

    @promises("4.2.card")
    def test_refused(self) -> None:
        """1119, 1120, 1063, 1088, 1098 and 1077: what a withdrawal may not be."""
        before = self.shop.ledger(), self.x()
        self.assertRefused(self.withdraw(type=0), 1119)
        self.assertRefused(self.withdraw(type="0"), 1119)
        self.assertRefused(self.withdraw(commission=-0.01), 1120)
        self.assertRefused(self.withdraw(-10), 1063)
        self.assertRefused(self.withdraw(type=99), 1088, "99")
        self.assertRefused(self.shop.fiscal(14), 1098, "fiscal.cash")
        self.assertRefused(self.withdraw("100.01"), 1077)
        self.assertEqual((self.shop.ledger(), self.x()), before)
        self.assertTells(self.done(self.withdraw(100)), safe=0.0)

    def test_closed(self) -> None:
        """1092: there is no withdrawal while the shift is closed."""
        self.shop.fiscal(11)
        self.assertRefused(self.withdraw(), 1092)

    @promises("3.3.tag-tasks.1", "3.2.2.4")
    def test_tag(self) -> None:
        """A withdrawal is made once for a tag, also when its answer was lost."""
        hurry(self)
        self.shop.scenario({"on": "withdrawal", "then": "lost_after"})
        self.assertRefused(self.withdraw(10, "t"), 1075, action=2)
        again = self.withdraw(10, "t")
        self.assertTells(again, res=0, task_status=2, tag="t", task=14, info={"safe": 90.0})
        self.assertEqual(self.shop.look_up("t"), again)
        self.assertEqual(len(self.entries("withdrawal")), 1)
        self.assertTells(self.x(), safe=90.0, receipt={"count_14": 1})


class TurnoverTests(_WithShop):
    """Tasks 15 and 16: income and expense."""

    def setUp(self) -> None:
        super().setUp()
        self.cash_in(100)

    def test_income(self) -> None:
        """An income raises the drawer by its cash and is on paper."""
        info = self.done(self.turn_over(15, "30.50", comment_up="Оренда", comment_down="Ок"))
        self.assertTells(info, task=15, docno="3", doccode=fiscal_number(3), safe=130.5)
        self.assertTells(
            info["printinfo"],
            task=15,
            goods=[],
            sum_0=30.5,
            sum_receipt=30.5,
            sum_topay=30.5,
            comment_up="Оренда",
            comment_down="Ок",
            safe=130.5,
            pays=[{"type": 0, "sum": 30.5}],
        )

    def test_expense(self) -> None:
        """An expense lowers the drawer by its cash."""
        self.assertTells(self.done(self.turn_over(16, "30.50")), task=16, safe=69.5, printinfo={"sum_topay": 30.5})

    @promises("7.codes.1")
    def test_expense_without_the_cash(self) -> None:
        """1077: an expense in cash is no larger than the drawer; its card part, and an income, may be."""
        self.assertRefused(self.turn_over(16, "100.50"), 1077)
        cash, card = {"type": 0, "sum": "100.50"}, {**BY_CARD, "sum": 200}
        self.assertRefused(self.turn_over(16, "300.50", pays=[cash, card]), 1077)
        self.assertTells(self.done(self.turn_over(16, 200, pays=[card])), safe=100.0)
        self.assertTells(self.done(self.turn_over(16, 10, not_check_safe=True)), safe=90.0)
        self.assertTells(self.done(self.turn_over(16, 100, not_check_safe=True)), safe=-10.0)
        self.assertTells(self.done(self.turn_over(15, 500)), safe=490.0)
        self.assertTells(self.done(self.turn_over(16, 490)), safe=0.0)
        self.shop.settings(check_cash=False)
        self.assertTells(self.done(self.turn_over(16, 1)), safe=-1.0)

    def test_entries(self) -> None:
        """The tax service gets both by their names."""
        self.turn_over(15, 30)
        self.turn_over(16, 20)
        told = [(entry.kind, entry.sum, entry.ref) for entry in self.entries("income", "expense")]
        self.assertEqual(told, [("income", 3000, "3"), ("expense", 2000, "4")])

    def test_report(self) -> None:
        """Reports count both with what came in and went out, not with what was sold."""
        self.turn_over(15, 30, pays=[{"type": 0, "sum": 10}, {**BY_CARD, "sum": 20}])
        self.turn_over(16, 5)
        self.assertTells(
            self.x(),
            safe=105.0,
            money=[
                {"type": 0, "name": "Готівка", "sum_p": 110.0, "sum_m": 5.0},
                {"type": 2, "name": "Картка", "sum_p": 20.0, "sum_m": 0.0},
            ],
            pays=[],
            cash=[],
            taxes=[],
            receipt={"count_p": 0, "count_m": 0, "count_14": 0},
            summary={"base_p": 0.0, "base_m": 0.0, "calc_p": 0.0, "calc_m": 0.0},
        )

    def test_items(self) -> None:
        """Both may name items, whose sums are checked."""
        for task in (15, 16):
            info = self.done(self.shop.fiscal(task, receipt=sale(20)))
            self.assertTells(info["printinfo"], goods=[{"name": "Кава", "cost": 20.0}], sum_topay=20.0)
            self.assertRefused(self.shop.fiscal(task, receipt={**sale(20), "sum": 21}), 1101)

    def test_change(self) -> None:
        """What is kept of a payment is what counts, as for a sale."""
        info = self.done(self.turn_over(15, 30, pays=[{"type": 0, "sum": 50, "change": 20}]))
        self.assertTells(info, safe=130.0, printinfo={"pays": [{"sum": 30.0, "change": 20.0}], "change": 20.0})

    def test_negative(self) -> None:
        """1064: the sum of either is not negative."""
        for task in (15, 16):
            self.assertRefused(self.turn_over(task, "-0.01"), 1064)

    @promises("2.2.fiscal.receipt.pays.4")
    def test_negative_change(self) -> None:
        """1065: the change of a payment of either is not negative; the answer has its index."""
        pays = [{"type": 0, "sum": 5}, {"type": 0, "sum": 5, "change": "-0.01"}]
        for task in (15, 16):
            self.assertRefused(self.turn_over(task, 10, pays=pays), 1065, " 1 ")

    @promises("2.2.fiscal.receipt.pays.3")
    def test_card(self) -> None:
        """1066: a payment by card needs `paysys`, `rrn` and `cardmask`; the answer has its index."""
        for task in (15, 16):
            for missing in CARD:
                pays = [{"type": 0, "sum": 5}, {**BY_CARD, "sum": 5, missing: ""}]
                self.assertRefused(self.turn_over(task, 10, pays=pays), 1066, " 1 ")
            self.done(self.turn_over(task, 10, pays=[{"type": 0, "sum": 5}, {**BY_CARD, "sum": 5}]))

    def test_payments(self) -> None:
        """1102 and 1109: the payments make up the sum, and none of them is zero."""
        for task in (15, 16):
            self.assertRefused(self.turn_over(task, 10, pays=[{"type": 0, "sum": "9.99"}]), 1102)
            self.assertRefused(self.turn_over(task, 10, pays=[]), 1102)
            pays = [{"type": 0, "sum": 10}, {"type": 1, "sum": 0}]
            self.assertRefused(self.turn_over(task, 10, pays=pays), 1109)

    def test_without_receipt(self) -> None:
        """1098 and 1092: either needs its receipt and an open shift."""
        for task in (15, 16):
            self.assertRefused(self.shop.fiscal(task, cash={"sum": 5}), 1098, "fiscal.receipt")
        self.shop.fiscal(11)
        for task in (15, 16):
            self.assertRefused(self.turn_over(task), 1092)

    @promises("3.3.tag-tasks.1", "3.2.2.4")
    def test_tag(self) -> None:
        """Either is made once for a tag, also when its answer was lost."""
        hurry(self)
        for task, kind, safe in ((15, "income", 110.0), (16, "expense", 100.0)):
            self.shop.scenario({"on": kind, "then": "lost_after"})
            self.assertRefused(self.turn_over(task, 10, kind), 1075, action=2)
            again = self.turn_over(task, 10, kind)
            self.assertTells(again, res=0, task_status=2, task=task, info={"safe": safe})
            self.assertEqual(self.shop.look_up(kind), again)
            self.assertEqual(len(self.entries(kind)), 1)

    def test_strict(self) -> None:
        """A strict register refuses the used tag of any of these with other content, and repeats what is the same."""
        self.shop.settings(strict_tags=True)
        firsts = {task: self.turn_over(task, 10, f"of {task}") for task in (15, 16)}
        for task, first in firsts.items():
            self.assertRefused(self.turn_over(task, 11, f"of {task}"), 1051)
            self.assertRefused(self.turn_over(31 - task, 10, f"of {task}"), 1051)
            self.assertRepeats(self.turn_over(task, 10, f"of {task}"), first)


class StornoTests(_WithShop):
    """Task 17: the last receipt is taken back."""

    def setUp(self) -> None:
        super().setUp()
        self.moves: dict[str, Any] = {
            "cash_in": lambda: self.shop.fiscal(3, cash={"type": 0, "sum": 50}),
            "sale": lambda: self.shop.fiscal(1, receipt=LUNCH),
            "return": lambda: self.shop.fiscal(2, receipt=LUNCH),
            "cash_out": lambda: self.shop.fiscal(4, cash={"type": 0, "sum": 5}),
            "withdrawal": self.withdraw,
            "income": lambda: self.turn_over(15, 10, pays=[{"type": 0, "sum": 5}, {**BY_CARD, "sum": 5}]),
            "expense": lambda: self.turn_over(16, 10, pays=[{"type": 0, "sum": 5}, {**BY_CARD, "sum": 5}]),
        }

    def storno(self, **members: Any) -> Told:
        """The answer to a storno."""
        return self.shop.fiscal(17, **members)

    def counted(self) -> Told:
        """What an X-report counts, without the numbers of documents."""
        info = self.x()
        counts = {name: info["receipt"][name] for name in ("count_p", "count_m", "count_14", "count_transfer")}
        return {"receipt": counts, **{name: info[name] for name in AMOUNTS}}

    def everything(self) -> None:
        """One document of each kind, so that each line of the reports is there."""
        for move in self.moves.values():
            self.done(move())

    def test_totals(self) -> None:
        """After the storno of a document of any kind, totals and drawer are exactly as before it."""
        self.everything()
        self.done(self.shop.sell("10.30", autoround=True))
        self.done(self.give_back("5.20", autoround=True))
        before = self.counted()
        for kind, move in self.moves.items():
            info = self.done(move())
            self.assertNotEqual(self.counted(), before, kind)
            taken_back = self.done(self.storno())
            self.assertEqual(taken_back["safe"], before["safe"], kind)
            self.assertEqual(self.counted(), before, kind)
            self.assertEqual(int(taken_back["docno"]), int(info["docno"]) + 1)

    def test_rounding(self) -> None:
        """The rounding of a receipt goes with it."""
        self.everything()
        before = self.counted()
        for amount in ("10.30", "10.20"):
            self.done(self.shop.sell(amount, autoround=True))
            self.done(self.storno())
            self.done(self.give_back(amount, autoround=True))
            self.done(self.storno())
        self.assertEqual(self.counted(), before)

    def test_only_receipt(self) -> None:
        """After the storno of a shift's only receipt, a report says what it says of an empty shift."""
        before = self.counted()
        for amount in ("10.30", "10.20"):
            self.done(self.shop.sell(amount, autoround=True))
            self.done(self.storno())
            self.assertEqual(self.counted(), before)

    def test_z(self) -> None:
        """A Z-report leaves out what was taken back."""
        self.done(self.shop.sell(20))
        self.done(self.shop.sell(99))
        self.done(self.storno())
        self.assertTells(
            self.done(self.shop.fiscal(11)),
            summary={"base_p": 20.0, "calc_p": 20.0},
            receipt={"count_p": 1},
            safe=20.0,
            docno="5",
        )

    def test_entry(self) -> None:
        """The ledger has an entry for the storno, without a sum, whose `ref` is the number of what it reverses."""
        self.cash_in(1000)
        for move in self.moves.values():
            reversed_number = self.done(move())["doccode"]
            number = self.done(self.storno())["doccode"]
            entry = self.shop.ledger()[-1]
            self.assertEqual(
                (entry.kind, entry.status, entry.number, entry.sum, entry.ref),
                ("storno", "accepted", number, 0, reversed_number),
            )
        self.assertEqual(len(self.entries("storno")), len(self.moves))

    def test_info(self) -> None:
        """A storno has a number of its own and returns the cash afterwards."""
        self.shop.sell(20)
        answer = self.storno(cashier="Оля")
        self.assertTells(answer, task=17, type=1, tag="")
        self.assertTells(
            self.done(answer), task=17, docno="3", doccode=fiscal_number(3), safe=0.0, cashier="Оля", fisid=FISID
        )

    def test_second(self) -> None:
        """1058: a storno cannot be taken back, and the receipt before it stays."""
        self.shop.sell(20)
        self.shop.sell(30)
        self.done(self.storno())
        before = self.shop.ledger(), self.shop.ledger(status="refused"), self.x()
        for _ in range(2):
            self.assertRefused(self.storno(), 1058, action=1)
        self.assertEqual((self.shop.ledger(), self.shop.ledger(status="refused"), self.x()), before)
        self.assertTells(self.x(), safe=20.0)

    def test_last_document_alone(self) -> None:
        """A storno takes back the last document, of whatever kind it is, and no earlier one."""
        self.shop.sell(20)
        self.cash_in(50)
        self.done(self.storno())
        self.assertTells(self.x(), safe=20.0, receipt={"count_p": 1})

    def test_reports_between(self) -> None:
        """Reports, copies and status are no documents: the last receipt stays the last one."""
        self.shop.sell(20)
        for task in (10, 18, 20, 21, 22):
            self.done(self.shop.fiscal(task))
        self.done(self.storno())
        self.assertTells(self.x(), safe=0.0)

    def test_nothing_there(self) -> None:
        """1058 and 1092: an opening cannot be taken back, nor a document before a Z-report."""
        self.assertRefused(self.storno(), 1058, action=1)
        self.shop.sell(20)
        self.shop.fiscal(11)
        self.assertRefused(self.storno(), 1092)
        self.shop.open_shift()
        self.assertRefused(self.storno(), 1058, action=1)
        self.assertEqual(self.entries("storno"), [])

    def test_refused(self) -> None:
        """A storno that the tax service refuses changes nothing and can be sent again."""
        self.shop.sell(20)
        self.shop.scenario({"on": "storno", "then": "refuse", "code": "9"})
        self.assertRefused(self.storno(), 1040)
        self.assertTells(self.x(), safe=20.0)
        self.assertTells(self.done(self.storno()), safe=0.0, docno="3")

    @promises("3.2.2.1", "3.2.2.3")
    def test_lost_answer(self) -> None:
        """A storno whose answer was lost is completed by the next task, and the repeat makes no second one."""
        hurry(self)
        self.shop.sell(20)
        self.shop.sell(30)
        for then in ("lost_after", "garbage"):
            self.shop.scenario({"on": "storno", "then": then})
            self.assertRefused(self.storno(), 1075, action=2)
            self.assertRefused(self.storno(), 1058, action=1)
            self.assertTells(self.x(), safe=20.0, receipt={"count_p": 1})
            self.shop.sell(30)
        self.assertEqual(len(self.entries("storno")), 2)

    @promises("3.2.2.3")
    def test_lost_request(self) -> None:
        """A storno that never arrived is made by the repeat."""
        hurry(self)
        self.shop.settings(offline_allowed=False)
        self.shop.sell(20)
        for then in ("lost_before", "unreachable"):
            self.shop.scenario({"on": "storno", "then": then})
            answer = self.storno()
            self.assertEqual((answer["res"], answer["task_status"]), (1075 if then == "lost_before" else 1050, 3))
            self.assertEqual(self.entries("storno"), [])
        self.assertTells(self.done(self.storno()), safe=0.0, docno="3")
        self.assertEqual(len(self.entries("storno")), 1)

    def test_lost_then_sold(self) -> None:
        """A sale after a lost storno comes after it: it is not taken back in its place."""
        hurry(self)
        self.shop.sell(20)
        self.shop.scenario({"on": "storno", "then": "lost_after"})
        self.storno()
        self.assertTells(self.done(self.shop.sell(30)), safe=30.0, docno="4")
        self.done(self.storno())
        self.assertTells(self.x(), safe=0.0)
        self.assertEqual([entry.ref for entry in self.entries("storno")], [fiscal_number(2), fiscal_number(4)])

    def test_after_restart(self) -> None:
        """What was sold before a restart can be taken back after it, once."""
        self.shop.sell(20)
        self.shop.crash()
        self.assertTells(self.done(self.storno()), safe=0.0, docno="3")
        self.shop.crash()
        self.assertRefused(self.storno(), 1058, action=1)
        self.assertEqual(len(self.entries("storno")), 1)

    def test_killed_on_the_way(self) -> None:
        """A service that is killed while a storno is on its way finds out what became of it."""
        self.shop.sell(20)
        for then, safe in (("lost_before", 20.0), ("lost_after", 0.0)):
            self.shop.scenario({"on": "storno", "then": then, "delay_ms": 5000})
            self.assertNoResult(self.shop.asked({"device": "test", "type": 1, "fiscal": {"task": 17}}))
            self.shop.crash()
            self.assertTells(self.x(), safe=safe)
        self.assertEqual(len(self.entries("storno")), 1)

    def test_receipt_stays_known(self) -> None:
        """The receipt that was taken back is still found by its tag, and its tag is not free."""
        first = self.shop.sell(20, "t")
        self.done(self.storno())
        self.assertRepeats(self.shop.look_up("t"), first)
        self.assertRepeats(self.shop.sell(20, "t"), first)
        self.assertEqual(len(self.entries("sale")), 1)

    @promises("3.3.tag-tasks.2", "3.3.tag-tasks.3")
    def test_no_tag(self) -> None:
        """A storno carries no tag: the same tag takes back one receipt after the other, and finds none of them."""
        for _ in range(2):
            self.shop.sell(20)
            self.assertTells(self.shop.fiscal(17, "guid"), res=0, task_status=1, task=17, tag="guid")
        self.assertRefused(self.shop.look_up("guid"), 1058, action=1)
        self.assertEqual(len(self.entries("storno")), 2)

    @promises("3.3.tag-tasks.2")
    def test_tag_of_a_receipt(self) -> None:
        """The tag of a receipt on a storno changes nothing: what cannot be taken back is refused, not repeated."""
        self.shop.sell(20, "t")
        self.assertTells(self.shop.fiscal(17, "t"), res=0, task_status=1, task=17)
        self.assertRefused(self.shop.fiscal(17, "t"), 1058, action=1)

    @promises("3.3.tag-tasks.2")
    def test_no_tag_can_be_in_its_way(self) -> None:
        """Whatever tags receipts have, none of them keeps a storno from being made or is the storno's."""
        tags = ["storno of 2", "storno of 3", "storno", "17"]
        for tag in tags:
            self.done(self.shop.sell(20, tag))
        self.done(self.shop.sell(30, f"storno of {len(tags) + 2}"))
        answer = self.storno()
        self.assertTells(answer, task=17, task_status=1, res=0)
        self.assertTells(self.x(), safe=80.0)
        self.done(self.shop.sell(5, f"storno of {len(tags) + 4}"))
        self.done(self.storno())
        self.assertRefused(self.shop.look_up(f"storno of {len(tags) + 5}"), 1058, action=1)

    def test_clock_set_back(self) -> None:
        """The last receipt is the last that was made, also when the clock was set back before it."""
        self.shop.sell(20)
        self.shop.core.clock.offset = -3600
        self.done(self.shop.sell(30))
        self.assertTells(self.done(self.shop.fiscal(22)), docno="3")
        self.assertTells(self.done(self.storno()), safe=20.0)


class ServiceReportTests(_WithShop):
    """Task 5: free text on the receipt printer."""

    LINES = ({"t": "Меню дня", "qr_type": 0}, {"t": "https://a.ua/x", "qr_type": "100"}, {"t": "чай"})

    def test_info(self) -> None:
        """A service report returns the register and whether it was printed."""
        answer = self.shop.fiscal(5, lines=self.LINES, cashier="Оля")
        self.assertTells(self.done(answer), task=5, fisid=FISID, isprint=0, cashier="Оля", safe=0.0)

    def test_closed(self) -> None:
        """It needs no open shift."""
        self.shop.fiscal(11)
        self.done(self.shop.fiscal(5, lines=self.LINES))

    @promises("3.3.tag-tasks.2")
    def test_no_trace(self) -> None:
        """It is not sent, takes no number and has no tag."""
        for _ in range(2):
            self.assertEqual(self.shop.fiscal(5, "t", lines=self.LINES)["task_status"], 1)
        self.assertEqual(len(self.shop.ledger()), 1)
        self.assertRefused(self.shop.look_up("t"), 1058, action=1)
        self.assertTells(self.done(self.shop.sell()), docno="2")

    def test_no_lines(self) -> None:
        """1098: something has to be there to print."""
        given: tuple[Told, ...] = ({}, {"lines": []}, {"lines": None})
        for members in given:
            self.assertRefused(self.shop.fiscal(5, **members), 1098, "fiscal.lines")

    def test_wrong_lines(self) -> None:
        """2000: a line of no known kind, or a barcode that cannot be, is named."""
        for line, path in (
            ({"t": "x", "qr_type": 3}, "fiscal.lines[1].qr_type"),
            ({"t": "x", "qr_type": "qr"}, "fiscal.lines[1].qr_type"),
            ({"t": "x", "qr_type": 1}, "fiscal.lines[1].t"),
            ({"t": "4820000000018", "qr_type": 1}, "fiscal.lines[1].t"),
            ({"t": "Ї", "qr_type": 2}, "fiscal.lines[1].t"),
            ("x", "fiscal.lines[1]"),
        ):
            self.assertRefused(self.shop.fiscal(5, lines=[{"t": "a"}, line]), 2000, f"{path}:")

    def test_too_much(self) -> None:
        """2000: its codes and rows have the limits of a document for printing."""
        for line, times, said in (
            ({"t": "x" * 2300, "qr_type": 100}, 8, "понад 16384 байтів"),
            ({"t": "x", "qr_type": 100}, 101, "щонайбільше 100 QR-кодів"),
            ({"t": "x", "qr_type": 2}, 1001, "щонайбільше 1000 штрих-кодів"),
            ({"t": "x" * 480}, 1000, "довший за 20000 рядків"),
        ):
            self.assertRefused(self.shop.fiscal(5, lines=[line] * times), 2000, said)

    def test_barcodes(self) -> None:
        """EAN-13 takes its 13 digits, Code 128 what can be typed in English, QR any text."""
        self.done(self.shop.fiscal(5, lines=[{"t": "4820000000017", "qr_type": 1}]))
        self.done(self.shop.fiscal(5, lines=[{"t": "Ї" * 100, "qr_type": 100}]))
        self.done(self.shop.fiscal(5, lines=[{"t": "Abc-123 ~", "qr_type": 2}]))


class SummaryTests(_WithShop):
    """Tasks 12 and 13: several Z-reports together."""

    def setUp(self) -> None:
        """Monday, Tuesday and Wednesday have a Z-report at 10:00; Thursday's shift is open."""
        super().setUp()
        self.zs: list[Told] = []
        for amount in (10, 20, 40):
            self.cash_in(100)
            self.done(self.shop.fiscal(1, receipt=sale(amount)))
            self.done(self.shop.fiscal(1, receipt=LUNCH))
            self.done(self.give_back(1))
            self.done(self.withdraw(2))
            self.shop.clock.advance(3600)
            self.zs.append(self.done(self.shop.fiscal(11)))
            self.shop.clock.advance(DAY - 3600)
            self.shop.open_shift()
        self.shop.sell(1000)

    def days(self, answer: Told) -> list[str]:
        """The days of the Z-reports that a summary lists."""
        return [report["dt"][:8] for report in self.done(answer)["reports"]]

    def test_by_number(self) -> None:
        """Z-reports are chosen by the first and the last number, both included."""
        for n_from, n_to, amounts in (
            (1, 3, [10, 20, 40]),
            (1, 2, [10, 20]),
            (2, 2, [20]),
            ("2", "3", [20, 40]),
            (3, 99, [40]),
            (0, 1, [10]),
        ):
            info = self.done(self.shop.fiscal(12, n_from=n_from, n_to=n_to))
            self.assertEqual([report["docsum"] for report in info["reports"]], [amount + 63.0 for amount in amounts])
            self.assertTells(info, task=12, summary={"base_p": sum(amounts) + 63.0 * len(amounts)})

    def test_one_number(self) -> None:
        """A first number alone is one Z-report."""
        self.assertEqual(self.days(self.shop.fiscal(12, n_from=2)), ["20260922"])

    def test_lines(self) -> None:
        """Each Z-report is listed with its time, numbers and what it sold."""
        info = self.done(self.shop.fiscal(12, n_from=1, n_to=3))
        self.assertEqual(
            written(info["reports"]),
            written(
                [
                    {"dt": z["dt"], "docno": z["docno"], "doccode": z["doccode"], "docsum": z["summary"]["calc_p"]}
                    for z in self.zs
                ]
            ),
        )
        self.assertEqual(info["reports"][0]["dt"], "20260921100000")

    def test_sums(self) -> None:
        """A summary is the sum of its Z-reports in every amount and count."""
        info = self.done(self.shop.fiscal(12, n_from=1, n_to=3))
        for name in ("count_p", "count_m", "count_14"):
            self.assertEqual(info["receipt"][name], sum(z["receipt"][name] for z in self.zs), name)
        for name in info["summary"]:
            self.assertEqual(info["summary"][name], round(sum(z["summary"][name] for z in self.zs), 2), name)
        for table, key in (("pays", "type"), ("money", "type"), ("cash", "type"), ("taxes", "gr_code")):
            lines = [line for z in self.zs for line in z[table]]
            self.assertEqual([line[key] for line in info[table]], sorted({line[key] for line in lines}), table)
            for line in info[table]:
                same = [other for other in lines if other[key] == line[key]]
                for name, value in line.items():
                    if name.endswith(("_p", "_m", "_pu", "_pd", "_mu", "_md")):
                        self.assertEqual(value, round(sum(other[name] for other in same), 2), f"{table}.{name}")
                    else:
                        self.assertEqual(value, same[0][name], f"{table}.{name}")

    def test_known_sums(self) -> None:
        """The sums of the three days are those that were sold, returned and given out."""
        self.assertTells(
            self.done(self.shop.fiscal(12, n_from=1, n_to=3)),
            receipt={"count_p": 6, "count_m": 3, "count_14": 3},
            summary={"base_p": 259.0, "base_m": 3.0, "disc_p": 22.5, "calc_p": 259.0},
            pays=[{"type": 0, "sum_p": 139.0, "sum_m": 3.0}, {"type": 2, "sum_p": 120.0, "sum_m": 0.0}],
            money=[{"type": 0, "sum_p": 300.0, "sum_m": 0.0}],
            cash=[{"type": 2, "sum_m": 6.0}],
        )

    def test_by_date(self) -> None:
        """Z-reports are chosen by the beginning of a time, both ends included to their last second."""
        every = ["20260921", "20260922", "20260923"]
        for dt_from, dt_to, wanted in (
            ("20260921000000", "20260923235959", every),
            ("20260921", "20260923", every),
            ("202609", "202609", every),
            ("2026", "2026", every),
            ("20260922", "20260922", every[1:2]),
            ("2026092210", "2026092210", every[1:2]),
            ("202609221000", "202609221000", every[1:2]),
            ("20260922100000", "20260922100000", every[1:2]),
            ("20260921100001", "20260923095959", every[1:2]),
            ("20260922", "", every[1:]),
            ("", "20260922", every[:2]),
            (20260922, 20260923, every[1:]),
        ):
            answer = self.shop.fiscal(13, dt_from=dt_from, dt_to=dt_to)
            self.assertEqual(self.days(answer), wanted, (dt_from, dt_to))
            self.assertTells(answer, task=13, info={"task": 13})

    def test_short(self) -> None:
        """A short summary has the same sums without the list."""
        for task, members in ((12, {"n_from": 1, "n_to": 3}), (13, {"dt_from": "2026", "dt_to": "2026"})):
            whole = self.done(self.shop.fiscal(task, **members, is_short=False))
            self.assertEqual(len(whole["reports"]), 3)
            for short in (True, 1, "true"):
                info = self.done(self.shop.fiscal(task, **members, is_short=short))
                self.assertEqual(info, {**whole, "reports": []})

    def test_none(self) -> None:
        """1059: no Z-report is in the range."""
        ranges: tuple[Told, ...] = (
            {"n_from": 4, "n_to": 9},
            {"n_from": 3, "n_to": 1},
            {"n_from": -3, "n_to": -1},
            {},
        )
        for members in ranges:
            self.assertRefused(self.shop.fiscal(12, **members), 1059)
        for dt_from, dt_to in (
            ("20260924", "20260930"),
            ("20260923", "20260921"),
            ("20260921100001", "20260922095959"),
            ("2025", "2025"),
        ):
            self.assertRefused(self.shop.fiscal(13, dt_from=dt_from, dt_to=dt_to), 1059)

    def test_new_register(self) -> None:
        """1059: a register without a Z-report has no summary, whatever others have."""
        self.shop.add("bar")
        self.assertRefused(self.shop.fiscal(12, device="bar", n_from=1, n_to=9), 1059)
        self.assertRefused(self.shop.fiscal(13, device="bar", dt_from="2026", dt_to="2026"), 1059)

    def test_no_time(self) -> None:
        """2000: what is no beginning of a time is refused by its name."""
        for wrong in ("yesterday", "2026-09-21", "20261301", "20260931", "2026092124", "202", "2026092", "٢٠٢٦"):
            self.assertRefused(self.shop.fiscal(13, dt_from=wrong, dt_to="2026"), 2000, "fiscal.dt_from")
            self.assertRefused(self.shop.fiscal(13, dt_from="2026", dt_to=wrong), 2000, "fiscal.dt_to")

    def test_end_of_time(self) -> None:
        """The last days that a calendar has are a period like any other."""
        for last in ("9999", "999912", "99991231", "99991231235959"):
            self.assertEqual(len(self.days(self.shop.fiscal(13, dt_from="2026", dt_to=last))), 3, last)
        self.assertEqual(len(self.days(self.shop.fiscal(13, dt_from="0001", dt_to="2026"))), 3)

    def test_damaged(self) -> None:
        """1060: a Z-report that cannot be read spoils every summary that includes it, and no other."""
        database = self.shop.store._db
        assert database is not None
        for damage in (b"", b"{", b"\xff", b"[]", b"{}", b'{"kind":"\xff\xfe"}', b"null"):
            database.execute("UPDATE document SET value = ? WHERE kind = 'z' AND shift = 2", (damage,))
            for n_from, n_to in ((1, 3), (2, 2), (2, 3)):
                self.assertRefused(self.shop.fiscal(12, n_from=n_from, n_to=n_to), 1060)
            self.assertRefused(self.shop.fiscal(13, dt_from="2026", dt_to="2026"), 1060)
            self.assertEqual(self.days(self.shop.fiscal(12, n_from=1)), ["20260921"])
            self.assertEqual(self.days(self.shop.fiscal(13, dt_from="20260923", dt_to="20260923")), ["20260923"])
        self.flushLoggedErrors()

    def test_without_totals(self) -> None:
        """1060: a stored Z-report that has lost its totals is damaged too."""
        database = self.shop.store._db
        assert database is not None
        database.execute(
            "UPDATE document SET value = (SELECT value FROM document WHERE kind = 'open' LIMIT 1) WHERE kind = 'z'"
        )
        self.assertRefused(self.shop.fiscal(12, n_from=1), 1060)

    def test_no_trace(self) -> None:
        """Summaries are not sent, take no number, need no open shift and survive a restart."""
        first = self.done(self.shop.fiscal(12, n_from=1, n_to=3))
        count = len(self.shop.ledger())
        self.shop.crash()
        self.assertEqual(self.done(self.shop.fiscal(12, n_from=1, n_to=3)), first)
        self.assertEqual(len(self.shop.ledger()), count)
        self.shop.fiscal(11)
        self.assertTells(self.done(self.shop.fiscal(12, n_from=1, n_to=3)), summary=first["summary"])


class CopyTests(_WithShop):
    """Tasks 21, 22 and 23: the last numbers, and copies of receipts."""

    def setUp(self) -> None:
        super().setUp()
        self.cash_in(100)

    def test_last_numbers(self) -> None:
        """Task 21 returns the last sale and return of the shift and the last Z-report."""
        self.assertTells(
            self.done(self.shop.fiscal(21)), task=21, last_receipt_no=0, last_back_no=0, last_z_no=0, fisid=FISID
        )
        self.shop.sell(10)
        self.shop.sell(20)
        self.give_back(1)
        self.cash_in(5)
        self.assertTells(self.done(self.shop.fiscal(21)), last_receipt_no=4, last_back_no=5, last_z_no=0)

    def test_last_numbers_of_the_next_shift(self) -> None:
        """A new shift has no last receipt yet, and the current Z is one after the last."""
        self.shop.sell(10)
        self.shop.fiscal(11)
        self.assertTells(self.done(self.shop.fiscal(21)), last_z_no=1)
        self.shop.open_shift()
        self.assertTells(self.done(self.shop.fiscal(21)), last_receipt_no=0, last_back_no=0, last_z_no=1)

    def test_last_receipt(self) -> None:
        """Task 22 gives the last receipt as it was answered."""
        acts = (self.shop.sell, self.give_back, self.withdraw, lambda: self.turn_over(15), lambda: self.turn_over(16))
        for act in acts:
            info = self.done(act())
            self.shop.clock.advance(60)
            self.assertTells(self.done(self.shop.fiscal(22)), **info)
        self.assertTells(self.shop.fiscal(22), task=22, type=1, task_status=1)

    def test_last_receipt_of_a_closed_shift(self) -> None:
        """After the Z-report the last receipt is still there, also after a restart."""
        info = self.done(self.shop.sell(10))
        self.shop.fiscal(11)
        self.shop.crash()
        self.assertTells(self.done(self.shop.fiscal(22)), **info)

    def test_nothing_yet(self) -> None:
        """1058: a register that has made no receipt has none to copy."""
        self.shop.add("bar")
        self.assertRefused(self.shop.fiscal(22, device="bar"), 1058, action=1)
        self.shop.open_shift("bar")
        self.assertRefused(self.shop.fiscal(22, device="bar"), 1058, action=1)

    def test_by_number(self) -> None:
        """Task 23 gives any receipt by its fiscal number, with its card and its RRN."""
        infos = [self.done(self.shop.fiscal(1, receipt=LUNCH)), self.done(self.give_back(1))]
        infos.append(self.done(self.shop.fiscal(11)))
        for info in infos:
            self.assertTells(self.done(self.shop.fiscal(23, fiscal_number=info["doccode"])), **info)
        pays = self.done(self.shop.fiscal(23, fiscal_number=fiscal_number(3)))["printinfo"]["pays"]
        self.assertTells(pays[0], type=2, rrn="123456789012")

    def test_unknown_number(self) -> None:
        """1058: a number that no document of this register has finds nothing, another register's neither."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        sold = self.shop.fiscal(1, device="bar", receipt=sale())["info"]
        for number in ("TEST_1", sold["doccode"], fiscal_number(99), "%", "2"):
            self.assertRefused(self.shop.fiscal(23, fiscal_number=number), 1058, action=1)
        self.assertTells(self.done(self.shop.fiscal(23, device="bar", fiscal_number=sold["doccode"])), docno="2")

    def test_no_number(self) -> None:
        """1098: without a number there is nothing to look for."""
        for members in ({}, {"fiscal_number": ""}, {"fiscal_number": None}):
            self.assertRefused(self.shop.fiscal(23, **members), 1098, "fiscal.fiscal_number")

    def test_refused_is_none(self) -> None:
        """A receipt that was refused is not the last one."""
        info = self.done(self.shop.sell(10))
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9"})
        self.shop.sell(20)
        self.assertTells(self.done(self.shop.fiscal(22)), **info)

    @promises("3.2.2.3")
    def test_lost_is_found(self) -> None:
        """A copy of the last receipt first learns what became of one whose answer was lost."""
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        self.shop.sell(20)
        self.assertTells(self.done(self.shop.fiscal(22)), docno="3", safe=120.0)

    @promises("3.3.tag-tasks.2", "3.3.tag-tasks.3")
    def test_no_trace(self) -> None:
        """Copies and numbers are not sent, take no number and have no tag."""
        self.shop.sell(10, "t")
        for _ in range(2):
            for task in (21, 22, 23):
                answer = self.shop.fiscal(task, "t", fiscal_number=fiscal_number(2))
                self.assertTells(answer, task=task, task_status=1)
                self.assertEqual(self.shop.fiscal(task, "other", fiscal_number=fiscal_number(2))["tag"], "other")
        self.assertRefused(self.shop.look_up("other"), 1058, action=1)
        self.assertEqual(len(self.shop.ledger()), 3)
        self.assertTells(self.done(self.shop.sell()), docno="4")


class ListTests(_WithShop):
    """The list of receipts, `fiscal.get_receipts`."""

    def receipts(self, device: str = "test", **members: Any) -> Told:
        """The answer to a request for the list."""
        return self.shop.ask({"device": device, "type": 1, "fiscal": {"get_receipts": True, **members}})

    def sums(self, answer: Told) -> list[float]:
        """The sums of the listed receipts."""
        return [line["sum"] for line in self.done(answer)["docs"]]

    def sell_on_days(self, *amounts: float) -> None:
        """One sale a day, at 09:00."""
        for amount in amounts:
            self.done(self.shop.sell(amount))
            self.shop.clock.advance(DAY)

    def test_lines(self) -> None:
        """A line has time, numbers, tag, task, sum and taxes of its receipt."""
        self.done(self.shop.sell(60, "a tag"))
        answer = self.receipts()
        self.assertTells(answer, type=1, task=-1, task_status=1, device="test")
        self.assertTells(
            self.done(answer),
            docs=[
                {
                    "device": "test",
                    "datetime": "21.09.2026 09.00.00",
                    "fisnum": fiscal_number(2),
                    "docno": "2",
                    "tag": "a tag",
                    "type": 1,
                    "sum": 60.0,
                    "tax_sum": 10.0,
                }
            ],
            paging={"page_number": 1, "page_size": 50, "total": 1},
        )

    def test_kinds(self) -> None:
        """Every document that moves money is listed, and every Z-report; openings are not."""
        self.cash_in(100)
        self.shop.sell(60)
        self.give_back(6)
        self.shop.fiscal(4, cash={"sum": 3})
        self.withdraw(2)
        self.turn_over(15, 7)
        self.turn_over(16, 8)
        self.shop.fiscal(17)
        self.shop.fiscal(11)
        self.shop.open_shift()
        docs = self.done(self.receipts(dt_order="asc"))["docs"]
        self.assertEqual(
            [(line["type"], line["sum"]) for line in docs],
            [(3, 100.0), (1, 60.0), (2, 6.0), (4, 3.0), (14, 2.0), (15, 7.0), (16, 8.0), (17, 0.0), (11, 60.0)],
        )
        self.assertEqual([line["docno"] for line in docs], [str(number) for number in range(2, 11)])

    def test_order(self) -> None:
        """The newest receipt comes first, or the oldest on demand."""
        self.sell_on_days(1, 2, 3)
        for order, wanted in (("desc", [3, 2, 1]), ("", [3, 2, 1]), ("DESC", [3, 2, 1]), ("asc", [1, 2, 3])):
            self.assertEqual(self.sums(self.receipts(dt_order=order)), wanted, order)

    def test_same_moment(self) -> None:
        """Receipts of one moment are in the order in which they were made."""
        for amount in (1, 2, 3):
            self.shop.sell(amount)
        self.assertEqual(self.sums(self.receipts()), [3, 2, 1])
        self.assertEqual(self.sums(self.receipts(dt_order="asc")), [1, 2, 3])

    def test_pages(self) -> None:
        """A page holds as many as asked for; beyond the last one it is empty."""
        self.sell_on_days(1, 2, 3, 4, 5)
        for page, wanted in ((1, [5, 4]), ("2", [3, 2]), (3, [1]), (4, [])):
            answer = self.receipts(pg_no=page, pg_cnt="2")
            self.assertEqual(self.sums(answer), wanted)
            self.assertTells(answer["info"]["paging"], page_number=int(page), page_size=2, total=5, page_count=3)
        self.assertEqual(self.sums(self.receipts(pg_cnt=2, dt_order="asc", pg_no=2)), [3, 4])

    def test_default_page(self) -> None:
        """Without a size a page holds 50."""
        for _ in range(51):
            self.shop.sell(1)
        self.assertEqual(len(self.done(self.receipts())["docs"]), 50)
        self.assertEqual(len(self.done(self.receipts(pg_no=2, pg_cnt=None))["docs"]), 1)

    def test_period(self) -> None:
        """A period is given by the beginnings of times, both ends included."""
        self.sell_on_days(1, 2, 3)
        for dt_from, dt_to, wanted in (
            ("20260921", "20260923", [3, 2, 1]),
            ("20260922", "20260922", [2]),
            ("20260922090000", "20260922090000", [2]),
            ("20260922090001", "", [3]),
            ("", "2026092209", [2, 1]),
            ("202610", "2027", []),
        ):
            answer = self.receipts(dt_from=dt_from, dt_to=dt_to)
            self.assertEqual(self.sums(answer), wanted, (dt_from, dt_to))
            self.assertTells(answer["info"]["paging"], total=len(wanted))

    def test_registers(self) -> None:
        """All registers are listed together, or one by its name or id."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.shop.sell(1)
        self.shop.fiscal(1, device="bar", receipt=sale(2))
        dev_id = self.shop.core.devices.by_name("bar").row.dev_id
        self.assertEqual(sorted(self.sums(self.receipts())), [1, 2])
        self.assertEqual(self.sums(self.receipts(dev_name="test")), [1])
        self.assertEqual(self.sums(self.receipts(dev_name="bar")), [2])
        self.assertEqual(self.sums(self.receipts(dev_id=dev_id)), [2])
        self.assertEqual(self.done(self.receipts(dev_name="bar"))["docs"][0]["device"], "bar")

    def test_unknown_register(self) -> None:
        """1091: a register that there is not has no list."""
        self.assertRefused(self.receipts(dev_name="nobody"), 1091)
        self.assertRefused(self.receipts(dev_id="nobody"), 1091)
        self.assertRefused(self.receipts("nobody"), 1091)

    def test_refused(self) -> None:
        """2000: a page, an order or a time that is none is named."""
        cases: tuple[tuple[str, Any], ...] = (
            ("pg_no", -1),
            ("pg_cnt", -1),
            ("pg_cnt", 1001),
            ("pg_no", "x"),
            ("dt_order", "up"),
            ("dt_from", "x"),
            ("dt_to", "202613"),
        )
        for name, wrong in cases:
            self.assertRefused(self.receipts(**{name: wrong}), 2000, f"fiscal.{name}:")

    def test_only_what_happened(self) -> None:
        """What was refused or is not known yet is not listed; what was lost is, once it was found."""
        self.shop.scenario(
            {"on": "sale", "then": "refuse", "code": "9"},
            {"on": "sale", "then": "lost_after"},
            {"on": "probe", "then": "lost_before", "times": 0},
        )
        self.shop.sell(1)
        self.shop.sell(2)
        self.assertEqual(self.sums(self.receipts()), [])
        self.shop.scenario()
        self.shop.fiscal(18)
        self.shop.sell(3)
        self.assertEqual(self.sums(self.receipts()), [3, 2])

    def test_flag(self) -> None:
        """The list is asked for by anything that means true; else a request without a task is incomplete."""
        self.shop.sell(1)
        for flag in (1, "1", "true"):
            self.assertEqual(self.sums(self.receipts(get_receipts=flag)), [1])
        self.assertRefused(self.receipts(get_receipts=False), 2000, "fiscal.task")

    def test_task_beside_it(self) -> None:
        """A task that a till leaves beside the wish for the list is not done: it opens and sells nothing."""
        self.shop.sell(1)
        self.shop.fiscal(11)
        count = len(self.shop.ledger())
        for task in (0, "0", 1, 18, None):
            self.assertEqual(self.sums(self.receipts(task=task)), [1, 1], task)
        self.assertEqual(len(self.shop.ledger()), count)

    def test_closed(self) -> None:
        """The list needs no open shift and survives a restart."""
        self.shop.sell(1)
        self.shop.fiscal(11)
        self.shop.crash()
        self.assertEqual(self.sums(self.receipts()), [1, 1])

    def test_no_trace(self) -> None:
        """A list takes no number and is stored under no tag."""
        self.shop.ask({"device": "test", "tag": "t", "type": 1, "fiscal": {"get_receipts": True}})
        self.assertRefused(self.shop.look_up("t"), 1058, action=1)
        self.assertTells(self.done(self.shop.sell()), docno="2")


class SoldCodeTests(_WithShop):
    """1111: an item code has one tax group in a shift."""

    def sell(self, code: object, taxgrp: object, device: str = "test", **row: Any) -> Told:
        """The answer to a sale of one item."""
        rows = [{"code": code, "name": "Сік", "cnt": 1, "price": 10, "taxgrp": taxgrp, **row}]
        return self.shop.fiscal(1, device=device, receipt={"sum": 10, "rows": rows, "pays": [{"type": 0, "sum": 10}]})

    def assertTaken(self, answer: Told) -> None:
        """The item is refused as one that was sold in group 1, with code, group and letter."""
        self.assertRefused(answer, 1111, "104", "1 (А)")

    def test_other_group(self) -> None:
        """A code that was sold in one group cannot be sold in another; text names code, group and letter."""
        self.done(self.sell("104", 1))
        before = self.shop.ledger(), self.x()
        self.assertTaken(self.sell("104", 2))
        self.assertTaken(self.sell(104, "4", name="Вода"))
        self.assertEqual((self.shop.ledger(), self.x()), before)

    def test_same_group(self) -> None:
        """In its own group a code is sold again and again."""
        for taxgrp in (1, "1", 1):
            self.done(self.sell("104", taxgrp))

    def test_default_group(self) -> None:
        """An item without a group is sold in the register's own, and its code belongs to that one."""
        self.done(self.sell("104", ""))
        self.done(self.sell("104", 2))
        self.assertRefused(self.sell("104", 1), 1111, "104", "2 (Б)")

    def test_no_code(self) -> None:
        """Items without a code may be in any group."""
        self.done(self.sell("", 1))
        self.done(self.sell("", 2))

    def test_in_one_receipt(self) -> None:
        """One receipt does not hold a code in two groups either."""
        rows = [{"code": "104", "name": "Сік", "cnt": 1, "price": 10, "taxgrp": group} for group in (1, 2)]
        answer = self.shop.fiscal(1, receipt={"sum": 20, "rows": rows, "pays": [{"type": 0, "sum": 20}]})
        self.assertTaken(answer)

    def test_after_restart(self) -> None:
        """What was sold before a restart counts after it."""
        self.done(self.sell("104", 1))
        self.shop.crash()
        self.assertTaken(self.sell("104", 2))

    def test_after_lost_answer(self) -> None:
        """What a lost receipt sold counts once it was found."""
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        self.sell("104", 1)
        self.shop.fiscal(18)
        self.assertTaken(self.sell("104", 2))

    def test_refused_sale(self) -> None:
        """A sale that was refused has sold nothing."""
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9"})
        self.sell("104", 1)
        self.done(self.sell("104", 2))

    def test_next_shift(self) -> None:
        """With the next shift every code is free, also after a restart."""
        self.done(self.sell("104", 1))
        self.shop.fiscal(11)
        self.shop.open_shift()
        self.done(self.sell("104", 2))
        self.shop.crash()
        self.assertRefused(self.sell("104", 1), 1111, "104", "2 (Б)")

    def test_other_register(self) -> None:
        """Each register has codes of its own."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.done(self.sell("104", 1))
        self.done(self.sell("104", 2, "bar"))


class FormTests(_WithShop):
    """The text form of an answer, `need_pf_txt`."""

    NONE, WANTED = 1, 2

    def setUp(self) -> None:
        super().setUp()
        self.cash_in(100)

    def ask(self, wish: object, task: int, tag: str = "", **members: Any) -> Told:
        """The answer to a task with a wish for its text form."""
        fiscal = {"task": task, **members}
        return self.shop.ask({"device": "test", "tag": tag, "type": 1, "need_pf_txt": wish, "fiscal": fiscal})

    def text(self, answer: Told) -> str:
        """The text form of an answer, which must be there."""
        form = answer["pf_text"]
        self.assertEqual(form[: len(TEXT_FORM)], TEXT_FORM)
        return base64.b64decode(form[len(TEXT_FORM) :], validate=True).decode("cp1251")

    def every_task(self) -> dict[int, Told]:
        """The members of each task that has a print form, in an order in which they can be done."""
        return {
            3: {"cash": {"sum": 5}},
            1: {"receipt": sale(20)},
            2: {"receipt": sale(1)},
            4: {"cash": {"sum": 5}},
            14: {"cash": {**BY_CARD, "sum": 1}},
            15: {"receipt": {"sum": 7, "pays": [{"type": 0, "sum": 7}]}},
            16: {"receipt": {"sum": 7, "pays": [{"type": 0, "sum": 7}]}},
            22: {},
            23: {"fiscal_number": fiscal_number(2)},
            5: {"lines": [{"t": "Меню"}]},
            10: {},
            11: {},
            12: {"n_from": 1},
            13: {"dt_from": "2026"},
        }

    def test_wanted(self) -> None:
        """2: each task with a print form answers it as text in a data URI of windows-1251."""
        for task, members in self.every_task().items():
            answer = self.ask(self.WANTED, task, **members)
            self.assertEqual(answer["res"], 0, task)
            self.assertTrue(self.text(answer).strip(), task)

    def test_unasked(self) -> None:
        """0, nothing and 1: without a wish the register's setting counts, and it is off; 1 wants none."""
        tasks: dict[int, Told] = {1: {"receipt": sale(1)}, 10: {}, 5: {"lines": [{"t": "a"}]}, 22: {}}
        for wish in (0, "0", "", None, self.NONE):
            for task, members in tasks.items():
                self.assertNotIn("pf_text", self.ask(wish, task, **members))
        self.assertNotIn("pf_text", self.shop.sell())

    def test_setting(self) -> None:
        """With the setting on, every form is there unless the request wants none."""
        self.shop.settings(pf_text=True)
        for task, members in self.every_task().items():
            answer = self.shop.fiscal(task, **members)
            self.assertEqual(answer["res"], 0, task)
            self.assertTrue(self.text(answer).strip(), task)
        self.shop.open_shift()
        self.assertNotIn("pf_text", self.ask(self.NONE, 1, receipt=sale(1)))
        self.assertNotIn("pf_text", self.ask(self.NONE, 10))
        self.assertIn("pf_text", self.ask(0, 10))

    def test_no_form(self) -> None:
        """Status, number and last numbers have none, and a refusal neither."""
        for task in (18, 20, 21):
            self.assertNotIn("pf_text", self.ask(self.WANTED, task))
        for answer in (self.ask(self.WANTED, 1), self.ask(self.WANTED, 99), self.ask(self.WANTED, 0)):
            self.assertEqual(answer["task_status"], 3)
            self.assertNotIn("pf_text", answer)

    def test_unknown_wish(self) -> None:
        """2000: another number is no wish."""
        for wish in (3, -1, "x", 1.5):
            self.assertRefused(self.ask(wish, 10), 2000, "need_pf_txt:")

    def test_receipt(self) -> None:
        """A receipt names the shop, the item, the sum and its fiscal number."""
        answer = self.ask(self.WANTED, 1, receipt=LUNCH, cashier="Оля")
        text = self.text(answer)
        for words in ("Навчальна крамниця", "Пиріг", "63.00", answer["info"]["doccode"], "Оля"):
            self.assertIn(words, text)

    def test_x(self) -> None:
        """The text of an X-report holds its title, by which tills know it; a Z-report has its own."""
        self.assertIn("X-ЗВІТ", self.text(self.ask(self.WANTED, 10)))
        text = self.text(self.ask(self.WANTED, 11))
        self.assertNotIn("X-ЗВІТ", text)
        self.assertIn("Z-ЗВІТ", text)

    def test_service_report(self) -> None:
        """The text of a service report holds its lines in their order."""
        text = self.text(self.ask(self.WANTED, 5, lines=[{"t": "Борщ"}, {"t": "Вареники"}]))
        self.assertLess(text.index("Борщ"), text.index("Вареники"))

    def test_repeat(self) -> None:
        """A repeat and a look-up have the text that the first answer had, when they want it."""
        first = self.ask(self.WANTED, 1, "t", receipt=LUNCH)
        self.shop.clock.advance(3600)
        self.assertEqual(self.ask(self.WANTED, 1, "t", receipt=LUNCH), {**first, "task_status": 2})
        looked_up = self.shop.ask({"device": "test", "tag": "t", "need_pf_txt": self.WANTED})
        self.assertEqual(looked_up, {**first, "task_status": 2})
        self.shop.crash()
        self.assertEqual(self.ask(self.WANTED, 1, "t", receipt=LUNCH), {**first, "task_status": 2})

    def test_wish_is_not_stored(self) -> None:
        """A repeat has the text when it wants it, whatever the first request wanted."""
        first = self.ask(self.WANTED, 1, "t", receipt=LUNCH)
        text = first.pop("pf_text")
        self.assertEqual(self.ask(self.NONE, 1, "t", receipt=LUNCH), {**first, "task_status": 2})
        self.assertEqual(self.shop.look_up("t"), {**first, "task_status": 2})
        plain = self.ask(self.NONE, 1, "plain", receipt=LUNCH)
        again = self.ask(self.WANTED, 1, "plain", receipt=LUNCH)
        self.assertIn(plain["info"]["doccode"], self.text(again))
        self.assertEqual(len(again.pop("pf_text")), len(text))
        self.assertEqual(again, {**plain, "task_status": 2})

    def test_repeat_of_a_z(self) -> None:
        """A Z-report that is asked for again has the same text."""
        first = self.ask(self.WANTED, 11, "z")
        self.shop.open_shift()
        self.assertEqual(self.ask(self.WANTED, 11, "z"), {**first, "task_status": 2})

    def test_after_lost_answer(self) -> None:
        """A receipt whose answer was lost has its text, with the number that it was given."""
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        first = self.ask(self.WANTED, 1, "t", receipt=LUNCH)
        self.assertIn(first["info"]["doccode"], self.text(first))
        answer = self.ask(self.WANTED, 1, "t", receipt=LUNCH)
        self.assertEqual(answer["task_status"], 2)
        self.assertIn(answer["info"]["doccode"], self.text(answer))

    def test_copy(self) -> None:
        """Copies by task 22 and by number are the same text as each other, with the receipt's number."""
        sold = self.done(self.shop.fiscal(1, receipt=LUNCH))
        last = self.text(self.ask(self.WANTED, 22))
        self.assertEqual(last, self.text(self.ask(self.WANTED, 23, fiscal_number=sold["doccode"])))
        self.assertIn(sold["doccode"], last)

    def test_header_and_footer(self) -> None:
        """The shop's own lines stand at the top and at the end of every form."""
        self.shop.settings(header=["Ласкаво просимо"], footer=["Чекаємо знову", "До зустрічі"])
        for task, members in self.every_task().items():
            text = self.text(self.ask(self.WANTED, task, **members))
            if task == 23:
                # Its receipt was made before there were such lines: a copy says what the original said.
                self.assertNotIn("Ласкаво просимо", text)
                continue
            places = [text.find(line) for line in ("Ласкаво просимо", "Чекаємо знову", "До зустрічі")]
            self.assertNotIn(-1, places, task)
            self.assertEqual(places, sorted(places), task)

    def test_width(self) -> None:
        """No line of a form is longer than the setting says."""
        for width in (24, 32, 48):
            self.shop.settings(pf_charcount=width, header=["Ї" * 100])
            receipt = {**sale(5), "rows": [{**sale(5)["rows"][0], "name": "Дуже довга назва товару " * 5}]}
            tasks: dict[int, Told] = {1: {"receipt": receipt}, 10: {}}
            for task, members in tasks.items():
                lines = self.text(self.ask(self.WANTED, task, **members)).splitlines()
                self.assertLessEqual(max(map(len, lines)), width, task)


class SettingsTests(_WithShop):
    """What a register's settings change."""

    def paid(self, amount: str, **receipt: Any) -> Told:
        """``printinfo`` of a sale in cash."""
        info: Told = self.done(self.shop.sell(amount, **receipt))["printinfo"]
        return info

    def test_rounding_step(self) -> None:
        """Cash is rounded to the step of the settings, halves up; 0 leaves it as it is."""
        for step, cases in (
            (50, {"10.24": 10.0, "10.25": 10.5, "10.74": 10.5, "10.75": 11.0, "10.50": 10.5}),
            (10, {"10.24": 10.2, "10.25": 10.3, "10.74": 10.7, "10.75": 10.8, "10.50": 10.5}),
            (0, {"10.24": 10.24, "10.25": 10.25, "10.01": 10.01}),
        ):
            self.shop.settings(rounding_step=step)
            for amount, topay in cases.items():
                printed = self.paid(amount, autoround=True)
                self.assertTells(
                    printed, sum_topay=topay, sum_receipt=float(amount), round=round(topay - float(amount), 2)
                )

    def test_time_in_link(self) -> None:
        """The link of a receipt has its time with seconds or without; copies keep the link of the receipt."""
        self.assertIn("&time=090000&", self.done(self.shop.sell())["qr"])
        self.shop.settings(qr_time="hhmm")
        info = self.done(self.shop.sell())
        self.assertIn("&date=20260921&time=0900&fn=", info["qr"])
        self.assertEqual(info["printinfo"]["qr"], info["qr"])
        self.shop.settings(qr_time="hhmmss")
        copy = self.done(self.shop.fiscal(23, fiscal_number=info["doccode"], pf_text=True))
        self.assertEqual(copy["qr"], info["qr"])

    def test_card_is_not_rounded(self) -> None:
        """A payment by card is exact under `autoround`."""
        pays = [{**BY_CARD, "sum": "10.24"}]
        self.assertTells(self.paid("10.24", autoround=True, pays=pays), sum_topay=10.24, round=0.0)

    def test_own_rounding(self) -> None:
        """1115: a till's own rounding is taken only where rounding is on."""
        members: Told = {"round": "-0.24", "pays": [{"type": 0, "sum": 10}]}
        self.assertTells(self.paid("10.24", **members), sum_topay=10.0, round=-0.24)
        self.shop.settings(rounding_step=0)
        self.assertRefused(self.shop.sell("10.24", **members), 1115)
        self.assertTells(self.paid("10.24", round=0), sum_topay=10.24)

    @promises("8.rounding")
    def test_rounding_range(self) -> None:
        """1112: the rounding is between -0.99 and 0.99; this is checked before 1115."""
        for rounding in ("0.99", "-0.99"):
            self.assertNotIn(self.shop.sell("10", round=rounding)["res"], (1112, 1115))
        for rounding in ("1", "-1", "0.995", "12"):
            self.assertRefused(self.shop.sell("10", round=rounding), 1112)
        self.shop.settings(rounding_step=0)
        self.assertRefused(self.shop.sell("10", round="1"), 1112)
        self.assertRefused(self.shop.sell("10", round="0.99"), 1115)

    def test_unknown_step(self) -> None:
        """A step that no rule knows is refused when it is set."""
        for step in (1, 5, 100, -10, "50"):
            self.assertEqual(self.bad_setting({"rounding_step": step}), "settings.rounding_step")

    def sell_in(self, taxgrp: object) -> Told:
        """The answer to a sale of an item without a code in a tax group."""
        return self.shop.sell(10, rows=[{"name": "Кава", "cnt": 1, "price": 10, "taxgrp": taxgrp}])

    def test_tax_groups(self) -> None:
        """1087: groups that are unknown, off or left out; the refusal lists those that are enabled."""
        self.shop.settings(
            tax_groups=[
                {"code": 1, "name": "ПДВ 20%", "letter": "А", "tax_name": "ПДВ", "percent": 2000},
                {"code": 2, "name": "Без ПДВ", "letter": "Б", "enabled": False},
                {"code": 31, "name": "Особлива", "letter": "Щ", "tax_name": "ПДВ", "percent": 1000},
            ]
        )
        self.done(self.sell_in(1))
        for taxgrp in (2, "2", 4, "", 99, "Ю", "-1"):
            answer = self.sell_in(taxgrp)
            self.assertRefused(answer, 1087, "2" if taxgrp == "" else str(taxgrp))
            self.assertTrue(answer["errortxt"].endswith("ввімкнено коди 1, 31"), answer["errortxt"])
        printed = self.done(self.sell_in(31))["printinfo"]
        self.assertTells(printed, goods=[{"taxgrp": 31, "taxlit": "Щ"}], taxes=[{"gr_code": 31, "tax_sum": 0.91}])

    def test_no_tax_groups(self) -> None:
        """1078: a register without tax groups sells nothing, and names itself."""
        self.shop.settings(tax_groups=[])
        self.assertRefused(self.sell_in(1), 1078, "test")
        self.assertRefused(self.sell_in(""), 1078, "test")
        self.done(self.shop.fiscal(3, cash={"sum": 1}))

    def test_algorithm(self) -> None:
        """1079: a group that asks for an unknown algorithm is named by letter and number."""
        self.shop.settings(
            tax_groups=[{"code": 1, "name": "ПДВ", "letter": "А", "tax_name": "ПДВ", "percent": 2000, "algorithm": 7}]
        )
        self.assertRefused(self.sell_in(1), 1079, "А", "7")

    def test_default_group(self) -> None:
        """An item without a group is in that of the settings; without one it is refused."""
        self.assertTells(self.done(self.sell_in(None))["printinfo"], goods=[{"taxgrp": 2, "taxlit": "Б"}])
        self.shop.settings(default_taxgrp=1)
        self.assertTells(self.done(self.sell_in(""))["printinfo"], goods=[{"taxgrp": 1, "taxlit": "А"}])
        self.shop.settings(default_taxgrp=0)
        self.assertRefused(self.sell_in(""), 1087)

    def test_pay_types(self) -> None:
        """A register may have payment types of its own; known ones that it lacks are not enabled."""
        self.shop.settings(
            pay_types=[
                {"code": 0, "name": "Гроші"},
                {"code": 2, "name": "Картка", "enabled": False},
                {"code": 77, "name": "Талон"},
            ]
        )
        pays = [{"type": 0, "sum": 4}, {"type": "77", "sum": 6}]
        printed = self.done(self.shop.sell(10, pays=pays))["printinfo"]
        self.assertTells(
            printed, pays=[{"type": 0, "typen": "Гроші", "sum": 4.0}, {"type": 77, "typen": "Талон", "sum": 6.0}]
        )
        self.assertTells(
            self.x(),
            pays=[{"type": 0, "name": "Гроші", "sum_p": 4.0}, {"type": 77, "name": "Талон", "sum_p": 6.0}],
            safe=4.0,
        )
        for code in (2, "2", 13):
            self.assertRefused(self.shop.sell(10, pays=[{"type": code, "sum": 10}]), 1110, str(code))
        for code in (78, "x"):
            self.assertRefused(self.shop.sell(10, pays=[{"type": code, "sum": 10}]), 1088, str(code))
        self.assertRefused(self.withdraw(1), 1110, "2")

    def test_zero_payment_is_named(self) -> None:
        """1109 names the payment type as the register calls it."""
        self.shop.settings(pay_types=[{"code": 0, "name": "Гроші"}, {"code": 77, "name": "Талон"}])
        pays = [{"type": 0, "sum": 10}, {"type": 77, "sum": 0}]
        self.assertRefused(self.shop.sell(10, pays=pays), 1109, "Талон")

    def test_after_restart(self) -> None:
        """Settings are kept."""
        self.shop.settings(default_taxgrp=1, rounding_step=10)
        self.shop.crash()
        self.assertTells(self.done(self.sell_in(""))["printinfo"], goods=[{"taxgrp": 1}])
        self.assertTells(self.paid("10.24", autoround=True), sum_topay=10.2)


class WarningTests(_WithShop):
    """3003: a shift that is open for too long, by the register's own measure."""

    def codes(self, answer: Told) -> list[int]:
        """The codes of the answer's warnings."""
        self.assertEqual(answer["res"], 0)
        return [warning["code"] for warning in answer["warnings"]]

    def test_own_measure(self) -> None:
        """The warning comes after as many hours as the settings say, to the moment."""
        self.shop.settings(warn_shift_h=1.5)
        self.shop.clock.advance(1.5 * 3600)
        self.assertEqual(self.codes(self.shop.sell()), [])
        self.shop.clock.advance(0.001)
        self.assertEqual(self.codes(self.shop.sell()), [3003])
        self.shop.settings(warn_shift_h=48)
        self.assertEqual(self.codes(self.shop.sell()), [])

    def test_every_task(self) -> None:
        """Every task of the open shift warns, its Z-report too, and the next shift does not."""
        self.shop.clock.advance(DAY + 1)
        self.cash_in(100)
        answers = [self.shop.sell(), self.give_back(1), self.withdraw(1), self.turn_over(15), self.shop.fiscal(17)]
        answers += [self.shop.fiscal(task) for task in (10, 18, 20, 21, 22)]
        answers.append(self.shop.fiscal(5, lines=[{"t": "x"}]))
        answers.append(self.shop.fiscal(11))
        self.assertEqual([self.codes(answer) for answer in answers], [[3003]] * len(answers))
        self.assertEqual(self.codes(self.shop.fiscal(18)), [])
        self.assertEqual(self.codes(self.shop.fiscal(0)), [])

    def test_after_restart(self) -> None:
        """The hours are counted from the opening, not from the start of the service."""
        self.shop.clock.advance(DAY)
        self.shop.crash()
        self.shop.clock.advance(1)
        self.assertEqual(self.codes(self.shop.sell()), [3003])


class AutoCloseTests(_WithShop):
    """The setting `auto_close`: a shift that closes by itself."""

    def is_open(self, device: str = "test") -> bool:
        """Whether the shift is open."""
        return bool(self.done(self.shop.fiscal(18, device=device))["shift_status"])

    def zs(self, device: str = "test") -> list[str]:
        """The times of the Z-reports that the tax service took, and how many it refused."""
        self.assertEqual(self.shop.ledger(device, "z", "refused"), [])
        return [entry.dt for entry in self.shop.ledger(device, "z")]

    def until(self, hour: float) -> None:
        """Wait until ``hour`` of the first day, in steps as time has them."""
        while self.shop.clock.seconds() < 1_789_970_400 + (hour - 9) * 3600 - 0.5:
            self.shop.clock.advance(20)

    def test_at_its_time(self) -> None:
        """A shift is closed within half a minute of the set time in Kyiv, not before, and only once."""
        self.shop.settings(auto_close="12:00")
        self.shop.sell(20)
        self.until(12 - 20 / 3600)
        self.assertTrue(self.is_open())
        self.until(12 + 30 / 3600)
        self.assertFalse(self.is_open())
        self.until(13)
        (moment,) = self.zs()
        self.assertIn(moment, [f"202609211200{second:02d}" for second in range(31)])

    def test_z(self) -> None:
        """It is a Z-report like any other: with the totals, and the cash stays in the drawer."""
        self.shop.settings(auto_close="12:00")
        self.shop.sell(20)
        self.until(12.01)
        self.assertTells(self.done(self.shop.fiscal(12, n_from=1)), summary={"calc_p": 20.0}, receipt={"count_p": 1})
        self.assertTells(self.done(self.shop.fiscal(0)), safe=20.0, shift_link=2)

    def test_off(self) -> None:
        """Without the setting a shift stays open."""
        self.shop.clock.advance(3 * DAY)
        self.assertTrue(self.is_open())
        self.assertEqual(self.zs(), [])

    def test_opened_later(self) -> None:
        """A shift that was opened after the set time stays open until that time of the next day."""
        self.shop.settings(auto_close="08:00")
        self.until(9.5)
        self.assertTrue(self.is_open())
        self.shop.clock.advance(22 * 3600)
        self.until(32 - 20 / 3600)
        self.assertTrue(self.is_open())
        self.until(32 + 30 / 3600)
        self.assertFalse(self.is_open())
        self.assertEqual(len(self.zs()), 1)

    def test_every_day(self) -> None:
        """Each day's shift is closed, and a day without one is left alone."""
        self.shop.settings(auto_close="12:00")
        for day in range(3):
            self.until(24 * day + 12.01)
            self.assertFalse(self.is_open())
            self.shop.clock.advance(20 * 3600)
            if day != 1:
                self.shop.open_shift()
        self.assertEqual([moment[:8] for moment in self.zs()], ["20260921", "20260922"])

    def test_each_register(self) -> None:
        """Each register goes by its own setting."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.shop.settings("bar", auto_close="12:00")
        self.until(12.01)
        self.assertEqual([self.is_open("test"), self.is_open("bar")], [True, False])

    def test_not_reached(self) -> None:
        """When the tax service cannot be reached at that time, it is tried again until it can."""
        self.shop.settings(auto_close="12:00", offline_allowed=False)
        self.shop.scenario({"on": "z", "then": "unreachable", "times": 5})
        self.until(12.01)
        self.assertTrue(self.is_open())
        self.until(12.1)
        self.assertFalse(self.is_open())
        self.assertEqual(len(self.zs()), 1)

    def test_lost_answer(self) -> None:
        """A closing whose answer was lost is completed, not made twice."""
        self.shop.settings(auto_close="12:00")
        self.shop.scenario({"on": "z", "then": "lost_after"})
        self.until(12.1)
        self.assertFalse(self.is_open())
        self.assertEqual(len(self.zs()), 1)

    def test_service_was_down(self) -> None:
        """A service that was not running at that time closes the shift when it runs again."""
        self.shop.settings(auto_close="12:00")
        for call in list(self.shop.clock.getDelayedCalls()):
            call.cancel()
        self.shop.clock.advance(5 * 3600)
        self.assertEqual(self.zs(), [])
        self.shop.crash()
        self.shop.clock.advance(30)
        self.assertFalse(self.is_open())
        self.assertEqual(self.zs()[0][:10], "2026092114")

    def test_busy(self) -> None:
        """A register that is at work at that time is closed when it has finished."""
        self.shop.settings(auto_close="12:00", wait_s=60)
        self.until(12 - 40 / 3600)
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 60_000})
        selling = self.shop.asked({"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        self.until(12.01)
        self.assertEqual(self.successResultOf(selling)[:8], b'{"ver":6')
        self.until(12.02)
        self.assertFalse(self.is_open())
        self.assertEqual(len(self.zs()), 1)

    def test_no_time_of_day(self) -> None:
        """What is no time of day is refused when it is set."""
        for wrong in ("24:00", "12:60", "9:00", "noon", "12", 12):
            self.assertEqual(self.bad_setting({"auto_close": wrong}), "settings.auto_close")
