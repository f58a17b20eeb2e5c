"""The page's orders for the certificate, done in a child process (`dmtwisted.system.apart`).

So a file that takes days to open can be given up, and the service needs no memory for it or for the library.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dmtwisted.system.apart import apart

WORK = "dmtwisted.access.tls_install:work"

PATIENCE = 20.0
"""Seconds for all of it; a normal file takes one."""


class Order(msgspec.Struct, frozen=True):
    """What to do.

    ``certificate``, ``key`` and ``passphrase`` are of the configuration; ``file``, ``key_file`` and ``password`` were
    uploaded; ``names`` are further names of this machine, ``new`` asks for a new authority; ``now`` is its time in
    seconds since 1970.
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
    new: bool = False

    def __repr__(self) -> str:
        return f"Order({self.do!r})"


class Result(msgspec.Struct, frozen=True):
    """The certificate, as `facts` describes it, or the error."""

    error: str = ""
    facts: dict[str, Any] = {}


def lasting_facts(status: dict[str, Any]) -> dict[str, Any]:
    """Of what is known of a certificate, what stays the same until it is replaced."""
    return {
        name: status[name] for name in ("subject", "issuer", "names", "valid_to", "fingerprint") if name in status
    }


async def ordered(order: Order, reactor: Any, patience: float = PATIENCE) -> Result:
    """Do an order in a child process."""
    result = await apart(reactor, WORK, msgspec.json.encode(order), patience)
    if result is None:
        return Result("certificate: it takes too long to open, or cannot be opened at all")
    return msgspec.json.decode(result, type=Result)
