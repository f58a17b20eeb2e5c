"""The sum that a terminal approves is the one that it was asked for, or the operation is no success."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Action, Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.terminals.interface import Approved, Declined, Order, Task
from dmtwisted.terminals.journal import operation_of
from dmtwisted.terminals.sums import LESS, AnotherSum, checked
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.terminals.amounts import NOT_A_SUM, signed
from tests.test_nexo_driver import NexoDesk
from tests.test_privatbank_driver import PrivatbankDesk
from tests.test_zvt_driver import ZvtDesk


async def _full(*_: object) -> None:
    raise StoreFailed("disk is full")


def asked(task: int = Task.PAYMENT, sum: int = 10_000, **more: Any) -> Order:
    """An order, over 100.00 unless it says otherwise."""
    return Order(task=task, uid="u", sum=sum, **more)


class CheckedTests(SynchronousTestCase):
    """What becomes of a reported sum."""

    def test_same(self) -> None:
        """The same sum is a plain approval, whatever words came with it."""
        self.assertEqual(checked(asked(), Approved(sum=10_000, partial="code 0000")), Approved(sum=10_000))
        self.assertEqual(checked(asked(sum=0, cash=500), Approved(sum=500)), Approved(sum=500))

    def test_less(self) -> None:
        """A smaller one is kept as it is, with a reason."""
        self.assertEqual(checked(asked(), Approved(sum=1)), Approved(sum=1, partial=LESS))
        self.assertEqual(checked(asked(), Approved(sum=1, partial="no cash")), Approved(sum=1, partial="no cash"))

    def test_cannot_be(self) -> None:
        """More, zero, less than zero or no number at all is neither an approval nor a refusal."""
        for task in (Task.PAYMENT, Task.REFUND, Task.CANCEL, Task.CASH_ISSUE, Task.INSTALMENTS, Task.BANK_SERVICE):
            for said in (10_001, 99_999_900, 0, -1, -10_000, NOT_A_SUM):
                with self.assertRaises(AnotherSum) as raised:
                    checked(asked(task), Approved(sum=said))
                refused = raised.exception.refused()
                self.assertEqual((refused.res, refused.action), (Res.ANOTHER_SUM, Action.COLLISION))
                for language in ("uk", "en"):
                    self.assertIn("100.00", refused.errortxt(language))
                    self.assertNotIn("-1000000", refused.errortxt(language))

    def test_forgotten(self) -> None:
        """A driver that gives no sum has not approved; only `None` says that its wire names none."""
        self.assertRaises(AnotherSum, checked, asked(), Approved())
        self.assertEqual(checked(asked(), Approved(sum=None, partial="x")), Approved(sum=10_000))

    def test_nothing_asked(self) -> None:
        """Reports and cards have no sum; a cancel that names none takes the terminal's own, if it can be one."""
        for task in (Task.SETTLEMENT, Task.TOTALS, Task.DISCOUNT_CARD):
            self.assertEqual(checked(asked(task, 0), Approved(sum=-5)), Approved())
        self.assertEqual(checked(asked(Task.CANCEL, 0), Approved(sum=700)), Approved(sum=700))
        self.assertRaises(AnotherSum, checked, asked(Task.CANCEL, 0), Approved(sum=-1))

    def test_corrected(self) -> None:
        """When task 7 came too late for its sum, the first one was taken: that is known, and no success."""
        self.assertEqual(checked(asked(corrected=8000), Approved(sum=8000)), Approved(sum=8000))
        self.assertEqual(checked(asked(corrected=8000), Approved(sum=10_000)), Approved(sum=10_000, partial=LESS))
        self.assertRaises(AnotherSum, checked, asked(corrected=8000), Approved(sum=10_001))
        self.assertRaises(AnotherSum, checked, asked(corrected=12_000), Approved(sum=12_001))

    def test_declined(self) -> None:
        """A refusal has no sum to compare."""
        declined = Declined.of(Res.BANK_REFUSED)
        self.assertIs(checked(asked(), declined), declined)

    def test_signed(self) -> None:
        """A sum as text: missing, a whole number, or none."""
        texts = {"": None, " ": None, "12": 12, "-12": -12, "--12": NOT_A_SUM, "1e3": NOT_A_SUM, "٣": NOT_A_SUM}
        for text, number in texts.items():
            self.assertEqual(signed(text), number, text)
        self.assertEqual(signed("9" * 16), NOT_A_SUM)


