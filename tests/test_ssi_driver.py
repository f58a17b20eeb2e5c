"""An SSI terminal behind the terminal service: every task, fault and code, and what is stored of it."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Res
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.interface import Declined, Order, Task
from dmtwisted.terminals.ssi.driver import ERRORS, SsiDriver
from dmtwisted.terminals.ssi.settings import DRIVER, SsiSettings
from protocols.simulators.ssi_json import SsiSimulator
from protocols.terminals.ssi_json.messages import Reply, Result
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises


class SsiDesk(DeskCase):
    """A desk with an SSI terminal."""

    unreached = 5028
    settings: ClassVar[dict[str, Any]] = {}

    def device(self) -> SsiSimulator:
        """The terminal's end of the wire."""
        return SsiSimulator(self.terminal, self.clock)

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> SsiDriver:
        """The driver under test."""
        settings = SsiSettings(host="192.0.2.1", wait_s=WAIT, **self.settings)
        unreached = Unreached(settings, Res.TERMINAL_UNREACHABLE, Res.COM_PORT_ERROR)
        return SsiDriver(settings, endpoint, self.clock, unreached)


class MeaningTests(SynchronousTestCase):
    """Whose words a refusal has."""

    def refusal(self, **members: Any) -> Declined:
        """What a declined result with ``members`` comes to."""
        settings = SsiSettings(host="192.0.2.1")
        driver = SsiDriver(settings, MemoryEndpoint(Clock(), lambda: None), Clock(), Unreached(settings))
        result = Result(transaction_result="DECLINED", **members)
        verdict = driver._verdict(Order(Task.PAYMENT, "u", 100), Reply("GetResultByUid", result.filled()))
        assert isinstance(verdict, Declined)
        return verdict

    def test_own_code(self) -> None:
        """E and two digits in ``errorDetails`` are a code of the terminal, with words behind it too."""
        self.assertEqual(self.refusal(error_details="E10").res, 5004)
        self.assertEqual(self.refusal(error_details="E10: no link", response_code="51").res, 5004)
        self.assertEqual(self.refusal(error_details="E12 stopped").res, 5001)

    def test_words_of_the_bank(self) -> None:
        """Anything else there is the bank's, also when it begins with the same letter."""
        expired = self.refusal(error_details="EXPIRED CARD", response_code="54")
        self.assertEqual((expired.res, expired.details), (5024, ("EXPIRED CARD", "DECLINED", "0054")))
        self.assertEqual(self.refusal(error_details="EXPIRED CARD", response_code="51").res, 5018)
        alone = self.refusal(error_details="EXPIRED CARD")
        self.assertEqual((alone.res, alone.text), (5015, "EXPIRED CARD"))
        self.assertEqual(self.refusal(error_details="E051").res, 5015)
        self.assertEqual(self.refusal(error_details="51").res, 5018)


class SsiFaultTests(SsiDesk, FaultPromises):
    """What goes wrong between us and an SSI terminal that takes a payment in one step."""

    settings: ClassVar[dict[str, Any]] = {"two_steps": False}

    def test_question_refused(self) -> None:
        """A terminal that refuses the question for the result has not refused the payment."""
        self.rule("probe", "refuse", "E00")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_certain_stays_certain(self) -> None:
        """An approval that was found out stays one, although the time for asking ends before its slip comes."""
        self.rule("payment", "lost_after", delay_ms=14_000)
        self.rule("probe", "accept")
        self.rule("probe", "silent")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["receipt"], self.states()), ("", ["done", "done"]))

    def test_settlement_found_out(self) -> None:
        """A general report whose acknowledgement was lost is known by the last report being another one."""
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(11), 5014, 1)
        self.assertEqual([entry.kind for entry in self.terminal.entries()], ["payment", "settlement"])

    def test_settlement_refused(self) -> None:
        """A general report that failed is reported with its cause, and may be tried again."""
        self.rule("settlement", "refuse", "no_link")
        self.assertAnswer(self.pay(11), 5004, 1)
        self.assertAnswer(self.pay(11), 0, 0)


class SsiTwoStepTests(SsiDesk):
    """A payment in two steps: the card first, then the sum."""

    def test_both_steps(self) -> None:
        """Task 1 goes through both steps by itself."""
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], self.taken()), (100.0, [10_000]))

    def test_first_step_lost(self) -> None:
        """When the acknowledgement of the first step is lost, what waits at its card is stopped: nothing is taken."""
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 5023, 3)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])

    def test_second_step_not_sent(self) -> None:
        """When the second step cannot be sent, the payment is not forgotten at its card: it is stopped."""
        answer_call = self.endpoint.accept
        turned_away: list[bool] = []

        def not_now() -> Any:
            heard = self.endpoint.sent[-1] if self.endpoint.sent else b""
            if not turned_away and str(self.terminal.state) == "held" and b"GetResultByUid" in heard:
                turned_away.append(True)
                return None
            return answer_call()

        self.endpoint.accept = not_now
        self.assertAnswer(self.pay(), 5023, 3)
        self.endpoint.advance(60)
        self.assertEqual((turned_away, self.taken()), ([True], []))

    def test_second_step_lost(self) -> None:
        """When the second step gets no answer, the terminal is asked, and the payment is over before the answer."""
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        for _ in range(200):
            self.endpoint.advance(0.05)
            if str(self.terminal.state) == "held":
                break
        far, self.far = self.far, None
        self.endpoint.advance(3)
        self.far = far
        answer = self.wait(due)
        self.assertNotEqual(answer["res_action"], 2)
        self.assertEqual(self.taken(), [10_000] * int(answer["res"] == 0))
        self.assertEqual(self.pay(17, label)["res"], answer["res"])


