"""The interface of every register (docs/reference/http-interface.md#register-families)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.documents.documents import Receipt
from dmtwisted.documents.model import Element
from dmtwisted.registers.channels.interface import OutletRecord, ProtocolFound, SaidOfKey
from dmtwisted.registers.totals import UnheardReceipt
from dmtwisted.requests import ReceiptRequest, TaskRequest
from dmtwisted.results import Text
from dmtwisted.store.values import LetterRow, OperationRow

OPEN_SHIFT, SALE, RETURN, CASH_IN, CASH_OUT, SERVICE_REPORT = 0, 1, 2, 3, 4, 5
X_REPORT, Z_REPORT, SUMMARY_BY_NUMBER, SUMMARY_BY_DATE = 10, 11, 12, 13
WITHDRAWAL, INCOME, EXPENSE, STORNO = 14, 15, 16, 17
STATUS, NUMBER, LAST_NUMBERS, LAST_COPY, COPY = 18, 20, 21, 22, 23
"""Task numbers (docs/reference/http-interface.md#register-tasks)."""

TAGGED = frozenset({OPEN_SHIFT, SALE, RETURN, CASH_IN, CASH_OUT, Z_REPORT, WITHDRAWAL, INCOME, EXPENSE})
"""Tasks that are done once for a ``tag`` (specification 3.3)."""

PRINTED = frozenset({*range(1, 6), *range(10, 18), LAST_COPY, COPY})
"""Tasks whose paper is printed."""


class Done(NamedTuple):
    """A task that succeeded."""

    answer: bytes
    form: Callable[[], list[Element]] | None = None
    """Makes the form of its paper."""
    paper: str = ""
    """The name of its paper, the same for a repeat of the task; empty when each repeat has its own paper."""
    cash: bool = False
    """Whether the drawer opens."""


class Repeats(NamedTuple):
    """Callers that asked again for a stored answer: how many, and when the last one did."""

    times: int
    at: int


class IRegister(Interface):
    """A fiscal register. The caller holds the device's turn, so one task runs at a time."""

    async def perform(request: TaskRequest, language: str) -> Done:
        """Do a task of ``type`` 1.

        :raises Refused: when it ended with a result other than success.
        """

    async def look_up(request: TaskRequest) -> Done:
        """The stored answer for the request's ``tag`` (specification 3.3).

        :raises Refused: 1058 when there is none.
        """

    async def rehearse(request: TaskRequest) -> Receipt:
        """The receipt that a sale or return would make, without making it.

        :raises Refused: when it breaks a rule or may not be made now.
        """

    def owed(asked: ReceiptRequest) -> int:
        """The amount due of a receipt without its payments, in kopecks.

        :raises Refused: when its items break a rule.
        """

    async def check_change(settings: msgspec.Struct) -> None:
        """See that the register's settings may become ``settings`` now.

        :raises Refused: when they may not.
        """

    async def resolve() -> None:
        """Find out what became of every operation whose outcome is unknown.

        :raises Refused: 1075 when the tax service cannot be asked now.
        """

    async def go_offline(language: str) -> None:
        """Go offline: documents get numbers of the register's own until it comes back.

        :raises Refused: 1052, 1053, 1056 or 1117 when it may not.
        """

    async def go_online(language: str) -> None:
        """Hand in everything that was made offline and come back.

        :raises Refused: 1054 when it is online, 1085 when it turns out to be; as the tax service refuses, and then it
            stays offline.
        """

    away = Attribute("Whether it went offline by itself, and so comes back by itself.")
    watched = Attribute("Whether its link is checked while it is online: it may go offline without the link.")
    probe_s = Attribute("Seconds between two checks of the link, and two tries to come back by itself.")

    async def answers() -> bool:
        """Whether its tax service answers now; needs no turn and changes nothing."""

    async def come_home(language: str) -> bool:
        """One step back online of a register that is `away`: a package of its documents, or the session's end.

        :returns: whether another step is due; the caller may give back the turn in between.
        :raises Refused: why not; it stays offline, and the same step is due again.
        """

    async def check() -> None:
        """Try the register without effect.

        :raises Refused: when it would not work.
        """

    async def state() -> dict[str, object]:
        """Shift, mode and cash, for people."""

    def close() -> None:
        """Close files and lines."""


@runtime_checkable
class Remembering(Protocol):
    """A register that remembers whose caller heard no success (`dmtwisted.registers.unheard`)."""

    def unheard(self) -> list[UnheardReceipt]:
        """Such receipts of this shift; the caller holds the device's turn."""

    def repeats(self, tag: str) -> Repeats | None:
        """How often the answer of this tag was asked for again since the service started; `None`: never."""

    async def remember(self) -> None:
        """Store what is known in memory only, before the register is closed.

        :raises StoreFailed: when the store did not confirm it.
        """


@runtime_checkable
class OnALine(Protocol):
    """A register with a line of its own, which takes one question or task at a time."""

    differing: tuple[Text, ...]
    """Where its figures differed from our books when they were read last."""

    async def settle(self, row: OperationRow, made: bool) -> None:
        """Close an open operation as a person says who has looked at the paper; what the machine says counts more.

        :raises Refused: 5074 when the operation is not open.
        """

    async def let_go(self) -> None:
        """Close the line until its next use, in a turn of the device."""


@runtime_checkable
class Reserves(Protocol):
    """A register that may need offline numbers reserved in advance."""

    @property
    def short(self) -> bool:
        """Whether they should be asked for now."""

    async def stock_up(self, language: str) -> None:
        """Ask for them, in a turn of the device.

        :raises Refused: when it is not known what became of the question, or of an earlier document.
        """


@runtime_checkable
class TellsMarks(Protocol):
    """A register that tells a marks service what it sold."""

    async def tell_mark(self, letter: LetterRow) -> None:
        """Tell one letter: see `dmtwisted.outbox.Send`."""


@runtime_checkable
class AsksMeanwhile(Protocol):
    """A register that asks for a lost answer while its caller waits."""

    def stop_asking(self) -> None:
        """Ask no more: the service stops, and the matter stays open."""


class ExaminedKey(NamedTuple):
    """A key that is not loaded: its members as in a register's state, and what the tax service says of it."""

    key: dict[str, object]
    said: SaidOfKey


@runtime_checkable
class TaxServiceRegister(Protocol):
    """What a register at the tax service does beyond `IRegister`: it has a signing key."""

    @property
    def unverified(self) -> bool:
        """Whether the tax service's answers count whoever signed them."""

    async def load_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> None:
        """Sign with the key in ``file`` from now on.

        :raises Refused: 2009 when the register is open, 2003 when the key cannot be read.
        """

    async def examine_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> ExaminedKey:
        """What the key in ``file`` is, and which registers the tax service has for it; nothing is kept or changed.

        :raises Refused: 2003 when the key cannot be read.
        """

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlets and registers that the key may be used for, as the tax service has them.

        :raises Refused: as the key is, or as the tax service answers.
        """

    async def find_protocol(self, other_url: str, language: str) -> ProtocolFound:
        """Ask both servers of the tax service which of them knows the register; nothing is changed.

        :param other_url: the address of the server that the settings do not name; empty: its usual one, or none for
            a register that works with a simulator.
        :raises Refused: 1093 without a fiscal number, and as the key is.
        """

    async def ahead(self) -> float | None:
        """Seconds that the tax service's clock is ahead of ours; `None` when it returns no time."""
