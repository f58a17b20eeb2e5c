"""A simulated print service with queues, as CUPS shows them by IPP; a web resource, in memory or behind a port.

Its queues follow these rules:

- one job is printed at a time and takes a while; the others wait;
- a stopped queue takes jobs and keeps them; the job that was being printed waits again and restarts later;
- a hindrance (no paper, cover open) suspends the job that is being printed;
- a queue that rejects jobs refuses them; an unknown queue is not found;
- only its owner can cancel a job, and only before it ends.

Completed jobs are in the ledger and, with their bytes, in `SimulatedQueue.printed`. The scenario's `print` controls
Print-Job and `probe` every other request; the `code` of `refuse` is an IPP status in hex, 0506 when absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlparse
from zoneinfo import ZoneInfo

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.web.http import BAD_REQUEST, NOT_ALLOWED
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from protocols.errors import Garbled
from protocols.printers.cups import RAW, JobState, PrinterState
from protocols.printers.ipp import (
    CONTENT_TYPE,
    Attribute,
    Content,
    Group,
    GroupTag,
    Message,
    Operation,
    Status,
    Tag,
    attribute,
    operation_group,
)
from protocols.simulators.ledger import ACCEPTED, REFUSED, Ledger
from protocols.simulators.scenario import Rule, Scenario, Then

PRINT_S = 0.5
"""Seconds that a job takes."""

FORMATS = frozenset({RAW, "application/octet-stream"})
"""Accepted formats; the second one is the default of a request without a format."""

KYIV = ZoneInfo("Europe/Kyiv")

ENDED = frozenset({JobState.CANCELED, JobState.ABORTED, JobState.COMPLETED})


@dataclass(frozen=True)
class SimulatedJob:
    """A job in the history; ``processing_at`` in seconds of the service's clock, `None` before it began."""

    number: int
    name: str
    owner: str
    document: bytes
    state: JobState = JobState.PENDING
    processing_at: float | None = None
    reason: str = "none"


class SimulatedQueue:
    """One queue and the printer behind it."""

    def __init__(self, service: IppPrinter, name: str) -> None:
        self._service, self.name = service, name
        self.accepting = True
        """Whether the queue accepts jobs."""
        self.stopped = False
        self.message = ""
        self.hindrances: tuple[str, ...] = ()
        self.jobs: dict[int, SimulatedJob] = {}
        self.printed: list[bytes] = []
        """The documents of completed jobs, oldest first."""
        self._end: IDelayedCall | None = None
        self._current: int | None = None

    def stop(self, message: str = "Paused") -> None:
        """Stop printing; the current job waits again and restarts later."""
        self.stopped, self.message = True, message
        if self._current is not None:
            self._set(self._current, state=JobState.PENDING)
            self._leave()

    def resume(self) -> None:
        """Continue printing."""
        self.stopped, self.message = False, ""
        self._next()

    def hinder(self, *reasons: str) -> None:
        """Set ``printer-state-reasons``, for instance ``media-empty-error``; none clears them."""
        self.hindrances = reasons
        if reasons and self._end is not None:
            self._end.cancel()
            self._end = None
        elif not reasons and self._current is not None and self._end is None:
            self._end = self._service.clock.callLater(self._service.print_s, self._complete)

    def abort(self, number: int, reason: str = "aborted-by-system") -> None:
        """Let the service abort the job ``number``."""
        self._finish(number, JobState.ABORTED, reason)

    def take(self, name: str, owner: str, document: bytes) -> SimulatedJob:
        """Add a job."""
        job = SimulatedJob(self._service.next_number(), name, owner, document)
        self.jobs[job.number] = job
        self._next()
        return self.jobs[job.number]

    def cancel(self, number: int) -> None:
        """Cancel a job."""
        self._finish(number, JobState.CANCELED, "job-canceled-by-user")

    def forget(self) -> None:
        """Remove ended jobs from the history, like a service without history."""
        self.jobs = {number: job for number, job in self.jobs.items() if job.state not in ENDED}

    def _finish(self, number: int, state: JobState, reason: str) -> None:
        self._set(number, state=state, reason=reason)
        if number == self._current:
            self._leave()
            self._next()

    def _set(self, number: int, **changes: Any) -> None:
        self.jobs[number] = replace(self.jobs[number], **changes)

    def _leave(self) -> None:
        self._current = None
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def _next(self) -> None:
        if self.stopped or self._current is not None:
            return
        waiting = [number for number, job in sorted(self.jobs.items()) if job.state == JobState.PENDING]
        if waiting:
            self._current = waiting[0]
            self._set(self._current, state=JobState.PROCESSING, processing_at=self._service.clock.seconds())
            if not self.hindrances:
                self._end = self._service.clock.callLater(self._service.print_s, self._complete)

    def _complete(self) -> None:
        assert self._current is not None
        number, self._current, self._end = self._current, None, None
        self._set(number, state=JobState.COMPLETED, reason="job-completed-successfully")
        self.printed.append(self.jobs[number].document)
        self._service.note(ACCEPTED, str(number), self.jobs[number].name)
        self._next()

    @property
    def state(self) -> PrinterState:
        """The state of the printer."""
        if self.stopped:
            return PrinterState.STOPPED
        return PrinterState.IDLE if self._current is None else PrinterState.PROCESSING


