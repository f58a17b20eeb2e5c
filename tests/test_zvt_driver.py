"""A ZVT terminal behind the terminal service: every task, fault and code, and whose booking it is in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings, Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.interface import Approved, Declined, Found, NeverStarted, Order, Task, Undecided
from dmtwisted.terminals.zvt.driver import RESULTS, ZvtDriver, _of_terminal
from dmtwisted.terminals.zvt.proof import Before, Receipt, _moment, judge
from dmtwisted.terminals.zvt.settings import DRIVER, ZvtSettings
from protocols.simulators.zvt import TerminalSettings, ZvtTerminal
from protocols.terminals.zvt import codes
from protocols.terminals.zvt.protocol import ZvtAnswer
from tests.chaos import WireDesk
from tests.terminal_desk import CardPromises, FaultPromises, _Failing
from tests.terminal_matrix import shows


class ZvtDesk(WireDesk):
    """A desk with a ZVT terminal."""

    wire = "zvt"
    terminal_settings: ClassVar[dict[str, Any]] = {}

    def device(self) -> Any:
        """The terminal's end of the wire."""
        return ZvtTerminal(self.terminal, self.clock, TerminalSettings(**self.terminal_settings)).factory()

    def taken(self) -> list[int]:
        """The kopecks of each payment that the bank took, less those that went back."""
        entries = [entry for entry in self.terminal.entries() if entry.status == "accepted"]
        gone = {entry.ref for entry in entries if entry.kind == "cancel"}
        return [entry.sum for entry in entries if entry.kind == "payment" and entry.number not in gone]

    def kinds(self) -> list[str]:
        """What has happened at the bank."""
        return [entry.kind for entry in self.terminal.entries() if entry.status == "accepted"]


