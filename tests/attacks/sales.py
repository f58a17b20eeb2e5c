"""``python -m tests.attacks.sales``: what a sale costs alone and beside attacks, in turns, and that none is lost.

One till sells on one connection; in every second stretch of time a second process tries the attacks of HTTP without a
pause. Both figures come from one run, so whatever else the machine does meets both.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import socket
import sys
import time
from collections import Counter
from itertools import cycle
from multiprocessing.synchronize import Event
from types import SimpleNamespace
from typing import Any

from tests.attacks.desk import ProcessDesk
from tests.attacks.every import FAMILIES
from tests.attacks.variants import Stage
from tests.test_service_process import HOST
from tests.web_case import EXECUTE, sale

Counted = Any
"""A number that processes share."""

RATE = 50
"""Sales a second, more than any till makes."""

BUSY = 1105

Sale = tuple[float, str]
"""The seconds of a sale, and the attack that was under way at its end."""

EVERY = [each for family in FAMILIES for each in family if each.stage is Stage.OPEN]
"""What is tried meanwhile: all that needs no service of its own."""


def attack(port: int, go: Event, tried: Counted) -> None:
    """Try the attacks one after the other while ``go`` is set; what comes of them is looked at elsewhere."""
    desk = object.__new__(ProcessDesk)
    desk.host, desk.key = f"localhost:{port}", ("x-none", "")
    desk.sold, desk._tags = 0, 1_000_000
    desk.connect = lambda source="": socket.create_connection((HOST, port), 5)  # type: ignore[method-assign]
    for each in cycle(EVERY):
        go.wait()
        with contextlib.suppress(Exception):
            each.attempt(desk)
        tried.value += 1


def sell(desk: ProcessDesk, line: http.client.HTTPConnection, tag: str) -> float:
    """The seconds of one sale, with the repeats that 1105 asks for: an attacker's task may have the register."""
    begun, answer = time.perf_counter(), {"res": BUSY}
    while answer["res"] == BUSY:
        line.request("POST", EXECUTE, json.dumps(sale(tag)), {"Content-Type": "application/json"})
        answer = json.loads(line.getresponse().read())
    taken = time.perf_counter() - begun
    assert answer["res"] == 0, answer
    return taken


def measure(rounds: int, seconds: float) -> tuple[list[Sale], list[Sale], int, int]:
    """The times of sales alone and beside attacks, how many sales are missing in the ledger, and the attacks."""
    desk = ProcessDesk(Stage.PROCESS)
    go = multiprocessing.get_context("spawn").Event()
    tried: Counted = multiprocessing.get_context("spawn").Value("i")
    attacker = multiprocessing.get_context("spawn").Process(
        target=attack, args=(desk.service.port, go, tried), daemon=True
    )
    times: tuple[list[Sale], list[Sale]] = ([], [])
    tags: list[str] = []
    try:
        attacker.start()
        line = http.client.HTTPConnection(HOST, desk.service.port, timeout=60)
        line.connect()
        line.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(2 * rounds):
            beside = number % 2
            (go.set if beside else go.clear)()
            # What was under way when the attacks paused belongs to neither.
            time.sleep(0.5)
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                tags.append(f"sale-{len(tags)}")
                taken = sell(desk, line, tags[-1])
                times[beside].append((taken, EVERY[tried.value % len(EVERY)].id))
                time.sleep(max(0.0, 1 / RATE - taken))
        go.clear()
        line.close()
        attacker.terminate()
        return *times, lost(desk, tags), tried.value
    finally:
        attacker.terminate()
        desk.close()


def lost(desk: ProcessDesk, tags: list[str]) -> int:
    """How many sales the journal does not know, or the tax service does not have exactly once."""
    taken = Counter(entry["number"] for entry in desk.entries())
    found = [desk.execute({"device": "test", "tag": tag}) for tag in tags]
    numbers = [answer["info"]["doccode"] if answer["res"] == 0 else "" for answer in found]
    assert len(set(numbers)) == len(tags), "two sales have one number"
    return sum(taken[number] != 1 for number in numbers)


def percentile(sales: list[Sale], share: float) -> float:
    """The seconds that ``share`` of them do not exceed."""
    return sorted(sales)[min(len(sales) - 1, int(len(sales) * share))][0]


def main() -> None:
    """Measure, and fail when a sale is lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.sales", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each half of a round")
    parser.add_argument("--port", type=int, help="only attack the service at this port, until this process is ended")
    options = parser.parse_args()
    if options.port:
        go = multiprocessing.Event()
        go.set()
        attack(options.port, go, SimpleNamespace(value=0))
    alone, beside, missing, tried = measure(options.rounds, options.seconds)
    for name, values in (("alone", alone), ("beside attacks", beside)):
        print(
            f"{name}: {len(values)} sales, p50 {percentile(values, 0.5) * 1000:.1f} ms, "
            f"p99 {percentile(values, 0.99) * 1000:.1f} ms, longest {max(values)[0] * 1000:.1f} ms"
        )
    print("slowest beside:", ", ".join(f"{name} {taken * 1000:.0f} ms" for taken, name in sorted(beside)[-8:]))
    ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    print(f"{tried} attacks; p99 beside them is {ratio:.2f} of p99 alone; {missing} sales lost")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
