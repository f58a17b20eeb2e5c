"""The accountant's files: receipts and Z reports of a period, against the registers' own totals."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import csv
import io
import sqlite3
from base64 import b64decode
from collections import defaultdict
from contextlib import closing, redirect_stdout
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import msgspec
from lxml import etree  # type: ignore[import-untyped]

from dmtwisted.commands.main import main
from dmtwisted.documents import documents
from dmtwisted.documents.accounts import TABLES, Accounts, Item, ZReport, csv_lines, xml_lines
from dmtwisted.documents.documents import Caller, Document, Good, Header, Receipt
from dmtwisted.store.revisions import head
from tests.test_sessions import AccessCase
from tests.web_case import fiscal
from tools.accounts_schema import PAGE, schema

ACCOUNTS = "/dm/api/v3/accounts"

MARK = "(01)\x1d=]d2<\"&' Ї"


class AccountsCase(AccessCase):
    """A shop with some shifts of all kinds of documents."""

    def setUp(self) -> None:
        """A register that rounds cash."""
        super().setUp()
        [device] = self.shop.core.devices
        changed = self.request(
            "PATCH", f"/dm/api/v3/devices/{device.row.dev_id}", {"settings": {"rounding_step": 50}}
        )
        self.assertEqual(changed.status, 200, changed.body)

    def shift(self, random: Random, receipts: int) -> Any:
        """One shift; the answer to its Z."""
        self.assertEqual(self.fiscal(0)["res"], 0)
        self.assertEqual(self.fiscal(3, cash={"type": 0, "sum": 5000})["res"], 0)
        for _ in range(receipts):
            self.shop.clock.advance(random.randrange(1, 400))
            told = self.execute(self.receipt(random))
            self.assertEqual(told["res"], 0, told)
            if random.random() < 0.1:
                self.assertEqual(self.fiscal(17)["res"], 0)
        self.assertEqual(self.fiscal(4, cash={"type": 0, "sum": 10})["res"], 0)
        self.assertEqual(self.fiscal(14, cash={"type": 2, "sum": 100, "commission": 1})["res"], 0)
        told = self.fiscal(11)
        self.assertEqual(told["res"], 0, told)
        self.shop.clock.advance(3600)
        return told["info"]

    def receipt(self, random: Random) -> dict[str, Any]:
        """A sale or a return, paid in one or two ways."""
        rows, total = [], 0
        for _ in range(random.randrange(1, 4)):
            count, price = random.choice([1, 2, 0.5]), random.randrange(2, 20000, 2)
            name, group = random.choice(["Кава", "=SUM(A1)", 'Чай "Ї" <&>;']), random.choice([1, 3, 8])
            rows.append({"name": name, "cnt": count, "price": price / 100, "taxgrp": group})
            total += int(count * price)
        card = random.choice([0, total, total // 2])
        pays = [{"type": kind, "sum": each / 100} for kind, each in ((2, card), (0, total - card)) if each]
        task, asked = random.choice([1, 1, 2]), {"sum": total / 100, "rows": rows, "pays": pays}
        if task == 2:
            asked["purchase_receipt_fisn"] = "77"
        return fiscal(task, receipt=asked)

    def xml(self, query: str = "") -> ElementTree.Element:
        """The file as XML, valid by the schema."""
        answer = self.request("GET", f"{ACCOUNTS}?format=xml{query}")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/xml"))
        etree.XMLSchema(etree.fromstring(schema().encode())).assertValid(etree.fromstring(answer.body))
        return ElementTree.fromstring(answer.body)

    def table(self, table: str, query: str = "") -> list[dict[str, str]]:
        """A table as CSV."""
        answer = self.request("GET", f"{ACCOUNTS}?table={table}{query}")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/csv; charset=utf-8"))
        return list(csv.DictReader(io.StringIO(answer.body.decode("utf-8-sig"), newline="")))


class TotalsTests(AccountsCase):
    """The sums of the lines are those of the registers."""

    def check(self, root: ElementTree.Element) -> None:
        """Every Z agrees with the receipts of its shift, by payment type and by tax group."""
        sums: defaultdict[Any, Decimal] = defaultdict(Decimal)
        shifts: defaultdict[Any, Decimal] = defaultdict(Decimal)
        for element in root:
            shift = element.get("shift")
            if element.tag == "document":
                kind, sign = element.get("kind"), 1
                if kind == "storno":
                    # These are of sales and returns alone.
                    kind, sign = ("return" if element.get("direction") == "in" else "sale"), -1
                if kind not in ("sale", "return"):
                    continue
                shifts[shift, kind] += sign * Decimal(element.get("sum", ""))
                for pay in element.iter("payment"):
                    sums[shift, kind, "pay", pay.get("type")] += sign * Decimal(pay.get("sum", ""))
                for tax in element.iter("tax"):
                    for name in ("base", "tax", "levy_tax"):
                        sums[shift, kind, name, tax.get("group")] += sign * Decimal(tax.get(name, ""))
            else:
                self.assertEqual(element.get("difference"), "0.00")
                for side, kind in (("sales", "sale"), ("returns", "return")):
                    self.assertEqual(Decimal(element.get(f"{side}_sum", "")), shifts[shift, kind])
                    for pay in element.findall(f"payment[@side='{side}']"):
                        self.assertEqual(Decimal(pay.get("sum", "")), sums.pop((shift, kind, "pay", pay.get("type"))))
                    for tax in element.findall(f"tax[@side='{side}']"):
                        for name in ("base", "tax", "levy_tax"):
                            told = sums.pop((shift, kind, name, tax.get("group")))
                            self.assertEqual(Decimal(tax.get(name, "")), told)
        self.assertEqual([key for key, value in sums.items() if value], [])

    def test_shifts(self) -> None:
        """Five shifts with 40 random receipts each."""
        random = Random(7)
        for _ in range(5):
            self.shift(random, 40)
        root = self.xml()
        self.assertEqual(len(root.findall("z")), 5)
        self.check(root)

    def test_period(self) -> None:
        """A period that begins within a shift: its Z is checked by what was sold before the period too."""
        self.shift(Random(1), 20)
        every = self.table("documents")
        begin = every[10]["dt"].translate(str.maketrans("", "", "-T:"))
        part = self.xml(f"&from={begin}")
        self.assertLess(len(part.findall("document")), len(every) - 5)
        [z] = part.findall("z")
        self.assertEqual(z.get("difference"), "0.00")
        self.assertEqual(self.table("documents", f"&to={begin}")[-1]["dt"], every[10]["dt"])

    def test_removed(self) -> None:
        """A Z whose receipts are no longer all stored has no difference, not a wrong one."""
        self.shift(Random(2), 5)
        db = self.shop.store._db
        assert db is not None
        db.execute("DELETE FROM document WHERE number = (SELECT min(number) FROM document WHERE kind = 'sale')")
        [z] = self.xml().findall("z")
        self.assertIsNone(z.get("difference"))
        self.assertEqual(self.table("z")[0]["difference"], "")

    def test_wrong(self) -> None:
        """A Z that its receipts deny says by how much."""
        self.shift(Random(3), 5)
        accounts, db = Accounts(), self.shop.store._db
        assert db is not None
        for value, number in db.execute("SELECT value, fiscal_number FROM document ORDER BY n").fetchall():
            document = documents.decode(value)
            if document.report is not None:
                document.report.calc_p += 100
                document = msgspec.structs.replace(document, report=document.report)
            for line in accounts.lines(1, document, number):
                if isinstance(line, ZReport):
                    self.assertEqual(line.difference, Decimal("1.00"))


class FormTests(AccountsCase):
    """CSV and XML say the same."""

    def test_tables(self) -> None:
        """Every table has the columns of its struct, and as many lines as XML has elements."""
        self.shift(Random(5), 10)
        root = self.xml()
        counts = {"documents": "document", "items": "document/item", "payments": "document/payment"}
        counts |= {"taxes": "document/tax", "z": "z", "z_payments": "z/payment", "z_taxes": "z/tax"}
        for table, path in counts.items():
            lines = self.table(table)
            self.assertEqual(len(lines), len(root.findall(path)), table)
            self.assertEqual(tuple(lines[0]), TABLES[table].__struct_fields__)
        for line, element in zip(self.table("documents"), root.findall("document"), strict=True):
            self.assertEqual({name: value for name, value in line.items() if value}, element.attrib)

    def test_spreadsheet(self) -> None:
        """A name that a spreadsheet would calculate is text; semicolons come with decimal commas."""
        self.shift(Random(5), 10)
        names = {line["name"] for line in self.table("items")}
        self.assertEqual(names, {"Кава", "'=SUM(A1)", 'Чай "Ї" <&>;'})
        answer = self.request("GET", f"{ACCOUNTS}?table=z&format=csv-semicolon")
        [line] = csv.DictReader(io.StringIO(answer.body.decode("utf-8-sig"), newline=""), delimiter=";")
        self.assertEqual(line["sales_sum"].replace(",", "."), self.table("z")[0]["sales_sum"])

    def test_marks(self) -> None:
        """Marks are carried as they are, those with the separators of a bar code too."""
        receipt = Receipt(
            goods=(Good(name="Вино", code_a=MARK, code_aa=("AA 1  2", MARK), cnt=1000, price=1, cost=1, taxgrp=1),)
        )
        caller, header = Caller(device="test", task=1), Header(fisid="1")
        told = Document(kind="sale", number=1, shift=1, at=0, header=header, caller=caller, receipt=receipt)
        lines = Accounts().lines(1, told, "7")
        [first, second] = ElementTree.fromstring(xml_lines(lines)).iter("mark")
        self.assertEqual((first.get("encoding"), b64decode(first.text or "").decode()), ("base64", MARK))
        self.assertEqual((second.get("encoding"), second.text), (None, "AA 1  2"))
        text = csv_lines("items", lines, False).decode()
        [row] = csv.DictReader(io.StringIO(text, newline=""), Item.__struct_fields__)
        self.assertEqual(row["marks"].split("\n"), [MARK, "AA 1  2"])

    def test_schema(self) -> None:
        """The schema in the documentation is that of the structs."""
        self.assertEqual(PAGE.read_text("utf-8"), schema(), "make docs writes it")

    def test_refused(self) -> None:
        """A table, a format or a filter that does not exist is refused, and nobody gets half a file."""
        for query in ("table=x", "format=pdf", "from=yesterday", "device=nobody", "kind=sale"):
            self.assertEqual(self.request("GET", f"{ACCOUNTS}?{query}").status, 422, query)


class CommandTests(AccountsCase):
    """``dmtwisted accounts``."""

    def test_same(self) -> None:
        """The command writes what the interface answers, and reads only the database."""
        for seed in range(3):
            self.shift(Random(seed), 10)
            self.shop.clock.advance(86400)
        state, folder = Path(self.mktemp()), Path(self.mktemp())
        state.mkdir()
        db = self.shop.store._db
        assert db is not None
        with closing(sqlite3.connect(state / "dmtwisted.db")) as copy:
            db.backup(copy)
            # As the migrations leave it.
            copy.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
            copy.execute("INSERT INTO alembic_version VALUES (?)", (head(),))
            copy.commit()
        begin = self.table("documents")[20]["dt"].translate(str.maketrans("", "", "-T:"))
        for words, query, names in (
            (["--format", "csv"], "", TABLES),
            (["--from", begin, "--format", "csv-semicolon"], f"&from={begin}&format=csv-semicolon", TABLES),
        ):
            self.assertEqual(self.command(str(folder), "--state", str(state), *words), 0)
            for name in names:
                told = self.request("GET", f"{ACCOUNTS}?table={name}{query}").body
                self.assertEqual((folder / f"{name}.csv").read_bytes(), told, name)
        self.assertEqual(self.command(str(folder), "--state", str(state), "--format", "xml"), 0)
        told = self.request("GET", f"{ACCOUNTS}?format=xml").body
        self.assertEqual((folder / "accounts.xml").read_bytes().split(b"\n", 2)[2], told.split(b"\n", 2)[2])

    def command(self, *words: str) -> int:
        """The exit status."""
        with redirect_stdout(io.StringIO()), self.assertRaises(SystemExit) as ended:
            main(["accounts", *words])
        return int(str(ended.exception.code or 0))