class SsiCardTests(SsiDesk, CardPromises):
    """Tasks 6 and 7 at an SSI terminal."""

    settings: ClassVar[dict[str, Any]] = {"confirm_s": 10}

    def test_nobody_finishes(self) -> None:
        """When task 7 does not come the payment is stopped, and that is stored."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(15)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(17, label), 5023, 3)

    def test_stopped_at_the_terminal(self) -> None:
        """A payment that the customer gives up at the terminal ends before task 7 comes."""
        self.read()
        self.terminal.interrupt()
        self.endpoint.advance(3)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(17), 5001, 3)

    def test_let_go_of(self) -> None:
        """A service that is closed at the card leaves the line alone; the operation stays open in the journal."""
        self.read()
        self.service.close()
        heard = len(self.endpoint.sent)
        self.endpoint.advance(5)
        self.assertEqual((len(self.endpoint.sent), self.states()), (heard, ["intended"]))


class TaskTests(SsiDesk):
    """Each task of the interface."""

    def test_payment(self) -> None:
        """The content of the answer to a payment, with the slip, for which the terminal is asked separately."""
        info = self.pay()["info"]
        entry = self.terminal.entries()[0]
        self.assertEqual((info["refundid"], info["cancelid"]), (entry.number, entry.ref))
        self.assertEqual((info["restxt"], info["paysys"], info["merch"]), ("APPROVED-ONLINE", "MASTERCARD", "M1"))
        self.assertIn("СХВАЛЕНО", info["sliptxt"])

    def test_slip_lost(self) -> None:
        """An approval whose slip cannot be had is an approval."""
        for _ in range(3):
            self.rule("probe", "accept")
        due = self.asked(1, sum=100)
        self.endpoint.advance(1)
        self.no_rules()
        self.rule("probe", "accept")
        self.rule("probe", "accept")
        self.rule("probe", "lost_before", times=0)
        answer = self.wait(due)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["receipt"], self.taken()), ("", [10_000]))

    def test_refund_and_cancel(self) -> None:
        """A refund by RRN, a cancel by receipt number; a cancel of a part is not in this protocol."""
        first, second = self.pay()["info"], self.pay()["info"]
        self.assertEqual(self.pay(2, sum=40, refundid=first["refundid"])["info"]["sum"], 40.0)
        self.assertAnswer(self.pay(2, sum=40, refundid="1"), 5025, 3)
        self.assertAnswer(self.pay(3, cancelid=second["cancelid"], sum=30), 5029, 3)
        self.assertEqual(self.pay(3, cancelid=second["cancelid"], sum=100)["info"]["sum"], 100.0)
        self.assertAnswer(self.pay(3, cancelid="77"), 5027, 3)

    def test_reports_and_cash(self) -> None:
        """Totals, general report, goods with cash."""
        self.assertEqual(self.pay(14, sum=10, cash=5)["info"]["sum"], 15.0)
        self.assertIn("ПРОМІЖНИЙ", self.pay(10)["info"]["receipt"])
        self.assertIn("ЗВІРКА", self.pay(11)["info"]["receipt"])

    def test_not_in_this_protocol(self) -> None:
        """Tasks that the protocol lacks are 5029; the journal knows nothing of them."""
        for task in (4, 5, 8, 15, 16):
            self.assertAnswer(self.pay(task, sum=5, srvnum="1", parts=2, agreementNum="1"), 5029, 3)
        self.assertEqual(self.rows(), [])

    def test_codes(self) -> None:
        """Each error of the terminal has its own result, and any other is reported by its number."""
        for code, res in ERRORS.items():
            declined = self.service.driver._error(_order(), code, "words")
            self.assertEqual((declined.res, declined.text), (res.code, "words"))
        self.assertEqual(self.service.driver._error(_order(), "E77", "").res, 5009)

    def test_service_methods(self) -> None:
        """Merchants and echo; there is no ping and no list of masks."""
        self.assertEqual(
            self.wait(Deferred.fromCoroutine(self.service.serve("merchants"))), {"merchListValue": {"M1": "МАГАЗИН"}}
        )
        self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve("echo"))), {"restxt": "OK"})
        self.assertEqual((self.service.has("ping"), self.service.has("masks")), (False, False))

    def test_progress(self) -> None:
        """The terminal's activity is reported during an operation."""
        seen: list[str] = []
        self.service.watch(lambda progress: seen.append(progress.state))
        self.pay()
        self.assertEqual((seen[0], seen[-1]), ("connecting", "idle"))
        self.assertIn("waiting_cashier", seen)


def _order() -> Any:
    from dmtwisted.terminals.interface import Order, Task

    return Order(task=Task.PAYMENT, uid="u")


class SettingsTests(SynchronousTestCase):
    """What an SSI terminal is set up with."""

    def test_defaults(self) -> None:
        """An address is enough; a payment goes in two steps."""
        settings: Any = DRIVER.read({"host": "192.0.2.1"})
        self.assertEqual((settings.wait_s, settings.two_steps, settings.confirm_s), (300, True, 70))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (({}, "settings.host"), ({"host": "h", "confirm_s": 0}, "settings.confirm_s")):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)


del FaultPromises, CardPromises
