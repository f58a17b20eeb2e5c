"""Tests for `web.pages.feed`: what happened, from the journal; the events that the page's script goes on with."""

from __future__ import annotations

from typing import Any

from dmtwisted.access.roles import BOUND, Role
from tests.test_events import Stream
from tests.test_pages import UK, PageCase
from tests.test_roles import RolesCase
from tests.web_case import DEVICES
from web.pages.feed import MOST


class FeedTests(PageCase):
    """The page as it is opened."""

    def lines(self, query: str = "") -> str:
        """What the page says."""
        return self.page(f"/dm/main/feed{query}").text

    def pay(self) -> None:
        """A payment at the terminal."""
        self.later("POST", "/dm/execute", {"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})

    def test_filled(self) -> None:
        """Receipts, payments, prints, refusals and changes of the journal stand there in the reader's language."""
        self.open_shift()
        self.sell("a")
        self.shop.scenario({"on": "sale", "then": "refuse", "code": 7})
        code = self.sell("b")["res"]
        self.pay()
        self.later("POST", "/dm/execute", {"device": "prn", "type": 2, "doc": {"test": 1}})
        self.request("POST", DEVICES, {"device": "other", "kind": "register", "driver": "training"})
        text = self.lines()
        for told in (
            "The shift was opened",
            "Sale no. 2: 125.50 UAH",
            f"Refused, {code}:",
            "Card, payment: 10.00 UAH",
            "Print: printed",
            "Device «other»: created",
        ):
            self.assertIn(told, text)
        self.assertIn(f"/dm/main/receipts/{self.ids()['test']}/2", self.page("/dm/main/feed").links())
        self.assertIn("Продаж № 2: 125,50 грн", self.page("/dm/main/feed", UK).text)

    def test_filters(self) -> None:
        """One device or one kind alone, found in the journal, not among the newest lines only."""
        self.open_shift()
        self.pay()
        for _ in range(MOST + 5):
            self.sell()
        self.assertNotIn("Card, payment", self.lines())
        self.assertEqual(len(self.page("/dm/main/feed").all("time")), MOST + 1)
        for query in ("?device=pos", "?kind=cards"):
            text = self.lines(query)
            self.assertIn("Card, payment: 10.00 UAH", text)
            self.assertNotIn("Sale no.", text)
        self.assertNotIn("Sale no.", self.lines("?device=prn"))

    def test_words(self) -> None:
        """The script has what it says in place of numbers and codes."""
        page = self.page("/dm/main/feed")
        [feed] = page.all("ol")
        self.assertIn("document", str(feed["data-feed"]).split())
        self.assertEqual((page.data["data"]["kinds"]["1"], page.data["data"]["pays"]["2"]), ("Sale", "refund"))


class EventTests(PageCase):
    """What the stream says of money."""

    def told(self, stream: Stream, kind: str) -> list[Any]:
        """The events of one kind."""
        return [data for _, each, data in stream.events() if each == kind]

    def test_document(self) -> None:
        """A receipt is told with its number and sum, once: a repeat of its tag tells nothing new."""
        self.open_shift()
        stream = Stream(self)
        self.sell("a")
        self.assertEqual(self.told(stream, "document"), [{"device": "test", "task": 1, "number": "2", "sum": 125.5}])
        self.sell("a")
        self.fiscal(18)
        self.assertEqual(self.told(stream, "document"), [])

    def test_payment(self) -> None:
        """A payment is told with its sum."""
        stream = Stream(self)
        self.later("POST", "/dm/execute", {"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        self.assertEqual(self.told(stream, "payment"), [{"device": "pos", "task": 1, "sum": 10.0}])


class RoleTests(RolesCase):
    """Who hears and reads what."""

    def test_stream(self) -> None:
        """Sums are told to those who may see receipts, logins to administrators."""
        streams = {}
        for role, key in self.keys.items():
            streams[role] = self.connect()
            streams[role].ask("GET", "/dm/api/v3/events", headers=[key])
        publish = self.shop.core.dispatcher.events.publish
        publish("document", device="test", task=1, number="2", sum=125.5)
        publish("login", name="owner", address="127.0.0.1")
        for role, stream in streams.items():
            text = stream._transport.value().decode()
            self.assertEqual("event: document" in text, role is not Role.WATCHER, role)
            self.assertEqual("event: login" in text, role is Role.ADMINISTRATOR, role)

    def test_pages(self) -> None:
        """A cashier reads of the devices that are the cashier's alone, in the feed and in the pictures."""
        for name, amount in (("test", 70), ("other", 30)):
            self.shop.open_shift(name)
            self.sold(name, amount)
        for role, cookie in self.cookies.items():
            headers = [cookie, ("Accept-Language", "en")]
            feed = self.request("GET", "/dm/main/feed", headers=headers).body.decode()
            self.assertEqual("30.00 UAH" in feed, role not in BOUND and role is not Role.WATCHER, role)
            self.assertEqual("70.00 UAH" in feed, role is not Role.WATCHER, role)
            day = self.request("GET", "/dm/main/day", headers=headers)
            if role is Role.WATCHER:
                self.assertEqual(day.status, 403)
            else:
                sum = "70.00" if role in BOUND else "100.00"
                self.assertIn(f"Sales: <strong>{sum}</strong>", day.body.decode())

    def sold(self, device: str, amount: int) -> None:
        """A sale at a register."""
        row = {"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}
        receipt = {"sum": amount, "rows": [row], "pays": [{"type": 0, "sum": amount}]}
        self.assertEqual(self.shop.fiscal(1, device=device, receipt=receipt)["res"], 0)
