"""What a till asks of a register and what it hears: receipts, cash, reports, tags and refusals."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import __version__
from dmtwisted.registers import local
from tests.shop import Shop, sale
from tests.specification import promises

FISID = "4000000001"
"""The fiscal number of the first training register."""

OUTLET = {
    "name": "ТОВ «Навчальна крамниця»",
    "shopname": "Навчальна каса",
    "shopad": "м. Київ, вул. Прикладна, 1",
    "vat_code": "",
    "fis_code": "1234567890",
}

NOTHING = {"sum": 0, "rows": [], "pays": []}
"""A zero receipt."""

LUNCH = {
    "sum": 70,
    "disc": 7,
    "comment_up": "Вітаємо",
    "comment_down": "Дякуємо",
    "rows": [
        {
            "code": "17",
            "code1": "4820000000017",
            "code2": "1905",
            "code3": "56.10",
            "name": "Пиріг",
            "cnt": 2,
            "price": "30.25",
            "disc": 0.5,
            "taxgrp": 1,
            "comment": "з вишнею",
        },
        {
            "code": "18",
            "code_aa": ["AATE508932", "AATE508933"],
            "name": "Пиво",
            "cnt": 0.125,
            "price": 80,
            "taxgrp": "3",
        },
    ],
    "pays": [
        {
            "type": 2,
            "sum": 40,
            "paysys": "VISA",
            "rrn": "123456789012",
            "cardmask": "411111******1111",
            "term_id": "S1A2",
            "bank_id": "77",
            "auth_code": "A1B2C3",
            "comment": "безконтактно",
        },
        {"type": 0, "sum": 25, "change": 2},
    ],
}
"""Two items with discounts and excise, paid by card and in cash: 60.50 and 10.00, less 0.50, less 7.00."""


def fiscal_number(number: int) -> str:
    """The fiscal number of a training document."""
    return f"TEST_{FISID}{number:08d}"


def written(value: object) -> str:
    """``value`` as JSON text, in which 1, 1.0 and true are three things."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)


def part(told: Any, wanted: Any) -> Any:
    """As much of ``told`` as ``wanted`` names, all of it where that is nothing; answers may say more."""
    if wanted and isinstance(told, dict) and isinstance(wanted, dict):
        return {name: part(told[name], wanted[name]) if name in told else "(missing)" for name in wanted}
    if isinstance(told, list) and isinstance(wanted, list) and len(told) == len(wanted):
        return [part(*pair) for pair in zip(told, wanted, strict=True)]
    return told


def common(task: int, number: int, **members: Any) -> dict[str, Any]:
    """The members that every answer of the first shift has, after the document ``number``."""
    return {
        "task": task,
        "fisid": FISID,
        "dataid": number,
        "doccode": fiscal_number(number),
        "docno": str(number),
        "dt": "20260921090000",
        "cashier": "",
        "dtype": 0,
        "isprint": 0,
        "ispay": 0,
        "isoffline": False,
        "safe": 0.0,
        "shift_link": 1,
        "shift_prev_link": 0,
        "vacant_off_nums": 10000,
        "devinfo": f"dmtwisted {__version__}",
        "billing": {"paid_date_to": "20991231235959", "enough_to_renew_subscription": 1},
        "printheader": {
            **OUTLET,
            "fisid": FISID,
            "dt": "21-09-2026 09:00:00",
            "cashier": "",
            "isOffline": False,
        },
        **members,
    }


class _WithShop(SynchronousTestCase):
    """A shop whose register is closed in the morning."""

    def setUp(self) -> None:
        self.shop = Shop(self)

    def done(self, answer: dict[str, Any]) -> dict[str, Any]:
        """``info`` of an answer that must tell of success."""
        told = {name: answer[name] for name in ("res", "res_action", "errortxt", "aq_errortxt", "task_status")}
        self.assertEqual(
            told, {"res": 0, "res_action": 0, "errortxt": "", "aq_errortxt": "", "task_status": 1}, answer
        )
        info: dict[str, Any] = answer["info"]
        return info

    def assertTells(self, told: Any, **wanted: Any) -> None:
        """The answer has each expected member with the right value of the right type."""
        self.assertEqual(written(part(told, wanted)), written(wanted))

    def x(self) -> dict[str, Any]:
        """``info`` of an X-report."""
        return self.done(self.shop.fiscal(10))

    def cash_in(self, amount: float) -> None:
        """Put cash into the drawer."""
        self.done(self.shop.fiscal(3, cash={"type": 0, "sum": amount}))


class RootTests(_WithShop):
    """The root of an answer."""

    @promises(
        *("2.3.ver", "2.3.resp_ver.1", "2.3.source.1", "2.3.device", "2.3.tag.1", "2.3.task_status.1", "2.3.type"),
        *("2.3.task.1", "2.3.dt.1", "2.3.res.1", "2.3.errortxt.2", "2.3.aq_errortxt.2", "2.3.warnings.2"),
        *("3.2.0.1", "3.2.0.2", "1.7b.1", "1.7c.1"),
    )
    def test_success(self) -> None:
        """An answer repeats the request's source, device, tag, type and task, and reports success."""
        self.shop.clock.advance(0.25)
        answer = self.shop.ask(
            {"ver": 6, "source": "till 3", "device": "test", "tag": "t", "type": 1, "fiscal": {"task": 0}}
        )
        del answer["info"]
        self.assertEqual(
            written(answer),
            written(
                {
                    "ver": 6,
                    "resp_ver": 4,
                    "source": "till 3",
                    "device": "test",
                    "tag": "t",
                    "task_status": 1,
                    "type": 1,
                    "task": 0,
                    "dt": "20260921090000250",
                    "res": 0,
                    "res_action": 0,
                    "errortxt": "",
                    "aq_errortxt": "",
                    "warnings": [],
                }
            ),
        )

    @promises("2.3.task_status.3", "2.3.res.2", "3.2.3.4", "2.3.errortxt.1")
    def test_refusal(self) -> None:
        """A refusal has the same root, a code, a text and an empty ``info``."""
        answer = self.shop.ask(
            {"source": "till 3", "device": "test", "tag": "t", "type": "1", "fiscal": {"task": "1"}}
        )
        self.assertEqual(
            written(answer),
            written(
                {
                    "ver": 6,
                    "resp_ver": 4,
                    "source": "till 3",
                    "device": "test",
                    "tag": "t",
                    "task_status": 3,
                    "type": 1,
                    "task": 1,
                    "dt": "20260921090000000",
                    "res": 1092,
                    "res_action": 3,
                    "errortxt": "Зміну закрито, відкрийте зміну, щоб реєструвати чеки",
                    "aq_errortxt": "",
                    "warnings": [],
                    "info": {},
                }
            ),
        )

    @promises("2.3.source.2")
    def test_no_source(self) -> None:
        """Without a source the answer's one is empty."""
        self.assertEqual(self.shop.fiscal(0)["source"], "")

    @promises("2.2.type.3", "2.2.task.1", "2.2.task.2", "2.2.typing.2")
    def test_numbers_as_texts(self) -> None:
        """Type, task and amounts may be spelled as texts."""
        self.shop.ask({"device": "test", "type": "1", "fiscal": {"task": "0"}})
        answer = self.shop.ask(
            {
                "device": "test",
                "type": "1",
                "fiscal": {
                    "task": "1",
                    "receipt": {
                        "sum": "20.00",
                        "rows": [{"name": "Чай", "cnt": "2", "price": "10", "taxgrp": "2"}],
                        "pays": [{"type": "0", "sum": "20.0"}],
                    },
                },
            }
        )
        self.assertTells(self.done(answer), safe=20.0)
        self.assertTells(answer, type=1, task=1)

    def test_no_hidden_members_needed(self) -> None:
        """Members of older tills and unknown members are ignored."""
        answer = self.shop.ask(
            {
                "ver": 6,
                "token": "x",
                "dt": "20200101000000000",
                "device": "test",
                "type": 1,
                "need_pf_txt": "0",
                "fiscal": {"task": 0, "fisid": "", "n_from": 0, "n_to": 0, "cashier": None, "hat": "on"},
            }
        )
        self.assertTells(self.done(answer), cashier="", task=0)


