"""What is older than the shop wants it goes, in small steps that no sale feels (specification 1.11).

Receipts and print jobs are kept for `packdays`, operations of terminals for `paydays`. Each is counted from its end.
Whatever its age, an operation stays

- while its outcome is unknown, and with it everything that its device did later; with an open batch everything later
  of all devices: the receipt and the payment of a batch are rows of their own;
- as long as the shift is open that it belongs to, or documents made offline wait to be handed in;
- when it is the last document, the last receipt or the last Z-report of its register, the last payment of its
  terminal or the last job of its printer;
- when its document never arrived and may come late;
- when it is a receipt whose batch is still kept: batches stay as long as the longer of both;
- when it is a Z-report, for `Z_DAYS`: summary reports over years look at them.

What goes is sealed as removed, so that the chain of seals (`dmtwisted.store.seals`) tells it apart from what somebody
took. Seals of what went long ago go as well; those of the few operations that stay among them are renewed.

A crash at any moment leaves a step done or not done; the next look begins anew.

A wrong clock makes nothing old. Operations begin in the order of their numbers, so none has ended before an earlier
one began, whatever it is dated: what was done while the clock stood in the past stays when somebody sets it right.
Training mode, where the clock travels on purpose, goes by the dates alone. When the machine's clock leaps forwards by
more than `LEAP`, nothing goes for the next `DOUBT`, unless it is set back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
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
from dmtwisted.store.values import AgedRow, Cut, SealRow, State, StoreFailed

EVERY = 3600.0
"""Seconds between two looks."""

LEAP, DOUBT = 24 * 3600.0, 24 * 3600.0
"""Seconds by which a clock may leap, and for which it is doubted when it leaps further.

