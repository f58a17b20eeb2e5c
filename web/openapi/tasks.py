"""Every task: required and optional members, an example, and the shape of its answer.

The examples are one day at a training service, in this order. `tests/test_openapi.py` executes them; the answers are
in `examples.json` beside this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dmtwisted.terminals.interface import LABELLED
from dmtwisted.terminals.orders import NEEDED

REGISTER, PRINTER, TERMINAL = "test", "prn", "pos"
"""The devices of a training service (docs/reference/http-interface.md#training-mode)."""

EXECUTE, EXECUTE_PRN, EXECUTE_PKG = "/dm/execute", "/dm/execute-prn", "/dm/execute-pkg"

LABELS = "4c1a7d0e-5b7e-5a53-8d6c-0a1f2b3c4d%02d"
"""The pattern of `transaction_id`; each operation has its own number."""


@dataclass(frozen=True)
class Task:
    """One task, or one variant of it.

    ``needs`` are paths of required members, ``may`` paths of optional ones. ``info`` names the shape of ``info`` in
    the answer; ``res`` is the result at a training service.
    """

    key: str
    title: str
    type: int
    task: int | None
    body: dict[str, Any]
    info: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    path: str = EXECUTE
    res: int = 0
    tagged: bool = False
    fills: dict[str, str] = field(default_factory=dict)
    """Members that come from an earlier answer: their path, and `key:path` of the answer."""


ROW = {"code": "1", "name": "Кава", "cnt": 1, "price": 125.5, "taxgrp": 1}
TEA = {"code": "7", "name": "Чай, кг", "cnt": 0.125, "price": 400, "taxgrp": 2, "disc": 5}
CARD = {"paysys": "VISA", "rrn": "631807412345", "cardmask": "411111******1111"}
CASHIER = "Олена"


def _fiscal(
    key: str,
    title: str,
    task: int,
    info: str,
    members: dict[str, Any] | None = None,
    *,
    tag: str = "",
    needs: tuple[str, ...] = (),
    may: tuple[str, ...] = (),
    **more: Any,
) -> Task:
    body: dict[str, Any] = {"ver": 6, "source": "till 1", "device": REGISTER}
    if tag:
        body["tag"] = tag
    body["type"] = 1
    body["fiscal"] = {"task": task, "cashier": CASHIER, **(members or {})}
    return Task(
        key,
        title,
        1,
        task,
        body,
        info,
        ("device", "type", *needs),
        ("fiscal.cashier", *may),
        tagged=bool(tag),
        **more,
    )


def _receipt(rows: list[Any], pays: list[Any], total: float, **more: Any) -> dict[str, Any]:
    return {"receipt": {"sum": total, "rows": rows, "pays": pays, **more}}


def _cash(amount: float, kind: int = 0, **more: Any) -> dict[str, Any]:
    return {"cash": {"type": kind, "sum": amount, **more}}


FISCAL = (
    _fiscal("open", "Open the shift", 0, "ReceiptInfo", tag="open-1"),
    _fiscal("cash-in", "Cash in", 3, "ReceiptInfo", _cash(500), tag="cash-in-1",
            needs=("fiscal.cash",), may=("fiscal.receipt",)),
    _fiscal("sale", "Sale", 1, "ReceiptInfo", _receipt([ROW], [{"type": 0, "sum": 200}], 125.5), tag="sale-1",
            needs=("fiscal.receipt",)),
    _fiscal("sale-card", "Sale by card, with a discount", 1, "ReceiptInfo",
            _receipt([ROW, TEA], [{"type": 2, "sum": 160.5, **CARD}], 170.5, disc=10), tag="sale-2",
            needs=("fiscal.receipt",)),
    _fiscal("return", "Return", 2, "ReceiptInfo", _receipt([ROW], [{"type": 0, "sum": 125.5}], 125.5), tag="return-1",
            needs=("fiscal.receipt",)),
    _fiscal("cash-out", "Cash out", 4, "ReceiptInfo", _cash(100), tag="cash-out-1",
            needs=("fiscal.cash",), may=("fiscal.receipt",)),
    _fiscal("withdrawal", "Cash withdrawal with a card", 14, "ReceiptInfo", _cash(50, 2, **CARD),
            tag="withdrawal-1", needs=("fiscal.cash",)),
    _fiscal("income", "Income", 15, "ReceiptInfo", _receipt([], [{"type": 0, "sum": 30}], 30), tag="income-1",
            needs=("fiscal.receipt",)),
    _fiscal("expense", "Expense", 16, "ReceiptInfo", _receipt([], [{"type": 0, "sum": 20}], 20), tag="expense-1",
            needs=("fiscal.receipt",)),
    _fiscal("service-report", "Free text, not fiscal", 5, "NumberInfo",
            {"lines": [{"t": "Працюємо до 21:00"}, {"t": "https://example.com/", "qr_type": 100}]},
            needs=("fiscal.lines",)),
    _fiscal("x", "X-report", 10, "ReportInfo"),
    _fiscal("status", "State of the register", 18, "StatusInfo"),
    _fiscal("number", "Fiscal number of the register", 20, "NumberInfo"),
    _fiscal("last-numbers", "Numbers of the last receipts", 21, "LastNumbersInfo"),
    _fiscal("last-copy", "Copy of the last document", 22, "ReceiptInfo"),
    _fiscal("copy", "Copy of a receipt by its fiscal number", 23, "ReceiptInfo", {"fiscal_number": ""},
            needs=("fiscal.fiscal_number",), fills={"fiscal.fiscal_number": "sale:info.doccode"}),
    _fiscal("storno", "Cancel the last receipt (storno)", 17, "ReceiptInfo"),
    Task("list", "List of receipts", 1, None,
         {"ver": 6, "device": REGISTER, "type": 1, "fiscal": {"get_receipts": True, "pg_no": 1, "pg_cnt": 2}},
         "ReceiptList", ("device", "type", "fiscal.get_receipts"),
         ("fiscal.dev_name", "fiscal.dev_id", "fiscal.pg_no", "fiscal.pg_cnt", "fiscal.dt_from", "fiscal.dt_to",
          "fiscal.dt_order")),
    Task("look-up", "Look-up by tag", 0, None, {"ver": 6, "device": REGISTER, "tag": "sale-1", "type": 0},
         "ReceiptInfo", ("device", "tag")),
    Task("sale-printed", "Sale, printed", 1, 1,
         {"ver": 6, "device": REGISTER, "tag": "sale-3", "type": 1,
          "fiscal": {"task": 1, "cashier": CASHIER, **_receipt([ROW], [{"type": 0, "sum": 125.5}], 125.5)}},
         "ReceiptInfo", ("device", "type", "fiscal.receipt"), ("fiscal.cashier",), path=EXECUTE_PRN, tagged=True),
    Task("batch-sale", "Card, receipt and paper in one request", 1, 1,
         {"ver": 6, "device": REGISTER, "tag": "sale-4", "type": 1,
          "fiscal": {"task": 1, "cashier": CASHIER, **_receipt([ROW], [{"type": 2, "sum": 125.5}], 125.5)}},
         "ReceiptInfo", ("device", "type", "fiscal.receipt"), ("fiscal.cashier", "skipprint"), path=EXECUTE_PKG,
         tagged=True),
    Task("batch-return", "Return of it, to the card", 1, 2,
         {"ver": 6, "device": REGISTER, "tag": "return-2", "type": 1,
          "fiscal": {"task": 2, "cashier": CASHIER, **_receipt([ROW], [{"type": 2, "sum": 125.5}], 125.5)},
          "pay": {"task": 2, "refundid": ""}},
         "ReceiptInfo", ("device", "type", "fiscal.receipt", "pay"), ("fiscal.cashier", "skipprint"),
         path=EXECUTE_PKG, tagged=True, fills={"pay.refundid": "batch-sale:info.printinfo.pays.0.rrn"}),
    _fiscal("z", "Z-report: close the shift", 11, "ReportInfo", tag="z-1"),
    _fiscal("summary-by-number", "Summary report by Z numbers", 12, "ReportInfo", {"n_from": 1, "n_to": 1},
            may=("fiscal.n_from", "fiscal.n_to", "fiscal.is_short")),
    _fiscal("summary-by-date", "Summary report by dates", 13, "ReportInfo", {"dt_from": "20260921"},
            may=("fiscal.dt_from", "fiscal.dt_to", "fiscal.is_short")),
)  # fmt: skip
"""Tasks of registers."""


def _pay(number: int, key: str, title: str, task: int, may: tuple[str, ...] = (), **members: Any) -> Task:
    fills = members.pop("fills", {})
    res = members.pop("res", 0)
    body = {
        "ver": 6,
        "source": "till 1",
        "device": TERMINAL,
        "type": 3,
        **({"transaction_id": LABELS % number, "transaction_search": 2} if task in LABELLED else {}),
        "pay": {"task": task, **members},
    }
    needs = tuple(f"pay.{member}" for member in NEEDED.get(task, ()))
    label = ("transaction_id", "transaction_search") if task in LABELLED else ()
    minds = (*(f"pay.{member}" for member in may), *label)
    return Task(key, title, 3, task, body, "TerminalInfo", ("device", "type", *needs), minds, res=res, fills=fills)


PAY = (
    _pay(1, "payment", "Payment", 1, ("merch",), sum=125.5),
    _pay(1, "stored", "A stored operation; the last one without transaction_id", 17),
    _pay(2, "refund", "Refund", 2, ("merch",), sum=125.5, refundid="",
         fills={"pay.refundid": "payment:info.refundid"}),
    _pay(3, "payment-2", "Payment", 1, ("merch",), sum=10),
    _pay(4, "cancel", "Cancel", 3, ("sum",), cancelid="", fills={"pay.cancelid": "payment-2:info.cancelid"}),
    _pay(5, "transfer", "Transfer from card to card (5029: this terminal cannot)", 4, sum=10, res=5029),
    _pay(6, "bank-service", "A service of the bank", 5, ("param", "sum", "merch"), srvnum="046", param="6", sum=3),
    _pay(7, "read-card", "Payment that stops after the card was read", 6, ("merch",), sum=80),
    _pay(8, "finish", "Continue it with another sum", 7, ("sum", "oper_action"), sum=72),
    _pay(9, "discount-card", "Read a discount card", 8),
    _pay(10, "cash-issue", "Goods and cash", 14, ("sum", "merch"), sum=100, cash=200),
    _pay(11, "instalments", "Instalments", 15, ("merch",), sum=1200, parts=3),
    _pay(12, "instalments-refund", "Refund of instalments", 16, ("merch",), sum=1200, agreementNum="",
         fills={"pay.agreementNum": "instalments:info.hstFld63Sf89"}),
    _pay(13, "totals", "Totals without closing the batch", 10, ("merch",)),
    _pay(14, "settlement", "General report: close the batch", 11, ("merch",)),
)  # fmt: skip
"""Tasks of terminals."""


def _doc(key: str, title: str, **doc: Any) -> Task:
    body = {"ver": 6, "device": PRINTER, "type": 2, "doc": doc}
    return Task(key, title, 2, None, body, "PrinterInfo", ("device", "type", "doc"))


DOC = (
    _doc("drawer", "Open the drawer", opendrawer=1),
    _doc("test-page", "Test page", test=1),
    _doc("lines", "Print lines", lines=[{"t": "Дякуємо!", "bold": True, "align": "center", "size": 2}]),
    _doc("document", "Print a document", doccmd=[{"cmd": "text", "text": "Замовлення 12"}, {"cmd": "cut"}]),
)
"""Tasks of printers."""

ALL: tuple[Task, ...] = (*FISCAL, *PAY, *DOC)


def of_path(path: str) -> Iterator[Task]:
    """The tasks whose examples are sent to ``path``."""
    return (task for task in ALL if task.path == path)
