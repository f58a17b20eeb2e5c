"""What a caller receives about a terminal's operation, in the one shape of all answers.

See docs/reference/terminals.md#answers.
"""

from __future__ import annotations

import re

import msgspec

from dmtwisted.answers import EXECUTED, FAILED, Answer, Number, Warning, amount, refusal, render, with_member
from dmtwisted.clock import kyiv, stamp17
from dmtwisted.requests import TYPE_PAY, PayTask, TaskRequest
from dmtwisted.results import Action, Refused, Res, Text, each, in_language, joined
from dmtwisted.security import mask_cards, mask_pan
from dmtwisted.terminals.interface import LABELLED, Approved, Declined, Order, Verdict
from dmtwisted.terminals.sums import another_sum
from dmtwisted.wording import wording
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError

CURRENCY = "ГРН"
"""``info.currency`` of every terminal."""


class Caller(msgspec.Struct, frozen=True):
    """What an answer repeats from its request."""

    device: str
    source: str
    tag: str
    label: str
    """The ``transaction_id``; the answers of task 10 have none."""
    language: str


class TerminalInfo(msgspec.Struct, omit_defaults=True):
    """An approved operation. `sum` is what was approved; `partial` says why it is not what was asked for (5075)."""

    restxt: str
    cardmask: str
    paysys: str
    bankname: str
    sum: Number
    payid: str
    refundid: str
    cancelid: str
    receipt: str
    sliptxt: str
    currency: str
    term_id: str = ""
    merch: str = ""
    hstFld63Sf89: str = ""
    discountName: str = ""
    partial: str = ""
    sum_asked: Number | msgspec.UnsetType = msgspec.UNSET
    """What was asked for, beside another ``sum``."""


def answer_of(caller: Caller, task: int, at: int, order: Order, verdict: Verdict) -> bytes:
    """The answer to an operation that has ended; ``at`` is its time in milliseconds since 1970.

    An approval over another sum is no success, for a till that looks at ``res`` alone would take all of it as paid.
    It has its ``info`` all the same, because money moved.
    """
    if isinstance(verdict, Declined):
        return refusal_of(caller, task, at, verdict.refused())
    answer = Answer(
        source=caller.source,
        device=caller.device,
        tag=caller.tag,
        task_status=EXECUTED,
        type=TYPE_PAY,
        task=task,
        dt=stamp17(at),
        info=info_of(order, verdict, caller.language),
    )
    if verdict.partial:
        other = another_sum(verdict, order.wanted, Res.ANOTHER_SUM.action)
        answer.task_status, answer.res, answer.res_action = FAILED, other.res.code, int(other.action)
        answer.errortxt = other.errortxt(caller.language)
        answer.aq_errortxt = in_language(other.aq_errortxt, caller.language)
        answer.warnings = [Warning.by(other, caller.language)]
    return _labelled(render(answer), task, caller)


def refusal_of(caller: Caller, task: int, at: int, refused: Refused) -> bytes:
    """The answer to an operation that was refused, or whose end is unknown."""
    request = TaskRequest(
        device=caller.device, type=TYPE_PAY, tag=caller.tag, source=caller.source, pay=PayTask(task=task)
    )
    masked = Refused(
        refused.res,
        *refused.details,
        action=refused.action,
        aq_errortxt=each(refused.aq_errortxt, mask_cards),
        note=refused.note,
    )
    return _labelled(refusal(request, masked, caller.language, at), task, caller)


def _labelled(answer: bytes, task: int, caller: Caller) -> bytes:
    return with_member(answer, "transaction_id", caller.label) if task in LABELLED else answer


def info_of(order: Order, approved: Approved, language: str) -> TerminalInfo:
    """``info`` of an answer; optional members without content are left out."""
    return TerminalInfo(
        restxt=approved.text or "APPROVED",
        cardmask=approved.cardmask,
        paysys=approved.paysys,
        bankname=approved.bank,
        sum=amount(approved.kopecks),
        payid=approved.auth_code,
        refundid=approved.rrn,
        cancelid=approved.cancelid,
        receipt=approved.slip,
        sliptxt=approved.slip,
        currency=CURRENCY,
        term_id=approved.terminal_id,
        merch=approved.merchant,
        hstFld63Sf89=approved.agreement,
        discountName=approved.discount,
        partial=wording(approved.partial).for_language(language) if approved.partial else "",
        sum_asked=amount(order.wanted) if approved.partial else msgspec.UNSET,
    )


