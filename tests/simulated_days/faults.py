"""What goes wrong on a shop day: drawn one after the other, each for a moment or for a while."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from dmtwisted.crash_points import POINTS
from tests.simulated_days.devices import Office, Roll, Terminal
from tests.simulated_days.world import BLOWS, FAILED_AFTER, FAILED_BEFORE, World

PAUSE_S = 12.0
"""Seconds between two faults, on average."""

FISCAL = ("sale", "sale", "sale", "return", "cash_in", "cash_out", "z", "open", "any")
LOST = ("lost_before", "lost_after", "silent", "garbage", "unreachable")
CARD = ("payment", "payment", "payment", "cancel", "any")
DECLINES = ("05", "51", "cancelled", "no_link", "busy")
REFUSALS = ("1102", "1035", "9", "500")
"""Codes with which a tax service refuses: for good, for now, or by an error of its own."""

POINTS_OF_TASKS = tuple(
    point
    for point in POINTS
    if point.partition(".")[0] in ("document", "task", "collision", "offline", "payment", "print", "batch", "hook")
)


class Trouble:
    """The faults of one day."""

    def __init__(self, world: World) -> None:
        self.world, self.dice = world, Random(f"{world.seed} faults")
        self._kinds: tuple[tuple[float, Callable[[], str]], ...] = (
            (3.0, self.answer_of_tax),
            (0.7, self.refused_for_good),
            (0.3, self.closing_lost),
            (1.2, self.tax_away),
            (3.0, self.answer_of_terminal),
            (0.7, self.terminal_away),
            (1.0, self.printer),
            (1.6, self.kill_at_write),
            (1.6, self.kill_at_point),
            (0.5, self.kill_now),
            (0.8, self.store_fails),
            (0.3, self.disk_full),
            (0.6, self.clock_leaps),
            (0.2, self.sleeps),
            (0.8, self.line_breaks),
            (0.8, self.receiver),
        )

    async def run(self) -> None:
        """Faults until there is peace."""
        world, dice = self.world, self.dice
        # Some days are calm, some are bad.
        mean = PAUSE_S * dice.choice((0.3, 1.0, 1.0, 3.0))
        weights = [weight for weight, _ in self._kinds]
        while not world.peace:
            await world.sleep(dice.expovariate(1 / mean))
            if world.peace:
                return
            [(_, fault)] = dice.choices(self._kinds, weights)
            what = fault()
            if what:
                world.counts["faults"] += 1
                world.happened("fault", what)

    def calm(self) -> None:
        """End every fault that lasts."""
        world = self.world
        world.peace, world.disk_full, world.leap = True, False, 0.0
        world.spare()
        world.receiver.fault = ""
        for far in world.far.values():
            far.scenario.replace({"rules": []})
            if isinstance(far, Roll):
                self._mend(far)
        world.happened("fault", "peace")

    def _mend(self, roll: Roll) -> None:
        roll.printer.mend()
        roll.printer.close_cover()
        roll.printer.load_paper()

    def _of(self, kind: type) -> Any:
        return self.dice.choice([(name, far) for name, far in self.world.far.items() if isinstance(far, kind)])

    def _add(self, far: Any, *rules: dict[str, Any]) -> None:
        known = far.scenario.document()["rules"]
        if len(known) < 4:
            far.scenario.replace({"rules": [*known, *rules]})

    def _for_a_while(self, far: Any, *rules: dict[str, Any]) -> float:
        seconds = self.dice.choice((3.0, 20.0, 60.0, 240.0))
        far.scenario.replace({"rules": [*rules]})

        def back() -> None:
            far.scenario.replace({"rules": []})

        self.world.clock.callLater(seconds, back)
        return seconds

    # Devices

    def answer_of_tax(self) -> str:
        """One document or question of a register goes wrong at the tax service."""
        dice = self.dice
        name, far = self._of(Office)
        if dice.random() < 0.15:
            rule: dict[str, Any] = {"on": dice.choice(FISCAL), "then": "refuse", "code": dice.choice(REFUSALS)}
        else:
            rule = {"on": dice.choice((*FISCAL, "probe")), "then": dice.choice(LOST)}
            if dice.random() < 0.2:
                rule = {
                    **rule,
                    "then": dice.choice(("accept", "lost_after")),
                    "delay_ms": dice.choice((900, 4000, 9000)),
                }
        self._add(far, rule)
        return f"{name} {rule}"

    def refused_for_good(self) -> str:
        """A sale is refused for good after its card was charged; taking the money back may go wrong too."""
        dice = self.dice
        number = dice.choice(("1", "2"))
        office, terminal = self.world.far[f"r{number}"], self.world.far[f"pos{number}"]
        self._add(office, {"on": "sale", "then": "refuse", "code": "1102", "times": dice.choice((1, 2, 4))})
        fault = dice.choice((None, None, *LOST, "refuse"))
        if fault is not None:
            self._add(terminal, {"on": "cancel", "then": fault, "code": "no_link", "times": dice.choice((1, 3))})
        return f"r{number} refuses sales, cancel: {fault}"

    def closing_lost(self) -> str:
        """The Z of a shift is accepted, and the answer to its closing is lost, once or for some tries."""
        name, far = self._of(Office)
        lost = {"on": "any", "then": self.dice.choice(LOST[:3]), "times": self.dice.choice((1, 3, 20))}
        self._add(far, {"on": "z", "then": "accept"}, lost)
        return f"{name} closing lost: {lost}"

    def tax_away(self) -> str:
        """A tax service is away for a while, or hears and does not answer."""
        name, far = self._of(Office)
        then = self.dice.choice(("unreachable", "unreachable", "silent"))
        on = [{"on": "any", "then": then, "times": 0}, {"on": "probe", "then": then, "times": 0}]
        if self.dice.random() < 0.5:
            # The last document before that arrives, and its answer is lost.
            on.insert(0, {"on": "any", "then": self.dice.choice(("lost_after", "lost_before"))})
        return f"{name} away for {self._for_a_while(far, *on)} s: {then}"

    def answer_of_terminal(self) -> str:
        """One payment or question goes wrong at a terminal."""
        dice = self.dice
        name, far = self._of(Terminal)
        if dice.random() < 0.3:
            rule: dict[str, Any] = {"on": dice.choice(CARD), "then": "refuse", "code": dice.choice(DECLINES)}
        else:
            rule = {"on": dice.choice((*CARD, "probe")), "then": dice.choice(LOST)}
        self._add(far, rule)
        return f"{name} {rule}"

    def terminal_away(self) -> str:
        """A terminal is off for a while."""
        name, far = self._of(Terminal)
        then = self.dice.choice(("unreachable", "silent"))
        rules = [{"on": on, "then": then, "times": 0} for on in ("any", "probe")]
        return f"{name} away for {self._for_a_while(far, *rules)} s: {then}"

    def printer(self) -> str:
        """Paper ends, the cover is open, or one answer goes wrong; a person comes after a while."""
        dice = self.dice
        name, roll = self._of(Roll)
        what = dice.choice(("paper", "cover", "rule", "rule"))
        if what == "rule":
            rule = {"on": dice.choice(("print", "probe")), "then": dice.choice(LOST)}
            self._add(roll, rule)
            return f"{name} {rule}"
        if what == "paper":
            roll.printer.take_paper_out()
        else:
            roll.printer.open_cover()
        self.world.clock.callLater(dice.choice((4.0, 30.0, 100.0)), self._mend, roll)
        return f"{name} {what}"

    def line_breaks(self) -> str:
        """A line to a terminal, a printer or the receiver breaks, with what is on it."""
        life = self.world.life
        lines = [] if life is None or life.dead else [one for one in life.lines if not one._closed]
        if life is None or not lines:
            return ""
        life.lines = lines
        self.dice.choice(lines).abortConnection()
        return "a line breaks"

    def receiver(self) -> str:
        """The receiver of events is away, silent or out of order for a while."""
        receiver = self.world.receiver
        receiver.fault = self.dice.choice(("away", "silent", "late", "503"))

        def back() -> None:
            receiver.fault = ""

        self.world.clock.callLater(self.dice.choice((2.0, 20.0, 60.0)), back)
        return f"receiver {receiver.fault}"

    # The service

    def kill_at_write(self) -> str:
        """A kill, or a failure, at one of the next writes."""
        blow, n = self.dice.choice(BLOWS), self.dice.randint(1, 8)
        self.world.strike(blow, n)
        return f"to be {blow} the write {n} from now"

    def kill_at_point(self) -> str:
        """A kill at a crash point, when a task comes to it."""
        point = self.dice.choice(POINTS_OF_TASKS)
        self.world.strike_at(point, self.dice.choice((1, 1, 2)))
        return f"to be killed at {point}"

    def kill_now(self) -> str:
        """A kill between two moments."""
        life = self.world.life
        if life is None or life.dead:
            return ""
        life.kill("at a moment")
        return "kill"

    def store_fails(self) -> str:
        """One write fails, durable or not."""
        self.world.strike(self.dice.choice((FAILED_BEFORE, FAILED_AFTER)), self.dice.randint(1, 5))
        return "a write will fail"

    def disk_full(self) -> str:
        """Nothing is stored or read for some seconds."""
        self.world.disk_full = True

        def room() -> None:
            self.world.disk_full = False

        self.world.clock.callLater(self.dice.choice((0.5, 3.0, 20.0)), room)
        return "disk full"

    # Time

    def clock_leaps(self) -> str:
        """Somebody sets the clock, or it is set right."""
        world = self.world
        world.leap = self.dice.choice((0.0, -900.0, -40.0, 55.0, 1200.0) if world.loose else (0.0, -40.0, 55.0))
        return f"clock {world.leap:+} s"

    def sleeps(self) -> str:
        """The machine of the service sleeps: what was due meanwhile comes at once."""
        seconds = self.dice.choice((30.0, 400.0, 3600.0))
        self.world.nap(seconds)
        return f"sleeps for {seconds} s"
