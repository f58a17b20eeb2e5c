"""The outlet of a register whose settings do not name it: asked from the tax service, and kept over restarts.

A register that is offline cannot ask, and neither can one that starts while the tax service is away. Both
sign with what the server said before.
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


class KnownOutlet:
    """The outlet of one register.

    :param number: the register's fiscal number. :param dev_id: its GUID, under which the outlet is kept.
    """

    log = Logger()

    def __init__(self, number: int, dev_id: str, store: IStore) -> None:
        self._number, self._place, self._store = number, f"outlet.{dev_id}", store
        self._kept: Outlet | None = None
        self._read = self._asked = False

    async def outlet(self, ask: Ask, offline: bool) -> Outlet:
        """The outlet; the server is asked once in each run, and while nothing is kept.

        :param offline: whether it is for a document made offline, for which the server is asked only if it has to be.
        :raises Refused: as ``ask`` does, when nothing is kept either.
        """
        if not self._read:
            self._kept, self._read = await self._recalled(), True
        kept = self._kept
        if kept is not None and (self._asked or offline):
            return kept
        # Asked once: a sale must not wait again and again for an answer that it can do without.
        self._asked = True
        try:
            fresh = msgspec.structs.replace(await ask(), number=self._number)
        except Refused:
            if kept is None:
                raise
            # Whether the register may still be used, the server answers to the document itself.
            return kept
        if fresh != kept:
            await self._store.change_settings({self._place: msgspec.json.encode(fresh)})
            self._kept = fresh
        return fresh

    async def _recalled(self) -> Outlet | None:
        value = (await self._store.settings()).get(self._place)
        if value is None:
            return None
        try:
            kept = msgspec.json.decode(value, type=Outlet)
        except msgspec.MsgspecError as error:
            self.log.error("{place} cannot be read: {why}", place=self._place, why=str(error))
            return None
        # A device whose settings name another register now has another outlet.
        return kept if kept.number == self._number else None
