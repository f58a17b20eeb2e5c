"""What is done while the service dies: each scene is one task, repeated to its end as a correct till does."""

from __future__ import annotations

import http.client
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.crash.books import DONE, PERSON, REFUSED, TillTask
from dmtwisted.lab.crash.shop import BATCH_TERMINAL, PRINTER, REGISTER, WIRES, WITHOUT_QUERY, Shop
from dmtwisted.lab.crash.wire import TillConnection, shown

PATIENCE = 180.0
"""Seconds within which everything has to end, restarts included."""

UNCLEAR, UNCLEAR_HERE = 12.0, 1.0
"""Seconds for which a till queries a payment before it calls a person; on protocols without a query."""

NOT_TAKEN, NO_SUCH_OPERATION, TERMINAL_BUSY, BUSY, NOT_STORED = 5014, 5013, 5022, 1105, 1082
SAYS_NOTHING = frozenset({TERMINAL_BUSY, BUSY, NOT_STORED})

Play = Callable[[Shop], None]


@dataclass(frozen=True)
class Scene:
    """One kind of task.

    :param points: the points that it reaches, each with the least number of times.
    :param behind: points that it reaches only after a restart, each with the point of the kill before.
    """

    name: str
    play: Play
    points: Mapping[str, int]
    behind: Mapping[str, str] = field(default_factory=dict)
    eyes: frozenset[str] = frozenset()
    """Points after which only a person can see the outcome; elsewhere it counts as a fault."""
    prepare: Play | None = None
    """What is done before the order to die is given."""


def pause() -> None:
    """Wait a moment before a repeat."""
    time.sleep(0.05)


@contextmanager
def _rule(shop: Shop, peer: str, on: str, then: str, **more: object) -> Iterator[None]:
    """Let something go wrong at a simulator meanwhile."""
    shop.peers[peer].set_rules({"on": on, "then": then, **more})
    try:
        yield
    finally:
        shop.peers[peer].set_rules()


def _receipt(shop: Shop, kopecks: int, card: bool = False, mark: str = "", **more: object) -> dict[str, object]:
    amount = kopecks / 100
    row = {"code": "1", "name": f"LAB{kopecks}", "cnt": 1, "price": amount, "taxgrp": 1, "code_a": mark}
    receipt = {"sum": amount, "rows": [row], "pays": [{"type": 2 if card else 0, "sum": amount}]}
    fiscal = {"task": 1, "receipt": receipt}
    return {"ver": 6, "device": REGISTER, "tag": f"lab-{kopecks}", "type": 1, "fiscal": fiscal, **more}


def _numbers(answer: dict[str, Any]) -> tuple[int, str] | None:
    return (int(answer["info"]["docno"]), answer["info"]["doccode"]) if answer["res"] == 0 else None


def _fiscal(shop: Shop, body: dict[str, object], path: str = "/dm/execute", again: Callable[[], None] = pause) -> Any:
    """The last answer to a task with a tag, which is repeated until the outcome is clear."""
    wire = shop.wire()
    try:
        return wire.execute(body, again, PATIENCE, path)
    finally:
        wire.close()


def _sell(shop: Shop, again: Callable[[], None] = pause, refusable: bool = False, mails: bool = False) -> None:
    kopecks = shop.next_sum()
    mark = shop.next_mark(kopecks)
    mail = f"lab{kopecks}@example.com" if mails else ""
    body = _receipt(shop, kopecks, mark=mark)
    if mails:
        body["userinfo"] = {"email": mail}
    answer = _fiscal(shop, body, again=again)
    heard = REFUSED if answer["res"] else DONE
    tag, why = str(body["tag"]), shown(answer) if answer["res"] else ""
    shop.add(
        TillTask(
            kopecks, heard, tag=tag, receipt=_numbers(answer), why=why, refusable=refusable, mark=mark, mail=mail
        )
    )


def sale(shop: Shop) -> None:
    """A sale."""
    _sell(shop)


def told(shop: Shop) -> None:
    """A sale of which the marks service is told, after the till has its answer."""
    sale(shop)
    shop.wait(shop.all_told, PATIENCE, "the marks service was not told")


def mailed(shop: Shop) -> None:
    """A sale whose receipt goes to the customer, after the till has its answer.

    After a kill the letter waits as long as a try may take, a minute and more, so this is no part of the load.
    """
    _sell(shop, mails=True)
    shop.wait(shop.all_told, PATIENCE, "the receipt was not mailed")


