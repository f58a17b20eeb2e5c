"""A PrivatBank terminal behind the terminal service: every task, fault and code, and what is stored of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Refused, Res, in_language
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.interface import Approved, Declined, Order, Task
from dmtwisted.terminals.journal import operation_of
from dmtwisted.terminals.privatbank.driver import PrivatbankDriver
from dmtwisted.terminals.privatbank.proof import LastReceipt, prove
from dmtwisted.terminals.privatbank.settings import DRIVER, PrivatbankSettings
from protocols.errors import NotReached
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.terminals.privatbank_json.messages import Reply, Transaction
from protocols.terminals.privatbank_json.recovery import Finding, Snapshot
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises


class PrivatbankDesk(DeskCase):
    """A desk with a PrivatBank terminal that is opened as its vendor says."""

    unreached = 5067
    settings: ClassVar[dict[str, Any]] = {}

    def device(self) -> PrivatbankSimulator:
        """The terminal's end of the wire."""
        return PrivatbankSimulator(self.terminal, self.clock)

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> PrivatbankDriver:
        """The driver under test."""
        settings = PrivatbankSettings(**{"host": "192.0.2.1", "wait_s": WAIT, **self.settings})
        unreached = Unreached(settings, Res.TERMINAL_ADDRESS_UNREACHABLE, Res.COM_PORT_UNAVAILABLE)
        return PrivatbankDriver(settings, endpoint, clock, self.clock, unreached)


class PrivatbankFaultTests(PrivatbankDesk, FaultPromises):
    """What goes wrong between us and a PrivatBank terminal."""

    def test_late_answer(self) -> None:
        """An answer that comes after its operation was given up completes it, and no other operation gets it."""
        label = str(uuid4())
        self.rule("payment", "accept", delay_ms=60_000)
        self.assertAnswer(self.pay(label=label), 411, 2)
        self.assertAnswer(self.pay(sum=5), 5022, 1)
        self.endpoint.advance(40)
        self.assertEqual((self.states(), self.taken()), (["done", "done"], [100, 10_000]))
        self.assertEqual(self.pay(17, label)["info"]["sum"], 100.0)
        self.assertEqual(self.pay(sum=5)["info"]["sum"], 5.0)

    def test_not_free_in_time(self) -> None:
        """A terminal that does not become free while it is asked leaves the matter open; freed, it has the answer."""
        label = str(uuid4())
        self.rule("payment", "accept", delay_ms=90_000)
        due = self.asked(1, label, sum=100)
        self.endpoint.advance(5)
        self.endpoint.hang_up()
        answer = self.wait(due)
        self.assertAnswer(answer, 1016, 2)
        self.assertEqual((answer["aq_errortxt"], self.states()), ("the terminal is still busy", ["done", "unknown"]))
        self.assertAnswer(self.pay(sum=5), 5022, 1)
        self.assertEqual((self.states(), self.taken()), (["done", "unknown"], [100]))
        self.endpoint.advance(60)
        self.assertEqual(self.pay(17, label)["info"]["sum"], 100.0)
        self.assertEqual((self.states(), self.taken()), (["done", "done"], [100, 10_000]))

    def test_answer_while_asking(self) -> None:
        """An answer that comes while the terminal is asked about it counts, whatever the terminal answers."""
        self.rule("payment", "accept", delay_ms=21_500)
        due = self.asked(1, sum=100)
        self.endpoint.advance(15)
        self.rule("probe", "silent", times=0)
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual((self.states(), self.taken()), (["done", "done"], [100, 10_000]))

    def test_late_approval_of_a_closed_one(self) -> None:
        """An approval that comes when the terminal had said that it knows of nothing corrects the journal."""
        label = str(uuid4())
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(label=label), 5014, 1)
        uid = operation_of(self.rows()[-1]).record.order.uid
        self.service.driver._late(uid, Declined.of(Res.BANK_REFUSED))
        self.assertAnswer(self.pay(17, label), 5014, 1)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(label=label), 5014, 1)
        uid = operation_of(self.rows()[-1]).record.order.uid
        self.service.driver._late(uid, Approved(sum=10_000, rrn="77"))
        self.assertEqual(self.pay(17, label)["info"]["refundid"], "77")

    def test_last_receipt_is_remembered(self) -> None:
        """When the terminal does not report its last receipt before a payment, the earlier one counts."""
        self.restart()
        self.rule("payment", "refuse", "cancelled")
        self.assertAnswer(self.pay(), 5001, 3)
        self.rule("probe", "refuse")
        self.rule("probe", "refuse")
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)

    def test_handshake_unanswered(self) -> None:
        """A terminal that takes the connection and says nothing is 5068: another program may hold it."""
        self.endpoint.hang_up()
        self.rule("probe", "silent", times=0)
        answer = self.pay()
        self.assertAnswer(answer, 5068, 1)
        self.assertIn("another program", answer["aq_errortxt"])

    def test_settlement_found_out(self) -> None:
        """A general report whose answer was lost is known by the batch being empty afterwards."""
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertAnswer(self.pay(11), 5014, 1)
        entries = self.terminal.entries()
        self.assertEqual([entry.kind for entry in entries], ["payment", "settlement", "payment"])

    def test_lost_cancel(self) -> None:
        """A cancel whose answer was lost is found by its receipt, for the sum that the journal knows."""
        paid = self.pay()["info"]
        self.rule("cancel", "lost_after")
        answer = self.pay(3, cancelid=paid["cancelid"])
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], self.terminal.entries()[-1].kind), (100.0, "cancel"))

    def test_lost_partial_approval(self) -> None:
        """A partial approval whose answer was lost is reported as partial."""
        self.rule("payment", "lost_after", "partial:4000")
        answer = self.pay()
        self.assertAnswer(answer, 5075, 3)
        self.assertEqual((answer["info"]["sum"], answer["info"]["sum_asked"]), (40.0, 100.0))

    def test_after_a_refusal(self) -> None:
        """After a refusal of the bank, of which the terminal keeps no receipt, a lost answer is found out too."""
        for then, res in (("lost_before", 5014), ("lost_after", 0)):
            self.rule("payment", "refuse", "51")
            self.rule("payment", then)
            self.assertEqual(self.pay()["res"], 5018)
            self.assertEqual(self.pay()["res"], res)
        self.assertEqual(self.taken(), [100, 10_000])


