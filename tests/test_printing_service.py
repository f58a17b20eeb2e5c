"""The printing service: the answers about a job, its entry in the journal, and no second copy."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, cast

from PIL import Image
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.interfaces import IAddress, IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from dmtwisted.devices.devices import PrinterDevice
from dmtwisted.documents.model import Element, Feed, Line, Pair, Qr
from dmtwisted.printing.interface import IPrinterWay
from dmtwisted.printing.jobs import form_of, job_of
from dmtwisted.printing.result import _WORDS, Fate, PrintResult, reason_text
from dmtwisted.printing.service import DELIVERY, PrinterService
from dmtwisted.printing.ways import LineWay, QueueWay
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import StoreFailed
from dmtwisted.turns import MINI_QUEUE
from protocols.errors import LineLost, NotReached
from protocols.printers.cups import cups_over
from protocols.printers.delivery import CAUSES, Patience
from protocols.printers.profiles import PROFILES
from protocols.printers.queues import Condition, IPrintQueue, QueueState, UnknownQueue
from protocols.printers.verdict import Outcome, Verdict
from protocols.printers.windows_spooler import WindowsQueue
from protocols.simulators.in_process import InProcessEndpoint
from protocols.simulators.printer import SimulatedPrinter, simulated_printer
from protocols.simulators.printer_port import PrinterPort
from tests.shop import Shop
from tests.specification import promises
from tests.test_windows_spooler import StandIn
from tests.web_case import DEVICES, EXECUTE, Connection, Headers, WebCase
from web.site import Door

JOBS = "/dm/api/v3/jobs"
PRINTING = "/dm/execute-prn"
ENGLISH = (("Accept-Language", "en"),)

READY = b"\x12\x12\x12\x12\x10\x00\x00\x00"
"""No problem in all four status answers, and that it is our turn."""
PROOF = b"\x00"
"""The answer that everything before has been printed."""

EAN, WRONG_EAN = "4006381333931", "4006381333932"


def document(doc: object, device: str = "prn") -> dict[str, Any]:
    """A task of ``type`` 2."""
    return {"ver": 6, "device": device, "tag": "", "type": 2, "doc": doc}


def lines(count: int, word: str = "рядок") -> dict[str, Any]:
    """``doc`` with ``count`` numbered lines."""
    return {"lines": [{"t": f"{word} {number}"} for number in range(1, count + 1)]}


class PrintCase(WebCase):
    """Tests of a shop with the register `test` and the training printer `prn`."""

    def setUp(self) -> None:
        """A service in training mode after its first start."""
        self.shop = Shop(self, whole=True)
        # A printer that did not print is asked how it is (tests.test_needs); here only jobs are delivered.
        self.shop.core.observing.stop()
        self.door = Door(self.shop.core)

    @property
    def printer(self) -> SimulatedPrinter:
        """The printer behind `prn`."""
        found: SimulatedPrinter = self.built().printer
        return found

    def built(self, name: str = "prn") -> Any:
        """The printing service of a printer."""
        return self.shop.core.devices.by_name(name).built

    def run_for(self, seconds: float) -> None:
        """Let time pass in small steps."""
        for _ in range(round(seconds / 0.05)):
            self.shop.clock.advance(0.05)

    def ask(self, body: object, path: str = EXECUTE, headers: Headers = ()) -> Connection:
        """Send a task without waiting."""
        connection = self.connect()
        connection.ask("POST", path, json.dumps(body).encode(), list(headers))
        return connection

    def answer(self, connection: Connection, within: float = 5.5) -> Any:
        """The answer, which must come within the time that a caller waits for a printer (specification 4.7)."""
        left = round(within / 0.05)
        while not (answers := connection.answers()):
            self.assertGreater(left, 0, "no answer in time")
            left -= 1
            self.shop.clock.advance(0.05)
        [answer] = answers
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json

    def execute(self, body: object, path: str = EXECUTE, headers: Headers = ()) -> Any:
        """The answer to a task."""
        return self.answer(self.ask(body, path, headers))

    def print(self, doc: object, device: str = "prn", headers: Headers = ()) -> Any:
        """The answer to a task of ``type`` 2."""
        return self.execute(document(doc, device), headers=headers)

    def jobs(self, query: str = "") -> Any:
        """The jobs in the journal, newest first."""
        return self.request("GET", JOBS + query).json["jobs"]

    def job(self) -> tuple[str, str]:
        """Outcome and reason of the latest job, the reason in Ukrainian."""
        job = self.jobs()[0]
        return job["fate"], job["reason"]

    def reprint(self, n: int) -> Any:
        """The answer to a person's request for a reprint."""
        connection = self.connect()
        connection.ask("POST", f"{JOBS}/{n}/reprint")
        for _ in range(500):
            if answers := connection.answers():
                return answers[0]
            self.shop.clock.advance(0.05)
        raise AssertionError("no answer")

    def paper(self, name: str = "prn") -> str:
        """What a training printer printed."""
        text: str = self.built(name).printer.mechanism.paper.text()
        return text

    def rule(self, then: str, on: str = "print", name: str = "prn", **more: Any) -> None:
        """Set the faults of a training printer."""
        self.shop.scenario({"on": on, "then": then, **more}, device=name)

    def device(self, name: str, driver: str = "training", **settings: Any) -> str:
        """The id of a new printer."""
        body = {"device": name, "kind": "printer", "driver": driver, "settings": settings}
        answer = self.request("POST", DEVICES, body)
        self.assertEqual(answer.status, 201, answer.body)
        dev_id: str = answer.json["dev_id"]
        return dev_id

    def change(self, name: str = "prn", **settings: Any) -> None:
        """Change settings of a printer over HTTP."""
        dev_id = self.shop.core.devices.by_name(name).row.dev_id
        self.assertEqual(self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": settings}).status, 200)

    def kill(self) -> None:
        """Stop the service as a power cut does: nothing of the old one reaches the store any more."""
        dead = self.shop.store
        self.shop.store = MemoryStore()
        self.shop.store._db = dead._db
        dead.broken = True
        self.shop.crash()
        self.door = Door(self.shop.core)

    def install(self, way: IPrinterWay) -> None:
        """Set another endpoint for `prn`."""
        device = self.shop.core.devices.by_name("prn")
        assert isinstance(device, PrinterDevice)
        device.built.close()
        core = self.shop.core
        device.built = PrinterService(device.row.n, device.name, core.store, way, core.clock)

    def wire(self, endpoint: IStreamClientEndpoint, profile: str = "epson", time_to_live: float = 60.0) -> None:
        """Connect a printer of ``profile`` to `prn`."""
        self.install(LineWay(PROFILES[profile], endpoint, self.shop.clock, time_to_live))

    def begun(self, doc: dict[str, Any]) -> tuple[Connection, FarEnd]:
        """A job that a printer accepts without a proof yet: its caller, and the printer."""
        played = Played()
        self.wire(InProcessEndpoint(played, self.shop.clock))
        asked = self.ask(document(doc))
        self.run_for(0.1)
        [end] = played.ends
        end.say(READY)
        self.run_for(0.1)
        return asked, end

    def assertRefused(self, answer: Any, res: Res, action: int, words: str = "") -> None:
        """Assert that ``answer`` refuses a task."""
        self.assertEqual(
            (answer["res"], answer["res_action"], answer["task_status"], answer["info"]),
            (res.code, action, 3, {}),
            answer["errortxt"],
        )
        if words:
            self.assertIn(words, answer["errortxt"])

    def assertNothingWaits(self) -> None:
        """Assert that no timer of a printer is left."""
        self.shop.clock.advance(0)
        modules = [_module(cast(Any, call).func) for call in self.shop.clock.getDelayedCalls()]
        self.assertEqual([module for module in modules if not module.startswith(OTHERS)], [])


OTHERS = (
    "twisted.web",
    "twisted.protocols.policies",
    "twisted.internet.task.LoopingCall",
    "web.",
    "dmtwisted.closing",
    "dmtwisted.core",
    "dmtwisted.needs",
    "dmtwisted.observing",
    "dmtwisted.outbox",
)
"""Owners of other timers: connections to the server, the closing of shifts, letters."""


def _module(function: Any) -> str:
    """The owner of ``function``: its class, or its own name, with the module."""
    owner = getattr(function, "__self__", None)
    kind = type(owner) if owner is not None else function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


class FarEnd(Protocol):
    """A printer that the test plays by hand."""

    def __init__(self) -> None:
        self.received = b""
        self.open = False

    def connectionMade(self) -> None:
        self.open = True

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.open = False

    def say(self, data: bytes) -> None:
        """Send ``data``."""
        assert self.transport is not None
        self.transport.write(data)


class Deaf(FarEnd):
    """A printer that accepts the connection and reads nothing."""

    def connectionMade(self) -> None:
        super().connectionMade()
        line: Any = self.transport
        line.pauseProducing()


class Played(Factory):
    """Makes remote devices, and keeps them."""

    def __init__(self, kind: Callable[[], FarEnd] = FarEnd) -> None:
        self._kind = kind
        self.ends: list[FarEnd] = []

    def buildProtocol(self, addr: IAddress | None) -> FarEnd:
        """Make one more connection."""
        self.ends.append(self._kind())
        return self.ends[-1]


@implementer(IStreamClientEndpoint)
class Unplugged:
    """An address where nothing listens."""

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Refuse the connection."""
        return fail(ConnectionRefusedError())


@implementer(IStreamClientEndpoint)
class Nowhere:
    """An address from which no answer ever comes."""

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Never connect."""
        return Deferred()


@implementer(IStreamClientEndpoint)
class Faulty:
    """An endpoint with an internal error."""

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Fail at once."""
        raise RuntimeError("a fault of ours")


@implementer(IStreamClientEndpoint)
class Clogged(StringTransport):
    """A connection that takes some kilobytes and then nothing more."""

    aborted = False

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect."""
        protocol = protocolFactory.buildProtocol(self.getPeer())
        assert protocol is not None
        protocol.makeConnection(self)
        self.protocol = protocol
        return succeed(protocol)

    def says(self, data: bytes) -> None:
        """The printer sends ``data``."""
        self.protocol.dataReceived(data)

    def write(self, data: bytes) -> None:
        """Take ``data``, and report when the buffer is full."""
        super().write(data)
        if len(self.value()) > 4096 and self.producer is not None:
            self.producer.pauseProducing()

    def abortConnection(self) -> None:
        """Close at once."""
        self.aborted = True


class TaskTests(PrintCase):
    """Tasks of ``type`` 2."""

    def test_drawer(self) -> None:
        """`opendrawer` opens the drawer and prints nothing, on both paths and in every spelling."""
        for number, wish in enumerate((1, True, "1"), start=1):
            for path in (EXECUTE, PRINTING):
                answer = self.execute(document({"opendrawer": wish}), path)
                self.assertEqual((answer["res"], answer["type"], answer["task"], answer["errortxt"]), (0, 2, 0, ""))
            self.assertEqual(self.printer.mechanism.pulses, 2 * number)
        self.assertEqual(self.paper(), "")

    def test_drawer_without_paper(self) -> None:
        """The drawer opens although the paper is out: the cashier still needs the change."""
        self.printer.take_paper_out()
        self.assertEqual(self.print({"opendrawer": 1})["res"], 0)
        self.assertEqual(self.printer.mechanism.pulses, 1)

    @promises("1.5.1.2", "2.2.type.4")
    def test_lines(self) -> None:
        """`lines` are printed with their styles and codes, and a cut at the end."""
        doc = {
            "lines": [
                {"t": "ЗАМОВЛЕННЯ 7", "align": "center", "bold": True, "size": 2},
                {"t": EAN, "qr_type": 1},
                {"t": "Їжак", "qr_type": 0},
                {"t": "https://example.com", "qr_type": 100},
            ]
        }
        answer = self.print(doc)
        self.assertEqual(answer["info"], {"isprint": 1, "state": "printed", "job": answer["info"]["job"]})
        for words in ("ЗАМОВЛЕННЯ 7", f"[ean13 {EAN}]", "Їжак", "[qr https://example.com]", "- - -"):
            self.assertIn(words, self.paper())

    def test_doccmd(self) -> None:
        """`doccmd` prints exactly its commands: it cuts only with a cut command."""
        answer = self.print({"doccmd": [{"cmd": "pair", "left": "Кава", "right": "51.00"}]})
        self.assertEqual((answer["res"], answer["info"]["state"]), (0, "printed"))
        self.assertEqual(self.paper(), f"Кава{'51.00':>44}\n")

    def test_test_page(self) -> None:
        """`test` 1 prints letters, styles and codes, with the printer's name and the time."""
        self.assertEqual(self.print({"test": 1})["res"], 0)
        for words in ("ПРОБНИЙ ДРУК", "prn", "21-09-2026 09:00:00", "АБВГҐДЕЄ", "[ean13 ", "[qr "):
            self.assertIn(words, self.paper())

    def test_finder(self) -> None:
        """`test` 2 prints the code tables with their numbers, and can be printed again."""
        for _ in range(2):
            before = self.paper()
            answer = self.print({"test": 2}) if not self.jobs() else None
            if answer is None:
                self.assertEqual(self.reprint(self.jobs()[0]["id"]).status, 200)
            self.assertGreater(len(self.paper()) - len(before), 200)
        self.assertEqual([job["fate"] for job in self.jobs()], ["printed", "printed"])

    def test_missing(self) -> None:
        """Without `doc` the answer is 1098, in all the ways in which it can be missing."""
        nothing: list[dict[str, Any]] = [{"doc": None}, {"doc": {}}, {}]
        for missing in nothing:
            answer = self.execute({"ver": 6, "device": "prn", "type": 2, **missing})
            self.assertRefused(answer, Res.MISSING_OBJECT, 3, "doc")

    def test_wrong(self) -> None:
        """An invalid member is 2000 with its path, and nothing is printed or stored."""
        cases: list[tuple[object, str]] = [
            ([], "doc:"),
            ("", "doc:"),
            ({"opendrawer": 0}, "doc:"),
            ({"lines": []}, "doc:"),
            ({"doccmd": [], "test": ""}, "doc:"),
            ({"hat": 1}, "doc:"),
            ({"opendrawer": 1, "lines": [{"t": "a"}]}, "doc:"),
            ({"opendrawer": "yes"}, "doc.opendrawer:"),
            ({"test": 3}, "doc.test:"),
            ({"test": "page"}, "doc.test:"),
            ({"lines": "a"}, "doc.lines:"),
            ({"lines": [{"t": "a"}, 7]}, "doc.lines[1]:"),
            ({"lines": [{"t": "a"}, {"t": "b"}, {"t": WRONG_EAN, "qr_type": 1}]}, "doc.lines[2].t:"),
            ({"lines": [{"t": "a", "qr_type": 9}]}, "doc.lines[0].qr_type:"),
            ({"lines": [{"t": "a"}] * 10_001}, "doc.lines:"),
            ({"doccmd": {"cmd": "cut"}}, "doc.doccmd:"),
            ({"doccmd": [{"cmd": "hat"}]}, "doc.doccmd[0].cmd:"),
            (
                {"doccmd": [*[{"cmd": "cut"}] * 3, {"cmd": "barcode", "kind": "ean13", "data": WRONG_EAN}]},
                "doc.doccmd[3].data:",
            ),
        ]
        for doc, path in cases:
            for where in (EXECUTE, PRINTING):
                answer = self.execute(document(doc), where)
                if doc == "":
                    # An empty text counts as absent only for numbers.
                    self.assertIn(answer["res"], (Res.MALFORMED.code, Res.MISSING_OBJECT.code))
                    continue
                self.assertRefused(answer, Res.MALFORMED, 3, f": {path}")
        self.assertEqual((self.paper(), self.jobs()), ("", []))

    def test_longest(self) -> None:
        """A document of 10,000 lines is printed completely, and can be printed again."""
        answer = self.print(lines(10_000))
        self.assertEqual(answer["info"]["state"], "printed")
        # One line for each, and the cut with its feed; of such a long paper only the end is kept.
        self.assertEqual(self.printer.mechanism.pieces, 10_002)
        self.assertIn("рядок 10000", self.paper())
        self.assertEqual(self.reprint(answer["info"]["job"]).status, 200)
        self.assertEqual(self.printer.mechanism.pieces, 20_004)

    def test_longest_on_a_slow_printer(self) -> None:
        """A document that is printed for longer than a job may stall is not given up while it is printed."""
        asked, end = self.begun(lines(2000))
        self.assertEqual(self.answer(asked)["info"]["state"], "accepted")
        self.run_for(100)
        self.assertTrue(end.open)
        end.say(PROOF)
        self.run_for(0.1)
        self.assertEqual(self.job(), ("printed", ""))
        self.assertNothingWaits()

    def test_unknown_letters(self) -> None:
        """Characters that the printer does not have cause a warning, in the caller's language."""
        doc = {"lines": [{"t": "茶 2 шт"}]}
        self.assertEqual(
            self.print(doc)["warnings"],
            [{"code": 430, "wtxt": "знаків, які пристрій не вміє друкувати: 1"}],
        )
        english = self.print(doc, headers=ENGLISH)
        self.assertEqual(english["warnings"][0]["wtxt"], "letters that the device cannot print: 1")

    def test_what_it_cannot_do(self) -> None:
        """A missing capability of the printer causes a warning, once for each kind, and the rest is printed."""
        self.device("small", profile="zjiang-58")
        code = {"cmd": "barcode", "kind": "code128", "data": "ABCDEFGHIJ" * 4}
        answer = self.print({"doccmd": [code, code, {"cmd": "logo"}]}, "small")
        self.assertEqual((answer["res"], answer["info"]["isprint"]), (0, 1))
        texts = sorted(warning["wtxt"] for warning in answer["warnings"])
        self.assertEqual(
            texts,
            [
                "пристрій цього не вміє: збережений логотип",
                "пристрій цього не вміє: код або малюнок, ширший за стрічку",
            ],
        )

    def test_families(self) -> None:
        """A printer of each family prints a document and opens its drawer, if it has one."""
        for name, profile in PROFILES.items():
            self.device(name, profile=name)
            answer = self.print(lines(2), name)
            proves = profile.completion != "none"
            self.assertEqual(answer["info"]["state"], "printed" if proves else "accepted", name)
            self.assertEqual(self.print({"opendrawer": 1}, name)["res"], 0, name)
            self.assertEqual(self.built(name).printer.mechanism.pulses, 1 if profile.drawer else 0, name)
            self.assertEqual(len(self.built(name).printer.entries()), 1, name)
        self.assertNothingWaits()

    def test_look_up(self) -> None:
        """A look-up at a printer is 2000: only registers are looked up."""
        self.assertRefused(self.execute({"device": "prn", "tag": "t"}), Res.MALFORMED, 3)


class DeliveryTests(PrintCase):
    """Answers within the time of a delivery, and the journal's record."""

    def test_printed(self) -> None:
        """A printer that proves its work: printed, at once."""
        answer = self.print(lines(3))
        self.assertEqual((answer["info"]["state"], answer["warnings"]), ("printed", []))
        self.assertEqual(self.job(), ("printed", ""))
        self.assertNothingWaits()

    def test_accepted(self) -> None:
        """A printer that confirms nothing: accepted, when it has every byte."""
        self.device("clone", profile="zjiang-80")
        self.shop.built("clone").printer._mute = True
        answer = self.print(lines(3), "clone")
        self.assertEqual((answer["info"]["isprint"], answer["info"]["state"]), (1, "accepted"))
        self.assertIn("рядок 3", self.paper("clone"))

    def test_unreachable(self) -> None:
        """No connection: 100, the caller may repeat, and the job is refused."""
        self.rule("unreachable")
        self.assertRefused(self.print(lines(1)), Res.PRINTER_CONNECT, 1)
        self.assertEqual(self.jobs()[0]["state"], "refused")
        self.assertEqual((self.job()[0], self.paper()), ("not_printed", ""))
        self.assertEqual(self.print(lines(1))["res"], 0)

    def test_connection_refused(self) -> None:
        """A port at which nothing listens: 100 at once."""
        self.wire(Unplugged())
        connection = self.ask(document(lines(1)))
        [answer] = connection.answers()
        self.assertRefused(answer.json, Res.PRINTER_CONNECT, 1)

    @promises("8.printer-delivery")
    def test_no_answer_to_the_call(self) -> None:
        """An address without an answer: 100 within five seconds, and nothing is left of the attempt."""
        self.wire(Nowhere())
        self.assertRefused(self.execute(document(lines(1))), Res.PRINTER_CONNECT, 1)
        self.assertNothingWaits()

    def test_silent(self) -> None:
        """An open connection to a silent printer whose model has answers: 100 after five seconds at most."""
        end = Played()
        self.wire(InProcessEndpoint(end, self.shop.clock))
        self.assertRefused(self.print(lines(1)), Res.PRINTER_CONNECT, 1)
        self.assertNotIn("рядок".encode("cp1251"), end.ends[0].received)
        self.assertFalse(end.ends[0].open)
        self.assertEqual(self.job(), ("not_printed", "пристрій не відповідає"))
        self.assertNothingWaits()

    def test_half_open(self) -> None:
        """A model that need not answer gets its job: accepted, as nothing more is known."""
        end = Played()
        self.wire(InProcessEndpoint(end, self.shop.clock), "generic-80")
        answer = self.print(lines(1))
        self.assertEqual((answer["res"], answer["info"]["state"]), (0, "accepted"))
        self.assertNothingWaits()

    def test_reads_nothing(self) -> None:
        """A printer that takes the connection and reads nothing: 100 where its model has a status, else unproven."""
        deaf = Played(Deaf)
        self.wire(InProcessEndpoint(deaf, self.shop.clock))
        self.assertRefused(self.answer(self.ask(document(lines(1))), DELIVERY), Res.PRINTER_CONNECT, 1)
        self.wire(InProcessEndpoint(deaf, self.shop.clock), "generic-80")
        asked = self.ask(document(lines(1)), headers=ENGLISH)
        self.assertRefused(self.answer(asked, DELIVERY), Res.DEVICE_ERROR, 2, "it did not confirm printing")
        self.assertEqual(self.job(), ("unknown", "немає підтвердження друку"))
        self.run_for(5)
        self.assertEqual([(end.received, end.open) for end in deaf.ends], [(b"", False)] * 2)
        self.assertEqual(self.job(), ("unknown", "немає підтвердження друку"))
        self.assertNothingWaits()

    def test_silent_clone(self) -> None:
        """A simulated clone that is silent reads nothing more: unproven; the next job is printed."""
        self.device("clone", profile="zjiang-80")
        self.shop.built("clone").printer._mute = True
        self.rule("silent", name="clone")
        self.assertRefused(self.print(lines(1), "clone"), Res.DEVICE_ERROR, 2, "немає підтвердження друку")
        self.run_for(5)
        self.assertEqual(self.print(lines(1, "другий"), "clone")["info"]["state"], "accepted")
        self.assertEqual((self.paper("clone").count("рядок"), self.paper("clone").count("другий")), (0, 1))

    def test_ready_late(self) -> None:
        """An idle printer that is ready after 2.5 seconds prints, and the caller hears it: the limit is 5 seconds."""
        self.rule("accept", delay_ms=2500)
        answer = self.answer(self.ask(document(lines(1))), 3)
        self.assertEqual((answer["res"], answer["info"]["state"]), (0, "printed"))

    @promises("8.printer-delivery", "4.7.printer")
    def test_every_kind(self) -> None:
        """Whatever printer cannot take a job, its caller has an error after five seconds."""
        clock, clone = self.shop.clock, PROFILES["generic-80"]
        played, deaf = (InProcessEndpoint(Played(kind), clock) for kind in (FarEnd, Deaf))
        ways: dict[str, IPrinterWay] = {
            "network, no connection": LineWay(PROFILES["epson"], Nowhere(), clock, 60),
            "network, no answer": LineWay(PROFILES["epson"], played, clock, 60),
            "network, reads nothing": LineWay(clone, deaf, clock, 60),
            "serial, stops": LineWay(clone, Clogged(), clock, 60, 960),
            "Star, no answer": LineWay(PROFILES["star"], played, clock, 60),
            "CUPS, no connection": QueueWay(clone, cups_over(Nowhere(), clock).queue("x")),
            "CUPS, no answer": QueueWay(clone, cups_over(played, clock).queue("x")),
            "Windows, no return": QueueWay(clone, WindowsQueue(clock, lambda _: Deferred(), "x", StandIn)),
        }
        for kind, way in ways.items():
            self.install(way)
            answer = self.answer(self.ask(document(lines(500))), DELIVERY + 0.05)
            self.assertIn(answer["res"], (100, 430), kind)

    @promises("8.printer-delivery", "4.7.printer")
    def test_training(self) -> None:
        """A training printer that is not ready in five seconds is busy, and prints nothing later."""
        self.rule("accept", delay_ms=60_000)
        asked = self.answer(self.ask(document(lines(1))), DELIVERY)
        self.assertRefused(asked, Res.DEVICE_ERROR, 1, "зайнятий іншим завданням")
        self.run_for(120)
        self.assertEqual(self.paper(), "")

    def test_hindrances(self) -> None:
        """A problem of the printer: 430 with a text in both languages, and nothing was sent."""
        cases = {
            "paper": ("закінчився папір", "out of paper"),
            "cover": ("відкрито кришку", "the cover is open"),
            "cutter": ("заклинило ніж", "the cutter is jammed"),
            "overheat": ("перегрілася головка друку", "the print head is too hot"),
            "offline": ("пристрій не готовий до друку", "it is not ready to print"),
        }
        for code, (ukrainian, english) in cases.items():
            for headers, words in (((), ukrainian), (ENGLISH, english)):
                self.rule("refuse", code=code)
                answer = self.print(lines(1), headers=headers)
                self.assertRefused(answer, Res.DEVICE_ERROR, 3, f": {words}")
        self.assertEqual(self.paper(), "")
        self.assertEqual({job["state"] for job in self.jobs()}, {"refused"})

    def test_flood(self) -> None:
        """A printer that sends without end is given up before anything is sent."""

        class Talker(FarEnd):
            """Answers with garbage."""

            def dataReceived(self, data: bytes) -> None:
                self.say(b"\xff" * 5000)

        self.wire(InProcessEndpoint(Played(Talker), self.shop.clock))
        self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 3, "незрозумілі відповіді")
        self.assertNothingWaits()

    def test_unplugged_between_two_jobs(self) -> None:
        """A printer that is gone after a job: the next one is 100, the first stays printed."""
        self.assertEqual(self.print(lines(1))["info"]["state"], "printed")
        self.rule("unreachable", times=0)
        self.assertRefused(self.print(lines(1)), Res.PRINTER_CONNECT, 1)
        self.assertEqual([job["fate"] for job in self.jobs()], ["not_printed", "printed"])

    def test_lost_in_the_middle(self) -> None:
        """A connection that breaks during printing: 430 with res_action 2, unknown, and not sent again."""
        for then in ("lost_before", "lost_after"):
            self.rule(then)
            answer = self.print(lines(1), headers=ENGLISH)
            self.assertRefused(
                answer, Res.DEVICE_ERROR, 2, "it is unknown whether it was printed: the connection was lost"
            )
            self.assertEqual(self.jobs()[0]["state"], "unknown")
            self.assertEqual(self.job(), ("unknown", "обірвалося з’єднання"))
        self.assertEqual(self.paper().count("рядок"), 1)
        self.assertNothingWaits()

    def test_longer_patience(self) -> None:
        """An endpoint that would try for longer is stopped after five seconds, if nothing was sent."""
        self.wire(Nowhere())
        self.patch(self.built()._way, "_patience", Patience(begin=60))
        self.assertRefused(self.execute(document(lines(1))), Res.PRINTER_CONNECT, 1)
        self.assertEqual(self.jobs()[0]["state"], "refused")
        self.assertNothingWaits()

    def test_fault_of_ours(self) -> None:
        """An endpoint with an internal error has sent nothing: 100, and the next job does not wait."""
        self.wire(Faulty())
        for _ in range(2):
            self.assertRefused(self.print(lines(1)), Res.PRINTER_CONNECT, 1)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 2)

    @promises("8.printer-delivery", "4.7.printer")
    def test_five_seconds(self) -> None:
        """A job in progress is answered after exactly five seconds."""
        asked, _ = self.begun(lines(1))
        self.run_for(4.7)
        self.assertEqual(asked.answers(), [])
        self.run_for(0.2)
        [answer] = asked.answers()
        self.assertEqual(answer.json["info"]["state"], "accepted")

    def test_clogged(self) -> None:
        """A printer that stops taking data in the middle: unknown after five seconds, and finally given up."""
        clogged = Clogged()
        self.wire(clogged, "generic-80")
        self.assertRefused(self.print(lines(1000)), Res.DEVICE_ERROR, 2, "невідомо, чи надруковано")
        sent = len(clogged.value())
        self.assertEqual(self.jobs()[0]["state"], "unknown")
        self.run_for(60)
        self.assertEqual(self.job(), ("unknown", "пристрій перестав приймати дані"))
        self.assertEqual((clogged.aborted, len(clogged.value())), (True, sent))
        self.assertLess(sent, 6000)
        self.assertNothingWaits()

    def test_not_taken_to_the_end(self) -> None:
        """A connection that does not send the last bytes: unknown, because a printer without a proof lacks them."""
        clogged = Clogged()
        self.wire(clogged, "generic-80")
        self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 2)
        self.run_for(60)
        self.assertEqual((self.job(), clogged.aborted), (("unknown", "пристрій перестав приймати дані"), True))

    def test_clogged_by_the_end_of_the_paper(self) -> None:
        """A printer that stops taking data because its paper ended: the journal names the paper."""
        clogged = Clogged()
        self.wire(clogged)
        asked = self.ask(document(lines(1000)))
        clogged.says(READY)
        clogged.says(b"\x18\x00\x0f\x00")
        self.assertRefused(self.answer(asked), Res.DEVICE_ERROR, 2, "закінчився папір")
        self.run_for(60)
        self.assertEqual((self.job(), clogged.aborted), (("unknown", "закінчився папір"), True))
        self.assertNothingWaits()


