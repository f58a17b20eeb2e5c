"""Batch mode for tills: the payment, the receipt and the paper (docs/reference/http-interface.md#batch-mode)."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.batch.bank import Bank
from dmtwisted.batch.orders import asks_only, counts_on_card, lacks_payment, with_payment
from dmtwisted.batch.saga import KIND, Saga, Sagas, Step, saga_of
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.requests import TaskRequest, read_json, read_task
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import Intent, OperationRow, Outcome, State
from dmtwisted.terminals.answers import Caller
from dmtwisted.terminals.interface import Approved, Declined, Order, Task
from dmtwisted.terminals.journal import Record
from tests.batch_desk import Answer, BatchCase, sale
from tests.shop import sale as cash_receipt
from tests.specification import promises

T = TypeVar("T")


class SaleTests(BatchCase):
    """A sale by card."""

    @promises("4.6.1.1")
    def test_card(self) -> None:
        """The terminal takes the sum, the receipt has the card's data, and the answer is the register's own."""
        answer = self.sell(amount=125.5)
        self.assertAnswer(answer, 0)
        info = answer["info"]
        self.assertEqual((answer["type"], answer["task"], answer["task_status"], answer["tag"]), (1, 1, 1, "t"))
        self.assertEqual((info["ispay"], info["isprint"]), (1, 1))
        [entry] = self.shop.ledger("pos")
        [pay] = info["printinfo"]["pays"]
        self.assertEqual((entry.kind, entry.sum), ("payment", 12550))
        self.assertEqual((pay["type"], pay["rrn"], pay["cardmask"]), (2, entry.number, "516875******7414"))
        for member in ("paysys", "auth_code", "term_id"):
            self.assertTrue(pay[member], member)
        self.assertEnd([12550], [12550], ["done"])

    def test_without_pays(self) -> None:
        """A sale without payments is paid completely at the terminal, including discounts and added taxes."""
        body = sale(amount=100, pays=None)
        body["fiscal"]["receipt"].update(disc=10, disc_type=0)
        answer = self.ask(body)
        self.assertAnswer(answer, 0)
        self.assertEnd([9000], [9000], ["done"])
        self.assertEqual(answer["info"]["printinfo"]["pays"][0]["type"], 2)

    def test_cash(self) -> None:
        """A receipt without a configured payment type does not use the terminal, and opens the drawer."""
        answer = self.sell(pays=[{"type": 0, "sum": 100}])
        self.assertAnswer(answer, 0)
        self.assertEqual((answer["info"]["ispay"], answer["info"]["isprint"]), (0, 1))
        self.assertEqual(self.rows("pay"), [])
        self.assertEqual((self.sales(), self.states()), ([10_000], []))
        self.assertEqual(self.drawer(), 1)

    def test_card_opens_no_drawer(self) -> None:
        """Without cash the drawer stays closed."""
        self.sell()
        self.assertEqual(self.drawer(), 0)
        self.sell("u", pays=[{"type": 2, "sum": 60}, {"type": 0, "sum": 40}])
        self.assertEqual(self.drawer(), 1)

    def drawer(self) -> int:
        """How often the drawer opened."""
        mechanism: Any = self.shop.core.devices.by_name("prn").simulator.mechanism
        pulses: int = mechanism.pulses
        return pulses

    @promises("2.2.skipprint", "4.6.4")
    def test_skipprint(self) -> None:
        """With ``skipprint`` the receipt is not printed."""
        self.assertEqual(self.sell(skipprint=True)["info"]["isprint"], 0)
        self.assertEqual(self.rows("doc"), [])

    @promises("4.6.1.3")
    def test_transaction_id_is_ignored(self) -> None:
        """``transaction_id`` and ``transaction_search`` have no effect here: each tag is its own payment."""
        for tag in ("a", "b"):
            self.assertAnswer(self.sell(tag, transaction_id="one", transaction_search=2), 0)
        self.assertEnd([10_000, 10_000], [10_000, 10_000], ["done", "done"])

    def test_wrong_receipt(self) -> None:
        """A till's mistake is reported before a card is read."""
        for body, res in (
            (sale("a", pays=[{"type": 2, "sum": 99}]), 1102),
            (sale("b", pays=[{"type": 99, "sum": 100}]), 1088),
            (sale("c", task=2), 1098),
            (sale("d", task=2, pay={"task": 2}), 1098),
            (sale("e", task=2, pay={"task": 1, "refundid": "1"}), 2000),
        ):
            self.assertAnswer(self.ask(body), res, 3)
        self.assertEqual((self.rows("pay"), self.rows()), ([], []))

    def test_closed_shift(self) -> None:
        """With a closed register nothing is charged."""
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 11}}, batch=False)
        self.assertAnswer(self.sell(), 1092, 3)
        self.assertEqual(self.rows("pay"), [])

    def test_declined(self) -> None:
        """A refused payment makes no receipt, has the bank's code, and the same tag may pay again."""
        self.rules("pos", ("payment", "refuse", "51"))
        self.assertAnswer(self.sell(), 5018, 3)
        self.assertEnd([], [], ["refused"])
        self.assertAnswer(self.sell(), 0)
        self.assertEnd([10_000], [10_000], ["refused", "done"])

    def test_list_of_receipts(self) -> None:
        """A request for the list of receipts returns only the list, with any task beside it."""
        body = sale()
        body["fiscal"]["get_receipts"] = 1
        self.assertEqual(self.ask(body)["info"]["docs"], [])
        self.assertEnd([], [], [])

    def test_wrong_kind(self) -> None:
        """A request in batch mode names a register."""
        answer = self.ask({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 1}})
        self.assertAnswer(answer, 2000, 3)
        self.assertEqual(self.terminal(), [])


