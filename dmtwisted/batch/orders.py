"""The parts of a request in batch mode: an order for the terminal, and a receipt with the card's data."""

from __future__ import annotations

from uuid import uuid4

import msgspec

from dmtwisted.registers.interface import SALE
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.requests import PayRequest, PayTask, ReceiptRequest, TaskRequest, malformed
from dmtwisted.results import Refused, Res, Text, one_of
from dmtwisted.terminals.interface import Approved, Order, Task


def fingerprint(request: TaskRequest) -> bytes:
    """Equal for a repeat of a request, different for another request with the same tag."""
    return msgspec.msgpack.encode((request.fiscal, request.pay))


def asks_only(request: TaskRequest, first: TaskRequest) -> bool:
    """Whether ``request`` only asks for the result of ``first``, which has the same tag."""
    fiscal = request.fiscal
    return fiscal is None or (fiscal.task in (None, first.task) and not (fiscal.receipt or fiscal.cash))


def pay_order(request: TaskRequest, amount: int, merchant: str) -> Order:
    """The order for the terminal: a payment, or what ``pay`` of a return says.

    :param amount: kopecks.
    :param merchant: the merchant of the settings, for a request without one.
    :raises Refused: 1098 for a return without ``pay`` or without the payment that it takes back, 2000 for one that is
        neither refund nor cancel.
    """
    if request.task == SALE:
        return Order(task=Task.PAYMENT, uid=str(uuid4()), sum=amount, merchant=merchant)
    pay: PayTask | None = request.pay
    if pay is None:
        raise Refused(Res.MISSING_OBJECT, "pay")
    if pay.task not in (Task.REFUND, Task.CANCEL):
        raise malformed(
            "pay.task", one_of(Text("2 (повернення)", "2 (refund)"), Text("3 (скасування)", "3 (cancel)"))
        )
    member, named = ("refundid", pay.refundid) if pay.task == Task.REFUND else ("cancelid", pay.cancelid)
    if not named.strip():
        raise Refused(Res.MISSING_OBJECT, f"pay.{member}")
    return Order(
        task=pay.task,
        uid=str(uuid4()),
        sum=amount,
        rrn=pay.refundid.strip(),
        cancelid=pay.cancelid.strip() if pay.task == Task.CANCEL else "",
        merchant=pay.merchant.strip() or merchant,
    )


def cancel_order(order: Order, paid: Approved) -> Order:
    """The order that takes back a payment or a refund."""
    uid, merchant = str(uuid4()), order.merchant
    return Order(Task.CANCEL, uid, cancelid=paid.cancelid, rrn=paid.rrn, sum=paid.sum, merchant=merchant)


def with_payment(request: TaskRequest, settings: BatchSettings, amount: int) -> TaskRequest:
    """``request``, if it is a sale without payments, with one payment by card over ``amount`` kopecks."""
    fiscal = request.fiscal
    if fiscal is None or fiscal.receipt is None or fiscal.receipt.pays or request.task != SALE or not amount:
        return request
    pay = PayRequest(type=str(settings.pay_types[0]), sum=amount)
    return _with_receipt(request, msgspec.structs.replace(fiscal.receipt, pays=(pay,)))


def lacks_payment(request: TaskRequest, settings: BatchSettings) -> bool:
    """Whether ``request`` is a sale without payments, so that all of it is paid by card."""
    fiscal = request.fiscal
    if fiscal is None or fiscal.receipt is None or request.task != SALE:
        return False
    return bool(fiscal.receipt.rows and not fiscal.receipt.pays and settings.pay_types)


def with_card(request: TaskRequest, settings: BatchSettings, paid: Approved) -> TaskRequest:
    """``request`` with the card's data in each payment by terminal; data that the terminal did not send stay."""
    fiscal = request.fiscal
    assert fiscal is not None and fiscal.receipt is not None
    types = {str(pay_type) for pay_type in settings.pay_types}
    data = {
        "paysys": paid.paysys,
        "rrn": paid.rrn,
        "cardmask": paid.cardmask,
        "term_id": paid.terminal_id,
        "bank_name": paid.bank,
        "auth_code": paid.auth_code,
    }
    card = {name: value for name, value in data.items() if value}
    pays = tuple(msgspec.structs.replace(pay, **card) if pay.type in types else pay for pay in fiscal.receipt.pays)
    whole = _with_receipt(request, msgspec.structs.replace(fiscal.receipt, pays=pays))
    return msgspec.structs.replace(whole, paid=True)


def _with_receipt(request: TaskRequest, receipt: ReceiptRequest) -> TaskRequest:
    assert request.fiscal is not None
    return msgspec.structs.replace(request, fiscal=msgspec.structs.replace(request.fiscal, receipt=receipt))


_BACK = one_of(Text("2 (повернення)", "2 (refund)"), Text("3 (скасування)", "3 (cancel)"))
"""The terminal's tasks of a return."""
