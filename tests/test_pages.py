"""The web interface as the server makes it: every page in both languages, what it shows, and what it never does."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import span
from dmtwisted.config import Config, ServerConfig, ServiceConfig
from dmtwisted.core import Core
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.results import Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.logs import Recent
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.prro_shop import PrroShop, keys
from tests.shop import MORNING, Shop
from tests.shop import sale as shop_sale
from tests.specification import promises
from tests.web_case import DEVICES, HttpAnswer, WebCase, fiscal, sale
from web.pages import words
from web.pages.fields import OWN_PLACE, VISIBLE, Field, Form, form_of
from web.pages.overview import Standing, Verdict, verdict
from web.pages.rendering import day, hour, iso, kopecks, moment, money
from web.pages.service import bytes_in_words
from web.pages.setting_words import SETTINGS, choice_of, help_of, title_of
from web.site import Door

WEB = Path(__file__).parent.parent / "web"
SCRIPTS_LIMIT = 144 * 1024
"""Bytes that all scripts together may have."""

VOID = {"meta", "link", "input", "img", "br"}
"""Elements that have no end."""

UK, EN = ("Accept-Language", "uk"), ("Accept-Language", "en")


def folded(form: Form) -> list[Field]:
    """The fields of ``form`` that are not shown at first."""
    return [field for part in form.parts for field in part.fields]


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, its text, and what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data: dict[str, Any] = {}
        self._open: list[str] = []
        self._script = ""
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"

    @property
    def text(self) -> str:
        """What a person reads, white space in one piece."""
        return " ".join(" ".join(self.words).split())

    def all(self, name: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of every element ``name`` that has ``attributes``."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [
            found
            for element, found in self.elements
            if element == name and all(found.get(key) == value for key, value in wanted.items())
        ]

    def links(self) -> set[str]:
        """Where the links of the page lead."""
        return {str(link["href"]) for link in self.all("a")}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute stands twice: {tag} {attrs}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "script":
            self._script = dict(attrs).get("id") or "-"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """An element ends: the one that was opened last."""
        assert self._open and self._open[-1] == tag, f"</{tag}> while {self._open} are open"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._open and self._open[-1] == "script":
            if data.strip():
                self.data[self._script] = json.loads(data)
        elif self._open and self._open[-1] != "style":
            self.words.append(data)


class PageCase(WebCase):
    """A whole training shop, and its pages."""

    def setUp(self) -> None:
        """A service with register, printer and terminal."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)

    def ids(self) -> dict[str, str]:
        """The id of each device by its name."""
        return {device.name: device.row.dev_id for device in self.shop.core.devices}

    def get(self, path: str, language: tuple[str, str] = EN, status: int = 200, cookie: str = "") -> HttpAnswer:
        """The answer to a look at ``path``."""
        headers = [language, *([("Cookie", cookie)] if cookie else [])]
        answer = self.request("GET", path, headers=headers)
        self.assertEqual(answer.status, status, path)
        return answer

    def page(self, path: str, language: tuple[str, str] = EN, status: int = 200) -> Page:
        """The page at ``path``."""
        return Page(self.get(path, language, status).body.decode())

    def later(self, method: str, path: str, body: object) -> HttpAnswer:
        """The answer to a request that takes its time."""
        connection = self.connect()
        connection.ask(method, path, json.dumps(body).encode())
        for _ in range(60):
            self.shop.clock.advance(1)
        [answer] = connection.answers()
        return answer

    def asked_late(self, answer: Deferred[bytes]) -> dict[str, Any]:
        """The answer to a task whose remote side is slow."""
        for _ in range(60):
            self.shop.clock.advance(1)
        told: dict[str, Any] = json.loads(self.successResultOf(answer))
        return told

    def paths(self) -> list[str]:
        """Every page of a shop with a receipt."""
        ids = self.ids()
        drivers = [f"/dm/devices/new?kind={kind}&driver={name}" for kind, name in find_drivers()]
        return [
            "/dm/main/",
            "/dm/main/first",
            "/dm/main/practise",
            f"/dm/main/registers/{ids['test']}",
            "/dm/main/sell",
            f"/dm/main/registers/{ids['test']}/sell",
            "/dm/main/goods",
            "/dm/main/receipts",
            f"/dm/main/receipts/{ids['test']}/2",
            f"/dm/main/receipts/{ids['test']}/2/return",
            "/dm/main/day",
            "/dm/main/day?period=month",
            "/dm/main/feed",
            "/dm/main/console",
            "/dm/main/codes",
            "/dm/main/settings",
            "/dm/api",
            "/dm/main/settings/certificate",
            "/dm/main/settings/database",
            "/dm/main/settings/doctor",
            "/dm/main/settings/mail",
            "/dm/main/settings/log",
            "/dm/main/settings/changes",
            "/dm/",
            "/dm/devices/new",
            "/dm/devices/new/register",
            "/dm/devices/new?kind=other",
            "/dm/devices/new?kind=printer",
            *drivers,
            *(f"/dm/devices/{dev_id}" for dev_id in ids.values()),
        ]


class EveryPageTests(PageCase):
    """What holds for each page."""

    def setUp(self) -> None:
        """A shop that has sold."""
        super().setUp()
        self.open_shift()
        self.sell("sale-1")

    def test_both_languages(self) -> None:
        """Every page is there in Ukrainian and in English, says which, and offers the other one."""
        for path in self.paths():
            for language, other in ((UK, "en"), (EN, "uk")):
                answer = self.get(path, language)
                self.assertEqual(answer.header("content-type"), "text/html; charset=utf-8", path)
                self.assertEqual(answer.header("content-language"), language[1], path)
                page = Page(answer.body.decode())
                self.assertEqual(page.all("html")[0]["lang"], language[1], path)
                self.assertEqual(len(page.all("a", lang=other, href=f"?lang={other}")), 1, path)
                self.assertIn("Огляд" if language is UK else "Overview", page.text)
                self.assertEqual(len(page.all("h1")), 1, path)

    def test_no_ukrainian_in_english(self) -> None:
        """The words of an English page are English: Ukrainian is only what the shop itself wrote."""
        paths = [path for path in self.paths() if path.startswith("/dm/main/settings")]
        for path in ("/dm/main/first", "/dm/main/practise", *paths, "/dm/", "/dm/devices/new", "/dm/main/codes"):
            text = self.page(path, EN).text.replace("Українською", "")
            self.assertEqual(re.findall(r"[А-ЯІЇЄҐа-яіїєґ]{3,}", text), [], path)

    def test_nothing_from_elsewhere(self) -> None:
        """No page loads anything from elsewhere, nor holds script or style of its own; the headers forbid both."""
        for path in self.paths():
            answer = self.get(path)
            policy = answer.header("content-security-policy") or ""
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(answer.header("x-content-type-options"), "nosniff")
            self.assertEqual(answer.header("cache-control"), "no-store")
            page = Page(answer.body.decode())
            for name, attributes in page.elements:
                self.assertFalse([key for key in attributes if key.startswith("on") or key == "style"], path)
                self.assertNotEqual(name, "style", path)
                if name == "script" and "src" not in attributes:
                    self.assertEqual(attributes["type"], "application/json", path)
                for key in ("src", "href", "action"):
                    target = attributes.get(key) or "/"
                    self.assertRegex(target, r"^(/(?!/)|\?|#)", path)

    def test_accessible(self) -> None:
        """Fields have labels, pictures have texts, ids are unique, and every reference resolves."""
        for path in self.paths():
            page = self.page(path)
            ids = [str(found["id"]) for _, found in page.elements if "id" in found]
            self.assertEqual(len(ids), len(set(ids)), path)
            labelled = {label.get("for") for label in page.all("label")}
            for name, found in page.elements:
                if name in ("select", "textarea") or (name == "input" and found.get("type") != "checkbox"):
                    self.assertIn(found.get("id"), labelled, f"{path}: {found}")
                if name == "img":
                    self.assertTrue(found.get("alt"), path)
                for key in ("aria-labelledby", "aria-describedby", "for"):
                    for target in (found.get(key) or "").split():
                        self.assertIn(target, ids, f"{path}: {name} {key}")
            self.assertIn("#content", page.links())

    def test_links_lead_somewhere(self) -> None:
        """Every link and every file that a page names is there."""
        asked: set[str] = set()
        for path in self.paths():
            page = self.page(path)
            targets = page.links() | {
                str(found[key]) for _, found in page.elements for key in ("src",) if key in found
            }
            asked |= {target for target in targets if target.startswith("/")}
        self.assertGreater(len(asked), 20)
        for target in asked:
            self.assertEqual(self.request("GET", target.partition("#")[0]).status, 200, target)

    def test_reading_changes_nothing(self) -> None:
        """A page has no methods but reading ones: any other is refused."""
        for path in self.paths():
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                self.assertEqual(self.request(method, path, {}).status, 405, f"{method} {path}")

    def test_words_for_scripts(self) -> None:
        """What scripts say travels with the page, in its language."""
        self.assertEqual(self.page("/dm/", UK).data["words"]["repeat"], "Повторити")
        self.assertEqual(self.page("/dm/", EN).data["words"]["repeat"], "Repeat")

    def test_names_are_text(self) -> None:
        """Whatever a device or a receipt is called, a page shows it and never takes it for HTML or script."""
        bad = "</script><img src=x onerror=alert(1)>\"'&"
        made = self.request("POST", DEVICES, {"device": bad, "kind": "register", "driver": "training"}).json
        for task in (0, 1):
            members = {"receipt": {"sum": 1, "rows": [{"name": bad, "price": 1, "cnt": 1}], "pays": [{"sum": 1}]}}
            body = {**fiscal(task, f"{bad}{task}", **(members if task else {})), "device": bad}
            self.assertEqual(self.execute(body)["res"], 0)
        dev_id = made["dev_id"]
        for path in (
            "/dm/main/",
            "/dm/",
            "/dm/main/console",
            f"/dm/main/registers/{dev_id}",
            f"/dm/devices/{dev_id}",
            f"/dm/main/receipts/{dev_id}/2",
            "/dm/main/receipts?tag=%3Cimg%20src=x%3E%22",
            "/dm/main/codes?q=%3C/script%3E",
        ):
            text = self.get(path).body.decode()
            self.assertNotIn("<img src=x", text, path)
            Page(text)


