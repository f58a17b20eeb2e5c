"""Our own simulators, which tests and demos rely on, and the service's HTTP interface."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal import commands
from protocols.fiscal.document_xml import encode
from protocols.fiscal.packages import join
from protocols.simulators.caisse_ap import CaisseApDevice
from protocols.simulators.concert_v2 import ConcertDevice
from protocols.simulators.ecr17 import Ecr17Device
from protocols.simulators.fiscal_calls import Call
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_server import FiscalServer
from protocols.simulators.in_process import InProcessAddress
from protocols.simulators.ipp_printer import IppPrinter
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.printer import simulated_printer
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.ssi_json import SsiSimulator
from protocols.simulators.terminal import Terminal
from protocols.simulators.zvt import ZvtTerminal
from protocols.terminals.zvt.messages import Registration as ZvtRegistration
from tests.fiscal_papers import REGISTER, TIN
from tests.fiscal_papers import Shop as Papers
from tests.fuzz import terminals
from tests.fuzz.printers import ESCPOS, STAR
from tests.fuzz.rooms import PAYMENT, PRINTED, SALE, TASK_WORDS
from tests.fuzz.target import Broken, Target, cut
from tests.shop import Shop
from tests.vectors import ipp as ipp_vectors
from tests.vectors import nexo as nexo_vectors
from tests.web_case import request_bytes
from web.site import Door

MORNING = 1_780_000_000
FISCAL_MORNING = 1_789_970_400


def _clock(at: float = MORNING) -> Clock:
    clock = Clock()
    clock.advance(at)
    return clock


def _device(make: Callable[[Terminal, Clock], Any], first: bytes = b"") -> Callable[[bytes], None]:
    """A target: a simulated terminal gets any bytes; then every sum in its ledger belongs to a payment."""

    def check(data: bytes) -> None:
        clock = _clock()
        bank = Terminal(clock, duration=0)
        try:
            line: Any = make(bank, clock)
            line.makeConnection(StringTransport())
            for piece in (first, *cut(data)):
                line.dataReceived(piece)
                clock.advance(0.3)
            clock.advance(60)
            if any(entry.sum < 0 for entry in bank.entries()):
                raise Broken(f"{bank.entries()}")
        finally:
            bank.close()

    return check


def simulated_paper(data: bytes) -> None:
    """A printer that gets any bytes continues to print, and its paper can be read."""
    for name in ("epson", "star"):
        printer = simulated_printer(name)
        for piece in cut(data):
            printer.feed(piece)
        printer.mechanism.paper.text()
        printer.power_cycle()


class TaxServer:
    """The simulated tax service with an open shift; replaced after many requests."""

    requests = 0

    def __init__(self) -> None:
        clock = _clock(FISCAL_MORNING)
        self.server = FiscalServer(clock, (Registration(REGISTER, tin=TIN),))
        self.papers = Papers(clock.seconds)
        self.send("/fs/doc", encode(self.papers.open()))
        self.sale = encode(self.papers.sale())

    def send(self, path: str, body: bytes) -> int:
        """The status of the answer to a body."""
        played = self.server.receive(Call("POST", path, "", {"content-type": "application/octet-stream"}, body))
        if played.reply is None:
            raise Broken("no answer")
        self.requests += 1
        return played.reply.status

    _one: TaxServer | None = None

    @classmethod
    def ready(cls) -> TaxServer:
        """The tax service of this process."""
        if cls._one is None or cls._one.requests > 300:
            cls._one = cls()
        return cls._one


def tax_server(data: bytes) -> None:
    """The tax service answers any body, and accepts nothing twice."""
    server = TaxServer.ready()
    for path in ("/fs/doc", "/fs/pck", "/fs/cmd"):
        status = server.send(path, data)
        if status >= 500:
            raise Broken(f"{path} was answered with {status}")
    numbers = [entry.ref for entry in server.server.entries() if entry.status == "accepted"]
    if len(numbers) != len(set(numbers)):
        raise Broken(f"taken twice: {numbers}")


class _Case(SynchronousTestCase):
    """The test case that the shop needs."""

    def runTest(self) -> None:
        """Test nothing: only its methods are used."""


class OpenDoor:
    """A whole service in memory, used over HTTP; replaced after many requests."""

    requests = 0

    def __init__(self) -> None:
        self.case = _Case()
        self.shop = Shop(self.case)
        self.door = Door(self.shop.core)
        self.send(request_bytes("POST", "/dm/execute", OPENING))

    def send(self, data: bytes) -> bytes:
        """The answer to bytes on their own connection."""
        self.requests += 1
        peer = IPv4Address("TCP", "127.0.0.1", 50000)
        protocol: Any = self.door.buildProtocol(peer)
        protocol.callLater = self.shop.clock.callLater
        transport = StringTransport(peerAddress=peer, lenient=True)
        protocol.makeConnection(transport)
        for piece in cut(data):
            if not transport.disconnecting:
                protocol.dataReceived(piece)
        self.shop.clock.advance(0.1)
        if not transport.disconnecting:
            from twisted.internet.error import ConnectionLost
            from twisted.python.failure import Failure

            protocol.connectionLost(Failure(ConnectionLost()))
        answered: bytes = transport.value()
        return answered

    def close(self) -> None:
        """Stop it, as its test would."""
        self.case.doCleanups()

    _one: OpenDoor | None = None

    @classmethod
    def ready(cls) -> OpenDoor:
        """The service of this process."""
        if cls._one is not None and cls._one.requests > 500:
            cls._one.close()
            cls._one = None
            gc.collect()
        if cls._one is None:
            cls._one = cls()
        return cls._one


NOT_HERE = (
    b"/prro",
    b"/tls",
    b"/certificate",
    b"/backup",
    b"/diagnostics",
    b"/check",
    b"/settings",
    b"/devices",
    b"/keys",
)
"""Paths that start processes or call other machines: `make contract` covers them."""


def door(data: bytes) -> None:
    """Any bytes on a connection are answered or dropped, and never cause an internal error."""
    if any(path in data for path in NOT_HERE):
        return
    said = OpenDoor.ready().send(data)
    if said.startswith(b"HTTP/1.1 5") or b'"res":1016' in said:
        raise Broken(said.decode("latin-1")[:500])


def tasks_done(data: bytes) -> None:
    """Any body of a task is done or refused, and never causes an internal error."""
    said = OpenDoor.ready().send(request_bytes("POST", "/dm/execute", data))
    if not said.startswith(b"HTTP/1.1 200") or b'"res":1016' in said:
        raise Broken(said.decode("latin-1")[:500])


def print_queue(data: bytes) -> None:
    """A print queue answers any message with a message."""
    from contextlib import suppress

    from protocols.errors import Garbled
    from protocols.printers.ipp import Message

    with suppress(Garbled):
        message = Message.decode(data)
        Message.decode(IppPrinter(_clock()).answer(message).encode())


def nexo_device(data: bytes) -> None:
    """A simulated terminal over HTTP answers any message."""
    clock = _clock()
    bank = Terminal(clock, duration=0)
    try:
        line: Any = NexoDevice(bank, clock, nexo_vectors.POI_ID).site().buildProtocol(None)
        line.callLater = clock.callLater
        line.makeConnection(StringTransport())
        for piece in cut(request_bytes("POST", "/nexo", data)):
            line.dataReceived(piece)
        clock.advance(60)
    finally:
        bank.close()


def _built(factory: Any) -> Any:
    return factory.buildProtocol(InProcessAddress())


OPENING = b'{"ver":6,"device":"test","tag":"open","type":1,"fiscal":{"task":0,"cashier":"a"}}'
LOOK_UP = b'{"ver":6,"device":"test","tag":"open","type":0}'
REPORT = b'{"ver":6,"device":"test","tag":"","type":1,"fiscal":{"task":10}}'
STATE = commands.encode(commands.TransactionsRegistrarState(num_fiscal=REGISTER))
SEED = TaxServer()
HTTP_WORDS = (
    b"POST /dm/execute HTTP/1.1\r\n",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"\r\n\r\n",
    b"GET ",
)
HTTP = (
    request_bytes("POST", "/dm/execute", SALE),
    request_bytes("GET", "/dm/api/v3/receipts?page=1&from=20260921"),
    request_bytes("POST", "/login", b'{"login":"a","password":"b"}', [("Content-Type", "application/json")]),
    request_bytes("GET", "/dm/main/?lang=en"),
    request_bytes("GET", "/metrics", headers=[("Accept-Language", "en;q=0.5, uk"), ("Cookie", "DMUIToken=a")]),
    request_bytes("OPTIONS", "/dm/execute", headers=[("Origin", "https://a.example")]),
)

TARGETS = (
    Target(
        "zvt-device",
        _device(
            lambda bank, clock: ZvtTerminal(bank, clock).protocol(),
            ZvtRegistration("000000", 0xBE, 980).encode().encode(),
        ),
        terminals.ZVT_RAW,
        (b"\x80\x00\x00", b"\x06\x01", b"\x06\xb0", b"\x06\x31", b"\x06\x50"),
    ),
    Target(
        "ssi-device",
        _device(lambda bank, clock: _built(SsiSimulator(bank, clock))),
        terminals.SSI,
        terminals.JSON_WORDS,
    ),
    Target(
        "privatbank-device",
        _device(lambda bank, clock: _built(PrivatbankSimulator(bank, clock))),
        terminals.PRIVATBANK,
        (*terminals.JSON_WORDS, b"\0"),
    ),
    Target(
        "ecr17-device",
        _device(lambda bank, clock: _built(Ecr17Device(bank, clock))),
        terminals.ECR17,
        terminals.ECR17_WORDS,
    ),
    Target(
        "caisse-ap-device",
        _device(lambda bank, clock: _built(CaisseApDevice(bank, clock))),
        terminals.CAISSE,
        (b"CZ004", b"CB004", b"CD001"),
    ),
    Target(
        "concert-device",
        _device(lambda bank, clock: _built(ConcertDevice(bank, clock))),
        terminals.CONCERT,
        terminals.CONCERT_WORDS,
    ),
    Target("nexo-device", nexo_device, terminals.NEXO, (b'"SaleToPOIRequest"', b'"MessageHeader"'), 4096),
    Target("simulated-paper", simulated_paper, (*ESCPOS, *STAR), (b"\x1b@", b"\x1d(k", b"\x1dv0", b"\x10\x04")),
    Target("print-queue", print_queue, [each.data for each in ipp_vectors.VECTORS], (b"printer-uri", b"job-name")),
    Target("tax-server", tax_server, (SEED.sale, STATE, join((SEED.sale,))), (b"<CHECK", b"</", b'"Command"'), 4096),
    Target("door", door, HTTP, HTTP_WORDS),
    Target("tasks-done", tasks_done, (OPENING, SALE, LOOK_UP, REPORT, PRINTED, PAYMENT), TASK_WORDS),
)
