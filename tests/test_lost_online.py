"""A document whose answer was lost while the tax service stays away: made again offline, its online copy revoked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.registers import asking, totals
from dmtwisted.registers.bookkeeping import UNTAGGED
from dmtwisted.registers.channels.interface import Absent, Accepted, Unknown
from dmtwisted.registers.lost_online import begin_to_send, read_revocation, revocable
from dmtwisted.results import Refused, Res
from dmtwisted.store.restored import NAME, Restored
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, State, StoreFailed
from protocols.simulators.fiscal_rules import Last
from tests.batch_desk import Blows
from tests.prro_shop import FIRST, PrroShop, keys
from tests.shop import hurry, sale
from tests.test_offline_switch import went
from tests.web_case import WebCase
from web.site import Door

GONE = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})
"""Nothing gets through: neither documents nor questions."""

SLOW = bool(os.environ.get("DMTWISTED_DEEP"))
"""Whether there is time for every blow: those left out leave a state behind that another one leaves too."""

BLOWS = (
    ("killed before", "killed after", "failed before", "failed after") if SLOW else ("killed after", "failed after")
)

ARRIVED = {True: "lost_after", False: "lost_before"}
"""What makes an answer get lost, by whether the document had arrived."""


class LostCase(SynchronousTestCase):
    """A register `one` that makes a lost document again offline; its shift is open, and 500.00 lie in the drawer."""

    settings: dict[str, Any] = {"offline_after_lost_answer": "revoke"}  # noqa: RUF012

    def setUp(self) -> None:
        """Open."""
        self.shop = PrroShop(self, "one", **self.settings)
        self.told(self.do(0, "opening"))
        self.told(self.do(3, "drawer", cash={"type": 0, "sum": 500}))

    def do(self, task: int, tag: str, **members: Any) -> dict[str, Any]:
        """The answer to a task."""
        return self.shop.fiscal(task, tag, "one", **members)

    def sell(self, amount: float, tag: str) -> dict[str, Any]:
        """The answer to a sale in cash."""
        return self.do(1, tag, receipt=sale(amount))

    def told(self, answer: dict[str, Any], res: int = 0, action: int | None = None) -> dict[str, Any]:
        """``answer``, which has to tell ``res``, and ``res_action`` if one is given."""
        self.assertEqual(answer["res"], res, answer)
        if action is not None:
            self.assertEqual(answer["res_action"], action, answer)
        return answer

    def lose_marked(self, arrived: bool, mark: str) -> None:
        """As `lose`, with an excise mark."""
        self.shop.built()._channel._skew = 0.0
        self.shop.rules({"on": "sale", "then": ARRIVED[arrived]}, *GONE)
        with self.waiting():
            self.told(self.marked("one", mark, "a"), 1075, 2)

    def marked(self, device: str, mark: str, tag: str) -> dict[str, Any]:
        """The answer to a sale with an excise mark."""
        bill = sale(50)
        bill["rows"][0]["code_a"] = mark
        return self.shop.fiscal(1, tag, device, receipt=bill)

    def lose(self, arrived: bool, tag: str = "a", amount: float = 50) -> None:
        """Sell; the answer is lost, and then the server is away."""
        # A register that doubts the link would ask for the time first.
        self.shop.built()._channel._skew = 0.0
        self.shop.rules({"on": "sale", "then": ARRIVED[arrived]}, *GONE)
        with self.waiting():
            self.told(self.sell(amount, tag), 1075, 2)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Nobody waits for the answer, and the register does not go offline, as if it died and started again."""
        register = self.shop.built()
        patches = [self.patch(asking, "GRANTED_S", asking.RESERVE_S), self.patch(register, "_revokes", False)]
        yield
        for patch in patches:
            patch.restore()

    def home(self) -> int:
        """Bring the register home by hand: 0, or the code of the refusal."""
        self.shop.rules()
        return self.go_online()

    def go_online(self) -> int:
        """Try to come home as things are: 0, or the code of the refusal."""
        return went(Deferred.fromCoroutine(self.shop.built().go_online("uk")))

    def ledger(self) -> list[tuple[str, int]]:
        """What the tax service believes has happened since the drawer was filled: kinds and sums."""
        return [(entry.kind, entry.sum) for entry in self.shop.far_end.entries()][2:]

    def lost_row(self) -> Any:
        """The operation whose answer was lost."""
        query = OperationQuery(devices=[self.shop.core.devices.by_name("one").row.n], states=[State.REFUSED])
        rows = self.shop.done(self.shop.store.find_operations(query)).operations
        kept = [(row, json.loads(row.request).get("online_copy")) for row in rows]
        ((row, copy),) = [one for one in kept if one[1] is not None]
        return row, copy

    def state(self) -> totals.RegisterState:
        """What the store has of the register."""
        n = self.shop.core.devices.by_name("one").row.n
        return totals.decode(self.shop.done(self.shop.store.register_state(n)))

    def close(self, sales: int) -> None:
        """Close the shift: the server, which calculates the Z itself, has ``sales`` kopecks too."""
        self.told(self.do(11, "z at the end"))
        z = self.shop.taken()[-2]
        self.assertEqual(z.zreprealiz.sum, sales)


