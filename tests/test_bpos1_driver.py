"""A BPOS1 terminal behind the terminal service: every task, code and fault, and what is stored of it."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings, Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow, StoreFailed
from dmtwisted.terminals.bpos1.driver import NO_LIBRARY, TERMINAL, Bpos1Driver, build
from dmtwisted.terminals.bpos1.process import LibraryEndpoint
from dmtwisted.terminals.bpos1.proof import Before, judge
from dmtwisted.terminals.bpos1.settings import DRIVER, Bpos1Settings
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.interface import NeverStarted, Order, Task, Undecided
from protocols.simulators.bpos1 import Bpos1Device
from protocols.simulators.scenario import Then
from protocols.terminals.bpos1 import messages as bpos1
from protocols.terminals.bpos1.child import NO_PYWIN32, NO_WINDOWS, UNREGISTERED
from protocols.terminals.bpos1.messages import Said, Transaction, line_of
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises
from tests.terminal_matrix import shows


class Bpos1Desk(DeskCase):
    """A desk with a BPOS1 terminal and the library in front of it."""

    unreached = 5028
    settings: ClassVar[dict[str, Any]] = {}
    library: Bpos1Device

    def device(self) -> Bpos1Device:
        """The library's process at the end of a line in memory."""
        self.library = Bpos1Device(self.terminal, self.clock)
        return self.library

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Bpos1Driver:
        """The driver under test."""
        settings = Bpos1Settings(**{"host": "192.0.2.1", "port": 2000, "wait_s": WAIT, **self.settings})
        return Bpos1Driver(settings, endpoint, clock, self.clock, Unreached(settings))

    def net(self) -> list[int]:
        """The kopecks of each payment that the bank took and the terminal did not take back."""
        entries = [entry for entry in self.terminal.entries() if entry.status == "accepted"]
        gone = {entry.ref for entry in entries if entry.kind == "cancel"}
        return [entry.sum for entry in entries if entry.kind == "payment" and entry.number not in gone]


class Bpos1FaultTests(Bpos1Desk, FaultPromises):
    """What goes wrong between the service and a terminal, and the code of each refusal."""

    def test_busy_with_another_till(self) -> None:
        """A terminal that works for another till does not answer: nothing of ours is in its journal."""
        self.rule("payment", "refuse", "busy")
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_codes(self) -> None:
        """The terminal's codes 1000 to 1008 are 5000 to 5008; any other from there on is 5009."""
        self.assertEqual([res.code for res in TERMINAL.values()], list(range(5000, 5009)))
        self.assertEqual(list(TERMINAL), list(range(1000, 1009)))
        for code in (*TERMINAL, 1009):
            self.rule("payment", "refuse", str(code))
            self.assertEqual(self.pay()["res"], code + 4000, code)

    def test_journal_refused(self) -> None:
        """A terminal that has told its journal before and refuses it now gets no payment."""
        self.rule("probe", "refuse")
        self.assertAnswer(self.pay(), 5000, 1)
        self.restart()
        self.rule("probe", "refuse")
        self.assertAnswer(self.pay(), 5000, 1)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])


