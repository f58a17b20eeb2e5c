"""A device without hardware, for whoever builds a till: ``dmtwisted simulate KIND`` (design 8).

The simulators are those of `protocols.simulators`; here they get a place where tills reach them (a TCP port or a
serial port), a control port (`dmtwisted.commands.control`) and a file for their ledger.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IProtocolFactory, IReactorTime
from twisted.logger import (
    FilteringLogObserver,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)
from twisted.python import usage
from twisted.python.failure import Failure

from dmtwisted.commands.control import ControlSite, FarEnd, NotStarted
from dmtwisted.commands.far_ends import WIRES, Wire, ipp, printer, terminal
from dmtwisted.commands.serial_plug import SerialPlug
from protocols.printers.profiles import PROFILES
from protocols.serial import SerialEndpoint, SerialSettings
from protocols.simulators.ipp_printer import PRINT_S

TIN = "34554363"
"""The payer of the official samples; made up, as are the registers of the simulated tax service."""

LOOPBACK = "127.0.0.1"
"""Where it listens unless it is told otherwise: nobody on the network shall meet a simulator unawares."""

LEDGER_BEGINS = b'{"n":'
"""The first bytes of a ledger that has an entry."""


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

    optParameters: ClassVar[list[Any]] = [
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

    optParameters: ClassVar[list[Any]] = [
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
    optParameters: ClassVar[list[Any]] = [
        ["profile", "p", "epson", "The family of printers."],
        ["paper", None, None, "Length of its roll in millimetres; without it the paper never ends.", _positive],
    ]
    optFlags: ClassVar[list[Any]] = [["mute", None, "It never answers, as many printers without a name."]]

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
    optParameters: ClassVar[list[Any]] = [
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


def _shared_key(value: str) -> tuple[str, str, int]:
    passphrase, _, rest = value.partition(":")
    name, _, version = rest.partition(":")
    if not (passphrase and name and version.isascii() and version.isdecimal()):
        raise ValueError("PASSPHRASE:NAME:VERSION is expected")
    return passphrase, name, int(version)


class TerminalOptions(SerialOptions):
    """``dmtwisted simulate terminal``"""

    synopsis = "Usage: dmtwisted simulate terminal --protocol NAME [options]"
    optParameters: ClassVar[list[Any]] = [
        ["protocol", "p", None, "What it speaks, see below."],
        ["duration", "d", 1.5, "Seconds that an operation takes, the customer included.", seconds],
        ["hold", None, 60.0, "Seconds that a held purchase waits for the cashier.", seconds],
        ["adjust", None, None, "Seconds that a purchase stops at the card (privatbank-json only).", seconds],
        ["terminal-id", None, None, "What it calls itself."],
        ["pem", None, None, "A file with certificate and private key, for HTTPS (nexo only)."],
        ["shared-key", None, None, "PASSPHRASE:NAME:VERSION of the shared key (nexo only).", _shared_key],
        ["notices", None, None, "The URL to which it posts what its display shows (nexo only)."],
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
        for option in ("pem", "shared-key", "notices"):
            if self[option] is not None and self["protocol"] != "nexo":
                raise usage.UsageError(f"--{option}: only nexo has it")
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


class TaxServiceOptions(DeviceOptions):
    """``dmtwisted simulate tax-service``"""

    synopsis = "Usage: dmtwisted simulate tax-service [options]"
    longdesc = (
        "The tax service's fiscal server, protocol A, with signed tickets. Its keys, and one for a cashier, are made"
        " in a folder at the first start; a seed makes the keys. Beside the ledger it keeps the documents."
    )
    optParameters: ClassVar[list[Any]] = [
        ["keys", "k", Path("tax-service"), "The folder of its keys.", Path],
        ["tin", None, TIN, "Tax number of the payer whose registers it has."],
        ["record", None, None, "Write every exchange to this file.", Path],
        ["replay", None, None, "Play a recording against a new server, tell what went otherwise, and end.", Path],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["tls", None, "Listen with TLS; authority.pem in the folder of the keys goes into server_ca."],
        ["stamps", None, "Refuse signatures without a time stamp."],
        ["refusals-as-text", None, "Refuse documents by HTTP 4xx with text, not by tickets."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["registers"] = []

    def opt_register(self, number: str) -> None:
        """Fiscal number of a register, once for each; without it 4000000001 and 4000000002."""
        if not number.isdecimal() or not 0 < int(number) < 10**18 or int(number) in self["registers"]:
            raise usage.UsageError(f"--register: {number!r} is no number of a register, or stands there twice")
        self["registers"].append(int(number))

    opt_r = opt_register

    def postOptions(self) -> None:
        """A recording is of a server that begins empty."""
        _tax_number(self["tin"])
        if self["record"] and self["ledger"]:
            raise usage.UsageError("--record: a server with a ledger may have registered something before; name one")

    def far_end(self, clock: IReactorTime) -> FarEnd:
        """The server."""
        from dmtwisted.commands.tax_far_end import tax_service

        return tax_service(self, clock)


class TaxKeyOptions(usage.Options):
    """``dmtwisted simulate tax-key``"""

    synopsis = "Usage: dmtwisted simulate tax-key [options]"
    longdesc = "Make one more cashier's key that the simulated tax service accepts. It is worth nothing elsewhere."
    optParameters: ClassVar[list[Any]] = [
        ["keys", "k", Path("tax-service"), "The folder of the simulator's keys; made when it is not there.", Path],
        ["file", "f", "cashier2", "Name of the files that are made, without their endings."],
        ["name", "n", "Тарас Бондар", "Who holds the key."],
        ["tin", None, TIN, "Tax number of the payer."],
        ["person", None, "", "Tax number of the person."],
        ["days", "d", 365.0, "Days until it ends; less than 0 for one that has ended.", float],
        ["password", None, "tax-test", "Of the key file."],
        ["kind", None, "p12", "p12, dat (Key-6.dat) or jks."],
        ["seed", None, None, "Makes the key; the same seed makes the same.", int],
    ]

    def postOptions(self) -> None:
        """What it is told has to fit."""
        _one_of(("p12", "dat", "jks"), "kind", self["kind"])
        _tax_number(self["tin"])
        if self["file"] in ("", "root", "server", "stamps") or "/" in self["file"] or "\\" in self["file"]:
            raise usage.UsageError("--file: a name is expected, other than root, server and stamps")
        if not isfinite(self["days"]) or abs(self["days"]) > 3650:
            raise usage.UsageError("--days: ten years are enough")


def _tax_number(text: str) -> None:
    if not (text.isascii() and text.isdecimal() and 5 <= len(text) <= 10):
        raise usage.UsageError("--tin: 5 to 10 digits are expected")


KINDS = "printer, ipp, terminal, tax-service or tax-key"


class SimulateOptions(usage.Options):
    """``dmtwisted simulate``"""

    synopsis = "Usage: dmtwisted simulate printer|ipp|terminal|tax-service|tax-key [options]"
    subCommands: ClassVar[list[Any]] = [
        ["printer", None, PrinterOptions, "A receipt printer."],
        ["ipp", None, IppOptions, "A print service with a queue, like CUPS."],
        ["terminal", None, TerminalOptions, "A bank terminal."],
        ["tax-service", None, TaxServiceOptions, "The tax service's fiscal server."],
        ["tax-key", None, TaxKeyOptions, "A cashier's key for it."],
    ]

    def postOptions(self) -> None:
        """One of the devices has to be named."""
        if not self.subCommand:
            raise usage.UsageError(f"say what to simulate: {KINDS}")


# Running


@dataclass(frozen=True)
class Running:
    """A simulator that can be reached, and the line that says where."""

    far_end: FarEnd
    line: str


def start(options: DeviceOptions, reactor: Any) -> Running:
    """Open the ledger and both ports.

    :raises NotStarted: when one of them cannot be opened; the ledger is closed again.
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
    line = f"dmtwisted simulate: {far_end.name} on {where}, control on http://{control}/{far_end.remark}"
    return Running(far_end, line)


