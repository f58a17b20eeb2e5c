"""A register is whole: every document and report of a shop's day, calculated to the kopeck."""

from __future__ import annotations

from typing import Any

from dmtwisted.conformance.desk import same
from dmtwisted.conformance.desks import RegisterDesk, receipt
from dmtwisted.conformance.levels import WHOLE
from dmtwisted.conformance.suite import check
from dmtwisted.devices.driver import REGISTER

PAGE = "docs/integrating.md"
CASH = {"type": 0}
CARD = {
    "type": 2,
    "paysys": "VISA",
    "rrn": "123456789012",
    "cardmask": "411111******1111",
    "term_id": "S1A2",
    "bank_id": "77",
    "auth_code": "A1B2C3",
}


@check(REGISTER, level=WHOLE, source=PAGE)
def a_shop_can_work_with_it(desk: RegisterDesk) -> None:
    """Shift, sale, cash in and out, X, Z and status are there."""
    needed = {"open", "sale", "cash_in", "cash_out", "x", "z", "status"}
    same(sorted(needed - desk.stand.has), [], "tasks that are missing")


@check(REGISTER, level=WHOLE, source=PAGE)
def a_day_from_opening_to_z(desk: RegisterDesk) -> None:
    """A day: opening, cash in, sales, a return, cash out, X and Z; each document is at the server, in order."""
    desk.open()
    desk.well(desk.fiscal(3, "in", cash={**CASH, "sum": 500}))
    sold = desk.well(desk.sell(120, "s1"))["info"]
    desk.well(desk.sell(80, "s2"))
    back = {**receipt(120), "purchase_receipt_fisn": sold["doccode"]}
    desk.well(desk.fiscal(2, "r1", receipt=back))
    desk.well(desk.fiscal(4, "out", cash={**CASH, "sum": 100}))
    same(desk.safe(), 480.0, "cash in the drawer")
    desk.well(desk.fiscal(10))
    desk.well(desk.fiscal(11, "z"))
    kinds = [entry.kind for entry in desk.entries()]
    opened = ["open"] if desk.stand.opens else []
    same(kinds, [*opened, "cash_in", "sale", "sale", "return", "cash_out", "z"], "documents at the server")


@check(REGISTER, level=WHOLE, source=PAGE)
def reports_are_the_sum_of_receipts(desk: RegisterDesk) -> None:
    """X and Z report the same sales and returns by payment; X changes nothing, Z closes."""
    desk.open()
    for n, amount in enumerate((10.5, 20, 30.55)):
        desk.well(desk.sell(amount, f"t{n}"))
    card = {**receipt(40.4), "pays": [{**CARD, "sum": 40.4}]}
    desk.well(desk.fiscal(1, "card", receipt=card))
    x = desk.well(desk.fiscal(10))["info"]
    same(desk.well(desk.fiscal(10))["info"]["summary"], x["summary"], "an X after an X")
    z = desk.well(desk.fiscal(11, "z"))["info"]
    same(z["summary"], x["summary"], "Z against X")
    same((z["summary"]["base_p"], z["receipt"]["count_p"]), (101.45, 4), "what was sold")
    by_type = {line["type"]: line["sum_p"] for line in z["pays"]}
    same(by_type[2], 40.4, "by card")
    same(round(by_type[0] + by_type[2], 2), 101.45, "all payments before rounding")


@check(
    REGISTER,
    level=WHOLE,
    source="rule of the National Bank since October 2025, docs/registers.md",
    needs=("rounding",),
)
def cash_is_rounded_by_the_rule(desk: RegisterDesk) -> None:
    """Cash is rounded to 50 kopecks: up from a quarter, down below; a card pays to the kopeck."""
    desk.open()
    rounded = {12.24: 12.0, 12.25: 12.5, 12.49: 12.5, 12.5: 12.5, 12.51: 12.5, 12.74: 12.5, 12.75: 13.0, 12.99: 13.0}
    for n, (asked, paid) in enumerate(rounded.items()):
        answer = desk.fiscal(1, f"r{n}", receipt={**receipt(asked), "autoround": True})
        same(desk.well(answer)["info"]["printinfo"]["sum_topay"], paid, f"{asked:.2f} in cash")
    card = {**receipt(12.24), "pays": [{**CARD, "sum": 12.24}]}
    same(desk.well(desk.fiscal(1, "card", receipt=card))["info"]["printinfo"]["sum_topay"], 12.24, "by card")


@check(REGISTER, level=WHOLE, source="worked example of the tax service's paper on documents")
def taxes_are_calculated_after_discounts(desk: RegisterDesk) -> None:
    """VAT is part of the sum after discounts, rounded once for each group."""
    desk.open()
    rows = [
        {"code": "1", "name": "Кава", "cnt": 1, "price": 100, "disc": 50, "taxgrp": 1},
        {"code": "2", "name": "Чай", "cnt": 2, "price": "100.00", "disc": 40, "taxgrp": 1},
    ]
    answer = desk.fiscal(1, "d", receipt={"sum": 210, "rows": rows, "pays": [{"type": 0, "sum": 210}]})
    printed = desk.well(answer)["info"]["printinfo"]
    same((printed["sum_0"], printed["sum_disc"], printed["sum_topay"]), (300.0, 90.0, 210.0), "sums")
    [group] = printed["taxes"]
    # Of 210.00 with 20 % in it a sixth.
    same((group["tax_percent"], group["base_sum"], group["tax_sum"]), (20.0, 210.0, 35.0), "the tax")


