"""Devices as resources: made, listed, read, changed, deleted, tried, and steered where they are simulated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from dmtwisted.devices.driver import REGISTER, BadSettings
from dmtwisted.needs import of_device
from dmtwisted.registers.drivers.training import TrainingSettings
from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from tests.shop import hurry
from tests.specification import promises
from tests.web_case import DEVICES, Connection, HttpAnswer, WebCase, fiscal, sale
from web.site import Door

KITCHEN = {"device": "kitchen", "kind": "register", "driver": "training", "settings": {}}
NOBODY = "5f2c8d3e-0000-4000-8000-000000000000"
ERROR = {"res", "errortxt", "errors"}


class _Devices(WebCase):
    """Requests for devices, and what is expected of every error."""

    def make(self, **members: object) -> Any:
        """The record of a new register `kitchen`; ``members`` replace members of the request."""
        answer = self.request("POST", DEVICES, {**KITCHEN, **members})
        self.assertEqual(answer.status, 201)
        return answer.json

    def error(self, answer: HttpAnswer, status: int, res: int) -> list[Any]:
        """The ``errors`` of an answer that must be the error ``res``."""
        self.assertEqual((answer.status, answer.header("content-type")), (status, "application/json"))
        error = answer.json
        self.assertEqual((set(error), error["res"]), (ERROR, res))
        self.assertGreater(len(error["errortxt"]), 10)
        found: list[Any] = error["errors"]
        return found

    def path_of(self, answer: HttpAnswer) -> str:
        """The member that a 422 complains of, which must be one."""
        [error] = self.error(answer, 422, 2000)
        self.assertEqual(set(error), {"path", "text"})
        self.assertGreater(len(error["text"]), 5)
        path: str = error["path"]
        return path


class CreateTests(_Devices):
    """``POST /dm/api/v3/devices``"""

    @promises("1.5.1.1", "2.1.device.1", "2.1.device.2", "2.1.device.4")
    def test_register(self) -> None:
        """A new register is 201 with its record and its address, and does tasks under its name at once."""
        answer = self.request("POST", DEVICES, KITCHEN)
        self.assertEqual((answer.status, answer.header("content-type")), (201, "application/json"))
        record = answer.json
        self.assertEqual(str(UUID(record["dev_id"])), record["dev_id"])
        self.assertEqual(answer.header("location"), f"{DEVICES}/{record['dev_id']}")
        self.assertEqual(
            {name: value for name, value in record.items() if name not in ("dev_id", "settings", "state")},
            {
                "device": "kitchen",
                "dev_code": "kitchen",
                "kind": "register",
                "driver": "training",
                "is_doc": False,
                "is_pay": False,
                "is_fis": True,
            },
        )
        self.assertEqual(self.execute({**fiscal(0), "device": "kitchen"})["res"], 0)

    def test_settings(self) -> None:
        """Settings that are given arrive, all others are shown with their defaults."""
        settings = self.make(settings={"shopname": "Кухня", "rounding_step": 10, "wait_s": 2})["settings"]
        self.assertEqual([settings[name] for name in ("shopname", "rounding_step", "wait_s")], ["Кухня", 10, 2])
        self.assertEqual(
            [settings[name] for name in ("check_cash", "strict_tags", "default_taxgrp")], [True, False, 2]
        )
        self.assertEqual([group["code"] for group in settings["tax_groups"]], list(range(1, 11)))

    def test_no_settings(self) -> None:
        """Settings may be left out."""
        body = {name: value for name, value in KITCHEN.items() if name != "settings"}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)

    @promises("2.1.device.1")
    def test_any_name(self) -> None:
        """A name may be any text that can be seen, blanks and letters of all scripts included."""
        for name in ("Каса №1 «Їжак»", " kasa ", "a/b?c=d&e", "<b>", "😀", "x" * 200, "1"):
            record = self.make(device=name)
            self.assertEqual((record["device"], record["dev_code"]), (name, name))
            self.assertEqual(self.execute({**fiscal(18), "device": name})["res"], 0)
            self.assertEqual(self.request("GET", f"{DEVICES}/{record['dev_id']}").json["device"], name)

    @promises("2.1.device.3")
    def test_taken_name(self) -> None:
        """A name that another device has is 409 with 2002, and nothing is made."""
        answer = self.request("POST", DEVICES, {**KITCHEN, "device": "test"})
        self.assertEqual(self.error(answer, 409, 2002), [])
        self.assertEqual(len(self.request("GET", DEVICES).json["devices"]), 1)

    def test_bad_names(self) -> None:
        """A name that is empty, too long, invisible or no text is 422 by its path."""
        for name in ("", "x" * 201, "a\nb", "a\x00", "\u202eabc", 5, None, ["a"]):
            self.assertEqual(self.path_of(self.request("POST", DEVICES, {**KITCHEN, "device": name})), "device")

    def test_unknown_kind_and_driver(self) -> None:
        """A kind or driver that is not there is 422 by its path, and those that are there are named."""
        answer = self.request("POST", DEVICES, {**KITCHEN, "kind": "fridge"})
        self.assertEqual(self.path_of(answer), "kind")
        self.assertIn("register", answer.json["errors"][0]["text"])
        answer = self.request("POST", DEVICES, {**KITCHEN, "driver": "trainig"})
        self.assertEqual(self.path_of(answer), "driver")
        self.assertIn("training", answer.json["errors"][0]["text"])

    def test_bad_settings(self) -> None:
        """A setting that does not fit is 422 with its full path."""
        group = {"code": 1, "name": "ПДВ"}
        for settings, path in (
            ({"rounding_step": 7}, "settings.rounding_step"),
            ({"wait_s": 0}, "settings.wait_s"),
            ({"wait_s": "5"}, "settings.wait_s"),
            ({"shopname": 5}, "settings.shopname"),
            ({"nobody": 1}, "settings.nobody"),
            ({"tax_groups": [group, {**group, "percent": "20"}]}, "settings.tax_groups[1].percent"),
            ({"pay_types": "0"}, "settings.pay_types"),
            ([], "settings"),
            ("x", "settings"),
        ):
            self.assertEqual(self.path_of(self.request("POST", DEVICES, {**KITCHEN, "settings": settings})), path)
        self.assertEqual(len(self.request("GET", DEVICES).json["devices"]), 1)

    def test_missing_and_unknown_members(self) -> None:
        """A missing or unknown member is 422 by its name."""
        for name in ("device", "kind", "driver"):
            body = {known: value for known, value in KITCHEN.items() if known != name}
            self.assertEqual(self.path_of(self.request("POST", DEVICES, body)), name)
        self.assertEqual(self.path_of(self.request("POST", DEVICES, {**KITCHEN, "devise": "x"})), "devise")

    def test_no_json(self) -> None:
        """A body that is no JSON, or too long, is 400 with 2000."""
        for body in (b"", b"{", b'{"device": "\xff"}', b'{"settings": {"a": ' + b"[" * 99999, b" " * (MAX_BODY + 1)):
            self.assertEqual(self.error(self.request("POST", DEVICES, body), 400, 2000), [])

    def test_no_object(self) -> None:
        """JSON that is no object is 422."""
        for body in (b"[]", b"5", b"null", b'"x"'):
            self.assertEqual(self.path_of(self.request("POST", DEVICES, body)), "")

    def test_full_disk(self) -> None:
        """While nothing can be stored it is 503 with 1082, and nothing is half made."""
        self.shop.store.broken = True
        self.assertEqual(self.error(self.request("POST", DEVICES, KITCHEN), 503, 1082), [])
        self.shop.store.broken = False
        self.assertEqual(self.execute({**fiscal(18), "device": "kitchen"})["res"], 1091)
        self.make()

    def test_foreign_page(self) -> None:
        """A page of another origin cannot make a device, not even by a request that needs no pre-flight."""
        connection = self.connect()
        headers = [("Origin", "https://elsewhere.example"), ("Content-Type", "text/plain")]
        connection.ask("POST", DEVICES, json.dumps(KITCHEN).encode(), headers)
        [answer] = connection.answers()
        self.assertEqual(answer.status, 403)
        self.assertEqual(len(self.request("GET", DEVICES).json["devices"]), 1)


class ReadTests(_Devices):
    """``GET /dm/api/v3/devices`` and one of them"""

    def test_list(self) -> None:
        """The list has every device, the oldest first, each as when read alone."""
        for name in ("b", "a"):
            self.make(device=name)
        devices = self.request("GET", DEVICES).json["devices"]
        self.assertEqual([device["device"] for device in devices], ["test", "b", "a"])
        for device in devices:
            self.assertEqual(self.request("GET", f"{DEVICES}/{device['dev_id']}").json, device)

    def test_empty_list(self) -> None:
        """Without devices the list is empty."""
        self.assertEqual(self.request("DELETE", f"{DEVICES}/{self.dev_id}").status, 204)
        self.assertEqual(self.request("GET", DEVICES).body, b'{"devices":[]}')

    @promises("3.1a.1")
    def test_state(self) -> None:
        """The state of a register has shift, cash and last number, and follows its tasks."""
        path = f"{DEVICES}/{self.dev_id}"
        before = self.request("GET", path).json["state"]
        self.assertEqual((before["busy"], before["shift_status"], str(before["safe"])), (False, 0, "0.0"))
        self.open_shift()
        self.sell()
        after = self.request("GET", path).json["state"]
        self.assertEqual((after["shift_status"], str(after["safe"]), after["docno"]), (1, "125.5", 2))
        self.assertEqual((after["fisid"], after["collision"]), ("4000000001", False))

    def test_state_of_a_collision(self) -> None:
        """A register that does not know what became of a receipt says so."""
        hurry(self)
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "silent"})
        self.assertEqual(self.sell("t")["res_action"], 2)
        self.assertIs(self.request("GET", f"{DEVICES}/{self.dev_id}").json["state"]["collision"], True)
        self.shop.scenario()
        self.assertEqual(self.sell("t")["res"], 0)
        self.assertIs(self.request("GET", f"{DEVICES}/{self.dev_id}").json["state"]["collision"], False)

    def test_full_disk(self) -> None:
        """Devices are listed even when the store cannot be read; their state is 1082 then."""
        path = f"{DEVICES}/{self.make()['dev_id']}"
        self.shop.store.broken = True
        for answer in (self.request("GET", DEVICES).json["devices"][1], self.request("GET", path).json):
            self.assertEqual((answer["device"], answer["state"]), ("kitchen", {"busy": False, "res": 1082}))

    def test_unknown(self) -> None:
        """An id that no device has is 404 as JSON, for whatever is asked of it."""
        for method, rest in (
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/check"),
            ("GET", "/scenario"),
            ("PUT", "/scenario"),
            ("GET", "/ledger"),
        ):
            for dev_id in (NOBODY, "test", "x", "%D1%97"):
                answer = self.request(method, f"{DEVICES}/{dev_id}{rest}", {"rules": []} if method == "PUT" else {})
                self.assertEqual(self.error(answer, 404, 1091), [], f"{method} {dev_id}{rest}")

    def test_nowhere(self) -> None:
        """A path below a device that leads nowhere is 404 as JSON, whatever bytes it is made of."""
        path = f"{DEVICES}/{self.dev_id}"
        for nowhere in (f"{path}/", f"{path}/nothing", f"{path}/check/x", f"{DEVICES}/", f"{DEVICES}//{self.dev_id}"):
            self.assertEqual(self.error(self.request("GET", nowhere), 404, 2000), [], nowhere)
        answer = self.request("GET", f"{DEVICES}/%ff")
        self.assertIn(answer.status, (400, 404))
        self.assertEqual(self.error(answer, answer.status, answer.json["res"]), [])

    def test_other_methods(self) -> None:
        """Another method is 405 as JSON and names those that are there."""
        path = f"{DEVICES}/{self.dev_id}"
        for method, where, allowed in (
            ("PUT", DEVICES, "GET, POST"),
            ("DELETE", DEVICES, "GET, POST"),
            ("POST", path, "DELETE, GET, PATCH"),
            ("GET", f"{path}/check", "POST"),
            ("POST", f"{path}/scenario", "GET, PUT"),
            ("PUT", f"{path}/ledger", "GET"),
            ("POST", "/dm/api/v3/drivers", "GET"),
        ):
            answer = self.request(method, where)
            self.assertEqual(self.error(answer, 405, 2000), [])
            self.assertEqual(answer.header("allow"), allowed)

    def test_no_origin(self) -> None:
        """Unlike the task endpoints these do not let pages of other origins read them."""
        answer = self.request("GET", DEVICES, headers=[("Origin", "https://elsewhere.example")])
        self.assertEqual(answer.header("access-control-allow-origin"), None)

    def test_secrets(self) -> None:
        """A secret setting is taken and kept, and never comes back."""
        driver = replace(
            self.shop.core.devices.drivers[REGISTER, "training"],
            name="secretive",
            settings=_SecretiveSettings,
            secrets=("token",),
        )
        self.shop.core.devices.drivers[REGISTER, "secretive"] = driver
        made = self.request("POST", DEVICES, {**KITCHEN, "driver": "secretive", "settings": {"token": "s3same"}})
        self.assertEqual(made.status, 201)
        path = f"{DEVICES}/{made.json['dev_id']}"
        changed = self.request("PATCH", path, {"settings": {"shopname": "Кухня"}})
        for answer in (made, changed, self.request("GET", path), self.request("GET", DEVICES)):
            self.assertNotIn(b"s3same", answer.body)
        self.assertNotIn("token", changed.json["settings"])
        kept: Any = self.shop.core.devices.by_name("kitchen").settings
        self.assertEqual((kept.token, kept.shopname), ("s3same", "Кухня"))


class AddressTests(_Devices):
    """A stored secret and another address."""

    def setUp(self) -> None:
        """A terminal with a password."""
        super().setUp()
        settings = {"host": "192.168.1.20", "port": 20007, "password": "135791"}
        made = self.request(
            "POST", DEVICES, {"device": "pos", "kind": "terminal", "driver": "zvt", "settings": settings}
        )
        self.path = f"{DEVICES}/{made.json['dev_id']}"

    def now(self) -> Any:
        """The settings of the terminal."""
        return self.shop.core.devices.by_name("pos").settings

    def test_another_address(self) -> None:
        """Without the secret a change of host, port or line is refused at the secret's field; nothing is stored."""
        for change in (
            {"host": "203.0.113.5"},
            {"port": 20008},
            {"port": 0},
            {"interface": "serial", "serial_port": "/dev/ttyS0"},
        ):
            refused = self.request("PATCH", self.path, {"settings": change}, headers=[("Accept-Language", "uk")])
            [error] = self.error(refused, 422, 2000)
            self.assertEqual(error["path"], "settings.password")
            self.assertIn("введіть його знову", error["text"])
            self.assertEqual((self.now().host, self.now().port, self.now().interface), ("192.168.1.20", 20007, "tcp"))

    def test_given_anew(self) -> None:
        """With the secret in the same request the address changes, and that secret is used."""
        told = self.request("PATCH", self.path, {"settings": {"host": "203.0.113.5", "password": "246802"}})
        self.assertEqual((told.status, self.now().host, self.now().password), (200, "203.0.113.5", "246802"))

    def test_same_address(self) -> None:
        """A request that repeats the address, as forms do, keeps the secret."""
        told = self.request("PATCH", self.path, {"settings": {"host": "192.168.1.20", "port": 20007, "wait_s": 60}})
        self.assertEqual((told.status, self.now().wait_s, self.now().password), (200, 60, "135791"))


