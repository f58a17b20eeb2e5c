"""``/dm/main/api/v1/prro``: registers made, read and changed by programs."""

from __future__ import annotations

from typing import Any

from tests.prro_shop import PrroShop, container, keys
from tests.specification import promises
from tests.test_sessions import AccessCase
from tests.web_case import DEVICES, WebCase, multipart
from web.site import Door

PRRO = "/dm/main/api/v1/prro"
EN = ("Accept-Language", "en")


class PrroApiTests(AccessCase):
    """What programs do with registers."""

    def post(self, path: str = PRRO, **members: Any) -> Any:
        """The answer to a body; always HTTP 200 and JSON."""
        answer = self.request("POST", path, members, [EN])
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json

    def made(self, **members: Any) -> Any:
        """The register that a body makes."""
        told = self.post(**members)
        self.assertEqual((told["res"], told["errortxt"]), (0, ""), told)
        return told

    def read(self, dev_id: str) -> Any:
        """The record of a register."""
        return self.request("GET", f"{PRRO}?dev_id={dev_id}").json

    def names(self) -> set[str]:
        """The names of all devices."""
        return {device["device"] for device in self.request("GET", DEVICES).json["devices"]}

    def refused(self, res: int, **members: Any) -> str:
        """The words of a refusal, after which nothing is there or otherwise."""
        before = self.request("GET", DEVICES).json
        told = self.post(**members)
        self.assertEqual((told["res"], self.request("GET", DEVICES).json), (res, before), told)
        self.assertEqual(sorted(told), ["errortxt", "res"])
        text: str = told["errortxt"]
        self.assertNotEqual(text, "")
        return text

    @promises("2.1.device.2", "1.5.1.1")
    def test_made(self) -> None:
        """Name and token make a register that works at once; the token does not come back."""
        told = self.made(name="till 2", token="cabinet-token")
        self.assertEqual((told["device"], told["token"], told["driver"]), ("till 2", "", "training"))
        self.assertNotIn("cabinet-token", str(self.read(told["dev_id"])))
        opening = {"ver": 6, "device": "till 2", "type": 1, "fiscal": {"task": 0}}
        self.assertEqual(self.execute(opening)["res"], 0)

    def test_kind(self) -> None:
        """`prro_type` 1, or a fiscal number, asks for a real register, 0 for one to practise."""
        cases: tuple[tuple[dict[str, Any], str], ...] = (
            ({"prro_type": 1, "confirm_real": "1"}, "prro"),
            ({"prro_type": "1", "fisid": "4000000001", "confirm_real": True}, "prro"),
            ({"fisid": "4000000002", "confirm_real": True}, "prro"),
            ({"prro_type": 0}, "training"),
            ({"prro_type": ""}, "training"),
            ({"driver": "prro", "confirm_real": True}, "prro"),
        )
        for n, (members, driver) in enumerate(cases):
            self.assertEqual(self.made(device=f"r{n}", **members)["driver"], driver, members)

    def test_settings(self) -> None:
        """Settings stand beside the other members or in an object of their own; print forms by their known names."""
        told = self.made(
            device="till 2",
            fisid="4000000001",
            confirm_real=True,
            shopname="Кав’ярня",
            offline_allowed="1",
            local_number="3",
            printforms={"pf_charcount": "32", "pf_astext": 1, "pf_charwidth": 10},
            settings={"name": "ТОВ «Крамниця»"},
        )
        settings = told["settings"]
        self.assertEqual((settings["shopname"], settings["name"]), ("Кав’ярня", "ТОВ «Крамниця»"))
        self.assertEqual((settings["fiscal_number"], settings["local_number"]), ("4000000001", 3))
        self.assertEqual((settings["offline_allowed"], settings["pf_text"]), (True, True))
        self.assertEqual(told["printforms"]["pf_charcount"], 32)
        self.assertEqual(told["fisid"], "4000000001")

    def test_partial(self) -> None:
        """A change leaves alone what it does not name, and takes the id from the body or from the address."""
        dev_id = self.made(device="till 2", shopname="Перша", pf_charcount=32)["dev_id"]
        before = self.read(dev_id)
        told = self.post(dev_id=dev_id, shopad="Київ")
        self.assertEqual(told["settings"], {**before["settings"], "shopad": "Київ"})
        told = self.post(f"{PRRO}?dev_id={dev_id}", printforms={"pf_asimage": True})
        self.assertEqual(told["settings"], {**before["settings"], "shopad": "Київ", "pf_image": True})
        self.assertEqual(self.post(dev_id=dev_id, name="till 3")["device"], "till 3")
        self.assertEqual(self.read(dev_id)["settings"], told["settings"])

    def test_sent_back(self) -> None:
        """What was read may be sent back whole, and nothing changes."""
        real: dict[str, Any] = {"device": "real", "prro_type": 1, "fisid": "4000000001", "confirm_real": True}
        for members in (real, {"device": "till 2", "prro_type": 0}):
            dev_id = self.made(**members)["dev_id"]
            before = self.request("GET", f"{PRRO}?dev_id={dev_id}")
            self.assertEqual(self.request("POST", PRRO, before.body).json, before.json)
            self.assertEqual(self.read(dev_id), before.json)

    def test_spellings(self) -> None:
        """The case of letters in members' names does not matter, and unknown members are ignored."""
        told = self.made(
            Device="till 2",
            FisId="4000000001",
            Shopname="Кава",
            autostart=True,
            dt="x",
            extAccess=None,
            Confirm_real=1,
        )
        self.assertEqual((told["device"], told["fisid"]), ("till 2", "4000000001"))
        self.assertEqual(told["settings"]["shopname"], "Кава")

    def test_empty_members(self) -> None:
        """`null` is not there, and an empty text changes no number and no switch."""
        dev_id = self.made(device="till 2", pf_charcount=32, offline_allowed=True, shopname="Кава")["dev_id"]
        told = self.post(dev_id=dev_id, pf_charcount="", offline_allowed=None, shopname="", device="")
        self.assertEqual(told["settings"]["pf_charcount"], 32)
        self.assertEqual((told["settings"]["offline_allowed"], told["settings"]["shopname"]), (True, ""))

    def test_real(self) -> None:
        """In training mode a register that sends real documents needs the word of a person."""
        self.assertIn("confirm_real", self.refused(2000, device="r", fisid="4000000001"))
        self.refused(2000, device="r", fisid="4000000001", confirm_real="0")

    def test_refusals(self) -> None:
        """Each mistake has its code and its words, and nothing is made or changed by it."""
        dev_id = self.made(device="till 2")["dev_id"]
        self.refused(2002, device="test")
        self.refused(2002, dev_id=dev_id, device="test")
        self.refused(2001, device="new", token="a\nb")
        self.refused(2001, device="new", token=5)
        self.refused(2007, dev_id="nobody", shopname="x")
        self.refused(2014, device="new", tax_groups=[])
        self.refused(2014, dev_id=dev_id, pay_types=[{"code": 0, "name": "Готівка", "enabled": False}])
        self.refused(2014, dev_id=dev_id, settings={"tax_groups": []})
        for members, word in (
            ({}, "device"),
            ({"device": 5}, "device"),
            ({"device": "new", "driver": "gone"}, "driver"),
            ({"device": "new", "driver": {}}, "driver"),
            ({"device": "new", "prro_type": "maybe"}, "prro_type"),
            ({"device": "new", "pf_charcount": "many"}, "pf_charcount"),
            ({"device": "new", "offline_allowed": "perhaps"}, "offline_allowed"),
            ({"device": "new", "offline_allowed": []}, "offline_allowed"),
            ({"device": "new", "pf_charcount": 3}, "pf_charcount"),
            ({"device": "new", "settings": []}, "settings"),
            ({"device": "new", "printforms": "x"}, "printforms"),
            ({"device": "new", "settings": {"colour": "red"}}, "colour"),
        ):
            self.assertIn(word, self.refused(2000, **members), members)
        self.assertEqual(self.names(), {"test", "till 2"})

    def test_malformed(self) -> None:
        """What is no JSON object is 2000 with HTTP 200."""
        for body in (b"", b"{", b"[]", b"\xff", b"[" * 5000):
            answer = self.request("POST", PRRO, body)
            self.assertEqual((answer.status, answer.json["res"]), (200, 2000), body)

    def test_store_fails(self) -> None:
        """What could not be kept is 1082."""
        self.shop.store.broken = True
        told = self.post(device="new")
        self.shop.store.broken = False
        self.assertEqual(told["res"], 1082)

    def test_batch_during_shift(self) -> None:
        """Batch mode of an open register stays as it is: 1100."""
        self.open_shift()
        self.refused(1100, dev_id=self.dev_id, batch={"terminal": "pos"})

    def test_alias_and_login(self) -> None:
        """All of it exists under another word than `main` too, and both need the login."""
        paths = [path.replace("main", name) for path in (PRRO, f"{PRRO}/groups") for name in ("main", "desk")]
        for path in paths:
            self.assertEqual(self.request("GET", f"{path}?dev_id={self.dev_id}").json["res"], 0, path)
        self.assertEqual(self.post(PRRO.replace("main", "desk"), device="till 2")["res"], 0)
        self.switch_on()
        for path in paths:
            self.assertTrue(self.is_blocked(self.request("GET", path)), path)
        for path in (PRRO, f"{PRRO}/sign", f"{PRRO}/sign".replace("main", "desk")):
            self.assertTrue(self.is_blocked(self.request("POST", path, {"device": "new"})), path)

    @promises("3.1e.1.1", "3.1e.1.2")
    def test_not_in_use(self) -> None:
        """A register that never opened a shift is not in use: going offline is 2011, which advises to open."""
        answer = self.request("POST", f"{DEVICES}/{self.dev_id}/go-offline", headers=[EN])
        self.assertEqual((answer.status, answer.json["res"]), (409, 2011))
        self.assertIn("open", answer.json["errortxt"])
        self.open_shift()
        answer = self.request("POST", f"{DEVICES}/{self.dev_id}/go-offline", headers=[EN])
        self.assertEqual(answer.status, 200)
        state = answer.json["state"]
        self.assertEqual((state["offline_since"], state["offline_numbers"]), (self.shop.core.clock.now(), 9999))


