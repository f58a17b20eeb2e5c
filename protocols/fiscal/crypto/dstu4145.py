"""DSTU 4145-2002: signing and verifying (docs/reference/cryptography.md#algorithms).

A private key is a number d, the public key the point Q = -dP. All in bytes is little-endian::

    h = the hash as a number, its lowest m bits, 1 in place of 0
    sign    pick e;  r = the lowest L bits of h * x(eP);  s = (e + d r) mod n;  again when e, r or s is 0
    verify  0 < r, s < n  and  r = the lowest L bits of h * x(sP + rQ)
    L = bits of n, less one;  the signature is r || s, each in as many bytes as n has

One known e, or two signatures with the same e, reveal the key. So e is made of key, hash and the machine's randomness
together: neither a broken random generator alone nor a fault in repeated signatures of one text reveals it.

The times of plain Python's integers depend on their values (docs/reference/cryptography.md#timing).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from protocols.fiscal.crypto.arithmetic import Arithmetic, current
from protocols.fiscal.crypto.curves import BLINDING, DSTU_257, Curve, Point
from protocols.fiscal.crypto.errors import Malformed

Randomness = Callable[[int], bytes]
"""Returns as many random bytes as asked for."""


def _hash_number(curve: Curve, hash: bytes) -> int:
    return int.from_bytes(hash, "little") & (1 << curve.m) - 1 or 1


def _truncated(curve: Curve, hash: bytes, point: Point) -> int:
    f = curve.field
    product = f.mul(f.widen(_hash_number(curve, hash)), f.widen(point[0]))
    return f.narrow(product) & (1 << curve.n.bit_length() - 1) - 1


@dataclass(frozen=True)
class PublicKey:
    """A point of a curve."""

    curve: Curve
    point: Point

    @property
    def packed(self) -> bytes:
        """The compressed point."""
        return self.curve.compress(self.point)

    def verify(self, hash: bytes, signature: bytes, by: Arithmetic | None = None) -> bool:
        """Whether ``signature`` was made over ``hash`` with the private key to this one.

        :param signature: r || s.
        :param by: multiplies points; `arithmetic.current` when absent.
        """
        half, odd = divmod(len(signature), 2)
        if odd or not half:
            return False
        r, s = int.from_bytes(signature[:half], "little"), int.from_bytes(signature[half:], "little")
        if not (0 < r < self.curve.n and 0 < s < self.curve.n):
            return False
        point = (by or current()).combine(self.curve, s, r, self.point)
        return point is not None and _truncated(self.curve, hash, point) == r


@dataclass(frozen=True)
class PrivateKey:
    """A secret number of a curve; its ``repr`` does not show it.

    :raises Malformed: when the number is not between 1 and n - 1.
    """

    curve: Curve
    d: int = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.d < self.curve.n:
            raise Malformed("the private number does not belong to its curve")

    @classmethod
    def generate(cls, curve: Curve = DSTU_257, random: Randomness = secrets.token_bytes) -> PrivateKey:
        """A new key."""
        # With 16 bytes more than the number needs, no bias towards small numbers is measurable.
        return cls(curve, int.from_bytes(random(curve.scalar_size + 16), "little") % (curve.n - 1) + 1)

    def public(self, random: Randomness = secrets.token_bytes, by: Arithmetic | None = None) -> PublicKey:
        """The public key; takes some milliseconds."""
        blind = int.from_bytes(random(BLINDING // 8), "little")
        point = (by or current()).base_multiple(self.curve, self.d, blind)
        if point is None:
            raise Malformed("the private number does not belong to its curve")
        return PublicKey(self.curve, self.curve.negative(point))

    def sign(self, hash: bytes, random: Randomness = secrets.token_bytes, by: Arithmetic | None = None) -> bytes:
        """The signature r || s over ``hash``.

        :param random: makes e, together with key and hash.
        :param by: multiplies points; `arithmetic.current` when absent.
        """
        while True:
            blind = int.from_bytes(random(BLINDING // 8), "little")
            made = self.sign_with(hash, self._nonce(hash, random), blind, by)
            if made is not None:
                return made

    def _nonce(self, hash: bytes, random: Randomness) -> int:
        size = self.curve.scalar_size
        key = self.d.to_bytes(size, "little")
        drawn = hmac.digest(key, b"nonce" + random(64) + hash, hashlib.sha512)
        # 512 bits for an order of at most 430: no measurable bias.
        return int.from_bytes(drawn, "little") % (self.curve.n - 1) + 1

    def sign_with(self, hash: bytes, e: int, blind: int = 0, by: Arithmetic | None = None) -> bytes | None:
        """The signature with this ``e``; ``None`` when another one is needed. Only `sign` and vectors call it.

        :param blind: see `Curve.base_multiple`.
        """
        n, size = self.curve.n, self.curve.scalar_size
        point = (by or current()).base_multiple(self.curve, e, blind)
        if point is None or not point[0]:
            return None
        r = _truncated(self.curve, hash, point)
        s = (e + self.d * r) % n
        if not (r and s):
            return None
        return r.to_bytes(size, "little") + s.to_bytes(size, "little")
