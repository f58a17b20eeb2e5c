"""The signature of a webhook, as version 1.0.0 of Standard Webhooks has it (docs/events.md).

A request carries three headers::

    webhook-id         which event this is; the same however often it is sent
    webhook-timestamp  when this try was made, in whole seconds since 1970
    webhook-signature  v1,BASE64 for each valid secret, with a blank between

``BASE64`` is the HMAC-SHA256 of ``ID.TIMESTAMP.BODY`` with the bytes of the secret. A secret is written as
``whsec_`` and the base64 of its bytes.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable

PREFIX = "whsec_"
"""What a written secret begins with."""


def written(secret: bytes) -> str:
    """A secret as people copy it."""
    return PREFIX + b64encode(secret).decode("ascii")


def signature(secret: str, id: str, at: int, body: bytes) -> str:
    """The signature of one try.

    :param secret: as it is written. :param at: seconds since 1970.
    :raises ValueError: when it is no secret.
    """
    if not secret.startswith(PREFIX):
        raise ValueError("this is no secret of a webhook")
    key = b64decode(secret.removeprefix(PREFIX), validate=True)
    digest = hmac.digest(key, f"{id}.{at}.".encode() + body, "sha256")
    return "v1," + b64encode(digest).decode("ascii")


def headers(secrets: Iterable[str], id: str, at: int, body: bytes) -> dict[str, str]:
    """The headers of one try, signed with each of ``secrets``; the parameters as of `signature`."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(signature(secret, id, at, body) for secret in secrets),
    }
