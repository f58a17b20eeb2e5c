"""What a service promises to its clients, one test for each promise, with any database.

`tests.store_contract` tests the stores themselves. Here the whole service runs on each of them: real HTTP, all parts
of the service, the real reactor. A module adds how the store of its database is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from dmtwisted.config import Config, ServiceConfig
from dmtwisted.core import Core
from dmtwisted.registers import asking
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed
from tests.specification import promises
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, Connection, HttpAnswer, fiscal, sale
from web.site import Door

PRINTING, BATCH = "/dm/execute-prn", "/dm/execute-pkg"
OPERATIONS, JOBS = "/dm/api/v3/operations", "/dm/api/v3/jobs"
SETTINGS = "/dm/main/api/v1/settings"

Answer = dict[str, Any]


class BehaviourCase(TestCase if TYPE_CHECKING else object):  # type: ignore[misc]
    """A service in training mode with a store, used over HTTP."""

    timeout = 30

    def make_store(self) -> IStore:
        """The store on this test's database, not open yet; the next one finds what this one stored."""
        raise NotImplementedError("a backend says how it is opened")

    async def setUp(self) -> None:
        """A new service in training mode, with all devices; its terminal takes no time."""
        self.state = Path(self.mktemp())
        self.state.mkdir()
        self._core: Core | None = None
        self.addCleanup(lambda: Deferred.fromCoroutine(self.stop()))
        await self.start()
        await self.change("pos", operation_s=0.0)

    async def start(self) -> None:
        """Start the service with the stored data, and wait until it is ready."""
        self.store = self.make_store()
        self._core = Core(Config(service=ServiceConfig(training=True)), self.store, reactor, self.state)
        await self._core.open()
        self.door = Door(self._core)
        await self.until(lambda: self._core is not None and self._core.ready)

    async def stop(self) -> None:
        """Stop the service cleanly, unless it is stopped."""
        core, self._core = self._core, None
        if core is not None:
            await core.close()

    async def restart(self) -> None:
        """Stop the service and start it again."""
        await self.stop()
        await self.start()

    async def until(self, condition: Any) -> None:
        """Wait until ``condition`` holds."""
        while not condition():
            await deferLater(reactor, 0.002)

    # Requests

    async def request(self, method: str, path: str, body: object = None) -> HttpAnswer:
        """The answer to a request on its own connection."""
        connection = Connection(self.door, reactor)
        try:
            if body is None:
                connection.ask(method, path)
            else:
                connection.ask(method, path, json.dumps(body).encode(), [JSON_TYPE])
            found: list[HttpAnswer] = []
            while not found:
                await deferLater(reactor, 0.001)
                found = connection.answers()
        finally:
            connection.hang_up()
        [answer] = found
        return answer

    async def read(self, path: str) -> Any:
        """The decoded answer to a GET, which must succeed."""
        answer = await self.request("GET", path)
        self.assertEqual(answer.status, 200, answer)
        return json.loads(answer.body)

    async def execute(self, body: object, path: str = EXECUTE) -> Answer:
        """The decoded answer to a task."""
        answer = await self.request("POST", path, body)
        self.assertEqual(answer.status, 200, answer)
        decoded: Answer = json.loads(answer.body)
        return decoded

    async def ask(self, task: int, tag: str = "", device: str = "test", **members: object) -> Answer:
        """The answer to a register's task."""
        return await self.execute({**fiscal(task, tag, **members), "device": device})

    async def sell(self, tag: str = "", device: str = "test", path: str = EXECUTE, **receipt: object) -> Answer:
        """The answer to a sale of 125.50 for cash."""
        return await self.execute({**sale(tag, **receipt), "device": device}, path)

    async def pay(self, label: str = "", search: int = 0, **pay: object) -> Answer:
        """The answer to a payment of 100.00 at the terminal."""
        body = {"device": "pos", "type": 3, "pay": {"task": 1, "sum": 100, **pay}}
        return await self.execute({**body, "transaction_id": label, "transaction_search": search})

    def begin(self, coroutine: Any) -> Deferred[Any]:
        """Start a request; its answer is awaited later."""
        return Deferred.fromCoroutine(coroutine)

    async def open_shift(self, device: str = "test") -> None:
        """Open the shift."""
        self.assertEqual((await self.ask(0, f"open {device}", device))["res"], 0)

    async def path_of(self, device: str) -> str:
        """The path of a device."""
        devices = (await self.read(DEVICES))["devices"]
        [dev_id] = [each["dev_id"] for each in devices if each["device"] == device]
        return f"{DEVICES}/{dev_id}"

    async def change(self, device: str, **settings: object) -> None:
        """Change settings of a device."""
        answer = await self.request("PATCH", await self.path_of(device), {"settings": settings})
        self.assertEqual(answer.status, 200, answer)

    async def add(self, device: str) -> None:
        """Add a training register and open its shift."""
        body = {"device": device, "kind": "register", "driver": "training", "settings": {}}
        self.assertEqual((await self.request("POST", DEVICES, body)).status, 201)
        await self.open_shift(device)

    async def rules(self, device: str, *rules: dict[str, object]) -> None:
        """Set what the simulated device does next."""
        answer = await self.request("PUT", f"{await self.path_of(device)}/scenario", {"rules": list(rules)})
        self.assertEqual(answer.status, 200, answer)

    async def ledger(self, device: str = "test", kind: str = "sale") -> list[tuple[str, int]]:
        """What the simulated device accepted of one kind: numbers and kopecks."""
        entries = (await self.read(f"{await self.path_of(device)}/ledger"))["entries"]
        return [
            (entry["number"], entry["sum"])
            for entry in entries
            if (entry["kind"], entry["status"]) == (kind, "accepted")
        ]

    @contextmanager
    def no_outcomes(self) -> Iterator[None]:
        """Within this block the store saves no outcome, as when its disk is full."""

        async def refuse(outcome: Any) -> None:
            raise StoreFailed("database or disk is full")

        kept = self.store.conclude
        self.store.conclude = refuse  # type: ignore[method-assign]
        yield
        self.store.conclude = kept  # type: ignore[method-assign]

    def stored(self, first: Answer) -> Answer:
        """The answer to a repeat of ``first``."""
        return {**first, "task_status": 2}


