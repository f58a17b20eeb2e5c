"""The way of a document through the books: what is stored when, what is sent, and what the caller hears."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Good, OfflineMark, Receipt, ShiftTotals
from dmtwisted.observed import Observed
from dmtwisted.registers import kept, totals
from dmtwisted.registers.asking import Asking
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED, Books, Submission
from dmtwisted.registers.channels.interface import Absent, Accepted, Away, Rejected, Unchained, Unknown
from dmtwisted.registers.kept import Doubt, Moments, Reach, Revocation
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import BY_ITSELF, RegisterState, Session
from dmtwisted.results import Action, Refused, Res, Text
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import CHANGE, OperationQuery, OperationRow, State, StoreFailed
from tests.shop import MORNING
from tests.test_totals import BASKET, paper

NOW = int(MORNING * 1000)

DEVICE = 7

NOT_TAKEN = Rejected(Refused(Res.TAX_SERVICE_WRONG_DATA))

LOST = Unknown("no answer")

MARKED = Receipt(goods=(Good(name="Вино", code="8", code_a="MARK", cnt=1000, price=9, cost=9, taxgrp=1),))


class Link(Unchained):
    """A tax service that answers as a test says, takes a second for it, and remembers what it was sent."""

    desk, unverified, dtype = "1", False, 1

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.remote, self.renews = True, False
        self.says: list[Any] = []
        """What comes of the next documents; then every one is accepted."""
        self.finds: list[Any] = []
        """What the next questions come to; then nothing is known."""
        self.sent: list[bytes] = []
        self.asked: list[tuple[int, bytes]] = []
        self.package: Session | None = None
        self.missing: list[Text] = []
        self.unsigned: Refused | None = None
        self.look: Callable[[], object] = list
        """Called while a document is at the tax service."""

    async def prepare(self, document: Document) -> bytes:
        """Sign it, if that is possible."""
        if self.unsigned is not None:
            raise self.unsigned
        return f"{document.kind} {document.number}".encode()

    def left_out(self, document: Document) -> list[Text]:
        """As the test says."""
        return self.missing

    async def again(self, document: Document, sent: bytes) -> bytes:
        """Other bytes."""
        return sent + b" again"

    async def submit(self, document: Document, sent: bytes) -> Any:
        """As the test says."""
        self.sent.append(sent)
        self._clock.advance(1)
        self.look()
        said = self.says.pop(0) if self.says else Accepted(f"F{document.number}", Session("5", "s"))
        if isinstance(said, Exception):
            raise said
        return said

    async def upload(self, package: list[bytes], session: Session) -> Any:
        """As the test says."""
        self.package = session
        self.sent += package
        return self.says.pop(0) if self.says else Accepted("F")

    async def probe(self, number: int, sent: bytes) -> Any:
        """As the test says."""
        self.asked.append((number, sent))
        return self.finds.pop(0) if self.finds else LOST

    def link(self, sent: bytes) -> str:
        """The bytes themselves."""
        return sent.decode()

    def key_days_left(self) -> int | None:
        """Nothing is signed."""
        return None


class BooksCase(SynchronousTestCase):
    """The books of one register with an open shift, whose next document is the second."""

    def setUp(self, **settings: Any) -> None:
        self.clock = Clock()
        self.clock.advance(MORNING)
        self.link: Any = Link(self.clock)
        self.store = MemoryStore()
        self.posted = 0
        self.settings = RegisterSettings(**settings)
        self.come(self.store.open())
        self.books = self.opened()
        state = RegisterState(z_number=4, safe=100_000)
        totals.apply(state, paper(documents.OPEN, 1, at=NOW), "F1", b"")
        self.books.state, self.books.stored, self.books.is_new = state, totals.encode(state), False

    def opened(self) -> Books:
        """The books as a start of the service has them."""
        time, link = ServiceClock(self.clock), self.link
        self.asking = Asking(link, time)
        self.observed = Observed(time)
        return Books(*(DEVICE, "test", self.settings, self.store, link, time, self.asking, self.post, self.observed))

    def post(self) -> None:
        """There are letters."""
        self.posted += 1

    def come(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """What ``coroutine`` comes to, after so many seconds as it takes."""
        due = Deferred.fromCoroutine(coroutine)
        while not due.called:
            self.clock.advance(1)
        return self.successResultOf(due)

    def refused(self, coroutine: Coroutine[Any, Any, Any]) -> Refused:
        """How ``coroutine`` is refused."""
        due = Deferred.fromCoroutine(coroutine)
        while not due.called:
            self.clock.advance(1)
        failure: Refused = self.failureResultOf(due, Refused).value
        return failure

    def make(self, *papers: Document, key: str = "tag", heir_of: int = 0, reach: Reach | None = None) -> Any:
        """Make documents under one key."""

        async def making() -> Any:
            submissions = [await self.books.prepare(each) for each in papers]
            submissions[0].reach = reach
            return await self.books.fiscalise(submissions, KIND, key, b"like", "en", heir_of=heir_of)

        return making()

    def sale(self, number: int = 2, **members: Any) -> Document:
        """A sale."""
        return paper(documents.SALE, number, **{"receipt": BASKET, "at": NOW, **members})

    def row(self, key: str = "tag") -> OperationRow:
        """The operation under ``key``."""
        waiting: list[OperationRow] = self.come(self.books.unresolved())
        done: OperationRow | None = self.come(self.store.find(DEVICE, KIND, key))
        (found,) = [each for each in waiting if each.key == key] if done is None else [done]
        return found

    def stands(self, state: RegisterState) -> None:
        """The register is as ``state`` says, here and in the store."""
        self.assertEqual(self.books.state, state)
        self.assertEqual(self.books.stored, totals.encode(state))
        self.assertEqual(self.come(self.store.register_state(DEVICE)), totals.encode(state))


class AcceptedTests(BooksCase):
    """Documents that the tax service takes."""

    def test_intent_and_outcome(self) -> None:
        """The intent is stored before a document is sent, its outcome with the register's state before the answer."""
        seen: list[OperationRow] = []
        self.link.look = lambda: seen.extend(self.come(self.books.unresolved()))
        sale, before = self.sale(), self.books.state.copy()
        answer = self.come(self.make(sale, reach=Reach("a@b.ua")))
        (intended,) = seen
        self.assertEqual((intended.key, intended.state, intended.at), ("tag", State.INTENDED, NOW))
        self.assertEqual(
            [(row.number, row.kind, row.sum, row.value, row.sent) for row in intended.documents],
            [(2, "sale", 325, documents.encode(sale), b"sale 2")],
        )
        self.assertEqual(kept.decode(intended.request), kept.Kept({2: Moments(NOW)}, reach=Reach("a@b.ua")))
        self.assertEqual(self.link.sent, [b"sale 2"])
        row = self.row()
        self.assertEqual(
            (row.state, row.res, row.answer, row.documents[0].fiscal_number), (State.DONE, 0, answer, "F2")
        )
        self.assertEqual(kept.decode(row.request), kept.Kept({2: Moments(NOW, NOW, NOW + 1000)}))
        told = json.loads(answer)
        self.assertEqual((told["res"], told["info"]["docno"], told["info"]["doccode"]), (0, "2", "F2"))
        self.assertNotIn("offline_left", told["info"])
        totals.apply(before, sale, "F2", b"sale 2", Session("5", "s"))
        self.stands(before)
        self.assertTrue(self.books.settled)
        self.assertEqual((self.observed.health, self.posted), ("good", 1))
        self.assertEqual(len(self.come(self.store.find_letters(["mail"], False, 10, 0))), 1)

    def test_kept_with_the_intent(self) -> None:
        """Whatever is known of a document beside itself is stored with its intent; without a link that is little."""
        revocation = Revocation(1, b"lost", b"")
        rows: tuple[tuple[dict[str, Any], kept.Kept], ...] = (
            ({}, kept.NOTHING),
            ({"moments": Moments(NOW)}, kept.Kept({2: Moments(NOW)})),
            ({"doubt": Doubt(NOW)}, kept.Kept(doubts={2: Doubt(NOW)})),
            ({"reach": Reach("a@b.ua")}, kept.Kept(reach=Reach("a@b.ua"))),
            ({"revocation": revocation}, kept.Kept(revocation=revocation)),
            ({"renewed": True}, kept.Kept(renewed={2: b"other"})),
        )
        for members, wanted in rows:
            self.setUp()
            self.link.remote = False
            seen: list[bytes] = []
            self.link.look = lambda seen=seen: seen.append(self.come(self.books.unresolved())[0].request)
            submission = Submission(self.sale(), b"other", **members)
            self.come(self.books.fiscalise([submission], KIND, "tag", b"", "en"))
            self.assertEqual(seen, [kept.encode(wanted)])
            self.assertEqual(self.posted, int("reach" in members))

    def test_told_of_marks(self) -> None:
        """Where a marks service is asked it is told of each mark that was sold, in the same transaction."""
        self.setUp(marks_check="service", marks_url="http://localhost:1/")
        self.come(self.make(self.sale(receipt=MARKED)))
        self.come(self.make(self.sale(3), key="3"))
        self.assertEqual(len(self.come(self.store.find_letters(["marks"], False, 10, 0))), 1)
        self.assertEqual(self.posted, 1)

    def test_known_key(self) -> None:
        """What the key has already is returned, and nothing is sent."""
        self.come(self.make(self.sale()))
        known = self.come(self.make(self.sale(3)))
        self.assertEqual(known, self.row())
        self.assertEqual(self.link.sent, [b"sale 2"])

    def test_codes(self) -> None:
        """The shift remembers the tax group of each code that it sold first, until the next one is opened."""
        goods = [
            Good(name="Чай", code=code, cnt=1000, price=9, cost=9, taxgrp=group)
            for code, group in (("5", 1), ("", 2))
        ]
        for number, group in ((2, 1), (3, 3)):
            rows = [
                *goods,
                Good(name="Сік", code="5" if number == 3 else "6", cnt=1000, price=9, cost=9, taxgrp=group),
            ]
            self.come(self.make(self.sale(number, receipt=Receipt(goods=tuple(rows))), key=f"{number}"))
        self.assertEqual(self.books.sold, {"5": 1, "6": 1})
        self.assertEqual(self.come(self.store.sold_codes(DEVICE, 5)), {"5": 1, "6": 1})
        again = self.opened()
        self.come(again.read())
        self.assertEqual((again.sold, again.is_new, again.state), ({"5": 1, "6": 1}, False, self.books.state))
        self.come(self.make(paper(documents.CASH_IN, 4, cash=BASKET.pays[0]), key="cash"))
        self.assertEqual(self.books.sold, {"5": 1, "6": 1})
        self.come(self.make(paper(documents.OPEN, 5), key="open"))
        self.assertEqual(self.books.sold, {})

    def test_two_documents(self) -> None:
        """The first document of two is accepted in the store before the second is sent; both have one answer."""
        seen: list[list[tuple[State, str]]] = []

        def look() -> None:
            (row,) = self.come(self.books.unresolved())
            seen.append([(each.state, each.fiscal_number) for each in row.documents])

        self.link.look = look
        accepted: list[tuple[int, str]] = []
        accept = self.store.accept_document

        async def accepting(n: int, number: int, fiscal_number: str) -> None:
            accepted.append((number, fiscal_number))
            await accept(n, number, fiscal_number)

        self.patch(self.store, "accept_document", accepting)
        z = paper(documents.Z, 2, report=ShiftTotals(count_p=3))
        told = json.loads(self.come(self.make(z, paper(documents.CLOSE, 3))))
        self.assertEqual(self.link.sent, [b"z 2", b"close 3"])
        waits = (State.INTENDED, "")
        self.assertEqual(seen, [[waits, waits], [(State.DONE, "F2"), waits]])
        self.assertEqual(accepted, [(2, "F2")], "the last one's acceptance is stored with the outcome")
        self.assertEqual([each.fiscal_number for each in self.row().documents], ["F2", "F3"])
        self.assertEqual((told["info"]["docno"], told["info"]["receipt"]["count_p"]), ("2", 3))
        self.assertEqual((self.books.state.shift_open, self.books.state.z_number), (False, 5))
        moments = kept.decode(self.row().request).way
        self.assertEqual(moments, {2: Moments(NOW, NOW, NOW + 1000), 3: Moments(NOW, NOW + 1000, NOW + 2000)})

    def test_warnings(self) -> None:
        """The answer says what should be seen to, and what the tax service's form has no place for."""
        self.clock.advance(30 * 3600)
        self.link.missing = [Text("це", "this"), Text("те", "that")]
        told = json.loads(self.come(self.make(self.sale())))
        self.assertEqual([each["code"] for each in told["warnings"]], [3003, 3006])
        self.assertIn("this; that", told["warnings"][1]["wtxt"])

    def test_chain(self) -> None:
        """Where documents name the one before, the state knows the hash of the last one."""
        self.books.state.local = 1
        (sale, z) = self.sale(place=1), paper(documents.Z, 3, place=2, report=ShiftTotals())
        self.come(self.make(sale))
        self.assertEqual((self.books.state.chain, self.books.state.local), ("sale 2", 2))
        after = self.books.after(self.come(self.books.prepare(z)))
        self.assertEqual((after.chain, after.local, after.shift_open, after.next_number), ("z 3", 3, False, 4))
        self.assertEqual(self.books.state.next_number, 3)


