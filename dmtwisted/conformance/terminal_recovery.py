"""A terminal recovers: a lost answer is found out by asking the terminal, without a person who reads the slip."""

from __future__ import annotations

from dmtwisted.conformance.desk import OPERATION, Answer, expect, same
from dmtwisted.conformance.desks import APPROVED, REFUSED, UNKNOWN, TerminalDesk, said
from dmtwisted.conformance.suite import RECOVERS, check
from dmtwisted.devices.driver import TERMINAL

PAGE = "docs/reference/terminals.md"
LINE = ("line",)


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3")
def lost_approval_is_found(desk: TerminalDesk) -> None:
    """The line breaks after the approval: the terminal is asked, and the caller gets the approval with its number."""
    desk.sold()
    answer, label, amount = desk.tried("lost_after")
    # A payment that the terminal takes back when its answer is lost is known just as surely.
    _found_out(answer)
    if said(answer) == APPROVED:
        number, info = desk.entries("payment")[-1].number, answer["info"]
        expect(number in (info["refundid"], info["payid"]) or info["cancelid"], "the approval has no number")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3")
def lost_request_is_found(desk: TerminalDesk) -> None:
    """The line breaks before the terminal took the request: it reports no operation, and a repeat is allowed."""
    desk.sold()
    answer, label, amount = desk.tried("lost_before")
    same((answer["res"], answer["res_action"]), (5014, 1), "a request that never arrived")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3")
def silence_is_found_out(desk: TerminalDesk) -> None:
    """A terminal that took nothing and stays silent is asked at the end, and the answer is a definite refusal."""
    desk.sold()
    answer, label, amount = desk.tried("silent")
    same(said(answer), REFUSED, "a terminal that stayed silent")
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3", needs=LINE)
def break_while_the_customer_pays(desk: TerminalDesk) -> None:
    """The line breaks while the customer pays: the end of the payment is found out."""
    desk.sold()
    due, label, amount = desk.started()
    desk.until(lambda: str(desk.device.state) == "authorising", "the question to the bank")
    desk.world.hang_up()
    answer = desk.answer(due)
    _found_out(answer)
    desk.honest(answer, label, amount)


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-1")
def restart_asks(desk: TerminalDesk) -> None:
    """A service that died during a payment asks the terminal at its next start, before any repeat."""
    desk.sold()
    _, label, amount = desk.started()
    desk.run(OPERATION * 0.8)
    desk.restart()
    desk.run(30)
    state = str(desk.row(label).state)
    expect(state in ("done", "refused"), f"the operation is {state} after the start")
    same(state == "done", desk.taken(amount) == 1, "the journal against the bank")


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3", needs=LINE)
def doubt_ends_by_itself(desk: TerminalDesk) -> None:
    """A terminal that was away reports the end once it is back; the repeat gets it, and the terminal is free."""
    desk.sold()
    label, amount = desk.in_doubt()
    desk.switch_on()
    again = desk.pay(label=label, search=2, sum=amount)
    same(said(again) == APPROVED, desk.taken(amount) == 1, "the answer to the repeat")
    _found_out(again)
    desk.sold()
    expect(desk.taken(amount) <= 1, "the payment was taken twice")


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-6", needs=LINE)
def another_receipt_is_not_ours(desk: TerminalDesk) -> None:
    """An earlier receipt over the same sum is never taken for the payment whose answer was lost."""
    amount, label = 55.55, "00000000-0000-4000-8000-000000000007"
    same(desk.pay(sum=amount)["res"], 0, "a payment")
    desk.rule("payment", "lost_before")
    answer = desk.pay(label=label, sum=amount)
    same((said(answer), desk.taken(amount)), (REFUSED, 1), "a payment that never arrived")
    same(desk.pay(label=label, search=2, sum=amount)["res"], answer["res"], "its stored answer")


@check(TERMINAL, level=RECOVERS, source=PAGE + "#rule-3", needs=LINE)
def two_faults_in_a_row(desk: TerminalDesk) -> None:
    """The answer is lost, and so is the answer to the first question about it: the next question finds out."""
    desk.sold()
    label, amount = desk.sale()
    desk.rules({"on": "payment", "then": "lost_after"}, {"on": "probe", "then": "lost_before"})
    answer = desk.pay(label=label, sum=amount)
    desk.rules()
    if said(answer) == UNKNOWN:
        answer = desk.pay(label=label, search=2, sum=amount)
    same((said(answer) == APPROVED, said(answer) != UNKNOWN), (desk.taken(amount) == 1, True), "what is found out")


def _found_out(answer: Answer) -> None:
    expect(said(answer) != UNKNOWN, f"the end stays unknown: {answer['res']} {answer['aq_errortxt']}")
