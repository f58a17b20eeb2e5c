"""The driver that is written on docs/drivers.md: it is what the page says, and its faulty sisters are found out."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import Deferred

from dmtwisted.conformance.desk import Stand
from dmtwisted.conformance.suite import Report, report, stands_of
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.interface import Approved, Declined, NeverStarted
from protocols.errors import WireError
from tests.canaries import ON_PURPOSE
from tests.test_conformance import SuiteCase

DOCS = Path(__file__).resolve().parent.parent / "docs"
PACKAGE = DOCS / "programs" / "tiny-terminal"


class PageCase(SuiteCase):
    """Tests with the package of the page installed."""

    def setUp(self) -> None:
        """Install the package of the page."""
        folder = Path(self.mktemp()).absolute()
        shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        project = (folder / "pyproject.toml").read_text("utf-8")
        told = folder / "tiny_terminal-1.0.dist-info"
        told.mkdir()
        (told / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-terminal\nVersion: 1.0\n", "utf-8")
        [entry] = re.findall(r'^tiny = "(\S+)"$', project, re.MULTILINE)
        (told / "entry_points.txt").write_text(f"[dmtwisted.drivers]\ntiny = {entry}\n", "utf-8")
        self.patch(sys, "path", [str(folder), *sys.path])
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.startswith("tiny")])
        importlib.invalidate_caches()
        self.driver = find_drivers()[TERMINAL, "tiny"]
        [self.stand] = stands_of(self.driver)

    def with_fault(self, name: str, faulty: Callable[..., Any], *checks: str) -> Report:
        """What the suite finds when a method of the driver is another one."""
        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        self.patch(tiny, name, faulty)
        return report(self.stand, checks)


class PageTests(PageCase):
    """The driver as the page has it."""

    def test_level(self) -> None:
        """It has the level that the page says, announced by its package."""
        found = report(self.stand)
        self.assertEqual(self.driver.origin, "tiny-terminal 1.0")
        self.assertEqual([(one.check.name, one.wrong) for one in found.failed if one.check.level < 3], [])
        self.assertIn(
            f"`terminal tiny: level {found.level} (recovers), suite 2`", (DOCS / "drivers.md").read_text("utf-8")
        )


class FaultyTests(PageCase):
    """Drivers with the faults that cost money: none of them is level 1."""

    def finds(self, faulty: Callable[..., Any], *checks: str, method: str = "perform") -> None:
        """See that a driver with another method breaks just these checks, and so is not safe."""
        found = self.with_fault(method, faulty, "settings-are-described", *checks)
        self.assertEqual((found.level, {one.check.name for one in found.failed}), (0, set(checks)))

    def test_repeats_a_payment(self) -> None:
        """A driver that sends a payment again when its answer was lost."""
        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        perform = tiny.perform

        async def again(self: Any, order: Any, snapshot: bytes, keep: Any) -> Any:
            try:
                return await perform(self, order, snapshot, keep)
            except WireError:
                return await perform(self, order, snapshot, keep)

        self.finds(again, "lost-approval-is-honest", "garbage-is-no-answer")

    def test_tells_a_break_as_refused(self) -> None:
        """A driver that reports a lost answer as a refusal."""
        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        perform = tiny.perform

        async def refuses(self: Any, order: Any, snapshot: bytes, keep: Any) -> Any:
            try:
                return await perform(self, order, snapshot, keep)
            except WireError as error:
                raise Refused(Res.TERMINAL_CONNECT) from error

        self.finds(refuses, "lost-approval-is-honest", "garbage-is-no-answer", "cut-anywhere")

    def test_believes_itself(self) -> None:
        """A driver that reports an approval of the requested sum, whatever the terminal answers."""

        async def believes(self: Any, order: Any, snapshot: bytes, keep: Any) -> Any:
            return Approved(sum=order.wanted, auth_code="1")

        self.finds(believes, "approval-is-complete", "bank-refusal-is-definite")

    def test_keeps_the_sum_to_itself(self) -> None:
        """A driver that answers with the requested sum, though its terminal names another one."""
        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        verdict = tiny._verdict

        def hides(self: Any, order: Any, reply: Any) -> Any:
            found = verdict(self, order, reply)
            return msgspec.structs.replace(found, sum=order.wanted) if isinstance(found, Approved) else found

        self.finds(hides, "another-sum-is-no-success", method="_verdict")

    def test_finds_nothing_ever(self) -> None:
        """A driver that says of every lost payment that it was never taken."""

        async def never(self: Any, order: Any, snapshot: bytes, keep: Any, patience: float) -> Any:
            return NeverStarted()

        self.finds(never, "lost-approval-is-honest", "restart-is-honest", "cut-anywhere", method="find_out")

    def test_takes_any_reply(self) -> None:
        """A line that takes the reply to another payment for its own, on a line that stays open."""
        wire = importlib.import_module("tiny.wire")
        terminal = importlib.import_module("tiny.terminal")
        lines: list[Any] = []

        async def one_line(self: Any, question: str, name: str, patience: float) -> Any:
            if not lines or lines[0]._ended is not None:
                lines[:] = [await self._endpoint.connect(terminal._Lines(self._clock))]
            return await lines[0].ask(question, name, patience)

        def takes(self: Any, line: bytes) -> None:
            reply = wire.Reply.decode(line)
            if self._due is not None:
                due, self._due = self._due, None
                due.callback(reply)

        self.patch(wire.TinyLine, "lineReceived", takes)
        self.patch(terminal.TinyTerminal, "close", lambda self: lines and lines[0].drop())
        found = self.with_fault("_exchange", one_line, "answers-that-come-twice", "approval-is-complete")
        self.assertIn("answers-that-come-twice", {one.check.name for one in found.failed})

    def test_waits_for_ever(self) -> None:
        """A driver without a deadline."""

        def no_end(self: Any, question: str, name: str, patience: float) -> Any:
            self._due = due = Deferred[Any]()
            self._name = name
            self.transport.write(question.encode() + b"\n")
            return due

        self.patch(importlib.import_module("tiny.wire").TinyLine, "ask", no_end)
        found = report(self.stand, ("silence-ends-in-time", "another-program-on-the-port"))
        self.assertEqual({one.check.name for one in found.failed}, {"silence-ends-in-time"})

    def test_counts_in_floats(self) -> None:
        """A driver that loses a kopeck on the way."""
        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        perform = tiny.perform

        async def rounds(self: Any, order: Any, snapshot: bytes, keep: Any) -> Any:
            wrong = msgspec.structs.replace(order, sum=int(order.sum / 100 * 100))
            return await perform(self, wrong, snapshot, keep)

        self.finds(rounds, "kopecks-are-exact")

    def test_tells_the_card(self) -> None:
        """A driver that logs a whole card number in a way that no mask knows."""
        from twisted.logger import Logger

        tiny = importlib.import_module("tiny.terminal").TinyTerminal
        exchange, log = tiny._exchange, Logger(ON_PURPOSE)

        async def talks(self: Any, *arguments: Any) -> Any:
            reply = await exchange(self, *arguments)
            log.info("heard {what}", what=reply.encode().hex())
            return reply

        found = self.with_fault("_exchange", talks, "card-numbers-stay-in", "approval-is-complete")
        self.assertEqual({one.check.name for one in found.failed}, {"card-numbers-stay-in"})

    def test_claims_too_much(self) -> None:
        """A driver that claims a task that it does not have, and settings without a description."""
        claims = replace(self.driver, capabilities=("payment", "refund", "stored"))
        stand: Stand = replace(self.stand, driver=claims)
        found = report(stand, ("capabilities-tell-the-truth", "refund-gives-back-once"))
        self.assertEqual(len(found.failed), 2)

    def test_refusals_are_definite(self) -> None:
        """A driver that reports a refusal of the bank as repeatable."""

        def repeats(self: Any, order: Any, reply: Any) -> Any:
            return Declined.of(Res.TERMINAL_CONNECT)

        found = self.with_fault("_verdict", repeats, "bank-refusal-is-definite")
        self.assertEqual(found.level, 0)
