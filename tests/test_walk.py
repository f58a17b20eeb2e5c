"""A register on a long random walk of tasks, lost answers, failing stores and crashes: all records always agree."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from tests.shop import FailingStore, Shop

OPEN, SALE, CASH_IN, CASH_OUT, X, Z, STATUS = 0, 1, 3, 4, 10, 11, 18

KINDS = {OPEN: "open", SALE: "sale", CASH_IN: "cash_in", CASH_OUT: "cash_out", Z: "z"}

HAPPENED, NOT, MAYBE = "happened", "did not happen", "may have happened"
"""What the caller knows about a tag from its answers."""

OPEN_QUESTION = frozenset({1075, 1080, 1082})
"""Refusals that tell the caller nothing new."""

NEVER = frozenset({1016, 1033, 1037, 1043, 1046, 1099})
"""Internal errors, and refusals of the tax service that mean that numbers or shift are out of step."""

LONGEST_TASK = 40
"""The longest time that a caller would wait, in seconds, whatever goes wrong."""

amounts = st.integers(1, 30_000)

faults = st.fixed_dictionaries(
    {
        "on": st.sampled_from(["open", "sale", "cash_in", "cash_out", "z", "any", "any", "probe", "probe"]),
        "then": st.sampled_from(
            ["accept", "refuse", "lost_before", "lost_after", "silent", "garbage", "unreachable"]
        ),
        "code": st.sampled_from(["9", "12", "1034"]),
        "delay_ms": st.sampled_from([0, 0, 1500, 8000]),
        "times": st.sampled_from([1, 1, 2]),
    }
)


def hryvnias(kopecks: int) -> str:
    """An amount as tills write it."""
    return f"{kopecks // 100}.{kopecks % 100:02d}"


def kopecks(amount: float) -> int:
    """An amount in an answer."""
    return round(amount * 100)


class Walk(RuleBasedStateMachine):
    """A till, a register, a tax service and a store with random faults."""

    def __init__(self, case: SynchronousTestCase) -> None:
        super().__init__()
        self.case, self.shop = case, Shop(case)
        # Offline work is tested elsewhere: here each document reaches the tax service or does not exist.
        self.shop.settings(offline_allowed=False)
        self.store = FailingStore(case, self.shop)
        self.sent: dict[str, dict[str, Any]] = {}
        """The task of each tag."""
        self.worth: dict[str, tuple[int, int]] = {}
        """The task of each tag: the sum to pay, and what it adds to the drawer."""
        self.fate: dict[str, str] = {}
        self.numbers: dict[str, str] = {}
        """The fiscal number that the caller got for each tag."""

    # Tasks

    @rule()
    def open(self) -> None:
        """Open the shift."""
        self.begin({"task": OPEN}, 0, 0)

    @rule(amount=amounts, how=st.sampled_from(["cash", "rounded", "card", "both"]))
    def sell(self, amount: int, how: str) -> None:
        """Make a sale."""
        self.begin(*self.sale(amount, how))

    @rule(amount=amounts)
    def cash_in(self, amount: int) -> None:
        """Cash in."""
        self.begin({"task": CASH_IN, "cash": {"type": 0, "sum": hryvnias(amount)}}, amount, amount)

    @rule(amount=amounts)
    def cash_out(self, amount: int) -> None:
        """Cash out."""
        self.begin({"task": CASH_OUT, "cash": {"type": 0, "sum": hryvnias(amount)}}, amount, -amount)

    @rule()
    def close(self) -> None:
        """Close the shift."""
        self.begin({"task": Z}, 0, 0)

    @rule(task=st.sampled_from([X, STATUS]))
    def read(self, task: int) -> None:
        """Request a report or the status."""
        self.answer({"device": "test", "type": 1, "fiscal": {"task": task}})

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(0, 5))
    def repeat(self, back: int) -> None:
        """Send one of the last requests again."""
        self.send(self.recent(back))

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(0, 5), amount=amounts)
    def reuse(self, back: int, amount: int) -> None:
        """Send another request with the tag of a request that is known to be done."""
        tag = self.recent(back)
        if self.fate[tag] == HAPPENED:
            other, _, _ = self.sale(amount, "card")
            answer = self.answer({"device": "test", "tag": tag, "type": 1, "fiscal": {**other, "cashier": "Інша"}})
            self.record(tag, answer)

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(0, 5))
    def look_up(self, back: int) -> None:
        """Look up one of the last requests."""
        tag = self.recent(back)
        answer = self.answer({"device": "test", "tag": tag})
        if answer["res"] not in OPEN_QUESTION:
            assert answer["res"] == (0 if self.fate[tag] == HAPPENED else answer["res"]), answer
            assert answer["res"] == (1058 if self.fate[tag] == NOT else answer["res"]), answer
            self.record(tag, answer)

    # Faults

    @rule(rules=st.lists(faults, min_size=1, max_size=3))
    def disturb(self, rules: list[dict[str, Any]]) -> None:
        """Make the tax service fail."""
        self.shop.scenario(*rules)

    @rule(n=st.integers(1, 4), done=st.booleans())
    def hiccup(self, n: int, done: bool) -> None:
        """Make the store fail at one of its next calls."""
        self.store.fail_at(n, done)

    @rule()
    def crash(self) -> None:
        """Kill the service while it is idle."""
        self.shop.crash()

    @rule(amount=amounts, fault=faults, seconds=st.integers(0, 9))
    def crash_during(self, amount: int, fault: dict[str, Any], seconds: int) -> None:
        """Kill the service while it sells."""
        self.shop.scenario({**fault, "on": "sale"})
        fiscal, worth, cash = self.sale(amount, "cash")
        tag = self.tagged(fiscal, worth, cash)
        due = self.shop.asked({"device": "test", "tag": tag, "type": 1, "fiscal": fiscal})
        answers: list[bytes] = []
        due.addCallback(answers.append)
        self.shop.clock.advance(seconds)
        if answers:
            self.record(tag, json.loads(answers[0]))
        else:
            self.fate[tag] = MAYBE
        self.shop.crash()

    # Requests

    def sale(self, amount: int, how: str) -> tuple[dict[str, Any], int, int]:
        """A sale, its sum to pay and its cash."""
        receipt: dict[str, Any] = {
            "sum": hryvnias(amount),
            "rows": [{"code": "7", "name": "Кава", "cnt": 1, "price": hryvnias(amount), "taxgrp": 1}],
            "pays": [{"type": 0, "sum": hryvnias(amount)}],
        }
        worth = cash = amount
        if how == "rounded":
            receipt["autoround"] = True
            worth = cash = (amount + 25) // 50 * 50
        elif how == "card":
            receipt["pays"][0]["type"] = 2
            cash = 0
        elif how == "both" and amount > 1:
            receipt["pays"] = [{"type": 2, "sum": "0.01"}, {"type": 0, "sum": hryvnias(amount - 1)}]
            cash = amount - 1
        return {"task": SALE, "receipt": receipt}, worth, cash

    def recent(self, back: int) -> str:
        """The tag of one of the last requests."""
        tags = list(self.sent)
        return tags[-1 - back % len(tags)]

    def tagged(self, fiscal: dict[str, Any], worth: int, cash: int) -> str:
        """A new tag for a task."""
        tag = f"tag {len(self.sent) + 1}"
        self.sent[tag], self.worth[tag], self.fate[tag] = fiscal, (worth, cash), NOT
        return tag

    def begin(self, fiscal: dict[str, Any], worth: int, cash: int) -> None:
        """Send a new task."""
        self.send(self.tagged(fiscal, worth, cash))

    def send(self, tag: str) -> None:
        """Send the task of a tag, for the first time or again."""
        self.record(tag, self.answer({"device": "test", "tag": tag, "type": 1, "fiscal": self.sent[tag]}))

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, after some time."""
        answers: list[bytes] = []
        due: Deferred[bytes] = self.shop.asked(body)
        due.addCallback(answers.append)
        for _ in range(LONGEST_TASK):
            if answers:
                break
            self.shop.clock.advance(1)
        assert answers, "no caller waits that long"
        answer: dict[str, Any] = json.loads(answers[0])
        assert answer["res"] not in NEVER, answer
        assert (answer["res_action"] == 0) == (answer["res"] == 0), answer
        assert answer["task_status"] in ((3,) if answer["res"] else (1, 2)), answer
        return answer

    def record(self, tag: str, answer: dict[str, Any]) -> None:
        """Record what an answer says about a tag; after a success no answer may contradict it."""
        res = answer["res"]
        if self.fate[tag] == HAPPENED:
            assert answer["task_status"] == 2 or res in OPEN_QUESTION, answer
        if res == 0:
            number = answer["info"]["doccode"]
            assert self.numbers.setdefault(tag, number) == number, answer
            self.fate[tag] = HAPPENED
        elif self.fate[tag] != HAPPENED:
            if res == 1082 or answer["res_action"] == 2:
                self.fate[tag] = MAYBE
            elif res not in OPEN_QUESTION:
                self.fate[tag] = NOT

    # Comparison

    @rule()
    def compare(self) -> None:
        """Without faults, journal, ledger, totals, drawer and the caller's answers agree."""
        self.store.repair()
        self.shop.scenario()
        status = self.answer({"device": "test", "type": 1, "fiscal": {"task": STATUS}})
        assert status["res"] == 0, status
        # A receipt whose answer was lost may be named; its caller repeats it by its tag.
        assert {warning["code"] for warning in status["warnings"]} <= {3004}, status
        ledger = self.shop.ledger()
        found = self.journal()
        # Every document has a tag, so journal and ledger have the same documents, each once.
        assert [entry.number for entry in ledger] == sorted(found), (ledger, found)
        assert [entry.kind for entry in ledger] == [KINDS[found[entry.number]["task"]] for entry in ledger]
        self.check_numbers([(entry.kind, int(entry.ref)) for entry in ledger])
        tags = [found[entry.number]["tag"] for entry in ledger]
        assert [entry.sum for entry in ledger] == [self.worth[tag][0] for tag in tags]
        assert kopecks(status["info"]["safe"]) == sum(self.worth[tag][1] for tag in tags), status
        self.check_shifts(tags, status["info"]["shift_status"])

    def journal(self) -> dict[str, dict[str, Any]]:
        """The answers found by tag, by fiscal number."""
        found = {}
        for tag, fate in self.fate.items():
            answer = self.answer({"device": "test", "tag": tag})
            assert answer["res"] in {HAPPENED: (0,), NOT: (1058,), MAYBE: (0, 1058)}[fate], (tag, fate, answer)
            if answer["res"] == 0:
                assert answer["tag"] == tag, answer
                assert answer["info"]["doccode"] not in found, answer
                found[answer["info"]["doccode"]] = answer
            self.record(tag, answer)
        return found

    def check_numbers(self, documents: list[tuple[str, int]]) -> None:
        """The local numbers have no gap; the shift's closing document has the number after its Z."""
        due = 1
        for kind, number in documents:
            assert number == due, documents
            due += 2 if kind == "z" else 1

    def check_shifts(self, tags: list[str], is_open: int) -> None:
        """Each Z, and the X of the open shift, is the sum of the sales since the opening."""
        worth: list[int] = []
        opened = 0
        for tag in tags:
            task = self.sent[tag]["task"]
            if task == OPEN:
                worth, opened = [], 1
            elif task == SALE:
                worth.append(self.worth[tag][0])
            elif task == Z:
                self.check_report(self.answer({"device": "test", "tag": tag}), worth)
                opened = 0
        assert is_open == opened, tags
        x = self.answer({"device": "test", "type": 1, "fiscal": {"task": X}})
        if opened:
            self.check_report(x, worth)
        else:
            assert x["res"] == 1081, x

    def check_report(self, answer: dict[str, Any], worth: list[int]) -> None:
        """A report has these sales."""
        info = answer["info"]
        assert kopecks(info["summary"]["calc_p"]) == sum(worth), (answer, worth)
        assert info["receipt"]["count_p"] == len(worth), (answer, worth)
        paid = sum(line["sum_p"] + line["round_pu"] - line["round_pd"] for line in info["pays"])
        assert kopecks(paid) == sum(worth), (answer, worth)

    def teardown(self) -> None:
        """At the end of each walk all records are compared once more."""
        self.compare()


class WalkTests(SynchronousTestCase):
    """Many random walks."""

    def test_books_agree(self) -> None:
        """Whatever a till does and whatever fails, no receipt is lost or doubled and no answer is wrong."""
        # A function that makes one is as good as the class; hypothesis annotates only the class.
        walk = cast(type[Walk], lambda: Walk(self))
        run_state_machine_as_test(
            walk,
            settings=settings(
                max_examples=60,
                stateful_step_count=40,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
