"""The simulated fiscal server: its rules and their order, its answers, its memory, and what it does to a client."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal import command_answers, commands, packages
from protocols.fiscal.bodies import compress
from protocols.fiscal.check_head import DocType
from protocols.fiscal.check_xml import Check, CheckTotal
from protocols.fiscal.client import FiscalServer as Client
from protocols.fiscal.client import skew
from protocols.fiscal.command_answers import (
    DeviceOfRegister,
    DocumentForm,
    DocumentInfo,
    DocumentList,
    LastTotals,
    OperatorList,
    ShiftList,
    TicketOfDocument,
)
from protocols.fiscal.commands import Command
from protocols.fiscal.document_xml import Document, decode, decode_as, encode, with_head
from protocols.fiscal.offline import document_hash
from protocols.fiscal.signatures import Signed, WrongSignature, open_unsigned, unsigned
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.verdicts import (
    Accepted,
    Answered,
    Nothing,
    NotSent,
    PackageTaken,
    Refused,
    Session,
    Unknown,
)
from protocols.fiscal.zrep_xml import ZRep, ZRepCash
from protocols.simulators.fiscal_calls import Call, Ending
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_offline_rules import OfflineRecord, seed_of
from protocols.simulators.fiscal_register import Operator, Registration, claim_of
from protocols.simulators.fiscal_server import FiscalServer, Rules
from tests.fiscal_papers import KYIV, REGISTER, TIN, Shop, same_document
from tests.vectors.fiscal_crypto import OFFLINE_PACKAGE

START = datetime(2026, 9, 21, 9, tzinfo=KYIV).timestamp()

ABSENT, NO_RIGHT, WRONG_TIN, OPENED, NOT_OPENED, NO_Z, NUMBER, Z_THERE, INVALID, PACKAGE, QUERY, CRYPTO = range(1, 13)
"""Error codes of protocol A, as the tax service publishes them."""

HOUR = 3600

EQUIVALENT_SEED = "179620581609376"
"""A seed that gives the control numbers of the official package; its real one was never published."""


LAST_TOTALS = commands.LastShiftTotals(num_fiscal=REGISTER)


class ServerCase(SynchronousTestCase):
    """A server with its files, a client in the same process, and a shop."""

    rules = Rules()
    registrations: tuple[Registration, ...] = (Registration(REGISTER, tin=TIN),)

    def setUp(self) -> None:
        """Start with a closed shift."""
        folder = Path(self.mktemp()).absolute()
        self.ledger, self.archive = folder / "ledger", folder / "archive"
        self.clock = Clock()
        self.clock.advance(START)
        self.server = self.started()
        self.shop = Shop(self.clock.seconds)

    def started(self) -> FiscalServer:
        """The server as it starts on its files, and a client of it."""
        server = FiscalServer(self.clock, self.registrations, self.ledger, self.archive, rules=self.rules)
        self.addCleanup(server.close)
        exchange = InProcessExchange(server, self.clock, 30)
        self.client = Client(exchange, unsigned, open_unsigned, "http://fs/fs", lambda: "UID")
        return server

    def restart(self) -> None:
        """Stop the server and start it again."""
        self.server.close()
        self.server = self.started()

    def rule(self, on: str, then: str, **more: object) -> None:
        """Let one thing go wrong next."""
        self.server.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def result(self, asking: Any, seconds: float = 0.0) -> Any:
        """What a call of the client comes to, ``seconds`` later at most."""
        waiting = Deferred.fromCoroutine(asking)
        if seconds:
            self.clock.advance(seconds)
        return self.successResultOf(waiting)

    def hand_in(self, document: Document) -> Any:
        """What becomes of a document."""
        return self.result(self.client.register(encode(document), document))

    def take(self, document: Document) -> Accepted:
        """Hand in a document that has to be taken."""
        verdict = self.hand_in(document)
        self.assertIsInstance(verdict, Accepted, str(verdict))
        assert isinstance(verdict, Accepted)
        return verdict

    def refused(self, document: Document, code: int) -> str:
        """Hand in a document that has to be refused; its number is free again. The words."""
        verdict = self.hand_in(document)
        self.assertIsInstance(verdict, Refused, str(verdict))
        self.assertEqual(verdict.code, code, verdict.text)
        self.shop.next = document.head.ordernum
        return str(verdict.text)

    def day(self, *sales: int) -> None:
        """A whole day with sales."""
        self.take(self.shop.open())
        for _ in sales:
            self.take(self.shop.sale())
        self.take(self.shop.z(*((5000, 833) for _ in sales)))
        self.take(self.shop.close())

    def noted(self) -> list[tuple[str, str, str]]:
        """The entries as people see them."""
        return [(entry.kind, entry.status, entry.ref) for entry in self.server.entries()]

    def ask(self, command: Command, shape: Any) -> Any:
        """The answer to a command."""
        answer = self.result(self.client.ask(command, shape))
        self.assertIsInstance(answer, Answered, str(answer))
        return answer.value

    def state(self) -> command_answers.RegistrarState:
        """The register's state at the server."""
        answer = self.result(self.client.state(REGISTER))
        assert isinstance(answer, Answered)
        state = answer.value
        assert isinstance(state, command_answers.RegistrarState)
        return state


class DayTests(ServerCase):
    """What is right is taken."""

    def test_whole_day(self) -> None:
        """Two days with every kind of document are taken, with numbers of the server's."""
        shop = self.shop
        opened = self.take(shop.open())
        self.take(shop.cash(1000, 2))
        sold = self.take(shop.sale())
        self.take(shop.back(sold.fiscal_number))
        back = self.take(shop.sale(6000, 1000))
        self.take(shop.storno(back.fiscal_number))
        self.take(shop.cash(300, 4))
        report = shop.z((5000, 833), cash_in=1000, cash_out=300)
        self.take(dataclasses.replace(report, zrepreturn=report.zreprealiz))
        closed = self.take(shop.close())
        self.assertEqual(int(closed.fiscal_number) - int(opened.fiscal_number), 8)
        self.day(1, 1)
        kinds = [kind for kind, _, _ in self.noted()]
        self.assertEqual(kinds[:8], ["open", "cash_in", "sale", "return", "sale", "storno", "cash_out", "z"])
        self.assertEqual(kinds[8:], ["open", "sale", "sale", "z"])

    def test_entry(self) -> None:
        """An entry has number, sum, local number and time; a storno names the number that it reverses."""
        self.take(self.shop.open())
        sold = self.take(self.shop.sale())
        self.take(self.shop.storno(sold.fiscal_number))
        _, sale, storno = self.server.entries()
        self.assertEqual((sale.number, sale.sum, sale.ref), (sold.fiscal_number, 5000, "2"))
        self.assertEqual(sale.dt, "20260921090000")
        self.assertEqual((storno.kind, storno.sum, storno.ref), ("storno", 0, sold.fiscal_number))

    def test_session(self) -> None:
        """An offline session comes with the opening, and is the same when the state is asked for."""
        session = self.take(self.shop.open()).session
        self.assertIsNotNone(session)
        assert session is not None
        self.assertEqual(self.state().session, (session.id, session.seed))

    def test_withdrawal(self) -> None:
        """Cash paid out from a card has its own section of the report."""
        self.take(self.shop.open())
        self.take(self.shop.withdrawal(10000, 100))
        report = self.shop.z()
        self.refused(report, INVALID)
        cash = ZRepCash(sum=10000, commission=100, orderscnt=1)
        self.shop.next += 1
        self.take(dataclasses.replace(report, zrepcash=cash))

    def test_testing_shift(self) -> None:
        """A shift of tests takes nothing but tests, a fiscal one none."""
        self.shop.testing = True
        self.take(self.shop.open())
        self.shop.testing = False
        self.refused(self.shop.sale(), INVALID)
        self.shop.testing = True
        self.take(self.shop.sale())
        self.assertTrue(self.state().testing)


