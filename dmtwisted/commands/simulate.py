"""A device without hardware, for whoever builds a till: ``dmtwisted simulate printer|ipp|terminal`` (design 8).

The simulators are those of `protocols.simulators`; here they get a place where tills reach them (a TCP port or a
serial port), a control port (`dmtwisted.commands.control`) and a file for their ledger.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from pathlib import Path
from random import Random
from typing import Annotated, Any, cast

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IAddress, IProtocol, IProtocolFactory, IReactorTime, ITransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import (
    FilteringLogObserver,
    Logger,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)
from twisted.python import usage
from twisted.python.failure import Failure
from twisted.web.server import Site

from dmtwisted.clock import KYIV
from dmtwisted.commands.control import ControlSite, Deed, FarEnd, NotPossible
from protocols.printers.profiles import PROFILES
from protocols.printers.status import Fault
from protocols.serial import SerialEndpoint, SerialSettings
from protocols.simulators.ipp_printer import ENDED, PRINT_S, IppPrinter, SimulatedQueue
from protocols.simulators.paper import Paper
from protocols.simulators.printer import SimulatedPrinter, simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.terminal import CARDS, Card, Terminal

LOOPBACK = "127.0.0.1"
"""Where is listened unless another address is asked for: nobody on the network shall pay at a simulator unasked."""

DOTS_PER_MM = 8
"""Of print heads with 203 dots an inch, as all profiles have."""

REOPEN = 1.0
"""Seconds after which a serial port that the device closed is opened again, as a device is switched on again."""

LEDGER_BEGINS = b'{"n":'
"""The first bytes of a ledger that has an entry."""

CUSTOMERS = 100
"""How many cards a seed makes; then the first customer comes again."""


# The command line


def place(text: str) -> tuple[str, int]:
    """``HOST:PORT`` as host and port; without a host it is this machine only.

    :raises ValueError: when it is no such thing.
    """
    host, _, number = text.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"{text!r}: an IPv6 address stands in brackets, [::1]:9100")
    if not number.isdecimal() or int(number) > 0xFFFF:
        raise ValueError(f"{text!r}: HOST:PORT is expected, with a port up to 65535")
    return host.strip("[]") or LOOPBACK, int(number)


def seconds(text: str) -> float:
    """A time.

    :raises ValueError: when it is negative or no number.
    """
    value = float(text)
    if not isfinite(value) or value < 0:
        raise ValueError(f"{text} is no time")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(f"{text} is not positive")
    return value


def _one_of(known: Collection[str], option: str, given: str | None) -> None:
    if given not in known:
        instead = f", not {given}" if given else ""
        raise usage.UsageError(f"--{option}: one of {', '.join(known)} is expected{instead}")


class DeviceOptions(usage.Options):
    """What all simulators are told."""

    optParameters = [  # noqa: RUF012 - read by twisted.python.usage
        ["listen", "l", None, "HOST:PORT for tills; without a host this machine only, 0 is a free port.", place],
        ["control", "c", None, "HOST:PORT for the control language; likewise.", place],
        ["ledger", None, None, "The file of what happened, kept over restarts; without it in memory.", Path],
        ["seed", None, None, "Makes what is random; the same seed makes the same.", int],
    ]

    def postOptions(self) -> None:
        """What does not fit together is refused."""

    def far_end(self, clock: IReactorTime) -> FarEnd:
        """The device that is asked for."""
        raise NotImplementedError

    def serial(self) -> SerialSettings | None:
        """The serial line that it shall sit on, if any."""
        return None


class SerialOptions(DeviceOptions):
    """What simulators are told that may sit on a serial line."""

    optParameters = [  # noqa: RUF012
        ["serial", None, None, "The serial port for tills, instead of a TCP port."],
        ["baudrate", None, None, "Its speed, when it is not the usual one of the device.", _positive],
    ]

    def postOptions(self) -> None:
        """One line, not two."""
        if self["serial"] and self["listen"]:
            raise usage.UsageError("--serial and --listen: the device has one line, name one of them")
        if self["baudrate"] and not self["serial"]:
            raise usage.UsageError("--baudrate goes with --serial")

    def serial(self) -> SerialSettings | None:
        """The port that is named, set as the device usually is."""
        if not self["serial"]:
            return None
        settings = replace(self.usual_line(), port=self["serial"])
        return replace(settings, baudrate=self["baudrate"]) if self["baudrate"] else settings

    def usual_line(self) -> SerialSettings:
        """How the device's serial line is usually set."""
        return SerialSettings("")


