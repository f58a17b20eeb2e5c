"""The protocol of signing agents, which keep a key elsewhere (docs/reference/cryptography.md#signing-agent)::

    GET  /key     → {"protocol": 1, "certificate": "MIID…"}            DER in Base64
    POST /sign    {"content": "PD94…"} → {"message": "MIIJ…"}           the signed message around the content
    an error      {"error": "words for people"} with status 4xx or 5xx

Each request has ``Authorization: Bearer TOKEN``; without the right token the answer is 401.
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
    """The certificate of the agent's key."""

    protocol: int
    certificate: bytes


class SignAsked(msgspec.Struct, frozen=True):
    """The content to sign."""

    content: bytes


class Signed(msgspec.Struct, frozen=True):
    """The signed message."""

    message: bytes


class Failed(msgspec.Struct, frozen=True):
    """The reason of an error."""

    error: str


class AgentError(Exception):
    """The agent did not sign; the text is for people."""


T = TypeVar("T", bound=msgspec.Struct)


def headers(token: str) -> Mapping[str, str]:
    """The headers of each request."""
    return {"Authorization": f"Bearer {token}", "Content-Type": JSON_TYPE, "Accept": JSON_TYPE}


def encode(value: msgspec.Struct) -> bytes:
    """The JSON of a request or an answer."""
    return msgspec.json.encode(value)


def decode(body: bytes, shape: type[T]) -> T:
    """A request or an answer.

    :raises AgentError: when it cannot be read.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AgentError(f"it cannot be read ({error})") from None


def read_answer(reply: Reply, shape: type[T]) -> T:
    """The value in an answer.

    :raises AgentError: for an error, or anything else.
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
