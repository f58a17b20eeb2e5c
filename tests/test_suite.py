"""The runner of the suite: what it deals out, and what it looks for afterwards."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.suite import CANARIES, HERE, SLOW, leaks, modules


class ModulesTests(SynchronousTestCase):
    """What is run."""

    def test_all(self) -> None:
        """Every file with tests is dealt out, once, wherever below the folder it lies."""
        files = {path.relative_to(HERE).with_suffix("").parts for path in HERE.rglob("test_*.py")}
        self.assertEqual(sorted(modules()), sorted(".".join(("tests", *parts)) for parts in files))
        self.assertIn("tests.test_suite", modules())

    def test_slow_part(self) -> None:
        """The one reason for a skip that is no failure anywhere is the one that the slow part gives."""
        from tests.test_crash import RoundsTests

        self.assertTrue((getattr(RoundsTests, "skip", "") or SLOW).startswith(SLOW))


class LeaksTests(SynchronousTestCase):
    """Card numbers in what tests leave behind."""

    def test_found(self) -> None:
        """A whole card number is found in any file, a masked one is none, and trial's own log is not read."""
        folder = Path(self.mktemp())
        (folder / "state").mkdir(parents=True)
        self.assertEqual(leaks(folder), [])
        (folder / "state" / "dmtwisted.db").write_bytes(b"\x00\xff" + CANARIES[0] + b"\x00")
        (folder / "service.log").write_text("paid by 411111******1111")
        (folder / "test.log").write_bytes(CANARIES[0])
        self.assertEqual(leaks(folder), [f"{folder / 'state' / 'dmtwisted.db'}: {CANARIES[0].decode()}"])
        # Taken away again: the suite looks at what this test leaves behind, too.
        (folder / "state" / "dmtwisted.db").unlink()
