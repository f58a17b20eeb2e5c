"""Devices of services that share one database: one service at a time owns a device (docs/databases.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from dmtwisted.results import Refused, Res
from dmtwisted.store.claims import Claim, Claims
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed

HOUSE = -1
"""In place of the number of a device: what belongs to none. 0 will not do: every service writes for that."""


class Sharing:
    """Whether this service owns a device. It owns all of them when no other service uses the store.

    :param renew: builds the device with that ``dev_id`` again from what the store holds.
    """

    def __init__(self, store: IStore, renew: Callable[[str], Awaitable[None]]) -> None:
        self._renew = renew
        self.taken: list[Callable[[int], Awaitable[None]]] = []
        """Called with the number of each device that was taken over from another service, once it is built again."""
        self.resumed: list[Callable[[int], None]] = []
        """Called with the number of each device that this service owns at its start."""
        self._claims: Claims | None = getattr(store, "claims", None)

    @property
    def shared(self) -> bool:
        """Whether there may be other services."""
        return self._claims is not None

    async def resume(self, device_n: int) -> bool:
        """Whether this service owns the device at its start, without a task for it.

        :raises StoreFailed: when the database does not answer.
        """
        if self._claims is None:
            return True
        ours = await self._claims.resume(device_n)
        if ours:
            for resumed in self.resumed:
                resumed(device_n)
        return ours

    def may_be_another(self, device_n: int) -> bool:
        """Whether another service may have changed the device since it was built here."""
        return self._claims is not None and not self._claims.holds(device_n)

    @property
    def has_house(self) -> bool:
        """Whether this service is the one that sees to what belongs to no device."""
        return self._claims is None or self._claims.holds(HOUSE)

    async def own_house(self) -> bool:
        """Try to become that one; whether another service was it until now."""
        if self._claims is None or self._claims.holds(HOUSE):
            return False
        with suppress(StoreFailed):
            if await self._claims.claim(HOUSE) is Claim.TAKEN:
                self._claims.renewed(HOUSE)
                return True
        return False

    async def own(self, device_n: int, dev_id: str) -> None:
        """Take the device over if necessary; the caller holds its turn.

        :raises Refused: 1105 when another service owns it.
        :raises StoreFailed: when the database does not answer.
        """
        if self._claims is None:
            return
        claim = await self._claims.claim(device_n)
        if claim is Claim.ELSEWHERE:
            raise Refused(Res.DEVICE_BUSY)
        if claim is Claim.TAKEN:
            # Its settings may have changed, and what it has in memory is out of date.
            await self._renew(dev_id)
            for taken in self.taken:
                await taken(device_n)
            self._claims.renewed(device_n)
