"""A terminal is safe: no payment is taken twice, no approval is reported as a refusal, no unknown end as known."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred

from dmtwisted.conformance.desk import WAIT, Broken, NotHere, expect, same
from dmtwisted.conformance.desks import APPROVED, REFUSED, UNKNOWN, TerminalDesk, said
from dmtwisted.conformance.suite import SAFE, check
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.results import Refused
from dmtwisted.terminals.interface import ECHO, MASKS, MERCHANTS, NAMES, PING, TASKS, Task
from protocols.simulators.terminal import Card

CARD = "4111111111111111"
"""The whole number of a simulated customer's card, which the terminal reports though it should not."""

PAGE = "docs/reference/terminals.md"
LINE = ("line",)


@check(TERMINAL, level=SAFE, source=PAGE + "#answers")
def approval_is_complete(desk: TerminalDesk) -> None:
    """The answer to an approved payment has its sum, the masked card or an authorisation, and a number to find it."""
    answer, label, amount = desk.tried()
    same((answer["res"], answer["transaction_id"], answer["task_status"]), (0, label, 1), "an approval")
    info = answer["info"]
    same((info["sum"], desk.taken(amount)), (amount, 1), "what was taken")
    expect(info["payid"] or info["refundid"] or info["cancelid"], "the approval has no number at all")
    same(info["currency"], "ГРН", "the currency")
    same(str(desk.row(label).state), "done", "the journal")


@check(TERMINAL, level=SAFE, source="docs/drivers.md#what-has-to-be-true")
def kopecks_are_exact(desk: TerminalDesk) -> None:
    """Sums arrive to the kopeck, from one kopeck to tens of thousands of hryvnias, and come back so."""
    # Most of these lose one kopeck where binary fractions are multiplied.
    for amount in (0.01, 0.10, 0.29, 1.0, 1.15, 4.35, 19.99, 64.10, 1128.57, 9999.99, 65_535.35):
        answer = desk.pay(sum=amount)
        same((answer["res"], answer["info"].get("sum")), (0, amount), f"a payment of {amount:.2f}")
        same(desk.taken(amount), 1, f"what the bank has of {amount:.2f}")


@check(TERMINAL, level=SAFE, source=PAGE + "#repeats")
def bank_refusal_is_definite(desk: TerminalDesk) -> None:
    """A payment that the bank declines is refused for good (`res_action` 3), stored, and nothing was taken."""
    answer, label, amount = desk.tried("refuse", "51")
    expect(answer["res"] != 0, "a refusal is reported as an approval")
    same((answer["res_action"], answer["info"]), (3, {}), "a refusal of the bank")
    same(desk.honest(answer, label, amount), REFUSED, "a refusal of the bank")


@check(TERMINAL, level=SAFE, source=PAGE + "#repeats")
def customer_may_give_up(desk: TerminalDesk) -> None:
    """A customer who gives up on the terminal's keys is a definite refusal."""
    answer, label, amount = desk.tried("refuse", "cancelled")
    same((said(answer), answer["res_action"]), (REFUSED, 3), "a payment that was given up")
    same(desk.honest(answer, label, amount), REFUSED, "a payment that was given up")


@check(TERMINAL, level=SAFE, source=PAGE + "#repeats")
def any_refusal_is_honest(desk: TerminalDesk) -> None:
    """Whatever the terminal refuses with, nothing was taken, and the next payment goes well."""
    for code in ("no_link", "journal_full", "card", "timeout", "05", "91", "57"):
        same(desk.honest(*desk.tried("refuse", code)), REFUSED, f"a refusal for {code}")


@check(TERMINAL, level=SAFE, source=PAGE + "#busy")
def busy_terminal_takes_nothing(desk: TerminalDesk) -> None:
    """A terminal that is busy with another till takes nothing, and that is never reported as an approval."""
    answer, label, amount = desk.tried("refuse", "busy")
    expect(answer["res"] != 0, "a busy terminal is reported as an approval")
    desk.honest(answer, label, amount)
    same(desk.taken(amount), 0, "what was taken")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2", needs=LINE)
def unreachable_is_definite(desk: TerminalDesk) -> None:
    """Without a connection nothing was sent: a refusal, a repeat may help, and the end is never unknown."""
    desk.switch_off()
    answer, label, amount = desk.tried()
    same((said(answer), answer["res_action"]), (REFUSED, 1), "a terminal that is not there")
    same(desk.honest(answer, label, amount), REFUSED, "a terminal that is not there")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2")
