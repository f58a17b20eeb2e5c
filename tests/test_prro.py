"""A register at the tax service: a day in the shop, lost answers, refusals, offline and back, its key."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from dmtwisted.clock import KYIV
from dmtwisted.devices.driver import BadSettings, Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.devices.named_files import with_files
from dmtwisted.registers.channels import tax_service
from dmtwisted.registers.channels.breaker import Breaker
from dmtwisted.registers.channels.interface import IFiscalChannel
from dmtwisted.registers.channels.protocol_a import refusal_of
from dmtwisted.registers.channels.proven import Proven
from dmtwisted.registers.kept import Doubt, decode
from dmtwisted.registers.prro.register import to_server
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import OperationQuery, StoreFailed
from dmtwisted.wording import wording
from protocols.errors import NotReached, Silent, WireError
from protocols.fiscal import verdicts
from protocols.fiscal.bodies import MOST_BYTES
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.https import HttpsExchange
from protocols.fiscal.verdicts import Reply
from tests.certificates import make_certificate, make_key, pem
from tests.prro_shop import FIRST, TIN, PrroShop, container, keys
from tests.shop import MORNING, hurry, sale
from tests.web_case import WebCase
from web.site import Door

PURCHASE = "3000000002"
"""The fiscal number of the first sale."""


class PrroCase(SynchronousTestCase):
    """A shop whose register `one` is open at the tax service."""

    def setUp(self) -> None:
        """Open."""
        self.shop = PrroShop(self, "one")
        self.assertTold(self.do(0, "opening"), 0)

    def do(self, task: int, tag: str = "", device: str = "one", **members: Any) -> dict[str, Any]:
        """The answer to a task."""
        return self.shop.fiscal(task, tag, device, **members)

    def sell(self, amount: float = 50, tag: str = "", device: str = "one") -> dict[str, Any]:
        """The answer to a sale in cash."""
        return self.do(1, tag, device, receipt=sale(amount))

    def assertTold(self, answer: dict[str, Any], res: int, action: int | None = None) -> None:
        """``answer`` has ``res``, and ``res_action`` if one is given."""
        self.assertEqual(answer["res"], res, answer)
        if action is not None:
            self.assertEqual(answer["res_action"], action, answer)

    def go(self, way: str, device: str = "one") -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        going = Deferred.fromCoroutine(getattr(self.shop.built(device), f"go_{way}")("uk"))
        self.shop.settle(going)
        going.addErrback(_code_of)
        return self.successResultOf(going) or 0


def _code_of(failure: Failure) -> int:
    failure.trap(Refused)
    assert isinstance(failure.value, Refused)
    return failure.value.res.code


class DayTests(PrroCase):
    """What is sold is at the tax service, signed by the register's key."""

    def test_day(self) -> None:
        """Open, cash, sale, return, withdrawal, storno, X and Z: every document is there once, the totals agree."""
        told = [
            self.do(3, cash={"type": 0, "sum": 500}),
            self.sell(50.5),
            self.do(2, receipt={**sale(20), "purchase_receipt_fisn": "3000000003"}),
            self.do(4, cash={"type": 0, "sum": 100}),
            self.do(14, cash={"type": 2, "sum": 100, "commission": 1}),
            self.sell(10),
            self.do(17),
            self.do(10),
            self.do(11),
        ]
        self.assertEqual([answer["res"] for answer in told], [0] * len(told), told)
        kinds = ["open", "cash_in", "sale", "return", "cash_out", "withdrawal", "sale", "storno", "z", "close"]
        self.assertEqual(self.shop.kinds(), kinds)
        self.assertEqual(told[1]["info"]["doccode"], "3000000003")
        self.assertEqual((told[1]["info"]["docno"], told[1]["info"]["dtype"]), ("3", 1))
        sale_told = self.shop.taken()[2]
        self.assertEqual(sale_told.checktotal.sum, 5050)
        self.assertEqual(told[1]["info"]["printinfo"]["sum_topay"], 50.5)

    def test_second_day(self) -> None:
        """Numbers go on over a Z, and a new opening is taken."""
        for task in (11, 0):
            self.assertTold(self.do(task), 0)
        self.assertEqual([document.head.ordernum for document in self.shop.taken()], [1, 2, 3, 4])

    def test_known_tag(self) -> None:
        """A repeated tag gets the stored answer, though the key is gone meanwhile, and nothing is sent again."""
        first = self.sell(50, "a")
        self.shop.crash()
        self.shop.done(
            self.shop.store.change_settings(
                {
                    self.place(): b'{"sealed":"","subject":"","issuer":"",'
                    b'"tax_number":"","key_id":"","valid_from":0,"valid_to":0}'
                }
            )
        )
        again = self.sell(50, "a")
        self.assertEqual((again["task_status"], again["info"]), (2, first["info"]))
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def place(self) -> str:
        """Where the key of `one` is kept."""
        return f"signing-key.{self.shop.core.devices.by_name('one').row.dev_id}"

    def test_income(self) -> None:
        """Income and expense are refused with 307, and the register goes on."""
        self.assertTold(self.do(3, cash={"type": 0, "sum": 10}), 0)
        for task in (15, 16):
            self.assertTold(self.do(task, receipt={"sum": 10, "pays": [{"type": 0, "sum": 10}]}), 307)
        self.assertTold(self.sell(), 0)

    def test_testing(self) -> None:
        """A register for tests says so in its documents and in its answers."""
        self.shop.add_register("trial", FIRST + 1, testing=True)
        self.shop.load_key("trial", keys().cashier)
        answer = self.do(0, device="trial")
        self.assertEqual((answer["res"], answer["info"]["dtype"]), (0, 0))
        self.assertTrue(self.shop.taken(FIRST + 1)[0].head.testing)

    def test_outlet_asked_for(self) -> None:
        """What the settings do not say of payer and outlet is taken from the tax service's own register."""
        self.shop.add_register("bare", FIRST + 1, fis_code="", name="", shopname="", shopad="")
        self.shop.load_key("bare", keys().cashier)
        self.assertTold(self.do(0, device="bare"), 0)
        head = self.shop.taken(FIRST + 1)[0].head
        self.assertEqual((head.tin, head.orgnm, head.pointnm), (TIN, "Тестовий платник", "Тестова торгова точка"))

    def test_outlet_after_a_restart(self) -> None:
        """What the tax service said of the outlet is known after a restart while it is away: the shop sells on."""
        bare = {"fis_code": "", "name": "", "shopname": "", "shopad": ""}
        self.shop.add_register("bare", FIRST + 1, **bare)
        self.shop.load_key("bare", keys().cashier)
        self.assertTold(self.do(0, device="bare"), 0)
        self.shop.crash()
        self.shop.rules(*({"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")))
        answer = self.sell(50, device="bare")
        self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True))
        # Started while it is offline, it signs on with the same.
        self.shop.crash()
        self.assertTold(self.sell(60, device="bare"), 0)
        self.shop.rules()
        self.assertEqual(self.go("online", "bare"), 0)
        told = {(one.head.tin, one.head.orgnm, one.head.pointnm) for one in self.shop.taken(FIRST + 1)}
        self.assertEqual(told, {(TIN, "Тестовий платник", "Тестова торгова точка")})
        # Its number belongs to another register now: what was kept is not that one's.
        self.assertTold(self.do(11, device="bare"), 0)
        self.shop.settings("bare", fiscal_number=str(FIRST + 7))
        self.assertTold(self.do(0, device="bare"), 1044)

    def test_outlet_anew(self) -> None:
        """Once in each run the tax service is asked whether the outlet is the same; else the kept one counts."""
        self.shop.add_register("bare", FIRST + 1, fis_code="", name="", shopname="", shopad="")
        self.shop.load_key("bare", keys().cashier)
        self.assertTold(self.do(0, device="bare"), 0)
        record = self.shop.far_end.books.registers[FIRST + 1]
        record.registration = replace(record.registration, point_name="Нова назва")
        self.assertTold(self.sell(50, device="bare"), 0)
        self.shop.crash()
        # The time is reported, the outlets are not.
        self.shop.rules({"on": "probe", "then": "accept"}, {"on": "probe", "then": "refuse", "code": "503"})
        self.assertTold(self.sell(60, device="bare"), 0)
        self.shop.crash()
        self.assertTold(self.sell(70, device="bare"), 0)
        self.shop.crash()
        self.shop.rules(*({"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")))
        self.assertTold(self.sell(80, device="bare"), 0)
        self.shop.rules()
        self.assertEqual(self.go("online", "bare"), 0)
        old, new = "Тестова торгова точка", "Нова назва"
        names = [one.head.pointnm for one in self.shop.taken(FIRST + 1)]
        self.assertEqual(names, [old, old, old, new, new, new, new])

    def test_outlet_not_readable(self) -> None:
        """An outlet that cannot be read is asked for again; one that the store does not confirm is not used."""
        self.shop.add_register("bare", FIRST + 1, fis_code="", name="", shopname="", shopad="")
        self.shop.load_key("bare", keys().cashier)
        place = f"outlet.{self.shop.core.devices.by_name('bare').row.dev_id}"
        self.shop.done(self.shop.store.change_settings({place: b"{"}))
        fails: Any = self.patch(self.shop.store, "change_settings", self._no_store)
        self.assertTold(self.do(0, device="bare"), 1082)
        fails.restore()
        self.assertTold(self.do(0, device="bare"), 0)
        self.assertIn("Тестовий".encode(), self.shop.done(self.shop.store.settings())[place])

    async def _no_store(self, changes: dict[str, bytes]) -> None:
        raise StoreFailed("database or disk is full")

    def test_check(self) -> None:
        """A register can be tried without effect; the answer says what is wrong."""
        self.shop.done(self.shop.built().check())
        self.shop.rules({"on": "probe", "then": "unreachable"})
        failure = self.failureResultOf(Deferred.fromCoroutine(self.shop.built().check()), Refused)
        self.assertIs(failure.value.res, Res.TAX_SERVICE_UNREACHABLE)
        self.assertEqual(self.shop.kinds(), ["open"])

    def test_shift_settings(self) -> None:
        """Tax groups and the register's number stay as they are while the register is open."""
        groups = [{"code": 1, "name": "ПДВ 7%", "letter": "А", "tax_name": "ПДВ", "percent": 700}]
        for changes in ({"tax_groups": groups}, {"fiscal_number": "4000000999"}, {"testing": True}):
            devices = self.shop.core.devices
            change = devices.change(devices.by_name("one").row.dev_id, None, changes)
            failure = self.failureResultOf(Deferred.fromCoroutine(change), Refused)
            self.assertIs(failure.value.res, Res.SHIFT_MUST_BE_CLOSED)
        self.shop.settings("one", footer=["Дякуємо"])
        self.assertTold(self.do(11), 0)

    def test_payment_codes(self) -> None:
        """A new register has the tax service's codes; one of an earlier version its own ones, until it is closed."""
        self.assertEqual(self.settings_of("one").pay_codes, "tax")
        self.shop.add_register("old", FIRST, pay_codes="types")
        devices = self.shop.core.devices
        for device, wrong in (("one", "types"), ("old", None)):
            dev_id = devices.by_name(device).row.dev_id
            changed = Deferred.fromCoroutine(devices.change(dev_id, None, {"pay_codes": wrong or "tax"}))
            if wrong:
                self.assertIs(self.failureResultOf(changed, Refused).value.res, Res.SHIFT_MUST_BE_CLOSED)
            else:
                self.successResultOf(changed)
                self.assertEqual(self.settings_of(device).pay_codes, "tax")

    def test_form_and_means(self) -> None:
        """The text of a receipt says the form and the means of each payment, as the settings have them."""
        types = [{"code": 0, "name": "Готівка"}, {"code": 1, "name": "З поточного рахунку"}]
        types.append({"code": 2, "name": "Картка", "form": "БЕЗГОТІВКА", "payformcd": 301})
        self.shop.add_register("named", FIRST + 1, pay_types=types)
        self.shop.load_key("named", keys().cashier)
        self.assertTold(self.do(0, device="named"), 0)
        row = {"name": "Кава", "cnt": 1, "price": 3, "taxgrp": 1}
        receipt = {"sum": 3, "rows": [row], "pays": [{"type": code, "sum": 1} for code in (0, 1, 2)]}
        self.shop.settings("named", pf_text=True)
        answer = self.do(1, device="named", receipt=receipt)
        self.assertTold(answer, 0)
        paper = base64.b64decode(answer["pf_text"].partition("base64,")[2]).decode("windows-1251")
        for line in ("ГОТІВКА, грн", "БЕЗГОТІВКОВА: З поточного рахунку, грн", "БЕЗГОТІВКА: Картка, грн"):
            self.assertIn(line, paper)
        sent = [(pay.payformcd, pay.payformnm) for pay in self.shop.taken(FIRST + 1)[-1].checkpay]
        self.assertEqual(sent, [(0, "Готівка"), (100_000, "З поточного рахунку"), (301, "Картка")])

    def test_old_row(self) -> None:
        """A register that was stored before there were codes keeps its numbers over a restart."""
        row = self.shop.core.devices.by_name("two").row
        stored = {name: value for name, value in json.loads(row.settings).items() if name != "pay_codes"}
        self.shop.done(self.shop.store.change_device(row.n, row.name, json.dumps(stored).encode()))
        self.shop.crash()
        kept = self.settings_of("two")
        self.assertEqual((kept.pay_codes, kept.payments[2].payformcd), ("types", 2))

    def settings_of(self, device: str) -> PrroSettings:
        """The settings of a register."""
        settings = self.shop.core.devices.by_name(device).settings
        assert isinstance(settings, PrroSettings)
        return settings

    def test_return_elsewhere(self) -> None:
        """A return at register 2 of a sale of register 1 names number, register and day; at register 1 the number."""
        sold = self.sell()["info"]
        self.shop.clock.advance(86_400)
        self.shop.load_key("two", keys().cashier)
        self.assertTold(self.do(0, device="two"), 0)
        self.assertTold(self.do(3, device="two", cash={"type": 0, "sum": 100}), 0)
        receipt = {**sale(50), "purchase_receipt_fisn": sold["doccode"], "purchase_rro_fisn": sold["fisid"]}
        for device, number, expected in (
            ("two", FIRST + 1, (sold["doccode"], FIRST, date(2026, 9, 21))),
            ("one", FIRST, (sold["doccode"], None, None)),
        ):
            answer = self.do(2, device=device, receipt=receipt)
            self.assertTold(answer, 0)
            self.assertNotIn(3006, [warning["code"] for warning in answer["warnings"]])
            head = self.shop.taken(number)[-1].checkhead
            self.assertEqual((head.orderretnum, head.orderretcashregnum, head.orderretdate), expected)
        answer = self.do(2, device="two", receipt={**receipt, "purchase_rro_fisn": "4000009999"})
        self.assertEqual(answer["res"], 0)
        self.assertIn("без дати чека покупки", answer["warnings"][-1]["wtxt"])

    def test_left_out(self) -> None:
        """What the tax service has no place for is a warning in the answer; a repeat has the same one."""
        row = {"name": "Пиво", "cnt": 1, "price": 50, "taxgrp": 10, "code2": "2203000100", "code3": "56.10"}
        receipt = {"sum": 50, "rows": [row], "pays": [{"type": 0, "sum": 50}]}
        for _ in range(2):
            answer = self.do(1, "both", receipt=receipt)
            self.assertTold(answer, 0)
            (warning,) = answer["warnings"]
            self.assertEqual(warning["code"], 3006)
            self.assertIn("рядок 1: УКТЗЕД без ДКПП; група 10: без податку «ПДФО»", warning["wtxt"])
        self.assertTold(self.do(11), 0)

    def test_used_elsewhere(self) -> None:
        """A register that another program has used goes on with the tax service's number."""
        self.assertTold(self.do(11), 0)
        self.shop.add_register("moved", FIRST)
        self.shop.load_key("moved", keys().cashier)
        self.shop.rules({"on": "probe", "then": "unreachable", "times": 2})
        self.assertTold(self.do(18, device="moved"), 0)
        self.assertTold(self.do(0, device="moved"), 1043)
        self.assertEqual(self.do(0, device="moved")["info"]["docno"], "4")

    def test_interface(self) -> None:
        """The channel is one."""
        verifyObject(IFiscalChannel, self.shop.built()._channel)


