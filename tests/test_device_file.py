"""A printer behind a device file; socket pairs and pseudo-terminals replace the kernel's driver."""

from __future__ import annotations

import errno
import os
import pty
import select
import socket
import tty
from collections.abc import Callable
from typing import Any

from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.interfaces import (
    IPushProducer,
    IReactorFDSet,
    IReadDescriptor,
    IStreamClientEndpoint,
    IWriteDescriptor,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from protocols.errors import NotReached
from protocols.printers.device_file import (
    REST_S,
    DeviceFileAddress,
    DeviceFileEndpoint,
    DeviceFileTransport,
    Unplugged,
)

PATH = "/dev/usb/lp0"


@implementer(IReactorFDSet)
class Loop(Clock):
    """A reactor that runs one iteration at a time and never waits."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: list[Any] = []
        self.writers: list[Any] = []

    def addReader(self, reader: IReadDescriptor) -> None:
        """Watch for input."""
        if reader not in self.readers:
            self.readers.append(reader)

    def addWriter(self, writer: IWriteDescriptor) -> None:
        """Watch for writability."""
        if writer not in self.writers:
            self.writers.append(writer)

    def removeReader(self, reader: IReadDescriptor) -> None:
        """Stop watching."""
        if reader in self.readers:
            self.readers.remove(reader)

    def removeWriter(self, writer: IWriteDescriptor) -> None:
        """Stop watching."""
        if writer in self.writers:
            self.writers.remove(writer)

    def removeAll(self) -> list[IReadDescriptor | IWriteDescriptor]:
        """Watch nothing."""
        watched, self.readers, self.writers = [*self.readers, *self.writers], [], []
        return watched

    def getReaders(self) -> list[IReadDescriptor]:
        """Files watched for reading."""
        return list(self.readers)

    def getWriters(self) -> list[IWriteDescriptor]:
        """Files watched for writing."""
        return list(self.writers)

    def turn(self) -> int:
        """Serve every ready file; return their number."""
        served = 0
        for watched, verb, bit in (
            (self.readers, "doRead", select.POLLIN),
            (self.writers, "doWrite", select.POLLOUT),
        ):
            for selectable in list(watched):
                poll = select.poll()
                poll.register(selectable.fileno(), bit)
                if poll.poll(0):
                    served += 1
                    why = getattr(selectable, verb)()
                    if why:
                        selectable.connectionLost(Failure(why))
        return served

    def settle(self) -> None:
        """Run until nothing is ready."""
        for _ in range(1000):
            if not self.turn():
                return
        raise AssertionError("the files never come to rest")


class Listener(Protocol):
    """Records received data."""

    heard = b""
    end: BaseException | None = None

    def dataReceived(self, data: bytes) -> None:
        """Record it."""
        self.heard += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Record it."""
        self.end = reason.value

    @property
    def line(self) -> DeviceFileTransport:
        """The open file."""
        assert isinstance(self.transport, DeviceFileTransport)
        return self.transport


@implementer(IPushProducer)
class Producer:
    """Records calls."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def pauseProducing(self) -> None:
        """Record it."""
        self.states.append("paused")

    def resumeProducing(self) -> None:
        """Record it."""
        self.states.append("resumed")

    def stopProducing(self) -> None:
        """Record it."""
        self.states.append("stopped")


class DeviceFileCase(SynchronousTestCase):
    """A printer at the other end of a socket pair."""

    def setUp(self) -> None:
        """Connect the printer."""
        self.loop = Loop()
        ours, self.printer = socket.socketpair()
        self.addCleanup(self.printer.close)
        for end in (ours, self.printer):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            end.setblocking(False)
        self.ours = ours.detach()
        self.opened: list[int] = []
        self.endpoint = DeviceFileEndpoint(self.loop, PATH, any_file=True, open_file=self.open)

    def open(self, path: str, flags: int) -> int:
        """Open the printer's file."""
        self.assertEqual(path, PATH)
        self.assertTrue(flags & os.O_NONBLOCK)
        self.opened.append(flags & os.O_ACCMODE)
        return self.ours

    def connect(self) -> Listener:
        """A protocol on the open file."""
        protocol = self.successResultOf(self.endpoint.connect(Factory.forProtocol(Listener)))
        assert isinstance(protocol, Listener)

        def close() -> None:
            if protocol.line.connected:
                protocol.line.connectionLost(Failure(ConnectionAborted()))

        self.addCleanup(close)
        return protocol

    def take(self) -> bytes:
        """The data written to the file since the last call."""
        taken = b""
        while True:
            try:
                data = self.printer.recv(65536)
            except BlockingIOError:
                return taken
            if not data:
                return taken
            taken += data


class TransportTests(DeviceFileCase):
    """Bytes in both directions, and closing."""

    def test_both_ways(self) -> None:
        """Written data arrives at the printer, and the printer's data at the protocol."""
        protocol = self.connect()
        protocol.line.write(b"\x10\x04\x01")
        self.loop.settle()
        self.assertEqual(self.take(), b"\x10\x04\x01")
        self.printer.send(b"\x12")
        self.loop.settle()
        self.assertEqual(protocol.heard, b"\x12")
        self.assertEqual(protocol.line.getPeer(), DeviceFileAddress(PATH))
        self.assertEqual(protocol.line.getHost(), DeviceFileAddress(PATH))

    def test_no_paper(self) -> None:
        """A printer that stops taking data keeps the line open, costs no time, and gets the rest later."""
        protocol = self.connect()
        job = bytes(range(256)) * 1024
        protocol.line.write(job)
        protocol.line.loseConnection()
        self.loop.settle()
        self.assertIsNone(protocol.end)
        self.assertEqual(self.loop.getWriters(), [protocol.line])
        printed = b""
        while protocol.end is None:
            printed += self.take()
            self.loop.settle()
        self.assertEqual(printed + self.take(), job)
        self.assertIsInstance(protocol.end, ConnectionDone)

    def test_closed_after_the_last_byte_left(self) -> None:
        """The file stays open until it is writable again after the last byte: closing earlier would lose it."""
        protocol = self.connect()
        protocol.line.write(b"x" * 100)
        protocol.line.loseConnection()
        self.assertEqual(self.loop.turn(), 1)
        self.assertIsNone(protocol.end)
        self.assertEqual(self.take(), b"x" * 100)
        self.assertEqual(self.loop.turn(), 1)
        self.assertIsInstance(protocol.end, ConnectionDone)
        self.assertRaises(OSError, os.fstat, self.ours)
        self.assertEqual((self.loop.getReaders(), self.loop.getWriters()), ([], []))

    def test_closed_after_drain(self) -> None:
        """A line that is idle after its last byte closes too."""
        protocol = self.connect()
        protocol.line.write(b"x")
        self.loop.settle()
        self.assertEqual(self.loop.getWriters(), [])
        protocol.line.loseConnection()
        self.loop.settle()
        self.assertIsInstance(protocol.end, ConnectionDone)

    def test_half_closed(self) -> None:
        """A file has no directions that end apart: it is closed after the last byte."""
        protocol = self.connect()
        protocol.line.write(b"x")
        protocol.line.loseWriteConnection()
        self.loop.settle()
        self.assertEqual(self.take(), b"x")
        self.loop.settle()
        self.assertIsInstance(protocol.end, ConnectionDone)

    def test_producer(self) -> None:
        """A producer that is faster than the printer is paused and resumed."""

        protocol, producer = self.connect(), Producer()
        protocol.line.registerProducer(producer, True)
        protocol.line.write(b"x" * 200_000)
        self.loop.settle()
        self.assertEqual(producer.states, ["paused"])
        while producer.states == ["paused"]:
            self.assertNotEqual(self.take(), b"")
            self.loop.settle()
        self.assertEqual(producer.states, ["paused", "resumed"])
        protocol.line.unregisterProducer()

    def test_listener_paused(self) -> None:
        """A paused protocol gets no data until it resumes."""
        protocol = self.connect()
        protocol.line.pauseProducing()
        self.printer.send(b"\x12")
        self.loop.settle()
        self.assertEqual(protocol.heard, b"")
        protocol.line.resumeProducing()
        self.loop.settle()
        self.assertEqual(protocol.heard, b"\x12")

    def test_unplugged(self) -> None:
        """Unplugging ends the line immediately, also while nothing is written, and closes the file once."""
        protocol = self.connect()
        self.printer.close()
        self.loop.settle()
        self.assertIsInstance(protocol.end, Unplugged)
        self.assertRaises(OSError, os.fstat, self.ours)
        protocol.line.write(b"x")
        protocol.line.loseConnection()
        protocol.line.abortConnection()
        self.loop.advance(1)
        self.assertEqual((self.loop.getReaders(), self.loop.getWriters()), ([], []))

    def test_unplugged_in_a_job(self) -> None:
        """Unplugging in the middle of a job is not a clean close."""
        protocol = self.connect()
        protocol.line.write(b"x" * 200_000)
        self.loop.settle()
        protocol.line.loseConnection()
        self.printer.close()
        self.loop.settle()
        self.assertIsInstance(protocol.end, Unplugged)

    def test_abort(self) -> None:
        """A line can be aborted with unsent bytes."""
        protocol = self.connect()
        protocol.line.write(b"x" * 200_000)
        self.loop.settle()
        protocol.line.abortConnection()
        self.assertIsNone(protocol.end)
        self.loop.advance(0)
        self.assertIsInstance(protocol.end, ConnectionAborted)


class DriverTests(DeviceFileCase):
    """Behaviour of the kernel's driver that a socket does not have."""

    def replace(self, name: str, stand_in: Callable[..., Any]) -> None:
        """Replace `os` function ``name`` by ``stand_in`` for the printer's file only."""
        real = getattr(os, name)

        def call(descriptor: int, *rest: Any) -> Any:
            return (stand_in if descriptor == self.ours else real)(descriptor, *rest)

        self.patch(os, name, call)

    def test_nothing_to_read(self) -> None:
        """Zero bytes are not the end: the line stays open and pauses before it reads again."""
        answers = [b"", b"", b"\x12"]
        protocol = self.connect()
        self.replace("read", lambda *_: answers.pop(0))
        self.printer.send(b"\x12")
        self.loop.settle()
        self.assertEqual(len(answers), 2)
        self.loop.advance(REST_S)
        self.loop.settle()
        self.assertEqual(len(answers), 1)
        self.loop.advance(REST_S)
        self.loop.turn()
        self.assertEqual(protocol.heard, b"\x12")
        self.assertIsNone(protocol.end)

    def test_paused_while_resting(self) -> None:
        """A protocol that pauses during a rest gets no data after it."""
        protocol = self.connect()
        self.replace("read", lambda *_: b"")
        self.printer.send(b"\x12")
        self.loop.settle()
        protocol.line.pauseProducing()
        self.loop.advance(REST_S)
        self.assertEqual(self.loop.getReaders(), [])

    def test_printer_that_only_listens(self) -> None:
        """A printer that cannot be read can still be written; it is never read again."""

        def refuse(*_: Any) -> bytes:
            raise OSError(errno.EINVAL, "Invalid argument")

        protocol = self.connect()
        self.replace("read", refuse)
        self.printer.send(b"?")
        self.loop.settle()
        protocol.line.pauseProducing()
        protocol.line.resumeProducing()
        self.assertEqual(self.loop.getReaders(), [])
        protocol.line.write(b"abc")
        self.loop.settle()
        self.assertEqual(self.take(), b"abc")
        self.assertIsNone(protocol.end)

    def test_ready_and_yet_not(self) -> None:
        """A file that is writable but takes nothing is retried after a pause, also before closing."""
        tries: list[bytes] = []

        def full(_: int, data: bytes) -> int:
            tries.append(bytes(data))
            if len(tries) in (1, 3):
                raise BlockingIOError
            return len(data)

        protocol = self.connect()
        self.replace("write", full)
        protocol.line.write(b"abc")
        protocol.line.loseConnection()
        self.loop.settle()
        self.assertEqual(tries, [b"abc"])
        protocol.line.write(b"d")
        self.loop.settle()
        self.assertEqual(tries, [b"abc"])
        self.loop.advance(REST_S)
        self.loop.settle()
        self.assertEqual(tries, [b"abc", b"abcd", b""])
        self.assertIsNone(protocol.end)
        self.loop.advance(REST_S)
        self.loop.settle()
        self.assertEqual(tries[3:], [b""])
        self.assertIsInstance(protocol.end, ConnectionDone)

    def test_lost_while_resting(self) -> None:
        """A line that closes during a rest leaves no timer behind."""

        def full(_: int, data: bytes) -> int:
            raise BlockingIOError

        protocol = self.connect()
        self.replace("write", full)
        self.replace("read", lambda *_: b"")
        self.printer.send(b"?")
        protocol.line.write(b"abc")
        self.loop.settle()
        self.assertEqual(len(self.loop.getDelayedCalls()), 2)
        protocol.line.connectionLost(Failure(ConnectionAborted()))
        self.assertEqual(self.loop.getDelayedCalls(), [])

    def test_unreadable_and_gone(self) -> None:
        """A file that can no longer be read or written is a lost line."""

        def gone(*_: Any) -> int:
            raise OSError(errno.EIO, "Input/output error")

        protocol = self.connect()
        self.replace("read", gone)
        self.replace("write", gone)
        self.printer.send(b"?")
        self.loop.settle()
        self.assertIsInstance(protocol.end, Unplugged)

    def test_last_bytes_lost(self) -> None:
        """Unplugging the printer during the last bytes is detected before the file closes."""
        protocol = self.connect()
        protocol.line.write(b"abc")
        protocol.line.loseConnection()
        self.loop.turn()

        def gone(*_: Any) -> int:
            raise OSError(errno.ENODEV, "No such device")

        self.replace("write", gone)
        self.loop.settle()
        self.assertIsInstance(protocol.end, Unplugged)


class OpeningTests(DeviceFileCase):
    """Files that the endpoint opens and refuses."""

    def refusal(self, endpoint: DeviceFileEndpoint) -> str:
        """The reason why it is not opened."""
        failure = self.failureResultOf(endpoint.connect(Factory.forProtocol(Listener)), NotReached)
        assert isinstance(failure.value, NotReached)
        return failure.value.reason

    def failing(self, number: int) -> DeviceFileEndpoint:
        """An endpoint whose file cannot be opened."""

        def fail(path: str, flags: int) -> int:
            raise OSError(number, os.strerror(number), path)

        return DeviceFileEndpoint(self.loop, PATH, any_file=True, open_file=fail)

    def test_interface(self) -> None:
        """It provides the interface of endpoints."""
        verifyObject(IStreamClientEndpoint, self.endpoint)
        os.close(self.ours)

    def test_reasons(self) -> None:
        """Absent, busy, forbidden and unplugged files have readable reasons."""
        os.close(self.ours)
        for number, words in (
            (errno.ENOENT, "no such device"),
            (errno.EBUSY, "another program uses the printer"),
            (errno.EACCES, "no permission to open the printer"),
            (errno.ENODEV, "the device exists, but its printer is not connected"),
            (errno.EISDIR, "no such device"),
            (errno.ENOMEM, os.strerror(errno.ENOMEM)),
        ):
            self.assertEqual(self.refusal(self.failing(number)), f"{PATH}: {words}")

    def test_write_only(self) -> None:
        """A write-only file is opened for writing and never read."""

        def open_file(path: str, flags: int) -> int:
            if flags & os.O_ACCMODE == os.O_RDWR:
                raise OSError(errno.EACCES, "Permission denied")
            return self.open(path, flags)

        self.endpoint = DeviceFileEndpoint(self.loop, PATH, any_file=True, open_file=open_file)
        protocol = self.connect()
        self.assertEqual(self.opened, [os.O_WRONLY])
        self.assertEqual(self.loop.getReaders(), [])
        protocol.line.write(b"abc")
        self.loop.settle()
        self.assertEqual(self.take(), b"abc")

    def test_no_device(self) -> None:
        """What is no printer is called absent and never opened: a file, a pipe, memory, a device without end."""
        os.close(self.ours)
        path, pipe = self.mktemp(), self.mktemp()
        with open(path, "wb") as file:
            file.write(b"mine")
        os.mkfifo(pipe)

        def open_file(path: str, flags: int) -> int:
            self.fail(f"{path} was opened")

        for name in (path, pipe, "/", "/dev/null", "/dev/zero", "/dev/mem", "/nowhere"):
            endpoint = DeviceFileEndpoint(self.loop, name, open_file=open_file)
            self.assertEqual(self.refusal(endpoint), f"{name}: no such device")
        with open(path, "rb") as left:
            self.assertEqual(left.read(), b"mine")

    def test_other_systems(self) -> None:
        """On systems without device files the reason says so."""
        os.close(self.ours)
        endpoint = DeviceFileEndpoint(Clock(), PATH)
        self.assertEqual(self.refusal(endpoint), f"{PATH}: printer device files exist on Linux only")

    def test_real_character_device(self) -> None:
        """A real character device is accepted and carries bytes; closing its other end ends the line."""
        os.close(self.ours)
        far, near = pty.openpty()
        tty.setraw(near)
        endpoint = DeviceFileEndpoint(self.loop, os.ttyname(near))
        protocol = self.successResultOf(endpoint.connect(Factory.forProtocol(Listener)))
        assert isinstance(protocol, Listener)
        protocol.line.write(b"\x1b@")
        self.loop.settle()
        self.assertEqual(os.read(far, 10), b"\x1b@")
        os.close(near)
        os.close(far)
        self.loop.settle()
        self.assertIsInstance(protocol.end, Unplugged)
