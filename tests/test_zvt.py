"""A till on a ZVT line: its dialogue byte by byte, its limits, and whole operations against the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.test import iosim
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, Silent
from protocols.simulators.terminal import Terminal
from protocols.simulators.zvt import TerminalSettings, ZvtLine, ZvtTerminal
from protocols.terminals.zvt import codes
from protocols.terminals.zvt import messages as m
from protocols.terminals.zvt.apdu import Apdu, ApduDeframer
from protocols.terminals.zvt.protocol import ZvtAnswer, ZvtProtocol, ZvtSettings
from tests.vectors.zvt import APDUS, BANNER

RAW = {vector.name: vector.raw for vector in APDUS}
APPROVED, ABORTED_BY_CUSTOMER, ABORT = RAW["zvt-013"], RAW["zvt-011"], RAW["zvt-026"]
YES, NO_GOODS = bytes.fromhex("800000"), bytes.fromhex("846600")
DONE = bytes.fromhex("060f00")
INSERT_CARD = bytes.fromhex("04ff010a")
APPROVED_MESSAGE = m.decode(Apdu.decode(APPROVED))


class _Store:
    """Keeps status information at once, later, or never."""

    def __init__(self) -> None:
        self.kept: list[m.StatusInformation] = []
        self.answer: Callable[[], object] = lambda: None

    def __call__(self, status: m.StatusInformation) -> object:
        self.kept.append(status)
        return self.answer()


class _AtTheTill(SynchronousTestCase):
    """The till's end on a transport in memory."""

    settings = ZvtSettings(currency=978)

    def setUp(self) -> None:
        self.clock = Clock()
        self.transport = StringTransport()
        self.strays: list[m.Message] = []
        self.protocol = ZvtProtocol(self.clock, self.settings, self.strays.append)
        self.protocol.makeConnection(self.transport)
        self.store = _Store()

    def says(self, *messages: bytes) -> bytes:
        """What the till writes when the terminal says ``messages``."""
        for message in messages:
            self.protocol.dataReceived(message)
        return self.written()

    def written(self) -> bytes:
        """What the till has written since the last look."""
        value = self.transport.value()
        self.transport.clear()
        return cast(bytes, value)

    def pay(self, **more: Any) -> Deferred[ZvtAnswer]:
        """A payment whose command was taken."""
        due = self.protocol.pay(2040, self.store, **more)
        self.written()
        self.protocol.dataReceived(YES)
        return due

    def answer(self, due: Deferred[ZvtAnswer]) -> ZvtAnswer:
        """How the operation has ended; nothing may be left behind."""
        answer = self.successResultOf(due)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        return answer