class PrivatbankCardTests(PrivatbankDesk, CardPromises):
    """Tasks 6 and 7 at a PrivatBank terminal."""

    def device(self) -> PrivatbankSimulator:
        """A terminal that stops at the card for a few seconds unless it is asked for it."""
        return PrivatbankSimulator(self.terminal, self.clock, adjust=5.0)

    def test_nobody_finishes(self) -> None:
        """When task 7 does not come the terminal goes on with the first sum, and that is stored."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(40)
        self.assertEqual((self.taken(), self.states()), ([10_000], ["done"]))
        self.assertAnswer(self.pay(7), 5074, 3)
        answer = self.pay(17, label)
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["task"], answer["info"]["sum"]), (6, 100.0))

    def test_too_late_for_another_sum(self) -> None:
        """A correction that comes too late is no success: 5075 with what was taken, and what was asked for."""
        self.read()
        self.terminal.correct()
        answer = self.pay(7, sum=80)
        self.assertAnswer(answer, 5075, 3)
        self.assertEqual((answer["info"]["sum"], answer["info"]["sum_asked"]), (100.0, 80.0))
        self.assertEqual(self.taken(), [10_000])


class FirstOfTheDayTests(PrivatbankDesk):
    """The first payment after the start, on an empty batch: there is no receipt to compare with."""

    def test_nothing_is_believed(self) -> None:
        """A terminal that never reported a receipt proves nothing by reporting none: a person has to look."""
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 1016, 2)
        self.assertAnswer(self.pay(), 5022, 1)
        self.done(self.service.settle(self.rows()[0], False))
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])

    def test_known_after_a_restart(self) -> None:
        """A terminal that reported a receipt before the service was restarted is known to do so, at this place."""
        self.assertAnswer(self.pay(), 0, 0)
        self.assertAnswer(self.pay(sum=2), 0, 0)
        self.assertAnswer(self.pay(11), 0, 0)
        self.restart()
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertEqual(self.taken(), [10_000, 200])

    def test_exchanged_terminal(self) -> None:
        """What was learned of a terminal at another place, or long ago, is not believed."""
        for place, days in (("192.0.2.9", 0), ("192.0.2.1", 8)):
            with self.subTest(place=place, days=days):
                self.setUp()
                self.assertAnswer(self.pay(), 0, 0)
                self.assertAnswer(self.pay(), 0, 0)
                self.assertAnswer(self.pay(11), 0, 0)
                self.clock.advance(days * 86_400)
                self.patch(type(self), "settings", {**self.settings, "host": place})
                self.restart()
                self.rule("payment", "lost_before")
                self.assertAnswer(self.pay(), 1016, 2)

    def test_its_own_receipt(self) -> None:
        """A receipt where there was none before, over the same sum and at the same time, is the lost one."""
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])


class KnownToTellTests(PrivatbankDesk):
    """A terminal that is set up to always report its last receipt."""

    settings: ClassVar[dict[str, Any]] = {"tells_receipts": True, "opening": "short"}

    def test_empty_batch(self) -> None:
        """With no receipt before and after, nothing was taken."""
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])


class TaskTests(PrivatbankDesk):
    """Each task of the interface."""

    def test_payment(self) -> None:
        """The content of the answer to a payment."""
        info = self.pay()["info"]
        entry = self.terminal.entries()[0]
        self.assertEqual(info["cancelid"], f"{int(entry.ref):06d}")
        self.assertIn("СХВАЛЕНО", info["receipt"])
        told = {name: info[name] for name in ("cardmask", "paysys", "bankname", "refundid", "currency", "restxt")}
        self.assertEqual(
            told,
            {
                "cardmask": "516875******7414",
                "paysys": "MASTERCARD",
                "bankname": "ПриватБанк",
                "refundid": entry.number,
                "currency": "ГРН",
                "restxt": "APPROVED",
            },
        )

    def test_refund(self) -> None:
        """A refund by the RRN of its payment."""
        paid = self.pay()["info"]
        answer = self.pay(2, sum=40, refundid=paid["refundid"])
        self.assertAnswer(answer, 0, 0)
        self.assertEqual((answer["info"]["sum"], self.terminal.entries()[-1].kind), (40.0, "refund"))
        self.assertAnswer(self.pay(2, sum=40, refundid="1"), 5025, 3)

    def test_cancel(self) -> None:
        """A cancel of the whole operation, with or without its sum; afterwards there is nothing left of it."""
        first, second = self.pay()["info"]["cancelid"], self.pay(sum=50)["info"]["cancelid"]
        self.assertEqual(self.pay(3, cancelid=first)["info"]["sum"], 100.0)
        self.assertEqual(self.pay(3, cancelid=second.lstrip("0"), sum=50)["info"]["sum"], 50.0)
        self.assertIn(b"Withdrawal", self.endpoint.sent[-1])
        self.assertNotIn(b"WithdrawalPartly", self.endpoint.sent[-1])
        self.assertAnswer(self.pay(3, cancelid=first), 5008, 3)
        self.assertAnswer(self.pay(3, cancelid="77"), 5027, 3)

    def test_cancel_of_a_part(self) -> None:
        """A cancel with a smaller sum takes back that and no more."""
        paid = self.pay()["info"]["cancelid"]
        self.assertEqual(self.pay(3, cancelid=paid, sum=30)["info"]["sum"], 30.0)
        self.assertEqual(self.terminal.entries()[-1].sum, 3000)

    def test_cancel_after_a_report(self) -> None:
        """Receipt numbers start again with each batch: a number of the old one means nothing in the new one."""
        old = self.pay(sum=30)["info"]["cancelid"]
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertAnswer(self.pay(3, cancelid=old), 5027, 3)
        self.assertEqual(self.wait(Deferred.fromCoroutine(self.service._journal.named(old))), None)

    def test_reports(self) -> None:
        """Totals leave the batch open, the general report closes it; an empty batch is reported as empty."""
        self.pay()
        self.assertIn("ПРОМІЖНИЙ", self.pay(10)["info"]["receipt"])
        self.assertIn("ЗВІРКА", self.pay(11)["info"]["receipt"])
        answer = self.pay(11)
        self.assertAnswer(answer, 5000, 3)
        self.assertIn("log file is empty", answer["errortxt"])

    def test_cash(self) -> None:
        """Goods and cash: the sum is both; when no cash was given, the goods alone."""
        self.assertEqual(self.pay(14, sum=10, cash=5)["info"]["sum"], 15.0)
        self.rule("payment", "accept", "no_cash")
        answer = self.pay(14, sum=10, cash=5)
        info = answer["info"]
        self.assertEqual((answer["res"], info["sum"], info["sum_asked"]), (5075, 10.0, 15.0))
        self.assertEqual(self.taken(), [1500, 1000])

    def test_instalments(self) -> None:
        """Instalments have an agreement number, and are refunded by it."""
        info = self.pay(15, sum=600, parts=6)["info"]
        self.assertTrue(info["hstFld63Sf89"])
        self.assertAnswer(self.pay(16, sum=600, agreementNum=info["hstFld63Sf89"]), 0, 0)
        self.assertEqual([entry.kind for entry in self.terminal.entries()], ["payment", "refund"])

    def test_bank_service(self) -> None:
        """A service of the bank by its number."""
        self.assertEqual(self.pay(5, srvnum="046", param="6", sum=3)["info"]["sum"], 3.0)

    def test_discount_card(self) -> None:
        """A discount card is reported by its masked number; its tracks are stored nowhere."""
        answer = self.pay(8)
        self.assertEqual(answer["info"]["cardmask"], "516875******7414")
        self.assertEqual(self.states(), ["done"])
        self.assertNotIn(b"5168750000007414", self.rows()[0].request + self.rows()[0].answer)

    def test_reading_lost(self) -> None:
        """A report whose answer was lost moved nothing: it is over, and may be repeated."""
        self.pay()
        due = self.asked(10)
        for _ in range(40):
            self.endpoint.advance(0.05)
            if str(self.terminal.state) == "printing":
                break
        self.endpoint.hang_up()
        self.assertAnswer(self.wait(due), 1016, 1)
        self.assertEqual(self.states(), ["done", "refused"])
        self.assertAnswer(self.pay(10), 0, 0)

    def test_merchant(self) -> None:
        """The merchant of the request is asked for; one that is not there is refused by the terminal."""
        self.assertAnswer(self.pay(merch="7"), 5000, 3)
        self.assertEqual(self.pay(merch="1")["info"]["merch"], "1")

    def test_codes(self) -> None:
        """Each code of the terminal has its own result, and any other is reported by its number."""
        codes = {
            **dict(zip(range(1000, 1009), (5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008), strict=True)),
            1099: 5009,
            116: 5018,
            117: 5019,
            75: 5019,
            121: 5020,
            65: 5020,
            96: 5021,
            99: 5024,
            1: 5000,
        }
        for code, res in codes.items():
            self.rule("payment", "refuse", str(code))
            answer = self.pay()
            self.assertEqual(answer["res"], res, code)
            self.assertIn(answer["res_action"], (1, 3))
        self.assertEqual(self.taken(), [])

    def test_service_methods(self) -> None:
        """Ping, echo, merchants and masks."""
        for name, told in (
            ("ping", {"restxt": "OK"}),
            ("echo", {"restxt": "OK"}),
            ("merchants", {"merchListValue": {"1": "МАГАЗИН"}}),
            ("masks", {"maskListValue": {"1": "DM000001"}}),
        ):
            self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve(name))), told)

    def test_progress(self) -> None:
        """The terminal's activity is reported during an operation, and that it is idle afterwards."""
        seen: list[str] = []
        self.service.watch(lambda progress: seen.append(progress.state))
        self.terminal.duration = 5.0
        self.pay()
        self.assertEqual(seen, ["connecting", "waiting_card", "card_read", "pin", "bank", "printing", "idle"])


