"""Print queues of Windows, with a stand-in for pywin32 that follows the spooler's rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from protocols.errors import LineLost, NotReached, Silent
from protocols.printers.queues import Condition, IPrintQueue, QueueState, UnknownQueue
from protocols.printers.verdict import Outcome, Verdict
from protocols.printers.windows_spooler import (
    CHUNK,
    JobBit,
    Spooler,
    WindowsQueue,
    installed_spooler,
    windows_queue,
)

RECEIPT = b"\x1b@receipt\n\x00\xff"
QUEUE = "XP-80C"


class SpoolerError(Exception):
    """Like pywintypes.error."""

    def __init__(self, winerror: int, funcname: str, strerror: str) -> None:
        super().__init__(winerror, funcname, strerror)
        self.winerror, self.funcname, self.strerror = winerror, funcname, strerror


class Job:
    """A job of the stand-in."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.data = b""
        self.status = int(JobBit.SPOOLING)
        self.pages_printed = 0


class StandIn:
    """The spooler's rules: handles, jobs with status bits, commands for jobs."""

    def __init__(self) -> None:
        self.handles: set[int] = set()
        self.opened = 0
        self.jobs: dict[int, Job] = {}
        self.status = self.attributes = 0
        self.numbers = 0
        self.current: dict[int, int] = {}
        self.most = 1 << 30
        """Bytes that one WritePrinter takes."""
        self.failing: dict[str, Exception] = {}
        self.calls: list[str] = []
        self.before: dict[str, Callable[[], None]] = {}
        """What happens just before a call."""

    def _call(self, name: str, handle: Any = None) -> None:
        if name != "OpenPrinter" and handle not in self.handles:
            raise SpoolerError(6, name, "The handle is invalid.")
        self.calls.append(name)
        if name in self.before:
            self.before.pop(name)()
        if name in self.failing:
            raise self.failing[name]

    def _current(self, handle: Any, name: str) -> Job:
        if handle not in self.current:
            raise SpoolerError(3003, name, "A StartDocPrinter call was not issued.")
        return self.jobs[self.current[handle]]

    def OpenPrinter(self, name: str) -> int:
        """A handle for the only queue."""
        self._call("OpenPrinter")
        if name != QUEUE:
            raise SpoolerError(1801, "OpenPrinter", "The printer name is invalid.")
        self.opened += 1
        self.handles.add(self.opened)
        return self.opened

    def ClosePrinter(self, handle: Any) -> None:
        """Release it."""
        self._call("ClosePrinter", handle)
        self.handles.remove(handle)

    def GetPrinter(self, handle: Any, level: int) -> Mapping[str, Any]:
        """Its status."""
        self._call("GetPrinter", handle)
        assert level == 2
        return {"pPrinterName": QUEUE, "Status": self.status, "Attributes": self.attributes, "cJobs": len(self.jobs)}

    def StartDocPrinter(self, handle: Any, level: int, document: tuple[str, str | None, str]) -> int:
        """A new job."""
        self._call("StartDocPrinter", handle)
        assert level == 1 and document[1:] == (None, "RAW")
        self.numbers += 1
        self.jobs[self.numbers] = Job(document[0])
        self.current[handle] = self.numbers
        return self.numbers

    def StartPagePrinter(self, handle: Any) -> None:
        """A new page."""
        self._call("StartPagePrinter", handle)
        self._current(handle, "StartPagePrinter")

    def WritePrinter(self, handle: Any, data: bytes) -> int:
        """Take bytes, not always all."""
        self._call("WritePrinter", handle)
        taken = data[: self.most]
        self._current(handle, "WritePrinter").data += taken
        return len(taken)

    def EndPagePrinter(self, handle: Any) -> None:
        """End the page."""
        self._call("EndPagePrinter", handle)
        self._current(handle, "EndPagePrinter")

    def EndDocPrinter(self, handle: Any) -> None:
        """End the job, which waits now."""
        self._call("EndDocPrinter", handle)
        self._current(handle, "EndDocPrinter").status &= ~JobBit.SPOOLING
        del self.current[handle]

    def AbortPrinter(self, handle: Any) -> None:
        """Discard the job."""
        self._call("AbortPrinter", handle)
        self._current(handle, "AbortPrinter")
        del self.jobs[self.current.pop(handle)]

    def _known(self, job: int, name: str) -> Job:
        if job not in self.jobs:
            raise SpoolerError(87, name, "The parameter is incorrect.")
        return self.jobs[job]

    def _shown(self, number: int) -> Mapping[str, Any]:
        job = self.jobs[number]
        return {
            "JobId": number,
            "pDocument": job.title,
            "pStatus": None,
            "Status": job.status,
            "PagesPrinted": job.pages_printed,
        }

    def GetJob(self, handle: Any, job: int, level: int) -> Mapping[str, Any]:
        """One job."""
        self._call("GetJob", handle)
        assert level == 1
        self._known(job, "GetJob")
        return self._shown(job)

    def SetJob(self, handle: Any, job: int, level: int, information: None, command: int) -> None:
        """Pause, resume, delete."""
        self._call(f"SetJob {command}", handle)
        assert level == 0 and information is None
        known = self._known(job, "SetJob")
        if command == 1:
            known.status |= JobBit.PAUSED
        elif command == 2:
            known.status &= ~JobBit.PAUSED
        else:
            assert command == 5
            del self.jobs[job]


