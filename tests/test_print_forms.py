"""Print forms: each item that the law requires in its place, and whole forms as a printer prints them."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import PAY_TYPES, PayType, tax_payments
from dmtwisted.documents.documents import (
    Caller,
    Document,
    Good,
    Header,
    OfflineMark,
    Payment,
    PaySum,
    Receipt,
    Reversed,
    ShiftTotals,
    TaxLine,
    TaxSum,
)
from dmtwisted.documents.forms import (
    LONGEST_BARCODE,
    QR_CAPACITY,
    check_barcode,
    receipt_form,
    report_form,
    service_form,
    summary_form,
)
from dmtwisted.documents.model import Barcode, Element, Line, Pair, Qr
from dmtwisted.money import hryvnias
from dmtwisted.printing.text import render_text

MORNING = 1_789_970_400_000
"""Monday, 21 September 2026, 09:00 in Kyiv, in milliseconds since 1970."""

HEADER = Header(
    fisid="4000438533",
    name='ТОВ "Ромашка"',
    shopname="Кав'ярня на Подолі",
    shopad="м. Київ, Подільський район, вул. Сагайдачного, буд. 12",
    vat_code="123456789012",
    fis_code="12345678",
)
WITH_LINES = msgspec.structs.replace(HEADER, lines_up=("* ВІТАЄМО *",), lines_down=("Дякуємо!", "Чекаємо знову"))

COFFEE = Good(name="Кава зернова", cnt=2000, price=2550, cost=5100, taxgrp=1, taxlit="А", code1="4820000000017")
BRANDY = Good(
    name="Коньяк витриманий «Тиса» п'ять зірок 0.5 л",
    cnt=1000,
    price=15500,
    cost=15500,
    disc=620,
    taxgrp=3,
    taxlit="ГД",
    code2="2208201200",
    code_aa=("AATE508932", "AATE508933"),
    comment="подарунковий",
)
APPLES = Good(name="Яблука", cnt=1250, price=2402, cost=3003, taxgrp=2, taxlit="Б")

IN_CASH = Payment(type=0, name="Готівка", sum=7980, tendered=10000, change=2020, round=-3)
BY_CARD = Payment(
    type=2,
    name="Картка",
    sum=15000,
    tendered=15000,
    commission=50,
    paysys="VISA",
    rrn="012345678901",
    cardmask="414950******1234",
    term_id="S1K30000",
    bank_id="S12345678",
    bank_name="ПриватБанк",
    auth_code="123456",
)

VAT = TaxLine(
    gr_code=1,
    base_sum=5100,
    base_tax_sum=5100,
    tax_name="ПДВ",
    tax_fname="ПДВ 20%",
    tax_lit="А",
    tax_percent=2000,
    tax_sum=850,
)
NO_VAT = TaxLine(gr_code=2, base_sum=3003, tax_fname="Без ПДВ", tax_lit="Б")
EXCISE = TaxLine(
    gr_code=3,
    base_sum=14880,
    base_tax_sum=14171,
    base_ex_sum=14880,
    tax_name="ПДВ",
    tax_fname="ПДВ 20% + акциз 5%",
    tax_lit="ГД",
    tax_percent=2000,
    tax_sum=2362,
    ex_name="Акциз",
    ex_percent=500,
    ex_sum=709,
)

COFFEE_ALONE = Receipt(
    goods=(COFFEE,),
    pays=(Payment(type=0, name="Готівка", sum=5100, tendered=5100),),
    taxes=(VAT,),
    sum_0=5100,
    sum_receipt=5100,
    sum_topay=5100,
)
EVERYTHING = Receipt(
    goods=(COFFEE, BRANDY, APPLES),
    pays=(BY_CARD, IN_CASH),
    taxes=(VAT, NO_VAT, EXCISE),
    sum_0=23603,
    sum_disc=620,
    sum_receipt=22983,
    round=-3,
    sum_topay=22980,
    change=2020,
    comment_up="Столик 5",
    comment_down="Гарного дня",
)

RETURNED = msgspec.structs.replace(COFFEE_ALONE, purchase_receipt_fisn="TEST_9")
FLOAT = Payment(type=0, name="Готівка", sum=50000, tendered=50000, comment_down="Розмін")
LINES = [
    ("ІНВЕНТАРИЗАЦІЯ", 0),
    ("", 0),
    ("  Цукор            2", 0),
    ("4820000000017", 1),
    ("PALLET-17", 2),
    ("https://example.com/17", 100),
]

TOTALS = ShiftTotals(
    count_p=12,
    count_m=1,
    count_14=1,
    last_docno_p=16,
    last_docno_m=14,
    base_p=123456,
    base_m=1000,
    disc_p=620,
    calc_p=123450,
    calc_m=1000,
    first_docno=1,
    last_docno=18,
    safe_start=10000,
    safe=55550,
    pays={0: PaySum("Готівка", 23456, 1000, round_pu=4, round_pd=10), 2: PaySum("Картка", 100000)},
    money={0: PaySum("Готівка", 50000, 30000)},
    cash={2: PaySum("Картка", 0, 5000)},
    taxes={
        1: TaxSum(
            "ПДВ",
            "ПДВ 20%",
            "А",
            2000,
            base_sum_p=100000,
            base_sum_m=1000,
            base_tax_sum_p=100000,
            base_tax_sum_m=1000,
            tax_sum_p=16667,
            tax_sum_m=167,
        ),
        3: TaxSum(
            "ПДВ",
            "ПДВ 20% + акциз 5%",
            "ГД",
            2000,
            "Акциз",
            500,
            base_sum_p=23456,
            base_tax_sum_p=22339,
            base_ex_sum_p=23456,
            tax_sum_p=3723,
            ex_sum_p=1117,
        ),
    },
)


def document(kind: str, **parts: Any) -> Document:
    """A fiscal document of ``kind``, the seventeenth of its register, in shift 5."""
    given_parts = {"header": HEADER, "dtype": 1, "cashier": "Іваненко О. П.", **parts}
    return Document(kind=kind, number=17, shift=5, at=MORNING, caller=Caller(device="test", task=1), **given_parts)


def sale(receipt: Receipt = COFFEE_ALONE, **parts: Any) -> Document:
    """A sale."""
    return document(documents.SALE, receipt=receipt, **parts)


def lines_of(form: list[Element], width: int = 48) -> list[str]:
    """The lines of a form as text, without blanks at the ends and repeated blanks."""
    return [" ".join(line.split()) for line in render_text(form, width).splitlines()]


def printed(paper: Document, copy: bool = False) -> list[str]:
    """The lines of a document's form."""
    return lines_of(receipt_form(paper, "TEST_17", copy=copy))


def changed(receipt: Receipt = COFFEE_ALONE, **members: Any) -> Document:
    """A sale whose receipt has other members."""
    return sale(msgspec.structs.replace(receipt, **members))


def of_good(good: Good = COFFEE, **members: Any) -> list[str]:
    """The lines of a sale with one item between its head and its payment."""
    form = printed(changed(goods=(msgspec.structs.replace(good, **members),)))
    rules = [index for index, line in enumerate(form) if set(line) == {"-"}]
    return form[rules[0] + 1 : rules[1]]


def paid_by(pay: Payment = BY_CARD, **members: Any) -> list[str]:
    """The lines of a sale's payment."""
    form = printed(changed(pays=(msgspec.structs.replace(pay, **members),)))
    rules = [index for index, line in enumerate(form) if set(line) == {"-"}]
    return form[rules[1] + 1 : rules[2]]


