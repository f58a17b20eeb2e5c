"""A Concert V2 terminal behind the terminal service: certain before the request, a person's matter after it."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.terminals.base import LOOK
from dmtwisted.terminals.concert_v2.driver import _verdict
from dmtwisted.terminals.concert_v2.settings import DRIVER
from dmtwisted.terminals.interface import Declined, Order, Task
from protocols.terminals.concert_v2 import ConcertAnswer, frame
from tests.chaos import WireDesk
from tests.terminal_desk import WAIT
from tests.terminal_matrix import shows


class TaskTests(WireDesk):
    """Each task of the interface."""

    wire = "concert-v2"

    def test_payment(self) -> None:
        """The answer to a payment has sum and card, and a name of ours for a later cancel."""
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        self.assertEqual((info["sum"], info["cardmask"], len(info["cancelid"])), (100.0, "516875******7414", 8))
        self.assertEqual((self.taken(), self.states()), ([10_000], ["done"]))

    def test_refund_and_cancel(self) -> None:
        """A refund goes to any card that is shown; a cancel finds its sum in the journal."""
        paid = self.pay()["info"]
        self.assertEqual(self.pay(3, cancelid=paid["cancelid"])["info"]["sum"], 100.0)
        self.assertAnswer(self.pay(2, sum=40, refundid=paid["refundid"]), 0, 0)
        self.assertEqual([entry.kind for entry in self.terminal.entries()], ["payment", "cancel", "refund"])

    def test_what_the_wire_cannot_carry(self) -> None:
        """A cancel of a part, one without a sum, and too large a sum are refused before anything is sent."""
        paid = self.pay()["info"]
        self.assertAnswer(self.pay(3, cancelid=paid["cancelid"], sum=30), 5029, 3)
        self.assertAnswer(self.pay(3, cancelid="77"), 1098, 3)
        self.assertEqual(self.pay(sum=1_000_000)["res"], 5016)
        self.assertEqual((len(self.endpoint.sent), self.taken()), (1, [10_000]))

    def test_not_in_this_protocol(self) -> None:
        """Tasks that the protocol lacks are 5029."""
        for task in (4, 5, 6, 7, 8, 10, 11, 14, 15, 16):
            answer = self.pay(task, sum=5, cash=5, srvnum="1", parts=2, agreementNum="1")
            self.assertAnswer(answer, 5029, 3)
        self.assertEqual(self.rows(), [])

    def test_refusals(self) -> None:
        """The bank's refusal, and one where the bank was not asked."""
        for code, res in (("05", 5015), ("51", 5015), ("no_link", 5000), ("9", 5000)):
            self.rule("payment", "refuse", code)
            self.assertEqual(self.pay()["res"], res, code)
        self.assertEqual((self.taken(), set(self.states())), ([], {"refused"}))

    def test_unknown_result(self) -> None:
        """An unknown result is 5009 with its code."""
        self.assertEqual(_verdict(Order(Task.PAYMENT, "u", 100), ConcertAnswer(100, "4")), Declined(5009, ("4",)))

    def test_ping(self) -> None:
        """A ping is a call that the terminal answers; there is nothing else."""
        self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve("ping"))), {"restxt": "OK"})
        self.assertEqual([self.service.has(name) for name in ("echo", "merchants")], [False, False])
        self.rule("probe", "refuse")
        due = self.endpoint.wait(Deferred.fromCoroutine(self.service.check()))
        self.assertIs(self.failureResultOf(due, Refused).value.res, Res.TERMINAL_BUSY)


class LeastSumTests(WireDesk):
    """A terminal that takes no small sums."""

    wire = "concert-v2"
    settings: ClassVar[dict[str, Any]] = {"least": 100}

    def test_too_little(self) -> None:
        """Less than the terminal takes is refused before anything is sent."""
        self.assertEqual(self.pay(sum=0.99)["res"], 5016)
        self.assertAnswer(self.pay(sum=1), 0, 0)


