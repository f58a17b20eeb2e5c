"""What a register's settings could be better, for its page and for ``doctor``; nothing here changes by itself."""

from __future__ import annotations

from typing import NamedTuple

from dmtwisted.documents import law
from dmtwisted.documents.catalogue import is_known_means
from dmtwisted.registers.prro.settings import TAX, PrroSettings
from dmtwisted.registers.settings import RegisterSettings, on_day
from dmtwisted.results import Text


class Proposal(NamedTuple):
    """A change of one setting that an administrator may accept."""

    setting: str
    value: object
    text: Text


def proposals(settings: object, day: str) -> list[Proposal]:
    """The changes that are proposed for a register with ``settings`` on a day in Kyiv, ``yyyy-MM-dd``."""
    if not isinstance(settings, PrroSettings):
        return []
    settings = on_day(settings, day)
    found = [] if settings.pay_codes == TAX else [_PAY_CODES]
    return found if settings.rounding_step else [*found, _rounding(law.on(day, law.CASH_STEPS))]


def _rounding(step: int) -> Proposal:
    text = Text(
        f"Готівка не округлюється, а за правилами Нацбанку сума за готівку округлюється до {step} копійок або до 10, "
        "поки в касі є такі монети",
        f"Cash is not rounded, but by the National Bank's rules a sum in cash is rounded to {step} kopecks, or to 10 "
        "while the till has such coins",
    )
    return Proposal("rounding_step", step, text)


_PAY_CODES = Proposal(
    "pay_codes",
    TAX,
    Text(
        "Податкова отримує номери видів оплати цієї каси, а за її схемою вони означають інше: картка йде як "
        "передплата, передплата як кредит",
        "The tax service gets this register's numbers of payment types, which mean something else in its "
        "schema: a card goes out as a prepayment, a prepayment as a credit",
    ),
)


def odd_means(settings: RegisterSettings) -> list[str]:
    """The names of enabled payment types that are outside the list of means of payment."""
    return [one.name for one in settings.pay_types if one.enabled and not is_known_means(one.name)]
