"""Documents without goods, and the list of offline numbers (docs/reference/tax-cabinet.md#kinds)::

<C T="108"></C>                                     open the shift
<C T="109"></C>, <C T="110"></C>                    go offline, be back online
<C T="111"></C>                                     ping, which no MAC follows
<C T="112"><H SIZE="150"></H></C>                   ask for offline numbers
<RS V="1"><C T="112"><ID>…</ID>…</C></RS>           the server's answer to it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocols.fiscal.cabinet.documents import C, Kind
from protocols.fiscal.cabinet.documents_rows import H
from protocols.fiscal.cabinet.documents_types import Count, Words64
from protocols.fiscal.cabinet.documents_xml import read, tree, write
from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.xml_tree import write as write_tree

SERVICE = frozenset({Kind.OPEN, Kind.OFFLINE, Kind.ONLINE, Kind.PING, Kind.NUMBERS})
"""Kinds of documents without goods; cash in and out is a receipt."""

USUAL_SIZE = 150
"""Offline numbers that are asked for at once, as in the description's sample."""

PING_NUMBER = 0x7FFFFFFF
"""The local number of a ping."""


def asking_for_numbers(size: int = USUAL_SIZE) -> C:
    """The content of a request for ``size`` offline numbers."""
    return C(t=Kind.NUMBERS, rows=(H(size=size),))


def size_asked(content: C) -> int | None:
    """How many offline numbers ``content`` asks for; `None` when it does not say."""
    return next((row.size for row in content.rows if isinstance(row, H)), None)


@dataclass(frozen=True, kw_only=True)
class _Listed:
    TAG: ClassVar = "C"
    t: Count
    id: tuple[Words64, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _RS:
    TAG: ClassVar = "RS"
    v: Words64 = "1"
    content: _Listed


def encode_numbers(numbers: Sequence[str]) -> bytes:
    """The server's list of reserved ``numbers``.

    :raises DocumentError: when one cannot be written.
    """
    return write_tree(write(_RS(content=_Listed(t=Kind.NUMBERS, id=tuple(numbers)))))


def decode_numbers(data: bytes) -> tuple[str, ...]:
    """The reserved numbers in the server's list, in order, with or without ``RS`` around it.

    :raises DocumentError: when it is not such a list, or a number is empty or occurs twice.
    """
    root = tree(data)
    listed = read(_Listed, root) if root.name == _Listed.TAG else read(_RS, root).content
    if listed.t != Kind.NUMBERS:
        raise DocumentError(Fault(f"{root.name}/@T", f"{Kind.NUMBERS} is expected, not {listed.t}"))
    numbers = tuple(number.strip() for number in listed.id)
    if "" in numbers or len(set(numbers)) < len(numbers):
        raise DocumentError(Fault(f"{root.name}/ID", "different numbers are expected"))
    return numbers