class PrinterOptions(SerialOptions):
    """``dmtwisted simulate printer``"""

    synopsis = "Usage: dmtwisted simulate printer [options]"
    longdesc = f"A receipt printer, ESC/POS or Star by its profile: {', '.join(PROFILES)}. Nothing in it is random."
    optParameters = [  # noqa: RUF012
        ["profile", "p", "epson", "The family of printers."],
        ["paper", None, None, "Length of its roll in millimetres; without it the paper never ends.", _positive],
    ]
    optFlags = [["mute", None, "It never answers, as many printers without a name."]]  # noqa: RUF012

    def postOptions(self) -> None:
        """The profile has to be known."""
        super().postOptions()
        _one_of(PROFILES, "profile", self["profile"])

    def far_end(self, clock: IReactorTime) -> FarEnd:
        """The printer."""
        return printer(self, clock)


class IppOptions(DeviceOptions):
    """``dmtwisted simulate ipp``"""

    synopsis = "Usage: dmtwisted simulate ipp [options]"
    longdesc = "A print service with one queue, as CUPS shows it over IPP. Nothing in it is random."
    optParameters = [  # noqa: RUF012
        ["queue", "q", "receipts", "The name of the queue: ipp://HOST:PORT/printers/NAME."],
        ["duration", "d", PRINT_S, "Seconds that a job takes.", seconds],
        ["profile", "p", "epson", "The printer behind it, by which the strip is read."],
    ]

    def postOptions(self) -> None:
        """The profile has to be known."""
        _one_of(PROFILES, "profile", self["profile"])

    def far_end(self, clock: IReactorTime) -> FarEnd:
        """The print service."""
        return ipp(self, clock)


class TerminalOptions(SerialOptions):
    """``dmtwisted simulate terminal``"""

    synopsis = "Usage: dmtwisted simulate terminal --protocol NAME [options]"
    optParameters = [  # noqa: RUF012
        ["protocol", "p", None, "What it speaks, see below."],
        ["duration", "d", 1.5, "Seconds that an operation takes, the customer included.", seconds],
        ["hold", None, 60.0, "Seconds that a held purchase waits for the cashier.", seconds],
        ["adjust", None, None, "Seconds that a purchase stops at the card (privatbank-json only).", seconds],
        ["terminal-id", None, None, "What it calls itself."],
    ]

    def getUsage(self, width: int | None = None) -> str:
        """The options, and the protocols."""
        return f"{super().getUsage(width)}\nProtocols: {', '.join(WIRES)}.\nA seed makes the customers' cards.\n"

    def postOptions(self) -> None:
        """The protocol has to be known, and to know what it is told."""
        super().postOptions()
        _one_of(WIRES, "protocol", self["protocol"])
        if self["serial"] and self.wire.serial is None:
            raise usage.UsageError(f"--serial: {self['protocol']} is spoken over TCP only")
        if self["adjust"] is not None and self["protocol"] != "privatbank-json":
            raise usage.UsageError("--adjust: only privatbank-json has it")
        if self["protocol"] == "ecr17" and self["terminal-id"]:
            number = self["terminal-id"]
            if not (len(number) == 8 and number.isascii() and number.isdecimal()):
                raise usage.UsageError("--terminal-id: ecr17 has 8 digits")

    @property
    def wire(self) -> Wire:
        """The protocol."""
        return WIRES[self["protocol"]]

    def usual_line(self) -> SerialSettings:
        """As the protocol has it."""
        return self.wire.serial or super().usual_line()

    def far_end(self, clock: IReactorTime) -> FarEnd:
        """The terminal."""
        return terminal(self, clock)


