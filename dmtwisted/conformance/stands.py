"""The stands of the drivers that come with the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from twisted.internet.task import Clock

from dmtwisted.conformance import nexo_stand, prro_stand, wired_stand
from dmtwisted.conformance.desk import OPERATION, WAIT, FarEnd, Stand
from dmtwisted.conformance.line import World
from dmtwisted.devices.driver import Driver, Surroundings
from dmtwisted.printing.drivers.escpos import DRIVER as ESCPOS
from dmtwisted.printing.drivers.star import DRIVER as STAR
from dmtwisted.printing.drivers.training import DRIVER as TRAINING_PRINTER
from dmtwisted.registers.drivers.datecs import DRIVER as DATECS
from dmtwisted.registers.drivers.datecs_classic import DRIVER as DATECS_CLASSIC
from dmtwisted.registers.drivers.ics import DRIVER as ICS
from dmtwisted.registers.drivers.maria import DRIVER as MARIA
from dmtwisted.registers.drivers.mg import DRIVER as MG
from dmtwisted.registers.drivers.prro import DRIVER as PRRO
from dmtwisted.registers.drivers.training import DRIVER as TRAINING_REGISTER
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.bpos1.driver import build as build_bpos1
from dmtwisted.terminals.bpos1.settings import DRIVER as BPOS1
from dmtwisted.terminals.caisse_ap.settings import DRIVER as CAISSE_AP
from dmtwisted.terminals.concert_v2.settings import DRIVER as CONCERT_V2
from dmtwisted.terminals.ecr17.settings import DRIVER as ECR17
from dmtwisted.terminals.nexo.settings import DRIVER as NEXO
from dmtwisted.terminals.privatbank.settings import DRIVER as PRIVATBANK
from dmtwisted.terminals.ssi.settings import DRIVER as SSI
from dmtwisted.terminals.training.settings import DRIVER as TRAINING_TERMINAL
from dmtwisted.terminals.zvt.settings import DRIVER as ZVT
from protocols.serial import TcpEndpoint
from protocols.simulators.bpos1 import Bpos1Device
from protocols.simulators.caisse_ap import CaisseApDevice
from protocols.simulators.concert_v2 import ConcertDevice
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.ecr17 import Ecr17Device
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.maria_register import MariaDevice
from protocols.simulators.printer import simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.ssi_json import SsiSimulator
from protocols.simulators.terminal import Terminal
from protocols.simulators.zvt import TerminalSettings, ZvtTerminal

Wire = Callable[[Terminal, Clock], Any]
"""Makes what answers calls, in front of a simulated terminal."""

Wrong = tuple[tuple[Mapping[str, Any], str], ...]
"""Settings that have to be refused, each with the path that is named."""

HERE = {"host": "192.0.2.1"}
COM: dict[str, Any] = {"interface": "serial", "serial_port": "COM3"}

NO_HOST: Wrong = (({"host": ""}, "settings.host"),)
NO_TIME: Wrong = (({"wait_s": 1}, "settings.wait_s"),)
NO_STEP: Wrong = (({"rounding_step": 5}, "settings.rounding_step"),)
NO_PRINTER: Wrong = (({"job_ttl_s": 1}, "settings.job_ttl_s"), ({"profile": "no such family"}, "settings.profile"))


def with_terminal(wire: Wire) -> Callable[[World], FarEnd]:
    """A simulated terminal, its bank and its customers behind ``wire``."""

    def far(world: World) -> FarEnd:
        terminal = Terminal(world, duration=OPERATION, hold=30.0)
        return FarEnd(terminal, wire(terminal, world))

    return far


def terminal(driver: Driver, wire: Wire, shape: str = "", wrong: Wrong = (), **settings: Any) -> Stand:
    """A terminal whose line goes over the reactor that it is given."""
    usual = {} if "serial_port" in settings else HERE
    return Stand(
        driver, {**usual, "wait_s": WAIT, **settings}, with_terminal(wire), wrong=(*NO_TIME, *wrong), shape=shape
    )


def _privatbank(world: World) -> FarEnd:
    device = Terminal(world, duration=OPERATION, hold=30.0)
    wire = PrivatbankSimulator(device, world)
    return FarEnd(device, wire, lambda: setattr(wire, "adjust", 5.0))


def _zvt(terminal: Terminal, clock: Clock) -> Any:
    return ZvtTerminal(terminal, clock).factory()


def _zvt_serial(terminal: Terminal, clock: Clock) -> Any:
    return ZvtTerminal(terminal, clock, TerminalSettings(serial=True)).factory()


def _bpos1(at_once: bool = False) -> Callable[[World], FarEnd]:
    def far(world: World) -> FarEnd:
        device = Terminal(world, duration=OPERATION, hold=30.0)
        library = Bpos1Device(device, world, at_once=at_once)
        return FarEnd(device, library, lambda: setattr(library, "stops", True))

    return far


def _build_bpos1(row: DeviceRow, settings: Any, around: Surroundings, _: FarEnd) -> Any:
    """The service over a line in memory, at whose other end is the library's process."""
    return build_bpos1(row, settings, around, TcpEndpoint(around.reactor, "192.0.2.1", 1))


