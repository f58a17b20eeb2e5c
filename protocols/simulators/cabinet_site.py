"""The simulated cabinet's server on a gRPC port that also breaks connections."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.task import deferLater

from protocols.fiscal.cabinet.messages import METHODS, path_of
from protocols.grpc.server import Cut, ServerFactory
from protocols.grpc.statuses import CallFailed, Code
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.fiscal_calls import Ending
from protocols.simulators.fiscal_site import HangUp
from protocols.simulators.scenario import Then

_METHODS = {path_of(method): method for method in METHODS}


class CabinetSite(ServerFactory):
    """Answers the calls; it refuses connections while the first rule is `unreachable` for `any`.

    :param behind_tls: whether a TLS factory wraps it, which cannot refuse a connection itself.
    """

    def __init__(self, server: CabinetServerSimulator, clock: IReactorTime, behind_tls: bool = False) -> None:
        super().__init__(clock, self._answer)
        self._server, self._time, self._behind_tls = server, clock, behind_tls

    async def _answer(self, path: str, request: bytes) -> bytes | Cut | None:
        """The outcome of one call, as the scenario says."""
        method = _METHODS.get(path)
        if method is None:
            raise CallFailed(Code.UNIMPLEMENTED, f"there is no {path[:100]}")
        played = self._server.receive(method, request)
        if played.ending is Ending.SILENT:
            return None
        if played.delay_s:
            await deferLater(self._time, played.delay_s)
        if played.answer is None:
            return Cut()
        return Cut(played.answer) if played.ending is Ending.HALF else played.answer

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A connection, unless a rule says that the server is unreachable."""
        rules = self._server.scenario.document()["rules"]
        if rules and rules[0]["then"] == Then.UNREACHABLE and rules[0]["on"] == "any":
            self._server.scenario.take("any")
            return HangUp() if self._behind_tls else None
        return super().buildProtocol(addr)
