"""Results of runs as signed files, and their sum: many runs on several machines prove together what one would.

Each machine signs with an Ed25519 key of its own. So a file that was changed afterwards is found, and one of a
machine that nobody named is refused; a signature does not show that its machine was honest. Parts count together when
they tested the same program: the digest of all source files is the same, those of the lab among them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from dmtwisted import __version__
from dmtwisted.lab.children import HOME
from dmtwisted.lab.crash.rounds import COUNTS, Tally

PACKAGES = ("dmtwisted", "protocols", "web", "twisted")
"""The folders whose files are the program."""

KILLS, EACH = 10_000, 20
"""The goal: kills in all, and at each point of each scene."""

WAYS = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "power": "power"}
"""How runs differ, by the word in their file: the database, or power cuts; with the head of its column."""

Pair = tuple[str, str]
"""A scene and a point."""


class BadResult(Exception):
    """A result file does not count."""


def digest_of_sources(home: Path = HOME) -> str:
    """The SHA-256 of all files of the program, names included."""
    digest = hashlib.sha256()
    files = (
        file
        for package in PACKAGES
        for file in (home / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.name != "dropin.cache"
    )
    for file in sorted(files):
        name, content = str(file.relative_to(home)).encode(), file.read_bytes()
        digest.update(b"%d %s %d " % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def commit_of(home: Path = HOME) -> str:
    """The commit of the source tree, with ``+`` when files differ from it; empty outside of one."""
    words = []
    for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        try:
            done = subprocess.run(["git", "-C", str(home), *command], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        if done.returncode:
            return ""
        words.append(done.stdout.strip())
    return words[0] + ("+" if words[1] else "")


def machine() -> str:
    """This machine, for people."""
    return f"{platform.node()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors"


# Keys


def key_file() -> Path:
    """Where this machine's key is."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dmtwisted" / "crashlab.key"


def key_in(file: Path) -> Ed25519PrivateKey:
    """The key in this file; it is made when there is none."""
    try:
        key = load_pem_private_key(file.read_bytes(), None)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = Ed25519PrivateKey.generate()
        pem = fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        # Two runs may begin at the same time: both use the key that has the name.
        own = file.with_name(f"{file.name}.{os.getpid()}")
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(pem)
        try:
            os.link(own, file)
        except FileExistsError:
            pass
        finally:
            own.unlink()
        return key_in(file)
    if not isinstance(key, Ed25519PrivateKey):
        raise BadResult(f"{file} is no Ed25519 key")
    return key


def public(key: Ed25519PrivateKey) -> str:
    """The public half, as files name it."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def _signed(result: Mapping[str, Any]) -> bytes:
    return json.dumps(result, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


# Files


@dataclass(frozen=True)
class Result:
    """What a run came to.

    :param way: one of `WAYS`.
    :param protocol: the tax service's; one seed makes a plan of its own for each.
    :param planned: the kills of its plan; fewer were done when it was broken off.
    :param began: the time in UTC, ISO 8601; ``ended`` too.
    """

    version: str
    commit: str
    sources: str
    way: str
    protocol: str
    seed: int
    options: Mapping[str, Any]
    planned: int
    broken_off: bool
    began: str
    ended: str
    machine: str
    tallies: Sequence[Tally]

    @property
    def kills(self) -> int:
        """How often something was killed."""
        return sum(tally.killed for tally in self.tallies)


def now() -> str:
    """The time in UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@dataclass(frozen=True)
class Tested:
    """The program, as it was when the run began: its files may change meanwhile."""

    sources: str = field(default_factory=digest_of_sources)
    commit: str = field(default_factory=commit_of)
    began: str = field(default_factory=now)

    def result(
        self,
        way: str,
        protocol: str,
        seed: int,
        options: Mapping[str, Any],
        planned: int,
        broken_off: bool,
        tallies: Sequence[Tally],
    ) -> Result:
        """What came of the run that ends now.

        :raises BadResult: when the program was changed while it was tested.
        """
        if digest_of_sources() != self.sources:
            raise BadResult("the sources were changed during the run: there is no telling what was tested")
        return Result(
            __version__,
            self.commit,
            self.sources,
            way,
            protocol,
            seed,
            options,
            planned,
            broken_off,
            self.began,
            now(),
            machine(),
            tallies,
        )


def write_result(file: Path, result: Result, key: Ed25519PrivateKey) -> None:
    """Write a signed file."""
    plain = asdict(result)
    whole = {"result": plain, "key": public(key), "signature": key.sign(_signed(plain)).hex()}
    file.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")


