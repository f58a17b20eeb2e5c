"""The lab's judge finds whatever is planted, its plan is repeatable, and its command works."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

import dmtwisted.lab.crash.crew as crew_module
import dmtwisted.lab.crash.rounds as rounds_module
from dmtwisted.lab.children import BenchFailed, NotStarted
from dmtwisted.lab.crash.books import (
    DONE,
    PERSON,
    REFUSED,
    Books,
    Entry,
    Findings,
    HeldMark,
    TillTask,
    accepted,
    accepted_by_cabinet,
    compare_mails,
    compare_marks,
    compare_shop,
    read_marks,
)
from dmtwisted.lab.crash.cabinet import CABINET, SAME
from dmtwisted.lab.crash.carrying import OLD_SALES, Rows, compare_kept, compare_rows, of_first_schema
from dmtwisted.lab.crash.carrying import POINTS as BESIDE
from dmtwisted.lab.crash.command import CrashlabOptions, run
from dmtwisted.lab.crash.crew import Crew, Part, parts, parts_on_cabinet
from dmtwisted.lab.crash.databases import Ground
from dmtwisted.lab.crash.parent import REACTOR, Forked, Parent, import_ahead, nothing_to_inherit
from dmtwisted.lab.crash.rounds import VOLLEY, Lab, Round, Tally, as_json, blows, pairs_of, plan, table
from dmtwisted.lab.crash.scenes import Scene
from dmtwisted.lab.crash.shop import KilledService, Shop
from dmtwisted.lab.crash.wired import MACHINES, WiredShop, WiredTask, compare_register, moments
from dmtwisted.lab.mailbox import Mailbox
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.revisions import head
from dmtwisted.store.sqlite.file import sqlite_revision
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import Letter, Marks
from tests.store_contract import AT, TILL, intent, paper

RECEIPTS = [Entry("open", 1, "f1", 0), Entry("sale", 2, "f2", 1001), Entry("sale", 3, "f3", 1002)]
DEEDS = [
    TillTask(1001, DONE, tag="a", receipt=(2, "f2"), paper=DONE),
    TillTask(1002, DONE, "pos", "b", (3, "f3")),
    TillTask(1003, REFUSED, "pos", refusable=True),
]


def folder_of(test: SynchronousTestCase) -> Path:
    """A fresh folder."""
    folder = Path(test.mktemp()).resolve()
    folder.mkdir()
    return folder


def money(number: str, kopecks: int, kind: str = "payment", ref: str = "") -> dict[str, Any]:
    """An entry of a terminal's ledger."""
    return {"kind": kind, "status": "accepted", "number": number, "sum": kopecks, "ref": ref}


BOOKS = Books(RECEIPTS, RECEIPTS, {"pos": [money("1", 1002)]}, {1001: 1})


class CompareMarksTests(SynchronousTestCase):
    """The excise marks of tills, database and marks service."""

    TASKS = (
        TillTask(1001, DONE, tag="a", receipt=(2, "f2"), mark="m1"),
        TillTask(1002, REFUSED, tag="b", mark="m2"),
        TillTask(1003, DONE, tag="c", receipt=(3, "f3")),
    )
    HELD = (HeldMark("m1", 2, "sold", "done"),)
    TOLD: tuple[dict[str, str], ...] = (
        {"number": "m1", "status": "accepted"},
        {"number": "m1", "status": "repeated"},
    )

    def judge(self, held: Any = HELD, letters: int = 0, told: Any = TOLD) -> tuple[int, int, int]:
        """How many are lost, doubled and otherwise wrong."""
        found = compare_marks(self.TASKS, held, letters, told)
        return len(found.lost), len(found.doubled), len(found.other)

    def test_in_order(self) -> None:
        """Marks that agree give no finding; while letters wait the service need not know."""
        self.assertEqual(self.judge(), (0, 0, 0))
        self.assertEqual(self.judge(letters=1, told=()), (0, 0, 1))

    def test_wrong(self) -> None:
        """A mark that is kept back, spent without a receipt, unknown, or told wrongly is found."""
        for held, expected in (
            ((HeldMark("m1", 2, "reserved", "done"),), (0, 0, 1)),
            ((HeldMark("m1", 2, "sold", "refused"),), (0, 0, 1)),
            ((*self.HELD, HeldMark("m2", 4, "sold", "done")), (0, 1, 0)),
            ((HeldMark("m1", 9, "sold", "done"),), (0, 1, 0)),
            ((), (1, 0, 0)),
        ):
            self.assertEqual(self.judge(held=held), expected, held)
        for told, expected in (
            ((), (1, 0, 0)),
            ((self.TOLD[0], self.TOLD[0]), (0, 1, 0)),
            ((*self.TOLD, {"number": "m1", "status": "refused"}), (0, 1, 0)),
            ((*self.TOLD, {"number": "m2", "status": "accepted"}), (0, 1, 0)),
        ):
            self.assertEqual(self.judge(told=told), expected, told)

    def test_read(self) -> None:
        """They are read from the database, with the state of their operation."""
        store = MemoryStore()
        self.successResultOf(Deferred.fromCoroutine(store.open()))
        meant = intent(TILL, "a", paper(7), marks=Marks(["m1"]))
        self.successResultOf(Deferred.fromCoroutine(store.reserve(meant)))
        self.successResultOf(Deferred.fromCoroutine(store.post([Letter("marks", 1, AT, b"")])))
        assert store._db is not None
        self.assertEqual(read_marks(store._db.execute), ([HeldMark("m1", 7, "reserved", "intended")], 1))


