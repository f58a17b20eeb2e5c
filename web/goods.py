"""``/dm/api/v3/goods``: the goods of a shop without a till program, one by one and as CSV files."""

from __future__ import annotations

from typing import Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.answers import Number, amount
from dmtwisted.core import Core
from dmtwisted.devices.driver import BadSettings
from dmtwisted.goods.file import Mistake, Unreadable, read_goods, write_goods
from dmtwisted.goods.goods import Goods, Item, Taken
from dmtwisted.money import NotANumber, kopecks
from dmtwisted.results import Text
from dmtwisted.wording import wording
from web.answers import json_answer, language_of
from web.filters import PageOf, given_in, page_of
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.uploads import is_form, read_form

SHOWN = 20
"""Items that an import shows before it is done."""

FILTERS = ("search", "page", "page_size")


class GoodsRecord(msgspec.Struct):
    """An item: its code, name and price in hryvnias; `taxgrp` empty is the register's default."""

    code: str
    name: str
    price: Number
    barcode: str
    taxgrp: str
    unit: str
    uktzed: str
    excise: bool


class GoodsList(msgspec.Struct):
    """A page of items, by name."""

    paging: PageOf
    goods: list[GoodsRecord]


class GoodsItem(msgspec.Struct, forbid_unknown_fields=True):
    """An item to add, or to replace the one with its `code`."""

    code: str
    name: str
    price: str | int | float
    barcode: str = ""
    taxgrp: str | int = ""
    unit: str = ""
    uktzed: str = ""
    excise: bool = False


class GoodsFile(msgspec.Struct, forbid_unknown_fields=True):
    """A CSV file as text; `dry` only says what it would do, `replace` removes what the file does not have."""

    csv: str
    mode: Literal["add", "replace"] = "add"
    dry: bool = False


class FileMistake(msgspec.Struct):
    """What is wrong in a line of the file; 0 is the file as a whole."""

    line: int
    text: str


class GoodsImport(Taken, kw_only=True):
    """What the file does, or would do; with `mistakes` nothing is stored."""

    done: bool
    mistakes: list[FileMistake]
    goods: list[GoodsRecord]


class GoodsApi:
    """Lists, changes, imports and exports goods."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._goods: Goods = core.goods
        self.default_language = default_language

    @app.route("/dm/api/v3/goods", methods=["GET"])
    async def list(self, request: IRequest) -> bytes:
        """Goods by code, bar code or words of their names."""
        given = given_in(request, FILTERS)
        page, size = page_of(given)
        found, total = await self._goods.find(given.get("search", ""), size, (page - 1) * size)
        return json_answer(request, 200, GoodsList(PageOf(page, size, total), [record_of(one) for one in found]))

    @app.route("/dm/api/v3/goods", methods=["POST"])
    async def save(self, request: IRequest) -> bytes:
        """Add an item, or replace the one with its code."""
        item = _read_item(read_object(request, GoodsItem))
        new = await lasting(self._goods.save(item))
        return json_answer(request, 201 if new else 200, record_of(item))

    @app.route("/dm/api/v3/goods", methods=["DELETE"])
    async def remove(self, request: IRequest) -> bytes:
        """Remove an item."""
        if not await lasting(self._goods.remove(given_in(request, ("code",)).get("code", ""))):
            raise HttpRefusal(404, Text("такого товару немає", "there is no such item"))
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/goods/import", methods=["POST"])
    async def take(self, request: IRequest) -> bytes:
        """Add the goods of a CSV file, or have them in place of all others."""
        if is_form(request):
            form = read_form(request)
            file, instead, dry = form.file("file"), form.text("mode") == "replace", form.text("dry") == "1"
        else:
            asked = read_object(request, GoodsFile)
            file, instead, dry = asked.csv.encode(), asked.mode == "replace", asked.dry
        language = language_of(request, self.default_language)
        try:
            items, wrong = read_goods(file)
        except Unreadable as error:
            items, wrong = [], [Mistake(1, error.text)]
        if not items and not wrong:
            wrong = [Mistake(1, Text("у файлі немає жодного товару", "the file has no item"))]
        try:
            taken = await lasting(self._goods.take([] if wrong else items, instead and not wrong, dry or bool(wrong)))
        except BadSettings as error:
            taken = await lasting(self._goods.take([], False, True))
            wrong = [Mistake(0, wording(error.text))]
        done = not dry and not wrong
        mistakes = [FileMistake(one.line, one.text.for_language(language)) for one in wrong]
        shown = [record_of(one) for one in items[:SHOWN]]
        answer = GoodsImport(
            taken.added, taken.changed, taken.removed, taken.total, done=done, mistakes=mistakes, goods=shown
        )
        return json_answer(request, 422 if wrong else 200, answer)

    @app.route("/dm/api/v3/goods/export", methods=["GET"])
    async def export(self, request: IRequest) -> bytes:
        """All goods as a CSV file."""
        items = sorted((await self._goods.load()).values(), key=lambda item: item.name.casefold())
        request.setHeader(b"content-type", b"text/csv; charset=utf-8")
        request.setHeader(b"content-disposition", b'attachment; filename="goods.csv"')
        return write_goods(items, language_of(request, self.default_language))


def record_of(item: Item) -> GoodsRecord:
    """An item as the interface shows it."""
    return GoodsRecord(
        item.code, item.name, amount(item.price), item.barcode, item.taxgrp, item.unit, item.uktzed, item.excise
    )


def _read_item(given: GoodsItem) -> Item:
    """The item that was given.

    :raises BadSettings: with the name of what does not fit.
    """
    try:
        price = kopecks(given.price if isinstance(given.price, int) else str(given.price).replace(",", "."))
    except NotANumber as error:
        raise BadSettings("price", error.text.en) from None
    members = {**{name: getattr(given, name) for name in Item.__struct_fields__}, "price": price}
    members["taxgrp"] = str(given.taxgrp)
    for name, value in members.items():
        if isinstance(value, str):
            members[name] = value.strip()
    for name, kind in _KINDS.items():
        try:
            msgspec.convert(members[name], kind)
        except msgspec.ValidationError:
            raise BadSettings(name, EXPECTED[name]) from None
    return Item(**members)


_KINDS = {field.name: field.type for field in msgspec.structs.fields(Item)}
EXPECTED = {
    "code": "a text of at most 64 characters is expected",
    "name": "a text of at most 200 characters is expected",
    "price": "a number from 0 to 10000000 is expected",
    "barcode": "a text of at most 64 characters is expected",
    "taxgrp": "the number of a tax group is expected",
    "unit": "a text of at most 20 characters is expected",
    "uktzed": "at most 10 digits are expected",
}
