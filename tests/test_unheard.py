"""Receipts whose caller heard no success: who is warned of them, how often, and after what."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.unheard import MOST, STILL_MS, Caller, caller, nobody
from dmtwisted.requests import read_json, read_task
from tests.batch_desk import BatchCase
from tests.prro_shop import FIRST, PrroShop
from tests.shop import FailingStore, Shop, hurry, sale
from tests.test_lost_online import GONE
from tests.web_case import WebCase, fiscal
from tests.web_case import sale as web_sale

Answer = dict[str, Any]

MAY_BE_REPEAT = 3004

UNKNOWN = {"on": "probe", "then": "lost_before", "times": 0}
"""The tax service cannot be asked what became of a document."""


def told(answer: Answer) -> list[str]:
    """The fiscal numbers that the answer's warnings name."""
    return [
        warning["wtxt"].split("чек ")[1].split(" ")[0]
        for warning in answer["warnings"]
        if warning["code"] == MAY_BE_REPEAT
    ]


def unclear(shop: Shop, body: Answer) -> Answer:
    """The answer to a task that meets the faults of the scenario, however long it takes; then they are over."""
    came: list[bytes] = []
    shop.asked(body).addCallback(came.append)
    while not came:
        shop.clock.advance(0.5)
    (shop.rules if isinstance(shop, PrroShop) else shop.scenario)()
    answer: Answer = json.loads(came[0])
    return answer


class UnheardCase(SynchronousTestCase):
    """Tests with an open register `test` that cannot go offline."""

    def setUp(self) -> None:
        """A shop with an open shift; what is lost stays unknown until the next task."""
        hurry(self)
        self.shop = Shop(self)
        self.shop.settings(offline_allowed=False)
        self.shop.open_shift()

    def lost(self, amount: float = 55, tag: str = "", then: str = "lost_after", task: int = 1) -> None:
        """A task whose document arrives, or not, and whose answer is lost on the way from the tax service."""
        self.shop.scenario({"on": "any", "then": then}, UNKNOWN)
        members: Answer = {"receipt": sale(amount)} if task == 1 else {"cash": {"type": 0, "sum": amount}}
        body = {"device": "test", "type": 1, "tag": tag, "fiscal": {"task": task, **members}}
        self.assertEqual(unclear(self.shop, body)["res_action"], 2)

    def gone(self, body: Answer, who: Caller = nobody) -> Answer:
        """The answer to a task, which its caller does not receive."""
        token = caller.set(who)
        answer = self.shop.ask(body)
        caller.reset(token)
        return answer

    def gone_sale(self, amount: float = 55, tag: str = "", who: Caller = nobody) -> str:
        """The fiscal number of a sale whose caller does not receive the answer."""
        body = {"device": "test", "type": 1, "tag": tag, "fiscal": {"task": 1, "receipt": sale(amount)}}
        doccode: str = self.gone(body, who)["info"]["doccode"]
        return doccode

    def numbers(self, kind: str = "sale") -> list[str]:
        """The fiscal numbers that the tax service has, in their order."""
        return [entry.number for entry in self.shop.ledger(kind=kind)]

    def done(self, coroutine: Any) -> Any:
        """The result of ``coroutine``."""
        return self.successResultOf(Deferred.fromCoroutine(coroutine))


