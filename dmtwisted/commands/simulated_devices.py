"""The simulated printers, registers and terminals, each with its connection, its state and the actions of people.

A device is built from the options of ``dmtwisted simulate`` (docs/reference/http-interface.md#simulated-devices).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Annotated, Any, cast

import msgspec
from twisted.internet.interfaces import IProtocolFactory, IReactorTime
from twisted.web.server import Site

from dmtwisted.clock import KYIV
from dmtwisted.commands.control import Action, NotPossible, SimulatedPeer
from protocols.printers.status import Fault
from protocols.serial import SerialSettings
from protocols.simulators.ipp_printer import ENDED, IppPrinter, SimulatedQueue
from protocols.simulators.iron import AfterCut, Iron, Refuses
from protocols.simulators.marks_service import Mark, MarksService, Mood, marks_site
from protocols.simulators.paper import Paper
from protocols.simulators.printer import SimulatedPrinter, simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.register_scenario import DARK_S, ByScenario, entries
from protocols.simulators.scenario import Scenario
from protocols.simulators.terminal import CARDS, Card, Terminal

Chosen = Mapping[str, Any]
"""The checked options of one kind of device."""

DOTS_PER_MM = 8
"""For print heads with 203 dots per inch, which all profiles have."""

CUSTOMERS = 100
"""Number of cards that a seed makes; after them the first card is used again."""


# Printers


class Roll(msgspec.Struct, forbid_unknown_fields=True):
    """A new roll of ``mm`` millimetres; by default as long as the first one."""

    mm: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Breakdown(msgspec.Struct, forbid_unknown_fields=True):
    """The part that breaks."""

    fault: Fault


def printer(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """A receipt printer, with the actions of people."""
    roll = options["paper"] * DOTS_PER_MM if options["paper"] else None
    device = simulated_printer(
        options["profile"],
        ledger=options["ledger"],
        roll_dots=roll,
        clock=clock,
        now=lambda: datetime.fromtimestamp(clock.seconds(), KYIV),
        mute=bool(options["mute"]),
        flow_control=bool(options["serial"]),
    )

    def load(given: Roll) -> None:
        device.load_paper(roll if given.mm is None else given.mm * DOTS_PER_MM)

    def break_down(given: Breakdown) -> None:
        if given.fault == "none":
            raise NotPossible("a fault is expected; mend repairs it", "fault")
        device.break_down(given.fault)

    return SimulatedPeer(
        f"printer {options['profile']}",
        cast(IProtocolFactory, PrinterPort(device)),
        device.scenario,
        device.entries,
        lambda: _printer_state(device),
        {
            "open_cover": Action(lambda _: device.open_cover()),
            "close_cover": Action(lambda _: device.close_cover()),
            "load_paper": Action(load, Roll),
            "take_paper_out": Action(lambda _: device.take_paper_out()),
            "tear_off": Action(lambda _: device.mechanism.paper.tear_off()),
            "break_down": Action(break_down, Breakdown),
            "mend": Action(lambda _: device.mend()),
            "close_drawer": Action(lambda _: device.close_drawer()),
            "power_cycle": Action(lambda _: device.power_cycle()),
        },
        device.ledger.close,
        lambda: device.mechanism.paper,
    )


def _printer_state(device: SimulatedPrinter) -> dict[str, Any]:
    status, mechanism = device.status, device.mechanism
    return {
        "online": status.online,
        "cover_open": status.cover_open,
        "paper": status.paper,
        "drawer_open": status.drawer_open,
        "error": status.error,
        "connected": device.connected,
        "drawer_pulses": mechanism.pulses,
        "beeps": mechanism.beeps,
        "bytes_lost": device.lost,
    }


class Stop(msgspec.Struct, forbid_unknown_fields=True):
    """The message of a stopped queue."""

    message: str = "Paused"


class Hindrance(msgspec.Struct, forbid_unknown_fields=True):
    """Values of ``printer-state-reasons``, such as ``media-empty-error``; none when all is well."""

    reasons: list[str]


class Abort(msgspec.Struct, forbid_unknown_fields=True):
    """The job that the print service aborts, and the reason."""

    job: int
    reason: str = "aborted-by-system"


def marks(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """A marks service, with the actions of people who keep its stock."""
    service = MarksService(clock, options["token"], options["ledger"])
    for mark in options["marks"]:
        service.put(Mark(mark, object=options["object"]))

    def feel(mood: Mood) -> None:
        service.mood = mood

    return SimulatedPeer(
        "marks",
        cast(IProtocolFactory, marks_site(service)),
        service.scenario,
        service.ledger.entries,
        lambda: {"mood": service.mood, "marks": list(service.marks.values())},
        {"put_mark": Action(service.put, Mark), "mood": Action(feel, Mood)},
        service.ledger.close,
    )


def ipp(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """A print service with one queue; its strip is what a printer of the profile prints."""
    name = options["queue"]
    service = IppPrinter(clock, (name,), options["duration"], options["ledger"])
    queue = service.queues[name]

    def accept(on: bool) -> None:
        queue.accepting = on

    def give_up(given: Abort) -> None:
        job = queue.jobs.get(given.job)
        if job is None or job.state in ENDED:
            raise NotPossible("no such job is waiting or printing", "job")
        queue.abort(given.job, given.reason)

    def paper() -> Paper:
        device = simulated_printer(options["profile"])
        for document in queue.printed:
            device.feed(document)
            device.hang_up()
        return device.mechanism.paper

    return SimulatedPeer(
        f"ipp queue {name}",
        cast(IProtocolFactory, Site(service, reactor=clock)),
        service.scenario,
        service.ledger.entries,
        lambda: _queue_state(queue),
        {
            "stop": Action(lambda given: queue.stop(given.message), Stop),
            "resume": Action(lambda _: queue.resume()),
            "hinder": Action(lambda given: queue.hinder(*given.reasons), Hindrance),
            "refuse_jobs": Action(lambda _: accept(False)),
            "accept_jobs": Action(lambda _: accept(True)),
            "abort": Action(give_up, Abort),
            "forget": Action(lambda _: queue.forget()),
        },
        service.ledger.close,
        paper,
    )


def _queue_state(queue: SimulatedQueue) -> dict[str, Any]:
    return {
        "state": queue.state.name.lower(),
        "message": queue.message,
        "reasons": list(queue.hindrances),
        "accepting": queue.accepting,
        "jobs": [
            {"job": job.number, "name": job.name, "owner": job.owner, "state": job.state.name.lower()}
            for job in queue.jobs.values()
        ],
    }


# Registers


class Darkness(msgspec.Struct, forbid_unknown_fields=True):
    """For how many seconds the power is off."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = DARK_S


