"""What the HTTP clients of devices and of the tax service share: bodies, and one endpoint for all requests."""

from __future__ import annotations

from dataclasses import dataclass

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IConsumer, IStreamClientEndpoint
from twisted.web.client import URI
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer
from zope.interface import implementer


@implementer(IBodyProducer)
class Body:
    """Bytes as the body of a request, written at once."""

    def __init__(self, data: bytes) -> None:
        self._data, self.length = data, len(data)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        """Write them."""
        consumer.write(self._data)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Everything is written already."""

    resumeProducing = stopProducing = pauseProducing


@implementer(IAgentEndpointFactory)
@dataclass(frozen=True)
class OneEndpoint:
    """Sends every request to the same endpoint, whatever its URL."""

    endpoint: IStreamClientEndpoint

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """The endpoint."""
        return self.endpoint