def taxed(tax: TaxLine = VAT, **members: Any) -> list[str]:
    """The lines of a sale from its sum to the amount to pay."""
    form = printed(changed(taxes=(msgspec.structs.replace(tax, **members),)))
    return form[form.index("СУМА 51.00") + 1 : form.index("ДО СПЛАТИ 51.00")]


def x_form(totals: ShiftTotals = TOTALS, **parts: Any) -> list[Element]:
    """An X report."""
    report: dict[str, Any] = {"number": 0, "fiscal_number": "", "shift": 5, "dtype": 1, **parts}
    return report_form("X-ЗВІТ", HEADER, "Іваненко О. П.", MORNING, totals, **report)


def z_form(**parts: Any) -> list[Element]:
    """A Z report."""
    report: dict[str, Any] = {"number": 18, "fiscal_number": "TEST_18", "shift": 5, "dtype": 1, **parts}
    return report_form("Z-ЗВІТ", HEADER, "Іваненко О. П.", MORNING, TOTALS, **report)


def summary(is_short: bool = False, dtype: int = 1) -> list[Element]:
    """A summary report over two Z reports."""
    first = document(documents.Z, report=TOTALS)
    second = msgspec.structs.replace(
        first, number=31, shift=6, at=MORNING + 86_400_000, report=ShiftTotals(calc_p=5000)
    )
    reports = [(first, "TEST_17"), (second, "TEST_31")]
    return summary_form(
        HEADER, "Іваненко О. П.", MORNING, "Z № 5 - 6", TOTALS, reports, is_short=is_short, dtype=dtype
    )


