"""The network port of a simulated printer: one connection at a time (docs/reference/printers.md#connections).

A second client waits until the first one is gone, or is refused. When the printer's buffer is full, nothing is read,
so the client's line fills up, as with a real printer.
"""

from __future__ import annotations

from collections import deque

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from protocols.simulators.printer import SimulatedPrinter


class PrinterLine(Protocol):
    """One connection to the printer."""

    def __init__(self, port: PrinterPort) -> None:
        self._port = port
        self._pending = bytearray()
        self._served = self._paused = self._pushing = False

    def connectionMade(self) -> None:
        self._port.come(self)

    def serve(self) -> None:
        """Serve this connection."""
        printer = self._port.printer
        printer.connect()
        self._served = True
        printer.on_answer = self._answer
        printer.on_break = self.break_off
        printer.on_room = self._push
        self._push()

    def dataReceived(self, data: bytes) -> None:
        self._pending += data
        self._push()

    def _push(self) -> None:
        """Pass data to the printer; stop reading when its buffer is full."""
        if self._pushing:
            return
        self._pushing = True
        printer = self._port.printer
        try:
            while self._served and self._pending and printer.room and not printer.deaf:
                part = bytes(self._pending[: printer.room])
                del self._pending[: len(part)]
                printer.feed(part)
        finally:
            self._pushing = False
        self._read(not (self._pending or printer.deaf))

    def _read(self, on: bool) -> None:
        """Read from the line, or stop reading; a line in memory has no flow control."""
        if on == self._paused:
            self._paused = not on
            switch = getattr(self.transport, "resumeProducing" if on else "pauseProducing", None)
            if switch is not None:
                switch()

    def _answer(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)

    def break_off(self) -> None:
        """Abort the connection."""
        transport = self.transport
        assert transport is not None
        getattr(transport, "abortConnection", transport.loseConnection)()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        printer = self._port.printer
        if self._served:
            self._served = False
            # Bytes that the client sent before closing have arrived.
            printer.on_answer = printer.on_break = printer.on_room = None
            if self._pending and printer.room:
                printer.feed(bytes(self._pending))
            printer.hang_up()
        self._port.leave(self)


class PrinterPort(Factory):
    """Creates the connections of one printer.

    :param turns_away: whether it closes a second connection instead of letting it wait.
    """

    noisy = False

    def __init__(self, printer: SimulatedPrinter, turns_away: bool = False) -> None:
        self.printer = printer
        self._turns_away = turns_away
        self._lines: deque[PrinterLine] = deque()

    def buildProtocol(self, addr: IAddress | None) -> PrinterLine | None:
        """A connection, or none when a rule makes the printer unreachable."""
        return PrinterLine(self) if self.printer.takes_call() else None

    def come(self, line: PrinterLine) -> None:
        """``line`` is connected."""
        if self._lines and self._turns_away:
            line.break_off()
            return
        if self._lines and self.printer.deaf:
            # The line does not read, so it would not learn that its client has gone.
            self._lines[0].break_off()
        self._lines.append(line)
        if len(self._lines) == 1:
            line.serve()

    def leave(self, line: PrinterLine) -> None:
        """``line`` is closed; serve the next one."""
        if line not in self._lines:
            return
        first = self._lines[0] is line
        self._lines.remove(line)
        if first and self._lines:
            self._lines[0].serve()
