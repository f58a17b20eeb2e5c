"""Who issues a register's documents where its settings do not say: as the tax service told it, kept over restarts.

A register that is offline cannot ask, and one whose service was started while the tax service is away has never asked
in this run; both sign with what the server said before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from twisted.logger import Logger

from dmtwisted.registers.channels.tax_documents import Outlet
from dmtwisted.results import Refused
from dmtwisted.store.interface import IStore

Ask = Callable[[], Awaitable[Outlet]]
"""Asks the tax service for the outlet.

:raises Refused: when it does not say.
"""


class KeptOutlet(msgspec.Struct, frozen=True, omit_defaults=True):
    """An outlet as the store has it, with the fiscal number of the register that it belongs to."""

    number: int
    tin: str
    ipn: str = ""
    org_name: str = ""
    point_name: str = ""
    address: str = ""


class KnownOutlet:
    """The outlet of one register.

    :param number: the register's fiscal number. :param dev_id: its GUID, under which the outlet is kept.
    """

    log = Logger()

    def __init__(self, number: int, dev_id: str, store: IStore) -> None:
        self._number, self._place, self._store = number, f"outlet.{dev_id}", store
        self._kept: KeptOutlet | None = None
        self._read = self._asked = False

    async def outlet(self, ask: Ask, offline: bool) -> Outlet:
        """The outlet; the server is asked once in each run, and while nothing is kept.

        :param offline: whether it is for a document made offline, for which nobody is asked who need not be.
        :raises Refused: as ``ask`` does, when nothing is kept either.
        """
        if not self._read:
            self._kept, self._read = await self._recalled(), True
        kept = self._kept
        if kept is None or not (self._asked or offline):
            # A sale must not wait again and again for an answer that it can do without.
            self._asked = True
            try:
                told = await ask()
            except Refused:
                if kept is None:
                    raise
                # Whether the register may still be used so is said by the server to the document itself.
                return _outlet(kept)
            kept = await self._keep(told)
        return _outlet(kept)

    async def _recalled(self) -> KeptOutlet | None:
        value = (await self._store.settings()).get(self._place)
        if value is None:
            return None
        try:
            kept = msgspec.json.decode(value, type=KeptOutlet)
        except msgspec.MsgspecError as error:
            self.log.error("{place} cannot be read: {why}", place=self._place, why=str(error))
            return None
        # A device that was given another register's number has another outlet.
        return kept if kept.number == self._number else None

    async def _keep(self, told: Outlet) -> KeptOutlet:
        """Keep what the server said; it is used once the store has confirmed it."""
        fresh = KeptOutlet(
            number=self._number,
            tin=told.tin,
            ipn=told.ipn,
            org_name=told.org_name,
            point_name=told.point_name,
            address=told.address,
        )
        if fresh != self._kept:
            await self._store.change_settings({self._place: msgspec.json.encode(fresh)})
        self._kept = fresh
        return fresh


def _outlet(kept: KeptOutlet) -> Outlet:
    return Outlet(
        tin=kept.tin, ipn=kept.ipn, org_name=kept.org_name, point_name=kept.point_name, address=kept.address
    )
