"""Whatever happens to a task, its caller gets an answer of the one form, and the service continues."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import dispatch
from dmtwisted.core import LATEST_READY
from dmtwisted.store.values import StoreFailed
from dmtwisted.turns import Turns
from protocols.simulators import tax_service
from protocols.simulators.scenario import Scenario
from tests.shop import Shop, hurry, sale
from tests.specification import promises

ROOT = (
    *("ver", "resp_ver", "source", "device", "tag", "task_status", "type", "task", "dt", "res", "res_action"),
    *("errortxt", "aq_errortxt", "warnings", "info"),
)
"""The members of every answer, in their order."""


class Mishap(Exception):
    """An internal error."""


def raising(error: Exception) -> Callable[..., Coroutine[Any, Any, Any]]:
    """An asynchronous function that ends in ``error``."""

    async def fail(*arguments: object) -> None:
        raise error

    return fail


def noting(asked: list[str], name: str) -> Callable[[], Coroutine[Any, Any, None]]:
    """An asynchronous function that records its calls."""

    async def note() -> None:
        asked.append(name)

    return note


class _WithShop(SynchronousTestCase):
    """A shop with an open shift."""

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.shop.open_shift()

    def held(self, device: str = "test", tag: str = "slow", seconds: int = 3) -> Deferred[bytes]:
        """A sale that takes some time."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": seconds * 1000}, device=device)
        due = self.shop.asked({"device": device, "tag": tag, "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        self.assertNoResult(due)
        return due


class FaultTests(_WithShop):
    """Internal errors."""

    def assertInternal(self, answer: dict[str, Any], **members: Any) -> None:
        """An internal error gives an answer of the usual structure without its message, which is in the log."""
        self.assertEqual(tuple(answer), ROOT)
        self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (1016, 3, 3))
        self.assertEqual((answer["ver"], answer["resp_ver"], answer["warnings"], answer["info"]), (6, 4, [], {}))
        self.assertEqual(answer["dt"], "20260921090000000")
        self.assertEqual({name: answer[name] for name in members}, members)
        self.assertIn("Mishap", answer["errortxt"])
        self.assertNotIn("the words", json.dumps(answer))
        self.assertEqual([str(failure.value) for failure in self.flushLoggedErrors(Mishap)], ["the words"])

    @promises("3.2.3.3", "3.2.3.4", "2.3.task_status.3", "2.3.res.2")
    def test_in_a_task(self) -> None:
        """An internal error in a task is answered 1016 with the request's members, and logged."""
        self.patch(self.shop.core.devices.by_name("test").built, "perform", raising(Mishap("the words")))
        answer = self.shop.ask(
            {"source": "till", "device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": sale()}}
        )
        self.assertInternal(answer, source="till", device="test", tag="t", type=1, task=1, aq_errortxt="")

    def test_in_a_look_up(self) -> None:
        """An internal error in a look-up is answered in the same way."""
        self.patch(self.shop.core.devices.by_name("test").built, "look_up", raising(Mishap("the words")))
        self.assertInternal(self.shop.look_up("t"), tag="t", type=0, task=-1)

    def test_before_the_device(self) -> None:
        """An internal error before the request was read is answered in the same way, with the readable members."""

        def fail(root: object, batch: bool) -> None:
            raise Mishap("the words")

        self.patch(dispatch, "read_task", fail)
        answer = self.shop.ask({"source": "till", "device": "test", "tag": "t", "type": 1, "fiscal": {"task": 11}})
        self.assertInternal(answer, source="till", device="test", tag="t", type=1, task=11)

    def test_device_is_free_afterwards(self) -> None:
        """After an internal error the device takes the next task, and the same tag works."""
        with_fault = self.patch(self.shop.core.devices.by_name("test").built, "perform", raising(Mishap("the words")))
        self.assertEqual(self.shop.sell(10, "t")["res"], 1016)
        self.assertEqual(len(self.flushLoggedErrors(Mishap)), 1)
        with_fault.restore()
        self.assertEqual(self.shop.sell(10, "t")["task_status"], 1)

    def test_after_the_effect(self) -> None:
        """An internal error after the tax service took the receipt loses nothing: the same tag gets its answer."""
        patch = self.patch(self.shop.store, "conclude", raising(Mishap("the words")))
        self.assertInternal(self.shop.sell(10, "t"), tag="t")
        patch.restore()
        self.assertEqual(self.shop.sell(10, "t")["task_status"], 2)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_store(self) -> None:
        """A failing store is answered 1082 with the reason, may be repeated, and is not an internal error."""
        self.patch(self.shop.store, "find", raising(StoreFailed("the disk is full")))
        answer = self.shop.look_up("t")
        self.assertEqual(tuple(answer), ROOT)
        self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (1082, 1, 3))
        self.assertIn("на диску немає місця", answer["errortxt"])

    def test_any_body(self) -> None:
        """Any bytes get an answer of the usual form."""
        bodies = [
            *(b"", b" ", b"\0", b"\xff", b"[" * 5000, b"{}", b"[1]", b'"x"', b"1e999", b"NaN", b'{"device":1}'),
            *(b'{"device":{}}', b'{"device":"test","type":{}}', b'{"device":"test","type":1e400,"tag":[]}'),
            *(b'{"device":"test","type":1,"fiscal":[]}', b'{"device":"test","type":1,"fiscal":{"task":[]}}'),
            *(b'{"device":"test","type":1,"fiscal":{"task":1e30}}', b'{"device":"\\ud800"}', b'{"device":null}'),
            *(b'{"device":"test","tag":"\\u0000","type":0}', b'{"device":"test","type":1,"type":0,"tag":"a"}'),
        ]
        for body in bodies:
            answer = self.shop.ask(body)
            self.assertEqual(tuple(answer), ROOT, body)
            self.assertIn(answer["res"], (1058, 1091, 2000), body)
            self.assertEqual((answer["task_status"], answer["info"]), (3, {}), body)


