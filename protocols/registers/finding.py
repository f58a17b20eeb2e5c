"""Which register is at the other end of a line, and at which speed: harmless questions, one after another.

Each protocol has a `Probe`. None of them sends anything that prints, registers or changes something.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger

from protocols.errors import WireError
from protocols.serial import SerialEndpoint, SerialSettings
from protocols.terminals.lines import drop, open_line

SPEEDS = (115200, 9600, 19200, 57600, 38400)
"""The speeds of factories first."""

log = Logger()

_Link = TypeVar("_Link", bound=Any)


@dataclass(frozen=True)
class Found:
    """A register that has answered.

    :param protocol: the name of its driver.
    :param baudrate: the speed of the COM port; 0 over a network.
    """

    protocol: str
    model: str = ""
    serial: str = ""
    firmware: str = ""
    baudrate: int = 0


@dataclass(frozen=True)
class Probe:
    """How a protocol is recognised.

    :param line: the settings of a line at a port and a speed.
    :param build: makes the till's end of it.
    :param ask: asks on an open line; fails with `WireError` when nobody speaks this protocol there.
    """

    line: Callable[[str, int], SerialSettings]
    build: Callable[[IReactorTime], Any]
    ask: Callable[[Any], Awaitable[Found]]
    speeds: tuple[int, ...] = SPEEDS


async def find_out(reactor: Any, port: str, probes: Sequence[Probe]) -> Found | None:
    """Which register is at a serial port; `None` when none answers.

    :raises NotReached: the port cannot be opened.
    """
    for speed in SPEEDS:
        for probe in probes:
            if speed in probe.speeds:
                found = await _asked(SerialEndpoint(reactor, probe.line(port, speed)), reactor, probe)
                if found is not None:
                    return replace(found, baudrate=speed)
    return None


async def find_out_there(reactor: Any, endpoint: IStreamClientEndpoint, probes: Sequence[Probe]) -> Found | None:
    """Which register is at a network address, as `find_out`."""
    for probe in probes:
        found = await _asked(endpoint, reactor, probe)
        if found is not None:
            return found
    return None


async def _asked(endpoint: IStreamClientEndpoint, clock: IReactorTime, probe: Probe) -> Found | None:
    link = await open_line(endpoint, lambda: probe.build(clock))
    try:
        return await probe.ask(link)
    except WireError as error:
        log.debug("no such register: {why}", why=error)
        return None
    finally:
        if not link.gone:
            drop(link.transport)
            # A serial port is not opened twice.
            await link.lost
