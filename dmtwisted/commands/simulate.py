"""A device without hardware, for developers of tills: ``dmtwisted simulate KIND``.

The simulators are those of `protocols.simulators`; here they get a TCP or serial port for tills, a control port
(`dmtwisted.commands.control`) and a file for their ledger (docs/reference/http-interface.md#simulated-devices).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IProtocolFactory, IReactorTime
from twisted.python import usage
from twisted.python.failure import Failure

from dmtwisted.commands.console import complain
from dmtwisted.commands.control import Control, SimulatedPeer
from dmtwisted.commands.options import CommandOptions, Group
from dmtwisted.commands.serial_plug import SerialPlug
from dmtwisted.commands.servers import LOOPBACK, NotStarted, QuietSite, place, serve
from dmtwisted.commands.simulated_devices import REGISTER_WIRES, WIRES, Wire, ipp, marks, printer, register, terminal
from dmtwisted.config import place_of
from dmtwisted.system.files import describe_error
from dmtwisted.system.owners import taken
from protocols.printers.profiles import PROFILES
from protocols.serial import SerialEndpoint, SerialSettings
from protocols.simulators.ipp_printer import PRINT_S
from protocols.simulators.iron import AfterCut

TIN = "34554363"
"""The payer of the official samples; invented, like the registers of the simulated tax service."""

LEDGER_BEGINS = b'{"n":'
"""The first bytes of a ledger with an entry."""


# The command line


def seconds(text: str) -> float:
    """A duration.

    :raises ValueError: when it is negative or not a number.
    """
    value = float(text)
    if not isfinite(value) or value < 0:
        raise ValueError(f"{text} is not a duration")
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


class DeviceOptions(CommandOptions):
    """Options of all simulators."""

    optParameters: ClassVar[list[Any]] = [
        ["listen", "l", None, "Where tills connect; by default this machine only and a free port.", place],
        ["control", "c", None, "The control port; by default this machine only and a free port.", place],
        ["ledger", None, None, "The file of the ledger, kept over restarts; by default in memory.", Path],
        ["seed", None, None, "The seed of everything random; the same seed makes the same.", int],
    ]

    def postOptions(self) -> None:
        """Check that the options fit together."""

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The device or service."""
        raise NotImplementedError

    def serial(self) -> SerialSettings | None:
        """Its serial line, if any."""
        return None


class SerialOptions(DeviceOptions):
    """Options of simulators that can use a serial line."""

    optParameters: ClassVar[list[Any]] = [
        ["serial", None, None, "The serial port for tills instead of a TCP port."],
        ["baudrate", None, None, "Its speed; by default the usual one of the device.", _positive],
    ]

    def postOptions(self) -> None:
        """Check that the options fit together."""
        if self["serial"] and self["listen"]:
            raise usage.UsageError("--serial and --listen: give only one of them")
        if self["baudrate"] and not self["serial"]:
            raise usage.UsageError("--baudrate needs --serial")

    def serial(self) -> SerialSettings | None:
        """The chosen port with the usual settings of the device."""
        if not self["serial"]:
            return None
        settings = replace(self.usual_line(), port=self["serial"])
        return replace(settings, baudrate=self["baudrate"]) if self["baudrate"] else settings

    def usual_line(self) -> SerialSettings:
        """The usual settings of the device's serial line."""
        return SerialSettings("")