class LostAnswerTests(PrroCase):
    """The worst day: the document was taken, the answer was lost."""

    def test_lost_after(self) -> None:
        """The sale is known again by its number before the till is answered, and there is one receipt."""
        for answered in ((), ({"on": "probe", "then": "lost_before", "times": 3},)):
            self.setUp()
            self.shop.rules({"on": "sale", "then": "lost_after"}, *answered)
            first = self.sell(50, "a")
            self.assertEqual((first["res"], first["task_status"], first["info"]["doccode"]), (0, 1, PURCHASE))
            self.assertEqual(self.sell(50, "a"), {**first, "task_status": 2})
            self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_lost_before(self) -> None:
        """What never arrived is sent again, as the same bytes, before the till is answered."""
        self.shop.rules({"on": "sale", "then": "lost_before"})
        self.assertEqual(self.sell(50, "a")["info"]["doccode"], PURCHASE)
        self.assertEqual(self.sell(50, "a")["task_status"], 2)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_garbage(self) -> None:
        """Half an answer, noise and 5xx are no answers: the sale is looked up, and is there once."""
        for number, code in enumerate(("", "200", "500", "503")):
            self.shop.rules({"on": "sale", "then": "garbage", "code": code})
            self.assertTold(self.sell(50, f"tag {number}"), 0)
        self.assertEqual(self.shop.kinds(), ["open"] + ["sale"] * 4)

    def test_unreachable(self) -> None:
        """No connection at all, and no leave to go offline: 1050, which may be repeated, as nothing was sent."""
        self.shop.settings("one", offline_allowed=False)
        self.shop.rules({"on": "sale", "then": "unreachable"})
        self.assertTold(self.sell(50, "a"), 1050, 1)
        self.assertTold(self.sell(50, "a"), 0)

    def test_restart(self) -> None:
        """A restart asks for what is unknown, with the key out of the store, before anything is sold."""
        self.shop.rules({"on": "sale", "then": "lost_after"})
        self.sell(50, "a")
        self.shop.crash()
        self.assertEqual(self.shop.look_up("a", "one")["info"]["doccode"], PURCHASE)
        self.assertTold(self.sell(60, "b"), 0)
        self.assertEqual(self.shop.kinds(), ["open", "sale", "sale"])

    def test_kept_with_it(self) -> None:
        """The journal keeps when an answer was given up, and when the document was found without its caller."""
        hurry(self)
        for dies in (False, True):
            self.setUp()
            self.shop.rules({"on": "sale", "then": "lost_after", "delay_ms": 1000})
            self.shop.asked({"device": "one", "tag": "a", "type": 1, "fiscal": {"task": 1, "receipt": sale(50)}})
            self.shop.clock.advance(0.5 if dies else 1)
            given_up = 0 if dies else self.shop.core.clock.now()
            if dies:
                self.shop.crash()
            self.shop.clock.advance(60)
            self.assertTold(self.shop.look_up("a", "one"), 0)
            rows = self.shop.done(self.shop.store.find_operations(OperationQuery(key="a"))).operations
            kept, found = decode(rows[0].request), self.shop.core.clock.now() - 60_000 * dies
            told = {2: Doubt(given_up, found, later=True)}
            self.assertEqual((kept.doubts, kept.way[2].answered, kept.renewed), (told, found, {}), dies)

    def test_every_kind(self) -> None:
        """Each kind of document survives a lost answer, the opening with its offline session."""
        for task, members in (
            (3, {"cash": {"type": 0, "sum": 500}}),
            (2, {"receipt": {**sale(20), "purchase_receipt_fisn": PURCHASE}}),
            (14, {"cash": {"type": 2, "sum": 100}}),
            (11, {}),
            (0, {}),
        ):
            self.shop.rules({"on": "any", "then": "lost_after"})
            self.assertTold(self.do(task, f"task {task}", **members), 0)
        kinds = ["open", "cash_in", "return", "withdrawal", "z", "close", "open"]
        self.assertEqual(self.shop.kinds(), kinds)
        self.assertEqual(self.go("offline"), 0)

    def test_closing_lost(self) -> None:
        """After a Z the closing goes forward only: asked for, else sent as the same bytes."""
        thens = ("lost_before", "lost_after", "unreachable")
        for then in thens:
            self.shop.rules({"on": "z", "then": "accept"}, {"on": "any", "then": then})
            self.assertTold(self.do(11, then), 0)
            self.assertTold(self.do(0), 0)
        self.assertEqual(self.shop.kinds(), ["open", "z", "close"] * len(thens) + ["open"])

    def test_other_document(self) -> None:
        """Another machine's document under our number is never taken for ours: the register waits for a person."""
        hurry(self)
        self.shop.rules({"on": "sale", "then": "lost_before"})
        self.assertTold(self.sell(50, "a"), 1075, 2)
        self.shop.add_register("twin", FIRST)
        self.shop.load_key("twin", keys().cashier)
        twin = self.shop.built("twin")._books
        twin.state.shift_open, twin.state.next_number, twin.stored = True, 2, b"{}"
        self.assertTold(self.sell(70, "b", "twin"), 0)
        answer = self.sell(50, "a")
        self.assertTold(answer, 1074, 3)
        self.assertIn("another document", answer["aq_errortxt"])
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_foreign_ticket(self) -> None:
        """A ticket with another signature proves nothing, whatever it says."""
        stranger = Authority(keys().authority._now).issue("Stranger")
        seal, self.shop.far_end._seal = self.shop.far_end._seal, _seal_of(stranger)
        self.assertTold(self.sell(50, "a"), 1075, 2)
        self.assertTold(self.sell(50, "a"), 1075, 2)
        self.shop.far_end._seal = seal
        self.assertTold(self.sell(50, "a"), 0)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_closing_next_morning(self) -> None:
        """A closing that never arrived gets a new time after a night, and is found when its answer is lost too."""
        hurry(self)
        for fault, again in (("unreachable", "lost_before"), ("lost_before", "lost_after")):
            self.shop = PrroShop(self, "one")
            self.assertTold(self.do(0, "opening"), 0)
            self.sell(10)
            self.shop.rules({"on": "z", "then": "accept"}, {"on": "any", "then": fault})
            self.assertTold(self.do(11, "z"), 1075, 2)
            self.shop.clock.advance(12 * 3600)
            self.shop.rules({"on": "any", "then": again})
            self.shop.crash()
            self.do(11, "z")
            self.shop.rules()
            self.assertTold(self.do(11, "z"), 0)
            self.assertTold(self.do(0, "next"), 0)
            self.assertEqual(self.shop.kinds(), ["open", "sale", "z", "close", "open"], (fault, again))
            closing = self.shop.taken()[3].checkhead
            self.assertEqual((closing.ordertime.hour, closing.ordernum), (21, 4))

    def test_closing_15_minutes_later(self) -> None:
        """A closing keeps its time for a quarter of an hour to the millisecond, and gets a new one from then on."""
        hurry(self)
        for late, minutes in ((0.002, 0), (0.0, 15)):
            self.shop = PrroShop(self, "one")
            self.assertTold(self.do(0, "opening"), 0)
            self.sell(10)
            self.shop.rules({"on": "z", "then": "accept"}, {"on": "any", "then": "unreachable"})
            begun = self.shop.clock.seconds()
            self.assertTold(self.do(11, "z"), 1075, 2)
            self.shop.rules()
            self.shop.clock.advance(begun + 15 * 60 - late - self.shop.clock.seconds())
            self.assertTold(self.do(11, "z"), 0)
            closing = self.shop.taken()[3].checkhead
            dated = datetime.combine(closing.orderdate, closing.ordertime, KYIV).timestamp()
            self.assertEqual(dated - int(begun), 60 * minutes, late)