def lost_request_is_honest(desk: TerminalDesk) -> None:
    """A line that breaks before the terminal took the request: never an approval, never sent again."""
    _fault(desk, "lost_before")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2")
def lost_approval_is_honest(desk: TerminalDesk) -> None:
    """A line that breaks after the approval: the end is found out or unknown; never refused, never paid twice."""
    _fault(desk, "lost_after")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2")
def silence_ends_in_time(desk: TerminalDesk) -> None:
    """The wait for a silent terminal ends at most ten seconds after its setting, with an answer."""
    began = desk.world.seconds()
    _fault(desk, "silent", lambda: expect(desk.world.seconds() - began <= WAIT + 10, "the caller waits too long"))


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-2")
def garbage_is_no_answer(desk: TerminalDesk) -> None:
    """An unreadable answer is a lost answer, and the payment is not sent again."""
    _fault(desk, "garbage")


def _fault(desk: TerminalDesk, then: str, after: Any = None) -> None:
    desk.sold()
    answer, label, amount = desk.tried(then)
    if after is not None:
        after()
    happened = then in ("lost_after", "garbage")
    expect(
        said(answer) != (REFUSED if happened else APPROVED) or not desk.taken(amount),
        "approval and refusal are mixed up",
    )
    desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-9")
def another_sum_is_no_success(desk: TerminalDesk) -> None:
    """A terminal that reports more than was asked for, zero or no number: unknown, and a person settles it."""
    if not getattr(desk.built.driver, "names_sum", True):
        raise NotHere("approvals of this wire name no sum")
    desk.sold()
    for code in ("sum:99999900", "sum:0", "sum:-100", "sum:nan"):
        before = len(desk.entries("payment"))
        answer, label, amount = desk.tried("accept", code)
        same((said(answer), answer["info"]), (UNKNOWN, {}), f"an approval with {code}")
        expect(answer["errortxt"], "an unknown end has to come with a reason")
        desk.run(WAIT + 60)
        same(said(desk.pay(label=label, search=2, sum=amount)), UNKNOWN, f"a repeat after {code}")
        same(desk.pay(sum=5)["res"], 5022, f"another payment after {code}")
        same((str(desk.row(label).state), len(desk.entries("payment"))), ("unknown", before + 1), f"{code} after all")
        desk.settle(label, False)
        desk.sold()


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-5", needs=LINE)
def doubt_keeps_others_away(desk: TerminalDesk) -> None:
    """While the end of a payment is unknown the terminal takes no other task, not even a general report."""
    desk.sold()
    label, amount = desk.in_doubt()
    before = len(desk.entries())
    for task in sorted(TASKS - {Task.STORED}):
        if NAMES[task] in desk.stand.has:
            answer = desk.pay(task, **{**MEMBERS, "sum": 5})
            expect(answer["res"] != 0, f"{NAMES[task]} was done while the end of a payment is unknown")
    same(len(desk.entries()), before, "what the terminal did meanwhile")
    desk.switch_on()
    again = desk.pay(label=label, search=2, sum=amount)
    expect(
        said(again) == UNKNOWN or (said(again) == APPROVED) == (desk.taken(amount) == 1),
        "approval and refusal are mixed up",
    )


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-4", needs=LINE)
def naive_repeat_pays_nothing(desk: TerminalDesk) -> None:
    """A till that sends a lost request again under its label, as if it were new, pays nothing while it is unknown."""
    desk.sold()
    label, amount = desk.in_doubt()
    for _ in range(3):
        same(said(desk.pay(label=label, sum=amount)), UNKNOWN, "a repeat while the end is unknown")
    desk.switch_on()
    answer = desk.pay(label=label, search=2, sum=amount)
    # Some terminals take back what was not acknowledged: then it is a refusal.
    expect(said(answer) != REFUSED or not desk.taken(amount), "a lost approval is reported as a refusal")
    expect(desk.taken(amount) <= 1, "the payment was taken twice")