class ZvtFaultTests(ZvtDesk, FaultPromises):
    """What goes wrong between us and a ZVT terminal; below is what this wire has in its own way."""

    def test_lost_after(self) -> None:
        """A line that breaks after the booking: the last receipt is the next one, and it is ours."""
        self.rule("payment", "lost_after")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        self.assertEqual((info["sum"], info["cancelid"], info["refundid"]), (100.0, "0002", "000002"))
        self.assertEqual((self.taken(), self.states()), ([100, 10_000], ["done", "done"]))

    def test_terminal_refusals(self) -> None:
        """A refusal of the terminal itself comes with its cause."""
        causes = {
            "cancelled": 5023,
            "chip": 5002,
            "wrong_pin": 5019,
            "no_link": 5004,
            "no_paper": 5005,
            "keys": 5006,
            "reader": 5007,
            "journal_full": 5003,
            "settle_first": 5026,
            "0x6F": 5000,
            "0xAA": 5009,
        }
        for cause, res in causes.items():
            self.rule("payment", "refuse", cause)
            self.assertEqual(self.pay()["res"], res, cause)
        self.assertEqual(self.taken(), [100])

    def test_line_cut_while_the_bank_is_asked(self) -> None:
        """A terminal that takes its booking back, unseen by us, says so by the trace that its reversal names."""
        due = self.asked(1, str(uuid4()), sum=100)
        self.advance_until("authorising")
        self.endpoint.hang_up()
        answer = self.wait(due)
        self.assertAnswer(answer, 5014, 1)
        self.assertIn("took the booking back", answer["aq_errortxt"])
        self.assertEqual((self.kinds(), self.taken()), (["payment", "payment", "cancel"], [100]))
        self.assertAnswer(self.pay(), 0, 0)

    def test_restart_while_it_runs(self) -> None:
        """So a service that dies while the bank is asked knows after its start that nothing was taken."""
        label = str(uuid4())
        self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.restart()
        self.assertEqual((self.states(), self.taken()), (["done", "refused"], [100]))
        self.assertAnswer(self.pay(label=label, search=2), 5014, 1)
        self.assertEqual(self.kinds().count("payment"), 2)

    def test_cut_after_storing(self) -> None:
        """A booking that we stored and could not acknowledge goes back: its caller learns that nothing was taken."""
        note, noted = self.store.note, Counter[str]()

        async def cut(n: int, request: bytes) -> None:
            await note(n, request)
            noted["note"] += 1
            # The first one says that the request may leave, the second one is the booking.
            if noted["note"] == 2:
                self.endpoint.hang_up()

        patch = self.patch(self.store, "note", cut)
        label = str(uuid4())
        answer = self.pay(label=label)
        patch.restore()
        self.assertAnswer(answer, 5014, 1)
        self.assertIn("took the booking back", answer["aq_errortxt"])
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))
        self.assertAnswer(self.pay(17, label), 5014, 1)

    @shows("rule 7")
    def test_stored_before_it_is_acknowledged(self) -> None:
        """When a booking is acknowledged, the journal has it already."""
        heard: list[int] = []
        note = self.store.note

        async def watched(n: int, request: bytes) -> None:
            heard.append(len(self.endpoint.sent[-1]))
            await note(n, request)

        self.patch(self.store, "note", watched)
        self.assertAnswer(self.pay(), 0, 0)
        # The status information, the slip and the completion are acknowledged behind it.
        self.assertEqual(self.endpoint.sent[-1][heard[1] :], bytes.fromhex("800000") * 3)

    def assertNotStored(self, answer: dict[str, Any], failed: str) -> None:
        """As on every wire, but for a booking that the terminal took back: that never was."""
        if self.kinds()[-1] == "cancel":
            self.assertAnswer(answer, 5014, 1)
        else:
            super().assertNotStored(answer, failed)

    @shows("rule 7")
    def test_storing_fails(self) -> None:
        """A booking that cannot be stored is taken back by the terminal, and never was."""
        _Failing(self, ("note",), 2, False)
        label = str(uuid4())
        answer = self.pay(label=label)
        self.assertAnswer(answer, 5014, 1)
        self.assertAnswer(self.pay(17, label), 5014, 1)
        self.assertIn(bytes.fromhex("846600"), self.endpoint.sent[-1])
        self.assertEqual((self.kinds(), self.states()), (["payment", "payment", "cancel"], ["done", "refused"]))

    def test_store_stays_broken(self) -> None:
        """A store that keeps failing learns in the end that the booking went back."""
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.store.broken = True
        self.assertAnswer(self.wait(due), 1082, 2)
        self.assertEqual(self.taken(), [100])
        self.store.broken = False
        self.assertAnswer(self.pay(17, label), 5014, 1)
        self.assertEqual(self.states(), ["done", "refused"])

    def test_cancel_that_cannot_be_stored(self) -> None:
        """A cancel is acknowledged anyway: what a refusal would do there is not documented."""
        paid = self.pay(sum=50)["info"]["cancelid"]
        _Failing(self, ("note",), 2, False)
        self.assertAnswer(self.pay(3, cancelid=paid), 0, 0)
        self.assertNotIn(bytes.fromhex("846600"), self.endpoint.sent[-1])
        self.assertEqual(self.kinds(), ["payment", "payment", "cancel"])

    def test_lost_cancel(self) -> None:
        """A cancel whose answer was lost is found by its receipt, for the sum that the journal knows."""
        paid = self.pay(sum=50)["info"]["cancelid"]
        self.rule("cancel", "lost_before")
        self.assertAnswer(self.pay(3, cancelid=paid), 5014, 1)
        self.rule("cancel", "lost_after")
        answer = self.pay(3, cancelid=paid)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], self.kinds()[-1]), (50.0, "cancel"))

    def test_after_a_refusal(self) -> None:
        """After a refusal of the bank, which has a receipt too, a lost answer is found out."""
        for then, res in (("lost_before", 5014), ("lost_after", 0)):
            self.rule("payment", "refuse", "51")
            self.rule("payment", then)
            self.assertEqual(self.pay()["res"], 5018)
            self.assertEqual(self.pay()["res"], res)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_settlement_found_out(self) -> None:
        """A general report whose answer was lost is known by the batch being empty afterwards."""
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertAnswer(self.pay(sum=3), 0, 0)
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(11), 5014, 1)
        self.assertEqual(self.kinds(), ["payment", "settlement", "payment"])

    def test_first_of_a_batch(self) -> None:
        """Receipt numbers start again with a batch: its first payment is found out as well."""
        for _ in range(3):
            self.pay(sum=2)
        self.assertAnswer(self.pay(11), 0, 0)
        self.rule("payment", "lost_after")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        self.assertEqual(answer["info"]["cancelid"], "0001")

    def test_handshake_unanswered(self) -> None:
        """A terminal that takes the connection and says nothing is 5068: another program may hold it."""
        self.rule("probe", "silent", times=0)
        answer = self.pay()
        self.assertAnswer(answer, 5068, 1)
        self.assertIn("another program", answer["aq_errortxt"])

    def test_not_ready(self) -> None:
        """The terminal's state is reported before any money is at stake."""
        for code, res in (("busy", 5000), ("0xF0", 5026), ("0x9C", 5022), ("0xDC", 5022), ("0xE2", 5007)):
            self.rule("probe", "refuse", code)
            self.assertEqual(self.pay()["res"], res, code)
        self.assertEqual(self.taken(), [100])

    def test_report_is_due(self) -> None:
        """A terminal that wants its general report takes no payment, and takes the report."""
        self.rule("probe", "refuse", "0xF0")
        self.assertAnswer(self.pay(), 5026, 3)
        self.rule("probe", "refuse", "0xF0")
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertEqual(self.kinds(), ["payment", "settlement"])

    def test_chaos(self) -> None:
        """The desk's chaos, with a person who reads the slip where the terminal took a booking back unseen."""
        self.chaos_settled = 0
        super().test_chaos()
        self.assertLess(self.chaos_settled, 40)

    def chaotic_attempt(self, dice: Any, label: str, kopecks: int) -> dict[str, Any]:
        """As any terminal; an end that stays unknown is settled at once."""
        return self.settled(label, super().chaotic_attempt(dice, label, kopecks))

    def settled(self, label: str, answer: dict[str, Any]) -> dict[str, Any]:
        """``answer``, or what a person made of it."""
        row = self.rows()[-1]
        if answer["res_action"] != 2 or str(row.state) != "unknown":
            return answer
        self.no_rules()
        self.endpoint.advance(60)
        answer = self.pay(17, label)
        if answer["res_action"] != 2:
            return answer
        self.chaos_settled += 1
        kopecks = msgspec.json.decode(row.request)["order"]["sum"]
        self.done(self.service.settle(self.rows()[-1], kopecks in self.taken()))
        return self.pay(17, label)


