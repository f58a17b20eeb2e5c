"""The simulated BPOS1 library as a COM server, for the Windows Python: ``from tests.bpos1_server import main``.

It is registered as ``ECRCommX.BPOS1Lib`` while it runs, and serves each process with an object of its own, all in
front of one simulated terminal. Commands are lines of JSON on its input, each with a line as answer.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ClassVar, cast

from twisted.internet.task import Clock

from protocols.simulators.bpos1 import Bpos1Device, Bpos1Library
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Terminal
from protocols.terminals.bpos1.child import NAME

with suppress(ImportError):
    import pythoncom
    import pywintypes
    import win32com.server.factory
    import win32com.server.register

CLASS = "{5E0B8A0E-6C0C-4B7E-9D1B-0B50511B0001}"
"""Our own class, not the vendor's."""

SPEC = "tests.bpos1_server.Server"

LONGEST_HANG = 30.0
"""Seconds for which a call of the library that hangs is kept."""

CLOCK = Clock()
CLOCK.advance(time.time())
COMMANDS: SimpleQueue[str] = SimpleQueue()


class Desk:
    """The terminal and its cable; another one at a command."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new terminal."""
        self.terminal = Terminal(CLOCK, duration=0.3)
        self.device = Bpos1Device(self.terminal, CLOCK)
        self.device.hang = hang


class Server(Bpos1Library):
    """The object of one process."""

    _public_methods_: ClassVar = [
        name for name, what in vars(Bpos1Library).items() if name[0].isupper() and callable(what)
    ]
    _public_attrs_: ClassVar = [
        name for name, what in vars(Bpos1Library).items() if name[0].isupper() and not callable(what)
    ]
    _readonly_attrs_ = _public_attrs_

    def __init__(self) -> None:
        super().__init__(DESK.device)


def turn() -> None:
    """Time passes, and COM delivers what came."""
    CLOCK.advance(max(time.time() - CLOCK.seconds(), 0.0))
    pythoncom.PumpWaitingMessages()
    time.sleep(0.005)


def hang() -> None:
    """A call that does not come back for a long time, while others are served."""
    until = time.time() + LONGEST_HANG
    while time.time() < until:
        turn()
        obey()


def obey() -> None:
    """Do the commands that have come."""
    with suppress(Empty):
        while True:
            command: dict[str, Any] = json.loads(COMMANDS.get_nowait() or '{"end": true}')
            if "end" in command:
                raise SystemExit
            if "begin" in command:
                DESK.begin()
            terminal, device = DESK.terminal, DESK.device
            if "rules" in command:
                terminal.scenario.replace({"rules": command["rules"]})
            for name in ("hangs", "stops", "at_once"):
                setattr(device, name, command.get(name, getattr(device, name)))
            if "confirming" in command:
                device.confirming = Then(command["confirming"])
            terminal.duration = command.get("duration", terminal.duration)
            entries = [(one.kind, one.status, one.sum, one.number, one.ref) for one in terminal.entries()]
            print(json.dumps({"entries": entries}), flush=True)


DESK = Desk()


def main() -> None:
    """Serve until the input ends."""

    def read() -> None:
        for line in sys.stdin:
            COMMANDS.put(line)
        COMMANDS.put("")

    ours: Any = pywintypes.IID(CLASS)
    pythoncom.CoInitializeEx(pythoncom.COINIT_APARTMENTTHREADED)
    with suppress(pythoncom.com_error):
        if pywintypes.IID(NAME) != ours:
            print('{"taken": true}', flush=True)
            return
    context = pythoncom.CLSCTX_LOCAL_SERVER
    win32com.server.register.RegisterServer(ours, SPEC, "a simulated BPOS1 library", NAME, clsctx=context)
    factories = win32com.server.factory.RegisterClassFactories(cast(Any, [CLASS]))
    pythoncom.CoResumeClassObjects()
    Thread(target=read, daemon=True).start()
    print("{}", flush=True)
    try:
        while True:
            turn()
            obey()
    finally:
        win32com.server.factory.RevokeClassFactories(factories)
        win32com.server.register.UnregisterServer(ours, NAME)
