"""The meaning of each member of a request; a test compares the names with what the readers ask for."""

from __future__ import annotations

MEMBERS: dict[str, dict[str, str]] = {
    "TaskRequest": {
        "ver": "Version of the structure: 6; ignored.",
        "device": "Exact name of the device (1091 when there is none).",
        "type": "Kind of task: 0 look-up by tag (the default), 1 register, 2 printer, 3 terminal.",
        "tag": "Key of a register's task, at most 200 characters: a task is done once for each tag. The service "
        "creates a UUID when it is empty.",
        "source": "Name of the calling program, repeated in the answer.",
        "need_pf_txt": "Text form in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_img": "Picture (PNG) in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_pdf": "PDF in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_doccmd": "Form in the document language in the answer: 0 as the settings say, 1 no, 2 yes.",
        "fiscal": "The task of a register (type 1).",
        "pay": "The task of a terminal (type 3; in batch mode beside a return).",
        "doc": "The task of a printer (type 2).",
        "transaction_id": "Label of a terminal's operation: a UUID of the caller; other texts are converted to one.",
        "transaction_search": "0 always a new operation, 1 look-up only (5013 when there is none), 2 look-up first. "
        "Always send 2 with your own transaction_id.",
        "skipprint": "Batch mode without printing.",
    },
    "Fiscal": {
        "task": "Number of the task.",
        "cashier": "Name of the cashier, printed and repeated in the answer.",
        "receipt": "The receipt (tasks 1, 2, 15, 16).",
        "cash": "The amount (tasks 3, 4, 14).",
        "n_from": "First Z number (task 12).",
        "n_to": "Last Z number (task 12); the latest one when absent.",
        "dt_from": "Start of the period, any beginning of yyyyMMddHHmmss (task 13, list of receipts).",
        "dt_to": "End of the period, included (task 13, list of receipts).",
        "is_short": "Summary report without a line for each Z (tasks 12, 13).",
        "lines": "Lines of a service report (task 5).",
        "fiscal_number": "Fiscal number of the receipt to copy (task 23).",
        "get_receipts": "Return the list of receipts instead of doing a task.",
        "dev_name": "Register of the list; all registers when absent.",
        "dev_id": "The same by id.",
        "pg_no": "Page of the list, from 1.",
        "pg_cnt": "Receipts on a page, 50 when absent.",
        "dt_order": "asc or desc; newest first when absent.",
    },
    "Receipt": {
        "sum": "Sum of the rows after their discounts, before the discount of the receipt and rounding (1101).",
        "round": "Rounding, -0.99 to 0.99, calculated by the caller (1112, 1115).",
        "autoround": "The service calculates rounding and change; then send no `round` (1157).",
        "discounts": "Several named discounts of the receipt.",
        "disc": "Discount of the receipt; a surcharge when negative.",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
        "comment_up": "Text above the receipt.",
        "comment_down": "Text below the receipt.",
        "not_check_safe": "Do not check whether the drawer has enough cash (1077).",
        "rows": "The items; empty for a zero receipt.",
        "pays": "The payments; together the sum to pay (1102). Cash may be more: the rest is the change.",
        "purchase_receipt_fisn": "For a return: the fiscal number of the original receipt.",
        "purchase_rro_fisn": "For a return: the fiscal number of the register that issued it.",
        "purchase_receipt_dt": "For a return at another register than the sale: the day of the sale, yyyyMMdd; time "
        "may follow. Not needed for receipts of this service.",
        "partpay_type": "Part of the price is paid: 1 prepayment, 2 final payment, 3 one between them. The rows and "
        "`sum` are of the whole price.",
        "partpay_sum": "What is paid now, before rounding; the payments make this sum.",
        "partpay_receipt_fisn": "For 2 and 3: the fiscal number of the prepayment's receipt (1098).",
    },
    "Row": {
        "name": "Name of the item (1103 when empty).",
        "code": "Code of the item; it keeps one tax group during a shift (1111).",
        "code1": "Bar code.",
        "code2": "Code of the classifier of goods (UKTZED).",
        "code3": "Code of the classifier of services (DKPP).",
        "code_a": "Excise stamp.",
        "code_aa": "Several excise stamps.",
        "cnt": "Quantity.",
        "price": "Price of one unit.",
        "cost": "price times cnt; calculated when absent (1107 when it differs by more than 1).",
        "sum": "The same as cost.",
        "discounts": "Several named discounts of the row.",
        "disc": "Discount of the row; a surcharge when negative (1108).",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
        "taxgrp": "Tax group of the register (1087).",
        "taxgrps": "Another spelling of taxgrp.",
        "comment": "Text under the row.",
    },
    "Discount": {
        "disc": "The discount; a surcharge when negative.",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
    },
    "Pay": {
        "type": "Payment type of the register: 0 cash, 1 cashless, 2 card, others as enabled (1088, 1110).",
        "sum": "Amount; for cash the amount received, or the amount kept if `change` has the rest (1109 when 0).",
        "change": "The change.",
        "commission": "Commission (1120 when negative).",
        "comment": "Text under the payment.",
        "comment_up": "Text above (tasks 3, 4, 14).",
        "comment_down": "Text below (tasks 3, 4, 14).",
        "paysys": "Payment system of the card.",
        "rrn": "Retrieval reference number of the payment.",
        "cardmask": "Card number, masked.",
        "term_id": "Number of the bank's terminal.",
        "bank_id": "Number of the merchant or acquirer.",
        "bank_name": "Name of the bank.",
        "auth_code": "Authorisation code.",
        "oper_type": "Kind of operation as text.",
    },
    "Line": {"t": "Text, or the content of a code.", "qr_type": "0 text, 1 EAN-13, 2 Code 128, 100 QR."},
    "PayTask": {
        "task": "Number of the task.",
        "sum": "Amount.",
        "cash": "Cash to pay out (task 14).",
        "refundid": "RRN of the payment to refund (task 2).",
        "rrn": "The same as refundid.",
        "cancelid": "Number of the operation to cancel (task 3): info.cancelid of its answer.",
        "merch": "Merchant of the terminal; the default one when absent.",
        "agreementNum": "Number of the agreement (task 16): info.hstFld63Sf89 of task 15.",
        "parts": "Number of instalments (task 15).",
        "srvnum": "Service of the bank (task 5).",
        "param": "Parameter of the service (task 5).",
        "oper_action": "Task 7: 1 continue, 0 cancel.",
    },
}