class CompareMailsTests(SynchronousTestCase):
    """Receipts and the e-mails of a mail server."""

    TASKS = (
        TillTask(1001, DONE, tag="a", receipt=(2, "f2"), mail="a@b"),
        TillTask(1002, REFUSED, tag="b", mail="c@d"),
        TillTask(1003, DONE, tag="c", receipt=(3, "f3")),
    )

    def test_mails(self) -> None:
        """A receipt may come again as the same message; one that is missing, another's or not the same is found."""
        for came, expected in (
            ([("a@b", "<1>")], (0, 0)),
            ([("a@b", "<1>"), ("a@b", "<1>")], (0, 0)),
            ([], (1, 0)),
            ([("a@b", "<1>"), ("a@b", "<2>")], (0, 1)),
            ([("a@b", "<1>"), ("c@d", "<2>")], (0, 1)),
        ):
            found = compare_mails(self.TASKS, came)
            self.assertEqual((len(found.lost), len(found.doubled)), expected, came)

    def test_server(self) -> None:
        """The lab's mail server remembers whole e-mails only."""
        mailbox = Mailbox()
        self.addCleanup(mailbox.stop)
        for whole in (True, False):
            with (
                socket.create_connection(("127.0.0.1", mailbox.port), timeout=10) as line,
                line.makefile("rwb") as wire,
            ):
                wire.readline()
                for said in (b"EHLO x", b"MAIL FROM:<s@x>", b"RCPT TO:<a@b>", b"DATA"):
                    wire.write(said + b"\r\n")
                    wire.flush()
                    wire.readline()
                wire.write(b"Message-ID: <1>\r\n\r\nx\r\n" + (b".\r\n" if whole else b""))
                wire.flush()
                if whole:
                    self.assertEqual(wire.readline(), b"250 taken\r\n")
        self.assertEqual(mailbox.came(), [("a@b", "<1>")])


