"""``dmtwisted simulate``: what is asked for is built, reached on its line, and steered by its control port."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from treq.testing import StubTreq
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import CannotListenError, ConnectionDone, NoProtocol
from twisted.internet.interfaces import IProtocol, IProtocolFactory
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python import usage
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import KYIV
from dmtwisted.commands.control import Control, SimulatedPeer
from dmtwisted.commands.main import MainOptions
from dmtwisted.commands.serial_plug import REOPEN, SerialPlug
from dmtwisted.commands.servers import NotStarted, place
from dmtwisted.commands.simulate import (
    DeviceOptions,
    Running,
    SimulateOptions,
    seconds,
    start,
)
from dmtwisted.commands.simulated_devices import DOTS_PER_MM, WIRES, customers
from dmtwisted.lab.children import HOME, environment
from protocols.printers.commands import Cut, Drawer, Text
from protocols.printers.compose import compose
from protocols.printers.ipp import GroupTag, Message, Tag, attribute, operation_group
from protocols.printers.ipp import Operation as IppOperation
from protocols.printers.profiles import PROFILES
from protocols.simulators.ledger import Ledger
from protocols.simulators.terminal import CARDS, Terminal
from protocols.terminals import caisse_ap, concert_v2
from protocols.terminals.ecr17 import frames
from protocols.terminals.ecr17 import requests as ecr17
from protocols.terminals.ecr17.answers import PaymentAnswer, decode_answer
from protocols.terminals.nexo import messages as nexo
from protocols.terminals.privatbank_json import messages as privatbank
from protocols.terminals.privatbank_json import requests as privatbank_requests
from protocols.terminals.ssi_json import messages as ssi
from protocols.terminals.ssi_json import requests as ssi_requests
from protocols.terminals.stx_frames import ACK, NAK, Payload
from protocols.terminals.zvt import messages as zvt
from tests.test_service_process import words_of_system
from tests.vectors.caisse_ap import decode_fields

NOON = datetime(2026, 11, 21, 12, tzinfo=KYIV)
PAGE = HOME / "docs" / "simulators.md"
PATIENCE = 60.0
"""Seconds in which a process has to start, to answer and to end."""


def options(words: str, *more: str) -> DeviceOptions:
    """What is asked for by ``dmtwisted simulate`` with these ``words``."""
    asked = SimulateOptions()
    asked.parseOptions([*words.split(), *more])
    return cast(DeviceOptions, asked.subOptions)


class Line:
    """A till's end of one line to a simulator: bytes out, bytes in."""

    def __init__(self, factory: IProtocolFactory) -> None:
        protocol = factory.buildProtocol(cast(Any, None))
        assert protocol is not None
        self._protocol, self._transport = protocol, StringTransport(lenient=True)
        protocol.makeConnection(cast(Any, self._transport))

    def say(self, data: bytes) -> bytes:
        """What comes back at once."""
        self._protocol.dataReceived(data)
        return self.heard()

    def heard(self) -> bytes:
        """What came since the last look."""
        data: bytes = self._transport.value()
        self._transport.clear()
        return data

    @property
    def broken(self) -> bool:
        """Whether the simulator broke the line."""
        return self._transport.disconnecting

    def hang_up(self) -> None:
        """Close the line."""
        self._protocol.connectionLost(Failure(ConnectionDone()))


class Ports(MemoryReactorClock):
    """A reactor in memory, with port 9999 in use."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[str, int]] = []
        self.factories: list[Any] = []

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        """Listen, but not on 9999."""
        if port == 9999:
            raise CannotListenError(interface, port, OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)))
        self.places.append((interface, port))
        self.factories.append(factory)
        return Listening(interface, port or 40_000 + len(self.places))


@dataclass(frozen=True)
class Listening:
    """A port that is listened on; asked for any, the reactor finds one."""

    host: str
    port: int

    def getHost(self) -> IPv4Address:
        """Where."""
        return IPv4Address("TCP", self.host, self.port)


class Simulation:
    """A simulator in memory, with its line and its control port."""

    def __init__(self, case: SynchronousTestCase, words: str, *more: str) -> None:
        self._case = case
        self.reactor = Ports()
        self.reactor.advance(NOON.timestamp())
        self.running: Running = start(options(words, *more), self.reactor)
        case.addCleanup(self.running.peer.close)
        self.factory, control = self.reactor.factories
        self._treq: Any = StubTreq(control.resource)

    def line(self) -> Line:
        """A new line to it."""
        return Line(self.factory)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any, bytes]:
        """Status, headers and body of the control port's answer; ``body`` is sent as JSON unless it is bytes."""
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        url = path if path.startswith("http") else f"http://control{path}"
        answer = self._case.successResultOf(self._treq.request(method, url, data=raw))
        return answer.code, answer.headers, self._case.successResultOf(answer.content())

    def json(self, method: str, path: str, body: object = None) -> Any:
        """The decoded answer to a request that succeeds."""
        status, _, answer = self.ask(method, path, body)
        self._case.assertEqual(status, 200, answer)
        return json.loads(answer)

    @property
    def entries(self) -> list[tuple[str, str, int]]:
        """Kind, status and sum of what the ledger has, by the control port."""
        return [(each["kind"], each["status"], each["sum"]) for each in self.json("GET", "/ledger")["entries"]]


