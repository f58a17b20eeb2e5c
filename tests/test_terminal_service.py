"""Payments through the whole service, on its training terminal: labels, the journal, turns, restarts."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.requests import PayTask
from dmtwisted.results import Action, Refused, Res, in_language
from dmtwisted.store.values import OperationQuery, OperationRow, State, StoreFailed
from dmtwisted.terminals.answers import broken_off, info_of, masked, nothing_sent
from dmtwisted.terminals.interface import NAMES, Approved, Declined, Order, Verdict
from dmtwisted.terminals.journal import Operation, Record
from dmtwisted.terminals.orders import label_of, order_of, same_order
from dmtwisted.terminals.service import Caller, TerminalService
from dmtwisted.terminals.sums import AnotherSum
from protocols.errors import Garbled, LineLost, NotReached, Silent
from tests.shop import Shop
from tests.specification import promises
from tests.terminal_matrix import shows

Told = dict[str, Any]


class PosCase(SynchronousTestCase):
    """A shop with everything that a fresh service in training mode has."""

    def setUp(self) -> None:
        """The terminal `pos` has done nothing yet."""
        self.shop = Shop(self, whole=True)

    def asked(self, task: int | None, label: str = "", search: int = 0, **pay: Any) -> Deferred[bytes]:
        """The answer that is due for a task of `pos`."""
        body: Told = {"device": "pos", "type": 3, "source": "till", "tag": "t", "pay": {"task": task, **pay}}
        if label:
            body["transaction_id"] = label
        if search:
            body["transaction_search"] = search
        return self.shop.asked(body, "en")

    def ended(self, due: Deferred[Any], longest: float = 700.0) -> Any:
        """Let time pass until ``due`` has come; it is decoded when it is an answer."""
        for _ in range(round(longest / 0.1)):
            if due.called:
                break
            self.shop.clock.advance(0.1)
        result = self.successResultOf(due)
        return json.loads(result) if isinstance(result, bytes) else result

    def pay(self, task: int | None = 1, label: str = "", search: int = 0, **pay: Any) -> Told:
        """The answer to a task of `pos`; a payment is over 100.00 by default."""
        if task == 1:
            pay.setdefault("sum", 100)
        answer: Told = self.ended(self.asked(task, label, search, **pay))
        return answer

    def kill(self) -> None:
        """The service dies in the middle of whatever it does, and starts again."""
        self.shop.core.devices.close()
        self.shop.clock.advance(0)
        self.shop.crash()

    def rule(self, on: str, then: str, **more: Any) -> None:
        """What the training terminal does next."""
        self.shop.scenario({"on": on, "then": then, **more}, device="pos")

    def taken(self) -> list[int]:
        """The kopecks of each payment that the simulated bank took."""
        return [entry.sum for entry in self.shop.ledger("pos", "payment")]

    def rows(self) -> list[OperationRow]:
        """The journal of `pos`, oldest first."""
        found = Deferred.fromCoroutine(self.shop.store.find_operations(OperationQuery(kinds=["pay"])))
        return list(reversed(self.successResultOf(found).operations))

    @property
    def service(self) -> TerminalService:
        """The terminal's service."""
        built = self.shop.core.devices.by_name("pos").built
        assert isinstance(built, TerminalService)
        return built