def _seal_of(identity: Any) -> Any:
    return lambda content: sign(content, identity.key, identity.certificate)


class RefusalTests(PrroCase):
    """What the tax service refuses, in its own words."""

    def test_codes(self) -> None:
        """Each of its codes has a result, with its number in the text and its words beside it; nothing was sold."""
        wanted = {1: 1044, 2: 1045, 3: 1040, 4: 1033, 5: 1046, 6: 1037, 7: 1043, 8: 1099, 9: 1040, 11: 1035, 12: 1032}
        for code, res in {**wanted, 1042: 1042}.items():
            self.shop.rules({"on": "sale", "then": "refuse", "code": str(code)})
            answer = self.sell(50, "a")
            self.assertTold(answer, res)
            self.assertIn("ФС ", answer["errortxt"])
            self.assertTrue(answer["aq_errortxt"])
        self.assertTold(self.sell(50, "a"), 0)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_statuses(self) -> None:
        """A bare HTTP status is a refusal only when it turns the request away; others leave the outcome unknown."""
        for status, res in ((404, 1044), (401, 1045), (400, 1035), (415, 1035)):
            self.shop.rules({"on": "sale", "then": "refuse", "code": str(status)})
            self.assertTold(self.sell(50, "a"), res)
        # The time is told, the question after the sale is not answered.
        questions = {"on": "probe", "then": "accept"}, {"on": "probe", "then": "unreachable", "times": 0}
        self.shop.rules({"on": "sale", "then": "refuse", "code": "502"}, *questions)
        self.assertTold(self.sell(50, "a"), 1075, 2)

    def test_words(self) -> None:
        """Where one code has many reasons, the words say which."""
        package = "Помилка обробки документа за № 2 в пакеті, дислокація 700: "
        for code, text, kind, res in (
            (9, "Помилки валідації XML: CHECK", "sale", 1038),
            (9, "Дата і час документа не відповідають часу сервера", "sale", 1039),
            (9, "Z-звіт: ZREPREALIZ/SUM", "z", 1041),
            (9, "EtUnknown", "sale", 1032),
            (9, "Невірний фіскальний номер офлайн документа", "sale", 1047),
            (9, "Обчислена сума чека не дорівнює зазначеній", "sale", 1040),
            (9, "ПРРО заблоковано", "sale", 1042),
            (10, package + "Геш попереднього документа не збігається", "", 1043),
            (10, package + "Дата і час документа менші, ніж у попереднього", "", 1043),
            (10, package + "Невірний фіскальний номер офлайн документа", "", 1047),
            (10, package + "Обчислена сума чека невірна", "", 1040),
        ):
            refused = refusal_of(verdicts.Refused(code, text), kind)
            self.assertEqual((refused.res.code, refused.aq_errortxt), (res, text), text)

    def test_clock(self) -> None:
        """A wrong time is 1039, and 1121 when our clock and the server's are half an hour apart."""
        self.shop.rules({"on": "sale", "then": "refuse", "code": "1039"})
        self.assertTold(self.sell(), 1039)
        self.shop.far_end.skew_s = 2400
        self.assertTold(self.sell(), 1121)
        self.shop.far_end.skew_s = -2400
        self.assertTold(self.sell(), 1121)
        self.assertEqual(self.shop.kinds(), ["open"])


