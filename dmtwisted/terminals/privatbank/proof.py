"""What a PrivatBank terminal's last receipt proves of a lost answer (terminals.md 3, rules 3 and 6).

The wire has no number of ours. There is the last receipt of the open batch, and it proves something only beside what
the terminal told before the request. `protocols.terminals.privatbank_json.recovery` compares two receipts; here are
the cases in which there is no receipt to compare: an empty batch, and a last operation that the bank refused.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from dmtwisted.terminals.interface import Order, Task
from protocols.terminals.privatbank_json.messages import APPROVED, PARTLY_APPROVED, Reply
from protocols.terminals.privatbank_json.recovery import Finding, Snapshot, Wanted, judge

TYPES: dict[int, tuple[str, ...]] = {
    Task.PAYMENT: ("1",),
    Task.READ_CARD: ("1",),
    Task.CASH_ISSUE: ("1",),
    Task.REFUND: ("2",),
    Task.CANCEL: ("3",),
    Task.INSTALMENTS: ("4", "1"),
    Task.INSTALMENTS_REFUND: ("4", "2"),
    Task.BANK_SERVICE: ("0", "1", "4"),
}
"""``txnType`` of the receipts that a task makes."""

NO_RECEIPT = "1000"
"""The code of a terminal that has no receipt to tell of (terminals.md 4.4)."""

BANK_CODES_END = "1000"
"""Codes below are the bank's."""


class LastReceipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal told of its last operation before a request, and when that was.

    ``begun`` is local time in ISO form. ``tells`` says whether the terminal was known to tell receipts at all: of one
    that never does, "none" proves nothing.
    """

    invoice_number: str = ""
    date: str = ""
    time: str = ""
    rrn: str = ""
    code: str = ""
    error: bool = False
    begun: str = ""
    tells: bool = False
    place: str = ""
    """Where the terminal was."""

    @classmethod
    def of(cls, told: Reply, known: Snapshot, begun: datetime, tells: bool, place: str = "") -> LastReceipt:
        """What the answer to ``GetReceiptInfo`` is of an idle terminal.

        :param known: the last receipt as it was told before; it counts when the terminal tells none now.
        """
        seen = known if told.error else Snapshot.of(told)
        return cls(
            seen.invoice_number,
            seen.date,
            seen.time,
            seen.rrn,
            told.code,
            told.error,
            begun.isoformat(),
            tells,
            place,
        )

    @property
    def receipt(self) -> Snapshot:
        """The receipt alone; blank when there was none."""
        return Snapshot(self.invoice_number, self.date, self.time, self.rrn)


encode_last = msgspec.json.Encoder().encode
decode_last = msgspec.json.Decoder(LastReceipt).decode


def shows_receipt(told: Reply) -> bool:
    """Whether an answer to ``GetReceiptInfo`` tells of an operation, so that this terminal is one that does."""
    return bool(Snapshot.of(told).invoice_number) or refused_by_bank(told)


def refused_by_bank(told: Reply) -> bool:
    """Whether the terminal's last operation is one that the bank refused: told with its code and nothing else."""
    code = told.code
    is_bank_code = code.isdigit() and APPROVED < code < BANK_CODES_END and code != PARTLY_APPROVED
    return not told.error and is_bank_code and not Snapshot.of(told).invoice_number


def prove(order: Order, before: LastReceipt, told: Reply, ended: datetime) -> Finding:
    """What the last receipt ``told`` by an idle terminal proves of ``order``.

    :param before: what it told before the request.
    :param ended: the latest local time at which the operation can have ended.
    """
    now = Snapshot.of(told)
    if now.invoice_number:
        if now == before.receipt:
            return Finding.NOTHING
        return Finding.OURS if _is_ours(order, before, told, ended) else Finding.UNKNOWN
    if refused_by_bank(told):
        # The last operation was refused. Ours is that one, or it never came: no money moved either way.
        same = (before.code, before.error, before.receipt) == (told.code, told.error, Snapshot())
        return Finding.NOTHING if same else Finding.OURS
    nothing_then = before.error and before.code == NO_RECEIPT and before.receipt == Snapshot()
    if nothing_then and before.tells and told.error and told.code == NO_RECEIPT:
        return Finding.NOTHING
    return Finding.UNKNOWN


def _is_ours(order: Order, before: LastReceipt, told: Reply, ended: datetime) -> bool:
    sums = {order.sum + order.cash, order.sum, order.wanted} - {0}
    amount = told.transaction.amount
    if told.code == PARTLY_APPROVED and amount is not None and amount <= max(sums, default=0):
        sums.add(amount)
    # `judge` compares with a receipt only where there was one; before the first of a batch any number is new.
    earlier = before.receipt if before.invoice_number else replace(before.receipt, invoice_number="none")
    begun = datetime.fromisoformat(before.begun)
    return any(
        judge(Wanted(kind, frozenset(sums), begun, ended), earlier, told) is Finding.OURS
        for kind in TYPES.get(order.task, ())
    )
