"""The resources of the service's processes at one moment: memory, descriptors, threads, files on the disk."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add
from pathlib import Path

from dmtwisted.lab.children import family, is_writer

PROC = Path("/proc")
KILOBYTES = ("Pss", "Private_Clean", "Private_Dirty", "Pss_Anon")


@dataclass(frozen=True)
class Held:
    """Resources of one process; ``pss`` is its share of its memory, ``uss`` its private memory, ``anon`` its memory
    without code and files, in kilobytes."""

    pss: int = 0
    uss: int = 0
    anon: int = 0
    descriptors: int = 0
    threads: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class Sample:
    """One moment, ``at`` seconds after the load began; sizes of files in bytes."""

    at: float
    service: Held
    writer: Held
    processes: int
    database: int = 0
    log: int = 0
    unfinished: int = 0
    """Operations that are running or whose outcome is unknown."""
    waiting: int = 0
    """Requests that the tills cannot send yet, because the one before is not answered."""

    @property
    def whole(self) -> Held:
        """Service and writer together."""
        return self.service + self.writer


def held_by(pid: int, proc: Path = PROC) -> Held:
    """The resources of the process ``pid``.

    :raises OSError: when it has ended.
    """
    found = dict.fromkeys(KILOBYTES, 0)
    for line in (proc / str(pid) / "smaps_rollup").read_text("utf-8").splitlines():
        name, _, rest = line.partition(":")
        if name in found:
            found[name] = int(rest.split()[0])
    status = (proc / str(pid) / "status").read_text("utf-8")
    threads = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:")), 0)
    return Held(
        found["Pss"],
        found["Private_Clean"] + found["Private_Dirty"],
        found["Pss_Anon"],
        sum(1 for _ in (proc / str(pid) / "fd").iterdir()),
        threads,
    )


def sample(pid: int, at: float, state: Path, log: Path, unfinished: int = 0, waiting: int = 0) -> Sample:
    """The service ``pid`` and its descendants as they are now."""
    service, writer, count = Held(), Held(), 0
    for member in family(pid):
        try:
            held = held_by(member)
        except OSError:
            # It has ended: a process that opens a key or draws a picture.
            continue
        count += 1
        if is_writer(member):
            writer += held
        else:
            service += held
    database = sum(_size(file) for file in state.glob("dmtwisted.db*"))
    return Sample(at, service, writer, count, database, _size(log), unfinished, waiting)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def gauge(metrics: str, name: str) -> int:
    """The sum of all values of one metric; 0 when it is missing."""
    return round(
        sum(
            float(line.rsplit(" ", 1)[1])
            for line in metrics.splitlines()
            if line.startswith(name) and line[len(name) : len(name) + 1] in (" ", "{")
        )
    )
