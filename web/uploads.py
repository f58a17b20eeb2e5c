"""Uploaded files: forms from pages, base64 or PEM in JSON from programs."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from io import BytesIO

from twisted.web.iweb import IRequest
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

from dmtwisted.devices.driver import BadSettings
from dmtwisted.requests import MAX_BODY, too_long
from dmtwisted.results import Refused, Res
from dmtwisted.wording import wording

MOST_PARTS = 20
"""The most parts of a form; each costs more than its bytes."""


@dataclass(frozen=True)
class Form:
    """The parts of a form; a missing part is empty."""

    files: dict[str, list[bytes]] = field(default_factory=dict, repr=False)
    texts: dict[str, str] = field(default_factory=dict, repr=False)

    def file(self, name: str) -> bytes:
        """The first file with that name."""
        return next(iter(self.files.get(name, ())), b"")

    def text(self, name: str) -> str:
        """The text with that name."""
        return self.texts.get(name, "")


def read_body(request: IRequest) -> bytes:
    """The whole body.

    :raises Refused: 2000 when it is too long.
    """
    body: bytes = request.content.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise Refused(Res.MALFORMED, too_long(MAX_BODY))
    return body


def is_form(request: IRequest) -> bool:
    """Whether the body is a form with files."""
    return _kind(request).lower().startswith("multipart/")


def read_form(request: IRequest) -> Form:
    """The form in the body.

    :raises Refused: 2000 when it cannot be read.
    """
    body = read_body(request)
    mime, options = parse_options_header(_kind(request))
    try:
        parser = FormDataParser(silent=False, max_form_parts=MOST_PARTS)
        _, texts, files = parser.parse(BytesIO(body), mime, len(body), options)
    except Exception:
        # The parser raises several kinds of errors; none of them may reach the log with the uploaded data.
        raise Refused(Res.MALFORMED, wording("the form cannot be read")) from None
    return Form({name: [one.read() for one in found] for name, found in files.lists()}, texts.to_dict())


def bytes_of(name: str, text: str) -> bytes:
    """Base64 as bytes; PEM stays as it is.

    :raises BadSettings: when it is neither.
    """
    if "-----BEGIN" in text:
        return text.encode()
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadSettings(name, "base64 is expected") from None


def _kind(request: IRequest) -> str:
    return (request.getHeader(b"content-type") or b"").decode("latin-1")
