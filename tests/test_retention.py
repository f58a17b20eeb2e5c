"""What grows old goes, and nothing that is still needed; wherever it is broken off."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, Logger, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.registers import totals
from dmtwisted.registers.totals import LastDocument, Offline, RegisterState
from dmtwisted.retention import DAY, DOUBT, EVERY, LEAP, Z_DAYS, Needs, Retention, Rules, ages, needs_of
from dmtwisted.secrets import Secrets
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.sqlite import statements
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import EVENT, AgedPaper, AgedRow, Change, OperationQuery, State, StoreFailed
from dmtwisted.store.verification import Wrong, verify
from tests.specification import promises
from tests.store_contract import AT, OTHER, TILL, intent, outcome, paper

NOW = 1_000 * DAY
"""A moment, in milliseconds."""


def aged(kind: str, days: float, *papers: AgedPaper, **changes: Any) -> AgedRow:
    """An operation of `TILL` that ended so many days ago."""
    at = int(NOW - days * DAY)
    members = {
        "n": 17,
        "device_n": TILL,
        "state": State.DONE,
        "at": at,
        "ended_at": at,
        "batch": False,
        "last": False,
    }
    return AgedRow(kind=kind, documents=list(papers), **{**members, **changes})


class RulesTests(SynchronousTestCase):
    """What may go."""

    def rules(self, receipts: int = 40, payments: int = 90) -> Rules:
        """The rules at `NOW`; `TILL` needs documents from 100 on and shift 10."""
        rules = ages(NOW, receipts, payments, 30)
        rules.registers[TILL] = Needs(number=100, shift=10, last_z=9)
        return rules

    @promises("1.11a.1", "1.11b.1")
    def test_ages(self) -> None:
        """Receipts and papers go after their days, payments after theirs, batches after the longer of both."""
        for receipts, payments, kinds in (
            (40, 90, {"fiscal": 40, "untagged": 40, "doc": 40, "pay": 90, "pkg": 90}),
            (60, 7, {"fiscal": 60, "untagged": 60, "doc": 60, "pay": 7, "pkg": 60}),
        ):
            rules = self.rules(receipts, payments)
            for kind, days in kinds.items():
                self.assertFalse(rules.goes(aged(kind, days)), kind)
                self.assertTrue(rules.goes(aged(kind, days + 1e-6)), kind)
                self.assertTrue(rules.young(aged(kind, min(receipts, payments))))
                self.assertFalse(rules.young(aged(kind, min(receipts, payments) + 1e-6)))

    def test_from_its_end(self) -> None:
        """What took long to end is counted from its end."""
        row = aged("pay", 91)
        self.assertTrue(self.rules().goes(row))
        self.assertFalse(self.rules().goes(msgspec.structs.replace(row, ended_at=row.at + 2 * DAY)))

    def test_after_an_earlier_one_began(self) -> None:
        """Whatever an operation is dated, it did not end before an earlier one began."""
        edge = NOW - 90 * DAY
        self.assertTrue(self.rules().goes(aged("pay", 900), edge - 1))
        self.assertFalse(self.rules().goes(aged("pay", 900), edge))

    def test_not_ended(self) -> None:
        """An operation without an end, or without a known outcome, stays for ever."""
        for state in (State.INTENDED, State.UNKNOWN):
            self.assertFalse(self.rules().goes(aged("pay", 900, state=state)))
        self.assertFalse(self.rules().goes(aged("pay", 900, ended_at=None)))
        self.assertFalse(self.rules().goes(aged("odd", 900)))

    def test_last(self) -> None:
        """The last payment of a terminal and the last job of a printer stay."""
        self.assertFalse(self.rules().goes(aged("pay", 900, last=True)))

    def test_batch(self) -> None:
        """The receipt of a batch stays as long as the batch."""
        self.assertFalse(self.rules().goes(aged("fiscal", 90, batch=True)))
        self.assertTrue(self.rules().goes(aged("fiscal", 90.1, batch=True)))

    def test_after_unknown(self) -> None:
        """What came after an open operation of its device stays, and after an open batch what came anywhere."""
        rules = self.rules()
        rules.from_n = {TILL: 10}
        self.assertTrue(rules.goes(aged("pay", 900, n=9)))
        self.assertFalse(rules.goes(aged("pay", 900, n=10)))
        self.assertTrue(rules.goes(aged("pay", 900, n=10, device_n=2)))
        rules.from_n[None] = 5
        self.assertTrue(rules.goes(aged("pay", 900, n=4)))
        self.assertFalse(rules.goes(aged("pay", 900, n=5)))
        self.assertFalse(rules.goes(aged("pay", 900, n=5, device_n=2)))

    def test_needs(self) -> None:
        """A register keeps what waits to be handed in, its open shift, and its last documents."""
        rules = self.rules()
        self.assertTrue(rules.goes(aged("fiscal", 900, AgedPaper("sale", 99, 9))))
        self.assertFalse(rules.goes(aged("fiscal", 900, AgedPaper("sale", 100, 9))))
        self.assertFalse(rules.goes(aged("fiscal", 900, AgedPaper("sale", 99, 10))))
        self.assertFalse(rules.goes(aged("fiscal", 900, AgedPaper("sale", 99, 9), AgedPaper("sale", 100, 9))))
        rules.registers[TILL] = Needs(100, 10, 9, frozenset({17}))
        self.assertFalse(rules.goes(aged("fiscal", 900, AgedPaper("sale", 99, 9))))
        # A deleted register needs nothing; one whose state cannot be read may need anything.
        self.assertTrue(rules.goes(aged("fiscal", 900, AgedPaper("sale", 100, 10), device_n=2)))
        rules.registers[2] = None
        self.assertFalse(rules.goes(aged("fiscal", 900, AgedPaper("sale", 1, 1), device_n=2)))
        self.assertTrue(rules.goes(aged("doc", 900, device_n=2)))

    def test_reports(self) -> None:
        """Z-reports stay for three years, or as long as receipts when that is longer; the last one for ever."""
        z = AgedPaper("z", 50, 5)
        self.assertFalse(self.rules().goes(aged("fiscal", Z_DAYS, z)))
        self.assertTrue(self.rules().goes(aged("fiscal", Z_DAYS + 1e-6, z)))
        self.assertFalse(self.rules(3000, 5).goes(aged("fiscal", 3000, z)))
        self.assertFalse(self.rules().goes(aged("fiscal", 9000, AgedPaper("z", 50, 9))))

    def test_needs_of(self) -> None:
        """What a register needs follows from its state; from something else nothing follows."""
        state = RegisterState(next_number=60, z_number=4, last=LastDocument(number=59), last_receipt=57)
        self.assertEqual(needs_of(totals.encode(state)), Needs(number=57, shift=5, last_z=4))
        state.offline, state.voids = Offline(first=40, since=0), (3, 5)
        self.assertEqual(
            needs_of(totals.encode(state)), Needs(number=40, shift=5, last_z=4, operations=frozenset({3, 5}))
        )
        self.assertEqual(needs_of(totals.encode(RegisterState())), Needs(number=1, shift=1, last_z=0))
        self.assertIs(needs_of(b"\xff"), None)


class Interrupted:
    """A store whose service is killed at one of its questions, before it is asked or after it is done."""

    def __init__(self, store: MemoryStore, at: int, done: bool) -> None:
        self._store, self._left, self._done = store, at, done

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb = getattr(self._store, name)

        async def ask(*arguments: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self._done:
                raise StoreFailed("killed")
            value = await verb(*arguments)
            if self._left < 0:
                raise StoreFailed("killed")
            return value

        return ask


class SetClock(Clock):
    """A clock whose time of day can be set."""

    set_by = 0.0

    def wall(self) -> float:
        """The time of day."""
        return self.seconds() + self.set_by


class RetentionCase(SynchronousTestCase):
    """Looks, on a store in memory."""

    days: float = 41
    """Since the receipts."""

    def setUp(self) -> None:
        """A service so many days after five receipts, between which there are two Z-reports."""
        # How long the store really takes is no matter of the clock of these tests.
        self.patch(statements, "time", SimpleNamespace(perf_counter=lambda: 0.0))
        self.clock = SetClock()
        self.clock.advance((AT + self.days * DAY) / 1000)
        self.store = self.filled()

    def filled(self) -> MemoryStore:
        """A store with the receipts."""
        store = MemoryStore()
        self.now(store.open())
        for number in range(1, 8):
            kind = "z" if number in (3, 6) else "sale"
            meant = intent(TILL, f"tag {number}", paper(number, kind=kind, shift=1 + (number > 3)))
            n = self.now(store.reserve(meant)).n
            state = RegisterState(next_number=number + 1, z_number=number // 3, last_receipt=number)
            done = outcome(n, register_state=totals.encode(state), fiscal_numbers={number: "F"}, shift=number // 3)
            self.now(store.conclude(msgspec.structs.replace(done, sold={"1": 1})))
        return store

    def now(self, asked: Any) -> Any:
        """What ``asked`` comes to, which takes nothing but time."""
        due = Deferred.fromCoroutine(asked)
        results: list[Any] = []
        due.addBoth(results.append)
        for _ in range(10_000):
            if results:
                break
            self.clock.advance(0.01)
        (result,) = results
        if isinstance(result, Failure):
            result.raiseException()
        return result

    def retention(self, store: Any, step: int = 2) -> Retention:
        """The retention of a service on ``store``."""
        settings = ServiceSettings(store, Secrets(None), ServiceClock(self.clock))
        return Retention(store, settings, ServiceClock(self.clock), step)

    def paid(self, *days: float) -> None:
        """Payments after all the receipts, so many days after them by the clock of their moment."""
        for number, day in enumerate(days):
            at = int(AT + day * DAY)
            n = self.now(self.store.reserve(intent(OTHER, f"payment {number}", kind="pay", at=at))).n
            self.now(self.store.conclude(outcome(n, device_n=OTHER, at=at)))

    def left(self, store: MemoryStore) -> list[int]:
        """The operations that are there, newest first."""
        return [row.n for row in self.now(store.find_operations(OperationQuery())).operations]


class RetentionTests(RetentionCase):
    """What goes, and that it goes whole."""

    def test_removed(self) -> None:
        """Receipts go, Z-reports and the last receipt stay, and the journal is whole; the seals of what went go."""
        self.assertEqual(self.now(self.retention(self.store).remove()), 4)
        self.assertEqual(self.left(self.store), [7, 6, 3])
        self.assertIs(self.now(verify(self.store)), None)
        self.assertEqual(self.now(self.retention(self.store).remove()), 0)
        seals = self.now(self.store.seals(0, 100))
        self.assertLessEqual(len({seal.operation_n for seal in seals} & {1, 2, 4, 5}), 4)
        self.assertLessEqual(len(seals), 10)
        self.assertEqual([len(self.now(self.store.sold_codes(TILL, shift))) for shift in range(4)], [0, 0, 0, 0])

    def test_broken_off_anywhere(self) -> None:
        """Killed before or after any question, the journal is whole, and the next service ends what was begun."""
        for done in (False, True):
            for at in range(1000):
                store = self.filled()
                try:
                    self.now(self.retention(Interrupted(store, at, done)).remove())
                except StoreFailed:
                    self.assertIs(self.now(verify(store)), None)
                    self.assertTrue({3, 6, 7} <= set(self.left(store)))
                    self.now(self.retention(store).remove())
                    self.assertEqual(self.left(store), [7, 6, 3])
                    self.assertIs(self.now(verify(store)), None)
                else:
                    break
            self.assertGreater(at, 10)

    def test_tampered(self) -> None:
        """A change from outside is not sealed again: it is found after its neighbours have gone."""
        assert self.store._db is not None
        self.store._db.execute("UPDATE document SET sum = 1 WHERE operation_n = 3")
        before = self.now(verify(self.store))
        self.assertEqual(before.operation_n, 3)
        self.now(self.retention(self.store).remove())
        self.assertEqual(self.now(verify(self.store)), before)

    def test_taken_away(self) -> None:
        """An operation that was deleted with its seals is still missed after its neighbours have gone."""
        assert self.store._db is not None
        for statement in ("document WHERE operation_n = 2", "operation WHERE n = 2", "seal WHERE operation_n = 2"):
            self.store._db.execute(f"DELETE FROM {statement}")
        before = self.now(verify(self.store))
        self.assertEqual(before.wrong, Wrong.BROKEN)
        self.assertEqual(self.now(self.retention(self.store).remove()), 3)
        self.assertEqual(self.now(verify(self.store)), before)

    def test_looks(self) -> None:
        """It looks each hour by the service's clock, not at the start; it ends at once, and comes back."""
        retention = self.retention(self.store)
        retention.start()
        for _ in range(2):
            self.clock.pump([EVERY / 2 - 1])
        self.assertEqual(len(self.left(self.store)), 7)
        self.clock.pump([2, *[0.01] * 100])
        self.assertEqual(len(self.left(self.store)), 3)
        self.now(retention.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])
        retention.start()
        self.now(retention.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_clock_that_stood_in_the_past(self) -> None:
        """What was done while the clock was in the past is no older than what was done before."""
        self.now(self.retention(self.store).remove())
        self.paid(30, -9000, -9000, 41, 41)
        self.now(self.retention(self.store).remove())
        self.assertEqual(self.left(self.store), [12, 11, 10, 9, 8, 7, 6, 3])

    def test_clock_that_stood_in_the_future(self) -> None:
        """What was done while the clock was in the future does not keep later operations from growing old."""
        self.paid(9000, 0, 0, 41)
        self.clock.advance(50 * 24 * EVERY)
        self.now(self.retention(self.store).remove())
        self.assertEqual(self.left(self.store), [11, 8, 7, 6, 3])

    def test_stopped_meanwhile(self) -> None:
        """When it is stopped in the middle nothing is under way afterwards, and nothing is half done."""
        for turns in range(12):
            self.store = self.filled()
            retention = self.retention(self.store)
            retention.start()
            retention.soon()
            self.clock.pump([0] * turns)
            self.now(retention.stop())
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.assertTrue(retention.idle)
            self.assertIs(self.now(verify(self.store)), None)

    def test_store_fails(self) -> None:
        """While the store fails nothing goes; later it does."""
        retention = self.retention(self.store)
        retention.start()
        self.store.broken = True
        retention.soon()
        self.clock.pump([0] * 10)
        self.assertTrue(retention.idle)
        self.store.broken = False
        retention.soon()
        self.clock.pump([0.01] * 100)
        self.assertEqual(self.left(self.store), [7, 6, 3])
        self.now(retention.stop())


class EventDaysTests(RetentionCase):
    """Events of devices, which are kept for a shorter time."""

    days = 31

    def test_events(self) -> None:
        """They go by themselves: the receipts around them stay with their seals, and with their events."""
        for at in (AT, AT + int(2 * DAY)):
            self.now(self.store.record(Change("need.raised", at, b"{}", TILL, EVENT)))
        before = [seal.n for seal in self.now(self.store.seals(0, 100))]
        self.assertEqual(self.now(self.retention(self.store).remove()), 1)
        self.assertEqual(self.left(self.store), [7, 6, 5, 4, 3, 2, 1])
        self.assertEqual([seal.n for seal in self.now(self.store.seals(0, 100))], [*before, before[-1] + 1])
        kinds = [event.operation.kind for event in self.now(self.store.events(0, 100, [])).events]
        self.assertEqual(kinds, ["fiscal"] * 7 + [EVENT])
        self.assertIs(self.now(verify(self.store)), None)


class LeapTests(RetentionCase):
    """Runs while the machine's clock is set forward."""

    days = 1

    def setUp(self) -> None:
        """A service that runs each hour, and its log."""
        super().setUp()
        self.told: list[LogEvent] = []
        observer = cast(ILogObserver, self.told.append)
        self.patch(Retention, "log", Logger(observer=observer))
        self.looks = self.retention(self.store)
        self.looks.start()
        self.addCleanup(lambda: self.now(self.looks.stop()))

    def look(self, hours: int = 1) -> int:
        """How many operations are left after so many looks."""
        for _ in range(hours):
            self.clock.pump([EVERY, *[0.01] * 100])
        return len(self.left(self.store))

    def test_doubted(self) -> None:
        """A clock two months ahead removes nothing for a day, which is logged once; then it is trusted."""
        self.clock.set_by = 60 * 24 * EVERY
        self.assertEqual(self.look(int(DOUBT / EVERY)), 7)
        (event,) = self.told
        self.assertIn("jumped forward by 60.0 days", formatEvent(event))
        self.assertEqual(self.look(), 3)

    def test_set_right(self) -> None:
        """A clock that is set right within the day removes nothing, and the next leap is doubted like the first."""
        self.clock.set_by = 60 * 24 * EVERY
        self.assertEqual(self.look(5), 7)
        self.clock.set_by = 0
        self.assertEqual(self.look(30), 7)
        self.clock.set_by = 60 * 24 * EVERY
        self.assertEqual(self.look(int(DOUBT / EVERY)), 7)
        self.assertEqual(self.look(), 3)

    def test_little(self) -> None:
        """A clock set by a day, or a machine that slept for one, is not doubted."""
        self.clock.advance(38.5 * 24 * EVERY)
        self.assertEqual(self.look(), 7)
        self.clock.set_by = LEAP
        self.assertEqual(self.look(), 3)

    def test_set_back(self) -> None:
        """A clock that is set back by a year keeps what is old for so long, and no longer than for a day after."""
        self.clock.set_by = -365 * 24 * EVERY
        self.clock.advance(45 * 24 * EVERY)
        self.assertEqual(self.look(), 7)
        self.clock.set_by = 0
        self.assertEqual(self.look(int(DOUBT / EVERY)), 7)
        self.assertEqual(self.look(), 3)
