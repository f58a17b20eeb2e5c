"""The simulated cabinet's server on its port: ``dmtwisted simulate tax --protocol b`` in memory, and its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import LineLost, NotReached, Silent, WireError
from protocols.fiscal.cabinet.client import CabinetCall
from protocols.fiscal.cabinet.documents import C, Kind, mac_of
from protocols.fiscal.cabinet.messages import METHODS, CheckResponse, Status
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.signer import open_signer
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.https import roots_in
from protocols.grpc.statuses import CallFailed, Code
from protocols.simulators.cabinet_rules import ELSEWHERE, ONE_SIGNER
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.fiscal_keys import PASSWORD, Cashier, open_keys, write_cashier
from protocols.simulators.in_process import InProcessEndpoint
from tests.cabinet_papers import FN, Till, item
from tests.test_simulate import NOON, Simulation, options
from tests.test_tax_simulator import NOW, made

SALE = C(t=Kind.SALE, rows=item())


class SiteCase(SynchronousTestCase):
    """The command, a cashier with a key, and a client in memory."""

    def setUp(self) -> None:
        files, self.signer = made()
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        self.begin()

    def begin(self, *more: str) -> None:
        """Start it."""
        self.simulation = Simulation(self, "tax", "--protocol", "b", "--keys", str(self.folder), *more)
        self.clock = self.simulation.reactor
        factory = self.simulation.factory
        self.server: CabinetServerSimulator = getattr(factory, "wrappedFactory", factory)._server
        self.till = Till(self.server, sign=self.signer.sign)
        roots = roots_in((self.folder / "authority.pem").read_bytes()) if "--tls" in more else None
        self.call = CabinetCall(self.clock, f"http{'s' if roots else ''}://localhost:8700", roots, line=self.line)
        self.addCleanup(self.call.close)

    def line(self, host: str, port: int) -> IStreamClientEndpoint:
        """A line to the port."""
        return InProcessEndpoint(self.simulation.factory, self.clock)

    def rule(self, **rule: Any) -> None:
        """Set one rule, by the control port."""
        self.simulation.json("PUT", "/scenario", {"rules": [rule]})

    def turns(self, seconds: float = 0.0) -> None:
        """Let what was written arrive, ``seconds`` later."""
        for _ in range(60):
            self.clock.advance(0)
        self.clock.advance(seconds)
        for _ in range(60):
            self.clock.advance(0)

    def ask(self, method: str, request: bytes) -> Deferred[bytes]:
        """Call the server."""
        asked = Deferred.fromCoroutine(self.call(method, request, 20))
        self.turns()
        return asked

    def answer(self, method: str, request: bytes) -> CheckResponse:
        """The answer to a call."""
        return CheckResponse.decode(self.successResultOf(self.ask(method, request)))

    def hand_in(self, content: C) -> CheckResponse:
        """Send the till's next document; it goes on when the document is accepted."""
        check = self.till.check(content)
        xml = self.till.xml
        answer = self.answer("sendChkV2", check.encode())
        if answer.status == Status.OK:
            self.till.took(content, xml, answer, check.id_offline)
        return answer


class SiteTests(SiteCase):
    """What clients see on the port."""

    def test_documents(self) -> None:
        """Signed documents come back with a number that the server's key signed."""
        answer = self.hand_in(C(t=Kind.OPEN))
        self.assertEqual(answer.status, Status.OK, answer.error_message)
        (root,) = read_certificates((self.folder / "root.cer").read_bytes())
        verdict = verify(answer.id_sign, NOON, Trust([root]))
        self.assertTrue(verdict.valid, verdict.faults)
        self.assertEqual(verdict.content, answer.id.encode())
        self.assertEqual(self.hand_in(SALE).status, Status.OK)
        last = self.answer("lastChk", self.till.asking)
        self.assertEqual(mac_of(verify(last.data_sign, NOON, Trust([root])).content), self.till.tip)
        self.assertEqual(self.simulation.entries, [("open", "accepted", 0), ("sale", "accepted", 5_000)])

    def test_every_method(self) -> None:
        """Every method answers; the one that ended in 2021 does not exist any more."""
        for method in METHODS:
            self.successResultOf(self.ask(method, self.till.asking))
        failure = self.failureResultOf(self.ask("sendChk", b""), CallFailed)
        self.assertEqual(failure.value.code, Code.UNIMPLEMENTED)

    def test_unsigned(self) -> None:
        """A document without a signature, or with a wrong one, is refused."""
        check = self.till.check(C(t=Kind.OPEN), check_sign=b"<RQ></RQ>")
        self.assertEqual(self.answer("sendChkV2", check.encode()).status, Status.ERROR_VEREFY)
        signed = self.signer.sign(self.till.xml).replace(b'T="108"', b'T="109"')
        check = self.till.check(C(t=Kind.OPEN), check_sign=signed)
        self.assertEqual(self.answer("sendChkV2", check.encode()).status, Status.ERROR_VEREFY)

    def test_endings(self) -> None:
        """Each rule ends a call in its own way, and the next call is answered."""
        endings: tuple[tuple[dict[str, Any], type[WireError], float], ...] = (
            ({"then": "lost_before"}, LineLost, 0),
            ({"then": "lost_after"}, LineLost, 0),
            ({"then": "silent"}, Silent, 20),
            ({"then": "garbage"}, LineLost, 0),
            ({"then": "unreachable"}, LineLost, 0),
        )
        for rule, failure, wait in endings:
            self.rule(on="probe", **rule)
            asked = self.ask("lastChk", self.till.asking)
            if wait:
                self.assertNoResult(asked)
                self.turns(wait)
            self.failureResultOf(asked, failure)
            self.assertEqual(self.answer("lastChk", self.till.asking), CheckResponse())

    def test_unreachable(self) -> None:
        """A rule for everything turns the next caller away."""
        self.rule(on="any", then="unreachable")
        self.failureResultOf(self.ask("lastChk", self.till.asking), NotReached)
        self.assertEqual(self.answer("lastChk", self.till.asking), CheckResponse())

    def test_delay(self) -> None:
        """An answer comes as late as its rule says."""
        self.rule(on="probe", then="accept", delay_ms=3_000)
        asked = self.ask("lastChk", self.till.asking)
        self.turns(2.9)
        self.assertNoResult(asked)
        self.turns(0.2)
        self.successResultOf(asked)

    def test_wrong_signers(self) -> None:
        """Answers of an unknown authority and with an expired certificate do not verify."""
        (root,) = read_certificates((self.folder / "root.cer").read_bytes())
        self.hand_in(C(t=Kind.OPEN))
        for code in ("foreign", "expired", "cms"):
            self.rule(on="probe", then="garbage", code=code)
            last = self.answer("lastChk", self.till.asking)
            self.assertFalse(verify(last.data_sign, NOON, Trust([root])).valid, code)
        self.assertTrue(verify(self.answer("lastChk", self.till.asking).data_sign, NOON, Trust([root])).valid)

    def test_tls(self) -> None:
        """With TLS its port uses a certificate of the authority beside the keys, and turns callers away too."""
        self.begin("--tls")
        self.assertIn("gRPC over TLS", self.simulation.running.line)
        self.assertEqual(self.answer("lastChk", self.till.asking), CheckResponse())
        self.begin("--tls")
        self.rule(on="any", then="unreachable")
        self.failureResultOf(self.ask("lastChk", self.till.asking), NotReached)