class DialogueTests(_AtTheTill):
    """Who says what, byte by byte."""

    def test_payment(self) -> None:
        """The recorded payment: each message of the terminal is acknowledged, and the till knows how it went."""
        states: list[int] = []
        due = self.protocol.pay(1250, self.store, progress=lambda state: states.append(state.status))
        self.assertEqual(self.written(), RAW["zvt-054"])
        self.assertEqual(self.says(YES), b"")
        self.assertEqual(self.says(INSERT_CARD), YES)
        self.assertEqual(self.says(APPROVED), YES)
        self.assertNoResult(due)
        self.assertEqual(self.says(DONE), YES)
        answer = self.answer(due)
        self.assertTrue(answer.approved)
        self.assertEqual((answer.status, self.store.kept), (APPROVED_MESSAGE, [APPROVED_MESSAGE]))
        self.assertEqual((states, answer.states), ([0x0A], (0x0A,)))
        self.assertFalse(answer.doubtful)

    def test_customer_abort(self) -> None:
        """The recorded abort: a status information with 6C and an abort."""
        due = self.protocol.pay(1000, self.store)
        self.assertEqual(self.says(YES, ABORTED_BY_CUSTOMER, ABORT)[-6:], YES * 2)
        answer = self.answer(due)
        self.assertEqual((answer.taken, answer.completed, answer.result), (True, False, codes.ABORTED))
        self.assertFalse(answer.approved or answer.doubtful)

    def test_cut_anywhere(self) -> None:
        """The dialogue goes the same way wherever the line cuts it."""
        stream = YES + INSERT_CARD + APPROVED + DONE
        for cut in range(len(stream)):
            due = self.protocol.pay(2040, self.store)
            self.says(stream[:cut], stream[cut:])
            self.assertTrue(self.answer(due).approved, cut)

    def test_registration(self) -> None:
        """The till introduces itself with password, configuration, currency and the wish for whole slips."""
        due = self.protocol.register()
        self.assertEqual(self.written(), bytes.fromhex("06 00 0e 00 00 00 be 09 78 06 06 26 04 0a 02 06 d3"))
        self.says(YES, RAW["zvt-024"])
        self.assertTrue(self.answer(due).done)

    def test_registration_without_slips(self) -> None:
        """A terminal that prints its own slips is registered so."""
        settings = ZvtSettings(password="123456", slips=False, locks_menu=False)
        self.protocol = ZvtProtocol(self.clock, settings)
        self.protocol.makeConnection(self.transport)
        due = self.protocol.register()
        self.assertEqual(self.written(), bytes.fromhex("06 00 06 12 34 56 08 09 80"))
        self.says(YES, DONE)
        self.assertTrue(self.answer(due).done)

    def test_commands(self) -> None:
        """Every operation sends its command."""
        for begin, raw in (
            (lambda p: p.status(), "05 01 00"),
            (lambda p: p.refund(100, self.store), "06 31 0d 000000 04 000000000100 49 0978"),
            (lambda p: p.reverse(473, self.store), "06 30 06 000000 87 0473"),
            (lambda p: p.settle(self.store), "06 50 03 000000"),
            (lambda p: p.totals(), "06 10 03 000000"),
            (lambda p: p.last_result(), "06 20 05 000000 03 03"),
            (lambda p: p.reprint(), "06 20 03 000000"),
            (lambda p: p.diagnose(), "06 70 00"),
            (
                lambda p: p.pay(100, self.store, receipt_known=7),
                "06 01 11 04 000000000100 49 0978 06 05 1f1f 02 0007",
            ),
            (lambda p: p.pay(100, self.store, receipt_known=0), "06 01 0f 04 000000000100 49 0978 06 03 1f1f 00"),
            (lambda p: p.pay(100, self.store, card_read=True), "06 01 0c 04 000000000100 49 0978 19 02"),
        ):
            due = cast(Any, begin)(self.protocol)
            self.assertEqual(self.written(), bytes.fromhex(raw))
            self.says(YES, DONE)
            self.answer(due)

    def test_log_off(self) -> None:
        """Leaving ends with the acknowledgement."""
        due = self.protocol.log_off()
        self.says(YES)
        self.assertTrue(self.answer(due).done)

    def test_status(self) -> None:
        """The answer to a status enquiry is read as such."""
        due = self.protocol.status()
        self.says(YES, RAW["zvt-025"])
        completion = self.answer(due).completion
        assert completion is not None
        self.assertEqual(completion.report.status, codes.CARD_INSERTED)

    def test_read_card(self) -> None:
        """Reading a card ends with the status information; no completion follows."""
        due = self.protocol.read_card()
        self.assertEqual(self.says(YES, APPROVED)[-3:], YES)
        answer = self.answer(due)
        assert answer.status is not None
        self.assertTrue(answer.done)
        self.assertEqual(answer.status.pan, "************4771")

    def test_not_taken(self) -> None:
        """A command that the terminal refuses did nothing."""
        due = self.protocol.pay(1000, self.store)
        self.says(bytes.fromhex("848300"))
        answer = self.answer(due)
        self.assertEqual((answer.taken, answer.result, answer.done), (False, codes.UNKNOWN_COMMAND, False))
        self.assertEqual(self.store.kept, [])

    def test_positive_84(self) -> None:
        """84 00 takes the command."""
        due = self.protocol.pay(1000, self.store)
        self.says(bytes.fromhex("840000"), APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)

    def test_completion_with_result(self) -> None:
        """A completion may carry a result of its own."""
        due = self.protocol.diagnose()
        self.says(YES, RAW["zvt-040"])
        self.assertEqual((self.answer(due).result), 0xE0)

    def test_no_status(self) -> None:
        """A completion without a status information approves nothing."""
        due = self.pay()
        self.says(DONE)
        answer = self.answer(due)
        self.assertTrue(answer.done)
        self.assertFalse(answer.approved)

    def test_booked_and_aborted(self) -> None:
        """An approval that is followed by an abort is in doubt."""
        due = self.pay()
        self.says(APPROVED, ABORT)
        answer = self.answer(due)
        self.assertFalse(answer.approved)
        self.assertTrue(answer.doubtful)

    def test_slips(self) -> None:
        """Slips of either form are acknowledged line by line and handed over."""
        due = self.pay()
        line = bytes.fromhex("06d10340") + b"HI"
        self.assertEqual(self.says(APPROVED, line, RAW["zvt-038"], RAW["zvt-041"], DONE), YES * 5)
        slips = self.answer(due).slips
        self.assertEqual([slip.kind for slip in slips], ["", "administration"])
        self.assertEqual(slips[0].text, "HI")

    def test_other_messages(self) -> None:
        """The clock and dial-up are acknowledged and pass by."""
        due = self.pay()
        self.assertEqual(self.says(bytes.fromhex("040100"), bytes.fromhex("06d800")), YES * 2)
        self.says(APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)

    def test_one_at_a_time(self) -> None:
        """A second operation does not begin while one runs."""
        self.pay().addErrback(lambda _: None)
        self.assertRaises(AssertionError, self.protocol.status)

    def test_watcher_fails(self) -> None:
        """An error in the progress listener does not cost the payment."""

        def fail(_: object) -> None:
            raise ZeroDivisionError

        due = self.pay(progress=fail)
        self.says(INSERT_CARD, APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class StoreTests(_AtTheTill):
    """The acknowledgement is part of the money."""

    def test_acknowledged_when_stored(self) -> None:
        """A status information is acknowledged once it is stored, and not before."""
        storing: Deferred[None] = Deferred()
        self.store.answer = lambda: storing
        due = self.pay()
        self.assertEqual(self.says(APPROVED), b"")
        storing.callback(None)
        self.assertEqual(self.written(), YES)
        self.says(DONE)
        self.assertTrue(self.answer(due).approved)

    def test_coroutine(self) -> None:
        """Storing may be a coroutine."""
        storing: Deferred[None] = Deferred()

        async def wait() -> None:
            await storing

        self.store.answer = wait
        due = self.pay()
        self.assertEqual(self.says(APPROVED), b"")
        storing.callback(None)
        self.assertEqual(self.written(), YES)
        self.says(DONE)
        self.assertTrue(self.answer(due).approved)

    def test_not_stored(self) -> None:
        """A payment that cannot be stored is ordered back, and what the terminal then reports is acknowledged."""

        def fail() -> None:
            raise OSError("the disk is full")

        self.store.answer = fail
        due = self.pay()
        self.assertEqual(self.says(APPROVED), NO_GOODS)
        self.store.answer = lambda: None
        self.assertEqual(self.says(RAW["zvt-015"], ABORT), YES * 2)
        answer = self.answer(due)
        self.assertEqual((answer.stored, answer.approved, answer.doubtful), (False, False, True))

    def test_not_stored_though_completed(self) -> None:
        """A terminal that completes all the same has no approved payment here."""
        self.store.answer = lambda: 1 / 0
        due = self.pay()
        self.says(APPROVED, DONE)
        answer = self.answer(due)
        self.assertFalse(answer.approved)
        self.assertTrue(answer.doubtful)

    def test_refusal_not_stored(self) -> None:
        """A refusal has nothing to take back: it is acknowledged, stored or not."""
        self.store.answer = lambda: 1 / 0
        due = self.pay()
        self.assertEqual(self.says(ABORTED_BY_CUSTOMER), YES)
        self.says(ABORT)
        self.assertEqual(self.answer(due).result, codes.ABORTED)

    def test_reversal_not_stored(self) -> None:
        """A reversal is never ordered back."""
        self.store.answer = lambda: 1 / 0
        due = self.protocol.reverse(470, self.store)
        self.written()
        self.assertEqual(self.says(YES, APPROVED), YES)
        self.says(DONE)
        answer = self.answer(due)
        self.assertTrue(answer.done)
        self.assertFalse(answer.approved)

    def test_recovery_is_never_refused(self) -> None:
        """The repeat of a status information is acknowledged whatever it is: a refusal would reverse it."""
        due = self.protocol.last_result()
        self.written()
        self.assertEqual(self.says(YES, APPROVED, DONE), YES * 2)
        self.assertEqual(self.answer(due).status, APPROVED_MESSAGE)

    def test_repeated_status(self) -> None:
        """A repeated status information is stored once and acknowledged each time."""
        due = self.pay()
        self.assertEqual(self.says(APPROVED, APPROVED), YES * 2)
        self.says(DONE)
        self.assertEqual((len(self.answer(due).statuses), len(self.store.kept)), (1, 1))

    def test_impatient_terminal(self) -> None:
        """What the terminal says while we store is served afterwards, in order; a repeat is not stored again."""
        storing: Deferred[None] = Deferred()
        self.store.answer = lambda: storing
        due = self.pay()
        self.assertEqual(self.says(APPROVED, APPROVED, INSERT_CARD, DONE), b"")
        self.assertNoResult(due)
        storing.callback(None)
        self.assertEqual(self.written(), YES * 3)
        self.assertTrue(self.answer(due).approved)
        self.assertEqual(len(self.store.kept), 1)

    def test_line_lost_while_storing(self) -> None:
        """What is stored after the line broke is acknowledged nowhere."""
        storing: Deferred[None] = Deferred()
        self.store.answer = lambda: storing
        due = self.pay()
        self.says(APPROVED)
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(due, LineLost)
        storing.callback(None)
        self.assertEqual(self.written(), b"")


class LimitTests(_AtTheTill):
    """Every wait has an end."""

    def silent(self, due: Deferred[ZvtAnswer]) -> tuple[float, bool]:
        """After how many seconds the operation was given up, and whether it was taken; the line must be closed."""
        failure = self.failureResultOf(due, Silent)
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        error = cast(Silent, failure.value)
        return error.seconds, error.taken

    def test_t3(self) -> None:
        """A command that is not acknowledged in 5 s ends the line."""
        due = self.protocol.pay(1000, self.store)
        self.clock.advance(4.9)
        self.assertNoResult(due)
        self.clock.advance(0.2)
        self.assertEqual(self.silent(due), (5, False))

    def test_t4(self) -> None:
        """A terminal that took the command and says nothing for 180 s ends the line."""
        due = self.pay()
        self.clock.advance(179.9)
        self.assertNoResult(due)
        self.clock.advance(0.2)
        self.assertEqual(self.silent(due), (180, True))

    def test_t4_again(self) -> None:
        """Every message of the terminal restarts the 180 s."""
        due = self.pay()
        self.clock.advance(179)
        self.says(INSERT_CARD)
        self.clock.advance(120)
        self.assertNoResult(due)
        self.says(APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)

    def test_minutes(self) -> None:
        """The terminal may set another limit in minutes."""
        due = self.pay()
        self.says(bytes.fromhex("04ff020a01"))
        self.clock.advance(59.9)
        self.assertNoResult(due)
        self.clock.advance(0.2)
        self.assertEqual(self.silent(due), (60, True))

    def test_patience(self) -> None:
        """The whole operation has its limit, however talkative the terminal is."""
        due = self.pay()
        for _ in range(299):
            self.clock.advance(1)
            self.says(INSERT_CARD)
        self.assertNoResult(due)
        self.clock.advance(1)
        self.assertEqual(self.silent(due), (300, True))

    def test_cancelled(self) -> None:
        """Who gives up an operation gives up the line."""
        due = self.pay()
        due.cancel()
        self.failureResultOf(due, CancelledError)
        self.assertTrue(self.transport.disconnecting)

    def test_late(self) -> None:
        """What comes after the limit is not read as anything, and the next operation is refused."""
        due = self.pay()
        self.clock.advance(180)
        self.silent(due)
        self.assertEqual(self.says(APPROVED, DONE), b"")
        self.failureResultOf(self.protocol.status(), LineLost)
        self.assertEqual(self.store.kept, [])


class BrokenLineTests(_AtTheTill):
    """A line that breaks or talks nonsense ends the operation at once."""

    def test_dropped(self) -> None:
        """Before the command was taken, after it, and after the approval."""
        for heard in (b"", YES, YES + INSERT_CARD, YES + APPROVED):
            self.setUp()
            due = self.protocol.pay(2040, self.store)
            self.says(heard)
            self.protocol.connectionLost(Failure(ConnectionDone()))
            self.failureResultOf(due, LineLost)
            self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_banner(self) -> None:
        """Another protocol on the port is reported with its first bytes at once, not after five minutes."""
        due = self.protocol.register()
        self.says(BANNER)
        failure = self.failureResultOf(due, Garbled)
        self.assertEqual(cast(Garbled, failure.value).data, BANNER)
        self.assertTrue(self.transport.disconnecting)

    def test_garbage_in_the_middle(self) -> None:
        """Noise ends the exchange and the line."""
        due = self.pay()
        self.assertEqual(self.says(INSERT_CARD + b"\xff\xff"), YES)
        self.failureResultOf(due, Garbled)
        self.assertTrue(self.transport.disconnecting)

    def test_unreadable_status(self) -> None:
        """A status information that cannot be read is not acknowledged."""
        due = self.pay()
        self.assertEqual(self.says(bytes.fromhex("040f0404123456")), b"")
        failure = self.failureResultOf(due, Garbled)
        self.assertNotIn("12 34 56", str(failure.value))
        self.assertEqual(self.store.kept, [])

    def test_lost_while_idle(self) -> None:
        """After the line is lost every operation fails at once."""
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(self.protocol.register(), LineLost)

    @settings(deadline=None)
    @given(st.lists(st.one_of(st.binary(max_size=20), st.sampled_from([YES, APPROVED, DONE, ABORT])), max_size=8))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Whatever the peer sends, the operation ends in an answer or a wire error, or still waits."""
        protocol = ZvtProtocol(Clock())
        protocol.makeConnection(StringTransport())
        ended: list[object] = []
        protocol.pay(100, lambda _: None).addBoth(ended.append)
        for piece in pieces:
            protocol.dataReceived(piece)
        for end in ended:
            good = isinstance(end, ZvtAnswer) or (isinstance(end, Failure) and end.check(Garbled, LineLost))
            self.assertTrue(good, end)


class StrayTests(_AtTheTill):
    """Messages outside an operation are consumed, logged, and never taken for the next answer."""

    def test_duplicate_completion(self) -> None:
        """A completion that comes twice does not end the next operation."""
        due = self.pay()
        self.says(APPROVED, DONE, DONE)
        self.assertTrue(self.answer(due).approved)
        self.assertEqual(self.strays, [m.Completion()])
        self.assertNoResult(self.pay())

    def test_before_the_acknowledgement(self) -> None:
        """What comes before a command is acknowledged belongs to something else, a completion and a booking too."""
        due = self.protocol.pay(2040, self.store)
        self.written()
        self.assertEqual(self.says(DONE, ABORT, APPROVED), YES * 3)
        self.assertNoResult(due)
        self.assertEqual((len(self.strays), self.store.kept), (3, []))
        self.says(YES, APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)

    def test_taken(self) -> None:
        """A booking outside an operation is acknowledged when the listener has taken it."""
        self.assertEqual(self.says(APPROVED), YES)
        self.assertEqual(self.strays, [APPROVED_MESSAGE])

    def test_not_taken(self) -> None:
        """A booking that no listener took is not acknowledged."""

        def fail(_: object) -> None:
            raise OSError("the disk is full")

        for stray in (None, fail):
            self.protocol = ZvtProtocol(self.clock, self.settings, stray)
            self.protocol.makeConnection(self.transport)
            self.assertEqual(self.says(APPROVED), b"")

    def test_harmless(self) -> None:
        """Without anybody to tell, everything but bookings is acknowledged; answers are not."""
        self.protocol = ZvtProtocol(self.clock, self.settings)
        self.protocol.makeConnection(self.transport)
        self.assertEqual(self.says(INSERT_CARD, DONE), YES * 2)
        self.assertEqual(self.says(YES, NO_GOODS), b"")


class InterruptTests(_AtTheTill):
    """An interrupt is a wish."""

    def test_reading_a_card(self) -> None:
        """Reading a card is aborted on the wire, and ends by the terminal's own message."""
        due = self.protocol.read_card()
        self.assertFalse(self.protocol.interrupt())
        self.says(YES)
        self.written()
        self.assertTrue(self.protocol.interrupt())
        self.assertFalse(self.protocol.interrupt())
        self.assertEqual(self.written(), bytes.fromhex("06b000"))
        self.says(YES)
        self.assertNoResult(due)
        self.says(ABORT)
        self.assertEqual(self.answer(due).result, codes.ABORTED)

    def test_payment(self) -> None:
        """A payment is not aborted unless the setting says that this terminal can."""
        self.pay().addErrback(lambda _: None)
        self.assertFalse(self.protocol.interrupt())
        self.assertEqual(self.written(), b"")

    def test_approved_all_the_same(self) -> None:
        """After an interrupt an approval may still come, and is one."""
        self.protocol = ZvtProtocol(self.clock, ZvtSettings(abort_payments=True))
        self.protocol.makeConnection(self.transport)
        due = self.pay()
        self.assertTrue(self.protocol.interrupt())
        self.says(bytes.fromhex("84a500"), APPROVED, DONE)
        self.assertTrue(self.answer(due).approved)

    def test_answer_comes_late(self) -> None:
        """The answer to an abort does not pass for the answer to the next command."""
        due = self.protocol.read_card()
        self.says(YES)
        self.assertTrue(self.protocol.interrupt())
        self.says(APPROVED)
        self.assertTrue(self.answer(due).done)
        paying = self.protocol.pay(100, self.store)
        self.says(bytes.fromhex("848300"))
        self.assertNoResult(paying)
        self.says(YES, APPROVED, DONE)
        self.assertTrue(self.answer(paying).approved)

    def test_nothing_runs(self) -> None:
        """Without an operation there is nothing to interrupt."""
        self.assertFalse(self.protocol.interrupt())


class _WithTerminal(SynchronousTestCase):
    """A till and a simulated terminal on one line."""

    duration = 0.0
    serial = False

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_790_000_000)
        self.path = Path(self.mktemp()).absolute() / "pos.ledger"
        self.store = _Store()
        self.set_up()

    def set_up(self, **settings: Any) -> None:
        """A terminal with these settings, and a registered till."""
        self.terminal = Terminal(self.clock, self.path, duration=self.duration)
        self.addCleanup(self.terminal.close)
        self.device = ZvtTerminal(self.terminal, self.clock, TerminalSettings(serial=self.serial, **settings))
        self.connect()
        self.assertTrue(self.answer(self.till.register()).done)

    def connect(self, **settings: Any) -> ZvtProtocol:
        """A new line."""
        far = self.device.protocol()
        assert far is not None
        self.till = ZvtProtocol(
            self.clock, ZvtSettings(charset="cp1125", serial=self.serial, abort_payments=True, **settings)
        )
        here, there = iosim.makeFakeClient(self.till), iosim.makeFakeServer(far)
        self.pump = iosim.connect(far, there, self.till, here)
        return self.till

    def pass_time(self, *seconds: float) -> None:
        """Let time pass, and bytes after each step."""
        self.pump.flush()
        for step in seconds:
            self.clock.advance(step)
            self.pump.flush()

    def rule(self, on: str, then: str, **more: Any) -> None:
        """Let the next operation meet a rule."""
        self.terminal.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def answer(self, due: Deferred[ZvtAnswer]) -> ZvtAnswer:
        """How the operation has ended, once all bytes have arrived."""
        self.pump.flush()
        return self.successResultOf(due)

    def error(self, due: Deferred[ZvtAnswer], *errors: type[Exception]) -> None:
        """The operation has failed so."""
        self.pump.flush()
        self.failureResultOf(due, *errors)

    def told(self) -> list[tuple[str, str, int]]:
        """The ledger: kind, status, sum."""
        return [(each.kind, each.status, each.sum) for each in self.terminal.entries()]