class WarningTests(UnheardCase):
    """Who is warned."""

    def test_words(self) -> None:
        """The warning names number, sum, time and tag, in both languages."""
        self.lost(tag="order 7")
        body = {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale(55)}}
        answer = self.shop.ask(body, "en")
        [number, _] = self.numbers()
        self.assertEqual(
            answer["warnings"],
            [
                {
                    "code": MAY_BE_REPEAT,
                    "wtxt": f"This may be a repeat: receipt {number} for 55.00 of 21.09.2026 09:00:00, "
                    "tag order 7, exists",
                }
            ],
        )
        self.lost(60, "order 8")
        [warning] = self.shop.sell(1)["warnings"]
        self.assertEqual(
            warning["wtxt"],
            f"Можливо, це повтор: чек {self.numbers()[2]} на 60.00 від 21.09.2026 09:00:00, tag order 8, уже є",
        )

    def test_once(self) -> None:
        """Whoever comes next is warned, whatever it asks; after that answer nobody is."""
        for task in (1, 3, 10, 18, 20, 11):
            self.lost()
            members: Answer = {1: {"receipt": sale(9)}, 3: {"cash": {"type": 0, "sum": 9}}}.get(task, {})
            self.assertEqual(told(self.shop.fiscal(task, **members)), [self.numbers()[-1 - (task == 1)]], task)
            if task == 11:
                self.shop.open_shift()
            self.assertEqual(told(self.shop.fiscal(18)), [], task)
            self.assertEqual(told(self.shop.sell(9)), [], task)

    def test_every_document(self) -> None:
        """Cash-in and cash-out can be repeated blindly too, so they are named as sales are."""
        for task, kind in ((3, "cash_in"), (4, "cash_out")):
            self.lost(1, task=task)
            self.assertEqual(told(self.shop.fiscal(task, cash={"type": 0, "sum": 1})), [self.numbers(kind)[0]])

    def test_nothing_exists(self) -> None:
        """A document that never arrived is no reason for a warning: the repeat is the first one."""
        self.lost(then="lost_before")
        self.assertEqual(self.shop.sell(55)["warnings"], [])
        self.assertEqual(len(self.numbers()), 1)

    def test_repeat_with_tag(self) -> None:
        """A repeat with the same tag is the ordinary one, without a warning; nor is there one afterwards."""
        self.lost(tag="t")
        answer = self.shop.sell(55, "t")
        self.assertEqual((answer["task_status"], answer["warnings"]), (2, []))
        self.assertEqual(self.shop.sell(55)["warnings"], [])
        self.lost(tag="u")
        self.assertEqual(self.shop.look_up("u")["warnings"], [])
        self.assertEqual(self.shop.sell(55)["warnings"], [])

    def test_other_till(self) -> None:
        """A warning that another till received does not replace the one in the answer to the repeat itself."""
        self.lost()
        [first] = self.numbers()
        self.assertEqual(told(self.shop.sell(9, "other till")), [first])
        self.assertEqual(told(self.shop.sell(9, "other till 2")), [])
        self.assertEqual(told(self.shop.sell(55)), [first])
        # Now the till itself has heard of it: the next customer buys the same.
        self.assertEqual(told(self.shop.sell(55)), [])

    def test_ten_minutes(self) -> None:
        """The same content counts for ten minutes after somebody heard of the receipt, and no longer."""
        for late, expected in ((0, 1), (1, 0)):
            self.lost(55 + late)
            self.shop.fiscal(18)
            self.shop.fiscal(18)
            self.shop.clock.advance((STILL_MS - 1 + late) / 1000)
            self.assertEqual(len(told(self.shop.sell(55 + late))), expected)

    def test_with_tag(self) -> None:
        """A sale with a tag of its own is another sale, whatever its content; only the first answer warns."""
        self.lost()
        self.assertEqual(len(told(self.shop.sell(9))), 1)
        self.assertEqual(told(self.shop.sell(55, "t")), [])

    def test_lost_warning(self) -> None:
        """A warning in an answer that was lost itself is given again, with the receipt of that answer."""
        self.lost()
        second = self.gone_sale()
        [first, _] = self.numbers()
        self.assertEqual(told(self.shop.sell(55)), [first, second])
        self.assertEqual(told(self.shop.sell(55)), [])

    def test_stored_answer(self) -> None:
        """The warning belongs to the answer: a repeat of the task that was warned shows it again."""
        self.lost()
        first = self.shop.sell(9, "t")
        self.assertEqual(self.shop.sell(9, "t"), {**first, "task_status": 2})

    def test_refusal(self) -> None:
        """A refusal does not use the warning up."""
        self.lost()
        self.assertEqual(self.shop.fiscal(0)["res"], 1096)
        self.assertEqual(told(self.shop.sell(55)), self.numbers()[:1])

    def test_many(self) -> None:
        """A till that never waits for an answer does not fill those of all others."""
        for _ in range(MOST + 3):
            self.gone_sale()
        self.assertEqual(told(self.shop.sell(9)), self.numbers()[3:-1])


