"""The conformance suite: every driver of the tree keeps what its shown level says, and a bad driver is found out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.conformance.desk import Stand, expect
from dmtwisted.conformance.levels import Found, command_for, found_of, save, saved
from dmtwisted.conformance.stands import STANDS
from dmtwisted.conformance.suite import (
    MODULES,
    RECOVERS,
    SAFE,
    WHOLE,
    Check,
    NoStand,
    Result,
    checks_of,
    level_of,
    report,
    stands_at,
    stands_of,
)
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, Driver
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.printing.interface import Delivering
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.ways import LineWay
from dmtwisted.registers.channels.interface import Absent, Unknown
from dmtwisted.registers.channels.training import TrainingChannel
from dmtwisted.requests import Members
from protocols.printers.verdict import Outcome, Verdict
from protocols.simulators.tax_service import Paper
from tests.conformance_levels import FILE, levels, own, reports


class SuiteCase(SynchronousTestCase):
    """Tests that provoke faults: what the service logs of them is no error of the test."""

    def tearDown(self) -> None:
        """Faults were provoked."""
        self.flushLoggedErrors()


class LevelTests(SuiteCase):
    """The levels that the service shows."""

    def test_shown_levels(self) -> None:
        """What the service shows of each driver is what the suite finds, on all of its stands."""
        shown = json.loads(FILE.read_bytes())["drivers"]
        found = {key: {"level": one.level, "suite": one.suite, "origin": ""} for key, one in levels().items()}
        self.assertEqual(shown, found, "run python -m tests.conformance_levels")

    def test_each_is_safe(self) -> None:
        """Every driver of the tree keeps every promise of safety."""
        for driver in own():
            for each in reports(driver):
                wrong = [(one.check.name, one.wrong) for one in each.failed if one.check.level == SAFE]
                self.assertEqual(wrong, [], each.stand.title)

    def test_each_has_a_stand(self) -> None:
        """A driver of the tree that has no stand would have no level."""
        here = {key for key, driver in find_drivers().items() if not driver.origin and driver.kind in MODULES}
        self.assertEqual(here - set(STANDS), set())

    def test_checks_have_names_and_promises(self) -> None:
        """Each check has a name of its own, a promise in one sentence and a source; there are more than forty."""
        for kind in MODULES:
            found = checks_of(kind)
            self.assertEqual(len({check.name for check in found}), len(found))
            for check in found:
                self.assertTrue(check.promise.endswith("."), check.name)
                self.assertTrue(check.source, check.name)
            self.assertGreaterEqual(len(found), 40)

    def test_level(self) -> None:
        """The level is the one below the lowest check that failed; what is skipped counts for nothing."""

        def made(*results: tuple[int, str]) -> int:
            checks = [
                Result(
                    Check("x", (TERMINAL,), level, "", "", (), lambda _: None),
                    wrong="no" if said == "wrong" else "",
                    skipped="no" if said == "skipped" else "",
                )
                for level, said in results
            ]
            return level_of(checks)

        self.assertEqual(made((SAFE, ""), (RECOVERS, ""), (WHOLE, "")), 3)
        self.assertEqual(made((SAFE, ""), (RECOVERS, ""), (WHOLE, "wrong")), 2)
        self.assertEqual(made((SAFE, ""), (RECOVERS, "wrong"), (WHOLE, "")), 1)
        self.assertEqual(made((SAFE, "wrong"), (RECOVERS, ""), (WHOLE, "")), 0)
        self.assertEqual(made((SAFE, ""), (RECOVERS, "skipped"), (WHOLE, "")), 3)
        self.assertEqual(made((SAFE, "skipped")), 0)
        self.assertEqual(level_of([]), 0)


class SavedTests(SynchronousTestCase):
    """The levels of other packages' drivers."""

    def setUp(self) -> None:
        """A driver of another package, and a state folder."""
        self.driver = Driver(
            TERMINAL, "tiny", "Tiny", find_drivers()[TERMINAL, "zvt"].settings, _no_build, origin="t 1"
        )
        self.state = Path(self.mktemp())
        self.state.mkdir()

    def test_never_run(self) -> None:
        """A driver on which the suite was never run has no level; the command that runs it is shown."""
        self.assertIsNone(found_of(self.driver, self.state))
        self.assertIsNone(found_of(self.driver, None))
        self.assertEqual(command_for(self.driver), "dmtwisted conform --kind terminal --driver tiny --save")

    def test_kept(self) -> None:
        """A level that was kept is shown for that version of the package, and others stay beside it."""
        save(self.state, {"terminal tiny": Found(2, 1, "t 1")})
        save(self.state, {"printer other": Found(1, 1, "o 1")})
        self.assertEqual(found_of(self.driver, self.state), Found(2, 1, "t 1"))
        self.assertEqual(set(saved(self.state)), {"terminal tiny", "printer other"})
        newer = Driver(TERMINAL, "tiny", "Tiny", self.driver.settings, _no_build, origin="t 2")
        self.assertIsNone(found_of(newer, self.state))

    def test_damaged(self) -> None:
        """A file of levels that cannot be read is none."""
        (self.state / "conformance.json").write_text("{", "utf-8")
        self.assertIsNone(found_of(self.driver, self.state))

    def test_tree(self) -> None:
        """The state folder cannot give a driver of the tree another level."""
        zvt = find_drivers()[TERMINAL, "zvt"]
        before = found_of(zvt, None)
        save(self.state, {"terminal zvt": Found(3, 1)})
        self.assertEqual(found_of(zvt, self.state), before)