class Rest(msgspec.Struct, forbid_unknown_fields=True):
    """Hours that pass for the shift."""

    hours: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 24.0


class Sale(msgspec.Struct, forbid_unknown_fields=True):
    """What is paid in cash, in hryvnias."""

    sum: Annotated[float, msgspec.Meta(gt=0, le=100_000)] = 1.0


@dataclass(frozen=True)
class RegisterWire:
    """One protocol of hardware registers.

    :param module: its simulator in `protocols.simulators`, imported only when it is used.
    :param device: the class in it.
    :param serial: its usual serial settings; `None` when it uses TCP only.
    :param closes: as of `ByScenario`.
    """

    module: str
    device: str
    serial: SerialSettings | None = None
    closes: bool = True


REGISTER_WIRES: Mapping[str, RegisterWire] = {
    "datecs": RegisterWire("datecs_register", "UkrainianDevice", SerialSettings("", 115200)),
    "datecs-classic": RegisterWire("datecs_classic_register", "ClassicDevice", SerialSettings("")),
    "ics": RegisterWire("ics_register", "IcsDevice", SerialSettings(""), closes=False),
    "maria": RegisterWire("maria_register", "MariaDevice", SerialSettings("", 115200, parity="E", stopbits=2)),
    "mg": RegisterWire("mg_register", "MgDevice"),
}
"""The protocols by name (docs/reference/registers.md)."""