class RevokedTests(LostCase):
    """Out and home."""

    def test_repeat(self) -> None:
        """The repeat of the tag gets an offline receipt at once; at home the online copy is revoked."""
        self.lose(arrived=True)
        answer = self.told(self.sell(50, "a"), 0)
        info = answer["info"]
        self.assertEqual((info["isoffline"], info["docno"], answer["tag"]), (True, "4", "a"))
        self.assertRegex(info["doccode"], r"^\d+\.2\.\d{1,4}$")
        self.assertEqual(self.sell(50, "a"), {**answer, "task_status": 2})
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000)])
        reversal = self.shop.far_end.entries()[3]
        self.assertEqual(reversal.ref, self.shop.far_end.entries()[2].number)
        self.assertEqual(self.shop.kinds(), ["open", "cash_in", "offline_begin", "sale", "offline_end"])
        self.assertEqual(self.sell(50, "a")["info"]["doccode"], info["doccode"])
        self.assertFalse(self.told(self.sell(60, "b"))["info"]["isoffline"])
        self.close(11000)

    def test_never_arrived(self) -> None:
        """What never arrived is not revoked: the begin says so, and there is one receipt."""
        self.lose(arrived=False)
        self.assertTrue(self.told(self.sell(50, "a"))["info"]["isoffline"])
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.ledger(), [("sale", 5000)])
        self.assertFalse(self.shop.taken()[2].checkhead.revokelastonlinedoc)
        self.close(5000)

    def test_marks(self) -> None:
        """The excise mark of such a sale stays reserved from the lost answer on, and is sold with what was made
        again; nobody else sells it in between."""
        for arrived in (True, False):
            mark = f"m{arrived}"
            for device in ("one", "two"):
                self.shop.settings(device, marks_check="local")
            self.shop.load_key("two", keys().cashier)
            self.told(self.shop.fiscal(0, "opening", "two"))
            self.lose_marked(arrived, mark)
            self.shop.rules(*GONE)
            again = self.told(self.marked("one", mark, "a"))
            self.assertTrue(again["info"]["isoffline"])
            [row] = self.shop.done(self.shop.store.find_marks([mark]))
            self.assertEqual((row.state, str(row.number)), ("sold", again["info"]["docno"]))
            self.assertEqual(self.home(), 0)
            self.assertIn(again["info"]["doccode"], self.told(self.marked("two", mark, "b"), 2101)["errortxt"])
            self.setUp()

    def test_another_sale(self) -> None:
        """A till that sells something else gets both: each is there once, and the lost one is known by its tag."""
        for arrived in (True, False):
            self.setUp()
            self.lose(arrived)
            second = self.told(self.sell(70, "b"))["info"]
            self.assertEqual((second["isoffline"], second["docno"]), (True, "5"))
            first = self.told(self.shop.look_up("a", "one"))["info"]
            self.assertEqual((first["isoffline"], first["docno"]), (True, "4"))
            self.assertEqual(self.do(10, "x")["info"]["summary"]["base_p"], 120.0)
            self.assertEqual(self.home(), 0)
            reversed_ = [("sale", 5000), ("storno", 0)] if arrived else []
            self.assertEqual(self.ledger(), [*reversed_, ("sale", 5000), ("sale", 7000)])
            self.close(12000)

    def test_every_kind(self) -> None:
        """Sale, return, cash in, cash out and withdrawal are made again and revoked; the Z agrees."""
        for task, members in (
            (1, {"receipt": sale(30)}),
            (2, {"receipt": {**sale(20), "purchase_receipt_fisn": "3000000002"}}),
            (3, {"cash": {"type": 0, "sum": 40}}),
            (4, {"cash": {"type": 0, "sum": 50}}),
            (14, {"cash": {"type": 2, "sum": 60}}),
        ):
            self.setUp()
            self.shop.rules({"on": "any", "then": "lost_after"}, *GONE)
            with self.waiting():
                self.told(self.do(task, "a", **members), 1075, 2)
            self.assertTrue(self.told(self.do(task, "a", **members))["info"]["isoffline"], task)
            self.assertEqual(self.home(), 0, task)
            told = self.ledger()
            self.assertEqual([told[1], told[0]], [("storno", 0), told[2]], task)
            self.told(self.do(11, "z"))

    def test_comes_home_by_itself(self) -> None:
        """The register went by itself, so it comes back by itself."""
        self.lose(arrived=True)
        self.told(self.sell(50, "a"))
        self.shop.rules()
        self.shop.clock.pump([1.0] * 70)
        self.assertFalse(self.shop.built().away)
        self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000)])

    def test_look_up(self) -> None:
        """A till that asks before it repeats gets the receipt too."""
        self.lose(arrived=True)
        answer = self.told(self.shop.look_up("a", "one"))
        self.assertEqual((answer["info"]["isoffline"], answer["task_status"]), (True, 2))

    def test_lost_twice(self) -> None:
        """Each outage has a session of its own, with its own revocation."""
        for number in range(2):
            self.lose(True, f"tag {number}", 50 + number)
            self.told(self.sell(50 + number, f"tag {number}"))
            self.assertEqual(self.home(), 0)
        once = [("sale", 5000), ("storno", 0), ("sale", 5000)]
        self.assertEqual(self.ledger(), [*once, *((kind, amount and 5100) for kind, amount in once)])
        self.close(10100)

    def test_journal(self) -> None:
        """The journal says what became of the online copy: unknown yet, then revoked, or never arrived."""
        for arrived, became in ((True, "revoked"), (False, "absent")):
            self.setUp()
            self.lose(arrived)
            self.told(self.sell(50, "a"))
            row, copy = self.lost_row()
            self.assertEqual((row.key, copy), ("a", {"again": 4}))
            self.assertEqual(self.home(), 0)
            noted = self.lost_row()[1]
            self.assertEqual(noted["became"], became)
            if arrived:
                self.assertEqual(noted["number"], self.shop.far_end.entries()[2].number)


