"""An ECR17 terminal behind the terminal service: every task, fault and code, and what is stored of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.ecr17.driver import _host_time
from dmtwisted.terminals.ecr17.settings import DRIVER
from dmtwisted.terminals.interface import Declined, Order, Task
from protocols.simulators.ecr17 import Ecr17Device
from protocols.simulators.terminal import Card
from protocols.terminals.ecr17.answers import PaymentAnswer, TerminalState
from protocols.terminals.ecr17.frames import Lrc
from tests.chaos import WireDesk
from tests.terminal_desk import CardPromises, FaultPromises
from tests.terminal_matrix import shows


class Ecr17Desk(WireDesk):
    """A desk with an ECR17 terminal."""

    wire = "ecr17"


class Ecr17FaultTests(Ecr17Desk, FaultPromises):
    """What goes wrong between us and an ECR17 terminal; below is what this wire has in its own way."""

    def test_lost_after(self) -> None:
        """A line that breaks after the approval: the terminal's last answer is new, and it is ours."""
        self.rule("payment", "lost_after")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        self.assertEqual((info["sum"], info["cancelid"], info["refundid"]), (100.0, "000002", "000002"))
        self.assertEqual((self.taken(), self.states()), ([100, 10_000], ["done", "done"]))

    def test_busy_with_another_till(self) -> None:
        """A terminal that is busy with another till ignores the request and, when asked, reports no operation."""
        self.rule("payment", "refuse", "busy")
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_bank_refusals(self) -> None:
        """A refusal of the bank comes with the terminal's text; this wire has no codes."""
        self.rule("payment", "refuse", "51")
        answer = self.pay()
        self.assertAnswer(answer, 5024, 3)
        self.assertIn("RIFIUTATA 51", answer["errortxt"])
        self.assertEqual(self.taken(), [100])

    def test_terminal_refusals(self) -> None:
        """No card is 5023, for every reason; every other cause is a text."""
        for cause, res in (("cancelled", 5023), ("timeout", 5023), ("chip", 5024), ("no_link", 5024)):
            self.rule("payment", "refuse", cause)
            self.assertEqual(self.pay()["res"], res, cause)
        self.assertEqual(self.taken(), [100])

    def test_partial(self) -> None:
        """The answer has no sum, so an approval is over the sum that was asked for."""
        answer = self.pay()
        self.assertEqual((answer["info"]["sum"], "sum_asked" in answer["info"]), (100.0, False))

    def test_whole_card_number(self) -> None:
        """This wire sends whole card numbers; only six and four digits get out, in the snapshot too."""
        self.terminal._cards = (Card("4111111111111111", "VISA", "2911"),)
        self.assertEqual(self.pay()["info"]["cardmask"], "411111******1111")
        self.pay(sum=5)
        for row in self.rows():
            self.assertNotIn(b"4111111111111111", row.request + row.answer)

    def test_interrupt_in_time(self) -> None:
        """This wire has no interrupt: only the terminal's own key stops a payment."""
        due = self.asked(1, sum=100)
        self.advance_until("waiting_card")
        wish = self.failureResultOf(Deferred.fromCoroutine(self.service.interrupt()), Refused)
        self.assertIs(wish.value.res, Res.TASK_NOT_SUPPORTED)
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000])

    def test_unknown(self) -> None:
        """While the end is unknown the terminal takes nothing else; then it reports it, and its approval is valid."""
        label = str(uuid4())
        first = self.doubt(label)
        self.assertIn(first["res"], (411, 1016))
        for task in (1, 3, 11):
            self.assertAnswer(self.pay(task, sum=5, cancelid="1"), 5022, 1)
        self.assertEqual(self.pay(17, label)["res_action"], 2)
        self.switch_on()
        again = self.pay(label=label, search=2)
        self.assertAnswer(again, 0, 0)
        self.assertEqual((again["task_status"], again["info"]["sum"]), (2, 100.0))
        self.assertAnswer(self.pay(sum=7), 0, 0)
        self.assertEqual(self.taken(), [100, 10_000, 700])

    @shows("rule 7")
    def test_stored_before_it_is_acknowledged(self) -> None:
        """When the acknowledgement of an approval leaves, the journal has it already."""
        heard: list[int] = []
        conclude = self.store.conclude

        async def watched(outcome: Any) -> None:
            heard.append(len(self.endpoint.sent[-1]))
            await conclude(outcome)

        self.patch(self.store, "conclude", watched)
        self.assertAnswer(self.pay(), 0, 0)
        # What follows is the acknowledgement and nothing else.
        self.assertEqual(self.endpoint.sent[-1][heard[0] :], bytes.fromhex("060379"))

    def test_lost_reversal(self) -> None:
        """A reversal whose answer was lost is found out; one that never came too."""
        paid = self.pay(sum=50)["info"]
        self.rule("cancel", "lost_before")
        self.assertAnswer(self.pay(3, cancelid=paid["cancelid"]), 5014, 1)
        self.rule("cancel", "lost_after")
        answer = self.pay(3, cancelid=paid["cancelid"])
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], self.terminal.entries()[-1].kind), (50.0, "cancel"))

    def test_settlement_found_out(self) -> None:
        """A closing whose answer was lost is known by the session being empty afterwards."""
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertAnswer(self.pay(sum=3), 0, 0)
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(11), 5014, 1)
        kinds = [entry.kind for entry in self.terminal.entries()]
        self.assertEqual(kinds, ["payment", "settlement", "payment"])

    def test_settlement_of_nothing(self) -> None:
        """Whether an empty session was closed cannot be found out: a person has to settle it."""
        self.assertAnswer(self.pay(11), 0, 0)
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 1016, 2)
        self.assertAnswer(self.pay(), 5022, 1)

    def test_another_time(self) -> None:
        """A last answer of another hour is not ours: a person has to look."""
        self.rule("payment", "lost_before")
        before, after = (PaymentAnswer("00", stan=stan, host_time="2640700") for stan in ("000009", "000010"))
        self.patch(self.far, "final", _then(before, after))
        answer = self.pay()
        self.assertAnswer(answer, 1016, 2)
        self.assertIn("000010", answer["aq_errortxt"])

    def test_told_in_another_way(self) -> None:
        """The same operation, reported differently, is not a new one: a person has to look."""
        self.rule("payment", "lost_before")
        before, after = (PaymentAnswer("00", stan="000009", auth=auth, host_time="2640900") for auth in "12")
        self.patch(self.far, "final", _then(before, after))
        self.assertAnswer(self.pay(), 1016, 2)

    def test_told_late(self) -> None:
        """The lost answer completes the row when the terminal sends it later; any other one does not."""
        label = str(uuid4())
        self.doubt(label)
        driver = self.service.driver
        for stan, time in (("000001", "2640900"), ("000002", "2640700"), ("000000", "2640900")):
            self.assertRaises(LookupError, driver._came_late, PaymentAnswer("00", stan=stan, host_time=time))
        driver._came_late(PaymentAnswer("00", stan="000002", host_time="2640900"))
        self.assertEqual(self.states(), ["done", "done"])
        self.assertEqual(self.pay(17, label)["info"]["sum"], 100.0)
        self.assertRaises(LookupError, driver._came_late, PaymentAnswer("00", stan="000003", host_time="2640900"))