class OperationTests(_WithTerminal):
    """Whole operations from end to end."""

    def test_payment(self) -> None:
        """A payment is approved on both sides, with card, numbers and slip."""
        answer = self.answer(self.till.pay(12550, self.store))
        self.assertTrue(answer.approved)
        status, [entry] = answer.status, self.terminal.entries()
        assert status is not None
        self.assertEqual((status.amount, status.receipt, status.currency), (12550, int(entry.ref), 980))
        self.assertEqual((entry.kind, entry.status, entry.sum), ("payment", "accepted", 12550))
        paid = self.terminal.last()
        assert paid is not None and paid.card is not None
        self.assertEqual((status.pan, status.authorisation), (paid.card.pan, paid.auth_code))
        self.assertEqual((status.date + status.time, status.trace), (f"{paid.at:%m%d%H%M%S}", paid.stan))
        self.assertEqual([(slip.kind, slip.text) for slip in answer.slips], [("customer", paid.slip)])
        self.assertEqual(answer.states, (0x0A, 0x0D, 0x01, 0x04, 0x0D))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_partial(self) -> None:
        """The approved sum may be less than asked."""
        self.rule("payment", "accept", code="partial:5000")
        answer = self.answer(self.till.pay(12550, self.store))
        assert answer.status is not None
        self.assertEqual((answer.approved, answer.status.amount), (True, 5000))

    def test_refused(self) -> None:
        """Refusals carry the bank's number or the terminal's result."""
        for code, result in (("51", 0x33), ("cancelled", 0x6C), ("journal_full", 0xB2), ("0x71", 0x71), ("x", 0xFF)):
            self.rule("payment", "refuse", code=code)
            answer = self.answer(self.till.pay(100, self.store))
            self.assertEqual((answer.taken, answer.result, answer.approved), (True, result, False), code)
            self.assertFalse(answer.doubtful)

    def test_busy_for_another(self) -> None:
        """A terminal that works for another till does not take the command."""
        self.rule("payment", "refuse", code="busy")
        answer = self.answer(self.till.pay(100, self.store))
        self.assertEqual((answer.taken, answer.result), (False, codes.WAIT))
        self.assertEqual(self.told(), [])

    def test_refund_and_reversal(self) -> None:
        """Money goes back, by card or by receipt, once."""
        self.assertTrue(self.answer(self.till.refund(700, self.store)).approved)
        paid = self.answer(self.till.pay(1000, self.store))
        assert paid.status is not None and paid.status.receipt is not None
        receipt = paid.status.receipt
        self.assertTrue(self.answer(self.till.reverse(receipt, self.store, amount=300)).approved)
        self.assertTrue(self.answer(self.till.reverse(receipt, self.store)).approved)
        self.assertEqual(self.answer(self.till.reverse(receipt, self.store)).result, codes.ALREADY_REVERSED)
        self.assertEqual(self.answer(self.till.reverse(77, self.store)).result, codes.NOTHING_TO_REVERSE)
        accepted = [(kind, amount) for kind, status, amount in self.told() if status == "accepted"]
        self.assertEqual(accepted, [("refund", 700), ("payment", 1000), ("cancel", 300), ("cancel", 700)])

    def test_reports(self) -> None:
        """Totals come without closing; the end of day closes, and receipt numbers start again."""
        for amount in (1000, 500):
            self.answer(self.till.pay(amount, self.store))
        for begin in (self.till.totals, lambda: self.till.settle(self.store)):
            answer = self.answer(begin())
            assert answer.status is not None and answer.status.totals is not None
            self.assertTrue(answer.done)
            self.assertEqual(answer.status.totals.groups[-1], (2, 1500))
            self.assertEqual((answer.status.totals.first, answer.status.totals.last), (1, 2))
            self.assertIn("РАЗОМ", answer.slips[0].text)
        paid = self.answer(self.till.pay(100, self.store))
        assert paid.status is not None
        self.assertEqual((paid.status.receipt, self.terminal.batch), (1, 2))

    def test_card(self) -> None:
        """A card that was read pays without being asked for again, once."""
        read = self.answer(self.till.read_card())
        assert read.status is not None
        paid = self.answer(self.till.pay(100, self.store, card_read=True))
        assert paid.status is not None
        self.assertEqual(paid.status.pan, read.status.pan)
        self.assertNotIn(0x0A, paid.states)
        self.assertIn(0x0A, self.answer(self.till.pay(100, self.store)).states)

    def test_status_and_diagnosis(self) -> None:
        """A ready terminal says so, with its version, and reaches its bank."""
        completion = self.answer(self.till.status()).completion
        assert completion is not None
        self.assertEqual(completion.report, m.StatusReport(0, "SIM 1.0"))
        self.rule("probe", "refuse", code="0xF0")
        completion = self.answer(self.till.status()).completion
        assert completion is not None
        self.assertEqual(completion.report.status, codes.RECONCILIATION_DUE)
        self.assertTrue(self.answer(self.till.diagnose()).done)

    def test_not_registered(self) -> None:
        """Nothing is paid before the registration, nor after leaving; a wrong password or currency does not help."""
        self.assertTrue(self.answer(self.till.log_off()).done)
        self.assertEqual(self.answer(self.till.pay(100, self.store)).result, codes.NOT_REGISTERED)
        for wrong in ({"password": "111111"}, {"currency": 978}):
            self.till.transport.loseConnection()  # type: ignore[union-attr]
            self.pump.flush()
            self.connect(**wrong)
            self.assertFalse(self.answer(self.till.register()).done)
        self.assertEqual(self.told(), [])

    def test_slip_again(self) -> None:
        """The last slip is printed again and no money moves."""
        slips = self.answer(self.till.pay(100, self.store)).slips
        self.assertEqual(self.answer(self.till.reprint()).slips, slips)
        self.assertEqual(len(self.told()), 1)

    def test_line_by_line(self) -> None:
        """A till that knows no blocks gets the same slip line by line."""
        self.device.blocks = False
        [slip] = self.answer(self.till.pay(100, self.store)).slips
        paid = self.terminal.last()
        assert paid is not None
        self.assertEqual((slip.kind, slip.text), ("", paid.slip))

    def test_second_till(self) -> None:
        """A second line is turned away while the first is open."""
        self.assertIsNone(self.device.factory().buildProtocol(cast(Any, None)))

    def test_unreachable(self) -> None:
        """A terminal that is unreachable takes no call."""
        self.till.transport.loseConnection()  # type: ignore[union-attr]
        self.pump.flush()
        self.rule("any", "unreachable")
        self.assertIsNone(self.device.protocol())
        self.assertIsInstance(self.device.protocol(), ZvtLine)


