"""The parts of a request in batch mode: an order for the terminal, and a receipt with the card's data."""

from __future__ import annotations

from uuid import uuid4

import msgspec

from dmtwisted.money import hryvnias
from dmtwisted.registers.interface import RETURN, SALE, X_REPORT, Z_REPORT
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


def no_terminal() -> Refused:
    """430: a card cannot be charged or refunded while the register has no terminal."""
    why = Text(
        "у налаштуваннях каси не вибрано термінал для оплати карткою (batch.terminal)",
        "the register's settings name no terminal for payments by card (batch.terminal)",
    )
    return Refused(Res.DEVICE_ERROR, why)


def see_that_pay_fits(request: TaskRequest, settings: BatchSettings) -> None:
    """Refuse a request whose ``pay`` orders what cannot be done: it must not end as a receipt alone.

    :raises Refused: 430 while the settings name no terminal, 2000 for a task that uses none.
    """
    if request.pay is None:
        return
    if request.task not in (SALE, RETURN, X_REPORT, Z_REPORT):
        raise malformed("pay", Text("це завдання не працює з терміналом", "this task uses no terminal"))
    if not settings.terminal:
        raise no_terminal()


def pay_order(request: TaskRequest, amount: int, settings: BatchSettings) -> Order:
    """The order for the terminal: a payment, or what ``pay`` of a return says.

    :param amount: kopecks.
    :raises Refused: 1098 for a return without ``pay`` or without the payment that it takes back, 2000 for a ``pay``
        that orders something else, or another sum, than the receipt says.
    """
    pay: PayTask | None = request.pay
    if not amount:
        types = ", ".join(map(str, settings.pay_types))
        raise malformed(
            "fiscal.receipt.pays",
            Text(
                f"немає оплати карткою, хоча є pay; її типи (batch.pay_types): {types}",
                f"there is no payment by card for pay; its types (batch.pay_types): {types}",
            ),
        )
    if pay is not None and pay.sum not in (0, amount):
        shown = hryvnias(amount)
        raise malformed("pay.sum", Text(f"у чеку карткою {shown}", f"the receipt has {shown} by card"))
    merchant = (pay.merchant.strip() if pay is not None else "") or settings.merchant
    if request.task == SALE:
        if pay is not None and pay.task not in (None, Task.PAYMENT):
            raise malformed("pay.task", Text("для продажу очікується 1 (оплата)", "a sale takes 1 (payment)"))
        return Order(task=Task.PAYMENT, uid=str(uuid4()), sum=amount, merchant=merchant)
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
        merchant=merchant,
    )


def cancel_order(order: Order, paid: Approved) -> Order:
    """The order that takes back a payment or a refund."""
    uid, merchant = str(uuid4()), order.merchant
    return Order(Task.CANCEL, uid, cancelid=paid.cancelid, rrn=paid.rrn, sum=paid.kopecks, merchant=merchant)


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


def counts_on_card(request: TaskRequest, settings: BatchSettings) -> bool:
    """Whether ``request`` has a payment of the terminal's types, without the data of a card that was charged."""
    fiscal, types = request.fiscal, {str(pay_type) for pay_type in settings.pay_types}
    if fiscal is None or fiscal.receipt is None or request.task not in (SALE, RETURN):
        return False
    return any(pay.type in types and not (pay.rrn or pay.auth_code) for pay in fiscal.receipt.pays)


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