class DecisionTests(LostCase):
    """One reason at a time."""

    def test_may_be_made_again(self) -> None:
        """Only one document may be: the last of an open shift, online, without a number, of a kind that can be
        revoked, and with a tag of the caller's."""
        self.lose(arrived=True)
        register = self.shop.built()
        n = self.shop.core.devices.by_name("one").row.n
        lost: OperationRow = self.shop.done(self.shop.store.unresolved(n))[0]
        state, kinds = register._books.state, register._channel.revocable
        [row] = lost.documents
        document = documents.decode(row.value)
        self.assertEqual(revocable(lost, state, kinds), document)

        def made(**members: Any) -> OperationRow:
            return replace(lost, documents=[replace(row, value=documents.encode(replace(document, **members)))])

        closed, offline = state.copy(), state.copy()
        closed.shift_open = False
        offline.offline = totals.Offline(first=3, since=0)
        for why, operation, now, revoked in (
            ("two documents", replace(lost, documents=[row, row]), state, kinds),
            ("shift", lost, closed, kinds),
            ("offline already", lost, offline, kinds),
            ("made offline", made(offline=documents.OfflineMark("1.2.3")), state, kinds),
            ("has a number", replace(lost, documents=[replace(row, fiscal_number="1")]), state, kinds),
            ("kind", lost, state, kinds - {document.kind}),
            ("not the last", made(number=document.number - 1), state, kinds),
            ("tag", made(caller=replace(document.caller, untagged=True)), state, kinds),
        ):
            self.assertIsNone(revocable(operation, now, revoked), why)

    def test_begin_to_send(self) -> None:
        """What the tax service has under the begin's number decides its form; while that is unsure none is sent.

        The journal says what became of the online copy, and a copy that was revoked stays so.
        """
        self.lose(arrived=True)
        self.told(self.sell(50, "a"))
        channel, n = self.shop.built()._channel, self.shop.core.devices.by_name("one").row.n
        lost = self.shop.done(read_revocation(self.shop.store, n, UNTAGGED, 3))
        other, unheard = Unknown("another document", Res.COLLISION_UNSOLVABLE), Unknown("no answer")
        plain, revoking, copy = b"plain", lost.revoking, {"again": 4}
        absent, revoked = {**copy, "became": "absent"}, {**copy, "became": "revoked", "number": "77"}
        questions: list[tuple[int, bytes]] = []
        answers: Iterator[Any] = iter(())

        async def probe(number: int, sent: bytes) -> Any:
            questions.append((number, sent))
            return next(answers)

        self.patch(channel, "probe", probe)
        for found, form, noted in (
            ([unheard], Res.COLLISION_NOT_REPAIRED, copy),
            ([other, unheard], Res.COLLISION_NOT_REPAIRED, copy),
            ([other, Absent()], Res.TAX_SERVICE_UNAVAILABLE, copy),
            ([other, other], Res.COLLISION_UNSOLVABLE, copy),
            ([Accepted("5")], plain, copy),
            ([Absent()], plain, absent),
            ([other, Accepted("77")], revoking, revoked),
            ([Absent()], plain, revoked),
        ):
            answers = iter(found)
            sending = Deferred.fromCoroutine(begin_to_send(self.shop.store, channel, lost, 3, plain))
            if isinstance(form, Res):
                self.assertIs(self.failureResultOf(sending, Refused).value.res, form)
            else:
                self.assertEqual(self.successResultOf(sending), form)
            self.assertEqual(questions, [(3, plain), (3, lost.sent)][: len(found)])
            self.assertEqual(self.lost_row()[1], noted)
            questions.clear()

    def test_no_begin(self) -> None:
        """A begin that is no longer in the journal, or revokes nothing, needs a person: 1074."""
        n = self.shop.core.devices.by_name("one").row.n
        for first in (3, 9):
            self.shop.rules(*GONE)
            self.told(self.sell(10, f"{first}"))
            reading = Deferred.fromCoroutine(read_revocation(self.shop.store, n, UNTAGGED, first))
            self.assertIs(self.failureResultOf(reading, Refused).value.res, Res.COLLISION_UNSOLVABLE)