class OpeningTests(_WithShop):
    """Task 0."""

    def test_info(self) -> None:
        """An opening returns number, shift, cash, outlet and cashier."""
        header = {**OUTLET, "fisid": FISID, "dt": "21-09-2026 09:00:00", "cashier": "Оля", "isOffline": False}
        self.assertTells(
            self.done(self.shop.fiscal(0, cashier="Оля")), **common(0, 1, cashier="Оля", printheader=header)
        )

    def test_entry(self) -> None:
        """An opening reaches the tax service once."""
        self.shop.open_shift()
        (entry,) = self.shop.ledger()
        self.assertEqual((entry.kind, entry.number, entry.ref), ("open", fiscal_number(1), "1"))

    def test_cash_of_yesterday(self) -> None:
        """What was in the drawer when the shift closed is there when the next one opens."""
        self.shop.open_shift()
        self.cash_in(80.5)
        self.done(self.shop.fiscal(11))
        self.shop.clock.advance(24 * 3600)
        self.assertTells(
            self.done(self.shop.fiscal(0)),
            safe=80.5,
            shift_link=2,
            shift_prev_link=1,
            docno="5",
            dt="20260922090000",
        )
        self.assertTells(self.x(), safe=80.5, safe_start_shift=80.5)


class SaleTests(_WithShop):
    """Task 1."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()

    def test_info(self) -> None:
        """A receipt returns its numbers, the cash afterwards and the link under its QR code."""
        qr = (
            f"https://cabinet.tax.gov.ua/cashregs/check?id={fiscal_number(2)}&date=20260921&time=090000"
            f"&fn={FISID}&sm=63.00"
        )
        self.assertTells(
            self.done(self.shop.fiscal(1, receipt=LUNCH)),
            **common(1, 2, safe=23.0),
            cancelid="",
            qr=qr,
            qr1="",
            mac="",
            edrpou="1234567890",
            userdata1="",
            userdata2="",
            userdata3="",
            printinfo={"qr": qr},
        )

    @promises(
        *("2.2.fiscal.receipt.sum", "2.2.fiscal.receipt.disc", "2.2.fiscal.receipt.rows.1"),
        *("2.2.fiscal.receipt.rows.3", "2.2.fiscal.receipt.pays.1", "2.2.fiscal.receipt.pays.2"),
    )
    def test_on_paper(self) -> None:
        """`printinfo` holds the sums, the outlet and the numbers as the paper shows them."""
        self.assertTells(
            self.done(self.shop.fiscal(1, cashier="Оля", receipt=LUNCH))["printinfo"],
            **OUTLET,
            comment_up="Вітаємо",
            comment_down="Дякуємо",
            cashier="Оля",
            task=1,
            fisdoctype=0,
            sum_0=70.5,
            sum_disc=7.5,
            sum_receipt=63.0,
            round=0.0,
            sum_topay=63.0,
            change=2.0,
            fisn=fiscal_number(2),
            fisid=FISID,
            docno="2",
            dt="21-09-2026 09:00:00",
            safe=23.0,
            isOffline=False,
            mac="",
            manuf=f"dmtwisted {__version__}",
            userdata1="",
            userdata2="",
            userdata3="",
        )

    @promises("2.3.fraction.1")
    def test_goods(self) -> None:
        """`printinfo.goods` holds each item with its codes, amounts and its part of every discount."""
        plain = {"code1": "", "code2": "", "code3": "", "code_a": "", "code_aa": [], "comment": ""}
        self.assertTells(
            self.done(self.shop.fiscal(1, receipt=LUNCH))["printinfo"],
            goods=[
                {
                    "name": "Пиріг",
                    "code": "17",
                    "code1": "4820000000017",
                    "code2": "1905",
                    "code3": "56.10",
                    "code_a": "",
                    "code_aa": [],
                    "cnt": 2.0,
                    "price": 30.25,
                    "cost": 60.5,
                    "disc": 6.5,
                    "taxgrp": 1,
                    "taxlit": "А",
                    "comment": "з вишнею",
                },
                {
                    **plain,
                    "name": "Пиво",
                    "code": "18",
                    "code_aa": ["AATE508932", "AATE508933"],
                    "cnt": 0.125,
                    "price": 80.0,
                    "cost": 10.0,
                    "disc": 1.0,
                    "taxgrp": 3,
                    "taxlit": "ГД",
                },
            ],
        )

    def test_pays(self) -> None:
        """`printinfo.pays` holds what the shop keeps of each payment, the card's data and the change."""
        nothing = {"comment": "", "comment_up": "", "comment_down": "", "currency": "ГРН", "round": 0.0}
        no_card = dict.fromkeys(("paysys", "rrn", "cardmask", "term_id", "bank_id", "auth_code"), "")
        self.assertTells(
            self.done(self.shop.fiscal(1, receipt=LUNCH))["printinfo"],
            pays=[
                {
                    **nothing,
                    "type": 2,
                    "typen": "Картка",
                    "sum": 40.0,
                    "info": "",
                    "comment": "безконтактно",
                    "paysys": "VISA",
                    "rrn": "123456789012",
                    "cardmask": "411111******1111",
                    "change": 0.0,
                    "term_id": "S1A2",
                    "bank_id": "77",
                    "auth_code": "A1B2C3",
                },
                {
                    **nothing,
                    **no_card,
                    "type": 0,
                    "typen": "Готівка",
                    "sum": 23.0,
                    "change": 2.0,
                    "info": "Отримано 25.00 Решта 2.00",
                },
            ],
        )

    def test_taxes(self) -> None:
        """`printinfo.taxes` holds the taxes of each group, after every discount."""
        self.assertTells(
            self.done(self.shop.fiscal(1, receipt=LUNCH))["printinfo"],
            taxes=[
                {
                    "gr_code": 1,
                    "base_sum": 54.0,
                    "tax_name": "ПДВ",
                    "tax_fname": "ПДВ 20%",
                    "tax_lit": "А",
                    "tax_percent": 20.0,
                    "tax_sum": 9.0,
                    "ex_name": "",
                    "ex_percent": 0.0,
                    "ex_sum": 0.0,
                },
                {
                    "gr_code": 3,
                    "base_sum": 9.0,
                    "tax_name": "ПДВ",
                    "tax_fname": "ПДВ 20% + акциз 5%",
                    "tax_lit": "ГД",
                    "tax_percent": 20.0,
                    "tax_sum": 1.43,
                    "ex_name": "Акциз",
                    "ex_percent": 5.0,
                    "ex_sum": 0.43,
                },
            ],
        )

    def test_entry(self) -> None:
        """The tax service gets the amount that the buyer pays."""
        self.done(self.shop.fiscal(1, receipt=LUNCH))
        (entry,) = self.shop.ledger(kind="sale")
        self.assertEqual((entry.sum, entry.number, entry.ref), (6300, fiscal_number(2), "2"))

    def test_rounded(self) -> None:
        """Cash is rounded when the till asks for it, and the drawer holds the rounded amount."""
        info = self.done(self.shop.sell("10.30", autoround=True))
        self.assertTells(
            info["printinfo"], sum_receipt=10.3, round=0.2, sum_topay=10.5, pays=[{"sum": 10.5, "round": 0.2}]
        )
        self.assertTells(info, safe=10.5)
        self.assertEqual(self.shop.ledger(kind="sale")[0].sum, 1050)

    @promises("2.2.typing.4")
    def test_zero_receipt(self) -> None:
        """A receipt over nothing is a receipt, with or without empty lists and payments of nothing."""
        for receipt in (NOTHING, {"sum": 0}, {"sum": "0.00", "pays": [{"type": 0, "sum": 0}]}):
            info = self.done(self.shop.fiscal(1, receipt=receipt))
            self.assertTells(info, safe=0.0)
            self.assertTells(
                info["printinfo"],
                goods=[],
                pays=[],
                taxes=[],
                sum_0=0.0,
                sum_disc=0.0,
                sum_receipt=0.0,
                round=0.0,
                sum_topay=0.0,
                change=0.0,
            )
        self.assertTells(self.x()["receipt"], count_p=3, last_docno_p=4)

    def test_later(self) -> None:
        """A receipt bears the time at which it was made."""
        self.shop.clock.advance(3723.5)
        answer = self.shop.sell()
        self.assertTells(answer, dt="20260921100203500")
        self.assertTells(answer["info"], dt="20260921100203", printinfo={"dt": "21-09-2026 10:02:03"})


