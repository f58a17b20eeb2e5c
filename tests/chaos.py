"""Payments with faults over every terminal's wire: ``python -m tests.chaos --payments 2000 --seed 1``.

Each payment goes through the real dispatcher, service, driver and wire to a simulated terminal, in memory and on a
simulated clock. A seed decides which faults occur: on the line, at the terminal, in the store; the service is killed,
the terminal is switched off, the till does not wait. The till repeats the request with the same ``transaction_id``
until it gets a final answer.

At the end the terminal's ledger, our store and every answer that the till got must agree on each payment. If the
outcome of a payment cannot be found out, the payment must be marked unknown, with a reason; then a person reads the
slip (the ledger) and enters the outcome. The exit status is 1 when anything disagrees.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from dmtwisted.clock import ServiceClock
from dmtwisted.conformance.mortal import Mortal
from dmtwisted.conformance.nexo_stand import POI, nexo_driver
from dmtwisted.conformance.stands import STANDS
from dmtwisted.devices.devices import Devices, TerminalDevice, usable
from dmtwisted.devices.driver import TERMINAL, Driver, Surroundings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.results import Res
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow, OperationQuery, OperationRow, State
from dmtwisted.terminals.bpos1 import settings as bpos1
from dmtwisted.terminals.bpos1.driver import Bpos1Driver
from dmtwisted.terminals.caisse_ap import settings as caisse_ap
from dmtwisted.terminals.caisse_ap.driver import CaisseApDriver
from dmtwisted.terminals.concert_v2 import settings as concert_v2
from dmtwisted.terminals.concert_v2.driver import ConcertDriver
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.ecr17 import settings as ecr17
from dmtwisted.terminals.ecr17.driver import Ecr17Driver
from dmtwisted.terminals.nexo import settings as nexo
from dmtwisted.terminals.privatbank import settings as privatbank_json
from dmtwisted.terminals.privatbank.driver import PrivatbankDriver
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.ssi import settings as ssi_json
from dmtwisted.terminals.ssi.driver import SsiDriver
from dmtwisted.terminals.zvt import settings as zvt
from dmtwisted.terminals.zvt.driver import ZvtDriver
from protocols.simulators.bpos1 import Bpos1Device
from protocols.simulators.caisse_ap import CaisseApDevice
from protocols.simulators.concert_v2 import ConcertDevice
from protocols.simulators.ecr17 import Ecr17Device
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.ssi_json import SsiSimulator
from protocols.simulators.terminal import Terminal
from protocols.simulators.zvt import ZvtTerminal
from tests.memory_line import MemoryEndpoint
from tests.shop import MORNING
from tests.terminal_desk import DeskCase

T = TypeVar("T")

# -- one terminal for each protocol ----------------------------------------------------------------------------------

MakeDevice = Callable[[Terminal, Clock], Any]
MakeDriver = Callable[[Any, MemoryEndpoint, ServiceClock, Clock, Unreached], Any]


@dataclass(frozen=True)
class Wire:
    """How to simulate a terminal of one protocol.

    ``device`` makes the terminal's end of the line, ``make_driver`` the driver under test. ``can_be_asked`` says
    whether the protocol has a query for a lost operation.
    """

    driver: Driver
    settings: dict[str, Any]
    device: MakeDevice
    make_driver: MakeDriver
    unreached: Res = Res.TERMINAL_UNREACHABLE
    can_be_asked: bool = True

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return self.driver.name

    def driver_on(self, settings: Any, endpoint: MemoryEndpoint, clock: Clock) -> Any:
        """The driver, on a line in memory."""
        unreached = Unreached(settings, self.unreached, Res.COM_PORT_ERROR)
        return self.make_driver(settings, endpoint, ServiceClock(clock), clock, unreached)


class Channel(Protocol):
    """Wraps the server of an HTTP connection as a plain protocol, so that received bytes can be recorded."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def connectionMade(self) -> None:
        """Connect the server too."""
        self._channel.makeConnection(cast(ITransport, self.transport))

    def dataReceived(self, data: bytes) -> None:
        """Pass the bytes on."""
        self._channel.dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Pass the loss on."""
        self._channel.connectionLost(reason)


class Channels:
    """A site whose connections are plain protocols."""

    def __init__(self, site: Any) -> None:
        self._site = site

    def buildProtocol(self, addr: Any) -> Protocol | None:
        """A connection, or `None` if the site refuses it."""
        channel = self._site.buildProtocol(addr)
        return None if channel is None else Channel(channel)


def _settings(name: str, shape: int = 0) -> dict[str, Any]:
    """The settings that the conformance suite uses for a driver."""
    return dict(STANDS[TERMINAL, name][shape].settings)


def _without_service_clock(make: Callable[[Any, MemoryEndpoint, Clock, Unreached], Any]) -> MakeDriver:
    return lambda settings, endpoint, _, clock, unreached: make(settings, endpoint, clock, unreached)


WIRES: dict[str, Wire] = {
    wire.name: wire
    for wire in (
        Wire(
            privatbank_json.DRIVER,
            _settings("privatbank-json"),
            PrivatbankSimulator,
            PrivatbankDriver,
            Res.TERMINAL_ADDRESS_UNREACHABLE,
        ),
        Wire(ssi_json.DRIVER, _settings("ssi-json", 1), SsiSimulator, _without_service_clock(SsiDriver)),
        Wire(zvt.DRIVER, _settings("zvt"), lambda terminal, clock: ZvtTerminal(terminal, clock).factory(), ZvtDriver),
        Wire(bpos1.DRIVER, _settings("bpos1"), Bpos1Device, Bpos1Driver),
        Wire(ecr17.DRIVER, _settings("ecr17"), Ecr17Device, Ecr17Driver),
        Wire(
            caisse_ap.DRIVER,
            _settings("caisse-ap"),
            CaisseApDevice,
            _without_service_clock(CaisseApDriver),
            can_be_asked=False,
        ),
        Wire(
            concert_v2.DRIVER,
            _settings("concert-v2"),
            ConcertDevice,
            _without_service_clock(ConcertDriver),
            can_be_asked=False,
        ),
        Wire(
            nexo.DRIVER,
            _settings("nexo"),
            lambda terminal, clock: Channels(NexoDevice(terminal, clock, POI).site()),
            _without_service_clock(nexo_driver),
        ),
    )
}
"""Every wire by its name."""


class WireDesk(DeskCase):
    """A desk of the tests with a terminal of one protocol.

    ``wire`` is its name, ``settings`` replace those of the wire.
    """

    wire: str
    settings: ClassVar[dict[str, Any]] = {}
    unreached = Res.TERMINAL_UNREACHABLE.code

    def device(self) -> Any:
        """The terminal's end of the line."""
        return WIRES[self.wire].device(self.terminal, self.clock)

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Any:
        """The driver under test."""
        wire = WIRES[self.wire]
        return wire.driver_on(wire.driver.read({**wire.settings, **self.settings}), endpoint, self.clock)


