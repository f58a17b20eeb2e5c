"""Commands that serve until they are stopped: simulators and the signing agent."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

from twisted.logger import (
    FilteringLogObserver,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)
from twisted.web.server import Site

from dmtwisted.commands.console import complain

LOOPBACK = "127.0.0.1"
"""The default address: no other machine reaches a simulator or a key by accident."""


class NotStarted(Exception):
    """The server cannot run; the text is one line for the operator, and ``advice`` says what to do."""

    def __init__(self, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.advice = advice


class QuietSite(Site):
    """An HTTP server without an access log."""

    def __init__(self, resource: Any, reactor: Any = None) -> None:
        super().__init__(resource, parsePOSTFormSubmission=False, reactor=reactor)

    def log(self, request: object) -> None:
        """Log nothing."""


def place(text: str) -> tuple[str, int]:
    """``HOST:PORT`` as host and port; the host is this machine by default.

    :raises ValueError: when it is something else.
    """
    host, _, number = text.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"{text!r}: an IPv6 address needs brackets, [::1]:9100")
    if not number.isdecimal() or int(number) > 0xFFFF:
        raise ValueError(f"{text!r}: HOST:PORT is expected, with a port up to 65535")
    return host.strip("[]") or LOOPBACK, int(number)


def serve(name: str, start: Callable[[Any], str]) -> int:
    """Start, print the line that ``start`` returns, and serve until SIGTERM or Ctrl-C.

    1 after one line that says why it cannot run. Warnings go to the standard error.
    """
    from twisted.internet import reactor  # installed only now: commands without a server need none

    running: Any = reactor
    warnings = LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)
    observer = FilteringLogObserver(textFileLogObserver(sys.stderr), [warnings])
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
    try:
        line = start(running)
    except NotStarted as error:
        complain(str(error), error.advice, f"dmtwisted {name}")
        return 1
    # A shell ignores Ctrl-C for its background processes; a SIGINT that is sent to us stops us all the same.
    running.callWhenRunning(signal.signal, signal.SIGINT, lambda *_: running.callFromThread(running.stop))
    # Printed when signals are handled: a program that reads it may stop us at once.
    running.callWhenRunning(print, line, flush=True)
    running.run()
    return 0
