"""The simulated cabinet's server: calls, books, scenarios, restarts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import LineLost, NotReached, Silent
from protocols.fiscal.cabinet.documents import C, Kind, decode, mac_of
from protocols.fiscal.cabinet.documents_rows import E, M, P
from protocols.fiscal.cabinet.documents_service import decode_numbers
from protocols.fiscal.cabinet.documents_z import NC, ZM
from protocols.fiscal.cabinet.messages import (
    CheckResponse,
    CheckType,
    RroInfoResponse,
    Status,
    StatusResponse,
)
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.simulators.cabinet_in_process import InProcessCall
from protocols.simulators.cabinet_register import claim_of, kind_of
from protocols.simulators.cabinet_rules import ELSEWHERE, NO_ID_IN_MAC
from protocols.simulators.cabinet_server import CabinetServerSimulator, Rules
from protocols.simulators.fiscal_calls import Ending
from protocols.simulators.fiscal_register import Registration
from tests.cabinet_papers import FN, PRICE, REGISTER, Till, answered, item, started

SECOND_FN = "4000000002"
SALE = C(t=Kind.SALE, rows=item())


class ServerTestCase(SynchronousTestCase):
    """A server with two registers and a till."""

    def setUp(self) -> None:
        self.clock = started()
        self.server = self.make()
        self.till = Till(self.server)

    def make(self, **options: Any) -> CabinetServerSimulator:
        """A server."""
        registers = (REGISTER, Registration(int(SECOND_FN), local=2))
        server = CabinetServerSimulator(self.clock, registers, **options)
        self.addCleanup(server.close)
        return server

    def rule(self, **rule: Any) -> None:
        """Set one rule."""
        self.server.scenario.replace({"rules": [rule]})

    def ledger(self) -> list[tuple[str, str, str, int, str]]:
        """The ledger as it is shown, without times."""
        return [(e.kind, e.status, e.number, e.sum, e.ref) for e in self.server.entries()]

    def assertStatus(self, answer: CheckResponse, status: Status, text: str = "") -> None:
        """Check status and text of an answer."""
        self.assertEqual(Status(answer.status), status, answer.error_message)
        self.assertIn(text, answer.error_message)


class CallTests(ServerTestCase):
    """What each method answers."""

    def test_a_day(self) -> None:
        """Documents get numbers and are in the ledger with their sums in kopecks and local numbers."""
        till = self.till
        numbers = [
            till.open(),
            till.put(10_000),
            till.sale(12_550),
            till.give_back(550),
            till.put(-3_000),
            till.close(),
        ]
        kinds = ["open", "cash_in", "sale", "return", "cash_out", "z"]
        sums = [0, 10_000, 12_550, 550, 3_000, 0]
        expected = zip(kinds, numbers, sums, strict=True)
        self.assertEqual(
            self.ledger(),
            [(kind, "accepted", number, sum, str(n)) for n, (kind, number, sum) in enumerate(expected)],
        )
        self.assertEqual(self.server.entries()[0].dt, "20260921090000")

    def test_last_document(self) -> None:
        """`lastChk` returns the last document's number and its XML; nothing for an empty register."""
        self.assertEqual(self.till.last(), CheckResponse())
        self.till.open()
        number = self.till.sale()
        last = self.till.last()
        self.assertEqual((last.id, last.id_sign), (number, number.encode()))
        self.assertEqual(mac_of(last.data_sign), self.till.tip)

    def test_numbers(self) -> None:
        """A request for numbers returns them signed, and is the last document afterwards."""
        answer = self.till.send(C(t=Kind.NUMBERS))
        self.assertEqual(len(decode_numbers(answer.data_sign)), 150)
        self.assertEqual(self.till.last().data_sign, self.till.xml)

    def test_state(self) -> None:
        """`statusRro` returns the shift and whether the register is online."""

        def state() -> tuple[bool, bool]:
            answer = self.server.receive("statusRro", self.till.asking).answer
            assert answer is not None
            found = StatusResponse.decode(answer)
            self.assertEqual(found.status, Status.OK)
            return found.open_shift, found.online

        self.assertEqual(state(), (False, True))
        self.till.open()
        self.assertEqual(state(), (True, True))
        self.till.ask_for_numbers()
        self.till.go_offline()
        self.assertEqual(state(), (True, False))
        self.till.come_back()
        self.till.close()
        self.assertEqual(state(), (False, True))

    def test_a_blocked_register(self) -> None:
        """A blocked register is told so until it is unblocked; its questions are answered."""
        self.till.open()
        self.server.block(int(FN))
        self.assertStatus(self.till.send(SALE), Status.ERROR_OFFLINE_168)
        answer = self.server.receive("statusRro", self.till.asking).answer
        assert answer is not None
        self.assertEqual(StatusResponse.decode(answer).status, Status.ERROR_OFFLINE_168)
        self.assertStatus(self.till.last(), Status.OK)
        self.server.unblock(int(FN))
        self.till.sale()

    def test_registration(self) -> None:
        """`infoRro` returns what is registered."""
        answer = self.server.receive("infoRro", self.till.asking).answer
        assert answer is not None
        found = RroInfoResponse.decode(answer)
        self.assertEqual((found.status, found.tins, found.lnum), (Status.OK, REGISTER.tin, 1))
        self.assertEqual((found.name_pay, found.offline_allowed), (REGISTER.org_name, True))
        self.server.change(int(FN), offline_allowed=False)
        answer = self.server.receive("infoRro", self.till.asking).answer
        assert answer is not None
        self.assertFalse(RroInfoResponse.decode(answer).offline_allowed)

    def test_ping(self) -> None:
        """A ping changes nothing; other documents are not pings, and a ping is not a document."""
        self.till.open()
        self.assertStatus(self.till.ping(), Status.OK)
        self.assertEqual(len(self.ledger()), 1)
        self.till.sale()
        check = self.till.check(SALE)
        self.assertStatus(answered(self.server.receive("ping", check.encode())), Status.ERROR_TYPE)
        self.assertStatus(self.till.send(C(t=Kind.PING)), Status.ERROR_TYPE)
        self.assertStatus(self.till.ping(local_number=5, di=5), Status.ERROR_TYPE)

    def test_unknown_register(self) -> None:
        """A register that is not registered, or not any more, is told so by each method."""
        stranger = Till(self.server, "4000000009")
        self.assertStatus(stranger.send(C(t=Kind.OPEN)), Status.ERROR_NOT_REGISTERED_RRO)
        self.assertStatus(stranger.last(), Status.ERROR_NOT_REGISTERED_RRO)
        self.assertStatus(stranger.ping(), Status.ERROR_NOT_REGISTERED_RRO)
        self.assertStatus(stranger.delete(), Status.ERROR_NOT_REGISTERED_RRO)
        for method, shape in (("statusRro", StatusResponse), ("infoRro", RroInfoResponse)):
            answer = self.server.receive(method, stranger.asking).answer
            assert answer is not None
            self.assertEqual(shape.decode(answer).status, Status.ERROR_NOT_REGISTERED_RRO)
        self.till.open()
        self.server.change(int(FN), closed=True)
        self.assertStatus(self.till.send(SALE), Status.ERROR_NOT_REGISTERED_RRO)

    def test_verified_each_time(self) -> None:
        """The same bytes are verified again in each call: the certificate may have expired meanwhile."""
        opened: list[bytes] = []

        def once(message: bytes) -> Signed:
            opened.append(message)
            if len(opened) > 1:
                raise WrongSignature("expired")
            return Signed(message)

        till = Till(self.make(open=once))
        till.open()
        assert till.sent is not None
        self.assertStatus(till.again(till.sent), Status.ERROR_VEREFY, "expired")

    def test_not_a_message(self) -> None:
        """Bytes that are not a message are refused."""
        self.assertStatus(answered(self.server.receive("sendChkV2", b"\xff\xff")), Status.ERROR_UNKNOWN)

    def test_deleted(self) -> None:
        """The last sale is deleted once; the ledger names it, and the chain goes on before it."""
        till = self.till
        till.open()
        tip = till.tip
        first = till.sale()
        self.assertStatus(till.delete("another"), Status.ERROR_CHECK, first)
        self.assertStatus(till.delete(first), Status.OK)
        self.assertStatus(till.delete(), Status.ERROR_CHECK)
        till.tip, till.local = tip, 1
        till.sale()
        self.assertStatus(till.delete(), Status.OK)
        self.assertEqual([line[0] for line in self.ledger()], ["open", "sale", "storno", "sale", "storno"])
        self.assertEqual(self.ledger()[2][2:], (first, 0, first))

    def test_two_registers(self) -> None:
        """Two registers have chains, shifts, numbers and reserved numbers of their own."""
        other = Till(self.server, SECOND_FN)
        for till in (self.till, other):
            till.open()
            till.sale()
            till.ask_for_numbers()
        self.assertFalse(set(self.till.numbers) & set(other.numbers))
        other.go_offline()
        self.till.sale()
        other.numbers[0] = self.till.numbers[0]
        self.assertStatus(other.send(SALE), Status.ERROR_OFFLINE_ID)
        self.till.close()
        self.assertStatus(self.till.send(SALE), Status.ERROR_NOT_OPEN_SHIFT)


