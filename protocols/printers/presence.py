"""Is there an ESC/POS printer at the other end? One status query, which prints nothing and moves no paper.

::

    till 10 04 01   printer 0xx1xx10

Many cheap printers never answer over a network (docs/reference/printers.md#status), so silence says nothing.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

QUERY = b"\x10\x04\x01"


def is_status(byte: int) -> bool:
    """Whether ``byte`` has the fixed bits of an answer to `QUERY`."""
    return byte & 0b1001_0011 == 0b0001_0010


class Presence(Protocol):
    """Asks once when the line is open; ``answered`` fires with whether a printer answered, and the line is closed.

    :param patience: seconds for the answer.
    """

    def __init__(self, clock: IReactorTime, patience: float) -> None:
        self.answered: Deferred[bool] = Deferred(lambda _: self._close())
        self._clock, self._patience = clock, patience

    def connectionMade(self) -> None:
        """Ask."""
        assert self.transport is not None
        self.transport.write(QUERY)
        self._late = self._clock.callLater(self._patience, self._tell, False)

    def dataReceived(self, data: bytes) -> None:
        """The answer, or something that is none."""
        self._tell(is_status(data[0]))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The far end hung up without an answer."""
        self._tell(False)

    def _tell(self, answer: bool) -> None:
        if not self.answered.called:
            self._close()
            self.answered.callback(answer)

    def _close(self) -> None:
        if self._late.active():
            self._late.cancel()
        if self.transport is not None:
            self.transport.loseConnection()
