"""What leaves for the fiscal server: which bytes, to which path, with which headers (fiscal-server 2).

=========  ===================================================================
``/doc``   one signed document
``/pck``   the signed package of an offline session
``/cmd``   a command: JSON as it is, or signed; errors are asked for as JSON
=========  ===================================================================
"""

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


def document_post(sent: bytes, compressed: bool = True) -> Post:
    """Hand in one signed document.

    :raises BodyTooLarge: when it has more bytes than the server takes.
    """
    return _post(DOCUMENT, sent, SIGNED_TYPE, compressed)


def package_post(sent: bytes, compressed: bool = True) -> Post:
    """Hand in a signed package.

    :raises BodyTooLarge: when it has more bytes than the server takes.
    """
    return _post(PACKAGE, sent, SIGNED_TYPE, compressed)


def command_post(body: bytes, signed: bool, compressed: bool = True) -> Post:
    """Ask a command: its JSON text, or that text signed.

    :raises BodyTooLarge: when it has more bytes than the server takes.
    """
    return _post(COMMAND + ERRORS_AS_JSON, body, SIGNED_TYPE if signed else JSON_TYPE, compressed)


def has_to_be_signed(command: Command) -> bool:
    """Whether the server takes ``command`` only with a signature."""
    return not isinstance(command, commands.UNSIGNED)


def _post(target: str, body: bytes, kind: str, compressed: bool) -> Post:
    if len(body) > MOST_BYTES:
        raise BodyTooLarge(f"{len(body)} bytes, at most {MOST_BYTES} are taken")
    headers = {"Content-Type": kind, "Accept-Encoding": "gzip"}
    if not compressed:
        return Post(target, headers, body)
    return Post(target, {**headers, "Content-Encoding": "gzip"}, compress(body))
