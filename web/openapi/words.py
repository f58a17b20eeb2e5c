"""What each member of a request means, in a line; a test holds these words to what the readers ask for."""

from __future__ import annotations

MEMBERS: dict[str, dict[str, str]] = {
    "TaskRequest": {
        "ver": "Version of the structure; 6, and not looked at.",
        "device": "Name of the device, letter for letter (1091 when there is none).",
        "type": "Kind of task: 0 look-up by tag (also when absent), 1 register, 2 printer, 3 terminal.",
        "tag": "Key of a register's task, at most 200 characters: a task is done once for a tag. A UUID of ours when "
        "it is empty.",
        "source": "Name of the calling program, told back.",
        "need_pf_txt": "Text form in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_img": "Picture (PNG) in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_pdf": "PDF in the answer: 0 as the settings say, 1 no, 2 yes.",
        "need_pf_doccmd": "Form in the document language in the answer: 0 as the settings say, 1 no, 2 yes.",
        "fiscal": "What a register is asked for (type 1).",
        "pay": "What a terminal is asked for (type 3; in batch mode beside a return).",
        "doc": "What a printer is asked for (type 2).",
        "transaction_id": "Label of a terminal's operation: a UUID of the caller's; other texts are turned into one.",
        "transaction_search": "0 always a new operation, 1 look up only (5013 when there is none), 2 look up first. "
        "Always send 2 with a transaction_id of your own.",
        "skipprint": "Batch mode without paper.",
    },
    "Fiscal": {
        "task": "Number of the task.",
        "cashier": "Name of the cashier, printed and told back.",
        "receipt": "The receipt (tasks 1, 2, 15, 16).",
        "cash": "The amount (tasks 3, 4, 14).",
        "n_from": "First Z number (task 12).",
        "n_to": "Last Z number (task 12); the last one that there is when absent.",
        "dt_from": "Begin of the period, any beginning of yyyyMMddHHmmss (task 13, list of receipts).",
        "dt_to": "End of the period, included (task 13, list of receipts).",
        "is_short": "Summary report without the line of each Z (tasks 12, 13).",
        "lines": "Lines of a service report (task 5).",
        "fiscal_number": "Fiscal number of the receipt to copy (task 23).",
        "get_receipts": "Answer the list of receipts instead of doing a task.",
        "dev_name": "Register of the list; all of them when absent.",
        "dev_id": "The same by id.",
        "pg_no": "Page of the list, from 1.",
        "pg_cnt": "Receipts on a page, 50 when absent.",
        "dt_order": "asc or desc; newest first when absent.",
    },
    "Receipt": {
        "sum": "Sum of the rows after their discounts, before discount of the whole receipt and rounding (1101).",
        "round": "Rounding, -0.99 to 0.99, which the caller reckoned (1112, 1115).",
        "autoround": "The service reckons rounding and change itself; then without round (1157).",
        "discounts": "Several named discounts of the whole receipt.",
        "disc": "Discount of the whole receipt; below zero it is a surcharge.",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
        "comment_up": "Text above the receipt.",
        "comment_down": "Text below the receipt.",
        "not_check_safe": "Do not look whether the drawer holds enough cash (1077).",
        "rows": "What is sold; empty for a zero receipt.",
        "pays": "How it is paid; together the sum to pay (1102). Cash may be more: the rest is the change.",
        "purchase_receipt_fisn": "A return names its receipt: the fiscal number.",
        "purchase_rro_fisn": "And the fiscal number of the register that made it.",
    },
    "Row": {
        "name": "Name of the item (1103 when empty).",
        "code": "Code of the item; in one tax group during a shift (1111).",
        "code1": "Bar code.",
        "code2": "Code of the classifier of goods (UKTZED).",
        "code3": "Code of the classifier of services (DKPP).",
        "code_a": "Excise stamp.",
        "code_aa": "Several excise stamps.",
        "cnt": "Quantity.",
        "price": "Price of one.",
        "cost": "price times cnt; reckoned when absent (1107 when it is more than 1 off).",
        "sum": "The same as cost.",
        "discounts": "Several named discounts of the row.",
        "disc": "Discount of the row; below zero it is a surcharge (1108).",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
        "taxgrp": "Tax group of the register (1087, 1110).",
        "comment": "Text under the row.",
    },
    "Discount": {
        "disc": "The discount; below zero it is a surcharge.",
        "disc_type": "0 hryvnias, 1 percent.",
        "disc_name": "Name of the discount.",
    },
    "Pay": {
        "type": "Payment type of the register: 0 cash, 1 cashless, 2 card, others as enabled (1088, 1110).",
        "sum": "Amount; of cash what was handed over, or what was kept when change says the rest (1109 when 0).",
        "change": "Change that was given.",
        "commission": "Commission (1120 when below zero).",
        "comment": "Text under the payment.",
        "comment_up": "Text above (tasks 3, 4, 14).",
        "comment_down": "Text below (tasks 3, 4, 14).",
        "paysys": "Payment system of the card.",
        "rrn": "Retrieval reference number of the payment.",
        "cardmask": "Number of the card, masked.",
        "term_id": "Number of the bank's terminal.",
        "bank_id": "Number of the merchant or acquirer.",
        "bank_name": "Name of the bank.",
        "auth_code": "Authorisation code.",
        "oper_type": "Kind of operation in words.",
    },
    "Line": {
        "t": "Text, or what a code holds.",
        "qr_type": "0 text, 1 EAN-13, 2 Code 128, 100 QR.",
    },
    "PayTask": {
        "task": "Number of the task.",
        "sum": "Amount.",
        "cash": "Cash to be handed out (task 14).",
        "refundid": "RRN of the payment to give back (task 2).",
        "rrn": "The same as refundid.",
        "cancelid": "Number of the operation to cancel (task 3): info.cancelid of its answer.",
        "merch": "Merchant in the terminal; the terminal's usual one when absent.",
        "agreementNum": "Number of the agreement (task 16): info.hstFld63Sf89 of task 15.",
        "parts": "Number of instalments (task 15).",
        "srvnum": "Service of the bank (task 5).",
        "param": "What the service is given (task 5).",
        "oper_action": "Task 7: 1 go on, 0 give up.",
    },
}

