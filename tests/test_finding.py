"""Devices that are found: what the system lists, printers in the network, the protocols of a terminal."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionDone, ConnectionRefusedError
from twisted.internet.interfaces import IProtocol, IProtocolFactory
from twisted.internet.protocol import Protocol
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import alsoProvides

from dmtwisted.finding.finder import Finder, Found, family_of
from dmtwisted.finding.machine import Machine, Queue, SerialPort, UsbPrinter, networks_of, usb_printers
from dmtwisted.finding.search import ANSWER_S, AT_ONCE, CONNECT_S, LONGEST_S, Search
from dmtwisted.results import Refused
from protocols.errors import NotReached, Silent
from protocols.printers.presence import QUERY, is_status
from protocols.serial import ISerialLines, SerialSettings
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.maria_register import MariaDevice
from tests.register_desk import Desk as RegisterDesk
from tests.shop import Shop
from tests.test_simulate import Simulation
from tests.web_case import DEVICES, WebCase

FOUND, SEARCH = "/dm/api/v3/found", "/dm/api/v3/search"


class Desk:
    """A machine with lists of its own, and a network in memory."""

    def __init__(self, **lists: Any) -> None:
        async def cups() -> list[Queue]:
            queues: Callable[[], list[Queue]] = lists.get("queues", list)
            return queues()

        self.machine = Machine(
            cups,
            lists.get("ports", list),
            lists.get("usb", list),
            lists.get("windows", list),
            lists.get("addresses", lambda: ["192.168.1.20"]),
        )


class HereTests(WebCase):
    """What is connected to the computer."""

    def here(self, **lists: Any) -> list[dict[str, Any]]:
        """What the service answers on a machine with ``lists``."""
        self.door.tree.finder.machine = Desk(**lists).machine
        answer = self.request("GET", FOUND)
        self.assertEqual(answer.status, 200)
        found: list[dict[str, Any]] = answer.json["found"]
        return found

    def test_serial_ports(self) -> None:
        """A port of a known maker leads to its kind; a cable or a port of the board leads to either."""
        ports = [
            SerialPort("COM3", "Ingenico Telium", 0x0B00),
            SerialPort("COM4", "EPSON TM-T88V", 0x04B8),
            SerialPort("COM5", "USB-Serial", 0x1A86),
            SerialPort("COM1"),
        ]
        found = self.here(ports=lambda: ports)
        self.assertEqual([one["kind"] for one in found], ["terminal", "printer", "", ""])
        self.assertEqual(found[1]["settings"], {"interface": "serial", "serial_port": "COM4", "profile": "epson"})
        self.assertEqual(found[0]["settings"], {"interface": "serial", "serial_port": "COM3"})

    def test_printers(self) -> None:
        """USB printers and queues are there with their family; an office printer on USB is left out."""
        usb = [UsbPrinter("/dev/usb/lp0", "Star TSP143", ""), UsbPrinter("/dev/usb/lp1", "HP LaserJet", "PCL,PJL")]
        queues = [Queue("cups", "receipts", "EPSON TM-T20II"), Queue("cups", "unknown")]
        found = self.here(usb=lambda: usb, queues=lambda: queues)
        self.assertEqual([(one["place"], one["driver"]) for one in found], [
            ("/dev/usb/lp0", "star"), ("receipts", "escpos"), ("unknown", "escpos"),
        ])  # fmt: skip
        self.assertEqual(found[2]["settings"], {"interface": "cups", "queue": "unknown"})

    def test_added(self) -> None:
        """What is added already is marked with the name of its device."""
        settings = {"interface": "cups", "queue": "receipts"}
        body = {"device": "kitchen", "kind": "printer", "driver": "escpos", "settings": settings}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        settings = {"interface": "serial", "serial_port": "com3"}
        body = {"device": "pos 2", "kind": "terminal", "driver": "privatbank-json", "settings": settings}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        queues = [Queue("cups", "receipts"), Queue("windows", "receipts")]
        found = self.here(queues=lambda: queues, ports=lambda: [SerialPort("COM3")])
        self.assertEqual([one["device"] for one in found], ["kitchen", "", "pos 2"])

    def test_lists_that_fail(self) -> None:
        """A list that the system does not give is left out, the others are there."""

        def broken() -> list[Queue]:
            raise Silent(2)

        found = self.here(queues=broken, ports=lambda: [SerialPort("COM1")])
        self.assertEqual([one["place"] for one in found], ["COM1"])

    def test_usb_names(self) -> None:
        """A USB printer of Linux is named as it describes itself to the kernel."""
        devices, classes = Path(self.mktemp()), Path(self.mktemp())
        devices.mkdir()
        for name in ("lp0", "lp1"):
            (devices / name).touch()
        described = classes / "lp0" / "device" / "ieee1284_id"
        described.parent.mkdir(parents=True)
        described.write_bytes(b"\x00\x3aMFG:EPSON;CMD:ESC/POS;MDL:TM-T20II;CLS:PRINTER;")
        first, second = usb_printers(devices, classes)
        self.assertEqual((first.model, first.languages), ("TM-T20II", "ESC/POS"))
        self.assertEqual(second, UsbPrinter(str(devices / "lp1")))
        self.assertEqual(usb_printers(devices / "nothing"), [])

    def test_families(self) -> None:
        """The name of a maker says the driver and the profile; another name says nothing."""
        names = ("Star Micronics", "EPSON TM-T20", "BIXOLON SRP-350", "XP-80C")
        self.assertEqual([family_of(name)[1] for name in names], ["star", "epson", "citizen", ""])


class Network:
    """What listens in the network: the reactor's connections, answered as the addresses do."""

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor
        self.asked: list[tuple[str, int]] = []
        self.open_lines: list[tuple[Any, StringTransport]] = []
        self.waiting: list[tuple[str, int, Any]] = []
        reactor.connectTCP = self.connect

    def connect(self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None) -> Any:
        """Somebody connects; nothing happens until the test says so."""
        self.asked.append((host, port))
        self.waiting.append((host, port, factory))
        place = self.waiting[-1]
        connector = Connector(host, port, lambda: self.waiting.remove(place))
        factory.startedConnecting(connector)
        return connector

    def refuse(self, but: int = 0) -> None:
        """Nobody listens at what is asked now, except on the port ``but``."""
        for place in [one for one in self.waiting if one[1] != but]:
            self.waiting.remove(place)
            place[2].clientConnectionFailed(None, Failure(ConnectionRefusedError()))

    def accept(self, host: str, port: int) -> StringTransport:
        """Somebody listens there: the bytes that arrive."""
        [place] = [one for one in self.waiting if one[:2] == (host, port)]
        self.waiting.remove(place)
        protocol, transport = place[2].buildProtocol(None), StringTransport(lenient=True)
        protocol.makeConnection(transport)
        self.open_lines.append((protocol, transport))
        return transport

    def answer(self, data: bytes) -> None:
        """Bytes from the device that was connected last."""
        self.open_lines[-1][0].dataReceived(data)