class WrongRequestTests(BatchCase):
    """What batch mode does not take."""

    def test_other_type(self) -> None:
        """A request of another type than a register's: 2000, and nothing is done."""
        for number in (2, 3):
            self.assertAnswer(self.ask({**sale("a"), "type": number}), 2000, 3)
        self.assertEqual((self.terminal(), self.sales()), ([], []))

    def test_unknown_saga(self) -> None:
        """To settle a batch that there is not: 1091 with its number."""
        settling = Deferred.fromCoroutine(self.shop.core.dispatcher.batch.settle(4711))
        refused = self.failureResultOf(settling, Refused).value
        self.assertEqual(refused.res, Res.UNKNOWN_DEVICE)
        self.assertIn("4711", str(refused.note))

    def test_fault_of_ours(self) -> None:
        """After an internal error the till is told to ask again, because something may have happened."""

        async def broken(*_: object) -> object:
            raise ZeroDivisionError

        self.patch(self.shop.core.dispatcher.batch._bank, "ask", broken)
        self.assertAnswer(self.sell(), 1016, 2)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class TypesTests(BatchCase):
    """Several payment types are paid at the terminal together."""

    batch: ClassVar[dict[str, Any]] = {"terminal": "pos", "pay_types": [2, 3, 4]}

    def test_sum(self) -> None:
        """Of 120 by 5, 200 by 2 and 500 by 3 the terminal gets 700, and both parts have the card's data."""
        answer = self.sell(
            amount=820, pays=[{"type": 5, "sum": 120}, {"type": 2, "sum": 200}, {"type": 3, "sum": 500}]
        )
        self.assertAnswer(answer, 0)
        rrn = self.shop.ledger("pos")[0].number
        pays = {pay["type"]: pay.get("rrn", "") for pay in answer["info"]["printinfo"]["pays"]}
        self.assertEqual(pays, {5: "", 2: rrn, 3: rrn})
        self.assertEnd([70_000], [82_000], ["done"])


class MerchantTests(BatchCase):
    """The settings name a merchant of the terminal."""

    batch: ClassVar[dict[str, Any]] = {"terminal": "pos", "merchant": "2"}

    def test_merchant(self) -> None:
        """The payment and its cancellation use the merchant of the settings."""
        self.rules("test", ("sale", "refuse", "1102"))
        self.sell()
        orders = [row.request for row in self.rows("pay")]
        self.assertEqual([b'"merchant":"2"' in order for order in orders], [True, True])


