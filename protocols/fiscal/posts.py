"""What is sent to the fiscal server: bytes, path and headers (docs/reference/tax-service.md#transport)."""

from __future__ import annotations

from dataclasses import dataclass, field

from protocols.fiscal import commands
from protocols.fiscal.bodies import MOST_BYTES, BodyTooLarge, compress
from protocols.fiscal.commands import Command

DOCUMENT, PACKAGE, COMMAND = "/doc", "/pck", "/cmd"

SIGNED_TYPE = "application/octet-stream"
JSON_TYPE = "application/json; charset=UTF-8"

ERRORS_AS_JSON = "?resultAsJson=true"


@dataclass(frozen=True)
class Post:
    """One request; ``target`` is the path after the server's address, with its query."""

    target: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def document_post(sent: bytes) -> Post:
    """Hand in one signed document.

    :raises BodyTooLarge: when it has more bytes than the server takes.
    """
    return _post(DOCUMENT, sent, SIGNED_TYPE)


def package_post(sent: bytes) -> Post:
    """Hand in the signed package of an offline session; its errors are those of `document_post`."""
    return _post(PACKAGE, sent, SIGNED_TYPE)


def command_post(body: bytes, signed: bool) -> Post:
    """Send a command, JSON or signed JSON; its errors are those of `document_post`."""
    return _post(COMMAND + ERRORS_AS_JSON, body, SIGNED_TYPE if signed else JSON_TYPE)


def has_to_be_signed(command: Command) -> bool:
    """Whether the server takes ``command`` only with a signature."""
    return not isinstance(command, commands.UNSIGNED)


def _post(target: str, body: bytes, kind: str) -> Post:
    if len(body) > MOST_BYTES:
        raise BodyTooLarge(f"{len(body)} bytes, at most {MOST_BYTES} are taken")
    headers = {"Content-Type": kind, "Accept-Encoding": "gzip", "Content-Encoding": "gzip"}
    return Post(target, headers, compress(body))