class EnvelopeTests(ServerTestCase):
    """The call says the same as the document in it."""

    def setUp(self) -> None:
        super().setUp()
        self.till.open()

    def test_they_agree(self) -> None:
        """Every difference between call and document is refused; a document that agrees is accepted."""
        at = self.till.now
        for status, changes in (
            (Status.ERROR_XML, {"fn": SECOND_FN}),
            (Status.ERROR_XML, {"tn": "12345678"}),
            (Status.ERROR_XML, {"zn": "2"}),
            (Status.ERROR_TYPE, {"check_type": CheckType.SERVICECHK}),
            (Status.ERROR_TYPE, {"check_type": CheckType.UNKNOWN}),
            (Status.ERROR_XML_ZREPORT, {"check_type": CheckType.ZREPORT}),
            (Status.ERROR_XML_DATE, {"date_time": int(f"{at:%Y%m%d%H%M%S}") + 1}),
            (Status.ERROR_XML_CHK, {"di": 2}),
            (Status.ERROR_XML_CHK, {"local_number": 2}),
            (Status.ERROR_XML_CHK, {"id_offline": "abc"}),
            (Status.ERROR_XML_CHK, {"mac_id": "abc"}),
        ):
            self.assertStatus(self.till.send(SALE, **changes), status)
        self.till.sale()
        for tn in (REGISTER.tin, f"ІД {REGISTER.tin}", f"ПН {REGISTER.tin}"):
            self.till.sale(tn=tn)
        self.till.sale(zn="0")

    def test_no_mac(self) -> None:
        """A document without MAC is refused; a number in the call alone is refused in the words of the server."""
        self.assertStatus(self.till.send(SALE, id_offline="abc"), Status.ERROR_XML_CHK, NO_ID_IN_MAC)
        check = self.till.check(SALE)
        bare = self.till.xml.replace(b"<MAC>" + self.till.tip.encode() + b"</MAC>", b"")
        self.assertStatus(self.till.again(replace(check, check_sign=bare)), Status.ERROR_XML_CHK, "no MAC")

    def test_not_xml(self) -> None:
        """Content that is not a document is refused and is not in the ledger."""
        self.assertStatus(self.till.send(SALE, check_sign=b"<RQ>"), Status.ERROR_XML)
        self.assertEqual(len(self.ledger()), 1)

    def test_refused_documents_are_in_the_ledger(self) -> None:
        """A refused document is in the ledger with its sum, without a number."""
        self.till.send(SALE, mac="ab", di=7, local_number=7)
        self.assertEqual(self.ledger()[-1], ("sale", "refused", "", PRICE, "7"))


