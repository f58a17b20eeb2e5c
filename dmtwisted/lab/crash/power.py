"""Power cuts: what a disk may have when the power fails, made from the calls of a service that was killed.

``strace`` records the calls by which the processes of the service change files. When the service was killed, the
folder is made again as a disk might have it: whatever was synced before is there; of what was not synced, any part.

*Contents.* A write or a new size is durable once `fsync` or `fdatasync` of its file has returned. Until then each
sector of 512 bytes may be there or not, whatever the order; a file may be longer without the bytes, which are zero.

*Names.* New, changed and removed names are durable once their folder was synced. Until then they may be missing,
but not those before a name that is there: file systems keep the order of names in a journal. To sync a file does not
keep its name.

The index of SQLite's log (``-shm``) is no content: it is made anew by the first process that opens the database.

Before each cut the recorded calls are played whole: were the files then not those on the real disk, a call would be
missing here, and nothing proved. A file with a call that never returned is left out of that: it may be half done.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from dmtwisted.lab.children import BenchFailed

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""

CALLS = (
    *("openat", "creat", "write", "writev", "pwrite64", "pwritev", "ftruncate", "truncate", "fallocate", "lseek"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "link", "linkat"),
    *("fsync", "fdatasync", "sendfile", "copy_file_range"),
)
"""The calls that change files."""

NOT_CONTENT = ("-shm",)
"""How names end of files that no process reads after a start."""

DIE_S = 20.0
"""Seconds within which processes are gone, and their end is recorded."""

SHARES = (0.0, 0.1, 0.5, 0.9)
"""Of the sectors that were not synced, how many are there: one of these in each cut."""


def tracer(file: Path) -> list[str]:
    """The command before another one whose processes, and theirs, are recorded in ``file``.

    :raises BenchFailed: when there is no ``strace``.
    """
    program = shutil.which("strace")
    if program is None:
        raise BenchFailed("power cuts need strace (Debian: apt-get install strace)")
    traced = ["--trace=" + ",".join(CALLS), "--signal=SIGKILL"]
    return [program, "-f", "--seccomp-bpf", "-y", "-xx", "-s", str(1 << 24), "-A", "-o", str(file), *traced]


# The record


@dataclass(frozen=True)
class Call:
    """One call, or the end of a process when ``name`` is empty.

    :param done: whether it has returned without an error; one that never returned may have had its effect.
    :param result: what it returned, with the path of a descriptor.
    """

    process: int
    name: str = ""
    arguments: str = ""
    result: str = ""
    done: bool = True

    @property
    def paths(self) -> list[str]:
        """The paths of its descriptors."""
        return [_text(found).decode(errors="surrogateescape") for found in re.findall(r"<([^>]*)>", self.arguments)]

    @property
    def strings(self) -> list[bytes]:
        """Its strings."""
        return [_text(found) for found in re.findall(r'"([^"]*)"', self.arguments)]

    @property
    def numbers(self) -> list[int]:
        """Its numbers, without the contents of strings and paths."""
        return [int(found) for found in re.findall(r"(?<=, )-?\d+(?=,|$)", self.arguments)]

    @property
    def descriptor(self) -> int:
        """Its first descriptor."""
        return int(self.arguments.partition("<")[0])


def _text(digits: str) -> bytes:
    return bytes.fromhex(digits.replace("\\x", ""))


_ENDED = re.compile(r"^(\d+)\s+\+\+\+ (?:killed by|exited with) .*\+\+\+$")
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
_WHOLE = re.compile(r"^(\d+)\s+(\w+)\((.*)$")
_RESULT = re.compile(r"^(.*)\)\s+= (.*)$")
_CUT_OFF = " <unfinished ...>"


def read_calls(lines: Iterable[str]) -> Iterator[Call]:
    """The calls in the order of their returns, those that never returned last, and the ends of processes."""
    begun: dict[int, tuple[str, str]] = {}
    for line in lines:
        if ended := _ENDED.match(line):
            process = int(ended[1])
            if process in begun:
                yield Call(process, *begun.pop(process), done=False)
            yield Call(process)
            continue
        if resumed := _RESUMED.match(line):
            process, name = int(resumed[1]), resumed[2]
            whole = begun.pop(process, ("", ""))[1] + resumed[3]
        elif found := _WHOLE.match(line):
            process, name, whole = int(found[1]), found[2], found[3]
            if whole.endswith(_CUT_OFF):
                begun[process] = name, whole.removesuffix(_CUT_OFF)
                continue
        else:
            continue
        if returned := _RESULT.match(whole):
            result = returned[2]
            # strace names the error of a call that failed, and none when the process died on its return.
            if not result.startswith("-1 E"):
                yield Call(process, name, returned[1], result, not result.startswith(("?", "-1")))
    for process, (name, whole) in begun.items():
        yield Call(process, name, whole, done=False)


def path_of(call: Call, which: int) -> str:
    """The path of a string, which may begin at a descriptor's folder."""
    path = call.strings[which].decode(errors="surrogateescape")
    if not path.startswith("/") and call.paths:
        path = os.path.join(call.paths[min(which, len(call.paths) - 1)], path)
    return os.path.normpath(path)