class ReturnTests(BatchCase):
    """Goods are returned, and the money goes back to the card."""

    def bought(self) -> Answer:
        """The terminal's answer to a payment of 100.00 that is also sold."""
        self.assertAnswer(self.sell("sold"), 0)
        paid = self.ask({"device": "pos", "type": 3, "pay": {"task": 17}}, batch=False)
        info: Answer = paid["info"]
        return info

    def test_refund(self) -> None:
        """With ``pay.task`` 2 the terminal refunds by RRN."""
        info = self.bought()
        answer = self.ask(sale("r", task=2, pay={"task": 2, "refundid": info["refundid"]}))
        self.assertAnswer(answer, 0)
        self.assertEqual(answer["info"]["ispay"], 1)
        self.assertEqual(self.terminal(), [("payment", 10_000), ("refund", 10_000)])
        self.assertEqual(self.sales("return"), [10_000])

    def test_cancel(self) -> None:
        """With ``pay.task`` 3 the terminal cancels by its receipt number."""
        info = self.bought()
        self.assertAnswer(self.ask(sale("r", task=2, pay={"task": 3, "cancelid": info["cancelid"]})), 0)
        self.assertEqual((self.held(), self.sales("return")), ([], [10_000]))

    def test_refund_taken_back(self) -> None:
        """If its receipt is finally refused, a refund is cancelled."""
        info = self.bought()
        self.rules("test", ("return", "refuse", "1102"))
        self.assertAnswer(self.ask(sale("r", task=2, pay={"task": 2, "refundid": info["refundid"]})), 1102, 3)
        self.assertEqual([kind for kind, _ in self.terminal()], ["payment", "refund", "cancel"])
        self.assertEqual(self.unfinished(), [])

    def test_cancel_cannot_be_taken_back(self) -> None:
        """If its receipt is finally refused, a cancellation is left to a person: it cannot be undone."""
        info = self.bought()
        self.rules("test", ("return", "refuse", "1102"))
        answer = self.ask(sale("r", task=2, pay={"task": 3, "cancelid": info["cancelid"]}))
        self.assertAnswer(answer, 1102, 2)
        self.assertIn("state=unfinished", answer["errortxt"])
        self.assertEqual([kind for kind, _ in self.terminal()], ["payment", "cancel"])
        self.assertEqual(len(self.unfinished()), 1)

    def test_cash(self) -> None:
        """A return in cash needs no ``pay`` and no terminal."""
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": cash_receipt(100)}}, batch=False)
        self.assertAnswer(self.ask(sale("r", task=2, pays=[{"type": 0, "sum": 100}])), 0)
        self.assertEqual(self.rows("pay"), [])


class RepeatTests(BatchCase):
    """The same tag again."""

    @promises("4.6.2", "4.6.3.1", "4.6.3.2")
    def test_known(self) -> None:
        """A known tag uses neither terminal nor register, and returns the stored answer."""
        first = self.sell()
        again = self.sell()
        self.assertEqual({**again, "task_status": 1}, first)
        self.assertEqual(again["task_status"], 2)
        self.assertEnd([10_000], [10_000], ["done"])
        self.assertEqual(len([row for row in self.rows("doc") if row.state == "done"]), 1)

    def test_known_with_other_content(self) -> None:
        """A known tag with another receipt returns the earlier answer, with 1051 among its warnings."""
        self.sell()
        answer = self.sell(amount=5)
        self.assertAnswer(answer, 0)
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [1051])
        self.assertEnd([10_000], [10_000], ["done"])

    def test_strict(self) -> None:
        """A strict register refuses it."""
        self.shop.settings("test", strict_tags=True)
        self.sell()
        self.assertAnswer(self.sell(amount=5), 1051, 3)
        self.assertAnswer(self.sell(), 0)
        self.assertEnd([10_000], [10_000], ["done"])

    def test_sold_elsewhere(self) -> None:
        """A tag that was sold on another path is known here, and is compared here."""
        elsewhere = {"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": cash_receipt(100)}}
        self.assertAnswer(self.ask(elsewhere, batch=False), 0)
        answer = self.sell()
        self.assertEqual((answer["task_status"], answer["warnings"][0]["code"]), (2, 1051))
        self.assertEqual(self.rows("pay"), [])

    def test_look_up(self) -> None:
        """A look-up is answered here as on other paths."""
        self.assertAnswer(self.ask({"device": "test", "tag": "t"}), 1058, 1)
        docno = self.sell()["info"]["docno"]
        for batch in (True, False):
            self.assertEqual(self.ask({"device": "test", "tag": "t"}, batch)["info"]["docno"], docno)


class ReportTests(BatchCase):
    """X and Z make the terminal's own reports."""

    def report(self, task: int, tag: str = "") -> Answer:
        """The answer to a report in batch mode."""
        return self.ask({"device": "test", "tag": tag, "type": 1, "fiscal": {"task": task}})

    def test_x(self) -> None:
        """X gets the totals of the terminal."""
        self.sell()
        self.assertAnswer(self.report(10), 0)
        self.assertEqual([row.task for row in self.rows("pay")], [1, 10])

    def test_z(self) -> None:
        """Z settles the terminal's batch, once for a tag."""
        self.sell()
        self.assertAnswer(self.report(11, "z"), 0)
        again = self.report(11, "z")
        self.assertEqual((again["res"], again["task_status"]), (0, 2))
        self.assertEqual([kind for kind, _ in self.terminal()], ["payment", "settlement"])

    def test_terminal_fails(self) -> None:
        """A fault at the terminal is a warning in the register's report."""
        self.sell()
        self.rules("pos", ("settlement", "refuse", "journal_full"))
        answer = self.report(11, "z")
        self.assertAnswer(answer, 0)
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [5003])

    def test_not_while_open(self) -> None:
        """The terminal's batch is not settled while a payment of it may have to be cancelled."""
        self.rules("test", ("sale", "unreachable"))
        self.sell()
        answer = self.report(11, "z")
        self.assertAnswer(answer, 0)
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [1074, 1074])
        self.assertEqual(self.terminal("settlement"), [])

    def test_others(self) -> None:
        """Other tasks go to the register only."""
        for task in (18, 20, 21):
            self.assertIn(self.report(task)["res"], (0, 1058))
        cash_in = {"device": "test", "type": 1, "fiscal": {"task": 3, "cash": {"type": 0, "sum": 5}}}
        self.assertEqual(self.ask(cash_in)["info"]["isprint"], 1)
        self.assertEqual(self.rows("pay"), [])


