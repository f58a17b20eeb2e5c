"""MG registers: documents, login, sales, rules and faults, with the simulator behind HTTP."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import Site
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.registers.mg import documents as mg
from protocols.registers.mg import register as client
from protocols.registers.mg.digest import Challenge, Login, members
from protocols.registers.mg.documents import Document, Kind, Payment, Sale
from protocols.registers.mg.register import X_REPORT, Z_REPORT, MgRegister
from protocols.registers.troubles import DeviceRefused, Trouble
from protocols.simulators.iron import DAY, IronSettings
from protocols.simulators.mg_register import MgDevice, MgSite
from tests.register_desk import Desk, DeskTestCase, Fault, What, every, spoilt, steered
from tests.vectors import mg as vectors
from tests.vectors.mg import BREAD

SALE = Document(Kind.SALE, (BREAD, Payment()))


class DocumentTests(SynchronousTestCase):
    """JSON both ways."""

    def test_both_ways(self) -> None:
        """Every document is read and written as it is."""
        for text, document in vectors.DOCUMENTS:
            self.assertEqual(Document.decode(text.encode()), document)
            self.assertEqual(json.loads(document.encode()), json.loads(text))

    def test_every_line(self) -> None:
        """Every kind of line with all its members is read as it was written."""
        lines = (
            Sale("7", "Вино", 1234, 99999, 2, 1, 2, "2204", ("AA00", "BB11")),
            mg.Discount(None, -1050, True, 2),
            Payment(4, 1, "1", "2", "3", "4", "5", 6),
            mg.Comment("Дякуємо"),
            mg.Barcode("123", 1, 2, 3, 4),
            mg.Text("x", 1),
        )
        document = Document(Kind.SALE, lines)
        self.assertEqual(Document.decode(document.encode()), document)

    @settings(deadline=None)
    @given(st.integers(-(10**12), 10**12), st.integers(0, 10**9))
    def test_amounts(self, kopecks: int, thousandths: int) -> None:
        """Every amount and every quantity is exact."""
        sale = Sale("1", "x", thousandths, kopecks, 1)
        self.assertEqual(Document.decode(Document(Kind.SALE, (sale,)).encode()).lines, (sale,))

    def test_broken(self) -> None:
        """Slightly broken JSON is read; what is no document is not."""
        for body in (
            b'\xef\xbb\xbf{"IO":[{"IO":{"sum":100.0,}},]}\x00\r\n',
            b'{"IO":[{"IO":{,"sum":"100.00"}}]}',
            b'{"IO":[{"IO":{"sum":100,,"no":1}}{"X":{}}]}',
            b'{"IO":[{"IO":{"sum":0100,"a":"b\n\\q"}}]}',
        ):
            document = Document.decode(body)
            self.assertEqual([getattr(line, "amount", 0) for line in document.lines], [10000], body)
        for body in (
            b"",
            b"[]",
            b"{}",
            b"null",
            b'{"F":[],"R":[]}',
            b'{"F":[1]}',
            b'{"F":[{"S":{"name":"x"}}]}',
            b'{"F":[{"P":{"sum":"1.005"}}]}',
            b'{"F":[{"P":{"sum":"many"}}]}',
            b'{"F":' + b"[" * 100_000,
        ):
            self.assertRaises(Garbled, Document.decode, body)

    @settings(deadline=None)
    @given(st.binary(max_size=80))
    def test_any_bytes(self, body: bytes) -> None:
        """Whatever comes is read or garbled."""
        with contextlib.suppress(Garbled):
            Document.decode(body)

    def test_cut_at_every_byte(self) -> None:
        """A document that is cut short is garbled."""
        for text, _ in vectors.DOCUMENTS:
            for cut in range(len(text.encode())):
                self.assertRaises(Garbled, Document.decode, text.encode()[:cut])

    def test_errors(self) -> None:
        """The first error counts; its line is told; a stranger is an unknown one."""
        for body, code, trouble in (
            (vectors.ERROR, "xEA", Trouble.UNKNOWN),
            (b'{"err":[{"e":"xC4","line":2},{"e":"x25"}]}', "xC4, line 2", Trouble.ARTICLE),
            (b'{"err":[{"e":"new"}]}', "new", Trouble.UNKNOWN),
            (b'{"err":[7]}', "?", Trouble.UNKNOWN),
        ):
            refusal = mg.refusal_in(mg.read(body))
            assert refusal is not None
            self.assertEqual((refusal.code, refusal.meaning.trouble), (code, trouble))
        self.assertIsNone(mg.refusal_in({"err": []}))
        self.assertEqual(mg.encode_errors((0xEA, None)), vectors.ERROR)

    def test_answers(self) -> None:
        """A state needs its number, an entry its kind and its id."""
        state = mg.State.of(mg.read(b'{"chkId":"17","currZ":3,"IsWrk":1,"FskMode":true,"time":1.0}'))
        self.assertEqual((state.chk_id, state.z, state.shift_open, state.fiscal_mode), (17, 3, True, 1))
        for given_ in ({}, {"chkId": "x"}):
            self.assertRaises(Garbled, mg.State.of, given_)
        for body in (b"1", b"{}", b'{"F":[]}', b'{"id":1}', b"[[]]"):
            self.assertRaises(Garbled, mg.entries_of, mg.read_any(body))
        for body in (b"1", b"{}", b"[1]"):
            self.assertRaises(Garbled, mg.form_sums, mg.read_any(body))


class DigestTests(SynchronousTestCase):
    """The login."""

    def test_header(self) -> None:
        """The header is what the arithmetic of the standard gives."""
        header = vectors.LOGIN.authorization(vectors.CHALLENGE, "GET", "/cgi/state", 1, vectors.CNONCE)
        self.assertEqual(header, vectors.STATE_HEADER)

    def test_challenge(self) -> None:
        """A challenge is read as it was written, also without quotes; another scheme is none."""
        challenge = Challenge("abc")
        self.assertEqual(Challenge.decode(challenge.encode()), challenge)
        self.assertEqual(Challenge.decode("Digest nonce=1f, qop=auth"), Challenge("1f"))
        self.assertIsNone(Challenge.decode('Basic realm="x"'))
        self.assertIsNone(Challenge.decode("Digest realm=x"))
        self.assertEqual(members('Digest a=1, b="2, 3"'), {"a": "1", "b": "2, 3"})


class Other(Resource):
    """Another server."""

    isLeaf = True

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        Resource.__init__(self)
        self.status, self.headers, self.asked = status, headers, 0

    def render(self, request: IRequest) -> bytes:
        """The same to everything."""
        self.asked += 1
        request.setResponseCode(self.status)
        for name, value in self.headers.items():
            request.setHeader(name, value)
        return b"nothing"


@implementer(IStreamClientEndpoint)
class Nowhere:
    """An address at which nobody answers."""

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Wait."""
        return Deferred()