class OfflineTests(PrroCase):
    """Offline and back."""

    def offline(self, sales: int = 2) -> None:
        """Go offline and sell."""
        self.assertEqual(self.go("offline"), 0)
        for number in range(sales):
            self.assertTold(self.sell(50 + number, f"offline {number}"), 0)

    def test_and_back(self) -> None:
        """Sales are numbered by the register, handed in as one chain, and the next session is there."""
        self.offline()
        self.assertEqual(self.shop.kinds(), ["open"])
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.kinds(), ["open", "offline_begin", "sale", "sale", "offline_end"])
        self.assertEqual(self.go("offline"), 0)
        self.assertTold(self.do(11), 0)
        self.assertEqual(self.go("online"), 0)
        self.assertTold(self.do(0), 0)

    def test_restart(self) -> None:
        """The same bytes are handed in after a restart."""
        self.offline()
        self.shop.crash()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.kinds().count("sale"), 2)

    def test_answer_lost(self) -> None:
        """An end whose answer was lost is asked for; nothing is there twice, and the register is online."""
        self.offline()
        # The state is asked for before each package; the second one is the end.
        probe, package = {"on": "probe", "then": "accept"}, {"on": "any", "then": "accept"}
        self.shop.rules(probe, package, probe, {**package, "then": "lost_after"})
        self.assertEqual(self.go("online"), 0)
        self.assertTold(self.sell(70, "online"), 0)
        self.assertEqual(self.shop.kinds().count("sale"), 3)
        self.assertEqual(self.go("offline"), 0)

    def test_never_arrived(self) -> None:
        """A package that never arrived leaves the register offline, and is handed in at once or the next time."""
        for then, times, code in (("lost_before", 1, 0), ("lost_before", 0, 1084), ("unreachable", 1, 1050)):
            self.shop.rules({"on": "probe", "then": "accept"}, {"on": "any", "then": then, "times": times})
            self.offline(1)
            self.assertEqual(self.go("online"), code)
            self.assertTold(self.sell(70), 0)
            self.shop.rules()
            self.assertEqual(self.go("online"), 0 if code else 1054)
        self.assertEqual(self.shop.kinds().count("sale"), 4)

    def test_no_second_package(self) -> None:
        """A server that does not pass over known documents is handed only those that it has not."""
        self.shop.far_end.books._passes_over_known = False
        self.patch(tax_service, "OUTER_BYTES", MOST_BYTES - 8192)
        self.offline(0)
        for number in range(8):
            self.assertTold(self.do(3, f"in {number}", cash={"type": 0, "sum": 1}), 0)
        # The first package arrives, the second does not leave.
        self.break_package(2)
        self.assertEqual(self.go("online"), 1050)
        taken = self.shop.kinds().count("cash_in")
        self.assertTrue(0 < taken < 8, taken)
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.kinds().count("cash_in"), 8)

    def break_package(self, which: int) -> None:
        """Let the ``which``-th package from now fail before anything of it leaves."""
        breaker = self.shop.built()._channel._server._exchange
        inner, seen = breaker._exchange, 0

        async def carry(method: str, url: str, headers: Any, body: bytes) -> Reply:
            nonlocal seen
            if url.endswith("/pck"):
                seen += 1
                if seen == which:
                    raise NotReached("connection refused")
            reply: Reply = await inner(method, url, headers, body)
            return reply

        breaker._exchange = carry

    def spoil(self, name: str, value: Any) -> None:
        """Let the server's answers have ``value`` in their member ``name``."""
        breaker = self.shop.built()._channel._server._exchange
        inner = breaker._exchange

        async def carry(method: str, url: str, headers: Any, body: bytes) -> Reply:
            reply: Reply = await inner(method, url, headers, body)
            if name.encode() not in reply.body:
                return reply
            return replace(reply, body=json.dumps({**json.loads(reply.body), name: value}).encode())

        breaker._exchange = carry

    def test_unexpected_member(self) -> None:
        """A member that nobody reads may be of any type: the register comes home, and lost answers are found."""
        values: tuple[Any, ...] = ("a7f3", {"Id": 1}, None, 1.5, [])
        for value in values:
            self.setUp()
            self.offline()
            for name in ("ShiftId", "ShiftState", "OfflineSessionDuration", "CheckDocType"):
                self.spoil(name, value)
            self.assertEqual(self.go("online"), 0, value)
            self.shop.rules({"on": "sale", "then": "lost_after"})
            self.assertTold(self.sell(70, "lost"), 0)

    def test_malformed_answer(self) -> None:
        """An answer without what is needed is called malformed; it does not say that the server cannot be reached."""
        self.offline()
        self.spoil("NextLocalNum", {})
        going = Deferred.fromCoroutine(self.shop.built().go_online("uk"))
        refused = self.failureResultOf(going, Refused).value
        self.assertEqual((refused.res.code, refused.action), (1035, 1))
        self.assertEqual(refused.errortxt("en"), "Tax service: general error: malformed answer")
        self.assertEqual(refused.errortxt("uk"), "ДПС: загальна помилка: відповідь неправильної форми")
        uk = "відповідь неправильної форми: очікується ціле число, а не об’єкт, $.NextLocalNum"
        self.assertEqual(wording(refused.aq_errortxt).uk, uk)
        failure = self.failureResultOf(Deferred.fromCoroutine(self.shop.built().check()), Refused)
        self.assertIn("malformed answer", str(failure.value))

    def test_refused(self) -> None:
        """A package that is refused leaves the register offline with the server's own words."""
        self.offline()
        self.shop.far_end.block(FIRST)
        self.assertEqual(self.go("online"), 1042)
        self.assertEqual(self.shop.kinds(), ["open"])


