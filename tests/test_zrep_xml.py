"""Z-reports: what they hold, and that they say what the receipts of their shift said."""

from __future__ import annotations

import dataclasses

from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.check_xml import Check, CheckTotal, PayRow, TaxRow
from protocols.fiscal.document_kinds import content_faults
from protocols.fiscal.document_xml import decode, encode
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.zrep_xml import FuelRemainsRow, FuelRow, PayFormRow, ZRep, ZRepBody, ZRepCash, ZRepFuel, ZRepVal
from protocols.simulators.fiscal_arithmetic import receipt_faults
from protocols.simulators.fiscal_totals import ShiftSums
from tests.fiscal_papers import Shop
from tests.vectors.fiscal_documents import SAMPLES

NOON = 1_790_000_000.0


def official(kind: str) -> Check | ZRep:
    """The first official sample of a kind."""
    return decode(next(sample.data for sample in SAMPLES if sample.kind == kind))


def official_z() -> ZRep:
    """The official report over two sales of 50.00."""
    report = official("z")
    assert isinstance(report, ZRep)
    return report


class SectionTests(SynchronousTestCase):
    """Sections of a report besides those of the samples."""

    def setUp(self) -> None:
        """Start with the report of an empty shift."""
        self.report = Shop(lambda: NOON).z()

    def test_all(self) -> None:
        """Every section is read back as it was written."""
        report = dataclasses.replace(
            self.report,
            zrepcash=ZRepCash(sum=10000, commission=100, orderscnt=1),
            zrepval=ZRepVal(totalinadvance=1, calcdocscnt=3),
            zrepfuel=ZRepFuel(
                details=(FuelRow(name="А-95", realizvol=100, remains=5),),
                remains=(FuelRemainsRow(name="А-95", tanknum="1", remains=5),),
            ),
        )
        self.assertEqual(decode(encode(report)), report)

    def test_code_with_places(self) -> None:
        """The code of a payment form may have a dot and zeros, as older reports write it."""
        text = encode(official_z()).replace(b"<PAYFORMCD>0<", b"<PAYFORMCD>0.00<")
        self.assertEqual(decode(text), official_z())
        self.assertRaises(DocumentError, decode, text.replace(b"<PAYFORMCD>0.00<", b"<PAYFORMCD>0.01<"))

    def test_empty_shift(self) -> None:
        """The report of an empty shift has nothing but zeros in its body."""
        self.assertIn(b"<ZREPBODY><SERVICEINPUT>0.00</SERVICEINPUT><SERVICEOUTPUT>0.00", encode(self.report))
        self.assertEqual(list(ShiftSums().faults(self.report)), [])


