"""A nexo terminal behind the terminal service: every task, fault and code, and what is stored of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar, cast
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.conformance.nexo_stand import NO_CERTIFICATE, POI
from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Refused, Res
from dmtwisted.terminals.interface import Declined, Order, Task
from dmtwisted.terminals.journal import operation_of
from dmtwisted.terminals.nexo.driver import CONDITIONS, NexoDriver, _declined, service_id_of
from dmtwisted.terminals.nexo.settings import DRIVER, NexoSettings, blocks_of
from protocols.errors import Garbled
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.terminal import Card
from protocols.terminals.nexo.messages import Condition, PaymentAnswer, Response, Result
from protocols.terminals.nexo.notice import Notice, Shown, Step
from protocols.terminals.nexo.notices import NoticePort
from protocols.terminals.nexo.sealing import Seal
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.chaos import Channels, WireDesk
from tests.memory_line import MemoryEndpoint
from tests.shop import MORNING
from tests.terminal_desk import Banner, CardPromises, FaultPromises
from tests.terminal_matrix import shows
from tests.test_nexo import post_notice


class NexoDesk(WireDesk):
    """A desk with a nexo terminal."""

    wire = "nexo"


class NexoFaultTests(NexoDesk, FaultPromises):
    """What goes wrong between us and a nexo terminal; below is what this wire has in its own way."""

    def test_lost_after(self) -> None:
        """A line that breaks after the approval: asked by its ServiceID, the terminal sends the answer again."""
        self.rule("payment", "lost_after")
        answer = self.pay()
        self.assertAnswer(answer, 0, 0)
        info = answer["info"]
        self.assertEqual(info["refundid"].partition("@")[0], self.terminal.entries()[-1].number)
        self.assertEqual((info["sum"], info["cancelid"]), (100.0, info["refundid"]))
        self.assertEqual((self.taken(), self.states()), ([100, 10_000], ["done", "done"]))

    def test_another_protocol(self) -> None:
        """Another program on the port is recognised by its first bytes, and at once; nothing was sent."""

        class Elsewhere:
            """Another service on the port."""

            def buildProtocol(self, _: object) -> Banner:
                """One that greets."""
                return Banner()

        self.endpoint.hang_up()
        self.far = Elsewhere()
        began = self.clock.seconds()
        answer = self.pay()
        self.assertAnswer(answer, 5000, 3)
        self.assertIn(b"SSH-2.0".hex(" "), answer["errortxt"])
        self.assertLess(self.clock.seconds() - began, 15)
        self.assertEqual((self.taken(), self.states()), ([100], ["done", "refused"]))

    def test_bank_refusals(self) -> None:
        """A refusal of the bank comes with its reason, and nothing was paid."""
        self.rule("payment", "refuse", "51")
        answer = self.pay()
        self.assertAnswer(answer, 5024, 3)
        self.assertIn("51 refused", answer["errortxt"])
        self.assertEqual(self.taken(), [100])

    def test_terminal_refusals(self) -> None:
        """A refusal of the terminal itself comes with its condition."""
        causes = {
            "cancelled": 5001,
            "timeout": 5023,
            "chip": 5015,
            "card": 5017,
            "wrong_pin": 5019,
            "no_link": 5004,
            "no_paper": 5000,
            "keys": 5000,
            "NotAllowed": 5029,
            "UnavailableDevice": 5000,
        }
        for cause, res in causes.items():
            self.rule("payment", "refuse", cause)
            self.assertEqual(self.pay()["res"], res, cause)
        self.assertEqual(self.taken(), [100])

    def test_whole_card_number(self) -> None:
        """At most six and four digits of a card number are reported or stored, also in the slip."""
        self.terminal._cards = (Card("4111111111111111", "VISA", "2911"),)
        answer = self.pay()
        self.assertEqual(answer["info"]["cardmask"], "411111****1111")
        self.assertIn("411111******1111", answer["info"]["receipt"])
        kept = self.rows()[-1]
        self.assertNotIn(b"4111111111111111", kept.request + kept.answer)

    def test_asked_by_our_own_name(self) -> None:
        """The question for a lost payment names the ServiceID that the journal had before the first byte left."""
        self.rule("payment", "lost_after")
        self.pay()
        name = service_id_of(operation_of(self.rows()[-1]).record.order)
        asked = [heard for heard in self.endpoint.sent if b"TransactionStatus" in heard]
        self.assertIn(f'"ServiceID":"{name}"'.encode(), asked[-1].replace(b" ", b""))

    @shows("rule 6")
    def test_somebody_else_paid(self) -> None:
        """Another till's payment over the same sum is never taken for ours."""
        self.rule("payment", "lost_before")
        due = self.asked(1, sum=100)
        self.endpoint.flush()
        self.terminal.purchase(10_000, reference="another")
        self.assertAnswer(self.wait(due), 5014, 1)
        self.assertEqual(self.states(), ["done", "refused"])

    def test_lost_reversal(self) -> None:
        """A cancel and a refund whose answers were lost are found out too."""
        first, second = self.pay()["info"], self.pay(sum=50)["info"]
        self.rule("cancel", "lost_after")
        self.assertEqual(self.pay(3, cancelid=first["cancelid"])["info"]["sum"], 100.0)
        self.rule("cancel", "lost_after")
        self.assertEqual(self.pay(2, sum=20, refundid=second["refundid"])["info"]["sum"], 20.0)
        self.rule("cancel", "lost_before")
        self.assertAnswer(self.pay(2, sum=20, refundid=second["refundid"]), 5014, 1)
        sums = [entry.sum for entry in self.terminal.entries() if entry.kind == "cancel"]
        self.assertEqual(sums, [10_000, 2000])

    def test_settlement_found_out(self) -> None:
        """A general report whose answer was lost is known by the batch being empty afterwards."""
        self.rule("settlement", "lost_after")
        self.assertAnswer(self.pay(11), 0, 0)
        self.assertAnswer(self.pay(sum=3), 0, 0)
        self.rule("settlement", "lost_before")
        self.assertAnswer(self.pay(11), 5014, 1)
        kinds = [entry.kind for entry in self.terminal.entries()]
        self.assertEqual(kinds, ["payment", "settlement", "payment"])

    @shows("rule 12")
    def test_handshake_unanswered(self) -> None:
        """A terminal that takes the connection and says nothing is 5068."""
        self.rule("probe", "silent", times=0)
        self.assertAnswer(self.pay(), 5068, 1)
        self.assertEqual(self.taken(), [100])

    def test_lost_answer_was_busy(self) -> None:
        """When the lost answer was that the terminal is busy, nothing began."""
        busy = PaymentAnswer(Response(Result.FAILURE, Condition.BUSY))

        async def told(*_: object) -> PaymentAnswer:
            return busy

        self.patch(self.service.driver.terminal, "recover", told)
        self.rule("payment", "lost_before")
        self.assertAnswer(self.pay(), 5014, 1)

    def test_interrupt_is_told_apart(self) -> None:
        """A customer who gives up is 5001, an abort of ours 5023."""
        self.rule("payment", "refuse", "cancelled")
        self.assertAnswer(self.pay(), 5001, 3)


