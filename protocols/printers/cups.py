"""Print queues of CUPS, used by IPP over TCP or CUPS' own socket (docs/reference/printers.md#cups; RFC 8010, 8011).

A job is sent as ``application/vnd.cups-raw``: CUPS passes its bytes on unchanged. The verdict:

====================================================  ======================================================
what happened                                         verdict
====================================================  ======================================================
no connection                                         fails with `NotReached`
the queue is unknown                                  fails with `UnknownQueue`
CUPS refuses the job                                  not printed
the answer is lost, unreadable or late                unknown
job completed                                         printed: reported by the queue, which has not seen the paper
job cancelled or aborted                              not printed if it never began, else unknown
time is up, the job waits and never began             withdrawn, then as above
time is up, the job is being printed                  accepted
====================================================  ======================================================

A job has begun when its ``time-at-processing`` has a value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IReactorTime, IStreamClientEndpoint
from twisted.python.failure import Failure
from twisted.web.client import Agent, ResponseFailed, readBody
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.http import Body, OneEndpoint
from protocols.printers.ipp import (
    CONTENT_TYPE,
    NOTHING,
    Attribute,
    Group,
    GroupTag,
    Message,
    Operation,
    Status,
    Tag,
    attribute,
    operation_group,
    status_words,
    went_well,
)
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
from protocols.serial import TcpEndpoint

PORT = 631
SOCKET = "/run/cups/cups.sock"
"""CUPS' socket on this machine."""
USER = "dmtwisted"
"""The owner of the jobs; CUPS lets only the owner withdraw a job."""
RAW = "application/vnd.cups-raw"
ASK_S = 2.0
"""Seconds for each query about a job in the queue."""


class JobState(IntEnum):
    """``job-state`` (RFC 8011 5.3.7)."""

    PENDING = 3
    HELD = 4
    PROCESSING = 5
    STOPPED = 6
    CANCELED = 7
    ABORTED = 8
    COMPLETED = 9


class PrinterState(IntEnum):
    """``printer-state`` (RFC 8011 5.4.11)."""

    IDLE = 3
    PROCESSING = 4
    STOPPED = 5


STAGES = {
    JobState.PENDING: Stage.WAITING,
    JobState.HELD: Stage.WAITING,
    JobState.PROCESSING: Stage.WORKING,
    JobState.STOPPED: Stage.WORKING,
    JobState.CANCELED: Stage.REMOVED,
    JobState.ABORTED: Stage.REMOVED,
    JobState.COMPLETED: Stage.DONE,
}

HINDRANCES = {
    Condition.COVER_OPEN: frozenset({"cover-open", "door-open", "interlock-open"}),
    Condition.PAPER_OUT: frozenset({"media-empty", "media-needed"}),
    Condition.OFFLINE: frozenset({"offline", "shutdown", "timed-out", "connecting-to-device"}),
    Condition.STOPPED: frozenset({"paused", "moving-to-paused", "media-jam", "stopped-partly", "spool-area-full"}),
}
"""``printer-state-reasons`` without their severity, in the order of `Condition` (RFC 8011 5.4.12)."""

NOTHING_TAKEN = frozenset(
    {
        Status.OPERATION_NOT_SUPPORTED,
        Status.SERVICE_UNAVAILABLE,
        Status.VERSION_NOT_SUPPORTED,
        Status.NOT_ACCEPTING_JOBS,
        Status.BUSY,
    }
)
"""Server errors after which certainly no job exists; after a client error (0x04xx) none exists either."""

JOB_ATTRIBUTES = (
    "job-id",
    "job-name",
    "job-state",
    "job-state-reasons",
    "job-printer-state-message",
    "time-at-processing",
)
STATE_ATTRIBUTES = ("printer-state", "printer-state-reasons", "printer-state-message", "printer-is-accepting-jobs")


