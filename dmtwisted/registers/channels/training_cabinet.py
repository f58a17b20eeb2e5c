"""Protocol B for training registers: the real channel, the simulated server in the same process, nothing signed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents.documents import Document
from dmtwisted.registers.channels.breaker import CallBreaker
from dmtwisted.registers.channels.cabinet import CabinetChannel, CabinetRegister, Signatures
from dmtwisted.registers.terms import Terms
from protocols.fiscal.signatures import open_unsigned
from protocols.simulators.cabinet_in_process import InProcessCall
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.fiscal_register import Registration


class NoKey:
    """Signs nothing.

    :param valid_to: last day, ``YYYY-MM-DD``, of a key that does not exist; empty is never.
    """

    subject = ""

    def __init__(self, valid_to: str, clock: ServiceClock) -> None:
        self._valid_to, self._clock = valid_to, clock

    async def ready(self) -> None:
        """Nothing is needed."""

    async def sign(self, content: Callable[[], bytes]) -> bytes:
        """The content itself."""
        return content()

    def allow(self, document: Document) -> None:
        """Every document is allowed."""

    def days_left(self) -> int | None:
        """Days until the day that the settings name."""
        if not self._valid_to:
            return None
        return (date.fromisoformat(self._valid_to) - kyiv(self._clock.now()).date()).days

    def describe(self, warn_days: int) -> dict[str, object] | None:
        """There is no key."""
        return None


def training_cabinet(
    fisid: str,
    tin: str,
    patience: float,
    key_valid_to: str,
    terms: Callable[[], Terms],
    files: Path | None,
    clock: ServiceClock,
) -> tuple[CabinetServerSimulator, CabinetChannel]:
    """A simulated server with one register, and the channel to it.

    :param tin: the payer's number. :param patience: seconds for an answer.
    :param files: the server's files without their endings; `None` keeps everything in memory.
    """
    ledger, archive = (None, None) if files is None else (Path(f"{files}.ledger"), Path(f"{files}.documents"))
    server = CabinetServerSimulator(clock, [Registration(int(fisid), tin=tin)], ledger, archive)
    channel = CabinetChannel(
        CabinetRegister(number=fisid, local=1, testing=False, terms=terms, dtype=0),
        NoKey(key_valid_to, clock),
        CallBreaker(InProcessCall(server, clock), clock, 0.0),
        patience,
        Signatures(open_unsigned, lambda sent: sent, lambda: False, remote=False),
        clock,
    )
    return server, channel