class WholeFormTests(SynchronousTestCase):
    """Whole forms as printed."""

    maxDiff = None

    def assert_printed(self, form: list[Element], width: int, expected: str) -> None:
        """``form`` is ``expected``, character by character."""
        self.assertEqual("\n" + render_text(form, width), dedent(expected))

    def test_sale(self) -> None:
        """A receipt with all items, on 80 mm paper."""
        self.assert_printed(
            receipt_form(sale(EVERYTHING, header=WITH_LINES), "TEST_17"),
            48,
            """
                                  * ВІТАЄМО *
                                 ТОВ "Ромашка"
                               Кав'ярня на Подолі
                 м. Київ, Подільський район, вул. Сагайдачного,
                                    буд. 12
                                ПН 123456789012
                Касир: Іваненко О. П.
                ------------------------------------------------
                Столик 5
                ------------------------------------------------
                2 x 25.50
                Штрих-код 4820000000017
                Кава зернова                             51.00 А
                1 x 155.00
                УКТЗЕД 2208201200
                Акцизна марка AATE508932
                Акцизна марка AATE508933
                Коньяк витриманий «Тиса» п'ять зірок
                0.5 л                                  155.00 ГД
                подарунковий
                Знижка                                     -6.20
                1.25 x 24.02
                Яблука                                   30.03 Б
                ------------------------------------------------
                Еквайр                      ПриватБанк S12345678
                Термінал                                S1K30000
                Комісія                                     0.50
                Операція                                  Оплата
                ЕПЗ                             414950******1234
                Платіжна система                            VISA
                Код авторизації                           123456
                Код транзакції RRN                  012345678901
                БЕЗГОТІВКОВА: Картка, грн                 150.00
                ГОТІВКА, грн                               79.80
                ------------------------------------------------
                СУМА                                      229.83
                ПДВ А 20.00%                                8.50
                Без ПДВ Б                                   0.00
                ПДВ ГД 20.00%                              23.62
                Акциз ГД 5.00%                              7.09
                Заокруглення                               -0.03
                ДО СПЛАТИ                                 229.80
                Отримано                                  100.00
                Решта                                      20.20
                ------------------------------------------------
                Гарного дня
                                    Дякуємо!
                                 Чекаємо знову
                ------------------------------------------------
                ЧЕК № TEST_17                              ВН 17
                21-09-2026 09:00:00
                https://cabinet.tax.gov.ua/cashregs/check?id=TES
                T_17&date=20260921&time=090000&fn=4000438533&sm=
                229.80
                ОНЛАЙН
                ФН ПРРО 4000438533
                                 ФІСКАЛЬНИЙ ЧЕК
                                   dmtwisted
                """,
        )

    def test_narrow_sale(self) -> None:
        """The same on 58 mm paper: names and the address wrap, the amounts stay at the edge."""
        self.assert_printed(
            receipt_form(sale(EVERYTHING, header=WITH_LINES), "TEST_17"),
            32,
            """
                          * ВІТАЄМО *
                         ТОВ "Ромашка"
                       Кав'ярня на Подолі
                м. Київ, Подільський район, вул.
                     Сагайдачного, буд. 12
                        ПН 123456789012
                Касир: Іваненко О. П.
                --------------------------------
                Столик 5
                --------------------------------
                2 x 25.50
                Штрих-код 4820000000017
                Кава зернова             51.00 А
                1 x 155.00
                УКТЗЕД 2208201200
                Акцизна марка AATE508932
                Акцизна марка AATE508933
                Коньяк витриманий
                «Тиса» п'ять зірок 0.5
                л                      155.00 ГД
                подарунковий
                Знижка                     -6.20
                1.25 x 24.02
                Яблука                   30.03 Б
                --------------------------------
                Еквайр      ПриватБанк S12345678
                Термінал                S1K30000
                Комісія                     0.50
                Операція                  Оплата
                ЕПЗ             414950******1234
                Платіжна система            VISA
                Код авторизації           123456
                Код транзакції RRN  012345678901
                БЕЗГОТІВКОВА: Картка, грн 150.00
                ГОТІВКА, грн               79.80
                --------------------------------
                СУМА                      229.83
                ПДВ А 20.00%                8.50
                Без ПДВ Б                   0.00
                ПДВ ГД 20.00%              23.62
                Акциз ГД 5.00%              7.09
                Заокруглення               -0.03
                ДО СПЛАТИ                 229.80
                Отримано                  100.00
                Решта                      20.20
                --------------------------------
                Гарного дня
                            Дякуємо!
                         Чекаємо знову
                --------------------------------
                ЧЕК № TEST_17              ВН 17
                21-09-2026 09:00:00
                https://cabinet.tax.gov.ua/cashr
                egs/check?id=TEST_17&date=202609
                21&time=090000&fn=4000438533&sm=
                229.80
                ОНЛАЙН
                ФН ПРРО 4000438533
                         ФІСКАЛЬНИЙ ЧЕК
                           dmtwisted
                """,
        )

    def test_every_payment(self) -> None:
        """Each payment type of a register with the tax service's codes, and one of the shop's own, on both widths."""
        types = tax_payments((*PAY_TYPES, PayType(77, "Талон"))).values()
        pays = tuple(Payment(type=one.code, name=one.name, form=one.form, sum=100) for one in types)
        form = receipt_form(sale(msgspec.structs.replace(EVERYTHING, pays=pays)), "TEST_17")
        begin = next(n for n, one in enumerate(form) if isinstance(one, Pair) and one.left.startswith("ГОТІВКА"))
        end = next(n for n, one in enumerate(form) if isinstance(one, Pair) and one.left == "СУМА")
        self.assert_printed(
            form[begin : end - 1],
            48,
            """
                ГОТІВКА, грн                                1.00
                БЕЗГОТІВКОВА: Безготівка, грн               1.00
                БЕЗГОТІВКОВА: Картка, грн                   1.00
                ІНШЕ: Передплата, грн                       1.00
                ІНШЕ: Післяплата, грн                       1.00
                ІНШЕ: Кредит, грн                           1.00
                ІНШЕ: Сертифікат, грн                       1.00
                ІНШЕ: Чек, грн                              1.00
                ІНШЕ: Бонуси, грн                           1.00
                ІНШЕ: Погашення кредиту, грн                1.00
                БЕЗГОТІВКОВА: Переказ за QR-кодом, грн      1.00
                БЕЗГОТІВКОВА: Переказ з картки, грн         1.00
                БЕЗГОТІВКОВА: Переказ з поточного рахунку,
                грн                                         1.00
                БЕЗГОТІВКОВА: Інтернет-еквайринг, грн       1.00
                БЕЗГОТІВКОВА: LiqPay, грн                   1.00
                БЕЗГОТІВКОВА: RozetkaPay, грн               1.00
                БЕЗГОТІВКОВА: Portmone, грн                 1.00
                БЕЗГОТІВКОВА: NovaPay, грн                  1.00
                БЕЗГОТІВКОВА: Талон, грн                    1.00
                """,
        )
        self.assert_printed(
            form[begin : end - 1],
            32,
            """
                ГОТІВКА, грн                1.00
                БЕЗГОТІВКОВА: Безготівка,
                грн                         1.00
                БЕЗГОТІВКОВА: Картка, грн   1.00
                ІНШЕ: Передплата, грн       1.00
                ІНШЕ: Післяплата, грн       1.00
                ІНШЕ: Кредит, грн           1.00
                ІНШЕ: Сертифікат, грн       1.00
                ІНШЕ: Чек, грн              1.00
                ІНШЕ: Бонуси, грн           1.00
                ІНШЕ: Погашення кредиту,
                грн                         1.00
                БЕЗГОТІВКОВА: Переказ за
                QR-кодом, грн               1.00
                БЕЗГОТІВКОВА: Переказ з
                картки, грн                 1.00
                БЕЗГОТІВКОВА: Переказ з
                поточного рахунку, грн      1.00
                БЕЗГОТІВКОВА:
                Інтернет-еквайринг, грн     1.00
                БЕЗГОТІВКОВА: LiqPay, грн   1.00
                БЕЗГОТІВКОВА: RozetkaPay,
                грн                         1.00
                БЕЗГОТІВКОВА: Portmone, грн 1.00
                БЕЗГОТІВКОВА: NovaPay, грн  1.00
                БЕЗГОТІВКОВА: Талон, грн    1.00
                """,
        )

    def test_copy_of_a_test_return(self) -> None:
        """A copy of a return on a training register."""
        self.assert_printed(
            receipt_form(document(documents.RETURN, receipt=RETURNED, dtype=0), "TEST_17", copy=True),
            42,
            """
                      ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ
                                  КОПІЯ
                              ТОВ "Ромашка"
                            Кав'ярня на Подолі
                     м. Київ, Подільський район, вул.
                          Сагайдачного, буд. 12
                             ПН 123456789012
                Касир: Іваненко О. П.
                ------------------------------------------
                                ПОВЕРНЕННЯ
                ------------------------------------------
                До чека № TEST_9
                ------------------------------------------
                2 x 25.50
                Штрих-код 4820000000017
                Кава зернова                       51.00 А
                ------------------------------------------
                ГОТІВКА, грн                         51.00
                ------------------------------------------
                СУМА                                 51.00
                ПДВ А 20.00%                          8.50
                ДО ВИДАЧІ                            51.00
                ------------------------------------------
                ЧЕК № TEST_17                        ВН 17
                21-09-2026 09:00:00
                https://cabinet.tax.gov.ua/cashregs/check?
                id=TEST_17&date=20260921&time=090000&fn=40
                00438533&sm=51.00
                ОНЛАЙН
                ФН ПРРО 4000438533
                              ВИДАТКОВИЙ ЧЕК
                                dmtwisted
                      ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ
                                  КОПІЯ
                """,
        )

    def test_cash_in(self) -> None:
        """A cash-in."""
        self.assert_printed(
            receipt_form(document(documents.CASH_IN, cash=FLOAT), "TEST_17"),
            32,
            """
                         ТОВ "Ромашка"
                       Кав'ярня на Подолі
                м. Київ, Подільський район, вул.
                     Сагайдачного, буд. 12
                        ПН 123456789012
                Касир: Іваненко О. П.
                --------------------------------
                       СЛУЖБОВЕ ВНЕСЕННЯ
                --------------------------------
                ГОТІВКА, грн              500.00
                СУМА                      500.00
                Розмін
                --------------------------------
                ЧЕК № TEST_17              ВН 17
                21-09-2026 09:00:00
                ОНЛАЙН
                ФН ПРРО 4000438533
                         СЛУЖБОВИЙ ЧЕК
                           dmtwisted
                """,
        )

    def test_z(self) -> None:
        """A Z report with all items."""
        self.assert_printed(
            z_form(),
            42,
            """
                              ТОВ "Ромашка"
                            Кав'ярня на Подолі
                     м. Київ, Подільський район, вул.
                          Сагайдачного, буд. 12
                             ПН 123456789012
                Касир: Іваненко О. П.
                ------------------------------------------
                                  Z-ЗВІТ
                Зміна                                  № 5
                Документи                         № 1 - 18
                ------------------------------------------
                ПІДСУМКИ РЕАЛІЗАЦІЇ
                Чеків                                   12
                Останній чек                          № 16
                Загальна сума                      1234.56
                Знижки                               -6.20
                Сплачено                           1234.50
                - Готівка                           234.56
                  заокруглено вгору                   0.04
                  заокруглено вниз                   -0.10
                - Картка                           1000.00
                ПОДАТКИ
                А: ПДВ 20%                         1000.00
                  ПДВ А 20.00%                      166.67
                ГД: ПДВ 20% + акциз 5%              234.56
                  База ПДВ ГД                       223.39
                  ПДВ ГД 20.00%                      37.23
                  Акциз ГД 5.00%                     11.17
                ------------------------------------------
                ПІДСУМКИ ПОВЕРНЕННЯ
                Чеків                                    1
                Останній чек                          № 14
                Загальна сума                        10.00
                - Готівка                            10.00
                ПОДАТКИ
                А: ПДВ 20%                           10.00
                  ПДВ А 20.00%                        1.67
                ------------------------------------------
                СЛУЖБОВІ ОПЕРАЦІЇ
                Внесено: Готівка                    500.00
                Видано: Готівка                     300.00
                ------------------------------------------
                ВИДАЧА ГОТІВКИ З КАРТОК
                Чеків                                    1
                Видано: Картка                       50.00
                ------------------------------------------
                КАСА
                Готівка на початок                  100.00
                Готівка в касі                      555.50
                ------------------------------------------
                ЗВІТ № TEST_18                       ВН 18
                21-09-2026 09:00:00
                ОНЛАЙН
                ФН ПРРО 4000438533
                            ФІСКАЛЬНИЙ Z-ЗВІТ
                                dmtwisted
                """,
        )

    def test_service_report(self) -> None:
        """Free text with codes."""
        self.assert_printed(
            service_form(HEADER, "", MORNING, LINES),
            32,
            """
                         ТОВ "Ромашка"
                       Кав'ярня на Подолі
                м. Київ, Подільський район, вул.
                     Сагайдачного, буд. 12
                        ПН 123456789012
                --------------------------------
                ІНВЕНТАРИЗАЦІЯ

                  Цукор            2
                         4820000000017
                           PALLET-17
                https://example.com/17
                --------------------------------
                21-09-2026 09:00:00
                ФН ПРРО 4000438533
                   НЕФІСКАЛЬНИЙ СЛУЖБОВИЙ ЧЕК
                           dmtwisted
                """,
        )


