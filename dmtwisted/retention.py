"""Remove what is older than the shop wants, in small steps so that sales do not wait (specification 1.11).

Receipts and print jobs are kept for `packdays`, operations of terminals for `paydays`, events of devices for
`event_days`, counted from their end.
Whatever its age, an operation stays

- while its outcome is unknown, and with it everything that its device did later; during an open batch everything
later
  of all devices, because the receipt and the payment of a batch are separate rows;
- as long as its shift is open, or offline documents wait to be sent;
- when it is the last document, receipt or Z-report of its register, the last payment of its terminal or the last job
  of its printer;
- when its document never arrived and may come late;
- when it is a receipt whose batch is still kept: batches stay for the longer of both periods;
- when it is a Z-report or a change of the service, for `Z_DAYS`: summary reports over years read them, and whoever
  asks how it came to what was sold. Sold excise marks are remembered as long.

What is removed is sealed as removed, so that the chain of seals (`dmtwisted.store.seals`) distinguishes it from rows
that someone deleted. Old seals are removed too; the few operations among them that stay get new seals.

A crash at any moment leaves a step done or not done; the next run starts from the beginning.

A wrong clock does not make anything old. Operations begin in the order of their numbers, so none has ended before an
earlier one began, whatever its date: operations made while the clock was in the past stay when the clock is
corrected. Training mode, where the clock is moved on purpose, uses the dates alone. When the machine's clock jumps
forward by more than `LEAP`, nothing is removed for the next `DOUBT`, unless the clock is set back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.documents.documents import Z
from dmtwisted.pace import Pace
from dmtwisted.registers import totals
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.seals import link, removal
from dmtwisted.store.values import CHANGE, EVENT, AgedRow, Cut, SealRow, State, StoreFailed

EVERY = 3600.0
"""Seconds between two runs."""

LEAP, DOUBT = 24 * 3600.0, 24 * 3600.0
"""Seconds by which a clock may jump, and for which nothing is removed when it jumps further.

