"""The list of rules is consistent, and the page shows the tests that the marks name."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

from twisted.trial.unittest import SynchronousTestCase

from tests import traceability
from tests.mutants import Mutant, mutants
from tests.specification import MARK, PARTS, SECTIONS, SENTENCES, WITHOUT_TEST, Part, Sentence, promises, read_part


class SentencesTests(SynchronousTestCase):
    """The specification as data."""

    def test_unique_ids(self) -> None:
        """No two sentences have the same id."""
        counts = Counter(sentence.id for sentence in SENTENCES)
        self.assertEqual([name for name, count in counts.items() if count > 1], [])

    def test_id_is_one_word(self) -> None:
        """An id is letters, digits, dots, dashes and underscores, so that it can be searched for."""
        for sentence in SENTENCES:
            self.assertRegex(sentence.id, r"^[0-9][A-Za-z0-9_.-]*[A-Za-z0-9]$")

    def test_one_line(self) -> None:
        """A sentence is a full sentence of at most 130 characters in one line."""
        for sentence in SENTENCES:
            self.assertRegex(sentence.text, r"^\S.{0,128}\.$", sentence.id)

    def test_no_id_is_another_ones_place(self) -> None:
        """An id is either a rule or the place of several rules (``2.2.tag.1``), never both."""
        ids = {sentence.id for sentence in SENTENCES}
        self.assertEqual([name for name in ids if name.rpartition(".")[0] in ids], [])

    def test_parts(self) -> None:
        """The parts are in order, each with its sentences."""
        numbers = [part.number for part in PARTS]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(tuple(sentence for part in PARTS for sentence in part.sentences), SENTENCES)

    def test_sections(self) -> None:
        """Each section has rules, or codes, and every rule of a part with sections is in one of them."""
        found = {match[0] for sentence in SENTENCES if (match := re.match(r"\d+\.\d+", sentence.id))}
        self.assertEqual(set(SECTIONS) - found, set(traceability.CODES))
        self.assertEqual({name for name in found - set(SECTIONS) if name[0] in "12345"}, set())

    def test_table(self) -> None:
        """A table has a row for each sentence; an indented line continues the row before it."""
        part = read_part(12, "Months", "\n12.1  One.\n\n12.2  Two and\n      three.\n")
        self.assertEqual(part, Part(12, "Months", (Sentence("12.1", "One."), Sentence("12.2", "Two and three."))))

    def test_table_of_another_part(self) -> None:
        """A row in the wrong part is refused by name."""
        error = self.assertRaises(ValueError, read_part, 1, "One", "12.1  One.")
        self.assertIn("'12.1'", str(error))

    def test_table_opens_with_a_continuation(self) -> None:
        """A table whose first line is indented is refused."""
        self.assertRaises(ValueError, read_part, 1, "One", "  1.1  One.")


class PromisesTests(SynchronousTestCase):
    """The mark of a test."""

    def test_mark(self) -> None:
        """A marked function is the same function, with the ids as an attribute."""

        def test() -> None: ...

        self.assertIs(promises("1.1.1", "8.port")(test), test)
        self.assertEqual(getattr(test, MARK), ("1.1.1", "8.port"))

    def test_second_mark(self) -> None:
        """A second mark adds to the first, each id once."""

        @promises("1.1.1", "1.2.2")
        @promises("1.1.1")
        def test() -> None: ...

        self.assertEqual(getattr(test, MARK), ("1.1.1", "1.2.2"))

    def test_subclass(self) -> None:
        """A marked class keeps the promises of its base, and the base is not changed."""

        @promises("1.1.1")
        class Base: ...

        @promises("1.2.2")
        class Derived(Base): ...

        self.assertEqual(getattr(Derived, MARK), ("1.1.1", "1.2.2"))
        self.assertEqual(getattr(Base, MARK), ("1.1.1",))

    def test_unknown_id(self) -> None:
        """An id without a sentence is refused when the mark is made, and the error names it."""
        error = self.assertRaises(ValueError, promises, "1.1.1", "1.99.1")
        self.assertIn("1.99.1", str(error))
        self.assertNotIn("1.1.1,", str(error))


def _module(*cases: type) -> ModuleType:
    """A test module ``tests.test_example`` that holds ``cases``."""
    module = ModuleType("tests.test_example")
    for case in cases:
        case.__module__, case.__qualname__ = module.__name__, case.__name__
        setattr(module, case.__name__, case)
    return module


class ReadMarksTests(SynchronousTestCase):
    """From test classes to the tests that prove a sentence."""

    def test_methods_and_cases(self) -> None:
        """A marked method is named with its class, a marked test case by itself, in alphabetical order."""

        @promises("8.port")
        class PortTests(SynchronousTestCase):
            def test_other(self) -> None: ...

            @promises("1.1.1", "8.port")
            def test_default(self) -> None: ...

        self.assertEqual(
            traceability.read_marks([_module(PortTests)]),
            {
                "1.1.1": ["test_example.PortTests.test_default"],
                "8.port": ["test_example.PortTests", "test_example.PortTests.test_default"],
            },
        )

    def test_contract(self) -> None:
        """A marked test of a mixin counts for each test case that inherits it, and not for the mixin."""

        class Contract:
            @promises("1.1.1")
            def test_it(self) -> None: ...

        class MemoryTests(Contract, SynchronousTestCase): ...

        class DiskTests(Contract, SynchronousTestCase): ...

        self.assertEqual(
            traceability.read_marks([_module(Contract, MemoryTests, DiskTests)]),
            {"1.1.1": ["test_example.DiskTests.test_it", "test_example.MemoryTests.test_it"]},
        )

    def test_case_without_tests(self) -> None:
        """A marked test case without a test proves nothing."""

        @promises("1.1.1")
        class EmptyTests(SynchronousTestCase): ...

        self.assertEqual(traceability.read_marks([_module(EmptyTests)]), {})

    def test_imported_case(self) -> None:
        """A test case that a second module imports is listed once, in its own module."""

        class HomeTests(SynchronousTestCase):
            @promises("1.1.1")
            def test_it(self) -> None: ...

        home = _module(HomeTests)
        guest = ModuleType("tests.test_guest")
        vars(guest)["HomeTests"] = HomeTests
        self.assertEqual(traceability.read_marks([home, guest]), {"1.1.1": ["test_example.HomeTests.test_it"]})


class ImportTests(SynchronousTestCase):
    """Finding the test modules."""

    def test_broken_module(self) -> None:
        """A module that cannot be imported is skipped and reported; the others are read."""
        folder = Path(self.mktemp()) / "trace_example"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("", "utf-8")
        (folder / "helper.py").write_text("raise AssertionError('only test modules are imported')", "utf-8")
        (folder / "test_broken.py").write_text("import nothing_of_this_name", "utf-8")
        (folder / "test_whole.py").write_text("", "utf-8")
        self.patch(sys, "path", [str(folder.parent.resolve()), *sys.path])
        self.addCleanup(self._forget, "trace_example")

        modules, failures = traceability.import_tests(folder, "trace_example")

        self.assertEqual([module.__name__ for module in modules], ["trace_example.test_whole"])
        self.assertEqual(
            failures,
            [
                "trace_example.test_broken cannot be imported: "
                "ModuleNotFoundError: No module named 'nothing_of_this_name'"
            ],
        )

    def _forget(self, package: str) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]


class RenderTests(SynchronousTestCase):
    """From marks to the page."""

    def test_example(self) -> None:
        """A rule is a row with its id and its tests, or with "not yet"; the counts are at the end."""
        parts = [
            Part(2, "First", (Sentence("2.1.a", "A."), Sentence("2.10", "B."), Sentence("2.2.c", "C."))),
            Part(7, "Second", (Sentence("7.0.1", "D."),)),
        ]
        marks = {"2.1.a": ["test_a.ATests", "test_b.BTests.test_it"]}
        page = traceability.render(parts, marks)
        self.assertTrue(
            page.startswith(
                traceability.INTRODUCTION
                + "\n## 2. First\n"
                + f"\n{traceability.HEAD}|2.10|B.|none: not yet|\n"
                + "\n### 2.1 Device\n"
                + f"\n{traceability.HEAD}|2.1.a|A.|`test_a.ATests`<br>`test_b.BTests.test_it`|\n"
                + "\n### 2.2 Request\n"
                + f"\n{traceability.HEAD}|2.2.c|C.|none: not yet|\n"
            ),
            page,
        )
        self.assertIn(
            "\n## 7. Second\n"
            f"\n{traceability.HEAD}|7.0.1|D.|none: not yet|\n"
            "\n### 7.1 General codes\n"
            "\n[Result codes](../result-codes.md#all-devices).\n",
            page,
        )
        self.assertTrue(
            page.endswith("\n## Count\n\n|Part|Rules|Tested|\n|---|---|---|\n|2|3|1|\n|7|1|0|\n"),
            page,
        )

    def test_braces(self) -> None:
        """The common part of names is written once; a class in the list includes its tests."""
        for names, shown in (
            (["a.B.c"], ["a.B.c"]),
            (["a.B.c", "a.B.d", "e.F.g"], ["a.B.{c,d}", "e.F.g"]),
            (["a.B.c", "a.D.c", "a.E.f"], ["a.{{B,D}.c,E.f}"]),
            (["a.B", "a.B.c"], ["a.B"]),
            ([], []),
        ):
            self.assertEqual(traceability.braced(names), shown)


class MutantsTests(SynchronousTestCase):
    """The breaks that `make mutants` tries."""

    def test_every_rule(self) -> None:
        """Each rule that has tests has a mutant, and no mutant is of another rule."""
        broken = {rule for mutant in mutants() for rule in mutant.rules}
        self.assertEqual(broken, {sentence.id for sentence in SENTENCES} - set(WITHOUT_TEST))

    def test_texts(self) -> None:
        """The old text of each mutant occurs exactly once in its file."""
        for mutant in mutants():
            text = (traceability.ROOT / mutant.file).read_text(encoding="utf-8")
            self.assertNotEqual(mutant.breaks(text), text)

    def test_text_gone(self) -> None:
        """A mutant whose text is gone, or there twice, is refused with its file."""
        mutant = Mutant(("1.1.1",), "a.py", "old", "new")
        self.assertEqual(mutant.breaks("the old one"), "the new one")
        for text in ("", "old and old"):
            self.assertIn("a.py", str(self.assertRaises(ValueError, mutant.breaks, text)))


class PageTests(SynchronousTestCase):
    """The page in the repository."""

    def test_nothing_left(self) -> None:
        """Each sentence has a test, or a reason why it cannot have one, never both."""
        modules, _ = traceability.import_tests(traceability.ROOT / "tests", "tests")
        proved = set(traceability.read_marks(modules))
        self.assertEqual({each.id for each in SENTENCES} - proved, set(WITHOUT_TEST))

    def test_written_then_checked(self) -> None:
        """A missing or edited page fails the check, which names the command; a new page passes."""
        page = Path(self.mktemp()) / "docs" / "specification.md"

        self.assertEqual(self._main("--check", page=page)[0], 1)
        self.assertEqual(self._main(page=page), (0, ""))
        self.assertEqual(self._main("--check", page=page), (0, ""))
        page.write_text(page.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
        status, errors = self._main("--check", page=page)
        self.assertEqual(status, 1)
        self.assertIn("`python -m tests.traceability` writes it again", errors)

    def test_committed_page(self) -> None:
        """The committed page is equal to the one made from the marks."""
        status, errors = self._main("--check", page=traceability.PAGE)
        self.assertEqual(status, 0, errors)

    def _main(self, *arguments: str, page: Path) -> tuple[int, str]:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = traceability.main(arguments, page)
        return status, errors.getvalue()
