"""One task at a time: which task is refused, which waits, and which is next."""

from __future__ import annotations

import gc
import sys

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import ServiceConfig
from dmtwisted.results import Action, Refused, Res
from dmtwisted.turns import MINI_QUEUE, Turns
from tests.specification import promises


class _TurnsCase(SynchronousTestCase):
    """Tasks that take a turn, work until they are ended, and record their results."""

    patience = 0.0

    def setUp(self) -> None:
        """One device without a task."""
        self.clock = Clock()
        self.turns = Turns(self.clock, self.patience)
        self.said: list[str] = []

    def task(self, name: str) -> Task:
        """Start a task."""
        return Task(self, name)

    def work(self, name: str) -> Work:
        """Start work that is not a task."""
        return Work(self, name)

    def assertBusy(self, finished: Deferred[None]) -> None:
        """The task of ``finished`` was refused with 1105, which may be repeated."""
        refused = self.failureResultOf(finished, Refused).value
        self.assertIs(refused.res, Res.DEVICE_BUSY)
        self.assertEqual((refused.res.code, refused.action), (1105, Action.REPEAT))

    def assertIdle(self) -> None:
        """The device is free and no timer runs."""
        self.assertFalse(self.turns.busy)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class LendingTests(_TurnsCase):
    """Questions between two tasks."""

    def test_failed(self) -> None:
        """A question that fails gives the turn back."""
        asked: Deferred[bool] = Deferred()
        lent = Deferred.fromCoroutine(self.turns.lend(lambda: asked))
        asked.errback(Refused(Res.DEVICE_BUSY))
        self.failureResultOf(lent, Refused)
        self.assertIdle()

    def test_register_waits(self) -> None:
        """A task of a device that makes nobody wait waits for the end of a question all the same."""
        self.turns = Turns(self.clock, 0.0)
        asked: Deferred[bool] = Deferred()
        lent = Deferred.fromCoroutine(self.turns.lend(lambda: asked))
        task = Task(self, "task")
        self.assertNoResult(task.finished)
        asked.callback(True)
        self.assertTrue(self.successResultOf(lent))
        refused = self.failureResultOf(Task(self, "other").finished, Refused)
        self.assertIs(refused.value.res, Res.DEVICE_BUSY)
        task.end()
        self.successResultOf(task.finished)
        self.assertIdle()

    def test_collected(self) -> None:
        """A question that is collected as garbage wakes nobody: who waits for it is garbage too."""
        question = self.turns.lend(lambda: Deferred())
        question.send(None)
        waiting = self.turns.turn().acquire()
        question.close()
        self.assertNoResult(waiting)
        waiting.addErrback(lambda why: why.trap(CancelledError))
        waiting.cancel()


class Work:
    """Do work that is not a task; ``finished`` fires when its turn is over."""

    def __init__(self, case: _TurnsCase, name: str) -> None:
        self._case, self._name = case, name
        self._ended: Deferred[None] = Deferred()
        self.finished: Deferred[None] = Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        async with self._case.turns.turn():
            await self._body()

    async def _body(self) -> None:
        self._case.said.append(f"{self._name} begins")
        await self._ended
        self._case.said.append(f"{self._name} ends")

    def end(self) -> None:
        """End the work successfully."""
        self._ended.callback(None)

    def fail(self, error: Exception) -> None:
        """Raise ``error`` in the body of the turn."""
        self._ended.errback(error)


class Task(Work):
    """Do a task; ``finished`` fires when its turn is over or refused."""

    async def _run(self) -> None:
        turns = self._case.turns
        await turns.take()
        try:
            await self._body()
        finally:
            turns.give_back()


