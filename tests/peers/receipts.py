"""The sale itself: request, calculation and answer, in plain Python with ``decimal``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

KYIV = ZoneInfo("Europe/Kyiv")
OPEN, SALE = 0, 1

TAX_GROUPS: dict[int, tuple[str, str, str, int]] = {
    1: ("А", "ПДВ", "ПДВ 20%", 20),
    2: ("Б", "", "Без ПДВ", 0),
    4: ("В", "ПДВ", "ПДВ 7%", 7),
    5: ("Е", "ПДВ", "ПДВ 0%", 0),
    9: ("Л", "ПДВ", "ПДВ 14%", 14),
}
"""Letter, name of the tax, full name and percentage by the group's code."""

PAY_TYPES = {0: "Готівка", 1: "Безготівка", 2: "Картка"}

HEADER = {
    "name": "ТОВ «Навчальна крамниця»",
    "shopname": "Навчальна каса",
    "shopad": "м. Київ, вул. Прикладна, 1",
    "vat_code": "",
    "fis_code": "1234567890",
}


class Refused(Exception):
    """A task that is not done, with the code of why."""

    def __init__(self, res: int, text: str) -> None:
        super().__init__(text)
        self.res, self.text = res, text


# What is asked


@dataclass
class Row:
    """One item."""

    name: str
    price: Decimal
    cnt: Decimal = Decimal(1)
    cost: Decimal | None = None
    code: str = ""
    taxgrp: int = 1


@dataclass
class Pay:
    """One payment."""

    type: int = 0
    sum: Decimal = Decimal(0)


@dataclass
class ReceiptRequest:
    """What is sold and how it is paid."""

    sum: Decimal
    rows: list[Row]
    pays: list[Pay]


@dataclass
class Fiscal:
    """What a register is to do."""

    task: int
    cashier: str = ""
    receipt: ReceiptRequest | None = None


@dataclass
class Task:
    """A request body."""

    device: str
    fiscal: Fiscal
    tag: str = ""
    source: str = ""
    ver: int = 6
    type: int = 1


def task_of(body: dict[str, Any]) -> Task:
    """A body that was read with ``parse_float=Decimal``; a framework that checks types does without this.

    :raises Refused: 2000 when something is missing or of another kind.
    """
    try:
        asked = dict(body["fiscal"])
        found = asked.pop("receipt", None)
        receipt = None
        if found is not None:
            rows = [
                Row(
                    str(row["name"]),
                    Decimal(row["price"]),
                    Decimal(row.get("cnt", 1)),
                    Decimal(row["cost"]) if row.get("cost") is not None else None,
                    str(row.get("code", "")),
                    int(row.get("taxgrp", 1)),
                )
                for row in found["rows"]
            ]
            pays = [Pay(int(pay.get("type", 0)), Decimal(pay["sum"])) for pay in found["pays"]]
            receipt = ReceiptRequest(Decimal(found["sum"]), rows, pays)
        fiscal = Fiscal(int(asked["task"]), str(asked.get("cashier", "")), receipt)
        return Task(str(body["device"]), fiscal, str(body.get("tag", "")), str(body.get("source", "")))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise Refused(2000, f"the request cannot be read: {error!r}") from error


# What it comes to


def kopecks(amount: Decimal) -> int:
    """Hryvnias as whole kopecks, halves up."""
    return int((amount * 100).quantize(Decimal(1), ROUND_HALF_UP))


def receipt_of(asked: ReceiptRequest) -> dict[str, Any]:
    """The receipt in whole kopecks and thousandths.

    :raises Refused: for the first rule that it breaks.
    """
    goods = [_good(row) for row in asked.rows]
    total = sum(good["cost"] for good in goods)
    if not goods and asked.sum:
        raise Refused(1097, "no items")
    if total != kopecks(asked.sum):
        raise Refused(1101, "the items do not come to the sum of the receipt")
    return {"goods": goods, "pays": _pays(asked.pays, total), "taxes": _taxes(goods), "sum": total}


def _good(row: Row) -> dict[str, Any]:
    if not row.name.strip():
        raise Refused(1103, "an item without a name")
    reckoned = kopecks(row.price * row.cnt)
    cost = reckoned if not row.cost else kopecks(row.cost)
    if not reckoned or abs(reckoned - cost) > 100:
        raise Refused(1107, "price times quantity is not the amount of the item")
    if row.taxgrp not in TAX_GROUPS:
        raise Refused(1087, f"no tax group {row.taxgrp}")
    return {
        "name": row.name,
        "code": row.code,
        "cnt": int(row.cnt * 1000),
        "price": kopecks(row.price),
        "cost": cost,
        "taxgrp": row.taxgrp,
    }