class LateTests(PrintCase):
    """Records in the journal after the answer."""

    def test_proof(self) -> None:
        """A late proof makes an accepted job a printed one."""
        asked, end = self.begun(lines(1))
        self.assertEqual(self.answer(asked)["info"], {"isprint": 1, "state": "accepted", "job": self.jobs()[0]["id"]})
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("done", ("accepted", "")))
        self.run_for(16)
        end.say(PROOF)
        self.run_for(0.1)
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("done", ("printed", "")))
        self.assertNothingWaits()

    def test_no_proof(self) -> None:
        """A proof that never comes makes an accepted job an unknown one, and closes the connection."""
        asked, end = self.begun(lines(1))
        self.assertEqual(self.answer(asked)["info"]["state"], "accepted")
        self.run_for(65)
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("unknown", ("unknown", "немає підтвердження друку")))
        self.assertFalse(end.open)
        self.assertNothingWaits()

    def short_roll(self) -> Any:
        """The answer to a job whose paper ends in the middle."""
        self.printer.load_paper(roll_dots=600)
        return self.print(lines(500), headers=ENGLISH)

    def test_paper_came_back(self) -> None:
        """The paper ends in the middle: the answer says so, and with new paper the rest is printed, once."""
        answer = self.short_roll()
        self.assertRefused(answer, Res.DEVICE_ERROR, 2, "it is unknown whether it was printed: out of paper")
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("unknown", ("unknown", "закінчився папір")))
        self.run_for(20)
        self.printer.load_paper()
        self.run_for(1)
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("done", ("printed", "")))
        self.assertEqual([self.paper().count(f"рядок {n}\n") for n in (1, 250, 500)], [1, 1, 1])
        self.assertNothingWaits()

    def test_paper_never_came(self) -> None:
        """Without new paper the job is given up: unknown with the reason, and nothing more is sent later."""
        self.short_roll()
        self.run_for(100)
        self.assertEqual((self.jobs()[0]["state"], self.job()), ("unknown", ("unknown", "закінчився папір")))
        self.assertFalse(self.printer.connected)
        self.assertNothingWaits()
        self.printer.load_paper()
        self.run_for(120)
        self.assertNotIn("рядок 500", self.paper())
        self.assertEqual(len(self.jobs()), 1)

    def test_moved_clock(self) -> None:
        """Moving the training clock uses up none of the time for loading new paper."""
        self.change(profile="star")
        self.printer.load_paper(roll_dots=600)
        self.print(lines(60))
        self.shop.core.clock.offset += 100_000
        self.run_for(20)
        self.assertTrue(self.printer.connected)
        self.printer.load_paper()
        self.run_for(1)
        self.assertEqual(self.job(), ("printed", ""))

    @promises("1.9d.4.3")
    def test_next_job_waits(self) -> None:
        """A job that arrives while the one before waits for paper is printed after it, on its own connection."""
        self.short_roll()
        second = self.ask(document({"lines": [{"t": "другий"}]}))
        self.run_for(MINI_QUEUE - 5)
        self.assertEqual((second.answers(), len(self.jobs())), ([], 1))
        self.printer.load_paper()
        self.assertEqual(self.answer(second)["info"]["state"], "printed")
        self.assertLess(self.paper().index("рядок 500"), self.paper().index("другий"))

    def test_next_job_gives_up(self) -> None:
        """A job that had to wait for the whole time of the queue is 1105, and not printed later."""
        self.short_roll()
        second = self.ask(document({"lines": [{"t": "другий"}]}))
        answer = self.answer(second, MINI_QUEUE + 0.1)
        self.assertRefused(answer, Res.DEVICE_BUSY, 1)
        self.printer.load_paper()
        self.run_for(60)
        self.assertNotIn("другий", self.paper())


