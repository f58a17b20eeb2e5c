"""Where the figures of a machine differ from our books: somebody used it by hand, or something went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from dmtwisted.money import hryvnias
from dmtwisted.registers.totals import RegisterState
from dmtwisted.registers.wired.interface import Figures
from dmtwisted.results import Text, joined


def differences(figures: Figures, state: RegisterState, forms: dict[int, int]) -> list[Text]:
    """What differs, with both values; what a machine does not tell is not compared.

    :param forms: the machine's form of payment by payment type.
    """
    totals = state.totals
    ours = state.shift_open
    traded = ours and bool(totals.count_p or totals.count_m or totals.money)
    found = []
    if (figures.shift_open is False and traded) or (figures.shift_open and not ours):
        found.append(_Z_BY_HAND if ours else _OPEN_THERE)
    sums = (
        ("продажі", "sales", figures.sales, totals.calc_p),
        ("повернення", "returns", figures.returns, totals.calc_m),
    )
    for uk, en, theirs, sum in sums:
        if theirs is not None:
            found += _differs(Text(uk, en), theirs, sum if ours else 0)
    if figures.drawer is not None:
        found += _differs(Text("готівка", "cash"), figures.drawer, state.safe)
    for (uk, en), there, count in (
        (("чеки продажу", "receipts of sales"), figures.sold, totals.count_p),
        (("чеки повернення", "receipts of returns"), figures.returned, totals.count_m),
    ):
        own = count if ours else 0
        if there is not None and there != own:
            found.append(Text(f"{uk} {there}, у сервісі {own}", f"{en} {there}, here {own}"))
    by_form = dict.fromkeys(figures.forms, 0)
    for code, pay in totals.pays.items() if ours else ():
        if forms.get(code) in by_form:
            by_form[forms[code]] += pay.sum_p - pay.sum_m
    for form, amount in sorted(figures.forms.items()):
        found += _differs(Text(f"форма оплати {form}:", f"form of payment {form}:"), amount, by_form[form])
    return found


def _differs(what: Text, theirs: int, ours: int) -> list[Text]:
    if theirs == ours:
        return []
    there, here = hryvnias(theirs), hryvnias(ours)
    return [Text(f"{what.uk} {there}, у сервісі {here}", f"{what.en} {there}, here {here}")]


def told(found: Iterable[Text]) -> Text:
    """All of them as one text."""
    return joined(*found, separator="; ")


_Z_BY_HAND = Text("Z-звіт зроблено без сервісу", "a Z-report was made without the service")
_OPEN_THERE = Text("на апараті день ще не завершено", "the machine's day is not ended yet")