class ProofTests(SynchronousTestCase):
    """What a last receipt proves."""

    begun = datetime(2026, 9, 21, 9, 0)
    earlier = Snapshot("000007", "21.09.2026", "08:55:00", "626408000007")

    def before(self, **members: Any) -> LastReceipt:
        """What the terminal reported before the request; a receipt by default."""
        usual = {
            "invoice_number": "000007",
            "date": "21.09.2026",
            "time": "08:55:00",
            "rrn": "626408000007",
            "code": "0000",
            "begun": self.begun.isoformat(),
            "tells": True,
        }
        return LastReceipt(**{**usual, **members})

    def none_before(self, **members: Any) -> LastReceipt:
        """No receipt before the request."""
        blank = {"invoice_number": "", "date": "", "time": "", "rrn": "", "code": "1000", "error": True}
        return self.before(**{**blank, **members})

    def receipt(self, **members: Any) -> Reply:
        """A last receipt that fits an order over 100.00."""
        usual: dict[str, Any] = {
            "amount": 10_000,
            "invoice_number": "000008",
            "date": "21.09.2026",
            "time": "09:00:10",
            "rrn": "626409000008",
            "txn_type": "1",
            "response_code": "0000",
        }
        return Reply("GetReceiptInfo", Transaction(**{**usual, **members}).params())

    def proves(self, before: LastReceipt, told: Reply, finding: Finding, **order: Any) -> None:
        """``told`` proves ``finding`` about an order."""
        asked = Order(**{"task": Task.PAYMENT, "uid": "u", "sum": 10_000, **order})
        self.assertIs(prove(asked, before, told, self.begun + timedelta(minutes=1)), finding)

    def test_ours(self) -> None:
        """A new number, the sum, the kind and the time: it is ours."""
        self.proves(self.before(), self.receipt(), Finding.OURS)
        self.proves(self.none_before(), self.receipt(), Finding.OURS)
        self.proves(self.before(), self.receipt(txn_type="4"), Finding.OURS, task=Task.INSTALMENTS)
        self.proves(self.before(), self.receipt(txn_type="2"), Finding.OURS, task=Task.REFUND)
        self.proves(self.before(), self.receipt(amount=8000), Finding.OURS, corrected=8000)

    def test_not_ours(self) -> None:
        """Another sum, kind or time settles nothing."""
        wrong = ({"amount": 9999}, {"txn_type": "2"}, {"time": "08:57:59"}, {"time": "09:03:01"}, {"time": ""})
        for members in wrong:
            self.proves(self.before(), self.receipt(**members), Finding.UNKNOWN)
            self.proves(self.none_before(), self.receipt(**members), Finding.UNKNOWN)
        self.proves(self.before(), self.receipt(txn_type="3"), Finding.UNKNOWN, task=Task.CANCEL, sum=0)

    def test_nothing(self) -> None:
        """The same receipt as before: nothing was booked."""
        same = self.receipt(
            invoice_number="000007", date="21.09.2026", time="08:55:00", rrn="626408000007", amount=10_000
        )
        self.proves(self.before(), same, Finding.NOTHING)

    def test_refused(self) -> None:
        """A last operation that the bank refused is ours, or the one from before; money moved in neither case."""
        refused = Reply("GetReceiptInfo", Transaction(response_code="0051").params())
        self.proves(self.before(), refused, Finding.OURS)
        blank = {"invoice_number": "", "date": "", "time": "", "rrn": ""}
        self.proves(self.before(**blank, code="0051"), refused, Finding.NOTHING)
        # With another code before, it is a new one.
        self.proves(self.before(**blank, code="0005"), refused, Finding.OURS)

    def test_no_receipt(self) -> None:
        """None before and none now is nothing booked only where the terminal is known to report receipts."""
        none = Reply("GetReceiptInfo", {"responseCode": "1000"}, True, "Cannot get receipt")
        self.proves(self.none_before(), none, Finding.NOTHING)
        self.proves(self.none_before(tells=False), none, Finding.UNKNOWN)
        self.proves(self.before(), none, Finding.UNKNOWN)
        # The batch was known to hold a receipt: an answer without one is about something else.
        self.proves(self.before(error=True, code="1000"), none, Finding.UNKNOWN)
        self.proves(self.none_before(), Reply("GetReceiptInfo", {"responseCode": "1004"}, True), Finding.UNKNOWN)

    def test_partly(self) -> None:
        """Less than asked is ours only with the code for it."""
        self.proves(self.before(), self.receipt(amount=4000, response_code="0010"), Finding.OURS)
        self.proves(self.before(), self.receipt(amount=4000), Finding.UNKNOWN)
        self.proves(self.before(), self.receipt(amount=14_000, response_code="0010"), Finding.UNKNOWN)


