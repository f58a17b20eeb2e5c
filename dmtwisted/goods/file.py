"""Lists of goods as CSV files of spreadsheets and other programs, in either language; mistakes by line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

import msgspec

from dmtwisted.documents.accounts import FORMULA
from dmtwisted.documents.catalogue import TAX_GROUPS
from dmtwisted.goods.goods import MOST_GOODS, Item
from dmtwisted.money import NotANumber, hryvnias, kopecks
from dmtwisted.results import Text

MOST_MISTAKES = 100
"""Mistakes that are told of one file."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "code": ("код", "code", "код товару", "артикул", "sku", "item code"),
    "barcode": ("штрихкод", "bar code", "штрих-код", "штрих код", "barcode", "ean"),
    "name": ("назва", "name", "найменування", "товар", "назва товару", "item"),
    "price": ("ціна", "price", "ціна, грн", "ціна продажу"),
    "taxgrp": ("податкова група", "tax group", "група", "пдв", "податок", "taxgrp", "tax"),
    "unit": ("одиниця", "unit", "од.", "од", "одиниця виміру", "од. вим."),
    "uktzed": ("уктзед", "uktzed", "код уктзед", "укт зед"),
    "excise": ("акцизна марка", "excise mark", "акциз", "марка", "excise", "потрібна марка", "needs excise mark"),
}
"""The names of each column; the first two are those of a file that we write."""

_YES = frozenset({"1", "так", "т", "yes", "y", "true", "+", "є"})
_NO = frozenset({"", "0", "ні", "н", "no", "n", "false", "-"})
_GROUPS = {group.letter: str(group.code) for group in TAX_GROUPS}
_CYRILLIC = str.maketrans("ABEK", "АВЕК")
"""Latin letters that look like those of tax groups."""


class Mistake(msgspec.Struct, frozen=True):
    """What is wrong with a line of the file."""

    line: int
    text: Text


class Unreadable(Exception):
    """The file is no list of goods; ``text`` says why."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


def read_goods(file: bytes) -> tuple[list[Item], list[Mistake]]:
    """The items of a file, and what is wrong in it by line.

    :raises Unreadable: when it has no columns of goods.
    """
    lines = StringIO(_text(file), newline="")
    delimiter = max(";,\t", key=lines.readline().count)
    lines.seek(0)
    reader = csv.reader(lines, delimiter=delimiter)
    items: list[Item] = []
    mistakes: list[Mistake] = []
    codes: dict[str, int] = {}
    scanned: dict[str, int] = {}
    try:
        places = _places(next(reader, []))
        for cells in reader:
            line = reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(mistakes) >= MOST_MISTAKES:
                break
            read = _item({name: cells[n].strip() for name, n in places.items() if n < len(cells)})
            if isinstance(read, Text):
                mistakes.append(Mistake(line, read))
                continue
            twin = codes.setdefault(read.code, line)
            if twin == line and read.barcode:
                twin = scanned.setdefault(read.barcode, line)
            if twin != line:
                mistakes.append(Mistake(line, Text(f"такий код уже є в рядку {twin}", f"line {twin} has this code")))
            items.append(read)
            if len(items) > MOST_GOODS:
                raise Unreadable(Text(f"понад {MOST_GOODS} товарів", f"more than {MOST_GOODS} items"))
    except csv.Error as error:
        raise Unreadable(Text(f"рядок {reader.line_num} не читається", f"line {reader.line_num}: {error}")) from None
    return items, mistakes


def write_goods(items: Iterable[Item], language: str) -> bytes:
    """A file of goods that a spreadsheet opens, and `read_goods` reads back."""
    text = StringIO()
    writer = csv.writer(text, delimiter=";")
    writer.writerow([names[0 if language == "uk" else 1] for names in COLUMNS.values()])
    yes = "так" if language == "uk" else "yes"
    for one in items:
        price = hryvnias(one.price).replace(".", "," if language == "uk" else ".")
        cells = (one.code, one.barcode, one.name, price, one.taxgrp, one.unit, one.uktzed, yes if one.excise else "")
        writer.writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in cells])
    return "\ufeff".encode() + text.getvalue().encode()


def _text(file: bytes) -> str:
    """The file's text: UTF-8, UTF-16 with its mark, else windows-1251."""
    if file.startswith((b"\xff\xfe", b"\xfe\xff")):
        return file.decode("utf-16", "replace")
    try:
        return file.decode("utf-8-sig")
    except UnicodeDecodeError:
        return file.decode("cp1251", "replace")


def _places(head: Sequence[str]) -> dict[str, int]:
    """Which column is where."""
    titles = [" ".join(title.split()).casefold() for title in head]
    places = {}
    for column, names in COLUMNS.items():
        found = next((titles.index(name) for name in names if name in titles), None)
        if found is not None:
            places[column] = found
    if not {"name", "price"} <= set(places) or not {"code", "barcode"} & set(places):
        raise Unreadable(
            Text(
                "у першому рядку мають бути назви стовпців: код або штрихкод, назва, ціна",
                "the first line has to name the columns: code or bar code, name, price",
            )
        )
    return places


def _item(cells: Mapping[str, str]) -> Item | Text:
    """The item of a line, or what is wrong with it."""
    given = {
        name: cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
        for name, cell in cells.items()
    }
    code = given.get("code") or given.get("barcode", "")
    if not code:
        return Text("немає коду", "there is no code")
    if not given.get("name"):
        return Text("немає назви", "there is no name")
    try:
        price = kopecks("".join(given.get("price", "").split()).replace(",", "."))
    except NotANumber:
        return Text(
            f"ціна «{given.get('price', '')}» не є числом", f'the price "{given.get("price", "")}" is no number'
        )
    group = given.get("taxgrp", "")
    if group and not group.isdigit():
        letter = group.upper()
        known = _GROUPS.get(letter) or _GROUPS.get(letter.translate(_CYRILLIC))
        if known is None:
            return Text(f"податкової групи «{group}» немає", f'there is no tax group "{group}"')
        group = known
    excise = given.get("excise", "").casefold()
    if excise not in _YES | _NO:
        return Text(f"«{given['excise']}» не є ні «так», ні «ні»", f'"{given["excise"]}" is neither yes nor no')
    members = (
        code,
        given["name"],
        price,
        given.get("barcode", ""),
        group,
        given.get("unit", ""),
        given.get("uktzed", ""),
    )
    try:
        return msgspec.convert((*members, excise in _YES), Item)
    except msgspec.ValidationError as error:
        return _misfit(str(error))


def _misfit(why: str) -> Text:
    """What is wrong with a value that does not fit, by the place that msgspec names."""
    names = Item.__struct_fields__
    place = next((name for n, name in enumerate(names) if f"[{n}]" in why), "")
    uk, en = COLUMNS[place][:2] if place else ("рядок", "line")
    return Text(
        f"{uk}: значення задовге або має недозволені знаки", f"{en}: the value is too long or has forbidden signs"
    )
