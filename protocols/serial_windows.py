"""A serial port on Windows under any of Twisted's reactors.

Twisted's transport for COM ports (`twisted.internet._win32serialport`) reads and writes by events. The rest of it
does not work:

==========================  ==========================================  =================================
Twisted's transport         effect                                      here
==========================  ==========================================  =================================
closes by `addWriter`       iocpreactor has none; `select` takes no     closes after the last write's
                            serial port                                 event
ends by `removeReader`      the same: the port stays open               nothing to remove
`writeSequence`             fills a buffer that is never sent           one write
port unplugged              the error is lost in an event's thread, or  connection lost
                            leaves an open port behind
a write that failed         counts as sent                              connection lost
drops bytes being written   Windows may still read them                 kept until they are sent
its thread for events       waits for a reactor that has stopped: the   a thread that the process does
                            process never ends                          not wait for
==========================  ==========================================  =================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from threading import Event, Thread
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.main import CONNECTION_DONE
from twisted.logger import Logger
from twisted.python.failure import Failure


class PortEvents:
    """Watches the events of one port, each in a thread, for the reactor's thread to act on."""

    log = Logger()

    def __init__(self, reactor: Any, win32event: Any) -> None:
        self._reactor, self._win32event = reactor, win32event
        self._watched: set[Any] = set()

    def addEvent(self, event: Any, line: Any, action: str) -> None:
        """Call the method ``action`` of ``line`` whenever ``event`` is set."""
        self._watched.add(event)
        Thread(target=self._watch, args=(event, line, action), daemon=True).start()

    def removeEvent(self, event: Any) -> None:
        """Stop watching ``event``; its thread ends."""
        self._watched.discard(event)
        self._win32event.SetEvent(event)

    def _watch(self, event: Any, line: Any, action: str) -> None:
        while event in self._watched:
            self._win32event.WaitForSingleObject(event, self._win32event.INFINITE)
            acted = Event()
            self._reactor.callFromThread(self._act, event, line, action, acted)
            # The event may stay set until the method has reset it.
            acted.wait()

    def _act(self, event: Any, line: Any, action: str, acted: Event) -> None:
        try:
            if event in self._watched:
                getattr(line, action)()
        except Exception:
            failure = Failure()
            self.log.failure("a serial line is closed by a fault of its protocol", failure)
            line.connectionLost(failure)
        finally:
            acted.set()


def windows_line(port: Any) -> Any:
    """Twisted's class for COM ports, made to work."""
    # These exist with pywin32 only; each of their calls may raise the error.
    failed: type[Exception] = import_module("pywintypes").error
    win32event, win32file = import_module("win32event"), import_module("win32file")

    class WindowsLine(port):  # type: ignore[misc]
        """A COM port."""

        disconnecting: bool

        def __init__(self, protocol: Any, name: str, reactor: Any) -> None:
            self._later = reactor.callLater
            super().__init__(protocol, name, PortEvents(reactor, win32event))

        def startReading(self) -> None:
            """Nothing to do: its events are always watched."""

        stopReading = startWriting = stopWriting = startReading

        def write(self, data: bytes) -> None:
            """Write ``data`` after pending data."""
            if data and self.connected and not self.disconnecting:
                self.outQueue.append(data)
                if not self.writeInProgress:
                    self._guarded(self._write_next)

        def writeSequence(self, iovec: Iterable[bytes]) -> None:
            """Write all parts at once."""
            self.write(b"".join(iovec))

        def loseConnection(self) -> None:
            """Close after pending data is written."""
            if self.connected and not self.disconnecting:
                self.disconnecting = True
                if not self.writeInProgress:
                    self._later(0, self._end, CONNECTION_DONE)

        def serialReadEvent(self) -> None:
            """Data has arrived."""
            self._guarded(super().serialReadEvent)

        def serialWriteEvent(self) -> None:
            """A write is finished."""
            self._guarded(self._written)

        def _finishPortSetup(self) -> None:
            self._guarded(super()._finishPortSetup)

        def _write_next(self) -> None:
            self.writeInProgress = bool(self.outQueue)
            if self.writeInProgress:
                win32file.WriteFile(self._serial._port_handle, self.outQueue[0], self._overlappedWrite)
            elif self.disconnecting:
                self._end(CONNECTION_DONE)

        def _written(self) -> None:
            taken = win32file.GetOverlappedResult(self._serial._port_handle, self._overlappedWrite, 0)
            due = len(self.outQueue.pop(0))
            if taken < due:
                self._lost(f"the port took {taken} of {due} bytes")
            else:
                self._write_next()

        def _guarded(self, work: Callable[[], None]) -> None:
            # An event may still come from its thread after the port was closed.
            if self.disconnected:
                return
            try:
                work()
            except failed as error:
                self._lost(f"{getattr(error, 'strerror', error)} ({getattr(error, 'winerror', '')})")

        def _lost(self, why: str) -> None:
            self._later(0, self._end, Failure(ConnectionLost(why)))

        def _end(self, why: Any) -> None:
            if not self.disconnected:
                self.connectionLost(why if isinstance(why, Failure) else Failure(why))

    return WindowsLine
