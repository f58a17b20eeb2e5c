"""Print queues of CUPS: the real client, the simulated service, and a wire in memory between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.test import iosim
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site
from zope.interface import implementer
from zope.interface.verify import verifyObject

from protocols.errors import Garbled, LineLost, NotReached, WireError
from protocols.printers.cups import Cups, CupsQueue, JobState, Refused, cups_over
from protocols.printers.ipp import (
    Attribute,
    Group,
    GroupTag,
    Message,
    Operation,
    Status,
    Tag,
    attribute,
    operation_group,
)
from protocols.printers.queues import (
    POLL_S,
    Condition,
    IPrintQueue,
    QueuedJob,
    QueueState,
    Stage,
    UnknownQueue,
    short_title,
)
from protocols.printers.verdict import Outcome, Verdict
from protocols.simulators.ipp_printer import IppPrinter

RECEIPT = b"\x1b@receipt\n\x00\xff"

Result = TypeVar("Result")


@implementer(IStreamClientEndpoint)
class Wire:
    """Connects in memory to what ``server`` builds and counts connections."""

    def __init__(self, server: IProtocolFactory) -> None:
        self._server = server
        self.pumps: list[iosim.IOPump] = []

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect."""
        address = IPv4Address("TCP", "127.0.0.1", 631)
        client, server = protocolFactory.buildProtocol(address), self._server.buildProtocol(address)
        assert client is not None and server is not None
        self.pumps.append(
            iosim.connect(
                server,
                iosim.FakeTransport(server, isServer=True, hostAddress=address, peerAddress=address),
                client,
                iosim.FakeTransport(client, isServer=False, hostAddress=address, peerAddress=address),
            )
        )
        return succeed(client)

    def flush(self) -> bool:
        """Carry bytes; return whether there were any."""
        return any([pump.flush() for pump in self.pumps])


class CupsCase(SynchronousTestCase):
    """A client and a service; each request has its own connection."""

    def setUp(self) -> None:
        """Begin with an idle queue ``receipts``."""
        self.clock = Clock()
        self.service = IppPrinter(self.clock, ("receipts", "кухня"))
        self.receipts = self.service.queues["receipts"]
        site = Site(self.service, reactor=self.clock, timeout=None)
        self.wire = Wire(site)
        self.cups = cups_over(self.wire, self.clock)
        self.queue = self.cups.queue("receipts")

    def carry(self) -> None:
        """Carry bytes until none are left."""
        while self.wire.flush():
            pass

    def run_for(self, seconds: float) -> None:
        """Advance the time in small steps and carry bytes meanwhile."""
        self.carry()
        for _ in range(round(seconds / 0.05)):
            self.clock.advance(0.05)
            self.carry()

    def result(self, waiting: Deferred[Result], seconds: float = 0.0) -> Result:
        """The result of ``waiting`` within ``seconds``."""
        self.run_for(seconds)
        return self.successResultOf(waiting)

    def failure(self, waiting: Deferred[Any], kind: type[WireError], seconds: float = 0.0) -> WireError:
        """The failure of ``waiting`` within ``seconds``."""
        self.run_for(seconds)
        error = self.failureResultOf(waiting, kind).value
        assert isinstance(error, kind)
        return error

    def scenario(self, on: str, then: str, **more: Any) -> None:
        """Set a rule for the next operation."""
        self.service.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def deliver(self, title: str = "receipt 1", patience: float = 5.0) -> Deferred[Verdict]:
        """Send the receipt."""
        return self.queue.deliver(RECEIPT, title, patience)


