"""The line to a machine, as the settings describe it."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

from twisted.internet.interfaces import IStreamClientEndpoint

from dmtwisted.registers.wired.settings import WiredSettings
from protocols.serial import SerialEndpoint, SerialSettings, TcpEndpoint


def endpoint_of(settings: WiredSettings, reactor: Any, **line: Any) -> IStreamClientEndpoint:
    """What opens lines to the machine.

    :param line: members of `SerialSettings` besides port and speed.
    """
    if settings.interface == "tcp":
        return TcpEndpoint(reactor, settings.host, settings.port or settings.usual_port)
    speed = settings.baudrate or settings.usual_baudrate
    return SerialEndpoint(reactor, SerialSettings(settings.serial_port, speed, **line))


class _Patience(Protocol):
    def doubled(self) -> Self: ...


_Waits = TypeVar("_Waits", bound=_Patience)


def patience_of(settings: WiredSettings, patience: _Waits) -> _Waits:
    """How long a line waits: twice as long behind a converter from TCP to a serial line."""
    return patience.doubled() if settings.interface == "tcp" else patience
