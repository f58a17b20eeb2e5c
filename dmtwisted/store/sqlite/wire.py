"""How the service and the writer process communicate: frames over two pipes.

A question is ``length | seq | verb | arguments``, an answer ``length | seq | status | value``. Lengths and sequence
numbers are four bytes, big-endian, verbs and statuses one byte; arguments and values are MessagePack of the types in
the verb's signature.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import msgspec

from dmtwisted.store.interface import functions_of
from dmtwisted.store.sqlite import events, hooks, marks, outbox, statements
from dmtwisted.store.values import NameTaken, StoreFailed

_HEAD = struct.Struct(">IIB")
_LENGTH = struct.Struct(">I")
_SHORTEST = 5
"""The smallest length: sequence number, and verb or status."""

READY = 0
"""The sequence number of the writer's first frame: the file is open, or why it is not."""

DONE, FAILED, TAKEN = 0, 1, 2
"""The status of an answer: done, `StoreFailed`, `NameTaken`."""

_encode = msgspec.msgpack.Encoder().encode


class Verb:
    """One verb of the store with the types of its arguments and of its value."""

    def __init__(self, index: int, name: str, run: Callable[..., Any]) -> None:
        hints = get_type_hints(run)
        hints.pop("db")
        result = hints.pop("return")
        self.index, self.name, self.run = index, name, run
        arguments = tuple[tuple(hints.values())] if hints else tuple[()]  # type: ignore[misc]
        self.decode_arguments = msgspec.msgpack.Decoder(arguments).decode
        self.decode_value = msgspec.msgpack.Decoder(result).decode

    def pack_arguments(self, arguments: tuple[Any, ...]) -> bytes:
        """The body of a question.

        :raises StoreFailed: when a number or a text cannot be stored.
        """
        try:
            return _encode(arguments)
        except (OverflowError, UnicodeError) as error:
            raise StoreFailed(f"{self.name}: {error}") from error

    def value(self, status: int, body: bytes) -> Any:
        """The value of an answer with ``status``.

        :raises StoreFailed: when the status says so, or a row holds a value that our rows never hold.
        :raises NameTaken: when the status says so.
        """
        if status != DONE:
            raise failure(status, body)
        try:
            return self.decode_value(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreFailed(f"{self.name}: a damaged row: {error}") from error


FUNCTIONS = functions_of(statements, marks, outbox, events, hooks)
"""The verbs by their names."""

TABLE = [Verb(index, name, run) for index, (name, run) in enumerate(FUNCTIONS.items())]
BY_NAME = {verb.name: verb for verb in TABLE}


def frame(seq: int, small: int, body: bytes) -> bytes:
    """One frame; ``small`` is the verb of a question or the status of an answer."""
    return _HEAD.pack(len(body) + 5, seq, small) + body


def pack(value: Any) -> bytes:
    """``value`` as MessagePack."""
    return _encode(value)


def failure(status: int, body: bytes) -> Exception:
    """The exception that an answer with ``status`` stands for."""
    text = msgspec.msgpack.decode(body, type=str)
    return NameTaken(text) if status == TAKEN else StoreFailed(text)


class Deframer:
    """Splits a stream, which may be cut anywhere, into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[tuple[int, int, bytes]]:
        """Each whole frame as ``(seq, verb or status, body)``.

        :raises StoreFailed: at a length that no frame has; the rest of the stream cannot be split.
        """
        rest = self._rest
        rest += data
        start = 0
        while len(rest) - start >= 4:
            (length,) = _LENGTH.unpack_from(rest, start)
            if len(rest) - start - 4 < length:
                break
            if length < _SHORTEST:
                raise StoreFailed(f"a frame of {length} bytes is too short")
            _, seq, small = _HEAD.unpack_from(rest, start)
            yield seq, small, bytes(rest[start + 9 : start + 4 + length])
            start += 4 + length
        del rest[:start]
