"""The one-time code: until there is a login, other computers need it to change anything and to take secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.access.presence import LENGTH, LETTERS, Presence
from dmtwisted.access.throttle import EACH
from dmtwisted.config import PRESENCE_FILE, ServerConfig
from dmtwisted.diagnostics import gather
from tests.rights import OWNER_ONLY
from tests.test_sessions import DRIVERS, FORM_TYPE, KEYS, PASSWORD, SETTINGS, AccessCase, token_of
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, Connection, Headers, HttpAnswer, fiscal

STRANGER = "192.168.1.20"

LOGIN = {"usr_uiauth": True, "usr_login": "admin", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}


class CodeTests(SynchronousTestCase):
    """The code and its file."""

    def setUp(self) -> None:
        """A state folder."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.file = self.folder / PRESENCE_FILE
        self.presence = Presence(self.folder)

    def test_file(self) -> None:
        """The file has the code while one is expected, for its owner alone, whatever was there before."""
        self.file.write_text("old", "utf-8")
        self.file.chmod(0o644)
        self.presence.expect(True)
        self.assertEqual(self.file.read_text("utf-8"), f"{self.presence.shown}\n")
        self.assertEqual(self.file.stat().st_mode & 0o777, OWNER_ONLY)
        self.assertRegex(self.presence.shown, rf"^[{LETTERS}]{{4}}-[{LETTERS}]{{4}}$")
        self.presence.expect(False)
        self.assertEqual((self.presence.shown, self.file.exists()), ("", False))
        self.assertFalse(self.presence.fits(""))

    def test_link(self) -> None:
        """A link in place of the file is replaced, not followed."""
        other = self.folder / "other"
        other.write_text("mine", "utf-8")
        self.file.symlink_to(other)
        self.presence.expect(True)
        self.assertEqual((other.read_text("utf-8"), self.file.is_symlink()), ("mine", False))

    def test_once(self) -> None:
        """It fits once, however it is spelled; then there is another one, which is told."""
        told: list[str] = []
        self.presence.expect(True)
        self.presence.renewed = lambda: told.append(self.presence.code)
        code = self.presence.code
        for wrong in ("", code[1:], code + "2", "ї" * LENGTH):
            self.assertFalse(self.presence.fits(wrong))
        self.assertTrue(self.presence.fits(f" {code[:4].lower()}-{code[4:]} "))
        self.assertEqual(told, [self.presence.code])
        self.assertFalse(self.presence.fits(code))

    def test_no_folder(self) -> None:
        """Without a folder, or with one that cannot be written, the code is in memory and on the console."""
        for folder in (None, self.folder / "none"):
            presence = Presence(folder)
            presence.expect(True)
            self.assertEqual(len(presence.code), LENGTH)


class StrangerCase(AccessCase):
    """Tests with another computer."""

    @property
    def code(self) -> str:
        """The code that is valid now."""
        return self.shop.core.access.presence.code

    def from_there(self, method: str, path: str, body: object = None, headers: Headers = ()) -> HttpAnswer:
        """The answer to another computer."""
        return self.asked(self.connect_from(STRANGER), method, path, body, headers)

    def asked(
        self, connection: Connection, method: str, path: str, body: object = None, headers: Headers = ()
    ) -> HttpAnswer:
        """The answer on a connection."""
        raw = b"" if body is None else json.dumps(body).encode()
        return self.ask(connection, method, path, raw, [JSON_TYPE, ("Accept-Language", "en"), *headers])


