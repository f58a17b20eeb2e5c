"""The stand of the nexo driver: its HTTP agent on lines in memory, in clear."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import Agent, HTTPConnectionPool

from dmtwisted.conformance.desk import OPERATION, WAIT, FarEnd
from dmtwisted.conformance.line import World
from dmtwisted.devices.driver import Surroundings
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.nexo.driver import NexoDriver
from dmtwisted.terminals.service import TerminalService
from protocols.http import OneEndpoint
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.terminal import Terminal

POI = "V400m-346403161"
"""The simulated terminal."""

NO_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
"""In the place of a certificate: in memory nothing checks it."""


SETTINGS = {"wait_s": WAIT, "poi_id": POI, "ca": NO_CERTIFICATE}


def nexo_driver(settings: Any, endpoint: IStreamClientEndpoint, clock: Any, unreached: Unreached) -> NexoDriver:
    """The driver over lines in clear."""
    pool = HTTPConnectionPool(cast(Any, clock), persistent=False)
    pool.retryAutomatically = False
    agent = Agent.usingEndpointFactory(cast(Any, clock), OneEndpoint(endpoint), pool)
    return NexoDriver(settings, agent, clock, unreached)


def far(world: World) -> FarEnd:
    """The simulated terminal."""
    terminal = Terminal(world, duration=OPERATION, hold=30.0)
    return FarEnd(terminal, NexoDevice(terminal, world, POI).site())


def build(row: DeviceRow, settings: Any, around: Surroundings, _: FarEnd) -> TerminalService:
    """The terminal's service."""
    unreached = Unreached(settings)
    endpoint = TCP4ClientEndpoint(around.reactor, settings.host, 1)
    driver = nexo_driver(settings, endpoint, around.reactor, unreached)
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
