"""What the journal of a BPOS1 terminal proves about a lost answer (docs/reference/bpos1.md#recovery).

The terminal counts the transactions of its open batch and gives each by its place. So what was added since the
snapshot is known completely, and only that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from dmtwisted.terminals.interface import Found, NeverStarted, Order, Task, Undecided
from dmtwisted.terminals.proof import CLOCK_ERROR
from protocols.terminals.bpos1 import messages as bpos1
from protocols.terminals.bpos1.messages import Transaction

KINDS: dict[int, int] = {
    Task.PAYMENT: bpos1.PURCHASE,
    Task.READ_CARD: bpos1.PURCHASE,
    Task.REFUND: bpos1.REFUND,
    Task.CANCEL: bpos1.VOID,
}
"""``TxnType`` of each task; that of a service depends on the bank."""


class Before(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal reported before a request.

    ``count`` is the number of transactions in its journal, `None` when it does not tell; ``last`` is the latest of
    them; ``named`` is the one that a cancel names. ``begun`` is local time in ISO form. ``tells`` says whether the
    terminal at ``place`` ever told its journal.
    """

    begun: str
    count: int | None = None
    last: Transaction | None = None
    named: Transaction | None = None
    tells: bool = False
    place: str = ""


encode_before = msgspec.json.Encoder().encode
decode_before = msgspec.json.Decoder(Before).decode


def judge(
    order: Order,
    before: Before,
    now: Sequence[Transaction],
    named: Transaction | None,
    ended: datetime,
    asked: datetime,
    rrn: str = "",
) -> Found | int:
    """What the journal proves about ``order``; the place in ``now`` of its transaction, from 0, when it has one.

    :param now: the transactions from the place of ``before.last`` on.
    :param named: the transaction that a cancel names, as it is now.
    :param ended: the latest local time at which the operation can have ended.
    :param asked: the local time of these answers.
    :param rrn: that of the approval which was stored before the line broke, if there was one.
    """
    if before.last is not None:
        if not now or not now[0].is_same(before.last):
            return Undecided("the batch was closed since")
    elif not now and asked > ended:
        # An empty journal may be that of a new batch.
        return Undecided("the journal is empty, perhaps of a new batch")
    first = int(before.last is not None)
    ours = [
        place for place, one in enumerate(now) if place >= first and (one.rrn == rrn if rrn else _may_be(order, one))
    ]
    if len(ours) > 1:
        return Undecided("there are several such transactions")
    if order.task == Task.CANCEL and not ours and before.named is not None and named is not None:
        changed = named.is_same(before.named) and before.named.status == bpos1.APPROVED
        if changed and named.status in (bpos1.REVERSED, bpos1.TAKEN_BACK):
            return -1
    if not ours:
        return NeverStarted()
    one = now[ours[0]]
    if rrn:
        return ours[0]
    if order.wanted and one.amount != order.wanted:
        return Undecided(f"operation {one.invoice} is over another sum")
    at, begun = _moment(one.at), datetime.fromisoformat(before.begun)
    if at is None or not begun - CLOCK_ERROR <= at <= ended + CLOCK_ERROR:
        return Undecided(f"operation {one.invoice} is of another time")
    return ours[0]


def _may_be(order: Order, one: Transaction) -> bool:
    wanted = KINDS.get(order.task)
    if wanted is None:
        return one.kind not in (bpos1.REFUND, bpos1.VOID)
    return one.kind in (wanted, bpos1.NO_TYPE)


def _moment(at: str) -> datetime | None:
    try:
        return datetime.strptime(at, "%y%m%d%H%M%S")
    except ValueError:
        return None