class ReticentTerminalTests(ZvtDesk):
    """A terminal whose reversals do not name what they took back."""

    terminal_settings: ClassVar[dict[str, Any]] = {"tells_original": False}

    def test_reversal_that_names_nothing(self) -> None:
        """Where a reversal does not name its booking, a person has to settle a booking that was taken back unseen."""
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        self.advance_until("authorising")
        self.endpoint.hang_up()
        answer = self.wait(due)
        self.assertAnswer(answer, 1016, 2)
        self.assertEqual(answer["aq_errortxt"], "the last receipt is 0002")
        self.assertEqual((self.kinds(), self.taken()), (["payment", "cancel"], []))
        self.assertAnswer(self.pay(), 5022, 1)
        self.done(self.service.settle(self.rows()[-1], False))
        self.assertAnswer(self.pay(label=label, search=2), 5014, 1)
        self.assertAnswer(self.pay(), 0, 0)

    def test_killed_between_booking_and_slip(self) -> None:
        """A kill after the storing: the booking in the journal proves that the last receipt is its reversal."""
        note, noted = self.store.note, Counter[str]()

        async def killed(n: int, request: bytes) -> None:
            await note(n, request)
            noted["note"] += 1
            if noted["note"] == 2:
                await Deferred[None]()

        label = str(uuid4())
        self.pay()
        patch = self.patch(self.store, "note", killed)
        self.asked(1, label, sum=77)
        self.advance_until("authorising")
        for _ in range(400):
            if noted["note"] < 2:
                self.endpoint.advance(0.1)
        self.assertEqual(noted["note"], 2)
        patch.restore()
        self.restart()
        self.assertAnswer(self.pay(17, label), 5014, 1)
        self.assertEqual((self.taken(), self.states()), ([10_000], ["done", "refused"]))


