"""The client with the real service in memory: whatever the connection does, a receipt or a payment happens once."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from unittest import SkipTest

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone, ConnectionRefusedError
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.client import (
    LONGEST_PAUSE,
    PATIENCE,
    PRINTER_WAIT,
    Answer,
    Client,
    ClientError,
    Refused,
    TagReused,
    Unknown,
    _decode,
    card,
    cash,
    paid,
    row,
    total,
)
from tests.crash.kill_clients import differences, rounds
from tests.example_day import ExampleCase
from tests.specification import promises
from tests.web_case import Connection

T = TypeVar("T")
COFFEE = row("Кава", 125.5, code="1", taxgrp=1)
KEY = "4c1a7d0e-5b7e-5a53-8d6c-0a1f2b3c4d5e"
OTHER_KEY = "9e2b1f7a-0c4d-5e6f-8a9b-1c2d3e4f5a6b"

REFUSED, LOST, SILENT, GATEWAY = "refused", "lost", "silent", "gateway"
"""What a connection can do: refuse; break after the request; stay silent after it; return a proxy's answer."""


@dataclass
class Response:
    """The interface of treq."""

    code: int
    body: bytes

    def content(self) -> Deferred[bytes]:
        """The body."""
        return succeed(self.body)


class Line:
    """The connection from a client to the service in memory, with chosen faults."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self.faults: list[str] = []
        """The faults of the next requests; none when it is empty."""
        self.always = ""
        self.asked: list[Any] = []
        self._open: list[tuple[Connection, Deferred[Any], str]] = []

    def request(self, method: str, url: str, *, headers: Any, data: bytes) -> Deferred[Any]:
        """As treq's."""
        fault = self.faults.pop(0) if self.faults else self.always
        path = url.removeprefix("http://till")
        self.asked.append((path, json.loads(data)))
        if fault == REFUSED:
            return fail(ConnectionRefusedError())
        if fault == GATEWAY:
            return succeed(Response(502, b"<html>no service</html>"))
        connection = self._connect()
        connection.ask(method, path, data, [(name, value[0]) for name, value in headers.items()])
        due: Deferred[Any] = Deferred()
        self._open.append((connection, due, fault))
        return due

    def pump(self) -> None:
        """Deliver answers."""
        for entry in list(self._open):
            connection, due, fault = entry
            answers = connection.answers()
            if not answers:
                continue
            self._open.remove(entry)
            if due.called or fault == SILENT:
                continue
            if fault == LOST:
                due.errback(ConnectionDone())
            else:
                due.callback(Response(answers[0].status, answers[0].body))


