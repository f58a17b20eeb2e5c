"""What the rooms above ask of a database: each verb is declared once, here.

Every store keeps the same promises, and one contract suite checks them:

* a verb that returned is durable: it outlives the process and, if the disk is honest, a power cut;
* a verb is one transaction: all of it or nothing;
* a verb that fails with `StoreFailed` may or may not have happened; the caller reads again to find out;
* a verb that gives an operation its outcome also seals it (`dmtwisted.store.seals`), and so does each verb that
  changes the operation afterwards;
* the seal of an outcome is its event (`IStore.events`): nothing else is written for it;
* a verb that is given a `values.Change` keeps it in the same transaction, sealed like an outcome;
* what a verb returns is committed: no caller sees a row that a crash could still take away.
"""

# The declaration of a verb has no body: its decorator adds one that sends it.
# mypy: disable-error-code="empty-body"
# ruff: noqa: B027

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar, TypeVarTuple

from dmtwisted.store import values

VERBS: list[str] = []
"""The names of all verbs."""

READS: set[str] = set()
"""Verbs that change nothing; they work even when the disk takes no more writes."""

Ts = TypeVarTuple("Ts")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])


def _named(declared: F) -> F:
    """Declare a verb that has a body of its own."""
    VERBS.append(declared.__name__)
    return declared


def _writes(
    declared: Callable[[IStore, *Ts], Coroutine[Any, Any, V]],
) -> Callable[[IStore, *Ts], Coroutine[Any, Any, V]]:
    """Declare a verb. Its arguments are positional."""
    name = declared.__name__

    @_named
    @wraps(declared)
    async def send(self: IStore, *arguments: *Ts) -> V:
        value: V = await self._ask(name, arguments)
        return value

    return send


def _reads(
    declared: Callable[[IStore, *Ts], Coroutine[Any, Any, V]],
) -> Callable[[IStore, *Ts], Coroutine[Any, Any, V]]:
    """Declare a verb that changes nothing."""
    READS.add(declared.__name__)
    return _writes(declared)


