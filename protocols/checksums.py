"""Checksums that several devices share."""

from __future__ import annotations

from functools import reduce
from operator import xor

_REFLECTED_CCITT = 0x8408
"""The polynomial of `crc_kermit`, mirrored because bits go out lowest first."""


def lrc(data: bytes, start: int = 0) -> int:
    """XOR of all bytes, 0 to 255.

    :param start: the initial value: 0 for SSI and Concert V2, 7F hex for ECR17
        (docs/reference/ssi-json.md#frame, concert-v2.md#frames, ecr17.md#frames).
    """
    return reduce(xor, data, start)


def crc_kermit(data: bytes, start: int = 0) -> int:
    """The 16-bit CRC of serial ZVT, 0 to 65535; it goes out low byte first (docs/reference/zvt.md#serial-frame)."""
    register = start
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (_REFLECTED_CCITT if register & 1 else 0)
    return register