class DeliveryTests(CupsCase):
    """Jobs and their verdicts."""

    def test_printed(self) -> None:
        """A job is printed when the queue says completed, not earlier; its bytes arrive unchanged."""
        delivered = self.deliver()
        self.run_for(0.4)
        self.assertNoResult(delivered)
        self.assertEqual(self.result(delivered, 0.5), Verdict(Outcome.PRINTED, "", 1))
        self.assertEqual(self.receipts.printed, [RECEIPT])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_name_in_ukrainian(self) -> None:
        """A queue works even if its name must be encoded in a URI."""
        delivered = self.cups.queue("кухня").deliver(RECEIPT, "чек 1", 5)
        self.assertEqual(self.result(delivered, 1).outcome, Outcome.PRINTED)
        self.assertEqual(self.service.queues["кухня"].printed, [RECEIPT])

    def test_unknown_queue(self) -> None:
        """An unknown queue is an error of its own class, which means that nothing was sent."""
        error = self.failure(self.cups.queue("absent").deliver(RECEIPT, "receipt 1", 5), UnknownQueue)
        assert isinstance(error, UnknownQueue)
        self.assertEqual(error.queue, "absent")
        self.assertIsInstance(error, NotReached)

    def test_queue_that_takes_no_jobs(self) -> None:
        """A refused job was not printed; the verdict has the service's text."""
        self.receipts.accepting = False
        verdict = self.result(self.deliver())
        self.assertEqual(verdict.outcome, Outcome.NOT_PRINTED)
        self.assertEqual(verdict.reason, 'not-accepting-jobs, Destination "receipts" is not accepting jobs.')

    def test_refusals(self) -> None:
        """Refusals without a job are not printed; errors while the job is processed are unknown."""
        for status, outcome in (
            (Status.FORMAT_NOT_SUPPORTED, Outcome.NOT_PRINTED),
            (Status.NOT_AUTHORIZED, Outcome.NOT_PRINTED),
            (Status.BUSY, Outcome.NOT_PRINTED),
            (Status.SERVICE_UNAVAILABLE, Outcome.NOT_PRINTED),
            (Status.INTERNAL_ERROR, Outcome.UNKNOWN),
            (Status.DEVICE_ERROR, Outcome.UNKNOWN),
            (Status.TEMPORARY_ERROR, Outcome.UNKNOWN),
            (0x05FF, Outcome.UNKNOWN),
        ):
            self.scenario("print", "refuse", code=f"{status:04x}")
            self.assertEqual(self.result(self.deliver()).outcome, outcome, hex(status))

    def test_waits_in_a_stopped_queue(self) -> None:
        """A job that has not begun when time is up is withdrawn: it cannot come out later, beside its repetition."""
        self.receipts.stop()
        delivered = self.deliver()
        self.run_for(4.9)
        self.assertNoResult(delivered)
        verdict = self.result(delivered, 0.2)
        self.assertEqual(verdict.outcome, Outcome.NOT_PRINTED)
        self.assertEqual(verdict.reason, "it had not begun in time and was withdrawn from the queue")
        self.receipts.resume()
        self.run_for(2)
        self.assertEqual(self.receipts.printed, [])

    def test_waits_behind_another_job(self) -> None:
        """A job that waits for a long one is withdrawn too, and the long one stays."""
        self.receipts.hinder("media-empty-error")
        first, second = self.deliver("receipt 1", 60), self.deliver("receipt 2", 5)
        self.assertEqual(self.result(second, 5.5).outcome, Outcome.NOT_PRINTED)
        self.receipts.hinder()
        self.assertEqual(self.result(first, 2).outcome, Outcome.PRINTED)
        self.assertEqual(len(self.receipts.printed), 1)

    def test_paper_out_in_the_middle(self) -> None:
        """A job that has begun is left alone when time is up: accepted, and printed when there is paper."""
        self.receipts.hinder("media-empty-error")
        verdict = self.result(self.deliver(), 5.5)
        self.assertEqual((verdict.outcome, verdict.job), (Outcome.ACCEPTED, 1))
        self.receipts.hinder()
        self.run_for(1)
        self.assertEqual(self.receipts.printed, [RECEIPT])

    def test_stopped_in_the_middle(self) -> None:
        """A job that began and waits again may be partly on paper: it is not withdrawn."""
        delivered = self.deliver()
        self.run_for(0.3)
        self.receipts.stop()
        verdict = self.result(delivered, 5.5)
        self.assertEqual(verdict.outcome, Outcome.ACCEPTED)
        self.assertEqual(self.receipts.jobs[1].state, JobState.PENDING)

    def test_given_up(self) -> None:
        """A job that its caller cancels ends as if time were up; without an answer it is unknown."""
        self.receipts.stop()
        delivered = self.deliver()
        self.run_for(1)
        delivered.cancel()
        self.assertEqual(self.result(delivered).outcome, Outcome.NOT_PRINTED)
        self.assertEqual(self.receipts.jobs[1].state, JobState.CANCELED)
        self.scenario("print", "silent")
        delivered = self.deliver()
        self.carry()
        delivered.cancel()
        self.assertEqual(self.result(delivered).outcome, Outcome.UNKNOWN)

    def test_long_titles(self) -> None:
        """Long titles are cut to what a queue keeps and stay different."""
        long = "чек " + "й" * 300
        self.assertLessEqual(len(short_title(long).encode()), 255)
        self.assertNotEqual(short_title(long + "1"), short_title(long + "2"))
        self.assertEqual(short_title("x" * 255), "x" * 255)
        self.assertEqual(self.result(self.deliver(long), 1).outcome, Outcome.PRINTED)

    def test_cancelled_before_it_began(self) -> None:
        """A job that a person cancels while it waits was not printed."""
        self.receipts.stop()
        delivered = self.deliver()
        self.run_for(1)
        self.receipts.cancel(1)
        verdict = self.result(delivered, 0.5)
        self.assertEqual(verdict, Verdict(Outcome.NOT_PRINTED, "job-canceled-by-user", 1))

    def test_ended_in_the_middle(self) -> None:
        """A job that is cancelled or aborted while it is printed is unknown."""
        for end in (self.receipts.cancel, self.receipts.abort):
            self.receipts.hinder("media-jam-error")
            delivered = self.deliver()
            self.run_for(1)
            end(max(self.receipts.jobs))
            verdict = self.result(delivered, 0.5)
            self.assertEqual(verdict.outcome, Outcome.UNKNOWN)
            self.assertTrue(verdict.reason)

    def test_no_history(self) -> None:
        """With a service that forgets ended jobs immediately, a job is accepted."""
        delivered = self.deliver()
        self.run_for(0.3)
        self.receipts.resume()
        self.clock.advance(0.2)
        self.receipts.forget()
        verdict = self.result(delivered, 0.5)
        self.assertEqual(verdict, Verdict(Outcome.ACCEPTED, "the queue no longer lists the job", 1))

    def test_withdrawal_of_what_just_began(self) -> None:
        """The withdrawal of a job that has just begun leaves it unknown."""
        self.receipts.hinder("media-empty-error")
        self.assertNoResult(self.deliver())
        self.carry()
        withdrawn = Deferred.fromCoroutine(self.queue.withdraw(1))
        self.assertEqual(self.result(withdrawn).outcome, Outcome.UNKNOWN)

    def test_withdrawal_of_what_just_ended(self) -> None:
        """A withdrawal after the end finds the job printed."""
        self.assertNoResult(self.deliver())
        self.run_for(0.6)
        self.assertEqual(self.result(Deferred.fromCoroutine(self.queue.withdraw(1))).outcome, Outcome.PRINTED)

    def test_withdrawal_by_another(self) -> None:
        """A job that we may not withdraw continues to wait, and the verdict says so."""
        self.receipts.stop()
        self.receipts.take("receipt 1", "somebody", RECEIPT)
        verdict = self.result(Deferred.fromCoroutine(self.queue.withdraw(1)))
        self.assertEqual(verdict, Verdict(Outcome.ACCEPTED, "waiting in the queue", 1))

    def unanswered_withdrawal(self, *rules: str) -> Verdict:
        """A job in a stopped queue, with rules for the withdrawal and the query after it."""
        self.receipts.stop()
        delivered = self.deliver(patience=1)
        self.run_for(0.95)
        last_look = {"on": "probe", "then": "accept"}
        self.service.scenario.replace({"rules": [last_look, *({"on": "probe", "then": then} for then in rules)]})
        verdict = self.result(delivered, 4.5)
        self.assertEqual(self.service.scenario.document(), {"rules": []})
        return verdict

    def test_withdrawal_unanswered(self) -> None:
        """After a withdrawal without an answer, the next query shows that the job is gone."""
        self.assertEqual(self.unanswered_withdrawal("lost_after").outcome, Outcome.NOT_PRINTED)
        self.assertEqual(self.unanswered_withdrawal("garbage").outcome, Outcome.NOT_PRINTED)

    def test_withdrawal_unsettled(self) -> None:
        """A withdrawal without any answer leaves the job unknown within the time limit."""
        self.assertEqual(self.unanswered_withdrawal("silent").outcome, Outcome.UNKNOWN)
        self.assertEqual(self.unanswered_withdrawal("lost_after", "silent").outcome, Outcome.UNKNOWN)

    def test_question_unanswered(self) -> None:
        """A job in the queue stays accepted, even if queries about it fail."""
        for then in ("lost_before", "silent", "garbage"):
            self.scenario("probe", then)
            verdict = self.result(self.deliver(), 3)
            self.assertEqual(verdict.outcome, Outcome.ACCEPTED, then)
            self.assertIn("taken by the queue; then ", verdict.reason)


