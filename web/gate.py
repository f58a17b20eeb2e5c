"""The gate in front of every path: login (specification 5), roles, hardened profile, security headers for browsers.

Only this module says which rule applies to a path. An unknown path gets the strictest rule. What a role may do is in
`web.rights`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextvars import copy_context
from enum import Enum, auto
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from twisted.logger import Logger
from twisted.web.http import Request as HTTPRequest
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request

from dmtwisted.access.api_keys import ApiKey
from dmtwisted.access.login import TryLater, WrongLogin
from dmtwisted.access.roles import ANYONE, NOBODY, Permit
from dmtwisted.access.throttle import THIS_MACHINE, group_of
from dmtwisted.changes import CALLER, By, Caller
from dmtwisted.core import Core
from dmtwisted.hardened import Circle
from dmtwisted.host_names import BadHost, HostNames, host_of
from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from web.answers import error_answer, language_of
from web.rights import permit_of, refusal_of, refusal_of_method, refusal_of_task, route_of
from web.tasks import printer_of
from web.terminals import PATHS

COOKIE = b"DMUIToken"
"""The cookie of a session (specification 2.4)."""

API_KEY = b"x-api-key"
"""The header of an API key (specification 2.4)."""

CODE = b"x-presence-code"
"""The header of the one-time code that stands for the login until there is one."""

LOGIN, LOGOUT = b"/login", b"/logout"
API_KEYS, SETTINGS = b"/dm/api/v3/api-keys", b"/dm/main/api/v1/settings"

TASKS = frozenset({b"/dm/execute", b"/dm/execute-prn", b"/dm/execute-pkg", *PATHS})
"""Paths that never need a login (specification 5.3, docs/reference/http-interface.md#login)."""

METRICS = b"/metrics"
PROBES = frozenset({b"/health/live", b"/health/ready", METRICS})
"""Paths for monitoring."""

PUBLIC_HEADERS = {
    b"content-security-policy": b"frame-ancestors 'none'",
    b"x-frame-options": b"DENY",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cache-control": b"no-store",
}
"""Headers of every page and of every answer that may need a login."""

_API = re.compile(rb"/api/v[123]/")
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?)(:[0-9]{1,5})?")
"""A `Host` that needs no other spelling in an address."""
_DAILY = re.compile(
    rb"/api/v3/fiscal/execute"
    rb"|/dm/api/v3/(jobs/[^/%]+/reprint|operations/[^/%]+/slip|devices/[^/%]+/scenario|training/clock)"
)
"""Paths that change something, but neither settings nor money: open to other computers without a login."""
_SECRETS = re.compile(rb"/dm/api/v3/(diagnostics|backups/.+)")
"""Paths that hand out what only the owner may have."""
_FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
"""Headers by which a proxy says that it is not the caller."""
_METHODS = b"GET, POST, PUT, PATCH, DELETE, OPTIONS"
_HEADERS = b"content-type, accept-language, x-request-id, x-api-key, x-presence-code, prefer"

_NOT_LISTED = Text("запити з цієї адреси заборонено", "requests from this address are not allowed")
_ONLY_HERE = Text(
    "доступ з інших комп’ютерів вимкнено в налаштуваннях сервісу (extAccess)",
    "access from other machines is switched off in the settings of the service (extAccess)",
)
_FOREIGN_HOST = Text(
    "сервіс не знає імені %s. Якщо це його ім’я, дозвольте його: на комп’ютері сервісу відкрийте"
    " %s://localhost:%d/dm/main/settings і впишіть у «Дозволені імена», або в розділі [server] файла конфігурації"
    ' напишіть allowed_hosts = "%s"',
    "the service does not know the name %s. If it is one of its own, allow it: on the computer of the service open"
    " %s://localhost:%d/dm/main/settings and add it to Allowed names, or in the section [server] of the configuration"
    ' file write allowed_hosts = "%s"',
)
_BAD_HOST = Text(
    "заголовок Host не є іменем чи адресою, або їх кілька",
    "the header Host is no name and no address, or there are several",
)
_FOREIGN_PAGE = Text("сторінкам із цього джерела (Origin) доступ заборонено", "pages of this origin are not allowed")
_NO_KEY = Text("потрібен правильний x-api-key", "a valid x-api-key is required")
_NO_PROOF = Text(
    "поки немає входу за паролем, для цього потрібен одноразовий код (або x-api-key): його показують консоль"
    " сервісу, dmtwisted doctor і файл presence-code у теці стану; введіть його вгорі сторінки або надішліть у"
    " заголовку x-presence-code",
    "until there is a login, this needs a one-time code (or an x-api-key): the console of the service, dmtwisted"
    " doctor and the file presence-code in the state folder show it; enter it at the top of the page, or send it in"
    " the header x-presence-code",
)


