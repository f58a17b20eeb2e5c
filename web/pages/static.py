"""``/dm/static/``: style, scripts and drawings of the pages, read once at start.

Pages name them with a version (``/dm/static/4f0c…/page.js``), which modules that import one another share. A browser
keeps such a file for a year, as an update of the service changes the address. Without the version, or with that of
another release, it asks each time whether its `ETag` is still current.

These files go compressed. Pages do not: they have secrets beside text that others choose.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files

from twisted.web.http import CACHED
from twisted.web.resource import Resource
from twisted.web.server import Request

from web.answers import not_allowed, not_found

TYPES = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8", ".svg": b"image/svg+xml"}
"""Media types by file extension."""

PREFIX = b"/dm/static/"
"""The path of the files."""


@cache
def _read() -> dict[bytes, tuple[bytes, bytes]]:
    """Media type and content of each file by its name."""
    found = {}
    for file in (files("web") / "static").iterdir():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name.encode()] = kind, file.read_bytes()
    return found


@cache
def _version() -> bytes:
    """What changes with any of the files."""
    whole = hashlib.blake2b(digest_size=6)
    for name, (_, body) in sorted(_read().items()):
        whole.update(name + b"\0" + body)
    return whole.hexdigest().encode()


def versioned() -> str:
    """The path of the files of this version."""
    return (PREFIX + _version() + b"/").decode()


@cache
def _compressed(name: bytes) -> bytes:
    return gzip.compress(_read()[name][1], mtime=0)


class StaticFiles(Resource):
    """The static files by their names, for every role."""

    isLeaf = True
    asks_itself = True

    def __init__(self, default_language: str) -> None:
        super().__init__()
        self._default_language = default_language
        _read()

    def render(self, request: Request) -> bytes:
        """The file, or 304 when the caller has it."""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET", self._default_language)
        path: bytes = request.path.removeprefix(PREFIX)
        version, slash, name = path.rpartition(b"/")
        found = _read().get(name)
        if found is None or b"/" in version:
            return not_found(request, self._default_language)
        kind, body = found
        tag = hashlib.blake2b(body, digest_size=12).hexdigest().encode()
        request.setHeader(b"content-type", kind)
        current = slash and version == _version()
        request.setHeader(b"cache-control", b"max-age=31536000, immutable" if current else b"no-cache")
        request.setHeader(b"x-content-type-options", b"nosniff")
        request.setHeader(b"vary", b"accept-encoding")
        if b"gzip" in (request.getHeader(b"accept-encoding") or b""):
            request.setHeader(b"content-encoding", b"gzip")
            tag, body = tag + b"-gzip", _compressed(name)
        if request.setETag(b'"' + tag + b'"') is CACHED:
            return b""
        if request.method == b"HEAD":
            request.setHeader(b"content-length", b"%d" % len(body))
            return b""
        return body
