"""Messages of the Internet Printing Protocol, both directions (RFC 8010, names and numbers from RFC 8011).

A message is the body of an HTTP POST, ``application/ipp``. Numbers are big-endian:

======================  ======================================================================================
``01 01``               version, 1.1
``00 02``               the `Operation` of a request, the `Status` of an answer
``00 00 00 01``         number of the request, repeated by the answer
``01`` …                a group of attributes: 01 operation, 02 job, 04 printer, 05 unsupported
``47 nn nn`` name       an attribute: tag of the value, length of the name, the name,
``nn nn`` value         length of the value, the value
``44 00 00 nn nn`` …    another value of the same attribute: its name has no bytes
``03``                  the end of attributes; the document follows
======================  ======================================================================================

A collection is a sequence of values of its attribute, as on the wire: begin, member names and values, end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from protocols.errors import Garbled

CONTENT_TYPE = b"application/ipp"


class Operation(IntEnum):
    """The operation of a request; the last one is an extension of CUPS."""

    PRINT_JOB = 0x0002
    CANCEL_JOB = 0x0008
    GET_JOB_ATTRIBUTES = 0x0009
    GET_JOBS = 0x000A
    GET_PRINTER_ATTRIBUTES = 0x000B
    CUPS_GET_PRINTERS = 0x4002


class Status(IntEnum):
    """The status of an answer; below 0x0100 is success."""

    OK = 0x0000
    OK_IGNORED = 0x0001
    OK_CONFLICTING = 0x0002
    BAD_REQUEST = 0x0400
    FORBIDDEN = 0x0401
    NOT_AUTHENTICATED = 0x0402
    NOT_AUTHORIZED = 0x0403
    NOT_POSSIBLE = 0x0404
    TIMEOUT = 0x0405
    NOT_FOUND = 0x0406
    GONE = 0x0407
    ENTITY_TOO_LARGE = 0x0408
    VALUE_TOO_LONG = 0x0409
    FORMAT_NOT_SUPPORTED = 0x040A
    VALUES_NOT_SUPPORTED = 0x040B
    CHARSET_NOT_SUPPORTED = 0x040D
    INTERNAL_ERROR = 0x0500
    OPERATION_NOT_SUPPORTED = 0x0501
    SERVICE_UNAVAILABLE = 0x0502
    VERSION_NOT_SUPPORTED = 0x0503
    DEVICE_ERROR = 0x0504
    TEMPORARY_ERROR = 0x0505
    NOT_ACCEPTING_JOBS = 0x0506
    BUSY = 0x0507
    JOB_CANCELED = 0x0508


class GroupTag(IntEnum):
    """The owner of the attributes that follow."""

    OPERATION = 0x01
    JOB = 0x02
    END = 0x03
    PRINTER = 0x04
    UNSUPPORTED = 0x05


class Tag(IntEnum):
    """The type of a value."""

    UNSUPPORTED = 0x10
    UNKNOWN = 0x12
    NO_VALUE = 0x13
    INTEGER = 0x21
    BOOLEAN = 0x22
    ENUM = 0x23
    OCTETS = 0x30
    COLLECTION = 0x34
    TEXT_WITH_LANGUAGE = 0x35
    NAME_WITH_LANGUAGE = 0x36
    END_COLLECTION = 0x37
    TEXT = 0x41
    NAME = 0x42
    KEYWORD = 0x44
    URI = 0x45
    CHARSET = 0x47
    LANGUAGE = 0x48
    MIME = 0x49
    MEMBER = 0x4A


NOTHING = frozenset({Tag.UNSUPPORTED, Tag.UNKNOWN, Tag.NO_VALUE})
"""Tags of values without content."""
NUMBERS = frozenset({Tag.INTEGER, Tag.ENUM})
WORDS = range(0x40, 0x60)
"""Tags of text values, including unknown ones (RFC 8010 3.5.2)."""
FIRST_VALUE_TAG = 0x10

LONGEST = 0x7FFF
"""Longest name or value in bytes: lengths are signed on the wire."""

Content = int | bool | str | bytes | None


@dataclass(frozen=True)
class Value:
    """One value: a number, boolean or text according to its tag, `None` without content, else bytes."""

    tag: int
    content: Content

    def encode(self) -> bytes:
        """The bytes of the value, without its length."""
        if self.content is None:
            return b""
        if isinstance(self.content, bool):
            return bytes([self.content])
        if isinstance(self.content, int):
            return struct.pack(">i", self.content)
        return self.content.encode() if isinstance(self.content, str) else self.content

    @classmethod
    def decode(cls, tag: int, data: bytes) -> Value:
        """Decode ``data``.

        :raises Garbled: when its length or text does not fit ``tag``.
        """
        if tag in NOTHING:
            return cls(tag, None)
        if tag in NUMBERS:
            if len(data) != 4:
                raise Garbled("an IPP number has 4 bytes", data)
            return cls(tag, int.from_bytes(data, "big", signed=True))
        if tag == Tag.BOOLEAN:
            if data not in (b"\0", b"\1"):
                raise Garbled("an IPP boolean is 00 or 01", data)
            return cls(tag, data == b"\1")
        if tag in WORDS:
            try:
                return cls(tag, data.decode())
            except UnicodeDecodeError:
                raise Garbled("an IPP text is UTF-8", data) from None
        return cls(tag, data)

    @property
    def text(self) -> str:
        """The value as readable text, without its language."""
        if self.tag in (Tag.TEXT_WITH_LANGUAGE, Tag.NAME_WITH_LANGUAGE) and isinstance(self.content, bytes):
            after = 2 + int.from_bytes(self.content[:2], "big")
            return self.content[after + 2 :].decode(errors="replace")
        if isinstance(self.content, bytes):
            return self.content.hex()
        return "" if self.content is None else str(self.content)


@dataclass(frozen=True)
class Attribute:
    """A name and its values, at least one."""

    name: str
    values: tuple[Value, ...]

    def encode(self) -> bytes:
        """The bytes: every value with its tag, the first one with the name.

        :raises ValueError: when the name or a value is too long for the wire.
        """
        parts, name = [], self.name.encode()
        for value in self.values:
            data = value.encode()
            if max(len(name), len(data)) > LONGEST:
                raise ValueError(f"{self.name} is too long for IPP")
            parts.append(struct.pack(">BH", value.tag, len(name)) + name + struct.pack(">H", len(data)) + data)
            name = b""
        return b"".join(parts)


@dataclass(frozen=True)
class Group:
    """The attributes of one object: the operation, a job, a printer."""

    tag: int
    attributes: tuple[Attribute, ...] = ()

    def values(self, name: str) -> tuple[Value, ...]:
        """The values of ``name``; empty without such an attribute."""
        return next((attribute.values for attribute in self.attributes if attribute.name == name), ())

    def number(self, name: str) -> int | None:
        """The number ``name``, `None` if absent."""
        for value in self.values(name)[:1]:
            if value.tag in NUMBERS and isinstance(value.content, int):
                return value.content
        return None

    def truth(self, name: str) -> bool | None:
        """The boolean ``name``, `None` if absent."""
        for value in self.values(name)[:1]:
            if isinstance(value.content, bool):
                return value.content
        return None

    def text(self, name: str) -> str:
        """The first value of ``name`` as readable text; empty if absent."""
        return next((value.text for value in self.values(name)), "")

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of ``name``."""
        return tuple(value.text for value in self.values(name))


