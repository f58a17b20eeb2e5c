"""A desk with one simulated terminal: the real service and driver over a line in memory, and what each side believes.

`FaultPromises` holds what has to be true of every driver whose terminal can be asked what became of an operation.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from random import Random
from typing import Any, cast
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.requests import read_json, read_task
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import OperationQuery, OperationRow, State, StoreFailed
from dmtwisted.terminals.service import TerminalService
from protocols.simulators.terminal import Card, Terminal
from tests.canaries import Watch, seen
from tests.memory_line import STEP, MemoryEndpoint
from tests.shop import MORNING
from tests.terminal_matrix import shows

WAIT = 20.0
"""Seconds that an operation may take here."""

Answer = dict[str, Any]

PAYMENTS = 250
"""Sales of the chaos."""

VERBS = ("reserve", "note", "conclude", "latest", "unresolved")
"""What a payment asks of the store."""

TROUBLES: tuple[tuple[str, str, str], ...] = (
    *(("payment", then, "") for then in ("lost_before", "lost_after", "silent", "garbage", "unreachable")),
    *(("payment", "refuse", code) for code in ("05", "51", "busy", "cancelled", "no_link", "journal_full")),
    *(("probe", then, "") for then in ("lost_before", "silent", "garbage", "refuse")),
    ("probe", "refuse", "busy"),
)
"""What may go wrong at the terminal's end."""


class Banner(Protocol):
    """Something else that listens on the terminal's port."""

    def connectionMade(self) -> None:
        """Say what it is."""
        assert self.transport is not None
        self.transport.write(b"SSH-2.0-OpenSSH_9.6\r\n")