class RaceTests(PrintCase):
    """Outcome and answer at the same time, with a slow store."""

    def setUp(self) -> None:
        """Delay the store's results until the test releases them."""
        super().setUp()
        self.held: list[Deferred[None]] | None = None
        verb = self.shop.store.conclude

        async def conclude(outcome: Any) -> None:
            if self.held is not None:
                gate: Deferred[None] = Deferred()
                self.held.append(gate)
                await gate
            await verb(outcome)

        self.patch(self.shop.store, "conclude", conclude)

    def test_proof_while_the_answer_is_stored(self) -> None:
        """A proof that arrives while "accepted" is being stored: printed is answered, and stays in the journal."""
        asked, end = self.begun(lines(1))
        self.held = []
        self.run_for(DELIVERY)
        end.say(PROOF)
        self.run_for(0.1)
        # The proof has arrived; it is stored after the current write, not at the same time.
        self.assertEqual((asked.answers(), len(self.held)), ([], 1))
        first, self.held = self.held[0], None
        first.callback(None)
        self.assertEqual(self.answer(asked)["info"]["state"], "printed")
        self.assertEqual(self.job(), ("printed", ""))

    def test_durable_before_told(self) -> None:
        """ "printed" is answered only after the journal has it."""
        self.held = []
        asked = self.ask(document(lines(1)))
        self.run_for(1)
        self.assertEqual((asked.answers(), self.job()[0]), ([], "unknown"))
        first, self.held = self.held[0], None
        first.callback(None)
        self.assertEqual(self.answer(asked)["info"]["state"], "printed")


