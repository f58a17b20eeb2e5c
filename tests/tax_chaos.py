"""Receipts with faults at the tax service: ``python -m tests.tax_chaos --receipts 5000 --seed 1 --protocol b``.

Each receipt goes through the real dispatcher, engine, channel and signatures to the simulated fiscal server, in
memory and on a simulated clock. A seed decides which faults occur: documents and answers are lost; answers are cut,
garbled, wrongly signed or 5xx; the connection is down for a while; the server's clock is wrong, the register is
blocked; the store fails, the service is killed in the middle of a write. Half of the receipts are made at a register
that goes offline after a lost answer and has the online copy revoked. The till is a correct one: it repeats the same
request with the same ``tag`` until the answer says that the receipt exists, or that it never will.

At the end the server's books and our journal must agree document by document: in numbers without a gap, in sums,
kinds and fiscal numbers. Then a session of many documents is made offline and sent over a connection that is often
down. The exit status is 1 when anything disagrees, or would need a person.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest import TestResult

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.crash.books import Entry, Findings, accepted_by_cabinet
from dmtwisted.registers.asking import Asking
from dmtwisted.registers.channels.interface import Unknown
from dmtwisted.store.values import DocumentQuery, OperationQuery, State
from protocols.fiscal.cabinet.documents import mac_of
from tests.batch_desk import Blows
from tests.cabinet_shop import CabinetShop
from tests.prro_shop import FIRST, PrroShop

Answer = dict[str, Any]

DEVICE = "one"
SHIFT = 400
"""Receipts in a shift."""

PATIENCE = 200.0
"""The longest time of a task, in seconds of the simulated clock."""

REPEATS = 14
"""How often a till repeats before it would call a person; the last times without new faults."""

PEACE = 8
"""Repeats after which no new fault begins."""

LOST = ({"then": "lost_before"}, {"then": "lost_after"}, {"then": "silent"})
GARBLED = tuple({"then": "garbage", "code": code} for code in ("", "cms", "type", "200", "500", "502", "503"))
REFUSED = tuple({"then": "refuse", "code": code} for code in ("500", "503", "9", "text:9", "12", "404"))
AWAY = ({"then": "unreachable"}, {"then": "unreachable", "delay_ms": 3000})
SLOW = (
    {"then": "accept", "delay_ms": 2000},
    {"then": "lost_after", "delay_ms": 4000},
    {"then": "lost_before", "delay_ms": 900},
)
FAULTS: tuple[dict[str, Any], ...] = (*LOST * 3, *GARBLED, *REFUSED, *AWAY, *SLOW)
"""What can happen to one document, one package or one query."""

CABINET_GARBLED = tuple({"then": "garbage", "code": code} for code in ("", "cms", "200", "foreign"))
CABINET_REFUSED = tuple({"then": "refuse", "code": code} for code in ("1", "2", "3", "4", "9", "12", "15", "16"))
CABINET_FAULTS: tuple[dict[str, Any], ...] = (*LOST * 3, *CABINET_GARBLED, *CABINET_REFUSED, *AWAY, *SLOW)
"""The same on protocol B."""

LONG = 400
"""Documents of one session on protocol B: a register has numbers for 500 in stock."""

FOR_A_WHILE = ("away", "skew", "block", "errors")
"""What can last for some receipts: no connection, a wrong clock, a blocked register, an error for every request."""

KILLS = ("killed before", "killed after", "failed before", "failed after")
"""What can happen in the middle of a write."""

GIVES_UP = frozenset({1040, 1032, 1044})
"""Refusals of the receipt itself: after one of them a till may give up the receipt."""


@dataclass
class Score:
    """The results of a run; the same seed gives the same results."""

    receipts: int = 0
    made: int = 0
    offline: int = 0
    dropped: int = 0
    repeats: int = 0
    kills: int = 0
    sessions: int = 0
    flaps: int = 0
    lost: int = 0
    """Documents whose answer was lost while a till waited."""
    settled: int = 0
    """Those of them whose outcome was known before the till was answered."""
    revoked: int = 0
    """Documents that were made again offline, and whose online copy was revoked."""
    answers: Counter[str] = field(default_factory=Counter)
    """Answers by ``res_action`` and ``res``."""
    wrong: list[str] = field(default_factory=list)
    """Every disagreement, as text."""


class Day:
    """A shop with one register at the tax service, a till, and the faults."""

    faults = FAULTS
    errors = "503"
    """The code of an error for every request."""

    def __init__(self, case: SynchronousTestCase, seed: int, **settings: Any) -> None:
        self.dice, self.score = Random(seed), Score()
        self.shop = self.opened(case, **settings)
        self.blows = Blows(case, self.shop)
        self._left: dict[str, int] = {}
        self._shifts = 0
        self._revokes = settings.get("offline_after_lost_answer") == "revoke"
        case.patch(Asking, "became", self._counted(Asking.became))

    def opened(self, case: SynchronousTestCase, **settings: Any) -> PrroShop:
        """The shop."""
        return PrroShop(case, DEVICE, **settings)

    @property
    def server(self) -> Any:
        """The tax service."""
        return self.shop.far_end

    def _counted(self, became: Any) -> Any:
        async def counted(asking: Asking, *arguments: Any, **named: Any) -> Any:
            self.score.lost += 1
            found = await became(asking, *arguments, **named)
            self.score.settled += not isinstance(found, Unknown)
            return found

        return counted

    # Time

    def wait(self, due: Deferred[Any]) -> Any:
        """The result of ``due`` as time passes; `None` when the service died first."""
        came: list[Any] = []
        due.addBoth(came.append)
        clock = self.shop.clock
        last = clock.seconds() + PATIENCE
        while not came and not self._dead and clock.seconds() < last:
            calls = clock.getDelayedCalls()
            if not calls:
                break
            clock.advance(max(0.0, min(call.getTime() for call in calls) - clock.seconds()))
        if not came and not self._dead:
            self.score.wrong.append("a task came to no end")
        return came[0] if came else None

    @property
    def _dead(self) -> bool:
        return self.blows.struck and self.blows.killed

    def kill(self) -> None:
        """The service dies in the middle of its work, and starts again."""
        self._spare()
        self.score.kills += 1
        self.shop.core.devices.close()
        self.shop.crash()
        self._pass(4.0)

    def _spare(self) -> None:
        self.blows.never()
        self.blows.struck = False

    def _pass(self, seconds: float) -> None:
        self.shop.clock.pump([0.5] * int(seconds * 2))

    # Faults

    def trouble(self) -> None:
        """Choose what happens to the next request to the tax service."""
        dice, server = self.dice, self.server
        for name in list(self._left):
            self._left[name] -= 1
            if self._left[name] <= 0:
                del self._left[name]
        if not self._left and dice.random() < 0.02:
            self._left[dice.choice(FOR_A_WHILE)] = dice.randint(1, 8)
        rules = [
            {"on": dice.choice(("any", "any", "any", "probe")), **dice.choice(self.faults)}
            for _ in range(dice.choice((0, 0, 0, 1, 1, 2)))
        ]
        if "away" in self._left:
            rules += [{"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")]
        elif self._revokes and not self._left and not self.shop.built(DEVICE).away and dice.random() < 0.3:
            # The connection breaks while a document is being sent, and stays down for the next requests.
            self._left["away"] = dice.randint(2, 6)
            rules = [{"on": "any", **dice.choice(LOST)}, {"on": "probe", "then": "unreachable", "times": 0}]
            if self._asks_first():
                rules.insert(0, {"on": "probe", "then": "accept"})
        if "errors" in self._left:
            rules += [{"on": on, "then": "refuse", "code": self.errors, "times": 0} for on in ("any", "probe")]
        self.shop.rules(*rules)
        server.skew_s = dice.choice((-2400.0, 2400.0)) if "skew" in self._left else 0.0
        if "block" in self._left:
            server.block(FIRST)
        else:
            self._record.blocked_until = None

    def _asks_first(self) -> bool:
        """Whether the register asks for the time before it sends anything."""
        return self.shop.built(DEVICE)._channel._skew is None

    def calm(self) -> None:
        """End all faults."""
        self._left.clear()
        self._spare()
        self.shop.rules()
        self.server.skew_s = 0.0
        self._record.blocked_until = None

    @property
    def _record(self) -> Any:
        return self.server.books.registers[FIRST]

    # The till

    def ask(self, body: dict[str, Any]) -> Answer | None:
        """Send one request and return its answer; `None` when the service dies first."""
        answer = self.wait(self.shop.asked(body))
        if self._dead:
            self.kill()
            return None
        self._spare()
        if not isinstance(answer, bytes):
            self.score.wrong.append(f"{body['tag']}: no answer but {answer!r}")
            return None
        decoded: Answer = json.loads(answer)
        self._check(body["tag"], decoded)
        return decoded

    def _check(self, tag: str, answer: Answer) -> None:
        action, res = answer["res_action"], answer["res"]
        self.score.answers[f"{action}: {res}"] += 1
        if action not in (0, 1, 2, 3) or (action == 0) != (res == 0) or (res != 0) != (answer["task_status"] == 3):
            self.score.wrong.append(f"{tag}: res {res} with res_action {action}, task_status {answer['task_status']}")
        if res and answer["info"]:
            self.score.wrong.append(f"{tag}: a refusal with info")

    def task(self, tag: str, fiscal: dict[str, Any]) -> Answer | None:
        """Send one task until its outcome is final, as a correct till does; `None` when the till gives it up."""
        body = {"ver": 6, "device": DEVICE, "tag": tag, "type": 1, "fiscal": fiscal}
        dice, score = self.dice, self.score
        for attempt in range(REPEATS):
            if attempt >= PEACE:
                self.calm()
            else:
                self.trouble()
                if dice.random() < 0.12:
                    how = dice.choice(KILLS)
                    self.blows.at(dice.randint(1, 5), how)
            answer = self.ask(body)
            if answer is not None and answer["res"] == 0:
                return answer
            if answer is not None and answer["res_action"] == 3:
                if answer["res"] in GIVES_UP and fiscal["task"] == 1 and dice.random() < 0.3:
                    return None
                if attempt >= PEACE + 2:
                    score.wrong.append(f"{tag}: needs a person: {answer['res']} {answer['aq_errortxt']}")
                    return None
            score.repeats += 1
            # Without faults a till waits longer than the service pauses after a server that did not answer.
            self._pass(31.0 if attempt >= PEACE else dice.choice((1.0, 2.0, 5.0, 31.0)))
        score.wrong.append(f"{tag}: never done")
        return None

    def open(self) -> None:
        """Open a shift."""
        self._shifts += 1
        self.task(f"open {self._shifts}", {"task": 0})

    def close(self) -> None:
        """Close it."""
        self.task(f"z {self._shifts}", {"task": 11})

    def sell(self, kopecks: int) -> None:
        """Sell for a sum that no other receipt has."""
        amount = f"{kopecks // 100}.{kopecks % 100:02d}"
        row = {"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}
        receipt = {"sum": amount, "rows": [row], "pays": [{"type": 2, "sum": amount}]}
        self.score.receipts += 1
        answer = self.task(f"sale {kopecks}", {"task": 1, "receipt": receipt})
        if answer is None:
            self.score.dropped += 1
            self.dropped.append(kopecks)
            return
        self.score.made += 1
        self.score.offline += answer["info"]["isoffline"]
        self.answered[kopecks] = answer["info"]["doccode"]
        self._pass(self.dice.choice((0.5, 2.0, 5.0)))

    def receipts(self, number: int) -> None:
        """Run days with ``number`` receipts in all."""
        self.answered: dict[int, str] = {}
        self.dropped: list[int] = []
        self.open()
        for n in range(number):
            if n and n % SHIFT == 0:
                self.close()
                self._pass(10.0)
                self.open()
            self.sell(1000 + n)
        self.close()
        self.calm()
        self.home()
        self.compare()

    def home(self) -> None:
        """Let the register return to online work on its own."""
        for _ in range(200):
            if not self.shop.built(DEVICE).away:
                return
            self._pass(5.0)
        self.score.wrong.append("the register did not come home")

    # A long session

    def session(self, documents: int, flaps: int) -> None:
        """Make ``documents`` receipts offline; then the connection comes and goes while they are sent."""
        dice, score = self.dice, self.score
        self.answered, self.dropped = {}, []
        self.calm()
        self.open_calmly()
        down = [{"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")]
        self.shop.rules(*down)
        for n in range(documents):
            self.sell_calmly(1000 + n, down)
        while self.shop.built(DEVICE).away and score.flaps < 4 * flaps:
            score.flaps += 1
            # Up for a while: a package takes a second, so the connection breaks within one or between two.
            slow = [{"on": "any", "then": "accept", "delay_ms": 800, "times": 0}]
            slow += [{"on": "probe", "then": "accept", "delay_ms": 100, "times": 0}]
            # The offline session's closing document is refused until the connection is stable.
            held = score.flaps < flaps
            fault = {"on": "any", **dice.choice((*LOST, *GARBLED, AWAY[0]))}
            self.shop.rules(*[slow[0] | {"times": 1}] * dice.choice((0, 0, 1)), fault, *(slow if not held else down))
            self._pass(dice.choice((11.0, 13.0, 16.0)))
            self.shop.rules(*down)
            if dice.random() < 0.2:
                self.kill()
                self.shop.rules(*down)
            self._pass(dice.choice((1.0, 35.0)))
        self.calm()
        self.home()
        if score.flaps < flaps:
            score.wrong.append(f"only {score.flaps} flaps before everything was there")
        self.compare()

    def open_calmly(self) -> None:
        """Open a shift without faults."""
        self._told({"task": 0}, "open")

    def sell_calmly(self, kopecks: int, rules: list[dict[str, Any]]) -> None:
        """Sell while the connection is down and there is no other fault."""
        amount = f"{kopecks // 100}.{kopecks % 100:02d}"
        row = {"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}
        receipt = {"sum": amount, "rows": [row], "pays": [{"type": 2, "sum": amount}]}
        answer = self._told({"task": 1, "receipt": receipt}, f"sale {kopecks}")
        if answer is not None:
            self.score.receipts += 1
            self.score.made += 1
            self.score.offline += answer["info"]["isoffline"]
            self.answered[kopecks] = answer["info"]["doccode"]
        self._pass(0.5)

    def _told(self, fiscal: dict[str, Any], tag: str) -> Answer | None:
        answer = self.ask({"ver": 6, "device": DEVICE, "tag": tag, "type": 1, "fiscal": fiscal})
        if answer is None or answer["res"]:
            self.score.wrong.append(f"{tag}: {answer and answer['res']}")
            return None
        return answer

    # Comparison

    def compare(self) -> None:
        """Compare the server's books with our journal and with the answers to the till, document by document."""
        score, wrong = self.score, self.score.wrong
        store = self.shop.store
        here: list[tuple[int, str, str, int]] = []
        while True:
            query = DocumentQuery(devices=[self._n], newest_first=False, limit=1000, offset=len(here))
            page = self.shop.done(store.find_documents(query)).documents
            here += [(row.number, row.fiscal_number, row.kind, _sum_of(row.value)) for row in page]
            if len(page) < 1000:
                break
        here.sort()
        there = self.theirs(here)
        if [line[0] for line in there] != list(range(1, len(there) + 1)):
            wrong.append("the server's local numbers have a gap")
        differing = [pair for pair in zip(there, here, strict=False) if pair[0] != pair[1]]
        wrong += [f"the server has {theirs}, the journal {ours}" for theirs, ours in differing[:1]]
        if len(there) != len(here):
            wrong.append(f"the server has {len(there)} documents, the journal {len(here)}")
        wrong += self._doubled()
        sums = Counter(line[3] for line in there if line[2] == "sale")
        wrong += [
            f"{kopecks}: the server has it {sums[kopecks]} times" for kopecks in self.answered if sums[kopecks] != 1
        ]
        numbers = {line[3]: line[1] for line in there if line[2] == "sale"}
        for kopecks, number in self.answered.items():
            if numbers.get(kopecks) != number:
                wrong.append(f"{kopecks}: the till got {number}, the server has {numbers.get(kopecks)}")
        for kopecks in self.dropped:
            if sums[kopecks]:
                wrong.append(f"{kopecks}: answered as refused, and the server has it")
        unresolved = self.shop.done(store.unresolved(self._n))
        if unresolved:
            wrong.append(f"{len(unresolved)} operations are open")
        score.sessions = sum(line[2] == "offline_begin" for line in there)
        done = OperationQuery(devices=[self._n], states=[State.DONE], limit=1)
        if self.shop.done(store.find_operations(done)).total + self._closings(there) != len(there):
            wrong.append("operations and documents do not count alike")

    def theirs(self, here: list[tuple[int, str, str, int]]) -> list[tuple[int, str, str, int]]:
        """The documents of the server: local number, fiscal number, kind and sum.

        :param here: those of the journal.
        """
        self.score.revoked = len(self._record.revoked)
        return [
            (local, stored.number, stored.kind.value, _sum(stored.document))
            for local, stored in sorted(self._record.documents.items())
        ]

    def _doubled(self) -> list[str]:
        """The receipts in the server's ledger; a document and its reversal count as nothing."""
        entries = [entry for entry in self.server.entries() if entry.status == "accepted"]
        reversed_ = {entry.ref for entry in entries if entry.kind == "storno"}
        counted = Counter(entry.sum for entry in entries if entry.kind == "sale" and entry.number not in reversed_)
        wanted = Counter(dict.fromkeys(self.answered, 1))
        return [
            f"{kopecks}: the ledger has it {counted[kopecks]} times"
            for kopecks in (counted - wanted) | (wanted - counted)
        ]

    def _closings(self, there: list[tuple[int, str, str, int]]) -> int:
        """The shift's closing document and its Z report are one operation."""
        return sum(line[2] == "close" for line in there)

    @property
    def _n(self) -> int:
        n: int = self.shop.core.devices.by_name(DEVICE).row.n
        return n


