"""A register is safe: no document or number twice, none left out, none reported that the server does not have."""

from __future__ import annotations

from dmtwisted.conformance.desk import expect, same
from dmtwisted.conformance.desks import APPROVED, REFUSED, UNKNOWN, RegisterDesk, receipt, said
from dmtwisted.conformance.levels import RECOVERS, SAFE
from dmtwisted.conformance.suite import check
from dmtwisted.devices.driver import REGISTER

PAGE = "docs/integrating.md"
PATH = "docs/architecture.md"


@check(REGISTER, level=SAFE, source=PATH)
def a_sale_is_one_document(desk: RegisterDesk) -> None:
    """The answer to a sale has the server's number, and the server has the sale once, with its sum."""
    desk.open()
    info = desk.well(desk.sell(125.5, "one"))["info"]
    [entry] = desk.entries("sale")
    same((entry.number, entry.sum), (info["doccode"], 12_550), "what the server has")
    same((info["printinfo"]["sum_topay"], info["safe"]), (125.5, 125.5), "the sum in the answer")


@check(REGISTER, level=SAFE, source="docs/integrating.md#registers")
def a_tag_is_done_once(desk: RegisterDesk) -> None:
    """A task that is repeated under its tag gets the stored answer, however often, and no second document."""
    desk.open()
    first = desk.well(desk.sell(20, "t"))
    for _ in range(3):
        again = desk.sell(20, "t")
        same((again["res"], again["task_status"], again["info"]), (0, 2, first["info"]), "a repeat")
    same(desk.sales(20), 1, "receipts at the server")
    same(desk.well(desk.look_up("t"))["info"], first["info"], "the look-up")
    same(desk.look_up("another")["res"], 1058, "a look-up of nothing")


@check(REGISTER, level=SAFE, source="docs/integrating.md#registers")
def a_reused_tag_sells_nothing(desk: RegisterDesk) -> None:
    """A tag with other content gets the first answer with warning 1051, and no second document."""
    desk.open()
    first = desk.well(desk.sell(20, "t"))
    again = desk.sell(30, "t")
    same((again["info"], [each["code"] for each in again["warnings"]]), (first["info"], [1051]), "a reused tag")
    same(len(desk.entries("sale")), 1, "receipts at the server")


@check(REGISTER, level=SAFE, source=PATH)
def numbers_are_continuous(desk: RegisterDesk) -> None:
    """Local numbers go up by one from document to document, over refusals and lost answers too."""
    desk.open()
    numbers = [int(desk.well(desk.sell(10 + n, f"t{n}"))["info"]["docno"]) for n in range(3)]
    desk.rule("sale", "refuse")
    expect(desk.sell(50, "refused")["res"] != 0, "a refusal is reported as a success")
    desk.rules()
    numbers.append(int(desk.well(desk.sell(60, "after"))["info"]["docno"]))
    desk.lost(70)
    numbers.append(int(desk.well(desk.sell(70, "lost"))["info"]["docno"]))
    numbers.append(int(desk.well(desk.sell(80, "last"))["info"]["docno"]))
    same(numbers, list(range(numbers[0], numbers[0] + 6)), "local numbers")


@check(REGISTER, level=SAFE, source="docs/result-codes.md")
def refusals_are_definite(desk: RegisterDesk) -> None:
    """A document that the server refuses is refused for good, and its tag is free for the right one."""
    desk.open()
    desk.rule("sale", "refuse")
    answer = desk.sell(20, "t")
    same((said(answer), answer["info"]), (REFUSED, {}), "a refusal of the server")
    desk.rules()
    desk.well(desk.sell(20, "t"))
    same(desk.sales(20), 1, "receipts at the server")


@check(REGISTER, level=SAFE, source=PATH)
def lost_answer_is_honest(desk: RegisterDesk) -> None:
    """A document that arrived and whose answer was lost: never refused, and its repeat makes no second one."""
    _fault(desk, "lost_after")


@check(REGISTER, level=SAFE, source=PATH)
def lost_request_is_honest(desk: RegisterDesk) -> None:
    """A document that was lost on its way is not reported as sent, and its repeat is the only document."""
    _fault(desk, "lost_before")


@check(REGISTER, level=SAFE, source=PATH)
def silence_is_honest(desk: RegisterDesk) -> None:
    """A silent server is waited for as long as the settings say, and is asked for the document later."""
    _fault(desk, "silent")


