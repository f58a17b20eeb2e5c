"""What a page wants of the certificate, done in a process of its own (`dmtwisted.system.apart`).

So a file that takes days to open can be ended, and the service itself carries neither what comes out of it nor the
library that reads it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dmtwisted.system.apart import apart

WORK = "dmtwisted.access.tls_install:work"

PATIENCE = 20.0
"""Seconds for all of it; an honest file takes one."""


class Order(msgspec.Struct, frozen=True):
    """What shall be done. ``certificate``, ``key`` and ``passphrase`` are what the configuration names, if it does.

    ``file``, ``key_file`` and ``password`` are what was uploaded; ``names`` further names of this machine; ``now``
    the machine's time in seconds since 1970.
    """

    do: Literal["install", "authority", "status"]
    state: str
    now: float
    certificate: str = ""
    key: str = ""
    passphrase: str = ""
    file: bytes = b""
    key_file: bytes = b""
    password: str = ""
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Order({self.do!r})"


class Told(msgspec.Struct, frozen=True):
    """What came of it: the certificate as `facts` tells it, or why not."""

    error: str = ""
    facts: dict[str, Any] = {}


async def ordered(order: Order, reactor: Any, patience: float = PATIENCE) -> Told:
    """Let a process of its own do what is ordered."""
    told = await apart(reactor, WORK, msgspec.json.encode(order), patience)
    if told is None:
        return Told("certificate: it takes too long to open, or cannot be opened at all")
    return msgspec.json.decode(told, type=Told)
