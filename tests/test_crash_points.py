"""Crash points: all are known, the lab kills at each of them, and none does anything unless it is ordered to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import crash_points
from dmtwisted.crash_points import POINTS, VARIABLE, Orders, armed
from dmtwisted.lab.crash.carrying import POINTS as BESIDE
from dmtwisted.lab.crash.rounds import EVERY
from tests.crash.broken_services import services

HOME = Path(__file__).resolve().parents[1]


def named() -> Iterator[object]:
    """What each call of ``reached`` in our code is given."""
    for floor in ("dmtwisted", "web", "protocols"):
        for path in (HOME / floor).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reached":
                    for point in node.args:
                        yield point.value if isinstance(point, ast.Constant) else ast.dump(point)


VERBS = frozenset({"reserve", "conclude", "conclude_at_once", "note", "accept_document", "cut", "forget_codes"})
"""Verbs of the store by which something of a task becomes durable."""

STEPS: dict[tuple[str, str], tuple[str, ...]] = {
    ("registers/bookkeeping.py", "fiscalise"): (
        *("document.before-intent", "document.intent-stored"),
        *("offline.made", "offline.stored"),
    ),
    ("registers/bookkeeping.py", "submit"): ("document.submitted", "document.first-accepted"),
    ("registers/bookkeeping.py", "_once_more"): ("collision.asked", "document.before-submit"),
    ("registers/bookkeeping.py", "_complete"): ("document.outcome-stored",),
    ("registers/bookkeeping.py", "conclude"): (
        "document.refusal-stored",
        "document.doubt-stored",
        "collision.voided",
        "offline.let-go",
        "offline.taken-back",
    ),
    ("registers/lost_online.py", "_note"): ("offline.copy-noted",),
    ("terminals/journal.py", "begin"): ("payment.intent-stored",),
    ("terminals/journal.py", "sent"): ("payment.send-noted",),
    ("terminals/journal.py", "hold"): ("payment.verdict-kept",),
    ("terminals/journal.py", "_conclude"): (
        "payment.outcome-stored",
        "payment.never-taken",
        "payment.never-sent",
        "payment.doubt-stored",
    ),
    # After these two only who asks for an old answer hears of it: the answer itself is stored.
    ("terminals/journal.py", "heard"): (),
    ("terminals/journal.py", "_hand_in"): (),
    ("printing/jobs.py", "begin"): ("print.before-job", "print.job-stored"),
    ("printing/jobs.py", "end"): ("print.delivered", "print.outcome-stored", "print.left-open"),
    ("batch/saga.py", "begin"): ("batch.intent-stored",),
    ("batch/saga.py", "note"): ("batch.payment-noted", "batch.back-noted"),
    ("batch/saga.py", "end"): (
        "batch.ended",
        "batch.back-ended",
        "batch.declined",
        "batch.never-paid",
        "batch.stays-open",
    ),
    # No task: after a kill before it the record of a change says that it began, which `test_changes` shows.
    ("changes.py", "_end"): (),
    ("retention.py", "remove"): ("retention.codes-forgotten",),
    ("retention.py", "_cut"): ("retention.operations-cut", "retention.seals-cut"),
}
"""Every such call by its module and function, with the points that lie around it."""


def durable_calls() -> Iterator[tuple[str, str]]:
    """Where our code calls one of `VERBS` of a store: module and function."""
    rooms = HOME / "dmtwisted"
    for path in rooms.rglob("*.py"):
        place = path.relative_to(rooms)
        # The store itself has the writer's points; the rest are tools that fill databases for measuring.
        if place.parts[0] in ("store", "commands", "lab"):
            continue
        text = path.read_text("utf-8")
        if "store." not in text:
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                        of = ast.unparse(node.func.value)
                        if node.func.attr in VERBS and of.rpartition(".")[2].lstrip("_") == "store":
                            yield str(place.as_posix()), function.name


class RegistryTests(SynchronousTestCase):
    """The points by their names."""

    def test_every_call_is_registered(self) -> None:
        """No unregistered point exists, and none is registered that no line of code comes to."""
        self.assertEqual(set(named()), set(POINTS))

    def test_every_point_is_of_the_lab(self) -> None:
        """The lab kills at every point, and at no other: each scene and each thing beside the tasks names its own."""
        self.assertEqual({point for scene in EVERY for point in scene.points} | set(BESIDE), set(POINTS))

    def test_behind(self) -> None:
        """What is reached after a start only names the point of the kill before, of the same scene."""
        for scene in EVERY:
            self.assertLessEqual(set(scene.behind) | set(scene.behind.values()), set(POINTS), scene.name)
            self.assertLessEqual(set(scene.behind), set(scene.points), scene.name)

    def test_every_durable_step(self) -> None:
        """Each call by which tasks or what goes on beside them make something durable has its points, or a reason."""
        self.assertEqual(set(durable_calls()), set(STEPS))
        for point in {point for points in STEPS.values() for point in points}:
            self.assertIn(point, POINTS)

    def test_told(self) -> None:
        """Each point says what is durable there, in a sentence."""
        for point, told in POINTS.items():
            self.assertTrue(told.endswith("."), point)


class OrdersTests(SynchronousTestCase):
    """Dying when ordered."""

    def setUp(self) -> None:
        self.file = Path(self.mktemp())
        self.ends: list[str] = []
        self.orders = Orders(self.file, lambda: self.ends.append("end"))

    def order(self, text: str) -> None:
        """Give an order."""
        self.file.write_text(text, "ascii")

    def test_unarmed(self) -> None:
        """A process without the variable passes every point; so does this one."""
        self.assertIs(armed({}), crash_points._pass)
        crash_points.reached("document.submitted")

    def test_armed(self) -> None:
        """With the variable it looks for orders; no file is no order."""
        armed({VARIABLE: str(self.file)})("document.submitted")
        self.orders.reached("document.submitted")
        self.assertEqual(self.ends, [])

    def test_strikes_once(self) -> None:
        """It dies at the point that is named, once: the order is removed first, so that the parent can see it."""
        self.order("document.submitted 1 a")
        self.orders.reached("document.intent-stored")
        self.assertEqual(self.ends, [])
        self.orders.reached("document.submitted")
        self.orders.reached("document.submitted")
        self.assertEqual(self.ends, ["end"])
        self.assertFalse(self.file.exists())
        self.assertTrue(Path(f"{self.file}.struck").exists())

    def test_count(self) -> None:
        """It dies at the n-th reaching; another order counts from the start."""
        self.order("writer.committed 2 a")
        self.orders.reached("writer.committed")
        self.order("writer.committed 2 b")
        self.orders.reached("writer.committed")
        self.assertEqual(self.ends, [])
        self.orders.reached("writer.committed")
        self.assertEqual(self.ends, ["end"])


class BrokenServicesTests(SynchronousTestCase):
    """The services that the lab has to find."""

    def test_breaks(self) -> None:
        """Each break can be made, and gives a program; its points are known."""
        for broken in services():
            text = (HOME / broken.file).read_text("utf-8")
            compile(broken.within(text), broken.file, "exec")
            self.assertLessEqual(set(broken.points.split(",")), set(POINTS), broken.what)
        self.assertEqual(len({broken.what for broken in services()}), 20)