class Rule(Enum):
    """What a path demands of a caller."""

    PROBE = auto()
    TASK = auto()
    LOGIN = auto()
    API = auto()
    PAGE = auto()


def rule_of(path: bytes) -> Rule:
    """The rule for ``path``: open paths by name, API for a path with ``/api/vN/`` in it, else a page."""
    if path in TASKS:
        return Rule.TASK
    if path in PROBES:
        return Rule.PROBE
    if path in (LOGIN, LOGOUT):
        return Rule.LOGIN
    if _API.search(path) or _API.search(unquote_to_bytes(path)):
        return Rule.API
    return Rule.PAGE


class Gate:
    """Lets in the callers that the rule of a path allows."""

    log = Logger()

    def __init__(self, core: Core, default_language: str) -> None:
        self._access, self._devices, self._settings = core.access, core.devices, core.settings
        self._default_language = default_language
        self._hardened, self._circle = core.config.server.hardened, core.config.server.circle

    def before(self, inner: IResource) -> IResource:
        """``inner`` behind the gate."""
        return Gated(self, inner)

    def concerns_task(self, request: Request) -> bool:
        """Whether a request to a path of its own has to pass: a sale in the usual profile need not."""
        headers = request.requestHeaders
        return self.concerns_tasks or headers.hasHeader(API_KEY) or headers.hasHeader(b"cookie")

    @property
    def concerns_tasks(self) -> bool:
        """Whether every request to a path of its own has to pass."""
        return self._hardened or self._settings.now.task_keys

    def pass_on(self, request: Any, inner: IResource) -> Any:
        """The answer of ``inner``, or a redirect to the login page, or a refusal."""
        rule = rule_of(request.path)
        if rule not in (Rule.TASK, Rule.PROBE):
            for name, value in PUBLIC_HEADERS.items():
                request.setHeader(name, value)
        why = self._why_not(request, self._circle) if self._hardened else None
        if why is not None:
            return self._refused(request, 403, why)
        if request.path == METRICS and self._hardened and self._shown(request) is None:
            return self._refused(request, 401, _NO_KEY)
        origin = (request.getHeader(b"origin") or b"").decode("latin-1")
        if rule not in (Rule.TASK, Rule.PROBE) and self._circle.has_origin(origin):
            request.from_known_origin = True
            _allow(request, origin)
            if request.method == b"OPTIONS":
                request.setResponseCode(204)
                return b""
        if rule is Rule.LOGIN:
            request.permit = ANYONE
        elif rule is Rule.TASK and request.method != b"OPTIONS":
            request.permit = permit = self._shown(request) or NOBODY
            if permit is NOBODY:
                if self._hardened or self._settings.now.task_keys:
                    return self._refused(request, 401, _NO_KEY)
            elif not permit.whole and request.method in (b"GET", b"HEAD", b"POST"):
                why_not = self._why_no_task(request, permit)
                if why_not is not None:
                    return self.forbid(request, why_not)
        elif rule is Rule.PAGE:
            open_to_all = getattr(inner, "open_to_all", False)
            closed = self._access.on or self._hardened
            request.permit = self._session(request, page=True) or (NOBODY if closed else ANYONE)
            if closed and not open_to_all and request.permit is NOBODY:
                return _to_login(request, page=True)
        elif rule is Rule.API:
            shown = self._shown(request)
            # A resource may know a credential of its own.
            own = getattr(inner, "lets_in", None)
            if shown is None and not (own is not None and own(request)):
                if self._access.on:
                    return _to_login(request)
                free = self._may_begin(request) if self._hardened else is_daily(request) or is_present(request)
                refused = None if free else self._unproved(request)
                if refused is not None:
                    return refused
            request.permit = shown or ANYONE
        # What has many routes asks itself, about the one that it finds.
        if rule in (Rule.PAGE, Rule.API) and not (
            request.permit.whole or getattr(inner, "asks_itself", False) or getattr(inner, "open_to_all", False)
        ):
            why_not = refusal_of(request.permit, route_of(request.method, request.path.decode("latin-1")))
            if why_not is not None:
                return self.forbid(request, why_not)
        if rule in (Rule.TASK, Rule.PROBE, Rule.LOGIN):
            return inner.render(request)
        # Whatever the request starts knows who has asked for it, and nothing else does.
        return copy_context().run(_render_for, _caller_of(request), inner, request)

    def knows_all(self, request: Request) -> bool:
        """Whether the caller shows a key or has a session that is for every device."""
        permit = self._shown(request)
        return permit is not None and not permit.bound

    def forbid(self, request: Request, why: Text) -> bytes:
        """403 for a caller whose role or devices do not allow it."""
        report_refusal(request)
        return self._refused(request, 403, why)

    def _why_no_task(self, request: Request, permit: Permit) -> Text | None:
        """Why ``permit`` does not allow a task or service method; `None` when it does."""
        route = route_of(request.method, request.path.decode("latin-1"))
        if request.path in PATHS:
            name = request.args.get(b"dev_name", [b""])[-1].decode("utf-8", "replace")
            return refusal_of_method(permit, route, name, self._devices)
        content = request.content
        assert content is not None
        body = content.read(MAX_BODY + 1)
        content.seek(0)
        return refusal_of_task(permit, route, body, *printer_of(request), self._devices)

    def _why_not(self, request: Request, circle: Circle) -> Text | None:
        """Why the hardened profile refuses the request; `None` when it does not."""
        if not circle.has_address(_address(request)):
            return _NOT_LISTED
        host = (request.getHeader(b"host") or b"").decode("latin-1")
        origin = request.getHeader(b"origin")
        if origin is not None:
            own = f"{'https' if request.isSecure() else 'http'}://{host}"
            text = origin.decode("latin-1")
            if text.lower() != own.lower() and not circle.has_origin(text):
                return _FOREIGN_PAGE
        return None

    def _session(self, request: Request, page: bool = False) -> Permit | None:
        token = request.getCookie(COOKIE) or b""
        return self._access.permit_of_session(token.decode("latin-1"), page)

    def _shown(self, request: Request) -> Permit | None:
        """What the caller's API key allows, else the session."""
        # Always looked at, because each request renews the session, also of a caller with a key.
        session, key = self._session(request), request.getHeader(API_KEY)
        return (None if key is None else self._access.permit_of_key(key)) or session

    def asks_for_code(self, request: Request) -> bool:
        """Whether this caller needs the one-time code to change anything."""
        return not (self._access.on or is_present(request) or self._session(request))

    def _unproved(self, request: Request) -> bytes | None:
        """A refusal, unless the caller shows the one-time code."""
        code = request.getHeader(CODE)
        if code is None:
            return self._refused(request, 401, _NO_PROOF)
        try:
            self._access.prove(code.decode("latin-1"), _address(request))
        except WrongLogin:
            return self._refused(request, 401, WRONG_CODE)
        except TryLater as later:
            return self._refused(request, 429, tell_when(request, later))
        return None

    def _may_begin(self, request: Request) -> bool:
        """Whether this creates the first key or login of a hardened service, from this machine."""
        first = not any(True for _ in self._access.keys)
        begins = request.method == b"POST" and request.path in (API_KEYS, SETTINGS)
        return first and begins and is_present(request)

    def _refused(self, request: Request, status: int, why: Text) -> bytes:
        language = language_of(request, self._default_language)
        return error_answer(request, status, Refused(Res.MALFORMED, why.for_language(language)), language)


