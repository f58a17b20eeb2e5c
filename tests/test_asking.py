"""A lost answer is settled while its caller waits: how long, how often, and what is never done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.asking import Asking
from dmtwisted.registers.channels.interface import Absent, Accepted, Away, Rejected, Unknown
from dmtwisted.registers.channels.tax_service import TaxServiceChannel
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import OperationQuery
from tests.prro_shop import FIRST, PrroShop
from tests.shop import Shop, sale
from tests.specification import promises

MOMENT = 2**-10
ANSWERED_S = 18.0
"""Seconds after which the caller has an answer, whatever it is."""

UNANSWERED: dict[str, Any] = {"on": "probe", "then": "unreachable", "times": 0}
AWAY: dict[str, Any] = {"on": "any", "then": "unreachable", "times": 0}


class AskingCase(SynchronousTestCase):
    """A training register with an open shift."""

    def setUp(self) -> None:
        """Open."""
        self.shop = Shop(self)
        self.shop.open_shift()

    def asked(self, tag: str = "a", amount: int = 20) -> Deferred[bytes]:
        """The answer that is due to a sale."""
        fiscal = {"task": 1, "receipt": sale(amount)}
        return self.shop.asked({"device": "test", "tag": tag, "type": 1, "fiscal": fiscal})

    def told(self, due: Deferred[bytes], res: int, action: int) -> dict[str, Any]:
        """The answer of ``due``, which has come."""
        answer: dict[str, Any] = json.loads(self.successResultOf(due))
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), answer)
        return answer

    def sums(self) -> list[int]:
        """The sales that the tax service has."""
        return [entry.sum for entry in self.shop.ledger(kind="sale")]

    def states(self) -> list[str]:
        """What the journal says of each sale."""
        found = self.shop.store.find_operations(OperationQuery())
        rows = self.successResultOf(Deferred.fromCoroutine(found)).operations
        return [row.state.value for row in rows if row.task == 1]


class TimeTests(AskingCase):
    """The time that the caller grants."""

    @promises("3.2.2.1", "4.7.clients.1")
    def test_not_known_at_the_end(self) -> None:
        """While no question is answered the caller waits less than 18 s, and hears that the receipt may exist."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, UNANSWERED)
        due = self.asked()
        self.shop.clock.pump([1.0] * 16)
        # A till that gave up too early, and sends again, is told to wait.
        self.told(self.asked(), 1105, 1)
        self.assertNoResult(due)
        self.shop.clock.advance(1)
        answer = self.told(due, 1075, 2)
        for word in ("міг бути зареєстрований", "повторіть", "tag"):
            self.assertIn(word, answer["errortxt"])
        self.assertNotIn("недоступний", answer["errortxt"])
        self.assertEqual(self.states(), ["unknown"])
        self.shop.scenario()
        self.assertEqual(self.shop.sell(20, "a")["task_status"], 2)
        self.assertEqual(self.sums(), [2000])

    def test_silent(self) -> None:
        """A question that is not answered at all ends with the caller's time, too."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        due = self.asked()
        self.shop.clock.pump([1.0] * 16)
        self.assertNoResult(due)
        self.shop.clock.advance(1)
        self.told(due, 1075, 2)

    def test_from_the_beginning(self) -> None:
        """The time counts from the task's begin: a document that took 8 s leaves less of it."""
        self.shop.scenario({"on": "sale", "then": "silent"}, UNANSWERED)
        due = self.asked()
        self.shop.clock.pump([1.0] * 16)
        self.assertNoResult(due)
        self.shop.clock.advance(1)
        self.told(due, 1075, 2)

    def test_the_next_task(self) -> None:
        """A task after an unknown document asks once; it does not wait again."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, UNANSWERED)
        self.shop.sell(20, "a")
        for tag in ("a", "b"):
            self.told(self.asked(tag), 1075, 2)

    def test_answered_at_last(self) -> None:
        """A tax service that answers the tenth question gets the till its receipt, as if nothing had been lost."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {**UNANSWERED, "times": 9})
        due = self.asked()
        self.shop.clock.pump([1.0] * 8)
        self.assertNoResult(due)
        self.shop.clock.advance(1)
        answer = self.told(due, 0, 0)
        self.assertEqual((answer["task_status"], answer["info"]["docno"]), (1, "2"))

    def test_stop(self) -> None:
        """A service that stops while it asks does so at once; the matter stays open and the start settles it."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, UNANSWERED)
        for seconds, rule in ((0.5, UNANSWERED), (0.5, {**UNANSWERED, "then": "silent"})):
            self.setUp()
            self.shop.scenario({"on": "sale", "then": "lost_after"}, rule)
            due = self.asked()
            self.shop.clock.advance(seconds)
            stopping = Deferred.fromCoroutine(self.shop.core.dispatcher.finish())
            self.successResultOf(stopping)
            self.told(due, 1075, 2)
            self.assertEqual(self.states(), ["unknown"])
            self.shop.crash()
            self.assertEqual(self.states(), ["done"])
            self.assertEqual(self.shop.sell(20, "a")["task_status"], 2)


class AbsentTests(AskingCase):
    """The tax service says that it does not have the document."""

    def test_sent_again(self) -> None:
        """It is asked a second time, a second later, before the same bytes are sent again: once."""
        sent: list[bytes] = []
        channel = self.shop.built()._channel
        submit = channel.submit

        async def counted(document: Any, bytes_: bytes) -> Any:
            sent.append(bytes_)
            return await submit(document, bytes_)

        self.patch(channel, "submit", counted)
        self.shop.scenario({"on": "sale", "then": "lost_before"})
        due = self.asked()
        self.shop.clock.advance(1 - MOMENT)
        self.assertEqual((len(sent), self.sums()), (1, []))
        self.shop.clock.advance(MOMENT)
        self.assertEqual(self.told(due, 0, 0)["info"]["docno"], "2")
        self.assertEqual(sent, [sent[0]] * 2)
        self.assertEqual(self.sums(), [2000])

    def test_again_and_again(self) -> None:
        """As often as it is lost on its way it is sent again, while there is time."""
        self.shop.scenario({"on": "sale", "then": "lost_before", "times": 5})
        self.assertEqual(self.shop.sell(20, "a")["task_status"], 1)
        self.assertEqual(self.sums(), [2000])

    def test_out_of_time(self) -> None:
        """A document that never arrives is not done, with ``res_action`` 1, and its tag and number are free."""
        self.shop.scenario({"on": "sale", "then": "lost_before", "times": 0})
        due = self.asked()
        self.shop.settle(due)
        self.assertIn(json.loads(self.successResultOf(due))["res_action"], (1, 2))
        self.shop.scenario()
        answer = self.shop.sell(20, "a")
        self.assertEqual((answer["res"], answer["task_status"], answer["info"]["docno"]), (0, 1, "2"))

    def test_away_afterwards(self) -> None:
        """When nothing can be sent any more it certainly is not there: offline at once, where the register may."""
        for allowed in (True, False):
            self.setUp()
            self.shop.settings(offline_allowed=allowed)
            self.shop.scenario({"on": "sale", "then": "lost_before"}, AWAY)
            due = self.asked()
            self.shop.clock.advance(1)
            if allowed:
                self.assertTrue(self.told(due, 0, 0)["info"]["isoffline"])
            else:
                self.told(due, 1050, 1)
                self.assertEqual(self.states(), ["refused"])

    def test_refused_afterwards(self) -> None:
        """A document that is refused when it is sent again is refused."""
        self.shop.scenario({"on": "sale", "then": "lost_before"}, {"on": "sale", "then": "refuse", "code": "9"})
        due = self.asked()
        self.shop.clock.advance(1)
        self.told(due, 1040, 3)
        self.assertEqual(self.states(), ["refused"])
        self.assertEqual(self.shop.sell(20, "a")["info"]["docno"], "2")

    def test_never_left(self) -> None:
        """A document that certainly did not leave goes offline at once, without a question."""
        self.shop.scenario({**AWAY, "times": 1}, {"on": "probe", "then": "silent", "times": 0})
        self.assertTrue(self.told(self.asked(), 0, 0)["info"]["isoffline"])


class LateTests(SynchronousTestCase):
    """A server that says too early that it does not have a document."""

    def setUp(self) -> None:
        """Open at the tax service; the next sale is taken, and the server does not know of it yet."""
        self.shop = PrroShop(self, "one")
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)
        self.record = self.shop.far_end.books.registers[FIRST]
        self.questions = 0

    def late(self, after: int) -> Any:
        """Let the next sale appear with the answer to a question, the ``after``-th one not yet included."""
        probe = TaxServiceChannel.probe
        hidden: list[Any] = []

        async def slow(channel: TaxServiceChannel, number: int, sent: bytes) -> Any:
            self.questions += 1
            if self.questions == 1:
                hidden.append((self.record.documents.pop(2), self.record.last, self.record.last_online))
                self.record.next_local = 2
            answer = await probe(channel, number, sent)
            if self.questions == after:
                self.record.documents[2], self.record.last, self.record.last_online = hidden[0]
                self.record.next_local = 3
            return answer

        patch: Any = self.patch(TaxServiceChannel, "probe", slow)
        self.shop.rules({"on": "sale", "then": "lost_after"})
        return patch

    def test_found(self) -> None:
        """It appears after the first question, or after the second, so that its copy is refused: one receipt."""
        for after, questions in ((1, 2), (2, 3)):
            self.setUp()
            patch = self.late(after)
            answer = self.shop.fiscal(1, "a", "one", receipt=sale(50))
            self.assertEqual((answer["res"], answer["task_status"], answer["info"]["docno"]), (0, 1, "2"))
            patch.restore()
            self.assertEqual((self.shop.kinds(), self.questions), (["open", "sale"], questions))
            self.assertEqual(self.shop.fiscal(1, "b", "one", receipt=sale(50))["info"]["docno"], "3")


LOST = Unknown("no answer")
AWAY_NOW = Rejected(Away("no route"))
REFUSED_NOW = Rejected(Refused(Res.TAX_SERVICE_WRONG_DATA))
TAKEN, NOT_THERE = Accepted("77"), Absent()
ANOTHER = Unknown("another document", Res.COLLISION_UNSOLVABLE)
NO_KEY = Refused(Res.SIGNING_FAILED, "no key")
SILENCE = None


class Scripted(AskingCase):
    """`Asking` alone, at a tax service that gives each answer of a list."""

    def setUp(self) -> None:
        """The caller has just come."""
        super().setUp()
        self.clock, self.channel = self.shop.core.clock, self.shop.built()._channel
        self.asking = self.fresh()

    def fresh(self, tries: int = 0, lasts: float = 0.0) -> Asking:
        """As a register has it."""
        self.let_through = 0
        return Asking(self.channel, self.clock, self.insist, tries, lasts)

    def insist(self) -> None:
        """Count how often a question is let through."""
        self.let_through += 1

    def pass_(self, seconds: float) -> None:
        """Let time pass in steps of half a second, exact in a binary float."""
        self.shop.clock.pump([0.5] * int(seconds * 2))

    async def answer(self, answers: Iterator[Any]) -> Any:
        """The next of ``answers``: it is raised, is never given, or is given at once."""
        found = next(answers)
        if isinstance(found, Refused):
            raise found
        return await Deferred() if found is SILENCE else found

    def became(
        self,
        left: float,
        found: tuple[Any, ...],
        sends: tuple[Any, ...] = (),
        outcome: Any = LOST,
        tries: int = 0,
        lasts: float = 0.0,
        due: bool = False,
    ) -> tuple[Any, int, int, float]:
        """What became of a document with ``left`` seconds of its caller's time; questions, copies, seconds."""
        self.asking = self.fresh(tries, lasts)
        self.asking.begin()
        self.shop.clock.advance(ANSWERED_S - left)
        begun, asked, sent = self.clock.steady(), iter(found), iter(sends)
        questions: list[tuple[int, bytes]] = []

        def probe(number: int, bytes_: bytes) -> Any:
            questions.append((number, bytes_))
            return self.answer(asked)

        patched = self.patch(self.channel, "probe", probe)
        coroutine = self.asking.became(7, lambda: b"bytes", outcome, lambda: self.answer(sent), due)
        due_: Deferred[Any] = Deferred.fromCoroutine(coroutine)
        for _ in range(60):
            if not due_.called:
                self.shop.clock.advance(0.5)
        patched.restore()
        self.assertEqual((self.asking.under_way, self.let_through), (False, 1))
        self.assertEqual(questions, [(7, b"bytes")] * len(questions))
        copies = len(sends) - len(list(sent))
        return self.successResultOf(due_), len(questions), copies, self.clock.steady() - begun