class SpoolerCase(SynchronousTestCase):
    """One queue with a stand-in; its calls run immediately or when the test lets them."""

    def setUp(self) -> None:
        """Begin with an empty queue."""
        self.clock = Clock()
        self.windows = StandIn()
        self.held: list[Callable[[], object]] | None = None
        self.queue = self.named(QUEUE)

    def named(self, name: str) -> WindowsQueue:
        """The queue ``name``."""
        return WindowsQueue(self.clock, self.off_thread, name, self.spooler)

    def spooler(self) -> Spooler:
        """The stand-in."""
        return self.windows

    def off_thread(self, work: Callable[[], Any]) -> Deferred[Any]:
        """Call ``work`` now, or keep it, like a thread that does not return."""
        if self.held is None:
            return execute(work)
        done: Deferred[Any] = Deferred()
        self.held.append(lambda: execute(work).chainDeferred(done))
        return done

    def tearDown(self) -> None:
        """Check that every handle is closed."""
        self.assertEqual(self.windows.handles, set())

    def deliver(self, patience: float = 5) -> Deferred[Verdict]:
        """Send the receipt."""
        return self.queue.deliver(RECEIPT, "till/17", patience)

    def run_for(self, seconds: float) -> None:
        """Advance the time in small steps."""
        for _ in range(round(seconds / 0.05)):
            self.clock.advance(0.05)