class TurnTests(BatchCase):
    """Register, terminal and printer, one after the other."""

    def setUp(self) -> None:
        """The customer takes a second."""
        super().setUp()
        self.shop.settings("pos", operation_s=30.0)

    @promises("4.1.one-task")
    def test_busy_register(self) -> None:
        """A register in a saga answers 1105 at once, on every path."""
        under_way = self.due(sale())
        self.shop.clock.advance(1)
        for batch in (True, False):
            self.assertAnswer(self.ask(sale("u"), batch), 1105, 1)
        self.assertNoResult(under_way)
        self.wait(under_way)
        self.assertEnd([10_000], [10_000], ["done"])

    @promises("4.1.one-task", "8.one-task.3")
    def test_busy_terminal(self) -> None:
        """A saga waits 15 seconds for a busy terminal, then 1105: nothing is charged, and nothing is unfinished."""
        under_way = self.due({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 1}}, batch=False)
        self.shop.clock.advance(1)
        began = self.shop.clock.seconds()
        self.assertAnswer(self.sell(), 1105, 1)
        self.assertEqual(self.shop.clock.seconds() - began, 15)
        self.assertEqual((self.sales(), self.states(), self.unfinished()), ([], ["refused"], []))
        self.wait(under_way)
        self.assertAnswer(self.sell(), 0)
        self.assertEqual(self.held(), [100, 10_000])

    def test_two_registers(self) -> None:
        """Two registers share a terminal: one waits for the other, and both are served."""
        self.shop.settings("pos", operation_s=5.0)
        self.shop.add("second")
        self.shop.settings("second", batch=self.batch)
        self.shop.open_shift("second")
        dues = [self.due(sale("a")), self.due(sale("b", device="second"))]
        for due in dues:
            self.wait(due)
        self.assertEqual((self.held(), self.states()), ([10_000, 10_000], ["done", "done"]))


class SettingsTests(BatchCase):
    """The settings of batch mode."""

    def changed(self, **batch: Any) -> Exception | None:
        """The refusal of other settings, if they were refused."""
        devices = self.shop.core.devices
        change = devices.change(devices.by_name("test").row.dev_id, None, {"batch": batch})
        found: list[Any] = []
        Deferred.fromCoroutine(change).addErrback(found.append)
        return found[0].value if found else None

    def test_only_while_closed(self) -> None:
        """They can be changed only while the shift is closed, else 1100."""
        refused = self.changed(terminal="pos", merchant="1")
        assert isinstance(refused, Refused)
        self.assertIs(refused.res, Res.SHIFT_MUST_BE_CLOSED)
        self.assertIsNone(self.changed(**self.batch))
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 11}}, batch=False)
        self.assertIsNone(self.changed(terminal="pos", merchant="1"))

    def test_types(self) -> None:
        """Cash, rounding, an unknown type and the same type twice are not allowed as types for the terminal."""
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 11}}, batch=False)
        names = [{"code": 0, "name": "Готівка"}, {"code": 2, "name": "Картка"}, {"code": 77, "name": "Заокруглення"}]
        self.shop.settings("test", pay_types=names)
        for types in ([0], [2, 0], [77], [99], [2, 2]):
            self.assertIsInstance(self.changed(terminal="pos", pay_types=types), BadSettings, str(types))
        self.assertIsNone(self.changed(terminal="pos", pay_types=[2]))

    def test_unknown_terminal(self) -> None:
        """A terminal that does not exist is named in the answer, and is needed only for a card."""
        for name in ("nowhere", "prn"):
            self.ask({"device": "test", "type": 1, "fiscal": {"task": 11}}, batch=False)
            self.assertIsNone(self.changed(terminal=name))
            self.shop.open_shift()
            answer = self.sell(f"card {name}")
            self.assertAnswer(answer, 1091, 3)
            self.assertIn(name, answer["errortxt"])
            self.assertAnswer(self.sell(f"cash {name}", pays=[{"type": 0, "sum": 100}]), 0)
        self.assertEqual(self.unfinished(), [])

    def test_unknown_printer(self) -> None:
        """A printer that does not exist is a warning."""
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 11}}, batch=False)
        self.changed(terminal="pos", printer="nowhere")
        self.shop.open_shift()
        answer = self.sell()
        self.assertEqual((answer["res"], [warning["code"] for warning in answer["warnings"]]), (0, [1091]))


