"""From ``pay`` of a request to an order, and the label by which its operation is found (specification 2.2, 4.4)."""

from __future__ import annotations

import re
from uuid import UUID, uuid4, uuid5

from dmtwisted.requests import NEGATIVE, PayTask, malformed
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.interface import Order, Task

LABELS = UUID("6f2c3d5e-2f2b-5c55-9e0a-0d6d1c1b7a10")
"""The name space of labels that the service makes: UUID version 5."""

NEEDED: dict[int, tuple[str, ...]] = {
    Task.PAYMENT: ("sum",),
    Task.REFUND: ("sum", "refundid"),
    Task.CANCEL: ("cancelid",),
    Task.TRANSFER: ("sum",),
    Task.BANK_SERVICE: ("srvnum",),
    Task.READ_CARD: ("sum",),
    Task.CASH_ISSUE: ("cash",),
    Task.INSTALMENTS: ("sum", "parts"),
    Task.INSTALMENTS_REFUND: ("sum", "agreementNum"),
}
"""The members of ``pay`` without which a task cannot be done (docs/reference/terminals.md#tasks)."""

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def order_of(pay: PayTask) -> Order:
    """The order for the terminal, with its own name.

    :raises Refused: 2000 for a negative number, 1098 without what the task needs.
    """
    assert pay.task is not None
    numbers = {"sum": pay.sum, "cash": pay.cash, "parts": pay.parts}
    for member, number in numbers.items():
        if number < 0:
            raise malformed(f"pay.{member}", NEGATIVE)
    given = {
        **numbers,
        "refundid": pay.refundid.strip(),
        "cancelid": pay.cancelid.strip(),
        "agreementNum": pay.agreement.strip(),
        "srvnum": pay.service.strip(),
    }
    for member in NEEDED.get(pay.task, ()):
        if not given[member]:
            raise Refused(Res.MISSING_OBJECT, f"pay.{member}")
    return Order(
        task=pay.task,
        uid=str(uuid4()),
        sum=pay.sum,
        # Members of other tasks may be left over in the same object.
        cash=pay.cash if pay.task == Task.CASH_ISSUE else 0,
        rrn=pay.refundid.strip() if pay.task == Task.REFUND else "",
        cancelid=pay.cancelid.strip() if pay.task == Task.CANCEL else "",
        merchant=pay.merchant.strip(),
        agreement=pay.agreement.strip(),
        parts=pay.parts,
        service=pay.service.strip(),
        param=pay.param,
    )


def label_of(given: str) -> str:
    """The ``transaction_id`` of an operation: as given when it is a UUID, else one made from the text.

    The same text makes the same label, so that a till may number its operations in its own way. No text makes a new
    label each time.
    """
    given = given.strip()
    return given if _UUID.fullmatch(given) else str(uuid5(LABELS, given or str(uuid4())))


def same_order(one: Order, other: Order) -> bool:
    """Whether two orders ask for the same thing, apart from the names that the service gave them."""
    return _anonymous(one) == _anonymous(other)


def _anonymous(order: Order) -> tuple[object, ...]:
    """What the caller asked for; that a cancel is over a part is found out by the service."""
    return (
        *(order.task, order.sum, order.cash, order.rrn, order.cancelid, order.merchant),
        *(order.agreement, order.parts, order.service, order.param),
    )