class ClientCase(ExampleCase):
    """A client of a training service with an open shift."""

    def setUp(self) -> None:
        """A service, a connection, a client."""
        super().setUp()
        self.begun: list[Deferred[Any]] = []
        self.line = Line(self.connect)
        self.client = Client("http://till/", "till 1", http=self.line, clock=self.shop.clock)
        self.do(self.client.open_shift("test", "Олена"))
        self.line.asked.clear()

    def tearDown(self) -> None:
        """Let every call end: a call dropped in the middle would release its device at any later time."""
        for due in self.begun:
            for _ in range(20_000):
                self.line.pump()
                if due.called:
                    break
                self.shop.clock.advance(0.05)
            due.addErrback(lambda _: None)

    def begin(self, call: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Begin a call."""
        due = Deferred.fromCoroutine(call)
        self.begun.append(due)
        return due

    def do(self, call: Coroutine[Any, Any, T], step: float = 0.05) -> T:
        """The result of a call, however long it takes."""
        due = self.begin(call)
        for _ in range(20_000):
            self.line.pump()
            if due.called:
                return self.successResultOf(due) if not _failed(due) else self.raised(due)
            self.shop.clock.advance(step)
        raise AssertionError("the call does not end")

    def raised(self, due: Deferred[T]) -> T:
        """Raise the exception of a call."""
        self.failureResultOf(due).raiseException()
        raise AssertionError

    def error(self, call: Coroutine[Any, Any, Any], kind: type[ClientError], step: float = 0.05) -> Any:
        """The exception that a call ends with."""
        return self.assertRaises(kind, self.do, call, step)

    def sell(self, tag: str = "sale-1", **more: Any) -> Coroutine[Any, Any, Answer]:
        """Sell a coffee."""
        return self.client.sell("test", [COFFEE], [cash(200)], tag=tag, **more)

    @property
    def sales(self) -> int:
        """Sales that the tax service has."""
        return len(self.shop.ledger(kind="sale"))

    @property
    def payments(self) -> int:
        """The bank's payments without the cancelled ones."""
        return len(self.shop.ledger("pos", kind="payment"))

    @property
    def tasks(self) -> list[Any]:
        """The numbers of the tasks that were sent."""
        return [(body.get("fiscal") or body.get("pay") or {}).get("task") for _, body in self.line.asked]


def _failed(due: Deferred[Any]) -> bool:
    from twisted.python.failure import Failure

    return isinstance(due.result, Failure)


class SellTests(ClientCase):
    """One sale."""

    def test_sold(self) -> None:
        """The answer has the fiscal number and the change; the client calculated the sum of the rows."""
        sold = self.do(self.sell())
        self.assertEqual((sold.res, sold.repeated, sold.tag), (0, False, "sale-1"))
        self.assertEqual(sold.fiscal_number, "TEST_400000000100000002")
        self.assertEqual(sold.info["printinfo"]["change"], Decimal("74.5"))
        [(path, body)] = self.line.asked
        self.assertEqual((path, body["fiscal"]["receipt"]["sum"], body["source"]), ("/dm/execute", 125.5, "till 1"))

    def test_key_of_ours(self) -> None:
        """A sale without a key gets one, and all of its attempts have the same."""
        self.line.faults = [LOST, LOST]
        sold = self.do(self.client.sell("test", [COFFEE], [cash(200)]))
        self.assertEqual({body["tag"] for _, body in self.line.asked}, {sold.tag})
        self.assertEqual((len(self.line.asked), self.sales), (3, 1))

    @promises("3.2.2.4", "3.3.2.2")
    def test_every_fault_of_the_line(self) -> None:
        """Whatever the connection does, also twice in a row, the sale is made once."""
        faults = (REFUSED, LOST, SILENT, GATEWAY)
        for first in faults:
            for second in ("", *faults):
                tag = f"sale-{first}-{second}"
                before = self.sales
                self.line.faults = [fault for fault in (first, second) if fault]
                sold = self.do(self.sell(tag), step=0.5)
                self.assertEqual((sold.res, self.sales), (0, before + 1), tag)
                self.assertEqual(sold.repeated, bool({first, second} & {LOST, SILENT}), tag)

    @promises("4.7.clients.1")
    def test_silence(self) -> None:
        """A register has 20 seconds to answer; then the request is repeated."""
        self.line.faults = [SILENT]
        due = self.begin(self.sell())
        self.shop.clock.advance(19.5)
        self.shop.clock.advance(0.499)
        self.assertEqual(len(self.line.asked), 1)
        self.shop.clock.advance(0.002)
        self.shop.clock.advance(0.3)
        self.assertEqual(len(self.line.asked), 2)
        self.line.pump()
        self.assertTrue(self.successResultOf(due).repeated)

    @promises("2.3.resp_ver.2")
    def test_without_resp_ver(self) -> None:
        """An answer without `resp_ver` is as good as one that has it."""
        self.patch(Response, "content", lambda came: succeed(came.body.replace(b'"resp_ver":4,', b"")))
        sold = self.do(self.sell())
        self.assertEqual((sold.res, "resp_ver" in sold.members, len(self.line.asked)), (0, False, 1))

    @promises("3.2.2.3")
    def test_tax_service_lost_it(self) -> None:
        """When the outcome is unknown (`res_action` 2), a repeat finds it out; the tax service has the sale once."""
        # As many questions as there is time for.
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 18})
        self.assertEqual(self.do(self.sell()).res, 0)
        self.assertEqual((self.sales, self.tasks), (1, [1, 1]))

    @promises("3.2.1.3")
    def test_nothing_happened(self) -> None:
        """A failure without effect (`res_action` 1) is repeated with the same tag."""
        self.shop.settings(offline_allowed=False)
        self.shop.scenario({"on": "sale", "then": "unreachable"})
        self.assertEqual(self.do(self.sell()).repeated, False)
        self.assertEqual((self.sales, len({body["tag"] for _, body in self.line.asked})), (1, 1))

    def test_busy(self) -> None:
        """The client waits for a busy register (1105)."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 3000})
        first = self.begin(self.sell("sale-1"))
        self.assertEqual(self.do(self.sell("sale-2")).res, 0)
        self.line.pump()
        self.assertEqual((self.successResultOf(first).res, self.sales), (0, 2))
        self.assertGreater(len(self.line.asked), 3)

    @promises("3.2.3.5")
    def test_refused(self) -> None:
        """A request that must be corrected (`res_action` 3) fails at once, after one attempt."""
        error = self.error(self.client.sell("test", [row("", 10, taxgrp=1)], [cash(10)]), Refused)
        self.assertEqual((error.answer.res, len(self.line.asked)), (1103, 1))

    def test_gives_up(self) -> None:
        """Without a clear answer for long enough, the error has the key; a later call with it finds the receipt."""
        self.line.always = LOST
        error = self.error(self.sell(), Unknown, step=1)
        self.assertEqual((error.key, self.sales), ("sale-1", 1))
        self.line.always = ""
        self.assertTrue(self.do(self.sell()).repeated)
        self.assertEqual(self.sales, 1)

    def test_gives_up_without_effect(self) -> None:
        """When every attempt was a failure without effect, the call is refused: nothing is in doubt."""
        self.shop.scenario({"on": "sale", "then": "unreachable", "times": 0}, {"on": "probe", "then": "accept"})
        self.shop.settings(offline_allowed=False)
        began = self.shop.clock.seconds()
        error = self.error(self.sell(), Refused, step=1)
        self.assertEqual((error.answer.action, self.sales), (1, 0))
        spent = self.shop.clock.seconds() - began
        self.assertTrue(PATIENCE - 2 * LONGEST_PAUSE <= spent <= PATIENCE + 2, spent)

    def test_busy_after_a_lost_answer(self) -> None:
        """A busy register says nothing about the attempt before: giving up then is not a refusal."""
        client = Client("http://till", http=self.line, clock=self.shop.clock, patience=10)
        self.line.faults = [LOST]
        due = self.begin(client.sell("test", [COFFEE], [cash(200)], tag="sale-1"))
        self.line.pump()
        turns = self.shop.core.devices.by_name("test").turns
        self.begin(turns.take())
        self.addCleanup(turns.give_back)
        for _ in range(200):
            self.shop.clock.advance(0.1)
            self.line.pump()
        self.assertIn("1105", self.failureResultOf(due, Unknown).value.why)

    def test_tag_reused(self) -> None:
        """A tag that was used for another receipt is reported to the program: nothing was sold."""
        self.do(self.sell())
        other = self.client.sell("test", [row("Чай", 10, taxgrp=1)], [cash(10)], tag="sale-1")
        error = self.error(other, TagReused)
        self.assertEqual((error.answer.fiscal_number, self.sales), ("TEST_400000000100000002", 1))

    def test_printed(self) -> None:
        """A sale with paper uses the path that prints."""
        self.assertEqual(self.do(self.sell(printed=True)).info["isprint"], 1)
        self.assertEqual(self.line.asked[0][0], "/dm/execute-prn")

    def test_batch(self) -> None:
        """A sale with card, receipt and paper in one request survives a lost answer as one operation."""
        self.line.faults = [LOST]
        sold = self.do(self.client.sell("test", [COFFEE], [card(125.5)], tag="sale-1", batch=True))
        self.assertEqual((sold.info["ispay"], sold.repeated), (1, True))
        self.assertEqual((self.sales, self.payments), (1, 1))

    def test_hardened(self) -> None:
        """A caller that is not authorised gets the error at once."""

        class Door:
            def request(self, *_: Any, **__: Any) -> Deferred[Any]:
                return succeed(Response(401, b'{"res": 2000, "errortxt": "a valid x-api-key is required"}'))

        client = Client("http://till", http=Door(), clock=self.shop.clock)
        self.assertEqual(self.error(client.look_up("test", "sale-1"), Refused).answer.res, 2000)


class OtherTaskTests(ClientCase):
    """Look-up, return, shift, print."""

    @promises("3.3.3.1")
    def test_look_up(self) -> None:
        """An unknown tag is `None`, also over a connection that breaks; a known one is its receipt."""
        self.line.faults = [LOST]
        self.assertIsNone(self.do(self.client.look_up("test", "sale-1")))
        self.do(self.sell())
        found = self.do(self.client.look_up("test", "sale-1"))
        assert found is not None
        self.assertEqual((found.repeated, found.fiscal_number), (True, "TEST_400000000100000002"))

    def test_return(self) -> None:
        """A return is made once."""
        self.do(self.sell())
        self.line.faults = [LOST]
        given = self.do(self.client.give_back("test", [COFFEE], [cash(125.5)], tag="return-1"))
        self.assertEqual((given.repeated, len(self.shop.ledger(kind="return"))), (True, 1))

    def test_shift(self) -> None:
        """An open shift is not an error; closing it survives a lost answer."""
        self.assertIsNone(self.do(self.client.open_shift("test")))
        self.line.faults = [LOST]
        self.assertEqual(self.do(self.client.close_shift("test", tag="z-1")).res, 0)
        self.assertEqual(len(self.shop.ledger(kind="z")), 1)

    def test_other_error_of_opening(self) -> None:
        """Any other refusal to open the shift is reported."""
        self.assertEqual(self.error(self.client.open_shift("nobody"), Refused).answer.res, 1091)

    @promises("4.7.clients.2")
    def test_print(self) -> None:
        """Paper is requested once: a document that may be printed already is not printed again automatically."""
        self.assertEqual(self.do(self.client.print_lines("prn", [{"t": "Дякуємо"}])).info["isprint"], 1)
        self.line.faults = [LOST]
        self.error(self.client.print_lines("prn", [{"t": "Дякуємо"}]), Unknown)
        self.assertEqual(len(self.line.asked), 2)
        self.assertEqual(self.error(self.client.print_lines("prn", []), Refused).answer.res, 2000)
        self.assertEqual(PRINTER_WAIT, 6.0)


class PayTests(ClientCase):
    """One payment."""

    def pay(self, key: str = KEY) -> Coroutine[Any, Any, Answer]:
        """Pay 125.50."""
        return self.client.pay("pos", Decimal("125.50"), transaction_id=key)

    def fault(self, *rules: dict[str, Any]) -> None:
        """Set what the terminal does next."""
        self.shop.scenario(*rules, device="pos")

    async def in_doubt(self, times: int) -> Answer:
        """The terminal accepts a payment, its answer is lost, and ``times`` queries do not find the payment."""
        self.fault({"on": "payment", "then": "lost_after", "delay_ms": 3000})
        self.shop.clock.callLater(2, self.fault, {"on": "probe", "then": "unreachable", "times": times})
        return await self.pay()

    def test_paid(self) -> None:
        """The answer has the data for a receipt and a refund."""
        answer = self.do(self.pay())
        self.assertEqual((answer.info["sum"], answer.transaction_id), (Decimal("125.5"), KEY))
        sold = self.do(self.client.sell("test", [COFFEE], [paid(answer)], tag="sale-1"))
        self.assertEqual(sold.info["printinfo"]["pays"][0]["rrn"], answer.info["refundid"])
        refund = self.do(self.client.refund("pos", 125.5, answer.info["refundid"]))
        self.assertEqual(refund.info["sum"], Decimal("125.5"))

    def test_every_fault_of_the_line(self) -> None:
        """After each fault the service is queried about the outcome (task 17), and money is taken once."""
        for number, first in enumerate((REFUSED, LOST, GATEWAY, SILENT)):
            before = self.payments
            self.line.asked.clear()
            self.line.faults = [first]
            answer = self.do(self.pay(KEY[:-1] + str(number)), step=0.5)
            self.assertEqual((answer.res, self.payments), (0, before + 1), first)
            self.assertEqual(self.tasks[:2], [1, 17], first)
            # If the request was not delivered, the query finds nothing, and the payment is sent again.
            self.assertEqual(self.tasks[2:], [1] if first in (REFUSED, GATEWAY) else [], first)

    @promises("4.7.clients.3")
    def test_terminal_has_its_time(self) -> None:
        """A terminal has 310 seconds to answer."""
        self.line.faults = [SILENT]
        self.begin(self.pay())
        self.shop.clock.advance(309.5)
        self.shop.clock.advance(0.499)
        self.assertEqual(self.tasks, [1])
        self.shop.clock.advance(0.002)
        self.assertEqual(self.tasks, [1, 17])

    def test_lost_behind_the_terminal(self) -> None:
        """When the terminal's own answer is lost, the service finds out, and the caller waits for that."""
        due = self.in_doubt(times=6)
        self.assertEqual(self.do(due).info["sum"], Decimal("125.5"))
        self.assertEqual(self.payments, 1)

    def test_never_taken(self) -> None:
        """A payment that the terminal certainly did not take (5014) is repeated; the same key finds it later."""
        self.fault({"on": "payment", "then": "lost_before"})
        answer = self.do(self.pay())
        self.assertNotEqual(answer.transaction_id, KEY)
        again = self.do(self.pay())
        self.assertEqual((again.repeated, again.transaction_id), (True, answer.transaction_id))
        self.assertEqual(self.payments, 1)

    def test_busy(self) -> None:
        """A payment that met a busy terminal (5022, stored) gets the next label; the same key finds it later."""
        self.fault({"on": "payment", "then": "refuse", "code": "busy"})
        answer = self.do(self.pay())
        self.assertNotEqual(answer.transaction_id, KEY)
        again = self.do(self.pay())
        self.assertEqual((again.repeated, again.transaction_id), (True, answer.transaction_id))
        self.assertEqual((self.payments, self.tasks), (1, [1, 17, 1, 1, 17, 1]))

    def test_busy_with_a_doubt(self) -> None:
        """While another payment at the terminal is in doubt, 5022 is not stored: the label stays the same."""
        self.error(self.in_doubt(times=0), Unknown)
        due = self.begin(self.client.pay("pos", Decimal(5), transaction_id=OTHER_KEY))
        for _ in range(200):
            self.line.pump()
            self.shop.clock.advance(0.05)
        self.assertEqual(self.payments, 1)
        self.fault()
        for _ in range(400):
            self.line.pump()
            self.shop.clock.advance(0.05)
        self.assertEqual(self.successResultOf(due).transaction_id, OTHER_KEY)
        self.assertEqual(self.payments, 2)

    def test_declined(self) -> None:
        """A decline of the bank is reported at once: the customer may choose another card."""
        self.fault({"on": "payment", "then": "refuse", "code": "5018"})
        error = self.error(self.pay(), Refused)
        self.assertEqual((error.answer.action, self.payments, self.tasks), (3, 0, [1]))

    def test_unreachable(self) -> None:
        """A terminal without a connection is reported at once: the cashier may have to plug it in."""
        self.fault({"on": "payment", "then": "unreachable"})
        self.assertEqual(self.error(self.pay(), Refused).answer.action, 1)

    def test_nobody_knows(self) -> None:
        """When the terminal does not know either, the error has the key, and no more money is taken."""
        error = self.error(self.in_doubt(times=0), Unknown)
        self.assertEqual((error.key, self.payments), (KEY, 1))
        self.fault()
        self.assertEqual(self.do(self.pay(), step=0.5).info["sum"], Decimal("125.5"))
        self.assertEqual(self.payments, 1)

    def test_two_at_once(self) -> None:
        """Two calls with one key at the same time are one payment."""
        first = self.begin(self.pay())
        self.assertEqual(self.do(self.pay()).res, 0)
        for _ in range(400):
            self.line.pump()
            self.shop.clock.advance(0.05)
        self.assertEqual((self.successResultOf(first).res, self.payments), (0, 1))

    def test_look_up(self) -> None:
        """A payment is looked up by its key; an unknown key is `None`."""
        self.assertIsNone(self.do(self.client.look_up_payment("pos", KEY)))
        self.do(self.pay())
        found = self.do(self.client.look_up_payment("pos", KEY))
        assert found is not None
        self.assertEqual(found.info["sum"], Decimal("125.5"))

    def test_cancel(self) -> None:
        """An operation is cancelled once, whatever the connection does."""
        answer = self.do(self.pay())
        self.line.faults = [LOST]
        self.do(self.client.cancel("pos", answer.info["cancelid"]))
        self.assertEqual(len(self.shop.ledger("pos", kind="cancel")), 1)


