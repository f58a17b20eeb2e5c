"""Our documents as the cabinet's server takes them: kinds, rows, payments, taxes, part payments and the Z."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import PAY_TYPES, PayType, TaxGroup
from dmtwisted.documents.documents import Caller, Document, Header, OfflineMark
from dmtwisted.registers import totals
from dmtwisted.registers.channels.cabinet_documents import left_out, written
from dmtwisted.registers.channels.tax_documents import Desk, Outlet
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res
from protocols.fiscal.cabinet.documents import RQ, C, Kind, decode, encode, mac_of
from protocols.fiscal.cabinet.documents_checks import ShiftSums, mac_faults, receipt_faults
from protocols.fiscal.cabinet.documents_rows import TX, CashIn, CashOut, D, E, L, M, P, S
from protocols.fiscal.cabinet.documents_service import size_asked
from protocols.fiscal.cabinet.documents_z import EPZ, IO, NC, Z
from tests import test_tax_documents
from tests.oracle import Till as OracleTill
from tests.shop import sale
from tests.test_oracle import calculated, receipts, settings_of
from tests.test_tax_documents import BOOK, CARD, GROUPS, NUMBER, RECEIPT, RRN, Till, read_receipt


class CabinetTill(Till):
    """A register that draws up documents and counts them, each with its place and the hash of the one before."""

    place, previous = 0, ""
    sums: ShiftSums

    def take(self, document: Document) -> RQ:
        """Go on with ``document``, accepted; what the server reads of it, which adds up."""
        document = self.linked(document)
        sent = written(document, self.desk)
        totals.apply(self.state, document, f"id-{document.number}", sent)
        self.place, self.previous = self.place + 1, mac_of(sent)
        told = decode(sent)
        assert encode(told) == sent
        number = document.offline.number if document.offline is not None else ""
        content = told.dat.content
        if document.kind == documents.OPEN:
            self.sums = ShiftSums()
        if isinstance(content, C):
            wrong = [*mac_faults(told, number), *receipt_faults(told.dat)]
            self.sums.add(content)
        else:
            wrong = list(self.sums.faults(content))
        assert not wrong, [str(fault) for fault in wrong]
        return told

    def linked(self, document: Document) -> Document:
        """``document`` at its place in the chain."""
        return msgspec.structs.replace(document, place=self.place, previous=self.previous)

    def do(self, task: int, **members: Any) -> Any:
        """The content of a task's document that was done."""
        return self.take(self.draft(task, **members)).dat.content


def of(content: C, kind: type[Any]) -> list[Any]:
    """The operations of one kind."""
    return [row for row in content.rows if isinstance(row, kind)]


