"""The counter terminal in the service's words."""

from __future__ import annotations

from typing import Any

from tiny.driver import CAPABILITIES, PORT, SERVICES, TinySettings
from tiny.wire import Reply, TinyLine
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import TerminalDriver
from dmtwisted.terminals.codes import bank_refusal
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import Approved, Declined, ITerminal, NeverStarted, Undecided
from dmtwisted.terminals.service import TerminalService
from protocols.errors import NotReached, WireError

QUICK = 5.0
"""Seconds for an answer that needs no customer."""


@implementer(ITerminal)
class TinyTerminal(TerminalDriver[TinySettings]):
    """One counter terminal."""

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "counter terminal"

    def __init__(self, settings: TinySettings, endpoint: Any, clock: Any, unreached: Unreached) -> None:
        super().__init__(settings, unreached)
        self._endpoint, self._clock = endpoint, clock
        self._line: TinyLine | None = None

    # One payment

    async def snapshot(self, order: Any) -> bytes:
        """See that a terminal is there: whatever goes wrong now, nothing was sent."""
        await self._exchange("PING", "", QUICK)
        return b"1"

    async def perform(self, order: Any, snapshot: bytes, keep: Any) -> Approved | Declined:
        """Send the payment, once; the sum goes in kopecks."""
        reply = await self._exchange(f"PAY {order.uid} {order.wanted}", order.uid, self.wait_s)
        if reply.word == "BUSY":
            raise Refused(Res.TERMINAL_BUSY)
        verdict = self._verdict(order, reply)
        if verdict is None:
            raise WireError(f"{reply.word} is no answer to a payment")
        return verdict

    async def find_out(self, order: Any, snapshot: bytes, keep: Any, patience: float) -> Any:
        """Ask by the payment's own name; while the customer is at it, ask again."""
        end = self._clock.seconds() + patience
        while True:
            reply = await self._exchange(f"ASK {order.uid}", order.uid, QUICK)
            if reply.word == "NONE":
                return NeverStarted()
            if reply.word == "BUSY":
                raise Refused(Res.TERMINAL_BUSY)
            if reply.word != "WAIT":
                return self._verdict(order, reply) or Undecided(f"it says {reply.word}")
            if self._clock.seconds() >= end:
                return Undecided("the customer is still paying")
            await self._pause(1.0)

    def _verdict(self, order: Any, reply: Reply) -> Approved | Declined | None:
        if reply.word == "NO":
            code = reply.members[1]
            return bank_refusal(order, code.rjust(4, "0"), f"bank: {code}")
        if reply.word != "OK":
            return None
        _, kopecks, rrn, code, card = reply.members
        # The terminal's own sum: the service compares it with the one that was asked for.
        return Approved(sum=int(kopecks), text="APPROVED", cardmask=card, auth_code=code, rrn=rrn, cancelid=rrn)

    # The line

    async def _exchange(self, question: str, name: str, patience: float) -> Reply:
        """One question on a line of its own, and the reply that carries ``name``.

        :raises Refused: when there is no line, so nothing was sent.
        :raises WireError: when it was sent and not answered.
        """
        with self._refused(NotReached):
            line = await self._endpoint.connect(_Lines(self._clock))
        self._line = line
        try:
            return await line.ask(question, name, patience)
        finally:
            self._line = None
            line.drop()

    def _pause(self, seconds: float) -> Deferred[None]:
        over: Deferred[None] = Deferred(lambda _: call.cancel())
        call = self._clock.callLater(seconds, over.callback, None)
        return over

    # The rest of the interface

    async def check(self) -> None:
        """Ask whether it is there."""
        with self._refused():
            await self._exchange("PING", "", QUICK)

    def close(self) -> None:
        """Let go of the line."""
        if self._line is not None:
            self._line.drop()


class _Lines(Factory):
    """Makes lines."""

    noisy = False

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def buildProtocol(self, addr: object) -> TinyLine:
        """One line."""
        return TinyLine(self._clock)


def build(row: DeviceRow, settings: TinySettings, around: Surroundings) -> TerminalService:
    """The service of a counter terminal."""
    endpoint = endpoint_of(settings, around.reactor, PORT, 9600)
    driver = TinyTerminal(settings, endpoint, around.clock, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