def handed_on(shop: Shop) -> None:
    """A sale whose event goes to a subscriber, after the till has its answer."""
    sale(shop)
    tag = shop.tasks[-1].tag
    shop.wait(lambda: shop.listener.has(tag), PATIENCE, "the subscriber did not get the event")


def untagged(shop: Shop) -> None:
    """A sale of a till without tags: after a lost answer it sells again, and its answer names what it made before."""
    kopecks = shop.next_sum()
    answer = _fiscal(shop, {name: value for name, value in _receipt(shop, kopecks).items() if name != "tag"})
    if answer["res"]:
        raise BenchFailed(f"{kopecks} without a tag was refused: {shown(answer)}")
    warned = "; ".join(warning["wtxt"] for warning in answer["warnings"])
    shop.add(TillTask(kopecks, DONE, tag=answer["tag"], receipt=_numbers(answer), warned=warned))


def lost_untagged(shop: Shop) -> None:
    """The same, where the tax service's answer is lost too."""
    shop.peers["tax"].set_rules({"on": "sale", "then": "lost_after"})
    untagged(shop)


def refusal(shop: Shop) -> None:
    """A sale that the tax service refuses once."""
    with _rule(shop, "tax", "sale", "refuse", code="9"):
        _sell(shop, refusable=True)


def lost_answer(shop: Shop) -> None:
    """A sale that arrives, but its answer is lost: the register queries it before the till is answered."""
    shop.peers["tax"].set_rules({"on": "sale", "then": "lost_after"})
    _sell(shop)


def lost_receipt(shop: Shop) -> None:
    """A sale that does not arrive, which is not known at first; the register sends it again, or a start voids it."""
    shop.peers["tax"].set_rules({"on": "sale", "then": "lost_before"})
    _sell(shop)


def _task(shop: Shop, number: int, tag: str) -> None:
    body = {"ver": 6, "device": REGISTER, "tag": tag, "type": 1, "fiscal": {"task": number}}
    answer = _fiscal(shop, body)
    if answer["res"]:
        raise BenchFailed(f"{tag} was refused: {shown(answer)}")


def open_shift(shop: Shop) -> None:
    """Open the first shift."""
    _task(shop, 0, "open-first")


def shift(shop: Shop) -> None:
    """A Z-report and the closing of the shift, then the next opening."""
    number = shop.next_sum()
    _task(shop, 11, f"z-{number}")
    _task(shop, 0, f"open-{number}")


def offline(shop: Shop) -> None:
    """The line to the tax service is cut, receipts are issued offline and submitted when it is back.

    The first receipt after that asks for the line, and comes home before it is made.
    """
    begun = time.monotonic()

    def again() -> None:
        # A receipt that may have been sent is never issued offline: it needs the line.
        if time.monotonic() > begun + 8:
            shop.link.mend()
        pause()

    shop.link.cut()
    try:
        _sell(shop, again)
        _sell(shop, again)
    finally:
        shop.link.mend()
    _sell(shop, again)
    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")


def made_again(shop: Shop) -> None:
    """The answer to a receipt is lost and then the line: it is issued again offline, and its copy is revoked."""
    _changed(shop, "revoke")
    # A register that doubts its line would ask for the time first, and go offline with nothing lost.
    _sell(shop)
    # Every second one had arrived.
    shop.made_again += 1
    arrived = "lost_after" if shop.made_again % 2 else "lost_before"
    shop.peers["tax"].set_rules({"on": "sale", "then": arrived}, {"on": "probe", "then": "unreachable", "times": 0})
    try:
        _sell(shop)
    finally:
        shop.peers["tax"].set_rules()
    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")
    _changed(shop, "wait")


def _changed(shop: Shop, after_lost_answer: str) -> None:
    """Set what the register does when an answer is lost."""
    changes = {"settings": {"offline_after_lost_answer": after_lost_answer}}
    patiently(partial(shop.ask, "PATCH", f"/dm/api/v3/devices/{shop.ids[REGISTER]}", changes))


def paper(shop: Shop) -> None:
    """A receipt that is printed; the till repeats its tag until both outcomes are known."""
    kopecks = shop.next_sum()
    body = _receipt(shop, kopecks)
    answer = _fiscal(shop, body, f"/dm/execute-prn?dev_id={PRINTER}")
    printed = DONE if answer["res"] == 0 and answer["info"].get("isprint") == 1 else PERSON
    heard = REFUSED if answer["res"] else DONE
    shop.add(TillTask(kopecks, heard, tag=str(body["tag"]), receipt=_numbers(answer), paper=printed))


