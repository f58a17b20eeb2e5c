"""Fields (BMP): what the data of most ZVT messages is made of (docs/reference/zvt.md#fields).

A field is one byte of name and its value. The length of the value depends on the name::

    fixed     04 00 00 00 00 12 50        the amount, always 6 bytes of BCD
    LL        22 F0 F8 ee … 47 71         two bytes, decimal digits in their low nibbles: 08, then 8 bytes
    LLL       3C F0 F1 F9 …               three bytes: 019
    TLV       06 11 24 0F 07 …            06 is a container of data objects
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from protocols.errors import Garbled
from protocols.terminals.zvt.tlv import Tlv, decode_all, encode_all, encode_length, read_length

AMOUNT, TRACE, TIME, DATE, EXPIRY = 0x04, 0x0B, 0x0C, 0x0D, 0x0E
TIMEOUT, MAX_STATUSES, SERVICE, CARD_SEQUENCE, PAYMENT_TYPE = 0x01, 0x02, 0x03, 0x17, 0x19
PAN, RESULT, TERMINAL_ID, VU_NUMBER, ORIGINAL_TRACE = 0x22, 0x27, 0x29, 0x2A, 0x37
AUTHORISATION, TEXT, CURRENCY, TOTALS = 0x3B, 0x3C, 0x49, 0x60
RECEIPT, TURNOVER, CARD_TYPE, CARD_NAME, DIALOG = 0x87, 0x88, 0x8A, 0x8B, 0xFC
CONTAINER = 0x06
"""Names of the fields that this package writes or reads."""

FIXED: dict[int, int] = {
    **dict.fromkeys((0x01, 0x02, 0x03, 0x05, 0x19, 0x27, 0x8A, 0x8C, 0xA0, 0xD0, 0xD2, 0xD3), 1),
    **dict.fromkeys((0xE0, 0xE9, 0xEA, 0xF0, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD), 1),
    **dict.fromkeys((0x0D, 0x0E, 0x17, 0x3A, 0x49, 0x87), 2),
    **dict.fromkeys((0x0B, 0x0C, 0x37, 0x3D, 0x88, 0xAA), 3),
    **dict.fromkeys((0x29,), 4),
    **dict.fromkeys((0xBA,), 5),
    **dict.fromkeys((0x04,), 6),
    **dict.fromkeys((0x3B, 0xEB), 8),
    **dict.fromkeys((0x2A,), 15),
}
"""Bytes of the fields of one length."""

DIGITS: dict[int, int] = {
    **dict.fromkeys((0x22, 0x23, 0x2D, 0x2E, 0x4C, 0x8B, 0xA7, 0xD1), 2),
    **dict.fromkeys((*range(0xE1, 0xE9), *range(0xF1, 0xF9)), 2),
    **dict.fromkeys((0x24, 0x3C, 0x60, 0x9A, 0xAF), 3),
}
"""Digits of the length of the other fields: LL and LLL."""


@dataclass(frozen=True)
class Fields:
    """The fields of one message in their order."""

    items: tuple[tuple[int, bytes], ...] = ()
    """Name and value; the value of a container is its data objects without the length."""
    unread: bytes = b""
    """Everything from a field of unknown name on: its length is unknown."""

    @classmethod
    def of(cls, *items: tuple[int, bytes | None], tlv: Iterable[Tlv] = ()) -> Fields:
        """Fields with those values that are not `None`, and a container when there are data objects."""
        kept = [(name, value) for name, value in items if value is not None]
        contained = encode_all(tlv)
        return cls((*kept, (CONTAINER, contained)) if contained else tuple(kept))

    def get(self, name: int) -> bytes | None:
        """The value of the first field of this name."""
        return next((value for each, value in self.items if each == name), None)

    def byte(self, name: int) -> int:
        """The value of a field of one byte; 0 when there is none."""
        return (self.get(name) or b"\0")[0]

    def hex(self, name: int) -> str:
        """The value of a field in hex; empty when there is none."""
        return (self.get(name) or b"").hex()

    def number(self, name: int) -> int | None:
        """The number in a field of BCD; `None` when there is none.

        :raises Garbled: when it is not BCD.
        """
        raw = self.get(name)
        return None if raw is None else from_bcd(raw)

    @property
    def tlv(self) -> tuple[Tlv, ...]:
        """The data objects of every container.

        :raises Garbled: when one of them is cut short.
        """
        return tuple(part for name, value in self.items if name == CONTAINER for part in decode_all(value))

    def encode(self) -> bytes:
        """The bytes of all fields.

        :raises ValueError: when a value does not fit its field.
        """
        return b"".join(_encode(name, value) for name, value in self.items) + self.unread

    @classmethod
    def decode(cls, raw: bytes) -> Fields:
        """The fields that ``raw`` is made of; reading ends at an unknown name.

        :raises Garbled: when a field is cut short, or its length or its data objects cannot be read.
        """
        items: list[tuple[int, bytes]] = []
        place = 0
        while place < len(raw):
            name = raw[place]
            if name == CONTAINER:
                size, start = read_length(raw, place + 1)
            elif name in FIXED:
                size, start = FIXED[name], place + 1
            elif name in DIGITS:
                start = place + 1 + DIGITS[name]
                size = _digits(raw[place + 1 : start], DIGITS[name])
            else:
                return cls(tuple(items), raw[place:])
            if start + size > len(raw):
                raise Garbled(f"field {name:02X} is cut short", raw)
            items.append((name, raw[start : start + size]))
            if name == CONTAINER:
                decode_all(items[-1][1])
            place = start + size
        return cls(tuple(items))


NO_FIELDS = Fields()
"""No fields at all."""


def _encode(name: int, value: bytes) -> bytes:
    if name == CONTAINER:
        return bytes([name]) + encode_length(len(value)) + value
    if name in FIXED:
        if len(value) != FIXED[name]:
            raise ValueError(f"field {name:02X} has {FIXED[name]} bytes, not {len(value)}")
        return bytes([name]) + value
    digits = f"{len(value):0{DIGITS[name]}d}"
    if len(digits) > DIGITS[name]:
        raise ValueError(f"field {name:02X} is too long: {len(value)} bytes")
    return bytes([name]) + bytes(0xF0 | int(digit) for digit in digits) + value


def _digits(raw: bytes, count: int) -> int:
    size = 0
    for byte in raw:
        if byte & 0xF0 != 0xF0 or byte & 0x0F > 9:
            raise Garbled("the length of a field is not decimal", raw)
        size = size * 10 + (byte & 0x0F)
    if len(raw) < count:
        raise Garbled("the length of a field is cut short", raw)
    return size


def bcd(number: int, size: int) -> bytes:
    """A number from 0 as ``size`` bytes of BCD.

    :raises ValueError: when it does not fit.
    """
    digits = f"{number:0{size * 2}d}"
    if number < 0 or len(digits) > size * 2:
        raise ValueError(f"{number} does not fit into {size} bytes of BCD")
    return bytes.fromhex(digits)


def from_bcd(raw: bytes) -> int:
    """The number in BCD.

    :raises Garbled: when a nibble is not a digit.
    """
    digits = raw.hex()
    if not digits.isdecimal():
        raise Garbled("this is not a number in BCD", raw)
    return int(digits)


def masked_pan(raw: bytes) -> str:
    """A card number of nibbles: E is a digit that the terminal masked, F is padding; at most 6 + 4 digits are shown.

    Numbers that are sent with more digits are masked here, so that no other code sees a whole number
    (docs/reference/terminals.md#rule-19).
    """
    number = raw.hex().rstrip("f").replace("e", "*")
    hidden = max(0, len(number) - 10)
    return number[:6] + "*" * hidden + number[6 + hidden :]


def pan_nibbles(number: str) -> bytes:
    """A masked card number as the terminal sends it."""
    nibbles = number.replace("*", "e")
    return bytes.fromhex(nibbles + "f" * (len(nibbles) % 2))