class AnswerTests(PosCase):
    """The shape of every answer."""

    @promises("1.5.1.3", "2.2.task.3", "2.2.type.5", "4.4.label.1")
    def test_root(self) -> None:
        """A payment is answered in the shape of all tasks, and names its label at the root."""
        answer = self.pay()
        told = [answer[name] for name in ("res", "res_action", "task_status", "type", "task", "source", "tag")]
        self.assertEqual(told, [0, 0, 1, 3, 1, "till", "t"])
        self.assertEqual((answer["device"], answer["errortxt"], answer["warnings"]), ("pos", "", []))
        self.assertEqual(answer["info"]["sum"], 100.0)
        self.assertEqual(answer["dt"], "20260921090000000")

    @promises("4.4.label.1", "4.4.label.2")
    def test_label_of_each_task(self) -> None:
        """The tasks that the specification names carry a label, done or refused; totals and unknown tasks do not."""
        given = str(uuid4())
        both: tuple[Told, ...] = ({}, {"sum": 5, "refundid": "1", "cancelid": "7", "parts": 2})
        for label in ("", given):
            for task in range(-1, 20):
                for members in both:
                    answer = self.pay(task, label, **members)
                    named = task in (1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 15, 16, 17)
                    self.assertEqual("transaction_id" in answer, named, answer)
                    if named and label:
                        self.assertEqual(answer["transaction_id"], given)
                    if task == 6 and members:
                        self.assertEqual(self.pay(7, oper_action=0)["res"], 5023)
        self.assertNotIn("transaction_id", self.pay(None))

    @promises("4.4.label.1", "4.4.label.2")
    def test_label_of_a_busy_terminal(self) -> None:
        """So does the refusal of a task that the terminal never saw."""
        self.rule("payment", "accept", delay_ms=60_000)
        self.asked(1, sum=10)
        due = {task: self.asked(task, sum=10) for task in (1, 10, 17)}
        self.shop.clock.pump([0.1] * 151)
        refused = {task: json.loads(self.successResultOf(each)) for task, each in due.items()}
        self.assertEqual({answer["res"] for answer in refused.values()}, {1105})
        self.assertEqual([task for task, answer in refused.items() if "transaction_id" in answer], [1, 17])

    @promises("4.4.label.2")
    def test_totals_have_no_label(self) -> None:
        """A label that comes with task 10 neither finds totals nor hides the payment that has it."""
        label = str(uuid4())
        paid = self.pay(label=label)
        for search in (0, 1, 2):
            totals = self.pay(10, label, search)
            self.assertEqual((totals["res"], totals["task_status"]), (0, 1))
        for given in (label, ""):
            self.assertEqual(self.pay(17, given), {**paid, "task_status": 2})

    @promises("2.2.refundid")
    def test_missing(self) -> None:
        """What a task cannot do without is 1098 with its name; a number that cannot be is 2000 with its path."""
        for task, members, res, what in (
            (1, {"sum": 0}, 1098, "pay.sum"),
            (2, {"sum": 5}, 1098, "pay.refundid"),
            (2, {"refundid": "1"}, 1098, "pay.sum"),
            (3, {}, 1098, "pay.cancelid"),
            (5, {"sum": 5}, 1098, "pay.srvnum"),
            (6, {}, 1098, "pay.sum"),
            (14, {"sum": 5}, 1098, "pay.cash"),
            (15, {"sum": 5}, 1098, "pay.parts"),
            (16, {"sum": 5}, 1098, "pay.agreementNum"),
            (1, {"sum": -1}, 2000, "pay.sum"),
            (1, {"sum": "much"}, 2000, "pay.sum"),
            (14, {"cash": -1}, 2000, "pay.cash"),
            (7, {"oper_action": 2}, 2000, "pay.oper_action"),
            (None, {}, 2000, "pay.task"),
        ):
            answer = self.pay(task, **members)
            self.assertEqual((answer["res"], answer["res_action"]), (res, 3), (task, members))
            self.assertIn(what, answer["errortxt"])
        self.assertEqual((self.rows(), self.taken()), ([], []))

    @promises("2.2.refundid", "2.2.rrn")
    def test_refund_by_either_name(self) -> None:
        """The RRN of what is refunded may be called `refundid` or `rrn`; one that the bank does not know is 5025."""
        for name in ("refundid", "rrn"):
            paid = self.pay(sum=100)
            for rrn, res in ((paid["info"]["refundid"], 0), ("123456789012", 5025)):
                named: dict[str, Any] = {"sum": 40, name: rrn}
                self.assertEqual(self.pay(2, **named)["res"], res, named)
        self.assertEqual(
            [entry.sum for entry in self.shop.ledger("pos", "refund") if entry.status == "accepted"], [4000] * 2
        )

    def test_no_pay(self) -> None:
        """Without `pay` there is nothing to do: 1098."""
        answer = self.shop.ask({"device": "pos", "type": 3})
        self.assertEqual((answer["res"], answer["task"]), (1098, -1))

    @promises("2.2.cancelid")
    def test_cancel(self) -> None:
        """A cancel takes back the operation whose number `cancelid` is."""
        paid = [self.pay(sum=sum)["info"] for sum in (10, 20, 30)]
        self.assertEqual(self.pay(3, cancelid=paid[1]["cancelid"])["info"]["sum"], 20.0)

    @promises("4.7.terminal", "8.terminal-wait.2")
    def test_wait(self) -> None:
        """A terminal has to reply within the wait of its settings, which can be changed."""
        self.shop.settings("pos", wait_s=20)
        self.rule("payment", "accept", delay_ms=600_000)
        due = self.asked(1, sum=10)
        self.shop.clock.pump([0.1] * 195)
        self.assertNoResult(due)
        self.shop.clock.pump([0.1] * 150)
        self.assertEqual(json.loads(self.successResultOf(due))["res_action"], 2)

    @promises("4.4.numbers.2", "4.4.numbers.3")
    def test_unknown_tasks(self) -> None:
        """An unknown number is 317, one that this terminal lacks 5029."""
        for task in (0, 9, 12, 13, 18, 99):
            self.assertEqual(self.pay(task)["res"], 317, task)
        self.assertEqual(self.pay(4, sum=5)["res"], 5029)

    def test_privacy(self) -> None:
        """Six and four digits of a card are all that the journal has of it, whatever the terminal sends."""
        whole, shown = "4111111111111111", "411111******1111"
        approved = masked(Approved(cardmask=whole, slip=f"VISA {whole}", text=f"card {whole}"))
        self.assertEqual(approved, Approved(cardmask=shown, slip=f"VISA {shown}", text=f"card {shown}"))
        declined = masked(Declined.of(Res.BANK_REFUSED, text=f"card {whole}"))
        self.assertEqual(declined, Declined.of(Res.BANK_REFUSED, text=f"card {shown}"))


