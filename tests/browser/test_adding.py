"""How an owner adds devices without knowing anything about them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

from dmtwisted.lab.children import environment
from tests.browser.case import BrowserCase
from tests.test_service_process import PATIENCE

MOST_CLICKS, MOST_SECONDS = 8, 90
"""From nothing to a register at the tax service with an open shift."""

PASSWORD = "tax-test"
"""Of the key that the simulated tax service makes."""


class TaxRegisterTests(BrowserCase):
    """A register at the tax service, step by step, with the simulated tax service beside."""

    def setUp(self) -> None:
        """The tax service listens on ports of its own and has made a key for the cashier."""
        super().setUp()
        words = [sys.executable, "-m", "dmtwisted.commands.main", "simulate", "tax-service", "--keys", "tax-service"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=self.folder, env=environment())
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        line = process.stdout.readline().decode()
        self.tax, self.control = re.findall(r"127\.0\.0\.1:\d+", line)[:2]

    def steer(self, method: str, path: str, body: object) -> None:
        """Steer the tax service."""
        asked = urllib.request.Request(f"http://{self.control}{path}", json.dumps(body).encode(), method=method)
        urllib.request.urlopen(asked, timeout=PATIENCE).close()

    def begin(self) -> None:
        """Go to the wizard as an owner does, and name the simulator."""
        self.go("/dm/")
        self.click("main a.button")
        self.click("a[href='/dm/devices/new/register']")
        self.see("#key-form")
        self.assertIsNone(self.page.query_selector(".outcome.failed:not([hidden]), .trouble"))
        self.click("#step-key summary")
        self.fill("#server_url", f"http://{self.tax}/fs")

    def give(self, file: str = "cashier.p12", password: str = PASSWORD) -> None:
        """Choose a file of the tax service's folder, and press the button."""
        self.page.set_input_files("#file-file", self.folder / "tax-service" / file)
        self.fill("#password", password)
        self.click("#key-form button.main")
        self.page.wait_for_selector("#key-form button.main:not([aria-busy])", state="attached")

    def test_whole_way(self) -> None:
        """From the list of devices to an open shift in eight clicks and 90 seconds at most; the shift is open."""
        began = time.monotonic()
        self.begin()
        self.give()
        self.see("#step-choose:not([hidden]) h2:focus")
        self.assertIn("Олена Коваль", self.text("#step-key"))
        self.picture("wizard-choose")
        self.click("#offers button")
        self.see("#step-save:not([hidden])")
        self.assertEqual(self.page.input_value("#device"), "Каса 1")
        self.picture("wizard-save")
        self.click("#save-form button.main")
        self.see("#step-open:not([hidden])")
        self.click("#open")
        self.see("#ready:not([hidden])")
        self.picture("wizard-ready")
        self.assertLessEqual(time.monotonic() - began, MOST_SECONDS)
        self.assertLessEqual(self.clicks, MOST_CLICKS)
        device = self.devices()["Каса 1"]
        self.assertEqual(device["settings"]["fiscal_number"], "4000000001")
        self.assertEqual((device["state"]["shift_status"], device["state"]["key"]["owner"]), (1, "Олена Коваль"))
        self.assertEqual(device["settings"]["shopname"], "Тестова торгова точка")

    def test_mistakes(self) -> None:
        """Each mistake is told at its step in the owner's words, nothing is stored, and every step has a way back."""
        before = set(self.devices())
        self.begin()
        self.click("#key-form button.main")
        self.see("#file-file[aria-invalid='true']:focus")
        self.give(password="")
        self.see("#password[aria-invalid='true']:focus")
        self.give(password="other")
        self.see("#step-key .outcome.failed:has-text('пароль до файлу ключа не підходить')")
        self.give(file="cashier.cer")
        self.see("#step-key .outcome.failed:has-text('2003')")
        self.steer("PUT", "/scenario", {"rules": [{"on": "probe", "then": "unreachable", "times": 0}]})
        self.give()
        self.see("#step-key .outcome:has-text('1084')")
        self.assertIn("Ключ підходить", self.text("#step-key .outcome"))
        self.picture("wizard-tax-away")
        self.steer("PUT", "/scenario", {"rules": []})
        self.click("#key-form button.main")
        self.see("#step-choose:not([hidden])")
        self.click("#step-choose [data-back]")
        self.see("#step-key h2:focus")
        self.assertEqual(self.page.input_value("#password"), PASSWORD)
        self.click("#key-form button.main")
        self.click("#offers button >> nth=1")
        self.fill("#device", "test")
        self.click("#save-form button.main")
        self.see("#step-save .outcome.failed:has-text('2002')")
        self.click("#save-form [data-back]")
        self.see("#step-choose h2:focus")
        self.assertEqual(set(self.devices()), before)

    def test_used_elsewhere(self) -> None:
        """A register whose shift is open in another program says so; one that is here already cannot be chosen."""
        self.begin()
        self.give()
        self.click("#offers button")
        self.click("#save-form button.main")
        self.click("#open")
        self.see("#ready:not([hidden])")
        self.begin()
        self.give()
        self.see("#offers li li:has-text('уже додано: Каса 1')")
        self.assertEqual(len(self.page.query_selector_all("#offers button")), 1)
        self.service.request("DELETE", f"/dm/api/v3/devices/{self.devices()['Каса 1']['dev_id']}")
        self.click("#step-choose [data-back]")
        self.click("#key-form button.main")
        self.see("#offers li li:has-text('4000000001') .notice:has-text('Z-звіт')")
        self.click("#offers button")
        self.click("#save-form button.main")
        self.click("#open")
        self.see("#step-open .outcome.failed")
        self.assertIsNone(self.page.query_selector("#ready:not([hidden])"))

    def test_keyboard(self) -> None:
        """The same way by keyboard alone."""
        self.begin()
        self.page.set_input_files("#file-file", self.folder / "tax-service" / "cashier.p12")
        self.page.focus("#password")
        self.page.keyboard.type(PASSWORD)
        self.page.keyboard.press("Enter")
        self.press_until("#offers button", "#step-save:not([hidden])")
        self.press_until("#save-form button.main", "#step-open:not([hidden])")
        self.press_until("#open", "#ready:not([hidden])")

    def press_until(self, selector: str, after: str) -> None:
        """Walk to a button from where the focus is, and press it."""
        self.see(selector)
        for _ in range(20):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                self.page.keyboard.press("Space")
                self.see(after)
                return
        self.fail(f"{selector} is not reached by Tab")