class OptionsTests(SynchronousTestCase):
    """What may be asked for."""

    def test_command(self) -> None:
        """``dmtwisted simulate`` is there, and says which devices there are when none is named."""
        asked = MainOptions()
        asked.parseOptions(["simulate", "terminal", "--protocol", "zvt", "--duration", "0"])
        self.assertEqual(asked.subCommand, "simulate")
        self.assertEqual(asked.subOptions.subOptions["protocol"], "zvt")
        error = self.assertRaises(usage.UsageError, SimulateOptions().parseOptions, [])
        self.assertIn("printer, ipp, register, terminal, tax-service", str(error))

    def test_places(self) -> None:
        """A place is HOST:PORT, with brackets around IPv6; a port alone is this machine only."""
        self.assertEqual(place("0.0.0.0:9100"), ("0.0.0.0", 9100))
        self.assertEqual(place("[::1]:9100"), ("::1", 9100))
        for text in ("9100", ":9100"):
            self.assertEqual(place(text), ("127.0.0.1", 9100))
        for text in ("", "host", "host:", "host:-1", "host:65536", "::1:9100", "host:1:2", "[::1]"):
            self.assertRaises(ValueError, place, text)

    def test_times(self) -> None:
        """Times are numbers from 0."""
        self.assertEqual((seconds("0"), seconds("1.5")), (0.0, 1.5))
        for text in ("-1", "nan", "inf", "soon"):
            self.assertRaises(ValueError, seconds, text)

    def refusal(self, words: str) -> str:
        """Why ``words`` are refused."""
        return str(self.assertRaises(usage.UsageError, options, words))

    def test_unknown_names(self) -> None:
        """An unknown protocol or profile is refused with the known ones; a terminal needs a protocol."""
        for words in ("terminal", "terminal --protocol morse"):
            said = self.refusal(words)
            for name in WIRES:
                self.assertIn(name, said)
        for words in ("printer --profile laser", "ipp --profile laser"):
            self.assertIn("star", self.refusal(words))

    def test_what_does_not_fit_together(self) -> None:
        """Two lines, a speed without a serial port, and what the protocol does not have are refused by name."""
        self.assertIn("--listen", self.refusal("printer --serial /dev/ttyS0 --listen 9100"))
        self.assertIn("--baudrate", self.refusal("printer --baudrate 9600"))
        for protocol in ("caisse-ap", "nexo"):
            self.assertIn("TCP", self.refusal(f"terminal --protocol {protocol} --serial /dev/ttyS0"))
        self.assertIn("--adjust", self.refusal("terminal --protocol zvt --adjust 5"))
        for more in ("--pem x.pem", "--shared-key a:b:1", "--notices http://localhost:8888/"):
            self.assertIn("only nexo", self.refusal(f"terminal --protocol zvt {more}"))
        for wrong in ("secret", "secret:key", "secret:key:x", ":key:1"):
            self.assertIn("PASSPHRASE:NAME:VERSION", self.refusal(f"terminal --protocol nexo --shared-key {wrong}"))
        self.assertIn("8 digits", self.refusal("terminal --protocol ecr17 --terminal-id POS1"))
        self.assertIn("only ecr17", self.refusal("terminal --protocol zvt --lrc stx"))
        self.assertIn("stx_noext", self.refusal("terminal --protocol ecr17 --lrc crc"))
        self.assertIn("only zvt", self.refusal("terminal --protocol ssi-json --currency 978"))
        for protocol, wrong in (("zvt", "EUR"), ("caisse-ap", "97"), ("nexo", "978"), ("nexo", "eur")):
            self.assertIn(f"{protocol} has 3", self.refusal(f"terminal --protocol {protocol} --currency {wrong}"))

    def test_numbers(self) -> None:
        """Numbers that cannot be meant are refused."""
        for words in ("printer --paper 0", "ipp --duration -1", "terminal --protocol zvt --seed x"):
            self.refusal(words)

    def test_help(self) -> None:
        """The help of a terminal names the protocols."""
        self.assertIn(", ".join(WIRES), str(options("terminal --protocol zvt")))

    def test_serial_lines(self) -> None:
        """A serial line is set as the device usually is, unless another speed is asked for."""
        usual = options("terminal --protocol privatbank-json --serial COM3").serial()
        assert usual is not None
        self.assertEqual((usual.port, usual.baudrate, usual.stopbits), ("COM3", 115200, 1))
        slow = options("terminal --protocol zvt --serial COM3 --baudrate 19200").serial()
        assert slow is not None
        self.assertEqual((slow.baudrate, slow.stopbits), (19200, 2))
        self.assertIsNone(options("printer").serial())


