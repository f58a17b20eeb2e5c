"""What all answers share: JSON, languages, origins, errors in one shape."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import Annotated, Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.results import Refused, Res, Text
from web.pages.bare import bare_page
from web.pages.words import speaker


class Done(msgspec.Struct):
    """`res` is 0 on success, else the result code; `errortxt` has its text."""

    res: int = 0
    errortxt: str = ""


class Problem(msgspec.Struct):
    """What is wrong with one member."""

    path: str
    text: str


class Error(msgspec.Struct):
    """Why the request failed; `errors` names the members that do not fit."""

    res: int
    errortxt: str
    errors: list[Problem]


StoredAnswer = Annotated[
    msgspec.Raw, msgspec.Meta(extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]})
]
"""The stored answer that a caller got."""


def stored_answer(answer: bytes) -> msgspec.Raw:
    """A stored ``answer``; null when there is none."""
    return msgspec.Raw(answer or b"null")


JSON = [b"application/json"]
"""Exactly this: clients compare it (docs/reference/http-interface.md#transport)."""

log = Logger()

_ANY = [b"*"]
_METHODS = [b"POST, OPTIONS"]
_HEADERS = [b"content-type, accept-language, x-request-id, x-api-key, prefer"]
_TRUE = [b"true"]
_DAY = [b"86400"]
_REQUEST_ID = [b"x-request-id"]
_encode = msgspec.json.Encoder().encode


def allow_any_origin(request: Request) -> None:
    """Let pages of any origin use the task endpoints (docs/reference/http-interface.md#cross-origin-requests)."""
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
    """The language of texts: the best known one in `Accept-Language`, else the service's own."""
    accepted: bytes | None = request.getHeader(b"accept-language")
    return _preferred(accepted) or default if accepted else default


LANGUAGE_COOKIE = b"dm_lang"
"""The cookie with the language that a person chose."""

LANGUAGES = ("uk", "en")


def page_language(request: IRequest, default: str) -> str:
    """The language of a page: ``lang`` in the address, else the person's choice, else the browser's."""
    asked: bytes = request.args.get(b"lang", [b""])[-1]
    chosen: bytes = request.getCookie(LANGUAGE_COOKIE) or b""
    for wish in (asked, chosen):
        named = wish.decode("latin-1")
        if named in LANGUAGES:
            return named
    return language_of(request, default)


@lru_cache(maxsize=64)
def _preferred(accepted: bytes) -> str:
    """The known language with the greatest weight; empty when there is none."""
    best, language = 0.0, ""
    for wish in accepted.decode("latin-1").lower().split(","):
        tongue, *parameters = (part.strip() for part in wish.split(";"))
        if tongue.split("-")[0] not in ("uk", "en"):
            continue
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        if weight > best:
            best, language = weight, tongue[:2]
    return language


def json_answer(request: IRequest, status: int, value: Any) -> bytes:
    """``value`` as the JSON body of an answer with an HTTP ``status``."""
    request.setResponseCode(status)
    request.setHeader(b"content-type", JSON[0])
    body = _encode(value)
    if request.method != b"HEAD":
        return body
    request.setHeader(b"content-length", b"%d" % len(body))
    return b""


def outside_tasks(refused: Refused) -> Refused:
    """``refused`` for an endpoint that is none of tasks: only those answer 1105 (specification 1.9)."""
    if refused.res is not Res.DEVICE_BUSY:
        return refused
    return Refused(Res.NOT_NOW, note=Text("пристрій виконує завдання", "the device is at work"))


def refused_in_body(refused: Refused, language: str) -> Done:
    """A refusal for an answer with HTTP 200, as clients of this interface expect it."""
    refused = outside_tasks(refused)
    return Done(refused.res.code, refused.errortxt(language))


def done_with(name: str, kind: type[msgspec.Struct], text: str) -> type[Any]:
    """A struct with the members of `Done`, then those of ``kind``: structs cannot inherit from both.

    :param name: its name in the OpenAPI document, where ``text`` describes it.
    """
    members = [(field.name, field.type) for of in (Done, kind) for field in msgspec.structs.fields(of)]
    return msgspec.defstruct(name, members, namespace={"__doc__": text}, module=kind.__module__)


def error_answer(
    request: IRequest, status: int, refused: Refused, language: str, errors: list[tuple[str, str]] | None = None
) -> bytes:
    """An error of the management interface (docs/reference/http-interface.md#management-errors).

    A person who typed another address into a browser gets a page.
    """
    refused = outside_tasks(refused)
    if request.method in (b"GET", b"HEAD") and b"/api/" not in request.path and is_browser(request):
        language = page_language(request, language)
        return bare_page(request, status, language, *_in_words(status, refused.errortxt(language), language))
    problems = [Problem(path, text) for path, text in errors or ()]
    return json_answer(request, status, Error(refused.res.code, refused.errortxt(language), problems))


def is_browser(request: IRequest) -> bool:
    """Whether a browser shows the answer as a page."""
    return b"text/html" in (request.getHeader(b"accept") or b"")


def _in_words(status: int, why: str, language: str) -> tuple[str, str]:
    """Title and content of the page for a refusal."""
    say = speaker(language)
    ways = {404: ("not_here", "not_here_text"), 405: ("for_programs_only", "for_programs_text")}
    title, text = ways.get(status, ("refused_here", ""))
    advice = f"<p>{escape(say(text))}</p>" if text else f"<p>{escape(why)}</p>"
    home = f'<a class="button" href="/dm/main/">{escape(say("overview"))}</a>'
    return escape(say(title)), f"{advice}\n{home}"


def answer_later(request: Request, made: Deferred[bytes], headers: Mapping[bytes, list[bytes]]) -> int:
    """Send ``made`` when it is there, unless the client has disconnected; 500 when it fails."""

    def send(body: bytes) -> None:
        if request.channel is None:
            return
        for name, values in {**headers, b"content-length": [b"%d" % len(body)]}.items():
            request.responseHeaders.setRawHeaders(name, values)
        if request.method != b"HEAD":
            request.write(body)
        request.finish()

    def broken(reason: Failure) -> None:
        log.failure("internal error at {path}", reason, path=request.path)
        if request.channel is not None:
            request.setResponseCode(500)
            request.finish()

    made.addCallback(send).addErrback(broken)
    return NOT_DONE_YET


def not_found(request: IRequest, default_language: str) -> bytes:
    """404: nothing is at this path."""
    refused = Refused(Res.MALFORMED, Text("за цією адресою нічого немає", "there is nothing at this path"))
    return error_answer(request, 404, refused, language_of(request, default_language))


def not_allowed(request: IRequest, allowed: bytes, default_language: str) -> bytes:
    """405: the path is there, but not for this method."""
    request.setHeader(b"allow", allowed)
    refused = Refused(Res.MALFORMED, Text(f"можна лише {allowed.decode()}", f"use {allowed.decode()}"))
    return error_answer(request, 405, refused, language_of(request, default_language))


def plain_answer(request: IRequest, kind: bytes, body: bytes) -> bytes:
    """``body`` as the media type ``kind``, not to be cached."""
    request.setHeader(b"content-type", kind)
    request.setHeader(b"cache-control", b"no-store")
    return body


STRETCH = 0.002
"""Seconds for which a long answer is made without a rest, which is as long: tills wait only so long for it."""

TOGETHER = 1 << 15
"""Bytes of a long answer that are sent together at most."""


@implementer(IPushProducer)
class Flow:
    """A long answer beside the tills, which is never in memory as a whole.

    Its maker rests now and then, and waits while the caller does not read.
    """

    def __init__(self, request: Any, clock: ServiceClock) -> None:
        self._request, self._clock = request, clock
        self._parts: list[bytes] = []
        self._size, self._begun = 0, clock.steady()
        self._held: Deferred[None] | None = None
        request.registerProducer(self, True)

    async def write(self, part: bytes) -> None:
        """Send ``part``, with others; return when more may be made."""
        self._parts.append(part)
        self._size += len(part)
        if self._size >= TOGETHER:
            self._send()
        await self.rest()

    async def rest(self) -> None:
        """Return when more may be made: at once, unless a rest is due, or the caller has to read first."""
        spent = self._clock.steady() - self._begun
        if self._held is not None:
            await self._held
        elif spent >= STRETCH:
            self._send()
            await deferLater(self._clock, spent)
        else:
            return
        self._begun = self._clock.steady()

    def end(self) -> None:
        """Send what is left."""
        self._send()
        self._request.unregisterProducer()

    def _send(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts:
            self._request.write(b"".join(parts))

    def pauseProducing(self) -> None:
        """The caller is slow."""
        if self._held is None:
            self._held = Deferred()

    def resumeProducing(self) -> None:
        """It has read what was written."""
        held, self._held = self._held, None
        if held is not None and not held.called:
            held.callback(None)

    def stopProducing(self) -> None:
        """It is gone; Klein ends the route."""