class UnsetTests(BatchCase):
    """A register without settings of batch mode."""

    batch: ClassVar[dict[str, Any]] = {}

    def test_no_terminal(self) -> None:
        """Without a terminal a card payment is only recorded, as on other paths, and a warning says so."""
        for task in (1, 2):
            answer = self.ask(sale(f"t{task}", task=task))
            self.assertAnswer(answer, 0)
            self.assertEqual((answer["info"]["ispay"], self.rows("pay")), (0, []))
            self.assertEqual([warning["code"] for warning in answer["warnings"]], [430])
            self.assertIn("batch.terminal", answer["warnings"][0]["wtxt"])

    def test_charged_elsewhere(self) -> None:
        """A payment with the data of a card that the till charged itself needs no warning, nor does cash."""
        for tag, pay in (("a", {"type": 2, "sum": 100, "rrn": "1"}), ("b", {"type": 0, "sum": 100})):
            self.assertEqual(self.sell(tag, pays=[pay])["warnings"], [])

    def test_pay(self) -> None:
        """An order for the terminal is refused, with the name of the setting; nothing is registered or stored."""
        cash = [{"type": 0, "sum": 100}]
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 3, "cash": {"type": 0, "sum": 500}}}, batch=False)
        refund = {"task": 2, "refundid": "632512000001"}
        bodies = [
            sale("a", pay={"task": 1, "sum": 100}),
            sale("b", pay={"task": 1}, pays=cash),
            sale("c", task=2, pay=refund),
            sale("d", task=2, pay=refund, pays=cash),
            {"device": "test", "type": 1, "fiscal": {"task": 10}, "pay": {"task": 10}},
            {"device": "test", "type": 1, "fiscal": {"task": 11}, "pay": {"task": 11}},
        ]
        for body in bodies:
            answer = self.ask(body)
            self.assertAnswer(answer, 430, 3)
            self.assertIn("(batch.terminal)", answer["errortxt"])
        self.assertEqual((self.sales(), self.sales("return"), self.sales("z"), self.rows()), ([], [], [], []))


class OrderTests(BatchCase):
    """What ``pay`` orders is done, or nothing is."""

    def assertRefused(self, body: Answer, res: int, words: str = "") -> None:
        """The request is refused for good, and neither money nor receipt moved."""
        answer = self.ask(body)
        self.assertAnswer(answer, res, 3)
        self.assertIn(words, answer["errortxt"])
        self.assertEqual((self.terminal(), self.sales(), self.sales("return")), ([], [], []))
        self.assertEqual((self.unfinished(), self.unfinished("pay")), ([], []))

    def test_contradictions(self) -> None:
        """A ``pay`` that the receipt contradicts: 2000, which names the member."""
        cash, refund = [{"type": 0, "sum": 100}], {"task": 2, "refundid": "632512000001"}
        self.ask({"device": "test", "type": 1, "fiscal": {"task": 3, "cash": {"type": 0, "sum": 500}}}, batch=False)
        for body, path in (
            (sale("a", pay={"task": 1}, pays=cash), "batch.pay_types"),
            (sale("b", task=2, pay=refund, pays=cash), "batch.pay_types"),
            (sale("c", pay={"task": 1, "sum": 50}), "pay.sum"),
            (sale("d", task=2, pay={**refund, "sum": 50}), "pay.sum"),
            (sale("e", pay=refund), "pay.task"),
            (sale("f", pay={"task": 15, "parts": 3}), "pay.task"),
            (sale("g", task=14, pay={"task": 14, "cash": 50}), "pay"),
            ({"device": "test", "type": 1, "fiscal": {"task": 20}, "pay": {"task": 1}}, "pay"),
        ):
            self.assertRefused(body, 2000, path)

    def test_order(self) -> None:
        """A ``pay`` that the receipt agrees with is paid, at the merchant that it names."""
        self.assertAnswer(self.sell(pay={"task": 1, "sum": 100, "merch": "2"}), 0)
        self.assertEnd([10_000], [10_000], ["done"])
        self.assertIn(b'"merchant":"2"', self.rows("pay")[0].request)

    def test_no_such_terminal(self) -> None:
        """A terminal that was deleted or cannot be used: 1091 or 430, for a payment and for a refund."""
        devices, refund = self.shop.core.devices, {"task": 2, "refundid": "632512000001"}
        self.shop.make_unusable("pos", "no such port")
        for res, words in ((430, "no such port"), (1091, 'batch.terminal: terminal "pos"')):
            for body in (sale(f"a {res}", pay={"task": 1}), sale(f"b {res}", task=2, pay=refund)):
                answer = self.ask(body)
                self.assertAnswer(answer, res, 3)
                self.assertIn(words, answer["errortxt"])
            if res == 430:
                self.wait(Deferred.fromCoroutine(devices.remove(devices.by_name("pos").row.dev_id)))
        self.assertEqual((self.sales(), self.sales("return"), self.unfinished()), ([], [], []))

    def test_wire_without_refunds(self) -> None:
        """A terminal whose wire has no refund: 5029, and no return is registered."""
        driver: Any = self.shop.built("pos").driver
        self.patch(driver, "capabilities", frozenset(driver.capabilities) - {2})
        self.assertRefused(sale("r", task=2, pay={"task": 2, "refundid": "632512000001"}), 5029)