class CashTests(_WithShop):
    """Tasks 3 and 4."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()

    def test_cash_in(self) -> None:
        """Cash that is put in raises the drawer and is on paper."""
        answer = self.shop.fiscal(3, cash={"type": 0, "sum": 200, "comment_up": "Розмін", "comment_down": "Ок"})
        info = self.done(answer)
        self.assertTells(info, **common(3, 2, safe=200.0))
        self.assertTells(
            info["printinfo"],
            **{**OUTLET, "goods": [], "taxes": [], "comment_up": "Розмін", "comment_down": "Ок", "safe": 200.0},
            sum_0=200.0,
            sum_disc=0.0,
            sum_receipt=200.0,
            sum_topay=200.0,
            round=0.0,
            change=0.0,
            fisn=fiscal_number(2),
            dt="21-09-2026 09:00:00",
            task=3,
            fisdoctype=1,
            pays=[{"type": 0, "typen": "Готівка", "sum": 200.0}],
        )

    def test_cash_out(self) -> None:
        """Cash that is taken out lowers the drawer and is on paper."""
        self.cash_in(200)
        info = self.done(self.shop.fiscal(4, cash={"type": "0", "sum": "50.25"}))
        self.assertTells(info, **common(4, 3, safe=149.75))
        self.assertTells(info["printinfo"], sum_topay=50.25, task=4, fisdoctype=1, pays=[{"type": 0, "sum": 50.25}])

    def test_entries(self) -> None:
        """The tax service gets both."""
        self.cash_in(200)
        self.done(self.shop.fiscal(4, cash={"type": 0, "sum": 50}))
        self.assertEqual(
            [(entry.kind, entry.sum) for entry in self.shop.ledger()],
            [("open", 0), ("cash_in", 20000), ("cash_out", 5000)],
        )

    def test_everything_out(self) -> None:
        """All that is in the drawer can be taken out."""
        self.cash_in(50)
        self.assertTells(self.done(self.shop.fiscal(4, cash={"type": 0, "sum": 50})), safe=0.0)

    def test_amount_in_receipt(self) -> None:
        """Where there is no `cash`, the amount is that of the receipt or of its payment."""
        for receipt in ({"sum": 30, "pays": [{"type": 0, "sum": 30}]}, {"sum": 30}, {"sum": 30, "pays": []}):
            self.done(self.shop.fiscal(3, receipt=receipt))
        self.assertTells(
            self.done(self.shop.fiscal(4, receipt={"sum": 20, "pays": [{"type": 0, "sum": 20}]})), safe=70.0
        )

    def test_cash_before_receipt(self) -> None:
        """Where there are both, `cash` counts."""
        self.assertTells(self.done(self.shop.fiscal(3, cash={"type": 0, "sum": 7}, receipt={"sum": 9})), safe=7.0)

    def test_unchecked(self) -> None:
        """A register that does not check its cash lets more out than there is."""
        self.shop.settings(check_cash=False)
        self.assertTells(self.done(self.shop.fiscal(4, cash={"type": 0, "sum": 10})), safe=-10.0)


class ReportTests(_WithShop):
    """Tasks 10 and 11."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()

    def trade(self) -> list[dict[str, Any]]:
        """A busy hour; `printinfo` of each receipt."""
        self.cash_in(500)
        receipts = [
            LUNCH,
            sale("99.99"),
            {**sale("10.30"), "autoround": True},
            {**sale("10.20"), "autoround": True},
            NOTHING,
            {**sale(50), "pays": [{"type": 2, "sum": 30}, {"type": 16, "sum": 20}]},
            LUNCH,
        ]
        papers = [self.done(self.shop.fiscal(1, receipt=receipt))["printinfo"] for receipt in receipts]
        self.done(self.shop.fiscal(4, cash={"type": 0, "sum": "120.5"}))
        return papers

    def test_x(self) -> None:
        """An X-report returns the totals of the shift and takes no number."""
        self.cash_in(500)
        self.done(self.shop.fiscal(1, receipt=LUNCH))
        self.done(self.shop.sell("10.30", autoround=True))
        self.done(self.shop.fiscal(4, cash={"type": 0, "sum": 120}))
        info = self.x()
        self.assertTells(
            info,
            **common(10, 0, doccode="", docno="", safe=413.5),
            docno_from=1,
            docno_to=5,
            safe_start_shift=0.0,
            cash=[],
            money_transfer=[],
            lastcheck={"packnum": 5, "docnum": 5, "fisnum": fiscal_number(5), "packtype": 4},
            receipt={
                "count_p": 2,
                "count_m": 0,
                "count_14": 0,
                "count_transfer": 0,
                "last_docno_p": 4,
                "last_docno_m": 0,
            },
            summary={
                "base_p": 73.3,
                "base_m": 0.0,
                "taxex_p": 0.43,
                "taxex_m": 0.0,
                "disc_p": 7.5,
                "disc_m": 0.0,
                "calc_p": 73.5,
                "calc_m": 0.0,
            },
            pays=[
                {
                    "type": 0,
                    "name": "Готівка",
                    "sum_p": 33.3,
                    "sum_m": 0.0,
                    "round_pu": 0.2,
                    "round_pd": 0.0,
                    "round_mu": 0.0,
                    "round_md": 0.0,
                },
                {
                    "type": 2,
                    "name": "Картка",
                    "sum_p": 40.0,
                    "sum_m": 0.0,
                    "round_pu": 0.0,
                    "round_pd": 0.0,
                    "round_mu": 0.0,
                    "round_md": 0.0,
                },
            ],
            money=[
                {
                    "type": 0,
                    "name": "Готівка",
                    "sum_p": 500.0,
                    "sum_m": 120.0,
                    "round_pu": 0.0,
                    "round_pd": 0.0,
                    "round_mu": 0.0,
                    "round_md": 0.0,
                }
            ],
            taxes=[
                {
                    "gr_code": 1,
                    "base_sum_p": 64.3,
                    "base_tax_sum_p": 64.3,
                    "base_ex_sum_p": 0.0,
                    "tax_name": "ПДВ",
                    "tax_fname": "ПДВ 20%",
                    "tax_lit": "А",
                    "tax_percent": 20.0,
                    "tax_sum_p": 10.72,
                    "ex_name": "",
                    "ex_percent": 0.0,
                    "ex_sum_p": 0.0,
                    "tax_sum_m": 0.0,
                    "base_sum_m": 0.0,
                    "base_tax_sum_m": 0.0,
                    "base_ex_sum_m": 0.0,
                    "ex_sum_m": 0.0,
                },
                {
                    "gr_code": 3,
                    "base_sum_p": 9.0,
                    "base_tax_sum_p": 8.57,
                    "base_ex_sum_p": 9.0,
                    "tax_name": "ПДВ",
                    "tax_fname": "ПДВ 20% + акциз 5%",
                    "tax_lit": "ГД",
                    "tax_percent": 20.0,
                    "tax_sum_p": 1.43,
                    "ex_name": "Акциз",
                    "ex_percent": 5.0,
                    "ex_sum_p": 0.43,
                    "tax_sum_m": 0.0,
                    "base_sum_m": 0.0,
                    "base_tax_sum_m": 0.0,
                    "base_ex_sum_m": 0.0,
                    "ex_sum_m": 0.0,
                },
            ],
        )
        self.assertEqual(len(self.shop.ledger()), 5)

    def test_x_of_an_empty_shift(self) -> None:
        """A shift without receipts has an X-report with empty lists and zeros."""
        self.assertTells(
            self.x(),
            pays=[],
            money=[],
            taxes=[],
            cash=[],
            money_transfer=[],
            safe=0.0,
            docno_from=1,
            docno_to=1,
            receipt=dict.fromkeys(("count_p", "count_m", "count_14", "last_docno_p", "last_docno_m"), 0),
            summary=dict.fromkeys(("base_p", "base_m", "disc_p", "disc_m", "calc_p", "calc_m"), 0.0),
        )

    def test_x_changes_nothing(self) -> None:
        """Any number of X-reports return the same and are not sent."""
        self.trade()
        before = len(self.shop.ledger())
        first = self.x()
        self.assertEqual([self.x(), self.x()], [first, first])
        self.assertEqual(len(self.shop.ledger()), before)

    def test_sum_of_receipts(self) -> None:
        """An X-report is the sum of the receipts: payments, roundings, discounts and each tax."""
        papers = self.trade()
        info = self.x()
        for name, of_receipt in (("base_p", "sum_receipt"), ("disc_p", "sum_disc"), ("calc_p", "sum_topay")):
            self.assertEqual(info["summary"][name], round(sum(paper[of_receipt] for paper in papers), 2), name)
        self.assertEqual(info["receipt"]["count_p"], len(papers))
        pays = [pay for paper in papers for pay in paper["pays"]]
        for line in info["pays"]:
            of_type = [pay for pay in pays if pay["type"] == line["type"]]
            self.assertEqual(line["sum_p"], round(sum(pay["sum"] - pay["round"] for pay in of_type), 2))
            self.assertEqual(line["round_pu"], round(sum(max(pay["round"], 0) for pay in of_type), 2))
            self.assertEqual(line["round_pd"], round(sum(max(-pay["round"], 0) for pay in of_type), 2))
        self.assertEqual([line["type"] for line in info["pays"]], [0, 2, 16])
        self.assertTells(info["pays"][0], round_pu=0.2, round_pd=0.2)
        taxes = [tax for paper in papers for tax in paper["taxes"]]
        for line in info["taxes"]:
            of_group = [tax for tax in taxes if tax["gr_code"] == line["gr_code"]]
            for name in ("base_sum", "tax_sum", "ex_sum"):
                self.assertEqual(line[f"{name}_p"], round(sum(tax[name] for tax in of_group), 2), name)
        self.assertEqual([line["gr_code"] for line in info["taxes"]], [1, 3])

    def test_drawer(self) -> None:
        """The drawer holds what was put in and sold for cash, less what was taken out."""
        papers = self.trade()
        cash = sum(pay["sum"] for paper in papers for pay in paper["pays"] if pay["type"] == 0)
        self.assertTells(self.x(), safe=round(500 + cash - 120.5, 2))

    def test_z(self) -> None:
        """A Z-report returns the same as the X-report, with a number and a fiscal number of its own."""
        self.trade()
        x = self.x()
        answer = self.shop.fiscal(11, cashier="Оля")
        z = self.done(answer)
        self.assertTells(answer, task=11, type=1)
        self.assertTells(
            z,
            task=11,
            docno="11",
            dataid=11,
            doccode=fiscal_number(11),
            fisid=FISID,
            dtype=0,
            shift_link=1,
            shift_prev_link=0,
            cashier="Оля",
            dt="20260921090000",
            isprint=0,
            docno_from=1,
            docno_to=11,
            isoffline=False,
            vacant_off_nums=10_000,
        )
        same = ("receipt", "summary", "taxes", "pays", "money", "cash", "money_transfer", "safe", "safe_start_shift")
        self.assertEqual([z[name] for name in same], [x[name] for name in same])

    def test_z_closes(self) -> None:
        """After a Z-report the shift is closed, and the next one begins at zero with the cash of before."""
        self.cash_in(40)
        self.shop.sell(10)
        self.done(self.shop.fiscal(11))
        self.assertTells(self.done(self.shop.fiscal(18)), shift_status=0, shift_dt="", safe=50.0)
        self.assertEqual(self.shop.sell()["res"], 1092)
        self.shop.open_shift()
        self.assertTells(
            self.x(),
            pays=[],
            money=[],
            taxes=[],
            safe=50.0,
            safe_start_shift=50.0,
            shift_link=2,
            shift_prev_link=1,
            docno_from=6,
            docno_to=6,
            receipt={"count_p": 0, "last_docno_p": 0},
            summary={"base_p": 0.0, "disc_p": 0.0, "calc_p": 0.0},
        )

    def test_empty_shift_closes(self) -> None:
        """A shift without receipts is closed like any other."""
        self.assertTells(self.done(self.shop.fiscal(11)), pays=[], docno="2", shift_link=1)
        self.shop.open_shift()

    @promises("3.3.tag-tasks.3")
    def test_x_is_fresh(self) -> None:
        """An X-report is made again each time, whatever tag comes with it."""
        self.shop.sell(10)
        first = self.done(self.shop.fiscal(10, "report"))
        self.shop.sell(15)
        self.assertEqual(
            [first["summary"]["base_p"], self.done(self.shop.fiscal(10, "report"))["summary"]["base_p"]], [10.0, 25.0]
        )


