"""What travels to the fiscal server and back: commands, answers, errors, packages, bodies, and what they prove."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.fiscal import command_answers, commands, packages, verdicts
from protocols.fiscal.bodies import BodyTooLarge, UnreadableBody, compress, restore
from protocols.fiscal.client import FiscalServer, skew
from protocols.fiscal.command_answers import BadAnswer, DocumentInfo, LastTotals, RegistrarState, StateOfServer
from protocols.fiscal.commands import BadCommand
from protocols.fiscal.document_xml import decode, encode
from protocols.fiscal.error_codes import Code, ErrorText, code_of, read_error, write_error
from protocols.fiscal.packages import BrokenPackage
from protocols.fiscal.posts import command_post, document_post, has_to_be_signed, package_post
from protocols.fiscal.qr_link import qr_link
from protocols.fiscal.signatures import Signed, WrongSignature, open_unsigned, unsigned
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.verdicts import (
    Accepted,
    Answered,
    Fetched,
    Nothing,
    NotSent,
    PackageTaken,
    Refused,
    Reply,
    Session,
    Unknown,
)
from tests.vectors.fiscal_documents import ERROR_BODIES, SAMPLES, SIGNED_COMMAND, STATE_ANSWER, TICKET

T = TypeVar("T")

UID = "CA9CA66A-7E21-418B-81C0-494BF07189E2"


def answered(body: bytes, status: int = 200, **headers: str) -> Reply:
    """An HTTP answer."""
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def open_marked(message: bytes) -> Signed:
    """Opens messages that are marked as signed, and no others."""
    if not message.startswith(b"SIGNED:"):
        raise WrongSignature("no mark")
    return Signed(message.removeprefix(b"SIGNED:"))


class ErrorTests(SynchronousTestCase):
    """Error bodies and codes."""

    def test_field_reports(self) -> None:
        """Errors as servers send them are read in both encodings, with code and text."""
        for text, code in ERROR_BODIES:
            for encoding in ("utf-8", "utf-8-sig", "windows-1251"):
                error = read_error(text.encode(encoding))
                self.assertEqual(error.code, code)
                self.assertNotIn("помилки:", error.text)
                self.assertTrue(text.endswith(error.text) and error.text, error.text)

    def test_both_ways(self) -> None:
        """What we write as an error is read back, whatever the code."""
        for code in Code:
            self.assertEqual(read_error(write_error(code, "Текст\r\nще")), ErrorText(code, "Текст\r\nще"))

    def test_symbols(self) -> None:
        """Codes have the names that the server gives them."""
        self.assertEqual(
            [Code(number).symbol for number in (1, 6, 7, 8, 13)],
            [
                *("TransactionsRegistrarAbsent", "LastDocumentMustBeZRep", "CheckLocalNumberInvalid"),
                *("ZRepAlreadyRegistered", "NoContent"),
            ],
        )

    def test_name_alone(self) -> None:
        """A name without its number is a code too, other words are not."""
        self.assertEqual(read_error("Код помилки: CheckLocalNumberInvalid x".encode()), ErrorText(7, "x"))
        self.assertEqual(read_error(b"<html>Bad Gateway"), ErrorText(None, "<html>Bad Gateway"))

    def test_code_in_json(self) -> None:
        """Codes in JSON are numbers, texts or names."""
        values: tuple[object, ...] = (7, "7", "CheckLocalNumberInvalid", "x", None, True, 7.0, [])
        self.assertEqual([code_of(value) for value in values], [7, 7, 7, None, None, None, None, None])

    @given(st.binary())
    def test_any_bytes(self, body: bytes) -> None:
        """No error body brings the reader down."""
        self.assertIsInstance(read_error(body).text, str)


class PackageTests(SynchronousTestCase):
    """Offline documents as one body."""

    def test_worked_by_hand(self) -> None:
        """Each document has its length before it in four bytes, the lowest first."""
        documents = (b"ab", b"c" * 300)
        package = bytes.fromhex("02 00 00 00 61 62 2c 01 00 00") + b"c" * 300
        self.assertEqual(packages.join(documents), package)
        self.assertEqual(packages.split(package), documents)

    def test_broken(self) -> None:
        """A package that is cut anywhere, or empty, is refused."""
        package = packages.join((b"ab", b"cde"))
        for place in (0, *range(1, 6), *range(7, len(package))):
            self.assertRaises(BrokenPackage, packages.split, package[:place])
        self.assertRaises(BrokenPackage, packages.split, bytes(4))

    def test_batches(self) -> None:
        """Documents are cut into packages by number and by size, and none is lost or moved."""
        documents = [bytes([number]) * 10 for number in range(1, 251)]
        batches = list(packages.batches(documents, 10_000))
        self.assertEqual([len(batch) for batch in batches], [100, 100, 50])
        self.assertEqual([document for batch in batches for document in batch], documents)
        self.assertEqual([len(batch) for batch in packages.batches(documents[:5], 28)], [2, 2, 1])
        self.assertRaises(BrokenPackage, list, packages.batches([b"x" * 25], 28))
        self.assertEqual(list(packages.batches([], 28)), [])

    @given(st.lists(st.binary(min_size=1, max_size=30), min_size=1))
    def test_round_trip(self, documents: list[bytes]) -> None:
        """What was joined comes apart as it was."""
        self.assertEqual(packages.split(packages.join(documents)), tuple(documents))

    @given(st.binary(max_size=40))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are a package or refused as none."""
        try:
            self.assertEqual(packages.join(packages.split(data)), data)
        except BrokenPackage:
            self.assertNotEqual(data, packages.join((data,)))


