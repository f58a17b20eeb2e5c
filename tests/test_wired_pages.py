"""Hardware registers on the pages: the register, its needs, and what a person settles."""

from __future__ import annotations

from typing import Any

from dmtwisted.needs import Need
from dmtwisted.registers.wired.interface import Figures, Unclear
from dmtwisted.results import Text
from protocols.errors import LineLost
from protocols.registers.mg.documents import meaning
from protocols.registers.troubles import DeviceRefused
from tests.iron_shop import IronShop
from tests.shop import sale
from tests.test_wired_channel import Told
from tests.web_case import WebCase
from web.site import Door

V3 = "/dm/api/v3"


class WiredPageCase(WebCase):
    """A shop whose machine does as it is told."""

    def setUp(self) -> None:
        self.machine = Told()
        self.shop = self.iron = IronShop(self, self.machine, host="127.0.0.1")
        self.door = Door(self.shop.core)
        self.assertEqual(self.iron.task(0)["res"], 0)
        self.iron_id = self.shop.core.devices.by_name("iron").row.dev_id

    def page(self, path: str) -> str:
        """A page in English."""
        answer = self.request("GET", path, headers=[("Accept-Language", "en")])
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body.decode()

    def sell(self, tag: str = "", **receipt: object) -> Any:
        """The answer to a sale."""
        return self.iron.task(1, tag, receipt={**sale(), **receipt})

    def needs(self) -> dict[str, Need]:
        """What the register needs, by code."""
        return {need.code: need for need in self.shop.core.needs.seen() if need.device == "iron"}

    def look(self) -> None:
        """Let the list be made."""
        self.shop.core.dispatcher.events.pages = 1
        for _ in range(40):
            self.shop.clock.advance(0.25)


class PageTests(WiredPageCase):
    """What pages and lists say."""

    def test_machine(self) -> None:
        """The register's page names the machine; its form has maps and passwords."""
        self.assertEqual(self.needs(), {})
        page = self.page(f"/dm/main/registers/{self.iron_id}")
        self.assertIn("T-1, № 77", page)
        self.assertNotIn("no tax service", page)
        self.assertIn("tax_map", self.page(f"/dm/devices/{self.iron_id}"))

    def test_differs(self) -> None:
        """Figures that differ are a need until they agree again."""
        self.machine.figured = Figures(shift_open=True, sales=500)
        self.assertEqual(self.iron.task(10)["warnings"][0]["code"], 3011)
        self.look()
        self.assertIn("sales 5.00, here 0.00", self.needs()["differs"].text.en)
        self.machine.figured = None
        self.iron.task(10)
        self.look()
        self.assertNotIn("differs", self.needs())

    def test_faults(self) -> None:
        """No paper, a fault and a line that is lost each have their sign."""
        for fault, code in (
            (DeviceRefused("x25", meaning(0x25)), "paper_out"),
            (DeviceRefused("xFF", meaning(0xFF)), "fault"),
            (DeviceRefused("xCF", meaning(0xCF)), "refused"),
        ):
            self.machine.makes = [fault]
            self.sell()
            self.look()
            self.assertEqual([*self.needs()], [code])
        self.assertEqual(self.sell()["res"], 0)
        self.look()
        self.assertEqual(self.needs(), {})


class SettleTests(WiredPageCase):
    """A receipt that a person has to settle."""

    def setUp(self) -> None:
        super().setUp()
        self.machine.makes, self.machine.becomes = [LineLost()], [Unclear(Text("а", "a"))] * 90
        self.assertEqual(self.sell("t")["res"], 1074)
        [self.n] = [
            row["id"] for row in self.request("GET", f"{V3}/operations").json["operations"] if row["key"] == "t"
        ]

    def test_page(self) -> None:
        """The page of the register says what to do, and both answers can be given."""
        page = self.page("/dm/main/")
        for words in ("The tape says: made", "The tape says: not made", f'data-settle="{self.n}"'):
            self.assertIn(words, page)

    def test_both(self) -> None:
        """A person's word is recorded and counts."""
        answer = self.request("POST", f"{V3}/operations/{self.n}/settle", {"outcome": "approved"})
        self.assertEqual((answer.status, answer.json["state"]), (200, "done"), answer.body)
        change = self.request("GET", f"{V3}/changes").json["changes"][0]
        self.assertEqual((change["action"], change["subject"]), ("approved", "iron"))
        self.assertEqual(self.sell("t")["task_status"], 2)

    def test_not_made(self) -> None:
        """Said to be not made, the tag is free."""
        self.request("POST", f"{V3}/operations/{self.n}/settle", {"outcome": "refused"})
        self.assertEqual(self.sell("t")["task_status"], 1)

    def test_software_register(self) -> None:
        """A register that finds every outcome out itself takes nobody's word."""
        self.shop.fiscal(0, "o")
        n = self.request("GET", f"{V3}/operations?device=test").json["operations"][0]["id"]
        answer = self.request("POST", f"{V3}/operations/{n}/settle", {"outcome": "approved"})
        self.assertEqual((answer.status, answer.json["res"]), (404, 1091))
