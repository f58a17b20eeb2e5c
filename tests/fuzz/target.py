"""What a fuzz target is, and what is held against it whatever its bytes are.

A target is a function that takes any bytes. It raises when a promise is broken: another error than the documented
one, frames that depend on where the stream was cut, a message that is not read back as it was written. Around each
call time and memory are watched, so that a target cannot forget to.
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
"""The inputs that are kept: a folder for each target."""

LONGEST_TIME = 1.0
"""Seconds of processor time for one input: a stalled machine is no hang."""

MOST_GROWTH = 64.0
"""Megabytes by which one input may let the process grow, and all of them together."""


class Broken(AssertionError):
    """A promise that was not kept."""


@dataclass(frozen=True)
class Target:
    """A reader, and where fuzzing begins.

    :param check: takes any bytes; whatever it raises is a finding.
    :param seeds: golden bytes from the vectors.
    :param tokens: words of the language, which would take long to guess.
    :param longest: bytes of an input.
    """

    name: str
    check: Callable[[bytes], object]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    longest: int = 2048

    def corpus(self) -> list[Path]:
        """Its kept inputs, in order."""
        return sorted((CORPUS / self.name).glob("*"))


class Watch:
    """Calls targets, and notes what they log: a failure that is only logged is a failure all the same."""

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
        """Give ``data`` to ``target``.

        :raises Broken: when it takes too long or too much memory, or logs a failure; any exception of the target's.
        """
        if target.name not in _WARM:
            # The first call loads modules and makes what is made once; that is not what is watched.
            _WARM.add(target.name)
            with suppress(Exception):
                target.check(b"")
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
    """The most memory in megabytes that this process has had so far; 0 where nobody tells."""
    if sys.platform == "win32":
        return 0.0
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def cut(data: bytes) -> list[bytes]:
    """``data`` in pieces of one to sixteen bytes and now and then a long one; the same for the same bytes."""
    pieces, state, at = [], zlib.crc32(data), 0
    while at < len(data):
        state = zlib.crc32(b"cut", state)
        size = 1 + state % 16 if state & 0x300 else 1 + state % 500
        pieces.append(data[at : at + size])
        at += size
    return pieces


def same_however_cut(read: Callable[[Iterable[bytes]], Any], data: bytes) -> Any:
    """What ``read`` makes of ``data`` in one piece, which has to be what it makes of any pieces.

    :raises Broken: when it is not.
    """
    whole = read([data])
    for pieces in (cut(data), [data[at : at + 1] for at in range(len(data))]):
        found = read(pieces)
        if found != whole:
            raise Broken(f"in one piece: {whole!r}; in {len(pieces)} pieces: {found!r}")
    return whole


def until(error: type[Exception], found: Callable[[bytes], Iterable[Any]], pieces: Iterable[bytes]) -> list[Any]:
    """Everything that is found before ``error`` ends the stream, which is the last of it then."""

    def each() -> Iterator[Any]:
        try:
            for piece in pieces:
                yield from found(piece)
        except error as ended:
            yield type(ended)

    return list(each())