class PatientTerminalTests(ZvtDesk):
    """A terminal that leaves an unacknowledged booking to the next command."""

    terminal_settings: ClassVar[dict[str, Any]] = {"reverses_at_once": False}

    def test_cut(self) -> None:
        """A booking without acknowledgement is found and valid; the next payment confirms it by its number."""
        self.assertAnswer(self.pay(sum=1), 0, 0)
        due = self.asked(1, sum=100)
        for _ in range(200):
            self.endpoint.advance(0.05)
            if str(self.terminal.state) == "authorising":
                break
        self.endpoint.hang_up()
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertAnswer(self.pay(sum=7), 0, 0)
        self.assertIn(bytes.fromhex("1f1f020002"), self.endpoint.sent[-1])
        self.assertEqual((self.taken(), self.states()), ([100, 10_000, 700], ["done"] * 3))

    def test_out_of_step(self) -> None:
        """Where it is set so, a payment names no receipt."""
        self.service.driver._settings = msgspec.structs.replace(self.service.driver._settings, in_step=False)
        self.pay()
        self.pay()
        self.assertNotIn(bytes.fromhex("1f1f"), self.endpoint.sent[-1])


class SerialTests(ZvtDesk):
    """A terminal at a COM port: the same messages in frames."""

    unreached = 5010
    settings: ClassVar[dict[str, Any]] = {"interface": "serial", "serial_port": "COM3"}
    terminal_settings: ClassVar[dict[str, Any]] = {"serial": True}

    def test_payments(self) -> None:
        """Payments go through, a lost one is found out, and a port that is not there is 5010."""
        self.assertAnswer(self.pay(sum=1), 0, 0)
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 0, 0)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)
        self.endpoint.hang_up()
        self.far = None
        self.assertAnswer(self.pay(), 5010, 1)
        self.assertEqual(self.taken(), [100, 10_000])


class FirstOfTheDayTests(ZvtDesk):
    """A terminal without a receipt."""

    settings: ClassVar[dict[str, Any]] = {"tells_last": False}

    def test_nothing_is_believed(self) -> None:
        """One that never reported a receipt proves nothing by reporting none."""
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 1016, 2)
        self.done(self.service.settle(self.rows()[0], False))
        self.assertAnswer(self.pay(), 0, 0)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertEqual(self.taken(), [10_000])

    def test_known_after_a_restart(self) -> None:
        """A terminal that reported an operation before the service was restarted is known to report them."""
        self.assertAnswer(self.pay(), 0, 0)
        self.assertAnswer(self.pay(sum=2), 0, 0)
        self.restart()
        self.assertFalse(self.service.driver._tells)
        self.assertAnswer(self.pay(sum=3), 0, 0)
        self.assertEqual((self.service.driver._tells, self.taken()), (True, [10_000, 200, 300]))

    def test_its_own_receipt(self) -> None:
        """The very first receipt, over the same sum and at the same time, is the lost one."""
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])


