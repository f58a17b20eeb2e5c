"""The pages of all result codes, made from the catalogue and from what is written here.

``python -m tools.result_page`` prints ``docs/result-codes.md``, for who writes a till: what a code means, what the
program does, how to see the code on the training devices. ``python -m tools.result_page uk`` prints
``docs/uk/result-codes.md``, for who works at one: what the cashier does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal

from dmtwisted.results import Group, Res

SEEN: dict[Res, str] = {
    # general
    Res.OK: "task 0 on a closed register",
    Res.DEVICE_ERROR: "`print=refuse:paper` at `prn`; or `settings` in the table `device` that its driver refuses",
    Res.INTERNAL: "`sale=refuse:1016`; an unreadable `state` in the table `register`; an unknown `queue`",
    Res.STORE_FAILED: "a sale while the disk is full or read-only",
    Res.UNKNOWN_DEVICE: "`device` ` test`, with a blank",
    Res.DEVICE_BUSY: "`sale=accept` with `delay_ms` 10000, then task 18",
    Res.NOT_NOW: "`POST /dm/api/v3/doctor` while another check is running: HTTP 409; never for a task",
    Res.MALFORMED: "task 1 with `rows` `{}`; `type` 1 at a printer or terminal",
    # cash_register: numbers, shift, reports
    Res.UNKNOWN_FISCAL_TASK: "task 6",
    Res.SHIFT_ALREADY_CLOSED: "task 11 on a closed register",
    Res.TAX_SERVICE_REJECTED_SIGNATURE: "`sale=refuse:12`",
    Res.TAX_SERVICE_REJECTED_REGISTER: "`open=refuse:4`",
    Res.TAX_SERVICE_NOT_SAVED: "`sale=refuse:1034`",
    Res.TAX_SERVICE_ERROR: "`sale=refuse:11` or 13, or an unknown number",
    Res.TAX_SERVICE_WRONG_SEND_TYPE: "`open=refuse:1036`",
    Res.TAX_SERVICE_PREVIOUS_Z_MISSING: "`z=refuse:6`",
    Res.TAX_SERVICE_WRONG_XML: "`sale=refuse:1038`",
    Res.TAX_SERVICE_WRONG_DATE: "`sale=refuse:1039`",
    Res.TAX_SERVICE_WRONG_DATA: "`sale=refuse:9`, 3 or 10",
    Res.TAX_SERVICE_WRONG_Z: "`z=refuse:1041`",
    Res.TAX_SERVICE_BLOCKED: "`open=refuse:1042`",
    Res.TAX_SERVICE_WRONG_HASH: "`sale=refuse:7`",
    Res.TAX_SERVICE_UNKNOWN_REGISTER: "`open=refuse:1`",
    Res.TAX_SERVICE_UNKNOWN_KEY: "`open=refuse:2`",
    Res.TAX_SERVICE_DAY_NOT_OPEN: "`z=refuse:5`",
    Res.TAX_SERVICE_WRONG_OFFLINE_NUMBER: "`sale=refuse:1047`",
    Res.TAX_SERVICE_UNREACHABLE: "`offline_allowed` false, `sale=unreachable`",
    Res.TAG_KNOWN: "a used `tag` with another sum: a warning, with `strict_tags` a refusal",
    Res.OFFLINE_FORBIDDEN: "`offline_allowed` false, `go-offline`",
    Res.ALREADY_OFFLINE: "`go-offline` twice",
    Res.ALREADY_ONLINE: "`go-online` while online",
    Res.ONLINE_REQUEST_IMPOSSIBLE: "offline: `any=accept`, `any=lost_after`, `probe=unreachable` with `times` 0, "
    "`go-online`; without rules `go-online` again",
    Res.NO_OFFLINE_NUMBERS: "`open=accept:no_session`, task 0, `go-offline`",
    Res.TAG_NOT_FOUND: "an unused `tag`; task 23 with an unknown number; task 17 without a receipt",
    Res.NO_Z_IN_RANGE: "task 12 with `n_from` 99",
    Res.Z_CORRUPTED: "task 12 over a Z whose `value` in the table `document` is unreadable",
    Res.X_REPORT_FAILED: "task 10 on a closed register",
    Res.Z_REPORT_FAILED: "task 11 on a hardware register that cannot make it",
    Res.OFFLINE_TOO_LONG: "`probe=unreachable` with `times` 0, `go-offline`, `clock` 126001, a sale; "
    "the time left as a warning",
    Res.CASH_NEGATIVE: "task 3 with `sum` -1",
    Res.INCOME_NEGATIVE: "task 15 with `sum` -1",
    Res.INCOME_CHANGE_NEGATIVE: "task 15 with `change` -1",
    Res.INCOME_CARD_DATA_MISSING: "task 15 by card without `rrn`",
    Res.COLLISION_UNSOLVABLE: "`offline_allowed` false, `sale=unreachable`, a card sale in batch mode: a warning",
    Res.PREVIOUS_NOT_PROCESSED: "`prro`: a document whose answer was lost has no number yet",
    Res.COLLISION_NOT_REPAIRED: "`sale=lost_after` and `probe=unreachable` with `times` 0",
    Res.NOT_ENOUGH_CASH: "task 4 with too much",
    Res.TAX_GROUPS_MISSING: "`tax_groups` `[]`, a sale",
    Res.TAX_ALGORITHM_UNSUPPORTED: "a tax group with `algorithm` 9, a sale in it",
    Res.COLLISION_DIFFERS: "as 1075, then the same `tag` with another sum",
    Res.TAX_SERVICE_UNAVAILABLE: "`sale=refuse:1084`",
    Res.WRONG_TAX_GROUP: "a sale with `taxgrp` 99",
    Res.WRONG_PAYMENT_TYPE: "a payment with `type` 99",
    Res.FORBIDDEN_CHARACTER: "a tabulator in `code` of a row",
    Res.MARK_REFUSED: "`marks_check` local: the same `code_a` in two sales",
    Res.MARKS_MISSING: "`marks_count` refuse: `cnt` 2 with one `code_a`",
    Res.REGISTER_ELSEWHERE: "`device_register` on, another machine's number at the tax service",
    Res.MARKS_UNCHECKED: "`marks_offline` refuse, `sale=unreachable`, a sale, one with `code_a`",
    Res.SHIFT_CLOSED: "a sale on a closed register",
    Res.SHIFT_ALREADY_OPEN: "task 0 on an open register",
    Res.EMPTY_ROWS: "a sale without `rows`, `sum` 100",
    Res.MISSING_OBJECT: "task 1 without `receipt`",
    Res.Z_ALREADY_SENT: "`z=refuse:8`",
    Res.RECEIPT_SUM_DIFFERS: "a `sum` that is not that of the rows",
    Res.PAYS_DIFFER: "payments below `sum`",
    Res.NAME_EMPTY: "an empty `name` in a row",
    Res.ROW_SUM_DIFFERS: "`price` 0; or a `cost` more than 1 off",
    Res.DISCOUNT_TOO_LARGE: "`disc` equal to `price`",
    Res.ZERO_PAYMENT: "one more payment of 0",
    Res.CODE_NOT_ENABLED: "a payment type that is not enabled",
    Res.CODE_SOLD_IN_OTHER_GROUP: "one `code` sold with `taxgrp` 1, then 2",
    Res.ROUNDING_OUT_OF_RANGE: "`round` 1",
    Res.ROUNDING_NOT_ENABLED: "`rounding_step` 0, `round` 0.1",
    Res.KEY_EXPIRES_SOON: "`key_valid_to` tomorrow, `go-offline`; a warning before",
    Res.CASH_WITHDRAWAL_NEEDS_CARD: "task 14 with `type` 0",
    Res.COMMISSION_NEGATIVE: "task 14 with `commission` -1",
    Res.OFFLINE_NUMBERS_EXHAUSTED: "as 1062, with 10000 documents; a warning for the last 100",
    Res.ROUND_WITH_AUTOROUND: "`autoround` and `round` 0.1",
    Res.STORNO_FORBIDDEN: "`storno_allowed` false, task 17",
    Res.SHIFT_MUST_BE_CLOSED: "other `batch` settings while open",
    Res.DEVICE_NAME_TAKEN: "`POST /dm/api/v3/devices` with a used name",
    # cash_register: the driver `prro`
    Res.SIGNING_FAILED: "`prro`: the self-test of signing fails",
    Res.FISCAL_NUMBER_EMPTY: "`prro` without `fiscal_number`: task 0",
    Res.KEY_NOT_LOADED: "`prro`: remove `secret.key`, restart, task 0",
    Res.SIGNING_NOT_SET_UP: "`prro` without a key: task 0",
    Res.CLOCK_DIFFERS: "`prro`: a sale with the clock 40 minutes wrong",
    Res.KEY_REPLACED_IN_EMERGENCY: "`prro`: 1094 while open, another key, a sale",
    Res.KEY_UNREADABLE: "`prro/sign` with a wrong password",
    Res.REGISTER_ID_NOT_FOUND: "`prro/sign` with `dev_id` of `test`",
    Res.KEY_IN_USE: "`prro/sign` while open",
    # cash_register: `POST /dm/main/api/v1/prro`
    Res.CLOUD_TOKEN_INVALID: "`POST …/prro` with a `token` that is not a text",
    Res.REGISTER_OFFLINE: "`prro/sign` for a register closed offline",
    Res.REGISTER_NOT_IN_USE: "`go-offline` before the first opening",
    Res.REGISTER_NOT_CONFIGURED: "`POST …/prro` with `tax_groups` `[]`",
    # printer
    Res.PRINTER_CONNECT: "`print=unreachable` at `prn`, then any print",
    # terminal: tasks and the line
    Res.REGISTER_TOKEN_INVALID: "`POST /api/v3/fiscal/execute` with an unknown token",
    Res.UNKNOWN_TERMINAL_PROTOCOL: "`GET /dm/bankping?dev_name=test`",
    Res.UNKNOWN_PAY_TASK: "task 9",
    Res.TERMINAL_SILENT: "`payment=accept` with `delay_ms` 600000",
    Res.COM_PORT_UNAVAILABLE: "`privatbank-json` at a missing `serial_port`",
    Res.COM_PORT_ERROR: "`ssi-json` at a missing `serial_port`",
    Res.TERMINAL_CONNECT: "`probe=lost_before` with `times` 0",
    Res.TRANSACTION_NOT_FOUND: "an unused `transaction_id` with `transaction_search` 1",
    Res.REQUEST_NOT_TAKEN: "`payment=lost_before`",
    Res.TERMINAL_UNREACHABLE: "`ssi-json` at a wrong `host`",
    Res.TASK_NOT_SUPPORTED: "task 4",
    Res.TERMINAL_ADDRESS_UNREACHABLE: "`payment=unreachable`",
    Res.HANDSHAKE_SILENT: "`probe=silent` with `times` 0",
    # terminal: what the terminal answers
    Res.TERMINAL_ERROR: "`payment=refuse:1000`",
    Res.CANCELLED_BY_USER: "`payment=refuse:cancelled`",
    Res.EMV_DECLINED: "`payment=refuse:chip`",
    Res.TERMINAL_JOURNAL_FULL: "`payment=refuse:journal_full`",
    Res.NO_BANK_CONNECTION: "`payment=refuse:no_link`",
    Res.NO_PAPER: "`payment=refuse:no_paper`",
    Res.TERMINAL_KEYS_WRONG: "`payment=refuse:keys`",
    Res.CARD_READER_MISSING: "`payment=refuse:reader`",
    Res.TRANSACTION_COMPLETE: "`payment=refuse:reversed`",
    Res.UNHANDLED_CODE: "`payment=refuse:1999`",
    Res.TERMINAL_BUSY: "`payment=refuse:busy`",
    Res.OPERATION_CANCELLED: "`interrupt` before the card",
    Res.SETTLEMENT_REQUIRED: "`payment=refuse:settle_first`",
    Res.OPERATION_NOT_FOUND: "task 3 with `cancelid` 77",
    Res.CONFIRMATION_ACTIVE: "task 1 after task 6",
    Res.NOTHING_TO_CONFIRM: "task 7 without task 6",
    Res.ANOTHER_SUM: "`payment=accept:partial:100`; with `sum:99999900` the end is unknown (2)",
    # terminal: what the bank answers
    Res.BANK_REFUSED: "`payment=refuse:5`",
    Res.BANK_AMOUNT_NOT_ALLOWED: "`payment=refuse:13`",
    Res.BANK_WRONG_CARD: "`payment=refuse:14`",
    Res.INSUFFICIENT_FUNDS: "`payment=refuse:51` or 116",
    Res.WRONG_PIN: "`payment=refuse:55`, 75 or 117",
    Res.BANK_LIMIT_EXCEEDED: "`payment=refuse:61`, 65 or 121",
    Res.BANK_DOWN: "`payment=refuse:91` or 96",
    Res.BANK_MESSAGE: "`payment=refuse:57` or another code",
    Res.WRONG_RRN: "task 2 with `refundid` 1",
    # warning
    Res.MAY_BE_REPEAT: "as 1075, then, without rules, any other task",
    Res.SHIFT_OLD: "`clock` 90000 while open",
    Res.SHIFT_PAST_MIDNIGHT: "`warn_midnight` true, `clock` 54000 while open, a sale",
    Res.EXCISE_UNCODED: "`excise_needs_uktzed` warn, a sale with `taxgrp` 3",
    Res.SETTINGS_CHANGE: "`dated` with a row for a day of the next month, task 11",
    Res.ANSWERS_UNVERIFIED: "a register of the driver `prro` whose certificates nobody has trusted",
    Res.NOT_DELIVERED: "a sale with `userinfo` while no e-mail is set up",
    Res.LEFT_OUT: "a register of the driver `prro`, an item with `code2` and `code3`",
    Res.MACHINE_DIFFERS: "a hardware register on which somebody has sold by hand, task 18",
}
"""How a code is produced on the training register, or on the training terminal."""

BPOS1 = "BPOS1 library"
CABINETS = "cloud cabinets"
PROTOCOL_B = "protocol B"

RESERVED: dict[Res, str] = {
    Res.CABINET_ERROR: CABINETS,
    Res.CABINET_WRONG_HASH: CABINETS,
    Res.CLOUD_BALANCE_LOW: CABINETS,
    Res.CABINET_UNREACHABLE: CABINETS,
    Res.VERSION_UNSUPPORTED: CABINETS,
    Res.TAX_BASE_DIFFERS: f"{CABINETS}; here 1102",
    Res.NOT_CALCULABLE: f"{CABINETS}; here 2000",
    Res.SHIFT_ID_EMPTY: PROTOCOL_B,
    Res.COM_PORT_NOT_OPEN: BPOS1,
}
"""Why a code comes by force of a rule only; such a rule is the recipe."""

_TITLES: dict[Group, str] = {
    "general": "All devices",
    "cash_register": "Registers",
    "terminal": "Terminals",
    "printer": "Printers",
    "warning": "Warnings",
}

_PREFACE = """\
# Result codes

