"""``dmtwisted crashlab``: kill the real service at named places and at random, then compare all books."""

from __future__ import annotations

import http.client
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.commands.children import BenchFailed, NotStarted, ended_by_signals
from dmtwisted.crash_points import POINTS


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"{text} is negative")
    return value


def _points(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in found if name not in POINTS]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no such point; --list tells them")
    return found


class CrashlabOptions(usage.Options):
    """``dmtwisted crashlab``"""

    synopsis = "Usage: dmtwisted crashlab [options]"
    longdesc = (
        "Run the service with simulated devices, each in a process of its own; kill it at each named point and at "
        "random under load; repeat as a correct till would; compare what tills heard, journal, tax service and "
        "terminals. Status 1 when anything is lost, doubled or otherwise wrong."
    )
    optParameters: ClassVar = [
        ["seed", None, 1, "Makes the plan; the same seed makes the same.", int],
        ["rounds", "n", 1, "How often the service is killed at each point.", _count],
        ["random", None, 10, "How often it is killed at random under load.", _count],
        ["points", None, [], "Only these points, separated by commas.", _points],
        ["json", None, None, "Write the verdicts to this file.", Path],
        ["state", "d", None, "Make the temporary folder in this one: the disk to try."],
    ]
    optFlags: ClassVar = [["list", None, "Tell the points and what is durable there, and end."]]


def run(options: CrashlabOptions) -> int:
    """Play the rounds; 0 when nothing is wrong."""
    if options["list"]:
        wide = max(map(len, POINTS))
        print("\n".join(f"{name:<{wide}}  {told}" for name, told in POINTS.items()))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-crashlab-", dir=options["state"])).resolve()
    good = False
    try:
        good = _play(folder, options)
    except (NotStarted, BenchFailed, OSError, http.client.HTTPException) as error:
        print(f"dmtwisted crashlab: {error}", file=sys.stderr)
    finally:
        if good:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"all files stay in {folder}", file=sys.stderr)
    return int(not good)


def _play(folder: Path, options: CrashlabOptions) -> bool:
    from dmtwisted.crashlab.carrying import at_keeping_points
    from dmtwisted.crashlab.rounds import Lab, Tally, as_json, blows, pairs_of, plan, table
    from dmtwisted.crashlab.scenes import begin
    from dmtwisted.crashlab.shop import Shop

    seed, points = options["seed"], options["points"]

    def tell(tally: Tally) -> None:
        print(table([tally]).splitlines()[1], flush=True)
        for sentence in tally.found[:5]:
            print(f"    {sentence}", flush=True)

    tallies: list[Tally] = []
    print(f"seed {seed}\n{table([])}", flush=True)
    turns, strikes = plan(seed, options["rounds"], pairs_of(points)), blows(seed, options["random"])
    with ended_by_signals():
        if turns or strikes:
            with Shop(folder) as shop:
                begin(shop)
                lab = Lab(shop, tell)
                tallies += lab.at_points(turns)
                if strikes:
                    tallies.append(lab.at_random(strikes))
        if options["rounds"]:
            tallies += at_keeping_points(folder, options["rounds"], points, tell)
    whole = as_json(seed, tallies)
    if options["json"] is not None:
        options["json"].write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")
    counts = f"{whole['lost']} lost, {whole['doubled']} doubled, {whole['by_hand']} left to a person"
    print(f"{whole['kills']} kills: {counts}; {'nothing is wrong' if whole['good'] else 'SOMETHING IS WRONG'}")
    return bool(whole["good"])
