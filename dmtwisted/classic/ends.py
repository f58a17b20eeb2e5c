"""The register's end of each line of an old till; all lines of a register share its last answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, ITCPTransport
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.classic.register import ClassicRegister
from dmtwisted.devices.devices import Devices
from dmtwisted.dispatch import Dispatcher
from dmtwisted.store.interface import IStore
from protocols.registers.datecs.frames import NAK, SYN, DatecsFrame, Deframer
from protocols.registers.numbered import Sign
from protocols.registers.numbered_device import DeviceEnd
from protocols.terminals.lines import drop

MOST_LINES = 4
"""Lines of one register at a time: a till whose line broke may have left one behind. The oldest one gives way."""


class _End(DeviceEnd[DatecsFrame]):
    signs: ClassVar = {Sign.REFUSED: bytes([NAK]), Sign.BUSY: bytes([SYN])}

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines.clock, Deframer(), lines.register.played)
        self._lines = lines

    def connectionMade(self) -> None:
        """Small packets leave at once, and a till that is gone is noticed."""
        if ITCPTransport.providedBy(self.transport):
            line = cast(Any, self.transport)
            line.setTcpNoDelay(True)
            line.setTcpKeepAlive(True)
            # Who does not read its answers is not read from: they are not collected here.
            line.registerProducer(line, True)
        self._lines.opened(self)

    def execute(self, frame: DatecsFrame) -> Deferred[bytes]:
        """Have the register obey."""
        return Deferred.fromCoroutine(self._lines.obey(frame, self))

    def give_way(self) -> None:
        """Close the line at once, also when nobody reads what was written."""
        self.hang_up()
        if self.transport is not None:
            drop(self.transport)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """One line less."""
        super().connectionLost(reason)
        self._lines.lost(self)


class Lines(Factory):
    """The lines of one register.

    :param admits: whether a till with this address may connect.
    """

    noisy = False
    log = Logger()

    def __init__(self, register: ClassicRegister, clock: Any, admits: Callable[[str], bool]) -> None:
        self.register, self.clock, self._admits = register, clock, admits
        self._ends: list[_End] = []
        self._strangers: set[str] = set()
        self._waiting: list[Deferred[None]] = []
        self.busy = False
        """Whether a command runs."""

    @property
    def connected(self) -> bool:
        """Whether there is a line."""
        return bool(self._ends)

    def buildProtocol(self, addr: IAddress | None) -> _End | None:
        """A line; `None` for a stranger, and while the service stops."""
        host = str(getattr(addr, "host", ""))
        if self.register.stopping:
            return None
        if not self._admits(host):
            if host not in self._strangers and len(self._strangers) < MOST_STRANGERS:
                self._strangers.add(host)
                self.log.warn("{host} may not use a register as a till: see classic_allowed", host=host)
            return None
        return _End(self)

    def opened(self, end: _End) -> None:
        """A line more."""
        self._ends.append(end)
        if len(self._ends) > MOST_LINES:
            self._ends.pop(0).give_way()

    def lost(self, end: _End) -> None:
        """A line less."""
        if end in self._ends:
            self._ends.remove(end)

    async def obey(self, frame: DatecsFrame, end: _End) -> bytes:
        """Execute a command."""
        self.busy = True
        try:
            return await self.register.obey(frame, end)
        finally:
            self.busy = False
            waiting, self._waiting = self._waiting, []
            for done in waiting:
                done.callback(None)

    async def idle(self) -> None:
        """Wait until no command runs."""
        if self.busy:
            done: Deferred[None] = Deferred()
            self._waiting.append(done)
            await done

    def hang_up(self) -> None:
        """Close every line."""
        for end in list(self._ends):
            end.hang_up()


MOST_STRANGERS = 100
"""Addresses that are told of in the log."""


def lines_of(
    dev_id: str, n: int, devices: Devices, dispatcher: Dispatcher, store: IStore, admits: Callable[[str], bool]
) -> Lines:
    """The lines of a register of the service."""
    return Lines(ClassicRegister(dev_id, n, devices, dispatcher, store), devices.clock, admits)