class ContentTests(ServerTestCase):
    """What has to add up."""

    def setUp(self) -> None:
        super().setUp()
        self.till.open()

    def test_receipts(self) -> None:
        """Payments that do not make the total are refused, and change no sums."""
        rows = (P(n=1, nm="Кава", sm=PRICE), M(n=2, sm=PRICE - 1), E(n=3, sm=PRICE))
        self.assertStatus(self.till.send(C(t=Kind.SALE, rows=rows)), Status.ERROR_XML_CHK)
        self.till.sale()
        self.till.close()

    def test_z_reports(self) -> None:
        """A Z-report with another sum or count than the shift is refused, the right one accepted."""
        self.till.put(10_000)
        self.till.sale(700)
        self.till.sale(300)
        self.till.give_back(300)
        for wrong in (
            {"counts": NC(ni=2, no=0)},
            {"payments": (ZM(smi=999, smo=300),)},
            {"cash": ()},
        ):
            self.assertStatus(self.till.send(self.till.report(**wrong)), Status.ERROR_XML_ZREPORT)
        self.till.close()
        self.till.open()
        self.till.close()

    def test_a_deleted_sale_does_not_count(self) -> None:
        """Neither a deleted sale nor a replaced online copy is in the sums of the shift."""
        till = self.till
        tip = till.tip
        till.sale(700)
        self.assertStatus(till.delete(), Status.OK)
        till.tip, till.local, till.sold, till.sales = tip, 1, 0, 0
        till.ask_for_numbers()
        till.sale(400)
        till.go_offline()
        till.local = 1
        till.sale(400)
        till.local, till.sold, till.sales = 3, 400, 1
        till.close()