class CompareShopTests(SynchronousTestCase):
    """All books of a shop against each other."""

    def judge(self, deeds: list[TillTask] | None = None, **books: Any) -> Findings:
        """What is found with these books in the place of the right ones."""
        return compare_shop("till", DEEDS if deeds is None else deeds, replace(BOOKS, **books))

    def test_in_order(self) -> None:
        """Books that agree give no finding."""
        self.assertFalse(self.judge())

    def test_doubled_receipt(self) -> None:
        """A receipt that is there twice is doubled."""
        book = [*RECEIPTS, Entry("sale", 4, "f4", 1001)]
        self.assertEqual(len(self.judge(ledger=book, journal=book).doubled), 1)

    def test_warned_receipt(self) -> None:
        """A till without tags may have a second receipt, if the very answer that it received names it."""
        book = [*RECEIPTS, Entry("sale", 4, "f4", 1001)]
        for warned, doubled in (("receipt f4 for 10.01 exists", 0), ("receipt f9 for 10.01 exists", 1)):
            deeds = [replace(DEEDS[0], warned=warned), *DEEDS[1:]]
            self.assertEqual(len(self.judge(deeds, ledger=book, journal=book).doubled), doubled)

    def test_lost_receipt(self) -> None:
        """A receipt that was answered and is nowhere is lost."""
        self.assertEqual(len(self.judge(ledger=RECEIPTS[:-1], journal=RECEIPTS[:-1]).lost), 1)

    def test_lost_from_journal(self) -> None:
        """A receipt that only the tax service has is lost."""
        self.assertEqual(len(self.judge(journal=RECEIPTS[:-1]).lost), 1)

    def test_doubled_payment(self) -> None:
        """Money that was taken twice is doubled, given back once it is right again."""
        twice = [money("1", 1002), money("2", 1002)]
        self.assertEqual(len(self.judge(terminals={"pos": twice}).doubled), 1)
        self.assertFalse(self.judge(terminals={"pos": [*twice, money("3", 1002, "cancel", "2")]}))

    def test_lost_payment(self) -> None:
        """A payment that was answered with success and is not in the terminal's ledger is lost."""
        self.assertEqual(len(self.judge(terminals={"pos": []}).lost), 1)

    def test_payment_after_a_refusal(self) -> None:
        """A payment whose till was answered with a refusal is doubled: the till may charge it again."""
        held = [money("1", 1002), money("2", 1003)]
        self.assertEqual(len(self.judge(terminals={"pos": held}).doubled), 1)

    def test_refused_for_good(self) -> None:
        """A final refusal without a reason is a lost task."""
        for deed in (TillTask(1003, REFUSED, "pos"), TillTask(1004, REFUSED, tag="c")):
            self.assertEqual(len(self.judge([*DEEDS[:2], deed]).lost), 1)

    def test_nobodys_payment(self) -> None:
        """Money that no till knows of."""
        held = [money("1", 1002), money("2", 9999)]
        self.assertEqual(len(self.judge(terminals={"pos": held}).doubled), 1)

    def test_given_back_twice(self) -> None:
        """One payment that was given back twice."""
        back = [money(str(n), 1002, "cancel", "2") for n in (3, 4)]
        held = [money("1", 1002), money("2", 1002), *back]
        self.assertEqual(len(self.judge(terminals={"pos": held}).doubled), 1)

    def test_left_to_a_person(self) -> None:
        """What a person has to look at may have happened or not, but not twice."""
        deeds = [*DEEDS[:2], TillTask(1003, PERSON, "pos")]
        for times, doubled in ((0, 0), (1, 0), (2, 1)):
            held = [money("1", 1002), *(money(f"x{n}", 1003) for n in range(times))]
            self.assertEqual(len(self.judge(deeds, terminals={"pos": held}).doubled), doubled)

    def test_paper(self) -> None:
        """A second copy is doubled, a paper that the till heard of and that is not there is lost."""
        self.assertEqual(len(self.judge(papers={1001: 2}).doubled), 1)
        self.assertEqual(len(self.judge(papers={}).lost), 1)


