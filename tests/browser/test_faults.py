"""Every fault of every simulated device is on the page within seconds, with advice, and nothing broken is green."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import zip_longest
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Res
from tests.browser.case import BrowserCase
from tests.browser.faults import PAGE, REPAIR, ROWS, Row, with_table
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.test_service_process import HOST, PATIENCE, Service, send, until
from tests.web_case import DEVICES, EXECUTE, multipart
from web.pages.words import WORDS

SHOWN_IN = 50_000
"""Milliseconds in which a fault has to show: ten times the five seconds that it takes at most on a free machine."""

NAME = "terminal.example"

CARDS = """() => Object.fromEntries([...document.querySelectorAll('.card:has(h3):has(.badge)')].map(card =>
    [card.querySelector('h3').innerText.trim(),
     [[...card.querySelectorAll('.head .badge')].map(badge => badge.innerText.trim()), card.innerText]]))"""
"""The signs and the text of each device's card, by its name."""

SHOW = f"""expected => {{
    const cards = ({CARDS})();
    return expected.every(([name, sign]) => cards[name] && cards[name][0].includes(sign));
}}"""
"""Whether each device has the sign that is expected of it."""

EXPLAIN = """async answers => {
    const { inWords } = await import('/dm/static/outcome.js');
    const told = [];
    for (const answer of answers) {
        const { parts } = await inWords(answer, '');
        told.push(parts.map(part => part.textContent).join(' '));
    }
    return told;
}"""
"""What the pages make of answers."""


class TableTests(SynchronousTestCase):
    """The table in the documentation."""

    def test_page(self) -> None:
        """docs/reliability.md has the rows of today; ``python -m tests.browser.faults`` writes them."""
        text = PAGE.read_text("utf-8")
        self.assertEqual(with_table(text), text)