class LedgerTests(ServerTestCase):
    """What the ledger says about documents."""

    def test_sums(self) -> None:
        """A sum is what the shop keeps: less the change, after rounding; a void receipt has none."""
        item_of = P(n=1, nm="Кава", sm=1_020)
        for due, rows in (
            (1_020, (item_of, M(n=2, sm=2_000, rm=980), E(n=3, sm=1_020))),
            (1_000, (item_of, M(n=2, sm=1_000, smb=1_020, smm=20), E(n=3, sm=1_020))),
            (1_020, (item_of, M(n=2, t=2, sm=500), M(n=3, sm=520), E(n=4, sm=1_020))),
            (0, (item_of, E(n=2, sm=1_020, vd=1))),
            (1_020, (item_of, E(n=2, sm=1_020))),
        ):
            check = self.till.check(C(t=Kind.SALE, rows=rows))
            self.assertEqual(claim_of(decode(self.till.xml), self.till.xml).amount, due)
            self.assertEqual(check.check_type, CheckType.CHK)

    def test_kinds(self) -> None:
        """Kinds are named as in all ledgers."""
        for kind, name in (
            (Kind.WITHDRAWAL, "withdrawal"),
            (Kind.TRANSFER_PAYOUT, "withdrawal"),
            (Kind.DUTY_FREE_SALE, "sale"),
            (Kind.DUTY_FREE_RETURN, "return"),
            (Kind.NUMBERS, "numbers"),
            (Kind.MIXED, "document"),
            (77, "document"),
        ):
            self.assertEqual(kind_of(C(t=kind)), name)

    def test_closed(self) -> None:
        """A server that was closed registers nothing."""
        file = Path(self.mktemp())
        server = self.make(ledger=file)
        server.close()
        self.assertRaises(ValueError, Till(server).open)


class RepeatTests(ServerTestCase):
    """The same document twice."""

    def test_answered_again(self) -> None:
        """The last document, sent once more, is answered as before and not registered twice."""
        self.till.open()
        number = self.till.sale()
        assert self.till.sent is not None
        self.assertEqual(self.till.again(self.till.sent).id, number)
        first = self.till.ask_for_numbers()
        again = self.till.again(self.till.sent)
        self.assertEqual(decode_numbers(again.data_sign), tuple(first))
        self.assertEqual(len(self.ledger()), 2)

    def test_not_after_another(self) -> None:
        """A document before the last one is refused, and so is another one with its local number."""
        self.till.open()
        self.till.sale()
        sent = self.till.sent
        assert sent is not None
        other = self.till.check(C(t=Kind.SALE, rows=item(700)), di=1, local_number=1)
        self.assertStatus(self.till.again(other), Status.ERROR_CHECK, "local number 1, 2 is expected")
        self.till.sale()
        self.assertStatus(self.till.again(sent), Status.ERROR_BAD_HASH_PREV, f"store {self.till.tip} chk ")

    def test_strict(self) -> None:
        """A server that answers no repeats refuses them for their hash, which is that of the document."""
        self.server = self.make(rules=Rules(answers_repeats=False))
        self.till = Till(self.server)
        self.till.open()
        assert self.till.sent is not None
        self.till.sale()
        self.assertStatus(self.till.again(self.till.sent), Status.ERROR_BAD_HASH_PREV, f"store {self.till.tip}")
        self.assertEqual([line[1] for line in self.ledger()], ["accepted", "accepted", "refused"])