class LanguageTests(PageCase):
    """Which language a page speaks."""

    def test_cookie(self) -> None:
        """What a person chose goes before what the browser wants; what the address says, before both."""
        for path, cookie, expected in (
            ("/dm/", "dm_lang=uk", "uk"),
            ("/dm/?lang=en", "dm_lang=uk", "en"),
            ("/dm/?lang=de", "dm_lang=uk", "uk"),
            ("/dm/", "dm_lang=de", "en"),
        ):
            self.assertEqual(self.get(path, EN, cookie=cookie).header("content-language"), expected, (path, cookie))

    def test_default(self) -> None:
        """A browser that wants neither is answered in the language of the service."""
        self.assertEqual(self.get("/dm/", ("Accept-Language", "de")).header("content-language"), "uk")


class AddressTests(PageCase):
    """Addresses that people type."""

    @promises("1.6.1", "1.6a.1", "1.6b.1")
    def test_both_interfaces(self) -> None:
        """Registers and the application are set up at `/dm/main/`, devices at `/dm/`, by name and by IP address."""
        ids = self.ids()
        for host in ("localhost:3939", "10.0.0.1:3939", "[::1]:3939"):
            answer = self.request("GET", "/dm/main/", headers=[("Host", host), EN])
            links = Page(answer.body.decode()).links()
            self.assertLessEqual({f"/dm/main/registers/{ids['test']}", "/dm/main/settings"}, links, host)
            answer = self.request("GET", "/dm/", headers=[("Host", host), EN])
            links = Page(answer.body.decode()).links()
            self.assertLessEqual({f"/dm/devices/{ids[name]}" for name in ("test", "prn", "pos")}, links, host)

    def test_moved(self) -> None:
        """Short and earlier addresses lead to the page, by an absolute address."""
        for path, target in (
            ("/", "/dm/main/"),
            ("/dm", "/dm/"),
            ("/dm/main", "/dm/main/"),
            ("/dm/main/dashboard.html", "/dm/main/"),
            ("/dm/main/settings.html", "/dm/main/settings"),
            ("/dm/devices/", "/dm/"),
        ):
            self.assertEqual(self.get(path, status=302).header("location"), f"http://localhost:3939{target}")
        for host in ("[::1]:3939", "10.0.0.1"):
            connection = self.connect()
            connection.asked("GET", "/")
            connection.send(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            [answer] = connection.answers()
            self.assertEqual(answer.header("location"), f"http://{host}/dm/main/")

    def test_nothing_there(self) -> None:
        """A page that is not there says so in words, with a way back; so does a device that is gone."""
        nobody = "5f2c8d3e-0000-4000-8000-000000000000"
        ids = self.ids()
        for path in (
            "/dm/main/nope",
            f"/dm/devices/{nobody}",
            f"/dm/main/registers/{nobody}",
            f"/dm/main/registers/{ids['prn']}",
            f"/dm/main/receipts/{ids['test']}/77",
            f"/dm/main/receipts/{ids['test']}/99999999999999999999",
            f"/dm/main/receipts/{ids['test']}/77/picture",
        ):
            page = self.page(path, status=404)
            self.assertIn("There is no such page", page.text)
            self.assertIn("/dm/main/", page.links())

    def test_alias(self) -> None:
        """Under another word than `main` the same pages are found."""
        config = Config(service=ServiceConfig(training=True), server=ServerConfig(path_alias="desk"))
        paths = self.paths()
        self.shop.core.devices.close()
        core = Core(config, self.shop.store, self.shop.clock, self.shop.state)
        self.successResultOf(Deferred.fromCoroutine(core.open()))
        self.addCleanup(core.devices.close)
        self.door = Door(core)
        self.assertIn("Result codes", self.page("/dm/desk/codes").text)
        for path in paths:
            if path.startswith("/dm/main/") and "/receipts/" not in path:
                self.assertEqual(self.page(path.replace("/main/", "/desk/", 1)).text, self.page(path).text, path)

    def test_store_fails(self) -> None:
        """While the store does not answer a page says so in words, and that registers go on."""

        async def fail(*_: object) -> object:
            raise StoreFailed("disk is full")

        self.patch(self.shop.store, "find_documents", fail)
        self.assertIn("The registers go on working", self.page("/dm/main/", status=503).text)
        self.assertEqual(len(self.flushLoggedErrors(StoreFailed)), 1)


class PractiseTests(PageCase):
    """Where the exercises with failures are offered."""

    def given(self) -> dict[str, Any]:
        """The names of the devices of the exercises, by kind."""
        devices = self.page("/dm/main/practise").data["data"]["devices"]
        return {kind: one["device"] for kind, one in devices.items()}

    def test_training_devices_alone(self) -> None:
        """A register is used only while its terminal and its printer are training devices too."""
        whole = {"register": "test", "terminal": "pos", "printer": "prn"}
        self.assertEqual(self.given(), whole)
        real = {"host": "10.0.0.9"}
        for kind, driver, batch in (
            ("terminal", "zvt", {"terminal": "real", "printer": "prn"}),
            ("printer", "escpos", {"terminal": "pos", "printer": "real"}),
        ):
            self.request("POST", DEVICES, {"device": "real", "kind": kind, "driver": driver, "settings": real})
            changed = self.request("PATCH", f"{DEVICES}/{self.ids()['test']}", {"settings": {"batch": batch}})
            self.assertEqual(changed.status, 200, changed.body)
            self.assertEqual(self.given(), {})
            page = self.page("/dm/main/practise")
            self.assertEqual((len(page.all("button", id="add")), page.all("li", data_exercise="away")), (1, []))
            self.assertEqual(self.request("DELETE", f"{DEVICES}/{self.ids()['real']}").status, 204)
        # A name without a device: what is missing is offered, the register stays.
        self.assertEqual(self.given(), {"register": "test", "terminal": "pos"})

    def test_only_in_training(self) -> None:
        """Without training mode there is no such page, and no page leads there."""
        for path in ("/dm/main/", "/dm/main/first"):
            self.assertIn("/dm/main/practise", self.page(path).links())
        self.door = Door(Shop(self, whole=True, training=False).core)
        self.page("/dm/main/practise", status=404)
        for path in ("/dm/main/", "/dm/main/first"):
            self.assertNotIn("/dm/main/practise", self.page(path).links())


class LoginTests(PageCase):
    """Pages behind the login."""

    @promises("1.8.1.1")
    def test_login_on(self) -> None:
        """With the login on, pages lead to it, offer to log out, and scripts know of it."""
        self.assertEqual(self.page("/dm/").all("body")[0]["data-login"], "off")
        members = {
            "usr_uiauth": True,
            "usr_login": "owner",
            "usr_pass": "a long one 17",
            "usr_confpass": "a long one 17",
        }
        told = self.request("POST", "/dm/main/api/v1/settings", members)
        self.assertEqual(told.json["res"], 0)
        for path in self.paths()[:4]:
            self.assertIn("/login", self.get(path, status=302).header("location") or "")
        answer = self.request("POST", "/login", {"login": "owner", "pass": "a long one 17"})
        [cookie] = [value for name, value in answer.headers if name == "set-cookie"]
        page = Page(self.get("/dm/", cookie=cookie.split(";")[0]).body.decode())
        self.assertEqual(page.all("body")[0]["data-login"], "on")
        self.assertIn("Log out", page.text)


class SettingsPageTests(PageCase):
    """Settings of the service."""

    @promises("1.11.1.1", "1.11.1.2")
    def test_keeping(self) -> None:
        """The page shows how long receipts and terminal operations are kept, and its form changes that."""
        page = self.page("/dm/main/settings")
        shown = {str(found["name"]): found["value"] for found in page.all("input", type="number")}
        self.assertEqual(
            shown, {"packdays": "40", "paydays": "90", "event_days": "30", "logdays": "7", "pf_charcount": "48"}
        )
        changes = {"packdays": 50, "paydays": 100}
        self.assertEqual(self.request("POST", "/dm/main/api/v1/settings", changes).json["res"], 0)
        page = self.page("/dm/main/settings")
        shown = {str(found["name"]): found["value"] for found in page.all("input", type="number")}
        self.assertEqual(
            shown, {"packdays": "50", "paydays": "100", "event_days": "30", "logdays": "7", "pf_charcount": "48"}
        )

    def test_keys(self) -> None:
        """Keys for programs are listed by their names, never by themselves."""
        key = self.request("POST", "/dm/api/v3/api-keys", {"name": "books"}).json["key"]
        answer = self.get("/dm/main/settings")
        self.assertIn("books", Page(answer.body.decode()).text)
        self.assertNotIn(key, answer.body.decode())

    def test_certificate(self) -> None:
        """The page says that there is none; then whose certificate is installed, until when, and what to do."""
        path = "/dm/main/settings/certificate"
        page = self.page(path)
        self.assertIn("without encryption", page.text)
        self.assertEqual((page.all("button", id="remove"), "authority.pem" in page.text), ([], False))
        self.assertEqual(self.request("POST", "/dm/api/v3/tls/authority", {"names": ["desk.shop.local"]}).status, 200)
        page = self.page(path)
        for told in ("desk.shop.local", "Restart the service", "800", "update-ca-certificates", "keytool"):
            self.assertIn(told, page.text)
        self.assertIn("/dm/api/v3/tls/authority.pem", page.links())
        self.assertEqual(len(page.all("button", id="remove")), 1)

    def test_ending_certificate(self) -> None:
        """A certificate that expires soon is marked by colour and text, and an expired one too."""
        key = make_key()
        folder = self.shop.state / "tls"
        folder.mkdir()
        for ends, told in ((5, "it ends in 5 days"), (-1, "-1")):
            certificate = make_certificate(MORNING, key, begins=-9, ends=ends)
            (folder / "desk.pem").write_bytes(pem(certificate) + key_pem(key))
            page = self.page("/dm/main/settings/certificate")
            self.assertIn(told, page.text)
            self.assertEqual(len(page.all("span", class_=f"badge {'warn' if ends > 0 else 'bad'}")), 1)
        (folder / "desk.pem").write_bytes(b"nothing")
        self.assertIn("cannot start with this certificate", self.page("/dm/main/settings/certificate").text)

    def test_database(self) -> None:
        """Which database it is, how much it contains, and what the last check found."""
        self.open_shift()
        page = self.page("/dm/main/settings/database")
        for told in ("SQLite", "Fiscal documents 1", "Oldest document 21 Sep 2026 09:00:00"):
            self.assertIn(told, page.text)
        shown = {str(found["name"]): found["value"] for found in page.all("input", type="number")}
        self.assertEqual(shown, {"packdays": "40", "paydays": "90"})

    def test_log(self) -> None:
        """The last lines are shown as what they are: text."""
        self.shop.core.log_lines = Recent(["one <script>alert(1)</script>\n", "two\n"])
        answer = self.get("/dm/main/settings/log")
        self.assertIn("one <script>alert(1)</script> two", Page(answer.body.decode()).text)
        self.assertNotIn(b"<script>alert", answer.body)
        self.assertLessEqual(
            {"/dm/api/v3/diagnostics", "/dm/api/v3/log?format=text"}, self.page("/dm/main/settings/log").links()
        )

    def test_sizes(self) -> None:
        """Sizes are written as people read them."""
        sizes: dict[int | None, str] = {
            None: "—",
            0: "0 B",
            1023: "1023 B",
            1536: "1.5 kB",
            5 << 20: "5.0 MB",
            3 << 40: "3072.0 GB",
        }
        self.assertEqual({size: bytes_in_words(size) for size in sizes}, sizes)


WITHOUT_LOGIN = "open to the network without a password"


class ExposedTests(PageCase):
    """The list of every page says when anybody on the network gets in."""

    def warned(self, **server: Any) -> bool:
        """Whether every page warns, with this configuration."""
        self.shop._config = replace(self.shop._config, server=ServerConfig(**server))
        self.shop.crash()
        self.door = Door(self.shop.core)
        found = {WITHOUT_LOGIN in self.page(path).text for path in ("/dm/main/", "/dm/", "/dm/main/codes")}
        self.assertEqual(len(found), 1)
        return found.pop()

    def test_addresses(self) -> None:
        """It is shown when the service listens on the network without protection of the settings."""
        for host in ("", "0.0.0.0", "::", "192.168.1.5", "desk.shop.local"):
            self.assertTrue(self.warned(host=host), host)
        for host in ("127.0.0.1", "127.0.0.5", "::1", "localhost"):
            self.assertFalse(self.warned(host=host), host)

    def test_hardened(self) -> None:
        """A hardened service shows no page at all without a session."""
        self.shop._config = replace(self.shop._config, server=ServerConfig(hardened=True))
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertTrue(
            (self.get("/dm/main/", status=302).header("location") or "").endswith("/login?next=/dm/main/")
        )
        answer = self.request("POST", "/login", {"code": self.shop.core.access.presence.code})
        cookie = (answer.header("set-cookie") or "").split(";")[0]
        page = Page(self.get("/dm/main/", cookie=cookie).body.decode())
        self.assertNotIn(WITHOUT_LOGIN, page.text)

    def test_login(self) -> None:
        """It leads to the login, and is gone once that is switched on."""
        page = self.page("/dm/main/")
        self.assertIn("/dm/main/settings#login-title", page.links())
        members = {"usr_uiauth": True, "usr_login": "a", "usr_pass": "kavun-7-lito", "usr_confpass": "kavun-7-lito"}
        self.assertEqual(self.request("POST", "/dm/main/api/v1/settings", members).json["res"], 0)
        answer = self.request("POST", "/login", {"login": "a", "pass": "kavun-7-lito"})
        cookie = (answer.header("set-cookie") or "").split(";")[0]
        page = Page(self.get("/dm/main/", cookie=cookie).body.decode())
        self.assertNotIn(WITHOUT_LOGIN, page.text)


class SigningKeyTests(PageCase):
    """The page of a register that signs."""

    def setUp(self) -> None:
        """A shop with registers at the tax service."""
        self.prro = self.shop = PrroShop(self)
        self.door = Door(self.shop.core)

    def test_key(self) -> None:
        """Without a key the page asks for one; then it says whose it is and for how many days it is good."""
        path = f"/dm/devices/{self.ids()['one']}"
        page = self.page(path)
        self.assertIn("There is no key yet", page.text)
        self.assertEqual(len(page.all("form", id="key-form")), 1)
        self.prro.load_key("one", keys().ending)
        page = self.page(path)
        self.assertIn("Касир", page.text)
        self.assertEqual(len(page.all("span", class_="badge bad")), 1)
        self.assertEqual(self.page(f"/dm/devices/{self.ids()['test']}").all("form", id="key-form"), [])

    def test_proposal(self) -> None:
        """A register with payment codes of its own is proposed the tax service's: one button, then it has them."""
        dev_id = self.ids()["one"]

        def offered() -> list[Any]:
            buttons = self.page(f"/dm/devices/{dev_id}").all("button")
            return [json.loads(button["data-settings"] or "") for button in buttons if "data-settings" in button]

        self.assertEqual(offered(), [])
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"pay_codes": "types"}})
        self.assertEqual(offered(), [{"pay_codes": "tax"}])
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": offered()[0]})
        self.assertEqual(offered(), [])
        changes = self.request("GET", "/dm/api/v3/changes").json["changes"]
        self.assertIn("pay_codes", json.dumps(changes[0]))
        # So is one that does not round cash, unless it will from today on.
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"rounding_step": 0}})
        self.assertEqual(offered(), [{"rounding_step": 50}])
        row = {"valid_from": "2026-09-21", "setting": "rounding_step", "value": 10}
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"dated": [row]}})
        self.assertEqual(offered(), [])

    def test_new_register(self) -> None:
        """The form of a new register shows the codes of payments that it will have."""
        page = self.page("/dm/devices/new?kind=register&driver=prro")
        (option,) = page.all("option", value='"tax"')
        self.assertIn("selected", option)

    def test_way(self) -> None:
        """A signed receipt says so; one that was made offline says when it was handed in."""
        self.prro.load_key("one", keys().cashier)
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)
        path = f"/dm/main/receipts/{self.ids()['one']}"
        text = self.page(f"{path}/1").text
        at = "21 Sep 2026 09:00:00.000"
        way = f"Signed with the register's key {at} Stored before it was sent Sent to the tax service {at}"
        self.assertIn(f"The request was received {at} {way} Confirmed and stored 3000000001 {at}", text)
        self.prro.done(self.prro.built().go_offline("uk"))
        number = self.shop.fiscal(1, device="one", receipt=shop_sale())["info"]["docno"]
        text = self.page(f"{path}/{number}").text
        self.assertRegex(text, f"Signed with the register's key {at} Issued offline and stored .* {at} Will be sent")
        self.shop.clock.advance(60)
        self.prro.done(self.prro.built().go_online("uk"))
        text = self.page(f"{path}/{number}").text
        self.assertIn("before the offline session ended 21 Sep 2026 09:01:00.000", text)
        self.assertNotIn("Will be sent to the tax", text)

    def test_levels(self) -> None:
        """The choice of a driver shows its level; an untested one says so."""
        drivers = self.shop.core.devices.drivers
        drivers["terminal", "tiny"] = replace(drivers["terminal", "zvt"], name="tiny", origin="tiny-terminal 1.0")
        text = self.page("/dm/devices/new?kind=terminal").text
        self.assertEqual(text.count("Level 1: does nothing twice"), 2)
        self.assertIn("Level 3: recovers a lost answer itself; all main tasks", text)
        self.assertIn("tiny · tiny-terminal 1.0", text)
        self.assertEqual(text.count("Not tested: the level is unknown"), 1)

    def test_lines(self) -> None:
        """Texts of several lines, certificates and templates, have a field that keeps their lines."""
        drivers = find_drivers()
        for kind, driver, names in (
            ("register", "prro", {"template", "server_ca"}),
            ("terminal", "nexo", {"ca"}),
        ):
            form = form_of(drivers[kind, driver].schema(), drivers[kind, driver].secrets)
            long = {field.name for field in (*form.seen, *folded(form)) if field.control == "long"}
            self.assertLessEqual(names, long)
        template = "%center Дякуємо!\n\n%receipt\n"
        dev_id = self.ids()["test"]
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"template": template}})
        body = self.get(f"/dm/devices/{dev_id}").body.decode()
        # HTML takes one line break after the opening of the field away.
        self.assertIn(f">\n{template}</textarea>", body)

    def test_parts(self) -> None:
        """The settings of a register are folded by what they are about; none is in two parts."""
        form = form_of(find_drivers()["register", "prro"].schema())
        names = {part.name: {field.name for field in part.fields} for part in form.parts}
        self.assertLessEqual({"tax_groups", "pay_types"}, names["money"])
        self.assertLessEqual({"template", "header", "pf_image"}, names["paper"])
        self.assertEqual(names["batch"], {"batch"})
        self.assertIn("offline_allowed", names["offline"])
        self.assertEqual(len(folded(form)), len({field.name for field in folded(form)}))
        printer = form_of(find_drivers()["printer", "escpos"].schema())
        self.assertEqual([part.name for part in printer.parts], ["rest"])