def _then(first: PaymentAnswer, second: PaymentAnswer) -> Any:
    """What a terminal reports the first time, and from then on."""
    left = [first]
    return lambda _: left.pop() if left else second


class FirstOfTheDayTests(Ecr17Desk):
    """A terminal without a last operation."""

    settings: ClassVar[dict[str, Any]] = {"tells_last": False}

    def test_nothing_is_believed(self) -> None:
        """One that never reported an operation proves nothing by reporting none."""
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 1016, 2)
        self.assertAnswer(self.pay(), 5022, 1)
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

    def test_its_own_answer(self) -> None:
        """An operation where there was none before is the lost one."""
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])

    def test_question_not_known(self) -> None:
        """A terminal that does not know the question for its last operation never settles anything by it."""
        self.patch(self.far, "final", lambda _: PaymentAnswer("09", text="COMANDO SCONOSCIUTO"))
        self.patch(self.service.driver, "_tells", True)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 1016, 2)


class Ecr17CardTests(Ecr17Desk, CardPromises):
    """Tasks 6 and 7 at an ECR17 terminal."""

    settings: ClassVar[dict[str, Any]] = {"confirm_s": 10}

    def test_refused_before_the_card(self) -> None:
        """A card that is not shown is task 6's own outcome, and nothing waits."""
        self.rule("probe", "accept")
        self.rule("probe", "refuse", "cancelled")
        self.assertAnswer(self.pay(6, sum=100), 5023, 3)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(1), 0, 0)

    def test_nobody_finishes(self) -> None:
        """When task 7 does not come the card is given up, and that is stored: nothing was sent but the question."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(15)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(17, label), 5023, 3)

    def test_lost_after_the_card(self) -> None:
        """A payment with the card that was read is found out like any other, under the label of task 7."""
        label = str(uuid4())
        self.read()
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(7, label, sum=80), 0, 0)
        self.assertEqual((self.taken(), self.pay(17, label)["info"]["sum"]), ([8000], 80.0))


class VariantTests(Ecr17Desk):
    """A terminal whose check byte is not known beforehand."""

    settings: ClassVar[dict[str, Any]] = {"lrc": "auto"}

    def device(self) -> Ecr17Device:
        """A terminal with the third variant."""
        return Ecr17Device(self.terminal, self.clock, Lrc.NOEXT)

    def test_found_out(self) -> None:
        """The variant is found out by the status request, before any money is at stake."""
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual((self.taken(), self.service.driver.terminal.lrc), ([10_000], Lrc.NOEXT))

    def test_silent(self) -> None:
        """A terminal that answers no variant is 5068."""
        self.rule("probe", "silent", times=0)
        self.assertAnswer(self.pay(), 5068, 1)
        self.assertEqual(self.states(), ["refused"])


class ReceiptTests(Ecr17Desk):
    """A terminal that sends its receipts to the till."""

    settings: ClassVar[dict[str, Any]] = {"receipts": True, "receipt_wait_s": 1.0}

    def test_slip(self) -> None:
        """The receipt that follows the answer is in it."""
        info = self.pay()["info"]
        self.assertIn("APPROVATA", info["receipt"])
        self.assertEqual(info["receipt"], info["sliptxt"])
        second = self.pay(sum=5)["info"]
        self.assertIn("EUR 5.00", second["receipt"])
        self.assertNotIn("EUR 100.00", second["receipt"])


class TaskTests(Ecr17Desk):
    """Each task of the interface."""

    def test_payment(self) -> None:
        """The content of the answer to a payment."""
        info = self.pay()["info"]
        told = {name: info[name] for name in ("sum", "cardmask", "cancelid", "payid", "restxt", "term_id")}
        self.assertEqual(
            told,
            {
                "sum": 100.0,
                "cardmask": "516875******7414",
                "cancelid": "000001",
                "payid": "007919",
                "restxt": "APPROVED",
                "term_id": "12345678",
            },
        )

    def test_cancel(self) -> None:
        """A cancel of the whole operation by its number; zeros are no number, a part and a refund not in here."""
        paid = self.pay()["info"]["cancelid"]
        for named in ("000000", "x", "1234567"):
            self.assertAnswer(self.pay(3, cancelid=named), 5027, 3)
        self.assertAnswer(self.pay(3, cancelid=paid, sum=30), 5029, 3)
        self.assertAnswer(self.pay(2, sum=30, refundid="1"), 5029, 3)
        self.assertEqual(self.pay(3, cancelid=paid.lstrip("0"))["info"]["sum"], 100.0)
        self.assertAnswer(self.pay(3, cancelid=paid), 5027, 3)
        self.assertEqual([entry.kind for entry in self.terminal.entries()][:2], ["payment", "cancel"])

    def test_reports(self) -> None:
        """Totals leave the session open, the closing ends it."""
        self.pay()
        self.assertIn("100.00", self.pay(10)["info"]["receipt"])
        self.assertIn("100.00", self.pay(11)["info"]["receipt"])
        self.assertIn("0.00", self.pay(10)["info"]["receipt"])

    def test_too_much(self) -> None:
        """A sum that eight digits do not hold is refused before anything is sent."""
        self.assertEqual(self.pay(sum=1_000_000)["res"], 5016)
        self.assertEqual(self.endpoint.sent, [])

    def test_not_operative(self) -> None:
        """A terminal that cannot work says why before any money is at stake."""
        for state, res in ((TerminalState.KEYS, 5006), (TerminalState.NOT_ALIGNED, 5000)):
            self.far.state = state
            self.assertEqual(self.pay()["res"], res)
            due = self.endpoint.wait(Deferred.fromCoroutine(self.service.check()))
            self.assertEqual(self.failureResultOf(due, Refused).value.res.code, res)
        self.assertEqual(self.taken(), [])

    def test_codes(self) -> None:
        """Results and their texts; an unknown code is 5009."""
        declined = self.service.driver._declined
        self.assertEqual(declined(Order(Task.PAYMENT, "u"), "01", "").res, 5015)
        self.assertEqual(declined(Order(Task.CANCEL, "u"), "01", "NO").res, 5027)
        self.assertEqual(declined(Order(Task.PAYMENT, "u"), "09", "").res, 5000)
        self.assertEqual(declined(Order(Task.PAYMENT, "u"), "33", "X"), Declined(5009, ("33",), "X"))

    def test_service_methods(self) -> None:
        """The ping is the status request; there are no other ones."""
        self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve("ping"))), {"restxt": "OK"})
        self.assertEqual([self.service.has(name) for name in ("echo", "merchants", "masks")], [False] * 3)

    @shows("rule 11")
    def test_progress(self) -> None:
        """The text of the terminal's display is reported while it is shown."""
        seen: list[str] = []
        self.service.watch(lambda progress: seen.append(progress.text))
        self.pay()
        self.assertEqual((seen[0], seen[-1]), ("", ""))
        self.assertIn("DIGITARE PIN", seen)