class StoredTests(PrivatbankDesk):
    """An operation whose terminal approved another sum."""

    def other(self, code: str = "sum:99999900", **pay: Any) -> str:
        """The label of a payment that is in doubt for that reason."""
        label = str(uuid4())
        self.rule("payment", "accept", code)
        self.assertAnswer(self.pay(label=label, **pay), 5075, 2)
        return label

    def test_settled_as_approved(self) -> None:
        """A person who confirms the slip confirms its sum: 5075 with what the terminal reported, never with ours."""
        label = self.other()
        self.done(self.service.settle(self.rows()[-1], True))
        answer = self.pay(17, label)
        self.assertAnswer(answer, 5075, 3)
        self.assertEqual((answer["info"]["sum"], answer["info"]["sum_asked"]), (999_999.0, 100.0))
        row = self.rows()[-1]
        self.assertEqual((str(row.state), row.res), ("done", 5075))

    def test_settled_and_repeated(self) -> None:
        """What a person confirmed reached no caller: where lost answers are returned, the repeat gets it."""
        self.service.driver.return_lost_answer = True
        label = self.other()
        self.done(self.service.settle(self.rows()[-1], True))
        self.assertAnswer(self.pay(label=label), 5075, 3)
        self.assertEqual(self.states(), ["done"])
        # Now it did: the same request is a new payment.
        self.assertAnswer(self.pay(label=label), 0, 0)

    def test_settled_without_a_sum(self) -> None:
        """Where the terminal named no sum that money can have, the person confirms the one that was asked for."""
        label = self.other("sum:nan")
        self.done(self.service.settle(self.rows()[-1], True))
        self.assertEqual(self.pay(17, label)["info"]["sum"], 100.0)

    def test_settled_as_refused(self) -> None:
        """A person who read that nothing was taken frees the terminal."""
        label = self.other()
        self.done(self.service.settle(self.rows()[-1], False))
        self.assertAnswer(self.pay(17, label), 5014, 1)
        self.assertAnswer(self.pay(sum=5), 0, 0)

    def test_never_believed_again(self) -> None:
        """After that approval the terminal is not asked: what it says later ends nothing, a late answer neither."""
        label = self.other()
        row = operation_of(self.rows()[-1])
        heard = len(self.endpoint.sent)
        for said in (Approved(sum=10_000, rrn="1"), Declined.of(Res.BANK_REFUSED)):
            self.service.driver._late(row.record.order.uid, said)
            self.assertAnswer(self.pay(17, label), 5075, 2)
        self.assertEqual((len(self.endpoint.sent), self.states()[-1]), (heard, "unknown"))
        self.flushLoggedErrors()

    def test_late(self) -> None:
        """A late approval over more than was asked for leaves the operation to a person, and keeps what was said."""
        label = str(uuid4())
        self.rule("payment", "lost_before")
        self.rule("probe", "silent")
        self.pay(label=label)
        row = operation_of(self.rows()[-1])
        self.no_rules()
        self.service._recovery._expect(row)
        self.service._recovery.late(row.record.order.uid, Approved(sum=10_001, rrn="1"))
        self.assertEqual(self.states()[-1], "unknown")
        self.assertAnswer(self.pay(17, label), 5075, 2)
        other = operation_of(self.rows()[-1]).record.other
        assert other is not None
        self.assertEqual(other.sum, 10_001)

    def test_late_and_not_stored(self) -> None:
        """A late approval that the store did not take is stored before its label is looked up: nobody pays twice."""
        label = str(uuid4())
        self.pay(sum=1)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(label=label), 5014, 1)
        row = operation_of(self.rows()[-1])
        patched = self.patch(self.store, "conclude", _full)
        self.service._recovery.late(row.record.order.uid, Approved(sum=10_000, rrn="1"))
        patched.restore()
        self.assertEqual((len(self.flushLoggedErrors(StoreFailed)), self.states()[-1]), (1, "refused"))
        self.assertAnswer(self.pay(label=label, search=2), 0, 0)
        self.assertEqual(self.states()[-1], "done")

    def test_refund_and_cancel(self) -> None:
        """A refund or a cancel over another sum is no success either."""
        paid = self.pay()["info"]
        self.rule("refund", "accept", "sum:4000")
        answer = self.pay(2, sum=100, refundid=paid["refundid"])
        self.assertAnswer(answer, 5075, 3)
        self.assertEqual((answer["info"]["sum"], answer["info"]["sum_asked"]), (40.0, 100.0))
        paid = self.pay()["info"]
        self.rule("cancel", "accept", "sum:99999900")
        self.assertAnswer(self.pay(3, cancelid=paid["cancelid"]), 5075, 2)
        self.assertEqual(self.states()[-1], "unknown")

    def test_repeats(self) -> None:
        """A partial approval is stored with its sum: every repeat of its label gets it, and nothing moves."""
        label = str(uuid4())
        self.rule("payment", "accept", "partial:4000")
        first = self.pay(label=label)
        for again in (self.pay(17, label), self.pay(label=label, search=2), self.pay(label=label, search=1)):
            self.assertEqual(
                (again["res"], again["info"], again["warnings"]), (5075, first["info"], first["warnings"])
            )
        self.assertEqual((self.taken(), [row.res for row in self.rows()]), ([4000], [5075]))

    def test_warned(self) -> None:
        """A new payment under the label of a partial one warns that this part was taken."""
        label = str(uuid4())
        self.rule("payment", "accept", "partial:4000")
        self.pay(label=label)
        [warning] = self.pay(label=label)["warnings"]
        self.assertEqual(warning["code"], 3004)
        self.assertIn("40.00", warning["wtxt"])

    def test_cash_alone(self) -> None:
        """Cash that was not given is nothing at all: a person looks at the slip."""
        self.rule("payment", "accept", "no_cash")
        self.assertAnswer(self.pay(14, cash=50), 5075, 2)


