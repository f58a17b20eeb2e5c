"""What the last receipt of a ZVT terminal proves about a lost answer (docs/reference/zvt.md#recovery)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dmtwisted.results import Res
from dmtwisted.terminals.interface import Approved, Declined, Found, NeverStarted, Order, Task, Undecided, Verdict
from dmtwisted.terminals.proof import CLOCK_ERROR
from protocols.terminals.zvt import codes
from protocols.terminals.zvt.messages import BatchTotals, StatusInformation

LAST_RECEIPT = 9999
"""After this number receipts start again at 1."""

TAKEN_BACK = Declined.of(Res.REQUEST_NOT_TAKEN, text="the terminal took the booking back")


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What identifies a receipt: ``date`` is ``MMDD``, ``time`` ``HHMMSS``, sums are hundredths."""

    number: int = 0
    trace: int = 0
    amount: int | None = None
    result: int = 0
    date: str = ""
    time: str = ""
    card: str = ""
    original: int = 0
    """Of a reversal the trace of the booking that it took back, if reported."""

    @classmethod
    def of(cls, status: StatusInformation) -> Receipt:
        """The receipt in a status information."""
        return cls(
            status.receipt or 0,
            status.trace or 0,
            status.amount,
            status.result,
            status.date,
            status.time,
            status.pan,
            status.original_trace or 0,
        )

    @classmethod
    def held(cls, verdict: Verdict) -> Receipt | None:
        """The receipt of a booking that was made durable before its acknowledgement; its time was not stored."""
        if not isinstance(verdict, Approved) or not verdict.cancelid.isdecimal():
            return None
        trace = int(verdict.rrn) if verdict.rrn.isdecimal() else 0
        return cls(int(verdict.cancelid), trace, verdict.kopecks, card=verdict.cardmask)


class Batch(msgspec.Struct, frozen=True):
    """The open batch: the number of bookings and their sum in hundredths."""

    count: int
    sum: int

    @classmethod
    def of(cls, totals: BatchTotals) -> Batch:
        """All card groups together."""
        return cls(sum(count for count, _ in totals.groups), sum(turnover for _, turnover in totals.groups))

    def __bool__(self) -> bool:
        return self.count > 0


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal reported before a request.

    ``begun`` is local time in ISO form. ``tells`` says whether the terminal is known to report receipts: if it never
    does, "none" proves nothing. ``batch`` is set only before a general report.
    """

    last: Receipt | None = None
    begun: str = ""
    tells: bool = False
    batch: Batch | None = None
    place: str = ""
    """Where the terminal was."""
    untold: bool = False
    """Whether it refused to report its last receipt, so that ``last`` is unknown."""


encode_before = msgspec.json.Encoder().encode
decode_before = msgspec.json.Decoder(Before).decode


def judge(
    order: Order, before: Before, now: Receipt | None, ended: datetime, ours: Receipt | None = None
) -> Found | None:
    """What the last receipt of an idle terminal proves about ``order``; `None` when it is the receipt of ``order``.

    :param before: what the terminal reported before the request.
    :param ended: the latest local time at which the operation can have ended.
    :param ours: the booking that was stored before the line broke, if there was one.
    """
    last = before.last
    if now is None:
        if last is None and before.tells:
            return NeverStarted()
        return Undecided("the terminal reports no receipt")
    if last is not None and now == last:
        return NeverStarted()
    if ours is not None and _is_same(now, ours):
        return None
    why = f"the last receipt is {now.number:04d}"
    begun = datetime.fromisoformat(before.begun)
    at = _moment(now, ended)
    if at is None or not begun - CLOCK_ERROR <= at <= ended + CLOCK_ERROR:
        return Undecided(f"{why}, of another time")
    if ours is not None and now.number == _next(ours.number) and _is_reversal(now, ours):
        return TAKEN_BACK
    if before.untold:
        return Undecided(f"{why}, and the one before the operation is unknown")
    if order.task in (Task.PAYMENT, Task.REFUND) and _is_of_two(now, last):
        return TAKEN_BACK
    expected = {1} if last is None else {1, _next(last.number)} - {last.number}
    if now.number not in expected or (last is not None and now.trace and now.trace == last.trace):
        return Undecided(why)
    if now.result != codes.OK:
        # Nothing else was booked between the receipt before and this one.
        return None
    if not order.wanted or now.amount != order.wanted:
        return Undecided(f"{why}, over another sum")
    return None


def _is_same(now: Receipt, ours: Receipt) -> bool:
    if ours.date:
        return now == ours
    return (now.number, now.trace, now.amount, now.card, now.result, now.original) == (
        ours.number,
        ours.trace,
        ours.amount,
        ours.card,
        codes.OK,
        0,
    )


def _is_reversal(now: Receipt, ours: Receipt) -> bool:
    return (now.amount, now.card, now.result) == (ours.amount, ours.card, codes.OK)


def _is_of_two(now: Receipt, last: Receipt | None) -> bool:
    """Whether since ``last`` there were two bookings, and ``now`` takes the first of them back.

    Nothing is left of either: ours was taken back, or was never booked. The trace of the booking that was taken back
    is between the two: the reversal of an older booking would prove nothing.
    """
    number, trace = (last.number, last.trace) if last is not None else (0, 0)
    if last is not None and not trace:
        return False
    return now.result == codes.OK and now.number == _next(_next(number)) and trace < now.original < now.trace


def _next(number: int) -> int:
    return number % LAST_RECEIPT + 1


def _moment(receipt: Receipt, now: datetime) -> datetime | None:
    """The time of a receipt in the year that is nearest to ``now``: a receipt has no year."""
    found = []
    for year in (now.year - 1, now.year, now.year + 1):
        try:
            found.append(datetime.strptime(f"{year}{receipt.date}{receipt.time}", "%Y%m%d%H%M%S"))
        except ValueError:
            continue
    return min(found, key=lambda at: abs(at - now), default=None)