class OverviewTests(PageCase):
    """Everything at a glance."""

    def test_offline(self) -> None:
        """A register that is offline says since when, for how long it may, and how many numbers it has left.

        Of the time left of the session and of the month the smaller one is marked.
        """
        self.open_shift()
        self.shop.scenario({"on": "probe", "then": "unreachable", "times": 0})
        board = f"/dm/main/registers/{self.ids()['test']}"
        self.assertNotIn("Offline time left", self.page(board).text)
        self.request("POST", f"{DEVICES}/{self.ids()['test']}/go-offline")
        self.shop.clock.advance(3600 + 90)
        for path in ("/dm/main/", board, f"/dm/devices/{self.ids()['test']}"):
            text = self.page(path).text
            self.assertIn("Offline since 21 Sep 2026 09:00:00 Offline time left 33 h 58 min ends first", text, path)
            self.assertIn(
                "Offline time left this month 166 h 58 min Offline this month 1 h 1 min / 168 h "
                "Offline numbers left 9999",
                text,
            )
        self.shop.clock.advance(34 * 3600)
        self.assertIn("time is up: close the shift", self.page(board).text)

    def test_verdict(self) -> None:
        """The first line says whether the shop can sell, and on which registers it cannot."""
        self.assertIn("You can sell: open the shift", self.page("/dm/main/").text)
        self.open_shift()
        self.assertNotIn("open the shift", self.page("/dm/main/").text)
        self.assertIn("You can sell", self.page("/dm/main/").text)
        self.request("POST", f"{DEVICES}/{self.ids()['test']}/go-offline")
        self.assertIn("You can sell, but without the tax service: test", self.page("/dm/main/").text)
        shown = Standing("1", "a", "register", "prro", "", {}, "", health="good")
        broken = replace(shown, name="b", trouble="x")
        self.assertIsNone(verdict([]))
        self.assertEqual(verdict([shown, broken]), Verdict("sells_partly", "warn", ["b"]))
        self.assertEqual(verdict([broken]), Verdict("sells_not", "bad"))
        self.assertEqual(verdict([replace(shown, health="unknown")]), Verdict("sells_unknown", "warn"))

    def test_fresh(self) -> None:
        """A service without a receipt invites to the first one; with one it does so no more."""
        self.assertIn("/dm/main/first", self.page("/dm/main/").links())
        self.open_shift()
        self.assertNotIn("/dm/main/first", self.page("/dm/main/").links())

    def test_register(self) -> None:
        """A register shows its shift, its cash, its mode and its last documents with links to them."""
        self.assertIn("Shift closed", self.page("/dm/main/").text)
        self.open_shift()
        self.sell("sale-1")
        page = self.page("/dm/main/")
        for words_there in ("Shift open since 21 Sep 2026 09:00:00", "125.50 UAH", "online", "ready", "for training"):
            self.assertIn(words_there, page.text)
        self.assertIn(f"/dm/main/receipts/{self.ids()['test']}/2", page.links())
        self.request("POST", f"{DEVICES}/{self.ids()['test']}/go-offline")
        self.assertIn("offline", self.page("/dm/main/").text)

    def test_chart(self) -> None:
        """Today's sales stand in a chart that is drawn without scripts and says its numbers as text too."""
        self.assertIn("No sales yet today", self.page("/dm/main/").text)
        self.open_shift()
        self.sell()
        self.sell()
        page = self.page("/dm/main/")
        self.assertIn("Sales: 251.00 UAH", page.text)
        self.assertEqual(len(page.all("rect", class_="bar")), 1)
        self.assertIn("9 — 251.00", page.text)

    def test_unfinished_receipt(self) -> None:
        """A receipt with an unknown outcome is listed with advice, until its outcome is known."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0})
        self.asked_late(self.shop.asked(fiscal(1, "sale-1", receipt={"sum": 10, "rows": [], "pays": []})))
        self.asked_late(self.shop.asked(sale("sale-2")))
        page = self.page("/dm/main/")
        self.assertIn("Needs attention (1)", page.text)
        self.assertIn("outcome unknown", page.text)
        self.assertEqual(len(page.all("button", data_ask="test")), 1)
        path = f"/dm/main/receipts/{self.ids()['test']}/2"
        self.assertIn(path, page.links())
        text = self.page(path).text
        self.assertRegex(
            text, "The tax service's answer did not come [0-9:. A-Za-z]+ The outcome is unknown. Before its next"
        )
        self.assertNotIn("Confirmed", text)
        self.shop.scenario()
        self.fiscal(18)
        self.assertNotIn("Needs attention", self.page("/dm/main/").text)
        text = self.page(path).text
        self.assertIn("which has the document", text)
        self.assertNotIn("Nobody knows", text)

    def test_unfinished_payment(self) -> None:
        """A payment in doubt asks the person what the slip shows; once that was said, it is gone."""
        self.shop.scenario({"on": "payment", "then": "lost_after"}, device="pos")
        asked = self.shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        terminal = self.shop.core.devices.by_name("pos").simulator
        while not terminal.entries():
            self.shop.clock.advance(0.05)
        self.shop.scenario({"on": "probe", "then": "silent", "times": 0}, device="pos")
        while not asked.called:
            self.shop.clock.advance(1)
        self.assertEqual(json.loads(self.successResultOf(asked))["res_action"], 2)
        page = self.page("/dm/main/")
        buttons = [button for button in page.all("button") if "data-settle" in button]
        self.assertEqual([button["data-outcome"] for button in buttons], ["approved", "refused"])
        self.assertIn("Check its slip", page.text)
        self.assertIn("outcome unknown", self.page("/dm/").text)
        own = self.page(f"/dm/devices/{self.ids()['pos']}")
        self.assertEqual([button for button in own.all("button") if "data-settle" in button], buttons)
        self.assertIn("Last operation: payment, outcome unknown", own.text)
        self.assertNotIn("Needs attention", self.page(f"/dm/devices/{self.ids()['test']}").text)
        path = f"/dm/api/v3/operations/{buttons[0]['data-settle']}/settle"
        self.assertEqual(self.later("POST", path, {"outcome": "refused"}).status, 200)
        self.assertNotIn("Needs attention", self.page("/dm/main/").text)

    def test_last_operation(self) -> None:
        """A terminal shows its last operation and what became of it."""
        self.assertIn("Last operation: none", self.page("/dm/main/").text)
        self.later("POST", "/dm/execute", {"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        self.assertIn("Last operation: payment, done", self.page("/dm/main/").text)

    def test_unfinished_print(self) -> None:
        """A print with an unknown outcome offers to print it again; then, or after a day, it is no longer listed."""
        self.shop.scenario({"on": "print", "then": "lost_after"}, device="prn")
        self.asked_late(self.shop.asked({"device": "prn", "type": 2, "doc": {"test": 1}}))
        [button] = [each for each in self.page("/dm/main/").all("button") if "data-reprint" in each]
        self.shop.clock.advance(86_400)
        self.assertNotIn("Needs attention", self.page("/dm/main/").text)
        self.shop.clock.advance(-86_400)
        self.assertIn("Needs attention", self.page("/dm/main/").text)
        answer = self.later("POST", f"/dm/api/v3/jobs/{button['data-reprint']}/reprint", {})
        self.assertEqual((answer.status, answer.json["fate"]), (200, "printed"))
        self.assertNotIn("Needs attention", self.page("/dm/main/").text)

    def test_busy(self) -> None:
        """A device that works just now is shown so."""
        device = self.shop.core.devices.by_name("test")
        self.successResultOf(Deferred.fromCoroutine(device.turns.take()))
        self.assertIn("busy", self.page("/dm/main/").text)
        device.turns.give_back()
        self.assertNotIn("busy", self.page("/dm/main/").text)

    def test_broken_device(self) -> None:
        """A device that cannot be built is shown with the reason, and the page is there all the same."""
        adding = self.shop.store.add_device("id-1", "old", "printer", "gone", b"{}")
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.flushLoggedErrors()
        text = self.page("/dm/main/").text
        self.assertIn("does not work", text)
        self.assertIn("there is no driver gone", text)
        self.assertIn("there is no driver gone", self.page("/dm/devices/id-1").text)

    def test_no_devices(self) -> None:
        """Without any device the pages say how to add one."""
        for dev_id in self.ids().values():
            self.request("DELETE", f"{DEVICES}/{dev_id}")
        self.assertIn("/dm/devices/new?kind=register", self.page("/dm/main/").links())
        self.assertIn("There are no devices yet", self.page("/dm/").text)
        self.assertEqual(len(self.page("/dm/main/first").all("button", id="make")), 1)


class ReceiptTests(PageCase):
    """Receipts found, and one of them."""

    def setUp(self) -> None:
        """A shop that has sold twice, and on the next day once more."""
        super().setUp()
        self.open_shift()
        self.first = self.sell("sale-1")["info"]["doccode"]
        row = {"code": "2", "name": "Чай", "cnt": 1, "price": 40, "taxgrp": 1}
        self.sell("sale-2", sum=40, rows=[row], pays=[{"type": 0, "sum": 40}])
        self.shop.clock.advance(86_400)
        self.sell("sale-3")

    def found(self, query: str) -> list[str]:
        """The numbers of the documents that a search lists, in its order."""
        page = self.page(f"/dm/main/receipts?{query}")
        pattern = re.compile(rf"/dm/main/receipts/{self.ids()['test']}/(\d+)$")
        return [match[1] for link in page.all("a") if (match := pattern.match(str(link["href"])))]

    def test_search(self) -> None:
        """Receipts are found by the addresses that the page had before its one search box."""
        for query, numbers in (
            ("", ["4", "3", "2", "1"]),
            ("from=2026-09-22", ["4"]),
            ("to=2026-09-21", ["3", "2", "1"]),
            ("from=2026-09-21&to=2026-09-21", ["3", "2", "1"]),
            ("number=3", ["3"]),
            (f"number={self.first}", ["2"]),
            ("number=77", []),
            ("tag=sale-2", ["3"]),
            ("tag=nobody", []),
            ("sum=125.50", ["4", "2"]),
            ("sum=125,5&to=2026-09-21", ["2"]),
            ("tag=sale-2&sum=1", []),
            ("device=test", ["4", "3", "2", "1"]),
            ("device=nobody", []),
            ("page=9", []),
        ):
            self.assertEqual(self.found(query), numbers, query)

    def test_mistakes(self) -> None:
        """An invalid date is marked at its field, and the rest of the form stays filled in."""
        page = self.page("/dm/main/receipts?from=2026-02-31&q=x")
        self.assertEqual({str(found["name"]) for found in page.all("input", aria_invalid="true")}, {"from"})
        self.assertEqual(page.all("input", id="q")[0]["value"], "x")
        self.assertIn("a date is expected", page.text)

    def test_pages(self) -> None:
        """More documents than a page holds are turned over, and the search goes along."""
        for _ in range(30):
            self.sell()
        page = self.page("/dm/main/receipts?device=test")
        [older] = [link for link in page.links() if "page=2" in link]
        self.assertIn("device=test", older)
        self.assertEqual(self.found(older[1:])[-1], "1")
        self.assertEqual(self.found("sum=125.5&page=2")[-1], "2")

    def test_one(self) -> None:
        """A receipt shows its sum, its numbers, its tag, its way with times, its text and its stored answer."""
        page = self.page(f"/dm/main/receipts/{self.ids()['test']}/2")
        for there in (
            "Sale № 2",
            "125.50 UAH",
            self.first,
            "sale-1",
            "Олена",
            "The request was received 21 Sep 2026 09:00:00.000",
            "Sent to the tax service",
            "Confirmed and stored",
            "Steps without a time happened between",
            "Not printed",
            '"task_status": 1',
        ):
            self.assertIn(there, page.text)

    def test_offline(self) -> None:
        """A receipt made offline does not say that it was sent."""
        self.request("POST", f"{DEVICES}/{self.ids()['test']}/go-offline")
        number = self.sell()["info"]["docno"]
        text = self.page(f"/dm/main/receipts/{self.ids()['test']}/{number}").text
        self.assertIn("Issued offline", text)
        self.assertNotIn("Sent to the tax service", text)

    def test_picture(self) -> None:
        """The picture is a PNG, and it is there while the register works: looking never keeps a till waiting."""
        device = self.shop.core.devices.by_name("test")
        self.successResultOf(Deferred.fromCoroutine(device.turns.take()))
        answer = self.get(f"/dm/main/receipts/{self.ids()['test']}/2/picture")
        self.assertEqual(answer.header("content-type"), "image/png")
        self.assertTrue(answer.body.startswith(b"\x89PNG"))

    def test_printed(self) -> None:
        """A printed receipt shows the outcome of its print."""
        body = json.dumps(sale()).encode()
        asked = Deferred.fromCoroutine(self.shop.core.dispatcher.execute(body, "en", "prn"))
        for _ in range(20):
            self.shop.clock.advance(1)
        number = json.loads(self.successResultOf(asked))["info"]["docno"]
        page = self.page(f"/dm/main/receipts/{self.ids()['test']}/{number}")
        self.assertIn("Print: printed", page.text)


class FieldsTests(SynchronousTestCase):
    """From a driver's schema to a form."""

    SCHEMA: ClassVar[dict[str, Any]] = {
        "$ref": "#/$defs/Settings",
        "$defs": {
            "Inner": {
                "type": "object",
                "properties": {"on": {"type": "boolean", "default": True}},
                "required": [],
            },
            "Group": {
                "type": "object",
                "properties": {name: {} for name in ("code", "name", "enabled")},
            },
            "Settings": {
                "type": "object",
                "required": ["zeal", "key"],
                "properties": {
                    "odd": {"type": "object", "additionalProperties": {"type": "string"}},
                    "interface": {"enum": ["serial", "tcp"], "default": "tcp"},
                    "serial_port": {"type": "string", "default": ""},
                    "baudrate": {"type": "integer", "exclusiveMinimum": 0, "default": 9600},
                    "host": {"type": "string", "description": "Where it is", "default": ""},
                    "port": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 0},
                    "wait_s": {"type": "number", "default": 1.5},
                    "zeal": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "key": {"type": "string"},
                    "lines": {"type": "array", "items": {"type": "string"}, "default": []},
                    "codes": {"type": "array", "items": {"type": "integer"}, "default": []},
                    "groups": {"type": "array", "items": {"$ref": "#/$defs/Group"}, "default": []},
                    "inner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Inner"}], "default": None},
                    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": 1},
                },
            },
        },
    }

    def setUp(self) -> None:
        """The form of a driver with every kind of setting."""
        self.form = form_of(self.SCHEMA, ["key"])
        self.fields = {field.name: field for field in (*self.form.seen, *folded(self.form))}

    def test_required_first(self) -> None:
        """Required settings come first, then those that say where the device is; no setting is left out."""
        self.assertEqual([field.name for field in self.form.seen][:3], ["zeal", "key", "interface"])
        self.assertEqual(set(self.fields), set(self.SCHEMA["$defs"]["Settings"]["properties"]))

    def test_few_at_a_time(self) -> None:
        """With any kind of line no more than five fields are seen at once."""
        forms = [form_of(driver.schema(), driver.secrets) for driver in find_drivers().values()]
        for form in [self.form, *forms]:
            for way in ("tcp", "serial", "usb", "cups", "windows"):
                seen = [field for field in form.seen if not field.only_with or way in field.only_with]
                self.assertLessEqual(len(seen), max(VISIBLE, sum(field.required for field in seen)))

    def test_controls(self) -> None:
        """Each type has its control; what no control fits is asked for as JSON."""
        controls = {name: field.control for name, field in self.fields.items()}
        self.assertEqual(
            controls,
            {
                "odd": "json",
                "interface": "choice",
                "serial_port": "text",
                "baudrate": "number",
                "host": "text",
                "port": "number",
                "wait_s": "number",
                "zeal": "number",
                "key": "password",
                "lines": "lines",
                "codes": "numbers",
                "groups": "switches",
                "inner": "group",
                "either": "json",
            },
        )
        self.assertEqual([part.control for part in self.fields["inner"].parts], ["flag"])

    def test_limits(self) -> None:
        """Limits, defaults, nothing as a value and the kind of line travel with the field."""
        port, zeal = self.fields["port"], self.fields["zeal"]
        self.assertEqual((port.least, port.most, port.whole, port.default), (0, 65535, True, 0))
        self.assertEqual((port.only_with, self.fields["baudrate"].only_with), (("tcp", "cups"), ("serial",)))
        self.assertEqual((zeal.nullable, zeal.required, port.nullable), (True, True, False))
        self.assertFalse(self.fields["wait_s"].whole)

    def test_every_driver(self) -> None:
        """Every setting of every driver is somewhere in its form, but what has a part of the page to itself."""
        for driver in find_drivers().values():
            form: Form = form_of(driver.schema(), driver.secrets)
            names = {field.name for field in (*form.seen, *folded(form))}
            self.assertEqual(names, set(driver.settings.__struct_fields__) - set(OWN_PLACE), driver.title)

    def test_titles(self) -> None:
        """A setting has its title in both languages; one without a title is shown by its own name."""
        host = self.fields["host"]
        self.assertEqual((title_of(host, "uk"), title_of(host, "en")), ("Адреса", "Address"))
        self.assertEqual((help_of(host, "en"), help_of(host, "uk")), ("Where it is", SETTINGS["host"].help_uk))
        new = Field("brand_new", "What it does", "text")
        self.assertEqual((title_of(new, "uk"), help_of(new, "uk")), ("brand_new", "What it does"))

    def test_words_of_every_driver(self) -> None:
        """Each setting of each driver has a title and a help in both languages, none is the technical name, and what
        can be chosen is words or a name of its own."""
        own = re.compile(r"[0-9]|^(Service|utf|iso|std|stx|noext)")
        for (kind, name), driver in find_drivers().items():
            form = form_of(driver.schema(), driver.secrets)
            waiting = [*form.seen, *(field for part in form.parts for field in part.fields)]
            while waiting:
                field = waiting.pop()
                waiting += field.parts
                where = f"{kind}/{name}: {field.name}"
                titles = {title_of(field, language) for language in ("uk", "en")}
                self.assertNotIn(field.name, titles, where)
                self.assertNotEqual(titles, {""}, where)
                self.assertRegex(title_of(field, "uk"), "[а-яіїєґ]|PDF|COM|doccmd", where)
                self.assertNotIn("", (help_of(field, "uk"), help_of(field, "en")), where)
                self.assertNotEqual(help_of(field, "en"), field.name, where)
                self.assertRegex(help_of(field, "uk"), "[а-яіїєґ]", where)
                for choice in field.choices:
                    shown = choice_of(field, choice, "uk")
                    self.assertTrue(shown != str(choice) or own.search(shown), f"{where}: {choice!r}")