@check(TERMINAL, level=SAFE, source=PAGE + "#unknown-outcome", needs=LINE)
def a_person_settles(desk: TerminalDesk) -> None:
    """A person who has read the slip closes an unknown payment, and the terminal is free again."""
    desk.sold()
    label, amount = desk.in_doubt()
    desk.settle(label, True)
    same(str(desk.row(label).state), "done", "the journal")
    desk.switch_on()
    desk.run(WAIT + 60)
    same(desk.pay(label=label, search=2, sum=amount)["res"], 0, "the repeat")
    desk.sold()


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-1")
def restart_is_honest(desk: TerminalDesk) -> None:
    """A service that dies during a payment knows it at its next start, and never starts it again."""
    desk.sold()
    for pause in (0.0, 0.3, 0.9):
        _, label, amount = desk.started(pause)
        desk.restart()
        answer = desk.pay(label=label, search=2, sum=amount)
        desk.honest(answer, label, amount)


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-1")
def nothing_leaves_before_the_intent(desk: TerminalDesk) -> None:
    """When the intent cannot be stored nothing is sent, and the label is free."""
    desk.sold()
    before = len(desk.entries())
    for verb in ("reserve", "note"):
        label, amount = desk.sale()
        verbs = iter(range(1, 12))
        for n in verbs:
            desk.store.fail_at(n, False)
            answer = desk.pay(label=label, sum=amount)
            failed = desk.store.asked[n - 1] if len(desk.store.asked) >= n else ""
            desk.store.fail_at(0, False)
            if failed == verb:
                break
            label, amount = desk.sale()
        else:
            raise NotHere(f"a payment never calls {verb} of the store")
        same(answer["res"], 1082, f"a payment whose {verb} failed")
        same(desk.taken(amount), 0, "what was taken")
        before = len(desk.entries())
        desk.run(60)
        same(len(desk.entries()), before, "what the terminal did by itself")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-1")
def store_may_fail_anywhere(desk: TerminalDesk) -> None:
    """Any call of the store may fail, before or after its effect: no approval is lost, and nothing is paid twice."""
    desk.sold()
    for happened in (False, True):
        for n in range(1, 9):
            label, amount = desk.sale()
            desk.store.fail_at(n, happened)
            first = desk.pay(label=label, sum=amount)
            desk.store.fail_at(0, False)
            if desk.taken(amount) and first["res"]:
                same(first["res_action"], 2, f"an approval that was not stored (question {n})")
            second = desk.pay(label=label, search=2, sum=amount)
            if said(second) == UNKNOWN:
                desk.settle(label, desk.taken(amount) == 1)
                second = desk.pay(label=label, search=2, sum=amount)
            same((second["res"] == 0, desk.taken(amount) <= 1), (desk.taken(amount) == 1, True), f"question {n}")


@check(TERMINAL, level=SAFE, source=PAGE + "#rule-8")
def interrupt_is_a_wish(desk: TerminalDesk) -> None:
    """After an interrupt, early or late, the answer is what really happened."""
    desk.sold()
    for pause in (0.0, 0.25, 0.6, 0.95):
        due, label, amount = desk.started(pause)
        interrupt: Deferred[None] = Deferred.fromCoroutine(desk.built.interrupt())
        interrupt.addErrback(lambda reason: reason.trap(Refused))
        desk.honest(desk.answer(due), label, amount)


@check(TERMINAL, level=SAFE, source="docs/drivers.md#life-of-a-device")
def close_during_a_payment(desk: TerminalDesk) -> None:
    """A device that is closed during a payment closes its line and does nothing by itself."""
    desk.sold()
    _, label, amount = desk.started(0.4)
    desk.devices.close()
    desk.run(WAIT + 60)
    same(desk.world.open_lines, 0, "lines that stay open")
    desk.restart()
    expect(desk.taken(amount) <= 1, "the payment was taken twice")
    desk.honest(desk.pay(label=label, search=2, sum=amount), label, amount)


@check(TERMINAL, level=SAFE, source="docs/security.md", needs=LINE)
def card_numbers_stay_in(desk: TerminalDesk) -> None:
    """Of a whole card number only six and four digits get into answers, journal and log."""
    desk.device._cards = (Card(CARD, "VISA", "2911"),)
    desk.sold()
    desk.rule("payment", "refuse", "51")
    desk.pay()
    desk.rule("payment", "garbage")
    desk.pay(sum=77)
    seen = "".join(map(str, desk.answered)) + desk.log.text + desk.kept().decode("utf-8", "replace")
    for shape in (CARD, CARD.encode().hex(), CARD.encode().hex(" ")):
        expect(shape not in seen, "a whole card number got out")


