"""Messages of Protocol Buffers 3 as frozen dataclasses.

A message is a row of fields in any order, each a tag and a value. The tag is a varint: ``number << 3 | wire type``.
A varint has 7 bits a byte, the lowest first; the top bit says that another byte follows.

=========  =====================================================================
wire type  value
=========  =====================================================================
0          a varint: numbers (negative ones in 64 bits, ten bytes), truth, enums
1, 5       8 bytes, 4 bytes: read past
2          a length as varint, then text in UTF-8, bytes, or a message
3, 4       the ends of a group, an old form: read past
=========  =====================================================================

A field with its blank value is not sent. Of a field that comes twice the last value counts; a field that is unknown,
or has another wire type, is read past. A declared field says its number and its kind::

    @dataclass(frozen=True)
    class Answer(Message):
        text: Annotated[str, Text(1)]
        status: Annotated[int, Int32(2)] = 0

Repeated numbers, maps and ``oneof`` are not needed and not here. Google's library would take 4.4 MB of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, get_type_hints

VARINT, EIGHT_BYTES, SIZED, GROUP, GROUP_END, FOUR_BYTES = range(6)

DEEPEST_GROUP = 100
"""Groups within each other that are read past; Google's libraries stop there too."""

MOST_REPEATED = 10_000
"""Messages in one repeated field: an empty one takes 2 bytes on the wire, and a hundred times that in memory."""

_TAG_BYTES, _VARINT_BYTES = 5, 10

T = TypeVar("T")


class MalformedMessage(ValueError):
    """Bytes that are no message of Protocol Buffers, or not the expected one."""


class Field(Generic[T]):
    """One kind of field.

    :param number: its number on the wire.
    """

    wire: ClassVar[int]
    repeated: ClassVar[bool] = False
    blank: T

    def __init__(self, number: int) -> None:
        self.number = number

    def write(self, value: T) -> bytes:
        """The field with ``value``; nothing for the blank one.

        :raises ValueError: when the kind cannot hold it.
        """
        return _varint(self.number << 3 | self.wire) + self.pack(value) if value != self.blank else b""

    def pack(self, value: T) -> bytes:
        """A value without its tag."""
        raise NotImplementedError

    def unpack(self, raw: Any) -> T:
        """The value of a varint, or of the bytes after the length.

        :raises MalformedMessage: when they are not of this kind.
        """
        raise NotImplementedError


class _Number(Field[int]):
    wire = VARINT
    blank = 0
    bits: ClassVar[int]

    def pack(self, value: int) -> bytes:
        half = 1 << (self.bits - 1)
        if not -half <= value < half:
            raise ValueError(f"{value} has more than {self.bits} bits")
        return _varint(value & 0xFFFFFFFFFFFFFFFF)

    def unpack(self, raw: int) -> int:
        # A longer number is cut to its lower bits, as other readers do.
        half = 1 << (self.bits - 1)
        return ((raw + half) & (2 * half - 1)) - half


class Int32(_Number):
    """A number of 32 bits with sign; an enum, too: values that are not declared come through."""

    bits = 32


class Int64(_Number):
    """A number of 64 bits with sign."""

    bits = 64


class Bool(Field[bool]):
    """True or false."""

    wire = VARINT
    blank = False

    def pack(self, value: bool) -> bytes:
        return b"\1"

    def unpack(self, raw: int) -> bool:
        return raw != 0


class Octets(Field[bytes]):
    """Bytes."""

    wire = SIZED
    blank = b""

    def pack(self, value: bytes) -> bytes:
        return _varint(len(value)) + value

    def unpack(self, raw: bytes) -> bytes:
        return raw


class Text(Field[str]):
    """Text, UTF-8 on the wire."""

    wire = SIZED
    blank = ""

    def pack(self, value: str) -> bytes:
        encoded = value.encode()
        return _varint(len(encoded)) + encoded

    def unpack(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"field {self.number} is not UTF-8") from error


AMessage = TypeVar("AMessage", bound="Message")


class Several(Field[tuple[AMessage, ...]]):
    """Any number of messages of the class ``shape``."""

    wire = SIZED
    repeated = True
    blank = ()

    def __init__(self, number: int, shape: type[AMessage]) -> None:
        super().__init__(number)
        self.shape = shape

    def write(self, value: tuple[AMessage, ...]) -> bytes:
        tag = _varint(self.number << 3 | self.wire)
        encoded = [each.encode() for each in value]
        return b"".join(tag + _varint(len(each)) + each for each in encoded)

    def unpack(self, raw: bytes) -> tuple[AMessage, ...]:
        return (self.shape.decode(raw),)


class Message:
    """The base of the messages: frozen dataclasses with `Annotated` fields."""

    def encode(self) -> bytes:
        """The message on the wire, with its fields in the order of the class.

        :raises ValueError: when a value does not fit its kind.
        """
        return b"".join(field.write(getattr(self, name)) for name, field in _fields_of(type(self)).values())

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The message of these bytes.

        :raises MalformedMessage: when they are none.
        """
        fields = _fields_of(cls)
        found = {name: field.blank for name, field in fields.values()}
        for number, wire, raw in _parts(data):
            name, field = fields.get(number, ("", None))
            if field is None or field.wire != wire:
                continue
            value = field.unpack(raw)
            found[name] = found[name] + value if field.repeated else value
            if field.repeated and len(found[name]) > MOST_REPEATED:
                raise MalformedMessage(f"more than {MOST_REPEATED} messages in field {number}")
        return cls(**found)


_KNOWN: dict[type[Message], Mapping[int, tuple[str, Field[Any]]]] = {}


def _fields_of(shape: type[Message]) -> Mapping[int, tuple[str, Field[Any]]]:
    """The fields of a message by their numbers."""
    if shape not in _KNOWN:
        hints = get_type_hints(shape, include_extras=True)
        declared = ((name, hint.__metadata__[0]) for name, hint in hints.items() if hasattr(hint, "__metadata__"))
        _KNOWN[shape] = {field.number: (name, field) for name, field in declared}
    return _KNOWN[shape]


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _parts(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field that is not in a group."""
    position, groups = 0, list[int]()
    while position < len(data):
        tag, position = _read_varint(data, position, _TAG_BYTES)
        number, wire = tag >> 3, tag & 7
        if tag >> 32 or (not number and not groups):
            raise MalformedMessage(f"field number {number}")
        value: int | bytes = b""
        if wire == VARINT:
            value, position = _read_varint(data, position, _VARINT_BYTES)
        elif wire in (EIGHT_BYTES, FOUR_BYTES, SIZED):
            size = 8 if wire == EIGHT_BYTES else 4
            if wire == SIZED:
                size, position = _read_varint(data, position, _VARINT_BYTES)
            if size > len(data) - position:
                raise MalformedMessage(f"field {number} ends after the message")
            value, position = data[position : position + size], position + size
        elif wire == GROUP and len(groups) < DEEPEST_GROUP:
            groups.append(number)
        elif wire != GROUP_END or not groups or groups.pop() != number:
            raise MalformedMessage(f"field {number} has the wire type {wire}")
        if not groups and wire not in (GROUP, GROUP_END):
            yield number, wire, value
    if groups:
        raise MalformedMessage(f"the group {groups[-1]} has no end")


def _read_varint(data: bytes, position: int, most: int) -> tuple[int, int]:
    """A varint of at most ``most`` bytes, and where the next value is."""
    value = 0
    for count, byte in enumerate(data[position : position + most]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            # Of more than 64 bits the lower ones count, as in Google's libraries.
            return value & 0xFFFFFFFFFFFFFFFF, position + count + 1
    raise MalformedMessage("a number without end")
