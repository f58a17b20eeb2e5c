"""Kill the service with ``kill -9`` during batches, and compare the records of terminal and tax service.

``python -m tests.crash.kill_batches --rounds 40 --seed 7`` runs the real service in training mode. A till sells by
card in batch mode. The terminal or the tax service sometimes loses an answer, and at some moment of a sale, from its
first millisecond to shortly after its end, the service is killed. It starts again, and the till repeats the same
tag until the answer is a success, or says that nothing was paid. Then the ledgers are compared with the answers that
the till got: a successful sale has one payment and one receipt, a refused one has neither, and no operation in the
journal is unfinished. The same seed gives the same plan.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmtwisted.lab.children import BenchFailed, Child, NotStarted, ended_by_signals, free_port, service

FAULTS: tuple[tuple[str, str, str, str], ...] = (
    ("", "", "", ""),
    ("pos", "payment", "lost_after", ""),
    ("pos", "payment", "lost_before", ""),
    ("pos", "cancel", "lost_after", ""),
    ("test", "sale", "lost_after", ""),
    ("test", "sale", "lost_before", ""),
    ("test", "sale", "refuse", "1102"),
)
"""Faults beside the kill: device, operation, outcome, code; the first is no fault."""

ANSWER_PATIENCE = 60.0
"""The longest time of a sale until its final answer, in seconds, with the restart."""

OPERATION = 0.15
"""The time of the simulated customer, in seconds."""


@dataclass(frozen=True)
class Round:
    """A fault, and the second of the sale at which the service is killed."""

    fault: tuple[str, str, str, str]
    after: float


def plan(seed: int, rounds: int) -> list[Round]:
    """The same rounds for the same seed."""
    dice = random.Random(seed)
    return [Round(dice.choice(FAULTS), dice.uniform(0.001, 0.45)) for _ in range(rounds)]


def compare(done: dict[int, bool], ledger: Sequence[dict[str, Any]], receipts: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong, as sentences.

    :param done: whether the till's final answer was a success, by kopecks, which differ in each sale.
    :param ledger: what the terminal did.
    :param receipts: what the tax service accepted.
    """
    accepted = [entry for entry in ledger if entry["status"] == "accepted"]
    back = Counter(entry["ref"] for entry in accepted if entry["kind"] == "cancel")
    held = Counter(entry["sum"] for entry in accepted if entry["kind"] == "payment" and not back[entry["number"]])
    sold = Counter(entry["sum"] for entry in receipts if (entry["kind"], entry["status"]) == ("sale", "accepted"))
    found = [f"the payment {number} was taken back {times} times" for number, times in back.items() if times > 1]
    for kopecks, success in done.items():
        ends = held[kopecks], sold[kopecks]
        if ends != ((1, 1) if success else (0, 0)):
            outcome = "success" if success else "a refusal"
            found.append(f"{kopecks}: {ends[0]} payments and {ends[1]} receipts, and the till got {outcome}")
    found += [f"{kopecks}: no till sold this" for kopecks in {*held, *sold} - set(done)]
    return found


class Kills:
    """A service and a till; the service is killed in each sale."""

    def __init__(self, state: Path) -> None:
        self.answered: dict[int, bool] = {}
        self.repeats = 0
        self._service = service(state, free_port())
        self._ids: dict[str, str] = {}

    def __enter__(self) -> Kills:
        self._service.start()
        try:
            for device in self._json("GET", "/dm/api/v3/devices")["devices"]:
                self._ids[device["device"]] = device["dev_id"]
            self._settings("pos", operation_s=OPERATION)
            self._settings("test", batch={"terminal": "pos"})
            self._json("POST", "/dm/execute", {"device": "test", "type": 1, "fiscal": {"task": 0}})
        except BaseException:
            self._service.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._service.stop()

    def play(self, n: int, turn: Round) -> None:
        """One sale, one kill, and repeats until the final answer.

        :raises BenchFailed: when there is none.
        """
        device, on, then, code = turn.fault
        if device:
            rules = {"rules": [{"on": on, "then": then, "code": code}]}
            self._json("PUT", f"/dm/api/v3/devices/{self._ids[device]}/scenario", rules)
        kopecks = 1000 + n
        body = _sale(f"batch-{n}", kopecks)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(self._ask, body)
            time.sleep(turn.after)
            self._service.kill()
            answer = asked.result()
        self._service.start()
        deadline = time.monotonic() + ANSWER_PATIENCE
        # An answer before the kill counts too; a repeat must not contradict it.
        while answer is None or answer["res_action"] in (1, 2):
            if time.monotonic() > deadline:
                raise BenchFailed(f"{kopecks} had no end in {ANSWER_PATIENCE:.0f} s: {answer}")
            self.repeats += 1
            answer = self._ask(body)
            time.sleep(0.05)
        self.answered[kopecks] = answer["res"] == 0

    def judge(self) -> list[str]:
        """What is wrong in the records."""
        pos, test = (self._json("GET", f"/dm/api/v3/devices/{self._ids[name]}/ledger") for name in ("pos", "test"))
        found = compare(self.answered, pos["entries"], test["entries"])
        unfinished = self._json("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        return found + [f"{row['kind']} {row['key']} is unfinished" for row in unfinished]

    def _ask(self, body: dict[str, object]) -> dict[str, Any] | None:
        with suppress(OSError, http.client.HTTPException):
            answer: dict[str, Any] = self._json("POST", "/dm/execute-pkg", body)
            return answer
        return None

    def _settings(self, name: str, **settings: object) -> None:
        self._json("PATCH", f"/dm/api/v3/devices/{self._ids[name]}", {"settings": settings})

    def _json(self, method: str, path: str, body: object = None) -> Any:
        child: Child = self._service
        status, answer = child.ask(method, path, body)
        if status != 200:
            raise BenchFailed(f"{method} {path}: status {status}: {answer[:300]!r}")
        return json.loads(answer)


def _sale(tag: str, kopecks: int) -> dict[str, object]:
    amount = kopecks / 100
    row = {"code": "1", "name": "Хліб", "cnt": 1, "price": amount, "taxgrp": 1}
    receipt = {"sum": amount, "rows": [row], "pays": [{"type": 2, "sum": amount}]}
    fiscal = {"task": 1, "receipt": receipt}
    return {"ver": 6, "device": "test", "tag": tag, "type": 1, "skipprint": True, "fiscal": fiscal}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds; 0 when no payment and no receipt is lost, doubled or without the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.kill_batches", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", help="make the temporary folder in this one")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-batches-", dir=options.state)).resolve()
    state = folder / "state"
    state.mkdir()
    try:
        with ended_by_signals(), Kills(state) as kills:
            for n, turn in enumerate(plan(options.seed, options.rounds)):
                kills.play(n, turn)
            found = kills.judge()
            done = sum(kills.answered.values())
            print(f"{len(kills.answered)} sales, {done} done, {kills.repeats} repeats")
    except (NotStarted, BenchFailed, OSError, http.client.HTTPException) as error:
        found = [str(error)]
    for sentence in found[:20]:
        print(sentence)
    if found:
        print(f"the state folder and the log stay in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
        print("no payment and no receipt is lost, doubled or alone")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
