"""An SSI terminal as the service uses it: one method for each operation, one connection for each request.

An operation is acknowledged, watched by its status, and its result queried by our own id, the uid
(docs/reference/ssi-json.md#operations). A lost query is repeated; the request of the operation never is.

Answers are `Reply` values with ``approved``, ``stage``, ``result``, ``code`` (E00 to E22) and ``waits``.
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
from protocols.terminals.ssi_json import requests
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

CLOCK_ERROR = timedelta(minutes=2)
"""By how much the terminal's clock may differ from ours."""

StatusListener = Callable[[str], object]


@dataclass(frozen=True)
class Pace:
    """Deadlines and pauses in seconds (docs/reference/ssi-json.md#timings)."""

    reply: float = 15.0
    """For one reply."""
    ping: float = 3.0
    """For the reply to a ping."""
    gap: float = 0.25
    """Between two connections, at least."""
    poll: float = 0.5
    """Between two queries of the status, at least `gap`."""
    operation: float = 300.0
    """For a whole operation, from its request to its result."""
    grace: float = 5.0
    """For which an idle terminal may not have the result of an acknowledged operation yet."""


PACE = Pace()


class Finding(Enum):
    """What the last result proves about an operation without a uid."""

    OURS = "ours"
    NOTHING = "nothing"
    """It is the one from before the request: nothing happened."""
    UNKNOWN = "unknown"


