"""Lines in memory: they behave as lines over TCP do."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import (
    IAddress,
    IConsumer,
    IHalfCloseableProtocol,
    IPushProducer,
    IStreamClientEndpoint,
    ITransport,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import directlyProvides
from zope.interface.verify import verifyObject

from protocols.errors import NotReached
from protocols.simulators.in_process import InProcessAddress, InProcessEndpoint, Pipe


class Listener(Protocol):
    """Remembers what came."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.lost: list[Failure] = []

    def dataReceived(self, data: bytes) -> None:
        """Remember it."""
        self.heard.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Remember it."""
        self.lost.append(reason)


class Closed(Factory):
    """Takes no call."""

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """Nothing."""
        return None


class InProcessTests(SynchronousTestCase):
    """`protocols.simulators.in_process`."""

    def setUp(self) -> None:
        """Open a line."""
        self.clock = Clock()
        ends: list[Listener] = []

        def built() -> Listener:
            ends.append(Listener())
            return ends[-1]

        self.endpoint = InProcessEndpoint(Factory.forProtocol(built), self.clock)
        self.successResultOf(self.endpoint.connect(Factory.forProtocol(built)))
        self.far, self.near = ends
        self.there, self.here = (cast(Pipe, end.transport) for end in ends)

    def turn(self) -> None:
        """Let one turn of the reactor happen."""
        self.clock.advance(0)

    def test_interfaces(self) -> None:
        """An endpoint opens lines, and each end is a transport that may be paused."""
        verifyObject(IStreamClientEndpoint, self.endpoint)
        for interface in (ITransport, IConsumer, IPushProducer):
            verifyObject(interface, self.here)
        self.assertIsInstance(self.here.getPeer(), InProcessAddress)
        self.assertIsInstance(self.here.getHost(), InProcessAddress)

    def test_both_ways(self) -> None:
        """What is written arrives in the next turn, in order, and not before."""
        self.here.write(b"a")
        self.here.writeSequence([b"b", b"c"])
        self.there.write(b"d")
        self.assertEqual((self.far.heard, self.near.heard), ([], []))
        self.turn()
        self.assertEqual((self.far.heard, self.near.heard), ([b"a", b"bc"], [b"d"]))

    def test_close(self) -> None:
        """A closed line delivers what was written before, then both ends hear of it once; later writes are lost."""
        self.here.write(b"a")
        self.here.loseConnection()
        self.here.write(b"b")
        self.turn()
        self.turn()
        self.assertEqual(self.far.heard, [b"a"])
        for end in (self.far, self.near):
            self.assertEqual([reason.type for reason in end.lost], [ConnectionDone])
        self.there.write(b"c")
        self.there.loseConnection()
        self.turn()
        self.assertEqual((self.near.heard, len(self.far.lost)), ([], 1))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_half_close(self) -> None:
        """A line that is closed for writing ends when the other end has read all, and that end hears it then."""
        ended: list[str] = []

        class Half(Listener):
            """Hears that its direction has ended."""

            def writeConnectionLost(self) -> None:
                ended.append("write")

            def readConnectionLost(self) -> None:
                ended.append("read")

        half = Half()
        directlyProvides(half, IHalfCloseableProtocol)
        self.here.protocol = half
        self.there.pauseProducing()
        self.here.write(b"a")
        for _ in range(2):
            self.here.loseWriteConnection()
        self.here.write(b"b")
        self.turn()
        self.assertEqual((ended, self.far.heard, self.far.lost), (["write"], [], []))
        self.there.write(b"c")
        self.turn()
        self.assertEqual((half.heard, half.lost), ([b"c"], []))
        self.there.resumeProducing()
        self.clock.pump([0, 0])
        self.assertEqual((self.far.heard, len(self.far.lost), len(half.lost)), ([b"a"], 1, 1))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_abort(self) -> None:
        """An aborted line loses what has not arrived."""
        self.here.write(b"a")
        self.here.abortConnection()
        self.turn()
        self.assertEqual((self.far.heard, len(self.far.lost)), ([], 1))

    def test_pause(self) -> None:
        """A paused end hears nothing, not even the end of the line, until it goes on."""
        self.there.pauseProducing()
        self.here.write(b"a")
        self.here.loseConnection()
        self.turn()
        self.assertEqual((self.far.heard, self.far.lost), ([], []))
        self.there.resumeProducing()
        self.turn()
        self.assertEqual((self.far.heard, len(self.far.lost)), ([b"a"], 1))

    def test_stop(self) -> None:
        """An end that is to stop closes the line."""
        self.here.stopProducing()
        self.turn()
        self.assertEqual(len(self.far.lost), 1)

    def test_pulled(self) -> None:
        """A producer that waits to be asked is asked until it is done; one that does not is left alone."""
        here = self.here
        asked: list[int] = []

        class Numbers:
            def resumeProducing(self) -> None:
                asked.append(len(asked))
                here.write(b"%d" % len(asked))
                if len(asked) == 3:
                    here.unregisterProducer()

        self.here.registerProducer(cast(Any, Numbers()), False)
        self.clock.pump([0] * 5)
        self.assertEqual(self.far.heard, [b"1", b"2", b"3"])
        self.here.registerProducer(cast(Any, Numbers()), True)
        self.clock.pump([0] * 5)
        self.assertEqual(len(asked), 3)

    def test_no_call(self) -> None:
        """A simulator that takes no call is not reached."""
        refused = InProcessEndpoint(Closed(), self.clock).connect(Factory.forProtocol(Listener))
        self.failureResultOf(refused, NotReached)