class PrinterOptions(SerialOptions):
    """``dmtwisted simulate printer``"""

    longdesc = (
        f"Simulate an ESC/POS or Star receipt printer by its profile: {', '.join(PROFILES)}. Nothing is random."
    )
    optParameters: ClassVar[list[Any]] = [
        ["profile", "p", "epson", "The profile of the printer."],
        ["paper", None, None, "Length of its roll in millimetres; by default the paper never ends.", _positive],
    ]
    optFlags: ClassVar[list[Any]] = [["mute", None, "Never answer, like many cheap printers."]]

    def postOptions(self) -> None:
        """Check the profile."""
        super().postOptions()
        _one_of(PROFILES, "profile", self["profile"])

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The printer."""
        return printer(self, clock)


class IppOptions(DeviceOptions):
    """``dmtwisted simulate ipp``"""

    longdesc = "Simulate a print service with one queue, like CUPS over IPP. Nothing is random."
    optParameters: ClassVar[list[Any]] = [
        ["queue", "q", "receipts", "The name of the queue: ipp://HOST:PORT/printers/NAME."],
        ["duration", "d", PRINT_S, "Seconds per job.", seconds],
        ["profile", "p", "epson", "The profile of its printer, for the strip."],
    ]

    def postOptions(self) -> None:
        """Check the profile."""
        _one_of(PROFILES, "profile", self["profile"])

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The print service."""
        return ipp(self, clock)


class RegisterOptions(SerialOptions):
    """``dmtwisted simulate register``"""

    synopsis = "--protocol NAME [options]"
    optParameters: ClassVar[list[Any]] = [
        ["protocol", "p", None, "The protocol, see below."],
        ["after-cut", None, None, "What it does with an open document after a power cut: keeps or voids."],
    ]

    def getUsage(self, width: int | None = None) -> str:
        """The options and the protocols."""
        return f"{super().getUsage(width)}\nProtocols: {', '.join(REGISTER_WIRES)}.\nNothing is random.\n"

    def postOptions(self) -> None:
        """Check the protocol and its options."""
        super().postOptions()
        _one_of(REGISTER_WIRES, "protocol", self["protocol"])
        if self["serial"] and REGISTER_WIRES[self["protocol"]].serial is None:
            raise usage.UsageError(f"--serial: {self['protocol']} uses TCP only")
        if self["after-cut"] is not None:
            _one_of([habit.value for habit in AfterCut], "after-cut", self["after-cut"])
        if self["ledger"] is not None:
            raise usage.UsageError("--ledger: a register keeps its books in memory")

    def usual_line(self) -> SerialSettings:
        """The usual settings of its protocol."""
        return REGISTER_WIRES[self["protocol"]].serial or super().usual_line()

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The register."""
        return register(self, clock)


def _shared_key(value: str) -> tuple[str, str, int]:
    passphrase, _, rest = value.partition(":")
    name, _, version = rest.partition(":")
    if not (passphrase and name and version.isascii() and version.isdecimal()):
        raise ValueError("PASSPHRASE:NAME:VERSION is expected")
    return passphrase, name, int(version)


class TerminalOptions(SerialOptions):
    """``dmtwisted simulate terminal``"""

    synopsis = "--protocol NAME [options]"
    optParameters: ClassVar[list[Any]] = [
        ["protocol", "p", None, "The protocol, see below."],
        ["duration", "d", 1.5, "Seconds per operation, the customer included.", seconds],
        ["hold", None, 60.0, "Seconds that a held purchase waits for the cashier.", seconds],
        ["adjust", None, None, "Seconds that a purchase waits after the card (privatbank-json only).", seconds],
        ["terminal-id", None, None, "Its terminal number."],
        ["currency", None, None, "The ISO code of its currency: 3 digits (zvt, caisse-ap), 3 letters (nexo)."],
        ["lrc", None, None, "The variant of its check byte: std, stx, noext, stx_noext (ecr17 only)."],
        ["pem", None, None, "A file with certificate and private key, for HTTPS (nexo only)."],
        ["shared-key", None, None, "PASSPHRASE:NAME:VERSION of the shared key (nexo only).", _shared_key],
        ["notices", None, None, "The URL to which it posts the texts of its display (nexo only)."],
    ]

    def getUsage(self, width: int | None = None) -> str:
        """The options and the protocols."""
        return f"{super().getUsage(width)}\nProtocols: {', '.join(WIRES)}.\nThe seed makes the customers' cards.\n"

    def postOptions(self) -> None:
        """Check the protocol and its options."""
        super().postOptions()
        _one_of(WIRES, "protocol", self["protocol"])
        if self["serial"] and self.wire.serial is None:
            raise usage.UsageError(f"--serial: {self['protocol']} uses TCP only")
        if self["adjust"] is not None and self["protocol"] != "privatbank-json":
            raise usage.UsageError("--adjust: only privatbank-json has it")
        for option in ("pem", "shared-key", "notices"):
            if self[option] is not None and self["protocol"] != "nexo":
                raise usage.UsageError(f"--{option}: only nexo has it")
        if self["lrc"] is not None:
            if self["protocol"] != "ecr17":
                raise usage.UsageError("--lrc: only ecr17 has it")
            _one_of(("std", "stx", "noext", "stx_noext"), "lrc", self["lrc"])
        if self["currency"] is not None:
            self._check_currency(self["currency"])
        if self["protocol"] == "ecr17" and self["terminal-id"]:
            number = self["terminal-id"]
            if not (len(number) == 8 and number.isascii() and number.isdecimal()):
                raise usage.UsageError("--terminal-id: ecr17 has 8 digits")

    def _check_currency(self, code: str) -> None:
        protocol = self["protocol"]
        if protocol not in ("zvt", "caisse-ap", "nexo"):
            raise usage.UsageError("--currency: only zvt, caisse-ap and nexo have it")
        fits = code.isalpha() and code.isupper() if protocol == "nexo" else code.isdecimal()
        if not (fits and code.isascii() and len(code) == 3):
            wanted = "3 capital letters" if protocol == "nexo" else "3 digits"
            raise usage.UsageError(f"--currency: {protocol} has {wanted}")

    @property
    def wire(self) -> Wire:
        """The protocol."""
        return WIRES[self["protocol"]]

    def usual_line(self) -> SerialSettings:
        """The usual settings of the protocol."""
        return self.wire.serial or super().usual_line()

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The terminal."""
        return terminal(self, clock)


