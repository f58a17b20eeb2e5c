"""The board of a register in each of its states: the next step, what is impossible and why, what a Z would say."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.access.roles import Permit, Role
from dmtwisted.documents import documents
from dmtwisted.store.values import DocumentQuery
from tests.prro_shop import PrroShop, keys
from tests.test_pages import UK, Page, PageCase
from tests.web_case import DEVICES, sale
from web.pages import board as boards
from web.pages.board import Board, board_of
from web.pages.overview import standing
from web.pages.rendering import kopecks
from web.rights import RIGHTS, may, may_sell
from web.site import Door

SELL = "GET /dm/main/registers/{dev_id}/sell"


class BoardCase(PageCase):
    """A shop and the board of `test`."""

    name = "test"

    def board(self, permit: Permit | None = None) -> Board:
        """The board now, for an administrator or for ``permit``."""
        core, permit = self.shop.core, permit or Permit(Role.ADMINISTRATOR)
        device = core.devices.by_name(self.name)

        async def made() -> Board:
            shown = await standing(device, core.devices)
            now = core.clock.now()
            return await board_of(core.store, device, shown, now, lambda route: may(permit, route), may_sell(permit))

        return self.successResultOf(Deferred.fromCoroutine(made()))

    def shown(self) -> tuple[str, str, list[str]]:
        """Why, the next step, and what else can be done."""
        board = self.board()
        return board.why, board.next.word if board.next else "", [one.word for one in board.also]

    def why_not(self) -> dict[str, str]:
        """What is impossible now, and why."""
        return {one.word: one.why for one in self.board().folded if one.why}

    def look(self, language: tuple[str, str] = UK) -> Page:
        """The page."""
        return self.page(f"/dm/main/registers/{self.ids()[self.name]}", language)

    def can_press(self) -> set[str]:
        """The tasks of the buttons that can be pressed, but those of the form for cash."""
        buttons = [one for one in self.look().all("button", type="button") if "disabled" not in one]
        return {str(one["data-task"]) for one in buttons if "data-task" in one}


class StateTests(BoardCase):
    """What is shown in each state."""

    def test_closed(self) -> None:
        """With the shift closed the next step opens it; reports, sales and cash say that it has to be opened."""
        self.assertEqual(self.shown(), ("next_open", "open_shift", []))
        self.assertEqual(self.can_press(), {"0", "21"})
        self.assertEqual(
            self.why_not(),
            {
                "last_copy": "why_no_receipt",
                "go_offline": "why_no_numbers",
                "go_online": "why_is_online",
                **dict.fromkeys(("cash_moves", "sell", "x_report", "z_report"), "why_is_closed"),
            },
        )
        self.assertIsNone(self.board().drawer)
        self.assertNotIn(f"/dm/main/registers/{self.ids()['test']}/sell", self.look().links())
        self.assertIn("спершу відкрийте зміну", self.look().text)

    def test_open(self) -> None:
        """With the shift open it is not opened again; the next step is to sell; X, Z and cash can be done."""
        self.open_shift()
        self.sell()
        self.assertEqual(self.shown(), ("next_sell", "sell", ["x_report", "z_report"]))
        self.assertIn(f"/dm/main/registers/{self.ids()['test']}/sell", self.look().links())
        self.assertEqual(self.can_press(), {"10", "11", "21", "22"})
        self.assertEqual(self.why_not(), {"go_online": "why_is_online", "open_shift": "why_is_open"})
        self.assertEqual(self.board().drawer, 12550)

    def test_no_page_to_sell(self) -> None:
        """Where there is no page to sell on, the next step of an open shift is the X-report."""
        self.patch(boards, "RIGHTS", {route: roles for route, roles in RIGHTS.items() if route != SELL})
        self.open_shift()
        self.assertEqual(self.shown(), ("next_till", "x_report", ["z_report"]))

    def test_old(self) -> None:
        """An hour before a day is over, the next step closes the shift, and not a moment earlier."""
        self.open_shift()
        self.shop.clock.advance(23 * 3600 - 1)
        self.assertEqual(self.shown()[1], "sell")
        self.shop.clock.advance(1)
        self.assertEqual(self.shown(), ("next_old", "z_report", ["sell", "x_report"]))

    def test_offline(self) -> None:
        """A register that is offline says how long it may, what then, how many documents wait, and how to come back.

        When the time is over only the shift may be closed, and the way home is the next step.
        """
        self.open_shift()
        self.shop.scenario({"on": "probe", "then": "unreachable", "times": 0})
        self.request("POST", f"{DEVICES}/{self.ids()['test']}/go-offline")
        self.sell()
        self.sell()
        board = self.board()
        assert board.home is not None
        self.assertEqual((board.queued, board.home.mode, board.why), (3, "go-online", "next_sell"))
        text = self.look().text
        self.assertIn("Документів чекає на надсилання 3", text)
        self.assertIn("34 год 59 хв" if "34 год 59 хв" in text else "35 год 0 хв", text)
        self.assertIn("лише закрити зміну", text)
        self.assertEqual(self.why_not()["go_offline"], "why_is_offline")
        self.shop.clock.advance(36 * 3600)
        self.request("PATCH", f"{DEVICES}/{self.ids()['test']}", {"settings": {"warn_shift_h": 100}})
        self.assertEqual(self.shown(), ("next_over", "go_online", ["x_report", "z_report"]))
        self.assertEqual(self.why_not()["cash_moves"], "why_over")

    def test_doubt(self) -> None:
        """While a document is in doubt it is named, the next step finds out, and nothing else is possible."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        self.asked_late(self.shop.asked(sale("sale-1")))
        self.assertEqual(self.shown(), ("next_doubt", "find_out", []))
        self.assertEqual(self.can_press(), {"18"})
        doubt = self.board().doubt
        assert doubt is not None
        self.assertEqual((doubt.number, doubt.kind, doubt.sum), (2, "sale", 12550))
        self.assertIn(f"/dm/main/receipts/{self.ids()['test']}/2", self.look().links())
        self.shop.scenario()
        self.fiscal(18)
        self.assertEqual(self.shown()[1], "sell")

    def test_broken(self) -> None:
        """A register that cannot be built leads to its settings; nothing else can be pressed."""
        device = self.shop.core.devices.by_name("test")

        async def state() -> dict[str, object]:
            raise ValueError("broken")

        self.patch(device.built, "state", state)
        self.assertEqual(self.shown(), ("next_trouble", "set_up", []))
        self.assertEqual(self.can_press(), set())

    def test_roles(self) -> None:
        """A cashier is offered what a cashier may do, a manager reports only."""
        ids = frozenset({self.ids()["test"]})
        cashier, manager = Permit(Role.CASHIER, "Олена", ids), Permit(Role.MANAGER, "Ігор")
        board = self.board(manager)
        self.assertEqual((board.next, board.also, board.drawer), (None, (), None))
        words = {one.word for one in self.board(cashier).folded}
        self.assertFalse(words & {"go_online", "go_offline"})
        self.open_shift()
        board = self.board(manager)
        assert board.next is not None
        self.assertEqual((board.next.word, board.also, board.drawer), ("x_report", (), None))
        self.assertEqual({one.word for one in board.folded}, {"last_copy", "last_numbers"})
        self.assertEqual([one.word for one in self.board(cashier).also], ["x_report", "z_report"])


