"""APDUs: the one unit of ZVT, on either line (docs/reference/zvt.md#apdu).

==========  =====================  ===========================================================
bytes       name                   example: ``06 01 07 04 00 00 00 00 10 00``
==========  =====================  ===========================================================
2           control field          ``06 01`` authorisation; an answer has ``80 00`` or ``84 xx``
1           length, 0 to 254       ``07``
or 3        ``FF`` low high        for longer data
n           data                   ``04 00 00 00 00 10 00``: field 04, 10.00
==========  =====================  ===========================================================

On TCP they follow each other without anything in between, and segments cut them anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protocols.errors import Garbled

CLASSES = frozenset({0x04, 0x05, 0x06, 0x08, 0x0F, 0x80, 0x84})
"""First bytes that an APDU may have; a port that sends others does not speak ZVT."""

LONGEST = 0xFFFF
"""Bytes of data that the longer form of the length can express."""

_EXTENDED = 0xFF


@dataclass(frozen=True)
class Apdu:
    """One message as bytes: ``control`` is the control field as a number, 0601 hex for an authorisation."""

    control: int
    data: bytes = b""

    def encode(self) -> bytes:
        """Its bytes, with the shorter form of the length where possible."""
        size = len(self.data)
        if size > LONGEST:
            raise ValueError(f"{size} bytes are too many for an APDU")
        length = bytes([size]) if size < _EXTENDED else bytes([_EXTENDED]) + size.to_bytes(2, "little")
        return self.control.to_bytes(2, "big") + length + self.data

    @classmethod
    def decode(cls, raw: bytes) -> Apdu:
        """The APDU that ``raw`` is.

        :raises Garbled: when it is not exactly one.
        """
        found = _first(raw)
        if found is None or found[1] != len(raw):
            raise Garbled("the length of the message is wrong", raw)
        return found[0]


class ApduDeframer:
    """Puts APDUs together from a TCP stream cut anywhere."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Apdu]:
        """Every APDU that ``data`` completes.

        :raises Garbled: when the stream holds something else; no more can be read from it.
        """
        self._buffer += data
        while True:
            found = _first(self._buffer)
            if found is None:
                return
            apdu, end = found
            # At the front of a bytearray this costs nothing; a copy of the rest for each message would.
            del self._buffer[:end]
            yield apdu


def _first(raw: bytes | bytearray) -> tuple[Apdu, int] | None:
    """The APDU at the beginning of ``raw`` and how many bytes it takes; `None` while bytes are missing."""
    if raw and raw[0] not in CLASSES:
        raise Garbled("this is not ZVT", bytes(raw))
    if len(raw) < 3:
        return None
    start, size = 3, raw[2]
    if size == _EXTENDED:
        if len(raw) < 5:
            return None
        start, size = 5, int.from_bytes(raw[3:5], "little")
    end = start + size
    if len(raw) < end:
        return None
    return Apdu(int.from_bytes(raw[:2], "big"), bytes(raw[start:end])), end
