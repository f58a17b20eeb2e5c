"""Tests for `web.pages.day`, `web.pages.pictures` and `web.pages.chart`: figures of a shop, and their drawings."""

from __future__ import annotations

import csv
import gc
import random
from dataclasses import replace
from datetime import date
from io import StringIO
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import kyiv
from dmtwisted.store.values import StoreFailed
from tests.prro_shop import PrroShop
from tests.shop import MORNING, Shop
from tests.test_pages import PageCase
from web.pages import day
from web.pages.chart import HEIGHT, WIDTH, band, chart, hours_of, scale_of
from web.pages.day import Day, Figures, Part, total
from web.pages.pictures import NAMES, period_of
from web.site import Door

TODAY = "20260921"
DAY_S = 86_400


def everything(device_n: int, fiscal: bool | None) -> bool:
    """Every part of a day."""
    return True


def paid(amount: str, *pays: tuple[int, str]) -> dict[str, Any]:
    """A receipt over ``amount`` with these payments."""
    row = {"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}
    return {"sum": amount, "rows": [row], "pays": [{"type": type, "sum": sum} for type, sum in pays]}


class FiguresTests(SynchronousTestCase):
    """What is read of a day."""

    def setUp(self) -> None:
        """An open register, and its figures."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.figures = Figures(self.shop.store, self.shop.core.clock)

    def day(self, day: str = TODAY) -> Day:
        """The figures of a day."""
        return self.successResultOf(ensureDeferred(self.figures.of([day])))[day]

    def part(self, day: str = TODAY) -> Part:
        """All of them together."""
        return self.day(day).total(everything)

    def test_counts(self) -> None:
        """Sales are counted in their hour, returns apart, and each look counts every receipt once."""
        self.shop.sell(100)
        self.part()
        self.shop.clock.advance(3600)
        self.shop.sell(50)
        self.shop.fiscal(2, receipt=paid("20", (0, "20")))
        for _ in range(2):
            part = self.part()
            self.assertEqual((part.sales[9], part.sales[10], part.returns[10]), (10_000, 5_000, 2_000))
            self.assertEqual((sum(part.sold), sum(part.returned)), (2, 1))

    def test_storno(self) -> None:
        """A sale that was taken back is no sale, after midnight too."""
        self.shop.sell(100)
        self.part()
        self.assertEqual(self.shop.fiscal(17)["res"], 0)
        self.assertEqual(sum(self.part().sold), 0)
        self.shop.clock.advance(14.9 * 3600)
        self.shop.sell(70)
        self.assertEqual(sum(self.part().sales), 7_000)
        self.shop.clock.advance(600)
        self.assertEqual(self.shop.fiscal(17)["res"], 0)
        self.shop.clock.advance(3600)
        self.assertEqual(sum(self.part().sales), 0)

    def test_next_day(self) -> None:
        """A new day begins with nothing; the one before stays as it was."""
        self.shop.sell(100)
        self.assertEqual(sum(self.part().sold), 1)
        self.shop.clock.advance(DAY_S)
        self.assertEqual(sum(self.part("20260922").sold), 0)
        self.assertEqual(sum(self.part().sold), 1)

    def asked(self) -> list[Any]:
        """The searches for documents from now on."""
        asked: list[Any] = []
        real = self.shop.store.find_documents

        async def find(query: Any) -> Any:
            asked.append(query)
            return await real(query)

        self.patch(self.shop.store, "find_documents", find)
        return asked

    def test_reads_little(self) -> None:
        """Of the current day only the last minute is read again; a day that is over is read once."""
        self.shop.sell(100)
        self.part()
        self.shop.clock.advance(1800)
        self.shop.sell(100)
        self.part()
        asked = self.asked()
        self.assertEqual(sum(self.part().sold), 2)
        [query] = asked
        self.assertEqual(query.at_from, int((MORNING + 1800) * 1000) - 60_000)
        self.shop.clock.advance(3 * DAY_S)
        self.assertEqual(sum(self.part().sold), 2)
        del asked[:]
        self.shop.clock.advance(3600 * 10)
        self.assertEqual(sum(self.part().sold), 2)
        self.assertEqual(asked, [])

    def test_open_for_minutes(self) -> None:
        """A sale whose outcome was unknown for minutes is counted when it is known."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        lost = self.shop.asked({"device": "test", "type": 1, "tag": "a", "fiscal": {"task": 1, "receipt": paid("5")}})
        self.shop.fiscal(18)
        self.shop.clock.advance(120)
        self.part()
        self.shop.scenario()
        self.shop.fiscal(18)
        self.shop.settle(lost)
        self.shop.sell(30)
        self.part()
        self.shop.clock.advance(300)
        self.shop.sell(30)
        again = self.successResultOf(ensureDeferred(Figures(self.shop.store, self.shop.core.clock).of([TODAY])))
        self.assertEqual(self.part().sales, again[TODAY].total(everything).sales)

    def test_settled(self) -> None:
        """However old the receipt that is taken back: each look shows what one shows that reads the whole day."""
        dice = random.Random(3)
        self.shop = Shop(self, whole=True)
        self.figures = Figures(self.shop.store, self.shop.core.clock)
        devices = ["test", "till 2", "till 3"]
        for device in devices:
            if device != "test":
                self.shop.add(device)
            self.shop.open_shift(device)
        back = paid_by_card = 0
        for _ in range(120):
            self.shop.clock.advance(dice.randrange(10, 400))
            device, lot = dice.choice(devices), dice.random()
            if lot < 0.6:
                self.shop.fiscal(1, device=device, receipt=paid("5", (0, "5")))
            elif lot < 0.7:
                back += self.shop.fiscal(17, device=device)["res"] == 0
            elif lot < 0.8:
                paying = self.shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
                while not paying.called:
                    self.shop.clock.advance(dice.random())
                paid_by_card += 1
            else:
                again = Figures(self.shop.store, self.shop.core.clock)
                whole = self.successResultOf(ensureDeferred(again.of([TODAY])))[TODAY]
                self.assertEqual(_sorted(self.day()), _sorted(whole))
        self.assertGreater(back, 5)
        self.assertEqual(sum(map(len, self.part().cards)), paid_by_card)

    def test_keeps_sums(self) -> None:
        """A page that is open all day costs no memory for each receipt."""
        held = []
        for _ in range(2):
            for _ in range(40):
                self.shop.clock.advance(100)
                self.shop.sell(100)
                self.part()
            gc.collect()
            held.append(sum(type(one).__module__ == day.__name__ for one in gc.get_objects()))
        self.assertLess(held[1] - held[0], 20)

    def test_store_failed(self) -> None:
        """A store that does not answer is no day without sales: the page hears of it, and may ask again."""

        async def fail(query: Any) -> Any:
            raise StoreFailed("away")

        patched = self.patch(self.shop.store, "find_documents", fail)
        self.failureResultOf(ensureDeferred(self.figures.of([TODAY])), StoreFailed)
        patched.restore()
        self.shop.sell(100)
        self.assertEqual(sum(self.part().sold), 1)

    def test_in_the_background(self) -> None:
        """A page waits a moment, shows the days that are ready, and the others come while it waits no more."""
        self.shop.sell(100)
        real, held = self.shop.store.find_documents, Deferred[None]()

        async def find(query: Any) -> Any:
            if len(query.kinds) > 1 and query.at_to > MORNING * 1000:
                await held
            return await real(query)

        self.patch(self.shop.store, "find_documents", find)
        asked = ensureDeferred(self.figures.of(["20260920", TODAY]))
        self.assertNoResult(asked)
        self.shop.clock.advance(0.31)
        self.assertEqual([*self.successResultOf(asked)], ["20260920"])
        self.assertEqual((self.figures.reads([TODAY]), self.figures.reads(["20260920"])), (True, False))
        held.callback(None)
        self.assertFalse(self.figures.reads([TODAY]))
        self.assertEqual(sum(self.part().sold), 1)

    def test_drawn_at_random(self) -> None:
        """Whatever is sold, returned and taken back on two registers, no kopeck is lost or counted twice."""
        dice = random.Random(20260921)
        self.shop.add("till 2")
        self.shop.open_shift("till 2")
        sold: dict[tuple[str, int], int] = {}
        back: dict[tuple[str, int], int] = {}
        kinds: dict[int, list[int]] = {}
        count = 0
        for _ in range(3):
            for _ in range(60):
                self.shop.clock.advance(dice.randrange(60, 700))
                at = self.shop.core.clock.now()
                stamp, hour = f"{kyiv(at):%Y%m%d}", kyiv(at).hour
                amount = dice.randrange(2, 90_000)
                cash = dice.randrange(1, amount)
                pays = dice.choice([((0, cash), (2, amount - cash)), ((2, amount),), ((0, amount),)])
                task, device = dice.choice([1, 1, 1, 2]), dice.choice(["test", "till 2"])
                receipt = {**paid(f"{amount / 100:.2f}", *((type, f"{sum / 100:.2f}") for type, sum in pays))}
                answer = self.shop.fiscal(task, device=device, receipt=receipt)
                if answer["res"]:
                    # Money that the drawer does not have cannot be given back.
                    self.assertEqual((task, answer["res"]), (2, 1077), answer)
                    continue
                if dice.random() < 0.1 and self.shop.fiscal(17, device=device)["res"] == 0:
                    continue
                count += 1
                sums = sold if task == 1 else back
                sums[stamp, hour] = sums.get((stamp, hour), 0) + amount
                for type, part in pays:
                    kinds.setdefault(type, [0, 0])[task - 1] += part
                if dice.random() < 0.2:
                    self.part(stamp)
            for device in ("test", "till 2"):
                self.assertEqual(self.shop.fiscal(11, device=device)["res"], 0)
                self.shop.open_shift(device)
            self.shop.clock.advance(DAY_S - 3600 * dice.randrange(8))
        self.assertGreater(count, 100)
        days = sorted({stamp for stamp, _ in (*sold, *back)})
        found = self.successResultOf(ensureDeferred(self.figures.of(days)))
        for stamp in days:
            figures = found[stamp].total(everything)
            for hour in range(24):
                self.assertEqual(figures.sales[hour], sold.get((stamp, hour), 0), (stamp, hour))
                self.assertEqual(figures.returns[hour], back.get((stamp, hour), 0), (stamp, hour))
        whole = total(found.values(), everything)
        self.assertEqual({"Готівка": kinds[0], "Картка": kinds[2]}, whole.paid)
        self.assertEqual(sum(whole.sold) + sum(whole.returned), count)


class PictureTests(PageCase):
    """The page with the pictures, and their tables."""

    def table(self, name: str, query: str = "") -> list[list[str]]:
        """The lines of a CSV, without its head."""
        answer = self.get(f"/dm/main/day/{name}{query}")
        self.assertEqual(answer.header("content-type"), "text/csv; charset=utf-8")
        text = answer.body.decode()
        self.assertEqual(text[0], "\ufeff")
        return [*csv.reader(StringIO(text[1:]), delimiter=";")][1:]

    def test_pictures(self) -> None:
        """Sales, payments and registers are drawn, stand in a table, and in a CSV with the same figures."""
        self.open_shift()
        self.sell()
        self.sell(sum=60, rows=[{"code": "2", "name": "Чай", "cnt": 1, "price": 60, "taxgrp": 1}], pays=[CARD])
        page = self.page("/dm/main/day?date=2026-09-21")
        for told in ("Sales: 185.50 UAH", "Receipts: 2", "Готівка", "Картка", "These are training receipts"):
            self.assertIn(told, page.text)
        for drawing in page.all("svg", class_="plot"):
            self.assertEqual(drawing["role"], "img")
        self.assertIn("Largest: 9, 185.50.", page.text)
        self.assertIn(["9", "185,50", "0,00", "0,00"], self.table("sales"))
        self.assertEqual(self.table("payments"), [["Готівка", "125,50", "0,00"], ["Картка", "60,00", "0,00"]])
        self.assertEqual(self.table("registers"), [["test", "185,50", "2", "0,00"]])
        for name in NAMES:
            self.assertIn(f"/dm/main/day/{name}?period=day&date=2026-09-21", page.links())
            self.table(name, "?period=month&date=2026-09-21")
        self.get("/dm/main/day/nothing", status=404)

    def test_looks_again(self) -> None:
        """A page with a figure that is being read anew has the old one, and asks its script to look again."""
        self.open_shift()
        self.sell()
        for path in ("/dm/main/day", "/dm/main/"):
            self.assertNotIn(b"data-reading", self.request("GET", path).body)
        real, held = self.shop.store.find_documents, Deferred[None]()

        async def find(query: Any) -> Any:
            if len(query.kinds) > 1:
                await held
            return await real(query)

        self.patch(self.shop.store, "find_documents", find)
        for path in ("/dm/main/day", "/dm/main/"):
            connection = self.connect()
            connection.ask("GET", path)
            self.shop.clock.advance(0.31)
            [answer] = connection.answers()
            self.assertIn(b"125,50", answer.body)
            self.assertIn(b"data-reading", answer.body)
        held.callback(None)

    def test_compared(self) -> None:
        """A day stands beside the day before and the same weekday of the week before, a week beside that before."""
        self.open_shift()
        for amount, days in ((100, 6), (50, 1), (20, 0)):
            self.sell(sum=amount, rows=[_row(amount)], pays=[{"type": 0, "sum": amount}])
            self.fiscal(11)
            self.shop.clock.advance(days * DAY_S)
            self.open_shift()
        self.assertIn(["9", "20,00", "50,00", "100,00"], self.table("sales"))
        self.assertIn(["28.09", "20,00", "100,00"], self.table("sales", "?period=week"))
        self.assertIn(["28.09", "20,00"], self.table("sales", "?period=month"))
        page = self.page("/dm/main/day?date=2026-09-21")
        self.assertIn("Sales: 100.00 UAH", page.text)
        self.assertIn("/dm/main/day?period=day&date=2026-09-22", page.links())

    def test_refused(self) -> None:
        """A refusal is counted by its code, with its meaning."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "refuse", "code": 7})
        code = self.sell()["res"]
        self.assertNotEqual(code, 0)
        [[told, meaning, count]] = self.table("refusals")
        self.assertEqual((told, count), (str(code), "1"))
        self.assertIn(meaning, self.page("/dm/main/day").text)

    def test_offline(self) -> None:
        """An offline time is a band from its first document to its last, over midnight a band on either day."""
        self.open_shift()
        self.shop.scenario({"on": "probe", "then": "unreachable", "times": 0})
        self.request("POST", f"/dm/api/v3/devices/{self.ids()['test']}/go-offline")
        self.shop.clock.advance(3600)
        self.assertEqual(self.table("offline"), [["test", "21.09 09:00", "21.09 10:00", "60"]])
        self.assertEqual(len(self.page("/dm/main/day").all("rect", class_="away")), 1)
        self.shop.clock.advance(DAY_S - 7200)
        self.assertEqual(self.table("offline"), [["test", "22.09 00:00", "22.09 08:00", "480"]])
        self.shop.scenario()
        self.request("POST", f"/dm/api/v3/devices/{self.ids()['test']}/go-online")
        self.shop.clock.advance(3600)
        self.assertEqual(self.table("offline"), [["test", "22.09 00:00", "22.09 08:00", "480"]])
        self.assertEqual(self.table("offline", "?date=2026-09-21")[0][:2], ["test", "21.09 09:00"])

    def test_cards(self) -> None:
        """The time of a card payment is that from the order to its end."""
        self.later("POST", "/dm/execute", {"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        [row] = [row for row in self.table("cards") if row[1] != "0"]
        self.assertEqual((row[0], row[1], row[2]), ("9", "1", row[3]))
        self.assertGreater(int(row[2]), 0)

    def test_wrong_date(self) -> None:
        """A date that is none, or has not come, shows today."""
        for given in ("yesterday", "2031-01-01", "0001-01-01"):
            for kind in ("day", "week", "month", "year"):
                self.page(f"/dm/main/day?period={kind}&date={given}")
        self.assertEqual(period_of({"date": "2031-01-01"}, int(MORNING * 1000)).first, date(2026, 9, 21))


CARD = {"type": 2, "sum": 60}


def _sorted(day: Day) -> list[Any]:
    """All figures of a day, whatever the order in which they were read."""
    parts = sorted(day.parts.items(), key=lambda one: str(one[0]))
    return [
        (key, [*map(sorted, part.tax)], [*map(sorted, part.cards)], replace(part, tax=[], cards=[]))
        for key, part in parts
    ]


def _row(amount: int) -> dict[str, Any]:
    return {"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}


class RealTests(PageCase):
    """Real sales and those for training."""

    def setUp(self) -> None:
        """A shop with a register at the tax service that sold for 70, and a training register that sold for 30."""
        self.shop = PrroShop(self, "one", server_url="https://192.0.2.1/fs")
        self.door = Door(self.shop.core)
        for device, amount in (("one", 70), ("test", 30)):
            self.shop.open_shift(device)
            self.assertEqual(
                self.shop.fiscal(1, device=device, receipt=paid(str(amount), (0, str(amount))))["res"], 0
            )

    def test_apart(self) -> None:
        """They are never in one picture or total: a switch leads from the one to the other."""
        for query, told, other in (("", "70.00", "30.00"), ("?sales=training", "30.00", "70.00")):
            page = self.page(f"/dm/main/day{query}")
            self.assertIn(f"Sales: {told} UAH", page.text)
            self.assertNotIn(other, page.text)
            self.assertNotIn("100.00", page.text)
            self.assertEqual(len(page.all("option", value="training")), 1)
            self.assertEqual("These are training receipts" in page.text, bool(query))
        text = self.page("/dm/main/").text
        self.assertIn("Sales: 70.00 UAH", text)
        self.assertIn("Apart, training sales: 30.00 UAH", text)

    def test_tax_service(self) -> None:
        """The time of the tax service is that from sending a document to its confirmation."""
        answer = self.get("/dm/main/day/tax").body.decode()
        [row] = [row for row in csv.reader(StringIO(answer), delimiter=";") if row[0] == "9"]
        self.assertEqual(row[1], "2")
        self.assertNotIn("9;2", self.get("/dm/main/day/tax?sales=training").body.decode())


class ChartTests(SynchronousTestCase):
    """Drawings."""

    def test_inside(self) -> None:
        """Whatever was sold, bars and marks lie inside of the drawing, and no value is above the scale."""
        for values in ([0] * 24, [1] * 24, [10**9 if at == 3 else 7 for at in range(24)], [None, 5] * 12):
            drawn = chart([f"{hour}" for hour in range(24)], [("sales", values), ("yesterday", values)])
            for series in drawn.series:
                for point in series.points:
                    self.assertGreaterEqual(point.x, drawn.left)
                    self.assertLessEqual(point.x + point.width, WIDTH)
                    self.assertGreaterEqual(point.y, 0)
                    self.assertLessEqual(point.y + point.height, HEIGHT)
            self.assertGreaterEqual(drawn.lines[-1].value * 100, max(value or 0 for value in values))

    def test_gaps(self) -> None:
        """A missing value leaves a gap in its line: nobody takes it for a nought."""
        [line] = chart([*"abcde"], [("p50", [1, 2, None, 3, 4])], bars=False, unit=1, least=100).series
        self.assertEqual((len(line.points), len(line.lines)), (4, 2))

    def test_hours(self) -> None:
        """A usual day shows 8 to 20; a sale at night is shown too."""
        self.assertEqual(hours_of([0] * 24), range(8, 21))
        night = [0] * 24
        night[2] = 100
        self.assertEqual(hours_of([0] * 24, night), range(2, 21))

    def test_labels(self) -> None:
        """Labels do not run into each other: every hour has one, of a month only some days."""
        self.assertEqual(len(chart([f"{hour}" for hour in range(8, 21)], []).ticks), 13)
        self.assertEqual(len(chart([f"{day:02}.11" for day in range(30)], []).ticks), 8)

    def test_scale(self) -> None:
        """A scale ends at 1, 2 or 5 with noughts, not much above what has to fit."""
        self.assertEqual(
            [scale_of(n) for n in (0, 10_000, 10_001, 20_001, 50_001)], [10_000, 10_000, 20_000, 50_000, 100_000]
        )
        self.assertEqual([scale_of(n, 100) for n in (3, 150, 201)], [100, 200, 500])

    def test_bands(self) -> None:
        """A band is where it was in the day, and never too short to be seen."""
        whole = band(0, 86_399_999, 0, 86_399_999)
        self.assertEqual((whole.x, whole.width), (0, 720))
        brief = band(0, 86_399_999, 86_399_998, 86_399_999)
        self.assertEqual((brief.x, brief.width), (717, 3))
