"""A serial port of Windows under any of Twisted's reactors.

Twisted's transport for COM ports (`twisted.internet._win32serialport`) reads and writes by events, which every
reactor of Windows knows. It inherits the rest from a class for sockets, and that rest does not work here:

=====================  ==========================================  ==================================
what it does           what comes of it                            here
=====================  ==========================================  ==================================
closes by `addWriter`  the reactor of completion ports has none;   closed after the last byte's event
                       `select` takes no serial port
ends by `removeReader` the same: the port stays open               nothing is to be removed
writes a sequence      into a buffer that nobody empties           one write
port unplugged         the error ends a thread's event, unheard    the line is lost
=====================  ==========================================  ==================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.main import CONNECTION_DONE
from twisted.python.failure import Failure


def windows_line(port: Any) -> Any:
    """Twisted's class for COM ports, with an end that works."""
    # Only where pywin32 is; every call of it may raise this.
    failed: type[Exception] = import_module("pywintypes").error

    class WindowsLine(port):  # type: ignore[misc]
        """A COM port."""

        disconnecting: bool

        def startReading(self) -> None:
            """Its events are always watched."""

        stopReading = startWriting = stopWriting = startReading

        def write(self, data: bytes) -> None:
            """Write ``data`` when what waits is written."""
            if self.connected and not self.disconnecting:
                self._guarded(super().write, data)

        def writeSequence(self, iovec: Iterable[bytes]) -> None:
            """Write all of it."""
            self.write(b"".join(iovec))

        def loseConnection(self) -> None:
            """Close when what waits is written."""
            if self.connected and not self.disconnecting:
                self.disconnecting = True
                if not self.writeInProgress:
                    self.reactor.callLater(0, self._end, CONNECTION_DONE)

        def serialReadEvent(self) -> None:
            """Something has come."""
            self._guarded(super().serialReadEvent)

        def serialWriteEvent(self) -> None:
            """A write is done."""
            self._guarded(super().serialWriteEvent)
            if self.disconnecting and not self.writeInProgress:
                self._end(CONNECTION_DONE)

        def _guarded(self, work: Callable[..., None], *given: Any) -> None:
            # An event may have been on its way from its thread when the port was closed.
            if self.disconnected:
                return
            try:
                work(*given)
            except failed as error:
                self.reactor.callLater(0, self._end, Failure(ConnectionLost(str(error))))

        def _end(self, why: Any) -> None:
            if not self.disconnected:
                self.connectionLost(why if isinstance(why, Failure) else Failure(why))

    return WindowsLine