class ProofTests(StrangerCase):
    """What needs the code, and from whom."""

    def test_changes(self) -> None:
        """Another computer changes nothing and takes no secrets without the code: 401 says where it is."""
        device = f"{DEVICES}/{self.dev_id}"
        for method, path, body in (
            ("POST", SETTINGS, LOGIN),
            ("POST", SETTINGS, {"extAccess": True}),
            ("POST", SETTINGS, {"allowed_hosts": "evil.example"}),
            ("POST", "/dm/other/api/v1/settings", {"logdays": 9}),
            ("POST", KEYS, {"name": "evil"}),
            ("POST", f"{KEYS}/x/replace", {}),
            ("DELETE", f"{KEYS}/x", None),
            ("POST", DEVICES, {"device": "evil", "kind": "register", "driver": "training", "settings": {}}),
            ("PATCH", device, {"settings": {"rounding_step": 10}}),
            ("DELETE", device, None),
            ("POST", f"{device}/go-offline", {}),
            ("POST", f"{device}/interrupt", {}),
            ("POST", "/dm/api/v3/check", {}),
            ("POST", "/dm/main/api/v1/prro", {"device": "evil"}),
            ("POST", f"/dm/main/api/v1/prro/sign?dev_id={self.dev_id}", {"key": "", "password": ""}),
            ("POST", "/dm/api/v3/tls", {"file": ""}),
            ("POST", "/dm/api/v3/tls/authority", {}),
            ("DELETE", "/dm/api/v3/tls", None),
            ("POST", "/dm/api/v3/backups", {}),
            ("GET", "/dm/api/v3/backups/x.tar.gz", None),
            ("GET", "/dm/api/v3/diagnostics", None),
            ("HEAD", "/dm/api/v3/diagnostics", None),
            ("POST", "/dm/api/v3/doctor", {}),
            ("POST", "/dm/api/v3/doctor/fix", {"fix": "backup"}),
            ("POST", "/dm/api/v3/operations/1/settle", {"outcome": "approved"}),
            ("POST", "/dm/api/v3/anything/new", {}),
        ):
            answer = self.from_there(method, path, body)
            self.assertEqual(answer.status, 401, (method, path))
            if method != "HEAD":
                self.assertIn("x-presence-code", answer.json["errortxt"])
                self.assertNotIn(self.code.encode(), answer.body)
        self.assertEqual((self.shop.core.access.on, list(self.shop.core.access.keys)), (False, []))

    def test_open(self) -> None:
        """Tills sell as before from other computers; what the specification leaves open is read there."""
        self.assertEqual(self.from_there("POST", EXECUTE, fiscal(18)).json["res"], 0)
        for path in ("/dm/main/", SETTINGS, DRIVERS, "/dm/api/v3/receipts", "/health/ready", "/metrics"):
            self.assertEqual(self.from_there("GET", path).status, 200, path)
        self.assertEqual(self.from_there("POST", "/dm/api/v3/jobs/1/reprint", {}).status, 404)
        cloud = self.from_there("POST", "/api/v3/fiscal/execute", {"fiscal": {"task": 18}})
        self.assertEqual((cloud.status, cloud.json["res"]), (200, 1083))

    def test_here(self) -> None:
        """At the machine itself nothing is asked, at whatever address; unless a proxy hides who calls."""
        self.assertEqual(self.change(logdays=8), {"res": 0, "errortxt": ""})
        for address in ("::1", "127.0.0.2", "10.0.0.1"):
            answer = self.asked(self.connect_from(address), "POST", SETTINGS, {"logdays": 9})
            self.assertEqual(answer.status, 200, address)
        for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
            self.assertEqual(self.request("POST", SETTINGS, {"logdays": 9}, [(header, "x")]).status, 401, header)

    def test_header(self) -> None:
        """The code in the header does one request, and not a second one."""
        shown = ("X-Presence-Code", self.shop.core.access.presence.shown)
        self.assertEqual(self.from_there("POST", KEYS, {"name": "till"}, [shown]).status, 201)
        again = self.from_there("POST", KEYS, {"name": "evil"}, [shown])
        self.assertEqual((again.status, again.json["errortxt"]), (401, "Malformed request: Wrong code"))

    def test_key(self) -> None:
        """A program with an API key needs no code."""
        key = self.key()
        self.assertEqual(self.from_there("POST", SETTINGS, {"logdays": 9}, [key]).json["res"], 0)

    def test_guessing(self) -> None:
        """After some wrong codes the right one waits too, for that computer alone; the time is told."""
        wrong = ("X-Presence-Code", "AAAA-AAAA")
        for _ in range(EACH.tries):
            self.assertEqual(self.from_there("POST", KEYS, {"name": "x"}, [wrong]).status, 401)
        right = ("X-Presence-Code", self.code)
        answer = self.from_there("POST", KEYS, {"name": "x"}, [right])
        self.assertEqual((answer.status, answer.header("retry-after")), (429, "30"))
        self.assertEqual(self.from_there("POST", "/login", {"code": self.code}).status, 429)
        other = self.asked(self.connect_from("192.168.1.30"), "POST", KEYS, {"name": "x"}, [right])
        self.assertEqual(other.status, 201)

    def test_never_told(self) -> None:
        """The code is in no log line, in no answer, and not in the bundle for support."""
        logged, code = self.logged(), self.code
        self.from_there("POST", KEYS, {"name": "x"}, [("X-Presence-Code", code)])
        self.from_there("POST", KEYS, {"name": "x"}, [("X-Presence-Code", "AAAAAAAA")])
        for known in (code, self.code, self.shop.core.access.presence.shown):
            self.assertNotIn(known, logged.getvalue())
            for path in (SETTINGS, "/dm/main/settings", "/dm/api/v3/log", "/dm/api/v3/doctor"):
                self.assertNotIn(known.encode(), self.request("GET", path).body)
            for file in self.successResultOf(Deferred.fromCoroutine(gather(self.shop.core))).values():
                self.assertNotIn(known.encode(), file)
        self.assertIn("the one-time code was used from 192.168.1.20", logged.getvalue())


