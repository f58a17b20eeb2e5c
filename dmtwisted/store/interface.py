"""What the rooms above ask of a database.

Every implementation keeps the same promises, and one contract suite holds all of them to it:

* a verb that returned is durable: it outlives the process and, where the disk is honest, the power;
* a verb is one transaction: all of it or nothing;
* a verb that fails with `StoreFailed` may or may not have happened; whoever needs to know reads again;
* an operation that has an outcome is sealed (`dmtwisted.store.seals`) by the verb that gives it one, and anew by each
  verb that changes it afterwards;
* what a verb returns is committed: nobody is told of a row that a crash could still take away.
"""

from __future__ import annotations

from zope.interface import Attribute, Interface

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
)


class IStore(Interface):
    """A database."""

    damage = Attribute("Why the database can be read at best; empty while all is well.")
    intents = Attribute("How many intents it was asked to keep: who works beside the tills sees that they sell.")

    async def open() -> None:
        """Make the store ready: schema brought up to date, file or server reachable.

        :raises StoreDamaged: when it is there and cannot be worked with.
        :raises StoreFailed: when it cannot be.
        """

    async def open_damaged(damage: str) -> None:
        """Serve what can be read after `open` has raised `StoreDamaged`; verbs that write fail with ``damage``."""

    async def close() -> None:
        """Finish what is under way and let go of the database."""

    async def devices() -> list[DeviceRow]:
        """Every device, oldest first."""

    async def add_device(dev_id: str, name: str, kind: str, driver: str, settings: bytes) -> DeviceRow:
        """Keep a new device.

        :raises NameTaken: when another one has the name.
        """

    async def change_device(n: int, name: str, settings: bytes) -> None:
        """Change name and settings of a device.

        :raises NameTaken: when another one has the name.
        """

    async def remove_device(n: int) -> None:
        """Forget a device; its history stays."""

    async def settings() -> dict[str, bytes]:
        """The settings of the service, by name."""

    async def change_settings(changes: dict[str, bytes]) -> None:
        """Set each of ``changes``; others stay as they were."""

    async def reserve(intent: Intent) -> Reserved:
        """Keep an intent before its effect, unless its device has an operation of that kind and key already.

        Refused operations do not count: their key is free again.
        """

    async def conclude(outcome: Outcome) -> None:
        """Keep what became of an operation, with its documents and the state of its register."""

    async def accept_document(n: int, number: int, fiscal_number: str) -> None:
        """Keep that one of several documents of the operation ``n`` was accepted."""

    async def find(device_n: int, kind: str, key: str) -> OperationRow | None:
        """The latest operation of that kind with that key that is done."""

    async def unresolved(device_n: int | None) -> list[OperationRow]:
        """Operations intended or unknown, oldest first, of one device or of all, with their documents."""

    async def note(n: int, request: bytes) -> None:
        """Keep how far the operation ``n`` came, in place of what was kept of its request."""

    async def latest(device_n: int, kind: str, key: str) -> OperationRow | None:
        """The latest operation of that kind with that key, whatever became of it; of all keys when it is empty."""

    async def find_operations(query: OperationQuery) -> FoundOperations:
        """Operations, newest first, without their documents."""

    async def find_documents(query: DocumentQuery) -> FoundDocuments:
        """Accepted documents, by their time."""

    async def sent_documents(device_n: int, number_from: int, limit: int) -> list[tuple[int, bytes]]:
        """Local numbers and exact bytes of accepted documents, from a local number on, in their order."""

    async def sold_codes(device_n: int, shift: int) -> dict[str, int]:
        """The item codes that a shift has sold, with their tax groups."""

    async def register_state(device_n: int) -> bytes | None:
        """The state of a register as its last operation left it."""

    # What tells whether somebody else has written in it

    async def chains() -> list[ChainRow]:
        """The chain of seals of each device that has one."""

    async def seals(after: int, limit: int) -> list[SealRow]:
        """The next seals after the number ``after``, in their order, with what they stand for."""

    async def concluded(after: int, limit: int) -> list[ConcludedRow]:
        """The next operations after the number ``after`` that have an outcome, in their order."""

    # What grows old

    async def aged(after: int, limit: int) -> list[AgedRow]:
        """The next operations after the number ``after``, in their order, as retention sees them."""

    async def cut(step: Cut) -> float | None:
        """Remove what has grown old, and tell for how many seconds that kept the database.

        `None`, and nothing is removed, when the chain does not begin where it did.
        """

    async def forget_codes(device_n: int, shift: int) -> int:
        """Forget the item codes of the oldest shift before ``shift``; how many there were, 0 when none is left."""
