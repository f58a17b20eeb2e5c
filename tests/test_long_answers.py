"""Long answers beside the tills: made with rests, sent in pieces, and never faster than the caller reads."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from web.answers import STRETCH, TOGETHER, Flow


class Request:
    """What is sent, and who sends it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.producer: Any = None

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Somebody sends."""
        self.producer = producer

    def unregisterProducer(self) -> None:
        """Nobody sends any more."""
        self.producer = None

    def write(self, data: bytes) -> None:
        """Send it."""
        self.sent.append(data)


class FlowTests(SynchronousTestCase):
    """An answer that is being made."""

    def setUp(self) -> None:
        """Nobody has read anything yet."""
        self.clock, self.request = Clock(), Request()
        self.flow = Flow(self.request, ServiceClock(self.clock))

    def write(self, part: bytes, seconds: float = 0.0) -> Deferred[None]:
        """Make a part of it, which takes so long."""
        self.clock.rightNow += seconds
        return Deferred.fromCoroutine(self.flow.write(part))

    def test_rests(self) -> None:
        """After two milliseconds it rests as long as it was made: tills that waited for that go first."""
        self.successResultOf(self.write(b"a", STRETCH * 0.75))
        written = self.write(b"b", STRETCH * 0.75)
        self.clock.advance(STRETCH * 1.4)
        self.assertNoResult(written)
        self.clock.advance(STRETCH * 0.2)
        self.successResultOf(written)
        self.successResultOf(self.write(b"c", STRETCH * 0.75))
        self.assertEqual(self.request.sent, [b"ab"])

    def test_pieces(self) -> None:
        """Small parts are sent together, large ones soon; at the end nothing is left."""
        self.successResultOf(self.write(b"a"))
        self.successResultOf(self.write(b"b" * TOGETHER))
        self.successResultOf(self.write(b"c"))
        self.assertEqual(self.request.sent, [b"a" + b"b" * TOGETHER])
        self.flow.end()
        self.assertEqual((self.request.sent[1:], self.request.producer), ([b"c"], None))

    def test_slow_caller(self) -> None:
        """A caller that does not read makes it wait, however much time has passed."""
        self.flow.pauseProducing()
        written = self.write(b"a" * TOGETHER, 1.0)
        self.clock.advance(60)
        self.assertNoResult(written)
        self.flow.resumeProducing()
        self.successResultOf(written)
        self.successResultOf(self.write(b"b"))
