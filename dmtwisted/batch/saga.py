"""Sagas in the journal, and which of them are open.

A saga keeps the request and the settings with which it began, so that a change of settings in between does not alter
it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.requests import TaskRequest, read_json, read_task
from dmtwisted.results import Action, Refused, Res, Words, in_language
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, Outcome, State
from dmtwisted.terminals.interface import Approved, Order

KIND = "pkg"
"""The kind of a saga in the journal; it belongs to the register, and its key is the till's tag."""

GIVEN_UP = 200
"""Sagas without a receipt that are checked at the start for a payment that was approved late."""


class Step(StrEnum):
    """The last durable step of a saga."""

    PAYING = "paying"
    """The payment has a label; it may have been sent to the terminal."""
    PAID = "paid"
    """The terminal is done; the register knows whether there is a receipt."""
    TAKING_BACK = "taking_back"
    """There will be no receipt; the cancel of the payment may have a label."""
    SETTLED = "settled"
    """A person closed it."""


class Saga(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sale or return with a card, as the journal has it."""

    body: bytes
    """The body of the request."""
    language: str
    settings: BatchSettings
    """The register's settings of batch mode when it began."""
    terminal_n: int
    """The terminal's number, which is unique; a name may be given to another device."""
    order: Order
    """The order for the terminal."""
    label: str
    """The payment in the terminal's journal."""
    step: Step = Step.PAYING
    paid: Approved | None = None
    back: str = ""
    """The cancel in the terminal's journal."""
    why: Words = ""
    """Why it is open, or why there is no receipt: for people."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Saga).decode


def saga_of(row: OperationRow) -> Saga:
    """The saga of a row of the journal."""
    return _decode(row.request)


def request_of(saga: Saga, tag: str) -> TaskRequest:
    """The request of a saga with its ``tag``, which the service may have generated."""
    return msgspec.structs.replace(read_task(read_json(saga.body), batch=True), tag=tag)


def _without_customer(body: bytes) -> bytes:
    root = read_json(body).values
    root.pop("userinfo", None)
    return _encode_body(root)


_USERINFO = b'"userinfo"'
_encode_body = msgspec.json.Encoder(decimal_format="number").encode


def taking_back(saga: Saga, refused: Refused) -> Saga:
    """``saga`` while its payment is taken back, with the first reason."""
    why = saga.why if saga.step is Step.TAKING_BACK else refused.words()
    return msgspec.structs.replace(saga, step=Step.TAKING_BACK, back="", why=why)


class Sagas:
    """The sagas of all registers. Every verb raises `StoreFailed` when the store did not confirm it.

    :param publish: publishes an event for each saga that stays open (`Events.publish`).
    """

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock, publish: Callable[..., None]) -> None:
        self._store, self._clock, self._publish = store, clock, publish
        self._loaded = False
        # Register and tag of each saga that may be open, with its terminal.
        self._open: dict[tuple[int, str], int] = {}

    async def load(self) -> None:
        """Read the sagas that are open since before the start; only the first call queries the store."""
        if self._loaded:
            return
        for row in await self._store.unresolved(None):
            if row.kind == KIND:
                self._open.setdefault((row.device_n, row.key), self._terminal_of(row))
        self._loaded = True

    async def learn(self, register_n: int) -> None:
        """Read the open sagas of a register that was taken over from another service."""
        rows = await self._store.unresolved(register_n)
        self._open = {known: n for known, n in self._open.items() if known[0] != register_n}
        for row in rows:
            if row.kind == KIND:
                self._open[register_n, row.key] = self._terminal_of(row)

    def _terminal_of(self, row: OperationRow) -> int:
        try:
            return saga_of(row).terminal_n
        except msgspec.MsgspecError:
            # It stays in the list, and its tag is refused.
            self.log.failure("the journal's operation {n} cannot be read", n=row.n)
            return 0

    def may_hold(self, register_n: int, tag: str) -> bool:
        """Whether a saga with this tag may be open; without the store, because every sale comes here."""
        return not self._loaded or (register_n, tag) in self._open

    def open_of(self, register_n: int) -> bool:
        """Whether a register has an open saga."""
        return any(register == register_n for register, _ in self._open)

    def open_on(self, terminal_n: int) -> bool:
        """Whether an open saga began on this terminal."""
        return terminal_n in self._open.values()

    @property
    def open_ones(self) -> list[tuple[int, str]]:
        """The number of the register and the tag of each saga that may be open."""
        return list(self._open)

    async def held(self, register_n: int, tag: str) -> tuple[int, Saga] | None:
        """The open saga with this tag, and its number in the journal."""
        await self.load()
        if (register_n, tag) not in self._open:
            return None
        row = await self._store.latest(register_n, KIND, tag)
        if row is None or row.state not in (State.INTENDED, State.UNKNOWN):
            # An unconfirmed write happened after all, or the first write did not.
            del self._open[register_n, tag]
            return None
        return row.n, saga_of(row)

    async def last_refused(self, register_n: int, tag: str) -> tuple[int, Saga] | None:
        """The latest saga with this tag, if it ended without a receipt."""
        row = await self._store.latest(register_n, KIND, tag)
        return (row.n, saga_of(row)) if row is not None and row.state is State.REFUSED else None

    async def given_up(self) -> list[tuple[int, str, int, Saga]]:
        """Sagas whose payment was given up, each the last of its tag: register, tag, number, saga; newest first."""
        query = OperationQuery(kinds=[KIND], states=[State.REFUSED], limit=GIVEN_UP, counted=False)
        found = []
        for row in (await self._store.find_operations(query)).operations:
            saga = saga_of(row)
            if saga.step is Step.PAYING:
                latest = await self._store.latest(row.device_n, KIND, row.key)
                if latest is not None and latest.n == row.n:
                    found.append((row.device_n, row.key, row.n, saga))
        return found

    async def finished(self, register_n: int, tag: str) -> Saga | None:
        """The saga that made the receipt with this tag; `None` when there was none."""
        row = await self._store.find(register_n, KIND, tag)
        return None if row is None else saga_of(row)

    async def begin(self, register_n: int, task: int, tag: str, saga: Saga) -> int:
        """Store a saga before its effect; returns its number in the journal.

        :raises Refused: 1074 when the tag has one already.
        """
        # Before it is stored: a write that is not confirmed may have happened.
        self._open[register_n, tag] = saga.terminal_n
        intent = Intent(register_n, KIND, task, tag, b"", self._clock.now(), [], _encode(saga))
        reserved = await self._store.reserve(intent)
        if reserved.known is not None:
            raise Refused(Res.COLLISION_UNSOLVABLE, action=Action.COLLISION, note=f"# {reserved.n}")
        return reserved.n

    async def note(self, n: int, saga: Saga) -> None:
        """Store the step of a saga."""
        await self._store.note(n, _encode(saga))

    async def end(
        self, register_n: int, tag: str, n: int, saga: Saga, state: State, refused: Refused | None = None
    ) -> None:
        """Store how a saga ended, or with `State.UNKNOWN` that it stays open and why."""
        if refused is not None and saga.step is not Step.TAKING_BACK:
            saga = msgspec.structs.replace(saga, why=refused.words())
        if state is State.UNKNOWN:
            self._open[register_n, tag] = saga.terminal_n
        elif state is State.DONE and _USERINFO in saga.body:
            # The receipt has told its customer; who gave up may still get one.
            saga = msgspec.structs.replace(saga, body=_without_customer(saga.body))
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=register_n,
                state=state,
                at=self._clock.now(),
                res=refused.res.code if refused is not None else 0,
                request=_encode(saga),
            )
        )
        if state is State.UNKNOWN:
            self._publish("unfinished", operation=n, tag=tag, why=in_language(saga.why, saga.language))
        else:
            self._open.pop((register_n, tag), None)
