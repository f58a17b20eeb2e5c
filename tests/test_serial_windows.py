"""COM ports: Twisted's own transport between stand-ins for pywin32 and iocpreactor."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any
from unittest import mock

from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols import serial_windows
from protocols.serial import SerialAddress, _existing_ports, _transport, serial_ports
from tests.windows_doubles import THREADS, CompletionPorts, ComPort, PortThread, installed


class Listener(Protocol):
    """Records received data."""

    def __init__(self) -> None:
        self.heard = b""
        self.lost: list[Failure] = []

    def dataReceived(self, data: bytes) -> None:
        """Keep ``data``."""
        self.heard += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Keep the reason."""
        self.lost.append(reason)


class OpenPort:
    """pyserial's side of a port."""

    def __init__(self, port: ComPort) -> None:
        self._port_handle = port

    def close(self) -> None:
        """Close."""
        self._port_handle.closed = True

    def flushInput(self) -> None:
        """Nothing to discard."""

    flushOutput = flushInput


class ComPortTests(SynchronousTestCase):
    """A COM port under iocpreactor."""

    def setUp(self) -> None:
        """A protocol on COM10."""
        # On Windows it imports the transport, too, which is imported once more with the stand-ins.
        serialport = import_module("twisted.internet.serialport")
        stand_ins = mock.patch.dict(sys.modules, installed())
        stand_ins.start()
        self.addCleanup(stand_ins.stop)
        sys.modules.pop("twisted.internet._win32serialport", None)
        transport = import_module("twisted.internet._win32serialport").SerialPort
        self.patch(serialport, "SerialPort", transport)
        self.patch(serial_windows, "Thread", PortThread)
        self.reactor, self.port, self.protocol = CompletionPorts(), ComPort(), Listener()
        self.connect()

    def connect(self) -> None:
        """Open the port."""
        _transport(self.reactor, self.protocol, SerialAddress("COM10"), self.opened, "win32")
        self.line: Any = self.protocol.transport

    def opened(self, timeout: float | None) -> Any:
        """The open port; the transport on Windows waits in reads itself."""
        self.assertIsNone(timeout)
        return OpenPort(self.port)

    def reason(self) -> Any:
        """The reason of the one lost connection."""
        [failure] = self.protocol.lost
        self.assertTrue(self.port.closed)
        self.assertEqual([thread for thread in list(THREADS) if thread.run()], [])
        return failure.value

    def test_heard(self) -> None:
        """Received bytes reach the protocol, one or many at a time."""
        for came in (b"\x06", bytes(range(256))):
            # Windows has put the first byte into the read that was waiting for it.
            self.line.read_buf, self.port.reading, self.port.incoming = bytearray(came[:1]), 1, came[1:]
            self.reactor.happen("serialReadEvent")
        self.assertEqual(self.protocol.heard, b"\x06" + bytes(range(256)))

    def test_said(self) -> None:
        """Writes are sent in order, also those of a sequence."""
        self.line.write(b"one")
        self.line.writeSequence([b"tw", b"o"])
        self.assertEqual(self.port.outgoing, [b"one"])
        self.reactor.happen("serialWriteEvent")
        self.reactor.happen("serialWriteEvent")
        self.assertEqual(self.port.outgoing, [b"one", b"two"])

    def test_closed(self) -> None:
        """Closing waits for unsent data; then the port is free and the protocol is informed."""
        self.line.write(b"one")
        self.line.write(b"two")
        self.line.loseConnection()
        self.line.write(b"too late")
        self.reactor.advance(1)
        self.reactor.happen("serialWriteEvent")
        self.assertEqual(self.protocol.lost, [])
        self.reactor.happen("serialWriteEvent")
        self.assertEqual(self.port.outgoing, [b"one", b"two"])
        self.assertIsInstance(self.reason(), ConnectionDone)

    def test_closed_with_nothing_to_write(self) -> None:
        """An idle port closes immediately, and once."""
        self.line.loseConnection()
        self.line.loseConnection()
        self.reactor.advance(0)
        self.assertIsInstance(self.reason(), ConnectionDone)

    def test_aborted(self) -> None:
        """A device that is off reads nothing: the port is aborted without waiting."""
        self.line.write(b"never read")
        self.line.abortConnection()
        self.reactor.advance(0)
        self.assertIsInstance(self.reason(), ConnectionAborted)

    def test_unplugged(self) -> None:
        """A port whose adapter is unplugged is lost, detected by reading or by writing; later events are ignored."""
        for notice in (lambda: self.reactor.happen("serialReadEvent"), lambda: self.line.write(b"x")):
            self.port.unplugged = True
            notice()
            self.reactor.advance(0)
            reason = self.reason()
            self.assertIsInstance(reason, ConnectionLost)
            self.assertIn("does not recognize", str(reason))
            self.line.serialReadEvent()
            self.line.serialWriteEvent()
            self.line.write(b"y")
            self.line.loseConnection()
            self.reactor.advance(1)
            self.reason()
            self.protocol.lost.clear()
            vars(self.port).update(vars(ComPort()))
            self.connect()

    def test_unplugged_while_it_opens(self) -> None:
        """A port whose adapter is unplugged as it opens is lost like any other: nothing stays open."""
        self.line.abortConnection()
        self.reactor.advance(0)
        self.protocol.lost.clear()
        self.port.unplugged, self.port.closed = True, False
        self.connect()
        self.reactor.advance(0)
        self.assertIsInstance(self.reason(), ConnectionLost)

    def test_not_sent(self) -> None:
        """A write that fails or is cut short is no success: the line is lost, and nothing after it is sent."""
        for fault, words in ({"unplugged": True}, "does not recognize"), ({"short": 1}, "took 2 of 3"):
            self.line.write(b"one")
            self.line.write(b"two")
            vars(self.port).update(fault)
            self.reactor.happen("serialWriteEvent")
            self.reactor.advance(0)
            self.assertIn(words, str(self.reason()))
            self.assertEqual(self.port.outgoing, [b"one"])
            self.protocol.lost.clear()
            vars(self.port).update(vars(ComPort()))
            self.connect()

    def test_kept_until_sent(self) -> None:
        """Windows reads the bytes of a write until it has sent them: they are kept as long."""
        self.line.write(bytes(bytearray(b"one")))
        self.assertEqual(self.line.outQueue, [b"one"])
        self.reactor.happen("serialWriteEvent")
        self.assertEqual(self.line.outQueue, [])

    def test_fault_of_the_protocol(self) -> None:
        """A protocol that fails loses its line, and the failure is logged."""

        def fail(_: bytes) -> None:
            raise ZeroDivisionError

        self.patch(self.protocol, "dataReceived", fail)
        self.reactor.happen("serialReadEvent")
        self.assertIsInstance(self.reason(), ZeroDivisionError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_process_ends(self) -> None:
        """A process ends while a device talks: it waits for no thread of a port."""
        self.assertEqual([thread.daemon for thread in THREADS], [True, True])

    def test_ended_in_between(self) -> None:
        """An event that arrives after closing does no harm."""
        self.line.connectionLost(Failure(ConnectionDone()))
        self.line.serialReadEvent()
        self.assertIsInstance(self.reason(), ConnectionDone)


class PortNameTests(SynchronousTestCase):
    """The list of ports."""

    def ports(self, *names: str) -> None:
        """Set the machine's ports."""
        listed = [type("Info", (), {"device": name})() for name in names]
        self.patch(import_module("serial.tools.list_ports"), "comports", lambda: listed)

    def test_order(self) -> None:
        """Ports are listed in natural order."""
        self.ports("COM10", "COM9", "COM1")
        self.assertEqual(serial_ports(), ["COM1", "COM9", "COM10"])

    def test_told(self) -> None:
        """The error for a port that does not exist lists the existing ones."""
        self.ports("COM3", "COM12")
        self.assertEqual(_existing_ports(), "COM3, COM12")
        self.ports()
        self.assertEqual(_existing_ports(), "none")

    def test_not_told(self) -> None:
        """A machine that cannot list its ports still reports that one does not exist."""

        for error in (OSError("no"), AttributeError("function 'CM_MapCrToWin32Err' not found")):

            def broken(error: Exception = error) -> None:
                raise error

            self.patch(import_module("serial.tools.list_ports"), "comports", broken)
            self.assertEqual(_existing_ports(), "unknown")