class HeadTests(SynchronousTestCase):
    """The seller: lines 1 to 5 of the form, and the shop's own lines."""

    def test_payer(self) -> None:
        """Payer, outlet and address begin the receipt, then the VAT number after ПН, then the cashier."""
        self.assertEqual(
            printed(sale())[:6],
            [
                'ТОВ "Ромашка"',
                "Кав'ярня на Подолі",
                "м. Київ, Подільський район, вул. Сагайдачного,",
                "буд. 12",
                "ПН 123456789012",
                "Касир: Іваненко О. П.",
            ],
        )

    def test_without_vat(self) -> None:
        """A seller without VAT is identified by the tax number, after ІД."""
        lines = printed(sale(header=msgspec.structs.replace(HEADER, vat_code="")))
        self.assertIn("ІД 12345678", lines)
        self.assertNotIn("ПН", " ".join(lines).split())

    def test_empty(self) -> None:
        """Nothing is printed for an unknown payer, outlet, number or cashier."""
        lines = printed(sale(header=Header(fisid=""), cashier=""))
        self.assertEqual(set(lines[0]), {"-"})
        for word in ("ПН", "ІД", "Касир:", "ПРРО"):
            self.assertNotIn(word, " ".join(lines).split())

    def test_own_lines(self) -> None:
        """The shop's own lines are printed above everything else and below the totals, on every form."""
        for form in (
            receipt_form(sale(header=WITH_LINES), "TEST_17"),
            receipt_form(document(documents.OPEN, header=WITH_LINES), "TEST_17"),
            report_form("X-ЗВІТ", WITH_LINES, "", MORNING, TOTALS, number=0, fiscal_number="", shift=5, dtype=1),
            summary_form(WITH_LINES, "", MORNING, "Z № 5", TOTALS, [], is_short=True, dtype=1),
            service_form(WITH_LINES, "", MORNING, [("Залишки", 0)]),
        ):
            lines = lines_of(form)
            self.assertEqual(lines[:2], ["* ВІТАЄМО *", 'ТОВ "Ромашка"'])
            down = lines.index("Дякуємо!")
            self.assertEqual(lines[down + 1], "Чекаємо знову")
            self.assertLess(down, lines.index("ФН ПРРО 4000438533"))

    def test_test_document(self) -> None:
        """A test document is marked above everything else and at the end."""
        lines = printed(sale(dtype=0, header=WITH_LINES))
        notice = "ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ"
        self.assertEqual([lines[0], lines[-1], lines.count(notice)], [notice, notice, 2])
        self.assertNotIn(notice, printed(sale()))

    def test_copy(self) -> None:
        """A copy is marked at the top and at the bottom, also a copy of a test document."""
        lines = printed(sale(dtype=0), copy=True)
        self.assertEqual([lines[1], lines[-1], lines.count("КОПІЯ")], ["КОПІЯ", "КОПІЯ", 2])
        self.assertNotIn("КОПІЯ", printed(sale()))

    def test_comments(self) -> None:
        """The till's text above and below the receipt is there, line by line."""
        lines = printed(changed(comment_up="Столик 5\nДва гості", comment_down="Гарного дня"))
        up = lines.index("Столик 5")
        self.assertEqual(lines[up + 1], "Два гості")
        self.assertLess(up, lines.index("Кава зернова 51.00 А"))
        self.assertLess(lines.index("Решта 0.00"), lines.index("Гарного дня"))


class GoodTests(SynchronousTestCase):
    """The goods: lines 6 to 10 of the form."""

    def test_quantity_and_price(self) -> None:
        """Quantity and price are printed above the name, the quantity without trailing zeros."""
        for cnt, written in ((1000, "1"), (2000, "2"), (1250, "1.25"), (125, "0.125"), (10_000, "10"), (0, "0")):
            self.assertEqual(of_good(cnt=cnt)[0], f"{written} x 25.50")
        self.assertEqual(of_good(cnt=-1500)[0], "-1.5 x 25.50")

    def test_cost(self) -> None:
        """The name has its cost before discounts and the letter of its tax group at the right."""
        self.assertEqual(of_good(disc=100)[-2], "Кава зернова 51.00 А")
        self.assertEqual(of_good(taxlit="")[-1], "Кава зернова 51.00")

    def test_uktzed(self) -> None:
        """The commodity code of foreign trade follows the price."""
        self.assertEqual(of_good(code2="2208201200")[1], "УКТЗЕД 2208201200")

    def test_service_code(self) -> None:
        """A service has its classifier code."""
        self.assertIn("ДКПП 96.02.13", of_good(code3="96.02.13"))

    def test_barcode(self) -> None:
        """The digits of the bar code follow."""
        self.assertEqual(of_good(code1="4820000000017")[1], "Штрих-код 4820000000017")

    def test_stamps(self) -> None:
        """Every excise stamp has its line; a stamp given twice has one."""
        stamps = [line for line in of_good(code_a="A1", code_aa=("A2", "A1", "")) if line.startswith("Акцизна")]
        self.assertEqual(stamps, ["Акцизна марка A1", "Акцизна марка A2"])

    def test_order(self) -> None:
        """The items of a row are in the order of the law."""
        self.assertEqual(
            of_good(code2="2208", code3="96.02", code1="482", code_a="A1", disc=100, comment="подарунковий"),
            [
                "2 x 25.50",
                "УКТЗЕД 2208",
                "ДКПП 96.02",
                "Штрих-код 482",
                "Акцизна марка A1",
                "Кава зернова 51.00 А",
                "подарунковий",
                "Знижка -1.00",
            ],
        )

    def test_nothing_known(self) -> None:
        """A row without codes has only price and name."""
        self.assertEqual(of_good(code1=""), ["2 x 25.50", "Кава зернова 51.00 А"])

    def test_surcharge(self) -> None:
        """A negative discount is a surcharge and is added."""
        self.assertEqual(of_good(disc=-100)[-1], "Надбавка 1.00")

    def test_discounts_together(self) -> None:
        """Discounts on several rows are added up; a single one is not repeated as a total."""
        less = msgspec.structs.replace(COFFEE, disc=100)
        more = msgspec.structs.replace(COFFEE, disc=-300)
        self.assertIn("Усього знижок -2.00", printed(changed(goods=(less, less, COFFEE), sum_disc=200)))
        self.assertIn("Усього надбавок 2.00", printed(changed(goods=(less, more), sum_disc=-200)))
        self.assertNotIn("Усього знижок -1.00", printed(changed(goods=(less, COFFEE), sum_disc=100)))


