"""JSON documents read tolerantly: a member of an unexpected kind counts as absent.

A terminal's answer may be the only proof that money moved, so a fault in one member must not lose the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from protocols.errors import Garbled
from protocols.terminals.amounts import NOT_A_SUM

Tree: TypeAlias = Mapping[str, Any]
"""A JSON object."""

VERSION = "3.0"
"""Of the protocol, in every header."""

_decode = msgspec.json.Decoder(float_hook=str).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode

_MOST_MINOR = 10**15


def read(document: bytes) -> Tree:
    """The object in ``document``; numbers with a fraction come as text, so that none is rounded.

    :raises Garbled: when it is not a JSON object. The error contains none of it: it could contain card data.
    """
    try:
        tree = _decode(document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Garbled(f"{len(document)} bytes that are not JSON") from None
    if not isinstance(tree, dict) or not tree:
        raise Garbled("not a JSON object")
    return tree


def write(tree: Tree) -> bytes:
    """``tree`` as JSON without blanks; a `Decimal` becomes a number with all its digits."""
    return _encode(tree)


def as_tree(value: object) -> Tree:
    """``value`` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def branch(tree: Tree, *names: str) -> Tree:
    """The object at the end of a path of members; empty when there is none."""
    for name in names:
        tree = as_tree(tree.get(name))
    return tree


def branches(tree: Tree, name: str) -> list[Tree]:
    """The objects in a list; a single object counts as a list of one."""
    value = tree.get(name)
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def text(tree: Tree, name: str) -> str:
    """A member as text; empty when there is none."""
    value = tree.get(name)
    if isinstance(value, bool) or value is None:
        return ""
    return str(value) if isinstance(value, (str, int)) else ""


def integer(tree: Tree, name: str) -> int:
    """A member as a whole number; 0 when there is none."""
    value = tree.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19 else 0


def money(minor: int) -> Decimal:
    """An amount as nexo writes it: 1099 is ``10.99``."""
    return Decimal(minor).scaleb(-2)


def minor(tree: Tree, name: str) -> int | None:
    """An amount in hundredths; `None` when there is none, or it is not exact."""
    try:
        amount = Decimal(text(tree, name) or "x").scaleb(2)
    except ArithmeticError:
        return None
    if not amount.is_finite() or abs(amount) > _MOST_MINOR or amount != amount.to_integral_value():
        return None
    return int(amount)


def reported(tree: Tree, name: str) -> int | None:
    """An approved amount in hundredths; `None` when there is none, `NOT_A_SUM` when it is not exact."""
    amount = minor(tree, name)
    return NOT_A_SUM if amount is None and tree.get(name) is not None else amount