class StatusTests(_WithShop):
    """Tasks 18 and 20."""

    def test_new_register(self) -> None:
        """A register that has done nothing is closed and empty, and has its fiscal number."""
        self.assertTells(
            self.done(self.shop.fiscal(18)),
            **{**common(18, 0, doccode="", docno=""), "vacant_off_nums": 0},
            edrpou="1234567890",
            isFis=0,
            shift_status=0,
            shift_dt="",
            online_status=0,
            sign_status=0,
            lastcheck={"packnum": 0, "docnum": 0, "fisnum": "", "packtype": 0},
        )

    @promises("3.1a.1", "3.1b.1")
    def test_open(self) -> None:
        """An open register returns its opening time, its cash and its last document."""
        self.shop.open_shift()
        self.shop.sell("12.50")
        self.shop.clock.advance(60)
        header = {**OUTLET, "fisid": FISID, "dt": "21-09-2026 09:01:00", "cashier": "Оля", "isOffline": False}
        self.assertTells(
            self.done(self.shop.fiscal(18, cashier="Оля")),
            **common(18, 2, safe=12.5, dt="20260921090100", cashier="Оля", printheader=header),
            edrpou="1234567890",
            isFis=0,
            shift_status=1,
            shift_dt="20260921090000",
            online_status=0,
            sign_status=0,
            lastcheck={"packnum": 2, "docnum": 2, "fisnum": fiscal_number(2), "packtype": 1},
        )

    def test_number(self) -> None:
        """Open and closed registers return their fiscal number."""
        self.assertTells(self.done(self.shop.fiscal(20)), fisid=FISID, task=20, safe=0.0, dtype=0)
        self.shop.open_shift()
        self.assertTells(self.done(self.shop.fiscal(20)), fisid=FISID, task=20, docno="1")

    def test_leave_no_trace(self) -> None:
        """Status and number are not sent and take no number."""
        self.shop.open_shift()
        self.shop.fiscal(18)
        self.shop.fiscal(20)
        self.assertEqual(len(self.shop.ledger()), 1)
        self.assertTells(self.done(self.shop.sell()), docno="2")