class CabinetDay(Day):
    """A day at the cabinet's server, protocol B."""

    faults = CABINET_FAULTS
    errors = "4"
    shop: CabinetShop

    def opened(self, case: SynchronousTestCase, **settings: Any) -> PrroShop:
        """The shop."""
        return CabinetShop(case, DEVICE, **settings)

    @property
    def server(self) -> Any:
        """The cabinet's server."""
        return self.shop.there

    @property
    def _record(self) -> Any:
        return self.shop.standing()

    def _asks_first(self) -> bool:
        return False

    def theirs(self, here: list[tuple[int, str, str, int]]) -> list[tuple[int, str, str, int]]:
        """As `Day.theirs`; the server numbers documents within a shift, so their numbers are those of the journal.

        It adds what is wrong in the chain, in the numbers within shifts, and with reserved numbers.
        """
        wrong, found = self.score.wrong, Findings()
        entries = [msgspec.to_builtins(entry) for entry in self.server.books._ledger.entries()]
        journal = [Entry(kind, number, fiscal, sum) for number, fiscal, kind, sum in here]
        taken = accepted_by_cabinet(entries, journal, found)
        wrong += found.gaps
        papers, contents = self.shop.papers(), self.shop.contents()
        for n, (before, paper) in enumerate(zip([b"", *contents], papers, strict=False)):
            named = paper.mac.text if paper.mac is not None else ""
            if named != (mac_of(before) if before else ""):
                wrong.append(f"document {n + 1} does not name the one before")
        used = Counter(paper.mac.id for paper in papers if paper.mac is not None and paper.mac.id)
        wrong += [
            f"the reserved number {number} is used {times} times" for number, times in used.items() if times > 1
        ]
        state, record = self.shop.built(DEVICE)._books.state, self._record
        stock = set(state.session.numbers) if state.session is not None else set()
        wrong += [f"{number} is in stock and not reserved" for number in stock - set(record.reserved)]
        wrong += [f"{number} is reserved and not in stock" for number in set(record.reserved) - stock]
        ours = (state.chain, state.local, state.z_number, state.shift_open)
        if ours != (record.tip, record.next_local, record.z, record.shift is not None):
            wrong.append(f"the register has {ours}")
        self.score.revoked = sum(entry["kind"] == "storno" for entry in entries)
        return [(entry.number, entry.fiscal_number, entry.kind, entry.sum) for entry in taken]


