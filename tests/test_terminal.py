"""The simulated bank terminal: what it decides, in which states, and what it still knows after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators import terminal
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Busy, Cause, Ending, Operation, Outcome, State, Terminal
from tests.specification import promises


class _WithTerminal(SynchronousTestCase):
    """A terminal whose operations end at once, with its ledger in a file."""

    duration = 0.0

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_790_000_000)
        self.path = Path(self.mktemp()).absolute() / "pos.ledger"
        self.terminal = self.started()
        self.seen: list[State] = []

    def started(self) -> Terminal:
        """The terminal as it starts on the ledger."""
        started = Terminal(self.clock, self.path, duration=self.duration)
        self.addCleanup(started.close)
        return started

    def restart(self) -> None:
        """Switch the terminal off and on."""
        self.terminal.close()
        self.terminal = self.started()

    def rule(self, on: str, then: str, **more: Any) -> None:
        """Let the next operation meet a rule."""
        self.terminal.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def ending(self, operation: Operation) -> Ending:
        """How the operation has ended."""
        return self.successResultOf(operation.ending)

    def outcome(self, operation: Operation) -> Outcome:
        """What came of the operation, which must have happened and be answered."""
        ending = self.ending(operation)
        self.assertEqual(ending.line, Then.ACCEPT)
        assert ending.outcome is not None
        return ending.outcome

    def told(self) -> list[tuple[str, str, int, str]]:
        """The ledger: kind, status, sum, ref."""
        return [(each.kind, each.status, each.sum, each.ref) for each in self.terminal.entries()]


class PaymentTests(_WithTerminal):
    """Money is taken, and all is said about it."""

    def test_approved(self) -> None:
        """A payment is approved in full, with RRN, receipt number, code, card and slip."""
        paid = self.outcome(self.terminal.purchase(12550))
        self.assertEqual((paid.approved, paid.amount, paid.asked, paid.code), (True, 12550, 12550, "00"))
        self.assertEqual((len(paid.rrn), paid.invoice, paid.stan, paid.batch, len(paid.auth_code)), (12, 1, 1, 1, 6))
        assert paid.card is not None
        self.assertRegex(paid.card.pan, r"^\d{6}\*{6}\d{4}$")
        for part in ("ОПЛАТА", "125.50 грн", paid.rrn, paid.auth_code, "СХВАЛЕНО", paid.card.pan):
            self.assertIn(part, paid.slip)
        self.assertFalse(paid.partial)
        [entry] = self.terminal.entries()
        self.assertEqual(
            (entry.kind, entry.status, entry.number, entry.sum), ("payment", "accepted", paid.rrn, 12550)
        )
        self.assertEqual((entry.ref, entry.dt), ("1", f"{paid.at:%Y%m%d%H%M%S}"))

    def test_numbers_grow(self) -> None:
        """Each payment has numbers of its own."""
        first, second = (self.outcome(self.terminal.purchase(100)) for _ in range(2))
        self.assertEqual((second.invoice, second.stan), (2, 2))
        self.assertNotEqual(first.rrn, second.rrn)

    def test_cashback(self) -> None:
        """Cash that is handed out is part of the sum; when there is none, the goods alone are paid."""
        paid = self.outcome(self.terminal.purchase(10000, cash=5000))
        self.assertEqual((paid.amount, paid.cash, paid.partial), (15000, 5000, False))
        self.rule("payment", "accept", code="no_cash")
        paid = self.outcome(self.terminal.purchase(10000, cash=5000))
        self.assertEqual((paid.amount, paid.cash, paid.partial, paid.code), (10000, 0, True, "10"))

    def test_partial(self) -> None:
        """The bank may approve a part, and that is what the ledger holds."""
        self.rule("payment", "accept", code="partial:5000")
        paid = self.outcome(self.terminal.purchase(12550))
        self.assertEqual((paid.approved, paid.amount, paid.asked, paid.partial), (True, 5000, 12550, True))
        self.assertEqual(self.told(), [("payment", "accepted", 5000, "1")])

    def test_refused_by_bank(self) -> None:
        """A refusal by the bank has its code, moves nothing and is in the ledger."""
        self.rule("payment", "refuse", code="51")
        refused = self.outcome(self.terminal.purchase(100))
        self.assertEqual((refused.approved, refused.cause, refused.code), (False, Cause.BANK, "51"))
        self.assertEqual((refused.amount, refused.rrn), (0, ""))
        self.assertIn("ВІДМОВА 51", refused.slip)
        self.assertEqual(self.told(), [("payment", "refused", 100, "1")])

    def test_refused_by_terminal(self) -> None:
        """Every cause of the terminal's own can be steered, has no bank code and takes no receipt number."""
        for cause in set(Cause) - {Cause.BANK}:
            self.rule("payment", "refuse", code=cause.value)
            refused = self.outcome(self.terminal.purchase(100))
            self.assertEqual((refused.cause, refused.code, refused.invoice), (cause, "", 0))

    def test_nothing_to_pay(self) -> None:
        """A payment of nothing is refused, for an unknown merchant too."""
        self.assertEqual(self.outcome(self.terminal.purchase(0)).cause, Cause.AMOUNT)
        self.assertEqual(self.outcome(self.terminal.purchase(1, merchant=7)).cause, Cause.MERCHANT)