class RuleTests(ServerCase):
    """What is wrong is refused, with the code of the first rule that it breaks."""

    def test_unknown_register(self) -> None:
        """An unregistered register is refused before any other check."""
        self.refused(with_head(self.shop.sale(), cashregisternum=4000000203, tin="12345678"), ABSENT)

    def test_tin(self) -> None:
        """Another payer's code is refused before time and number are checked."""
        late = datetime(2026, 9, 20).date()
        self.refused(with_head(self.shop.open(), tin="12345678", orderdate=late, ordernum=9), WRONG_TIN)

    def test_time(self) -> None:
        """A time half an hour off is accepted, one second more is not; it is checked before the number."""
        for seconds in (1801, -1801):
            shop = Shop(lambda seconds=seconds: self.clock.seconds() + seconds)  # type: ignore[misc]
            self.refused(with_head(shop.open(), ordernum=9), INVALID)
        shop = Shop(lambda: self.clock.seconds() - 1800)
        self.take(shop.open())

    def test_clock_of_the_server(self) -> None:
        """A server whose clock is wrong refuses what is right, and its skew can be seen."""
        self.server.skew_s = 2000
        self.assertIn("не відповідають часу", self.refused(self.shop.open(), INVALID))
        answer = self.result(self.client.state_of_server())
        assert isinstance(answer, Answered)
        self.assertEqual(skew(answer.value, datetime.fromtimestamp(self.clock.seconds(), KYIV)), 2000)

    def test_number(self) -> None:
        """Numbers have no gaps from 1; the refusal names the due one; it is checked before the shift."""
        for number in (2, 9):
            words = self.refused(with_head(self.shop.sale(), ordernum=number), NUMBER)
            self.assertIn("дорівнювати 1", words)
        self.shop.next = 1
        self.day(1)
        self.assertIn("дорівнювати 5", self.refused(with_head(self.shop.sale(), ordernum=1), NUMBER))

    def test_refused_number_is_free(self) -> None:
        """A document that was refused has not used up its number."""
        self.refused(self.shop.sale(), NOT_OPENED)
        self.take(self.shop.open())

    def test_shift(self) -> None:
        """An open shift is not opened again, the refusal names who opened it; a closed one accepts nothing."""
        for make in (self.shop.sale, self.shop.z, self.shop.close):
            self.refused(make(), NOT_OPENED)
        self.take(self.shop.open())
        self.refused(self.shop.open(), OPENED)

    def test_z(self) -> None:
        """A shift is closed right after its Z; after the Z nothing but the closing is taken."""
        self.take(self.shop.open())
        self.refused(self.shop.close(), NO_Z)
        self.take(self.shop.z())
        for make in (self.shop.sale, self.shop.z):
            self.refused(make(), Z_THERE)
        self.take(self.shop.close())

    def test_z_totals(self) -> None:
        """A Z that says something else than the receipts is refused, and says where."""
        self.take(self.shop.open())
        self.take(self.shop.sale())
        self.assertIn("ZREPREALIZ", self.refused(self.shop.z((5000, 834)), INVALID))
        self.take(self.shop.z((5000, 833)))

    def test_arithmetic(self) -> None:
        """A receipt that does not add up is refused."""
        self.take(self.shop.open())
        self.refused(dataclasses.replace(self.shop.sale(), checktotal=CheckTotal(sum=5001)), INVALID)
        self.refused(self.shop.sale(5000, 1000), INVALID)

    def test_schema(self) -> None:
        """A document that does not keep to its schema is refused, and its faults are named."""
        document = self.shop.open()
        sent = encode(document).replace(b"<VER>1</VER>", b"")
        verdict = self.result(self.client.register(sent, document))
        self.assertEqual((type(verdict), verdict.code), (Refused, INVALID))
        self.assertIn("CHECK/CHECKHEAD/VER", verdict.text)

    def test_two_codes(self) -> None:
        """A row with UKTZED and DKPP is refused; one of the two is taken."""
        self.take(self.shop.open())
        sale = self.shop.sale()
        (row,) = sale.checkbody
        goods, services = (
            dataclasses.replace(sale, checkbody=(dataclasses.replace(row, uktzed=uktzed, dkpp=dkpp),))
            for uktzed, dkpp in (("2203000100", None), (None, "56.10"))
        )
        both = encode(goods).replace(b"</UKTZED>", b"</UKTZED><DKPP>56.10</DKPP>")
        verdict = self.result(self.client.register(both, goods))
        self.assertEqual((type(verdict), verdict.code), (Refused, INVALID))
        self.assertIn("CHECK/CHECKBODY/ROW[1]/DKPP", verdict.text)
        self.take(services)

    def test_sender_before_schema(self) -> None:
        """Register and payer are checked before the schema."""
        for old, new, code in ((f">{REGISTER}<", ">5<", ABSENT), (f"<TIN>{TIN}<", "<TIN>x<", WRONG_TIN)):
            document = self.shop.open()
            sent = encode(document).replace(b"<VER>1</VER>", b"").replace(old.encode(), new.encode())
            self.assertEqual(self.result(self.client.register(sent, document)).code, code)

    def test_content(self) -> None:
        """A document without the sections of its kind is refused."""
        self.take(self.shop.open())
        self.refused(dataclasses.replace(self.shop.sale(), checkpay=()), INVALID)

    def test_storno(self) -> None:
        """Only the last document can be taken back, and only once."""
        self.take(self.shop.open())
        first, second = self.take(self.shop.sale()), self.take(self.shop.sale())
        self.refused(self.shop.storno(first.fiscal_number), INVALID)
        self.take(self.shop.storno(second.fiscal_number))
        self.refused(self.shop.storno(second.fiscal_number), INVALID)
        self.take(self.shop.z((5000, 833)))

    def test_offline_alone(self) -> None:
        """A document that was made offline is not taken outside of a package."""
        session = self.take(self.shop.open()).session
        assert session is not None
        self.shop.begin(session.id, session.seed)
        self.shop.next -= 1
        sent = self.shop.made(self.shop.sale())
        verdict = self.result(self.client.register(sent, decode(sent)))
        self.assertEqual((type(verdict), verdict.code), (Refused, INVALID))

    def test_blocked(self) -> None:
        """A blocked register is refused until the next month."""
        self.take(self.shop.open())
        self.server.block(REGISTER)
        self.assertIn("168", self.refused(self.shop.sale(), INVALID))
        self.clock.advance((datetime(2026, 10, 1, tzinfo=KYIV).timestamp()) - self.clock.seconds() - 1)
        self.refused(self.shop.sale(), INVALID)
        self.clock.advance(1)
        self.take(self.shop.sale())

    def test_refused_entry(self) -> None:
        """What was refused is in the ledger, without a number."""
        self.refused(self.shop.sale(), NOT_OPENED)
        (entry,) = self.server.entries()
        self.assertEqual((entry.kind, entry.status, entry.number, entry.sum), ("sale", "refused", "", 5000))


