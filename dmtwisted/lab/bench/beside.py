"""The p99 of sales alone and while the service does something else: ``dmtwisted bench beside``.

Tills sell at a constant rate in windows, alone and beside something that is repeated without a pause, in turn. A
sale's time counts from the moment when it was due. A removal cannot be repeated: its windows follow those alone, and
only those count at whose end it still runs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures, Share, columns, quartiles, spread, with_disk
from dmtwisted.lab.bench.history import REGISTERS, tag_of
from dmtwisted.lab.bench.history import fill as fill_history
from dmtwisted.lab.bench.loads import PREFIX, load_on, report_progress
from dmtwisted.lab.bench.removal import ENDED, quiet
from dmtwisted.lab.children import (
    HOME,
    HOST,
    BenchFailed,
    Child,
    environment,
    execute,
    free_port,
    make_register,
    opening_body,
    service,
)
from dmtwisted.lab.receiver import Receiver

Over = Callable[[], float]
"""For how many seconds something was done, if it has ended by itself; else 0."""

Beside = Callable[[Child, int], AbstractContextManager[Over]]
"""Do something else within a block, to a service with so many receipts."""

Window = Callable[[str], float]
"""The p99 of the sales of one window in ms; the text begins their tags."""

YEAR = 365 * 86400

SPARE = 1.5
"""How many times longer a removal should take than the windows beside it."""


@dataclass(frozen=True)
class Row:
    """The p99 of sales alone and beside something, and the second in relation to the first."""

    what: str
    alone_ms: float
    beside_ms: float
    ratio: Share
    """Between its quartiles."""


def row_of(what: str, alone: Sequence[float], beside: Sequence[float]) -> Row:
    """The row of the p99 of each round; ratios are taken within a round."""
    ratios = [busy / free for free, busy in zip(alone, beside, strict=True)]
    return Row(what, median(alone), median(beside), quartiles(ratios))


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [["sales beside", "p99 alone, ms", "p99 beside, ms", "beside to alone (quartiles)"]]
    lines += [[row.what, f"{row.alone_ms:.1f}", f"{row.beside_ms:.1f}", spread(row.ratio)] for row in rows]
    return columns(lines)


def never() -> float:
    """It does not end by itself."""
    return 0.0


@contextmanager
def repeated(work: Callable[[], None]) -> Iterator[Over]:
    """Repeat ``work`` in a thread until the end of the block.

    :raises BenchFailed: when it failed, or was not done once.
    """
    over, done, failures = threading.Event(), [0], list[Exception]()

    def repeat() -> None:
        try:
            while not over.is_set():
                work()
                done[0] += 1
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield never
    finally:
        over.set()
        thread.join()
    if failures:
        raise BenchFailed(f"what was done beside the sales failed: {failures[0]}") from failures[0]


@contextmanager
def attacks(child: Child, receipts: int) -> Iterator[Over]:
    """The attacks of ``make attacks``, from a process of their own."""
    if not (HOME / "tests" / "attacks").is_dir():
        raise BenchFailed("the attacks are part of the source tree (tests/attacks), which is missing here")
    command = [sys.executable, "-m", "tests.attacks.sales", "--port", str(child.port)]
    attacker = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL)
    try:
        yield never
        if attacker.poll() is not None:
            raise BenchFailed("the attacks ended")
    finally:
        attacker.kill()
        attacker.wait()


def backup(child: Child, receipts: int) -> AbstractContextManager[Over]:
    """Backups, one after the other."""

    def work() -> None:
        _expect(child, "POST", "/dm/api/v3/backups", 202)
        while (found := json.loads(_expect(child, "GET", "/dm/api/v3/backups", 200)))["running"]:
            time.sleep(0.1)
        if found["error"]:
            raise BenchFailed(found["error"])

    return repeated(work)


def report(child: Child, receipts: int) -> AbstractContextManager[Over]:
    """A year of all registers as the accountant's file, and a summary of a year on one register."""
    now = time.time()
    first, last = (time.strftime("%Y%m%d", time.localtime(at)) for at in (now - YEAR, now))
    fiscal = {"task": 13, "dt_from": first, "dt_to": last}

    def work() -> None:
        _expect(child, "GET", f"/dm/api/v3/accounts?from={first}&to={last}", 200)
        execute(child, json.dumps({"ver": 6, "device": "history-0", "type": 1, "fiscal": fiscal}))

    return repeated(work)


def forms(child: Child, receipts: int) -> AbstractContextManager[Over]:
    """Receipts of the history as text, picture and PDF."""
    dice = random.Random(1)

    def work() -> None:
        n = dice.randrange(receipts)
        asked = {"ver": 6, "device": f"history-{n % REGISTERS}", "type": 0, "tag": tag_of(n % REGISTERS, n)}
        wishes = dict.fromkeys(("need_pf_txt", "need_pf_img", "need_pf_pdf"), 2)
        if b'"pf_pdf":"data:' not in execute(child, json.dumps({**asked, **wishes})):
            raise BenchFailed("a print form is missing")

    return repeated(work)


