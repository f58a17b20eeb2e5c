"""The lines on which old tills find their registers: TCP and serial, opened and closed as the settings say.

Only this computer is answered, and addresses that `classic_allowed` of the register names, as long as the service
serves other machines at all, and within its hardened profile: the commands of such a till are as good as a cashier's,
and most of them bear no password.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.devices.devices import Devices, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.dispatch import Dispatcher
from dmtwisted.hardened import Circle
from dmtwisted.needs import Need, of_till_line
from dmtwisted.registers.settings import tcp_place
from dmtwisted.results import Refused
from dmtwisted.store.interface import IStore
from protocols.lazy import LazyModule

if TYPE_CHECKING:
    from dmtwisted.classic import ends
    from protocols import serial
else:
    # The codec of the dialect is loaded with the first register that has such a line.
    ends = LazyModule("dmtwisted.classic.ends")
    serial = LazyModule("protocols.serial")

EVERY = 2.0
"""Seconds between two looks at the settings."""

RETRY_LOOKS = 5
"""Looks between two tries to open a line that could not be opened."""

BACKLOG = 4


class _Where(NamedTuple):
    listen: str
    baudrate: int


class _Line:
    """The line of one register, open or not."""

    def __init__(self, dev_id: str, where: _Where, factory: ends.Lines) -> None:
        self.dev_id, self.where, self.factory = dev_id, where, factory
        self.port: Any = None
        self.opening = False
        self.why = ""
        self.rest = 0


class TillLines:
    """The lines of all registers that have one.

    :param serves: whether the service answers another machine with this address at all.
    """

    log = Logger()

    def __init__(
        self, devices: Devices, dispatcher: Dispatcher, store: IStore, serves: Callable[[str], bool]
    ) -> None:
        self._devices, self._dispatcher, self._store, self._serves = devices, dispatcher, store, serves
        self._clock = devices.clock
        self._lines: dict[str, _Line] = {}
        self._loop = LoopingCall(self.look)
        self._loop.clock = self._clock

    def start(self) -> None:
        """Open the lines, and follow the settings."""
        self._loop.start(EVERY)

    def stop(self) -> None:
        """Close the lines; what a till began goes on to its end."""
        if self._loop.running:
            self._loop.stop()
        for line in self._lines.values():
            line.factory.register.stopping = True
            self._close(line)

    async def ended(self) -> None:
        """Wait for what tills began."""
        for line in self._lines.values():
            await line.factory.idle()

    def needs(self) -> list[Need]:
        """A need for each line that could not be opened."""
        failed = {dev_id: line for dev_id, line in self._lines.items() if line.why}
        found = ((device, failed.get(device.row.dev_id)) for device in self._devices)
        return [of_till_line(device, line.where.listen, line.why) for device, line in found if line is not None]

    def look(self) -> None:
        """Open and close lines as the settings say now."""
        wanted = {
            device.row.dev_id: (device.row.n, _Where(settings.classic_listen, settings.classic_baudrate))
            for device in self._devices
            if device.kind == REGISTER and (settings := register_settings(device)).classic_listen
        }
        for dev_id, line in list(self._lines.items()):
            if dev_id not in wanted or wanted[dev_id][1] != line.where:
                self._close(line)
                if dev_id not in wanted and not line.factory.busy:
                    del self._lines[dev_id]
        for dev_id, (n, where) in wanted.items():
            known = self._lines.get(dev_id)
            if known is None or known.where != where:
                # The register goes on with what it has in memory.
                factory = self._factory(dev_id, n) if known is None else known.factory
                self._lines[dev_id] = known = _Line(dev_id, where, factory)
            try:
                self._open(known)
            except Exception:
                # One line must not keep the others from being opened.
                self.log.failure("{where} could not be opened", where=where.listen)

    def _factory(self, dev_id: str, n: int) -> ends.Lines:
        return ends.lines_of(
            dev_id, n, self._devices, self._dispatcher, self._store, lambda host: self._admits(dev_id, host)
        )

    def _admits(self, dev_id: str, host: str) -> bool:
        """Whether a till with this address may connect; an empty one is a serial port."""
        if not host or Circle().has_address(host):
            return True
        try:
            device = self._devices.by_id(dev_id)
        except Refused:
            return False
        return self._serves(host) and Circle.read(register_settings(device).classic_allowed).has_address(host)

    def _open(self, line: _Line) -> None:
        place = tcp_place(line.where.listen)
        if place is None:
            if line.factory.connected or line.opening:
                return
        elif line.port is not None:
            return
        line.rest -= 1
        if line.rest > 0:
            return
        line.rest = RETRY_LOOKS
        if place is None:
            self._open_port(line)
            return
        host, port = place
        try:
            line.port = self._clock.reactor.listenTCP(port, line.factory, BACKLOG, host)  # type: ignore[attr-defined]
        except CannotListenError as error:
            self._failed(line, str(error))
        else:
            line.why = ""
            self.log.info("an old till finds its register at {where}", where=line.where.listen)

    def _open_port(self, line: _Line) -> None:
        settings = serial.SerialSettings(line.where.listen, line.where.baudrate)
        line.opening = True
        opening: Deferred[Any] = serial.SerialEndpoint(self._clock.reactor, settings).connect(line.factory)

        def opened(end: Any) -> None:
            line.why, line.opening = "", False
            if self._lines.get(line.dev_id) is not line or line.factory.register.stopping:
                end.hang_up()

        def failed(reason: Failure) -> None:
            line.opening = False
            self._failed(line, reason.getErrorMessage())

        opening.addCallbacks(opened, failed)

    def _failed(self, line: _Line, why: str) -> None:
        if why != line.why:
            self.log.error("no old till can reach {where}: {why}", where=line.where.listen, why=why)
        line.why = why

    def _close(self, line: _Line) -> None:
        if line.port is not None:
            line.port.stopListening()
        line.port = None
        line.factory.hang_up()