class CallerTests(UnheardCase):
    """Callers that went away."""

    def test_gone(self) -> None:
        """The receipt of a client that disconnected is named in the next answer."""
        number = self.gone_sale()
        self.assertEqual(told(self.shop.sell(55)), [number])

    def test_waits(self) -> None:
        """While the answer may still be written, as during printing, nobody is warned; then it is known."""
        for received in (True, False):
            state: list[bool | None] = [None]
            number = self.gone_sale(who=lambda state=state: state[0])  # type: ignore[misc]
            self.assertEqual(told(self.shop.sell(9)), [])
            state[0] = received
            self.assertEqual(told(self.shop.sell(55)), [] if received else [number])

    def test_report(self) -> None:
        """A status whose caller went away has told nobody."""
        self.lost()
        self.gone({"device": "test", "type": 1, "fiscal": {"task": 18}})
        self.assertEqual(told(self.shop.sell(9)), self.numbers()[:1])

    def test_repeat_unheard(self) -> None:
        """Nor has a repeat of the receipt's own tag."""
        self.lost(tag="t")
        again = {"device": "test", "type": 1, "tag": "t", "fiscal": {"task": 1, "receipt": sale(55)}}
        self.gone(again)
        self.assertEqual(told(self.shop.sell(9)), self.numbers()[:1])

    def test_by_itself(self) -> None:
        """The closing of a shift by the service itself is heard by nobody."""
        self.shop.settings(auto_close="23:00")
        self.lost()
        self.shop.clock.advance(14.5 * 3600)
        self.assertEqual(len(self.shop.ledger(kind="z")), 1)
        self.assertEqual(told(self.shop.fiscal(0)), self.numbers())


class RestartTests(UnheardCase):
    """What survives."""

    def test_killed(self) -> None:
        """After a kill the last receipt counts as unheard: its answer may not have left."""
        number = self.shop.sell(55)["info"]["doccode"]
        self.shop.crash()
        self.assertEqual(told(self.shop.sell(55)), [number])
        self.assertEqual(told(self.shop.sell(55)), [])

    def test_last_is_a_report(self) -> None:
        """Only a receipt: a Z-report cannot be made twice."""
        self.shop.sell(55)
        self.shop.fiscal(11)
        self.shop.crash()
        self.assertEqual(told(self.shop.fiscal(0)), [])

    def test_killed_twice(self) -> None:
        """What was unheard before the last receipt is not forgotten, nor what is only found at the start."""
        number = self.gone_sale(1)
        self.gone_sale(2)
        self.lost(3)
        for _ in range(2):
            self.shop.crash()
        self.assertEqual(told(self.shop.sell(9)), self.numbers()[:-1])
        self.assertEqual(self.numbers()[0], number)

    def test_waiting(self) -> None:
        """An answer that was still to be written when the service died belongs to them."""
        number = self.gone_sale(1, who=lambda: None)
        last = self.shop.sell(2)["info"]["doccode"]
        self.shop.crash()
        self.assertEqual(told(self.shop.sell(9)), [number, last])

    def test_stopped(self) -> None:
        """A service that was stopped knows who heard what; it writes nothing when it knows nothing new."""
        self.shop.sell(55)
        self.done(self.shop.core.devices.remember())
        self.shop.crash()
        self.assertEqual(told(self.shop.sell(55)), [])
        number = self.gone_sale()
        self.done(self.shop.core.devices.remember())
        self.shop.crash()
        self.patch(self.shop.store, "change_settings", self.fail)
        self.done(self.shop.core.devices.remember())
        self.assertEqual(told(self.shop.sell(55)), [number])

    def test_stops(self) -> None:
        """Stopping the service is what writes it down."""

        async def stays(*_: object) -> None:
            """A store in memory would be gone."""

        number = self.gone_sale()
        self.patch(self.shop.store, "close", stays)
        self.done(self.shop.core.close())
        self.assertIn(number.encode(), self.done(self.shop.store.settings())["unheard.1"])

    def test_settings_changed(self) -> None:
        """A change of settings builds the register again, and nothing is forgotten or made up."""
        self.shop.sell(55)
        self.shop.settings(warn_shift_h=30)
        self.assertEqual(told(self.shop.sell(55)), [])
        number = self.gone_sale()
        self.shop.settings(warn_shift_h=31)
        self.assertEqual(told(self.shop.sell(55)), [number])

    def test_not_remembered(self) -> None:
        """When the store fails while the service stops, the last receipt counts as unheard."""
        self.shop.sell(55)
        self.shop.store.broken = True
        self.done(self.shop.core.devices.remember())
        self.shop.store.broken = False
        self.shop.crash()
        self.assertEqual(told(self.shop.sell(55)), self.numbers()[:1])

    def test_store_failed(self) -> None:
        """A caller was answered 1082, and the receipt was stored all the same."""
        store = FailingStore(self, self.shop)
        for step in range(1, 6):
            store.fail_at(step, done=True)
            if self.shop.sell(55)["res"] == 1082:
                before = len(self.numbers())
                self.assertEqual(told(self.shop.sell(55)), self.numbers()[before - 1 : before], step)

    def test_unreadable(self) -> None:
        """A mark that cannot be read is no mark."""
        number = self.shop.sell(55)["info"]["doccode"]
        self.done(self.shop.store.change_settings({"unheard.1": b"?"}))
        self.shop.crash()
        self.assertEqual(told(self.shop.sell(55)), [number])


