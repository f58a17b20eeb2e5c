"""A register at the cabinet's server, protocol B: a day, lost answers, refusals, offline and back, its key."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from dmtwisted.homecoming import Homecoming
from dmtwisted.registers import collisions, kept, offline_sessions, totals
from dmtwisted.registers.channels.interface import IFiscalChannel
from dmtwisted.results import Refused, Res
from dmtwisted.store.restored import NAME, Restored, read_mark
from dmtwisted.store.values import OperationQuery, State
from protocols.fiscal.cabinet.documents import mac_of
from protocols.fiscal.crypto.signing import sign
from tests.cabinet_shop import GONE, CabinetCase
from tests.prro_shop import FIRST, keys
from tests.shop import MORNING, hurry, sale


class DayTests(CabinetCase):
    """What is sold is at the server, in one chain."""

    def test_channel(self) -> None:
        """The channel is one like any other."""
        verifyObject(IFiscalChannel, self.shop.built()._channel)

    def test_day(self) -> None:
        """Open, cash, sale, return, withdrawal, X and Z: every document is there once, and the Z closes the shift."""
        opened = self.told(self.do(0, "opening"))
        told = [
            self.do(3, cash={"type": 0, "sum": 500}),
            self.sell(50.5),
        ]
        number = told[1]["info"]["doccode"]
        told += [
            self.do(2, receipt={**sale(20), "purchase_receipt_fisn": number}),
            self.do(4, cash={"type": 0, "sum": 100}),
            self.do(14, cash={"type": 2, "sum": 100, "commission": 1}),
            self.do(10),
            self.do(11),
        ]
        self.assertEqual([answer["res"] for answer in told], [0] * len(told), told)
        kinds = ["open", "numbers", "cash_in", "sale", "return", "cash_out", "withdrawal", "z"]
        self.assertEqual(self.shop.kinds(), kinds)
        self.assertEqual([paper.dat.di for paper in self.shop.papers()], [0, 1, 1, 2, 3, 4, 5, 6])
        self.assertRegex(opened["info"]["doccode"], "^[0-9A-Za-z]{11}$")
        self.assertEqual(self.do(18)["info"]["shift_status"], 0)
        self.agree()

    def test_second_day(self) -> None:
        """The chain and the Z go on over the night; the local numbers begin again."""
        for task in (0, 11, 0, 11):
            self.told(self.do(task))
        self.assertEqual([paper.dat.di for paper in self.shop.papers()], [0, 1, 1, 0, 1])
        self.assertEqual(self.shop.standing().z, 2)
        self.agree()


class OpenCase(CabinetCase):
    """The shift is open."""

    def setUp(self) -> None:
        super().setUp()
        self.told(self.do(0, "opening"))

    def lose(self, then: str, amount: float = 50, tag: str = "a") -> dict[str, Any]:
        """The answer to a sale whose answer from the server is lost."""
        self.shop.rules({"on": "sale", "then": then})
        return self.sell(amount, tag)


class LostAnswerTests(OpenCase):
    """A document whose answer is lost is there once, whatever became of it."""

    def test_accepted(self) -> None:
        """It had arrived: the server's last document is ours, and the caller hears of nothing."""
        for then in ("lost_after", "garbage"):
            self.told(self.lose(then, tag=then))
        self.assertEqual(self.shop.kinds()[2:], ["sale"] * 2)
        self.agree()

    def test_garbled(self) -> None:
        """An answer that a stranger signed, or that nobody signed well, proves nothing: the server is asked."""
        for code in ("noise", "cms"):
            self.shop.rules({"on": "sale", "then": "garbage", "code": code})
            self.told(self.sell(50, code))
        self.assertEqual(self.shop.kinds()[2:], ["sale"] * 2)

    def test_absent(self) -> None:
        """It never arrived: the same bytes are sent again."""
        self.told(self.lose("lost_before"))
        self.assertEqual(self.shop.kinds()[2:], ["sale"])
        self.agree()

    def test_unknown(self) -> None:
        """Nobody can say: 1075, until the repeat of the tag finds it out; it is sold once."""
        for then in ("lost_after", "lost_before"):
            tag = f"t {then}"
            patched = hurry(self)
            self.shop.rules({"on": "sale", "then": then}, *GONE)
            self.told(self.sell(50, tag), 1075, 2)
            patched.restore()
            self.shop.rules()
            self.told(self.sell(50, tag))
        self.assertEqual(self.shop.kinds()[2:], ["sale"] * 2)
        self.agree()

    def test_opening_and_z(self) -> None:
        """Openings, Z-reports and questions for numbers are found in the same way."""
        for kind, task in (("z", 11), ("open", 0), ("cash_in", 3), ("z", 11), ("open", 0)):
            for then in ("lost_after", "lost_before"):
                if kind != "cash_in" and then == "lost_before":
                    continue
                self.shop.rules({"on": kind, "then": then})
                self.told(self.do(task, cash={"type": 0, "sum": 10}))
                self.agree()

    def test_stranger(self) -> None:
        """Another program's document is the last one: 1074, and nothing is sold in its place."""
        hurry(self)
        self.shop.rules({"on": "sale", "then": "lost_before"}, *GONE)
        self.told(self.sell(50, "a"), 1075, 2)
        self.shop.rules()
        self.shop.standing().tip = "ab" * 32
        last = self.shop.standing().last
        self.patch(self.shop.standing(), "last", type(last)(last.claim, "elsewhere", last.content + b" "))
        self.told(self.sell(50, "a"), 1074)

    def test_late(self) -> None:
        """A document that was void arrives after all: the server names its hash, and the sale after it is made."""
        hurry(self)
        self.shop.rules({"on": "sale", "then": "lost_before"}, *GONE)
        self.told(self.sell(50, "a"), 1075, 2)
        operation = self.shop.done(self.shop.store.unresolved(self.shop.core.devices.by_name("one").row.n))[0]
        self.shop.rules()
        self.told(self.shop.look_up("a", "one"), 1058)
        sent = operation.documents[0].sent
        channel = self.shop.built()._channel
        check = channel._check_of(self.shop_paper(sent), sent)
        self.shop.there.receive("sendChkV2", check.encode())
        self.told(self.sell(60, "b"))
        self.assertEqual(self.shop.kinds()[2:], ["sale", "sale"])
        self.told(self.shop.look_up("a", "one"))
        self.agree()

    def shop_paper(self, sent: bytes) -> Any:
        """The document in signed bytes."""
        from protocols.fiscal.cabinet.documents import decode
        from protocols.fiscal.crypto.signed_message import read

        return decode(read(sent).content or b"")