class _No(Exception):
    def __init__(self, status: int, words: str = "") -> None:
        super().__init__(status, words)
        self.status, self.words = status, words


class IppPrinter(Resource):
    """The service as a web resource, for instance `twisted.web.server.Site(IppPrinter(reactor))` on a port.

    :param queues: the names of its queues.
    :param print_s: seconds that each job takes.
    :param ledger: the file of completed jobs; `None` keeps them in memory.
    """

    isLeaf = True

    def __init__(
        self,
        clock: IReactorTime,
        queues: tuple[str, ...] = ("receipts",),
        print_s: float = PRINT_S,
        ledger: Path | None = None,
    ) -> None:
        Resource.__init__(self)
        self.clock, self.print_s = clock, print_s
        self.queues = {name: SimulatedQueue(self, name) for name in queues}
        self.scenario = Scenario()
        self.ledger = Ledger(ledger)
        self._numbers = 0

    def next_number(self) -> int:
        """The number of the next job; all queues share one sequence."""
        self._numbers += 1
        return self._numbers

    def note(self, status: str, number: str, name: str) -> None:
        """Add the result of a job to the ledger."""
        dt = datetime.fromtimestamp(self.clock.seconds(), KYIV).strftime("%Y%m%d%H%M%S")
        self.ledger.add("print", status, number, 0, name, dt)

    def render(self, request: IRequest) -> bytes | int:
        """Answer one request over HTTP."""
        if request.method != b"POST":
            request.setResponseCode(NOT_ALLOWED)
            return b""
        assert request.content is not None
        try:
            message = Message.decode(request.content.read())
        except Garbled:
            request.setResponseCode(BAD_REQUEST)
            return b""
        rule = self.scenario.take("print" if message.code == Operation.PRINT_JOB else "probe")
        line = _Line(request)
        if rule is not None and rule.delay_ms:
            self.clock.callLater(rule.delay_ms / 1000, self._play, line, message, rule)
        else:
            self._play(line, message, rule)
        return NOT_DONE_YET

    def answer(self, message: Message) -> Message:
        """Execute the request in ``message``."""
        try:
            groups = self._perform(message)
        except _No as no:
            return _reply(message, no.status, no.words)
        return _reply(message, Status.OK, "", *groups)

    def _play(self, line: _Line, message: Message, rule: Rule | None) -> None:
        then = rule.then if rule is not None else Then.ACCEPT
        if then is Then.SILENT:
            return
        if then in (Then.LOST_BEFORE, Then.UNREACHABLE):
            line.drop()
        elif then is Then.REFUSE and rule is not None:
            if message.code == Operation.PRINT_JOB:
                self.note(REFUSED, "", message.group(GroupTag.OPERATION).text("job-name"))
            line.say(_reply(message, int(rule.code or f"{Status.NOT_ACCEPTING_JOBS:04x}", 16), "").encode())
        else:
            answer = self.answer(message).encode()
            if then is Then.LOST_AFTER:
                line.drop()
            else:
                line.say(b"\xff" * len(answer) if then is Then.GARBAGE else answer)

    def _perform(self, message: Message) -> tuple[Group, ...]:
        operation = _checked(message)
        if message.code == Operation.CUPS_GET_PRINTERS:
            if not self.queues:
                raise _No(Status.NOT_FOUND, "No destinations added.")
            return tuple(_printer(queue, _wanted(operation)) for queue in self.queues.values())
        path = _path(operation.text("printer-uri"))
        if not path:
            raise _No(Status.BAD_REQUEST, "Missing required attributes.")
        kind, _, name = path.lstrip("/").partition("/")
        queue = self.queues.get(unquote(name)) if kind == "printers" else None
        if queue is None:
            raise _No(Status.NOT_FOUND, "The printer or class does not exist.")
        if message.code == Operation.PRINT_JOB:
            return (self._print(queue, operation, message.document),)
        if message.code == Operation.GET_PRINTER_ATTRIBUTES:
            return (_printer(queue, _wanted(operation)),)
        if message.code == Operation.GET_JOBS:
            which, mine = operation.text("which-jobs"), operation.truth("my-jobs")
            return tuple(
                _job(job, _wanted(operation))
                for job in queue.jobs.values()
                if which == "all" or (job.state in ENDED) == (which == "completed")
                if not mine or job.owner == operation.text("requesting-user-name")
            )
        number = operation.number("job-id")
        if number is None:
            raise _No(Status.BAD_REQUEST, "Got a printer-uri attribute but no job-id.")
        job = queue.jobs.get(number)
        if job is None:
            raise _No(Status.NOT_FOUND, f"Job #{number} does not exist.")
        if message.code == Operation.GET_JOB_ATTRIBUTES:
            return (_job(job, _wanted(operation)),)
        if message.code != Operation.CANCEL_JOB:
            raise _No(Status.OPERATION_NOT_SUPPORTED)
        if job.owner != operation.text("requesting-user-name"):
            raise _No(Status.NOT_AUTHORIZED, f"Job #{number} belongs to another user.")
        if job.state in ENDED:
            raise _No(Status.NOT_POSSIBLE, f"Job #{number} has ended already.")
        queue.cancel(number)
        return ()

    def _print(self, queue: SimulatedQueue, operation: Group, document: bytes) -> Group:
        name, owner = operation.text("job-name") or "Untitled", operation.text("requesting-user-name") or "anonymous"
        kind = operation.text("document-format") or "application/octet-stream"
        refusal: _No | None = None
        if not queue.accepting:
            refusal = _No(Status.NOT_ACCEPTING_JOBS, f'Destination "{queue.name}" is not accepting jobs.')
        elif kind not in FORMATS:
            refusal = _No(Status.FORMAT_NOT_SUPPORTED, f'Unsupported document-format "{kind}".')
        elif not document:
            refusal = _No(Status.BAD_REQUEST, "No file in print request.")
        if refusal is not None:
            self.note(REFUSED, "", name)
            raise refusal
        return _job(
            queue.take(name, owner, document), frozenset({"job-id", "job-uri", "job-state", "job-state-reasons"})
        )


