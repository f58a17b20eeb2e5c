"""Results of runs of the lab: signed, added up, and refused when they do not belong together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

import dmtwisted.lab.crash.command as command
from dmtwisted.lab.crash.cabinet import CABINET, LOAD_ON_CABINET
from dmtwisted.lab.crash.command import CrashlabOptions, run
from dmtwisted.lab.crash.crew import every_pair
from dmtwisted.lab.crash.results import (
    EACH,
    KILLS,
    BadResult,
    Pair,
    Result,
    Sum,
    Tested,
    digest_of_sources,
    key_in,
    public,
    read_result,
    write_result,
)
from dmtwisted.lab.crash.rounds import RANDOM, Tally, pairs_of
from dmtwisted.lab.crash.scenes import SCENES
from dmtwisted.lab.crash.wired import WIRED

TALLIES = (Tally("batch", "batch.paid", rounds=2, killed=2, looked=1),)
PART = Result(
    "1", "c", "5" * 64, "sqlite", "a", 7, {"rounds": 2}, 2, False, "2026-01-01T", "2026-01-02T", "m", TALLIES
)


def only_batch(way: str) -> Iterable[Pair]:
    """What each way has to reach."""
    return [("batch", "batch.paid")]


def total(*parts: Result) -> Sum:
    """All of them together."""
    return Sum([("part", part) for part in parts])


class FileTests(SynchronousTestCase):
    """One file."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.key = key_in(self.folder / "state" / "key")
        self.file = self.folder / "part.json"
        write_result(self.file, PART, self.key)

    def read(self) -> Result:
        """The file, where only its own machine counts."""
        return read_result(self.file, [public(self.key)])

    def test_both_ways(self) -> None:
        """What was written is read."""
        self.assertEqual(self.read(), replace(PART, tallies=[*TALLIES]))
        self.assertEqual(self.read().kills, 2)

    def test_key(self) -> None:
        """A machine has one key, made when it is first needed, which others cannot read."""
        file = self.folder / "state" / "key"
        self.assertEqual(public(key_in(file)), public(self.key))
        self.assertEqual([path.name for path in file.parent.iterdir()], ["key"])
        if os.name == "posix":
            self.assertEqual(file.stat().st_mode & 0o077, 0)

    def test_changed_by_hand(self) -> None:
        """A file of which anything was changed is refused."""
        whole = json.loads(self.file.read_text("utf-8"))
        changes: list[tuple[str, Any]] = [("seed", 8), ("sources", "6" * 64), ("broken_off", True), ("tallies", [])]
        for name, value in changes:
            changed = {**whole, "result": {**whole["result"], name: value}}
            self.file.write_text(json.dumps(changed), "utf-8")
            with self.assertRaisesRegex(BadResult, "not as it was signed"):
                self.read()

    def test_another_machine(self) -> None:
        """A file that another machine signed is refused until its key is named."""
        other = key_in(self.folder / "other")
        write_result(self.file, PART, other)
        with self.assertRaisesRegex(BadResult, public(other)):
            self.read()
        self.assertEqual(read_result(self.file, [public(self.key), public(other)]).seed, 7)

    def test_no_result(self) -> None:
        """Something else is refused."""
        for text in ("", "{}", "[]", '{"result": {}, "key": "00", "signature": "zz"}'):
            self.file.write_text(text, "utf-8")
            self.assertRaises(BadResult, self.read)

    def test_sources(self) -> None:
        """The digest follows each file of the program, its name too; compiled files do not count."""
        for name, text in (("dmtwisted/a.py", "1"), ("web/b.py", "2"), ("notes/c.txt", "3")):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text, "utf-8")
        first = digest_of_sources(self.folder)
        (self.folder / "notes/c.txt").write_text("4", "utf-8")
        (self.folder / "web" / "__pycache__").mkdir()
        (self.folder / "web" / "__pycache__" / "b.pyc").write_text("5", "utf-8")
        self.assertEqual(digest_of_sources(self.folder), first)
        (self.folder / "web/b.py").write_text("6", "utf-8")
        second = digest_of_sources(self.folder)
        (self.folder / "web/b.py").rename(self.folder / "web/d.py")
        self.assertEqual(len({first, second, digest_of_sources(self.folder)}), 3)

    def test_changed_meanwhile(self) -> None:
        """A run during which the program was changed has no result."""
        with self.assertRaises(BadResult):
            Tested("other", "c", "t").result("sqlite", "a", 1, {}, 1, False, [])