class TextRefusalTests(ServerCase):
    """A server that refuses with text, as is met in the field."""

    rules = Rules(refusals_as_text=True)

    def test_text(self) -> None:
        """A text and a ticket give the client the same code."""
        head = with_head(self.shop.open(), ordernum=5)
        self.assertIn("дорівнювати 1", self.refused(head, NUMBER))
        verdict = self.hand_in(self.shop.sale())
        self.assertEqual((verdict.code, verdict.status), (NUMBER, 400))


class KeyTests(ServerCase):
    """Who may sign."""

    registrations = (
        Registration(REGISTER, tin=TIN, operators=(Operator("aa", "Касир"), Operator("cc", "Головний", chief=True))),
    )
    key = "aa"

    def started(self) -> FiscalServer:
        """A server that opens messages ``key:content`` and signs with ``server:``."""
        server = FiscalServer(
            *(self.clock, self.registrations, self.ledger, self.archive, self.opened),
            seal=lambda content: b"server:" + content,
            rules=self.rules,
        )
        self.addCleanup(server.close)
        exchange = InProcessExchange(server, self.clock, 30)
        self.client = Client(exchange, self.sign, self.opened, "http://fs/fs")
        return server

    async def sign(self, content: bytes) -> bytes:
        """Sign with the key of the moment."""
        return self.key.encode() + b":" + content

    def opened(self, message: bytes) -> Signed:
        """Open a message that was signed."""
        key, colon, content = message.partition(b":")
        if not colon or key not in (b"aa", b"bb", b"cc", b"server"):
            raise WrongSignature("no key")
        return Signed(content, key.decode(), f"Касир {key.decode()}")

    def hand_in(self, document: Document) -> Any:
        """What becomes of a signed document."""
        return self.result(self.client.register(self.key.encode() + b":" + encode(document), document))

    def test_right(self) -> None:
        """A key without right is refused before the payer's code; the ticket is signed by the server."""
        self.key = "bb"
        self.refused(with_head(self.shop.open(), tin="12345678"), NO_RIGHT)
        self.key = "aa"
        self.take(self.shop.open())
        state = self.state()
        self.assertEqual((state.subject_key_id, state.chief_cashier), ("aa", False))

    def test_unsigned(self) -> None:
        """What is not signed is an error of cryptography."""
        document = self.shop.open()
        verdict = self.result(self.client.register(encode(document), document))
        self.assertEqual((type(verdict), verdict.code), (Refused, CRYPTO))

    def test_session_is_for_few(self) -> None:
        """Only the opener and a chief see the offline session."""
        self.take(self.shop.open())
        self.assertIsNotNone(self.state().session)
        self.key = "cc"
        self.assertIsNotNone(self.state().session)
        self.take(self.shop.z())
        self.take(self.shop.close())
        self.take(self.shop.open())
        self.key = "aa"
        self.assertIsNone(self.state().session)

    def test_operators(self) -> None:
        """The keys of the payer are listed; a key without right gets nothing."""
        found = self.ask(commands.Operators(), OperatorList)
        self.assertEqual([operator.subject_key_id for operator in found.operators], ["aa", "cc"])
        self.key = "bb"
        self.assertEqual(self.result(self.client.ask(commands.Operators(), OperatorList)), Nothing())
        self.assertEqual(self.result(self.client.objects()), Nothing())
        refused = self.result(self.client.state(REGISTER))
        self.assertEqual((type(refused), refused.code), (Refused, NO_RIGHT))

    def test_receipts_for_all(self) -> None:
        """Every client may fetch a receipt, signed by the server; a Z-report needs the right."""
        self.take(self.shop.open())
        self.take(self.shop.z())
        self.assertIsInstance(self.result(self.client.fetch(REGISTER, 1)), Answered)
        self.assertIsInstance(self.result(self.client.fetch(REGISTER, 2, z_report=True)), Answered)
        self.key = "bb"
        self.assertIsInstance(self.result(self.client.fetch(REGISTER, 1)), Answered)
        refused = self.result(self.client.fetch(REGISTER, 2, z_report=True))
        self.assertEqual((type(refused), refused.code), (Refused, NO_RIGHT))

    def test_survives(self) -> None:
        """Who opened the shift is known after a restart."""
        self.take(self.shop.open())
        self.restart()
        self.assertEqual(self.state().subject_key_id, "aa")


