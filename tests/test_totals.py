"""The register's state: a document changes the state that follows it, and never the one before."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.documents import (
    Caller,
    Document,
    Good,
    Header,
    OfflineMark,
    Payment,
    Receipt,
    Reversed,
    ShiftTotals,
    TaxLine,
)
from dmtwisted.registers import totals
from dmtwisted.registers.bookkeeping import Books
from dmtwisted.registers.totals import (
    BY_ITSELF,
    LastDocument,
    LostOnline,
    Offline,
    OfflineMonth,
    RegisterState,
    Session,
    UnheardReceipt,
)
from protocols.fiscal.offline import document_hash
from tests.shop import MORNING, Shop, sale

SEPTEMBER, HOUR = int(MORNING * 1000), 3_600_000

GROUPS: dict[int, dict[str, Any]] = {
    1: {"tax_name": "ПДВ", "tax_lit": "А", "tax_percent": 2000, "ex_name": "Акциз", "ex_percent": 500},
    2: {"tax_name": "ПДВ", "tax_lit": "Б", "tax_percent": 700},
}
"""Names and rates of two tax groups."""

BASKET = Receipt(
    goods=(
        Good(name="Кава", cnt=1000, price=300, cost=300, taxgrp=1),
        Good(name="Чай", cnt=2000, price=20, cost=40, taxgrp=1),
    ),
    pays=(
        Payment(type=0, name="Готівка", sum=205, round=3),
        Payment(type=0, name="Готівка", sum=20, round=-4),
        Payment(type=2, name="Картка", sum=100),
    ),
    taxes=(
        TaxLine(gr_code=1, base_sum=11, base_tax_sum=12, base_ex_sum=13, tax_sum=14, ex_sum=15, **GROUPS[1]),
        TaxLine(gr_code=2, base_sum=21, tax_sum=24, **GROUPS[2]),
    ),
    sum_disc=16,
    sum_receipt=326,
    sum_topay=325,
)
"""Paid in cash twice, once rounded up and once down, and by card; of the second tax group it has no goods."""


def paper(kind: str, number: int = 2, **members: Any) -> Document:
    """A document of the shift 5, one hour after the opening."""
    source = members.pop("source", "")
    return Document(
        **{
            "kind": kind,
            "number": number,
            "shift": 5,
            "at": SEPTEMBER + HOUR,
            "header": Header(fisid="1"),
            "caller": Caller(device="test", source=source, task=7),
            **members,
        }
    )


def opened(state: RegisterState | None = None, **members: Any) -> RegisterState:
    """A register whose shift has just been opened by the document 1."""
    state = RegisterState(z_number=4, safe=1000) if state is None else state
    totals.apply(state, paper(documents.OPEN, 1, at=SEPTEMBER, **members), "F1", b"")
    return state


def plain(value: object) -> Any:
    """Its members that are not empty."""
    return msgspec.to_builtins(value)


class AppliedTests(SynchronousTestCase):
    """What each kind of document does to the register."""

    def test_new(self) -> None:
        """A new register begins with the document 1 and has no money; what is left out of a record is nothing."""
        state = RegisterState()
        self.assertEqual((state.next_number, state.shift), (1, 1))
        records: tuple[msgspec.Struct, ...] = (
            state,
            state.last,
            state.offline_month,
            Offline(first=2, since=3),
            UnheardReceipt(2, "F", 3, 4, 5, "tag", b"like"),
        )
        empty = [
            (type(record).__name__, name)
            for record in records
            for name, value in msgspec.structs.asdict(record).items()
            if isinstance(value, int) and not value
        ]
        self.assertEqual(
            empty,
            [
                *(
                    ("RegisterState", name)
                    for name in ("z_number", "shift_open", "opened_at", "safe", "last_receipt")
                ),
                *(("LastDocument", name) for name in ("number", "task")),
                ("OfflineMonth", "spent"),
                *(("Offline", name) for name in ("ordinal", "by_itself", "lost", "last", "made")),
                ("UnheardReceipt", "told_at"),
            ],
        )

    def test_opening(self) -> None:
        """A shift begins with its number, the cash of before, and no turnover; a machine says what its cash is."""
        wanted: dict[str, Any] = {
            "next_number": 2,
            "z_number": 4,
            "shift_open": True,
            "opened_at": SEPTEMBER,
            "safe": 1000,
            "last": {"number": 1, "fiscal_number": "F1", "task": 7, "kind": "open"},
            "totals": {"first_docno": 1, "last_docno": 1, "safe_start": 1000},
        }
        state = opened()
        self.assertEqual(plain(state), wanted)
        self.assertEqual(state.shift, 5)
        state.totals.count_p, state.voids = 3, (8, 9)
        self.assertEqual(plain(opened(state)), wanted)
        told = opened(drawer=0)
        self.assertEqual((told.safe, told.totals.safe_start), (0, 0))
        self.assertEqual(told.report().safe, 0)

    def test_money(self) -> None:
        """Each document is counted once, on its own lines; a storno takes it back without a trace on a report."""
        cash = BASKET.pays[0]
        taxes = {
            1: {**GROUPS[1], "base_sum_*": 11, "base_tax_sum_*": 12, "base_ex_sum_*": 13, "tax_sum_*": 14}
            | {"ex_sum_*": 15, "turnover_*": 340},
            2: {**GROUPS[2], "base_sum_*": 21, "tax_sum_*": 24},
        }
        receipt = {
            "count_*": 1,
            "base_*": 326,
            "disc_*": 16,
            "calc_*": 325,
            "last_docno_*": 2,
            "pays": {
                0: {"name": "Готівка", "sum_*": 226, "round_*u": 3, "round_*d": 4},
                2: {"name": "Картка", "sum_*": 100},
            },
            "taxes": taxes,
        }
        money = {0: {"name": "Готівка", "sum_*": 225}, 2: {"name": "Картка", "sum_*": 100}}
        rows: tuple[tuple[str, dict[str, Any], str, dict[str, Any], int], ...] = (
            (documents.SALE, {"receipt": BASKET}, "p", receipt, 225),
            (documents.RETURN, {"receipt": BASKET}, "m", receipt, -225),
            (documents.INCOME, {"receipt": BASKET}, "p", {"money": money}, 225),
            (documents.EXPENSE, {"receipt": BASKET}, "m", {"money": money}, -225),
            (documents.CASH_IN, {"cash": cash}, "p", {"money": {0: {"name": "Готівка", "sum_*": 205}}}, 205),
            (documents.CASH_OUT, {"cash": cash}, "m", {"money": {0: {"name": "Готівка", "sum_*": 205}}}, -205),
            (
                documents.WITHDRAWAL,
                {"cash": Payment(type=2, name="Картка", sum=70)},
                "m",
                {"count_14": 1, "cash": {2: {"name": "Картка", "sum_*": 70}}},
                -70,
            ),
        )
        for kind, content, side, wanted, moved in rows:
            state = opened()
            totals.apply(state, paper(kind, 2, **content), "F2", b"")
            bounds = {"first_docno": 1, "last_docno": 2, "safe_start": 1000}
            self.assertEqual(plain(state.totals), {**bounds, **_on(side, wanted)}, kind)
            self.assertEqual((state.safe, state.last_receipt), (1000 + moved, 2), kind)
            self.assertEqual(state.last, LastDocument(2, "F2", 7, kind))
            self.assertEqual(state.report(), msgspec.structs.replace(state.totals, safe=1000 + moved))
            before = plain(state.totals)
            totals.apply(state, paper(kind, 3, **content), "F3", b"")
            twice = _doubled(before) | {"last_docno": 3} | ({f"last_docno_{side}": 3} if "count_*" in wanted else {})
            self.assertEqual(plain(state.totals), twice, kind)
            for number in (4, 5):
                storno = paper(documents.STORNO, number, **content, reverses=Reversed(kind, number - 2, "F"))
                totals.apply(state, storno, "F", b"")
                left = {name: value for name, value in before.items() if number == 4 or name in bounds}
                left |= {"last_docno": number} | {
                    name: 3 for name in twice if name in ("last_docno_p", "last_docno_m")
                }
                self.assertEqual(plain(state.totals), left, kind)
            self.assertEqual((state.safe, state.last_receipt), (1000, 3), kind)

    def test_end_of_a_shift(self) -> None:
        """On protocol A a document of its own closes the shift after its Z; on protocol B the Z itself does."""
        state = opened()
        totals.apply(state, paper(documents.Z, 2), "F2", b"")
        self.assertEqual((state.shift_open, state.z_number, state.shift), (True, 5, 6))
        totals.apply(state, paper(documents.CLOSE, 3), "F3", b"")
        self.assertEqual((state.shift_open, state.last_receipt, state.next_number), (False, 0, 4))
        state = opened(place=0)
        totals.apply(state, paper(documents.SALE, 2, receipt=BASKET, place=1), "F2", b"")
        self.assertTrue(state.shift_open)
        totals.apply(state, paper(documents.Z, 3, place=2), "F3", b"")
        self.assertEqual((state.shift_open, state.z_number), (False, 5))

    def test_chain(self) -> None:
        """On protocol B each document has the next place and names the one before, and takes its number away."""
        state = opened(RegisterState(session=Session("", "", ("7", "8", "9"))), place=0)
        self.assertEqual((state.local, state.chain), (1, ""))
        totals.apply(state, paper(documents.SALE, 2, receipt=BASKET, place=1), "F2", b"", link="aa")
        self.assertEqual((state.local, state.chain, state.offline_numbers_left), (2, "aa", 3))
        away = paper(documents.OFFLINE_BEGIN, 3, place=2, offline=OfflineMark("8"))
        totals.apply(state, away, "8", b"", link="bb")
        self.assertEqual((state.local, state.chain, state.session), (3, "bb", Session("", "", ("7", "9"))))
        self.assertEqual(state.offline_numbers_left, 2)
        # A question for numbers, with the next document's number, leaves that free and answers with more of them.
        last = plain(state.last)
        more = Session("", "", ("9", "10", "11"))
        totals.apply(state, paper(documents.NUMBERS, 3, place=3), "", b"", more, link="cc")
        self.assertEqual((state.local, state.chain), (3, "cc"))
        self.assertEqual(state.session, Session("", "", ("7", "9", "10", "11")))
        self.assertEqual((plain(state.last), state.totals.last_docno), (last, 3))
        totals.apply(state, paper(documents.CASH_IN, 4, cash=BASKET.pays[0], place=3), "F4", b"", Session("", ""))
        self.assertEqual(state.session, Session("", "", ("7", "9", "10", "11")))
        # What is made offline without any session, as after a restore, has nothing to take a number from.
        bare = opened(place=0, offline=OfflineMark("8"))
        self.assertIs(bare.session, None)
        self.assertEqual(bare.offline_numbers_left, 0)

    def test_away(self) -> None:
        """A session knows its documents, its duration, and the hash that the next one names."""
        lost = LostOnline(31, "fiscal", "tag", b"", b"", b"", b"")
        for source, operation in (("", 0), (BY_ITSELF, 31)):
            state = opened()
            totals.apply(state, paper(documents.SALE, 2, receipt=BASKET), "F2", b"", Session("5", "s"))
            self.assertEqual((state.session, state.offline_numbers_left), (Session("5", "s"), 10_000))
            state.lost = lost if operation else None
            begin = paper(documents.OFFLINE_BEGIN, 3, source=source)
            totals.apply(state, begin, "5.1", b"begin")
            self.assertEqual(
                plain(state.offline),
                {"first": 3, "since": SEPTEMBER + HOUR, "ordinal": 1, "made": SEPTEMBER + HOUR}
                | ({"lost": 31, "by_itself": True} if operation else {}),
            )
            # Who comes home by hand may still send what was lost; what is made again offline is lost no more.
            self.assertEqual(state.lost, lost if operation else None)
            for hours, kind in enumerate((documents.CASH_IN, documents.STORNO, documents.Z, documents.CLOSE), 2):
                content: dict[str, Any] = {"cash": BASKET.pays[0], "reverses": Reversed(documents.CASH_IN, 4, "")}
                at = SEPTEMBER + hours * HOUR
                totals.apply(state, paper(kind, 2 + hours, at=at, **content), "", kind.encode())
                assert state.offline is not None
                self.assertIs(state.lost, None)
                self.assertEqual((state.offline.made, state.offline.ordinal), (at, hours))
                self.assertEqual(state.offline.last, min(at, SEPTEMBER + 4 * HOUR))
                self.assertEqual(state.offline.hash, document_hash(kind.encode()))
            self.assertEqual(state.offline_numbers_left, 9_995)
            state.offline_month = OfflineMonth("202609", 50)
            totals.apply(state, paper(documents.OFFLINE_END, 8), "F8", b"")
            self.assertIs(state.offline, None)
            self.assertEqual(state.offline_month, OfflineMonth("202609", 50 + 3 * HOUR))

    def test_month(self) -> None:
        """Of a session without a receipt nothing counts; another month begins at nothing."""
        september = OfflineMonth("202609", 70)
        self.assertEqual([september.before(at) for at in (SEPTEMBER, SEPTEMBER + 24 * 30 * HOUR)], [70, 0])
        for before, spent in ((september, 70), (OfflineMonth("202608", 70), 0)):
            state = opened()
            state.offline_month = before
            totals.apply(state, paper(documents.OFFLINE_BEGIN, 2), "", b"")
            totals.apply(state, paper(documents.OFFLINE_END, 3), "", b"")
            self.assertEqual(state.offline_month, OfflineMonth("202609", spent))

    def test_together(self) -> None:
        """Several shifts as one: sums are added up, names and rates stay, cash and numbers are from its two ends."""
        reports = []
        for first, kind in ((1, documents.SALE), (11, documents.RETURN), (21, documents.SALE), (31, documents.OPEN)):
            state = RegisterState(z_number=4, safe=first * 1000)
            totals.apply(state, paper(documents.OPEN, first), "", b"")
            totals.apply(state, paper(kind, first + 1, receipt=BASKET), "", b"")
            totals.apply(state, paper(documents.CASH_IN, first + 2, cash=BASKET.pays[0]), "", b"")
            reports.append(state.report())
        whole = totals.together(reports)
        self.assertEqual((whole.first_docno, whole.last_docno), (1, 33))
        self.assertEqual((whole.safe_start, whole.safe), (1000, 31205))
        self.assertEqual((whole.last_docno_p, whole.last_docno_m), (22, 12))
        self.assertEqual((whole.count_p, whole.count_m, whole.calc_p, whole.calc_m), (2, 1, 650, 325))
        self.assertEqual(plain(whole.money), {0: {"name": "Готівка", "sum_p": 820}})
        self.assertEqual(
            plain(whole.taxes)[2],
            {**GROUPS[2], "base_sum_p": 42, "base_sum_m": 21, "tax_sum_p": 48, "tax_sum_m": 24},
        )
        self.assertEqual(totals.together([]), ShiftTotals())


def _on(side: str, wanted: dict[Any, Any]) -> dict[Any, Any]:
    """The members of the side `p` or `m`."""
    return {
        name.replace("*", side) if isinstance(name, str) else name: _on(side, value)
        if isinstance(value, dict)
        else value
        for name, value in wanted.items()
    }


def _doubled(before: dict[Any, Any]) -> dict[Any, Any]:
    """The same with each sum twice."""
    kept = ("first_docno", "safe_start", "tax_percent", "ex_percent")
    return {
        name: _doubled(value)
        if isinstance(value, dict)
        else value * 2
        if isinstance(value, int) and name not in kept
        else value
        for name, value in before.items()
    }


class BeforeTests(SynchronousTestCase):
    """What was true before a document stays as it was: a failure of the store goes back to it."""

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.shop.settings(offline_allowed=True)

    @property
    def books(self) -> Books:
        """Of the register."""
        books: Books = self.shop.built()._books
        return books

    def does(self, task: int, **members: Any) -> None:
        """The task is done; the state of before is the same object with the same content."""
        before, was = self.books.state, totals.encode(self.books.state)
        self.assertEqual(self.shop.fiscal(task, **members)["res"], 0)
        self.assertIsNot(self.books.state, before)
        self.assertNotEqual(totals.encode(self.books.state), was)
        self.assertEqual(totals.encode(before), was)

    def test_every_kind(self) -> None:
        """No document of a day changes the state of before, on lines that are new, known or taken back."""
        card = {"type": 2, "sum": 20, "rrn": "1"}
        moved = {"sum": 30, "pays": [{"type": 0, "sum": 30}]}
        self.does(0)
        for _ in range(2):
            self.does(3, cash={"type": 0, "sum": 500})
            self.does(1, receipt=sale(100.03))
            self.does(1, receipt={**sale(20), "pays": [card]})
            self.does(2, receipt=sale(10.02))
            self.does(4, cash={"type": 0, "sum": 5})
            self.does(14, cash=card)
            self.does(15, receipt=moved)
            self.does(16, receipt=moved)
            self.does(17)
        self.does(1, receipt=sale(100.03))
        self.does(17)
        self.does(11)

    def test_offline(self) -> None:
        """No document made offline changes the state of before."""
        self.does(0)
        self.shop.scenario({"on": "any", "then": "unreachable", "times": 0})
        for _ in range(3):
            self.does(1, receipt=sale(20))
        self.assertTrue(self.books.state.offline)
        self.does(11)

    def test_copy(self) -> None:
        """A copy is equal to what it was made of, also after it was stored."""
        self.does(0)
        self.does(1, receipt=sale(20))
        copy = self.books.state.copy()
        self.assertEqual(copy, self.books.state)
        self.assertEqual(totals.decode(totals.encode(copy)), copy)
