"""Texts of a request that reach a document: control characters are refused with the path of their member (1089).

Names, comments and the lines above and below may have line breaks. A tab is a control character everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import attrgetter

from dmtwisted.requests import PayRequest, ReceiptRequest, RowRequest, malformed
from dmtwisted.results import Refused, Res, at_most

# The last two are no letters, and no XML may have them.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_LINE_BREAK = re.compile(r"\r?\n")

_PLAIN = r"A-Za-zА-Яа-яЁёІіЇїЄєҐґ0-9 !.,\"№;:?*()<>|/@#$%^\-_+=~'&{}\[\]®©«»°±‘’“”–•—™„‰‹›"
"""Characters that the tax service takes in names (docs/reference/http-interface.md#characters)."""
_NOT_PLAIN = re.compile(f"[^{_PLAIN}]").search
# The backslash is taken too, and it is in a written line break.
_NOT_PRINTABLE = re.compile(rf"[^{_PLAIN}\\\n]")

LINES = frozenset({"name", "comment", "comment_up", "comment_down"})
"""Members whose texts may have line breaks."""

LONGEST_PAY = 16_384
"""Characters of all texts of a payment: card numbers among them are looked for."""

NO_ROW = "-"
"""What 1089 says instead of a position when the text belongs to no row."""

_ROW = ("name", "comment", "code", "code1", "code2", "code3")
_RECEIPT = ("comment_up", "comment_down", "purchase_receipt_fisn", "purchase_rro_fisn", "partpay_receipt_fisn")
_PAY = (
    *("comment", "comment_up", "comment_down", "paysys", "rrn", "cardmask", "term_id"),
    *("bank_id", "bank_name", "auth_code", "oper_type"),
)
_row_texts, _receipt_texts, pay_texts = attrgetter(*_ROW), attrgetter(*_RECEIPT), attrgetter(*_PAY)
"""All texts of a row but its marks, of a receipt, and of a payment."""


def all_plain(receipt: ReceiptRequest) -> bool:
    """Whether every text of ``receipt`` but its marks is one that nobody would refuse or change.

    One look at all of them is enough for almost every receipt.
    """
    texts = [*_receipt_texts(receipt)]
    for row in receipt.rows:
        texts += _row_texts(row)
    for pay in receipt.pays:
        texts += pay_texts(pay)
    whole = "".join(texts)
    return len(whole) <= LONGEST_PAY and not _NOT_PLAIN(whole)


def printable(text: str) -> str:
    """``text`` with `?` for each character that the tax service refuses; a written ``\\n`` is a line break."""
    if not text:
        return text
    return _NOT_PRINTABLE.sub("?", text.replace("\r\n", "\n").replace("\\n", "\n"))


def check_row(row: RowRequest, index: int) -> None:
    """Check the texts of ``fiscal.receipt.rows[index]``, but for its marks (`dmtwisted.registers.marks`).

    :raises Refused: 1089.
    """
    texts = _row_texts(row)
    # One check is enough for texts that are all printable; those with line breaks are checked one by one.
    if not "".join(texts).isprintable():
        _check(f"fiscal.receipt.rows[{index}]", zip(_ROW, texts, strict=True), index + 1)


def check_receipt(receipt: ReceiptRequest) -> None:
    """Check the texts of ``fiscal.receipt`` and of its payments.

    :raises Refused: 1089.
    """
    texts = _receipt_texts(receipt)
    if not "".join(texts).isprintable():
        _check("fiscal.receipt", zip(_RECEIPT, texts, strict=True))
    for index, pay in enumerate(receipt.pays):
        check_pay(pay, f"fiscal.receipt.pays[{index}]")


def check_pay(pay: PayRequest, path: str) -> None:
    """Check the texts of the payment at ``path``.

    :raises Refused: 1089, or 2000 when they are longer than those of any bank.
    """
    texts = pay_texts(pay)
    whole = "".join(texts)
    if len(whole) > LONGEST_PAY:
        raise malformed(path, at_most(LONGEST_PAY, len(whole)))
    if not whole.isprintable():
        _check(path, zip(_PAY, texts, strict=True))


def check_cashier(cashier: str) -> None:
    """Check ``fiscal.cashier``.

    :raises Refused: 1089.
    """
    if not cashier.isprintable():
        _check("fiscal", [("cashier", cashier)])


def _check(path: str, named: Iterable[tuple[str, str]], position: int | str = NO_ROW) -> None:
    for name, text in named:
        if _CONTROL.search(_LINE_BREAK.sub("", text) if name in LINES else text):
            raise Refused(Res.FORBIDDEN_CHARACTER, position, f"{path}.{name}")