@contextmanager
def removal(child: Child, receipts: int) -> Iterator[Over]:
    """The removal of what is too old."""
    logged = len(child.log_text())
    _expect(child, "PUT", "/dm/api/v3/training/clock", 200, {"offset_s": 0})

    def over() -> float:
        ended = ENDED.search(child.log_text()[logged:])
        return max(float(ended[2]), 1.0) if ended else 0.0

    yield over


@contextmanager
def subscribers(child: Child, receipts: int) -> Iterator[Over]:
    """Ten subscribers of every event: five take five seconds for each, five are not there."""
    gone, made = threading.Event(), list[str]()
    receiver = Receiver(lambda got: not gone.wait(SLOW_S))
    try:
        for n in range(SUBSCRIBERS):
            url = receiver.url if n % 2 else f"http://{HOST}:{free_port()}/"
            wanted = {"name": f"subscriber {n}", "url": url, "allow_local": HOST}
            made.append(json.loads(_expect(child, "POST", WEBHOOKS, 201, wanted))["id"])
        yield never
    finally:
        gone.set()
        for subscriber in made:
            _expect(child, "DELETE", f"{WEBHOOKS}/{subscriber}", 204)
        receiver.stop()


WEBHOOKS = "/dm/api/v3/webhooks"
SUBSCRIBERS, SLOW_S = 10, 5.0

ALL: dict[str, Beside] = {
    "attacks": attacks,
    "backup": backup,
    "report": report,
    "forms": forms,
    "subscribers": subscribers,
    "removal": removal,
}


def _expect(child: Child, method: str, path: str, wanted: int, body: object = None) -> bytes:
    status, answer = child.ask(method, path, body)
    if status != wanted:
        raise BenchFailed(f"{method} {path}: {status} {answer[:300]!r}")
    return answer


def in_turns(what: str, block: Callable[[], AbstractContextManager[Over]], window: Window, rounds: int) -> Row:
    """Measure alone and within the ``block`` in each round, in turn first."""
    alone, beside = [], []
    for n in range(rounds):
        if n % 2 == 0:
            alone.append(window(f"alone-{what}-{n}"))
        with block():
            beside.append(window(f"beside-{what}-{n}"))
        if n % 2:
            alone.append(window(f"alone-{what}-{n}"))
    return row_of(what, alone, beside)


def once(
    what: str,
    block: Callable[[], AbstractContextManager[Over]],
    window: Window,
    rounds: int,
    receipts: int,
    tell: Callable[[str], None],
) -> Row:
    """Measure alone, then within the ``block`` as long as what is done there goes on.

    :raises BenchFailed: when it ends within the first window.
    """
    alone = [window(f"alone-{what}-{n}") for n in range(rounds)]
    beside: list[float] = []
    with block() as over:
        begun = time.monotonic()
        while len(beside) < rounds:
            found = window(f"beside-{what}-{len(beside)}")
            if lasted := over():
                each = (time.monotonic() - begun) / (len(beside) + 1)
                needed = receipts * rounds * each * SPARE / lasted
                said = f"the {what} ended after {lasted:.0f} s: all rounds need --receipts {ceil(needed / 1000)}000"
                if not beside:
                    raise BenchFailed(said)
                tell(said)
                break
            beside.append(found)
    return row_of(what, alone[: len(beside)], beside)


def beside_report(folder: Path, chosen: Any, tell: Callable[[str], None]) -> list[Row]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale, or what is done beside it, fails.
    """
    tills, receipts, names = chosen["tills"], chosen["receipts"], sorted(chosen["what"], key=[*ALL].index)
    state = folder / "state"
    state.mkdir()
    tell(f"filling {receipts} receipts")
    fill_history(state, receipts)
    rows = []
    with service(state, free_port()) as child:
        for n in range(tills):
            make_register(child, f"{PREFIX}{n}")
        execute(child, opening_body("test"))  # the register that the attackers ask for
        quiet(child)

        def window(salt: str) -> float:
            return load_on(child, tills, chosen["seconds"], salt, "--rate", str(chosen["rate"])).p99_ms

        window("warm-up")
        for name in names:
            tell(f"{tills} tills alone and beside: {name}")
            block, rounds = partial(ALL[name], child, receipts), chosen["rounds"]
            row = (
                once(name, block, window, rounds, receipts, tell)
                if name == "removal"
                else in_turns(name, block, window, rounds)
            )
            tell(f"they had a p99 of {row.alone_ms:.1f} ms alone and {row.beside_ms:.1f} ms beside")
            rows.append(row)
    return rows


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench beside``."""
    rows = beside_report(folder, chosen, report_progress)
    return with_disk(folder, rows, table(rows))
