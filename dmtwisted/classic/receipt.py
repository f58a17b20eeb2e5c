"""The receipt that a till has open: its lines, its payments, and the task that closes it. Amounts are kopecks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dmtwisted.answers import amount, quantity
from dmtwisted.documents.catalogue import CASH
from dmtwisted.money import half_up
from dmtwisted.registers.arithmetic import rounded
from dmtwisted.registers.interface import RETURN, SALE

LARGEST = 999_999_999
MOST_LINES = 500


class Refuses(Exception):
    """The register does not do it."""


class Overflows(Refuses):
    """A sum or a count is too large."""


@dataclass(frozen=True)
class SoldLine:
    """A line; ``cost`` is price times quantity, ``sum`` is after discounts and markups.

    :param article: 0 for a line that is in no table.
    :param tax: the place of the tax letter.
    """

    name: str
    article: int
    tax: int
    quantity: int
    price: int
    cost: int
    sum: int


@dataclass(frozen=True)
class Paid:
    """A payment."""

    type: int
    sum: int
    note: str


@dataclass(frozen=True)
class OpenReceipt:
    """An open receipt.

    :param due: what it comes to, as the register calculates it: taxes may be added to the lines.
    """

    returns: bool
    cashier: str
    lines: tuple[SoldLine, ...] = ()
    paid: tuple[Paid, ...] = ()
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    due: int = 0

    @property
    def given(self) -> int:
        """What was paid, with change that is still to be given."""
        return sum(one.sum for one in self.paid)

    @property
    def whole(self) -> bool:
        """Whether all is paid."""
        return bool(self.lines) and self.given >= self.due

    def with_line(self, line: SoldLine) -> OpenReceipt:
        """With one more line.

        :raises Refuses: when it may not be added.
        """
        if line.sum < 0:
            raise Refuses("a discount larger than the line")
        if len(self.lines) >= MOST_LINES or sum(one.sum for one in self.lines) + line.sum > LARGEST:
            raise Overflows("too many lines, or too large a sum")
        return replace(self, lines=(*self.lines, line))

    def without(self, like: SoldLine) -> OpenReceipt:
        """Without the last line of the same article, price and quantity.

        :raises Refuses: when there is none.
        """
        what = (like.article, like.name, like.quantity, like.price)
        for place in reversed(range(len(self.lines))):
            one = self.lines[place]
            if (one.article, one.name, one.quantity, one.price) == what:
                return replace(self, lines=self.lines[:place] + self.lines[place + 1 :])
        raise Refuses("no such line to take back")

    def changed(self, change: int) -> OpenReceipt:
        """With a discount (negative) or a markup on all lines, in proportion to them.

        :raises Refuses: when it is larger than the receipt.
        """
        total = sum(one.sum for one in self.lines)
        if not 0 <= total + change <= LARGEST or not total:
            raise Refuses("a discount larger than the receipt")
        lines, upto, given = list(self.lines), 0, 0
        for place, line in enumerate(lines):
            # What is due for all lines up to this one: no line gets a markup out of a discount.
            upto += line.sum
            part = half_up(change * upto, total) - given
            lines[place] = replace(line, sum=line.sum + part)
            given += part
        return replace(self, lines=tuple(lines))

    def with_text(self, line: str) -> OpenReceipt:
        """With a line of text, above the goods or below them.

        :raises Overflows: when there are too many.
        """
        if len(self.above) + len(self.below) >= MOST_LINES:
            raise Overflows("too many lines of text")
        if self.lines:
            return replace(self, below=(*self.below, line))
        return replace(self, above=(*self.above, line))

    def pay(self, type_: int, given: int | None, note: str, step: int) -> tuple[OpenReceipt, int]:
        """With a payment, of all that is left when ``given`` is `None`; the rest, negative when it is change.

        Cash to the kopeck pays a receipt that is rounded for cash, as everywhere in the service.

        :param step: to which cash is rounded.
        :raises Refuses: when it may not be paid so.
        """
        rest = self.due - self.given
        if not self.lines or rest <= 0:
            raise Refuses("nothing to pay")
        given = rest if given is None else given
        if given <= 0 or given > LARGEST or (given > rest and (type_ != CASH or self.returns)):
            raise Refuses("an amount that cannot be paid so")
        if type_ != CASH or given < rest:
            return self._paid(type_, given, note), rest - given
        cashless = sum(one.sum for one in self.paid if one.type != CASH)
        due = rounded(self.due - cashless, step) - (self.given - cashless)
        if given < due:
            given = rest
        return self._paid(type_, given, note), 0 if given == rest else due - given

    def _paid(self, type_: int, given: int, note: str) -> OpenReceipt:
        return replace(self, paid=(*self.paid, Paid(type_, given, note)))

    def by_tax(self, count: int) -> list[int]:
        """The sums of the tax letters."""
        return [sum(line.sum for line in self.lines if line.tax == tax) for tax in range(count)]

    def fiscal(self, groups: tuple[int, ...]) -> dict[str, Any]:
        """``fiscal`` of the task that closes it.

        :param groups: the tax groups of the letters.
        """
        cash = any(one.type == CASH for one in self.paid)
        return {
            "task": RETURN if self.returns else SALE,
            "cashier": self.cashier,
            "receipt": {
                "sum": amount(sum(line.sum for line in self.lines)),
                "autoround": cash,
                "rows": [_row(line, groups) for line in self.lines],
                "pays": [{"type": one.type, "sum": amount(one.sum), "comment": one.note} for one in self.paid],
                "comment_up": "\n".join(self.above),
                "comment_down": "\n".join(self.below),
            },
        }


def _row(line: SoldLine, groups: tuple[int, ...]) -> dict[str, Any]:
    return {
        "code": str(line.article) if line.article else "",
        "name": line.name,
        "cnt": quantity(line.quantity),
        "price": amount(line.price),
        "cost": amount(line.cost),
        "disc": amount(line.cost - line.sum),
        "taxgrp": groups[line.tax],
    }


def cost_of(quantity_: int, price: int) -> int:
    """Thousandths times kopecks."""
    return half_up(quantity_ * price, 1000)


def percent_of(amount_: int, hundredths: int) -> int:
    """A part of an amount, in hundredths of a percent."""
    part = half_up(amount_ * abs(hundredths), 10_000)
    return -part if hundredths < 0 else part