@check(REGISTER, level=WHOLE, source="docs/drivers.md#what-has-to-be-true")
def kopecks_are_exact(desk: RegisterDesk) -> None:
    """Sums and quantities arrive to the kopeck and the gram, whether they are numbers or texts."""
    desk.open()
    amounts: tuple[Any, ...] = ("1.15", 4.35, "19.99", 64.1, 1128.57, "0.29", 8.2)
    for n, amount in enumerate(amounts):
        answer = desk.fiscal(1, f"k{n}", receipt={**receipt(amount), "pays": [{**CARD, "sum": amount}]})
        same(desk.well(answer)["info"]["printinfo"]["sum_topay"], float(amount), f"{amount}")
        same(desk.entries("sale")[-1].sum, round(float(amount) * 100), f"{amount} at the server")
    rows = [{"code": "9", "name": "Пшениця, кг", "cnt": "0.125", "price": "80", "taxgrp": 1}]
    weighed = {"sum": 10, "rows": rows, "pays": [{"type": 0, "sum": 10}]}
    desk.well(desk.fiscal(1, "weighed", receipt=weighed))


@check(REGISTER, level=WHOLE, source=PAGE)
def change_is_calculated(desk: RegisterDesk) -> None:
    """More cash than is due gives change, and the rest is in the drawer."""
    desk.open()
    pays = [{"type": 0, "sum": 50, "change": 20}]
    info = desk.well(desk.fiscal(1, "c", receipt={**receipt(30), "pays": pays}))["info"]
    same((info["printinfo"]["change"], info["safe"]), (20.0, 30.0), "change and drawer")


@check(REGISTER, level=WHOLE, source=PAGE)
def names_keep_their_letters(desk: RegisterDesk) -> None:
    """Names in Ukrainian, with quotes, ampersands and angle brackets, come back unchanged."""
    desk.open()
    name = 'Їжа «Ґанок» <№1> & "Ко" – м\'ята'
    row = {"code": "1", "name": name, "cnt": 1, "price": 10, "taxgrp": 1}
    answer = desk.well(desk.fiscal(1, "n", receipt={**receipt(10), "rows": [row]}))
    same(answer["info"]["printinfo"]["goods"][0]["name"], name, "the name of an item")


@check(REGISTER, level=WHOLE, source=PAGE)
def the_status_is_told(desk: RegisterDesk) -> None:
    """The status needs no document, before and in a shift."""
    same(desk.well(desk.fiscal(18))["info"]["shift_status"], 0, "the status")
    desk.open()
    before = len(desk.entries())
    same(desk.well(desk.fiscal(18))["info"]["shift_status"], 1, "the status")
    same(len(desk.entries()), before, "documents at the server")


@check(REGISTER, level=WHOLE, source=PAGE, needs=("copy",))
def copies_can_be_read(desk: RegisterDesk) -> None:
    """The last receipt and any other one can be read again, without a document."""
    desk.open()
    first = desk.well(desk.sell(11, "one"))["info"]
    desk.well(desk.sell(12, "two"))
    before = len(desk.entries())
    same(desk.well(desk.fiscal(22))["info"]["printinfo"]["sum_topay"], 12.0, "the last receipt")
    copy = desk.well(desk.fiscal(23, fiscal_number=first["doccode"]))["info"]
    same(copy["printinfo"]["sum_topay"], 11.0, "a copy by its number")
    same(len(desk.entries()), before, "documents at the server")


@check(REGISTER, level=WHOLE, source=PAGE, needs=("storno",))
def storno_takes_the_last_one_back(desk: RegisterDesk) -> None:
    """A storno takes the last receipt out of the totals and the drawer, once."""
    desk.open()
    desk.well(desk.sell(11, "one"))
    desk.well(desk.sell(12, "two"))
    desk.well(desk.fiscal(17))
    same((desk.safe(), len(desk.entries("storno"))), (11.0, 1), "drawer and documents")
    same(desk.well(desk.fiscal(10))["info"]["summary"]["base_p"], 11.0, "what was sold")


@check(REGISTER, level=WHOLE, source=PAGE, needs=("withdrawal",))
def cash_is_handed_out_by_card(desk: RegisterDesk) -> None:
    """Cash that is handed out against a card has its own document and leaves the drawer."""
    desk.open()
    desk.well(desk.fiscal(3, "in", cash={**CASH, "sum": 100}))
    desk.well(desk.fiscal(14, "w", cash={**CARD, "sum": 40}))
    same((desk.safe(), [entry.sum for entry in desk.entries("withdrawal")]), (60.0, [4000]), "drawer and document")


@check(REGISTER, level=WHOLE, source="docs/architecture.md", needs=("offline",))
def offline_and_back(desk: RegisterDesk) -> None:
    """Offline the register goes on selling with its own numbers; back online the server has every receipt once."""
    desk.open()
    desk.well(desk.sell(10, "online"))
    desk.now(desk.built.go_offline("en"))
    codes = [desk.well(desk.sell(20 + n, f"off{n}"))["info"]["doccode"] for n in range(3)]
    same((len(set(codes)), desk.sales(20)), (3, 0), "numbers of offline receipts")
    same(desk.well(desk.look_up("off0"))["info"]["isoffline"], True, "an offline receipt")
    desk.now(desk.built.go_online("en"))
    same([desk.sales(20 + n) for n in range(3)], [1, 1, 1], "receipts at the server")
    desk.well(desk.sell(30, "again online"))
    same(desk.sales(30), 1, "a receipt after the return")