class CompareRegisterTests(SynchronousTestCase):
    """Tills, the journal and the ledger of a hardware register."""

    TASKS = (
        WiredTask(0, DONE, receipt=(1, "N1"), register="mg", kind="open"),
        WiredTask(1001, DONE, receipt=(2, "1"), register="mg"),
        WiredTask(1002, DONE, receipt=(3, "N3"), register="mg", kind="cash_in"),
        WiredTask(1003, DONE, receipt=(5, "Z1"), register="mg", kind="z"),
    )
    LEDGER = (Entry("sale", 1, "1", 1001), Entry("cash_in", 2, "2", 1002))
    JOURNAL = (
        *(Entry("open", 1, "N1", 0), Entry("sale", 2, "1", 1001), Entry("cash_in", 3, "N3", 1002)),
        *(Entry("close", 4, "N4", 0), Entry("z", 5, "Z1", 0)),
    )

    def judge(self, tasks: Any = TASKS, ledger: Any = LEDGER, z: int = 1, journal: Any = JOURNAL) -> Findings:
        """What is found with these books in the place of the right ones."""
        return compare_register("mg", tasks, ledger, z, journal)

    def test_in_order(self) -> None:
        """Books that agree give no finding; cash has no number of its own on every register."""
        self.assertFalse(self.judge())

    def test_doubled(self) -> None:
        """A second receipt on the register is doubled, and one that no till has, and a second Z."""
        again = Entry("sale", 3, "3", 1001)
        for books in (
            {"ledger": (*self.LEDGER, again)},
            {"ledger": (*self.LEDGER, replace(again, sum=1009))},
            {"journal": (*self.JOURNAL, replace(again, number=6))},
            {"z": 2},
        ):
            self.assertEqual((len(self.judge(**books).doubled), len(self.judge(**books).lost)), (1, 0), books)

    def test_lost(self) -> None:
        """What a till was answered and a book has not is lost, and so is a refusal for ever."""
        refused = WiredTask(1004, REFUSED, register="mg", why="1100")
        for books in (
            {"ledger": self.LEDGER[:1], "journal": self.JOURNAL},
            {"journal": (*self.JOURNAL[:2], *self.JOURNAL[3:])},
            {"tasks": (*self.TASKS, refused)},
            {"z": 0},
        ):
            self.assertEqual((len(self.judge(**books).lost), len(self.judge(**books).doubled)), (1, 0), books)

    def test_another_number(self) -> None:
        """An answer that names another receipt of the register is wrong."""
        ledger = (replace(self.LEDGER[0], fiscal_number="7"), self.LEDGER[1])
        self.assertEqual(len(self.judge(ledger=ledger).other), 1)

    def test_people(self) -> None:
        """What no register could tell, and a person did, is counted apart; a refusal is not one of them."""
        shop = WiredShop(folder_of(self))
        shop.add(WiredTask(1001, DONE, receipt=(2, "1"), why="1074", register="mg"))
        shop.add(WiredTask(1002, REFUSED, why="1100", register="mg"))
        self.assertEqual(shop.left_to_a_person(), ([], 1))


class CompareRowsTests(SynchronousTestCase):
    """Databases before and after what goes on beside the tasks."""

    def test_rows(self) -> None:
        """Rows that are gone, new or fewer are found."""
        before = Rows(frozenset({(1, "sale", "f", 5)}), 3)
        self.assertFalse(compare_rows(before, before))
        self.assertEqual(len(compare_rows(before, Rows(frozenset(), 3)).lost), 1)
        self.assertEqual(len(compare_rows(Rows(frozenset(), 3), before).doubled), 1)
        self.assertEqual(len(compare_rows(before, replace(before, operations=2)).other), 1)
        told = replace(before, rest=frozenset({("setting", "service", b"1")}))
        self.assertEqual(len(compare_rows(told, before).other), 1)

    def test_retention(self) -> None:
        """Retention may take what is old; a young receipt that went, or old ones that stayed, are found."""
        old = frozenset((n, "sale", f"f{n}", 5) for n in range(1, OLD_SALES))
        young = (900, "sale", "f900", 7)
        before, after = Rows(old | {young}, 1), Rows(frozenset({young}), 1)
        self.assertFalse(compare_kept([(900, 7)], before, after, OLD_SALES))
        self.assertEqual(len(compare_kept([(900, 7)], before, Rows(frozenset(), 1), OLD_SALES).lost), 1)
        self.assertEqual(len(compare_kept([(900, 7)], before, before, OLD_SALES).other), 1)
        opening = Rows(old | {young, (899, "open", "f899", 0)}, 1)
        self.assertEqual(len(compare_kept([(900, 7)], opening, after, OLD_SALES).lost), 1)


