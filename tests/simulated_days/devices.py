"""The devices of a shop day, which outlive the service: two tax services, two terminals, a printer, a receiver.

Each has a wire of its own and is built anew for each life: the driver is the real one, the line is in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol

from dmtwisted.clock import kyiv
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, Surroundings
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.ways import LineWay
from dmtwisted.registers.channels.interface import Absent, Accepted, ChannelOutcome, Unknown
from dmtwisted.registers.channels.training import TrainingChannel
from dmtwisted.registers.engine import SoftwareRegister
from dmtwisted.registers.totals import Session
from dmtwisted.results import Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.caisse_ap.driver import CaisseApDriver
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.ecr17.driver import Ecr17Driver
from dmtwisted.terminals.privatbank.driver import PrivatbankDriver
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.ssi.driver import SsiDriver
from dmtwisted.terminals.zvt.driver import ZvtDriver
from protocols.simulators.caisse_ap import CaisseApDevice
from protocols.simulators.ecr17 import Ecr17Device
from protocols.simulators.printer import simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.ssi_json import SsiSimulator
from protocols.simulators.tax_service import TaxService
from protocols.simulators.terminal import Terminal as Bank
from protocols.simulators.zvt import ZvtTerminal

if TYPE_CHECKING:
    from dmtwisted.documents.documents import Document
    from tests.simulated_days.world import Life, World

FIRST = 4_000_000_000
"""Fiscal numbers of the registers count from here."""

CROSSING = 0.12
"""Seconds that a message to the tax service, or its answer, is on its way at most."""


class FarEnd:
    """A device as the world has it: what it is in the store, and how a life gets to it."""

    kind: str
    driver: str
    settings: dict[str, Any]

    def build(self, life: Life, row: DeviceRow, settings: Any, around: Surroundings) -> Any:
        """The driver of one life, on its line to this device."""
        raise NotImplementedError

    @property
    def scenario(self) -> Any:
        """What goes wrong next."""
        raise NotImplementedError


class Office(FarEnd):
    """A software register with its tax service.

    :param remote: whether the link counts as one that breaks, and is watched (`IFiscalChannel.remote`).
    """

    kind, driver = REGISTER, "training"

    def __init__(self, world: World, n: int, terminal: str, remote: bool, offline: bool) -> None:
        self.fisid, self.remote = str(FIRST + n), remote
        self.service = TaxService(self.fisid, world.clock.seconds)
        batch = {"terminal": terminal, "printer": "prn"}
        self.settings = {"batch": batch, "offline_allowed": offline, "rounding_step": 0, "offline_probe_s": 20}

    def build(self, life: Life, row: DeviceRow, settings: Any, around: Surroundings) -> Any:
        channel = Channel(life, self.service, around, settings.wait_s, self.remote)
        return SoftwareRegister(
            *(row.n, row.name, self.fisid, settings, around.store, channel, around.clock),
            posted=around.posted,
            ways=around.ways,
        )

    @property
    def scenario(self) -> Any:
        return self.service.scenario


class Channel(TrainingChannel):
    """The way of one life to a tax service: messages take their time, and a dead service sends and hears nothing."""

    def __init__(self, life: Life, service: TaxService, around: Surroundings, patience: float, remote: bool) -> None:
        super().__init__(service, around.clock, patience)
        self._life, self.remote = life, remote

    async def _cross(self) -> None:
        await self._life.never_after_death(self._life.world.dice.random() * CROSSING)

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """As any, with the two ways of the message."""
        await self._cross()
        outcome = await super().submit(document, sent)
        await self._cross()
        return outcome

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """As any, with the two ways of the message."""
        await self._cross()
        outcome = await super().upload(package, session)
        await self._cross()
        return outcome

    async def probe(self, number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """As any, with the two ways of the message."""
        await self._cross()
        found = await super().probe(number, sent)
        await self._cross()
        return found

    async def answers(self) -> bool:
        """As any, with the way of the message."""
        await self._cross()
        return await super().answers()


def _privatbank(settings: Any, endpoint: Any, around: Surroundings) -> Any:
    unreached = Unreached(settings, Res.TERMINAL_ADDRESS_UNREACHABLE, Res.COM_PORT_UNAVAILABLE)
    return PrivatbankDriver(settings, endpoint, around.clock, around.reactor, unreached)


def _zvt(settings: Any, endpoint: Any, around: Surroundings) -> Any:
    return ZvtDriver(settings, endpoint, around.clock, around.reactor, Unreached(settings))


def _ssi(settings: Any, endpoint: Any, around: Surroundings) -> Any:
    return SsiDriver(settings, endpoint, around.reactor, Unreached(settings))


def _ecr17(settings: Any, endpoint: Any, around: Surroundings) -> Any:
    return Ecr17Driver(settings, endpoint, around.clock, around.reactor, Unreached(settings))


def _caisse_ap(settings: Any, endpoint: Any, around: Surroundings) -> Any:
    return CaisseApDriver(settings, endpoint, around.reactor, Unreached(settings))


@dataclass(frozen=True)
class Wire:
    """A terminal's wire: its driver, its simulator, and what the settings say besides the address."""

    driver: Callable[[Any, Any, Surroundings], Any]
    device: Callable[[Bank, Any], Any]
    settings: dict[str, Any] = field(default_factory=dict)
    tells: bool = True
    """Whether it can be asked what became of an operation."""