class SealedTests(NexoDesk):
    """A terminal with a shared key."""

    settings: ClassVar[dict[str, Any]] = {"passphrase": "mysupersecret", "key_identifier": "key", "key_version": 3}

    def device(self) -> Any:
        """The terminal's end of the wire."""
        seal = Seal("mysupersecret", "key", 3)
        return Channels(NexoDevice(self.terminal, self.clock, POI, seal).site())

    def test_payment(self) -> None:
        """Messages are sealed, and nothing of a payment can be read on the line."""
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual(self.taken(), [10_000])
        self.assertNotIn(b"RequestedAmount", b"".join(self.endpoint.sent))

    def test_wrong_key(self) -> None:
        """A terminal with another key is reported before any money is at stake."""
        self.far = Channels(NexoDevice(self.terminal, self.clock, POI, Seal("other", "key", 3)).site())
        self.assertEqual(self.pay()["res"], 5000)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))


class ProgressTests(NexoDesk):
    """A terminal that posts what its display shows to a port of the till."""

    def device(self) -> Any:
        """A terminal that posts its display texts."""
        return Channels(NexoDevice(self.terminal, self.clock, POI, post=self.post).site())

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Any:
        """The driver, with a port."""
        self.reactor = MemoryReactorClock()
        self.port = NoticePort(self.reactor, 8888)
        plain = super().driver(endpoint, clock)
        agent = plain.terminal._client._agent
        driver = NexoDriver(plain._settings, agent, self.clock, plain._unreached, self.port)
        self.loses = False
        self.moments: list[float] = []
        return driver

    def post(self, message: bytes) -> None:
        """Let a notice arrive, unless it gets lost."""
        self.moments.append(self.clock.seconds())
        if not self.loses:
            post_notice(self, cast(Any, self.reactor.tcpServers[0][1]), message)

    def watched(self) -> list[tuple[str, float]]:
        """Every state from now on, with its moment."""
        seen: list[tuple[str, float]] = []
        self.service.watch(lambda progress: seen.append((progress.state, self.clock.seconds())))
        return seen

    @shows("rule 11")
    def test_states(self) -> None:
        """Card, PIN and bank are reported at the moment of each step."""
        seen = self.watched()
        self.assertAnswer(self.pay(), 0, 0)
        states = [state for state, _ in seen]
        self.assertEqual(
            states, ["connecting", "working", "waiting_card", "card_read", "pin", "bank", "printing", "idle"]
        )
        told = [moment for state, moment in seen if state in ("waiting_card", "card_read", "pin", "bank", "printing")]
        self.assertEqual(told, self.moments)

    def test_status(self) -> None:
        """``transaction-status`` has the state with task and label."""
        label = str(uuid4())
        due = self.asked(1, label, sum=100)
        self.advance_until("pin")
        self.assertEqual(self.service.status(), {"state": "pin", "text": "", "task": 1, "transaction_id": label})
        self.assertAnswer(self.wait(due), 0, 0)
        self.assertEqual(self.service.status()["state"], "idle")

    def test_lost(self) -> None:
        """Notices that do not arrive cost nothing but the states."""
        self.begin()
        self.loses = True
        seen = self.watched()
        self.assertAnswer(self.pay(), 0, 0)
        self.assertEqual([state for state, _ in seen], ["connecting", "working", "idle"])

    def test_of_something_else(self) -> None:
        """A notice of another operation, or when nothing runs, changes nothing; nor does an unknown step."""
        site = cast(Any, self.reactor.tcpServers[0][1])
        other = Shown(Step.WAIT_FOR_PIN, "0123456789", "till", "1", "T", "2026-01-01T00:00:00Z").encode(POI)
        post_notice(self, site, other)
        self.assertEqual(self.service.progress.state, "idle")
        due = self.asked(1, sum=100)
        self.advance_until("waiting_card")
        post_notice(self, site, other)
        post_notice(self, site, Notice("Shutdown").encode(POI))
        self.assertEqual(self.service.progress.state, "waiting_card")
        running = self.terminal.running
        assert running is not None
        post_notice(self, site, other.replace(b"0123456789", running.reference.encode()).replace(b"WAIT_FOR", b"NO"))
        self.assertEqual(self.service.progress.state, "working")
        self.assertAnswer(self.wait(due), 0, 0)

    def test_proves_nothing(self) -> None:
        """A notice that all is over ends nothing: the answer alone does."""
        self.rule("payment", "silent")
        due = self.asked(1, sum=100)
        self.endpoint.advance(5)
        [row] = self.rows()
        final = Shown(Step.TENDER_FINAL, service_id_of(operation_of(row).record.order), "till", "1", "T", "now")
        post_notice(self, cast(Any, self.reactor.tcpServers[0][1]), final.encode(POI))
        self.assertNoResult(due)
        self.assertAnswer(self.wait(due), 5014, 1)

    def test_whole_card_number(self) -> None:
        """The display text is reported without card numbers."""
        due = self.asked(1, sum=100)
        self.advance_until("waiting_card")
        running = self.terminal.running
        assert running is not None
        self.service.driver._noticed(Notice("Display", "card 4111111111111111", running.reference, ""))
        self.assertEqual(self.service.status()["text"], "card 411111******1111")
        self.wait(due)

    def test_port_taken(self) -> None:
        """A port that another program uses is reported by the check; payments go on."""
        self.port.why = "in use"
        due = self.endpoint.wait(Deferred.fromCoroutine(self.service.check()))
        self.assertIn("8888", str(self.failureResultOf(due, Refused).value))
        self.assertAnswer(self.pay(), 0, 0)

    def test_close(self) -> None:
        """The port is let go of with the driver."""
        self.service.close()
        self.assertTrue(self.port.why)


