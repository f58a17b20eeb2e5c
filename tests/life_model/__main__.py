"""Go through every interleaving of the models: ``python -m tests.life_model``; ``--cuts 4`` has more faults."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser

from tests.life_model.register import Register
from tests.life_model.saga import Saga
from tests.life_model.search import Explored, Model, explore


def models(cuts: int, kills: int) -> dict[str, Model]:
    """Every model with so many faults, by its name."""
    return {
        "documents": Register(cuts, kills),
        "documents, one refused for good": Register(cuts, kills, bad=True),
        "documents, none wanders": Register(cuts, kills, wanders=False),
        "documents, never offline": Register(cuts, kills, offline=False),
        "sagas": Saga(cuts, kills),
        "sagas, one receipt refused for good": Saga(cuts, kills, bad=True),
    }


def words(name: str, found: Explored, seconds: float) -> str:
    """One line, and what is wrong."""
    line = f"{name}: {found.states:,} states, {found.steps:,} steps, {found.settled:,} settled, {seconds:.0f} s"
    return "\n".join([line, *(f"  WRONG: {wrong}" for wrong in found.wrong)])


def main(arguments: list[str]) -> int:
    """Explore all models; 1 when anything is wrong."""
    parser = ArgumentParser(prog="python -m tests.life_model", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cuts", type=int, default=3, help="how many messages go wrong")
    parser.add_argument("--kills", type=int, default=2, help="how often the service dies")
    chosen = parser.parse_args(arguments)
    wrong = states = 0
    for name, model in models(chosen.cuts, chosen.kills).items():
        begun = time.monotonic()
        found = explore(model)
        print(words(name, found, time.monotonic() - begun), flush=True)
        wrong, states = wrong + len(found.wrong), states + found.states
    print(f"{states:,} states, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