class OfflineTests(ServerCase):
    """Documents that were made offline, and come as a package."""

    def setUp(self) -> None:
        """An open shift, and the session that came with it."""
        super().setUp()
        session = self.take(self.shop.open()).session
        assert session is not None
        self.session = session

    def package(self, *documents: Callable[[], Document], end: bool = True) -> list[bytes]:
        """A whole session."""
        sent = [self.shop.begin(self.session.id, self.session.seed)]
        sent += [self.shop.made(make()) for make in documents]
        return [*sent, self.shop.end()] if end else sent

    def hand_over(self, *sent: bytes) -> Any:
        """What becomes of a package."""
        return self.result(self.client.hand_in(packages.join(sent)))

    def test_taken(self) -> None:
        """A session is taken with the register's own numbers, and brings the next session."""
        sent = self.package(self.shop.sale, lambda: self.shop.cash(100, 2))
        taken = self.hand_over(*sent)
        self.assertIsInstance(taken, PackageTaken)
        self.assertNotEqual(taken.session, self.session)
        self.assertEqual(taken.session.seed, seed_of(taken.session.id))
        self.assertEqual(self.noted()[1:], [("sale", "accepted", "3"), ("cash_in", "accepted", "4")])
        self.assertEqual(self.server.entries()[1].number, decode(sent[1]).head.ordertaxnum)
        self.take(self.shop.z((5000, 833), cash_in=100))

    def test_in_parts(self) -> None:
        """A session comes in several packages; until the last one nothing online is taken."""
        sent = self.package(self.shop.sale, self.shop.sale)
        self.assertEqual(self.hand_over(*sent[:2]), PackageTaken())
        state = self.state()
        self.assertEqual((state.next_local_num, state.offline_next_local_num), (4, 3))
        online = self.shop.next
        self.shop.next = 4
        self.refused(self.shop.sale(), INVALID)
        self.shop.next = online
        self.assertIsNotNone(self.hand_over(*sent[2:]).session)

    def test_shifts_inside(self) -> None:
        """Shifts are closed and opened within a session."""
        sent = self.package(
            *(self.shop.sale, lambda: self.shop.z((5000, 833)), self.shop.close, self.shop.open, self.shop.sale)
        )
        self.assertIsNotNone(self.hand_over(*sent).session)
        self.assertEqual(self.state().shift_state, 1)
        self.take(self.shop.z((5000, 833)))

    def test_again(self) -> None:
        """A package whose answer was lost is handed in again, after a restart too, and taken once."""
        sent = self.package(self.shop.sale)
        first = self.hand_over(*sent)
        self.restart()
        self.assertEqual(self.hand_over(*sent), first)
        self.assertEqual([kind for kind, _, _ in self.noted()], ["open", "sale"])

    def test_all_or_none(self) -> None:
        """A package with one wrong document is refused whole, and the document is named."""
        sent = self.package(self.shop.sale, self.shop.sale)
        wrong = [*sent[:2], sent[2].replace(b"<CASHIER>\xca", b"<CASHIER>\xcb"), sent[3]]
        refused = self.hand_over(*wrong)
        self.assertEqual((refused.code, self.noted()), (PACKAGE, [("open", "accepted", "1")]))
        self.assertIn("за № 4 в пакеті", refused.text)
        self.assertIn(f"дислокація {sum(map(len, wrong[:3])) + 12}", refused.text)
        self.assertIsInstance(self.hand_over(*sent), PackageTaken)

    def test_wrong(self) -> None:
        """Opening, order, hash, control number and numbers of each document have to be right."""
        sent = self.package(self.shop.sale, self.shop.sale)
        begin, first, second, end = sent
        number = decode(first).head.ordertaxnum
        assert number is not None
        forged = first.replace(number.encode(), f"{self.session.id}.2.10000".encode())
        for package, code in (
            *((sent[1:], NUMBER), ([begin, second, end], NUMBER), ([begin, begin], NUMBER)),
            *(([begin, forged], PACKAGE), ([first, second], NUMBER), ([begin, b"<CHECK/>"], PACKAGE)),
        ):
            self.assertEqual(self.hand_over(*package).code, code)
        self.assertEqual(len(self.noted()), 1)

    def test_not_an_offline_document(self) -> None:
        """An online document has no place in a package."""
        sent = self.package(end=False)
        self.shop.offline = False
        self.assertEqual(self.hand_over(*sent, encode(self.shop.sale())).code, PACKAGE)

    def test_back_in_time(self) -> None:
        """A document is not older than the one before it."""
        begin = self.shop.begin(self.session.id, self.session.seed)
        self.shop.seconds = lambda: self.clock.seconds() - 1
        self.assertEqual(self.hand_over(begin, self.shop.made(self.shop.sale())).code, PACKAGE)

    def test_old_documents(self) -> None:
        """Offline documents may be a day old."""
        sent = self.package(self.shop.sale)
        self.clock.advance(24 * HOUR)
        self.assertIsInstance(self.hand_over(*sent), PackageTaken)

    def test_too_many(self) -> None:
        """A package has at most 100 documents."""
        sent = self.package(*[self.shop.sale] * 99)
        self.assertEqual(self.hand_over(*sent).code, PACKAGE)
        self.assertEqual(self.hand_over(*sent[:100]), PackageTaken())
        self.assertIsNotNone(self.hand_over(*sent[100:]).session)

    def test_too_long(self) -> None:
        """Over 36 hours in a session are taken, and then the register is blocked until the month ends."""
        begin = self.shop.begin(self.session.id, self.session.seed)
        self.clock.advance(36 * HOUR + 60)
        sent = [begin, self.shop.made(self.shop.sale()), self.shop.end()]
        self.assertIsInstance(self.hand_over(*sent), PackageTaken)
        self.refused(self.shop.sale(), INVALID)

    def test_just_not_too_long(self) -> None:
        """36 hours are allowed; the end of the session itself may come later."""
        begin = self.shop.begin(self.session.id, self.session.seed)
        self.clock.advance(36 * HOUR)
        sold = self.shop.made(self.shop.sale())
        self.clock.advance(HOUR)
        self.assertIsInstance(self.hand_over(begin, sold, self.shop.end()), PackageTaken)
        self.assertEqual(self.state().offline_sessions_monthly_duration, Decimal(36 * 60))
        self.take(self.shop.sale())

    def test_month(self) -> None:
        """Over 168 hours in a month block the register, though no session was too long."""
        session = self.session
        for number in range(6):
            begin = self.shop.begin(session.id, session.seed)
            self.clock.advance(30 * HOUR)
            sold = self.shop.made(self.shop.sale())
            taken = self.hand_over(begin, sold, self.shop.end())
            self.assertIsInstance(taken, PackageTaken, f"session {number}: {taken}")
            session = taken.session
        self.refused(self.shop.sale(), INVALID)

    def test_revoked(self) -> None:
        """A session's opening revokes the last online document: it leaves the totals, and the ledger shows it."""
        sold = self.take(self.shop.sale())
        wrong = self.shop.begin(self.session.id, self.session.seed, revoke=True, skips=True)
        self.assertEqual(self.hand_over(wrong).code, 7)
        self.shop.next -= 1
        sent = [self.shop.begin(self.session.id, self.session.seed, revoke=True), self.shop.made(self.shop.sale())]
        self.assertEqual(self.hand_over(*sent), PackageTaken())
        # The opening has its number now; its fiscal number still finds it, revoked.
        info = self.ask(commands.DocumentInfoByLocalNum(num_fiscal=REGISTER, num_local=2), DocumentInfo)
        self.assertEqual((info.revoked, str(info.num_fiscal).split(".")[:2]), (False, [self.session.id, "1"]))
        shift = self.server.books.registers[REGISTER].shifts[0]
        asked = commands.Documents(num_fiscal=REGISTER, shift_id=shift.id)
        lines = self.ask(asked, command_answers.DocumentList).documents
        self.assertEqual([line.num_local for line in lines if line.revoked], [2])
        self.assertEqual(self.noted()[2:], [("storno", "accepted", sold.fiscal_number), ("sale", "accepted", "3")])
        self.assertIsNotNone(self.hand_over(self.shop.end()).session)
        self.restart()
        self.assertEqual(len(self.noted()), 4)
        self.take(self.shop.z((5000, 833)))

    def test_opening_is_not_revoked(self) -> None:
        """The opening of a shift cannot be revoked."""
        begin = self.shop.begin(self.session.id, self.session.seed, revoke=True, skips=True)
        refused = self.hand_over(begin)
        self.assertEqual(refused.code, PACKAGE)
        self.assertIn("не може бути відкликаний", refused.text)

    def test_broken_package(self) -> None:
        """A package that comes apart is refused."""
        self.assertEqual(self.result(self.client.hand_in(b"\xff" * 20)).code, PACKAGE)

    def test_as_command(self) -> None:
        """A package that comes as a command is taken like any other."""
        sent = self.package(self.shop.sale)
        command = commands.SendOflPackage(documents=[base64.b64encode(each).decode() for each in sent])
        found = self.ask(command, command_answers.NextSession)
        self.assertEqual((found.offline_session_id, found.offline_seed), self.state().session)


