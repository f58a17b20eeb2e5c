"""The verbs of :class:`~dmtwisted.store.interface.IStore` for whoever can ask a question and await its value."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.store.values import (
    AgedRow,
    ChainRow,
    ConcludedRow,
    Cut,
    DeviceRow,
    DocumentQuery,
    FoundDocuments,
    FoundOperations,
    Intent,
    OperationQuery,
    OperationRow,
    Outcome,
    Reserved,
    SealRow,
    StoreFailed,
)


class Verbs:
    """Each verb as a question to :meth:`_ask`."""

    damage = ""
    """Why the database can be read at best; empty while all is well."""

    intents = 0
    """How many intents were asked to be kept: who works beside the tills sees that they sell."""

    async def open_damaged(self, damage: str) -> None:
        """Serve what can be read; of a database that is never told damaged there is nothing to serve."""
        raise StoreFailed(damage)

    def _ask(self, verb: str, *arguments: Any) -> Deferred[Any]:
        raise NotImplementedError("a store says how it asks")

    async def devices(self) -> list[DeviceRow]:
        """Every device, oldest first."""
        found: list[DeviceRow] = await self._ask("devices")
        return found

    async def add_device(self, dev_id: str, name: str, kind: str, driver: str, settings: bytes) -> DeviceRow:
        """Keep a new device."""
        added: DeviceRow = await self._ask("add_device", dev_id, name, kind, driver, settings)
        return added

    async def change_device(self, n: int, name: str, settings: bytes) -> None:
        """Change name and settings of a device."""
        await self._ask("change_device", n, name, settings)

    async def remove_device(self, n: int) -> None:
        """Forget a device."""
        await self._ask("remove_device", n)

    async def settings(self) -> dict[str, bytes]:
        """The settings of the service."""
        found: dict[str, bytes] = await self._ask("settings")
        return found

    async def change_settings(self, changes: dict[str, bytes]) -> None:
        """Set each of ``changes``."""
        await self._ask("change_settings", changes)

    async def reserve(self, intent: Intent) -> Reserved:
        """Keep an intent before its effect."""
        self.intents += 1
        reserved: Reserved = await self._ask("reserve", intent)
        return reserved

    async def conclude(self, outcome: Outcome) -> None:
        """Keep what became of an operation."""
        await self._ask("conclude", outcome)

    async def accept_document(self, n: int, number: int, fiscal_number: str) -> None:
        """Keep that one document was accepted."""
        await self._ask("accept_document", n, number, fiscal_number)

    async def find(self, device_n: int, kind: str, key: str) -> OperationRow | None:
        """The latest operation with that key that is done."""
        found: OperationRow | None = await self._ask("find", device_n, kind, key)
        return found

    async def unresolved(self, device_n: int | None) -> list[OperationRow]:
        """Operations whose outcome nobody knows."""
        found: list[OperationRow] = await self._ask("unresolved", device_n)
        return found

    async def note(self, n: int, request: bytes) -> None:
        """Keep how far an operation came."""
        await self._ask("note", n, request)

    async def latest(self, device_n: int, kind: str, key: str) -> OperationRow | None:
        """The latest operation with that key, whatever became of it."""
        found: OperationRow | None = await self._ask("latest", device_n, kind, key)
        return found

    async def find_operations(self, query: OperationQuery) -> FoundOperations:
        """Operations, newest first."""
        found: FoundOperations = await self._ask("find_operations", query)
        return found

    async def find_documents(self, query: DocumentQuery) -> FoundDocuments:
        """Accepted documents, by their time."""
        found: FoundDocuments = await self._ask("find_documents", query)
        return found

    async def sent_documents(self, device_n: int, number_from: int, limit: int) -> list[tuple[int, bytes]]:
        """Local numbers and exact bytes of accepted documents."""
        found: list[tuple[int, bytes]] = await self._ask("sent_documents", device_n, number_from, limit)
        return found

    async def sold_codes(self, device_n: int, shift: int) -> dict[str, int]:
        """The item codes that a shift has sold, with their tax groups."""
        found: dict[str, int] = await self._ask("sold_codes", device_n, shift)
        return found

    async def register_state(self, device_n: int) -> bytes | None:
        """The state of a register."""
        found: bytes | None = await self._ask("register_state", device_n)
        return found

    async def chains(self) -> list[ChainRow]:
        """The chain of seals of each device."""
        found: list[ChainRow] = await self._ask("chains")
        return found

    async def seals(self, after: int, limit: int) -> list[SealRow]:
        """The next seals, with what they stand for."""
        found: list[SealRow] = await self._ask("seals", after, limit)
        return found

    async def concluded(self, after: int, limit: int) -> list[ConcludedRow]:
        """The next operations that have an outcome."""
        found: list[ConcludedRow] = await self._ask("concluded", after, limit)
        return found

    async def aged(self, after: int, limit: int) -> list[AgedRow]:
        """The next operations, as retention sees them."""
        found: list[AgedRow] = await self._ask("aged", after, limit)
        return found

    async def cut(self, step: Cut) -> float | None:
        """Remove what has grown old, and tell how long that kept the database."""
        kept: float | None = await self._ask("cut", step)
        return kept

    async def forget_codes(self, device_n: int, shift: int) -> int:
        """Forget the item codes of the oldest shift before one."""
        forgotten: int = await self._ask("forget_codes", device_n, shift)
        return forgotten