class _SecretiveSettings(TrainingSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings with something to hide."""

    token: str = ""


class ChangeTests(_Devices):
    """``PATCH /dm/api/v3/devices/{dev_id}``"""

    def change(self, **members: object) -> HttpAnswer:
        """The answer to a change of `test`."""
        dev_id = self.shop.core.devices.by_name("test").row.dev_id
        return self.request("PATCH", f"{DEVICES}/{dev_id}", members)

    def test_settings(self) -> None:
        """What is named changes, at once and for good; what is not named stays."""
        self.open_shift()
        self.assertEqual(self.change(settings={"shopname": "Перша"}).status, 200)
        answer = self.change(settings={"shopad": "вул. Друга"})
        self.assertEqual([answer.json["settings"][name] for name in ("shopname", "shopad")], ["Перша", "вул. Друга"])
        printed = self.sell()["info"]["printinfo"]
        self.assertEqual((printed["shopname"], printed["shopad"]), ("Перша", "вул. Друга"))
        self.shop.crash()
        settings: Any = self.shop.core.devices.by_name("test").settings
        self.assertEqual((settings.shopname, settings.shopad), ("Перша", "вул. Друга"))

    @promises("2.1.device.4")
    def test_name(self) -> None:
        """A device answers to its new name only, with its shift and its numbers going on."""
        self.open_shift()
        dev_id = self.dev_id
        answer = self.change(device="front")
        self.assertEqual((answer.status, answer.json["device"], answer.json["dev_id"]), (200, "front", dev_id))
        self.assertEqual(self.sell()["res"], 1091)
        sold = self.execute({**sale(), "device": "front"})
        self.assertEqual((sold["res"], sold["info"]["docno"], sold["info"]["fisid"]), (0, "2", "4000000001"))
        self.assertEqual(self.shop.fiscal(0, device="front")["res"], 1096)

    def test_own_name(self) -> None:
        """A device may be given the name that it has."""
        self.assertEqual(self.change(device="test").status, 200)

    @promises("2.1.device.3")
    def test_taken_name(self) -> None:
        """The name of another device is 409 with 2002, and both stay as they were."""
        self.make()
        self.assertEqual(self.error(self.change(device="kitchen", settings={"shopname": "x"}), 409, 2002), [])
        self.assertEqual(
            [device["device"] for device in self.request("GET", DEVICES).json["devices"]], ["test", "kitchen"]
        )
        settings: Any = self.shop.core.devices.by_name("test").settings
        self.assertEqual(settings.shopname, "Навчальна каса")

    def test_bad_members(self) -> None:
        """What does not fit is 422 by its path and changes nothing."""
        for members, path in (
            ({"device": ""}, "device"),
            ({"device": 5}, "device"),
            ({"settings": {"rounding_step": 7, "shopname": "x"}}, "settings.rounding_step"),
            ({"settings": {"nobody": 1}}, "settings.nobody"),
            ({"settings": {"shopname": None}}, "settings.shopname"),
            ({"kind": "printer"}, "kind"),
        ):
            self.assertEqual(self.path_of(self.change(**members)), path)
        settings: Any = self.shop.core.devices.by_name("test").settings
        self.assertEqual((settings.rounding_step, settings.shopname), (50, "Навчальна каса"))

    def test_nothing(self) -> None:
        """An empty change changes nothing and returns the device."""
        before = self.request("GET", f"{DEVICES}/{self.dev_id}").json
        self.assertEqual(self.change().json, before)

    def test_full_disk(self) -> None:
        """A change that cannot be stored is 503 with 1082 and is not made."""
        self.shop.store.broken = True
        self.assertEqual(self.error(self.change(device="front"), 503, 1082), [])
        self.shop.store.broken = False
        self.assertEqual(self.execute(fiscal(18))["res"], 0)

    def test_scenario_stays(self) -> None:
        """A change of settings keeps the scenario of the simulated device."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9"})
        self.assertEqual(self.change(settings={"shopname": "Перша"}).status, 200)
        self.assertEqual((self.sell()["res"], self.sell()["res"]), (1040, 0))