class OfficialPackageTests(SynchronousTestCase):
    """The tax service's own package of seven documents."""

    def test_rules(self) -> None:
        """Each document keeps our rules as the next one, and breaks them in any other place."""
        session = OfflineRecord(id="21182", seed=EQUIVALENT_SEED)
        messages = packages.split(OFFLINE_PACKAGE)
        documents = [decode(_xml_in(message)) for message in messages]
        self.assertEqual(packages.join(messages), OFFLINE_PACKAGE)
        for place, (document, message) in enumerate(zip(documents, messages, strict=True)):
            for other in documents[:place] + documents[place + 1 :]:
                self.assertNotEqual(list(session.faults(claim_of(other), "4000000202")), [])
            self.assertEqual(list(session.faults(claim_of(document), "4000000202")), [])
            session.take(claim_of(document), document_hash(message))
        self.assertEqual((session.ordinal, round(session.minutes * 60)), (7, 53))


def _xml_in(message: bytes) -> bytes:
    """The document within a signed message."""
    found = re.search(rb"<\?xml.*?</(CHECK|ZREP)>", message, re.DOTALL)
    assert found is not None
    return found[0]


class SkippingTests(ServerCase):
    """A server that reads the rule of revocation in the other way."""

    rules = Rules(revoking_skips=True)

    def test_next_number(self) -> None:
        """An opening that revokes a document has the next number."""
        session = self.take(self.shop.open()).session
        assert session is not None
        sold = self.take(self.shop.sale())
        wrong = self.shop.begin(session.id, session.seed, revoke=True)
        self.assertEqual(self.result(self.client.hand_in(packages.join([wrong]))).code, 7)
        sent = [self.shop.begin(session.id, session.seed, revoke=True, skips=True), self.shop.made(self.shop.sale())]
        self.assertEqual(self.result(self.client.hand_in(packages.join(sent))), PackageTaken())
        info = self.ask(commands.DocumentInfoByLocalNum(num_fiscal=REGISTER, num_local=2), DocumentInfo)
        self.assertTrue(info.revoked)
        self.assertEqual(self.noted()[2:], [("storno", "accepted", sold.fiscal_number), ("sale", "accepted", "4")])


class NotAllowedTests(ServerCase):
    """A register that may not go offline."""

    registrations = (Registration(REGISTER, tin=TIN, offline_allowed=False),)

    def test_no_session(self) -> None:
        """It is granted no session, and its state has no offline members."""
        self.assertIsNone(self.take(self.shop.open()).session)
        state = self.state()
        self.assertEqual((state.offline_supported, state.offline_session_id, state.session), (False, None, None))