class AnswerTests(SynchronousTestCase):
    """How the client reads an answer."""

    @promises("2.3.fraction.2")
    def test_put_up_with(self) -> None:
        """Whole numbers with a fraction of zero are whole numbers, and `resp_ver` may be missing."""
        answer = Answer(_decode(b'{"ver":6,"res":0.0,"res_action":0.00,"task_status":2.0,"info":{"docno":7.0}}'))
        self.assertEqual((answer.res, answer.action, answer.repeated, answer.info["docno"]), (0, 0, True, 7))
        self.assertEqual(Answer(_decode(b'{"res":1105.0,"res_action":1.0}')).res, 1105)


class TotalTests(SynchronousTestCase):
    """The sums of rows."""

    def test_totals(self) -> None:
        """Prices times quantities, halves up, minus discounts in hryvnias or percent; no binary fractions."""
        for rows, expected in (
            ([], "0"),
            ([row("a", 0.1, 3)], "0.30"),
            ([row("a", "33.35", "0.125")], "4.17"),
            ([row("a", 100, disc=10)], "90.00"),
            ([row("a", 100, disc=10, disc_type=1), row("b", "0.05", 1)], "90.05"),
            ([row("a", 100, disc=-5)], "105.00"),
            ([row("a", 10, 3, cost="29.99")], "29.99"),
            ([row("a", 100, discounts=[{"disc": 1}, {"disc": 5, "disc_type": 1}])], "94.00"),
        ):
            self.assertEqual(total(rows), Decimal(expected), rows)

    def test_taken_by_the_service(self) -> None:
        """Numbers are sent as numbers, spelled as they were given."""
        self.assertEqual(dict(cash("200.00")), {"type": 0, "sum": Decimal("200.00")})
        self.assertEqual(row("a", 0.1)["price"], Decimal("0.1"))