class DeleteTests(_Devices):
    """``DELETE /dm/api/v3/devices/{dev_id}``"""

    def test_delete(self) -> None:
        """A deleted device is 204 without a body, and then it is gone from everywhere, for good."""
        path = f"{DEVICES}/{self.make()['dev_id']}"
        answer = self.request("DELETE", path)
        self.assertEqual((answer.status, answer.body, answer.header("content-type")), (204, b"", None))
        for method in ("GET", "DELETE"):
            self.assertEqual(self.error(self.request(method, path), 404, 1091), [])
        self.assertEqual(self.execute({**fiscal(18), "device": "kitchen"})["res"], 1091)
        self.shop.crash()
        self.assertEqual([device.name for device in self.shop.core.devices], ["test"])

    def test_name_again(self) -> None:
        """The name is free again; its next bearer is another register, without the old one's receipts."""
        self.open_shift()
        self.sell("t")
        self.assertEqual(self.fiscal(11)["res"], 0)
        self.assertEqual(self.request("DELETE", f"{DEVICES}/{self.dev_id}").status, 204)
        self.make(device="test")
        self.assertEqual(self.execute({"device": "test", "tag": "t"})["res"], 1058)
        info = self.fiscal(0)["info"]
        self.assertEqual((info["fisid"], info["docno"]), ("4000000002", "1"))


