"""The web interface without a mouse: every page walked through, every deed done by keys."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.browser.case import REAL
from tests.browser.keyboard import KeyboardCase
from tests.browser.shop import ShopCase
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.prro_shop import cashier_of_today, container
from tests.test_service_process import until
from tests.web_case import sale


class EveryPageTests(ShopCase, KeyboardCase):
    """Every page, by Tab alone."""

    def test_walk(self) -> None:
        """Tab reaches every control of every page in the order of reading, seen at each, and Shift+Tab goes back."""
        for path in self.paths():
            self.go(path)
            self.unfold(path)
            self.walk(path)

    def test_skip(self) -> None:
        """The first control of a page leads past its menu, to the first control of its content."""
        self.go("/dm/main/settings")
        self.press("Tab", "Enter", "Tab")
        self.assertTrue(self.at("main .areas a:first-child"))


class DeedTests(KeyboardCase):
    """What a shop does, by keys alone."""

    def outcome_of(self, words: str) -> None:
        """Wait until the page says it."""
        self.see(f"#outcome:not([hidden]) h2:has-text('{words}')")

    def board(self) -> None:
        """Open the board of `test`."""
        self.go(f"/dm/main/registers/{self.devices()['test']['dev_id']}")

    def test_device(self) -> None:
        """A device is added, named, folded out, changed, and deleted after a question that Escape leaves."""
        self.go("/dm/")
        self.use("main a.button")
        self.see(".choose")
        self.use(".choose a[href$='kind=printer']")
        self.see(".choose a[href$='driver=training']")
        self.use(".choose a[href$='driver=training']")
        self.see("#settings")
        self.write("#device", "kitchen")
        self.press("Enter")
        self.page.wait_for_url("**/dm/devices/*-*")
        self.use("#try")
        self.outcome_of("Готово")
        self.use("details.more summary")
        self.write("details.more[open] input[type='number']", "42")
        self.use("#settings button.main", "Space")
        self.outcome_of("Збережено")
        self.use("#delete")
        self.escape("sure-delete", "#delete")
        self.assertIn("kitchen", self.devices())
        self.press("Space")
        self.agree("sure-delete")
        self.page.wait_for_url("**/dm/")
        self.assertNotIn("kitchen", self.devices())

    def test_day(self) -> None:
        """A shift is opened, a sale made and found again, cash put in, the copy printed, the shift closed."""
        self.board()
        self.write("#cashier", "Олена")
        self.walk_to("#printer")
        self.press("ArrowDown")
        self.assertEqual(self.page.input_value("#printer"), "prn")
        self.use("button[data-task='0']")
        self.outcome_of("Відкрити зміну: Готово")
        # A second press must not do the next step, which is in the place of the button.
        self.see("#outcome:focus")
        self.see("#amount")
        self.write("#amount", "50")
        self.press("Enter")
        self.outcome_of("Внести готівку: Готово")
        self.go("/dm/main/first")
        self.use("#sell")
        self.see("#receipt-title:focus")
        self.go("/dm/main/receipts")
        self.write("#q", "125,50")
        self.press("Enter")
        self.page.wait_for_url("**q=125*")
        self.use("#live-found tbody a")
        self.see("#print")
        self.use("#print", "Space")
        self.see("#outcome:not([hidden]):has-text('Надруковано')")
        self.board()
        self.use("button[data-task='11']")
        self.escape("sure-z", "button[data-task='11']")
        self.assertEqual(self.ledger("z"), [])
        self.press("Enter")
        self.agree("sure-z")
        self.see("#live-standing .badge:has-text('закрита')")
        self.see("#outcome:focus")
        self.assertEqual([len(self.ledger(kind)) for kind in ("sale", "cash_in", "z")], [1, 1, 1])

    def test_console(self) -> None:
        """A sale is chosen among the examples by arrows and sent; a text field lets the focus go on."""
        self.open_shift(self.service)
        self.go("/dm/main/console")
        self.walk_to("#example")
        titles = self.page.evaluate("[...document.querySelectorAll('#example option')].map(each => each.textContent)")
        for _ in range(titles.index("Продаж за готівку")):
            self.press("ArrowDown")
        self.walk_to("#body")
        self.press("Tab", "Enter")
        self.see("#meaning h2:has-text('Готово')")
        self.assertEqual(len(self.service.sales()), 1)

    def test_lost_answer(self) -> None:
        """Action without an answer is repeated by keys; the focus stays at what came of it."""
        self.open_shift(self.service)
        path = f"{self.service.device()}/scenario"
        rules = [{"on": "cash_in", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0}]
        self.service.request("PUT", path, {"rules": rules})
        self.board()
        self.write("#amount", "50")
        self.press("Enter")
        self.see("#pending:not([hidden])")
        self.service.request("PUT", path, {"rules": []})
        self.walk_to("#pending button.main", "Shift+Tab")
        self.press("Enter")
        self.outcome_of("Це вже виконано раніше")
        self.see("#outcome:focus")
        self.assertEqual(len(self.ledger("cash_in")), 1)

    def test_settle(self) -> None:
        """A payment in doubt is settled by keys after a question, which gives the focus back when it is closed."""
        terminal = self.service.device("pos")
        self.service.request("PATCH", terminal, {"settings": {"wait_s": 10}})
        rules = [{"on": "payment", "then": "lost_after", "delay_ms": 6000}]
        self.service.request("PUT", f"{terminal}/scenario", {"rules": rules})
        paying = self.service.connect()
        self.addCleanup(paying.close)
        paid = {"ver": 6, "device": "pos", "type": 3, "pay": {"task": 1, "sum": 100}}
        paying.request("POST", "/dm/execute", json.dumps(paid))
        until(lambda: b'"payment"' in self.service.request("GET", f"{terminal}/ledger")[1] or None, "nothing is paid")
        rules = [{"on": "probe", "then": "unreachable", "times": 0}]
        self.service.request("PUT", f"{terminal}/scenario", {"rules": rules})
        told = json.loads(paying.getresponse().read())
        self.assertEqual(told["res_action"], 2)
        self.go("/dm/main/")
        approved = "#live-unfinished button[data-outcome='approved']"
        self.see(approved)
        self.walk_to(approved)
        self.press("Enter")
        self.see("#sure-settle[open]")
        self.escape("sure-settle", approved)
        for _ in range(8):
            self.walk_to(approved)
            self.press("Enter")
            self.use("#sure-settle[open] button[value='yes']")
            # While the terminal is being asked once more it is busy, and the settling is tried again.
            self.see("#outcome:not([hidden]) h2")
            if "1105" not in self.text("#outcome"):
                break
            self.page.wait_for_timeout(2000)
        self.page.wait_for_selector(approved, state="detached")
        self.assertTrue(self.page.evaluate("document.activeElement !== document.body"), "the focus is lost")
        self.service.request("PUT", f"{terminal}/scenario", {"rules": []})
        told = self.service.execute(
            {"ver": 6, "device": "pos", "type": 3, "transaction_id": told["transaction_id"], "transaction_search": 1}
            | {"pay": {"task": 1, "sum": 100}}
        )
        self.assertEqual(told["res"], 0)

    def test_find_out(self) -> None:
        """A document in doubt is asked after by keys, and the focus is not lost when its place goes."""
        self.open_shift(self.service)
        rules = [{"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0}]
        register = self.service.device()
        self.service.request("PUT", f"{register}/scenario", {"rules": rules})
        self.service.execute(sale("sale-1"))
        self.go("/dm/main/")
        self.see("#live-unfinished button[data-ask='test']")
        self.service.request("PUT", f"{register}/scenario", {"rules": []})
        self.use("#live-unfinished button[data-ask='test']")
        self.page.wait_for_selector("#live-unfinished button[data-ask='test']", state="detached")
        self.assertTrue(self.page.evaluate("document.activeElement !== document.body"), "the focus is lost")

    def test_question_while_live(self) -> None:
        """A page that reloads while a dialog is open does not lose the place to which the focus returns."""
        self.service.request("POST", "/dm/api/v3/api-keys", {"name": "one"})
        self.go("/dm/main/settings")
        self.see("#line:has-text('Дані оновлюються автоматично')")
        self.walk_to("#live-keys [data-key]")
        self.press("Enter")
        self.see("#sure-key[open]")
        self.service.request("POST", "/dm/api/v3/api-keys", {"name": "two"})
        # Longer than two looks lie apart.
        self.page.wait_for_timeout(2500)
        self.escape("sure-key", "#live-keys [data-key]")
        self.see("#live-keys li:nth-child(2)")
        self.assertTrue(self.at("#live-keys [data-key]"))

    def test_settings(self) -> None:
        """A setting is changed, a key for a program made, replaced, revoked; the focus is never lost."""
        self.go("/dm/main/settings")
        self.write("#packdays", "50")
        self.press("Enter")
        self.outcome_of("Збережено")
        self.write("#key-name", "Бухгалтерія")
        self.press("Enter")
        self.see("#outcome .code")
        self.see("#live-keys [data-key]")
        self.walk_to("#live-keys [data-replace]", "Shift+Tab")
        self.press("Enter")
        self.escape("sure-replace", "#live-keys [data-replace]")
        self.use("#live-keys [data-key]")
        self.agree("sure-key")
        self.page.wait_for_selector("#live-keys li", state="detached")
        self.assertTrue(self.page.evaluate("document.activeElement !== document.body"), "the focus is lost")
        self.go("/dm/main/settings/database")
        self.use("#check")
        self.outcome_of("База не пошкоджена")

    def test_uploads(self) -> None:
        """A certificate and the key of a register are chosen and loaded, and the focus is still on the page."""
        self.go("/dm/main/settings/certificate")
        key = make_key()
        content = pem(make_certificate(time.time(), key, "desk.shop.local", names=("desk.shop.local",))) + key_pem(
            key
        )
        file: dict[str, Any] = {"name": "desk.pem", "mimeType": "text/plain", "buffer": content}
        self.choose_file("#file-file", file)
        self.use("#upload button")
        self.outcome_of("Встановлено")
        self.see("#live-certificate .badge.good")
        made = {**REAL, "fisid": "4000000001", "fis_code": "34554363"}
        self.service.request("POST", "/dm/main/api/v1/prro", made)
        self.go(f"/dm/devices/{self.devices()['real']['dev_id']}")
        file = {
            "name": "Key-6.pfx",
            "mimeType": "application/octet-stream",
            "buffer": container(cashier_of_today(), "сезам"),
        }
        self.choose_file("#key-form #file-file", file)
        self.write("#password", "сезам")
        self.press("Enter")
        self.outcome_of("Ключ завантажено")
        self.see("details:not([open]) > summary:focus")

    def test_login(self) -> None:
        """One logs in and out."""
        members = {
            "usr_uiauth": True,
            "usr_login": "owner",
            "usr_pass": "a long one 17",
            "usr_confpass": "a long one 17",
        }
        _, told = self.service.request("POST", "/dm/main/api/v1/settings", members)
        self.assertEqual(json.loads(told)["res"], 0)
        self.go("/dm/main/")
        self.see("[name=login]:focus")
        self.page.keyboard.insert_text("owner")
        self.press("Tab")
        self.page.keyboard.insert_text("a long one 17")
        self.press("Enter")
        self.see("h1:has-text('Огляд')")
        self.use("[data-logout]")
        self.see("[name=login]:focus")
