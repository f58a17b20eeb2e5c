"""The stands of the drivers that come with the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from twisted.internet.task import Clock

from dmtwisted.conformance.desk import FarEnd, Stand
from dmtwisted.conformance.line import World
from dmtwisted.devices.drivers import PRINTER, REGISTER, TERMINAL, Driver
from protocols.simulators.terminal import Terminal

WAIT = 20.0
"""Seconds that an operation may take on a stand."""

CARD = "4111111111111111"
"""The whole number that one of the simulated customers' cards tells, though it should not."""

OPERATION = 1.0
"""Seconds that a simulated payment takes, the customer included."""

POI = "V400m-346403161"
"""The simulated nexo terminal."""

NO_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
"""Stands where a certificate must: in memory nobody looks at it."""

HERE: dict[str, Any] = {"host": "192.0.2.1", "wait_s": WAIT}

Wire = Callable[[Terminal, Clock], Any]
"""Makes what answers calls, in front of a simulated terminal."""

Wrong = tuple[tuple[Mapping[str, Any], str], ...]
"""Settings that have to be refused, each with the path that is named."""

NO_HOST: Wrong = (({"host": ""}, "settings.host"),)


def with_terminal(wire: Wire) -> Callable[[World], FarEnd]:
    """A far end with a simulated terminal, its bank and its customers behind ``wire``."""

    def far(world: World) -> FarEnd:
        terminal = Terminal(world, duration=OPERATION, hold=30.0)
        return FarEnd(terminal, wire(terminal, world))

    return far


def terminal(driver: Driver, wire: Wire, shape: str = "", wrong: Wrong = (), **settings: Any) -> Stand:
    """A terminal whose line goes over the reactor that it is given."""
    usual = {} if "serial_port" in settings and "interface" not in settings else {"host": "192.0.2.1"}
    return Stand(
        driver,
        {**usual, "wait_s": WAIT, **settings},
        with_terminal(wire),
        wrong=(({"wait_s": 1}, "settings.wait_s"), *wrong),
        shape=shape,
    )


def _privatbank() -> tuple[Stand, ...]:
    from dmtwisted.terminals.privatbank.settings import DRIVER
    from protocols.simulators.privatbank_json import PrivatbankSimulator

    def far(world: World) -> FarEnd:
        device = Terminal(world, duration=OPERATION, hold=30.0)
        wire = PrivatbankSimulator(device, world)
        return FarEnd(device, wire, lambda: setattr(wire, "adjust", 5.0))

    return (replace(terminal(DRIVER, PrivatbankSimulator, wrong=NO_HOST, tells_receipts=True), far=far),)


def _ssi() -> tuple[Stand, ...]:
    from dmtwisted.terminals.ssi.settings import DRIVER
    from protocols.simulators.ssi_json import SsiSimulator

    return (
        terminal(DRIVER, SsiSimulator, "one step", NO_HOST, two_steps=False),
        terminal(DRIVER, SsiSimulator, "two steps", NO_HOST),
    )


def _zvt() -> tuple[Stand, ...]:
    from dmtwisted.terminals.zvt.settings import DRIVER
    from protocols.simulators.zvt import TerminalSettings, ZvtTerminal

    def serial(terminal: Terminal, clock: Clock) -> Any:
        return ZvtTerminal(terminal, clock, TerminalSettings(serial=True)).factory()

    usual: dict[str, Any] = {"charset": "cp1125", "tells_last": True, "abort_payments": True}
    wrong = (*NO_HOST, ({"password": "1"}, "settings.password"))
    return (
        terminal(DRIVER, lambda terminal, clock: ZvtTerminal(terminal, clock).factory(), "TCP", wrong, **usual),
        terminal(DRIVER, serial, "serial", interface="serial", serial_port="COM3", **usual),
    )


def _ecr17() -> tuple[Stand, ...]:
    from dmtwisted.terminals.ecr17.settings import DRIVER
    from protocols.simulators.ecr17 import Ecr17Device

    return (terminal(DRIVER, Ecr17Device, wrong=NO_HOST, port=10_000, lrc="std", tells_last=True),)


def _caisse_ap() -> tuple[Stand, ...]:
    from dmtwisted.terminals.caisse_ap.settings import DRIVER
    from protocols.simulators.caisse_ap import CaisseApDevice

    return (terminal(DRIVER, CaisseApDevice, wrong=NO_HOST),)