`python -m tools.result_page` writes this page; do not edit it by hand.

Every answer has its outcome in `res`; 0 is success. An error has `task_status` 3, an empty `info` (5075 with
`res_action` 3 has one), a text in `errortxt`, and in `res_action` what the caller may do:

- 0: done.
- 1: failed; the same request may be repeated with the same `tag`.
- 2: outcome unknown; the next task finds it out, and a repeat with the same `tag` is safe.
- 3: failed, and fails again until request, settings or fault are corrected.

Texts are Ukrainian or English, by `Accept-Language` or the service's setting. `%s` and `%d` are filled in; details
may follow a colon. "As 5001" is the same advice as there.

The last column says how to see a code on the training register `test` and terminal `pos`. `sale=refuse:12` is a rule
for the simulated tax service, `payment=refuse:51` for the simulated bank:

    PUT /dm/api/v3/devices/{dev_id}/scenario
    {"rules": [{"on": "sale", "then": "refuse", "code": "12"}]}

Codes 1 to 13 are the tax service's own; at a terminal those up to 299 and 1000 to 1008 are the bank's and its own.
Any other number is a code of this page, at every kind of device, so each can be tried. "Reserved" codes come in no
other way: they are for what follows. `go-offline`, `go-online` and `interrupt` are `POST` under the device's
address, `clock` 90000 is `PUT /dm/api/v3/training/clock` with `{"offset_s": 90000}`. Settings change by `PATCH`.
"""

_HEAD = """\
|res|text|res_action|the caller|how to see it|
|---|---|---|---|---|
"""


_UKRAINIAN_TITLES: dict[Group, str] = {
    "general": "Усі пристрої",
    "cash_register": "Каси",
    "terminal": "Термінали",
    "printer": "Принтери",
    "warning": "Попередження",
}

_UKRAINIAN_PREFACE = """\
# Коди результатів

