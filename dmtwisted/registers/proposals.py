"""What a register's settings could be better, for its page and for ``doctor``; nothing here changes by itself."""

from __future__ import annotations

from typing import NamedTuple

from dmtwisted.documents.catalogue import is_known_means
from dmtwisted.registers.prro.settings import TAX, PrroSettings
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Text


class Proposal(NamedTuple):
    """A change of one setting that an administrator may accept."""

    setting: str
    value: object
    text: Text


def proposals(settings: object) -> list[Proposal]:
    """The changes that are proposed for a register with ``settings``."""
    if not isinstance(settings, PrroSettings) or settings.pay_codes == TAX:
        return []
    return [
        Proposal(
            "pay_codes",
            TAX,
            Text(
                "Податкова отримує номери видів оплати цієї каси, а за її схемою вони означають інше: картка йде як "
                "передплата, передплата як кредит",
                "The tax service gets this register's numbers of payment types, which mean something else in its "
                "schema: a card goes out as a prepayment, a prepayment as a credit",
            ),
        )
    ]


def odd_means(settings: RegisterSettings) -> list[str]:
    """The names of enabled payment types that are outside the list of means of payment."""
    return [one.name for one in settings.pay_types if one.enabled and not is_known_means(one.name)]