class AwayTests(BooksCase):
    """Documents that are made offline."""

    def setUp(self, **settings: Any) -> None:
        """Offline."""
        super().setUp(**settings)
        self.books.state.session = Session("5", "s")
        self.begin()

    def begin(self, number: int = 2, source: str = "") -> None:
        """Begin a session."""
        mark = OfflineMark("5.1.1")
        begin = paper(documents.OFFLINE_BEGIN, number, at=NOW, offline=mark, source=source)
        self.come(self.make(begin, key=f"begin {number}"))

    def end(self, number: int, source: str = "") -> Any:
        """End it."""
        return self.make(
            paper(documents.OFFLINE_END, number, offline=OfflineMark("5.1.3"), source=source), key=f"{number}"
        )

    def test_at_once(self) -> None:
        """What is made offline has its own number, and is stored with its outcome at once; nothing is sent."""
        self.books.stored = None
        told = json.loads(self.come(self.make(self.sale(3, offline=OfflineMark("5.1.2")))))
        self.assertEqual((self.link.sent, self.observed.health), ([], "unknown"))
        row = self.row()
        self.assertEqual((row.state, row.documents[0].fiscal_number), (State.DONE, "5.1.2"))
        self.assertEqual(told["info"]["doccode"], "5.1.2")
        self.assertIn("offline_left", told["info"])
        self.assertEqual(self.come(self.books.unresolved()), [])
        self.stands(self.books.state)
        self.assertEqual(self.books.state.last.number, 3)
        known = self.come(self.make(self.sale(4, offline=OfflineMark("5.1.3"))))
        self.assertEqual((known, self.books.state.last.number), (row, 3))

    def test_settled_later(self) -> None:
        """The intent of one that an earlier version left open is settled without the tax service."""
        document = self.sale(3, offline=OfflineMark("5.1.2"))
        answer = self.come(self.books.submit(0, [Submission(document, b"sale 3")], []))
        self.assertEqual((json.loads(answer)["info"]["doccode"], self.link.sent), ("5.1.2", []))
        self.assertEqual(self.observed.health, "unknown")

    def test_coming_home(self) -> None:
        """The end of a session is handed in; who came home by itself says so, and keeps a record of it."""
        for number, source in ((3, ""), (5, BY_ITSELF), (7, "")):
            self.come(self.end(number, source))
            self.assertEqual(self.link.sent[-1], f"offline_end {number}".encode())
            self.assertEqual(self.link.package, Session("5", "s"))
            self.assertEqual((self.books.came_home, self.observed.health), (source == BY_ITSELF, "good"))
            self.begin(number + 1)
        changes = self.come(self.store.find_operations(OperationQuery(kinds=[CHANGE]))).operations
        self.assertEqual([json.loads(each.request)["subject"] for each in changes], ["test"])
        self.assertFalse(self.opened().came_home)


