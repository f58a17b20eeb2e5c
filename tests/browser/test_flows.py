"""What people do with the pages, click by click."""

from __future__ import annotations

import json
import re

from tests.browser.case import BrowserCase
from tests.specification import promises
from tests.test_service_process import until
from tests.web_case import fiscal, sale

LOGIN = re.compile(r"/login(\?|$)")
MOST_CLICKS = 10
"""Clicks from a fresh service to the first receipt."""


class FirstReceiptTests(BrowserCase):
    """The way to the first receipt."""

    def sell(self) -> None:
        """Go the way from the first page to the picture of a receipt."""
        self.go("/")
        self.click(".invite a.button")
        self.see("#make, #open")
        if self.page.query_selector("#make"):
            self.click("#make")
            self.see(".steps li.done")
        self.click("#open")
        self.see("#sell:not([disabled])")
        self.click("#sell")
        self.see("#picture[src^='data:image/png']")
        self.assertGreater(self.page.evaluate("document.querySelector('#picture').naturalWidth"), 300)

    def test_fresh_service(self) -> None:
        """A fresh service leads to a receipt with its picture in ten clicks at most, and it is there once."""
        self.sell()
        self.assertLessEqual(self.clicks, MOST_CLICKS)
        self.assertEqual([entry["sum"] for entry in self.service.sales()], [12550])
        self.picture("first")
        self.click("#to-receipt")
        self.assertIn("Продаж № 2", self.text("h1"))
        self.see("img.paper")
        self.picture("receipt")

    def test_empty_service(self) -> None:
        """A service without any device leads there as well."""
        for device in self.devices().values():
            self.service.request("DELETE", f"/dm/api/v3/devices/{device['dev_id']}")
        self.sell()
        self.assertLessEqual(self.clicks, MOST_CLICKS)
        self.assertEqual(len(self.service.sales()), 1)

    def test_keyboard(self) -> None:
        """The same way can be gone by keyboard alone, and the place of the focus can be seen at every step."""
        self.go("/dm/main/")
        self.walk_to(".invite a.button")
        self.page.keyboard.press("Enter")
        self.see("#open")
        self.walk_to("#open")
        self.page.keyboard.press("Space")
        self.see("#sell:focus")
        self.page.keyboard.press("Enter")
        self.see("#picture[src^='data:image/png']")
        self.assertEqual(len(self.service.sales()), 1)

    def walk_to(self, selector: str) -> None:
        """Press Tab until the focus is there."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            seen, there = self.page.evaluate(
                """selector => {
                    const at = document.activeElement, style = getComputedStyle(at);
                    return [style.outlineStyle !== 'none' && style.outlineWidth !== '0px', at.matches(selector)];
                }""",
                selector,
            )
            self.assertTrue(seen, "the focus cannot be seen")
            if there:
                return
        self.fail(f"{selector} is not reached by Tab")


class AddDeviceTests(BrowserCase):
    """Devices added on the pages."""

    def add(self, kind: str, driver: str) -> None:
        """Go through the steps up to the form."""
        self.go("/dm/")
        self.click("main a.button")
        self.click(f".choose a[href$='kind={kind}']")
        self.click(f".choose a[href$='driver={driver}']")
        self.see("#settings")

    @promises("1.5.2")
    def test_each_kind(self) -> None:
        """Register, printer and terminal are added in a few clicks each, tried before, and work afterwards."""
        for kind, name in (("register", "till 2"), ("printer", "kitchen"), ("terminal", "pos 2")):
            self.clicks = 0
            self.add(kind, "training")
            self.fill("#device", name)
            self.click("#settings button.main")
            self.page.wait_for_url("**/dm/devices/*-*")
            self.assertLessEqual(self.clicks, 5)
            self.assertEqual(self.text("h1"), name)
            self.click("#try")
            self.assertIn("Готово", self.outcome())
            self.assertEqual(self.devices()[name]["kind"], kind)

    def test_wrong_input(self) -> None:
        """A mistake is shown at its field, unfolded and focused; nothing is stored until all of it is right."""
        before = set(self.devices())
        self.add("printer", "escpos")
        self.fill("#device", " ")
        self.click("#settings button.main")
        self.see("#device[aria-invalid='true']:focus")
        self.fill("#device", "kitchen")
        self.fill("#s-host", "127.0.0.1")
        self.click("details.more summary")
        self.fill("#s-columns", "7")
        self.click("details.more summary")
        self.click("#settings button.main")
        self.see("#s-columns[aria-invalid='true']:focus")
        self.assertEqual(self.text("[data-field='columns'] .error"), "потрібне ціле число, ≥ 24, ≤ 96")
        self.fill("#s-columns", "42")
        self.fill("#s-profile", "no such printer")
        self.click("#settings button.main")
        self.see("#s-profile[aria-invalid='true']:focus")
        self.assertIn("Перевірте значення", self.text("[data-field='profile'] .error"))
        self.assertEqual(set(self.devices()), before)

    def test_not_there(self) -> None:
        """A printer that does not answer is reported before it is stored; it can be stored anyway."""
        self.add("printer", "escpos")
        self.fill("#device", "kitchen")
        self.fill("#s-host", "127.0.0.1")
        self.fill("#s-port", "1")
        self.click("#settings button.main")
        self.see("#outcome .trouble")
        self.assertIn("Перевірте, чи принтер увімкнено", self.text("#outcome"))
        self.assertNotIn("kitchen", self.devices())
        self.picture("add-printer")
        self.click("#outcome button")
        self.page.wait_for_url("**/dm/devices/*-*")
        settings = self.devices()["kitchen"]["settings"]
        self.assertEqual((settings["host"], settings["port"]), ("127.0.0.1", 1))

    def test_real_register(self) -> None:
        """In training mode a register with real documents is added after a question only, and each page names it."""
        for answer in ("no", "yes"):
            self.add("register", "prro")
            self.fill("#device", "real till")
            self.click("#settings button.main")
            self.see("#sure-real[open]")
            self.click(f"#sure-real button[value={answer}]")
            if answer == "no":
                self.see("#outcome:has-text('confirm_real')")
                self.assertNotIn("real till", self.devices())
        self.page.wait_for_url("**/dm/devices/*-*")
        self.assertEqual(self.devices()["real till"]["driver"], "prro")
        self.assertIn("справжні документи", self.text(".notices"))

    def test_name_taken(self) -> None:
        """A name that another device has is refused in words."""
        self.add("printer", "training")
        self.fill("#device", "test")
        self.click("#settings button.main")
        self.page.wait_for_selector("#outcome .trouble")
        self.assertIn("2002", self.text("#outcome"))

    def test_fields_follow(self) -> None:
        """Only the fields of the chosen kind of line are to be seen."""
        self.add("printer", "escpos")
        self.assertTrue(self.page.is_visible("#s-host"))
        self.assertFalse(self.page.is_visible("#s-serial_port"))
        self.page.select_option("#s-interface", label="COM-порт")
        self.assertFalse(self.page.is_visible("#s-host"))
        self.assertTrue(self.page.is_visible("#s-serial_port"))

    def test_change_and_delete(self) -> None:
        """A setting is changed and shown as changed; a device is deleted only after a question is answered."""
        device = self.devices()["test"]
        self.go(f"/dm/devices/{device['dev_id']}")
        self.fill("#s-shopname", "Кав’ярня")
        self.click("[data-part='money'] summary")
        self.page.uncheck("[data-field='tax_groups'] [data-code='3']")
        self.click("[data-part='paper'] summary")
        self.page.fill("#s-header", "Перший рядок\nДругий")
        self.click("#settings button.main")
        self.page.wait_for_selector("#outcome h2:has-text('Збережено')")
        settings = self.devices()["test"]["settings"]
        self.assertEqual((settings["shopname"], settings["header"]), ("Кав’ярня", ["Перший рядок", "Другий"]))
        self.assertEqual([group["code"] for group in settings["tax_groups"] if not group["enabled"]], [3])
        self.assertEqual((settings["batch"]["terminal"], settings["batch"]["printer"]), ("pos", "prn"))
        self.click("#delete")
        self.click("#sure-delete button[value='no']")
        self.assertIn("test", self.devices())
        self.click("#delete")
        self.click("#sure-delete button[value='yes']")
        self.page.wait_for_url("**/dm/")
        self.assertNotIn("test", self.devices())


class DatedTests(BrowserCase):
    """Settings of a register that change on a day."""

    def test_rows(self) -> None:
        """A row is added with a day, a setting and a value, is listed, and is deleted; a wrong one is explained."""
        dev_id = self.devices()["test"]["dev_id"]
        self.go(f"/dm/devices/{dev_id}")
        self.page.select_option("#dated-setting", "tax_groups.1.percent")
        self.fill("#dated-from", "2099-01-01")
        self.fill("#dated-value", "2100")
        self.click("#dated form button")
        self.see("#dated [data-row]")
        row = {"valid_from": "2099-01-01", "setting": "tax_groups.1.percent", "value": 2100}
        self.assertEqual(self.devices()["test"]["settings"]["dated"], [row])
        self.page.select_option("#dated-setting", "rounding_step")
        self.fill("#dated-from", "2099-01-01")
        self.fill("#dated-value", "7")
        self.click("#dated form button")
        self.assertIn("rounding_step", self.outcome())
        self.click("#dated [data-row]")
        self.page.wait_for_selector("#dated [data-row]", state="detached")
        self.assertEqual(self.devices()["test"]["settings"]["dated"], [])


class BoardTests(BrowserCase):
    """A cashier at a register."""

    def setUp(self) -> None:
        """The board of a register with an open shift."""
        super().setUp()
        self.open_shift(self.service)
        self.go(f"/dm/main/registers/{self.devices()['test']['dev_id']}")

    def scenario(self, *rules: dict[str, object]) -> None:
        """What goes wrong next."""
        self.service.request("PUT", f"{self.service.device()}/scenario", {"rules": list(rules)})

    def put_in(self) -> None:
        """Put 50 hryvnias into the drawer."""
        self.fill("#amount", "50,00")
        self.click("#cash-form button[data-task='3']")

    def test_day(self) -> None:
        """Cash in, X, last numbers, a copy and the Z are done and explained; the Z asks first, and shows its sums.

        What is impossible cannot be pressed, and what is typed stays while the page follows the till.
        """
        self.assertEqual(self.page.query_selector_all("#live-next [data-task='0']"), [])
        self.fill("#amount", "50,00")
        self.see("#cash-form button[data-task='4'][disabled]")
        self.assertIn("у шухляді стільки немає", self.text("#after"))
        self.service.execute(sale("sale-1"))
        self.see("#live-drawer dd:has-text('125,50')")
        self.see("#cash-form button[data-task='4']:not([disabled])")
        self.assertEqual(self.page.input_value("#amount"), "50,00")
        self.assertEqual(
            self.text("#after").split(), ["Після", "внесення", "175,50", "грн", "Після", "вилучення", "75,50", "грн"]
        )
        self.click("#cash-form button[data-task='3']")
        self.assertIn("Внести готівку: Готово", self.outcome())
        self.see("#live-drawer dd:has-text('175,50')")
        self.click("#live-next button[data-task='10']")
        self.see("#outcome h2:has-text('X-звіт: Готово')")
        self.click("#others summary")
        for task, words in ((21, "Останні номери: Готово"), (22, "Копія останнього чека: Готово")):
            self.click(f"#others button[data-task='{task}']")
            self.see(f"#outcome h2:has-text('{words}')")
        self.click("button[data-task='11']")
        self.see("#z-sales:has-text('125,50 грн')")
        # What a till sells while the question is open is in the sums before it is answered.
        self.service.execute(sale("sale-2"))
        self.see("#z-sales:has-text('251,00 грн')")
        self.picture("z-preview")
        self.click("#sure-z button[value='no']")
        self.assertEqual(self.ledger("z"), [])
        self.click("button[data-task='11']")
        self.click("#sure-z button[value='yes']")
        self.see("#live-standing .badge:has-text('закрита')")
        self.see("#outcome:has-text('251,00')")
        self.assertEqual([len(self.ledger(kind)) for kind in ("z", "cash_in")], [1, 1])
        self.see("#live-next button.main[data-task='0']")
        self.assertFalse(self.page.is_visible("#amount"))

    def test_refused(self) -> None:
        """A refusal is explained in the catalogue's words, with the next step of the cashier."""
        self.scenario({"on": "cash_in", "then": "refuse"})
        self.put_in()
        told = self.outcome()
        self.assertIn("Внести готівку: Не вдалося", told)
        self.assertIn("Що робити", told)

    def test_doubt(self) -> None:
        """A document in doubt is the next step; one press finds out, and the board is as before."""
        self.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        self.service.execute(sale("sale-1"))
        self.see("#live-next a:has-text('Продаж № 2')")
        self.assertEqual(self.page.query_selector_all("#live-next [data-task='11']"), [])
        self.scenario()
        self.click("#live-next button.main[data-task='18']")
        self.see("#live-next button[data-task='11']")
        self.see("#outcome:focus")
        self.assertEqual(len(self.service.sales()), 1)

    def test_offline(self) -> None:
        """The register goes offline after a question, says for how long it may, and comes back."""
        self.click("#others summary")
        self.click("#others button[data-mode='go-offline']")
        self.click("#sure-offline button[value='yes']")
        self.see("#live-standing .badge:has-text('офлайн')")
        self.assertIn("34 год 59 хв", self.text("#live-home").replace("35 год 0 хв", "34 год 59 хв"))
        self.picture("offline")
        self.click("#live-home button[data-mode='go-online']")
        self.page.wait_for_selector("#live-home section", state="detached")
        self.see("#live-standing dd:has-text('онлайн')")

    def test_settled(self) -> None:
        """The tax service took it and the answer was lost: the service asks, and the person sees success."""
        self.scenario({"on": "cash_in", "then": "lost_after"})
        self.put_in()
        self.assertIn("Внести готівку: Готово", self.outcome())
        self.assertEqual(len(self.ledger("cash_in")), 1)

    def test_lost_answer(self) -> None:
        """The worst day: took it, then away for longer than a till waits; the person repeats. It is there once."""
        self.scenario({"on": "cash_in", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        self.put_in()
        self.assertIn("Результат поки невідомий", self.outcome())
        self.scenario()
        self.see("#pending:not([hidden])")
        self.picture("pending")
        self.click("#pending button.main")
        self.see("#outcome h2:has-text('Це вже виконано раніше')")
        self.page.wait_for_selector("#pending", state="hidden")
        self.assertEqual(len(self.ledger("cash_in")), 1)

    def test_killed_service(self) -> None:
        """The service dies in the middle, the page is reloaded, the action is repeated: it is there once."""
        self.scenario({"on": "cash_in", "then": "accept", "delay_ms": 5000})
        self.put_in()
        until(lambda: self.ledger("cash_in") or None, "it was not taken")
        self.restart()
        self.see("#pending:not([hidden])")
        self.page.reload()
        self.see("#pending:not([hidden])")
        self.click("#pending button.main")
        self.see("#outcome.done")
        self.assertEqual(len(self.ledger("cash_in")), 1)

    def test_pressed_twice(self) -> None:
        """A button that is pressed twice in haste does its work once."""
        self.scenario({"on": "cash_in", "then": "accept", "delay_ms": 1000})
        self.fill("#amount", "50")
        self.page.dblclick("#cash-form button[data-task='3']")
        self.see("#outcome h2:has-text('Готово')")
        self.assertEqual(len(self.ledger("cash_in")), 1)


class LivePageTests(BrowserCase):
    """Pages that follow what happens."""

    def test_heals(self) -> None:
        """A page shows a sale as it happens, says when the service is gone, and goes on after its restart."""
        self.open_shift(self.service)
        self.go("/dm/main/")
        self.see("#line:has-text('Дані оновлюються автоматично')")
        self.service.execute(sale("sale-1"))
        self.see("#live-registers a:has-text('Продаж № 2')")
        self.see("#live-today rect.bar")
        port = self.service.port
        self.service.process.kill()
        self.service.wait()
        self.see("#line.lost")
        self.service = self.start("--port", str(port))
        self.see("#line:not(.lost)")
        self.service.execute(sale("sale-2"))
        self.see("#live-registers a:has-text('Продаж № 3')")

    def test_unfinished(self) -> None:
        """A receipt in doubt comes up with what to do; one press finds out, and it is gone."""
        self.open_shift(self.service)
        path = f"{self.service.device()}/scenario"
        rules = [{"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0}]
        self.service.request("PUT", path, {"rules": rules})
        self.go("/dm/main/")
        self.service.execute(sale("sale-1"))
        self.see("#live-unfinished button[data-ask]")
        self.picture("unfinished")
        self.service.request("PUT", path, {"rules": []})
        self.click("#live-unfinished button[data-ask]")
        self.page.wait_for_selector("#live-unfinished .attention", state="detached")
        self.assertEqual(len(self.service.sales()), 1)

    def test_strip(self) -> None:
        """A test print shows on the paper of the training printer."""
        self.go(f"/dm/devices/{self.devices()['prn']['dev_id']}")
        height = "document.querySelector('#paper').naturalHeight"
        before = self.page.evaluate(height)
        self.click("button[data-doc='{\"test\":1}']")
        self.assertIn("Готово", self.outcome())
        until(lambda: self.page.evaluate(height) > before + 100 or None, "the paper does not grow")

    def test_terminal(self) -> None:
        """A terminal shows its totals and its last operation."""
        self.go(f"/dm/devices/{self.devices()['pos']['dev_id']}")
        self.click("button[data-pay='10']")
        self.see("#outcome h2:has-text('Проміжний звіт: Готово')")
        self.click("button[data-pay='11']")
        self.click("#sure-settlement button[value='yes']")
        self.see("#outcome h2:has-text('Звірка')")


class TryingTests(BrowserCase):
    """Requests tried, codes looked up, settings changed."""

    def test_console(self) -> None:
        """A request is sent, its answer is spelled as it came and explained; the same key brings the same answer."""
        self.open_shift(self.service)
        self.go("/dm/main/console")
        self.click("#console button.main")
        self.see("#meaning h2:has-text('Готово')")
        self.see("#answer:has-text('\"price\": 125.5,')")
        self.assertIn('"cnt": 1.0,', self.text("#answer"))
        self.click("#console button.main")
        self.see("#meaning h2:has-text('Це вже виконано раніше')")
        self.click("#fresh")
        self.click("#console button.main")
        self.see("#answer:has-text('\"task_status\": 1')")
        self.assertEqual(len(self.service.sales()), 2)
        self.page.select_option("#example", label="Пошук за tag")
        self.click("#console button.main")
        self.see("#meaning h2:has-text('Це вже виконано раніше')")
        self.page.select_option("#example", label="Відкрити зміну")
        self.click("#console button.main")
        self.see("#meaning a:has-text('1096')")
        self.fill("#body", "{")
        self.click("#console button.main")
        self.see("#body[aria-invalid='true']")

    def test_interface(self) -> None:
        """The page of the interface shows every task; an example goes to the console, where a person sends it."""
        self.open_shift(self.service)
        self.go("/dm/api")
        self.click("summary:has-text('POST /dm/execute ')")
        self.assertIn("Продаж на картку зі знижкою", self.text())
        self.click("details[open] summary:has-text('Продаж на картку зі знижкою')")
        self.click("details[open] details[open] a[href^='/dm/main/console']")
        self.page.wait_for_url("**/dm/main/console**")
        self.assertIn('"Чай, кг"', self.page.input_value("#body"))
        self.assertEqual(self.service.sales(), [])
        self.click("#console button.main")
        self.see("#meaning h2:has-text('Готово')")
        self.assertEqual(len(self.service.sales()), 1)

    def test_language(self) -> None:
        """A person switches the language once, and every page keeps to it."""
        self.go("/dm/")
        self.click("[data-language='en']")
        self.see("h1:has-text('Devices')")
        self.go("/dm/main/codes?q=1092")
        self.assertIn("Result codes", self.text("h1"))

    def test_login(self) -> None:
        """The login is switched on, asked for, and ended by the button."""
        self.go("/dm/main/settings")
        self.page.check("[name=usr_uiauth]")
        self.fill("#usr_login", "owner")
        self.fill("#usr_pass", "a long one 17")
        self.fill("#usr_confpass", "a long one 17")
        self.click("form:has(#usr_pass) button")
        self.page.wait_for_url(LOGIN)
        self.fill("[name=login]", "owner")
        self.fill("[name=pass]", "a long one 17")
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/dm/**")
        self.click("[data-logout]")
        self.page.wait_for_url(LOGIN)
        self.assertEqual(self.service.execute(fiscal(18))["res"], 0)

    @promises("1.11.1.1")
    def test_key(self) -> None:
        """A setting is kept; a key for a program is shown once, listed by name, and deleted after a question."""
        self.go("/dm/main/settings")
        self.fill("#packdays", "50")
        self.click("form:has(#packdays) button")
        self.see("#outcome h2:has-text('Збережено')")
        self.page.reload()
        self.assertEqual(self.page.input_value("#packdays"), "50")
        self.fill("#key-name", "Бухгалтерія")
        self.click("#new-key button")
        self.see("#outcome .code")
        self.assertGreater(len(self.text("#outcome .code")), 20)
        self.click("#live-keys [data-key]")
        self.click("#sure-key button[value='yes']")
        self.page.wait_for_selector("#live-keys li", state="detached")

    def test_search(self) -> None:
        """A receipt is found by its sum, and its copy goes to the printer."""
        self.open_shift(self.service)
        self.service.execute(sale("sale-1"))
        self.go("/dm/main/receipts")
        self.fill("#q", "125,50")
        self.click(".find button.main")
        self.click("#live-found tbody a")
        self.click("#print")
        self.assertIn("Надруковано", self.outcome())
        jobs = json.loads(self.service.request("GET", "/dm/api/v3/jobs")[1])["jobs"]
        self.assertEqual([job["fate"] for job in jobs], ["printed"])
