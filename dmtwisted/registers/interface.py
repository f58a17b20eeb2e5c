"""A register, whatever it is made of: it performs tasks and tells how it stands (design 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.documents.documents import Receipt
from dmtwisted.documents.model import Element
from dmtwisted.registers.channels.interface import OutletRecord
from dmtwisted.requests import ReceiptRequest, TaskRequest

OPEN_SHIFT, SALE, RETURN, CASH_IN, CASH_OUT, SERVICE_REPORT = 0, 1, 2, 3, 4, 5
X_REPORT, Z_REPORT, SUMMARY_BY_NUMBER, SUMMARY_BY_DATE = 10, 11, 12, 13
WITHDRAWAL, INCOME, EXPENSE, STORNO = 14, 15, 16, 17
STATUS, NUMBER, LAST_NUMBERS, LAST_COPY, COPY = 18, 20, 21, 22, 23
"""Task numbers (http-api 2.1)."""

TAGGED = frozenset({OPEN_SHIFT, SALE, RETURN, CASH_IN, CASH_OUT, Z_REPORT, WITHDRAWAL, INCOME, EXPENSE})
"""Tasks that are done once for a ``tag`` (specification 3.3)."""


PRINTED = frozenset({*range(1, 6), *range(10, 18), LAST_COPY, COPY})
"""Tasks whose paper a printer shall print (http-api 5); of the others nobody wants one."""


class Done(NamedTuple):
    """A task that succeeded."""

    answer: bytes
    form: Callable[[], list[Element]] | None = None
    """What can be printed of it, made only for whoever wants it."""
    paper: str = ""
    """What its paper is known by: a repeat of the task is the same paper; empty when each is one of its own."""
    cash: bool = False
    """Whether cash changed hands, so that the drawer opens."""


class IRegister(Interface):
    """A fiscal register. Its caller holds the device's turn, so one task runs at a time."""

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
        """What a receipt without its payments comes to, in kopecks.

        :raises Refused: when its items break a rule.
        """

    async def check_change(settings: msgspec.Struct) -> None:
        """See that the register's settings may become ``settings`` now.

        :raises Refused: when they may not.
        """

    async def resolve() -> None:
        """Find out what became of every operation whose outcome is unknown.

        :raises Refused: 1075 when the far end cannot be asked now.
        """

    async def go_offline(language: str) -> None:
        """Give documents numbers of the register's own until it comes back.

        :raises Refused: 1052, 1053, 1056 or 1117 when it may not.
        """

    async def go_online(language: str) -> None:
        """Hand in everything that was made offline and come back.

        :raises Refused: 1054 when it is online, 1085 when it turns out to be; why the far end did not take it, and
            then it stays offline.
        """

    away = Attribute("Whether it went offline by itself, and so comes back by itself.")
    watched = Attribute("Whether its link is to be looked after while it is online: it may go offline without it.")
    probe_s = Attribute("Seconds between two looks at the link, and two tries to come back by itself.")

    async def answers() -> bool:
        """Whether its far end is there now; no turn is needed, and nothing happens."""

    async def come_home(language: str) -> bool:
        """One step back online of a register that is `away`: a package of its documents, or the session's end.

        :returns: whether another step is due; its turn may be given back in between.
        :raises Refused: why not; it stays offline, and the same step is due again.
        """

    async def check() -> None:
        """Try the register without effect.

        :raises Refused: when it would not work.
        """

    async def state() -> dict[str, object]:
        """How the register stands, for people: shift, mode, cash."""

    def close() -> None:
        """Let go of files and lines."""


@runtime_checkable
class TaxServiceRegister(Protocol):
    """What a register at the tax service does beyond `IRegister`: it has a signing key."""

    async def load_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> None:
        """Sign with the key in ``file`` from now on.

        :raises Refused: 2009 when the register is open, 2003 when the key cannot be read.
        """

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlets and registers that the key may be used for, as the tax service has them.

        :raises Refused: as the key is, or as the tax service answers.
        """

    async def ahead(self) -> float | None:
        """Seconds that the tax service's clock is before ours; `None` when it gives no time."""