class NexoCardTests(NexoDesk, CardPromises):
    """Tasks 6 and 7 at a nexo terminal."""

    settings: ClassVar[dict[str, Any]] = {"confirm_s": 10}
    card = "516875****7414"

    def test_refused_before_the_card(self) -> None:
        """A card that is not shown is task 6's own outcome, and nothing waits."""
        self.rule("probe", "accept")
        self.rule("probe", "refuse", "cancelled")
        self.assertAnswer(self.pay(6, sum=100), 5001, 3)
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(1), 0, 0)

    def test_nobody_finishes(self) -> None:
        """When task 7 does not come the card is let go of, and that is stored."""
        label = str(uuid4())
        self.read(label)
        self.endpoint.advance(15)
        self.assertEqual((self.taken(), self.states()), ([], ["refused"]))
        self.assertIn(b"EnableService", self.endpoint.sent[-1])
        self.assertAnswer(self.pay(7), 5074, 3)
        self.assertAnswer(self.pay(17, label), 5023, 3)

    def test_lost_after_the_card(self) -> None:
        """A payment with the card that was read is found out like any other, under the label of task 7."""
        label = str(uuid4())
        self.read()
        self.rule("payment", "lost_after")
        self.assertAnswer(self.pay(7, label, sum=80), 0, 0)
        self.assertEqual((self.taken(), self.pay(17, label)["info"]["sum"]), ([8000], 80.0))

    def test_interrupt(self) -> None:
        """Reading a card can be stopped."""
        due = self.asked(6, sum=100)
        self.endpoint.advance(0.3)
        self.wait(Deferred.fromCoroutine(self.service.interrupt()))
        self.assertAnswer(self.wait(due), 5023, 3)
        self.assertAnswer(self.pay(), 0, 0)


