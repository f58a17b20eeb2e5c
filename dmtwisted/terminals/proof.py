"""What drivers share whose terminal proves the end of an operation by its last receipt or by the open batch."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.terminals.interface import Approved, Found, NeverStarted, Undecided

CLOCK_ERROR = timedelta(minutes=2)
"""How far the terminal's clock may be from ours."""

AFTER_THE_WAIT = timedelta(seconds=60)
"""How long after its time an operation may still come to its end."""


class _Learned(msgspec.Struct):
    tells: bool = False
    place: str = ""


_decode = msgspec.json.Decoder(_Learned).decode


def told_before(snapshot: bytes, place: str) -> bool:
    """Whether ``snapshot`` is of a terminal at this place that was known to report its last operation."""
    learned = _decode(snapshot or b"{}")
    return learned.tells and learned.place == place


def local_time(clock: ServiceClock) -> datetime:
    """Local time without a zone, as terminals report and print it."""
    return kyiv(clock.now()).replace(tzinfo=None)


def latest_end(begun: datetime, wait_s: float, now: datetime) -> datetime:
    """The latest moment at which an operation can have ended."""
    return min(now, begun + timedelta(seconds=wait_s) + AFTER_THE_WAIT)


def batch_closed(before: Any, now: Any, what: str = "batch") -> Found:
    """Whether a general report whose answer was lost closed the batch: then the batch is empty.

    :param before: the content of the batch before the report; an empty batch is false, an unknown one `None`.
    :param now: its content since then.
    """
    if before and now is not None:
        if now == before:
            return NeverStarted()
        if not now:
            return Approved(text=f"found out: the {what} is closed")
    return Undecided(f"whether the {what} was closed is unknown")