class DeviceFormTests(PageCase):
    """A device added and changed."""

    def test_steps(self) -> None:
        """The way to a new device is its kind, then its driver, then its settings; no kind leads nowhere."""
        page = self.page("/dm/devices/new")
        self.assertEqual(
            {link for link in page.links() if "kind=" in link},
            {f"/dm/devices/new?kind={kind}" for kind in ("register", "printer", "terminal")},
        )
        self.assertIn("/dm/devices/new/register", page.links())
        self.assertIn("Scales have no driver here", page.text)
        drivers = {link for link in self.page("/dm/devices/new?kind=printer").links() if "driver=" in link}
        self.assertIn("/dm/devices/new?kind=printer&driver=escpos", drivers)
        self.assertIn("There are no drivers", self.page("/dm/devices/new?kind=other").text)
        page = self.page("/dm/devices/new?kind=printer&driver=escpos")
        told = {"kind": "printer", "driver": "escpos", "dev_id": "", "tries": True, "given": [], "finds": {}}
        self.assertEqual(page.data["data"], told)
        self.assertEqual(len(page.all("form", id="settings")), 1)
        for wrong in ("kind=nothing", "kind=printer&driver=nothing"):
            self.assertEqual(self.page(f"/dm/devices/new?{wrong}").all("form", id="settings"), [])

    def test_find_out(self) -> None:
        """The form of a register that can be recognised has a button for it, with its texts; another one has none."""
        for driver, there in (("datecs", True), ("maria", True), ("mg", False), ("prro", False)):
            page = self.page(f"/dm/devices/new?kind=register&driver={driver}&s.baudrate=19200")
            self.assertEqual(len(page.all("button", id="find-out")), int(there), driver)
            self.assertEqual(bool(page.data["data"]["finds"]), there)
        page = self.page("/dm/devices/new?kind=register&driver=ics&s.baudrate=19200")
        self.assertEqual(page.all("input", id="s-baudrate")[0]["value"], "19200")
        self.assertIn("Find out speed and model", page.text)

    def test_free_name(self) -> None:
        """The name that is offered is one that tills expect, or else one that is still free."""
        page = self.page("/dm/devices/new?kind=printer&driver=training")
        self.assertEqual(page.all("input", id="device")[0]["value"], "prn2")
        self.request("DELETE", f"{DEVICES}/{self.ids()['prn']}")
        page = self.page("/dm/devices/new?kind=printer&driver=training")
        self.assertEqual(page.all("input", id="device")[0]["value"], "prn")

    def test_values(self) -> None:
        """The page of a device shows its settings as they are."""
        dev_id = self.ids()["test"]
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"shopad": "Львів", "header": ["а", "б"]}})
        page = self.page(f"/dm/devices/{dev_id}")
        self.assertEqual(page.all("input", id="s-shopad")[0]["value"], "Львів")
        self.assertIn("а б", page.text)

    def test_actions(self) -> None:
        """Each kind of device has the buttons for what it can do, and dangerous ones ask first."""
        printer = self.page(f"/dm/devices/{self.ids()['prn']}")
        self.assertEqual(len(printer.all("button", data_doc='{"test":1}')), 1)
        self.assertEqual(len(printer.all("img", id="paper")), 1)
        register = self.page(f"/dm/devices/{self.ids()['test']}")
        self.assertEqual(len(register.all("button", id="delete")), 1)
        self.assertEqual(len(register.all("dialog", id="sure-delete")), 1)
        board = self.page(f"/dm/main/registers/{self.ids()['test']}")
        self.assertEqual(board.all("button", data_task="11")[0]["data-sure"], "sure-z")