class Connector:
    """A connection that is being made."""

    def __init__(self, host: str, port: int, stop: Callable[[], None]) -> None:
        self._place, self.stopConnecting = IPv4Address("TCP", host, port), stop

    def getDestination(self) -> IPv4Address:
        """Where to."""
        return self._place


class SearchCase(WebCase):
    """A search over HTTP, in a network in memory."""

    def setUp(self) -> None:
        """A machine with one address."""
        super().setUp()
        self.door.tree.finder.machine = Desk().machine
        self.network = Network(self.shop.clock)

    def begin(self, **body: str) -> Any:
        """Begin a search; its answer."""
        answer = self.request("POST", SEARCH, body)
        self.assertEqual(answer.status, 202)
        return answer.json

    @property
    def record(self) -> Any:
        """The search as the service tells it."""
        return self.request("GET", SEARCH).json


class PrinterSearchTests(SearchCase):
    """Printers in the network."""

    def test_whole_network(self) -> None:
        """Each neighbour is tried once on port 9100, 32 at a time; what listens is found."""
        record = self.begin(what="printers")
        self.assertEqual((record["total"], record["places"]), (253, ["192.168.1.0/24"]))
        self.assertEqual(len(self.network.waiting), AT_ONCE)
        transport = self.network.accept("192.168.1.7", 9100)
        self.assertEqual(transport.value(), QUERY)
        self.network.answer(b"\x16")
        self.assertTrue(transport.disconnecting)
        self.network.accept("192.168.1.9", 9100)
        self.shop.clock.advance(ANSWER_S)
        while self.network.waiting:
            self.assertLessEqual(len(self.network.waiting), AT_ONCE)
            self.network.refuse()
        record = self.record
        self.assertEqual((record["running"], record["ended"], record["done"]), (False, "whole", 253))
        self.assertEqual([(one["place"], one["answers"]) for one in record["found"]], [
            ("192.168.1.7", True), ("192.168.1.9", False),
        ])  # fmt: skip
        self.assertEqual(len(set(self.network.asked)), len(self.network.asked))
        self.assertNotIn(("192.168.1.20", 9100), self.network.asked)
        self.assertEqual({port for _, port in self.network.asked}, {9100})

    def test_only_the_query(self) -> None:
        """Nothing but the status query is sent, whatever comes back."""
        self.begin(what="printers")
        transport = self.network.accept("192.168.1.7", 9100)
        self.network.answer(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.network.open_lines[-1][0].connectionLost(Failure(ConnectionDone()))
        self.assertEqual(transport.value(), QUERY)
        self.assertEqual([one["answers"] for one in self.record["found"]], [False])
        self.assertEqual([is_status(byte) for byte in (0x12, 0x1E, 0x16, 0x00, 0x48, 0x11)], [True] * 3 + [False] * 3)

    def test_not_disturbed(self) -> None:
        """A printer that is added already is told without a connection: it may be printing."""
        settings = {"host": "192.168.1.7"}
        body = {"device": "kitchen", "kind": "printer", "driver": "escpos", "settings": settings}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        self.begin(what="printers")
        self.assertNotIn(("192.168.1.7", 9100), self.network.asked)
        self.assertEqual([one["device"] for one in self.record["found"]], ["kitchen"])

    def test_cancelled(self) -> None:
        """A search is ended by a person at any moment; what was found stays, and nobody is asked any more."""
        self.begin(what="printers")
        self.network.accept("192.168.1.7", 9100)
        self.network.answer(b"\x12")
        asked = len(self.network.asked)
        answer = self.request("DELETE", SEARCH)
        self.assertEqual((answer.json["running"], answer.json["ended"]), (False, "cancelled"))
        self.assertEqual(len(answer.json["found"]), 1)
        self.shop.clock.advance(LONGEST_S)
        self.assertEqual(len(self.network.asked), asked)
        self.begin(what="printers")

    def test_one_at_a_time(self) -> None:
        """A second search is refused while one runs."""
        self.begin(what="printers")
        answer = self.request("POST", SEARCH, {"what": "printers"})
        self.assertEqual((answer.status, answer.json["res"]), (409, 2100))

    def test_limit(self) -> None:
        """A network in which every address swallows what it gets does not hold the search longer than its limit."""
        self.begin(what="printers")
        self.shop.clock.advance(LONGEST_S - 1)
        self.assertTrue(self.record["running"])
        self.shop.clock.advance(1)
        record = self.record
        self.assertEqual((record["running"], record["ended"]), (False, "late"))
        self.assertLess(253 / AT_ONCE * (CONNECT_S + ANSWER_S), LONGEST_S)

    def test_private_only(self) -> None:
        """A public address of the machine has no network that is searched; a network has at most 254 neighbours."""
        self.door.tree.finder.machine = Desk(addresses=lambda: ["198.51.100.7", "127.0.0.1", "169.254.3.4"]).machine
        record = self.begin(what="printers")
        self.assertEqual((record["total"], record["places"], self.network.asked), (0, [], []))
        self.assertEqual(networks_of(["10.1.2.3", "10.1.2.9"]), [IPv4Network("10.1.2.0/24")])
        self.assertEqual(len(networks_of(f"10.0.{n}.1" for n in range(9))), 3)


class TerminalSearchTests(SearchCase):
    """The protocols of a terminal at an address."""

    def test_ports(self) -> None:
        """The usual port of each protocol is tried; one that is open is told with the form's settings."""
        self.begin(what="terminals", host="192.168.1.50")
        self.assertEqual({port for _, port in self.network.asked}, {2000, 3000, 8443, 8888, 10000, 20007})
        transport = self.network.accept("192.168.1.50", 20007)
        self.assertEqual(transport.value(), b"")
        self.network.refuse()
        record = self.record
        self.assertEqual((record["running"], record["ended"]), (False, "whole"))
        [found] = record["found"]
        self.assertEqual((found["driver"], found["answers"]), ("zvt", False))
        self.assertEqual(found["settings"], {"interface": "tcp", "host": "192.168.1.50", "port": 20007})

    def test_addresses(self) -> None:
        """A public address, a name and nonsense are refused: nothing is asked of them."""
        for host in ("8.8.8.8", "bank.example", "", "::1", "192.168.1.50:2000", "0.0.0.0"):
            answer = self.request("POST", SEARCH, {"what": "terminals", "host": host})
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "host"), host)
        self.assertEqual(self.network.asked, [])

    def test_wrong_search(self) -> None:
        """There are three searches, and no other one."""
        self.assertEqual(self.request("POST", SEARCH, {"what": "everything"}).status, 422)