class MgCase(DeskTestCase):
    """A till and a register."""

    settings: IronSettings | None = None

    def setUp(self) -> None:
        self.clock = Clock()
        self.device = MgDevice(self.clock, self.settings)
        self.iron = self.device.iron
        site = MgSite(self.device)
        self.desk = Desk(self.clock, site)
        self.register = self.client()

    def client(self, login: Login = vectors.LOGIN) -> MgRegister:
        """The till's side."""
        return MgRegister(self.clock, self.desk.endpoint, login)

    def do(self, doing: Any) -> Any:
        """What becomes of it."""
        return self.desk.done(doing)

    def code(self, *lines: Any, kind: Kind = Kind.SALE) -> str:
        """The error with which a document is refused."""
        return self.refused(self.desk, self.register.register(Document(kind, lines)))


class MgTests(MgCase):
    """What the register does."""

    def test_sale(self) -> None:
        """One POST is one receipt; the answer is its entry in the journal."""
        lines = (BREAD, mg.Discount(-50), Payment(4, 1000), Payment(None, 2000), mg.Comment("Дякуємо"))
        entry = self.do(self.register.register(Document(Kind.SALE, lines)))
        self.assertEqual((entry.id, entry.number, entry.total, entry.document.lines), (1, 1, 2500, lines))
        [receipt] = self.iron.ledger
        self.assertEqual((receipt.payments, receipt.change), (((0, 1500), (1, 1000)), 500))
        state = self.do(self.register.state())
        self.assertEqual((state.chk_id, state.shift_open, state.fiscal_mode), (1, True, 1))
        self.assertEqual([each.amount for each in self.do(self.register.sums())], [1500, 0, 0, 1000])
        self.assertEqual(self.do(self.register.journal(1)), [entry])

    def test_other_documents(self) -> None:
        """Returns, cash, text and copies; each has an entry."""
        for document in (
            Document(Kind.CASH, (mg.Cash(10000),)),
            Document(Kind.RETURN, (BREAD, Payment())),
            Document(Kind.CASH, (mg.Cash(-50),)),
            Document(Kind.TEXT, (mg.Text("Меню"),)),
            Document(Kind.COPY, ()),
        ):
            self.do(self.register.register(document))
        self.assertEqual((self.iron.drawer, len(self.device.journal)), (7400, 5))
        self.assertEqual(self.code(mg.Cash(-7401), kind=Kind.CASH), "xDB")

    def test_reports(self) -> None:
        """X changes nothing; Z closes the shift, is in the journal, and frees the codes."""
        self.do(self.register.register(SALE))
        self.do(self.register.report(X_REPORT))
        self.assertTrue(self.do(self.register.state()).shift_open)
        self.do(self.register.report(Z_REPORT))
        state = self.do(self.register.state())
        self.assertEqual((state.shift_open, state.z, state.chk_id), (False, 2, 2))
        self.assertEqual(self.do(self.register.journal(2))[0].document.kind, Kind.Z)
        self.do(self.register.register(Document(Kind.SALE, (Sale("1", "Сіль", 1000, 100, 2), Payment()))))
        self.assertRaises(DeviceRefused, self.do, self.register.report(7))

    def test_rest(self) -> None:
        """Drawer, copy, numbers, tables."""
        self.do(self.register.register(SALE))
        for name in ("openbox", "lastreceipt", "feedpaper"):
            self.do(self.register.proceed(name))
        self.assertEqual((self.iron.opened_drawer, self.iron.copied), (1, 1))
        self.assertEqual(self.do(self.register.information())["dev_fn"], "3000000001")
        self.assertEqual(self.do(self.register.table("Pay"))[0]["id"], 1)
        self.assertRaises(DeviceRefused, self.do, self.register.proceed("explode"))

    def test_refused(self) -> None:
        """A document with one wrong line is not registered at all, and the line is named."""
        for lines, code in (
            ((BREAD,), "xF8"),
            ((Payment(),), "xF8"),
            ((BREAD, Payment(4, 9999)), "xDF, line 2"),
            ((BREAD, Payment(9)), "xF1, line 2"),
            ((BREAD, mg.Discount(-2551), Payment()), "xF4, line 2"),
            ((mg.Discount(-1), BREAD, Payment()), "xCB, line 1"),
            ((BREAD, Sale("1", "Сіль", 1000, 100, 1), Payment()), "xC4, line 2"),
            ((Sale("2", "x", 0, 100, 1), Payment()), "xEB, line 1"),
            ((Sale("2", "x", 1000, 100, 9), Payment()), "xC2, line 1"),
            ((Sale("2", "x", 1000, 10**10, 1), Payment()), "xE9, line 1"),
            ((BREAD, Payment(None, 100)), "xF8"),
        ):
            self.assertEqual(self.code(*lines), code)
        self.assertEqual((self.iron.ledger, self.device.journal, self.iron.document), ([], [], None))

    def test_conditions(self) -> None:
        """No paper, an open cover and the end of the day."""
        self.iron.paper = 2
        self.assertEqual(self.code(*SALE.lines), "x25, line 2")
        self.iron.paper = 0
        self.assertEqual(self.code(*SALE.lines), "x25")
        self.do(self.register.state())
        self.iron.paper, self.iron.cover_open = None, True
        self.assertEqual(self.code(*SALE.lines), "x8B")
        self.iron.cover_open = False
        self.do(self.register.register(SALE))
        self.clock.advance(DAY)
        self.assertEqual(self.code(*SALE.lines), "xCF")

    def test_modes(self) -> None:
        """A register that is not fiscalised, or has unsent reports, sells nothing."""
        self.iron.unsent = True
        self.assertEqual(self.code(*SALE.lines), "xA6")
        self.iron.fiscalised = False
        self.assertEqual(self.code(*SALE.lines), "xC3")
        self.assertFalse(self.do(self.register.state()).fiscalised)

    def test_login(self) -> None:
        """Each connection brings its login; a new challenge is answered, a wrong password is refused."""
        self.do(self.register.state())
        self.device.renew()
        self.do(self.register.register(SALE))
        self.assertEqual(len(self.iron.ledger), 1)
        stranger = self.client(Login("service", "000000"))
        self.assertEqual(self.refused(self.desk, stranger.register(SALE)), "401")
        self.assertEqual(len(self.iron.ledger), 1)

    def test_broken_json(self) -> None:
        """Slightly broken and compressed answers are read."""
        self.device.slack = True
        self.do(self.register.register(SALE))
        self.device.deflates = True
        self.assertEqual(self.do(self.register.register(SALE)).id, 2)