class KeyTests(BoardCase):
    """A register that has to sign."""

    name = "one"

    def setUp(self) -> None:
        """A shop with registers at the tax service."""
        self.prro = self.shop = PrroShop(self)
        self.door = Door(self.shop.core)

    def test_no_key(self) -> None:
        """Without a key the next step is the key; an administrator gets the way to it, a cashier a sentence."""
        self.assertEqual(self.shown(), ("next_key", "board_key", []))
        self.assertIn(f"/dm/devices/{self.ids()['one']}#key-title", self.look().links())
        self.assertEqual(self.why_not()["open_shift"], "why_key")
        cashier = self.board(Permit(Role.CASHIER, "Олена", frozenset({self.ids()["one"]})))
        self.assertEqual((cashier.why, cashier.next), ("next_key", None))
        self.prro.load_key("one", keys().cashier)
        self.assertEqual(self.shown(), ("next_open", "open_shift", []))


class PreviewTests(BoardCase):
    """The sums of a Z before it is made."""

    def test_same_sums(self) -> None:
        """The preview has exactly the sums of the Z that follows; looking at it makes and changes nothing."""
        self.request("PATCH", f"{DEVICES}/{self.dev_id}", {"settings": {"rounding_step": 50}})
        self.open_shift()
        self.fiscal(3, cash={"type": 0, "sum": 300})
        self.sell()
        row = {"code": "2", "name": "Чай", "cnt": 3, "price": "33.33", "taxgrp": 2}
        self.sell(sum="99.99", rows=[row], pays=[{"type": 1, "sum": "99.99"}])
        rounded = [{**row, "cnt": 1, "price": 10.2}]
        self.assertEqual(self.sell(sum=10.2, rows=rounded, pays=[{"type": 0, "sum": 20}], autoround=True)["res"], 0)
        self.fiscal(2, receipt={"sum": 125.5, "rows": [_COFFEE], "pays": [{"type": 0, "sum": 125.5}]})
        self.fiscal(4, cash={"type": 0, "sum": 50})
        before = len(self.shop.ledger())
        preview, text = self.board().totals, self.look().text
        self.assertEqual(len(self.shop.ledger()), before)
        assert preview is not None
        self.assertEqual(self.fiscal(11)["res"], 0)
        query = DocumentQuery(kinds=[documents.Z], limit=1)
        [row_of_z] = self.successResultOf(Deferred.fromCoroutine(self.shop.store.find_documents(query))).documents
        made = documents.decode(row_of_z.value).report
        assert made is not None
        # The Z counts itself among the documents of its shift.
        preview.last_docno += 1
        self.assertEqual(preview, made)
        sold = f"Продажі (3) {kopecks(made.calc_p, 'uk')}"
        self.assertNotEqual(made.calc_p, made.base_p)
        for told in (sold, "Повернення (1) 125,50", "Чеків 4", "Внесено Видано", "300,00 50,00", "Заокруглення"):
            self.assertIn(told, text)
        for tax in made.taxes.values():
            self.assertIn(f"{kopecks(tax.base_sum_p, 'uk')} {kopecks(tax.tax_sum_p + tax.ex_sum_p, 'uk')}", text)
        self.assertIn(f"Готівка в шухляді {kopecks(made.safe, 'uk')} грн", text)
        self.assertIsNone(self.board().totals)

    def test_waits_for_nobody(self) -> None:
        """The preview is there while the register works: looking never keeps a till waiting."""
        self.open_shift()
        device = self.shop.core.devices.by_name("test")
        self.successResultOf(Deferred.fromCoroutine(device.turns.take()))
        self.assertIn("Що буде в Z-звіті", json.dumps(self.look().all("section"), ensure_ascii=False))

    def test_unheard(self) -> None:
        """Looking is no answer to a till: who has not heard of a receipt still hears of it."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        self.asked_late(self.shop.asked(sale("sale-1")))
        self.shop.scenario()
        self.fiscal(18)
        register: Any = self.shop.built()
        told = [one.number for one in register.unheard()]
        self.look()
        self.assertEqual([one.number for one in register.unheard()], told)


_COFFEE = {"code": "1", "name": "Кава", "cnt": 1, "price": 125.5, "taxgrp": 1}
