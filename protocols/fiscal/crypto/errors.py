"""What can be wrong with keys, certificates and signed messages."""

from __future__ import annotations


class CryptoError(Exception):
    """A key, certificate or signed message cannot be used."""


class Malformed(CryptoError):
    """The bytes are cut, damaged or something else."""


class Unsupported(CryptoError):
    """The bytes are well formed, of an algorithm or version that is not supported."""


class WrongPassword(CryptoError):
    """The key file looks whole; this password does not open it."""


def not_opened(right_password: bool) -> CryptoError:
    """Why a key file does not open."""
    if right_password:
        return Malformed("the password is right and the key file is damaged")
    return WrongPassword("the password does not open the key file")


class NoKey(CryptoError):
    """The key file opens, but has no key for the certificate, or there is no certificate."""


class SelfTestFailed(CryptoError):
    """This machine calculates wrongly: nothing may be signed."""