class LabelTests(PosCase):
    """`transaction_id` and `transaction_search`."""

    @promises("2.2.transaction_id.1", "2.2.transaction_id.2")
    def test_labels(self) -> None:
        """A UUID is kept as given, anything else is replaced by one of version 5, refusals included."""
        given = str(uuid4()).upper()
        self.assertEqual(self.pay(label=given)["transaction_id"], given)
        for label in ("", "order 17", "{" + str(uuid4()) + "}"):
            for answer in (self.pay(label=label), self.pay(4, label, sum=1), self.pay(1, label, sum=-1)):
                if answer["res"] != 2000:
                    self.assertEqual(UUID(answer["transaction_id"]).version, 5, answer)

    def test_names_of_our_own(self) -> None:
        """The same text gives the same label, so that a till's own numbers find their operations; nothing never."""
        self.assertEqual(label_of("order 17"), label_of(" order 17 "))
        self.assertNotEqual(label_of("order 17"), label_of("order 18"))
        self.assertNotEqual(label_of(""), label_of(""))
        paid = self.pay(label="order 17")
        self.assertEqual(self.pay(label="order 17", search=2)["info"], paid["info"])
        self.assertEqual(len(self.taken()), 1)

    @promises(
        "3.4.search0", "2.2.transaction_id.3", "2.2.transaction_id.4", "2.2.transaction_search", "4.5.3", "4.5.2"
    )
    def test_search_0(self) -> None:
        """0 is a new operation, known or not; of several with one label the latest is found."""
        label = str(uuid4())
        self.pay(label=label, sum=10)
        self.pay(label=label, sum=20)
        self.assertEqual(self.taken(), [1000, 2000])
        self.assertEqual(self.pay(17, label)["info"]["sum"], 20.0)
        self.assertEqual(self.pay(1, label.upper(), 1)["info"]["sum"], 20.0)

    def test_charged_before(self) -> None:
        """A payment whose label was charged before warns with sum, time and RRN, approved or not."""
        first = self.pay(label="order 17", sum=10)
        self.assertEqual(first["warnings"], [])
        text = (
            "This may be a repeat: an operation for 10.00 with this transaction_id was done before, "
            f"on 21.09.2026 09:00:00, RRN {first['info']['refundid']}"
        )
        self.rule("payment", "refuse", code="51")
        for res in (5018, 0):
            answer = self.pay(label="order 17", sum=12)
            self.assertEqual((answer["res"], answer["warnings"]), (res, [{"code": 3004, "wtxt": text}]))
        # The warning belongs to the answer: whoever missed it reads it there.
        for again in (self.pay(label="order 17", search=2), self.pay(17, "order 17")):
            self.assertEqual(again, {**answer, "task_status": 2})

    def test_not_charged_before(self) -> None:
        """A declined payment, another task, another label and no label are no reason for a warning."""
        self.rule("payment", "refuse", code="51")
        self.assertEqual(self.pay(label="a")["res"], 5018)
        paid = self.pay(label="a")
        self.assertEqual((paid["res"], paid["warnings"]), (0, []))
        refund = self.pay(2, "a", sum=5, refundid=paid["info"]["refundid"])
        self.assertEqual((refund["res"], refund["warnings"]), (0, []))
        again = self.pay(2, "a", sum=5, refundid=paid["info"]["refundid"])
        self.assertEqual((again["res"], len(again["warnings"])), (0, 1))
        for label in ("b", "", ""):
            self.assertEqual(self.pay(label=label)["warnings"], [])

    def test_charged_in_two_steps(self) -> None:
        """A payment that stopped at its card counts from when it was finished."""
        for _ in range(2):
            stopped = self.pay(6, "c", sum=10)
            self.assertEqual((stopped["res"], stopped["warnings"]), (0, []))
            self.assertEqual(self.pay(7, "c", oper_action=0)["res"], 5023)
        for expected in (0, 1):
            self.pay(6, "c", sum=10)
            finished = self.pay(7, "c")
            self.assertEqual((finished["res"], len(finished["warnings"])), (0, expected))
            self.assertEqual(self.pay(17, "c"), {**finished, "task_status": 2})
        self.assertEqual(len(self.pay(label="c", sum=10)["warnings"]), 1)

    @promises("3.4.search1.yes.1", "3.4.search1.yes.2", "3.4.search1.no", "2.2.transaction_search")
    def test_search_1(self) -> None:
        """1 gives what is stored and leaves the terminal alone; nothing stored is 5013."""
        label = str(uuid4())
        answer = self.pay(label=label, search=1)
        self.assertEqual((answer["res"], answer["res_action"], answer["transaction_id"]), (5013, 3, label))
        self.assertEqual(self.pay(search=1)["res"], 5013)
        first = self.pay(label=label)
        again = self.pay(label=label, search=1)
        self.assertEqual(again, {**first, "task_status": 2})
        self.assertEqual(self.taken(), [10_000])

    @promises("3.4.search2.yes.1", "3.4.search2.yes.2", "3.4.search2.no", "1.10.1.2", "2.2.transaction_search")
    def test_search_2(self) -> None:
        """2 gives what is stored and leaves the terminal alone; nothing stored is a new operation."""
        label = str(uuid4())
        first = self.pay(label=label, search=2)
        self.assertEqual((first["res"], first["task_status"]), (0, 1))
        self.assertEqual(self.pay(label=label, search=2), {**first, "task_status": 2})
        self.assertEqual(self.pay(search=2)["task_status"], 1)
        self.assertEqual(len(self.taken()), 2)

    @promises("3.4.stored.1", "3.4.stored.2", "3.4.stored.3", "3.4.stored.4")
    def test_everything_is_stored(self) -> None:
        """Approvals, refusals of the bank, errors of the terminal and of the connection are found by their label."""
        for rule, res in (
            (("payment", "accept"), 0),
            (("payment", "refuse", "51"), 5018),
            (("payment", "refuse", "no_paper"), 5005),
            (("payment", "unreachable"), 5067),
            (("payment", "lost_before"), 5014),
        ):
            label = str(uuid4())
            self.rule(*rule[:2], code=rule[2] if len(rule) > 2 else "")
            first = self.pay(label=label)
            self.assertEqual(first["res"], res)
            for task, search in ((1, 1), (1, 2), (17, 0)):
                again = self.pay(task, label, search)
                self.assertEqual(again, {**first, "task_status": 2 if not res else 3})
        self.assertEqual(self.taken(), [10_000])

    @promises("4.4.17")
    def test_task_17(self) -> None:
        """Without a label task 17 gives the last operation of all; with an unknown one, 5013."""
        self.assertEqual(self.pay(17)["res"], 5013)
        self.pay(sum=10)
        last = self.pay(sum=20)
        self.assertEqual(self.pay(17)["info"], last["info"])
        self.assertEqual(self.pay(17, str(uuid4()))["res"], 5013)

    @promises("3.4.search0")
    def test_repeat_of_a_lost_answer(self) -> None:
        """Though no caller received the approval, 0 is a new operation; with the setting, after ten minutes only."""
        for returned, wait, payments in ((False, 0, 2), (True, 0, 1), (True, 700, 2)):
            self.shop.settings("pos", return_lost_answer=returned)
            label = str(uuid4())
            before = len(self.taken())
            self.asked(1, label, sum=100)
            self.shop.clock.advance(0.3)
            while len(self.taken()) == before:
                self.shop.clock.advance(0.05)
            self.kill()
            self.shop.clock.pump([0.1] * 50)
            self.shop.clock.advance(wait)
            self.assertEqual(self.pay(label=label)["res"], 0)
            self.assertEqual(len(self.taken()) - before, payments)


