"""Fuzz all targets for a share of the time: ``python -m tests.fuzz.run --seconds 3600`` or ``make fuzz``.

The seconds are the sum over all processes: with 60 targets and an hour each gets a minute, and two processors need
half an hour. New inputs stay in ``--out``, and the next run continues from them. The exit status is 1 when a target
found something; the output then says how to run the input again, which is in ``--out`` under ``found/``. ``--keep``
adds inputs that reach new lines to the committed corpus.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from signal import SIGTERM

from dmtwisted.lab.children import HOME, ended_by_signals
from tests.fuzz.target import CORPUS, Target
from tests.fuzz.targets import every, named

HANG = 25
"""An input that takes so many seconds counts as endless; the target itself may use one second of processor time."""

_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_STATE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/(\d+)(Kb|Mb|b)")
_FOUND = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Result:
    """The result of one target.

    :param ways: branches that its inputs reach, with their counts, by libFuzzer's counting.
    :param inputs: how many inputs it needs for that.
    :param found: files of inputs that broke a promise.
    """

    name: str
    seconds: float
    executions: int
    ways: int
    inputs: int
    found: list[str] = field(default_factory=list)
    why: str = ""


def read_output(name: str, seconds: float, said: str, status: int) -> Result:
    """Read libFuzzer's output for a target that has ended."""
    executed, states, found = _EXECUTED.findall(said), _STATE.findall(said), _FOUND.findall(said)
    why = ""
    if status in (0, -SIGTERM):
        # It ended by itself or was stopped. Slow inputs, as on a busy machine, are written too.
        found = []
    elif not found:
        found = ["(no input)"]
    if found:
        lines = [line for line in said.splitlines() if line.strip()] or ["it said nothing"]
        why = next((line.strip() for line in reversed(lines) if "Error" in line or "Broken" in line), lines[-1][:300])
    last = states[-1] if states else ("0", "0", "0")
    return Result(name, seconds, int(executed[-1]) if executed else 0, int(last[1]), int(last[2]), found, why[:300])


def words(tokens: Iterable[bytes]) -> str:
    """A dictionary in libFuzzer's format."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in tokens)


def fuzz(
    module: str, target: Target, seconds: int, out: Path, seed: int, under_way: list[subprocess.Popen[bytes]]
) -> Result:
    """Fuzz one target in its own process, which is in ``under_way`` while it runs."""
    grown = out / "corpus" / target.name
    seeds, found = out / "seeds" / target.name, out / "found"
    for folder in (grown, seeds, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds):
        (seeds / f"seed-{number:03}").write_bytes(data[: target.longest])
    dictionary = out / f"{target.name}.dict"
    dictionary.write_text(words(target.tokens), "utf-8")
    command = [
        *(sys.executable, "-m", "tests.fuzz.one", f"{module}/{target.name}"),
        *(f"-max_total_time={seconds}", f"-max_len={target.longest}", f"-timeout={HANG}", f"-seed={seed}"),
        *("-print_final_stats=1", "-report_slow_units=1000", f"-artifact_prefix={found}/{target.name}-"),
        *([f"-dict={dictionary}"] if target.tokens else []),
        *(str(grown), str(seeds)),
    ]
    if (CORPUS / target.name).is_dir():
        command.append(str(CORPUS / target.name))
    log = out / f"{target.name}.log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(command, cwd=HOME, stdout=stream, stderr=subprocess.STDOUT) as own,
    ):
        under_way.append(own)
        try:
            status = own.wait()
        finally:
            under_way.remove(own)
    return read_output(target.name, seconds, log.read_text("utf-8", "replace"), status)


def table(results: Sequence[Result]) -> str:
    """The results as text."""
    lines = [f"{'target':22} {'executions':>12} {'ways':>7} {'inputs':>7}  found"]
    lines += [
        f"{each.name:22} {each.executions:12,} {each.ways:7,} {each.inputs:7,}  {', '.join(each.found) or '-'}"
        for each in results
    ]
    broken = [each for each in results if each.found]
    lines.append(
        f"{len(results)} targets, {sum(each.seconds for each in results):,.0f} s, "
        f"{sum(each.executions for each in results):,} executions, {sum(each.inputs for each in results):,} inputs, "
        f"{len(broken)} with a finding"
    )
    for each in broken:
        lines.append(f"{each.name}: {each.why}")
        lines += [f"  again: python -m tests.fuzz.replay {each.name} {file}" for file in each.found]
    return "\n".join(lines)


def run(
    names: Sequence[str], seconds: int, jobs: int, out: Path, seed: int, say: Callable[[str], None]
) -> list[Result]:
    """Fuzz the targets with these names, or all targets, for so many seconds in total."""
    wanted = [(module, target) for module, target in every() if not names or target.name in names]
    share = max(1, seconds // max(1, len(wanted)))
    results: list[Result] = []
    under_way: list[subprocess.Popen[bytes]] = []

    def work(each: tuple[str, Target]) -> None:
        done = fuzz(*each, share, out, seed, under_way)
        results.append(done)
        found = ", FOUND" if done.found else ""
        say(f"[{len(results)}/{len(wanted)}] {done.name}: {done.executions:,} executions{found}")

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for each in [pool.submit(work, each) for each in wanted]:
                each.result()
        except BaseException:
            # Interrupted: waiting targets do not start, and running ones stop at once.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in under_way[:]:
                process.terminate()
            raise
    return sorted(results, key=lambda each: each.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz and print the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=int, default=600, help="of all processes together")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--out", type=Path, default=HOME / "var" / "fuzz", help="where everything is kept")
    parser.add_argument("--seed", type=int, default=0, help="of the fuzzer; 0: another one each time")
    parser.add_argument("--keep", action="store_true", help="take what is new into the committed corpus, and end")
    parser.add_argument("targets", nargs="*", help="names; every target when there are none")
    asked = parser.parse_args(arguments)
    if asked.keep:
        from tests.fuzz.keeping import keep

        keep([named(name) for name in asked.targets] or [target for _, target in every()], asked.out / "corpus")
        return 0
    if find_spec("atheris") is None:
        print("atheris is not installed: pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    asked.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(asked.out / "seeds", ignore_errors=True)
    with ended_by_signals():
        results = run(asked.targets, asked.seconds, asked.jobs, asked.out, asked.seed, partial(print, flush=True))
    (asked.out / "results.json").write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n", "utf-8")
    print(table(results))
    return 1 if any(each.found for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
