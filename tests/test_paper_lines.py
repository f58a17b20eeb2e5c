"""The paper of every kind of document, line by line, on 58 mm and 80 mm, and with what the law names left empty.

Rows are those of the form ФКЧ-1 (order 13, edition of order 601); a number is given where the row is established
(docs/law.md, F2). The other lines stand where they always stood.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import CASHLESS
from dmtwisted.documents.documents import (
    Document,
    Good,
    OfflineMark,
    Payment,
    PaySum,
    Receipt,
    Reversed,
    ShiftTotals,
    TaxLine,
    TaxSum,
)
from dmtwisted.documents.forms import receipt_form, report_form
from dmtwisted.documents.model import Element
from dmtwisted.printing import image, pdf, text
from tests.shop import sale
from tests.test_papers import PaperCase
from tests.test_print_forms import HEADER, MORNING, document
from tests.test_printing_service import PRINTING

WIDTHS = (32, 48)
"""Characters of 58 mm and 80 mm paper."""

SELLER = msgspec.structs.replace(HEADER, shopad="м. Київ, вул. Сагайдачного, 12")
NUMBER = "5008.3.4758"
OFFLINE = OfflineMark(NUMBER, "cdd6")

BEER = Good(
    name="Пиво темне",
    cnt=1500,
    price=10000,
    cost=15000,
    disc=500,
    taxgrp=3,
    taxlit="ГД",
    code1="4820000000017",
    code2="2203000100",
    code_a="AATE508932",
    comment="без пакета",
)
CARD = Payment(
    type=2,
    name="Картка",
    sum=10000,
    tendered=10000,
    commission=50,
    paysys="VISA",
    rrn="012345678901",
    cardmask="414950******1234",
    term_id="S1K30000",
    bank_id="77",
    bank_name="ПриватБанк",
    auth_code="123456",
)
CASH = Payment(type=0, name="Готівка", sum=4450, tendered=5000, change=550, round=-50)
BOTH = TaxLine(
    gr_code=3,
    base_sum=14500,
    tax_name="ПДВ",
    tax_fname="ПДВ 20% + акциз 5%",
    tax_lit="ГД",
    tax_percent=2000,
    tax_sum=2302,
    ex_name="Акциз",
    ex_percent=500,
    ex_sum=690,
)
SOLD = Receipt(
    goods=(BEER,),
    pays=(CARD, CASH),
    taxes=(BOTH,),
    sum_0=15000,
    sum_disc=500,
    sum_receipt=14500,
    round=-50,
    sum_topay=14450,
    change=550,
    comment_up="Столик 5",
    comment_down="Гарного дня",
)
RETURNED = msgspec.structs.replace(
    SOLD, change=0, comment_up="", comment_down="", purchase_receipt_fisn="TEST_9", purchase_rro_fisn="4000000001"
)
FLOAT = Payment(type=0, name="Готівка", sum=50000, tendered=50000, comment="Розмін")
BARE = Receipt(
    goods=(Good(name="Хліб", cnt=1000, price=2550, cost=2550, taxgrp=2, taxlit="Б"),),
    pays=(Payment(type=2, name="Картка", form=CASHLESS, sum=2550, tendered=2550),),
    sum_0=2550,
    sum_receipt=2550,
    sum_topay=2550,
)
"""A receipt in which everything is empty that may be."""

TOTALS = ShiftTotals(
    count_p=2,
    count_m=1,
    count_14=1,
    last_docno_p=16,
    last_docno_m=14,
    base_p=14500,
    base_m=1000,
    disc_p=500,
    calc_p=14450,
    calc_m=1000,
    first_docno=1,
    last_docno=18,
    safe_start=10000,
    safe=55550,
    pays={0: PaySum("Готівка", 4500, 1000, round_pd=50), 2: PaySum("Картка", 10000)},
    money={0: PaySum("Готівка", 50000, 30000)},
    cash={2: PaySum("Картка", 0, 5000)},
    taxes={
        3: TaxSum(
            *("ПДВ", "ПДВ і акциз", "ГД", 2000, "Акциз", 500),
            base_sum_p=14500,
            base_tax_sum_p=13810,
            base_ex_sum_p=14500,
            tax_sum_p=2302,
            ex_sum_p=690,
        )
    },
)

HEAD = """
1   ^ТОВ "Ромашка"
2   ^Кав'ярня на Подолі
3   ^м. Київ, вул. Сагайдачного, 12
4   ^ПН 123456789012
    Касир: Іваненко О. П.
    -
"""
GOODS = """
6   1.5 x 100.00
7   УКТЗЕД 2203000100
8   Штрих-код 4820000000017
9   Акцизна марка AATE508932
10  Пиво темне|150.00 ГД
    без пакета
    Знижка|-5.00
    -
