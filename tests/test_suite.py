"""The runner of the suite: what it deals out, and what it looks for meanwhile and afterwards."""

from __future__ import annotations

from pathlib import Path

from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system import logs
from tests.canaries import CANARIES, Watch, leaks
from tests.suite import HERE, SLOW, modules
from tests.web_case import WebCase


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


class WatchTests(WebCase):
    """Card numbers on their way to a store, a caller or a log."""

    planted = b"4012888888881881"
    """No card number that the suite looks for: this test must not fail it."""

    def setUp(self) -> None:
        """A service that is looked at."""
        self.watch = Watch(lambda: "here", (self.planted,))
        self.watch.begin()
        self.addCleanup(self.watch.end)
        super().setUp()

    def places(self) -> set[str]:
        """Where the card number was seen."""
        return {line.split(": ")[1] for line in self.watch.found}

    def test_nothing(self) -> None:
        """A day without card numbers is quiet."""
        self.open_shift()
        self.assertEqual(self.sell("1")["res"], 0)
        self.assertEqual(self.watch.found, [])

    def test_store_and_answers(self) -> None:
        """What a caller calls its sale is kept in the store, though in memory, and told in the answer."""
        self.open_shift()
        self.sell(self.planted.decode())
        self.assertEqual(self.places(), {"store", "answer", "HTTP answer"})
        self.assertEqual(self.watch.found[0].split(": ")[2], self.planted.decode())

    def test_log(self) -> None:
        """A log that forgets to mask is found out; ours does not, so there is nothing to find."""
        log = Logger(namespace="dmtwisted.test")
        log.debug("paid by {card}", card=self.planted.decode())
        self.assertEqual(self.places(), set())
        self.patch(logs, "mask_cards", str)
        log.debug("paid by {card}", card=self.planted.decode())
        self.assertEqual(self.places(), {"log"})

    def test_shapes(self) -> None:
        """Digits in groups, bytes in hex and two digits a byte are card numbers too; a masked one is none."""
        digits = self.planted.decode()
        for text in ("4012 8888 8888 1881", self.planted.hex(" "), self.planted.hex(), "40 12 88 88 88 88 18 81"):
            self.watch.found.clear()
            self.watch.look("log", f"frame {text} end")
            self.assertEqual(self.places(), {"log"}, text)
        self.watch.found.clear()
        self.watch.look("log", f"{digits[:6]}******{digits[-4:]}")
        self.assertEqual(self.watch.found, [])

    def test_end(self) -> None:
        """Afterwards everything is as it was."""
        self.watch.end()
        self.open_shift()
        self.sell(self.planted.decode())
        self.assertEqual(self.watch.found, [])