class BecameTests(Scripted):
    """Which answers decide, and how much of the caller's time they take."""

    def assertBecame(self, wanted: tuple[Any, int, int, float], left: float, *answers: Any, **more: Any) -> None:
        """So it is, and every call that was delayed is done or taken back."""
        before = len(self.clock.getDelayedCalls())
        self.assertEqual(self.became(left, answers, **more), wanted, (left, answers, more))
        self.assertEqual(len(self.clock.getDelayedCalls()), before)

    def test_certain(self) -> None:
        """The document, another one under its number, and a refusal without an earlier copy end the questions."""
        self.assertBecame((TAKEN, 1, 0, 0), 18, TAKEN)
        self.assertBecame((ANOTHER, 1, 0, 0), 18, ANOTHER)
        self.assertBecame((REFUSED_NOW, 1, 0, 0), 18, NOT_THERE, outcome=REFUSED_NOW)
        self.assertBecame((TAKEN, 2, 0, 1), 18, LOST, TAKEN, outcome=REFUSED_NOW)

    def test_sent_again(self) -> None:
        """What is not there twice is sent again; a lost copy needs two more such answers before the next one."""
        twice = (NOT_THERE, NOT_THERE)
        self.assertBecame((TAKEN, 2, 1, 1), 18, *twice, sends=(TAKEN,))
        self.assertBecame((TAKEN, 2, 1, 1), 18, *twice, sends=(TAKEN,), outcome=AWAY_NOW)
        self.assertBecame((TAKEN, 4, 2, 2), 18, *twice, *twice, sends=(LOST, TAKEN))
        self.assertBecame((REFUSED_NOW, 3, 1, 1), 18, *twice, NOT_THERE, sends=(REFUSED_NOW,))

    def test_away_afterwards(self) -> None:
        """A copy that could not leave is certain, unless the document is due: then it is tried again."""
        twice = (NOT_THERE, NOT_THERE)
        self.assertBecame((AWAY_NOW, 2, 1, 1), 18, *twice, sends=(AWAY_NOW,))
        self.assertBecame((TAKEN, 4, 2, 3), 18, *twice, *twice, sends=(AWAY_NOW, TAKEN), due=True)

    def test_end_of_the_time(self) -> None:
        """Near its end nothing is sent again; what was not there twice is absent, once is no answer."""
        twice = (NOT_THERE, NOT_THERE)
        self.assertBecame((TAKEN, 2, 1, 1), 3.5, *twice, sends=(TAKEN,))
        self.assertBecame((NOT_THERE, 3, 0, 2), 3, *twice, NOT_THERE, sends=(TAKEN,))
        self.assertBecame((NOT_THERE, 2, 0, 1), 1.5, *twice)
        self.assertBecame((LOST, 1, 0, 0), 1, NOT_THERE)
        self.assertBecame((LOST, 0, 0, 0), 0)
        self.assertBecame((Unknown(str(NO_KEY)), 1, 0, 0), 1, NO_KEY)

    def test_silence(self) -> None:
        """A question may take the rest of the time; a copy leaves a second of it, to ask what became of it."""
        self.assertBecame((Unknown("no answer in 3 s"), 1, 0, 3), 3, SILENCE)
        self.assertBecame((TAKEN, 3, 1, 5), 6, NOT_THERE, NOT_THERE, TAKEN, sends=(SILENCE,))

    def test_tries(self) -> None:
        """So many questions in a row without an answer are enough, where that is set."""
        self.assertBecame((LOST, 2, 0, 1), 18, LOST, LOST, tries=2)
        self.assertBecame((TAKEN, 4, 0, 3), 18, LOST, NOT_THERE, LOST, TAKEN, tries=2)

    def test_lasts(self) -> None:
        """Where it is set, the questions have a time of their own, however long the caller has waited."""
        self.assertBecame((LOST, 3, 0, 2), 0, LOST, LOST, LOST, lasts=3.0)


