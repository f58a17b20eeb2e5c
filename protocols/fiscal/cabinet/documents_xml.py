"""Tags as data, and the canonical form (docs/reference/tax-cabinet.md#canonical-form).

A tag is a frozen dataclass; its fields say what it carries::

    TAG: ClassVar = "P"                       <P …>
    n: Count                                  N="1"          required
    cd: Words | None = None                   CD="…"         may be absent
    text: Words = ""                          <L>…</L>       the text inside the tag
    marks: tuple[CA, ...] = ()                <CA …></CA>…   tags inside, by their ``TAG``
    counts: NC | None = None                  <NC …></NC>    one tag inside, or none
    ts: Moment, named in ``INSIDE``           <TS>…</TS>     one tag inside that is a text
    id: tuple[Words, ...] = ()                <ID>…</ID>…    tags inside that are texts

An attribute is named after its field, in capitals; ``SPELLED`` of a tag has the exceptions. Written are attributes in
alphabetical order, one blank between them, no tag that closes itself, no blank between tags. Read is any spelling of
the same tags, but no attribute, tag or text that is not declared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.simple_types import SimpleType
from protocols.fiscal.xml_tree import MalformedXml, Node, parse

T = TypeVar("T")

TEXT = "text"
"""The field of the text inside a tag."""

LARGEST = 1 << 20
"""Bytes of a document that are read; a receipt of a thousand rows has a fifth of it."""


@dataclass(frozen=True)
class Attribute:
    """One attribute of a tag."""

    field: str
    name: str
    required: bool
    simple: SimpleType


@dataclass(frozen=True)
class Children:
    """The tags that one field holds: several, one, or one that may be absent."""

    field: str
    kinds: Mapping[str, type[Any] | SimpleType]
    """By name of the tag: its class, or the type of its text when it is nothing but that."""
    several: bool
    required: bool


@dataclass(frozen=True)
class Description:
    """What a tag carries."""

    attributes: Mapping[str, Attribute]
    """By name, in alphabetical order."""
    children: tuple[Children, ...]
    text: SimpleType | None


_known: dict[type[Any], Description] = {}


def described(tag: type[Any]) -> Description:
    """What ``tag`` carries, by its fields."""
    if tag not in _known:
        hints = get_type_hints(tag, include_extras=True)
        _known[tag] = _described(tag, [(field, hints[field.name]) for field in dataclasses.fields(tag)])
    return _known[tag]


def _described(tag: type[Any], fields: list[tuple[dataclasses.Field[Any], Any]]) -> Description:
    spelled: Mapping[str, str] = getattr(tag, "SPELLED", {})
    inside: tuple[str, ...] = getattr(tag, "INSIDE", ())
    attributes: dict[str, Attribute] = {}
    children: list[Children] = []
    text = None
    for field, hint in fields:
        required = field.default is dataclasses.MISSING
        parts = [part for part in _parts(hint) if part is not NoneType]
        several = get_origin(parts[0]) is tuple
        kinds = _parts(get_args(parts[0])[0]) if several else parts
        name = spelled.get(field.name, field.name.upper())
        if get_origin(kinds[0]) is not Annotated:
            children.append(Children(field.name, {one.TAG: one for one in kinds}, several, required))
        elif several or field.name in inside:
            children.append(Children(field.name, {name: kinds[0].__metadata__[0]}, several, required))
        elif field.name == TEXT:
            text = kinds[0].__metadata__[0]
        else:
            attributes[name] = Attribute(field.name, name, required, kinds[0].__metadata__[0])
    return Description(dict(sorted(attributes.items())), tuple(children), text)


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


# Reading


def tree(data: bytes) -> Node:
    """The tags of ``data``, unchecked.

    :raises DocumentError: when it is too long, is not XML, or is nested too deep.
    """
    if len(data) > LARGEST:
        raise DocumentError(Fault("", f"at most {LARGEST} bytes are expected, not {len(data)}"))
    try:
        return parse(data)
    except MalformedXml as error:
        raise DocumentError(Fault("", f"it is not XML ({error})")) from None


def read(tag: type[T], node: Node, path: str = "") -> T:
    """The value of ``node``.

    :param path: its place in the document; its name when empty.
    :raises DocumentError: with every fault when it is not a ``tag``.
    """
    path = path or node.name
    found = tuple(faults(tag, node, path))
    if found:
        raise DocumentError(*found)
    return _read(tag, node)


def faults(tag: type[Any], node: Node, path: str) -> Iterator[Fault]:
    """Everything that is wrong with ``node`` as a ``tag``, in document order; `path` like ``RQ/DAT/C/P[2]``."""
    description = described(tag)
    for name, value in node.attributes.items():
        attribute = description.attributes.get(name)
        if attribute is None:
            yield Fault(f"{path}/@{name}", "an attribute of this name is not expected here")
        else:
            yield from _value_faults(attribute.simple, value, f"{path}/@{name}")
    for attribute in description.attributes.values():
        if attribute.required and attribute.name not in node.attributes:
            yield Fault(f"{path}/@{attribute.name}", "the attribute is required")
    if description.text is not None:
        yield from _value_faults(description.text, node.text, path)
    elif node.text.strip():
        yield Fault(path, "a text is not expected here")
    yield from _child_faults(description, node, path)


def _value_faults(simple: SimpleType, text: str, path: str) -> Iterator[Fault]:
    try:
        simple.read(text)
    except ValueError as error:
        yield Fault(path, str(error))


def _child_faults(description: Description, node: Node, path: str) -> Iterator[Fault]:
    known = {name: (group, kind) for group in description.children for name, kind in group.kinds.items()}
    counted: dict[str, int] = {}
    held: dict[str, int] = {}
    for child in node.children:
        if child.name not in known:
            yield Fault(f"{path}/{child.name}", "a tag of this name is not expected here")
            continue
        group, kind = known[child.name]
        counted[child.name] = place = counted.get(child.name, 0) + 1
        held[group.field] = held.get(group.field, 0) + 1
        if not group.several and held[group.field] > 1:
            yield Fault(f"{path}/{child.name}", f"only one {' or '.join(group.kinds)} is expected")
        yield from _kind_faults(
            kind, child, f"{path}/{child.name}[{place}]" if group.several else f"{path}/{child.name}"
        )
    for group in description.children:
        if group.required and group.field not in held:
            yield Fault(f"{path}/{'|'.join(group.kinds)}", "the tag is required")


def _kind_faults(kind: type[Any] | SimpleType, node: Node, path: str) -> Iterator[Fault]:
    if not isinstance(kind, SimpleType):
        yield from faults(kind, node, path)
        return
    if node.children or node.attributes:
        yield Fault(path, "only a text is expected here")
    yield from _value_faults(kind, node.text, path)


def _read(tag: type[T], node: Node) -> T:
    description = described(tag)
    values: dict[str, Any] = {
        description.attributes[name].field: description.attributes[name].simple.read(value)
        for name, value in node.attributes.items()
    }
    if description.text is not None:
        values[TEXT] = description.text.read(node.text)
    for group in description.children:
        found = [_kind(group.kinds[child.name], child) for child in node.children if child.name in group.kinds]
        if group.several:
            values[group.field] = tuple(found)
        elif found:
            values[group.field] = found[0]
    return tag(**values)


def _kind(kind: type[Any] | SimpleType, node: Node) -> Any:
    return kind.read(node.text) if isinstance(kind, SimpleType) else _read(kind, node)


# Writing


def write(value: Any, path: str = "") -> Node:
    """The tag of ``value``, in canonical form.

    :param path: its place in the document; its name when empty.
    :raises DocumentError: with the place, when a value cannot be written.
    """
    description = described(type(value))
    path = path or value.TAG
    attributes = {
        name: _spell(attribute.simple, getattr(value, attribute.field), f"{path}/@{name}")
        for name, attribute in description.attributes.items()
        if getattr(value, attribute.field) is not None
    }
    text = _spell(description.text, getattr(value, TEXT), path) if description.text is not None else ""
    children: list[Node] = []
    counted: dict[str, int] = {}
    for group in description.children:
        held = getattr(value, group.field)
        (first, kind), *_ = group.kinds.items()
        for one in held if group.several else (held,):
            if one is None:
                continue
            name = first if isinstance(kind, SimpleType) else one.TAG
            counted[name] = counted.get(name, 0) + 1
            inside = f"{path}/{name}[{counted[name]}]" if group.several else f"{path}/{name}"
            children.append(
                Node(name, _spell(kind, one, inside)) if isinstance(kind, SimpleType) else write(one, inside)
            )
    return Node(value.TAG, text, tuple(children), attributes)


def _spell(simple: SimpleType, value: Any, path: str) -> str:
    try:
        return simple.write(value)
    except ValueError as error:
        raise DocumentError(Fault(path, str(error))) from None