def payment(shop: Shop, wire: str) -> None:
    """A payment by card: the till repeats its label until it knows the outcome, or that a person has to look."""
    kopecks = shop.next_sum()
    asking = shop.wire()
    try:
        heard, why = _pay(shop, asking, wire, kopecks)
    finally:
        asking.close()
    shop.add(TillTask(kopecks, heard, terminal=wire, why=why))
    if heard == PERSON:
        # The terminal accepts nothing else before a person has looked.
        patiently(partial(shop.settle, wire))


def lost_payment(shop: Shop, wire: str) -> None:
    """A payment whose answer is lost: the service queries the terminal."""
    with _rule(shop, wire, "payment", "lost_after"):
        payment(shop, wire)


def untaken_payment(shop: Shop, wire: str) -> None:
    """A payment whose request is lost: the terminal reports that it does not know it."""
    with _rule(shop, wire, "payment", "lost_before"):
        payment(shop, wire)


def patiently(ask: Callable[[], object]) -> None:
    """Ask until the service answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            ask()
        except (OSError, http.client.HTTPException, BenchFailed):
            if time.monotonic() > deadline:
                raise
            pause()
        else:
            return


def _pay(shop: Shop, asking: TillConnection, terminal: str, kopecks: int) -> tuple[str, str]:
    """The outcome for the till, and the answer that left it to a person."""
    key = label = str(uuid.uuid4())
    deadline = time.monotonic() + PATIENCE
    unclear = 0.0
    stored = False
    while time.monotonic() < deadline:
        shop.labels[label] = kopecks
        task: dict[str, object] = {"task": 17} if stored else {"task": 1, "sum": kopecks / 100}
        body = {"device": terminal, "type": 3, "transaction_id": label, "pay": task}
        try:
            answer = asking.ask("POST", "/dm/execute", body if stored else {**body, "transaction_search": 2})
        except (OSError, http.client.HTTPException):
            # The customer may have paid: first query the payment, and only then start a new one.
            stored, unclear = True, 0.0
            pause()
            continue
        res = answer["res"]
        if res == 0:
            return DONE, ""
        if stored and res == NO_SUCH_OPERATION:
            stored = False
        elif res == NOT_TAKEN or _refused_before_it_began(answer):
            # Certainly not paid, and the label keeps that answer: try again with another label derived from it.
            label, stored = str(uuid.uuid5(uuid.UUID(label), "again")), False
        elif res == NOT_STORED:
            # The service has no database now, so it could not query either. What may be stored is not paid again.
            stored, unclear = stored or answer["res_action"] == 2, 0.0
        elif answer["res_action"] == 2:
            stored = True
            unclear = unclear or time.monotonic()
            patience = UNCLEAR_HERE if terminal in WITHOUT_QUERY else UNCLEAR
            if time.monotonic() > unclear + patience:
                return PERSON, shown(answer)
        elif res not in SAYS_NOTHING and answer["res_action"] == 3:
            return REFUSED, shown(answer)
        pause()
    raise BenchFailed(f"the payment {key} at {terminal} did not end within {PATIENCE:.0f} s: {shown(answer)}")


def _refused_before_it_began(answer: dict[str, Any]) -> bool:
    """Whether the terminal could not accept the payment, as opposed to not answering a query."""
    return answer["res_action"] == 1 and answer["task"] == 1 and answer["res"] not in (BUSY, NOT_STORED)


def batch(shop: Shop, refusable: bool = False) -> None:
    """Card payment and receipt in one task."""
    kopecks = shop.next_sum()
    body = _receipt(shop, kopecks, card=True, skipprint=True)
    answer = _fiscal(shop, body, "/dm/execute-pkg")
    heard = REFUSED if answer["res"] else DONE
    why = shown(answer) if answer["res"] else ""
    tag = str(body["tag"])
    shop.add(TillTask(kopecks, heard, BATCH_TERMINAL, tag, _numbers(answer), why=why, refusable=refusable))


def batch_back(shop: Shop) -> None:
    """A batch whose receipt is refused, so that the payment is refunded."""
    with _rule(shop, "tax", "sale", "refuse", code="7", times=0):
        batch(shop, refusable=True)


def batch_declined(shop: Shop) -> None:
    """A batch whose card is refused."""
    with _rule(shop, BATCH_TERMINAL, "payment", "refuse", code="51"):
        batch(shop, refusable=True)


def batch_open(shop: Shop) -> None:
    """A batch that is paid, and the tax service has a fault of its own at its receipt."""
    shop.peers["tax"].set_rules({"on": "sale", "then": "refuse", "code": "13"})
    batch(shop)


DOCUMENT = {
    f"document.{step}": 1
    for step in ("before-intent", "intent-stored", "before-submit", "submitted", "outcome-stored")
}
PAYMENT = {
    f"payment.{step}": 1
    for step in ("intent-stored", "snapshot-asked", "send-noted", "verdict-heard", "outcome-stored")
}
KEEPING = frozenset({"concert-v2", "ecr17", "ssi-json", "zvt"})
"""Protocols on which an answer is stored before it is acknowledged."""

EYES = {
    "caisse-ap": frozenset({"payment.send-noted", "payment.verdict-heard"}),
    "concert-v2": frozenset({"payment.send-noted"}),
}
"""On protocols without a query: between the request that may have been sent and the stored answer."""

STEPS = {f"batch.{step}": 1 for step in ("intent-stored", "paid", "payment-noted", "receipt-made", "ended")}

SCENES: tuple[Scene, ...] = (
    Scene("receipt", sale, {**DOCUMENT, "task.before-answer": 1, "writer.before-commit": 2, "writer.committed": 2}),
    Scene("mark told", told, {"outbox.taken": 1, "outbox.told": 1}),
    Scene("receipt mailed", mailed, {"outbox.taken": 2, "outbox.told": 2}),
    Scene("event told", handed_on, {"hook.told": 1}),
    Scene("receipt without tag", untagged, {**DOCUMENT, "task.before-answer": 1}),
    Scene("answer lost, no tag", lost_untagged, {"document.doubt-stored": 1, "collision.asked": 1}),
    Scene("receipt refused", refusal, {"document.refusal-stored": 1}),
    Scene("answer lost", lost_answer, {"document.doubt-stored": 1, "collision.asked": 1}),
    Scene("receipt lost", lost_receipt, {"collision.voided": 1}, {"collision.voided": "document.doubt-stored"}),
    Scene("shift", shift, {"document.first-accepted": 1}),
    Scene(
        "offline",
        offline,
        {
            "offline.refused": 1,
            "offline.begun": 1,
            "offline.made": 3,
            "offline.stored": 3,
            "offline.package-sent": 1,
            "offline.ended": 1,
            "writer.before-commit": 5,
            "writer.committed": 5,
        },
    ),
    Scene(
        "made again offline",
        made_again,
        {"offline.let-go": 1, "offline.taken-back": 1, "offline.made-again": 1, "offline.copy-noted": 1},
        {"offline.taken-back": "offline.let-go"},
    ),
    Scene(
        "paper",
        paper,
        {
            "print.before-job": 1,
            "print.job-stored": 1,
            "print.delivered": 1,
            "print.outcome-stored": 1,
            "print.left-open": 1,
        },
        {"print.left-open": "print.job-stored"},
        frozenset({"print.job-stored", "print.delivered", "print.left-open"}),
    ),
    *(
        Scene(
            f"payment {wire}",
            partial(payment, wire=wire),
            {**PAYMENT, "payment.never-sent": 1, **({"payment.verdict-kept": 1} if wire in KEEPING else {})},
            {"payment.never-sent": "payment.intent-stored"},
            EYES.get(wire, frozenset()),
        )
        for wire in WIRES
    ),
    *(
        Scene(f"answer of {wire} lost", partial(lost_payment, wire=wire), {"payment.asked-after": 1})
        for wire in WIRES
        if wire not in WITHOUT_QUERY
    ),
    *(
        Scene(
            f"answer of {wire} lost",
            partial(lost_payment, wire=wire),
            {"payment.doubt-stored": 1},
            eyes=frozenset({"payment.doubt-stored"}),
        )
        for wire in sorted(WITHOUT_QUERY)
    ),
    *(
        Scene(f"request to {wire} lost", partial(untaken_payment, wire=wire), {"payment.never-taken": 1})
        for wire in WIRES
        if wire not in WITHOUT_QUERY
    ),
    Scene("batch", batch, {**STEPS, "batch.never-paid": 1}, {"batch.never-paid": "batch.intent-stored"}),
    Scene("batch declined", batch_declined, {"batch.declined": 1}),
    Scene("batch left open", batch_open, {"batch.stays-open": 1}),
    Scene("batch given back", batch_back, {"batch.back-noted": 1, "batch.back-given": 1, "batch.back-ended": 1}),
)
"""Every kind of task of the service, with the points of its scene."""

LOAD: tuple[Play, ...] = (sale, untagged, paper, *(partial(payment, wire=wire) for wire in WIRES), batch)
"""The tasks that run at the same time while the service is killed at random."""
