"""The step of GOST 34.311 in words of 32 bits, to be compiled (docs/reference/cryptography.md#compiled-hash).

It calculates what `protocols.fiscal.crypto.gost34311` calculates, and is written for mypyc: compiled eight times as
fast, interpreted half as fast, so only the compiled form is used. Every number is less than ``2**63``, the range of
``i64``, so both forms give the same result.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import i64

    Words = tuple[i64, i64, i64, i64, i64, i64, i64, i64]
    Tables = tuple[list[i64], list[i64], list[i64]]

_WORDS = struct.Struct("<8I")


def _xor(a: Words, b: Words) -> Words:
    a0, a1, a2, a3, a4, a5, a6, a7 = a
    b0, b1, b2, b3, b4, b5, b6, b7 = b
    return a0 ^ b0, a1 ^ b1, a2 ^ b2, a3 ^ b3, a4 ^ b4, a5 ^ b5, a6 ^ b6, a7 ^ b7


def _shifted(words: Words) -> Words:
    """The quarters down by one, the XOR of the lowest two on top."""
    w0, w1, w2, w3, w4, w5, w6, w7 = words
    return w2, w3, w4, w5, w6, w7, w0 ^ w2, w1 ^ w3


def _with_c3(words: Words) -> Words:
    """XOR with the one constant that is not zero."""
    c3 = 0xFF00FF00, 0xFF00FF00, 0x00FF00FF, 0x00FF00FF, 0x00FFFF00, 0xFF0000FF, 0x000000FF, 0xFF00FFFF
    return _xor(words, c3)


def _twice(words: Words) -> Words:
    """``psi`` twice, which moves by one word: its high half needs the low one."""
    w0, w1, w2, w3, w4, w5, w6, w7 = words
    top = (w0 ^ w0 >> 16 ^ w1 << 16 ^ w1 ^ w1 >> 16 ^ w2 << 16 ^ w6 ^ w7 >> 16) & 0xFFFFFFFF
    return w1, w2, w3, w4, w5, w6, w7, top ^ (top & 0xFFFF) << 16


def _back(words: Words) -> Words:
    """The reverse of ``psi``."""
    w0, w1, w2, w3, w4, w5, w6, w7 = words
    lowest = (w0 ^ w0 >> 16 ^ w1 ^ w5 >> 16 ^ w7 ^ w7 >> 16) & 0xFFFF
    return (
        (w0 & 0xFFFF) << 16 | lowest,
        (w1 & 0xFFFF) << 16 | w0 >> 16,
        (w2 & 0xFFFF) << 16 | w1 >> 16,
        (w3 & 0xFFFF) << 16 | w2 >> 16,
        (w4 & 0xFFFF) << 16 | w3 >> 16,
        (w5 & 0xFFFF) << 16 | w4 >> 16,
        (w6 & 0xFFFF) << 16 | w5 >> 16,
        (w7 & 0xFFFF) << 16 | w6 >> 16,
    )


def _column(a: i64, b: i64, c: i64, d: i64, shift: i64) -> i64:
    """A key word: the same byte of each quarter."""
    return a >> shift & 255 | (b >> shift & 255) << 8 | (c >> shift & 255) << 16 | (d >> shift & 255) << 24


def _round(tables: Tables, total: i64) -> i64:
    low, middle, top = tables
    return low[total & 0xFFF] ^ middle[total >> 12 & 0xFFF] ^ top[total >> 24]


def _encrypted(tables: Tables, key: Words, n1: i64, n2: i64) -> tuple[i64, i64]:
    """Two words under GOST 28147; ``key`` is not yet transposed."""
    w0, w1, w2, w3, w4, w5, w6, w7 = key
    k0, k1 = _column(w0, w2, w4, w6, 0), _column(w0, w2, w4, w6, 8)
    k2, k3 = _column(w0, w2, w4, w6, 16), _column(w0, w2, w4, w6, 24)
    k4, k5 = _column(w1, w3, w5, w7, 0), _column(w1, w3, w5, w7, 8)
    k6, k7 = _column(w1, w3, w5, w7, 16), _column(w1, w3, w5, w7, 24)
    for _ in range(3):
        n2 ^= _round(tables, n1 + k0)
        n1 ^= _round(tables, n2 + k1)
        n2 ^= _round(tables, n1 + k2)
        n1 ^= _round(tables, n2 + k3)
        n2 ^= _round(tables, n1 + k4)
        n1 ^= _round(tables, n2 + k5)
        n2 ^= _round(tables, n1 + k6)
        n1 ^= _round(tables, n2 + k7)
    n2 ^= _round(tables, n1 + k7)
    n1 ^= _round(tables, n2 + k6)
    n2 ^= _round(tables, n1 + k5)
    n1 ^= _round(tables, n2 + k4)
    n2 ^= _round(tables, n1 + k3)
    n1 ^= _round(tables, n2 + k2)
    n2 ^= _round(tables, n1 + k1)
    n1 ^= _round(tables, n2 + k0)
    return n2, n1


def mixed(tables: Tables, state: bytes, blocks: bytes) -> bytes:
    """The state, 32 bytes, after ``blocks``, a whole number of them.

    :param tables: of the S-box, see `protocols.fiscal.crypto.gost28147.Tables`.
    """
    h: Words = _WORDS.unpack(state)
    block: Words
    for block in _WORDS.iter_unpack(blocks):
        h0, h1, h2, h3, h4, h5, h6, h7 = h
        u, v = h, block
        s0, s1 = _encrypted(tables, _xor(u, v), h0, h1)
        u, v = _shifted(u), _shifted(_shifted(v))
        s2, s3 = _encrypted(tables, _xor(u, v), h2, h3)
        u, v = _with_c3(_shifted(u)), _shifted(_shifted(v))
        s4, s5 = _encrypted(tables, _xor(u, v), h4, h5)
        u, v = _shifted(u), _shifted(_shifted(v))
        s6, s7 = _encrypted(tables, _xor(u, v), h6, h7)
        s = s0, s1, s2, s3, s4, s5, s6, s7
        for _ in range(6):
            s = _twice(s)
        # psi**61(H ^ psi(X)) is psi**62(X ^ the reverse of psi(H)): an even number.
        s = _xor(_xor(s, block), _back(h))
        for _ in range(31):
            s = _twice(s)
        h = s
    return _WORDS.pack(*h)
