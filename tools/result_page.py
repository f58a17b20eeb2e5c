"""The page of every result code, ``docs/result-codes.md``, made from the catalogue and from what stands here.

The catalogue tells what a code means and what to do. This module adds how a till's author can meet it: on the
training register and terminal, or, while nothing of the service leads to it, what it comes with. ``python -m
tools.result_page`` prints the page, ``python -m tools.result_page uk`` the Ukrainian one, which is for those
who stand at a till and leaves that out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from dmtwisted.results import Group, Res

SEEN: dict[Res, str] = {
    # general
    Res.OK: "task 0 on a register that is not open yet",
    Res.DEVICE_ERROR: (
        "settings in the database's table `device` that its driver does not take, then a restart; "
        "or `print: refuse paper` at the printer `prn`"
    ),
    Res.INTERNAL: (
        "an unreadable `state` in the database's table `register`, then a restart; or `sale: refuse 1016`; "
        "or a print through a `queue` that the system does not have"
    ),
    Res.STORE_FAILED: "any task that is registered while the disk is full or the database may not be written",
    Res.UNKNOWN_DEVICE: "any task with `device` ` test`, with a blank before the name",
    Res.DEVICE_BUSY: "`sale: accept` with `delay_ms` 10000, then task 18 while the sale is on its way",
    Res.MALFORMED: "task 1 with `fiscal.receipt.rows` `{}`; for printers and terminals any task of `type` 1",
    # cash_register: numbers, shift, reports
    Res.UNKNOWN_FISCAL_TASK: "task 6",
    Res.SHIFT_ALREADY_CLOSED: "task 11 on a closed register",
    Res.TAX_SERVICE_REJECTED_SIGNATURE: "`sale: refuse 12`",
    Res.TAX_SERVICE_REJECTED_REGISTER: "`open: refuse 4`",
    Res.TAX_SERVICE_NOT_SAVED: "`sale: refuse 1034`",
    Res.TAX_SERVICE_ERROR: "`sale: refuse 11` or 13, and any number that nobody knows",
    Res.TAX_SERVICE_WRONG_SEND_TYPE: "`open: refuse 1036`",
    Res.TAX_SERVICE_PREVIOUS_Z_MISSING: "`z: refuse 6`",
    Res.TAX_SERVICE_WRONG_XML: "`sale: refuse 1038`",
    Res.TAX_SERVICE_WRONG_DATE: "`sale: refuse 1039`",
    Res.TAX_SERVICE_WRONG_DATA: "`sale: refuse 9`, 3 or 10",
    Res.TAX_SERVICE_WRONG_Z: "`z: refuse 1041`",
    Res.TAX_SERVICE_BLOCKED: "`open: refuse 1042`",
    Res.TAX_SERVICE_WRONG_HASH: "`sale: refuse 7`",
    Res.TAX_SERVICE_UNKNOWN_REGISTER: "`open: refuse 1`",
    Res.TAX_SERVICE_UNKNOWN_KEY: "`open: refuse 2`",
    Res.TAX_SERVICE_DAY_NOT_OPEN: "`z: refuse 5`",
    Res.TAX_SERVICE_WRONG_OFFLINE_NUMBER: "`sale: refuse 1047`",
    Res.TAX_SERVICE_UNREACHABLE: "`sale: unreachable` after `offline_allowed` false in the register's settings",
    Res.TAG_KNOWN: "a used `tag` with another sum: a warning beside the earlier answer, with `strict_tags` a refusal",
    Res.OFFLINE_FORBIDDEN: "`go-offline` after `offline_allowed` false in the register's settings",
    Res.ALREADY_OFFLINE: "`go-offline` twice",
    Res.ALREADY_ONLINE: "`go-online` while online",
    Res.ONLINE_REQUEST_IMPOSSIBLE: (
        "`go-online` while offline with `any: accept`, `any: lost_after`, then `go-online` again: the first was heard"
    ),
    Res.NO_OFFLINE_NUMBERS: "`go-offline` on a register that was never opened",
    Res.TAG_NOT_FOUND: "a look-up by an unused `tag`; task 23 with an unknown number; task 17 without a receipt",
    Res.NO_Z_IN_RANGE: "task 12 with `n_from` 99",
    Res.Z_CORRUPTED: "task 12 over a Z-report whose `value` in the database's table `document` cannot be read",
    Res.OFFLINE_TOO_LONG: "`go-offline`, then a sale after `training/clock` 126001; a warning from 24 hours on",
    Res.CASH_NEGATIVE: "task 3 with `fiscal.cash.sum` -1",
    Res.INCOME_NEGATIVE: "task 15 with `fiscal.receipt.sum` -1",
    Res.INCOME_CHANGE_NEGATIVE: "task 15 with `change` -1 in a payment",
    Res.INCOME_CARD_DATA_MISSING: "task 15 paid by card (`type` 2) without `rrn`",
    Res.COLLISION_UNSOLVABLE: (
        "a sale by card at `/dm/execute-pkg` with `sale: refuse 1050`: a warning of every answer of that register "
        "until the payment has its receipt"
    ),
    Res.PREVIOUS_NOT_PROCESSED: (
        "a `prro` register asks after a document whose answer was lost, and the tax service has not numbered it yet"
    ),
    Res.COLLISION_NOT_REPAIRED: "`sale: lost_after` and `probe: silent`, then any other task after the sale",
    Res.NOT_ENOUGH_CASH: "task 4 over more than is in the drawer",
    Res.TAX_GROUPS_MISSING: "a sale after `tax_groups` `[]` in the register's settings",
    Res.TAX_ALGORITHM_UNSUPPORTED: "a sale in a tax group whose `algorithm` in the settings is 9",
    Res.COLLISION_DIFFERS: "`sale: lost_after`, then the same `tag` with another sum",
    Res.TAX_SERVICE_UNAVAILABLE: (
        "`sale: refuse 1084`; with `sale: lost_after` the outcome is unknown and `res_action` is 2"
    ),
    Res.WRONG_TAX_GROUP: "a sale with `taxgrp` 99",
    Res.WRONG_PAYMENT_TYPE: "a payment with `type` 99",
    Res.FORBIDDEN_CHARACTER: "a sale with a tabulator in a row's `code`",
    Res.SHIFT_CLOSED: "a sale on a closed register",
    Res.SHIFT_ALREADY_OPEN: "task 0 on an open register",
    Res.EMPTY_ROWS: "a sale without `rows` and with `sum` 100",
    Res.MISSING_OBJECT: "task 1 without `fiscal.receipt`",
    Res.Z_ALREADY_SENT: "`z: refuse 8`",
    Res.RECEIPT_SUM_DIFFERS: "a sale whose `sum` is not the sum of its rows",
    Res.PAYS_DIFFER: "a sale whose payments are less than its `sum`",
    Res.NAME_EMPTY: "a sale with an empty `name` in a row",
    Res.ROW_SUM_DIFFERS: "a sale with `price` 0 in a row, or with a `cost` that is more than 1 off",
    Res.DISCOUNT_TOO_LARGE: "a sale with a row's `disc` equal to its `price`",
    Res.ZERO_PAYMENT: "a sale with one more payment of `sum` 0",
    Res.CODE_NOT_ENABLED: "a payment whose type is known but not enabled in the register's settings",
    Res.CODE_SOLD_IN_OTHER_GROUP: "the same `code` sold twice in a shift, first with `taxgrp` 1, then with 2",
    Res.ROUNDING_OUT_OF_RANGE: "a sale with `round` 1",
    Res.ROUNDING_NOT_ENABLED: "a sale with `round` 0.1 after `rounding_step` 0 in the register's settings",
    Res.KEY_EXPIRES_SOON: "`go-offline` after `key_valid_to` of tomorrow in the settings; a warning before that",
    Res.CASH_WITHDRAWAL_NEEDS_CARD: "task 14 with `fiscal.cash.type` 0",
    Res.COMMISSION_NEGATIVE: "task 14 with `fiscal.cash.commission` -1",
    Res.OFFLINE_NUMBERS_EXHAUSTED: "`go-offline`, then 10000 documents; a warning from the last 100 on",
    Res.ROUND_WITH_AUTOROUND: "a sale with `autoround` true and `round` 0.1",
    Res.SHIFT_MUST_BE_CLOSED: "other `batch` settings of a register that is open: HTTP 409",
    Res.DEVICE_NAME_TAKEN: "`POST /dm/api/v3/devices` with a name that a device has: HTTP 409",
    # cash_register: the driver `prro`
    Res.SIGNING_FAILED: "a receipt on a `prro` register whose machine fails the self-test of signing",
    Res.FISCAL_NUMBER_EMPTY: "task 0 on a `prro` register without `fiscal_number` in its settings",
    Res.KEY_NOT_LOADED: "task 0 on a `prro` register with a key, after `secret.key` was taken away and a restart",
    Res.SIGNING_NOT_SET_UP: "task 0 on a `prro` register to which no key was uploaded",
    Res.CLOCK_DIFFERS: "a sale on a `prro` register while the clock of this machine is 40 minutes wrong",
    Res.KEY_REPLACED_IN_EMERGENCY: "a sale on an open `prro` register whose key was lost and replaced, as with 1094",
    Res.KEY_UNREADABLE: "`prro/sign` with a wrong password",
    Res.REGISTER_ID_NOT_FOUND: "`prro/sign` with `dev_id` of the training register",
    Res.KEY_IN_USE: "`prro/sign` for an open `prro` register",
    # cash_register: `POST /dm/main/api/v1/prro`
    Res.CLOUD_TOKEN_INVALID: "`POST …/prro` with a `token` that is no text, or holds a line break",
    Res.REGISTER_OFFLINE: "other `tax_groups` by `POST …/prro`, or `prro/sign`, for a `prro` register closed offline",
    Res.REGISTER_NOT_IN_USE: "`POST /dm/api/v3/devices/{dev_id}/go-offline` before the first opening: HTTP 409",
    Res.REGISTER_NOT_CONFIGURED: "`POST …/prro` with `tax_groups` `[]`",
    # printer
    Res.PRINTER_CONNECT: "`print: unreachable` at the printer `prn`, then any print on it",
    # terminal: tasks and the line
    Res.UNKNOWN_TERMINAL_PROTOCOL: "`GET /dm/bankping?dev_name=test`, for a register is no terminal",
    Res.UNKNOWN_PAY_TASK: "task 9",
    Res.TERMINAL_SILENT: "`payment: silent`, and `probe: silent` with `times` 0 while the payment is on its way",
    Res.COM_PORT_UNAVAILABLE: "any task of a `privatbank-json` terminal at a `serial_port` that is not there",
    Res.COM_PORT_ERROR: "any task of an `ssi-json` terminal at a `serial_port` that is not there",
    Res.TERMINAL_CONNECT: "`probe: lost_before` with `times` 0",
    Res.TRANSACTION_NOT_FOUND: "task 1 with an unused `transaction_id` and `transaction_search` 1",
    Res.REQUEST_NOT_TAKEN: "`payment: lost_before`",
    Res.TERMINAL_UNREACHABLE: "any task of an `ssi-json` terminal at a `host` where none is",
    Res.TASK_NOT_SUPPORTED: "task 4",
    Res.TERMINAL_ADDRESS_UNREACHABLE: "`payment: unreachable`",
    Res.HANDSHAKE_SILENT: "`probe: silent` with `times` 0",
    # terminal: what the terminal answers
    Res.TERMINAL_ERROR: "`payment: refuse 1000`",
    Res.CANCELLED_BY_USER: "`payment: refuse cancelled`",
    Res.EMV_DECLINED: "`payment: refuse chip`",
    Res.TERMINAL_JOURNAL_FULL: "`payment: refuse journal_full`",
    Res.NO_BANK_CONNECTION: "`payment: refuse no_link`",
    Res.NO_PAPER: "`payment: refuse no_paper`",
    Res.TERMINAL_KEYS_WRONG: "`payment: refuse keys`",
    Res.CARD_READER_MISSING: "`payment: refuse reader`",
    Res.TRANSACTION_COMPLETE: "`payment: refuse reversed`",
    Res.UNHANDLED_CODE: "`payment: refuse 1099`",
    Res.TERMINAL_BUSY: "`payment: refuse busy`",
    Res.OPERATION_CANCELLED: "`POST /dm/api/v3/devices/{dev_id}/interrupt` while the card is waited for",
    Res.SETTLEMENT_REQUIRED: "`payment: refuse settle_first`",
    Res.OPERATION_NOT_FOUND: "task 3 with `cancelid` 77",
    Res.CONFIRMATION_ACTIVE: "task 1 after task 6",
    Res.NOTHING_TO_CONFIRM: "task 7 without task 6",
    # terminal: what the bank answers
    Res.BANK_REFUSED: "`payment: refuse 5`",
    Res.BANK_AMOUNT_NOT_ALLOWED: "`payment: refuse 13`",
    Res.BANK_WRONG_CARD: "`payment: refuse 14`",
    Res.INSUFFICIENT_FUNDS: "`payment: refuse 51` or 116",
    Res.WRONG_PIN: "`payment: refuse 55`, 75 or 117",
    Res.BANK_LIMIT_EXCEEDED: "`payment: refuse 61`, 65 or 121",
    Res.BANK_DOWN: "`payment: refuse 91` or 96",
    Res.BANK_MESSAGE: "`payment: refuse 57`, and any other code of the bank",
    Res.WRONG_RRN: "task 2 with `refundid` 1",
    # warning
    Res.SHIFT_OLD: "any task on an open register after `training/clock` 90000",
}
"""How a code is produced on the training register, or on the training terminal."""

BPOS1 = "comes with the library that some banks give for BPOS1 terminals"
CABINETS = "comes with cloud cabinets"
PROTOCOL_B = "comes with the tax service's other server, protocol B"

NOT_YET: dict[Res, str] = {
    Res.CABINET_ERROR: CABINETS,
    Res.CABINET_WRONG_HASH: CABINETS,
    Res.REGISTER_TOKEN_INVALID: CABINETS,
    Res.CLOUD_BALANCE_LOW: CABINETS,
    Res.CABINET_UNREACHABLE: CABINETS,
    Res.VERSION_UNSUPPORTED: f"{CABINETS}: they say which versions they still serve",
    Res.TAX_BASE_DIFFERS: f"{CABINETS}: this service reckons the tax bases itself, so here 1102 comes before it",
    Res.NOT_CALCULABLE: f"{CABINETS}: here whatever cannot be reckoned with is refused with 2000 and its place",
    Res.X_REPORT_FAILED: f"{CABINETS}: here an X-report is refused with 1092 or made",
    Res.Z_REPORT_FAILED: f"{CABINETS}: here the tax service names what it does not like, say 1041",
    Res.SHIFT_ID_EMPTY: PROTOCOL_B,
    Res.COM_PORT_NOT_OPEN: BPOS1,
}
"""Why a code cannot be produced yet."""

_TITLES: dict[Group, str] = {
    "general": "All devices",
    "cash_register": "Registers",
    "terminal": "Terminals",
    "printer": "Printers",
    "warning": "Warnings",
}

_PREFACE = """\
# Result codes