"""
SLIP = """
12  Еквайр|ПриватБанк 77
13  Термінал|S1K30000
14  Комісія|0.50
15  Операція|{operation}
16  ЕПЗ|414950******1234
17  Платіжна система|VISA
17  Код авторизації|123456
17  Код транзакції RRN|012345678901
"""
PAYS = """
18  БЕЗГОТІВКОВА: Картка, грн|100.00
19  ГОТІВКА, грн|44.50
    -
    СУМА|145.00
    ПДВ ГД 20.00%|23.02
    Акциз ГД 5.00%|6.90
    Заокруглення|-0.50
"""
FOOT = """
    -
    ЧЕК № 5008.3.4758|ВН 17
    21-09-2026 09:00:00
"""
LINK = """
26  @{sum}
"""
END = """
    ОФЛАЙН
28  Контрольне число 4758
    ФН ПРРО 4000438533
"""
CLOSING = """
    ^{closing}
    ^dmtwisted
"""

GOLDEN = {
    "sale": (
        HEAD + "    Столик 5\n    -\n" + GOODS + SLIP.format(operation="Оплата") + PAYS,
        "    ДО СПЛАТИ|144.50\n    Отримано|50.00\n    Решта|5.50\n    -\n    Гарного дня\n" + FOOT,
        LINK.format(sum="144.50") + END + CLOSING.format(closing="ФІСКАЛЬНИЙ ЧЕК"),
    ),
    "return": (
        HEAD + "    ^ПОВЕРНЕННЯ\n    -\n    До чека № TEST_9\n    ФН ПРРО чека 4000000001\n    -\n" + GOODS,
        SLIP.format(operation="Повернення") + PAYS + "    ДО ВИДАЧІ|144.50\n" + FOOT,
        LINK.format(sum="144.50") + END + CLOSING.format(closing="ВИДАТКОВИЙ ЧЕК"),
    ),
    "cash_in": (
        HEAD + "    ^СЛУЖБОВЕ ВНЕСЕННЯ\n    -\n    ГОТІВКА, грн|500.00\n    СУМА|500.00\n    Розмін\n" + FOOT,
        END + CLOSING.format(closing="СЛУЖБОВИЙ ЧЕК"),
    ),
    "cash_out": (
        HEAD + "    ^СЛУЖБОВА ВИДАЧА\n    -\n    ГОТІВКА, грн|500.00\n    СУМА|500.00\n    Розмін\n" + FOOT,
        END + CLOSING.format(closing="СЛУЖБОВИЙ ЧЕК"),
    ),
    "withdrawal": (
        HEAD + "    ^ВИДАЧА ГОТІВКИ\n    -\n" + SLIP.format(operation="Видача готівки"),
        "18  БЕЗГОТІВКОВА: Картка, грн|100.00\n    СУМА|100.00\n" + FOOT,
        LINK.format(sum="100.00") + END + CLOSING.format(closing="ВИДАТКОВИЙ ЧЕК"),
    ),
    "storno": (
        HEAD + "    ^СТОРНО\n    -\n    Скасовано чек № TEST_16, ВН 16\n    -\n    Столик 5\n    -\n" + GOODS,
        SLIP.format(operation="Скасування") + PAYS + "    СУМА СТОРНО|144.50\n    -\n    Гарного дня\n" + FOOT,
        END + CLOSING.format(closing="СЛУЖБОВИЙ ЧЕК"),
    ),
    "bare": (
        "    -\n6   1 x 25.50\n10  Хліб|25.50 Б\n    -\n18  БЕЗГОТІВКОВА: Картка, грн|25.50\n    -\n    СУМА|25.50\n",
        "    ДО СПЛАТИ|25.50\n    -\n    ЧЕК № 3000000017|ВН 17\n    21-09-2026 09:00:00\n",
        "26  @25.50\n    ОНЛАЙН\n    ФН ПРРО 4000438533\n" + CLOSING.format(closing="ФІСКАЛЬНИЙ ЧЕК"),
    ),
}
"""The lines of each kind; see `laid_out`."""

REPORT = """
    Зміна|№ 5
    Документи|№ 1 - 18
    -
    ПІДСУМКИ РЕАЛІЗАЦІЇ
    Чеків|2
    Останній чек|№ 16
    Загальна сума|145.00
    Знижки|-5.00
    Сплачено|144.50
    - Готівка|45.00
      заокруглено вниз|-0.50
    - Картка|100.00
    ПОДАТКИ
    ГД: ПДВ і акциз|145.00
      База ПДВ ГД|138.10
      ПДВ ГД 20.00%|23.02
      Акциз ГД 5.00%|6.90
    -
    ПІДСУМКИ ПОВЕРНЕННЯ
    Чеків|1
    Останній чек|№ 14
    Загальна сума|10.00
    - Готівка|10.00
    -
    СЛУЖБОВІ ОПЕРАЦІЇ
    Внесено: Готівка|500.00
    Видано: Готівка|300.00
    -
    ВИДАЧА ГОТІВКИ З КАРТОК
    Чеків|1
    Видано: Картка|50.00
    -
    КАСА
    Готівка на початок|100.00
    Готівка в касі|555.50
    -
