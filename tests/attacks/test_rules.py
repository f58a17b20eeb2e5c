"""Every rule of who gets in, on HTTP, and what it lets through; `tests.attacks.access` tries to get past it."""

from __future__ import annotations

import base64
import json
from itertools import product
from types import SimpleNamespace
from typing import Any

from twisted.web.http_headers import Headers

from dmtwisted.config import ServerConfig
from dmtwisted.host_names import MOST_REFUSED, MOST_USUAL, HostNames
from dmtwisted.requests import MAX_BODY
from tests.specification import promises
from tests.test_sessions import DRIVERS, KEYS, PASSWORD, SETTINGS, AccessCase, token_of
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, HttpAnswer, fiscal, sale
from web.gate import PROBES, TASKS, Gated, Rule, rule_of

STATUS = json.dumps(fiscal(18)).encode()
"""A task without effect."""

EVIL = ("Origin", "http://evil.example")

VERSIONS = ("/dm/main/api/v1/settings", "/dm/api/v2/anything", "/dm/api/v3/drivers")
"""One URL of each version."""

PAGES = ("/dm/main/", "/dm/main/dashboard.html", "/dm/", "/dm", "/dm/api", "/dm/style.css", "/")


class BlockedTests(AccessCase):
    """Paths that need a login (specification 5.3)."""

    def setUp(self) -> None:
        """A service with a login."""
        super().setUp()
        self.switch_on()

    @promises("5.3b.1.1", "5.3b.1.2", "5.3b.1.3", "5.3b.1.4", "5.7.1", "1.8.1.2")
    def test_api(self) -> None:
        """Every URL with `/api/v1/`, `/api/v2/` or `/api/v3/` in it leads to the login page, whatever the method."""
        paths = (
            *VERSIONS,
            "/api/v1/",
            "/x/api/v2/y",
            "/dm/other/api/v3/z",
            "/dm/api/v1/sys_info?x=1",
            "/dm//api/v3/devices",
            "/dm/%61pi/v3/devices",
            "/dm/api%2Fv3%2Fdevices",
            "/health/live/api/v3/",
            "/dm/execute/api/v1/",
            "/login/api/v1/x",
        )
        for method, path in product(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"), paths):
            answer = self.request(method, path)
            self.assertTrue(self.is_blocked(answer), (method, path, answer))
            self.assertEqual(answer.body, b"")

    def test_every_mounted_path(self) -> None:
        """Nothing that the door has mounted is open, but for tasks, probes and the login itself."""
        for path in (*self.door.gated, *self.door.tree.mounted):
            blocked = self.is_blocked(self.request("GET", path.decode() + "/x"))
            self.assertEqual(blocked, True, path)
        for path in self.door.exact:
            self.assertIn(rule_of(path), (Rule.TASK, Rule.PROBE), path)

    def test_no_effect(self) -> None:
        """A blocked request does nothing."""
        self.request("POST", SETTINGS, {"logdays": 99})
        self.request("DELETE", f"/dm/api/v3/devices/{self.shop.core.devices.by_name('test').row.dev_id}")
        self.assertEqual(self.shop.core.settings.now.logdays, 7)
        self.assertEqual(self.fiscal(18)["res"], 0)

    @promises("5.3a.1", "1.8.1.1", "5.6.1.1")
    def test_pages(self) -> None:
        """Every page leads to the login page, which brings back to it; with a session it does not."""
        for path in PAGES:
            answer = self.request("GET", path)
            self.assertTrue(self.is_blocked(answer), path)
            self.assertTrue((answer.header("location") or "").endswith(f"/login?next={path}"), path)
        cookie = self.cookie()
        for path in PAGES:
            self.assertFalse(self.is_blocked(self.request("GET", path, headers=[cookie])), path)

    @promises("5.6.1.2")
    def test_key_and_pages(self) -> None:
        """A right API key does not open a page."""
        key = self.key(self.cookie())
        for path in PAGES:
            self.assertTrue(self.is_blocked(self.request("GET", path, headers=[key])), path)

    @promises("5.3c.1.1", "5.3c.1.2")
    def test_tasks(self) -> None:
        """Every task endpoint answers as without a login: with no cookie, a wrong one, or a wrong key."""
        for headers in ((), [("Cookie", "DMUIToken=x")], [("x-api-key", "x")]):
            self.assertEqual(self.execute(fiscal(18), headers=headers)["res"], 0)
            for path in TASKS:
                answer = self.request("POST", path.decode(), b"{}", headers)
                self.assertNotIn(answer.status, (302, 401, 403), path)

    def test_probes(self) -> None:
        """Health is open to everybody."""
        for path in ("/health/live", "/health/ready"):
            self.assertEqual(self.request("GET", path).status, 200)

    def test_not_by_query(self) -> None:
        """A task stays a task whatever is in its query."""
        self.assertEqual(self.execute(fiscal(18), f"{EXECUTE}?x=/api/v1/")["res"], 0)

    def test_location(self) -> None:
        """The redirect leads to the very name and port that the caller used, and never where a header says else."""
        for host, location in (
            ("10.0.0.1:3939", "http://10.0.0.1:3939/login"),
            ("desk.localhost", "http://desk.localhost/login"),
            ("[::1]:3939", "http://[::1]:3939/login"),
            ("[::1%25eth0]:3939", "http://10.0.0.1:12345/login"),
            ("", "http://10.0.0.1:12345/login"),
        ):
            self.assertEqual(self.raw(host=host).header("location"), location)
        for host in ("evil.example/x?", "a b", "a@b", "x\ty", "localhost:99999999", '"><script>'):
            self.assertEqual(self.raw(host=host).status, 400, host)

    def test_forwarded(self) -> None:
        """Headers that only a proxy may set are not believed."""
        headers = [
            ("X-Forwarded-For", "127.0.0.1"),
            ("X-Forwarded-Host", "evil.example"),
            ("X-Forwarded-Proto", "https"),
        ]
        answer = self.request("GET", DRIVERS, headers=headers)
        self.assertEqual(answer.header("location"), "http://localhost:3939/login")

    def raw(self, host: str) -> HttpAnswer:
        """The answer to a blocked request with this ``Host``."""
        connection = self.connect()
        connection.asked("GET", DRIVERS)
        connection.send(f"GET {DRIVERS} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        [answer] = connection.answers()
        return answer


class KeyTests(AccessCase):
    """API keys on the way in (specification 5.5b)."""

    def setUp(self) -> None:
        """A service with a login and a key."""
        super().setUp()
        self.switch_on()
        self.right = self.key(self.cookie())
        self.wrong = ("x-api-key", self.right[1][:-1] + "~")

    @promises("5.5b.1.1", "5.5b.1.2", "5.5b.1.3", "5.5b.2", "2.4.x-api-key.1", "9.2")
    def test_right(self) -> None:
        """With a right key each version answers as without a login, and no session begins."""
        for path in VERSIONS:
            with_key = self.request("GET", path, headers=[self.right])
            self.assertEqual(with_key.status, 404 if "v2" in path else 200)
            self.assertEqual(with_key.header("set-cookie"), None)
        self.assertEqual(self.request("POST", SETTINGS, {"logdays": 8}, [self.right]).json["res"], 0)

    @promises("5.5b.3.1")
    def test_wrong(self) -> None:
        """With a wrong key, an empty one, or nearly the right one, each version is blocked."""
        for path, key in product(VERSIONS, (self.wrong[1], "", self.right[1] + "x", self.right[1].swapcase())):
            self.assertTrue(self.is_blocked(self.request("GET", path, headers=[("x-api-key", key)])), (path, key))

    @promises("5.5b.3.2")
    def test_wrong_with_cookie(self) -> None:
        """A wrong key beside a valid cookie does not matter; beside one that is over it does."""
        cookie = self.cookie()
        self.assertEqual(self.request("GET", DRIVERS, headers=[self.wrong, cookie]).status, 200)
        self.shop.clock.advance(900)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[self.wrong, cookie])))
        self.assertEqual(self.request("GET", DRIVERS, headers=[self.right, cookie]).status, 200)

    def test_renewed_beside_a_key(self) -> None:
        """A request that a key lets in renews the session that came with it."""
        cookie = self.cookie()
        for _ in range(3):
            self.shop.clock.advance(800)
            self.assertEqual(self.request("GET", DRIVERS, headers=[self.right, cookie]).status, 200)
        self.assertEqual(self.request("GET", DRIVERS, headers=[cookie]).status, 200)

    def test_in_the_url(self) -> None:
        """A key in the URL, where logs and browsers keep it, does not count."""
        self.assertTrue(self.is_blocked(self.request("GET", f"{DRIVERS}?x-api-key={self.right[1]}")))