def _open(options: DeviceOptions, clock: IReactorTime) -> FarEnd:
    far_end: FarEnd | None = None
    try:
        _look_at(options["ledger"])
        far_end = options.far_end(clock)
        # Read once, so that a file that is no ledger is told now and not to somebody's test.
        for _ in far_end.entries():
            pass
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        if far_end is not None:
            far_end.close()
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


def make_key(options: TaxKeyOptions) -> tuple[str, bool]:
    """Make a key; what is said of it."""
    from dmtwisted.commands import tax_far_end

    return tax_far_end.make_key(options, datetime.now(UTC)), True


def replay(options: TaxServiceOptions) -> tuple[str, bool]:
    """Play a recording; what came of it, and whether that is what was recorded."""
    from dmtwisted.commands import tax_far_end

    return tax_far_end.play(options["replay"])


def _at_once(work: Callable[[], tuple[str, bool]]) -> int:
    """Do what needs no ports: 0 when it went well, else 1."""
    try:
        told, well = work()
    except (OSError, ValueError) as error:
        print(f"dmtwisted simulate: {error}", file=sys.stderr)
        return 1
    print(told)
    return 0 if well else 1


def run(options: SimulateOptions) -> int:
    """Simulate until SIGTERM or Ctrl-C; 1 with one clear line when the simulator cannot run."""
    chosen: Any = options.subOptions
    if options.subCommand == "tax-key":
        return _at_once(lambda: make_key(chosen))
    if options.subCommand == "tax-service" and chosen["replay"] is not None:
        return _at_once(lambda: replay(chosen))
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
    # A shell hides Ctrl-C from what it starts behind itself; whoever asks us to stop shall be heard all the same.
    running_reactor.callWhenRunning(
        signal.signal, signal.SIGINT, lambda *_: running_reactor.callFromThread(running_reactor.stop)
    )
    # Told once signals are taken: whoever reads it may stop us at once.
    running_reactor.callWhenRunning(print, running.line, flush=True)
    running_reactor.run()
    # Lines that ended with the reactor may have had a last word for the ledger.
    running.far_end.close()
    return 0