class ScenarioTests(ServerTestCase):
    """Rules of the control language."""

    def setUp(self) -> None:
        super().setUp()
        self.till.open()

    def test_refuse(self) -> None:
        """A refusal has the status of its code, in every spelling, and registers nothing."""
        for code, status in (
            ("2", Status.ERROR_CHECK),
            ("-3", Status.ERROR_SAVE),
            ("16", Status.ERROR_OFFLINE_ID),
            ("1032", Status.ERROR_VEREFY),
            ("1047", Status.ERROR_OFFLINE_ID),
            ("", Status.ERROR_XML_CHK),
            ("17", Status.ERROR_XML_CHK),
            ("paper", Status.ERROR_XML_CHK),
        ):
            self.rule(on="sale", then="refuse", code=code)
            self.assertStatus(self.till.send(SALE), status, status.name)
        self.assertEqual({line[1] for line in self.ledger()[1:]}, {"refused"})
        self.rule(on="any", then="refuse", code="12")
        self.assertStatus(self.till.send(SALE, mac="ab"), Status.ERROR_BAD_HASH_PREV, f"store {self.till.tip} chk ab")
        self.till.sale()

    def test_lost_before(self) -> None:
        """The line breaks, and nothing happened."""
        self.rule(on="sale", then="lost_before", delay_ms=500)
        played = self.server.receive("sendChkV2", self.till.check(SALE).encode())
        self.assertEqual((played.ending, played.answer, played.delay_s), (Ending.BROKEN, None, 0.5))
        self.assertEqual(len(self.ledger()), 1)

    def test_lost_after(self) -> None:
        """It happened, and the line breaks."""
        self.rule(on="sale", then="lost_after")
        played = self.server.receive("sendChkV2", self.till.check(SALE).encode())
        self.assertEqual((played.ending, played.answer), (Ending.BROKEN, None))
        self.assertEqual(mac_of(self.till.last().data_sign), mac_of(self.till.xml))

    def test_silent_and_unreachable(self) -> None:
        """No answer, no connection: nothing happened."""
        for then, ending in (("silent", Ending.SILENT), ("unreachable", Ending.UNREACHABLE)):
            self.rule(on="sale", then=then)
            self.assertEqual(self.server.receive("sendChkV2", self.till.check(SALE).encode()).ending, ending)
        self.assertEqual(len(self.ledger()), 1)

    def test_garbage(self) -> None:
        """It happened, and the answer cannot be used."""
        self.rule(on="sale", then="garbage")
        played = self.server.receive("sendChkV2", self.till.check(SALE).encode())
        self.assertEqual(played.ending, Ending.HALF)
        self.rule(on="probe", then="garbage", code="200")
        played = self.server.receive("lastChk", self.till.asking)
        assert played.answer is not None
        self.assertRaises(ValueError, CheckResponse.decode, played.answer)
        self.rule(on="probe", then="garbage", code="cms")
        last = self.till.last()
        self.assertNotEqual(last.data_sign, self.till.xml)
        self.assertEqual(last.data_sign[:-1], self.till.xml[:-1])
        self.assertEqual(len(self.ledger()), 2)

    def test_by_kind(self) -> None:
        """Rules apply to their kind of call; `any` to all but questions and pings."""
        till = self.till
        self.rule(on="numbers", then="lost_after")
        till.sale()
        self.assertEqual(self.server.receive("sendChkV2", till.check(C(t=Kind.NUMBERS)).encode()).answer, None)
        self.rule(on="storno", then="refuse")
        self.assertStatus(till.last(), Status.OK)
        self.assertStatus(till.delete(), Status.ERROR_XML_CHK)
        self.rule(on="any", then="silent")
        entries = self.ledger()
        self.rule(on="probe", then="refuse", code="2")
        self.assertStatus(till.ping(), Status.ERROR_CHECK)
        self.assertEqual(self.ledger(), entries)
        self.rule(on="any", then="silent")
        self.assertStatus(till.ping(), Status.OK)
        self.assertStatus(till.last(), Status.OK)
        self.assertEqual(self.server.receive("delLastChk", till.asking).ending, Ending.SILENT)
        self.rule(on="probe", then="silent", times=2)
        self.assertEqual(self.server.receive("ping", till.check(C(t=Kind.PING)).encode()).ending, Ending.SILENT)
        self.assertEqual(self.server.receive("statusRro", till.asking).ending, Ending.SILENT)

    def test_delay(self) -> None:
        """An answer can be late."""
        self.rule(on="sale", then="accept", delay_ms=1500)
        played = self.server.receive("sendChkV2", self.till.check(SALE).encode())
        self.assertEqual((played.ending, played.delay_s), (Ending.WHOLE, 1.5))
        self.assertStatus(answered(played), Status.OK)