WIRES: dict[str, Wire] = {
    "privatbank-json": Wire(_privatbank, PrivatbankSimulator, {"opening": "short", "tells_receipts": True}),
    "zvt": Wire(_zvt, lambda terminal, clock: ZvtTerminal(terminal, clock).factory(), {"tells_last": True}),
    "ssi-json": Wire(_ssi, SsiSimulator),
    "ecr17": Wire(_ecr17, Ecr17Device, {"lrc": "std", "tells_last": True, "port": 9}),
    "caisse-ap": Wire(_caisse_ap, CaisseApDevice, tells=False),
}


class Terminal(FarEnd):
    """A bank terminal."""

    kind = TERMINAL

    def __init__(self, world: World, wire: str) -> None:
        self.driver, self.wire = wire, WIRES[wire]
        self.terminal = Bank(world.clock, duration=2.0, hold=30.0)
        self._device = self.wire.device(self.terminal, world.clock)
        self.settings = {"host": "10.0.0.9", "wait_s": 30.0, **self.wire.settings}

    def build(self, life: Life, row: DeviceRow, settings: Any, around: Surroundings) -> Any:
        driver = self.wire.driver(settings, life.endpoint(self._device), around)
        return TerminalService(row.n, row.name, around.store, driver, around.clock)

    @property
    def scenario(self) -> Any:
        return self.terminal.scenario


class Roll(FarEnd):
    """A receipt printer, and the marks of the sums on its paper."""

    kind, driver = PRINTER, "training"

    def __init__(self, world: World) -> None:
        self.settings = {}
        self.printer = simulated_printer(
            "epson", clock=world.clock, now=lambda: kyiv(int(world.clock.seconds() * 1000))
        )
        self._port = PrinterPort(self.printer)

    def build(self, life: Life, row: DeviceRow, settings: Any, around: Surroundings) -> Any:
        way = LineWay(self.printer.profile, life.endpoint(self._port), around.reactor, 20.0)
        return PrinterService(row.n, row.name, around.store, way, around.clock)

    @property
    def scenario(self) -> Any:
        return self.printer.scenario

    def torn_off(self) -> list[str]:
        """The lines that were printed since the last time."""
        paper = self.printer.mechanism.paper
        lines = paper.lines()
        paper.tear_off()
        return lines


class Receiver(Factory):
    """A subscriber of events over HTTP."""

    noisy = False

    def __init__(self, world: World) -> None:
        self._world = world
        self.got: list[dict[str, Any]] = []
        self.fault = ""
        """``away``, ``silent``, ``late`` (it takes the event and answers nothing) or ``503``."""

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """A line, unless nobody listens."""
        return None if self.fault == "away" else _Receiving(self)

    def came(self, body: bytes) -> bytes:
        """The answer to an event."""
        fault = self.fault
        if fault in ("", "late"):
            event = json.loads(body)
            self.got.append(event)
            self._world.happened("receiver", f"{event['id'].partition('-')[0]} {event['type']}")
        if fault in ("silent", "late"):
            return b""
        return b"HTTP/1.1 503 No\r\n\r\n" if fault == "503" else b"HTTP/1.1 204 No Content\r\n\r\n"


class _Receiving(Protocol):
    """One request."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver, self._read = receiver, b""

    def dataReceived(self, data: bytes) -> None:
        """Answer a request that is whole."""
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        if not end or len(body) < int(length.partition(b":")[2]):
            return
        self._read = b""
        answer = self._receiver.came(body)
        assert self.transport is not None
        if answer:
            self.transport.write(answer)
            self.transport.loseConnection()


def far_ends(world: World) -> dict[str, FarEnd]:
    """The devices of a shop, drawn from its seed: the wires of its terminals, and what its registers may do."""
    dice: Random = world.dice
    # One shop in four has a terminal that cannot be asked: what it left unknown is a person's.
    one = dice.choice(("privatbank-json", "zvt", "ssi-json", "ecr17"))
    other = dice.choice(("privatbank-json", "zvt", "ssi-json", "caisse-ap"))
    return {
        "r1": Office(world, 1, "pos1", remote=False, offline=True),
        "r2": Office(world, 2, "pos2", remote=True, offline=dice.random() < 0.6),
        "pos1": Terminal(world, one),
        "pos2": Terminal(world, other),
        "prn": Roll(world),
    }