class RefundTests(NexoDesk):
    """A terminal where refunds go to whatever card is shown."""

    settings: ClassVar[dict[str, Any]] = {"refunds": "card"}

    def test_refund(self) -> None:
        """It is a payment the other way round, found out like one."""
        self.rule("refund", "lost_after")
        self.assertEqual(self.pay(2, sum=40, refundid="any")["info"]["sum"], 40.0)
        self.assertEqual([entry.kind for entry in self.terminal.entries()], ["refund"])


class TaskTests(NexoDesk):
    """Each task of the interface."""

    def test_payment(self) -> None:
        """The content of the answer to a payment, with the customer's slip."""
        info = self.pay()["info"]
        self.assertIn("СХВАЛЕНО", info["receipt"])
        self.assertEqual(info["receipt"].count("СХВАЛЕНО"), 1)
        names = ("sum", "cardmask", "paysys", "payid", "term_id", "restxt")
        self.assertEqual(
            {name: info[name] for name in names},
            {
                "sum": 100.0,
                "cardmask": "516875****7414",
                "paysys": "mc",
                "payid": "007919",
                "term_id": POI,
                "restxt": "APPROVED",
            },
        )

    def test_refund_and_cancel(self) -> None:
        """Both name the terminal's own transaction; what is no name of it is refused before anything is sent."""
        first, second = self.pay()["info"], self.pay(sum=50)["info"]
        self.assertEqual(self.pay(2, sum=40, refundid=first["refundid"])["info"]["sum"], 40.0)
        self.assertEqual(self.pay(3, cancelid=second["cancelid"], sum=20)["info"]["sum"], 20.0)
        self.assertEqual(self.pay(3, cancelid=first["cancelid"])["info"]["sum"], 60.0)
        heard = len(self.endpoint.sent)
        self.assertAnswer(self.pay(2, sum=40, refundid="1"), 5025, 3)
        self.assertAnswer(self.pay(3, cancelid="77"), 5027, 3)
        self.assertEqual(len(self.endpoint.sent), heard)
        self.assertAnswer(self.pay(2, sum=40, refundid="1@2026-01-01T00:00:00+00:00"), 5025, 3)
        self.assertAnswer(self.pay(3, cancelid="1@2026-01-01T00:00:00+00:00"), 5027, 3)

    def test_reports_cash_and_card(self) -> None:
        """Totals, general report, goods with cash, a card of the shop's own."""
        self.assertEqual(self.pay(14, sum=10, cash=5)["info"]["sum"], 15.0)
        self.assertEqual(self.pay(10)["info"]["receipt"], "Debit 1 15.00 UAH")
        self.assertEqual(self.pay(11)["info"]["receipt"], "Debit 1 15.00 UAH")
        self.assertEqual(self.pay(10)["info"]["receipt"], "")
        self.assertEqual(self.pay(8)["info"]["cardmask"], "980412****5526")
        self.assertEqual(self.taken(), [1500])

    def test_not_in_this_protocol(self) -> None:
        """Tasks that the protocol lacks are 5029; the journal knows nothing of them."""
        for task in (4, 5, 15, 16):
            self.assertAnswer(self.pay(task, sum=5, srvnum="1", parts=2, agreementNum="1"), 5029, 3)
        self.assertEqual(self.rows(), [])

    def test_service_methods(self) -> None:
        """Ping and echo are a diagnosis; there are no merchants."""
        for name in ("ping", "echo"):
            self.assertEqual(self.wait(Deferred.fromCoroutine(self.service.serve(name))), {"restxt": "OK"})
        self.assertEqual([self.service.has(name) for name in ("merchants", "masks")], [False, False])
        self.rule("probe", "lost_before")
        due = self.endpoint.wait(Deferred.fromCoroutine(self.service.check()))
        self.assertIs(self.failureResultOf(due, Refused).value.res, Res.TERMINAL_CONNECT)


