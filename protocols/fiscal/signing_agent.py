"""A signing agent: a key that stays where it is, asked for signatures over HTTP (fiscal-server 18).

The protocol is ours and small; whoever keeps keys in a token, a certified library or elsewhere can speak it::

    GET  /key     → {"protocol": 1, "certificate": "MIID…"}            whose key it is, DER in Base64
    POST /sign    {"content": "PD94…"} → {"message": "MIIJ…"}           the signed message around the content
    an error      {"error": "words for people"} with status 4xx or 5xx

Each request bears ``Authorization: Bearer TOKEN``; without the right one the answer is 401.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from protocols.fiscal.verdicts import Reply

VERSION = 1
KEY_PATH, SIGN_PATH = "/key", "/sign"

MOST_BYTES = 1024 * 1024
"""What an agent reads of a request: more than the largest package in Base64."""

JSON_TYPE = "application/json"


class KeyTold(msgspec.Struct, frozen=True, kw_only=True):
    """Whose key the agent holds."""

    protocol: int
    certificate: bytes


class SignAsked(msgspec.Struct, frozen=True):
    """What shall be signed."""

    content: bytes


class Signed(msgspec.Struct, frozen=True):
    """What was signed, with the signature around it."""

    message: bytes


class Failed(msgspec.Struct, frozen=True):
    """Why there is no signature."""

    error: str


class AgentError(Exception):
    """The agent gave no signature; the text is for people."""


T = TypeVar("T", bound=msgspec.Struct)


def headers(token: str) -> Mapping[str, str]:
    """What each request bears."""
    return {"Authorization": f"Bearer {token}", "Content-Type": JSON_TYPE, "Accept": JSON_TYPE}


def encode(value: msgspec.Struct) -> bytes:
    """The JSON of a request or an answer."""
    return msgspec.json.encode(value)


def decode(body: bytes, shape: type[T]) -> T:
    """A request or an answer.

    :raises AgentError: when it is none.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AgentError(f"it cannot be read ({error})") from None


def told(reply: Reply, shape: type[T]) -> T:
    """What an answer says.

    :raises AgentError: when it is an error, or no answer of an agent.
    """
    if reply.status == 200:
        return decode(reply.body, shape)
    if reply.status == 401:
        raise AgentError("it does not know the token")
    try:
        why: Any = decode(reply.body, Failed).error
    except AgentError:
        why = f"HTTP {reply.status}"
    raise AgentError(str(why)[:300])