class AtOnceTests(LostCase):
    """While the caller waits."""

    def lost_at_once(self, arrived: bool, tag: str = "a", task: int = 1, **members: Any) -> dict[str, Any]:
        """The answer to a task whose document is lost, and no question is answered."""
        self.shop.built()._channel._skew = 0.0
        self.shop.rules({"on": "any", "then": ARRIVED[arrived]}, *GONE)
        return self.do(task, tag, **(members or {"receipt": sale(50)}))

    def test_offline(self) -> None:
        """After two questions without an answer the caller gets an offline receipt as its first answer."""
        for arrived, revoked in ((True, [("sale", 5000), ("storno", 0)]), (False, [])):
            self.setUp()
            before = self.shop.clock.seconds()
            answer = self.told(self.lost_at_once(arrived))
            self.assertEqual((answer["info"]["isoffline"], answer["task_status"]), (True, 1))
            self.assertEqual(self.shop.clock.seconds() - before, 1)
            self.assertEqual(self.sell(50, "a"), {**answer, "task_status": 2})
            self.assertEqual(self.do(18, "")["warnings"], [])
            self.assertEqual(self.home(), 0)
            self.assertEqual(self.ledger(), [*revoked, ("sale", 5000)])
            self.close(5000)

    def test_cannot(self) -> None:
        """What may not be made again offline is 1075, and waits: without a tag, a storno, and a Z."""
        self.told(self.sell(10, "first"))
        for task, tag in ((1, ""), (17, ""), (11, "z")):
            with self.subTest(task=task):
                self.told(self.lost_at_once(True, tag, task), 1075, 2)
                self.assertIsNone(self.state().offline)
                self.shop.rules()
                self.shop.clock.advance(31)
                self.told(self.shop.fiscal(18, "", "one"))


