"""Terminals and a printer on COM ports of the service under Wine; their simulators are at the other end on Linux."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from tests.test_service_process import Service, until
from tests.web_case import DEVICES, fiscal, sale
from tests.windows.wine import PORTS, Cable, WindowsService, WineCase

WIRES = ("privatbank-json", "ssi-json", "zvt", "ecr17", "concert-v2")
"""The protocols of terminals that have a serial line."""

SETTINGS: dict[str, dict[str, Any]] = {"ssi-json": {"two_steps": False}, "escpos": {"profile": "epson"}}
"""A payment in two steps waits for the second one; other printers do not prove what they print."""

AFTER_CUT = {"zvt": 5014, "concert-v2": 1016}
"""What a payment comes to whose line is cut and returns: a ZVT terminal takes it back by itself, Concert V2 has no
question for it; the others are asked, and it has succeeded."""

ABSENT = {"privatbank-json": 1126}
"""The code for a port that is not there; 5010 for the others."""


LISTEN = """
from twisted.internet import iocpreactor
iocpreactor.install()
from twisted.internet import reactor
from twisted.internet.protocol import Factory, Protocol
from protocols.serial import SerialEndpoint, SerialSettings

class Listener(Protocol):
    heard = 0

    def dataReceived(self, data):
        self.heard += 1
        if self.heard == 200:
            reactor.stop()

