"""``dmtwisted crashlab``: kill the real service at named places and at random, then compare all books."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.commands.options import CommandOptions
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.crash_points import POINTS
from dmtwisted.lab.children import ended_by_signals
from dmtwisted.lab.crash.crew import Crew, parts, parts_on_cabinet
from dmtwisted.lab.crash.rounds import as_json, table


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"{text} is negative")
    return value


def _jobs(text: str) -> int:
    if _count(text) == 0:
        raise ValueError("at least 1 is expected")
    return int(text)


def _points(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ValueError("no point is named; without the option all points are used")
    unknown = [name for name in found if name not in POINTS]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no such point; --list shows them")
    return found


def _protocol(text: str) -> str:
    if text not in ("a", "b"):
        raise ValueError("a or b is expected")
    return text


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise ValueError(f"{text} is not a folder")
    return Path(text)


def _file(text: str) -> Path:
    return _folder(str(Path(text).parent)) / Path(text).name


class CrashlabOptions(CommandOptions):
    """``dmtwisted crashlab``"""

    longdesc = (
        "Run the service with simulated devices, each in its own process. Kill it at each named point and at random "
        "under load, and repeat tasks as a correct till does. Then compare the answers to tills, the journal, the "
        "tax service and the terminals. Exit status 1 when anything is lost, doubled or wrong, or when interrupted."
    )
    optParameters: ClassVar = [
        ["seed", None, 1, "The seed of the plan; the same seed makes the same plan.", int],
        ["rounds", "n", 1, "How often the service is killed at each point.", _count],
        ["random", None, 10, "How often it is killed at random under load.", _count],
        ["jobs", "j", 1, "How many shops run at the same time; as many as there are processors is useful.", _jobs],
        ["points", None, [], "Only these points, separated by commas.", _points],
        ["protocol", None, "a", "The tax service's protocol; with b only documents of its register.", _protocol],
        ["json", None, None, "Write the results to this file as JSON.", _file],
        ["state", "d", None, "Create the temporary folder in this one: the disk to test.", _folder],
    ]
    written: ClassVar = {"json": "FILE", "protocol": "a|b"}
    optFlags: ClassVar = [
        ["away", None, "In random rounds, also cut the line to the tax service at times."],
        ["list", None, "List the points and what is durable there."],
    ]

    def postOptions(self) -> None:
        """Require something to kill."""
        if not (self["rounds"] or self["random"] or self["list"]):
            raise usage.UsageError("nothing would be killed with --rounds 0 and --random 0")


def run(options: CrashlabOptions) -> int:
    """Run all rounds; 0 when nothing is wrong."""
    if options["list"]:
        wide = max(map(len, POINTS))
        print("\n".join(f"{name:<{wide}}  {text}" for name, text in POINTS.items()))
        return 0
    seed = options["seed"]
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-crashlab-", dir=options["state"])).resolve()
    chosen = parts_on_cabinet if options["protocol"] == "b" else parts
    whole = chosen(seed, options["rounds"], options["random"], options["points"], bool(options["away"]))
    progress = ProgressBar("kills")
    crew = Crew(whole, folder, progress.say, progress)
    print(f"seed {seed}: {crew.planned} kills in {len(whole)} parts, {options['jobs']} at a time", flush=True)
    broken_off = False
    with ended_by_signals(), progress:
        try:
            crew.work(options["jobs"])
        except (KeyboardInterrupt, SystemExit):
            broken_off = True
    score = crew.score()
    verdict = {**as_json(seed, score), "planned": crew.planned, "broken_off": broken_off}
    good = bool(verdict["good"]) and (broken_off or verdict["kills"] == crew.planned)
    if good:
        shutil.rmtree(folder, ignore_errors=True)
    counts = f"{verdict['lost']} lost, {verdict['doubled']} doubled, {verdict['by_hand']} by hand"
    if verdict["wrong"]:
        counts += f", {verdict['wrong']} otherwise wrong"
    print(table(score))
    print(
        f"{verdict['kills']} kills: {counts}, {verdict['looked']} slips and papers looked at; "
        f"{'nothing is wrong' if good else 'SOMETHING IS WRONG'}{', interrupted' if broken_off else ''}"
    )
    if options["json"] is not None:
        verdict["good"] = good
        options["json"].write_text(json.dumps(verdict, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return int(not good or broken_off)
