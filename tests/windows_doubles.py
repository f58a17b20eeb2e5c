"""Stand-ins for the modules of pywin32 that talk to ports and events, with its own signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from twisted.internet.task import Clock


class error(Exception):
    """``pywintypes.error``: number, function, text."""

    def __init__(self, winerror: int, funcname: str, strerror: str) -> None:
        super().__init__(winerror, funcname, strerror)
        self.winerror, self.funcname, self.strerror = winerror, funcname, strerror


@dataclass
class Overlapped:
    """``OVERLAPPED``."""

    hEvent: Any = None
    due: int | None = None
    """The bytes of its write."""


@dataclass
class ComStat:
    """``COMSTAT``."""

    cbInQue: int = 0


@dataclass
class ComPort:
    """A Windows COM port: received bytes, sent bytes, and whether its cable was pulled."""

    incoming: bytes = b""
    outgoing: list[bytes] = field(default_factory=list)
    unplugged: bool = False
    reading: int = 0
    short: int = 0
    """Bytes that it does not take of the next write."""
    closed: bool = False

    def check(self, function: str) -> None:
        """Fail as Windows does when the device is gone."""
        if self.unplugged:
            raise error(22, function, "The device does not recognize the command.")
        if self.closed:
            raise error(6, function, "The handle is invalid.")


class StillWaiting(Exception):
    """An event is not set: its thread waits."""


SET: set[object] = set()
"""The events that are set; a wait resets one."""

THREADS: list[PortThread] = []
"""The threads of events."""


def modules() -> dict[str, ModuleType]:
    """``pywintypes``, ``win32event`` and ``win32file``, as far as COM ports need them."""
    pywintypes, win32event, win32file = (ModuleType(name) for name in ("pywintypes", "win32event", "win32file"))

    def create_event(attributes: object, manual: int, state: int, name: object, /) -> object:
        return object()

    def reset_event(event: object, /) -> None:
        return None

    def clear(handle: ComPort, /) -> tuple[int, ComStat]:
        handle.check("ClearCommError")
        return 0, ComStat(len(handle.incoming))

    def wait(event: object, milliseconds: int, /) -> int:
        if event not in SET:
            raise StillWaiting
        SET.remove(event)
        return 0

    def read(handle: ComPort, buffer: int, overlapped: Overlapped, /) -> tuple[int, bytearray]:
        handle.check("ReadFile")
        taken, handle.incoming = handle.incoming[:buffer], handle.incoming[buffer:]
        handle.reading = len(taken)
        return 0, bytearray(taken.ljust(buffer, b"\0"))

    def write(handle: ComPort, data: bytes, overlapped: Overlapped, /) -> tuple[int, int]:
        handle.check("WriteFile")
        handle.outgoing.append(data)
        overlapped.due = len(data)
        return 997, 0

    def result(handle: ComPort, overlapped: Overlapped, wait: int, /) -> int:
        handle.check("GetOverlappedResult")
        return handle.reading if overlapped.due is None else overlapped.due - handle.short

    given: dict[ModuleType, dict[str, Any]] = {
        pywintypes: {"error": error},
        win32event: {
            "CreateEvent": create_event,
            "ResetEvent": reset_event,
            "SetEvent": SET.add,
            "WaitForSingleObject": wait,
            "INFINITE": -1,
        },
        win32file: {
            "OVERLAPPED": Overlapped,
            "AllocateReadBuffer": lambda size, /: size,
            "ClearCommError": clear,
            "ReadFile": read,
            "WriteFile": write,
            "GetOverlappedResult": result,
        },
    }
    for module, names in given.items():
        module.__dict__.update(names)
    return {module.__name__: module for module in given}


def installed() -> dict[str, ModuleType]:
    """The stand-ins; nothing has happened to them."""
    SET.clear()
    THREADS.clear()
    return modules()


class PortThread:
    """The thread of an event, which runs when the test says so."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
        self.target, self.args, self.daemon = target, args, daemon

    def start(self) -> None:
        """Wait for the event."""
        THREADS.append(self)

    def run(self) -> bool:
        """Go on until it waits again; return whether it does, or has ended."""
        try:
            self.target(*self.args)
        except StillWaiting:
            return True
        THREADS.remove(self)
        return False


class CompletionPorts(Clock):
    """A reactor on completion ports: it has no readers and writers."""

    def callFromThread(self, work: Callable[..., None], *given: Any) -> None:
        """Do it in the reactor's thread, which is this one."""
        work(*given)

    def happen(self, action: str) -> None:
        """Signal the events of that name."""
        for thread in tuple(THREADS):
            event, _, name = thread.args
            if name == action:
                SET.add(event)
                thread.run()