class KindTests(SynchronousTestCase):
    """Which document of the server each of ours becomes."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = CabinetTill()
        self.opened = self.till.take(self.till.draft(0))

    def refused(self, document: Document, **desk: Any) -> Refused:
        """The refusal to write ``document``."""
        changed = replace(self.till.desk, **desk)
        refused: Refused = self.assertRaises(Refused, written, self.till.linked(document), changed)
        return refused

    def test_open(self) -> None:
        """An opening has nothing but the register, the payer, Kyiv's time, number 0 and no hash before it."""
        dat = self.opened.dat
        self.assertEqual(dat.content, C(t=Kind.OPEN))
        self.assertEqual((dat.fn, dat.tn, dat.zn, dat.di), (str(NUMBER), "34554363", "7", 0))
        self.assertEqual(f"{dat.ts:%Y%m%d%H%M%S}", "20260921090000")
        assert self.opened.mac is not None
        self.assertEqual((self.opened.mac.id, self.opened.mac.text), (None, ""))

    def test_chain(self) -> None:
        """Every document names the hash of the one before, and has the next place."""
        before = self.till.previous
        told = self.till.take(self.till.draft(3, cash={"type": 0, "sum": 5}))
        assert told.mac is not None
        self.assertEqual((told.dat.di, told.mac.text), (1, before))

    def test_same_bytes(self) -> None:
        """The same document has the same bytes whenever it is written: nothing in it is made up."""
        draft = self.till.linked(self.till.draft(1, receipt=sale(50)))
        self.assertEqual(written(draft, self.till.desk), written(draft, self.till.desk))

    def test_cash(self) -> None:
        """Cash in and out are one operation with means and amount."""
        for task, row in ((3, CashIn), (4, CashOut)):
            told = self.till.do(task, cash={"type": 0, "sum": 50.5})
            self.assertEqual(told, C(t=Kind.CASH, rows=(row(n=1, t=0, nm="Готівка", sm=5050), E(n=2))))

    def test_withdrawal(self) -> None:
        """Cash against a card is an item that is paid in cash, with the card's slip and the commission."""
        told = self.till.do(14, cash={"type": 2, "sum": 500, "commission": 5, **CARD})
        item, pay, end = told.rows
        self.assertEqual((told.t, item.c, item.nm, item.sm), (Kind.WITHDRAWAL, "0", "Видача готівки", 50000))
        self.assertEqual((pay.t, pay.nm, pay.sm, pay.rrn, pay.pf), (0, "ГОТІВКА", 50000, RRN, 500))
        self.assertEqual((end.no, end.sm, end.taxes), (1, 50000, ()))

    def test_return(self) -> None:
        """A return names the receipt of the purchase; that it was at another register is left out, and told."""
        receipt = {**sale(50), "purchase_receipt_fisn": "wuBKGM848z4", "purchase_rro_fisn": str(NUMBER)}
        told = self.till.do(2, receipt=receipt)
        self.assertEqual((told.t, told.end.rno, of(told, P)[0].rt), (Kind.RETURN, "wuBKGM848z4", 0))
        draft = self.till.draft(2, receipt=receipt)
        self.assertEqual(list(left_out(draft, NUMBER, self.till.desk.groups)), [])
        draft = self.till.draft(2, receipt={**receipt, "purchase_rro_fisn": "4000000999"})
        missing = [text.en for text in left_out(draft, NUMBER, self.till.desk.groups)]
        self.assertEqual(missing, ["without register and date of the purchase's receipt"])

    def test_offline(self) -> None:
        """What is made offline has its reserved number in the MAC, the session's two documents too."""
        draft = msgspec.structs.replace(self.till.draft(3, cash={"type": 0, "sum": 5}), cash=None)
        for number, kind, content in (
            ("eYme-1", documents.OFFLINE_BEGIN, C(t=Kind.OFFLINE)),
            ("eYme-2", documents.OFFLINE_END, C(t=Kind.ONLINE)),
        ):
            told = self.till.take(msgspec.structs.replace(draft, kind=kind, offline=OfflineMark(number)))
            assert told.mac is not None
            self.assertEqual((told.dat.content, told.mac.id), (content, number))

    def test_numbers(self) -> None:
        """A request for offline numbers says how many."""
        draft = msgspec.structs.replace(self.till.draft(3, cash={"type": 0, "sum": 5}), kind=documents.NUMBERS)
        content = decode(written(self.till.linked(draft), self.till.desk)).dat.content
        assert isinstance(content, C)
        self.assertEqual((content.t, size_asked(content)), (Kind.NUMBERS, 150))

    def test_no_document(self) -> None:
        """Income, expense, storno and a document that closes a shift are refused: the server has none of them."""
        last = self.till.draft(1, receipt=sale(50))
        for kind in (documents.INCOME, documents.EXPENSE, documents.STORNO, documents.CLOSE):
            refused = self.refused(msgspec.structs.replace(last, kind=kind))
            self.assertEqual((refused.res, refused.details), (Res.UNKNOWN_FISCAL_TASK, (1,)))

    def test_testing(self) -> None:
        """A test register is refused: nothing in a document would say that it is a test."""
        refused = self.refused(self.till.draft(1, receipt=sale(50)), testing=True)
        self.assertIs(refused.res, Res.UNKNOWN_FISCAL_TASK)
        self.assertIn("тестових", refused.errortxt())

    def test_incomplete(self) -> None:
        """A receipt without items, and a return that names no receipt, are refused as on protocol A."""
        empty = self.till.draft(1, receipt={"sum": 0, "rows": [], "pays": []})
        self.assertIs(self.refused(empty).res, Res.EMPTY_ROWS)
        nameless = self.refused(self.till.draft(2, receipt=sale(50)))
        self.assertEqual(nameless.res, Res.MISSING_OBJECT)
        self.assertEqual(nameless.details, ("fiscal.receipt.purchase_receipt_fisn",))

    def test_unwritable(self) -> None:
        """A value that the format does not allow is refused with its place."""
        receipt = {**sale(50), "purchase_receipt_fisn": "1" * 65}
        refused = self.refused(self.till.draft(2, receipt=receipt))
        self.assertIs(refused.res, Res.TAX_SERVICE_WRONG_XML)
        self.assertIn("RQ/DAT/C/E[1]/@RNO", refused.errortxt())


