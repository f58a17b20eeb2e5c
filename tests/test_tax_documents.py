"""Our documents as the tax service wants them: kinds, heads, rows, payments, taxes, rounding and the Z."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as some
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.documents.catalogue import PAY_TYPES, TAX_GROUPS, PayType, TaxGroup
from dmtwisted.documents.documents import Document
from dmtwisted.registers import totals
from dmtwisted.registers.channels.tax_documents import Desk, Outlet, left_out, written
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.terms import Calendar
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.requests import read_json, read_task
from dmtwisted.results import Refused, Res
from protocols.fiscal.check_head import DocSubType, DocType
from protocols.fiscal.check_xml import Check
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.document_xml import decode
from protocols.fiscal.offline import control_number
from protocols.fiscal.zrep_xml import Turnover, ZRep
from protocols.simulators.fiscal_arithmetic import receipt_faults
from protocols.simulators.fiscal_totals import ShiftSums
from tests.shop import MORNING, sale

NUMBER = 4_000_000_202

GROUPS = (
    *TAX_GROUPS,
    TaxGroup(11, "ПДВ зверху", "Н", "ПДВ", 2000, included=False),
    TaxGroup(12, "Збір з ПДВ", "ПР", "ПДВ", 2000, "Збір", 750, algorithm=1),
    TaxGroup(13, "Акциз за одиницю", "СТ", "ПДВ", 2000, "Акциз", 0, algorithm=3, ex_rate=150),
    TaxGroup(14, "Те саме", "А", "ПДВ", 2000),
    TaxGroup(15, "Усе зверху", "УФ", "ПДВ", 2000, "Збір", 500, included=False),
)
"""Every algorithm, in the price and on top of it; 14 is the first group under another number."""

RRN = "123456789012"

WITHOUT_DKPP = "row 2: UKTZED without DKPP"

CARD = {
    "paysys": "VISA",
    "rrn": RRN,
    "cardmask": "411111******1111",
    "term_id": "S1A2",
    "auth_code": "A1B2",
}


class Till:
    """A register that draws up documents and counts them, without a tax service."""

    def __init__(self, settings: RegisterSettings | None = None, **changes: Any) -> None:
        self.clock = Clock()
        self.clock.advance(MORNING)
        usual = RegisterSettings(tax_groups=GROUPS, default_taxgrp=1, rounding_step=10, check_cash=False)
        self.settings = msgspec.structs.replace(
            settings or usual, name="ТОВ «Крамниця»", shopname="Кав’ярня", fis_code="34554363"
        )
        self.drafting = _drafting(self.settings, self.clock)
        outlet = Outlet(tin="34554363", org_name="ТОВ «Крамниця»", point_name="Кав’ярня", address="м. Київ")
        groups = {group.code: group for group in GROUPS}
        desk = Desk(number=NUMBER, local=7, testing=False, outlet=outlet, cashier="Коваль О.", groups=groups)
        self.desk = replace(desk, payments=self.settings.payments, **changes)
        self.state = RegisterState()

    def draft(self, task: int, **members: Any) -> Document:
        """The document of a task."""
        fiscal = {"task": task, **members}
        request = read_task(read_json(json.dumps({"ver": 6, "device": "test", "type": 1, "fiscal": fiscal}).encode()))
        return self.drafting.draft(request, self.state, {})

    def take(self, document: Document) -> Any:
        """Go on with ``document``, accepted; what the tax service reads of it."""
        sent = written(document, self.desk)
        number = document.offline.number if document.offline is not None else f"30000{document.number:05d}"
        totals.apply(self.state, document, number, sent)
        return decode(sent)

    def do(self, task: int, **members: Any) -> Any:
        """What the tax service reads of a task that was done."""
        return self.take(self.draft(task, **members))

    def storno(self, last: Document) -> Any:
        """What the tax service reads of a storno of ``last``."""
        body = {"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 17}}
        request = read_task(read_json(json.dumps(body).encode()))
        return self.take(self.drafting.storno(request, self.state, last))


class KindTests(SynchronousTestCase):
    """Which document of the tax service each of ours becomes."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = Till()
        self.opened = self.till.do(0)

    def test_open(self) -> None:
        """An opening is a head alone, with payer, outlet, numbers and Kyiv's time."""
        head = self.opened.checkhead
        self.assertEqual(self.opened, Check(checkhead=head))
        told = (head.doctype, head.docsubtype, head.tin, head.orgnm, head.pointnm, head.pointaddr, head.ver)
        self.assertEqual(told, (100, None, "34554363", "ТОВ «Крамниця»", "Кав’ярня", "м. Київ", 1))
        self.assertEqual((head.ordernum, head.cashdesknum, head.cashregisternum), (1, 7, NUMBER))
        self.assertEqual((f"{head.orderdate:%Y%m%d}", f"{head.ordertime:%H%M%S}"), ("20260921", "090000"))
        self.assertEqual((head.ordertaxnum, head.offline, head.prevdochash, head.testing), (None,) * 4)

    def test_guids_differ(self) -> None:
        """The same document written twice has two GUIDs: only bytes that were stored are ever sent."""
        document = self.till.draft(3, cash={"type": 0, "sum": 5})
        first, second = (decode(written(document, self.till.desk)).head.uid for _ in range(2))
        self.assertNotEqual(first, second)
        self.assertRegex(first, "^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$")

    def test_cash(self) -> None:
        """Cash in and out carry their amount and nothing else."""
        for task, subtype in ((3, DocSubType.CASH_IN), (4, DocSubType.CASH_OUT)):
            told = self.till.do(task, cash={"type": 0, "sum": 50.5})
            self.assertEqual((told.checkhead.doctype, told.checkhead.docsubtype), (DocType.SALE, subtype))
            self.assertEqual(told.checktotal.sum, 5050)
            self.assertEqual((told.checkpay, told.checktax, told.checkbody), ((), (), ()))

    def test_withdrawal(self) -> None:
        """Cash against a card is a document of its own type, with commission and the card's slip."""
        told = self.till.do(14, cash={"type": 2, "sum": 500, "commission": 5, **CARD})
        self.assertEqual((told.checkhead.doctype, told.checkhead.docsubtype), (DocType.WITHDRAWAL, 0))
        total = told.checktotal
        self.assertEqual((total.sum, total.notaxsum, total.commission), (50000, 50000, 500))
        (pay,), (row,) = told.checkpay, told.checkbody
        self.assertEqual((pay.payformcd, pay.payformnm, pay.sum), (0, "ГОТІВКА", 50000))
        self.assertEqual((pay.paysys[0].acquiretransid, row.name, row.cost), (RRN, "Видача готівки", 50000))

    def test_storno(self) -> None:
        """A storno names the document that it takes back and moves no money."""
        last = self.till.draft(1, receipt=sale(50))
        self.till.take(last)
        told = self.till.storno(last)
        self.assertEqual((told.checkhead.docsubtype, told.checkhead.orderstornum), (5, "3000000002"))
        self.assertIsNone(told.checktotal)

    def test_return(self) -> None:
        """A return names the receipt of the purchase, and the register only when it was another one."""
        receipt = {**sale(50), "purchase_receipt_fisn": "3000000002", "purchase_rro_fisn": str(NUMBER)}
        head = self.till.do(2, receipt=receipt).checkhead
        self.assertEqual((head.docsubtype, head.orderretnum, head.orderretcashregnum), (1, "3000000002", None))
        self.assertIsNone(head.orderretdate)
        elsewhere = {**receipt, "purchase_rro_fisn": "4000000999"}
        head = self.till.do(2, receipt=elsewhere).checkhead
        self.assertEqual((head.orderretcashregnum, head.orderretdate), (4000000999, None))

    def test_day_of_purchase(self) -> None:
        """A return at another register has the day of the purchase that the request names; a wrong one is 2000."""
        receipt = {**sale(50), "purchase_receipt_fisn": "3000000002", "purchase_rro_fisn": "4000000999"}
        for stamp in ("20260920", "20260920183000", "20260920183000123"):
            head = self.till.do(2, receipt={**receipt, "purchase_receipt_dt": stamp}).checkhead
            told = (head.orderretnum, head.orderretcashregnum, head.orderretdate)
            self.assertEqual(told, ("3000000002", 4000000999, date(2026, 9, 20)))
        for stamp in ("2026", "20260931", "20.09.2026", "2026092018300012x", "2026092018"):
            refused = self.assertRaises(
                Refused, self.till.draft, 2, receipt={**receipt, "purchase_receipt_dt": stamp}
            )
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertIn("fiscal.receipt.purchase_receipt_dt", refused.errortxt())

    def test_testing(self) -> None:
        """Test documents say so; the begin and the end of an offline session never do."""
        till = Till(testing=True)
        self.assertTrue(till.do(0).checkhead.testing)
        till.state.session = Session("5008", "179625192271939")
        begin = till.take(_begin(till))
        self.assertEqual((begin.checkhead.testing, begin.checkhead.offline), (None, True))
        self.assertTrue(till.do(3, cash={"type": 0, "sum": 1}).checkhead.testing)

    def test_offline(self) -> None:
        """Documents made offline carry their own number, and from the second after the begin on the hash before."""
        till = self.till
        till.state.session = Session("5008", "179625192271939")
        heads = [till.take(_begin(till)).checkhead]
        heads += [till.do(3, cash={"type": 0, "sum": 1}).checkhead for _ in range(2)]
        heads.append(till.take(till.drafting.offline_end(till.state)).checkhead)
        self.assertEqual([head.doctype for head in heads], [102, 0, 0, 103])
        self.assertEqual([head.ordertaxnum.rpartition(".")[0] for head in heads], [f"5008.{n}" for n in (1, 2, 3, 4)])
        self.assertEqual([bool(head.prevdochash) for head in heads], [False, False, True, True])
        self.assertEqual([head.offline for head in heads], [True] * 4)
        self.assertEqual([head.revokelastonlinedoc for head in heads], [False, None, None, None])

    def test_income_and_expense(self) -> None:
        """Income and expense are refused: the tax service has no document for them."""
        for task in (15, 16):
            draft = self.till.draft(task, receipt={"sum": 10, "pays": [{"type": 0, "sum": 10}]})
            refused = self.assertRaises(Refused, written, draft, self.till.desk)
            self.assertEqual((refused.res, refused.details), (Res.UNKNOWN_FISCAL_TASK, (task,)))

    def test_empty_receipt(self) -> None:
        """A receipt without items is refused."""
        draft = self.till.draft(1, receipt={"sum": 0, "rows": [], "pays": []})
        self.assertIs(self.assertRaises(Refused, written, draft, self.till.desk).res, Res.EMPTY_ROWS)

    def test_return_of_nothing(self) -> None:
        """A return that names no receipt is refused with the member that is missing."""
        draft = self.till.draft(2, receipt=sale(50))
        refused = self.assertRaises(Refused, written, draft, self.till.desk)
        self.assertEqual(refused.res, Res.MISSING_OBJECT)
        self.assertEqual(refused.details, ("fiscal.receipt.purchase_receipt_fisn",))