class DeskCase(SynchronousTestCase):
    """A desk; `build` says which driver and which simulator stand on it."""

    unreached: int
    """The code of a terminal that is not there."""
    return_lost_answer = False
    """The setting of that name."""

    def setUp(self) -> None:
        """The terminal is on, and nothing was paid yet."""
        self.clock = Clock()
        self.clock.advance(MORNING)
        self.store = MemoryStore()
        self.done(self.store.open())
        self.terminal = Terminal(self.clock, duration=1.0, hold=30.0)
        self.far: Any = None
        """Accepts connections; `None` refuses them."""
        self.begin()

    @abstractmethod
    def device(self) -> Any:
        """The simulator in front of `terminal`."""

    @abstractmethod
    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Any:
        """The driver under test."""

    def begin(self) -> None:
        """The service starts."""
        if self.far is None:
            self.far = self.device()
        self.endpoint = MemoryEndpoint(self.clock, self.answer_call)
        clock = ServiceClock(self.clock)
        self.service = TerminalService(1, "pos", self.store, self.driver(self.endpoint, clock), clock)
        self.service.driver.return_lost_answer = self.return_lost_answer

    def answer_call(self) -> IProtocol | None:
        """Accepts a connection."""
        if self.far is None:
            return None
        protocol: IProtocol | None = self.far.buildProtocol(None)
        return protocol

    def restart(self) -> None:
        """The service is killed and starts again; the terminal sees its line break."""
        self.endpoint.hang_up()
        self.endpoint.accept = lambda: None
        self.service.close()
        self.endpoint.flush()
        self.begin()
        self.wait(Deferred.fromCoroutine(self.quietly(self.service)))

    async def quietly(self, service: TerminalService) -> None:
        """Settle what is open, as the dispatcher does at start."""
        from dmtwisted.results import Refused

        try:
            await service.resolve()
        except Refused:
            return

    # Asking

    def asked(self, task: int, label: str = "", search: int = 0, **pay: Any) -> Deferred[bytes]:
        """The answer that is due for a task."""
        body = {
            "device": "pos",
            "type": 3,
            "source": "till",
            "transaction_id": label,
            "transaction_search": search,
            "pay": {"task": task, **pay},
        }
        request = read_task(read_json(json.dumps(body).encode()))
        return Deferred.fromCoroutine(self.service.perform(request, "en"))

    def pay(self, task: int = 1, label: str = "", search: int = 0, **pay: Any) -> Answer:
        """The answer to a task, however long it takes; a payment is over 100.00 by default."""
        if task == 1:
            pay.setdefault("sum", 100)
        answer: Answer = self.wait(self.asked(task, label, search, **pay))
        return answer

    def wait(self, due: Deferred[Any]) -> Any:
        """What comes of ``due``, decoded when it is an answer."""
        result = self.successResultOf(self.endpoint.wait(due))
        return json.loads(result) if isinstance(result, bytes) else result

    def done(self, work: Any) -> Any:
        """What comes of ``work`` at once."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def advance_until(self, state: str) -> None:
        """Let time pass until the terminal is in ``state``."""
        for _ in range(400):
            if str(self.terminal.state) == state:
                return
            self.endpoint.advance(STEP)
        self.fail(f"never {state}: {self.terminal.state}")

    def rule(self, on: str, then: str, code: str = "", times: int = 1, delay_ms: int = 0) -> None:
        """What the terminal does next."""
        rules = self.terminal.scenario.document()["rules"]
        rule = {"on": on, "then": then, "code": code, "times": times, "delay_ms": delay_ms}
        self.terminal.scenario.replace({"rules": [*rules, rule]})

    def no_rules(self) -> None:
        """The terminal does as it should."""
        self.terminal.scenario.replace({"rules": []})

    # What each side believes

    def rows(self) -> list[OperationRow]:
        """The journal, oldest first."""
        found = self.done(self.store.find_operations(OperationQuery(limit=10_000)))
        return list(reversed(found.operations))

    def states(self) -> list[str]:
        """The state of each operation of the journal."""
        return [str(row.state) for row in self.rows()]

    def taken(self) -> list[int]:
        """The kopecks of each payment that the bank took."""
        entries = self.terminal.entries()
        return [entry.sum for entry in entries if (entry.kind, entry.status) == ("payment", "accepted")]

    def assertAnswer(self, answer: Answer, res: int, action: int) -> None:
        """``answer`` has this code and this advice about a repeat."""
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), answer)


class CardPromises(DeskCase):
    """A card is read, and the cashier goes on or not (tasks 6 and 7)."""

    def read(self, label: str = "") -> Answer:
        """The answer to task 6 over 100.00."""
        answer = self.pay(6, label, sum=100)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual(answer["info"]["cardmask"], self.card)
        return answer

    card = "516875******7414"

    def test_goes_on(self) -> None:
        """Task 7 lets the payment go on; each of both tasks is found by its own label."""
        first, second = str(uuid4()), str(uuid4())
        self.read(first)
        self.assertEqual(self.taken(), [])
        answer = self.pay(7, second)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["task"], answer["transaction_id"], answer["info"]["sum"]), (7, second, 100.0))
        self.assertEqual(self.taken(), [10_000])
        self.assertEqual(self.pay(17, second)["info"], answer["info"])
        self.assertEqual(self.pay(17, first)["info"]["refundid"], "")
        self.assertEqual(self.states(), ["done", "done"])

    def test_another_sum(self) -> None:
        """Task 7 may name another sum, and that is what is taken."""
        self.read()
        answer = self.pay(7, sum=80, oper_action=1)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], "sum_asked" in answer["info"]), (80.0, False))
        self.assertEqual(self.taken(), [8000])

    def test_given_up(self) -> None:
        """Task 7 with `oper_action` 0 gives the payment up: nothing is taken."""
        label = str(uuid4())
        self.read()
        self.assertAnswer(self.pay(7, label, oper_action=0), 5023, 3)
        self.assertEqual((self.taken(), self.states()), ([], ["done", "refused"]))
        self.assertAnswer(self.pay(17, label), 5023, 3)

    def test_only_one(self) -> None:
        """Between both tasks every other one is refused with 5073, and its label is not taken."""
        label = str(uuid4())
        self.read(label)
        for task in (1, 6, 10, 11):
            self.assertAnswer(self.pay(task, sum=5), 5073, 3)
        self.assertAnswer(self.pay(17, label), 5073, 3)
        self.assertAnswer(self.pay(7, label, search=2), 0, 0)
        self.assertEqual(self.taken(), [10_000])

    def test_nothing_to_finish(self) -> None:
        """Task 7 without a task 6, or after its end, is 5074."""
        self.assertAnswer(self.pay(7), 5074, 3)
        self.read()
        self.assertAnswer(self.pay(7), 0, 0)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertEqual(self.taken(), [10_000])

    def test_refused_before_the_card(self) -> None:
        """A payment that ends without stopping is task 6's own outcome, and nothing waits."""
        self.rule("payment", "refuse", "cancelled")
        self.assertAnswer(self.pay(6, sum=100), 5001, 3)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(1), 0, 0)

    def test_restart_at_the_card(self) -> None:
        """A service that dies between both tasks finds out what the terminal made of the payment."""
        label = str(uuid4())
        self.read(label)
        self.restart()
        self.endpoint.advance(60)
        answer = self.pay(17, label)
        paid = int(answer["res"] == 0)
        self.assertNotEqual(answer["res_action"], 2)
        self.assertEqual(self.taken(), [10_000] * paid)
        self.assertAnswer(self.pay(7), 5074, 3)

    def test_line_breaks_at_the_card(self) -> None:
        """When the line breaks at the card, task 7 still gets the end of the payment."""
        label = str(uuid4())
        self.read()
        self.endpoint.hang_up()
        self.endpoint.advance(1)
        answer = self.pay(7, label)
        self.endpoint.advance(60)
        found = self.pay(17, label) if answer["res"] != 5074 else self.pay(17)
        self.assertNotEqual(found["res_action"], 2)
        self.assertEqual(self.taken(), [10_000] * int(found["res"] == 0))


