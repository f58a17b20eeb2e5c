"""When a document was signed, sent and answered: kept beside what is stored anyway, so it costs no write of its own.

The journal itself knows when an operation began and when it ended. For a register with a far end the operation's
``request`` holds the moments between, one entry for each of its documents: with the intent when it was signed, with
the outcome the rest. When the power went in between it stays unknown when the document was sent.
"""

from __future__ import annotations

import msgspec


class Moments(msgspec.Struct, array_like=True):
    """Milliseconds since 1970; 0 is not known, or never happened."""

    signed: int = 0
    sent: int = 0
    """Just before its first byte left."""
    answered: int = 0
    """When the far end had told, or been asked, that it has it."""


class _Kept(msgspec.Struct, omit_defaults=True):
    way: dict[int, Moments] = {}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Kept).decode


def encode(way: dict[int, Moments]) -> bytes:
    """The moments of each document, by its local number; empty when nothing is known."""
    return _encode(_Kept(way)) if way else b""


def decode(request: bytes) -> dict[int, Moments]:
    """What `encode` made; empty for anything else: operations of earlier versions have none."""
    try:
        return _decode(request).way if request else {}
    except msgspec.MsgspecError:
        return {}