class TurnTests(PosCase):
    """One task at a time."""

    @promises("1.9d.1.3", "1.9d.4.2", "1.9d.4.4", "8.one-task.3", "8.mini-queue.2")
    def test_second_till(self) -> None:
        """A second task waits for 15 seconds and is then refused with 1105; nothing of it is stored."""
        self.rule("payment", "accept", delay_ms=20_000)
        first, second = self.asked(1, sum=10), self.asked(1, sum=20)
        self.shop.clock.pump([0.1] * 149)
        self.assertNoResult(second)
        self.shop.clock.pump([0.1] * 2)
        answer = json.loads(self.successResultOf(second))
        self.assertEqual((answer["res"], answer["res_action"]), (1105, 1))
        self.assertEqual(self.ended(first)["res"], 0)
        self.assertEqual((self.taken(), len(self.rows())), ([1000], 1))

    @promises("1.9d.4.3")
    def test_short_wait(self) -> None:
        """A task that waited less than that is done."""
        first, second = self.asked(1, sum=10), self.asked(1, sum=20)
        self.assertEqual([self.ended(due)["res"] for due in (first, second)], [0, 0])
        self.assertEqual(self.taken(), [1000, 2000])


class JournalTests(PosCase):
    """What is durable, and when."""

    @shows("rule 1")
    def test_intent_before_the_request(self) -> None:
        """The intent is stored before the terminal gets the request, the outcome before the caller gets it."""
        due = self.asked(1, "order 1", sum=100)
        self.shop.clock.advance(0.3)
        self.shop.clock.pump([0.01] * 20)
        [row] = self.rows()
        self.assertEqual((row.state, row.key, self.taken()), (State.INTENDED, label_of("order 1"), []))
        self.assertNoResult(due)
        answer = self.ended(due)
        [row] = self.rows()
        self.assertEqual((row.state, row.res, json.loads(row.answer)), (State.DONE, 0, answer))

    def test_store_away(self) -> None:
        """A store that takes nothing is 1082 before anything was sent: the caller may repeat."""
        self.shop.store.broken = True
        answer = self.pay()
        self.assertEqual((answer["res"], answer["res_action"]), (1082, 1))
        self.assertTrue(answer["transaction_id"])
        self.shop.store.broken = False
        self.assertEqual((self.pay()["res"], self.taken()), (0, [10_000]))

    @shows("rule 1")
    def test_outcome_not_stored(self) -> None:
        """An approval that the store did not take is 1082 with 2; its repeat with 2 gets the approval."""
        due = self.asked(1, "order 1", sum=100)
        self.shop.clock.advance(0.3)
        self.shop.clock.pump([0.01] * 20)
        self.shop.store.broken = True
        answer = self.ended(due)
        self.assertEqual((answer["res"], answer["res_action"]), (1082, 2))
        self.shop.store.broken = False
        # Another service may have the terminal: what is kept here is stored in its turn only.
        self.now(self.service.state())
        self.assertEqual(self.rows()[0].state, State.INTENDED)
        self.shop.scenario({"on": "probe", "then": "silent", "times": 0}, device="pos")
        self.now(self.service.resolve())
        self.assertEqual(self.rows()[0].state, State.DONE)
        again = self.pay(label="order 1", search=2)
        self.assertEqual((again["res"], again["task_status"], self.taken()), (0, 2, [10_000]))

    @shows("rule 1")
    def test_never_sent(self) -> None:
        """What a failure of the store kept from being sent was not taken, though the terminal cannot be asked."""
        note = self.shop.store.note

        async def stored(n: int, request: bytes) -> None:
            await note(n, request)
            raise StoreFailed("disk is full")

        patched = self.patch(self.shop.store, "note", stored)
        answer = self.pay(label="order 1")
        patched.restore()
        self.assertEqual((answer["res"], answer["res_action"]), (1082, 1))
        self.shop.scenario({"on": "probe", "then": "silent", "times": 0}, device="pos")
        again = self.pay(17, "order 1")
        self.assertEqual((again["res"], again["res_action"], self.taken()), (5014, 1, []))

    def begun(self, task: int, label: str = "") -> Operation:
        """An operation over 5.00 that the journal has, of which nothing was sent yet."""
        caller = Caller("pos", "till", "", label_of(label), "uk")
        operation: Operation = self.now(self.service._journal.begin(task, Record(Order(task, "u", sum=500), caller)))
        return operation

    def now(self, work: Any) -> Any:
        """What comes of ``work``."""
        return self.ended(Deferred.fromCoroutine(work))

    def test_held(self) -> None:
        """A verdict that the terminal may still take back is stored: its operation stays open, and unheard.

        Its end is stored as what was sent; a refusal is returned as it is stored.
        """
        journal, operation, verdict = self.service._journal, self.begun(1), Approved(sum=500, rrn="7")
        self.now(journal.hold(operation, verdict))
        [held] = self.now(journal.open_ones())
        record = held.record
        self.assertEqual((held.n, held.open, record.sent, record.unheard), (operation.n, True, True, True))
        self.assertEqual(record.verdict, verdict)
        self.now(journal.end(operation, verdict))
        self.assertEqual(self.now(journal.open_ones()), [])
        record = self.now(journal.now(operation)).record
        self.assertEqual((record.sent, record.unheard, record.verdict), (True, False, verdict))
        never = self.begun(1)
        closed = self.now(journal.close(never, Refused(Res.REQUEST_NOT_TAKEN)))
        self.assertEqual((closed, closed.open), (self.now(journal.now(never)), False))

    def test_left_out(self) -> None:
        """A stored record that says no more was not sent, and nobody waits for its answer."""
        stored = json.loads(msgspec.json.encode(self.begun(1).record))
        self.assertEqual(set(stored), {"order", "caller"})
        record = msgspec.json.decode(json.dumps(stored), type=Record)
        self.assertEqual((record.sent, record.unheard), (False, False))

    def test_counts_as_charged(self) -> None:
        """An approval has moved money, with numbers or without; what stopped at its card, only with one of them."""
        for n, (task, approved, charged) in enumerate(
            (
                (1, Approved(sum=500), True),
                (6, Approved(sum=500), False),
                (6, Approved(sum=500, rrn="7"), True),
                (6, Approved(sum=500, cancelid="7"), True),
            )
        ):
            self.now(self.service._journal.end(self.begun(task, f"{n}"), approved))
            found = self.now(self.service._journal.charged(1, label_of(f"{n}")))
            self.assertEqual(found is not None, charged, n)

    def test_settled(self) -> None:
        """What a person has decided outweighs the sum that the terminal named before: later ends are stored."""
        journal, operation = self.service._journal, self.begun(1)
        for settled in (False, True, False):
            if settled:
                self.now(journal.settle(operation, Declined.of(Res.REQUEST_NOT_TAKEN)))
                operation = self.now(journal.now(operation))
                self.assertEqual(self.now(journal.end(operation, Approved(sum=500))), Approved(sum=500))
            else:
                ending = Deferred.fromCoroutine(journal.end(operation, Approved(sum=501)))
                self.failureResultOf(ending, AnotherSum)

    def test_recalled(self) -> None:
        """A driver learns from the latest 20 operations that are at most seven days old, the latest first."""
        journal = self.service._journal
        for n in range(21):
            self.now(journal.sent(self.begun(1), b"%d" % n))
        latest = [b"%d" % n for n in range(20, 0, -1)]
        for seconds, recalled in ((0, latest), (7 * 86_400, latest), (0.125, [])):
            self.shop.clock.advance(seconds)
            self.assertEqual(self.now(journal.snapshots()), recalled)

    def test_part_of_something_larger(self) -> None:
        """A batch pays by a label of its own, and finds the outcome by it."""
        order = Order(task=1, uid=str(uuid4()), sum=500)
        caller = Caller("pos", "till", "", str(uuid4()), "uk")
        n, verdict = self.ended(Deferred.fromCoroutine(self.service.pay(order, caller)))
        self.assertEqual((self.rows()[0].n, verdict.sum), (n, 500))
        found = self.ended(Deferred.fromCoroutine(self.service.outcome(caller.label)))
        self.assertEqual(found, verdict)
        self.assertIsNone(self.ended(Deferred.fromCoroutine(self.service.outcome(str(uuid4())))))

    def test_doubt_in_something_larger(self) -> None:
        """A payment whose end is unknown is a refusal with 2 for the task that it is a part of."""
        caller = Caller("pos", "till", "", str(uuid4()), "uk")
        self.rule("payment", "lost_after")
        due = Deferred.fromCoroutine(self.service.pay(Order(task=1, uid=str(uuid4()), sum=500), caller))
        while not self.taken():
            self.shop.clock.advance(0.05)
        self.shop.scenario({"on": "probe", "then": "silent", "times": 0}, device="pos")
        for _ in range(4000):
            if due.called:
                break
            self.shop.clock.advance(0.1)
        self.assertIs(self.failureResultOf(due, Refused).value.action, Action.COLLISION)
        self.shop.scenario(device="pos")
        verdict: Verdict = self.ended(Deferred.fromCoroutine(self.service.outcome(caller.label)))
        assert isinstance(verdict, Approved)
        self.assertEqual((verdict.sum, self.taken()), (500, [500]))

    def test_doubt_logged_once(self) -> None:
        """Every repeat of an unknown payment gets an answer; the log has it once."""
        caller = Caller("pos", "till", "", str(uuid4()), "uk")
        self.rule("payment", "lost_after")
        with capturedLogs() as told:
            due: Deferred[Any] = Deferred.fromCoroutine(
                self.service.pay(Order(task=1, uid=str(uuid4()), sum=500), caller)
            )
            while not self.taken():
                self.shop.clock.advance(0.05)
            self.shop.scenario({"on": "probe", "then": "silent", "times": 0}, device="pos")
            for _ in range(3):
                for _ in range(4000):
                    if due.called:
                        break
                    self.shop.clock.advance(0.1)
                self.assertIs(self.failureResultOf(due, Refused).value.action, Action.COLLISION)
                due = Deferred.fromCoroutine(self.service.outcome(caller.label))
            due.addErrback(lambda _: None)
        said = [event for event in told if "is unknown" in (event["log_format"] or "")]
        self.assertEqual([event["n"] for event in said], [self.rows()[0].n])


