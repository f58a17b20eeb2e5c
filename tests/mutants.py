"""
Break each rule of the specification on purpose, and see its tests fail: ``python -m tests.mutants [RULE ...]``.

``tests/mutants.toml`` has the breaks: a file, a short text that occurs in it once, what stands there instead, and the
rules that are broken then. Each break is made in a copy of the repository, where a process of its own runs the tests
that are marked with its rules, up to the first that fails. At the end those that failed run once more without any
break: one that fails then as well proves nothing. The last lines name the rules without a killed mutant.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import unittest
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.specification import SENTENCES, WITHOUT_TEST

ROOT: Final = Path(__file__).resolve().parent.parent
LIST: Final = ROOT / "tests" / "mutants.toml"

OURS: Final = frozenset({"dmtwisted", "protocols", "tests", "tools", "web"})
"""Packages that each process imports from its own copy."""

THEIRS: Final = (
    *("alembic", "automat", "cryptography.x509", "hypothesis", "jinja2", "msgspec", "OpenSSL.SSL", "PIL.Image"),
    *("reportlab.pdfgen.canvas", "sqlalchemy", "twisted.trial.unittest", "twisted.web.server"),
)
"""Packages that are imported once, for all processes; none that imports a reactor, which cannot be shared."""

LAST: Final = (
    *("browser", "test_postgres", "test_mssql", "test_service_process", "test_tls_service", "test_demo"),
    *("test_history", "test_tax_chaos", "test_behaviour", "test_oracle", "test_catalogue"),
)
"""How modules begin whose tests are slow: they run after all others."""

NOT_COPIED: Final = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "_trial_temp*")

PATIENCE: Final = 180.0
"""Seconds for the tests of one mutant; a test that never ends has failed."""


@dataclass(frozen=True)
class Mutant:
    """One break of the service, and the rules that it breaks."""

    rules: tuple[str, ...]
    file: str
    old: str
    new: str

    def breaks(self, text: str) -> str:
        """The text of its file, broken.

        :raises ValueError: the old text does not occur exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.file} has {count} times: {self.old}")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """Every mutant of the list."""
    with LIST.open("rb") as file:
        rows = tomllib.load(file)["mutant"]
    return [Mutant(**row | {"rules": tuple(row["rules"])}) for row in rows]


def marks() -> dict[str, list[str]]:
    """The marked tests of each rule, read in another process, because this one must not import the service."""
    program = (
        "import json; from tests import traceability as t;"
        "print(json.dumps(t.read_marks(t.import_tests(t.ROOT / 'tests', 'tests')[0])))"
    )
    return json.loads(subprocess.check_output([sys.executable, "-c", program], cwd=ROOT).splitlines()[-1])  # type: ignore[no-any-return]


# In a process of its own


def run_tests(tree: Path, tests: Mapping[str, Sequence[str]], stop: bool) -> dict[str, Any]:
    """Run the ``tests`` of each rule against ``tree``; with ``stop``, a rule's first failure is enough."""
    os.environ["PYTHONPATH"] = str(tree)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(ROOT)))]
    folder = tree / "_mutants"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    from twisted.trial.reporter import TestResult

    rules: dict[str, list[str]] = {}
    for rule, names in tests.items():
        for name in names:
            rules.setdefault(name, []).append(rule)
    failed: dict[str, str] = {}
    passed: list[str] = []
    broken: dict[str, str] = {}
    for name in sorted(rules, key=lambda name: (name.startswith(LAST), name)):
        if stop and all(rule in failed for rule in rules[name]):
            continue
        try:
            cases = list(_cases(name))
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"
            continue
        for case in cases:
            result = TestResult()
            unittest.TestSuite([case]).run(result)
            if result.errors or result.failures:
                # An exception other than that of an assertion is worth a look: is the rule broken, or just the code?
                raised: Any = result.errors[0][1] if result.errors else None
                how = name if raised is None else f"{name} ({raised.type.__name__})"
                failed.update({rule: how for rule in rules[name] if rule not in failed})
                break
            if result.testsRun and not result.skips:
                passed.append(name)
    return {"failed": failed, "passed": passed, "broken": broken}


def _cases(name: str) -> Iterator[unittest.TestCase]:
    """The tests of a name as `traceability.read_marks` writes it."""
    words = name.split(".")
    at = next(index for index, word in enumerate(words) if word[0].isupper())
    found: Any = importlib.import_module(".".join(("tests", *words[:at])))
    found = getattr(found, words[at])
    for method in words[at + 1 :] or [method for method in dir(found) if method.startswith("test")]:
        yield found(method)


# In this process