class HungUpTests(_Devices):
    """A caller who hangs up in the middle of a change: what the store holds is what the service goes by."""

    def setUp(self) -> None:
        """A store that writes at once and reports it when released."""
        super().setUp()
        self.held: list[tuple[Deferred[Any], Deferred[Any]]] = []
        self.holding = False
        ask = self.shop.store._ask

        def held(verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
            answer = ask(verb, arguments)
            if not self.holding:
                return answer
            due: Deferred[Any] = Deferred()
            self.held.append((due, answer))
            return due

        self.patch(self.shop.store, "_ask", held)

    def hung_up(self, method: str, path: str, body: object = None) -> None:
        """Ask and hang up while the store works; return when it has done so."""
        connection: Connection = self.connect()
        self.holding = True
        connection.ask(method, path, b"" if body is None else json.dumps(body).encode())
        self.assertEqual(len(self.held), 1)
        connection.hang_up()
        self.holding = False
        while self.held:
            due, answer = self.held.pop()
            answer.addCallbacks(due.callback, due.errback)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_create(self) -> None:
        """A device that was made while its maker hung up is there, and does tasks."""
        self.hung_up("POST", DEVICES, KITCHEN)
        self.assertEqual(
            [device["device"] for device in self.request("GET", DEVICES).json["devices"]], ["test", "kitchen"]
        )
        self.assertEqual(self.execute({**fiscal(18), "device": "kitchen"})["res"], 0)

    def test_change(self) -> None:
        """A device that was renamed while its owner hung up has its new name only."""
        self.hung_up("PATCH", f"{DEVICES}/{self.dev_id}", {"device": "front"})
        self.assertEqual(self.execute({**fiscal(18), "device": "front"})["res"], 0)
        self.assertEqual(self.execute(fiscal(18))["res"], 1091)

    def test_delete(self) -> None:
        """A device that was deleted while its owner hung up is gone."""
        self.hung_up("DELETE", f"{DEVICES}/{self.dev_id}")
        self.assertEqual(self.request("GET", DEVICES).json["devices"], [])
        self.make(device="test")


class StoredSettingsTests(_Devices):
    """What an older or newer version has left in the store."""

    def test_settings_of_another_version(self) -> None:
        """A device whose stored settings no longer fit does not keep the others from working."""
        kitchen = self.make()
        row = self.shop.core.devices.by_id(kitchen["dev_id"]).row
        changed = self.shop.store.change_device(row.n, row.name, b'{"setting_of_tomorrow": 1}')
        self.successResultOf(Deferred.fromCoroutine(changed))
        log = self.logged()
        self.shop.crash()
        self.assertEqual(self.shop.fiscal(18)["res"], 0)
        self.assertIn("kitchen", log.getvalue())
        self.flushLoggedErrors()


class CheckTests(_Devices):
    """``POST /dm/api/v3/devices/{dev_id}/check``"""

    def check(self, language: str = "uk") -> HttpAnswer:
        """The answer to a check of `test`."""
        return self.request("POST", f"{DEVICES}/{self.dev_id}/check", b"", [("Accept-Language", language)])

    def test_well(self) -> None:
        """A device that works is 200 with ``res`` 0 and no text, and nothing has happened by that."""
        answer = self.check()
        self.assertEqual((answer.status, answer.json), (200, {"res": 0, "errortxt": ""}))
        self.assertEqual(self.shop.ledger(), [])

    def test_ill(self) -> None:
        """A device that does not work is 200 as well; ``res`` and the text have the reason."""

        def fail() -> Deferred[None]:
            return Deferred.fromCoroutine(_raise(Refused(Res.TAX_SERVICE_UNREACHABLE)))

        self.patch(self.shop.core.devices.by_name("test").built, "check", fail)
        for language in ("uk", "en"):
            answer = self.check(language)
            expected = {"res": 1050, "errortxt": Res.TAX_SERVICE_UNREACHABLE.text.for_language(language)}
            self.assertEqual((answer.status, answer.json), (200, expected))

    def test_fault_of_ours(self) -> None:
        """A fault of ours is 500 in the shape of every error, and is in the log."""

        def fail() -> None:
            raise RuntimeError("a bug")

        self.patch(self.shop.core.devices.by_name("test").built, "check", fail)
        answer = self.check()
        self.assertEqual(self.error(answer, 500, 1016), [])
        self.assertNotIn(b"a bug", answer.body)
        [failure] = self.flushLoggedErrors(RuntimeError)
        self.assertIsInstance(failure, Failure)


async def _raise(error: Exception) -> None:
    raise error


class DriversTests(_Devices):
    """``GET /dm/api/v3/drivers``"""

    def test_training(self) -> None:
        """Each driver is listed with its kind, title, abilities and the schema of its settings."""
        drivers = self.request("GET", "/dm/api/v3/drivers").json["drivers"]
        for driver in drivers:
            members = {"kind", "driver", "title", "capabilities", "level", "suite", "origin", "conform"}
            self.assertEqual(set(driver), {*members, "settings_schema"})
            self.assertIn(driver["kind"], ("register", "printer", "terminal", "other"))
        [training] = [driver for driver in drivers if (driver["kind"], driver["driver"]) == ("register", "training")]
        self.assertIn("sale", training["capabilities"])
        schema = training["settings_schema"]
        name = schema["$ref"].removeprefix("#/$defs/")
        shown = self.request("GET", f"{DEVICES}/{self.dev_id}").json["settings"]
        self.assertEqual(
            set(schema["$defs"][name]["properties"]), {*shown, "cloud_token", "marks_token", "classic_password"}
        )


class ScenarioTests(_Devices):
    """``PUT`` and ``GET /dm/api/v3/devices/{dev_id}/scenario``"""

    def scenario(self, body: object) -> HttpAnswer:
        """The answer to a new scenario for `test`."""
        return self.request("PUT", f"{DEVICES}/{self.dev_id}/scenario", body)

    def left(self) -> Any:
        """The rules that are left."""
        return self.request("GET", f"{DEVICES}/{self.dev_id}/scenario").json["rules"]

    def test_followed(self) -> None:
        """A scenario is returned with its defaults, followed, and used up."""
        self.request("PATCH", f"{DEVICES}/{self.dev_id}", {"settings": {"offline_allowed": False}})
        self.open_shift()
        rules = [{"on": "sale", "then": "refuse", "code": 9}, {"on": "any", "then": "unreachable", "times": 2}]
        full = [
            {"on": "sale", "then": "refuse", "times": 1, "code": "9", "delay_ms": 0},
            {"on": "any", "then": "unreachable", "times": 2, "code": "", "delay_ms": 0},
        ]
        answer = self.scenario({"rules": rules})
        self.assertEqual((answer.status, answer.json), (200, {"rules": full}))
        self.assertEqual(self.left(), full)
        self.assertEqual(self.sell("t")["res"], 1040)
        self.assertEqual(self.left(), full[1:])
        self.assertEqual(self.sell("t")["res"], 1050)
        self.assertEqual(self.left(), [{**full[1], "times": 1}])

    def test_cleared(self) -> None:
        """An empty list of rules clears the scenario."""
        self.open_shift()
        self.scenario({"rules": [{"on": "any", "then": "refuse", "times": 0}]})
        self.assertEqual(self.scenario({"rules": []}).json, {"rules": []})
        self.assertEqual(self.sell()["res"], 0)

    def test_bad_rules(self) -> None:
        """An invalid rule is 422 by its path, and the old rules stay."""
        good = {"on": "sale", "then": "accept"}
        self.scenario({"rules": [good]})
        for body, path in (
            ({"rules": [good, {**good, "on": "sail"}]}, "rules[1].on"),
            ({"rules": [{**good, "then": "explode"}]}, "rules[0].then"),
            ({"rules": [{**good, "times": -1}]}, "rules[0].times"),
            ({"rules": [{**good, "delay_ms": 10**9}]}, "rules[0].delay_ms"),
            ({"rules": [{**good, "delay_ms": "x"}]}, "rules[0].delay_ms"),
            ({"rules": 5}, "rules"),
            ({}, "rules"),
        ):
            self.assertEqual(self.path_of(self.scenario(body)), path)
            self.assertEqual(len(self.left()), 1)

    def test_real_device(self) -> None:
        """A device that is not simulated has neither scenario nor ledger: 404."""
        drivers = self.shop.core.devices.drivers
        drivers[REGISTER, "real"] = replace(drivers[REGISTER, "training"], name="real", simulator=None)
        path = f"{DEVICES}/{self.make(driver='real', confirm_real=True)['dev_id']}"
        for method, rest in (("GET", "/scenario"), ("PUT", "/scenario"), ("GET", "/ledger")):
            answer = self.request(method, f"{path}{rest}", {"rules": []} if method == "PUT" else None)
            self.assertEqual(answer.status, 404)
            self.assertEqual(set(answer.json), ERROR)


class RealAndSimulatedTests(_Devices):
    """What keeps practice and business apart."""

    REAL: ClassVar[dict[str, Any]] = {"driver": "prro", "settings": {"fiscal_number": "4000000001"}}
    HERE: ClassVar[dict[str, Any]] = {"driver": "prro", "settings": {"server_url": "http://127.0.0.1:8609/fs"}}

    def in_business(self) -> None:
        """Start the service again without training mode."""
        config = self.shop._config
        self.shop._config = replace(config, service=replace(config.service, training=False))
        self.shop.crash()
        self.door = Door(self.shop.core)

    def terminal(self, **members: Any) -> HttpAnswer:
        """The answer to a new training terminal."""
        return self.request("POST", DEVICES, {"device": "pos", "kind": "terminal", "driver": "training", **members})

    def test_no_terminal(self) -> None:
        """Outside of training mode nobody can make a terminal that approves everything."""
        self.in_business()
        answer = self.terminal()
        self.assertEqual(self.path_of(answer), "driver")
        self.assertIn("навчальному режимі", answer.json["errortxt"])
        self.assertNotIn("pos", {device["device"] for device in self.request("GET", DEVICES).json["devices"]})
        self.assertEqual(self.request("POST", DEVICES, KITCHEN).status, 201)

    def test_old_terminal(self) -> None:
        """One from before approves nothing: it refuses with 430 and says why, and can be deleted."""
        dev_id = self.terminal().json["dev_id"]
        purchase = {"ver": 6, "device": "pos", "type": 3, "pay": {"task": 1, "sum": 5}}
        self.in_business()
        answer = self.execute(purchase)
        self.assertEqual(answer["res"], 430)
        self.assertIn("навчальному режимі", answer["errortxt"])
        record = self.request("GET", f"{DEVICES}/{dev_id}").json
        self.assertIn("training mode only", record["state"]["error"])
        self.assertEqual(self.request("PATCH", f"{DEVICES}/{dev_id}", {"device": "pos2"}).status, 200)
        self.assertEqual(self.execute({**purchase, "device": "pos2"})["res"], 430)
        self.assertEqual(self.request("DELETE", f"{DEVICES}/{dev_id}").status, 204)
        self.flushLoggedErrors(BadSettings)

    def test_old_address(self) -> None:
        """A register whose tax server is elsewhere and without TLS stops after an update, and says what it needs."""
        settings = b'{"server_url": "http://192.168.1.5:8609/fs"}'
        adding = self.shop.store.add_device(NOBODY, "far", REGISTER, "prro", settings)
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.in_business()
        self.flushLoggedErrors(BadSettings)
        opened = self.execute({"ver": 6, "device": "far", "type": 1, "fiscal": {"task": 0}})
        self.assertEqual(opened["res"], 430)
        self.assertIn("потрібен https", opened["errortxt"])
        change = {"settings": {"server_url": "https://192.168.1.5:8643/fs"}}
        self.assertEqual(self.request("PATCH", f"{DEVICES}/{NOBODY}", change).status, 200)
        self.assertNotIn("error", self.request("GET", f"{DEVICES}/{NOBODY}").json["state"])

    def test_no_scenario(self) -> None:
        """Outside of training mode no device takes a scenario, though one that is there sells on."""
        path = f"{DEVICES}/{self.dev_id}/scenario"
        rules = {"rules": [{"on": "sale", "then": "accept"}]}
        self.assertEqual(self.request("PUT", path, rules).status, 200)
        self.in_business()
        self.error(self.request("PUT", path, rules), 409, 2000)
        self.assertEqual(self.request("GET", path).json, {"rules": []})
        self.open_shift()
        self.assertEqual(self.sell()["res"], 0)

    def test_real_register(self) -> None:
        """In training mode a register that sends real documents needs a person's word, with a simulator none."""
        answer = self.request("POST", DEVICES, {**KITCHEN, **self.REAL})
        self.assertEqual(self.path_of(answer), "confirm_real")
        self.assertIn("confirm_real true", answer.json["errortxt"])
        self.assertEqual(self.make(**self.REAL, confirm_real=True)["driver"], "prro")
        self.assertEqual(self.make(**self.HERE, device="practice")["driver"], "prro")
        self.in_business()
        self.assertEqual(self.make(**self.REAL, device="third")["driver"], "prro")

    def test_becomes_real(self) -> None:
        """A change that makes documents real needs it too; later changes do not."""
        path = f"{DEVICES}/{self.make(**self.HERE)['dev_id']}"
        real = {"settings": {"server_url": "https://fs.tax.gov.ua:8643/fs"}}
        self.assertEqual(self.path_of(self.request("PATCH", path, real)), "confirm_real")
        self.assertIn("127.0.0.1", self.request("GET", path).json["settings"]["server_url"])
        self.assertEqual(self.request("PATCH", path, {**real, "confirm_real": True}).status, 200)
        self.assertEqual(self.request("PATCH", path, {"settings": {"local_number": 2}}).status, 200)

    def test_marked(self) -> None:
        """Each page names the real registers of a training service, and marks devices that are out of place."""
        self.make(**self.REAL, device="real till", confirm_real=True)
        other = self.make(device="other")
        for page in ("/dm/main/receipts", "/dm/", f"/dm/devices/{other['dev_id']}", "/dm/main/codes"):
            shown = self.request("GET", page, headers=[("Accept-Language", "en")]).body.decode()
            self.assertIn("these registers send real documents to the tax service: real till", shown, page)
            self.assertNotIn("nothing is sent", shown)
        self.in_business()
        shown = self.request("GET", "/dm/", headers=[("Accept-Language", "en")]).body.decode()
        self.assertEqual(shown.count(">training device<"), 2)
        self.assertNotIn("raining mode", shown)

    def test_doctor(self) -> None:
        """The check of the service names both kinds."""
        self.make(**self.REAL, device="real till", confirm_real=True)
        self.assertEqual(self.odd(), {"real till": "sends real documents"})
        self.in_business()
        self.assertEqual(self.odd(), {"test": "training device"})

    def odd(self) -> dict[str, str]:
        """What is unusual, by device."""
        devices = self.shop.core.devices
        words = ("sends real documents", "training device")
        return {
            need.device: word
            for device in devices
            for need in of_device(device, {}, devices.mark(device), 0)
            for word in words
            if word in need.text.en
        }


class LedgerTests(_Devices):
    """``GET /dm/api/v3/devices/{dev_id}/ledger``"""

    def test_entries(self) -> None:
        """The ledger lists what the simulated device has recorded, in order and in whole kopecks."""
        path = f"{DEVICES}/{self.dev_id}/ledger"
        self.assertEqual(self.request("GET", path).json, {"entries": []})
        self.open_shift()
        self.scenario_refuses_once()
        self.assertEqual([self.sell("t")["res"], self.sell("t")["res"]], [1040, 0])
        number = "TEST_4000000001"
        entry = {"dt": "20260921090000", "status": "accepted"}
        self.assertEqual(
            self.request("GET", path).json["entries"],
            [
                {"n": 1, "kind": "open", "number": f"{number}00000001", "sum": 0, "ref": "1", **entry},
                {"n": 2, "kind": "sale", "number": "", "sum": 12550, "ref": "2", **entry, "status": "refused"},
                {"n": 3, "kind": "sale", "number": f"{number}00000002", "sum": 12550, "ref": "2", **entry},
            ],
        )

    def scenario_refuses_once(self) -> None:
        """Let the next sale be refused."""
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9"})

    def test_restart(self) -> None:
        """The ledger outlives a restart."""
        self.open_shift()
        path = f"{DEVICES}/{self.dev_id}/ledger"
        before = self.request("GET", path).body
        self.shop.crash()
        self.door = type(self.door)(self.shop.core)
        self.assertEqual(self.request("GET", path).body, before)
        self.assertIn(b'"kind":"open"', before)