class SessionTests(AccessCase):
    """Cookies in requests (specification 5.4, 5.5a)."""

    def setUp(self) -> None:
        """A service with a login, and a session."""
        super().setUp()
        self.switch_on()
        self.session = self.cookie()

    def is_open(self, path: str = DRIVERS) -> bool:
        """Whether the session opens ``path``."""
        return not self.is_blocked(self.request("GET", path, headers=[self.session]))

    @promises("5.5a.4.1", "5.5a.4.2", "8.cookie-lifetime.1", "8.cookie-lifetime.2")
    def test_fifteen_minutes(self) -> None:
        """The cookie opens the API until 15 minutes have passed without requests; each request renews it."""
        for _ in range(4):
            self.shop.clock.advance(899)
            self.assertTrue(self.is_open())
        self.shop.clock.advance(900)
        self.assertFalse(self.is_open())
        self.assertFalse(self.is_open())

    @promises("5.4.1.1", "5.4.1.2", "8.web-inactivity")
    def test_ten_minutes(self) -> None:
        """Pages are open until 10 minutes have passed without activity; then the login is repeated."""
        for _ in range(4):
            self.shop.clock.advance(599)
            self.assertTrue(self.is_open("/dm/main/"))
        self.shop.clock.advance(600)
        self.assertFalse(self.is_open("/dm/main/"))
        self.assertTrue(self.is_open(DRIVERS))
        self.assertFalse(self.is_open("/dm/main/"))
        self.session = self.cookie()
        self.assertTrue(self.is_open("/dm/main/"))

    def test_fixation(self) -> None:
        """A cookie that was planted before the login is not the session after it, and the login ends it."""
        planted = "planted-by-somebody-else-0123456789012345678"
        answer = self.log_in(headers=[("Cookie", f"DMUIToken={planted}")])
        self.assertNotEqual(token_of(answer), planted)
        self.session = ("Cookie", f"DMUIToken={planted}")
        self.assertFalse(self.is_open())

    def test_rotation(self) -> None:
        """Logging in again within a session gives another cookie and ends the first one."""
        answer = self.log_in(headers=[self.session])
        self.assertFalse(self.is_open())
        self.session = ("Cookie", f"DMUIToken={token_of(answer)}")
        self.assertTrue(self.is_open())

    def test_not_renamed(self) -> None:
        """Only the cookie with the right name counts, and nonsense in it is no fault of ours."""
        token = self.session[1].split("=")[1]
        for cookie in (f"dmuitoken={token}", f"X={token}", "DMUIToken=", "DMUIToken=\xff\xfe", "DMUIToken", "=;=;;"):
            answer = self.request("GET", DRIVERS, headers=[("Cookie", cookie)])
            self.assertTrue(self.is_blocked(answer), cookie)

    def test_not_in_the_url(self) -> None:
        """A token in the URL opens nothing."""
        token = self.session[1].split("=")[1]
        self.assertTrue(self.is_blocked(self.request("GET", f"{DRIVERS}?DMUIToken={token}")))

    def test_password_changed(self) -> None:
        """A new password ends every session, the one that set it too."""
        new = {"usr_pass": "kavun-7-lito", "usr_confpass": "kavun-7-lito"}
        self.assertEqual(self.request("POST", SETTINGS, new, [self.session]).json["res"], 0)
        self.assertFalse(self.is_open())
        self.assertEqual(self.log_in().status, 401)
        self.assertEqual(self.log_in("admin", "kavun-7-lito").status, 200)


