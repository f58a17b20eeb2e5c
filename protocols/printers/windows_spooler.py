"""Print queues of Windows, spoken to through the spooler by pywin32 (printers.md 1.6).

A job goes as ``RAW``: no driver touches the bytes. The order of calls::

    OpenPrinter -> StartDocPrinter(1, (title, None, "RAW")) -> StartPagePrinter
    -> WritePrinter until all is taken -> EndPagePrinter -> EndDocPrinter -> ClosePrinter

====================================================  ======================================================
what happened                                         verdict
====================================================  ======================================================
no pywin32, no spooler, no permission                 fails with `NotReached`
the queue is unknown (1801)                           fails with `UnknownQueue`
an error before the first byte was taken              not printed
an error after it, or no end in time                  unknown: Windows may print while it still takes bytes
the job's status says printed                         printed
the queue lists the job no more                       accepted: it was printed, or a person removed it
removed while the queue still lists it                not printed when it never began, else unknown
time is up, the job waits and never began             paused, looked at, deleted: not printed
time is up, the job has begun                         accepted
====================================================  ======================================================

All calls of the spooler block. They are made in one place, `WindowsQueue._run`, in a thread and one at a time.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntFlag
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred, DeferredLock, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.printers.queues import (
    Condition,
    IPrintQueue,
    QueuedJob,
    QueueState,
    Stage,
    UnknownQueue,
    follow,
    judge,
    short_title,
    under_way,
)
from protocols.printers.verdict import Outcome, Verdict

Result = TypeVar("Result")

OffThread = Callable[[Callable[[], Any]], Deferred[Any]]
"""Calls a function where it may block."""

CHUNK = 64 * 1024
"""Bytes for each WritePrinter: between two of them a job can still be given up."""

ASK_S = 2.0
"""Seconds for each question about a job that the queue has."""

INVALID_PRINTER_NAME, INVALID_PARAMETER, ACCESS_DENIED, RPC_UNAVAILABLE = 1801, 87, 5, 1722
"""Errors of Windows; the second is what GetJob says of a job that the queue lists no more."""

JOB_PAUSE, JOB_RESUME, JOB_DELETE = 1, 2, 5
"""Commands of SetJob."""

WORK_OFFLINE = 0x400
"""The attribute of a queue that a person has set to "use offline"."""

PRINTER_BITS: tuple[tuple[int, Condition, str], ...] = (
    (0x400000, Condition.COVER_OPEN, "door open"),
    (0x10, Condition.PAPER_OUT, "paper out"),
    (0x80, Condition.OFFLINE, "offline"),
    (0x1000, Condition.OFFLINE, "not available"),
    (0x800000, Condition.OFFLINE, "server unknown"),
    (0x1, Condition.STOPPED, "paused"),
    (0x2, Condition.STOPPED, "error"),
    (0x4, Condition.STOPPED, "being deleted"),
    (0x8, Condition.STOPPED, "paper jam"),
    (0x20, Condition.STOPPED, "manual feed"),
    (0x40, Condition.STOPPED, "paper problem"),
    (0x800, Condition.STOPPED, "output bin full"),
    (0x40000, Condition.STOPPED, "no toner"),
    (0x80000, Condition.STOPPED, "page punt"),
    (0x100000, Condition.STOPPED, "a person has to see to it"),
    (0x200000, Condition.STOPPED, "out of memory"),
)
"""Status bits of GetPrinter level 2 in the order in which they count; busy, printing and the like hinder nothing."""


class JobBit(IntFlag):
    """Status bits of a job."""

    PAUSED = 0x1
    ERROR = 0x2
    DELETING = 0x4
    SPOOLING = 0x8
    PRINTING = 0x10
    OFFLINE = 0x20
    PAPER_OUT = 0x40
    PRINTED = 0x80
    DELETED = 0x100
    BLOCKED = 0x200
    PERSON = 0x400
    """A person has to see to it."""
    RESTART = 0x800
    COMPLETE = 0x1000
    """Sent to the printer, which leaves open whether it was printed."""


BEGUN = (
    JobBit.ERROR
    | JobBit.PRINTING
    | JobBit.PAPER_OUT
    | JobBit.PRINTED
    | JobBit.BLOCKED
    | JobBit.PERSON
    | JobBit.RESTART
    | JobBit.COMPLETE
)
"""Any of these and some of the job may be on paper."""

JOB_WORDS = (
    (JobBit.PAUSED, "paused"),
    (JobBit.ERROR, "error"),
    (JobBit.SPOOLING, "spooling"),
    (JobBit.PRINTING, "printing"),
    (JobBit.OFFLINE, "offline"),
    (JobBit.PAPER_OUT, "paper out"),
    (JobBit.BLOCKED, "blocked"),
    (JobBit.PERSON, "a person has to see to it"),
    (JobBit.COMPLETE, "sent to the printer"),
)


class Spooler(Protocol):
    """What of pywin32's ``win32print`` is used; its errors carry ``winerror`` and ``strerror``."""

    def OpenPrinter(self, name: str) -> Any:
        """A handle."""

    def ClosePrinter(self, handle: Any) -> None:
        """Give the handle back."""

    def GetPrinter(self, handle: Any, level: int) -> Mapping[str, Any]:
        """What is known of the queue."""

    def StartDocPrinter(self, handle: Any, level: int, document: tuple[str, str | None, str]) -> int:
        """Begin a job; its number."""

    def StartPagePrinter(self, handle: Any) -> None:
        """Begin a page."""

    def WritePrinter(self, handle: Any, data: bytes) -> int:
        """Give bytes; how many were taken."""

    def EndPagePrinter(self, handle: Any) -> None:
        """End the page."""

    def EndDocPrinter(self, handle: Any) -> None:
        """End the job."""

    def AbortPrinter(self, handle: Any) -> None:
        """Throw the job away."""

    def GetJob(self, handle: Any, job: int, level: int) -> Mapping[str, Any]:
        """What is known of a job."""

    def SetJob(self, handle: Any, job: int, level: int, information: None, command: int) -> None:
        """Pause, resume or delete a job."""


