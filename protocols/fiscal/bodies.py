"""Compressed bodies and their limits (docs/reference/tax-service.md#transport).

The server counts the bytes before compression. It accepts zlib data under the name gzip from some clients, so both
are read under either name; gzip is written.
"""

from __future__ import annotations

import gzip
import zlib

MOST_BYTES = 200 * 1024
"""What a client may send, uncompressed. One emulator accepts 512,000 bytes; the smaller limit is safe."""

MOST_ANSWER_BYTES = 8 * 1024 * 1024
"""What is read of an answer, uncompressed."""

_AUTOMATIC, _RAW = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS


class UnreadableBody(ValueError):
    """A body that its content encoding does not describe."""


class BodyTooLarge(ValueError):
    """A body with more bytes than allowed."""


def compress(body: bytes) -> bytes:
    """``body`` as gzip, with the same bytes each time."""
    return gzip.compress(body, mtime=0)


def restore(body: bytes, encoding: str, most: int) -> bytes:
    """``body`` before its compression.

    :param encoding: the header `Content-Encoding`.
    :raises UnreadableBody: when it is not what the header says.
    :raises BodyTooLarge: when there are more than ``most`` bytes.
    """
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        body = _inflate(body, most)
    elif encoding.strip().lower() not in ("", "identity"):
        raise UnreadableBody(f"content encoding {encoding[:20]}")
    if len(body) > most:
        raise BodyTooLarge(f"more than {most} bytes")
    return body


def _inflate(body: bytes, most: int) -> bytes:
    for window in (_AUTOMATIC, _RAW):
        machine = zlib.decompressobj(window)
        try:
            restored = machine.decompress(body, most + 1)
        except zlib.error:
            continue
        if len(restored) > most:
            raise BodyTooLarge(f"more than {most} bytes")
        if machine.eof:
            return restored
    raise UnreadableBody("compressed data that cannot be read to its end")