"""
ONLINE = "    21-09-2026 09:00:00\n    ОНЛАЙН\n    ФН ПРРО 4000438533\n"
GOLDEN["x"] = (HEAD + "    ^X-ЗВІТ\n" + REPORT + ONLINE, CLOSING.format(closing="СЛУЖБОВИЙ ЧЕК"))
GOLDEN["z"] = (
    HEAD + "    ^Z-ЗВІТ\n" + REPORT + "    ЗВІТ № TEST_18|ВН 18\n" + ONLINE,
    CLOSING.format(closing="ФІСКАЛЬНИЙ Z-ЗВІТ"),
)


def form_of(kind: str, **parts: Any) -> list[Element]:
    """The form of the document of ``kind``; ``parts`` replace its own."""
    if kind in "xz":
        title, number = f"{kind.upper()}-ЗВІТ", 18 if kind == "z" else 0
        fiscal_number = "TEST_18" if number else ""
        report: dict[str, Any] = {"number": number, "fiscal_number": fiscal_number, "shift": 5, "dtype": 1}
        return report_form(title, SELLER, "Іваненко О. П.", MORNING, TOTALS, **report)
    own: dict[str, dict[str, Any]] = {
        "sale": {"receipt": SOLD},
        "return": {"receipt": RETURNED},
        "cash_in": {"cash": FLOAT},
        "cash_out": {"cash": FLOAT},
        "withdrawal": {"cash": CARD},
        "storno": {"receipt": SOLD, "reverses": Reversed(documents.SALE, 16, "TEST_16")},
    }
    if kind == "bare":
        seller = documents.Header(fisid=SELLER.fisid, zero_change=False)
        return receipt_form(document(documents.SALE, receipt=BARE, header=seller, cashier=""), "3000000017")
    paper: Document = document(kind, **{"header": SELLER, "offline": OFFLINE, **own[kind], **parts})
    return receipt_form(paper, NUMBER)


def rows_of(golden: tuple[str, ...]) -> list[tuple[int, str]]:
    """The lines of a golden text, each with its row in the law's form, or 0."""
    lines = [line for part in golden for line in part.splitlines() if line]
    return [(int(line[:4].strip() or 0), line[4:]) for line in lines]