class DryCheckTests(PageCase):
    """``POST /dm/api/v3/check``"""

    def check(self, **members: object) -> HttpAnswer:
        """The answer to a check of a device that is not stored yet."""
        body = {"kind": "printer", "driver": "training", "device": "new", "settings": {}, **members}
        return self.later("POST", "/dm/api/v3/check", body)

    def test_good(self) -> None:
        """Settings that work are `res` 0, and nothing of the device stays."""
        files = sorted(self.shop.state.rglob("*"))
        for kind in ("printer", "register", "terminal"):
            answer = self.check(kind=kind)
            self.assertEqual((answer.status, answer.json), (200, {"res": 0, "errortxt": ""}))
        self.assertNotIn("new", self.ids())
        self.assertEqual(sorted(self.shop.state.rglob("*")), files)

    def test_mistakes(self) -> None:
        """Settings that do not fit are 422 and name their member, as on saving."""
        for members, path in (
            ({"driver": "escpos", "settings": {"host": "x", "port": 70000}}, "settings.port"),
            ({"driver": "escpos", "settings": {"interface": "serial"}}, "settings.serial_port"),
            ({"driver": "nothing"}, "driver"),
            ({"kind": "nothing"}, "kind"),
            ({"kind": "register", "driver": "prro", "settings": {"server_ca": "/dev/zero"}}, "settings.server_ca"),
        ):
            answer = self.check(**members)
            self.assertEqual(answer.status, 422, members)
            self.assertEqual([error["path"] for error in answer.json["errors"]], [path])

    def test_other_origin(self) -> None:
        """A page of another origin may not have devices tried."""
        answer = self.request("POST", "/dm/api/v3/check", {}, [("Origin", "https://evil.example")])
        self.assertEqual(answer.status, 403)