class AnswerTests(SynchronousTestCase):
    """What an answer says."""

    def declined(self, condition: str, details: str = "", task: int = Task.PAYMENT) -> Declined:
        """A failure with a condition and the details beside it."""
        return _declined(Order(task, "u", 100), Response(Result.FAILURE, condition, details))

    def test_every_condition(self) -> None:
        """Each condition of the protocol has a result; an unknown one is 5009 with its name."""
        for condition in Condition:
            self.assertEqual(self.declined(condition).res, CONDITIONS[condition].code, condition)
        self.assertEqual(self.declined("Tired").res, 5009)
        self.assertEqual(self.declined("Tired").details, ("Tired",))

    def test_words(self) -> None:
        """What the words distinguish: printer and reader, a limit, the bank's own reason."""
        for condition, details, res in (
            (Condition.DEVICE_OUT, "message=Printer%20out%20of%20paper", 5005),
            (Condition.DEVICE_OUT, "message=Card%20reader", 5007),
            (Condition.PAYMENT_RESTRICTION, "refusalReason=Over%20limit", 5020),
            (Condition.REFUSAL, "refusalReason=210%20Not%20enough%20balance", 5024),
            (Condition.REFUSAL, "message=no", 5015),
        ):
            self.assertEqual(self.declined(condition, details).res, res, details)
        self.assertEqual(self.declined(Condition.NOT_FOUND, task=Task.REFUND).res, 5025)
        self.assertEqual(self.declined(Condition.NOT_FOUND, task=Task.CANCEL).res, 5027)
        bank = self.declined(Condition.REFUSAL, "refusalReason=210%20Not%20enough%20balance")
        self.assertEqual(bank.details, ("210 Not enough balance", "Refusal", "210"))

    def test_partly_without_a_sum(self) -> None:
        """A partial approval without an amount proves nothing."""
        anything: Any = None
        settings: Any = DRIVER.read({"host": "h", "poi_id": POI, "ca": NO_CERTIFICATE})
        driver = NexoDriver(settings, anything, anything, anything)
        answer = PaymentAnswer(Response(Result.PARTIAL))
        self.assertRaises(Garbled, driver._verdict, Order(Task.PAYMENT, "u", 100), answer)