class RateTests(ServerTestCase):
    """The limit of calls."""

    def test_limit(self) -> None:
        """A key's calls in a minute are limited when the server is told so; a minute later there is room."""
        self.server = self.make(rules=Rules(calls_a_minute=3))
        till = Till(self.server)
        till.open()
        till.sale()
        self.clock.advance(30)
        till.last()
        for _ in range(2):
            self.assertStatus(till.last(), Status.ERROR_UNKNOWN, "too many requests, 3 a minute")
        self.clock.advance(29.9)
        self.assertStatus(till.last(), Status.ERROR_UNKNOWN)
        self.clock.advance(0.1)
        self.assertStatus(till.last(), Status.OK)

    def test_no_limit(self) -> None:
        """Without a limit every call is answered."""
        for _ in range(500):
            self.assertStatus(self.till.last(), Status.OK)


class RestartTests(ServerTestCase):
    """What a new process finds."""

    def setUp(self) -> None:
        super().setUp()
        self.file = Path(self.mktemp())
        self.archive = self.file.with_name("documents")
        self.restart()

    def restart(self) -> None:
        """Kill the server and start a new one on its files; the till goes on with it."""
        self.server.close()
        self.server = self.make(ledger=self.file, archive=self.archive)
        till = Till(self.server)
        till.__dict__.update({**self.till.__dict__, "server": self.server})
        self.till = till

    def test_goes_on(self) -> None:
        """Shift, chain, numbers, reserved numbers, Z-reports, session and block outlive the process at every step."""

        def step(do: Any, *args: Any) -> None:
            do(*args)
            before, last, entries = self.state(), self.till.last(), self.ledger()
            self.restart()
            self.assertEqual((self.state(), self.till.last(), self.ledger()), (before, last, entries))

        step(lambda: self.till.open())
        step(lambda: self.till.ask_for_numbers(20))
        step(lambda: self.till.sale())
        step(lambda: self.till.go_offline())
        step(lambda: self.till.sale())
        self.clock.advance(36 * 3600 + 1)
        step(lambda: self.till.sale())
        step(lambda: self.till.come_back())
        self.assertStatus(self.till.send(SALE), Status.ERROR_OFFLINE_168)
        self.clock.advance(30 * 24 * 3600)
        step(lambda: self.till.close())
        step(lambda: self.till.open())
        tip = self.till.tip
        step(lambda: self.till.sale())
        step(lambda: self.till.delete())
        self.till.tip, self.till.local = tip, 1
        self.assertStatus(self.till.delete(), Status.ERROR_CHECK)
        step(lambda: self.till.ask_for_numbers(20))

    def state(self) -> tuple[Any, ...]:
        """What the server knows of the register."""
        record = self.server.books.registers[FN]
        return (
            *(record.tip, record.next_local, record.z, record.shift, record.last, record.before),
            *(record.online, record.offline, tuple(record.reserved), record.given, record.blocked_until),
            record.sums,
        )

    def test_killed_before_the_ledger(self) -> None:
        """A document that is in the archive only gets its entry at the next start, its reversal too."""
        self.till.open()
        self.till.ask_for_numbers()
        self.till.sale()
        local, at = self.till.local - 1, self.till.now
        self.till.go_offline()
        self.till.local = local
        self.till.hand_in(SALE, at=at)
        whole = self.file.read_bytes()
        entries = self.ledger()
        self.assertEqual([line[0] for line in entries], ["open", "sale", "sale", "storno"])
        lines = whole.splitlines(keepends=True)
        for left in range(len(lines)):
            self.server.close()
            self.file.write_bytes(b"".join(lines[:left]) + lines[left][:5])
            self.restart()
            self.assertEqual(self.ledger(), entries)

    def test_killed_before_the_archive(self) -> None:
        """A document that is cut short in the archive was never registered."""
        self.till.open()
        length = self.archive.stat().st_size
        check = self.till.check(SALE)
        self.till.again(check)
        self.server.close()
        ledger = self.file.read_bytes().splitlines(keepends=True)
        self.archive.write_bytes(self.archive.read_bytes()[: length + 40])
        self.file.write_bytes(ledger[0])
        self.restart()
        self.assertStatus(self.till.again(check), Status.OK)
        self.assertEqual([line[0] for line in self.ledger()], ["open", "sale"])

    def test_refused_entries_do_not_count(self) -> None:
        """Refusals in the ledger do not hide a missing entry."""
        self.till.open()
        self.till.send(SALE, mac="ab")
        self.till.sale()
        lines = self.file.read_bytes().splitlines(keepends=True)
        self.server.close()
        self.file.write_bytes(b"".join(lines[:2]))
        self.restart()
        self.assertEqual(
            [line[:2] for line in self.ledger()],
            [
                ("open", "accepted"),
                ("sale", "refused"),
                ("sale", "accepted"),
            ],
        )

    def test_a_register_that_is_gone(self) -> None:
        """Documents of a register that is not simulated any more stay in the books; its shift binds no key."""

        def signed(message: bytes) -> Signed:
            return Signed(message, "ab", "Anna")

        self.server.close()
        self.server = self.make(ledger=self.file, archive=self.archive, open=signed)
        other = Till(self.server, SECOND_FN)
        other.open()
        self.till.server = self.server
        self.assertStatus(self.till.send(C(t=Kind.OPEN)), Status.ERROR_CHECK, ELSEWHERE)
        self.server.close()
        entries = self.ledger()
        self.server = CabinetServerSimulator(self.clock, (REGISTER,), self.file, self.archive, signed)
        self.addCleanup(self.server.close)
        self.assertEqual(self.ledger(), entries)
        self.till.server = other.server = self.server
        self.assertStatus(other.send(SALE), Status.ERROR_NOT_REGISTERED_RRO)
        self.till.open()