def register(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """A hardware register, with the actions of people."""
    wire = REGISTER_WIRES[options["protocol"]]
    module = import_module(f"protocols.simulators.{wire.module}")
    device = getattr(module, wire.device)(clock)
    iron, scenario = device.iron, Scenario()
    habit = AfterCut(options["after-cut"]) if options["after-cut"] else iron.settings.after_cut
    iron.settings = replace(iron.settings, after_cut=habit, epoch=0.0)
    device.steer = ByScenario(iron, scenario, wire.closes, lambda: getattr(device, "coming", None))

    def sell(given: Sale) -> None:
        by_hand = getattr(device, "sell_by_hand", iron.sell_by_hand)
        try:
            by_hand(round(given.sum * 100))
        except Refuses as refuses:
            raise NotPossible(f"the register refuses: {refuses}") from None

    def cover(is_open: bool) -> None:
        iron.cover_open = is_open

    def paper(lines: int | None) -> None:
        iron.paper = lines

    def rest(given: Rest) -> None:
        if iron.shift_since is None:
            raise NotPossible("no shift is open")
        iron.shift_since -= given.hours * 3600

    def ended() -> None:
        """Nothing is open: the register keeps its books in memory."""

    return SimulatedPeer(
        f"register {options['protocol']}",
        cast(IProtocolFactory, module.MgSite(device) if options["protocol"] == "mg" else device),
        scenario,
        lambda: entries(iron, lambda at: f"{datetime.fromtimestamp(at, KYIV):%Y%m%d%H%M%S}"),
        lambda: _register_state(iron),
        {
            "open_cover": Action(lambda _: cover(True)),
            "close_cover": Action(lambda _: cover(False)),
            "take_paper_out": Action(lambda _: paper(0)),
            "load_paper": Action(lambda _: paper(None)),
            "power_cut": Action(lambda given: device.go_dark(given.seconds), Darkness),
            "sell_by_hand": Action(sell, Sale),
            "let_hours_pass": Action(rest, Rest),
        },
        ended,
    )


def _register_state(iron: Iron) -> dict[str, Any]:
    document = iron.document
    return {
        "shift_open": iron.shift_open,
        "document": None if document is None else {"kind": document.kind.value, "total": document.total},
        "number": iron.number,
        "z": iron.z,
        "drawer": iron.drawer,
        "paper": iron.paper != 0,
        "cover_open": iron.cover_open,
    }


# Terminals


def customers(seed: int) -> tuple[Card, ...]:
    """The cards that a seed makes: masked as on terminals, valid for some years."""
    random = Random(seed)
    brands = {"MASTERCARD": "51", "VISA": "4", "PROSTIR": "9804"}
    cards = []
    for _ in range(CUSTOMERS):
        brand, start = random.choice(sorted(brands.items()))
        bank = start + "".join(random.choices("0123456789", k=6 - len(start)))
        pan = f"{bank}******{random.randrange(10_000):04d}"
        expiry = f"{random.randrange(30, 36)}{random.randrange(1, 13):02d}"
        cards.append(Card(pan, brand, expiry, random.choice(("CONTACTLESS", "CHIP"))))
    return tuple(cards)


Make = Callable[[Any, Terminal, IReactorTime, Chosen], Any]
"""Makes the factory of a terminal's connections, with the module of its simulator."""


@dataclass(frozen=True)
class Wire:
    """One protocol of bank terminals.

    :param module: its simulator in `protocols.simulators`, imported only when it is used.
    :param serial: its usual serial settings; `None` when it uses TCP only.
    """

    module: str
    make: Make
    serial: SerialSettings | None = None

    def factory(self, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
        """The factory of connections to ``terminal``."""
        return self.make(import_module(f"protocols.simulators.{self.module}"), terminal, clock, options)


def _privatbank_json(module: Any, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    return module.PrivatbankSimulator(terminal, clock, adjust=options["adjust"] or 0.0)


def _zvt(module: Any, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    currency = {"currency": int(options["currency"])} if options["currency"] else {}
    settings = module.TerminalSettings(serial=bool(options["serial"]), **currency)
    return module.ZvtTerminal(terminal, clock, settings).factory()


def _ecr17(module: Any, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    given: dict[str, Any] = {"number": options["terminal-id"]} if options["terminal-id"] else {}
    if options["lrc"]:
        given["lrc"] = module.Lrc[options["lrc"].upper()]
    return module.Ecr17Device(terminal, clock, **given)


def _caisse_ap(module: Any, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    currencies = {"currencies": frozenset({options["currency"]})} if options["currency"] else {}
    return module.CaisseApDevice(terminal, clock, **currencies)


def _nexo(module: Any, terminal: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    seal = module.Seal(*options["shared-key"]) if options["shared-key"] else None
    post = module.posts_to(options["notices"], clock) if options["notices"] else None
    currency = {"currency": options["currency"]} if options["currency"] else {}
    site = module.NexoDevice(terminal, clock, terminal.terminal_id, seal, post=post, **currency).site()
    return module.over_tls(site, Path(options["pem"]).read_text("ascii")) if options["pem"] else site


WIRES: Mapping[str, Wire] = {
    "privatbank-json": Wire("privatbank_json", _privatbank_json, SerialSettings("", 115200)),
    "ssi-json": Wire("ssi_json", lambda module, *given: module.SsiSimulator(*given[:2]), SerialSettings("")),
    "zvt": Wire("zvt", _zvt, SerialSettings("", stopbits=2)),
    "ecr17": Wire("ecr17", _ecr17, SerialSettings("")),
    "caisse-ap": Wire("caisse_ap", _caisse_ap),
    "concert-v2": Wire("concert_v2", lambda module, *given: module.ConcertDevice(*given[:2]), SerialSettings("")),
    "nexo": Wire("nexo", _nexo),
}
"""The protocols by name (docs/reference/terminals.md#drivers)."""


def terminal(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """A bank terminal with its bank and its customers."""
    named = {"terminal_id": options["terminal-id"]} if options["terminal-id"] else {}
    device = Terminal(
        clock,
        options["ledger"],
        duration=options["duration"],
        hold=options["hold"],
        cards=CARDS if options["seed"] is None else customers(options["seed"]),
        **named,
    )

    def press_cancel(_: object) -> None:
        if not device.interrupt():
            raise NotPossible("there is no operation that can still be cancelled")

    return SimulatedPeer(
        f"terminal {options['protocol']}",
        WIRES[options["protocol"]].factory(device, clock, options),
        device.scenario,
        device.entries,
        lambda: _terminal_state(device),
        {"press_cancel": Action(press_cancel)},
        device.close,
    )


def _terminal_state(device: Terminal) -> dict[str, Any]:
    running = device.running
    return {
        "state": device.state,
        "operation": None if running is None else {"kind": running.kind, "sum": running.asked},
        "batch": device.batch,
    }
