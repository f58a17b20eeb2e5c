"""Known answers, checked before the first signature: a machine that calculates wrongly must not sign.

The tax service refuses a wrong signature, and some wrong signatures reveal the key. Half a second, once in a process.
libcrypto is used only when it reproduces the known answers too. The environment variable ``DMTWISTED_LIBCRYPTO=off``
switches it off.
"""

from __future__ import annotations

import os
from functools import cache

from protocols.fiscal.crypto import arithmetic
from protocols.fiscal.crypto.arithmetic import PLAIN, Accelerated, Arithmetic
from protocols.fiscal.crypto.curves import DSTU_257
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.gost28147 import Gost28147
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.libcrypto import load

SWITCH = "DMTWISTED_LIBCRYPTO"
"""The environment variable; its only value is ``off``."""

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
    """Check hash, cipher, curve and signature against known answers; curve and signature in plain Python.

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
    # Signing and verifying calculate differently.
    if not public.verify(hash, signature, by) or public.verify(digest(hash), signature, by):
        raise SelfTestFailed("DSTU 4145")
    if not public.verify(hash, signature, PLAIN):
        raise SelfTestFailed("DSTU 4145, by plain Python")


def accelerated() -> Accelerated:
    """The machine's libcrypto, when it reproduces every known answer.

    :raises SelfTestFailed: when there is none, or it does not; the text says which.
    """
    if os.environ.get(SWITCH, "").strip().lower() == "off":
        raise SelfTestFailed(f"{SWITCH} is off")
    found = Accelerated(load())
    known_answers(found)
    if found.failed:
        raise SelfTestFailed(f"{found.name} failed a known answer")
    return found


@cache
def choose() -> str:
    """Choose the arithmetic of this process: why it is plain Python, empty when it is libcrypto."""
    try:
        arithmetic.use(accelerated())
    except SelfTestFailed as why:
        return str(why)
    return ""