class KilledTests(TestCase):
    """The real service, killed under its clients (`tests.crash.kill_clients`)."""

    timeout = 300

    def setUp(self) -> None:
        """A folder for the service."""
        self.folder = Path(tempfile.mkdtemp(prefix="dmtwisted-clients-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    async def play(self, count: int) -> None:
        """Kill the service ``count`` times."""
        from twisted.internet import reactor

        done, wrong = await rounds(reactor, self.folder, count, seed=11)
        self.assertEqual(wrong, [])
        self.assertGreater(len(done.sold), count)
        self.assertGreater(len(done.paid), 0)

    async def test_killed(self) -> None:
        """Each sale is in the tax service's ledger once, each payment in the bank's, and each call got an answer."""
        await self.play(2)

    async def test_killed_often(self) -> None:
        """The same with 40 kills."""
        if not os.environ.get("DMTWISTED_SLOW"):
            raise SkipTest("set DMTWISTED_SLOW=1 to kill the real service")
        await self.play(40)

    test_killed_often.timeout = 600  # type: ignore[attr-defined]


class JudgeTests(SynchronousTestCase):
    """The comparison after the kills finds every fault."""

    def test_differences(self) -> None:
        """Equal records have no findings; a lost, doubled or unknown entry is reported."""
        book = Counter({("TEST_1", 100): 1})
        self.assertEqual(differences("till", book, book), [])
        for taken, answered in (({}, book), (book, {}), ({("TEST_1", 100): 2}, book), ({("TEST_1", 200): 1}, book)):
            self.assertNotEqual(differences("till", Counter(taken), Counter(answered)), [])