class LedgerTests(SynchronousTestCase):
    """What the tax service took."""

    def test_revoked(self) -> None:
        """An online copy that an offline begin revoked does not count, nor does the entry that says so."""
        entries = [
            {"kind": "sale", "status": "accepted", "number": "301", "sum": 5, "ref": "7"},
            {"kind": "sale", "status": "refused", "number": "", "sum": 6, "ref": "8"},
            {"kind": "offline_begin", "status": "accepted", "number": "9.1.2", "sum": 0, "ref": "7"},
            {"kind": "storno", "status": "accepted", "number": "9.1.2", "sum": 0, "ref": "301"},
            {"kind": "sale", "status": "accepted", "number": "9.2.3", "sum": 5, "ref": "8"},
        ]
        taken = [Entry("offline_begin", 7, "9.1.2", 0), Entry("sale", 8, "9.2.3", 5)]
        self.assertEqual(accepted(entries), taken)

    def test_cabinet(self) -> None:
        """On protocol B a deleted copy does not count; documents have the journal's numbers, and gaps are found."""
        kinds = ["open", "sale", "sale", "storno", "numbers", "offline_begin", "sale", "z", "offline_end", "open"]
        places = [0, 1, 2, "n2", 2, 2, 3, 4, 5, 0]
        entries = [
            {"kind": kind, "status": "accepted", "number": f"n{n}", "sum": 5, "ref": str(place)}
            for n, (kind, place) in enumerate(zip(kinds, places, strict=True))
        ]
        entries.insert(3, {"kind": "sale", "status": "refused", "number": "", "sum": 7, "ref": "9"})
        there = [kind for n, kind in enumerate(kinds) if n not in (2, 3)]
        codes = [f"n{n}" for n in range(len(kinds)) if n not in (2, 3)]
        journal = [Entry(kind, n, code, 5) for n, (kind, code) in enumerate(zip(there, codes, strict=True), 1)]
        found = Findings()
        self.assertEqual(accepted_by_cabinet(entries, journal, found), journal)
        self.assertFalse(found)
        missing = accepted_by_cabinet(entries[:-4] + entries[-3:], journal[1:], found)
        self.assertEqual((missing[0].number, len(found.gaps)), (0, 1))


class FirstSchemaTests(SynchronousTestCase):
    """The lab's old database."""

    def test_rows(self) -> None:
        """It has the first schema, however many there are by now, and the rows; and it can be brought up to date."""
        folder = folder_of(self)
        whole, first = folder / "whole.db", folder / "first.db"
        upgrade(f"sqlite:///{whole}")
        with closing(sqlite3.connect(whole)) as db, db:
            db.execute("INSERT INTO device (dev_id, name, kind, driver, settings) VALUES ('a', 'b', 'c', 'd', '')")
        of_first_schema(whole, first)
        self.assertEqual(sqlite_revision(first), "0001")
        upgrade(f"sqlite:///{first}")
        self.assertEqual(sqlite_revision(first), head())
        with closing(sqlite3.connect(first)) as db:
            self.assertEqual(db.execute("SELECT dev_id, name FROM device").fetchall(), [("a", "b")])


class PlanTests(SynchronousTestCase):
    """What is killed when."""

    def test_seed(self) -> None:
        """A seed gives the same plan each time, another one another."""
        pairs = pairs_of([])
        self.assertEqual(plan(1, 2, pairs), plan(1, 2, pairs))
        self.assertEqual(len(plan(1, 2, pairs)), 2 * len(pairs))
        self.assertEqual(blows(3, 20), blows(3, 20))
        self.assertNotEqual(blows(3, 20), blows(4, 20))
        self.assertEqual({blow.early for blow in blows(3, 50)}, {True, False})
        for n in range(0, 50, VOLLEY):
            away = [blow.away for blow in blows(3, 50, away=True)[n : n + VOLLEY]]
            self.assertFalse(away[0] or away[-1])
        self.assertTrue(any(blow.away for blow in blows(3, 50, away=True)))
        self.assertEqual(moments(3, 20), moments(3, 20))
        self.assertEqual({moment.name for moment in moments(3, 20)}, set(MACHINES))
        self.assertEqual({moment.dark > 0 for moment in moments(3, 20)}, {True, False})
        self.assertEqual(blows(3, 50), [replace(blow, away=False) for blow in blows(3, 50, away=True)])
        self.assertEqual([part.kills for part in parts(5, 2, 250)], [part.kills for part in parts(5, 2, 250)])

    def test_all_in_parts(self) -> None:
        """The parts hold each round of the plan once, those beside the tasks too."""
        kills = sum(part.kills for part in parts(5, 2, 250))
        self.assertEqual(kills, 2 * len(pairs_of([])) + 2 * len(BESIDE) + 250)
        self.assertEqual([part.kills for part in parts(5, 3, 0, ["batch.paid"])], [3])

    def test_cabinet(self) -> None:
        """On protocol B the scenes are its documents; no writer is killed on a server; a seed gives one plan."""
        points = len(pairs_of([], CABINET))
        kills = [part.kills for part in parts_on_cabinet(5, 2, 250)]
        self.assertEqual(sum(kills), 2 * points + 250)
        self.assertEqual(kills, [part.kills for part in parts_on_cabinet(5, 2, 250)])
        self.assertEqual([part.kills for part in parts_on_cabinet(5, 3, 0, ["offline.copy-deleted"])], [3])
        writers = len(pairs_of(["writer.committed"], CABINET))
        for ground, some in ((Ground(), writers), (Ground("", True), writers), (Ground("postgresql://a/b"), 0)):
            found = parts_on_cabinet(5, 1, 0, ["writer.committed"], ground=ground)
            self.assertEqual(sum(part.kills for part in found), some, ground)
        self.assertEqual({f"{name} on B" for name in SAME} - {scene.name for scene in CABINET}, set())

    def test_some_points(self) -> None:
        """A point that is named is played in every scene that has it."""
        self.assertEqual([point for _, point in pairs_of(["batch.paid"])], ["batch.paid"])
        self.assertGreater(len(pairs_of(["payment.send-noted"])), 5)