class TimeTests(SynchronousTestCase):
    """The time in an answer: day of the year, hour, minute."""

    def test_around_new_year(self) -> None:
        """The year is the one in which the moment is nearest."""
        now = datetime(2027, 1, 1, 0, 1)
        self.assertEqual(_host_time("3652359", now), datetime(2026, 12, 31, 23, 59))
        self.assertEqual(_host_time("0010002", now), datetime(2027, 1, 1, 0, 2))

    def test_none(self) -> None:
        """A value that is not a time is reported as none."""
        for text in ("", "0000000", "3670000", "abcdefg", "123"):
            self.assertIsNone(_host_time(text, datetime(2027, 1, 1)))


class SettingsTests(SynchronousTestCase):
    """What an ECR17 terminal is set up with."""

    def test_defaults(self) -> None:
        """Address and port are enough."""
        settings: Any = DRIVER.read({"host": "192.0.2.1", "port": 10_000})
        self.assertEqual((settings.wait_s, settings.lrc, settings.receipts), (300, "auto", False))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path; there is no usual port."""
        for members, path in (
            ({"port": 1}, "settings.host"),
            ({"host": "h"}, "settings.port"),
            ({"host": "h", "port": 1, "lrc": "crc"}, "settings.lrc"),
            ({"host": "h", "port": 1, "terminal_id": "1"}, "settings.terminal_id"),
        ):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)


del FaultPromises, CardPromises
