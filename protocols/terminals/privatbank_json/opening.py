"""How a connection to a PrivatBank terminal is opened (docs/reference/privatbank-json.md#line).

The reference sequence is: connect, ping, disconnect, a pause, connect, identify, disconnect, connect and stay. A
terminal has one client only and may still hold the line of the one before, so after silence the whole sequence is
repeated (docs/reference/terminals.md#rule-13).
"""

from __future__ import annotations

from dataclasses import dataclass

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater

from protocols.errors import LineLost, NotReached, Silent, WireError
from protocols.terminals.lines import open_line
from protocols.terminals.privatbank_json.line import LateReply, Pace, PrivatbankLine
from protocols.terminals.privatbank_json.messages import Reply


@dataclass(frozen=True)
class Opening:
    """How to open the line, as far as models differ."""

    thorough: bool = True
    """The whole reference sequence; otherwise one connection with a ping, which is enough for many models."""
    tries: int = 3
    """How often the sequence is tried."""
    pause: float = 1.0
    """Seconds between two connections; 3 to 5 with Verifone."""


OPENING = Opening()


async def greeted_line(
    endpoint: IStreamClientEndpoint, clock: IReactorTime, opening: Opening, pace: Pace, late: LateReply
) -> PrivatbankLine:
    """A line to a terminal that answered; it may still be busy.

    :raises NotReached: when no connection was made.
    :raises Silent: when the terminal took the connection and did not answer: another program may use it.
    :raises Garbled: when the peer speaks another protocol, with its first bytes.
    :raises LineLost: when the terminal closed the line at the last try too.
    """
    begun = False
    for attempt in range(1, opening.tries + 1):
        try:
            return await _begin(endpoint, clock, opening, pace, late)
        except (Silent, LineLost):
            begun = True
            if attempt == opening.tries:
                raise
        except NotReached:
            # A terminal that took the first connection may be slow to accept the next.
            if not begun or attempt == opening.tries:
                raise
        await deferLater(clock, opening.pause)
    raise NotReached("no try was allowed")


async def _begin(
    endpoint: IStreamClientEndpoint, clock: IReactorTime, opening: Opening, pace: Pace, late: LateReply
) -> PrivatbankLine:
    def build() -> PrivatbankLine:
        return PrivatbankLine(clock, pace, late)

    line = await open_line(endpoint, build)
    await _or_close(line, line.handshake())
    if not opening.thorough:
        return line
    await line.close()
    await deferLater(clock, opening.pause)
    line = await open_line(endpoint, build)
    await _or_close(line, line.service("identify"))
    await line.close()
    return await open_line(endpoint, build)


async def _or_close(line: PrivatbankLine, answer: Deferred[Reply]) -> Reply:
    """The answer; without one the line is closed, because the terminal serves one client only."""
    try:
        return await answer
    except WireError:
        await line.close()
        raise