class ForeignPageTests(AccessCase):
    """What a foreign page can make a browser send."""

    def test_own_pages(self) -> None:
        """Our own pages may change the service."""
        answer = self.request("POST", SETTINGS, {"logdays": 9}, [("Origin", "http://localhost:3939")])
        self.assertEqual(answer.json["res"], 0)

    def test_listed(self) -> None:
        """A page of a listed origin may read and change, with a key when there is a login; no other may."""
        self.configure(ServerConfig(allowed_origins="https://shop.example"))
        listed = ("Origin", "https://shop.example")
        answer = self.request("OPTIONS", SETTINGS, headers=[listed, ("Access-Control-Request-Method", "POST")])
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.header("access-control-allow-origin"), "https://shop.example")
        self.assertIn("x-api-key", answer.header("access-control-allow-headers") or "")
        answer = self.request("POST", SETTINGS, {"logdays": 9}, [listed])
        self.assertEqual((answer.json["res"], answer.header("vary")), (0, "Origin"))
        self.assertEqual(answer.header("access-control-allow-origin"), "https://shop.example")
        self.assertEqual(self.request("POST", SETTINGS, {"logdays": 10}, [EVIL]).status, 403)
        key = self.key()
        self.switch_on()
        self.assertTrue(self.is_blocked(self.request("POST", SETTINGS, {"logdays": 11}, [listed])))
        self.assertEqual(self.request("POST", SETTINGS, {"logdays": 11}, [listed, key]).json["res"], 0)

    def test_frames(self) -> None:
        """No page and no answer may be framed, sniffed or kept by a cache; blocked ones included."""
        answers = [self.request("GET", path) for path in (SETTINGS, "/login", "/dm/main/")]
        self.switch_on()
        answers += [self.request("GET", path) for path in (SETTINGS, "/login", "/dm/main/")]
        for answer in answers:
            self.assertIn("frame-ancestors 'none'", answer.header("content-security-policy") or "")
            self.assertEqual(answer.header("x-frame-options"), "DENY")
            self.assertEqual(answer.header("x-content-type-options"), "nosniff")
            self.assertEqual(answer.header("cache-control"), "no-store")

    def test_tasks(self) -> None:
        """Tasks are open to pages of every origin, as tills in a browser need."""
        answer = self.request("POST", EXECUTE, fiscal(18), [EVIL])
        self.assertEqual((answer.json["res"], answer.header("access-control-allow-origin")), (0, "*"))


