"""What is done while the service dies: each scene is one task, done as a correct till does it, to its very end."""

from __future__ import annotations

import http.client
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.crash.books import DONE, PERSON, REFUSED, Deed
from dmtwisted.lab.crash.shop import BATCH_TERMINAL, NOBODY_TO_ASK, PRINTER, REGISTER, WIRES, Shop
from dmtwisted.lab.crash.wire import Wire, shown

PATIENCE = 180.0
"""Seconds in which everything has to come to its end, restarts included."""

UNCLEAR, UNCLEAR_HERE = 12.0, 1.0
"""Seconds for which a till asks what became of a payment before it calls a person; where nobody can be asked."""

NOT_TAKEN, NO_SUCH_OPERATION, TERMINAL_BUSY, BUSY, NOT_STORED = 5014, 5013, 5022, 1105, 1082
TELLS_NOTHING = frozenset({TERMINAL_BUSY, BUSY, NOT_STORED})

Play = Callable[[Shop], None]


@dataclass(frozen=True)
class Scene:
    """One kind of task.

    :param points: the points that it comes to, each with how often at least.
    :param behind: points that it comes to after a start only: each with the point of the kill before that.
    """

    name: str
    play: Play
    points: Mapping[str, int]
    behind: Mapping[str, str] = field(default_factory=dict)
    eyes: frozenset[str] = frozenset()
    """Points after which nothing but eyes can tell: elsewhere what is left to a person is done by hand."""


def _pause() -> None:
    time.sleep(0.05)


def _receipt(shop: Shop, kopecks: int, card: bool = False, **more: object) -> dict[str, object]:
    amount = kopecks / 100
    row = {"code": "1", "name": f"LAB{kopecks}", "cnt": 1, "price": amount, "taxgrp": 1}
    receipt = {"sum": amount, "rows": [row], "pays": [{"type": 2 if card else 0, "sum": amount}]}
    fiscal = {"task": 1, "receipt": receipt}
    return {"ver": 6, "device": REGISTER, "tag": f"lab-{kopecks}", "type": 1, "fiscal": fiscal, **more}


def _told(answer: dict[str, Any]) -> tuple[int, str] | None:
    return (int(answer["info"]["docno"]), answer["info"]["doccode"]) if answer["res"] == 0 else None


def _fiscal(
    shop: Shop, body: dict[str, object], path: str = "/dm/execute", again: Callable[[], None] = _pause
) -> Any:
    """The last answer to a task with a tag, which is repeated as long as it is not clear."""
    wire = shop.wire()
    try:
        return wire.execute(body, again, PATIENCE, path)
    finally:
        wire.close()


def _sell(shop: Shop, again: Callable[[], None] = _pause, refusable: bool = False) -> None:
    kopecks = shop.next_sum()
    body = _receipt(shop, kopecks)
    answer = _fiscal(shop, body, again=again)
    heard = REFUSED if answer["res"] else DONE
    tag, why = str(body["tag"]), shown(answer) if answer["res"] else ""
    shop.add(Deed(kopecks, heard, tag=tag, receipt=_told(answer), why=why, refusable=refusable))


def sale(shop: Shop) -> None:
    """A receipt at the tax service."""
    _sell(shop)


def refusal(shop: Shop) -> None:
    """A receipt that the tax service refuses once."""
    shop.far["tax"].rules({"on": "sale", "then": "refuse", "code": "9"})
    _sell(shop, refusable=True)
    shop.far["tax"].rules()


def lost_answer(shop: Shop) -> None:
    """A receipt that arrived, and the answer is lost: it is asked for."""
    shop.far["tax"].rules({"on": "sale", "then": "lost_after"})
    _sell(shop)


def lost_receipt(shop: Shop) -> None:
    """A receipt that never arrived, which nobody knows at first."""
    shop.far["tax"].rules({"on": "sale", "then": "lost_before"})
    _sell(shop)


def _task(shop: Shop, number: int, tag: str) -> None:
    body = {"ver": 6, "device": REGISTER, "tag": tag, "type": 1, "fiscal": {"task": number}}
    answer = _fiscal(shop, body)
    if answer["res"]:
        raise BenchFailed(f"{tag} was refused: {shown(answer)}")


def begin(shop: Shop) -> None:
    """Open the first shift."""
    _task(shop, 0, "open-first")


