"""The login page: one form."""

from __future__ import annotations

import hmac
import secrets
from html import escape
from string import Template

from twisted.web.iweb import IRequest

from dmtwisted.results import Text
from web.pages.bare import bare_page

_FORM = Template("""<form method="post" action="/login">
$trouble
<input type="hidden" name="csrf" value="$csrf">
<input type="hidden" name="next" value="$next">
$fields
<button>$enter</button>
</form>""")

_LOGIN_FIELDS = Template("""<label>$login<input name="login" autocomplete="username" required autofocus></label>
<label>$password<input name="pass" type="password" autocomplete="current-password" required></label>""")

_CODE_FIELD = Template("""<label>$code<input name="code" autocomplete="off" required autofocus></label>
<small>$where</small>""")

_TITLE = Text("Вхід", "Log in")
_LOGIN = Text("Логін", "Login")
_PASSWORD = Text("Пароль", "Password")
_ENTER = Text("Увійти", "Log in")

CODE = Text("Одноразовий код", "One-time code")
CODE_WHERE = Text(
    "Його показують консоль сервісу, dmtwisted doctor і файл presence-code у теці стану.",
    "The console of the service, dmtwisted doctor and the file presence-code in the state folder show it.",
)

HOME = "/dm/main/"
"""The page after a login without another target."""


def login_page(
    request: IRequest, status: int, language: str, csrf: str, next: str, trouble: str = "", has_login: bool = True
) -> bytes:
    """The page, with the trouble of the last attempt; without a login it asks for the one-time code."""
    texts = {"login": _LOGIN, "password": _PASSWORD, "code": CODE, "where": CODE_WHERE}
    fields = _LOGIN_FIELDS if has_login else _CODE_FIELD
    form = _FORM.substitute(
        fields=fields.substitute({name: text.for_language(language) for name, text in texts.items()}),
        enter=_ENTER.for_language(language),
        csrf=escape(csrf),
        next=escape(next),
        trouble=f'<p class="trouble" role="alert">{escape(trouble)}</p>' if trouble else "",
    )
    return bare_page(request, status, language, _TITLE.for_language(language), form)


def safe_next(wanted: str) -> str:
    """The page after the login: always one of this service, whatever a link says."""
    plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted and "//" not in wanted
    return wanted if plain and wanted.startswith("/dm/") else HOME


class FormTokens:
    """Tokens that tie a form to the browser that loaded it, so that no other page can send the form."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def new_seed(self) -> str:
        """The value of the browser's cookie."""
        return secrets.token_urlsafe(24)

    def token(self, seed: str) -> str:
        """The token in the form for that cookie."""
        return hmac.new(self._key, seed.encode("utf-8", "surrogateescape"), "sha256").hexdigest()

    def fits(self, seed: str, token: str) -> bool:
        """Whether the form belongs to that cookie."""
        return bool(seed) and hmac.compare_digest(self.token(seed).encode(), token.encode("utf-8", "replace"))