def _concert_v2() -> tuple[Stand, ...]:
    from dmtwisted.terminals.concert_v2.settings import DRIVER
    from protocols.simulators.concert_v2 import ConcertDevice

    return (terminal(DRIVER, ConcertDevice, serial_port="COM3"),)


def _nexo() -> tuple[Stand, ...]:
    from dmtwisted.conformance.nexo_stand import build, far
    from dmtwisted.terminals.nexo.settings import DRIVER

    settings = {"host": "192.0.2.1", "wait_s": WAIT, "poi_id": POI, "ca": NO_CERTIFICATE}
    # Over TLS in memory there would be nothing to see, so the agent is ours and its lines are in clear.
    return (Stand(DRIVER, settings, far, build, wrong=NO_HOST),)


def _training_terminal() -> tuple[Stand, ...]:
    from dmtwisted.terminals.training.settings import DRIVER

    return (Stand(DRIVER, {"wait_s": WAIT}, wrong=(({"wait_s": 1}, "settings.wait_s"),)),)


def with_printer(profile: str) -> Callable[[World], FarEnd]:
    """A far end with a simulated printer of a family."""

    def far(world: World) -> FarEnd:
        from protocols.simulators.printer import simulated_printer
        from protocols.simulators.printer_port import PrinterPort

        printer = simulated_printer(profile, clock=world)
        return FarEnd(printer, PrinterPort(printer))

    return far


PRINTER_WRONG: Wrong = (
    *NO_HOST,
    ({"job_ttl_s": 1}, "settings.job_ttl_s"),
    ({"profile": "no such family"}, "settings.profile"),
)


def _escpos() -> tuple[Stand, ...]:
    from dmtwisted.printing.drivers.escpos import DRIVER

    serial = {"interface": "serial", "serial_port": "COM3", "profile": "epson"}
    network = {"host": "192.0.2.1", "profile": "epson"}
    return (
        Stand(DRIVER, network, with_printer("epson"), wrong=PRINTER_WRONG, shape="TCP"),
        Stand(DRIVER, serial, with_printer("epson"), shape="serial"),
    )


def _star() -> tuple[Stand, ...]:
    from dmtwisted.printing.drivers.star import DRIVER

    return (Stand(DRIVER, {"host": "192.0.2.1"}, with_printer("star"), wrong=PRINTER_WRONG),)


def _training_printer() -> tuple[Stand, ...]:
    from dmtwisted.printing.drivers.training import DRIVER

    return (Stand(DRIVER, {}, wrong=PRINTER_WRONG[1:]),)


def _prro() -> tuple[Stand, ...]:
    from dmtwisted.conformance.prro_stand import build, far, load_key, settings
    from dmtwisted.registers.drivers.prro import DRIVER

    # It speaks HTTPS with a trust of its own, so the exchange itself is led to the simulated server.
    wrong = ({"server_url": "ftp://x"}, "settings"), ({"rounding_step": 5}, "settings.rounding_step")
    return (Stand(DRIVER, settings(), far, build, wrong, load_key, line=False),)


def _training_register() -> tuple[Stand, ...]:
    from dmtwisted.registers.drivers.training import DRIVER

    wrong = ({"wait_s": 0}, "settings.wait_s"), ({"rounding_step": 5}, "settings.rounding_step")
    return (Stand(DRIVER, {}, wrong=wrong),)


STANDS: dict[tuple[str, str], Callable[[], tuple[Stand, ...]]] = {
    (TERMINAL, "privatbank-json"): _privatbank,
    (TERMINAL, "ssi-json"): _ssi,
    (TERMINAL, "zvt"): _zvt,
    (TERMINAL, "ecr17"): _ecr17,
    (TERMINAL, "caisse-ap"): _caisse_ap,
    (TERMINAL, "concert-v2"): _concert_v2,
    (TERMINAL, "nexo"): _nexo,
    (TERMINAL, "training"): _training_terminal,
    (PRINTER, "escpos"): _escpos,
    (PRINTER, "star"): _star,
    (PRINTER, "training"): _training_printer,
    (REGISTER, "prro"): _prro,
    (REGISTER, "training"): _training_register,
}
"""What makes the stands of each driver; one for each of its shapes."""