class WaitsTests(LostCase):
    """When it waits as before."""

    def waits(self, tag: str = "a", amount: float = 50) -> None:
        """A repeat is refused with 1075, and the register stays online."""
        self.told(self.sell(amount, tag), 1075, 2)
        self.assertIsNone(self.state().offline)

    def test_by_default(self) -> None:
        """Without the setting nothing is made a second time."""
        self.shop.settings("one", offline_after_lost_answer="wait")
        self.lose(arrived=True)
        self.waits()
        self.shop.rules()
        self.assertEqual(self.told(self.sell(50, "a"))["task_status"], 2)
        self.assertEqual(self.ledger(), [("sale", 5000)])

    def test_conditions(self) -> None:
        """All that going offline asks for has to be there: leave, a session, a key that does not end, hours."""
        self.lose(arrived=True)
        self.shop.settings("one", offline_allowed=False)
        self.shop.rules(*GONE)
        self.waits()
        self.shop.settings("one", offline_allowed=True)
        register = self.shop.built()
        self.patch(register._key, "days_left", lambda: 2)
        self.shop.rules(*GONE)
        self.waits()

    def test_server_is_there(self) -> None:
        """A server that returns its time is asked again: one lost query takes nothing offline."""
        self.lose(arrived=True)
        self.shop.rules({"on": "probe", "then": "lost_before"})
        self.waits()
        self.assertEqual(self.told(self.sell(50, "a"))["info"]["isoffline"], False)

    def test_other_documents(self) -> None:
        """An opening, a Z, a closing and a storno whose answer was lost are asked for first, as before."""
        self.told(self.sell(10, "first"))
        for task in (17, 11, 0):
            self.shop.rules({"on": "any", "then": "lost_after"}, *GONE)
            self.shop.built()._channel._skew = 0.0
            tag = f"task {task}"
            self.told(self.do(task, tag), 1075, 2)
            self.told(self.do(task, tag), 1075, 2)
            self.assertIsNone(self.state().offline)
            self.shop.rules()
            self.shop.built()._books.stored = None
            self.told(self.shop.fiscal(18, "", "one"))
        self.told(self.sell(10, "last"))

    def test_closing(self) -> None:
        """A closing that was lost after its Z goes forward only."""
        self.shop.rules({"on": "z", "then": "accept"}, {"on": "any", "then": "lost_after"}, *GONE)
        self.told(self.do(11, "z"), 1075, 2)
        self.told(self.do(11, "z"), 1075, 2)

    def test_without_tag(self) -> None:
        """A sale without a tag waits: its repeat looks like another sale."""
        self.lose(True, "")
        self.waits("")

    def test_other_content(self) -> None:
        """The tag of the lost document with other content is 1080, and changes nothing."""
        self.lose(arrived=True)
        self.told(self.sell(60, "a"), 1080)
        self.assertIsNone(self.state().offline)

    def test_reading(self) -> None:
        """Status and X make nothing: they tell or wait, and the register stays online."""
        self.lose(arrived=True)
        self.told(self.do(18, ""))
        self.told(self.do(10, ""), 1075)
        self.assertIsNone(self.state().offline)

    def test_restored(self) -> None:
        """A restored database is compared first: it does not know how far the register went."""
        self.lose(arrived=True)
        n = self.shop.core.devices.by_name("one").row.n
        mark = msgspec.json.encode(Restored(at=1, backup=1, registers=(n,)))
        self.shop.done(self.shop.store.change_settings({NAME: mark}))
        self.waits()