class RecoveryTests(_WithTerminal):
    """After a lost answer the till can find out what happened."""

    def reconnected(self) -> ZvtAnswer:
        """The last result, asked for on a new line."""
        self.connect()
        self.assertTrue(self.answer(self.till.register()).done)
        return self.answer(self.till.last_result())

    def test_lost_before(self) -> None:
        """The line broke and nothing happened: there is no receipt."""
        self.rule("payment", "lost_before")
        self.error(self.till.pay(100, self.store), LineLost)
        answer = self.reconnected()
        self.assertEqual((answer.done, answer.statuses), (False, ()))
        self.assertEqual(self.told(), [])

    def test_lost_after(self) -> None:
        """The line broke and it happened: the last result is our payment, without a slip."""
        self.rule("payment", "lost_after")
        self.error(self.till.pay(12550, self.store), LineLost)
        answer = self.reconnected()
        assert answer.status is not None
        self.assertEqual((answer.done, answer.status.amount, answer.status.receipt), (True, 12550, 1))
        self.assertEqual((answer.slips, self.told()), ((), [("payment", "accepted", 12550)]))

    def test_silent(self) -> None:
        """A terminal that says nothing is given up after T3."""
        self.rule("payment", "silent")
        due = self.till.pay(100, self.store)
        self.pass_time(5.1)
        self.assertFalse(self.failureResultOf(due, Silent).value.taken)
        self.assertFalse(self.reconnected().statuses)

    def test_garbage(self) -> None:
        """What cannot be read ends the line; the payment is found afterwards."""
        self.rule("payment", "garbage")
        self.error(self.till.pay(100, self.store), Garbled)
        self.assertEqual(len(self.reconnected().statuses), 1)

    def test_queries_too(self) -> None:
        """Queries meet the scenario's rules for probes."""
        for then, error in (("lost_before", LineLost), ("lost_after", LineLost), ("garbage", Garbled)):
            self.rule("probe", then)
            self.error(self.till.last_result(), error)
            self.connect()
        self.rule("probe", "silent")
        due = self.till.status()
        self.pass_time(5.1)
        self.error(due, Silent)

    def test_not_stored(self) -> None:
        """A payment that we cannot store is taken back by the terminal."""
        self.store.answer = lambda: 1 / 0
        answer = self.answer(self.till.pay(100, self.store))
        self.assertEqual((answer.approved, answer.stored), (False, False))
        self.assertEqual(self.told(), [("payment", "accepted", 100), ("cancel", "accepted", 100)])

    def test_not_acknowledged(self) -> None:
        """Without an acknowledgement the terminal takes the payment back by itself."""
        storing: Deferred[None] = Deferred()
        self.store.answer = lambda: storing
        due = self.till.pay(100, self.store)
        self.pass_time(5.1)
        self.error(due, LineLost)
        self.assertEqual(self.told(), [("payment", "accepted", 100), ("cancel", "accepted", 100)])

    def test_left_to_the_next_command(self) -> None:
        """Terminals of the other kind keep it until a till that is one receipt behind begins the next."""
        self.terminal.close()
        self.path = self.path.with_name("other.ledger")
        self.set_up(reverses_at_once=False)
        storing: Deferred[None] = Deferred()
        self.answer(self.till.pay(50, self.store))
        self.store.answer = lambda: storing
        due = self.till.pay(100, self.store)
        self.pass_time(5.1)
        self.error(due, LineLost)
        self.assertEqual(len(self.told()), 2)
        self.store.answer = lambda: None
        for known, entries in ((2, 3), (0, 4), (7, 5), (1, 6)):
            self.connect()
            self.answer(self.till.pay(10, self.store, receipt_known=known))
            self.assertEqual(len(self.told()), entries)
            self.till.transport.loseConnection()  # type: ignore[union-attr]
            self.pump.flush()
        self.connect()
        self.answer(self.till.pay(10, self.store, receipt_known=5))
        self.assertEqual(self.told()[6:], [("cancel", "accepted", 10), ("payment", "accepted", 10)])

    def test_slip_not_acknowledged(self) -> None:
        """A line that breaks within the slip costs the booking too."""
        far = cast(Any, self.device.line)
        say = far._say
        far._say = lambda message, then=None: None if isinstance(message, m.PrintBlock) else say(message, then)
        due = self.till.pay(100, self.store)
        self.pump.flush()
        far.transport.loseConnection()
        self.pump.flush()
        self.answer(due)
        self.assertEqual([kind for kind, _, _ in self.told()], ["payment", "cancel"])

    def test_restart(self) -> None:
        """A terminal that was switched off and on still knows its last receipt."""
        self.answer(self.till.pay(100, self.store))
        self.terminal.close()
        self.set_up()
        answer = self.answer(self.till.last_result())
        assert answer.status is not None
        self.assertEqual(answer.status.amount, 100)