class StoreTests(PrintCase):
    """A store that fails at each step of a job."""

    def failing(self, verb: str, at: int = 1) -> None:
        """Let ``verb`` fail at its ``at``-th call from now."""
        ask = getattr(self.shop.store, verb)
        left = [at]

        async def failing(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise StoreFailed("database or disk is full")
            return await ask(*arguments)

        self.patch(self.shop.store, verb, failing)

    def test_intent(self) -> None:
        """A job that cannot be stored is not sent: 1082, and the printer is free for the next one."""
        self.failing("reserve")
        self.assertRefused(self.print(lines(1)), Res.STORE_FAILED, 1)
        self.assertEqual(self.paper(), "")
        self.assertEqual(self.print(lines(1))["res"], 0)

    def test_verdict(self) -> None:
        """When the verdict cannot be stored, the answer is "printed" with a warning: no second copy."""
        self.failing("conclude")
        answer = self.print(lines(1))
        self.assertEqual((answer["res"], answer["info"]["state"]), (0, "printed"))
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [1082])
        self.assertEqual(self.jobs()[0]["state"], "intended")
        self.assertEqual(self.print(lines(1))["warnings"], [])

    def test_late(self) -> None:
        """A late outcome that cannot be stored leaves the row unchanged, and the printer free."""
        asked, end = self.begun(lines(1))
        self.failing("conclude", 2)
        self.assertEqual(self.answer(asked)["info"]["state"], "accepted")
        end.say(PROOF)
        self.run_for(1)
        self.assertEqual(self.job()[0], "accepted")
        self.assertNothingWaits()
        checking = Deferred.fromCoroutine(self.built().check())
        self.run_for(0.1)
        self.assertTrue(self.built()._line.locked)
        self.run_for(5)
        self.failureResultOf(checking, Refused)