class FaultPromises(DeskCase):
    """Promises after any fault: nothing is paid twice, and no approval is reported as a refusal."""

    seed = 20260921

    def setUp(self) -> None:
        """One payment went well before."""
        super().setUp()
        self.assertAnswer(self.pay(sum=1), 0, 0)

    def test_lost_before(self) -> None:
        """A line that breaks before the terminal took the request: asked, it reports no operation."""
        self.rule("payment", "lost_before")
        label = str(uuid4())
        answer = self.pay(label=label)
        self.assertAnswer(answer, 5014, 1)
        self.assertEqual((answer["transaction_id"], answer["info"]), (label, {}))
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    def test_lost_after(self) -> None:
        """A line that breaks after the approval: the terminal is asked, and the caller gets the approval."""
        self.rule("payment", "lost_after")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        self.assertEqual(answer["info"]["sum"], 100.0)
        self.assertEqual(answer["info"]["refundid"], self.terminal.entries()[-1].number)
        self.assertEqual((self.taken(), self.states()), ([100, 10_000], ["done", "done"]))

    def test_garbage(self) -> None:
        """An unreadable answer is a lost answer."""
        self.rule("payment", "garbage")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    @shows("rule 10")
    def test_silent(self) -> None:
        """A terminal that took a request and says nothing is waited for, and then asked."""
        self.rule("payment", "silent")
        began = self.clock.seconds()
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertLess(self.clock.seconds() - began, WAIT + 10)
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    def test_unreachable(self) -> None:
        """Without a connection nothing was sent; the refusal is stored like any other."""
        self.endpoint.hang_up()
        self.far = None
        label = str(uuid4())
        self.assertAnswer(self.pay(label=label), self.unreached, 1)
        self.assertAnswer(self.pay(17, label), self.unreached, 1)
        self.assertEqual(self.states(), ["done", "refused"])

    def test_another_protocol(self) -> None:
        """Another program on the port is recognised by its first bytes, and at once."""
        self.endpoint.hang_up()

        class Elsewhere:
            """Another service on the port."""

            def buildProtocol(self, _: object) -> Protocol:
                """One that greets."""
                return Banner()

        self.far = Elsewhere()
        began = self.clock.seconds()
        answer = self.pay()
        self.assertEqual(answer["res"], 5000)
        self.assertIn(b"SSH-2.0".hex(" "), answer["errortxt"])
        self.assertLess(self.clock.seconds() - began, 15)
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    def test_busy_with_another_till(self) -> None:
        """A terminal that is busy with another till takes nothing, and the caller may try again."""
        self.rule("payment", "refuse", "busy")
        self.assertAnswer(self.pay(), 5022, 1)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_bank_refusals(self) -> None:
        """Each code of the bank becomes its own result, and nothing was paid."""
        for code, res in (("05", 5015), ("51", 5018), ("61", 5020), ("91", 5021), ("14", 5017), ("13", 5016)):
            self.rule("payment", "refuse", code)
            self.assertEqual(self.pay()["res"], res, code)
        self.rule("payment", "refuse", "57")
        answer = self.pay()
        self.assertAnswer(answer, 5024, 3)
        self.assertIn("0057", answer["errortxt"])
        self.assertEqual(self.taken(), [100])

    def test_terminal_refusals(self) -> None:
        """A refusal of the terminal itself comes with its cause."""
        for cause, res in (
            ("cancelled", 5001),
            ("chip", 5002),
            ("no_link", 5004),
            ("no_paper", 5005),
            ("keys", 5006),
        ):
            self.rule("payment", "refuse", cause)
            self.assertEqual(self.pay()["res"], res, cause)
        self.rule("payment", "refuse", "settle_first")
        self.assertAnswer(self.pay(), 5026, 3)
        self.assertEqual(self.taken(), [100])

    def test_partial(self) -> None:
        """Less than asked is no success: 5075 with both sums, a warning, and the data for a cancel."""
        self.rule("payment", "accept", "partial:4000")
        answer = self.pay()
        self.assertAnswer(answer, 5075, 3)
        self.assertEqual((answer["info"]["sum"], answer["info"]["sum_asked"]), (40.0, 100.0))
        self.assertTrue(answer["info"]["partial"] and answer["info"]["cancelid"])
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [5075])
        self.assertIn("40.00", answer["errortxt"])
        self.assertEqual((self.taken(), self.states()[-1]), ([100, 4000], "done"))

    @shows("rule 19")
    def test_whole_card_number(self) -> None:
        """Of a whole card number only six and four digits get into answer and journal."""
        self.terminal._cards = (Card("4111111111111111", "VISA", "2911"),)
        answer = self.pay()
        self.assertEqual(answer["info"]["cardmask"], "411111******1111")
        self.assertIn("411111******1111", answer["info"]["receipt"])
        kept = self.rows()[-1]
        self.assertNotIn(b"4111111111111111", kept.request + kept.answer)

    @shows("rule 19")
    def test_card_in_a_damaged_answer(self) -> None:
        """An answer that cannot be read may hold a card: neither answer nor journal nor log shows it."""
        self.terminal._cards = (Card("4111111111111111", "VISA", "2911"),)
        watch = Watch()
        watch.begin()
        self.addCleanup(watch.end)
        self.damage = 0
        for cut in (4, 12, 40):
            self.spoil(cut)
            self.pay(sum=cut)
            self.endpoint.hang_up()
        self.assertGreater(self.damage, 0)
        self.assertEqual(watch.found, [])

    def spoil(self, cut: int) -> None:
        """Let every answer that holds the card lose ``cut`` bytes of its begin."""
        real = self.device()

        class Spoilt:
            """The same terminal on a bad line."""

            def buildProtocol(_, addr: Any) -> IProtocol | None:
                far: Any = real.buildProtocol(addr)
                connect = far.makeConnection

                def connected(transport: Any) -> None:
                    write = transport.write

                    def bad(data: bytes) -> None:
                        found = seen(data)
                        self.damage += bool(found)
                        write(data[cut:] if found else data)

                    transport.write = bad
                    connect(transport)

                far.makeConnection = connected
                return cast(IProtocol, far)

        self.far = Spoilt()

    @shows("rule 8")
    def test_interrupt_in_time(self) -> None:
        """An operation that was interrupted before the bank was asked ends as cancelled."""
        due = self.asked(1, sum=100)
        self.advance_until("waiting_card")
        self.wait(Deferred.fromCoroutine(self.service.interrupt()))
        self.assertAnswer(self.wait(due), 5023, 3)
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    def test_interrupt_too_late(self) -> None:
        """An interrupt is a wish: the approval that comes all the same is a success."""
        due = self.asked(1, sum=100)
        self.advance_until("authorising")
        wish = self.endpoint.wait(Deferred.fromCoroutine(self.service.interrupt()))
        wish.addErrback(_passed_over)
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_interrupt_before_the_request(self) -> None:
        """An interrupt while the terminal is still being reached stops the operation there."""
        due = self.asked(1, sum=100)
        self.successResultOf(Deferred.fromCoroutine(self.service.interrupt()))
        self.assertAnswer(self.wait(due), 5023, 3)
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    # In doubt

    def doubt(self, label: str = "", sum: int = 100) -> Answer:
        """The answer to a payment that was approved, whose answer was lost, at a terminal that cannot be asked."""
        self.rule("payment", "lost_after")
        due = self.asked(1, label, sum=sum)
        for _ in range(400):
            self.endpoint.advance(STEP)
            if len(self.taken()) > 1:
                break
        self.far, self._switched_off = None, self.far
        self.endpoint.hang_up()
        answer: Answer = self.wait(due)
        self.assertEqual(answer["res_action"], 2, answer)
        self.assertEqual(self.states()[-1], "unknown")
        return answer

    def switch_on(self) -> None:
        """The terminal can be reached again."""
        self.far = self._switched_off

    @shows("rule 5")
    def test_unknown(self) -> None:
        """While the end is unknown the terminal takes nothing else; then it reports it, and its approval is valid."""
        label = str(uuid4())
        first = self.doubt(label)
        self.assertIn(first["res"], (411, 1016))
        for task in (1, 2, 11):
            answer = self.pay(task, sum=5, refundid="1")
            self.assertAnswer(answer, 5022, 1)
        self.assertEqual(self.pay(17, label)["res_action"], 2)
        self.switch_on()
        again = self.pay(label=label, search=2)
        self.assertAnswer(again, 0, 0)
        self.assertEqual((again["task_status"], again["info"]["sum"]), (2, 100.0))
        self.assertAnswer(self.pay(sum=7), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000, 700])

    @shows("rule 4")
    def test_naive_repeat(self) -> None:
        """A repeat of a lost request, as if it were new, pays nothing while the end is unknown, and then is new."""
        label = str(uuid4())
        self.doubt(label)
        self.assertEqual(self.pay(label=label)["res_action"], 2)
        self.assertEqual(self.taken(), [100, 10_000])
        self.switch_on()
        again = self.pay(label=label)
        self.assertAnswer(again, 0, 0)
        self.assertEqual((again["task_status"], self.taken()), (1, [100, 10_000, 10_000]))

    def test_naive_repeat_is_answered(self) -> None:
        """With the setting, it gets the lost approval for ten minutes, and pays nothing."""
        self.return_lost_answer = True
        self.restart()
        label = str(uuid4())
        self.doubt(label)
        self.assertEqual(self.pay(label=label)["res_action"], 2)
        self.switch_on()
        self.restart()
        again = self.pay(label=label)
        self.assertAnswer(again, 0, 0)
        self.assertEqual((again["task_status"], self.taken()), (2, [100, 10_000]))
        # From here on the label is known to have been answered, and 0 means a new operation again.
        self.assertAnswer(self.pay(label=label), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000, 10_000])

    def test_repeat_of_another_sum(self) -> None:
        """The same label with another sum is no repeat: it is a new operation, once the old one is clear."""
        label = str(uuid4())
        self.doubt(label)
        self.switch_on()
        self.assertEqual(self.pay(label=label, sum=50)["info"]["sum"], 50.0)
        self.assertEqual(self.taken(), [100, 10_000, 5000])

    def test_settlement_waits_for_clarity(self) -> None:
        """A general report never runs while an operation is in doubt, and runs when that is over."""
        self.doubt()
        self.assertAnswer(self.pay(11), 5022, 1)
        self.assertNotIn("settlement", [entry.kind for entry in self.terminal.entries()])
        self.switch_on()
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertEqual([entry.kind for entry in self.terminal.entries()], ["payment", "payment", "settlement"])
        self.assertEqual(set(self.states()), {"done"})

    def test_a_person_settles(self) -> None:
        """What a person read on the slip closes an operation, and the terminal is free again."""
        self.doubt()
        self.done(self.service.settle(self.rows()[-1], True))
        self.assertEqual(self.states()[-1], "done")
        self.switch_on()
        self.assertAnswer(self.pay(sum=7), 0, 0)

    # Restarts

    def test_restart_before_the_request(self) -> None:
        """An operation of which nothing was sent is closed at the next start, whatever the terminal says."""
        self.patch(self.store, "note", _never)
        due = self.asked(1, sum=100)
        self.endpoint.advance(15)
        self.assertNoResult(due)
        self.patch(self.store, "note", MemoryStore.note.__get__(self.store))
        self.far, self._switched_off = None, self.far
        self.restart()
        self.assertEqual((self.states()[-1], self.rows()[-1].res), ("refused", 5014))
        self.assertEqual(self.taken(), [100])

    def test_restart_while_it_runs(self) -> None:
        """At the next start the terminal is asked about a running operation, and its approval is found."""
        label = str(uuid4())
        self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.restart()
        self.assertEqual((self.states(), self.taken()), (["done", "done"], [100, 10_000]))
        again = self.pay(label=label, search=2)
        self.assertEqual((again["res"], again["task_status"], len(self.taken())), (0, 2, 2))

    def test_restart_after_a_refusal(self) -> None:
        """An operation that the terminal never took is found out too."""
        self.rule("payment", "silent")
        self.asked(1, sum=100)
        self.endpoint.advance(10)
        self.restart()
        self.assertEqual((self.states(), self.rows()[-1].res), (["done", "refused"], 5014))

    # The store fails

    @shows("rule 1")
    def test_store_fails(self) -> None:
        """Whichever question to the store fails, done or not: no approval is lost, and nothing is paid twice."""
        for happened in (False, True):
            for n in range(1, 9):
                with self.subTest(n=n, happened=happened):
                    before = len(self.taken())
                    label = str(uuid4())
                    failing = _Failing(self, VERBS, n, happened)
                    first = self.pay(label=label)
                    failing.stop()
                    if len(self.taken()) > before and first["res"]:
                        self.assertAnswer(first, 1082, 2)
                    elif first["res"]:
                        self.assertNotStored(first, failing.failed)
                    second = self.pay(label=label, search=2 if first["res_action"] == 2 else 0)
                    self.assertAnswer(second, 0, 0)
                    paid = len(self.taken()) - before
                    # The first approval reached the caller, so the second request is a second sale.
                    self.assertEqual(paid, 2 if first["res"] == 0 else 1, (first, second))
        self.assertNotIn("unknown", self.states())

    def assertNotStored(self, answer: dict[str, Any], failed: str) -> None:
        """The answer when nothing was paid and the call ``failed`` of the store did."""
        # Without the look-up it is unknown whether the label has an operation already.
        self.assertAnswer(answer, 1082, 2 if failed == "latest" else 1)

    def test_never_sent_and_not_stored(self) -> None:
        """What was never sent because the store failed is 5014 by its label afterwards."""
        before = self.taken()
        label = str(uuid4())
        failing = _Failing(self, ("note",), 1, False)
        self.assertAnswer(self.pay(label=label), 1082, 1)
        failing.stop()
        self.assertAnswer(self.pay(label=label, search=2), 5014, 1)
        self.assertEqual(self.taken(), before)
        self.assertAnswer(self.pay(label=str(uuid4()), search=2), 0, 0)

    # Everything at once

    @shows("rule 2", "rule 4")
    def test_chaos(self) -> None:
        """Hundreds of payments with every fault: what callers, journal and bank believe is the same in the end."""
        dice = Random(self.seed)
        for n in range(PAYMENTS):
            kopecks = 1000 + n
            self.return_lost_answer = self.service.driver.return_lost_answer = n % 2 == 0
            believed = self.chaotic_sale(dice, kopecks)
            self.assertEqual(self.taken().count(kopecks), int(believed), f"sale {n}")
        done = [row for row in self.rows() if row.state is State.DONE]
        self.assertEqual(len(done), len(self.taken()))
        self.assertEqual({str(row.state) for row in self.rows()}, {"done", "refused"})
        numbers = [json.loads(row.answer)["info"]["refundid"] for row in done]
        self.assertEqual(len(set(numbers)), len(numbers))
        # A test that meets no trouble would prove nothing.
        self.assertGreater(len(self.rows()), PAYMENTS * 1.2)
        self.assertGreater(len(done), PAYMENTS * 0.8)

    def chaotic_sale(self, dice: Random, kopecks: int) -> bool:
        """What a careful till believes of a sale: whether it was paid."""
        for attempt in range(4):
            label = str(uuid4())
            self.no_rules()
            for _ in range(dice.choice((0, 1, 1, 2)) if attempt < 2 else 0):
                self.rule(*dice.choice(TROUBLES))
            answer = self.chaotic_attempt(dice, label, kopecks)
            for _ in range(6):
                if answer["res_action"] != 2:
                    break
                if dice.random() < 0.5:
                    self.no_rules()
                search = dice.choice((0, 2)) if self.return_lost_answer else 2
                answer = self.pay(label=label, search=search, sum=kopecks / 100)
            self.assertNotEqual(answer["res_action"], 2, answer)
            if answer["res"] == 0:
                return True
            if answer["res_action"] == 3 and dice.random() < 0.2:
                return False
        return False

    def chaotic_attempt(self, dice: Random, label: str, kopecks: int) -> Answer:
        """The answer to one request, in the midst of which the service may die or the store fail."""
        chance = dice.random()
        if chance < 0.1:
            self.endpoint.wait(self.asked(1, label, sum=kopecks / 100), dice.random() * 6)
            self.restart()
            return self.pay(label=label, search=2, sum=kopecks / 100)
        if chance < 0.2:
            failing = _Failing(self, VERBS, dice.randrange(1, 9), dice.random() < 0.5)
            answer = self.pay(label=label, sum=kopecks / 100)
            failing.stop()
            return answer
        if chance < 0.3:
            due = self.asked(1, label, sum=kopecks / 100)
            self.endpoint.wait(due, dice.random() * 3)
            self.endpoint.wait(Deferred.fromCoroutine(self.service.interrupt()), 3).addErrback(_passed_over)
            answer = self.wait(due)
            return dict(answer)
        return self.pay(label=label, sum=kopecks / 100)


def _passed_over(_: object) -> None:
    """A wish that came too late."""


async def _never(*_: object) -> None:
    await Deferred()


class _Failing:
    """The store of a desk, of which the ``n``-th question fails."""

    def __init__(self, case: DeskCase, verbs: tuple[str, ...], n: int, happened: bool) -> None:
        self._left, self._happened = n, happened
        self.failed = ""
        """Which question it was."""
        self._patches = [
            case.patch(case.store, verb, self._failing(verb, getattr(case.store, verb))) for verb in verbs
        ]

    def _failing(self, name: str, verb: Any) -> Any:
        async def ask(*arguments: Any) -> Any:
            self._left -= 1
            if self._left:
                return await verb(*arguments)
            self.failed = name
            if self._happened:
                await verb(*arguments)
            raise StoreFailed("disk is full")

        return ask

    def stop(self) -> None:
        """The store works again."""
        for patch in self._patches:
            patch.restore()