class FoundTests(BrowserCase):
    """Devices that are found, and terminals chosen by their bank."""

    def simulate(self, *words: str) -> str:
        """A simulated device: the address for tills."""
        command = [sys.executable, "-m", "dmtwisted.commands.main", "simulate", *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=self.folder, env=environment())
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        return str(re.findall(r"127\.0\.0\.1:\d+", process.stdout.readline().decode())[0])

    def found(self, *things: Mapping[str, object]) -> None:
        """What the service finds on this computer is played here: a test machine has nothing."""
        usual = {"title": "", "kind": "", "driver": "", "device": "", "answers": False}
        told = {"found": [{**usual, **thing} for thing in things]}
        self.page.route("**/dm/api/v3/found", lambda route: route.fulfill(json=told))

    def test_found_printer(self) -> None:
        """A printer that is found leads to its filled form, which is saved as it is; later it is marked."""
        host, _, port = self.simulate("printer", "--profile", "epson").partition(":")
        settings = {"interface": "tcp", "host": host, "port": int(port), "profile": "epson"}
        printer = {"title": "EPSON TM-T20II", "place": host, "kind": "printer", "driver": "escpos"}
        cable = {"title": "USB-Serial", "place": "COM5", "settings": {"interface": "serial", "serial_port": "COM5"}}
        known = {
            "title": "Star",
            "place": "lp0",
            "kind": "printer",
            "driver": "star",
            "settings": {},
            "device": "prn",
        }
        self.found({**printer, "settings": settings}, cable, known)
        self.go("/dm/devices/new")
        self.see("#found-here strong")
        self.assertIn("Уже додано: prn", self.text("#found-here"))
        self.assertEqual(len(self.page.query_selector_all("#found-here a")), 3)
        self.picture("found")
        self.click("#found-here a >> nth=0")
        self.see("#settings")
        self.assertEqual(self.page.input_value("#s-host"), host)
        self.fill("#device", "kitchen")
        self.click("#settings button.main")
        self.page.wait_for_url("**/dm/devices/*-*")
        self.assertLessEqual(self.clicks, 2)
        self.assertEqual({**self.devices()["kitchen"]["settings"], **settings}, self.devices()["kitchen"]["settings"])
        self.assertEqual(self.devices()["kitchen"]["settings"]["profile"], "epson")

    def test_cable(self) -> None:
        """A cable that may lead to anything is a terminal by its bank, and its port is filled in at the end."""
        cable = {"title": "USB-Serial", "place": "COM5", "settings": {"interface": "serial", "serial_port": "COM5"}}
        self.found(cable)
        self.go("/dm/devices/new")
        self.click("#found-here a:has-text('термінал')")
        self.picture("banks")
        self.click(".choose a:has-text('ПриватБанк')")
        self.see("#settings")
        self.assertIn("driver=privatbank-json", self.page.url)
        self.assertEqual(self.page.input_value("#s-serial_port"), "COM5")
        self.assertTrue(self.page.is_visible("#s-serial_port"))
        self.assertFalse(self.page.is_visible("#s-host"))

    def test_banks(self) -> None:
        """A bank leads to its protocol; one without a driver here, or that is not known, to what to ask the bank."""
        for bank, driver in (("monobank", "ssi-json"), ("ПриватБанк", "privatbank-json")):
            self.go("/dm/devices/new?kind=terminal")
            self.click(f".choose a:has-text('{bank}')")
            self.page.wait_for_url(f"**driver={driver}")
        for bank, told in (("ПУМБ", "POSAPI"), ("Укргазбанк", "не відомо"), ("Інший банк", "Спитайте банк")):
            self.go("/dm/devices/new?kind=terminal")
            self.click(f".choose a:has-text('{bank}')")
            self.see(f"h2:has-text('{bank}')")
            self.assertIn(told, self.text())
            self.assertIn("Спитайте банк", self.text())
        self.go("/dm/devices/new?kind=terminal")
        self.click(".choose a:has-text('Ощадбанк')")
        self.assertIn("ECRCommX", self.text(".choose"))
        self.click(".choose a[href$='driver=bpos1']")
        self.see("#settings")

    def test_address(self) -> None:
        """A terminal at an address is found by its protocol; a wrong address is told at its field."""
        self.simulate("terminal", "--protocol", "zvt", "--listen", "20007")
        self.go("/dm/devices/new")
        self.fill("#host", "bank.example")
        self.click("#search-terminals button")
        self.see("#host[aria-invalid='true']:focus")
        self.fill("#host", "127.0.0.1")
        self.click("#search-terminals button")
        self.click("#found-there li:has-text('ZVT') a")
        self.see("#settings")
        self.assertEqual((self.page.input_value("#s-host"), self.page.input_value("#s-port")), ("127.0.0.1", "20007"))

    def test_register(self) -> None:
        """A register is recognised from its form; another driver's leads to that form, and nobody there is told."""
        host, _, port = self.simulate("register", "--protocol", "datecs").partition(":")
        self.go(f"/dm/devices/new?kind=register&driver=datecs_classic&s.host={host}&s.port={port}")
        self.click("#find-out")
        self.click("#outcome a:has-text('Додати з цим драйвером')")
        self.page.wait_for_url("**driver=datecs&**")
        self.see("#settings")
        self.assertEqual(self.page.input_value("#s-port"), port)
        self.click("#find-out")
        self.see("#outcome.done:has-text('FP-101')")
        self.picture("register-found")
        self.fill("#s-port", "")
        self.click("#find-out")
        self.see("#s-port[aria-invalid='true']:focus")
        self.fill("#s-port", "9")
        self.click("#find-out")
        self.see("#outcome.failed:has-text('не відкрити')")

    def test_register_speed(self) -> None:
        """The speed that is found is filled into the form; the search, which needs a port, is played here."""
        found = {"title": "FP-3530T", "place": "COM3", "kind": "register", "driver": "datecs_classic", "device": ""}
        settings = {"interface": "serial", "serial_port": "COM3", "baudrate": 19200}
        record = {"what": "register", "places": ["COM3"], "done": 6, "total": 10, "found": []}
        ended = {"running": False, "ended": "whole", "found": [{**found, "settings": settings, "answers": True}]}
        asked: list[object] = []

        def search(route: Any) -> None:
            if route.request.method == "POST":
                asked.append(route.request.post_data_json)
                route.fulfill(status=202, json={**record, "running": True, "ended": ""})
            else:
                route.fulfill(json={**record, **ended})

        self.page.route("**/dm/api/v3/search", search)
        self.go("/dm/devices/new?kind=register&driver=datecs_classic&s.interface=serial")
        self.click("#find-out")
        self.see("#s-serial_port[aria-invalid='true']:focus")
        self.fill("#s-serial_port", "COM3")
        self.click("#find-out")
        self.see("#outcome.done:has-text('FP-3530T, швидкість 19200')")
        self.assertEqual(self.page.input_value("#s-baudrate"), "19200")
        self.assertEqual(asked, [{"what": "register", "dev_id": "", "serial_port": "COM3"}])