def installed_spooler() -> Spooler:
    """pywin32's spooler.

    :raises NotReached: where there is none.
    """
    try:
        module: Spooler = importlib.import_module("win32print")
    except ImportError:
        raise NotReached("printing through Windows needs Windows and pywin32") from None
    return module


class _Handover:
    """The moment after which a job may exist: either the thread begins it or the waiter gives it up, never both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self._given_up = False

    def begin(self) -> bool:
        """Whether the job may begin; from now on nobody can say that nothing was sent."""
        with self._lock:
            self._begun = self._begun or not self._given_up
            return not self._given_up

    def give_up(self) -> bool:
        """Wait no longer; whether the job had begun."""
        with self._lock:
            self._given_up = True
            return self._begun

    @property
    def given_up(self) -> bool:
        """Whether nobody waits any longer."""
        return self._given_up


class _Blocking:
    """One queue by calls that block; each opens the printer and closes it again, whatever happens."""

    def __init__(self, name: str, spooler: Callable[[], Spooler]) -> None:
        self._name, self._spooler = name, spooler

    @contextmanager
    def _open(self) -> Iterator[tuple[Spooler, Any]]:
        spooler = self._spooler()
        try:
            handle = spooler.OpenPrinter(self._name)
        except Exception as error:
            number, words = _told(error)
            if number == INVALID_PRINTER_NAME:
                raise UnknownQueue(self._name) from error
            raise NotReached(words) from error
        try:
            yield spooler, handle
        finally:
            # What became of the job is decided; a handle that cannot be closed changes nothing of it.
            with suppress(Exception):
                spooler.ClosePrinter(handle)

    def send(self, data: bytes, title: str, handover: _Handover) -> int | Verdict:
        """Hand over a job; its number, or the verdict when that is known already."""
        with self._open() as (spooler, handle):
            if not handover.begin():
                return Verdict(Outcome.NOT_PRINTED, "given up before it began")
            try:
                number = spooler.StartDocPrinter(handle, 1, (title, None, "RAW"))
            except Exception as error:
                return Verdict(Outcome.NOT_PRINTED, _told(error)[1])
            taken = 0
            try:
                spooler.StartPagePrinter(handle)
                while taken < len(data):
                    if handover.given_up:
                        raise _Stopped("given up while it was handed over")
                    step = spooler.WritePrinter(handle, data[taken : taken + CHUNK])
                    if step <= 0:
                        raise _Stopped("the spooler takes no more bytes")
                    taken += step
                spooler.EndPagePrinter(handle)
                spooler.EndDocPrinter(handle)
            except Exception as error:
                words = error.words if isinstance(error, _Stopped) else _told(error)[1]
                # Nothing was taken and the job is thrown away for sure: only then nothing can come out.
                if _aborted(spooler, handle) and not taken:
                    return Verdict(Outcome.NOT_PRINTED, words, number)
                return Verdict(Outcome.UNKNOWN, f"{words}; {taken} of {len(data)} bytes were taken", number)
            return number

    def job(self, number: int) -> QueuedJob | None:
        """The job, `None` when the queue lists it no more."""
        with self._open() as (spooler, handle):
            return _look(spooler, handle, number)

    def withdraw(self, number: int) -> Verdict:
        """Hold the job, look whether it has begun, and delete it only if not."""
        with self._open() as (spooler, handle):
            try:
                spooler.SetJob(handle, number, 0, None, JOB_PAUSE)
                job = _look(spooler, handle, number)
                if job is None:
                    return _gone(number)
                verdict = judge(job)
                if verdict is not None:
                    return verdict
                if not job.began:
                    spooler.SetJob(handle, number, 0, None, JOB_DELETE)
                    return Verdict(
                        Outcome.NOT_PRINTED, "it had not begun in time and was withdrawn from the queue", number
                    )
                spooler.SetJob(handle, number, 0, None, JOB_RESUME)
                return under_way(job)
            except Exception as error:
                code, words = _told(error)
                if code == INVALID_PARAMETER:
                    return _gone(number)
                with suppress(Exception):
                    spooler.SetJob(handle, number, 0, None, JOB_RESUME)
                return Verdict(Outcome.ACCEPTED, f"it cannot be withdrawn from the queue: {words}", number)

    def state(self) -> QueueState:
        """What the queue knows of its printer."""
        with self._open() as (spooler, handle):
            try:
                known = spooler.GetPrinter(handle, 2)
            except Exception as error:
                raise _asked(error) from error
        status, attributes = int(known.get("Status", 0)), int(known.get("Attributes", 0))
        found = [(condition, words) for bit, condition, words in PRINTER_BITS if status & bit]
        if attributes & WORK_OFFLINE:
            found.append((Condition.OFFLINE, "set to work offline"))
        order = list(Condition)
        found.sort(key=lambda pair: order.index(pair[0]))
        if not found:
            return QueueState(Condition.OK)
        return QueueState(found[0][0], ", ".join(words for _, words in found))


class _Stopped(Exception):
    """A job was not handed over whole, for a reason of our own."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def _told(error: Exception) -> tuple[int, str]:
    """Number and words of an error of Windows; the number is 0 for anything else.

    ``pywintypes.error`` cannot be imported elsewhere, so it is known by its number.
    """
    number = getattr(error, "winerror", None)
    if not isinstance(number, int):
        return 0, f"{type(error).__name__}: {error}"
    words = {
        ACCESS_DENIED: "no permission to use the printer",
        RPC_UNAVAILABLE: "the print spooler of Windows does not run",
    }.get(number) or str(getattr(error, "strerror", "") or "error of Windows")
    return number, f"{words} ({number})"


