"""A bank terminal as the service sees it: orders, verdicts, and what a driver has to offer (terminals.md 0, 3).

A verdict is approved or declined. Everything else is *unknown* until the terminal was asked; so a driver raises
`Refused` only when it is certain that the terminal took nothing, and a `WireError` when it may have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.results import Refused, Res

PAYMENT, REFUND, CANCEL, TRANSFER, BANK_SERVICE, READ_CARD, FINISH, DISCOUNT_CARD = 1, 2, 3, 4, 5, 6, 7, 8
TOTALS, SETTLEMENT = 10, 11
CASH_ISSUE, INSTALMENTS, INSTALMENTS_REFUND, STORED = 14, 15, 16, 17
"""Numbers of ``pay.task`` (specification 4.4)."""

TASKS = frozenset({*range(1, 9), TOTALS, SETTLEMENT, CASH_ISSUE, INSTALMENTS, INSTALMENTS_REFUND, STORED})

READING = frozenset({DISCOUNT_CARD, TOTALS})
"""Tasks that move nothing: when their answer is lost there is nothing to find out."""

PING, MERCHANTS, MASKS, ECHO = "ping", "merchants", "masks", "echo"
"""Service methods that a driver may have (http-api 3.4); status and last operation are the service's own."""


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
        return Refused(RES[self.res], *self.details, aq_errortxt=self.text)


RES = {res.code: res for res in Res}

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
class Progress:
    """What a terminal is doing just now: a word of ours, and the terminal's own text if it has one."""

    state: str
    text: str = ""


IDLE, CONNECTING, WAITING_CARD, CARD_READ, PIN, BANK, PRINTING, CASHIER, WORKING = (
    "idle",
    "connecting",
    "waiting_card",
    "card_read",
    "pin",
    "bank",
    "printing",
    "waiting_cashier",
    "working",
)
"""States of `Progress`."""


class ITerminal(Interface):
    """The driver's end of one terminal. Its caller holds the device's turn, so one operation runs at a time."""

    capabilities = Attribute("The numbers of ``pay.task`` that this terminal has; any other is 5029.")
    services = Attribute("The service methods that it has; any other is 303.")
    wait_s = Attribute("Seconds that an operation may take.")

    def listen(progress: Callable[[Progress], None], late: Callable[[str, Verdict], None]) -> None:
        """Tell from now on of progress, and of a verdict that comes after its operation was given up (rule 18)."""

    async def snapshot(order: Order) -> bytes:
        """What tells ``order`` from whatever the terminal did before it; empty when its answers name it anyway.

        :raises Refused: when the terminal is not there or does not answer; nothing was sent.
        """

    async def perform(order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """Do it.

        :raises Refused: when the terminal certainly did not take it.
        :raises WireError: when it may have taken it and nobody knows the end.
        """

    async def find_out(order: Order, snapshot: bytes, keep: Keep) -> Found:
        """Ask the terminal what became of ``order``; never repeats it (rule 3).

        :raises Refused: when the terminal cannot be asked now.
        :raises WireError: when it did not answer.
        """

    async def hold(order: Order) -> Approved:
        """Task 6: read the card and wait for `proceed`; what was read.

        :raises Refused: when the terminal did not take it, or the card was not read.
        :raises WireError: when nobody knows how it stands.
        """

    async def proceed(order: Order, held: Order, keep: Keep) -> Verdict:
        """Task 7: go on with the operation that was held, with another sum if ``order`` names one.

        :raises WireError: as `perform`.
        """

    def interrupt() -> None:
        """Ask the running operation to stop: a wish, its own verdict still comes (rule 8).

        :raises Refused: 5029 when this wire has no such message.
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