class RequestTests(SynchronousTestCase):
    """What a request asks of batch mode."""

    ROW: ClassVar = {"code": "1", "name": "x", "cnt": 1, "price": 1, "taxgrp": 1}

    def request(self, **fiscal: Any) -> TaskRequest:
        """A request of a till."""
        body = {"device": "test", "type": 1, "tag": "t", **({"fiscal": fiscal} if fiscal else {})}
        return read_task(read_json(json.dumps(body).encode()), batch=True)

    def test_other_tasks(self) -> None:
        """A request without a receipt, or of another task, lacks no payment, gets none and has none on a card."""
        pays = [{"type": 2, "sum": 1}]
        for other in (self.request(task=20), self.request(task=3, cash={"type": 0, "sum": 1}), self.request()):
            self.assertFalse(lacks_payment(other, BatchSettings()))
            self.assertFalse(counts_on_card(other, BatchSettings()))
            self.assertIs(with_payment(other, BatchSettings(), 100), other)
        for task, card in ((1, True), (2, True), (14, False)):
            paid = self.request(task=task, receipt={"sum": 1, "rows": [self.ROW], "pays": pays})
            self.assertEqual(counts_on_card(paid, BatchSettings()), card, task)
            self.assertIs(with_payment(paid, BatchSettings(), 100), paid)

    def test_lacks_payment(self) -> None:
        """Only a sale with goods and without payments is all paid by card, where a payment type goes to it."""
        receipt = {"sum": 1, "rows": [self.ROW]}
        sold = self.request(task=1, receipt=receipt)
        self.assertTrue(lacks_payment(sold, BatchSettings()))
        self.assertFalse(lacks_payment(sold, BatchSettings(pay_types=())))
        for other in (
            self.request(task=2, receipt=receipt),
            self.request(task=1, receipt={"sum": 0, "rows": []}),
            self.request(task=1, receipt={**receipt, "pays": [{"type": 0, "sum": 1}]}),
            self.request(task=20),
        ):
            self.assertFalse(lacks_payment(other, BatchSettings()))

    def test_asks_only(self) -> None:
        """Without content a repeat asks for the result; with content, or as another task, it is another request."""
        first = self.request(task=1, receipt={"sum": 1, "rows": [self.ROW]})
        self.assertTrue(asks_only(self.request(task=1), first))
        for other in (first, self.request(task=11)):
            self.assertFalse(asks_only(other, first))
        cash = self.request(task=3, cash={"type": 0, "sum": 1})
        self.assertEqual((asks_only(self.request(task=3), cash), asks_only(cash, cash)), (True, False))