class SessionTests(StrangerCase):
    """The code in place of a login."""

    def session(self) -> tuple[str, str]:
        """The header of a session that the code has begun."""
        return ("Cookie", f"DMUIToken={token_of(self.from_there('POST', '/login', {'code': self.code}))}")

    def test_session(self) -> None:
        """It opens a session, which may do everything until there is a login, and not after a pause."""
        session = self.session()
        self.assertEqual(self.from_there("POST", KEYS, {"name": "a"}, [session]).status, 201)
        self.assertEqual(self.from_there("POST", SETTINGS, LOGIN, [session]).json["res"], 0)
        self.assertTrue(self.is_blocked(self.from_there("GET", DRIVERS, headers=[session])))
        self.assertEqual(self.code, "")
        self.assertEqual(self.from_there("POST", "/login", {"code": "AAAA-AAAA"}).status, 401)
        cookie = self.cookie()
        self.request("POST", SETTINGS, {"usr_uiauth": False}, [cookie])
        self.assertEqual(self.from_there("POST", SETTINGS, {"logdays": 9}, [session]).status, 401)
        session = self.session()
        self.shop.clock.advance(900)
        self.assertEqual(self.from_there("POST", SETTINGS, {"logdays": 9}, [session]).status, 401)

    def test_page(self) -> None:
        """A page asks for it where it is needed, and nowhere else."""
        field = b'id="presence-code"'
        for path in ("/dm/main/", "/dm/main/settings", "/dm/"):
            self.assertIn(field, self.from_there("GET", path).body)
            self.assertNotIn(field, self.request("GET", path).body)
            self.assertNotIn(field, self.from_there("GET", path, headers=[self.session()]).body)
        self.switch_on()
        self.assertNotIn(field, self.from_there("GET", "/dm/main/", headers=[self.cookie()]).body)

    def test_form(self) -> None:
        """The login page asks for the code while there is no login."""
        answer = self.from_there("GET", "/login?next=/dm/main/settings")
        cookie = (answer.header("set-cookie") or "").split(";")[0]
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', answer.body.decode())
        assert found is not None
        self.assertIn(b'name="code"', answer.body)
        self.assertNotIn(b'name="pass"', answer.body)
        headers = [FORM_TYPE, ("Cookie", cookie)]
        for code, status in (("wrong", 401), (self.code, 303)):
            fields = {"code": code, "csrf": found[1], "next": "/dm/main/settings"}
            body = urlencode(fields).encode()
            answer = self.ask(self.connect_from(STRANGER), "POST", "/login", body, headers)
            self.assertEqual(answer.status, status)
        self.assertEqual(answer.header("location"), "/dm/main/settings")
        self.assertEqual(len(token_of(answer)), 43)

    def test_foreign_page(self) -> None:
        """A page of another origin cannot use the code, nor use up tries."""
        for _ in range(EACH.tries + 1):
            evil = ("Origin", "http://evil.example")
            self.assertEqual(self.from_there("POST", "/login", {"code": self.code}, [evil]).status, 403)
        self.assertEqual(self.from_there("POST", "/login", {"code": self.code}).status, 200)


class HardenedTests(StrangerCase):
    """The hardened profile without a login."""

    def setUp(self) -> None:
        """A hardened service without a login and without keys."""
        super().setUp()
        self.configure(ServerConfig(hardened=True, allowed_addresses=STRANGER))

    def test_closed(self) -> None:
        """Without a key or the code everything but liveness is closed, at the machine too; pages lead to the code."""
        for path in ("/health/live", "/health/ready"):
            self.assertEqual(self.request("GET", path).status, 200)
        for connect in (self.connect, lambda: self.connect_from(STRANGER)):
            for path in ("/dm/main/", "/dm/", "/dm/api", "/dm/static/page.js", "/dm/main/receipts", "/nothing"):
                self.assertTrue(self.is_blocked(self.asked(connect(), "GET", path)), path)
            for path in ("/metrics", DRIVERS, SETTINGS, "/dm/api/v3/receipts", "/dm/api/v3/log", "/dm/api/v3/events"):
                self.assertEqual(self.asked(connect(), "GET", path).status, 401, path)
            self.assertIn(b'name="code"', self.asked(connect(), "GET", "/login").body)

    def test_first_login(self) -> None:
        """The first login is set at the machine itself, or with the code from a listed address."""
        self.assertEqual(self.from_there("POST", SETTINGS, LOGIN).status, 401)
        code = ("X-Presence-Code", self.code)
        self.assertEqual(self.from_there("POST", SETTINGS, LOGIN, [code]).json["res"], 0)
        self.assertTrue(self.shop.core.access.on)
        self.configure(ServerConfig(hardened=True))

    def test_first_login_here(self) -> None:
        """At the machine it takes no code, while there is no key."""
        self.assertEqual(self.request("POST", SETTINGS, LOGIN).json["res"], 0)
        self.assertTrue(self.shop.core.access.on)

    def test_page(self) -> None:
        """The code opens the pages."""
        token = token_of(self.request("POST", "/login", {"code": self.code}))
        self.assertEqual(self.request("GET", "/dm/main/", headers=[("Cookie", f"DMUIToken={token}")]).status, 200)
