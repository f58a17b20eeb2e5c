"""A bank terminal as the service sees it: orders, verdicts, and the methods of a driver.

A verdict is approved or declined. Any other end is *unknown* until the terminal has been asked. So a driver raises
`Refused` only when the terminal certainly took nothing, and a `WireError` when it may have taken the order.
See docs/reference/terminals.md#drivers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import msgspec
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from dmtwisted.results import Refused, Res
from dmtwisted.wording import wording


class Task(IntEnum):
    """``pay.task`` (specification 4.4)."""

    PAYMENT = 1
    REFUND = 2
    CANCEL = 3
    TRANSFER = 4
    BANK_SERVICE = 5
    READ_CARD = 6
    FINISH = 7
    DISCOUNT_CARD = 8
    TOTALS = 10
    SETTLEMENT = 11
    CASH_ISSUE = 14
    INSTALMENTS = 15
    INSTALMENTS_REFUND = 16
    STORED = 17


NAMES: dict[int, str] = {task: task.name.lower() for task in Task}
"""The word for each task, as the list of drivers shows what a protocol can do."""

TASKS: frozenset[int] = frozenset(Task)

LABELLED: frozenset[int] = TASKS - {Task.TOTALS}
"""Tasks whose operations carry a ``transaction_id``, in every answer (specification 4.4)."""

READING: frozenset[int] = frozenset({Task.DISCOUNT_CARD, Task.TOTALS})
"""Tasks that move no money: when their answer is lost, nothing has to be found out."""

PING, MERCHANTS, MASKS, ECHO = "ping", "merchants", "masks", "echo"
"""Service methods of drivers; the service itself answers for status and last operation."""


def names_of(tasks: Iterable[int]) -> tuple[str, ...]:
    """The words for ``tasks``, in the order of their numbers, with the stored operation that every terminal has."""
    return tuple(NAMES[task] for task in sorted({*tasks, Task.STORED}))


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a terminal has to do.

    ``uid`` is the operation's own UUID, for terminals that find an operation by it. Sums are in kopecks.
    """

    task: int
    uid: str
    sum: int = 0
    cash: int = 0
    rrn: str = ""
    cancelid: str = ""
    merchant: str = ""
    agreement: str = ""
    parts: int = 0
    service: str = ""
    param: str = ""
    corrected: int = 0
    """The other sum that the cashier chose after the card was read (task 7); 0 keeps the first one."""
    part: bool = False
    """Whether a cancel takes back only ``sum``, not the whole operation."""

    @property
    def wanted(self) -> int:
        """The final sum to take or give, cash included, in kopecks."""
        return (self.corrected or self.sum) + self.cash


class Approved(msgspec.Struct, frozen=True, omit_defaults=True, tag="approved"):
    """It happened.

    A driver gives ``sum`` as the terminal reports it, in kopecks: `None` only where the wire names none, and
    `protocols.terminals.amounts.NOT_A_SUM` for one that cannot be read. `dmtwisted.terminals.sums` compares it with
    what was asked for; afterwards it is what was approved, which may be less.
    """

    sum: int | None = 0
    text: str = ""
    cardmask: str = ""
    paysys: str = ""
    bank: str = ""
    auth_code: str = ""
    rrn: str = ""
    cancelid: str = ""
    slip: str = ""
    terminal_id: str = ""
    merchant: str = ""
    agreement: str = ""
    discount: str = ""
    """The name of the discount group of a card that was only read."""
    partial: str = ""
    """Why another sum was approved than asked for; empty when all of it was. A driver may know a reason."""

    @property
    def kopecks(self) -> int:
        """``sum`` after it was compared."""
        assert self.sum is not None
        return self.sum


class Declined(msgspec.Struct, frozen=True, omit_defaults=True, tag="declined"):
    """It did not happen, as the terminal or the bank reported: ``res`` with the details of its text."""

    res: int
    details: tuple[str, ...] = ()
    text: str = ""
    """The terminal's own words."""

    @classmethod
    def of(cls, res: Res, *details: object, text: str = "") -> Declined:
        """A line of the catalogue with its details."""
        return cls(res.code, tuple(map(str, details)), text)

    def refused(self) -> Refused:
        """The same as an exception."""
        return Refused(Res.by_code(self.res), *map(wording, self.details), aq_errortxt=wording(self.text))


Verdict = Approved | Declined


@dataclass(frozen=True)
class NeverStarted:
    """The terminal was asked and has no such operation."""


