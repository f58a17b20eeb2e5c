"""Kill the service with ``kill -9`` under load, again and again, and count what the tills hold in hand.

``python -m tests.crash.kill_rounds --rounds 100 --seed 7`` runs the real service in training mode. Eight
tills sell on four registers, two at each, so that they also get in each other's way. They do what correct
tills do: each sale has a tag of its own, and whoever gets no answer repeats the same tag until there is one.
After a random time somebody is killed:

``service``  the service alone; its writer has to notice and to end by itself
``writer``   the writer alone; the service has to start another one
``both``     the service and the writer
``again``    the service, and its successor once more while it starts and asks after unknown receipts

Then the books are compared: what the tills were told, the stored answers, the journal in the database, the
ledger of the simulated tax service, the X-report. Nothing answered may be lost, no sale may be in the ledger
twice, and the local numbers go on without a gap. The same seed gives the same plan; what exactly is under way
when the blow falls is up to the machine. It needs ``/proc``, to find the writer.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dmtwisted.lab.children import (
    BenchFailed,
    NotStarted,
    ended_by_signals,
    family,
    free_port,
    is_writer,
    service,
)
from dmtwisted.lab.crash.books import Entry, Findings, read_journal
from tests.crash.desk import Desk

WRITER_PATIENCE = 10.0
"""Seconds in which the writer of a killed service has to end, and a killed writer to have a successor."""

VICTIMS = ("service", "writer", "both", "again")
WEIGHTS = (50, 20, 15, 15)


# The plan


@dataclass(frozen=True)
class Round:
    """Whom to kill after how many seconds of load; ``again`` is when the successor dies."""

    after: float
    victim: str
    again: float


def plan(seed: int, rounds: int) -> list[Round]:
    """The same rounds for the same seed."""
    dice = random.Random(seed)
    return [
        Round(dice.uniform(0.05, 0.4), dice.choices(VICTIMS, WEIGHTS)[0], dice.uniform(0.1, 1.2))
        for _ in range(rounds)
    ]


# The rounds


class Kills(Desk):
    """A service with a SQLite file, its tills and the kills."""

    def __init__(self, state: Path, seed: int) -> None:
        super().__init__(service(state, free_port()), seed)
        self.kills: Counter[str] = Counter()
        self.slowest_start = 0.0
        self._state = state

    def read_journal(self) -> tuple[dict[str, list[Entry]], Findings]:
        """What the file says."""
        return read_journal(self._state)

    def strike(self, turn: Round) -> None:
        """Kill whom the round says, and see everything up again."""
        writer = self._writer()
        begun = time.monotonic()
        if turn.victim == "writer":
            os.kill(writer, signal.SIGKILL)
            self._wait(lambda: self._writer(missing=writer) != writer, "a killed writer has no successor")
        else:
            self._service.kill()
            if turn.victim == "both":
                _kill_if_there(writer)
            if turn.victim == "again":
                self._service.spawn()
                time.sleep(turn.again)
                self._service.kill()
                begun = time.monotonic()
            self._service.start()
            self.slowest_start = max(self.slowest_start, time.monotonic() - begun)
            self._wait(lambda: not is_writer(writer), "the writer of a killed service does not end")
        self.kills[turn.victim] += 1

    def _writer(self, missing: int = 0) -> int:
        """The writer of the service; ``missing`` when there is none and that may be."""
        writers = [pid for pid in family(self._service.pid) if is_writer(pid)]
        if not writers and not missing:
            raise BenchFailed("the service has no writer process")
        return writers[0] if writers else missing

    def _wait(self, reached: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WRITER_PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                self.found.other.append(otherwise)
                return
            time.sleep(0.02)


def _kill_if_there(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rounds; 0 when nothing is lost, doubled, missing or otherwise wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.kill_rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", help="make the temporary folder in this one")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-crash-", dir=options.state)).resolve()
    evidence = False
    try:
        evidence = not _play(folder, options.rounds, options.seed)
    except (NotStarted, BenchFailed, OSError, http.client.HTTPException) as error:
        evidence = True
        print(error, file=sys.stderr)
    finally:
        if not evidence:
            shutil.rmtree(folder, ignore_errors=True)
    if evidence:
        print(f"the state folder and the log stay in {folder}", file=sys.stderr)
    return int(evidence)


def _play(folder: Path, rounds: int, seed: int) -> bool:
    """Play the rounds in ``folder`` and tell what is found; whether that is nothing."""
    print(f"{rounds} rounds with the seed {seed}", flush=True)
    state = folder / "state"
    state.mkdir()
    with ended_by_signals(), Kills(state, seed) as kills:
        for n, turn in enumerate(plan(seed, rounds), 1):
            kills.play(turn.after, partial(kills.strike, turn))
            if n % 10 == 0 or kills.found:
                kills.compare()
                sold, repeats = len(kills.sold), kills.repeats
                print(f"round {n}: {sold} sales, {repeats} repeats: {kills.found}", flush=True)
            if kills.found:
                break
        kills.compare()
        kills.look_up_everything()
    found = kills.found
    for sentence in [*found.lost, *found.doubled, *found.gaps, *found.other][:20]:
        print(sentence)
    blows = ", ".join(f"{victim} {kills.kills[victim]}" for victim in VICTIMS)
    print(f"killed: {blows}; ready again after {kills.slowest_start:.1f} s at the latest")
    print(f"{len(kills.sold)} sales, {kills.found_again} of them had happened and were answered to a repeat")
    print(found)
    return not found


if __name__ == "__main__":
    sys.exit(main())
