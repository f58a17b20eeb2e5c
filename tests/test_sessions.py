"""Logging in and out over HTTP, the login page, the cookie, and API keys."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlencode

from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import ISSLTransport
from zope.interface import directlyProvides

from dmtwisted.access.throttle import EACH
from dmtwisted.config import ServerConfig
from tests.specification import promises
from tests.web_case import JSON_TYPE, Connection, Headers, HttpAnswer, WebCase
from web.site import Door

SETTINGS = "/dm/main/api/v1/settings"
KEYS = "/dm/api/v3/api-keys"
DRIVERS = "/dm/api/v3/drivers"
PASSWORD = "сезам, відчинись"

ENGLISH = ("Accept-Language", "en")
FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded")


class AccessCase(WebCase):
    """Tests of a door that may ask who is there."""

    def configure(self, server: ServerConfig) -> None:
        """Start the service again with another configuration."""
        self.shop._config = replace(self.shop._config, server=server)
        self.shop.crash()
        self.door = Door(self.shop.core)

    def switch_on(self) -> None:
        """Ask for the login `admin` from now on."""
        answer = self.change(usr_uiauth=True, usr_login="admin", usr_pass=PASSWORD, usr_confpass=PASSWORD)
        self.assertEqual(answer, {"res": 0, "errortxt": ""})

    def change(self, **members: object) -> object:
        """The answer to a change of settings."""
        answer = self.request("POST", SETTINGS, members)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json

    def log_in(self, login: str = "admin", password: str = PASSWORD, headers: Headers = ()) -> HttpAnswer:
        """The answer to a login as programs do it."""
        return self.request("POST", "/login", {"login": login, "pass": password}, headers)

    def cookie(self) -> tuple[str, str]:
        """The header of a session that has just begun."""
        return ("Cookie", f"DMUIToken={token_of(self.log_in())}")

    def key(self, *headers: tuple[str, str]) -> tuple[str, str]:
        """The header of an API key that has just been made."""
        answer = self.request("POST", KEYS, {"name": "till"}, headers)
        self.assertEqual(answer.status, 201)
        return ("X-Api-Key", answer.json["key"])

    def is_blocked(self, answer: HttpAnswer) -> bool:
        """Whether ``answer`` is a redirect to the login page, absolute as clients need it."""
        location = answer.header("location") or ""
        if answer.status != 302 or not re.search(r"/login(\?|$)", location):
            return False
        self.assertRegex(location, r"^https?://localhost:3939/login(\?next=/[\w/.%-]*)?$")
        return True

    def connect_from(self, address: str) -> Connection:
        """A connection from another machine."""
        connection = self.connect()
        connection._transport.peerAddr = IPv4Address("TCP", address, 50000)
        return connection

    def connect_securely(self) -> Connection:
        """A connection that looks like TLS to the site."""
        connection = self.connect()
        directlyProvides(connection._transport, ISSLTransport)
        return connection

    def ask(
        self, connection: Connection, method: str, path: str, body: bytes = b"", headers: Headers = ()
    ) -> HttpAnswer:
        """The answer to a request on ``connection``."""
        connection.ask(method, path, body, headers)
        [answer] = connection.answers()
        return answer


def token_of(answer: HttpAnswer) -> str:
    """The session's token that ``answer`` sets."""
    cookies = [value for name, value in answer.headers if name == "set-cookie" and value.startswith("DMUIToken=")]
    assert len(cookies) == 1, answer
    return cookies[0].split(";")[0].removeprefix("DMUIToken=")


