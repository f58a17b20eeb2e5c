"""What the page of sales asks before it sells: the sums of a basket, by the arithmetic of the receipt itself.

The sale is a task like any other (`web.tasks`); nothing here makes a document or asks a device.
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import day_of
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.basket import reckon
from dmtwisted.registers.interface import SALE
from dmtwisted.registers.settings import RegisterSettings, on_day
from dmtwisted.requests import TYPE_FISCAL, Members, ReceiptRequest, read_json, read_task
from dmtwisted.results import Refused, Res
from web.answers import json_answer, language_of
from web.management import answer_errors
from web.uploads import read_body


class Basket(msgspec.Struct):
    """Rows and discounts as in `fiscal.receipt`; `card`, a sum or `all`, is paid by card; `given` is the cash."""

    receipt: dict[str, Any]
    card: Any = 0
    given: Any = None


class SellingApi:
    """The sums of baskets."""

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

    async def _settings(self, device: Device) -> RegisterSettings:
        """The settings that count for the next receipt: those of the day on which the shift was opened."""
        settings = register_settings(device)
        if not settings.dated:
            return settings
        state: dict[str, Any] = await device.built.state()
        opened = state.get("opened_at") if state.get("shift_status") else None
        return on_day(settings, day_of(opened or self._core.clock.now()))


def _receipt(root: Members) -> ReceiptRequest:
    fiscal = {"task": SALE, "receipt": root.value("receipt") or {"rows": []}}
    task = read_task(Members({"type": TYPE_FISCAL, "fiscal": fiscal}, "")).fiscal
    assert task is not None and task.receipt is not None
    return msgspec.structs.replace(task.receipt, pays=(), round=0)