DAYS: dict[str, type[Day]] = {"a": Day, "b": CabinetDay}
"""A day on each protocol."""


def _sum(document: Any) -> int:
    total = getattr(document, "checktotal", None)
    return 0 if total is None else int(total.sum or 0)


def _sum_of(value: bytes) -> int:
    answer = json.loads(value)
    receipt, cash = answer.get("receipt"), answer.get("cash")
    if receipt is None:
        return int(cash["sum"]) if cash else 0
    return int(receipt.get("sum_topay", 0))


# -- the whole run ---------------------------------------------------------------------------------------------------


class _Stage(SynchronousTestCase):
    """A test case that owns the folder and the patches."""

    play: Any = None

    def runTest(self) -> None:
        """Run nothing."""
        type(self).play(self)
        self.flushLoggedErrors()


def _staged(play: Any) -> None:
    stage = type("Stage", (_Stage,), {"play": staticmethod(play)})()
    result = TestResult()
    stage.run(result)
    for _, trouble in (*result.errors, *result.failures):
        raise AssertionError(trouble)


def run(receipts: int, seed: int, revoke: bool = False, protocol: str = "a") -> Score:
    """Fiscalise ``receipts`` receipts with faults; the same seed gives the same run.

    :param revoke: whether the register goes offline after a lost answer.
    :param protocol: of the tax service.
    """
    mode: dict[str, Any] = {"offline_probe_s": 20.0}
    if revoke:
        # The register returns to online work soon, so that many documents are sent online.
        mode = {"offline_after_lost_answer": "revoke", "offline_probe_s": 3.0}
    days: list[Day] = []

    def play(case: SynchronousTestCase) -> None:
        days.append(DAYS[protocol](case, seed, **mode))
        days[0].receipts(receipts)

    _staged(play)
    return days[0].score