class RefusedTests(BooksCase):
    """Documents that the tax service does not take, and what happens when it was not asked."""

    def test_unsigned(self) -> None:
        """What cannot be signed leaves nothing behind; a register that can sign nothing is at fault."""
        for why, health, lasts in (
            (Refused(Res.SIGNING_FAILED, "x"), "bad", True),
            (Away(), "bad", False),
            (Refused(Res.FORBIDDEN_CHARACTER, 1, "x"), "good", False),
        ):
            self.observed.worked()
            self.link.unsigned = why
            self.assertIs(self.refused(self.make(self.sale())), why)
            self.assertEqual(self.observed.health, health)
            self.observed.worked(task=False)
            self.assertEqual(self.observed.health, "bad" if lasts else "good")
        self.assertEqual(self.come(self.store.find(DEVICE, KIND, "tag")), None)

    def test_not_taken(self) -> None:
        """A refusal is told as it is, its tag and marks are free, and the register stays as it was."""
        self.setUp(marks_check="local")
        before = self.books.state.copy()
        for said, lasts in ((NOT_TAKEN, True), (Rejected(Away()), False)):
            self.link.says = [said]
            self.link.sent.clear()
            marked = self.sale(receipt=MARKED)
            self.assertIs(self.refused(self.make(marked, reach=Reach("a@b.ua"))), said.refused)
            self.assertEqual((self.books.state, self.books.settled, self.link.sent), (before, True, [b"sale 2"]))
            self.assertEqual(self.link.asked, [])
            found = self.come(self.store.find_operations(OperationQuery(states=[State.REFUSED]))).operations
            self.assertEqual(found[0].res, said.refused.res.code)
            self.assertNotIn(b"a@b.ua", found[0].request)
            self.assertEqual(self.come(self.store.find_marks(["MARK"])), [])
            self.assertEqual(self.observed.health, "bad")
            self.observed.worked(task=False)
            self.assertEqual(self.observed.health, "bad" if lasts else "good")
        self.come(self.make(marked))
        (held,) = self.come(self.store.find_marks(["MARK"]))
        self.assertEqual((held.state, held.number), ("sold", 2))
        # Now another receipt holds the mark: nothing is stored or sent.
        self.link.sent.clear()
        self.assertEqual(self.refused(self.make(self.sale(3, receipt=MARKED), key="2")).res, Res.MARK_REFUSED)
        self.assertEqual((self.link.sent, self.come(self.store.find(DEVICE, KIND, "2"))), ([], None))
        self.assertTrue(self.books.settled)

    def test_without_check(self) -> None:
        """Marks of sales that nobody checks are not kept; a return frees those that an earlier check has left."""
        self.come(self.make(self.sale(receipt=MARKED)))
        self.assertEqual(self.come(self.store.find_marks(["MARK"])), [])
        self.setUp(marks_check="local")
        self.come(self.make(self.sale(receipt=MARKED)))
        self.settings = RegisterSettings()
        self.books = self.opened()
        self.come(self.books.read())
        self.come(self.make(paper(documents.RETURN, 3, receipt=MARKED), key="back"))
        self.assertEqual(self.come(self.store.find_marks(["MARK"])), [])

    def test_store_fails(self) -> None:
        """After a write that was not confirmed the books know nothing of the register, until they are read again."""
        self.store.broken = True
        due = Deferred.fromCoroutine(self.make(self.sale()))
        self.failureResultOf(due, StoreFailed)
        self.assertEqual((self.books.settled, self.link.sent), (False, []))