def _begin(till: Till) -> Document:
    """The begin of an offline session, whatever the settings allow."""
    allowed = RegisterSettings(tax_groups=GROUPS, offline_allowed=True)
    return _drafting(allowed, till.clock).offline_begin(till.state, None, "")


def _drafting(settings: RegisterSettings, clock: Clock) -> Drafting:
    """What draws up the documents of register 7 of the outlet."""
    at = ServiceClock(clock)
    return Drafting("test", settings, Calendar(settings, str(NUMBER), at), 1, "7", at)


def _any_request() -> Any:
    return read_task(read_json(b'{"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 11}}'))


class ReceiptTests(SynchronousTestCase):
    """What a receipt says."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = Till()
        self.till.do(0)

    def sold(self, **receipt: Any) -> Check:
        """What the tax service reads of a sale."""
        told: Check = self.till.do(1, receipt=receipt)
        return told

    def row(self, **members: Any) -> dict[str, Any]:
        """One item of 10.00."""
        return {"code": "1", "name": "Кава", "cnt": 1, "price": 10, "taxgrp": 1, **members}

    def test_rows(self) -> None:
        """Each item keeps its place with codes, stamps, quantity, cost before discount and the discount."""
        first = self.row(code="17", code1="4820000000017", code2="1905", cnt=2, price=30.25, disc=0.5)
        second = self.row(name="Пиво\\nсвітле ₴", cnt=0.125, price=80, taxgrp=3, code_aa=["AATE508932", "AATE508933"])
        told = self.sold(sum=70, rows=[first, second], pays=[{"type": 0, "sum": 70}])
        one, two = told.checkbody
        self.assertEqual((one.code, one.barcode, one.uktzed, one.dkpp), ("17", "4820000000017", "1905", None))
        self.assertEqual((one.amount, one.price, one.cost, one.discountsum, one.letters), (2000, 3025, 6050, 50, "А"))
        self.assertEqual((two.name, two.amount, two.cost, two.discountsum), ("Пиво світле ?", 125, 1000, None))
        self.assertEqual(
            (two.letters, [row.exciselabel for row in two.exciselabels]), ("ГД", ["AATE508932", "AATE508933"])
        )
        total = told.checktotal
        assert total is not None
        self.assertEqual((total.sum, total.discountsum, total.discounttype, total.rndsum), (7000, 50, 0, None))

    def test_payments(self) -> None:
        """Payments stand in their order with what was handed over, the change, and the terminal's slip."""
        pays = [{"type": 2, "sum": 6, "bank_id": "77", **CARD}, {"type": 0, "sum": 20}]
        told = self.sold(sum=10, rows=[self.row()], pays=pays)
        card, cash = told.checkpay
        self.assertEqual((card.payformcd, card.payformnm, card.sum, card.remains), (2, "Картка", 600, None))
        (slip,) = card.paysys
        self.assertEqual((slip.name, slip.acquirepn, slip.acquiretransid), ("VISA", "77", RRN))
        self.assertEqual((slip.deviceid, slip.epzdetails, slip.authcd), ("S1A2", "411111******1111", "A1B2"))
        self.assertEqual((cash.sum, cash.provided, cash.remains, cash.paysys), (400, 2000, 1600, ()))

    def test_rounding(self) -> None:
        """A rounded receipt has the exact sum, the rounded one and their difference; taxes stay exact."""
        told = self.sold(sum=12.57, autoround=True, rows=[self.row(price=12.57)], pays=[{"type": 0, "sum": 20}])
        total = told.checktotal
        assert total is not None
        self.assertEqual((total.norndsum, total.rndsum, total.sum), (1257, -3, 1260))
        self.assertEqual((told.checktax[0].sourcesum, told.checktax[0].sum), (1257, 210))

    def test_two_taxes(self) -> None:
        """VAT and excise of one price are two lines with the letters of the group, each with its own base."""
        told = self.sold(sum=259.90, rows=[self.row(price=259.9, taxgrp=3)], pays=[{"type": 2, "sum": 259.9}])
        lines = [(tax.type, tax.letter, tax.prc, tax.turnover, tax.sourcesum, tax.sum) for tax in told.checktax]
        self.assertEqual(lines, [(0, "Г", 2000, 25990, 24752, 4125), (1, "Д", 500, 25990, 25990, 1238)])

    def test_turnover_and_discount(self) -> None:
        """A tax line has the turnover before and after discounts."""
        told = self.sold(sum=50, rows=[self.row(price=100, disc=50)], pays=[{"type": 0, "sum": 50}])
        (tax,) = told.checktax
        self.assertEqual((tax.turnover, tax.turnoverdiscount, tax.sourcesum, tax.sum), (10000, 5000, 5000, 833))

    def test_pension_fund(self) -> None:
        """The levy for the pension fund has its own type."""
        told = self.sold(sum=10, rows=[self.row(taxgrp=8)], pays=[{"type": 0, "sum": 10}])
        self.assertEqual([tax.type for tax in told.checktax], [0, 2])

    def test_two_codes(self) -> None:
        """Of UKTZED and DKPP, which exclude each other in a row, the first is sent, and the till is told."""
        both = self.row(code2="2203000100", code3="56.10")
        receipt = {"sum": 20, "rows": [self.row(code3="56.10"), both], "pays": [{"type": 0, "sum": 20}]}
        draft = self.till.draft(1, receipt=receipt)
        one, two = self.till.take(draft).checkbody
        self.assertEqual((one.uktzed, one.dkpp, two.uktzed, two.dkpp), (None, "56.10", "2203000100", None))
        self.assertEqual([text.en for text in left_out(draft, NUMBER, self.till.desk.groups)], [WITHOUT_DKPP])

    def test_tax_on_income(self) -> None:
        """Income tax and military levy are no VAT and no excise: their group is sold without them, and told."""
        draft = self.till.draft(
            1, receipt={"sum": 10, "rows": [self.row(taxgrp=10)], "pays": [{"type": 0, "sum": 10}]}
        )
        told = self.till.take(draft)
        self.assertEqual((told.checktax, told.checkbody[0].letters), ((), None))
        self.assertEqual(list(receipt_faults(told)), [])
        missing = [text.en for text in left_out(draft, NUMBER, self.till.desk.groups)]
        self.assertEqual(missing, [f"group 10: without the tax {tax}" for tax in ("ПДФО", "Військовий збір")])
        report = self.till.do(11)
        self.assertEqual(report.zreprealiz.taxes, ())

    def test_tax_on_income_on_top(self) -> None:
        """Such a tax on top of the price is refused with its group: without it the sums would not agree."""
        group = TaxGroup(16, "Виплата", "Ф", "ПДФО", 1800, "Військовий збір", 500, included=False)
        for changes, names in (
            ({}, ["ПДФО"]),
            ({"type": 3}, ["Військовий збір"]),
            ({"type": 3, "ex_type": 4}, []),
            ({"percent": 0, "ex_percent": 0}, []),
            ({"included": True}, []),
            ({"included": True, "algorithm": 1}, ["Військовий збір"]),
        ):
            till = Till(RegisterSettings(tax_groups=(msgspec.structs.replace(group, **changes),)))
            desk = replace(till.desk, groups={one.code: one for one in till.settings.tax_groups})
            till.do(0)
            owed = till.drafting.owed(read_receipt({"sum": 10, "rows": [self.row(taxgrp=16)]}), till.state)
            receipt = {"sum": 10, "rows": [self.row(taxgrp=16)], "pays": [{"type": 0, "sum": owed / 100}]}
            draft = till.draft(1, receipt=receipt)
            if not names:
                told = decode(written(draft, desk))
                assert isinstance(told, Check)
                self.assertEqual(list(receipt_faults(told)), [], changes)
                continue
            refused = self.assertRaises(Refused, written, draft, desk)
            self.assertEqual((refused.res, refused.details), (Res.WRONG_TAX_GROUP, (16,)))
            for name in names:
                self.assertIn(name, refused.errortxt())

    def test_types(self) -> None:
        """The types of a group's taxes are those of its settings; without, its name says them, as before."""
        named = TaxGroup(16, "Власні", "ФХ", "Податок", 1800, "Збір", 500, type=5, ex_type=7)
        old = {group.code: msgspec.structs.replace(group, type=None, ex_type=None) for group in GROUPS}
        till = Till(RegisterSettings(tax_groups=(*old.values(), named)))
        desk = replace(till.desk, groups={**old, 16: named})
        found = {}
        till.do(0)
        for group in (1, 3, 6, 8, 9, 10, 12, 16):
            receipt = {"sum": 10, "rows": [self.row(taxgrp=group)], "pays": [{"type": 0, "sum": 20}]}
            told = decode(written(till.draft(1, receipt=receipt), desk))
            assert isinstance(told, Check)
            found[group] = [tax.type for tax in told.checktax]
        self.assertEqual(found, {1: [0], 3: [0, 1], 6: [1], 8: [0, 2], 9: [0], 10: [], 12: [0, 1], 16: [5, 7]})

    def test_no_tax(self) -> None:
        """Items without a tax have neither letter nor line."""
        told = self.sold(sum=10, rows=[self.row(taxgrp=2)], pays=[{"type": 0, "sum": 10}])
        self.assertEqual((told.checktax, told.checkbody[0].letters), ((), None))

    def test_wrong_codes(self) -> None:
        """A code of goods or services that is none is refused with its place, before anything is sent."""
        for member, value in (("code2", "19x5"), ("code3", "56-10")):
            receipt = {"sum": 20, "rows": [self.row(), self.row(**{member: value})], "pays": [{"type": 0, "sum": 20}]}
            refused = self.assertRaises(Refused, written, self.till.draft(1, receipt=receipt), self.till.desk)
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertIn(f"fiscal.receipt.rows[1].{member}", refused.errortxt())

    def test_payer_without_code(self) -> None:
        """Settings that the schema does not take are refused with the element that is wrong."""
        till = Till()
        desk = replace(till.desk, outlet=msgspec.structs.replace(till.desk.outlet, tin=""))
        refused = self.assertRaises(Refused, written, till.draft(0), desk)
        self.assertIs(refused.res, Res.TAX_SERVICE_WRONG_XML)
        self.assertIn("CHECKHEAD/TIN", refused.errortxt())


