"""``/dm/static/``: style and scripts of the pages, read once at start.

A browser caches a file and asks whether its `ETag` is still current; after an update of the service it differs.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from twisted.web.http import CACHED
from twisted.web.resource import Resource
from twisted.web.server import Request

from web.answers import not_allowed, not_found

TYPES = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8", ".svg": b"image/svg+xml"}
"""Media types by file extension."""

PREFIX = b"/dm/static/"
"""The path of the files."""


class StaticFiles(Resource):
    """The static files by their names, for every role."""

    isLeaf = True
    asks_itself = True

    def __init__(self, default_language: str) -> None:
        super().__init__()
        self._default_language = default_language
        self._files: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        for file in (files("web") / "static").iterdir():
            kind = TYPES.get("." + file.name.rpartition(".")[2])
            if kind is not None:
                body = file.read_bytes()
                tag = hashlib.blake2b(body, digest_size=12).hexdigest().encode()
                self._files[PREFIX + file.name.encode()] = kind, tag, body

    def render(self, request: Request) -> bytes:
        """The file, or 304 when the caller has it."""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET", self._default_language)
        found = self._files.get(request.path)
        if found is None:
            return not_found(request, self._default_language)
        kind, tag, body = found
        request.setHeader(b"content-type", kind)
        request.setHeader(b"cache-control", b"no-cache")
        request.setHeader(b"x-content-type-options", b"nosniff")
        if request.setETag(tag) is CACHED:
            return b""
        if request.method == b"HEAD":
            request.setHeader(b"content-length", b"%d" % len(body))
            return b""
        return body