STATUSES = {n: 1031 + n for n in range(1, 17)}
"""The refusal of each status."""


class RefusalTests(OpenCase):
    """Every status of the server has its code."""

    def test_statuses(self) -> None:
        """-1 to -16 are 1032 to 1047; the number is free again, and the next sale is made."""
        for status, res in STATUSES.items():
            if status == 4:
                continue
            self.shop.rules({"on": "sale", "then": "refuse", "code": str(status), "times": 3})
            answer = self.told(self.sell(50, f"s{status}"), res)
            self.assertIn(f"код ФС -{status}", answer["errortxt"])
            self.shop.rules()
            self.told(self.sell(50, f"s{status}"))
            self.agree()

    def test_unknown_error(self) -> None:
        """-4 is like a lost answer: the server is asked, and the document sent again if it is not there."""
        self.shop.rules({"on": "sale", "then": "refuse", "code": "4"})
        self.told(self.sell(50, "a"))
        self.assertEqual(self.shop.kinds()[2:], ["sale"])

    def test_not_saved(self) -> None:
        """-3 passes: the same bytes are sent again at once."""
        self.shop.rules({"on": "sale", "then": "refuse", "code": "3", "times": 2})
        self.told(self.sell(50, "a"))
        self.assertEqual(self.shop.kinds()[2:], ["sale"])

    def test_not_offline(self) -> None:
        """A refusal proves that the server works: the register stays online."""
        self.shop.rules({"on": "sale", "then": "refuse", "code": "9"})
        self.told(self.sell(50), 1040)
        self.assertEqual(self.do(18)["info"]["online_status"], 0)

    def test_hash(self) -> None:
        """-12 for a document that is nobody's of ours: 1043, which tells what a person can do."""
        self.shop.standing().tip = "ab" * 32
        answer = self.told(self.sell(50), 1043)
        self.assertIn("закрийте в ній зміну", answer["errortxt"])

    def test_closed_already(self) -> None:
        """A Z that is refused because the shift is closed is asked about first: it had arrived."""
        self.shop.there.rules = type(self.shop.there.rules)(answers_repeats=False)
        self.shop.rules({"on": "z", "then": "lost_after"})
        self.told(self.do(11))
        self.agree()

    def test_clock(self) -> None:
        """-8 from a server whose signatures are half an hour ahead is 1121; without a time in them 1039."""
        ahead = timedelta(seconds=1900)
        self.shop.there.skew_s = 1900
        self.told(self.sell(50), 1039)
        at = datetime.fromtimestamp(MORNING, UTC) + ahead
        key, certificate = self.shop._server_key()
        self.shop.there._seal = lambda content: sign(content, key, certificate, at)
        self.told(self.sell(50), 1121)
        self.told(self.sell(50), 1121)
        self.shop.there.skew_s = 0
        self.shop.there._seal = lambda content: sign(content, key, certificate, at - ahead)
        self.told(self.sell(50))


