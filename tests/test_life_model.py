"""No interleaving of the models breaks an invariant, and the code makes the transitions of their table only."""

from __future__ import annotations

from collections.abc import Callable
from unittest import TestResult

from twisted.trial.runner import TestLoader
from twisted.trial.unittest import SynchronousTestCase

from tests.life_model import register, saga
from tests.life_model.register import Register
from tests.life_model.saga import Saga
from tests.life_model.search import Journal, explore
from tests.life_model.table import DONE, INTENDED, NONE, REFUSED, TABLES, UNKNOWN
from tests.life_model.watched import watched
from tests.simulated_days.day import run

EVERY = {(kind, *row[:3]) for kind, rows in TABLES.items() for row in rows}
"""Every row of the tables, with its kind."""

OF_THE_CODE_ALONE = {
    *(("fiscal", *row[:3]) for row in TABLES["fiscal"] if "half" in row.before + row.after),
    ("fiscal", REFUSED, "note", REFUSED),
    ("pay", INTENDED, "conclude", DONE),
    ("pay", NONE, "reserve", "sent"),
    ("pay", "sent", "note", "sent"),
    *(("pay", state, verb, state) for state in (DONE, REFUSED) for verb in ("conclude", "note")),
    ("pay", REFUSED, "conclude", DONE),
    ("pkg", "intended paid", "conclude", "unknown taking_back"),
    ("pkg", "refused paying", "conclude", "unknown paying"),
    *(("pkg", f"unknown {step}", "conclude", "refused settled") for step in ("paid", "taking_back")),
}
"""Rows that the models leave out: a Z has two documents, a verdict can be stored before a caller hears it, or come
when its payment was given up, a payment can stop at its card, and a person can give money back."""


class ModelTests(SynchronousTestCase):
    """Every state of the models."""

    def test_holds(self) -> None:
        """Two tills, one device, cuts and kills: nothing twice, nothing lost, and always a way to a good end."""
        used: set[tuple[str, str, str, str]] = set()
        documents = Register(2, 1), Register(1, 1, bad=True), Register(2, 1, wanders=False)
        for model in (*documents, Saga(2, 1), Saga(2, 1, bad=True)):
            found = explore(model)
            self.assertEqual(found.wrong, [])
            self.assertGreater(found.states, 2000)
            used |= model.journal.used
        self.assertEqual(EVERY - used, OF_THE_CODE_ALONE)

    def wrong_in(self, model: Register | Saga, name: str, step: Callable[..., object]) -> str:
        """What is found when one step of a model is another one."""
        setattr(model, name, step)
        return " ".join(explore(model).wrong)

    def test_finds(self) -> None:
        """A model in which one rule is broken breaks an invariant: each rule is needed."""
        right = Register(1, 1)

        def forgets(s: register.State) -> object:
            yield "answers at once", s._replace(at="answer_done")

        self.assertIn("not durable", self.wrong_in(Register(1, 1), "_accepted", forgets))

        def voids(s: register.State) -> object:
            refused = right._write(s, s.about, "conclude", REFUSED)
            yield "takes no answer for none", refused._replace(at="answer_again", sure=True)

        self.assertIn("nobody will find it", self.wrong_in(Register(1, 1), "_ask_now", voids))

        def closes(s: saga.State) -> object:
            yield "closes it", card._answer(card._ends(s, REFUSED), REFUSED)

        card = Saga(1, 1)
        self.assertIn("nobody knows", self.wrong_in(Saga(1, 1), "_asks_payment", closes))

        def pays(s: saga.State) -> object:
            yield "pays again", s._replace(at="paying")

        self.assertIn("twice", self.wrong_in(Saga(2, 0), "_asks_payment", pays))

        def never(s: register.State) -> object:
            yield from ()

        self.assertIn("no good end", self.wrong_in(Register(0, 0), "_make", never))

    def test_table(self) -> None:
        """What the table does not have, no model can do: what is done stays done, and unknown is no second try."""
        for kind in TABLES:
            self.assertRaises(AssertionError, Journal().write, kind, DONE, "conclude", REFUSED)
            self.assertRaises(AssertionError, Journal().write, kind, DONE, "conclude", UNKNOWN)
            self.assertRaises(AssertionError, Journal().write, kind, UNKNOWN, "reserve", INTENDED)


DESKS = (
    *(
        f"tests.test_batch_faults.{name}Tests"
        for name in ("PaymentFault", "FiscalFault", "CancelFault", "Killed", "Manual")
    ),
    "tests.test_batch.ReturnTests.test_cancel_cannot_be_taken_back",
    "tests.test_zvt_driver.ZvtFaultTests.test_chaos",
    "tests.test_terminal_service.AnswerTests.test_label_of_each_task",
    "tests.test_offline_switch.LateArrivalTests.test_another",
    "tests.test_collisions.ZTests.test_settled_while_the_caller_waits",
    "tests.test_collisions.ClosingTests.test_found",
    "tests.test_collisions.ClosingTests.test_refused_for_long",
    "tests.test_lost_online.RevokedTests.test_another_sale",
)
"""Tests whose faults are rare on shop days."""


class CodeTests(SynchronousTestCase):
    """The code beside the table."""

    def test_transitions(self) -> None:
        """The code writes what the table allows and nothing else, and each row of the table comes."""
        with watched() as seen:
            for seed in (1, 2):
                self.assertEqual(run(seed, tasks=25).wrong, [])
            result = TestResult()
            TestLoader().loadByNames(list(DESKS)).run(result)
            self.assertEqual((result.errors, result.failures), ([], []))
        came = {row for row in seen if row[0] in TABLES}
        self.assertEqual((came - EVERY, EVERY - came), (set(), set()))