class ReturnTests(UnheardCase):
    """The setting `untagged_repeat`."""

    def test_return(self) -> None:
        """`return`: the earlier receipt, with task_status 2 and a warning; nothing is sold."""
        self.shop.settings(untagged_repeat="return")
        self.lost()
        answer = self.shop.sell(55)
        [number] = self.numbers()
        self.assertEqual((answer["res"], answer["task_status"], answer["info"]["doccode"]), (0, 2, number))
        self.assertEqual(told(answer), [number])
        self.assertIn("нового чека немає", answer["warnings"][0]["wtxt"])
        # The till has its receipt now: the next customer buys the same.
        self.assertEqual(self.shop.sell(55)["task_status"], 1)
        self.assertEqual(len(self.numbers()), 2)

    def test_return_lost(self) -> None:
        """As long as that answer is lost, it is returned again."""
        self.shop.settings(untagged_repeat="return")
        first = self.gone_sale()
        self.assertEqual((self.gone_sale(), self.gone_sale()), (first, first))
        self.assertEqual(self.shop.sell(55)["info"]["doccode"], first)
        self.assertEqual(self.numbers(), [first])

    def test_another_shift(self) -> None:
        """A receipt of an earlier shift is not returned for a sale of today."""
        self.shop.settings(untagged_repeat="return")
        self.gone_sale()
        token = caller.set(nobody)
        self.shop.fiscal(11)
        self.shop.fiscal(0)
        caller.reset(token)
        answer = self.shop.sell(55)
        self.assertEqual((answer["task_status"], told(answer)), (1, self.numbers()[:1]))

    def test_another_content(self) -> None:
        """Another content is sold, with the warning."""
        self.shop.settings(untagged_repeat="return")
        number = self.gone_sale()
        answer = self.shop.sell(56)
        self.assertEqual((answer["task_status"], told(answer)), (1, [number]))

    def test_sell(self) -> None:
        """`sell`: the same content means nothing; only the next answer warns, whoever gets it."""
        self.shop.settings(untagged_repeat="sell")
        number = self.gone_sale()
        self.assertEqual(told(self.shop.sell(9)), [number])
        self.assertEqual(told(self.shop.sell(55)), [])
        number = self.gone_sale()
        self.assertEqual(told(self.shop.sell(55)), [number])

    def test_paid(self) -> None:
        """What a card was charged for is not answered with another receipt."""
        self.shop.settings(untagged_repeat="return")
        self.gone_sale()
        body = {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale(55)}}
        request = read_task(read_json(json.dumps(body).encode()))
        paid = msgspec.structs.replace(request, tag="new", untagged=True, paid=True)
        answer = json.loads(self.done(self.shop.built().perform(paid, "uk")).answer)
        self.assertEqual((answer["task_status"], told(answer)), (1, self.numbers()[:1]))


class LateTests(SynchronousTestCase):
    """Documents that turn up late, at a register of the driver `prro`."""

    def open(self, **settings: Any) -> PrroShop:
        """A shop with an open register `one`."""
        shop = PrroShop(self, "one", **settings)
        self.assertEqual(shop.fiscal(0, device="one")["res"], 0)
        return shop

    def test_arrives_late(self) -> None:
        """A document that was void and arrived after all is returned, or named."""
        hurry(self)
        for repeat, status in (("return", 2), ("warn", 1)):
            shop = self.open(untagged_repeat=repeat)
            record = shop.far_end.books.registers[FIRST]
            shop.rules({"on": "sale", "then": "lost_after"}, UNKNOWN)
            body = {"device": "one", "type": 1, "fiscal": {"task": 1, "receipt": sale(50)}}
            self.assertEqual(unclear(shop, body)["res_action"], 2)
            stored = record.documents.pop(2)
            record.next_local = 2
            self.assertEqual(shop.look_up("a", "one")["res"], 1058)
            record.documents[2], record.next_local = stored, 3
            answer = shop.fiscal(1, device="one", receipt=sale(50))
            self.assertEqual((answer["task_status"], told(answer)), (status, [stored.number]))

    def test_made_again_offline(self) -> None:
        """A document that was made again offline is named by its offline number."""
        shop = self.open(offline_after_lost_answer="revoke")
        shop.built()._channel._skew = 0.0
        shop.rules({"on": "sale", "then": "lost_after"}, *GONE)
        # It cannot go offline while the caller waits.
        patch = self.patch(shop.built(), "_revokes", False)
        self.assertEqual(shop.fiscal(1, "a", "one", receipt=sale(50))["res"], 1075)
        patch.restore()
        answer = shop.fiscal(1, "b", "one", receipt=sale(60))
        self.assertEqual(told(answer), [shop.look_up("a", "one")["info"]["doccode"]])


