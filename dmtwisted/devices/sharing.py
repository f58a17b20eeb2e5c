"""Devices where several services share one database: each device is one service's at a time (docs/databases.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from dmtwisted.results import Refused, Res
from dmtwisted.store.claims import Claim, Claims
from dmtwisted.store.interface import IStore


class Sharing:
    """Whether a device is ours. Where the store is ours alone, every device is.

    :param renew: builds the device with that ``dev_id`` anew from what the store holds.
    """

    def __init__(self, store: IStore, renew: Callable[[str], Awaitable[None]]) -> None:
        self._renew = renew
        self.taken: list[Callable[[int], Awaitable[None]]] = []
        """Who is told the number of each device that was another service's until now, once it is built anew."""
        self._claims: Claims | None = getattr(store, "claims", None)

    @property
    def shared(self) -> bool:
        """Whether there may be other services."""
        return self._claims is not None

    async def resume(self, device_n: int) -> bool:
        """Whether the device is ours to see to at the start, without a task for it.

        :raises StoreFailed: when the database cannot say.
        """
        return self._claims is None or await self._claims.resume(device_n)

    def may_be_another(self, device_n: int) -> bool:
        """Whether another service may have changed the device since it was built here."""
        return self._claims is not None and not self._claims.holds(device_n)

    async def own(self, device_n: int, dev_id: str) -> None:
        """See to it that the device is ours; its turn is the caller's.

        :raises Refused: 1105 when it is another service's.
        :raises StoreFailed: when the database cannot say.
        """
        if self._claims is None:
            return
        claim = await self._claims.claim(device_n)
        if claim is Claim.ELSEWHERE:
            raise Refused(Res.DEVICE_BUSY)
        if claim is Claim.TAKEN:
            # Its settings may be others by now, and what it remembers is of another day.
            await self._renew(dev_id)
            for learn in self.taken:
                await learn(device_n)
            self._claims.renewed(device_n)
