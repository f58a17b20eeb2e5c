"""x"""
from __future__ import annotations
from typing import Any, ClassVar, cast
from twisted.internet.protocol import Protocol, connectionDone
from twisted.web.client import Agent, URI, HTTPConnectionPool
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer
from dmtwisted.clock import ServiceClock
from dmtwisted.results import Res
from dmtwisted.terminals.drivers.nexo import NexoSettings
from dmtwisted.terminals.settings import Unreached
from dmtwisted.terminals.nexo import NexoDriver
from protocols.simulators.nexo import NexoDevice
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises

@implementer(IAgentEndpointFactory)
class OneEndpoint:
    """Leads every request to one simulator."""

    def __init__(self, endpoint: Any) -> None:
        self._endpoint = endpoint

    def endpointForURI(self, uri: URI) -> Any:
        """The simulator, whatever the address."""
        return self._endpoint

class Wrapped(Protocol):
    """An HTTP channel whose methods a test may replace."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def connectionMade(self) -> None:
        self._channel.makeConnection(self.transport)

    def dataReceived(self, data: bytes) -> None:
        self._channel.dataReceived(data)

    def connectionLost(self, reason: Any = connectionDone) -> None:
        self._channel.connectionLost(reason)

class Wrapping:
    def __init__(self, site):
        self.site = site
    def buildProtocol(self, addr):
        p = self.site.buildProtocol(addr)
        return None if p is None else Wrapped(p)

CA = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"

class NexoDesk(DeskCase):
    """A desk."""

    unreached = 5028
    settings: ClassVar[dict[str, Any]] = {}

    def device(self) -> Any:
        return Wrapping(NexoDevice(self.terminal, self.clock, "V400m-1").site())

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Any:
        settings = NexoSettings(host="192.0.2.1", poi_id="V400m-1", ca=CA, wait_s=WAIT, **self.settings)
        unreached = Unreached(settings, Res.TERMINAL_UNREACHABLE, Res.COM_PORT_ERROR)
        pool = HTTPConnectionPool(cast(Any, self.clock), persistent=False)
        class S:
            pass
        ep = endpoint
        @implementer(IAgentEndpointFactory)
        class F:
            def endpointForURI(s, uri):
                return ep
        agent = Agent.usingEndpointFactory(cast(Any, self.clock), F(), pool)
        d= NexoDriver(settings, agent, self.clock, unreached)
        import dataclasses
        d.terminal.settings = dataclasses.replace(d.terminal.settings, url="http://terminal/nexo")
        return d


class FaultTests(NexoDesk, FaultPromises):
    """x"""

class CardTests(NexoDesk, CardPromises):
    """x"""
    card="516875****7414"


del FaultPromises, CardPromises