class TimeTests(_WithTerminal):
    """Operations that take their time."""

    duration = 1.5

    def test_progress(self) -> None:
        """The listener gets each state when it begins."""
        states: list[int] = []
        due = self.till.pay(100, self.store, progress=lambda state: states.append(state.status))
        self.pass_time()
        self.assertEqual(states, [0x0A])
        self.pass_time(0.31, 0.31)
        self.assertEqual(states, [0x0A, 0x0D, 0x01])
        self.assertNoResult(due)
        self.pass_time(0.31, 0.31, 0.31)
        self.assertTrue(self.answer(due).approved)

    def test_interrupted(self) -> None:
        """In time an interrupt ends the payment; too late the payment is approved."""
        due = self.till.pay(100, self.store)
        self.pass_time(0.31)
        self.assertTrue(self.till.interrupt())
        self.assertEqual(self.answer(due).result, codes.ABORTED)
        due = self.till.pay(100, self.store)
        self.pass_time(0.31, 0.31, 0.31)
        self.assertTrue(self.till.interrupt())
        self.pass_time(0.31, 0.31)
        self.assertTrue(self.answer(due).approved)

    def test_card_interrupted(self) -> None:
        """Waiting for a card can be given up."""
        due = self.till.read_card()
        self.pass_time(0.31)
        self.assertTrue(self.till.interrupt())
        self.assertEqual(self.answer(due).result, codes.ABORTED)

    def test_till_goes_away(self) -> None:
        """A till that goes away before the bank is asked aborts; later the booking goes back."""
        for steps, entries in ((1, ["refused"]), (4, ["refused", "accepted", "accepted"])):
            due = self.till.pay(100, self.store)
            self.pass_time(*[0.31] * steps)
            due.cancel()
            self.failureResultOf(due, CancelledError)
            self.pass_time(*[0.31] * 4)
            self.assertEqual([status for _, status, _ in self.told()], entries)
            self.connect()

    def test_busy(self) -> None:
        """While an operation of a lost line still runs, the terminal says that it is busy and answers no query."""
        due = self.till.pay(100, self.store)
        self.pass_time(*[0.31] * 3)
        due.cancel()
        self.failureResultOf(due, CancelledError)
        self.pump.flush()
        self.connect()
        completion = self.answer(self.till.status()).completion
        assert completion is not None
        self.assertEqual(completion.report.status, codes.WAIT)
        self.assertEqual(self.answer(self.till.last_result()).result, codes.WAIT)
        self.pass_time(*[0.31] * 3)
        self.assertTrue(self.answer(self.till.last_result()).done)


