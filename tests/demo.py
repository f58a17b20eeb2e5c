"""A day in the shop: ``python -m tests.demo`` starts the service and works on its register from opening to Z.

The cash desk here uses plain HTTP and a real service in training mode. It sells forty times in every possible way,
takes goods back, moves cash, shows each receipt as text, and keeps its own books: from its requests, as the oracle
calculates them, never from an answer. In the evening a table shows X, Z and the summary reports beside these books.
The exit status is 0 only when all of them agree, and each copy, number and list is right too.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dmtwisted.lab.children import free_port
from tests.oracle import CASH, PAY_TYPES, Group, Tax, Till, calculate, discounted, goods

ROOT = Path(__file__).parent.parent
REGISTER = "test"
CASHIER = "Олена Коваль"

START_PATIENCE, ANSWER_PATIENCE, STOP_PATIENCE = 30.0, 20.0, 15.0
"""The longest time in seconds for the service to start, to answer and to end."""

TILL = Till(step=50, default_group=2)
"""A training register's limits by default (docs/reference/http-interface.md#register-settings)."""

WITHOUT_RATE = 5
"""A group of 0 %: its tax is zero; a group without a rate has none (docs/reference/http-interface.md#tax-groups)."""

CARD = 2

CARD_DATA: dict[str, Any] = {
    "paysys": "VISA",
    "rrn": "631807412345",
    "cardmask": "411111******1111",
    "term_id": "S1A2B3C4",
    "bank_id": "77001",
    "bank_name": "Навчальний банк",
    "auth_code": "A1B2C3",
}

GOODS = {
    "chocolate": ("101", "Шоколад чорний", "47.30", 1),
    "bag": ("102", "Пакет", "4.20", 2),
    "wine": ("103", "Вино червоне, 0.75 л", "259.90", 3),
    "aspirin": ("104", "Аспірин № 10", "36.75", 4),
    "export": ("105", "Мед на експорт", "182.00", 5),
    "tobacco": ("106", "Тютюн люльковий", "310.00", 6),
    "ticket": ("107", "Проїзний квиток", "120.00", 7),
    "ring": ("108", "Каблучка срібна", "1999.99", 8),
    "grain": ("109", "Пшениця, кг", "8.35", 9),
    "lottery": ("110", "Лотерейний білет", "25.00", 10),
}
"""What the shop sells: code, name, price, tax group."""


# Books


Moves = Counter[tuple[str, int, str]]
"""The sums and counts of a document: section, code and member, as in a report; in kopecks or times."""

SAFE = ("safe", 0, "")
"""The report's place of the cash in the drawer."""


def kopecks(value: object) -> int:
    """An amount in hryvnias, sent or calculated, in kopecks."""
    amount = (value if isinstance(value, Fraction) else Fraction(str(value))) * 100
    assert amount.denominator == 1, value
    return int(amount)


def hryvnias(amount: int) -> float:
    """Kopecks as a number to send."""
    return float(Decimal(amount) / 100)