class BackTests(_WithTerminal):
    """Money goes back once and not more than there was."""

    def test_cancel(self) -> None:
        """A cancel takes the sum from the journal and names in the ledger the RRN that it reverses."""
        paid = self.outcome(self.terminal.purchase(12550))
        back = self.outcome(self.terminal.cancel(1))
        self.assertEqual((back.approved, back.amount, back.reverses, back.card), (True, 12550, paid.rrn, paid.card))
        self.assertNotEqual(back.rrn, paid.rrn)
        self.assertEqual(self.told()[1], ("cancel", "accepted", 12550, paid.rrn))

    def test_cancel_twice(self) -> None:
        """The second cancel of a receipt is refused."""
        self.outcome(self.terminal.purchase(12550))
        self.outcome(self.terminal.cancel(1))
        self.assertEqual(self.outcome(self.terminal.cancel(1)).cause, Cause.REVERSED)
        self.assertEqual(self.told()[2], ("cancel", "refused", 0, "1"))

    def test_cancel_of_other_batch(self) -> None:
        """After a settlement nothing of before can be cancelled, although the numbers start again."""
        self.outcome(self.terminal.purchase(100))
        self.outcome(self.terminal.settle())
        self.assertEqual(self.outcome(self.terminal.cancel(1)).cause, Cause.NOT_FOUND)
        paid = self.outcome(self.terminal.purchase(200))
        self.assertEqual((paid.invoice, paid.batch), (1, 2))
        self.assertEqual(self.outcome(self.terminal.cancel(1)).amount, 200)

    def test_cancel_part(self) -> None:
        """Parts are cancelled as long as something is left."""
        self.outcome(self.terminal.purchase(1000))
        self.assertEqual(self.outcome(self.terminal.cancel(1, amount=400)).amount, 400)
        self.assertEqual(self.outcome(self.terminal.cancel(1, amount=601)).cause, Cause.AMOUNT)
        self.assertEqual(self.outcome(self.terminal.cancel(1)).amount, 600)
        self.assertEqual(self.outcome(self.terminal.cancel(1, amount=1)).cause, Cause.REVERSED)

    def test_cancel_last_and_by_stan(self) -> None:
        """Without a number the last operation is meant; a STAN names one too."""
        self.outcome(self.terminal.purchase(100))
        second = self.outcome(self.terminal.purchase(200))
        self.assertEqual(self.outcome(self.terminal.cancel(stan=1)).amount, 100)
        self.assertEqual(self.outcome(self.terminal.cancel()).reverses, second.rrn)

    def test_cancel_of_refused(self) -> None:
        """What the bank refused cannot be cancelled."""
        self.rule("payment", "refuse")
        self.outcome(self.terminal.purchase(100))
        self.assertEqual(self.outcome(self.terminal.cancel(1)).cause, Cause.NOT_FOUND)

    def test_refund(self) -> None:
        """Refunds of a payment never exceed it, in a later batch too."""
        paid = self.outcome(self.terminal.purchase(1000))
        self.outcome(self.terminal.settle())
        self.assertTrue(self.outcome(self.terminal.refund(700, rrn=paid.rrn)).approved)
        self.assertEqual(self.outcome(self.terminal.refund(301, rrn=paid.rrn)).cause, Cause.AMOUNT)
        self.assertTrue(self.outcome(self.terminal.refund(300, rrn=paid.rrn)).approved)
        self.assertEqual(self.outcome(self.terminal.refund(1, rrn=paid.rrn)).cause, Cause.REVERSED)

    def test_refund_of_unknown(self) -> None:
        """A refund for an RRN that the bank does not know is refused; without an RRN it is given."""
        self.assertEqual(self.outcome(self.terminal.refund(100, rrn="000000000000")).cause, Cause.NOT_FOUND)
        self.assertTrue(self.outcome(self.terminal.refund(100)).approved)

    def test_reversal_of_its_own(self) -> None:
        """The terminal can take a payment back unasked, once."""
        paid = self.outcome(self.terminal.purchase(100))
        back = self.terminal.reverse(paid.rrn)
        assert back is not None
        self.assertEqual((back.kind, back.amount, back.reverses), ("cancel", 100, paid.rrn))
        self.assertIsNone(self.terminal.reverse(paid.rrn))
        self.assertIsNone(self.terminal.reverse("unknown"))