class SumTests(SynchronousTestCase):
    """Files together."""

    def test_sum(self) -> None:
        """Counts of a point are added up; how often each way hit it is kept."""
        postgres = replace(PART, way="postgresql", tallies=(replace(TALLIES[0], rounds=3, killed=3),))
        whole = total(PART, replace(PART, seed=8), postgres)
        self.assertTrue(whole.good)
        [row] = whole.rows.values()
        self.assertEqual((row.whole.killed, row.whole.looked, row.kills), (7, 3, {"sqlite": 4, "postgresql": 3}))
        self.assertEqual(whole.as_json()["killed"], 7)
        self.assertRegex(whole.table([]), r"batch +batch\.paid +4 +3 +0 +7 +0 +0 +0 +3$")

    def test_refused(self) -> None:
        """Another version, the same plan twice and an unknown way are refused; one seed on both protocols is not."""
        for other in (replace(PART, seed=8, sources="6" * 64), PART, replace(PART, seed=8, way="other")):
            with self.assertRaises(BadResult):
                total(PART, other)
        total(PART, replace(PART, way="power"), replace(PART, protocol="b"))

    def test_wrong(self) -> None:
        """One fault in one part is a fault of the whole, and so is a round that did not kill."""
        for fault in ("lost", "doubled", "by_hand", "wrong", "rounds"):
            faulty = replace(TALLIES[0])
            setattr(faulty, fault, 3)
            whole = total(PART, replace(PART, seed=8, tallies=(faulty,)))
            self.assertFalse(whole.good, fault)
            self.assertIn("WRONG", whole.table([]))
        self.assertFalse(total().good)

    def test_goal(self) -> None:
        """The goal asks for kills in all, for some at each point, and for each way at each of its points."""
        enough = replace(TALLIES[0], rounds=KILLS, killed=KILLS)
        parts = [replace(PART, way=way, tallies=(enough,)) for way in ("sqlite", "postgresql", "power")]
        self.assertEqual(total(*parts).below(only_batch), [])
        self.assertEqual(len(total(parts[0]).below(only_batch)), 2)
        few = total(PART).below(lambda way: only_batch(way) if way == "sqlite" else [])
        self.assertEqual(few, [f"2 of {KILLS:,} kills", f"batch, batch.paid: 2 of {EACH} kills"])

    def test_what_each_way_reaches(self) -> None:
        """A server has no writer of ours to kill, and tools of its own beside tasks; SQLite has every point."""
        self.assertEqual(every_pair("power"), every_pair("sqlite"))
        left = {point.partition(".")[0] for _, point in set(every_pair()) - set(every_pair("postgresql"))}
        self.assertEqual(left, {"writer", "retention", "migration", "move", "backup", "restore"})

    def test_all_that_is_planned(self) -> None:
        """The goal asks for each scene and point of either protocol once, and a kill on B is none on A."""
        planned = [
            (scene.name, point) for scenes in (SCENES, WIRED, CABINET) for scene, point in pairs_of([], scenes)
        ]
        every = every_pair()
        self.assertEqual([len(planned), *planned], [len(set(planned)), *every[: len(planned)]])
        self.assertEqual(len(every), len(set(every)))
        self.assertIn((LOAD_ON_CABINET, RANDOM), every)


class CommandTests(SynchronousTestCase):
    """``dmtwisted crashlab --merge``."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.patch(command, "key_file", lambda: self.folder / "key")
        self.key = key_in(self.folder / "key")

    def merge(self, *more: str) -> tuple[int, str]:
        """The exit status and the output."""
        options, output = CrashlabOptions(), StringIO()
        options.parseOptions(["--merge", *more, *map(str, sorted(self.folder.glob("*.json")))])
        with redirect_stdout(output):
            status = run(options)
        return status, output.getvalue()

    def test_merge(self) -> None:
        """Good parts give 0, and 1 when the goal is asked and not reached; a bad one gives 1."""
        write_result(self.folder / "a.json", PART, self.key)
        write_result(self.folder / "b.json", replace(PART, protocol="b"), self.key)
        status, told = self.merge()
        self.assertEqual(status, 0)
        self.assertIn("4 kills in 2 runs of version 555555555555: 0 lost, 0 doubled, 0 by hand, 2 slips", told)
        self.assertRegex(told, r"SQLite seed 7: 2 kills.*\n.*SQLite on B seed 7: 2 kills")
        status, told = self.merge("--goal")
        self.assertEqual(status, 1)
        self.assertIn("BELOW THE GOAL", told)
        lost = (replace(TALLIES[0], lost=1),)
        write_result(self.folder / "b.json", replace(PART, seed=8, tallies=lost), self.key)
        self.assertEqual(self.merge()[0], 1)

    def test_refused(self) -> None:
        """The file of another machine is named with its key, which the option takes."""
        other = key_in(self.folder / "other")
        write_result(self.folder / "a.json", PART, other)
        status, told = self.merge()
        self.assertEqual((status, public(other) in told), (1, True))
        self.assertEqual(self.merge("--machines", public(other))[0], 0)

    def test_usage(self) -> None:
        """Files without ``--merge``, ``--merge`` without files, no key, and power cuts of a server are refused."""
        power = ("--power", "--database", "postgresql://a/b")
        for arguments in (("a.json",), ("--merge",), ("--merge", "--machines", "xy", "a.json"), power):
            with self.assertRaises(usage.UsageError):
                CrashlabOptions().parseOptions(arguments)