SerialEndpoint(reactor, SerialSettings("COM1")).connect(Factory.forProtocol(Listener))
reactor.run()
print("over")
"""
"""A program that stops while a device talks."""


Ends = tuple[Service, Cable]
"""A simulator and its cable."""


class Device:
    """A device of the service, its simulator, and the cable between them."""

    def __init__(self, service: WindowsService, simulator: Service, cable: Cable, name: str) -> None:
        self.service, self.simulator, self.cable, self.name = service, simulator, cable, name

    def pay(self, task: int, amount: float, **members: Any) -> Any:
        """The answer to a task of a terminal."""
        pay = {"task": task, "sum": amount, **members}
        return self.service.execute({"device": self.name, "type": 3, "pay": pay})

    def print(self, doc: object) -> Any:
        """The answer to a task of a printer."""
        return self.service.execute({"device": self.name, "type": 2, "doc": doc})

    def check(self) -> int:
        """What the check of the connection comes to."""
        answer: int = json.loads(self.service.request("POST", f"{self.service.device(self.name)}/check")[1])["res"]
        return answer

    def state(self, member: str) -> Any:
        """What the simulated device says of itself."""
        return json.loads(self.simulator.request("GET", "/state")[1])[member]

    def ledger(self) -> list[tuple[str, int]]:
        """What has happened there."""
        entries = json.loads(self.simulator.request("GET", "/ledger")[1])["entries"]
        return [(entry["kind"], entry["sum"]) for entry in entries if entry["status"] == "accepted"]


class PortsTests(WineCase):
    """Devices on COM ports."""

    def simulate(self, number: int, *words: str) -> Ends:
        """A simulator that has just been started, on a cable from a port."""
        cable = self.cable(number)
        command = ("-m", "dmtwisted.commands.main", "simulate", *words, "--serial", str(cable.device))
        simulator = Service(self.folder / f"simulator{number}", command)
        self.addCleanup(simulator.end)
        return simulator, cable

    def device(
        self, service: WindowsService, number: int, kind: str, driver: str, ends: tuple[Service, Cable]
    ) -> Device:
        """A device of the service on a port."""
        simulator, cable = ends
        simulator.port = until(simulator._port, f"{driver} is not simulated")
        settings: dict[str, Any] = {"interface": "serial", "serial_port": f"COM{number}"}
        settings |= SETTINGS.get(driver, {})
        body = {"device": driver, "kind": kind, "driver": driver, "settings": settings}
        status, told = service.request("POST", DEVICES, body)
        self.assertEqual(status, 201, told)
        return Device(service, simulator, cable, driver)

    def test_terminals(self) -> None:
        """Each serial terminal pays and refunds on its port; a cut line takes nothing twice and loses no payment."""
        ends = [
            self.simulate(number, "terminal", "--protocol", wire, "--duration", "0.5")
            for number, wire in enumerate(WIRES, 1)
        ]
        service = self.windows_service()
        devices = [
            self.device(service, number, "terminal", wire, ends[number - 1]) for number, wire in enumerate(WIRES, 1)
        ]
        with ThreadPoolExecutor(len(devices)) as pool:
            for _ in pool.map(self.day, devices):
                pass
        self.assertEqual(service.stop(), 0)

    def day(self, device: Device) -> None:
        """A day of one terminal."""
        name = device.name
        self.assertEqual(device.check(), 0, name)
        paid = device.pay(1, 125.5)
        self.assertEqual((paid["res"], paid["info"].get("sum")), (0, 125.5), paid)
        if name == "ecr17":
            back, kind = device.pay(3, 125.5, cancelid=paid["info"]["cancelid"]), "cancel"
        else:
            back, kind = device.pay(2, 125.5, refundid=paid["info"]["refundid"]), "refund"
        self.assertEqual(back["res"], 0, back)
        device.cable.cut()
        absent = ABSENT.get(name, 5010)
        self.assertEqual((device.pay(1, 1)["res"], device.check()), (absent, absent), name)
        device.cable.plug()
        self.assertEqual(device.pay(1, 2)["res"], 0, name)
        with ThreadPoolExecutor(1) as pool:
            paying = pool.submit(device.pay, 1, 77)
            until(lambda: device.state("operation"), f"{name}: no payment began")
            device.cable.cut()
            until(lambda: True if device.state("operation") is None else None, f"{name}: the payment does not end")
            device.cable.plug()
            answer = paying.result()
        self.assertEqual(answer["res"], AFTER_CUT.get(name, 0), answer)
        happened = [("payment", 12550), (kind, 12550), ("payment", 200), ("payment", 7700)]
        taken_back = [("cancel", 7700)] if name == "zvt" else []
        self.assertEqual(device.ledger(), [*happened, *taken_back], name)
        if name != "concert-v2":  # which waits for a person to say what became of it
            self.assertEqual(device.pay(1, 3)["res"], 0, name)

    def test_printer(self) -> None:
        """An ESC/POS printer on a port prints and tells its state; what a cut line leaves unknown is called so."""
        ends = self.simulate(PORTS, "printer", "--profile", "epson")
        service = self.windows_service()
        printer = self.device(service, PORTS, "printer", "escpos", ends)
        self.assertEqual(printer.check(), 0)
        self.assertEqual(printer.print({"test": 1})["info"]["state"], "printed")
        self.assertEqual(service.execute(fiscal(0, "open"))["res"], 0)
        sold = json.loads(service.request("POST", f"/dm/execute-prn?dev_id={printer.name}", sale("first"))[1])
        self.assertEqual((sold["res"], sold["info"]["isprint"], sold["warnings"]), (0, 1, []))
        strip = printer.simulator.request("GET", "/strip")[1].decode()
        self.assertIn("ПРОБНИЙ ДРУК", strip)
        self.assertIn("ФІСКАЛЬНИЙ ЧЕК", strip)
        printer.simulator.request("POST", "/open_cover", {})
        self.assertIn("кришку", printer.print({"lines": [{"t": "а"}]})["errortxt"])
        printer.simulator.request("POST", "/close_cover", {})
        long = {"doccmd": [{"cmd": "text", "text": "Кава " * 8}] * 500}
        with ThreadPoolExecutor(1) as pool:
            printing = pool.submit(printer.print, long)
            so_far = len(printer.cable.sent)
            until(lambda: len(printer.cable.sent) > so_far + 4000 or None, "nothing is printed")
            printer.cable.cut()
            self.assertEqual((printing.result()["res"], printing.result()["res_action"]), (430, 2))
        self.assertEqual(printer.print({"lines": [{"t": "а"}]})["res"], 100)
        printer.cable.plug()
        self.assertEqual(printer.print({"lines": [{"t": "б"}]})["info"]["state"], "printed")
        printer.cable.hold(True)
        self.assertEqual(printer.print(long)["res"], 100)
        printer.cable.hold(False)
        self.assertEqual(printer.state("bytes_lost"), 0)
        self.assertEqual(service.stop(), 0)

    def test_talking_device(self) -> None:
        """A process ends although the device on its open port never stops talking."""
        cable, over = self.cable(1), Event()

        def talk() -> None:
            with cable.device.open("wb", buffering=0) as line:
                while not over.wait(0.001):
                    line.write(b"x")

        with ThreadPoolExecutor(1) as pool:
            talking = pool.submit(talk)
            try:
                self.assertIn("over", self.wine.python("-c", LISTEN))
            finally:
                over.set()
            talking.result()