class LeftoverTests(_WithShop):
    """Members of batch mode in a request on another path."""

    def test_ignored(self) -> None:
        """A sale ignores any ``pay`` and ``skipprint``; batch mode checks both."""
        leftovers: tuple[dict[str, Any], ...] = (
            {"pay": ""},
            {"pay": []},
            {"pay": {"task": "x"}},
            {"pay": {"oper_action": 7}},
            {"skipprint": "perhaps"},
        )
        for more in leftovers:
            body = {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}, **more}
            self.assertEqual(self.shop.ask(body)["res"], 0, more)
            raw = json.dumps(body).encode()
            refused = Deferred.fromCoroutine(self.shop.core.dispatcher.execute(raw, "uk", batch=True))
            self.assertEqual(json.loads(self.successResultOf(refused))["res"], 2000, more)


class LabelTests(_WithShop):
    """Payments that never reach a terminal."""

    @promises("2.2.transaction_id.2")
    def test_refused(self) -> None:
        """Every refusal of a payment has its label: the caller's, or a new one where the caller's is invalid."""
        label = "5d0b9c4e-1f65-5e0a-9d5c-0123456789ab"
        paid = {"task": 1, "sum": 1}
        for device, pay in (("nobody", paid), ("test", paid), ("pos", {"task": 1, "sum": "x"})):
            body = {"device": device, "type": 3, "pay": pay}
            self.assertEqual(self.shop.ask({**body, "transaction_id": label})["transaction_id"], label)
            made = self.shop.ask({**body, "transaction_id": "mine"})["transaction_id"]
            self.assertEqual(UUID(made).version, 5)
            self.assertEqual(self.shop.ask({**body, "transaction_id": "mine"})["transaction_id"], made)
            self.assertNotEqual(self.shop.ask(body)["transaction_id"], self.shop.ask(body)["transaction_id"])

    @promises("4.4.label.2")
    def test_refused_without_label(self) -> None:
        """A refusal of totals, or of no known task, has none."""
        for device, pay in (("nobody", {"task": 10}), ("pos", {"task": "x"}), ("test", {"task": 9}), ("pos", 5)):
            self.assertNotIn("transaction_id", self.shop.ask({"device": device, "type": 3, "pay": pay}))