class FormTests(SynchronousTestCase):
    """How the journal stores a form."""

    def test_long_texts(self) -> None:
        """Texts that are longer than a document allows are stored completely, in pieces."""
        long = "".join(chr(0x430 + n % 32) for n in range(10_000))
        form = form_of(job_of([Line(long, "center", True), Pair(long, "51.00"), Line("x" * 4096)]), 576)
        line, pair = form[:3], form[3:-1]
        self.assertEqual("".join(each.text for each in line if isinstance(each, Line)), long)
        self.assertEqual({(each.align, each.bold) for each in line if isinstance(each, Line)}, {("center", True)})
        *above, last = pair
        assert isinstance(last, Pair)
        self.assertEqual("".join(each.text for each in above if isinstance(each, Line)) + last.left, long)
        self.assertEqual((last.right, len(last.left)), ("51.00", 4096))
        self.assertEqual(form[-1], Line("x" * 4096))

    def test_many_things(self) -> None:
        """A form beyond a document's limits is stored too: it was checked when it arrived."""
        form: list[Element] = [element for _ in range(200) for element in (Qr("7"), Feed(255))]
        form += [Line("а")] * 10_000
        self.assertEqual(len(form_of(job_of(form), 576)), len(form))


class CrashTests(PrintCase):
    """The service dies in the middle of a job."""

    def cut_short(self) -> int:
        """Kill the service during a job; the number of the job."""
        self.begun(lines(2))
        self.assertEqual(self.jobs()[0]["state"], "intended")
        self.kill()
        n: int = self.jobs()[0]["id"]
        return n

    def test_unknown(self) -> None:
        """After the start the job is unknown with the reason, needs a person, and is not sent again automatically."""
        self.cut_short()
        job = self.jobs("?state=unfinished")[0]
        self.assertEqual((job["state"], job["fate"]), ("unknown", "unknown"))
        self.assertEqual(job["reason"], "сервіс зупинився посеред друку")
        self.assertIn("надрукуйте ще раз", job["advice"])
        self.run_for(120)
        self.assertEqual((self.paper(), len(self.jobs())), ("", 1))

    def test_reprint(self) -> None:
        """A person has it printed again: the new job names the one that it replaces."""
        n = self.cut_short()
        answer = self.reprint(n)
        self.assertEqual(answer.status, 200)
        self.assertEqual((answer.json["replaces"], answer.json["fate"], answer.json["task"]), (n, "printed", 1))
        self.assertEqual(self.paper().count("рядок"), 2)
        self.assertEqual([job["id"] for job in self.jobs()], [answer.json["id"], n])

    def test_under_way(self) -> None:
        """A job in progress is not one that a crash left open."""
        asked, end = self.begun(lines(1))
        self.successResultOf(Deferred.fromCoroutine(self.built().resolve()))
        self.assertEqual(self.jobs()[0]["state"], "intended")
        end.say(PROOF)
        self.assertEqual(self.answer(asked)["info"]["state"], "printed")

    def test_killed_after_the_answer(self) -> None:
        """A job that was accepted before the kill stays accepted: that much was known."""
        asked, _ = self.begun(lines(1))
        self.answer(asked)
        self.kill()
        self.assertEqual(self.job(), ("accepted", ""))