class CommandTests(SiteCase):
    """Options and the control port."""

    def test_restart(self) -> None:
        """With a ledger the server goes on after a restart; its documents are beside it."""
        ledger = Path(self.mktemp())
        self.begin("--ledger", str(ledger))
        self.hand_in(C(t=Kind.OPEN))
        till = self.till
        self.simulation.running.peer.close()
        self.begin("--ledger", str(ledger))
        self.till.tip, self.till.local = till.tip, till.local
        self.assertEqual(self.hand_in(SALE).status, Status.OK)
        self.assertEqual([kind for kind, _, _ in self.simulation.entries], ["open", "sale"])
        self.assertTrue(ledger.with_name(ledger.name + ".documents").exists())

    def test_two_registers(self) -> None:
        """One key has one open shift: another register needs another key, and so does another cashier."""
        second = Till(self.server, "4000000002", self.signer.sign)
        self.hand_in(C(t=Kind.OPEN))
        first, self.till = self.till, second
        self.assertIn(ELSEWHERE, self.hand_in(C(t=Kind.OPEN)).error_message)
        keys, _ = open_keys(self.folder, NOW)
        file, _ = write_cashier(self.folder, keys, "second", Cashier("Тарас Бондар"), NOW)
        other = open_signer(file.read_bytes(), PASSWORD)
        second.sign = other.sign
        self.assertEqual(self.hand_in(C(t=Kind.OPEN)).status, Status.OK)
        first.sign, self.till = other.sign, first
        self.assertIn(ONE_SIGNER, self.hand_in(SALE).error_message)

    def test_control(self) -> None:
        """The control port blocks, changes registrations and clock, and shows the state."""
        register = {"register": int(FN)}
        self.hand_in(C(t=Kind.OPEN))
        for deed, body, status in (
            ("block", register, Status.ERROR_OFFLINE_168),
            ("unblock", register, Status.OK),
            ("registration", {**register, "closed": True}, Status.ERROR_NOT_REGISTERED_RRO),
            ("registration", register, Status.OK),
            ("operators", {**register, "keys": ["ab"]}, Status.ERROR_NOT_REGISTERED_SIGNER),
            ("operators", register, Status.OK),
            ("clock", {"offset_s": 3_600}, Status.ERROR_XML_DATE),
            ("clock", {"offset_s": 60}, Status.OK),
        ):
            self.simulation.json("POST", f"/{deed}", body)
            self.assertEqual(self.hand_in(SALE).status, status, deed)
        state = self.simulation.json("GET", "/state")
        shown, other = state["registers"]
        self.assertEqual((state["offset_s"], shown["number"], other["local"]), (60, int(FN), 2))
        self.assertEqual((shown["shift_open"], shown["signer"]), (True, self.signer.facts.key_id))
        self.assertEqual((shown["next_local_number"], shown["hash"]), (self.till.local, self.till.tip))
        self.assertEqual(self.simulation.ask("POST", "/block", {"register": 17})[0], 422)

    def test_registers(self) -> None:
        """Registers are numbered within the outlet as they are named; limits of calls hold."""
        self.begin("--register", "17", "--register", FN, "--calls", "2", "--tin", "1234567890")
        numbers = [(each["number"], each["local"]) for each in self.simulation.json("GET", "/state")["registers"]]
        self.assertEqual(numbers, [(17, 1), (int(FN), 2)])
        for status in (Status.OK, Status.OK, Status.ERROR_UNKNOWN):
            self.assertEqual(self.answer("lastChk", self.till.asking).status, status)

    def test_refused_options(self) -> None:
        """Options of the other protocol are refused by name."""
        for words, said in (
            ("--protocol c", "--protocol"),
            ("--calls 5", "--calls"),
            ("--protocol b --calls 0", "--calls"),
            ("--protocol b --record file", "--record"),
            ("--protocol b --replay file", "--replay"),
            ("--protocol b --stamps", "--stamps"),
            ("--protocol b --refusals-as-text", "--refusals-as-text"),
        ):
            error = self.assertRaises(usage.UsageError, options, f"tax-service {words}")
            self.assertIn(said, str(error))
