"""A till and a simulated register with a line between them, in memory and on a simulated clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.interfaces import IProtocol, IProtocolFactory
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.registers.troubles import DeviceRefused
from protocols.simulators.register_line import Fault, What
from protocols.terminals.lines import open_line
from tests.memory_line import MemoryEndpoint

_Value = TypeVar("_Value")
_Link = TypeVar("_Link", bound=IProtocol)


def steered(**faults: Fault) -> Callable[[str], Fault | None]:
    """Each named command suffers its fault once."""
    return lambda name: faults.pop(name, None)


def every(**faults: Fault) -> Callable[[str], Fault | None]:
    """Each named command suffers its fault every time."""
    return faults.get


def always(fault: Fault | None) -> Callable[[str], Fault | None]:
    """Every command suffers the fault."""
    return lambda _: fault


def spoilt(length: int) -> Iterator[Callable[[bytes], bytes]]:
    """Every way to cut, damage or lengthen bytes at one of the first ``length`` places."""
    for place in range(length):
        yield lambda data, place=place: data[:place]  # type: ignore[misc]
        yield lambda data, place=place: data[:place] + data[place + 1 :]  # type: ignore[misc]
        yield lambda data, place=place: data[:place] + b"\x20" + data[place:]  # type: ignore[misc]
        yield lambda data, place=place: bytes(b ^ 0x11 * (n == place) for n, b in enumerate(data))  # type: ignore[misc]


class Desk:
    """The till's side: it opens lines and waits for answers."""

    def __init__(self, clock: Clock, device: IProtocolFactory) -> None:
        self.clock, self.device = clock, device
        self.endpoint = MemoryEndpoint(clock, self._accept)
        self.spoil: Callable[[bytes], bytes] | None = None
        """Changes the next bytes on their way to the register."""

    def _accept(self) -> IProtocol | None:
        line: Any = self.device.buildProtocol(None)  # type: ignore[arg-type]
        if line is not None:
            line.dataReceived = self._spoiling(line.dataReceived)
        return cast("IProtocol | None", line)

    def _spoiling(self, deliver: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def receive(data: bytes) -> object:
            spoil, self.spoil = self.spoil, None
            return deliver(spoil(data) if spoil else data)

        return receive

    def open(self, build: Callable[[], Any]) -> Any:
        """A new line."""
        return self.done(open_line(self.endpoint, build))

    def begin(self, doing: Awaitable[_Value]) -> Deferred[_Value]:
        """Start; bytes flow, time does not."""
        begun = doing if isinstance(doing, Deferred) else ensureDeferred(cast(Coroutine[Any, Any, _Value], doing))
        self.endpoint.flush()
        return begun

    def done(self, doing: Awaitable[_Value]) -> _Value:
        """What becomes of it, however long that takes."""
        values: list[Any] = []
        self.endpoint.wait(self.begin(doing)).addBoth(values.append)
        self.endpoint.flush()
        assert values, "nothing became of it"
        if hasattr(values[0], "raiseException"):
            values[0].raiseException()
        return cast(_Value, values[0])


class DeskTestCase(SynchronousTestCase):
    """A test with refusals."""

    def refused(self, desk: Desk, doing: Awaitable[object]) -> str:
        """The code with which the register refuses."""
        return str(self.assertRaises(DeviceRefused, desk.done, doing).code)


__all__ = ["Desk", "DeskTestCase", "Fault", "What", "always", "every", "steered"]
