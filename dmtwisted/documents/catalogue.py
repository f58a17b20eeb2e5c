"""Tax groups and payment types as the field numbers them (http-api 2.15, 2.16)."""

from __future__ import annotations

import msgspec

# How VAT and a levy share an amount S; p and d are their percentages (fiscal-server 12, `TXAL`).
VAT_INSIDE_LEVY = 0
"""Both are parts of one price: VAT = S·p/(100+p+d), D = S·d/(100+p+d)."""
VAT_ON_LEVY = 1
"""The levy is added to the price and bears VAT: D = S·d/100 on top, VAT = (S+D)·p/(100+p)."""
VAT_AFTER_LEVY = 2
"""The levy lies on the price with VAT: D = S·d/(100+d), VAT = (S-D)·p/(100+p)."""
VAT_AFTER_EXCISE = 3
"""Excise for each unit: D = rate·quantity, VAT = (S-D)·p/(100+p)."""
ALGORITHMS = (VAT_INSIDE_LEVY, VAT_ON_LEVY, VAT_AFTER_LEVY, VAT_AFTER_EXCISE)


class TaxGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tax group of a register. Percentages are in hundredths of a percent."""

    code: int
    name: str
    """What the receipt calls it in full, `tax_fname`."""
    letter: str = ""
    tax_name: str = ""
    """Name of the tax; empty when there is none."""
    percent: int = 0
    ex_name: str = ""
    """Name of the excise or levy; empty when there is none."""
    ex_percent: int = 0
    algorithm: int = VAT_INSIDE_LEVY
    included: bool = True
    """Whether the prices hold the tax; else it is added to what is to be paid."""
    ex_rate: int = 0
    """Of algorithm 3: excise for one unit, in kopecks."""
    enabled: bool = True


class PayType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A payment type of a register."""

    code: int
    name: str
    enabled: bool = True


CASH, CARD = 0, 2
"""The payment types that rules speak of by name."""

TAX_GROUPS = (
    TaxGroup(1, "ПДВ 20%", "А", "ПДВ", 2000),
    TaxGroup(2, "Без ПДВ", "Б"),
    TaxGroup(3, "ПДВ 20% + акциз 5%", "ГД", "ПДВ", 2000, "Акциз", 500, VAT_AFTER_LEVY),
    TaxGroup(4, "ПДВ 7%", "В", "ПДВ", 700),
    TaxGroup(5, "ПДВ 0%", "Е", "ПДВ", 0),
    TaxGroup(6, "Без ПДВ + акциз 5%", "Ж", "", 0, "Акциз", 500, VAT_AFTER_LEVY),
    TaxGroup(7, "Не є об'єктом ПДВ", "З"),
    TaxGroup(8, "ПДВ 20% + пенсійний збір 7.5%", "ИК", "ПДВ", 2000, "Пенсійний збір", 750),
    TaxGroup(9, "ПДВ 14%", "Л", "ПДВ", 1400),
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