@dataclass(frozen=True)
class Message:
    """A request or an answer; ``code`` is an `Operation` or a `Status`."""

    code: int
    request_id: int
    groups: tuple[Group, ...]
    document: bytes = b""
    version: tuple[int, int] = (1, 1)

    def encode(self) -> bytes:
        """The bytes of the whole message."""
        parts = [struct.pack(">BBHi", *self.version, self.code, self.request_id)]
        for group in self.groups:
            parts.append(bytes([group.tag]))
            parts += [attribute.encode() for attribute in group.attributes]
        return b"".join([*parts, bytes([GroupTag.END]), self.document])

    @classmethod
    def decode(cls, data: bytes) -> Message:
        """Decode ``data``.

        :raises Garbled: when it is not a whole message.
        """
        reader = _Reader(data)
        major, minor, code, request_id = struct.unpack(">BBHi", reader.take(8))
        groups = tuple(_groups(reader))
        return cls(code, request_id, groups, reader.rest(), (major, minor))

    def group(self, tag: int) -> Group:
        """The first group of ``tag``, possibly empty."""
        return next((group for group in self.groups if group.tag == tag), Group(tag))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise Garbled("an IPP message ends too early", self._data[-32:])
        self._at += size
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def counted(self) -> bytes:
        return self.take(int.from_bytes(self.take(2), "big"))

    def rest(self) -> bytes:
        return self._data[self._at :]


def _groups(reader: _Reader) -> Iterator[Group]:
    tag = reader.byte()
    while tag != GroupTag.END:
        if tag >= FIRST_VALUE_TAG:
            raise Garbled("an IPP attribute is outside of a group", bytes([tag]))
        attributes: list[Attribute] = []
        next_tag = reader.byte()
        while next_tag >= FIRST_VALUE_TAG:
            name, value = reader.counted(), Value.decode(next_tag, reader.counted())
            if name:
                attributes.append(Attribute(name.decode(errors="replace"), (value,)))
            elif attributes:
                last = attributes[-1]
                attributes[-1] = Attribute(last.name, (*last.values, value))
            else:
                raise Garbled("an IPP group begins with a value without a name")
            next_tag = reader.byte()
        yield Group(tag, tuple(attributes))
        tag = next_tag


def attribute(tag: Tag, name: str, *contents: Content) -> Attribute:
    """An attribute whose values have one type; without ``contents`` it has the tag for no value."""
    return Attribute(name, tuple(Value(tag, content) for content in contents) or (Value(Tag.NO_VALUE, None),))


def operation_group(*more: Attribute) -> Group:
    """The first group of every message; charset and language come first, in this order (RFC 8011 4.1.4)."""
    return Group(
        GroupTag.OPERATION,
        (
            attribute(Tag.CHARSET, "attributes-charset", "utf-8"),
            attribute(Tag.LANGUAGE, "attributes-natural-language", "en"),
            *more,
        ),
    )


def went_well(status: int) -> bool:
    """Whether ``status`` is a success."""
    return status < 0x0100


def status_words(status: int) -> str:
    """The name of ``status``, or its number if it has no name here."""
    try:
        return Status(status).name.lower().replace("_", "-")
    except ValueError:
        return f"IPP status 0x{status:04x}"
