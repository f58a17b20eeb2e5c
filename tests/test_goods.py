"""The goods of a shop without a till program: files, the list, its interface, and the sums of a basket."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.goods.file import MOST_MISTAKES, Unreadable, read_goods, write_goods
from dmtwisted.goods.goods import MOST_GOODS, PARTS, Goods, Item
from dmtwisted.registers.interface import STORNO
from tests.shop import Shop
from tests.web_case import HttpAnswer, WebCase, multipart
from web.site import Door

GOODS = "/dm/api/v3/goods"
HEAD = "код;штрихкод;назва;ціна;податкова група;одиниця;уктзед;акцизна марка\r\n"
COFFEE = Item("1", "Кава", 12550, "4820000000017", "1", "шт", "", False)
VODKA = Item("3", "Горілка «Ґаздівська»", 19999, "4820000000031", "3", "шт", "2208601100", True)
LINES = "1;4820000000017;Кава;125,50;1;шт;;\r\n3;4820000000031;Горілка «Ґаздівська»;199.99;ГД;шт;2208601100;так\r\n"


class FileTests(SynchronousTestCase):
    """CSV files, as spreadsheets and other programs write them."""

    def test_encodings(self) -> None:
        """The same goods are read from UTF-8 with and without its mark, windows-1251 and UTF-16."""
        for encoding in ("utf-8", "utf-8-sig", "cp1251", "utf-16"):
            self.assertEqual(read_goods((HEAD + LINES).encode(encoding)), ([COFFEE, VODKA], []), encoding)

    def test_columns(self) -> None:
        """Columns stand in any order, under Ukrainian or English names, between semicolons, commas or tabs."""
        for delimiter in ";,\t":
            text = (
                delimiter.join(("Price", "NAME ", "bar code", "stock"))
                + f"\n1 250.5{delimiter}Tea{delimiter}482{delimiter}9"
            )
            self.assertEqual(read_goods(text.encode()), ([Item("482", "Tea", 125050, "482")], []), delimiter)

    def test_quotes(self) -> None:
        """A name in quotes has delimiters and line breaks of its own; lines are counted as an editor does."""
        text = 'code;name;price\n1;"Сік; ""Садочок"" 1 л";40\n2;x;дорого\n'
        items, [mistake] = read_goods(text.encode())
        self.assertEqual([item.name for item in items], ['Сік; "Садочок" 1 л'])
        self.assertEqual((mistake.line, mistake.text.uk), (3, "ціна «дорого» не є числом"))

    def test_mistakes(self) -> None:
        """Each mistake is told by its line; empty lines are none."""
        lines = (
            ";;Сир;1;;;;",
            "2;;;1;;;;",
            "",
            "3;;Сир;1;Ы;;;",
            "4;;Сир;1;;;;може",
            f"5;;{'x' * 201};1;;;;",
            "6;;Сир;-1;;;;",
            "7;77;Сир;1;;;;",
            "7;;Сир;1;;;;",
            "8;77;Сир;1;;;;",
            "9;;Сир;1;;;22x;",
        )
        _, mistakes = read_goods((HEAD + "\n".join(lines)).encode())
        self.assertEqual(
            [(one.line, one.text.en) for one in mistakes],
            [
                (2, "there is no code"),
                (3, "there is no name"),
                (5, 'there is no tax group "Ы"'),
                (6, '"може" is neither yes nor no'),
                (7, "name: the value is too long or has forbidden signs"),
                (8, "price: the value is too long or has forbidden signs"),
                (10, "line 9 has this code"),
                (11, "line 9 has this code"),
                (12, "uktzed: the value is too long or has forbidden signs"),
            ],
        )
        _, many = read_goods((HEAD + "1;;;1;;;;\n" * 1000).encode())
        self.assertEqual(len(many), MOST_MISTAKES)

    def test_no_goods(self) -> None:
        """A file without the columns is refused as a whole, and so is one with too many lines."""
        for file in (b"", b"\x89PNG\r\n\x1a\n\x00", b"a;b\n1;2", b"code;price\n1;2"):
            self.assertRaises(Unreadable, read_goods, file)
        many = "code;name;price\n" + "".join(f"{n};x;1\n" for n in range(MOST_GOODS + 1))
        self.assertRaises(Unreadable, read_goods, many.encode())

    def test_there_and_back(self) -> None:
        """What we write is what we read, in both languages; a spreadsheet takes no name for a formula."""
        goods = [COFFEE, VODKA, Item("9", "=1+1", 0), Item("10", 'a;b"c', 1)]
        for language in ("uk", "en"):
            file = write_goods(goods, language)
            self.assertIn(b"'=1+1", file)
            self.assertEqual(read_goods(file), (goods, []))


class GoodsCase(WebCase):
    """A shop with a list of goods."""

    def setUp(self) -> None:
        """A service with register, printer and terminal."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)

    def save(self, status: int = 201, **members: object) -> Any:
        """Add or change an item."""
        answer = self.request("POST", GOODS, {"code": "1", "name": "Кава", "price": "125.50", **members})
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def take(self, csv: str, status: int = 200, **members: object) -> Any:
        """Import a file."""
        answer = self.request("POST", f"{GOODS}/import", {"csv": csv, **members})
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def found(self, search: str = "") -> list[str]:
        """The codes that a search finds."""
        goods = self.request("GET", f"{GOODS}?search={quote(search)}").json["goods"]
        return [one["code"] for one in goods]