This page is written by `python -m tools.result_page` from the catalogue itself; do not edit it by hand.

Every answer to a task names its outcome in `res`. 0 is success; everything else, warnings aside, is an answer
with `task_status` 3, an empty `info`, the text in `errortxt` and, in `res_action`, what the caller may do:

| res_action | meaning |
|---|---|
| 0 | done |
| 1 | it failed; the same request, under the same `tag`, may be repeated |
| 2 | the outcome is unknown; the next task finds it out, and the same request under the same `tag` repeats safely |
| 3 | it failed, and fails again until the request, the settings or the fault is put right |

`errortxt` is in Ukrainian or English, as `Accept-Language` asks and else as the service is set; `%s` and `%d`
stand for what the answer names. A place can be followed by more details after a colon.

The last column says how to see a code with the training register `test`. `sale: refuse 12` there stands for a
rule of its simulated tax service:

    PUT /dm/api/v3/devices/{dev_id}/scenario
    {"rules": [{"on": "sale", "then": "refuse", "code": "12"}]}

For terminals it is the training terminal `pos` and its bank, `payment: refuse 51` say. The next sale or payment meets
that rule. Codes 1 to 13 are the tax service's own numbers; any larger number is taken from
this page, so each of its codes, also one that comes about in no other way yet, can be tried on a till by
`{"on": "sale", "then": "refuse", "code": "1123"}`.