class TotalsTests(SynchronousTestCase):
    """A report against the receipts of its shift."""

    def setUp(self) -> None:
        """Start with the two sales of the official package."""
        self.sums = ShiftSums()
        sale = official("sale")
        assert isinstance(sale, Check)
        self.sale = sale
        self.sums.add(sale)
        self.sums.add(sale)

    def test_official(self) -> None:
        """The official report agrees: its tax is the sum of rounded taxes, 16.66 and not 16.67."""
        self.assertEqual(list(self.sums.faults(official_z())), [])

    def changed(self, **members: object) -> list[str]:
        """What is wrong with the official report when its turnover has other members."""
        turnover = official_z().zreprealiz
        assert turnover is not None
        other = dataclasses.replace(turnover, **members)  # type: ignore[arg-type]
        return list(self.sums.faults(dataclasses.replace(official_z(), zreprealiz=other)))

    def test_recomputed_tax(self) -> None:
        """A tax calculated again from the turnover is found."""
        turnover = official_z().zreprealiz
        assert turnover is not None
        (tax,) = turnover.taxes
        (fault,) = self.changed(taxes=(dataclasses.replace(tax, sum=1667),))
        self.assertIn("16.66", fault)
        self.assertEqual(len(self.changed(taxes=())), 1)

    def test_wrong_sums(self) -> None:
        """Sum, number of receipts and payment forms are compared."""
        self.assertEqual(len(self.changed(sum=9999)), 1)
        self.assertEqual(len(self.changed(orderscnt=3)), 1)
        self.assertEqual(len(self.changed(payforms=(PayFormRow(payformcd=0, payformnm="ГОТІВКА", sum=9999),))), 1)
        self.assertEqual(len(self.changed(payforms=(PayFormRow(payformcd=1, payformnm="КАРТКА", sum=10000),))), 2)
        self.assertEqual(len(list(self.sums.faults(dataclasses.replace(official_z(), zreprealiz=None)))), 1)

    def test_rounding(self) -> None:
        """What a report says of rounding is compared too."""
        self.assertEqual(self.changed(rndsum=0, norndsum=10000), [])
        self.assertEqual(len(self.changed(rndsum=1)), 1)
        self.assertEqual(len(self.changed(norndsum=9999)), 1)

    def test_taken_back(self) -> None:
        """A receipt that was taken back leaves nothing behind."""
        self.sums.add(self.sale, -1)
        self.sums.add(self.sale, -1)
        self.assertEqual(list(self.sums.faults(Shop(lambda: NOON).z())), [])

    def test_moves(self) -> None:
        """Money in and out is in the body, cash from cards and returns have their own sections."""
        shop = Shop(lambda: NOON)
        for document in (shop.cash(300, 2), shop.cash(200, 3), shop.cash(100, 4), shop.withdrawal(5000, 50)):
            self.sums.add(document)
        self.sums.add(shop.back("1"))
        right = dataclasses.replace(
            official_z(),
            zrepreturn=dataclasses.replace(Shop(lambda: NOON).z((5000, 833)).zreprealiz or self.fail("no turnover")),
            zrepcash=ZRepCash(sum=5000, commission=50, orderscnt=1),
            zrepbody=ZRepBody(serviceinput=500, serviceoutput=100),
        )
        self.assertEqual(list(self.sums.faults(right)), [])
        for section in ("zrepreturn", "zrepcash"):
            self.assertEqual(len(list(self.sums.faults(dataclasses.replace(right, **{section: None})))), 1)  # type: ignore[arg-type]
        self.assertEqual(len(list(self.sums.faults(dataclasses.replace(right, zrepbody=None)))), 2)