class LoginTests(AccessCase):
    """``POST /login`` as programs do it."""

    def setUp(self) -> None:
        """A service with a login."""
        super().setUp()
        self.switch_on()

    @promises("5.5a.1", "5.5a.2", "5.5a.3", "2.4.DMUIToken.1", "2.4.DMUIToken.2", "4.1.login")
    def test_right(self) -> None:
        """The right login and password give a cookie that opens what is blocked."""
        answer = self.log_in()
        self.assertEqual((answer.status, answer.json), (200, {"res": 0, "errortxt": ""}))
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS)))
        cookie = ("Cookie", f"other=1; DMUIToken={token_of(answer)}")
        self.assertEqual(self.request("GET", DRIVERS, headers=[cookie]).status, 200)

    def test_cookie(self) -> None:
        """The cookie is kept from scripts and foreign pages, and belongs to the whole site."""
        cookie = self.log_in().header("set-cookie") or ""
        self.assertRegex(cookie, r"^DMUIToken=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict$")

    def test_cookie_over_https(self) -> None:
        """Over HTTPS the cookie never goes in the clear, and redirects stay with https."""
        connection = self.connect_securely()
        body = b'{"login":"admin","pass":"%b"}' % PASSWORD.encode()
        self.assertIn(
            "; Secure", self.ask(connection, "POST", "/login", body, [JSON_TYPE]).header("set-cookie") or ""
        )
        blocked = self.ask(connection, "GET", DRIVERS)
        self.assertEqual(blocked.header("location"), "https://localhost:3939/login")

    def test_wrong(self) -> None:
        """Wrong ones are 401 with `res` and `errortxt`, no cookie, and the same words whatever is wrong."""
        told = set()
        for login, password in (("admin", "x"), ("nobody", PASSWORD), ("", "")):
            answer = self.log_in(login, password)
            self.assertEqual((answer.status, answer.header("set-cookie")), (401, None))
            self.assertGreater(answer.json["res"], 0)
            told.add(answer.json["errortxt"])
        self.assertEqual(len(told), 1)
        self.assertNotEqual(told, {""})

    def test_language(self) -> None:
        """The words are in the caller's language."""
        answer = self.log_in("admin", "x", [("Accept-Language", "en")])
        self.assertEqual(answer.json["errortxt"], "Wrong login or password")

    def test_malformed(self) -> None:
        """A body that is not a login is refused."""
        for body in (b"", b"{", b"[]", b"{}", b'{"login":"admin"}', b'{"login":1,"pass":2}', b"\xff"):
            self.assertEqual(self.request("POST", "/login", body).status, 400, body)

    def test_guessing(self) -> None:
        """After some wrong tries even the right one waits, 429 and `Retry-After` say for how long."""
        for _ in range(EACH.tries):
            self.assertEqual(self.log_in("admin", "x").status, 401)
        answer = self.log_in()
        self.assertEqual((answer.status, answer.header("retry-after")), (429, "30"))
        self.assertEqual(answer.header("set-cookie"), None)
        self.shop.clock.advance(30)
        self.assertEqual(self.log_in().status, 200)

    def test_guessing_from_elsewhere(self) -> None:
        """Guesses from another machine do not lock other clients out."""
        body = b'{"login":"admin","pass":"x"}'
        for _ in range(EACH.tries + 1):
            answer = self.ask(self.connect_from("192.168.1.66"), "POST", "/login", body, [JSON_TYPE])
        self.assertEqual(answer.status, 429)
        self.assertEqual(self.log_in().status, 200)

    @promises("5.5a.5")
    def test_again(self) -> None:
        """After its time the cookie opens nothing, and a new login gives another one that does."""
        old = self.cookie()
        self.shop.clock.advance(900)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[old])))
        new = self.cookie()
        self.assertNotEqual(new, old)
        self.assertEqual(self.request("GET", DRIVERS, headers=[new]).status, 200)

    def test_log_out(self) -> None:
        """After the logout the cookie opens nothing, and the browser deletes it."""
        cookie = self.cookie()
        answer = self.request("POST", "/logout", headers=[cookie])
        self.assertEqual((answer.status, answer.json), (200, {"res": 0, "errortxt": ""}))
        self.assertRegex(answer.header("set-cookie") or "", r"^DMUIToken=; .*Max-Age=0$")
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[cookie])))

    def test_log_out_twice(self) -> None:
        """A log-out without a session succeeds."""
        self.assertEqual(self.request("POST", "/logout").status, 200)

    def test_methods(self) -> None:
        """A link logs no one out, and nothing else is at these paths."""
        self.assertEqual(self.request("GET", "/logout").status, 405)
        self.assertEqual(self.request("PUT", "/login", {}).status, 405)
        self.assertEqual(self.request("GET", "/login/x").status, 302)

    def test_off(self) -> None:
        """While the login is off, programs that log in first succeed, and get no cookie."""
        self.request("POST", SETTINGS, {"usr_uiauth": False}, [self.cookie()])
        answer = self.log_in("any", "thing")
        self.assertEqual((answer.status, answer.json["res"], answer.header("set-cookie")), (200, 0, None))

    def test_restart(self) -> None:
        """A restart keeps the login and ends the sessions."""
        cookie = self.cookie()
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[cookie])))
        self.assertEqual(self.request("GET", DRIVERS, headers=[self.cookie()]).status, 200)