class VerdictTests(SynchronousTestCase):
    """The table."""

    def test_good(self) -> None:
        """A point is good when each round killed and found no fault; what only a person can see is counted apart."""
        tally = Tally("batch", "batch.paid", rounds=2, killed=2, looked=1)
        self.assertTrue(tally.good)
        self.assertFalse(replace(tally, killed=1).good)
        by_hand = replace(tally, by_hand=1)
        self.assertTrue(by_hand.sound)
        self.assertFalse(by_hand.good)
        tally.add(Findings(doubled=["twice"]))
        self.assertFalse(tally.good)
        whole = as_json(7, [tally])
        self.assertEqual((whole["good"], whole["doubled"], whole["looked"], whole["kills"]), (False, 1, 1, 2))
        self.assertIn("WRONG", table([tally]))

    def test_people(self) -> None:
        """A slip of a wire without a question and a paper are looked at; anything else a person did by hand."""
        shop = Shop(folder_of(self))
        for terminal in ("zvt", "caisse-ap", "concert-v2"):
            shop.add(TillTask(shop.next_sum(), PERSON, terminal))
        shop.add(TillTask(shop.next_sum(), DONE, paper=PERSON))
        by_hand, looked = shop.left_to_a_person()
        self.assertEqual(([words.partition(",")[0] for words in by_hand], looked), (["by hand: zvt"], 3))


