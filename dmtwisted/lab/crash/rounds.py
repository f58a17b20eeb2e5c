"""The rounds: what is killed when, the results, and the table of verdicts."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from dmtwisted.lab.children import BenchFailed, NotStarted
from dmtwisted.lab.crash.books import Findings
from dmtwisted.lab.crash.cabinet import CABINET
from dmtwisted.lab.crash.scenes import LOAD, PATIENCE, SCENES, Play, Scene
from dmtwisted.lab.crash.shop import Shop
from dmtwisted.lab.crash.wired import DARK, SLOW_MS, WIRED, Moment, WiredShop

EVERY = (*SCENES, *WIRED, *CABINET)
"""All scenes; those of hardware registers, and of protocol B, need a shop of their own."""

RANDOM = "at random"
"""The name of rounds without a point."""

VICTIMS, WEIGHTS = ("service", "writer", "both"), (60, 20, 20)

LONGEST, SHORTEST = 0.8, 0.02
"""Seconds of load before a kill at random, counted from when the service answers."""

EARLY, EARLY_LONGEST = 0.15, 0.4
"""The share of kills while the service starts, and the latest moment in seconds of its start."""

PLAYS = 3
"""How often a scene is played at most until its point is reached: on a busy machine it may go another way."""

STRIKE_PATIENCE = 10.0
"""Seconds within which a point is reached after its scene is over."""

VOLLEY = 10
"""Kills at random under continuing load before the load stops and the books are compared."""

WITHOUT_LINE, AWAY = 0.4, 4
"""The share of volleys that lose the line to the tax service, and for how many kills: the register goes offline."""

SETTLING = 0.7
"""Seconds between the start of the service and the loss of the line."""

AFTER_A_VOLLEY = 0.2
"""Seconds of load without a kill."""

SECOND_LOOK = 2.0
"""Seconds until books that differ are compared again."""


@dataclass(frozen=True)
class Round:
    """One kill at a point: at its ``count``-th reaching."""

    scene: str
    point: str
    count: int


@dataclass(frozen=True)
class Blow:
    """One kill at random after some seconds of load.

    :param early: counted from the start of the service, not from its first answer.
    :param away: the line to the tax service is cut meanwhile.
    """

    after: float
    victim: str
    early: bool = False
    away: bool = False


@dataclass
class Tally:
    """The results of the rounds at one point of one scene."""

    scene: str
    point: str
    rounds: int = 0
    killed: int = 0
    lost: int = 0
    doubled: int = 0
    by_hand: int = 0
    """Left to a person, though the service could know the outcome."""
    looked: int = 0
    """Slips and papers that a person must look at, because no other source shows the outcome."""
    wrong: int = 0
    found: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is lost, doubled or otherwise wrong, and each round did kill: the shop can continue."""
        return not (self.lost or self.doubled or self.wrong) and self.killed == self.rounds

    @property
    def good(self) -> bool:
        """Whether it is sound, and nothing was left to a person without need."""
        return self.sound and not self.by_hand

    def add(self, found: Findings) -> None:
        """Count the faults of a round."""
        self.lost += len(found.lost)
        self.doubled += len(found.doubled)
        self.wrong += len(found.gaps) + len(found.other)
        self.found += [*found.lost, *found.doubled, *found.gaps, *found.other]

    def take(self, more: Tally) -> None:
        """Add the counts of ``more``, of the same scene and point."""
        for count in COUNTS:
            setattr(self, count, getattr(self, count) + getattr(more, count))
        self.found += more.found


COUNTS = ("rounds", "killed", "lost", "doubled", "by_hand", "looked", "wrong")
"""The counts of a tally."""


def plan(seed: int, rounds: int, pairs: Sequence[tuple[Scene, str]]) -> list[Round]:
    """Every pair of scene and point ``rounds`` times; the same rounds for the same seed."""
    dice = random.Random(seed)
    # Points of the store are reached many times in a task: each kill chooses another time.
    return [
        Round(scene.name, point, dice.randint(1, scene.points[point]))
        for scene, point in pairs
        for _ in range(rounds)
    ]


def blows(seed: int, number: int, away: bool = False) -> list[Blow]:
    """Kills at random; the same for the same seed.

    :param away: in some volleys the line to the tax service is cut for a while.
    """
    dice = random.Random(f"blows {seed}")
    found: list[Blow] = []
    gone = range(0)
    for n in range(number):
        if n % VOLLEY == 0:
            first = dice.randrange(1, VOLLEY - AWAY)
            gone = range(n + first, n + first + AWAY) if dice.random() < WITHOUT_LINE else range(0)
        early = dice.random() < EARLY
        after = dice.uniform(0, EARLY_LONGEST) if early else dice.uniform(SHORTEST, LONGEST)
        found.append(
            Blow(after, "service" if early else dice.choices(VICTIMS, WEIGHTS)[0], early, away and n in gone)
        )
    return found