def _asked(error: Exception) -> WireError:
    """What became of a question that the spooler did not answer."""
    if isinstance(error, ValueError):
        # Names that other programs gave their jobs may not be text for pywin32.
        return Garbled(f"the spooler's answer cannot be read: {error}")
    return LineLost(_told(error)[1])


def _aborted(spooler: Spooler, handle: Any) -> bool:
    """Throw away the job that is being handed over; whether that is sure."""
    try:
        spooler.AbortPrinter(handle)
    except Exception:
        return False
    return True


def _look(spooler: Spooler, handle: Any, number: int) -> QueuedJob | None:
    try:
        given = spooler.GetJob(handle, number, 1)
    except Exception as error:
        if getattr(error, "winerror", None) == INVALID_PARAMETER:
            return None
        raise _asked(error) from error
    return _job({**given, "JobId": number})


def _job(given: Mapping[str, Any]) -> QueuedJob:
    status, pages = int(given.get("Status", 0)), int(given.get("PagesPrinted", 0))
    began = bool(status & BEGUN) or pages > 0
    if status & JobBit.PRINTED:
        stage = Stage.DONE
    elif status & (JobBit.DELETING | JobBit.DELETED):
        stage = Stage.REMOVED
    else:
        stage = Stage.WORKING if began else Stage.WAITING
    words = given.get("pStatus") or ", ".join(words for bit, words in JOB_WORDS if status & bit)
    return QueuedJob(int(given["JobId"]), str(given.get("pDocument") or ""), stage, began, str(words))


