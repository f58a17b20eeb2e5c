"""A transport for a USB printer's device file, ``/dev/usb/lp0`` (docs/reference/printers.md#device-files).

The kernel's driver for the printer class (usblp) has peculiarities, which the transport respects:

==========================  =====================================================================================
the driver                  the transport
==========================  =====================================================================================
takes a write at once and   closes only when the file is writable again and nothing is left to write: **closing
sends it later              earlier loses the last bytes**
no paper: is not writable   does not drain; the protocol has a time limit
reads 0 bytes               takes this for a pause, not for the end
cannot read: EINVAL         continues without reading: the printer is write-only
unplugged: ENODEV           closes; an empty write detects it, because a failed last transfer is not reported
==========================  =====================================================================================
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost, NoProtocol
from twisted.internet.interfaces import (
    IAddress,
    IDelayedCall,
    IProtocol,
    IProtocolFactory,
    IReactorFDSet,
    IReadWriteDescriptor,
    IStreamClientEndpoint,
    ITransport,
)
from twisted.internet.main import CONNECTION_DONE
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.device_nodes import is_printer
from protocols.errors import NotReached

READ_SIZE = 4096
"""Bytes of one read."""

REST_S = 0.25
"""Seconds of pause after the file was ready, but gave or took nothing."""

Open = Callable[[str, int], int]
"""As `os.open`: from a path and flags to a descriptor, or `OSError`."""


@implementer(IAddress)
@dataclass(frozen=True)
class DeviceFileAddress:
    """The path of a device file."""

    path: str


@implementer(IReadWriteDescriptor, ITransport)
class DeviceFileTransport(FileDescriptor):
    """The open device file; it owns ``descriptor`` and closes it.

    :param reads: whether the file was opened for reading too.
    """

    def __init__(self, reactor: Any, protocol: IProtocol, address: DeviceFileAddress, descriptor: int, reads: bool):
        super().__init__(reactor)
        self._clock, self._protocol, self._address = reactor, protocol, address
        self._descriptor, self._reads = descriptor, reads
        self._in_flight = False
        self._read_rest: IDelayedCall | None = None
        self._write_rest: IDelayedCall | None = None
        self.connected = 1

    def begin(self) -> None:
        """Connect the protocol and start reading."""
        self._protocol.makeConnection(self)
        if self.connected and not self.disconnecting:
            self.startReading()

    def fileno(self) -> int:
        """The descriptor for the reactor, -1 after closing."""
        return self._descriptor

    def getHost(self) -> DeviceFileAddress:
        """The file."""
        return self._address

    def getPeer(self) -> DeviceFileAddress:
        """The file; the printer itself is unknown."""
        return self._address

    def startReading(self) -> None:
        """Read from the printer, if the file can be read at all."""
        if self._reads and self._read_rest is None:
            FileDescriptor.startReading(self)

    def stopReading(self) -> None:
        """Stop reading, also after a pause."""
        if self._read_rest is not None:
            self._read_rest.cancel()
            self._read_rest = None
        FileDescriptor.stopReading(self)

    def startWriting(self) -> None:
        """Write when the driver takes data; during a pause, when it is over."""
        if self._write_rest is None:
            FileDescriptor.startWriting(self)

    def doRead(self) -> Any:
        """Pass the printer's data to the protocol."""
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EIO):
                return _gone(error)
            # Some printers cannot be read; a write shows whether this one is still connected.
            self.stopReading()
            self._reads = False
            return self._ask_whether_there()
        if data:
            self._protocol.dataReceived(data)
            return None
        self.stopReading()
        self._read_rest = self._clock.callLater(REST_S, self._read_rested)
        return self._ask_whether_there()

    def writeSomeData(self, data: bytes) -> int | Exception:
        """Write what the driver takes now; a call with no data detects that everything has left."""
        try:
            taken = os.write(self._descriptor, data)
        except (BlockingIOError, InterruptedError):
            # Ready, but it took nothing: an immediate retry would keep the processor busy.
            FileDescriptor.stopWriting(self)
            self._write_rest = self._clock.callLater(REST_S, self._write_rested)
            return 0
        except OSError as error:
            return _gone(error)
        self._in_flight = taken > 0
        return taken

    def _postLoseConnection(self) -> ConnectionDone | None:
        if self._in_flight or self._write_rest is not None:
            self.startWriting()
            return None
        return CONNECTION_DONE

    def loseWriteConnection(self) -> None:
        """Close: no printer learns that a file is half closed."""
        self.loseConnection()  # type: ignore[no-untyped-call]

    def abortConnection(self) -> None:
        """Close immediately; data that has not left the driver is lost."""
        if self.connected:
            self._clock.callLater(0, self.connectionLost, Failure(ConnectionAborted()))

    def connectionLost(self, reason: Failure) -> None:
        """Close the file and inform the protocol."""
        if self._descriptor < 0:
            return
        FileDescriptor.connectionLost(self, reason)
        if self._write_rest is not None:
            self._write_rest.cancel()
            self._write_rest = None
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)
        self._protocol.connectionLost(reason)

    def _read_rested(self) -> None:
        self._read_rest = None
        self.startReading()

    def _write_rested(self) -> None:
        self._write_rest = None
        self.startWriting()

    def _ask_whether_there(self) -> Exception | None:
        """Make an empty write, which fails when the printer is unplugged."""
        try:
            os.write(self._descriptor, b"")
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            return _gone(error)
        return None


