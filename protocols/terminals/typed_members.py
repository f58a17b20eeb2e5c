"""Members of a message as typed fields: each message is a frozen dataclass, its fields are named as on the wire.

``invoice_number: str`` is the member ``invoiceNumber``. All values travel as text
(docs/reference/privatbank-json.md#envelope): a number is ``"5"``, a flag ``"true"``; `Wire` in the field's annotation
describes any other form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Wire:
    """How a kind of value is written as text and read again."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    name: str = ""
    """The member's name, where it is not that of the field in camel case."""


def _yes(text: str) -> bool:
    return text.lower() in ("true", "1")


_BY_TYPE: dict[Any, Wire] = {
    str: Wire(str, str),
    int: Wire(str, int),
    bool: Wire(lambda flag: "true" if flag else "false", _yes),
}

ONE_OR_ZERO = Wire(lambda flag: "1" if flag else "0", _yes)
"""A flag that is written as a digit."""


@dataclass(frozen=True)
class _Member:
    field: str
    name: str
    wire: Wire
    optional: bool
    """`None` means that the member is left out."""
    required: bool


_known: dict[type[Any], tuple[_Member, ...]] = {}


def _members(cls: type[Any]) -> tuple[_Member, ...]:
    if cls not in _known:
        hints = get_type_hints(cls, include_extras=True)
        fields = [field for field in dataclasses.fields(cls) if not field.metadata.get("apart")]
        _known[cls] = tuple(_member(field, hints[field.name]) for field in fields)
    return _known[cls]


def _member(field: dataclasses.Field[Any], hint: Any) -> _Member:
    optional = get_origin(hint) is not Annotated and NoneType in get_args(hint)
    if optional:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    wire = hint.__metadata__[0] if get_origin(hint) is Annotated else _BY_TYPE[hint]
    first, *rest = field.name.split("_")
    name = wire.name or first + "".join(word.capitalize() for word in rest)
    return _Member(field.name, name, wire, optional, field.default is dataclasses.MISSING)


@dataclass(frozen=True)
class Members:
    """A value in ``params``; a field with the metadata ``apart`` is elsewhere in the message."""

    def params(self) -> dict[str, str]:
        """The members as text."""
        params = {}
        for member in _members(type(self)):
            value = getattr(self, member.field)
            if not (member.optional and value is None):
                params[member.name] = member.wire.write(value)
        return params

    @classmethod
    def read(cls, params: Mapping[str, str], **apart: object) -> Self:
        """The value in ``params``; unknown members are skipped.

        :param apart: the fields that are elsewhere in the message.
        :raises ValueError: when a member is missing or cannot be read.
        """
        values: dict[str, Any] = dict(apart)
        for member in _members(cls):
            if member.name in params:
                values[member.field] = member.wire.read(params[member.name])
            elif member.required:
                raise ValueError(f"{member.name} is missing")
        return cls(**values)