# -- a service that can be killed ------------------------------------------------------------------------------------


VERBS = frozenset({"reserve", "note", "conclude", "latest", "unresolved"})
"""The methods of the store that a payment uses."""


class CounterDesk:
    """A service with one terminal, and the records of each side."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.clock = Clock()
        self.clock.advance(MORNING)
        self.terminal = Terminal(self.clock, duration=1.0, hold=30.0)
        self._device = wire.device(self.terminal, self.clock)
        self.is_on = True
        self._store = MemoryStore()
        _now(self._store.open())
        _now(self._store.add_device("pos", "pos", TERMINAL, wire.name, json.dumps(wire.settings).encode()))
        self._start()

    def _start(self) -> None:
        self.store = Mortal(self._store, VERBS)
        self.endpoint = MemoryEndpoint(self.clock, self._answer_call)
        around = Surroundings(self.clock, ServiceClock(self.clock), cast(Any, self.store), None)
        driver = replace(self.wire.driver, build=self._build)
        self.devices = Devices({(TERMINAL, driver.name): driver}, around, 15.0, training=True)
        self._dispatcher = Dispatcher(self.devices, cast(Any, self.store), around.clock)
        _now(self.devices.open())

    def _build(self, row: DeviceRow, settings: Any, around: Surroundings) -> TerminalService:
        driver = self.wire.driver_on(settings, self.endpoint, self.clock)
        return TerminalService(row.n, row.name, around.store, driver, around.clock)

    def _answer_call(self) -> IProtocol | None:
        return self._device.buildProtocol(None) if self.is_on else None

    def die(self) -> None:
        """The process dies in the middle of its work; its connections break."""
        self.store.dead = True
        self.endpoint.accept = lambda: None
        self.endpoint.hang_up()

    def kill(self) -> None:
        """Kill the process and start it again."""
        self.die()
        self.devices.close()
        self.endpoint.flush()
        self._start()
        self.resolve()

    def resolve(self) -> None:
        """Query the terminal about unfinished operations, as the service does at the start and before each task."""
        self.result(Deferred.fromCoroutine(self._dispatcher.resolve()))

    @property
    def service(self) -> TerminalService:
        """The terminal's current service."""
        return usable(self.devices.by_name("pos"), TerminalDevice).built

    def pay(self, label: str, kopecks: int) -> Deferred[bytes]:
        """Send a payment as a till does, which repeats it with the same label; return the answer to come."""
        body = {
            "device": "pos",
            "type": 3,
            "source": "till",
            "transaction_id": label,
            "transaction_search": 2,
            "pay": {"task": 1, "sum": kopecks / 100},
        }
        return Deferred.fromCoroutine(self._dispatcher.execute(json.dumps(body).encode(), "en"))

    def result(self, due: Deferred[T], longest: float = 120.0) -> T:
        """The result of ``due``; time passes until it is there."""
        came: list[Any] = []
        self.endpoint.wait(due, longest).addBoth(came.append)
        if not came:
            raise AssertionError(f"{self.wire.name}: no answer in {longest:g} s")
        if isinstance(came[0], Failure):
            came[0].raiseException()
        value: T = came[0]
        return value

    def rows(self, label: str) -> list[OperationRow]:
        """The journal's rows with a label."""
        found: list[OperationRow] = _now(self._store.find_operations(OperationQuery(key=label))).operations
        return found

    def settle(self, row: OperationRow, approved: bool) -> None:
        """A person enters the outcome that the slip shows."""
        _now(self.service.settle(row, approved))

    def taken(self, kopecks: int) -> int:
        """How often the bank has this sum: accepted and not cancelled."""
        entries = [entry for entry in self.terminal.entries() if entry.status == "accepted"]
        given_back = {entry.ref for entry in entries if entry.kind == "cancel"}
        return sum(
            entry.kind == "payment" and entry.sum == kopecks and entry.number not in given_back for entry in entries
        )

    def close(self) -> None:
        """Close everything."""
        self.devices.close()
        self.terminal.close()