A shop sees within a day that it is in the wrong year; by a smaller leap nothing goes more than a day too early.
"""

MOST = 500
"""Operations that one step removes at most, and seals that it drops; below what makes MS SQL lock a whole table."""

PAGE, SEALS = 500, 1000
"""Operations, and seals, that are looked at together."""

DAY = 86_400_000
"""Milliseconds."""

Z_DAYS = 3 * 366
"""Days that Z-reports are kept: three years, as long as a shop may be asked for them; longer when receipts are."""

RECEIPTS = frozenset({"fiscal", "untagged", "doc"})
PAYMENTS = frozenset({"pay"})
BATCHES = frozenset({"pkg"})
"""Kinds of operations (`dmtwisted.store.schema`)."""

ENDED = frozenset({State.DONE, State.REFUSED})

T = TypeVar("T")


@dataclass(frozen=True)
class Needs:
    """What a register needs whatever its age: documents from a local number on, and from a shift on.

    ``last_z`` is the shift of its last Z-report; ``operations`` may come to life again when their document arrives
    late after all.
    """

    number: int
    shift: int
    last_z: int
    operations: frozenset[int] = frozenset()


def needs_of(stored: bytes) -> Needs | None:
    """What a register with this state needs; `None` when nobody can tell."""
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
    """What may go now.

    :param ended_before: for each kind of operation the moment, in milliseconds, before which it has to have ended.
    :param registers: what each register needs; `None` for one whose state nobody can read.
    :param from_n: for each device the first operation that is not to be touched; under `None` that for all devices.
    """

    ended_before: dict[str, int]
    z_before: int
    registers: dict[int, Needs | None] = field(default_factory=dict)
    from_n: dict[int | None, int] = field(default_factory=dict)

    def young(self, row: AgedRow) -> bool:
        """Whether nothing of this age goes, whatever it is."""
        return row.at >= max(self.ended_before.values())

    def goes(self, row: AgedRow, since: float = -inf) -> bool:
        """Whether an operation may go.

        :param since: the moment, in milliseconds, at which an earlier one began.
        """
        if row.state not in ENDED or row.last:
            return False
        if any(row.n >= self.from_n[key] for key in (None, row.device_n) if key in self.from_n):
            return False
        before = self.ended_before.get("pkg" if row.batch else row.kind, 0)
        if any(paper.kind == Z for paper in row.documents):
            before = min(before, self.z_before)
        # A row without an end was put in from outside; `db check` tells of it.
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


def ages(now: int, receipts: int, payments: int) -> Rules:
    """The rules at a moment, for so many days."""
    longer = max(receipts, payments)
    before = {kind: now - receipts * DAY for kind in RECEIPTS}
    before |= {kind: now - payments * DAY for kind in PAYMENTS}
    before |= {kind: now - longer * DAY for kind in BATCHES}
    return Rules(before, now - max(Z_DAYS, longer) * DAY)


class Retention:
    """Looks for what has grown old, and removes it.

    :param most: how much at once.
    :param travels: whether the clock is moved on purpose, so that an operation is as old as its date says.
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
    ) -> None:
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
        """Look from now on; the first look is not at once, when all tills want something."""
        self._stopping = False
        self._loop.start(EVERY, now=False)

    def soon(self) -> None:
        """Look now: the clock was moved."""
        self._again = self._working is not None
        self._look()

    @property
    def idle(self) -> bool:
        """Whether nothing is being looked at."""
        return self._working is None

    async def stop(self) -> None:
        """Look no more; nothing is under way when this returns."""
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
        """Whether the machine's clock has leapt so far, and so lately, that no age is to be believed."""
        ahead, now = self._clock.ahead(), self._clock.steady()
        if ahead - self._trusted > LEAP:
            if self._doubted_since is None:
                self._doubted_since = now
                self.log.warn(
                    "the machine's clock has leapt forwards by {days:.1f} days; see that it is right: "
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
        except StoreFailed as error:
            self.log.warn("what has grown old stays for now: {why}", why=str(error))
        except CancelledError:
            pass
        except Exception:
            self.log.failure("what has grown old stays: a fault of ours")

    async def remove(self) -> int:
        """Remove everything that may go; how many operations that was.

        :raises StoreFailed: when the store fails; what is not removed is so at the next look.
        """
        begun = self._clock.seconds()
        rules = await self._rules()
        removed, passed = await self._operations(rules)
        if removed:
            seals = await self._seals(passed)
            spent = self._clock.seconds() - begun
            self.log.info(
                "{n} operations had grown old and were removed in {spent:.0f} s, with {seals} seals",
                n=removed,
                seals=seals,
                spent=spent,
            )
        for device_n, needs in rules.registers.items():
            while needs is not None and not self._stopping:
                if not await self._look_at(self._store.forget_codes(device_n, needs.shift)):
                    break
                reached("retention.codes-forgotten")
        return removed

    async def _rules(self) -> Rules:
        # Not as this service remembers them: another one on the same database may have changed them.
        kept = await self._settings.kept()
        rules = ages(self._clock.now(), kept.packdays, kept.paydays)
        for chain in await self._store.chains():
            stored = await self._store.register_state(chain.device_n)
            if stored is not None:
                rules.registers[chain.device_n] = needs_of(stored)
        for row in await self._store.unresolved(None):
            place = None if row.kind in BATCHES else row.device_n
            rules.from_n[place] = min(row.n, rules.from_n.get(place, row.n))
        return rules

    async def _operations(self, rules: Rules) -> tuple[int, int]:
        """Remove operations; how many, and the number of the first one that was too young to be looked at."""
        after = removed = 0
        since = -inf
        now = self._clock.now()
        found: dict[int, list[int]] = {}
        self._anchors = {}
        while not self._stopping:
            rows = await self._look_at(self._store.aged(after, PAGE))
            # The clock may have been set back meanwhile: one young row among old ones says nothing.
            if not rows or all(rules.young(row) for row in rows):
                removed += await self._remove(found, 1)
                return removed, rows[0].n if rows else after + 1
            after = rows[-1].n
            for row in rows:
                if row.at <= now and not self._travels:
                    since = max(since, row.at)
                if rules.goes(row, since):
                    found.setdefault(row.device_n, []).append(row.n)
            removed += await self._remove(found)
        return removed, 0

    async def _remove(self, found: dict[int, list[int]], least: int = 0) -> int:
        """Remove of what was found in whole steps, or in steps of ``least`` operations or more; how many that was."""
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
        """Where the chain of a device begins; `None` when it has none."""
        if device_n not in self._anchors:
            self._anchors = {chain.device_n: chain.anchor for chain in await self._store.chains()}
        return self._anchors.get(device_n)

    async def _cut(self, device_n: int, operations: list[int], dropped: list[int], renewed: dict[int, bytes]) -> bool:
        """One step at a device; whether it was done."""
        anchor = await self._anchor(device_n)
        if anchor is None:
            return False
        begun = self._clock.seconds()
        kept = await self._store.cut(Cut(device_n, anchor, operations, dropped, renewed))
        await self._pause_after(begun, kept or 0.0, len(operations) + len(dropped))
        if kept is None:
            # Another service was quicker: the chain begins elsewhere by now.
            del self._anchors[device_n]
        return kept is not None

    async def _seals(self, passed: int) -> int:
        """Drop the oldest seals, up to that of an operation that is too young, ``passed`` or later; how many."""
        left = sum(chain.count - chain.removed for chain in await self._store.chains())
        after = dropped = 0
        while left > dropped and not self._stopping:
            seals = await self._look_at(self._store.seals(after, min(SEALS, left - dropped)))
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
        """Drop these, the oldest of a device, in steps, up to a gap; how many that was."""
        dropped = 0
        while dropped < len(seals) and not self._stopping:
            part = list(_following(seals[dropped : dropped + self._pace.size], await self._anchor(device_n)))
            if not part:
                break
            renewed = {seal.operation_n: seal.content for seal in part if _stays(seal)}
            if not await self._cut(device_n, [], [seal.n for seal in part], renewed):
                break
            self._anchors[device_n] = part[-1].chain
            dropped += len(part)
            reached("retention.seals-cut")
        return dropped

    async def _look_at(self, asked: Awaitable[T]) -> T:
        """What is asked for, with a rest after it as if it had kept the store all the time."""
        begun = self._clock.seconds()
        found = await asked
        await self._pause_after(begun, max(self._clock.seconds() - begun, 0.0), 0)
        return found

    async def _pause_after(self, begun: float, own: float, done: int) -> None:
        """Leave the database to the tills for a while."""
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


def _by_device(seals: Iterable[SealRow]) -> list[tuple[int, list[SealRow]]]:
    found: dict[int, list[SealRow]] = {}
    for seal in seals:
        found.setdefault(seal.device_n, []).append(seal)
    return list(found.items())


def _following(seals: Iterable[SealRow], before: bytes | None) -> Iterable[SealRow]:
    """The seals that go on from ``before``, up to a gap.

    What is missing was taken away by somebody, and the gap is the proof; or another service keeps it at this moment.
    """
    for seal in seals:
        if before is None or link(before, seal.device_n, seal.operation_n, seal.content) != seal.chain:
            return
        before = seal.chain
        yield seal


def _stays(seal: SealRow) -> bool:
    """Whether the operation is there and this is its seal."""
    return seal.newest and seal.operation_n != 0 and seal.actual is not None


def _old(seals: Iterable[SealRow], passed: int) -> Iterable[SealRow]:
    """The first seals that may go.

    It ends before the first one whose operation is young, and before one that its rows do not fit: what somebody
    has changed is not to be sealed anew, and its seal is the proof.
    """
    for seal in seals:
        if seal.newest and seal.operation_n:
            if seal.operation_n >= passed:
                return
            if seal.content != (removal(seal.operation_n) if seal.actual is None else seal.actual):
                return
        yield seal
