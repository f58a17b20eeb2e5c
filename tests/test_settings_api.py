"""The management interface that programs know by heart: settings, dashboard, registers, the service itself."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted import __version__
from dmtwisted.config import ServerConfig
from dmtwisted.devices.devices import register_settings
from tests.specification import promises
from tests.test_sessions import DRIVERS, PASSWORD, SETTINGS, AccessCase
from tests.web_case import EXECUTE, JSON_TYPE, sale
from web.site import Door

DASHBOARD = "/dm/main/api/v1/dashboard"
REGISTER = "/dm/main/api/v1/prro"
SYS_INFO = "/dm/api/v1/sys_info"
DONE = {"res": 0, "errortxt": ""}
GOOD = "kavun-7-lito"
"""A password that is taken."""


class SettingsTests(AccessCase):
    """``/dm/main/api/v1/settings``"""

    def settings(self) -> Any:
        """The settings as clients read them."""
        answer = self.request("GET", SETTINGS)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json

    def refusal(self, body: object) -> str:
        """The text that a change is refused with; HTTP 200, and nothing has changed."""
        before = self.settings()
        answer = self.request("POST", SETTINGS, body, [("Accept-Language", "en")])
        self.assertEqual((answer.status, self.settings()), (200, before))
        self.assertGreater(answer.json["res"], 0)
        text: str = answer.json["errortxt"]
        self.assertNotEqual(text, "")
        return text

    def test_types(self) -> None:
        """Every member that clients read is there, as the kind of value that they demand."""
        settings = self.settings()
        kinds: dict[str, type] = {
            **dict.fromkeys(("supmail", "token", "autoupdatetime", "usr_login", "usr_pass", "usr_confpass"), str),
            **dict.fromkeys(("logdays", "packdays", "pf_charcount", "pf_charwidth"), int),
            **dict.fromkeys(("autoupdate", "extAccess", "pf_astext", "pf_asimage", "pf_aspdf"), bool),
            **dict.fromkeys(("pf_del_custom", "pf_is_custom", "usr_uiauth", "usr_chuser"), bool),
        }
        self.assertEqual({name: type(settings[name]) for name in kinds}, kinds)

    def test_partial(self) -> None:
        """A change leaves alone what it does not name."""
        before = self.settings()
        self.assertEqual(self.change(logdays=14, supmail="help@shop.example"), {"res": 0, "errortxt": ""})
        self.assertEqual(self.settings(), {**before, "logdays": 14, "supmail": "help@shop.example"})

    def test_body_of_a_client(self) -> None:
        """The body that a known client sends is taken as it is."""
        answer = self.change(
            supmail="a@b",
            extaccess=False,
            token="",
            logdays=5,
            packdays=60,
            pf_del_custom=False,
            pf_custom="",
            pf_charcount=42,
            pf_charwidth=10,
            pf_astext=True,
            pf_asimage=False,
            pf_aspdf=False,
        )
        self.assertEqual(answer, {"res": 0, "errortxt": ""})
        settings = self.settings()
        self.assertEqual([settings[name] for name in ("extAccess", "packdays", "pf_charcount")], [False, 60, 42])
        self.assertEqual((settings["pf_astext"], settings["usr_uiauth"]), (True, False))

    def test_only_this_machine(self) -> None:
        """With `extAccess` off other machines get 403 at every path; here everything goes on, and switches it on."""
        paths = (EXECUTE, "/health/live", "/dm/bankping", "/dm/main/", SETTINGS, "/login", "/nowhere")
        there, again = self.connect_from("192.168.1.20"), {"extAccess": True}
        for path in paths:
            self.assertNotEqual(self.ask(there, "GET", path).status, 403, path)
        for spelling in ("extAccess", "extaccess"):
            self.assertEqual(self.change(**{spelling: False}), DONE)
            for path in paths:
                answer = self.ask(there, "GET", path, headers=[("Accept-Language", "en")])
                self.assertEqual(answer.status, 403, path)
                self.assertIn("extAccess", answer.json["errortxt"])
            body = json.dumps(sale("t")).encode()
            self.assertEqual(self.ask(there, "POST", EXECUTE, body, [JSON_TYPE]).status, 403)
            self.assertEqual(self.ask(there, "POST", SETTINGS, json.dumps(again).encode(), [JSON_TYPE]).status, 403)
            self.assertEqual(self.ask(self.connect_from("::1"), "GET", "/health/live").status, 200)
            page = self.request("GET", "/dm/main/settings", headers=[("Accept-Language", "en")]).body
            self.assertIn(b"(this computer only)", page)
            self.assertEqual(self.change(**again), DONE)
            self.assertEqual(self.ask(there, "GET", "/health/live").status, 200)

    def test_not_from_elsewhere(self) -> None:
        """Another machine cannot switch `extAccess` off: it would lock itself out. Nothing of its change is kept."""
        before = self.settings()
        body = json.dumps({"extAccess": False, "logdays": 3}).encode()
        code = ("X-Presence-Code", self.shop.core.access.presence.code)
        answer = self.ask(self.connect_from("192.168.1.20"), "POST", SETTINGS, body, [JSON_TYPE, code])
        self.assertEqual((answer.status, answer.json["res"]), (200, 2000))
        self.assertIn("extAccess", answer.json["errortxt"])
        self.assertEqual(self.settings(), before)

    def test_sent_back(self) -> None:
        """What was read may be sent back whole: nothing changes, the login and the token stay."""
        self.change(token="sesame")
        self.switch_on()
        cookie = self.cookie()
        read = self.request("GET", SETTINGS, headers=[cookie]).json
        self.assertEqual((read["usr_uiauth"], read["usr_login"], read["usr_pass"]), (True, "admin", ""))
        answer = self.request("POST", SETTINGS, read, [cookie])
        self.assertEqual(answer.json, {"res": 0, "errortxt": ""})
        self.assertEqual(self.request("GET", SETTINGS, headers=[cookie]).json, read)
        self.assertEqual(self.shop.core.settings.token, "sesame")

    def test_secrets(self) -> None:
        """No secret comes back."""
        self.change(
            token="cabinet-token",
            usr_uiauth=True,
            usr_login="a",
            usr_pass="pw-1 and more",
            usr_confpass="pw-1 and more",
        )
        answer = self.request("POST", "/login", {"login": "a", "pass": GOOD})
        cookie = (answer.header("set-cookie") or "").split(";")[0]
        body = self.request("GET", SETTINGS, headers=[("Cookie", cookie)]).body
        for secret in (b"cabinet-token", GOOD.encode(), b"argon2", b"s1."):
            self.assertNotIn(secret, body)

    def test_print_forms(self) -> None:
        """Print forms that are set for all go to every register, the next one too; the rest stays."""
        self.shop.settings(shopname="Кава", pf_image=True)
        self.assertEqual(self.change(pf_astext="1", pf_charcount="32"), DONE)
        settings = register_settings(self.shop.core.devices.by_name("test"))
        self.assertEqual((settings.pf_text, settings.pf_charcount), (True, 32))
        self.assertEqual((settings.pf_image, settings.shopname), (True, "Кава"))
        self.open_shift()
        self.assertTrue(self.sell("sale-1")["pf_text"].startswith("data:text/plain"))
        made = self.request("POST", REGISTER, {"device": "till 2", "pf_charcount": 40}).json
        self.assertEqual((made["settings"]["pf_text"], made["settings"]["pf_charcount"]), (True, 40))

    def test_custom_form(self) -> None:
        """A form of the shop's own goes to every register; one that cannot be read changes nothing."""
        self.assertEqual(self.change(pf_custom="%center Дякуємо!\n%receipt"), DONE)
        self.assertIn("Дякуємо", register_settings(self.shop.core.devices.by_name("test")).template)
        self.assertIn("pf_custom", self.refusal({"pf_custom": "{{ broken", "logdays": 9}))
        self.assertIn("Дякуємо", register_settings(self.shop.core.devices.by_name("test")).template)
        self.assertEqual(self.change(pf_custom=""), DONE)
        self.assertTrue(self.settings()["pf_is_custom"])
        self.assertEqual(self.change(pf_del_custom=True, pf_custom=""), DONE)
        self.assertEqual(register_settings(self.shop.core.devices.by_name("test")).template, "")

    def test_log(self) -> None:
        """Neither passwords nor tokens nor keys come into the log, debug included."""
        log = self.logged()
        self.change(token="cabinet-token")
        self.switch_on()
        cookie = self.cookie()
        key = self.key(cookie)
        self.log_in("admin", "wrong-guess")
        text = log.getvalue()
        self.assertIn("logged in", text)
        for secret in (PASSWORD, "wrong-guess", "cabinet-token", cookie[1].split("=")[1], key[1]):
            self.assertNotIn(secret, text)

    @promises("5.1.1.2", "5.1.1.3")
    def test_login_switched_on(self) -> None:
        """The login is switched on by the settings, and by that blocks at once."""
        self.assertEqual(self.request("GET", DRIVERS).status, 200)
        self.switch_on()
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS)))

    def test_login_refused(self) -> None:
        """Empty, unconfirmed, short and common passwords are refused in words, and the login stays off."""
        for members, word in (
            ({"usr_login": "a", "usr_pass": "", "usr_confpass": ""}, "usr_pass"),
            ({"usr_login": "a", "usr_pass": GOOD, "usr_confpass": "2"}, "usr_confpass"),
            ({"usr_login": "", "usr_pass": "1", "usr_confpass": "1"}, "usr_login"),
            (
                {"usr_login": "a", "usr_pass": "123", "usr_confpass": "123"},
                "usr_pass: a password of at",
            ),
            ({"usr_login": "a", "usr_pass": "qwerty123", "usr_confpass": "qwerty123"}, "usr_pass: this password is"),
            ({}, "usr_login"),
        ):
            self.assertIn(word, self.refusal({"usr_uiauth": True, **members}))
            self.assertFalse(self.settings()["usr_uiauth"])

    def test_login_spelled_as_text(self) -> None:
        """The switch may be spelled as text too; what is neither yes nor no is refused."""
        self.assertIn("usr_uiauth", self.refusal({"usr_uiauth": "perhaps"}))
        self.assertIn("usr_pass", self.refusal({"usr_uiauth": "1", "usr_login": "a", "usr_pass": 5}))
        self.assertEqual(
            self.change(usr_uiauth="1", usr_login="a", usr_pass=GOOD, usr_confpass=GOOD), {"res": 0, "errortxt": ""}
        )
        self.assertTrue(self.is_blocked(self.request("GET", DRIVERS)))

    def test_all_or_nothing(self) -> None:
        """When the login of a change is refused, its other members are not taken either."""
        self.refusal({"logdays": 99, "usr_uiauth": True})
        self.refusal({"logdays": 0, "usr_uiauth": True, "usr_login": "a", "usr_pass": GOOD, "usr_confpass": GOOD})

    def test_malformed(self) -> None:
        """What is no JSON object is refused in words, with HTTP 200."""
        for body in (b"", b"{", b"[]", b"5", b"\xff", b"[" * 5000):
            self.refusal(body)

    def test_store_fails(self) -> None:
        """A change that cannot be stored is 1082, and nothing has changed."""
        self.shop.store.broken = True
        answer = self.request("POST", SETTINGS, {"logdays": 30})
        self.shop.store.broken = False
        self.assertEqual((answer.status, answer.json["res"]), (200, 1082))
        self.assertEqual(self.settings()["logdays"], 7)

    def test_restart(self) -> None:
        """Settings outlive a restart."""
        self.change(packdays=365)
        self.shop.crash()
        self.assertEqual(self.shop.core.settings.now.packdays, 365)


