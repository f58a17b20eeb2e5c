"""Events to a receiver over a line that is cut, from a service that is killed: ``python -m tests.hook_chaos``.

Tills sell on several registers of a real service, whose events go to a real receiver. At random moments the receiver
hangs up instead of answering, or the service is killed and started again. A second subscriber is removed on the way.

Afterwards every sale must have come at least once, those of a register first in their order, and the removed
subscriber must have got nothing more; the programs of the documentation in JavaScript and PHP, which run beside it,
must have verified every signature. The exit status is 1 when anything disagrees.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from random import Random
from threading import Event, Lock, Thread
from typing import Any

from dmtwisted.lab.children import HOST, Child, free_port, make_register, scratch_folder, service
from dmtwisted.lab.receiver import Got, Receiver
from dmtwisted.system.environment import environment
from tests.postgres_server import server

REGISTERS = 12
KILLS_OF_CUTS = 20
"""Of so many cuts one is a kill of the service."""
PATIENCE_S = 60.0
PROGRAMS = Path(__file__).parent.parent / "docs" / "programs" / "webhooks"

VERIFIERS = {"node": ("node", "receiver.js"), "php": ("php", "-S", "{host}:{port}", "receiver.php")}


@dataclass
class Score:
    """The results of a run."""

    sold: int = 0
    kills: int = 0
    hung_up: int = 0
    came: int = 0
    again: int = 0
    """Events that came once more."""
    verified: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Verifier:
    """A program of the documentation, which is given every request that came."""

    def __init__(self, name: str, secret: str, score: Score) -> None:
        self.name, self._score = name, score
        self.port = free_port()
        command = [part.format(host=HOST, port=self.port) for part in VERIFIERS[name]]
        told = {**environment(), "PATH": os.environ["PATH"], "PORT": str(self.port), "WEBHOOK_SECRET": secret}
        self._process = subprocess.Popen(
            command, cwd=PROGRAMS, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._queue: SimpleQueue[Got | None] = SimpleQueue()
        self._thread = Thread(target=self._run)
        self._thread.start()

    def give(self, got: Got) -> None:
        """Let it verify a request."""
        self._queue.put(got)

    def stop(self) -> None:
        """End, when it has verified all."""
        self._queue.put(None)
        self._thread.join()
        self._process.kill()
        self._process.wait()

    def _run(self) -> None:
        wire = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_S)
        while (got := self._queue.get()) is not None:
            status = self._ask(wire, got)
            if status == 204:
                self._score.verified[self.name] += 1
            else:
                self._score.wrong.append(f"{self.name} answered {status} to {got.headers.get('webhook-id')}")
        wire.close()

    def _ask(self, wire: http.client.HTTPConnection, got: Got) -> int:
        until = time.monotonic() + PATIENCE_S
        sent = {name: value for name, value in got.headers.items() if name.startswith("webhook-")}
        while True:
            try:
                wire.request("POST", "/", got.body, {"Content-Type": "application/json", **sent})
                answer = wire.getresponse()
                answer.read()
                return answer.status
            except (OSError, http.client.HTTPException):
                wire.close()
                if time.monotonic() > until:
                    return 0
                time.sleep(0.02)


class Chaos:
    """The service, its tills and its receiver.

    :param database: the URL of its database; by default a SQLite file.
    """

    def __init__(self, folder: Path, events: int, cuts: int, seed: int, database: str, held: ExitStack) -> None:
        self.events, self.dice, self.score = events, Random(seed), Score()
        self.kills = cuts // KILLS_OF_CUTS
        self._every = max(events // max(cuts - self.kills, 1), 1)
        self._lock = Lock()
        self._removed, self._removed_at = False, -1
        self._tags: set[str] = set()
        state = folder / "state"
        state.mkdir()
        self.service: Child = service(state, free_port(), database)
        # Beside other work of the machine a start has taken 21 s, 14 of them to import the service.
        self.service.start_patience = PATIENCE_S
        held.callback(self.service.stop)
        self.service.start()
        self.receiver = Receiver(self._came)
        held.callback(self.receiver.stop)
        self.registers = [f"r{n}" for n in range(REGISTERS)]
        for name in self.registers:
            make_register(self.service, name)
        secret = self._subscribe("receiver", "")["secret"]
        self._other = self._subscribe("removed", "removed")["id"]
        self.verifiers = [
            Verifier(name, secret, self.score) for name in VERIFIERS if shutil.which(VERIFIERS[name][0])
        ]
        self._ended = Event()

    def _subscribe(self, name: str, path: str) -> Any:
        wanted = {"name": name, "url": self.receiver.url + path, "allow_local": HOST, "events": ["document.made"]}
        status, body = self.service.ask("POST", "/dm/api/v3/webhooks", wanted)
        assert status == 201, body
        return json.loads(body)

    def _came(self, got: Got) -> bool:
        """Whether the receiver answers."""
        if got.path != "/":
            return True
        tag = got.event["data"]["tag"]
        with self._lock:
            self._tags.add(tag)
            for verifier in self.verifiers:
                verifier.give(got)
            self.score.came += 1
            hung_up = self.score.came % self._every == 0
            self.score.hung_up += hung_up
        return not hung_up

    # Tills

    def sell(self, register: str, count: int) -> None:
        """Sell so often, each sale until it is clear that it was made."""
        wire = http.client.HTTPConnection(HOST, self.service.port, timeout=PATIENCE_S)
        for n in range(count):
            row = {"code": "1", "name": "x", "cnt": 1, "price": 5, "taxgrp": 1}
            receipt = {"sum": 5, "rows": [row], "pays": [{"type": 0, "sum": 5}]}
            fiscal = {"task": 1, "receipt": receipt}
            body = json.dumps({"ver": 6, "device": register, "tag": f"{register}-{n}", "type": 1, "fiscal": fiscal})
            until = time.monotonic() + PATIENCE_S
            while not self._sold(wire, body):
                if time.monotonic() > until:
                    self.score.wrong.append(f"{register}-{n} was not sold")
                    return
                time.sleep(0.05)
            with self._lock:
                self.score.sold += 1

    def _sold(self, wire: http.client.HTTPConnection, body: str) -> bool:
        try:
            wire.request("POST", "/dm/execute", body.encode(), {"Content-Type": "application/json"})
            answer = json.loads(wire.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            wire.close()
            return False
        return bool(answer["res"] == 0)

    # What goes wrong

    def harm(self) -> None:
        """Kill the service again and again; half way remove the second subscriber; never raises."""
        try:
            self._harm()
        except Exception as error:
            self.score.wrong.append(f"the kills ended: {error!r}")

    def _harm(self) -> None:
        each = self.events / (self.kills + 1)
        for kill in range(self.kills):
            while self.score.sold < each * (kill + 1) and not self._ended.wait(0.02):
                self._remove_half_way()
            time.sleep(self.dice.random() * 0.3)
            self.service.kill()
            self.score.kills += 1
            self.service.start()
            self._remove_half_way()
        while not self._ended.wait(0.02):
            self._remove_half_way()

    def _remove_half_way(self) -> None:
        if not self._removed and self.score.sold * 2 >= self.events:
            self._removed = True
            status, body = self.service.ask("DELETE", f"/dm/api/v3/webhooks/{self._other}")
            assert status == 204, body
            # What was on the line may still arrive at the receiver's threads.
            time.sleep(0.5)
            with self.receiver.lock:
                self._removed_at = len(self.receiver.got)

    # The run

    def run(self) -> Score:
        """Sell, harm, wait until nothing comes any more, and judge."""
        counts = [self.events // REGISTERS + (n < self.events % REGISTERS) for n in range(REGISTERS)]
        tills = [
            Thread(target=self.sell, args=(name, count)) for name, count in zip(self.registers, counts, strict=True)
        ]
        harm = Thread(target=self.harm)
        for thread in (*tills, harm):
            thread.start()
        for thread in tills:
            thread.join()
        self._finish()
        self._ended.set()
        harm.join()
        for verifier in self.verifiers:
            verifier.stop()
        self.judge(counts)
        return self.score

    def _finish(self) -> None:
        """Wait until everything came, or nothing comes for a minute."""
        known, since = -1, time.monotonic()
        while time.monotonic() - since < PATIENCE_S:
            tags = len(self._tags)
            if tags >= self.score.sold:
                # One more try of a cut may be under way.
                time.sleep(1)
                return
            if tags != known:
                known, since = tags, time.monotonic()
            time.sleep(0.5)

    def judge(self, counts: list[int]) -> None:
        """Compare what was sold with what came."""
        score, first = self.score, dict[str, list[int]]()
        seen: dict[str, str] = {}
        for place, got in enumerate(self.receiver.got):
            event = got.event
            if got.path != "/":
                if 0 <= self._removed_at <= place:
                    score.wrong.append(f"{event['id']} came to the removed subscriber")
                continue
            if event["id"] in seen:
                score.again += 1
                continue
            tag = seen[event["id"]] = event["data"]["tag"]
            register, _, number = tag.partition("-")
            first.setdefault(register, []).append(int(number))
        for register, count in zip(self.registers, counts, strict=True):
            came = first.get(register, [])
            if came != sorted(came):
                score.wrong.append(f"{register}: not in order")
            if missing := set(range(count)) - set(came):
                score.wrong.append(f"{register}: {len(missing)} of {count} did not come")
            if len(came) > len(set(came)):
                score.wrong.append(f"{register}: one sale under several ids")
        if not self._removed:
            score.wrong.append("the second subscriber was not removed")
        score.wrong += [f"{name} is not here" for name in VERIFIERS if name not in score.verified]


def run(events: int, cuts: int, seed: int, database: str = "") -> Score:
    """One run."""
    with scratch_folder(None) as folder, ExitStack() as held:
        return Chaos(folder, events, cuts, seed, database, held).run()


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.hook_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=100_000, help="how many sales")
    parser.add_argument(
        "--cuts", type=int, default=1000, help="how often the line is cut, kills of the service included"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    database = ""
    if chosen.database == "postgres":
        server().empty("hook_chaos")
        database = server().url("hook_chaos")
    score = run(chosen.events, chosen.cuts, chosen.seed, database)
    print(f"{score.sold} sales, {score.kills} kills, {score.hung_up} times hung up, {chosen.database}")
    verified = ", ".join(f"{name} verified {count}" for name, count in score.verified.items())
    print(f"{score.came} events came, {score.again} of them again; {verified}")
    print(*(f"WRONG: {wrong}" for wrong in score.wrong[:20]), sep="\n")
    print(f"{len(score.wrong)} wrong, {time.monotonic() - begun:.0f} s")
    return int(bool(score.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