class ReprintTests(PrintCase):
    """A person's reprint."""

    def test_same_form(self) -> None:
        """A reprint has all contents of the first print."""
        out = BytesIO()
        Image.new("1", (64, 8)).save(out, "PNG")
        picture = b64encode(out.getvalue()).decode()
        doc = [
            {"cmd": "text", "text": "а б\nв", "align": "right", "bold": True, "underline": True, "size": 2},
            {"cmd": "pair", "left": "л" * 60, "right": "п"},
            {"cmd": "rule", "char": "=-"},
            {"cmd": "qr", "data": "7", "level": "H", "module": 4, "align": "left"},
            {"cmd": "barcode", "kind": "ean8", "data": "96385074", "label": False, "height": 40},
            {"cmd": "image", "data": picture},
            {"cmd": "feed", "lines": 3},
            {"cmd": "drawer", "pin": "5"},
            {"cmd": "cut", "partial": False},
        ]
        n = self.print({"doccmd": doc})["info"]["job"]
        first = self.paper()
        self.assertEqual(self.reprint(n).status, 200)
        self.assertEqual(self.paper().strip(), (first + first).strip())
        self.assertEqual(self.printer.mechanism.pulses, 2)

    def test_not_there(self) -> None:
        """A job that does not exist, with any number: 404."""
        for n in (1, 2**63, 10**30):
            self.assertEqual(self.reprint(n).status, 404)

    def test_not_printed(self) -> None:
        """A reprint that fails: 409 with a text, and both jobs stay in the journal."""
        n = self.print(lines(1))["info"]["job"]
        self.rule("refuse", code="cover")
        answer = self.reprint(n)
        self.assertEqual((answer.status, answer.json["res"]), (409, 430))
        self.assertIn("відкрито кришку", answer.json["errortxt"])
        self.assertEqual([(job["replaces"], job["state"]) for job in self.jobs()], [(n, "refused"), (None, "done")])

    def test_still_under_way(self) -> None:
        """A job that was printed while the reprint was waiting is not printed a second time."""
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        n = self.jobs()[0]["id"]
        connection = self.connect()
        connection.ask("POST", f"{JOBS}/{n}/reprint")
        self.run_for(3)
        self.assertEqual(connection.answers(), [])
        self.printer.load_paper()
        self.run_for(1)
        [answer] = connection.answers()
        self.assertEqual((answer.status, answer.json["id"], answer.json["fate"]), (200, n, "printed"))
        self.assertEqual((len(self.jobs()), self.paper().count("рядок 500\n")), (1, 1))

    def test_store(self) -> None:
        """A store that fails while a reprint looks for its job: 503, and the printer is free for the next one."""
        n = self.print(lines(1))["info"]["job"]
        works = self.shop.store.find_operations
        for at in (1, 2, 3):
            left = [at]

            async def fails(query: Any, left: list[int] = left) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    raise StoreFailed("database or disk is full")
                return await works(query)

            patched = self.patch(self.shop.store, "find_operations", fails)
            self.assertEqual(self.reprint(n).status, 503)
            patched.restore()
        self.assertEqual((self.print(lines(1))["res"], len(self.jobs())), (0, 2))

    @promises("1.9e.1.2")
    def test_busy(self) -> None:
        """A printer that stays busy: 409 with 2100, as only tasks get 1105 (specification 1.9)."""
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        answer = self.reprint(self.jobs()[0]["id"])
        self.assertEqual((answer.status, answer.json["res"]), (409, 2100))
        self.assertIn("пристрій виконує завдання", answer.json["errortxt"])

    def test_unusable(self) -> None:
        """A printer that cannot be built: 409 with the reason; one that is gone: 404."""
        n = self.print(lines(1))["info"]["job"]
        device = self.shop.core.devices.by_name("prn")
        self.shop.make_unusable("prn", "no such port")
        answer = self.reprint(n)
        self.assertEqual((answer.status, answer.json["res"]), (409, 430))
        self.shop.core.devices._keep(device)
        self.request("DELETE", f"{DEVICES}/{device.row.dev_id}")
        self.assertEqual(self.reprint(n).status, 404)


