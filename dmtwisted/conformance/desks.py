"""The desk of each kind of device, and what has to be true on it after any fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred

from dmtwisted.conformance.desk import Answer, Broken, Desk, Stand, expect, same
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL
from dmtwisted.results import Res
from dmtwisted.store.values import OperationRow

APPROVED, PARTLY, REFUSED, UNKNOWN = "approved", "partly", "refused", "unknown"
"""What a caller believes after an answer."""


def said(answer: Answer) -> str:
    """What a caller believes after ``answer``."""
    if answer["res"] == 0:
        return APPROVED
    if answer["res_action"] == 2:
        return UNKNOWN
    return PARTLY if answer["res"] == Res.ANOTHER_SUM.code else REFUSED


class TerminalDesk(Desk):
    """A desk with a bank terminal."""

    def __init__(self, stand: Stand) -> None:
        super().__init__(stand)
        self._sums = 100.0

    @property
    def wait_s(self) -> float:
        """Seconds that an operation may take."""
        return float(self.built.driver.wait_s)

    def asked_pay(self, task: int = 1, label: str = "", search: int = 0, **pay: Any) -> Deferred[bytes]:
        """The answer that is due for a task; a payment is over 100.00 unless ``pay`` has another sum."""
        if task == 1:
            pay.setdefault("sum", 100)
        body = {"type": 3, "transaction_id": label, "transaction_search": search, "pay": {"task": task, **pay}}
        return self.asked(body)

    def pay(self, task: int = 1, label: str = "", search: int = 0, **pay: Any) -> Answer:
        """The answer to a task."""
        return self.answer(self.asked_pay(task, label, search, **pay))

    def sale(self) -> tuple[str, float]:
        """A new label, and a sum that was never paid before."""
        self._sums += 1.01
        return str(uuid4()), round(self._sums, 2)

    def tried(self, then: str = "", code: str = "") -> tuple[Answer, str, float]:
        """The answer to a new payment, its label and its sum; ``then`` goes wrong at the terminal."""
        if then:
            self.rule("payment", then, code)
        label, amount = self.sale()
        return self.pay(label=label, sum=amount), label, amount

    def started(self, pause: float | None = None) -> tuple[Deferred[bytes], str, float]:
        """The answer that is due for a new payment, its label and its sum, after ``pause`` seconds."""
        label, amount = self.sale()
        due = self.asked_pay(label=label, sum=amount)
        # A service that dies or is closed answers with an error.
        due.addErrback(lambda _: b"")
        if pause is not None:
            self.run(pause)
        return due, label, amount

    def taken(self, amount: float) -> int:
        """How often the bank has this sum: taken and not given back."""
        back = {entry.ref for entry in self.entries("cancel")}
        kopecks = round(amount * 100)
        return sum(entry.sum == kopecks and entry.number not in back for entry in self.entries("payment"))

    def row(self, label: str) -> OperationRow:
        """The operation of a label."""
        rows = self.rows(label)
        same(len(rows), 1, "operations in the journal under one label")
        return rows[0]

    def sold(self) -> Answer:
        """A payment that succeeds, as before a fault."""
        label, amount = self.sale()
        answer = self.pay(label=label, sum=amount)
        same((answer["res"], self.taken(amount)), (0, 1), f"a payment on a good line ({answer['errortxt']})")
        return answer

    def in_doubt(self) -> tuple[str, float]:
        """A payment that was approved, whose answer was lost, at a terminal that cannot be asked."""
        label, amount = self.sale()
        self.weather.break_when = lambda: self.taken(amount)
        due = self.asked_pay(label=label, sum=amount)
        self.until(lambda: self.taken(amount), "the approval")
        self.switch_off()
        answer = self.answer(due)
        same(said(answer), UNKNOWN, "an approval whose answer was lost")
        return label, amount

    def settle(self, label: str, approved: bool) -> None:
        """A person has read the slip."""
        self.now(self.built.settle(self.row(label), approved))

    def honest(self, answer: Answer, label: str, amount: float) -> str:
        """Check that caller, journal and bank agree, now and when the line is good again.

        :returns: what the caller believes.
        :raises Broken: when they do not.
        """
        believed = said(answer)
        row = self.row(label)
        state = {APPROVED: "done"}.get(believed, believed)
        same(str(row.state), state, f"the journal after the answer {answer['res']} {answer['errortxt']}")
        if believed == APPROVED:
            same(answer["info"]["sum"], amount, "the sum of an approval")
            same(self.taken(amount), 1, "payments behind an approval")
        elif believed == REFUSED:
            same((answer["info"], self.taken(amount)), ({}, 0), "a refusal")
        else:
            expect(answer["aq_errortxt"] or answer["errortxt"], "an unknown end has to come with a reason")
            self._keeps_others_away(label)
        self.switch_on()
        self.run(self.wait_s + 60)
        paid = self.taken(amount)
        expect(paid <= 1, f"the payment was taken {paid} times")
        if believed != UNKNOWN:
            same(paid, int(believed == APPROVED), "what the bank has, a minute later")
        again = self.pay(label=label, search=2, sum=amount)
        if said(again) == UNKNOWN:
            self.settle(label, bool(paid))
            again = self.pay(label=label, search=2, sum=amount)
        same((again["res"] == 0, self.taken(amount)), (bool(paid), paid), "the answer to a repeat of the label")
        self.sold()
        same(self.taken(amount), paid, "the payment after all")
        return believed

    def _keeps_others_away(self, label: str) -> None:
        rows, (_, other) = len(self.rows()), self.sale()
        refused = self.pay(sum=other)
        if str(self.row(label).state) != UNKNOWN:
            # The terminal could be asked before the other payment started.
            return
        same((refused["res"], refused["res_action"]), (5022, 1), "another payment while one is in doubt")
        same((self.taken(other), len(self.rows())), (0, rows), "what is left of it")


class PrinterDesk(Desk):
    """A desk with a receipt printer."""

    def asked_print(self, doc: object) -> Deferred[bytes]:
        """The answer that is due for a document."""
        return self.asked({"type": 2, "doc": doc})

    def print(self, doc: object) -> Answer:
        """The answer to a document."""
        return self.answer(self.asked_print(doc))

    def lines(self, *texts: str) -> Answer:
        """The answer to a document of plain lines."""
        return self.print({"lines": [{"t": text} for text in texts]})

    @property
    def paper(self) -> str:
        """The lines on the paper."""
        text: str = self.device.mechanism.paper.text()
        return text

    def times(self, text: str) -> int:
        """How often a line came out."""
        return sum(line.strip() == text for line in self.paper.splitlines())

    def fate(self) -> tuple[str, str]:
        """Fate and reason of the last job in the device's state."""
        job = self.now(self.built.state())["last_job"]
        return (job["fate"], job["reason"]) if job is not None else ("", "")

    def printed(self, text: str) -> Answer:
        """A line that comes out, as without a fault."""
        answer = self.lines(text)
        self.run(20)
        same((answer["res"], self.times(text)), (0, 1), f"a job on a good printer ({answer['errortxt']})")
        return answer

    def honest(self, answer: Answer, text: str) -> str:
        """Check that the answer to a job and the paper agree, now and later.

        :returns: printed, refused or unknown.
        :raises Broken: when they do not.
        """
        believed = said(answer)
        if believed == REFUSED:
            same(self.times(text), 0, f"paper of a job that was refused ({answer['errortxt']})")
        self.mend()
        self.run(180)
        out = self.times(text)
        expect(out <= 1, f"the job came out {out} times")
        if believed != UNKNOWN:
            same(out, int(believed == APPROVED), f"paper after the answer {answer['res']} {answer['errortxt']}")
        self.printed(f"next {text}")
        same(self.times(text), out, "paper of the job after the next one")
        return believed

    def mend(self) -> None:
        """There is paper, the cover is closed, the line is good."""
        self.switch_on()
        self.device.load_paper()
        self.device.close_cover()
        self.device.mend()