@check(TERMINAL, level=SAFE, source=PAGE + "#drivers")
def capabilities_tell_the_truth(desk: TerminalDesk) -> None:
    """A task without a capability is 5029, an unknown number 317, a missing method 303; nothing is sent."""
    desk.sold()
    rows, heard = len(desk.rows()), desk.world.heard
    for task in range(-1, 21):
        if task in TASKS and NAMES[task] in desk.stand.has:
            continue
        answer = desk.pay(task, **MEMBERS)
        same((answer["res"], answer["res_action"]), (5029 if task in TASKS else 317, 3), f"task {task}")
    same((len(desk.rows()), desk.world.heard), (rows, heard), "what is left of it")
    claimed = {NAMES[task] for task in {*desk.built.driver.capabilities, Task.STORED}}
    same(claimed, set(desk.stand.driver.capabilities), "capabilities in the list of drivers, and of the driver")
    for name in (PING, MERCHANTS, MASKS, ECHO):
        due: Deferred[Any] = Deferred.fromCoroutine(desk.built.serve(name))
        if desk.built.has(name):
            expect(isinstance(desk.wait(due), dict), f"{name} returns nothing")
            continue
        try:
            desk.wait(due)
        except Refused as refused:
            same(refused.res.code, 303, f"the method {name}")
        else:
            raise Broken(f"the method {name} is there after all")


@check(TERMINAL, level=SAFE, source=PAGE + "#tasks")
def malformed_requests_are_refused(desk: TerminalDesk) -> None:
    """A negative sum is 2000, a missing member 1098, both with its name, and nothing is sent."""
    heard, before = desk.world.heard, len(desk.entries())
    same(desk.pay(sum=-5)["res"], 2000, "a negative sum")
    missing = desk.pay(sum=0)
    same(missing["res"], 1098, "a payment without a sum")
    expect("pay.sum" in missing["errortxt"], "the missing member is not named")
    same((len(desk.entries()), desk.world.heard, desk.rows()), (before, heard, []), "what is left of it")


@check(TERMINAL, level=SAFE, source=PAGE + "#repeats")
def a_label_is_one_payment(desk: TerminalDesk) -> None:
    """A repeat under its label with `transaction_search` 2 gets the stored answer, however often it comes."""
    label, amount = desk.sale()
    first = desk.pay(label=label, search=2, sum=amount)
    for _ in range(3):
        again = desk.pay(label=label, search=2, sum=amount)
        same((again["res"], again["task_status"], again["info"]), (0, 2, first["info"]), "a repeat")
    same(desk.taken(amount), 1, "what was taken")
    unknown = desk.pay(label=str(uuid4()), search=1, sum=amount)
    same((unknown["res"], desk.taken(amount)), (5013, 1), "a look-up of nothing")


@check(TERMINAL, level=SAFE, source="specification 1.9")
def two_tills_in_turn(desk: TerminalDesk) -> None:
    """Two callers at once are served one after the other; after 15 seconds of waiting the answer is 1105."""
    (one, first), (two, second) = desk.sale(), desk.sale()
    dues = [desk.asked_pay(label=one, sum=first), desk.asked_pay(label=two, sum=second)]
    same([desk.answer(due)["res"] for due in dues], [0, 0], "two payments at once")
    same((desk.taken(first), desk.taken(second)), (1, 1), "what was taken")
    desk.rule("payment", "accept", delay_ms=17_000)
    (one, first), (two, second) = desk.sale(), desk.sale()
    due = desk.asked_pay(label=one, sum=first)
    desk.run(0.1)
    late = desk.pay(label=two, sum=second)
    same((late["res"], late["res_action"], len(desk.rows(two))), (1105, 1, 0), "the second till")
    desk.honest(desk.answer(due), one, first)
    same(desk.taken(second), 0, "what was taken of it")


@check(TERMINAL, level=SAFE, source="docs/drivers.md#texts")
def texts_are_readable(desk: TerminalDesk) -> None:
    """Texts of the terminal have no control characters and no characters of a wrong character set."""
    desk.sold()
    desk.rule("payment", "refuse", "51")
    desk.pay()
    for answer in desk.answered:
        for text in _texts(answer):
            wrong = [sign for sign in text if sign == "\ufffd" or (not sign.isprintable() and sign not in "\r\n\t")]
            same(wrong, [], f"signs in {text!r}")


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for member in value.values() for text in _texts(member)]
    return [value] if isinstance(value, str) else []


MEMBERS: dict[str, Any] = {
    "sum": 5,
    "refundid": "1",
    "cancelid": "1",
    "srvnum": "1",
    "cash": 1,
    "parts": 2,
    "agreementNum": "1",
}
"""Members that the tasks need."""