class HostileRequestTests(AccessCase):
    """Requests that no honest client sends."""

    def test_oversize(self) -> None:
        """A body beyond any use is refused and not kept; the service goes on."""
        self.assertEqual(self.request("POST", "/login", b"x" * 20_000).status, 413)
        answer = self.request("POST", SETTINGS, b'{"supmail":"' + b"x" * MAX_BODY + b'"}')
        self.assertEqual((answer.status, answer.json["res"]), (200, 2000))
        self.assertEqual(self.request("POST", KEYS, b"x" * (MAX_BODY + 1)).status, 400)
        self.assertEqual(self.fiscal(18)["res"], 0)


class HostTests(AccessCase):
    """The name in `Host`, in every profile and for every path: pages that let their own name lead here."""

    def raw(self, head: str, method: str = "GET", path: str = DRIVERS) -> HttpAnswer:
        """The answer to a request with exactly this head."""
        connection = self.connect()
        connection.asked(method, path)
        connection.send(f"{head}\r\n\r\n".encode())
        [answer] = connection.answers()
        return answer

    def status(self, host: str, path: str = "/health/live") -> int:
        """The status of the answer to a request to ``host``."""
        return self.request("GET", path, headers=[("Host", host)]).status

    def test_rebinding(self) -> None:
        """A page under a foreign name that leads here gets 421 for everything, and nothing is done."""
        foreign = [("Host", "evil.example:3939"), ("Origin", "http://evil.example:3939")]
        paths = [
            path.decode() for path in (*self.door.exact, *self.door.gated, *self.door.tree.mounted) if path != b"/"
        ]
        for path in (*paths, *PAGES, "/nothing", f"{DEVICES}/{self.dev_id}", "/dm/main/receipts/x/1"):
            for method in ("GET", "POST", "OPTIONS", "DELETE"):
                answer = self.request(method, path, b"{}", foreign)
                self.assertEqual((answer.status, answer.json["res"]), (421, 2000), (method, path))
                self.assertEqual(answer.header("access-control-allow-origin"), None)
        members = {"usr_uiauth": True, "usr_login": "evil", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
        self.request("POST", SETTINGS, members, foreign)
        self.request("POST", KEYS, {"name": "evil"}, foreign)
        self.request("POST", EXECUTE, fiscal(0, "evil"), foreign)
        self.assertEqual((self.shop.core.access.on, list(self.shop.core.access.keys)), (False, []))
        self.assertEqual(self.shop.ledger(), [])

    def test_own(self) -> None:
        """Names and addresses of this machine are let in, whatever the port, the letter case and the final dot."""
        for host in (
            "localhost",
            "LocalHost.:1",
            "till.localhost:3939",
            "127.0.0.1:3939",
            "127.8.9.1",
            "[::1]:3939",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::1%25lo]:3939",
            "10.0.0.1:65535",
            "[::ffff:10.0.0.1]",
        ):
            self.assertEqual(self.status(host), 200, host)
            self.assertEqual(self.status(host, DRIVERS), 200, host)

    def test_tills(self) -> None:
        """A till on another computer goes on selling at the address or the name of the machine."""
        self.patch(self.shop.core.hosts, "_machine", lambda: frozenset({"kasa", "kasa.local"}))
        for host in ("10.0.0.1:3939", "kasa:3939", "KASA.local:3939"):
            answer = self.ask(self.connect_from("192.168.1.20"), "POST", EXECUTE, STATUS, [JSON_TYPE, ("Host", host)])
            self.assertEqual(answer.json["res"], 0, host)

    def test_foreign(self) -> None:
        """Names that only look like our own are refused."""
        for host in (
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evillocalhost",
            "localhost.localdomain.evil",
            "0x7f.1",
            "2130706433",
            "127.1",
            "0.0.0.0",
            "[::]",
            "203.0.113.9",
            "[2001:db8::9]",
            "null",
            "xn--80aswg.example",
        ):
            self.assertEqual(self.status(host), 421, host)

    def test_no_name(self) -> None:
        """What is no name, two names, and a name with a user before it are 400."""
        for host in (
            "a b",
            "localhost@evil.example",
            "evil.example/",
            "[::1",
            "[x]",
            "a..b",
            "-" * 64,
            "a, b",
            "ї" * 99,
        ):
            self.assertEqual(self.status(host), 400, host)
        both = "GET /dm/api/v3/drivers HTTP/1.1\r\nHost: localhost\r\nHost: {}"
        for second in ("evil.example", "localhost"):
            self.assertEqual(self.raw(both.format(second)).status, 400)

    def test_without(self) -> None:
        """A request without a name is served: every browser sends one, and some tills do not."""
        for version, headers in product(("1.0", "1.1"), ("", "\r\nHost:")):
            answer = self.raw(f"GET {DRIVERS} HTTP/{version}{headers}")
            self.assertEqual(answer.status, 200, (version, headers))

    def test_in_the_target(self) -> None:
        """A host in the first line counts instead of the header, and its path is served."""
        for target, header, status in (
            (f"http://localhost:3939{DRIVERS}", "localhost:3939", 200),
            (f"HTTP://localhost{DRIVERS}", "evil.example", 200),
            (f"http://evil.example{DRIVERS}", "localhost", 421),
            (f"http://user@localhost{DRIVERS}", "localhost", 400),
        ):
            self.assertEqual(self.raw(f"GET {target} HTTP/1.1\r\nHost: {header}").status, status, target)
        blocked = self.raw("GET http://localhost?x=1 HTTP/1.1\r\nHost: localhost", path="/")
        self.assertEqual(blocked.header("location"), "http://localhost/dm/main/")

    def test_text(self) -> None:
        """The refusal says in the caller's language where the name is allowed."""
        for language, words in (("uk", "«Дозволені імена»"), ("en", "Allowed names")):
            headers = [("Host", "Kasa.example:3939"), ("Accept-Language", language)]
            text = self.request("GET", EXECUTE, headers=headers).json["errortxt"]
            self.assertIn(words, text)
            self.assertIn('allowed_hosts = "kasa.example"', text)

    def test_allowed(self) -> None:
        """Names of the configuration and of the settings are let in; one that is taken off the list no more."""
        self.configure(ServerConfig(allowed_hosts="Kasa.Example, *.shop.example, 10.0.0.0/8, каса.укр"))
        for host in ("kasa.example:1", "till.shop.example", "10.1.2.3", "xn--80aa2a3a.xn--j1amh", "каса.укр"):
            self.assertEqual(self.status(host), 200, host)
        for host in ("shop.example", "a.b.shop.example", "11.1.2.3", "desk.example"):
            self.assertEqual(self.status(host), 421, host)
        self.assertEqual(self.change(allowed_hosts="desk.example"), {"res": 0, "errortxt": ""})
        self.assertEqual(self.status("desk.example"), 200)
        self.change(allowed_hosts="")
        self.assertEqual(self.status("desk.example"), 421)
        answer = self.request("POST", SETTINGS, {"allowed_hosts": "http://x"}, [("Accept-Language", "en")]).json
        self.assertEqual(answer["errortxt"], "Malformed request: allowed_hosts: http://x is not a host name")

    def test_counted(self) -> None:
        """Refused names are counted, few of them, until they are allowed."""
        refused = self.shop.core.hosts.refused
        for number in range(300):
            self.status(f"n{number}.evil.example")
            self.status("kasa.example")
        refused = self.shop.core.hosts.refused
        self.assertEqual((refused["kasa.example"], len(refused)), (300, MOST_REFUSED))
        self.change(allowed_hosts="kasa.example")
        self.assertNotIn("kasa.example", self.shop.core.hosts.refused)

    def test_usual(self) -> None:
        """The name of every request of a till is judged once; other spellings do not fill the memory."""
        judged: list[bytes] = []
        hosts = self.shop.core.hosts

        def allows(value: bytes, here: str) -> bool:
            judged.append(value)
            return HostNames.allows(hosts, value, here)

        self.patch(hosts, "allows", allows)
        for _ in range(3):
            self.status("localhost:3939")
        self.assertEqual(judged, [b"localhost:3939"])
        for port in range(2 * MOST_USUAL):
            self.status(f"localhost:{port}")
        self.assertLessEqual(len(hosts.usual), MOST_USUAL)