class ZvtCardTests(ZvtDesk, CardPromises):
    """Tasks 6 and 7 at a ZVT terminal."""

    settings: ClassVar[dict[str, Any]] = {"confirm_s": 10}

    def test_refused_before_the_card(self) -> None:
        """A card that is not shown is task 6's own outcome, and nothing waits."""
        for _ in range(2):
            self.rule("probe", "accept")
        self.rule("probe", "refuse", "cancelled")
        self.assertAnswer(self.pay(6, sum=100), 5023, 3)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(1), 0, 0)

    def test_nobody_finishes(self) -> None:
        """When task 7 does not come the card is given up, and that is stored."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(15)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(17, label), 5023, 3)

    def test_same_card(self) -> None:
        """The payment takes the card that was read: the customer is not asked for it again."""
        self.read()
        seen: list[str] = []
        self.service.watch(lambda progress: seen.append(progress.state))
        self.assertAnswer(self.pay(7), 0, 0)
        self.assertNotIn("waiting_card", seen)

    def test_lost_after_the_card(self) -> None:
        """A payment with the card that was read is found out like any other, under the label of task 7."""
        label = str(uuid4())
        self.read()
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(7, label, sum=80), 0, 0)
        self.assertEqual((self.taken(), self.pay(17, label)["info"]["sum"]), ([8000], 80.0))

    def test_interrupt(self) -> None:
        """Reading a card can be stopped, also by a terminal that obeys no abort of payments."""
        self.service.driver._wire = replace(self.service.driver._wire, abort_payments=False)
        due = self.asked(6, sum=100)
        self.endpoint.advance(0.3)
        self.wait(Deferred.fromCoroutine(self.service.interrupt()))
        self.assertAnswer(self.wait(due), 5023, 3)
        self.assertAnswer(self.pay(), 0, 0)


class TaskTests(ZvtDesk):
    """Each task of the interface."""

    settings: ClassVar[dict[str, Any]] = {"abort_payments": False}

    def test_payment(self) -> None:
        """The content of the answer to a payment."""
        info = self.pay()["info"]
        self.assertIn("СХВАЛЕНО", info["receipt"])
        names = ("sum", "cardmask", "paysys", "cancelid", "refundid", "payid", "term_id")
        self.assertEqual(
            {name: info[name] for name in names},
            {
                "sum": 100.0,
                "cardmask": "516875******7414",
                "paysys": "MASTERCARD",
                "cancelid": "0001",
                "refundid": "000001",
                "payid": "007919",
                "term_id": "00000001",
            },
        )

    def refuse_the_question(self, code: str) -> None:
        """The terminal is idle, and refuses to report its last receipt."""
        self.rule("probe", "accept")
        self.rule("probe", "refuse", code)

    def test_last_receipt_refused(self) -> None:
        """A terminal that refuses to report its last receipt, whatever the code, takes payments: nothing is open."""
        for code in ("0x64", "0x9A", "0xA0"):
            self.refuse_the_question(code)
            with capturedLogs() as logged:
                self.assertAnswer(self.pay(), 0, 0)
            self.assertIn("refuses to report its last receipt", str([event["log_format"] for event in logged]))
        self.refuse_the_question("0x9C")
        self.assertAnswer(self.pay(), 5022, 1)
        self.assertEqual(self.taken(), [10_000] * 3)

    def test_lost_after_a_refused_question(self) -> None:
        """Which receipt was the last before is unknown then, so the next one proves nothing: a person looks."""
        self.refuse_the_question("0x64")
        self.rule("payment", "lost_after")
        label = str(uuid4())
        self.assertAnswer(self.pay(label=label), 1016, 2)
        self.assertAnswer(self.pay(), 5022, 1)
        self.done(self.service.settle(self.rows()[-1], True))
        self.assertAnswer(self.pay(17, label), 0, 0)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000] * 2)

    def test_refund_and_cancel(self) -> None:
        """A refund goes to any card that is shown; a cancel names a receipt, and is never over a part."""
        first, second = self.pay()["info"], self.pay(sum=50)["info"]
        self.assertEqual(self.pay(2, sum=40, refundid=first["refundid"])["info"]["sum"], 40.0)
        self.assertAnswer(self.pay(3, cancelid=second["cancelid"], sum=30), 5029, 3)
        self.assertEqual(self.pay(3, cancelid=second["cancelid"], sum=50)["info"]["sum"], 50.0)
        self.assertAnswer(self.pay(3, cancelid=second["cancelid"]), 5008, 3)
        for named in ("0", "x", "10000", "77"):
            self.assertAnswer(self.pay(3, cancelid=named), 5027, 3)
        self.assertEqual(self.kinds(), ["payment", "payment", "refund", "cancel"])

    def test_reports(self) -> None:
        """Totals leave the batch open, the general report closes it."""
        self.pay()
        self.assertIn("ПРОМІЖНИЙ", self.pay(10)["info"]["receipt"])
        self.assertIn("ЗВІРКА", self.pay(11)["info"]["receipt"])
        self.assertEqual(self.kinds(), ["payment", "settlement"])

    def test_not_in_this_protocol(self) -> None:
        """Tasks that the protocol lacks are 5029; the journal knows nothing of them."""
        for task in (4, 5, 8, 14, 15, 16):
            self.assertAnswer(self.pay(task, sum=5, cash=5, srvnum="1", parts=2, agreementNum="1"), 5029, 3)
        self.assertEqual(self.rows(), [])

    def test_no_abort_in_a_payment(self) -> None:
        """By the paper a payment cannot be stopped: 5029 unless it is set otherwise."""
        due = self.asked(1, sum=100)
        self.endpoint.advance(0.5)
        wish = self.failureResultOf(Deferred.fromCoroutine(self.service.interrupt()), Refused)
        self.assertIs(wish.value.res, Res.TASK_NOT_SUPPORTED)
        self.assertAnswer(self.wait(due), 0, 0)

    def test_wrong_password(self) -> None:
        """A terminal that does not know the till's password says so before any money is at stake."""
        self.service.driver._wire = replace(self.service.driver._wire, password="123456")
        self.assertEqual(self.pay()["res"], 5000)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))

    def test_service_methods(self) -> None:
        """Ping and echo; there are no merchants."""
        for name in ("ping", "echo"):
            self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve(name))), {"restxt": "OK"})
        self.assertEqual([self.service.has(name) for name in ("merchants", "masks")], [False, False])

    @shows("rule 11")
    def test_progress(self) -> None:
        """The terminal's activity is reported during an operation, as a state and as a text."""
        seen: list[tuple[str, str]] = []
        self.service.watch(lambda progress: seen.append((progress.state, progress.text)))
        self.pay()
        self.assertEqual((seen[0], seen[-1]), (("connecting", ""), ("idle", "")))
        for told in (
            ("waiting_card", "insert the card"),
            ("pin", "look at the PIN pad"),
            ("bank", "waiting for the bank"),
        ):
            self.assertIn(told, seen)

    def test_results(self) -> None:
        """Each result of the table has its own line, other known ones are 5000, unknown ones 5009."""
        order = Order(Task.PAYMENT, "u", 1)
        for code, res in RESULTS.items():
            self.assertEqual(_of_terminal(order, code, "words").res, res.code, f"{code:02X}")
        self.assertEqual(_of_terminal(order, codes.SYSTEM, "words"), Declined(5000, ("words",), "words"))
        self.assertEqual(_of_terminal(order, 0xAA, ""), Declined(5009, ("AA",)))


