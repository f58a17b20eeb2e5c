"""One search box for receipts: what it finds, how far it looks, what it never mixes, and the file of it."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred

from dmtwisted.access.roles import Permit, Role
from tests.test_pages import EN, UK, Page, PageCase
from tests.web_case import sale
from web.filters import covered
from web.pages import search
from web.pages.search import Finder, SearchResult, presets, wanted
from web.site import Door

CARD = {
    "type": 1,
    "sum": 40,
    "rrn": "612345678901",
    "cardmask": "444433******1234",
    "auth_code": "AB12CD",
}


class SearchCase(PageCase):
    """A shop with a few receipts."""

    def setUp(self) -> None:
        """A sale in cash, one by card, a return, and a sale that is taken back."""
        super().setUp()
        self.open_shift()
        self.fiscal_number = self.sell("sale-1")["info"]["doccode"]
        tea = {"code": "tea-7", "code1": "4820000000017", "name": "Чай зелений", "cnt": 1, "price": 40, "taxgrp": 1}
        self.shop.clock.advance(60)
        self.sell("sale-2", sum=40, rows=[tea], pays=[CARD])
        self.shop.clock.advance(60)
        coffee = {"code": "1", "name": "Кава", "cnt": 1, "price": 125.5, "taxgrp": 1}
        self.fiscal(2, receipt={"sum": 125.5, "rows": [coffee], "pays": [{"type": 0, "sum": 125.5}]})
        self.shop.clock.advance(60)
        self.sell("sale-4", sum=7, rows=[{**coffee, "price": 7}], pays=[{"type": 0, "sum": 7}])
        self.assertEqual(self.fiscal(17)["res"], 0)

    def search(self, permit: Permit | None = None, **given: Any) -> SearchResult:
        """What a search finds."""
        core = self.shop.core
        devices = covered(core.devices, permit or Permit(Role.ADMINISTRATOR))
        return self.successResultOf(Deferred.fromCoroutine(Finder(core.store, devices, wanted(given)).page()))

    def numbers(self, **given: Any) -> list[int]:
        """The numbers that it finds, in the order of the list."""
        return [row.document.number for row in self.search(**given).documents]

    def count_reads(self) -> list[Any]:
        """The searches of the store from now on."""
        asked: list[Any] = []
        real = self.shop.store.find_documents

        async def find(query: Any) -> Any:
            asked.append(query)
            return await real(query)

        self.patch(self.shop.store, "find_documents", find)
        return asked


class FindingTests(SearchCase):
    """What is found."""

    def test_by_each_thing(self) -> None:
        """A receipt is found by numbers, tag, sum, items and their codes, card, cashier, RRN and authorisation."""
        for text, number, why in (
            ("3", 3, "number"),
            (self.fiscal_number, 2, "fiscal_number"),
            ("sale-2", 3, "tag"),
            ("40", 3, "sum"),
            ("40,00 грн", 3, "sum"),
            ("зелений", 3, "found_goods"),
            ("ЧАЙ ЗЕЛ", 3, "found_goods"),
            ("tea-7", 3, "found_goods"),
            ("4820000000017", 3, "found_goods"),
            ("1234", 3, "found_card"),
            ("612345678901", 3, "found_rrn"),
            ("ab12cd", 3, "found_rrn"),
        ):
            found = self.search(q=text)
            self.assertEqual([(row.document.number, row.why) for row in found.documents], [(number, why)], text)
        self.assertEqual(self.numbers(q="олена"), [6, 5, 4, 3, 2, 1])
        self.assertEqual(self.search(q="125.50").documents[0].why, "sum")
        self.assertEqual(self.numbers(q="125.50"), [4, 2])
        self.assertEqual(self.numbers(q="nobody"), [])
        # A card is not found by a digit or two.
        self.assertEqual(self.numbers(q="34"), [])

    def test_several_words(self) -> None:
        """Of several words each has to be there."""
        self.assertEqual(self.numbers(q="олена 125,50"), [4, 2])
        self.assertEqual(self.numbers(q="кава 40"), [])

    def test_filters(self) -> None:
        """Kind, payment kind, state and dates narrow the list, with a search and without."""
        for given, numbers in (
            ({"kind": "return"}, [4]),
            ({"pay": "1"}, [3]),
            ({"pay": "0", "kind": "sale"}, [5, 2]),
            ({"state": "reversed"}, [5]),
            ({"state": "offline"}, []),
            ({"state": "doubt"}, []),
            ({"real": "1"}, []),
            ({"real": "0", "kind": "return"}, [4]),
            ({"q": "кава", "pay": "0", "kind": "sale"}, [5, 2]),
            ({"q": "кава", "from": "2026-09-22"}, []),
            ({"device": "nobody"}, []),
            ({"kind": "nonsense", "state": "nonsense"}, [6, 5, 4, 3, 2, 1]),
        ):
            self.assertEqual(self.numbers(**given), numbers, given)

    def test_doubt(self) -> None:
        """A document whose outcome is unknown is found and marked, but not counted in the sums."""
        before = self.search().sums
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        self.asked_late(self.shop.asked(sale("sale-7")))
        cases: tuple[dict[str, Any], ...] = (
            {},
            {"state": "doubt"},
            {"q": "sale-7"},
            {"q": "125.50"},
            {"kind": "sale"},
        )
        for given in cases:
            first = self.search(**given).documents[0]
            self.assertEqual((first.document.number, first.doubt), (7, True), given)
        self.assertEqual(self.search().sums, before)
        self.assertIn("outcome unknown", self.page("/dm/main/receipts", EN).text)

    def test_cashier_bound_to_a_device(self) -> None:
        """Whoever is bound to some devices finds nothing of another one, however it is asked for."""
        other = Permit(Role.CASHIER, "Ігор", frozenset({self.ids()["prn"]}))
        own = Permit(Role.CASHIER, "Олена", frozenset({self.ids()["test"]}))
        for given in ({}, {"q": self.fiscal_number}, {"q": "sale-1"}, {"q": "2"}, {"q": "кава"}, {"device": "test"}):
            self.assertEqual(self.search(other, **given).documents, (), given)
            self.assertTrue(self.search(own, **given).documents, given)

    def test_presets(self) -> None:
        """Today, yesterday, this week and this month are days of Kyiv; the week begins on Monday."""
        days = {word: (first, last) for word, first, last in presets(self.shop.core.clock.now() + 3 * 86_400_000)}
        self.assertEqual(days["today"], ("2026-09-24", "2026-09-24"))
        self.assertEqual(days["yesterday"], ("2026-09-23", "2026-09-23"))
        self.assertEqual(days["this_week"], ("2026-09-21", "2026-09-24"))
        self.assertEqual(days["this_month"], ("2026-09-01", "2026-09-24"))
        links = self.page("/dm/main/receipts?q=%D0%BA%D0%B0%D0%B2%D0%B0").links()
        self.assertTrue(any("from=2026-09-20&to=2026-09-20" in link and "q=%D0%BA" in link for link in links), links)


class BoundTests(SearchCase):
    """How far a search looks."""

    def test_exact_looks_at_nothing_else(self) -> None:
        """A tag or a fiscal number is found by an index alone, however old."""
        asked = self.count_reads()
        for text in (self.fiscal_number, "sale-1"):
            self.assertEqual(self.search(q=text).looked, 0)
        self.assertFalse(
            [
                query
                for query in asked
                if query.limit == search.BATCH
                and not query.kinds
                and query.number is None
                and not query.fiscal_number
            ]
        )

    def test_bound(self) -> None:
        """Of more documents the newest are looked at, the page says how many and since when, and a link goes on."""
        self.patch(search, "BATCH", 2)
        self.patch(search, "MOST", 4)
        found = self.search(q="кава")
        self.assertEqual([row.document.number for row in found.documents], [6, 5, 4])
        self.assertEqual((found.looked, found.partly), (4, True))
        page = self.page("/dm/main/receipts?q=%D0%BA%D0%B0%D0%B2%D0%B0", EN)
        self.assertIn("Only the newest documents were searched: 4, back to 21 Sep 2026 09:01:00", page.text)
        [further] = [link for link in page.links() if "before=" in link]
        self.assertIn("q=%D0%BA%D0%B0%D0%B2%D0%B0", further)
        self.assertEqual(self.numbers(q="кава", before=str(found.since)), [2])
        self.assertFalse(self.search(q="кава", before=str(found.since)).partly)

    def test_reads_in_portions(self) -> None:
        """Documents are read in small portions, so that a till comes between them."""
        self.patch(search, "BATCH", 2)
        asked = self.count_reads()
        self.search(q="кава")
        looked = [query for query in asked if not query.kinds and query.number is None and not query.fiscal_number]
        self.assertEqual([(query.limit, query.offset) for query in looked], [(2, 0), (2, 2), (2, 4), (2, 6)])

    def test_waits_for_nobody(self) -> None:
        """A search is made while the register works."""
        device = self.shop.core.devices.by_name("test")
        self.successResultOf(Deferred.fromCoroutine(device.turns.take()))
        self.assertEqual(self.numbers(q="кава"), [6, 5, 4, 2])


class SumsTests(SearchCase):
    """The sums below the list."""

    def test_sums(self) -> None:
        """Sales and returns are summed without what was taken back."""
        [(test, sums)] = self.search().sums.items()
        self.assertEqual((test, sums.count, sums.sales, sums.returns), (True, 3, 16550, 12550))
        text = self.page("/dm/main/receipts", EN).text
        self.assertIn("Training receipts Receipts 3 Sales 165.50 UAH Returns 125.50 UAH", text)

    def test_never_mixed(self) -> None:
        """Real receipts and those for training have sums of their own."""
        real = self.shop.built()
        real._drafting._dtype = 1
        self.sell("sale-7")
        sums = self.search().sums
        self.assertEqual({test: one.sales for test, one in sums.items()}, {False: 12550, True: 16550})
        self.assertEqual(self.numbers(real="1"), [7])
        text = self.page("/dm/main/receipts", EN).text
        self.assertLess(text.index("Real receipts"), text.index("Training receipts"))

    def test_of_a_page(self) -> None:
        """With more pages the sums are those of the page and say so; on request they are those of everything."""
        self.patch(search, "PAGE_SIZE", 3)
        self.assertTrue(self.search().of_page)
        self.assertIn("Training receipts (on this page)", self.page("/dm/main/receipts", EN).text)
        whole = self.search(sums="1")
        self.assertEqual((whole.of_page, whole.sums[True].sales), (False, 16550))


class FileTests(SearchCase):
    """What was found as a file."""

    def rows(self, query: str, language: tuple[str, str] = EN) -> list[dict[str, str]]:
        """The rows of the file."""
        answer = self.get(f"/dm/main/receipts.csv?{query}", language)
        self.assertEqual(answer.header("content-type"), "text/csv; charset=utf-8")
        text = answer.body.decode("utf-8-sig")
        return list(csv.DictReader(StringIO(text), delimiter=";" if language is UK else ","))

    def listed(self, query: str) -> list[str]:
        """The numbers that all pages of the list have."""
        found: list[str] = []
        path = f"/dm/main/receipts?{query}"
        for n in range(1, 9):
            page = Page(self.get(f"{path}&page={n}").body.decode())
            links = [str(link["href"]) for link in page.all("a")]
            found += [link.rpartition("/")[2] for link in links if f"/receipts/{self.ids()['test']}/" in link]
        return found

    def test_same(self) -> None:
        """The file has exactly the documents of all pages of the list, in its order."""
        self.patch(search, "PAGE_SIZE", 2)
        self.patch(search, "BATCH", 2)
        for query in ("q=", f"q={quote('кава')}", "kind=sale", "pay=0", "state=reversed", "q=nobody"):
            self.assertEqual([row["Number of the receipt"] for row in self.rows(query)], self.listed(query), query)

    def test_while_selling(self) -> None:
        """A document that is added while the file is written neither hides nor doubles another one."""
        self.patch(search, "BATCH", 2)
        real = self.shop.store.find_documents

        async def find(query: Any) -> Any:
            found = await real(query)
            if query.limit == 2 and not query.kinds:
                self.patch(self.shop.store, "find_documents", real)
                self.sell("late")
            return found

        self.patch(self.shop.store, "find_documents", find)
        self.assertEqual([row["Number of the receipt"] for row in self.rows("q=")], ["6", "5", "4", "3", "2", "1"])

    def test_cells(self) -> None:
        """A row has what the list shows; a spreadsheet in Ukrainian gets semicolons and commas, and no formula."""
        row = self.rows("q=sale-2", UK)[0]
        self.assertEqual((row["Сума"], row["Ключ tag"], row["Касир"]), ("40,00", "sale-2", "Олена"))
        self.assertEqual(self.rows("state=reversed")[0]["State"], "taken back")
        self.sell("=1+1")
        self.assertEqual(self.rows(f"q={quote('=1+1')}")[0]["tag"], "'=1+1")


class TimelineTests(PageCase):
    """The history of a document whose answer was lost."""

    def setUp(self) -> None:
        """An open shift."""
        super().setUp()
        self.open_shift()

    def told(self, number: int = 2) -> str:
        """The page of a document."""
        return self.page(f"/dm/main/receipts/{self.ids()['test']}/{number}", EN).text

    def test_lost_and_repeated(self) -> None:
        """Sent, no answer, found by the next task, and the till that repeats gets the same receipt: all is told."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        self.asked_late(self.shop.asked(sale("sale-1")))
        lost = "Sent to the tax service The tax service's answer did not come 21 Sep 2026 09:00:0"
        self.assertIn(lost, self.told())
        self.assertIn("The outcome is unknown", self.told())
        self.shop.scenario()
        self.fiscal(18)
        text = self.told()
        found = r"did not come 21 Sep 2026 09:00:0.* which has the document.* TEST_\d+ 21 Sep 2026 09:01:00.000"
        self.assertRegex(text, found)
        self.assertIn("A till that repeats the same tag gets this receipt", text)
        self.assertNotIn("The outcome is unknown", text)
        self.shop.clock.advance(5)
        self.assertEqual(self.sell("sale-1")["task_status"], 2)
        text = self.told()
        self.assertRegex(text, "The till repeated the request and got the same answer 21 Sep 2026 09:01:05.000")
        self.assertNotIn("A till that repeats", text)
        self.sell("sale-1")
        self.assertIn("the same answer × 2", self.told())

    def test_found_at_once(self) -> None:
        """An answer that is found while the till waits is told as lost, found and given to the till."""
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        self.assertEqual(self.asked_late(self.shop.asked(sale("sale-1")))["res"], 0)
        self.assertRegex(self.told(), "did not come .* which has the document.* Then the answer was sent to the till")

    def test_interrupted(self) -> None:
        """A power cut before the answer is told as that."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 3000})
        self.shop.asked(sale("sale-1"))
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.fiscal(18)
        self.assertRegex(self.told(), "interrupted before the answer came .* which has the document")

    def test_usual(self) -> None:
        """A usual sale has no such steps, and keeps nothing of them."""
        self.sell("sale-1")
        text = self.told()
        for step in ("did not come", "has the document", "repeated", "repeats"):
            self.assertNotIn(step, text)