def judge(asked: requests.Operation, begun: datetime, ended: datetime, before: Reply, last: Reply) -> Finding:
    """What the ``last`` result of an idle terminal proves about ``asked`` (docs/reference/terminals.md#rule-6).

    :param begun: when it was sent, and :param ended: when the wait for it ended: local times without a zone.
    :param before: the last result from before the request.
    """
    if last.stage is Stage.MISSING:
        return Finding.UNKNOWN
    if before.stage is not Stage.MISSING and last.params == before.params:
        return Finding.NOTHING
    result = last.result
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

    Every method raises `protocols.errors` alone: `NotReached` when the request was not sent, so that nothing
    happened; after anything else an operation is in doubt, see `find`.

    :param endpoint: opens a line, TCP port 3000 or a serial port with 9600 8N1.
    :param late: called with replies without a request.
    :param keeps_line: whether one line serves all requests instead of one line for each.
    """

    log = Logger()

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        pace: Pace = PACE,
        late: LateReply = ignore,
        keeps_line: bool = False,
    ) -> None:
        self.pace, self.keeps_line = pace, keeps_line
        self._endpoint, self._clock, self._late = endpoint, clock, late
        self._turn = DeferredLock()
        self._line: SsiLine | None = None
        self._free_at = 0.0

    async def begin(
        self, purchase: requests.Purchase, patience: float | None = None, progress: StatusListener | None = None
    ) -> Reply:
        """The first step: have the card read.

        The reply `waits` and has the card, or the operation is over already: some firmware has one step only.
        """
        return await self.run(purchase, "1", patience, progress)

    async def finish(
        self,
        purchase: requests.Purchase,
        discounted: int | None = None,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """The second step of the same ``purchase``, for the sum ``discounted`` if one is given.

        When the terminal refuses it, the reply is the result of the first step, if the terminal has one.
        """
        if discounted is not None:
            purchase = replace(purchase, discounted_amount=discounted)
        return await self.run(purchase, "2", patience, progress)

    async def run(
        self,
        asked: requests.Operation,
        step: str = "",
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Run any operation to its end, or to the end of its first step.

        The reply has its result; one with a ``code`` and no result means that the terminal refused to begin.

        :param patience: seconds for the whole operation.
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
        # The terminal may have continued or stopped by itself: its result counts, not the refusal.
        reply = await self._ended(asked, before, deadline, wait, progress, "1")
        return taken if reply.stage is Stage.MISSING else reply

    async def _before(self) -> Reply:
        try:
            return await self.last()
        except WireError as error:
            # Without it the result could not be distinguished from an older one, so the operation does not begin.
            raise NotReached(f"the last result is not available ({error})") from error

    async def report(
        self,
        asked: requests.XReport | requests.ZReport,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Print the totals, or close the batch; never while an operation is in doubt
        (docs/reference/terminals.md#rule-14).
        """
        wait = patience or self.pace.operation
        deadline = self._clock.seconds() + wait
        taken = await self.ask(asked.request())
        if taken.code:
            return taken
        await self._idle(deadline, wait, progress)
        return await self.ask(requests.GetLastReport().request())

    # While an operation runs.

    async def interrupt(self) -> Reply:
        """Ask the operation to stop; E08 when it is too late. Its own result shows how it ended."""
        return await self.ask(requests.Interrupt().request())

    async def status(self) -> str:
        """The terminal's status: ``S00`` idle, ``S02`` and ``S03`` waiting for the card, ``S04`` authorising."""
        return (await self.ask(requests.GetStatus().request())).status

    # Questions.

    async def ping(self) -> Reply:
        """Check that the terminal answers."""
        return await self.ask(requests.PingDevice().request(), self.pace.ping)

    async def merchants(self) -> Reply:
        """The merchants, in ``merchants``."""
        return await self.ask(requests.GetMerchantListDetailed().request())

    async def echo(self, merchant: str, patience: float | None = None) -> Reply:
        """Try the connection to the bank; the reply is the result, if the terminal has one."""
        wait = patience or self.pace.operation
        deadline = self._clock.seconds() + wait
        taken = await self.ask(requests.Echo(merchant).request())
        if taken.code:
            return taken
        await self._idle(deadline, wait, None)
        last = await self.last()
        return last if last.result.original_trn_name.lower() == "echo" else taken

    async def slip(self) -> Reply:
        """The slip of the last operation, in the result's ``receipt``."""
        return await self.ask(requests.GetLastReceipt().request())

    async def report_slip(self) -> Reply:
        """The slip of the last report, in the result's ``receipt``."""
        return await self.ask(requests.GetLastReportReceipt().request())

    # After a lost answer.

    async def last(self) -> Reply:
        """The last operation of any client; without a uid it must also be queried before each request."""
        return await self.ask(requests.GetLastResult().request())

    async def find(self, uid: str, patience: float = 60.0) -> Reply:
        """Wait for the result of the operation with our ``uid``.

        The reply has the result, or the code E20: the terminal never took it. A reply that `waits` is that of an
        operation without its second step.

        :raises Silent: when it did not end in ``patience`` seconds.
        """
        deadline = self._clock.seconds() + patience
        while True:
            status = await self.status()
            if status in (IDLE, WAITS_FOR_SECOND_STEP):
                reply = await self._result(uid, status)
                if reply.code not in (IN_WORK, BUSY) or reply.stage is not Stage.MISSING:
                    return reply
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
        """Close the line, where one is kept."""
        if self._line is not None:
            await self._line.close()
            self._line = None

    # How an operation is watched.

    async def _ended(
        self,
        asked: requests.Operation,
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
                reply = await self._result(asked.uid, status)
            except WireError as error:
                self.log.info("the result is queried again: {error}", error=error)
                continue
            fresh = before is None or before.stage is Stage.MISSING or reply.params != before.params
            patient = self._clock.seconds() - idle_since < self.pace.grace
            if reply.stage is Stage.MISSING and reply.code in (IN_WORK, BUSY):
                continue
            stale = not fresh or reply.code == NOT_FOUND or (step == "2" and reply.stage is Stage.FIRST_STEP)
            if stale and patient:
                # The status may be idle before the operation's own result is there.
                continue
            if not fresh:
                raise Garbled("the last result is that of another operation")
            return reply

    async def _idle(self, deadline: float, wait: float, progress: StatusListener | None, held: bool = False) -> str:
        """Poll until the terminal is idle, or waits for the second step if that ends it; return the status."""
        while True:
            await deferLater(self._clock, max(self.pace.poll, self.pace.gap))
            if self._clock.seconds() >= deadline:
                raise Silent(wait, taken=True)
            try:
                status = await self.status()
            except WireError as error:
                # A failed poll says nothing about the operation, which has its own deadline.
                self.log.info("the status is queried again: {error}", error=error)
                continue
            if status:
                notify(progress, status)
            if status == IDLE or (held and status == WAITS_FOR_SECOND_STEP):
                return status

    async def _result(self, uid: str, status: str) -> Reply:
        """The result of the operation with this ``uid``, or the last one; with the ``status`` before the query."""
        reply = await self.ask(requests.GetResultByUid(uid).request()) if uid else await self.last()
        if uid and reply.stage is Stage.MISSING and status == WAITS_FOR_SECOND_STEP:
            # The terminal may not know the id of half an operation yet; the last one is the one that waits.
            last = await self.last()
            reply = last if last.stage is Stage.FIRST_STEP and _may_be(last.result, uid) else reply
        if uid and reply.stage is not Stage.MISSING and not _may_be(reply.result, uid):
            self._late(reply)
            raise Garbled(f"the result of {reply.result.transaction_uid} for {uid}")
        return replace(reply, status=reply.status or status)

    async def _reach(self) -> SsiLine:
        if self._line is not None and self._line.usable:
            return self._line
        line = await open_line(self._endpoint, lambda: SsiLine(self._clock, self._late))
        self._line = line if self.keeps_line else None
        return line


def _may_be(result: Result, uid: str) -> bool:
    """Whether a result may be that of ``uid``; not every terminal repeats the id."""
    return result.transaction_uid.lower() in ("", uid.lower())
