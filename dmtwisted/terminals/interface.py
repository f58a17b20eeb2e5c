"""A bank terminal as the service sees it: orders, verdicts, and what a driver has to offer (terminals.md 0, 3).

A verdict is approved or declined. Everything else is *unknown* until the terminal was asked; so a driver raises
`Refused` only when it is certain that the terminal took nothing, and a `WireError` when it may have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import msgspec
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from dmtwisted.results import Refused, Res


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

READING: frozenset[int] = frozenset({Task.DISCOUNT_CARD, Task.TOTALS})
"""Tasks that move nothing: when their answer is lost there is nothing to find out."""

PING, MERCHANTS, MASKS, ECHO = "ping", "merchants", "masks", "echo"
"""Service methods that a driver may have (http-api 3.4); status and last operation are the service's own."""


def names_of(tasks: Iterable[int]) -> tuple[str, ...]:
    """The words for ``tasks``, in the order of their numbers, with the stored operation that every terminal has."""
    return tuple(NAMES[task] for task in sorted({*tasks, Task.STORED}))


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a terminal shall do.

    ``uid`` is the operation's own UUID, for terminals that find an operation by it; sums are in kopecks.
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
    """The sum that the cashier wants instead, once the card was read (task 7); 0 is the first one."""
    part: bool = False
    """Whether a cancel is over ``sum`` only; otherwise it is over the whole operation."""

    @property
    def wanted(self) -> int:
        """What shall be taken or given in the end, cash included, in kopecks."""
        return (self.corrected or self.sum) + self.cash


class Approved(msgspec.Struct, frozen=True, omit_defaults=True, tag="approved"):
    """It happened. ``sum`` is what was approved, in kopecks, which may be less than what was asked for."""

    sum: int = 0
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
    """Why less was done than asked for; empty when all of it was."""


class Declined(msgspec.Struct, frozen=True, omit_defaults=True, tag="declined"):
    """It did not happen, and the terminal or the bank said so: ``res`` with the details of its text."""

    res: int
    details: tuple[str, ...] = ()
    text: str = ""
    """The terminal's own words."""

    @classmethod
    def of(cls, res: Res, *details: object, text: str = "") -> Declined:
        """A line of the catalogue with its details."""
        return cls(res.code, tuple(map(str, details)), text)

    def refused(self) -> Refused:
        """The same as whoever asked hears it."""
        return Refused(Res.by_code(self.res), *self.details, aq_errortxt=self.text)


Verdict = Approved | Declined


@dataclass(frozen=True)
class NeverStarted:
    """The terminal was asked and knows of no such operation."""


@dataclass(frozen=True)
class Undecided:
    """The terminal was asked and its answer settles nothing; ``why`` is for people."""

    why: str


Found = Approved | Declined | NeverStarted | Undecided
"""What asking after an operation can bring to light."""

Keep = Callable[[Verdict], Awaitable[None]]
"""Makes a verdict durable; a driver awaits it before it acknowledges an approval (recovery rule 7)."""


@dataclass(frozen=True)
class ReadCard:
    """A payment that stops at the card (task 6).

    ``card`` is what was read, or `None` when the payment ended without stopping. ``ended`` is the payment's own end,
    as `ITerminal.perform` tells it, whether or not anybody goes on with it.
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
    """The driver's end of one terminal. Its caller holds the device's turn, so one operation runs at a time."""

    capabilities = Attribute("The numbers of ``pay.task`` that this terminal has; any other is 5029.")
    services = Attribute("The service methods that it has; any other is 303.")
    protocol = Attribute("The name of its protocol, for people.")
    keeps_early = Attribute(
        "Whether the terminal may still take back a verdict that ``keep`` has stored; then it is `IKeepsEarly` too."
    )
    wait_s = Attribute("Seconds that an operation may take.")

    def listen(progress: Callable[[TerminalProgress], None], late: Callable[[str, Verdict], None]) -> None:
        """Tell from now on of progress, and of a verdict that comes after its operation was given up (rule 18)."""

    def recall(snapshot: bytes) -> None:
        """Learn from what `snapshot` was given before the last start, of this driver or of one before it."""

    async def snapshot(order: Order) -> bytes:
        """What tells ``order`` from whatever the terminal did before it; what it means only the driver knows.

        :raises Refused: when the terminal is not there, is busy or does not answer; nothing was sent.
        """

    async def perform(order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """Do it.

        :raises Refused: when the terminal certainly did not take it.
        :raises WireError: when it may have taken it and nobody knows the end.
        """

    async def find_out(order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Ask the terminal what became of ``order``; never repeats it (rule 3).

        :param patience: seconds for which a terminal that is at work may be waited for.
        :raises Refused: when the terminal cannot be asked now.
        :raises WireError: when it did not answer.
        """

    async def read_card(order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """Task 6: begin a payment and stop at the card until `proceed`; whatever goes wrong is told by its end."""

    async def proceed(order: Order) -> None:
        """Task 7: let the payment that stopped at the card go on, with the sum ``order.wanted``.

        :raises Refused: when the terminal did not take that.
        :raises WireError: when nobody knows whether it did.
        """

    async def interrupt() -> None:
        """Ask the running operation to stop: a wish, its own verdict still comes (rule 8).

        :raises Refused: 5029 when this wire has no such message, or when the terminal does not stop now.
        :raises WireError: when the wish was not answered.
        """

    async def check() -> None:
        """Try the way to the terminal without effect.

        :raises Refused: when it would not work.
        """

    async def serve(name: str) -> dict[str, object]:
        """Do a service method of `services`; the members of ``info`` that tell of it.

        :raises Refused: when it did not work.
        """

    def close() -> None:
        """Let go of the line."""


class IKeepsEarly(Interface):
    """A terminal that may still take back what was made durable (`ITerminal.keeps_early`)."""

    def remember(uid: str, verdict: Verdict) -> None:
        """Take into account, when the operation ``uid`` is asked after, that this verdict of it was made durable."""
