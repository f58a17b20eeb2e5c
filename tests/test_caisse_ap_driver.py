"""A Caisse-AP terminal behind the terminal service: it cannot be asked, so a person settles a lost answer."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.base import LOOK
from dmtwisted.terminals.caisse_ap.driver import CONTRADICTIONS, DETAILS, _verdict
from dmtwisted.terminals.caisse_ap.settings import DRIVER
from dmtwisted.terminals.interface import Declined, Order, Task
from protocols.errors import Garbled
from protocols.terminals.caisse_ap import Action, CaisseApAnswer, CaisseApRequest, Detail, Done
from tests.chaos import WIRES, WireDesk
from tests.specification import promises
from tests.terminal_desk import WAIT, Banner
from tests.terminal_matrix import shows


class TaskTests(WireDesk):
    """Each task of the interface."""

    wire = "caisse-ap"

    def test_payment(self) -> None:
        """The answer to a payment has card and code, and a name of ours for a later cancel."""
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        self.assertEqual((info["sum"], info["cardmask"]), (100.0, "516875******7414"))
        self.assertEqual(len(info["cancelid"]), 8)
        self.assertEqual(info["refundid"], info["payid"])
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
        self.assertEqual(self.pay(sum=10**11)["res"], 5016)
        self.assertEqual((len(self.endpoint.sent), self.taken()), (1, [10_000]))

    def test_not_in_this_protocol(self) -> None:
        """Tasks that the protocol lacks are 5029; it has no service methods, and no interrupt."""
        for task in (4, 5, 6, 7, 8, 10, 11, 14, 15, 16):
            answer = self.pay(task, sum=5, cash=5, srvnum="1", parts=2, agreementNum="1")
            self.assertAnswer(answer, 5029, 3)
        self.assertEqual([self.service.has(name) for name in ("ping", "echo", "merchants")], [False] * 3)
        due = self.asked(1, sum=100)
        self.endpoint.advance(0.5)
        wish = self.failureResultOf(Deferred.fromCoroutine(self.service.interrupt()), Refused)
        self.assertIs(wish.value.res, Res.TASK_NOT_SUPPORTED)
        self.assertAnswer(self.wait(due), 0, 0)

    def test_refusals(self) -> None:
        """Each detail of the terminal is a result of its own, and nothing was paid."""
        for code, res in (("04", 5015), ("05", 5015), ("06", 5001), ("08", 5023), ("12", 5029), ("13", 5000)):
            self.rule("payment", "refuse", code)
            self.assertEqual(self.pay()["res"], res, code)
        self.assertEqual((self.taken(), set(self.states())), ([], {"refused"}))

    def test_check(self) -> None:
        """Trying it is a connection."""
        self.wait(Deferred.fromCoroutine(self.service.check()))
        self.far = None
        due = Deferred.fromCoroutine(self.service.check())
        self.assertIs(self.failureResultOf(due, Refused).value.res, Res.TERMINAL_UNREACHABLE)


class FaultTests(WireDesk):
    """What goes wrong between us and the terminal."""

    wire = "caisse-ap"

    def test_unreachable(self) -> None:
        """Without a connection nothing was sent; the refusal is stored, and the next payment goes through."""
        self.far, far = None, self.far
        label = str(uuid4())
        self.assertAnswer(self.pay(label=label), 5028, 1)
        self.assertAnswer(self.pay(17, label), 5028, 1)
        self.far = far
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual((self.taken(), self.states()), ([10_000], ["refused", "done"]))

    def test_unknown(self) -> None:
        """Whichever way an answer is lost, the row says that a person has to look, and why."""
        lost = {"lost_before": (1016, 0), "lost_after": (1016, 1), "garbage": (1016, 1), "silent": (5012, 0)}
        for then, (res, taken) in lost.items():
            with self.subTest(then=then):
                before = len(self.taken())
                self.rule("payment", then)
                label = str(uuid4())
                answer = self.pay(label=label)
                self.assertAnswer(answer, res, 2)
                said = f"no answer in {WAIT:g} s: {LOOK}" if res == 5012 else LOOK
                self.assertEqual((answer["aq_errortxt"], answer["info"]), (said, {}))
                self.assertEqual(len(self.taken()) - before, taken)
                self.assertEqual(self.states()[-1], "unknown")
                self.settle(bool(taken))
                self.assertEqual(self.pay(label=label, search=2)["res"], 0 if taken else 5014)

    def settle(self, approved: bool) -> None:
        """A person has read the slip."""
        self.done(self.service.settle(self.rows()[-1], approved))

    @shows("rule 5")
    def test_blocked_until_settled(self) -> None:
        """While the end is unknown the terminal takes nothing, also after a restart; then it goes on."""
        label = str(uuid4())
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(label=label), 1016, 2)
        for _ in range(2):
            self.assertAnswer(self.pay(sum=5), 5022, 1)
            self.assertEqual(self.pay(label=label)["res_action"], 2)
            self.assertEqual(self.pay(label=label, search=2)["res_action"], 2)
            self.restart()
        heard = len(self.endpoint.sent)
        self.settle(True)
        answer = self.pay(17, label)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], len(self.endpoint.sent)), (100.0, heard))
        self.assertAnswer(self.pay(sum=5), 0, 0)
        self.assertEqual(self.taken(), [10_000, 500])

    def test_restart_while_it_runs(self) -> None:
        """A payment that was under way when the service died is unknown, whatever the terminal made of it."""
        label = str(uuid4())
        self.asked(1, label, sum=100)
        self.endpoint.advance(0.5)
        self.restart()
        self.endpoint.advance(5)
        self.assertEqual((self.states(), self.taken()), (["unknown"], [10_000]))
        self.assertEqual(self.pay(17, label)["res_action"], 2)

    def test_busy(self) -> None:
        """A busy terminal ignores the request, which looks like a lost answer."""
        self.rule("payment", "refuse", "busy")
        answer = self.pay()
        self.assertAnswer(answer, 5012, 2)
        self.assertIn(f"no answer in {WAIT:g} s", answer["aq_errortxt"])
        self.assertEqual((self.taken(), self.states()), ([], ["unknown"]))

    def test_another_protocol(self) -> None:
        """Another program that sends a banner is reported at once; nothing was sent to it."""

        class Elsewhere:
            """Another service on the port."""

            def buildProtocol(self, _: object) -> Banner:
                """One that greets."""
                return Banner()

        self.far = Elsewhere()
        began = self.clock.seconds()
        answer = self.pay()
        self.assertAnswer(answer, 5000, 3)
        self.assertIn(b"SSH-2".hex(" "), answer["errortxt"])
        self.assertLess(self.clock.seconds() - began, 5)
        self.assertEqual((self.endpoint.sent[-1], self.states()), (b"", ["refused"]))

    def test_another_protocol_that_waits(self) -> None:
        """Another program that only answers is recognised by its first bytes, and the end is unknown."""

        class Page(Protocol):
            """A web server."""

            def dataReceived(self, data: bytes) -> None:
                """Complain."""
                assert self.transport is not None
                self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        self.far = Factory.forProtocol(Page)
        answer = self.pay()
        self.assertAnswer(answer, 1016, 2)
        self.assertIn(b"HTTP".hex(" "), answer["errortxt"])
        self.assertEqual(self.states(), ["unknown"])

    def test_store_fails(self) -> None:
        """An approval that could not be stored is unknown to its caller, and reported as soon as the store works."""
        self.store.broken = False
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        self.endpoint.advance(0.5)
        self.store.broken = True
        self.assertAnswer(self.wait(due), 1082, 2)
        self.store.broken = False
        self.assertAnswer(self.pay(label=label, search=2), 0, 0)
        self.assertEqual((self.taken(), self.states()), ([10_000], ["done"]))


class AnswerTests(SynchronousTestCase):
    """What an answer says."""

    def verdict(self, done: Done, detail: Detail | None = None, code: str = "", task: int = Task.PAYMENT) -> Any:
        """What it says of an order over 1.00."""
        ask = CaisseApRequest(Action.DEBIT, 100)
        return _verdict(Order(task, "u", 100), CaisseApAnswer(ask, done, detail, detail.value if detail else code))

    def test_every_detail(self) -> None:
        """Each detail has a result, or is a contradiction that proves nothing."""
        for detail in Detail:
            if detail in CONTRADICTIONS:
                self.assertRaises(Garbled, self.verdict, Done.NOT_DONE, detail)
            else:
                self.assertEqual(self.verdict(Done.NOT_DONE, detail).res, DETAILS[detail].code, detail)

    def test_unknown_detail(self) -> None:
        """An unknown code, or none, is 5009 with the code."""
        self.assertEqual(self.verdict(Done.NOT_DONE, code="77"), Declined(5009, ("77",)))
        self.assertEqual(self.verdict(Done.NOT_DONE, task=Task.REFUND), Declined(5009, ("-",)))

    def test_only_begun(self) -> None:
        """An answer that says only that it has begun is neither yes nor no."""
        self.assertRaises(Garbled, self.verdict, Done.TAKEN)


class SettingsTests(SynchronousTestCase):
    """What a Caisse-AP terminal is set up with."""

    def test_defaults(self) -> None:
        """An address is enough; the reply has 300 seconds, the currency is the hryvnia."""
        settings: Any = DRIVER.read({"host": "192.0.2.1"})
        self.assertEqual((settings.wait_s, settings.currency, settings.register), (300, "980", "01"))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (
            ({}, "settings.host"),
            ({"interface": "serial", "serial_port": "COM3"}, "settings.interface"),
            ({"host": "h", "protocol_id": "1"}, "settings.protocol_id"),
            ({"host": "h", "currency": "UAH"}, "settings.currency"),
        ):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)

    @promises("8.terminal-wait.2")
    def test_reach_the_wire(self) -> None:
        """The terminal gets the numbers of the settings."""
        wire = WIRES["caisse-ap"]
        settings: Any = DRIVER.read({"host": "h", "protocol_id": "123456789012", "register": "07", "wait_s": 90})
        told = wire.make_driver(settings, None, None, None, None).terminal.settings  # type: ignore[arg-type]
        self.assertEqual((told.protocol_id, told.register, told.answer_wait), ("123456789012", "07", 90))