class SerialTests(OperationTests):
    """The same operations over frames and acknowledgements."""

    serial = True


class SimulatorTests(SynchronousTestCase):
    """The simulator by itself."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.terminal = Terminal(self.clock, duration=0)
        self.device = ZvtTerminal(self.terminal, self.clock)
        self.transport = StringTransport()
        line = self.device.protocol()
        assert line is not None
        self.line = line
        line.makeConnection(self.transport)

    def says(self, *messages: Any) -> list[m.Message]:
        """What the terminal answers to ``messages``."""
        for message in messages:
            self.line.dataReceived(message.encode().encode())
        data = self.transport.value()
        self.transport.clear()
        return [m.decode(apdu) for apdu in ApduDeframer().feed(data)]

    def test_unknown_command(self) -> None:
        """A command that it does not know is refused."""
        self.assertEqual(self.says(m.Unknown(0x06E0)), [m.Negative(codes.UNKNOWN_COMMAND)])

    def test_waits_for_acknowledgement(self) -> None:
        """Each message waits for the till's acknowledgement of the one before."""
        first, second = self.says(m.Registration("000000", 0, 980))
        self.assertEqual((first, type(second)), (m.Acknowledge(), m.Completion))
        self.assertEqual(self.says(m.StatusEnquiry()), [m.Negative(codes.WAIT)])
        self.assertEqual(self.says(m.Acknowledge()), [])
        first, status = self.says(m.Authorisation.of(100, 980))
        self.assertEqual(first, m.Acknowledge())
        self.assertIsInstance(status, m.StatusInformation)
        self.assertEqual(self.says(m.Acknowledge()), [m.Completion()])

    def test_asks_again(self) -> None:
        """A till that needs time gets the status information again after 2 s."""
        self.says(m.Registration("000000", 0, 980), m.Acknowledge())
        _, status = self.says(m.Authorisation.of(100, 980))
        self.assertEqual(self.says(m.Negative(codes.WAIT)), [])
        self.clock.advance(2)
        self.assertEqual(self.says(), [status])
        self.assertEqual(self.says(m.Acknowledge()), [m.Completion()])
        self.assertEqual(len(self.terminal.entries()), 1)

    def test_smaller_goods(self) -> None:
        """Goods for a smaller sum acknowledge a booking; no goods at all take it back."""
        self.says(m.Registration("000000", 0, 980), m.Acknowledge())
        for refusal, kinds in ((codes.SMALLER_GOODS, ["payment"]), (codes.NO_GOODS, ["payment"] * 2 + ["cancel"])):
            self.says(m.Authorisation.of(100, 980))
            (end,) = self.says(m.Negative(refusal))
            self.assertIsInstance(end, m.Completion if refusal == codes.SMALLER_GOODS else m.AbortReport)
            self.says(m.Acknowledge())
            self.assertEqual([entry.kind for entry in self.terminal.entries()], kinds)

    def test_receipts(self) -> None:
        """A range of receipts is printed, those that there are."""
        self.says(m.Registration("000000", m.PRINTS_PAYMENTS | m.WANTS_LINES, 980), m.Acknowledge())
        self.says(m.Authorisation.of(100, 980), *[m.Acknowledge()] * 20)
        first, line = self.says(m.ReprintReceipts("000000", 1, 3))
        self.assertEqual((first, type(line)), (m.Acknowledge(), m.PrintLine))
        self.assertEqual(self.says(*[m.Acknowledge()] * 20)[-1], m.Completion())

    def test_nothing_to_abort(self) -> None:
        """An abort while nothing runs is refused."""
        self.assertEqual(self.says(m.Abort()), [m.Negative(codes.NOT_ALLOWED)])

    def test_noise(self) -> None:
        """Noise closes the line."""
        self.line.dataReceived(b"GET / HTTP/1.0\r\n")
        self.assertTrue(self.transport.disconnecting)

    @settings(deadline=None)
    @given(st.lists(st.one_of(st.binary(max_size=20), st.sampled_from([*RAW.values()])), max_size=8))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Whatever a till sends, the simulator stays whole."""
        clock = Clock()
        device = ZvtTerminal(Terminal(clock, duration=0), clock)
        line = device.protocol()
        assert line is not None
        line.makeConnection(StringTransport())
        line.dataReceived(m.Registration("000000", 0xBE, 980).encode().encode())
        for piece in pieces:
            line.dataReceived(piece)
        clock.advance(60)