def touched(call: Call) -> list[str]:
    """The paths that it names or changes."""
    named = () if "write" in call.name else range(len(call.strings))
    return [*call.paths, *(path_of(call, which) for which in named)]


# The disk


@dataclass
class Content:
    """What is in one file: what is durable, and what was done since, in order.

    A change is an offset with bytes, or a size.
    """

    kept: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes] | int] = field(default_factory=list)

    def sync(self) -> None:
        """All of it is durable."""
        play(self.kept, self.since)
        self.since = []

    def whole(self) -> bytes:
        """As a process reads it."""
        content = bytearray(self.kept)
        play(content, self.since)
        return bytes(content)

    def cut(self, dice: random.Random, share: float) -> None:
        """Have what a disk might have.

        :param share: of sectors that are there.
        """
        there: list[tuple[int, bytes] | int] = []
        for change in self.since:
            if isinstance(change, int):
                if dice.random() < max(share, 0.5):
                    there.append(change)
                continue
            at, written = change
            first = 0
            while first < len(written):
                last = min(len(written), first + SECTOR - (at + first) % SECTOR)
                if dice.random() < share:
                    there.append((at + first, written[first:last]))
                first = last
        play(self.kept, there)
        self.since = []


def play(content: bytearray, changes: Sequence[tuple[int, bytes] | int]) -> None:
    """Make changes to a content."""
    for change in changes:
        if isinstance(change, int):
            del content[change:]
            content.extend(bytes(change - len(content)))
        else:
            at, written = change
            content.extend(bytes(max(at - len(content), 0)))
            content[at : at + len(written)] = written


Names = dict[str, Content | None]
"""The content of each path; `None` for a folder."""


@dataclass(frozen=True)
class Naming:
    """A change of names: those that go, and those that come with their content."""

    gone: tuple[str, ...] = ()
    come: tuple[tuple[str, Content | None], ...] = ()

    def do(self, names: Names) -> None:
        """Change them."""
        for path in self.gone:
            names.pop(path, None)
        names.update(self.come)

    def within(self, folder: str) -> bool:
        """Whether it changes this folder."""
        return any(os.path.dirname(path) == folder for path in (*self.gone, *(path for path, _ in self.come)))