class ConsoleTests(PageCase):
    """Requests to try."""

    def test_examples_work(self) -> None:
        """Every example names a device of ours and is understood; those of a register's day are all done."""
        examples = self.page("/dm/main/console").data["data"]["examples"]
        by_title = {example["title"]: example for example in examples}
        order = [
            "Open the shift",
            "Sale in cash",
            "Sale by card (the receipt alone)",
            "Return",
            "X-report",
            "Z-report",
        ]
        for title in order:
            example = by_title.pop(title)
            body = json.loads(json.dumps(example["body"]).replace("{tag}", title))
            self.assertEqual(self.execute(body, example["path"])["res"], 0, title)
        for title, example in by_title.items():
            body = json.loads(json.dumps(example["body"]).replace("{tag}", f"other {title}"))
            answer = self.later("POST", example["path"], body)
            self.assertNotIn(answer.json["res"], (2000, 1091, 1098, 1016), title)

    def test_names(self) -> None:
        """Without devices the examples have the usual names."""
        for dev_id in self.ids().values():
            self.request("DELETE", f"{DEVICES}/{dev_id}")
        bodies = [example["body"] for example in self.page("/dm/main/console").data["data"]["examples"]]
        self.assertEqual({body["device"] for body in bodies}, {"test", "prn", "pos"})