class MarksOptions(DeviceOptions):
    """``dmtwisted simulate marks``"""

    longdesc = "Simulate a marks service: what a shop's accounting program knows of its excise marks."
    optParameters: ClassVar[list[Any]] = [
        ["token", None, "", "The token that requests must have in X-Auth-Token."],
        ["object", None, "", "The code of the shop whose marks it has."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["marks"] = []

    def opt_mark(self, mark: str) -> None:
        """A mark in stock, can be repeated; the action put_mark brings more."""
        self["marks"].append(mark)

    opt_m = opt_mark

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The service."""
        return marks(self, clock)


class TaxServiceOptions(DeviceOptions):
    """``dmtwisted simulate tax-service``"""

    written: ClassVar = {"keys": "FOLDER", "protocol": "a|b"}
    longdesc = (
        "Simulate the tax service: its fiscal server (protocol A) or the cabinet's server (B), with signed answers."
        " Its keys and one for a cashier are created in a folder at the first start, by the seed if given. Documents"
        " are stored beside the ledger."
    )
    optParameters: ClassVar[list[Any]] = [
        ["protocol", "p", "a", "The protocol: a or b."],
        ["keys", "k", Path("tax-service"), "The folder of its keys.", Path],
        ["calls", None, None, "Calls of one key in a minute; by default as many as come (b).", _positive],
        ["tin", None, TIN, "Tax number of the owner of its registers."],
        ["record", None, None, "Record every exchange in this file (a).", Path],
        [
            "replay",
            None,
            None,
            "Replay a recording against a new server, print the differences, and end (a).",
            Path,
        ],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["tls", None, "Use TLS; name authority.pem in the folder of the keys as server_ca."],
        ["stamps", None, "Refuse signatures without a time stamp (a)."],
        ["refusals-as-text", None, "Refuse documents by HTTP 4xx with text instead of tickets (a)."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["registers"] = []

    def opt_register(self, number: str) -> None:
        """Fiscal number of a register, can be repeated; by default 4000000001 and 4000000002."""
        if not number.isdecimal() or not 0 < int(number) < 10**18 or int(number) in self["registers"]:
            raise usage.UsageError(f"--register: {number!r} is not a register's number, or is given twice")
        self["registers"].append(int(number))

    opt_r = opt_register

    def postOptions(self) -> None:
        """Check that the options fit together."""
        _one_of(("a", "b"), "protocol", self["protocol"])
        _tax_number(self["tin"])
        others = ("calls",) if self["protocol"] == "a" else ("record", "replay", "stamps", "refusals-as-text")
        for option in others:
            if self[option]:
                raise usage.UsageError(f"--{option}: protocol {self['protocol']} does not have it")
        if self["record"] and self["ledger"]:
            raise usage.UsageError("--record and --ledger: a recording needs an empty server, give only one of them")

    def peer(self, clock: IReactorTime) -> SimulatedPeer:
        """The server."""
        peer: SimulatedPeer = _tax().tax_service(self, clock)
        return peer


class TaxKeyOptions(CommandOptions):
    """``dmtwisted simulate tax-key``"""

    written: ClassVar = {"keys": "FOLDER", "file": "NAME", "kind": "p12|dat|jks"}
    longdesc = "Create another cashier's key for the simulated tax service. No other service accepts it."
    optParameters: ClassVar[list[Any]] = [
        ["keys", "k", Path("tax-service"), "The folder of the simulator's keys; created when absent.", Path],
        ["file", "f", "cashier2", "Name of the created files, without their endings."],
        ["name", "n", "Тарас Бондар", "The name of the cashier."],
        ["tin", None, TIN, "Tax number of the payer."],
        ["person", None, "", "Tax number of the cashier."],
        ["days", "d", 365.0, "Days until it expires; negative for an expired key.", float],
        ["password", None, "tax-test", "The password of the key file."],
        ["kind", None, "p12", "The kind of the key file; dat is Key-6.dat."],
        ["seed", None, None, "The seed of the key; the same seed makes the same key.", int],
    ]

    def postOptions(self) -> None:
        """Check the options."""
        _one_of(("p12", "dat", "jks"), "kind", self["kind"])
        _tax_number(self["tin"])
        if self["file"] in ("", "root", "server", "stamps") or "/" in self["file"] or "\\" in self["file"]:
            raise usage.UsageError("--file: a name other than root, server and stamps is expected")
        if not isfinite(self["days"]) or abs(self["days"]) > 3650:
            raise usage.UsageError("--days: at most ten years are possible")


def _tax() -> Any:
    """The simulated tax service, which imports much that devices do not need."""
    return import_module("dmtwisted.commands.simulated_tax_service")


def _tax_number(text: str) -> None:
    if not (text.isascii() and text.isdecimal() and 5 <= len(text) <= 10):
        raise usage.UsageError("--tin: 5 to 10 digits are expected")


class SimulateOptions(Group):
    """``dmtwisted simulate``"""

    subCommands: ClassVar[list[Any]] = [
        ["printer", None, PrinterOptions, "Simulate a receipt printer."],
        ["ipp", None, IppOptions, "Simulate a print service with a queue, like CUPS."],
        ["register", None, RegisterOptions, "Simulate a hardware register."],
        ["terminal", None, TerminalOptions, "Simulate a bank terminal."],
        ["tax-service", "tax", TaxServiceOptions, "Simulate the tax service's server."],
        ["tax-key", None, TaxKeyOptions, "Create a cashier's key for the tax service."],
        ["marks", None, MarksOptions, "Simulate a marks service, which knows excise marks."],
    ]


# Running


@dataclass(frozen=True)
class Running:
    """A running simulator, and the line that describes it."""

    peer: SimulatedPeer
    line: str


def start(options: DeviceOptions, reactor: Any) -> Running:
    """Open the ledger and both ports.

    :raises NotStarted: when one of them cannot be opened; the ledger is closed again.
    """
    peer = _open(options, reactor)
    try:
        serial = options.serial()
        if serial is None:
            where = _listen(reactor, options["listen"], peer.factory)
        else:
            where = _plug_in(reactor, serial, peer.factory)
        control = _listen(reactor, options["control"], QuietSite(Control(peer)))
    except NotStarted:
        peer.close()
        raise
    line = f"dmtwisted simulate: {peer.name} on {where}, control on http://{control}/{peer.remark}"
    return Running(peer, line)


def _open(options: DeviceOptions, clock: IReactorTime) -> SimulatedPeer:
    peer: SimulatedPeer | None = None
    try:
        _look_at(options["ledger"])
        peer = options.peer(clock)
        # Read once, so that a file that is not a ledger is reported now and not in a test.
        for _ in peer.entries():
            pass
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        if peer is not None:
            peer.close()
        if options["ledger"] is None:
            raise
        why = error.strerror or str(error) if isinstance(error, OSError) else f"it is not a ledger ({error})"
        raise NotStarted(f"the ledger {options['ledger']} cannot be opened: {why}") from None
    return peer


def _look_at(ledger: Path | None) -> None:
    """Refuse another file before anything is written beside it, or one of its lines is taken for a broken entry.

    :raises ValueError: when it is not a ledger.
    """
    if ledger is not None and ledger.exists():
        with ledger.open("rb") as file:
            # A crash may have cut the first entry short.
            if not LEDGER_BEGINS.startswith(file.read(len(LEDGER_BEGINS))):
                raise ValueError("it begins with something else")


def _listen(reactor: Any, at: tuple[str, int] | None, factory: object) -> str:
    host, number = at or (LOOPBACK, 0)
    try:
        address = reactor.listenTCP(number, factory, interface=host).getHost()
    except CannotListenError as error:
        why, advice = taken(number, error.socketError)
        raise NotStarted(f"cannot listen on {place_of(host, number)}: {why}", advice) from None
    return place_of(address.host, address.port)


def _plug_in(reactor: Any, settings: SerialSettings, factory: IProtocolFactory) -> str:
    failures: list[Failure] = []
    SerialPlug(reactor, SerialEndpoint(reactor, settings), factory).plug_in().addErrback(failures.append)
    if failures:
        reason = failures[0]
        raise NotStarted(getattr(reason.value, "reason", None) or reason.getErrorMessage())
    return f"{settings.port} ({settings.baudrate} baud)"


def make_key(options: TaxKeyOptions) -> tuple[str, bool]:
    """Create a key; its description."""
    return _tax().make_key(options, datetime.now(UTC)), True


def replay(options: TaxServiceOptions) -> tuple[str, bool]:
    """Replay a recording; the result, and whether it is equal to the recording."""
    result: tuple[str, bool] = _tax().play(options["replay"])
    return result


def _reason(error: Exception) -> str:
    return describe_error(error) if isinstance(error, OSError) else str(error)


def _at_once(work: Callable[[], tuple[str, bool]]) -> int:
    """Do work without a server: 0 when it succeeded, else 1."""
    try:
        text, well = work()
    except (OSError, ValueError) as error:
        complain(_reason(error), command="dmtwisted simulate")
        return 1
    print(text)
    return 0 if well else 1


def run(options: SimulateOptions) -> int:
    """Simulate until SIGTERM or Ctrl-C; 1 after one line that says why the simulator cannot run."""
    chosen: Any = options.subOptions
    if options.subCommand == "tax-key":
        return _at_once(lambda: make_key(chosen))
    if options.subCommand == "tax-service" and chosen["replay"] is not None:
        return _at_once(lambda: replay(chosen))
    started: list[Running] = []

    def begin(reactor: Any) -> str:
        started.append(start(chosen, reactor))
        return started[0].line

    status = serve("simulate", begin)
    # Connections that ended with the reactor may have had a last entry for the ledger.
    for running in started:
        running.peer.close()
    return status