class BodyTests(SynchronousTestCase):
    """Compression and size."""

    def test_encodings(self) -> None:
        """gzip, zlib data under that name, and both forms of deflate are read; we write gzip, always the same."""
        body = b"abc" * 100
        raw = zlib.compressobj(wbits=-15)
        for packed, encoding in (
            *((compress(body), "gzip"), (zlib.compress(body), "gzip"), (zlib.compress(body), "Deflate")),
            *((raw.compress(body) + raw.flush(), "deflate"), (body, ""), (body, "identity")),
        ):
            self.assertEqual(restore(packed, encoding, 1000), body)
        self.assertEqual(gzip.decompress(compress(body)), body)
        self.assertEqual(compress(body), compress(body))

    def test_size(self) -> None:
        """The limit counts the bytes before compression, and a small body cannot unfold without end."""
        for packed, encoding in (
            (compress(bytes(1001)), "gzip"),
            (bytes(1001), ""),
            (compress(bytes(10**8)), "gzip"),
        ):
            self.assertRaises(BodyTooLarge, restore, packed, encoding, 1000)
        self.assertEqual(restore(compress(bytes(1000)), "gzip", 1000), bytes(1000))

    def test_unreadable(self) -> None:
        """What is not what its header says is refused; half of it too."""
        for packed, encoding in ((b"abc", "gzip"), (compress(b"abc")[:-9], "gzip"), (b"abc", "br")):
            self.assertRaises(UnreadableBody, restore, packed, encoding, 1000)

    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes bring the reader down."""
        try:
            restore(data, "gzip", 1000)
        except (UnreadableBody, BodyTooLarge) as error:
            self.assertTrue(str(error))


class CommandTests(SynchronousTestCase):
    """Commands as JSON."""

    def test_official(self) -> None:
        """The official signed command is read."""
        self.assertEqual(commands.decode(SIGNED_COMMAND), commands.TransactionsRegistrarState(num_fiscal=4000000001))

    def test_members(self) -> None:
        """Members have the server's names; what says nothing is left out."""
        for command, expected in (
            (commands.ServerState(uid="1"), {"Command": "ServerState", "UID": "1"}),
            (
                commands.DocumentInfoByLocalNum(uid="1", num_fiscal=4, num_local=7),
                {"Command": "DocumentInfoByLocalNum", "UID": "1", "NumFiscal": 4, "NumLocal": 7},
            ),
            (
                commands.Check(registrar_num_fiscal=4, num_local=7, original=True),
                {"Command": "Check", "RegistrarNumFiscal": 4, "NumLocal": 7, "Original": True},
            ),
            (
                commands.TransactionsRegistrarState(num_fiscal=4, offline_session_id="21", offline_seed="5"),
                {
                    "Command": "TransactionsRegistrarState",
                    "NumFiscal": 4,
                    "OfflineSessionId": "21",
                    "OfflineSeed": "5",
                },
            ),
            (
                commands.Shifts(num_fiscal=4, from_="a", to="b"),
                {"Command": "Shifts", "NumFiscal": 4, "From": "a", "To": "b"},
            ),
            (
                commands.DeviceRegister(num_fiscal=4, device_id="d", forced=True),
                {"Command": "DeviceRegister", "NumFiscal": 4, "DeviceId": "d", "Forced": True},
            ),
        ):
            self.assertEqual(json.loads(commands.encode(command)), expected)
            self.assertEqual(commands.decode(commands.encode(command)), command)

    def test_loose(self) -> None:
        """Numbers as text, a byte order mark, nulls and unknown members are taken."""
        body = b'\xef\xbb\xbf{"Command":"LastShiftTotals","NumFiscal":"4000000001","UID":null,"New":1}'
        self.assertEqual(commands.decode(body), commands.LastShiftTotals(num_fiscal=4000000001))

    def test_signed(self) -> None:
        """Only the commands that the server takes bare are sent bare."""
        bare = (commands.ServerState(), commands.Schemas(), commands.Check(registrar_num_fiscal=1))
        self.assertEqual([has_to_be_signed(command) for command in bare], [False] * 3)
        for command in (commands.Objects(), commands.ZRep(registrar_num_fiscal=1), commands.Operators()):
            self.assertTrue(has_to_be_signed(command))

    @given(st.binary(max_size=60) | st.text(alphabet='{}[]":,1aC', max_size=40).map(str.encode))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are a command or refused as none."""
        try:
            self.assertIsInstance(commands.decode(data), commands.Command)
        except BadCommand as error:
            self.assertTrue(str(error))


class AnswerTests(SynchronousTestCase):
    """Answers as JSON."""

    def test_state(self) -> None:
        """A state with numbers as text is read, and its offline session is text."""
        state = command_answers.decode(RegistrarState, STATE_ANSWER)
        self.assertEqual(state.next_local_num, 878)
        self.assertEqual(state.session, ("269623", "191273667568078"))

    def test_no_session(self) -> None:
        """Without a session, or with the number 0, there is none."""
        for id in (None, 0, "0", ""):
            state = RegistrarState(shift_state=0, next_local_num=1, offline_session_id=id, offline_seed="5")
            self.assertIsNone(state.session)

    def test_sums(self) -> None:
        """Sums are decimals, digit for digit."""
        body = b'{"ShiftState":1,"Totals":{"Real":{"Sum":1234567890123.10,"OrdersCount":2},"ServiceInput":0.3}}'
        totals = command_answers.decode(LastTotals, body).totals
        assert totals is not None and totals.real is not None
        self.assertEqual((totals.real.sum, totals.service_input), (Decimal("1234567890123.10"), Decimal("0.3")))

    def test_error(self) -> None:
        """An error answer is recognised by any form of its code."""
        for code in (7, "7", "CheckLocalNumberInvalid"):
            body = json.dumps({"UID": "1", "ErrorCode": code, "ErrorMessage": "т"}).encode()
            self.assertEqual(command_answers.error_in(body), (7, "т"))
        for body in (b'{"ErrorCode":0}', b'{"ErrorCode":null,"ErrorMessage":null}', b"{}", b"OK", b"[]", b"\xff"):
            self.assertIsNone(command_answers.error_in(body))

    def test_moment(self) -> None:
        """Times are read in both forms; one without its zone says nothing."""
        expected = datetime(2021, 3, 12, 15, 52, 53, tzinfo=UTC)
        for text in ("2021-03-12T17:52:53+02:00", "2021-03-12T17:52:53.0000000+02:00", "/Date(1615564373000)/"):
            self.assertEqual(command_answers.moment(text), expected)
        for text in ("", "2021-03-12T17:52:53", "/Date(x)/", "/Date(99999999999999999999)/", "17:52"):
            self.assertIsNone(command_answers.moment(text))

    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are an answer or refused as none."""
        for shape in (RegistrarState, StateOfServer, LastTotals):
            try:
                command_answers.decode(shape, data)
            except BadAnswer as error:
                self.assertTrue(str(error))