class RegisterTests(_TurnsCase):
    """A device without a waiting time, as registers are."""

    def test_alone(self) -> None:
        """A task at a free device begins at once, and the device is free again after it."""
        self.assertFalse(self.turns.busy)
        task = self.task("first")
        self.assertEqual(self.said, ["first begins"])
        self.assertTrue(self.turns.busy)
        task.end()
        self.successResultOf(task.finished)
        self.assertEqual(self.said, ["first begins", "first ends"])
        self.assertIdle()

    @promises("1.9d.1.1", "1.9d.3", "8.one-task.1")
    def test_busy(self) -> None:
        """A second task at a register is refused at once, and no timer stays behind."""
        first = self.task("first")
        self.assertBusy(self.task("second").finished)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        first.end()
        self.assertEqual(self.said, ["first begins", "first ends"])

    def test_refusal_takes_nothing(self) -> None:
        """A refused task does not end another task's turn: the third is refused as the second was."""
        first = self.task("first")
        self.assertBusy(self.task("second").finished)
        self.assertTrue(self.turns.busy)
        self.assertBusy(self.task("third").finished)
        first.end()
        self.assertIdle()

    def test_free_again(self) -> None:
        """After the first task the next one begins as at a free device."""
        self.task("first").end()
        self.task("second").end()
        self.assertEqual(self.said, ["first begins", "first ends", "second begins", "second ends"])
        self.assertIdle()

    def test_body_raises(self) -> None:
        """A failing task gives the turn back, and its failure is passed on unchanged."""
        for error in (Refused(Res.SHIFT_CLOSED), ZeroDivisionError("a fault of ours")):
            task = self.task("first")
            task.fail(error)
            self.assertIs(self.failureResultOf(task.finished).value, error)
            self.assertIdle()

    def test_body_cancelled(self) -> None:
        """A task that is cancelled in its turn gives it back."""
        task = self.task("first")
        task.finished.cancel()
        self.failureResultOf(task.finished, CancelledError)
        self.assertIdle()

    def test_devices_are_apart(self) -> None:
        """A task at one device does not delay a task at another."""
        self.task("first")
        elsewhere = Turns(self.clock, 0.0)
        self.successResultOf(Deferred.fromCoroutine(elsewhere.take()))
        self.assertTrue(elsewhere.busy)