class SlowServerTests(SynchronousTestCase):
    """A server that is slow or dead."""

    def setUp(self) -> None:
        """Two open registers."""
        self.shop = PrroShop(self, "one", "two")
        for name in ("one", "two"):
            self.assertEqual(self.shop.fiscal(0, device=name)["res"], 0)

    def asked(self, device: str, tag: str) -> Deferred[bytes]:
        """The answer that is due to a sale."""
        fiscal = {"task": 1, "receipt": sale(50)}
        return self.shop.asked({"ver": 6, "device": device, "tag": tag, "type": 1, "fiscal": fiscal})

    def test_two_registers(self) -> None:
        """Two registers wait at the same time: after one second both are answered."""
        self.shop.rules({"on": "sale", "then": "accept", "delay_ms": 1000, "times": 2})
        answers = [self.asked("one", "a"), self.asked("two", "b")]
        self.shop.clock.advance(0.999)
        for answer in answers:
            self.assertNoResult(answer)
        self.shop.clock.advance(0.001)
        self.assertEqual([json.loads(self.successResultOf(answer))["res"] for answer in answers], [0, 0])

    def test_dead_server(self) -> None:
        """A server that does not answer costs one time-out; until it is asked again the answers come at once."""
        self.shop.rules(*({"on": on, "then": "silent", "times": 0} for on in ("any", "probe")))
        first = self.asked("one", "a")
        self.shop.clock.pump([13, 4.875])
        self.assertNoResult(first)
        self.shop.clock.advance(0.125)
        self.assertEqual(json.loads(self.successResultOf(first))["res"], 1075)
        for _ in range(3):
            answer = json.loads(self.successResultOf(self.asked("one", "a")))
            self.assertEqual((answer["res"], answer["res_action"]), (1075, 2))
        self.shop.rules()
        self.shop.clock.advance(30)
        self.assertEqual(json.loads(self.successResultOf(self.asked("one", "a")))["res"], 0)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_silent_document(self) -> None:
        """A document without an answer is asked for after 13 s, though the server is left alone otherwise."""
        for then in ("silent", "accept"):
            self.setUp()
            self.shop.rules({"on": "sale", "then": then, "delay_ms": 15_000})
            due = self.asked("one", "a")
            self.shop.clock.advance(12.875)
            self.assertNoResult(due)
            self.shop.clock.pump([0.125, 1])
            answer = json.loads(self.successResultOf(due))
            self.assertEqual((answer["res"], answer["task_status"]), (0, 1), then)
            self.assertEqual(self.shop.kinds(), ["open", "sale"])


class ProvenTests(SynchronousTestCase):
    """`Proven`."""

    def setUp(self) -> None:
        """A trust whose questions are counted."""
        self.asked = 0
        inner = Trust([keys().authority.root.certificate])
        faults = inner.faults

        def counted(certificate: Any, at: datetime) -> Any:
            self.asked += 1
            return faults(certificate, at)

        self.patch(inner, "faults", counted)
        self.trust, self.now = Proven(inner), datetime.fromtimestamp(MORNING, UTC)

    def test_once_an_hour(self) -> None:
        """A certificate that led home is believed for an hour, then it is asked for again; so is a clock set back."""
        certificate = keys().server.certificate
        for minutes, asked in ((0, 1), (59, 1), (60, 2), (61, 2), (-5, 3)):
            self.assertEqual(self.trust.faults(certificate, self.now + timedelta(minutes=minutes)), [])
            self.assertEqual(self.asked, asked, minutes)

    def test_not_trusted(self) -> None:
        """One that does not lead home is asked for each time, and one that ends is not believed after that."""
        stranger = Authority(self.now).issue("Stranger").certificate
        for _ in range(2):
            self.assertTrue(self.trust.faults(stranger, self.now))
        self.assertEqual(self.asked, 2)
        ending = keys().authority.issue("Ending", days=0.01).certificate
        self.assertEqual(self.trust.faults(ending, self.now), [])
        self.assertTrue(self.trust.faults(ending, self.now + timedelta(minutes=30)))


