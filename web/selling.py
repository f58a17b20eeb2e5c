"""What the page of sales asks before it sells: the sums of a basket, by the arithmetic of the receipt itself.

The sale is a task like any other (`web.tasks`); nothing here makes a document or asks a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import day_of
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.devices.driver import REGISTER, BadSettings
from dmtwisted.documents import documents
from dmtwisted.documents.documents import RETURN as RETURNED
from dmtwisted.documents.documents import SALE as SOLD
from dmtwisted.documents.documents import STORNO, Document, Receipt
from dmtwisted.money import NotANumber, decimal_text, thousandths
from dmtwisted.registers.basket import BasketSums, reckon
from dmtwisted.registers.interface import SALE
from dmtwisted.registers.returning import CardLeft, Left, as_sent, card_of, left_of, receipt_back, row_back
from dmtwisted.registers.settings import RegisterSettings, on_day
from dmtwisted.requests import TYPE_FISCAL, Members, ReceiptRequest, RowRequest, read_json, read_task
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DocumentQuery, FoundDocument
from dmtwisted.terminals.interface import Task
from web.answers import json_answer, language_of
from web.filters import LARGEST_NUMBER
from web.management import answer_errors, read_object
from web.uploads import read_body


class Basket(msgspec.Struct):
    """Rows and discounts as in `fiscal.receipt`; `card`, a sum or `all`, is paid by card; `given` is the cash."""

    receipt: dict[str, Any]
    card: Any = 0
    given: Any = None


class RowBack(msgspec.Struct, forbid_unknown_fields=True):
    """How many of the row, counted from 0, are given back, and which of its excise marks."""

    row: int
    cnt: str | int | float
    marks: list[str] = []


class ReturnAsked(msgspec.Struct, forbid_unknown_fields=True):
    """What is given back of a receipt; `card`: as much as possible to the card."""

    rows: list[RowBack]
    card: bool = False


class ReturnSums(msgspec.Struct):
    """The sums of a return, and what a request for it has: `tag`, `fiscal.receipt`, and `pay` for a card."""

    tag: str
    sums: BasketSums
    receipt: dict[str, Any]
    pay: dict[str, Any] | None


@dataclass(frozen=True)
class Sale:
    """A sale, and what of it was not given back yet; ``tag`` is that of its next return."""

    device: Device
    row: FoundDocument
    value: Document
    left: list[Left]
    card: CardLeft | None
    tag: str

    @property
    def ended(self) -> bool:
        """Whether all of it was given back."""
        return not any(left.cnt for left in self.left)


class SellingApi:
    """The sums of baskets and returns."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/api/v3/devices/<dev_id>/reckon", methods=["POST"])
    async def reckon(self, request: IRequest, dev_id: str) -> bytes:
        """What a receipt would come to: its sums, taxes and payments. Nothing is done."""
        device = self._core.devices.by_id(dev_id)
        if device.kind != REGISTER:
            raise Refused(Res.UNKNOWN_DEVICE)
        root = read_json(read_body(request))
        settings = await self._settings(device)
        card = None if root.value("card") == "all" else root.amount("card")
        given = root.amount_or_none("given")
        language = language_of(request, self.default_language)
        return json_answer(request, 200, reckon(_receipt(root), settings, device.name, language, card, given))

    @app.route("/dm/api/v3/receipts/<dev_id>/<int:number>/return", methods=["POST"])
    async def give_back(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """What a return of a part of a receipt would come to. Nothing is done."""
        asked = read_object(request, ReturnAsked)
        sale = await sale_of(self._core, dev_id, number)
        if sale is None:
            raise Refused(Res.TAG_NOT_FOUND)
        rows = [_row_back(sale.left, one) for one in asked.rows]
        receipt = receipt_back([row for row in rows if row.cnt], sale.row.fiscal_number, sale.value.header.fisid)
        card, language = sale.card if asked.card else None, language_of(request, self.default_language)
        sums = reckon(
            receipt,
            await self._settings(sale.device),
            sale.device.name,
            language,
            card.sum if card is not None else 0,
            card_type=card.type if card is not None else None,
        )
        sent = {
            "rows": [as_sent(row) for row in receipt.rows],
            "sum": sums.sum,
            "autoround": True,
            "pays": sums.pays,
            "purchase_receipt_fisn": receipt.purchase_receipt_fisn,
            "purchase_rro_fisn": receipt.purchase_rro_fisn,
        }
        pay = {"task": int(Task.REFUND), "refundid": card.rrn} if card is not None and len(sums.pays) else None
        return json_answer(request, 200, ReturnSums(sale.tag, sums, sent, pay))

    async def _settings(self, device: Device) -> RegisterSettings:
        """The settings that count for the next receipt: those of the day on which the shift was opened."""
        settings = register_settings(device)
        if not settings.dated:
            return settings
        state: dict[str, Any] = await device.built.state()
        opened = state.get("opened_at") if state.get("shift_status") else None
        return on_day(settings, day_of(opened or self._core.clock.now()))


async def sale_of(core: Core, dev_id: str, number: int) -> Sale | None:
    """The sale with this number, if a part of it could be given back; `None` for anything else.

    :raises Refused: 1091 when there is no such device.
    """
    device = core.devices.by_id(dev_id)
    asked = DocumentQuery(devices=[device.row.n], kinds=[SOLD], number=min(number, LARGEST_NUMBER), limit=1)
    found = (await core.store.find_documents(asked)).documents
    if not found or not found[0].fiscal_number:
        return None
    value = documents.decode(found[0].value)
    if value.receipt is None or value.receipt.part is not None or not value.receipt.goods:
        return None
    returned, returns = await _returned(core, found[0], value.receipt)
    batch = register_settings(device).batch
    types = batch.pay_types if batch is not None and batch.terminal else ()
    # Two windows that give back the same have one tag, so only one of them does.
    tag = f"return-{found[0].fiscal_number}-{returns + 1}"
    left, card = left_of(value.receipt, returned), card_of(value.receipt, returned, types)
    return Sale(device, found[0], value, left, card, tag)


async def _returned(core: Core, sale: FoundDocument, sold: Receipt) -> tuple[list[Receipt], int]:
    """What was given back of a sale at any register of this service, all of it by its own storno.

    :returns: those receipts, and how many returns there were with those that a storno took back.
    """
    registers = [device.row.n for device in core.devices if device.kind == REGISTER]
    kinds = [RETURNED, STORNO]
    asked = DocumentQuery(
        devices=registers, kinds=kinds, at_from=sale.at, newest_first=False, limit=AT_ONCE, counted=False
    )
    found: dict[tuple[int, int], Receipt] = {}
    returns = 0
    while True:
        rows = (await core.store.find_documents(asked)).documents
        for row in rows:
            value = documents.decode(row.value)
            if value.reverses is not None:
                reversed_one = (row.device_n, value.reverses.number)
                found.pop(reversed_one, None)
                if reversed_one == (sale.device_n, sale.number):
                    found[reversed_one] = sold
            elif value.receipt is not None and value.receipt.purchase_receipt_fisn == sale.fiscal_number:
                found[row.device_n, row.number] = value.receipt
                returns += 1
        if len(rows) < AT_ONCE:
            return list(found.values()), returns
        asked = msgspec.structs.replace(asked, offset=asked.offset + AT_ONCE)


AT_ONCE = 200
"""Documents that are read at a time."""


def _row_back(left: list[Left], asked: RowBack) -> RowRequest:
    """The row of a return.

    :raises BadSettings: when it is more than was sold, or names other marks.
    """
    try:
        cnt = thousandths(str(asked.cnt))
    except NotANumber as error:
        raise BadSettings("cnt", error.text.en) from None
    if not 0 <= asked.row < len(left):
        raise BadSettings("row", f"a number from 0 to {len(left) - 1} is expected")
    row = left[asked.row]
    if not 0 <= cnt <= row.cnt:
        raise BadSettings("cnt", f"a number from 0 to {decimal_text(row.cnt, 3)} is expected")
    if not set(asked.marks) <= set(row.marks):
        raise BadSettings("marks", "excise marks of the sale are expected")
    return row_back(row, cnt, tuple(asked.marks))


def _receipt(root: Members) -> ReceiptRequest:
    fiscal = {"task": SALE, "receipt": root.value("receipt") or {"rows": []}}
    task = read_task(Members({"type": TYPE_FISCAL, "fiscal": fiscal}, "")).fiscal
    assert task is not None and task.receipt is not None
    return msgspec.structs.replace(task.receipt, pays=(), round=0)