def _pays(asked: list[Pay], total: int) -> list[dict[str, Any]]:
    """The payments without the change, which comes out of the cash."""
    pays = []
    for pay in asked:
        if pay.type not in PAY_TYPES:
            raise Refused(1088, f"no payment type {pay.type}")
        if not pay.sum:
            raise Refused(1109, "a payment of nothing")
        pays.append({"type": pay.type, "given": kopecks(pay.sum), "change": 0})
    change = sum(pay["given"] for pay in pays) - total
    for kept in pays:
        if kept["type"] == 0 and change > 0:
            kept["change"] = min(change, kept["given"] - 1)
            change -= kept["change"]
    if change:
        raise Refused(1102, "the payments do not come to the sum of the receipt")
    return pays


def _taxes(goods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    bases: dict[int, int] = {}
    for good in goods:
        bases[good["taxgrp"]] = bases.get(good["taxgrp"], 0) + good["cost"]
    taxes = []
    for code in sorted(bases):
        percent = TAX_GROUPS[code][3]
        tax = Decimal(bases[code] * percent) / (100 + percent)
        taxes.append({"group": code, "base": bases[code], "tax": int(tax.quantize(Decimal(1), ROUND_HALF_UP))})
    return taxes


# What a register remembers


@dataclass
class Register:
    """A register between two documents; amounts in kopecks."""

    name: str
    fisid: str
    next_number: int = 1
    shift: int = 1
    shift_open: bool = False
    safe: int = 0
    receipts: int = 0
    turnover: int = 0
    pays: dict[str, int] = field(default_factory=dict)
    taxes: dict[str, list[int]] = field(default_factory=dict)


def taken(register: Register, document: dict[str, Any]) -> Register:
    """The register after ``document``."""
    after = Register(**vars(register))
    after.next_number += 1
    receipt = document["receipt"]
    if document["task"] == OPEN:
        after.shift_open, after.receipts, after.turnover, after.pays, after.taxes = True, 0, 0, {}, {}
    else:
        after.receipts += 1
        after.turnover += receipt["sum"]
        after.pays, after.taxes = dict(register.pays), dict(register.taxes)
        for pay in receipt["pays"]:
            kept = pay["given"] - pay["change"]
            after.pays[str(pay["type"])] = after.pays.get(str(pay["type"]), 0) + kept
            after.safe += kept if pay["type"] == 0 else 0
        for tax in receipt["taxes"]:
            base, sum_ = after.taxes.get(str(tax["group"]), [0, 0])
            after.taxes[str(tax["group"])] = [base + tax["base"], sum_ + tax["tax"]]
    return after


def document_of(task: Task, register: Register, at: float) -> dict[str, Any]:
    """The document that ``task`` makes, with the register's next number.

    :raises Refused: when the shift is not as it must be, or the receipt breaks a rule.
    """
    if task.fiscal.task not in (OPEN, SALE):
        raise Refused(307, f"no task {task.fiscal.task} here")
    if task.fiscal.task == OPEN and register.shift_open:
        raise Refused(1096, "the shift is open")
    if task.fiscal.task == SALE and not register.shift_open:
        raise Refused(1092, "the shift is closed")
    receipt: dict[str, Any] = {"goods": [], "pays": [], "taxes": [], "sum": 0}
    if task.fiscal.task == SALE:
        if task.fiscal.receipt is None:
            raise Refused(2000, "fiscal.receipt is missing")
        receipt = receipt_of(task.fiscal.receipt)
    return {
        "task": task.fiscal.task,
        "number": register.next_number,
        "shift": register.shift,
        "at": at,
        "cashier": task.fiscal.cashier,
        "fisid": register.fisid,
        **HEADER,
        "receipt": receipt,
    }


# Answers


def answer_of(task: Task, document: dict[str, Any], fiscal_number: str, after: Register) -> dict[str, Any]:
    """The answer to a task that was done."""
    moment = datetime.fromtimestamp(document["at"], KYIV)
    return {
        "ver": 6,
        "resp_ver": 4,
        "source": task.source,
        "device": task.device,
        "tag": task.tag,
        "task_status": 1,
        "type": task.type,
        "task": task.fiscal.task,
        "dt": f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}",
        "res": 0,
        "res_action": 0,
        "errortxt": "",
        "aq_errortxt": "",
        "warnings": [],
        "info": _info(document, fiscal_number, after, moment),
    }


