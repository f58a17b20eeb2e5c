"""Services broken on purpose, which the crash lab has to find: ``python -m tests.crash.broken_services``.

``tests/crash/broken.toml`` has the breaks: a file, a text that occurs in it once, what stands there instead, and the
points where a kill shows it. Each is made in a copy of the program that the lab runs. Found is one that lost,
doubled, left to a person or got wrong something; a lab that did not kill has found nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dmtwisted.lab.children import HOME, environment

LIST: Final = Path(__file__).with_name("broken.toml")
FOLDERS: Final = ("dmtwisted", "protocols", "web", "twisted")
ROUNDS: Final = 2
PATIENCE: Final = 900.0
"""Seconds for one service; each till that waits for ever costs three minutes."""

FAULTS: Final = ("lost", "doubled", "by_hand", "wrong")


@dataclass(frozen=True)
class Broken:
    """One break, and the points where it shows; ``power``: only to power cuts."""

    what: str
    file: str
    old: str
    new: str
    points: str
    power: bool = False

    def within(self, text: str) -> str:
        """The text of its file, broken.

        :raises ValueError: the old text does not occur exactly once.
        """
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.file} has {count} times: {self.old}")
        return text.replace(self.old, self.new)


def services() -> list[Broken]:
    """All breaks."""
    return [Broken(**row) for row in tomllib.loads(LIST.read_text("utf-8"))["broken"]]


def found(broken: Broken, folder: Path) -> str:
    """What the lab finds of one; empty when it finds nothing.

    :raises ValueError: when the break cannot be made.
    """
    for name in FOLDERS:
        shutil.copytree(HOME / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / broken.file
    file.write_text(broken.within(file.read_text("utf-8")), "utf-8")
    report = folder / "verdicts.json"
    command = [sys.executable, "-m", "dmtwisted.commands.main", "crashlab", "--points", broken.points]
    command += ["--rounds", str(ROUNDS), "--random", "0", "--json", str(report), "--state", str(folder)]
    subprocess.run(
        [*command, *(["--power"] if broken.power else [])],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=PATIENCE,
    )
    verdict = json.loads(report.read_text("utf-8"))
    if not any(verdict[fault] for fault in FAULTS):
        return ""
    sentences: list[str] = [sentence for row in verdict["points"] for sentence in row["found"]]
    return sentences[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Break and look; the exit status is 1 when the lab missed one."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.broken_services", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only services whose description has one of these")
    words = parser.parse_args(arguments).words
    missed = 0
    for broken in services():
        if words and not any(word in broken.what for word in words):
            continue
        begun = time.monotonic()
        with TemporaryDirectory(prefix="dmtwisted-broken-") as folder:
            why = found(broken, Path(folder).resolve())
        missed += not why
        print(
            f"{'found ' if why else 'MISSED'} {time.monotonic() - begun:4.0f} s  {broken.what}: {why[:150]}",
            flush=True,
        )
    print(f"{missed} missed")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