class Refused(WireError):
    """CUPS refused a request; ``status`` is the IPP status, or 0 for a refusal by HTTP."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"the print service refused: {words}")
        self.status, self.words = status, words

    @property
    def nothing_taken(self) -> bool:
        """Whether certainly no job exists."""
        return self.status in NOTHING_TAKEN or self.status < 0x0500


class Cups:
    """A CUPS service; make one with `cups_at`.

    :param host: its own name, for URIs inside messages.
    """

    def __init__(
        self, agent: IAgent, clock: IReactorTime, host: str = "localhost", port: int = PORT, user: str = USER
    ):
        self._agent, self._clock, self._user = agent, clock, user
        self._where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._requests = 0

    def queue(self, name: str) -> CupsQueue:
        """The queue ``name``; whether it exists is known when it is used."""
        return CupsQueue(self, self._clock, name)

    async def queues(self) -> list[tuple[str, str]]:
        """The name of every queue, and the model that it is set up for.

        :raises NotReached: when there is no CUPS. :raises WireError: when there is no readable answer.
        """
        wanted = attribute(Tag.KEYWORD, "requested-attributes", "printer-name", "printer-make-and-model")
        try:
            answer = await self.ask(Operation.CUPS_GET_PRINTERS, "", (wanted,), ASK_S)
        except Refused as no:
            if no.status == Status.NOT_FOUND:
                return []
            raise
        groups = (group for group in answer.groups if group.tag == GroupTag.PRINTER)
        return [(group.text("printer-name"), group.text("printer-make-and-model")) for group in groups]

    async def ask(
        self, operation: Operation, path: str, more: tuple[Attribute, ...], patience: float, document: bytes = b""
    ) -> Message:
        """Send one request and wait for its answer, at most ``patience`` seconds in all.

        :param path: the queue's path, empty for CUPS itself.
        :raises NotReached: when the connection failed: nothing was sent.
        :raises Refused: when CUPS refuses the request.
        :raises WireError: when there is no readable answer.
        """
        self._requests = self._requests % 0x7FFFFFFF + 1
        number = self._requests
        user = attribute(Tag.NAME, "requesting-user-name", self._user)
        target = (attribute(Tag.URI, "printer-uri", f"ipp://{self._where}{path}"),) if path else ()
        message = Message(int(operation), number, (operation_group(*target, user, *more),), document)
        posting = Deferred.fromCoroutine(self._post(path or "/", message.encode()))
        posting.addTimeout(patience, self._clock, _late)
        try:
            data = await posting
        except WireError:
            raise
        except Exception as error:
            # HTTP fails in many ways; in all of them the request may have arrived.
            raise LineLost(f"no complete answer from the print service: {_first_words(error)}") from error
        return _answer(data, number)

    async def _post(self, path: str, data: bytes) -> bytes:
        headers = Headers({b"Content-Type": [CONTENT_TYPE], b"User-Agent": [b"dmtwisted"]})
        response = await self._agent.request(b"POST", f"http://{self._where}{path}".encode(), headers, Body(data))
        body = await readBody(response)
        if response.code == 200:
            return body
        words = f"HTTP {response.code} {response.phrase.decode('ascii', 'replace')}"
        if response.code == 404:
            raise Refused(Status.NOT_FOUND, words)
        if response.code < 500:
            raise Refused(0, words)
        raise LineLost(words)


def _late(answer: object, seconds: float) -> object:
    # A connection that failed in time keeps its own error.
    if isinstance(answer, Failure) and answer.check(NotReached):
        return answer
    return Failure(Silent(seconds))


def _first_words(error: Exception) -> str:
    if isinstance(error, ResponseFailed) and error.reasons:
        return str(error.reasons[0].getErrorMessage())
    return str(error) or type(error).__name__


def _answer(data: bytes, request_id: int) -> Message:
    message = Message.decode(data)
    if message.request_id != request_id:
        raise Garbled(f"an IPP answer to request {message.request_id} instead of {request_id}", data)
    if not went_well(message.code):
        words = message.group(GroupTag.OPERATION).text("status-message")
        raise Refused(message.code, f"{status_words(message.code)}, {words}" if words else status_words(message.code))
    return message


@implementer(IPrintQueue)
class CupsQueue:
    """One queue of CUPS."""

    def __init__(self, cups: Cups, clock: IReactorTime, name: str) -> None:
        self._cups, self._clock, self._name = cups, clock, name
        self._path = "/printers/" + quote(name, safe="")

    def deliver(self, data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """Send ``data`` and follow the job for ``patience`` seconds; see the table above.

        A pending query and a withdrawal take more time: `ASK_S` for each of at most three requests.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises NotReached: when the connection failed: nothing was sent.
        """
        return Deferred.fromCoroutine(self._deliver(data, title, patience))

    def state(self, patience: float) -> Deferred[QueueState]:
        """The state of the printer according to CUPS.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises WireError: when CUPS does not answer.
        """
        return Deferred.fromCoroutine(self._state(patience))

    async def job(self, number: int) -> QueuedJob | None:
        """The job ``number``, `None` when CUPS no longer lists it.

        :raises WireError: when CUPS does not answer.
        """
        wanted = attribute(Tag.KEYWORD, "requested-attributes", *JOB_ATTRIBUTES)
        try:
            answer = await self._ask(Operation.GET_JOB_ATTRIBUTES, (_job_id(number), wanted), ASK_S)
        except UnknownQueue:
            return None
        return _job(answer.group(GroupTag.JOB))

    async def withdraw(self, number: int) -> Verdict:
        """Cancel the job ``number`` and return what is known of it then."""
        refused, doubt = "", "while it was printed"
        try:
            await self._ask(Operation.CANCEL_JOB, (_job_id(number),), ASK_S)
        except Refused as no:
            refused = no.words
        except WireError as error:
            # The next answer may show whether the job was cancelled.
            doubt = str(error)
        try:
            job = await self.job(number)
        except WireError as error:
            return Verdict(Outcome.UNKNOWN, f"withdrawn, and no answer: {error}", number)
        if job is None:
            return Verdict(Outcome.UNKNOWN, "withdrawn, and the queue no longer lists it", number)
        verdict = judge(job)
        if verdict is not None and verdict.outcome is Outcome.NOT_PRINTED:
            # CUPS' own text sounds as if the job had begun.
            return replace(verdict, reason="it had not begun in time and was withdrawn from the queue")
        if verdict is not None:
            return verdict
        if refused:
            return under_way(job)
        return Verdict(Outcome.UNKNOWN, f"withdrawn, {doubt}", number)

    async def _deliver(self, data: bytes, title: str, patience: float) -> Verdict:
        deadline = self._clock.seconds() + patience
        name = attribute(Tag.NAME, "job-name", short_title(title))
        kind = attribute(Tag.MIME, "document-format", RAW)
        try:
            answer = await self._ask(Operation.PRINT_JOB, (name, kind), patience, data)
        except NotReached:
            raise
        except Refused as refused:
            outcome = Outcome.NOT_PRINTED if refused.nothing_taken else Outcome.UNKNOWN
            return Verdict(outcome, refused.words)
        except WireError as error:
            return Verdict(Outcome.UNKNOWN, str(error))
        number = answer.group(GroupTag.JOB).number("job-id")
        if number is None:
            return Verdict(Outcome.ACCEPTED, "the queue took the job without a number")
        return await follow(self, self._clock, number, deadline)

    async def _state(self, patience: float) -> QueueState:
        wanted = attribute(Tag.KEYWORD, "requested-attributes", *STATE_ATTRIBUTES)
        answer = await self._ask(Operation.GET_PRINTER_ATTRIBUTES, (wanted,), patience)
        return _queue_state(answer.group(GroupTag.PRINTER))

    async def _ask(
        self, operation: Operation, more: tuple[Attribute, ...], patience: float, document: bytes = b""
    ) -> Message:
        """Send a request about this queue; "not found" means that the queue or the job is unknown."""
        try:
            return await self._cups.ask(operation, self._path, more, patience, document)
        except Refused as refused:
            if refused.status == Status.NOT_FOUND:
                raise UnknownQueue(self._name) from refused
            raise


def _job_id(number: int) -> Attribute:
    return attribute(Tag.INTEGER, "job-id", number)


def _job(group: Group) -> QueuedJob | None:
    """The job in ``group``.

    :raises Garbled: when it has no number or no state.
    """
    number, state = group.number("job-id"), group.number("job-state")
    if number is None or state not in STAGES:
        raise Garbled(f"an IPP job without number or state: {number}, {state}")
    stage = STAGES[JobState(state)]
    begun = group.values("time-at-processing")
    if stage is Stage.REMOVED:
        # A missing attribute does not prove that nothing was printed.
        began = not (begun and begun[0].tag in NOTHING)
    else:
        began = stage is not Stage.WAITING or group.number("time-at-processing") is not None
    reasons = [reason for reason in group.texts("job-state-reasons") if reason not in ("", "none")]
    words = group.text("job-printer-state-message") or ", ".join(reasons)
    return QueuedJob(number, group.text("job-name"), stage, began, words)


def _queue_state(group: Group) -> QueueState:
    reasons = [reason for reason in group.texts("printer-state-reasons") if reason not in ("", "none")]
    words = group.text("printer-state-message") or ", ".join(reasons)
    plain = {reason.removesuffix("-error").removesuffix("-warning").removesuffix("-report") for reason in reasons}
    for condition, names in HINDRANCES.items():
        if plain & names:
            return QueueState(condition, words)
    if group.truth("printer-is-accepting-jobs") is False:
        return QueueState(Condition.STOPPED, words or "the queue rejects jobs")
    if group.number("printer-state") == PrinterState.STOPPED or any(reason.endswith("-error") for reason in reasons):
        return QueueState(Condition.STOPPED, words)
    return QueueState(Condition.OK, words)


@implementer(IStreamClientEndpoint)
@dataclass(frozen=True)
class _Surely:
    """An endpoint whose failures all mean that nothing was sent."""

    inner: IStreamClientEndpoint
    where: str

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect, or fail with `NotReached`."""
        return self.inner.connect(protocolFactory).addErrback(self._not_reached)

    def _not_reached(self, failure: Failure) -> Failure:
        if failure.check(NotReached):
            return failure
        error = failure.value
        if isinstance(error, ConnectError) and error.osError is not None:
            return Failure(NotReached(f"{self.where}: no print service is listening"))
        return Failure(NotReached(f"{self.where}: {failure.getErrorMessage()}"))


def cups_over(
    endpoint: IStreamClientEndpoint, reactor: Any, host: str = "localhost", port: int = PORT, user: str = USER
) -> Cups:
    """A CUPS service behind ``endpoint``; each request has a connection of its own and is sent once."""
    place = OneEndpoint(_Surely(endpoint, f"{host}:{port}"))
    return Cups(Agent.usingEndpointFactory(reactor, place), reactor, host, port, user)


def cups_at(reactor: Any, host: str = "", port: int = PORT, user: str = USER, socket: str = SOCKET) -> Cups:
    """The CUPS service at ``host``, an address or a name; if empty, that of this machine, by its socket."""
    if host:
        return cups_over(TcpEndpoint(reactor, host, port), reactor, host, port, user)
    endpoint = UNIXClientEndpoint(reactor, socket)
    place = OneEndpoint(_Surely(endpoint, socket))
    return Cups(Agent.usingEndpointFactory(reactor, place), reactor, "localhost", PORT, user)