class ReceiptTests(SynchronousTestCase):
    """What a receipt says."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = CabinetTill()
        self.till.do(0)

    def sold(self, **receipt: Any) -> C:
        """What the server reads of a sale."""
        told: C = self.till.do(1, receipt=receipt)
        return told

    def row(self, **members: Any) -> dict[str, Any]:
        """One item of 10.00."""
        return {"code": "1", "name": "Кава", "cnt": 1, "price": 10, "taxgrp": 1, **members}

    def taxes(self, *rows: dict[str, Any], **receipt: Any) -> list[tuple[Any, ...]]:
        """Number, VAT, levy, kind and algorithm of each tax of a sale."""
        receipt["sum"] = sum(row["price"] for row in rows)
        owed = self.till.drafting.owed(read_receipt({**receipt, "rows": list(rows)}), self.till.state)
        told = self.sold(rows=list(rows), pays=[{"type": 2, "sum": owed / 100}], **receipt)
        assert told.end is not None
        return [(tax.tx, tax.txpr, tax.txsm, tax.dtpr, tax.dtsm, tax.txty, tax.txal) for tax in told.end.taxes]

    def test_rows(self) -> None:
        """Each item keeps its place with codes, stamps, quantity, price and cost; its discount follows it."""
        first = self.row(code="17", code1="4820000000017", code2="1905", cnt=2, price=30.25, disc=0.5)
        second = self.row(
            name="Пиво\\nсвітле ₴", code="", cnt=0.125, price=80, taxgrp=3, code_aa=["AATE508932", "AATE508933"]
        )
        told = self.sold(sum=70, rows=[first, second], pays=[{"type": 0, "sum": 70}])
        one, two = of(told, P)
        self.assertEqual((one.c, one.cd, one.czd, one.tx), ("17", "4820000000017", "1905", "1"))
        self.assertEqual((one.q, one.prc, one.sm), (2000, 3025, 6050))
        self.assertEqual((two.c, two.nm, two.q, two.sm, two.tx), ("0", "Пиво світле ?", 125, 1000, "4"))
        self.assertEqual([mark.ca for mark in two.marks], ["AATE508932", "AATE508933"])
        (discount,) = of(told, D)
        self.assertEqual((discount.n, discount.ni, discount.sm, discount.tr, discount.ty), (2, 1, 50, 0, 0))
        assert told.end is not None
        self.assertEqual((told.end.sm, told.end.no), (7000, 1))

    def test_one_unit(self) -> None:
        """Of one unit the quantity is not written."""
        (item,) = of(self.sold(sum=10, rows=[self.row()], pays=[{"type": 0, "sum": 10}]), P)
        self.assertEqual((item.q, item.prc, item.sm), (None, 1000, 1000))

    def test_cost(self) -> None:
        """A cost that is not price by quantity counts; the price has no place beside it, and this is told."""
        receipt = {"sum": 10.5, "rows": [self.row(cost=10.5)], "pays": [{"type": 0, "sum": 10.5}]}
        draft = self.till.draft(1, receipt=receipt)
        told = self.till.take(draft).dat.content
        assert isinstance(told, C)
        self.assertEqual([(item.sm, item.prc) for item in of(told, P)], [(1050, None)])
        missing = [text.en for text in left_out(draft, NUMBER, self.till.desk.groups)]
        self.assertEqual(missing, ["row 1: without the price of a unit"])

    def test_surcharge(self) -> None:
        """A negative discount is a surcharge."""
        told = self.sold(sum=11, rows=[self.row(disc=-1)], pays=[{"type": 0, "sum": 11}])
        self.assertEqual(([row.sm for row in of(told, S)], of(told, D)), ([100], []))

    def test_payments(self) -> None:
        """A payment says what was handed over and the change, and has the terminal's slip."""
        pays = [
            {"type": 2, "sum": 6, "bank_id": "77", "bank_name": "Банк", "oper_type": "Оплата", **CARD},
            {"type": 0, "sum": 20},
        ]
        card, cash = of(self.sold(sum=10, rows=[self.row()], pays=pays), M)
        self.assertEqual((card.t, card.nm, card.sm, card.rm, card.psnm), (2, "Картка", 600, None, "VISA"))
        self.assertEqual((card.pa, card.pb, card.pc, card.pd), ("Банк 77", "S1A2", "Оплата", "411111******1111"))
        self.assertEqual((card.pe, card.rrn), ("A1B2", RRN))
        self.assertEqual((cash.t, cash.sm, cash.rm, cash.rrn), (0, 2000, 1600, None))

    def test_means(self) -> None:
        """Cash is 0; what is named after its form as something else is 1, everything else a cashless instrument."""
        types = (*PAY_TYPES, PayType(21, "Жетон", form="інше"), PayType(22, "Своє"))
        till = CabinetTill(RegisterSettings(tax_groups=GROUPS, pay_types=types))
        till.do(0)
        pays = [{"type": one.code, "sum": 1} for one in types]
        rows = [{"name": "Товар", "cnt": 1, "price": len(types), "taxgrp": 1}]
        told = till.do(1, receipt={"sum": len(types), "rows": rows, "pays": pays})
        means = {pay.nm: pay.t for pay in of(told, M)}
        self.assertEqual([name for name, kind in means.items() if kind == 0], ["Готівка"])
        others = {"Передплата", "Післяплата", "Кредит", "Сертифікат", "Чек", "Бонуси", "Погашення кредиту", "Жетон"}
        self.assertEqual({name for name, kind in means.items() if kind == 1}, others)
        self.assertEqual((means["Картка"], means["Безготівка"], means["Своє"]), (2, 2, 2))

    def test_rounding(self) -> None:
        """A rounded receipt has the exact total, and the payment what rounding added or took away."""
        told = self.sold(sum=12.57, autoround=True, rows=[self.row(price=12.57)], pays=[{"type": 0, "sum": 20}])
        (pay,) = of(told, M)
        assert told.end is not None
        self.assertEqual((told.end.sm, told.end.taxes[0].txsm), (1257, 210))
        self.assertEqual((pay.sm, pay.rm, pay.smb, pay.smp, pay.smm), (2000, 740, 1257, 3, None))
        told = self.sold(sum=12.52, autoround=True, rows=[self.row(price=12.52)], pays=[{"type": 0, "sum": 20}])
        (pay,) = of(told, M)
        self.assertEqual((pay.rm, pay.smb, pay.smp, pay.smm), (750, 1252, None, 2))

    def test_comments(self) -> None:
        """Comments of receipt, items and payments stand where they belong, and the cashier last."""
        told = self.sold(
            sum=10,
            rows=[self.row(comment="без цукру")],
            pays=[{"type": 0, "sum": 10, "comment": "за столиком 3"}],
            comment_up="Вітаємо",
            comment_down="Приходьте\\nще",
        )
        self.assertEqual(
            [row.text if isinstance(row, L) else row.TAG for row in told.rows],
            ["Вітаємо", "P", "без цукру", "M", "за столиком 3", "Приходьте ще", "Касир: Коваль О.", "E"],
        )

    def test_two_taxes(self) -> None:
        """VAT and excise of one price are one tax, whose number is that of the group's first letter."""
        self.assertEqual(self.taxes(self.row(price=259.9, taxgrp=3)), [("4", 2000, 4125, 500, 1238, 0, 2)])

    def test_taxes(self) -> None:
        """Every kind of group: plain, exempt, reduced, zero, excise alone, not taxable, levy, on income, on top."""
        found = {code: self.taxes(self.row(taxgrp=code)) for code in (1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 15)}
        self.assertEqual(
            found,
            {
                1: [("1", 2000, 167, 0, 0, 0, 0)],
                2: [("0", 0, 0, 0, 0, 0, 0)],
                4: [("3", 700, 65, 0, 0, 0, 0)],
                5: [("6", 0, 0, 0, 0, 0, 0)],
                6: [("7", 0, 0, 500, 48, 0, 2)],
                7: [("-1", 0, 0, 0, 0, 0, 0)],
                8: [("9", 2000, 157, 750, 59, 0, 0)],
                10: [("12", 1800, 151, 150, 13, 2, 0)],
                11: [("13", 2000, 200, 0, 0, 1, 0)],
                12: [("15", 2000, 179, 750, 75, 0, 1)],
                13: [("17", 2000, 142, 150, 150, 0, 3)],
                15: [("19", 2000, 200, 500, 50, 1, 0)],
            },
        )

    def test_groups_with_one_letter(self) -> None:
        """Two groups with one letter and the same taxes are one tax."""
        self.assertEqual(
            self.taxes(self.row(), self.row(code="2", taxgrp=14), self.row(code="3", taxgrp=2)),
            [("1", 2000, 334, 0, 0, 0, 0), ("0", 0, 0, 0, 0, 0, 0)],
        )

    def test_codes(self) -> None:
        """A code of services has no place and is told; a code of goods that is none is refused with its place."""
        receipt = {"sum": 10, "rows": [self.row(code3="56.10")], "pays": [{"type": 0, "sum": 10}]}
        draft = self.till.draft(1, receipt=receipt)
        self.till.take(draft)
        self.assertEqual(
            [text.en for text in left_out(draft, NUMBER, self.till.desk.groups)], ["row 1: without DKPP"]
        )
        receipt = {"sum": 20, "rows": [self.row(), self.row(code2="19x5")], "pays": [{"type": 0, "sum": 20}]}
        draft = self.till.draft(1, receipt=receipt)
        refused = self.assertRaises(Refused, written, self.till.linked(draft), self.till.desk)
        self.assertIs(refused.res, Res.MALFORMED)
        self.assertIn("fiscal.receipt.rows[1].code2", refused.errortxt())

    def refusal(self, *groups: TaxGroup) -> str:
        """Why a sale in the first group is refused; empty when it is not."""
        till = CabinetTill(RegisterSettings(tax_groups=groups))
        till.desk = replace(till.desk, groups={group.code: group for group in groups})
        till.do(0)
        rows = [self.row(taxgrp=groups[0].code)]
        owed = till.drafting.owed(read_receipt({"sum": 10, "rows": rows}), till.state)
        draft = till.draft(1, receipt={"sum": 10, "rows": rows, "pays": [{"type": 0, "sum": owed / 100}]})
        try:
            till.take(draft)
        except Refused as refused:
            self.assertEqual((refused.res, refused.details), (Res.WRONG_TAX_GROUP, (groups[0].code,)))
            return refused.words().en
        return ""

    def test_letters(self) -> None:
        """A letter that two taxes share, or that is none, is refused; a Latin one counts as its Cyrillic twin."""
        vat = TaxGroup(1, "ПДВ 20%", "А", "ПДВ", 2000)
        low = TaxGroup(2, "ПДВ 7%", "А", "ПДВ", 700)
        self.assertEqual(self.refusal(vat), "")
        self.assertIn("group 2, with other taxes, has the letter А too", self.refusal(vat, low))
        self.assertEqual(self.refusal(vat, msgspec.structs.replace(low, enabled=False)), "")
        self.assertEqual(self.refusal(vat, msgspec.structs.replace(low, tax_name="", percent=0)), "")
        self.assertIn("А too", self.refusal(vat, msgspec.structs.replace(low, letter="A")))
        for letter in ("", "1", "Z"):
            self.assertIn("is no tax", self.refusal(msgspec.structs.replace(vat, letter=letter)))
        self.assertEqual(self.refusal(TaxGroup(1, "Без ПДВ", "")), "")

    def test_tax_on_income(self) -> None:
        """A tax on income on top of the price is refused: the format has one kind for a tax."""
        income = TaxGroup(1, "Виплата", "Ф", "ПДФО", 1800, "Військовий збір", 500)
        self.assertEqual(self.refusal(income), "")
        for changes in ({"included": False}, {"algorithm": 1}):
            self.assertIn("income on top", self.refusal(msgspec.structs.replace(income, **changes)))


