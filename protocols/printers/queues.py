"""The part common to all print queues: the state of the printer, and following a job.

A job in the queue is followed until it ends or the time is up. If it still waits then and nothing is printed, it is
withdrawn: printed later, it would be a second copy, because the caller gets an error and repeats it. A job that is
being printed is left alone.
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
"""Seconds between two queries about a job."""

LONGEST_TITLE = 255
"""Bytes of a job's title that every queue stores (RFC 8011, type `name`)."""


class UnknownQueue(NotReached):
    """There is no print queue of this name: nothing was sent."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"there is no print queue {queue!r}")
        self.queue = queue


class Condition(StrEnum):
    """Why a printer does not print; of several reasons the first in this order."""

    OK = "ok"
    COVER_OPEN = "cover_open"
    PAPER_OUT = "paper_out"
    OFFLINE = "offline"
    STOPPED = "stopped"
    """Another reason, see the text."""


@dataclass(frozen=True)
class QueueState:
    """The state of a printer according to its queue; ``reason`` is the queue's own text, possibly empty."""

    condition: Condition
    reason: str = ""


class Stage(StrEnum):
    """The progress of a job in its queue."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    """The queue reports it as printed."""
    REMOVED = "removed"
    """Cancelled or aborted."""


@dataclass(frozen=True)
class QueuedJob:
    """A job as its queue lists it.

    ``began``: part of it may be on paper. ``reason`` is the queue's own text.
    """

    number: int
    title: str
    stage: Stage
    began: bool
    reason: str = ""


class IPrintQueue(Interface):
    """A named print queue of an operating system."""

    def deliver(data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """Hand over ``data`` and follow it for ``patience`` seconds.

        ``title`` names the job in the queue. Cancelling ends the job early, as if the time were up.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises NotReached: when nothing could be sent.
        """

    def state(patience: float) -> Deferred[QueueState]:
        """The state of the queue's printer.

        :raises UnknownQueue: when there is no such queue; the Deferred fails with it.
        :raises WireError: when the queue does not answer.
        """


class Followed(Protocol):
    """The part of a queue that `follow` uses."""

    async def job(self, number: int) -> QueuedJob | None:
        """The job, `None` when the queue no longer lists it."""

    async def withdraw(self, number: int) -> Verdict:
        """Remove the job from the queue if it has not begun; return what is known then."""


def judge(job: QueuedJob) -> Verdict | None:
    """The verdict on a job that has ended, else `None`."""
    if job.stage is Stage.DONE:
        return Verdict(Outcome.PRINTED, "", job.number)
    if job.stage is Stage.REMOVED:
        if job.began:
            return Verdict(Outcome.UNKNOWN, job.reason or "removed from the queue while it was printed", job.number)
        return Verdict(Outcome.NOT_PRINTED, job.reason or "removed from the queue before it began", job.number)
    return None


def under_way(job: QueuedJob) -> Verdict:
    """The verdict on a job that stays in the queue."""
    words = "being printed" if job.stage is Stage.WORKING else "waiting in the queue"
    return Verdict(Outcome.ACCEPTED, f"{words}: {job.reason}" if job.reason else words, job.number)


async def follow(queue: Followed, clock: IReactorTime, number: int, deadline: float) -> Verdict:
    """Wait until the job ends; at ``deadline`` of ``clock``, or when cancelled, withdraw it unless it has begun.

    The queue has the job, so it is at least accepted, whatever fails from now on.
    """
    began = False
    while True:
        try:
            job = await queue.job(number)
        except WireError as error:
            return Verdict(Outcome.ACCEPTED, f"taken by the queue; then {error}", number)
        if job is None:
            return Verdict(Outcome.ACCEPTED, "the queue no longer lists the job", number)
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
    """``title`` as every queue can store it; a long one is cut and ends with a hash."""
    data = title.encode(errors="replace")
    if len(data) <= LONGEST_TITLE:
        return title
    mark = "~" + hashlib.sha256(data).hexdigest()[:16]
    return data[: LONGEST_TITLE - len(mark)].decode(errors="ignore") + mark
