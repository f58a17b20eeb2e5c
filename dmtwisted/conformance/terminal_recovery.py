"""A terminal recovers: what was lost is found by asking the terminal, and nobody has to read a slip."""

from __future__ import annotations

from dmtwisted.conformance.desk import OPERATION, expect, same
from dmtwisted.conformance.desks import APPROVED, REFUSED, UNKNOWN, TerminalDesk, said
from dmtwisted.conformance.suite import RECOVERS, check
from dmtwisted.devices.drivers import TERMINAL

RULES = "docs/terminals.md, rule"
LINE = ("line",)


@check(TERMINAL, level=RECOVERS, source=RULES + " 3")
def lost_approval_is_found(desk: TerminalDesk) -> None:
    """The line breaks after the approval: the terminal is asked, and the caller hears of it with its number."""
    desk.sold()
    desk.rule("payment", "lost_after")
    label, amount = desk.sale()
    answer = desk.pay(label=label, sum=amount)
    # A payment that the terminal takes back when its answer is lost is known just as surely.
    expect(said(answer) != UNKNOWN, f"nobody found out: {answer['res']} {answer['aq_errortxt']}")
    if said(answer) == APPROVED:
        number = desk.entries("payment")[-1].number
        info = answer["info"]
        expect(number in (info["refundid"], info["payid"]) or info["cancelid"], "the approval has no number")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=RULES + " 3")
def lost_request_is_found(desk: TerminalDesk) -> None:
    """The line breaks before the terminal took the request: asked, it knows of nothing, and a repeat may come."""
    desk.sold()
    desk.rule("payment", "lost_before")
    label, amount = desk.sale()
    answer = desk.pay(label=label, sum=amount)
    same((answer["res"], answer["res_action"]), (5014, 1), "a request that never arrived")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=RULES + " 3")
def silence_is_asked_after(desk: TerminalDesk) -> None:
    """A terminal that took nothing and said nothing is asked at the end, and that is told for good."""
    desk.sold()
    desk.rule("payment", "silent")
    label, amount = desk.sale()
    answer = desk.pay(label=label, sum=amount)
    same(said(answer), REFUSED, "a terminal that stayed silent")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=RULES + " 3", needs=LINE)
def break_while_the_customer_pays(desk: TerminalDesk) -> None:
    """The line breaks while the customer pays: how that ended is found out."""
    desk.sold()
    label, amount = desk.sale()
    due = desk.asked_pay(label=label, sum=amount)
    desk.until(lambda: str(desk.device.state) == "authorising", "the question to the bank")
    desk.world.hang_up()
    answer = desk.answer(due)
    expect(said(answer) != UNKNOWN, f"nobody found out: {answer['res']} {answer['aq_errortxt']}")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=RULES + " 1 and 3")
def restart_asks(desk: TerminalDesk) -> None:
    """A service that died while a payment ran asks at its next start, before anybody repeats anything."""
    desk.sold()
    label, amount = desk.sale()
    due = desk.asked_pay(label=label, sum=amount)
    due.addErrback(lambda _: b"")
    desk.run(OPERATION * 0.8)
    desk.restart()
    desk.run(30)
    state = str(desk.row(label).state)
    expect(state in ("done", "refused"), f"the operation is {state} after the start")
    same(state == "done", desk.taken(amount) == 1, "the journal against the bank")


@check(TERMINAL, level=RECOVERS, source=RULES + " 3 and 5", needs=LINE)
def doubt_ends_by_itself(desk: TerminalDesk) -> None:
    """A terminal that was away tells as soon as it is back; the repeat gets that, and the terminal is free."""
    desk.sold()
    label, amount = desk.in_doubt()
    desk.switch_on()
    again = desk.pay(label=label, search=2, sum=amount)
    same(said(again) == APPROVED, desk.taken(amount) == 1, "what the repeat hears")
    expect(said(again) != UNKNOWN, f"nobody found out: {again['aq_errortxt']}")
    desk.sold()
    expect(desk.taken(amount) <= 1, "the payment was taken twice")


@check(TERMINAL, level=RECOVERS, source=RULES + " 6", needs=LINE)
def another_receipt_is_not_ours(desk: TerminalDesk) -> None:
    """What the terminal did before under the same sum is never taken for the payment whose answer was lost."""
    amount = 55.55
    same(desk.pay(sum=amount)["res"], 0, "a payment")
    desk.rule("payment", "lost_before")
    label = "00000000-0000-4000-8000-000000000007"
    answer = desk.pay(label=label, sum=amount)
    same((said(answer), desk.taken(amount)), (REFUSED, 1), "a payment that never arrived")
    same(desk.pay(label=label, search=2, sum=amount)["res"], answer["res"], "its stored answer")


@check(TERMINAL, level=RECOVERS, source=RULES + " 3", needs=LINE)
def two_faults_in_a_row(desk: TerminalDesk) -> None:
    """The answer is lost, and the first question after it too: the next question finds out."""
    desk.sold()
    label, amount = desk.sale()
    desk.rules(
        {"on": "payment", "then": "lost_after"},
        {"on": "probe", "then": "lost_before"},
    )
    answer = desk.pay(label=label, sum=amount)
    desk.rules()
    if said(answer) == UNKNOWN:
        answer = desk.pay(label=label, search=2, sum=amount)
    same((said(answer) == APPROVED, said(answer) != UNKNOWN), (desk.taken(amount) == 1, True), "what is found out")
