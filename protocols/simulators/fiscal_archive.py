"""What the simulated fiscal server has registered, in a file that outlives it.

One JSON line for each thing that was taken: a document, or a whole package, so that a crash leaves all of a package
or nothing. A line that a crash cut short never happened. The server's state is what follows from these lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec


class Registered(msgspec.Struct, frozen=True):
    """One document under its fiscal ``number``: the bytes as they came, and what was signed."""

    number: str
    sent: bytes
    content: bytes


class Taken(msgspec.Struct, frozen=True):
    """Documents that were registered together, at ``at`` seconds since 1970, with the key of the signer."""

    at: float
    key: str
    name: str
    documents: tuple[Registered, ...]
    package: bool = False


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Taken).decode


class Archive:
    """Takes what was registered; iterating gives what was there when it was opened, oldest first.

    Without a path nothing outlives the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file: IO[bytes] | None = None
        self._lines: list[bytes] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = file = path.open("a+b", buffering=0)
            file.seek(0)
            self._lines = file.read().splitlines(keepends=True)
            if self._lines and not self._lines[-1].endswith(b"\n"):
                self._lines.pop()
                file.truncate(sum(map(len, self._lines)))

    def add(self, taken: Taken) -> None:
        """Write the next line; it is in the file when this returns."""
        if self._file is not None:
            self._file.write(_encode(taken) + b"\n")

    def __iter__(self) -> Iterator[Taken]:
        return map(_decode, self._lines)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
