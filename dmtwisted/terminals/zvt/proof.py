"""What the last receipt of a ZVT terminal proves of an operation whose answer was lost (terminals.md 3, 7.8)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dmtwisted.results import Res
from dmtwisted.terminals.interface import Approved, Declined, Found, NeverStarted, Order, Task, Undecided, Verdict
from dmtwisted.terminals.proof import CLOCK_ERROR
from protocols.terminals.zvt import codes
from protocols.terminals.zvt.messages import BatchTotals, StatusInformation

LAST_RECEIPT = 9999
"""Receipt numbers begin anew after this."""

TAKEN_BACK = Declined.of(Res.REQUEST_NOT_TAKEN, text="the terminal took the booking back")


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a receipt is told from another one by: ``date`` is ``MMDD``, ``time`` ``HHMMSS``, sums are hundredths."""

    number: int = 0
    trace: int = 0
    amount: int | None = None
    result: int = 0
    date: str = ""
    time: str = ""
    card: str = ""
    original: int = 0
    """Of a reversal the trace of what it took back, where that is told."""

    @classmethod
    def of(cls, status: StatusInformation) -> Receipt:
        """The receipt that a status information tells of."""
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
        """The receipt of a booking that was made durable before its acknowledgement; its time was not kept."""
        if not isinstance(verdict, Approved) or not verdict.cancelid.isdecimal():
            return None
        trace = int(verdict.rrn) if verdict.rrn.isdecimal() else 0
        return cls(int(verdict.cancelid), trace, verdict.sum, card=verdict.cardmask)


class Batch(msgspec.Struct, frozen=True):
    """What the open batch holds: how many bookings, and their sum in hundredths."""

    count: int
    sum: int

    @classmethod
    def of(cls, totals: BatchTotals) -> Batch:
        """All card groups together."""
        return cls(sum(count for count, _ in totals.groups), sum(turnover for _, turnover in totals.groups))

    def __bool__(self) -> bool:
        return self.count > 0


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal told before a request.

    ``begun`` is local time in ISO form. ``tells`` says whether the terminal was known to tell receipts: of one that
    never does, "none" proves nothing. ``batch`` is there before a general report only.
    """

    last: Receipt | None = None
    begun: str = ""
    tells: bool = False
    batch: Batch | None = None
    place: str = ""
    """Where the terminal was."""


encode_before = msgspec.json.Encoder().encode
decode_before = msgspec.json.Decoder(Before).decode


def judge(
    order: Order, before: Before, told: Receipt | None, ended: datetime, ours: Receipt | None = None
) -> Found | None:
    """What the last receipt ``told`` by a terminal at rest proves of ``order``; `None` when it is that of ``order``.

    :param before: what it told before the request.
    :param ended: the latest local time at which the operation can have ended.
    :param ours: the booking that we stored before the line broke, if one came that far.
    """
    last = before.last
    if told is None:
        if last is None and before.tells:
            return NeverStarted()
        return Undecided("the terminal tells no receipt")
    if last is not None and told == last:
        return NeverStarted()
    if ours is not None and _is_same(told, ours):
        return None
    why = f"the last receipt is {told.number:04d}"
    begun = datetime.fromisoformat(before.begun)
    at = _moment(told, ended)
    if at is None or not begun - CLOCK_ERROR <= at <= ended + CLOCK_ERROR:
        return Undecided(f"{why}, of another time")
    if ours is not None and told.number == _next(ours.number) and _is_reversal(told, ours):
        return TAKEN_BACK
    if order.task in (Task.PAYMENT, Task.REFUND) and _is_of_two(told, last):
        return TAKEN_BACK
    expected = {1} if last is None else {1, _next(last.number)} - {last.number}
    if told.number not in expected or (last is not None and told.trace and told.trace == last.trace):
        return Undecided(why)
    if told.result != codes.OK:
        # Between the receipt before and this one nothing else was booked.
        return None
    if not order.wanted or told.amount != order.wanted:
        return Undecided(f"{why}, over another sum")
    return None


def _is_same(told: Receipt, ours: Receipt) -> bool:
    if ours.date:
        return told == ours
    return (told.number, told.trace, told.amount, told.card, told.result, told.original) == (
        ours.number,
        ours.trace,
        ours.amount,
        ours.card,
        codes.OK,
        0,
    )


def _is_reversal(told: Receipt, ours: Receipt) -> bool:
    return (told.amount, told.card, told.result) == (ours.amount, ours.card, codes.OK)


def _is_of_two(told: Receipt, last: Receipt | None) -> bool:
    """Whether since ``last`` there were two bookings, and ``told`` takes the first of them back.

    Whosever that first one was, nothing is left of either: ours was taken back, or was never booked. What was taken
    back is known by its trace, which lies between the two: an older booking's reversal would prove nothing of ours.
    """
    number, trace = (last.number, last.trace) if last is not None else (0, 0)
    if last is not None and not trace:
        return False
    return told.result == codes.OK and told.number == _next(_next(number)) and trace < told.original < told.trace


def _next(number: int) -> int:
    return number % LAST_RECEIPT + 1


def _moment(told: Receipt, now: datetime) -> datetime | None:
    """When a receipt was made: it does not tell the year, so the one that is nearest to ``now`` is meant."""
    found = []
    for year in (now.year - 1, now.year, now.year + 1):
        try:
            found.append(datetime.strptime(f"{year}{told.date}{told.time}", "%Y%m%d%H%M%S"))
        except ValueError:
            continue
    return min(found, key=lambda at: abs(at - now), default=None)
