"""An SSI terminal as the service uses it: one method for each operation, one connection for each question.

An operation is acknowledged, watched by its status, and its result asked for by our own name for it, the uid
(terminals.md 5.2). A question that is lost on the way is asked again: only the request itself is never repeated.

Answers are `Reply` values: ask them for ``approved``, ``verdict``, ``result``, ``code`` (E00 to E22) and ``waits``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater
from twisted.logger import Logger

from protocols.errors import Garbled, NotReached, Silent, WireError
from protocols.terminals.lines import ignore, notify, open_line
from protocols.terminals.ssi_json.line import LateReply, SsiLine
from protocols.terminals.ssi_json.messages import (
    BUSY,
    IDLE,
    IN_WORK,
    NOT_FOUND,
    WAITS_FOR_SECOND_STEP,
    Reply,
    Request,
    Result,
    Stage,
)
from protocols.terminals.ssi_json.requests import (
    CashBack,
    Echo,
    GetLastReceipt,
    GetLastReport,
    GetLastReportReceipt,
    GetLastResult,
    GetMerchantListDetailed,
    GetResultByUid,
    GetStatus,
    GetTerminalInfo,
    Interrupt,
    Operation,
    PingDevice,
    Purchase,
    Refund,
    Void,
    XReport,
    ZReport,
)

CLOCK_ERROR = timedelta(minutes=2)
"""By how much the terminal's clock may differ from ours."""

StatusListener = Callable[[str], object]


@dataclass(frozen=True)
class Pace:
    """Deadlines and pauses in seconds (terminals.md 5.1, 5.2)."""

    reply: float = 15.0
    """For one reply."""
    ping: float = 3.0
    """For the reply to a ping."""
    gap: float = 0.25
    """From one connection's end to the next one's beginning, at least."""
    poll: float = 0.5
    """Between two questions for the status, at least `gap`."""
    operation: float = 300.0
    """For a whole operation, from its request to its result."""
    grace: float = 5.0
    """For which an idle terminal may not yet have the result of an operation that it acknowledged."""


PACE = Pace()


class Finding(Enum):
    """What the last result proves of an operation that was sent without a uid."""

    OURS = "ours"
    NOTHING = "nothing"
    """It is the one from before the request: nothing happened since."""
    UNKNOWN = "unknown"


def judge(asked: Operation, begun: datetime, ended: datetime, before: Reply, told: Reply) -> Finding:
    """What the last result ``told`` by an idle terminal proves of ``asked`` (terminals.md 3, rule 6).

    :param begun: when it was sent, and :param ended: when it was given up: local times without a zone.
    :param before: the last result from before the request.
    """
    if told.stage is Stage.MISSING:
        return Finding.UNKNOWN
    if before.stage is not Stage.MISSING and told.params == before.params:
        return Finding.NOTHING
    result = told.result
    params = asked.params()
    wanted = params.get("transAmount")
    if (
        result.original_trn_name.lower() == type(asked).__name__.lower()
        and (wanted is None or result.trans_amount == int(wanted))
        and result.at is not None
        and begun - CLOCK_ERROR <= result.at <= ended + CLOCK_ERROR
    ):
        return Finding.OURS
    return Finding.UNKNOWN