class EveryFaultTests(BrowserCase):
    """A shop with one of each device, all of them on one page."""

    height = 3000

    def setUp(self) -> None:
        """The devices are there, known and well; the page is open."""
        super().setUp()
        now, root, key = time.time(), make_key(), make_key()
        authority = make_certificate(now, root, "root", is_authority=True)
        own = make_certificate(now, key, NAME, issuer=(authority, root), names=(NAME,))
        (self.folder / "terminal.pem").write_bytes(pem(own) + key_pem(key))
        stand = Service(self.folder / "stand", ["-m", "tests.browser.stand", str(self.folder)])
        self.addCleanup(stand.end)
        until(lambda: stand.printed.endswith("\n") or None, "the devices do not start")
        self.ports = json.loads(stand.printed)
        self.add_all(pem(authority).decode())
        self.ids = {name: device["dev_id"] for name, device in self.devices().items()}
        self.kinds = {name: device["kind"] for name, device in self.devices().items()}
        self.keys = 0
        self.go("/dm/main/")
        self.work([name for name in self.ids])

    def add_all(self, authority: str) -> None:
        """Add every device of the stand, and the key of the register."""
        tax = f"http://{HOST}:{self.ports['tax']}/fs"
        till = {"server_url": tax, "fiscal_number": "4000000001", "local_number": 1, "fis_code": "34554363"}
        self.add("tax", "register", "prro", **till, name="Крамниця", shopname="Крамниця", offline_allowed=False)
        more: dict[str, Any]
        for name, more in (
            ("escpos", {"profile": "epson"}),
            ("star", {"profile": "star"}),
            ("queue", {"interface": "cups", "queue": "receipts", "profile": "epson"}),
        ):
            self.add(name, "printer", "star" if name == "star" else "escpos", **self.at(name), **more)
        for name, more in (
            ("privatbank-json", {"opening": "short", "opening_pause_s": 0.1, "tells_receipts": True}),
            ("ssi-json", {"two_steps": False}),
            ("zvt", {"tells_last": True}),
            ("ecr17", {"tells_last": True}),
            ("caisse-ap", {}),
            ("concert-v2", {"interface": "tcp"}),
            ("nexo", {"poi_id": "V400m-1", "ca": authority, "server_name": NAME}),
        ):
            self.add(name, "terminal", name, **self.at(name), **more, wait_s=15)
        self.asked("PATCH", self.service.device("pos"), {"settings": {"wait_s": 15}})
        key = (self.folder / "tax" / "cashier.p12").read_bytes()
        body, kind = multipart(file=key, password=b"tax-test")
        connection = self.service.connect()
        dev_id = self.devices()["tax"]["dev_id"]
        connection.request("POST", f"/dm/main/api/v1/prro/sign?dev_id={dev_id}", body, {"Content-Type": kind})
        self.assertEqual(json.loads(connection.getresponse().read())["res"], 0)
        connection.close()
        for device in ("test", "tax"):
            opening = {"ver": 6, "device": device, "type": 1, "tag": f"open-{device}", "fiscal": {"task": 0}}
            self.assertEqual(self.service.execute(opening)["res"], 0)

    def at(self, name: str) -> dict[str, Any]:
        """Where a device of the stand is."""
        return {"host": HOST, "port": self.ports[name]}

    def add(self, device: str, kind: str, driver: str, **settings: Any) -> None:
        """Add a device."""
        added = {"device": device, "kind": kind, "driver": driver, "settings": settings}
        self.asked("POST", DEVICES, added, 201)

    def asked(self, method: str, path: str, body: object, expected: int = 200) -> Any:
        """The answer of the service."""
        status, answer = self.service.request(method, path, body)
        self.assertEqual(status, expected, answer)
        return json.loads(answer)

    # Faults and tasks

    def do(self, device: str, deed: str, body: object) -> None:
        """Do something to a device."""
        if device in ("test", "prn", "pos"):
            self.asked("PUT", f"{DEVICES}/{self.ids[device]}/{deed}", body)
            return
        connection = HTTPConnection(HOST, self.ports["control"], timeout=PATIENCE)
        send(connection, "PUT" if deed == "scenario" else "POST", f"/{device}/{deed}", body)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, (device, deed, answer.read()))
        connection.close()

    def work(self, names: list[str]) -> list[Any]:
        """The answers to a task of each of these devices, all at once."""
        with ThreadPoolExecutor(max(len(names), 1)) as hands:
            return list(hands.map(self.task, names))

    def task(self, name: str) -> Any:
        """The answer to a sale, a payment or a test print."""
        self.keys += 1
        key = f"{name}-{self.keys}-{time.time()}"
        receipt = {
            "sum": 5,
            "rows": [{"code": "1", "name": "Кава", "cnt": 1, "price": 5, "taxgrp": 1}],
            "pays": [{"type": 0, "sum": 5}],
        }
        said: dict[str, Any] = {
            "register": {"type": 1, "tag": key, "fiscal": {"task": 1, "receipt": receipt}},
            "printer": {"type": 2, "tag": key, "doc": {"test": 1}},
            "terminal": {
                "type": 3,
                "transaction_id": key,
                "transaction_search": 2,
                "pay": {"task": 1, "sum": 5},
            },
        }[self.kinds[name]]
        return self.asked("POST", EXECUTE, {"ver": 6, "device": name, **said})

    # The table

    def shown(self, expected: list[tuple[str, str]]) -> dict[str, Any]:
        """The cards, as soon as each device has its sign, or when it takes too long."""
        try:
            self.page.wait_for_function(SHOW, arg=expected, timeout=SHOWN_IN, polling=100)
        except Exception as error:
            if "Timeout" not in type(error).__name__:
                raise
        cards: dict[str, Any] = self.page.evaluate(CARDS)
        return cards

    def test_every_fault(self) -> None:
        """Each fault shows on the open page by itself, says what to do, and is gone when it is repaired."""
        by_device: dict[str, list[Row]] = {}
        for row in ROWS:
            by_device.setdefault(row.device, []).append(row)
        wrong: list[str] = []
        for together in zip_longest(*by_device.values()):
            wrong += self.one_round([row for row in together if row is not None])
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def one_round(self, rows: list[Row]) -> list[str]:
        """One fault of each of some devices at the same time; what was wrong on the page."""
        for row in rows:
            self.do(row.device, *row.deed)
        began = time.monotonic()
        asked = [row for row in rows if row.answer is not None]
        answers = self.work([row.device for row in asked])
        told = dict(zip([row.device for row in asked], self.page.evaluate(EXPLAIN, answers), strict=True))
        results = {row.device: answer["res"] for row, answer in zip(asked, answers, strict=True)}
        cards = self.shown([(row.device, WORDS[row.shows].uk) for row in rows])
        took = time.monotonic() - began
        wrong = [
            f"{row.device}, {row.fault}: {why}" for row in rows for why in self.faulty(row, cards, told, results)
        ]
        for row in rows:
            self.do(row.device, *REPAIR[row.deed[0]])
            if self.kinds[row.device] == "register":
                # It may be online: then this is refused.
                self.service.request("POST", f"{DEVICES}/{self.ids[row.device]}/go-online")
        self.settle()
        self.work([row.device for row in rows if row.answer is not None])
        self.settle()
        well = self.shown([(row.device, WORDS["ready"].uk) for row in rows])
        wrong += [
            f"{row.device}, {row.fault}, repaired: {well[row.device]}"
            for row in rows
            if WORDS["ready"].uk not in well[row.device][0]
        ]
        if os.environ.get("DMTWISTED_FAULTS"):
            print(f"--- {took:.1f} s, repaired after {time.monotonic() - began:.1f} s")
            for row in rows:
                print(row.device, "|", row.fault, "|", cards[row.device][0], "|", results.get(row.device))
                print("   ", told.get(row.device), "|", " ".join(cards[row.device][1].split())[:400])
        return wrong

    def faulty(self, row: Row, cards: Any, told: dict[str, str], results: dict[str, int]) -> list[str]:
        """What is wrong with what the page shows of a fault."""
        signs, text = cards[row.device]
        wrong = []
        if WORDS[row.shows].uk not in signs:
            wrong.append(f"it shows {signs}, not {WORDS[row.shows].uk}: {text}")
        if row.advice is not None and row.advice.uk not in text:
            wrong.append(f"it does not advise {row.advice.uk}: {text}")
        if row.answer is not None:
            said = told[row.device]
            if results[row.device] != row.answer.code:
                wrong.append(f"the answer is {results[row.device]}, not {row.answer.code}: {said}")
            if row.answer is not Res.OK and row.answer.cashier.uk not in said:
                wrong.append(f"the answer does not advise {row.answer.cashier.uk}: {said}")
        return [" ".join(why.split()) for why in wrong]

    def settle(self) -> None:
        """A person says that payments in doubt were not made."""
        open_ones = json.loads(self.service.request("GET", "/dm/api/v3/operations?state=unfinished")[1])
        for operation in open_ones["operations"]:
            if operation["kind"] == "pay":
                path = f"/dm/api/v3/operations/{operation['id']}/settle"
                self.asked("POST", path, {"outcome": "refused"})
