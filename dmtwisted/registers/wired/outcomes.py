"""What refusals and figures come to, on the machines that are asked what became of every refused slip."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from typing import TypeAlias

from dmtwisted.documents.documents import RETURN, SALE, Z
from dmtwisted.money import hryvnias
from dmtwisted.registers.wired.interface import Figures, Made, NotMade, Slip, Unclear
from dmtwisted.results import Text
from protocols.errors import Garbled
from protocols.registers.lines import underway
from protocols.registers.troubles import DeviceRefused, LeftOpen, Meaning, Trouble

Z_NUMBERS = 10_000
"""Some machines count Z reports with four digits."""


def differs(ours: int, theirs: int) -> DeviceRefused:
    """The refusal of a receipt that the machine calculates otherwise."""
    here, there = hryvnias(ours), hryvnias(theirs)
    return DeviceRefused(
        "sum",
        Meaning(
            Trouble.UNKNOWN,
            f"the receipt comes to {here}, the register says {there}",
            f"сума чека {here}, реєстратор порахував {there}",
        ),
    )


def unfit(english: str, ukrainian: str) -> DeviceRefused:
    """The refusal of a slip that the machine cannot take; nothing was sent."""
    return DeviceRefused("slip", Meaning(Trouble.BAD_SYNTAX, english, ukrainian))


async def settled(refusal: DeviceRefused, became: Awaitable[Made | NotMade | Unclear]) -> Made:
    """What a refusal in the middle of a slip comes to, when the machine has been asked what ``became`` of the slip.

    A refusal alone proves nothing: the answer to a copy of a command, or an error of the line, may look like one.

    :raises DeviceRefused: the refusal: the slip is not registered, and nothing is open.
    :raises WireError: the outcome is unknown.
    """
    try:
        with underway():
            outcome = await became
    except DeviceRefused as error:
        raise LeftOpen(refusal) from error
    if isinstance(outcome, Made):
        return outcome
    if isinstance(outcome, Unclear):
        raise Garbled(outcome.advice.en) from refusal
    raise refusal


def look_for(slip: Slip) -> Unclear:
    """The machine's figures agree neither with the slip nor without it."""
    if slip.kind == Z:
        return Unclear(
            Text(
                "Номер Z-звіту в реєстраторі не той, що очікувався: подивіться, які Z-звіти він надрукував.",
                "The register's number of the Z report is not the expected one: look which Z reports it has printed.",
            )
        )
    total = hryvnias(slip.total)
    return Unclear(
        Text(
            f"Лічильники реєстратора не показують, чи зареєстровано документ на {total}: знайдіть його на стрічці.",
            f"The register's counters do not show whether a document of {total} is registered: look at its paper.",
        )
    )


Counted: TypeAlias = tuple[int | None, ...]


def outcome(
    slip: Slip, before: Figures, now: Figures, counted: Callable[[Figures], Counted], grows: Counted, number: str = ""
) -> Made | NotMade | Unclear:
    """What the growth of a machine's figures says of a slip between them, when nothing is open on it.

    :param counted: the figures that slips of this kind change.
    :param grows: by how much this one changes them.
    :param number: of the slip, when they have grown so; a Z report has its own.
    """
    if slip.kind == Z:
        if before.z is None or now.z is None or (now.z - before.z) % Z_NUMBERS > 1:
            return look_for(slip)
        return NotMade() if now.z == before.z else Made(str(now.z))
    earlier, later = counted(before), counted(now)
    if before.z != now.z or None in earlier or None in later:
        # After a Z report the sums begin anew, and prove nothing.
        return look_for(slip)
    if later == earlier:
        return NotMade()
    if later == tuple((was or 0) + (more or 0) for was, more in zip(earlier, grows, strict=True)):
        return Made(number)
    return look_for(slip)


def check(slip: Slip, forms: Container[int], largest: int) -> None:
    """Whether the machine has the forms of payment, and lines and payments come to the total.

    :param largest: what fits into the sums of the machine, in kopecks.
    :raises DeviceRefused: they do not, or an amount does not fit.
    """
    if max(slip.total, *(payment.sum for payment in slip.payments), 0) > largest:
        raise unfit("the amount is too large", "сума завелика")
    for payment in slip.payments:
        if payment.form not in forms:
            raise unfit(f"there is no form of payment {payment.form}", f"немає форми оплати {payment.form}")
    if slip.kind not in (SALE, RETURN):
        return
    lines = sum(line.cost - line.discount for line in slip.lines)
    if lines != slip.total:
        raise differs(lines, slip.total)
    paid, cash = sum(payment.sum for payment in slip.payments), sum(each.sum for each in slip.payments if each.cash)
    if paid - slip.change != slip.total or not 0 <= slip.change <= cash:
        raise differs(slip.total, paid)


def cash_of(slip: Slip) -> int:
    """What the slip changes in the drawer."""
    cash = sum(payment.sum for payment in slip.payments if payment.cash) - slip.change
    return -cash if slip.kind == RETURN else cash
