"""Authentication: paths around the gate, sessions, keys, guesses, headers that claim to be somebody else."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import quote, urlencode

from dmtwisted.access import passwords
from dmtwisted.config import ServerConfig
from tests.attacks.desk import PASSWORD, STRANGER, Desk, MemoryDesk
from tests.attacks.variants import CRITICAL, HIGH, LOW, MEDIUM, Family, Stage
from tests.test_sessions import FORM_TYPE, KEYS, SETTINGS, token_of
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, HttpAnswer, fiscal, multipart, sale

ACCESS = Family("access", "Authentication")

BACKUPS = "/dm/api/v3/backups"
EVIL = ("Origin", "http://evil.example")


def outside(answer: HttpAnswer) -> None:
    """The attacker is sent away, and learns nothing of what is inside."""
    assert answer.status in (302, 400, 401, 403, 404, 405, 414, 421), answer
    assert b"dev_id" not in answer.body and b"logdays" not in answer.body and b'"drivers"' not in answer.body, answer
    if answer.status == 302:
        assert "/login" in (answer.header("location") or ""), answer
        assert not answer.body, answer


# -- paths ----------------------------------------------------------------------------------------------------------


@ACCESS.each(
    {
        "path-plain": ("the devices without anything", DEVICES),
        "path-double-slash": ("two slashes in the path", "/dm//api/v3/devices"),
        "path-slashes-first": ("two slashes at the beginning", "//dm/api/v3/devices"),
        "path-slash-last": ("a slash at the end", DEVICES + "/"),
        "path-dot": ("a dot segment", "/dm/./api/v3/devices"),
        "path-dots-from-task": ("dots out of a task's path", "/dm/execute/../api/v3/devices"),
        "path-dots-from-health": ("dots out of the path of health", "/health/live/../../dm/api/v3/devices"),
        "path-dots-from-login": ("dots out of the login", "/login/../dm/api/v3/devices"),
        "path-dots-from-static": ("dots out of the style sheets", "/dm/static/../api/v3/devices"),
        "path-dots-coded": ("coded dots out of the login", "/login/%2e%2e/dm/api/v3/devices"),
        "path-dots-half-coded": ("half coded dots out of health", "/health/live/.%2e/%2e./dm/api/v3/devices"),
        "path-dots-twice-coded": ("dots coded twice", "/login/%252e%252e/dm/api/v3/devices"),
        "path-slash-coded": ("coded slashes", "/dm%2Fapi%2Fv3%2Fdevices"),
        "path-slash-coded-low": ("coded slashes in small letters", "/dm/api%2fv3%2fdevices"),
        "path-backslash": ("backslashes", "/dm\\api\\v3\\devices"),
        "path-backslash-coded": ("coded backslashes", "/dm%5capi%5cv3%5cdevices"),
        "path-letter-coded": ("a coded letter in `api`", "/dm/%61pi/v3/devices"),
        "path-version-coded": ("a coded letter in `v3`", "/dm/api/%763/devices"),
        "path-upper": ("capitals", "/DM/API/V3/DEVICES"),
        "path-mixed": ("a capital", "/dm/Api/v3/devices"),
        "path-semicolon": ("a parameter after a semicolon", "/dm/api/v3/devices;x=/dm/execute"),
        "path-semicolon-inside": ("a parameter inside the path", "/dm/api;/v3/devices"),
        "path-semicolon-task": ("a task's path, a semicolon, and dots", "/dm/execute;/../api/v3/devices"),
        "path-nul": ("a zero byte at the end", "/dm/api/v3/devices%00"),
        "path-nul-ending": ("a zero byte and an ending", "/dm/api/v3/devices%00.css"),
        "path-ending": ("an ending that may be public", "/dm/api/v3/devices.css"),
        "path-ending-json": ("the ending `.json`", "/dm/api/v3/devices.json"),
        "path-blank-last": ("a coded blank at the end", "/dm/api/v3/devices%20"),
        "path-dot-last": ("a dot at the end", "/dm/api/v3/devices."),
        "path-dots-last": ("two dots after a name that is there", "/dm/api/v3/devices/x/.."),
        "path-tab": ("a coded tab inside", "/dm/api%09/v3/devices"),
        "path-newline": ("a coded line end inside", "/dm/api%0a/v3/devices"),
        "path-query-task": ("a task's path in the query", "/dm/api/v3/devices?/dm/execute"),
        "path-query-health": ("a query that names an open path", "/dm/api/v3/devices?path=/health/live"),
        "path-fragment": ("a coded fragment", "/dm/api/v3/devices%23/health/live"),
        "path-full-width": ("full-width letters", "/dm/%EF%BD%81pi/v3/devices"),
        "path-overlong": ("an overlong slash", "/dm%c0%afapi/v3/devices"),
        "path-overlong-dots": ("overlong dots", "/login/%c0%ae%c0%ae/dm/api/v3/devices"),
        "path-utf8-broken": ("half a letter", "/dm/api/v3/devices%d0"),
        "path-version-4": ("a version that is not there", "/dm/api/v4/devices"),
        "path-version-other": ("the devices under another version", "/dm/api/v1/devices"),
        "path-word": ("the settings under another program's word", "/dm/evil/api/v1/settings"),
        "path-word-static": ("the settings under the word `static`", "/dm/static/api/v1/settings"),
        "path-word-execute": ("the settings under a task's path", "/dm/execute/api/v1/settings"),
        "path-word-coded": ("the settings under a coded word", "/dm/%6dain/api/v1/settings"),
        "path-task-slash": ("a task's path with a slash after it", "/dm/execute/"),
        "path-static-escape": ("a file beside the style sheets", "/dm/static/..%2f..%2fgate.py"),
        "path-page": ("the start page", "/dm/main/"),
        "path-page-alias": ("the start page without a slash", "/dm/main"),
        "path-metrics-below": ("a path under the figures", "/metrics/../dm/api/v3/devices"),
        "path-openapi": ("the description of the API", "/dm/api/v3/openapi.json"),
        "path-log": ("the log", "/dm/api/v3/log"),
        "path-diagnostics": ("the bundle for support", "/dm/api/v3/diagnostics"),
        "path-events": ("the events", "/dm/api/v3/events"),
        "path-operations": ("the operations", "/dm/api/v3/operations"),
        "path-receipts": ("the receipts", "/dm/api/v3/receipts"),
        "path-backups": ("the backups", BACKUPS),
        "path-backup-file": ("a backup by a guessed name", BACKUPS + "/dmtwisted-20260921-090000.tar.gz"),
        "path-favicon": ("a path that nobody has", "/favicon.ico"),
    },
    "It leads to the login page or nowhere; nothing from behind the login is shown.",
    HIGH,
    Stage.LOGIN,
)
def around_the_gate(desk: Desk, path: str) -> None:
    """A path without a key."""
    outside(desk.ask("GET", path))


@ACCESS.each(
    {
        "method-head": ("HEAD of the devices", "HEAD", DEVICES),
        "method-options": ("OPTIONS of the devices", "OPTIONS", DEVICES),
        "method-post": ("a new device", "POST", DEVICES),
        "method-put": ("another clock", "PUT", "/dm/api/v3/training/clock"),
        "method-patch": ("a change of a device", "PATCH", DEVICES + "/x"),
        "method-delete": ("the removal of a key", "DELETE", KEYS + "/x"),
        "method-unknown": ("a method that nobody knows", "BREW", DEVICES),
        "method-trace": ("TRACE", "TRACE", DEVICES),
        "method-settings": ("other settings", "POST", SETTINGS),
        "method-key": ("a new key", "POST", KEYS),
        "method-backup": ("a new backup", "POST", BACKUPS),
        "method-upload": ("a register's key", "POST", "/dm/main/api/v1/prro/sign?dev_id=x"),
        "method-tls": ("another certificate", "POST", "/dm/api/v3/tls"),
        "method-interrupt": ("the interruption of a payment", "POST", DEVICES + "/x/interrupt"),
    },
    "It is sent to the login whatever the method, and does nothing.",
    CRITICAL,
    Stage.LOGIN,
)
def any_method(desk: Desk, method: str, path: str) -> None:
    """A change without a key."""
    body = b"" if method in ("HEAD", "OPTIONS", "TRACE") else b'{"name":"evil","logdays":99,"device":"evil"}'
    outside(desk.ask(method, path, body, [JSON_TYPE]))


@ACCESS.each(
    {
        name.lower(): (f"`{name}: {value}`", name, value)
        for name, value in (
            ("X-Forwarded-For", "127.0.0.1"),
            ("Forwarded", "for=127.0.0.1;host=localhost;proto=https"),
            ("X-Real-Ip", "127.0.0.1"),
            ("X-Client-Ip", "127.0.0.1"),
            ("True-Client-Ip", "::1"),
            ("X-Original-Url", "/health/live"),
            ("X-Rewrite-Url", "/dm/execute"),
            ("X-Http-Method", "GET"),
            ("X-Remote-User", "admin"),
            ("Authorization", "Basic YWRtaW46YWRtaW4="),
            ("Proxy-Authorization", "Bearer x"),
            ("Cookie", "admin=1; role=administrator; DMUIToken=true"),
            ("X-Api-Key", ""),
            ("Referer", "http://localhost:3939/dm/main/"),
            ("Origin", "http://localhost:3939"),
            ("X-Requested-With", "XMLHttpRequest"),
            ("User-Agent", "dmtwisted-doctor"),
            ("X-Custom-Ip-Authorization", "127.0.0.1"),
        )
    },
    "A header that anybody can write opens nothing: {0} is as good as none.",
    HIGH,
    Stage.LOGIN,
)
def claims(desk: Desk, name: str, value: str) -> None:
    """A header that claims to be somebody."""
    outside(desk.ask("GET", DEVICES, headers=[(name, value)]))
    outside(desk.ask("POST", SETTINGS, b'{"logdays": 99}', [JSON_TYPE, (name, value)]))


# -- sessions and keys ----------------------------------------------------------------------------------------------

Credential = Any


@ACCESS.each(
    {
        "cookie-guess": ("43 letters as a session", lambda t, k: ("Cookie", "DMUIToken=" + "A" * 43)),
        "cookie-empty": ("an empty session", lambda t, k: ("Cookie", "DMUIToken=")),
        "cookie-lower": ("the session in small letters", lambda t, k: ("Cookie", f"DMUIToken={t.lower()}")),
        "cookie-name-case": ("the session under `dmuitoken`", lambda t, k: ("Cookie", f"dmuitoken={t}")),
        "cookie-name-other": ("the session under another name", lambda t, k: ("Cookie", f"session={t}")),
        "cookie-longer": ("the session and a letter", lambda t, k: ("Cookie", f"DMUIToken={t}x")),
        "cookie-shorter": ("the session without its last letter", lambda t, k: ("Cookie", f"DMUIToken={t[:-1]}")),
        "cookie-nul": ("the session and a coded zero byte", lambda t, k: ("Cookie", f"DMUIToken={t}%00")),
        "cookie-star": ("a star as the session", lambda t, k: ("Cookie", "DMUIToken=*")),
        "cookie-sql": ("SQL as the session", lambda t, k: ("Cookie", "DMUIToken=' OR '1'='1")),
        "cookie-many": ("300 sessions", lambda t, k: ("Cookie", "; ".join(f"DMUIToken=x{n}" for n in range(300)))),
        "cookie-bytes": ("bytes as the session", lambda t, k: ("Cookie", "DMUIToken=\udcff\udcfe")),
        "cookie-as-key": ("the session as an API key", lambda t, k: ("X-Api-Key", t)),
        "cookie-as-bearer": ("the session as a bearer token", lambda t, k: ("Authorization", f"Bearer {t}")),
        "key-as-cookie": ("the API key as a session", lambda t, k: ("Cookie", f"DMUIToken={k}")),
        "key-as-bearer": ("the API key as a bearer token", lambda t, k: ("Authorization", f"Bearer {k}")),
        "key-as-basic": (
            "the API key as a password",
            lambda t, k: ("Authorization", "Basic " + base64.b64encode(f"admin:{k}".encode()).decode()),
        ),
        "key-lower": ("the key in small letters", lambda t, k: ("X-Api-Key", k.lower())),
        "key-longer": ("the key and a letter", lambda t, k: ("X-Api-Key", k + "x")),
        "key-shorter": ("the key without its last letter", lambda t, k: ("X-Api-Key", k[:-1])),
        "key-list": ("the key in a list", lambda t, k: ("X-Api-Key", f"x, {k}")),
        "key-quoted": ("the key in quotes", lambda t, k: ("X-Api-Key", f'"{k}"')),
        "key-nul": ("the key, a coded zero byte", lambda t, k: ("X-Api-Key", k + "%00")),
        "key-other-name": ("the key in `Api-Key`", lambda t, k: ("Api-Key", k)),
        "key-underscore": ("the key in `X_Api_Key`", lambda t, k: ("X_Api_Key", k)),
        "key-hash": ("the stored hash of the key", None),
        "key-megabyte": ("a key of 10,000 letters", lambda t, k: ("X-Api-Key", k * 230)),
    },
    "It is not the session and not the key, so it opens nothing.",
    HIGH,
    Stage.LOGIN,
)
def nearly(desk: Desk, credential: Credential) -> None:
    """What is nearly a right credential."""
    if credential is None:
        header = ("X-Api-Key", hashlib.sha256(desk.key[1].encode()).hexdigest())
    else:
        header = credential(desk.cookie[1].partition("=")[2], desk.key[1])
    outside(desk.ask("GET", DEVICES, headers=[header]))


@ACCESS.each(
    {
        "url-key": ("the key in the query", lambda t, k: f"{DEVICES}?x-api-key={k}"),
        "url-key-short": ("the key as `api_key` in the query", lambda t, k: f"{DEVICES}?api_key={k}&key={k}"),
        "url-token": ("the session in the query", lambda t, k: f"{DEVICES}?DMUIToken={t}"),
        "url-session-path": ("the session in the path", lambda t, k: f"{DEVICES};DMUIToken={t}"),
        "url-user": ("the key as the user of the address", lambda t, k: f"http://{k}@localhost{DEVICES}"),
    },
    "A credential in an address, where logs and browsers keep it, opens nothing.",
    MEDIUM,
    Stage.LOGIN,
)
def in_the_address(desk: Desk, path: Any) -> None:
    """A right credential in the wrong place."""
    outside(desk.ask("GET", path(desk.cookie[1].partition("=")[2], desk.key[1])))


@ACCESS.each(
    {
        "key-start": ("the start page", "/dm/main/"),
        "key-settings-page": ("the page of settings", "/dm/main/settings"),
        "key-root": ("the root", "/"),
        "key-receipts-page": ("the page of receipts", "/dm/main/receipts"),
    },
    "A right API key opens no page (specification 5.6).",
    MEDIUM,
    Stage.LOGIN,
)
def key_and_pages(desk: Desk, path: str) -> None:
    """A program's key in a browser."""
    outside(desk.ask("GET", path, headers=[desk.key]))