class BreakerTests(SynchronousTestCase):
    """`Breaker`."""

    def setUp(self) -> None:
        """An exchange that takes a while and then fails, or answers."""
        self.clock, self.asked = Clock(), 0
        self.lasts, self.error = 5.0, Silent(5.0)
        self.ways: WireError | None = self.error
        self.breaker = Breaker(self.exchange, self.clock, 30.0)

    async def exchange(self, method: str, url: str, headers: Any, body: bytes) -> Reply:
        """Carry nothing, for a while."""
        self.asked += 1
        over: Deferred[None] = Deferred()
        self.clock.callLater(self.lasts, over.callback, None)
        await over
        if self.ways is not None:
            raise self.ways
        return Reply(200, {}, b"")

    def carry(self) -> Deferred[Reply]:
        """One request."""
        return Deferred.fromCoroutine(self.breaker("POST", "http://fs", {}, b""))

    def test_left_alone(self) -> None:
        """After a time-out nothing is asked for 30 seconds, and then once more."""
        first = self.carry()
        self.clock.advance(5)
        self.failureResultOf(first, Silent)
        self.failureResultOf(self.carry(), NotReached)
        self.clock.advance(29.9)
        self.failureResultOf(self.carry(), NotReached)
        self.assertEqual(self.asked, 1)
        self.clock.advance(0.1)
        self.ways = None
        second = self.carry()
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(second).status, 200)

    def test_cheap_failure(self) -> None:
        """A failure that came at once may be tried again at once."""
        self.lasts, self.ways = 0.1, NotReached("connection refused")
        for _ in range(3):
            failed = self.carry()
            self.clock.advance(0.1)
            self.failureResultOf(failed, NotReached)
        self.assertEqual(self.asked, 3)


class KeyTests(SynchronousTestCase):
    """The register's own key."""

    def setUp(self) -> None:
        """A shop without keys."""
        self.shop = PrroShop(self)

    def opening(self) -> dict[str, Any]:
        """The answer to an opening."""
        return self.shop.fiscal(0, device="one")

    def refusal(self, *load: Any) -> Refused:
        """Why a key is not taken."""
        failure = self.failureResultOf(Deferred.fromCoroutine(self.shop.built().load_key(*load)), Refused)
        assert isinstance(failure.value, Refused)
        return failure.value

    def test_none(self) -> None:
        """Without a key 1095, and nothing is sent."""
        self.assertEqual(self.opening()["res"], 1095)
        self.assertEqual(self.shop.kinds(), [])

    def test_lost_secret(self) -> None:
        """A key that cannot be opened on this machine is 1094; loading it again helps."""
        self.shop.load_key("one", keys().cashier)
        (self.shop.state / "secret.key").unlink()
        self.shop.crash()
        self.assertEqual(self.opening()["res"], 1094)
        self.shop.load_key("one", keys().cashier)
        self.assertEqual(self.opening()["res"], 0)

    def test_restart(self) -> None:
        """The key is there after a restart, without its password."""
        self.shop.done(self.shop.built().load_key(container(keys().cashier, "таємно"), "таємно", []))
        self.shop.crash()
        self.assertEqual(self.opening()["res"], 0)

    def test_at_rest(self) -> None:
        """Neither key nor password lie open in the store."""
        self.shop.done(self.shop.built().load_key(container(keys().cashier, "geheim-17"), "geheim-17", []))
        (kept,) = [value for name, value in self.shop.done(self.shop.store.settings()).items() if "key" in name]
        plain = keys().file(keys().cashier)
        for secret in (b"geheim-17", plain, base64.b64encode(plain)[4:-4], plain[-32:]):
            self.assertNotIn(secret, kept)
        self.assertIn("Олена Коваль".encode(), kept)

    def test_wrong(self) -> None:
        """A wrong password, a damaged file, a missing certificate and one that has ended are 2003 with the reason."""
        locked = container(keys().cashier, "таємно")
        ended = keys().authority.issue("Касир", days=-0.5, age=2)
        for load in (
            (locked, "інше", []),
            (b"no key", "", []),
            (keys().file(keys().cashier), "", []),
            (keys().file(keys().cashier), "", [keys().other.certificate.raw]),
            (keys().file(ended), "", [ended.certificate.raw]),
        ):
            refused = self.refusal(*load)
            self.assertIs(refused.res, Res.KEY_UNREADABLE)
            self.assertTrue(refused.details[0])
        self.assertEqual(self.opening()["res"], 1095)

    def test_while_open(self) -> None:
        """A key that works is not replaced while the register is open; afterwards it is."""
        self.shop.load_key("one", keys().cashier)
        self.opening()
        given = (keys().file(keys().other), "", [keys().other.certificate.raw])
        self.assertIs(self.refusal(*given).res, Res.KEY_IN_USE)
        self.assertEqual(self.shop.fiscal(11, device="one")["res"], 0)
        self.shop.done(self.shop.built().load_key(*given))
        self.assertEqual(self.opening()["res"], 0)
        self.assertEqual(self.shop.taken()[-1].head.cashier, "Інший касир")

    def test_emergency(self) -> None:
        """With the key of an open shift lost, another one can be loaded, and only close that shift."""
        self.shop.load_key("one", keys().cashier)
        self.opening()
        (self.shop.state / "secret.key").unlink()
        self.shop.crash()
        self.shop.load_key("one", keys().other)
        self.assertEqual(self.shop.fiscal(1, device="one", receipt=sale(10))["res"], 1124)
        failure = self.failureResultOf(Deferred.fromCoroutine(self.shop.built().go_offline("uk")), Refused)
        self.assertIs(failure.value.res, Res.KEY_REPLACED_IN_EMERGENCY)
        for task in (11, 0):
            self.assertEqual(self.shop.fiscal(task, device="one")["res"], 0)
        self.assertEqual(self.shop.fiscal(1, device="one", receipt=sale(10))["res"], 0)

    def test_ending(self) -> None:
        """A key that ends soon warns in every answer, also after a restart, and forbids going offline."""
        self.shop.load_key("one", keys().ending)
        for _ in range(2):
            answer = self.shop.fiscal(20, device="one")
            self.assertEqual([warning["code"] for warning in answer["warnings"]], [1117])
            self.shop.crash()
        self.opening()
        failure = self.failureResultOf(Deferred.fromCoroutine(self.shop.built().go_offline("uk")), Refused)
        self.assertIs(failure.value.res, Res.KEY_EXPIRES_SOON)

    def test_told(self) -> None:
        """A register's state says whose key signs and until when, and nothing secret."""
        self.assertEqual(self.shop.done(self.shop.built().state())["signinfo"], "")
        self.shop.load_key("one", keys().cashier)
        state = self.shop.done(self.shop.built().state())
        self.assertEqual((state["signinfo"], state["key_days_left"]), ("Олена Коваль, 21.09.2027", 365))

    def test_shown(self) -> None:
        """The certificate is shown whole: owner, issuer, serial, both ends, days left, and whether they are few."""
        self.assertIsNone(self.shop.done(self.shop.built().state())["key"])
        self.shop.load_key("one", keys().cashier)
        certificate = keys().cashier.certificate
        told = self.shop.done(self.shop.built().state())["key"]
        wanted = {
            "owner": "Олена Коваль",
            "issuer": "Test authority",
            "tax_number": TIN,
            "key_id": certificate.key_id.hex(),
            "serial": f"{certificate.serial:x}",
            "valid_from": "2026-09-20T06:00:00Z",
            "valid_to": "2027-09-21T06:00:00Z",
            "days_left": 365,
            "ends_soon": False,
        }
        self.assertEqual(told, wanted)
        self.shop.crash()
        self.assertEqual(self.shop.done(self.shop.built().state())["key"], wanted)
        self.shop.load_key("one", keys().ending)
        told = self.shop.done(self.shop.built().state())["key"]
        self.assertEqual((told["days_left"], told["ends_soon"]), (2, True))

    def test_kept_by_an_earlier_version(self) -> None:
        """A key that was stored without its serial number has it once it has signed."""
        self.shop.load_key("one", keys().cashier)
        place = f"signing-key.{self.shop.core.devices.by_name('one').row.dev_id}"
        kept = json.loads(self.shop.done(self.shop.store.settings())[place])
        del kept["serial"]
        self.shop.done(self.shop.store.change_settings({place: json.dumps(kept).encode()}))
        self.shop.crash()
        self.assertEqual(self.opening()["res"], 0)
        serial = f"{keys().cashier.certificate.serial:x}"
        self.assertEqual(self.shop.done(self.shop.built().state())["key"]["serial"], serial)

    def test_not_yet(self) -> None:
        """A certificate whose time has not begun is 2003, as one whose time is over; the key before stays."""
        self.shop.load_key("one", keys().cashier)
        for days, age, said in ((10, -1, "begins on 2026-09-22"), (-1, 5, "ended on 2026-09-20")):
            who = keys().authority.issue("Касир", days, age, tax_number=TIN)
            refused = self.refusal(keys().file(who), "", [who.certificate.raw])
            self.assertIs(refused.res, Res.KEY_UNREADABLE)
            self.assertIn(said, str(refused))
        self.assertEqual(self.opening()["res"], 0)

    def test_store_fails(self) -> None:
        """A key that the store did not confirm is not signed with until the store says which one it has."""
        self.shop.load_key("one", keys().cashier)
        self.shop.store.broken = True
        loading = Deferred.fromCoroutine(
            self.shop.built().load_key(keys().file(keys().other), "", [keys().other.certificate.raw])
        )
        self.failureResultOf(loading)
        self.shop.store.broken = False
        self.assertEqual(self.opening()["res"], 0)
        self.assertEqual(self.shop.taken()[-1].head.cashier, "Олена Коваль")