A shop notices a wrong year within a day; after a smaller jump nothing is removed more than a day too early.
"""

MOST = 500
"""The most operations, and seals, that one step removes: fewer than make MS SQL lock a whole table."""

PAGE, SEALS = 500, 1000
"""Operations, and seals, that are read together."""

DAY = 86_400_000
"""Milliseconds."""

Z_DAYS = 3 * 366
"""Days that Z-reports are kept at least: three years, as long as the tax office may ask a shop for them."""

RECEIPTS = frozenset({"fiscal", "untagged", "doc"})
PAYMENTS = frozenset({"pay"})
BATCHES = frozenset({"pkg"})
"""Kinds of operations (`dmtwisted.store.schema`)."""

ENDED = frozenset({State.DONE, State.REFUSED})

T = TypeVar("T")


@dataclass(frozen=True)
class Needs:
    """What a register needs whatever its age: documents from a local number on, and from a shift on.

    ``last_z`` is the shift of its last Z-report; ``operations`` may become valid again when their document arrives
    late.
    """

    number: int
    shift: int
    last_z: int
    operations: frozenset[int] = frozenset()


def needs_of(stored: bytes) -> Needs | None:
    """What a register with this state needs; `None` when the state cannot be read."""
    try:
        state = totals.decode(stored)
    except msgspec.MsgspecError:
        return None
    numbers = [state.last.number, state.last_receipt, *([state.offline.first] if state.offline is not None else [])]
    return Needs(
        number=min(number for number in (*numbers, state.next_number) if number),
        shift=state.shift,
        last_z=state.z_number,
        operations=frozenset(state.voids),
    )


@dataclass
class Rules:
    """What may be removed now.

    :param ended_before: for each kind of operation the moment, in milliseconds, before which it must have ended.
    :param events_before: the same for events of devices, which may go earlier than the seals around them.
    :param registers: what each register needs; `None` for a state that cannot be read.
    :param from_n: for each device the first operation that must stay; under `None` that of all devices.
    """

    ended_before: dict[str, int]
    z_before: int
    events_before: int = 0
    registers: dict[int, Needs | None] = field(default_factory=dict)
    from_n: dict[int | None, int] = field(default_factory=dict)

    def young(self, row: AgedRow) -> bool:
        """Whether nothing of this age is removed but events, whatever it is."""
        return row.at >= max(self.ended_before.values())

    def new(self, row: AgedRow) -> bool:
        """Whether nothing of this age is removed at all."""
        return self.young(row) and row.at >= self.events_before

    def goes(self, row: AgedRow, since: float = -inf) -> bool:
        """Whether an operation may be removed.

        :param since: the moment, in milliseconds, at which an earlier one began.
        """
        if row.state not in ENDED or row.last:
            return False
        if any(row.n >= self.from_n[key] for key in (None, row.device_n) if key in self.from_n):
            return False
        before = self.ended_before.get("pkg" if row.batch else row.kind, 0)
        if row.kind == EVENT:
            before = self.events_before
        if any(paper.kind == Z for paper in row.documents):
            before = min(before, self.z_before)
        # A row without an end was inserted from outside; `db check` reports it.
        if row.ended_at is None or max(row.ended_at, since) >= before:
            return False
        return not row.documents or self._spare(row)

    def _spare(self, row: AgedRow) -> bool:
        """Whether the register can do without the documents."""
        if row.device_n not in self.registers:
            return True
        needs = self.registers[row.device_n]
        return (
            needs is not None
            and row.n not in needs.operations
            and not any(
                paper.number >= needs.number
                or paper.shift >= needs.shift
                or (paper.kind == Z and paper.shift >= needs.last_z)
                for paper in row.documents
            )
        )


def ages(now: int, receipts: int, payments: int, events: int) -> Rules:
    """The rules at a moment, for so many days."""
    longer = max(receipts, payments)
    before = {kind: now - receipts * DAY for kind in RECEIPTS}
    before |= {kind: now - payments * DAY for kind in PAYMENTS}
    before |= {kind: now - longer * DAY for kind in BATCHES}
    longest = now - max(Z_DAYS, longer) * DAY
    return Rules(before | {CHANGE: longest}, longest, now - events * DAY)


class Retention:
    """Finds what is too old, and removes it.

    :param most: the largest step.
    :param travels: the clock is moved on purpose, so that an operation is as old as its date says.
    :param also: removes what is too old and no operation, after each run.
    """

    log = Logger()

    def __init__(
        self,
        store: IStore,
        settings: ServiceSettings,
        clock: ServiceClock,
        most: int = MOST,
        *,
        travels: bool = False,
        also: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._also = also or _nothing
        self._store, self._settings, self._clock, self._travels = store, settings, clock, travels
        self._pace = Pace(most)
        self._anchors: dict[int, bytes] = {}
        self._loop = LoopingCall(self._look)
        self._loop.clock = clock
        self._working: Deferred[Any] | None = None
        self._pause: Deferred[None] | None = None
        self._stopping = self._again = False
        self._trusted = clock.ahead()
        self._doubted_since: float | None = None

    def start(self) -> None:
        """Begin; the first run is not at once, because all tills are busy after a start."""
        self._stopping = False
        self._loop.start(EVERY, now=False)

    def soon(self) -> None:
        """Run now: the clock was moved."""
        self._again = self._working is not None
        self._look()

    @property
    def idle(self) -> bool:
        """Whether no run is under way."""
        return self._working is None

    async def stop(self) -> None:
        """Stop; nothing is under way when this returns."""
        self._stopping = True
        self._again = False
        if self._loop.running:
            self._loop.stop()
        if self._pause is not None:
            self._pause.cancel()
        if self._working is not None:
            done: Deferred[None] = Deferred()
            self._working.addBoth(lambda _: done.callback(None))
            await done

    def _look(self) -> None:
        if self._working is None and self._loop.running:
            self._working = Deferred.fromCoroutine(self._tried())
            self._working.addBoth(self._ended)

    def _ended(self, _: object) -> None:
        self._working = None
        if self._again:
            self.soon()

    def _doubtful(self) -> bool:
        """Whether the machine's clock has jumped so far, and so recently, that no age can be trusted."""
        ahead, now = self._clock.ahead(), self._clock.steady()
        if ahead - self._trusted > LEAP:
            if self._doubted_since is None:
                self._doubted_since = now
                self.log.warn(
                    "the machine's clock has jumped forward by {days:.1f} days; check that it is right: "
                    "for {hours:.0f} h nothing is removed for its age",
                    days=(ahead - self._trusted) * 1000 / DAY,
                    hours=DOUBT / 3600,
                )
            if now - self._doubted_since < DOUBT:
                return True
        self._trusted, self._doubted_since = ahead, None
        return False

    async def _tried(self) -> None:
        if self._doubtful():
            return
        try:
            await self.remove()
            await self._also()
        except StoreFailed as error:
            self.log.warn("old operations stay for now: {why}", why=str(error))
        except CancelledError:
            pass
        except Exception:
            self.log.failure("old operations stay: an internal error")

    async def remove(self) -> int:
        """Remove everything that may be removed; return the number of operations.

        :raises StoreFailed: when the store fails; the next run removes the rest.
        """
        begun = self._clock.seconds()
        rules = await self._rules()
        removed, passed = await self._operations(rules)
        if removed:
            seals = await self._seals(passed)
            spent = self._clock.seconds() - begun
            self.log.info(
                "{n} old operations were removed in {spent:.0f} s, with {seals} seals",
                n=removed,
                seals=seals,
                spent=spent,
            )
        for device_n, needs in rules.registers.items():
            while needs is not None and not self._stopping:
                if not await self._rested(self._store.forget_codes(device_n, needs.shift)):
                    break
                reached("retention.codes-forgotten")
        old = self._clock.now() - Z_DAYS * DAY
        forgotten = 1
        while forgotten and not self._stopping:
            forgotten = await self._rested(self._store.forget_marks(old, self._pace.size))
        return removed

    async def _rules(self) -> Rules:
        # Read from the store: another service on the same database may have changed them.
        kept = await self._settings.kept()
        rules = ages(self._clock.now(), kept.packdays, kept.paydays, kept.event_days)
        for chain in await self._store.chains():
            stored = await self._store.register_state(chain.device_n)
            if stored is not None:
                rules.registers[chain.device_n] = needs_of(stored)
        for row in await self._store.unresolved(None):
            place = None if row.kind in BATCHES else row.device_n
            rules.from_n[place] = min(row.n, rules.from_n.get(place, row.n))
        return rules

    async def _operations(self, rules: Rules) -> tuple[int, int]:
        """Remove operations; return how many, and the number of the first one that was too young."""
        after = removed = passed = 0
        since = -inf
        now = self._clock.now()
        found: dict[int, list[int]] = {}
        self._anchors = {}
        while not self._stopping:
            rows = await self._rested(self._store.aged(after, PAGE))
            # The clock may have been set back meanwhile: one young row among old ones proves nothing.
            if rows and not passed and all(rules.young(row) for row in rows):
                passed = rows[0].n
            if not rows or all(rules.new(row) for row in rows):
                removed += await self._remove(found, 1)
                return removed, passed or after + 1
            after = rows[-1].n
            for row in rows:
                if row.at <= now and not self._travels:
                    since = max(since, row.at)
                if rules.goes(row, since):
                    found.setdefault(row.device_n, []).append(row.n)
            removed += await self._remove(found)
        return removed, 0

    async def _remove(self, found: dict[int, list[int]], least: int = 0) -> int:
        """Remove the found operations in whole steps, or in steps of at least ``least``; return how many."""
        removed = 0
        for device_n, numbers in found.items():
            while not self._stopping and len(numbers) >= (least or self._pace.size):
                part = numbers[: self._pace.size]
                del numbers[: len(part)]
                if await self._cut(device_n, part, [], {}):
                    removed += len(part)
                reached("retention.operations-cut")
        return removed

    async def _anchor(self, device_n: int) -> bytes | None:
        """The anchor of a device's chain; `None` when it has none."""
        if device_n not in self._anchors:
            self._anchors = {chain.device_n: chain.anchor for chain in await self._store.chains()}
        return self._anchors.get(device_n)

    async def _cut(self, device_n: int, operations: list[int], dropped: list[int], renewed: dict[int, bytes]) -> bool:
        """Do one step for a device; return whether it was done."""
        anchor = await self._anchor(device_n)
        if anchor is None:
            return False
        begun = self._clock.seconds()
        kept = await self._store.cut(Cut(device_n, anchor, operations, dropped, renewed))
        await self._pause_after(begun, kept or 0.0, len(operations) + len(dropped))
        if kept is None:
            # Another service was faster: the chain begins elsewhere now.
            del self._anchors[device_n]
        return kept is not None

    async def _seals(self, passed: int) -> int:
        """Remove the oldest seals, up to that of an operation that is too young; return how many."""
        left = sum(chain.count - chain.removed for chain in await self._store.chains())
        after = dropped = 0
        while left > dropped and not self._stopping:
            seals = await self._rested(self._store.seals(after, min(SEALS, left - dropped)))
            old = list(_old(seals, passed))
            for device_n, places in _by_device(old):
                done = await self._drop(device_n, places)
                dropped += done
                if done < len(places):
                    return dropped
            if len(old) < len(seals) or not seals:
                break
            after = seals[-1].n
        return dropped

    async def _drop(self, device_n: int, seals: list[SealRow]) -> int:
        """Remove these oldest seals of a device in steps, up to a gap; return how many."""
        dropped = 0
        while dropped < len(seals) and not self._stopping:
            part = list(_following(seals[dropped : dropped + self._pace.size], await self._anchor(device_n)))
            if not part:
                break
            # The newest seals of operations that exist.
            renewed = {
                seal.operation_n: seal.content
                for seal in part
                if seal.newest and seal.operation_n and seal.actual is not None
            }
            if not await self._cut(device_n, [], [seal.n for seal in part], renewed):
                break
            self._anchors[device_n] = part[-1].chain
            dropped += len(part)
            reached("retention.seals-cut")
        return dropped

    async def _rested(self, asked: Awaitable[T]) -> T:
        """The result of a question, after a rest as if it had blocked the store all the time."""
        begun = self._clock.seconds()
        found = await asked
        await self._pause_after(begun, max(self._clock.seconds() - begun, 0.0), 0)
        return found

    async def _pause_after(self, begun: float, own: float, done: int) -> None:
        """Leave the database to the tills for a while after a step."""
        now = self._clock.seconds()
        await self._rest(self._pace.rest(now, now - begun, own, done, self._store.intents))

    async def _rest(self, seconds: float) -> None:
        if self._stopping:
            return
        self._pause = deferLater(self._clock, seconds)
        try:
            await self._pause
        finally:
            self._pause = None


async def _nothing() -> None:
    """There is nothing else to remove."""


def _by_device(seals: Iterable[SealRow]) -> list[tuple[int, list[SealRow]]]:
    found: dict[int, list[SealRow]] = {}
    for seal in seals:
        found.setdefault(seal.device_n, []).append(seal)
    return list(found.items())


def _following(seals: Iterable[SealRow], before: bytes | None) -> Iterable[SealRow]:
    """The seals that follow ``before``, up to a gap.

    A missing seal was deleted by someone, and the gap is the proof; or another service is writing it at this moment.
    """
    for seal in seals:
        if before is None or link(before, seal.device_n, seal.operation_n, seal.content) != seal.chain:
            return
        before = seal.chain
        yield seal


def _old(seals: Iterable[SealRow], passed: int) -> Iterable[SealRow]:
    """The first seals that may be removed.

    They end before the first seal of a young operation, and before one that does not match its rows: what someone has
    changed must not be sealed again, and its seal is the proof.
    """
    for seal in seals:
        if seal.newest and seal.operation_n:
            if seal.operation_n >= passed:
                return
            if seal.content != (removal(seal.operation_n) if seal.actual is None else seal.actual):
                return
        yield seal
