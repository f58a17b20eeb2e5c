"""``/login`` and ``/logout``: from login and password to the cookie of a session (specification 5.5a)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.login import PRESENT, Access, TryLater, WrongLogin
from dmtwisted.access.passwords import LONGEST
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from web.answers import Done, error_answer, json_answer, language_of, page_language
from web.gate import COOKIE, WRONG_CODE, tell_when
from web.login_page import FormTokens, login_page, safe_next
from web.management import answer_errors, lasting

LARGEST_LOGIN = 16 * 1024
"""The most bytes of a login's body."""

SEED = b"DMLoginForm"
"""The cookie that a login form is tied to."""

FORM = b"application/x-www-form-urlencoded"

_WRONG = Text("Неправильний логін або пароль", "Wrong login or password")
_STALE = Text("Сторінка застаріла, спробуйте ще раз", "The page has expired, try again")
_TYPE = Text("очікується application/json", "application/json is expected")
_LONG = Text("запит задовгий для входу", "the request is too long for a login")


class Credentials(msgspec.Struct, omit_defaults=True):
    """The body of a login (specification 4.1); `code`, the one-time code, stands for it until there is one."""

    login: str | msgspec.UnsetType = msgspec.UNSET
    password: str | msgspec.UnsetType = msgspec.field(name="pass", default=msgspec.UNSET)
    code: str = ""


class SessionApi:
    """Logging in and out."""

    app = Klein()
    answer_errors(app)

    def __init__(self, access: Access, default_language: str, publish: Callable[..., None]) -> None:
        self._access, self.default_language, self._publish = access, default_language, publish
        self._forms = FormTokens()

    @app.route("/login", methods=["GET"])
    def page(self, request: IRequest) -> bytes:
        """The login page."""
        wanted = request.args.get(b"next", [b""])[-1].decode("utf-8", "replace")
        return self._page(request, 200, safe_next(wanted))

    @app.route("/login", methods=["POST"])
    async def log_in(self, request: IRequest) -> bytes:
        """Open a session with login and password: as JSON from programs, as a form from the page.

        A wrong login gets 401, too many attempts 429. While the login is switched off, every login succeeds without
        a cookie, because none is needed.
        """
        kind = (request.getHeader(b"content-type") or b"").split(b";")[0].strip().lower()
        language = language_of(request, self.default_language)
        if kind == FORM:
            language = page_language(request, self.default_language)
        body = request.content.read(LARGEST_LOGIN + 1)
        if len(body) > LARGEST_LOGIN:
            return _refused(request, 413, _LONG, language)
        if kind == FORM:
            return await self._log_in_by_form(request, body, language)
        if kind not in (b"", b"application/json"):
            # Forms of foreign pages can send other media types without a preflight, so those are not read as JSON.
            return _refused(request, 415, _TYPE, language)
        try:
            asked = msgspec.json.decode(body, type=Credentials)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Refused(Res.MALFORMED, wording(error)) from None
        if not asked.code and (asked.login is msgspec.UNSET or asked.password is msgspec.UNSET):
            raise Refused(Res.MALFORMED, wording("login and pass are expected"))
        if asked.code or self._access.on:
            try:
                await self._begin(request, asked.login or "", asked.password or "", asked.code)
            except WrongLogin:
                return _failed(request, 401, (WRONG_CODE if asked.code else _WRONG).for_language(language))
            except TryLater as later:
                return _failed(request, 429, tell_when(request, later).for_language(language))
        return json_answer(request, 200, Done())

    async def _log_in_by_form(self, request: IRequest, body: bytes, language: str) -> bytes:
        try:
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
        except ValueError as error:
            raise Refused(Res.MALFORMED, wording(error)) from None
        names = ("login", "pass", "code", "csrf", "next")
        login, password, code, csrf, wanted = (fields.get(name, [""])[-1] for name in names)
        target = safe_next(wanted)
        seed = (request.getCookie(SEED) or b"").decode("latin-1")
        if not self._forms.fits(seed, csrf):
            return self._page(request, 403, target, _STALE.for_language(language))
        if code or self._access.on:
            try:
                await self._begin(request, login, password, code)
            except WrongLogin:
                return self._page(request, 401, target, (WRONG_CODE if code else _WRONG).for_language(language))
            except TryLater as later:
                return self._page(request, 429, target, tell_when(request, later).for_language(language))
        return _go(request, target.encode())

    @app.route("/logout", methods=["POST"])
    def log_out(self, request: IRequest) -> bytes:
        """End the session; the answer is the same without one."""
        token = request.getCookie(COOKIE)
        if token:
            self._access.log_out(token.decode("latin-1"))
        _set_cookie(request, COOKIE, "", "; Max-Age=0")
        if (request.getHeader(b"content-type") or b"").startswith(FORM):
            return _go(request, b"/login")
        return json_answer(request, 200, Done())

    async def _begin(self, request: IRequest, login: str, password: str, code: str = "") -> None:
        """Set the cookie of a new session; a session of the same caller ends.

        :raises WrongLogin: when login or password is wrong, or the one-time ``code``.
        :raises TryLater: after too many attempts.
        """
        address = str(getattr(request.getClientAddress(), "host", ""))
        if code:
            self._access.prove(code, address)
            token = self._access.sessions.begin(PRESENT)
        else:
            token = await lasting(self._access.log_in(login, password[: LONGEST + 1], address))
            self._publish("login", name=login, address=address)
        before = request.getCookie(COOKIE)
        if before:
            self._access.log_out(before.decode("latin-1"))
        _set_cookie(request, COOKIE, token)

    def _page(self, request: IRequest, status: int, target: str, trouble: str = "") -> bytes:
        # In the language that the person chose for the other pages.
        language = page_language(request, self.default_language)
        seed = (request.getCookie(SEED) or b"").decode("latin-1")
        if not (seed.isascii() and seed.replace("-", "").replace("_", "").isalnum() and len(seed) < 100):
            seed = self._forms.new_seed()
            _set_cookie(request, SEED, seed)
        return login_page(request, status, language, self._forms.token(seed), target, trouble, self._access.on)


def _set_cookie(request: Any, name: bytes, value: str, more: str = "") -> None:
    """A cookie that scripts cannot read and foreign pages cannot send; over HTTPS it is never sent unencrypted."""
    secure = "; Secure" if request.isSecure() else ""
    text = f"{name.decode()}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}"
    request.responseHeaders.addRawHeader(b"set-cookie", text.encode())


def _go(request: IRequest, target: bytes) -> bytes:
    request.setResponseCode(303)
    request.setHeader(b"location", target)
    return b""


def _failed(request: IRequest, status: int, text: str) -> bytes:
    """``{res, errortxt}`` of a login that failed."""
    return json_answer(request, status, Done(Res.MALFORMED.code, text))


def _refused(request: IRequest, status: int, why: Text, language: str) -> bytes:
    return error_answer(request, status, Refused(Res.MALFORMED, why.for_language(language)), language)