@ACCESS.each(
    {
        "open-status": ("the state of a register, without anything", EXECUTE, fiscal(18)),
        "open-sale": ("a sale, without anything", EXECUTE, sale("stranger")),
        "open-batch": ("a batch, without anything", "/dm/execute-pkg", fiscal(18)),
        "open-print": ("a print, without anything", "/dm/execute-prn", fiscal(18)),
        "open-origin": ("a sale by a foreign page", EXECUTE, sale("stranger")),
    },
    "With a login the task is done all the same, and nothing else is: specification 5.3 keeps tasks open.",
    MEDIUM,
    Stage.LOGIN,
    openness="5.3c.1.1",
)
def open_tasks(desk: Desk, path: str, body: dict[str, Any]) -> None:
    """What the specification leaves open."""
    answer = desk.ask("POST", path, {**body, "tag": desk.tag()}, [JSON_TYPE], source=STRANGER)
    assert answer.status == 200 and answer.json["res"] == 0, answer
    desk.sold += body["fiscal"]["task"] == 1
    assert b"logdays" not in answer.body


@ACCESS.one(
    "open-health",
    "the state of health and the figures, without anything",
    "They are open for monitoring, and hold no names of goods, people, keys or addresses of devices.",
    LOW,
    Stage.LOGIN,
)
def open_health(desk: Desk) -> None:
    """What monitoring reads."""
    for path in ("/health/live", "/health/ready", "/metrics"):
        answer = desk.ask("GET", path)
        assert answer.status == 200, answer
        for secret in ("Олена", "Кава", PASSWORD, desk.key[1], "127.0.0.1", "192.168"):
            assert secret.encode() not in answer.body, (path, secret)


