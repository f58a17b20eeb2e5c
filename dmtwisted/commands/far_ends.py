"""The devices that can be simulated, each with its line, its state and what people do to it (design 8).

A device is built from the options of ``dmtwisted simulate``; `FarEnd` is what control port and line see of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Annotated, Any, cast

import msgspec
from twisted.internet.interfaces import IProtocolFactory, IReactorTime
from twisted.web.server import Site

from dmtwisted.clock import KYIV
from dmtwisted.commands.control import Deed, FarEnd, NotPossible
from protocols.printers.status import Fault
from protocols.serial import SerialSettings
from protocols.simulators.ipp_printer import ENDED, IppPrinter, SimulatedQueue
from protocols.simulators.paper import Paper
from protocols.simulators.printer import SimulatedPrinter, simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.terminal import CARDS, Card, Terminal

Chosen = Mapping[str, Any]
"""The options of one kind by their names, checked already."""

DOTS_PER_MM = 8
"""Of print heads with 203 dots an inch, as all profiles have."""

CUSTOMERS = 100
"""How many cards a seed makes; then the first customer comes again."""


# Printers


class Roll(msgspec.Struct, forbid_unknown_fields=True):
    """A new roll of ``mm`` millimetres; without a length as long as the first one."""

    mm: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Breakdown(msgspec.Struct, forbid_unknown_fields=True):
    """What breaks."""

    fault: Fault


def printer(options: Chosen, clock: IReactorTime) -> FarEnd:
    """A receipt printer, with everything that people do to one."""
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
            raise NotPossible("something has to break; mend makes it whole again", "fault")
        device.break_down(given.fault)

    return FarEnd(
        f"printer {options['profile']}",
        cast(IProtocolFactory, PrinterPort(device)),
        device.scenario,
        device.entries,
        lambda: _printer_state(device),
        {
            "open_cover": Deed(lambda _: device.open_cover()),
            "close_cover": Deed(lambda _: device.close_cover()),
            "load_paper": Deed(load, Roll),
            "take_paper_out": Deed(lambda _: device.take_paper_out()),
            "tear_off": Deed(lambda _: device.mechanism.paper.tear_off()),
            "break_down": Deed(break_down, Breakdown),
            "mend": Deed(lambda _: device.mend()),
            "close_drawer": Deed(lambda _: device.close_drawer()),
            "power_cycle": Deed(lambda _: device.power_cycle()),
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
    """What a stopped queue says of itself."""

    message: str = "Paused"


class Hindrance(msgspec.Struct, forbid_unknown_fields=True):
    """Words of ``printer-state-reasons``, such as ``media-empty-error``; none of them: all is well."""

    reasons: list[str]


class Given(msgspec.Struct, forbid_unknown_fields=True):
    """The job that the service itself gives up, and why."""

    job: int
    reason: str = "aborted-by-system"


def ipp(options: Chosen, clock: IReactorTime) -> FarEnd:
    """A print service with one queue; its strip is what a printer of the profile makes of the documents."""
    name = options["queue"]
    service = IppPrinter(clock, (name,), options["duration"], options["ledger"])
    queue = service.queues[name]

    def accept(on: bool) -> None:
        queue.accepting = on

    def give_up(given: Given) -> None:
        job = queue.jobs.get(given.job)
        if job is None or job.state in ENDED:
            raise NotPossible("no such job is waiting or being printed", "job")
        queue.abort(given.job, given.reason)

    def paper() -> Paper:
        device = simulated_printer(options["profile"])
        for document in queue.printed:
            device.feed(document)
            device.hang_up()
        return device.mechanism.paper

    return FarEnd(
        f"ipp queue {name}",
        cast(IProtocolFactory, Site(service, reactor=clock)),
        service.scenario,
        service.ledger.entries,
        lambda: _queue_state(queue),
        {
            "stop": Deed(lambda given: queue.stop(given.message), Stop),
            "resume": Deed(lambda _: queue.resume()),
            "hinder": Deed(lambda given: queue.hinder(*given.reasons), Hindrance),
            "refuse_jobs": Deed(lambda _: accept(False)),
            "accept_jobs": Deed(lambda _: accept(True)),
            "abort": Deed(give_up, Given),
            "forget": Deed(lambda _: queue.forget()),
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


# Terminals


def customers(seed: int) -> tuple[Card, ...]:
    """The cards that a seed makes: as terminals show them, good for some years."""
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


@dataclass(frozen=True)
class Wire:
    """One protocol of bank terminals.

    :param device: makes the lines of a terminal that speaks it. Its simulator is imported then, not before.
    :param serial: how its serial line is usually set; `None` where there is none.
    """

    device: Callable[[Terminal, IReactorTime, Chosen], Any]
    serial: SerialSettings | None = None


def _privatbank_json(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.privatbank_json import PrivatbankSimulator

    return PrivatbankSimulator(device, clock, adjust=options["adjust"] or 0.0)


def _ssi_json(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.ssi_json import SsiSimulator

    return SsiSimulator(device, clock)


def _zvt(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.zvt import TerminalSettings, ZvtTerminal

    return ZvtTerminal(device, clock, TerminalSettings(serial=bool(options["serial"]))).factory()


def _ecr17(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.ecr17 import Ecr17Device

    number = {"number": options["terminal-id"]} if options["terminal-id"] else {}
    return Ecr17Device(device, clock, **number)


def _caisse_ap(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.caisse_ap import CaisseApDevice

    return CaisseApDevice(device, clock)


def _concert_v2(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.concert_v2 import ConcertDevice

    return ConcertDevice(device, clock)


def _nexo(device: Terminal, clock: IReactorTime, options: Chosen) -> Any:
    from protocols.simulators.nexo import NexoDevice, over_tls, posts_to
    from protocols.terminals.nexo.sealing import Seal

    seal = Seal(*options["shared-key"]) if options["shared-key"] else None
    post = posts_to(options["notices"], clock) if options["notices"] else None
    site = NexoDevice(device, clock, device.terminal_id, seal, post=post).site()
    return over_tls(site, Path(options["pem"]).read_text("ascii")) if options["pem"] else site


WIRES: Mapping[str, Wire] = {
    "privatbank-json": Wire(_privatbank_json, SerialSettings("", 115200)),
    "ssi-json": Wire(_ssi_json, SerialSettings("")),
    "zvt": Wire(_zvt, SerialSettings("", stopbits=2)),
    "ecr17": Wire(_ecr17, SerialSettings("")),
    "caisse-ap": Wire(_caisse_ap),
    "concert-v2": Wire(_concert_v2, SerialSettings("")),
    "nexo": Wire(_nexo),
}
"""The protocols by name (terminals.md 4 to 11); the lines are set as `docs/protocols/` says."""


def terminal(options: Chosen, clock: IReactorTime) -> FarEnd:
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
            raise NotPossible("nothing is under way that could still be cancelled")

    return FarEnd(
        f"terminal {options['protocol']}",
        WIRES[options["protocol"]].device(device, clock, options),
        device.scenario,
        device.entries,
        lambda: _terminal_state(device),
        {"press_cancel": Deed(press_cancel)},
        device.close,
    )


def _terminal_state(device: Terminal) -> dict[str, Any]:
    running = device.running
    return {
        "state": device.state,
        "operation": None if running is None else {"kind": running.kind, "sum": running.asked},
        "batch": device.batch,
    }
