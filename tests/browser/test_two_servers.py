"""The tax service's two servers on the pages: which of them knows a register, one of the cabinet's added and used."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from typing import Any
from urllib.parse import quote

from dmtwisted.lab.children import environment
from tests.browser.case import BrowserCase
from tests.test_service_process import PATIENCE, Service
from tests.web_case import multipart, sale

FISCAL, CABINET, BOTH, NEITHER = "4000000001", "4000000002", "4000000003", "4000000009"
"""Fiscal numbers of registers by the server that knows them."""

PASSWORD = "tax-test"


class TwoServersCase(BrowserCase):
    """Both servers run beside the service; they know the same key."""

    def setUp(self) -> None:
        """Start them on ports of their own."""
        super().setUp()
        self.fiscal, self.fiscal_control = self.simulate("a", FISCAL, BOTH)
        self.cabinet, self.cabinet_control = self.simulate("b", CABINET, BOTH)

    def simulate(self, protocol: str, *registers: str) -> list[str]:
        """The address for registers, and that of the control port."""
        words = [sys.executable, "-m", "dmtwisted.commands.main", "simulate", "tax-service", "--keys", "keys"]
        words += ["--protocol", protocol, *(f"--register={number}" for number in registers)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=self.folder, env=environment())
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        return re.findall(r"127\.0\.0\.1:\d+", process.stdout.readline().decode())[:2]

    def away(self, control: str) -> None:
        """The server at ``control`` answers no question from now on."""
        body = json.dumps({"rules": [{"on": "probe", "then": "unreachable", "times": 0}]}).encode()
        asked = urllib.request.Request(f"http://{control}/scenario", body, method="PUT")
        urllib.request.urlopen(asked, timeout=PATIENCE).close()


class FindingTests(TwoServersCase):
    """The button on the page of a register."""

    def register(self, number: str, keyed: bool = True) -> None:
        """Go to the page of a register of the fiscal server, with its key or without."""
        settings = {"fiscal_number": number, "server_url": f"http://{self.fiscal}/fs"}
        body = {"device": number, "kind": "register", "driver": "prro", "settings": settings, "confirm_real": True}
        status, answer = self.service.request("POST", "/dm/api/v3/devices", body)
        self.assertEqual(status, 201, answer)
        dev_id = json.loads(answer)["dev_id"]
        if keyed:
            content, kind = multipart(
                file=(self.folder / "keys" / "cashier.p12").read_bytes(), password=PASSWORD.encode()
            )
            url = f"http://127.0.0.1:{self.service.port}/dm/main/api/v1/prro/sign?dev_id={dev_id}"
            asked = urllib.request.Request(url, content, {"Content-Type": kind})
            with urllib.request.urlopen(asked, timeout=PATIENCE) as loaded:
                self.assertEqual(json.load(loaded)["res"], 0)
        # A register of a simulator asks no server of the internet: the other simulator is named.
        other = quote(f"http://{self.cabinet}", safe="")
        self.page.unroute("**/protocol")
        self.page.route("**/protocol", lambda route: route.continue_(url=f"{route.request.url}?other_url={other}"))
        self.go(f"/dm/devices/{dev_id}")

    def found(self, number: str) -> str:
        """What the page says about a register."""
        self.register(number)
        self.click("#ask-protocol")
        self.see("#protocol-found li >> nth=1")
        return self.text("#protocol-found")

    def test_cabinet(self) -> None:
        """Only the cabinet's server knows it: the page offers protocol B, and saving makes it so."""
        told = self.found(CABINET)
        self.assertIn("Протокол Б, сервер кабінету", told.splitlines()[0])
        self.assertIn("Протокол А, фіскальний сервер: не знає каси", told)
        self.assertIn("Протокол Б, сервер кабінету: знає касу", told)
        self.picture("two-servers")
        self.click("#protocol-found button")
        self.assertEqual(self.page.input_value("#s-protocol"), '"b"')
        self.fill("#s-server_url", f"http://{self.cabinet}")
        self.click("#settings button.main")
        self.see("#outcome.done")
        self.assertEqual(self.devices()[CABINET]["settings"]["protocol"], "b")

    def test_fiscal(self) -> None:
        """Only the fiscal server knows it: the setting is right, and nothing is offered."""
        told = self.found(FISCAL)
        self.assertIn("Протокол А, фіскальний сервер", told.splitlines()[0])
        self.assertIn("Протокол Б, сервер кабінету: не знає каси", told)
        self.assertIsNone(self.page.query_selector("#protocol-found button"))

    def test_unclear(self) -> None:
        """Both, neither, or one away: nothing is offered, and each server's answer is told."""
        self.assertIn("Касу знають обидва сервери", self.found(BOTH))
        self.assertIsNone(self.page.query_selector("#protocol-found button"))
        self.assertIn("Касу не знає жоден сервер", self.found(NEITHER))
        self.assertIsNone(self.page.query_selector("#protocol-found button"))
        self.away(self.cabinet_control)
        self.click("#ask-protocol")
        self.see("#protocol-found strong:has-text('З’ясувати не вдалося')")
        self.assertIn("Протокол Б, сервер кабінету: не відповів на питання", self.text("#protocol-found"))
        self.assertIsNone(self.page.query_selector("#protocol-found button"))

    def test_no_key(self) -> None:
        """Without a key nobody can be asked, and the page says that a key is missing."""
        self.register(CABINET, keyed=False)
        self.click("#ask-protocol")
        self.assertIn("ключ", self.outcome())
        self.assertEqual(self.text("#protocol-found"), "")