class Unplugged(ConnectionLost):
    """The device file no longer works: its printer was unplugged or switched off."""


def _gone(error: OSError) -> Exception:
    if error.errno in (errno.ENODEV, errno.ENXIO, errno.EIO, errno.EPIPE, errno.ECONNRESET):
        return Unplugged("the printer was unplugged or switched off")
    return Unplugged(error.strerror or str(error))


@implementer(IStreamClientEndpoint)
class DeviceFileEndpoint:
    """An endpoint for a device file; on Linux only, elsewhere every connection fails.

    :param path: ``/dev/usb/lp0``, or better a lasting name by udev.
    :param any_file: also accept files that are no printers, for tests.
    :param open_file: opens the file; a stand-in in tests.
    """

    def __init__(self, reactor: Any, path: str, *, any_file: bool = False, open_file: Open = os.open) -> None:
        self._reactor, self._address = reactor, DeviceFileAddress(path)
        self._any_file, self._open_file = any_file, open_file

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open the file for a new protocol.

        :raises NotReached: when it cannot be opened; the Deferred fails with it.
        """
        path = self._address.path
        if not hasattr(os, "O_NONBLOCK") or not IReactorFDSet.providedBy(self._reactor):
            return fail(NotReached(f"{path}: printer device files exist on Linux only"))
        try:
            descriptor, reads = self._open(path)
        except (OSError, ValueError) as error:
            return fail(NotReached(f"{path}: {_reason(error)}"))
        protocol = protocolFactory.buildProtocol(self._address)
        if protocol is None:
            os.close(descriptor)
            return fail(NoProtocol())
        DeviceFileTransport(self._reactor, protocol, self._address, descriptor, reads).begin()
        return succeed(protocol)

    def _open(self, path: str) -> tuple[int, bool]:
        """The descriptor, and whether it can be read."""
        if not self._any_file and not is_printer(path):
            # The same as for one that is absent: callers must not learn which files there are.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        # No controlling terminal: the path may turn out to be a serial port.
        flags = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        reads = True
        try:
            descriptor = self._open_file(path, os.O_RDWR | flags)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.EROFS):
                raise
            descriptor, reads = self._open_file(path, os.O_WRONLY | flags), False
        return descriptor, reads


def _reason(error: Exception) -> str:
    """Why a file did not open, for people."""
    number = getattr(error, "errno", None)
    if number in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        return "no such device"
    if number in (errno.EBUSY, errno.EAGAIN):
        return "another program uses the printer"
    if number in (errno.EACCES, errno.EPERM):
        return "no permission to open the printer"
    if number in (errno.ENODEV, errno.ENXIO, errno.EIO):
        return "the device exists, but its printer is not connected"
    return getattr(error, "strerror", None) or str(error)
