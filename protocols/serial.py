"""Endpoints for serial and TCP lines to devices, both opened by ``connect(factory)``.

Both fail with `protocols.errors.NotReached` and a readable reason when the line cannot be opened. pyserial is
imported when a port is opened, so the module loads on every system.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import (
    ConnectError,
    ConnectionAborted,
    ConnectionRefusedError,
    DNSLookupError,
    NoProtocol,
    NoRouteError,
    TimeoutError,
    UserError,
)
from twisted.internet.interfaces import IAddress, IProtocol, IProtocolFactory, IStreamClientEndpoint, ITCPTransport
from twisted.python.failure import Failure
from zope.interface import Interface, implementer

from protocols.device_nodes import is_serial_port
from protocols.errors import NotReached
from protocols.lazy import LazyModule
from protocols.serial_windows import windows_line

if TYPE_CHECKING:
    import serial
    from twisted.internet import endpoints
else:
    # They bring the TLS library.
    endpoints = LazyModule("twisted.internet.endpoints")

CONNECT_TIMEOUT = 5.0
"""Seconds to open a TCP line (docs/reference/terminals.md#rule-10)."""

KEEPALIVE_IDLE, KEEPALIVE_INTERVAL = 10, 1
"""Seconds of silence before a TCP keepalive probe, and between probes (docs/reference/privatbank-json.md#line)."""


@implementer(IAddress)
@dataclass(frozen=True)
class SerialAddress:
    """The name of a serial port."""

    port: str


@dataclass(frozen=True)
class SerialSettings:
    """The parameters of a serial line; the defaults are 9600 8N1 without flow control."""

    port: str
    """``/dev/ttyUSB0``, ``/dev/serial/by-id/…``, ``COM3``."""
    baudrate: int = 9600
    bytesize: int = 8
    parity: str = "N"
    """``N``, ``E``, ``O``, ``M`` or ``S``."""
    stopbits: float = 1
    """1, 1.5 or 2."""
    rtscts: bool = False
    """Hardware flow control."""
    xonxoff: bool = False
    """Software flow control; unsuitable for protocols with arbitrary bytes."""
    dtr: bool | None = None
    """Level of DTR from the moment of opening; `None` is pyserial's default: on."""
    rts: bool | None = None
    """Level of RTS, likewise."""
    exclusive: bool = True
    """Do not share the port: two programs on one port would take each other's bytes. Windows never shares."""


class ISerialLines(Interface):
    """Provided by a reactor that opens serial lines itself, as the one of the conformance desk does."""

    def connectSerial(settings: SerialSettings, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open a line for a new protocol.

        :raises NotReached: when there is no such line; the Deferred fails with it.
        """


def _new_port() -> serial.Serial:
    import serial

    return serial.Serial()


@implementer(IStreamClientEndpoint)
class SerialEndpoint:
    """An endpoint for a serial port.

    :param new_port: creates a closed port; a stand-in in tests.
    """

    def __init__(
        self, reactor: Any, settings: SerialSettings, new_port: Callable[[], serial.Serial] = _new_port
    ) -> None:
        self._reactor, self._settings, self._new_port = reactor, settings, new_port

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open the port for a new protocol; data received before is discarded.

        :raises NotReached: when the port cannot be opened; the Deferred fails with it.
        """
        if ISerialLines.providedBy(self._reactor):
            lines: ISerialLines = self._reactor
            return lines.connectSerial(self._settings, protocolFactory)
        address = SerialAddress(self._settings.port)
        protocol = protocolFactory.buildProtocol(address)
        if protocol is None:
            return fail(NoProtocol())
        try:
            _transport(self._reactor, protocol, address, self._open)
        except (OSError, ValueError, ImportError) as error:
            return fail(NotReached(f"{address.port}: {_serial_reason(error)}"))
        return succeed(protocol)

    def _open(self, timeout: float | None) -> serial.Serial:
        """Open the port; parameters are set before, so that no modem line toggles.

        :param timeout: of reads, as Twisted's transport requires it: 0 on POSIX, `None` on Windows.
        """
        settings = self._settings
        if self._new_port is _new_port and not is_serial_port(settings.port):
            # The same as for one that is absent: callers must not learn which files there are.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        port = self._new_port()
        port.port = settings.port
        port.baudrate = settings.baudrate
        port.bytesize, port.parity, port.stopbits = settings.bytesize, settings.parity, settings.stopbits
        port.rtscts, port.xonxoff = settings.rtscts, settings.xonxoff
        port.timeout = timeout
        if settings.dtr is not None:
            port.dtr = settings.dtr
        if settings.rts is not None:
            port.rts = settings.rts
        if settings.exclusive:
            port.exclusive = True
        try:
            port.open()
        except OSError:
            raise
        except Exception as error:  # termios.error, for a path that is not a serial port, is not an OSError
            raise OSError(*error.args) from error
        return port


def _transport(
    reactor: Any,
    protocol: IProtocol,
    address: SerialAddress,
    opener: Callable[[float | None], serial.Serial],
    platform: str = sys.platform,
) -> None:
    """Connect the protocol to the port by Twisted's transport for serial ports."""
    from twisted.internet import serialport

    # The class depends on the platform and has no annotations.
    port: Any = serialport.SerialPort
    if platform == "win32":
        port = windows_line(port)

    class Line(port):  # type: ignore[misc]
        """A serial port that can be aborted and knows its name."""

        @staticmethod
        def _serialFactory(*_: object, timeout: float | None = 0, **__: object) -> serial.Serial:
            return opener(timeout)

        def abortConnection(self) -> None:
            """Close without waiting for unsent data: a device that is off never reads it."""
            if self.connected:
                reactor.callLater(0, self._dropped)

        def loseWriteConnection(self) -> None:
            """Close: no device learns that a port is half closed."""
            self.loseConnection()

        def _dropped(self) -> None:
            if not self.disconnected:
                self.connectionLost(Failure(ConnectionAborted()))

        def getHost(self) -> SerialAddress:
            """The port."""
            return address

        def getPeer(self) -> SerialAddress:
            """The port; the device itself is unknown."""
            return address

    Line(protocol, address.port, reactor)


def serial_ports() -> list[str]:
    """The names of this machine's serial ports in natural order: COM9 before COM10."""
    from serial.tools.list_ports import comports

    names = {port.device for port in comports()}
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in _DIGITS.split(name)])