class PaymentTests(SynchronousTestCase):
    """The payments: lines 11 to 19 of the form."""

    def test_card(self) -> None:
        """The bank's data are above the payment, in the order of the law."""
        self.assertEqual(
            paid_by(),
            [
                "Еквайр ПриватБанк S12345678",
                "Термінал S1K30000",
                "Комісія 0.50",
                "Операція Оплата",
                "ЕПЗ 414950******1234",
                "Платіжна система VISA",
                "Код авторизації 123456",
                "Код транзакції RRN 012345678901",
                "БЕЗГОТІВКОВА: Картка, грн 150.00",
            ],
        )

    def test_part_of_a_card(self) -> None:
        """Data that the bank did not send are left out."""
        self.assertEqual(
            paid_by(Payment(type=2, name="Картка", sum=15000, rrn="012345678901")),
            ["Операція Оплата", "Код транзакції RRN 012345678901", "БЕЗГОТІВКОВА: Картка, грн 150.00"],
        )

    def test_each_requisite_alone(self) -> None:
        """Each of the card's data is printed even without the others."""
        for member, line in (
            ("bank_name", "Еквайр 77"),
            ("bank_id", "Еквайр 77"),
            ("term_id", "Термінал 77"),
            ("cardmask", "ЕПЗ 77"),
            ("paysys", "Платіжна система 77"),
            ("auth_code", "Код авторизації 77"),
            ("rrn", "Код транзакції RRN 77"),
        ):
            self.assertIn(line, paid_by(Payment(type=2, name="Картка", sum=15000), **{member: "77"}))

    def test_no_terminal(self) -> None:
        """A payment without a terminal is one line; a commission is printed all the same."""
        bare = Payment(type=2, name="Картка", sum=15000)
        self.assertEqual(paid_by(bare), ["БЕЗГОТІВКОВА: Картка, грн 150.00"])
        self.assertEqual(paid_by(bare, commission=50), ["Комісія 0.50", "БЕЗГОТІВКОВА: Картка, грн 150.00"])

    def test_operation(self) -> None:
        """The terminal's name of the operation is used instead of ours."""
        self.assertIn("Операція Купівля", paid_by(oper_type="Купівля"))

    def test_form_and_means(self) -> None:
        """A payment has the name of its form and its means, with the currency."""
        for pay_type, line in (
            (0, "ГОТІВКА, грн 150.00"),
            (1, "БЕЗГОТІВКА, грн 150.00"),
            (2, "БЕЗГОТІВКОВА: Картка, грн 150.00"),
            (6, "ІНШЕ: Сертифікат, грн 150.00"),
            (17, "БЕЗГОТІВКОВА: LiqPay, грн 150.00"),
        ):
            name = next(known.name for known in PAY_TYPES if known.code == pay_type)
            self.assertEqual(paid_by(Payment(type=pay_type, name=name, sum=15000)), [line])

    def test_own_type(self) -> None:
        """A payment type that the shop added has the shop's name for it, and the form that the shop gave it."""
        self.assertEqual(paid_by(Payment(type=77, name="Талон", sum=15000)), ["ТАЛОН, грн 150.00"])
        own = Payment(type=77, name="Талон", form="ІНШЕ", sum=15000)
        self.assertEqual(paid_by(own), ["ІНШЕ: Талон, грн 150.00"])
        card = Payment(type=2, name="Картка", form="БЕЗГОТІВКА", sum=15000)
        self.assertEqual(paid_by(card), ["БЕЗГОТІВКА: Картка, грн 150.00"])

    def test_blank_data(self) -> None:
        """Of a card's data no line is empty, whatever blanks the till sends."""
        blank = Payment(type=2, name="Картка", sum=15000, term_id=" ", rrn="  ", paysys=" ")
        self.assertEqual(paid_by(blank), ["БЕЗГОТІВКОВА: Картка, грн 150.00"])
        self.assertEqual(
            paid_by(blank, rrn="77"),
            ["Операція Оплата", "Код транзакції RRN 77", "БЕЗГОТІВКОВА: Картка, грн 150.00"],
        )

    def test_several(self) -> None:
        """Several payments follow each other, each with the data of its bank."""
        lines = printed(changed(pays=(BY_CARD, msgspec.structs.replace(BY_CARD, sum=1, rrn="2"), IN_CASH)))
        amounts = [line for line in lines if "грн" in line or "RRN" in line]
        self.assertEqual(
            amounts,
            [
                "Код транзакції RRN 012345678901",
                "БЕЗГОТІВКОВА: Картка, грн 150.00",
                "Код транзакції RRN 2",
                "БЕЗГОТІВКОВА: Картка, грн 0.01",
                "ГОТІВКА, грн 79.80",
            ],
        )

    def test_comments(self) -> None:
        """A payment's comments are above and below it."""
        pay = Payment(type=0, name="Готівка", sum=100, comment="а", comment_up="б", comment_down="в")
        self.assertEqual(paid_by(pay), ["б", "ГОТІВКА, грн 1.00", "а", "в"])


class TotalTests(SynchronousTestCase):
    """The sums: lines 20 to 24 of the form."""

    def test_vat(self) -> None:
        """VAT has its letter, its rate and its amount."""
        self.assertEqual(taxed(), ["ПДВ А 20.00% 8.50"])

    def test_excise(self) -> None:
        """Excise follows the VAT of its group."""
        self.assertEqual(taxed(EXCISE), ["ПДВ ГД 20.00% 23.62", "Акциз ГД 5.00% 7.09"])

    def test_excise_alone(self) -> None:
        """A group may have a levy and no VAT."""
        self.assertEqual(taxed(EXCISE, tax_name=""), ["Акциз ГД 5.00% 7.09"])

    def test_excise_of_a_unit(self) -> None:
        """Excise per unit has no rate to show."""
        self.assertEqual(taxed(EXCISE, ex_percent=0)[1], "Акциз ГД 7.09")

    def test_zero_rate(self) -> None:
        """A rate of zero is printed."""
        self.assertEqual(taxed(tax_lit="Е", tax_percent=0, tax_sum=0), ["ПДВ Е 0.00% 0.00"])

    def test_no_vat(self) -> None:
        """A group without taxes is printed, so that its letter is explained."""
        self.assertEqual(taxed(NO_VAT), ["Без ПДВ Б 0.00"])

    def test_on_top(self) -> None:
        """Taxes that the prices do not include are printed: they are between the sum and the amount due."""
        self.assertEqual(taxed(on_top=850), ["ПДВ А 20.00% 8.50", "Податки понад ціну 8.50"])

    def test_rounding(self) -> None:
        """Rounding has its line, with a minus when it reduces the sum, and no line when it is zero."""
        self.assertIn("Заокруглення -0.03", printed(changed(round=-3)))
        self.assertIn("Заокруглення 0.20", printed(changed(round=20)))
        self.assertNotIn("Заокруглення", " ".join(printed(sale())))

    def test_sums(self) -> None:
        """СУМА is before rounding and ДО СПЛАТИ after it."""
        lines = printed(sale(EVERYTHING))
        self.assertLess(lines.index("СУМА 229.83"), lines.index("ДО СПЛАТИ 229.80"))

    def test_change(self) -> None:
        """The change is below the money given."""
        lines = printed(sale(EVERYTHING))
        change = lines.index("Решта 20.20")
        self.assertEqual(lines[change - 1], "Отримано 100.00")

    def test_no_change(self) -> None:
        """A sale prints its change also when there is none, however it was paid."""
        for pay in (IN_CASH, BY_CARD):
            self.assertIn("Решта 0.00", printed(changed(pays=(pay,))))

    def test_nothing_for_nothing(self) -> None:
        """A receipt without rows and payments is still a receipt."""
        lines = printed(sale(Receipt()))
        self.assertIn("ДО СПЛАТИ 0.00", lines)


