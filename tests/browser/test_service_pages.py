"""What an owner does with the service itself: certificate, database, log, keys, the login and its limits."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from pathlib import Path
from typing import Any

from dmtwisted.config import PRESENCE_FILE
from tests.browser.case import REAL, BrowserCase
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.prro_shop import cashier_of_today, container
from tests.specification import promises
from tests.web_case import fiscal

LOGIN = re.compile(r"/login(\?|$)")
PASSWORD = "a long one 17"


class ServicePageCase(BrowserCase):
    """The pages of the service."""

    def switch_on(self) -> None:
        """Ask for the login `owner` from now on."""
        members = {"usr_uiauth": True, "usr_login": "owner", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
        _, told = self.service.request("POST", "/dm/main/api/v1/settings", members)
        self.assertEqual(json.loads(told)["res"], 0)

    def log_in(self, password: str = PASSWORD) -> None:
        """Fill in the login page."""
        self.fill("[name=login]", "owner")
        self.fill("[name=pass]", password)
        self.page.keyboard.press("Enter")

    def ask_with_key(self, key: str, method: str, path: str, body: object = None) -> int:
        """The status of the answer to a program that shows a key."""
        connection = self.service.connect()
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"x-api-key": key, "Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def download(self, selector: str) -> bytes:
        """The file that a link gives."""
        with self.page.expect_download() as coming:
            self.click(selector)
        path = coming.value.path()
        return Path(path).read_bytes()


class CertificateTests(ServicePageCase):
    """The certificate of the service."""

    @promises("1.4.2")
    def test_authority(self) -> None:
        """One press creates a local authority; its certificate can be downloaded, the other one removed."""
        self.go("/dm/main/settings/certificate")
        self.assertIn("Сертифіката немає", self.text("#live-certificate"))
        self.fill("#names", "desk.shop.local\n192.0.2.7")
        self.click("#make-authority button")
        self.see("#live-certificate .badge.good:has-text('799')")
        self.assertIn("desk.shop.local", self.text("#live-certificate"))
        self.assertIn("Перезапустіть сервіс", self.text("#live-certificate"))
        self.see("#live-authority dl.trust")
        self.assertIn(b"BEGIN CERTIFICATE", self.download("#live-authority a.button"))
        self.fill("#names", "a_b c/d")
        self.click("#make-authority button")
        self.see("#outcome.failed")
        self.click("#remove")
        self.click("#sure-remove button[value='yes']")
        self.page.wait_for_selector("#live-certificate .badge", state="detached")

    def test_upload(self) -> None:
        """A missing file and an invalid certificate are explained; a dropped file is used."""
        self.go("/dm/main/settings/certificate")
        self.click("#upload button")
        self.see("#file-file[aria-invalid='true']:focus")
        self.page.set_input_files("#file-file", {"name": "a.pem", "mimeType": "text/plain", "buffer": b"nothing"})
        self.click("#upload button")
        self.see("#outcome.failed")
        self.assertIn("neither PEM nor PKCS#12", self.text("#outcome"))
        key = make_key()
        own = make_certificate(time.time(), key, "desk.shop.local", names=("desk.shop.local",))
        good = pem(own) + key_pem(key)
        dropped = self.page.evaluate_handle(
            """text => {
                const carried = new DataTransfer();
                carried.items.add(new File([text], "desk.pem"));
                return carried;
            }""",
            good.decode(),
        )
        self.page.dispatch_event("#upload [data-drop]", "drop", {"dataTransfer": dropped})
        self.click("#upload button")
        self.see("#outcome.done:has-text('Встановлено')")
        self.see("#live-certificate .badge.good")
        self.picture("certificate")


class SupportPageTests(ServicePageCase):
    """Database, log, bundle, keys for programs."""

    def test_database(self) -> None:
        """The page says what is kept where; one press looks at all of it while tills go on."""
        self.open_shift(self.service)
        self.go("/dm/main/settings/database")
        for told in ("SQLite", "dmtwisted.db", "Фіскальних документів"):
            self.assertIn(told, self.text())
        self.click("#check")
        self.see("#outcome.done:has-text('База не пошкоджена')")
        self.see("#live-verdict .badge.good")
        self.click("#back-up")
        self.see("#live-backups li .badge.good")
        self.assertIn("dmtwisted restore", self.text())
        self.assertEqual(self.page.query_selector_all("#live-backups a"), [])
        # No reader has the folder of this test.
        place = str(self.folder / "state")
        self.page.evaluate(
            """place => {
                for (const each of document.querySelectorAll('dd.code, pre'))
                    each.textContent = each.textContent.replace(place, '/var/lib/dmtwisted');
            }""",
            place,
        )
        self.picture("database")
        self.fill("#packdays", "45")
        self.click("form:has(#packdays) button")
        self.see("#outcome h2:has-text('Збережено')")

    def test_backup_taken(self) -> None:
        """With a session a backup can be downloaded, byte by byte."""
        self.switch_on()
        self.go("/dm/main/settings/database")
        self.page.wait_for_url(LOGIN)
        self.log_in()
        self.see("#back-up")
        self.click("#back-up")
        self.see("#live-backups a")
        [made] = (self.folder / "state" / "backups").glob("*.tar.gz")
        self.assertEqual(self.download("#live-backups a"), made.read_bytes())

    def test_doctor(self) -> None:
        """One press looks at everything; what can be mended has a button, and after it there is nothing to mend."""
        self.go("/dm/main/settings/doctor")
        self.click("#examine")
        self.see("#outcome.done:has-text('Перевірку завершено')")
        self.see("#live-findings .badge.good")
        self.assertIn("test відповідає", self.text("#live-findings"))

    def test_log(self) -> None:
        """The log is looked through and taken along; the bundle is a zip."""
        self.go("/dm/main/settings/log")
        self.assertIn("serving on", self.text("#lines"))
        self.fill("#filter", "no line has this")
        self.assertEqual(self.text("#lines"), "Рядків ще немає")
        self.fill("#filter", "SERVING")
        self.assertIn("serving on", self.text("#lines"))
        self.open_shift(self.service)
        self.fill("#filter", "")
        self.see("#lines:has-text('test')")
        self.assertNotIn("web.service", self.text("#lines"))
        self.assertIn("сторінки", self.text("#lines"))
        self.page.select_option("#level", "error")
        self.assertEqual(self.text("#lines"), "Рядків ще немає")
        self.page.select_option("#level", "debug")
        self.click("#pause")
        before = self.text("#lines")
        self.service.execute(fiscal(10))
        self.see("#log-told:has-text('Нових подій')")
        self.assertEqual(self.text("#lines"), before)
        self.click("#pause")
        longer = "before => document.querySelector('#lines').innerText.length > before"
        self.page.wait_for_function(longer, arg=len(before))
        self.assertIn(b"serving on", self.download("a[href$='format=text']"))
        with zipfile.ZipFile(io.BytesIO(self.download("a[href$='diagnostics']"))) as archive:
            self.assertIn("dmtwisted/devices.json", archive.namelist())

    @promises("5.5b.2", "5.5b.3.1")
    def test_keys(self) -> None:
        """A key is made and shown once, replaced and shown once, and deleted; each after a question."""
        self.go("/dm/main/settings")
        self.fill("#key-name", "Бухгалтерія")
        self.click("#new-key button")
        self.see("#outcome .code")
        first = self.text("#outcome .code")
        self.see("#live-keys [data-replace]")
        self.picture("settings")
        self.click("#live-keys [data-replace]")
        self.click("#sure-replace button[value='yes']")
        self.see(f"#outcome .code:not(:has-text('{first}'))")
        second = self.text("#outcome .code")
        self.switch_on()
        for key, status in ((first, 302), (second, 200)):
            self.assertEqual(self.ask_with_key(key, "GET", "/dm/api/v3/drivers"), status)


class PresenceTests(ServicePageCase):
    """Another computer, before there is a login."""

    def test_code(self) -> None:
        """A change is refused with the reason; with the code, which the page asks for, it succeeds."""
        # A request through a proxy is one of another computer.
        self.page.set_extra_http_headers({"X-Forwarded-For": "192.168.1.20"})
        self.go("/dm/main/settings")
        self.fill("#key-name", "till")
        self.click("#new-key button")
        self.assertIn("presence-code", self.outcome())
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "presence-code")
        self.fill("#presence-code", "wrong")
        self.click("#presence button")
        self.see("#presence-trouble:not(:empty)")
        self.fill("#presence-code", (self.folder / "state" / PRESENCE_FILE).read_text("utf-8").strip())
        self.click("#presence button")
        self.page.wait_for_selector("#presence", state="detached")
        self.fill("#key-name", "till")
        self.click("#new-key button")
        self.see("#live-keys strong")


class SigningKeyTests(ServicePageCase):
    """The key of a register at the tax service."""

    def test_upload(self) -> None:
        """A key is loaded with its password and shown with its valid days; a wrong one is explained."""
        made = {**REAL, "fisid": "4000000001", "fis_code": "34554363"}
        self.service.request("POST", "/dm/main/api/v1/prro", made)
        self.go(f"/dm/devices/{self.devices()['real']['dev_id']}")
        self.assertIn("Ключа ще немає", self.text("#live-key"))
        self.click("#key-form button")
        self.see("#file-file[aria-invalid='true']")
        content = container(cashier_of_today(), "сезам")
        file: dict[str, Any] = {"name": "Key-6.pfx", "mimeType": "application/octet-stream", "buffer": content}
        self.page.set_input_files("#file-file", file)
        self.fill("#password", "other")
        self.click("#key-form button")
        self.see("#outcome.failed a:has-text('2003')")
        self.fill("#password", "сезам")
        self.click("#key-form button")
        self.see("#outcome.done:has-text('Ключ завантажено')")
        self.see("#live-key .badge.good")
        self.assertIn("Олена Коваль", self.text("#live-key"))
        self.picture("register-key")

    def test_outlets(self) -> None:
        """What the tax service knows of the key is asked for by one press; one of its registers fills the form."""
        made = REAL
        self.service.request("POST", "/dm/main/api/v1/prro", made)
        dev_id = self.devices()["real"]["dev_id"]
        self.go(f"/dm/devices/{dev_id}")
        self.click("#ask-outlets")
        self.see("#outcome.failed a:has-text('1095')")
        register = {"fiscal_number": "4000000017", "local_number": 3, "name": "Каса 3", "closed": False}
        outlet = {
            "name": "Кав’ярня",
            "address": "м. Київ",
            "tin": "34554363",
            "ipn": "",
            "org_name": "ТОВ «Крамниця»",
            "single_tax": False,
            "chief_cashier": True,
            "registers": [register, {**register, "closed": True}],
        }
        # The tax service is played here: what the page makes of its answer is what is looked at.
        self.page.route("**/tax-objects", lambda route: route.fulfill(json={"tax_objects": [outlet]}))
        self.click("#ask-outlets")
        self.click("#outlets button")
        self.assertEqual(len(self.page.query_selector_all("#outlets button")), 1)
        self.click("#settings button.main")
        self.see("#outcome h2:has-text('Збережено')")
        settings = self.devices()["real"]["settings"]
        self.assertEqual((settings["fiscal_number"], settings["local_number"]), ("4000000017", 3))
        self.assertEqual((settings["name"], settings["shopad"]), ("ТОВ «Крамниця»", "м. Київ"))


class PeopleTests(ServicePageCase):
    """People with roles, and keys with roles."""

    def setUp(self) -> None:
        """The owner is logged in and looks at the settings."""
        super().setUp()
        self.ids = {name: device["dev_id"] for name, device in self.devices().items()}
        self.switch_on()
        self.go("/dm/main/settings")
        self.page.wait_for_url(LOGIN)
        self.log_in()
        self.see("#live-people li:has-text('owner')")

    def test_cashier(self) -> None:
        """A cashier is added with the keyboard, logs in to her register alone, and changes her password."""
        self.page.focus("#person-login")
        for text in ("olena", "\t", PASSWORD, "\t"):
            self.page.keyboard.press("Tab") if text == "\t" else self.page.keyboard.type(text)
        self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("ArrowDown")
        self.see("#new-person fieldset")
        self.page.focus(f"#new-person fieldset input[value='{self.ids['test']}']")
        self.page.keyboard.press("Space")
        self.page.keyboard.press("Enter")
        self.see("#live-people li:has-text('olena'):has-text('касир: test')")
        self.click("[data-logout]")
        self.page.wait_for_url(LOGIN)
        self.fill("[name=login]", "olena")
        self.fill("[name=pass]", PASSWORD)
        self.page.keyboard.press("Enter")
        self.see("h1:has-text('Огляд')")
        self.assertEqual(self.page.query_selector_all("nav a[href='/dm/main/settings']"), [])
        self.click(f"a.button[href='/dm/main/registers/{self.ids['test']}']")
        self.click("[data-task='0']")
        self.see("#outcome:has-text('Відкрити зміну')")
        self.assertIsNone(self.page.query_selector("[data-mode]"))
        self.go("/dm/main/settings")
        self.see("h1:has-text('Немає права')")
        self.click("a[href='/dm/main/me']")
        self.fill("#old", PASSWORD)
        self.fill("#password", "kavun-7-lito")
        self.fill("#again", "kavun-7-lita")
        self.click("#own-password button")
        self.assertIn("/dm/main/me", self.page.url)
        self.fill("#again", "kavun-7-lito")
        self.click("#own-password button")
        self.page.wait_for_url(LOGIN)

    def test_changed(self) -> None:
        """A key gets another role in a dialog, which can be left without a change; the owner stays administrator."""
        self.fill("#key-name", "Каса 1")
        self.click("#new-key button")
        self.see("#outcome .code")
        self.click("#live-keys [data-change]")
        self.click("#change-grant [data-close]")
        self.click("#live-keys [data-change]")
        self.page.select_option("#grant-role", "integrator")
        self.page.check(f"#change-grant fieldset input[value='{self.ids['pos']}']")
        self.click("#change-grant button.main")
        self.see("#live-keys li:has-text('інтегратор: pos')")
        self.click("#live-people [data-person]")
        self.click("#sure-person button[value='yes']")
        self.see("#outcome:has-text('останній адміністратор')")


class LoginLimitTests(ServicePageCase):
    """The login, and how long it lasts."""

    def setUp(self) -> None:
        """A service with a login and an open session; the browser's clock can be moved."""
        super().setUp()
        self.switch_on()
        self.page.clock.install()

    def enter(self) -> None:
        """Log in at the overview."""
        self.go("/dm/main/")
        self.page.wait_for_url(LOGIN)
        self.log_in()
        self.see("h1:has-text('Огляд')")
        # Its scripts run then: they count the time without input.
        self.page.wait_for_load_state()

    def test_wrong(self) -> None:
        """A wrong password is reported and refused; after too many attempts one has to wait."""
        self.go("/dm/main/receipts")
        self.page.wait_for_url(LOGIN)
        self.log_in("wrong")
        self.see("text=Неправильний логін або пароль")
        for _ in range(4):
            self.log_in("wrong")
            self.page.wait_for_load_state()
        self.assertEqual(self.service.request("GET", "/dm/api/v3/drivers")[0], 302)

    @promises("5.4.1.1", "5.4.1.2")
    def test_page_idle(self) -> None:
        """A page without input for ten minutes logs out by itself; one with input does not."""
        self.enter()
        self.page.clock.fast_forward("09:00")
        self.page.keyboard.press("Tab")
        self.page.clock.fast_forward("09:00")
        self.see("h1:has-text('Огляд')")
        self.page.clock.fast_forward("01:30")
        self.see("[name=pass]")

    def test_service_clock(self) -> None:
        """A session that the service has ended leads a page back to the login, and tills go on."""
        self.enter()
        path = "/dm/api/v3/training/clock"
        self.assertEqual(self.ask_with_key(self.own_key(), "PUT", path, {"offset_s": 16 * 60}), 200)
        self.go("/dm/main/settings")
        self.page.wait_for_url(LOGIN)
        self.assertEqual(self.service.execute(fiscal(18))["res"], 0)

    def own_key(self) -> str:
        """A key for programs, made in the session of the browser."""
        made = self.page.evaluate(
            """async () => {
                const answer = await fetch("/dm/api/v3/api-keys", {
                    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({name: "t"}),
                });
                return (await answer.json()).key;
            }"""
        )
        return str(made)
