"""The process of the vendor's library: COM in an apartment of its own, commands from standard input.

It is started for one operation and killed when a call of the library does not come back, which no thread could be.
Only this module imports pywin32. A 32-bit library answers here through a surrogate (docs/reference/bpos1.md#library).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from protocols.terminals.bpos1.library import POLL, Library
from protocols.terminals.bpos1.messages import CALLS, Said, line_of, read_call

with suppress(ImportError):
    import pythoncom

NAME = "ECRCommX.BPOS1Lib"
"""The name under which the library is registered."""

UNKNOWN_CLASS = frozenset({-2147221005, -2147221164})
"""Errors of COM for a class that is not registered: by its name, and by its number."""

UKRAINIAN = 1
"""The language of the library's own texts."""

NO_WINDOWS, NO_PYWIN32, UNREGISTERED, BROKEN = "windows", "pywin32", "unregistered", "broken"
"""Why there is no library."""


METHODS = CALLS | {"CommClose", "SetErrorLang"}


class Com:
    """The object by its bare interface.

    With `win32com.client` it may take the call of a method to find out whether a name is one, and a purchase must not
    be called to find that out.
    """

    def __init__(self, dispatch: Any) -> None:
        self._dispatch = dispatch
        self._numbers: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._dispatch.GetIDsOfNames(0, name)
        if name in METHODS:
            return partial(self._dispatch.Invoke, number, 0, pythoncom.DISPATCH_METHOD, False)
        return self._dispatch.Invoke(number, 0, pythoncom.DISPATCH_PROPERTYGET, True)


def serve(commands: BinaryIO, say: Callable[[Said], None], com: Any, pump: Callable[[], object]) -> None:
    """Do what the lines of ``commands`` name until they end.

    :param pump: lets COM deliver its messages to this thread.
    """
    waiting: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        for line in commands:
            waiting.put(line)
        waiting.put(b"")

    Thread(target=read, daemon=True).start()
    library = Library(com, say, time.monotonic)
    while True:
        line = None
        with suppress(Empty):
            line = waiting.get(timeout=POLL)
        if line == b"":
            library.close()
            return
        pump()
        if line is not None:
            library.take(read_call(line))
        library.look()


def main() -> int:
    """The process."""
    # What a library prints must not come between our lines.
    lines = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)

    def say(said: Said) -> None:
        lines.write(line_of(said))

    if sys.platform != "win32":
        say(Said(absent=f"this system is {sys.platform}", reason=NO_WINDOWS))
        return 1
    if "pythoncom" not in sys.modules:
        say(Said(absent="pywin32 is not installed", reason=NO_PYWIN32))
        return 1
    pythoncom.CoInitializeEx(pythoncom.COINIT_APARTMENTTHREADED)
    try:
        name: Any = NAME
        com = Com(pythoncom.CoCreateInstance(name, None, pythoncom.CLSCTX_SERVER, pythoncom.IID_IDispatch))
        com.SetErrorLang(UKRAINIAN)
        version = str(com.LibraryVersion)
    except pythoncom.com_error as error:
        reason = UNREGISTERED if error.args[0] in UNKNOWN_CLASS else BROKEN
        say(Said(absent=str(error.args[1]), reason=reason))
        return 1
    say(Said(version=version))
    serve(sys.stdin.buffer, say, com, pythoncom.PumpWaitingMessages)
    return 0


if __name__ == "__main__":
    # At once: a thread of the library may not come to its end.
    os._exit(main())