class QuestionTests(ServerCase):
    """What the server answers."""

    def test_state(self) -> None:
        """The state follows the documents, and is the same after a restart."""
        state = self.state()
        self.assertEqual((state.shift_state, state.next_local_num, state.first_local_num), (0, 1, 0))
        opened = self.take(self.shop.open())
        sold = self.take(self.shop.sale())
        for _ in range(2):
            state = self.state()
            self.assertEqual((state.shift_state, state.next_local_num, state.first_local_num), (1, 3, 1))
            self.assertEqual(state.open_shift_fiscal_num, opened.fiscal_number)
            self.assertEqual((state.last_fiscal_num, state.z_rep_present), (sold.fiscal_number, False))
            self.restart()
        self.take(self.shop.z((5000, 833)))
        self.assertTrue(self.state().z_rep_present)

    def test_look_up(self) -> None:
        """A number that was taken is found, one that was not is nothing; an unknown register is an error."""
        self.take(self.shop.open())
        found = self.result(self.client.look_up(REGISTER, 1))
        assert isinstance(found, Answered)
        self.assertEqual((found.value.doc_class, found.value.check_doc_type), ("Check", "OpenShift"))
        self.assertEqual(self.result(self.client.look_up(REGISTER, 2)), Nothing())
        refused = self.result(self.client.look_up(5, 1))
        self.assertEqual((type(refused), refused.code), (Refused, ABSENT))

    def test_fetch(self) -> None:
        """A fetched document is the server's own copy with our content."""
        self.take(self.shop.open())
        sale = self.shop.sale()
        number = self.take(sale).fiscal_number
        fetched = self.result(self.client.fetch(REGISTER, 2))
        assert isinstance(fetched, Answered)
        self.assertEqual(fetched.value.document.head.ordertaxnum, number)
        self.assertTrue(same_document(sale, fetched.value.document))
        self.assertNotEqual(fetched.value.content, encode(sale))
        self.assertEqual(self.result(self.client.fetch(REGISTER, 2, z_report=True)), Nothing())
        self.assertEqual(self.result(self.client.fetch(REGISTER, 3)), Nothing())
        report = self.shop.z((5000, 833))
        self.take(report)
        fetched = self.result(self.client.fetch(REGISTER, 3, z_report=True))
        assert isinstance(fetched, Answered) and isinstance(fetched.value.document, ZRep)
        self.assertTrue(same_document(report, fetched.value.document))

    def test_forms(self) -> None:
        """A document comes in every form, with the link for customers."""
        self.take(self.shop.open())
        sale = self.shop.sale()
        self.take(sale)

        def form(kind: int) -> bytes:
            found = self.ask(commands.CheckExt(registrar_num_fiscal=REGISTER, num_local=2, type=kind), DocumentForm)
            self.assertEqual(found.result_code, 0)
            return base64.b64decode(found.data or "")

        self.assertEqual([form(0), form(1), form(4)], [b"", encode(sale), encode(sale)])
        self.assertTrue(same_document(sale, decode(form(2))))
        self.assertIn("СУМА 50.00", form(3).decode())
        asked = commands.CheckExt(registrar_num_fiscal=REGISTER, num_local=2, acquire_cabinet_url=True)
        found = self.ask(asked, DocumentForm)
        self.assertIn("&sm=50.00", found.cabinet_url or "")

    def test_absent_forms(self) -> None:
        """Absence has different codes: unknown register, unknown number, reserved number."""
        session = self.take(self.shop.open()).session
        assert session is not None
        for register, number, code in (
            *((5, "1", 4), (REGISTER, "1", 1), (REGISTER, f"{session.id}.3.77", 2), (REGISTER, "1.3.77", 3)),
        ):
            command = commands.CheckExt(registrar_num_fiscal=register, num_fiscal=number)
            self.assertEqual(self.ask(command, DocumentForm).result_code, code)
        command = commands.CheckExt(registrar_num_fiscal=REGISTER, num_local=9)
        self.assertEqual(self.ask(command, DocumentForm).result_code, 5)

    def test_lists(self) -> None:
        """Shifts and their documents are listed."""
        self.day(1)
        self.clock.advance(HOUR)
        self.take(self.shop.open())
        now = datetime.fromtimestamp(self.clock.seconds(), KYIV)
        since = (now - timedelta(minutes=61)).isoformat()
        shifts = self.ask(commands.Shifts(num_fiscal=REGISTER, from_=since, to=now.isoformat()), ShiftList).shifts
        self.assertEqual([bool(shift.closed) for shift in shifts], [True, False])
        one = self.ask(commands.Shifts(num_fiscal=REGISTER, shift_id=shifts[0].shift_id), ShiftList).shifts
        self.assertEqual(one, shifts[:1])
        listed = commands.Documents(num_fiscal=REGISTER, open_shift_fiscal_num=shifts[0].open_shift_fiscal_num)
        documents = self.ask(listed, DocumentList).documents
        self.assertEqual([document.num_local for document in documents], [1, 2, 3, 4])
        self.assertEqual([document.doc_class for document in documents], ["Check", "Check", "ZRep", "Check"])
        none = commands.Documents(num_fiscal=REGISTER, shift_id=5)
        self.assertEqual(self.result(self.client.ask(none, DocumentList)), Nothing())

    def test_totals(self) -> None:
        """The draft of the report is what a report has to say; a closed shift has none."""
        self.assertEqual(self.result(self.client.ask(LAST_TOTALS, LastTotals)), Nothing())
        self.take(self.shop.open())
        for _ in range(2):
            self.take(self.shop.sale())
        self.take(self.shop.cash(1000, 2))
        last = self.result(self.client.ask(LAST_TOTALS, LastTotals))
        totals = last.value.totals
        assert totals is not None and totals.real is not None and totals.real.tax is not None
        self.assertEqual((totals.real.sum, totals.real.orders_count), (Decimal("100.00"), 2))
        self.assertEqual((totals.real.tax[0].sum, totals.service_input), (Decimal("16.66"), Decimal("10.00")))
        self.take(self.shop.z((5000, 833), (5000, 833), cash_in=1000))
        self.take(self.shop.close())
        self.assertIsNone(self.result(self.client.ask(LAST_TOTALS, LastTotals)).value.totals)

    def test_objects(self) -> None:
        """The outlets are listed with their registers."""
        objects = self.result(self.client.objects())
        (outlet,) = objects.value.tax_objects
        self.assertEqual((outlet.tin, outlet.transactions_registrars[0].num_fiscal), (TIN, REGISTER))

    def test_device(self) -> None:
        """The first machine keeps a register until another one takes it by force."""

        def known(device: str, forced: bool = False) -> str:
            command = commands.DeviceRegister(num_fiscal=REGISTER, device_id=device, forced=forced)
            found: DeviceOfRegister = self.ask(command, DeviceOfRegister)
            return found.device_id or ""

        self.assertEqual([known("a"), known("b"), known("b", True), known("a")], ["a", "a", "b", "b"])

    def test_late_command(self) -> None:
        """A command that says how long it is good for is not answered later."""
        now = datetime.fromtimestamp(self.clock.seconds(), KYIV)
        for age, late in ((9, False), (11, True)):
            sent = (now - timedelta(seconds=age)).isoformat()
            command = commands.ServerState(timestamp=sent, timeout=10_000)
            answer = self.result(self.client.ask(command, command_answers.StateOfServer))
            self.assertEqual(isinstance(answer, Refused), late)

    def test_document_as_command(self) -> None:
        """A document that comes as a command is taken, and its ticket comes in Base64."""
        opened = self.shop.open()
        command = commands.SendDocument(document=base64.b64encode(encode(opened)).decode())
        found = self.ask(command, TicketOfDocument)
        ticket = decode_as(Ticket, base64.b64decode(found.ticket))
        self.assertEqual((ticket.ordernum, ticket.errorcode), (1, 0))
        wrong = self.result(self.client.ask(commands.SendDocument(document="%"), TicketOfDocument))
        self.assertEqual((type(wrong), wrong.code), (Refused, QUERY))

    def test_unknown_command(self) -> None:
        """Anything but a command is an error."""

        class Dance(commands.Command, frozen=True, kw_only=True):
            """An unknown command."""

        refused = self.result(self.client.ask(Dance(), command_answers.SchemaFiles))
        self.assertEqual((type(refused), refused.code), (Refused, QUERY))

    def test_schemas(self) -> None:
        """Every client may fetch the schemas of receipts and reports."""
        found = self.ask(commands.Schemas(), command_answers.SchemaFiles)
        for text, root in ((found.xsd_schema_check, b"CHECK"), (found.xsd_schema_z_rep, b"ZREP")):
            self.assertIn(b'<xs:element name="%b">' % root, base64.b64decode(text))


