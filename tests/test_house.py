"""The house: every room has its place, imports run downwards, and no modules import each other."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests import traceability
from tools import house

ROOT = Path(__file__).parent.parent

LAZY = {
    "protocols.grpc.channel": "HTTP/2 takes 2 MB, needed with the first call only",
    "dmtwisted.commands.launch": "TLS is loaded with a certificate only",
    "dmtwisted.commands.service": "pywin32 exists on Windows only",
    "dmtwisted.core": "TLS is loaded with a certificate only",
    "dmtwisted.doctor.service": "certificates are loaded where there is one",
    "dmtwisted.doctor.tls": "certificates are loaded where there is one",
    "dmtwisted.hooks.service": "HTTP and TLS are loaded with the first event for a subscriber",
    "dmtwisted.mail.service": "SMTP, PDF and e-mail are loaded with the first letter",
    "dmtwisted.printing.drivers.training": "simulators are loaded for a training printer only",
    "dmtwisted.printing.settings": "CUPS and COM ports are loaded for printers that use them",
    "dmtwisted.registers.drivers.prro": "signing takes 19 MB, needed by registers at the tax service only",
    "dmtwisted.registers.drivers.training": "protocol B is loaded for training registers that practise it",
    "dmtwisted.registers.mark_rules": "HTTP and TLS are loaded with the first register that asks a marks service",
    "dmtwisted.registers.prro.protocols": "protocol B is loaded when someone asks for it",
    "dmtwisted.registers.prro.register": "protocol B is loaded with the first register that uses it",
    "dmtwisted.registers.prro.settings": "certificates are read where a setting names one",
    "dmtwisted.store.opening": "one database of three is used",
    "twisted.plugins.dmtwisted_plugin": "twistd imports every plugin for its list",
    "web.damage": "backups are listed for a damaged database only",
    "web.doctor": "checks are loaded when someone asks",
    "web.service": "core and site are loaded while the writer of the database starts",
    "web.openapi.resource": "the document takes memory that few services need",
    "web.support": "the bundle is made when someone asks",
}
"""Modules that import others inside a function, each with the reason."""


def shadowed(case: type) -> Iterator[str]:
    """Tests of a class that are hidden by tests of another class which knows nothing of it."""
    owners: dict[str, type] = {}
    for owner in case.__mro__:
        for name in vars(owner):
            if name.startswith("test"):
                if name in owners and not issubclass(owners[name], owner):
                    yield f"{owners[name].__name__}.{name} hides {owner.__name__}.{name}"
                owners[name] = owner


class RoomTests(SynchronousTestCase):
    """Who may import whom; the order is `tools.house.ROOMS`."""

    def test_every_module(self) -> None:
        """Every module belongs to a room, and every room has modules."""
        rooms = {name: house.room_of(name) for name in house.modules()}
        self.assertEqual([name for name, room in rooms.items() if room is None], [])
        self.assertEqual(set(house.ROOMS) - set(rooms.values()), set())

    def test_downwards(self) -> None:
        """A room imports only rooms before it, also for types and within functions."""
        self.assertEqual([f"{up.importer} imports {up.imported}" for up in house.upwards()], [])

    def test_no_circles(self) -> None:
        """No modules import each other, neither directly nor around others."""
        self.assertEqual(house.circles(), [])

    def test_hidden(self) -> None:
        """An import inside a function is listed here with its reason, and each listed module still has one."""
        hidden = {found.importer for found in house.imports() if found.hidden}
        self.assertEqual((hidden - set(LAZY), set(LAZY) - hidden), (set(), set()))

    def test_described(self) -> None:
        """The table and the graph in the architecture page are those of the code."""
        self.assertIn(house.page_part(), house.PAGE.read_text("utf-8"))

    def test_service_carries_no_sqlalchemy(self) -> None:
        """The service and its writer import neither SQLAlchemy nor alembic: only migrations do."""
        for path in (ROOT / "dmtwisted").rglob("*.py"):
            if "migrations" in path.parts or path.name in ("schema.py", "migrate.py"):
                continue
            text = path.read_text("utf-8")
            self.assertNotRegex(text, r"(?m)^\s*(from|import) (sqlalchemy|alembic)\b", str(path))


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