class QueueingTests(PrintCase):
    """Several clients at one printer (specification 1.9, 8)."""

    @promises("1.9d.1.2", "8.one-task.2")
    def test_twenty_jobs(self) -> None:
        """Twenty jobs of eight clients: each is printed once, in order, on one connection at a time."""
        open_lines: list[int] = []
        connect = self.printer.connect

        def connected() -> Any:
            open_lines.append(self.printer.connected)
            return connect()

        self.patch(self.printer, "connect", connected)
        clients = [self.connect() for _ in range(8)]
        for number in range(20):
            body = json.dumps(document({"lines": [{"t": f"завдання {number:02}"}]})).encode()
            clients[number % 8].ask("POST", EXECUTE, body)
        self.run_for(5)
        answers = [answer.json for client in clients for answer in client.answers()]
        self.assertEqual([answer["info"]["state"] for answer in answers], ["printed"] * 20)
        self.assertEqual(open_lines, [False] * 20)
        places = [self.paper().index(f"завдання {number:02}") for number in range(20)]
        self.assertEqual(len(set(places)), 20)
        firsts = [places[number] for number in range(8)]
        self.assertEqual(firsts, sorted(firsts))
        for client in range(8):
            own = places[client::8]
            self.assertEqual(own, sorted(own))

    @promises("1.9d.4.1", "1.9d.4.4", "8.mini-queue.1")
    def test_mini_queue(self) -> None:
        """A caller that waits for another's task gets 1105 after fifteen seconds; a moment earlier it still waits."""
        turns = self.shop.core.devices.by_name("prn").turns
        turns.turn().acquire()
        asked = self.ask(document(lines(1)))
        self.run_for(MINI_QUEUE - 0.1)
        self.assertEqual(asked.answers(), [])
        self.run_for(0.2)
        [answer] = asked.answers()
        self.assertRefused(answer.json, Res.DEVICE_BUSY, 1)
        turns.give_back()
        self.run_for(5)
        self.assertEqual(self.paper(), "")

    @promises("1.9d.4.4", "8.mini-queue.1")
    def test_one_deadline(self) -> None:
        """A caller that waits for another's task and then for a stuck job waits for fifteen seconds in all."""
        self.printer.load_paper(roll_dots=600)
        self.assertRefused(self.print(lines(500)), Res.DEVICE_ERROR, 2)
        second = self.ask(document(lines(1)))
        self.run_for(0.3)
        third = self.ask(document(lines(1)))
        self.run_for(MINI_QUEUE - 0.1)
        self.assertEqual((len(second.answers()), third.answers()), (1, []))
        self.assertRefused(self.answer(third, 0.2), Res.DEVICE_BUSY, 1)
        self.assertEqual(len(self.jobs()), 1)

    def test_check_takes_its_turn(self) -> None:
        """A check opens no second connection beside a job that waits for its proof."""
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        dev_id = self.shop.core.devices.by_name("prn").row.dev_id
        connection = self.connect()
        connection.ask("POST", f"{DEVICES}/{dev_id}/check")
        self.run_for(DELIVERY + 0.1)
        [answer] = connection.answers()
        self.assertEqual((answer.status, answer.json["res"]), (200, 430))
        self.assertIn("зайнятий", answer.json["errortxt"])

    def test_check(self) -> None:
        """A check reports the printer's status, and prints nothing."""
        dev_id = self.shop.core.devices.by_name("prn").row.dev_id

        def check() -> Any:
            connection = self.connect()
            connection.ask("POST", f"{DEVICES}/{dev_id}/check")
            self.run_for(DELIVERY + 0.5)
            [answer] = connection.answers()
            return answer.json

        self.assertEqual(check(), {"res": 0, "errortxt": ""})
        self.printer.open_cover()
        self.assertEqual(check(), {"res": 430, "errortxt": "Помилка пристрою: відкрито кришку"})
        self.printer.close_cover()
        self.rule("unreachable", "probe")
        self.assertEqual(check()["res"], 100)
        self.rule("silent", "probe")
        self.assertEqual(check()["res"], 100)
        self.assertEqual(self.paper(), "")
        self.assertNothingWaits()

    def test_check_of_a_mute_kind(self) -> None:
        """A printer of a kind that need not answer is not at fault for its silence."""
        self.wire(InProcessEndpoint(Played(), self.shop.clock), "generic-80")
        checking = Deferred.fromCoroutine(self.built().check())
        self.run_for(3)
        self.successResultOf(checking)


class ClosedTests(PrintCase):
    """A printer that is changed or removed, or a service that stops, during a job."""

    def test_changed(self) -> None:
        """A change gives up the job that waits for its proof: unknown, no timer, no line; the next job is printed."""
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        old = self.printer
        self.change(job_ttl_s=30)
        self.assertNothingWaits()
        self.assertFalse(old.connected)
        self.assertEqual(self.jobs()[0]["state"], "unknown")
        self.assertEqual(self.print(lines(1))["info"]["state"], "printed")

    def test_reason(self) -> None:
        """The journal names the change as the reason, when the printer itself reported no problem."""
        asked, _ = self.begun(lines(1))
        self.answer(asked)
        self.install(LineWay(PROFILES["epson"], Unplugged(), self.shop.clock, 60))
        self.assertEqual(self.job(), ("unknown", "пристрій переналаштовано або сервіс зупинено"))

    def test_switched_off(self) -> None:
        """The rest of a training printer's job is not printed after a change."""
        self.change(profile="zjiang-80")
        self.rule("accept", delay_ms=20_000)
        self.assertEqual(self.print(lines(1))["info"]["state"], "accepted")
        old = self.printer
        self.change(job_ttl_s=30)
        self.run_for(30)
        self.assertEqual((old.mechanism.paper.text(), self.paper(), self.printer.entries()), ("", "", []))

    def test_removed(self) -> None:
        """A removed printer leaves no timer and no connection; the outcome of its job stays in the journal."""
        self.printer.load_paper(roll_dots=600)
        self.print(lines(500))
        old = self.printer
        dev_id = self.shop.core.devices.by_name("prn").row.dev_id
        self.assertEqual(self.request("DELETE", f"{DEVICES}/{dev_id}").status, 204)
        self.assertNothingWaits()
        self.assertFalse(old.connected)
        job = self.jobs()[0]
        self.assertEqual((job["state"], job["device"]), ("unknown", ""))

    def test_check_on_its_way(self) -> None:
        """A service that stops during a status query leaves nothing open."""
        end = Played()
        self.wire(InProcessEndpoint(end, self.shop.clock))
        checking = Deferred.fromCoroutine(self.built().check())
        self.run_for(0.1)
        self.built().close()
        self.failureResultOf(checking, Refused)
        self.assertNothingWaits()
        self.assertFalse(end.ends[0].open)

    def test_job_after_the_end(self) -> None:
        """A job that reaches the printer after the service has closed is given up before it begins."""
        end = Played()
        self.wire(InProcessEndpoint(end, self.shop.clock))
        service = self.built()
        service.close()
        result = self.successResultOf(Deferred.fromCoroutine(service.print([Line("а")])))
        self.assertEqual((result.fate, result.refused().res), ("not_printed", Res.DEVICE_ERROR))
        self.assertIs(result.refused().action, Action.REPEAT)
        self.assertEqual(self.job(), ("not_printed", "пристрій переналаштовано або сервіс зупинено"))
        self.assertNothingWaits()

    def test_patch(self) -> None:
        """Changed settings are used for the next job."""
        self.change(profile="zjiang-58")
        self.print({"doccmd": [{"cmd": "pair", "left": "а", "right": "б"}]})
        self.assertEqual(self.paper(), f"а{'б':>31}\n")