def run_session(documents: int, flaps: int, seed: int, protocol: str = "a") -> Score:
    """Send one offline session over a connection that comes and goes."""
    days: list[Day] = []

    def play(case: SynchronousTestCase) -> None:
        days.append(DAYS[protocol](case, seed, offline_probe_s=10.0, warn_offline_numbers=0))
        days[0].session(documents, flaps)

    _staged(play)
    return days[0].score


def words(name: str, score: Score) -> str:
    """The results as text."""
    counts = [
        f"{score.receipts} receipts, {score.made} made ({score.offline} offline), {score.dropped} dropped",
        f"{score.repeats} repeats, {score.kills} kills, {score.sessions} offline sessions, {score.flaps} flaps, "
        f"{score.revoked} revoked",
        f"{score.settled} of {score.lost} lost answers settled while the till waited",
    ]
    lines = [f"{name}: {'; '.join(counts)}."]
    lines += [f"  answers with res_action {kind}: {count}" for kind, count in sorted(score.answers.items())]
    lines += [f"  DISAGREES: {wrong}" for wrong in score.wrong[:20]]
    lines.append(f"  {len(score.wrong)} disagreements.")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.tax_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--receipts", type=int, default=5000, help="how many with faults")
    parser.add_argument("--documents", type=int, default=2000, help="how many in the offline session")
    parser.add_argument("--flaps", type=int, default=30, help="how often the link breaks while it goes up")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    parser.add_argument("--protocol", choices=tuple(DAYS), default="a", help="that of the tax service")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    half, protocol = chosen.receipts // 2, chosen.protocol
    scores = {
        "faults": run(chosen.receipts - half, chosen.seed, protocol=protocol),
        "faults, going offline with a lost answer": run(half, chosen.seed, revoke=True, protocol=protocol),
    }
    longest = max(chosen.documents, 1) if protocol == "a" else LONG
    for n, left in enumerate(range(chosen.documents, 0, -longest)):
        size = min(left, longest)
        flaps = chosen.flaps * size // chosen.documents
        scores[f"session {n + 1}"] = run_session(size, flaps, chosen.seed + n, protocol)
    for name, score in scores.items():
        print(words(name, score))
    print(f"{time.monotonic() - begun:.0f} s")
    return int(any(score.wrong for score in scores.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
