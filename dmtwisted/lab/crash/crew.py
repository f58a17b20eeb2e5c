"""Independent parts of the rounds, each with its own shop, several at a time; and their score.

A shop lives for one part only, so its books stay short and are compared completely each time. Parts share nothing: a
fault ends its part, and the others continue.
"""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from dmtwisted.lab.crash.cabinet import CABINET, CABINET_LOAD, LOAD_ON_CABINET, CabinetShop
from dmtwisted.lab.crash.carrying import POINTS as BESIDE
from dmtwisted.lab.crash.carrying import at_keeping_points, keeping_rounds
from dmtwisted.lab.crash.databases import SQLITE, Ground
from dmtwisted.lab.crash.rounds import EVERY, RANDOM, Blow, Lab, Round, Tally, blows, pairs_of, plan
from dmtwisted.lab.crash.scenes import open_shift
from dmtwisted.lab.crash.shop import Shop
from dmtwisted.lab.crash.wired import DARK, MACHINES, WIRED, Moment, WiredShop, moments

AT_POINTS, AT_RANDOM, BESIDE_TASKS = 60, 100, 20
"""Rounds of one part: few, so that a shop's books stay short, but enough to make up for opening the shop."""

WIRED_SHARE = 5
"""One random kill of so many meets a document that is open on a hardware register."""

LOOK = 1.0
"""Seconds between two looks at the progress."""

Show = Callable[[str, int, int], None]
"""Shows what was found, how many kills there were, and how many there will be."""

Play = Callable[[Path, list[Tally], threading.Event], None]


@dataclass
class Part:
    """Some of the rounds."""

    kills: int
    play: Play
    tallies: list[Tally] = field(default_factory=list)


def _points(
    rounds: Sequence[Round], ground: Ground, folder: Path, tallies: list[Tally], stop: threading.Event
) -> None:
    with Shop(folder, ground=ground) as shop:
        open_shift(shop)
        Lab(shop, tallies, stop).at_points(rounds)


def _random(
    turns: Sequence[Blow], revokes: bool, ground: Ground, folder: Path, tallies: list[Tally], stop: threading.Event
) -> None:
    with Shop(folder, revokes, ground) as shop:
        open_shift(shop)
        Lab(shop, tallies, stop).at_random(turns)


def _wired(
    rounds: Sequence[Round],
    turns: Sequence[Moment],
    ground: Ground,
    folder: Path,
    tallies: list[Tally],
    stop: threading.Event,
) -> None:
    with WiredShop(folder, ground) as shop:
        lab = Lab(shop, tallies, stop)
        lab.at_points(rounds)
        lab.at_moments(shop, turns)


