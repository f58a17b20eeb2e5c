"""Tax groups and payment types with their usual numbers (docs/reference/http-interface.md#payment-types)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

# The shares of VAT and a levy D in an amount S; p and d are their percentages (docs/reference/tax-service.md#sums).
VAT_INSIDE_LEVY = 0
"""The price includes both: VAT = S·p/(100+p+d), D = S·d/(100+p+d)."""
VAT_ON_LEVY = 1
"""The levy is added to the price and bears VAT: D = S·d/100 on top, VAT = (S+D)·p/(100+p)."""
VAT_AFTER_LEVY = 2
"""The price includes VAT and, on top of it, the levy: D = S·d/(100+d), VAT = (S-D)·p/(100+p)."""
VAT_AFTER_EXCISE = 3
"""Excise for each unit: D = rate·quantity, VAT = (S-D)·p/(100+p)."""
ALGORITHMS = (VAT_INSIDE_LEVY, VAT_ON_LEVY, VAT_AFTER_LEVY, VAT_AFTER_EXCISE)


VAT, EXCISE, PENSION_FUND = 0, 1, 2
"""``TYPE`` of a tax in documents for the tax service (docs/reference/tax-service.md#mapping)."""


class TaxGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tax group of a register. Percentages are in hundredths of a percent."""

    code: int
    name: str
    """Its full name on the receipt, `tax_fname`."""
    letter: str = ""
    tax_name: str = ""
    """Name of the tax; empty when there is none."""
    percent: int = 0
    ex_name: str = ""
    """Name of the excise or levy; empty when there is none."""
    ex_percent: int = 0
    algorithm: int = VAT_INSIDE_LEVY
    included: bool = True
    """Whether the prices include the tax; else it is added to the amount due."""
    ex_rate: int = 0
    """Algorithm 3 only: excise for one unit, in kopecks."""
    enabled: bool = True
    type: Annotated[int, Meta(ge=0)] | None = None
    """``TYPE`` of the tax in documents for the tax service; `None` goes by its name."""
    ex_type: Annotated[int, Meta(ge=0)] | None = None
    """``TYPE`` of the levy; `None` goes by its name."""

    @property
    def tax_type(self) -> int | None:
        """``TYPE`` of its tax; `None` when the tax service has none for it, so that it is not sent."""
        return self.type if self.type is not None else None if _of_income(self.tax_name) else VAT

    @property
    def has_excise(self) -> bool:
        """Whether its goods are excisable."""
        return bool(self.ex_name) and self.levy_type == EXCISE

    @property
    def levy_type(self) -> int | None:
        """``TYPE`` of its levy, likewise."""
        if self.ex_type is not None:
            return self.ex_type
        return None if _of_income(self.ex_name) else PENSION_FUND if "пенс" in self.ex_name.lower() else EXCISE


def _of_income(tax: str) -> bool:
    """Whether ``tax`` is on income; no ``TYPE`` of such a tax is known."""
    return any(word in tax.lower() for word in ("пдфо", "військов"))


class PayType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A payment type of a register."""

    code: int
    name: str
    """The means of payment."""
    enabled: bool = True
    form: str = ""
    """The form of payment; empty is the usual one of `FORMS`."""
    payformcd: Annotated[int, Meta(ge=0)] | None = None
    """The code in documents for the tax service; `None` is the one of the register's table, ``pay_codes``."""


CASH, CARD = 0, 2
"""The payment types with rules of their own."""

TAX_GROUPS = (
    TaxGroup(1, "ПДВ 20%", "А", "ПДВ", 2000, type=VAT),
    TaxGroup(2, "Без ПДВ", "Б"),
    TaxGroup(3, "ПДВ 20% + акциз 5%", "ГД", "ПДВ", 2000, "Акциз", 500, VAT_AFTER_LEVY, type=VAT, ex_type=EXCISE),
    TaxGroup(4, "ПДВ 7%", "В", "ПДВ", 700, type=VAT),
    TaxGroup(5, "ПДВ 0%", "Е", "ПДВ", 0, type=VAT),
    TaxGroup(6, "Без ПДВ + акциз 5%", "Ж", "", 0, "Акциз", 500, VAT_AFTER_LEVY, ex_type=EXCISE),
    TaxGroup(7, "Не є об'єктом ПДВ", "З"),
    TaxGroup(
        8, "ПДВ 20% + пенсійний збір 7.5%", "ИК", "ПДВ", 2000, "Пенсійний збір", 750, type=VAT, ex_type=PENSION_FUND
    ),
    TaxGroup(9, "ПДВ 14%", "Л", "ПДВ", 1400, type=VAT),
    TaxGroup(10, "ПДФО 18% + військовий збір 1.5%", "М", "ПДФО", 1800, "Військовий збір", 150),
)

PAY_TYPES = (
    PayType(0, "Готівка"),
    PayType(1, "Безготівка"),
    PayType(2, "Картка"),
    PayType(3, "Передплата"),
    PayType(4, "Післяплата"),
    PayType(5, "Кредит"),
    PayType(6, "Сертифікат"),
    PayType(8, "Чек"),
    PayType(11, "Бонуси"),
    PayType(12, "Погашення кредиту"),
    PayType(13, "Переказ за QR-кодом"),
    PayType(14, "Переказ з картки"),
    PayType(15, "Переказ з поточного рахунку"),
    PayType(16, "Інтернет-еквайринг"),
    PayType(17, "LiqPay"),
    PayType(18, "RozetkaPay"),
    PayType(19, "Portmone"),
    PayType(20, "NovaPay"),
)

CASHLESS, OTHER = "БЕЗГОТІВКОВА", "ІНШЕ"

FORMS = {
    **dict.fromkeys((2, 13, 14, 15, 16, 17, 18, 19, 20), CASHLESS),
    **dict.fromkeys((3, 4, 5, 6, 8, 11, 12), OTHER),
}
"""The usual form of payment, printed before the means; cash and code 1 are named after their form
(docs/reference/http-interface.md#payment-types)."""

CASHLESS_INSTRUMENT = 100_000
"""``PAYFORMCD`` of a cashless instrument, the one of every payment type without another code."""

TAX_CODES = {
    CASH: 0,
    1: CASHLESS_INSTRUMENT,
    CARD: 1,
    3: 2,
    4: 3,
    5: 3,
    6: 305,
    15: 306,
    **dict.fromkeys(range(16, 21), CASHLESS_INSTRUMENT),
}
"""``PAYFORMCD`` of payment types by the meanings in the tax service's schema and samples
(docs/reference/tax-service.md#mapping)."""


MEANS = (
    *("готівка", "картка", "з поточного рахунку", "переказ з поточного рахунку", "інтернет банкінг", "прямий дебет"),
    *("за реквізитами (iban)", "інтернет еквайринг", "платіж через інтегратора *", "переказ через ннпп"),
    *("переказ через пткс ннпп", "переказ через пткс банку", "сертифікат", "подарунковий сертифікат", "талон"),
    *("жетон", "фішка", "електронний грошовий замінник", "ігровий замінник гривні", "електронні гроші *"),
    *("цифрові гроші *", "криптовалюта *"),
)
"""Known names of means of payment: those of the tax service's samples, and a list that is in wide use
(docs/reference/tax-service.md#receipt-layout)."""


def is_known_means(name: str) -> bool:
    """Whether ``name`` is that of a known means of payment, in any spelling of case and hyphens."""
    plain = " ".join(name.lower().replace("-", " ").split())
    return any(plain == known or (known.endswith("*") and plain.startswith(known[:-1])) for known in MEANS)


def own_payments(pay_types: Iterable[PayType]) -> dict[int, PayType]:
    """Payment types by number; the number of one without a ``payformcd`` is its code for the tax service too."""
    return {one.code: _with_code(one, one.code) for one in pay_types}


def tax_payments(pay_types: Iterable[PayType]) -> dict[int, PayType]:
    """Payment types by number, with the codes of the tax service's schema; all but cash have a form."""
    found = {}
    for one in pay_types:
        if not one.form and one.code != CASH and one.code not in FORMS:
            one = msgspec.structs.replace(one, form=CASHLESS)
        found[one.code] = _with_code(one, TAX_CODES.get(one.code, CASHLESS_INSTRUMENT))
    return found


def _with_code(pay_type: PayType, code: int) -> PayType:
    return pay_type if pay_type.payformcd is not None else msgspec.structs.replace(pay_type, payformcd=code)