class _Line:
    """The HTTP side of one request, which may be closed before its answer is ready."""

    def __init__(self, request: IRequest) -> None:
        self._request: Any = request
        self._open = True
        cast(Any, request).notifyFinish().addErrback(self._gone)

    def _gone(self, _: object) -> None:
        self._open = False

    def say(self, data: bytes) -> None:
        """Send the answer."""
        if self._open:
            self._request.setHeader(b"Content-Type", CONTENT_TYPE)
            self._request.setHeader(b"Content-Length", b"%d" % len(data))
            self._request.write(data)
            self._request.finish()

    def drop(self) -> None:
        """Close the connection without an answer."""
        if self._open:
            self._request.loseConnection()


def _checked(message: Message) -> Group:
    """The operation group of a valid request (RFC 8011 4.1)."""
    if message.version[0] not in (1, 2):
        raise _No(Status.VERSION_NOT_SUPPORTED, f"Unsupported version {message.version[0]}.{message.version[1]}.")
    if message.code not in list(Operation):
        raise _No(Status.OPERATION_NOT_SUPPORTED)
    operation = message.groups[0] if message.groups else Group(GroupTag.END)
    names = [given.name for given in operation.attributes[:2]]
    if operation.tag != GroupTag.OPERATION or names != ["attributes-charset", "attributes-natural-language"]:
        raise _No(Status.BAD_REQUEST, "Missing required attributes.")
    if message.request_id < 1:
        raise _No(Status.BAD_REQUEST, "Bad request-id.")
    if operation.text("attributes-charset") not in ("utf-8", "us-ascii"):
        raise _No(Status.CHARSET_NOT_SUPPORTED)
    return operation


