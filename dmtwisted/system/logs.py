"""The log of the service: one line for each event, with the id of the request that it belongs to.

Text for people::

    2026-11-21T10:15:02.123+02:00 info dmtwisted.dispatch [3f2a9c01] till test paid 12550

or one JSON object per line for collectors. No line shows a card number, and fields with secret names show ``***``.

The id is a context variable. A coroutine run by `Deferred.fromCoroutine` that sets it keeps it through every
``await`` and in the coroutines that it starts; others do not see it. Callbacks of a plain `Deferred` run with the id
of the code that fires it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import random
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import lru_cache
from string import Formatter
from threading import Lock, get_ident
from typing import Any, NamedTuple, TextIO

import msgspec
from twisted.logger import ILogObserver, LogEvent, Logger, LogLevel, formatEvent
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.clock import kyiv
from dmtwisted.config import ConfigError, LogConfig
from dmtwisted.security import HIDDEN, is_secret, mask_cards, mask_secrets, shortened

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the current request; empty outside of requests."""

Schedule = Callable[[Callable[[], None]], object]
"""Runs a function soon in the reactor's thread, such as ``partial(reactor.callLater, 0)``."""

LEVELS = ("debug", "info", "warn", "error", "critical")
"""The levels by their names in the log, the lowest first."""

INDENT = "\n    "
"""The start of continuation lines in text form, so that no line looks like another event."""

RECENT, LONGEST_RECENT = 500, 2000
"""Lines that are kept for the log page, and characters of each: a megabyte at most, usually a tenth."""

LONGEST_VALUE, LONGEST_TEXT = 600, 16_000
"""Characters of one value in a line, and of a whole line or traceback; of a longer one the middle is left out."""

FILE_MODE = 0o640
"""The mode of a new log file: the owner writes, the group reads."""

_ids = random.Random()
_acceptable = re.compile(rb"[A-Za-z0-9._-]{1,64}").fullmatch
_controls = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_plain_name = re.compile(r"[^\W\d]\w*").fullmatch
_encode = msgspec.json.Encoder().encode


def new_request_id() -> str:
    """A new id of eight hexadecimal digits, which is not a secret."""
    return f"{_ids.getrandbits(32):08x}"


def clean_request_id(value: bytes | None) -> str | None:
    """A client's ``X-Request-Id`` if it is valid in a log: 1 to 64 letters, digits and ``._-``."""
    return value.decode("ascii") if value is not None and _acceptable(value) else None


def open_observer(config: LogConfig, schedule: Schedule | None = None) -> LineObserver:
    """The observer for ``config``: it appends to its file, or writes to the standard output.

    :raises ConfigError: when the file cannot be opened.
    """
    try:
        written_at = os.stat(config.file).st_mtime if config.file and os.path.exists(config.file) else None
        stream = _open_stream(config.file)
    except OSError as error:
        name = config.file or "the standard output"
        raise ConfigError(f"[log] file: {name} cannot be opened ({error.strerror})") from None
    opened = observer(stream, config.format, config.level, schedule)
    opened.path, opened.written_at = config.file, written_at
    # The reactor may stop before the last lines are written.
    atexit.register(opened.flush)
    return opened


def _open_stream(path: str) -> TextIO:
    return open(
        path or 1,
        "a" if path else "w",
        encoding="utf-8",
        # A lone surrogate in a name must not lose the line.
        errors="backslashreplace",
        newline="\n",
        closefd=bool(path),
        opener=_open_private if path else None,
    )


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def observer(
    stream: TextIO, format: str = "text", level: str = "info", deferred_flush: Schedule | None = None
) -> LineObserver:
    """An observer that writes events of ``level`` and above to ``stream``, which must accept any character.

    With ``deferred_flush`` all lines of one reactor turn are written together, otherwise each line at once.
    """
    return LineObserver(stream, _json_line if format == "json" else _text_line, level, deferred_flush)


