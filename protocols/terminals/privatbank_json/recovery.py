"""Whether an operation whose answer was lost went through (docs/reference/privatbank-json.md#recovery).

Operations have no number of ours that could be queried; there is only the last receipt of the open batch. It proves
something only by comparison with the last receipt before the request, which must be queried and stored first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from protocols.terminals.privatbank_json.messages import Reply, Transaction

PURCHASE, REFUND, CANCEL, INSTALMENTS = "1", "2", "3", "4"
"""Values of ``txnType``."""

CLOCK_ERROR = timedelta(minutes=2)
"""By how much the terminal's clock may differ from ours."""


@dataclass(frozen=True)
class Snapshot:
    """The last receipt of the open batch before a request, as the terminal returned it; blank when there was none."""

    invoice_number: str = ""
    date: str = ""
    time: str = ""
    rrn: str = ""

    @classmethod
    def of(cls, reply: Reply) -> Snapshot:
        """The snapshot in an answer to `GetReceiptInfo`."""
        if reply.error or reply.busy or reply.unknown_method:
            return cls()
        receipt = reply.transaction
        return cls(receipt.invoice_number, receipt.date, receipt.time, receipt.rrn)


@dataclass(frozen=True)
class Wanted:
    """What is known of the operation in doubt.

    ``sums`` are kopecks, several when a correction was under way; ``begun`` and ``ended`` are local times without a
    zone, as on the slip.
    """

    txn_type: str
    sums: frozenset[int]
    begun: datetime
    ended: datetime


class Finding(Enum):
    """What the last receipt proves about an operation in doubt."""

    OURS = "ours"
    """It is the operation's own: its code is the result."""
    NOTHING = "nothing"
    """There is no receipt since the snapshot: no money moved."""
    UNKNOWN = "unknown"
    """Neither; a person has to look at the slip."""


def judge(wanted: Wanted, before: Snapshot, last: Reply) -> Finding:
    """What the ``last`` receipt of an idle terminal proves."""
    now = Snapshot.of(last)
    if not before.invoice_number or not now.invoice_number:
        # "No receipt" has several reasons (an empty batch, a wrong merchant), so it proves nothing by itself.
        return Finding.UNKNOWN
    if now == before:
        return Finding.NOTHING
    receipt = last.transaction
    at = _time_of(receipt)
    if (
        now.invoice_number != before.invoice_number
        and receipt.amount in wanted.sums
        and receipt.txn_type in (wanted.txn_type, "", "0")
        and at is not None
        and wanted.begun - CLOCK_ERROR <= at <= wanted.ended + CLOCK_ERROR
    ):
        return Finding.OURS
    return Finding.UNKNOWN


def _time_of(receipt: Transaction) -> datetime | None:
    try:
        return datetime.strptime(f"{receipt.date} {receipt.time}", "%d.%m.%Y %H:%M:%S")
    except ValueError:
        return None
