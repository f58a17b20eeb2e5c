"""The time of the service: injected everywhere, movable in training mode, shown as Kyiv time.

Fiscal documents carry local time, so the zone is Kyiv whatever zone the machine has.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from twisted.internet.interfaces import IDelayedCall, IReactorThreads, IReactorTime
from twisted.internet.threads import deferToThreadPool
from zope.interface import implementer

from dmtwisted.results import Text

T = TypeVar("T")

KYIV = ZoneInfo("Europe/Kyiv")

SPAN_EXPECTED = Text("очікується початок YYYYMMDDHHMMSS", "the beginning of YYYYMMDDHHMMSS is expected")
"""What is wrong with a text that `span` does not take."""


def steady_timers(reactor: Any) -> None:
    """Let the timers of a reactor use a monotonic clock; the time of day is its ``wall`` from then on.

    A reactor by itself uses the time of day. If the clock were set back by an hour, a time-out of five seconds would
    come an hour late and keep a register busy for so long; set forward, every time-out would come at once.
    """
    if not hasattr(reactor, "wall"):
        monotonic, began = time.monotonic, time.time() - time.monotonic()
        reactor.wall = time.time
        reactor.seconds = lambda: began + monotonic()


def wall(reactor: Any) -> float:
    """The time of day, in seconds since 1970."""
    return float(getattr(reactor, "wall", reactor.seconds)())


@implementer(IReactorTime)
class ServiceClock:
    """A reactor's time of day, moved by ``offset`` seconds in training mode.

    Only the time that documents, limits and sessions see is moved; timers are not.
    """

    def __init__(self, reactor: IReactorTime, offset: float = 0.0) -> None:
        self.reactor, self.offset = reactor, offset
        self._wall: Callable[[], float] = getattr(reactor, "wall", reactor.seconds)
        self.steady: Callable[[], float] = reactor.seconds
        """Seconds of a monotonic clock, for measuring; its zero means nothing."""
        self.crew: Callable[..., Awaitable[Any]] | None = None
        """Calls a function in a child process; set by the core, which owns these processes."""

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> IDelayedCall:
        """As the reactor does."""
        return self.reactor.callLater(delay, callable, *args, **kwargs)

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """As the reactor does."""
        return self.reactor.getDelayedCalls()

    def seconds(self) -> float:
        """Seconds since 1970, with the offset."""
        return self._wall() + self.offset

    def ahead(self) -> float:
        """Seconds that the machine's time of day is ahead of `steady`.

        The number changes only when the clock is set or the machine sleeps.
        """
        return self._wall() - self.steady()

    async def aside(self, work: Callable[..., T], *arguments: object) -> T:
        """Call ``work`` in a thread, because it would block the reactor.

        A reactor without threads, as in tests, calls it at once.
        """
        if not IReactorThreads.providedBy(self.reactor):
            return work(*arguments)
        threads: IReactorThreads = self.reactor
        return await deferToThreadPool(threads, threads.getThreadPool(), work, *arguments)

    async def apart(self, work: Callable[..., T], *arguments: object) -> T:
        """Call ``work`` in a child process (`dmtwisted.system.crew`), because its length is a caller's choice.

        Without a crew, as in tests, it is called at once.
        :raises Exception: what ``work`` raises, or why it has no result.
        """
        if self.crew is None:
            return work(*arguments)
        done: T = await self.crew(work, *arguments)
        return done

    def now(self) -> int:
        """Milliseconds since 1970, with the offset."""
        return int((self._wall() + self.offset) * 1000)


def kyiv(at: int) -> datetime:
    """``at``, in milliseconds since 1970, as time in Kyiv."""
    try:
        return datetime.fromtimestamp(at // 1000, KYIV)
    except OSError:
        # Windows knows moments from 1970 to 3000 only.
        return (_EPOCH + timedelta(seconds=at // 1000)).astimezone(KYIV)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def day_of(at: int) -> str:
    """The day of a moment in Kyiv, ``yyyy-MM-dd``."""
    return f"{kyiv(at):%Y-%m-%d}"


def span(stamp: str) -> tuple[int, int]:
    """The first and the last moment of a stamp, which is a prefix of ``yyyyMMddHHmmss``.

    :raises ValueError: when it is not.
    """
    if not stamp.isascii() or not stamp.isdigit() or len(stamp) not in (4, 6, 8, 10, 12, 14):
        raise ValueError(SPAN_EXPECTED.en)
    given = len(stamp)
    first = datetime.strptime(stamp + "00000101000000"[given:], "%Y%m%d%H%M%S").replace(tzinfo=KYIV)
    try:
        if given == 4:
            after = first.replace(year=first.year + 1)
        elif given == 6:
            after = (first + timedelta(days=32)).replace(day=1)
        else:
            step = {8: timedelta(days=1), 10: timedelta(hours=1), 12: timedelta(minutes=1), 14: timedelta(seconds=1)}
            after = first + step[given]
        last = int(after.timestamp() * 1000) - 1
    except (OverflowError, ValueError):
        last = _LAST
    return max(int(first.timestamp() * 1000), _FIRST), max(last, _FIRST)


_FIRST = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1000
_LAST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=KYIV).timestamp()) * 1000 + 999
"""The first and the last moment that the calendar has."""


def stamp14(at: int) -> str:
    """``yyyyMMddHHmmss`` of a moment, as in ``info.dt``."""
    return _second(at // 1000)[0]


def stamp17(at: int) -> str:
    """``yyyyMMddHHmmssSSS`` of a moment, as in the root's ``dt`` (specification 2.3)."""
    return f"{_second(at // 1000)[0]}{at % 1000:03d}"


def readable(at: int) -> str:
    """``dd-MM-yyyy HH:mm:ss`` of a moment, as in ``printinfo.dt``."""
    return _second(at // 1000)[1]


@lru_cache(maxsize=64)
def _second(second: int) -> tuple[str, str]:
    """Both forms of a second since 1970, cached for all that happens within it."""
    moment = kyiv(second * 1000)
    return f"{moment:%Y%m%d%H%M%S}", f"{moment:%d-%m-%Y %H:%M:%S}"