class TrainingTests(PosCase):
    """The training terminal."""

    def test_fresh_service(self) -> None:
        """A fresh service in training mode has the terminal `pos`, without settings."""
        device = self.shop.core.devices.by_name("pos")
        self.assertEqual((device.kind, device.row.driver, device.row.settings), ("terminal", "training", b"{}"))
        self.assertEqual(device.driver.capabilities, tuple(NAMES[task] for task in sorted(NAMES) if task != 4))

    def test_outlives_a_restart(self) -> None:
        """What the simulated bank took is known after a restart, and can be cancelled."""
        paid = self.pay()["info"]
        self.shop.crash()
        self.assertEqual(self.taken(), [10_000])
        self.assertEqual(self.pay(3, cancelid=paid["cancelid"])["info"]["sum"], 100.0)

    def test_pace(self) -> None:
        """An operation takes about a second, and its states can be seen on the way."""
        seen: list[str] = []
        self.service.watch(lambda progress: seen.append(progress.state))
        before = self.shop.clock.seconds()
        self.pay()
        self.assertTrue(0.8 < self.shop.clock.seconds() - before < 2.5)
        self.assertEqual((seen[0], seen[-1]), ("connecting", "idle"))
        self.assertGreater(len(seen), 4)

    def test_state(self) -> None:
        """The record of the device has its capabilities, its activity, and whether an end is unknown."""
        state = self.ended(Deferred.fromCoroutine(self.service.state()))
        self.assertEqual((state["progress"], state["in_doubt"]), ("idle", False))
        self.assertIn(17, state["capabilities"])
        due = self.asked(1, sum=5)
        self.shop.clock.pump([0.1] * 8)
        state = self.ended(Deferred.fromCoroutine(self.service.state()))
        self.assertEqual(state["in_doubt"], False)
        self.assertNotEqual(state["progress"], "idle")
        self.ended(due)

    def test_check(self) -> None:
        """The way to the terminal can be tried; between tasks 6 and 7 it cannot."""
        self.ended(Deferred.fromCoroutine(self.service.check()))
        self.assertEqual(self.pay(6, sum=5)["res"], 0)
        refused = self.failureResultOf(Deferred.fromCoroutine(self.service.check()), Refused)
        self.assertIs(refused.value.res, Res.CONFIRMATION_ACTIVE)

    def test_read_card(self) -> None:
        """A card is read, and the payment goes on with another sum."""
        self.assertEqual(self.pay(6, sum=100)["info"]["cardmask"], "516875******7414")
        self.assertEqual(self.pay(7, sum=90)["info"]["sum"], 90.0)
        self.assertEqual(self.taken(), [9000])

    def test_confirmation_runs_out(self) -> None:
        """After 70 seconds the terminal goes on by itself, and that is stored."""
        self.pay(6, "order 1", sum=100)
        self.shop.clock.pump([0.5] * 150)
        self.assertEqual(self.taken(), [10_000])
        self.assertEqual(self.pay(7)["res"], 5074)
        self.assertEqual(self.pay(17, "order 1")["info"]["sum"], 100.0)


