"""What a check is, how checks make a level, and how they are run.

| Level | Name | Promise |
|---|---|---|
| 1 | safe | nothing is ever done twice; an unknown end is reported as unknown; secrets stay in |
| 2 | recovers | a lost answer is found out by asking the device, without a person |
| 3 | whole | the tasks that shops need are there and right |

A driver has the highest level up to which it passes every check that applies to it. A check does not apply if it
needs a capability that the driver does not have. Level 0 is a driver that is not safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from dmtwisted.conformance.desk import Broken, Desk, NotHere, Stand
from dmtwisted.conformance.desks import DESKS
from dmtwisted.conformance.levels import RECOVERS, SAFE, WHOLE
from dmtwisted.conformance.stands import STANDS
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, Driver

__all__ = ["RECOVERS", "SAFE", "WHOLE", "check", "checks_of", "report", "stands_of"]

MODULES: Final = {
    TERMINAL: ("common_checks", "terminal_safety", "terminal_wire", "terminal_recovery", "terminal_tasks"),
    PRINTER: ("common_checks", "printer_safety", "printer_tasks"),
    REGISTER: ("common_checks", "register_safety", "register_tasks"),
}
"""Where the checks of each kind are."""

LINE: Final = "line"
"""What a stand has, not a driver."""

Run = Callable[[Any], None]


@dataclass(frozen=True)
class Check:
    """One promise and the test of it."""

    name: str
    kinds: tuple[str, ...]
    level: int
    promise: str
    source: str
    """Where the promise comes from: a page of the documentation, or a rule."""
    needs: tuple[str, ...]
    """Capabilities of a driver without which the check does not apply; ``line`` is a line that can be disturbed."""
    run: Run


@dataclass(frozen=True)
class Result:
    """The result of a check: passed, what went wrong, or why it does not apply."""

    check: Check
    wrong: str = ""
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """Whether the promise was kept."""
        return not self.wrong and not self.skipped


@dataclass(frozen=True)
class Report:
    """Every result of one stand."""

    stand: Stand
    results: tuple[Result, ...]

    @property
    def level(self) -> int:
        """The level that these results make."""
        return level_of(self.results)

    @property
    def without(self) -> frozenset[str]:
        """The capabilities that the driver does not have, for lack of which checks do not apply."""
        skipped = [result.check for result in self.results if result.skipped]
        return frozenset(word for one in skipped for word in one.needs if word != LINE) - self.stand.has

    @property
    def failed(self) -> tuple[Result, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.wrong)


def level_of(results: Sequence[Result]) -> int:
    """The highest level up to which no check failed; 0 when none passed."""
    if not any(result.passed for result in results):
        return 0
    return min((result.check.level - 1 for result in results if result.wrong), default=WHOLE)


def check(*kinds: str, level: int, source: str, needs: Sequence[str] = ()) -> Callable[[Run], Check]:
    """Make a check of a function, with its name; the first paragraph of its docstring is the promise."""

    def make(run: Run) -> Check:
        promise = (run.__doc__ or "").strip().split("\n\n", 1)[0].replace("\n", " ")
        name = run.__name__.replace("_", "-")
        return Check(name, kinds, level, " ".join(promise.split()), source, tuple(needs), run)

    return make


class NoStand(Exception):
    """A driver has no stand."""


def stands_of(driver: Driver) -> tuple[Stand, ...]:
    """The stands of a driver.

    :raises NoStand: when it has none.
    """
    if not driver.origin and (driver.kind, driver.name) in STANDS:
        return STANDS[driver.kind, driver.name]
    if not driver.stand:
        raise NoStand(f"the {driver.kind} {driver.name} names no stand (docs/drivers.md)")
    return stands_at(driver.stand)


def stands_at(place: str) -> tuple[Stand, ...]:
    """The stand, or stands, that a module has under a name: ``module:NAME``.

    :raises NoStand: when there is none.
    """
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise NoStand(f"{place}: {error}") from error
    stands = found if isinstance(found, tuple) else (found,)
    if not stands or not all(isinstance(stand, Stand) for stand in stands):
        raise NoStand(f"{place} is no Stand")
    return stands


def checks_of(kind: str) -> tuple[Check, ...]:
    """Every check of a kind of device, in the order of the levels."""
    found: list[Check] = []
    for name in MODULES.get(kind, ()):
        module = import_module(f"dmtwisted.conformance.{name}")
        found += [member for member in vars(module).values() if isinstance(member, Check) and kind in member.kinds]
    return tuple(sorted(found, key=lambda one: one.level))


def results(stand: Stand, only: Sequence[str] = ()) -> Iterator[Result]:
    """Run the checks of a stand, each on a desk of its own.

    :param only: names of checks; empty for all of them.
    """
    for one in checks_of(stand.driver.kind):
        if not only or one.name in only:
            yield _result(stand, one)


def report(stand: Stand, only: Sequence[str] = ()) -> Report:
    """The results of a stand."""
    return Report(stand, tuple(results(stand, only)))


def _result(stand: Stand, one: Check) -> Result:
    lacking = [word for word in one.needs if word not in stand.has]
    if lacking:
        return Result(one, skipped=f"it has no {', '.join(lacking)}")
    desk: Desk | None = None
    try:
        desk = DESKS[stand.driver.kind](stand)
        one.run(desk)
        wrong = desk.faults()
    except NotHere as error:
        return Result(one, skipped=str(error))
    except Broken as error:
        wrong = str(error)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    finally:
        if desk is not None:
            desk.close()
    return Result(one, wrong=wrong)