class LostTests(BooksCase):
    """Documents whose answer was lost."""

    def setUp(self, **settings: Any) -> None:
        """The caller waits for 18 seconds."""
        super().setUp(**settings)
        self.asking.begin()

    def test_nobody_waits(self) -> None:
        """Without a caller who waits the outcome is unknown, and that is stored before it is told."""
        self.asking.begin(caller=False)
        self.link.says = [LOST]
        refused = self.refused(self.make(self.sale(), reach=Reach("a@b.ua")))
        self.assertEqual((refused.res, refused.action), (Res.COLLISION_NOT_REPAIRED, Action.COLLISION))
        self.assertIn("no answer", str(refused.aq_errortxt))
        (row,) = self.come(self.books.unresolved())
        self.assertEqual((row.state, row.res), (State.UNKNOWN, 1075))
        wanted = kept.Kept({2: Moments(NOW, NOW)}, reach=Reach("a@b.ua"), doubts={2: Doubt(NOW + 1000)})
        self.assertEqual(kept.decode(row.request), wanted)
        self.assertEqual((self.books.stored, self.observed.health), (None, "bad"))

    def test_found(self) -> None:
        """The tax service has it: the caller gets the answer, and the register works."""
        self.link.says, self.link.finds = [LOST], [LOST, Accepted("F2")]
        self.assertEqual(json.loads(self.come(self.make(self.sale())))["info"]["doccode"], "F2")
        self.assertEqual((self.link.sent, self.link.asked), ([b"sale 2"], [(2, b"sale 2")] * 2))
        found = NOW + 2000
        wanted = kept.Kept({2: Moments(NOW, NOW, found)}, doubts={2: Doubt(NOW + 1000, found)})
        self.assertEqual(kept.decode(self.row().request), wanted)
        self.assertEqual(self.observed.health, "good")
        self.stands(self.books.state)
        self.assertTrue(self.books.settled)

    def test_sent_again(self) -> None:
        """The tax service says twice that it never saw it: it is sent again, as other bytes once they are stored."""
        notes: list[bytes] = []
        for number, renews in ((2, False), (3, True)):
            self.link.renews = renews
            self.link.says, self.link.finds = [LOST], [Absent(), Absent()]
            self.link.look = lambda: notes.append(self.come(self.books.unresolved())[0].request)
            self.link.sent.clear()
            self.asking.begin()
            self.come(self.make(self.sale(number), key=f"{number}"))
            first = f"sale {number}".encode()
            self.assertEqual(self.link.sent, [first, first + b" again" * renews])
            self.assertEqual(kept.decode(notes[-1]).renewed, {3: b"sale 3 again"} if renews else {})
            self.assertEqual(self.row(f"{number}").state, State.DONE)

    def test_lost_again(self) -> None:
        """The second copy was lost too, and found: it is asked for under the bytes that were sent last."""
        self.link.renews = True
        self.link.says, self.link.finds = [LOST, LOST], [Absent(), Absent(), Accepted("F2")]
        self.come(self.make(self.sale()))
        self.assertEqual([sent for _, sent in self.link.asked], [b"sale 2"] * 2 + [b"sale 2 again"])
        self.assertEqual(kept.decode(self.row().request).doubts[2].lost, NOW + 1000)

    def test_slow(self) -> None:
        """Beside a link an answer is waited for until there is just time to ask, that of a second copy to the end."""
        for remote, first, gives_up in ((True, "", 13), (True, "lost", 17), (False, "", 30)):
            self.link.remote, self.link.finds = remote, [Absent(), Absent()] if first else []
            self.link.sent.clear()
            self.link.asked.clear()
            silent = Deferred[Any]()
            waits: list[Any] = [LOST, silent] if first else [silent]

            async def submit(document: Document, sent: bytes, waits: list[Any] = waits) -> Any:
                said = waits.pop(0)
                return await said if isinstance(said, Deferred) else said

            self.patch(self.link, "submit", submit)
            self.asking.begin()
            due = Deferred.fromCoroutine(self.make(self.sale(), key=f"{gives_up}"))
            asked = len(self.link.asked)
            for second in range(1, gives_up + 1):
                self.clock.advance(1)
                if second == gives_up - 1:
                    asked = len(self.link.asked)
            self.assertEqual(asked, 2 if first else 0, gives_up)
            if not remote:
                self.assertNoResult(due)
                silent.callback(Accepted("F2"))
                self.successResultOf(due)
                continue
            self.assertEqual(len(self.link.asked), asked + 1, gives_up)
            while not due.called:
                self.clock.advance(1)
            self.assertEqual(self.failureResultOf(due, Refused).value.res, Res.COLLISION_NOT_REPAIRED)
            (row,) = self.come(self.books.unresolved())
            self.come(self.books.void(row.n, self.sale()))

    def test_never_arrived(self) -> None:
        """It never arrived, or was refused when it was sent again: it is void, which the register remembers."""
        self.setUp(marks_check="local")
        before, numbers = self.books.state.copy(), []
        for said, finds in ((Away(), [Absent()] * 20), (NOT_TAKEN.refused, [Absent()] * 3)):
            self.asking.begin()
            self.link.says, self.link.finds = [LOST, *[Rejected(said)] * 20], [*finds]
            refused = self.refused(self.make(self.sale(receipt=MARKED)))
            self.assertEqual(refused.res, said.res)
            rows = self.come(self.store.find_operations(OperationQuery(states=[State.REFUSED]))).operations
            self.assertEqual(rows[0].res, said.res.code)
            numbers.append(rows[0].n)
            before.voids = tuple(numbers)
            self.stands(before)
            self.assertTrue(self.books.settled)
            self.assertEqual(self.come(self.store.find_marks(["MARK"])), [])

    def test_absent(self) -> None:
        """It never arrived and there is no time to send it again: 1084, and it is void."""
        self.link.says = [LOST]

        async def probe(number: int, sent: bytes) -> Any:
            self.clock.advance(7.9)
            return Absent()

        self.patch(self.link, "probe", probe)
        self.assertEqual(self.refused(self.make(self.sale())).res, Res.TAX_SERVICE_UNAVAILABLE)
        rows = self.come(self.store.find_operations(OperationQuery(states=[State.REFUSED]))).operations
        self.assertEqual((rows[0].res, self.books.state.voids), (1084, (rows[0].n,)))

    def test_person(self) -> None:
        """What needs a person is told as such, at once."""
        self.link.says, self.link.finds = [LOST], [Unknown("another one", Res.COLLISION_UNSOLVABLE)]
        refused = self.refused(self.make(self.sale()))
        self.assertEqual((refused.res, refused.action), (Res.COLLISION_UNSOLVABLE, Action.COLLISION))
        self.assertIn("another one", str(refused.aq_errortxt))
        self.assertEqual(self.row().state, State.UNKNOWN)

    def test_void(self) -> None:
        """Only an online document with the next number can arrive late: the last eight of them are remembered."""
        again = [self.come(self.void(self.sale())) for _ in range(9)]
        self.assertEqual(self.books.state.voids, tuple(again[1:]))
        remembered = self.come(self.store.register_state(DEVICE))
        self.assertEqual(totals.decode(remembered).voids, tuple(again[1:]))
        for number, offline, is_new in ((3, None, False), (2, OfflineMark("5"), False), (2, None, True)):
            self.books.is_new = is_new
            n = self.come(self.void(self.sale(number, offline=offline)))
            self.assertNotIn(n, self.books.state.voids)
            self.assertEqual(self.come(self.store.register_state(DEVICE)), remembered)

    async def void(self, document: Document) -> int:
        """The number of an operation whose document is void."""
        self.link.says = [StoreFailed("power")]
        await Deferred.fromCoroutine(self.make(self.sale(), key="void")).addErrback(lambda failure: None)
        found = (await self.books.unresolved())[0].n
        await self.books.void(found, document)
        return found