class OfflineTests(OpenCase):
    """Without a link documents get reserved numbers; at the return they are handed in one by one."""

    def away(self, *tags: str) -> None:
        """Sell while nothing gets through."""
        self.shop.rules(*GONE)
        for tag in tags:
            self.assertTrue(self.told(self.sell(10, tag))["info"]["isoffline"])

    def look(self) -> None:
        """Check the links of registers that are online, as every minute."""
        watch = Homecoming(self.shop.core.devices, self.shop.core.clock)
        watch.look()
        self.shop.clock.advance(61)
        watch.look()

    def home(self) -> int:
        """Come home by hand: 0, or the code of the refusal."""
        self.shop.rules()
        return self.go("online")

    def test_day(self) -> None:
        """A shift's end and the next one's beginning offline: all of it arrives in order, each document once."""
        stock = self.state().session.numbers
        self.away("a", "b")
        self.told(self.do(3, cash={"type": 0, "sum": 5}))
        self.told(self.do(11))
        self.told(self.do(0))
        self.told(self.sell(20))
        self.assertEqual(self.do(18)["info"]["vacant_off_nums"], len(stock) - 7)
        self.assertEqual(self.home(), 0)
        kinds = ["offline_begin", "sale", "sale", "cash_in", "z", "open", "sale", "offline_end"]
        self.assertEqual(self.shop.kinds()[2:], kinds)
        self.assertEqual([paper.mac.id for paper in self.shop.papers()[2:] if paper.mac], [*stock[:8]])
        self.assertEqual([paper.dat.di for paper in self.shop.papers()[2:]], [1, 2, 3, 4, 5, 0, 1, 2])
        self.assertEqual(self.shop.calls.count("sendChkV2"), 2 + 8 + self.refused_calls)
        self.agree()
        self.assertFalse(self.told(self.sell(10))["info"]["isoffline"])

    refused_calls = 1
    """Documents that did not get through before the register went offline."""

    def test_cut(self) -> None:
        """The link breaks at any document of the return: the rest follows, and none goes twice."""
        for then in ("lost_after", "lost_before", "unreachable"):
            for n in range(4):
                self.away(f"{then} {n}")
                self.told(self.do(3, cash={"type": 0, "sum": 5}))
                passed = [{"on": "any", "then": "accept"}] * n
                self.shop.rules(*passed, {"on": "any", "then": then}, {**GONE[1], "times": 3})
                self.go("online")
                self.shop.rules()
                if self.do(18)["info"]["online_status"]:
                    self.assertEqual(self.go("online"), 0)
                self.agree()
        told = [kind for kind in self.shop.kinds()[2:] if kind != "numbers"]
        self.assertEqual(told, ["offline_begin", "sale", "cash_in", "offline_end"] * 12)

    def test_by_hand(self) -> None:
        """Out and back by hand, without a document between."""
        self.assertEqual(self.go("offline"), 0)
        self.assertEqual(self.go("offline"), 1053)
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.go("online"), 1054)
        self.agree()

    def test_no_numbers(self) -> None:
        """Without reserved numbers a register does not go offline: 1056."""
        self.state().session = None
        self.assertEqual(self.go("offline"), 1056)
        self.shop.rules(*GONE)
        self.told(self.sell(10), 1050)

    def test_numbers_run_out(self) -> None:
        """The last two numbers are for the Z and the session's end: a sale is refused before that, 1122."""
        state = self.state()
        state.session = type(state.session)("", "", state.session.numbers[:5])
        self.away("a", "b")
        self.told(self.sell(10), 1122)
        self.told(self.do(11))
        self.told(self.do(0), 1122)
        self.assertEqual(self.home(), 0)
        self.agree()

    def test_stock(self) -> None:
        """At the return, and when the link is checked, the stock is filled up; unused numbers come again."""
        state = self.state()
        self.assertEqual(len(state.session.numbers), 500)
        state.session = type(state.session)("", "", state.session.numbers[:200])
        self.away("a")
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.shop.kinds()[-1], "numbers")
        self.assertEqual(len(self.state().session.numbers), 500)
        self.state().session = type(state.session)("", "", self.state().session.numbers[:20])
        self.look()
        self.assertEqual(len(self.state().session.numbers), 500)
        self.agree()

    def test_stock_lost(self) -> None:
        """The answer to a question for numbers is lost: the question counts in the chain, the next one gets them."""
        for then in ("lost_after", "lost_before"):
            self.told(self.do(11))
            self.state().session = None
            self.shop.rules({"on": "numbers", "then": then})
            self.told(self.do(0))
            self.agree()
            self.told(self.sell(10, then))
            self.look()
            self.assertEqual(len(self.state().session.numbers), 500)
            self.agree()

    def test_fewer(self) -> None:
        """A server that gives fewer numbers at once is asked for the usual ones, 150."""
        self.told(self.do(11))
        self.state().session = None
        self.shop.rules({"on": "numbers", "then": "refuse", "code": "9"})
        self.told(self.do(0))
        self.assertEqual(self.state().session, None)
        self.told(self.do(11))
        self.told(self.do(0))
        self.assertEqual(len(self.state().session.numbers), 150)

    def test_limits(self) -> None:
        """After 35 hours only the shift may be closed: 1062; a blocked register is 1042."""
        self.away("a")
        self.shop.clock.advance(35 * 3600 + 60)
        self.told(self.sell(10), 1062)
        self.told(self.do(11))
        self.shop.there.block(4_000_000_202)
        self.assertEqual(self.home(), 1042)
        self.shop.there.unblock(4_000_000_202)
        self.assertEqual(self.home(), 0)
        self.agree()

    def test_killed(self) -> None:
        """A register that dies offline goes on where it was."""
        self.away("a")
        self.shop.crash()
        self.told(self.sell(10, "a"))
        self.told(self.sell(10, "b"))
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", "sale", "sale", "offline_end"])
        self.agree()

    def test_killed_on_the_way_home(self) -> None:
        """A register that dies while it hands in a long session goes on after the server's last document."""
        for arrived in (4, 5, 6, 13):
            self.away(*(f"{arrived} {n}" for n in range(12)))
            self.shop.rules(*[{"on": "any", "then": "accept"}] * arrived, {"on": "any", "then": "unreachable"})
            self.assertGreater(self.go("online"), 0)
            self.shop.crash()
            self.assertEqual(self.home(), 0, arrived)
            self.agree()
        told = [kind for kind in self.shop.kinds()[2:] if kind != "numbers"]
        self.assertEqual(told, ["offline_begin", *["sale"] * 12, "offline_end"] * 4)

    def test_long_session(self) -> None:
        """However long the session is, the server's last document is found after a restart: each goes there once."""
        self.patch(offline_sessions, "PACKAGE", 3)
        for arrived in (0, 1, 7, 8):
            self.away(*(f"{arrived} {n}" for n in range(8)))
            before = self.standing_there()
            self.shop.rules(*[{"on": "any", "then": "accept"}] * arrived, {"on": "any", "then": "unreachable"})
            self.assertGreater(self.go("online"), 0)
            self.shop.crash()
            sent, there = self.shop.calls.count("sendChkV2"), self.standing_there()
            self.assertEqual(self.home(), 0, arrived)
            self.assertEqual(self.standing_there() - before, 10)
            self.assertEqual(self.shop.calls.count("sendChkV2") - sent, 10 - (there - before), arrived)
            self.agree()

    def test_silent_after_a_restart(self) -> None:
        """After a restart the server has to say first what it has: a sale waits eight seconds for that, no more."""
        self.shop.settings("one", offline_probe_before_receipt=True)
        self.away("a")
        self.shop.crash()
        self.shop.rules({"on": "probe", "then": "accept"}, {"on": "probe", "then": "silent", "times": 0})
        fiscal = {"task": 1, "receipt": sale(20)}
        due = self.shop.asked({"ver": 6, "device": "one", "tag": "b", "type": 1, "fiscal": fiscal})
        self.shop.clock.pump([0.5] * 15)
        self.assertNoResult(due)
        self.shop.clock.advance(0.5)
        self.assertTrue(self.told(json.loads(self.successResultOf(due)))["info"]["isoffline"])
        # A server that just cost a time-out is left alone for a while.
        self.shop.clock.advance(31)
        self.assertEqual(self.home(), 0)
        self.agree()

    def standing_there(self) -> int:
        """How many documents the server has."""
        return len([kind for kind in self.shop.kinds() if kind != "numbers"])