class SettingsTests(SynchronousTestCase):
    """What a PrivatBank terminal is set up with."""

    def test_defaults(self) -> None:
        """An address is enough; the reply has 300 seconds."""
        settings: Any = DRIVER.read({"host": "192.0.2.1"})
        self.assertEqual((settings.wait_s, settings.opening, settings.interface), (300, "thorough", "tcp"))

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (
            ({}, "settings.host"),
            ({"interface": "serial"}, "settings.serial_port"),
            ({"host": "h", "wait_s": 1}, "settings.wait_s"),
            ({"host": "h", "opening": "slow"}, "settings.opening"),
            ({"host": "h", "prot": 1}, "settings.prot"),
        ):
            self.assertEqual(self.assertRaises(BadSettings, DRIVER.read, members).path, path)

    def test_unreached(self) -> None:
        """No connection is 5067 over a network and 1126 at a COM port, with the reason."""
        for members, res in (
            ({"host": "192.0.2.1"}, Res.TERMINAL_ADDRESS_UNREACHABLE),
            ({"interface": "serial", "serial_port": "COM3"}, Res.COM_PORT_UNAVAILABLE),
        ):
            settings: Any = DRIVER.read(members)
            refused: Refused = Unreached(settings, Res.TERMINAL_ADDRESS_UNREACHABLE, Res.COM_PORT_UNAVAILABLE)(
                NotReached("nothing listens there")
            )
            self.assertEqual((refused.res, in_language(refused.aq_errortxt, "en")), (res, "nothing listens there"))


del FaultPromises, CardPromises