class NumbersTests(_WithShop):
    """The local numbers of documents, over the register's life."""

    def test_continuous(self) -> None:
        """Opening, receipts, cash, Z and closing take the next number each; X, status and refusals none."""
        numbers = []
        for _ in range(2):
            numbers.append(self.shop.fiscal(0)["info"]["docno"])
            numbers.append(self.shop.fiscal(3, cash={"sum": 10})["info"]["docno"])
            for task in (10, 18, 20):
                self.done(self.shop.fiscal(task))
            self.assertEqual(self.shop.sell(sum=1)["res"], 1101)
            numbers.append(self.shop.sell()["info"]["docno"])
            self.done(self.shop.fiscal(10))
            numbers.append(self.shop.fiscal(4, cash={"sum": 5})["info"]["docno"])
            numbers.append(self.shop.fiscal(11)["info"]["docno"])
        self.assertEqual(numbers, ["1", "2", "3", "4", "5", "7", "8", "9", "10", "11"])
        self.assertEqual([entry.ref for entry in self.shop.ledger()], numbers)

    def test_shift_numbers(self) -> None:
        """`shift_link` is the number of the shift's Z, from its opening to its Z."""
        links = []
        for _ in range(3):
            answers = [self.shop.fiscal(0), self.shop.sell(), self.shop.fiscal(10), self.shop.fiscal(11)]
            links.append([(answer["info"]["shift_link"], answer["info"]["shift_prev_link"]) for answer in answers])
        self.assertEqual(links, [[(1, 0)] * 4, [(2, 1)] * 4, [(3, 2)] * 4])

    def test_after_restart(self) -> None:
        """Numbers, totals and cash go on where they were when the service was started again."""
        self.shop.open_shift()
        self.shop.sell(10)
        before = self.x()
        self.shop.crash()
        self.assertEqual(self.x(), before)
        self.assertTells(self.done(self.shop.sell(5)), docno="3", safe=15.0)

    def test_registers_apart(self) -> None:
        """Each register has numbers, shift and cash of its own."""
        self.shop.add("bar")
        self.shop.open_shift()
        self.shop.sell()
        self.assertEqual(self.shop.fiscal(1, device="bar", receipt=sale())["res"], 1092)
        info = self.done(self.shop.fiscal(0, device="bar"))
        self.assertTells(info, docno="1", safe=0.0, shift_link=1, fisid="4000000002")


class OldShiftTests(_WithShop):
    """A shift that has been open for more than a day."""

    @promises("2.3.warnings.1")
    def test_warning(self) -> None:
        """After 24 hours every answer of the open register warns of it, until the Z."""
        self.shop.open_shift()
        self.shop.clock.advance(24 * 3600)
        self.assertEqual(self.shop.sell()["warnings"], [])
        self.shop.clock.advance(0.125)
        warning = {"code": 3003, "wtxt": "Касу відкрито понад 24 години, зробіть Z-звіт"}
        for answer in (self.shop.sell(), self.shop.fiscal(10), self.shop.fiscal(18)):
            self.assertEqual(answer["warnings"], [warning])
        english = self.shop.ask({"device": "test", "type": 1, "fiscal": {"task": 18}}, "en")
        self.assertEqual(
            english["warnings"],
            [{"code": 3003, "wtxt": "The register has been open for more than 24 hours, make a Z-report"}],
        )
        self.shop.fiscal(11)
        self.assertEqual(self.shop.fiscal(18)["warnings"], [])


