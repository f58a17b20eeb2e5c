"""Print queues of Windows, used through the spooler by pywin32 (docs/reference/printers.md#windows).

A job is sent as ``RAW``: no driver changes its bytes. The order of calls::

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
the queue no longer lists the job                     accepted: it was printed, or a person removed it
removed while the queue still lists it                not printed if it never began, else unknown
time is up, the job waits and never began             paused, checked, deleted: not printed
time is up, the job has begun                         accepted
====================================================  ======================================================

All calls of the spooler block. `WindowsQueue._run` makes them in a thread, one at a time.
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
"""Calls a function in a place where it may block."""

CHUNK = 64 * 1024
"""Bytes for each WritePrinter: between two calls a job can still be given up."""

ASK_S = 2.0
"""Seconds for each query about a job in the queue."""

INVALID_PRINTER_NAME, INVALID_PARAMETER, ACCESS_DENIED, RPC_UNAVAILABLE = 1801, 87, 5, 1722
"""Errors of Windows; GetJob returns the second one for a job that the queue no longer lists."""

JOB_PAUSE, JOB_RESUME, JOB_DELETE = 1, 2, 5
"""Commands of SetJob."""

WORK_OFFLINE = 0x400
"""The attribute of a queue that is set to "use offline"."""

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
    (0x100000, Condition.STOPPED, "attention is required"),
    (0x200000, Condition.STOPPED, "out of memory"),
)
"""Status bits of GetPrinter level 2 by priority; busy, printing and the like do not prevent printing."""


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
    """A person is needed."""
    RESTART = 0x800
    COMPLETE = 0x1000
    """Sent to the printer; whether it was printed is unknown."""


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
"""With any of these, part of the job may be on paper."""

JOB_WORDS = (
    (JobBit.PAUSED, "paused"),
    (JobBit.ERROR, "error"),
    (JobBit.SPOOLING, "spooling"),
    (JobBit.PRINTING, "printing"),
    (JobBit.OFFLINE, "offline"),
    (JobBit.PAPER_OUT, "paper out"),
    (JobBit.BLOCKED, "blocked"),
    (JobBit.PERSON, "attention is required"),
    (JobBit.COMPLETE, "sent to the printer"),
)


class Spooler(Protocol):
    """The used part of pywin32's ``win32print``; its errors have ``winerror`` and ``strerror``."""

    def OpenPrinter(self, name: str) -> Any:
        """A handle."""

    def ClosePrinter(self, handle: Any) -> None:
        """Release the handle."""

    def GetPrinter(self, handle: Any, level: int) -> Mapping[str, Any]:
        """The properties of the queue."""

    def StartDocPrinter(self, handle: Any, level: int, document: tuple[str, str | None, str]) -> int:
        """Begin a job; return its number."""

    def StartPagePrinter(self, handle: Any) -> None:
        """Begin a page."""

    def WritePrinter(self, handle: Any, data: bytes) -> int:
        """Write bytes; return how many were taken."""

    def EndPagePrinter(self, handle: Any) -> None:
        """End the page."""

    def EndDocPrinter(self, handle: Any) -> None:
        """End the job."""

    def AbortPrinter(self, handle: Any) -> None:
        """Discard the job."""

    def GetJob(self, handle: Any, job: int, level: int) -> Mapping[str, Any]:
        """The properties of a job."""

    def SetJob(self, handle: Any, job: int, level: int, information: None, command: int) -> None:
        """Pause, resume or delete a job."""


def installed_spooler() -> Spooler:
    """pywin32's spooler.

    :raises NotReached: when it is not installed.
    """
    try:
        module: Spooler = importlib.import_module("win32print")
    except ImportError:
        raise NotReached("Windows print queues need Windows and pywin32") from None
    return module