_DIGITS = re.compile(r"(\d+)")


def _existing_ports() -> str:
    try:
        names = serial_ports()
    except (OSError, ImportError, AttributeError):  # a system may lack a function of Windows, as Wine does
        return "unknown"
    return ", ".join(names) or "none"


def _serial_reason(error: Exception) -> str:
    """Why a port did not open, for people."""
    if isinstance(error, ImportError):
        return f"serial ports need {error.name or error}"
    if isinstance(error, ValueError):
        return str(error)
    number, text = getattr(error, "errno", None), str(error)
    told = _WINDOWS_ERROR.search(text)
    if told is not None:
        number = _OF_WINDOWS.get(int(told[1]))
    if number == errno.ENOENT:
        return f"no such port; existing ports: {_existing_ports()}"
    if number in (errno.EAGAIN, errno.EBUSY):
        return "another program uses the port"
    if number in (errno.EACCES, errno.EPERM):
        return "no permission to open the port"
    if number in (errno.ENOTTY, errno.EINVAL) or "Could not configure port" in text:
        return "this is not a serial port"
    if number in (errno.ENXIO, errno.ENODEV, errno.EIO):
        return "the port exists, but its device is not connected"
    return text


_WINDOWS_ERROR = re.compile(r"None, (\d+)\)$")
"""The error of Windows in pyserial's text: ``PermissionError(13, 'Access is denied.', None, 5)``. Its words are in
the language of the system, and 13 stands for other errors too: an adapter that has failed is 31."""

_OF_WINDOWS = {
    **dict.fromkeys((2, 3), errno.ENOENT),
    **dict.fromkeys((5, 32), errno.EBUSY),
    **dict.fromkeys((1, 87), errno.ENOTTY),
    **dict.fromkeys((22, 31, 121, 433, 1167), errno.EIO),
}
"""What these errors are elsewhere."""


@implementer(IStreamClientEndpoint)
class TcpEndpoint:
    """An endpoint for a TCP line to a device: small packets are sent immediately, lost connections are detected.

    :param host: a name or an address.
    :param connect_timeout: in seconds.
    """

    def __init__(self, reactor: Any, host: str, port: int, connect_timeout: float = CONNECT_TIMEOUT) -> None:
        self._reactor, self._where, self._timeout = reactor, f"{host}:{port}", connect_timeout
        self._endpoint: IStreamClientEndpoint
        if isIPAddress(host):
            self._endpoint = endpoints.TCP4ClientEndpoint(reactor, host, port, connect_timeout)
        elif isIPv6Address(host):
            self._endpoint = endpoints.TCP6ClientEndpoint(reactor, host, port, connect_timeout)
        else:
            self._endpoint = endpoints.HostnameEndpoint(reactor, host, port, connect_timeout)

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect within the time limit.

        :raises NotReached: when the connection fails; the Deferred fails with it.
        """
        connecting: Deferred[IProtocol] = self._endpoint.connect(protocolFactory)
        # A name look-up has no time limit of its own.
        connecting.addTimeout(self._timeout, self._reactor, self._too_late)
        return connecting.addCallbacks(_lively, self._not_reached)

    def _too_late(self, _: object, seconds: float) -> Failure:
        return Failure(NotReached(f"{self._where}: no answer in {seconds:g} s"))

    def _not_reached(self, failure: Failure) -> IProtocol | Failure:
        if failure.check(ConnectError, DNSLookupError, UserError, OSError, ValueError) is None:
            return failure
        return Failure(NotReached(f"{self._where}: {_tcp_reason(failure.value, self._timeout)}"))


def _lively(protocol: IProtocol) -> IProtocol:
    """Set the socket's options for short requests and answers."""
    transport = getattr(protocol, "transport", None)
    if ITCPTransport.providedBy(transport):
        line = cast(Any, transport)
        line.setTcpNoDelay(True)
        line.setTcpKeepAlive(True)
        handle = line.getHandle() if hasattr(line, "getHandle") else None
        if isinstance(handle, socket.socket):
            for name, seconds in (("TCP_KEEPIDLE", KEEPALIVE_IDLE), ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL)):
                if hasattr(socket, name):
                    handle.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    return protocol


def _tcp_reason(error: BaseException | None, timeout: float) -> str:
    """Why a connection failed, for people."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing is listening there"
    if isinstance(error, TimeoutError):
        return f"no answer in {timeout:g} s"
    if isinstance(error, NoRouteError):
        return "no route to this address"
    if isinstance(error, DNSLookupError):
        return "the name is unknown"
    return str(error) or type(error).__name__