class SsiTerminal:
    """One terminal, reached through ``endpoint``.

    Every method raises `protocols.errors` alone: `NotReached` when the request did not leave, so that nothing
    happened; after anything else an operation is in doubt, see `find`.

    :param endpoint: opens a line, TCP port 3000 or a serial port with 9600 8N1.
    :param late: called with replies that answer no question.
    :param two_steps: whether `pay` first has the card read and then goes on.
    :param keeps_line: whether one line serves all requests instead of one line for each.
    """

    log = Logger()

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        pace: Pace = PACE,
        late: LateReply = ignore,
        *,
        two_steps: bool = True,
        keeps_line: bool = False,
    ) -> None:
        self.pace, self.two_steps, self.keeps_line = pace, two_steps, keeps_line
        self._endpoint, self._clock, self._late = endpoint, clock, late
        self._turn = DeferredLock()
        self._line: SsiLine | None = None
        self._free_at = 0.0

    # Operations that move money.

    async def pay(
        self,
        kopecks: int,
        merchant: str,
        uid: str,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Take ``kopecks`` from a card."""
        purchase = Purchase(kopecks, merchant_id=merchant, transaction_uid=uid or None)
        if not self.two_steps:
            return await self.run(purchase, patience=patience, progress=progress)
        began = self._clock.seconds()
        read = await self.begin(purchase, patience, progress)
        if not read.waits:
            return read
        left = (patience or self.pace.operation) - (self._clock.seconds() - began)
        return await self.finish(purchase, patience=max(left, self.pace.reply), progress=progress)

    async def begin(
        self, purchase: Purchase, patience: float | None = None, progress: StatusListener | None = None
    ) -> Reply:
        """The first step: have the card read.

        The reply `waits` and tells the card, or the operation is over already: some firmware knows one step only.
        """
        return await self.run(purchase, "1", patience, progress)

    async def finish(
        self,
        purchase: Purchase,
        discounted: int | None = None,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """The second step of the same ``purchase``, for the sum ``discounted`` if one is given.

        When the terminal refuses it, the reply still tells what became of the first step, where the terminal knows.
        """
        if discounted is not None:
            purchase = replace(purchase, discounted_amount=discounted)
        return await self.run(purchase, "2", patience, progress)

    async def refund(
        self,
        kopecks: int,
        rrn: str,
        merchant: str,
        uid: str,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Give ``kopecks`` back of the purchase with ``rrn``."""
        refund = Refund(kopecks, merchant_id=merchant, rrn=rrn, transaction_uid=uid or None)
        return await self.run(refund, patience=patience, progress=progress)

    async def void(
        self, invoice: str, uid: str, patience: float | None = None, progress: StatusListener | None = None
    ) -> Reply:
        """Cancel an operation of the open batch."""
        return await self.run(Void(invoice, uid or None), patience=patience, progress=progress)

    async def cashback(
        self,
        kopecks: int,
        cash: int,
        merchant: str,
        uid: str,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Take ``kopecks`` for goods and ``cash`` to be handed out."""
        wanted = CashBack(kopecks, cash, merchant_id=merchant, transaction_uid=uid or None)
        return await self.run(wanted, patience=patience, progress=progress)

    async def settle(
        self, merchant: str, patience: float | None = None, progress: StatusListener | None = None
    ) -> Reply:
        """Close the batch; never while an operation is in doubt (terminals.md 3, rule 14)."""
        return await self._report(ZReport(merchant), patience, progress)

    async def totals(
        self, merchant: str, patience: float | None = None, progress: StatusListener | None = None
    ) -> Reply:
        """Print the totals and leave the batch open."""
        return await self._report(XReport(merchant), patience, progress)

    async def run(
        self,
        asked: Operation,
        step: str = "",
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Run any operation to its end, or to the end of its first step.

        The reply tells how it ended; one with a ``code`` and no result is the terminal's refusal to begin.

        :param patience: seconds for the whole of it.
        :param progress: called with each status, ``S00`` to ``S08``.
        """
        wait = patience or self.pace.operation
        deadline = self._clock.seconds() + wait
        before = None if asked.uid else await self._before()
        taken = await self.ask(asked.request(step))
        if not taken.code:
            return await self._ended(asked, before, deadline, wait, progress, step)
        if step != "2":
            return taken
        # The terminal may have gone on, or given up, by itself: its result tells, not the refusal.
        told = await self._ended(asked, before, deadline, wait, progress, "1")
        return taken if told.stage is Stage.MISSING else told

    async def _before(self) -> Reply:
        try:
            return await self.last()
        except WireError as error:
            # Without it the result could not be told from an older one, so the operation does not begin.
            raise NotReached(f"the last result is not told ({error})") from error

    async def _report(self, asked: Operation, patience: float | None, progress: StatusListener | None) -> Reply:
        wait = patience or self.pace.operation
        deadline = self._clock.seconds() + wait
        taken = await self.ask(asked.request())
        if taken.code:
            return taken
        await self._idle(deadline, wait, progress)
        return await self.ask(GetLastReport().request())

    # While an operation runs.

    async def interrupt(self) -> Reply:
        """Wish that the operation stops; E08 when it is too late. It ends by its own result (rule 8)."""
        return await self.ask(Interrupt().request())

    async def status(self) -> str:
        """What the terminal is doing: ``S00`` idle, ``S02`` and ``S03`` waiting for the card, ``S04`` authorising."""
        return (await self.ask(GetStatus().request())).status

    # Questions.

    async def ping(self) -> Reply:
        """Whether the terminal is there."""
        return await self.ask(PingDevice().request(), self.pace.ping)

    async def info(self) -> Reply:
        """Model and serial number, in ``params``."""
        return await self.ask(GetTerminalInfo().request())

    async def merchants(self) -> Reply:
        """The merchants, in ``merchants``."""
        return await self.ask(GetMerchantListDetailed().request())

    async def echo(self, merchant: str, patience: float | None = None) -> Reply:
        """Try the line to the bank: the terminal's own reply, or what its result tells when it made one of it."""
        wait = patience or self.pace.operation
        deadline = self._clock.seconds() + wait
        taken = await self.ask(Echo(merchant).request())
        if taken.code:
            return taken
        await self._idle(deadline, wait, None)
        told = await self.last()
        return told if told.result.original_trn_name.lower() == "echo" else taken

    async def slip(self) -> Reply:
        """The slip of the last operation, in the result's ``receipt``."""
        return await self.ask(GetLastReceipt().request())

    async def report_slip(self) -> Reply:
        """The slip of the last report, in the result's ``receipt``."""
        return await self.ask(GetLastReportReceipt().request())

    # After a lost answer.

    async def last(self) -> Reply:
        """The last operation, whosever it was; without a uid it has to be asked for before each request too."""
        return await self.ask(GetLastResult().request())

    async def find(self, uid: str, patience: float = 60.0) -> Reply:
        """What became of the operation that we called ``uid``.

        The reply tells its result, or has the code E20: the terminal never took it. While it still works at it, that
        is waited for. A reply that `waits` is of an operation whose second step never came.

        :raises Silent: when it did not come to its end in ``patience`` seconds.
        """
        deadline = self._clock.seconds() + patience
        while True:
            status = await self.status()
            if status in (IDLE, WAITS_FOR_SECOND_STEP):
                told = await self._told(uid, status)
                if told.code not in (IN_WORK, BUSY) or told.stage is not Stage.MISSING:
                    return told
            if self._clock.seconds() + self.pace.poll > deadline:
                raise Silent(patience)
            await deferLater(self._clock, self.pace.poll)

    async def ask(self, request: Request, patience: float | None = None) -> Reply:
        """One request and its reply; requests wait for one another."""
        await self._turn.acquire()
        try:
            wait = self._free_at - self._clock.seconds()
            if wait > 0:
                await deferLater(self._clock, wait)
            line = await self._reach()
            try:
                return await line.ask(request, patience or self.pace.reply)
            finally:
                if not self.keeps_line:
                    await line.close()
                self._free_at = self._clock.seconds() + self.pace.gap
        finally:
            self._turn.release()

    async def close(self) -> None:
        """Let go of the line, where one is kept."""
        if self._line is not None:
            await self._line.close()
            self._line = None

    # How an operation is watched.

    async def _ended(
        self,
        asked: Operation,
        before: Reply | None,
        deadline: float,
        wait: float,
        progress: StatusListener | None,
        step: str,
    ) -> Reply:
        idle_since: float | None = None
        while True:
            status = await self._idle(deadline, wait, progress, held=step == "1")
            if idle_since is None:
                idle_since = self._clock.seconds()
            try:
                told = await self._told(asked.uid, status)
            except WireError as error:
                self.log.info("the result is asked for again: {error}", error=error)
                continue
            fresh = before is None or before.stage is Stage.MISSING or told.params != before.params
            patient = self._clock.seconds() - idle_since < self.pace.grace
            if told.stage is Stage.MISSING and told.code in (IN_WORK, BUSY):
                continue
            stale = not fresh or told.code == NOT_FOUND or (step == "2" and told.stage is Stage.FIRST_STEP)
            if stale and patient:
                # The status may be idle still, or again, before the operation's own result is there.
                continue
            if not fresh:
                raise Garbled("the last result is that of another operation")
            return told

    async def _idle(self, deadline: float, wait: float, progress: StatusListener | None, held: bool = False) -> str:
        """Poll until the terminal is idle, or waits for the second step where that ends it; the status then."""
        while True:
            await deferLater(self._clock, max(self.pace.poll, self.pace.gap))
            if self._clock.seconds() >= deadline:
                raise Silent(wait)
            try:
                status = await self.status()
            except WireError as error:
                # A poll without a reply says nothing of the operation, which has its own deadline.
                self.log.info("the status is asked for again: {error}", error=error)
                continue
            if status:
                notify(progress, status)
            if status == IDLE or (held and status == WAITS_FOR_SECOND_STEP):
                return status

    async def _told(self, uid: str, status: str) -> Reply:
        """The result of the operation called ``uid``, or the last one; with the status at which it was asked for."""
        told = await self.ask(GetResultByUid(uid).request()) if uid else await self.last()
        if uid and told.stage is Stage.MISSING and status == WAITS_FOR_SECOND_STEP:
            # Half an operation may not be known by its name yet; the last one is the one that waits.
            last = await self.last()
            told = last if last.stage is Stage.FIRST_STEP and _may_be(last.result, uid) else told
        if uid and told.stage is not Stage.MISSING and not _may_be(told.result, uid):
            self._late(told)
            raise Garbled(f"the result of {told.result.transaction_uid} for {uid}")
        return replace(told, status=told.status or status)

    async def _reach(self) -> SsiLine:
        if self._line is not None and self._line.usable:
            return self._line
        line = await open_line(self._endpoint, lambda: SsiLine(self._clock, self._late))
        self._line = line if self.keeps_line else None
        return line


def _may_be(result: Result, uid: str) -> bool:
    """Whether a result is of the operation called ``uid``; not every terminal repeats the name."""
    return result.transaction_uid.lower() in ("", uid.lower())