READING = (b"GET", b"HEAD", b"OPTIONS")
"""Methods that change nothing."""


def refuse_foreign(request: Request, default_language: str) -> bytes | None:
    """403 to a page of another origin that would change something; `None` to all others.

    Browsers send requests that look like a form without a preflight, so the origin is checked here
    (docs/reference/http-interface.md#cross-origin-requests).
    """
    origin = request.getHeader(b"origin")
    foreign = origin is not None and origin.split(b"://")[-1] != (request.getHeader(b"host") or b"")
    if not foreign or request.method in READING or getattr(request, "from_known_origin", False):
        return None
    refused = Refused(Res.MALFORMED, wording("this origin may not change the service"))
    return error_answer(request, 403, refused, language_of(request, default_language))


def report_refusal(request: Request) -> None:
    """Log who asked for what they may not do."""
    permit = permit_of(request)
    Gate.log.warn(
        "{role} {name} may not {method} {path}",
        role=permit.role or "nobody",
        name=permit.name,
        method=request.method.decode("latin-1"),
        path=request.path.decode("latin-1"),
    )


class StrangeHost(Resource):
    """Every path, for requests whose `Host` is not a name of this service.

    A request without `Host` is served: every browser sends it, and some tills do not.
    """

    isLeaf = True

    def __init__(self, hosts: HostNames, default_language: str) -> None:
        super().__init__()
        self._hosts, self._default_language = hosts, default_language

    def refuses(self, request: Request, values: Sequence[bytes]) -> bool:
        """Whether the request is refused; ``values`` are its headers `Host`."""
        here = str(getattr(request.getHost(), "host", ""))
        if len(values) == 1 and not values[0]:
            return False
        try:
            return len(values) != 1 or not self._hosts.allows(values[0], here)
        except BadHost:
            return True

    def render(self, request: Request) -> bytes:
        """421 with what to do, or 400 when it is no name."""
        language = language_of(request, self._default_language)
        try:
            [value] = request.requestHeaders.getRawHeaders(b"host", ())
            name = str(host_of(value))
        except (BadHost, ValueError):
            return error_answer(request, 400, Refused(Res.MALFORMED, _BAD_HOST), language)
        scheme, port = "https" if request.isSecure() else "http", getattr(request.getHost(), "port", 80)
        text = _FOREIGN_HOST.for_language(language) % (name, scheme, port, name)
        return error_answer(request, 421, Refused(Res.MALFORMED, text), language)