class RegisterDesk(Desk):
    """A desk with a fiscal register whose shift is still closed."""

    def fiscal(self, task: int, tag: str = "", **members: Any) -> Answer:
        """The answer to a task of the register."""
        return self.ask(self.body(task, tag, **members))

    def body(self, task: int, tag: str = "", **members: Any) -> dict[str, Any]:
        """A task of the register."""
        return {"type": 1, "tag": tag, "fiscal": {"task": task, "cashier": "Олена Коваль", **members}}

    def lost(self, amount: float, tag: str = "lost") -> None:
        """A sale that the server has, whose answer was lost, a minute later."""
        self.rule("sale", "lost_after")
        self.sell(amount, tag)
        self.rules()
        self.run(60)

    def look_up(self, tag: str) -> Answer:
        """The stored answer for a tag."""
        return self.ask({"type": 0, "tag": tag})

    def open(self) -> Answer:
        """A shift that is opened."""
        return self.well(self.fiscal(0))

    def sell(self, amount: float, tag: str = "", task: int = 1, **members: Any) -> Answer:
        """The answer to a receipt over one item, paid in cash."""
        return self.fiscal(task, tag, receipt=receipt(amount), **members)

    def well(self, answer: Answer) -> Answer:
        """``answer``, which is a success.

        :raises Broken: when it is not.
        """
        expect(answer["res"] == 0, f"task {answer['task']}: {answer['res']} {answer['errortxt']}")
        return answer

    def sales(self, amount: float) -> int:
        """How many sales over a sum the server has."""
        return sum(entry.sum == round(amount * 100) for entry in self.entries("sale"))

    def safe(self) -> float:
        """Cash in the drawer, as the register reports it."""
        return float(self.well(self.fiscal(18))["info"]["safe"])

    def honest(self, answer: Answer, tag: str, amount: float, task: Callable[[], Answer]) -> str:
        """Check that caller and server agree about a sale, now and after its repeat.

        :param task: sends the same task again.
        :returns: what the caller believed.
        :raises Broken: when they do not.
        """
        believed = said(answer)
        if believed == APPROVED:
            same(self.known(amount), 1, "receipts behind a success")
        elif believed == REFUSED:
            same((answer["info"], self.sales(amount)), ({}, 0), "a refusal")
        self.switch_on()
        self.run(120)
        for _ in range(5):
            again = task()
            if again["res"] == 0:
                break
            self.run(60)
        else:
            raise Broken(f"a repeat still gets {again['res']} {again['errortxt']}")
        self.home()
        same(self.sales(amount), 1, "receipts after the repeat")
        same(self.well(self.look_up(tag))["info"], again["info"], "the stored answer")
        return believed

    def known(self, amount: float) -> int:
        """How many sales over a sum there are, at the server or still to be sent to it."""
        online = self.sales(amount)
        return online or int(bool(self.now(self.built.state()).get("online_status")))

    def home(self) -> None:
        """Send offline documents, if there are any."""
        state = self.now(self.built.state())
        if state.get("online_status"):
            self.now(self.built.go_online("en"))


def receipt(amount: float, **members: Any) -> dict[str, Any]:
    """A receipt over one item, paid in cash."""
    return {
        "sum": amount,
        "rows": [{"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}],
        "pays": [{"type": 0, "sum": amount}],
        **members,
    }


DESKS: dict[str, Callable[[Stand], Desk]] = {TERMINAL: TerminalDesk, PRINTER: PrinterDesk, REGISTER: RegisterDesk}
"""The desk of each kind of device."""