class TagTests(_WithShop):
    """A tag is done once."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()

    def assertRepeats(self, answer: dict[str, Any], first: dict[str, Any], *codes: int) -> None:
        """An answer is the first one again, with ``task_status`` 2 and warnings of these codes."""
        self.assertEqual([warning["code"] for warning in answer["warnings"]], list(codes))
        self.assertEqual(written({**answer, "warnings": []}), written({**first, "task_status": 2}))

    @promises(
        *("1.10.1.1", "2.2.tag.1", "2.3.task_status.2", "3.3.1.1", "3.3.1.3", "3.3.1.4", "3.3.2.1", "3.3.2.2"),
        *("3.3.4", "3.3.tag-tasks.1"),
    )
    def test_repeated(self) -> None:
        """A request that is sent again gets the same answer with ``task_status`` 2, and nothing happens twice."""
        first = self.shop.sell(10, "till-7")
        self.done(first)
        self.shop.clock.advance(3600)
        for _ in range(3):
            self.assertRepeats(self.shop.sell(10, "till-7"), first)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)
        self.assertTells(self.x(), safe=10.0)

    def test_byte_for_byte(self) -> None:
        """The bytes of a repeat differ from the first ones in ``task_status`` alone, whatever texts are in them."""
        receipt = sale(10)
        receipt["rows"][0]["name"] = '"task_status":1,"warnings":[]'
        body = {
            "device": "test",
            "source": '"task_status":1',
            "tag": '{"task_status":1,"warnings":[',
            "type": 1,
            "fiscal": {"task": 1, "receipt": receipt},
        }
        first, again = (self.successResultOf(self.shop.asked(body)) for _ in range(2))
        self.assertEqual(json.loads(first)["tag"], body["tag"])
        self.assertEqual(again, b'"task_status":2'.join(first.split(b'"task_status":1', 1)))

    @promises("3.3.1.2", "3.3.tag-tasks.1")
    def test_every_task(self) -> None:
        """Opening, cash in, cash out and Z are done once for a tag too."""
        self.done(self.shop.fiscal(11))
        tasks: list[tuple[int, dict[str, Any]]] = [
            (0, {}),
            (3, {"cash": {"type": 0, "sum": 20}}),
            (4, {"cash": {"type": 0, "sum": 20}}),
            (11, {}),
        ]
        for task, members in tasks:
            first = self.shop.fiscal(task, f"tag of {task}", **members)
            self.done(first)
            self.assertRepeats(self.shop.fiscal(task, f"tag of {task}", **members), first)
        for kind, count in (("open", 2), ("cash_in", 1), ("cash_out", 1), ("z", 2)):
            self.assertEqual(len(self.shop.ledger(kind=kind)), count, kind)

    def test_before_validation(self) -> None:
        """A known tag is answered before the receipt is looked at."""
        first = self.shop.sell(10, "t")
        self.assertRepeats(self.shop.fiscal(1, "t"), first)
        self.assertRepeats(self.shop.fiscal(1, "t", receipt={"sum": 5}), first, 1051)
        self.assertRepeats(self.shop.fiscal(1, "t", receipt=sale(0.001)), first, 1051)

    def test_before_the_state(self) -> None:
        """A known tag is answered whether the shift is open or closed."""
        sold = self.shop.sell(10, "t")
        closed = self.shop.fiscal(11, "z")
        self.assertRepeats(self.shop.sell(10, "t"), sold)
        self.assertRepeats(self.shop.fiscal(11, "z"), closed)
        opened = self.shop.fiscal(0, "o")
        self.assertRepeats(self.shop.fiscal(0, "o"), opened)

    def test_after_restart(self) -> None:
        """A tag is known after a restart."""
        first = self.shop.sell(10, "t")
        self.shop.crash()
        self.assertRepeats(self.shop.sell(10, "t"), first)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    @promises("2.2.tag.5", "2.3.tag.2")
    def test_generated(self) -> None:
        """A task without a tag gets a UUID, which the answer contains and which can be looked up."""
        answers = [self.shop.sell(10), self.shop.sell(10), self.shop.fiscal(3, cash={"sum": 1}), self.shop.fiscal(11)]
        tags = [answer["tag"] for answer in answers]
        self.assertEqual([str(UUID(tag)) for tag in tags], tags)
        self.assertEqual(len(set(tags)), 4)
        for tag, answer in zip(tags, answers, strict=True):
            self.assertRepeats(self.shop.look_up(tag), answer)

    def test_null(self) -> None:
        """A tag that is ``null`` is none."""
        answer = self.shop.ask({"device": "test", "tag": None, "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        self.assertEqual(str(UUID(answer["tag"])), answer["tag"])

    def test_number_as_tag(self) -> None:
        """A tag may be a number; it is the text of its digits."""
        first = self.shop.ask({"device": "test", "tag": 1007, "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        self.assertEqual(first["tag"], "1007")
        self.assertRepeats(self.shop.look_up("1007"), first)

    def test_tag_is_exact(self) -> None:
        """Tags that differ in a blank or in the case of a letter are different tags."""
        for tag in ("a", "A", " a", "a ", "а"):
            self.assertEqual(self.shop.sell(10, tag)["task_status"], 1, tag)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 5)

    def test_generated_on_refusal(self) -> None:
        """A refused task returns the tag that it was given, too."""
        tag = self.shop.sell(sum=1)["tag"]
        self.assertEqual(str(UUID(tag)), tag)

    @promises("3.3.other-task.1", "3.3.other-task.2", "3.3.2.3")
    def test_other_task(self) -> None:
        """A known tag on another task returns the earlier receipt, with a warning, and does nothing."""
        first = self.shop.sell(10, "t")
        for task in (0, 3, 4, 11):
            self.assertRepeats(self.shop.fiscal(task, "t", cash={"type": 0, "sum": 1}), first, 1051)
        self.assertEqual(len(self.shop.ledger()), 2)
        self.assertTells(self.done(self.shop.fiscal(18)), shift_status=1)

    @promises("3.3.2.3")
    def test_other_content(self) -> None:
        """A known tag with other content returns the earlier receipt, with a warning in the caller's language."""
        first = self.shop.sell(10, "t")
        again = self.shop.sell(11, "t")
        self.assertRepeats(again, first, 1051)
        self.assertEqual(
            again["warnings"],
            [{"code": 1051, "wtxt": "Чек із таким tag уже є в базі, повернуто попередню відповідь"}],
        )
        other = {"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": sale(12)}}
        self.assertEqual(
            self.shop.ask(other, "en")["warnings"][0]["wtxt"],
            "A receipt with this tag is stored already, its earlier answer is returned",
        )
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_same_content_in_other_words(self) -> None:
        """Amounts that are spelled another way, and members that are no part of the receipt, are no other content."""
        first = self.shop.sell(10, "t")
        again = self.shop.ask(
            {
                "ver": "6",
                "source": "other till",
                "device": "test",
                "tag": "t",
                "type": "1",
                "need_pf_txt": 1,
                "fiscal": {
                    "task": "1",
                    "cashier": "",
                    "receipt": {
                        "sum": "10.00",
                        "rows": [{"code": 1, "name": "Кава", "cnt": "1.000", "price": 10.0, "taxgrp": "1"}],
                        "pays": [{"type": "0", "sum": 10.0, "change": 0}],
                    },
                },
            }
        )
        self.assertRepeats(again, {**first, "source": "other till"})

    def test_warning_beside_warning(self) -> None:
        """The warning of a repeat is added to the warnings of the first answer."""
        self.shop.clock.advance(25 * 3600)
        first = self.shop.sell(10, "t")
        self.assertEqual([warning["code"] for warning in first["warnings"]], [3003])
        again = self.shop.sell(11, "t")
        self.assertEqual([warning["code"] for warning in again["warnings"]], [1051, 3003])
        self.assertEqual(self.shop.sell(10, "t")["warnings"], first["warnings"])

    def test_strict(self) -> None:
        """A strict register refuses a known tag with other content or another task, and repeats what is the same."""
        self.shop.settings(strict_tags=True)
        first = self.shop.sell(10, "t")
        for answer in (
            self.shop.sell(11, "t"),
            self.shop.fiscal(11, "t"),
            self.shop.fiscal(1, "t", receipt={"sum": 5}),
        ):
            self.assertTells(answer, res=1051, res_action=3, task_status=3, info={})
        self.assertRepeats(self.shop.sell(10, "t"), first)
        self.assertRepeats(self.shop.fiscal(1, "t"), first)
        self.assertRepeats(self.shop.look_up("t"), first)
        self.assertEqual(len(self.shop.ledger()), 2)

    @promises("2.2.tag.2", "8.tag-length")
    def test_length(self) -> None:
        """A tag of 200 characters of any script is taken, one of 201 is refused with its name."""
        for tag in ("x" * 200, "Ї" * 200, "😀" * 200):
            first = self.shop.sell(10, tag)
            self.assertEqual((first["res"], first["tag"]), (0, tag))
            self.assertRepeats(self.shop.look_up(tag), first)
        answer = self.shop.sell(10, "x" * 201)
        self.assertTells(answer, res=2000, res_action=3, task_status=3)
        self.assertIn("tag", answer["errortxt"])
        self.assertEqual(len(self.shop.ledger(kind="sale")), 3)

    @promises("3.3.tag-tasks.2")
    def test_untagged_tasks(self) -> None:
        """X, status and number pay no heed to a tag, and nothing is found under theirs."""
        self.shop.sell(10, "t")
        for task in (10, 18, 20):
            self.assertTells(self.shop.fiscal(task, "t"), task=task, task_status=1, res=0)
            self.shop.fiscal(task, "of a report")
            self.assertTells(self.shop.look_up("of a report"), res=1058)
            self.assertEqual(self.shop.fiscal(task)["tag"], "")
        self.assertTells(self.shop.look_up("t"), task=1, task_status=2)

    @promises("2.2.tag.4", "3.3.1.5", "2.2.tag.3")
    def test_two_registers(self) -> None:
        """The same tag on two registers is two receipts, and neither finds the other's."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.done(self.shop.sell(10, "t"))
        self.assertTells(self.shop.look_up("t", "bar"), res=1058)
        second = self.shop.fiscal(1, "t", "bar", receipt=sale(20))
        self.assertTells(self.done(second), fisid="4000000002", safe=20.0)
        self.assertRepeats(self.shop.look_up("t", "bar"), second)
        self.assertEqual([len(self.shop.ledger(name, "sale")) for name in ("test", "bar")], [1, 1])

    @promises("3.3.only-success")
    def test_refused_tag_is_free(self) -> None:
        """A tag whose task was refused can be used for what is right."""
        self.assertEqual(self.shop.sell(10, "t", sum=11)["res"], 1101)
        self.assertTells(self.shop.look_up("t"), res=1058)
        self.assertEqual(self.shop.sell(10, "t")["task_status"], 1)


class LookUpTests(_WithShop):
    """A look-up by tag alone."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()

    @promises("2.2.type.1", "2.2.type.2", "2.3.source.1", "3.3.1.1", "3.3.1.3", "4.3.1.1", "4.3.1.2", "4.3.1.3")
    def test_found(self) -> None:
        """A receipt is found by type 0 and without a type, as it was answered, for another ``source`` too."""
        first = self.shop.sell(10, "t")
        for shape in (
            {"type": 0},
            {"type": "0"},
            {"type": ""},
            {"type": None},
            {},
            {"type": 0, "fiscal": {"task": 4}},
        ):
            answer = self.shop.ask({"ver": 6, "source": "other", "device": "test", "tag": "t", **shape})
            self.assertEqual(written(answer), written({**first, "source": "other", "task_status": 2}), shape)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    @promises("3.3.1.2")
    def test_every_document(self) -> None:
        """Openings, cash in, cash out and Z are found too, in an open and in a closed shift."""
        answers = [
            self.shop.fiscal(3, "in", cash={"sum": 10}),
            self.shop.fiscal(4, "out", cash={"sum": 10}),
            self.shop.fiscal(11, "z"),
        ]
        for answer in answers:
            self.assertEqual(self.shop.look_up(answer["tag"]), {**answer, "task_status": 2})
        opened = self.shop.fiscal(0, "open")
        self.assertEqual(self.shop.look_up("open"), {**opened, "task_status": 2})

    def test_type_1_without_task(self) -> None:
        """A request of type 1 that names nothing but a known tag is a look-up."""
        first = self.shop.sell(10, "t")
        shapes: tuple[dict[str, Any], ...] = ({}, {"fiscal": {}}, {"fiscal": None})
        for shape in shapes:
            answer = self.shop.ask({"device": "test", "tag": "t", "type": 1, **shape})
            self.assertEqual(answer, {**first, "task_status": 2}, shape)

    @promises(
        *("2.3.task.2", "2.3.dt.2", "2.3.task_status.3", "3.3.3.1", "3.3.3.2", "3.3.3.3", "3.3.3.4", "3.3.3.5"),
        *("3.2.1.2",),
    )
    def test_not_found(self) -> None:
        """A tag that nothing is stored under is answered 1058 in one exact shape."""
        for shape in ({"type": 0}, {}, {"type": 0, "fiscal": {"task": 1, "receipt": sale()}}):
            answer = self.shop.ask({"source": "till", "device": "test", "tag": "nowhere", **shape})
            self.assertEqual(
                written(answer),
                written(
                    {
                        "ver": 6,
                        "resp_ver": 4,
                        "source": "till",
                        "device": "test",
                        "tag": "nowhere",
                        "task_status": 3,
                        "type": 0,
                        "task": -1,
                        "dt": "",
                        "res": 1058,
                        "res_action": 1,
                        "errortxt": "Чека з таким tag або номером не знайдено",
                        "aq_errortxt": "",
                        "warnings": [],
                        "info": {},
                    }
                ),
                shape,
            )
        self.assertEqual(self.shop.ledger(kind="sale"), [])

    def test_no_tag(self) -> None:
        """A look-up without a tag finds nothing, though receipts without one were made."""
        self.shop.sell()
        for tag in ({}, {"tag": ""}, {"tag": None}):
            self.assertTells(self.shop.ask({"device": "test", **tag}), res=1058, tag="")

    def test_closed_register(self) -> None:
        """A look-up needs no open shift."""
        self.shop.fiscal(11)
        self.assertTells(self.shop.look_up("nowhere"), res=1058)


