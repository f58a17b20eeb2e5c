"""No interleaving of the models breaks an invariant, and the code makes the transitions of their table and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from tests.life_model import register, saga
from tests.life_model.register import Register
from tests.life_model.saga import Saga
from tests.life_model.search import Journal, explore
from tests.life_model.table import DONE, INTENDED, REFUSED, TABLES, UNKNOWN, allowed
from tests.life_model.watched import Transitions
from tests.simulated_days.day import run

OF_THE_CODE_ALONE = {
    row
    for row in (("fiscal", *row[:3]) for row in TABLES["fiscal"])
    if "half" in row[1] + row[3]
} | {
    ("pay", "sent", "note", "sent"),
    ("pay", DONE, "conclude", DONE),
    ("pay", DONE, "note", DONE),
    ("pay", REFUSED, "conclude", REFUSED),
    ("pay", REFUSED, "note", REFUSED),
    ("pkg", "intended paid", "conclude", "unknown taking_back"),
}
"""Rows that the models leave out: a Z has two documents, a verdict may be stored before a caller hears it, and after a
settlement a payment cannot be taken back."""


class ModelTests(SynchronousTestCase):
    """Every state of the models."""

    def test_holds(self) -> None:
        """Two tills, one device, cuts and kills: nothing twice, nothing lost, and always a way to a good end."""
        used: set[tuple[str, str, str, str]] = set()
        for model in (Register(2, 1), Register(1, 1, bad=True), Saga(2, 1), Saga(2, 1, bad=True)):
            found = explore(model)
            self.assertEqual(found.wrong, [])
            self.assertGreater(found.states, 2000)
            used |= model.journal.used
        every = {(kind, *row[:3]) for kind, rows in TABLES.items() for row in rows}
        self.assertEqual(every - used, OF_THE_CODE_ALONE)

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
        """What the table does not have, no model can do."""
        self.assertRaises(AssertionError, Journal().write, "fiscal", DONE, "conclude", REFUSED)
        self.assertRaises(AssertionError, Journal().write, "pay", INTENDED, "conclude", DONE)
        self.assertRaises(AssertionError, Journal().write, "pay", REFUSED, "conclude", UNKNOWN)


class CodeTests(SynchronousTestCase):
    """The code beside the table."""

    def test_transitions(self) -> None:
        """On shop days with faults the code writes what the table allows, and each row of the table comes."""
        seen: Counter[tuple[str, str, str, str]] = Counter()
        for seed, tasks in DAYS:
            watch = Transitions()
            self.assertEqual(run(seed, watch=watch, tasks=tasks).wrong, [], seed)
            seen += watch.seen
        for kind in TABLES:
            came = {row[1:] for row in seen if row[0] == kind}
            self.assertLessEqual(came, allowed(kind), kind)
            self.assertLessEqual(allowed(kind) - came, {row[1:] for row in RARE if row[0] == kind}, kind)


DAYS = ((1, 25),)
RARE: set[tuple[str, str, str, str]] = set()