class OnlyHere(Resource):
    """Every path, for other machines while `extAccess` is off."""

    isLeaf = True

    def __init__(self, default_language: str) -> None:
        super().__init__()
        self._default_language = default_language

    def render(self, request: Request) -> bytes:
        """403 with the reason."""
        language = language_of(request, self._default_language)
        return error_answer(request, 403, Refused(Res.MALFORMED, _ONLY_HERE), language)


class Gated(Resource):
    """A resource behind the gate."""

    isLeaf = True

    def __init__(self, gate: Gate, inner: IResource) -> None:
        super().__init__()
        self._gate, self._inner = gate, inner

    def render(self, request: Request) -> Any:
        """The answer that the gate lets through, or its own."""
        return self._gate.pass_on(request, self._inner)


def _allow(request: Request, origin: str) -> None:
    """Let a page of a listed origin read the answer, and send more than forms can."""
    request.setHeader(b"access-control-allow-origin", origin.encode("latin-1"))
    request.setHeader(b"vary", b"Origin")
    if request.method == b"OPTIONS":
        request.setHeader(b"access-control-allow-methods", _METHODS)
        request.setHeader(b"access-control-allow-headers", _HEADERS)
        request.setHeader(b"access-control-allow-private-network", b"true")


def _to_login(request: Request, page: bool = False) -> bytes:
    """302 to the login page; clients follow an absolute address only (docs/reference/http-interface.md#login)."""
    target = base_of(request) + LOGIN
    if page and request.method in (b"GET", b"HEAD"):
        target += b"?next=" + quote(request.path, safe="/").encode()
    request.setResponseCode(302)
    request.setHeader(b"location", target)
    request.setHeader(b"content-length", b"0")
    return b""


def base_of(request: HTTPRequest) -> bytes:
    """``https://host:port`` as the caller knows the service; the local address without a plausible `Host`."""
    scheme = b"https" if request.isSecure() else b"http"
    host = request.getHeader(b"host") or b""
    if not _HOST.fullmatch(host):
        here = request.getHost()
        name = str(getattr(here, "host", "localhost"))
        host = f"{f'[{name}]' if ':' in name else name}:{getattr(here, 'port', 80)}".encode()
    return scheme + b"://" + host


def tell_when(request: IRequest, later: TryLater) -> Text:
    """The answer to too many tries, with `Retry-After`."""
    seconds = math.ceil(later.seconds)
    request.setHeader(b"retry-after", b"%d" % seconds)
    return Text(*(text % seconds for text in _LATER))


WRONG_CODE = Text("Неправильний код", "Wrong code")
_LATER = Text("Забагато спроб, повторіть через %d с", "Too many attempts, try again in %d s")


def is_daily(request: Request) -> bool:
    """Whether the request neither changes settings nor takes secrets: without a login any computer may send it."""
    if request.method in READING:
        return not _SECRETS.fullmatch(request.path)
    return bool(_DAILY.fullmatch(request.path))


def is_at_the_machine(request: Request) -> bool:
    """Whether the request comes from this machine, or through a proxy on it."""
    return group_of(_address(request)) == THIS_MACHINE


def is_present(request: Request) -> bool:
    """Whether the request comes from this machine itself, as far as a proxy on it does not hide its caller."""
    if any(request.requestHeaders.hasHeader(name) for name in _FORWARDED):
        return False
    # Only this machine can have the address that was reached.
    return is_at_the_machine(request) or _address(request) == getattr(request.getHost(), "host", None)


def _render_for(caller: Caller, inner: IResource, request: Request) -> Any:
    CALLER.set(caller)
    return inner.render(request)


def _caller_of(request: Request) -> Caller:
    """Who makes the request, for the journal of changes."""
    permit, address = permit_of(request), _address(request)
    if permit.source is not None:
        return Caller(By.KEY if isinstance(permit.source, ApiKey) else By.LOGIN, permit.name, address)
    return Caller(By.MACHINE if is_present(request) else By.NETWORK, "", address)


def _address(request: Request) -> str:
    return str(getattr(request.getClientAddress(), "host", ""))