class ArithmeticTests(SynchronousTestCase):
    """Whether a receipt adds up."""

    def setUp(self) -> None:
        """Start with a sale of 50.00."""
        self.sale = Shop(lambda: NOON).sale()

    def wrong(self, total: CheckTotal, **members: object) -> int:
        """How many faults the sale has with another total and other sections."""
        return len(list(receipt_faults(dataclasses.replace(self.sale, checktotal=total, **members))))  # type: ignore[arg-type]

    def paid(self, kopecks: int) -> tuple[PayRow, ...]:
        """A payment in cash."""
        return (PayRow(payformcd=0, payformnm="ГОТІВКА", sum=kopecks),)

    def test_right(self) -> None:
        """Official receipts and ours add up."""
        for sample in SAMPLES:
            document = decode(sample.data)
            if isinstance(document, Check):
                self.assertEqual(list(receipt_faults(document)), [], sample.source)
        self.assertEqual(list(receipt_faults(self.sale)), [])

    def test_wrong_total(self) -> None:
        """A total that is not that of the goods, or of the payments, is found."""
        self.assertEqual(self.wrong(CheckTotal(sum=4999), checkpay=self.paid(4999)), 1)
        self.assertEqual(self.wrong(CheckTotal(sum=5000), checkpay=self.paid(4999)), 1)
        self.assertEqual(self.wrong(CheckTotal(sum=-5000), checkpay=self.paid(-5000)), 2)

    def test_rounding(self) -> None:
        """12.57 rounded to 12.60 is a rounding of -0.03 (docs/reference/tax-service.md#sums)."""
        (row,) = self.sale.checkbody
        body = (dataclasses.replace(row, cost=1257),)
        tax = (TaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=1257, sum=210),)
        shared = {"checkbody": body, "checktax": tax, "checkpay": self.paid(1260)}
        self.assertEqual(self.wrong(CheckTotal(sum=1260, norndsum=1257, rndsum=-3), **shared), 0)
        self.assertEqual(self.wrong(CheckTotal(sum=1260, norndsum=1257, rndsum=3), **shared), 1)
        self.assertEqual(self.wrong(CheckTotal(sum=1260), **shared), 1)

    def test_official_discounts(self) -> None:
        """100 less 50 at 20 % and 200 less 40 at 7 %: 8.33 and 10.47, 210.00 in all (official example)."""
        (row,) = self.sale.checkbody
        body = (
            dataclasses.replace(row, cost=10000, discountsum=5000),
            dataclasses.replace(row, cost=20000, discountsum=4000),
        )
        tax = (
            TaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=10000, sourcesum=5000, sum=833),
            TaxRow(type=0, name="ПДВ", letter="Б", prc=700, turnover=20000, sourcesum=16000, sum=1047),
        )
        total = CheckTotal(sum=21000, discountsum=9000)
        shared = {"checkbody": body, "checkpay": self.paid(21000)}
        self.assertEqual(self.wrong(total, checktax=tax, **shared), 0)
        off = (dataclasses.replace(tax[0], sum=836), tax[1])
        self.assertEqual(self.wrong(total, checktax=off, **shared), 1)

    def test_official_two_taxes(self) -> None:
        """Excise 12.38 of 259.90 first, then VAT 41.25 of 247.52 (official example)."""
        (row,) = self.sale.checkbody
        tax = (
            TaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=25990, sourcesum=24752, sum=4125),
            TaxRow(type=1, name="Акциз", letter="А", prc=500, turnover=25990, sourcesum=25990, sum=1238),
        )
        body = (dataclasses.replace(row, cost=25990),)
        self.assertEqual(
            self.wrong(CheckTotal(sum=25990), checktax=tax, checkbody=body, checkpay=self.paid(25990)), 0
        )

    def test_part_payment(self) -> None:
        """A prepayment of 15.00 on 115.00 has the full price as its sum (official example)."""
        (row,) = self.sale.checkbody
        body = (dataclasses.replace(row, cost=11500, partpaysum=1500),)
        tax = (TaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=11500, sourcesum=1500, sum=250),)
        total = CheckTotal(sum=11500, partpaytype=1, partpaypercent=1304, partpaysum=1500)
        self.assertEqual(self.wrong(total, checktax=tax, checkbody=body, checkpay=self.paid(1500)), 0)
        self.assertEqual(self.wrong(total, checktax=tax, checkbody=body, checkpay=self.paid(11500)), 1)
        shared = {"checktax": tax, "checkpay": self.paid(1500)}
        for members, rows in (
            ({"partpaypercent": 1306}, body),
            ({}, (dataclasses.replace(row, cost=11500, partpaysum=1499),)),
            ({}, (dataclasses.replace(row, cost=11500),)),
            ({"sum": 1499, "partpaypercent": None}, (dataclasses.replace(row, cost=1499, partpaysum=1500),)),
        ):
            self.assertEqual(self.wrong(dataclasses.replace(total, **members), checkbody=rows, **shared), 1, members)

    def test_part_payment_members(self) -> None:
        """A part payment has its kind and its sum, and but for the first the number of the prepayment."""
        for members, elements in (
            ({"partpaytype": 1, "partpaysum": 1500}, []),
            ({"partpaytype": 2, "partpaysum": 1500, "partpayordprepaynum": "7"}, []),
            ({"partpaytype": 3, "partpaysum": 1500}, ["PARTPAYORDPREPAYNUM"]),
            ({"partpaytype": 2, "partpaysum": 1500}, ["PARTPAYORDPREPAYNUM"]),
            ({"partpaytype": 4, "partpaysum": 1500}, ["PARTPAYTYPE"]),
            ({"partpaysum": 1500}, ["PARTPAYTYPE"]),
            ({"partpaytype": 1}, ["PARTPAYSUM"]),
        ):
            check = dataclasses.replace(self.sale, checktotal=CheckTotal(sum=11500, **members))
            self.assertEqual([fault.path.rpartition("/")[2] for fault in content_faults(check)], elements, members)

    def test_change(self) -> None:
        """What was handed over less the change is the payment."""
        (pay,) = self.paid(5000)
        good = dataclasses.replace(pay, provided=10000, remains=5000)
        self.assertEqual(self.wrong(CheckTotal(sum=5000), checkpay=(good,)), 0)
        self.assertEqual(self.wrong(CheckTotal(sum=5000), checkpay=(dataclasses.replace(good, remains=1),)), 1)

    def test_tax_on_top(self) -> None:
        """A tax that is not in the prices is added to them."""
        tax = (TaxRow(type=0, name="ПДВ", letter="А", prc=2000, sign=True, turnover=5000, sum=1000),)
        self.assertEqual(self.wrong(CheckTotal(sum=6000), checktax=tax, checkpay=self.paid(6000)), 0)
        self.assertEqual(self.wrong(CheckTotal(sum=5000), checktax=tax, checkpay=self.paid(5000)), 1)
