"""The ledger of a simulated device or service: what has happened there, for fault tests to compare with.

One file for each device, one JSON line for each entry, written before the answer is sent. It survives
the process; a line that a crash cut short is dropped: that entry never happened.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

ACCEPTED, REFUSED = "accepted", "refused"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened; ``sum`` in kopecks, ``dt`` as ``yyyyMMddHHmmss``.

    ``hash`` is that of an offline document, which the next one repeats. ``until`` belongs to the end of an offline
    session that took too long: the time, like ``dt``, from which documents are accepted again.
    """

    n: int
    kind: str
    status: str
    number: str
    sum: int
    ref: str
    dt: str
    hash: str = ""
    until: str = ""


STRIDE = 64
"""Lines between two whose position in the file is kept."""

_BEGIN = b'{"n":'
"""The beginning of every line; a file with any other line is not a ledger, and is left alone."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


class Ledger:
    """The entries of one device, in a file or, without a path, in memory.

    :raises ValueError: when the file is not a ledger.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._lines: list[bytes] = []
        # The position of every 64th line in the file: one for each line would take memory with every sale.
        self._starts = array("Q")
        self._count = self._end = 0
        if path is not None:
            self._open(path)

    def __len__(self) -> int:
        return self._count

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = file = path.open("a+b", buffering=0)
        file.seek(0)
        with path.open("rb") as lines:
            for line in lines:
                if not (line.startswith(_BEGIN) or _BEGIN.startswith(line)):
                    file.close()
                    raise ValueError(f"{path} is not a ledger")
                if not line.endswith(b"\n"):
                    file.truncate(self._end)
                    break
                self._added(line)

    def _added(self, line: bytes) -> None:
        """Count a line."""
        if self._count % STRIDE == 0:
            self._starts.append(self._end)
        self._count += 1
        self._end += len(line)

    def add(
        self, kind: str, status: str, number: str, amount: int, ref: str, dt: str, hash: str = "", until: str = ""
    ) -> Entry:
        """Write the next entry; it is in the file when this returns.

        :raises ValueError: when the ledger was closed.
        """
        entry = Entry(self._count + 1, kind, status, number, amount, ref, dt, hash, until)
        line = _encode(entry) + b"\n"
        if self._path is None:
            self._lines.append(line)
        elif self._file is None:
            raise ValueError("the ledger is closed")
        else:
            self._file.write(line)
        self._added(line)
        return entry

    def entry(self, n: int) -> Entry:
        """The entry number ``n``, from 1."""
        if self._path is None:
            return _decode(self._lines[n - 1])
        with self._path.open("rb") as file:
            file.seek(self._starts[(n - 1) // STRIDE])
            for _ in range((n - 1) % STRIDE):
                file.readline()
            return _decode(file.readline())

    def entries(self) -> Iterator[Entry]:
        """Every entry, oldest first."""
        if self._path is None:
            yield from map(_decode, list(self._lines))
            return
        with self._path.open("rb") as file:
            for _ in range(self._count):
                yield _decode(file.readline())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