class ReportTests(_WithTerminal):
    """Totals add up, and a settlement closes them."""

    @promises("3.1f.1")
    def test_totals(self) -> None:
        """The report adds up what the batch holds and changes nothing."""
        paid = [self.outcome(self.terminal.purchase(amount)) for amount in (1000, 500)]
        self.outcome(self.terminal.refund(200, rrn=paid[0].rrn))
        self.outcome(self.terminal.cancel(2))
        self.outcome(self.terminal.cancel(3))
        for _ in range(2):
            totals = self.outcome(self.terminal.report()).totals
            assert totals is not None
            self.assertEqual((totals.payments, totals.payments_sum), (2, 1500))
            self.assertEqual((totals.refunds, totals.refunds_sum), (1, 200))
            self.assertEqual((totals.cancels, totals.cancels_sum, totals.net), (2, 700, 1000))
            self.assertEqual((totals.first, totals.last, totals.count), (1, 5, 5))

    @promises("3.1f.1")
    def test_settlement(self) -> None:
        """A settlement has the totals, is in the ledger and leaves an empty batch."""
        self.outcome(self.terminal.purchase(1000))
        settled = self.outcome(self.terminal.settle())
        assert settled.totals is not None
        self.assertEqual((settled.totals.net, settled.amount), (1000, 1000))
        self.assertEqual(self.told()[1], ("settlement", "accepted", 1000, "1"))
        self.assertEqual((self.terminal.batch, self.terminal.totals().count), (2, 0))

    def test_settlement_refused(self) -> None:
        """A refused settlement leaves the batch open."""
        self.outcome(self.terminal.purchase(1000))
        self.rule("settlement", "refuse", code="no_link")
        self.assertEqual(self.outcome(self.terminal.settle()).cause, Cause.NO_LINK)
        self.assertEqual((self.terminal.batch, self.terminal.totals().count), (1, 1))

    def test_card(self) -> None:
        """A card that was read pays later without being asked for again."""
        card = self.outcome(self.terminal.read_card()).card
        assert card is not None
        seen: list[State] = []
        paid = self.outcome(self.terminal.purchase(100, card=card, progress=seen.append))
        self.assertEqual((paid.card, State.WAITING_CARD in seen), (card, False))
        self.assertEqual(len(self.terminal.entries()), 1)


