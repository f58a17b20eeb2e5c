"""The search of printers in the machine's networks, and of the protocols of a terminal or a register at one place.

It is started by a person, is gentle, and ends within `LONGEST_S`: at most `AT_ONCE` connections at a time, each for a
moment. A printer gets one status query, a terminal a ping, a register harmless questions; nothing is printed and no
payment starts. An address where a device of the service is already is not connected to.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from importlib import import_module
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Literal

import msgspec
from twisted.internet.defer import CancelledError, Deferred, DeferredList, TimeoutError
from twisted.internet.error import ConnectingCancelledError
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import Logger

from dmtwisted.devices.driver import REGISTER, TERMINAL, BadSettings
from dmtwisted.finding.finder import RAW_PORT, USUAL_PORTS, Finder, Found, line_of, serial_line
from dmtwisted.finding.machine import PRIVATE, networks_of
from dmtwisted.registers.interface import OnALine
from dmtwisted.results import Refused, Res, Text
from protocols.errors import NotReached, WireError
from protocols.printers.presence import Presence
from protocols.serial import TcpEndpoint

AT_ONCE = 32
"""Connections at a time."""

CONNECT_S, ANSWER_S = 0.8, 1.0
"""Seconds for a connection in the local network, and for the answer to one query."""

PING_S = 12.0
"""Seconds for a terminal's answer to a ping."""

LONGEST_S = 40.0
"""Seconds after which the search ends, wherever it is."""

PINGED: dict[str, dict[str, Any]] = {"privatbank-json": {"opening": "short"}, "ssi-json": {}, "ecr17": {}}
"""Protocols with a ping that changes nothing, and the settings for it. For the others an open port has to do."""

RECOGNISED = frozenset({"datecs", "datecs_classic", "ics", "maria"})
"""Drivers of registers that a search can find."""

RUNNING = Text("пошук уже триває", "a search is already running")


class SearchRecord(msgspec.Struct):
    """The search that runs or ran last: `what` is empty before the first one.

    `ended` is `whole`, `cancelled`, `late` when the time was up before all was tried, or `closed` when the line of a
    register cannot be opened.
    """

    what: Literal["", "printers", "terminals", "register"] = ""
    places: list[str] = msgspec.field(default_factory=list)
    running: bool = False
    done: int = 0
    total: int = 0
    ended: Literal["", "whole", "cancelled", "late", "closed"] = ""
    found: list[Found] = msgspec.field(default_factory=list)