# -- the life of a session ------------------------------------------------------------------------------------------


def session(desk: MemoryDesk) -> tuple[str, str]:
    """A session of its own."""
    return desk.log_in()


def over_after_logout(desk: MemoryDesk, cookie: tuple[str, str]) -> None:
    """It logs out."""
    assert desk.ask("POST", "/logout", b"{}", [JSON_TYPE, cookie]).status == 200


def over_after_time(desk: MemoryDesk, cookie: tuple[str, str]) -> None:
    """15 minutes pass."""
    desk.shop.clock.advance(900)


def over_after_password(desk: MemoryDesk, cookie: tuple[str, str]) -> None:
    """The owner sets another password."""
    change = {"usr_pass": "інший пароль 8", "usr_confpass": "інший пароль 8"}
    assert desk.own("POST", SETTINGS, change).json["res"] == 0


def over_after_restart(desk: MemoryDesk, cookie: tuple[str, str]) -> None:
    """The service starts again."""
    desk.case.configure(ServerConfig())


def over_after_login(desk: MemoryDesk, cookie: tuple[str, str]) -> None:
    """The same browser logs in again."""
    answer = desk.ask("POST", "/login", {"login": "admin", "pass": PASSWORD}, [JSON_TYPE, cookie])
    assert token_of(answer) not in cookie[1]