class ClosingTests(BooksCase):
    """The second of two documents, which is due once the first is accepted."""

    def setUp(self, **settings: Any) -> None:
        """The caller waits."""
        super().setUp(**settings)
        self.asking.begin()
        self.papers = (paper(documents.Z, 2, report=ShiftTotals()), paper(documents.CLOSE, 3))

    def test_refused(self) -> None:
        """A refusal of the second one leaves it open, with the reason; the first one is not sent again."""
        self.link.says = [Accepted("F2"), NOT_TAKEN]
        self.link.finds = [Absent()]
        refused = self.refused(self.make(*self.papers))
        self.assertEqual((refused.res, refused.action), (Res.COLLISION_NOT_REPAIRED, Action.COLLISION))
        self.assertEqual(str(refused.aq_errortxt), str(NOT_TAKEN.refused.words()))
        row = self.row()
        self.assertEqual((row.state, [each.fiscal_number for each in row.documents]), (State.UNKNOWN, ["F2", ""]))
        self.assertEqual(kept.decode(row.request).doubts, {3: Doubt(NOW + 2000)})
        # The next task hands in what is due.
        rest = [Submission(self.papers[0], b"z 2", "F2"), Submission(self.papers[1], b"close 3")]
        self.come(self.books.submit(row.n, rest, []))
        self.assertEqual(self.link.sent, [b"z 2", b"close 3", b"close 3"])
        self.assertEqual((self.row().state, self.books.state.shift_open), (State.DONE, False))

    def test_without_a_link(self) -> None:
        """Of a second one whose answer was lost that is kept, though of the first one nothing is."""
        self.asking.begin(caller=False)
        self.link.remote, self.link.says = False, [Accepted("F2"), LOST]
        self.refused(self.make(*self.papers))
        self.assertEqual(kept.decode(self.row().request), kept.Kept(doubts={3: Doubt(NOW + 2000)}))

    def test_away(self) -> None:
        """One that did not leave is tried again while the caller waits."""
        self.link.says = [Accepted("F2"), Rejected(Away()), Rejected(Away())]
        self.link.finds = [Absent()] * 9
        self.come(self.make(*self.papers))
        self.assertEqual(self.link.sent, [b"z 2", *[b"close 3"] * 3])

    def test_first_away(self) -> None:
        """A first one that did not leave is refused at once; one that was lost and then did not leave, too."""
        for says, finds, sent in (([], [], 1), ([LOST], [Absent()] * 2, 2)):
            self.asking.begin()
            self.link.sent.clear()
            self.link.says, self.link.finds = [*says, Rejected(Away())], [*finds]
            self.assertEqual(self.refused(self.make(*self.papers)).res, Res.TAX_SERVICE_UNREACHABLE)
            self.assertEqual(len(self.link.sent), sent)

    def test_absent(self) -> None:
        """The second one never arrived, and the time is over: it stays open."""
        self.link.says = [Accepted("F2"), LOST]

        async def probe(number: int, sent: bytes) -> Any:
            self.clock.advance(7.4)
            return Absent()

        self.patch(self.link, "probe", probe)
        refused = self.refused(self.make(*self.papers))
        self.assertEqual((refused.res, refused.action), (Res.COLLISION_NOT_REPAIRED, Action.COLLISION))
        self.assertEqual(self.row().state, State.UNKNOWN)