class HttpTests(ServerCase):
    """What is checked before a body is read."""

    def status(self, path: str, body: bytes = b"x" * 20, method: str = "POST", **headers: str) -> int:
        """The HTTP status of a request."""
        found = {"content-type": "application/octet-stream"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        played = self.server.receive(Call(method, path, "", found, body))
        assert played.reply is not None
        return played.reply.status

    def test_statuses(self) -> None:
        """Wrong address, method, type and size have their statuses."""
        self.assertEqual(self.status("/fs/other"), 403)
        self.assertEqual(self.status("/fs/doc", method="GET"), 405)
        self.assertEqual(self.status("/fs/doc", content_type="application/json"), 415)
        self.assertEqual(self.status("/fs/cmd", content_type="text/plain"), 415)
        self.assertEqual(self.status("/fs/doc", b"x" * 9), 416)
        self.assertEqual(self.status("/fs/doc", bytes(200 * 1024 + 1)), 416)
        self.assertEqual(self.status("/fs/doc", compress(bytes(200 * 1024 + 1)), content_encoding="gzip"), 416)
        self.assertEqual(self.status("/fs/doc", content_encoding="gzip"), 400)
        self.assertEqual(self.status("/fs/doc"), 400)

    def test_unsigned_command(self) -> None:
        """A command that has to be signed is not taken as plain JSON."""
        body = commands.encode(commands.Objects())
        self.assertEqual(self.status("/fs/cmd", body, content_type="application/json"), 400)
        self.assertEqual(self.status("/fs/cmd", body), 200)

    def test_nothing(self) -> None:
        """Without the wish for JSON nothing is 204, and an unknown register is 404."""
        look_up = commands.DocumentInfoByLocalNum(num_fiscal=REGISTER, num_local=7)
        self.assertEqual(self.status("/fs/cmd", commands.encode(look_up)), 204)
        elsewhere = commands.LastShiftTotals(num_fiscal=5)
        self.assertEqual(self.status("/fs/cmd", commands.encode(elsewhere)), 404)


class NoiseTests(SynchronousTestCase):
    """A server that receives any bytes."""

    def setUp(self) -> None:
        """Start with an open shift."""
        clock = Clock()
        clock.advance(START)
        self.server = FiscalServer(clock, (Registration(REGISTER, tin=TIN),))
        self.shop = Shop(clock.seconds)
        self.status_of("/fs/doc", encode(self.shop.open()))
        self.sale = encode(self.shop.sale())

    def status_of(self, path: str, body: bytes) -> int:
        """The status that answers a body."""
        headers = {"content-type": "application/octet-stream"}
        played = self.server.receive(Call("POST", path, "", headers, body))
        assert played.reply is not None
        return played.reply.status

    @given(st.sampled_from(["/fs/doc", "/fs/pck", "/fs/cmd"]), st.binary(min_size=10, max_size=60))
    def test_any_bytes(self, path: str, body: bytes) -> None:
        """Noise is refused on every path."""
        self.assertIn(self.status_of(path, body), (400, 401, 404))

    @settings(max_examples=200)
    @given(st.data())
    def test_changed_anywhere(self, data: st.DataObject) -> None:
        """A document that was changed anywhere is answered, and taken only when it still is right."""
        place = data.draw(st.integers(0, len(self.sale) - 1))
        changed = bytearray(self.sale)
        changed[place] = data.draw(st.integers(0, 255))
        before = len(self.server.entries())
        self.assertIn(self.status_of("/fs/doc", bytes(changed)), (200, 400, 401, 404))
        self.assertLessEqual(len(self.server.entries()), before + 1)
        self.status_of("/fs/pck", packages.join((bytes(changed), self.sale)))

    def test_foreign_letters(self) -> None:
        """A document with letters that windows-1251 lacks is refused, and its ticket can be read."""
        text = self.sale.decode("windows-1251").replace("windows-1251", "utf-8")
        for old, new in (("Касир", "漢"), ("<UID>0000", "<UID>漢漢漢")):
            changed = text.replace(old, new)
            self.assertNotEqual(changed, text)
            headers = {"content-type": "application/octet-stream"}
            played = self.server.receive(Call("POST", "/fs/doc", "", headers, changed.encode()))
            assert played.reply is not None
            self.assertEqual(decode_as(Ticket, played.reply.body).errorcode, INVALID)


class ScenarioTests(ServerCase):
    """Scenarios, as the client sees them."""

    def lost(self, then: str, happened: bool, verdict: type[object], seconds: float = 0.0, **more: object) -> None:
        """Let an opening go wrong, and look whether it happened all the same."""
        self.rule("open", then, **more)
        document = self.shop.open()
        became = self.result(self.client.register(encode(document), document), seconds)
        self.assertIsInstance(became, verdict, f"{then}: {became}")
        self.assertEqual(bool(self.server.entries()), happened, then)
        found = self.result(self.client.look_up(REGISTER, 1))
        self.assertEqual(isinstance(found, Answered), happened)

    def test_lost_before(self) -> None:
        """The line breaks and nothing happened."""
        self.lost("lost_before", False, Unknown)

    def test_lost_after(self) -> None:
        """It happened and the answer is lost."""
        self.lost("lost_after", True, Unknown)

    def test_silent(self) -> None:
        """No answer comes; the client gives up after its patience and not before."""
        self.rule("open", "silent")
        document = self.shop.open()
        waiting = Deferred.fromCoroutine(self.client.register(encode(document), document))
        self.clock.advance(29.9)
        self.assertNoResult(waiting)
        self.clock.advance(0.1)
        self.assertIsInstance(self.successResultOf(waiting), Unknown)
        self.assertEqual(self.noted(), [])

    def test_half_an_answer(self) -> None:
        """Half of the answer comes: it happened, and is unknown."""
        self.lost("garbage", True, Unknown)

    def test_noise(self) -> None:
        """With a garbled answer it happened, and is unknown."""
        self.lost("garbage", True, Unknown, code="200")

    def test_5xx_after(self) -> None:
        """A 5xx may come though it happened: it is unknown."""
        self.lost("garbage", True, Unknown, code="502")

    def test_5xx_before(self) -> None:
        """A 5xx may come and nothing happened: it is unknown all the same."""
        self.lost("refuse", False, Unknown, code="503")

    def test_unreachable(self) -> None:
        """No connection comes about: nothing was sent."""
        self.lost("unreachable", False, NotSent)

    def test_late(self) -> None:
        """An answer that comes after the client's patience is unknown, though it happened."""
        self.lost("accept", True, Unknown, 30, delay_ms=31_000)

    def test_delayed(self) -> None:
        """An answer within the client's patience is waited for."""
        self.lost("accept", True, Accepted, 5, delay_ms=5_000)

    def test_refused(self) -> None:
        """Every code of the server can be had, and leaves everything as it was."""
        for code in range(1, 13):
            self.rule("any", "refuse", code=str(code))
            self.refused(self.shop.open(), code)
        self.rule("any", "refuse")
        self.refused(self.shop.open(), INVALID)
        self.take(self.shop.open())

    def test_words(self) -> None:
        """Numbers of our catalogue cause what the server reports in words alone."""
        self.rule("any", "refuse", code="1042")
        self.assertIn("36/168", self.refused(self.shop.open(), INVALID))
        self.rule("any", "refuse", code="1121")
        self.assertIn("часу сервера", self.refused(self.shop.open(), INVALID))

    def test_statuses(self) -> None:
        """A 4xx of no words is a refusal."""
        self.rule("open", "refuse", code="404")
        self.refused(self.shop.open(), ABSENT)

    def test_probes(self) -> None:
        """Questions meet rules that name them, and no others."""
        self.rule("any", "lost_before")
        self.assertEqual(self.state().next_local_num, 1)
        self.rule("probe", "refuse", code="2")
        self.assertEqual(self.result(self.client.state(REGISTER)).code, NO_RIGHT)
        self.rule("probe", "lost_after")
        self.assertIsInstance(self.result(self.client.look_up(REGISTER, 1)), Unknown)

    def test_kinds(self) -> None:
        """A rule meets the documents of its kind only."""
        self.take(self.shop.open())
        self.rule("z", "refuse", code="8")
        self.take(self.shop.sale())
        self.refused(self.shop.z((5000, 833)), Z_THERE)

    def test_package(self) -> None:
        """A package meets rules for any, and its answer may be lost like any other."""
        session = self.take(self.shop.open()).session
        assert session is not None
        sent = [self.shop.begin(session.id, session.seed), self.shop.made(self.shop.sale()), self.shop.end()]
        self.rule("any", "lost_after")
        self.assertIsInstance(self.result(self.client.hand_in(packages.join(sent))), Unknown)
        self.assertIsInstance(self.result(self.client.hand_in(packages.join(sent))), PackageTaken)
        self.assertEqual([kind for kind, _, _ in self.noted()], ["open", "sale"])

    def test_endings(self) -> None:
        """Each ending is returned to the caller."""
        call = Call("POST", "/fs/cmd", "", {"content-type": "application/json"}, b'{"Command":"ServerState"}')
        for then, ending in (
            *(("lost_before", Ending.BROKEN), ("lost_after", Ending.BROKEN), ("silent", Ending.SILENT)),
            *(("garbage", Ending.HALF), ("unreachable", Ending.UNREACHABLE), ("accept", Ending.WHOLE)),
        ):
            self.rule("probe", then, delay_ms=1500)
            played = self.server.receive(call)
            self.assertEqual(played.ending, ending)
            self.assertEqual(played.delay_s, 0 if then == "silent" else 1.5)


class RecoveryTests(ServerCase):
    """A client that asks before it sends again."""

    def test_once(self) -> None:
        """Whatever goes wrong, asking for the number before sending the same bytes again registers it once."""
        self.take(self.shop.open())
        faults = ("lost_before", "lost_after", "garbage", "silent", "unreachable", "accept")
        for first in faults:
            for second in faults:
                self.server.scenario.replace({"rules": [{"on": "sale", "then": then} for then in (first, second)]})
                document = self.shop.sale()
                sent = encode(document)
                for _ in range(3):
                    self.result(self.client.register(sent, document), 30)
                    found = self.result(self.client.look_up(REGISTER, document.head.ordernum))
                    if isinstance(found, Answered):
                        break
                self.restart()
        sales = [entry.ref for entry in self.server.entries() if entry.kind == "sale" and entry.status == "accepted"]
        self.assertEqual(sales, [str(number) for number in range(2, 2 + len(faults) ** 2)])


class MemoryTests(ServerCase):
    """What outlives a restart."""

    def test_everything(self) -> None:
        """After a restart at any moment of two days the server goes on as if nothing had been."""
        for document in (self.shop.open, self.shop.sale, lambda: self.shop.z((5000, 833)), self.shop.close) * 2:
            self.take(document())
            before = (self.state(), self.server.entries())
            self.restart()
            self.assertEqual((self.state(), self.server.entries()), before)

    def test_lost_entry(self) -> None:
        """An entry that a crash kept out of the ledger is made up for, once."""
        self.take(self.shop.open())
        self.take(self.shop.sale())
        self.server.close()
        lines = self.ledger.read_bytes().splitlines(keepends=True)
        self.ledger.write_bytes(b"".join(lines[:-1]))
        self.server = self.started()
        self.assertEqual(self.noted(), [("open", "accepted", "1"), ("sale", "accepted", "2")])
        self.restart()
        self.assertEqual(len(self.noted()), 2)

    def test_cut_line(self) -> None:
        """A line of the archive that a crash cut short is dropped; the next one is whole."""
        self.take(self.shop.open())
        self.server.close()
        with self.archive.open("ab") as file:
            file.write(b'{"at":1.0,"key":"","na')
        self.server = self.started()
        self.assertEqual(self.state().next_local_num, 2)
        self.take(self.shop.sale())
        self.restart()
        self.assertEqual(self.state().next_local_num, 3)

    def test_numbers(self) -> None:
        """Fiscal numbers go on after a restart and are never given twice."""
        first = self.take(self.shop.open()).fiscal_number
        self.restart()
        self.assertEqual(int(self.take(self.shop.sale()).fiscal_number), int(first) + 1)

    def test_in_memory(self) -> None:
        """Without files the server works until it ends."""
        server = FiscalServer(self.clock, self.registrations)
        self.addCleanup(server.close)
        client = Client(InProcessExchange(server, self.clock, 30), unsigned, open_unsigned, "http://fs/fs")
        opened = self.shop.open()
        self.assertIsInstance(self.result(client.register(encode(opened), opened)), Accepted)
        self.assertEqual(len(server.entries()), 1)


class TwoRegistersTests(ServerCase):
    """Several registers at one server."""

    registrations = (Registration(REGISTER, tin=TIN), Registration(REGISTER + 1, local=2, tin=TIN))

    def test_apart(self) -> None:
        """Each has its own shift and numbers; fiscal numbers are one sequence over both."""
        first = self.take(self.shop.open())
        opened = self.shop.open()
        head = dataclasses.replace(
            opened.checkhead, cashregisternum=REGISTER + 1, cashdesknum=2, ordernum=1, doctype=int(DocType.OPEN_SHIFT)
        )
        second = self.take(Check(checkhead=head))
        self.assertEqual(int(second.fiscal_number), int(first.fiscal_number) + 1)
        self.assertNotEqual(second.session, first.session)
        self.assertIsInstance(second.session, Session)