def _info(document: dict[str, Any], fiscal_number: str, after: Register, moment: datetime) -> dict[str, Any]:
    stamp, readable = f"{moment:%Y%m%d%H%M%S}", f"{moment:%d-%m-%Y %H:%M:%S}"
    number, cashier, total = document["number"], document["cashier"], document["receipt"]["sum"]
    qr = (
        f"https://cabinet.tax.gov.ua/cashregs/check?id={fiscal_number}&date={stamp[:8]}&time={stamp[8:]}"
        f"&fn={after.fisid}&sm={total // 100}.{total % 100:02d}"
    )
    users = {"userdata1": "", "userdata2": "", "userdata3": ""}
    return {
        "task": document["task"],
        "fisid": after.fisid,
        "dataid": number,
        "doccode": fiscal_number,
        "dt": stamp,
        "cashier": cashier,
        "dtype": 0,
        "isprint": 0,
        "ispay": 0,
        "isoffline": False,
        "safe": after.safe / 100,
        "shift_link": document["shift"],
        "shift_prev_link": document["shift"] - 1,
        "vacant_off_nums": 10000,
        "docno": str(number),
        "devinfo": "peer",
        "billing": {"paid_date_to": "20991231235959", "enough_to_renew_subscription": 1},
        "lastcheck": {"packnum": number, "docnum": number, "fisnum": fiscal_number, "packtype": document["task"]},
        "printheader": {**HEADER, "dt": readable, "isOffline": False, "fisid": after.fisid, "cashier": cashier},
        "cancelid": "",
        "qr": qr,
        "qr1": "",
        "mac": "",
        "edrpou": HEADER["fis_code"],
        **users,
        "printinfo": {
            **HEADER,
            "comment_up": "",
            "comment_down": "",
            **_print_receipt(document["receipt"]),
            "fisn": fiscal_number,
            "dt": readable,
            "qr": qr,
            "isOffline": False,
            "mac": "",
            "fisid": after.fisid,
            "manuf": "peer",
            "cashier": cashier,
            "task": document["task"],
            "fisdoctype": 0,
            "safe": after.safe / 100,
            "docno": str(number),
            **users,
        },
    }


def _print_receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    total = receipt["sum"] / 100
    return {
        "goods": [
            {
                "name": good["name"],
                "code": good["code"],
                "code1": "",
                "code2": "",
                "code3": "",
                "code_a": "",
                "code_aa": [],
                "cnt": good["cnt"] / 1000,
                "price": good["price"] / 100,
                "cost": good["cost"] / 100,
                "disc": 0.0,
                "taxgrp": good["taxgrp"],
                "taxlit": TAX_GROUPS[good["taxgrp"]][0],
                "comment": "",
            }
            for good in receipt["goods"]
        ],
        "sum_0": total,
        "sum_disc": 0.0,
        "sum_receipt": total,
        "round": 0.0,
        "change": sum(pay["change"] for pay in receipt["pays"]) / 100,
        "sum_topay": total,
        "pays": [print_pay(pay) for pay in receipt["pays"]],
        "taxes": [_print_tax(tax) for tax in receipt["taxes"]],
    }


def print_pay(pay: dict[str, Any]) -> dict[str, Any]:
    """A payment as it is printed."""
    given, change = pay["given"] / 100, pay["change"] / 100
    return {
        "type": pay["type"],
        "typen": PAY_TYPES[pay["type"]],
        "sum": (pay["given"] - pay["change"]) / 100,
        "currency": "ГРН",
        "info": f"Отримано {given:.2f} Решта {change:.2f}" if pay["type"] == 0 else "",
        **dict.fromkeys(("comment", "comment_up", "comment_down", "paysys", "rrn"), ""),
        **dict.fromkeys(("cardmask", "term_id", "bank_id", "auth_code"), ""),
        "round": 0.0,
        "change": change,
    }


def _print_tax(tax: dict[str, Any]) -> dict[str, Any]:
    letter, name, full_name, percent = TAX_GROUPS[tax["group"]]
    return {
        "gr_code": tax["group"],
        "base_sum": tax["base"] / 100,
        "tax_name": name,
        "tax_fname": full_name,
        "tax_lit": letter,
        "tax_percent": float(percent),
        "tax_sum": tax["tax"] / 100,
        "ex_name": "",
        "ex_percent": 0.0,
        "ex_sum": 0.0,
    }


def refusal_of(task: Task | None, refused: Refused) -> dict[str, Any]:
    """The answer to a task that was not done."""
    return {
        "ver": 6,
        "resp_ver": 4,
        "source": task.source if task else "",
        "device": task.device if task else "",
        "tag": task.tag if task else "",
        "task_status": 3,
        "type": task.type if task else 0,
        "task": task.fiscal.task if task else -1,
        "res": refused.res,
        "res_action": 3,
        "errortxt": refused.text,
        "aq_errortxt": "",
        "warnings": [],
        "info": {},
    }