class CodesTests(PageCase):
    """Result codes."""

    def test_search(self) -> None:
        """Codes are found by number and by words of either language, whatever the case."""
        for query, codes in (("1077", ["c1077"]), ("INSUFFICIENT%20funds", ["c5018"])):
            rows = [str(row["id"]) for row in self.page(f"/dm/main/codes?q={query}").all("tr") if "id" in row]
            self.assertEqual(rows, codes)
        self.assertIn("No such code. Try another word", self.page("/dm/main/codes?q=zzzz").text)
        every = [row for row in self.page("/dm/main/codes").all("tr") if "id" in row]
        self.assertEqual(len(every), len(Res))

    def test_json(self) -> None:
        """Scripts get every code with its advice in the language of the page."""
        told = self.get("/dm/main/codes.json", UK).json
        self.assertEqual(set(told), {str(res.code) for res in Res})
        self.assertEqual(told["1092"]["cashier"], Res.SHIFT_CLOSED.cashier.uk)
        self.assertEqual(self.get("/dm/main/codes.json", EN).json["1092"]["text"], Res.SHIFT_CLOSED.text.en)


class BrowserTests(PageCase):
    """A person with a browser at an address that has no page."""

    def look(self, path: str, language: tuple[str, str] = EN) -> tuple[HttpAnswer, str]:
        """The answer to a browser at ``path``, and what is to be read there."""
        answer = self.request("GET", path, headers=[language, ("Accept", "text/html,*/*;q=0.8")])
        return answer, Page(answer.body.decode()).text

    def test_nothing_there(self) -> None:
        """An address that leads nowhere is a page in the reader's language, which loads nothing; so is 405."""
        for path, status, told in (
            ("/nope", 404, "There is no such page"),
            ("/dm/execute", 405, "This address is for programs"),
            ("/logout", 405, "This address is for programs"),
        ):
            answer, text = self.look(path)
            self.assertEqual(answer.status, status, path)
            self.assertIn(told, text)
            self.assertIn("default-src 'none'", answer.header("content-security-policy") or "")
            self.assertEqual(Page(answer.body.decode()).links(), {"/dm/main/"})
            self.assertEqual(answer.header("content-type"), "text/html; charset=utf-8")
        self.assertIn("Такої сторінки немає", self.look("/nope", UK)[1])
        self.assertIn("/dm/main/receipts", Page(self.look("/dm/main/nope")[0].body.decode()).links())

    def test_refused(self) -> None:
        """A refusal by the gate is one, too, with its reason."""
        answer = self.request("GET", "/", headers=[EN, ("Accept", "text/html"), ("Host", "evil.example")])
        self.assertEqual(answer.status, 421)
        self.assertIn(
            "The service refused Malformed request: the service does not know the name evil",
            Page(answer.body.decode()).text,
        )

    def test_programs(self) -> None:
        """Programs get JSON as ever, and under /api/ everybody does."""
        for path, headers in (
            ("/nope", [("Accept", "*/*")]),
            ("/nope", []),
            # No page has a second address without the slash, or with another sign in its place.
            *((path, []) for path in ("n", "dm/main/", "xdm/main/")),
            ("/dm/api/v3/nope", [("Accept", "text/html")]),
            ("/dm/main/api/v1/nope", [("Accept", "text/html")]),
        ):
            answer = self.request("GET", path, headers=headers)
            self.assertEqual((answer.status, answer.header("content-type")), (404, "application/json"), path)
            self.assertEqual(set(answer.json), {"res", "errortxt", "errors"})
        answer = self.request("POST", "/nope", {}, headers=[("Accept", "text/html")])
        self.assertEqual(answer.header("content-type"), "application/json")


