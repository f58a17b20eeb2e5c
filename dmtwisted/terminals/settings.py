"""The settings that every real terminal has: the line to it, and how long it may take (design 10)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from twisted.internet.interfaces import IStreamClientEndpoint

from dmtwisted.devices.drivers import BadSettings
from dmtwisted.results import Refused, Res
from protocols.errors import NotReached, WireError

DEFAULT_WAIT = 300.0
"""Seconds that a terminal has for an operation (specification 4.7, 8)."""


class TerminalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a terminal is and how patient to be with it."""

    interface: Annotated[Literal["tcp", "serial"], Meta(description="The line: network or COM port")] = "tcp"
    host: Annotated[str, Meta(description="Address of the terminal")] = ""
    port: Annotated[int, Meta(ge=0, le=65535, description="TCP port; 0 is the protocol's usual one")] = 0
    serial_port: Annotated[str, Meta(description="COM3, /dev/ttyACM0")] = ""
    baudrate: Annotated[int, Meta(ge=0, description="Speed of the COM port; 0 is the protocol's usual one")] = 0
    wait_s: Annotated[
        float, Meta(ge=5, le=3600, description="Seconds that an operation may take, the customer included")
    ] = DEFAULT_WAIT
    merchant: Annotated[
        str, Meta(description="Merchant inside the terminal for requests that name none; empty is the usual one")
    ] = ""

    def __post_init__(self) -> None:
        """See that the members say where the terminal is.

        :raises BadSettings: with the path of the one that is missing.
        """
        needed = "host" if self.interface == "tcp" else "serial_port"
        if not getattr(self, needed):
            raise BadSettings(f"settings.{needed}", f"interface {self.interface} needs it")

    @property
    def place(self) -> str:
        """Where the terminal is, for messages."""
        return f"{self.host}:{self.port}" if self.interface == "tcp" else self.serial_port


def endpoint_of(
    settings: TerminalSettings, reactor: Any, usual_port: int, usual_baudrate: int
) -> IStreamClientEndpoint:
    """What opens lines to the terminal."""
    # Imported only by a shop that has a terminal: a service without one stays small.
    from protocols.serial import SerialEndpoint, SerialSettings, tcp_endpoint

    if settings.interface == "tcp":
        return tcp_endpoint(reactor, settings.host, settings.port or usual_port)
    return SerialEndpoint(reactor, SerialSettings(settings.serial_port, settings.baudrate or usual_baudrate))


class Unreached:
    """What a caller hears when there is no connection at all (terminals.md 2.1).

    :param address: the code for a network address that nobody answers at.
    :param com_port: the code for a COM port that cannot be opened.
    """

    def __init__(self, settings: TerminalSettings, address: Res, com_port: Res) -> None:
        self._settings = settings
        self._address, self._com_port = address, com_port

    def __call__(self, error: WireError) -> Refused:
        """The refusal for ``error``; its words are for people."""
        settings = self._settings
        why = error.reason if isinstance(error, NotReached) else str(error)
        if settings.interface == "serial":
            return Refused(self._com_port, aq_errortxt=why)
        details = (settings.interface, settings.place) if self._address is Res.TERMINAL_UNREACHABLE else ()
        return Refused(self._address, *details, aq_errortxt=why)