class TemplateTests(AccessCase):
    """What a custom print form may try (docs/print-forms.md)."""

    def test_values(self) -> None:
        """Template marks in a receipt are printed as they are, and do not act in the shop's template."""
        path = f"{DEVICES}/{self.dev_id}"
        template = "%center {{ cashier }}\n%receipt"
        self.assertEqual(self.request("PATCH", path, {"settings": {"template": template}}).status, 200)
        self.open_shift()
        evil = "{{ 7 * 7 }} %logo <script>alert(1)</script>"
        row = {"code": "1", "name": evil, "cnt": 1, "price": 1, "taxgrp": 1}
        answer = self.execute(
            {
                **fiscal(1, "evil", receipt={"sum": 1, "rows": [row], "pays": [{"type": 0, "sum": 1}]}, cashier=evil),
                "need_pf_txt": 2,
            }
        )
        self.assertEqual(answer["res"], 0)
        text = base64.b64decode(answer["pf_text"].partition("base64,")[2]).decode("cp1251")
        self.assertIn("7 * 7", text)
        self.assertNotIn("49", text.replace("4911", ""))
        page = self.request("GET", f"/dm/main/receipts/{self.dev_id}/2").body
        self.assertNotIn(b"<script>alert", page)
        self.assertIn(b"&lt;script&gt;alert", page)


