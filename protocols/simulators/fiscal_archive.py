"""The archive of the simulated fiscal server: everything that it has registered, in a file.

One JSON line for each document or whole package, so a crash leaves all of a package or nothing. A line that a crash
cut short does not count. The server's state follows from these lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec


class ArchivedDocument(msgspec.Struct, frozen=True):
    """One document under its fiscal ``number``: the received bytes and the signed content."""

    number: str
    sent: bytes
    content: bytes


class Taken(msgspec.Struct, frozen=True):
    """Documents registered together, at ``at`` seconds since 1970, with the signer's key."""

    at: float
    key: str
    name: str
    documents: tuple[ArchivedDocument, ...]
    package: bool = False


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Taken).decode


class Archive:
    """Appends to the file; iterating gives what it contained when it was opened, oldest first.

    Without a path nothing is stored.
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
        """Write the next line; it is in the file on return."""
        if self._file is not None:
            self._file.write(_encode(taken) + b"\n")

    def __iter__(self) -> Iterator[Taken]:
        return map(_decode, self._lines)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