class Disk:
    """The files of one folder.

    :param other: a folder in it that loses nothing, because it is on another machine in truth.
    """

    def __init__(self, folder: Path, other: Path | None = None) -> None:
        self._folder, self._other = str(folder), None if other is None else str(other)
        self._kept: Names = {
            path: None if data is None else Content(bytearray(data)) for path, data in files_in(folder)
        }
        self._names = dict(self._kept)
        self._since: list[Naming] = []
        self._at: dict[tuple[str, int], int] = {}
        """Where a file is written next, by its path and descriptor."""

    def _ours(self, path: str) -> bool:
        return path.startswith(self._folder + "/") and not path.endswith(NOT_CONTENT)

    def _name(self, naming: Naming) -> None:
        naming.do(self._names)
        self._since.append(naming)

    def do(self, call: Call) -> None:
        """Have a call's effect."""
        if not call.done and ", 0x" in call.arguments:
            # It died before the call: the tracer has the place of a name or of bytes, and could not read them.
            return
        if call.name in ("openat", "creat"):
            self._open(call)
        elif call.name in ("fsync", "fdatasync"):
            self._sync(call)
        elif call.name in ("rename", "renameat", "renameat2"):
            before, after = path_of(call, 0), path_of(call, 1)
            if self._ours(before) and self._ours(after) and before in self._names:
                self._name(Naming((before,), ((after, self._names[before]),)))
            elif self._ours(after):
                raise BenchFailed(f"{after} came from elsewhere by a rename")
            elif before in self._names:
                self._name(Naming((before,)))
        elif call.name in ("link", "linkat"):
            before, after = path_of(call, 0), path_of(call, 1)
            if before in self._names and self._ours(after):
                self._name(Naming((), ((after, self._names[before]),)))
        elif call.name in ("unlink", "unlinkat", "rmdir"):
            if self._ours(path := path_of(call, 0)):
                self._name(Naming((path,)))
        elif call.name in ("mkdir", "mkdirat"):
            if self._ours(path := path_of(call, 0)):
                self._name(Naming((), ((path, None),)))
        else:
            self._change(call)

    def _open(self, call: Call) -> None:
        path = path_of(call, 0)
        if not self._ours(path):
            return
        flags = call.arguments
        if path not in self._names:
            if "O_CREAT" not in flags and call.name != "creat":
                return
            self._name(Naming((), ((path, Content()),)))
        content = self._names[path]
        if content is None:
            return
        if ("O_TRUNC" in flags or call.name == "creat") and content.whole():
            content.since.append(0)
        if call.done:
            descriptor = int(call.result.partition("<")[0])
            self._at[path, descriptor] = -1 if "O_APPEND" in flags else 0

    def _sync(self, call: Call) -> None:
        if not call.done:
            return
        path = call.paths[0]
        content = self._names.get(path)
        if content is not None:
            content.sync()
        elif path == self._folder or path in self._names:
            last = max((n for n, naming in enumerate(self._since) if naming.within(path)), default=-1)
            for naming in self._since[: last + 1]:
                naming.do(self._kept)
            del self._since[: last + 1]

    def _change(self, call: Call) -> None:
        """Bytes or a size of one file."""
        path = call.strings[0].decode() if call.name == "truncate" else (call.paths or [""])[0]
        if not self._ours(path):
            return
        content = self._names.get(path)
        if content is None:
            # Its name is gone: it is nobody's after a start.
            return
        if not call.done and call.name in ("lseek", "sendfile"):
            # What it may have done is not synced, and a cut may lose it.
            return
        if call.name in ("ftruncate", "truncate"):
            content.since.append(call.numbers[-1])
            return
        place = path, call.descriptor
        if call.name == "lseek":
            self._at[place] = int(call.result) if self._at.get(place) != -1 else -1
        elif call.name == "pwrite64" and call.strings:
            content.since.append((call.numbers[-1], call.strings[0][: int(call.result) if call.done else None]))
        elif (call.name == "write" and call.strings) or call.name == "sendfile":
            written = self._sent(call) if call.name == "sendfile" else call.strings[0]
            written = written[: int(call.result) if call.done else None]
            at = self._at.get(place, 0)
            content.since.append((len(content.whole()) if at == -1 else at, written))
            if at != -1:
                self._at[place] = at + len(written)
        elif call.name != "fallocate" or "KEEP_SIZE" not in call.arguments:
            raise BenchFailed(f"{path} is changed by {call.name}, which is not played here")

    def _sent(self, call: Call) -> bytes:
        """What came from another file of ours."""
        source, offset = self._names.get(call.paths[1]), re.search(r"\[(\d+)\]", call.arguments)
        if source is None or offset is None:
            raise BenchFailed(
                f"{call.paths[0]} is changed by {call.name} from {call.paths[1]}, which is not played here"
            )
        return source.whole()[int(offset[1]) :]

    def differs(self, folder: Path) -> list[str]:
        """The paths whose real content is not that of the calls; empty when all calls are known."""
        mine = ((path, None if content is None else content.whole()) for path, content in self._names.items())
        # Who reads the database of a service that is gone leaves an empty log: the lab does.
        told, real = (
            {path: data for path, data in files if data != b"" or not path.endswith("-wal")}
            for files in (mine, files_in(folder))
        )
        return sorted(path for path in {*real, *told} if real.get(path, "") != told.get(path, ""))

    def cut(self, dice: random.Random) -> None:
        """Lose what is not durable, or some of it."""
        for path, content in self._names.items():
            if self._other is not None and f"{path}/".startswith(f"{self._other}/"):
                self._kept[path] = content
                if content is not None:
                    content.sync()
        for naming in self._since[: dice.randint(0, len(self._since))]:
            naming.do(self._kept)
        share = dice.choice(SHARES)
        contents = {id(content): content for content in self._kept.values() if content is not None}
        for content in contents.values():
            content.cut(dice, share)
        self._names, self._since, self._at = dict(self._kept), [], {}

    def write(self, folder: Path) -> None:
        """Make the real folder so."""
        for path in reversed([path for path, _ in files_in(folder)]):
            if path not in self._names:
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for index in folder.rglob("*-shm"):
            index.unlink()
        for path, content in sorted(self._names.items()):
            if content is None:
                os.makedirs(path, mode=0o700, exist_ok=True)
                continue
            # In place: its owner and mode stay.
            with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                if file.read() != content.kept:
                    file.seek(0)
                    file.truncate()
                    file.write(content.kept)


