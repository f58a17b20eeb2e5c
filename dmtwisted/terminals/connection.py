"""The connection to a terminal, and the refusal when there is none."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IStreamClientEndpoint

from dmtwisted.results import Refused, Res
from dmtwisted.terminals.settings import TerminalSettings
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError
from protocols.serial import SerialEndpoint, SerialSettings, TcpEndpoint


def endpoint_of(
    settings: TerminalSettings, reactor: Any, usual_port: int, usual_baudrate: int
) -> IStreamClientEndpoint:
    """The endpoint that opens lines to the terminal."""
    if settings.interface == "tcp":
        return TcpEndpoint(reactor, settings.host, settings.port or usual_port)
    return SerialEndpoint(reactor, SerialSettings(settings.serial_port, settings.baudrate or usual_baudrate))


class Unreached:
    """Makes the refusal when there is no connection at all (docs/reference/terminals.md#error-mapping).

    :param address: the result for a network address that does not answer.
    :param com_port: the result for a COM port that cannot be opened.
    """

    def __init__(
        self,
        settings: TerminalSettings,
        address: Res = Res.TERMINAL_UNREACHABLE,
        com_port: Res = Res.COM_PORT_ERROR,
    ) -> None:
        self._settings = settings
        self._address, self._com_port = address, com_port

    def __call__(self, error: WireError) -> Refused:
        """The refusal for ``error``; its words are for people."""
        settings = self._settings
        why = error.reason if isinstance(error, NotReached) else str(error)
        if settings.interface == "serial":
            return Refused(self._com_port, aq_errortxt=wording(why))
        details = (settings.interface, settings.place) if self._address is Res.TERMINAL_UNREACHABLE else ()
        return Refused(self._address, *details, aq_errortxt=wording(why))