@check(REGISTER, level=SAFE, source=PATH)
def garbage_is_no_answer(desk: RegisterDesk) -> None:
    """An unreadable answer is a lost answer."""
    _fault(desk, "garbage")


@check(REGISTER, level=SAFE, source=PATH)
def unreachable_is_honest(desk: RegisterDesk) -> None:
    """Without a server the document is refused, or made offline with the register's own number; never both."""
    _fault(desk, "unreachable")


def _fault(desk: RegisterDesk, then: str) -> None:
    desk.open()
    desk.well(desk.sell(5, "before"))
    desk.rule("sale", then)
    answer = desk.sell(33.3, then)
    happened = then in ("lost_after", "garbage")
    expect(
        not happened or said(answer) != REFUSED or not desk.sales(33.3),
        "a document is reported as refused",
    )
    desk.honest(answer, then, 33.3, lambda: desk.sell(33.3, then))


@check(REGISTER, level=SAFE, source=PATH)
def doubt_is_cleared_first(desk: RegisterDesk) -> None:
    """While the server cannot be asked about a document, no other one is sent: 1075, and its look-up fails."""
    desk.open()
    desk.rules({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
    first = desk.sell(40, "lost")
    if said(first) != UNKNOWN:
        same(said(first) == APPROVED, desk.known(40) == 1, "the answer to the document")
        return
    other = desk.sell(41, "other")
    if other["res"] != 0:
        same((other["res_action"], desk.sales(41)), (2, 0), "another document in the meantime")
    expect(desk.look_up("lost")["res"] != 0, "the look-up reports an unproved success")
    desk.honest(first, "lost", 40, lambda: desk.sell(40, "lost"))


@check(REGISTER, level=SAFE, source=PATH)
def restart_is_honest(desk: RegisterDesk) -> None:
    """A service that dies while a document is sent asks for it later, and a repeat makes no second one."""
    desk.open()
    for n, then in enumerate(("accept", "lost_after", "lost_before")):
        desk.rules({"on": "sale", "then": then, "delay_ms": 500})
        desk.underway(desk.body(1, f"crash {n}", receipt=receipt(60 + n)), 0.1 + 0.3 * n)
        desk.restart()
        desk.rules()
        desk.run(60)
        desk.well(desk.sell(60 + n, f"crash {n}"))
        desk.home()
        same(desk.sales(60 + n), 1, f"receipts after {then}")


@check(REGISTER, level=SAFE, source=PATH)
def store_may_fail_anywhere(desk: RegisterDesk) -> None:
    """Any call of the store may fail, before or after its effect: no receipt is lost, and none is made twice."""
    desk.open()
    for happened in (False, True):
        for n in range(1, 7):
            tag, amount = f"store {n} {happened}", 100 + n + happened / 10
            with desk.failing(n, happened):
                first = desk.sell(amount, tag)
            expect(first["res"] or desk.sales(amount), f"a success without a document (call {n})")
            desk.run(60)
            again = desk.well(desk.sell(amount, tag))
            same(desk.sales(amount), 1, f"receipts (call {n})")
            same(desk.well(desk.look_up(tag))["info"], again["info"], "the stored answer")


@check(REGISTER, level=SAFE, source="specification 1.9")
def a_busy_register_says_so(desk: RegisterDesk) -> None:
    """A task during another one gets 1105 and has no effect; so do look-ups and the same tag."""
    desk.open()
    desk.rules({"on": "sale", "then": "accept", "delay_ms": 2000})
    due = desk.underway(desk.body(1, "slow", receipt=receipt(10)), 0.1)
    for body in (desk.body(1, "slow", receipt=receipt(10)), desk.body(18), {"type": 0, "tag": "slow"}):
        answer = desk.ask(body)
        same((answer["res"], answer["res_action"]), (1105, 1), "a task in between")
    desk.well(desk.answer(due))
    same(desk.sales(10), 1, "receipts at the server")


@check(REGISTER, level=SAFE, source="docs/drivers.md#life-of-a-device")
def close_during_a_document(desk: RegisterDesk) -> None:
    """A register that is closed while a document is sent makes no second one, then or later."""
    desk.open()
    desk.rules({"on": "sale", "then": "accept", "delay_ms": 1000})
    desk.underway(desk.body(1, "closed", receipt=receipt(70)), 0.3)
    desk.devices.close()
    desk.run(60)
    desk.restart()
    desk.rules()
    desk.run(60)
    desk.well(desk.sell(70, "closed"))
    same(desk.sales(70), 1, "receipts at the server")


@check(REGISTER, level=SAFE, source=PAGE)
def wrong_receipts_are_refused(desk: RegisterDesk) -> None:
    """A wrong receipt is refused for its content, and uses no number."""
    desk.open()
    number = desk.well(desk.fiscal(20))["info"]["docno"]
    good = receipt(10)
    wrong: tuple[dict[str, object], ...] = (
        {**good, "sum": 11},
        {**good, "pays": [{"type": 0, "sum": 9}]},
        {**good, "pays": []},
        {**good, "rows": [{**good["rows"][0], "price": -10}]},
        {**good, "rows": [{**good["rows"][0], "price": "ten"}]},
        {**good, "rows": [{**good["rows"][0], "taxgrp": 99}]},
        {**good, "pays": [{"type": 99, "sum": 10}]},
    )
    for each in wrong:
        answer = desk.fiscal(1, "wrong", receipt=each)
        expect(answer["res"] != 0, f"it was taken: {each}")
        same((answer["res_action"], answer["info"]), (3, {}), f"{answer['res']} for {each}")
    long = desk.sell(10, "x" * 201)
    same(long["res"], 2000, "a tag of 201 characters")
    same((desk.entries("sale"), desk.well(desk.fiscal(20))["info"]["docno"]), ([], number), "what is left of it")


@check(REGISTER, level=SAFE, source=PAGE)
def a_closed_shift_sells_nothing(desk: RegisterDesk) -> None:
    """Without an open shift nothing is sold; an open one is not opened again; a closed one is not closed again."""
    expect(desk.sell(10, "closed")["res"] != 0, "a sale in a closed shift")
    desk.open()
    expect(said(desk.fiscal(0, "again")) == REFUSED, "a shift that is opened twice")
    desk.well(desk.fiscal(11, "z"))
    expect(said(desk.sell(10, "closed")) == REFUSED, "a sale after the Z")
    opened = int(desk.stand.opens)
    same((len(desk.entries("open")), desk.entries("sale"), len(desk.entries("z"))), (opened, [], 1), "documents")


@check(REGISTER, level=SAFE, source=PATH)
def a_z_is_made_once(desk: RegisterDesk) -> None:
    """A Z whose answer was lost is one Z: its repeat gets it, and the shift is closed."""
    desk.open()
    desk.well(desk.sell(15, "t"))
    desk.rule("z", "lost_after")
    desk.fiscal(11, "z")
    desk.rules()
    desk.run(60)
    desk.well(desk.fiscal(11, "z"))
    same(len(desk.entries("z")), 1, "Z-reports at the server")
    same(desk.well(desk.fiscal(18))["info"]["shift_status"], 0, "the shift")


@check(REGISTER, level=RECOVERS, source=PATH)
def lost_answer_is_found(desk: RegisterDesk) -> None:
    """The server is asked for a document whose answer was lost, and the repeat gets its number."""
    desk.open()
    desk.lost(44)
    again = desk.well(desk.sell(44, "lost"))
    [entry] = desk.entries("sale")
    same((again["info"]["doccode"], entry.sum), (entry.number, 4400), "the number of the document")


@check(REGISTER, level=RECOVERS, source=PATH)
def start_asks_by_itself(desk: RegisterDesk) -> None:
    """At its start the service asks for open documents: no task and no person is needed."""
    desk.open()
    desk.rules({"on": "sale", "then": "accept", "delay_ms": 500})
    desk.underway(desk.body(1, "crash", receipt=receipt(45)), 0.2)
    desk.restart()
    desk.rules()
    desk.run(30)
    expect("intended" not in desk.states() and "unknown" not in desk.states(), f"still open: {desk.states()}")
    same(desk.look_up("crash")["res"] == 0, desk.sales(45) == 1, "the look-up")


@check(REGISTER, level=RECOVERS, source=PATH)
def next_task_asks_first(desk: RegisterDesk) -> None:
    """Another receipt after a lost answer: the lost one is asked for first, and both are there once."""
    desk.open()
    desk.lost(46)
    desk.well(desk.sell(47, "next"))
    same((desk.sales(46), desk.sales(47)), (1, 1), "receipts at the server")
    same(desk.well(desk.look_up("lost"))["info"]["printinfo"]["sum_topay"], 46.0, "the lost one")