class LanguageTests(_WithShop):
    """The language of the texts is the request's."""

    @promises("2.3.errortxt.1", "7.0.2")
    def test_languages(self) -> None:
        """An error text is English on request, else Ukrainian."""
        body = {"device": "nobody", "type": 1, "fiscal": {"task": 18}}
        for language, text in (
            ("uk", "Пристрою з такою назвою немає: каса «nobody»"),
            ("en", 'There is no device with this name: register "nobody"'),
            ("de", "Пристрою з такою назвою немає: каса «nobody»"),
        ):
            self.assertEqual(self.shop.ask(body, language)["errortxt"], text)

    def test_places(self) -> None:
        """The placeholders of a text are filled in either language."""
        body = {"device": "test", "type": 1, "fiscal": {"task": 99}}
        self.assertIn(
            "Завдання fiscal.task 99 не підтримується: очікується 0, 1", self.shop.ask(body, "uk")["errortxt"]
        )
        self.assertIn("The task fiscal.task 99 is not supported: 0, 1", self.shop.ask(body, "en")["errortxt"])

    def test_unreadable(self) -> None:
        """An unreadable body is answered in the caller's language too."""
        self.assertIn("Malformed request", self.shop.ask(b"?", "en")["errortxt"])
        self.assertIn("Некоректний запит", self.shop.ask(b"?", "uk")["errortxt"])