class SmallTests(MgCase):
    """A register with little room."""

    settings = IronSettings(reports=1, lines=1)

    def test_full(self) -> None:
        """A full receipt and a full memory."""
        self.assertEqual(self.code(BREAD, BREAD, Payment()), "xF5, line 2")
        self.do(self.register.report(Z_REPORT))
        self.assertEqual(self.code(*SALE.lines), "xFF")


class MgFaultTests(MgCase):
    """What the till gets when the line or the power fails."""

    def settled(self, before: int) -> bool:
        """Whether the journal has grown by our document since ``before``."""
        state = self.do(self.register.state())
        if state.chk_id == before:
            return False
        [entry] = self.do(self.register.journal(before + 1))
        self.assertEqual((entry.document, entry.total), (SALE, 2550))
        return True

    def test_journal_tells(self) -> None:
        """Whatever happens to a document or its answer, the journal tells whether it was registered."""
        length = 200
        faults = [
            (Fault(What.UNHEARD), Silent, False),
            (Fault(What.BROKEN_BEFORE), LineLost, False),
            (Fault(What.LOST), Silent, True),
            (Fault(What.GARBAGE, 50), Garbled, True),
            *((Fault(What.SHORT, cut), Silent, True) for cut in range(0, 100, 9)),
            *((Fault(What.BROKEN_AFTER, cut), LineLost, True) for cut in range(0, length // 2, 3)),
        ]
        for fault, error, registered in faults:
            before = self.do(self.register.state()).chk_id
            self.device.steer = every(register=fault)
            self.assertRaises(error, self.do, self.register.register(SALE))
            self.assertEqual(self.settled(before), registered, fault)
        self.assertEqual(len(self.iron.ledger), sum(registered for _, _, registered in faults))

    def test_spoilt_request(self) -> None:
        """A request that is cut or damaged at any byte makes one receipt or none, and the journal tells which."""
        self.do(self.register.state())
        for spoil in spoilt(400):
            before = len(self.device.journal)
            self.desk.spoil = spoil
            with contextlib.suppress(WireError):
                self.do(self.register.register(SALE))
            grown = self.do(self.register.state()).chk_id - before
            self.assertIn(grown, (0, 1))
            self.assertEqual(len(self.iron.ledger), before + grown)

    def test_damaged_at_every_byte(self) -> None:
        """A damaged answer never makes a second receipt."""
        for place in range(200):
            before = self.do(self.register.state()).chk_id
            self.device.steer = steered(register=Fault(What.DAMAGED, place))
            with contextlib.suppress(WireError):
                self.do(self.register.register(SALE))
            self.assertTrue(self.settled(before))
        self.assertEqual(len(self.iron.ledger), 200)

    def test_slow(self) -> None:
        """A slow answer is waited for: 30 s for a receipt, not more."""
        self.device.steer = steered(register=Fault(What.SLOW, 29))
        self.assertEqual(self.do(self.register.register(SALE)).id, 1)
        self.device.steer = steered(register=Fault(What.SLOW, 31))
        self.assertRaises(Silent, self.do, self.register.register(SALE))
        self.assertTrue(self.settled(1))

    def test_new_challenge(self) -> None:
        """A challenge that changes just before the document is answered, and the document is registered once."""
        self.do(self.register.state())
        self.device.steer = steered(register=Fault(What.REFUSED))
        self.do(self.register.register(SALE))
        self.assertEqual((len(self.iron.ledger), self.device.heard), (1, ["state", "register"]))

    def test_power(self) -> None:
        """The power fails before or after a document: it is registered or not, and never half."""
        for fault, registered in ((Fault(What.DARK_BEFORE, 9), False), (Fault(What.DARK_AFTER, 9), True)):
            before = self.do(self.register.state()).chk_id
            self.device.steer = steered(register=fault)
            self.assertRaises(LineLost, self.do, self.register.register(SALE))
            self.assertRaises(NotReached, self.do, self.register.state())
            self.clock.advance(9)
            self.assertEqual(self.settled(before), registered)

    def test_status(self) -> None:
        """A server that answers with another status gives no answer, and is asked once."""
        for status, headers, error in (
            (500, {}, Garbled),
            (404, {}, Garbled),
            (500, {"WWW-Authenticate": "Digest nonce=1"}, Garbled),
            (401, {}, DeviceRefused),
            (401, {"WWW-Authenticate": "Basic"}, DeviceRefused),
            (200, {"Content-Encoding": "deflate"}, Garbled),
        ):
            other = Other(status, headers)
            self.desk.device = Site(other, reactor=self.clock, timeout=None)
            self.assertRaises(error, self.do, self.register.register(SALE))
            self.assertEqual(other.asked, 1)

    def test_not_reached(self) -> None:
        """A register that is not there, or does not answer the call in 3 s, was sent nothing."""
        register = MgRegister(self.clock, Nowhere(), vectors.LOGIN)
        doing = self.desk.begin(register.state())
        self.clock.advance(2.999)
        self.assertNoResult(doing)
        self.clock.advance(0.001)
        self.failureResultOf(doing, NotReached)

    def test_endless(self) -> None:
        """An answer without end is not read to its end."""
        self.patch(client, "MOST_ANSWER", 50)
        self.assertRaises(Garbled, self.do, self.register.state())

    def test_chaos(self) -> None:
        """Faults on any request: what the journal tells is what the register has, each receipt once."""
        chance = random.Random(25)
        whats = [What.UNHEARD, What.BROKEN_BEFORE, What.LOST, What.GARBAGE, What.SHORT, What.BROKEN_AFTER]
        known = 0
        for _ in range(100):
            before = self.do(self.register.state()).chk_id
            self.device.steer = lambda _: (
                Fault(chance.choice(whats), chance.randrange(120)) if chance.random() < 0.3 else None
            )
            with contextlib.suppress(WireError):
                self.do(self.register.register(SALE))
            self.device.steer = every()
            known += self.settled(before)
        self.assertEqual((len(self.iron.ledger), len(self.device.journal)), (known, known))
        self.assertGreater(known, 50)
