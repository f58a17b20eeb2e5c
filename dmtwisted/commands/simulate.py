"""A device without hardware, for whoever builds a till: ``dmtwisted simulate printer|ipp|terminal`` (design 8).

The simulators are those of `protocols.simulators`; here they get a place where tills reach them (a TCP port or a
serial port), a control port (`dmtwisted.commands.control`) and a file for their ledger.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, cast

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

from dmtwisted.commands.control import ControlSite, FarEnd
from dmtwisted.commands.far_ends import WIRES, Wire, ipp, printer, terminal
from dmtwisted.commands.serial_plug import SerialPlug
from protocols.printers.profiles import PROFILES
from protocols.serial import SerialEndpoint, SerialSettings
from protocols.simulators.ipp_printer import PRINT_S

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


def _shared_key(value: str) -> tuple[str, str, int]:
    passphrase, _, rest = value.partition(":")
    name, _, version = rest.partition(":")
    if not (passphrase and name and version.isascii() and version.isdecimal()):
        raise ValueError("PASSPHRASE:NAME:VERSION is expected")
    return passphrase, name, int(version)


class TerminalOptions(SerialOptions):
    """``dmtwisted simulate terminal``"""

    synopsis = "Usage: dmtwisted simulate terminal --protocol NAME [options]"
    optParameters = [  # noqa: RUF012
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
    return Running(far_end, f"dmtwisted simulate: {far_end.name} on {where}, control on http://{control}/")


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