class HomeTests(LostCase):
    """What the tax service has under the number decides, each time again."""

    def test_other_document(self) -> None:
        """Another machine's document under the number is 1074: nothing is handed in, and the shop sells on."""
        self.lose(arrived=False)
        self.told(self.sell(50, "a"))
        self.shop.rules()
        self.shop.add_register("twin", FIRST)
        self.shop.load_key("twin", keys().cashier)
        twin = self.shop.built("twin")._books
        twin.state.shift_open, twin.state.next_number, twin.stored = True, 3, b"{}"
        self.told(self.shop.fiscal(1, "t", "twin", receipt=sale(70)))
        self.assertEqual(self.home(), 1074)
        self.assertEqual(self.ledger(), [("sale", 7000)])
        self.assertTrue(self.told(self.sell(80, "b"))["info"]["isoffline"])

    def test_cannot_be_asked(self) -> None:
        """While it is not known what the server has nothing is handed in, and the register stays offline."""
        self.lose(arrived=True)
        self.told(self.sell(50, "a"))
        for n in range(6):
            self.shop.rules(*[{"on": "probe", "then": "accept"}] * n, {"on": "probe", "then": "lost_before"})
            self.assertIn(self.go_online(), (0, 1075, 1050, 1084, 1085, 1043, 1054), n)
            if self.state().offline is None:
                break
        if self.state().offline is not None:
            self.assertEqual(self.home(), 0)
        self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000)])

    def test_package_lost(self) -> None:
        """A first package whose answer was lost, or that never arrived, is there once in the end."""
        hurry(self)
        for arrived in (True, False):
            for then in ("lost_before", "lost_after", "unreachable", "garbage", "refuse"):
                for crash in (True, False) if SLOW else (arrived,):
                    self.setUp()
                    self.lose(arrived)
                    self.told(self.sell(50, "a"))
                    self.shop.rules({"on": "any", "then": then})
                    self.assertGreater(self.go_online(), 0)
                    if crash:
                        self.shop.crash()
                    self.assertEqual(self.home(), 0, (arrived, then))
                    reversed_ = [("sale", 5000), ("storno", 0)] if arrived else []
                    self.assertEqual(self.ledger(), [*reversed_, ("sale", 5000)], (arrived, then))

    def test_arrives_late(self) -> None:
        """A document that arrives between the question and the package is revoked at the next try."""
        self.lose(arrived=True)
        self.told(self.sell(50, "a"))
        record = self.shop.far_end.books.registers[FIRST]
        stored = record.documents.pop(3)
        upload = self.shop.built()._channel.upload

        async def late(package: list[bytes], session: Any) -> Any:
            record.documents[3] = stored
            record.next_local, record.last, record.last_online = 4, last, last
            return await upload(package, session)

        last, before = record.last, Last(2, "cash_in", record.documents[2].number)
        record.next_local, record.last, record.last_online = 3, before, before
        self.shop.built()._channel.upload = late
        self.assertEqual(self.home(), 1043)
        del self.shop.built()._channel.upload
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000)])
        self.assertEqual(self.lost_row()[1]["became"], "revoked")