@implementer(IPrintQueue)
class Queue:
    """A print queue with given answers, after a delay."""

    def __init__(self, ends: Verdict | Exception | None, state: QueueState | Exception) -> None:
        self.ends, self.condition = ends, state
        self.jobs: list[bytes] = []
        self.patience = 0.0

    def deliver(self, data: bytes, title: str, patience: float) -> Deferred[Verdict]:
        """End with the given result; `None` never ends."""
        self.jobs.append(data)
        self.patience = patience
        if self.ends is None:
            return Deferred(lambda waiting: waiting.callback(Verdict(Outcome.UNKNOWN, "given up")))
        return fail(self.ends) if isinstance(self.ends, Exception) else succeed(self.ends)

    def state(self, patience: float) -> Deferred[QueueState]:
        """The given state."""
        return fail(self.condition) if isinstance(self.condition, Exception) else succeed(self.condition)


FINE = QueueState(Condition.OK)


class WayTests(SynchronousTestCase):
    """Both kinds of connections have the promised interface."""

    def test_interface(self) -> None:
        """Lines and queues are connections to a printer."""
        clock = Clock()
        endpoint = InProcessEndpoint(PrinterPort(simulated_printer("epson")), clock)
        for way in (
            LineWay(PROFILES["epson"], endpoint, clock, 60),
            QueueWay(PROFILES["epson"], Queue(None, FINE)),
        ):
            self.assertTrue(verifyObject(IPrinterWay, way))


class QueueTests(PrintCase):
    """A printer behind a queue of the operating system."""

    def queue(self, ends: Verdict | Exception | None, state: QueueState | Exception = FINE) -> Queue:
        """Set a queue for `prn`."""
        queue = Queue(ends, state)
        verifyObject(IPrintQueue, queue)
        self.install(QueueWay(PROFILES["generic-80"], queue))
        return queue

    def test_printed(self) -> None:
        """The queue's result for a job that it accepted is the caller's answer."""
        for outcome in (Outcome.PRINTED, Outcome.ACCEPTED):
            queue = self.queue(Verdict(outcome, "waits for the shift: paper-ok", 7))
            self.assertEqual(self.print(lines(1))["info"]["state"], outcome.value)
            self.assertEqual(self.job(), (outcome.value, ""))
            self.assertIn("рядок 1".encode("cp866"), queue.jobs[0])

    def test_unknown_queue(self) -> None:
        """A name that the system does not know: 1016, res_action 3, in both languages (specification 7.4)."""
        self.queue(UnknownQueue("Папір, зміна, shift"))
        for headers, words in (((), "немає такої черги друку"), (ENGLISH, "no such print queue")):
            self.assertRefused(self.print(lines(1), headers=headers), Res.INTERNAL, 3, words)
        self.assertEqual(self.jobs()[0]["state"], "refused")

    def test_no_service(self) -> None:
        """A print service that cannot be reached: 100."""
        self.queue(NotReached("nothing listens there"))
        self.assertRefused(self.print(lines(1)), Res.PRINTER_CONNECT, 1)

    def test_withdrawn(self) -> None:
        """A cancelled job: not printed, with the queue's state of its printer."""
        taken_back = Verdict(Outcome.NOT_PRINTED, "withdrawn", 7)
        self.queue(taken_back, QueueState(Condition.PAPER_OUT, "no shift paper"))
        self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 3, "закінчився папір")
        self.queue(taken_back, LineLost("gone"))
        self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 3, "черга друку")

    def test_unknown(self) -> None:
        """A job that the queue lost: unknown, res_action 2; the queue's own text is only in the log."""
        self.queue(Verdict(Outcome.UNKNOWN, "the shift of paper"))
        answer = self.print(lines(1), headers=ENGLISH)
        self.assertRefused(answer, Res.DEVICE_ERROR, 2, "it is unknown whether it was printed")
        self.assertNotIn("shift", answer["errortxt"])

    def test_never_ends(self) -> None:
        """A queue that has the job but no outcome: unknown, because it may still print it."""
        self.queue(None)
        self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 2)
        self.assertEqual(self.jobs()[0]["state"], "unknown")
        self.built().close()
        self.assertNothingWaits()

    def test_time_to_take_it_back(self) -> None:
        """A queue is watched for less time than a caller waits, so that there is time to cancel the job."""
        queue = self.queue(Verdict(Outcome.PRINTED))
        self.print(lines(1))
        self.assertLess(queue.patience, DELIVERY - 1)

    def test_fault(self) -> None:
        """A queue that fails in an unexpected way: unknown, and the printer is free for the next job."""
        self.queue(RuntimeError("a fault"))
        for _ in range(2):
            self.assertRefused(self.print(lines(1)), Res.DEVICE_ERROR, 2)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 2)

    def test_check(self) -> None:
        """A check queries the queue: 430 with a text, 1016 without such a queue, 100 without an answer."""
        cases: list[tuple[QueueState | Exception, int]] = [
            (FINE, 0),
            (QueueState(Condition.PAPER_OUT), 430),
            (QueueState(Condition.STOPPED, "paused"), 430),
            (UnknownQueue("x"), 1016),
            (LineLost("gone"), 100),
        ]
        dev_id = self.shop.core.devices.by_name("prn").row.dev_id
        for state, res in cases:
            self.queue(None, state)
            self.assertEqual(self.request("POST", f"{DEVICES}/{dev_id}/check").json["res"], res)


STEMS = ("змін", "закрит", "shift", "папір", "папер", "принтер", "paper")
"""Stems that tills search for in any text (docs/reference/http-interface.md#error-texts)."""


class WordsTests(SynchronousTestCase):
    """The texts of every reason, and the rule about word stems in `dmtwisted.results`."""

    def texts(self, reason: str) -> list[str]:
        """All texts of a reason, in both languages."""
        results: Sequence[PrintResult] = [PrintResult(1, "not_printed", reason), PrintResult(1, "unknown", reason)]
        return [
            text.lower()
            for language in ("uk", "en")
            for text in (
                reason_text(reason).for_language(language),
                *(each.refused().errortxt(language) for each in results),
            )
        ]

    def test_stems(self) -> None:
        """Only the text for the end of the paper has a word that tills search for; none sounds like a closed day."""
        for reason in {*_WORDS, *CAUSES, "something that a queue said about the shift and paper"}:
            for text in self.texts(reason):
                found = {stem for stem in STEMS if stem in text}
                self.assertLessEqual(found, {"папір", "paper"} if reason == "paper" else set(), text)
        for warning in PrintResult(1, "printed", "", 3, ("too-wide", "no-drawer", "hat"), False).warnings("en"):
            self.assertEqual([stem for stem in STEMS if stem in warning.wtxt], [])

    def test_causes(self) -> None:
        """Each reason of a delivery has a text in both languages."""
        self.assertEqual(set(CAUSES) - set(_WORDS), set())
        for words in _WORDS.values():
            self.assertRegex(words.uk, "[а-яіїєґ]{3}")
            self.assertRegex(words.en, "^[a-z ]{3,}$")

    def test_actions(self) -> None:
        """res_action: 2 for an unknown outcome, 1 where a repeat can help, 3 where a person has to do something."""
        cases: list[tuple[Fate, str, int, int]] = [
            ("unknown", "lost", 430, 2),
            ("unknown", "cancelled", 430, 2),
            ("unknown", "unreachable", 430, 2),
            ("not_printed", "unreachable", 100, 1),
            ("not_printed", "silent", 100, 1),
            ("not_printed", "lost", 100, 1),
            ("not_printed", "busy", 430, 1),
            ("not_printed", "paper", 430, 3),
            ("not_printed", "noise", 430, 3),
            ("not_printed", "no_queue", 1016, 3),
        ]
        for fate, reason, code, action in cases:
            refused = PrintResult(1, fate, reason).refused()
            self.assertEqual((refused.res.code, int(refused.action)), (code, action), (fate, reason))