class RefusalTests(_WithShop):
    """What is refused, with which code, and that it leaves no trace."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()
        self.cash_in(100)
        self._before = self._trace()

    def _trace(self) -> object:
        return self.shop.ledger(), self.shop.ledger(status="refused"), self.shop.fiscal(18)

    def assertRefused(self, answer: dict[str, Any], code: int, *words: str) -> None:
        """A task is refused for good with ``code``, the text holds ``words``, and nothing has changed."""
        self.assertTells(answer, res=code, res_action=3, task_status=3, info={}, warnings=[])
        self.assertTrue(answer["errortxt"])
        for word in words:
            self.assertIn(word, answer["errortxt"])
        self.assertEqual(self._trace(), self._before)

    def asked(self, **members: Any) -> dict[str, Any]:
        """The answer of the register to a root with these members."""
        return self.shop.ask({"device": "test", **members})

    def closed(self) -> None:
        """Close the shift."""
        self.done(self.shop.fiscal(11))
        self._before = self._trace()

    @promises("2.2.device.2", "2.2.device.1", "2.1.device.4")
    def test_unknown_device(self) -> None:
        """1091: a name that no device has, blanks and case included."""
        for name in (" test", "test ", "Test", "nobody", ""):
            answer = self.shop.fiscal(0, device=name)
            self.assertRefused(answer, 1091)
            self.assertEqual(answer["device"], name)
        self.assertRefused(self.shop.ask({"type": 1, "fiscal": {"task": 18}}), 1091)
        self.assertRefused(self.shop.look_up("t", " test"), 1091)

    @promises("4.2.numbers.2")
    def test_unknown_task(self) -> None:
        """307: a task number that no register has; the answer contains it."""
        for task in (6, 7, 8, 9, 19, 24, 99, -5):
            self.assertRefused(self.shop.fiscal(task, receipt=sale(), cash={"sum": 1}), 307, str(task))

    @promises("3.2.3.2")
    def test_open(self) -> None:
        """1096: an opening while the shift is open."""
        self.assertRefused(self.shop.fiscal(0), 1096)

    @promises("3.2.3.2", "3.2.3.5")
    def test_closed(self) -> None:
        """1092: receipts and cash while the shift is closed, in words by which tills know it."""
        self.closed()
        for _ in range(2):
            for task in (1, 2, 3, 4, 14, 15, 16, 17):
                answer = self.shop.fiscal(task, receipt=sale(), cash={"type": 0, "sum": 1})
                self.assertRefused(answer, 1092, "закрит")

    @promises("3.2.3.2", "7.codes.1")
    def test_report_without_data(self) -> None:
        """1081: an X-report while the shift is closed has no data; nothing is to be opened for it."""
        self.shop.add("bar")
        self.closed()
        for device in ("bar", "test"):
            self.assertRefused(self.shop.fiscal(10, device=device), 1081)

    @promises("7.codes.1")
    def test_report_fails(self) -> None:
        """1081: so is an X-report that cannot be made for any other reason; the shift goes on."""
        self.patch(local, "report_form", lambda *_, **__: 1 // 0)
        self.assertRefused(self.shop.fiscal(10), 1081, "ZeroDivisionError")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_closed_before_content(self) -> None:
        """1092: a closed shift is reported before mistakes in the receipt."""
        self.closed()
        self.assertRefused(self.shop.fiscal(1), 1092)
        self.assertRefused(self.shop.sell(sum=5), 1092)
        self.assertRefused(self.shop.fiscal(4, cash={"type": 0, "sum": 10**6}), 1092)

    def test_closed_twice(self) -> None:
        """1006: a Z while the shift is closed."""
        self.closed()
        self.assertRefused(self.shop.fiscal(11), 1006)

    def test_new_register(self) -> None:
        """A register that was never opened refuses all but an opening."""
        self.shop.add("bar")
        codes = [
            self.shop.fiscal(task, "", "bar", receipt=sale(), cash={"sum": 1})["res"] for task in (1, 3, 4, 10, 11)
        ]
        self.assertEqual(codes, [1092, 1092, 1092, 1081, 1006])
        self.shop.open_shift("bar")

    def test_negative_cash(self) -> None:
        """1063: a negative amount of cash in or out, in whichever member."""
        for task in (3, 4):
            self.assertRefused(self.shop.fiscal(task, cash={"type": 0, "sum": -0.01}), 1063)
            self.assertRefused(self.shop.fiscal(task, receipt={"sum": -5}), 1063)

    @promises("4.2.cash.2")
    def test_not_enough_cash(self) -> None:
        """1077: more cash out than there is, be it by one kopeck."""
        self.assertRefused(self.shop.fiscal(4, cash={"type": 0, "sum": 100.01}), 1077)
        self.assertRefused(self.shop.fiscal(4, receipt={"sum": 1000}), 1077)
        self.assertEqual(self.shop.fiscal(4, cash={"type": 0, "sum": 100})["res"], 0)

    def test_no_rows(self) -> None:
        """1097: a sum to pay without items."""
        empty: tuple[dict[str, Any], ...] = ({"rows": []}, {"rows": None})
        for rows in empty:
            self.assertRefused(self.shop.sell(10, **rows), 1097)
        self.assertRefused(self.shop.fiscal(1, receipt={"sum": 1, "pays": [{"type": 0, "sum": 1}]}), 1097)

    def test_missing_object(self) -> None:
        """1098: an object that the task needs is missing, and is named."""
        self.assertRefused(self.shop.fiscal(1), 1098, "fiscal.receipt")
        self.assertRefused(self.shop.fiscal(1, cash={"type": 0, "sum": 1}), 1098, "fiscal.receipt")
        for task in (3, 4):
            self.assertRefused(self.shop.fiscal(task), 1098, "fiscal.cash")
        self.assertRefused(self.asked(type=1), 1098, "fiscal")
        self.assertRefused(self.asked(type=1, fiscal=None), 1098, "fiscal")

    def test_empty_object(self) -> None:
        """1098: an object that the task needs is empty, and is named."""
        self.assertRefused(self.shop.fiscal(1, receipt={}), 1098, "fiscal.receipt")
        for task in (3, 4):
            self.assertRefused(self.shop.fiscal(task, cash={}), 1098, "fiscal.cash")

    def test_sum_of_rows(self) -> None:
        """1101: the receipt's sum is not that of its rows after their discounts."""
        self.assertRefused(self.shop.sell(10, sum="10.01"), 1101)
        row = {"name": "Чай", "cnt": 1, "price": 10, "disc": 1, "taxgrp": 1}
        self.assertRefused(self.shop.sell(10, rows=[row]), 1101)

    def test_sum_of_payments(self) -> None:
        """1102: the receipt's sum after its discount is not that of the payments."""
        self.assertRefused(self.shop.sell(10, pays=[{"type": 2, "sum": 10.01}]), 1102)
        self.assertRefused(self.shop.sell(10, pays=[{"type": 0, "sum": 9.99}]), 1102)
        self.assertRefused(self.shop.sell(10, disc=1, pays=[{"type": 2, "sum": 10}]), 1102)
        empty: tuple[dict[str, Any], ...] = ({"pays": []}, {"pays": None})
        for pays in empty:
            self.assertRefused(self.shop.sell(10, **pays), 1102)

    def test_no_name(self) -> None:
        """1103: an item without a name."""
        for name in ({}, {"name": ""}, {"name": "  "}, {"name": None}):
            row = {"cnt": 1, "price": 10, "taxgrp": 1, **name}
            self.assertRefused(self.shop.sell(10, rows=[row]), 1103)

    def test_payment_of_nothing(self) -> None:
        """1109: a payment of zero, whose type is named."""
        for pays in (
            [{"type": 2, "sum": 0}, {"type": 0, "sum": 10}],
            [{"type": 0, "sum": 10}, {"type": 2, "sum": ""}],
        ):
            self.assertRefused(self.shop.sell(10, pays=pays), 1109, "Картка")

    @promises("2.2.type.4", "2.2.type.5")
    def test_task_for_another_kind(self) -> None:
        """2000: a task for a printer or a terminal at a register."""
        for kind in (2, 3):
            self.assertRefused(self.asked(type=kind, fiscal={"task": 18}), 2000, "type")

    def test_unknown_type(self) -> None:
        """2000: a kind of task that there is not."""
        for kind in (4, -1, 10**9):
            self.assertRefused(self.asked(type=kind, fiscal={"task": 18}), 2000, "type")
        self.assertRefused(self.asked(type="sale", fiscal={"task": 18}), 2000, "type")

    def test_no_task(self) -> None:
        """2000: type 1 without the number of a task."""
        for fiscal in ({"receipt": sale()}, {"task": None}):
            self.assertRefused(self.asked(type=1, tag="t", fiscal=fiscal), 2000, "fiscal.task")

    @promises("2.2.typing.5")
    def test_wrong_types(self) -> None:
        """2000: a value of a wrong type, whose place is named."""
        receipt = sale(10)
        places: list[tuple[dict[str, Any], str]] = [
            ({"fiscal": 5}, "fiscal"),
            ({"fiscal": {"task": "one"}}, "fiscal.task"),
            ({"fiscal": {"task": 1, "receipt": []}}, "fiscal.receipt"),
            ({"fiscal": {"task": 1, "receipt": {**receipt, "rows": ""}}}, "fiscal.receipt.rows"),
            ({"fiscal": {"task": 1, "receipt": {**receipt, "rows": [5]}}}, "fiscal.receipt.rows[0]"),
            ({"fiscal": {"task": 1, "receipt": {**receipt, "sum": "ten"}}}, "fiscal.receipt.sum"),
            ({"fiscal": {"task": 3, "cash": {"sum": True}}}, "fiscal.cash.sum"),
        ]
        for members, place in places:
            self.assertRefused(self.asked(type=1, **members), 2000, place)

    @promises("2.2.typing.6")
    def test_no_json(self) -> None:
        """2000: a body that is no JSON object, answered with type 0 and task -1."""
        for body in (b"", b"{", b"[]", b"5", b"null", b'{"device": "test",}', b"\xff\xfe"):
            answer = self.shop.ask(body)
            self.assertRefused(answer, 2000)
            self.assertTells(answer, type=0, task=-1, device="", tag="", source="", dt="20260921090000000")

    def test_refusals_leave_the_totals(self) -> None:
        """Whatever was refused, the X-report is that of what was done."""
        before = self.x()
        for receipt in (sale(10) | {"sum": 9}, sale(10) | {"pays": []}, {}):
            self.shop.fiscal(1, receipt=receipt | {"sum": 9})
        self.assertEqual(self.x(), before)