class LineTests(_WithTerminal):
    """Each wish of the scenario says what happens to the line and whether money moved."""

    def test_nothing_happened(self) -> None:
        """Lost before, silent and unreachable leave no trace, and the terminal is free."""
        for then, line in (
            ("lost_before", Then.LOST_BEFORE),
            ("silent", Then.SILENT),
            ("unreachable", Then.LOST_BEFORE),
        ):
            self.rule("payment", then)
            operation = self.terminal.purchase(100)
            self.assertEqual(operation.fate, line)
            self.assertEqual(self.ending(operation), Ending(line, None))
        self.assertEqual(self.told(), [])
        self.assertIsNone(self.terminal.running)

    def test_it_happened(self) -> None:
        """Lost after and garbage took the money."""
        for then in (Then.LOST_AFTER, Then.GARBAGE):
            self.rule("any", then.value)
            operation = self.terminal.purchase(100)
            ending = self.ending(operation)
            self.assertEqual((operation.fate, ending.line), (then, then))
            assert ending.outcome is not None
            self.assertTrue(ending.outcome.approved)
        self.assertEqual(len(self.told()), 2)

    def test_caller_turned_away(self) -> None:
        """An unreachable terminal takes no call, once for each time of the rule."""
        self.assertTrue(self.terminal.takes_call())
        self.rule("payment", "unreachable", times=2)
        self.assertEqual([self.terminal.takes_call() for _ in range(3)], [False, False, True])

    def test_probe(self) -> None:
        """Queries meet rules for `probe` alone."""
        self.rule("any", "silent")
        self.assertEqual(self.terminal.probe().line, Then.ACCEPT)
        self.rule("probe", "refuse", code="7", delay_ms=500)
        fate = self.terminal.probe()
        self.assertEqual((fate.line, fate.code, fate.delay), (Then.REFUSE, "7", 0.5))
        self.rule("probe", "unreachable")
        self.assertEqual(self.terminal.probe().line, Then.LOST_BEFORE)

    def test_busy_for_another(self) -> None:
        """A terminal that works for another till refuses and writes nothing."""
        self.rule("payment", "refuse", code="busy")
        self.assertRaises(Busy, self.terminal.purchase, 100)
        self.assertEqual(self.told(), [])
        self.assertTrue(self.outcome(self.terminal.purchase(100)).approved)