class CrewTests(SynchronousTestCase):
    """Parts side by side, and the score."""

    def crew(self, *plays: Any) -> Crew:
        """A crew for these parts, with two kills each."""
        self.lines: list[str] = []
        return Crew([Part(2, play) for play in plays], folder_of(self), self.lines.append, lambda *_: None)

    def test_score(self) -> None:
        """What came of one point in several parts is one row; a part's folder goes when all is good."""

        def two(folder: Path, tallies: list[Tally], stop: Event) -> None:
            tallies.append(Tally("batch", "batch.paid", rounds=2, killed=2))

        def wrong(folder: Path, tallies: list[Tally], stop: Event) -> None:
            self.kept = folder
            tallies.append(Tally("batch", "batch.paid", rounds=1, killed=1, lost=1, found=["a receipt"]))

        crew = self.crew(two, wrong, two)
        crew.work(2)
        [row] = crew.score()
        self.assertEqual((row.rounds, row.killed, row.lost, row.found), (5, 5, 1, ["a receipt"]))
        counts, *kills = crew.progress()
        self.assertEqual((counts[:17], kills), ("1 lost, 0 doubled", [5, 6]))
        self.assertIn("part 2: a receipt", self.lines)
        self.assertEqual([path.name for path in self.kept.parent.iterdir()], ["part-2"])

    def test_part_that_fails(self) -> None:
        """A part that cannot go on is wrong, and the others are played."""

        def broken(folder: Path, tallies: list[Tally], stop: Event) -> None:
            raise BenchFailed("no shop")

        def good(folder: Path, tallies: list[Tally], stop: Event) -> None:
            tallies.append(Tally("batch", "batch.paid", rounds=2, killed=2))

        crew = self.crew(broken, good)
        crew.work(1)
        self.assertEqual([row.wrong for row in crew.score()], [0, 1])

    def test_part_that_breaks(self) -> None:
        """Whatever ends a part, all of whose rounds killed, it is not good: its books were not compared."""

        def damaged(folder: Path, tallies: list[Tally], stop: Event) -> None:
            tallies.append(Tally("batch", "batch.paid", rounds=2, killed=2))
            raise sqlite3.DatabaseError("the disk image is malformed")

        crew = self.crew(damaged)
        crew.work(1)
        self.assertFalse(as_json(1, crew.score())["good"])

    def test_broken_off(self) -> None:
        """Who breaks off has the score so far: rounds under way end, no other part begins."""

        def long(folder: Path, tallies: list[Tally], stop: Event) -> None:
            tallies.append(Tally("batch", "batch.paid", rounds=1, killed=1))
            self.assertTrue(stop.wait(20))

        crew = self.crew(long, long, long)

        def interrupted(*_: object) -> Any:
            raise KeyboardInterrupt

        self.patch(crew_module, "wait", interrupted)
        with self.assertRaises(KeyboardInterrupt):
            crew.work(1)
        self.assertLessEqual(sum(row.killed for row in crew.score()), 1)


class _Process(Forked):
    """A process that comes to a point as soon as it starts, if it is ordered to die there."""

    def __init__(self, parent: Parent) -> None:
        super().__init__(parent, 1)
        self._orders = parent.orders
        self.status: int | None = None
        self.reach()

    def reach(self) -> None:
        if self._orders.exists():
            self._orders.rename(f"{self._orders}.struck")
            self.status = -9

    def poll(self) -> int | None:
        return self.status

    def _signal(self, number: int) -> None:
        self.status = -number


class _Starting(KilledService):
    """A service of such processes, which is ready unless it is dead."""

    ends_by_itself = False

    def spawn(self) -> None:
        self.process = self._process = _Process(self._parent)
        if self.ends_by_itself:
            self.process.status = 1

    def _ready(self) -> bool:
        return not self.dead


class _EmptyShop(Shop):
    """A shop without work, whose books differ as often as wanted."""

    differ = 0

    def calm(self) -> None:
        pass

    def at_home(self) -> bool:
        return True

    rested = all_told = all_heard = at_home

    def compare(self) -> None:
        if self.differ:
            self.differ -= 1
            self.found.add(Findings(lost=["the numbers"]))


class BusyMachineTests(SynchronousTestCase):
    """What a busy machine makes of a round is no finding."""

    def tally(self, differ: int = 0, reached: int = 1) -> Tally:
        """What comes of one round.

        :param differ: how often the books differ after it.
        :param reached: the point is reached when the scene is played for this time.
        """
        self.patch(rounds_module, "SECOND_LOOK", 0)
        self.patch(rounds_module, "STRIKE_PATIENCE", 0)
        shop = _EmptyShop(folder_of(self))
        shop.service = service = _Starting(shop.parent, shop.state, 1)
        service.spawn()
        shop.differ = differ
        plays: list[Shop] = []

        def play(shop: Shop) -> None:
            plays.append(shop)
            if len(plays) == reached:
                service.process.reach()

        self.patch(rounds_module, "EVERY", (Scene("a scene", play, {"task.before-answer": 1}),))
        found: list[Tally] = []
        Lab(shop, found, Event()).at_points([Round("a scene", "task.before-answer", 1)])
        return found[0]

    def test_in_flight(self) -> None:
        """What the service was doing while books were compared is none; what stays is one."""
        self.assertEqual([self.tally(differ=times).lost for times in (1, 2)], [0, 1])

    def test_another_way(self) -> None:
        """A scene that goes another way is played again, but not for ever."""
        self.assertEqual([self.tally(reached=time).good for time in (3, 4)], [True, False])


