"""Check that the journal is unchanged: find the first row that does not match its seal (`dmtwisted.store.seals`)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from dmtwisted.store.interface import IStore
from dmtwisted.store.seals import GENESIS, link, mark, removal
from dmtwisted.store.values import ChainRow, SealRow

PAGE = 200
"""Seals in one step of `verify`: some milliseconds, so that sales do not wait."""


class Wrong(StrEnum):
    """What can be wrong with a journal."""

    CHANGED = "changed"
    """An operation or one of its documents is not what was sealed."""
    REMOVED = "removed"
    """An operation was sealed and is not there."""
    UNSEALED = "unsealed"
    """A concluded operation was never sealed: no service wrote it."""
    BROKEN = "broken"
    """A seal does not follow from the one before it: it was changed, moved or inserted, or others are missing."""
    CUT = "cut"
    """The chain does not end where it should: its last rows are missing, or rows were added after them."""


_WORDS = {
    Wrong.CHANGED: "it or one of its documents was changed after it was stored",
    Wrong.REMOVED: "it was removed",
    Wrong.UNSEALED: "it was inserted from outside",
    Wrong.BROKEN: "its seal does not follow from the one before: rows were changed, removed, inserted or moved here",
    Wrong.CUT: "it is the last one of its device that matches; what follows was removed, or inserted from outside",
}


class Flaw(msgspec.Struct, frozen=True):
    """The first bad row. ``operation_n`` is 0 when no operation can be named."""

    wrong: Wrong
    device_n: int
    operation_n: int

    def __str__(self) -> str:
        """One line for a person."""
        row = f"operation {self.operation_n}" if self.operation_n else "its chain of seals"
        return f"device {self.device_n}, {row}: {_WORDS[self.wrong]}"


class Walk:
    """Follows the chains of all devices, seal by seal. Does no I/O; for `verify` and for offline tools.

    :param chains: the rows of `chain`, read before the first seal was.
    """

    def __init__(self, chains: Iterable[ChainRow]) -> None:
        self.chains = {chain.device_n: chain for chain in chains}
        self._ends = {n: chain.anchor for n, chain in self.chains.items()}
        self._last: dict[int, int] = {}
        self._marks: dict[int, bytes] = {}
        self._reached: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self.after = 0
        self.seen = 0

    def take(self, seals: Iterable[SealRow]) -> Flaw | None:
        """The next seals, in the order of their ``n``; the first one that is wrong, if any."""
        for seal in seals:
            reached = self._reached.get(seal.device_n)
            if reached is not None and seal.n <= reached:
                # Checked before `go_back`.
                self.after = seal.n
                continue
            before = self._ends.get(seal.device_n, GENESIS)
            if link(before, seal.device_n, seal.operation_n, seal.content) != seal.chain:
                return Flaw(Wrong.BROKEN, seal.device_n, seal.operation_n)
            if not seal.operation_n:
                self._marks[seal.device_n] = seal.content
            elif seal.newest and seal.actual != seal.content:
                if seal.actual is not None:
                    return Flaw(Wrong.CHANGED, seal.device_n, seal.operation_n)
                if seal.content != removal(seal.operation_n):
                    return Flaw(Wrong.REMOVED, seal.device_n, seal.operation_n)
            self._ends[seal.device_n] = seal.chain
            self._last[seal.device_n] = seal.operation_n
            self._reached[seal.device_n] = self.after = seal.n
            self.seen += 1
        return None

    def go_back(self, device_n: int) -> bool:
        """Continue after the last checked seal of a device, once from each such place; return whether it is possible.

        The seals of one device come in the order of their ``n``, those of several devices do not: while a store is at
        work, a seal may be stored after a seal of another device with a higher ``n`` was already checked.
        """
        place = self._reached.get(device_n, 0)
        if self._back.get(device_n) == place:
            return False
        self._back[device_n] = self.after = place
        return True

    def end(self, chains: Iterable[ChainRow]) -> Flaw | None:
        """Check that the chains end where they should.

        :param chains: the rows of `chain`, read before the last page of seals turned out to be empty.
        """
        now = {chain.device_n: chain for chain in chains}
        for device_n in sorted({*now, *self._ends}):
            chain = now.get(device_n)
            if chain is None or chain.hash != self._ends.get(device_n, GENESIS) or not self._begins_right(chain):
                return Flaw(Wrong.CUT, device_n, self._last.get(device_n, 0))
        return None

    def _begins_right(self, chain: ChainRow) -> bool:
        """Whether the newest mark records the same beginning as the row of the chain."""
        if not chain.removed:
            return chain.anchor == GENESIS and chain.device_n not in self._marks
        return self._marks.get(chain.device_n) == mark(chain.device_n, chain.removed, chain.anchor)


async def verify(store: IStore, page: int = PAGE) -> Flaw | None:
    """The first bad row of the journal; `None` when there is none. The store may be in use meanwhile."""
    walking = Verification(store, page)
    while not await walking.step():
        pass
    return walking.flaw


class Verification:
    """`verify` in steps, to show its progress: ``walk.seen`` of ``total`` seals."""

    def __init__(self, store: IStore, page: int = PAGE) -> None:
        self._store, self._page = store, page
        self.walk: Walk | None = None
        self.flaw: Flaw | None = None
        self._concluded_after = 0

    @property
    def total(self) -> int:
        """How many seals there were at the beginning; 0 before the first step."""
        return 0 if self.walk is None else sum(chain.count - chain.removed for chain in self.walk.chains.values())

    async def step(self) -> bool:
        """Check the next rows; return whether this was the last step."""
        chains = await self._store.chains()
        if self.walk is None:
            self.walk = Walk(chains)
        seals = await self._store.seals(self.walk.after, self._page)
        flaw = self.walk.take(seals) if seals else self.walk.end(chains)
        if flaw is not None:
            if await self._moved():
                # Retention worked meanwhile: it removed the missing rows in order.
                self.walk = None
                return False
            if self.walk.go_back(flaw.device_n):
                return False
            self.flaw = flaw
            return True
        if seals:
            return False
        concluded = await self._store.concluded(self._concluded_after, self._page)
        self.flaw = next((Flaw(Wrong.UNSEALED, row.device_n, row.n) for row in concluded if not row.sealed), None)
        if concluded:
            self._concluded_after = concluded[-1].n
        return self.flaw is not None or not concluded

    async def _moved(self) -> bool:
        """Whether a chain begins elsewhere than before."""
        assert self.walk is not None
        known = self.walk.chains
        return any(
            chain.anchor != (GENESIS if chain.device_n not in known else known[chain.device_n].anchor)
            for chain in await self._store.chains()
        )
