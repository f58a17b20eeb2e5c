"""The results for the banks' own codes of four digits, which all Ukrainian protocols share.

See docs/reference/terminals.md#bank-codes.
"""

from __future__ import annotations

from dmtwisted.results import Res
from dmtwisted.terminals.interface import Declined, Order, Task

BANK: dict[str, Res] = {
    "0005": Res.BANK_REFUSED,
    "0013": Res.BANK_AMOUNT_NOT_ALLOWED,
    "0014": Res.BANK_WRONG_CARD,
    "0051": Res.INSUFFICIENT_FUNDS,
    "0116": Res.INSUFFICIENT_FUNDS,
    "0055": Res.WRONG_PIN,
    "0075": Res.WRONG_PIN,
    "0117": Res.WRONG_PIN,
    "0061": Res.BANK_LIMIT_EXCEEDED,
    "0065": Res.BANK_LIMIT_EXCEEDED,
    "0121": Res.BANK_LIMIT_EXCEEDED,
    "0091": Res.BANK_DOWN,
    "0096": Res.BANK_DOWN,
}
"""Codes with their own result; any other code is 5024 with the bank's text."""

WRONG_RRN = frozenset({"0012", "0025"})
"""Codes of a bank that does not know the payment which a refund names."""

SETTLE_FIRST = ("звірк", "batch close", "settlement")
"""Words in the text of a general error when a general report is due (5026)."""


def catalogued(order: Order, res: Res | None, code: str, words: str, text: str) -> Declined:
    """A refusal by a line of the catalogue, with the detail that the line needs.

    :param res: `None` for a ``code`` that has no line: that is 5009.
    :param words: what the terminal's general error says.
    :param text: the terminal's own words.
    """
    res = res or Res.UNHANDLED_CODE
    details = {Res.UNHANDLED_CODE: code, Res.TERMINAL_ERROR: words, Res.TASK_NOT_SUPPORTED: str(order.task)}
    return Declined.of(res, *([details[res]] if res in details else []), text=text)


def bank_refusal(order: Order, code: str, text: str, status: str = "") -> Declined:
    """A refusal of the bank with its ``code`` of four digits, its ``text`` and the ``status`` of the operation."""
    if order.task == Task.REFUND and code in WRONG_RRN:
        return Declined.of(Res.WRONG_RRN, text=text)
    res = BANK.get(code)
    if res is not None:
        return Declined.of(res, text=text)
    return Declined.of(Res.BANK_MESSAGE, text or "-", status or "-", code, text=text)