class MiniQueueTests(_TurnsCase):
    """A device with the waiting time that printers and terminals have by default."""

    patience = MINI_QUEUE

    def test_patience(self) -> None:
        """A task waits for at most 15 seconds, in the settings too."""
        self.assertEqual((MINI_QUEUE, ServiceConfig().turn_wait_s), (15.0, 15.0))

    def test_free(self) -> None:
        """A task at a free device does not wait and starts no timer."""
        self.task("first")
        self.assertEqual(self.said, ["first begins"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    @promises("1.9d.4.3")
    def test_just_in_time(self) -> None:
        """A second task that has waited for 14.999 seconds runs when the first one ends then."""
        first, second = self.task("first"), self.task("second")
        self.clock.advance(14.999)
        self.assertNoResult(second.finished)
        self.assertEqual(self.said, ["first begins"])
        first.end()
        self.assertEqual(self.said, ["first begins", "first ends", "second begins"])
        self.clock.advance(60)
        self.assertNoResult(second.finished)
        second.end()
        self.successResultOf(second.finished)
        self.assertIdle()

    @promises("1.9d.4.1", "1.9d.4.2", "1.9d.4.4", "8.mini-queue.1", "8.mini-queue.2")
    def test_too_late(self) -> None:
        """A second task waits 15 seconds and is then refused, and the first one continues."""
        first, second = self.task("first"), self.task("second")
        self.clock.advance(14.999)
        self.assertNoResult(second.finished)
        self.clock.advance(0.001)
        self.assertBusy(second.finished)
        self.assertTrue(self.turns.busy)
        first.end()
        self.successResultOf(first.finished)
        self.assertEqual(self.said, ["first begins", "first ends"])
        self.assertIdle()

    def test_refused_waiter_gets_no_turn(self) -> None:
        """A refused task is passed over: the turn goes to the next one that still waits."""
        first, second = self.task("first"), self.task("second")
        self.clock.advance(10)
        third = self.task("third")
        self.clock.advance(5)
        self.assertBusy(second.finished)
        first.end()
        self.assertEqual(self.said, ["first begins", "first ends", "third begins"])
        third.end()
        self.assertIdle()

    @promises("1.9d.1.2", "1.9d.1.3", "8.one-task.2", "8.one-task.3")
    def test_first_come_first_served(self) -> None:
        """Waiting tasks run one at a time, in the order of their arrival."""
        tasks = [self.task(name) for name in ("a", "b", "c")]
        for task in tasks:
            task.end()
        self.assertEqual(self.said, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
        self.assertIdle()

    def test_each_has_its_own_wait(self) -> None:
        """A task's waiting time begins when it arrives, not when the one before it gets its turn."""
        first, second = self.task("first"), self.task("second")
        self.clock.advance(14)
        first.end()
        third = self.task("third")
        self.clock.advance(14.999)
        self.assertNoResult(third.finished)
        self.clock.advance(0.001)
        self.assertBusy(third.finished)
        second.end()
        self.assertIdle()

    def test_deadline(self) -> None:
        """A task that waited elsewhere waits until its deadline only; past it a free device serves it, a busy not."""
        until = self.turns.deadline()
        self.assertEqual(until, self.clock.seconds() + MINI_QUEUE)
        first = self.task("first")
        self.clock.advance(10)
        waiting = Deferred.fromCoroutine(self.turns.take(until))
        self.clock.advance(4.75)
        self.assertNoResult(waiting)
        self.clock.advance(0.25)
        self.assertBusy(waiting)
        self.assertBusy(Deferred.fromCoroutine(self.turns.take(until)))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        first.end()
        self.successResultOf(Deferred.fromCoroutine(self.turns.take(until)))

    def test_latecomer_does_not_overtake(self) -> None:
        """A task that arrives while a turn is passed on waits behind the one that already waited."""
        first, second = self.task("first"), self.task("second")
        first.end()
        third = self.task("third")
        self.assertEqual(self.said[-1], "second begins")
        second.end()
        self.assertEqual(self.said[-1], "third begins")
        third.end()
        self.assertIdle()

    def test_waiter_that_gave_up(self) -> None:
        """A task that stopped waiting leaves the queue: it gets no turn, and its timer stops."""
        first, second, third = self.task("first"), self.task("second"), self.task("third")
        second.finished.cancel()
        self.failureResultOf(second.finished, CancelledError)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        first.end()
        self.assertEqual(self.said, ["first begins", "first ends", "third begins"])
        third.end()
        self.assertIdle()

    def test_all_gave_up(self) -> None:
        """When all waiting tasks were refused, the device is free after the first task."""
        first, second = self.task("first"), self.task("second")
        second.finished.cancel()
        self.failureResultOf(second.finished, CancelledError)
        first.end()
        self.assertIdle()

    def test_failing_task_hands_on(self) -> None:
        """A failing task passes its turn on like any other."""
        first, second = self.task("first"), self.task("second")
        first.fail(ZeroDivisionError("a fault of ours"))
        self.failureResultOf(first.finished, ZeroDivisionError)
        self.assertEqual(self.said, ["first begins", "second begins"])
        second.end()
        self.assertIdle()

    def test_no_wait_is_left_behind(self) -> None:
        """A task that got its turn has no timer any more, however long it works."""
        first, second = self.task("first"), self.task("second")
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        first.end()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.clock.advance(1000)
        self.assertNoResult(second.finished)
        second.end()
        self.assertIdle()


class OtherPatienceTests(_TurnsCase):
    """A device with another waiting time."""

    patience = 2.5

    def test_patience(self) -> None:
        """A task is refused when this time is over, and not before."""
        first, second = self.task("first"), self.task("second")
        self.clock.advance(2.4)
        self.assertNoResult(second.finished)
        self.clock.advance(0.1)
        self.assertBusy(second.finished)
        first.end()
        self.assertIdle()


class ManagementTests(_TurnsCase):
    """Work that is not a task waits for its turn without a limit, and is not refused with 1105."""

    @promises("1.9e.1.2")
    def test_waits(self) -> None:
        """Such work waits for hours for a register that has a task, and no timer runs for it."""
        task, change = self.task("task"), self.work("change")
        self.clock.advance(10_000)
        self.assertNoResult(change.finished)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        task.end()
        self.assertEqual(self.said, ["task begins", "task ends", "change begins"])
        change.end()
        self.successResultOf(change.finished)
        self.assertIdle()

    def test_task_meanwhile(self) -> None:
        """A task that arrives meanwhile learns that the register is busy, and may come again afterwards."""
        change = self.work("change")
        self.assertBusy(self.task("task").finished)
        change.end()
        self.task("task").end()
        self.assertEqual(self.said, ["change begins", "change ends", "task begins", "task ends"])
        self.assertIdle()

    def test_in_line_with_tasks(self) -> None:
        """At a printer, tasks and other work run in the order of their arrival."""
        self.turns = Turns(self.clock, MINI_QUEUE)
        works = [self.task("a"), self.work("b"), self.task("c")]
        for work in works:
            work.end()
        self.assertEqual(self.said, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
        self.assertIdle()

    def test_body_raises(self) -> None:
        """Failing work gives the turn back, and its failure is passed on unchanged."""
        change, error = self.work("change"), Refused(Res.UNKNOWN_DEVICE)
        change.fail(error)
        self.assertIs(self.failureResultOf(change.finished).value, error)
        self.assertIdle()

    def test_called_off(self) -> None:
        """Cancelled work leaves the queue when it waits, and gives the turn back when it has it."""
        first, second = self.work("first"), self.work("second")
        for work in (second, first):
            work.finished.cancel()
            self.failureResultOf(work.finished, CancelledError)
        self.assertEqual(self.said, ["first begins"])
        self.assertIdle()

    def test_forgotten(self) -> None:
        """Work without a reference gives its turn back when it is collected; nothing is logged."""
        # What earlier tests have left goes now: its end may raise, and is no matter of this one.
        for _ in range(3):
            gc.collect()
        raised: list[object] = []
        self.patch(sys, "unraisablehook", lambda unraisable: raised.append(unraisable.exc_value))
        begun: list[object] = []

        async def work(turn: DeferredLock, begun: list[object]) -> None:
            async with turn:
                due: Deferred[None] = Deferred()
                begun.append(due)
                await due

        # A reference cycle, so that the collector chooses the order; the turn is older than the work.
        turn = self.turns.turn()
        begun.append(Deferred.fromCoroutine(work(turn, begun)))
        self.assertTrue(self.turns.busy)
        del turn, begun
        gc.collect()
        self.assertEqual(raised, [])
        self.assertIdle()


class OwnedTests(SynchronousTestCase):
    """A turn of the management interface where several services share a database."""

    def test_ours(self) -> None:
        """Within it no other service has the device; afterwards the device is free."""
        asked: list[str] = []

        async def own() -> None:
            asked.append("own")

        turns = Turns(Clock(), 0.0, own)

        async def work() -> bool:
            async with turns.owned():
                return turns.busy

        self.assertTrue(self.successResultOf(Deferred.fromCoroutine(work())))
        self.assertEqual((asked, turns.busy), (["own"], False))

    def test_another_service(self) -> None:
        """When another service has the device, nothing is done, and the turn is given back."""

        async def own() -> None:
            raise Refused(Res.DEVICE_BUSY)

        turns = Turns(Clock(), 0.0, own)

        async def work() -> None:
            async with turns.owned():
                self.fail("it is not ours")

        failure = self.failureResultOf(Deferred.fromCoroutine(work()), Refused)
        self.assertIs(failure.value.res, Res.DEVICE_BUSY)
        self.assertFalse(turns.busy)

    def test_alone(self) -> None:
        """With a database of one service it is only the turn."""
        turns = Turns(Clock(), 0.0)
        self.assertIs(turns.owned(), turns.turn())
