"""Pages without other files: nothing else is open before a login, or while the database is damaged.

They are the login, refusals that a person reads in a browser, and what to do about a damaged database.
"""

from __future__ import annotations

import base64
import hashlib
from string import Template

from twisted.web.iweb import IRequest

STYLE = """
:root{color-scheme:light dark;--paper:#f3f6f4;--card:#fff;--ink:#15201b;--edge:#d3dbd7;--quiet:#51605a;--accent:#0b5d4b;--on:#fff;--bad:#8d1717;--link:#0a5c78}
@media(prefers-color-scheme:dark){:root{--paper:#101613;--card:#19221e;--ink:#e8f0ec;--edge:#34423b;--quiet:#aebdb5;--accent:#5fd0b0;--on:#06231b;--bad:#ffb9b2;--link:#8cd3ec}}
*{box-sizing:border-box}
body{font:100%/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif;margin:0;min-height:100vh;padding:1rem;display:grid;place-items:center;background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
main{background:var(--card);padding:2rem;border:1px solid var(--edge);border-radius:.75rem;width:100%;max-width:23rem;box-shadow:0 1px 2px #0001,0 8px 24px #0001;border-top:.3rem solid var(--accent)}
main.wide{max-width:48rem}
strong{display:flex;align-items:center;gap:.6rem;color:var(--ink);font-size:1.1rem}
svg{width:2.25rem;height:2.25rem}
h1{font-size:1.5rem;line-height:1.25;margin:1.25rem 0 .75rem}
h2{font-size:1.15rem;margin:1.5rem 0 .5rem}
li{margin:.4rem 0}
a{color:var(--link)}
label{display:block;margin:.75rem 0;font-weight:600}
input{margin-top:.35rem;width:100%;min-height:2.75rem;padding:.5rem .6rem;font:inherit;border:1px solid var(--quiet);border-radius:.4rem;background:var(--card);color:var(--ink)}
button,.button{display:block;text-align:center;text-decoration:none;width:100%;min-height:2.75rem;padding:.6rem;font:inherit;font-weight:600;border:0;border-radius:.4rem;background:var(--accent);color:var(--on);margin-top:1.25rem;cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
p{margin:0 0 .5rem}
.trouble{color:var(--bad);font-weight:600}
small{color:var(--quiet);font-size:.9rem}
code{font-family:ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace;font-size:.9em;background:var(--paper);border:1px solid var(--edge);border-radius:.25rem;padding:.05rem .3rem}
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
<main$wide>
<strong><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#12775f"/><path d="M8.5 25.5C8.5 20 23.5 19 23.5 13.5V25.5L21 27.5 18.5 25.5 16 27.5 13.5 25.5 11 27.5z" fill="#8fdcc6"/><path d="M8.5 4.5H23.5V13.5C23.5 19 8.5 20 8.5 25.5V13.5z" fill="#fff"/><path d="M12 8.5H20M12 12H17.5" stroke="#12775f" stroke-width="1.8" stroke-linecap="round"/></svg> dmtwisted</strong>
<h1>$title</h1>
$body
</main>
</body>
</html>
""")  # noqa: E501 - a drawing


def _policy() -> bytes:
    """What the page may load: nothing but its own style; no other page may frame it."""
    digest = hashlib.sha256(STYLE.encode()).digest()
    style = base64.b64encode(digest).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ).encode()


HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _policy()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def bare_page(request: IRequest, status: int, language: str, title: str, body: str, wide: bool = False) -> bytes:
    """The page with ``title`` as text and ``body`` as HTML."""
    request.setResponseCode(status)
    for name, value in HEADERS:
        request.setHeader(name, value)
    whole = _PAGE.substitute(
        language=language, style=STYLE, title=title, body=body, wide=' class="wide"' if wide else ""
    ).encode()
    if request.method != b"HEAD":
        return whole
    request.setHeader(b"content-length", b"%d" % len(whole))
    return b""
