"""The protocol between the service and its supervisor, over the pipes of a child process.

===================  ==========================================================================================
the service writes   the line `SERVING` to its standard output when it accepts requests; a line that begins with
                     `COMPLAINT` when it cannot start
the supervisor       closes the service's standard input: finish the running tasks, and end
===================  ==========================================================================================

A pipe instead of a signal, because Windows has no SIGTERM, and Ctrl+Break works only within a console, which services
do not have. The pipe also closes when the supervisor ends, so no service is left behind without one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

COMPLAINT = "dmtwisted: "
"""The beginning of the line with the reason why the service does not start."""

SERVING = "dmtwisted serves"
"""The line of a supervised service that accepts requests."""

CANNOT_LISTEN = "cannot listen on "
"""The beginning of the reason when the port is in use."""


def call_when_input_ends(reactor: Any, stop: Callable[[], object], descriptor: int = 0) -> Thread:
    """Call ``stop`` in the reactor's thread when the other end of the standard input is closed.

    The descriptor itself is read, because the lock of Python's stream would still be held when the interpreter ends.
    """

    def wait() -> None:
        with suppress(OSError):
            while os.read(descriptor, 4096):
                pass
        reactor.callFromThread(stop)

    thread = Thread(target=wait, name="supervisor", daemon=True)
    thread.start()
    return thread
