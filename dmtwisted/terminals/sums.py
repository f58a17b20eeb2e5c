"""The sum that a terminal approved, compared with the one that it was asked for: here, for every driver.

======================================  ================================================================
the terminal reports                    then
======================================  ================================================================
the same sum                            approved
no sum, where its wire names none       approved, over what was asked for
a smaller sum, or the first of task 6   approved, over that sum: 5075, and the caller sees both sums
a larger one, zero, or no sum at all    unknown: the operation stays open until a person has read the slip
======================================  ================================================================

Such an unknown end stays unknown whatever the terminal reports afterwards: it has contradicted itself or us.
See docs/reference/terminals.md#rule-9.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from dmtwisted.money import hryvnias
from dmtwisted.results import Action, Refused, Res, Text, Words
from dmtwisted.terminals.interface import READING, Approved, Declined, Order, Task
from dmtwisted.wording import wording
from protocols.errors import WireError
from protocols.terminals.amounts import NOT_A_SUM

WITHOUT_SUM = READING | {Task.SETTLEMENT}
"""Tasks that ask for no sum, so that none is compared."""

LESS = "another sum was approved"
"""Why there is another sum, where the terminal does not say it."""

SLIP = Text(
    "скільки списано, знає лише сліп термінала: прочитайте його й підтвердьте операцію в сервісі",
    "only the terminal's slip says what was taken: read it and settle the operation in the service",
)
"""What a person does about an end that stays unknown."""

V = TypeVar("V", Approved, Declined, Approved | Declined)


class AnotherSum(WireError):
    """An approval that cannot be right: what really happened is on the terminal's slip only."""

    def __init__(self, approved: Approved, asked: int) -> None:
        super().__init__(Refused(Res.ANOTHER_SUM, *_shown(approved, asked)).errortxt("en"))
        self.approved, self._asked = approved, asked

    def refused(self) -> Refused:
        """The refusal for the caller: nobody knows whether money moved."""
        return another_sum(self.approved, self._asked, Action.COLLISION, SLIP)


def checked(order: Order, verdict: V) -> V:
    """``verdict`` of a driver on ``order``, with the sum that was approved.

    :raises AnotherSum: when it is an approval over a sum that cannot be right.
    """
    if isinstance(verdict, Declined):
        return verdict
    asked, said = order.wanted, verdict.sum
    if order.task in WITHOUT_SUM:
        return msgspec.structs.replace(verdict, sum=0, partial="")
    if said is None:
        return msgspec.structs.replace(verdict, sum=asked, partial="")
    # Task 7 may come too late for its own sum; a cancel may name none, and then the terminal's counts.
    most = max(asked, order.sum + order.cash)
    if said < 0 or (asked and not 0 < said <= most):
        raise AnotherSum(verdict, asked)
    other = asked and said != asked
    return msgspec.structs.replace(verdict, partial=(verdict.partial or LESS) if other else "")


def another_sum(approved: Approved, asked: int, action: Action, note: Words = "") -> Refused:
    """5075 with both sums."""
    why = wording(approved.partial or LESS)
    return Refused(Res.ANOTHER_SUM, *_shown(approved, asked), action=action, aq_errortxt=why, note=note)


def _shown(approved: Approved, asked: int) -> tuple[Words, str]:
    said = approved.sum
    if said is None or said == NOT_A_SUM:
        return Text("незрозумілу суму", "an unreadable sum"), hryvnias(asked)
    return hryvnias(said), hryvnias(asked)