class ControlTests(SynchronousTestCase):
    """The control port of any simulator."""

    def setUp(self) -> None:
        """A terminal."""
        self.simulation = Simulation(self, "terminal --protocol zvt --duration 2")

    def refusal(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and document of an answer that is an error in the shape of the management interface."""
        status, _, answer = self.simulation.ask(method, path, body)
        document = json.loads(answer)
        self.assertEqual(set(document), {"res", "errortxt", "errors"})
        return status, document

    def test_about(self) -> None:
        """The root says what is simulated and lists every path with its methods."""
        about = self.simulation.json("GET", "/")
        self.assertEqual(about["simulator"], "terminal zvt")
        ways = {each["path"]: each["methods"] for each in about["paths"]}
        self.assertEqual(ways["/scenario"], ["GET", "PUT"])
        self.assertEqual(ways["/press_cancel"], ["POST"])
        self.assertNotIn("/strip", ways)

    def test_scenario(self) -> None:
        """Rules are returned with all defaults, and used by the device."""
        given = {"rules": [{"on": "payment", "then": "refuse", "code": 51, "times": 2}]}
        wanted = {"rules": [{"on": "payment", "then": "refuse", "times": 2, "code": "51", "delay_ms": 0}]}
        self.assertEqual(self.simulation.json("PUT", "/scenario", given), wanted)
        self.assertEqual(self.simulation.json("GET", "/scenario"), wanted)
        rule = self.simulation.running.peer.scenario.take("payment")
        assert rule is not None
        self.assertEqual(rule.code, "51")
        self.assertEqual(self.simulation.json("GET", "/scenario")["rules"][0]["times"], 1)

    def test_rule_that_does_not_fit(self) -> None:
        """An impossible rule is 422 with its path, and the old rules stay."""
        self.simulation.json("PUT", "/scenario", {"rules": [{"on": "any", "then": "silent"}]})
        cases: tuple[tuple[object, str], ...] = (
            ({"rules": [{"on": "any", "then": "silent"}, {"on": "tea", "then": "accept"}]}, "rules[1].on"),
            ({"rules": [{"on": "any", "then": "explode"}]}, "rules[0].then"),
            ({"rules": [{"then": "accept"}]}, "rules[0].on"),
            ({"rules": {}}, "rules"),
            ({}, "rules"),
            ({"rule": []}, "rule"),
        )
        for document, path in cases:
            status, error = self.refusal("PUT", "/scenario", document)
            self.assertEqual((status, error["res"]), (422, 2000))
            self.assertEqual([each["path"] for each in error["errors"]], [path])
        self.assertEqual(self.simulation.json("GET", "/scenario")["rules"][0]["then"], "silent")

    def test_whole_body_that_does_not_fit(self) -> None:
        """A body of another kind is 422 with an empty path."""
        status, error = self.refusal("PUT", "/scenario", [])
        self.assertEqual((status, [each["path"] for each in error["errors"]]), (422, [""]))

    def test_no_json(self) -> None:
        """A body that is not JSON, or too long, is 400."""
        for body in (b'{"rules":', b"\xff\xfe", b'{"rules":' + b"[" * 100_000, b" " * (4 * 1024 * 1024 + 1)):
            status, error = self.refusal("PUT", "/scenario", body)
            self.assertEqual((status, error["res"], error["errors"]), (400, 2000, []))

    def test_unknown_path(self) -> None:
        """A path that is not there is 404, and so is the paper of a device that has none."""
        for path in ("/nothing", "/scenario/more", "/strip", "/open_cover", "/_about"):
            self.assertEqual(self.refusal("GET", path)[0], 404)

    def test_wrong_method(self) -> None:
        """A method that a path does not have is 405 with those that it has."""
        for method, path, allowed in (
            ("DELETE", "/scenario", [b"GET, PUT"]),
            ("POST", "/ledger", [b"GET"]),
            ("GET", "/press_cancel", [b"POST"]),
        ):
            status, headers, _ = self.simulation.ask(method, path)
            self.assertEqual((status, headers.getRawHeaders(b"allow")), (405, allowed))

    def test_head(self) -> None:
        """HEAD is answered as GET without its body."""
        whole = self.simulation.ask("GET", "/ledger")[2]
        status, headers, body = self.simulation.ask("HEAD", "/ledger")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(headers.getRawHeaders(b"content-length"), [b"%d" % len(whole)])

    def test_json(self) -> None:
        """Answers are JSON that is not cached."""
        headers = self.simulation.ask("GET", "/ledger")[1]
        self.assertEqual(headers.getRawHeaders(b"content-type"), [b"application/json"])
        self.assertEqual(headers.getRawHeaders(b"cache-control"), [b"no-store"])

    def test_fault_of_ours(self) -> None:
        """What fails inside is 500 and logged, and the next request is served."""
        peer = self.simulation.running.peer

        def broken() -> dict[str, Any]:
            raise RuntimeError("out of order")

        treq: Any = StubTreq(Control(replace(peer, state=broken)))
        answer = self.successResultOf(treq.get("http://control/state"))
        self.assertEqual(answer.code, 500)
        self.assertEqual(json.loads(self.successResultOf(answer.content()))["res"], 1016)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertEqual(self.successResultOf(treq.get("http://control/ledger")).code, 200)


class PrinterTests(SynchronousTestCase):
    """``dmtwisted simulate printer``"""

    def receipt(self, profile: str = "epson") -> bytes:
        """A receipt as the driver sends it."""
        return compose((Drawer(), Text("Кава зернова 51.00"), Cut()), PROFILES[profile]).data

    def test_each_profile_prints(self) -> None:
        """A receipt for any profile comes out on the strip of that printer, and its ledger has one job."""
        for profile in PROFILES:
            simulation = Simulation(self, f"printer --profile {profile}")
            line = simulation.line()
            line.say(self.receipt(profile))
            line.hang_up()
            text = simulation.ask("GET", "/strip")[2].decode()
            # Drawn letters are a picture.
            self.assertIn("[image" if profile.startswith("raster") else "зернова 51.00", text, profile)
            self.assertEqual(simulation.entries, [("print", "accepted", 0)], profile)
            self.assertEqual(simulation.json("GET", "/state")["drawer_pulses"], 1)

    def test_strip(self) -> None:
        """The strip is text unless a picture is asked for; anything else is 422, and a torn-off strip is empty."""
        simulation = Simulation(self, "printer")
        simulation.line().say(self.receipt())
        for path in ("/strip", "/strip?format=text"):
            status, headers, body = simulation.ask("GET", path)
            self.assertEqual((status, "51.00" in body.decode()), (200, True))
            self.assertEqual(headers.getRawHeaders(b"content-type"), [b"text/plain; charset=utf-8"])
        _, headers, picture = simulation.ask("GET", "/strip?format=png")
        self.assertEqual(headers.getRawHeaders(b"content-type"), [b"image/png"])
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        status, _, error = simulation.ask("GET", "/strip?format=pdf")
        self.assertEqual((status, json.loads(error)["errors"][0]["path"]), (422, "format"))
        simulation.json("POST", "/tear_off")
        self.assertEqual(simulation.ask("GET", "/strip")[2], b"")

    def test_mute(self) -> None:
        """A mute printer answers no question; another one does."""
        self.assertNotEqual(Simulation(self, "printer").line().say(b"\x10\x04\x01"), b"")
        self.assertEqual(Simulation(self, "printer --mute").line().say(b"\x10\x04\x01"), b"")

    def test_people(self) -> None:
        """Cover, paper, drawer and breakdowns are seen in the state, and what waited is printed afterwards."""
        simulation = Simulation(self, "printer")
        line = simulation.line()
        self.assertTrue(simulation.json("POST", "/open_cover", {})["cover_open"])
        line.say(self.receipt())
        self.assertEqual(simulation.entries, [])
        self.assertFalse(simulation.json("POST", "/close_cover")["cover_open"])
        self.assertIn("51.00", simulation.ask("GET", "/strip")[2].decode())
        self.assertTrue(simulation.json("GET", "/state")["drawer_open"])
        self.assertFalse(simulation.json("POST", "/close_drawer")["drawer_open"])
        self.assertEqual(simulation.json("POST", "/take_paper_out")["paper"], "out")
        self.assertEqual(simulation.json("POST", "/load_paper")["paper"], "ok")
        broken = simulation.json("POST", "/break_down", {"fault": "cutter"})
        self.assertEqual((broken["error"], broken["online"]), ("cutter", False))
        mended = simulation.json("POST", "/mend")
        self.assertEqual((mended["error"], mended["online"]), ("none", True))
        self.assertTrue(mended["connected"])
        simulation.json("POST", "/power_cycle")
        self.assertTrue(line.broken)

    def test_bodies(self) -> None:
        """An invalid member of an action is 422 with its name, and nothing is done."""
        simulation = Simulation(self, "printer")
        for deed, body, path in (
            ("break_down", {}, "fault"),
            ("break_down", {"fault": "coffee"}, "fault"),
            ("break_down", {"fault": "none"}, "fault"),
            ("load_paper", {"mm": 0}, "mm"),
            ("load_paper", {"cm": 5}, "cm"),
            ("open_cover", {"wide": True}, "wide"),
        ):
            status, _, answer = simulation.ask("POST", f"/{deed}", body)
            self.assertEqual((status, json.loads(answer)["errors"][0]["path"]), (422, path))
        state = simulation.json("GET", "/state")
        self.assertEqual((state["error"], state["cover_open"], state["paper"]), ("none", False, "ok"))

    def test_roll(self) -> None:
        """A roll has the length that is given in millimetres; a new one without a length is as long."""
        # Near the end are 20 cm.
        simulation = Simulation(self, "printer --paper 201")
        self.assertEqual(simulation.json("GET", "/state")["paper"], "ok")
        simulation.line().say(b"\n" * (2 * DOTS_PER_MM // 10 + 1))
        self.assertEqual(simulation.json("GET", "/state")["paper"], "near_end")
        self.assertEqual(simulation.json("POST", "/load_paper")["paper"], "ok")
        self.assertEqual(simulation.json("POST", "/load_paper", {"mm": 199})["paper"], "near_end")
        self.assertEqual(simulation.json("POST", "/load_paper", {"mm": 5000})["paper"], "ok")

    def test_scenario(self) -> None:
        """A rule for the next job is met by it: out of paper until the line is closed."""
        simulation = Simulation(self, "printer")
        simulation.json("PUT", "/scenario", {"rules": [{"on": "print", "then": "refuse"}]})
        line = simulation.line()
        line.say(self.receipt())
        line.hang_up()
        self.assertEqual(simulation.entries, [("print", "refused", 0)])
        simulation.line().say(self.receipt())
        self.assertIn("51.00", simulation.ask("GET", "/strip")[2].decode())

    def test_time(self) -> None:
        """Entries carry Kyiv's time."""
        simulation = Simulation(self, "printer")
        line = simulation.line()
        line.say(self.receipt())
        line.hang_up()
        self.assertEqual(simulation.json("GET", "/ledger")["entries"][0]["dt"], "20261121120000")


class IppTests(SynchronousTestCase):
    """``dmtwisted simulate ipp``"""

    def send(self, simulation: Simulation, operation: IppOperation, document: bytes = b"") -> Message:
        """The answer of the queue `till` to an operation over HTTP."""
        more = [attribute(Tag.URI, "printer-uri", "ipp://localhost/printers/till")]
        if document:
            more.append(attribute(Tag.NAME, "job-name", "чек 17"))
        body = Message(int(operation), 1, (operation_group(*more),), document).encode()
        head = b"POST /printers/till HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ipp\r\n"
        line = simulation.line()
        answer = line.say(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        line.hang_up()
        return Message.decode(answer.partition(b"\r\n\r\n")[2])

    def print(self, simulation: Simulation) -> None:
        """Hand in a receipt."""
        receipt = compose((Text("Кава зернова 51.00"), Cut()), PROFILES["epson"]).data
        self.assertEqual(self.send(simulation, IppOperation.PRINT_JOB, receipt).code, 0)

    def test_job(self) -> None:
        """A job takes its time; then it is in the ledger and on the strip."""
        simulation = Simulation(self, "ipp --queue till --duration 3")
        self.print(simulation)
        simulation.reactor.advance(2.9)
        self.assertEqual((simulation.entries, simulation.ask("GET", "/strip")[2]), ([], b""))
        self.assertEqual(simulation.json("GET", "/state")["jobs"][0]["state"], "processing")
        simulation.reactor.advance(0.2)
        self.assertEqual(simulation.entries, [("print", "accepted", 0)])
        for _ in range(2):
            self.assertEqual(simulation.ask("GET", "/strip")[2].decode().count("зернова 51.00"), 1)

    def test_name(self) -> None:
        """The queue has the name that was asked for."""
        simulation = Simulation(self, "ipp --queue till")
        answer = self.send(simulation, IppOperation.GET_PRINTER_ATTRIBUTES)
        self.assertEqual(answer.group(GroupTag.PRINTER).text("printer-name"), "till")

    def test_people(self) -> None:
        """A stopped or hindered queue keeps its job, one that takes none refuses it, and all is seen in the state."""
        simulation = Simulation(self, "ipp --queue till")
        self.assertEqual(simulation.json("POST", "/stop", {"message": "Lunch"})["message"], "Lunch")
        self.print(simulation)
        simulation.reactor.advance(60)
        self.assertEqual(simulation.json("GET", "/state")["state"], "stopped")
        hindered = simulation.json("POST", "/hinder", {"reasons": ["media-empty-error"]})
        self.assertEqual(hindered["reasons"], ["media-empty-error"])
        simulation.json("POST", "/resume")
        simulation.reactor.advance(60)
        self.assertEqual(simulation.entries, [])
        simulation.json("POST", "/hinder", {"reasons": []})
        simulation.reactor.advance(60)
        self.assertEqual(simulation.entries, [("print", "accepted", 0)])
        self.assertFalse(simulation.json("POST", "/refuse_jobs")["accepting"])
        self.assertNotEqual(self.send(simulation, IppOperation.PRINT_JOB, b"\x1b@").code, 0)
        self.assertTrue(simulation.json("POST", "/accept_jobs")["accepting"])
        self.print(simulation)
        self.assertEqual(len(simulation.json("GET", "/state")["jobs"]), 2)
        self.assertEqual(len(simulation.json("POST", "/forget")["jobs"]), 1)

    def test_abort(self) -> None:
        """The service gives up a job that has not ended; any other is 422."""
        simulation = Simulation(self, "ipp --queue till")
        self.print(simulation)
        self.assertEqual(simulation.json("POST", "/abort", {"job": 1})["jobs"][0]["state"], "aborted")
        for job in (1, 2):
            status, _, answer = simulation.ask("POST", "/abort", {"job": job})
            self.assertEqual((status, json.loads(answer)["errors"][0]["path"]), (422, "job"))


def pay_privatbank(simulation: Simulation) -> bool:
    """A purchase of 125.50; whether the answer approves it."""
    line = simulation.line()
    heard = line.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
    return not line.broken and privatbank.Reply.decode(heard.rstrip(b"\0")).code == privatbank.APPROVED


def pay_ssi(simulation: Simulation) -> bool:
    """A purchase in one step; whether it is acknowledged."""
    request = ssi_requests.Purchase(12550, merchant_id="M1", transaction_uid="u-1").request()
    heard = simulation.line().say(ssi.frame(request.encode()))
    return not ssi.Reply.decode(heard[5:-1]).error


def pay_zvt(simulation: Simulation) -> bool:
    """Registration, then an authorisation; whether its status information approves it."""
    line = simulation.line()
    ack = zvt.Acknowledge().encode().encode()
    line.say(zvt.Registration("000000", 0).encode().encode())
    line.say(ack)
    heard = line.say(zvt.Authorisation.of(12550, 980).encode().encode())
    line.say(ack)
    line.say(ack)
    # 04 0F is the status information, 27 00 its result.
    return heard.startswith(ack + b"\x04\x0f") and b"\x27\x00" in heard


def pay_ecr17(simulation: Simulation) -> bool:
    """A payment; whether it is acknowledged and approved by the terminal with our number."""
    heard = simulation.line().say(frames.frame(ecr17.Payment(12550).encode()))
    taken, *pieces = frames.Deframer(frames.Lrc.STD).feed(heard)
    answer = pieces[-1]
    assert isinstance(taken, frames.Acknowledgement) and isinstance(answer, Payload)
    told = decode_answer(answer.data)
    return taken.taken and isinstance(told, PaymentAnswer) and told.approved and told.terminal == "76543218"


def pay_caisse_ap(simulation: Simulation) -> bool:
    """A debit; whether it was done."""
    line = simulation.line()
    line.say(caisse_ap.CaisseApRequest(caisse_ap.Action.DEBIT, 12550, currency="980").encode())
    simulation.reactor.advance(1)
    return decode_fields(line.heard()).get("AE") == caisse_ap.Done.DONE.value


def pay_concert(simulation: Simulation) -> bool:
    """The till's session; whether call and request are acknowledged."""
    line, signal = simulation.line(), concert_v2.Signal
    called = line.say(signal.ENQ.encode()) == signal.ACK.encode()
    return called and line.say(concert_v2.frame(concert_v2.ConcertRequest(12550).encode())).startswith(
        signal.ACK.encode()
    )


def pay_nexo(simulation: Simulation) -> bool:
    """A payment over HTTP; whether it succeeds."""
    header = nexo.Header(nexo.Category.PAYMENT, "S1", "till", "V400m-1")
    sale = nexo.Transaction("17", "2026-11-21T10:00:00+00:00")
    body = nexo.encode_request(header, nexo.Payment(sale, 12550, "UAH"))
    head = b"POST /nexo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    heard = simulation.line().say(head + body)
    return b'"Result":"Success"' in heard.replace(b" ", b"")


PAY: dict[str, tuple[str, Callable[[Simulation], bool]]] = {
    "privatbank-json": ("", pay_privatbank),
    "ssi-json": ("", pay_ssi),
    "zvt": ("", pay_zvt),
    "ecr17": (" --terminal-id 76543218", pay_ecr17),
    "caisse-ap": ("", pay_caisse_ap),
    "concert-v2": ("", pay_concert),
    "nexo": (" --terminal-id V400m-1", pay_nexo),
}
"""How a till pays 125.50 on each protocol, with bytes of the codec, and what it sends beforehand."""


class TerminalTests(SynchronousTestCase):
    """``dmtwisted simulate terminal``"""

    def simulate(self, words: str, *more: str) -> Simulation:
        """A terminal of PrivatBank's."""
        return Simulation(self, f"terminal --protocol privatbank-json {words}", *more)

    def test_each_wire_pays(self) -> None:
        """On every wire a payment of 125.50 is answered, and is one entry of the ledger."""
        self.assertEqual(set(PAY), set(WIRES))
        for protocol, (more, pay) in PAY.items():
            simulation = Simulation(self, f"terminal --protocol {protocol} --duration 0{more}")
            self.assertTrue(pay(simulation), protocol)
            self.assertEqual(simulation.entries, [("payment", "accepted", 12550)], protocol)

    def test_currency(self) -> None:
        """A terminal with another currency takes that one alone."""
        ack = zvt.Acknowledge().encode().encode()
        for currency, end in ((978, b"\x06\x0f"), (980, b"\x06\x1e\x01\x6f")):
            line = Simulation(self, "terminal --protocol zvt --currency 978").line()
            heard = line.say(zvt.Registration("000000", 0, currency).encode().encode())
            self.assertTrue(heard.startswith(ack + end), heard)
        self.assertTrue(pay_caisse_ap(Simulation(self, "terminal --protocol caisse-ap --duration 0 --currency 980")))
        self.assertFalse(pay_caisse_ap(Simulation(self, "terminal --protocol caisse-ap --duration 0 --currency 978")))
        words = "terminal --protocol nexo --duration 0 --terminal-id V400m-1 --currency"
        self.assertTrue(pay_nexo(Simulation(self, f"{words} UAH")))
        self.assertFalse(pay_nexo(Simulation(self, f"{words} EUR")))

    def test_check_byte(self) -> None:
        """An ECR17 terminal reads and sends frames in its own variant of the check byte."""
        for name, lrc in frames.Lrc.__members__.items():
            simulation = Simulation(self, f"terminal --protocol ecr17 --duration 0 --lrc {name.lower()}")
            for other in frames.Lrc:
                heard = simulation.line().say(frames.frame(ecr17.Payment(12550).encode(), other))
                said = frames.control(ACK if other is lrc else NAK, lrc)
                self.assertTrue(heard.startswith(said), (lrc, other, heard))
            self.assertEqual(simulation.entries, [("payment", "accepted", 12550)])

    def test_each_wire_is_unreachable(self) -> None:
        """On every wire the next caller is turned away when a rule says so, and the one after it is not."""
        for protocol in WIRES:
            simulation = Simulation(self, f"terminal --protocol {protocol}")
            simulation.json("PUT", "/scenario", {"rules": [{"on": "any", "then": "unreachable"}]})
            self.assertIsNone(simulation.factory.buildProtocol(None), protocol)
            self.assertIsNotNone(simulation.factory.buildProtocol(None), protocol)

    def test_duration(self) -> None:
        """An operation takes the seconds that were asked for, and the state shows it."""
        simulation = self.simulate("--duration 4")
        line = simulation.line()
        line.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
        state = simulation.json("GET", "/state")
        self.assertEqual(state, {"state": "waiting_card", "operation": {"kind": "payment", "sum": 12550}, "batch": 1})
        simulation.reactor.pump([1.0] * 3)
        self.assertEqual(simulation.entries, [])
        simulation.reactor.pump([1.0] * 2)
        self.assertEqual(simulation.entries, [("payment", "accepted", 12550)])
        self.assertEqual(simulation.json("GET", "/state"), {"state": "idle", "operation": None, "batch": 1})

    def test_red_key(self) -> None:
        """The red key cancels what waits for the card; without an operation it is 409."""
        simulation = self.simulate("--duration 4")
        status, _, answer = simulation.ask("POST", "/press_cancel")
        self.assertEqual((status, json.loads(answer)["res"]), (409, 430))
        line = simulation.line()
        line.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
        self.assertEqual(simulation.json("POST", "/press_cancel")["operation"], None)
        reply = privatbank.Reply.decode(line.heard().rstrip(b"\0"))
        self.assertEqual((reply.code, simulation.entries), ("1001", [("payment", "refused", 12550)]))

    def test_hold(self) -> None:
        """A purchase stops at the card as long as `adjust` says, and as `hold` says once the till asked who it is."""
        simulation = self.simulate("--duration 0 --adjust 5 --hold 20")
        line = simulation.line()
        line.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
        simulation.reactor.advance(4.9)
        self.assertEqual(simulation.json("GET", "/state")["state"], "held")
        asked = privatbank.Request(privatbank.SERVICE, {"msgType": "getDiscountName"})
        line.say(privatbank.frame(asked.encode()))
        simulation.reactor.advance(15)
        self.assertEqual(simulation.json("GET", "/state")["state"], "held")
        simulation.reactor.advance(0.2)
        self.assertEqual(simulation.entries, [("payment", "accepted", 12550)])

    def cards(self, words: str, count: int = 4) -> list[str]:
        """The cards of the first customers."""
        simulation = self.simulate(f"--duration 0 {words}")
        shown = []
        for _ in range(count):
            line = simulation.line()
            heard = line.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(100).request().encode()))
            shown.append(privatbank.Reply.decode(heard.rstrip(b"\0")).params["pan"])
            line.hang_up()
        return shown

    def test_seed(self) -> None:
        """A seed makes cards, the same one the same cards; without one the known three come in turn."""
        pans = [card.pan for card in CARDS]
        self.assertEqual(self.cards(""), [*pans, pans[0]])
        self.assertEqual(self.cards("--seed 7"), self.cards("--seed 7"))
        self.assertNotEqual(self.cards("--seed 7"), self.cards("--seed 8"))

    def test_made_cards(self) -> None:
        """Cards that a seed makes are masked, of a known brand, and valid for a month that exists."""
        for card in customers(0):
            self.assertRegex(card.pan, r"^(51|4\d|98)\d{4}\*{6}\d{4}$")
            self.assertRegex(card.expiry, r"^3[0-5](0[1-9]|1[0-2])$")
            self.assertIn(card.brand, ("MASTERCARD", "VISA", "PROSTIR"))


