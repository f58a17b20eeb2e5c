"""A serial port on Windows under any of Twisted's reactors.

Twisted's transport for COM ports (`twisted.internet._win32serialport`) reads and writes by events, which every
reactor on Windows supports. It inherits the rest from a class for sockets, which does not work:

========================  ==========================================  ===================================
Twisted's transport       effect                                      here
========================  ==========================================  ===================================
closes by `addWriter`     iocpreactor has none; `select` takes no     closes after the last write's event
                          serial port
ends by `removeReader`    the same: the port stays open               nothing to remove
`writeSequence`           fills a buffer that is never sent           one write
port unplugged            the error is lost in an event's thread      connection lost
========================  ==========================================  ===================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.main import CONNECTION_DONE
from twisted.python.failure import Failure


def windows_line(port: Any) -> Any:
    """Twisted's class for COM ports with a working close."""
    # Exists with pywin32 only; each of its calls may raise this.
    failed: type[Exception] = import_module("pywintypes").error

    class WindowsLine(port):  # type: ignore[misc]
        """A COM port."""

        disconnecting: bool

        def startReading(self) -> None:
            """Nothing to do: its events are always watched."""

        stopReading = startWriting = stopWriting = startReading

        def write(self, data: bytes) -> None:
            """Write ``data`` after pending data."""
            if self.connected and not self.disconnecting:
                self._guarded(super().write, data)

        def writeSequence(self, iovec: Iterable[bytes]) -> None:
            """Write all parts at once."""
            self.write(b"".join(iovec))

        def loseConnection(self) -> None:
            """Close after pending data is written."""
            if self.connected and not self.disconnecting:
                self.disconnecting = True
                if not self.writeInProgress:
                    self.reactor.callLater(0, self._end, CONNECTION_DONE)

        def serialReadEvent(self) -> None:
            """Data has arrived."""
            self._guarded(super().serialReadEvent)

        def serialWriteEvent(self) -> None:
            """A write is finished."""
            self._guarded(super().serialWriteEvent)
            if self.disconnecting and not self.writeInProgress:
                self._end(CONNECTION_DONE)

        def _guarded(self, work: Callable[..., None], *given: Any) -> None:
            # An event may still come from its thread after the port was closed.
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
