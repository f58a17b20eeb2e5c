"""``dmtwisted crashlab``: kill the real service at named places and at random, then compare all books."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.commands.options import CommandOptions
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.crash_points import POINTS
from dmtwisted.lab.children import ended_by_signals
from dmtwisted.lab.crash.crew import Crew, every_pair, parts, parts_on_cabinet
from dmtwisted.lab.crash.databases import Ground
from dmtwisted.lab.crash.results import (
    WAYS,
    BadResult,
    Sum,
    Tested,
    key_file,
    key_in,
    public,
    read_result,
    write_result,
)
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


def _keys(text: str) -> list[str]:
    found = [key.strip() for key in text.split(",")]
    if any(not re.fullmatch("[0-9a-f]{64}", key) for key in found):
        raise ValueError('a key has 64 hexadecimal digits: `"key"` in a result of that machine')
    return found


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
        "tax service and the terminals. Exit status 1 when anything is lost, doubled or wrong, or when interrupted. "
        "With --merge, add up the results of earlier runs instead."
    )
    synopsis = "[options] | --merge [--goal] FILE..."
    optParameters: ClassVar = [
        ["seed", None, 1, "The seed of the plan; the same seed makes the same plan.", int],
        ["rounds", "n", 1, "How often the service is killed at each point.", _count],
        ["random", None, 10, "How often it is killed at random under load.", _count],
        ["jobs", "j", 1, "How many shops run at the same time; as many as there are processors is useful.", _jobs],
        ["points", None, [], "Only these points, separated by commas.", _points],
        ["protocol", None, "a", "The tax service's protocol; with b only documents of its register.", _protocol],
        ["json", None, None, "Write the results to this file as JSON.", _file],
        ["result", None, None, "Write the results to this file, signed by this machine, for --merge.", _file],
        ["machines", None, [], "With --merge, also accept results of machines with these keys.", _keys],
        ["state", "d", None, "Create the temporary folder in this one: the disk to test.", _folder],
        ["database", None, "", "The URL of a PostgreSQL server's database: each shop creates one of its own there."],
    ]
    written: ClassVar = {"json": "FILE", "result": "FILE", "protocol": "a|b", "machines": "KEY,…"}
    optFlags: ClassVar = [
        ["power", None, "Each kill is a power cut: lose what was not synced. Needs strace."],
        ["merge", None, "Add up result files; refuse those of different versions, changed ones and repeated seeds."],
        ["goal", None, "With --merge, require 10,000 kills, 20 at each point, and each point in every way."],
        ["away", None, "In random rounds, also cut the line to the tax service at times."],
        ["list", None, "List the points and what is durable there."],
    ]

    files: Sequence[str] = ()

    def parseArgs(self, *files: str) -> None:
        """Take the result files."""
        self.files = files

    def postOptions(self) -> None:
        """Require something to do."""
        if bool(self.files) != bool(self["merge"]):
            raise usage.UsageError("--merge and result files belong together")
        if self["power"] and self["database"]:
            raise usage.UsageError("--power loses what a SQLite file has not synced, and --database has none")
        if not (self["rounds"] or self["random"] or self["list"]):
            raise usage.UsageError("nothing would be killed with --rounds 0 and --random 0")


def run(options: CrashlabOptions) -> int:
    """Run all rounds; 0 when nothing is wrong."""
    if options["list"]:
        wide = max(map(len, POINTS))
        print("\n".join(f"{name:<{wide}}  {text}" for name, text in POINTS.items()))
        return 0
    if options["merge"]:
        return _merge(options)
    ground = Ground(options["database"], bool(options["power"]))
    seed, tested = options["seed"], Tested()
    chosen = parts_on_cabinet if options["protocol"] == "b" else parts
    whole = chosen(seed, options["rounds"], options["random"], options["points"], bool(options["away"]), ground)
    if not whole:
        print("nothing would be killed: runs of this way do not reach these points")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-crashlab-", dir=options["state"])).resolve()
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
    if options["result"] is not None:
        how = {name: options[name] for name in ("rounds", "random", "points", "away", "jobs")}
        done = tested.result(ground.way, options["protocol"], seed, how, crew.planned, broken_off, score)
        write_result(options["result"], done, key_in(key_file()))
    return int(not good or broken_off)


def _merge(options: CrashlabOptions) -> int:
    """Add up result files; 0 when nothing is wrong, and the goal is reached if that was asked."""
    machines = {public(key_in(key_file())), *options["machines"]}
    try:
        whole = Sum([(name, read_result(Path(name), machines)) for name in options.files])
    except BadResult as error:
        print(error)
        return 1
    print(whole.table(every_pair()))
    for part in whole.parts:
        on_b, broken_off = " on B" if part.protocol == "b" else "", ", interrupted" if part.broken_off else ""
        print(f"{part.began} {WAYS[part.way]}{on_b} seed {part.seed}: {part.kills} kills, {part.machine}{broken_off}")
    missing = whole.below(every_pair) if options["goal"] else []
    print(*missing, sep="\n", end="\n" if missing else "")
    told = whole.as_json()
    counts = f"{told['lost']} lost, {told['doubled']} doubled, {told['by_hand']} by hand"
    if told["wrong"]:
        counts += f", {told['wrong']} otherwise wrong"
    verdict = "SOMETHING IS WRONG" if not whole.good else "BELOW THE GOAL" if missing else "nothing is wrong"
    print(
        f"{told['killed']:,} kills in {len(whole.parts)} runs of version {told['sources'][:12]}: {counts}, "
        f"{told['looked']} slips and papers looked at; {verdict}"
    )
    if options["json"] is not None:
        options["json"].write_text(
            json.dumps({**told, "missing": missing}, ensure_ascii=False, indent=1) + "\n", "utf-8"
        )
    return int(not whole.good or bool(missing))
