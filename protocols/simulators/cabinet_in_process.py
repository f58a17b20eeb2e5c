"""The simulated cabinet's server without a socket (docs/reference/http-interface.md#simulated-devices)."""

from __future__ import annotations

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from protocols.errors import LineLost, NotReached, Silent
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.fiscal_calls import Ending


class InProcessCall:
    """Calls ``server`` as `protocols.grpc` does the real one."""

    def __init__(self, server: CabinetServerSimulator, clock: IReactorTime) -> None:
        self._server, self._clock = server, clock

    async def __call__(self, method: str, request: bytes, patience: float) -> bytes:
        """The answer to one call.

        :param patience: seconds to wait for it.
        :raises NotReached: when nothing arrived.
        :raises WireError: any other: it may have arrived, and no whole answer came.
        """
        played = self._server.receive(method, request)
        silent = played.ending is Ending.SILENT or played.delay_s > patience
        pause = patience if silent else played.delay_s
        if pause > 0:
            try:
                await deferLater(self._clock, pause)
            except CancelledError:
                raise LineLost("given up") from None
        if played.ending is Ending.UNREACHABLE:
            raise NotReached("connection refused")
        if silent:
            raise Silent(patience)
        if played.answer is None or played.ending is not Ending.WHOLE:
            raise LineLost("the connection broke before the answer was whole")
        return played.answer