def shift(shop: Shop) -> None:
    """A Z-report and the closing of the shift, then the next opening."""
    number = shop.next_sum()
    _task(shop, 11, f"z-{number}")
    _task(shop, 0, f"open-{number}")


def offline(shop: Shop) -> None:
    """The line to the tax service goes, receipts are made offline; it comes back, and they are handed in."""
    begun = time.monotonic()

    def again() -> None:
        # A receipt that may have left is never made offline: then only the line helps.
        if time.monotonic() > begun + 8:
            shop.link.mend()
        _pause()

    shop.link.cut()
    try:
        _sell(shop, again)
        _sell(shop, again)
    finally:
        shop.link.mend()

    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")


def made_again(shop: Shop) -> None:
    """The answer to a receipt is lost and then nobody is there: it is made again offline, its copy is revoked."""
    _changed(shop, "revoke")
    # Every second one had arrived.
    shop.made_again += 1
    arrived = "lost_after" if shop.made_again % 2 else "lost_before"
    shop.far["tax"].rules({"on": "sale", "then": arrived})

    def again() -> None:
        shop.link.cut()
        _pause()

    try:
        _sell(shop, again)
    finally:
        shop.link.mend()
        shop.far["tax"].rules()
    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")
    _changed(shop, "wait")


def _changed(shop: Shop, after_lost_answer: str) -> None:
    """Set what the register does when an answer is lost."""
    changes = {"settings": {"offline_after_lost_answer": after_lost_answer}}
    _patiently(partial(shop.ask, "PATCH", f"/dm/api/v3/devices/{shop.ids[REGISTER]}", changes))


def paper(shop: Shop) -> None:
    """A receipt with its paper; the till repeats its tag until it is told what became of both."""
    kopecks = shop.next_sum()
    body = _receipt(shop, kopecks)
    answer = _fiscal(shop, body, f"/dm/execute-prn?dev_id={PRINTER}")
    printed = DONE if answer["res"] == 0 and answer["info"].get("isprint") == 1 else PERSON
    heard = REFUSED if answer["res"] else DONE
    shop.add(Deed(kopecks, heard, tag=str(body["tag"]), receipt=_told(answer), paper=printed))


def payment(shop: Shop, wire: str) -> None:
    """A payment by card: its label is repeated until the till knows, or knows that a person has to look."""
    kopecks = shop.next_sum()
    asking = shop.wire()
    try:
        heard, why = _pay(shop, asking, wire, kopecks)
    finally:
        asking.close()
    shop.add(Deed(kopecks, heard, terminal=wire, why=why))
    if heard == PERSON:
        # The terminal takes nothing else before somebody has looked.
        _patiently(partial(shop.settle, wire))


def lost_payment(shop: Shop, wire: str) -> None:
    """A payment whose answer is lost: the terminal is asked what became of it."""
    shop.far[wire].rules({"on": "payment", "then": "lost_after"})
    try:
        payment(shop, wire)
    finally:
        shop.far[wire].rules()


def untaken_payment(shop: Shop, wire: str) -> None:
    """A payment whose request is lost: the terminal never took it, and says so."""
    shop.far[wire].rules({"on": "payment", "then": "lost_before"})
    try:
        payment(shop, wire)
    finally:
        shop.far[wire].rules()


