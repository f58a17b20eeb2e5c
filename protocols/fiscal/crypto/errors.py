"""What can be wrong with keys, certificates and signed messages, told as data."""

from __future__ import annotations


class CryptoError(Exception):
    """A key, certificate or signed message cannot be used."""


class Malformed(CryptoError):
    """The bytes are not what they should be: cut, damaged, or something else altogether."""


class Unsupported(CryptoError):
    """The bytes are well made, of an algorithm or a version that is not ours."""


class WrongPassword(CryptoError):
    """The key file is whole as far as can be seen; this password does not open it."""


class NoKey(CryptoError):
    """The key file opens and holds no key that fits the certificate, or no certificate is there."""


class SelfTestFailed(CryptoError):
    """The arithmetic on this machine gives wrong results: nothing may be signed."""
