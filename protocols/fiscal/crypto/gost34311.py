"""GOST 34.311-95: the hash, 32 bytes, in every signature (docs/reference/cryptography.md#algorithms).

Blocks of 32 bytes, as little-endian numbers; the start vector is zero. One step mixes a block M into the state H::

    W1 = H ^ M,  W2, W3, W4 from both by shifts of quarters;  each W, its bytes transposed, is a key of GOST 28147
    S  = the four quarters of H, each encrypted under its key
    H  = psi**61(H ^ psi(M ^ psi**12(S)))

``psi`` shifts the sixteen 16-bit words down by one and puts the XOR of words 1, 2, 3, 4, 13 and 16 on top. It is
linear, so the last line is one sum over words: ``psi**61(H ^ psi(M)) ^ psi**74(S)``. Multiplying a word by a
number with single bits in some 16-bit places copies it to those places, so each power is 16 multiplications.

The last two blocks are the length in bits and the sum of all blocks.

Packages contain the step compiled (`protocols.fiscal.crypto.gost34311_words`), which is used when it gives the same
results as this module. The environment variable ``DMTWISTED_COMPILED=off`` switches it off.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import cache, lru_cache, reduce
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from operator import mul, xor
from types import ModuleType

from twisted.logger import Logger

from protocols.fiscal.crypto.gost28147 import DKE1, SBox, Tables, all_rounds

SIZE = 32
"""Bytes of a hash, and of a block."""

_C3 = 0xFF00FFFF000000FFFF0000FF00FFFF0000FF00FF00FF00FFFF00FF00FF00FF00
"""The one constant of the key schedule that is not zero."""

_WHOLE = (1 << 256) - 1


def _psi(value: int) -> int:
    top = value ^ value >> 16 ^ value >> 32 ^ value >> 48 ^ value >> 192 ^ value >> 240
    return value >> 16 | (top & 0xFFFF) << 240


def _copies(power: int) -> list[int]:
    """For each word the number that, times the word, gives ``psi**power`` of it."""
    made = []
    for word in range(16):
        value = 1 << 16 * word
        for _ in range(power):
            value = _psi(value)
        made.append(value)
    return made


_MIX = _copies(61) + _copies(74)

_MIXED = struct.Struct("<32H")
_WORDS = struct.Struct("<8I")


def _turned(whole: bytes) -> int:
    """The bytes transposed: byte j of each quarter is in word j, so a shift by a quarter is one by a byte."""
    parts = (whole[0::8], whole[1::8], whole[2::8], whole[3::8], whole[4::8], whole[5::8], whole[6::8], whole[7::8])
    return int.from_bytes(b"".join(parts), "little")


_ONE, _TWO, _THREE = (int.from_bytes((b"\xff" * count).ljust(4, b"\0") * 8, "little") for count in (1, 2, 3))
"""The lowest bytes of each word."""

_TURNED_C3 = _turned(_C3.to_bytes(SIZE, "little"))


def _step(tables: Tables, state: int, block: int) -> int:
    """One block mixed into the state."""
    before = state.to_bytes(SIZE, "little")
    h0, h1, h2, h3, h4, h5, h6, h7 = _WORDS.unpack(before)
    u, v = _turned(before), _turned(block.to_bytes(SIZE, "little"))
    s1, s0 = all_rounds(tables, _WORDS.unpack((u ^ v).to_bytes(SIZE, "little")), h0, h1)
    u = u >> 8 & _THREE | ((u ^ u >> 8) & _ONE) << 24
    # The same shift with its XOR, twice.
    v = v >> 16 & _TWO | ((v ^ v >> 8) & _TWO) << 16
    s3, s2 = all_rounds(tables, _WORDS.unpack((u ^ v).to_bytes(SIZE, "little")), h2, h3)
    u = (u >> 8 & _THREE | ((u ^ u >> 8) & _ONE) << 24) ^ _TURNED_C3
    v = v >> 16 & _TWO | ((v ^ v >> 8) & _TWO) << 16
    s5, s4 = all_rounds(tables, _WORDS.unpack((u ^ v).to_bytes(SIZE, "little")), h4, h5)
    u = u >> 8 & _THREE | ((u ^ u >> 8) & _ONE) << 24
    v = v >> 16 & _TWO | ((v ^ v >> 8) & _TWO) << 16
    s7, s6 = all_rounds(tables, _WORDS.unpack((u ^ v).to_bytes(SIZE, "little")), h6, h7)
    encrypted = _WORDS.pack(s0, s1, s2, s3, s4, s5, s6, s7)
    words = _MIXED.unpack((state ^ _psi(block)).to_bytes(SIZE, "little") + encrypted)
    mixed: int = reduce(xor, map(mul, words, _MIX))
    return mixed


Mix = Callable[[Tables, bytes, bytes], bytes]
"""Mixes a whole number of blocks into a state: tables of the S-box, state, blocks."""


def mixed(tables: Tables, state: bytes, blocks: bytes) -> bytes:
    """The state after ``blocks``, in plain Python."""
    value = int.from_bytes(state, "little")
    for at in range(0, len(blocks), SIZE):
        value = _step(tables, value, int.from_bytes(blocks[at : at + SIZE], "little"))
    return value.to_bytes(SIZE, "little")


SWITCH = "DMTWISTED_COMPILED"
"""The environment variable; its only value is ``off``."""

_KNOWN = bytes(range(1, 1 + SIZE)), bytes(7 * at & 0xFF for at in range(3 * SIZE))


def words() -> ModuleType:
    """The step in words of 32 bits, compiled or not."""
    return import_module("protocols.fiscal.crypto.gost34311_words")


def chosen(load: Callable[[], ModuleType] = words) -> Mix:
    """The function of the loaded module, when it is compiled and gives what `mixed` gives, else `mixed`."""
    if os.environ.get(SWITCH, "").strip().lower() == "off":
        return mixed
    try:
        loaded = load()
        if not str(loaded.__file__).endswith(tuple(EXTENSION_SUFFIXES)):
            return mixed
        compiled: Mix = loaded.mixed
        if compiled(DKE1.tables, *_KNOWN) == mixed(DKE1.tables, *_KNOWN):
            return compiled
        why = "it calculates wrongly"
    except Exception as failed:
        why = repr(failed)
    Logger().error("the compiled hash is not used: {why}", why=why)
    return mixed


_mix = cache(chosen)
"""The choice of this process, made with the first hash."""


class Gost34311:
    """A hash of data that comes in pieces.

    :param mix: `mixed`, or its compiled form.
    """

    def __init__(self, data: bytes = b"", sbox: SBox = DKE1, mix: Mix | None = None) -> None:
        self._sbox, self._mix = sbox, mix or _mix()
        self._state = bytes(SIZE)
        self._sum = self._length = 0
        self._rest = b""
        self.update(data)

    def copy(self) -> Gost34311:
        """An independent copy of the current state."""
        other = Gost34311(sbox=self._sbox, mix=self._mix)
        other._state, other._sum, other._length, other._rest = self._state, self._sum, self._length, self._rest
        return other

    def update(self, data: bytes) -> None:
        """Add bytes."""
        data = self._rest + data
        whole = len(data) - len(data) % SIZE
        if whole:
            self._absorb(data[:whole])
        self._length += whole * 8
        self._rest = data[whole:]

    def _absorb(self, blocks: bytes) -> None:
        self._state = self._mix(self._sbox.tables, self._state, blocks)
        for at in range(0, len(blocks), SIZE):
            self._sum += int.from_bytes(blocks[at : at + SIZE], "little")

    def digest(self) -> bytes:
        """The hash of all bytes so far, 32 bytes; more may follow."""
        last = self.copy()
        length = last._length + 8 * len(last._rest)
        if last._rest:
            last._absorb(last._rest.ljust(SIZE, b"\0"))
        end = (length & _WHOLE).to_bytes(SIZE, "little") + (last._sum & _WHOLE).to_bytes(SIZE, "little")
        return last._mix(self._sbox.tables, last._state, end)


HEAD = 6 * SIZE
"""Bytes that start all receipts of one kind: XML declaration, schema, kind of document."""


@lru_cache(maxsize=16)
def _started(head: bytes, sbox: SBox) -> Gost34311:
    """The hash of a common start, for all texts that have it."""
    return Gost34311(head, sbox)


def digest(data: bytes, sbox: SBox = DKE1) -> bytes:
    """The hash of ``data``, 32 bytes."""
    if len(data) <= HEAD:
        return Gost34311(data, sbox).digest()
    hash = _started(data[:HEAD], sbox).copy()
    hash.update(data[HEAD:])
    return hash.digest()