class StartTests(SynchronousTestCase):
    """Being started, and refused."""

    def refusal(self, words: str, *more: str) -> str:
        """Why the simulator does not start."""
        return str(self.assertRaises(NotStarted, start, options(words, *more), Ports()))

    def path(self, name: str = "ledger") -> Path:
        """A path in a folder of its own."""
        folder = Path(self.mktemp())
        folder.mkdir()
        return folder.absolute() / name

    def test_ports(self) -> None:
        """It listens at the given address or on free ports of this machine, and prints it."""
        simulation = Simulation(self, "printer --listen 0.0.0.0:9101 --control [::1]:3941")
        self.assertEqual(simulation.reactor.places, [("0.0.0.0", 9101), ("::1", 3941)])
        line = "dmtwisted simulate: printer epson on 0.0.0.0:9101, control on http://[::1]:3941/"
        self.assertEqual(simulation.running.line, line)
        simulation = Simulation(self, "ipp")
        self.assertEqual(simulation.reactor.places, [("127.0.0.1", 0)] * 2)
        line = "dmtwisted simulate: ipp queue receipts on 127.0.0.1:40001, control on http://127.0.0.1:40002/"
        self.assertEqual(simulation.running.line, line)

    def test_port_taken(self) -> None:
        """A port that is taken, the device's or the control's, is named, and the ledger is let go."""
        closed: list[str] = []
        self.patch(Ledger, "close", lambda ledger: closed.append("ledger"))
        for words in ("--listen 127.0.0.1:9999", "--control 127.0.0.1:9999"):
            self.assertEqual(
                self.refusal(f"printer {words}"), f"cannot listen on 127.0.0.1:9999: {os.strerror(errno.EADDRINUSE)}"
            )
        self.assertEqual(closed, ["ledger"] * 2)

    def test_no_ledger(self) -> None:
        """A ledger that cannot be opened, or is something else, is named; it is not touched and nothing is written
        beside it."""
        reason = "Permission denied" if sys.platform == "win32" else "Is a directory"
        for kind in ("printer", "ipp", "terminal --protocol zvt"):
            for text in (b"root:x:0:0", b'{"n":1,"kind":7}\n', b'{"n":' + b"\xff\n", b'{"name": "settings"}\n'):
                path = self.path()
                path.write_bytes(text)
                said = self.refusal(kind, "--ledger", str(path))
                self.assertTrue(said.startswith(f"the ledger {path} cannot be opened: it is not a ledger"), said)
                self.assertEqual(path.read_bytes(), text)
            folder = self.path().parent
            self.assertEqual(
                self.refusal(kind, "--ledger", str(folder)), f"the ledger {folder} cannot be opened: {reason}"
            )

    def test_files_beside_no_ledger(self) -> None:
        """A file of another program gets no journal of ours beside it."""
        path = self.path("settings.json")
        path.write_text("{}\n", "utf-8")
        self.refusal("terminal --protocol zvt", "--ledger", str(path))
        self.assertEqual([each.name for each in path.parent.iterdir()], ["settings.json"])

    def test_ledger_is_kept(self) -> None:
        """What happened is there after a restart, and a first entry that a crash cut short never happened."""
        path = self.path()
        path.write_bytes(b'{"n')
        for count in (1, 2):
            simulation = Simulation(
                self, "terminal --protocol privatbank-json --duration 0 --seed 1", "--ledger", str(path)
            )
            self.assertTrue(pay_privatbank(simulation))
            self.assertEqual(simulation.entries, [("payment", "accepted", 12550)] * count)
            simulation.running.peer.close()
        [first, second] = [json.loads(line)["number"] for line in path.read_bytes().splitlines()]
        self.assertNotEqual(first, second)

    def test_serial_port(self) -> None:
        """A serial port that does not open is named with the reason."""
        refusal = self.refusal("printer --serial /dev/no-such-port")
        self.assertTrue(refusal.startswith("/dev/no-such-port: no such port"), refusal)