class PageTests(AccessCase):
    """The login page and its form."""

    def setUp(self) -> None:
        """A service with a login."""
        super().setUp()
        self.switch_on()

    def page(self, query: str = "", headers: Headers = ()) -> tuple[HttpAnswer, str, str]:
        """The page, its cookie and the token in its form."""
        answer = self.request("GET", f"/login{query}", headers=headers)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"))
        cookie = (answer.header("set-cookie") or "").split(";")[0]
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', answer.body.decode())
        assert found is not None
        return answer, cookie, found[1]

    def post(self, cookie: str, **fields: str) -> HttpAnswer:
        """The answer to the form."""
        body = urlencode(fields).encode()
        return self.ask(self.connect(), "POST", "/login", body, [FORM_TYPE, ("Cookie", cookie)])

    def test_language(self) -> None:
        """The page speaks the language that its reader chose on the pages behind it, also when a try fails."""
        english = ("Accept-Language", "en")
        self.assertIn("Log in", self.page(headers=[english])[0].body.decode())
        chosen = ("Cookie", "dm_lang=uk")
        answer, cookie, csrf = self.page(headers=[english, chosen])
        self.assertIn("Вхід", answer.body.decode())
        self.assertIn("Log in", self.page("?lang=en")[0].body.decode())
        told = self.post(f"{cookie}; dm_lang=en", login="admin", csrf=csrf, **{"pass": "wrong"})
        self.assertEqual((told.status, "Wrong login" in told.body.decode()), (401, True))

    def test_form(self) -> None:
        """The form logs in and goes on to where its reader came from."""
        _, cookie, csrf = self.page("?next=/dm/main/settings.html")
        answer = self.post(cookie, login="admin", csrf=csrf, next="/dm/main/settings.html", **{"pass": PASSWORD})
        self.assertEqual((answer.status, answer.header("location")), (303, "/dm/main/settings.html"))
        session = ("Cookie", f"DMUIToken={token_of(answer)}")
        self.assertEqual(self.request("GET", DRIVERS, headers=[session]).status, 200)

    def test_wrong(self) -> None:
        """A wrong try is 401 and the page again, with what was wrong and without what was typed."""
        _, cookie, csrf = self.page()
        answer = self.post(cookie, login="<b>", csrf=csrf, next="", **{"pass": "guess"})
        self.assertEqual(answer.status, 401)
        self.assertIn("Неправильний логін або пароль", answer.body.decode())
        self.assertNotIn(b"guess", answer.body)
        self.assertNotIn(b"<b>", answer.body)

    def test_throttled(self) -> None:
        """The page reports too many attempts."""
        _, cookie, csrf = self.page()
        for _ in range(EACH.tries):
            self.post(cookie, login="admin", csrf=csrf, **{"pass": "x"})
        answer = self.post(cookie, login="admin", csrf=csrf, **{"pass": PASSWORD})
        self.assertEqual((answer.status, answer.header("retry-after")), (429, "30"))
        self.assertEqual(answer.header("content-type"), "text/html; charset=utf-8")

    def test_foreign_form(self) -> None:
        """A form that was not made for this browser cannot log in."""
        _, cookie, csrf = self.page()
        _, _, other = self.page()
        for sent, token in ((cookie, other), (cookie, ""), ("", csrf), ("DMLoginForm=", csrf), (cookie, "й")):
            answer = self.post(sent, login="admin", csrf=token, **{"pass": PASSWORD})
            self.assertEqual(answer.status, 403)
            self.assertNotIn("DMUIToken", str(answer.headers))

    def test_same_cookie(self) -> None:
        """Two pages open in one browser both work."""
        _, cookie, first = self.page()
        answer, again, second = self.page(headers=[("Cookie", cookie)])
        self.assertEqual((answer.header("set-cookie"), again, first), (None, "", second))

    def test_next(self) -> None:
        """A link cannot lead anybody away after the login, nor write into the page."""
        for wanted in (
            "https://evil.example/",
            "//evil.example/dm/",
            "/dm//evil.example",
            "/dm/\\evil.example",
            "/login",
            "javascript:alert(1)",
            '/dm/"><script>',
            "/dm/%0d%0aX:y",
            "",
        ):
            page, cookie, csrf = self.page("?" + urlencode({"next": wanted}))
            self.assertNotIn(b"<script>", page.body)
            answer = self.post(cookie, login="admin", csrf=csrf, next=wanted, **{"pass": PASSWORD})
            self.assertTrue((answer.header("location") or "").startswith("/dm/"), wanted)
            self.assertNotIn("evil.example/", answer.header("location") or "")

    def test_languages(self) -> None:
        """The page is Ukrainian, and English on request."""
        self.assertIn(">Увійти<", self.page()[0].body.decode())
        self.assertIn(">Log in<", self.page(headers=[("Accept-Language", "en")])[0].body.decode())

    def test_whole_in_itself(self) -> None:
        """The page loads nothing, from here or from elsewhere, and says so to the browser."""
        answer, _, _ = self.page()
        self.assertNotRegex(answer.body, rb"(src|href)=|url\(|@import|https?:")
        policy = answer.header("content-security-policy") or ""
        self.assertTrue(policy.startswith("default-src 'none'; style-src 'sha256-"), policy)
        self.assertTrue(policy.endswith("frame-ancestors 'none'"), policy)

    def test_head(self) -> None:
        """HEAD is answered like GET without the page."""
        answer = self.request("HEAD", "/login")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_damaged_form(self) -> None:
        """What is no form is refused."""
        for body in (b"\xff=1", b"&".join(b"a=%d" % number for number in range(50))):
            answer = self.ask(self.connect(), "POST", "/login", body, [FORM_TYPE])
            self.assertEqual(answer.status, 400, body)

    def test_log_out(self) -> None:
        """A button on a page logs out and leads to the login page."""
        cookie = self.cookie()
        answer = self.ask(self.connect(), "POST", "/logout", b"x=1", [FORM_TYPE, cookie])
        self.assertEqual((answer.status, answer.header("location")), (303, "/login"))
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[cookie])))


