"""The line to one register: opened when it is needed, opened again when it was lost.

A port that vanished, or a register without power, is tried again after pauses (docs/reference/registers.md#links).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger

from protocols.errors import LineLost, NotReached, WireError
from protocols.registers.troubles import DeviceRefused
from protocols.terminals.lines import drop, open_line

PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds before each further attempt to open a line; the last one stays."""

log = Logger()


class Link(Protocol):
    """The till's end of a line."""

    gone: bool
    lost: Deferred[None]
    transport: Any


_Link = TypeVar("_Link", bound=Any)
_Register = TypeVar("_Register")
_Value = TypeVar("_Value")


class KeptLine(Generic[_Register]):
    """The one line to a register, kept open between its uses. One use at a time.

    :param build: makes the till's end of a new line; what outlives lines, as the `Numbers` of commands, is its own.
    :param begin: says what a new line begins with, and has no effect; the register on this line.
    :param pauses: seconds after each attempt in vain, in which further ones fail at once.
    """

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        build: Callable[[], _Link],
        begin: Callable[[_Link], Awaitable[_Register]],
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        self._endpoint, self._clock, self._pauses = endpoint, clock, pauses
        self._build, self._begin = build, begin
        self._link: Link | None = None
        self._register: _Register | None = None
        self._failed = 0
        self._not_before = 0.0
        self._reason = ""
        self._closed = False

    async def register(self) -> _Register:
        """The register on an open line.

        :raises NotReached: there is none, or nobody answers there; nothing with an effect was sent.
        :raises DeviceRefused: the register refuses what a line begins with.
        """
        if self._register is not None and self._link is not None and not self._link.gone:
            return self._register
        if self._closed:
            raise NotReached("the line is closed")
        if self._clock.seconds() < self._not_before:
            raise NotReached(self._reason)
        try:
            self._register = register = await self._open()
        except WireError as error:
            self.drop()
            self._reason = error.reason if isinstance(error, NotReached) else str(error)
            self._not_before = self._clock.seconds() + self._pauses[min(self._failed, len(self._pauses) - 1)]
            self._failed += 1
            if isinstance(error, DeviceRefused | NotReached):
                raise
            raise NotReached(self._reason) from error
        except BaseException:
            self.drop()
            raise
        self._failed = 0
        return register

    async def ask(self, doing: Callable[[_Register], Awaitable[_Value]]) -> _Value:
        """Do what has no effect, and do it again on a new line when it failed.

        :raises WireError: it failed twice.
        """
        register = await self.register()
        try:
            return await doing(register)
        except DeviceRefused:
            raise
        except WireError as error:
            log.info("asked again on a new line: {why}", why=error)
            self.drop()
        register = await self.register()
        try:
            return await doing(register)
        except DeviceRefused:
            raise
        except WireError:
            self.drop()
            raise

    async def repeat(self, last: Callable[[Any], Awaitable[_Value]]) -> _Value:
        """Send the last command again, whose answer was lost, as the first one of a new line.

        :param last: gets the till's end of the line.
        :raises NotReached: there is no line; the command was not sent again.
        :raises WireError: its answer is lost again.
        """
        self.drop()
        try:
            return await last(await self._connect())
        finally:
            # The next use begins a line with a greeting.
            self.drop()

    def drop(self) -> None:
        """Close the line at once; the next use opens another."""
        self._register = None
        if self._link is not None and not self._link.gone and self._link.transport is not None:
            drop(self._link.transport)

    def close(self) -> None:
        """Close the line for good."""
        self._closed = True
        self.drop()

    async def _open(self) -> _Register:
        return await self._begin(await self._connect())

    async def _connect(self) -> Any:
        if self._link is not None and not self._link.gone:
            # A serial port is closed a little later, and is not shared until then.
            await self._link.lost
        self._register = None
        self._link = link = await open_line(self._endpoint, self._build)
        return link


@contextmanager
def underway() -> Iterator[None]:
    """What fails here fails after something was sent, so `NotReached` is said of no part of it."""
    try:
        yield
    except NotReached as error:
        raise LineLost(error.reason) from error
