"""Which member of a JSON text an error of msgspec is about, for readable error texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.inspect import (
    DictType,
    EnumType,
    ListType,
    LiteralType,
    Metadata,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

_PLACE = re.compile(r"(?P<text>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_MEMBER = re.compile(r"(?:unknown|missing required) field `(?P<name>[^`]*)`")


def explain(error: msgspec.ValidationError) -> tuple[str, str]:
    """The path of the member, ``rules[0].then``, and what is wrong with it; the path is empty for the whole."""
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    text, path = found["text"], found["path"] or ""
    member = _MEMBER.search(text)
    if member is not None:
        path = f"{path}.{member['name']}" if path else member["name"]
    return path, text


def choices(kind: Any, path: str) -> tuple[object, ...]:
    """The values that the member at ``path`` of a ``kind`` may have; none when they are not listed."""
    found = [type_info(kind)]
    for name in re.findall(r"[^.\[\]]+", path):
        found = [inner for one in found for each in _plain(one) for inner in _inside(each, name)]
    return tuple(value for one in found for each in _plain(one) for value in _values(each))


def _plain(kind: Type) -> Iterator[Type]:
    """The types that ``kind`` is made of."""
    for one in kind.types if isinstance(kind, UnionType) else (kind,):
        yield from _plain(one.type) if isinstance(one, Metadata) else (one,)


def _inside(kind: Type, name: str) -> Iterator[Type]:
    if isinstance(kind, StructType):
        yield from (field.type for field in kind.fields if field.encode_name == name)
    elif isinstance(kind, ListType | VarTupleType):
        yield kind.item_type
    elif isinstance(kind, DictType):
        yield kind.value_type


def _values(kind: Type) -> Iterator[object]:
    if isinstance(kind, LiteralType):
        yield from kind.values
    elif isinstance(kind, EnumType):
        yield from (member.value for member in kind.cls)