def _now(work: Any) -> Any:
    """The result of ``work``, which must not wait."""
    came: list[Any] = []
    Deferred.fromCoroutine(work).addBoth(came.append)
    assert came, "it is not done at once"
    if isinstance(came[0], Failure):
        came[0].raiseException()
    return came[0]


# -- faults ----------------------------------------------------------------------------------------------------------

RULES: tuple[dict[str, Any], ...] = (
    *({"on": "payment", "then": then} for then in ("lost_before", "lost_after", "silent", "garbage", "unreachable")),
    *({"on": "payment", "then": "refuse", "code": code} for code in ("05", "51", "busy", "cancelled", "no_link")),
    {"on": "payment", "then": "accept", "delay_ms": 25_000},
    {"on": "payment", "then": "lost_after", "delay_ms": 5_000},
    *({"on": "probe", "then": then} for then in ("lost_before", "lost_after", "silent", "garbage", "refuse")),
    {"on": "probe", "then": "refuse", "code": "busy"},
)
"""Rules for the scenario of the simulated terminal."""

FATES = ("none", "kill", "store", "cut", "off", "interrupt", "impatient", "cut storing", "kill storing")
"""Other events during the first request; the last two happen in the middle of a call of the store."""

WEIGHTS = (6, 2, 2, 2, 1, 1, 1, 2, 2)

BUSY, NOT_STORED = Res.DEVICE_BUSY.code, Res.STORE_FAILED.code
"""Answers to a repeat that say nothing about the payment: the till has to repeat again."""

REPEATS = 8
"""How often a till repeats before it calls a person."""

LATEST = 90.0
"""Seconds after which no part of a payment is in progress."""

Answer = dict[str, Any]


@dataclass
class Score:
    """The results of the payments over one protocol."""

    payments: int = 0
    paid: int = 0
    refused: int = 0
    kills: int = 0
    repeats: int = 0
    persons: Counter[str] = field(default_factory=Counter)
    """Payments that needed a person, by the text in their rows."""
    wrong: list[str] = field(default_factory=list)
    """Every disagreement, as text."""


