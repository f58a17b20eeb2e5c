"""A register, a terminal and a printer in memory: sagas on them, kills at any write, and all records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.batch.saga import KIND
from dmtwisted.results import Refused
from dmtwisted.store.values import OperationQuery, OperationRow, State, StoreFailed
from tests.shop import Shop

Answer = dict[str, Any]

WRITES = ("reserve", "note", "conclude", "conclude_at_once", "accept_document")
"""The method that makes a saga durable."""

PATIENCE = 2000.0
"""The longest time until everything has ended, in seconds of the simulated clock."""


class Blows:
    """The store of a shop; at one of its next writes the service can be killed or the disk can fail.

    :param verbs: the writes that count.
    """

    def __init__(self, case: SynchronousTestCase, shop: Shop, verbs: Sequence[str] = WRITES) -> None:
        self._left, self._how = 0, ""
        self.written: list[str] = []
        """Every write so far: method and kind."""
        self.struck = False
        for verb in verbs:
            case.patch(shop.store, verb, self._watched(verb, getattr(shop.store, verb)))

    def at(self, n: int, how: str) -> None:
        """Strike at the ``n``-th write from now: ``killed`` or ``failed``, ``before`` or ``after`` it."""
        self._left, self._how, self.struck = n, how, False

    @property
    def killed(self) -> bool:
        """Whether the strike is a kill: then no answer is sent."""
        return self._how.startswith("killed")

    def never(self) -> None:
        """Cancel the strike."""
        self._left = 0

    def _watched(self, name: str, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def ask(*arguments: Any) -> Any:
            self.written.append(name)
            self._left -= 1
            if self._left != 0:
                return await verb(*arguments)
            self.struck = True
            if self._how.endswith("after"):
                await verb(*arguments)
            if self._how.startswith("failed"):
                raise StoreFailed("database or disk is full")
            # The client's connection breaks before an answer is sent.
            return await Deferred[Any]()

        return ask


class BatchCase(SynchronousTestCase):
    """Tests with an open register `test` whose batch mode has the terminal `pos` and the printer `prn`.

    The register cannot go offline, so a tax service that is down stops the sale.
    """

    batch: ClassVar[dict[str, Any]] = {"terminal": "pos", "printer": "prn"}

    def setUp(self) -> None:
        """A shop with an open shift whose terminal takes no time."""
        self.shop = Shop(self, whole=True)
        self.ready()
        self.shop.settings("pos", operation_s=0.0)
        self.shop.settings("test", batch=self.batch, offline_allowed=False)
        self.shop.open_shift()

    # Time

    def wait(self, due: Deferred[Any]) -> Any:
        """The result of ``due``, however long it takes."""
        came: list[Any] = []
        due.addBoth(came.append)
        self.until(lambda: bool(came))
        return came[0]

    def until(self, reached: Callable[[], bool]) -> None:
        """Let time pass from event to event until ``reached``."""
        clock = self.shop.clock
        last = clock.seconds() + PATIENCE
        while not reached():
            calls = clock.getDelayedCalls()
            self.assertTrue(calls, "nothing will ever happen")
            soonest = min(call.getTime() for call in calls)
            self.assertLess(soonest, last, "it takes too long")
            clock.advance(max(0.0, soonest - clock.seconds()))

    def ready(self) -> None:
        """The service has settled all unfinished operations."""
        self.until(lambda: self.shop.core.ready)

    def kill(self) -> None:
        """The service dies, starts again and settles all unfinished operations."""
        self.crash()
        self.resumed()

    def crash(self) -> None:
        """The service dies and begins to start again."""
        shop = self.shop
        # Closed first: calls that are scheduled while it closes die with it.
        shop.core.devices.close()
        for call in list(shop.clock.getDelayedCalls()):
            call.cancel()
        shop.core = shop._open()

    def resumed(self) -> None:
        """The work that the service resumes at its start has ended or waits."""
        self.ready()
        self.until(lambda: not any(device.turns.busy for device in self.shop.core.devices))

    # Requests

    def due(self, body: Answer, batch: bool = True) -> Deferred[bytes]:
        """Send ``body``; the answer to come."""
        raw = json.dumps(body).encode()
        return Deferred.fromCoroutine(self.shop.core.dispatcher.execute(raw, "en", batch=batch))

    def ask(self, body: Answer, batch: bool = True) -> Answer:
        """The answer to ``body``."""
        answer: Answer = json.loads(self.wait(self.due(body, batch)))
        return answer

    def ask_until_killed(self, body: Answer, blows: Blows) -> Answer | None:
        """The answer to ``body``; `None` when the service was killed first, and has started again."""
        came: list[bytes] = []
        self.due(body).addCallback(came.append)
        self.until(lambda: bool(came) or blows.struck)
        blows.never()
        if came:
            answer: Answer = json.loads(came[0])
            return answer
        self.kill()
        return None

    def sell(self, tag: str = "t", amount: float = 100, **members: Any) -> Answer:
        """The answer to a sale by card in batch mode."""
        return self.ask(sale(tag, amount, **members))

    def rules(self, device: str, *rules: tuple[str, str] | tuple[str, str, str]) -> None:
        """Set what ``device`` does next: operation, outcome, code."""
        self.shop.scenario(
            *({"on": rule[0], "then": rule[1], "code": rule[2] if len(rule) > 2 else ""} for rule in rules),
            device=device,
        )

    def unknown(self, on: str = "payment", probes: int = 1) -> None:
        """The terminal makes the next operation, but reports no outcome: from some query on it does not answer."""
        self.shop.scenario(
            {"on": on, "then": "lost_after"},
            {"on": "probe", "then": "accept", "times": probes},
            {"on": "probe", "then": "silent", "times": 0},
            device="pos",
        )

    # Records

    def terminal(self, *kinds: str) -> list[tuple[str, int]]:
        """What the terminal did: kind and kopecks; only ``kinds``, if given."""
        return [(entry.kind, entry.sum) for entry in self.shop.ledger("pos") if not kinds or entry.kind in kinds]

    def sales(self, kind: str = "sale") -> list[int]:
        """The kopecks of each receipt that the tax service accepted."""
        return [entry.sum for entry in self.shop.ledger("test", kind)]

    def held(self) -> list[int]:
        """The kopecks of each payment that the terminal holds: not cancelled, and no sum more than once."""
        entries = self.shop.ledger("pos")
        back = Counter(entry.ref for entry in entries if entry.kind == "cancel")
        self.assertFalse([ref for ref, times in back.items() if times > 1], "taken back twice")
        return [entry.sum for entry in entries if entry.kind == "payment" and not back[entry.number]]

    def rows(self, kind: str = KIND, *states: State) -> list[OperationRow]:
        """Operations of the journal, oldest first."""
        query = OperationQuery(kinds=[kind], states=list(states), limit=100_000)
        due = Deferred.fromCoroutine(self.shop.store.find_operations(query))
        return list(reversed(self.successResultOf(due).operations))

    def states(self) -> list[str]:
        """The state of each saga."""
        return [str(row.state) for row in self.rows()]

    def unfinished(self, kind: str = KIND) -> list[OperationRow]:
        """The operations that need a person."""
        return self.rows(kind, State.INTENDED, State.UNKNOWN)

    def assertAnswer(self, answer: Answer, res: int, action: int = 0) -> None:
        """``answer`` has this code, and says this to the till about a repeat."""
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), answer)

    def assertEnd(self, held: list[int], sales: list[int], states: list[str]) -> None:
        """The terminal has these payments, the register these receipts, the journal these states of sagas."""
        self.assertEqual((self.held(), self.sales(), self.states()), (held, sales, states))

    def settle_pay(self, row: OperationRow, approved: bool) -> None:
        """A person enters the outcome of a terminal's operation."""
        service = self.shop.built("pos")
        self.wait(Deferred.fromCoroutine(service.settle(row, approved)))

    def settle(self, n: int) -> Refused | None:
        """A person closes a saga; the refusal, if it was refused."""
        due = Deferred.fromCoroutine(self.shop.core.dispatcher.batch.settle(n))
        found: list[Refused] = []

        def refused(failure: Any) -> None:
            failure.trap(Refused)
            found.append(failure.value)

        self.wait(due.addErrback(refused))
        return found[0] if found else None


def sale(tag: str = "t", amount: float = 100, task: int = 1, device: str = "test", **members: Any) -> Answer:
    """A request for a sale or return by card; ``pays`` of ``members`` are the receipt's, the rest is the root's."""
    receipt = {
        "sum": amount,
        "rows": [{"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}],
        "pays": members.pop("pays", [{"type": 2, "sum": amount}]),
    }
    if receipt["pays"] is None:
        del receipt["pays"]
    return {
        "ver": 6,
        "source": "till",
        "device": device,
        "tag": tag,
        "type": 1,
        "fiscal": {"task": task, "receipt": receipt},
        **members,
    }