class SagasTests(SynchronousTestCase):
    """Sagas in the journal."""

    REGISTER_N: ClassVar = 3

    def setUp(self) -> None:
        self.store, self.told = MemoryStore(), list[dict[str, Any]]()
        self.do(self.store.open())
        self.sagas = Sagas(self.store, ServiceClock(Clock()), lambda kind, **members: self.told.append(members))

    def do(self, verb: Coroutine[Any, Any, T]) -> T:
        """What a verb returns."""
        return self.successResultOf(Deferred.fromCoroutine(verb))

    def saga(self, **members: Any) -> Saga:
        """A saga over one hryvnia on terminal 7."""
        body = json.dumps({"device": "test", "tag": "t", "userinfo": {"email": "a@example.com"}}).encode()
        order = Order(Task(1), "uid", sum=100)
        return msgspec.structs.replace(Saga(body, "uk", BatchSettings(terminal="pos"), 7, order, "label"), **members)

    def ended(self, saga: Saga, state: State, refused: Refused | None = None) -> OperationRow:
        """The row of a saga that began and ended."""
        n = self.do(self.sagas.begin(self.REGISTER_N, 1, "t", saga))
        self.do(self.sagas.end(self.REGISTER_N, "t", n, saga, state, refused))
        row = self.do(self.store.latest(self.REGISTER_N, KIND, "t"))
        assert row is not None
        return row

    def test_done(self) -> None:
        """A saga that made its receipt forgets the customer, whose letter exists by now; the rest stays as it was."""
        row = self.ended(self.saga(), State.DONE)
        self.assertEqual((row.res, row.state, self.sagas.open_ones), (0, State.DONE, []))
        self.assertEqual(json.loads(saga_of(row).body), {"device": "test", "tag": "t"})
        self.assertEqual(self.told, [])

    def test_without_customer(self) -> None:
        """Where the body has no customer it stays as it came, byte by byte."""
        body = b'{ "device": "test",  "tag": "t" }'
        self.assertEqual(saga_of(self.ended(self.saga(body=body), State.DONE)).body, body)

    def test_refused(self) -> None:
        """One without a receipt keeps its customer, who may still get one, and says why it was refused."""
        row = self.ended(self.saga(), State.REFUSED, Refused(Res.TERMINAL_BUSY))
        self.assertEqual(row.res, Res.TERMINAL_BUSY.code)
        self.assertIn(b"a@example.com", saga_of(row).body)
        self.assertEqual(saga_of(row).why, Refused(Res.TERMINAL_BUSY).words())

    def test_first_reason(self) -> None:
        """While a payment is taken back the first reason stays: why there is no receipt."""
        first = Refused(Res.TERMINAL_BUSY).words()
        saga = self.saga(step=Step.TAKING_BACK, why=first)
        self.assertEqual(saga_of(self.ended(saga, State.UNKNOWN, Refused(Res.STORE_FAILED))).why, first)

    def test_open(self) -> None:
        """One that stays open is told, holds its tag and its terminal, and is found again after a start."""
        self.ended(self.saga(), State.UNKNOWN, Refused(Res.TERMINAL_BUSY))
        self.assertEqual([members["tag"] for members in self.told], ["t"])
        again = Sagas(self.store, ServiceClock(Clock()), lambda *_, **__: None)
        self.assertTrue(again.may_hold(self.REGISTER_N, "other"))
        self.do(again.load())
        for sagas in (self.sagas, again):
            self.assertEqual(sagas.open_ones, [(self.REGISTER_N, "t")])
            self.assertEqual([sagas.open_on(7), sagas.open_on(8)], [True, False])
            self.assertEqual([sagas.open_of(self.REGISTER_N), sagas.open_of(4)], [True, False])
        self.assertEqual([again.may_hold(self.REGISTER_N, tag) for tag in ("t", "other")], [True, False])

    def test_unreadable(self) -> None:
        """A saga that cannot be read stays in the list, on no terminal, at a start and at a takeover."""
        intent = Intent(self.REGISTER_N, KIND, 1, "bad", b"", 0, [], b"{")
        self.do(self.store.reserve(intent))
        for read in (self.sagas.load(), self.sagas.learn(self.REGISTER_N)):
            self.do(read)
            self.assertEqual(self.sagas.open_ones, [(self.REGISTER_N, "bad")])
            self.assertTrue(self.sagas.open_on(0))
        self.assertEqual(len(self.flushLoggedErrors()), 2)

    def test_taken_over(self) -> None:
        """A register that was taken over has the open sagas of its last service; other registers keep theirs."""
        other = Sagas(self.store, ServiceClock(Clock()), lambda *_, **__: None)
        self.do(self.sagas.load())
        self.do(self.sagas.begin(4, 1, "ours", self.saga()))
        self.do(other.begin(self.REGISTER_N, 1, "theirs", self.saga()))
        self.do(self.sagas.learn(self.REGISTER_N))
        self.assertEqual(sorted(self.sagas.open_ones), [(self.REGISTER_N, "theirs"), (4, "ours")])

    def test_given_up(self) -> None:
        """A payment that was given up is checked again at a start, until its tag has another saga."""
        first = self.ended(self.saga(), State.REFUSED, Refused(Res.TERMINAL_BUSY))
        [(register_n, tag, n, saga)] = self.do(self.sagas.given_up())
        self.assertEqual((register_n, tag, n, saga.label), (self.REGISTER_N, "t", first.n, "label"))
        self.ended(self.saga(), State.DONE)
        self.assertEqual(self.do(self.sagas.given_up()), [])

    def test_gone(self) -> None:
        """A saga that ended by another's hand is open no more, though it was remembered."""
        n = self.do(self.sagas.begin(self.REGISTER_N, 1, "t", self.saga()))
        self.do(self.sagas.load())
        other = Sagas(self.store, ServiceClock(Clock()), lambda *_, **__: None)
        self.do(other.end(self.REGISTER_N, "t", n, self.saga(), State.DONE))
        self.assertEqual(self.do(self.sagas.held(self.REGISTER_N, "t")), None)
        self.assertEqual(self.sagas.open_ones, [])

    def test_learnt_anew(self) -> None:
        """What a register's last service had closed by then is no longer open after a takeover."""
        n = self.do(self.sagas.begin(self.REGISTER_N, 1, "t", self.saga()))
        other = Sagas(self.store, ServiceClock(Clock()), lambda *_, **__: None)
        self.do(other.end(self.REGISTER_N, "t", n, self.saga(), State.DONE))
        self.do(self.sagas.learn(self.REGISTER_N))
        self.assertEqual(self.sagas.open_ones, [])


