"""A marks service is asked before a sale, and told after it until it knows."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.commands.simulate import MarksOptions
from dmtwisted.outbox import Later, Never
from dmtwisted.registers import marks_service
from dmtwisted.registers.marks import Sold, encode
from dmtwisted.registers.marks_service import ASK_S, HttpMarks
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.store.values import LetterRow
from protocols import marks_service as wire
from protocols.fiscal.https import HttpsExchange, ServerEndpoints
from protocols.marks_service import SPENT
from protocols.simulators.in_process import InProcessEndpoint
from protocols.simulators.marks_service import InProcessMarks, Mark, MarksService, Mood
from tests.shop import Shop
from tests.test_marks import GS, MARK, receipt, row

TOKEN, SHOP = "t0ken", "OB-1"


class WireTests(SynchronousTestCase):
    """The bodies and paths, worked by hand from the published contract."""

    def test_question(self) -> None:
        """A question lists the marks, letter by letter; the answer has the service's names."""
        self.assertEqual(wire.encode(wire.Ids(["aB", "і\x1d"])), '{"ids":["aB","і\\u001d"]}'.encode())
        body = (
            '{"items":[{"uniqueIdentifier":"aB","found":true,"status":"НаСкладі","eoObjectCode":"OB-1","stampId":"s",'
            '"updatedAt":"x","sold":false,"soldAt":null,"stale":true,"frozen":false,"source":"y"}],"stale":false}'
        )
        [item] = wire.decode(body.encode(), wire.Items).items
        self.assertEqual(
            (item.unique_identifier, item.status, item.eo_object_code, item.sold, item.stale),
            ("aB", wire.IN_STOCK, "OB-1", False, True),
        )
        self.assertRaises(wire.Unreadable, wire.decode, b"[]", wire.Items)

    def test_sold(self) -> None:
        """The mark is in the path with every byte encoded; the receipt is in the body."""
        self.assertEqual(wire.sold_path("a/b і\x1d%"), "/marks/a%2Fb%20%D1%96%1D%25/sold")
        self.assertEqual(wire.mark_in(wire.sold_path("a/b і\x1d%")), "a/b і\x1d%")
        self.assertEqual(
            wire.encode(wire.Sale("4000000001", "17/000001", "2026-11-01T10:00:00+02:00")),
            b'{"cashRegister":"4000000001","receiptRef":"17/000001","soldAt":"2026-11-01T10:00:00+02:00"}',
        )

    def test_own(self) -> None:
        """Fifteen characters of a reference are compared, for more are not kept."""
        self.assertTrue(wire.own("123456789012345", "123456789012345678"))
        self.assertFalse(wire.own("12345678901234X", "123456789012345678"))
        self.assertFalse(wire.own("", "1"))
        self.assertFalse(wire.own(None, "1"))

    def test_portions(self) -> None:
        """More marks than fit into a question are asked in several."""
        self.assertEqual([len(some) for some in wire.portions(["x"] * 1001)], [500, 500, 1])