class DashboardTests(AccessCase):
    """``GET /dm/main/api/v1/dashboard`` and what clients read of registers."""

    def row(self) -> Any:
        """The row of the register `test`."""
        answer = self.request("GET", DASHBOARD)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        told = answer.json
        self.assertEqual([told[name] for name in ("dfs_metr", "need_upd", "server_v")], [0, 0, __version__])
        [row] = told["devices"]
        return row

    @promises("4.1.dashboard")
    def test_types(self) -> None:
        """Every member that clients read is there, as the kind of value that they demand."""
        strings = ("device", "dev_id", "fisid", "token", "signinfo", "shiftdt", "prro_info")
        numbers = ("prro_type", "shiftterm", "prro_status", "offline_time1", "offline_time2")
        row = self.row()
        self.assertEqual({type(row[name]) for name in strings}, {str})
        self.assertEqual({type(row[name]) for name in numbers}, {int})
        self.assertEqual(sorted(row), sorted((*strings, *numbers)))

    def test_shift(self) -> None:
        """A closed shift has no time, an open one its start and its hours."""
        self.assertEqual((self.row()["shiftdt"], self.row()["shiftterm"]), ("", 0))
        self.open_shift()
        self.assertEqual((self.row()["shiftdt"], self.row()["shiftterm"]), ("20260921090000", 0))
        self.shop.clock.advance(2 * 3600 + 1800)
        self.assertEqual((self.row()["shiftdt"], self.row()["shiftterm"]), ("20260921090000", 2))

    def test_offline(self) -> None:
        """Minutes offline of this session and of this month; back online only the month's are left."""
        self.open_shift()
        path = f"/dm/api/v3/devices/{self.dev_id}"
        self.assertEqual(self.request("POST", f"{path}/go-offline").status, 200)
        self.shop.clock.advance(150)
        told = [self.row()[name] for name in ("prro_status", "offline_time1", "offline_time2")]
        self.assertEqual(told, [1, 2, 2])
        self.fiscal(3, cash={"type": 0, "sum": 1})
        self.assertEqual(self.request("POST", f"{path}/go-online").status, 200)
        told = [self.row()[name] for name in ("prro_status", "offline_time1", "offline_time2")]
        self.assertEqual(told, [0, 0, 2])

    def test_same_register(self) -> None:
        """Name, id and fiscal number are those of the register's own answers; it is one for training."""
        fisid = self.fiscal(18)["info"]["fisid"]
        row = self.row()
        self.assertEqual((row["device"], row["dev_id"], row["fisid"]), ("test", self.dev_id, fisid))
        self.assertEqual((row["prro_type"], row["prro_status"], row["prro_info"]), (0, 0, ""))

    def test_registers_only(self) -> None:
        """Printers and terminals are not on it."""
        adding = self.shop.core.devices.add("prn", "printer", "training", {})
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.assertEqual(self.row()["device"], "test")

    def test_unusable(self) -> None:
        """A register that cannot be built is on it and says why; the others are not hidden by it."""
        adding = self.shop.store.add_device("id-2", "broken", "register", "gone", b"{}")
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.shop.crash()
        self.flushLoggedErrors(LookupError)
        self.door = Door(self.shop.core)
        rows = {row["device"]: row for row in self.request("GET", DASHBOARD).json["devices"]}
        self.assertEqual(sorted(rows), ["broken", "test"])
        self.assertEqual(rows["broken"]["prro_status"], 2)
        self.assertIn("gone", rows["broken"]["prro_info"])

    def test_register(self) -> None:
        """The answer for one register has its print forms too."""
        self.shop.settings(pf_charcount=32, pf_text=True)
        told = self.request("GET", f"{REGISTER}?dev_id={self.dev_id}").json
        self.assertEqual((told["device"], told["dev_id"]), ("test", self.dev_id))
        self.assertEqual(
            told["printforms"],
            {"pf_charcount": 32, "pf_charwidth": 12, "pf_astext": True, "pf_asimage": False, "pf_aspdf": False},
        )

    def test_groups(self) -> None:
        """The tax groups that are enabled, by number, name and letter."""
        groups = self.request("GET", f"{REGISTER}/groups?dev_id={self.dev_id}").json["fis_groups"]
        self.assertEqual(groups[0], {"gr_id": 1, "caption": "ПДВ 20%", "tg_print": "А"})
        self.assertEqual(len(groups), 10)
        one = {"code": 2, "name": "Без ПДВ", "letter": "Б"}
        self.shop.settings(tax_groups=[one, {"code": 5, "name": "x", "enabled": False}])
        groups = self.request("GET", f"{REGISTER}/groups?dev_id={self.dev_id}").json["fis_groups"]
        self.assertEqual(groups, [{"gr_id": 2, "caption": "Без ПДВ", "tg_print": "Б"}])

    def test_no_such_register(self) -> None:
        """An unknown id, none at all, and the id of another kind of device are 2007, with HTTP 200."""
        adding = self.shop.core.devices.add("prn", "printer", "training", {})
        printer = self.successResultOf(Deferred.fromCoroutine(adding)).row.dev_id
        for query in ("", "?dev_id=", "?dev_id=nobody", f"?dev_id={printer}", "?dev_id=%ff"):
            for path in (REGISTER, f"{REGISTER}/groups"):
                answer = self.request("GET", path + query)
                self.assertEqual((answer.status, answer.json["res"]), (200, 2007), query)


