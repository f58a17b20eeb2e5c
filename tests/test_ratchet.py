"""The tool that breaks single places: what it breaks, that a break is noticed, and that results go on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests import ratchet
from tests.ratchet import Finder, Results, listed, mutants_of, report, subjects

CODE = '''"""Words."""

LIMIT = 1000


def made(count: int) -> int:
    """Words."""
    if count > 3 and not done:
        log.info("many", count=count + 1)
        self.many = True
        raise ValueError(f"{count} is many")
    return count + 2


def ask(name: str) -> object:
    return run("SELECT a FROM t WHERE b = ? AND c IS NULL ORDER BY n DESC")
'''

PROGRAM = """
from tests import ratchet
from tests.ratchet import Mutant, Subject, Warm, mutants_of

file = "dmtwisted/outbox.py"
text = (ratchet.ROOT / file).read_text("utf-8")
named = {mutant.name: mutant for mutant in mutants_of(file)}
warm = Warm(Subject("one", (file,), ("test_outbox",)))
print(warm.judge(named["_Lane.start: self._running = True -> pass"]))
print(warm.judge(named[": 5_000 -> 10000"]))
at = text.index("reached('outbox.taken')".replace(chr(39), chr(34)))
print(warm.judge(Mutant(file, "_Lane._one", text.count(chr(10), 0, at) + 1, at, at + 1, "r", "r")))
print((ratchet.ROOT / file).read_text("utf-8") == text)
"""


class FinderTests(SynchronousTestCase):
    """The places."""

    def test_places(self) -> None:
        """Conditions, numbers, statements, results and words of SQL are changed; what only says something is not."""
        found = {mutant.name for mutant in Finder("a.py", CODE).found}
        sql = "ask: {} -> {}".format
        self.assertEqual(
            found,
            {
                ": 1000 -> 2000",
                "made: count > 3 and not done -> not (count > 3 and not done)",
                "made: > -> >=",
                "made: and -> or",
                "made: 3 -> 4",
                "made: self.many = True -> pass",
                "made: True -> False",
                'made: raise ValueError(f"{count} is many") -> pass',
                "made: count + 2 -> None",
                "made: + -> -",
                "made: 2 -> 3",
                'ask: run("SELECT a FROM t WHERE b = ? AND c IS NULL ORDER BY n DESC") -> None',
                sql("=", "<>"),
                sql("AND", "OR"),
                sql("IS NULL", "IS NOT NULL"),
                sql("DESC", "nothing"),
            },
        )

    def test_same_twice(self) -> None:
        """Equal changes of one function have names of their own, which stay when lines above change."""
        names = [
            mutant.name for mutant in Finder("a.py", "def f(a):\n    return g(a + 1) if a else h(a + 1)\n").found
        ]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("f: 1 -> 2 #1", names)
        moved = Finder("a.py", "x = y\n\ndef f(a):\n    return g(a + 1) if a else h(a + 1)\n").found
        self.assertEqual([mutant.name for mutant in moved], names)

    def test_whole_program(self) -> None:
        """Every mutant of a subject is another program than before, in the same order each time."""
        for file in (subject.files[0] for subject in subjects()):
            text = (ratchet.ROOT / file).read_text("utf-8")
            found = mutants_of(file)
            self.assertEqual({mutant.within(text) == text for mutant in found}, {False}, file)
            mutants_of.cache_clear()
            self.assertEqual(found, mutants_of(file))


class ListTests(SynchronousTestCase):
    """The files beside it."""

    def test_subjects(self) -> None:
        """Files and test modules of the list are there; a score has its file."""
        for subject in subjects():
            for file in subject.files:
                self.assertTrue((ratchet.ROOT / file).is_file(), file)
            for module in subject.tests:
                self.assertTrue((ratchet.ROOT / "tests" / f"{module}.py").is_file(), module)
            self.assertLessEqual(set(subject.scores), set(subject.files))

    def test_survivors(self) -> None:
        """Each listed survivor has a reason, and is a mutant of its file."""
        for (file, name), why in listed().items():
            self.assertTrue(why, name)
            self.assertIn(name, {mutant.name for mutant in mutants_of(file)}, file)


class ResultsTests(SynchronousTestCase):
    """Results that are kept."""

    def setUp(self) -> None:
        folder = Path(self.mktemp())
        folder.mkdir()
        self.patch(ratchet, "KEPT", folder)

    def results(self) -> Results:
        """Of a file of the list."""
        return Results("dmtwisted/outbox.py", ["test_outbox"])

    def test_kept(self) -> None:
        """An interrupted run goes on; without an end counts as noticed, without a test as not."""
        first = self.results()
        for name, outcome in (("a", "killed"), ("b", "slow"), ("c", "survived"), ("d", "unseen")):
            first.keep(name, outcome)
        again = self.results()
        self.assertEqual((again.known, again.score), (first.known, 50.0))

    def test_other_tests(self) -> None:
        """What survived is made again with other tests, which may notice more; what was noticed is not."""
        first = self.results()
        for name, outcome in (("a", "killed"), ("b", "survived"), ("c", "unseen")):
            first.keep(name, outcome)
        self.assertEqual(Results("dmtwisted/outbox.py", ["test_mail"]).known, {"a": "killed"})

    def test_report(self) -> None:
        """Survivors without a reason are told."""
        results = self.results()
        for name, outcome in (("a", "killed"), ("b", "survived"), ("c", "unseen")):
            results.keep(name, outcome)
        output = StringIO()
        with redirect_stdout(output):
            fresh = report({"dmtwisted/outbox.py": results}, {("dmtwisted/outbox.py", "b"): "it only says something"})
        self.assertEqual(fresh, ["dmtwisted/outbox.py: c"])
        self.assertIn("1 noticed, 2 not, 3 of", output.getvalue())


class JudgeTests(SynchronousTestCase):
    """A process with program and tests."""

    def test_judge(self) -> None:
        """A break in a function and one outside are noticed, the same text is not; no file is written."""
        if sys.platform == "win32":
            self.skipTest("forks")
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ratchet.ROOT, capture_output=True, check=False)
        self.assertEqual(done.stdout.decode().split(), ["killed", "killed", "survived", "True"], done.stderr[-2000:])
