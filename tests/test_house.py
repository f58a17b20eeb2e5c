"""The house itself: imports run downwards, and the folder that twistd shares stays shared."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests import traceability

ROOT = Path(__file__).parent.parent

FLOORS = ("protocols", "dmtwisted", "web")
"""From the ground up."""

ROOMS = (
    ("registers", "dispatch"),
    ("devices", "dispatch"),
    ("turns", "devices"),
    ("store", "registers"),
    ("store", "devices"),
    ("requests", "registers"),
    ("answers", "registers"),
    ("results", "requests"),
)
"""Pairs of rooms of `dmtwisted`: the first knows nothing of the second."""


def imports(path: Path) -> Iterator[str]:
    """Every module that the file imports, by its full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def shadowed(case: type) -> Iterator[str]:
    """Tests of a class that are hidden by tests of another class which knows nothing of it."""
    owners: dict[str, type] = {}
    for owner in case.__mro__:
        for name in vars(owner):
            if name.startswith("test"):
                if name in owners and not issubclass(owners[name], owner):
                    yield f"{owners[name].__name__}.{name} hides {owner.__name__}.{name}"
                owners[name] = owner


class ImportTests(SynchronousTestCase):
    """Who may know whom."""

    def test_floors(self) -> None:
        """No floor imports from one above it."""
        for height, floor in enumerate(FLOORS):
            above = FLOORS[height + 1 :]
            for path in (ROOT / floor).rglob("*.py"):
                wrong = [name for name in imports(path) if name.split(".")[0] in above]
                self.assertEqual(wrong, [], str(path))

    def test_rooms(self) -> None:
        """Lower rooms of `dmtwisted` know nothing of the rooms above them."""
        for lower, upper in ROOMS:
            files = list((ROOT / "dmtwisted").glob(f"{lower}.py")) + list((ROOT / "dmtwisted" / lower).rglob("*.py"))
            self.assertTrue(files, lower)
            for path in files:
                wrong = [name for name in imports(path) if name.startswith(f"dmtwisted.{upper}")]
                # A driver says what it is in the words of the registry, and no more.
                wrong = [name for name in wrong if not (upper == "devices" and "drivers" in path.parts)]
                self.assertEqual(wrong, [], str(path))

    def test_service_carries_no_sqlalchemy(self) -> None:
        """The service and its writer import neither SQLAlchemy nor alembic: only migrations do."""
        for path in (ROOT / "dmtwisted").rglob("*.py"):
            if "migrations" in path.parts or path.name in ("schema.py", "migrate.py"):
                continue
            wrong = [name for name in imports(path) if name.split(".")[0] in ("sqlalchemy", "alembic")]
            self.assertEqual(wrong, [], str(path))


class MixedTests(SynchronousTestCase):
    """Test cases that are put together of several contracts."""

    def test_nothing_hidden(self) -> None:
        """No test hides behind one of the same name from another contract: it would never run."""
        modules, failures = traceability.import_tests(ROOT / "tests", "tests")
        self.assertEqual(failures, [])
        cases = {case for module in modules for case in vars(module).values() if isinstance(case, type)}
        hidden = {found for case in cases if issubclass(case, unittest.TestCase) for found in shadowed(case)}
        self.assertEqual(hidden, set())

    def test_found(self) -> None:
        """Two contracts with a test of one name are found; what a class changes of its own base is not."""

        class First:
            def test_it(self) -> None: ...

        class Second:
            def test_it(self) -> None: ...

        class Narrower(First):
            def test_it(self) -> None: ...

        class Both(Narrower, Second): ...

        self.assertEqual(list(shadowed(Narrower)), [])
        self.assertEqual(list(shadowed(Both)), ["First.test_it hides Second.test_it"])


class SharedFolderTests(SynchronousTestCase):
    """`twisted/plugins` belongs to all of Twisted's plugins."""

    def test_no_package_files(self) -> None:
        """Neither `twisted/` nor `twisted/plugins/` has an `__init__.py` of ours."""
        self.assertFalse((ROOT / "twisted" / "__init__.py").exists())
        self.assertFalse((ROOT / "twisted" / "plugins" / "__init__.py").exists())
