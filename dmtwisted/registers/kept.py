"""What is kept beside an operation's documents, in its ``request``; it is stored with intent and outcome anyway.

The journal itself knows when an operation began and ended. For a register with a link the moments between are kept
for each document: with the intent when it was signed, with the outcome the rest. If the power goes in between, it is
unknown when the document was sent.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

UNKNOWN: Final = "unknown"
REVOKED: Final = "revoked"
ABSENT: Final = "absent"
"""What became of an online copy: unknown yet; it was there and is revoked; it never arrived."""


class Moments(msgspec.Struct, array_like=True):
    """Milliseconds since 1970; 0 is unknown, or never happened."""

    signed: int = 0
    sent: int = 0
    """Just before its first byte left."""
    answered: int = 0
    """When the tax service confirmed the document, in its answer or when it was asked later."""


class Doubt(msgspec.Struct, array_like=True):
    """Of a document whose answer was lost; milliseconds since 1970."""

    lost: int = 0
    """When it was given up; 0: the service was interrupted before the answer."""
    found: int = 0
    """When it was certain that the tax service has it; 0: it is not."""
    later: bool = False
    """Whether its caller had gone by then, so that only a repeat of the task brings it the answer."""


class Revocation(msgspec.Struct, frozen=True):
    """Of a session's opening document: the lost document as it was sent, and the opening document that revokes it."""

    operation: int
    sent: bytes
    revoking: bytes
    """On protocol B: the right to have its online copy deleted (`IFiscalChannel.right_to_withdraw`)."""


class OnlineCopy(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of a lost operation whose document was made again offline: what became of the online copy."""

    again: int
    """The local number of the document that counts."""
    became: Literal["unknown", "revoked", "absent"] = UNKNOWN
    number: str = ""
    """The fiscal number of the online copy, once it is known."""


class Reach(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a receipt that is not settled yet is to reach its customer."""

    email: str = ""
    phone: str = ""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept with one operation."""

    way: dict[int, Moments] = {}
    """By the local numbers of the documents."""
    revocation: Revocation | None = None
    online_copy: OnlineCopy | None = None
    reach: Reach | None = None
    doubts: dict[int, Doubt] = {}
    """By the local numbers of the documents; most operations have none."""
    renewed: dict[int, bytes] = {}
    """By the local numbers: what was sent in place of the bytes of the intent, which never arrived."""


NOTHING = Kept()

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode


def encode(kept: Kept) -> bytes:
    """``kept`` as it is stored; empty when there is nothing to keep."""
    return _encode(kept) if kept != NOTHING else b""


def decode(request: bytes) -> Kept:
    """What `encode` made; nothing for operations of earlier versions, and of other kinds."""
    try:
        return _decode(request) if request else NOTHING
    except msgspec.MsgspecError:
        return NOTHING


def with_copy(request: bytes, copy: OnlineCopy) -> bytes:
    """``request`` with what became of the online copy; the document that counts has the customer."""
    return encode(msgspec.structs.replace(decode(request), online_copy=copy, reach=None))


def without_reach(request: bytes) -> bytes:
    """``request`` without the customer, never empty: a store keeps what it has in place of an empty one."""
    return _encode(msgspec.structs.replace(decode(request), reach=None))