INTRO = """\
One endpoint does the work: `POST /dm/execute` takes a task for the register, printer or terminal that `device`
names. `type` says which kind of task, `fiscal.task` or `pay.task` which one. Each answer is HTTP 200 with `res`
(0 is success) and `res_action`, the next step of the caller:

| res_action | What it means | What the caller does |
|---|---|---|
| 0 | done | go on |
| 1 | failed, nothing happened | repeat with the same `tag`; for a payment with a new `transaction_id` |
| 2 | the outcome is not known yet | repeat the same request: the service finds out first |
| 3 | the request or the state of the device forbids it | correct what `errortxt` names |

No answer at all means 2. Wait 20 seconds for a register, 6 for a printer, 310 for a terminal. A new receipt has a new
`tag` (a UUID); its repeats have the same one. `docs/integrating.md` has the details, with programs in six languages.

Numbers may be sent as numbers or as texts. In answers, money and quantities always have a fraction (`2.0`), other
whole numbers never do. While the login is switched on, every path with `/api/v1/`, `/api/v2/` or `/api/v3/` requires
the cookie of `POST /login` or an `x-api-key`, and answers with a redirect (302) to `/login` without it. The task
endpoints require neither, unless the service is hardened. Each path below `/dm/main/` is also available with
any other word in place of `main`.
"""

TAGS: dict[str, str] = {
    "tasks": "Receipts, payments, printing: the tasks of tills.",
    "terminals": "Service methods of terminals, with answers in the shape of a task.",
    "login": "Sessions, people and keys.",
    "devices": "Registers, printers and terminals: add, change, check.",
    "goods": "Goods and baskets of the page of sales.",
    "journal": "What was done, and what needs a person.",
    "settings": "Settings, dashboard and registers, as clients of the original interface know them.",
    "watching": "Health, events, certificate, database, support.",
    "training": "Simulated devices, their faults, and the clock of a training service.",
    "document": "This document.",
    "pages": "Pages for people.",
}
"""Groups of paths, and what they are for."""