class SimulateOptions(usage.Options):
    """``dmtwisted simulate``"""

    synopsis = "Usage: dmtwisted simulate printer|ipp|terminal [options]"
    subCommands = [  # noqa: RUF012
        ["printer", None, PrinterOptions, "A receipt printer."],
        ["ipp", None, IppOptions, "A print service with a queue, like CUPS."],
        ["terminal", None, TerminalOptions, "A bank terminal."],
    ]

    def postOptions(self) -> None:
        """One of the devices has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to simulate: printer, ipp or terminal")


# Printers


class Roll(msgspec.Struct, forbid_unknown_fields=True):
    """A new roll of ``mm`` millimetres; without a length as long as the first one."""

    mm: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Breakdown(msgspec.Struct, forbid_unknown_fields=True):
    """What breaks."""

    fault: Fault


def printer(options: PrinterOptions, clock: IReactorTime) -> FarEnd:
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


def ipp(options: IppOptions, clock: IReactorTime) -> FarEnd:
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

    device: Callable[[Terminal, IReactorTime, TerminalOptions], Any]
    serial: SerialSettings | None = None


def _privatbank_json(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.privatbank_json import PrivatbankSimulator

    return PrivatbankSimulator(device, clock, adjust=options["adjust"] or 0.0)


def _ssi_json(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.ssi_json import SsiSimulator

    return SsiSimulator(device, clock)


def _zvt(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.zvt import TerminalSettings, ZvtTerminal

    return ZvtTerminal(device, clock, TerminalSettings(serial=bool(options["serial"]))).factory()


def _ecr17(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.ecr17 import Ecr17Device

    number = {"number": options["terminal-id"]} if options["terminal-id"] else {}
    return Ecr17Device(device, clock, **number)


def _caisse_ap(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.caisse_ap import CaisseApDevice

    return CaisseApDevice(device, clock)


def _concert_v2(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.concert_v2 import ConcertDevice

    return ConcertDevice(device, clock)


def _nexo(device: Terminal, clock: IReactorTime, options: TerminalOptions) -> Any:
    from protocols.simulators.nexo import NexoDevice

    return NexoDevice(device, clock, device.terminal_id).site()


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


def terminal(options: TerminalOptions, clock: IReactorTime) -> FarEnd:
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
        options.wire.device(device, clock, options),
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


# Serial lines


class SerialPlug(Factory):
    """Keeps a device on a serial port: a line that it closes is opened anew, as when it is switched on again."""

    noisy = False
    log = Logger()

    def __init__(self, clock: IReactorTime, endpoint: Any, device: IProtocolFactory) -> None:
        self._clock, self._endpoint, self._device = clock, endpoint, device

    def plug_in(self) -> Deferred[IProtocol]:
        """Open the port.

        :raises NotReached: when it cannot be opened; the Deferred fails with it.
        """
        opening: Deferred[IProtocol] = self._endpoint.connect(self)
        return opening

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """The device's end; `None` when it does not want to be reached now."""
        protocol = self._device.buildProtocol(cast(Any, addr))
        return None if protocol is None else _Plugged(protocol, self.again)

    def again(self) -> None:
        """Open the port in a while."""
        self._clock.callLater(REOPEN, self._open)

    def _open(self) -> None:
        self.plug_in().addErrback(self._not_open)

    def _not_open(self, reason: Failure) -> None:
        self.log.info("the serial port does not open: {reason}", reason=reason.getErrorMessage())
        self.again()


class _Plugged(Protocol):
    """Passes a line on to the device, and its end to the plug as well."""

    def __init__(self, protocol: IProtocol, ended: Callable[[], None]) -> None:
        self._protocol, self._ended = protocol, ended

    def makeConnection(self, transport: ITransport) -> None:
        super().makeConnection(transport)
        self._protocol.makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        self._protocol.dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._protocol.connectionLost(reason)
        self._ended()