class StandTests(SuiteCase):
    """How a driver's stand is found, and what becomes of one that is no good."""

    def test_no_stand(self) -> None:
        """A driver that names no stand, or one that is not there, cannot be looked at, and that is said."""
        driver = Driver(TERMINAL, "tiny", "Tiny", find_drivers()[TERMINAL, "zvt"].settings, _no_build, origin="t 1")
        self.assertIn("names no stand", str(self.assertRaises(NoStand, stands_of, driver)))
        for place in ("nowhere:STAND", "tests.test_conformance:NOTHING", "tests.test_conformance:FILE", "", ":"):
            self.assertRaises(NoStand, stands_at, place)

    def test_cannot_be_built(self) -> None:
        """A driver that cannot be built keeps no promise: its level is 0."""
        [stand] = STANDS[TERMINAL, "ecr17"]
        broken = Stand(stand.driver, stand.settings, stand.far, _no_build)
        found = report(broken, ("approval-is-complete", "kopecks-are-exact"))
        self.assertEqual((found.level, len(found.failed)), (0, 2))

    def test_no_line(self) -> None:
        """A stand whose line cannot be disturbed earns no level."""
        [stand] = STANDS[TERMINAL, "ecr17"]
        checks = ("the-line-can-be-disturbed", "approval-is-complete")
        self.assertEqual(report(replace(stand, line=False), checks).level, 0)
        self.assertEqual(report(stand, checks).level, 3)

    def test_only(self) -> None:
        """Single checks can be run by their names."""
        [stand] = STANDS[TERMINAL, "ecr17"]
        found = report(stand, ("approval-is-complete",))
        self.assertEqual([one.check.name for one in found.results], ["approval-is-complete"])
        expect(found.results[0].passed, found.results[0].wrong)


class FaultyTests(SuiteCase):
    """Printers and registers with the faults that cost money or paper: none of them is level 1."""

    def broken(self, kind: str, name: str, *checks: str) -> set[str]:
        """The checks that are broken."""
        found = report(STANDS[kind, name][0], checks)
        self.assertEqual(found.level, 0)
        return {one.check.name for one in found.failed}

    def test_printer_sends_again(self) -> None:
        """A printer that sends a job again when it does not know what became of it."""
        deliver = PrinterService._deliver

        async def again(service: Any, task: int, key: str, composed: Any) -> Any:
            told = await deliver(service, task, key, composed)
            if told.fate == "unknown":
                await service._take_line()
                told = await deliver(service, task, key, composed)
            return told

        self.patch(PrinterService, "_deliver", again)
        self.assertIn("lost-proof-is-honest", self.broken(PRINTER, "escpos", "lost-proof-is-honest", "jobs-in-turn"))

    def test_printer_believes_the_line(self) -> None:
        """A printer that is reported as printing although it has stopped."""
        self.patch(LineWay, "deliver", lambda *_: Delivering(succeed(None), succeed(PRINTED), lambda: True, str))
        broken = self.broken(PRINTER, "star", "end-of-paper-is-reported", "unreachable-is-reported", "jobs-in-turn")
        self.assertEqual(broken, {"end-of-paper-is-reported", "unreachable-is-reported", "jobs-in-turn"})

    def test_register_never_asks(self) -> None:
        """A register that takes a document for lost without having asked."""

        async def absent(*_: Any) -> Absent:
            return Absent()

        self.patch(TrainingChannel, "probe", absent)
        broken = self.broken(REGISTER, "training", "lost-answer-is-honest", "settings-are-described")
        self.assertEqual(broken, {"lost-answer-is-honest"})

    def test_register_submits_again(self) -> None:
        """A register that sends a document again under the next number when the answer is lost."""
        submit = TrainingChannel.submit

        async def again(channel: Any, document: Any, sent: bytes) -> Any:
            outcome = await submit(channel, document, sent)
            if isinstance(outcome, Unknown):
                channel._service.submit(msgspec.structs.replace(decode(sent), number=document.number + 1))
            return outcome

        decode = msgspec.json.Decoder(Paper).decode
        self.patch(TrainingChannel, "submit", again)
        [wrong] = report(STANDS[REGISTER, "training"][0], ("lost-answer-is-honest",)).failed
        self.assertIn("receipts behind a success: 1 was promised, 2 came", wrong.wrong)

    def test_register_loses_a_kopeck(self) -> None:
        """A register that calculates sums as binary fractions does not pass."""
        self.patch(Members, "amount", lambda members, name: int(float(members.value(name) or 0) * 100))
        found = report(STANDS[REGISTER, "training"][0], ("kopecks-are-exact",))
        self.assertEqual(len(found.failed), 1)


PRINTED = Verdict(Outcome.PRINTED)


def _no_build(*_: Any) -> Any:
    raise LookupError("it cannot be built")
