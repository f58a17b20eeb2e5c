"""Kill the service with ``kill -9`` under `dmtwisted.client`, and count what the tax service and the bank have.

``python -m tests.crash.kill_clients --rounds 100 --seed 7`` runs the real service in training mode. Four cashiers
sell on two registers, one takes payments on the terminal, all by the client's plain calls; they know nothing of what
goes on. After a random time the service is killed and started again, and so on. In the end each call has to have
brought an answer, each tag one receipt in the ledger of its register, each payment one in the ledger of the bank; and
each call repeated with its key has to bring the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater, react
from twisted.internet.threads import deferToThread

from dmtwisted.client import Answer, Client, Unknown, cash, row
from dmtwisted.lab.children import Child, free_port, make_register, service

REGISTERS = ("till-1", "till-2")
CASHIERS = 4

PATIENCE = 60.0
"""Seconds in which every call has to end, kills and restarts included."""


@dataclass
class Count:
    """What was asked for and answered."""

    sold: dict[str, tuple[str, str, Decimal]] = field(default_factory=dict)
    """By tag: register, fiscal number, sum."""
    paid: dict[str, tuple[str, Decimal]] = field(default_factory=dict)
    """By transaction_id: RRN, sum."""
    repeated: int = 0
    """Answers of something that an earlier try had done."""
    unclear: int = 0
    """Calls that had to be made again: the service was killed for longer than they went on."""


class Shop:
    """Cashiers that continue until `stop` is set."""

    def __init__(self, clock: Any, port: int, seed: int) -> None:
        self._clock = clock
        self._url = f"http://127.0.0.1:{port}"
        self._dice = random.Random(seed)
        self.open = True
        self.count = Count()

    def client(self) -> Client:
        """A client as any program makes one."""
        return Client(self._url, "kill_clients", patience=PATIENCE, clock=self._clock)

    async def _clear(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer to a call that is made again with its key when it was not clear, as any program does."""
        while True:
            try:
                return await ask()
            except Unknown:
                self.count.unclear += 1

    async def sell(self, name: str, register: str) -> None:
        """One cashier."""
        client, n = self.client(), 0
        while self.open:
            n += 1
            tag, amount = f"{name}-{n}", Decimal(self._dice.randint(1, 99999)) / 100
            rows, pays = [row("Хліб", amount, taxgrp=1)], [cash(amount)]
            sold = await self._clear(partial(client.sell, register, rows, pays, tag=tag, cashier=name))
            self.count.sold[tag] = (register, sold.fiscal_number, amount)
            self.count.repeated += sold.repeated

    async def pay(self) -> None:
        """The one at the terminal."""
        client = self.client()
        while self.open:
            key = str(UUID(int=self._dice.getrandbits(128), version=4))
            amount = Decimal(self._dice.randint(100, 9999)) / 100
            paid = await self._clear(partial(client.pay, "pos", amount, transaction_id=key))
            self.count.paid[key] = (paid.info["refundid"], amount)
            self.count.repeated += paid.repeated

    async def check(self) -> list[str]:
        """Each call once more with its key: what is not the same now."""
        client, wrong = self.client(), []
        for tag, (register, number, _) in self.count.sold.items():
            found = await client.look_up(register, tag)
            if found is None or found.fiscal_number != number:
                wrong.append(f"the tag {tag} is not {number} now")
        for key, (rrn, amount) in self.count.paid.items():
            again = await client.pay("pos", amount, transaction_id=key)
            if not again.repeated or again.info["refundid"] != rrn:
                wrong.append(f"the payment {key} is not {rrn} now")
        return wrong


async def rounds(reactor: Any, folder: Path, count: int, seed: int) -> tuple[Count, list[str]]:
    """Kill the service ``count`` times; what was done, and what is wrong."""
    port = free_port()
    child = service(folder / "state", port)
    dice = random.Random(seed)
    try:
        await deferToThread(child.start)
        ids = {}
        for name in REGISTERS:
            ids[name] = await deferToThread(make_register, child, name)
        shop = Shop(reactor, port, seed)
        calls = [shop.sell(f"cashier-{n}", REGISTERS[n % len(REGISTERS)]) for n in range(CASHIERS)]
        working = gatherResults([Deferred.fromCoroutine(call) for call in [*calls, shop.pay()]], consumeErrors=True)
        for _ in range(count):
            await deferLater(reactor, dice.uniform(0.2, 2.5))
            os.kill(child.pid, 9)
            await deferToThread(child.kill)
            await deferToThread(child.start)
        await deferLater(reactor, 0.5)
        shop.open = False
        await working.addTimeout(PATIENCE, reactor)
        wrong = await shop.check()
        wrong += await deferToThread(compare, child, ids, shop.count)
        return shop.count, wrong
    finally:
        await deferToThread(child.stop)


def compare(child: Child, ids: dict[str, str], count: Count) -> list[str]:
    """Compare the ledgers of tax service and bank with the answers to the cashiers."""
    wrong = []
    for name, dev_id in ids.items():
        taken = ledger(child, dev_id, "sale")
        told = Counter(
            (number, int(total * 100)) for register, number, total in count.sold.values() if register == name
        )
        wrong += differences(name, taken, told)
    devices = json.loads(child.ask("GET", "/dm/api/v3/devices")[1])["devices"]
    [pos] = [device["dev_id"] for device in devices if device["device"] == "pos"]
    taken = ledger(child, pos, "payment")
    told = Counter((rrn, int(total * 100)) for rrn, total in count.paid.values())
    return wrong + differences("pos", taken, told)


def differences(name: str, taken: Counter[tuple[str, int]], told: Counter[tuple[str, int]]) -> list[str]:
    """Entries of a ledger that differ from the answers, or that it has more than once."""
    return [
        f"{name}: {one} is {taken[one]} times in the ledger and was told {told[one]} times"
        for one in {*taken, *told}
        if (taken[one], told[one]) != (1, 1)
    ]


def ledger(child: Child, dev_id: str, kind: str) -> Counter[tuple[str, int]]:
    """The accepted entries of a kind: number and sum in kopecks."""
    entries = json.loads(child.ask("GET", f"/dm/api/v3/devices/{dev_id}/ledger")[1])["entries"]
    return Counter(
        (entry["number"], entry["sum"]) for entry in entries if (entry["kind"], entry["status"]) == (kind, "accepted")
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rounds and tell how it went; the exit status says whether all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-clients-"))
    wrong: list[str] = []

    async def play(reactor: Any) -> None:
        count, found = await rounds(reactor, folder, asked.rounds, asked.seed)
        wrong.extend(found)
        print(
            f"{asked.rounds} kills: {len(count.sold)} sales and {len(count.paid)} payments answered, "
            f"{count.repeated} of them by a repeat, {count.unclear} calls made again; wrong: {len(found)}"
        )
        for sentence in found:
            print(f"  {sentence}")

    try:
        react(lambda reactor: Deferred.fromCoroutine(play(reactor)))
    except SystemExit as ended:
        if ended.code:
            return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