def _gone(number: int) -> Verdict:
    return Verdict(Outcome.ACCEPTED, "the queue lists the job no more", number)


def _ascii_title(title: str) -> str:
    """The title in letters that every version of pywin32 gives back as they were."""
    return short_title(title.encode("ascii", "backslashreplace").decode())


@implementer(IPrintQueue)
class WindowsQueue:
    """One queue of Windows.

    :param name: as Windows shows it, ``XP-80C`` or ``\\\\server\\printer``.
    :param spooler: gives ``win32print``; a stand-in in tests.
    """

    def __init__(
        self,
        clock: IReactorTime,
        off_thread: OffThread,
        name: str,
        spooler: Callable[[], Spooler] = installed_spooler,
    ) -> None:
        self._clock, self._off_thread, self._name = clock, off_thread, name
        self._blocking = _Blocking(name, spooler)
        # A call that never comes back must not take one thread after the other with it.
        self._turn = DeferredLock()

    def deliver(self, data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """Hand over ``data`` and follow it for ``patience`` seconds; see the table above.

        A question that is open by then, and a withdrawal, come on top of that, with `ASK_S` for each.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises NotReached: when the spooler could not be called: nothing was sent.
        """
        return Deferred.fromCoroutine(self._deliver(data, title, patience))

    def state(self, patience: float) -> Deferred[QueueState]:
        """What Windows knows of the printer; many drivers tell it nothing, so `OK` is no promise.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises WireError: when the spooler does not answer.
        """
        return Deferred.fromCoroutine(self._run(self._blocking.state, patience))

    async def job(self, number: int) -> QueuedJob | None:
        """The job ``number``, `None` when the queue lists it no more.

        :raises WireError: when the spooler does not answer.
        """
        return await self._run(lambda: self._blocking.job(number), ASK_S)

    async def withdraw(self, number: int) -> Verdict:
        """Take the job ``number`` out of the queue if it has not begun."""
        try:
            return await self._run(lambda: self._blocking.withdraw(number), ASK_S)
        except NotReached as error:
            return Verdict(Outcome.ACCEPTED, f"it cannot be withdrawn from the queue: {error.reason}", number)
        except WireError as error:
            return Verdict(Outcome.UNKNOWN, f"withdrawn, and no answer: {error}", number)

    async def _deliver(self, data: bytes, title: str, patience: float) -> Verdict:
        deadline = self._clock.seconds() + patience
        handover = _Handover()
        try:
            sent = await self._run(lambda: self._blocking.send(data, _ascii_title(title), handover), patience)
        except (Silent, LineLost) as end:
            return Verdict(Outcome.UNKNOWN if handover.give_up() else Outcome.NOT_PRINTED, str(end))
        if isinstance(sent, Verdict):
            return sent
        return await follow(self, self._clock, sent, deadline)

    async def _run(self, work: Callable[[], Result], patience: float) -> Result:
        """Do ``work`` in a thread when the call before it has come back.

        :raises NotReached: when that does not come back in time; ``work`` is not begun.
        :raises Silent: when ``work`` does not; it goes on in its thread, and its end is ignored.
        :raises LineLost: when whoever waits gives up; likewise.
        """
        deadline = self._clock.seconds() + patience
        try:
            await self._turn.acquire().addTimeout(patience, self._clock)
        except (TimeoutError, CancelledError):
            raise NotReached("the print spooler of Windows has not come back from an earlier call") from None
        answer: Deferred[Result] = Deferred()

        def ended(result: Result | Failure) -> None:
            self._turn.release()
            if not answer.called:
                answer.callback(result)

        self._off_thread(work).addBoth(ended)
        answer.addTimeout(
            max(deadline - self._clock.seconds(), 0), self._clock, lambda _, __: Failure(Silent(patience))
        )
        try:
            return await answer
        except CancelledError:
            raise LineLost("whoever waited gave up") from None


def windows_queue(reactor: Any, name: str) -> WindowsQueue:
    """The queue ``name`` of this machine, its calls made in the reactor's threads."""
    return WindowsQueue(reactor, lambda work: deferToThreadPool(reactor, reactor.getThreadPool(), work), name)