def read_result(file: Path, machines: Collection[str]) -> Result:
    """Read a signed file.

    :param machines: the public keys of machines that count.
    :raises BadResult: when it was changed, or is of another machine.
    """
    try:
        whole = json.loads(file.read_text("utf-8"))
        plain, key, signature = whole["result"], whole["key"], bytes.fromhex(whole["signature"])
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, _signed(plain))
        tallies = [Tally(**tally) for tally in plain["tallies"]]
        result = Result(**{**plain, "tallies": tallies})
    except InvalidSignature:
        raise BadResult(f"{file}: it is not as it was signed") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadResult(f"{file}: it is no result of a run ({error})") from None
    if key not in machines:
        raise BadResult(f"{file}: it is of the machine {key}; --machines has to name it")
    return result


# The sum


@dataclass
class Row:
    """One point of one scene in all parts."""

    whole: Tally
    kills: dict[str, int] = field(default_factory=dict)
    """By the way of the run."""


class Sum:
    """All parts together, each with its name.

    :raises BadResult: when they do not belong together.
    """

    def __init__(self, parts: Sequence[tuple[str, Result]]) -> None:
        self.parts = [part for _, part in parts]
        self.rows: dict[Pair, Row] = {}
        seen: dict[tuple[str, str, int], str] = {}
        sources = {part.sources for part in self.parts}
        if len(sources) > 1:
            lines = (f"{name}: {part.version}, {part.sources[:12]}" for name, part in parts)
            raise BadResult("they tested different programs: " + "; ".join(lines))
        for name, part in parts:
            if part.way not in WAYS:
                raise BadResult(f"{name}: {part.way} is unknown")
            plan = (part.way, part.protocol, part.seed)
            if plan in seen:
                raise BadResult(f"{name}: its seed {part.seed} is that of {seen[plan]}")
            seen[plan] = name
            for tally in part.tallies:
                row = self.rows.setdefault((tally.scene, tally.point), Row(Tally(tally.scene, tally.point)))
                row.whole.take(tally)
                row.kills[part.way] = row.kills.get(part.way, 0) + tally.killed

    def count(self, name: str) -> int:
        """The sum of one of `COUNTS`."""
        return sum(getattr(row.whole, name) for row in self.rows.values())

    @property
    def good(self) -> bool:
        """Whether nothing is lost, doubled, by hand or otherwise wrong, and each round killed."""
        return bool(self.rows) and all(row.whole.good for row in self.rows.values())

    def below(self, expected: Callable[[str], Iterable[Pair]]) -> list[str]:
        """What is missing to the goal, as sentences.

        :param expected: the points of a way, each with its scene.
        """
        missing = []
        if self.count("killed") < KILLS:
            missing.append(f"{self.count('killed'):,} of {KILLS:,} kills")
        wanted: dict[Pair, list[str]] = {}
        for way in WAYS:
            for pair in expected(way):
                wanted.setdefault(pair, []).append(way)
        for pair, ways in wanted.items():
            kills = self.rows[pair].kills if pair in self.rows else {}
            if (times := sum(kills.values())) < EACH:
                missing.append(f"{pair[0]}, {pair[1]}: {times} of {EACH} kills")
            missing += [f"{pair[0]}, {pair[1]}: none with {WAYS[way]}" for way in ways if not kills.get(way)]
        return missing

    def table(self, order: Sequence[Pair]) -> str:
        """How often each point was hit, and what came of it, as text.

        :param order: the pairs that are known, in the order of their rows.
        """
        wide = max((len(scene) for scene, _ in self.rows), default=5)
        heads = [*WAYS.values(), "kills", "lost", "doubled", "by hand", "looked"]
        lines = [f"{'scene':<{wide}}  {'point':<26} {' '.join(f'{head:>{max(len(head), 6)}}' for head in heads)}"]
        place = {pair: number for number, pair in enumerate(order)}
        for pair, row in sorted(self.rows.items(), key=lambda item: (place.get(item[0], len(place)), item[0])):
            counts = [row.kills.get(way, 0) for way in WAYS]
            counts += [getattr(row.whole, count) for count in ("killed", "lost", "doubled", "by_hand", "looked")]
            figures = " ".join(f"{count:>{max(len(head), 6)}}" for count, head in zip(counts, heads, strict=True))
            lines.append(f"{pair[0]:<{wide}}  {pair[1]:<26} {figures}{'' if row.whole.good else '  WRONG'}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The sum for programs."""
        return {
            "good": self.good,
            **{count: self.count(count) for count in COUNTS},
            "ways": {way: sum(part.kills for part in self.parts if part.way == way) for way in WAYS},
            "sources": self.parts[0].sources if self.parts else "",
            "commits": sorted({part.commit for part in self.parts}),
            "from": min((part.began for part in self.parts), default=""),
            "to": max((part.ended for part in self.parts), default=""),
            "points": [{**asdict(row.whole), "kills": row.kills} for row in self.rows.values()],
        }