class ServiceTests(SynchronousTestCase):
    """A register that asks the simulated service."""

    def setUp(self) -> None:
        """An open register; two marks in stock."""
        self.shop = Shop(self)
        self.service = MarksService(self.shop.clock, TOKEN)
        self.patch(marks_service, "to_service", lambda reactor: InProcessMarks(self.service, ASK_S))
        self.service.put(Mark(MARK, object=SHOP))
        self.service.put(Mark(f"01{GS}і/%", object=SHOP))
        self.settings()
        self.shop.open_shift()

    def settings(self, **changes: Any) -> None:
        """The settings of the register."""
        base = {"marks_check": "service", "marks_url": "http://localhost:8766/", "marks_gs": "|"}
        self.shop.settings(**{**base, "marks_token": TOKEN, "marks_object": SHOP, **changes})

    def sell(self, *marks: str, tag: str = "") -> dict[str, Any]:
        """The answer to a sale, whenever it comes."""
        body = {"device": "test", "tag": tag, "type": 1, "fiscal": {"task": 1, "receipt": receipt(row(*marks))}}
        due = self.shop.asked(body)
        if not due.called:
            self.shop.clock.advance(ASK_S)
        answer: dict[str, Any] = json.loads(self.successResultOf(due))
        return answer

    def rules(self, *rules: dict[str, Any]) -> None:
        """What goes wrong next at the service."""
        self.service.scenario.replace({"rules": list(rules)})

    def told(self) -> list[tuple[str, str]]:
        """What the service was told: the mark and what became of it."""
        return [(entry.number, entry.status) for entry in self.service.ledger.entries()]

    def letters(self, dead: bool = False) -> list[LetterRow]:
        """What waits in the outbox."""
        return self.successResultOf(Deferred.fromCoroutine(self.shop.store.find_letters(["marks"], dead, 100, 0)))

    def test_sold(self) -> None:
        """A mark in stock is sold without a warning, and the service is told once, with the receipt."""
        for mark in (MARK, f"01{GS}і/%"):
            answer = self.sell(mark)
            self.assertEqual((answer["res"], answer["warnings"]), (0, []))
            [entry] = [entry for entry in self.service.ledger.entries() if entry.number == mark]
            self.assertEqual((entry.status, entry.ref), ("accepted", f"{answer['info']['docno']}/000001"))
        self.assertEqual(self.letters(), [])
        self.assertEqual(self.service.marks[MARK].sold_at, "2026-09-21T09:00:00+03:00")

    def test_refused(self) -> None:
        """A mark that is sold, on its way or another shop's is refused with the reason, and nobody is told."""
        for mark, word in (
            (Mark(MARK, SPENT, SHOP, sold_at="2026-09-20"), SPENT),
            (Mark(MARK, "Вдорозі", SHOP), "Вдорозі"),
            (Mark(MARK, object="OB-2"), "OB-2"),
        ):
            self.service.put(mark)
            answer = self.sell("paper", MARK)
            self.assertEqual((answer["res"], answer["res_action"]), (2101, 3))
            self.assertIn(word, answer["errortxt"])
        self.assertEqual((self.told(), self.letters()), ([], []))
        self.settings(marks_object="")
        self.assertEqual(self.sell(MARK)["res"], 0)

    def test_repeat(self) -> None:
        """The repeat of a tag gets its first answer, though its mark is spent by now; nobody is asked for it."""
        first = self.sell(MARK, tag="t")
        self.rules({"on": "probe", "then": "silent", "times": 0})
        again = self.shop.fiscal(1, "t", receipt=receipt(row(MARK)))
        self.assertEqual((again["task_status"], again["info"]), (2, first["info"]))
        self.assertEqual(self.told(), [(MARK, "accepted")])

    def test_silent(self) -> None:
        """A service that does not answer in time or in order: sold with a warning, or refused to be repeated."""
        for rule in (
            {"on": "probe", "then": "silent"},
            {"on": "probe", "then": "unreachable"},
            {"on": "probe", "then": "garbage"},
            {"on": "probe", "then": "refuse", "code": "503"},
            {"on": "probe", "then": "lost_before"},
        ):
            self.settings(marks_offline="refuse")
            self.rules(rule)
            answer = self.sell(MARK)
            self.assertEqual((answer["res"], answer["res_action"]), (2103, 1), rule)
            self.settings(marks_offline="sell")
            self.rules(rule)
            mark = f"{MARK} {rule['then']}"
            self.service.put(Mark(mark, object=SHOP))
            answer = self.sell(mark)
            self.assertEqual((answer["res"], [one["code"] for one in answer["warnings"]]), (0, [2103]), rule)

    def test_old_data(self) -> None:
        """A mark that the service does not know, as a paper one, or of which its data is old, is for a setting."""
        self.service.put(Mark("old", object=SHOP, stale=True))
        for marks in (("paper",), ("old",)):
            self.settings(marks_stale="refuse")
            self.assertEqual(self.sell(*marks)["res"], 2103)
            self.settings(marks_stale="sell")
            answer = self.sell(*marks)
            self.assertEqual((answer["res"], [one["code"] for one in answer["warnings"]]), (0, [2103]))
        self.service.mood = Mood(stale=True)
        self.assertEqual([one["code"] for one in self.sell(MARK)["warnings"]], [2103])
        # The service keeps no paper mark, so there is nothing to tell it.
        self.assertEqual((self.letters(), self.letters(dead=True)), ([], []))

    def test_frozen(self) -> None:
        """Frozen data does not count."""
        self.service.mood = Mood(frozen=True)
        self.settings(marks_offline="refuse")
        self.assertEqual(self.sell(MARK)["res"], 2103)

    def test_told_later(self) -> None:
        """A service that is away is told as soon as it is back, after a restart too, and a lost answer once more."""
        self.rules({"on": "sale", "then": "unreachable", "times": 0})
        self.sell(MARK)
        self.assertEqual(len(self.letters()), 1)
        self.shop.crash()
        self.shop.clock.pump([60] * 5)
        self.assertEqual((len(self.letters()), self.told()), (1, []))
        self.rules({"on": "sale", "then": "lost_after"})
        self.shop.clock.pump([60] * 20)
        self.assertEqual(self.told(), [(MARK, "accepted"), (MARK, "repeated")])
        self.assertEqual((self.letters(), self.letters(dead=True)), ([], []))

    def test_sold_elsewhere(self) -> None:
        """A mark that was sold by somebody else while ours was under way is kept as a dead letter with both."""
        self.rules({"on": "sale", "then": "unreachable"})
        answer = self.sell(MARK)
        self.service.put(Mark(MARK, SPENT, reference="7/999999", sold_at="x"))
        self.shop.clock.pump([10] * 10)
        [dead] = self.letters(dead=True)
        self.assertIn("7/999999", dead.why)
        self.assertIn(f"{answer['info']['docno']}/000001", dead.why)
        self.flushLoggedErrors()

    def test_nothing_refused_is_told(self) -> None:
        """A sale that the tax service refuses is not told; one of unknown outcome not before it is known."""
        self.shop.settings(offline_allowed=False)
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "1038"})
        self.assertEqual(self.sell(MARK)["res"], 1038)
        self.assertEqual(self.letters(), [])
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        body = {"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": receipt(row(MARK))}}
        self.assertEqual(self.shop.ask(body)["res_action"], 2)
        self.assertEqual((self.told(), self.letters()), ([], []))
        self.shop.scenario()
        self.assertEqual(self.shop.fiscal(18)["res"], 0)
        self.assertEqual(self.told(), [(MARK, "accepted")])

    def test_return_is_not_told(self) -> None:
        """A return asks nobody and tells nobody: the tax service takes the write-off back."""
        self.sell(MARK)
        self.rules({"on": "probe", "then": "silent", "times": 0})
        given_back = receipt(row(MARK), purchase_receipt_fisn="1")
        self.assertEqual(self.shop.fiscal(2, receipt=given_back)["res"], 0)
        self.assertEqual((self.told(), self.letters()), ([(MARK, "accepted")], []))

    def test_removed_register(self) -> None:
        """A letter of a register that was removed is dead."""
        self.rules({"on": "sale", "then": "unreachable"})
        self.sell(MARK)
        devices = self.shop.core.devices
        self.shop.fiscal(11)
        self.successResultOf(Deferred.fromCoroutine(devices.remove(devices.by_name("test").row.dev_id)))
        self.shop.clock.pump([10] * 2)
        self.assertEqual(len(self.letters(dead=True)), 1)
        self.flushLoggedErrors()

    def test_address(self) -> None:
        """The token goes over HTTPS, or stays on this machine; an address is expected where it is used."""
        for url in ("http://192.168.0.5:8766", "ftp://x", ""):
            with self.assertRaises(Exception) as refused:
                self.settings(marks_url=url)
            self.assertIn("marks_url", str(refused.exception))
        self.settings(marks_url="https://192.168.0.5:8766")


