"""Whether an operation whose answer was lost went through (terminals.md 3, rules 3 and 6).

The protocol has no number of ours to ask for; what there is, is the last receipt of the open batch. It proves
something only beside the last receipt from before the request, which therefore has to be asked for and kept first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from protocols.terminals.privatbank_json.messages import Reply, Transaction

PURCHASE, REFUND, CANCEL, INSTALMENTS = "1", "2", "3", "4"
"""What ``txnType`` says of a receipt."""

CLOCK_ERROR = timedelta(minutes=2)
"""By how much the terminal's clock may differ from ours."""


@dataclass(frozen=True)
class Snapshot:
    """The last receipt of the open batch before a request, as the terminal told it; blank when there was none."""

    invoice_number: str = ""
    date: str = ""
    time: str = ""
    rrn: str = ""

    @classmethod
    def of(cls, told: Reply) -> Snapshot:
        """The snapshot that an answer to `GetReceiptInfo` gives."""
        if told.error or told.busy or told.unknown_method:
            return cls()
        receipt = told.transaction
        return cls(receipt.invoice_number, receipt.date, receipt.time, receipt.rrn)


@dataclass(frozen=True)
class Wanted:
    """What is known of the operation in doubt.

    ``sums`` are kopecks, several when a correction was under way; ``begun`` and
    ``ended`` are local times without a zone, as on the slip.
    """

    txn_type: str
    sums: frozenset[int]
    begun: datetime
    ended: datetime


class Finding(Enum):
    """What a last receipt proves of an operation in doubt."""

    OURS = "ours"
    """It is the operation's own: its code tells how it ended."""
    NOTHING = "nothing"
    """No receipt was made since the snapshot: no money moved."""
    UNKNOWN = "unknown"
    """It proves neither; a person has to look at the slip."""


def judge(wanted: Wanted, before: Snapshot, told: Reply) -> Finding:
    """What the last receipt ``told`` by an idle terminal proves."""
    now = Snapshot.of(told)
    if not before.invoice_number or not now.invoice_number:
        # "No receipt" has several reasons (an empty batch, a wrong merchant), so it proves nothing by itself.
        return Finding.UNKNOWN
    if now == before:
        return Finding.NOTHING
    receipt = told.transaction
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
