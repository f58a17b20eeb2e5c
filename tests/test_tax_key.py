"""``POST /dm/api/v3/tax-key``: a key is examined before there is a register, and nothing of it stays."""

from __future__ import annotations

import base64
from typing import Any

from tests.cabinet_shop import GONE, CabinetShop
from tests.prro_shop import FIRST, TIN, PrroShop, container, keys
from tests.web_case import DEVICES, WebCase, multipart
from web.site import Door

PATH = "/dm/api/v3/tax-key"
PASSWORD = "пароль-1"


class ExaminedKeyTests(WebCase):
    """A shop whose tax service has two registers for the cashier's key."""

    def setUp(self) -> None:
        """Both registers are here; `two` is deleted again."""
        super().setUp()
        self.shop: Any = PrroShop(self, "one")
        self.door = Door(self.shop.core)
        self.request("DELETE", f"{DEVICES}/{self.id_of('two')}")

    def id_of(self, name: str) -> str:
        """The id of a device."""
        return str(self.shop.core.devices.by_name(name).row.dev_id)

    def examine(self, file: bytes, password: str = PASSWORD, **more: str) -> Any:
        """The answer."""
        members = {"key": base64.b64encode(file).decode(), "password": password, **more}
        answer = self.request("POST", PATH, members, [("Accept-Language", "uk")])
        self.assertEqual(answer.status, 200)
        return answer.json

    def test_good_key(self) -> None:
        """It answers whose key it is and which registers it has; what is added here already is named."""
        found = self.examine(container(keys().cashier, PASSWORD))
        self.assertEqual((found["res"], found["key"]["owner"]), (0, "Олена Коваль"))
        self.assertEqual(found["key"]["days_left"], 365)
        [outlet] = found["tax_objects"]
        self.assertEqual([one["fiscal_number"] for one in outlet["registers"]], [str(FIRST), str(FIRST + 1)])
        self.assertEqual(found["devices"], {str(FIRST): "one"})
        self.assertEqual((found["open_shifts"], found["other_payers"]), ([], []))

    def test_nothing_stays(self) -> None:
        """Neither a device nor a key is stored, and the tax service got no document."""
        before = self.request("GET", DEVICES).json, self.shop.done(self.shop.store.settings())
        self.examine(container(keys().cashier, PASSWORD))
        self.assertEqual((self.request("GET", DEVICES).json, self.shop.done(self.shop.store.settings())), before)
        self.assertEqual(self.shop.kinds() + self.shop.kinds(FIRST + 1), [])

    def test_form(self) -> None:
        """A page sends the file itself."""
        body, kind = multipart(file=container(keys().cashier, "x"), password=b"x")
        answer = self.request("POST", PATH, body, [("Content-Type", kind)])
        self.assertEqual(answer.json["key"]["owner"], "Олена Коваль")

    def test_bad_files(self) -> None:
        """A wrong password and a file that is no key are told apart, in words."""
        wrong = self.examine(container(keys().cashier, PASSWORD), "other")
        self.assertEqual((wrong["res"], wrong["key"]), (2003, None))
        self.assertIn("пароль до файлу ключа не підходить", wrong["errortxt"])
        other = self.examine(b"%PDF-1.7 an invoice")
        self.assertEqual((other["res"], other["key"]), (2003, None))
        self.assertNotIn("пароль", other["errortxt"])
        empty = self.request("POST", PATH, {"key": "", "password": "x"})
        self.assertEqual((empty.status, empty.json["errors"][0]["path"]), (422, "key"))

    def test_shift_elsewhere(self) -> None:
        """A register whose shift another program has opened is named."""
        self.shop.open_shift("one")
        found = self.examine(container(keys().cashier, PASSWORD))
        self.assertEqual(found["open_shifts"], [str(FIRST)])

    def test_unknown_key(self) -> None:
        """A key that nobody announced has no registers."""
        stranger = keys().authority.cashier("Чужа людина", "11111111")
        found = self.examine(container(stranger, PASSWORD))
        self.assertEqual((found["res"], found["tax_objects"], found["other_payers"]), (0, [], []))
        self.assertEqual(found["key"]["owner"], "Чужа людина")

    def test_other_firm(self) -> None:
        """The other registers of the service belong to another payer: their tax numbers are named."""
        change = {"settings": {"fis_code": "22222222"}}
        self.assertEqual(self.request("PATCH", f"{DEVICES}/{self.id_of('one')}", change).status, 200)
        found = self.examine(container(keys().cashier, PASSWORD))
        self.assertEqual([outlet["tin"] for outlet in found["tax_objects"]], [TIN])
        self.assertEqual(found["other_payers"], ["22222222"])

    def test_tax_service_away(self) -> None:
        """The tax service does not answer: the key is told all the same, and why there are no registers."""
        self.shop.rules({"on": "probe", "then": "unreachable", "times": 0})
        found = self.examine(container(keys().cashier, PASSWORD))
        self.assertEqual((found["res"], found["key"]["owner"]), (1050, "Олена Коваль"))
        self.assertEqual(found["tax_objects"], [])

    def test_wrong_server(self) -> None:
        """A server on another machine without TLS is refused: the signed question would be readable."""
        members = {"key": "S2V5", "password": "x", "server_url": "http://192.0.2.1/fs"}
        answer = self.request("POST", PATH, members)
        self.assertEqual(answer.status, 422)
        self.assertIn("server_url", answer.json["errors"][0]["text"])

    def test_expired(self) -> None:
        """A key that has ended is no use, and the answer says when it ended."""
        self.shop.clock.advance(3 * 86400)
        found = self.examine(container(keys().ending, PASSWORD))
        self.assertEqual((found["res"], found["key"]), (2003, None))