def _path(uri: str) -> str:
    """The path of a URI.

    :raises _No: when it cannot be parsed: there is no such printer.
    """
    try:
        return urlparse(uri).path
    except ValueError:
        raise _No(Status.NOT_FOUND, "The printer or class does not exist.") from None


def _reply(message: Message, status: int, words: str, *groups: Group) -> Message:
    more = (attribute(Tag.TEXT, "status-message", words),) if words else ()
    return Message(status, message.request_id, (operation_group(*more), *groups), version=message.version)


def _wanted(operation: Group) -> frozenset[str]:
    """The names of the requested attributes; empty for all of them."""
    names = frozenset(operation.texts("requested-attributes"))
    return frozenset() if "all" in names else names


def _group(tag: GroupTag, wanted: frozenset[str], *attributes: Attribute) -> Group:
    return Group(tag, tuple(given for given in attributes if not wanted or given.name in wanted))


def _printer(queue: SimulatedQueue, wanted: frozenset[str]) -> Group:
    reasons: tuple[Content, ...] = (*queue.hindrances, *(("paused",) if queue.stopped else ()))
    return _group(
        GroupTag.PRINTER,
        wanted,
        attribute(Tag.NAME, "printer-name", queue.name),
        attribute(Tag.ENUM, "printer-state", int(queue.state)),
        attribute(Tag.TEXT, "printer-state-message", queue.message),
        attribute(Tag.KEYWORD, "printer-state-reasons", *(reasons or ("none",))),
        attribute(Tag.BOOLEAN, "printer-is-accepting-jobs", queue.accepting),
        attribute(Tag.MIME, "document-format-supported", *sorted(FORMATS)),
    )


def _job(job: SimulatedJob, wanted: frozenset[str]) -> Group:
    begun = () if job.processing_at is None else (int(job.processing_at),)
    return _group(
        GroupTag.JOB,
        wanted,
        attribute(Tag.INTEGER, "job-id", job.number),
        attribute(Tag.URI, "job-uri", f"ipp://localhost/jobs/{job.number}"),
        attribute(Tag.NAME, "job-name", job.name),
        attribute(Tag.NAME, "job-originating-user-name", job.owner),
        attribute(Tag.ENUM, "job-state", int(job.state)),
        attribute(Tag.KEYWORD, "job-state-reasons", job.reason),
        attribute(Tag.INTEGER, "time-at-processing", *begun),
    )