Цю сторінку створює `python -m tools.result_page uk`; не змінюйте її вручну. Як побачити кожен код на навчальній касі
й терміналі, описано на [англійській сторінці](../result-codes.md).

Підсумок кожного завдання міститься в `res`: 0 означає успіх. Помилка має `task_status` 3, порожній `info` (5075 з
`res_action` 3 його має), текст в `errortxt`, а в `res_action` те, що може зробити касова програма:

- 0: виконано.
- 1: не виконано; той самий запит із тим самим `tag` можна повторити.
- 2: підсумок невідомий; його з’ясує наступне завдання, а повтор із тим самим `tag` безпечний.
- 3: не виконано й не буде, доки не виправлено запит, налаштування чи несправність.

Тексти українські або англійські: за `Accept-Language` або за налаштуванням сервісу. Замість `%s` і `%d` відповідь
містить подробиці; після двокрапки їх може бути більше. «Як 5001» означає ту саму пораду, що й там.
"""

_UKRAINIAN_HEAD = """\
|res|текст|res_action|касир|касова програма|
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _whole(_PREFACE, _HEAD, _TITLES, _english_row)


def ukrainian_page() -> str:
    """The whole page in Ukrainian."""
    return _whole(_UKRAINIAN_PREFACE, _UKRAINIAN_HEAD, _UKRAINIAN_TITLES, _ukrainian_row)


