"""What every answer at the door shares: JSON, languages, origins, errors in one shape."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.web.iweb import IRequest
from twisted.web.server import Request

from dmtwisted.results import Refused, Res

JSON = [b"application/json"]
"""Exactly this: clients compare it (http-api 0.3.1)."""

_ANY = [b"*"]
_METHODS = [b"POST, OPTIONS"]
_HEADERS = [b"content-type, accept-language, x-request-id, x-api-key"]
_TRUE = [b"true"]
_DAY = [b"86400"]
_REQUEST_ID = [b"x-request-id"]
_encode = msgspec.json.Encoder().encode


def allow_any_origin(request: Request) -> None:
    """Let a page of any origin use the task endpoints, from a public site too (http-api 0.3.18, design 6)."""
    headers = request.responseHeaders
    headers.setRawHeaders(b"access-control-allow-origin", _ANY)
    if request.method == b"OPTIONS":
        headers.setRawHeaders(b"access-control-allow-methods", _METHODS)
        headers.setRawHeaders(b"access-control-allow-headers", _HEADERS)
        headers.setRawHeaders(b"access-control-allow-private-network", _TRUE)
        headers.setRawHeaders(b"access-control-max-age", _DAY)
    else:
        headers.setRawHeaders(b"access-control-expose-headers", _REQUEST_ID)


def language_of(request: IRequest, default: str) -> str:
    """The language of texts: the first one of `Accept-Language` that we speak, else the service's own."""
    accepted: bytes | None = request.getHeader(b"accept-language")
    if accepted:
        for wish in accepted.split(b","):
            tongue = wish.split(b";")[0].strip()[:2].lower()
            if tongue in (b"uk", b"en"):
                return tongue.decode()
    return default


def json_answer(request: IRequest, status: int, value: Any) -> bytes:
    """``value`` as the JSON body of an answer with an HTTP ``status``."""
    request.setResponseCode(status)
    request.setHeader(b"content-type", JSON[0])
    return _encode(value)


def error_answer(
    request: IRequest,
    status: int,
    refused: Refused,
    language: str,
    errors: list[tuple[str, str]] | None = None,
) -> bytes:
    """An error of the settings interface: `{res, errortxt, errors: [{path, text}]}` (design 6)."""
    return json_answer(
        request,
        status,
        {
            "res": refused.res.code,
            "errortxt": refused.errortxt(language),
            "errors": [{"path": path, "text": text} for path, text in errors or []],
        },
    )


def not_found(request: IRequest) -> bytes:
    """404: nothing is at this path."""
    return error_answer(request, 404, Refused(Res.MALFORMED, "there is nothing at this path"), "en")


def not_allowed(request: IRequest, allowed: bytes) -> bytes:
    """405: the path is there, but not for this method."""
    request.setHeader(b"allow", allowed)
    return error_answer(request, 405, Refused(Res.MALFORMED, f"use {allowed.decode()}"), "en")
