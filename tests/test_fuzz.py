"""The fuzz targets without the fuzzer: the committed inputs are run once, and the checks are tested."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from tests.fuzz import replay, target
from tests.fuzz.keeping import chosen, keep
from tests.fuzz.run import Result, read_output, table, words
from tests.fuzz.target import CORPUS, Broken, Target, Watch, cut, same_however_cut, until
from tests.fuzz.targets import every, named

LARGEST_CORPUS = 300_000
"""The largest size of all committed inputs together, in bytes."""


class CorpusTests(SynchronousTestCase):
    """The committed inputs."""

    def test_plays(self) -> None:
        """Every seed and every committed input of every target keeps all promises, within the limits."""
        with Watch() as watch:
            for _, each in every():
                for data in [*each.seeds, *(file.read_bytes() for file in each.corpus())]:
                    try:
                        watch.hold(each, data[: each.longest])
                    except Exception as error:
                        raise AssertionError(f"{each.name}: {data!r}") from error

    def test_small(self) -> None:
        """The corpus is small and belongs to existing targets; each target has inputs to begin with."""
        names = [each.name for _, each in every()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({folder.name for folder in CORPUS.iterdir()} - set(names), set())
        self.assertLess(sum(file.stat().st_size for file in CORPUS.glob("*/*")), LARGEST_CORPUS)
        for _, each in every():
            self.assertTrue(each.seeds, each.name)

    def test_odd_bytes(self) -> None:
        """An empty input, a single byte and long runs of one byte break no target."""
        with Watch() as watch:
            for _, each in every():
                for data in (
                    b"",
                    b"\0",
                    b"\xff",
                    b"{" * each.longest,
                    b"\x02" * each.longest,
                    b"\x1b" * each.longest,
                ):
                    watch.hold(each, data)


TARGETS = {each.name: each for _, each in every()}


class AnythingTests(SynchronousTestCase):
    """Every target with random bytes."""

    @settings(max_examples=400)
    @given(st.sampled_from(sorted(TARGETS)), st.data())
    def test_anything(self, name: str, draw: st.DataObject) -> None:
        """Random bytes, and golden bytes that were changed, cut or joined, keep all promises."""
        each = TARGETS[name]
        known = st.sampled_from([*each.seeds, *each.tokens])
        data = b"".join(draw.draw(st.lists(known | st.binary(max_size=12), max_size=4)))
        at = draw.draw(st.integers(0, len(data)))
        changed = data[:at] + draw.draw(st.binary(max_size=3)) + data[at + draw.draw(st.integers(0, 3)) :]
        with Watch() as watch:
            watch.hold(each, changed[: each.longest])


class WatchTests(SynchronousTestCase):
    """The checks of every target."""

    def hold(self, check: Any) -> None:
        """Run a target made of ``check``."""
        with Watch() as watch:
            watch.hold(Target("some", check, ()), b"data")

    def test_well(self) -> None:
        """A target that does nothing keeps all promises; an exception of a target is passed on."""
        self.hold(lambda data: None)
        self.assertRaises(ZeroDivisionError, self.hold, lambda data: 1 // 0)

    def test_logged(self) -> None:
        """A failure that is only logged is a finding; the next input begins without it."""

        def fails(data: bytes) -> None:
            Logger().failure("no", Failure(ValueError("hidden")))

        with Watch() as watch:
            error = self.assertRaises(Broken, watch.hold, Target("some", fails, ()), b"")
            self.assertIn("hidden", str(error))
            watch.hold(Target("some", lambda data: None, ()), b"")
        self.flushLoggedErrors(ValueError)

    def test_slow(self) -> None:
        """More than a second of processor time is a finding."""
        ticks = iter([0.0, 1.5])
        self.patch(time, "process_time", lambda: next(ticks))
        self.assertRaises(Broken, self.hold, lambda data: None)

    def test_large(self) -> None:
        """More than 64 MB for one input are a finding."""
        peaks = iter([100.0, 165.0])
        self.patch(target, "peak", lambda: next(peaks))
        self.assertRaises(Broken, self.hold, lambda data: None)

    def test_peak(self) -> None:
        """The memory of this process is reported in megabytes."""
        self.assertGreater(target.peak(), 10)

    @given(st.binary(max_size=2000))
    def test_cut(self, data: bytes) -> None:
        """Cutting loses no byte, and cuts the same bytes in the same way."""
        self.assertEqual(b"".join(cut(data)), data)
        self.assertEqual(cut(data), cut(data))
        self.assertTrue(all(cut(data)))

    def test_difference(self) -> None:
        """A reader whose results depend on the cuts is found; another one passes."""

        def minds(pieces: Iterable[bytes]) -> list[bytes]:
            return [piece for piece in pieces if piece != b"x"]

        self.assertEqual(same_however_cut(b"".join, b"abxc"), b"abxc")
        self.assertRaises(Broken, same_however_cut, minds, b"abxc")

    def test_until(self) -> None:
        """Items before an error count, and the error is the last item."""

        def feed(piece: bytes) -> list[int]:
            return [100 // byte for byte in piece]

        self.assertEqual(until(ZeroDivisionError, feed, [b"\x01", b"\x02"]), [100, 50])
        self.assertEqual(until(ZeroDivisionError, feed, [b"\x01", b"\x00", b"\x02"]), [100, ZeroDivisionError])


DONE = """INFO: seed corpus: files: 3
#4623\tNEW    cov: 26 ft: 62 corp: 18/248b lim: 33 exec/s: 660 rss: 84Mb
#5059\tDONE   cov: 27 ft: 63 corp: 19/1247b lim: 33 exec/s: 562 rss: 84Mb
stat::number_of_executed_units: 5059
"""
CRASHED = """ === Uncaught Python exception: ===
ZeroDivisionError: integer division or modulo by zero
Traceback (most recent call last):
==7== ERROR: libFuzzer: fuzz target exited
artifact_prefix='found/'; Test unit written to found/some-crash-1f
stat::number_of_executed_units: 12
"""


class RunTests(SynchronousTestCase):
    """How a run reads the fuzzer's output."""

    def test_done(self) -> None:
        """Executions, coverage and inputs of a target without findings."""
        self.assertEqual(read_output("some", 60, DONE, 0), Result("some", 60, 5059, 63, 19))
        slow = f"Slowest unit: 23 s:\nartifact_prefix='found/'; Test unit written to found/some-slow-unit-1\n{DONE}"
        self.assertEqual(read_output("some", 60, slow, 0).found, [])

    def test_found(self) -> None:
        """A finding has the input that broke a promise, the reason, and how to run it again."""
        result = read_output("some", 60, CRASHED, 77)
        self.assertEqual((result.executions, result.found), (12, ["found/some-crash-1f"]))
        self.assertIn("python -m tests.fuzz.replay some found/some-crash-1f", table([result]))
        self.assertIn("1 with a finding", table([result]))

    def test_died(self) -> None:
        """A target whose process ends without output is a finding too."""
        self.assertTrue(read_output("some", 60, "", 1).found)
        self.assertEqual(read_output("some", 60, "Killed", 137).why, "Killed")

    def test_words(self) -> None:
        """Tokens are written in the fuzzer's format."""
        self.assertEqual(words((b'a"', b"\0")), '"\\x61\\x22"\n"\\x00"\n')

    def test_named(self) -> None:
        """Targets are found by name, with and without their module."""
        self.assertIs(named("terminals/zvt-till"), named("zvt-till"))
        self.assertRaises(LookupError, named, "nothing")

    def test_replay(self) -> None:
        """An input is run again without the fuzzer; the status says whether it breaks a promise."""
        file = Path(self.mktemp())
        file.write_bytes(b"{")
        said = io.StringIO()
        with redirect_stdout(said):
            self.assertEqual(replay.main(["tasks", str(file)]), 0)
            self.patch(replay, "named", lambda name: Target(name, lambda data: 1 // 0, ()))
            self.assertEqual(replay.main(["tasks", str(file)]), 1)
        self.assertIn("ZeroDivisionError", said.getvalue())


class KeepingTests(SynchronousTestCase):
    """Which inputs are kept."""

    def test_chosen(self) -> None:
        """The shortest input for each new branch is kept; branches that the seeds reach do not count."""
        tasks = named("tasks")
        self.assertEqual(chosen(tasks, tasks.seeds), [])
        kept = chosen(tasks, [b"{ }", b"{}", b"[]", b"[ ]"])
        self.assertTrue(kept)
        self.assertEqual(kept, sorted(kept, key=len))
        self.assertNotIn(b"[ ]", kept)

    def test_written(self) -> None:
        """The corpus is written again from what was kept and what has grown; names come from the content."""
        grown, corpus = Path(self.mktemp()), Path(self.mktemp())
        (grown / "tasks").mkdir(parents=True)
        for number, data in enumerate((b"{}", b"[]", b"[ ]")):
            (grown / "tasks" / str(number)).write_bytes(data)
        with redirect_stdout(io.StringIO()):
            keep([named("tasks")], grown, corpus)
            before = {file.name: file.read_bytes() for file in (corpus / "tasks").iterdir()}
            keep([named("tasks")], Path(self.mktemp()), corpus)
        self.assertTrue(before)
        self.assertEqual({file.name: file.read_bytes() for file in (corpus / "tasks").iterdir()}, before)