class SettingsTests(SynchronousTestCase):
    """What a nexo terminal is set up with."""

    good: ClassVar[dict[str, Any]] = {"host": "192.0.2.1", "poi_id": POI, "ca": NO_CERTIFICATE}

    def test_defaults(self) -> None:
        """Address, name and certificate are enough; the key is secret."""
        settings = DRIVER.read(self.good)
        assert isinstance(settings, NexoSettings)
        self.assertEqual((settings.wait_s, settings.currency), (300, "UAH"))
        self.assertEqual(settings.url, "https://192.0.2.1:8443/nexo")
        self.assertEqual(settings.roots, [NO_CERTIFICATE.encode()])
        self.assertEqual(DRIVER.secrets, ("passphrase", "key_identifier", "notices_pem"))

    def test_addresses(self) -> None:
        """An IPv6 address is in brackets; several certificates are separated."""
        settings: Any = DRIVER.read({**self.good, "host": "2001:db8::1", "port": 99, "ca": NO_CERTIFICATE * 2})
        self.assertEqual((settings.url, len(settings.roots)), ("https://[2001:db8::1]:99/nexo", 2))

    def test_one_line(self) -> None:
        """Certificates and keys that a form of one line has robbed of their line breaks are read all the same."""
        key = make_key()
        certificate = pem(make_certificate(MORNING, key)).decode()
        both = (certificate + key_pem(key).decode()).replace("\n", "")
        settings: Any = DRIVER.read({**self.good, "ca": certificate.replace("\n", " ") * 2, "notices_pem": both})
        self.assertEqual(settings.roots, [certificate.encode()] * 2)
        whole = "".join(block for _, block in blocks_of(both))
        self.assertEqual(whole, certificate + key_pem(key).decode())

    def test_bad(self) -> None:
        """A wrong setting is refused with its path."""
        for members, path in (
            ({"host": ""}, "settings.host"),
            ({"interface": "serial", "serial_port": "COM3"}, "settings.interface"),
            ({"ca": "/etc/ca.pem"}, "settings.ca"),
            ({"notices_pem": NO_CERTIFICATE}, "settings.notices_pem"),
            ({"notices_pem": "secret"}, "settings.notices_pem"),
            ({"passphrase": "x"}, "settings.key_identifier"),
            ({"key_identifier": "x"}, "settings.passphrase"),
            ({"poi_id": ""}, "settings.poi_id"),
            ({"currency": "980"}, "settings.currency"),
        ):
            bad = self.assertRaises(BadSettings, DRIVER.read, {**self.good, **members})
            self.assertEqual(bad.path, path)

    def test_heavy_libraries(self) -> None:
        """HTTP client, TLS and ciphers are imported only where such a terminal is built."""
        code = (
            "import sys; from dmtwisted.devices.drivers import find_drivers; find_drivers(); "
            "print([name for name in ('treq', 'OpenSSL', 'cryptography', 'serial') if name in sys.modules])"
        )
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(told.stdout.strip(), "[]")


del FaultPromises, CardPromises
