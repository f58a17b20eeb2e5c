"""Tax groups and payment types as the field numbers them (http-api 2.15, 2.16)."""

from __future__ import annotations

import msgspec

VAT_INSIDE_LEVY = 0
"""Algorithm 0: VAT and levy are both parts of one price, S·p/(100+p+d) and S·d/(100+p+d) (fiscal-server 12)."""
VAT_AFTER_LEVY = 2
"""Algorithm 2: the levy lies on the price with VAT, S·d/(100+d); VAT is a part of the rest (fiscal-server 12)."""


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
