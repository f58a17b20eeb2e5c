"""A terminal is whole: the other tasks that a shop needs are there and right."""

from __future__ import annotations

from uuid import uuid4

from dmtwisted.conformance.desk import expect, same
from dmtwisted.conformance.desks import APPROVED, PARTLY, REFUSED, UNKNOWN, TerminalDesk, said
from dmtwisted.conformance.suite import WHOLE, check
from dmtwisted.devices.driver import TERMINAL

PAGE = "docs/reference/terminals.md"
TASKS = PAGE + "#tasks"
CORE = frozenset({"payment", "refund", "cancel", "settlement"})
"""The tasks that every shop needs."""


@check(TERMINAL, level=WHOLE, source=TASKS)
def a_shop_can_work_with_it(desk: TerminalDesk) -> None:
    """Payment, refund, cancel and general report are there."""
    same(sorted(CORE - desk.stand.has), [], "tasks that are missing")


@check(TERMINAL, level=WHOLE, source=TASKS, needs=("refund",))
def refund_gives_back_once(desk: TerminalDesk) -> None:
    """A refund by the number of its payment gives the sum back once, and reports it."""
    sold = desk.sold()
    number = sold["info"]["refundid"]
    amount = sold["info"]["sum"]
    label = str(uuid4())
    answer = desk.pay(2, label, 2, sum=amount, refundid=number)
    same((answer["res"], answer["info"].get("sum")), (0, amount), f"a refund ({answer['errortxt']})")
    desk.pay(2, label, 2, sum=amount, refundid=number)
    # Some wires refund by a reversal.
    given = [entry.sum for entry in desk.entries("refund", "cancel")]
    same(given, [round(amount * 100)], "what was given back")


@check(TERMINAL, level=WHOLE, source=PAGE + "#rule-16", needs=("cancel",))
def cancel_takes_back(desk: TerminalDesk) -> None:
    """A cancel of the last payment takes it back, and reports it."""
    sold = desk.sold()
    amount = sold["info"]["sum"]
    answer = desk.pay(3, cancelid=sold["info"]["cancelid"], sum=amount)
    same(answer["res"], 0, f"a cancel ({answer['errortxt']})")
    same((len(desk.entries("cancel")), desk.taken(amount)), (1, 0), "what was taken back")


@check(TERMINAL, level=WHOLE, source=PAGE + "#rule-16", needs=("cancel",))
def cancel_of_nothing_gives_nothing(desk: TerminalDesk) -> None:
    """A cancel that the terminal refuses is a refusal, and nothing is given back in another way."""
    desk.sold()
    answer = desk.pay(3, cancelid="777777", sum=5)
    same(said(answer), REFUSED, "a cancel of an unknown payment")
    same(desk.entries("cancel", "refund"), [], "what was given back")


@check(TERMINAL, level=WHOLE, source=TASKS, needs=("settlement",))
def general_report_closes_the_batch(desk: TerminalDesk) -> None:
    """A general report closes the batch once, and payments go on after it."""
    desk.sold()
    answer = desk.pay(11)
    same((answer["res"], len(desk.entries("settlement"))), (0, 1), f"a general report ({answer['errortxt']})")
    desk.sold()


@check(TERMINAL, level=WHOLE, source=PAGE + "#rule-14", needs=("settlement",))
def lost_report_is_not_made_twice(desk: TerminalDesk) -> None:
    """A general report whose answer was lost is found out or stays unknown; it is never repeated by itself."""
    desk.sold()
    desk.rule("settlement", "lost_after")
    answer = desk.pay(11)
    expect(said(answer) == APPROVED or answer["res_action"] in (1, 2), "a report that was made is refused")
    desk.run(120)
    same(len(desk.entries("settlement")), 1, "general reports")