class Books:
    """The shop's own books: one entry for each document, and the totals.

    :param till: the limits of its register.
    :param safe: the cash in the drawer in the morning.
    """

    def __init__(self, till: Till = TILL, safe: int = 0) -> None:
        self._till = till
        self._whole: Moves = Counter({SAFE: safe})
        self.entries: list[Moves] = []

    @property
    def totals(self) -> Moves:
        """The sum of all entries, without zeros."""
        return Counter({key: value for key, value in self._whole.items() if value})

    @property
    def safe(self) -> int:
        """The cash in the drawer."""
        return self._whole[SAFE]

    def _write(self, entry: Moves) -> None:
        self.entries.append(entry)
        self._whole.update(entry)

    def receipt(self, receipt: Mapping[str, Any], *, sold: bool) -> None:
        """A sale, or a return."""
        side, sign = ("p", 1) if sold else ("m", -1)
        figures = calculate(receipt, self._till)
        entry: Moves = Counter({("receipt", 0, f"count_{side}"): 1})
        entry["summary", 0, f"base_{side}"] = kopecks(figures.exact)
        entry["summary", 0, f"disc_{side}"] = kopecks(figures.taken_off)
        entry["summary", 0, f"calc_{side}"] = kopecks(figures.due)
        for pay in receipt["pays"]:
            if pay["type"] != CASH:
                entry["pays", pay["type"], f"sum_{side}"] += kopecks(pay["sum"])
        # Only cash is rounded; a report has it before rounding, and how much was added or dropped.
        rounding, kept = kopecks(figures.rounding), kopecks(figures.kept_cash)
        entry["pays", CASH, f"sum_{side}"] += kept - rounding
        entry["pays", CASH, f"round_{side}{'u' if rounding > 0 else 'd'}"] += abs(rounding)
        entry[SAFE] += sign * kept
        for code, tax in figures.taxes.items():
            (group,) = (group for group in self._till.groups if group.code == code)
            self._tax(entry, group, tax, side)
        self._write(entry)

    def _tax(self, entry: Moves, group: Group, tax: Tax, side: str) -> None:
        turnover, levy = kopecks(tax.turnover), kopecks(tax.levy)
        entry["taxes", group.code, f"base_sum_{side}"] = turnover
        if group.levy or group.unit:
            entry["taxes", group.code, f"base_ex_sum_{side}"] = turnover
            entry["taxes", group.code, f"ex_sum_{side}"] = levy
            entry["summary", 0, f"taxex_{side}"] += levy
        if group.vat or group.code == WITHOUT_RATE:
            # The part of the price that is taxed: the levy is in it, is added to it, or was taken out before.
            base = turnover + {0: 0, 1: levy, 2: -levy, 3: -levy}[group.algorithm]
            entry["taxes", group.code, f"base_tax_sum_{side}"] = base
            entry["taxes", group.code, f"tax_sum_{side}"] = kopecks(tax.vat)

    def money(self, pays: Sequence[Mapping[str, Any]], *, came_in: bool) -> None:
        """Money without goods: cash in and out, income, expense."""
        side, sign = ("p", 1) if came_in else ("m", -1)
        entry: Moves = Counter()
        for pay in pays:
            entry["money", pay["type"], f"sum_{side}"] += kopecks(pay["sum"])
            if pay["type"] == CASH:
                entry[SAFE] += sign * kopecks(pay["sum"])
        self._write(entry)

    def withdrawal(self, cash: Mapping[str, Any]) -> None:
        """Cash paid out against a card."""
        amount = kopecks(cash["sum"])
        self._write(Counter({("receipt", 0, "count_14"): 1, ("cash", CARD, "sum_m"): amount, SAFE: -amount}))

    def storno(self) -> None:
        """Cancel the last document."""
        self._write(Counter({key: -value for key, value in self.entries[-1].items()}))


def moves_of(info: Mapping[str, Any]) -> Moves:
    """The values of a report, as the books have them: without names, rates, document numbers and zeros."""
    says: Moves = Counter({SAFE: kopecks(info["safe"])})
    for section in ("pays", "money", "cash", "taxes"):
        for line in info[section]:
            for member, value in line.items():
                if "sum" in member or "round" in member:
                    says[section, line["gr_code" if section == "taxes" else "type"], member] += kopecks(value)
    for member, value in info["summary"].items():
        says["summary", 0, member] = kopecks(value)
    for member, value in info["receipt"].items():
        if member.startswith("count"):
            says["receipt", 0, member] = value
    return Counter({key: value for key, value in says.items() if value})


class Comparison:
    """The books beside each report, value by value."""

    def __init__(self, books: Moves, reports: Mapping[str, Moves]) -> None:
        self._books, self._reports = books, reports
        self._keys = sorted({*books, *(key for report in reports.values() for key in report)})

    def differences(self) -> list[str]:
        """Each value of a report that differs from the books."""
        return [
            f"{_name(key)}: {_value(key, self._books[key])} in the books, {_value(key, report[key])} in {name}"
            for key in self._keys
            for name, report in self._reports.items()
            if report[key] != self._books[key]
        ]

    def __len__(self) -> int:
        return len(self._keys)

    def __str__(self) -> str:
        lines = [" ".join([f"{'':26}", *(f"{name:>12}" for name in ("books", *self._reports))])]
        for key in self._keys:
            values = [self._books[key], *(report[key] for report in self._reports.values())]
            mark = "" if len(set(values)) == 1 else "  <-- differs"
            lines.append(" ".join([f"{_name(key):26}", *(f"{_value(key, value):>12}" for value in values)]) + mark)
        return "\n".join(lines)


