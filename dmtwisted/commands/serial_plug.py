"""A simulated device on a serial port, which is opened again whenever the device closes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IProtocol, IProtocolFactory, IReactorTime, ITransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

REOPEN = 1.0
"""Seconds after which a serial port that the device closed is opened again."""


class SerialPlug(Factory):
    """Keeps a device on a serial port: a port that it closes is opened again, as if it were switched on again."""

    noisy = False
    log = Logger()

    def __init__(self, clock: IReactorTime, endpoint: Any, device: IProtocolFactory) -> None:
        self._clock, self._endpoint, self._device = clock, endpoint, device

    def plug_in(self) -> Deferred[IProtocol]:
        """Open the port.

        :raises NotReached: when it cannot be opened; the Deferred fails with it.
        """
        opening: Deferred[IProtocol] = self._endpoint.connect(self)
        return opening

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """The device's side of the line; `None` when it accepts no connection now."""
        protocol = self._device.buildProtocol(cast(Any, addr))
        return None if protocol is None else _Plugged(protocol, self.again)

    def again(self) -> None:
        """Open the port after a pause."""
        self._clock.callLater(REOPEN, self._open)

    def _open(self) -> None:
        self.plug_in().addErrback(self._not_open)

    def _not_open(self, reason: Failure) -> None:
        self.log.info("cannot open the serial port: {reason}", reason=reason.getErrorMessage())
        self.again()


class _Plugged(Protocol):
    """Passes a line on to the device, and reports its end to the plug."""

    def __init__(self, protocol: IProtocol, ended: Callable[[], None]) -> None:
        self._protocol, self._ended = protocol, ended

    def makeConnection(self, transport: ITransport) -> None:
        super().makeConnection(transport)
        self._protocol.makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        self._protocol.dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._protocol.connectionLost(reason)
        self._ended()
