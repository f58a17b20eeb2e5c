"""Data objects with tag and length (TLV), the extensible part of ZVT (docs/reference/zvt.md#fields).

A tag has one byte, or more when the low five bits of the first are all set (``1F 07``); each byte after that but the
last has bit 80. Bit 20 of the first byte marks a value that is made of data objects. Lengths are
``00``-``7F``, ``81 xx`` or ``82 hi lo``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from protocols.errors import Garbled

_MORE, _LOW, _CONSTRUCTED = 0x80, 0x1F, 0x20

LONGEST_TAG = 4
"""Bytes of the longest tag that is read; ZVT uses two."""


@dataclass(frozen=True)
class Tlv:
    """One data object."""

    tag: int
    """All bytes of the tag as one number: 1F07 hex."""
    value: bytes = b""

    @classmethod
    def of(cls, tag: int, *parts: Tlv) -> Tlv:
        """A data object that is made of others."""
        return cls(tag, encode_all(parts))

    @property
    def constructed(self) -> bool:
        """Whether the value is made of data objects."""
        return bool(_tag_bytes(self.tag)[0] & _CONSTRUCTED)

    @property
    def parts(self) -> tuple[Tlv, ...]:
        """The data objects within.

        :raises Garbled: when the value is not made of any.
        """
        return decode_all(self.value)

    def encode(self) -> bytes:
        """Its bytes, with the shortest length."""
        return _tag_bytes(self.tag) + encode_length(len(self.value)) + self.value


def encode_all(parts: Iterable[Tlv]) -> bytes:
    """The bytes of data objects that follow each other."""
    return b"".join(part.encode() for part in parts)


def decode_all(raw: bytes) -> tuple[Tlv, ...]:
    """The data objects that ``raw`` is made of.

    :raises Garbled: when one is cut short.
    """
    parts = []
    place = 0
    while place < len(raw):
        tag, place = _read_tag(raw, place)
        size, place = read_length(raw, place)
        if place + size > len(raw):
            raise Garbled("a data object is cut short", raw)
        parts.append(Tlv(tag, raw[place : place + size]))
        place += size
    return tuple(parts)


def find(parts: Iterable[Tlv], *path: int) -> bytes | None:
    """The value of the first data object at ``path``, one tag within the other; `None` when there is none.

    :raises Garbled: when a data object on the way cannot be read.
    """
    tag, *deeper = path
    for part in parts:
        if part.tag == tag:
            return find(part.parts, *deeper) if deeper else part.value
    return None


def encode_length(size: int) -> bytes:
    """A length in its shortest form."""
    if size < 0x80:
        return bytes([size])
    if size < 0x100:
        return bytes([0x81, size])
    return b"\x82" + size.to_bytes(2, "big")


def read_length(raw: bytes, place: int) -> tuple[int, int]:
    """The length at ``place`` and where it ends.

    :raises Garbled: when there is none, or it has an unknown form.
    """
    if place < len(raw):
        first = raw[place]
        if first < 0x80:
            return first, place + 1
        end = place + 1 + (first & 0x7F)
        if first in (0x81, 0x82) and end <= len(raw):
            return int.from_bytes(raw[place + 1 : end], "big"), end
    raise Garbled("the length of a data object cannot be read", raw)


def _read_tag(raw: bytes, place: int) -> tuple[int, int]:
    end = place + 1
    if raw[place] & _LOW == _LOW:
        while end < len(raw) and raw[end] & _MORE:
            end += 1
        end += 1
    if end > len(raw) or end - place > LONGEST_TAG:
        raise Garbled("the tag of a data object cannot be read", raw)
    return int.from_bytes(raw[place:end], "big"), end


def _tag_bytes(tag: int) -> bytes:
    return tag.to_bytes(max(1, (tag.bit_length() + 7) // 8), "big")
