"""A lost answer is settled while its caller waits: how long, how often, and what is never done."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.channels.tax_service import TaxServiceChannel
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