class FaultTests(WireDesk):
    """What goes wrong between us and the terminal."""

    wire = "concert-v2"

    def test_com_port(self) -> None:
        """A COM port that cannot be opened is 5010; nothing was sent."""
        self.far = None
        self.assertAnswer(self.pay(), 5010, 1)
        self.assertEqual(self.states(), ["refused"])

    def test_before_the_request(self) -> None:
        """Up to the request everything is certain: a busy terminal, one that does not answer, a line that breaks."""
        for then, res in (("refuse", 5022), ("silent", 5068), ("lost_before", 5068), ("garbage", 5068)):
            self.no_rules()
            self.rule("probe", then, times=0)
            self.assertAnswer(self.pay(), res, 1)
        self.no_rules()
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual((self.taken(), self.states()), ([10_000], [*["refused"] * 4, "done"]))

    def test_unknown(self) -> None:
        """Whichever way an answer is lost, the row says that a person has to look, and why."""
        lost = {"lost_before": (1016, 0), "lost_after": (1016, 1), "garbage": (411, 1), "silent": (5012, 0)}
        for then, (res, taken) in lost.items():
            with self.subTest(then=then):
                before = len(self.taken())
                self.rule("payment", then)
                label = str(uuid4())
                answer = self.pay(label=label)
                self.assertAnswer(answer, res, 2)
                self.assertEqual(answer["aq_errortxt"], f"no answer in {WAIT:g} s: {LOOK}" if res == 5012 else LOOK)
                self.assertEqual(len(self.taken()) - before, taken)
                self.assertEqual(self.states()[-1], "unknown")
                self.assertAnswer(self.pay(sum=5), 5022, 1)
                self.done(self.service.settle(self.rows()[-1], bool(taken)))
                self.assertEqual(self.pay(label=label, search=2)["res"], 0 if taken else 5014)

    def test_restart_while_it_runs(self) -> None:
        """A payment that was under way when the service died blocks the terminal until a person settles it."""
        label = str(uuid4())
        self.asked(1, label, sum=100)
        self.endpoint.advance(0.5)
        self.restart()
        self.endpoint.advance(5)
        self.assertEqual((self.states(), self.taken()), (["unknown"], [10_000]))
        self.assertAnswer(self.pay(), 5022, 1)
        self.done(self.service.settle(self.rows()[-1], True))
        self.assertAnswer(self.pay(17, label), 0, 0)

    def test_told_late(self) -> None:
        """A terminal that sends the lost answer by itself, at the next call, completes the row."""
        label = str(uuid4())
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(label=label), 1016, 2)
        order = self.rows()[-1]
        self.tell_unasked(10_000)
        self.assertEqual(self.states(), ["done"])
        self.assertEqual(self.pay(17, label)["info"]["sum"], 100.0)
        self.assertEqual(order.n, self.rows()[-1].n)

    def test_told_late_of_something_else(self) -> None:
        """A late answer over another sum completes nothing, and is not acknowledged."""
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 1016, 2)
        self.tell_unasked(9999)
        self.assertEqual(self.states(), ["unknown"])
        self.assertEqual(self.flushLoggedErrors(), [])

    def tell_unasked(self, cents: int) -> None:
        """The terminal calls while the till pings, and sends an approval."""
        line: list[Any] = []
        build = self.far.buildProtocol

        def caught(addr: Any) -> Any:
            line.append(build(addr))
            return line[-1]

        self.patch(self.far, "buildProtocol", caught)
        self.rule("probe", "silent")
        due = Deferred.fromCoroutine(self.service.check())
        self.endpoint.advance(0.2)
        line[-1].transport.write(b"\x05")
        self.endpoint.advance(0.2)
        line[-1].transport.write(frame(ConcertAnswer(cents, "0", currency="980").encode()))
        self.endpoint.wait(due)

    def test_store_fails(self) -> None:
        """An approval that cannot be stored is not acknowledged; its caller learns that the end is unknown."""
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        self.endpoint.advance(0.5)
        self.store.broken = True
        self.assertAnswer(self.wait(due), 1082, 2)
        self.assertNotIn(b"\x04\x06\x06", self.endpoint.sent[-1])
        self.store.broken = False
        self.assertAnswer(self.pay(label=label, search=2), 0, 0)
        self.assertEqual((self.taken(), self.states()), ([10_000], ["done"]))

    @shows("rule 7")
    def test_stored_before_it_is_acknowledged(self) -> None:
        """When the acknowledgement of an approval leaves, the journal has it already."""
        states: list[str] = []
        conclude = self.store.conclude

        async def watched(outcome: Any) -> None:
            states.append(self.endpoint.sent[-1].hex())
            await conclude(outcome)

        self.patch(self.store, "conclude", watched)
        self.assertAnswer(self.pay(), 0, 0)
        # The till has acknowledged the call, and not yet the answer.
        self.assertTrue(states[0].endswith("0406"), states[0])
        self.assertTrue(self.endpoint.sent[-1].hex().endswith("040606"))

    def test_interrupt(self) -> None:
        """A call can be taken back; once the request is on its way only the terminal's own key stops it."""
        self.rule("probe", "silent", times=0)
        due = self.asked(1, sum=100)
        self.endpoint.advance(0.5)
        self.wait(Deferred.fromCoroutine(self.service.interrupt()))
        self.assertAnswer(self.wait(due), 5023, 3)
        self.no_rules()
        due = self.asked(1, sum=100)
        self.endpoint.advance(0.5)
        late = self.failureResultOf(Deferred.fromCoroutine(self.service.interrupt()), Refused)
        self.assertIs(late.value.res, Res.TASK_NOT_SUPPORTED)
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual(self.taken(), [10_000])

    def test_store_fails_before(self) -> None:
        """When the intent cannot be stored nothing is sent."""

        async def fails(*_: object) -> None:
            raise StoreFailed("the disk is full")

        self.patch(self.store, "reserve", fails)
        self.assertAnswer(self.pay(), 1082, 1)
        self.assertEqual((self.endpoint.sent, self.taken()), ([], []))


class SettingsTests(SynchronousTestCase):
    """What a Concert V2 terminal is set up with."""

    def test_defaults(self) -> None:
        """A COM port is enough; the reply has 300 seconds."""
        settings: Any = DRIVER.read({"serial_port": "COM3"})
        self.assertEqual((settings.wait_s, settings.interface, settings.currency), (300, "serial", "980"))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (
            ({}, "settings.serial_port"),
            ({"interface": "tcp", "host": "h"}, "settings.port"),
            ({"serial_port": "COM3", "register": "1"}, "settings.register"),
            ({"serial_port": "COM3", "least": 0}, "settings.least"),
        ):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)
