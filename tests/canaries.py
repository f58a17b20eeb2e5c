"""Full card numbers that simulated terminals send in tests: none may reach a store, an answer or a log.

`leaks` reads the files that the tests leave behind. `Watch` checks what leaves no file while they run: each call of a
store (in memory too), each answer to a client, and each line of the service's log, at debug level. It finds the
digits as text and in the forms in which frames are logged: bytes in hex, and groups of digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
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
from web.short_way import ShortChannel
from web.site import Door

CANARIES = (b"4111111111111111", b"5168750000007414", b"4731000011119838", b"4970101234567890", b"5413330000009999")
"""The card numbers. In a track more data may follow them."""

ON_PURPOSE = "tests.on_purpose"
"""The namespace of log lines that leak on purpose: they test that a leak is found."""

TRIAL_LOG = "test.log"
"""Trial writes its own log without our masking."""


def shapes(canary: bytes) -> tuple[bytes, ...]:
    """Every form of ``canary`` that a person could read."""
    digits = canary.decode()
    grouped = " ".join(digits[start : start + 4] for start in range(0, len(digits), 4))
    packed = " ".join(digits[start : start + 2] for start in range(0, len(digits), 2))
    return canary, grouped.encode(), canary.hex(" ").encode(), canary.hex().encode(), packed.encode()


def any_of(canaries: Iterable[bytes]) -> re.Pattern[bytes]:
    """A pattern that finds any of ``canaries`` in any form."""
    return re.compile(b"|".join(re.escape(shape) for canary in canaries for shape in shapes(canary)))


_USUAL = any_of(CANARIES)


def seen(data: bytes, wanted: re.Pattern[bytes] = _USUAL) -> str:
    """The first card number in ``data``, or an empty string."""
    found = wanted.search(data)
    return found[0].decode() if found is not None else ""


def leaks(folder: Path) -> list[str]:
    """Files below ``folder`` (databases, logs, ledgers) that contain a full card number."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and path.name != TRIAL_LOG and path.suffix != ".pyc":
            # A writer that outlives its service for a moment still tidies up behind itself.
            with suppress(FileNotFoundError):
                canary = seen(path.read_bytes())
                found += [f"{path}: {canary}"] if canary else []
    return found


class Watch:
    """Searches for card numbers while tests run; ``found`` has a line for each place where one was seen.

    :param test: returns the name of the test that runs.
    :param canaries: the card numbers to look for.
    """

    def __init__(self, test: Callable[[], str] = str, canaries: Iterable[bytes] = CANARIES) -> None:
        self._test, self._wanted = test, any_of(canaries)
        self.found: list[str] = []
        self._restore: list[Callable[[], object]] = []
        """Functions that undo the patches. After them, code that still has a patched function can call it safely."""

    def look(self, where: str, data: bytes | str) -> None:
        """Search ``data``, on its way to ``where``."""
        if not self._restore:
            return
        canary = seen(data.encode("utf-8", "replace") if isinstance(data, str) else data, self._wanted)
        line = f"{self._test()}: {where}: {canary}"
        if canary and line not in self.found:
            self.found.append(line)

    def begin(self) -> None:
        """Begin to search."""
        for module in (memory, sqlite):
            self._wrap(module, "frame", lambda framed, _: self.look("store", framed))
        self._wrap(server_store.ServerStore, "_ask", lambda _, asked: self.look("store", repr(asked)))
        for channel, name in ((HTTPChannel, "write"), (HTTPChannel, "writeSequence"), (ShortChannel, "send")):
            self._wrap(channel, name, lambda _, asked: self._written(*asked))
        for home, name in ((Dispatcher, "execute"), (TerminalService, "perform")):
            self._wrap_coroutine(home, name)
        watching = observer(cast(TextIO, self), "text", "debug")
        globalLogPublisher.addObserver(watching)
        self._restore.append(lambda: globalLogPublisher.removeObserver(watching))

    def end(self) -> None:
        """Stop searching."""
        while self._restore:
            self._restore.pop()()

    # The methods of a log file

    def write(self, text: str) -> int:
        """Search a line of the log."""
        if ON_PURPOSE not in text:
            self.look("log", text)
        return len(text)

    def flush(self) -> None:
        """There is no buffer."""

    # What is searched

    def _written(self, channel: Any, data: Any) -> None:
        if isinstance(getattr(channel, "site", None), Door):
            self.look("HTTP answer", data if isinstance(data, bytes) else b"".join(data))

    def _wrap(self, home: Any, name: str, looked: Callable[[Any, tuple[Any, ...]], object]) -> None:
        """Call ``looked`` with each result and the arguments of a function."""
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