class ReadTests(BooksCase):
    """What a start knows."""

    def test_new(self) -> None:
        """Before the first document there is nothing: the register is new, and not settled until that is known."""
        books = self.opened()
        self.assertEqual((books.settled, self.come(books.current())), (False, RegisterState()))
        self.come(books.read())
        self.assertEqual((books.is_new, books.state, books.sold, books.settled), (True, RegisterState(), {}, False))
        books.stored = b"{}"
        self.assertTrue(books.settled)
        books.guessed = True
        self.assertFalse(books.settled)
        self.books = books
        self.come(self.make(paper(documents.OPEN, 1, at=NOW)))
        self.assertEqual((books.is_new, books.state.shift_open), (False, True))

    def test_current(self) -> None:
        """The state as it is stored is known at any time; it is a copy."""
        self.come(self.make(self.sale()))
        for books in (self.books, self.opened()):
            current = self.come(books.current())
            self.assertEqual(current, self.books.state)
            self.assertIsNot(current, self.books.state)
        self.store.broken = True
        self.assertEqual(self.come(self.books.current()), self.books.state)

    def test_unheard(self) -> None:
        """A start believes that nobody heard of the last receipt, and the next document keeps what is believed."""
        self.come(self.make(self.sale()))
        again = self.opened()
        self.come(again.read())
        self.assertEqual([each.number for each in again.unheard.receipts], [2])
        again.stored, self.books = b"{}", again
        self.come(self.make(paper(documents.CASH_IN, 3, cash=BASKET.pays[0]), key="cash"))
        self.assertEqual([each.number for each in self.books.state.unheard], [2])

    def test_open_operations(self) -> None:
        """Those of the register are its own to settle, with a tag and without one; those of batch mode are not."""
        self.link.look = lambda: self.fail_now()
        for number, kind in enumerate((KIND, UNTAGGED, "batch"), 2):
            submission = self.come(self.books.prepare(self.sale(number)))
            due = Deferred.fromCoroutine(self.books.fiscalise([submission], kind, kind, b"", "en"))
            self.failureResultOf(due, StoreFailed)
        self.assertEqual(sorted(each.kind for each in self.come(self.books.unresolved())), [KIND, UNTAGGED])

    def fail_now(self) -> None:
        """As if the power failed."""
        raise StoreFailed("power")
