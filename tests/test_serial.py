"""Lines open with their settings, carry bytes in both directions, and report why they do not open."""

from __future__ import annotations

import errno
import os
from typing import Any, cast

import serial
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import (
    ConnectionAborted,
    ConnectionDone,
    ConnectionLost,
    NoProtocol,
    NoRouteError,
    UserError,
)
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.interfaces import (
    IHostnameResolver,
    IReactorPluggableNameResolver,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from protocols.device_nodes import is_serial_port
from protocols.errors import NotReached
from protocols.serial import SerialAddress, SerialEndpoint, SerialSettings, TcpEndpoint


class Listener(Protocol):
    """Records received data."""

    def __init__(self) -> None:
        self.heard = b""
        self.lost: Failure | None = None

    def dataReceived(self, data: bytes) -> None:
        """Keep ``data``."""
        self.heard += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Keep the reason."""
        self.lost = reason


class Port:
    """A stand-in for pyserial's port that records calls in order."""

    def __init__(self, fd: int, error: Exception | None = None) -> None:
        object.__setattr__(self, "told", [])
        self.__dict__.update(fd=fd, error=error)

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value
        self.__dict__["told"].append((name, value))

    def open(self) -> None:
        """Open, or fail as configured."""
        self.__dict__["told"].append(("open", None))
        if self.__dict__["error"] is not None:
            raise self.__dict__["error"]

    def close(self) -> None:
        """Close."""
        self.__dict__["told"].append(("close", None))

    def reset_input_buffer(self) -> None:
        """Discard earlier input."""

    reset_output_buffer = flushInput = flushOutput = reset_input_buffer


class SerialTests(SynchronousTestCase):
    """Serial ports as endpoints."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.far, near = os.openpty()
        self.name = os.ttyname(near)
        self.addCleanup(os.close, near)
        self.addCleanup(self.close_far)

    def close_far(self) -> None:
        """Close the other end."""
        if self.far:
            os.close(self.far)
        self.far = 0

    def opened(self, **settings: Any) -> Listener:
        """A protocol on one end of a pair of ports."""
        endpoint = SerialEndpoint(self.reactor, SerialSettings(self.name, **settings))
        protocol = self.successResultOf(endpoint.connect(Factory.forProtocol(Listener)))
        assert isinstance(protocol, Listener)
        self.addCleanup(self.drop, protocol)
        return protocol

    def drop(self, protocol: Listener) -> None:
        """Close the port finally."""
        if protocol.lost is None:
            cast(Any, protocol.transport).connectionLost(Failure(ConnectionLost()))

    def refused(self, deferred: Deferred[Any]) -> str:
        """The reason why the line did not open."""
        return str(cast(NotReached, self.failureResultOf(deferred, NotReached).value).reason)

    def test_interface(self) -> None:
        """Both kinds of line are endpoints."""
        verifyObject(IStreamClientEndpoint, SerialEndpoint(self.reactor, SerialSettings("")))
        verifyObject(IStreamClientEndpoint, TcpEndpoint(self.reactor, "127.0.0.1", 1))

    def test_both_ways(self) -> None:
        """Bytes of any value are carried in both directions."""
        protocol = self.opened()
        every = bytes(range(256))
        os.write(self.far, every)
        cast(Any, protocol.transport).doRead()
        self.assertEqual(protocol.heard, every)
        assert protocol.transport is not None
        protocol.transport.write(every)
        cast(Any, protocol.transport).doWrite()
        self.assertEqual(os.read(self.far, 512), every)

    def test_address(self) -> None:
        """The line's address is its port."""
        protocol = self.opened()
        assert protocol.transport is not None
        self.assertEqual(protocol.transport.getPeer(), SerialAddress(self.name))
        self.assertEqual(protocol.transport.getHost(), SerialAddress(self.name))

    def test_unplugged(self) -> None:
        """A port that disappears is a lost connection."""
        protocol = self.opened()
        self.close_far()
        gone = cast(Any, protocol.transport).doRead()
        self.assertIsInstance(gone, ConnectionLost | ConnectionDone)

    def test_aborted(self) -> None:
        """An aborted line closes once, despite unsent bytes."""
        protocol = self.opened()
        transport = cast(Any, protocol.transport)
        transport.write(b"never read")
        transport.abortConnection()
        transport.abortConnection()
        self.reactor.advance(0)
        assert protocol.lost is not None
        self.assertTrue(protocol.lost.check(ConnectionAborted))
        self.assertEqual(self.reactor.getDelayedCalls(), [])
        self.assertFalse(self.reactor.getReaders() or self.reactor.getWriters())

    def test_half_closed(self) -> None:
        """A port has no directions that end apart: it is closed after the last byte."""
        protocol = self.opened()
        transport = cast(Any, protocol.transport)
        transport.write(b"last")
        transport.loseWriteConnection()
        self.assertIsNone(protocol.lost)
        end = transport.doWrite()
        self.assertEqual((os.read(self.far, 512), type(end)), (b"last", ConnectionDone))

    def test_exclusive(self) -> None:
        """An open port cannot be opened again unless sharing is set."""
        self.opened()
        endpoint = SerialEndpoint(self.reactor, SerialSettings(self.name))
        self.assertIn("another program uses the port", self.refused(endpoint.connect(Factory.forProtocol(Listener))))

    def test_shared(self) -> None:
        """Ports that are not exclusive open twice."""
        self.opened(exclusive=False)
        self.opened(exclusive=False)

    def test_absent(self) -> None:
        """The error for an absent port contains its name."""
        endpoint = SerialEndpoint(self.reactor, SerialSettings("/dev/no-such-port"))
        reason = self.refused(endpoint.connect(Factory.forProtocol(Listener)))
        self.assertTrue(reason.startswith("/dev/no-such-port: no such port; existing ports: "), reason)

    def test_no_port(self) -> None:
        """What is no serial port does not open, and is called absent: a file, a folder, a pipe, another device."""
        path, pipe = self.mktemp(), self.mktemp()
        with open(path, "w"):
            pass
        os.mkfifo(pipe)
        for name in (path, pipe, "/", "/dev/null", "/dev/zero", "/dev/urandom"):
            endpoint = SerialEndpoint(self.reactor, SerialSettings(name))
            reason = self.refused(endpoint.connect(Factory.forProtocol(Listener)))
            self.assertTrue(reason.startswith(f"{name}: no such port; existing ports: "), reason)

    def test_windows_names(self) -> None:
        """On Windows a port has a plain name; a path could be a file, or make the machine log in elsewhere."""
        for name in ("COM3", "COM12", "\\\\.\\COM12", "CNCA0"):
            self.assertTrue(is_serial_port(name, "win32"), name)
        for name in ("\\\\203.0.113.5\\share\\x", "C:\\x", "COM3\\..\\x", "//host/x", "", "\\\\.\\pipe\\x"):
            self.assertFalse(is_serial_port(name, "win32"), name)

    def test_bad_setting(self) -> None:
        """An invalid setting is refused with a reason too."""
        endpoint = SerialEndpoint(self.reactor, SerialSettings(self.name, parity="X"))
        self.assertIn("parity", self.refused(endpoint.connect(Factory.forProtocol(Listener))))

    def test_settings(self) -> None:
        """All parameters are set before the port opens, modem lines too."""
        port = Port(self.far)
        settings = SerialSettings("COM7", 115200, 7, "E", 2, True, True, dtr=False, rts=True)
        endpoint = SerialEndpoint(self.reactor, settings, lambda: cast(serial.Serial, port))
        self.successResultOf(endpoint.connect(Factory.forProtocol(Listener)))
        told = cast(Any, port).told
        before = dict(told[: told.index(("open", None))])
        self.assertEqual(
            before,
            {
                "port": "COM7",
                "baudrate": 115200,
                "bytesize": 7,
                "parity": "E",
                "stopbits": 2,
                "rtscts": True,
                "xonxoff": True,
                "timeout": 0,
                "dtr": False,
                "rts": True,
                "exclusive": True,
            },
        )

    def test_modem_lines_left_alone(self) -> None:
        """Modem lines without a setting are not changed."""
        port = Port(self.far)
        endpoint = SerialEndpoint(
            self.reactor, SerialSettings("COM7", exclusive=False), lambda: cast(serial.Serial, port)
        )
        self.successResultOf(endpoint.connect(Factory.forProtocol(Listener)))
        names = {name for name, _ in cast(Any, port).told}
        self.assertFalse(names & {"dtr", "rts", "exclusive"})

    def test_reasons(self) -> None:
        """Every refusal of a port has a readable reason, whatever the language of the system."""
        windows = serial.SerialException
        for error, words in (
            (serial.SerialException(errno.EACCES, "x"), "no permission"),
            (serial.SerialException(errno.EBUSY, "x"), "another program"),
            (windows("could not open port 'COM1': PermissionError(13, 'Відмовлено', None, 5)"), "another program"),
            (windows("could not open port 'COM1': FileNotFoundError(2, 'x', None, 2)"), "no such port"),
            (windows("could not open port 'COM1': PermissionError(13, 'x', None, 31)"), "is not connected"),
            (
                windows("Cannot configure port, something went wrong. PermissionError(13, 'x', None, 31)"),
                "is not con",
            ),
            (windows("could not open port 'COM1': OSError(22, 'x', None, 433)"), "is not connected"),
            (windows("Cannot configure port, something went wrong. OSError(22, 'x', None, 87)"), "not a serial port"),
            (serial.SerialException(errno.EIO, "x"), "its device is not connected"),
            (serial.SerialException("something else"), "something else"),
        ):
            endpoint = SerialEndpoint(
                self.reactor,
                SerialSettings("COM1"),
                lambda error=error: cast(serial.Serial, Port(0, error)),  # type: ignore[misc]
            )
            self.assertIn(words, self.refused(endpoint.connect(Factory.forProtocol(Listener))))

    def test_no_protocol(self) -> None:
        """A factory can decline the connection."""

        class Unwilling(Factory):
            def buildProtocol(self, addr: object) -> None:
                return None

        endpoint = SerialEndpoint(self.reactor, SerialSettings(self.name))
        self.failureResultOf(endpoint.connect(Unwilling()), NoProtocol)


@implementer(IHostnameResolver)
class _Names:
    """Resolves one name; others fail, or never end."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def resolveHostName(  # type: ignore[override]
        self, receiver: Any, hostName: str, *_: object, **__: object
    ) -> Any:
        """Resolve ``terminal``."""
        receiver.resolutionBegan(self)
        if hostName == "terminal":
            receiver.addressResolved(IPv4Address("TCP", "10.0.0.9", 20007))
        if self.ends:
            receiver.resolutionComplete()
        return self

    def cancel(self) -> None:
        """Nothing to cancel."""


@implementer(IReactorPluggableNameResolver)
class _Reactor(MemoryReactorClock):
    """A reactor in memory with its own names."""

    def __init__(self, ends: bool = True) -> None:
        super().__init__()
        self.nameResolver = _Names(ends)

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:
        """Use ``resolver``."""
        raise NotImplementedError


class TcpTests(SynchronousTestCase):
    """A TCP line opens within its time limit or reports why not."""

    def setUp(self) -> None:
        self.reactor = _Reactor()

    def connect(self, host: str) -> Deferred[Any]:
        """Begin to connect."""
        return TcpEndpoint(self.reactor, host, 20007).connect(Factory.forProtocol(Listener))

    def reason(self, deferred: Deferred[Any]) -> str:
        """The reason why the line did not open."""
        return str(cast(NotReached, self.failureResultOf(deferred, NotReached).value).reason)

    def test_connected(self) -> None:
        """By an IPv4 or IPv6 address."""
        for host in ("10.0.0.9", "::1"):
            connecting = self.connect(host)
            where, port, factory, timeout, _ = self.reactor.tcpClients.pop()
            self.assertEqual((where, port, timeout), (host, 20007, 5))
            cast(Any, factory.buildProtocol(IPv4Address("TCP", host, port))).makeConnection(StringTransport())
            self.assertIsInstance(self.successResultOf(connecting), Listener)

    def test_by_name(self) -> None:
        """By name."""
        connecting = self.connect("terminal")
        where, _, factory, _, _ = self.reactor.tcpClients.pop()
        self.assertEqual(where, "10.0.0.9")
        cast(Any, factory.buildProtocol(IPv4Address("TCP", where, 20007))).makeConnection(StringTransport())
        self.assertIsInstance(self.successResultOf(connecting), Listener)
        for call in self.reactor.getDelayedCalls():
            call.cancel()

    def test_name_unknown(self) -> None:
        """An unknown name fails immediately."""
        self.assertEqual(self.reason(self.connect("nowhere")), "nowhere:20007: the name is unknown")

    def test_look_up_hangs(self) -> None:
        """A look-up that never ends is given up at the time limit."""
        self.reactor = _Reactor(ends=False)
        connecting = self.connect("nowhere")
        self.reactor.advance(4.9)
        self.assertNoResult(connecting)
        self.reactor.advance(0.2)
        self.assertEqual(self.reason(connecting), "nowhere:20007: no answer in 5 s")

    def test_reasons(self) -> None:
        """Each failure of the system has a readable reason."""
        for error, words in (
            (Refused(), "nothing is listening there"),
            (NoRouteError(), "no route to this address"),
            (UserError(), "User aborted"),
        ):
            connecting = self.connect("10.0.0.9")
            factory = self.reactor.tcpClients.pop()[2]
            cast(Any, factory).clientConnectionFailed(None, Failure(error))
            self.assertIn(words, self.reason(connecting))

    def test_no_answer(self) -> None:
        """An address that does not answer is given up at the time limit."""
        connecting = self.connect("10.0.0.9")
        self.reactor.advance(5)
        self.assertEqual(self.reason(connecting), "10.0.0.9:20007: no answer in 5 s")