class ListTests(GoodsCase):
    """One by one."""

    def test_one(self) -> None:
        """An item is added, changed, found by code, bar code and words of its name, and removed."""
        self.assertEqual(str(self.save(barcode="482", taxgrp=1)["price"]), "125.5")
        self.save(status=200, name="Кава зернова", barcode="482")
        self.save(code="2", name="Кава мелена")
        for search, codes in (("1", ["1"]), ("482", ["1"]), ("зерн КАВА", ["1"]), ("кава", ["1", "2"]), ("чай", [])):
            self.assertEqual(self.found(search), codes, search)
        self.assertEqual(self.request("DELETE", f"{GOODS}?code=1").status, 204)
        self.assertEqual(self.request("DELETE", f"{GOODS}?code=1").status, 404)
        self.assertEqual(self.found(), ["2"])

    def test_wrong(self) -> None:
        """What does not fit is named, and nothing is stored."""
        for member, value in (
            ("code", ""),
            ("name", " "),
            ("price", "x"),
            ("price", -1),
            ("uktzed", "a"),
            ("taxgrp", "А"),
        ):
            problem = self.save(422, **{member: value})["errors"][0]
            self.assertEqual(problem["path"], member)
        self.save(barcode="482")
        self.assertEqual(self.save(422, code="2", barcode="482")["errors"][0]["path"], "barcode")
        self.assertEqual(self.found(), ["1"])

    def test_kept(self) -> None:
        """The list is in the database: after a crash it is there, and a change writes its own part only."""
        self.take("code;name;price\n" + "".join(f"{n};Товар {n};{n}\n" for n in range(1, 200)))
        written: list[dict[str, bytes]] = []
        change = self.shop.store.change_settings

        async def watched(changes: dict[str, bytes], record: Any = None) -> None:
            written.append(changes)
            await change(changes, record)

        self.patch(self.shop.store, "change_settings", watched)
        self.save(200, code="7", name="Інший")
        self.assertEqual([len(changes) for changes in written], [1])
        self.assertLess(len(next(iter(written[0].values()))), 40 * 200 // PARTS * 4)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.found("Інший"), ["7"])
        self.assertEqual(self.request("GET", GOODS).json["paging"]["total"], 199)

    def test_elsewhere(self) -> None:
        """What another service on the same database has changed is kept by the next change here."""
        self.save()
        other = Goods(self.shop.store, self.shop.core.changes)
        self.successResultOf(Deferred.fromCoroutine(other.save(Item("2", "Чай", 100))))
        self.save(code="3")
        self.assertEqual(self.found(), ["1", "3", "2"])


class ImportTests(GoodsCase):
    """Files."""

    def test_modes(self) -> None:
        """A file is shown first, then adds and replaces, or replaces everything; the journal has the counts."""
        self.save(code="0", name="Старий")
        told = self.take(HEAD + LINES, dry=True)
        self.assertEqual((told["done"], told["added"], told["total"]), (False, 2, 3))
        self.assertEqual([one["name"] for one in told["goods"]], ["Кава", "Горілка «Ґаздівська»"])
        self.assertEqual(self.found(), ["0"])
        told = self.take(HEAD + LINES)
        self.assertEqual((told["done"], told["added"], told["changed"], told["removed"]), (True, 2, 0, 0))
        told = self.take("code;name;price\n1;Кава;99", mode="replace")
        self.assertEqual((told["added"], told["changed"], told["removed"], told["total"]), (0, 1, 2, 1))
        self.assertEqual(self.found(), ["1"])
        newest = self.request("GET", "/dm/api/v3/changes").json["changes"][0]
        self.assertEqual((newest["kind"], newest["action"], newest["after"]["removed"]), ("goods", "replaced", 2))

    def test_mistakes(self) -> None:
        """A file with a mistake changes nothing, also with `replace`; the answer has the lines."""
        self.save()
        for dry in (True, False):
            told = self.take("code;name;price\n5;Сир;1\n6;;2", 422, mode="replace", dry=dry)
            self.assertEqual((told["done"], told["mistakes"]), (False, [{"line": 3, "text": "немає назви"}]))
        self.assertEqual(self.take("", 422)["mistakes"][0]["line"], 1)
        self.assertEqual(self.found(), ["1"])

    def test_form(self) -> None:
        """A page sends the file itself, in the encoding of its spreadsheet; the export brings the goods back."""
        body, kind = multipart(file=(HEAD + LINES).encode("cp1251"), mode=b"add")
        answer: HttpAnswer = self.request("POST", f"{GOODS}/import", body, [("Content-Type", kind)])
        self.assertEqual(answer.json["added"], 2)
        export = self.request("GET", f"{GOODS}/export")
        self.assertEqual(export.header("content-type"), "text/csv; charset=utf-8")
        self.assertEqual(sorted(item.code for item in read_goods(export.body)[0]), ["1", "3"])

    def test_limit(self) -> None:
        """Twenty thousand items are taken and found; one more is refused."""
        lines = "".join(f"{n};Товар {n};{n % 100}\n" for n in range(MOST_GOODS))
        self.assertEqual(self.take("code;name;price\n" + lines)["total"], MOST_GOODS)
        self.assertEqual(self.found("товар 19999"), ["19999"])
        self.assertEqual(self.take("code;name;price\nx;y;1", 422)["mistakes"][0]["line"], 0)
        self.save(422, code="x")


class BasketTests(GoodsCase):
    """The sums that the page of sales shows."""

    def reckon(self, *rows: dict[str, Any], card: Any = 0, given: Any = None, **receipt: object) -> Any:
        """What a basket comes to."""
        path = f"/dm/api/v3/devices/{self.dev_id}/reckon"
        answer = self.request("POST", path, {"receipt": {"rows": rows, **receipt}, "card": card, "given": given})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def sold(self, rows: list[dict[str, Any]], sums: Any, **receipt: object) -> Any:
        """The receipt that the register makes of it."""
        pays = [{"type": pay["type"], "sum": str(pay["sum"])} for pay in sums["pays"]]
        whole = {"rows": rows, **receipt, "sum": str(sums["sum"]), "autoround": True, "pays": pays}
        answer = self.execute({"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 1, "receipt": whole}})
        self.assertEqual(answer["res"], 0, answer)
        return answer["info"]["printinfo"]

    def test_the_same(self) -> None:
        """What is shown is what the receipt has: discounts, rounding, taxes, change; in cash, by card and in both."""
        self.shop.settings(rounding_step=50)
        rows: list[dict[str, Any]] = [
            {"name": "Кава", "cnt": "2", "price": "33.33", "taxgrp": "1", "disc": "5", "disc_type": 1},
            {"name": "Сир", "cnt": "0.355", "price": "310", "taxgrp": "2", "disc": "1.11"},
        ]
        self.open_shift()
        for card, given in ((0, None), (0, "200"), ("all", None), ("50.05", "150"), ("9999", None)):
            sums = self.reckon(*rows, card=card, given=given, disc="3", disc_type=1)
            made = self.sold(rows, sums, disc="3", disc_type=1)
            self.assertEqual(sums["topay"], made["sum_topay"], (card, given))
            self.assertEqual(sums["disc"], made["sum_disc"])
            self.assertEqual(sums["round"], made["round"])
            self.assertEqual(sums["change"], made["change"])
            self.assertEqual([row["cost"] for row in sums["rows"]], [good["cost"] for good in made["goods"]])
            self.assertEqual([tax["sum"] for tax in sums["taxes"]], [tax["tax_sum"] for tax in made["taxes"]])
            self.assertEqual([row["letter"] for row in sums["rows"]], ["А", "Б"])

    def test_short(self) -> None:
        """Too little cash is said, not refused; cash rounded down is enough."""
        self.shop.settings(rounding_step=50)
        row = {"name": "Кава", "cnt": 1, "price": "10.20"}
        self.assertEqual(str(self.reckon(row, given="9")["short"]), "1.0")
        enough = self.reckon(row, given="10")
        self.assertEqual((str(enough["short"]), str(enough["change"]), str(enough["round"])), ("0.0", "0.0", "-0.2"))

    def test_trouble(self) -> None:
        """A wrong row is named in the cashier's words, the others keep their sums; an empty basket is nothing."""
        good = {"name": "Кава", "cnt": 1, "price": 10}
        told = self.reckon(good, {"name": "", "cnt": 1, "price": 10}, {"name": "Чай", "cnt": 0, "price": 10})
        self.assertEqual([bool(row["trouble"]) for row in told["rows"]], [False, True, True])
        self.assertNotIn("fiscal", "".join(row["trouble"] for row in told["rows"]))
        self.assertEqual(told["pays"], [])
        self.assertTrue(self.reckon(good, disc=10)["trouble"])
        self.assertEqual(self.reckon()["rows"], [])

    def test_reads_only(self) -> None:
        """It asks no register and keeps nothing, and another kind of device has no basket."""
        before = self.request("GET", "/dm/api/v3/operations").json["paging"]
        self.reckon({"name": "Кава", "cnt": 1, "price": 10})
        self.assertEqual(self.request("GET", "/dm/api/v3/operations").json["paging"], before)
        prn = self.shop.core.devices.by_name("prn").row.dev_id
        self.assertEqual(self.request("POST", f"/dm/api/v3/devices/{prn}/reckon", {}).status, 404)


class ReturnTests(GoodsCase):
    """The sums of returns."""

    def setUp(self) -> None:
        """A shop that has sold three things with discounts, half of it by card."""
        super().setUp()
        self.shop.settings(batch={"terminal": "pos", "printer": "prn"})
        self.open_shift()
        rows = [
            {"code": "1", "name": "Кава", "cnt": 3, "price": "33.33", "disc": 1},
            {"code": "2", "name": "Сир", "cnt": "0.355", "price": 310},
            {"code": "1", "name": "Кава", "cnt": 1, "price": "33.33", "code_aa": ["AAAA1", "AAAA2"]},
        ]
        card = {"type": 2, "sum": "100", "rrn": "123456789012", "cardmask": "5168", "paysys": "Visa"}
        pays = [card, {"type": 0, "sum": "200"}]
        receipt = {"sum": "242.37", "disc": 5, "disc_type": 1, "autoround": True, "rows": rows, "pays": pays}
        answer = self.execute({"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 1, "receipt": receipt}})
        self.assertEqual(answer["res"], 0, answer)
        self.sold = answer["info"]

    def ask(self, *rows: dict[str, Any], card: bool = False, status: int = 200) -> Any:
        """What a return comes to."""
        path = f"/dm/api/v3/receipts/{self.dev_id}/{self.sold['docno']}/return"
        answer = self.request("POST", path, {"rows": rows, "card": card})
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def give_back(self, *rows: dict[str, Any]) -> Any:
        """Do it, in cash."""
        told = self.ask(*rows)
        receipt = json.loads(json.dumps(told["receipt"], default=str))
        fiscal = {"task": 2, "receipt": receipt}
        answer = self.execute({"ver": 6, "device": "test", "type": 1, "tag": told["tag"], "fiscal": fiscal})
        self.assertEqual(answer["res"], 0, answer)
        self.assertEqual(answer["info"]["printinfo"]["sum_topay"], told["sums"]["topay"])
        return answer["info"]["printinfo"]

    def test_parts(self) -> None:
        """All parts together give back what was paid for, to the kopeck; more is refused, in words."""
        self.assertEqual(self.fiscal(3, cash={"type": 0, "sum": 500})["res"], 0)
        found = [
            self.give_back({"row": 0, "cnt": 1}),
            self.give_back({"row": 0, "cnt": "1"}, {"row": 1, "cnt": 0.3}),
            self.give_back({"row": 2, "cnt": 1, "marks": ["AAAA1", "AAAA2"]}),
        ]
        path = self.ask({"row": 0, "cnt": 2}, status=422)["errors"][0]
        self.assertEqual((path["path"], path["text"]), ("cnt", "очікується число від 0 до 1.0"))
        found.append(self.give_back({"row": 0, "cnt": 1}, {"row": 1, "cnt": "0.055"}))
        self.assertEqual(sum(one["sum_receipt"] for one in found), self.sold["printinfo"]["sum_receipt"])
        for row in (0, 1, 2):
            self.ask({"row": row, "cnt": "0.001"}, status=422)
        page = self.request("GET", f"/dm/main/receipts/{self.dev_id}/{self.sold['docno']}/return")
        self.assertIn("уже все повернено", page.body.decode())

    def test_card(self) -> None:
        """The card gets at most what it paid, by its RRN; the rest is cash."""
        told = self.ask({"row": 0, "cnt": 1}, card=True)
        self.assertEqual((told["pay"], str(told["sums"]["cash"])), ({"task": 2, "refundid": "123456789012"}, "0.0"))
        told = self.ask(*({"row": row, "cnt": cnt} for row, cnt in ((0, 3), (1, "0.355"), (2, 1))), card=True)
        self.assertEqual([pay["type"] for pay in told["receipt"]["pays"]], [2, 0])
        self.assertEqual(str(told["sums"]["card"]), "100.0")
        self.assertIsNone(self.ask({"row": 0, "cnt": 1})["pay"])

    def test_once(self) -> None:
        """Two windows that give back the same have one tag, so the money goes once; the next return has another."""
        first, second = self.ask({"row": 0, "cnt": 1}), self.ask({"row": 0, "cnt": 1})
        self.assertEqual(first["tag"], second["tag"])
        self.give_back({"row": 0, "cnt": 1})
        self.assertNotEqual(self.ask({"row": 0, "cnt": 1})["tag"], first["tag"])
        self.assertEqual(first["receipt"]["purchase_receipt_fisn"], self.sold["doccode"])

    def test_storno(self) -> None:
        """A return that a storno took back can be made again, with a new tag; a sale that one took back cannot."""
        first = self.ask({"row": 0, "cnt": 3})
        self.give_back({"row": 0, "cnt": 3})
        self.ask({"row": 0, "cnt": 1}, status=422)
        self.assertEqual(self.fiscal(STORNO)["res"], 0)
        again = self.ask({"row": 0, "cnt": 3})
        self.assertEqual(again["receipt"], first["receipt"])
        self.assertNotEqual(again["tag"], first["tag"])
        self.sold = self.sell(sum=10, rows=[{"code": "9", "name": "Чай", "cnt": 1, "price": 10, "taxgrp": 1}])["info"]
        self.ask({"row": 0, "cnt": 1})
        self.assertEqual(self.fiscal(STORNO)["res"], 0)
        self.ask({"row": 0, "cnt": 1}, status=422)

    def test_wrong(self) -> None:
        """Marks of another sale, rows that are not there and documents that are no sale are refused."""
        for row in (
            {"row": 2, "cnt": 1, "marks": ["BBBB"]},
            {"row": 3, "cnt": 1},
            {"row": 0, "cnt": "x"},
            {"row": 0, "cnt": -1},
        ):
            self.ask(row, status=422)
        for number in (1, 99):
            path = f"/dm/api/v3/receipts/{self.dev_id}/{number}/return"
            self.assertEqual(self.request("POST", path, {"rows": []}).status, 409)
            self.assertEqual(self.request("GET", f"/dm/main/receipts/{self.dev_id}/{number}/return").status, 404)
        self.assertEqual(self.ask()["sums"]["pays"], [])
