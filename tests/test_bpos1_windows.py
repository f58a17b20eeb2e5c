"""The BPOS1 driver with a real process and real COM, by the Windows Python: the simulated library is a COM server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import SkipTest, TestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.requests import read_json, read_task
from dmtwisted.results import Refused
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow
from dmtwisted.system.environment import environment
from dmtwisted.terminals.bpos1.driver import NO_LIBRARY, build
from dmtwisted.terminals.bpos1.settings import Bpos1Settings
from dmtwisted.terminals.service import TerminalService
from protocols.terminals.bpos1 import protocol
from protocols.terminals.bpos1.child import NAME, UNREGISTERED
from protocols.terminals.bpos1.protocol import Pace

reactor: Any = _reactor

SERVER = "from tests.bpos1_server import main; main()"

Answer = dict[str, Any]


class ComServer:
    """The process with the simulated library."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", SERVER]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(), text=True)
        assert self._process.stdout is not None
        started = self._process.stdout.readline()
        self.running, self.taken = bool(started), "taken" in started

    def tell(self, **command: Any) -> Answer:
        """Send a command; what the terminal has."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer: Answer = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it; afterwards the library is not registered."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


class ComTests(TestCase):
    """The service, a process with pywin32, and a COM server behind it."""

    if sys.platform != "win32":
        skip = "only on Windows: COM is a part of it"
    timeout = 280
    kept: ClassVar[list[ComServer]] = []
    """The one server; it ends with this process."""

    def setUp(self) -> None:
        """The terminal is new, and so is the service."""
        if not self.kept:
            self.kept.append(ComServer())
        self.server = self.kept[0]
        self.assertTrue(self.server.running)
        if self.server.taken:
            raise SkipTest(f"there is a real {NAME}")
        self.server.tell(begin=True)
        # How fast a machine starts a process is no promise of ours.
        self.patch(protocol, "Pace", partial(Pace, start=60.0))
        self.start()

    def start(self, wait_s: float = 40.0) -> None:
        """A service with an empty store."""
        self.store = MemoryStore()
        self.again(wait_s)

    def again(self, wait_s: float = 40.0) -> None:
        """Another service with the same store."""
        clock = ServiceClock(reactor)
        settings = Bpos1Settings(host="192.0.2.1", port=2000, wait_s=wait_s)
        row = DeviceRow(1, "id", "pos", "terminal", "bpos1", b"{}")
        self.service: TerminalService = build(row, settings, Surroundings(reactor, clock, self.store, None))

    async def pay(self, task: int = 1, label: str = "", search: int = 0, **pay: Any) -> Answer:
        """The answer to a task; a payment is over 100.00 by default."""
        if task == 1:
            pay.setdefault("sum", 100)
        body = {
            "device": "pos",
            "type": 3,
            "transaction_id": label,
            "transaction_search": search,
            "pay": {"task": task, **pay},
        }
        answer: Answer = json.loads(await self.service.perform(read_task(read_json(json.dumps(body).encode())), "en"))
        return answer

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        while not holds():
            await deferLater(reactor, 0.05)

    async def gone(self) -> None:
        """The process has ended."""
        self.service.close()
        line = self.service.driver._line
        if line is not None:
            await line.lost

    def net(self) -> list[int]:
        """The kopecks of each payment that the bank took and did not give back."""
        entries = [one for one in self.server.tell()["entries"] if one[1] == "accepted"]
        gone = {ref for kind, _, _, _, ref in entries if kind == "cancel"}
        return [kopecks for kind, _, kopecks, number, _ in entries if kind == "payment" and number not in gone]

    def told(self, what: str, answer: Answer, since: float) -> None:
        """Check nothing; for who reads the log."""
        words = f"{what}: res {answer['res']}, res_action {answer['res_action']}, {time.monotonic() - since:.1f} s"
        self.service.log.info("{words}", words=words)

    async def timed(self, what: str, res: int, action: int, due: Coroutine[Any, Any, Answer]) -> Answer:
        """The answer of ``due``, which is this one."""
        since = time.monotonic()
        answer = await due
        self.told(what, answer, since)
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), f"{what}: {answer}")
        return answer

    def run_it(self, work: Coroutine[Any, Any, None]) -> Deferred[None]:
        """Do ``work``, and see that no process is left."""

        async def whole() -> None:
            try:
                await work
            finally:
                await self.gone()

        done: Deferred[None] = Deferred.fromCoroutine(whole())
        return done

    def test_tasks(self) -> Deferred[None]:
        """Every task goes through COM and comes back with its numbers, its card and its Ukrainian slip."""

        async def work() -> None:
            self.server.tell(duration=0.3)
            await self.store.open()
            paid = (await self.timed("payment", 0, 0, self.pay(sum=125.5)))["info"]
            self.assertEqual((paid["sum"], paid["cardmask"]), (125.5, "516875******7414"))
            self.assertIn("ОПЛАТА", paid["sliptxt"])
            await self.timed("refund", 0, 0, self.pay(2, sum=25.5, refundid=paid["refundid"]))
            other = (await self.timed("service", 0, 0, self.pay(5, sum=30, srvnum="109", param="1/5")))["info"]
            await self.timed("cancel", 0, 0, self.pay(3, cancelid=other["cancelid"]))
            await self.timed("discount card", 0, 0, self.pay(8))
            self.server.tell(stops=True)
            read = await self.timed("card first", 0, 0, self.pay(6, sum=50))
            self.assertTrue(read["info"]["cardmask"])
            last = await self.timed("and then the sum", 0, 0, self.pay(7, sum=40))
            self.assertEqual(last["info"]["sum"], 40.0)
            self.server.tell(stops=False)
            self.assertEqual((await self.service.serve("echo"))["restxt"], "OK")
            await self.timed("totals", 0, 0, self.pay(10))
            report = await self.timed("general report", 0, 0, self.pay(11))
            self.assertIn("ЗВІРКА", report["info"]["sliptxt"])
            self.assertEqual(self.net(), [12_550, 4000])

        return self.run_it(work())

    def test_refusals_and_losses(self) -> Deferred[None]:
        """Refusals have their codes; a lost request is 5014, a lost approval is found, a lost Confirm too."""

        async def work() -> None:
            await self.store.open()
            await self.timed("first", 0, 0, self.pay(sum=1))
            self.server.tell(rules=[{"on": "payment", "then": "refuse", "code": "51"}])
            await self.timed("refused", 5018, 3, self.pay())
            for then, res, action in (("lost_before", 5014, 1), ("lost_after", 0, 0)):
                self.server.tell(rules=[{"on": "payment", "then": then}])
                await self.timed(then, res, action, self.pay(sum=2))
            self.server.tell(confirming="lost_before")
            await self.timed("Confirm lost", 0, 0, self.pay(sum=3))
            self.assertEqual(self.net(), [100, 200, 300])

        return self.run_it(work())

    def test_process_dies(self) -> Deferred[None]:
        """The process is killed while the bank is asked: another one finds the approval and confirms it."""

        async def work() -> None:
            await self.store.open()
            self.server.tell(duration=3.0)
            due = Deferred.fromCoroutine(self.timed("process killed", 0, 0, self.pay()))
            await self.until(lambda: self.service.progress.state == "bank")
            self.service.driver._line.transport.abortConnection()
            await due
            self.assertEqual(self.net(), [10_000])

        return self.run_it(work())

    async def killed(self, at_once: bool) -> Answer:
        """The answer to the repeat of a payment whose service was killed when it was about to confirm it."""
        self.start()
        await self.store.open()
        self.server.tell(at_once=at_once)
        label, driver = str(uuid4()), self.service.driver
        confirming: Deferred[None] = Deferred()
        due = Deferred.fromCoroutine(self.pay(label=label, sum=5))
        due.addErrback(lambda _: None)
        await self.until(lambda: driver._line is not None and driver._line.working)
        line = driver._line
        call = line.call

        def dying(name: str, *given: Any, **ways: Any) -> Any:
            if name != "Confirm":
                return call(name, *given, **ways)
            line.transport.abortConnection()
            confirming.callback(None)
            return Deferred()

        line.call = dying
        await confirming
        await line.lost
        self.again()
        return await self.pay(1, label, 2, sum=5)

    def test_service_dies(self) -> Deferred[None]:
        """The service is killed between approval and Confirm: the next one finds out, and nothing is taken twice."""

        async def work() -> None:
            await self.timed("service killed, cancelled later", 0, 0, self.killed(False))
            await self.timed("service killed, cancelled at once", 5014, 1, self.killed(True))
            self.assertEqual(self.net(), [500])

        return self.run_it(work())

    def test_library_hangs(self) -> Deferred[None]:
        """A call that does not come back: the process is killed after ten seconds, and the journal is asked."""

        async def work() -> None:
            await self.store.open()
            self.server.tell(hangs="Purchase")
            await self.timed("Purchase hangs", 5014, 1, self.pay())
            self.assertEqual(self.net(), [])

        return self.run_it(work())

    def test_unregistered(self) -> Deferred[None]:
        """Without the library the caller hears what to do."""

        async def work() -> None:
            await self.store.open()
            self.kept.remove(self.server)
            self.server.close()
            answer = await self.timed("unregistered", 430, 3, self.pay())
            self.assertIn(NO_LIBRARY[UNREGISTERED].en, answer["errortxt"])
            with self.assertRaises(Refused):
                await self.service.check()

        return self.run_it(work())
