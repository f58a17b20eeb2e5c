"""Known answers, asked for before the first signature: a machine that reckons wrongly must not sign.

A wrong signature is refused by the tax service, and a wrong one of a certain kind tells the key. Half a second, once.
"""

from __future__ import annotations

from protocols.fiscal.crypto.curves import DSTU_257
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.gost28147 import Gost28147
from protocols.fiscal.crypto.gost34311 import digest

_HASH = "7686f3f4b113aadc97bca9ea054f41821f0676c5c28ffb987e41797a568e1ed4"
"""Of the 32 letters 12345678901234567890123456789011 (npm gost89)."""

_D = "3132333435363738393031323334353637383930313233343536373839303132"
_POINT = "4b6cc619bf3c209207a76fcb7d5e0d602fd18ec3419b4bca0905a343d793fd6200"
"""A private number on the curve of m = 257 and its public key, compressed (jkurwa)."""


def self_test() -> None:
    """Check hash, cipher, curve and signature against known answers.

    :raises SelfTestFailed: when one is wrong; nothing may be signed then.
    """
    message = b"12345678901234567890123456789011"
    if digest(message).hex() != _HASH:
        raise SelfTestFailed("GOST 34.311")
    cipher = Gost28147(bytes(range(32)))
    if cipher.decrypt_ecb(cipher.encrypt_ecb(message)) != message:
        raise SelfTestFailed("GOST 28147")
    key = PrivateKey(DSTU_257, int(_D, 16))
    public = key.public()
    if public.packed.hex() != _POINT or PublicKey(DSTU_257, DSTU_257.expand(public.packed)) != public:
        raise SelfTestFailed("the curve of m = 257")
    hash = digest(message)
    signature = key.sign(hash)
    # The comb signed; windows and comb together check, so two ways of reckoning meet here.
    if not public.verify(hash, signature) or public.verify(digest(hash), signature):
        raise SelfTestFailed("DSTU 4145")