class Bpos1CardTests(Bpos1Desk, CardPromises):
    """Tasks 6 and 7 at a terminal that stops at its card."""

    settings: ClassVar[dict[str, Any]] = {"confirm_s": 10}

    def device(self) -> Bpos1Device:
        """It stops."""
        device = super().device()
        device.stops = True
        return device

    def test_nobody_goes_on(self) -> None:
        """Without task 7 in time the payment is cancelled."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(12)
        self.assertAnswer(self.pay(17, label), 5023, 3)
        self.assertEqual(self.taken(), [])

    def test_plain_payment(self) -> None:
        """A payment that stops at its card is let go on at once, with its own sum."""
        began = self.clock.seconds()
        self.assertAnswer(self.pay(), 0, 0)
        self.assertLess(self.clock.seconds() - began, 5)
        self.assertEqual(self.taken(), [10_000])


class Bpos1TaskTests(Bpos1Desk):
    """Each task, as the library is called and answers."""

    def test_payment(self) -> None:
        """A payment is confirmed, and has its numbers, its card and its slip in readable letters."""
        answer = self.pay(sum=125.5)
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        entry = self.terminal.entries()[-1]
        self.assertEqual((info["sum"], info["refundid"], info["cancelid"]), (125.5, entry.number, entry.ref))
        self.assertEqual((info["cardmask"], info["paysys"]), ("516875******7414", "MASTERCARD"))
        self.assertIn("ОПЛАТА", info["sliptxt"])
        self.assertEqual(self.library.journal()[-1].amount, 12_550)
        self.endpoint.advance(120)
        self.assertAnswer(self.pay(sum=1), 0, 0)
        self.assertEqual(self.net(), [12_550, 100])

    def test_refund_and_cancel(self) -> None:
        """A refund names an RRN, a cancel an invoice number of the open batch; both once."""
        paid = self.pay(sum=10)["info"]
        self.assertAnswer(self.pay(2, sum=4, refundid=paid["refundid"]), 0, 0)
        self.assertAnswer(self.pay(2, sum=4, refundid="999999999999"), 5025, 3)
        other = self.pay(sum=20)["info"]
        self.assertAnswer(self.pay(3, cancelid=other["cancelid"]), 0, 0)
        self.assertAnswer(self.pay(3, cancelid=other["cancelid"]), 5008, 3)
        self.assertAnswer(self.pay(3, cancelid="77"), 5027, 3)
        self.assertAnswer(self.pay(3, cancelid="x"), 5027, 3)
        self.assertAnswer(self.pay(3, cancelid=paid["cancelid"], sum=1), 5029, 3)
        self.assertEqual(self.net(), [1000])

    def test_reports(self) -> None:
        """Totals print and change nothing; the general report closes the batch of every merchant."""
        self.pay(sum=10)
        self.assertAnswer(self.pay(10), 0, 0)
        self.assertEqual(len(self.library.journal()), 1)
        report = self.pay(11)
        self.assertAnswer(report, 0, 0)
        self.assertIn("ЗВІРКА", report["info"]["sliptxt"])
        self.assertEqual(self.library.journal(), [])

    def test_service_of_the_bank(self) -> None:
        """Task 5 has the number of the service and its parameters in one text."""
        self.assertAnswer(self.pay(5, sum=30, srvnum="109", param="1/5"), 0, 0)
        self.assertIn(b'"0109//1/5"', b"".join(self.endpoint.sent))

    def test_discount_card(self) -> None:
        """Task 8 reads a card; the slip and the bank have nothing of it."""
        answer = self.pay(8)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual(answer["info"]["cardmask"], "516875******7414")
        self.assertEqual(self.terminal.entries(), [])

    def test_merchants(self) -> None:
        """A merchant is an index; one that is none is 2000, and nothing is sent."""
        self.assertAnswer(self.pay(merch="7"), 5000, 3)
        self.assertAnswer(self.pay(merch="shop"), 2000, 3)
        self.assertAnswer(self.pay(merch="1"), 0, 0)

    def test_journal_untold(self) -> None:
        """A terminal that never told its journal takes payments, and a lost answer stays unknown."""
        self.rule("probe", "refuse")
        self.assertAnswer(self.pay(), 0, 0)
        self.rule("probe", "refuse")
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(sum=2), 1016, 2)
        self.assertEqual(self.states()[-1], "unknown")

    def test_largest_sum(self) -> None:
        """A sum that not every version of the library takes is 5016, and nothing is sent."""
        self.assertAnswer(self.pay(sum=21_474_836.48), 5016, 3)
        self.assertEqual(self.endpoint.sent, [])

    def test_service_methods(self) -> None:
        """Ping and echo ask the terminal and the bank; a refusal has its code."""
        for name in ("ping", "echo"):
            self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve(name))), {"restxt": "OK"})
        self.rule("probe", "refuse")
        due = self.endpoint.wait(Deferred.fromCoroutine(self.service.check()))
        self.assertEqual(self.failureResultOf(due, Refused).value.res.code, 5000)

    def test_serial(self) -> None:
        """A COM port is opened by its number; one that does not open is 5010."""
        type(self).settings = {"interface": "serial", "serial_port": "COM3", "host": ""}
        self.addCleanup(setattr, type(self), "settings", {})
        self.begin()
        self.assertAnswer(self.pay(), 0, 0)
        self.assertIn(b'"call":"CommOpen","given":[3,115200]', self.endpoint.sent[-1])
        self.rule("payment", "unreachable")
        answer = self.pay()
        self.assertAnswer(answer, 5010, 1)


class ConfirmTests(Bpos1Desk):
    """An approval is durable before it is confirmed, and counts only when the terminal keeps it."""

    at_once = False

    def device(self) -> Bpos1Device:
        """It may cancel at once what is not confirmed."""
        device = super().device()
        device.at_once = self.at_once
        return device

    @shows("rule 7", wire="bpos1")
    def test_stored_before_it_is_confirmed(self) -> None:
        """When the approval cannot be stored, Confirm is not called, and the terminal takes it back."""
        self.pay(sum=1)
        calls = len(self.endpoint.sent)
        store, hold = self.service._journal._store, self.service._journal._store.note
        notes: list[int] = []

        async def failing(*given: Any) -> None:
            notes.append(1)
            if len(notes) == 2:
                raise StoreFailed("the disk is full")
            await hold(*given)

        self.patch(store, "note", failing)
        self.assertAnswer(self.pay(), 1082, 2)
        self.assertNotIn(b'"Confirm"', b"".join(self.endpoint.sent[calls:]))

    def test_lost(self) -> None:
        """A Confirm that got lost, on its way or on its way back, or was refused: the journal says what counts."""
        for then in (Then.LOST_BEFORE, Then.LOST_AFTER, Then.REFUSE):
            self.library.confirming = then
            label = str(uuid4())
            answer = self.pay(label=label, sum=50)
            self.assertIn(answer["res_action"], (0, 1), then)
            taken = len(self.net())
            self.endpoint.advance(60)
            self.assertAnswer(self.pay(sum=1), 0, 0)
            self.assertEqual((answer["res"] == 0, 5000 in self.net()), (bool(taken), bool(taken)), then)
            self.assertEqual(self.pay(17, label)["res"], answer["res"])
            self.pay(11)
            self.setUp()

    def test_part(self) -> None:
        """A stored approval is found by its RRN, though it is a part and somebody pays at the terminal itself."""
        self.rule("payment", "accept", "partial:4000")
        self.library.confirming = Then.LOST_BEFORE
        self.asked(1, sum=50).addErrback(lambda _: None)
        for _ in range(200):
            if b'"Confirm"' in self.endpoint.sent[-1]:
                break
            self.endpoint.advance(0.05)
        if not self.at_once:
            self.terminal.duration = 0
            self.terminal.purchase(4000)
        self.endpoint.advance(30)
        res = 5014 if self.at_once else 5075
        self.assertEqual(
            (json.loads(self.done(self.service.last()))["res"], self.net().count(4000)), (res, 2 - 2 * self.at_once)
        )

    def killed(self, call: bytes) -> dict[str, Any]:
        """The answer to the repeat of a payment whose service was killed when ``call`` was on its way."""
        self.pay(sum=1)
        label = str(uuid4())
        self.asked(1, label, sum=50).addErrback(lambda _: None)
        for _ in range(200):
            if call in self.endpoint.sent[-1]:
                break
            self.endpoint.advance(0.05)
        else:
            self.fail("the call was never sent")
        self.restart()
        answer = self.pay(label=label, search=2, sum=50)
        self.endpoint.advance(60)
        self.assertAnswer(self.pay(sum=2), 0, 0)
        paid = self.net().count(5000)
        self.assertEqual((answer["res"] == 0, self.taken().count(5000)), (bool(paid), 1))
        self.assertIn(answer["res_action"], (0, 1))
        return answer

    def test_killed_between_approval_and_confirm(self) -> None:
        """A service that is killed before Confirm arrives finds out, and nothing is taken twice."""
        self.library.confirming = Then.LOST_BEFORE
        self.killed(b'"Confirm"')

    def test_killed_between_confirm_and_outcome(self) -> None:
        """A service that is killed after Confirm has the approval."""
        answer = self.killed(b'"ReqCurrReceipt"')
        self.assertAnswer(answer, 0, 0)


class ConfirmAtOnceTests(ConfirmTests):
    """The same at a terminal that cancels what is not confirmed as soon as the line ends."""

    at_once = True


class LibraryFaultTests(Bpos1Desk):
    """Faults of the library itself."""

    def setUp(self) -> None:
        """One payment went well before."""
        super().setUp()
        self.assertAnswer(self.pay(sum=1), 0, 0)

    def test_a_call_hangs(self) -> None:
        """A call that does not come back: the process is killed after ten seconds, and the journal is asked."""
        for call, res, taken in (("Purchase", 5014, []), ("Confirm", 0, [10_000]), ("ReqCurrReceipt", 0, [10_000])):
            self.setUp()
            self.library.hangs = call
            began = self.clock.seconds()
            self.assertAnswer(self.pay(), res, int(res != 0))
            self.assertLess(self.clock.seconds() - began, WAIT + 10)
            self.assertEqual(self.net(), [100, *taken], call)

    def test_hangs_before(self) -> None:
        """A call that hangs before the operation: 5028 while the line is opened, then 5068; nothing was sent."""
        for call, res in (("CommOpenTCP", 5028), ("GetTxnNum", 5068)):
            self.library.hangs = call
            self.assertAnswer(self.pay(), res, 1)
        self.assertAnswer(self.pay(), 0, 0)

    def test_stale_result(self) -> None:
        """A result that is still that of the call before is no approval, for however long it stays."""
        for seconds in (0.15, 1.5):
            self.library.stale = ("Purchase", seconds)
            answer = self.pay()
            self.assertAnswer(answer, 0, 0)
            self.assertEqual((answer["info"]["sum"], self.net()), (100.0, [100, 10_000]), seconds)
            self.setUp()

    def test_process_dies(self) -> None:
        """A process that dies while the customer pays: another one asks the journal."""
        due = self.asked(1, sum=100)
        self.advance_until("authorising")
        self.endpoint.hang_up()
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual(self.net(), [100, 10_000])

    def test_slow_customer(self) -> None:
        """A customer may take all of the time; after it the operation is stopped, and that is its end."""
        self.terminal.duration = WAIT - 4
        self.assertAnswer(self.pay(), 0, 0)
        self.terminal.duration = 200.0
        answer = self.pay()
        self.assertAnswer(answer, 5001, 3)
        self.assertEqual(self.net(), [100, 10_000])

    def test_never_ends(self) -> None:
        """A bank that never answers: the caller hears it in time, and the terminal is asked until it is known."""
        self.rule("payment", "accept", delay_ms=60_000)
        label = str(uuid4())
        began = self.clock.seconds()
        answer = self.pay(label=label)
        self.assertAnswer(answer, 411, 2)
        self.assertLess(self.clock.seconds() - began, WAIT + 10)
        self.assertAnswer(self.pay(sum=2), 5022, 1)
        self.endpoint.advance(60)
        self.assertAnswer(self.pay(label=label, search=2), 0, 0)
        self.assertEqual(self.net(), [100, 10_000])

    def test_absent(self) -> None:
        """A process without the library says why, with what to do, in both languages; a repeat finds it again."""
        for kind in (NO_WINDOWS, NO_PYWIN32, UNREGISTERED):
            whole, self.far = self.far, _Absent(Said(absent="no", reason=kind))
            answer = self.pay()
            self.assertAnswer(answer, 430, 3)
            self.assertIn(NO_LIBRARY[kind].en, answer["errortxt"])
            self.far = whole
        self.assertAnswer(self.pay(), 0, 0)

    def test_lost_cancel(self) -> None:
        """A cancel whose answer was lost is found by its own transaction; one that never came is not."""
        paid = self.pay(sum=10)["info"]
        self.rule("cancel", "lost_before")
        self.assertAnswer(self.pay(3, cancelid=paid["cancelid"]), 5014, 1)
        self.rule("cancel", "lost_after")
        answer = self.pay(3, cancelid=paid["cancelid"])
        self.assertAnswer(answer, 0, 0)
        self.assertEqual(answer["info"]["sum"], 10.0)
        self.assertEqual(self.net(), [100])

    def test_port_fails(self) -> None:
        """A port that fails after the terminal has approved proves nothing: the payment is found."""
        for error in (bpos1.PORT_FAILED, bpos1.PORT_CLOSED):
            self.patch(bpos1, "LINK_FAILED", error)
            self.rule("payment", "lost_after")
            self.assertAnswer(self.pay(sum=10), 0, 0)
        self.assertEqual(self.net()[-2:], [1000, 1000])

    def test_lost_report(self) -> None:
        """A general report whose answer was lost has emptied the journal; one that never came has not."""
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(11), 5014, 1)
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)


class _Absent(Factory):
    """A process without the library."""

    def __init__(self, said: Said) -> None:
        self._said = said

    def buildProtocol(self, addr: object) -> Any:
        """One that says so and ends."""
        said = self._said

        class Process(Protocol):
            def connectionMade(self) -> None:
                assert self.transport is not None
                self.transport.write(line_of(said))
                self.transport.loseConnection()

        return Process()


class ProofTests(SynchronousTestCase):
    """What the journal proves."""

    begun = datetime(2026, 9, 21, 9, 0)
    end = begun + timedelta(minutes=6)

    def one(self, invoice: int, amount: int = 500, kind: int = bpos1.PURCHASE, minute: int = 1) -> Transaction:
        """A transaction."""
        at = f"{self.begun + timedelta(minutes=minute):%y%m%d%H%M%S}"
        return Transaction(kind, bpos1.APPROVED, 0, 1, invoice, f"{invoice:012d}", at, amount)

    def judged(
        self, *now: Transaction, last: Transaction | None = None, task: int = Task.PAYMENT, late: bool = False
    ) -> Any:
        """What is proven about an order over 5.00."""
        before = Before(self.begun.isoformat(), 1 if last is not None else 0, last)
        asked = self.end + timedelta(seconds=1) if late else self.end
        return judge(Order(task, "u", 500), before, now, None, self.end, asked)

    def test_ours(self) -> None:
        """One new transaction of our kind, over our sum and in our time, is ours; others beside it are not."""
        first, refund = self.one(1), self.one(3, kind=bpos1.REFUND)
        self.assertEqual(self.judged(first, self.one(2), last=first), 1)
        self.assertEqual(self.judged(first, refund, self.one(4), last=first), 2)
        self.assertEqual(self.judged(self.one(1)), 0)
        self.assertEqual(self.judged(first, refund, last=first, task=Task.REFUND), 1)

    def test_none(self) -> None:
        """Nothing new of our kind: it never started."""
        first = self.one(1)
        self.assertEqual(self.judged(first, last=first), NeverStarted())
        self.assertEqual(self.judged(first, self.one(2, kind=bpos1.VOID), last=first), NeverStarted())
        self.assertEqual(self.judged(), NeverStarted())

    def test_doubt(self) -> None:
        """Another sum or time, two of our kind, another batch: that proves nothing."""
        first = self.one(1)
        for now in (
            (first, self.one(2, 499)),
            (first, self.one(2, minute=30)),
            (first, self.one(2, minute=-30)),
            (first, self.one(2), self.one(3, 700)),
            (self.one(7),),
            (),
        ):
            self.assertIsInstance(self.judged(*now, last=first), Undecided, now)

    def test_empty_journal_later(self) -> None:
        """An empty journal proves nothing when it may be that of the next batch."""
        self.assertIsInstance(self.judged(late=True), Undecided)


class SettingsTests(SynchronousTestCase):
    """What is refused, and what another system says."""

    def test_refused(self) -> None:
        """Each wrong member is named."""
        for members, path in (
            ({"host": "h"}, "settings.port"),
            ({"interface": "serial", "serial_port": "/dev/ttyS0"}, "settings.serial_port"),
            ({"interface": "serial", "serial_port": "COM256"}, "settings.serial_port"),
            ({"host": "h", "port": 1, "merchant": "0"}, "settings.merchant"),
            ({"host": "h", "port": 1, "merchant": "256"}, "settings.merchant"),
        ):
            error = self.assertRaises(BadSettings, DRIVER.read, members)
            self.assertEqual(error.path, path)
        self.assertEqual(Bpos1Settings(interface="serial", serial_port="com12").com_port, 12)

    def test_another_system(self) -> None:
        """On a system without that library every task and the test of the line say so, in both languages."""
        self.assertIn("Windows", DRIVER.title)
        clock, store = Clock(), MemoryStore()
        around = Surroundings(clock, ServiceClock(clock), store, None)
        settings = Bpos1Settings(host="192.0.2.1", port=2000)
        row = DeviceRow(1, "id", "pos", "terminal", "bpos1", b"{}")
        service = build(row, settings, around, LibraryEndpoint(clock, platform="linux"))
        refused = self.failureResultOf(Deferred.fromCoroutine(service.check()), Refused).value
        self.assertIs(refused.res, Res.DEVICE_ERROR)
        for language in ("uk", "en"):
            self.assertIn(NO_LIBRARY[NO_WINDOWS].for_language(language), refused.errortxt(language))

    def test_pywin32(self) -> None:
        """Only the process's own module imports pywin32's COM."""
        root = Path(__file__).resolve().parent.parent
        named = [
            path.relative_to(root).as_posix()
            for room in ("dmtwisted", "protocols", "web")
            for path in (root / room).rglob("*.py")
            if re.search(r"import (win32com|pythoncom)", path.read_text("utf-8"))
        ]
        self.assertEqual(named, ["protocols/terminals/bpos1/child.py"])


del FaultPromises, CardPromises