class BankTests(SynchronousTestCase):
    """Whether a payment may be taken back by its number: another one may have the same by now."""

    TERMINAL_N: ClassVar = 7

    def setUp(self) -> None:
        self.store = MemoryStore()
        self.do(self.store.open())
        no_devices: Any = ()
        self.bank = Bank(no_devices, self.store)

    def do(self, verb: Coroutine[Any, Any, T]) -> T:
        """What a verb returns."""
        return self.successResultOf(Deferred.fromCoroutine(verb))

    def done(self, label: str, cancelid: str = "7", task: int = Task.PAYMENT, approved: bool = True) -> None:
        """An operation of the terminal that is over."""
        verdict = Approved(sum=100, cancelid=cancelid) if approved else Declined(5018)
        record = Record(Order(Task(task), label, sum=100), Caller("pos", "", "", label, "uk"), verdict=verdict)
        request = msgspec.json.encode(record)
        intent = Intent(self.TERMINAL_N, "pay", task, label, b"", 0, [], request)
        n = self.do(self.store.reserve(intent)).n
        self.do(self.store.conclude(Outcome(n, self.TERMINAL_N, State.DONE, 1, 0, b"{}", request=request)))

    def may(self, label: str = "ours", cancelid: str = "7") -> bool:
        """Whether it may."""
        return self.do(self.bank.may_cancel(self.TERMINAL_N, label, Approved(sum=100, cancelid=cancelid)))

    def test_last(self) -> None:
        """It may while it is the last one, or only other numbers and declined cards came after it."""
        self.done("before")
        self.done("ours")
        self.assertIs(self.may(), True)
        self.done("later", "8")
        self.done("declined", approved=False)
        self.assertIs(self.may(), True)

    def test_same_number(self) -> None:
        """It may not once another operation has the number."""
        self.done("ours")
        self.done("later")
        self.assertIs(self.may(), False)

    def test_settled(self) -> None:
        """It may not once the terminal's day was settled: its numbers begin again."""
        self.done("ours")
        self.done("day", "", Task.SETTLEMENT)
        self.assertIs(self.may(), False)

    def test_unknown(self) -> None:
        """It may not without a number, nor when the journal does not have it."""
        self.done("ours")
        self.assertIs(self.may(cancelid=""), False)
        self.assertIs(self.may("another", "9"), False)

    def begun(self, label: str, sent: bool) -> None:
        """An operation of the terminal that is open; its request may have been sent."""
        record = Record(Order(Task.PAYMENT, label, sum=100), Caller("pos", "", "", label, "uk"), sent)
        intent = Intent(self.TERMINAL_N, "pay", Task.PAYMENT, label, b"", 0, [], msgspec.json.encode(record))
        self.do(self.store.reserve(intent))

    def test_deleted_terminal(self) -> None:
        """For a terminal that was deleted its journal answers, unless money may have moved that nobody heard of."""
        self.done("ours")
        self.begun("never", sent=False)
        self.begun("lost", sent=True)
        self.assertIsInstance(self.do(self.bank.outcome(self.TERMINAL_N, "ours")), Approved)
        for label in ("never", "strange"):
            self.assertIs(self.do(self.bank.outcome(self.TERMINAL_N, label)), None)
        asking = Deferred.fromCoroutine(self.bank.outcome(self.TERMINAL_N, "lost"))
        refused = self.failureResultOf(asking, Refused).value
        self.assertEqual((refused.res, refused.action), (Res.UNKNOWN_DEVICE, Action.COLLISION))