class PostTests(SynchronousTestCase):
    """Requests."""

    def test_paths(self) -> None:
        """Documents, packages and commands have their paths and types; commands ask for errors as JSON."""
        for post, target, kind in (
            (document_post(b"doc"), "/doc", "application/octet-stream"),
            (package_post(b"pck"), "/pck", "application/octet-stream"),
            (command_post(b"{}", False), "/cmd?resultAsJson=true", "application/json; charset=UTF-8"),
            (command_post(b"cms", True), "/cmd?resultAsJson=true", "application/octet-stream"),
        ):
            self.assertEqual((post.target, post.headers["Content-Type"]), (target, kind))

    def test_compressed(self) -> None:
        """Bodies are sent as gzip with its header."""
        post = document_post(b"abc" * 99)
        self.assertEqual((gzip.decompress(post.body), post.headers["Content-Encoding"]), (b"abc" * 99, "gzip"))

    def test_size(self) -> None:
        """200 KB are sent, one byte more is not, even if it compresses well."""
        self.assertTrue(document_post(bytes(200 * 1024)).body)
        for make in (document_post, package_post):
            self.assertRaises(BodyTooLarge, make, bytes(200 * 1024 + 1))


class DocumentVerdictTests(SynchronousTestCase):
    """What an answer to a document proves."""

    def verdict(self, reply: Reply, uid: str = UID, number: int = 357) -> object:
        """What became of the document that the sample ticket answers."""
        return verdicts.of_document(reply, open_unsigned, uid, number)

    def ticket(self, **changes: Any) -> Reply:
        """The sample ticket with other members."""
        ticket = Ticket(
            uid=UID,
            orderdate=datetime(2024, 6, 15).date(),
            ordertime=datetime(2024, 6, 15, 3, 54, 29).time(),
            ordernum=357,
            ordertaxnum="2559207071",
        )
        return answered(encode(dataclasses.replace(ticket, **changes)))

    def test_accepted(self) -> None:
        """The ticket of our document accepts it, with number and time; the case of the GUID does not matter."""
        expected = Accepted("2559207071", datetime(2024, 6, 15, 3, 54, 29))
        self.assertEqual(self.verdict(answered(TICKET)), expected)
        self.assertEqual(self.verdict(answered(TICKET), UID.lower()), expected)
        self.assertEqual(self.verdict(answered(compress(TICKET), content_encoding="gzip")), expected)

    def test_session(self) -> None:
        """The ticket may have a session; the number 0 means none."""
        for id, seed, session in ((21182, 179, Session("21182", "179")), (0, 0, None), (None, None, None)):
            accepted = self.verdict(self.ticket(offlinesessionid=id, offlineseed=seed))
            assert isinstance(accepted, Accepted)
            self.assertEqual(accepted.session, session)

    def test_refused(self) -> None:
        """A ticket with an error is a refusal, also when the server could not read the GUID."""
        for uid in (UID, ""):
            reply = self.ticket(uid=uid, errorcode=5, errortext="Зміну не відкрито", ordertaxnum=None)
            self.assertEqual(self.verdict(reply), Refused(5, "Зміну не відкрито"))

    def test_of_another(self) -> None:
        """A ticket of another document proves nothing, neither its number nor its error."""
        for reply in (answered(TICKET), self.ticket(errorcode=5)):
            for uid, number in ((UID, 358), ("another", 357)):
                self.assertIsInstance(self.verdict(reply, uid, number), Unknown)

    def test_signature(self) -> None:
        """A ticket with a wrong signature proves nothing."""
        for body in (TICKET, self.ticket(errorcode=5).body):
            unsigned_ticket = verdicts.of_document(answered(body), open_marked, UID, 357)
            self.assertIsInstance(unsigned_ticket, Unknown)
        signed = verdicts.of_document(answered(b"SIGNED:" + TICKET), open_marked, UID, 357)
        self.assertIsInstance(signed, Accepted)

    def test_unreadable(self) -> None:
        """Half a ticket, an empty one, one without number, other words and broken compression leave it unknown."""
        for reply in (
            *(answered(TICKET[:-20]), answered(b""), answered(b"OK"), self.ticket(ordertaxnum=None)),
            *(answered(SAMPLES[0].data), answered(TICKET, content_encoding="gzip"), answered(TICKET, 204)),
        ):
            self.assertIsInstance(self.verdict(reply), Unknown)

    def test_error_text(self) -> None:
        """A 4xx with an error text is a refusal with its code."""
        for text, code in ERROR_BODIES:
            for encoding in ("utf-8", "windows-1251"):
                refused = self.verdict(answered(text.encode(encoding), 400))
                assert isinstance(refused, Refused)
                self.assertEqual((refused.code, refused.status), (code, 400))

    def test_statuses(self) -> None:
        """404 and 401 have a meaning of their own; other refusals have no code; all the rest proves nothing."""
        for status, code in ((404, 1), (401, 2), (400, None), (403, None), (405, None), (415, None), (416, None)):
            self.assertEqual(self.verdict(answered(b"no", status)), Refused(code, "no", status))
        for status in (100, 201, 204, 206, 302, 304, 408, 409, 425, 429, 499, 500, 502, 503, 504):
            self.assertIsInstance(self.verdict(answered(TICKET, status)), Unknown, str(status))

    @given(st.binary(max_size=80), st.sampled_from([200, 204, 400, 500]))
    def test_any_answer(self, body: bytes, status: int) -> None:
        """No answer of noise is ever an acceptance."""
        self.assertIsInstance(self.verdict(answered(body, status)), (Unknown, Refused))

    @given(st.integers(0, len(TICKET) - 1))
    def test_cut_anywhere(self, place: int) -> None:
        """A ticket that is cut anywhere is never an acceptance."""
        self.assertIsInstance(self.verdict(answered(TICKET[:place])), Unknown)