`go-offline` stands for `POST /dm/api/v3/devices/{dev_id}/go-offline`, which is refused with HTTP 409 and `res`;
`training/clock` 90000 for `PUT /dm/api/v3/training/clock` with `{"offset_s": 90000}`; settings are changed by
`PATCH /dm/api/v3/devices/{dev_id}`.
"""

_HEAD = """\
| res | English | Ukrainian | res_action | the caller | the cashier | how to see it |
|---|---|---|---|---|---|---|
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

Цю сторінку пише `python -m tools.result_page uk` із самого каталогу; не змінюйте її вручну. Як побачити кожен код
на навчальній касі й терміналі, сказано на [англійській сторінці](../result-codes.md).

Кожна відповідь на завдання називає свій підсумок у `res`. 0 означає успіх; усе інше, крім попереджень, це відповідь
із `task_status` 3, порожнім `info`, текстом у `errortxt` і, в `res_action`, з тим, що може зробити касова програма:

| res_action | що це означає |
|---|---|
| 0 | виконано |
| 1 | не вийшло, і нічого не сталося; той самий запит із тим самим `tag` можна повторити |
| 2 | підсумок невідомий; його з’ясує наступне завдання, а той самий запит із тим самим `tag` повторювати безпечно |
| 3 | не вийшло і не вийде, доки не виправлено запит, налаштування чи несправність |

`errortxt` буває українською або англійською: як просить `Accept-Language`, а без нього як налаштовано сервіс. На
місці `%s` і `%d` відповідь називає подробиці; після двокрапки їх може бути більше.
"""

_UKRAINIAN_HEAD = """\
| res | текст | res_action | касовій програмі | касиру |
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
        lines = sorted((res for res in Res if res.group == group), key=lambda res: res.code)
        parts.append(f"## {title}\n\n{head}" + "\n".join(_line(row(res)) for res in lines) + "\n")
    return "\n".join(parts)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _english_row(res: Res) -> tuple[str, ...]:
    return (
        str(res.code),
        res.text.en or "(empty)",
        res.text.uk or "(empty)",
        str(int(res.action)),
        res.caller.en,
        f"{res.cashier.en}<br>{res.cashier.uk}",
        SEEN[res] if res in SEEN else f"Not yet: {NOT_YET[res]}",
    )


def _ukrainian_row(res: Res) -> tuple[str, ...]:
    return str(res.code), res.text.uk or "(порожньо)", str(int(res.action)), res.caller.uk, res.cashier.uk


if __name__ == "__main__":
    print(ukrainian_page() if sys.argv[1:] == ["uk"] else page(), end="")
