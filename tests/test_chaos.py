"""A short run of the chaos over every terminal's wire, and that the chaos sees what is wrong."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import TERMINAL, Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.caisse_ap.driver import CaisseApDriver
from dmtwisted.terminals.interface import Approved, Found, NeverStarted, Order
from dmtwisted.terminals.nexo.driver import NexoDriver
from tests import chaos
from tests.certificates import make_certificate, make_key, pem
from tests.chaos import WIRES, main, run
from tests.shop import MORNING


class ChaosTests(SynchronousTestCase):
    """Payments with every fault, over all eight protocols."""

    def test_everybody_agrees(self) -> None:
        """After any fault ledger, store and till agree; an unknown end is marked as unknown, with a reason."""
        scores = run(560, 20260921)
        self.assertEqual(list(scores), list(WIRES))
        for name, score in scores.items():
            self.assertEqual((score.wrong, score.payments), ([], 70), name)
            self.assertEqual(score.paid + score.refused, 70)
            # A run that meets no trouble would prove nothing.
            self.assertGreater(min(score.paid, score.refused, score.repeats), 5, name)
            self.assertEqual(bool(score.persons), not WIRES[name].can_be_asked, name)
        self.assertTrue(all("slip" in why for why in scores["caisse-ap"].persons))

    def test_same_seed(self) -> None:
        """The same seed gives the same run."""
        self.assertEqual(run(70, 3), run(70, 3))

    def test_sees_a_lie(self) -> None:
        """A driver that calls a lost payment never begun, or approved, is found out, and the run fails."""

        async def never(_: object, order: Order, *__: object) -> Found:
            return NeverStarted()

        async def approved(_: object, order: Order, *__: object) -> Found:
            return Approved(sum=order.wanted)

        for driver, name in ((CaisseApDriver, "caisse-ap"), (NexoDriver, "nexo")):
            for lie in (never, approved):
                patch = self.patch(driver, "find_out", lie)
                only = self.patch(chaos, "WIRES", {name: WIRES[name]})
                with redirect_stdout(StringIO()) as output:
                    self.assertEqual(main(["--payments", "60", "--seed", "1"]), 1)
                self.assertIn(f"{name} DISAGREES", output.getvalue())
                patch.restore()
                only.restore()

    def test_table(self) -> None:
        """A good run prints a line for each protocol, says what unknown rows said, and ends with 0."""
        with redirect_stdout(StringIO()) as output:
            self.assertEqual(main(["--payments", "140", "--seed", "1"]), 0)
        lines = output.getvalue().splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:9]], list(WIRES))
        self.assertIn("caisse-ap has no query for a lost payment; its unknown rows said:", lines)


class BuildTests(SynchronousTestCase):
    """The drivers that the chaos runs are those of the service."""

    def test_built(self) -> None:
        """Each one is built from its settings by its name, and touches no line until it is asked to."""
        clock = Clock()
        around = Surroundings(clock, ServiceClock(clock), MemoryStore(), None)
        drivers = find_drivers()
        for name, wire in WIRES.items():
            settings = {**wire.settings, **({"ca": _root()} if name == "nexo" else {})}
            driver = drivers[TERMINAL, name]
            row = DeviceRow(1, "id", "pos", TERMINAL, name, b"{}")
            built = driver.build(row, driver.read(settings), around)
            self.assertEqual((built.driver.protocol, built.driver.wait_s), (name, 20.0))
            self.assertEqual(clock.getDelayedCalls(), [])
            built.close()


def _root() -> str:
    """A certificate in PEM."""
    return pem(make_certificate(MORNING, make_key())).decode()