class SysInfoTests(AccessCase):
    """``GET /dm/api/v1/sys_info``"""

    def test_told(self) -> None:
        """Database, version, and for how long the service runs, in whole seconds."""
        self.shop.clock.advance(61.5)
        told = self.request("GET", SYS_INFO).json
        self.assertEqual([told[name] for name in ("database", "version", "uptime")], ["SQLite", __version__, 61])
        self.assertEqual((told["training"], told["https"], told["ready"]), (True, False, True))

    def test_time_travel(self) -> None:
        """Moving the service's clock does not change for how long it runs."""
        self.shop.core.clock.offset = 86400
        self.assertEqual(self.request("GET", SYS_INFO).json["uptime"], 0)


class AnyWordTests(AccessCase):
    """Another word in place of `main`, as existing clients have it."""

    WORDS = ("till-desk", "desk", "a.b_c~1", "Main")

    def test_same_tree(self) -> None:
        """Everything under `main` is there under any other word, reading and changing."""
        for days, word in enumerate(self.WORDS, 3):
            self.assertEqual(self.request("GET", DASHBOARD.replace("main", word)).json["server_v"], __version__)
            self.assertEqual(self.request("POST", SETTINGS.replace("main", word), {"logdays": days}).json, DONE)
            self.assertEqual(self.request("GET", SETTINGS).json["logdays"], days)
            page = self.request("GET", f"/dm/{word}/codes?lang=en")
            self.assertIn(b"Result codes", page.body)
            self.assertEqual(
                self.request("GET", f"/dm/{word}/dashboard.html").header("location"), "http://localhost:3939/dm/main/"
            )

    def test_nothing_else(self) -> None:
        """It replaces one whole word; a word with a meaning of its own keeps it, and a lone word is nowhere."""
        for path in (
            *(
                "/dm/x/desk/api/v1/settings",
                "/desk/api/v1/settings",
                "/dm//api/v1/settings",
                "/dm/%20/api/v1/settings",
            ),
            *("/dm/execute/api/v1/settings", "/dm/bankping/api/v1/settings", "/dm/api/api/v1/settings", "/dm/../x"),
            *("/dm/exekute", "/dm/desk"),
        ):
            self.assertEqual(self.request("GET", path).status, 404, path)
        self.assertEqual(self.request("POST", "/dm/exekute", {}).status, 404)
        self.assertEqual(self.request("GET", DRIVERS).status, 200)
        self.assertEqual(self.request("GET", "/dm/").status, 200)

    def test_foreign_page(self) -> None:
        """A page of another origin may change nothing under any word."""
        foreign = [("Origin", "https://evil.example")]
        for word in ("main", *self.WORDS):
            answer = self.request("POST", SETTINGS.replace("main", word), {"logdays": 3}, foreign)
            self.assertEqual(answer.status, 403, word)

    def test_blocked(self) -> None:
        """Any word needs the login as well."""
        self.switch_on()
        for word in self.WORDS:
            for path in (SETTINGS.replace("main", word), f"/dm/{word}/"):
                self.assertTrue(self.is_blocked(self.request("GET", path)), path)

    def test_links(self) -> None:
        """The links of pages have the configured word; that one needs no path under it."""
        self.configure(ServerConfig(path_alias="desk"))
        page = self.request("GET", "/dm/").body
        self.assertIn(b'"/dm/desk/receipts"', page)
        self.assertNotIn(b'"/dm/main/', page)
        for path in ("/", "/dm/desk", "/dm/main"):
            self.assertEqual(self.request("GET", path).header("location"), "http://localhost:3939/dm/desk/")
        self.switch_on()
        self.assertTrue(self.is_blocked(self.request("GET", "/dm/desk")))
