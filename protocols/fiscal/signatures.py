"""Signing and verifying as functions without cryptography (docs/reference/cryptography.md#signed-messages).

The caller supplies them; `protocols.fiscal.crypto` does the work. The pair below leaves content unsigned, for
training and tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime


class WrongSignature(Exception):
    """Bytes that are not a signed message, or whose signature is wrong."""


@dataclass(frozen=True)
class Signed:
    """A verified message.

    ``key`` is the signer's key identifier in hex, empty for unsigned content; ``stamped`` the moment of the time
    stamp, ``at`` the one that the signer states.
    """

    content: bytes
    key: str = ""
    name: str = ""
    """The signer's name in the certificate."""
    stamped: datetime | None = None
    at: datetime | None = None


Sign = Callable[[bytes], Awaitable[bytes]]
"""Content in, signed message out."""

Open = Callable[[bytes], Signed]
"""Signed message in, content out; raises `WrongSignature`."""

Seal = Callable[[bytes], bytes]
"""As `Sign`, but synchronous: for simulated servers."""


async def unsigned(content: bytes) -> bytes:
    """Sign nothing."""
    return content


def open_unsigned(message: bytes) -> Signed:
    """Verify nothing."""
    return Signed(message)


def seal_unsigned(content: bytes) -> bytes:
    """Sign nothing, synchronously."""
    return content