def _name(key: tuple[str, int, str]) -> str:
    section, code, member = key
    return f"{section} {code} {member}" if section in ("pays", "money", "cash", "taxes") else f"{section} {member}"


def _value(key: tuple[str, int, str], value: int) -> str:
    return str(value) if key[0] == "receipt" else f"{Decimal(value) / 100:.2f}"


# Receipts


def row(good: str, cnt: float | str = 1, **members: Any) -> dict[str, Any]:
    """An item of a receipt."""
    code, name, price, group = GOODS[good]
    return {"code": code, "name": name, "cnt": cnt, "price": float(price), "taxgrp": group, **members}


def receipt(rows: Sequence[Mapping[str, Any]], *pays: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """A receipt of ``rows``; the last payment may have no sum, and then pays the rest."""
    body = {"rows": [*rows], "pays": [*pays], **members}
    body["sum"] = hryvnias(sum(kopecks(row.left) for row in goods(body, TILL)))
    if pays and "sum" not in pays[-1]:
        rest = sum(kopecks(row.left) for row in discounted(body, TILL)) + kopecks(members.get("round", 0))
        given = sum(kopecks(pay["sum"]) for pay in pays[:-1])
        body["pays"][-1] = {**pays[-1], "sum": hryvnias(rest - given)}
    return body


def pay(pay_type: int = CASH, amount: float | None = None, **members: Any) -> dict[str, Any]:
    """A payment; without an amount it pays the rest."""
    return {"type": pay_type, **({} if amount is None else {"sum": amount}), **members}


def card(amount: float | None = None) -> dict[str, Any]:
    """A payment by card, with the terminal's data."""
    return pay(CARD, amount, **CARD_DATA)


def sales() -> Iterator[tuple[str, dict[str, Any]]]:
    """The forty sales of the day."""
    for n, good in enumerate(GOODS, 1):
        quantity = f"{n}.{n * 37 % 1000:03d}" if good in ("grain", "tobacco", "chocolate") else n
        yield f"tax group {n}", receipt([row(good, quantity)], pay())
    for n, pay_type in enumerate(sorted(PAY_TYPES)):
        first, second = [*GOODS][n % 10], [*GOODS][(n * 3 + 1) % 10]
        by_card: dict[str, Any] = CARD_DATA if pay_type in (CARD, 14, 16, 17, 18, 19, 20) else {}
        yield f"payment type {pay_type}", receipt([row(first), row(second, 2)], pay(pay_type, **by_card))
    yield from _sales_of_the_afternoon()


def _sales_of_the_afternoon() -> Iterator[tuple[str, dict[str, Any]]]:
    yield (
        "certificate, card and cash together",
        receipt([row("ring"), row("chocolate", 3)], pay(6, 500, comment="№ 00017"), card(1200.45), pay()),
    )
    yield (
        "discounts on rows, by amount and by per cent",
        receipt(
            [
                row("chocolate", 3, disc=1.95),
                row("aspirin", 2, disc=7.5, disc_type=1),
                row("wine", discounts=[{"disc": 9.9, "disc_name": "Купон"}]),
            ],
            pay(),
        ),
    )
    yield (
        "surcharges on rows, by amount and by per cent",
        receipt([row("ticket", 2, disc=-3.5), row("grain", "12.345", disc=-4, disc_type=1)], pay(1)),
    )
    yield (
        "an amount off the whole receipt",
        receipt([row("chocolate"), row("wine"), row("aspirin", 3)], card(), disc=33.33, disc_type=0),
    )
    yield (
        "per cent off the whole receipt",
        receipt([row("ring"), row("lottery", 3), row("bag")], pay(), disc=12.5, disc_type=1),
    )
    yield (
        "named discounts on the whole receipt",
        receipt(
            [row("tobacco", "0.150"), row("grain", 40), row("chocolate", 2)],
            pay(13),
            discounts=[
                {"disc": 5, "disc_type": 1, "disc_name": "Картка покупця"},
                {"disc": 10.01, "disc_type": 0, "disc_name": "День народження"},
            ],
        ),
    )
    yield (
        "cash rounded by the service, 500 on the counter",
        receipt([row("wine"), row("aspirin")], pay(CASH, 500), autoround=True),
    )
    yield (
        "card and cash, the cash rounded up by the service",
        receipt([row("wine"), row("chocolate")], card(200), pay(), autoround=True),
    )
    yield (
        "cash rounded down by the till, with the change it gave",
        receipt([row("chocolate", 2), row("bag")], pay(CASH, change=1.5), round=-0.3),
    )
    yield "nothing sold, nothing paid", receipt([])
    yield (
        "excise stamps and comments",
        receipt(
            [
                row("wine", 1, code_a="AATE508932", code2="2204210600", comment="подарункове пакування"),
                row("wine", 2, code_aa=["AATE508933", "AATE508934"], code1="4820000000017"),
            ],
            card(),
            comment_up="Вітаємо у нашій крамниці!",
            comment_down="Дякуємо\\nЧекаємо на вас знову",
        ),
    )
    yield (
        "everything at once",
        receipt(
            [
                row(good, "1.250" if good == "grain" else 1, **({"disc": 1.11} if code % 2 else {}))
                for code, good in enumerate(GOODS, 1)
            ],
            pay(6, 250),
            card(999.99),
            pay(CASH, 2000),
            disc=3.3,
            disc_type=1,
            autoround=True,
            comment_down="Повернення протягом 14 днів",
        ),
    )


# The till


TITLES = {"X": "X-ЗВІТ", "Z": "Z-ЗВІТ"}
"""The titles of the text forms, which tills search in X (docs/reference/http-interface.md#x-and-z-reports)."""


class Trouble(Exception):
    """The day cannot continue."""


class Desk:
    """The cash desk: sends tasks to the service and shows the answers."""

    def __init__(self, port: int, quiet: bool, pictures: Path | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_PATIENCE)
        self._quiet, self._pictures, self._sent = quiet, pictures, 0

    def ask(self, title: str, fiscal: Mapping[str, Any], tag: str = "", *, form: bool = True) -> dict[str, Any]:
        """The answer to a task, which must succeed."""
        self._sent += 1
        body = {
            "ver": 6,
            "source": "demo",
            "device": REGISTER,
            "tag": tag or f"demo-{self._sent}",
            "type": 1,
            "need_pf_txt": 2 if form else 1,
            "need_pf_img": 2 if self._pictures is not None and title in PICTURED else 1,
            "fiscal": {"cashier": CASHIER, **fiscal},
        }
        self._connection.request(
            "POST", "/dm/execute", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        response = self._connection.getresponse()
        raw = response.read()
        if response.status != 200:
            raise Trouble(f"{title}: HTTP status {response.status}")
        answer: dict[str, Any] = json.loads(raw, parse_float=Decimal)
        if answer["res"]:
            raise Trouble(f"{title}: {answer['res']} {answer['errortxt']} {answer['aq_errortxt']}".rstrip())
        if self._pictures is not None and title in PICTURED:
            (self._pictures / f"{PICTURED[title]}.png").write_bytes(picture_of(answer))
        if not self._quiet:
            print(f"--- {title}\n")
            if form:
                print(text_of(answer), end="\n\n")
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def text_of(answer: Mapping[str, Any]) -> str:
    """The text form in an answer."""
    head, _, data = answer.get("pf_text", "").partition(";base64,")
    if not head.startswith("data:"):
        raise Trouble(f"task {answer['task']}: no text form in the answer")
    return base64.b64decode(data).decode("windows-1251")


def picture_of(answer: Mapping[str, Any]) -> bytes:
    """The picture in an answer, as PNG."""
    head, _, data = answer.get("pf_image", "").partition(";base64,")
    if head != "data:image/png":
        raise Trouble(f"task {answer['task']}: no picture in the answer")
    return base64.b64decode(data)


PICTURED = {
    "sale 29: certificate, card and cash together": "sale",
    "Z-report, the shift is closed": "z-report",
}
"""Documents whose pictures ``--pictures`` saves, and the names of the files."""


class Day:
    """The day from opening to the reports of the evening; differences are collected in ``wrong``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.books = Books()
        self.reports: dict[str, Moves] = {}
        self.wrong: list[str] = []

    def run(self) -> None:
        """Run the day."""
        opened = self._desk.ask("the shift is opened", {"task": 0}, form=False)["info"]
        self._cash(3, "small change for the morning", 3000)
        by_card = self._sell()
        self._take_back(by_card)
        self._other_money()
        last = self._cash(4, "all but 500 goes to the bank", hryvnias(self.books.safe - 50_000))
        self._service_report()
        self._report("X", "X-report", {"task": 10})
        self._look_again(last)
        z = self._report("Z", "Z-report, the shift is closed", {"task": 11})
        numbers = {"n_from": z["shift_link"], "n_to": z["shift_link"]}
        self._report("by number", "summary by numbers", {"task": 12, **numbers})
        days = {"dt_from": opened["dt"][:8], "dt_to": z["dt"][:8]}
        self._report("by date", "summary by dates", {"task": 13, **days})

    def _expect(self, what: str, answered: object, wanted: object) -> None:
        if answered != wanted:
            self.wrong.append(f"{what}: {answered!r} instead of {wanted!r}")

    def _contains(self, what: str, answer: Mapping[str, Any], wanted: str) -> None:
        if wanted not in text_of(answer):
            self.wrong.append(f"{what}: no {wanted!r} in its text form")

    def _cash(self, task: int, title: str, amount: float) -> dict[str, Any]:
        cash = {"type": CASH, "sum": amount}
        answer = self._desk.ask(title, {"task": task, "cash": cash})
        self.books.money([cash], came_in=task == 3)
        return answer

    def _receipt(self, task: int, title: str, body: Mapping[str, Any], tag: str = "") -> dict[str, Any]:
        answer = self._desk.ask(title, {"task": task, "receipt": body}, tag)
        self.books.receipt(body, sold=task == 1)
        self._expect(f"{title}: safe", kopecks(answer["info"]["safe"]), self.books.safe)
        return answer

    def _sell(self) -> dict[str, Any]:
        """All sales, with a mistake of the cashier and a lost answer between them; the answer to the sale by card."""
        by_card: dict[str, Any] = {}
        for n, (title, body) in enumerate(sales(), 1):
            tag = f"demo-sale-{n}"
            answer = self._receipt(1, f"sale {n}: {title}", body, tag)
            if title == f"payment type {CARD}":
                by_card = answer
                again = self._desk.ask("the answer got lost, the till asks again", {"task": 1, "receipt": body}, tag)
                self._expect("repeat: task_status", again["task_status"], 2)
                self._expect("repeat: doccode", again["info"]["doccode"], answer["info"]["doccode"])
            if n == 20:
                self._receipt(1, "a slip of the hand", receipt([row("ring", 100)], pay()))
                self._desk.ask("it is taken back: storno", {"task": 17}, form=False)
                self.books.storno()
        return by_card

    def _take_back(self, by_card: Mapping[str, Any]) -> None:
        self._receipt(
            2,
            "goods come back for cash, rounded",
            receipt([row("chocolate", 2), row("grain", "1.5")], pay(), autoround=True),
        )
        sold = by_card["info"]
        (paid,) = sold["printinfo"]["pays"]
        rows = [row("wine"), row("aspirin", 1, disc=10, disc_type=1)]
        money = pay(CARD, **{**CARD_DATA, "rrn": paid["rrn"]})
        body = receipt(rows, money, purchase_receipt_fisn=sold["doccode"])
        self._receipt(2, "goods come back for money on the card", body)

    def _other_money(self) -> None:
        cash = {"sum": 700, "commission": 7, "comment_down": "Видача готівки", **pay(CARD, **CARD_DATA)}
        self._desk.ask("cash for the holder of a card", {"task": 14, "cash": cash})
        self.books.withdrawal(cash)
        for task, title, pays in (
            (15, "income: rent of the corner", [pay(CASH, 1200.4), card(300.1)]),
            (16, "expense: the window cleaner", [pay(CASH, 450)]),
        ):
            body = {"sum": hryvnias(sum(kopecks(paid["sum"]) for paid in pays)), "pays": pays}
            self._desk.ask(title, {"task": task, "receipt": body})
            self.books.money(pays, came_in=task == 15)

    def _service_report(self) -> None:
        lines = [
            {"t": "Завтра відчиняємо о 10:00", "qr_type": 0},
            {"t": "4820000000017", "qr_type": 1},
            {"t": "SHIFT-1/TEST", "qr_type": 2},
            {"t": "https://example.com/shop", "qr_type": 100},
        ]
        answer = self._desk.ask("a notice, not fiscal", {"task": 5, "lines": lines})
        self._contains("notice", answer, "Завтра відчиняємо о 10:00")

    def _report(self, name: str, title: str, fiscal: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._desk.ask(title, fiscal)
        if name in TITLES:
            self._contains(title, answer, TITLES[name])
        info: dict[str, Any] = answer["info"]
        self.reports[name] = moves_of(info)
        return info

    def _look_again(self, last: Mapping[str, Any]) -> None:
        """Check copies, numbers and the list; ``last`` is the last document."""
        doccode = last["info"]["doccode"]
        for title, fiscal in (
            ("copy of the last receipt", {"task": 22}),
            ("copy of a receipt by its number", {"task": 23, "fiscal_number": doccode}),
        ):
            info = self._desk.ask(title, fiscal)["info"]
            self._expect(f"{title}: info", info, last["info"])
        numbers = self._desk.ask("last numbers", {"task": 21}, form=False)["info"]
        # Opening, cash in, forty sales, the mistake and its storno; then two returns.
        self._expect("last sale", numbers["last_receipt_no"], 1 + 1 + 40 + 2)
        self._expect("last return", numbers["last_back_no"], 1 + 1 + 40 + 2 + 2)
        self._expect("last Z", numbers["last_z_no"], 0)
        listed = self._desk.ask("list of receipts", {"get_receipts": True, "pg_cnt": 10}, form=False)["info"]
        self._expect("list: receipts", listed["paging"]["total"], len(self.books.entries))
        self._expect("list: newest", listed["docs"][0]["fisnum"], doccode)
        self._expect("list: page", len(listed["docs"]), 10)


# The service


@contextmanager
def service(port: int) -> Iterator[int]:
    """A real service in training mode without data; its port."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        command = [sys.executable, "-m", "dmtwisted.commands.main", "run", "--training", "--until-input-ends"]
        with log.open("wb") as output:
            child = subprocess.Popen(
                [*command, "--state", str(Path(folder, "state")), "--port", str(port)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield _port_of(child, log)
        finally:
            # Windows has no signal that asks for the end.
            assert child.stdin is not None
            child.stdin.close()
            try:
                child.wait(STOP_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _port_of(child: subprocess.Popen[bytes], log: Path) -> int:
    """The URL for tasks, as soon as the service takes them: before that it answers that the register is busy."""
    deadline = time.monotonic() + START_PATIENCE
    while True:
        # First poll, then read the log, so that what the service wrote before it ended is read in any case.
        ended = child.poll() is not None
        said = log.read_text("utf-8", "replace")
        found = re.search(r" serving on https?://[\d.]+:(\d+)/", said)
        if found and _is_ready(int(found[1])):
            return int(found[1])
        if ended or time.monotonic() > deadline:
            raise Trouble(f"the service does not start:\n{said}")
        time.sleep(0.05)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_PATIENCE)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    finally:
        connection.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the day; the exit status says whether the books agree."""
    options = argparse.ArgumentParser(prog="python -m tests.demo", description="A day in the shop.")
    options.add_argument("--port", type=int, default=0, help="TCP port of the service; a free one if not given")
    options.add_argument("--quiet", action="store_true", help="print only the table")
    options.add_argument("--pictures", type=Path, help="a folder for pictures of some of the paper")
    chosen = options.parse_args(arguments)
    try:
        with service(chosen.port or free_port()) as port:
            desk = Desk(port, chosen.quiet, chosen.pictures)
            day = Day(desk)
            try:
                day.run()
            finally:
                desk.close()
    except (Trouble, OSError, http.client.HTTPException) as trouble:
        print(f"demo: {trouble}", file=sys.stderr)
        return 1
    comparison = Comparison(day.books.totals, day.reports)
    wrong = day.wrong + comparison.differences()
    print(comparison)
    verdict = f"{len(wrong)} differences" if wrong else "all agree"
    print(f"\n{len(day.books.entries)} documents, {len(comparison)} values, {len(day.reports)} reports: {verdict}")
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