class Socket:
    """A serial port in memory, which opens or fails as set."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.refused: Exception | None = None

    def connect(self, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open it."""
        if self.refused is not None:
            return fail(self.refused)
        try:
            line = Line(factory)
        except AssertionError:
            return fail(NoProtocol())
        self.lines.append(line)
        return succeed(cast(IProtocol, line))


class SerialPlugTests(SynchronousTestCase):
    """A device on a serial port."""

    def setUp(self) -> None:
        """A printer that is plugged in."""
        self.clock, self.socket = Clock(), Socket()
        peer: SimulatedPeer = options("printer").peer(self.clock)
        self.scenario = peer.scenario
        self.plug = SerialPlug(self.clock, self.socket, peer.factory)
        self.successResultOf(self.plug.plug_in())

    def test_carries_bytes(self) -> None:
        """What the till writes reaches the device, and its answers come back."""
        self.assertNotEqual(self.socket.lines[0].say(b"\x10\x04\x01"), b"")

    def test_opened_anew(self) -> None:
        """A line that the device broke is opened again after a while, and works."""
        self.scenario.replace({"rules": [{"on": "probe", "then": "lost_before"}]})
        self.socket.lines[0].say(b"\x10\x04\x01")
        self.assertTrue(self.socket.lines[0].broken)
        self.socket.lines[0].hang_up()
        self.clock.advance(REOPEN - 0.01)
        self.assertEqual(len(self.socket.lines), 1)
        self.clock.advance(0.02)
        self.assertNotEqual(self.socket.lines[1].say(b"\x10\x04\x01"), b"")

    def test_port_that_is_gone(self) -> None:
        """A port that does not open is tried until it does."""
        self.socket.refused = OSError("unplugged")
        self.socket.lines[0].hang_up()
        self.clock.pump([REOPEN] * 5)
        self.assertEqual(len(self.socket.lines), 1)
        self.socket.refused = None
        self.clock.advance(REOPEN)
        self.assertEqual(len(self.socket.lines), 2)

    def test_not_to_be_reached(self) -> None:
        """A device that turns its caller away is there again a while later."""
        device = Terminal(self.clock)
        wire = options("terminal --protocol concert-v2")
        factory = WIRES["concert-v2"].factory(device, self.clock, cast(Any, wire))
        device.scenario.replace({"rules": [{"on": "any", "then": "unreachable"}]})
        self.failureResultOf(SerialPlug(self.clock, self.socket, factory).plug_in(), NoProtocol)
        self.successResultOf(SerialPlug(self.clock, self.socket, factory).plug_in())


