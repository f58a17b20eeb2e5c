"""`tools.check`: which tests belong to a change."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tools.check import tests_of


class TestsOfTests(SynchronousTestCase):
    """The tests of changed files."""

    def test_driver(self) -> None:
        """A driver brings the tests that are named after its folder, and not those of other drivers."""
        found = tests_of([Path("dmtwisted/terminals/zvt/driver.py")])
        self.assertIn("tests.test_zvt_driver", found)
        self.assertNotIn("tests.test_ecr17_driver", found)

    def test_folders(self) -> None:
        """Tests in a folder have its name before theirs."""
        self.assertIn("tests.browser.test_service_pages", tests_of([Path("web/service.py")]))

    def test_importers(self) -> None:
        """A module brings the tests that import it, wherever they are."""
        self.assertIn("tests.test_money", tests_of([Path("dmtwisted/money.py")]))
        self.assertIn("tests.browser.test_flows", tests_of([Path("tests/browser/case.py")]))

    def test_itself(self) -> None:
        """A changed test module is run, once."""
        files = [Path("tests/test_money.py"), Path("dmtwisted/money.py")]
        self.assertEqual(tests_of(files).count("tests.test_money"), 1)

    def test_nothing(self) -> None:
        """A file that no test knows brings none."""
        self.assertEqual(tests_of([Path("protocols/no_such_module.py")]), [])