def pairs_of(points: Sequence[str], scenes: Sequence[Scene] = (*SCENES, *WIRED)) -> list[tuple[Scene, str]]:
    """Each of the scenes with each of its points, or with those of ``points`` only."""
    return [(scene, point) for scene in scenes for point in scene.points if not points or point in points]


class Lab:
    """Kills the service of a shop.

    :param tallies: gets the counts, and can be read at any time.
    :param stop: when it is set, no further round begins.
    """

    def __init__(self, shop: Shop, tallies: list[Tally], stop: threading.Event) -> None:
        self._shop, self._tallies, self._stop = shop, tallies, stop
        self._scenes = {scene.name: scene for scene in EVERY}
        self._then = ""
        """The point to die at after the next start."""

    def at_points(self, rounds: Sequence[Round]) -> None:
        """Run rounds, those of one point after each other, until a fault is found."""
        tally: Tally | None = None
        for turn in rounds:
            if tally is None or (tally.scene, tally.point) != (turn.scene, turn.point):
                tally = Tally(turn.scene, turn.point)
                self._tallies.append(tally)
            if self._stop.is_set():
                return
            self._one(turn, tally)
            if not tally.sound:
                return

    def _one(self, turn: Round, tally: Tally) -> None:
        shop, scene = self._shop, self._scenes[turn.scene]
        shop.calm()
        if scene.prepare is not None:
            scene.prepare(shop)
        first = scene.behind.get(turn.point)
        if first is not None:
            shop.service.order(first)
            self._then = turn.point
        else:
            shop.service.order(turn.point, turn.count)
        faults = Findings()
        for _ in range(PLAYS):
            self._play(scene, faults)
            if faults or not self._awaited:
                break
            shop.calm()
        tally.rounds += 1
        tally.killed += shop.service.struck() and not self._then
        self._then = ""
        self._raise_up(faults)
        self._close(tally, faults)

    @property
    def _awaited(self) -> bool:
        """Whether a point is still to be reached."""
        return self._shop.service.waits or bool(self._then)

    def _play(self, scene: Scene, faults: Findings) -> None:
        with ThreadPoolExecutor(1) as threads:
            self._look_after(threads.submit(scene.play, self._shop), faults)
        # Work beside the answer may reach the point a little later.
        deadline = time.monotonic() + STRIKE_PATIENCE
        while self._awaited and time.monotonic() < deadline:
            self._raise_up(faults)
            time.sleep(0.02)

    def _look_after(self, playing: Future[None], faults: Findings) -> None:
        """Restart the service when it has died, until the scene is over."""
        while not playing.done():
            self._raise_up(faults)
            time.sleep(0.01)
        fault = playing.exception()
        if fault is not None:
            faults.other.append(f"{type(fault).__name__}: {fault}")

    def _raise_up(self, faults: Findings, wait: bool = True) -> None:
        self._shop.black_out()
        if not self._shop.service.dead:
            return
        if self._shop.service.fell:
            faults.other.append("the service ended by itself")
        again = bool(self._then)
        try:
            if again:
                # It died at the first point, and is to die again at the second.
                self._shop.service.struck()
                self._shop.service.order(self._then)
                self._then = ""
            self._shop.revive(wait)
        except (NotStarted, OSError) as error:
            if again and not self._shop.service.waits and not self._shop.service.fell:
                # It came to the second point before it was seen ready.
                return
            faults.other.append(str(error))
            raise

    def _close(self, tally: Tally, faults: Findings) -> None:
        """Compare the books; faults that were found before are not counted again."""
        shop = self._shop
        before = shop.found.copy()
        if faults:
            # A till that gave up does not know its outcome, so the books prove nothing.
            tally.add(faults)
            return

        def at_home() -> bool:
            # Who carried its order out beside the scene may have died a moment later.
            self._raise_up(faults)
            return shop.at_home()

        try:
            # Offline documents are in no other books before they are submitted.
            shop.wait(at_home, PATIENCE, "the register did not come back online")
            shop.wait(shop.rested, 30, "operations stay unfinished")
            shop.wait(shop.all_told, PATIENCE, "the marks service and customers were not told")
            shop.wait(shop.all_heard, 60, "the subscriber has not heard of every document")
            shop.compare()
            if shop.found.since(before):
                # The register may just have asked for offline numbers. What is wrong stays wrong.
                shop.found = before.copy()
                time.sleep(SECOND_LOOK)
                shop.wait(shop.rested, 30, "operations stay unfinished")
                shop.compare()
        except (BenchFailed, OSError, http.client.HTTPException) as error:
            faults.other.append(f"{type(error).__name__}: {error}")
        by_hand, looked = shop.left_to_a_person()
        tally.by_hand += len(by_hand) - shop.by_hand
        tally.found += by_hand[shop.by_hand :]
        tally.looked += looked - shop.looked
        scene = self._scenes.get(tally.scene)
        if looked > shop.looked and scene is not None and tally.point not in scene.eyes:
            tally.by_hand += looked - shop.looked
            tally.found.append(f"by hand: {tally.point}: its outcome is durable, and it was left to a person")
        shop.by_hand, shop.looked = len(by_hand), looked
        fresh = shop.found.since(before)
        fresh.add(faults)
        tally.add(fresh)

    def at_random(self, turns: Sequence[Blow], load: Sequence[Play] = LOAD, name: str = "load") -> None:
        """Kill under ``load``, volley after volley, until a fault is found; it counts by its ``name``."""
        tally = Tally(name, RANDOM)
        self._tallies.append(tally)
        for first in range(0, len(turns), VOLLEY):
            if self._stop.is_set() or not tally.sound:
                return
            self._volley(turns[first : first + VOLLEY], tally, load)

    def at_moments(self, shop: WiredShop, turns: Sequence[Moment]) -> None:
        """Kill in the middle of documents of hardware registers, until a fault is found."""
        for turn in turns:
            if self._stop.is_set() or not all(tally.sound for tally in self._tallies):
                return
            tally = Tally(turn.scene, DARK if turn.dark else RANDOM)
            self._tallies.append(tally)
            self._moment(shop, turn, tally)

    def _moment(self, shop: WiredShop, turn: Moment, tally: Tally) -> None:
        shop.calm()
        machine, faults = shop.machines[turn.name], Findings()
        number = machine.state()["number"]
        machine.set_rules({"on": turn.kind, "then": "accept", "delay_ms": SLOW_MS})
        with ThreadPoolExecutor(1) as threads:
            playing = threads.submit(turn.play(), shop)
            turn.awaited(shop, number)
            tally.rounds += 1
            tally.killed += shop.kill("service")
            if turn.dark:
                machine.cut_power(turn.dark)
            self._look_after(playing, faults)
        # The kill may come after the answer.
        self._raise_up(faults)
        self._close(tally, faults)

    def _volley(self, turns: Sequence[Blow], tally: Tally, load: Sequence[Play]) -> None:
        shop, faults, rest = self._shop, Findings(), threading.Event()

        def keep_on(play: Play) -> None:
            while not rest.is_set():
                play(shop)

        shop.calm()
        with ThreadPoolExecutor(len(load)) as threads:
            playing = [threads.submit(keep_on, play) for play in load]
            try:
                for turn in turns:
                    if not turn.away:
                        shop.link.mend()
                    self._raise_up(faults, wait=not turn.early)
                    if turn.away and shop.link.mended:
                        # First the register asks for what the last kill left open: before that it may not go offline.
                        time.sleep(SETTLING)
                        shop.link.cut()
                    time.sleep(turn.after)
                    tally.rounds += 1
                    tally.killed += shop.kill(turn.victim)
                self._raise_up(faults)
                time.sleep(AFTER_A_VOLLEY)
            finally:
                shop.link.mend()
                rest.set()
        faults.other += [f"{type(error).__name__}: {error}" for one in playing if (error := one.exception())]
        self._close(tally, faults)


def table(tallies: Sequence[Tally]) -> str:
    """The verdicts as text."""
    wide = max(len(scene.name) for scene in EVERY)
    counts = f"{'rounds':>6} {'killed':>6} {'lost':>5} {'doubled':>7} {'by hand':>7} {'looked':>6}"
    lines = [f"{'scene':<{wide}}  {'point':<26} {counts}  verdict"]
    lines += [
        f"{tally.scene:<{wide}}  {tally.point:<26} {tally.rounds:>6} {tally.killed:>6} {tally.lost:>5}"
        f" {tally.doubled:>7} {tally.by_hand:>7} {tally.looked:>6}  {'good' if tally.good else 'WRONG'}"
        for tally in tallies
    ]
    return "\n".join(lines)


def as_json(seed: int, tallies: Sequence[Tally]) -> dict[str, Any]:
    """The verdicts for programs."""
    return {
        "seed": seed,
        "good": all(tally.good for tally in tallies),
        "kills": sum(tally.killed for tally in tallies),
        **{count: sum(getattr(tally, count) for tally in tallies) for count in COUNTS[2:]},
        "points": [{**asdict(tally), "good": tally.good} for tally in tallies],
    }
