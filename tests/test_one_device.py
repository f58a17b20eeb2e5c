"""A register at the tax service works from one machine: `device_register`."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Any
from unittest import skipIf

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.channels import tax_service
from dmtwisted.system import machine
from protocols.fiscal import commands
from protocols.simulators.fiscal_questions import _ANSWERS, _device
from tests.prro_shop import FIRST, PrroShop
from tests.shop import sale

OURS, THEIRS = "a" * 64, "b" * 64


class OpeningTests(SynchronousTestCase):
    """A register, and what the tax service is told of its machine."""

    def setUp(self) -> None:
        """A closed register on our machine."""
        self.patch(tax_service, "machine_id", lambda: OURS)
        self.shop = PrroShop(self, "one")
        self.server = self.shop.far_end
        self.record = self.server.books.registers[FIRST]
        self.told: list[commands.DeviceRegister] = []

        def device(context: Any, command: commands.DeviceRegister) -> Any:
            self.told.append(command)
            return _device(context, command)

        usual = _ANSWERS[commands.DeviceRegister]
        _ANSWERS[commands.DeviceRegister] = device
        self.addCleanup(_ANSWERS.__setitem__, commands.DeviceRegister, usual)

    def do(self, task: int, **members: Any) -> Any:
        """The answer to a task."""
        return self.shop.fiscal(task, device="one", **members)

    def set(self, device_register: str) -> None:
        """Change the setting."""
        self.shop.settings("one", device_register=device_register)

    def test_off(self) -> None:
        """Off, as it is by default, nothing is told, whatever machine the tax service knows."""
        self.record.device = THEIRS
        self.assertEqual([self.do(0)["res"], self.do(1, receipt=sale(50))["res"], self.do(11)["res"]], [0, 0, 0])
        self.assertEqual((self.told, self.record.device), ([], THEIRS))

    def test_ours(self) -> None:
        """Each opening tells our machine, without force; the day goes on as usual."""
        self.set("on")
        for _ in range(2):
            self.assertEqual([self.do(0)["res"], self.do(1, receipt=sale(50))["res"], self.do(11)["res"]], [0, 0, 0])
        self.assertEqual([(one.device_id, one.forced) for one in self.told], [(OURS, False)] * 2)
        self.assertEqual(self.record.device, OURS)

    def test_another(self) -> None:
        """Another machine: the opening is refused in both languages, nothing is stored, no number is used."""
        self.record.device = THEIRS
        self.set("on")
        answer = self.do(0)
        self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (2104, 3, 3))
        self.assertEqual(answer["errortxt"], "За даними податкової ця каса працює на іншому пристрої")
        body = {"ver": 6, "device": "one", "type": 1, "fiscal": {"task": 0}}
        self.assertIn("works on another device", self.shop.ask(body, "en")["errortxt"])
        self.assertEqual((self.record.device, self.record.next_local), (THEIRS, 1))
        self.set("off")
        self.assertEqual(self.do(0)["info"]["docno"], "1")

    def test_take_over(self) -> None:
        """The register is taken over with force; from then on the other machine is the one that is refused."""
        self.record.device = THEIRS
        self.set("take_over")
        self.assertEqual(self.do(0)["res"], 0)
        self.assertEqual((self.record.device, self.told[-1].forced), (OURS, True))
        self.do(11)
        self.patch(tax_service, "machine_id", lambda: THEIRS)
        self.set("on")
        self.assertEqual(self.do(0)["res"], 2104)

    def test_crash(self) -> None:
        """A crash after the machine was told, and before the opening left, costs nothing: it is told again."""
        self.shop.settings("one", device_register="on", offline_allowed=False)
        self.server.scenario.replace({"rules": [{"on": "open", "then": "unreachable"}]})
        self.assertEqual(self.do(0)["res"], 1050)
        self.shop.crash()
        answer = self.do(0)
        self.assertEqual((answer["res"], answer["info"]["docno"], self.record.device), (0, "1", OURS))

    def test_no_answer(self) -> None:
        """While the tax service does not answer that question nothing is opened, and a repeat is safe."""
        self.shop.settings("one", device_register="on", offline_allowed=False)
        self.assertEqual([self.do(0)["res"], self.do(11)["res"]], [0, 0])
        for then, res in (("unreachable", 1050), ("lost_after", 1084), ("refuse", 1035)):
            self.server.scenario.replace({"rules": [{"on": "probe", "then": then, "code": "11", "times": 0}]})
            answer = self.do(0)
            self.assertEqual((answer["res"], answer["task_status"]), (res, 3), then)
            self.server.scenario.replace({"rules": []})
            self.shop.clock.advance(60)
        self.assertEqual(self.do(0)["res"], 0)

    def test_offline(self) -> None:
        """Offline nothing is asked: the documents are numbered here."""
        self.shop.settings("one", device_register="on", offline_allowed=True)
        self.assertEqual([self.do(0)["res"], self.do(11)["res"]], [0, 0])
        self.record.device = THEIRS
        self.server.scenario.replace({"rules": [{"on": "probe", "then": "unreachable", "times": 0}]})
        answer = self.do(0)
        self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True))

    def test_number(self) -> None:
        """A document that another program made is found before ours leaves: 1043, and nothing is sent."""
        self.set("on")
        self.do(0)
        self.record.next_local += 1
        before = len(self.server.entries())
        answer = self.do(1, receipt=sale(50))
        self.assertEqual((answer["res"], answer["res_action"]), (1043, 3))
        self.assertIn("повинен дорівнювати 3", answer["aq_errortxt"])
        self.assertEqual(len(self.server.entries()), before)
        self.record.next_local -= 1
        self.assertEqual(self.do(1, receipt=sale(50))["res"], 0)

    def test_no_machine(self) -> None:
        """A machine that cannot be named is said so."""

        def nothing() -> str:
            raise OSError("no network card")

        self.patch(tax_service, "machine_id", nothing)
        self.set("on")
        answer = self.do(0)
        self.assertEqual((answer["res"], self.told), (430, []))
        self.assertIn("no network card", answer["errortxt"])


class MachineTests(SynchronousTestCase):
    """The number of a machine."""

    def test_number(self) -> None:
        """It is a digest that stays the same."""
        found = machine.machine_id()
        self.assertRegex(found, "^[0-9a-f]{64}$")
        self.assertEqual(found, machine.machine_id())

    @skipIf(sys.platform == "win32", "Windows keeps its number in the registry")
    def test_places(self) -> None:
        """It is made of the system's number, else of the hardware address."""
        place = Path(self.mktemp())
        self.patch(machine, "PLACES", ("/none", str(place)))
        self.patch(uuid, "getnode", lambda: 0x0242AC110002)
        with_card = machine.machine_id()
        place.write_text("4c4c4544\n")
        found = machine.machine_id()
        self.assertNotEqual(found, with_card)
        self.patch(uuid, "getnode", lambda: 0x0242AC110003)
        self.assertEqual(machine.machine_id(), found)

    def test_random_address(self) -> None:
        """A hardware address that is random names nothing."""
        self.patch(machine, "PLACES", ())
        self.patch(uuid, "getnode", lambda: 0x0342AC110002 | machine.MULTICAST)
        self.assertRaises(OSError, machine._address)