@check(TERMINAL, level=WHOLE, source=TASKS, needs=("totals",))
def totals_change_nothing(desk: TerminalDesk) -> None:
    """Totals are reported and change nothing; when their answer is lost, nothing has to be found out."""
    desk.sold()
    before = len(desk.entries())
    same(desk.pay(10)["res"], 0, "totals")
    desk.rule("probe", "lost_after")
    lost = desk.pay(10)
    expect(lost["res_action"] != 2, "lost totals are reported as unknown")
    same(len(desk.entries()), before, "what the terminal did")
    desk.rules()
    desk.run(60)
    desk.sold()


@check(TERMINAL, level=WHOLE, source=PAGE + "#card-first", needs=("read_card", "finish"))
def card_first_then_the_sum(desk: TerminalDesk) -> None:
    """Task 6 reads the card and takes nothing; task 7 takes the sum that it names; in between others are 5073."""
    desk.at_card()
    read = desk.pay(6, sum=100)
    same((read["res"], desk.entries()), (0, []), f"a card that is read ({read['errortxt']})")
    expect(read["info"]["cardmask"], "no card is reported")
    same(desk.pay(sum=5)["res"], 5073, "a payment in between")
    answer = desk.pay(7, sum=80, oper_action=1)
    same((answer["res"], desk.taken(80)), (0, 1), f"the payment after it ({answer['errortxt']})")
    same(desk.pay(7)["res"], 5074, "task 7 without a task 6")


@check(TERMINAL, level=WHOLE, source=PAGE + "#card-first", needs=("read_card", "finish"))
def card_first_then_given_up(desk: TerminalDesk) -> None:
    """Task 7 with `oper_action` 0 gives the payment up: nothing is taken, and the terminal is free."""
    desk.at_card()
    same(desk.pay(6, sum=100)["res"], 0, "a card that is read")
    same(desk.pay(7, oper_action=0)["res"], 5023, "a payment that is given up")
    desk.run(60)
    same(desk.entries(), [], "what was taken")
    desk.sold()


@check(TERMINAL, level=WHOLE, source=PAGE + "#rule-9")
def a_part_is_reported_as_a_part(desk: TerminalDesk) -> None:
    """A bank approves less than was asked for: the answer is 5075 with the sum that was taken, or unknown."""
    answer, label, amount = desk.tried("accept", "partial:4000")
    expect(said(answer) in (PARTLY, UNKNOWN), f"a part that was taken is reported as {said(answer)}")
    if said(answer) == PARTLY:
        info, shown = answer["info"], [warning["code"] for warning in answer["warnings"]]
        same((info["sum"], info.get("sum_asked"), shown), (40.0, amount, [5075]), "a part that was approved")
        same((str(desk.row(label).state), desk.taken(40)), ("done", 1), "the journal, and what was taken")
        same(desk.pay(label=label, search=2, sum=amount)["info"], info, "the answer to a repeat")


@check(TERMINAL, level=WHOLE, source=PAGE + "#bank-codes")
def reasons_of_the_bank_differ(desk: TerminalDesk) -> None:
    """The usual refusals of banks have different answers: too little money, a wrong PIN, a card over its limit."""
    answers = set()
    for code in ("51", "55", "61"):
        desk.rule("payment", "refuse", code)
        answer = desk.pay()
        answers.add((answer["res"], answer["errortxt"]))
    same(len(answers), 3, f"different answers to three refusals ({sorted(answers)})")


@check(TERMINAL, level=WHOLE, source=PAGE + "#rule-11", needs=("line",))
def progress_is_reported(desk: TerminalDesk) -> None:
    """During a payment the service reports that the terminal is busy, and afterwards that it is idle."""
    same(desk.built.status()["state"], "idle", "a terminal with nothing to do")
    due = desk.asked_pay()
    seen = set()
    for _ in range(30):
        seen.add(desk.built.status()["state"])
        desk.world.advance(0.05)
    desk.answer(due)
    expect(seen - {"idle"}, "a payment without progress")
    same(desk.built.status()["state"], "idle", "a terminal after its payment")