# Running


class NotStarted(Exception):
    """The simulator cannot run; the text is one line for whoever starts it."""


@dataclass(frozen=True)
class Running:
    """A simulator that can be reached, and the line that says where."""

    far_end: FarEnd
    line: str


def start(options: DeviceOptions, reactor: Any) -> Running:
    """Open the ledger and both ports.

    :raises NotStarted: when one of them cannot be opened; nothing is left open then.
    """
    far_end = _open(options, reactor)
    try:
        serial = options.serial()
        if serial is None:
            where = _listen(reactor, options["listen"], far_end.factory)
        else:
            where = _plug_in(reactor, serial, far_end.factory)
        control = _listen(reactor, options["control"], ControlSite(far_end))
    except NotStarted:
        far_end.close()
        raise
    return Running(far_end, f"dmtwisted simulate: {far_end.name} on {where}, control on http://{control}/")


def _open(options: DeviceOptions, clock: IReactorTime) -> FarEnd:
    try:
        _look_at(options["ledger"])
        far_end = options.far_end(clock)
        # Read once, so that a file that is no ledger is told now and not to somebody's test.
        for _ in far_end.entries():
            pass
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        if options["ledger"] is None:
            raise
        why = error.strerror or str(error) if isinstance(error, OSError) else f"it is no ledger ({error})"
        raise NotStarted(f"the ledger {options['ledger']} cannot be opened: {why}") from None
    return far_end


def _look_at(ledger: Path | None) -> None:
    """Refuse somebody else's file before anything is written beside it, or a line of it is taken for a broken one.

    :raises ValueError: when it is no ledger.
    """
    if ledger is not None and ledger.exists():
        with ledger.open("rb") as file:
            # Of a first entry that a crash cut short there may be less.
            if not LEDGER_BEGINS.startswith(file.read(len(LEDGER_BEGINS))):
                raise ValueError("it begins with something else")


def _listen(reactor: Any, at: tuple[str, int] | None, factory: object) -> str:
    host, number = at or (LOOPBACK, 0)
    try:
        address = reactor.listenTCP(number, factory, interface=host).getHost()
    except CannotListenError as error:
        why = getattr(error.socketError, "strerror", None) or error.socketError
        raise NotStarted(f"cannot listen on {_shown(host, number)}: {why}") from None
    return _shown(address.host, address.port)


def _shown(host: str, number: int) -> str:
    return f"[{host}]:{number}" if ":" in host else f"{host}:{number}"


def _plug_in(reactor: Any, settings: SerialSettings, factory: IProtocolFactory) -> str:
    failures: list[Failure] = []
    SerialPlug(reactor, SerialEndpoint(reactor, settings), factory).plug_in().addErrback(failures.append)
    if failures:
        reason = failures[0]
        raise NotStarted(getattr(reason.value, "reason", None) or reason.getErrorMessage())
    return f"{settings.port} ({settings.baudrate} baud)"


def run(options: SimulateOptions) -> int:
    """Simulate until SIGTERM or Ctrl-C; 1 with one clear line when the simulator cannot run."""
    from twisted.internet import reactor

    running_reactor: Any = reactor
    complaints = FilteringLogObserver(
        textFileLogObserver(sys.stderr), [LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)]
    )
    globalLogBeginner.beginLoggingTo([complaints], redirectStandardIO=False)
    try:
        running = start(cast(DeviceOptions, options.subOptions), running_reactor)
    except NotStarted as error:
        print(f"dmtwisted simulate: {error}", file=sys.stderr)
        return 1
    # Told once signals are taken: whoever reads it may stop us at once.
    running_reactor.callWhenRunning(print, running.line, flush=True)
    running_reactor.run()
    # Lines that ended with the reactor may have had a last word for the ledger.
    running.far_end.close()
    return 0
