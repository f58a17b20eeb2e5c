"""What a PrivatBank terminal's last receipt proves about a lost answer.

The wire has no number of ours. The terminal only reports the last receipt of the open batch, which has to be compared
with the one from before the request. `protocols.terminals.privatbank_json.recovery` compares two receipts. Here
are the cases without a receipt: an empty batch, and a last operation that the bank refused.
See docs/reference/privatbank-json.md#recovery.
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
"""The code of a terminal without a receipt."""

BANK_CODES_END = "1000"
"""Codes below are the bank's."""


class LastReceipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the terminal reported about its last operation before a request, and when.

    ``begun`` is local time in ISO form. ``tells`` says whether the terminal is known to report receipts: if it never
    does, "none" proves nothing.
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
    def of(cls, reply: Reply, known: Snapshot, begun: datetime, tells: bool, place: str = "") -> LastReceipt:
        """The content of an idle terminal's answer to ``GetReceiptInfo``.

        :param known: the last receipt as it was reported before; it counts when the terminal reports none now.
        """
        seen = known if reply.error else Snapshot.of(reply)
        return cls(
            seen.invoice_number,
            seen.date,
            seen.time,
            seen.rrn,
            reply.code,
            reply.error,
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


def shows_receipt(reply: Reply) -> bool:
    """Whether an answer to ``GetReceiptInfo`` reports an operation, so that this terminal is known to do so."""
    return bool(Snapshot.of(reply).invoice_number) or refused_by_bank(reply)


def refused_by_bank(reply: Reply) -> bool:
    """Whether the bank refused the terminal's last operation, which is reported by its code alone."""
    code = reply.code
    is_bank_code = code.isdigit() and APPROVED < code < BANK_CODES_END and code != PARTLY_APPROVED
    return not reply.error and is_bank_code and not Snapshot.of(reply).invoice_number


def prove(order: Order, before: LastReceipt, reply: Reply, ended: datetime) -> Finding:
    """What an idle terminal's last receipt in ``reply`` proves about ``order``.

    :param before: what it reported before the request.
    :param ended: the latest local time at which the operation can have ended.
    """
    now = Snapshot.of(reply)
    if now.invoice_number:
        if now == before.receipt:
            return Finding.NOTHING
        return Finding.OURS if _is_ours(order, before, reply, ended) else Finding.UNKNOWN
    if refused_by_bank(reply):
        # The last operation was refused. Ours is that one, or it never came: no money moved either way.
        same = (before.code, before.error, before.receipt) == (reply.code, reply.error, Snapshot())
        return Finding.NOTHING if same else Finding.OURS
    nothing_then = before.error and before.code == NO_RECEIPT and before.receipt == Snapshot()
    if nothing_then and before.tells and reply.error and reply.code == NO_RECEIPT:
        return Finding.NOTHING
    return Finding.UNKNOWN


def _is_ours(order: Order, before: LastReceipt, reply: Reply, ended: datetime) -> bool:
    sums = {order.sum + order.cash, order.sum, order.wanted} - {0}
    amount = reply.transaction.amount
    if reply.code == PARTLY_APPROVED and amount is not None and amount <= max(sums, default=0):
        sums.add(amount)
    # `judge` compares with a receipt only where there was one; before the first of a batch any number is new.
    earlier = before.receipt if before.invoice_number else replace(before.receipt, invoice_number="none")
    begun = datetime.fromisoformat(before.begun)
    return any(
        judge(Wanted(kind, frozenset(sums), begun, ended), earlier, reply) is Finding.OURS
        for kind in TYPES.get(order.task, ())
    )
