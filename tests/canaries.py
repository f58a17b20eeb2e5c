"""Whole card numbers that simulated terminals send in tests: none may get into a store, an answer or a log.

`leaks` reads the files that the tests leave behind. `Watch` looks on while they run, at everything that leaves no
file: each question to a store (in memory too), each answer to a caller, and each line of the service's log, at debug.
Beside the digits as text it knows the shapes in which frames are traced: their bytes in hex, and two digits a byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO, cast

from twisted.logger import globalLogPublisher
from twisted.web.http import HTTPChannel

from dmtwisted.dispatch import Dispatcher
from dmtwisted.store import server_store
from dmtwisted.store.sqlite import memory
from dmtwisted.store.sqlite import store as sqlite
from dmtwisted.system.logs import observer
from dmtwisted.terminals.service import TerminalService
from web.site import Door

CANARIES = (b"4111111111111111", b"5168750000007414", b"4731000011119838", b"4970101234567890", b"5413330000009999")
"""The card numbers. Behind them in tracks there may be more."""

ON_PURPOSE = "tests.on_purpose"
"""The namespace of log lines by which a test shows that a leak is found."""

TRIAL_LOG = "test.log"
"""Trial's own log does not pass through ours, which masks."""


def shapes(canary: bytes) -> tuple[bytes, ...]:
    """``canary`` in every shape in which somebody could read it."""
    digits = canary.decode()
    grouped = " ".join(digits[start : start + 4] for start in range(0, len(digits), 4))
    packed = " ".join(digits[start : start + 2] for start in range(0, len(digits), 2))
    return canary, grouped.encode(), canary.hex(" ").encode(), canary.hex().encode(), packed.encode()


def any_of(canaries: Iterable[bytes]) -> re.Pattern[bytes]:
    """What finds any of ``canaries`` in any shape."""
    return re.compile(b"|".join(re.escape(shape) for canary in canaries for shape in shapes(canary)))


_USUAL = any_of(CANARIES)


def seen(data: bytes, wanted: re.Pattern[bytes] = _USUAL) -> str:
    """The first card number in ``data``; empty when there is none."""
    found = wanted.search(data)
    return found[0].decode() if found is not None else ""


def leaks(folder: Path) -> list[str]:
    """Files below ``folder``, databases and logs and ledgers, in which a whole card number stands."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and path.name != TRIAL_LOG and path.suffix != ".pyc":
            canary = seen(path.read_bytes())
            found += [f"{path}: {canary}"] if canary else []
    return found


class Watch:
    """Looks on while tests run; ``found`` has a line for each place where a card number was seen.

    :param test: tells which test runs.
    :param canaries: the card numbers to look for.
    """

    def __init__(self, test: Callable[[], str] = str, canaries: Iterable[bytes] = CANARIES) -> None:
        self._test, self._wanted = test, any_of(canaries)
        self.found: list[str] = []
        self._restore: list[Callable[[], object]] = []
        """What undoes the looking; whoever holds a function that is looked at calls it all the same."""

    def look(self, where: str, data: bytes | str) -> None:
        """Search ``data``, on its way to ``where``."""
        if not self._restore:
            return
        canary = seen(data.encode("utf-8", "replace") if isinstance(data, str) else data, self._wanted)
        line = f"{self._test()}: {where}: {canary}"
        if canary and line not in self.found:
            self.found.append(line)

    def begin(self) -> None:
        """Look from now on."""
        for module in (memory, sqlite):
            self._wrap(module, "frame", lambda framed, _: self.look("store", framed))
        self._wrap(server_store.ServerStore, "_ask", lambda _, asked: self.look("store", repr(asked)))
        for name in ("write", "writeSequence"):
            self._wrap(HTTPChannel, name, lambda _, asked: self._written(*asked))
        for home, name in ((Dispatcher, "execute"), (TerminalService, "perform")):
            self._wrap_coroutine(home, name)
        watching = observer(cast(TextIO, self), "text", "debug")
        globalLogPublisher.addObserver(watching)
        self._restore.append(lambda: globalLogPublisher.removeObserver(watching))

    def end(self) -> None:
        """Look no more."""
        while self._restore:
            self._restore.pop()()

    # What the log writes to.

    def write(self, text: str) -> int:
        """A line of the log."""
        if ON_PURPOSE not in text:
            self.look("log", text)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""

    # Places to look at.

    def _written(self, channel: Any, data: Any) -> None:
        if isinstance(channel.site, Door):
            self.look("HTTP answer", data if isinstance(data, bytes) else b"".join(data))

    def _wrap(self, home: Any, name: str, looked: Callable[[Any, tuple[Any, ...]], object]) -> None:
        """Have ``looked`` see what a function gives and what it was given."""
        wrapped = getattr(home, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            given = wrapped(*arguments, **named)
            looked(given, arguments)
            return given

        self._put(home, name, watched)

    def _wrap_coroutine(self, home: Any, name: str) -> None:
        wrapped = getattr(home, name)

        async def watched(*arguments: Any, **named: Any) -> Any:
            answer = await wrapped(*arguments, **named)
            self.look("answer", bytes(answer))
            return answer

        self._put(home, name, watched)

    def _put(self, home: Any, name: str, watched: Any) -> None:
        before = getattr(home, name)
        setattr(home, name, watched)
        self._restore.append(lambda: setattr(home, name, before))
