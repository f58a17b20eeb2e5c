"""A shop's template adds lines to a receipt; whatever it does, the receipt is printed completely."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Good, OfflineMark
from dmtwisted.documents.forms import receipt_form
from dmtwisted.documents.model import Barcode, Element, Feed, Image, Line, Logo, Pair, Qr, Rule
from dmtwisted.documents.pictures import as_png
from dmtwisted.documents.template import (
    LONGEST_FILLED,
    LONGEST_TEMPLATE,
    MOST_LOOPS,
    MOST_PRINTED,
    SAMPLE,
    BrokenTemplate,
    Item,
    Paid,
    Tax,
    Values,
    check_template,
    values_of,
    with_template,
)
from dmtwisted.printing.text import render_text

PAGE = Path(__file__).parent.parent / "docs" / "print-forms.md"
FORM = receipt_form(SAMPLE, "TEST_17")


def changed(**members: object) -> Document:
    """The sample with other values."""
    return msgspec.structs.replace(SAMPLE, **members)


def sold(*goods: Good) -> Document:
    """The sample with other items."""
    assert SAMPLE.receipt is not None
    return changed(receipt=msgspec.structs.replace(SAMPLE.receipt, goods=goods))


class TemplateCase(SynchronousTestCase):
    """Tests of the lines that a template adds."""

    def added(self, source: str, document: Document = SAMPLE) -> tuple[list[Element], list[Element]]:
        """The lines above and below the receipt, which itself is complete."""
        form, reason = with_template(FORM, source, document, "TEST_17")
        self.assertEqual(reason, "")
        (place,) = (at for at in range(len(form)) if form[at : at + len(FORM)] == FORM)
        return form[:place], form[place + len(FORM) :]

    def below(self, source: str, document: Document = SAMPLE) -> list[Element]:
        """The lines below the receipt; there are none above."""
        above, below = self.added(source, document)
        self.assertEqual(above, [])
        return below

    def reason(self, source: str, document: Document = SAMPLE) -> str:
        """Why a template adds nothing; the receipt is the same as without it."""
        form, reason = with_template(FORM, source, document, "TEST_17")
        self.assertEqual(form, FORM)
        return reason


class MarkTests(TemplateCase):
    """Lines, and the marks that give their style."""

    def test_text(self) -> None:
        """A line is a text; blank lines are left out, blanks at the beginning stay."""
        self.assertEqual(self.below("Дякуємо!\n\n  до зустрічі  \n"), [Line("Дякуємо!"), Line("  до зустрічі")])

    def test_places(self) -> None:
        """Lines above the mark of the receipt are printed above it, the rest below."""
        self.assertEqual(self.added("вгорі\n%receipt\nвнизу"), ([Line("вгорі")], [Line("внизу")]))
        self.assertEqual(self.added("вгорі\n%receipt"), ([Line("вгорі")], []))

    def test_styles(self) -> None:
        """Styles are written before a text, in any order and number."""
        self.assertEqual(
            self.below("%center %bold %big Акція\n%underline %right Підпис\n%left а"),
            [Line("Акція", "center", bold=True, size=2), Line("Підпис", "right", underline=True), Line("а")],
        )

    def test_elements(self) -> None:
        """Everything else that a template can add."""
        picture = Image(8, b"\x7e\x3c")
        source = f"""
            %logo
            %left %logo 3
            %pair Разом | 50.00
            %bold %big %pair Разом | 50.00
            %rule
            %rule =-
            %feed
            %feed 3
            %qr https://example.com
            %right %qr x
            %ean13 4820000000017
            %ean8 96385074
            %code128 TABLE 5
            %image {_base64(as_png(picture))}
        """
        self.assertEqual(
            self.below("\n".join(line.strip() for line in source.split("\n"))),
            [
                Logo(),
                Logo(3, "left"),
                Pair("Разом", "50.00"),
                Pair("Разом", "50.00", bold=True, size=2),
                Rule(),
                Rule("=-"),
                Feed(),
                Feed(3),
                Qr("https://example.com"),
                Qr("x", align="right"),
                Barcode("ean13", "4820000000017"),
                Barcode("ean8", "96385074"),
                Barcode("code128", "TABLE 5"),
                picture,
            ],
        )

    def test_percent(self) -> None:
        """A text that begins with a percent sign is written with two; elsewhere one is one."""
        self.assertEqual(self.below("%%знижка 10 %\n%bold 5 %"), [Line("%знижка 10 %"), Line("5 %", bold=True)])

    def test_marks_in_values(self) -> None:
        """No value is read as a mark, a bar or a new line, whatever a till sends."""
        said = "%qr x | y %receipt %logo"
        document = changed(cashier="%qr x | y\n%receipt\u2028%logo")
        self.assertEqual(
            self.below("{{ cashier }}\n%pair {{ cashier }} | {{ cashier }}", document),
            [Line(said), Pair(said, said)],
        )


class ValueTests(TemplateCase):
    """The values of a receipt in a template."""

    def said(self, expression: str, document: Document = SAMPLE) -> str:
        """One value as it is printed."""
        (line,) = self.below("{{ " + expression + " }}", document)
        assert isinstance(line, Line)
        return line.text

    def test_receipt(self) -> None:
        """Numbers, time in Kyiv, amounts, seller."""
        for expression, text in (
            ("kind", "sale"),
            ("number", "TEST_17"),
            ("local_number", "17"),
            ("date ~ ' ' ~ time", "21.09.2026 09:00:00"),
            ("sum", "50.00"),
            ("discount", "1.00"),
            ("rounding", "0.00"),
            ("change", "50.00"),
            ("cashier", "Олена"),
            ("seller", 'ТОВ "Ромашка"'),
            ("shop", "Кав'ярня"),
            ("address", "м. Київ"),
            ("register", "4000438533"),
            ("device", "test"),
            (
                "link",
                "https://cabinet.tax.gov.ua/cashregs/check"
                "?id=TEST_17&date=20260921&time=090000&fn=4000438533&sm=50.00",
            ),
        ):
            self.assertEqual(self.said(expression), text)

    def test_flags(self) -> None:
        """Whether it is a test, an offline document, a copy."""
        flags = ["'т' if is_test else 'ф'", "'о' if is_offline else 'н'", "'к' if is_copy else 'п'"]
        said = " ~ ".join(f"({flag})" for flag in flags)
        self.assertEqual(self.said(said), "тнп")
        self.assertEqual(self.said(said, changed(dtype=1, offline=OfflineMark("1.2.3"))), "фоп")
        self.assertTrue(values_of(SAMPLE, "1", copy=True).is_copy)

    def test_items(self) -> None:
        """Loops over rows, payments and taxes, with the members of each."""
        source = (
            "{% for item in items %}\n"
            "%pair {{ loop.index }}. {{ item.name }}, {{ item.quantity }} x {{ item.price }} | {{ item.total }}\n"
            "{{ item.cost }} - {{ item.discount }}, "
            "{{ item.code }}{{ item.barcode }}{{ item.tax }}{{ item.comment }}\n"
            "{% endfor %}\n"
            "{% for pay in payments %}\n{{ pay.type }} {{ pay.name }} {{ pay.sum }}{{ pay.card }}\n{% endfor %}\n"
            "{% for tax in taxes %}\n{{ tax.letter }} {{ tax.name }} {{ tax.sum }}\n{% endfor %}\n"
        )
        self.assertEqual(
            self.below(source),
            [
                Pair("1. Кава, 2 x 25.50", "50.00"),
                Line("51.00 - 1.00, 1А"),
                Line("0 Готівка 50.00"),
                Line("А ПДВ 20% 8.33"),
            ],
        )

    def test_conditions(self) -> None:
        """Amounts compare as numbers."""
        source = "{% if sum >= 50 %}так{% else %}ні{% endif %}"
        self.assertEqual(self.below(source), [Line("так")])
        self.assertEqual(self.below(source.replace("50", "50.01")), [Line("ні")])

    def test_filters(self) -> None:
        """Filters of texts."""
        for expression, text in (
            ("cashier|upper", "ОЛЕНА"),
            ("cashier|lower", "олена"),
            ("'кава'|capitalize", "Кава"),
            ("'  а '|trim ~ '.'", "а."),
            ("items|length", "1"),
            ("items[0].comment or 'нічого'", "нічого"),
            ("'дуже довга назва'|truncate(9, true, '…', 0)", "дуже дов…"),
        ):
            self.assertEqual(self.said(expression), text)

    def test_quantities(self) -> None:
        """Quantities have only significant digits, amounts always two decimals."""
        good = Good(name="а", cnt=10_000, price=5, cost=50, taxgrp=1)
        self.assertEqual(self.said("items[0].quantity ~ ' ' ~ items[0].cost", sold(good)), "10 0.50")
        self.assertEqual(self.said("items[0].quantity", sold(msgspec.structs.replace(good, cnt=1250))), "1.25")


class BrokenTests(TemplateCase):
    """Invalid templates: the receipt is printed without them, with a reason."""

    def test_reasons(self) -> None:
        """The reason of every mistake names its line or its text."""
        for source, reason in (
            ("{{ nobody }}", "line 1: there is no value nobody"),
            ("а\n{{ cashier", "line 2: unexpected end of template, expected 'end of print statement'."),
            ("{{ items[0].nothing }}", "line 1: there is no value nothing"),
            ("{{ items }}", "only texts and numbers can be printed"),
            ("{{ loop.index }}", "'loop' is undefined"),
            ("%bolt Акція", "“%bolt Акція”: there is no mark %bolt"),
            ("% Акція", "“% Акція”: there is no mark %%"),
            ("%pair Разом", "“%pair Разом”: a pair is written as LEFT | RIGHT"),
            ("%feed 0", "“%feed 0”: lines: a number from 1 to 255 is expected"),
            ("%ean8 1", "“%ean8 1”: data: EAN-8 takes exactly 8 digits"),
            ("%bold %qr x", "“%bold %qr x”: bold: unknown member; data, level, module, align can be given"),
            ("%receipt\n%receipt", "%receipt is there twice"),
            ("%cut", "“%cut”: there is no mark %cut"),
            ("%drawer", "“%drawer”: there is no mark %drawer"),
        ):
            self.assertEqual(self.reason(source), reason)
            broken = self.assertRaises(BrokenTemplate, check_template, source)
            self.assertEqual(str(broken), reason)

    def test_titles(self) -> None:
        """Only the register calls a document a fiscal receipt."""
        for line in ("ФІСКАЛЬНИЙ ЧЕК", "%center Фіскальний  чек!", "%pair ВИДАТКОВИЙ | чек", "нефіскальний чек"):
            self.assertIn("only the register may print this title", self.reason(line))

    def test_not_allowed(self) -> None:
        """A template cannot call, assign, load, repeat or inspect anything."""
        for source in (
            "{{ cashier.upper() }}",
            "{{ range(10) }}",
            "{{ ''.__class__ }}",
            "{{ items.__class__ }}",
            "{{ items['__class__'] }}",
            "{{ cashier|attr('__class__') }}",
            "{{ cashier|format }}",
            "{{ 'а' * 1000000000 }}",
            "{{ 9 ** 999999999 }}",
            "{{ '%1000000000d' % 1 }}",
            "{% set a = 1 %}",
            "{% macro a() %}{{ a() }}{% endmacro %}",
            "{% include 'a' %}",
            "{% import 'a' as a %}",
            "{% extends 'a' %}",
            "{% block a %}{% endblock %}",
            "{% for a in 'текст' %}{% endfor %}",
            "{% for a in items recursive %}{% endfor %}",
            "{% for a in items %}{% for b in items %}{% endfor %}{% endfor %}",
            "{% for items in items %}{% endfor %}",
            "{% for a, b in items %}{% endfor %}",
            "{{ self }}",
            "{{ lipsum() }}",
            "{{ {'a': 1} }}",
            "{{ [1] }}",
            "{{ cashier[0:1] }}",
        ):
            self.assertNotEqual(self.reason(source), "", source)

    def test_bounds(self) -> None:
        """Size, parts, loops, lines and length of a template have limits."""
        many = sold(*[Good(name="а" * 250, cnt=1000, price=1, cost=1, taxgrp=1)] * 1000)
        for source, document, reason in (
            ("а" * (LONGEST_TEMPLATE + 1), SAMPLE, "the template is longer than 65536 characters"),
            ("{{ sum }}" * 500, SAMPLE, "the template has more than 500 parts"),
            ("{% for a in items %}{% endfor %}" * (MOST_LOOPS + 1), SAMPLE, "line 1: at most 8 loops can be used"),
            ("а\n" * (MOST_PRINTED + 1), SAMPLE, "at most 100 lines and 4 pictures can be added"),
            ("{% for a in items %}\nа\n{% endfor %}", many, "at most 100 lines and 4 pictures can be added"),
            (
                "{% for a in items %}{{ a.name }}{{ a.name }}{{ a.name }}{% endfor %}",
                many,
                f"the filled template is longer than {LONGEST_FILLED} characters",
            ),
            (
                "{% for a in items %}" + "{{ a.code }}" * 30 + "{% endfor %}",
                many,
                f"the filled template is longer than {LONGEST_FILLED} characters",
            ),
            ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", SAMPLE, ""),
            ("{{ " + "1" * 5000 + " }}", SAMPLE, ""),
        ):
            self.assertIn(reason, self.reason(source, document))
            self.assertNotEqual(self.reason(source, document), "")

    def test_pictures(self) -> None:
        """A template has four pictures at most."""
        line = f"%image {_base64(as_png(Image(8, b'x')))}\n"
        self.assertEqual(len(self.below(line * 4)), 4)
        self.assertEqual(self.reason(line * 5), "at most 100 lines and 4 pictures can be added")

    def test_checked_with_a_receipt(self) -> None:
        """A valid template passes the check, and so does an empty one."""
        check_template("%center {{ shop }}\n%receipt\n{% for item in items %}{{ item.name }}{% endfor %}")
        check_template(" \n")

    @given(st.text(st.sampled_from("{}% |ab\nqréceipt#0'")))
    @example("{% if %}")
    @example("%receipt")
    def test_anything(self, source: str) -> None:
        """With any template, the receipt is printed completely, without an interruption."""
        form, _ = with_template(FORM, source, SAMPLE, "TEST_17")
        self.assertTrue(any(form[at : at + len(FORM)] == FORM for at in range(len(form))))


class DocumentTests(TemplateCase):
    """The documents to which a template adds lines."""

    def test_receipts_only(self) -> None:
        """Sales and returns have additions, everything else has none."""
        source = "Дякуємо!"
        for kind in (documents.SALE, documents.RETURN):
            self.assertEqual(self.below(source, changed(kind=kind)), [Line("Дякуємо!")])
        for kind in (documents.CASH_IN, documents.Z, documents.OPEN, documents.STORNO, documents.WITHDRAWAL):
            self.assertEqual(self.added(source, changed(kind=kind)), ([], []))

    def test_no_template(self) -> None:
        """Without a template the form is unchanged."""
        self.assertEqual(with_template(FORM, "", SAMPLE, "TEST_17"), (FORM, ""))


class PageTests(TemplateCase):
    """The page that explains print forms."""

    def test_example(self) -> None:
        """The page's template prints the page's receipt, line by line."""
        page = PAGE.read_text(encoding="utf-8")
        (template,) = re.findall(r"```jinja\n(.*?)```", page, re.S)
        above, below = self.added(template)
        (paper,) = re.findall(r"```text\n(.*?)```", page, re.S)
        self.assertEqual(render_text([*above, Line("(чек)"), *below], 40), paper)

    def test_values(self) -> None:
        """The page has every value, and every member of rows, payments and taxes."""
        page = PAGE.read_text(encoding="utf-8")
        for kind in (Values, Item, Paid, Tax):
            for name in kind.__struct_fields__:
                self.assertIn(f"`{name}`", page)


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
