"""DER: the nested tags, lengths and contents of keys, certificates and signed messages (X.690).

One element is ``tag | length | content``; lengths of 128 and more are ``80+n`` and n bytes::

    30 0c 06 0a 2a 86 24 02 01 01 01 01 02 01        SEQUENCE of 12 bytes, in it an OBJECT IDENTIFIER of 10

Elements keep their bytes as they were sent (`Element.raw`), because hashes and signatures cover those and some
programs do not sort as DER requires. Inner elements are read only when needed, so nested garbage costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from protocols.fiscal.crypto.errors import Malformed

BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, UTF8 = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0C
PRINTABLE, IA5, UTC_TIME, GENERALIZED_TIME = 0x13, 0x16, 0x17, 0x18
SEQUENCE, SET = 0x30, 0x31

_TEXTS = {
    UTF8: "utf-8",
    PRINTABLE: "ascii",
    0x12: "ascii",
    0x14: "latin-1",
    IA5: "ascii",
    0x1A: "ascii",
    0x1E: "utf-16-be",
}
"""Encodings of text: UTF8, Printable, Numeric, Teletex, IA5, Visible, BMP."""


_LONGEST_NUMBER, _LONGEST_OID = 1024, 128
"""Bytes; more than any key or name needs, few enough to be written in an error as digits."""


def context(number: int, constructed: bool = True) -> int:
    """The tag ``[number]``."""
    return (0xA0 if constructed else 0x80) | number


@dataclass(frozen=True, slots=True)
class Element:
    """One element as it was sent.

    :param tag: its first byte, :param content: without tag and length, :param raw: all of it.
    """

    tag: int
    content: bytes
    raw: bytes

    def children(self) -> list[Element]:
        """The elements inside, for any tag.

        :raises Malformed: when the content is not a row of elements.
        """
        return list(_elements(self.content))

    def fields(self, tag: int | None = None) -> Fields:
        """The elements inside, to be taken one by one.

        :param tag: of the element itself, checked if given.
        :raises Malformed: when it has another tag, or its content is not a row of elements.
        """
        if tag is not None:
            self.expect(tag)
        return Fields(self.children())

    def expect(self, tag: int) -> Self:
        """Itself.

        :raises Malformed: when it has another tag.
        """
        if self.tag != tag:
            raise Malformed(f"an element has tag {self.tag:02x}, not {tag:02x}")
        return self

    def integer(self) -> int:
        """The number of an INTEGER. :raises Malformed: for another element."""
        self.expect(INTEGER)
        if not 0 < len(self.content) <= _LONGEST_NUMBER:
            raise Malformed(f"a number of {len(self.content)} bytes")
        return int.from_bytes(self.content, "big", signed=True)

    def octets(self) -> bytes:
        """The bytes of an OCTET STRING. :raises Malformed: for another element."""
        return self.expect(OCTET_STRING).content

    def bits(self) -> bytes:
        """The bytes of a BIT STRING, unused last bits included. :raises Malformed: for another element."""
        self.expect(BIT_STRING)
        if not self.content or self.content[0] > 7:
            raise Malformed("a bit string without its count of unused bits")
        return self.content[1:]

    def oid(self) -> str:
        """The dotted form of an OBJECT IDENTIFIER. :raises Malformed: for another element."""
        self.expect(OID)
        if not 0 < len(self.content) <= _LONGEST_OID or self.content[-1] & 0x80:
            raise Malformed("an object identifier is cut or too long")
        numbers, value = [], 0
        for byte in self.content:
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                numbers.append(value)
                value = 0
        first = min(numbers[0] // 40, 2)
        return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))

    def text(self) -> str:
        """The text of any kind of string. :raises Malformed: for another element, or when it cannot be decoded."""
        encoding = _TEXTS.get(self.tag)
        if encoding is None:
            raise Malformed(f"an element of tag {self.tag:02x} is not a text")
        try:
            return self.content.decode(encoding)
        except UnicodeDecodeError as wrong:
            raise Malformed("a text is not in its encoding") from wrong

    def time(self) -> datetime:
        """The moment of a UTCTime or GeneralizedTime, in UTC. :raises Malformed: for another element."""
        digits = self.content.decode("latin-1")
        if self.tag == UTC_TIME:
            # A year of two digits: from 50 on it is of the last century (X.509).
            digits = ("19" if digits[:2] >= "50" else "20") + digits
        elif self.tag != GENERALIZED_TIME:
            raise Malformed(f"an element of tag {self.tag:02x} is not a time")
        whole, _, fraction = digits.removesuffix("Z").partition(".")
        plain = digits.isascii() and whole.isdigit() and len(whole) == 14 and (not fraction or fraction.isdigit())
        if not plain or not digits.endswith("Z"):
            raise Malformed("a time is not written as a time in UTC")
        try:
            moment = datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError as wrong:
            raise Malformed("a time that does not exist") from wrong
        return moment + timedelta(microseconds=int(fraction[:6].ljust(6, "0")))


class Fields:
    """The elements of a sequence, taken in order."""

    def __init__(self, elements: list[Element]) -> None:
        self._elements = elements
        self._at = 0

    def peek(self) -> int | None:
        """The tag of the next element; ``None`` at the end."""
        return self._elements[self._at].tag if self._at < len(self._elements) else None

    def take(self, tag: int | None = None) -> Element:
        """The next element.

        :raises Malformed: when there is none, or it has another tag.
        """
        if self._at >= len(self._elements):
            raise Malformed("an element is missing")
        element = self._elements[self._at]
        if tag is not None:
            element.expect(tag)
        self._at += 1
        return element

    def maybe(self, tag: int) -> Element | None:
        """The next element, taken only if it has this tag."""
        return self.take() if self.peek() == tag else None

    def rest(self) -> list[Element]:
        """The remaining elements."""
        left, self._at = self._elements[self._at :], len(self._elements)
        return left


def _elements(data: bytes) -> Iterator[Element]:
    at = 0
    while at < len(data):
        end, start = _extent(data, at)
        yield Element(data[at], data[start:end], data[at:end])
        at = end


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Where the element at ``at`` ends, and where its content starts."""
    if len(data) < at + 2:
        raise Malformed("an element is cut")
    if data[at] & 0x1F == 0x1F:
        raise Malformed("a tag of more than one byte")
    length, start = data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise Malformed("a length that is not DER")
        start += count
        length = int.from_bytes(data[at + 2 : start], "big")
    if start + length > len(data):
        raise Malformed("an element is cut")
    return start + length, start


