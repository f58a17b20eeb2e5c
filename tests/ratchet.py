"""Break single places of the code that keeps the books, and see the tests fail: ``python -m tests.ratchet``.

``tests/ratchet.toml`` names the subjects: files of the program, the test modules that have to notice, and the share
of breaks that they noticed when it was last measured. Each break (a mutant) turns a condition round, takes another
number, leaves a statement out, returns nothing, or changes a word of SQL. A process that has the program and the
tests in its memory forks for each mutant, changes the code of the function there, and runs the tests that come to
that line, up to the first that fails. What lies outside of functions is imported again.

Results are kept in ``build/ratchet`` by the content of the file, so an interrupted run goes on, and other tests meet
only what survived before; without the folder everything is made again. Mutants come in the order of their digests, so
an interrupted run has a fair sample. Survivors are listed in ``tests/survivors.toml``, each with the reason why no
test has to notice it.

``--changed`` measures only files that differ from where this branch left ``main``, as long as ``--seconds`` allow: a
mutant that survives and is not in the list fails.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import tomllib
import unittest
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from tools.check import changed

ROOT: Final = Path(__file__).resolve().parent.parent
LIST: Final = ROOT / "tests" / "ratchet.toml"
SURVIVORS: Final = ROOT / "tests" / "survivors.toml"
KEPT: Final = ROOT / "build" / "ratchet"

LONGEST: Final = 2.0
SLACK: Final = 10.0
"""A mutant's tests may take so many times as long as while their lines were traced, and so many seconds more."""

MEMORY: Final = 4 << 30
"""Bytes that a mutant's tests may take: some never end, and remember all the time."""

KILLED, SURVIVED, SLOW, UNSEEN = "killed", "survived", "slow", "unseen"
"""What came of a mutant: a test failed, none did, the tests did not end, no test comes to its line."""

SAID: Final = frozenset({"log", "debug", "info", "warn", "error", "failure", "reached"})
"""Calls by these names say something, and change nothing."""

