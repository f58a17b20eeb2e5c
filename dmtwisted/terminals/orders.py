"""From ``pay`` of a request to an order, and the label by which its operation is found (specification 2.2, 4.4)."""

from __future__ import annotations

import re
from uuid import UUID, uuid4, uuid5

from dmtwisted.requests import PayTask, malformed
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.interface import Order, Task

LABELS = UUID("6f2c3d5e-2f2b-5c55-9e0a-0d6d1c1b7a10")
"""The name space of the labels that we make ourselves: UUID version 5."""

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
"""The members of ``pay`` without which a task cannot be done (http-api 3.2)."""

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def order_of(pay: PayTask) -> Order:
    """What the terminal is asked for, with a name of its own.

    :raises Refused: 2000 for a number that cannot be, 1098 without what the task needs.
    """
    assert pay.task is not None
    numbers = {"sum": pay.sum, "cash": pay.cash, "parts": pay.parts}
    for member, number in numbers.items():
        if number < 0:
            raise malformed(f"pay.{member}", "the number cannot be negative")
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
        # Leftovers of other tasks in the same object are nobody's business.
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
    """The ``transaction_id`` of an operation: as given when it is a UUID, else one of ours.

    The same text gives the same label, so that a till which numbers its operations in its own way finds them too;
    nothing gives a new one each time.
    """
    given = given.strip()
    return given if _UUID.fullmatch(given) else str(uuid5(LABELS, given or str(uuid4())))


def same_order(one: Order, other: Order) -> bool:
    """Whether two orders ask for the same thing, apart from the names that we gave them."""
    return _anonymous(one) == _anonymous(other)


def _anonymous(order: Order) -> tuple[object, ...]:
    """What the caller asked for; whether a cancel is over a part is our own finding."""
    return (
        *(order.task, order.sum, order.cash, order.rrn, order.cancelid, order.merchant),
        *(order.agreement, order.parts, order.service, order.param),
    )