class FootTests(SynchronousTestCase):
    """The marks of a document: lines 25 to 30 of the form."""

    def test_foot(self) -> None:
        """Number, date and time, QR, ОНЛАЙН, register, closing title and maker end the receipt, in this order."""
        self.assertEqual(
            printed(sale())[-9:],
            [
                "ЧЕК № TEST_17 ВН 17",
                "21-09-2026 09:00:00",
                "https://cabinet.tax.gov.ua/cashregs/check?id=TES",
                "T_17&date=20260921&time=090000&fn=4000438533&sm=",
                "51.00",
                "ОНЛАЙН",
                "ФН ПРРО 4000438533",
                "ФІСКАЛЬНИЙ ЧЕК",
                "dmtwisted",
            ],
        )

    def test_qr(self) -> None:
        """The QR code is the link to the tax service's page of the receipt."""
        codes = [part.data for part in receipt_form(sale(), "TEST_17") if isinstance(part, Qr)]
        self.assertEqual(len(codes), 1)
        self.assertIn("id=TEST_17&date=20260921&time=090000&fn=4000438533&sm=51.00", codes[0])

    def test_offline(self) -> None:
        """An offline receipt is marked, with the control number that is in its number."""
        lines = printed(sale(offline=OfflineMark("5008.3.4758", "cdd6")))
        self.assertEqual(lines[-5:-2], ["ОФЛАЙН", "Контрольне число 4758", "ФН ПРРО 4000438533"])
        self.assertNotIn("ОНЛАЙН", lines)

    def test_closing_titles(self) -> None:
        """Each kind of document has its closing title above the maker, and its own title at the top."""
        cash = Payment(type=0, name="Готівка", sum=5000, tendered=5000)
        reverses = Reversed(documents.SALE, 16, "TEST_16")
        for kind, closing, title, parts in (
            (documents.SALE, "ФІСКАЛЬНИЙ ЧЕК", "", {"receipt": COFFEE_ALONE}),
            (documents.RETURN, "ВИДАТКОВИЙ ЧЕК", "ПОВЕРНЕННЯ", {"receipt": COFFEE_ALONE}),
            (documents.WITHDRAWAL, "ВИДАТКОВИЙ ЧЕК", "ВИДАЧА ГОТІВКИ", {"cash": BY_CARD}),
            (documents.CASH_IN, "СЛУЖБОВИЙ ЧЕК", "СЛУЖБОВЕ ВНЕСЕННЯ", {"cash": cash}),
            (documents.CASH_OUT, "СЛУЖБОВИЙ ЧЕК", "СЛУЖБОВА ВИДАЧА", {"cash": cash}),
            (documents.INCOME, "СЛУЖБОВИЙ ЧЕК", "НАДХОДЖЕННЯ КОШТІВ", {"receipt": COFFEE_ALONE}),
            (documents.EXPENSE, "СЛУЖБОВИЙ ЧЕК", "ВИДАТОК КОШТІВ", {"receipt": COFFEE_ALONE}),
            (documents.STORNO, "СЛУЖБОВИЙ ЧЕК", "СТОРНО", {"receipt": COFFEE_ALONE, "reverses": reverses}),
            (documents.OPEN, "СЛУЖБОВИЙ ЧЕК", "ВІДКРИТТЯ ЗМІНИ", {}),
            (documents.CLOSE, "СЛУЖБОВИЙ ЧЕК", "ЗАКРИТТЯ ЗМІНИ", {}),
            (documents.OFFLINE_BEGIN, "СЛУЖБОВИЙ ЧЕК", "ПОЧАТОК ОФЛАЙН-СЕСІЇ", {}),
            (documents.OFFLINE_END, "СЛУЖБОВИЙ ЧЕК", "КІНЕЦЬ ОФЛАЙН-СЕСІЇ", {}),
        ):
            form = receipt_form(document(kind, **parts), "TEST_17")
            lines = lines_of(form)
            self.assertEqual(lines[-2:], [closing, "dmtwisted"], kind)
            if title:
                self.assertIn(title, lines, kind)
            has_qr = any(isinstance(part, Qr) for part in form)
            self.assertEqual(has_qr, closing != "СЛУЖБОВИЙ ЧЕК", kind)


class OrderTests(SynchronousTestCase):
    """The order of the law."""

    LAW = (
        'ТОВ "Ромашка"',
        "Кав'ярня на Подолі",
        "м. Київ",
        "ПН ",
        " x ",
        "УКТЗЕД",
        "Штрих-код",
        "Акцизна марка",
        "Сироп",
        "Знижка",
        "Еквайр",
        "Термінал",
        "Комісія",
        "Операція",
        "ЕПЗ",
        "Платіжна система",
        "Код авторизації",
        "RRN",
        "БЕЗГОТІВКОВА",
        "СУМА",
        "ПДВ ГД",
        "Акциз ГД",
        "Заокруглення",
        "ДО СПЛАТИ",
        "Решта",
        "ЧЕК №",
        "21-09-2026 09:00:00",
        "https://",
        "ОФЛАЙН",
        "Контрольне число",
        "ФН ПРРО",
        "ФІСКАЛЬНИЙ ЧЕК",
        "dmtwisted",
    )

    def test_order(self) -> None:
        """Every requisite of the law is there, below the one before it, on any paper."""
        good = msgspec.structs.replace(BRANDY, name="Сироп", code1="4820000000017")
        receipt = msgspec.structs.replace(EVERYTHING, goods=(good,), pays=(BY_CARD, IN_CASH), taxes=(EXCISE,))
        paper = sale(receipt, offline=OfflineMark("5008.3.4758", "cdd6"))
        for width in (24, 32, 42, 48, 64):
            text = render_text(receipt_form(paper, "5008.3.4758"), width)
            place = 0
            for requisite in self.LAW:
                found = text.find(requisite, place)
                self.assertNotEqual(found, -1, f"{requisite} at {width}")
                place = found + 1


class OtherDocumentTests(SynchronousTestCase):
    """Documents other than sales."""

    def test_return(self) -> None:
        """A return has the number of the sale, the card operation, and the amount to pay out."""
        receipt = msgspec.structs.replace(COFFEE_ALONE, pays=(BY_CARD,), purchase_receipt_fisn="TEST_9")
        lines = printed(document(documents.RETURN, receipt=receipt))
        for line in ("До чека № TEST_9", "Операція Повернення", "ДО ВИДАЧІ 51.00"):
            self.assertIn(line, lines)
        self.assertNotIn("Решта", " ".join(lines))
        self.assertNotIn("ФН ПРРО чека", " ".join(lines))

    def test_return_to_another_register(self) -> None:
        """A sale at another register is given with that register."""
        receipt = msgspec.structs.replace(
            COFFEE_ALONE, purchase_receipt_fisn="TEST_9", purchase_rro_fisn="4000000001"
        )
        self.assertIn("ФН ПРРО чека 4000000001", printed(document(documents.RETURN, receipt=receipt)))

    def test_cash(self) -> None:
        """Cash in and out have the amount and the reason."""
        cash = Payment(
            type=0, name="Готівка", sum=50000, tendered=50000, comment_up="Розмін", comment="а", comment_down="б"
        )
        for kind in (documents.CASH_IN, documents.CASH_OUT):
            lines = printed(document(kind, cash=cash))
            start = lines.index("Розмін")
            self.assertEqual(lines[start + 1 : start + 5], ["ГОТІВКА, грн 500.00", "СУМА 500.00", "а", "б"])

    def test_withdrawal(self) -> None:
        """Cash from a card has all data of the bank, with the commission."""
        lines = printed(document(documents.WITHDRAWAL, cash=BY_CARD))
        for line in ("Комісія 0.50", "Операція Видача готівки", "ЕПЗ 414950******1234", "СУМА 150.00"):
            self.assertIn(line, lines)

    def test_income(self) -> None:
        """An income without rows has its payments, its sums and its change."""
        receipt = Receipt(pays=(IN_CASH,), sum_0=7983, sum_receipt=7983, round=-3, sum_topay=7980, change=2020)
        lines = printed(document(documents.INCOME, receipt=receipt))
        for line in ("ГОТІВКА, грн 79.80", "СУМА 79.83", "ДО СПЛАТИ 79.80", "Отримано 100.00", "Решта 20.20"):
            self.assertIn(line, lines)

    def test_expense(self) -> None:
        """An expense has the amount to pay out, and no change when it is zero."""
        receipt = Receipt(pays=(BY_CARD,), sum_0=15000, sum_receipt=15000, sum_topay=15000)
        lines = printed(document(documents.EXPENSE, receipt=receipt))
        for line in ("Операція Виплата", "ДО ВИДАЧІ 150.00"):
            self.assertIn(line, lines)
        self.assertNotIn("Решта", " ".join(lines))

    def test_storno(self) -> None:
        """A storno names the receipt that it takes back and prints its content; no money is given now."""
        reverses = Reversed(documents.SALE, 16, "TEST_16")
        lines = printed(document(documents.STORNO, receipt=EVERYTHING, reverses=reverses))
        for line in ("Скасовано чек № TEST_16, ВН 16", "Кава зернова 51.00 А", "СУМА СТОРНО 229.80"):
            self.assertIn(line, lines)
        for word in ("Решта", "Отримано", "ДО СПЛАТИ"):
            self.assertNotIn(word, " ".join(lines))

    def test_storno_of_cash(self) -> None:
        """A storno of a cash-in prints the cash."""
        paper = document(documents.STORNO, cash=IN_CASH, reverses=Reversed(documents.CASH_IN, 16, "TEST_16"))
        self.assertIn("СУМА 79.80", printed(paper))

    def test_shift(self) -> None:
        """Opening and closing have the number of the shift."""
        for kind in (documents.OPEN, documents.CLOSE):
            self.assertIn("Зміна № 5", printed(document(kind)))