class BusyTests(_WithShop):
    """A register has one task at a time."""

    def setUp(self) -> None:
        super().setUp()
        self.shop.open_shift()
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 5000})

    def body(self, tag: str = "", task: int = 1, **members: Any) -> dict[str, Any]:
        """A request."""
        return {"device": "test", "tag": tag, "type": 1, "fiscal": {"task": task, **members}}

    def held(self) -> Deferred[bytes]:
        """A sale that takes five seconds."""
        due = self.shop.asked(self.body("slow", receipt=sale(10)))
        self.assertNoResult(due)
        return due

    @promises("1.9d.1.1", "1.9d.2", "1.9d.3", "8.one-task.1")
    def test_refused_at_once(self) -> None:
        """While a register works, every other task is refused at once: 1105, which may be repeated."""
        due = self.held()
        bodies = [
            self.body("other", receipt=sale(20)),
            self.body("slow", receipt=sale(10)),
            self.body(task=10),
            self.body(task=18),
            self.body(task=99),
            {"device": "test", "tag": "slow"},
            {"device": "test", "tag": "slow", "type": 0},
            {"device": "test", "tag": "nowhere", "type": 0},
        ]
        for body in bodies:
            self.assertTells(self.shop.ask(body), res=1105, res_action=1, task_status=3, info={})
        self.assertNoResult(due)
        self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [1000])

    def test_to_the_last_moment(self) -> None:
        """A register is busy until its task is answered, and not a moment longer."""
        due = self.held()
        self.shop.clock.advance(4.875)
        self.assertEqual(self.shop.fiscal(18)["res"], 1105)
        self.assertNoResult(due)
        self.shop.clock.advance(0.125)
        answer = json.loads(self.successResultOf(due))
        self.assertTells(self.done(answer), docno="2", safe=10.0)
        self.assertEqual(self.shop.look_up("slow"), {**answer, "task_status": 2})

    def test_afterwards(self) -> None:
        """Afterwards the register works, and what was refused while it was busy can be sent again."""
        due = self.held()
        self.assertEqual(self.shop.sell(20, "other")["res"], 1105)
        self.shop.clock.advance(5)
        self.successResultOf(due)
        self.assertTells(self.done(self.shop.sell(20, "other")), docno="3", safe=30.0)

    def test_after_a_refusal(self) -> None:
        """A task that ended in a refusal leaves the register free."""
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9", "delay_ms": 1000})
        due = self.held()
        self.assertEqual(self.shop.fiscal(18)["res"], 1105)
        self.shop.clock.advance(1)
        self.assertEqual(json.loads(self.successResultOf(due))["res"], 1040)
        self.assertEqual(self.shop.fiscal(18)["res"], 0)

    @promises("1.9d.2", "1.9a.1")
    def test_other_register(self) -> None:
        """Another register works meanwhile."""
        self.shop.add("bar")
        self.held()
        self.shop.open_shift("bar")
        self.assertEqual(self.shop.fiscal(1, device="bar", receipt=sale())["res"], 0)

    def test_unknown_device_is_not_busy(self) -> None:
        """A request for an unknown device is answered at once, whichever device is busy."""
        self.held()
        self.assertEqual(self.shop.fiscal(18, device="bar")["res"], 1091)
