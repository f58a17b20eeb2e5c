"""What protocol A needs of signatures, told without any cryptography (fiscal-server 2, 15).

Whoever can sign and verify hands these functions in; `protocols.fiscal.crypto` knows how. The plain pair below signs
nothing: it serves training and tests, where content travels as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime


class WrongSignature(Exception):
    """A signed message that is none, or whose signature does not hold."""


@dataclass(frozen=True)
class Signed:
    """What a signed message holds.

    ``key`` is the signer's key identifier in hex, empty when nothing was signed; ``stamped`` the time of the
    signature's time stamp, `None` without one.
    """

    content: bytes
    key: str = ""
    name: str = ""
    """The signer, as the certificate names them."""
    stamped: datetime | None = None


Sign = Callable[[bytes], Awaitable[bytes]]
"""Content in, signed message out; it takes a while and is awaited."""

Open = Callable[[bytes], Signed]
"""Signed message in, content out; raises `WrongSignature`."""

Seal = Callable[[bytes], bytes]
"""As `Sign`, at once: what a simulated server uses."""


async def unsigned(content: bytes) -> bytes:
    """Sign nothing."""
    return content


def open_unsigned(message: bytes) -> Signed:
    """Verify nothing."""
    return Signed(message)


def seal_unsigned(content: bytes) -> bytes:
    """Sign nothing, at once."""
    return content