class ReportTests(SynchronousTestCase):
    """X and Z reports."""

    def test_x(self) -> None:
        """An X has the title X-ЗВІТ, which tills search for; it is not a fiscal document and has no number."""
        lines = lines_of(x_form())
        self.assertIn("X-ЗВІТ", lines)
        self.assertEqual(lines[-2:], ["СЛУЖБОВИЙ ЧЕК", "dmtwisted"])
        self.assertNotIn("ЗВІТ №", "\n".join(lines))

    def test_z(self) -> None:
        """A Z has number, time and register above its closing title."""
        lines = lines_of(z_form())
        self.assertIn("Z-ЗВІТ", lines)
        self.assertEqual(
            lines[-6:],
            [
                "ЗВІТ № TEST_18 ВН 18",
                "21-09-2026 09:00:00",
                "ОНЛАЙН",
                "ФН ПРРО 4000438533",
                "ФІСКАЛЬНИЙ Z-ЗВІТ",
                "dmtwisted",
            ],
        )

    def test_notices(self) -> None:
        """Test, copy and offline are printed as on a receipt."""
        lines = lines_of(z_form(dtype=0, isoffline=True, copy=True))
        self.assertEqual(lines[:2], ["ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ", "КОПІЯ"])
        self.assertEqual(lines[-2:], ["ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ", "КОПІЯ"])
        self.assertIn("ОФЛАЙН", lines)

    def test_empty_shift(self) -> None:
        """A shift without documents shows that nothing was sold, and the cash in the drawer."""
        lines = lines_of(x_form(ShiftTotals(safe_start=5000, safe=5000)))
        self.assertEqual(lines.count("Чеків 0"), 2)
        self.assertEqual(lines.count("Загальна сума 0.00"), 2)
        self.assertIn("Готівка в касі 50.00", lines)
        for word in ("ПОДАТКИ", "СЛУЖБОВІ ОПЕРАЦІЇ", "ВИДАЧА ГОТІВКИ З КАРТОК", "Документи"):
            self.assertNotIn(word, " ".join(lines))

    def test_settled(self) -> None:
        """The amount paid is printed when rounding or taxes on top make it another sum, on both sides."""
        lines = lines_of(x_form(ShiftTotals(base_p=1003, calc_p=1000, base_m=503, calc_m=500)))
        self.assertIn("Сплачено 10.00", lines)
        self.assertIn("Видано 5.00", lines)
        self.assertNotIn("Сплачено", " ".join(lines_of(x_form(ShiftTotals(base_p=1000, calc_p=1000)))))

    def test_surcharges(self) -> None:
        """Discounts that add up to a surcharge are called a surcharge."""
        self.assertIn("Надбавки 2.00", lines_of(x_form(ShiftTotals(disc_p=-200))))

    def test_returns(self) -> None:
        """Returns have their own rounding, taxes and levies."""
        totals = ShiftTotals(
            pays={0: PaySum("Готівка", 0, 1000, round_mu=5, round_md=7)},
            taxes={
                3: TaxSum(
                    "ПДВ",
                    "ПДВ 20% + акциз 5%",
                    "ГД",
                    2000,
                    "Акциз",
                    500,
                    base_sum_m=1000,
                    base_tax_sum_m=952,
                    base_ex_sum_m=999,
                    tax_sum_m=159,
                    ex_sum_m=48,
                )
            },
        )
        lines = lines_of(x_form(totals))
        start = lines.index("ПІДСУМКИ ПОВЕРНЕННЯ")
        self.assertEqual(
            lines[start + 3 : start + 12],
            [
                "- Готівка 10.00",
                "заокруглено вгору 0.05",
                "заокруглено вниз -0.07",
                "ПОДАТКИ",
                "ГД: ПДВ 20% + акциз 5% 10.00",
                "База ПДВ ГД 9.52",
                "ПДВ ГД 20.00% 1.59",
                "База Акциз ГД 9.99",
                "Акциз ГД 5.00% 0.48",
            ],
        )
        self.assertNotIn("ПОДАТКИ", lines[:start])

    def test_no_tax(self) -> None:
        """A group without taxes has only its turnover."""
        lines = lines_of(x_form(ShiftTotals(taxes={2: TaxSum("", "Без ПДВ", "Б", base_sum_p=1000)})))
        start = lines.index("Б: Без ПДВ 10.00")
        self.assertEqual(set(lines[start + 1]), {"-"})

    def test_order_of_codes(self) -> None:
        """Payment types and tax groups are printed in the order of their codes."""
        totals = ShiftTotals(pays={2: PaySum("Картка", 1), 0: PaySum("Готівка", 2)})
        lines = lines_of(x_form(totals))
        self.assertLess(lines.index("- Готівка 0.02"), lines.index("- Картка 0.01"))


class SummaryTests(SynchronousTestCase):
    """Several Z reports together."""

    def test_long(self) -> None:
        """The period, the totals and each Z report: number, local and fiscal number, time, sum."""
        lines = lines_of(summary())
        self.assertIn("Період Z № 5 - 6", lines)
        self.assertIn("Кількість змін 2", lines)
        self.assertIn("Загальна сума 1234.56", lines)
        listed = lines.index("ПЕРЕЛІК ЗМІН")
        self.assertEqual(
            lines[listed + 1 : listed + 5],
            [
                "Зміна № 5, ВН 17, 21-09-2026 09:00:00",
                "ФН TEST_17 1234.50",
                "Зміна № 6, ВН 31, 22-09-2026 09:00:00",
                "ФН TEST_31 50.00",
            ],
        )

    def test_short(self) -> None:
        """A short one has only the totals."""
        lines = lines_of(summary(is_short=True))
        self.assertIn("Кількість змін 2", lines)
        self.assertIn("Загальна сума 1234.56", lines)
        self.assertNotIn("ПЕРЕЛІК ЗМІН", lines)
        self.assertNotIn("TEST_31", " ".join(lines))

    def test_kind(self) -> None:
        """It is neither fiscal nor an X or Z report; a test register's is marked as a test."""
        text = "\n".join(lines_of(summary()))
        self.assertNotIn("ЗВІТ №", text)
        self.assertNotIn("X-ЗВІТ", text)
        self.assertNotIn("Z-ЗВІТ", text)
        self.assertNotIn("ФІСКАЛЬНИЙ", text)
        self.assertEqual(lines_of(summary(dtype=0))[-1], "ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ")