@ACCESS.each(
    {
        "old-logout": ("a session after its logout", over_after_logout),
        "old-time": ("a session after 15 minutes", over_after_time),
        "old-password": ("a session after the password was changed", over_after_password),
        "old-restart": ("a session after a restart", over_after_restart),
        "old-login": ("a session after the next login in the same browser", over_after_login),
    },
    "It is over and opens nothing.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def old_session(desk: MemoryDesk, end: Any) -> None:
    """A session that somebody stole before it ended."""
    cookie = session(desk)
    assert desk.ask("GET", DEVICES, headers=[cookie]).status == 200
    end(desk, cookie)
    outside(desk.ask("GET", DEVICES, headers=[cookie]))


@ACCESS.one(
    "fixed-session",
    "a session that was planted before the login",
    "The login makes another one: the planted one opens nothing.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def fixed(desk: MemoryDesk) -> None:
    """A known cookie, which the victim logs in with."""
    planted = ("Cookie", "DMUIToken=" + "p" * 43)
    answer = desk.ask("POST", "/login", {"login": "admin", "pass": PASSWORD}, [JSON_TYPE, planted])
    assert answer.status == 200 and token_of(answer) != "p" * 43
    outside(desk.ask("GET", DEVICES, headers=[planted]))


@ACCESS.one(
    "cookie-flags",
    "a script and a foreign page that read the session",
    "The cookie is HttpOnly and SameSite=Strict, has 256 random bits, and no two are alike.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def flags(desk: MemoryDesk) -> None:
    """What a browser does with the cookie."""
    found = set()
    for _ in range(20):
        answer = desk.ask("POST", "/login", {"login": "admin", "pass": PASSWORD}, [JSON_TYPE])
        cookie = answer.header("set-cookie") or ""
        assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and "; Path=/" in cookie, cookie
        found.add(token_of(answer))
    assert len(found) == 20 and min(map(len, found)) >= 43


@ACCESS.one(
    "deleted-key",
    "an API key after it was deleted",
    "It opens nothing from that moment.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def deleted_key(desk: MemoryDesk) -> None:
    """A key of somebody who has left."""
    made = desk.own("POST", KEYS, {"name": "left"}).json
    header = ("X-Api-Key", made["key"])
    assert desk.ask("GET", DEVICES, headers=[header]).status == 200
    [id] = [key["id"] for key in desk.own("GET", KEYS).json["api_keys"] if key["name"] == "left"]
    desk.own("DELETE", f"{KEYS}/{id}")
    outside(desk.ask("GET", DEVICES, headers=[header]))


@ACCESS.one(
    "keys-are-not-told",
    "the list of keys, the settings, the bundle for support and the log, with a right key",
    "No key, no hash and no password is in any of them.",
    CRITICAL,
    Stage.MEMORY_LOGIN,
)
def not_told(desk: MemoryDesk) -> None:
    """What a thief with a key may copy."""
    digest = hashlib.sha256(desk.key[1].encode()).hexdigest()
    for path in (KEYS, SETTINGS, "/dm/api/v3/log", DEVICES):
        body = desk.own("GET", path).body
        for secret in (desk.key[1], digest, PASSWORD, "argon2"):
            assert secret.encode() not in body, (path, secret)


# -- guessing -------------------------------------------------------------------------------------------------------


def guess(desk: Desk, password: object = "x", source: str = STRANGER, **headers: str) -> int:
    """The status of a try."""
    body = {"login": "admin", "pass": password}
    return desk.ask("POST", "/login", body, [JSON_TYPE, *headers.items()], source=source).status


@ACCESS.each(
    {
        "guess-one": ("1,000 passwords from one address", lambda n: STRANGER, 6),
        "guess-v6": ("1,000 passwords from one network of IPv6", lambda n: f"2001:db8::{n + 1:x}", 6),
        "guess-mapped": (
            "passwords from one address in both spellings",
            lambda n: ("::ffff:" if n % 2 else "") + STRANGER,
            6,
        ),
        "guess-many": ("1,000 passwords from 250 addresses", lambda n: f"192.168.2.{n % 250 + 1}", 51),
        "guess-loopback": ("1,000 passwords on the machine itself", lambda n: f"127.0.0.{n % 250 + 1}", 6),
    },
    "Fewer than {1} of them are tried; the others are 429, though the right one is among them.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def guessing(desk: MemoryDesk, source: Any, most: int) -> None:
    """A list of passwords; the last one is right."""
    statuses = [guess(desk, source=source(n)) for n in range(300)]
    assert statuses.count(401) < most and set(statuses) == {401, 429}, (statuses.count(401), set(statuses))
    assert guess(desk, PASSWORD, source=source(301)) == 429


@ACCESS.one(
    "guess-claims",
    "passwords with another `X-Forwarded-For` each",
    "The header does not make another address: 429 after five.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def guessing_with_claims(desk: MemoryDesk) -> None:
    """One address that claims to be many."""
    statuses = [
        desk.ask(
            "POST",
            "/login",
            {"login": "admin", "pass": str(n)},
            [JSON_TYPE, ("X-Forwarded-For", f"10.0.0.{n}")],
            source=STRANGER,
        ).status
        for n in range(20)
    ]
    assert statuses.count(401) == 5, statuses


@ACCESS.one(
    "guess-locks-nobody-out",
    "wrong passwords from all over the network",
    "The owner still logs in at the machine itself.",
    MEDIUM,
    Stage.MEMORY_LOGIN,
)
def lock_out(desk: MemoryDesk) -> None:
    """A flood whose aim is the owner."""
    for n in range(200):
        guess(desk, source=f"192.168.2.{n + 1}")
    assert guess(desk, PASSWORD, source="127.0.0.1") == 200


@ACCESS.one(
    "guess-clock",
    "wrong passwords while the training clock is moved",
    "The clock of training is not the clock of the limit: 429 stays.",
    MEDIUM,
    Stage.MEMORY_LOGIN,
)
def guess_with_clock(desk: MemoryDesk) -> None:
    """A limit by a clock that can be moved."""
    for _ in range(6):
        guess(desk)
    moved = desk.own("PUT", "/dm/api/v3/training/clock", {"advance_s": 3600})
    assert moved.status in (200, 400, 422), moved
    assert guess(desk, PASSWORD) == 429


@ACCESS.each(
    {
        "login-empty": ("empty texts", {"login": "", "pass": ""}),
        "login-null": ("`null` as the password", {"login": "admin", "pass": None}),
        "login-true": ("`true` as the password", {"login": "admin", "pass": True}),
        "login-array": ("a list of passwords", {"login": "admin", "pass": [PASSWORD, "x"]}),
        "login-object": ("a query as the password", {"login": "admin", "pass": {"$ne": ""}}),
        "login-sql": ("SQL as the login", {"login": "admin' --", "pass": "x"}),
        "login-missing": ("no password", {"login": "admin"}),
        "login-number": ("the number 0", {"login": "admin", "pass": 0}),
        "login-hash": (
            "a hash of argon2 as the password",
            {"login": "admin", "pass": "$argon2id$v=19$m=19456,t=2,p=1$x"},
        ),
        "login-nul": ("the right password and a zero byte", {"login": "admin", "pass": PASSWORD + "\0"}),
        "login-blank": ("the right password and a blank", {"login": "admin", "pass": PASSWORD + " "}),
        "login-upper": ("the right password in capitals", {"login": "admin", "pass": PASSWORD.upper()}),
        "login-name-upper": ("the login in capitals", {"login": "ADMIN", "pass": PASSWORD}),
        "login-name-blank": ("the login and a blank", {"login": "admin ", "pass": PASSWORD}),
        "login-megabyte": ("a password of 15,000 letters", {"login": "admin", "pass": "x" * 15_000}),
        "login-257": ("the right password and 256 letters more", {"login": "admin", "pass": PASSWORD + "x" * 256}),
        "login-surrogate": ("half a pair of surrogates", {"login": "admin", "pass": "\\ud800"}),
    },
    "No session begins, and the words are the same whatever is wrong.",
    HIGH,
    Stage.MEMORY_LOGIN,
)
def wrong_login(desk: MemoryDesk, body: dict[str, Any]) -> None:
    """Nearly a login."""
    answer = desk.ask("POST", "/login", json.dumps(body).replace("\\\\u", "\\u").encode(), [JSON_TYPE])
    assert answer.status in (400, 401), answer
    assert answer.header("set-cookie") is None, answer


@ACCESS.each(
    {
        "login-text": ("a login as text, as a foreign form sends it", "text/plain", None),
        "login-multipart": ("a login as a form with files", "multipart/form-data; boundary=x", None),
        "login-form": (
            "a login as a form without its token",
            FORM_TYPE[1],
            urlencode({"login": "admin", "pass": PASSWORD}),
        ),
        "login-form-token": (
            "a login as a form with a guessed token",
            FORM_TYPE[1],
            urlencode({"login": "admin", "pass": PASSWORD, "csrf": "x" * 43}),
        ),
    },
    "No session begins: a foreign page cannot log anybody in.",
    MEDIUM,
    Stage.MEMORY_LOGIN,
)
def foreign_login(desk: MemoryDesk, kind: str, body: str | None) -> None:
    """A right login by a foreign page."""
    raw = (body or json.dumps({"login": "admin", "pass": PASSWORD})).encode()
    answer = desk.ask("POST", "/login", raw, [("Content-Type", kind)])
    assert answer.status in (403, 415), answer
    assert all("DMUIToken" not in value for name, value in answer.headers if name == "set-cookie"), answer


@ACCESS.each(
    {
        f"next-{name}": (f"`{target}` as where to go after the login", target)
        for name, target in (
            ("http", "http://evil.example/"),
            ("slashes", "//evil.example/"),
            ("three", "///evil.example/"),
            ("backslash", "/\\evil.example/"),
            ("backslashes", "\\\\evil.example"),
            ("tab", "/\t/evil.example/"),
            ("script", "javascript:alert(1)"),
            ("data", "data:text/html,x"),
            ("user", "http://localhost:3939@evil.example/"),
            ("markup", '"><script>alert(1)</script>'),
            ("newline", "/dm/\r\nLocation: http://evil.example/"),
            ("dots", "/dm/../../evil"),
        )
    },
    "The login leads to a page of ours and nowhere else.",
    MEDIUM,
    Stage.LOGIN,
)
def redirects(desk: Desk, target: str) -> None:
    """A link in a mail."""
    answer = desk.ask("GET", f"/login?next={quote(target, safe='')}")
    assert answer.status == 200, answer
    page = answer.body.decode()
    assert "evil.example" not in page and "<script>alert" not in page and "javascript:alert" not in page, page


@ACCESS.one(
    "password-weak",
    'the password "123" and ten others that lists begin with',
    "It is refused with a reason: at least eight characters, and none of the common ones.",
    MEDIUM,
    Stage.MEMORY_LOGIN,
)
def weak_password(desk: MemoryDesk) -> None:
    """What people type first."""
    for weak in ("123", "admin", "1", "password", "12345678", "qwertyui", "11111111", "qwerty123", "пароль"):
        answer = desk.own("POST", SETTINGS, {"usr_pass": weak, "usr_confpass": weak})
        assert answer.json["res"] > 0 and answer.json["errortxt"], (weak, answer.body.decode())


@ACCESS.one(
    "timing",
    "a name that is there and one that is not",
    "Both cost a hash: who is not there is not told by the time.",
    LOW,
    Stage.MEMORY_LOGIN,
)
def timing(desk: MemoryDesk) -> None:
    """The number of hashes, which is the time."""
    hashes: list[bool] = []
    real = passwords._fits

    def counted(*of: str) -> bool:
        hashes.append(real(*of))
        return hashes[-1]

    desk.case.patch(passwords, "_fits", counted)
    for name in ("admin", "nobody", "", "admin2"):
        desk.ask("POST", "/login", {"login": name, "pass": "wrong wrong"}, [JSON_TYPE])
    assert len(hashes) == 4, hashes


# -- a foreign page without a browser -------------------------------------------------------------------------------


@ACCESS.each(
    {
        f"foreign-{name}": (f"{what}, from a foreign page", method, path, kind)
        for name, what, method, path, kind in (
            ("settings-form", "settings as a form", "POST", SETTINGS, FORM_TYPE[1]),
            ("settings-text", "settings as text", "POST", SETTINGS, "text/plain"),
            (
                "settings-multipart",
                "settings as a form with files",
                "POST",
                SETTINGS,
                "multipart/form-data; boundary=x",
            ),
            ("settings-json", "settings as JSON", "POST", SETTINGS, "application/json"),
            ("key", "a new key", "POST", KEYS, "text/plain"),
            ("key-delete", "the removal of a key", "DELETE", KEYS + "/x", "text/plain"),
            ("device", "a new device", "POST", DEVICES, "text/plain"),
            ("device-delete", "the removal of a device", "DELETE", DEVICES + "/x", "text/plain"),
            ("clock", "another clock", "PUT", "/dm/api/v3/training/clock", "text/plain"),
            ("login", "a login", "POST", "/login", "application/json"),
            ("logout", "a logout", "POST", "/logout", "text/plain"),
            ("backup", "a new backup", "POST", BACKUPS, "text/plain"),
            (
                "upload",
                "a register's key",
                "POST",
                "/dm/main/api/v1/prro/sign?dev_id=x",
                "multipart/form-data; boundary=b17",
            ),
            ("certificate", "another certificate", "POST", "/dm/api/v3/tls", "multipart/form-data; boundary=b17"),
            ("interrupt", "the interruption of a payment", "POST", DEVICES + "/x/interrupt", "text/plain"),
        )
    },
    "403, and nothing is changed, though there is no login.",
    CRITICAL,
)
def foreign_change(desk: Desk, method: str, path: str, kind: str) -> None:
    """A request that a browser sends without asking."""
    body = multipart(file=b"x")[0] if "b17" in kind else b'{"logdays": 99, "name": "evil", "device": "evil"}'
    for origin in ("http://evil.example", "null", "http://localhost.evil.example", "https://localhost:1"):
        answer = desk.ask(method, path, body, [("Content-Type", kind), ("Origin", origin)])
        assert answer.status == 403, (origin, answer)


@ACCESS.each(
    {
        f"read-{name}": (f"{what}, by a foreign page's script", path)
        for name, what, path in (
            ("settings", "the settings", SETTINGS),
            ("devices", "the devices", DEVICES),
            ("keys", "the names of keys", KEYS),
            ("receipts", "the receipts", "/dm/api/v3/receipts"),
            ("log", "the log", "/dm/api/v3/log"),
            ("events", "the figures", "/metrics"),
            ("page", "the start page", "/dm/main/"),
        )
    },
    "No header lets the browser show the answer to the page, nor put it into a frame or a cache.",
    HIGH,
)
def foreign_reading(desk: Desk, path: str) -> None:
    """An answer that its browser must keep."""
    answer = desk.ask("GET", path, headers=[EVIL])
    assert answer.header("access-control-allow-origin") is None, answer.headers
    preflight = desk.ask("OPTIONS", path, headers=[EVIL, ("Access-Control-Request-Method", "POST")])
    assert preflight.header("access-control-allow-origin") is None, preflight.headers
    assert preflight.header("access-control-allow-private-network") is None, preflight.headers
    if path != "/metrics":
        assert answer.header("x-frame-options") == "DENY", answer.headers
        assert answer.header("x-content-type-options") == "nosniff", answer.headers
        assert answer.header("cache-control") == "no-store", answer.headers


# -- DNS rebinding --------------------------------------------------------------------------------------------------


@ACCESS.each(
    {
        f"rebound-{name}": (f"{what}, under a foreign name that leads here", method, path, body)
        for name, what, method, path, body in (
            ("key", "a new key", "POST", KEYS, {"name": "evil"}),
            (
                "login",
                "a new login",
                "POST",
                SETTINGS,
                {"usr_uiauth": True, "usr_login": "e", "usr_pass": "evil-evil-1", "usr_confpass": "evil-evil-1"},
            ),
            ("settings", "other settings", "POST", SETTINGS, {"logdays": 99}),
            ("read-settings", "the settings", "GET", SETTINGS, None),
            ("backup", "a new backup", "POST", BACKUPS, {}),
            ("backups", "the backups", "GET", BACKUPS, None),
            ("device", "a new device", "POST", DEVICES, {"device": "evil", "kind": "register", "driver": "training"}),
            ("devices", "the devices", "GET", DEVICES, None),
            ("receipts", "the receipts", "GET", "/dm/api/v3/receipts", None),
            ("page", "the start page", "GET", "/dm/main/", None),
            ("events", "the events", "GET", "/dm/api/v3/events", None),
            ("log", "the log", "GET", "/dm/api/v3/log", None),
            ("sale", "a sale", "POST", EXECUTE, sale("rebound")),
            ("batch", "a batch", "POST", "/dm/execute-pkg", sale("rebound")),
            ("print", "a print", "POST", "/dm/execute-prn", fiscal(18)),
            ("login-page", "the login page", "GET", "/login", None),
            ("openapi", "the description of the API", "GET", "/dm/api/v3/openapi.json", None),
        )
    },
    "421 with a text that says how to allow the name; nothing is shown and nothing is done, tasks included.",
    CRITICAL,
)
def rebound(desk: Desk, method: str, path: str, body: Any) -> None:
    """A page of the attacker whose name now leads to this machine: its origin is right, its Host is not."""
    raw = b"" if body is None else json.dumps(body).encode()
    for host in ("evil.example:3939", "evil.example"):
        answer = desk.ask(method, path, raw, [JSON_TYPE, ("Origin", f"http://{host}")], host=host)
        assert answer.status == 421, (host, answer)
        assert b"allowed_hosts" in answer.body, answer


@ACCESS.each(
    {
        f"host-{name}": (f"the Host `{host}`", host)
        for name, host in (
            ("localhost-sub", "localhost.evil.example:3939"),
            ("localhost-like", "localhost-evil.example"),
            ("loopback-like", "127.0.0.1.evil.example:3939"),
            ("nip", "127.0.0.1.nip.io:3939"),
            ("localtest", "localtest.me"),
            ("user", "localhost:3939@evil.example"),
            ("user-plain", "evil.example@localhost"),
            ("fragment", "evil.example#localhost"),
            ("blank", "localhost evil.example"),
            ("comma", "localhost, evil.example"),
            ("port-letters", "localhost:evil"),
            ("port-huge", "localhost:99999999"),
            ("zero", "0.0.0.0:3939"),
            ("decimal", "2130706433:3939"),
            ("octal", "0177.0.0.1:3939"),
            ("hex", "0x7f.0.0.1"),
            ("other-address", "203.0.113.7:3939"),
            ("v6-other", "[2001:db8::7]:3939"),
            ("v6-open", "[::1"),
            ("percent", "localhost%00.evil.example"),
            ("quotes", '"localhost"'),
            ("markup", '"><script>alert(1)</script>'),
            ("slash", "evil.example/localhost"),
            ("backslash", "evil.example\\localhost"),
            ("cyrillic", "lосalhost:3939"),
            ("long", "x" * 5000 + ".example"),
        )
    },
    "It is no name of this machine, so neither a page nor a sale is answered under it.",
    HIGH,
)
def foreign_host(desk: Desk, host: str) -> None:
    """A name that only looks like ours."""
    for method, path, body in (("GET", DEVICES, b""), ("POST", EXECUTE, json.dumps(sale("x")).encode())):
        answer = desk.ask(method, path, body, [JSON_TYPE], host=host)
        assert answer.status in (400, 421), answer


@ACCESS.one(
    "host-none",
    "no Host at all, in HTTP/1.1 and 1.0",
    "A request without a name has no more rights than others: nothing behind the login is shown or changed.",
    MEDIUM,
    Stage.LOGIN,
)
def no_host(desk: Desk) -> None:
    """A request without a name."""
    body = b'{"logdays": 99}'
    for version in (b"1.1", b"1.0"):
        head = b"POST " + SETTINGS.encode() + b" HTTP/" + version + b"\r\nContent-Length: " + str(len(body)).encode()
        talk = desk.send(head + b"\r\n\r\n" + body)
        assert 200 not in talk.statuses, talk.raw[:300]


@ACCESS.one(
    "host-twice", "two names: ours and a foreign one", "It is refused: a proxy may have read the other one.", MEDIUM
)
def two_hosts(desk: Desk) -> None:
    """Which one counts?"""
    for names in ((desk.host, "evil.example"), ("evil.example", desk.host)):
        lines = "".join(f"Host: {name}\r\n" for name in names)
        talk = desk.send(f"GET {DEVICES} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        assert talk.statuses in ([400], [421]), (names, talk.raw[:200])


# -- another computer -----------------------------------------------------------------------------------------------


@ACCESS.each(
    {
        f"stranger-{name}": (f"{what}, from another computer, while there is no login", method, path, body)
        for name, what, method, path, body in (
            ("key", "a new key", "POST", KEYS, {"name": "evil"}),
            (
                "login",
                "a first login",
                "POST",
                SETTINGS,
                {"usr_uiauth": True, "usr_login": "e", "usr_pass": "evil-evil-1", "usr_confpass": "evil-evil-1"},
            ),
            ("login-off", "the login switched off", "POST", SETTINGS, {"usr_uiauth": False}),
            ("backup-download", "a backup", "GET", BACKUPS + "/x.tar.gz", None),
        )
    },
    "It needs the code that only somebody at the machine can see; without it nothing is done.",
    CRITICAL,
    Stage.MEMORY,
)
def stranger(desk: MemoryDesk, method: str, path: str, body: Any) -> None:
    """Somebody else in the shop's network."""
    raw = b"" if body is None else json.dumps(body).encode()
    answer = desk.ask(method, path, raw, [JSON_TYPE], source=STRANGER)
    done = answer.status in (200, 201) and (body is None or answer.json.get("res", 0) == 0)
    # To switch off what is off is no change.
    assert not done or body == {"usr_uiauth": False}, answer


@ACCESS.one(
    "stranger-code-guess",
    "1,000 guesses of the code from another computer",
    "A guess finds nothing: the code has too many values, or guesses are counted.",
    HIGH,
    Stage.MEMORY,
)
def guess_code(desk: MemoryDesk) -> None:
    """A code of presence by force."""
    for n in range(50):
        headers = [JSON_TYPE, ("X-Presence-Code", f"{n:06d}"), ("X-Setup-Code", f"{n:06d}")]
        answer = desk.ask("POST", KEYS, {"name": "evil", "code": f"{n:06d}"}, headers, source=STRANGER)
        assert answer.status in (401, 403, 422, 429), answer


@ACCESS.each(
    {
        f"hardened-{name}": (f"{what}, with the hardened profile and no key", method, path, source)
        for name, what, method, path, source in (
            ("sale", "a sale", "POST", EXECUTE, "127.0.0.1"),
            ("batch", "a batch", "POST", "/dm/execute-pkg", "127.0.0.1"),
            ("devices", "the devices", "GET", DEVICES, "127.0.0.1"),
            ("page", "the start page", "GET", "/dm/main/", "127.0.0.1"),
            ("receipts", "the page of receipts", "GET", "/dm/main/receipts", "127.0.0.1"),
            ("log-page", "the page of the log", "GET", "/dm/main/settings/log", "127.0.0.1"),
            ("dashboard", "the dashboard", "GET", "/dm/main/dashboard.html", "127.0.0.1"),
            ("second-key", "a second key", "POST", KEYS, "127.0.0.1"),
            ("stranger", "health, from a computer that is not listed", "GET", "/health/live", STRANGER),
            ("stranger-login", "the login, from a computer that is not listed", "GET", "/login", STRANGER),
        )
    },
    "It is refused with 302, 401 or 403: nothing is shown and nothing is done.",
    HIGH,
    Stage.MEMORY_HARDENED,
)
def hardened(desk: MemoryDesk, method: str, path: str, source: str) -> None:
    """Without a key."""
    body = json.dumps(sale("evil")).encode() if method == "POST" else b""
    answer = desk.ask(method, path, body, [JSON_TYPE], source=source)
    assert answer.status in (302, 401, 403), answer
    assert "Кава".encode() not in answer.body and b"dev_id" not in answer.body


@ACCESS.each(
    {
        "hardened-origin": ("a sale with a key by a page that is not listed", "http://evil.example"),
        "hardened-origin-null": ("a sale with a key by a page without an origin", "null"),
        "hardened-origin-port": ("a sale with a key by a page of another port", "http://localhost:8080"),
        "hardened-origin-scheme": ("a sale with a key by a page of another scheme", "https://localhost:3939"),
        "hardened-origin-suffix": (
            "a sale with a key by a page whose name ends like ours",
            "http://evil-localhost:3939",
        ),
    },
    "403, and its pre-flight too: a stolen key does not help a page.",
    HIGH,
    Stage.MEMORY_HARDENED,
)
def hardened_origin(desk: MemoryDesk, origin: str) -> None:
    """A page with the key."""
    body = json.dumps(sale("evil")).encode()
    assert desk.ask("POST", EXECUTE, body, [JSON_TYPE, desk.key, ("Origin", origin)]).status == 403
    assert desk.ask("OPTIONS", EXECUTE, b"", [("Origin", origin)]).status == 403
