"""Three ways from a password to a key, all slow on purpose (docs/reference/cryptography.md#key-files).

They run for seconds in plain Python: the caller runs them in a thread, once for each key file.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from protocols.fiscal.crypto.errors import Malformed, Unsupported
from protocols.fiscal.crypto.gost34311 import SIZE, Gost34311, digest

MOST_ROUNDS = 200_000
"""No real key file has more; a file that asks for more would block the machine that reads it."""


def spellings(password: str) -> list[bytes]:
    """The bytes of a typed password: UTF-8, or Windows-1251 as old programs used.

    Empty when no encoding has all its characters.
    """
    found = []
    for encoding in ("utf-8", "cp1251") if not password.isascii() else ("ascii",):
        with suppress(UnicodeEncodeError):
            found.append(password.encode(encoding))
    return found


def check_rounds(rounds: int) -> None:
    """Check a number of rounds before the work.

    :raises Malformed: for less than one.
    :raises Unsupported: for too many.
    """
    if rounds < 1:
        raise Malformed(f"{rounds} rounds")
    if rounds > MOST_ROUNDS:
        raise Unsupported(f"{rounds} rounds of key derivation")


def iit_key(password: bytes, rounds: int) -> bytes:
    """The key of IIT's files: the hash of the hash … of the password."""
    key = password
    for _ in range(rounds):
        key = digest(key)
    return key


class Hmac:
    """HMAC over GOST 34.311 under one key (RFC 2104; a block is 32 bytes)."""

    def __init__(self, key: bytes) -> None:
        key = (digest(key) if len(key) > SIZE else key).ljust(SIZE, b"\0")
        self._inner = Gost34311(bytes(byte ^ 0x36 for byte in key))
        self._outer = Gost34311(bytes(byte ^ 0x5C for byte in key))

    def digest(self, data: bytes) -> bytes:
        """The check value of ``data``, 32 bytes."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(data)
        outer.update(inner.digest())
        return outer.digest()


def pbkdf2(password: bytes, salt: bytes, rounds: int) -> bytes:
    """A key of 32 bytes by PBKDF2 with `Hmac` (RFC 8018 5.2)."""
    hmac = Hmac(password)
    last = hmac.digest(salt + b"\0\0\0\x01")
    total = int.from_bytes(last, "big")
    for _ in range(rounds - 1):
        last = hmac.digest(last)
        total ^= int.from_bytes(last, "big")
    return total.to_bytes(SIZE, "big")


def pkcs12_mac_key(password: str, salt: bytes, rounds: int, block: int = SIZE, sha: str = "") -> bytes:
    """The key of a PKCS#12 file's MAC, as long as its hash (RFC 7292 appendix B, purpose 3).

    :param block: block size of the hash, in the rule ``v``. :param sha: its name; empty is GOST 34.311.
    """

    def filled(data: bytes) -> bytes:
        size = -(-len(data) // block) * block
        return (data * (size // max(len(data), 1) + 1))[:size]

    typed = password.encode("utf-16-be", "surrogatepass") + b"\0\0"
    key = bytes([3]) * block + filled(salt) + filled(typed)
    if not sha:
        return iit_key(key, rounds)
    for _ in range(rounds):
        key = hashlib.new(sha, key).digest()
    return key