def files_in(folder: Path) -> Iterator[tuple[str, bytes | None]]:
    """The folders and regular files in a folder by path, with what is in a file."""
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            yield str(path), None
        elif stat.S_ISREG(mode) and not path.name.endswith(NOT_CONTENT):
            yield str(path), path.read_bytes()


class Power:
    """The power of the machine with the service.

    :param folder: the state folder of the service.
    :param record: where ``strace`` writes, see `tracer`.
    :param seed: of what is lost.
    :param other: as in `Disk`.
    """

    def __init__(self, folder: Path, record: Path, seed: object, other: Path | None = None) -> None:
        self._folder, self._record = folder, record
        self._dice = random.Random(f"power {seed}")
        self._disk = Disk(folder, other)

    def fail(self, process: int, parent: int) -> None:
        """The power fails when this process ends: what was done after that did not happen.

        :param parent: the parent of the service, which goes on.
        :raises BenchFailed: when the record is not whole.
        """
        _end_traced(parent)
        calls = self._calls_until_end(process, parent)
        last = next(n for n, call in enumerate(calls) if call.process == process and not call.name)
        for call in calls[:last]:
            self._disk.do(call)
        whole = deepcopy(self._disk)
        for call in calls[last:]:
            whole.do(call)
        half = {path for call in calls if not call.done for path in touched(call)}
        if differs := [path for path in whole.differs(self._folder) if path not in half]:
            raise BenchFailed(f"calls are missing in the record: {', '.join(differs[:3])} is not as they say")
        self._disk.cut(self._dice)
        self._disk.write(self._folder)
        # strace appends, so it continues at the beginning.
        os.truncate(self._record, 0)

    def _calls_until_end(self, process: int, parent: int) -> list[Call]:
        deadline = time.monotonic() + DIE_S
        while time.monotonic() < deadline:
            with self._record.open(encoding="ascii", errors="replace") as file:
                calls = list(read_calls(file))
            if ended(calls, process, parent):
                return calls
            time.sleep(0.02)
        raise BenchFailed(f"the end of process {process}, or of another one, is not in {self._record}")


def ended(calls: Iterable[Call], process: int, parent: int) -> bool:
    """Whether the record has the end of this process and of all others but their ``parent``.

    The tracer writes down the last call of a process with its end, which may be a while after its death.
    """
    begun = {call.process for call in calls if call.name} - {parent}
    return {process} | begun <= {call.process for call in calls if not call.name}


def _end_traced(parent: int) -> None:
    """End the processes that have the same tracer as ``parent``, but not itself."""
    tracer_of = _status(parent, "TracerPid")
    deadline = time.monotonic() + DIE_S
    while time.monotonic() < deadline:
        left = [
            int(path.name)
            for path in Path("/proc").glob("[0-9]*")
            if int(path.name) != parent
            and _status(int(path.name), "TracerPid") == tracer_of
            and _status(int(path.name), "State") != "Z"
        ]
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    raise BenchFailed("processes of the service do not end")


def _status(pid: int, name: str) -> str:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return line.split()[1]
    return ""
