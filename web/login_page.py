"""The login page: one form without other files, because nothing else is open before a login."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from html import escape
from string import Template

from dmtwisted.results import Text

STYLE = """
:root{color-scheme:light dark;--paper:#f6f7f4;--card:#fff;--ink:#17211d;--edge:#cdd5cf;--quiet:#4b5a53;--accent:#0b5d4b;--on:#fff;--bad:#8d1717}
@media(prefers-color-scheme:dark){:root{--paper:#121815;--card:#1b2420;--ink:#e9f0ec;--edge:#3a4842;--quiet:#b3c2ba;--accent:#5fd0b0;--on:#06231b;--bad:#ffb9b2}}
body{font:16px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink)}
main{background:var(--card);padding:2rem;border:1px solid var(--edge);border-radius:.75rem;width:min(21rem,90vw);box-sizing:border-box}
strong{color:var(--accent)}
h1{font-size:1.6rem;line-height:1.25;margin:.25rem 0 1rem}
label{display:block;margin:.75rem 0;font-weight:600}
input{width:100%;min-height:2.75rem;box-sizing:border-box;padding:.5rem .6rem;font:inherit;border:1px solid var(--quiet);border-radius:.5rem;background:var(--paper);color:var(--ink)}
button{width:100%;min-height:2.75rem;padding:.5rem;font:inherit;font-weight:600;border:0;border-radius:.5rem;background:var(--accent);color:var(--on);margin-top:.75rem;cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
p{margin:0 0 .5rem;color:var(--bad);font-weight:600}
"""  # noqa: E501 - a style sheet

_PAGE = Template("""<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title · dmtwisted</title>
<style>$style</style>
</head>
<body>
<main>
<strong>dmtwisted</strong>
<h1>$title</h1>
<form method="post" action="/login">
$trouble
<input type="hidden" name="csrf" value="$csrf">
<input type="hidden" name="next" value="$next">
$fields
<button>$enter</button>
</form>
</main>
</body>
</html>
""")

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


def policy() -> bytes:
    """What the page may load: nothing but its own style; no other page may frame it."""
    digest = hashlib.sha256(STYLE.encode()).digest()
    style = base64.b64encode(digest).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ).encode()


def login_page(language: str, csrf: str, next: str, trouble: str = "", has_login: bool = True) -> bytes:
    """The page, with the trouble of the last attempt; without a login it asks for the one-time code."""
    texts = {"login": _LOGIN, "password": _PASSWORD, "code": CODE, "where": CODE_WHERE}
    fields = _LOGIN_FIELDS if has_login else _CODE_FIELD
    return _PAGE.substitute(
        language="en" if language == "en" else "uk",
        style=STYLE,
        title=_TITLE.for_language(language),
        fields=fields.substitute({name: text.for_language(language) for name, text in texts.items()}),
        enter=_ENTER.for_language(language),
        csrf=escape(csrf),
        next=escape(next),
        trouble=f'<p role="alert">{escape(trouble)}</p>' if trouble else "",
    ).encode()


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
