"""What a fuzz target is, and what is checked for any bytes.

A target is a function that takes any bytes. It raises when a promise is broken: an error other than the documented
one, frames that depend on the cuts of the stream, a message whose encoding is not read back as the same. Time and
memory of each call are checked outside of the targets, so that no target can forget it.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from twisted.logger import ILogObserver, globalLogPublisher

CORPUS = Path(__file__).parent / "corpus"
"""The committed inputs: a folder for each target."""

LONGEST_TIME = 1.0
"""The limit of processor time for one input, in seconds: a slow machine is not an endless loop."""

MOST_GROWTH = 64.0
"""By how many megabytes one input may make the process grow, and all of them together."""


class Broken(AssertionError):
    """A broken promise."""


@dataclass(frozen=True)
class Target:
    """A reader, and the inputs with which fuzzing begins.

    :param check: takes any bytes; each exception is a finding.
    :param seeds: golden bytes from the vectors.
    :param tokens: words of the format, which would take long to guess.
    :param longest: the longest input, in bytes.
    """

    name: str
    check: Callable[[bytes], object]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    longest: int = 2048

    def corpus(self) -> list[Path]:
        """Its committed inputs, in order."""
        return sorted((CORPUS / self.name).glob("*"))


class Watch:
    """Calls targets and records their log: a failure that is only logged is a failure too."""

    def __init__(self) -> None:
        self._logged: list[str] = []
        self._observer = cast(ILogObserver, self._note)

    def __enter__(self) -> Watch:
        globalLogPublisher.addObserver(self._observer)
        return self

    def __exit__(self, *_: object) -> None:
        globalLogPublisher.removeObserver(self._observer)

    def _note(self, event: Any) -> None:
        failure = event.get("log_failure")
        if failure is not None:
            self._logged.append(failure.getTraceback())

    def hold(self, target: Target, data: bytes) -> None:
        """Call ``target`` with ``data``.

        :raises Broken: when it takes too long or too much memory, or logs a failure; else the target's exceptions.
        """
        if target.name not in _WARM:
            # The first call loads modules and fills caches; it is not measured.
            _WARM.add(target.name)
            for first in (b"", data):
                with suppress(Exception):
                    target.check(first)
        self._logged.clear()
        before, begun = peak(), time.process_time()
        target.check(data)
        spent, grown = time.process_time() - begun, peak() - before
        if self._logged:
            raise Broken(f"a failure was logged: {self._logged[0]}")
        if spent > LONGEST_TIME:
            raise Broken(f"{spent:.2f} s of processor time, {LONGEST_TIME} are allowed")
        if grown > MOST_GROWTH:
            raise Broken(f"{grown:.0f} MB more memory, {MOST_GROWTH:.0f} are allowed")


_WARM: set[str] = set()
"""Targets that were called in this process."""


def peak() -> float:
    """The process's largest memory so far, in megabytes; 0 where the system does not report it."""
    if sys.platform == "win32":
        return 0.0
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def cut(data: bytes) -> list[bytes]:
    """``data`` in pieces of one to sixteen bytes, sometimes longer; the same pieces for the same data."""
    pieces, state, at = [], zlib.crc32(data), 0
    while at < len(data):
        state = zlib.crc32(b"cut", state)
        size = 1 + state % 16 if state & 0x300 else 1 + state % 500
        pieces.append(data[at : at + size])
        at += size
    return pieces


def same_however_cut(read: Callable[[Iterable[bytes]], Any], data: bytes) -> Any:
    """The result of ``read`` for ``data`` in one piece, which must be its result for any pieces.

    :raises Broken: when it is not.
    """
    whole = read([data])
    for pieces in (cut(data), [data[at : at + 1] for at in range(len(data))]):
        found = read(pieces)
        if found != whole:
            raise Broken(f"in one piece: {whole!r}; in {len(pieces)} pieces: {found!r}")
    return whole


def until(error: type[Exception], found: Callable[[bytes], Iterable[Any]], pieces: Iterable[bytes]) -> list[Any]:
    """The items before ``error`` ends the stream, then the error."""

    def each() -> Iterator[Any]:
        try:
            for piece in pieces:
                yield from found(piece)
        except error as ended:
            yield type(ended)

    return list(each())