class ShownTests(WebCase):
    """``GET /dm/api/v3/operations``."""

    def test_told(self) -> None:
        """The refused operation says what became of its online copy, in the caller's language; others do not."""
        shop = PrroShop(self, "one", offline_after_lost_answer="revoke")
        self.shop, self.door = shop, Door(shop.core)
        self.assertEqual(shop.fiscal(0, "opening", "one")["res"], 0)
        shop.rules({"on": "sale", "then": "lost_after"}, *GONE)
        self.assertEqual(shop.fiscal(1, "a", "one", receipt=sale(50))["res"], 0)
        self.assertEqual(self.copies(), [("unknown", "", "3")])
        shop.rules()
        shop.done(shop.built().go_online("uk"))
        self.assertEqual(self.copies(), [("revoked", "3000000002", "3")])

    def copies(self) -> list[tuple[str, str, str]]:
        """What the list says of online copies."""
        rows = self.request("GET", "/dm/api/v3/operations?device=one&key=a").json["operations"]
        self.assertEqual([row["state"] for row in rows], ["done", "refused"])
        told = [row["online_copy"] for row in rows if "online_copy" in row]
        self.assertTrue(all(copy["text"] for copy in told))
        return [(copy["became"], copy["number"], copy["again"]) for copy in told]


class PowerCutTests(LostCase):
    """The service is killed, or the store fails, before and after every write of the way out and of the way home."""

    def each_blow(self, act: Any, before: Any) -> Iterator[str]:
        """``act`` after ``before``, with a blow at its first write, then at its second one, and so on."""
        for how in BLOWS:
            for n in count(1):
                self.setUp()
                before()
                blows = Blows(self, self.shop)
                blows.at(n, how)
                act()
                if not blows.struck:
                    self.assertGreaterEqual(n, 3)
                    break
                blows.never()
                if how.startswith("killed"):
                    self.shop.crash()
                yield f"{how} write {n}"

    def begin(self) -> None:
        """Repeat the tag while the server is away."""
        fiscal = {"task": 1, "receipt": sale(50)}
        self.shop.asked({"ver": 6, "device": "one", "tag": "a", "type": 1, "fiscal": fiscal})

    def check(self, arrived: bool, told: str) -> None:
        """In the end there is one receipt, and the Z agrees."""
        self.assertEqual(self.home_or_there(), 0, told)
        self.assertEqual(self.shop.look_up("a", "one")["res"], 0, told)
        reversed_ = [("sale", 5000), ("storno", 0)] if arrived else []
        self.assertEqual(self.ledger(), [*reversed_, ("sale", 5000)], told)
        self.assertEqual(self.do(10, "")["info"]["summary"]["base_p"], 50.0, told)
        self.told(self.do(11, "z"))
        n = self.shop.core.devices.by_name("one").row.n
        self.assertEqual(self.shop.done(self.shop.store.unresolved(n)), [], told)

    def home_or_there(self) -> int:
        """Come home, if the register is not there already."""
        came = self.home()
        return 0 if came in (1054, 1085) else came

    def test_way_out_away(self) -> None:
        """Wherever the power goes, the next repeat has one offline receipt while the server stays away."""
        for arrived in (True, False) if SLOW else (True,):
            for told in self.each_blow(self.begin, lambda arrived=arrived: self.lose(arrived)):
                answer = self.sell(50, "a")
                self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True), told)
                self.check(arrived, told)

    def test_way_out_another(self) -> None:
        """So it is when the till goes on with another sale."""
        for told in self.each_blow(self.begin, lambda: self.lose(True)):
            self.assertEqual(self.sell(70, "b")["info"]["isoffline"], True, told)
            self.assertEqual(self.home(), 0, told)
            self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000), ("sale", 7000)], told)

    def test_way_out_server_is_back(self) -> None:
        """When the server is there at the restart: what is not begun is asked for, what is begun is gone through."""
        for arrived in (True, False) if SLOW else (True,):
            for told in self.each_blow(self.begin, lambda arrived=arrived: self.lose(arrived)):
                self.shop.rules()
                answer = self.told(self.sell(50, "a"))
                sales = [line for line in self.ledger() if line[0] == "sale"]
                self.assertIn(len(sales), (0, 1), told)
                begun = answer["info"]["isoffline"]
                self.assertEqual(self.home_or_there(), 0, told)
                reversed_ = [("sale", 5000), ("storno", 0)] if arrived and begun else []
                self.assertEqual(self.ledger(), [*reversed_, ("sale", 5000)], told)
                self.told(self.do(11, "z"))

    def test_way_home(self) -> None:
        """Wherever it stops on the way home, the next try brings it there, and nothing is there twice."""
        for arrived in (True, False) if SLOW else (True,):

            def before(arrived: bool = arrived) -> None:
                self.lose(arrived)
                self.told(self.sell(50, "a"))
                self.shop.rules()

            def act() -> None:
                Deferred.fromCoroutine(self.shop.built().go_online("uk")).addErrback(lambda _: None)

            for told in self.each_blow(act, before):
                self.check(arrived, told)

    def test_killed_while_sending(self) -> None:
        """A sale that was on its way when the service died is made again too, while the tax service stays away."""
        for arrived in (True, False):
            self.setUp()
            self.shop.rules({"on": "sale", "then": ARRIVED[arrived], "delay_ms": 1000})
            self.begin()
            self.shop.clock.advance(0.5)
            self.shop.rules(*GONE)
            self.shop.crash()
            answer = self.sell(50, "a")
            self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True))
            self.check(arrived, f"{arrived=}")

    def test_begin_of_an_earlier_version(self) -> None:
        """A begin of which only the intent was stored is void: what was lost is asked about, and is there once."""
        self.lose(arrived=True)
        store: Any = self.shop.store

        async def reserves(intent: Intent, _: object) -> None:
            await store.reserve(intent)
            raise StoreFailed("killed")

        patched = self.patch(store, "conclude_at_once", reserves)
        self.begin()
        patched.restore()
        self.shop.rules()
        self.shop.crash()
        answer = self.told(self.sell(50, "a"))
        self.assertEqual((answer["task_status"], answer["info"]["docno"]), (2, "3"))
        self.assertEqual(self.told(self.sell(60, "b"))["info"]["docno"], "4")
        self.assertEqual(self.ledger(), [("sale", 5000), ("sale", 6000)])
        n = self.shop.core.devices.by_name("one").row.n
        self.assertEqual(self.shop.done(store.unresolved(n)), [])

    def test_killed_again_and_again(self) -> None:
        """A service that dies at each of its next writes, again and again, ends with one receipt."""
        self.lose(arrived=True)
        for n in (2, 3, 1, 4, 2, 1):
            blows = Blows(self, self.shop)
            blows.at(n, "killed after")
            self.begin()
            blows.never()
            self.shop.crash()
        self.assertTrue(self.told(self.sell(50, "a"))["info"]["isoffline"])
        self.check(True, "again and again")

    def test_long_night(self) -> None:
        """A power cut of two days right after the begin: the document is made at the begin's time."""
        self.lose(arrived=True)
        blows = Blows(self, self.shop)
        # The begin is stored by the second write.
        blows.at(3, "killed before")
        self.begin()
        self.assertTrue(blows.struck)
        blows.never()
        self.shop.clock.advance(48 * 3600)
        self.shop.crash()
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.ledger(), [("sale", 5000), ("storno", 0), ("sale", 5000)])
