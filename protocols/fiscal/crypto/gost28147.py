"""GOST 28147-89: the block cipher of the hash and of key files (docs/reference/cryptography.md#algorithms).

A block is 8 bytes, two little-endian words; a key is 32 bytes, eight little-endian words. One round::

    n2 ^= rotate_left_11(S(n1 + k mod 2**32)), then the words are swapped

``S`` replaces each of the eight nibbles by a row of the S-box, the lowest nibble by the first row. 32 rounds encrypt,
with the key words 0 to 7 three times and then 7 to 0. S-box and rotation are one look-up: tables by 12, 12 and 8 bits
of the sum, three look-ups a round.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cached_property

from protocols.fiscal.crypto.errors import Malformed

BLOCK = 8
"""Bytes."""

KEY = 32
"""Bytes."""

_WORD = 0xFFFFFFFF

Tables = tuple[list[int], list[int], list[int]]
"""Replaced and rotated nibbles by the low 12, the next 12 and the top 8 bits (with a carry: 9) of a sum."""

Pairs = tuple[tuple[int, int], ...]
"""Key words in the order of the rounds, two rounds a pair."""


class SBox:
    """A substitution of nibbles.

    :param packed: 64 bytes as certificates carry them: the row of the lowest nibble first, two entries a byte, the
        high half first.
    :raises Malformed: when it is not 64 bytes long.
    """

    def __init__(self, packed: bytes) -> None:
        if len(packed) != 64:
            raise Malformed(f"an S-box has 64 bytes, not {len(packed)}")
        self.packed = packed

    @cached_property
    def tables(self) -> Tables:
        """The look-up tables, made at first use in some milliseconds."""
        nibbles = [half for byte in self.packed for half in (byte >> 4, byte & 15)]
        rows = [nibbles[at : at + 16] for at in range(0, 128, 16)]

        def table(first: int, count: int) -> list[int]:
            made = [0]
            for row in range(first, first + count):
                shift = 4 * row
                made = [low | rows[row][high] << shift for high in range(16) for low in made]
            return [(value << 11 | value >> 21) & _WORD for value in made]

        return table(0, 3), table(3, 3), table(6, 2) * 2


DKE1 = SBox(
    bytes.fromhex(
        "a9d6eb45f13c708280c4967b231f5eadf658eba4c037291d38d96bf025ca4e17"
        "f8e9720dc615b43a28975f0bc1dea36438b564ea2c179fd0123e6db8fac57904"
    )
)
"""The S-box number 1 of Ukraine, the default everywhere (docs/reference/cryptography.md#algorithms)."""


def pairs_of(words: Iterable[int]) -> Pairs:
    """The order of key words for encryption."""
    k0, k1, k2, k3, k4, k5, k6, k7 = words
    up = ((k0, k1), (k2, k3), (k4, k5), (k6, k7))
    return up + up + up + ((k7, k6), (k5, k4), (k3, k2), (k1, k0))


def rounds(tables: Tables, pairs: Pairs, n1: int, n2: int) -> tuple[int, int]:
    """Both words after all rounds of ``pairs``."""
    low, middle, top = tables
    for first, second in pairs:
        t = n1 + first
        n2 ^= low[t & 0xFFF] ^ middle[t >> 12 & 0xFFF] ^ top[t >> 24]
        t = n2 + second
        n1 ^= low[t & 0xFFF] ^ middle[t >> 12 & 0xFFF] ^ top[t >> 24]
    return n1, n2


Words = tuple[int, int, int, int, int, int, int, int]
"""The eight words of a key."""


def all_rounds(tables: Tables, key: Words, n1: int, n2: int) -> tuple[int, int]:
    """Both words after the 32 rounds that encrypt: `rounds` unrolled for the hash, which uses each key once.

    The parts of a replaced word have no bit in common, so they may be added, which Python does faster than XOR; low
    and top fit into one digit of its integers.
    """
    low, middle, top = tables
    k0, k1, k2, k3, k4, k5, k6, k7 = key
    for _ in (1, 2, 3):
        t = n1 + k0
        u = t >> 12
        n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n2 + k1
        u = t >> 12
        n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n1 + k2
        u = t >> 12
        n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n2 + k3
        u = t >> 12
        n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n1 + k4
        u = t >> 12
        n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n2 + k5
        u = t >> 12
        n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n1 + k6
        u = t >> 12
        n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
        t = n2 + k7
        u = t >> 12
        n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n1 + k7
    u = t >> 12
    n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n2 + k6
    u = t >> 12
    n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n1 + k5
    u = t >> 12
    n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n2 + k4
    u = t >> 12
    n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n1 + k3
    u = t >> 12
    n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n2 + k2
    u = t >> 12
    n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n1 + k1
    u = t >> 12
    n2 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    t = n2 + k0
    u = t >> 12
    n1 ^= low[t & 0xFFF] + top[u >> 12] + middle[u & 0xFFF]
    return n1, n2


class Gost28147:
    """The cipher under one key.

    :param key: 32 bytes.
    :raises Malformed: when the key has another length.
    """

    def __init__(self, key: bytes, sbox: SBox = DKE1) -> None:
        if len(key) != KEY:
            raise Malformed(f"a key of this cipher has 32 bytes, not {len(key)}")
        self._tables = sbox.tables
        words = struct.unpack("<8I", key)
        self._encrypt = pairs_of(words)
        # Decryption reverses the order of all 32 rounds.
        self._decrypt = tuple((b, a) for a, b in reversed(self._encrypt))
        self._mac = self._encrypt[:8]

    def _block(self, pairs: Pairs, n1: int, n2: int) -> tuple[int, int]:
        n1, n2 = rounds(self._tables, pairs, n1, n2)
        return n2, n1

    def _ecb(self, pairs: Pairs, data: bytes) -> bytes:
        if len(data) % BLOCK:
            raise Malformed(f"{len(data)} bytes are not a whole number of blocks")
        made = bytearray()
        for n1, n2 in struct.iter_unpack("<2I", data):
            made += struct.pack("<2I", *self._block(pairs, n1, n2))
        return bytes(made)

    def encrypt_ecb(self, data: bytes) -> bytes:
        """Each block on its own.

        :raises Malformed: when ``data`` is not a whole number of blocks.
        """
        return self._ecb(self._encrypt, data)

    def decrypt_ecb(self, data: bytes) -> bytes:
        """The reverse of `encrypt_ecb`; raises the same."""
        return self._ecb(self._decrypt, data)

    def _gamma(self, iv: bytes) -> bytes:
        return struct.pack("<2I", *self._block(self._encrypt, *struct.unpack("<2I", iv)))

    def _cfb(self, iv: bytes, data: bytes, decrypt: bool) -> bytes:
        if len(iv) != BLOCK:
            raise Malformed(f"a start vector has 8 bytes, not {len(iv)}")
        made = bytearray()
        for at in range(0, len(data), BLOCK):
            given = data[at : at + BLOCK]
            turned = bytes(a ^ b for a, b in zip(given, self._gamma(iv), strict=False))
            made += turned
            iv = given if decrypt else turned
        return bytes(made)

    def encrypt_cfb(self, iv: bytes, data: bytes) -> bytes:
        """Cipher feedback: each block is XORed with the encrypted block of cipher text before it; any length.

        :param iv: 8 bytes.
        :raises Malformed: when ``iv`` has another length.
        """
        return self._cfb(iv, data, decrypt=False)

    def decrypt_cfb(self, iv: bytes, data: bytes) -> bytes:
        """The reverse of `encrypt_cfb`; raises the same."""
        return self._cfb(iv, data, decrypt=True)

    def mac(self, data: bytes) -> bytes:
        """The check value of ``data``, 4 bytes: 16 rounds a block, chained; the last block is padded with zeros."""
        n1 = n2 = 0
        data += bytes(-len(data) % BLOCK)
        for a, b in struct.iter_unpack("<2I", data):
            n1, n2 = rounds(self._tables, self._mac, n1 ^ a, n2 ^ b)
        return struct.pack("<I", n1)