class RevokeTests(OpenCase):
    """A sale whose answer was lost is made again offline; its online copy is deleted at the return."""

    settings = {"offline_after_lost_answer": "revoke"}  # noqa: RUF012

    def lost(self, then: str, kind: str = "sale", tag: str = "a") -> dict[str, Any]:
        """The answer to a task whose first answer is lost, while nobody can be asked."""
        self.shop.rules({"on": kind, "then": then}, *GONE)
        return self.sell(50, tag) if kind == "sale" else self.do(3, tag, cash={"type": 0, "sum": 5})

    def home(self) -> int:
        """Come home by hand: 0, or the code of the refusal."""
        self.shop.rules()
        return self.go("online")

    def entries(self) -> list[tuple[str, int]]:
        """The server's ledger: kinds and sums."""
        return [(entry.kind, entry.sum) for entry in self.shop.there.entries() if entry.status == "accepted"]

    def copy(self) -> Any:
        """What became of the online copy."""
        query = OperationQuery(devices=[self.shop.core.devices.by_name("one").row.n], states=[State.REFUSED])
        rows = self.shop.done(self.shop.store.find_operations(query)).operations
        return next(kept.decode(row.request).online_copy for row in rows)

    def test_arrived(self) -> None:
        """It had arrived: the copy is deleted once, and the sale counts once."""
        told = self.told(self.lost("lost_after"))
        self.assertTrue(told["info"]["isoffline"])
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.entries(), [("open", 0), ("sale", 5000), ("storno", 0), ("sale", 5000)])
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", "sale", "offline_end"])
        self.assertEqual(self.shop.calls.count("delLastChkId"), 1)
        self.assertEqual(self.copy().became, "revoked")
        self.assertEqual(self.told(self.sell(50, "a"))["info"]["doccode"], told["info"]["doccode"])
        self.agree()

    def test_absent(self) -> None:
        """It never arrived: nothing is deleted."""
        self.told(self.lost("lost_before"))
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", "sale", "offline_end"])
        self.assertEqual(self.shop.calls.count("delLastChkId"), 0)
        self.assertEqual(self.copy().became, "absent")
        self.agree()

    def test_deletion_lost(self) -> None:
        """The answer to the deletion is lost: at the next try the copy is gone, and stays noted as revoked."""
        for then in ("lost_after", "lost_before", "unreachable"):
            self.told(self.lost("lost_after", tag=then))
            self.shop.rules({"on": "storno", "then": then})
            self.assertIn(self.go("online"), (1050, 1084))
            self.assertEqual(self.home(), 0)
            self.assertEqual(self.copy().became, "revoked")
            self.agree()
        sales = [sum for kind, sum in self.entries() if kind == "sale"]
        deleted = [kind for kind, _ in self.entries() if kind == "storno"]
        self.assertEqual((len(sales), len(deleted)), (6, 3))

    def test_deletion_refused(self) -> None:
        """The server does not delete: the register stays offline and says why."""
        self.told(self.lost("lost_after"))
        self.shop.rules({"on": "storno", "then": "refuse", "code": "2"})
        self.assertEqual(self.go("online"), 1033)
        self.assertEqual(self.home(), 0)

    def test_killed(self) -> None:
        """The power fails after the copy was deleted: the return goes on."""
        self.told(self.lost("lost_after"))
        self.shop.rules({"on": "storno", "then": "lost_after"})
        self.assertEqual(self.go("online"), 1084)
        self.shop.crash()
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.copy().became, "revoked")
        self.agree()

    def test_other_key(self) -> None:
        """The shift ended offline and another key came, which may not delete there: the copy is deleted anyway."""
        self.told(self.lost("lost_after"))
        self.told(self.do(11))
        self.shop.load_key("one", keys().other)
        self.told(self.do(0))
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", "sale", "z", "open", "offline_end"])
        self.assertEqual(self.copy().became, "revoked")
        self.agree()

    def test_killed_on_the_way_home(self) -> None:
        """The power fails when the copy is deleted and some of the session is there: the return goes on."""
        self.told(self.lost("lost_after"))
        for n in range(12):
            self.told(self.sell(10, f"after {n}"))
        self.shop.rules(*[{"on": "any", "then": "accept"}] * 7, {"on": "any", "then": "unreachable"})
        self.assertGreater(self.go("online"), 0)
        self.shop.crash()
        self.assertEqual(self.home(), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", *["sale"] * 13, "offline_end"])
        self.assertEqual(self.copy().became, "revoked")
        self.agree()

    def test_no_sale(self) -> None:
        """Anything but a sale waits: it cannot be deleted there."""
        self.told(self.lost("lost_after", "cash_in"), 1075, 2)
        self.shop.rules()
        self.told(self.do(3, "a", cash={"type": 0, "sum": 5}))
        self.assertEqual(self.shop.kinds()[2:], ["cash_in"])
        self.agree()


class KeyTests(OpenCase):
    """One key signs a shift."""

    def test_in_use(self) -> None:
        """A key that works is not replaced in a shift."""
        other = keys().other
        loading = Deferred.fromCoroutine(self.shop.built().load_key(keys().file(other), "", [other.certificate.raw]))
        self.assertIs(self.failureResultOf(loading, Refused).value.res, Res.KEY_IN_USE)

    def test_between(self) -> None:
        """Between two shifts it is."""
        self.told(self.do(11))
        self.shop.load_key("one", keys().other)
        self.told(self.do(0))
        self.told(self.sell())
        self.agree()

    def test_emergency(self) -> None:
        """After an emergency the new key, a senior's, only closes the shift: 1124."""
        self.shop.built()._key._kept = msgspec.structs.replace(self.shop.built()._key._kept, valid_to=0)
        self.shop.load_key("one", keys().other)
        self.told(self.sell(), 1124)
        self.told(self.do(11))
        self.told(self.do(0))
        self.told(self.sell())
        self.agree()

    def test_not_senior(self) -> None:
        """A cashier's key does not close another one's shift: 1033."""
        other = keys().other.certificate.key_id.hex()
        standing = self.shop.standing()
        operators = [replace(one, chief=one.key != other) for one in standing.registration.operators]
        standing.registration = replace(standing.registration, operators=tuple(operators))
        self.shop.built()._key._kept = msgspec.structs.replace(self.shop.built()._key._kept, valid_to=0)
        self.shop.load_key("one", keys().other)
        answer = self.told(self.do(11), 1033)
        self.assertIn("one signatory", answer["aq_errortxt"])
        self.agree()

    def test_signed_once(self) -> None:
        """The register's number is signed once for each key and day."""
        channel, signed = self.shop.built()._channel, []
        sign = self.shop.built()._key.sign

        async def counting(content: Any) -> bytes:
            signed.append(content())
            message: bytes = await sign(content)
            return message

        self.patch(self.shop.built()._key, "sign", counting)
        for _ in range(3):
            self.assertTrue(self.successResultOf(Deferred.fromCoroutine(channel.answers())))
        self.assertEqual(signed, [])
        self.shop.clock.advance(86_400)
        self.successResultOf(Deferred.fromCoroutine(channel.answers()))
        self.successResultOf(Deferred.fromCoroutine(channel.answers()))
        self.assertEqual(signed, [b"4000000202"])


class TakeoverTests(CabinetCase):
    """A register that another program has used."""

    def other(self, *tasks: int) -> None:
        """Have the other program do tasks: the same register, of which this service knows nothing afterwards."""
        for task in tasks:
            self.told(self.do(task, cash={"type": 0, "sum": 10}))
        devices = self.shop.core.devices
        self.shop.done(devices.remove(devices.by_name("one").row.dev_id))
        self.shop.add_register("one", FIRST)
        self.shop.load_key("one", keys().cashier)

    def test_closed(self) -> None:
        """Its last document is a Z: chain, numbers and Z go on."""
        self.other(0, 3, 11)
        self.told(self.do(0))
        self.told(self.sell())
        self.told(self.do(11))
        self.assertEqual(self.shop.standing().z, 2)
        self.agree()

    def test_open(self) -> None:
        """Its shift is open: it has to be closed there, 1100; afterwards the register begins."""
        self.other(0, 3)
        answer = self.told(self.do(0), 1100)
        self.assertIn("інша програма", answer["errortxt"])
        self.assertIn(1100, [warning["code"] for warning in self.told(self.do(18))["warnings"]])

    def test_not_asked(self) -> None:
        """The server is away at the first opening: nothing is guessed, and the next try works."""
        self.other(0, 11)
        self.shop.rules(*GONE)
        self.told(self.do(0), 1050, 1)
        self.shop.rules()
        self.told(self.do(0))
        self.agree()

    def test_protocol_changed(self) -> None:
        """A register that was set to protocol A by mistake goes on by B; not during a shift."""
        self.shop.settings("one", protocol="a")
        self.told(self.do(18))
        self.shop.settings("one", protocol="b")
        self.told(self.do(0))
        changing = Deferred.fromCoroutine(
            self.shop.core.devices.change(self.shop.core.devices.by_name("one").row.dev_id, None, {"protocol": "a"})
        )
        self.assertIs(self.failureResultOf(changing, Refused).value.res, Res.SHIFT_MUST_BE_CLOSED)
        self.told(self.sell())
        self.agree()

    def test_begun_by_another_protocol(self) -> None:
        """A shift or an offline session that was begun by protocol A has to be ended by it first: 1100."""
        for task in (0, 11):
            self.told(self.do(task))
        settling = self.shop.built()._collisions
        for shift_open, offline, ended in (
            (False, None, True),
            (True, None, False),
            (False, totals.Offline(first=1, since=0), False),
        ):
            state = self.state().copy()
            state.shift_open, state.offline = shift_open, offline
            first = Deferred.fromCoroutine(settling._first_state(state))
            if ended:
                self.assertEqual(self.successResultOf(first).chain, state.chain)
            else:
                self.assertIs(self.failureResultOf(first, Refused).value.res, Res.SHIFT_MUST_BE_CLOSED)


class PairTests(CabinetCase):
    """Two registers at the same time."""

    def together(self, tag: str, **members: Any) -> list[dict[str, Any]]:
        """The answers to the same task on both, sent at the same moment."""
        came: list[bytes] = []
        for device in ("one", "two"):
            body = {"ver": 6, "device": device, "tag": tag, "type": 1, "fiscal": {"task": 1, **members}}
            self.shop.asked(body).addCallback(came.append)
        for _ in range(60):
            if len(came) == 2:
                break
            self.shop.clock.advance(0.5)
        return [json.loads(answer) for answer in came]

    def test_two_keys(self) -> None:
        """With a key each they do not wait for each other, whatever is lost; each has its own chain and numbers."""
        self.shop.load_key("two", keys().other)
        for device in ("one", "two"):
            self.told(self.do(0, device=device))
        dice = Random(1)
        for n in range(20):
            slow = {"on": "any", "then": "accept", "delay_ms": 1000}
            faults = [{"on": "any", "then": then} for then in ("lost_after", "lost_before", "garbage", "silent")]
            calm = n % 2 == 0
            self.shop.rules(*([slow, slow] if calm else dice.sample([slow, dice.choice(faults)], 2)))
            begun = self.shop.clock.seconds()
            answers = self.together(f"t{n}", receipt=sale((1000 + n) / 100))
            if calm:
                self.assertEqual([one["res"] for one in answers], [0, 0])
                self.assertEqual(self.shop.clock.seconds() - begun, 1)
            self.shop.rules()
            self.shop.clock.advance(31)
            for device in ("one", "two"):
                self.told(self.do(1, f"t{n}", device, receipt=sale((1000 + n) / 100)))
        for number, device in ((FIRST, "one"), (FIRST + 1, "two")):
            self.told(self.do(11, device=device))
            self.agree(number, device)
            self.assertEqual([kind for kind in self.shop.kinds(number) if kind == "sale"], ["sale"] * 20)
            contents = self.shop.contents(number)
            named = [paper.mac.text for paper in self.shop.papers(number) if paper.mac is not None]
            self.assertEqual(named, ["", *map(mac_of, contents[:-1])])

    def test_one_key(self) -> None:
        """One key has one open shift: the second register opens after the first one's Z, and nothing is lost."""
        self.shop.load_key("two", keys().cashier)
        self.told(self.do(0))
        answer = self.do(0, "opening", "two")
        self.assertEqual((answer["res"], answer["res_action"]), (1033, 3), answer)
        self.told(self.sell())
        self.told(self.do(11))
        self.told(self.do(0, "opening", "two"))
        self.told(self.sell(device="two"))
        self.agree()
        self.agree(FIRST + 1, "two")


class RestoredTests(OpenCase):
    """After a restore no register goes on in a chain that has gone on without it."""

    def restore(self) -> None:
        """Go back to the backup, with the mark of a restored database."""
        n = self.shop.core.devices.by_name("one").row.n
        mark = Restored(at=1, backup=1, registers=(n,))
        assert self.shop.store._db is not None
        self.backup.backup(self.shop.store._db)
        self.shop.done(self.shop.store.change_settings({NAME: msgspec.json.encode(mark)}))
        self.shop.crash()

    def back_up(self) -> None:
        """Keep the database as it is now."""
        assert self.shop.store._db is not None
        self.backup = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.backup.close)
        self.shop.store._db.backup(self.backup)

    def test_nothing_missing(self) -> None:
        """The same last document: it sells on, and is not compared again."""
        self.told(self.sell())
        self.back_up()
        self.restore()
        self.assertEqual(self.shop.done(read_mark(self.shop.store)).registers, ())
        self.told(self.sell())
        self.agree()

    def test_behind(self) -> None:
        """The server has a document that the backup has not: 1074."""
        self.back_up()
        self.told(self.sell())
        self.restore()
        self.told(self.sell(), 1074)

    def test_offline(self) -> None:
        """Documents made offline that the backup has may be at the server already."""
        self.shop.rules(*GONE)
        for tag in ("a", "b"):
            self.told(self.sell(10, tag))
        self.back_up()
        self.shop.rules({"on": "any", "then": "accept"}, {"on": "any", "then": "lost_after"}, GONE[1])
        self.go("online")
        self.shop.rules()
        self.restore()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", "sale", "sale", "offline_end"])
        self.agree()

    def test_long_session(self) -> None:
        """So may any of many."""
        self.patch(collisions, "MOST_COMPARED", 2)
        self.shop.rules(*GONE)
        for n in range(4):
            self.told(self.sell(10, f"{n}"))
        self.back_up()
        for arrived in range(1, 6):
            self.shop.rules({"on": "any", "then": "accept"}, {"on": "any", "then": "unreachable"})
            self.assertGreater(self.go("online"), 0)
            self.assertEqual(len(self.shop.kinds()), 2 + arrived)
            self.shop.rules()
            self.restore()
            self.told(self.do(10))
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.kinds()[2:], ["offline_begin", *["sale"] * 4, "offline_end"])
        self.agree()


class FindingTests(CabinetCase):
    """Both servers are asked which of them knows the register."""

    def found(self, other: str = "http://localhost/fs") -> Any:
        """What both say."""
        return self.successResultOf(Deferred.fromCoroutine(self.shop.built().find_protocol(other, "en")))

    def test_b(self) -> None:
        """Only the cabinet's server knows it."""
        found = self.found()
        self.assertEqual((found.protocol, found.a.knows, found.b.knows), ("b", False, True))
        self.assertEqual(found.a.text, "the server does not know the key")

    def test_neither(self) -> None:
        """Neither knows it: the number is wrong."""
        self.shop.there.change(FIRST, closed=True)
        self.assertEqual(self.found().protocol, "neither")

    def test_silent(self) -> None:
        """A server that does not answer leaves it open."""
        self.shop.rules(*GONE)
        self.assertEqual((self.found().protocol, self.found().b.knows), ("unknown", None))

    def test_simulator(self) -> None:
        """A register that works with a simulator asks nobody on the internet."""
        found = self.found("")
        self.assertEqual((found.protocol, found.a.url, found.a.knows), ("unknown", "", None))