BOOK = {"code": "1", "name": "Книга", "cnt": 1, "price": 115, "taxgrp": 1}


class PartPaymentTests(SynchronousTestCase):
    """Prepayment, further and final payment, with the sums of the tax service's samples."""

    def setUp(self) -> None:
        """A register whose shift is open."""
        self.till = Till()
        self.till.do(0)

    def part(self, kind: int, amount: float, first: str = "", task: int = 1, **receipt: Any) -> Check:
        """What the tax service reads of a part of 115.00, paid in cash."""
        members = {"partpay_type": kind, "partpay_sum": amount, "partpay_receipt_fisn": first}
        book = {"sum": 115, "rows": [BOOK], "pays": [{"type": 0, "sum": amount}]}
        told: Check = self.till.do(task, receipt={**book, **members, **receipt})
        self.assertEqual(list(receipt_faults(told)), [])
        return told

    def assertPart(self, told: Check, *expected: Any) -> None:
        """Kind, share, part, first receipt and tax; row, payment and base are of the part, the total of the price."""
        total, (row,), (pay,), (tax,) = told.checktotal, told.checkbody, told.checkpay, told.checktax
        assert total is not None
        found = (total.partpaytype, total.partpaypercent, total.partpaysum, total.partpayordprepaynum, tax.sum)
        self.assertEqual(found, expected)
        self.assertEqual((total.sum, total.rndsum, total.norndsum), (11500, None, None))
        part = total.partpaysum
        self.assertEqual(
            (row.cost, row.partpaysum, pay.sum, tax.turnover, tax.sourcesum), (11500, part, part, 11500, part)
        )

    def test_samples(self) -> None:
        """15.00 of 115.00 as a prepayment and as a further one, 85.00 as the final one."""
        self.assertPart(self.part(1, 15), 1, 1304, 1500, None, 250)
        self.assertPart(self.part(3, 15, "1317959"), 3, 1304, 1500, "1317959", 250)
        self.assertPart(self.part(2, 85, "1317959"), 2, 7391, 8500, "1317959", 1417)

    def test_returns(self) -> None:
        """A return of each kind has no share; it names the returned receipt, and but for the first the prepayment."""
        told = self.part(1, 15, task=2, purchase_receipt_fisn="1318099")
        self.assertPart(told, 1, None, 1500, None, 250)
        self.assertEqual((told.checkhead.docsubtype, told.checkhead.orderretnum), (1, "1318099"))
        for kind, amount, vat in ((3, 15, 250), (2, 85, 1417)):
            told = self.part(kind, amount, "1318104", task=2, purchase_receipt_fisn="1318099")
            self.assertPart(told, kind, None, amount * 100, "1318104", vat)

    def test_rounding(self) -> None:
        """25.34 of 59.00, rounded to 25.30: the row has the exact part, the total both."""
        rows = [{**BOOK, "price": 59, "taxgrp": 2}]
        told = self.part(1, 25.34, sum=59, rows=rows, autoround=True)
        total, (row,) = told.checktotal, told.checkbody
        assert total is not None
        self.assertEqual((total.sum, total.rndsum, total.norndsum, total.partpaysum), (5900, 4, 2534, 2530))
        self.assertEqual(
            (row.cost, row.partpaysum, told.checkpay[0].sum, total.partpaypercent), (5900, 2534, 2530, None)
        )

    def test_rows(self) -> None:
        """Rows and taxes share the part in proportion; the turnover before and after discounts stays whole."""
        rows = [{**BOOK, "disc": 15}, {**BOOK, "code": "2", "price": 200, "taxgrp": 4}]
        told = self.part(1, 100, sum=300, rows=rows)
        self.assertEqual([row.partpaysum for row in told.checkbody], [3333, 6667])
        taxes = [(tax.turnover, tax.turnoverdiscount, tax.sourcesum, tax.sum) for tax in told.checktax]
        self.assertEqual(taxes, [(11500, 10000, 3333, 556), (20000, 20000, 6667, 436)])

    def test_without(self) -> None:
        """A receipt without the members has none of the elements."""
        receipt = {"sum": 115, "rows": [BOOK], "pays": [{"type": 0, "sum": 115}]}
        self.assertNotIn(b"PARTPAY", written(self.till.draft(1, receipt=receipt), self.till.desk))

    def test_taxes_of_no_sample(self) -> None:
        """Taxes on top of the price or for each unit are refused in parts: no sample shows their base."""
        for group in (11, 12, 13, 15):
            rows = [BOOK, {**BOOK, "code": "2", "taxgrp": group}]
            refused = self.assertRaises(Refused, self.part, 1, 15, sum=230, rows=rows)
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertIn("fiscal.receipt.rows[1].taxgrp", refused.errortxt())

    def test_offline(self) -> None:
        """The number of an offline document is reckoned with the total that the document states: the whole price."""
        till = self.till
        till.state.session = Session("5008", "179625192271939")
        till.take(_begin(till))
        told = self.part(1, 15)
        head = told.checkhead
        control = control_number(
            "179625192271939",
            f"{head.orderdate:%d%m%Y}",
            f"{head.ordertime:%H%M%S}",
            3,
            str(NUMBER),
            "7",
            "115.00",
            "",
        )
        self.assertEqual(head.ordertaxnum, f"5008.2.{control}")

    @settings(max_examples=40, deadline=None)
    @given(some.lists(some.tuples(some.sampled_from([1, 2]), some.integers(1, 100), some.booleans()), max_size=5))
    def test_z(self, moves: list[tuple[int, int, bool]]) -> None:
        """Each part adds up, and the Z holds the money that was paid."""
        till, sums, paid = Till(), ShiftSums(), 0
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
            told = till.do(task, receipt={**receipt, **members})
            self.assertEqual(list(receipt_faults(told)), [])
            sums.add(told)
            paid += sum(pay.sum for pay in told.checkpay) if task == 1 else 0
        report = till.do(11)
        self.assertEqual(list(sums.faults(report)), [])
        self.assertEqual(report.zreprealiz.sum if report.zreprealiz else 0, paid)


