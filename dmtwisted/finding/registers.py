"""Which hardware register is at a place: all protocols that can be recognised. Imported by the first such search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocols.registers.datecs.finding import PROBE as DATECS
from protocols.registers.finding import Found, attempts, find_out, find_out_there
from protocols.registers.ics.finding import PROBE as ICS
from protocols.registers.maria.finding import PROBE as MARIA
from protocols.serial import TcpEndpoint

PROBES = (DATECS, ICS, MARIA)


def steps(serial_port: str) -> int:
    """How many attempts `found_at` makes at most."""
    return attempts(PROBES) if serial_port else len(PROBES)


async def found_at(reactor: Any, host: str, port: int, serial_port: str, tried: Callable[[], object]) -> Found | None:
    """The register at a serial port, or else at an address.

    :param tried: called after each attempt.
    :raises NotReached: the line cannot be opened.
    """
    if serial_port:
        return await find_out(reactor, serial_port, PROBES, tried)
    return await find_out_there(reactor, TcpEndpoint(reactor, host, port), PROBES, tried)