class WordTests(SynchronousTestCase):
    """From errors of the line to results, and from requests to orders."""

    def test_nothing_sent(self) -> None:
        """What broke before the request was sent may be repeated, whatever it was."""
        unreached = Refused(Res.TERMINAL_ADDRESS_UNREACHABLE)
        for error, res in (
            (NotReached("no"), Res.TERMINAL_CONNECT),
            (Silent(3), Res.HANDSHAKE_SILENT),
            (LineLost(), Res.TERMINAL_CONNECT),
            (Garbled("noise", b"SSH"), Res.TERMINAL_ERROR),
        ):
            self.assertIs(nothing_sent(error).res, res)
        self.assertIs(nothing_sent(NotReached("no"), unreached), unreached)
        self.assertIs(nothing_sent(Silent(3), unreached).res, Res.HANDSHAKE_SILENT)

    def test_broken_off(self) -> None:
        """A terminal that had the request and is silent is 411 with the milliseconds, a broken line 1016."""
        silent = broken_off(Silent(300, taken=True), Action.COLLISION)
        self.assertEqual((silent.res, silent.details, silent.action), (Res.TERMINAL_SILENT, (300_000,), 2))
        later = broken_off(Silent(300), Action.COLLISION, taken=True)
        self.assertEqual((later.res, later.details), (Res.TERMINAL_SILENT, (300_000,)))
        lost = broken_off(LineLost("cut"), Action.COLLISION, "no receipt")
        self.assertEqual((lost.res, lost.words().en), (Res.INTERNAL, "Internal error: cut: no receipt"))

    @promises("7.codes.1")
    def test_broken_off_without_acknowledgement(self) -> None:
        """411 says that the request was received: a silence that shows nothing is 5012, and the end stays unknown."""
        silent = broken_off(Silent(300), Action.COLLISION, "look")
        self.assertEqual((silent.res, silent.action), (Res.TERMINAL_CONNECT, Action.COLLISION))
        self.assertEqual(in_language(silent.aq_errortxt, "en"), "no answer in 300 s: look")
        self.assertIn("it is unknown whether the operation was done", silent.errortxt("en"))
        self.assertIn("невідомо", silent.errortxt("uk"))
        restarted = broken_off(None, Action.COLLISION)
        self.assertEqual((restarted.res, restarted.action), (Res.TERMINAL_CONNECT, Action.COLLISION))
        harmless = broken_off(Silent(10), Action.REPEAT)
        self.assertEqual((harmless.res, harmless.action, harmless.details), (Res.TERMINAL_CONNECT, 1, ()))

    def test_same_order(self) -> None:
        """Two orders are the same when they ask for the same, by whatever name."""
        one = order_of(PayTask(task=1, sum=5))
        self.assertTrue(same_order(one, order_of(PayTask(task=1, sum=5))))
        for other in (
            PayTask(task=6, sum=5),
            PayTask(task=1, sum=6),
            PayTask(task=1, sum=5, merchant="2"),
            PayTask(task=2, sum=5, refundid="1"),
        ):
            self.assertFalse(same_order(one, order_of(other)))

    def test_leftovers(self) -> None:
        """Members of other tasks are ignored."""
        order = order_of(PayTask(task=1, sum=5, cash=7, cancelid="3", refundid="9"))
        self.assertEqual((order.wanted, order.cancelid, order.rrn), (5, "", ""))

    def test_info(self) -> None:
        """Members that need not be there stay out while they have nothing to say."""
        info = info_of(Order(task=1, uid="u", sum=5), Approved(sum=5), "uk")
        self.assertEqual(
            set(msgspec.json.decode(msgspec.json.encode(info))),
            {
                *("restxt", "cardmask", "paysys", "bankname", "sum", "payid", "refundid", "cancelid"),
                *("receipt", "sliptxt", "currency"),
            },
        )
