"""What a connection costs the system: it reads once, and writes in one piece."""

from __future__ import annotations

from typing import Any

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.http import HTTPChannel
from twisted.web.http_headers import Headers

from web.connection import BoundedChannel


class HeadTests(SynchronousTestCase):
    """The head of an answer."""

    def test_as_twisted_writes_it(self) -> None:
        """It is the same as twisted.web's own, with every value of a header, in one piece."""
        headers = Headers({"Server": ["x"], "set-cookie": ["a=1", "b=2"], "content-length": ["3"]})
        told: list[bytes] = []
        for kind, given in ((BoundedChannel, headers), (HTTPChannel, headers), (BoundedChannel, [(b"a", b"1\n2")])):
            channel = kind()
            channel.transport = transport = StringTransport()
            channel.writeHeaders(b"HTTP/1.1", b"200", b"OK", given)
            told.append(transport.value())
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[2], b"HTTP/1.1 200 OK\r\nA: 1 2\r\n\r\n")


class HostTests(SynchronousTestCase):
    """Our own end of a connection."""

    def test_asked_once(self) -> None:
        """The system is asked for it with the first request, not with each."""
        asked: list[int] = []

        class Transport(StringTransport):
            def getHost(self) -> Any:
                asked.append(1)
                return super().getHost()

        channel = BoundedChannel()
        channel.transport = Transport()
        self.assertEqual(channel.getHost(), channel.getHost())
        self.assertEqual(len(asked), 1)
