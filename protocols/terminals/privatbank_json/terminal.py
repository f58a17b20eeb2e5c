"""A PrivatBank terminal as the service uses it, over a line that it keeps open.

Answers are `Reply` values, with ``approved``, ``code``, ``busy``, ``unknown_method`` and ``transaction``. The caller
runs one operation at a time; `interrupt`, `correct` and `service` may come in between.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint

from protocols.terminals.lines import ignore
from protocols.terminals.privatbank_json.line import (
    PACE,
    LateReply,
    OpenPurchase,
    Pace,
    PrivatbankLine,
    ProgressListener,
)
from protocols.terminals.privatbank_json.messages import Reply
from protocols.terminals.privatbank_json.opening import OPENING, Opening, greeted_line
from protocols.terminals.privatbank_json.requests import (
    EVERY_MERCHANT,
    GetReceiptInfo,
    PingDevice,
    Primary,
    Purchase,
)


class PrivatbankTerminal:
    """One terminal, reached through ``endpoint``.

    Every method raises `protocols.errors` alone: `NotReached` when the request was not sent, so that nothing
    happened; after anything else an operation that moves money is in doubt, see `recovery.judge`.

    :param endpoint: opens the line, TCP port 2000 or a serial port with 115200 8N1.
    :param late: called with replies without a request, such as that to an earlier operation.
    """

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        pace: Pace = PACE,
        opening: Opening = OPENING,
        late: LateReply = ignore,
    ) -> None:
        self.pace, self.opening = pace, opening
        self._endpoint, self._clock, self._late = endpoint, clock, late
        self._line: PrivatbankLine | None = None
        self._opening = DeferredLock()

    async def read_card(
        self,
        kopecks: int,
        merchant: str = EVERY_MERCHANT,
        patience: float | None = None,
        progress: ProgressListener | None = None,
    ) -> OpenPurchase:
        """Begin a purchase that stops at the card; see `OpenPurchase`, `correct` and `interrupt`."""
        line = await self._reach()
        return line.read_card(Purchase(kopecks, merchant_id=merchant), patience, progress)

    async def run(
        self, request: Primary, patience: float | None = None, progress: ProgressListener | None = None
    ) -> Reply:
        """Run any primary method over an open line."""
        line = await self._reach()
        return await line.ask(request, patience, progress)

    async def correct(self, kopecks: int, discount: int | None = None) -> Reply:
        """Change the sum of a purchase that stopped at the card; its own reply has the true sum."""
        return await (await self._reach()).correct(kopecks, discount)

    async def interrupt(self) -> Reply:
        """Ask the running operation to stop; it ends by its own reply, which may be an approval."""
        return await (await self._reach()).interrupt()

    async def ping(self) -> Reply:
        """Query whether the terminal is free and ready; the answer may be that it is busy."""
        return await self.run(PingDevice(), self.pace.handshake)

    async def service(self, name: str) -> Reply:
        """Send a service message without parameters, such as ``getMerchantList``."""
        return await (await self._reach()).service(name)

    async def last(self, invoice_number: str = "") -> Reply:
        """Query an operation of the open batch, the last one without a number."""
        return await self.run(GetReceiptInfo(invoice_number))

    async def close(self) -> None:
        """Close the line."""
        if self._line is not None:
            await self._line.close()
            self._line = None

    # The line.

    @property
    def is_open(self) -> bool:
        """Whether the line is open."""
        return self._line is not None and self._line.usable

    async def reach(self) -> None:
        """Open the line, unless it is; it stays open.

        :raises WireError: as `greeted_line`.
        """
        await self._reach()

    async def _reach(self) -> PrivatbankLine:
        if self._line is not None and self._line.usable:
            return self._line
        opened: Deferred[PrivatbankLine] = self._opening.run(self._open)
        return await opened

    async def _open(self) -> PrivatbankLine:
        if self._line is None or not self._line.usable:
            self._line = await greeted_line(self._endpoint, self._clock, self.opening, self.pace, self._late)
        return self._line
