"""``/dm/api/v3/receipts``: fiscal documents for programs, page by page."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from twisted.internet.defer import Deferred

from tests.test_sessions import AccessCase

RECEIPTS = "/dm/api/v3/receipts"


class ReceiptApiTests(AccessCase):
    """Documents that are looked for."""

    def setUp(self) -> None:
        """An opening, three sales an hour apart, cash in."""
        super().setUp()
        self.open_shift()
        for n in range(1, 4):
            self.shop.clock.advance(3600)
            self.assertEqual(self.sell(f"sale-{n}")["res"], 0)
        self.assertEqual(self.fiscal(3, "cash-1", cash={"type": 0, "sum": 50})["res"], 0)

    def found(self, query: str = "") -> Any:
        """A list."""
        answer = self.request("GET", f"{RECEIPTS}?{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def numbers(self, query: str) -> list[int]:
        """The local numbers of what is found, in their order."""
        return [receipt["number"] for receipt in self.found(query)["receipts"]]

    def test_list(self) -> None:
        """Documents of every kind, newest first, each with its numbers, its sum and its tag."""
        told = self.found()
        self.assertEqual(told["paging"], {"page": 1, "page_size": 50, "total": 5})
        self.assertEqual([receipt["kind"] for receipt in told["receipts"]], ["cash_in", *["sale"] * 3, "open"])
        sale = told["receipts"][1]
        self.assertEqual((sale["device"], sale["dev_id"], sale["number"]), ("test", self.dev_id, 4))
        self.assertEqual((sale["dt"], sale["tag"], sale["cashier"]), ("20260921120000000", "sale-3", "Олена"))
        self.assertEqual((sale["sum"], sale["offline"], sale["shift"]), (Decimal("125.50"), False, 1))
        self.assertTrue(sale["fiscal_number"].startswith("TEST_"))

    def test_paging(self) -> None:
        """Pages follow each other, and none is beyond the end."""
        self.assertEqual(self.numbers("page_size=2"), [5, 4])
        self.assertEqual(self.numbers("page_size=2&page=3"), [1])
        self.assertEqual(self.numbers("page=1000000000"), [])

    def test_filters(self) -> None:
        """Kind, numbers, tag, period and register narrow the list, alone and together."""
        fiscal_number = self.found("number=3")["receipts"][0]["fiscal_number"]
        for query, numbers in (
            ("kind=sale", [4, 3, 2]),
            ("number=3", [3]),
            (f"fiscal_number={fiscal_number}", [3]),
            ("key=sale-1", [2]),
            ("key=nothing", []),
            ("key=sale-1&kind=open", []),
            ("from=2026092111&to=2026092111", [3]),
            ("kind=sale&from=2026092111", [4, 3]),
            ("device=test&kind=open", [1]),
            ("number=999999999999999999999999", []),
        ):
            self.assertEqual(self.numbers(query), numbers, query)

    def test_search(self) -> None:
        """A search finds a tag, a fiscal number or a local number, and each document once."""
        fiscal_number = self.found("number=3")["receipts"][0]["fiscal_number"]
        self.assertEqual(self.fiscal(3, "4", cash={"type": 0, "sum": 1})["res"], 0)
        for search, numbers in (
            ("sale-2", [3]),
            (fiscal_number, [3]),
            ("4", [6, 4]),
            ("1000000000000000000000", []),
            ("nothing", []),
        ):
            self.assertEqual(self.numbers(f"search={search}"), numbers, search)
        self.assertEqual(self.numbers("search=4&kind=sale"), [4])
        self.assertEqual(self.numbers("search=4&page_size=1&page=2"), [4])

    def test_one(self) -> None:
        """One document comes with the answer that its till got."""
        told = self.request("GET", f"{RECEIPTS}/{self.dev_id}/2").json
        self.assertEqual((told["tag"], told["answer"]["info"]["docno"]), ("sale-1", "2"))
        for path in (f"{self.dev_id}/99", f"{self.dev_id}/{10**30}", "nobody/1"):
            self.assertEqual(self.request("GET", f"{RECEIPTS}/{path}").status, 404, path)

    def test_mistakes(self) -> None:
        """An invalid filter is named, and so is an unknown one."""
        for query, path in (
            ("colour=red", "colour"),
            ("device=nobody", "device"),
            ("kind=lunch", "kind"),
            ("number=two", "number"),
            ("page=0", "page"),
            ("page_size=5000", "page_size"),
            ("from=yesterday", "from"),
        ):
            answer = self.request("GET", f"{RECEIPTS}?{query}")
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, path), query)

    def test_other_kinds_of_devices(self) -> None:
        """A printer has no documents; a service without registers has none either."""
        adding = self.shop.core.devices.add("prn", "printer", "training", {})
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.assertEqual(self.found("device=prn")["paging"]["total"], 0)
        self.assertEqual(self.request("DELETE", f"/dm/api/v3/devices/{self.dev_id}").status, 204)
        for query in ("", "search=2", "key=sale-1"):
            self.assertEqual(self.found(query)["receipts"], [])

    def test_unreadable(self) -> None:
        """A document that cannot be read shows what the store knows of it."""
        database: Any = self.shop.store._db
        database.execute("UPDATE document SET value = x'00' WHERE number = 2")
        told = self.found("number=2")["receipts"][0]
        self.assertEqual((told["kind"], told["tag"], told["sum"]), ("sale", "", Decimal("0.00")))

    def test_disturbs_nobody(self) -> None:
        """A register that is at work is not asked: the list comes at once, and its task goes on."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 1000})
        selling = self.shop.asked({"ver": 6, "device": "test", "type": 0, "tag": "sale-1"})
        self.assertEqual(self.found()["paging"]["total"], 5)
        self.successResultOf(selling)

    def test_blocked(self) -> None:
        """It needs the login."""
        self.switch_on()
        self.assertTrue(self.is_blocked(self.request("GET", RECEIPTS)))
        self.assertTrue(self.is_blocked(self.request("GET", f"{RECEIPTS}/x/1")))