class HardenedTests(AccessCase):
    """``[server] hardened``"""

    def setUp(self) -> None:
        """A hardened service with a list of each kind, and a key that was made at its own machine."""
        super().setUp()
        self.configure(
            ServerConfig(
                hardened=True,
                allowed_addresses="192.168.1.20",
                allowed_origins="https://shop.example",
            )
        )

    def task(self, *headers: tuple[str, str], address: str = "127.0.0.1", path: str = EXECUTE) -> HttpAnswer:
        """The answer to a task without effect."""
        return self.ask(self.connect_from(address), "POST", path, STATUS, [JSON_TYPE, *headers])

    def test_key_for_tasks(self) -> None:
        """Tasks need a key: 401 without one or with a wrong one, and nothing is done."""
        key = self.key()
        self.assertEqual(self.task().status, 401)
        self.assertEqual(self.task(("x-api-key", "wrong")).status, 401)
        self.assertEqual(self.task(key).json["res"], 0)
        body = json.dumps(sale("t1")).encode()
        self.assertEqual(self.ask(self.connect(), "POST", EXECUTE, body, [JSON_TYPE]).status, 401)
        self.assertEqual(self.shop.ledger(), [])
        for path in TASKS:
            self.assertEqual(self.task(path=path.decode()).status, 401, path)

    def test_first_key(self) -> None:
        """Without a login the first key is made at the machine itself; from then on a key is needed for more."""
        stranger = self.connect_from("192.168.1.20")
        self.assertEqual(self.ask(stranger, "POST", KEYS, b'{"name":"x"}', [JSON_TYPE]).status, 401)
        self.assertEqual(self.request("GET", DRIVERS).status, 401)
        key = self.key()
        self.assertEqual(self.request("POST", KEYS, {"name": "y"}).status, 401)
        self.assertEqual(self.request("POST", KEYS, {"name": "y"}, [key]).status, 201)
        self.assertEqual(self.request("GET", DRIVERS, headers=[key]).status, 200)

    def test_login(self) -> None:
        """With a login the API is blocked by a redirect as ever, and a session opens it and the tasks."""
        key = self.key()
        members = {"usr_uiauth": True, "usr_login": "admin", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
        self.assertEqual(self.request("POST", SETTINGS, members, [key]).json["res"], 0)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS)))
        cookie = self.cookie()
        self.assertEqual(self.request("GET", DRIVERS, headers=[cookie]).status, 200)
        self.assertEqual(self.task(cookie).json["res"], 0)

    def test_addresses(self) -> None:
        """Only this machine and listed addresses are let in, for tasks, pages, the login and health alike."""
        key = self.key()
        self.assertEqual(self.task(key, address="192.168.1.20").json["res"], 0)
        self.assertEqual(self.task(key, address="192.168.1.21").status, 403)
        for path in ("/login", "/dm/main/", DRIVERS, "/health/live", SETTINGS):
            answer = self.ask(self.connect_from("192.168.1.21"), "GET", path, headers=[key])
            self.assertEqual(answer.status, 403, path)
        self.assertEqual(self.ask(self.connect_from("192.168.1.20"), "GET", "/health/live").status, 200)

    def test_rebinding(self) -> None:
        """A page that reaches us under a name of its own is refused, with its own origin and a right key too."""
        key = self.key()
        for path in (EXECUTE, SETTINGS, KEYS, "/login"):
            headers = [("Host", "evil.example"), ("Origin", "http://evil.example"), key]
            self.assertEqual(self.request("POST", path, {}, headers).status, 421, path)

    def test_origins(self) -> None:
        """Only our own and listed pages get a task done, with a key; the pre-flight of others is refused."""
        key = self.key()
        for origin, status in (
            ("https://shop.example", 200),
            ("http://localhost:3939", 200),
            ("https://localhost:3939", 403),
            ("http://evil.example", 403),
            ("null", 403),
        ):
            self.assertEqual(self.task(key, ("Origin", origin)).status, status, origin)
            preflight = self.request("OPTIONS", EXECUTE, headers=[("Origin", origin)])
            self.assertEqual(preflight.status, 204 if status == 200 else 403, origin)

    def test_off(self) -> None:
        """Without the switch the list of addresses closes nothing."""
        self.configure(ServerConfig(allowed_addresses="192.168.1.20"))
        self.assertEqual(self.task(address="10.9.8.7").json["res"], 0)


