"""The rounds: what is killed when, what came of it, and the table of verdicts."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from dmtwisted.commands.children import BenchFailed, NotStarted
from dmtwisted.crashlab.books import PERSON, Findings
from dmtwisted.crashlab.scenes import LOAD, SCENES, Play, Scene
from dmtwisted.crashlab.shop import Shop

RANDOM = "at random"
"""The name of what is killed without a point."""

VICTIMS, WEIGHTS = ("service", "writer", "both"), (60, 20, 20)


@dataclass(frozen=True)
class Round:
    """One kill at a point: at its ``count``-th reaching."""

    scene: str
    point: str
    count: int


@dataclass(frozen=True)
class Blow:
    """One kill at random: after so many seconds of load."""

    after: float
    victim: str


@dataclass
class Tally:
    """What the rounds at one point of one scene came to."""

    scene: str
    point: str
    rounds: int = 0
    killed: int = 0
    lost: int = 0
    doubled: int = 0
    by_hand: int = 0
    wrong: int = 0
    found: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing is lost, doubled or otherwise wrong, and each round did kill."""
        return not (self.lost or self.doubled or self.wrong) and self.killed == self.rounds

    def add(self, found: Findings) -> None:
        """Count what a round has found."""
        self.lost += len(found.lost)
        self.doubled += len(found.doubled)
        self.wrong += len(found.gaps) + len(found.other)
        self.found += [*found.lost, *found.doubled, *found.gaps, *found.other]


def plan(seed: int, rounds: int, pairs: Sequence[tuple[Scene, str]]) -> list[Round]:
    """The same rounds for the same seed: every pair of scene and point ``rounds`` times."""
    dice = random.Random(seed)
    # Points of the store are reached many times in a task: each kill takes another one.
    return [
        Round(scene.name, point, dice.randint(1, scene.points[point]))
        for scene, point in pairs
        for _ in range(rounds)
    ]


def blows(seed: int, number: int) -> list[Blow]:
    """The same kills for the same seed."""
    dice = random.Random(f"blows {seed}")
    return [Blow(dice.uniform(0.05, 1.5), dice.choices(VICTIMS, WEIGHTS)[0]) for _ in range(number)]


def pairs_of(points: Sequence[str]) -> list[tuple[Scene, str]]:
    """Each scene with each of its points, or with those of ``points`` only."""
    return [(scene, point) for scene in SCENES for point in scene.points if not points or point in points]


class Lab:
    """A shop, and whoever kills its service.

    :param tell: is told of each tally that is complete.
    """

    def __init__(self, shop: Shop, tell: Callable[[Tally], None]) -> None:
        self._shop, self._tell = shop, tell
        self._scenes = {scene.name: scene for scene in SCENES}

    def at_points(self, rounds: Sequence[Round]) -> Iterator[Tally]:
        """Play rounds; those of one point follow each other."""
        tally: Tally | None = None
        for turn in rounds:
            if tally is None or (tally.scene, tally.point) != (turn.scene, turn.point):
                if tally is not None:
                    self._tell(tally)
                    yield tally
                tally = Tally(turn.scene, turn.point)
            self._one(turn, tally)
        if tally is not None:
            self._tell(tally)
            yield tally

    def _one(self, turn: Round, tally: Tally) -> None:
        shop, scene = self._shop, self._scenes[turn.scene]
        shop.calm()
        shop.service.order(turn.point, turn.count)
        faults = Findings()
        with ThreadPoolExecutor(1) as threads:
            playing = threads.submit(scene.play, shop)
            self._look_after(playing, faults)
        # What is done beside the answer may come to the point a little later.
        deadline = time.monotonic() + 1
        while shop.service.waits and time.monotonic() < deadline:
            time.sleep(0.02)
        tally.rounds += 1
        tally.killed += shop.service.struck()
        self._raise_up(faults)
        self._close(tally, faults)

    def _look_after(self, playing: Future[None], faults: Findings) -> None:
        """Start the service again whenever it has died, until the scene is over."""
        while not playing.done():
            self._raise_up(faults)
            time.sleep(0.01)
        fault = playing.exception()
        if fault is not None:
            faults.other.append(f"{type(fault).__name__}: {fault}")

    def _raise_up(self, faults: Findings) -> None:
        try:
            self._shop.revive()
        except (NotStarted, OSError) as error:
            faults.other.append(str(error))
            raise

    def _close(self, tally: Tally, faults: Findings) -> None:
        """Hold the books against each other; what was found before is not found again."""
        shop = self._shop
        before = Findings(*(list(kind) for kind in asdict(shop.found).values()))
        try:
            shop.wait(shop.rested, 30, "what is unknown stays so")
            shop.compare()
        except (BenchFailed, OSError, http.client.HTTPException) as error:
            faults.other.append(f"{type(error).__name__}: {error}")
        people = sum(PERSON in (deed.heard, deed.paper) for deed in shop.deeds)
        tally.by_hand += people - shop.people
        shop.people = people
        fresh = Findings(
            *(
                [sentence for sentence in now if sentence not in then]
                for now, then in zip(asdict(shop.found).values(), asdict(before).values(), strict=True)
            )
        )
        fresh.add(faults)
        tally.add(fresh)

    def at_random(self, turns: Sequence[Blow]) -> Tally:
        """Kill under load, round after round."""
        tally = Tally("load", RANDOM)
        for turn in turns:
            self._under_load(turn, tally)
            if not tally.good:
                break
        self._tell(tally)
        return tally

    def _under_load(self, turn: Blow, tally: Tally) -> None:
        shop, faults, stop = self._shop, Findings(), threading.Event()

        def keep_on(play: Play) -> None:
            while not stop.is_set():
                play(shop)

        shop.calm()
        with ThreadPoolExecutor(len(LOAD)) as threads:
            playing = [threads.submit(keep_on, play) for play in LOAD]
            try:
                time.sleep(turn.after)
                shop.kill(turn.victim)
                self._raise_up(faults)
                time.sleep(0.2)
            finally:
                stop.set()
        faults.other += [str(one.exception()) for one in playing if one.exception() is not None]
        tally.rounds += 1
        tally.killed += 1
        self._close(tally, faults)


def table(tallies: Sequence[Tally]) -> str:
    """The verdicts as people read them."""
    wide = max(len(scene.name) for scene in SCENES)
    counts = f"{'rounds':>6} {'killed':>6} {'lost':>5} {'doubled':>7} {'person':>6}"
    lines = [f"{'scene':<{wide}}  {'point':<26} {counts}  verdict"]
    lines += [
        f"{tally.scene:<{wide}}  {tally.point:<26} {tally.rounds:>6} {tally.killed:>6} {tally.lost:>5}"
        f" {tally.doubled:>7} {tally.by_hand:>6}  {'good' if tally.good else 'WRONG'}"
        for tally in tallies
    ]
    return "\n".join(lines)


def as_json(seed: int, tallies: Sequence[Tally]) -> dict[str, Any]:
    """The verdicts for programs."""
    return {
        "seed": seed,
        "good": all(tally.good for tally in tallies),
        "kills": sum(tally.killed for tally in tallies),
        "lost": sum(tally.lost for tally in tallies),
        "doubled": sum(tally.doubled for tally in tallies),
        "by_hand": sum(tally.by_hand for tally in tallies),
        "points": [{**asdict(tally), "good": tally.good} for tally in tallies],
    }