class PackageVerdictTests(SynchronousTestCase):
    """What an answer to a package proves."""

    def test_taken(self) -> None:
        """OK is an acceptance; a session is one that brings the next session, as text or as numbers."""
        self.assertEqual(verdicts.of_package(answered(b"OK")), PackageTaken())
        self.assertEqual(verdicts.of_package(answered(b'"OK"\r\n')), PackageTaken())
        for body in (
            b'{"OfflineSessionId":"7","OfflineSeed":"9"}',
            b'{"OfflineSessionId":7,"OfflineSeed":9,"UID":null}',
        ):
            self.assertEqual(verdicts.of_package(answered(body)), PackageTaken(Session("7", "9")))

    def test_refused(self) -> None:
        """An error is a refusal, as text and as JSON."""
        text = write_error(Code.PACKAGE_VALIDATION_ERROR, "документа за № 3")
        self.assertEqual(verdicts.of_package(answered(text, 400)), Refused(10, "документа за № 3", 400))
        error = command_answers.write_error(10, "т")
        self.assertEqual(verdicts.of_package(answered(error)), Refused(10, "т"))

    def test_unknown(self) -> None:
        """Everything else leaves it unknown."""
        for body in (b"", b"<html>", b'{"OfflineSess', b"O", b"{}", b'{"OfflineSessionId":"7"}', b"null"):
            self.assertIsInstance(verdicts.of_package(answered(body)), Unknown)
        self.assertIsInstance(verdicts.of_package(answered(b"OK", 500)), Unknown)