class DeliveryTests(SpoolerCase):
    """Jobs and their verdicts."""

    def test_printed(self) -> None:
        """A job whose status says printed is printed; its bytes and title arrive unchanged."""
        delivered = self.deliver()
        job = self.windows.jobs[1]
        self.assertEqual((job.data, job.title), (RECEIPT, "till/17"))
        self.assertNoResult(delivered)
        job.status |= JobBit.PRINTING
        self.run_for(1)
        self.assertNoResult(delivered)
        job.status |= JobBit.PRINTED | JobBit.DELETING
        self.run_for(0.3)
        self.assertEqual(self.successResultOf(delivered), Verdict(Outcome.PRINTED, "", 1))

    def test_order_of_calls(self) -> None:
        """The calls have the order that the spooler requires."""
        self.assertNoResult(self.deliver())
        self.assertEqual(
            self.windows.calls[:7],
            [
                "OpenPrinter",
                "StartDocPrinter",
                "StartPagePrinter",
                "WritePrinter",
                "EndPagePrinter",
                "EndDocPrinter",
                "ClosePrinter",
            ],
        )

    def test_gone(self) -> None:
        """A job that the queue no longer lists is accepted: it was printed, or a person removed it."""
        delivered = self.deliver()
        self.windows.jobs.clear()
        self.run_for(0.3)
        self.assertEqual(
            self.successResultOf(delivered), Verdict(Outcome.ACCEPTED, "the queue no longer lists the job", 1)
        )

    def test_short_writes(self) -> None:
        """Bytes that the spooler does not take are written again until it has them all."""
        self.windows.most = 5
        self.assertNoResult(self.deliver())
        self.assertEqual(self.windows.jobs[1].data, RECEIPT)

    def test_no_more_bytes(self) -> None:
        """A spooler that takes nothing causes no endless loop: not printed, and the job is discarded."""
        self.windows.most = 0
        verdict = self.successResultOf(self.deliver())
        self.assertEqual(verdict, Verdict(Outcome.NOT_PRINTED, "the spooler takes no more bytes", 1))
        self.assertEqual(self.windows.jobs, {})

    def test_unknown_queue(self) -> None:
        """An unknown queue is an error of its own class."""
        queue = self.named("absent")
        for asked in (queue.deliver(RECEIPT, "till/17", 5), queue.state(5)):
            failure = self.failureResultOf(asked, UnknownQueue)
            self.assertIn("'absent'", failure.getErrorMessage())

    def test_not_opened(self) -> None:
        """Without permission, or without a running spooler, nothing was sent, and the reason says why."""
        for number, words in ((5, "no permission"), (1722, "is not running"), (1234, "Strange")):
            self.windows.failing["OpenPrinter"] = SpoolerError(number, "OpenPrinter", "Strange")
            failure = self.failureResultOf(self.deliver(), NotReached)
            self.assertIn(words, failure.getErrorMessage())

    def test_refused(self) -> None:
        """A job that cannot begin was not printed."""
        self.windows.failing["StartDocPrinter"] = SpoolerError(5, "StartDocPrinter", "Access is denied.")
        verdict = self.successResultOf(self.deliver())
        self.assertEqual(verdict, Verdict(Outcome.NOT_PRINTED, "no permission to use the printer (5)"))

    def test_fails_before_the_first_byte(self) -> None:
        """An error before the first byte is not printed if the job was discarded, else unknown."""
        self.windows.failing["StartPagePrinter"] = SpoolerError(1784, "StartPagePrinter", "Bad buffer.")
        self.assertEqual(self.successResultOf(self.deliver()).outcome, Outcome.NOT_PRINTED)
        self.windows.failing["AbortPrinter"] = SpoolerError(6, "AbortPrinter", "Bad handle.")
        self.assertEqual(self.successResultOf(self.deliver()).outcome, Outcome.UNKNOWN)

    def test_fails_after_the_first_byte(self) -> None:
        """An error after the first byte is unknown, even if the job was discarded: Windows prints early."""
        for name in ("EndPagePrinter", "EndDocPrinter"):
            self.windows.failing = {name: SpoolerError(1784, name, "Bad buffer.")}
            verdict = self.successResultOf(self.deliver())
            self.assertEqual(verdict.outcome, Outcome.UNKNOWN)
            self.assertIn(f"Bad buffer. (1784); {len(RECEIPT)} of {len(RECEIPT)} bytes", verdict.reason)
            self.assertEqual(self.windows.jobs, {})

    def test_fault_of_our_own(self) -> None:
        """An error of another kind is a verdict too, and the handle is closed."""
        self.windows.failing["WritePrinter"] = TypeError("bytes expected")
        verdict = self.successResultOf(self.deliver())
        self.assertEqual(verdict, Verdict(Outcome.NOT_PRINTED, "TypeError: bytes expected", 1))

    def test_handle_that_cannot_be_closed(self) -> None:
        """A handle that cannot be closed does not change the verdict."""
        self.windows.failing["ClosePrinter"] = SpoolerError(6, "ClosePrinter", "Bad handle.")
        delivered = self.deliver()
        self.windows.jobs[1].status |= JobBit.PRINTED
        self.run_for(0.3)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.PRINTED)
        self.windows.handles.clear()

    def test_waits(self) -> None:
        """A job that has not begun when time is up is paused, checked and deleted: it cannot come out later."""
        delivered = self.deliver()
        self.run_for(4.9)
        self.assertNoResult(delivered)
        self.run_for(0.2)
        verdict = self.successResultOf(delivered)
        self.assertEqual(verdict.outcome, Outcome.NOT_PRINTED)
        self.assertEqual(self.windows.jobs, {})
        self.assertLess(self.windows.calls.index("SetJob 1"), self.windows.calls.index("SetJob 5"))

    def test_has_begun(self) -> None:
        """A job that has begun, by any sign of that, is left alone when time is up."""
        for bit in (JobBit.PRINTING, JobBit.ERROR, JobBit.PAPER_OUT, JobBit.COMPLETE, JobBit.BLOCKED, JobBit.RESTART):
            delivered = self.deliver()
            number = self.windows.numbers
            self.windows.jobs[number].status |= bit
            self.run_for(5.1)
            self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED, bit)
            self.assertIn(number, self.windows.jobs)
        delivered = self.deliver()
        self.windows.jobs[self.windows.numbers].pages_printed = 1
        self.run_for(5.1)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED)

    def test_had_begun(self) -> None:
        """A job that was being printed and waits again may be partly on paper: it is not deleted."""
        delivered = self.deliver()
        self.windows.jobs[1].status |= JobBit.PRINTING
        self.run_for(1)
        self.windows.jobs[1].status = 0
        self.run_for(4.1)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED)
        self.assertIn(1, self.windows.jobs)

    def test_ukrainian_titles(self) -> None:
        """Titles are sent in ASCII, cut to what a queue keeps."""
        self.assertNoResult(self.queue.deliver(RECEIPT, "каса/17 " + "ї" * 300, 5))
        self.assertTrue(self.windows.jobs[1].title.isascii())
        self.assertLessEqual(len(self.windows.jobs[1].title), 255)

    def test_given_up(self) -> None:
        """A job that its caller cancels ends as if time were up."""
        delivered = self.deliver()
        delivered.cancel()
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.NOT_PRINTED)
        self.assertEqual(self.windows.jobs, {})

    def test_words_of_the_job(self) -> None:
        """The verdict on a stuck job has a reason."""
        delivered = self.deliver()
        self.windows.jobs[1].status |= JobBit.PRINTING | JobBit.PAPER_OUT
        self.run_for(5.1)
        self.assertEqual(
            self.successResultOf(delivered), Verdict(Outcome.ACCEPTED, "being printed: printing, paper out", 1)
        )

    def test_begins_while_it_is_withdrawn(self) -> None:
        """A job that begins just before the pause continues and is not deleted."""
        delivered = self.deliver()

        def begin() -> None:
            self.windows.jobs[1].status |= JobBit.PRINTING

        self.windows.before["SetJob 1"] = begin
        self.run_for(5.1)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED)
        self.assertEqual(self.windows.jobs[1].status, JobBit.PRINTING)

    def test_ends_while_it_is_withdrawn(self) -> None:
        """A job that is gone when it should be paused or deleted is accepted."""
        for command in ("SetJob 1", "SetJob 5"):
            delivered = self.deliver()
            self.windows.before[command] = self.windows.jobs.clear
            self.run_for(5.1)
            self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED)

    def test_not_ours_to_withdraw(self) -> None:
        """A job that cannot be deleted continues and does not stay paused."""
        self.windows.failing["SetJob 5"] = SpoolerError(5, "SetJob", "Access is denied.")
        delivered = self.deliver()
        self.run_for(5.1)
        verdict = self.successResultOf(delivered)
        self.assertEqual(verdict.outcome, Outcome.ACCEPTED)
        self.assertIn("no permission", verdict.reason)
        self.assertEqual(self.windows.jobs[1].status, 0)

    def test_removed(self) -> None:
        """A job removed by a person is not printed if it had not begun, else unknown."""
        for bits, outcome in (
            (JobBit.DELETING, Outcome.NOT_PRINTED),
            (JobBit.DELETED, Outcome.NOT_PRINTED),
            (JobBit.DELETING | JobBit.PRINTING, Outcome.UNKNOWN),
        ):
            delivered = self.deliver()
            self.windows.jobs[self.windows.numbers].status |= bits
            self.run_for(0.3)
            self.assertEqual(self.successResultOf(delivered).outcome, outcome)

    def test_question_fails(self) -> None:
        """A job in the queue stays accepted when the spooler does not answer queries about it."""
        self.windows.failing["GetJob"] = SpoolerError(1722, "GetJob", "The RPC server is unavailable.")
        verdict = self.successResultOf(self.deliver())
        self.assertEqual(verdict.outcome, Outcome.ACCEPTED)
        self.assertIn("taken by the queue; then ", verdict.reason)