class SecondDeathTests(SynchronousTestCase):
    """A point that is reached only after a restart."""

    def tally(self, ends_by_itself: bool = False) -> Tally:
        """What comes of one round, in which the second death meets a service that is not ready yet."""
        shop = _EmptyShop(folder_of(self))
        shop.service = service = _Starting(shop.parent, shop.state, 1)
        service.log.touch()
        service.spawn()

        def play(_: Shop) -> None:
            service.ends_by_itself = ends_by_itself
            service.process.reach()

        scene = Scene("a scene", play, {"payment.never-sent": 1}, {"payment.never-sent": "payment.intent-stored"})
        self.patch(rounds_module, "EVERY", (scene,))
        found: list[Tally] = []
        Lab(shop, found, Event()).at_points([Round("a scene", "payment.never-sent", 1)])
        return found[0]

    def test_before_ready(self) -> None:
        """It may be reached before the service is seen ready: that is the kill that was ordered."""
        self.assertEqual(self.tally(), Tally("a scene", "payment.never-sent", rounds=1, killed=1))

    def test_only_once(self) -> None:
        """Where the power fails, a service that has died at its point is not killed once more after its start."""
        shop = _EmptyShop(folder_of(self))
        service = _Starting(shop.parent, shop.state, 1)
        service.order("payment.intent-stored")
        service.spawn()
        service.follow()
        service.spawn()
        service.follow()
        self.assertFalse(service.dead)

    def test_does_not_start(self) -> None:
        """A service that ends by itself instead is a finding."""
        with self.assertRaises(NotStarted):
            self.tally(ends_by_itself=True)


class ParentTests(SynchronousTestCase):
    """The parent that forks the lab's processes."""

    def test_nothing_but_code(self) -> None:
        """A process with a reactor, such as this one, does not fork; what needs one is left to the children."""
        self.patch(sys, "modules", {**sys.modules, REACTOR: None})
        with self.assertRaises(RuntimeError):
            nothing_to_inherit()
        self.assertEqual(import_ahead(["json", "no.such.module"]), ["no.such.module"])

    def test_fork(self) -> None:
        """A child runs our command as a new process would; its status is reported, for a signal too."""
        folder = folder_of(self)
        log = folder / "log"
        with Parent(folder / "orders", folder / "parent.log") as parent:
            self.assertEqual(parent.fork(["--version"], log).wait(20), 0)
            self.assertIn("dmtwisted", log.read_text("utf-8"))
            self.assertEqual(parent.fork(["no-such-command"], log).wait(20), 2)
            child = parent.fork(["simulate", "printer", "--listen", "0", "--control", "0"], log)
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(0)
            child.kill()
            self.assertEqual(child.wait(20), -9)
        with self.assertRaises(NotStarted):
            parent.fork(["--version"], log)


class CommandTests(SynchronousTestCase):
    """The command line."""

    def test_unknown_point(self) -> None:
        """A point that there is not is refused at once."""
        options = CrashlabOptions()
        with self.assertRaises(usage.UsageError):
            options.parseOptions(["--points", "sale.everything"])

    def test_unreached_point(self) -> None:
        """A run that would kill nothing proves nothing: it fails."""
        options = CrashlabOptions()
        options.parseOptions(["--protocol", "b", "--points", "batch.paid", "--random", "0"])
        self.assertEqual(run(options), 1)

    def test_real(self) -> None:
        """Some points of every kind and some kills at random, with the real processes: nothing is lost or doubled."""
        if os.environ.get("DMTWISTED_SLOW") != "1":
            self.skipTest("set DMTWISTED_SLOW=1 to kill the real service")
        report = Path(self.mktemp())
        points = "document.submitted,batch.paid,print.job-stored,retention.operations-cut,move.carried"
        options = CrashlabOptions()
        options.parseOptions(["--points", points, "--random", "3", "--json", str(report)])
        self.assertEqual(run(options), 0)
        found = json.loads(report.read_text("utf-8"))
        counts = [found[name] for name in ("lost", "doubled", "by_hand", "wrong", "kills")]
        self.assertEqual(counts, [0, 0, 0, 0, 8])