BPOS1_USUAL: dict[str, Any] = {**HERE, "port": 2000, "wait_s": WAIT}

ZVT_USUAL: dict[str, Any] = {"charset": "cp1125", "tells_last": True, "abort_payments": True}


def with_printer(profile: str) -> Callable[[World], FarEnd]:
    """A simulated printer of a family."""

    def far(world: World) -> FarEnd:
        printer = simulated_printer(profile, clock=world)
        return FarEnd(printer, PrinterPort(printer))

    return far


_ALL = (
    replace(terminal(PRIVATBANK, PrivatbankSimulator, wrong=NO_HOST, tells_receipts=True), far=_privatbank),
    terminal(SSI, SsiSimulator, "one step", NO_HOST, two_steps=False),
    terminal(SSI, SsiSimulator, "two steps", NO_HOST),
    terminal(ZVT, _zvt, "TCP", (*NO_HOST, ({"password": "1"}, "settings.password")), **ZVT_USUAL),
    terminal(ZVT, _zvt_serial, "serial", **COM, **ZVT_USUAL),
    terminal(ECR17, Ecr17Device, wrong=NO_HOST, port=10_000, lrc="std", tells_last=True),
    Stand(BPOS1, BPOS1_USUAL, _bpos1(), _build_bpos1, (*NO_HOST, *NO_TIME), shape="cancels later"),
    Stand(BPOS1, BPOS1_USUAL, _bpos1(at_once=True), _build_bpos1, shape="cancels at once"),
    terminal(CAISSE_AP, CaisseApDevice, wrong=NO_HOST),
    terminal(CONCERT_V2, ConcertDevice, serial_port="COM3"),
    # Over TLS in memory there would be nothing to see, so the agent is ours and its lines are in clear.
    Stand(NEXO, {**HERE, **nexo_stand.SETTINGS}, nexo_stand.far, nexo_stand.build, NO_HOST),
    Stand(TRAINING_TERMINAL, {"wait_s": WAIT}, wrong=NO_TIME),
    Stand(ESCPOS, {**HERE, "profile": "epson"}, with_printer("epson"), wrong=(*NO_HOST, *NO_PRINTER), shape="TCP"),
    Stand(ESCPOS, {**COM, "profile": "epson"}, with_printer("epson"), shape="serial"),
    Stand(STAR, HERE, with_printer("star"), wrong=(*NO_HOST, *NO_PRINTER)),
    Stand(TRAINING_PRINTER, {}, wrong=NO_PRINTER),
    # It speaks HTTPS with a trust of its own, so the exchange itself is led to the simulated server.
    Stand(
        PRRO,
        prro_stand.SETTINGS,
        prro_stand.far,
        prro_stand.build,
        (({"server_url": "ftp://x"}, "settings"), *NO_STEP),
        prro_stand.load_key,
        line=False,
    ),
    wired_stand.mg(MG),
    wired_stand.wired(DATECS, UkrainianDevice, port=4001),
    wired_stand.wired(DATECS_CLASSIC, ClassicDevice, port=4001),
    wired_stand.wired(ICS, IcsDevice, closes=False, port=4001),
    wired_stand.wired(MARIA, MariaDevice, port=4001),
    Stand(TRAINING_REGISTER, {}, wrong=(({"wait_s": 0}, "settings.wait_s"), *NO_STEP)),
)


def _driver(stand: Stand) -> tuple[str, str]:
    return stand.driver.kind, stand.driver.name


STANDS = {_driver(one): tuple(stand for stand in _ALL if _driver(stand) == _driver(one)) for one in _ALL}
"""The stands of each driver, by its kind and name; one for each of its shapes."""