class StaticTests(PageCase):
    """Style and scripts."""

    def test_files(self) -> None:
        """Files have their type and an ETag; a caller with the current file gets 304, an unknown name 404."""
        answer = self.get("/dm/static/page.js")
        self.assertEqual(answer.header("content-type"), "text/javascript; charset=utf-8")
        tag = answer.header("etag") or ""
        again = self.request("GET", "/dm/static/page.js", headers=[("If-None-Match", tag)])
        self.assertEqual((again.status, again.body), (304, b""))
        for path in (
            "/dm/static/nope.js",
            "/dm/static/",
            "/dm/static/../pages/words.py",
            "/dm/static/%2e%2e/site.py",
            "/dm/static/a/b/page.js",
        ):
            self.assertEqual(self.request("GET", path).status, 404, path)
        self.assertEqual(self.request("POST", "/dm/static/page.js", {}).status, 405)
        head = self.request("HEAD", "/dm/static/pages.css")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_kept(self) -> None:
        """A page names files with their version, which a browser keeps for a year; any other address it checks."""
        [style] = self.page("/dm/").all("link", rel="stylesheet")
        path = str(style["href"])
        self.assertRegex(path, "^/dm/static/[0-9a-f]{12}/pages.css$")
        self.assertEqual(self.get(path).header("cache-control"), "max-age=31536000, immutable")
        for other in ("/dm/static/pages.css", "/dm/static/0123456789ab/pages.css"):
            self.assertEqual(self.get(other).header("cache-control"), "no-cache")

    def test_compressed(self) -> None:
        """Files travel compressed to those who read that; pages, which have secrets, never do."""
        plain, asks = self.get("/dm/static/pages.css"), [("Accept-Encoding", "gzip, br")]
        packed = self.request("GET", "/dm/static/pages.css", headers=asks)
        self.assertEqual((packed.header("content-encoding"), packed.header("vary")), ("gzip", "accept-encoding"))
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertNotEqual(packed.header("etag"), plain.header("etag"))
        self.assertEqual((plain.header("content-encoding"), plain.header("vary")), (None, "accept-encoding"))
        self.assertIsNone(self.request("GET", "/dm/", headers=asks).header("content-encoding"))

    def test_small_and_ours(self) -> None:
        """All scripts together are small, and nothing in them or in the style is loaded from elsewhere."""
        files = list((WEB / "static").iterdir())
        scripts = [file for file in files if file.suffix == ".js"]
        self.assertLessEqual(sum(file.stat().st_size for file in scripts), SCRIPTS_LIMIT)
        for file in files:
            text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
            self.assertNotRegex(
                text, r"https?://|@import|url\(|innerHTML\s*=[^=]|insertAdjacentHTML|\beval\(", file.name
            )
        for file in scripts:
            for module in re.findall(r'from "\./([\w.]+)"', file.read_text("utf-8")):
                self.assertTrue((WEB / "static" / module).exists(), f"{file.name}: {module}")


class WordsTests(SynchronousTestCase):
    """The dictionary."""

    def test_complete(self) -> None:
        """Every word is there in both languages, and the two differ in more than a slip of the pen."""
        for key, text in words.WORDS.items():
            self.assertTrue(text.uk.strip() and text.en.strip(), key)
        same = [key for key, text in words.WORDS.items() if text.uk == text.en]
        self.assertEqual(same, [])

    def test_known(self) -> None:
        """Templates and scripts use existing texts, and every text is used."""
        templates = "".join(file.read_text("utf-8") for file in (WEB / "templates").glob("*.html"))
        asked = set(re.findall(r"""\bt\(["']([a-z_0-9]+)["']\)""", templates))
        self.assertEqual(asked - set(words.WORDS), set())
        scripts = "".join(file.read_text("utf-8") for file in (WEB / "static").glob("*.js"))
        in_scripts = set(re.findall(r"\bwords\.([a-z_0-9]+)", scripts))
        self.assertEqual(in_scripts - set(words.FOR_SCRIPTS), set())
        made_up = {
            key for key in words.FOR_SCRIPTS if f'"{key}"' in scripts or key.startswith(("progress_", "action_"))
        }
        self.assertEqual(set(words.FOR_SCRIPTS) - in_scripts - made_up, set())
        self.assertEqual(set(words.FOR_SCRIPTS) - set(words.WORDS), set())
        code = "".join(file.read_text("utf-8") for file in WEB.rglob("*.py") if not file.name.startswith("words"))
        spare = set(words.WORDS) - asked - in_scripts - KINDS_AND_FATES
        for key in sorted(spare):
            made = f"{key.partition('_')[0]}_"
            ways = (f'"{key}"', f'"{made}" ~', f'f"{made}', f"`{made}")
            if any(way in text for way in ways for text in (code, templates, scripts)):
                spare.discard(key)
        self.assertEqual(spare, set())


KINDS_AND_FATES = {"register", "printer", "terminal", "other", "printed", "accepted", "not_printed", "unknown"}
"""Words whose keys are values of the service."""


class WritingTests(SynchronousTestCase):
    """How values are written."""

    def test_money(self) -> None:
        """Money has two digits and its thousands apart, as the language of the page has them."""
        sums = [money(each, "uk").replace("\N{NO-BREAK SPACE}", " ") for each in (1234567.5, "2.0", 0, -1234)]
        self.assertEqual(sums, ["1 234 567,50", "2,00", "0,00", "-1 234,00"])
        self.assertEqual([money(each, "en") for each in (1234567.5, "2.0")], ["1,234,567.50", "2.00"])
        self.assertEqual((kopecks(99999999999, "en"), kopecks(-5, "uk")), ("999,999,999.99", "-0,05"))

    def test_moments(self) -> None:
        """Moments are written as people in Kyiv read them; an English date has its month in letters."""
        at = span("20260921090000")[0]
        self.assertEqual((moment(at, "uk"), hour(at)), ("21.09.2026 09:00:00", "09:00"))
        self.assertEqual((moment(at, "en"), day("2026-09-05T00:00", "en")), ("21 Sep 2026 09:00:00", "5 Sep 2026"))
        self.assertEqual(iso(at), "2026-09-21T09:00:00+03:00")
