"""What all print queues have in common: the printer's state as the queue knows it, and how a job in it is followed.

A job that was taken is followed until the queue says how it ended or the time is up. One that then still waits, with
nothing printed, is withdrawn: printed later it would be a second copy, since whoever asked hears of an error and
repeats. One that is being printed is left alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import Interface

from protocols.errors import NotReached, WireError
from protocols.printers.verdict import Outcome, Verdict

POLL_S = 0.25
"""Seconds between two questions about a job."""

LONGEST_TITLE = 255
"""Bytes of a job's title that every queue keeps (RFC 8011, type `name`)."""


class UnknownQueue(NotReached):
    """There is no print queue of this name: nothing was sent."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"there is no print queue {queue!r}")
        self.queue = queue


class Condition(StrEnum):
    """What hinders a printer; of several things the first in this order."""

    OK = "ok"
    COVER_OPEN = "cover_open"
    PAPER_OUT = "paper_out"
    OFFLINE = "offline"
    STOPPED = "stopped"
    """The queue prints nothing for another reason, see the words."""


@dataclass(frozen=True)
class QueueState:
    """A printer as its queue sees it; ``reason`` are the queue's own words, empty when it has none."""

    condition: Condition
    reason: str = ""


class Stage(StrEnum):
    """How far a job came in its queue."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    """The queue says that it was printed."""
    REMOVED = "removed"
    """Cancelled or aborted."""


@dataclass(frozen=True)
class QueuedJob:
    """A job as its queue lists it.

    ``began``: some of it may be on paper already. ``reason`` are the queue's own words.
    """

    number: int
    title: str
    stage: Stage
    began: bool
    reason: str = ""


class IPrintQueue(Interface):
    """A named queue of an operating system."""

    def deliver(data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """Hand over ``data`` and follow it for ``patience`` seconds.

        ``title`` names the job in the queue. Cancelling ends the job early, as if the time were up.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises NotReached: when nothing could be sent.
        """

    def state(patience: float) -> Deferred[QueueState]:
        """What the queue knows of its printer.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises WireError: when the queue cannot be asked.
        """


class Followed(Protocol):
    """What `follow` needs of a queue."""

    async def job(self, number: int) -> QueuedJob | None:
        """The job, `None` when the queue lists it no more."""

    async def withdraw(self, number: int) -> Verdict:
        """Take the job out of the queue if it has not begun, and tell what is known then."""


def judge(job: QueuedJob) -> Verdict | None:
    """The verdict on a job that has ended; `None` while it has not."""
    if job.stage is Stage.DONE:
        return Verdict(Outcome.PRINTED, "", job.number)
    if job.stage is Stage.REMOVED:
        if job.began:
            return Verdict(Outcome.UNKNOWN, job.reason or "removed from the queue while it was printed", job.number)
        return Verdict(Outcome.NOT_PRINTED, job.reason or "removed from the queue before it began", job.number)
    return None


def under_way(job: QueuedJob) -> Verdict:
    """The verdict on a job that the queue has and goes on with."""
    words = "being printed" if job.stage is Stage.WORKING else "waits in the queue"
    return Verdict(Outcome.ACCEPTED, f"{words}: {job.reason}" if job.reason else words, job.number)


async def follow(queue: Followed, clock: IReactorTime, number: int, deadline: float) -> Verdict:
    """Wait until the job ends; at ``deadline`` of ``clock``, or when cancelled, withdraw it, unless it has begun.

    The queue has the job, so whatever goes wrong from now on it is at least accepted.
    """
    began = False
    while True:
        try:
            job = await queue.job(number)
        except WireError as error:
            return Verdict(Outcome.ACCEPTED, f"taken by the queue; then {error}", number)
        if job is None:
            return Verdict(Outcome.ACCEPTED, "the queue lists the job no more", number)
        began = began or job.began
        verdict = judge(QueuedJob(job.number, job.title, job.stage, began, job.reason))
        if verdict is not None:
            return verdict
        left = deadline - clock.seconds()
        if left <= 0:
            return under_way(job) if began else await queue.withdraw(number)
        try:
            await deferLater(clock, min(POLL_S, left))
        except CancelledError:
            deadline = clock.seconds()


def short_title(title: str) -> str:
    """``title`` as every queue can keep it; a long one is cut and made unique again."""
    data = title.encode(errors="replace")
    if len(data) <= LONGEST_TITLE:
        return title
    mark = "~" + hashlib.sha256(data).hexdigest()[:16]
    return data[: LONGEST_TITLE - len(mark)].decode(errors="ignore") + mark
