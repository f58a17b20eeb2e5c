"""What a connection asks the system for, it asks once."""

from __future__ import annotations

from typing import Any

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from web.site import BoundedChannel


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