@dataclass
class Run:
    """A process that runs tests in a copy of the repository."""

    tree: Path
    tests: dict[str, list[str]]
    stop: bool
    mutant: Mutant | None = None
    whole: bytes = b""
    times: tuple[int, int] = (0, 0)
    pid: int = 0
    until: float = 0.0

    def begin(self) -> None:
        """
        Break the copy, and start the process.

        :raises ValueError: the mutant cannot be made.
        :raises SyntaxError: it is no program, which would break everything and prove nothing.
        """
        if self.mutant is not None:
            path = self.tree / self.mutant.file
            self.whole, stat = path.read_bytes(), path.stat()
            self.times = stat.st_atime_ns, stat.st_mtime_ns
            broken = self.mutant.breaks(self.whole.decode())
            if path.suffix == ".py":
                compile(broken, path, "exec")
            path.write_text(broken, encoding="utf-8")
        self.until = time.monotonic() + PATIENCE * (1 if self.stop else 10)
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            with (self.tree / "output").open("wb") as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            try:
                result = json.dumps(run_tests(self.tree, self.tests, self.stop))
                (self.tree / "result").write_text(result, encoding="utf-8")
            finally:
                os._exit(0)

    def ended(self) -> dict[str, Any] | None:
        """What came of it, once it has ended; the copy is whole again then."""
        over = time.monotonic() > self.until
        if over:
            os.killpg(self.pid, signal.SIGKILL)
        pid, _ = os.waitpid(self.pid, 0 if over else os.WNOHANG)
        if not pid:
            return None
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # what a failed test left running
        if self.mutant is not None:
            path = self.tree / self.mutant.file
            path.write_bytes(self.whole)
            # With its time, so that what Python has compiled of it is used again.
            os.utime(path, ns=self.times)
        result = self.tree / "result"
        if result.exists():
            found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
            result.unlink()
            return found
        why = (
            "its tests did not end" if over else (self.tree / "output").read_text(encoding="utf-8", errors="replace")
        )
        return {"failed": dict.fromkeys(self.tests, why) if over else {}, "passed": [], "broken": {"": why[-500:]}}


def run_all(wanted: Sequence[Mutant], tests: Mapping[str, list[str]], folder: Path, jobs: int) -> dict[str, str]:
    """Run every mutant, print what became of it, and return the test that killed one for each rule."""
    trees = [folder / str(number) for number in range(jobs)]
    for tree in trees:
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED, symlinks=True)
    waiting, running = list(wanted), list[Run]()
    killed: dict[str, str] = {}
    killings = set[tuple[Mutant, str]]()
    while waiting or running:
        while waiting and trees:
            mutant = waiting.pop(0)
            theirs = {rule: tests[rule] for rule in mutant.rules if rule in tests}
            run = Run(trees.pop(), theirs, True, mutant)
            try:
                run.begin()
            except (ValueError, SyntaxError) as error:
                print(f"cannot be made  {', '.join(mutant.rules)}: {error}", flush=True)
                trees.append(run.tree)
            else:
                running.append(run)
        for run in list(running):
            if (result := run.ended()) is not None:
                running.remove(run)
                trees.append(run.tree)
                failed = _told(run, result)
                killed.update(failed)
                killings.update((run.mutant, rule) for rule in failed if run.mutant is not None)
        time.sleep(0.02)
    # The same tests without any break.
    proofs = {rule: [test.split()[0]] for rule, test in killed.items() if test.split()[0] in tests[rule]}
    run = Run(trees[0], proofs, False)
    run.begin()
    while (result := run.ended()) is None:
        time.sleep(0.02)
    for rule, test in result["failed"].items():
        print(f"fails anyway    {rule} by {test}")
        killed.pop(rule, None)
    for mutant in wanted:
        for rule in mutant.rules:
            if (mutant, rule) not in killings:
                killed.pop(rule, None)
    for test, why in result["broken"].items():
        print(f"cannot run      {test}: {why}")
    return killed


def _told(run: Run, result: dict[str, Any]) -> dict[str, str]:
    """Print what became of one mutant; return the rules whose tests failed."""
    assert run.mutant is not None
    failed: dict[str, str] = result["failed"]
    for rule in run.mutant.rules:
        if rule in failed:
            print(f"killed          {rule} by {failed[rule]}", flush=True)
        elif broken := next(iter(result["broken"].values()), ""):
            print(f"cannot run      {rule}: {broken}", flush=True)
        else:
            passed = sum(test in result["passed"] for test in run.tests.get(rule, ()))
            print(f"survived        {rule}: {passed} of {len(run.tests.get(rule, ()))} tests passed", flush=True)
    return failed


def _matches(rule: str, wanted: Collection[str]) -> bool:
    return not wanted or any(rule == word or rule.startswith(f"{word}.") for word in wanted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants; the exit status is 1 when a rule that has tests has no killed mutant."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="a rule, or what several begin with: 4.4, 2.2.tag")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at the same time")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    wanted = [mutant for mutant in mutants() if any(_matches(rule, options.rules) for rule in mutant.rules)]
    tests = marks()
    for name in THEIRS:
        importlib.import_module(name)
    with TemporaryDirectory(prefix="dmtwisted-mutants-") as folder:
        killed = run_all(wanted, tests, Path(folder), options.jobs)
    rules = [sentence.id for sentence in SENTENCES if _matches(sentence.id, options.rules)]
    proved = [rule for rule in rules if rule in killed]
    left = [rule for rule in rules if rule not in killed and rule not in WITHOUT_TEST]
    print(f"{len(rules)} rules, {len(wanted)} mutants, {time.monotonic() - began:.0f} s")
    print(f"{len(proved)} rules with a killed mutant")
    print(f"without tests, with a reason: {' '.join(rule for rule in rules if rule in WITHOUT_TEST) or 'none'}")
    print(f"without a killed mutant: {' '.join(left) or 'none'}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