class PartPaymentTests(SynchronousTestCase):
    """Prepayment and final payment: a receipt over the part."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = CabinetTill()
        self.till.do(0)

    def part(self, amount: float, **receipt: Any) -> Document:
        """A prepayment of 115.00, in cash."""
        book = {"sum": 115, "rows": [BOOK], "pays": [{"type": 0, "sum": amount}]}
        return self.till.draft(1, receipt={**book, "partpay_type": 1, "partpay_sum": amount, **receipt})

    def test_part(self) -> None:
        """Items, taxes and total are of the part, without quantity, price and discount; what is missing is told."""
        rows = [{**BOOK, "cnt": 2, "price": 57.5, "disc": 15}, {**BOOK, "code": "2", "price": 200, "taxgrp": 2}]
        draft = self.part(100, sum=300, rows=rows)
        told = self.till.take(draft).dat.content
        assert isinstance(told, C) and told.end is not None
        self.assertEqual(
            [(item.sm, item.q, item.prc) for item in of(told, P)], [(3333, None, None), (6667, None, None)]
        )
        self.assertEqual((told.end.sm, [tax.txsm for tax in told.end.taxes], of(told, D)), (10000, [556, 0], []))
        missing = [text.en for text in left_out(draft, NUMBER, self.till.desk.groups)]
        self.assertEqual(missing, ["without the whole price and the prepayment's number"])
        self.till.do(11)

    def test_not_taxable(self) -> None:
        """Goods whose turnover of parts a Z could not tell are refused."""
        nameless = TaxGroup(16, "Без назви", "Ф", "", 2000)
        self.till.desk = replace(self.till.desk, groups={**self.till.desk.groups, 16: nameless})
        for group in (7, 16):
            draft = self.part(15, sum=230, rows=[BOOK, {**BOOK, "code": "2"}])
            assert draft.receipt is not None
            first, second = draft.receipt.goods
            goods = (first, msgspec.structs.replace(second, taxgrp=group))
            draft = msgspec.structs.replace(draft, receipt=msgspec.structs.replace(draft.receipt, goods=goods))
            refused = self.assertRaises(Refused, written, draft, self.till.desk)
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertIn("fiscal.receipt.rows[1].taxgrp", refused.errortxt())

    @settings(max_examples=40, deadline=None)
    @given(some.lists(some.tuples(some.sampled_from([1, 2]), some.integers(1, 100), some.booleans()), max_size=5))
    def test_z(self, moves: list[tuple[int, int, bool]]) -> None:
        """Each part adds up, and so does the Z, also when exempt goods are sold in parts."""
        till = CabinetTill()
        till.do(0)
        for task, percent, whole in moves:
            rows = [
                {**BOOK, "code": f"{n}", "price": price, "disc": 0.5, "taxgrp": group}
                for n, price, group in ((1, 10.05, 1), (2, 0.51, 2), (3, 33.33, 3), (4, 7.77, 6))
            ]
            kopecks = 4966 * percent // 100
            members = {} if whole else {"partpay_type": 2, "partpay_sum": kopecks / 100, "partpay_receipt_fisn": "1"}
            pays = [{"type": 0, "sum": 49.66 if whole else kopecks / 100}]
            receipt = {"sum": 49.66, "rows": rows, "pays": pays, "autoround": True, "purchase_receipt_fisn": "9"}
            till.do(task, receipt={**receipt, **members})
        till.do(11)


_MAKER = test_tax_documents.ShiftTests("test_z")
"""Makes receipts over rows."""


class ShiftOfCabinetTests(SynchronousTestCase):
    """A Z says what its receipts said; `CabinetTill.take` compares them."""

    @settings(max_examples=60, deadline=None)
    @given(some.lists(some.tuples(some.sampled_from([1, 2]), RECEIPT), max_size=5))
    def test_z(self, moves: list[tuple[int, Any]]) -> None:
        """Whatever was sold and returned, in every tax group: each receipt adds up, and so does the Z."""
        till = CabinetTill()
        till.do(0)
        for task, (rows, paid) in moves:
            receipt = _MAKER.receipt(till, rows, paid)
            till.do(task, receipt={**receipt, "purchase_receipt_fisn": "wuBKGM848z4"})
        self.assertIsInstance(till.do(11), Z)

    def test_whole_day(self) -> None:
        """Cash moves, withdrawals, sales and returns stand in the Z, which has the number of the shift."""
        till = CabinetTill()
        till.do(0)
        for task, members in (
            (3, {"cash": {"type": 0, "sum": 100}}),
            (4, {"cash": {"type": 0, "sum": 30}}),
            (14, {"cash": {"type": 2, "sum": 200, "commission": 2}}),
            (1, {"receipt": sale(50)}),
            (2, {"receipt": {**sale(20), "purchase_receipt_fisn": "wuBKGM848z4"}}),
        ):
            till.do(task, **members)
        report = till.do(11)
        self.assertEqual((report.no, report.counts, report.withdrawals), (1, NC(ni=1, no=1), EPZ(epc=1, epsm=20000)))
        self.assertEqual(report.cash, (IO(t=0, nm="Готівка", smi=10000, smo=3000),))
        self.assertEqual([(pay.t, pay.smi, pay.smo) for pay in report.payments], [(0, 5000, 2000)])
        (tax,) = report.taxes
        self.assertEqual((tax.tx, tax.smi, tax.txi, tax.smo, tax.txo), ("1", 5000, 833, 2000, 333))
        self.assertEqual(f"{tax.ts:%Y%m%d}", "20260921")

    def test_rounding(self) -> None:
        """Payments of a Z are what was kept, with the rounding both ways beside it."""
        till = CabinetTill()
        till.do(0)
        for price in (12.57, 12.52, 12.58):
            rows = [{"code": "1", "name": "Кава", "cnt": 1, "price": price, "taxgrp": 2}]
            till.do(1, receipt={"sum": price, "rows": rows, "autoround": True, "pays": [{"type": 0, "sum": 20}]})
        (pay,) = till.do(11).payments
        self.assertEqual((pay.smi, pay.smip, pay.smim, pay.smo, pay.smop), (3770, 5, 2, 0, None))

    def test_empty(self) -> None:
        """The Z of a shift without receipts says that there were none."""
        till = CabinetTill()
        till.do(0)
        self.assertEqual(till.do(11), Z(no=1, counts=NC()))


def _oracle_desk(till: OracleTill) -> Desk:
    register = settings_of(till)
    groups = {group.code: group for group in register.tax_groups}
    outlet = Outlet(tin="34554363")
    return Desk(number=NUMBER, local=1, testing=False, outlet=outlet, groups=groups, payments=register.payments)


class OracleTests(SynchronousTestCase):
    """Receipts as tills spell them, by the hundred."""

    @settings(max_examples=200, deadline=None)
    @given(receipts())
    def test_receipts(self, case: tuple[dict[str, Any], OracleTill]) -> None:
        """Whatever receipt the register accepts, its document is read back as it was, and everything adds up."""
        members, till = case
        try:
            receipt = calculated(members, till)
        except Refused:
            assume(False)
        assume(bool(receipt.goods))
        document = Document(
            kind=documents.SALE,
            number=5,
            shift=1,
            at=1_789_970_400_000,
            header=Header(fisid=str(NUMBER)),
            caller=Caller(device="till", task=1),
            receipt=receipt,
            place=4,
            previous="ab",
        )
        sent = written(document, _oracle_desk(till))
        told = decode(sent)
        self.assertEqual(encode(told), sent)
        self.assertEqual([str(fault) for fault in receipt_faults(told.dat)], [])
        assert isinstance(told.dat.content, C) and told.dat.content.end is not None
        self.assertEqual(told.dat.content.end.sm, receipt.sum_topay - receipt.round)
        self.assertEqual(sum(pay.sm - (pay.rm or 0) for pay in of(told.dat.content, M)), receipt.sum_topay)
        self.assertTrue(all(isinstance(tax, TX) for tax in told.dat.content.end.taxes))