class Till:
    """A till that follows the documentation, at a terminal with many faults."""

    def __init__(self, desk: CounterDesk, dice: Random) -> None:
        self._desk, self._dice = desk, dice
        self.score = Score()

    def sell(self, kopecks: int) -> None:
        """Make one payment until its outcome is final, and compare all records of it."""
        desk, dice, score = self._desk, self._dice, self.score
        score.payments += 1
        label = str(UUID(int=dice.getrandbits(128), version=4))
        rules = [dict(dice.choice(RULES)) for _ in range(dice.choice((0, 1, 1, 2, 3)))]
        desk.terminal.scenario.replace({"rules": rules})
        answers = list(self._first_request(label, kopecks))
        self._check_refusals(kopecks, answers)
        answer = answers[-1] if answers else None
        for attempt in range(REPEATS):
            if answer is not None and _settles(answer):
                break
            if attempt >= REPEATS - 2 or dice.random() < 0.4:
                self._calm()
            if attempt == REPEATS - 2:
                self._pass(LATEST)
            score.repeats += 1
            answer = self._repeat(label, kopecks, attempt)
        assert answer is not None
        self._calm()
        self._pass(2.0)
        while desk.terminal.running is not None:
            self._pass(1.0)
        if not _settles(answer):
            answer = self._call_person(label, kopecks, answer)
        desk.resolve()
        self._compare(label, kopecks, answer)

    def _first_request(self, label: str, kopecks: int) -> Iterator[Answer]:
        """Send the first request, with its faults; yield the answers that reach the till."""
        desk, dice = self._desk, self._dice
        fate = dice.choices(FATES, WEIGHTS)[0]
        if fate == "store":
            desk.store.fail_at(dice.randrange(1, 9), dice.random() < 0.5)
        elif fate == "cut storing":
            desk.store.fail_at(dice.randrange(1, 7), dice.random() < 0.5, desk.endpoint.hang_up)
        elif fate == "kill storing":
            happens = dice.random() < 0.5
            desk.store.fail_at(dice.randrange(1, 7), happens, desk.die)
        due = desk.pay(label, kopecks)
        if fate == "kill storing":
            due.addErrback(lambda _: b"")
            came: list[bytes] = []
            due.addCallback(came.append)
            while not came and not desk.store.dead:
                self._pass(0.5)
            if desk.store.dead:
                self.score.kills += 1
                desk.kill()
                return
            yield json.loads(came[0])
            desk.store.fail_at(0, False)
            return
        if fate in ("none", "store", "cut storing"):
            yield json.loads(desk.result(due))
            desk.store.fail_at(0, False)
            return
        # Two decimals: bytes arrive in steps, so most of these moments are within an operation.
        self._pass(dice.choice((0.0, 0.05, 0.3, 0.7, 1.0, 1.05, 1.5, 4.0)))
        if fate == "kill":
            self.score.kills += 1
            due.addErrback(lambda _: b"")
            desk.kill()
            return
        if fate == "cut":
            desk.endpoint.hang_up()
        elif fate == "off":
            desk.is_on = False
            desk.endpoint.hang_up()
            self._pass(dice.choice((2.0, 10.0, 40.0)))
            desk.is_on = True
        elif fate == "interrupt":
            desk.endpoint.wait(Deferred.fromCoroutine(desk.service.interrupt()), 3.0).addErrback(lambda _: None)
        else:
            yield json.loads(desk.result(desk.pay(label, kopecks)))
        yield json.loads(desk.result(due))

    def _repeat(self, label: str, kopecks: int, attempt: int) -> Answer | None:
        """Repeat the request with the same label; `None` when the store failed during the look-up."""
        desk, dice = self._desk, self._dice
        fails = attempt < REPEATS - 2 and dice.random() < 0.1
        if fails:
            desk.store.fail_at(dice.randrange(1, 9), dice.random() < 0.5)
        answer: Answer = json.loads(desk.result(desk.pay(label, kopecks)))
        desk.store.fail_at(0, False)
        if fails and answer["res"] == NOT_STORED:
            return None
        self._check_refusals(kopecks, [answer])
        return answer

    def _pass(self, seconds: float) -> None:
        self._desk.endpoint.advance(seconds)

    def _calm(self) -> None:
        """End all faults."""
        self._desk.terminal.scenario.replace({"rules": []})
        self._desk.store.fail_at(0, False)
        self._desk.is_on = True

    def _call_person(self, label: str, kopecks: int, answer: Answer) -> Answer:
        """A person reads the slip and enters what it shows; the till repeats the request."""
        desk = self._desk
        rows = desk.rows(label)
        states = [str(row.state) for row in rows]
        why = answer["aq_errortxt"]
        if states[:1] != [str(State.UNKNOWN)] or not why:
            self.score.wrong.append(f"{kopecks}: answered {answer['res']}, not unknown with a reason: {states}")
        self.score.persons[f"{answer['res']}: {_without_numbers(why)}"] += 1
        for row in rows:
            if row.state in (State.UNKNOWN, State.INTENDED):
                desk.settle(row, desk.taken(kopecks) > 0)
        value: Answer = json.loads(desk.result(desk.pay(label, kopecks)))
        return value

    # Comparison

    def _check_refusals(self, kopecks: int, answers: list[Answer]) -> None:
        """An answer that says that no money was taken must be true at that moment."""
        for answer in answers:
            if answer["res"] and _settles(answer) and self._desk.taken(kopecks):
                self.score.wrong.append(f"{kopecks}: an approval was answered {answer['res']}")

    def _compare(self, label: str, kopecks: int, answer: Answer) -> None:
        score, taken = self.score, self._desk.taken(kopecks)
        paid = answer["res"] == 0
        score.paid += paid
        score.refused += not paid
        if taken > 1:
            score.wrong.append(f"{kopecks}: paid {taken} times")
        if paid != (taken == 1):
            score.wrong.append(f"{kopecks}: answered {answer['res']}, and the terminal took it {taken} times")
        if paid and answer["info"]["sum"] != kopecks / 100:
            score.wrong.append(f"{kopecks}: answered a sum of {answer['info']['sum']}")
        states = Counter(row.state for row in self._desk.rows(label))
        if states[State.DONE] != taken or set(states) - {State.DONE, State.REFUSED}:
            found = ", ".join(sorted(f"{count} {state}" for state, count in states.items()))
            score.wrong.append(f"{kopecks}: taken {taken} times, and the journal has {found or 'nothing'}")