class StateTests(_WithTerminal):
    """States follow each other in their time."""

    duration = 1.5

    def test_states(self) -> None:
        """A payment walks from card to slip in its duration, and one who watches sees each state."""
        operation = self.terminal.purchase(100, progress=self.seen.append)
        self.clock.pump([0.3] * 4 + [0.299])
        self.assertNoResult(operation.ending)
        self.clock.advance(0.01)
        self.assertTrue(self.outcome(operation).approved)
        states = [State.WAITING_CARD, State.CARD_READ, State.PIN, State.AUTHORISING, State.PRINTING]
        self.assertEqual(self.seen, states)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_states_follow_the_clock(self) -> None:
        """The bank has the payment before the slip is printed."""
        self.terminal.purchase(100)
        for _ in range(3):
            self.clock.advance(0.3)
        self.assertEqual((self.terminal.state, self.told()), (State.AUTHORISING, []))
        self.clock.advance(0.31)
        self.assertEqual((self.terminal.state, len(self.told())), (State.PRINTING, 1))

    def test_busy(self) -> None:
        """While one operation runs there is no other, and no rule is used up."""
        operation = self.terminal.purchase(100)
        self.rule("payment", "refuse")
        self.assertRaises(Busy, self.terminal.purchase, 200)
        self.clock.pump([0.4] * 5)
        self.assertTrue(self.outcome(operation).approved)
        refused = self.terminal.purchase(200)
        self.clock.pump([0.4] * 5)
        self.assertFalse(self.outcome(refused).approved)

    def test_delay(self) -> None:
        """A delay makes the bank slow."""
        self.rule("payment", "accept", delay_ms=10_000)
        operation = self.terminal.purchase(100)
        self.clock.pump([0.31] * 5)
        self.assertEqual((self.terminal.state, self.told()), (State.AUTHORISING, []))
        self.clock.advance(9)
        self.assertNoResult(operation.ending)
        self.clock.pump([1, 0.31])
        self.assertTrue(self.outcome(operation).approved)

    def test_delay_before_the_line_breaks(self) -> None:
        """A line that breaks before anything happened breaks after the delay."""
        self.rule("payment", "lost_before", delay_ms=2000)
        operation = self.terminal.purchase(100)
        self.clock.advance(1.9)
        self.assertNoResult(operation.ending)
        self.clock.advance(0.2)
        self.assertEqual(self.ending(operation).line, Then.LOST_BEFORE)

    def test_interrupted_in_time(self) -> None:
        """Before the bank is asked an interrupt cancels."""
        for steps in range(3):
            operation = self.terminal.purchase(100)
            self.clock.pump([0.31] * steps)
            self.assertTrue(self.terminal.interrupt())
            self.assertEqual(self.outcome(operation).cause, Cause.CANCELLED)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.told(), [("payment", "refused", 100, "")] * 3)

    def test_interrupted_too_late(self) -> None:
        """Once the bank is asked an interrupt changes nothing."""
        for steps in (3, 4):
            operation = self.terminal.purchase(100)
            self.clock.pump([0.31] * steps)
            self.assertFalse(self.terminal.interrupt())
            self.clock.pump([0.31] * 3)
            self.assertTrue(self.outcome(operation).approved)
        self.assertFalse(self.terminal.interrupt())

    def test_interrupted_by_who_watches(self) -> None:
        """An interrupt may come from the callback for a state."""
        operation = self.terminal.purchase(100, progress=lambda _: self.assertTrue(self.terminal.interrupt()))
        self.assertEqual(self.outcome(operation).cause, Cause.CANCELLED)

    def test_held(self) -> None:
        """A held purchase waits for the cashier, who may change the sum."""
        operation = self.terminal.purchase(1000, hold=True)
        self.assertFalse(self.terminal.correct(900))
        self.clock.pump([0.31] * 20)
        self.assertEqual(self.terminal.state, State.HELD)
        assert operation.card is not None
        self.assertTrue(self.terminal.correct(900))
        self.clock.pump([0.31] * 5)
        paid = self.outcome(operation)
        self.assertEqual((paid.amount, paid.asked), (900, 900))

    def test_held_too_long(self) -> None:
        """When the cashier does not come, the purchase goes on with the first sum."""
        operation = self.terminal.purchase(1000, hold=True)
        self.clock.pump([0.31] * 2)
        self.clock.advance(60)
        self.clock.pump([0.31] * 5)
        self.assertEqual(self.outcome(operation).amount, 1000)

    def test_held_and_interrupted(self) -> None:
        """A held purchase can be given up."""
        operation = self.terminal.purchase(1000, hold=True)
        self.clock.pump([0.31] * 3)
        self.assertTrue(self.terminal.interrupt())
        self.assertEqual(self.outcome(operation).cause, Cause.CANCELLED)


