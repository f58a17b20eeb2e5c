"""Pictures of a form: read from files, reduced to the paper, written as PNG.

A PNG of one bit per dot is a head, the compressed lines, and an end, so it is written here without a library. Files
are read by Pillow, which is loaded only then.
"""

from __future__ import annotations

import zlib

from dmtwisted.documents.model import Image
from protocols.printers.raster import picture

_DOTS_PER_METRE = 8000
"""203 dpi, as most print heads have it."""

_WHITE_IS_ONE = bytes(255 - byte for byte in range(256))


def fitted(image: Image, dots: int) -> Image:
    """``image``, reduced to paper of ``dots`` if it is wider."""
    return image if image.width <= dots else picture(as_png(image), dots, image.align)


def as_png(image: Image) -> bytes:
    """``image`` as a PNG file of the same dots."""
    return png_file(image.width, image.height, zlib.compress(lines_of(image.data, image.stride)))


def size_of(source: bytes) -> tuple[int, int]:
    """Width and height in the head of a PNG or BMP file, before anything is decompressed.

    :raises ValueError: when it is neither.
    """
    if source.startswith(b"\x89PNG\r\n\x1a\n") and source[12:16] == b"IHDR" and len(source) > 24:
        return int.from_bytes(source[16:20]), int.from_bytes(source[20:24])
    if source.startswith(b"BM") and len(source) > 26:
        if int.from_bytes(source[14:18], "little") == 12:
            return int.from_bytes(source[18:20], "little"), int.from_bytes(source[20:22], "little")
        width, height = (int.from_bytes(source[at : at + 4], "little", signed=True) for at in (18, 22))
        # A negative height means that the lines are stored from the top.
        return width, abs(height)
    raise ValueError("a PNG or BMP file is expected")


def lines_of(data: bytes, stride: int) -> bytes:
    """Lines of dots for a PNG before compression: black as 0, each line after the filter that does nothing."""
    white = data.translate(_WHITE_IS_ONE)
    return b"".join(b"\0" + white[at : at + stride] for at in range(0, len(white), stride))


def png_file(width: int, height: int, packed: bytes) -> bytes:
    """A PNG file of one bit of grey per dot, of compressed lines."""
    size, resolution = width.to_bytes(4) + height.to_bytes(4), _DOTS_PER_METRE.to_bytes(4)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", size + bytes((1, 0, 0, 0, 0))),
            _chunk(b"pHYs", resolution + resolution + b"\1"),
            _chunk(b"IDAT", packed),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)