def functions_of(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """The function for each verb: the one of that name in ``modules``."""
    found = ChainMap(*map(vars, modules))
    return {name: found[name] for name in VERBS}


class IStore(ABC):
    """A database."""

    damage = ""
    """Why the database can only be read; empty when it is in order."""

    intents = 0
    """How many intents the store was asked to keep: background work sees by it that tills sell."""

    @abstractmethod
    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Awaitable[Any]:
        """Send a verb to the database."""

    @abstractmethod
    async def open(self) -> None:
        """Make the store ready: schema brought up to date, file or server reachable.

        :raises StoreDamaged: when the database is there but unusable.
        :raises StoreFailed: when the store cannot be opened for another reason.
        """

    async def open_damaged(self, damage: str) -> None:
        """Serve what can be read after `open` has raised `StoreDamaged`; verbs that write fail with ``damage``."""
        raise values.StoreFailed(damage)

    @abstractmethod
    async def close(self) -> None:
        """Finish what is under way and release the database."""

    @_reads
    async def devices(self) -> list[values.DeviceRow]:
        """Every device, oldest first."""

    @_named
    async def add_device(
        self,
        dev_id: str,
        name: str,
        kind: str,
        driver: str,
        settings: bytes,
        change: values.Change | None = None,
    ) -> values.DeviceRow:
        """Keep a new device.

        :raises NameTaken: when another device has the name.
        """
        added: values.DeviceRow = await self._ask("add_device", (dev_id, name, kind, driver, settings, change))
        return added

    @_named
    async def change_device(self, n: int, name: str, settings: bytes, change: values.Change | None = None) -> None:
        """Change name and settings of a device.

        :raises NameTaken: when another device has the name.
        """
        await self._ask("change_device", (n, name, settings, change))

    @_named
    async def remove_device(self, n: int, change: values.Change | None = None) -> None:
        """Remove a device; its history stays."""
        await self._ask("remove_device", (n, change))

    @_reads
    async def settings(self) -> dict[str, bytes]:
        """The settings of the service, by name."""

    @_named
    async def change_settings(self, changes: dict[str, bytes], change: values.Change | None = None) -> None:
        """Set each of ``changes``; other settings stay as they are."""
        await self._ask("change_settings", (changes, change))

    @_writes
    async def record(self, change: values.Change) -> int:
        """Keep a change of something that is not in the database; return its number, for `note`."""

    @_named
    async def reserve(self, intent: values.Intent) -> values.Reserved:
        """Keep an intent before its effect, unless its device has an operation of that kind and key already.

        Refused operations do not count: their key is free again. Its marks are reserved with it, or nothing is.
        """
        self.intents += 1
        reserved: values.Reserved = await self._ask("reserve", (intent,))
        return reserved

    @_writes
    async def conclude(self, outcome: values.Outcome) -> None:
        """Keep the outcome of an operation, with its documents and the state of its register."""

    @_named
    async def conclude_at_once(self, intent: values.Intent, outcome: values.Outcome) -> values.Reserved:
        """Keep an intent together with its outcome: nothing of it leaves this machine before both are stored.

        As `reserve` and then `conclude` of the new operation, whose number ``outcome`` does not know; if `reserve`
        stores nothing, neither does this.
        """
        self.intents += 1
        reserved: values.Reserved = await self._ask("conclude_at_once", (intent, outcome))
        return reserved

    @_writes
    async def accept_document(self, n: int, number: int, fiscal_number: str) -> None:
        """Keep that one of several documents of the operation ``n`` was accepted."""

    @_reads
    async def find(self, device_n: int, kind: str, key: str) -> values.OperationRow | None:
        """The latest operation of that kind with that key that is done."""

    @_reads
    async def unresolved(self, device_n: int | None) -> list[values.OperationRow]:
        """Operations intended or unknown, oldest first, of one device or of all, with their documents."""

    @_writes
    async def note(self, n: int, request: bytes) -> None:
        """Keep how far the operation ``n`` came: replaces its request."""

    @_reads
    async def latest(self, device_n: int, kind: str, key: str) -> values.OperationRow | None:
        """The latest operation of that kind with that key, whatever its outcome; of all keys when it is empty."""

    @_reads
    async def find_operations(self, query: values.OperationQuery) -> values.FoundOperations:
        """Operations, newest first, without their documents."""

    @_reads
    async def find_documents(self, query: values.DocumentQuery) -> values.FoundDocuments:
        """Accepted documents, by their time."""

    @_reads
    async def sent_documents(self, device_n: int, number_from: int, limit: int) -> list[tuple[int, bytes]]:
        """Local numbers and exact bytes of accepted documents, from a local number on, in their order."""

    @_reads
    async def sold_codes(self, device_n: int, shift: int) -> dict[str, int]:
        """The item codes that a shift has sold, with their tax groups."""

    @_reads
    async def register_state(self, device_n: int) -> bytes | None:
        """The state of a register as its last operation left it."""

    # Excise marks

    @_reads
    async def find_marks(self, wanted: list[str]) -> list[values.MarkRow]:
        """The receipts that hold any of these marks."""

    # The outbox

    @_writes
    async def post(self, letters: list[values.Letter]) -> None:
        """Keep letters that belong to no outcome."""

    @_reads
    async def next_letter(self, kinds: list[str]) -> int | None:
        """When the first letter of these kinds that waits is due, in milliseconds since 1970; `None`: none waits."""

    @_writes
    async def take_letters(self, kinds: list[str], now: int, until: int, limit: int) -> list[values.LetterRow]:
        """Letters that are due, to be tried now: nobody else gets them before ``until``, nor after a crash."""

    @_writes
    async def put_letter(self, n: int, due: int, dead: bool, why: str) -> None:
        """Keep a letter for another try at ``due``, or as ``dead``."""

    @_writes
    async def drop_letter(self, n: int) -> None:
        """Remove a letter: it was told, or nobody wants it told any more."""

    @_reads
    async def find_letters(self, kinds: list[str], dead: bool, limit: int, after: int) -> list[values.LetterRow]:
        """The next letters after the number ``after`` that wait, or dead ones, oldest first."""

    # Events

    @_reads
    async def events(self, after: int, limit: int, devices: list[int]) -> values.EventPage:
        """The next events after the place ``after``, at most ``limit``, of some devices or of all.

        The places of a device are in the order of its outcomes, and no event appears at or before ``until`` later.
        One question looks at a bounded number of rows, so there may be more although it found none: then ``until`` is
        beyond ``after``. An operation that retention has removed is no event any more, only ``gone``.
        """

    @_reads
    async def last_event(self) -> values.EventPlace:
        """The place after which everything is still to come."""

    # Subscribers of events

    @_reads
    async def hook_cursors(self) -> list[values.HookCursor]:
        """How far every subscriber is."""

    @_writes
    async def keep_cursors(self, cursors: list[values.HookCursor], dead: list[values.DeadLetter]) -> None:
        """Keep how far subscribers are, each in place of what was known, with letters that are dead now.

        One that is farther by now stays: another service may have gone on since the caller knew it.
        """

    @_writes
    async def drop_cursors(self, subscriber: str) -> None:
        """Forget how far a subscriber was."""

    # Verification: was the journal changed from outside?

    @_reads
    async def chains(self) -> list[values.ChainRow]:
        """The chain of seals of each device that has one."""

    @_reads
    async def seals(self, after: int, limit: int) -> list[values.SealRow]:
        """The next seals after the number ``after``, in their order, with what they seal."""

    @_reads
    async def concluded(self, after: int, limit: int) -> list[values.ConcludedRow]:
        """The next operations after the number ``after`` that have an outcome, in their order."""

    # Retention

    @_reads
    async def aged(self, after: int, limit: int) -> list[values.AgedRow]:
        """The next operations after the number ``after``, in their order, as retention sees them."""

    @_writes
    async def cut(self, step: values.Cut) -> float | None:
        """Remove what has grown old; return for how many seconds that blocked the database.

        `None`, and nothing is removed, when the chain begins elsewhere by now.
        """

    @_writes
    async def forget_codes(self, device_n: int, shift: int) -> int:
        """Remove the item codes of the oldest shift before ``shift``; return how many, 0 when none is left."""

    @_writes
    async def forget_marks(self, before: int, limit: int) -> int:
        """Remove marks that were sold before this time, at most ``limit``; return how many."""