class RegisterSearchTests(SearchCase):
    """Which register is at a port, and at which speed."""

    def plug(self, kind: Any, baudrate: int) -> None:
        """Put a simulated register at COM3, which two never open at once."""
        clock: Any = self.shop.clock
        self.device = kind(clock)
        self.desk = RegisterDesk(clock, self.device)
        self.tried: list[int] = []

        def opened(settings: SerialSettings, factory: IProtocolFactory) -> Deferred[IProtocol]:
            open_ones = [pump for pump in self.desk.endpoint.pumps if not pump.clientIO.disconnected]
            if settings.port != "COM3" or open_ones:
                return fail(NotReached("another program uses the port"))
            self.tried.append(settings.baudrate)
            there = settings.baudrate == baudrate
            self.desk.endpoint.accept = lambda: self.device.buildProtocol(None) if there else Protocol()
            return self.desk.endpoint.connect(factory)

        clock.connectSerial = opened
        alsoProvides(clock, ISerialLines)

    def ended(self) -> Any:
        """The search when it has ended."""
        self.desk.endpoint.advance(LONGEST_S + 1)
        record = self.record
        self.assertFalse(record["running"])
        return record

    def add(self, name: str, driver: str = "datecs", **settings: Any) -> str:
        """Add a register at COM3; its `dev_id`."""
        given = {"interface": "serial", "serial_port": "COM3", "default_taxgrp": 1, **settings}
        body = {"device": name, "kind": "register", "driver": driver, "settings": given, "confirm_real": True}
        answer = self.request("POST", DEVICES, body)
        self.assertEqual(answer.status, 201)
        dev_id: str = answer.json["dev_id"]
        return dev_id

    def test_serial(self) -> None:
        """Model, driver and speed are told with the form's settings, and each step on the way."""
        self.plug(MariaDevice, 57600)
        record = self.begin(what="register", serial_port="COM3")
        self.assertEqual((record["places"], record["total"], record["done"]), (["COM3"], 10, 0))
        self.desk.endpoint.advance(3)
        self.assertIn(self.record["done"], range(1, 9))
        record = self.ended()
        self.assertEqual((record["ended"], record["done"] < record["total"]), ("whole", True))
        [found] = record["found"]
        self.assertEqual((found["kind"], found["driver"], found["answers"]), ("register", "maria", True))
        self.assertEqual(found["settings"], {"interface": "serial", "serial_port": "COM3", "baudrate": 57600})
        self.assertTrue(found["title"])

    def test_nobody(self) -> None:
        """Nobody answers: that is told within the time of a search, and a port that cannot be opened at once."""
        self.plug(UkrainianDevice, 300)
        self.begin(what="register", serial_port="COM3")
        record = self.ended()
        self.assertEqual((record["ended"], record["done"], record["found"]), ("whole", 10, []))
        self.begin(what="register", serial_port="COM4")
        self.assertEqual((self.record["running"], self.record["ended"]), (False, "closed"))

    def test_network(self) -> None:
        """Over a network the same, without a speed; an address that is not the shop's own, or no port, is refused."""
        for asked, path in (({"host": "8.8.8.8", "port": 4001}, "host"), ({"host": "10.0.0.7"}, "port")):
            answer = self.request("POST", SEARCH, {"what": "register", **asked})
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, path))
        self.assertEqual(self.network.asked, [])
        answer = self.request("POST", SEARCH, {"what": "register", "host": "10.0.0.7", "port": 4001})
        self.assertEqual((answer.status, answer.json["total"]), (202, 3))
        self.network.refuse()
        self.assertEqual(self.record["ended"], "closed")

    def test_used(self) -> None:
        """A line of another device is not opened, which is named; one's own is closed meanwhile and comes back."""
        self.plug(UkrainianDevice, 115200)
        dev_id = self.add("iron")
        asked = {"what": "register", "serial_port": "com3"}
        for body in (asked, {**asked, "dev_id": "other"}):
            answer = self.request("POST", SEARCH, body)
            self.assertEqual((answer.status, answer.json["res"], self.tried), (409, 2100, []))
            self.assertIn("iron", answer.json["errortxt"] + answer.json.get("aq_errortxt", ""))
        checks = self.shop.core.devices.by_id(dev_id).built
        self.desk.done(checks.check())
        self.assertEqual(self.tried, [115200])
        self.begin(what="register", serial_port="COM3", dev_id=dev_id)
        [found] = self.ended()["found"]
        self.assertEqual((found["driver"], found["settings"]["baudrate"]), ("datecs", 115200))
        self.desk.done(checks.check())
        self.assertEqual(self.tried, [115200] * 3)