class ThreadTests(SpoolerCase):
    """Calls that do not return."""

    def setUp(self) -> None:
        """Suspend every call."""
        super().setUp()
        self.calls: list[Callable[[], object]] = []
        self.held = self.calls

    def test_stuck_before_the_job(self) -> None:
        """A call hangs before a job exists: not printed, also when it returns at last."""
        delivered = self.deliver()
        self.clock.advance(4.9)
        self.assertNoResult(delivered)
        self.clock.advance(0.1)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.NOT_PRINTED)
        self.calls.pop()()
        self.assertEqual(self.windows.jobs, {})
        self.assertNotIn("StartDocPrinter", self.windows.calls)

    def test_given_up(self) -> None:
        """A caller that cancels a hanging call gets a verdict: nothing was sent, and nothing will be."""
        delivered = self.deliver()
        delivered.cancel()
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.NOT_PRINTED)
        self.calls.pop()()
        self.assertEqual(self.windows.jobs, {})

    def test_stuck_in_the_job(self) -> None:
        """A call hangs during a job: unknown; when it returns, the rest is not sent."""
        job = b"x" * (CHUNK + 1)
        delivered = self.queue.deliver(job, "till/17", 5)
        self.windows.before["WritePrinter"] = lambda: self.clock.advance(5)
        self.calls.pop()()
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.UNKNOWN)
        self.assertEqual(self.windows.calls.count("WritePrinter"), 1)
        self.assertEqual(self.windows.jobs, {})

    def test_next_call(self) -> None:
        """While a call hangs, the next one waits, does not begin, and reports that nothing was sent."""
        self.assertNoResult(self.queue.state(60))
        delivered = self.deliver()
        self.clock.advance(5)
        self.failureResultOf(delivered, NotReached)
        self.assertEqual(len(self.calls), 1)
        self.calls.pop()()
        delivered = self.deliver()
        self.calls.pop()()
        self.assertEqual(self.windows.jobs[1].data, RECEIPT)
        self.assertNoResult(delivered)

    def test_question_stuck(self) -> None:
        """A hanging query about a job leaves it accepted within the time limit."""
        delivered = self.deliver()
        self.calls.pop()()
        self.run_for(2.1)
        self.assertEqual(self.successResultOf(delivered).outcome, Outcome.ACCEPTED)

    def test_withdrawal_stuck(self) -> None:
        """A withdrawal that hangs leaves the job unknown."""
        withdrawn = Deferred.fromCoroutine(self.queue.withdraw(1))
        self.clock.advance(2)
        self.assertEqual(self.successResultOf(withdrawn).outcome, Outcome.UNKNOWN)

    def test_withdrawal_that_never_begins(self) -> None:
        """A withdrawal that cannot begin leaves the job accepted."""
        self.assertNoResult(self.queue.state(60))
        withdrawn = Deferred.fromCoroutine(self.queue.withdraw(1))
        self.clock.advance(2)
        self.assertEqual(self.successResultOf(withdrawn).outcome, Outcome.ACCEPTED)

    def test_state_stuck(self) -> None:
        """A hanging query about the printer fails in time."""
        asked = self.queue.state(2)
        self.clock.advance(2)
        self.failureResultOf(asked, Silent)


