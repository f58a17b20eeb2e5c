"""What the service and its supervisor have to say to each other, over the pipes of a child process.

===================  ==========================================================================================
the service writes   `SERVING` on a line of its standard output when it takes requests; why it cannot start on one
                     that begins with `COMPLAINT`
the supervisor       closes the service's standard input: finish what is under way, and end
===================  ==========================================================================================

A pipe and no signal: Windows has no SIGTERM, and sends Ctrl+Break only within a console, which services have none of.
The pipe also ends with the supervisor, whatever becomes of that, so no service is left behind without one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

COMPLAINT = "dmtwisted: "
"""How a line begins that tells why the service does not start."""

SERVING = "dmtwisted serves"
"""The line by which a service under supervision tells that it takes requests."""

CANNOT_LISTEN = "cannot listen on "
"""How the complaint of a service goes on whose port is taken."""


def call_when_input_ends(reactor: Any, stop: Callable[[], object], descriptor: int = 0) -> Thread:
    """Have ``stop`` called in the reactor's thread when nobody holds the other end of the standard input any more.

    The descriptor itself is read, not Python's stream around it: that one's lock would be held when the interpreter
    ends.
    """

    def wait() -> None:
        with suppress(OSError):
            while os.read(descriptor, 4096):
                pass
        reactor.callFromThread(stop)

    thread = Thread(target=wait, name="supervisor", daemon=True)
    thread.start()
    return thread