def _settles(answer: Answer) -> bool:
    """Whether an answer ends a payment for a till."""
    return bool(answer["res_action"] != 2 and answer["res"] != BUSY)


def _without_numbers(text: str) -> str:
    return "".join("#" if sign.isdigit() else sign for sign in text)


# -- the whole run ---------------------------------------------------------------------------------------------------


def run(payments: int, seed: int) -> dict[str, Score]:
    """Make ``payments`` payments, distributed over all protocols; the same seed gives the same run."""
    scores: dict[str, Score] = {}
    for n, wire in enumerate(WIRES.values()):
        desk = CounterDesk(wire)
        till = Till(desk, Random(f"{seed} {wire.name}"))
        for sale in range(payments // len(WIRES) + (n < payments % len(WIRES))):
            till.sell(1000 + sale)
        desk.close()
        scores[wire.name] = till.score
    return scores


def table(scores: dict[str, Score]) -> str:
    """The results as a table."""
    titles = ("protocol", "payments", "paid", "refused", "kills", "repeats", "by a person", "disagreements")
    rows: list[tuple[str, ...]] = [titles]
    for name, score in scores.items():
        numbers = (score.payments, score.paid, score.refused, score.kills, score.repeats)
        rows.append((name, *map(str, (*numbers, score.persons.total(), len(score.wrong)))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for name, score in scores.items():
        if score.persons:
            found = "could not always find out" if WIRES[name].can_be_asked else "has no query for a lost payment"
            lines.append(f"\n{name} {found}; its unknown rows said:")
            lines += [f"  {count:4} x {why}" for why, count in score.persons.most_common()]
        lines += [f"\n{name} DISAGREES: {wrong}" for wrong in score.wrong]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--payments", type=int, default=2000, help="how many, divided over all protocols")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    chosen = parser.parse_args(arguments)
    scores = run(chosen.payments, chosen.seed)
    print(table(scores))
    return int(any(score.wrong for score in scores.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