class LostAnswerTests(CupsCase):
    """The service took the job, and its answer was lost."""

    def test_lost(self) -> None:
        """A lost, unreadable or absent answer is unknown, whether the job was taken or not; nothing is sent twice."""
        for then, taken in (("lost_before", 0), ("silent", 0), ("lost_after", 1), ("garbage", 1)):
            before = len(self.receipts.jobs)
            self.scenario("print", then)
            verdict = self.result(self.deliver(), 5.5)
            self.assertEqual(verdict.outcome, Outcome.UNKNOWN, then)
            self.assertEqual(len(self.receipts.jobs), before + taken, then)


class StateTests(CupsCase):
    """The state of the printer according to the queue."""

    def state(self) -> QueueState:
        """Ask."""
        return self.result(self.queue.state(2))

    def test_idle(self) -> None:
        """An idle queue and one that prints are well."""
        self.assertEqual(self.state(), QueueState(Condition.OK))
        self.assertNoResult(self.deliver())
        self.assertEqual(self.state(), QueueState(Condition.OK))

    def test_hindrances(self) -> None:
        """Each hindrance has its name for every severity; of several the cover comes first, then the paper."""
        for reasons, condition in (
            (("media-empty-error",), Condition.PAPER_OUT),
            (("media-empty",), Condition.PAPER_OUT),
            (("media-needed-warning",), Condition.PAPER_OUT),
            (("cover-open-report",), Condition.COVER_OPEN),
            (("media-empty-error", "cover-open-error"), Condition.COVER_OPEN),
            (("offline-report",), Condition.OFFLINE),
            (("connecting-to-device",), Condition.OFFLINE),
            (("media-jam-error",), Condition.STOPPED),
            (("com.example-fuser-error",), Condition.STOPPED),
            (("media-low-warning",), Condition.OK),
            (("toner-low-report",), Condition.OK),
        ):
            self.receipts.hinder(*reasons)
            self.assertEqual(self.state(), QueueState(condition, ", ".join(reasons)))

    def test_stopped(self) -> None:
        """A stopped queue reports its own reason; one that rejects jobs is stopped too."""
        self.receipts.stop("Paused by the manager")
        self.assertEqual(self.state(), QueueState(Condition.STOPPED, "Paused by the manager"))
        self.receipts.resume()
        self.receipts.accepting = False
        self.assertEqual(self.state(), QueueState(Condition.STOPPED, "the queue rejects jobs"))

    def test_unknown(self) -> None:
        """The state of an unknown queue is an error of its own class."""
        self.failure(self.cups.queue("absent").state(2), UnknownQueue)

    def test_interface(self) -> None:
        """It provides the interface of queues."""
        verifyObject(IPrintQueue, self.queue)