def _patiently(ask: Callable[[], object]) -> None:
    """Ask until the service is there to answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            ask()
        except (OSError, http.client.HTTPException, BenchFailed):
            if time.monotonic() > deadline:
                raise
            _pause()
        else:
            return


def _pay(shop: Shop, asking: Wire, terminal: str, kopecks: int) -> tuple[str, str]:
    """What the till heard in the end, and the answer by which it was left to a person."""
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
            # The customer may have paid: first ask what became of it, and only then ask for money.
            stored, unclear = True, 0.0
            _pause()
            continue
        res = answer["res"]
        if res == 0:
            return DONE, ""
        if stored and res == NO_SUCH_OPERATION:
            stored = False
        elif res == NOT_TAKEN or _refused_before_it_began(answer):
            # Certainly never taken, and that stays the label's answer: anew, under one that follows from the first.
            label, stored = str(uuid.uuid5(uuid.UUID(label), "again")), False
        elif res == NOT_STORED:
            # The service has no database just now, so it could not ask either. What may be stored is not paid anew.
            stored, unclear = stored or answer["res_action"] == 2, 0.0
        elif answer["res_action"] == 2:
            stored = True
            unclear = unclear or time.monotonic()
            patience = UNCLEAR_HERE if terminal in NOBODY_TO_ASK else UNCLEAR
            if time.monotonic() > unclear + patience:
                return PERSON, shown(answer)
        elif res not in TELLS_NOTHING and answer["res_action"] == 3:
            return REFUSED, shown(answer)
        _pause()
    raise BenchFailed(f"the payment {key} at {terminal} had no end in {PATIENCE:.0f} s: {shown(answer)}")


def _refused_before_it_began(answer: dict[str, Any]) -> bool:
    """Whether the terminal could not take the payment itself, rather than not tell of it just now."""
    return answer["res_action"] == 1 and answer["task"] == 1 and answer["res"] not in (BUSY, NOT_STORED)


def batch(shop: Shop, refusable: bool = False) -> None:
    """Card and receipt as one act."""
    kopecks = shop.next_sum()
    body = _receipt(shop, kopecks, card=True, skipprint=True)
    answer = _fiscal(shop, body, "/dm/execute-pkg")
    heard = REFUSED if answer["res"] else DONE
    why = shown(answer) if answer["res"] else ""
    tag = str(body["tag"])
    shop.add(Deed(kopecks, heard, BATCH_TERMINAL, tag, _told(answer), why=why, refusable=refusable))


def batch_back(shop: Shop) -> None:
    """A batch whose receipt is refused for good, so that the money goes back."""
    shop.far["tax"].rules({"on": "sale", "then": "refuse", "code": "7", "times": 0})
    try:
        batch(shop, refusable=True)
    finally:
        shop.far["tax"].rules()


def batch_declined(shop: Shop) -> None:
    """A batch whose card is refused."""
    shop.far[BATCH_TERMINAL].rules({"on": "payment", "then": "refuse", "code": "51"})
    try:
        batch(shop, refusable=True)
    finally:
        shop.far[BATCH_TERMINAL].rules()


def batch_open(shop: Shop) -> None:
    """A batch that is paid, and the answer to its receipt is lost."""
    shop.far["tax"].rules({"on": "sale", "then": "lost_after"})
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
"""Wires on which a verdict is kept before it is acknowledged."""

EYES = {
    "caisse-ap": frozenset({"payment.send-noted", "payment.verdict-heard"}),
    "concert-v2": frozenset({"payment.send-noted"}),
}
"""On wires without a question: between the request that may have left and the durable verdict."""

STEPS = {f"batch.{step}": 1 for step in ("intent-stored", "paid", "payment-noted", "receipt-made", "ended")}

SCENES: tuple[Scene, ...] = (
    Scene("receipt", sale, {**DOCUMENT, "task.before-answer": 1, "writer.before-commit": 2, "writer.committed": 2}),
    Scene("receipt refused", refusal, {"document.refusal-stored": 1}),
    Scene("answer lost", lost_answer, {"document.doubt-stored": 1, "collision.asked": 1}),
    Scene("receipt lost", lost_receipt, {"collision.voided": 1}),
    Scene("shift", shift, {"document.first-accepted": 1}),
    Scene(
        "offline",
        offline,
        {"offline.refused": 1, "offline.begun": 1, "offline.package-sent": 1, "offline.ended": 1},
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
        if wire not in NOBODY_TO_ASK
    ),
    *(
        Scene(
            f"answer of {wire} lost",
            partial(lost_payment, wire=wire),
            {"payment.doubt-stored": 1},
            eyes=frozenset({"payment.doubt-stored"}),
        )
        for wire in sorted(NOBODY_TO_ASK)
    ),
    *(
        Scene(f"request to {wire} lost", partial(untaken_payment, wire=wire), {"payment.never-taken": 1})
        for wire in WIRES
        if wire not in NOBODY_TO_ASK
    ),
    Scene("batch", batch, {**STEPS, "batch.never-paid": 1}, {"batch.never-paid": "batch.intent-stored"}),
    Scene("batch declined", batch_declined, {"batch.declined": 1}),
    Scene("batch left open", batch_open, {"batch.stays-open": 1}),
    Scene("batch given back", batch_back, {"batch.back-noted": 1, "batch.back-given": 1, "batch.back-ended": 1}),
)
"""Every kind of task of the service, with the points that are the matter of its scene."""

LOAD: tuple[Play, ...] = (sale, sale, paper, *(partial(payment, wire=wire) for wire in WIRES), batch)
"""What goes on at the same time while the service is killed at random."""