def parts(
    seed: int, rounds: int, at_random: int, points: Sequence[str] = (), away: bool = False, ground: Ground = SQLITE
) -> list[Part]:
    """All parts; the same parts in the same order for the same seed.

    :param away: in random rounds the line to the tax service is cut at times, and every second register issues
        documents whose answer was lost again offline.
    """
    found = []
    whole = plan(seed, rounds, [pair for pair in pairs_of(points) if reached_on(ground.way, pair[1])])
    of_registers = {scene.name for scene in WIRED}
    turns = [turn for turn in whole if turn.scene not in of_registers]
    wired = [turn for turn in whole if turn.scene in of_registers]
    met = moments(seed, at_random // WIRED_SHARE)
    strikes = blows(seed, at_random - len(met), away)
    beside = [point for point in keeping_rounds(rounds, points) if reached_on(ground.way, point)]
    for first in range(0, len(turns), AT_POINTS):
        some = turns[first : first + AT_POINTS]
        found.append(Part(len(some), partial(_points, some, ground)))
    for n, first in enumerate(range(0, len(strikes), AT_RANDOM)):
        struck = strikes[first : first + AT_RANDOM]
        found.append(Part(len(struck), partial(_random, struck, away and n % 2 == 1, ground)))
    for first in range(0, max(len(wired), len(met)), AT_POINTS):
        last = first + AT_POINTS
        open_ones = met[first:last]
        some = wired[first:last]
        found.append(Part(len(some) + len(open_ones), partial(_wired, some, open_ones, ground)))
    for first in range(0, len(beside), BESIDE_TASKS):
        kept = beside[first : first + BESIDE_TASKS]
        found.append(Part(len(kept), partial(at_keeping_points, kept, ground)))
    # After an interruption there are results of all kinds.
    random.Random(f"parts {seed}").shuffle(found)
    return found


def _cabinet_points(
    rounds: Sequence[Round], ground: Ground, folder: Path, tallies: list[Tally], stop: threading.Event
) -> None:
    with CabinetShop(folder, ground=ground, few=True) as shop:
        open_shift(shop)
        Lab(shop, tallies, stop).at_points(rounds)


def _cabinet_random(
    turns: Sequence[Blow], revokes: bool, ground: Ground, folder: Path, tallies: list[Tally], stop: threading.Event
) -> None:
    with CabinetShop(folder, revokes, ground) as shop:
        open_shift(shop)
        Lab(shop, tallies, stop).at_random(turns, CABINET_LOAD, LOAD_ON_CABINET)


def parts_on_cabinet(
    seed: int, rounds: int, at_random: int, points: Sequence[str] = (), away: bool = False, ground: Ground = SQLITE
) -> list[Part]:
    """As `parts`, with a register on protocol B; the scenes are those of its documents."""
    found = []
    pairs = [pair for pair in pairs_of(points, CABINET) if reached_on(ground.way, pair[1])]
    turns, strikes = plan(seed, rounds, pairs), blows(seed, at_random, away)
    for first in range(0, len(turns), AT_POINTS):
        some = turns[first : first + AT_POINTS]
        found.append(Part(len(some), partial(_cabinet_points, some, ground)))
    for n, first in enumerate(range(0, len(strikes), AT_RANDOM)):
        struck = strikes[first : first + AT_RANDOM]
        found.append(Part(len(struck), partial(_cabinet_random, struck, away and n % 2 == 1, ground)))
    random.Random(f"parts {seed}").shuffle(found)
    return found


def reached_on(way: str, point: str) -> bool:
    """Whether runs of this way reach the point: with a server there is no writer, and its own tools keep it."""
    return way != "postgresql" or not (point in BESIDE or point.startswith("writer."))


def every_pair(way: str = "sqlite") -> list[tuple[str, str]]:
    """All scenes with their points that runs of this way reach, those at random too, in the order of the table."""
    order = [(scene.name, point) for scene in EVERY for point in scene.points]
    order += [(f"open on {name}", point) for name in MACHINES for point in (RANDOM, DARK)]
    order += [("load", RANDOM), (LOAD_ON_CABINET, RANDOM), *((point.partition(".")[0], point) for point in BESIDE)]
    return [pair for pair in order if reached_on(way, pair[1])]


class Crew:
    """Runs parts, and knows the score at any time.

    :param folder: gets a folder for each part, which stays when a fault is found.
    :param tell: gets lines for people.
    :param show: gets the progress now and then.
    """

    def __init__(self, whole: Sequence[Part], folder: Path, tell: Callable[[str], None], show: Show) -> None:
        self._parts, self._folder, self._tell, self._show = whole, folder, tell, show
        self._stop = threading.Event()
        self.planned = sum(part.kills for part in whole)

    def work(self, jobs: int) -> None:
        """Run all parts, ``jobs`` at a time; an interruption waits for the running rounds."""
        with ThreadPoolExecutor(jobs) as threads:
            pending: set[Future[None]] = {
                threads.submit(self._play, n, part) for n, part in enumerate(self._parts, 1)
            }
            try:
                while pending:
                    _, pending = wait(pending, LOOK, FIRST_COMPLETED)
                    self._show(*self.progress())
            except BaseException:
                self._tell("stopping: waiting for the running rounds")
                self._stop.set()
                for future in pending:
                    future.cancel()
                raise

    def _play(self, n: int, part: Part) -> None:
        if self._stop.is_set():
            return
        folder = self._folder / f"part-{n}"
        try:
            folder.mkdir()
            part.play(folder, part.tallies, self._stop)
        except Exception as error:
            # The books were not compared, so the part is not good.
            if not part.tallies:
                part.tallies.append(Tally("a shop", "opening"))
            last = part.tallies[-1]
            last.wrong += 1
            last.found.append(f"{type(error).__name__}: {error}")
        found = [sentence for tally in part.tallies for sentence in tally.found]
        for sentence in found[:5]:
            self._tell(f"part {n}: {sentence}")
        if all(tally.good for tally in part.tallies):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self._tell(f"part {n}: all files stay in {folder}")

    def score(self) -> list[Tally]:
        """The results of each point so far, in the order of the scenes."""
        order = every_pair()
        whole: dict[tuple[str, str], Tally] = {}
        for part in self._parts:
            for tally in list(part.tallies):
                mine = whole.setdefault((tally.scene, tally.point), Tally(tally.scene, tally.point))
                mine.take(tally)
        known = [whole.pop(pair) for pair in order if pair in whole]
        return [*known, *whole.values()]

    def progress(self) -> tuple[str, int, int]:
        """What was found, how many kills there were, and how many there will be."""
        score = self.score()
        counts = ", ".join(
            f"{sum(getattr(tally, count) for tally in score)} {words}"
            for count, words in (
                ("lost", "lost"),
                ("doubled", "doubled"),
                ("by_hand", "by hand"),
                ("wrong", "otherwise wrong"),
                ("looked", "slips and papers looked at"),
            )
        )
        return counts, sum(tally.killed for tally in score), self.planned