class TaxObjectTests(WebCase):
    """``GET /dm/api/v3/devices/{dev_id}/tax-objects``."""

    def setUp(self) -> None:
        """A shop with a register that knows its key and no number yet."""
        self.shop = self.prro = PrroShop(self)
        self.prro.add_register("fresh", FIRST, fiscal_number="", fis_code="", name="", shopname="", shopad="")
        self.door = Door(self.shop.core)

    def asked(self, device: str = "fresh") -> tuple[int, Any]:
        """Status and document of the answer."""
        dev_id = self.shop.core.devices.by_name(device).row.dev_id
        answer = self.request("GET", f"/dm/api/v3/devices/{dev_id}/tax-objects")
        return answer.status, answer.json

    def test_listed(self) -> None:
        """With a key alone the owner's outlets and registers are listed; with a number from it the register opens."""
        self.prro.load_key("fresh", keys().cashier)
        status, told = self.asked()
        (outlet,) = told["tax_objects"]
        self.assertEqual(status, 200)
        self.assertEqual(
            (outlet["tin"], outlet["org_name"], outlet["name"]), (TIN, "Тестовий платник", "Тестова торгова точка")
        )
        self.assertTrue(outlet["chief_cashier"])
        first = {"fiscal_number": str(FIRST), "local_number": 1, "name": "Каса 1", "closed": False}
        self.assertEqual(outlet["registers"][0], first)
        self.assertEqual(self.prro.fiscal(0, device="fresh")["res"], 1093)
        self.prro.settings("fresh", fiscal_number=first["fiscal_number"], local_number=first["local_number"])
        self.assertEqual(self.prro.fiscal(0, device="fresh")["res"], 0)

    def test_no_objects(self) -> None:
        """A key that is not registered anywhere yet has none."""
        stranger = keys().authority.cashier("Новий", TIN)
        self.prro.load_key("fresh", stranger)
        self.assertEqual(self.asked(), (200, {"tax_objects": []}))

    def test_refused(self) -> None:
        """Without a key 1095, without a way there 1050, both a conflict; another device has none at all: 404."""
        status, told = self.asked()
        self.assertEqual((status, told["res"]), (409, 1095))
        self.prro.load_key("fresh", keys().cashier)
        self.prro.rules({"on": "probe", "then": "unreachable"})
        status, told = self.asked()
        self.assertEqual((status, told["res"]), (409, 1050))
        self.assertEqual(self.asked("test")[0], 404)


class UploadTests(WebCase):
    """``POST /dm/main/api/v1/prro/sign``."""

    def setUp(self) -> None:
        """A shop without keys behind the door."""
        self.shop = self.prro = PrroShop(self)
        self.door = Door(self.shop.core)
        self.password = "пароль-1"
        self.file = container(keys().cashier, self.password)

    def upload(self, body: object, dev_id: str | None = None, kind: str = "") -> dict[str, Any]:
        """What the door answers."""
        dev_id = self.shop.core.devices.by_name("one").row.dev_id if dev_id is None else dev_id
        path = f"/dm/main/api/v1/prro/sign?dev_id={dev_id}"
        if kind:
            assert isinstance(body, bytes)
            connection = self.connect()
            connection.ask("POST", path, body, [("Content-Type", kind)])
            (answer,) = connection.answers()
        else:
            answer = self.request("POST", path, body)
        self.assertEqual(answer.status, 200, answer.body)
        told: dict[str, Any] = answer.json
        return told

    def json_body(self, **members: Any) -> dict[str, Any]:
        """The key as JSON."""
        return {"key": base64.b64encode(self.file).decode(), "password": self.password, **members}

    def test_json(self) -> None:
        """A key as JSON with base64; afterwards the register opens."""
        told = self.upload(self.json_body())
        self.assertEqual((told["res"], told["errortxt"], told["signinfo"]), (0, "", "Олена Коваль, 21.09.2027"))
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)

    def test_certificate(self) -> None:
        """A certificate comes along for files that hold none, alone or in a list."""
        bare = base64.b64encode(keys().file(keys().cashier)).decode()
        certificate = base64.b64encode(keys().cashier.certificate.raw).decode()
        for given in (certificate, [certificate]):
            self.assertEqual(self.upload({"key": bare, "certificate": given})["res"], 0)

    def test_multipart(self) -> None:
        """A page's form: file, password and certificate, byte for byte."""
        key = keys().file(keys().cashier)
        parts = [
            b'Content-Disposition: form-data; name="file"; filename="Key-6.dat"\r\n'
            b"Content-Type: application/octet-stream\r\n\r\n" + key,
            b'Content-Disposition: form-data; name="password"\r\n\r\n' + self.password.encode(),
            b'Content-Disposition: form-data; name="certificate"; filename="one.cer"\r\n\r\n'
            + keys().cashier.certificate.raw,
        ]
        body = b"".join(b"--b17\r\n" + part + b"\r\n" for part in parts) + b"--b17--\r\n"
        self.assertEqual(self.upload(body, kind="multipart/form-data; boundary=b17")["res"], 0)
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)

    def test_wrong_password(self) -> None:
        """A wrong password is 2003 in the caller's language."""
        told = self.upload(self.json_body(password="інший"))
        self.assertEqual(told["res"], 2003)
        self.assertIn("пароль", told["errortxt"])

    def test_no_register(self) -> None:
        """An unknown id, and a device that signs nothing, are 2007."""
        test = self.shop.core.devices.by_name("test").row.dev_id
        for dev_id in ("nobody", "", test):
            self.assertEqual(self.upload(self.json_body(), dev_id)["res"], 2007)

    def test_in_use(self) -> None:
        """A register that is open, or at work, keeps its key: 2009."""
        self.upload(self.json_body())
        self.prro.rules({"on": "open", "then": "accept", "delay_ms": 1000})
        body = {"ver": 6, "device": "one", "tag": "o", "type": 1, "fiscal": {"task": 0}}
        opening = self.shop.asked(body)
        self.assertEqual(self.upload(self.json_body())["res"], 2009)
        self.shop.clock.advance(1)
        self.assertEqual(json.loads(self.successResultOf(opening))["res"], 0)
        self.assertEqual(self.upload(self.json_body())["res"], 2009)

    def test_malformed(self) -> None:
        """A body without a key, or that is neither form nor JSON, is 2000 with what is wrong."""
        for body, word in (({}, "key"), ({"key": "%"}, "base64"), (b"{", "JSON"), ({"key": 5}, "key")):
            told = self.upload(body)
            self.assertEqual(told["res"], 2000)
            self.assertIn(word, told["errortxt"])
        told = self.upload(b"--b17\r\n", kind="multipart/form-data")
        self.assertEqual(told["res"], 2000)