class StateTests(SpoolerCase):
    """The state of the printer according to Windows."""

    def state(self, status: int, attributes: int = 0) -> QueueState:
        """The state with these bits."""
        self.windows.status, self.windows.attributes = status, attributes
        return self.successResultOf(self.queue.state(5))

    def test_bits(self) -> None:
        """Each status bit has its meaning; of several the cover comes first, then the paper; busy is no error."""
        for status, condition, words in (
            (0, Condition.OK, ""),
            (0x400 | 0x200 | 0x4000, Condition.OK, ""),
            (0x10, Condition.PAPER_OUT, "paper out"),
            (0x80, Condition.OFFLINE, "offline"),
            (0x400000, Condition.COVER_OPEN, "door open"),
            (0x1, Condition.STOPPED, "paused"),
            (0x8, Condition.STOPPED, "paper jam"),
            (0x400000 | 0x10 | 0x2, Condition.COVER_OPEN, "door open, paper out, error"),
        ):
            self.assertEqual(self.state(status), QueueState(condition, words), hex(status))

    def test_work_offline(self) -> None:
        """A queue that is set to offline use is offline without any status bit."""
        self.assertEqual(self.state(0, 0x400 | 0x40), QueueState(Condition.OFFLINE, "set to offline use"))

    def test_fails(self) -> None:
        """A query that the spooler refuses fails."""
        self.windows.failing["GetPrinter"] = SpoolerError(5, "GetPrinter", "Access is denied.")
        self.failureResultOf(self.queue.state(5), LineLost)


class ElsewhereTests(SynchronousTestCase):
    """Machines without pywin32."""

    def test_absent(self) -> None:
        """Without pywin32 the module loads, and every use reports what is missing."""
        self.patch(sys, "modules", {**sys.modules, "win32print": None})
        self.assertRaises(NotReached, installed_spooler)
        queue = WindowsQueue(Clock(), execute, QUEUE)
        failure = self.failureResultOf(queue.deliver(RECEIPT, "till/17", 5), NotReached)
        self.assertIn("Windows and pywin32", failure.getErrorMessage())

    def test_present(self) -> None:
        """pywin32's module is used where it is installed."""
        module = object()
        self.patch(sys, "modules", {**sys.modules, "win32print": module})
        self.assertIs(installed_spooler(), module)

    def test_threads_of_the_reactor(self) -> None:
        """The calls of a queue run in the reactor's threads."""

        class Pool:
            """Counts."""

            calls = 0

            def callInThreadWithCallback(self, on_result: Any, work: Any, *args: Any, **kwargs: Any) -> None:
                """Count."""
                self.calls += 1

        class Reactor(Clock):
            """A clock with threads."""

            pool = Pool()

            def getThreadPool(self) -> Pool:
                """The threads."""
                return self.pool

        reactor = Reactor()
        queue = windows_queue(reactor, QUEUE)
        verifyObject(IPrintQueue, queue)
        self.assertNoResult(queue.state(5))
        self.assertEqual(reactor.pool.calls, 1)