class PingTests(SynchronousTestCase):
    """A terminal that answers, with a simulator at the other end."""

    def test_ping(self) -> None:
        """A terminal that answers its ping is sure to speak that protocol; no payment is started."""
        shop = Shop(self)
        simulation = Simulation(self, "terminal --protocol privatbank-json")
        finder = Finder(shop.core.devices, Desk().machine)
        network = Network(shop.clock)
        search = Search(finder)
        search.terminals("192.168.1.50")
        network.refuse(but=2000)
        network.accept("192.168.1.50", 2000)
        lines: list[tuple[Any, StringTransport, Any]] = []
        for _ in range(100):
            if [one for one in network.waiting if one[1] == 2000]:
                transport = network.accept("192.168.1.50", 2000)
                lines.append((network.open_lines[-1][0], transport, simulation.line()))
            for protocol, transport, peer in lines:
                sent = transport.value()
                transport.clear()
                if told := peer.say(sent) if sent else peer.heard():
                    protocol.dataReceived(told)
                if transport.disconnecting and transport.connected:
                    transport.connected = False
                    protocol.connectionLost(Failure(ConnectionDone()))
            shop.clock.advance(0.1)
            simulation.reactor.advance(0.1)
        self.assertFalse(search.record.running)
        self.assertEqual([(one.driver, one.answers) for one in search.record.found], [("privatbank-json", True)])
        self.assertEqual(simulation.running.peer.entries(), [])

    def test_nobody_twice(self) -> None:
        """Two searches at once are refused below HTTP, too."""
        shop = Shop(self)
        Network(shop.clock)
        search = Search(Finder(shop.core.devices, Desk().machine))
        search.terminals("10.0.0.1")
        self.assertRaises(Refused, search.terminals, "10.0.0.1")
        self.failureResultOf(Deferred.fromCoroutine(search.printers()), Refused)
        search.cancel()
        self.assertEqual(search.record.found, list[Found]())
