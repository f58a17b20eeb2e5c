"""What has to add up in documents of protocol B: each flaw once, and none in what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.cabinet.documents import MAC, RQ, C, Dat, Kind
from protocols.fiscal.cabinet.documents_checks import ContentFault, Flaw, ShiftSums, mac_faults, receipt_faults
from protocols.fiscal.cabinet.documents_rows import CP, NI, TX, VD, CashIn, CashOut, D, E, M, P, Row, S
from protocols.fiscal.cabinet.documents_z import EPZ, IO, NC, TXS, ZM, Z
from tests.vectors.cabinet import (
    ANNEX,
    CASH,
    DISCOUNT,
    NUMBERS,
    OPENING,
    PING,
    REPORT,
    RETURN,
    ROUNDED,
    SALE,
    VECTORS,
    Vector,
)


def content_of(document: Vector | RQ) -> C:
    """The receipt in a document."""
    value = document.value if isinstance(document, Vector) else document
    assert isinstance(value.dat.content, C)
    return value.dat.content


def rows_of(document: Vector) -> tuple[Row, ...]:
    """The operations of a receipt."""
    return content_of(document).rows


def with_rows(document: Vector, *rows: Row) -> Dat:
    """The receipt with other operations."""
    return replace(document.value.dat, content=replace(content_of(document), rows=rows))


def changed(document: Vector, number: int, **members: Any) -> Dat:
    """The receipt with one operation changed; `txsm` and other members of a tax are those of its first tax."""
    rows = list(rows_of(document))
    row = rows[number - 1]
    if isinstance(row, E) and members.keys() <= {"tax_tx", "tax_txsm", "tax_dtsm"}:
        first, *rest = row.taxes
        members = {"taxes": (replace(first, **{name[4:]: value for name, value in members.items()}), *rest)}
    rows[number - 1] = replace(row, **members)
    return with_rows(document, *rows)


class ReceiptTests(SynchronousTestCase):
    """Receipts and documents without goods."""

    def assertFlaws(self, dat: Dat, *flaws: Flaw) -> None:
        """The document has these flaws."""
        found = list(receipt_faults(dat))
        self.assertEqual({fault.flaw for fault in found}, set(flaws), [str(fault) for fault in found])

    def test_right(self) -> None:
        """The vectors add up, but for the invented tax of the annex."""
        for vector in VECTORS:
            self.assertFlaws(vector.value.dat, *([Flaw.TAX] if vector is ANNEX else []))

    def test_kind(self) -> None:
        """A kind that does not exist."""
        self.assertFlaws(replace(OPENING.value.dat, content=C(t=42)), Flaw.KIND)

    def test_content(self) -> None:
        """Operations that do not belong: goods in an opening, cash in a sale, a sale of nothing, cash of nothing."""
        item, pay = rows_of(SALE)[1:3]
        self.assertFlaws(with_rows(OPENING, replace(item, n=1)), Flaw.CONTENT)
        self.assertFlaws(with_rows(NUMBERS, replace(pay, n=1)), Flaw.CONTENT)
        self.assertFlaws(
            with_rows(DISCOUNT, *rows_of(DISCOUNT)[:4], CashIn(n=5, sm=1), _last(DISCOUNT, 6)), Flaw.CONTENT
        )
        nothing = E(n=1, no=1, sm=0, fn="4000000001", ts=SALE.value.dat.ts)
        self.assertFlaws(with_rows(DISCOUNT, nothing), Flaw.CONTENT)
        self.assertFlaws(with_rows(CASH, E(n=1)), Flaw.CONTENT)

    def test_row_numbers(self) -> None:
        """Operations whose numbers have a gap, repeat or begin elsewhere."""
        for number in (1, 3, 7):
            self.assertFlaws(changed(SALE, 2, n=number), Flaw.ROW_NUMBERS)
        self.assertFlaws(changed(CASH, 1, n=0), Flaw.ROW_NUMBERS)

    def test_end(self) -> None:
        """A receipt without end, with two, with something after it, or with an incomplete one."""
        self.assertFlaws(with_rows(SALE, *rows_of(SALE)[:-1]), Flaw.END)
        self.assertFlaws(with_rows(SALE, *rows_of(SALE), _last(SALE, 5)), Flaw.END)
        *_, pay, end = rows_of(SALE)
        self.assertFlaws(with_rows(SALE, *rows_of(SALE)[:2], replace(end, n=3), replace(pay, n=4)), Flaw.END)
        for members in ({"no": None}, {"fn": None}, {"ts": None}, {"sm": None}, {"fn": "4000000002"}):
            self.assertFlaws(changed(DISCOUNT, 5, **members), Flaw.END)
        self.assertFlaws(changed(DISCOUNT, 5, ts=SALE.value.dat.ts + timedelta(seconds=1)), Flaw.END)

    def test_void(self) -> None:
        """A receipt that is void needs neither goods nor a total."""
        end = E(n=1, no=1, fn="4000000001", ts=SALE.value.dat.ts, vd=1)
        self.assertFlaws(with_rows(SALE, end))

    def test_original(self) -> None:
        """A return that names no receipt."""
        self.assertFlaws(changed(RETURN, 3, rno=None), Flaw.ORIGINAL)

    def test_row_amount(self) -> None:
        """An amount that is not price by quantity, by more than a kopeck, and a negative one."""
        self.assertFlaws(changed(SALE, 2, q=2001), Flaw.ROW_AMOUNT)
        self.assertFlaws(changed(SALE, 2, prc=15501), Flaw.ROW_AMOUNT)
        self.assertFlaws(changed(SALE, 2, q=None), Flaw.ROW_AMOUNT)
        self.assertFlaws(changed(SALE, 2, q=2000, prc=15500))
        self.assertFlaws(changed(DISCOUNT, 1, prc=501))
        self.assertFlaws(changed(DISCOUNT, 1, prc=502), Flaw.ROW_AMOUNT)
        self.assertFlaws(changed(DISCOUNT, 1, sm=-500), Flaw.ROW_AMOUNT, Flaw.TOTAL, Flaw.DISCOUNT)

    def test_reference(self) -> None:
        """A discount of an item that does not exist or comes later, and a void of no operation."""
        self.assertFlaws(changed(ROUNDED, 2, ni=7), Flaw.REFERENCE, Flaw.DISCOUNT, Flaw.TAX)
        self.assertFlaws(changed(ROUNDED, 4, ni=5), Flaw.REFERENCE, Flaw.TAX)
        self.assertFlaws(changed(DISCOUNT, 3, rows=(NI(ni=1), NI(ni=4))), Flaw.REFERENCE)
        *rows, end = rows_of(DISCOUNT)
        self.assertFlaws(with_rows(DISCOUNT, *rows, VD(n=5, ni=9), replace(end, n=6)), Flaw.REFERENCE)

    def test_discount(self) -> None:
        """A discount of more than its items."""
        first, second, discount, pay, end = rows_of(DISCOUNT)
        assert isinstance(discount, D) and isinstance(pay, M) and isinstance(end, E)
        more = replace(discount, sm=600, rows=(NI(ni=1),))
        self.assertFlaws(
            with_rows(DISCOUNT, first, second, more, replace(pay, sm=400), replace(end, sm=400)), Flaw.DISCOUNT
        )

    def test_changes(self) -> None:
        """Without references a change is of the item before or of all; refused and void items do not count."""
        first, second, discount, pay, end = rows_of(DISCOUNT)
        assert isinstance(discount, D) and isinstance(first, P)
        self.assertFlaws(with_rows(DISCOUNT, first, second, replace(discount, rows=()), pay, end))
        self.assertFlaws(with_rows(DISCOUNT, first, second, replace(discount, rows=(), tr=0), pay, end))
        taken_back = CP(n=3, nm="А", sm=500)
        more = P(n=4, nm="В", sm=500)
        rows = (first, second, taken_back, more, replace(discount, n=5, rows=()))
        self.assertFlaws(with_rows(DISCOUNT, *rows, replace(pay, n=6), replace(end, n=7)))
        void = (first, second, P(n=3, nm="Г", sm=9), replace(discount, n=4), VD(n=5, rows=(NI(ni=3),)))
        self.assertFlaws(with_rows(DISCOUNT, *void, replace(pay, n=6), replace(end, n=7)))

    def test_total(self) -> None:
        """A total that the operations do not make."""
        self.assertFlaws(changed(ROUNDED, 6, sm=56556), Flaw.TOTAL, Flaw.PAYMENTS)
        self.assertFlaws(changed(DISCOUNT, 3, sm=51), Flaw.TOTAL)
        self.assertFlaws(changed(CASH, 1, sm=-1), Flaw.TOTAL)

    def test_payments(self) -> None:
        """Payments that do not make the total."""
        self.assertFlaws(changed(SALE, 3, sm=31001), Flaw.PAYMENTS)
        self.assertFlaws(changed(ROUNDED, 5, smp=None, smb=None), Flaw.PAYMENTS)

    def test_change(self) -> None:
        """More change than was handed over."""
        self.assertFlaws(changed(SALE, 3, rm=31001), Flaw.CHANGE, Flaw.PAYMENTS)
        self.assertFlaws(changed(SALE, 3, sm=32000, rm=1000))

    def test_rounding(self) -> None:
        """A payment that its rounding does not explain, or that is rounded both ways."""
        self.assertFlaws(changed(ROUNDED, 5, smb=56550), Flaw.ROUNDING)
        self.assertFlaws(changed(ROUNDED, 5, smp=10, smm=5), Flaw.ROUNDING)
        self.assertFlaws(changed(ROUNDED, 5, smb=None))

    def test_tax(self) -> None:
        """VAT or levy that is not the calculated one, by more than a kopeck."""
        self.assertFlaws(changed(ROUNDED, 6, tax_txsm=4693))
        self.assertFlaws(changed(ROUNDED, 6, tax_txsm=4694), Flaw.TAX)
        self.assertFlaws(changed(ROUNDED, 6, tax_dtsm=1406), Flaw.TAX)
        self.assertFlaws(changed(RETURN, 3, tax_txsm=18), Flaw.TAX)

    def test_algorithms(self) -> None:
        """VAT and levy of 100.00 by each algorithm, in the price and on top of it."""
        for tax, due in (
            (TX(tx="1", txpr=2000, dtpr=750, txal=0, txsm=1569, dtsm=588), 10000),
            (TX(tx="1", txpr=2000, dtpr=750, txal=0, txty=1, txsm=2000, dtsm=750), 12750),
            (TX(tx="1", txpr=2000, dtpr=750, txal=1, txsm=1792, dtsm=750), 10750),
            (TX(tx="1", txpr=2000, dtpr=500, txal=2, txsm=1587, dtsm=476), 10000),
            (TX(tx="1", txpr=2000, dtpr=500, txal=2, txty=1, txsm=1905, dtsm=476), 11905),
            (TX(tx="1", txpr=2000, dtpr=150, txal=3, txsm=1617, dtsm=300), 10000),
            (TX(tx="0"), 10000),
            (TX(tx="-1", txpr=0, txsm=0), 10000),
        ):
            item = P(n=1, nm="А", sm=10000, q=2000, tx=tax.tx)
            end = replace(_last(DISCOUNT, 3), sm=due, taxes=(tax,), se=due - (tax.txsm or 0) - (tax.dtsm or 0))
            self.assertFlaws(with_rows(DISCOUNT, item, M(n=2, sm=due), end))
            wrong = replace(end, taxes=(replace(tax, txsm=(tax.txsm or 0) + 2),), se=None)
            rows = (item, M(n=2, sm=due), wrong)
            self.assertIn(Flaw.TAX, {fault.flaw for fault in receipt_faults(with_rows(DISCOUNT, *rows))})

    def test_tax_missing(self) -> None:
        """Items and taxes that do not name the same taxes, and a tax that occurs twice."""
        self.assertFlaws(changed(ROUNDED, 6, taxes=()), Flaw.TAX_MISSING)
        self.assertFlaws(changed(SALE, 4, tax_tx="5"), Flaw.TAX_MISSING)
        end = rows_of(SALE)[-1]
        assert isinstance(end, E)
        twice = replace(end.taxes[0], txsm=0, dtsm=0)
        self.assertFlaws(changed(SALE, 4, taxes=(*end.taxes, twice)), Flaw.TAX_MISSING, Flaw.TAX)

    def test_second_tax(self) -> None:
        """Items with a second tax name it too; how the two share the price is not checked."""
        vat = TX(tx="1", txpr=2000, txsm=9191, txty=0, txal=0)
        excise = TX(tx="2", dtpr=500, dtsm=1408, txal=2)
        items = (P(n=1, nm="А", sm=29560, tx="1", tx1="2"), P(n=2, nm="Б", sm=26995, tx="1"))
        end = replace(_last(DISCOUNT, 4), sm=56555, taxes=(vat, excise))
        self.assertFlaws(with_rows(DISCOUNT, *items, M(n=3, sm=56555), end))
        end = replace(end, taxes=(vat,))
        self.assertFlaws(with_rows(DISCOUNT, *items, M(n=3, sm=56555), end), Flaw.TAX_MISSING)

    def test_without_taxes(self) -> None:
        """A total without taxes that is not the total less the taxes."""
        self.assertFlaws(changed(SALE, 4, se=24604), Flaw.WITHOUT_TAXES)

    def test_mac(self) -> None:
        """The number in the MAC is the one beside the document; a ping has no MAC, everything else has one."""
        online, offline, ping = SALE.value, RETURN.value, PING.value
        for document, number in ((online, ""), (offline, "eYme-jhnkWQ"), (ping, ""), (replace(ping, mac=MAC()), "")):
            self.assertEqual(list(mac_faults(document, number)), [])
        for document, number in (
            (online, "eYme-jhnkWQ"),
            (offline, ""),
            (offline, "other"),
            (replace(online, mac=None), ""),
            (replace(ping, mac=MAC(text="a")), ""),
        ):
            self.assertEqual([fault.flaw for fault in mac_faults(document, number)], [Flaw.MAC])


def _last(document: Vector, number: int) -> E:
    """The end of a receipt with another number."""
    end = rows_of(document)[-1]
    assert isinstance(end, E)
    return replace(end, n=number)


class ReportTests(SynchronousTestCase):
    """The Z-report against the documents of its shift."""

    def setUp(self) -> None:
        """A shift with two sales, a return, cash in and out and cash for a card holder."""
        self.sums = ShiftSums()
        given = E(n=3, no=8, sm=50000, fn="4000000001", ts=SALE.value.dat.ts)
        withdrawal = C(t=Kind.WITHDRAWAL, rows=(P(n=1, nm="Готівка", sm=50000), M(n=2, sm=50000), given))
        out = C(t=Kind.CASH, rows=(CashOut(n=1, sm=5000), E(n=2)))
        void = C(t=Kind.SALE, rows=(E(n=1, no=9, vd=1),))
        for content in (*map(content_of, (OPENING, SALE, ROUNDED, RETURN, CASH, NUMBERS)), out, withdrawal, void):
            self.sums.add(content)

    right = Z(
        no=1,
        taxes=(
            TXS(tx="4", smi=60560, txi=9613, dti=2884),
            TXS(tx="1", smi=26995, txi=4499, smo=0),
            TXS(tx="8", smo=100, txo=16, dto=6),
        ),
        payments=(
            ZM(t=2, nm="Картка", smi=31000),
            ZM(t=0, nm="ГОТІВКА", smi=56560, smip=5),
            ZM(t=0, smo=100),
        ),
        cash=(IO(t=0, smi=20000, smo=5000),),
        counts=NC(ni=2, no=1),
        withdrawals=EPZ(epc=1, epsm=50000),
    )

    def flaws(self, report: Z) -> list[ContentFault]:
        """Where the report differs."""
        return list(self.sums.faults(report))

    def test_right(self) -> None:
        """The report of the shift agrees, in any order and with lines in two parts."""
        self.assertEqual(self.flaws(self.right), [])
        first, *others = self.right.taxes
        parts = (*others, replace(first, smi=60000), TXS(tx="4", smi=560))
        cash = (IO(t=0, smi=20000), IO(t=0, nm="Готівка", smo=5000))
        self.assertEqual(self.flaws(replace(self.right, taxes=parts, cash=cash)), [])

    def test_each(self) -> None:
        """Each sum that differs is told with its place."""
        first_tax, *taxes = self.right.taxes
        card, cash, back = self.right.payments
        wrong: tuple[tuple[Callable[[], Z], Flaw, str], ...] = (
            (lambda: replace(self.right, counts=NC(ni=2)), Flaw.Z_COUNTS, "NC/@NO"),
            (lambda: replace(self.right, counts=None), Flaw.Z_COUNTS, "NC/@NI"),
            (lambda: replace(self.right, taxes=tuple(taxes)), Flaw.Z_TAXES, "TXS[TX=4]/@SMI"),
            (
                lambda: replace(self.right, taxes=(replace(first_tax, txi=9614), *taxes)),
                Flaw.Z_TAXES,
                "TXS[TX=4]/@TXI",
            ),
            (
                lambda: replace(self.right, taxes=(replace(first_tax, dto=1), *taxes)),
                Flaw.Z_TAXES,
                "TXS[TX=4]/@DTO",
            ),
            (lambda: replace(self.right, payments=(card, back)), Flaw.Z_PAYMENTS, "M[T=0 ГОТІВКА]/@SMI"),
            (
                lambda: replace(self.right, payments=(card, replace(cash, smip=0, smim=5), back)),
                Flaw.Z_PAYMENTS,
                "M[T=0 ГОТІВКА]/@SMIM",
            ),
            (
                lambda: replace(self.right, payments=(replace(card, nm="Інша"), cash, back)),
                Flaw.Z_PAYMENTS,
                "M[T=2 Інша]/@SMI",
            ),
            (lambda: replace(self.right, cash=()), Flaw.Z_CASH, "IO[T=0]/@SMI"),
            (lambda: replace(self.right, withdrawals=None), Flaw.Z_WITHDRAWALS, "EPZ/@EPC"),
            (lambda: replace(self.right, withdrawals=EPZ(epc=1)), Flaw.Z_WITHDRAWALS, "EPZ/@EPSM"),
        )
        for report, flaw, path in wrong:
            found = self.flaws(report())
            self.assertEqual((found[0].flaw, found[0].path), (flaw, f"RQ/DAT/Z/{path}"))
            self.assertEqual({fault.flaw for fault in found}, {flaw})

    def test_taken_out(self) -> None:
        """A document that is taken out again leaves nothing behind; an empty shift has an empty report."""
        for content in map(content_of, (SALE, ROUNDED, RETURN, CASH)):
            self.sums.add(content, -1)
        left = Z(no=1, cash=(IO(t=0, smo=5000),), withdrawals=EPZ(epc=1, epsm=50000))
        self.assertEqual(self.flaws(left), [])
        self.assertEqual(list(ShiftSums().faults(Z(no=1))), [])

    def test_no_receipt(self) -> None:
        """A Z-report itself is no receipt."""
        self.assertEqual(list(receipt_faults(REPORT.value.dat)), [])

    def test_surcharge(self) -> None:
        """Surcharges count in the turnover of their tax."""
        sums = ShiftSums()
        sums.add(content_of(ROUNDED))
        self.assertEqual(sums.taxes["1"].turnover, [26995, 0])
        self.assertTrue(any(isinstance(row, S) for row in rows_of(ROUNDED)))
