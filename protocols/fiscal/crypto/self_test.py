"""Known answers, asked for before the first signature: a machine that reckons wrongly must not sign.

A wrong signature is refused by the tax service, and a wrong one of a certain kind tells the key. Half a second, once.
"""

from __future__ import annotations

from protocols.fiscal.crypto.arithmetic import PLAIN, Arithmetic
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


_SIGNER = "24e8fd07616f356ad13c8bb1e5f2c391b66e836eca0e41414c6fcc3054799dd201"
_SIGNED = bytes((7 * at + 1) % 256 for at in range(32))
_R = "22ce339d6910e99b8a264dd636b50953c83f52778761bfcf49ada6abedfc39f7"
_S = "18a38bb82477716eca9cce1718452bd3176523e1c06fa260bd817fdfe6f6a107"
"""A public key on that curve, a hash, and the signature over it (BouncyCastle 1.72)."""


def self_test() -> None:
    """Check hash, cipher, curve and signature against known answers, all of them in plain Python.

    :raises SelfTestFailed: when one is wrong; nothing may be signed then.
    """
    message = b"12345678901234567890123456789011"
    if digest(message).hex() != _HASH:
        raise SelfTestFailed("GOST 34.311")
    cipher = Gost28147(bytes(range(32)))
    if cipher.decrypt_ecb(cipher.encrypt_ecb(message)) != message:
        raise SelfTestFailed("GOST 28147")
    known_answers(PLAIN)


def known_answers(by: Arithmetic) -> None:
    """Check curve and signature, multiplied by ``by``.

    :raises SelfTestFailed: when one is wrong.
    """
    key = PrivateKey(DSTU_257, int(_D, 16))
    public = key.public(by=by)
    if public.packed.hex() != _POINT or PublicKey(DSTU_257, DSTU_257.expand(public.packed)) != public:
        raise SelfTestFailed("the curve of m = 257")
    known = PublicKey(DSTU_257, DSTU_257.expand(bytes.fromhex(_SIGNER)))
    r, s = (int(half, 16).to_bytes(DSTU_257.scalar_size, "little") for half in (_R, _S))
    if not known.verify(_SIGNED, r + s, by) or known.verify(_SIGNED, s + r, by):
        raise SelfTestFailed("a published signature")
    hash = digest(_SIGNED)
    signature = key.sign(hash, by=by)
    # One way of reckoning signs and another one checks.
    if not public.verify(hash, signature, by) or public.verify(digest(hash), signature, by):
        raise SelfTestFailed("DSTU 4145")
    if not public.verify(hash, signature, PLAIN):
        raise SelfTestFailed("DSTU 4145, by plain Python")