class AbortTests(SynchronousTestCase):
    """Who ended an operation with the result 6C."""

    def test_who(self) -> None:
        """At the PIN pad it was the customer's key; elsewhere a key or the time; after our abort it was we."""
        anything: Any = None
        driver = ZvtDriver(ZvtSettings(host="h"), anything, anything, anything, anything)
        order = Order(Task.PAYMENT, "u", 1)
        for states, interrupted, res in (((0x0A, 0x01), False, 5001), ((0x0A,), False, 5023), ((0x01,), True, 5023)):
            driver._interrupted = interrupted
            answer = ZvtAnswer(True, False, codes.ABORTED, states=states)
            self.assertEqual(driver._declined(order, answer).res, res)


class ProofTests(SynchronousTestCase):
    """What a last receipt proves."""

    begun = datetime(2026, 9, 21, 9, 0)
    last = Receipt(7, 107, 5000, 0, "0921", "085500", "516875******7414")

    def receipt(self, **members: Any) -> Receipt:
        """The receipt after the last one, over the sum of the order."""
        usual = {"number": 8, "trace": 108, "amount": 10_000, "date": "0921", "time": "090010", "card": "4"}
        return Receipt(**{**usual, **members})

    def proves(
        self, told: Receipt | None, found: type | None, ours: Receipt | None = None, **before: Any
    ) -> Found | None:
        """``told`` proves ``found`` about an order over 100.00; `None` that it is its own receipt."""
        known = Before(**{"last": self.last, "begun": self.begun.isoformat(), "tells": True, **before})
        order = Order(Task.PAYMENT, "u", 10_000)
        result = judge(order, known, told, self.begun + timedelta(minutes=1), ours)
        self.assertEqual(None if result is None else type(result), found, told)
        return result

    def test_ours(self) -> None:
        """The next number, the sum and the time: it is ours; so is the first number of a new batch."""
        self.proves(self.receipt(), None)
        self.proves(self.receipt(number=1), None)
        self.proves(self.receipt(number=1), None, last=None)
        self.proves(self.receipt(result=51, amount=None), None)
        self.proves(self.receipt(number=1), None, last=msgspec.structs.replace(self.last, number=9999))

    def test_not_ours(self) -> None:
        """Another number, sum, time or trace settles nothing."""
        for members in (
            {"number": 9},
            {"number": 6},
            {"amount": 9999},
            {"amount": None},
            {"time": "085759"},
            {"time": "090301"},
            {"date": "0920"},
            {"time": ""},
            {"trace": 107},
        ):
            self.proves(self.receipt(**members), Undecided)
        self.proves(self.receipt(number=2), Undecided, last=None)

    def test_a_cancel_without_a_sum(self) -> None:
        """A cancel with an unknown sum is not proved by any receipt."""
        known = Before(self.last, self.begun.isoformat(), True)
        self.assertIsInstance(judge(Order(Task.CANCEL, "u"), known, self.receipt(), self.begun), Undecided)

    def test_nothing(self) -> None:
        """The same receipt as before: nothing was booked."""
        self.proves(self.last, NeverStarted)
        self.proves(None, NeverStarted, last=None)
        self.proves(None, Undecided, last=None, tells=False)
        self.proves(None, Undecided)

    def test_taken_back(self) -> None:
        """Two on, over the same sum and card as what we stored: the terminal took it back."""
        ours = self.receipt()
        gone = self.receipt(number=9, trace=109, time="090012")
        self.proves(gone, Declined, ours)
        self.proves(ours, None, ours)
        self.proves(gone, Undecided)
        for members in ({"card": "5"}, {"amount": 1}, {"number": 10}, {"result": 51}):
            self.proves(msgspec.structs.replace(gone, **members), Undecided, ours)

    def test_taken_back_unseen(self) -> None:
        """Two on, and it takes back what came after our question: whosever that was, ours does not stand."""
        gone = self.receipt(number=9, trace=109, time="090012", original=108)
        self.proves(gone, Declined)
        self.proves(msgspec.structs.replace(gone, trace=112, original=110), Declined)
        self.proves(msgspec.structs.replace(gone, amount=1), Declined)
        self.proves(msgspec.structs.replace(gone, number=2), Declined, last=None)

    def test_reversal_of_something_else(self) -> None:
        """The reversal of an older booking proves nothing: the one between may be ours, and stand."""
        gone = self.receipt(number=9, trace=109, time="090012", original=108)
        for members in (
            {"original": 107},
            {"original": 55},
            {"original": 109},
            {"number": 10},
            {"number": 8, "amount": 1},
            {"result": 51},
            {"time": "083000"},
        ):
            self.proves(msgspec.structs.replace(gone, **members), Undecided)
        known = Before(self.last, self.begun.isoformat(), True)
        self.assertIsInstance(judge(Order(Task.CANCEL, "u", 10_000), known, gone, self.begun), Undecided)

    def test_held(self) -> None:
        """What is known of a booking after a restart: number, trace, sum and card, and that is enough."""
        held = Receipt.held(Approved(sum=4000, rrn="000108", cancelid="0008", cardmask="4"))
        self.proves(self.receipt(amount=4000), None, held)
        self.proves(self.receipt(number=9, trace=109, amount=4000, time="090012"), Declined, held)
        self.proves(self.receipt(amount=4000, card="5"), Undecided, held)
        self.assertIsNone(Receipt.held(Approved(sum=4000)))
        self.assertIsNone(Receipt.held(Declined(5014)))

    def test_less_than_asked(self) -> None:
        """A sum that we stored is ours, though it is less than was asked for."""
        less = self.receipt(amount=4000)
        self.proves(less, Undecided)
        self.proves(less, None, less)

    def test_around_new_year(self) -> None:
        """A receipt has no year: the nearest one is taken; a wrong date is none."""
        now = datetime(2027, 1, 1, 0, 1)
        self.assertEqual(_moment(self.receipt(date="1231", time="235900"), now), datetime(2026, 12, 31, 23, 59))
        self.assertEqual(_moment(self.receipt(date="0229", time="000000"), now), datetime(2028, 2, 29))
        self.assertIsNone(_moment(self.receipt(date="1340"), now))


class SettingsTests(SynchronousTestCase):
    """What a ZVT terminal is set up with."""

    def test_defaults(self) -> None:
        """An address is enough."""
        settings: Any = DRIVER.read({"host": "192.0.2.1"})
        self.assertEqual((settings.wait_s, settings.password, settings.currency), (300, "000000", 980))
        self.assertEqual(DRIVER.secrets, ("password",))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (
            ({}, "settings.host"),
            ({"host": "h", "password": "1"}, "settings.password"),
            ({"host": "h", "currency": 0}, "settings.currency"),
            ({"host": "h", "charset": "latin"}, "settings.charset"),
        ):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)

    def test_serial_line(self) -> None:
        """A COM port has two stop bits, unlike that of any other terminal."""
        clock = Clock()
        around = Surroundings(clock, ServiceClock(clock), MemoryStore(), None)
        settings = DRIVER.read({"interface": "serial", "serial_port": "/dev/ttyS9"})
        row = DeviceRow(1, "id", "pos", "terminal", "zvt", b"{}")
        driver: Any = DRIVER.build(row, settings, around).driver
        self.assertTrue(driver._wire.serial)
        self.assertEqual(driver._endpoint._settings.stopbits, 2)


del FaultPromises, CardPromises