class OfflineRegisterTests(WebCase):
    """A real register that closed its shift offline."""

    def setUp(self) -> None:
        """Open, offline, closed."""
        self.prro = self.shop = PrroShop(self, "one")
        self.door = Door(self.shop.core)
        self.device = self.shop.core.devices.by_name("one")
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)
        self.prro.done(self.prro.built().go_offline("uk"))

    def upload(self) -> int:
        """The code of an upload of another key."""
        form, kind = multipart(file=container(keys().other, "пароль"), password="пароль".encode())
        path = f"{PRRO}/sign?dev_id={self.device.row.dev_id}"
        connection = self.connect()
        connection.ask("POST", path, form, [("Content-Type", kind)])
        (answer,) = connection.answers()
        res: int = answer.json["res"]
        return res

    def test_key(self) -> None:
        """Another key is refused while documents wait to be handed in: 2013; online it comes."""
        self.assertEqual(self.upload(), 2009)
        self.assertEqual(self.shop.fiscal(11, device="one")["res"], 0)
        self.assertEqual(self.upload(), 2013)
        self.prro.done(self.prro.built().go_online("uk"))
        self.assertEqual(self.upload(), 0)

    def test_settings(self) -> None:
        """What the documents of a session agree in stays: 2013; the name of the shop may change."""
        self.assertEqual(self.shop.fiscal(11, device="one")["res"], 0)
        dev_id = self.device.row.dev_id
        told = self.request("POST", PRRO, {"dev_id": dev_id, "fis_code": "1234567890"}).json
        self.assertEqual(told["res"], 2013)
        self.assertEqual(self.request("POST", PRRO, {"dev_id": dev_id, "shopad": "Київ"}).json["res"], 0)
