"""A till and a simulated register with a line between them, in memory and on a simulated clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.interfaces import IProtocol
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.registers.troubles import DeviceRefused
from protocols.simulators.register_line import Fault, SimulatedRegister, What
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


class Desk:
    """The till's side: it opens lines and waits for answers."""

    def __init__(
        self, clock: Clock, device: SimulatedRegister | None, endpoint: MemoryEndpoint | None = None
    ) -> None:
        self.clock = clock
        self.endpoint = endpoint or MemoryEndpoint(
            clock, lambda: cast("IProtocol | None", device.buildProtocol(None) if device else None)
        )

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
