"""What has to be true over every terminal's wire, whatever happens to the bytes on it.

`WireFaults` stands between a simulated terminal and the real service and spoils what the terminal writes. Each test
says what the caller hears and what the store holds: an approval or a refusal that it may rely on for good, or a doubt
that is marked, has a reason and keeps the terminal for itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, ClassVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol

from dmtwisted.results import Refused
from dmtwisted.terminals.interface import ECHO, MASKS, MERCHANTS, PING, TASKS, Task
from tests.chaos import WIRES, CounterDesk, WireDesk
from tests.memory_line import STEP
from tests.terminal_desk import WAIT, Answer, Banner
from tests.terminal_matrix import shows

SLOW = os.environ.get("DMTWISTED_SLOW") == "1"
CUTS = 12
"""Places at which the terminal's words are cut, but in the slow part, where it is every byte."""

STATES = {"waiting_card": "waiting_card", "card_read": "card_read", "pin": "pin", "authorising": "bank"}
"""The terminal's own states, and ours."""

NOISE = b"\x00\xff\x13~garbage~"

Spoil = Callable[[bytes], list[bytes]]
"""What becomes of the bytes of a final answer: what is written instead; `None` in it would break the line."""


class WireFaults(WireDesk):
    """A desk with a bad line; `final` recognises the terminal's final answer to a payment."""

    lost = "approved"
    """The answer after an approval was lost: most terminals can be asked for it."""
    outcomes: ClassVar[dict[str, str]] = {}
    """The answer after other faults, where it differs."""

    def setUp(self) -> None:
        """One payment went well before; from now on the line may spoil what comes."""
        super().setUp()
        self.spoil: Spoil | None = None
        self.hang_after = -1
        self.written = 0
        self.spoilt = 0
        self.far = self._on_a_bad_line(self.device())
        self.assertEqual(self.pay(sum=1)["res"], 0)
        self.endpoint.hang_up()

    def final(self, data: bytes) -> bool:
        """Whether ``data`` is the terminal's final word on a payment."""
        raise NotImplementedError

    def _on_a_bad_line(self, real: Any) -> Any:
        case = self

        class BadLine:
            """The same terminal, whose words pass through `WireFaults`."""

            def buildProtocol(self, addr: Any) -> IProtocol | None:
                """A line."""
                far: Any = real.buildProtocol(addr)
                if far is None:
                    return None
                connect = far.makeConnection

                def connected(transport: Any) -> None:
                    write = transport.write
                    transport.write = lambda data: case._write(transport, write, data)
                    connect(transport)

                far.makeConnection = connected
                return cast(IProtocol, far)

        return BadLine()

    def _write(self, transport: Any, write: Callable[[bytes], object], data: bytes) -> None:
        if self.hang_after >= 0:
            left = self.hang_after - self.written
            if left < len(data):
                if left > 0:
                    write(data[:left])
                self.written = self.hang_after
                transport.loseConnection()
                return
        self.written += len(data)
        if self.spoil is not None and self.final(data):
            spoil, self.spoil = self.spoil, None
            self.spoilt += 1
            for piece in spoil(data):
                write(piece)
            return
        write(data)

    # What has to be true in the end

    def calm(self) -> None:
        """The line is good again."""
        self.spoil, self.hang_after = None, -1
        self.no_rules()

    def taken(self) -> list[int]:
        """The kopecks of each payment that the bank took, less those that the terminal gave back."""
        entries = [entry for entry in self.terminal.entries() if entry.status == "accepted"]
        gone = {entry.ref for entry in entries if entry.kind == "cancel"}
        return [entry.sum for entry in entries if entry.kind == "payment" and entry.number not in gone]

    def honest(self, answer: Answer, label: str) -> str:
        """Whether caller, store and terminal agree, now and when the line is good again; what was said in one word.

        What nobody could find out has to be marked as unknown, and keeps the terminal for itself until it is clear.
        """
        row = self.rows()[-1]
        self.assertEqual((answer["transaction_id"], answer["info"] == {}), (label, answer["res"] != 0))
        said = {0: "approved", 2: "unknown"}.get(answer["res_action"], "refused")
        self.assertEqual(str(row.state), {"approved": "done"}.get(said, said), answer)
        if said == "approved":
            self.assertEqual(answer["info"]["sum"], 100.0)
        self.calm()
        for _ in range(round(WAIT + 30)):
            # In large steps: nothing is asked of the line now.
            self.clock.advance(1.0)
            self.endpoint.flush()
        paid = self.taken()[1:]
        self.assertIn(paid, ([], [10_000]))
        if said != "unknown":
            # A caller with a definite answer may rely on it, whatever the terminal did afterwards.
            self.assertEqual(bool(paid), said == "approved", answer)
        else:
            self.assertTrue(answer["aq_errortxt"], "a reason for people")
        again = self.pay(label=label, search=2)
        if again["res_action"] == 2:
            self.assertAnswer(self.pay(sum=3), 5022, 1)
            self.done(self.service.settle(self.rows()[row.n - 1], bool(paid)))
            again = self.pay(label=label, search=2)
        self.assertEqual(again["res"] == 0, bool(paid), again)
        self.assertEqual(self.pay(sum=7)["res"], 0)
        self.assertEqual(self.taken(), [100, *paid, 700])
        self.assertLessEqual(set(self.states()), {"done", "refused"})
        return said

    def spoilt_payment(self, spoil: Spoil) -> tuple[Answer, str]:
        """The answer to a payment whose final word is spoilt, and what was said in one word."""
        label = "00000000-0000-4000-8000-000000000001"
        self.spoil = spoil
        answer = self.pay(label=label)
        self.assertEqual(self.spoilt, 1, "the final word was never said")
        return answer, self.honest(answer, label)

    @classmethod
    def tells(cls, mark: str) -> str:
        """The answer after a fault, for the table in the docs; the tests check the same members."""
        told = "unknown" if cls.part is None else "approved, no sum"
        other = {
            "cut": "true or unknown",
            "drop before": "5014" if WIRES[cls.wire].can_be_asked else "unknown",
            "busy": _code(cls.busy),
            "partial": "5075, the part" if cls.part == (40.0, 100.0) else told,
            "another sum": "unknown" if told == "unknown" or cls.part == (40.0, 100.0) else told,
            "journal full": str(cls.full[0]),
            "settlement in doubt": str(cls.report_in_doubt[0]),
            "interrupt too late": "approved",
            "two clients": "1105",
            "another protocol": _code(cls.elsewhere),
        }
        return other.get(mark) or cls.outcomes.get(mark, cls.lost)

    def expect(self, fault: str, said: str) -> None:
        """The answer after ``fault`` is what this wire can find out."""
        self.assertEqual(said, self.outcomes.get(fault, self.lost))

    # The bytes of the final word

    @shows("cut", "rule 2", "rule 3")
    def test_cut_anywhere(self) -> None:
        """The line breaks after any byte that the terminal writes: approved, refused or marked, and never twice."""
        self.written = 0
        self.pay(sum=50)
        self.endpoint.hang_up()
        whole = self.written
        step = 1 if SLOW else max(1, whole // CUTS)
        for cut in range(0, whole + 1, step):
            with self.subTest(cut=cut):
                self.terminal.close()
                WireDesk.setUp(self)
                self.calm()
                self.far = self._on_a_bad_line(self.device())
                self.assertEqual(self.pay(sum=1)["res"], 0)
                self.endpoint.hang_up()
                self.written, self.hang_after = 0, cut
                label = f"00000000-0000-4000-8000-{cut:012d}"
                answer = self.pay(label=label)
                self.honest(answer, label)

    @shows("garbage before")
    def test_garbage_before(self) -> None:
        """Garbage before the final word: it is found all the same, or asked for."""
        self.expect("garbage before", self.spoilt_payment(lambda data: [NOISE + data])[1])

    @shows("garbage inside")
    def test_garbage_inside(self) -> None:
        """Garbage inside the final word makes it no word at all: the terminal is asked, or a person."""
        answer = self.spoilt_payment(lambda data: [data[: len(data) // 2] + NOISE + data[len(data) // 2 :]])
        self.expect("garbage inside", answer[1])

    @shows("garbage after")
    def test_garbage_after(self) -> None:
        """Garbage after the final answer does not change it, and is never taken for a later answer."""
        self.expect("garbage after", self.spoilt_payment(lambda data: [data + NOISE])[1])

    def shorter(self, data: bytes) -> bytes:
        """``data`` with a length that is not its own."""
        return data[: len(data) // 2] + data[len(data) // 2 + 1 :]

    @shows("wrong length")
    def test_wrong_length(self) -> None:
        """A final word that is longer or shorter than it says is never believed in part."""
        self.expect("wrong length", self.spoilt_payment(lambda data: [self.shorter(data)])[1])

    @shows("duplicate final", "rule 18")
    def test_final_word_twice(self) -> None:
        """A final word that comes twice is one payment, and never the answer to the next one."""
        self.expect("duplicate final", self.spoilt_payment(lambda data: [data, data])[1])

    @shows("late final", "rule 3", "rule 18")
    def test_final_word_too_late(self) -> None:
        """A final answer after the time limit: the caller has the approval by asking, or an unknown end."""

        def later(data: bytes) -> list[bytes]:
            pump = self.endpoint.pumps[-1]
            self.clock.callLater(WAIT + 5, pump.server.transport.write, data)
            return []

        answer, said = self.spoilt_payment(later)
        self.expect("late final", said)
        self.assertIn(answer["res"], {"approved": (0,), "unknown": (411, 1016), "refused": (5014,)}[said], answer)

    # The line

    @shows("drop before", "rule 2")
    def test_drop_before(self) -> None:
        """The line breaks when the request comes, and nothing was taken."""
        label = "00000000-0000-4000-8000-000000000002"
        self.rule("payment", "lost_before")
        answer = self.pay(label=label)
        said = self.honest(answer, label)
        self.assertEqual(said, "refused" if WIRES[self.wire].can_be_asked else "unknown")
        self.assertEqual(answer["res"], 5014 if said == "refused" else 1016)

    @shows("drop after request", "rule 3")
    def test_drop_while_the_customer_pays(self) -> None:
        """The line breaks while the customer pays: the terminal goes on, and is asked; or a person looks."""
        label = "00000000-0000-4000-8000-000000000003"
        due = self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.endpoint.hang_up()
        answer = self.wait(due)
        self.expect("drop after request", self.honest(answer, label))

    @shows("drop after approval", "rule 3", "rule 6")
    def test_drop_after_the_approval(self) -> None:
        """The line breaks before the approval arrives: the terminal is asked, or a person looks."""
        label = "00000000-0000-4000-8000-000000000004"
        self.rule("payment", "lost_after")
        answer = self.pay(label=label)
        self.expect("drop after approval", self.honest(answer, label))

    # What the terminal says

    def said(self, answer: Answer) -> tuple[int, int, str]:
        """Code, action, and what the store holds."""
        return answer["res"], answer["res_action"], self.states()[-1]

    @shows("busy")
    def test_busy(self) -> None:
        """A terminal that works for another till takes nothing of ours."""
        self.rule("payment", "refuse", "busy")
        label = "00000000-0000-4000-8000-000000000010"
        answer = self.pay(label=label)
        self.assertEqual(self.said(answer), self.busy)
        self.honest(answer, label)
        self.assertEqual(self.taken(), [100, 700])

    busy: tuple[int, int, str] = (5022, 1, "refused")

    @shows("partial", "rule 9")
    def test_partial(self) -> None:
        """A part that is approved is no success: 5075 with that part, which the store holds too."""
        self.rule("payment", "accept", "partial:4000")
        label = "00000000-0000-4000-8000-000000000011"
        answer = self.pay(label=label)
        if self.part is None:
            self.assertEqual((self.said(answer)[1:], self.taken()), ((2, "unknown"), [100, 4000]))
            return
        res = 0 if self.part[1] is None else 5075
        self.assertEqual((answer["res"], self.states()[-1], self.taken()), (res, "done", [100, 4000]), answer)
        self.assertEqual((answer["info"]["sum"], answer["info"].get("sum_asked")), self.part)
        again = self.pay(17, label)
        self.assertEqual((again["res"], again["info"]), (res, answer["info"]))

    @shows("another sum", "rule 9")
    def test_another_sum(self) -> None:
        """More than was asked for, zero, less than zero or no number: unknown until a person has read the slip."""
        for n, code in enumerate(("sum:99999900", "sum:0", "sum:-100", "sum:nan")):
            label = f"00000000-0000-4000-8000-1000000000{n:02d}"
            self.rule("payment", "accept", code)
            answer = self.pay(label=label)
            if self.part is not None and self.part[1] is None:
                # This wire names no sum at all.
                self.assertEqual(answer["res"], 0)
                continue
            self.assertEqual((*self.said(answer)[1:], answer["info"]), (2, "unknown", {}), (code, answer))
            self.assertTrue(answer["aq_errortxt"], "a reason for people")
            if self.part is not None:
                self.assertEqual(answer["res"], 5075, answer)
                self.assertIn("100.00", answer["errortxt"])
            payments = self.payments()
            for _ in range(round(WAIT + 30)):
                self.clock.advance(1.0)
                self.endpoint.flush()
            self.assertEqual(self.pay(17, label)["res_action"], 2, "asking again does not help")
            self.restart()
            self.assertEqual(self.pay(label=label, search=2)["res_action"], 2, "nor does a restart")
            self.assertAnswer(self.pay(sum=3), 5022, 1)
            self.assertEqual(self.payments(), payments, "nothing is sent again")
            self.done(self.service.settle(self.rows()[-1], False))
            self.assertEqual(self.pay(sum=7)["res"], 0)

    def payments(self) -> int:
        """How many payments the terminal has done."""
        return len([entry for entry in self.terminal.entries() if entry.kind == "payment"])

    part: tuple[float, float | None] | None = (40.0, 100.0)
    """The answer for 40.00 instead of 100.00; `None` where the wire ignores an answer over another sum."""

    @shows("journal full")
    def test_journal_full(self) -> None:
        """A terminal whose journal is full refuses; nothing was taken, and that is stored."""
        self.rule("payment", "refuse", "journal_full")
        label = "00000000-0000-4000-8000-000000000012"
        answer = self.pay(label=label)
        self.assertEqual(self.said(answer), (*self.full, "refused"))
        self.assertEqual(self.honest(answer, label), "refused")

    full: tuple[int, int] = (5003, 3)

    @shows("settlement in doubt", "rule 5", "rule 14")
    def test_general_report_in_doubt(self) -> None:
        """While the end of a payment is unknown there is no general report, and no other payment either."""
        due = self.asked(1, sum=100)
        for _ in range(200):
            if len(self.terminal.entries()) > 1:
                break
            self.endpoint.advance(STEP)
        self.far, switched_off = None, self.far
        self.endpoint.hang_up()
        self.assertEqual(self.wait(due)["res_action"], 2)
        self.assertEqual(self.states()[-1], "unknown")
        report = self.pay(11)
        self.assertEqual((report["res"], report["res_action"]), self.report_in_doubt)
        self.assertAnswer(self.pay(sum=3), 5022, 1)
        self.assertEqual(len(self.rows()), 2)
        self.far = switched_off
        self.assertNotIn("settlement", [entry.kind for entry in self.terminal.entries()])

    report_in_doubt = (5022, 1)

    @shows("interrupt too late", "rule 8")
    def test_interrupt_too_late(self) -> None:
        """An interrupt while the bank is asked comes too late: the answer is the approval."""
        label = "00000000-0000-4000-8000-000000000013"
        due = self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.endpoint.wait(Deferred.fromCoroutine(self.service.interrupt()), 3.0).addErrback(lambda _: None)
        answer = self.wait(due)
        self.assertEqual(self.honest(answer, label), "approved")

    @shows("another protocol", "rule 17")
    def test_another_protocol(self) -> None:
        """Another program on the port is recognised by its first bytes (5000), long before the time-out."""

        class Elsewhere:
            """Another service."""

            def buildProtocol(self, _: Any) -> IProtocol:
                """One that greets."""
                return Banner()

        self.far, real = Elsewhere(), self.far
        label = "00000000-0000-4000-8000-000000000014"
        began = self.clock.seconds()
        answer = self.pay(label=label)
        self.assertLess(self.clock.seconds() - began, WAIT)
        self.assertEqual(self.said(answer), self.elsewhere)
        self.assertIn(b"SSH-2.0".hex(" "), f"{answer['errortxt']} {answer['aq_errortxt']}")
        self.far = real
        self.endpoint.hang_up()
        self.honest(answer, label)

    elsewhere: tuple[int, int, str] = (5000, 3, "refused")

    @shows("rule 16")
    def test_cancel_is_no_refund(self) -> None:
        """A cancel that the terminal refuses gives nothing back in another way."""
        answer = self.pay(3, cancelid=self.nobodys, sum=100)
        self.assertNotEqual(answer["res"], 0)
        self.assertNotEqual(answer["res_action"], 2)
        back = [entry for entry in self.terminal.entries() if entry.kind != "payment" and entry.status == "accepted"]
        self.assertEqual(back, [])

    nobodys = "777777"
    """No operation of this terminal."""

    # What a terminal can do, and how far it is

    def test_capabilities(self) -> None:
        """A task that this wire lacks is 5029 and an unknown number 317; and nothing is sent."""
        able = self.service.driver.capabilities | {Task.STORED}
        rows, heard = len(self.rows()), len(self.endpoint.sent)
        for task in range(-1, 21):
            if task in able:
                continue
            answer = self.pay(task, sum=5, refundid="1", cancelid="1", srvnum="1", cash=1, parts=2, agreementNum="1")
            self.assertAnswer(answer, 5029 if task in TASKS else 317, 3)
        self.assertEqual((len(self.rows()), len(self.endpoint.sent)), (rows, heard))

    def test_service_methods(self) -> None:
        """A service method that this wire lacks is 303; status and last are always there, the terminal is idle."""
        for name in (PING, MERCHANTS, MASKS, ECHO):
            due = self.endpoint.wait(Deferred.fromCoroutine(self.service.serve(name)))
            if self.service.has(name):
                self.assertIsInstance(self.successResultOf(due), dict)
            else:
                self.assertEqual(self.failureResultOf(due, Refused).value.res.code, 303)
        self.assertEqual(self.service.status()["state"], "idle")
        self.assertEqual(json.loads(self.done(self.service.last()))["info"]["sum"], 1.0)

    @shows("rule 11")
    def test_progress(self) -> None:
        """The wire's progress is reported within a second: card, PIN, bank."""
        self.terminal.duration = 9.0
        due = self.asked(1, sum=100)
        entered: dict[str, float] = {}
        told: dict[str, float] = {}
        for _ in range(400):
            now = self.clock.seconds()
            entered.setdefault(STATES.get(str(self.terminal.state), ""), now)
            told.setdefault(self.service.progress.state, now)
            self.endpoint.advance(STEP)
        self.assertEqual(self.wait(due)["res"], 0)
        self.assertEqual({state for state in STATES.values() if state in told}, self.told)
        for state in self.told:
            self.assertLessEqual(told[state] - entered[state], 1.0, state)

    told: ClassVar[set[str]] = {"waiting_card", "card_read", "pin", "bank"}
    """The states that the wire reports."""

    # Two tills

    @shows("two clients")
    def test_two_clients(self) -> None:
        """A second caller waits for 15 seconds and gets 1105; it is served when the first is done before that."""
        desk = CounterDesk(WIRES[self.wire])
        desk.terminal.duration = 18.0
        first = desk.pay("00000000-0000-4000-8000-000000000005", 1000)
        desk.endpoint.advance(1.0)
        began = desk.clock.seconds()
        second = json.loads(desk.result(desk.pay("00000000-0000-4000-8000-000000000006", 2000)))
        self.assertEqual((second["res"], second["res_action"]), (1105, 1))
        self.assertTrue(15 <= desk.clock.seconds() - began < 15.5)
        self.assertEqual(json.loads(desk.result(first))["res"], 0)
        self.assertEqual((desk.taken(1000), desk.taken(2000)), (1, 0))
        self.assertEqual(len(desk.rows("00000000-0000-4000-8000-000000000006")), 0)
        desk.terminal.duration = 5.0
        first = desk.pay("00000000-0000-4000-8000-000000000007", 3000)
        desk.endpoint.advance(1.0)
        second = json.loads(desk.result(desk.pay("00000000-0000-4000-8000-000000000008", 4000)))
        self.assertEqual((second["res"], json.loads(desk.result(first))["res"]), (0, 0))
        self.assertEqual((desk.taken(3000), desk.taken(4000)), (1, 1))
        desk.close()

    @shows("restart", "rule 1")
    def test_restart(self) -> None:
        """A service that dies while an operation runs asks at its next start, or leaves it to a person."""
        label = "00000000-0000-4000-8000-000000000009"
        self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.restart()
        self.endpoint.advance(WAIT)
        state = str(self.rows()[-1].state)
        self.expect("restart", {"done": "approved"}.get(state, state))
        if state == "unknown":
            self.assertEqual(self.pay(17, label)["res_action"], 2)
            self.assertAnswer(self.pay(sum=3), 5022, 1)
            self.done(self.service.settle(self.rows()[-1], len(self.taken()) > 1))
        self.assertEqual(self.pay(17, label)["res"] == 0, len(self.taken()) == 2)


def _code(said: tuple[int, int, str]) -> str:
    res, _, state = said
    return f"{res}, unknown" if state == "unknown" else str(res)


class CheckedFaults(WireFaults):
    """A wire whose frames have a check byte at their end."""

    def misread(self, data: bytes) -> bytes:
        """``data`` with a wrong one."""
        return data[:-1] + bytes((data[-1] ^ 0x15,))

    @shows("wrong checksum")
    def test_wrong_checksum(self) -> None:
        """A final word with a wrong check byte is none: it comes again, or is asked for."""
        answer = self.spoilt_payment(lambda data: [self.misread(data)])
        self.expect("wrong checksum", answer[1])