class ApiKeyTests(AccessCase):
    """``/dm/api/v3/api-keys``"""

    def test_made(self) -> None:
        """A new key is shown once, in 201; the list has its name and not the key."""
        answer = self.request("POST", KEYS, {"name": "каса"})
        self.assertEqual(answer.status, 201)
        made = answer.json
        self.assertEqual((sorted(made), made["name"]), (["id", "key", "name"], "каса"))
        listed = self.request("GET", KEYS)
        [row] = listed.json["api_keys"]
        known = {"id": made["id"], "name": "каса", "dt": "20260921090000000", "weak": False}
        self.assertEqual(row, {**known, "role": "administrator", "devices": []})
        self.assertNotIn(made["key"].encode(), listed.body)

    def test_deleted(self) -> None:
        """A deleted key opens nothing from then on; deleting it again is 404."""
        self.switch_on()
        cookie = self.cookie()
        made = self.request("POST", KEYS, {"name": "till"}, [cookie]).json
        key = ("x-api-key", made["key"])
        self.assertEqual(self.request("GET", DRIVERS, headers=[key]).status, 200)
        self.assertEqual(self.request("DELETE", f"{KEYS}/{made['id']}", headers=[cookie]).status, 204)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[key])))
        answer = self.request("DELETE", f"{KEYS}/{made['id']}", headers=[cookie])
        self.assertEqual((answer.status, answer.json["res"]), (404, 2000))

    def test_replaced(self) -> None:
        """A key is replaced under its name: the new one is shown once and works, the old one does not."""
        self.switch_on()
        cookie = self.cookie()
        made = self.request("POST", KEYS, {"name": "till"}, [cookie]).json
        self.shop.clock.advance(60)
        answer = self.request("POST", f"{KEYS}/{made['id']}/replace", headers=[cookie])
        self.assertEqual((answer.status, answer.json["id"], answer.json["name"]), (200, made["id"], "till"))
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[("x-api-key", made["key"])])))
        self.assertEqual(self.request("GET", DRIVERS, headers=[("x-api-key", answer.json["key"])]).status, 200)
        listed = self.request("GET", KEYS, headers=[cookie])
        [row] = listed.json["api_keys"]
        self.assertEqual((row["name"], row["dt"]), ("till", "20260921090100000"))
        self.assertNotIn(answer.json["key"].encode(), listed.body)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.request("GET", DRIVERS, headers=[("x-api-key", answer.json["key"])]).status, 200)
        unknown = self.request("POST", f"{KEYS}/nobody/replace", headers=[("x-api-key", answer.json["key"])])
        self.assertEqual((unknown.status, unknown.json["res"]), (404, 2000))

    def test_brought_along(self) -> None:
        """A key that a program uses already can be kept on."""
        self.assertEqual(self.request("POST", KEYS, {"name": "old till", "key": "{OLD-KEY-OF-A-TILL}"}).status, 201)
        self.switch_on()
        self.assertEqual(self.request("GET", DRIVERS, headers=[("x-api-key", "{OLD-KEY-OF-A-TILL}")]).status, 200)

    @promises("2.4.x-api-key.2", "5.5b.2")
    def test_weak(self) -> None:
        """A short key works too; the answer, the list and the page say that it could be guessed."""
        made = self.request("POST", KEYS, {"name": "old till", "key": "1234"}, [ENGLISH])
        self.assertEqual((made.status, made.json["key"]), (201, "1234"))
        self.assertIn("could be guessed", made.json["warning"])
        self.assertEqual([key["weak"] for key in self.request("GET", KEYS).json["api_keys"]], [True])
        self.assertIn(b"could be guessed", self.request("GET", "/dm/main/settings", headers=[ENGLISH]).body)
        self.switch_on()
        self.assertEqual(self.request("GET", DRIVERS, headers=[("x-api-key", "1234")]).status, 200)
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS, headers=[("x-api-key", "12345")])))

    def test_mistakes(self) -> None:
        """A mistake is named by its member, and no key is made."""
        for body, status, path in (
            ({}, 422, "name"),
            ({"name": ""}, 422, "name"),
            ({"name": "x", "key": "a\nb"}, 422, "key"),
            ({"name": "x", "more": 1}, 422, "more"),
        ):
            answer = self.request("POST", KEYS, body)
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (status, path))
        self.assertEqual(self.request("POST", KEYS, b"{").status, 400)
        self.assertEqual(self.request("GET", KEYS).json, {"api_keys": []})

    def test_store_fails(self) -> None:
        """A key that cannot be stored is 503, and does not work."""
        self.shop.store.broken = True
        self.assertEqual(self.request("POST", KEYS, {"name": "x", "key": "k" * 20}).status, 503)
        self.shop.store.broken = False
        self.assertEqual(self.request("GET", KEYS).json, {"api_keys": []})
