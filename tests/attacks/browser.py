"""A real Chromium with foreign origins: pages of the internet that reach for the service behind the browser.

One browser serves all variants; each gets an empty profile. Every name of `.example` leads to this machine by the
browser's rules for host names, as names do after DNS rebinding.
"""

from __future__ import annotations

import atexit
import json
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.attacks.desk import ProcessDesk
from tests.attacks.variants import CRITICAL, HIGH, MEDIUM, Family, Stage
from tests.browser.case import PATIENCE, browser
from tests.test_sessions import KEYS, SETTINGS
from tests.web_case import DEVICES, EXECUTE, sale

BROWSER = Family("browser", "Pages in a browser")


class _Site(BaseHTTPRequestHandler):
    """The attacker's site: any path is an empty page, ``/sw.js`` a service worker, ``/file`` a download."""

    def do_GET(self) -> None:
        """Serve."""
        kinds = {"/sw.js": "text/javascript", "/file.html": "application/octet-stream"}
        worker = b"self.addEventListener('fetch', event => event.respondWith(new Response('evil')))"
        body = worker if self.path == "/sw.js" else b"<!doctype html><title>evil</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", kinds.get(self.path, "text/html"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


@cache
def _site() -> int:
    """The port of the attacker's site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    atexit.register(server.shutdown)
    return int(server.server_address[1])


LOCAL_NAMES = "--host-resolver-rules=MAP *.example 127.0.0.1"
"""For the browser every name of `.example` is this machine."""


class Victim:
    """A person whose browser is on the machine of the service, or in its network, and visits the attacker's page."""

    def __init__(self, desk: ProcessDesk) -> None:
        self.desk = desk
        self.here = f"http://localhost:{desk.service.port}"
        self.rebound = f"http://rebound.example:{desk.service.port}"
        self.site = f"http://evil.example:{_site()}"
        self.context = browser(LOCAL_NAMES).new_context()
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()

    def visit(self, address: str = "") -> None:
        """Open the attacker's page, or another one."""
        self.page.goto(address or f"{self.site}/")

    def runs(self, script: str) -> Any:
        """What the page's script comes to; an error is its text."""
        wrapped = f"(async () => {{ try {{ {script} }} catch (error) {{ return 'error: ' + error }} }})()"
        return self.page.evaluate(wrapped)


def in_browser(attempt: Any) -> Any:
    """``attempt`` with a victim of its own."""

    def tried(desk: ProcessDesk, *values: Any) -> None:
        victim = Victim(desk)
        try:
            attempt(victim, *values)
        finally:
            victim.context.close()

    return tried


def nothing_read(found: Any) -> None:
    """The page has learnt nothing."""
    text = json.dumps(found)
    assert "dev_id" not in text and "logdays" not in text and "api_keys" not in text and "uptime" not in text, text[
        :300
    ]


FETCH = "const answer = await fetch('{url}', {options}); return [answer.type, answer.status, await answer.text()]"


@BROWSER.each(
    {
        f"read-{name}-{mode}": (
            f"a script reads {what} by `fetch` ({mode})",
            path,
            {"mode": mode, "credentials": "include"},
        )
        for name, what, path in (
            ("settings", "the settings", SETTINGS),
            ("devices", "the devices", DEVICES),
            ("receipts", "the receipts", "/dm/api/v3/receipts"),
            ("page", "the start page", "/dm/main/"),
        )
        for mode in ("cors", "no-cors", "same-origin")
    },
    "The browser gives the page nothing of the answer.",
    HIGH,
    Stage.BROWSER,
)
@in_browser
def reading(victim: Victim, path: str, options: dict[str, str]) -> None:
    """A read by a script of another origin."""
    victim.visit()
    nothing_read(victim.runs(FETCH.format(url=victim.here + path, options=json.dumps(options))))


@BROWSER.each(
    {
        f"write-{name}": (f"a script sends {what}", method, path, kind, body)
        for name, what, method, path, kind, body in (
            (
                "settings-text",
                "settings as text, without a pre-flight",
                "POST",
                SETTINGS,
                "text/plain",
                {"logdays": 99},
            ),
            (
                "settings-form",
                "settings as a form",
                "POST",
                SETTINGS,
                "application/x-www-form-urlencoded",
                {"logdays": 99},
            ),
            ("settings-json", "settings as JSON", "POST", SETTINGS, "application/json", {"logdays": 99}),
            ("key", "a new key as text", "POST", KEYS, "text/plain", {"name": "evil"}),
            (
                "device",
                "a new device as text",
                "POST",
                DEVICES,
                "text/plain",
                {"device": "evil", "kind": "register", "driver": "training", "settings": {}},
            ),
            ("backup", "an order for a backup", "POST", "/dm/api/v3/backups", "text/plain", {}),
            ("login", "a login as text", "POST", "/login", "text/plain", {"login": "a", "pass": "b"}),
            ("logout", "a logout", "POST", "/logout", "text/plain", {}),
            ("delete", "the removal of a key", "DELETE", KEYS + "/x", "text/plain", {}),
            ("clock", "another clock", "PUT", "/dm/api/v3/training/clock", "text/plain", {"advance_s": 9}),
        )
    },
    "It is refused, or its pre-flight is; nothing is changed.",
    CRITICAL,
    Stage.BROWSER,
)
@in_browser
def writing(victim: Victim, method: str, path: str, kind: str, body: dict[str, Any]) -> None:
    """A change by a script of another origin, with each mode that sends it."""
    victim.visit()
    for mode in ("no-cors", "cors"):
        options = {"method": method, "mode": mode, "headers": {"Content-Type": kind}, "body": json.dumps(body)}
        nothing_read(victim.runs(FETCH.format(url=victim.here + path, options=json.dumps(options))))


FORM = """
const form = document.createElement('form'); form.method = 'POST'; form.action = '{url}'; form.enctype = '{kind}';
form.target = '{target}';
const field = document.createElement('input'); field.name = '{name}'; field.value = '"}}'; form.append(field);
const frame = document.createElement('iframe'); frame.name = 'frame'; document.body.append(frame);
document.body.append(form); form.submit(); await new Promise(done => setTimeout(done, 300)); return 'sent'
"""


@BROWSER.each(
    {
        f"form-{name}-{kind.partition('/')[2][:9]}": (f"a form sends {what} as {kind}", path, field, kind)
        for name, what, path, field in (
            ("settings", "settings", SETTINGS, '{"logdays": 99, "x": "'),
            ("key", "a new key", KEYS, '{"name": "evil", "x": "'),
            ("upload", "a certificate", "/dm/api/v3/tls", "file"),
        )
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
    },
    "A form, which needs no leave of anybody, changes nothing.",
    CRITICAL,
    Stage.BROWSER,
    quick=False,
)
@in_browser
def forms(victim: Victim, path: str, field: str, kind: str) -> None:
    """A form that sends itself, into a frame."""
    victim.visit()
    script = FORM.format(url=victim.here + path, kind=kind, target="frame", name=field.replace("\\", "\\\\"))
    assert victim.runs(script) == "sent"


@BROWSER.each(
    {
        f"rebound-{name}": (f"after its name was rebound, a page's script {what}", method, path, body)
        for name, what, method, path, body in (
            ("settings", "reads the settings", "GET", SETTINGS, None),
            ("devices", "reads the devices", "GET", DEVICES, None),
            ("change", "changes the settings", "POST", SETTINGS, {"logdays": 99}),
            ("key", "makes a key", "POST", KEYS, {"name": "evil"}),
            (
                "login",
                "sets a login",
                "POST",
                SETTINGS,
                {"usr_uiauth": True, "usr_login": "e", "usr_pass": "evil-e-1", "usr_confpass": "evil-e-1"},
            ),
            ("backup", "orders a backup", "POST", "/dm/api/v3/backups", {}),
            ("sale", "sells", "POST", EXECUTE, sale("rebound")),
        )
    },
    "421: under a foreign name the service shows nothing and does nothing, though page and service have one origin.",
    CRITICAL,
    Stage.BROWSER,
)
@in_browser
def rebinding(victim: Victim, method: str, path: str, body: Any) -> None:
    """The page comes from the service's own port under the attacker's name, as after DNS rebinding."""
    # An answer without a policy of content, which would stop the script before the service has to.
    victim.visit(f"{victim.rebound}{DEVICES}")
    options: dict[str, Any] = {"method": method, "headers": {"Content-Type": "application/json"}}
    if body is not None:
        options["body"] = json.dumps(body)
    found = victim.runs(FETCH.format(url=victim.rebound + path, options=json.dumps(options)))
    assert found[1] == 421, found
    nothing_read(found)


@BROWSER.each(
    {
        f"{name}": (what, script)
        for name, what, script in (
            (
                "frame",
                "a page frames ours, to be clicked unseen",
                "const it = document.createElement('iframe'); it.src = URL + '/dm/main/settings'; "
                "document.body.append(it); await new Promise(done => setTimeout(done, 500)); try { return "
                "it.contentDocument && it.contentDocument.body.innerHTML } catch (e) { return 'foreign' }",
            ),
            (
                "sandboxed",
                "a sandboxed frame of no origin changes settings",
                "const it = document.createElement('iframe'); it.sandbox = 'allow-scripts'; it.srcdoc = "
                "`<script>fetch('${URL}/dm/main/api/v1/settings', {method: 'POST', mode: 'no-cors', body: "
                "'{\"logdays\": 99}'})</script>`; document.body.append(it); await new Promise(done => "
                "setTimeout(done, 500)); return 'sent'",
            ),
            (
                "data-frame",
                "a frame of a `data:` address changes settings",
                "const it = document.createElement('iframe'); it.src = 'data:text/html,' + "
                "encodeURIComponent(`<script>fetch('${URL}/dm/main/api/v1/settings', {method: 'POST', mode: "
                "'no-cors', body: '{\"logdays\": 99}'})</script>`); document.body.append(it); await new "
                "Promise(done => setTimeout(done, 500)); return 'sent'",
            ),
            (
                "blob-worker",
                "a worker of a `blob:` address changes settings",
                "const code = new Blob([`fetch('${URL}/dm/main/api/v1/settings', {method: 'POST', mode: "
                "'no-cors', body: '{\"logdays\": 99}'})`]); new Worker(window.URL.createObjectURL(code)); await "
                "new Promise(done => setTimeout(done, 500)); return 'sent'",
            ),
            (
                "beacon",
                "a beacon changes settings when the page is left",
                "navigator.sendBeacon(URL + '/dm/main/api/v1/settings', '{\"logdays\": 99}'); await new "
                "Promise(done => setTimeout(done, 300)); return 'sent'",
            ),
            (
                "image",
                "a picture whose address is the API",
                "return await new Promise(done => { const it = new Image(); it.onload = () => done('loaded'); "
                "it.onerror = () => done('not'); it.src = URL + '/dm/api/v3/devices' })",
            ),
            (
                "script",
                "the API as a script",
                "return await new Promise(done => { const it = document.createElement('script'); it.onload = () "
                "=> done('ran ' + Object.keys(window).includes('devices')); it.onerror = () => done('not'); "
                "it.src = URL + '/dm/api/v3/devices'; document.body.append(it) })",
            ),
            (
                "style",
                "the API as a style sheet",
                "return await new Promise(done => { const it = document.createElement('link'); it.rel = "
                "'stylesheet'; it.onload = () => done('loaded'); it.onerror = () => done('not'); it.href = URL + "
                "'/dm/api/v3/devices'; document.head.append(it) })",
            ),
            (
                "object",
                "the pages as an embedded object",
                "const it = document.createElement('object'); it.data = URL + '/dm/main/'; "
                "document.body.append(it); await new Promise(done => setTimeout(done, 500)); return "
                "String(it.contentDocument)",
            ),
            (
                "event-source",
                "the events, by `EventSource`",
                "return await new Promise(done => { const it = new EventSource(URL + '/dm/api/v3/events', "
                "{withCredentials: true}); it.onmessage = m => done(m.data); it.addEventListener('hello', m => "
                "done(m.data)); it.onerror = () => { it.close(); done('not') } })",
            ),
            (
                "web-socket",
                "a web socket to the service",
                "return await new Promise(done => { const it = new WebSocket(URL.replace('http', 'ws') + "
                "'/dm/execute'); it.onopen = () => done('open'); it.onerror = () => done('not') })",
            ),
            (
                "xhr",
                "a request of the old kind with credentials",
                "return await new Promise(done => { const it = new XMLHttpRequest(); it.withCredentials = true; "
                "it.onload = () => done(it.responseText); it.onerror = () => done('not'); it.open('GET', URL + "
                "'/dm/api/v3/devices'); it.send() })",
            ),
            (
                "opened",
                "a window of ours, opened and looked into",
                "const it = window.open(URL + '/dm/main/'); await new Promise(done => setTimeout(done, 500)); "
                "try { return it.document.body.innerHTML } catch (e) { return 'foreign' } finally { it && "
                "it.close() }",
            ),
            (
                "message",
                "messages to a window of ours",
                "const it = window.open(URL + '/dm/main/settings'); await new Promise(done => setTimeout(done, "
                "500)); for (const m of [{logdays: 99}, 'save', '{\"logdays\": 99}']) it.postMessage(m, '*'); "
                "await new Promise(done => setTimeout(done, 200)); it.close(); return 'sent'",
            ),
            (
                "service-worker",
                "a service worker for our pages",
                "try { await navigator.serviceWorker.register(URL + '/dm/static/board.js'); return 'registered' "
                "} catch (e) { return 'not' }",
            ),
            (
                "cookie",
                "a cookie for our name, set by a page",
                "document.cookie = 'DMUIToken=evil; domain=localhost; path=/'; return document.cookie",
            ),
            (
                "prefetch",
                "our API prefetched and rendered ahead",
                "const it = document.createElement('link'); it.rel = 'prefetch'; it.href = URL + "
                "'/dm/api/v3/devices'; document.head.append(it); await new Promise(done => setTimeout(done, "
                "300)); return performance.getEntriesByType('resource').map(e => e.encodedBodySize).join()",
            ),
            (
                "cache",
                "our answers from the browser's cache",
                "const answer = await fetch(URL + '/dm/api/v3/devices', {mode: 'no-cors', cache: "
                "'force-cache'}); const kept = await caches.open('x'); await kept.put('/x', answer); return "
                "(await (await kept.match('/x')).text())",
            ),
            (
                "private-network",
                "a request into the private network",
                "const answer = await fetch(URL + '/dm/api/v3/devices', {targetAddressSpace: 'loopback'}); "
                "return await answer.text()",
            ),
            (
                "stream",
                "an upload as an endless stream",
                'const body = new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode(\'{"logdays": '
                "99')); }}); const stop = new AbortController(); setTimeout(() => stop.abort(), 400); await "
                "fetch(URL + '/dm/main/api/v1/settings', {method: 'POST', body, duplex: 'half', signal: "
                "stop.signal}); return 'sent'",
            ),
            (
                "timing",
                "what the time of an error tells",
                "const times = []; for (const path of ['/dm/main/', '/nothing']) { const begun = "
                "performance.now(); try { await fetch(URL + path, {mode: 'no-cors'}) } catch (e) {} "
                "times.push(performance.getEntriesByName(URL + path).map(e => e.responseStatus || 0)) } return "
                "times",
            ),
        )
    },
    "The page is kept outside: it reads nothing of ours, changes nothing, and gets no channel.",
    HIGH,
    Stage.BROWSER,
    quick=False,
)
@in_browser
def scripts(victim: Victim, script: str) -> None:
    """One trick each."""
    victim.visit()
    found = victim.runs(f"const URL = {json.dumps(victim.here)}; {script}")
    nothing_read(found)
    assert found not in ("open", "registered", "loaded", "ran true"), found


@BROWSER.each(
    {
        "own-frame": ("a page of ours in a frame of ours", "iframe"),
        "own-inline": ("a script in a receipt's name, on our own page", "inline"),
        "own-eval": ("`eval` on our own page", "eval"),
        "own-elsewhere": ("our own page sends data to another site", "elsewhere"),
        "own-base": ("a `base` in our own page", "base"),
    },
    "The rules of content of our pages forbid it, so a mistake in one of them gives a foreign script nothing.",
    MEDIUM,
    Stage.BROWSER,
    quick=False,
)
@in_browser
def own_pages(victim: Victim, what: str) -> None:
    """What a script could do that got into a page of ours."""
    victim.visit(f"{victim.here}/dm/main/")
    made = "const it = document.createElement('{}'); "
    until = "await new Promise(done => setTimeout(done, 400)); "
    told = "return {} ? 'broke' : 'held'"
    script = {
        "iframe": made.format("iframe")
        + "it.src = '/dm/main/settings'; document.body.append(it); "
        + until
        + told.format("it.contentDocument && it.contentDocument.querySelector('form')"),
        "inline": made.format("div")
        + "it.innerHTML = '<img src=x onerror=\"window.evil = 1\">'; document.body.append(it); "
        + until
        + told.format("window.evil"),
        "eval": made.format("script")
        + "it.textContent = 'window.evil = 1'; document.body.append(it); "
        + told.format("window.evil"),
        "elsewhere": f"let sent = false; try {{ await fetch('{victim.site}/', {{mode: 'no-cors'}}); sent = true }} "
        "catch (e) {} " + told.format("sent"),
        "base": made.format("base")
        + f"it.href = '{victim.site}/'; document.head.prepend(it); const link = document.createElement('a'); "
        + "link.href = 'x'; "
        + told.format("link.href.includes('evil')"),
    }
    assert victim.runs(script[what]) == "held", what


@BROWSER.each(
    {
        "open-sale": ("a script of a foreign page sells", {"method": "POST", "body": json.dumps(sale("page"))}),
        "open-state": (
            "a script of a foreign page asks for a register's state",
            {"method": "POST", "body": json.dumps({"device": "test", "type": 1, "fiscal": {"task": 18}})},
        ),
    },
    "It is done: tasks are open without a login and to pages, for tills that run in a browser; specification 5.3 "
    "demands it.",
    MEDIUM,
    Stage.BROWSER,
    openness="5.3c.1.1",
)
@in_browser
def open_tasks(victim: Victim, options: dict[str, str]) -> None:
    """What the specification leaves open."""
    victim.visit()
    if "page" in options["body"]:
        options = {**options, "body": json.dumps(sale(victim.desk.tag()))}
    found = victim.runs(FETCH.format(url=victim.here + EXECUTE, options=json.dumps(options)))
    assert found[1] == 200 and json.loads(found[2])["res"] == 0, found
    victim.desk.sold += "rows" in options["body"]