class HttpTests(WebCase):
    """What the web server knows of its callers."""

    def test_disconnected(self) -> None:
        """The receipt of a client that hung up before its answer is named in the next answer, once."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        connection = self.connect()
        connection.ask("POST", "/dm/execute", json.dumps(web_sale()).encode())
        connection.hang_up()
        self.shop.clock.advance(0.8)
        [entry] = self.shop.ledger(kind="sale")
        self.assertEqual(told(self.sell()), [entry.number])
        self.assertEqual(told(self.sell()), [])

    def test_answered(self) -> None:
        """A client that received its answers is never warned, on whatever connection."""
        self.open_shift()
        connection = self.connect()
        for body in (web_sale(), fiscal(18), web_sale()):
            connection.ask("POST", "/dm/execute", json.dumps(body).encode())
            [answer] = connection.answers()
            self.assertEqual((answer.json["res"], answer.json["warnings"]), (0, []))
        connection.hang_up()
        self.assertEqual(told(self.sell()), [])


class BatchTests(BatchCase):
    """Receipts of batch mode."""

    def body(self, amount: int = 30) -> Answer:
        """A sale by card without a tag."""
        receipt = {**sale(amount), "pays": [{"type": 2, "sum": amount}]}
        return {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": receipt}}

    def pkg(self, body: Answer, who: Caller | None = None) -> Answer:
        """The answer of batch mode."""
        token = caller.set(who or caller.get())
        due = Deferred.fromCoroutine(
            self.shop.core.dispatcher.execute(json.dumps(body).encode(), "uk", "", batch=True)
        )
        caller.reset(token)
        answer: Answer = json.loads(self.wait(due))
        self.assertEqual(answer["res"], 0, answer)
        return answer

    def test_warned(self) -> None:
        """A warning passes through batch mode and printing."""
        first = self.pkg(self.body(), nobody)
        answer = self.pkg(self.body())
        self.assertEqual((told(answer), answer["info"]["isprint"]), ([first["info"]["doccode"]], 1))
        self.assertEqual(told(self.pkg(self.body())), [])

    def test_same_card_sale(self) -> None:
        """The same content is recognised though the card's data differ, and though another till heard of it."""
        first = self.pkg(self.body(), nobody)
        self.assertEqual(told(self.shop.sell(9)), [first["info"]["doccode"]])
        self.assertEqual(told(self.pkg(self.body(31))), [])
        self.assertEqual(told(self.pkg(self.body())), [first["info"]["doccode"]])
        self.assertEqual(told(self.pkg(self.body())), [])

    def test_returned(self) -> None:
        """With `return` the card is not charged again."""
        self.shop.settings(untagged_repeat="return")
        first = self.pkg(self.body(), nobody)
        answer = self.pkg(self.body())
        self.assertEqual((answer["task_status"], answer["info"]["doccode"]), (2, first["info"]["doccode"]))
        self.assertEqual(told(answer), [first["info"]["doccode"]])
        self.assertEqual([len(self.shop.ledger("pos", "payment")), len(self.shop.ledger(kind="sale"))], [1, 1])
        self.assertEqual(self.pkg(self.body())["task_status"], 1)
        self.assertEqual([len(self.shop.ledger("pos", "payment")), len(self.shop.ledger(kind="sale"))], [2, 2])

    def test_resumed(self) -> None:
        """A receipt that the start of the service made of an open batch is heard by nobody."""
        self.shop.scenario({"on": "sale", "then": "unreachable"})
        due = Deferred.fromCoroutine(
            self.shop.core.dispatcher.execute(json.dumps(self.body()).encode(), "uk", "", batch=True)
        )
        self.assertEqual(json.loads(self.wait(due))["res"], 1050)
        self.kill()
        [entry] = self.shop.ledger(kind="sale")
        self.assertEqual(told(self.shop.sell(9)), [entry.number])