def _whole(preface: str, head: str, titles: dict[Group, str], row: Callable[[Res], tuple[str, ...]]) -> str:
    parts = [preface]
    for group, title in titles.items():
        lines = (row(res) for res in sorted_group(group))
        parts.append(f"## {title}\n\n{head}" + "".join(_line(cells) + "\n" for cells in lines))
    return "\n".join(parts)


def sorted_group(group: Group) -> list[Res]:
    """The codes of a group in the order of their numbers."""
    return sorted((res for res in Res if res.group == group), key=lambda res: res.code)


def _line(cells: tuple[str, ...]) -> str:
    return f"|{'|'.join(cell.replace('|', chr(92) + '|') for cell in cells)}|"


_AS = {"en": "As", "uk": "Як"}


def _advice(res: Res, whose: Literal["caller", "cashier"], tongue: Literal["en", "uk"]) -> str:
    """What ``whose`` column says of ``res``: its advice, or the first code of the group that has the same."""
    advice = getattr(res, whose)
    first = next(other for other in sorted_group(res.group) if getattr(other, whose) == advice)
    return getattr(advice, tongue) if first is res else f"{_AS[tongue]} {first.code}"


def _english_row(res: Res) -> tuple[str, ...]:
    seen = SEEN.get(res) or _reserved(res)
    return str(res.code), res.text.en or "(empty)", str(int(res.action)), _advice(res, "caller", "en"), seen


def _reserved(res: Res) -> str:
    on = "payment" if res.group == "terminal" else "sale"
    return f"`{on}=refuse:{res.code}`; reserved: {RESERVED[res]}"


def _ukrainian_row(res: Res) -> tuple[str, ...]:
    advice = (_advice(res, "cashier", "uk"), _advice(res, "caller", "uk"))
    return str(res.code), res.text.uk or "(порожньо)", str(int(res.action)), *advice


if __name__ == "__main__":
    print(ukrainian_page() if sys.argv[1:] == ["uk"] else page(), end="")