class _Handover:
    """The moment after which a job may exist: either the thread begins it or the caller gives it up, never both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self.given_up = False

    def begin(self) -> bool:
        """Whether the job may begin; from now on it is uncertain that nothing was sent."""
        with self._lock:
            self._begun = self._begun or not self.given_up
            return not self.given_up

    def give_up(self) -> bool:
        """Stop waiting; return whether the job had begun."""
        with self._lock:
            self.given_up = True
            return self._begun


class _Blocking:
    """One queue by blocking calls; each opens the printer and always closes it again."""

    def __init__(self, name: str, spooler: Callable[[], Spooler]) -> None:
        self._name, self._spooler = name, spooler

    @contextmanager
    def _open(self) -> Iterator[tuple[Spooler, Any]]:
        spooler = self._spooler()
        try:
            handle = spooler.OpenPrinter(self._name)
        except Exception as error:
            number, words = _described(error)
            if number == INVALID_PRINTER_NAME:
                raise UnknownQueue(self._name) from error
            raise NotReached(words) from error
        try:
            yield spooler, handle
        finally:
            # The result is known; a handle that cannot be closed does not change it.
            with suppress(Exception):
                spooler.ClosePrinter(handle)

    def send(self, data: bytes, title: str, handover: _Handover) -> int | Verdict:
        """Send a job; return its number, or the verdict if it is known already."""
        with self._open() as (spooler, handle):
            if not handover.begin():
                return Verdict(Outcome.NOT_PRINTED, "given up before it began")
            try:
                number = spooler.StartDocPrinter(handle, 1, (title, None, "RAW"))
            except Exception as error:
                return Verdict(Outcome.NOT_PRINTED, _described(error)[1])
            taken = 0
            try:
                spooler.StartPagePrinter(handle)
                while taken < len(data):
                    if handover.given_up:
                        raise _Stopped("given up while it was sent")
                    step = spooler.WritePrinter(handle, data[taken : taken + CHUNK])
                    if step <= 0:
                        raise _Stopped("the spooler takes no more bytes")
                    taken += step
                spooler.EndPagePrinter(handle)
                spooler.EndDocPrinter(handle)
            except Exception as error:
                words = str(error) if isinstance(error, _Stopped) else _described(error)[1]
                # Only if nothing was taken and the job is certainly discarded, nothing can come out.
                if _aborted(spooler, handle) and not taken:
                    return Verdict(Outcome.NOT_PRINTED, words, number)
                return Verdict(Outcome.UNKNOWN, f"{words}; {taken} of {len(data)} bytes were taken", number)
            return number

    def job(self, number: int) -> QueuedJob | None:
        """The job, `None` when the queue no longer lists it."""
        with self._open() as (spooler, handle):
            return _look(spooler, handle, number)

    def withdraw(self, number: int) -> Verdict:
        """Pause the job, check that it has not begun, and only then delete it."""
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
                code, words = _described(error)
                if code == INVALID_PARAMETER:
                    return _gone(number)
                with suppress(Exception):
                    spooler.SetJob(handle, number, 0, None, JOB_RESUME)
                return Verdict(Outcome.ACCEPTED, f"it cannot be withdrawn from the queue: {words}", number)

    def state(self) -> QueueState:
        """The state of the printer according to the queue."""
        with self._open() as (spooler, handle):
            try:
                known = spooler.GetPrinter(handle, 2)
            except Exception as error:
                raise _asked(error) from error
        status, attributes = int(known.get("Status", 0)), int(known.get("Attributes", 0))
        found = [(condition, words) for bit, condition, words in PRINTER_BITS if status & bit]
        if attributes & WORK_OFFLINE:
            found.append((Condition.OFFLINE, "set to offline use"))
        order = list(Condition)
        found.sort(key=lambda pair: order.index(pair[0]))
        if not found:
            return QueueState(Condition.OK)
        return QueueState(found[0][0], ", ".join(words for _, words in found))


class _Stopped(Exception):
    """A job was not sent completely, for a reason of our own."""


def _described(error: Exception) -> tuple[int, str]:
    """Number and text of a Windows error; the number of other errors is 0.

    ``pywintypes.error`` exists on Windows only, so it is recognised by its attributes.
    """
    number = getattr(error, "winerror", None)
    if not isinstance(number, int):
        return 0, f"{type(error).__name__}: {error}"
    words = {
        ACCESS_DENIED: "no permission to use the printer",
        RPC_UNAVAILABLE: "the Windows print spooler is not running",
    }.get(number) or str(getattr(error, "strerror", "") or "Windows error")
    return number, f"{words} ({number})"


def _asked(error: Exception) -> WireError:
    """The wire error of a failed query."""
    if isinstance(error, ValueError):
        # pywin32 may be unable to decode the job titles of other programs.
        return Garbled(f"the spooler's answer cannot be read: {error}")
    return LineLost(_described(error)[1])


def _aborted(spooler: Spooler, handle: Any) -> bool:
    """Discard the job that is being sent; return whether this is certain."""
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
    return Verdict(Outcome.ACCEPTED, "the queue no longer lists the job", number)


@implementer(IPrintQueue)
class WindowsQueue:
    """One queue of Windows.

    :param name: as shown by Windows, ``XP-80C`` or ``\\\\server\\printer``.
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
        # A call that never returns must not block more than one thread.
        self._turn = DeferredLock()

    def deliver(self, data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """Send ``data`` and follow the job for ``patience`` seconds; see the table above.

        A pending query and a withdrawal take `ASK_S` more each.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises NotReached: when the spooler could not be called: nothing was sent.
        """
        return Deferred.fromCoroutine(self._deliver(data, title, patience))

    def state(self, patience: float) -> Deferred[QueueState]:
        """The state of the printer according to Windows; many drivers report nothing, so `OK` is no guarantee.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises WireError: when the spooler does not answer.
        """
        return Deferred.fromCoroutine(self._run(self._blocking.state, patience))

    async def job(self, number: int) -> QueuedJob | None:
        """The job ``number``, `None` when the queue no longer lists it.

        :raises WireError: when the spooler does not answer.
        """
        return await self._run(lambda: self._blocking.job(number), ASK_S)

    async def withdraw(self, number: int) -> Verdict:
        """Remove the job ``number`` from the queue if it has not begun."""
        try:
            return await self._run(lambda: self._blocking.withdraw(number), ASK_S)
        except NotReached as error:
            return Verdict(Outcome.ACCEPTED, f"it cannot be withdrawn from the queue: {error.reason}", number)
        except WireError as error:
            return Verdict(Outcome.UNKNOWN, f"withdrawn, and no answer: {error}", number)

    async def _deliver(self, data: bytes, title: str, patience: float) -> Verdict:
        deadline = self._clock.seconds() + patience
        handover = _Handover()
        # Some versions of pywin32 change other characters.
        ascii_title = short_title(title.encode("ascii", "backslashreplace").decode())
        try:
            sent = await self._run(lambda: self._blocking.send(data, ascii_title, handover), patience)
        except (Silent, LineLost) as end:
            return Verdict(Outcome.UNKNOWN if handover.give_up() else Outcome.NOT_PRINTED, str(end))
        if isinstance(sent, Verdict):
            return sent
        return await follow(self, self._clock, sent, deadline)

    async def _run(self, work: Callable[[], Result], patience: float) -> Result:
        """Do ``work`` in a thread after the previous call has returned.

        :raises NotReached: when the previous call does not return in time; ``work`` is not begun.
        :raises Silent: when ``work`` does not return in time; it continues in its thread, and its result is ignored.
        :raises LineLost: when the caller cancels; likewise.
        """
        deadline = self._clock.seconds() + patience
        try:
            await self._turn.acquire().addTimeout(patience, self._clock)
        except (TimeoutError, CancelledError):
            raise NotReached("the Windows print spooler has not returned from an earlier call") from None
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
            raise LineLost("the caller stopped waiting") from None


def windows_queue(reactor: Any, name: str) -> WindowsQueue:
    """The queue ``name`` of this machine; its calls run in the reactor's threads."""
    return WindowsQueue(reactor, lambda work: deferToThreadPool(reactor, reactor.getThreadPool(), work), name)