class MemoryTests(_WithTerminal):
    """What happened outlives a restart."""

    def test_restart(self) -> None:
        """Numbers, batch, last operation and what is left to give back are as before."""
        self.outcome(self.terminal.purchase(500))
        self.outcome(self.terminal.settle())
        paid = self.outcome(self.terminal.purchase(1000, reference="till-1"))
        self.outcome(self.terminal.cancel(1, amount=400))
        before = (self.terminal.last(), self.terminal.totals(), self.terminal.find("till-1"))
        self.restart()
        self.assertEqual((self.terminal.last(), self.terminal.totals(), self.terminal.find("till-1")), before)
        self.assertEqual((self.terminal.batch, self.terminal.left_of(paid)), (2, 600))
        after = self.outcome(self.terminal.purchase(1))
        self.assertEqual((after.invoice, after.stan), (3, 5))

    def test_look_up(self) -> None:
        """An operation is found by RRN, receipt number and the till's own reference."""
        self.assertIsNone(self.terminal.last())
        paid = self.outcome(self.terminal.purchase(100, reference="a"))
        other = self.outcome(self.terminal.purchase(200, reference="b"))
        self.assertEqual(self.terminal.find("a"), paid)
        self.assertEqual(self.terminal.find_rrn(paid.rrn), paid)
        self.assertEqual(self.terminal.find_invoice(1), paid)
        self.assertEqual(self.terminal.find_invoice(1), paid)
        self.assertEqual((self.terminal.find_invoice(0), self.terminal.last()), (other, other))
        settled = self.outcome(self.terminal.settle())
        self.assertEqual((self.terminal.last(), self.terminal.last_receipt()), (settled, other))
        self.assertEqual(
            (self.terminal.find("c"), self.terminal.find_rrn(""), self.terminal.find_invoice(3)), (None,) * 3
        )

    def test_journal_lost(self) -> None:
        """With the ledger alone, numbers, sums and reversals are still right."""
        self.outcome(self.terminal.purchase(500))
        paid = self.outcome(self.terminal.purchase(1000))
        self.outcome(self.terminal.cancel(1))
        self.terminal.close()
        self.path.with_name("pos.ledger.journal").unlink()
        self.terminal = self.started()
        self.assertEqual((self.terminal.totals().net, self.terminal.totals().last), (1000, 3))
        self.assertEqual(self.outcome(self.terminal.cancel(1)).cause, Cause.REVERSED)
        self.assertEqual(self.outcome(self.terminal.cancel(2)).reverses, paid.rrn)

    def test_journal_ahead(self) -> None:
        """An operation that came into the journal and not into the ledger never happened."""
        self.outcome(self.terminal.purchase(500, reference="a"))
        entry = self.path.read_bytes()
        self.outcome(self.terminal.purchase(600, reference="b"))
        self.terminal.close()
        self.path.write_bytes(entry)
        self.terminal = self.started()
        self.assertIsNone(self.terminal.find("b"))
        paid = self.outcome(self.terminal.purchase(700, reference="c"))
        self.assertEqual(paid.invoice, 2)
        self.restart()
        self.assertEqual((self.terminal.find("b"), self.terminal.find("c")), (None, paid))

    def test_journal_of_another(self) -> None:
        """Where journal and ledger differ, the ledger is right."""
        paid = self.outcome(self.terminal.purchase(500))
        self.terminal.close()
        self.path.write_bytes(self.path.read_bytes().replace(paid.rrn.encode(), b"111111111111"))
        self.terminal = self.started()
        self.assertIsNone(self.terminal.find_rrn(paid.rrn))
        found = self.terminal.find_rrn("111111111111")
        assert found is not None
        self.assertEqual((found.amount, found.invoice), (500, 1))

    def test_long_memory(self) -> None:
        """Operations too old to be remembered are counted all the same after a restart."""
        self.patch(terminal, "JOURNAL_SIZE", 3)
        for step in ("pay", "pay", "settle", "pay", "cancel", "pay", "pay"):
            begin = {"pay": lambda: self.terminal.purchase(100), "settle": self.terminal.settle}
            self.outcome(begin.get(step, self.terminal.cancel)())
        for _ in range(2):
            last = self.terminal.last()
            assert last is not None
            self.assertEqual((last.invoice, last.stan, self.terminal.batch), (4, 7, 2))
            self.assertEqual(self.terminal.totals().count, 3)
            self.restart()

    def test_journal_cut_anywhere(self) -> None:
        """A line of the journal that a crash cut short is dropped."""
        self.outcome(self.terminal.purchase(500, reference="a"))
        journal = self.path.with_name("pos.ledger.journal")
        first, entry = journal.read_bytes(), self.path.read_bytes()
        self.outcome(self.terminal.purchase(600, reference="b"))
        whole = journal.read_bytes()
        for end in range(len(first), len(whole), 7):
            self.terminal.close()
            journal.write_bytes(whole[:end])
            self.path.write_bytes(entry)
            self.terminal = self.started()
            self.assertIsNotNone(self.terminal.find("a"))
            self.outcome(self.terminal.purchase(700, reference="c"))
            self.restart()
            self.assertIsNotNone(self.terminal.find("c"), end)

    def test_in_memory(self) -> None:
        """Without a file a terminal works all the same."""
        forgetful = Terminal(self.clock, duration=0)
        self.outcome(forgetful.purchase(100))
        self.assertEqual(len(forgetful.entries()), 1)

    def test_closed_in_operation(self) -> None:
        """A terminal that is switched off in the middle leaves no timer."""
        switched = Terminal(self.clock)
        operation = switched.purchase(100)
        switched.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertNoResult(operation.ending)
