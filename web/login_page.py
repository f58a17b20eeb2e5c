"""The login page: one form, whole in itself, so that it opens before anything else is let out."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from html import escape
from string import Template

from dmtwisted.results import Text

STYLE = """
body{font:16px system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;background:#f3f4f6;color:#111}
form{background:#fff;padding:2rem;border-radius:.75rem;box-shadow:0 1px 6px #0003;width:min(20rem,90vw);box-sizing:border-box}
h1{font-size:1.25rem;margin:0 0 1rem}
label{display:block;margin:.75rem 0}
input{width:100%;box-sizing:border-box;padding:.6rem;font:inherit;border:1px solid #767676;border-radius:.375rem}
button{width:100%;padding:.7rem;font:inherit;border:0;border-radius:.375rem;background:#1d4ed8;color:#fff;margin-top:.75rem}
p{margin:0 0 .5rem;color:#b91c1c}
@media(prefers-color-scheme:dark){body{background:#111;color:#eee}form{background:#1f2937}input{background:#111;color:#eee}p{color:#fca5a5}}
"""  # noqa: E501 - a sheet is no code

_PAGE = Template("""<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<form method="post" action="/login">
<h1>$title</h1>
$trouble
<input type="hidden" name="csrf" value="$csrf">
<input type="hidden" name="next" value="$next">
<label>$login<input name="login" autocomplete="username" required autofocus></label>
<label>$password<input name="pass" type="password" autocomplete="current-password" required></label>
<button>$enter</button>
</form>
</body>
</html>
""")

_TITLE = Text("Вхід", "Log in")
_LOGIN = Text("Логін", "Login")
_PASSWORD = Text("Пароль", "Password")
_ENTER = Text("Увійти", "Log in")

HOME = "/dm/main/"
"""Where somebody goes who came from nowhere."""


def policy() -> bytes:
    """What the page may load: nothing but its own style; and nobody may frame it."""
    digest = hashlib.sha256(STYLE.encode()).digest()
    style = base64.b64encode(digest).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ).encode()


def login_page(language: str, csrf: str, next: str, trouble: str = "") -> bytes:
    """The page, with what went wrong at the last try above the form."""
    return _PAGE.substitute(
        language="en" if language == "en" else "uk",
        style=STYLE,
        title=_TITLE.for_language(language),
        login=_LOGIN.for_language(language),
        password=_PASSWORD.for_language(language),
        enter=_ENTER.for_language(language),
        csrf=escape(csrf),
        next=escape(next),
        trouble=f'<p role="alert">{escape(trouble)}</p>' if trouble else "",
    ).encode()


def safe_next(wanted: str) -> str:
    """Where to go after the login: a page of ours, whatever somebody wrote into a link."""
    plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted and "//" not in wanted
    return wanted if plain and wanted.startswith("/dm/") else HOME


class FormTokens:
    """Tokens that tie a form to the browser that asked for it, so that no other page can log somebody in."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def new_seed(self) -> str:
        """What the browser keeps in a cookie."""
        return secrets.token_urlsafe(24)

    def token(self, seed: str) -> str:
        """What the form carries for that cookie."""
        return hmac.new(self._key, seed.encode("utf-8", "surrogateescape"), "sha256").hexdigest()

    def fits(self, seed: str, token: str) -> bool:
        """Whether the form was made for that cookie."""
        return bool(seed) and hmac.compare_digest(self.token(seed).encode(), token.encode("utf-8", "replace"))