class AddingTests(TwoServersCase):
    """The wizard, for a register of the cabinet's server."""

    def begin(self) -> None:
        """Name both simulators and give the key."""
        self.go("/dm/devices/new/register")
        self.click("#step-key summary")
        self.fill("#server_url", f"http://{self.fiscal}/fs")
        self.fill("#cabinet_url", f"http://{self.cabinet}")
        self.page.set_input_files("#file-file", self.folder / "keys" / "cashier.p12")
        self.fill("#password", PASSWORD)
        self.click("#key-form button.main")

    def ask(self, number: str) -> None:
        """Ask the cabinet's server about a register."""
        self.fill("#number", number)
        self.click("#cabinet-form button")

    def finish(self) -> Any:
        """Choose what it showed, save, open the shift: the register."""
        self.click(f"#offers li:has-text('{CABINET}') button")
        self.assertIn("Протокол Б, сервер кабінету", self.text("#step-choose .told"))
        self.click("#save-form button.main")
        self.click("#open")
        self.see("#ready:not([hidden])")
        return next(each for each in self.devices().values() if each["settings"].get("fiscal_number") == CABINET)

    def test_whole_way(self) -> None:
        """A register that the fiscal server does not list is found by its number, and sells by protocol B."""
        self.begin()
        self.see("#offers li:has-text('4000000001')")
        self.click("#cabinet-form button")
        self.see("#number[aria-invalid='true']:focus")
        self.ask(NEITHER)
        self.see("#step-choose .outcome.failed:has-text('Сервер кабінету не показав каси')")
        self.see("#offers li:has-text('4000000001')")
        self.ask("12a")
        self.see("#step-choose .outcome.failed")
        self.ask(CABINET)
        self.see(f"#offers li:has-text('{CABINET}') button:focus")
        self.picture("wizard-cabinet")
        register = self.finish()
        self.assertEqual(
            (register["settings"]["protocol"], register["settings"]["server_url"]), ("b", f"http://{self.cabinet}")
        )

    def test_fiscal_server_away(self) -> None:
        """The fiscal server does not answer: a register of the cabinet's server is added all the same."""
        self.away(self.fiscal_control)
        self.begin()
        self.click("#step-key .outcome button:has-text('Касу зареєстровано на сервері кабінету')")
        self.see("#step-choose:not([hidden]) h2:focus")
        self.ask(CABINET)
        self.finish()

    def test_back_to_fiscal(self) -> None:
        """Who asked the cabinet's server, and goes back to the key, adds a register of the fiscal server."""
        self.begin()
        self.ask(CABINET)
        self.see(f"#offers li:has-text('{CABINET}') button:focus")
        self.click("#step-choose [data-back]")
        self.click("#key-form button.main")
        self.click(f"#offers li li:has-text('{FISCAL}') button")
        self.click("#save-form button.main")
        self.see("#step-open:not([hidden])")
        added = next(each for each in self.devices().values() if each["settings"].get("fiscal_number") == FISCAL)
        self.assertEqual(added["settings"]["protocol"], "a")


class PractiseTests(BrowserCase):
    """A training register that practises protocol B."""

    def start(self, *options: str) -> Service:
        """The service with such registers."""
        return super().start("--training-protocol", "b", *options)

    def test_documents(self) -> None:
        """The page names the documents that only protocol B has, and how many offline numbers are left."""
        self.open_shift(self.service)
        self.service.execute(sale("sale-1"))
        for way in ("go-offline", "go-online"):
            status, answer = self.service.request("POST", f"{self.service.device()}/{way}", {})
            self.assertEqual((status, json.loads(answer)["res"]), (200, 0))
        dev_id = self.devices()["test"]["dev_id"]
        self.go(f"/dm/main/registers/{dev_id}?lang=uk")
        for told in ("Запит офлайн-номерів № 2", "Початок офлайн-сесії № 4", "Кінець офлайн-сесії № 5"):
            self.assertIn(told, self.text())
        self.assertRegex(self.text(), r"Залишилося офлайн-номерів\s+498")
        self.go("/dm/main/receipts?lang=en")
        self.assertIn("Request for offline numbers № 2", self.text())
        self.click("a:has-text('Request for offline numbers № 2')")
        self.see("h1:has-text('№ 2')")