class WaitingTests(Scripted):
    """How long an answer is waited for, and what a stop ends."""

    def test_submitted(self) -> None:
        """A document has the caller's time but five seconds, a second at least; without a caller there is no end."""
        for waited, limit in ((0, 13.0), (12, 1.0), (17.5, 1.0), (18, 0), (None, 0)):
            self.asking = self.fresh()
            if waited is not None:
                self.asking.begin()
                self.shop.clock.advance(waited)
            due: Deferred[Any] = Deferred.fromCoroutine(self.submitted())
            self.pass_(limit - 0.5 if limit else 100)
            self.assertNoResult(due)
            if limit:
                self.pass_(0.5)
                self.assertEqual(self.successResultOf(due), Unknown(f"no answer in {limit:g} s"))

    async def submitted(self) -> Any:
        """The outcome of a document that is never answered."""
        return await self.asking.submitted(lambda _: self.answer(iter((SILENCE,))), None)

    def test_answered_while_given_up(self) -> None:
        """What is certain at the moment at which it is given up counts."""

        async def late(_: object) -> Any:
            try:
                await Deferred()
            except CancelledError:
                return TAKEN

        async def submitted() -> Any:
            return await self.asking.submitted(late, None)

        self.asking.begin()
        due: Deferred[Any] = Deferred.fromCoroutine(submitted())
        self.pass_(13)
        self.assertEqual(self.successResultOf(due), TAKEN)

    def test_over(self) -> None:
        """The caller's time is over a second before its end; without a caller there is none that could be."""
        self.assertFalse(self.asking.over)
        self.asking.begin(caller=False)
        self.assertFalse(self.asking.over)
        self.asking.begin()
        self.pass_(16.5)
        self.assertFalse(self.asking.over)
        self.pass_(0.5)
        self.assertTrue(self.asking.over)

    def test_there(self) -> None:
        """Whether the tax service answers in time; the question is let through whatever happened before."""
        for answer, there in ((True, True), (False, False), (SILENCE, False)):
            self.asking = self.fresh()
            answered = iter((answer,))
            patched = self.patch(self.channel, "answers", lambda answered=answered: self.answer(answered))
            due = Deferred.fromCoroutine(self.asking.there(1.5))
            if answer is SILENCE:
                self.pass_(1)
                self.assertNoResult(due)
                self.pass_(0.5)
            patched.restore()
            self.assertEqual((self.successResultOf(due), self.let_through), (there, 1))

    def test_there_while_given_up(self) -> None:
        """An answer that comes at the moment at which it is given up counts, too."""

        async def late() -> bool:
            try:
                return bool(await Deferred())
            except CancelledError:
                return True

        self.patch(self.channel, "answers", late)
        due = Deferred.fromCoroutine(self.asking.there(1))
        self.pass_(1)
        self.assertTrue(self.successResultOf(due))

    def test_stopped(self) -> None:
        """A stop leaves it open what became of a document, though it was not there twice."""
        self.patch(self.channel, "probe", lambda *_: self.answer(iter((NOT_THERE,))))
        self.asking.begin()
        self.shop.clock.advance(ANSWERED_S - 2.5)
        became = self.asking.became(7, lambda: b"bytes", LOST, lambda: self.answer(iter(())), False)
        due: Deferred[Any] = Deferred.fromCoroutine(became)
        self.pass_(1)
        self.assertNoResult(due)
        self.asking.stop()
        self.assertIsInstance(self.successResultOf(due), Unknown)

    def test_pause(self) -> None:
        """A pause takes a second, if more than that is left; a stop ends it, and there is none afterwards."""
        self.asking.begin()
        pause = Deferred.fromCoroutine(self.asking.pause())
        self.pass_(0.5)
        self.assertTrue(self.asking.under_way)
        self.assertNoResult(pause)
        self.pass_(0.5)
        self.assertEqual((self.successResultOf(pause), self.asking.under_way), (True, False))
        self.pass_(16)
        self.assertFalse(self.successResultOf(Deferred.fromCoroutine(self.asking.pause())))
        self.asking.begin()
        before = len(self.clock.getDelayedCalls())
        pause = Deferred.fromCoroutine(self.asking.pause())
        self.asking.stop()
        self.assertEqual((self.successResultOf(pause), self.asking.under_way), (False, False))
        self.assertEqual(len(self.clock.getDelayedCalls()), before)
        self.assertFalse(self.successResultOf(Deferred.fromCoroutine(self.asking.pause())))