class PageTests(SynchronousTestCase):
    """``docs/simulators.md`` says what is so."""

    def blocks(self) -> Iterator[tuple[str, str]]:
        """Every fenced block of the page: its language and its text."""
        yield from re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)

    def test_examples(self) -> None:
        """Every command starts what it says, and every answer on the page is the one that comes."""
        simulation, answer, compared = None, b"", 0
        for language, text in self.blocks():
            if language == "json":
                self.assertEqual(json.loads(answer), json.loads(text))
            elif language == "text":
                self.assertEqual(answer.decode().rstrip(), text.rstrip())
            else:
                for line in text.splitlines():
                    simulation, answer = self.follow(simulation, line, answer)
                continue
            compared += 1
        self.assertEqual(compared, 8)

    def follow(self, simulation: Simulation | None, line: str, answer: bytes) -> tuple[Simulation | None, bytes]:
        """Do what ``line`` of a block says; the simulation and the last answer after it."""
        words = shlex.split(line)
        if words[:2] == ["dmtwisted", "simulate"]:
            return Simulation(self, words[2], *words[3:]), b""
        assert simulation is not None, line
        if line.startswith("# the till"):
            self.till(simulation, line)
        else:
            asked = curl(words)
            self.assertIn(f"http://{asked[1].netloc}/", simulation.running.line)
            answer = simulation.ask(asked[0], asked[1].geturl(), asked[2])[2]
        return simulation, answer

    def till(self, simulation: Simulation, line: str) -> None:
        """What a till does meanwhile."""
        if "asks for 125.50" in line:
            broken = "breaks" in line
            if broken:
                till = simulation.line()
                till.say(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
                self.assertTrue(till.broken)
                till.hang_up()
            else:
                self.assertFalse(pay_privatbank(simulation))
        else:
            self.assertIn("prints a receipt", line)
            simulation.line().say(compose((Text("ФІСКАЛЬНИЙ ЧЕК", "center"),), PROFILES["epson"]).data)

    def test_nothing_is_missing(self) -> None:
        """Every option, protocol, path and action is on the page."""
        page = PAGE.read_text("utf-8")
        for kind in ("printer", "ipp", "terminal --protocol nexo", "tax-service", "tax --protocol b"):
            for name in options(kind).longOpt:
                if name.rstrip("=") not in ("help", "version"):
                    self.assertIn(f"`--{name.rstrip('=')}", page)
            for each in Simulation(self, kind).json("GET", "/")["paths"]:
                self.assertIn(each["path"].lstrip("/"), page)
        for protocol in WIRES:
            self.assertIn(f"`{protocol}`", page)


def curl(words: list[str]) -> tuple[str, Any, bytes | None]:
    """Method, address and body of a command line with ``curl``."""
    assert words[:2] == ["curl", "-s"], words
    rest, method, body = words[2:], "GET", None
    while rest:
        word = rest.pop(0)
        if word == "-X":
            method = rest.pop(0)
        elif word == "-d":
            body = rest.pop(0).encode()
        else:
            address = urlsplit(word)
    return method, address, body


class ProcessTests(SynchronousTestCase):
    """The command as a process of its own."""

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        """``dmtwisted simulate`` with these words."""
        process = subprocess.Popen(
            [sys.executable, "-m", "dmtwisted.commands.main", "simulate", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen[str]) -> None:
        """See to it that it is gone."""
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)

    def start(self, ledger: Path) -> tuple[subprocess.Popen[str], int, int]:
        """A terminal on free ports: its process, its port and its control port."""
        words = "terminal --protocol privatbank-json --duration 0 --listen 127.0.0.1:0 --control 127.0.0.1:0 --ledger"
        process = self.spawn(*words.split(), str(ledger))
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(
            r"dmtwisted simulate: terminal privatbank-json on 127\.0\.0\.1:(\d+), "
            r"control on http://127\.0\.0\.1:(\d+)/\n",
            line,
        )
        if found is None:
            process.kill()
            self.fail(line + process.communicate()[1])
        return process, int(found[1]), int(found[2])

    def ask(self, port: int, method: str, path: str, body: object = None) -> Any:
        """The decoded answer of the control port."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            return json.loads(answer.read())
        finally:
            connection.close()

    def pay(self, port: int) -> bytes:
        """Ask the terminal for 125.50; what it says until the zero byte, or until the line ends."""
        heard = b""
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as till:
            till.sendall(b"\0" + privatbank.frame(privatbank_requests.Purchase(12550).request().encode()))
            while not heard.endswith(b"\0"):
                data = till.recv(65_536)
                if not data:
                    break
                heard += data
        return heard

    def test_worst_day(self) -> None:
        """A payment whose answer is lost is in the ledger, before and after a restart; being asked to stop is status
        0 without a word of complaint."""
        ledger = Path(self.mktemp()).absolute()
        process, port, control = self.start(ledger)
        rules = {"rules": [{"on": "payment", "then": "lost_after"}]}
        self.assertEqual(len(self.ask(control, "PUT", "/scenario", rules)["rules"]), 1)
        self.assertEqual(self.pay(port), b"")
        entries = self.ask(control, "GET", "/ledger")["entries"]
        self.assertEqual([(each["kind"], each["sum"]) for each in entries], [("payment", 12550)])
        process.terminate()
        self.assertEqual((process.wait(PATIENCE), process.communicate()[1]), (0, ""))
        process, _, control = self.start(ledger)
        self.assertEqual(self.ask(control, "GET", "/ledger")["entries"], entries)
        os.kill(process.pid, signal.SIGINT)
        self.assertEqual((process.wait(PATIENCE), process.communicate()[1]), (0, ""))

    def test_port_taken(self) -> None:
        """A port that is taken is named on the standard error with what to do, and status 1."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            at = f"127.0.0.1:{taken.getsockname()[1]}"
            process = self.spawn("printer", "--listen", at)
            said = process.communicate(timeout=PATIENCE)
            why = words_of_system(*taken.getsockname())
        self.assertEqual(process.returncode, 1)
        self.assertEqual((said[0], said[1].count("\n")), ("", 2))
        self.assertTrue(said[1].startswith(f"dmtwisted simulate: cannot listen on {at}: {why}"), said[1])


class EntriesTests(SynchronousTestCase):
    """The ledger over HTTP."""

    def test_shape(self) -> None:
        """An entry has the members and the order of the service's own ledgers."""
        simulation = Simulation(self, "terminal --protocol privatbank-json --duration 0")
        pay_privatbank(simulation)
        [entry] = simulation.json("GET", "/ledger")["entries"]
        self.assertEqual(list(entry), ["n", "kind", "status", "number", "sum", "ref", "dt"])
        self.assertEqual(entry, msgspec.to_builtins(next(iter(simulation.running.peer.entries()))))