class PaymentCodeTests(SynchronousTestCase):
    """The code of each payment type in documents for the tax service."""

    def shift(self, **changes: Any) -> tuple[list[Check], ZRep]:
        """A sale and a return with every payment type of the register, a withdrawal, and the Z of the shift."""
        till = Till(PrroSettings(tax_groups=GROUPS, default_taxgrp=1, check_cash=False, **changes))
        sums = ShiftSums()
        till.do(0)
        types = [pay_type.code for pay_type in till.settings.pay_types]
        rows = [{"name": "Товар", "cnt": 1, "price": len(types)}]
        receipt = {"sum": len(types), "rows": rows, "pays": [{"type": code, "sum": 1} for code in types]}
        told = [
            till.do(1, receipt=receipt),
            till.do(2, receipt={**receipt, "purchase_receipt_fisn": "3000000001"}),
            till.do(14, cash={"type": 2, "sum": 200, "commission": 2}),
        ]
        for each in told:
            sums.add(each)
        report = till.do(11)
        self.assertEqual(list(sums.faults(report)), [])
        return told, report

    def rows(self, side: Turnover | None) -> list[tuple[int, str, int]]:
        """Code, name and sum of each row of sales or returns in a Z."""
        assert side is not None
        return [(row.payformcd, row.payformnm, row.sum) for row in side.payforms]

    def sides(self, report: ZRep) -> list[dict[str, int]]:
        """Name and code of each payment in the sales and the returns of a Z."""
        return [{name: code for code, name, _ in self.rows(side)} for side in (report.zreprealiz, report.zrepreturn)]

    def codes(self, told: Check) -> dict[str, int]:
        """Name and code of each payment."""
        return {pay.payformnm: pay.payformcd for pay in told.checkpay}

    def test_tax(self) -> None:
        """By the tax service's schema a card is 1, a prepayment 2, a credit 3, in every document."""
        (sold, returned, given), report = self.shift(pay_codes="tax")
        codes = self.codes(sold)
        known = [codes[name] for name in ("Готівка", "Картка", "Передплата", "Післяплата", "Кредит", "Сертифікат")]
        self.assertEqual(known, [0, 1, 2, 3, 3, 305])
        self.assertEqual(
            (codes["Переказ з поточного рахунку"], codes["Безготівка"], codes["LiqPay"]), (306, 100_000, 100_000)
        )
        self.assertEqual(codes["Бонуси"], 100_000)
        self.assertEqual((self.codes(returned), self.codes(given)), (codes, {"ГОТІВКА": 0}))
        self.assertEqual(self.sides(report), [codes, codes])

    def test_types(self) -> None:
        """A register of an earlier version sends the numbers of its payment types, as before."""
        (sold, returned, _), report = self.shift()
        numbers = {one.name: one.code for one in PAY_TYPES}
        self.assertEqual((self.codes(sold), self.codes(returned)), (numbers, numbers))
        self.assertEqual(self.sides(report), [numbers, numbers])

    def test_own_code(self) -> None:
        """A payment type with a code of its own sends that one, whatever the register goes by."""
        card = PayType(2, "Картка", payformcd=301)
        for pay_codes in ("types", "tax"):
            (sold, _, _), report = self.shift(pay_codes=pay_codes, pay_types=(PayType(0, "Готівка"), card))
            self.assertEqual(self.codes(sold), {"Готівка": 0, "Картка": 301})
            self.assertEqual([code for code, *_ in self.rows(report.zreprealiz)], [0, 301])

    def test_rows_of_z(self) -> None:
        """A Z has one row for each code and name: two names with one code are two rows, one name is one."""
        card = PayType(2, "Картка")
        types = (
            card,
            PayType(21, "Картка", payformcd=1),
            PayType(3, "Передплата"),
            PayType(22, "Талон", payformcd=2),
        )
        _, report = self.shift(pay_codes="tax", pay_types=types)
        rows = self.rows(report.zreprealiz)
        self.assertEqual(rows, [(1, "Картка", 200), (2, "Передплата", 100), (2, "Талон", 100)])