class ZvtCurrencyTests(ZvtDesk):
    """A sum in another currency is no sum."""

    def test_zvt(self) -> None:
        """A ZVT booking in another currency than that of the settings is a person's."""
        driver = self.service.driver
        driver._settings = msgspec.structs.replace(driver._settings, currency=978)
        answer = self.pay()
        self.assertAnswer(answer, 5075, 2)
        self.assertIn("unreadable", answer["errortxt"])


class NexoCurrencyTests(NexoDesk):
    """The same on nexo."""

    def test_nexo(self) -> None:
        """A nexo approval in another currency than that of the settings is a person's."""
        driver = self.service.driver
        driver._settings = msgspec.structs.replace(driver._settings, currency="EUR")
        self.assertAnswer(self.pay(), 5075, 2)


class CardSumTests(PrivatbankDesk):
    """Tasks 6 and 7 with another sum."""

    def device(self) -> PrivatbankSimulator:
        """A terminal that stops at the card."""
        return PrivatbankSimulator(self.terminal, self.clock, adjust=5.0)

    def test_more_than_either(self) -> None:
        """More than both tasks asked for is a person's, and the terminal is free again once the slip was read."""
        self.rule("payment", "accept", "sum:99999900")
        self.assertAnswer(self.pay(6, sum=100), 0, 0)
        self.assertAnswer(self.pay(7, sum=80), 5075, 2)
        self.done(self.service.settle(self.rows()[-1], False))
        self.far = PrivatbankSimulator(self.terminal, self.clock)
        self.endpoint.hang_up()
        self.assertAnswer(self.pay(sum=5), 0, 0)