class LineTests(SynchronousTestCase):
    """Services that are absent or are not print services."""

    def setUp(self) -> None:
        """Create a clock."""
        self.clock = Clock()

    def queue(self, endpoint: IStreamClientEndpoint) -> CupsQueue:
        """A queue behind ``endpoint``."""
        return cups_over(endpoint, self.clock).queue("receipts")

    def answered(self, answer: bytes | Callable[[bytes], bytes]) -> Deferred[Verdict]:
        """A delivery to a server that sends this answer and closes."""

        class Talker(Protocol):
            """Answers and closes."""

            def dataReceived(self, data: bytes) -> None:
                """Answer."""
                assert self.transport is not None
                self.transport.write(answer(data) if callable(answer) else answer)
                self.transport.loseConnection()

        wire = Wire(Factory.forProtocol(Talker))
        delivered = self.queue(wire).deliver(RECEIPT, "receipt 1", 5)
        while wire.flush():
            pass
        return delivered

    def test_refused(self) -> None:
        """If nothing is listening, nothing was sent."""

        @implementer(IStreamClientEndpoint)
        class Nobody:
            """Refuses."""

            def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
                """Refuse."""
                return fail(ConnectionRefusedError())

        error = self.failureResultOf(self.queue(Nobody()).deliver(RECEIPT, "receipt 1", 5), NotReached).value
        assert isinstance(error, NotReached)
        self.assertIn("localhost:631: ", error.reason)

    def test_no_connection_in_time(self) -> None:
        """A connection attempt ends when time is up: nothing was sent."""
        waiting: list[Deferred[IProtocol]] = []

        @implementer(IStreamClientEndpoint)
        class Slow:
            """Never connects."""

            def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
                """Wait."""
                waiting.append(Deferred())
                return waiting[-1]

        delivered = self.queue(Slow()).deliver(RECEIPT, "receipt 1", 5)
        self.clock.advance(4.9)
        self.assertNoResult(delivered)
        self.clock.advance(0.1)
        self.failureResultOf(delivered, NotReached)

    def test_http_refusals(self) -> None:
        """HTTP refusals took nothing, HTTP errors may have taken the job; "not found" is an unknown queue."""
        for code, outcome in ((b"401 Unauthorized", Outcome.NOT_PRINTED), (b"500 Oops", Outcome.UNKNOWN)):
            answer = b"HTTP/1.1 " + code + b"\r\nContent-Length: 4\r\n\r\nsome"
            verdict = self.successResultOf(self.answered(answer))
            self.assertEqual(verdict.outcome, outcome)
            self.assertIn("HTTP " + code.decode(), verdict.reason)
        self.failureResultOf(self.answered(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), UnknownQueue)

    def test_other_talk(self) -> None:
        """An answer that is not HTTP, not IPP or incomplete leaves the job unknown."""
        for answer in (
            b"220 mail.example.com ESMTP\r\n",
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n\x01\x01",
            b"HTTP/1.1 200 OK\r\n\r\n\x01\x01\x00\x00\x00\x00\x00\x01",
        ):
            self.assertEqual(self.successResultOf(self.answered(answer)).outcome, Outcome.UNKNOWN, answer)

    def test_answer_to_another_question(self) -> None:
        """An answer with the number of another request is rejected."""
        body = Message(Status.OK, 4711, (operation_group(),)).encode()
        verdict = self.successResultOf(
            self.answered(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        )
        self.assertEqual(verdict.outcome, Outcome.UNKNOWN)
        self.assertIn("answer to request 4711", verdict.reason)

    def test_request(self) -> None:
        """The request is one POST with a length, to the queue's path."""
        seen: list[bytes] = []

        def answer(data: bytes) -> bytes:
            seen.append(data)
            return b""

        self.successResultOf(self.answered(answer))
        head, _, body = b"".join(seen).partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        self.assertEqual(lines[0], b"POST /printers/receipts HTTP/1.1")
        self.assertIn(b"Content-Type: application/ipp", lines)
        self.assertIn(b"Content-Length: %d" % len(body), lines)
        self.assertIn(b"Host: localhost:631", lines)
        message = Message.decode(body)
        self.assertEqual((message.code, message.document), (Operation.PRINT_JOB, RECEIPT))
        operation = message.group(GroupTag.OPERATION)
        self.assertEqual(operation.text("document-format"), "application/vnd.cups-raw")
        self.assertEqual(operation.text("requesting-user-name"), "dmtwisted")
        self.assertEqual(operation.text("printer-uri"), "ipp://localhost:631/printers/receipts")


class JobReadingTests(CupsCase):
    """Jobs in the answers of other services."""

    def job(self, *attributes: Attribute) -> Deferred[QueuedJob | None]:
        """The job in an answer with ``attributes``."""
        given = Message(Status.OK, 1, (operation_group(), Group(GroupTag.JOB, attributes)))

        class Told(Cups):
            """Returns a given answer."""

            async def ask(self, *_: Any, **__: Any) -> Message:
                """Answer."""
                return given

        return Deferred.fromCoroutine(CupsQueue(Told(None, self.clock), self.clock, "receipts").job(1))  # type: ignore[arg-type]

    def test_began_is_not_told(self) -> None:
        """A removed job without information about its beginning may have begun."""
        number, gone = attribute(Tag.INTEGER, "job-id", 1), attribute(Tag.ENUM, "job-state", 8)
        job = self.successResultOf(self.job(number, gone))
        assert job is not None
        self.assertTrue(job.began)
        job = self.successResultOf(self.job(number, gone, attribute(Tag.NO_VALUE, "time-at-processing")))
        assert job is not None
        self.assertFalse(job.began)

    def test_words(self) -> None:
        """The printer's message is preferred to the bare reasons."""
        job = self.successResultOf(
            self.job(
                attribute(Tag.INTEGER, "job-id", 1),
                attribute(Tag.ENUM, "job-state", 5),
                attribute(Tag.KEYWORD, "job-state-reasons", "none", "job-printing"),
                attribute(Tag.TEXT, "job-printer-state-message", "Out of paper!"),
            )
        )
        self.assertEqual(job, QueuedJob(1, "", Stage.WORKING, True, "Out of paper!"))

    def test_no_state(self) -> None:
        """A job without a state, or with an unknown one, is garbled."""
        number = attribute(Tag.INTEGER, "job-id", 1)
        self.failureResultOf(self.job(number), Garbled)
        self.failureResultOf(self.job(number, attribute(Tag.ENUM, "job-state", 99)), Garbled)


class SimulatorTests(CupsCase):
    """The simulated service follows the rules of a real one."""

    def ask(self, message: Message) -> int:
        """The status of its answer."""
        return self.service.answer(message).code

    def test_requests_in_disorder(self) -> None:
        """Wrong versions, operations, numbers and missing attributes are refused, each with its own status."""
        good = (operation_group(attribute(Tag.URI, "printer-uri", "ipp://localhost/printers/receipts")),)
        state = Operation.GET_PRINTER_ATTRIBUTES
        self.assertEqual(self.ask(Message(state, 1, good)), Status.OK)
        self.assertEqual(self.ask(Message(state, 1, good, version=(3, 0))), Status.VERSION_NOT_SUPPORTED)
        self.assertEqual(self.ask(Message(0x0003, 1, good)), Status.OPERATION_NOT_SUPPORTED)
        self.assertEqual(self.ask(Message(state, 0, good)), Status.BAD_REQUEST)
        self.assertEqual(self.ask(Message(state, 1, ())), Status.BAD_REQUEST)
        self.assertEqual(self.ask(Message(state, 1, (operation_group(),))), Status.BAD_REQUEST)
        self.assertEqual(self.ask(Message(Operation.CANCEL_JOB, 1, good)), Status.BAD_REQUEST)
        no_address = (operation_group(attribute(Tag.URI, "printer-uri", "ipp://[localhost/printers/receipts")),)
        self.assertEqual(self.ask(Message(state, 1, no_address)), Status.NOT_FOUND)

    def test_formats(self) -> None:
        """A document in an unsupported format, or no document, is refused."""
        target = attribute(Tag.URI, "printer-uri", "ipp://localhost/printers/receipts")
        pdf = operation_group(target, attribute(Tag.MIME, "document-format", "application/pdf"))
        self.assertEqual(self.ask(Message(Operation.PRINT_JOB, 1, (pdf,), b"%PDF")), Status.FORMAT_NOT_SUPPORTED)
        plain = operation_group(target)
        self.assertEqual(self.ask(Message(Operation.PRINT_JOB, 1, (plain,))), Status.BAD_REQUEST)
        self.assertEqual(self.ask(Message(Operation.PRINT_JOB, 1, (plain,), b"x")), Status.OK)

    def test_stopped_queue_keeps_jobs(self) -> None:
        """A stopped queue takes jobs, keeps them, and prints them in order when it is resumed."""
        self.receipts.stop()
        for document in (b"1", b"2"):
            self.receipts.take("job", "till", document)
        self.run_for(5)
        self.assertEqual(self.receipts.printed, [])
        self.receipts.resume()
        self.run_for(0.7)
        self.assertEqual(self.receipts.printed, [b"1"])
        self.run_for(0.5)
        self.assertEqual(self.receipts.printed, [b"1", b"2"])

    def test_ledger(self) -> None:
        """Completed and refused jobs are in the ledger, which outlives the service."""
        path = Path(self.mktemp())
        service = IppPrinter(self.clock, ledger=path)
        service.queues["receipts"].take("till/17", "till", RECEIPT)
        self.assertEqual(list(service.ledger.entries()), [])
        self.clock.advance(0.5)
        service.ledger.close()
        entries = list(IppPrinter(self.clock, ledger=path).ledger.entries())
        self.assertEqual(
            [(e.kind, e.status, e.number, e.ref) for e in entries], [("print", "accepted", "1", "till/17")]
        )

    def test_which_jobs(self) -> None:
        """Jobs are listed by progress and by owner."""
        self.receipts.take("done", "till", b"1")
        self.run_for(1)
        self.receipts.stop()
        self.receipts.take("waits", "other", b"2")

        def listed(*more: Attribute) -> list[str]:
            target = attribute(Tag.URI, "printer-uri", "ipp://localhost/printers/receipts")
            user = attribute(Tag.NAME, "requesting-user-name", "till")
            answer = self.service.answer(Message(Operation.GET_JOBS, 1, (operation_group(target, user, *more),)))
            return [group.text("job-name") for group in answer.groups if group.tag == GroupTag.JOB]

        self.assertEqual(listed(), ["waits"])
        self.assertEqual(listed(attribute(Tag.KEYWORD, "which-jobs", "completed")), ["done"])
        everything = attribute(Tag.KEYWORD, "which-jobs", "all")
        self.assertEqual(listed(everything), ["done", "waits"])
        self.assertEqual(listed(everything, attribute(Tag.BOOLEAN, "my-jobs", True)), ["done"])

    def test_late_answer(self) -> None:
        """An answer after the client has closed is ignored."""
        self.scenario("print", "accept", delay_ms=2000)
        self.assertEqual(self.result(self.deliver(patience=1), 1.5).outcome, Outcome.UNKNOWN)
        self.run_for(POLL_S + 2)
        self.assertEqual(self.receipts.printed, [RECEIPT])

    def test_plain_http(self) -> None:
        """A browser, and a body that is not IPP, get only an HTTP status."""
        for request, status in (
            (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
            (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", b"400"),
        ):
            heard: list[bytes] = []

            class Browser(Protocol):
                """Sends a request and keeps the answer."""

                def connectionMade(self, request: bytes = request) -> None:
                    """Send."""
                    assert self.transport is not None
                    self.transport.write(request)

                def dataReceived(self, data: bytes, heard: list[bytes] = heard) -> None:
                    """Keep."""
                    heard.append(data)

            self.successResultOf(self.wire.connect(Factory.forProtocol(Browser)))
            self.carry()
            self.assertEqual(b"".join(heard).split()[1], status)


class WordsTests(SynchronousTestCase):
    """Errors say what happened."""

    def test_refused(self) -> None:
        """A refusal has the status and the service's text."""
        refused = Refused(Status.NOT_ACCEPTING_JOBS, "not-accepting-jobs")
        self.assertTrue(refused.nothing_taken)
        self.assertIn("not-accepting-jobs", str(refused))
        self.assertNotIsInstance(refused, LineLost)