class Behaviour(BehaviourCase):
    """The promises that depend on the store."""

    # Registers

    @promises("3.3.1.1", "3.3.1.3", "3.3.1.4", "3.3.2.1", "3.3.2.2", "3.2.0.1")
    async def test_sale_repeat_look_up(self) -> None:
        """A sale is answered; its repeat and its look-up get the stored answer, and there is one receipt."""
        await self.open_shift()
        first = await self.sell("Їжа 🧾")
        self.assertEqual((first["res"], first["task_status"]), (0, 1))
        self.assertEqual(await self.sell("Їжа 🧾"), self.stored(first))
        looked = await self.execute({"device": "test", "tag": "Їжа 🧾"})
        self.assertEqual(looked, {**self.stored(first), "source": ""})
        self.assertEqual(await self.ledger(), [(first["info"]["doccode"], 12550)])

    @promises("3.3.3.1", "3.3.1.5", "2.2.tag.4")
    async def test_tags_apart(self) -> None:
        """A tag that differs in any character, or belongs to another register, is another tag."""
        await self.open_shift()
        await self.add("каса 2")
        tags = ["test", "Test", "test ", "tést", "te\u0301st"]
        numbers = [(await self.sell(tag))["info"]["docno"] for tag in tags]
        self.assertEqual(numbers, ["2", "3", "4", "5", "6"])
        self.assertEqual((await self.execute({"device": "каса 2", "tag": "test"}))["res"], 1058)
        self.assertEqual((await self.sell("test", "каса 2"))["info"]["docno"], "2")
        for tag, number in zip(tags, numbers, strict=True):
            self.assertEqual((await self.execute({"device": "test", "tag": tag}))["info"]["docno"], number)

    @promises("3.2.1.3", "3.3.only-success")
    async def test_refused_then_repeated(self) -> None:
        """A refused sale stores nothing under its tag: the repeat is a new sale with the same number."""
        await self.open_shift()
        await self.rules("test", {"on": "sale", "then": "refuse", "code": "7"})
        refused = await self.sell("a")
        self.assertGreater(refused["res"], 0)
        self.assertEqual((await self.execute({"device": "test", "tag": "a"}))["res"], 1058)
        again = await self.sell("a")
        self.assertEqual((again["res"], again["task_status"], again["info"]["docno"]), (0, 1, "2"))
        self.assertEqual(len(await self.ledger()), 1)

    @promises("3.2.2.1", "3.2.2.3", "3.2.2.4")
    async def test_collision_settled_after_restart(self) -> None:
        """A sale with a lost answer is settled at the next start: accepted, it exists once; else it may be sent."""
        self.patch(asking, "GRANTED_S", asking.RESERVE_S)
        for turn, (then, taken) in enumerate((("lost_after", 1), ("lost_before", 0))):
            await self.restart()
            if not turn:
                await self.open_shift()
            before = len(await self.ledger())
            await self.rules("test", {"on": "sale", "then": then}, {"on": "probe", "then": "silent", "times": 0})
            lost = await self.sell(then)
            if then == "lost_after":
                self.assertEqual((lost["res"], lost["res_action"]), (1075, 2))
                [row] = (await self.read(f"{OPERATIONS}?state=unfinished"))["operations"]
                self.assertEqual((row["key"], row["state"]), (then, "unknown"))
            await self.restart()
            self.assertEqual((await self.read(f"{OPERATIONS}?state=unfinished"))["operations"], [])
            self.assertEqual(len(await self.ledger()), before + taken)
            again = await self.sell(then)
            self.assertEqual((again["res"], again["task_status"]), (0, 1 + taken))
            self.assertEqual(len(await self.ledger()), before + 1)

    async def test_outcome_not_kept(self) -> None:
        """A receipt whose outcome could not be stored is answered 1082; the repeat has it, also after a restart."""
        await self.open_shift()
        for restarted in (False, True):
            before = len(await self.ledger())
            with self.no_outcomes():
                self.assertEqual((await self.sell(f"lost {restarted}"))["res"], 1082)
            if restarted:
                await self.restart()
            again = await self.sell(f"lost {restarted}")
            self.assertEqual((again["res"], again["task_status"]), (0, 2))
            self.assertEqual(len(await self.ledger()), before + 1)

    @promises("1.9d.1.1", "1.9d.2")
    async def test_two_registers(self) -> None:
        """While the tax service is slow for one register, another one sells; the first one is busy."""
        await self.open_shift()
        await self.add("bar")
        await self.rules("test", {"on": "sale", "then": "accept", "delay_ms": 2500})
        slow = self.begin(self.sell("slow"))
        numbers = [(await self.sell(f"quick {n}", "bar"))["info"]["docno"] for n in range(3)]
        self.assertEqual(numbers, ["2", "3", "4"])
        self.assertEqual((await self.sell("busy"))["res"], 1105)
        self.assertFalse(slow.called)
        self.assertEqual((await slow)["res"], 0)

    @promises("1.10.1.1", "2.2.tag.3")
    async def test_same_tag_at_once(self) -> None:
        """A sale sent many times at once happens once, and every successful answer has the same receipt."""
        await self.open_shift()
        answers = [await due for due in [self.begin(self.sell("a")) for _ in range(8)]]
        self.assertEqual({answer["res"] for answer in answers} - {1105}, {0})
        [(number, _)] = await self.ledger()
        self.assertEqual({answer["info"]["doccode"] for answer in answers if not answer["res"]}, {number})
        self.assertEqual((await self.sell("a"))["info"]["doccode"], number)

    async def test_restart(self) -> None:
        """After a restart, shift, numbers, totals, devices, settings and stored answers are as before."""
        await self.open_shift()
        sold = await self.sell("a")
        await self.change("test", rounding_step=10)
        before = (await self.ask(10))["info"]
        await self.restart()
        self.assertEqual(await self.sell("a"), self.stored(sold))
        after = (await self.ask(10))["info"]
        self.assertEqual(
            [after[name] for name in ("receipt", "safe")], [before[name] for name in ("receipt", "safe")]
        )
        self.assertEqual((await self.sell("b"))["info"]["docno"], "3")
        [settings] = [each["settings"] for each in (await self.read(DEVICES))["devices"] if each["device"] == "test"]
        self.assertEqual(settings["rounding_step"], 10)

    @promises("3.3.1.2")
    async def test_reports(self) -> None:
        """X reports the sales; Z closes, is found by its tag, and counts in the summary report of its period."""
        await self.open_shift()
        for tag in "ab":
            await self.sell(tag)
        info = (await self.ask(10))["info"]
        self.assertEqual((info["receipt"]["count_p"], info["safe"]), (2, 251.0))
        z = await self.ask(11, "z")
        self.assertEqual(z["res"], 0)
        self.assertEqual(await self.ask(11, "z"), self.stored(z))
        self.assertEqual((await self.sell("late"))["res"], 1092)
        summary = (await self.ask(12, n_from=1))["info"]
        self.assertEqual(summary["receipt"]["count_p"], 2)
        self.assertEqual((await self.ask(0, "next"))["res"], 0)
        self.assertEqual((await self.ask(10))["info"]["receipt"]["count_p"], 0)

    async def test_offline(self) -> None:
        """Offline sales survive a restart and are sent to the tax service once, with the numbers they got offline."""
        await self.open_shift()
        path = await self.path_of("test")
        self.assertEqual((await self.request("POST", f"{path}/go-offline")).status, 200)
        sold = [(await self.sell(f"tag {n}"))["info"]["doccode"] for n in range(3)]
        self.assertEqual(await self.ledger(), [])
        await self.restart()
        self.assertEqual((await self.sell("tag 2"))["info"]["doccode"], sold[2])
        self.assertEqual((await self.request("POST", f"{path}/go-online")).status, 200)
        self.assertEqual([number for number, _ in await self.ledger()], sold)

    @promises("2.1.device.3")
    async def test_devices(self) -> None:
        """Devices may have any unique name; the name of a removed device is free, without its history."""
        await self.open_shift()
        await self.add("бар 🧾")
        await self.sell("a", "бар 🧾")
        body = {"device": "бар 🧾", "kind": "register", "driver": "training", "settings": {}}
        self.assertEqual((await self.request("POST", DEVICES, body)).status, 409)
        self.assertEqual((await self.ask(11, "z", "бар 🧾"))["res"], 0)
        self.assertEqual((await self.request("DELETE", await self.path_of("бар 🧾"))).status, 204)
        await self.restart()
        self.assertEqual((await self.sell("a", "бар 🧾"))["res"], 1091)
        self.assertEqual((await self.request("POST", DEVICES, body)).status, 201)
        self.assertEqual((await self.execute({"device": "бар 🧾", "tag": "a"}))["res"], 1058)

    # Terminals

    @promises("3.4.search0", "3.4.search1.yes.1", "3.4.search1.no", "3.4.search2.yes.1", "3.4.search2.no", "1.10.1.2")
    async def test_payments(self) -> None:
        """0 pays again, 1 only looks up, 2 pays once: also after a restart; the latest of several is found."""
        label = str(uuid4())
        self.assertEqual((await self.pay(label, 1))["res"], 5013)
        first = await self.pay(label, 2)
        self.assertEqual((first["res"], first["transaction_id"]), (0, label))
        self.assertEqual(await self.pay(label, 2), self.stored(first))
        second = await self.pay(label, 0, sum=50)
        self.assertEqual(second["res"], 0)
        await self.restart()
        for search in (1, 2):
            self.assertEqual(await self.pay(label, search), self.stored(second))
        self.assertEqual([kopecks for _, kopecks in await self.ledger("pos", "payment")], [10000, 5000])

    async def test_payment_in_doubt(self) -> None:
        """A payment whose outcome could not be stored is settled at the next start; the repeat has it, paid once."""
        label = str(uuid4())
        with self.no_outcomes():
            lost = await self.pay(label, 2)
        self.assertEqual((lost["res"], lost["res_action"]), (1082, 2))
        await self.restart()
        again = await self.pay(label, 2)
        self.assertEqual((again["res"], again["task_status"]), (0, 2))
        self.assertEqual(len(await self.ledger("pos", "payment")), 1)

    # Card, receipt and paper

    @promises("4.1.execute-pkg")
    async def test_batch(self) -> None:
        """A sale by card is paid, fiscalised and printed once, however often it is repeated, and after restarts."""
        await self.open_shift()
        card = [{"type": 2, "sum": 125.5}]
        first = await self.sell("a", path=BATCH, pays=card)
        self.assertEqual((first["res"], first["info"]["ispay"], first["info"]["isprint"]), (0, 1, 1))
        for _ in range(2):
            again = await self.sell("a", path=BATCH, pays=card)
            self.assertEqual((again["task_status"], again["info"]["doccode"]), (2, first["info"]["doccode"]))
            await self.restart()
        self.assertEqual(len(await self.ledger("pos", "payment")), 1)
        self.assertEqual(len(await self.ledger()), 1)
        self.assertEqual((await self.read(JOBS))["paging"]["total"], 1)
        operations = (await self.read(OPERATIONS))["operations"]
        self.assertEqual([row["kind"] for row in operations], ["doc", "fiscal", "pay", "pkg", "fiscal"])
        self.assertEqual({row["state"] for row in operations}, {"done"})

    async def test_printed_once(self) -> None:
        """A receipt is printed once, also when the service is restarted between two requests to print it."""
        await self.open_shift()
        for _ in range(3):
            answer = await self.sell("a", path=PRINTING)
            self.assertEqual((answer["res"], answer["info"]["isprint"]), (0, 1))
            await self.restart()
        jobs = (await self.read(JOBS))["jobs"]
        self.assertEqual([(job["key"], job["fate"]) for job in jobs], [(jobs[0]["key"], "printed")])

    # Lists and settings

    async def test_lists(self) -> None:
        """Operations and receipts are listed newest first, in pages, filtered by the given parameters."""
        await self.open_shift()
        sold = [(await self.sell(f"tag {n}"))["info"]["doccode"] for n in range(5)]
        pages = [await self.read(f"{OPERATIONS}?kind=fiscal&page_size=4&page={page}") for page in (1, 2, 3)]
        self.assertEqual(
            [[row["key"] for row in page["operations"]] for page in pages],
            [["tag 4", "tag 3", "tag 2", "tag 1"], ["tag 0", "open test"], []],
        )
        self.assertEqual({page["paging"]["total"] for page in pages}, {6})
        found = await self.read(f"{OPERATIONS}?key=tag%203&state=done&device=test")
        self.assertEqual([row["answer"]["info"]["doccode"] for row in found["operations"]], [sold[3]])
        listed = await self.execute({"device": "test", "type": 1, "fiscal": {"get_receipts": True}})
        self.assertEqual([line["fisnum"] for line in listed["info"]["docs"]], sold[::-1])

    async def test_settings(self) -> None:
        """Settings of the service that are changed at the same time are all stored, and survive a restart."""
        before = await self.read(SETTINGS)
        changes = {"logdays": 14, "supmail": "каса@shop.example", "packdays": 61, "pf_charcount": 40}
        for due in [self.begin(self.request("POST", SETTINGS, {name: changes[name]})) for name in changes]:
            self.assertEqual(json.loads((await due).body)["res"], 0)
        for _ in range(2):
            self.assertEqual(await self.read(SETTINGS), {**before, **changes})
            await self.restart()