class RuleTests(AccessCase):
    """Which rule a path falls under."""

    def test_rules(self) -> None:
        """Only named paths are open; an unknown path is a page."""
        for path in TASKS:
            self.assertEqual(rule_of(path), Rule.TASK)
        for path in PROBES:
            self.assertEqual(rule_of(path), Rule.PROBE)
        for path, rule in (
            (b"/dm/execute/", Rule.PAGE),
            (b"/DM/EXECUTE", Rule.PAGE),
            (b"/dm/api/v3", Rule.PAGE),
            (b"/dm/api/v4/x", Rule.PAGE),
            (b"/dm/api/v3/", Rule.API),
            (b"/metrics/x", Rule.PAGE),
            (b"/login", Rule.LOGIN),
            (b"/login/", Rule.PAGE),
            (b"*", Rule.PAGE),
        ):
            self.assertEqual(rule_of(path), rule, path)

    def test_no_gate_before_tasks(self) -> None:
        """Without a hardened profile a sale passes no gate: the site returns the task endpoint itself."""
        for path in TASKS:
            asked: Any = SimpleNamespace(path=path, requestHeaders=Headers())
            self.assertNotIsInstance(self.door.getResourceFor(asked), Gated)
        # Once the tree is loaded.
        self.assertEqual(self.request("GET", DRIVERS).status, 200)
        asked = SimpleNamespace(path=DRIVERS.encode(), prepath=[], requestHeaders=Headers())
        self.assertIsInstance(self.door.getResourceFor(asked), Gated)

    def test_other_spellings(self) -> None:
        """A path that is spelled otherwise leads nowhere, so that no rule has two spellings to judge."""
        for path in ("/dm/api/v3/dev%69ces", "/dm/%65xecute", "/%6cogin", "/dm//main", "/dm/api/v3//devices"):
            self.assertEqual(self.request("GET", path).status, 404, path)

    def test_names_that_mean_a_place(self) -> None:
        """Only `interrupt` below the id of a device interrupts it; there is no device with that id."""
        self.assertEqual(self.request("GET", f"{DEVICES}/{self.dev_id}/interrupt").header("allow"), "POST")
        for path in (f"{DEVICES}/interrupt", f"{DEVICES}/*", f"{DEVICES}/a/b/interrupt"):
            self.assertEqual(self.request("GET", path).status, 404, path)
