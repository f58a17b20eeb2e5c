"""A line to a simulator in the same process: no socket, and every byte as over TCP."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import (
    IAddress,
    IConsumer,
    IHalfCloseableProtocol,
    IProtocol,
    IProtocolFactory,
    IPullProducer,
    IPushProducer,
    IReactorTime,
    IStreamClientEndpoint,
    ITransport,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import NotReached

PIECE = 16_384
"""Bytes that arrive in one turn."""


@implementer(IAddress)
class InProcessAddress:
    """The address of a simulator in this process."""


@implementer(ITransport, IConsumer, IPushProducer)
class Pipe:
    """One end of a line in memory; what is written arrives at the other end in the reactor's next turn."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._incoming: deque[bytes] = deque()
        self._due = self._paused = self._ended = self._shut = self._closed = False
        self._puller: IPullProducer | None = None
        self.disconnecting = False
        self.protocol: IProtocol | None = None
        self.other: Pipe | None = None

    # Called by the protocol at this end.

    def write(self, data: bytes) -> None:
        """Send ``data``; a closed line drops it."""
        if data and self.other is not None and not (self.disconnecting or self._shut or self._closed):
            self.other._incoming.append(bytes(data))
            self.other._soon()

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Send all of ``data``."""
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        """Close the line once everything written has arrived."""
        if not self._closed and not self.disconnecting:
            self.disconnecting = True
            self._soon()
            if self.other is not None:
                self.other._ended = True
                self.other._soon()

    def loseWriteConnection(self) -> None:
        """Write no more; the other end gets everything written, and then the end of the line."""
        if self.other is not None and not (self._shut or self._closed):
            self._shut = self.other._ended = True
            self.other._soon()
            if IHalfCloseableProtocol.providedBy(self.protocol):
                half: Any = self.protocol
                self._clock.callLater(0, half.writeConnectionLost)

    def abortConnection(self) -> None:
        """Close the line; what has not arrived is lost."""
        if self.other is not None and not self._closed:
            self.other._incoming.clear()
        self.loseConnection()

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Take what ``producer`` writes; a pull producer is asked in each turn."""
        if not streaming:
            self._puller = producer
            self._soon()

    def unregisterProducer(self) -> None:
        """The producer is done."""
        self._puller = None

    def pauseProducing(self) -> None:
        """Hold back what arrives."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Deliver what arrives, and what was held back."""
        self._paused = False
        self._soon()

    def stopProducing(self) -> None:
        """Close the line."""
        self.loseConnection()

    def getPeer(self) -> IAddress:
        """The simulator's address."""
        return InProcessAddress()

    def getHost(self) -> IAddress:
        """This process."""
        return InProcessAddress()

    # Called in the next turn.

    def _soon(self) -> None:
        if not self._due and not self._closed:
            self._due = True
            self._clock.callLater(0, self._turn)

    def _turn(self) -> None:
        self._due = False
        if self._puller is not None:
            self._puller.resumeProducing()
            self._soon()
        left = PIECE
        while self._incoming and left and not self._paused and not self.disconnecting:
            data = self._incoming.popleft()
            if len(data) > left:
                self._incoming.appendleft(data[left:])
                data = data[:left]
            left -= len(data)
            if self.protocol is not None:
                self.protocol.dataReceived(data)
        if self._incoming and not self._paused:
            # A long job takes many turns: the service has other work in the same process.
            self._soon()
        if self.disconnecting or (self._ended and not self._incoming):
            self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._incoming.clear()
            if self.other is not None:
                self.other._ended = True
                self.other._soon()
            if self.protocol is not None:
                self.protocol.connectionLost(Failure(ConnectionDone()))


@implementer(IStreamClientEndpoint)
class InProcessEndpoint:
    """Opens lines to the simulator that ``device`` builds protocols for; without one the device is not reached."""

    def __init__(self, device: IProtocolFactory, clock: IReactorTime) -> None:
        self._device, self._clock = device, clock

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open a line.

        :raises NotReached: when the simulator turns the caller away; the Deferred fails with it.
        """
        far = self._device.buildProtocol(InProcessAddress())
        near = protocolFactory.buildProtocol(InProcessAddress()) if far is not None else None
        if far is None or near is None:
            return fail(NotReached("the simulator refuses the connection"))
        here, there = Pipe(self._clock), Pipe(self._clock)
        here.other, there.other = there, here
        here.protocol, there.protocol = near, far
        far.makeConnection(there)
        near.makeConnection(here)
        return succeed(near)