def parse(data: bytes) -> Element:
    """The element that fills ``data``.

    :raises Malformed: when there is none, or more follows.
    """
    end, start = _extent(data, 0)
    if end != len(data):
        raise Malformed(f"{len(data) - end} bytes follow the element")
    return Element(data[0], data[start:end], data)


def parse_first(data: bytes) -> Element:
    """The element at the start of ``data``; the rest is ignored.

    :raises Malformed: when there is none.
    """
    end, start = _extent(data, 0)
    return Element(data[0], data[start:end], data[:end])


def element(tag: int, *parts: bytes) -> bytes:
    """An element of this tag around the parts."""
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    written = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(written)]) + written + content


def sequence(*parts: bytes) -> bytes:
    """SEQUENCE of the parts."""
    return element(SEQUENCE, *parts)


def set_of(*parts: bytes) -> bytes:
    """SET OF the parts, sorted as DER requires."""
    return element(SET, *sorted(parts))


def integer(value: int) -> bytes:
    """INTEGER."""
    return element(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def octets(value: bytes) -> bytes:
    """OCTET STRING."""
    return element(OCTET_STRING, value)


def bits(value: bytes, unused: int = 0) -> bytes:
    """BIT STRING.

    :param unused: number of unused last bits.
    """
    return element(BIT_STRING, bytes([unused]), value)


def boolean(value: bool) -> bytes:
    """BOOLEAN."""
    return element(BOOLEAN, b"\xff" if value else b"\0")


def null() -> bytes:
    """NULL."""
    return element(NULL)


def oid(dotted: str) -> bytes:
    """OBJECT IDENTIFIER."""
    first, second, *rest = map(int, dotted.split("."))
    made = bytearray()
    for number in [40 * first + second, *rest]:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(number & 0x7F | 0x80)
        made += bytes(reversed(groups))
    return element(OID, bytes(made))


def utf8(value: str) -> bytes:
    """UTF8String."""
    return element(UTF8, value.encode())


def time(moment: datetime) -> bytes:
    """UTCTime, or GeneralizedTime from 2050 on, to the second."""
    moment = moment.astimezone(UTC)
    if moment.year < 2050:
        return element(UTC_TIME, moment.strftime("%y%m%d%H%M%SZ").encode())
    return generalized_time(moment)


def generalized_time(moment: datetime) -> bytes:
    """GeneralizedTime, to the second."""
    return element(GENERALIZED_TIME, moment.astimezone(UTC).strftime("%Y%m%d%H%M%SZ").encode())