class CabinetKeyTests(WebCase):
    """A shop at the cabinet's server, which is asked about a register by its number."""

    def setUp(self) -> None:
        """The fiscal server has no register at all."""
        super().setUp()
        self.shop: Any = CabinetShop(self, "one")
        self.door = Door(self.shop.core)

    def examine(self, number: str) -> Any:
        """What is said of the register ``number``."""
        file = base64.b64encode(container(keys().cashier, PASSWORD)).decode()
        members = {"key": file, "password": PASSWORD, "fiscal_number": number, "server_url": "http://localhost:9443"}
        return self.request("POST", PATH, members)

    def test_known(self) -> None:
        """It answers with the one register, whether its shift is open, and which device has it."""
        found = self.examine(str(FIRST)).json
        self.assertEqual((found["res"], found["key"]["owner"], found["open_shifts"]), (0, "Олена Коваль", []))
        [outlet] = found["tax_objects"]
        self.assertEqual([one["fiscal_number"] for one in outlet["registers"]], [str(FIRST)])
        self.assertEqual((outlet["tin"], found["devices"][str(FIRST)]), (TIN, "one"))
        self.shop.open_shift("one")
        self.assertEqual(self.examine(str(FIRST)).json["open_shifts"], [str(FIRST)])

    def test_unknown(self) -> None:
        """A number that the server does not know is refused; the key is told all the same."""
        found = self.examine("4999999999").json
        self.assertEqual((found["key"]["owner"], found["tax_objects"]), ("Олена Коваль", []))
        self.assertNotEqual(found["res"], 0)

    def test_away(self) -> None:
        """The server does not answer: that is told, not that there is no such register."""
        self.shop.rules(*GONE)
        self.assertEqual(self.examine(str(FIRST)).json["res"], 1050)

    def test_no_number(self) -> None:
        """What is no number is told at its member, and nobody is asked."""
        before = len(self.shop.calls)
        answer = self.examine("40-1")
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.fiscal_number"))
        self.assertEqual(len(self.shop.calls), before)