class CommandVerdictTests(SynchronousTestCase):
    """What an answer to a question proves."""

    def test_answered(self) -> None:
        """An answer is a value."""
        found = verdicts.of_command(answered(b'{"NumFiscal":300,"DocClass":"Check"}'), DocumentInfo)
        assert isinstance(found, Answered)
        self.assertEqual(found.value.num_fiscal, 300)

    def test_nothing(self) -> None:
        """204 and the error 13 say that there is nothing; an empty answer does not say so."""
        for reply in (
            answered(b"", 204),
            answered(b'{"ErrorCode":13,"ErrorMessage":"x"}'),
            answered(b'{"ErrorCode":"NoContent"}'),
            answered(write_error(Code.NO_CONTENT, ""), 400),
        ):
            self.assertEqual(verdicts.of_command(reply, DocumentInfo), Nothing())
        self.assertIsInstance(verdicts.of_command(answered(b""), DocumentInfo), Unknown)

    def test_refused(self) -> None:
        """Errors are refusals with their code."""
        self.assertEqual(
            verdicts.of_command(answered(b'{"ErrorCode":2}'), DocumentInfo), Refused(2, '{"ErrorCode":2}')
        )
        self.assertEqual(verdicts.of_command(answered(b"", 404), DocumentInfo), Refused(1, "", 404))

    def test_unknown(self) -> None:
        """What cannot be read, and 5xx, say nothing."""
        for reply in (answered(b"{}"), answered(b"{", 200), answered(b"{}", 503)):
            self.assertIsInstance(verdicts.of_command(reply, DocumentInfo), Unknown)

    def test_fetched(self) -> None:
        """A fetched document is read, when its signature holds."""
        sale = SAMPLES[2].data
        self.assertEqual(
            verdicts.of_fetch(answered(b"SIGNED:" + sale), open_marked), Answered(Fetched(decode(sale), sale))
        )
        self.assertIsInstance(verdicts.of_fetch(answered(sale), open_marked), Unknown)
        self.assertIsInstance(verdicts.of_fetch(answered(b"SIGNED:" + TICKET), open_marked), Unknown)
        self.assertEqual(verdicts.of_fetch(answered(b"", 204), open_marked), Nothing())