COMPARED: Final[Mapping[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
CALCULATED: Final[Mapping[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "*"),
}
SQL: Final = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|ORDER BY)\b")
WORDS: Final = (
    *((" = ", " <> "), (" <> ", " = "), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")),
    *((" AND ", " OR "), (" IS NULL", " IS NOT NULL"), (" IS NOT NULL", " IS NULL"), (" DESC", "")),
    *((" OR IGNORE ", " "), (" NOT IN ", " IN "), (" IN (", " NOT IN ("), ("DISTINCT ", "")),
    *(("max(", "min("), ("min(", "max("), (" + 1", "")),
)
"""Words of SQL, and what stands there instead."""


@dataclass(frozen=True)
class Mutant:
    """One break.

    :param function: the function in which it is, or the class; empty on the level of the module.
    :param first: the first line of the statement; ``at`` and ``end`` are offsets in the file.
    """

    file: str
    function: str
    first: int
    at: int
    end: int
    old: str
    new: str
    nth: int = 0
    """How many places of the function before it have the same change."""

    @property
    def name(self) -> str:
        """What it is called in lists: it stays the same while other lines change."""
        more = f" #{self.nth}" if self.nth else ""
        return f"{self.function}: {_one_line(self.old)} -> {_one_line(self.new) or 'nothing'}{more}"

    def within(self, text: str) -> str:
        """The text of its file, broken."""
        return text[: self.at] + self.new + text[self.end :]


def _one_line(text: str) -> str:
    found = " ".join(text.split())
    return found if len(found) <= 90 else f"{found[:60]}…{found[-29:]}"


class Finder(ast.NodeVisitor):
    """Finds the places of a file."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.found: list[Mutant] = []
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = text.splitlines()
        self._names: list[str] = []
        self._first = 1
        self.visit(ast.parse(text))

    def _offset(self, line: int, column: int) -> int:
        """Columns of the tree are bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _add(self, at: int, end: int, new: str) -> None:
        old = self.text[at:end]
        name = ".".join(self._names)
        nth = sum((one.function, one.old, one.new) == (name, old, new) for one in self.found)
        self.found.append(Mutant(self.file, name, self._first, at, end, old, new, nth))

    def _instead(self, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(*self._span(node), new)

    def _between(self, left: ast.expr, right: ast.expr, words: tuple[str, str]) -> None:
        """Change the operator between two operands."""
        at, end = self._span(left)[1], self._span(right)[0]
        found = re.search(re.escape(words[0]).replace("\\ ", r"\s+"), self.text[at:end])
        if found:
            self._add(at + found.start(), at + found.end(), words[1])

    def visit(self, node: ast.AST) -> None:
        """Each node; a statement is where its mutants are."""
        if isinstance(node, ast.stmt):
            before, self._first = self._first, node.lineno
            super().visit(node)
            self._first = before
        else:
            super().visit(node)

    def _body(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._names.append(node.name)
        for child in node.body:
            if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                self.visit(child)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Its body; defaults and annotations say little."""
        self._body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """As any function."""
        self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """As a function."""
        self._body(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Without the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Left out when it changes an object; a name without its value is no program."""
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._instead(node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Left out."""
        self._instead(node, "pass")
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Left out."""
        self._instead(node, "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        """Left out, but for what only says something."""
        if isinstance(node.value, ast.Constant):
            return
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and _called(call) in SAID:
            return
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._instead(node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Left out; its words do not matter."""
        self._instead(node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        """For the reader and the type checker."""

    def visit_Return(self, node: ast.Return) -> None:
        """Nothing is returned; in place of what is false or empty that would be the same."""
        if node.value is not None:
            if not (isinstance(node.value, ast.Constant) and not node.value.value):
                self._instead(node.value, "None")
            self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        """The loop goes on."""
        self._instead(node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        """The rest is done too."""
        self._instead(node, "pass")

    def visit_If(self, node: ast.If) -> None:
        """Turned round."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._turn(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Turned round."""
        self._turn(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Turned round."""
        if not isinstance(node.test, ast.Constant):
            self._turn(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Each of its conditions turned round."""
        for test in node.ifs:
            self._turn(test)
        self.generic_visit(node)

    def _turn(self, test: ast.expr) -> None:
        # Comparisons have a change of their own.
        if not isinstance(test, ast.Compare) or len(test.ops) > 1:
            at, end = self._span(test)
            self._add(at, end, f"not ({self.text[at:end]})")

    def visit_Compare(self, node: ast.Compare) -> None:
        """Another comparison."""
        left = node.left
        for operation, right in zip(node.ops, node.comparators, strict=True):
            self._between(left, right, COMPARED[type(operation)])
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And for or."""
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, words)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another calculation; texts are not calculated."""
        if type(node.op) in CALCULATED and not any(
            isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        ):
            self._between(node.left, node.right, CALCULATED[type(node.op)])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Its arguments, unless it only says something."""
        if _called(node) not in SAID:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """SQL, as in a plain text."""
        self._sql(node, "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)))

    def visit_Constant(self, node: ast.Constant) -> None:
        """The other truth, the next number, another word of SQL."""
        if isinstance(node.value, bool):
            self._instead(node, str(not node.value))
        elif isinstance(node.value, int):
            # A large number says how long or how much: a little more is not wrong.
            self._instead(node, str(node.value + 1 if node.value < 10 else node.value * 2))
        elif isinstance(node.value, str):
            self._sql(node, node.value)

    def _sql(self, node: ast.expr, value: str) -> None:
        if SQL.search(value):
            at, end = self._span(node)
            for old, new in WORDS:
                for place in re.finditer(re.escape(old), self.text[at:end]):
                    self._add(at + place.start(), at + place.end(), new)


def _called(call: ast.Call) -> str:
    function = call.func
    while isinstance(function, ast.Attribute):
        if function.attr in SAID:
            return function.attr
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


@cache
def mutants_of(file: str) -> list[Mutant]:
    """The mutants of a file that are programs, in the order of their digests."""
    text = (ROOT / file).read_text("utf-8")
    found = []
    for mutant in Finder(file, text).found:
        with suppress(SyntaxError):
            compile(mutant.within(text), file, "exec")
            found.append(mutant)
    return sorted(found, key=lambda mutant: hashlib.sha256(f"{file} {mutant.name}".encode()).digest())


# The list


@dataclass(frozen=True)
class Subject:
    """Some files, and the modules that test them; ``scores`` is by file, in per cent of its mutants."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)


def subjects() -> list[Subject]:
    """All subjects."""
    rows = tomllib.loads(LIST.read_text("utf-8"))["subject"]
    return [Subject(row["name"], tuple(row["files"]), tuple(row["tests"]), row.get("scores", {})) for row in rows]


def listed() -> dict[tuple[str, str], str]:
    """The reason of each survivor, by its file and name."""
    rows = tomllib.loads(SURVIVORS.read_text("utf-8")) if SURVIVORS.exists() else {}
    return {(file, name): why for file, names in rows.items() for name, why in names.items()}


# The process that has everything in its memory


@dataclass
class Test:
    """One test: the lines of our files that it comes to, and its seconds."""

    case: unittest.TestCase
    lines: frozenset[tuple[str, int]]
    seconds: float


class Warm:
    """A process with the program and the tests of a subject."""

    def __init__(self, subject: Subject) -> None:
        # Its descriptors are not shared by those who fork, as those of epoll are.
        if "twisted.internet.reactor" not in sys.modules:
            from twisted.internet import pollreactor

            pollreactor.install()
        KEPT.mkdir(parents=True, exist_ok=True)
        folder = KEPT / f"temp-{os.getpid()}"
        folder.mkdir(exist_ok=True)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.chdir(folder)
        self._files = {str(ROOT / file): file for file in subject.files}
        loader = unittest.TestLoader()
        cases = [case for module in subject.tests for case in _flat(loader.loadTestsFromName(f"tests.{module}"))]
        named = [f"tests/{module}.py" for module in subject.tests]
        measured = KEPT / f"{subject.name}.{_digest(*subject.files, *named)}.json"
        known: dict[str, Any] = json.loads(measured.read_text("utf-8")) if measured.exists() else {}
        # A module may get tests from a contract that it shares with others.
        fresh = {case.id(): self._measured(case) for case in cases if case.id() not in known}
        if fresh:
            known |= fresh
            written = measured.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps(known), "utf-8")
            written.replace(measured)
        self.tests = [
            Test(case, frozenset((file, line) for file, line in known[case.id()][0]), known[case.id()][1])
            for case in cases
            if known[case.id()][0]
        ]
        self._functions = self._by_code()

    def _measured(self, case: unittest.TestCase) -> tuple[list[tuple[str, int]], float]:
        """The lines that a test comes to, none when it fails, and its seconds."""
        seen: set[tuple[str, int]] = set()
        begun = time.perf_counter()
        good = self._traced(case, seen)
        if not good:
            print(f"fails anyway    {case.id()}", flush=True)
        return sorted(seen) if good else [], time.perf_counter() - begun

    def _traced(self, case: unittest.TestCase, seen: set[tuple[str, int]]) -> bool:
        files = self._files

        def look(frame: FrameType, event: str, argument: object) -> Any:
            file = files.get(frame.f_code.co_filename)
            if file is None:
                return None
            seen.add((file, frame.f_lineno))

            def line(frame: FrameType, event: str, argument: object) -> Any:
                seen.add((file, frame.f_lineno))
                return line

            return line

        threading.settrace(look)
        sys.settrace(look)
        try:
            return _passes(case)
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _by_code(self) -> dict[tuple[str, str, int], list[FunctionType]]:
        found: dict[tuple[str, str, int], list[FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename in self._files:
                found.setdefault(_place(thing.__code__), []).append(thing)
        return found

    def meets(self, mutant: Mutant) -> list[Test]:
        """The tests that come to its lines, the quickest first."""
        text = (ROOT / mutant.file).read_text("utf-8")
        first, last = mutant.first, text.count("\n", 0, mutant.end) + 1
        lines = {(mutant.file, line) for line in range(first, last + 1)}
        # The level of a module is run when it is imported, which no test does again.
        everywhere = not self._within(mutant)
        met = [
            test
            for test in self.tests
            if (any(file == mutant.file for file, _ in test.lines) if everywhere else test.lines & lines)
        ]
        return sorted(met, key=lambda test: test.seconds)

    def _within(self, mutant: Mutant) -> bool:
        """Whether it is in a function's body."""
        text = (ROOT / mutant.file).read_text("utf-8")
        line = text.count("\n", 0, mutant.at) + 1
        return any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body[0].lineno <= line <= (node.end_lineno or 0)
            for node in ast.walk(ast.parse(text))
        )

    def judge(self, mutant: Mutant) -> str:
        """What comes of it."""
        tests = self.meets(mutant)
        if not tests:
            return UNSEEN
        until = time.monotonic() + SLACK + LONGEST * sum(test.seconds for test in tests)
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            import resource  # not on Windows

            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            status = 3
            try:
                status = self._status(mutant, tests)
            finally:
                os._exit(status)
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done or time.monotonic() > until:
                break
            time.sleep(0.005)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not done:
            os.waitpid(pid, 0)
            return SLOW
        return SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED

    def _status(self, mutant: Mutant, tests: Sequence[Test]) -> int:
        """0 when all tests pass with the mutant."""
        path = ROOT / mutant.file
        code = compile(mutant.within(path.read_text("utf-8")), str(path), "exec")
        if self._within(mutant):
            for inner in _codes(code):
                for function in self._functions.get(_place(inner), ()):
                    function.__code__ = inner
        else:
            self._import_again(mutant, code)
            tests = [Test(case, test.lines, test.seconds) for test in tests for case in _again(test.case)]
        return int(not all(_passes(test.case) for test in tests))

    def _import_again(self, mutant: Mutant, code: CodeType) -> None:
        name = mutant.file.removesuffix(".py").replace("/", ".")
        for module in [one for one in sys.modules if one.partition(".")[0] in ("dmtwisted", "web", "tests")]:
            if module not in ("tests", __name__):
                del sys.modules[module]

        class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
                if fullname != name:
                    return None
                return importlib.util.spec_from_file_location(name, ROOT / mutant.file, loader=self)

            def create_module(self, spec: Any) -> None:
                return None

            def exec_module(self, module: Any) -> None:
                exec(code, module.__dict__)

        sys.meta_path.insert(0, Broken())


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _flat(one)
        else:
            yield one


def _again(case: unittest.TestCase) -> Iterator[unittest.TestCase]:
    """The same test of the module that is imported now."""
    module = importlib.import_module(type(case).__module__)
    yield getattr(module, type(case).__name__)(case.id().rpartition(".")[2])


def _passes(case: unittest.TestCase) -> bool:
    from twisted.trial.reporter import TestResult

    result = TestResult()
    unittest.TestSuite([case]).run(result)
    return bool(result.wasSuccessful())


# The run


def _digest(*files: str) -> str:
    """Of the contents of files."""
    return hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files)).hexdigest()[:16]


class Results:
    """What came of the mutants of one content of a file, kept while they are made."""

    def __init__(self, file: str, tests: Sequence[str]) -> None:
        self._tests = _digest(*(f"tests/{module}.py" for module in tests))
        self._file = KEPT / f"{file.replace('/', '.')}.{_digest(file)}.jsonl"
        self.known: dict[str, str] = {}
        if self._file.exists():
            for line in self._file.read_text("utf-8").splitlines():
                name, outcome, by = json.loads(line)
                # What tests did not notice, other tests may.
                if outcome in (KILLED, SLOW) or by == self._tests:
                    self.known[name] = outcome

    def keep(self, name: str, outcome: str) -> None:
        """Remember an outcome."""
        self.known[name] = outcome
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, outcome, self._tests], ensure_ascii=False) + "\n")

    def count(self, *outcomes: str) -> int:
        """How many mutants came to this."""
        return sum(outcome in outcomes for outcome in self.known.values())

    @property
    def score(self) -> float:
        """The share of mutants that were noticed, in per cent."""
        return 100 * self.count(KILLED, SLOW) / max(len(self.known), 1)


def measure(subject: Subject, files: Sequence[str], until: float, shard: tuple[int, int]) -> dict[str, Results]:
    """Make the mutants of these files that were not made before."""
    KEPT.mkdir(parents=True, exist_ok=True)
    found = {file: Results(file, subject.tests) for file in files}
    number, of = shard
    waiting = [
        mutant
        for file in files
        for place, mutant in enumerate(mutants_of(file))
        if place % of == number and mutant.name not in found[file].known
    ]
    waiting.sort(key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())
    warm = Warm(subject) if waiting and time.monotonic() < until else None
    for mutant in waiting:
        if time.monotonic() > until or warm is None:
            break
        outcome = warm.judge(mutant)
        found[mutant.file].keep(mutant.name, outcome)
        if outcome in (SURVIVED, UNSEEN):
            print(f"{outcome:<9} {mutant.file}:{mutant.first} {mutant.name}", flush=True)
    return found


def report(found: Mapping[str, Results], reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """Print the score of each file; returns the survivors without a reason in the list."""
    fresh = []
    for file, results in sorted(found.items()):
        whole, made = len(mutants_of(file)), len(results.known)
        left = [name for name, outcome in results.known.items() if outcome in (SURVIVED, UNSEEN)]
        part = "" if made == whole else f", {made} of {whole} made"
        print(f"{results.score:5.1f} %  {file}: {made - len(left)} noticed, {len(left)} not{part}")
        fresh += [f"{file}: {name}" for name in left if (file, name) not in reasons]
    return fresh


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit status is 1 when a score fell, or with ``--changed`` when an unlisted mutant survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.ratchet", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help="of tests/ratchet.toml; all when absent")
    parser.add_argument("--seconds", type=float, default=1e9, help="no further mutant is made after so long")
    parser.add_argument("--shard", default="0/1", help="make only part N of M, counted from 0")
    parser.add_argument("--changed", action="store_true", help="only files that differ from where the branch began")
    parser.add_argument("--scores", action="store_true", help="make nothing; show what was kept")
    options = parser.parse_args(arguments)
    number, _, of = options.shard.partition("/")
    until = 0.0 if options.scores else time.monotonic() + options.seconds
    touched = {str(file) for file in changed()} if options.changed else None
    reasons, fresh, fell = listed(), list[str](), list[str]()
    for subject in subjects():
        if options.subjects and subject.name not in options.subjects:
            continue
        # Of a file without a score there is no list of what survives.
        files = [file for file in subject.files if touched is None or (file in touched and file in subject.scores)]
        if not files:
            continue
        found = measure(subject, files, until, (int(number), int(of)))
        fresh += report(found, reasons)
        fell += [
            f"{file}: {found[file].score:.1f} % after {score} %"
            for file, score in subject.scores.items()
            if file in found and len(found[file].known) == len(mutants_of(file)) and found[file].score < score - 0.05
        ]
    print(*(f"fell: {line}" for line in fell), sep="\n", end="\n" if fell else "")
    if touched is not None:
        print(*(f"not in tests/survivors.toml: {line}" for line in fresh), sep="\n", end="\n" if fresh else "")
    return int(bool(fell) or (touched is not None and bool(fresh)))


if __name__ == "__main__":
    sys.exit(main())