class Recent(deque[str]):
    """The newest lines; ``written`` counts all that ever were, so that a reader knows what it missed."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        super().__init__(lines, RECENT)
        self.written = len(self)

    def append(self, line: str) -> None:
        """Add a line; the oldest one goes."""
        self.written += 1
        super().append(line)


class Told(dict[str, Any]):
    """An event whose fields are texts and numbers: its line can be made when it is written."""


class Sentence:
    """A sentence that is logged for every task; calling it is `Logger.info` at a quarter of the cost.

    :param format: names texts and numbers only.
    """

    def __init__(self, log: Logger, format: str) -> None:
        self._observer = log.observer
        self._always = {
            "log_logger": log,
            "log_level": LogLevel.info,
            "log_namespace": log.namespace,
            "log_source": log.source,
            "log_format": format,
        }

    def __call__(self, **fields: str | int | float) -> None:
        """Log it with ``fields``."""
        self._observer(Told(fields, **self._always, log_time=time.time()))


_Waiting = tuple[LogEvent, str, str]
"""An event whose line is not made yet, its level, and the id of its request."""


@implementer(ILogObserver)
class LineObserver:
    """Turns events into lines and writes them; a log that cannot be written does not stop the service."""

    def __init__(
        self,
        stream: TextIO,
        render: Callable[[LogEvent, str, str], str],
        level: str,
        schedule: Schedule | None,
    ) -> None:
        self._stream, self._render, self._schedule = stream, render, schedule
        self._names: dict[Any, str] = {LogLevel.lookupByName(name): name for name in LEVELS[LEVELS.index(level) :]}
        self._lines: list[str | _Waiting] = []
        self._expected = False
        self._writing = Lock()
        self._home = get_ident()
        self.recent = Recent()
        """The newest lines that were written, for the log page."""
        self.path = ""
        """The file; empty for any other stream."""
        self.written_at: float | None = None
        """When the file was last written before us, in seconds since 1970; `None` for a new file."""

    def __call__(self, event: LogEvent) -> None:
        """Write ``event`` if its level is high enough."""
        level = self._names.get(event.get("log_level", LogLevel.info))
        if level is None:
            return
        if event.__class__ is Told:
            # Another observer may add to the event.
            self._lines.append((event.copy(), level, request_id.get()))
        else:
            line = self._render(event, level, request_id.get())
            if not line:
                return
            self._lines.append(line)
        # Errors are written at once, since the process may end before the next turn. Other threads cannot use the
        # reactor.
        if self._schedule is None or level in ("error", "critical") or get_ident() != self._home:
            self.flush()
        elif not self._expected:
            self._expected = True
            self._schedule(self.flush)

    def flush(self) -> None:
        """Write the waiting lines."""
        self._expected = False
        # A line can come from another thread, or from a destructor in the middle of this: it is written by the code
        # that holds the lock, which checks for new lines after releasing it.
        while self._lines and self._writing.acquire(blocking=False):
            try:
                waiting = self._lines.copy()
                del self._lines[: len(waiting)]
                lines = [each if each.__class__ is str else self._render(*each) for each in waiting]
                for line in lines:
                    self.recent.append(line if len(line) <= LONGEST_RECENT else f"{line[:LONGEST_RECENT]}…\n")
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):
                # A full disk or a closed pipe: there is no other place for the error.
                pass
            finally:
                self._writing.release()

    def was_taken_away(self) -> bool:
        """Whether another program has moved the file; on Windows that is not possible."""
        if os.name != "posix":
            return False
        try:
            ours, there = os.fstat(self._stream.fileno()), os.stat(self.path)
        except (OSError, ValueError):
            return True
        return (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino)

    def turn_over(self, move: Callable[[], None]) -> None:
        """Close the file, let ``move`` rename it, and continue in a new one; lines wait meanwhile.

        :raises OSError: when it cannot be renamed, and the old one continues, or when none can be opened.
        """
        self.flush()
        with self._writing:
            with contextlib.suppress(OSError):
                self._stream.close()
            try:
                move()
            finally:
                self._stream = _open_stream(self.path)
        self.flush()

    def close(self) -> None:
        """Write the waiting lines and close the stream."""
        self.flush()
        atexit.unregister(self.flush)
        with contextlib.suppress(OSError):
            self._stream.close()


def _text_line(event: LogEvent, level: str, request: str) -> str:
    text = _sentence(event)
    failure = event.get("log_failure")
    if failure is not None:
        text = f"{text}\n{_traceback(failure)}" if text else _traceback(failure)
    if not text:
        return ""
    if not text.isprintable():
        text = _controls.sub(_escaped, text.rstrip()).replace("\n", INDENT)
    if len(text) > LONGEST_TEXT:
        text = shortened(text, LONGEST_TEXT)
    words = mask_cards(f"[{request}] {text}" if request else text)
    namespace = event.get("log_namespace", "-")
    return f"{_time(event)} {level} {namespace} {words}\n"


def _json_line(event: LogEvent, level: str, request: str) -> str:
    text = _sentence(event)
    failure = event.get("log_failure")
    if not text and failure is None:
        return ""
    members: dict[str, Any] = {
        "time": _time(event),
        "level": level,
        "namespace": event.get("log_namespace", "-"),
        "request_id": mask_cards(request),
        "message": mask_cards(text if len(text) <= LONGEST_TEXT else shortened(text, LONGEST_TEXT)),
    }
    for name, value in event.items():
        if value.__class__ in _SIMPLE and name not in members and not name.startswith("log_"):
            members[name] = HIDDEN if is_secret(name) else _without_card(value)
    if failure is not None:
        members["traceback"] = mask_cards(_traceback(failure))
    try:
        return _encode(members).decode() + "\n"
    except UnicodeEncodeError:
        # A lone surrogate: JSON can express it, UTF-8 cannot.
        return json.dumps(members) + "\n"


_SIMPLE = frozenset({str, int, float, bool, type(None)})
_NUMBERS = frozenset({int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple})


def _without_card(value: Any) -> Any:
    if value.__class__ is str:
        return mask_cards(value if len(value) <= LONGEST_VALUE else shortened(value, LONGEST_VALUE))
    if value.__class__ in (int, float) and abs(value) >= 10**12:
        digits = str(value)
        masked = mask_cards(digits)
        return value if masked == digits else masked
    return value


class _Plan(NamedTuple):
    """How to fill in a format with ``fields``; secrets are replaced by ``***``.

    ``simple`` when every field is a name; Twisted allows more, such as calls.
    """

    format: str
    fields: tuple[str, ...]
    simple: bool


@lru_cache(maxsize=1024)
def _plan(format: str) -> _Plan | None:
    """The plan for ``format``; `None` when it is invalid."""
    parts: list[str] = []
    names: list[str] = []
    simple = True
    try:
        for literal, name, spec, conversion in Formatter().parse(format):
            parts.append(literal.replace("{", "{{").replace("}", "}}"))
            if name is None:
                continue
            if any(map(is_secret, re.split(r"[.\[\]()]+", name))):
                parts.append(HIDDEN)
                continue
            parts.append(f"{{{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}")
            names.append(name)
            simple = simple and "{" not in (spec or "") and _plain_name(name) is not None
    except ValueError:
        return None
    return _Plan("".join(parts), tuple(names), simple)


def _sentence(event: LogEvent) -> str:
    """The text of ``event``; empty when it has none."""
    format = event.get("log_format")
    if format is None:
        return ""
    plan = _plan(format) if format.__class__ is str else None
    if plan is not None and plan.simple:
        fields = event
        for name in plan.fields:
            if fields.get(name).__class__ in _CONTAINERS:
                fields = {**fields, name: mask_secrets(fields[name])}
        try:
            text = plan.format.format_map(fields)
            if len(text) > LONGEST_VALUE:
                text = plan.format.format_map({name: _bounded(fields[name]) for name in plan.fields})
            return text
        except Exception:
            # Twisted's own formatting has a text for every error.
            pass
    masked = {**mask_secrets(event), "log_format": format if plan is None else plan.format}
    masked.pop("log_flattened", None)
    return formatEvent(masked)


def _bounded(value: Any) -> Any:
    """``value``, or its beginning and end when it is a long text or would become one."""
    if value.__class__ in _NUMBERS:
        return value
    text = str(value)
    return value if len(text) <= LONGEST_VALUE else shortened(text, LONGEST_VALUE)


def _traceback(failure: Failure) -> str:
    try:
        text = failure.getTraceback().rstrip()
        return text if len(text) <= LONGEST_TEXT else shortened(text, LONGEST_TEXT)
    except Exception as error:
        return f"(no traceback: {error.__class__.__name__})"


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode("ascii")


def _time(event: LogEvent) -> str:
    """The time of ``event`` in Kyiv with milliseconds, as in the journal."""
    second, millisecond = divmod(int((event.get("log_time") or time.time()) * 1000), 1000)
    stamp, zone = _second(second)
    return f"{stamp}.{millisecond:03d}{zone}"


@lru_cache(maxsize=4)
def _second(second: int) -> tuple[str, str]:
    """A second since 1970 in Kyiv: date with time, and zone; most lines have the same second as the one before."""
    text = kyiv(second * 1000).isoformat()
    return text[:19], text[19:]