def masked(verdict: Verdict) -> Verdict:
    """``verdict`` without card numbers, whatever the terminal sent (docs/reference/terminals.md#rule-19)."""
    if isinstance(verdict, Declined):
        return msgspec.structs.replace(verdict, text=mask_cards(verdict.text))
    return masked_card(verdict)


_ON_RECEIPTS = ("paysys", "bank", "auth_code", "rrn", "terminal_id")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def masked_card(approved: Approved) -> Approved:
    """``approved`` without card numbers, and without control characters in what a till puts on a receipt (1089)."""
    return msgspec.structs.replace(
        approved,
        **{name: _CONTROL.sub(" ", getattr(approved, name)) for name in _ON_RECEIPTS},
        cardmask=mask_pan(_CONTROL.sub(" ", approved.cardmask)),
        slip=mask_cards(approved.slip),
        text=mask_cards(approved.text),
    )


def charged_before(kopecks: int, at: int, rrn: str, language: str) -> Warning:
    """The warning in the answer of an operation whose label an approved one had before, begun ``at``."""
    sum_, when = f"{kopecks // 100}.{kopecks % 100:02d}", f"{kyiv(at):%d.%m.%Y %H:%M:%S}"
    words = _CHARGED.for_language(language) % (sum_, when, rrn or "-")
    return Warning.by(Refused(Res.MAY_BE_REPEAT, words), language)


_CHARGED = Text(
    "операцію на %s із цим transaction_id уже проведено %s, RRN %s",
    "an operation for %s with this transaction_id was done before, on %s, RRN %s",
)


def nothing_sent(error: WireError, unreached: Refused | None = None) -> Refused:
    """The refusal for a line that broke before its request was sent (docs/reference/terminals.md#error-mapping).

    :param unreached: the refusal when there was no connection at all.
    """
    if isinstance(error, NotReached):
        return Refused(Res.TERMINAL_CONNECT, aq_errortxt=wording(error.reason)) if unreached is None else unreached
    if isinstance(error, Garbled):
        # Another program listens there, and its first bytes show which (docs/reference/terminals.md#rule-17).
        return Refused(Res.TERMINAL_ERROR, wording(error))
    if isinstance(error, Silent):
        return Refused(Res.HANDSHAKE_SILENT, aq_errortxt=joined(wording(error), HELD, separator="; "))
    return Refused(Res.TERMINAL_CONNECT, aq_errortxt=wording(error))


def no_protocol(device: str, driver: str = "") -> Text:
    """Which device has no protocol of a terminal."""
    uk, en = (f", драйвер {driver}", f", driver {driver}") if driver else ("", "")
    return Text(f"«{device}»{uk}", f'"{device}"{en}')


HELD = Text("термінал може тримати інша програма", "another program may hold the terminal")
UNKNOWN = Text("чи виконано операцію, невідомо", "it is unknown whether the operation was done")
"""What distinguishes 5012 after a request that may have been received from 5012 before any request."""


def broken_off(error: Exception | None, action: Action, why: str = "", taken: bool = False) -> Refused:
    """The refusal for an operation without an end (docs/reference/terminals.md#error-mapping).

    :param error: what broke it; `None` when a restart did.
    :param action: 2 when the end is unknown, 1 when nothing can have happened.
    :param why: what the terminal answered when it was asked.
    :param taken: whether that shows that it had received the request.
    """
    said = wording(why) if why else ""
    if isinstance(error, Silent) and (taken or error.taken):
        return Refused(Res.TERMINAL_SILENT, round(error.seconds * 1000), action=action, aq_errortxt=said)
    if isinstance(error, Silent) or error is None:
        # 411 says that the request was received (specification 7.3), and nothing has shown that.
        unknown = (UNKNOWN,) if action is Action.COLLISION else ()
        return Refused(
            Res.TERMINAL_CONNECT,
            *unknown,
            action=action,
            aq_errortxt=joined("" if error is None else wording(error), said),
        )
    what = wording(error) if isinstance(error, LineLost | Garbled | Refused) else type(error).__name__
    return Refused(Res.INTERNAL, what, action=action, aq_errortxt=said)