ROW = some.fixed_dictionaries(
    {
        "cnt": some.sampled_from([1, 2, 0.125, 3.5]),
        # Half of the cheapest row is paid in cash, and still rounds to more than nothing.
        "price": some.integers(200, 30000).map(lambda kopecks: kopecks / 100),
        "taxgrp": some.sampled_from([group.code for group in GROUPS]),
        "disc": some.sampled_from([0, 0.05, 0.1]),
    }
)
RECEIPT = some.tuples(some.lists(ROW, min_size=1, max_size=4), some.sampled_from(["cash", "card", "both"]))


class ShiftTests(SynchronousTestCase):
    """A Z says what its receipts said."""

    def receipt(self, till: Till, rows: list[dict[str, Any]], paid: str) -> dict[str, Any]:
        """The receipt over ``rows``, paid in some way."""
        goods = [{"name": f"Товар {n}", **row} for n, row in enumerate(rows)]
        kopecks = sum(
            (round(row["price"] * 100) * round(row["cnt"] * 1000) * 2 + 1000) // 2000 - round(row["disc"] * 100)
            for row in rows
        )
        receipt: dict[str, Any] = {"sum": kopecks / 100, "rows": goods}
        owed = till.drafting.owed(read_receipt(receipt), till.state)
        card = 0 if paid == "cash" else owed if paid == "card" else owed // 2
        pays = [{"type": 2, "sum": card / 100}] if card else []
        pays += [{"type": 0, "sum": (owed - card + 1000) / 100}] if owed - card else []
        return {**receipt, "pays": pays, "autoround": True}

    @settings(max_examples=60, deadline=None)
    @given(some.lists(some.tuples(some.sampled_from([1, 2]), RECEIPT), max_size=5))
    def test_z(self, moves: list[tuple[int, Any]]) -> None:
        """Whatever was sold and taken back, in every tax group: each receipt adds up, and so does the Z."""
        till, sums = Till(), ShiftSums()
        till.do(0)
        for task, (rows, paid) in moves:
            receipt = {**self.receipt(till, rows, paid), "purchase_receipt_fisn": "3000000001"}
            told = till.do(task, receipt=receipt)
            self.assertEqual(list(receipt_faults(told)), [], receipt)
            sums.add(told)
        report = till.do(11)
        self.assertIsInstance(report, ZRep)
        self.assertEqual(list(sums.faults(report)), [])

    def test_whole_day(self) -> None:
        """Cash moves, withdrawals and stornos stand in the Z as well."""
        till, sums = Till(), ShiftSums()
        till.do(0)
        for task, members in (
            (3, {"cash": {"type": 0, "sum": 100}}),
            (4, {"cash": {"type": 0, "sum": 30}}),
            (14, {"cash": {"type": 2, "sum": 200, "commission": 2}}),
            (1, {"receipt": sale(50)}),
        ):
            last = till.draft(task, **members)
            told = till.take(last)
            sums.add(told)
        sums.add(told, -1)
        till.storno(last)
        report = till.do(11)
        self.assertEqual(list(sums.faults(report)), [])
        self.assertIsNone(report.zreprealiz)
        self.assertEqual((report.zrepbody.serviceinput, report.zrepbody.serviceoutput), (10000, 3000))
        self.assertEqual((report.zrepcash.sum, report.zrepcash.orderscnt), (20000, 1))
        self.assertEqual(kind_of(report), "z")

    def test_empty(self) -> None:
        """The Z of a shift without receipts has zeros in its body and nothing else."""
        till = Till()
        till.do(0)
        report = till.do(11)
        self.assertEqual(report, ZRep(zrephead=report.zrephead, zrepbody=report.zrepbody))
        self.assertEqual((report.zrepbody.serviceinput, report.zrepbody.serviceoutput), (0, 0))
        self.assertEqual(report.zrephead.cashier, "Коваль О.")


def read_receipt(receipt: dict[str, Any]) -> Any:
    """A receipt as a request has it."""
    body = {"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 1, "receipt": receipt}}
    fiscal = read_task(read_json(json.dumps(body).encode())).fiscal
    assert fiscal is not None and fiscal.receipt is not None
    return fiscal.receipt
