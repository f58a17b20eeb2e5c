"""Kill the service with ``kill -9`` in the middle of batches, and count what terminal and tax service hold.

``python -m tests.crash.kill_batches --rounds 40 --seed 7`` runs the real service in training mode. A till sells by
card in batch mode; the terminal or the tax service loses an answer now and then, and at some moment of a sale, from
its first millisecond to a little after its end, the service is killed. It starts again and the till repeats the same
tag until it has an answer that says success, or that nothing was paid. Then the ledgers are compared with what the
till was told: a sale that was answered has one payment and one receipt, one that was refused has neither, and nothing
stands open in the journal. The same seed gives the same plan.
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
"""What goes wrong besides the kill: device, operation, what becomes of it, code; the first is nothing."""

ANSWER_PATIENCE = 60.0
"""Seconds in which every sale has to come to its end, the restart included."""

OPERATION = 0.15
"""Seconds that the simulated customer takes."""


@dataclass(frozen=True)
class Round:
    """A fault, and the second of the sale at which the service dies."""

    fault: tuple[str, str, str, str]
    after: float


def plan(seed: int, rounds: int) -> list[Round]:
    """The same rounds for the same seed."""
    dice = random.Random(seed)
    return [Round(dice.choice(FAULTS), dice.uniform(0.001, 0.45)) for _ in range(rounds)]


def compare(told: dict[int, bool], ledger: Sequence[dict[str, Any]], receipts: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong, in sentences.

    :param told: by the kopecks of each sale, which are its own, whether its till heard of success.
    :param ledger: what the terminal did.
    :param receipts: what the tax service took.
    """
    accepted = [entry for entry in ledger if entry["status"] == "accepted"]
    back = Counter(entry["ref"] for entry in accepted if entry["kind"] == "cancel")
    held = Counter(entry["sum"] for entry in accepted if entry["kind"] == "payment" and not back[entry["number"]])
    sold = Counter(entry["sum"] for entry in receipts if (entry["kind"], entry["status"]) == ("sale", "accepted"))
    found = [f"the payment {number} was taken back {times} times" for number, times in back.items() if times > 1]
    for kopecks, success in told.items():
        ends = held[kopecks], sold[kopecks]
        if ends != ((1, 1) if success else (0, 0)):
            heard = "success" if success else "a refusal"
            found.append(f"{kopecks}: {ends[0]} payments and {ends[1]} receipts, and the till heard of {heard}")
    found += [f"{kopecks}: nobody sold this" for kopecks in {*held, *sold} - set(told)]
    return found


class Kills:
    """A service, a till, and the kills."""

    def __init__(self, state: Path) -> None:
        self.told: dict[int, bool] = {}
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
        """One sale, one kill, and repeats until it has an end.

        :raises BenchFailed: when it never has one.
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
        # An answer that came in time counts as well; the repeat must not say anything else.
        while answer is None or answer["res_action"] in (1, 2):
            if time.monotonic() > deadline:
                raise BenchFailed(f"{kopecks} had no end in {ANSWER_PATIENCE:.0f} s: {answer}")
            self.repeats += 1
            answer = self._ask(body)
            time.sleep(0.05)
        self.told[kopecks] = answer["res"] == 0

    def judge(self) -> list[str]:
        """What is wrong in the books."""
        pos, test = (self._json("GET", f"/dm/api/v3/devices/{self._ids[name]}/ledger") for name in ("pos", "test"))
        found = compare(self.told, pos["entries"], test["entries"])
        unfinished = self._json("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        return found + [f"{row['kind']} {row['key']} stands open" for row in unfinished]

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
    """Play the rounds; 0 when no payment and no receipt is lost, doubled or alone."""
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
            done = sum(kills.told.values())
            print(f"{len(kills.told)} sales, {done} done, {kills.repeats} repeats")
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