class ServiceFormTests(SynchronousTestCase):
    """Free text between head and foot."""

    def test_kinds(self) -> None:
        """A line is text, EAN-13, Code 128 or QR, according to its number."""
        form = service_form(
            HEADER, "", MORNING, [("Залишки", 0), ("4820000000017", 1), ("A-1", 2), ("https://example.com", 100)]
        )
        for element in (
            Line("Залишки"),
            Barcode("ean13", "4820000000017"),
            Barcode("code128", "A-1"),
            Qr("https://example.com"),
        ):
            self.assertIn(element, form)

    def test_not_fiscal(self) -> None:
        """It is marked as not fiscal."""
        lines = lines_of(service_form(HEADER, "", MORNING, []))
        self.assertEqual(lines[-2:], ["НЕФІСКАЛЬНИЙ СЛУЖБОВИЙ ЧЕК", "dmtwisted"])


class BarcodeTests(SynchronousTestCase):
    """Which codes can be printed."""

    def refusal(self, kind: str, data: str) -> str:
        """Why ``data`` cannot be printed."""
        return str(self.assertRaises(ValueError, check_barcode, kind, data))

    def test_ean13(self) -> None:
        """Published EAN-13 numbers pass."""
        for data in ("4006381333931", "5901234123457", "4820000000017", "0000000000000"):
            check_barcode("ean13", data)

    def test_check_digit(self) -> None:
        """A wrong check digit is refused, and the right one is named."""
        self.assertEqual(self.refusal("ean13", "4006381333932"), "the check digit of EAN-13 is 2, 1 is expected")

    def test_every_wrong_check_digit(self) -> None:
        """One of the ten possible check digits passes."""
        passed = []
        for digit in "0123456789":
            try:
                check_barcode("ean13", f"590123412345{digit}")
            except ValueError:
                continue
            passed.append(digit)
        self.assertEqual(passed, ["7"])

    def test_not_thirteen_digits(self) -> None:
        """Anything but 13 digits is refused."""
        for data in ("", "400638133393", "40063813339310", "400638133393A", "４００６３８１３３３９３１"):
            self.assertEqual(self.refusal("ean13", data), "EAN-13 takes exactly 13 digits")

    def test_code128(self) -> None:
        """Code 128 takes the printable characters of ASCII, as many as fit the paper."""
        check_barcode("code128", "ABC-abc-123 ~")
        check_barcode("code128", "A" * LONGEST_BARCODE)
        for data in ("", "Кава", "A\nB", "A\x7f"):
            self.assertIn("ASCII", self.refusal("code128", data))
        self.assertEqual(
            self.refusal("code128", "A" * (LONGEST_BARCODE + 1)), "Code 128 takes at most 47 characters, not 48"
        )

    def test_qr(self) -> None:
        """A QR code takes any characters, up to the size of the largest code."""
        check_barcode("qr", "Кава")
        check_barcode("qr", "A" * QR_CAPACITY["L"])
        self.assertEqual(self.refusal("qr", ""), "a QR code takes 1 to 2953 bytes, not 0")
        self.assertEqual(self.refusal("qr", "К" * 1477), "a QR code takes 1 to 2953 bytes, not 2954")

    def test_unknown(self) -> None:
        """Another kind of code is refused."""
        self.assertEqual(self.refusal("upc", "1"), "ean13, ean8, code128 or qr is expected")


WRITTEN = "АБВГҐЄІЇабвгґєії ABCabc0123456789-.,"
names = st.text(alphabet=WRITTEN, min_size=1, max_size=60).map(lambda text: text.strip() or "Кава")
strange = st.text(max_size=40)
amounts = st.integers(0, 10**12)


def goods_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Good]:
    """Rows with such names and codes."""
    return st.builds(
        Good,
        name=texts,
        cnt=st.integers(1, 10**9),
        price=amounts,
        cost=amounts,
        disc=st.integers(-(10**6), 10**6),
        taxgrp=st.just(1),
        taxlit=st.sampled_from(("А", "ГД", "")),
        code1=texts,
        code2=texts,
        code3=texts,
        code_a=texts,
        code_aa=st.lists(texts, max_size=3).map(tuple),
        comment=texts,
    )


def pays_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Payment]:
    """Payments with such names and data."""
    wordy = ("comment", "paysys", "rrn", "cardmask", "term_id", "bank_id", "bank_name", "auth_code", "oper_type")
    return st.builds(
        Payment,
        type=st.integers(0, 30),
        name=texts,
        sum=amounts,
        tendered=amounts,
        change=amounts,
        commission=amounts,
        **dict.fromkeys(wordy, texts),
    )


def sales_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Document]:
    """Sales in which every text is one of ``texts``."""
    receipts = st.builds(
        Receipt,
        goods=st.lists(goods_of(texts), max_size=3).map(tuple),
        pays=st.lists(pays_of(texts), max_size=2).map(tuple),
        sum_receipt=amounts,
        round=st.integers(-99, 99),
        sum_topay=amounts,
        change=amounts,
        comment_up=texts,
        comment_down=texts,
    )
    return receipts.map(sale)


def compact(text: str) -> str:
    """``text`` without its blanks."""
    return "".join(text.split())


class AnySaleTests(SynchronousTestCase):
    """Properties of every receipt."""

    @given(sales_of(strange), st.integers(24, 64))
    def test_fits(self, paper: Document, width: int) -> None:
        """With any texts of a till, the receipt fits the paper and can be encoded in windows-1251."""
        text = render_text(receipt_form(paper, "TEST_17"), width)
        text.encode("cp1251")
        for line in text.split("\n"):
            self.assertLessEqual(len(line), width)

    @given(sales_of(names), st.integers(24, 64))
    def test_nothing_lost(self, paper: Document, width: int) -> None:
        """Every name, code, comment and amount is on the paper."""
        receipt = paper.receipt
        assert receipt is not None
        text = compact(render_text(receipt_form(paper, "TEST_17"), width))
        for said in (receipt.comment_up, receipt.comment_down):
            self.assertIn(compact(said), text)
        for amount in (receipt.sum_receipt, receipt.sum_topay, receipt.change):
            self.assertIn(hryvnias(amount), text)
        for good in receipt.goods:
            codes = (good.code1, good.code2, good.code3, good.code_a, *good.code_aa, good.comment)
            for code in codes:
                self.assertIn(compact(code), text)
            self.assertIn(f"x{hryvnias(good.price)}", text)
            self.assertIn(f"{compact(good.name)}{hryvnias(good.cost)}{good.taxlit}", text)
            self.assertIn(hryvnias(-good.disc) if good.disc else "", text)
        for pay in receipt.pays:
            self.assertIn(hryvnias(pay.commission) if pay.commission else "", text)
            self.assertIn(compact(pay.name).upper(), text.upper())
            self.assertIn(f",грн{hryvnias(pay.sum)}", text)
            for said in (pay.comment, pay.paysys, pay.rrn, pay.cardmask, pay.term_id, pay.bank_id, pay.auth_code):
                self.assertIn(compact(said), text)

    @given(sales_of(names))
    def test_amounts_are_pairs(self, paper: Document) -> None:
        """An amount is at the right edge of every paper: it is the second half of a pair."""
        form = receipt_form(paper, "TEST_17")
        rights = [part.right for part in form if isinstance(part, Pair)]
        assert paper.receipt is not None
        for amount in (paper.receipt.sum_topay, *(pay.sum for pay in paper.receipt.pays)):
            self.assertIn(hryvnias(amount), rights)