INTRO = """\
One endpoint does the work: `POST /dm/execute` takes a task for the register, printer or terminal that `device`
names. `type` says which kind of task, `fiscal.task` or `pay.task` which one. Each answer is HTTP 200 with `res`
(0 is success) and `res_action`, which says what to do next:

| res_action | What it means | What the caller does |
|---|---|---|
| 0 | done | go on |
| 1 | failed, nothing happened | repeat with the same `tag`; for a payment a new `transaction_id` |
| 2 | nobody knows yet whether it happened | repeat the same request: the service finds out first |
| 3 | the request or the state of the device forbids it | correct what `errortxt` names |

No answer at all is 2. Wait 20 seconds for a register, 6 for a printer, 310 for a terminal. A new receipt has a new
`tag` (a UUID), its repeats have the same one. `docs/integrating.md` says it all, with programs in six languages.

Numbers may be sent as numbers or as texts. Money and quantities in answers carry a fraction (`2.0`), everything else
that is whole does not. Where a login is switched on, every path with `/api/v1/`, `/api/v2/` or `/api/v3/` wants the
cookie of `POST /login` or an `x-api-key`, and is otherwise answered by a redirect (302) to `/login`; the task
endpoints never want one, unless the service is hardened. Each path below `/dm/main/` is also found below the
`path_alias` of the configuration.
"""

TAGS: dict[str, str] = {
    "tasks": "Receipts, payments, paper: what tills need.",
    "terminals": "Service methods of terminals; answers in the shape of a task.",
    "login": "Sessions and keys.",
    "devices": "Registers, printers and terminals: added, changed, tried.",
    "journal": "Everything that was done, and what a person has to look at.",
    "settings": "Settings, dashboard and registers as programs know them.",
    "watching": "Probes, events, the certificate.",
    "training": "A simulated far end, and the clock. Only what is simulated can be told to fail.",
    "document": "This document.",
    "pages": "Pages for people.",
}
"""Groups of paths, and what they are for."""