class SettingsTests(SynchronousTestCase):
    """The settings of the driver."""

    def read(self, **members: Any) -> Any:
        """The settings that ``members`` spell."""
        return find_drivers()["register", "prro"].read(members)

    def test_defaults(self) -> None:
        """A register needs nothing but its number; then it speaks to the tax service."""
        told = self.read(fiscal_number="4000000202")
        self.assertIsInstance(told, PrroSettings)
        self.assertEqual(
            (told.server_url, told.testing, told.local_number), ("https://fs.tax.gov.ua:8643/fs", False, 1)
        )

    def test_wrong(self) -> None:
        """What cannot be used is refused with the member that it is about."""
        for members in (
            {"server_url": "fs.tax.gov.ua"},
            {"server_url": "https://fs.tax.gov.ua:86430/fs"},
            {"server_url": "http://fs.tax.gov.ua/fs"},
            {"server_url": "http://192.168.1.5:8609/fs"},
            {"server_url": "http://127.0.0.1.example.org/fs"},
            {"server_url": "https://fs.tax.gov.ua:0/fs"},
            {"server_url": "https://[fs.tax.gov.ua/fs"},
            {"trusted_certificates": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"},
            {"fiscal_number": "ПРРО 1"},
            {"local_number": 0},
            {"hat": 1},
        ):
            error = self.assertRaises(BadSettings, self.read, **members)
            self.assertIn(next(iter(members)), str(error))

    def test_https(self) -> None:
        """A tax server elsewhere needs HTTPS, one here does not; the tax service's old address is its new one."""
        for url in ("http://127.0.0.1:8609/fs", "http://[::1]/fs", "http://localhost/fs", "http://127.8.0.1/fs"):
            told = self.read(server_url=url)
            self.assertEqual((told.server_url, told.stays), (url, True))
        self.assertFalse(self.read(server_url="https://192.168.1.5/fs").stays)
        for old in ("http://fs.tax.gov.ua:8609/fs", "http://fs.tax.gov.ua:8609/fs/"):
            self.assertEqual(self.read(server_url=old).server_url, "https://fs.tax.gov.ua:8643/fs")

    def test_network(self) -> None:
        """Over the network a register speaks HTTPS, with roots of the shop's own besides the machine's."""
        roots = pem(make_certificate(MORNING, make_key())).decode()
        told = self.read(fiscal_number="4000000202", server_ca=roots)
        shop = PrroShop(self)
        around = Surroundings(shop.clock, shop.core.clock, shop.store, shop.state)
        self.assertIsInstance(to_server(told, around), HttpsExchange)

    def test_named_files(self) -> None:
        """A file in the folders for it is taken, read in a thread; others are refused alike, and it sells on."""
        shop = PrroShop(self, "one")
        devices, dev_id = shop.core.devices, shop.core.devices.by_name("one").row.dev_id
        roots = shop.state / "roots.pem"
        roots.write_bytes(pem(make_certificate(MORNING, make_key())))
        with patch.object(devices.clock, "aside", wraps=devices.clock.aside) as called:
            shop.settings("one", server_ca=str(roots))
        self.assertIn(with_files, [call.args[0] for call in called.call_args_list])
        fifo, elsewhere = shop.state / "fifo", Path(self.mktemp()).absolute()
        os.mkfifo(fifo)
        elsewhere.write_bytes(roots.read_bytes())
        told = set()
        for name in ("/dev/zero", "/etc/hostname", "/nowhere", str(fifo), str(elsewhere)):
            for member in ("server_ca", "signer_ca", "trusted_certificates"):
                change = Deferred.fromCoroutine(devices.change(dev_id, None, {member: name}))
                error = self.failureResultOf(change, BadSettings).value
                assert isinstance(error, BadSettings)
                self.assertEqual(error.path, f"settings.{member}")
                told.add(error.text)
        self.assertEqual(len(told), 1, told)
        self.assertIn("немає в", wording(told.pop()).uk)
        self.assertEqual(shop.fiscal(0, device="one")["res"], 0)

    def test_named_before(self) -> None:
        """A file elsewhere that was named before is still read after a start, and in changes that leave it."""
        shop = PrroShop(self, "one")
        self.assertEqual(shop.core.devices.named_elsewhere(shop.core.devices.by_name("one")), [])
        file = Path(self.mktemp()).absolute()
        file.write_bytes((shop.state / "trusted.cer").read_bytes())
        row = next(row for row in shop.done(shop.store.devices()) if row.name == "one")
        kept = json.loads(row.settings) | {"trusted_certificates": [str(file)]}
        shop.done(shop.store.change_device(row.n, row.name, json.dumps(kept).encode()))
        shop.crash()
        shop.settings("one", shopname="Кав’ярня", trusted_certificates=[str(file)])
        self.assertEqual(shop.fiscal(0, device="one")["res"], 0)
        self.assertEqual(shop.core.devices.named_elsewhere(shop.core.devices.by_name("one")), [str(file)])
        file.unlink()
        shop.crash()
        self.assertEqual(shop.fiscal(18, device="one")["res"], 430)
        self.assertEqual(len(self.flushLoggedErrors(BadSettings)), 1)

    def test_no_number(self) -> None:
        """A register without its fiscal number refuses with 1093."""
        shop = PrroShop(self)
        shop.add_register("blank", FIRST, fiscal_number="")
        shop.load_key("blank", keys().cashier)
        self.assertEqual(shop.fiscal(0, device="blank")["res"], 1093)