class ChangeTests(_WithShop):
    """A device that is changed while a task waits for it, as tasks for printers and terminals do."""

    def sold_after(self, change: Callable[[str], Coroutine[Any, Any, Any]]) -> dict[str, Any]:
        """The answer to a sale that waited for a busy device, and for ``change``, which gets the device's id."""
        device = self.shop.core.devices.by_name("test")
        turns = Turns(self.shop.clock, 15.0)
        self.patch(device, "turns", turns)
        self.successResultOf(Deferred.fromCoroutine(turns.take()))
        changing = Deferred.fromCoroutine(change(device.row.dev_id))
        due = self.shop.asked({"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        self.assertNoResult(changing)
        self.assertNoResult(due)
        turns.give_back()
        self.successResultOf(changing)
        answer: dict[str, Any] = json.loads(self.successResultOf(due))
        return answer

    def test_changed(self) -> None:
        """The task is done by the changed device, not by the closed one."""
        answer = self.sold_after(lambda dev_id: self.shop.core.devices.change(dev_id, "bar", {"shopname": "Нова"}))
        self.assertEqual((answer["res"], answer["info"]["printinfo"]["shopname"]), (0, "Нова"))
        self.assertEqual(len(self.shop.ledger("bar", kind="sale")), 1)

    def test_removed(self) -> None:
        """A task for a device that was removed is refused with 1091."""
        self.assertEqual(self.sold_after(self.shop.core.devices.remove)["res"], 1091)


class LogTests(_WithShop):
    """Each task writes a line in the log."""

    def lines(self, body: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The log lines of a task: device, type, task, tag, res."""
        with capturedLogs() as events:
            self.shop.ask(body)
        names = ("device", "type", "task", "tag", "res")
        return [tuple(event[name] for name in names) for event in events if "ms" in event]

    def test_done(self) -> None:
        """A finished task is one line with its device, numbers, tag and 0."""
        body = {"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": sale()}}
        self.assertEqual(self.lines(body), [("test", 1, 1, "t", 0)])

    def test_refused(self) -> None:
        """A refused task is one line with the code."""
        self.assertEqual(self.lines({"device": "test", "tag": "t"}), [("test", 0, -1, "t", 1058)])
        self.assertEqual(self.lines({"device": "x", "type": 1, "fiscal": {"task": 18}}), [("x", 1, 18, "", 1091)])


class FinishTests(_WithShop):
    """The end of the service."""

    def finish(self) -> Deferred[None]:
        """Tell the dispatcher to finish."""
        return Deferred.fromCoroutine(self.shop.core.dispatcher.finish())

    def test_idle(self) -> None:
        """Without a running task it is finished at once."""
        self.assertIsNone(self.successResultOf(self.finish()))

    def test_refuses(self) -> None:
        """From then on tasks and look-ups are refused with 1105, which may be repeated."""
        self.successResultOf(self.finish())
        for answer in (self.shop.sell(10), self.shop.fiscal(18), self.shop.look_up("t")):
            self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (1105, 1, 3))
        self.assertEqual(self.shop.ledger(kind="sale"), [])

    def test_devices_are_closed(self) -> None:
        """A connection that stays open until the process ends gets 1105 to the last, though the devices are gone."""
        self.successResultOf(self.finish())
        self.shop.core.devices.close()
        self.assertEqual((self.shop.sell(10)["res"], self.shop.look_up("t")["res"]), (1105, 1105))

    def test_mistakes_are_told_all_the_same(self) -> None:
        """An unknown device or a body that is not JSON is refused as such, not as something to repeat."""
        self.successResultOf(self.finish())
        self.assertEqual(self.shop.look_up("t", "nobody")["res"], 1091)
        self.assertEqual(self.shop.ask(b"{")["res"], 2000)

    def test_waits(self) -> None:
        """A running task ends and is answered completely, and no other begins meanwhile."""
        self.shop.add("bar")
        due = self.held()
        finished = self.finish()
        self.assertNoResult(finished)
        self.assertEqual(self.shop.fiscal(0, device="bar")["res"], 1105)
        self.assertEqual(self.shop.fiscal(18)["res"], 1105)
        self.shop.clock.advance(2.875)
        self.assertNoResult(finished)
        self.shop.clock.advance(0.125)
        self.assertEqual(json.loads(self.successResultOf(due))["task_status"], 1)
        self.assertIsNone(self.successResultOf(finished))
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_waits_for_all(self) -> None:
        """It is finished when the last of several running tasks has ended, successful or not."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.held(seconds=1)
        self.shop.scenario({"on": "sale", "then": "lost_after", "delay_ms": 2000}, device="bar")
        self.shop.asked({"device": "bar", "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
        finished = self.finish()
        self.shop.clock.advance(1)
        self.assertNoResult(finished)
        self.shop.clock.advance(1)
        self.successResultOf(finished)

    def test_fault_of_ours(self) -> None:
        """A running task that ends in an internal error does not block the end."""
        due: Deferred[bytes] = Deferred()
        self.patch(self.shop.core.devices.by_name("test").built, "look_up", lambda request: due)
        answered = self.shop.asked({"device": "test", "tag": "t"})
        finished = self.finish()
        self.assertNoResult(finished)
        due.errback(Mishap("oh"))
        self.successResultOf(finished)
        self.assertEqual(json.loads(self.successResultOf(answered))["res"], 1016)
        self.assertEqual(len(self.flushLoggedErrors(Mishap)), 1)

    def test_asked_twice(self) -> None:
        """Every caller of `finish` learns of the end."""
        self.held()
        finished = [self.finish(), self.finish()]
        self.shop.clock.advance(3)
        for each in finished:
            self.successResultOf(each)

    def test_close(self) -> None:
        """The service closes its store after the last answer, and is not ready from the beginning of the end."""
        closed: list[int] = []
        close = self.shop.store.close

        async def noted() -> None:
            closed.append(len(list(self.shop.core.devices)))
            await close()

        self.patch(self.shop.store, "close", noted)
        due = self.held()
        self.assertTrue(self.shop.core.ready)
        closing = Deferred.fromCoroutine(self.shop.core.close())
        self.assertFalse(self.shop.core.ready)
        self.shop.clock.advance(2)
        self.assertEqual(closed, [])
        self.shop.clock.advance(1)
        self.successResultOf(closing)
        self.assertEqual(json.loads(self.successResultOf(due))["res"], 0)
        self.assertEqual(closed, [0])


class ResolveTests(SynchronousTestCase):
    """At the start, every unknown operation is queried once."""

    def setUp(self) -> None:
        hurry(self)
        self.shop = Shop(self)
        for name in ("bar", "cafe"):
            self.shop.add(name)
        for name in ("test", "bar", "cafe"):
            self.shop.open_shift(name)
            self.shop.scenario({"on": "sale", "then": "lost_after"}, device=name)
            self.assertEqual(self.shop.fiscal(1, "t", name, receipt=sale())["res"], 1075)

    def probes(self) -> list[str]:
        """Start the service again and record whose documents it queries, without any task."""
        asked: list[str] = []
        look_up = tax_service.TaxService.look_up

        def noted(service: tax_service.TaxService, number: int) -> tax_service.Ticket | None:
            asked.append(f"{service.register}/{number}")
            return look_up(service, number)

        patch = self.patch(tax_service.TaxService, "look_up", noted)
        self.shop.crash()
        patch.restore()
        return asked

    def test_every_register(self) -> None:
        """Each register's open document is queried, oldest register first, and then the service is ready."""
        self.assertEqual(self.probes(), ["4000000001/2", "4000000002/2", "4000000003/2"])
        self.assertTrue(self.shop.core.ready)
        for name in ("test", "bar", "cafe"):
            self.assertEqual(self.shop.look_up("t", name)["task_status"], 2)

    def test_once(self) -> None:
        """A known outcome is not queried again."""
        self.probes()
        self.assertEqual(self.probes(), [])

    def test_one_is_silent(self) -> None:
        """A tax service that is silent for one register delays neither the others nor the service for ever."""
        scenarios = iter([[{"on": "probe", "then": "lost_before"}], [{"on": "probe", "then": "silent"}], []])

        def followed() -> Scenario:
            scenario = Scenario()
            scenario.replace({"rules": next(scenarios)})
            return scenario

        self.patch(tax_service, "Scenario", followed)
        self.shop.crash()
        self.assertFalse(self.shop.core.ready)
        self.assertEqual(self.shop.look_up("t", "test")["task_status"], 2)
        self.assertEqual(self.shop.look_up("t", "cafe")["task_status"], 2)
        self.shop.clock.advance(LATEST_READY)
        self.assertTrue(self.shop.core.ready)
        self.shop.clock.advance(8 - LATEST_READY)
        for name in ("bar", "cafe"):
            self.assertEqual(self.shop.look_up("t", name)["task_status"], 2)

    def test_fault_of_ours(self) -> None:
        """An internal error with one register is logged, and the others are queried."""
        asked: list[str] = []
        for device, error in (("test", Mishap("oh")), ("bar", StoreFailed("no"))):
            self.patch(self.shop.core.devices.by_name(device).built, "resolve", raising(error))
        self.patch(self.shop.core.devices.by_name("cafe").built, "resolve", noting(asked, "cafe"))
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.dispatcher.resolve()))
        self.assertEqual(asked, ["cafe"])
        self.assertEqual(len(self.flushLoggedErrors(Mishap)), 1)

    def test_busy(self) -> None:
        """A busy register is queried after its task, and the others meanwhile."""
        asked: list[str] = []
        for name in ("test", "bar", "cafe"):
            self.patch(self.shop.core.devices.by_name(name).built, "resolve", noting(asked, name))
        turns = self.shop.core.devices.by_name("bar").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take()))
        resolved = Deferred.fromCoroutine(self.shop.core.dispatcher.resolve())
        self.assertEqual(asked, ["test", "cafe"])
        self.assertNoResult(resolved)
        turns.give_back()
        self.successResultOf(resolved)
        self.assertEqual(asked, ["test", "cafe", "bar"])