@dataclass(frozen=True)
class Undecided:
    """The terminal was asked and its answer proves nothing; ``why`` is for people."""

    why: str
    taken: bool = False
    """Whether the answer shows that the terminal had received the request."""


Found = Approved | Declined | NeverStarted | Undecided
"""What the terminal can answer about an operation."""

Keep = Callable[[Verdict], Awaitable[None]]
"""Makes a verdict durable; a driver awaits it before it acknowledges an approval."""


@dataclass(frozen=True)
class ReadCard:
    """A payment that stops at the card (task 6).

    ``card`` is what was read, or `None` when the payment ended without stopping. ``ended`` is the end of the payment
    as `ITerminal.perform` returns it, whether it is continued or not.
    """

    card: Approved | None
    ended: Deferred[Verdict]


class Activity(StrEnum):
    """What a terminal is doing just now."""

    IDLE = "idle"
    CONNECTING = "connecting"
    WAITING_CARD = "waiting_card"
    CARD_READ = "card_read"
    WAITING_CASHIER = "waiting_cashier"
    PIN = "pin"
    BANK = "bank"
    PRINTING = "printing"
    WORKING = "working"
    ASKING = "asking"
    """The service asks the terminal how an operation ended."""


@dataclass(frozen=True)
class TerminalProgress:
    """The terminal's activity, with the terminal's own text if it has one."""

    state: Activity
    text: str = ""


class ITerminal(Interface):
    """The driver of one terminal. Its caller holds the device's turn, so one operation runs at a time.

    See docs/reference/terminals.md#recovery-rules.
    """

    capabilities = Attribute("The numbers of ``pay.task`` that this terminal has; any other is 5029.")
    services = Attribute("The service methods that it has; any other is 303.")
    protocol = Attribute("The name of its protocol, for people.")
    keeps_early = Attribute(
        "Whether the terminal may still take back a verdict that ``keep`` has stored; then it is `IKeepsEarly` too."
    )
    wait_s = Attribute("Seconds that an operation may take.")
    return_lost_answer = Attribute(
        "Whether the same request with ``transaction_search`` 0 gets an approval that no caller has received."
    )

    def listen(progress: Callable[[TerminalProgress], None], late: Callable[[str, Verdict], None]) -> None:
        """Report progress from now on, and a verdict that comes after its operation was given up."""

    def recall(snapshot: bytes) -> None:
        """Learn from a snapshot that was stored before the last start, by this driver or another one."""

    async def snapshot(order: Order) -> bytes:
        """The terminal's state before ``order``, by which the driver later recognises the order's result.

        :raises Refused: when the terminal is not there, is busy or does not answer; nothing was sent.
        """

    async def perform(order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """Do it. The sum of an approval is the terminal's own, never that of ``order``.

        :raises Refused: when the terminal certainly did not take it.
        :raises WireError: when it may have taken it, and the end is unknown.
        """

    async def find_out(order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Ask the terminal how ``order`` ended; never repeat it.

        :param patience: seconds to wait for a terminal that is busy.
        :raises Refused: when the terminal cannot be asked now.
        :raises WireError: when it did not answer.
        """

    async def read_card(order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """Task 6: start a payment and stop at the card until `proceed`; every error comes with its end."""

    async def proceed(order: Order) -> None:
        """Task 7: continue the payment that stopped at the card, with the sum ``order.wanted``.

        :raises Refused: when the terminal did not take that.
        :raises WireError: when it is unknown whether it did.
        """

    async def interrupt() -> None:
        """Ask the running operation to stop; its verdict still comes.

        :raises Refused: 5029 when this wire has no such message, or when the terminal does not stop now.
        :raises WireError: when the terminal did not answer.
        """

    async def check() -> None:
        """Try the connection without effect.

        :raises Refused: when it would not work.
        """

    async def serve(name: str) -> dict[str, object]:
        """Do a method of `services`; return the members of ``info``.

        :raises Refused: when it did not work.
        """

    def close() -> None:
        """Close the line."""


class IInquired(Interface):
    """A terminal that may be asked whether it is there while it stands idle, with nothing to see on its screen."""

    port_only = Attribute("Whether the question shows no more than an open port: who is behind it may be dead.")

    async def inquire() -> bool | None:
        """Ask it; the caller limits the time.

        :returns: `None` when this line has no such question.
        :raises Refused: when it is not there.
        """


class IKeepsEarly(Interface):
    """A terminal that may still take back a verdict that was made durable (`ITerminal.keeps_early`)."""

    def remember(uid: str, verdict: Verdict) -> None:
        """Remember that this verdict of the operation ``uid`` was made durable, for `ITerminal.find_out`."""