class Place(msgspec.Struct, frozen=True):
    """Where a register is: as the settings of its driver say."""

    host: str = ""
    port: int = 0
    serial_port: str = ""
    """Empty: it is at the address."""

    @property
    def line(self) -> tuple[object, ...]:
        """See `Finder.device_at`."""
        return serial_line(self.serial_port) if self.serial_port else ("tcp", self.host, self.port)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that say so."""
        if self.serial_port:
            return {"interface": "serial", "serial_port": self.serial_port}
        return {"interface": "tcp", "host": self.host, "port": self.port}

    def __str__(self) -> str:
        return self.serial_port or f"{self.host}:{self.port}"


class Search:
    """One search at a time."""

    log = Logger()

    def __init__(self, finder: Finder) -> None:
        self._finder, self._clock = finder, finder.devices.clock
        self.record = SearchRecord()
        self._work: list[Deferred[None]] = []

    async def printers(self) -> None:
        """Begin to look for printers in the machine's own private networks.

        :raises Refused: 2100 while a search runs.
        """
        self._expect_rest()
        own = await self._clock.aside(self._finder.machine.addresses)
        self._expect_rest()
        networks = networks_of(own)
        hosts = [str(host) for network in networks for host in network.hosts() if str(host) not in own]
        self.record = SearchRecord("printers", [str(network) for network in networks], total=len(hosts))
        waiting = iter(hosts)
        self._begin([self._try_printers(waiting) for _ in range(AT_ONCE)])

    def terminals(self, host: str) -> None:
        """Begin to look for the protocols that the terminal at ``host`` speaks.

        :raises Refused: 2100 while a search runs.
        :raises BadSettings: when it is no address of a private network or of this machine.
        """
        self._expect_rest()
        _check_private(host)
        self.record = SearchRecord("terminals", [host], total=len(USUAL_PORTS))
        self._begin([self._try_terminal(driver, host, port) for driver, port in USUAL_PORTS.items()])

    def register(self, place: Place, dev_id: str = "") -> None:
        """Begin to find out which register is at a place, and at which speed.

        :param dev_id: the device whose settings are being changed: its own line is closed meanwhile.
        :raises Refused: 2100 while a search runs, or when another device has this line.
        :raises BadSettings: when the place is not complete, or is no address as of `terminals`.
        """
        self._expect_rest()
        if not place.serial_port:
            _check_private(place.host)
            if not place.port:
                raise BadSettings("port", "the port of the register is expected")
        there = [device for device in self._finder.devices if line_of(device) == place.line]
        for device in there:
            if device.row.dev_id != dev_id:
                raise Refused(Res.NOT_NOW, note=_used_by(device.name))
        # Four protocols, which only a shop that looks for a register has to load.
        finding = import_module("dmtwisted.finding.registers")
        self.record = SearchRecord("register", [str(place)], total=finding.steps(place.serial_port))
        self._begin([self._try_register(place, finding.found_at, there[0] if there else None)])

    def cancel(self) -> None:
        """End the search; what was found stays."""
        self._stop("cancelled")

    def _expect_rest(self) -> None:
        if self.record.running:
            raise Refused(Res.NOT_NOW, note=RUNNING)

    def _begin(self, work: list[Coroutine[Any, Any, None]]) -> None:
        record = self.record
        record.running, self._work = True, [Deferred.fromCoroutine(one) for one in work]
        late = self._clock.reactor.callLater(LONGEST_S, self._stop, "late")

        def ended(results: list[tuple[bool, Any]]) -> None:
            if late.active():
                late.cancel()
            record.running, record.ended = False, record.ended or "whole"
            for good, result in results:
                if not good and not result.check(CancelledError, ConnectingCancelledError):
                    self.log.failure("the search failed", result)

        DeferredList(self._work, consumeErrors=True).addCallback(ended)

    def _stop(self, why: Literal["cancelled", "late"]) -> None:
        if self.record.running:
            self.record.ended = why
            for one in self._work:
                one.cancel()

    async def _try_printers(self, waiting: Iterator[str]) -> None:
        for host in waiting:
            await self._try_printer(host)
            self.record.done += 1

    async def _try_printer(self, host: str) -> None:
        settings = {"interface": "tcp", "host": host}
        known = self._finder.device_at(("tcp", host, RAW_PORT))
        if known:
            self.record.found.append(Found("", host, "printer", "escpos", settings, known))
            return
        presence = await self._connected(host, RAW_PORT, lambda: Presence(self._clock.reactor, ANSWER_S))
        if presence is not None:
            answers = await presence.answered
            self.record.found.append(Found("", host, "printer", "escpos", settings, answers=answers))

    async def _try_terminal(self, driver: str, host: str, port: int) -> None:
        title = self._finder.devices.drivers[TERMINAL, driver].title
        settings = {"interface": "tcp", "host": host, "port": port}
        known = self._finder.device_at(("tcp", host, port))
        if known or await self._is_open(host, port):
            answers = not known and await self._pings(driver, settings)
            self.record.found.append(Found(title, f"{host}:{port}", "terminal", driver, settings, known, answers))
        self.record.done += 1

    async def _try_register(self, place: Place, found_at: Any, own: Any) -> None:
        if own is None or not isinstance(own.built, OnALine):
            return await self._find_out(place, found_at)
        async with own.turns.owned():
            await own.built.let_go()
            await self._find_out(place, found_at)

    async def _find_out(self, place: Place, found_at: Any) -> None:
        record = self.record

        def asked() -> None:
            record.done += 1

        try:
            found = await found_at(self._clock.reactor, place.host, place.port, place.serial_port, asked)
        except NotReached as error:
            self.log.info("{place} cannot be opened: {why}", place=place, why=str(error))
            record.ended = "closed"
            return
        if found is not None:
            settings = {**place.settings, **({"baudrate": found.baudrate} if found.baudrate else {})}
            title = found.model or self._finder.devices.drivers[REGISTER, found.protocol].title
            record.found.append(Found(title, str(place), REGISTER, found.protocol, settings, answers=True))

    async def _is_open(self, host: str, port: int) -> bool:
        return await self._connected(host, port, _Knock) is not None

    async def _pings(self, driver: str, settings: dict[str, Any]) -> bool:
        """Whether the terminal answers a ping; a busy one answers, too."""
        if driver not in PINGED:
            return False
        try:
            async with self._finder.devices.on_trial(TERMINAL, driver, {**settings, **PINGED[driver]}) as terminal:
                await Deferred.fromCoroutine(terminal.check()).addTimeout(PING_S, self._clock.reactor)
        except Refused as refused:
            return refused.res is Res.TERMINAL_BUSY
        except (WireError, TimeoutError):
            return False
        return True

    async def _connected(self, host: str, port: int, build: Callable[[], Any]) -> Any:
        """The protocol on an open line; `None` when there is no line."""
        try:
            return await TcpEndpoint(self._clock.reactor, host, port, CONNECT_S).connect(Factory.forProtocol(build))
        except NotReached:
            return None


def _used_by(name: str) -> Text:
    return Text(f"цю лінію використовує пристрій «{name}»", f"the device “{name}” uses this line")


class _Knock(Protocol):
    """Opens the line and closes it: nothing is sent."""

    def connectionMade(self) -> None:
        """Hang up."""
        assert self.transport is not None
        self.transport.loseConnection()


def _check_private(host: str) -> None:
    """See that ``host`` is an address of a private network, or of this machine.

    :raises BadSettings: when it is a name or a public address: the search is for the shop's own devices.
    """
    try:
        address = IPv4Address(host)
    except AddressValueError:
        raise BadSettings("host", "the address that the device shows is expected, like 192.168.1.50") from None
    if not (address.is_loopback or any(address in network for network in PRIVATE)):
        raise BadSettings("host", "only addresses of private networks are tried, like 192.168.1.50")