class SiteTests(SynchronousTestCase):
    """The simulated service over its socket, asked as a register asks it."""

    def setUp(self) -> None:
        """What ``dmtwisted simulate marks`` runs, and the exchange of a register."""
        self.clock = Clock()
        options = MarksOptions()
        options.parseOptions(["--token", TOKEN, "--mark", f"a/{GS}і", "--object", SHOP])
        self.peer = options.peer(self.clock)
        endpoints = ServerEndpoints(
            self.clock, None, 5, lambda host, port: InProcessEndpoint(self.peer.factory, self.clock)
        )
        settings = RegisterSettings(marks_check="service", marks_url="http://localhost:1", marks_token=TOKEN)
        self.marks = HttpMarks(settings, ServiceClock(self.clock), HttpsExchange(self.clock, endpoints, ASK_S))

    def come(self, coroutine: Any) -> Deferred[Any]:
        """What came of it."""
        due = Deferred.fromCoroutine(coroutine)
        self.clock.pump([0.01] * 20)
        return due

    def tell(self, reference: str = "1/000001") -> Deferred[Any]:
        """Tell that the mark was sold."""
        payload = encode(Sold(f"a/{GS}і", "4000000001", reference, 0))
        return self.come(self.marks.tell(LetterRow(1, "marks", 1, 0, 1, False, "", payload)))

    def test_asked_and_told(self) -> None:
        """Questions and what is told arrive byte for byte; a repeat is taken, another receipt is refused for good."""
        [item] = self.successResultOf(self.come(self.marks._items([f"a/{GS}і"])))
        self.assertEqual((item.unique_identifier, item.status, item.eo_object_code), (f"a/{GS}і", "НаСкладі", SHOP))
        for _ in range(2):
            self.successResultOf(self.tell())
        self.failureResultOf(self.tell("2/000001"), Never)
        told = [(entry.number, entry.status, entry.ref) for entry in self.peer.entries()]
        statuses = [("accepted", "1/000001"), ("repeated", "1/000001"), ("refused", "2/000001")]
        self.assertEqual(told, [(f"a/{GS}і", *one) for one in statuses])

    def test_faults(self) -> None:
        """A wrong token, an error, silence and a broken line are tried again."""
        for rule in ({"then": "refuse", "code": "401"}, {"then": "lost_after"}, {"then": "silent"}):
            self.peer.scenario.replace({"rules": [{"on": "sale", **rule}]})
            due = self.tell()
            self.clock.advance(ASK_S)
            self.failureResultOf(due, Later)
        self.successResultOf(self.tell())

    def test_actions(self) -> None:
        """People bring marks, and make the data old."""
        self.peer.actions["put_mark"].do(Mark("new"))
        self.peer.actions["mood"].do(Mood(stale=True))
        [item] = self.successResultOf(self.come(self.marks._items(["new"])))
        self.assertTrue(item.found and item.stale)
        self.assertEqual(len(self.peer.state()["marks"]), 2)
        self.peer.close()