def laid_out(lines: list[str], width: int, number: str, mac: str) -> list[str]:
    """Golden lines on paper of ``width``.

    ``^`` centers, ``|`` puts the rest at the right edge, ``-`` alone is a rule, ``@`` the link of a sum.
    """
    found = []
    for line in lines:
        if line == "-":
            found.append("-" * width)
        elif line.startswith("^"):
            found.append(" " * ((width + 1 - len(line)) // 2) + line[1:])
        elif line.startswith("@"):
            link = f"https://cabinet.tax.gov.ua/cashregs/check?id={number}&date=20260921&time=090000&fn=4000438533"
            link += f"&sm={line[1:]}{mac}"
            found += [link[at : at + width] for at in range(0, len(link), width)]
        elif "|" in line:
            left, _, right = line.partition("|")
            found.append(left + " " * (width - len(left) - len(right)) + right)
        else:
            found.append(line)
    return found


class PaperLineTests(SynchronousTestCase):
    """Each kind of document, line by line."""

    maxDiff = None

    def test_every_kind(self) -> None:
        """Each line of each kind is there, in its order, and no other, on both widths."""
        for kind, golden in GOLDEN.items():
            number, mac = ("3000000017", "") if kind == "bare" else (NUMBER, "&mac=cdd6")
            for width in WIDTHS:
                told = text.render_text(form_of(kind), width).splitlines()
                lines = [line for _, line in rows_of(golden)]
                self.assertEqual(told, laid_out(lines, width, number, mac), f"{kind} {width}")

    def test_every_row(self) -> None:
        """The established rows of the law stand in a sale, in the order of the form, and in its paper."""
        rows = [row for row, _ in rows_of(GOLDEN["sale"]) if row]
        self.assertEqual(rows, sorted(rows))
        self.assertEqual(set(rows), {*range(1, 5), *range(6, 11), *range(12, 20), 26, 28})
        lines = text.render_text(form_of("sale", header=msgspec.structs.replace(SELLER, vat_code="")), 48)
        self.assertIn("ІД 12345678", lines, "row 5 in place of row 4")

    def test_left_out(self) -> None:
        """Whatever has no content has no line, and every other line stays."""
        for gone, parts in LEFT_OUT.items():
            lines = "".join(f"{line}\n" for _, line in rows_of(GOLDEN["sale"]))
            self.assertEqual(lines.count(gone), 1, gone)
            left = lines.replace(gone, "").splitlines()
            for width in WIDTHS:
                told = text.render_text(form_of("sale", **parts), width).splitlines()
                self.assertEqual(told, laid_out(left, width, NUMBER, "&mac=cdd6"), f"{gone} {width}")


def _without(header: bool = False, good: bool = False, pay: bool = False, **members: Any) -> dict[str, Any]:
    """Parts of the sale with other ``members`` of its seller, its item, its card payment, or its receipt."""
    if header:
        return {"header": msgspec.structs.replace(SELLER, **members)}
    if good:
        members = {"goods": (msgspec.structs.replace(BEER, **members),)}
    elif pay:
        members = {"pays": (msgspec.structs.replace(CARD, **members), CASH)}
    return {"receipt": msgspec.structs.replace(SOLD, **members)}


LEFT_OUT: dict[str, dict[str, Any]] = {
    '^ТОВ "Ромашка"\n': _without(header=True, name=""),
    "^Кав'ярня на Подолі\n": _without(header=True, shopname=""),
    "^м. Київ, вул. Сагайдачного, 12\n": _without(header=True, shopad=""),
    "^ПН 123456789012\n": _without(header=True, vat_code="", fis_code=""),
    "Касир: Іваненко О. П.\n": {"cashier": ""},
    "Столик 5\n-\n": _without(comment_up=""),
    "УКТЗЕД 2203000100\n": _without(good=True, code2=""),
    "Штрих-код 4820000000017\n": _without(good=True, code1=""),
    "Акцизна марка AATE508932\n": _without(good=True, code_a=" "),
    "без пакета\n": _without(good=True, comment=""),
    "Знижка|-5.00\n": _without(good=True, disc=0),
    "Еквайр|ПриватБанк 77\n": _without(pay=True, bank_name="", bank_id=" "),
    "Термінал|S1K30000\n": _without(pay=True, term_id=" "),
    "Комісія|0.50\n": _without(pay=True, commission=0),
    "ЕПЗ|414950******1234\n": _without(pay=True, cardmask=""),
    "Платіжна система|VISA\n": _without(pay=True, paysys=" "),
    "Код авторизації|123456\n": _without(pay=True, auth_code=""),
    "Код транзакції RRN|012345678901\n": _without(pay=True, rrn=""),
    "ПДВ ГД 20.00%|23.02\nАкциз ГД 5.00%|6.90\n": _without(taxes=()),
    "Заокруглення|-0.50\n": _without(round=0),
    "Отримано|50.00\nРешта|5.50\n": {
        **_without(change=0),
        "header": msgspec.structs.replace(SELLER, zero_change=False),
    },
    "-\nГарного дня\n": _without(comment_down=""),
}
"""Lines of a sale, each with what makes it empty."""


class SameElementsTests(PaperCase):
    """Text, picture, PDF and paper."""

    def test_one_form(self) -> None:
        """The answer to one sale has link, text, picture and PDF, drawn from the same elements as its paper."""
        drawn: dict[str, list[Element]] = {}
        for module, name in ((text, "render_text"), (image, "draw"), (pdf, "draw")):
            usual = getattr(module, name)

            def spy(elements: Any, *more: Any, module: Any = module, usual: Any = usual) -> Any:
                drawn[module.__name__] = list(elements)
                return usual(elements, *more)

            self.patch(module, name, spy)
        wishes = {"need_pf_txt": 2, "need_pf_img": 2, "need_pf_pdf": 2}
        body = {"ver": 6, "device": "test", "type": 1, **wishes, "fiscal": {"task": 1, "receipt": sale()}}
        answer = self.execute(body, PRINTING)
        self.assertPrinted(answer, 1)
        forms = {
            name: base64.b64decode(answer[name].partition(";base64,")[2])
            for name in ("pf_text", "pf_image", "pf_pdf")
        }
        self.assertEqual((forms["pf_image"][:4], forms["pf_pdf"][:5]), (b"\x89PNG", b"%PDF-"))
        first, *others = drawn.values()
        self.assertEqual((len(drawn), others), (3, [first, first]))
        link = answer["info"]["qr"]
        told = re.sub(r"\s", "", forms["pf_text"].decode("cp1251")).replace(link, "")
        self.assertIn(f"id={answer['info']['doccode']}&", link)
        printed = re.sub(r"\s", "", self.paper("prn")).replace(f"[qr{link}]", "")
        self.assertEqual(printed.rstrip("-"), told)