class ClientTests(SynchronousTestCase):
    """The client and its requests."""

    def setUp(self) -> None:
        """A wire that records requests and sends prepared answers."""
        self.sent: list[tuple[str, str, Mapping[str, str], bytes]] = []
        self.outcome: Reply | Exception = answered(b"")
        self.server = FiscalServer(self.exchange, self.sign, open_marked, "http://fs.test/fs/", lambda: "FRESH")

    async def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Note the request and answer it."""
        self.sent.append((method, url, headers, gzip.decompress(body)))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def sign(self, content: bytes) -> bytes:
        """Mark as signed."""
        return b"SIGNED:" + content

    def ask(self, asking: Any) -> Any:
        """The result of one call."""
        return self.successResultOf(Deferred.fromCoroutine(asking))

    def test_document(self) -> None:
        """A document leaves as the bytes that it was signed to, once, and the ticket is its verdict."""
        sale = decode(SAMPLES[2].data)
        ticket = Ticket(
            uid=sale.head.uid,
            orderdate=sale.head.orderdate,
            ordertime=sale.head.ordertime,
            ordernum=sale.head.ordernum,
            ordertaxnum="300",
        )
        self.outcome = answered(b"SIGNED:" + encode(ticket))
        accepted = self.ask(self.server.register(b"the bytes", sale))
        self.assertEqual(accepted.fiscal_number, "300")
        ((method, url, headers, body),) = self.sent
        self.assertEqual((method, url, body), ("POST", "http://fs.test/fs/doc", b"the bytes"))
        self.assertEqual(headers["Content-Type"], "application/octet-stream")

    def test_not_sent(self) -> None:
        """Without a connection nothing was sent."""
        self.outcome = NotReached("refused")
        sale = decode(SAMPLES[2].data)
        self.assertEqual(self.ask(self.server.register(b"x", sale)), NotSent("refused"))
        self.assertEqual(self.ask(self.server.hand_in(b"x")), NotSent("refused"))
        self.assertEqual(self.ask(self.server.state(4)), NotSent("refused"))

    def test_lost(self) -> None:
        """Every other failure of the line leaves it unknown, and nothing is sent again."""
        sale = decode(SAMPLES[2].data)
        for error in (LineLost(), Silent(30), Garbled("noise")):
            self.outcome = error
            self.sent.clear()
            self.assertIsInstance(self.ask(self.server.register(b"x", sale)), Unknown)
            self.assertIsInstance(self.ask(self.server.hand_in(b"x")), Unknown)
            self.assertEqual(len(self.sent), 2)

    def test_too_large(self) -> None:
        """A document that is too large does not leave; it is a refusal."""
        refused = self.ask(self.server.register(bytes(300_000), decode(SAMPLES[2].data)))
        self.assertEqual((type(refused), self.sent), (Refused, []))

    def test_commands(self) -> None:
        """Questions leave signed where they have to be, with a fresh UID each."""
        self.outcome = answered(b"", 204)
        self.assertEqual(self.ask(self.server.look_up(4, 7)), Nothing())
        self.assertEqual(self.ask(self.server.state_of_server()), Nothing())
        (_, url, _, signed), (_, _, _, bare) = self.sent
        self.assertEqual(url, "http://fs.test/fs/cmd?resultAsJson=true")
        expected = commands.DocumentInfoByLocalNum(uid="FRESH", num_fiscal=4, num_local=7)
        self.assertEqual(commands.decode(signed.removeprefix(b"SIGNED:")), expected)
        self.assertEqual(commands.decode(bare), commands.ServerState(uid="FRESH"))

    def test_state_of_a_session(self) -> None:
        """Before a session is handed in, the command contains its id and seed."""
        self.outcome = answered(STATE_ANSWER)
        state = self.ask(self.server.state(4, Session("21", "5")))
        self.assertEqual(state.value.next_local_num, 878)
        asked = commands.decode(self.sent[0][3].removeprefix(b"SIGNED:"))
        self.assertEqual(
            asked,
            commands.TransactionsRegistrarState(uid="FRESH", num_fiscal=4, offline_session_id="21", offline_seed="5"),
        )

    def test_unsigned(self) -> None:
        """The plain pair of functions leaves content as it is."""
        self.assertEqual(self.ask(unsigned(b"x")), b"x")
        self.assertEqual(open_unsigned(b"x"), Signed(b"x"))


class SkewTests(SynchronousTestCase):
    """The server's clock against ours."""

    def test_skew(self) -> None:
        """A server before us has a positive skew, one behind us a negative one; words have none."""
        ours = datetime(2026, 1, 1, 12, tzinfo=UTC)
        for text, seconds in (
            *(("2026-01-01T14:00:30+02:00", 30.0), ("2026-01-01T13:29:00+02:00", -1860.0), ("soon", None)),
            ("2026-01-01T14:00:30", None),
        ):
            self.assertEqual(skew(StateOfServer(timestamp=text), ours), seconds)


class QrTests(SynchronousTestCase):
    """The link in the QR code."""

    def test_published(self) -> None:
        """The link of a published offline receipt is made of its parts."""
        mac = "47a08c017274237765f9081d994e76e08742dcef85056d655a8458ec43dff6e4"
        link = qr_link("23649865.1.1236", "20240604152618", "4000438533", 95004, mac)
        self.assertEqual(
            link,
            "https://cabinet.tax.gov.ua/cashregs/check?id=23649865.1.1236&date=20240604&time=152618"
            f"&fn=4000438533&sm=950.04&mac={mac}",
        )

    def test_online(self) -> None:
        """An online receipt has no hash in its link."""
        self.assertNotIn("mac", qr_link("300", "20240604000000", "4", 5))


class EncodedTests(SynchronousTestCase):
    """Documents and packages that travel inside of commands."""

    def test_base64(self) -> None:
        """A document in a command is Base64 and comes out as it was."""
        command = commands.SendDocument(document=base64.b64encode(SAMPLES[2].data).decode())
        read = commands.decode(commands.encode(command))
        assert isinstance(read, commands.SendDocument)
        self.assertEqual(base64.b64decode(read.document), SAMPLES[2].data)