class InProcessTests(ServerTestCase):
    """The server without a socket."""

    def test_endings(self) -> None:
        """Answers, late answers and broken lines come as over a line."""

        clock = Clock()
        call = InProcessCall(self.server, clock)

        def ask() -> Deferred[bytes]:
            return Deferred.fromCoroutine(call("lastChk", self.till.asking, 5))

        self.assertEqual(CheckResponse.decode(self.successResultOf(ask())), CheckResponse())
        self.rule(on="probe", then="accept", delay_ms=2000)
        late = ask()
        clock.advance(1.9)
        self.assertNoResult(late)
        clock.advance(0.1)
        self.successResultOf(late)
        for then, failure, wait in (
            ("unreachable", NotReached, 0),
            ("lost_before", LineLost, 0),
            ("lost_after", LineLost, 0),
            ("garbage", LineLost, 0),
            ("silent", Silent, 5),
        ):
            self.rule(on="probe", then=then)
            asked = ask()
            clock.advance(wait)
            self.failureResultOf(asked, failure)
        self.rule(on="probe", then="accept", delay_ms=6000)
        asked = ask()
        clock.advance(5)
        self.failureResultOf(asked, Silent)

    def test_given_up(self) -> None:
        """A caller that gives up gets the failure at once."""

        self.rule(on="probe", then="silent")
        asked = Deferred.fromCoroutine(InProcessCall(self.server, Clock())("lastChk", self.till.asking, 5))
        asked.cancel()
        self.failureResultOf(asked, LineLost)
