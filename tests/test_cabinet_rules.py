"""The rules of the simulated cabinet's server for the next document of a register, each from both sides."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.cabinet.messages import Status
from protocols.fiscal.kinds import Kind
from protocols.simulators.cabinet_rules import (
    ALREADY_OPEN,
    ELSEWHERE,
    ID_ONLINE,
    MOST_RESERVED,
    NO_ID_IN_MAC,
    NUMBERS,
    ONE_SIGNER,
    RESERVED,
    CabinetStanding,
    Claim,
    Outcome,
    Refusal,
    Signer,
    short_text,
)
from protocols.simulators.fiscal_register import Operator, Registration

START = datetime(2026, 9, 21, 9)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ANNA, BORYS, CHIEF, STRANGER = Signer("aa", "Anna"), Signer("bb", "Borys"), Signer("cc", "Chief"), Signer("dd")
REGISTER = Registration(
    4_000_000_001, operators=(Operator("aa", "Anna"), Operator("bb", "Borys"), Operator("cc", "Chief", chief=True))
)


class Till:
    """Makes the next document by the rules, and hands it in."""

    def __init__(self, registration: Registration = REGISTER) -> None:
        self.server = CabinetStanding(registration)
        self.now, self.count, self.offline = START, 0, False
        self.numbers: list[str] = []

    def next(self, kind: str, **changes: Any) -> Claim:
        """The next document of the ``kind``, with ``changes``."""
        server = self.server
        self.count += 1
        claim = Claim(
            kind,
            0 if kind == Kind.OPEN else server.next_local,
            self.now,
            f"{self.count:064x}",
            server.tip,
            self.numbers[0] if self.offline and self.numbers and kind != NUMBERS else "",
            amount=5_000 if kind == Kind.SALE else 0,
            z=server.z + 1 if kind == Kind.Z else 0,
        )
        return msgspec.structs.replace(claim, **changes)

    def judge(self, kind: str, signer: Signer = ANNA, elsewhere: bool = False, **changes: Any) -> Refusal | None:
        """What the server says to the next document with ``changes``."""
        return self.server.judge(self.next(kind, **changes), signer, self.now, elsewhere)

    def hand_in(self, kind: str, signer: Signer = ANNA, **changes: Any) -> Outcome:
        """Hand in the next document, which the server has to accept."""
        claim = self.next(kind, **changes)
        refusal = self.server.judge(claim, signer, self.now)
        if refusal is not None:
            raise AssertionError(refusal)
        outcome = self.server.take(claim, claim.hash.encode(), signer, self.now)
        if claim.id:
            self.numbers.remove(claim.id)
        if kind == NUMBERS:
            self.numbers = list(outcome.numbers)
        return outcome

    def go_offline(self) -> None:
        """Reserve numbers, and hand in the opening document of an offline session."""
        if not self.numbers:
            self.hand_in(NUMBERS)
        self.offline = True
        self.hand_in(Kind.OFFLINE_BEGIN)

    def come_back(self) -> None:
        """End the offline session."""
        self.hand_in(Kind.OFFLINE_END)
        self.offline = False


class CabinetTestCase(SynchronousTestCase):
    """A till, and what its server says."""

    def setUp(self) -> None:
        self.till = Till()
        self.server = self.till.server

    def assertRefused(self, refusal: Refusal | None, status: Status, text: str = "") -> None:
        """Check status and text of a refusal."""
        assert refusal is not None, "the server accepts it"
        self.assertEqual(refusal.status, status)
        self.assertIn(text, refusal.text)


class ShiftTests(CabinetTestCase):
    """Opening a shift, its documents and its Z-report."""

    def test_a_day(self) -> None:
        """A shift's documents count from 0, and the Z-report closes the shift."""
        till = self.till
        kinds = [Kind.OPEN, Kind.CASH_IN, Kind.SALE, Kind.RETURN, Kind.WITHDRAWAL, Kind.CASH_OUT, Kind.Z]
        locals = [till.hand_in(kind).stored.claim.local for kind in kinds]
        self.assertEqual(locals, [0, 1, 2, 3, 4, 5, 6])
        self.assertIsNone(self.server.shift)
        self.assertEqual(till.hand_in(Kind.OPEN).stored.claim.local, 0)

    def test_a_receipt_needs_an_open_shift(self) -> None:
        """Receipts and Z-reports are refused before the opening and after the Z-report."""
        till = self.till
        for kind in (Kind.SALE, Kind.CASH_IN, Kind.Z):
            self.assertRefused(till.judge(kind), Status.ERROR_NOT_OPEN_SHIFT)
        till.hand_in(Kind.OPEN)
        self.assertIsNone(till.judge(Kind.SALE))
        till.hand_in(Kind.Z)
        for kind in (Kind.SALE, Kind.CASH_IN, Kind.Z):
            self.assertRefused(till.judge(kind), Status.ERROR_NOT_OPEN_SHIFT)

    def test_only_one_opening(self) -> None:
        """A second opening is refused in the words of the real server."""
        self.till.hand_in(Kind.OPEN)
        self.assertRefused(self.till.judge(Kind.OPEN), Status.ERROR_CHECK, ALREADY_OPEN)

    def test_one_shift_of_a_key(self) -> None:
        """A key with an open shift on another register opens none here; its other documents are accepted."""
        self.assertRefused(self.till.judge(Kind.OPEN, elsewhere=True), Status.ERROR_CHECK, ELSEWHERE)
        self.till.hand_in(Kind.OPEN)
        self.assertIsNone(self.till.judge(Kind.SALE, elsewhere=True))

    def test_one_signer_of_a_shift(self) -> None:
        """The key that opened the shift signs its documents; no other one does, a senior's neither."""
        self.till.hand_in(Kind.OPEN)
        for kind in (Kind.SALE, Kind.CASH_OUT):
            self.assertIsNone(self.till.judge(kind, ANNA))
            for other in (BORYS, CHIEF):
                self.assertRefused(self.till.judge(kind, other), Status.ERROR_CHECK, ONE_SIGNER)

    def test_a_senior_closes(self) -> None:
        """A senior's key signs the Z-report of another key's shift; another cashier's does not."""
        self.till.hand_in(Kind.OPEN)
        self.assertRefused(self.till.judge(Kind.Z, BORYS), Status.ERROR_CHECK, ONE_SIGNER)
        self.till.hand_in(Kind.Z, CHIEF)
        self.assertIsNone(self.till.judge(Kind.OPEN, BORYS))

    def test_registered_signers(self) -> None:
        """A key that is not registered signs nothing; without registered keys every key signs everything."""
        self.assertRefused(self.till.judge(Kind.OPEN, STRANGER), Status.ERROR_NOT_REGISTERED_SIGNER, "dd")
        free = Till(replace(REGISTER, operators=()))
        free.hand_in(Kind.OPEN, STRANGER)
        self.assertIsNone(free.judge(Kind.Z, ANNA))

    def test_z_reports_have_no_gap(self) -> None:
        """A Z-report has the number after that of the last one."""
        self.till.hand_in(Kind.OPEN)
        self.assertRefused(self.till.judge(Kind.Z, z=2), Status.ERROR_NOT_PREV_ZREPORT)
        self.till.hand_in(Kind.Z, z=1)
        self.till.hand_in(Kind.OPEN)
        for number in (1, 3):
            self.assertRefused(self.till.judge(Kind.Z, z=number), Status.ERROR_NOT_PREV_ZREPORT)
        self.assertIsNone(self.till.judge(Kind.Z, z=2))


class OrderTests(CabinetTestCase):
    """Local numbers, the chain of hashes and the time."""

    def test_local_numbers_have_no_gap(self) -> None:
        """The number that was used is refused, and so is the one after the next."""
        self.assertRefused(self.till.judge(Kind.OPEN, local=1), Status.ERROR_CHECK, "local number 1, 0 is expected")
        self.till.hand_in(Kind.OPEN)
        self.till.hand_in(Kind.SALE)
        for local in (1, 3):
            self.assertRefused(self.till.judge(Kind.SALE, local=local), Status.ERROR_CHECK, "2 is expected")
        self.assertIsNone(self.till.judge(Kind.SALE, local=2))

    def test_the_chain(self) -> None:
        """Each document repeats the hash of the one before, the first one none; a refusal names both hashes."""
        claim = self.till.next(Kind.OPEN)
        self.assertEqual(claim.previous, "")
        self.assertRefused(
            self.till.judge(Kind.OPEN, previous="ab"),
            Status.ERROR_BAD_HASH_PREV,
            "ERROR_BAD_HASH_PREV  store  chk ab",
        )
        opened = self.till.hand_in(Kind.OPEN).stored.claim.hash
        text = f"ERROR_BAD_HASH_PREV  store {opened} chk "
        self.assertRefused(self.till.judge(Kind.SALE, previous=""), Status.ERROR_BAD_HASH_PREV, text)
        self.assertIsNone(self.till.judge(Kind.SALE, previous=opened))

    def test_the_time(self) -> None:
        """An online document is at most half an hour from the server's time, in both directions."""
        for half in (timedelta(minutes=30), timedelta(minutes=-30)):
            step = SECOND if half > timedelta() else -SECOND
            self.assertIsNone(self.till.judge(Kind.OPEN, issued=START + half))
            self.assertRefused(self.till.judge(Kind.OPEN, issued=START + half + step), Status.ERROR_XML_DATE)

    def test_content(self) -> None:
        """Wrong content has the status of a receipt, or that of a Z-report."""
        for kind, status in ((Kind.SALE, Status.ERROR_XML_CHK), (Kind.Z, Status.ERROR_XML_ZREPORT)):
            till = Till()
            till.hand_in(Kind.OPEN)
            refusal = till.server.judge(till.next(kind), ANNA, till.now, content=lambda: ["a wrong sum"])
            self.assertRefused(refusal, status, "a wrong sum")

    def test_numbers_are_short_texts(self) -> None:
        """Fiscal numbers are eleven letters and digits, and no two are equal."""
        till = self.till
        found = [till.hand_in(Kind.OPEN).stored.number, *(till.hand_in(Kind.SALE).stored.number for _ in range(300))]
        self.assertEqual(len(set(found)), 301)
        for number in found:
            self.assertTrue(len(number) == 11 and number.isascii() and number.isalnum(), number)
        self.assertEqual(short_text("a"), short_text("a"))


class ReservedTests(CabinetTestCase):
    """Requests for numbers."""

    def test_how_many(self) -> None:
        """A request that does not say how many gets 150; one that does gets so many, within limits."""
        self.assertEqual(len(set(self.till.hand_in(NUMBERS).numbers)), RESERVED)
        self.assertEqual(len(Till().hand_in(NUMBERS, size=1).numbers), 1)
        self.assertEqual(len(Till().hand_in(NUMBERS, size=MOST_RESERVED).numbers), MOST_RESERVED)
        for size in (0, -1, MOST_RESERVED + 1):
            self.assertRefused(self.till.judge(NUMBERS, size=size), Status.ERROR_XML_CHK)

    def test_a_lost_answer_burns_nothing(self) -> None:
        """A second request gets the numbers of the first one that have no document."""
        first = self.till.hand_in(NUMBERS, size=5).numbers
        self.assertEqual(self.till.hand_in(NUMBERS, size=5).numbers, first)
        self.assertEqual(self.till.hand_in(NUMBERS, size=3).numbers, first[:3])
        self.till.numbers = list(first)
        self.till.offline = True
        self.till.hand_in(Kind.OFFLINE_BEGIN)
        again = self.till.hand_in(NUMBERS, size=5).numbers
        self.assertEqual(again[:4], first[1:])
        self.assertNotIn(again[4], first)
        self.assertEqual(tuple(self.server.reserved), again)

    def test_moves_the_chain_only(self) -> None:
        """A request is a link of the chain, uses up no local number and needs none."""
        self.till.hand_in(Kind.OPEN)
        hash = self.till.hand_in(NUMBERS, local=1).stored.claim.hash
        self.assertEqual((self.server.tip, self.server.next_local), (hash, 1))
        self.till.hand_in(NUMBERS, local=0)
        self.assertIsNone(self.till.judge(Kind.SALE, local=1))

    def test_offline_not_allowed(self) -> None:
        """A register without the right to work offline gets no numbers."""
        till = Till(replace(REGISTER, offline_allowed=False))
        self.assertRefused(till.judge(NUMBERS), Status.ERROR_TYPE)
        self.assertIsNone(till.judge(Kind.OPEN))


class OfflineTests(CabinetTestCase):
    """Documents that were made offline."""

    def setUp(self) -> None:
        super().setUp()
        self.till.hand_in(Kind.OPEN)
        self.till.hand_in(NUMBERS)

    def test_a_session(self) -> None:
        """A session has an opening document, content of any kind, another shift too, and a closing document."""
        till = self.till
        till.go_offline()
        self.assertFalse(self.server.online)
        for kind in (Kind.SALE, Kind.Z, Kind.OPEN, Kind.RETURN):
            reserved = till.numbers[0]
            self.assertEqual(till.hand_in(kind).stored.number, reserved)
        till.come_back()
        self.assertTrue(self.server.online)
        self.assertIsNone(till.judge(Kind.SALE))

    def test_needs_its_opening(self) -> None:
        """A document with a reserved number is refused while the register is online."""
        self.till.offline = True
        for kind in (Kind.SALE, Kind.OFFLINE_END):
            self.assertRefused(self.till.judge(kind), Status.ERROR_TYPE, ID_ONLINE)
        self.till.hand_in(Kind.OFFLINE_BEGIN)
        self.assertRefused(self.till.judge(Kind.OFFLINE_BEGIN), Status.ERROR_TYPE)
        self.assertIsNone(self.till.judge(Kind.SALE))

    def test_needs_a_reserved_number(self) -> None:
        """Online documents are refused within a session, as are unknown and used numbers."""
        used = self.till.numbers[0]
        self.till.go_offline()
        for number in ("", "abc", used):
            self.assertRefused(self.till.judge(Kind.SALE, id=number), Status.ERROR_OFFLINE_ID)
        for kind in (Kind.OFFLINE_BEGIN, Kind.OFFLINE_END):
            self.assertRefused(self.till.judge(kind, id=""), Status.ERROR_XML_CHK, NO_ID_IN_MAC)
        self.assertIsNone(self.till.judge(Kind.SALE))

    def test_numbers_in_any_order(self) -> None:
        """Reserved numbers may be used in any order."""
        self.till.go_offline()
        self.till.hand_in(Kind.SALE, id=self.till.numbers[7])
        self.assertIsNone(self.till.judge(Kind.SALE, id=self.till.numbers[0]))

    def test_numbers_are_asked_for_online(self) -> None:
        """A request for numbers has none itself; a till without numbers for its closing document gets some."""
        self.till.go_offline()
        self.assertRefused(self.till.judge(NUMBERS, id=self.till.numbers[0]), Status.ERROR_TYPE, ID_ONLINE)
        self.assertIsNone(self.till.judge(NUMBERS))

    def test_time_does_not_go_back(self) -> None:
        """Documents of a session may be old, but not older than the one before, and not of the future."""
        till = self.till
        self.till.now += 20 * HOUR
        begun = START + HOUR
        till.offline = True
        till.hand_in(Kind.OFFLINE_BEGIN, issued=begun)
        self.assertRefused(till.judge(Kind.SALE, issued=begun - SECOND), Status.ERROR_XML_DATE)
        self.assertIsNone(till.judge(Kind.SALE, issued=begun))
        limit = self.till.now + 30 * MINUTE
        self.assertIsNone(till.judge(Kind.SALE, issued=limit))
        self.assertRefused(till.judge(Kind.SALE, issued=limit + SECOND), Status.ERROR_XML_DATE)

    def test_not_allowed(self) -> None:
        """A register that lost the right to work offline begins no session."""
        self.till.offline = True
        self.assertIsNone(self.till.judge(Kind.OFFLINE_BEGIN))
        self.server.registration = replace(REGISTER, offline_allowed=False)
        self.assertRefused(self.till.judge(Kind.OFFLINE_BEGIN), Status.ERROR_TYPE)

    def test_between_shifts(self) -> None:
        """A session needs no shift, and takes the numbers after the Z-report."""
        self.till.hand_in(Kind.Z)
        local = self.server.next_local
        self.till.go_offline()
        self.till.come_back()
        self.assertEqual(self.server.next_local, local + 2)
        self.assertIsNone(self.till.judge(Kind.OPEN))


class LongOfflineTests(CabinetTestCase):
    """36 hours at a time, 168 hours a month."""

    def setUp(self) -> None:
        super().setUp()
        self.till.hand_in(Kind.OPEN)

    def away(self, duration: timedelta) -> None:
        """A session whose last receipt is ``duration`` after its opening document."""
        self.till.go_offline()
        self.till.now += duration
        self.till.hand_in(Kind.SALE)
        self.till.now += HOUR
        self.till.come_back()

    def test_36_hours(self) -> None:
        """36 hours from the opening document to the last receipt are allowed; the closing one does not count."""
        self.away(36 * HOUR)
        self.assertIsNone(self.till.judge(Kind.SALE))
        self.away(36 * HOUR + SECOND)
        self.assertRefused(self.till.judge(Kind.SALE), Status.ERROR_OFFLINE_168)

    def test_168_hours(self) -> None:
        """168 hours in a month are allowed, and not one second more."""
        for _ in range(6):
            self.away(28 * HOUR)
        self.assertIsNone(self.till.judge(Kind.SALE))
        self.away(SECOND)
        self.assertRefused(self.till.judge(Kind.SALE), Status.ERROR_OFFLINE_168)

    def test_a_new_month(self) -> None:
        """A block ends at the beginning of the month, and the hours start from zero."""
        self.away(37 * HOUR)
        october = datetime(2026, 10, 1)
        self.till.now = october - SECOND
        for kind in (Kind.SALE, NUMBERS):
            self.assertRefused(self.till.judge(kind), Status.ERROR_OFFLINE_168)
        self.till.now = october
        self.assertIsNone(self.till.judge(Kind.SALE))
        for _ in range(6):
            self.away(28 * HOUR)
        self.assertIsNone(self.till.judge(Kind.SALE))

    def test_a_session_over_the_end_of_a_month(self) -> None:
        """A session counts in the month in which it began."""
        self.till.now = datetime(2026, 9, 30, 12)
        self.away(36 * HOUR)
        for _ in range(6):
            self.away(28 * HOUR)
        self.assertIsNone(self.till.judge(Kind.SALE))


class LostAnswerTests(CabinetTestCase):
    """Receipts that were registered although no answer came."""

    def setUp(self) -> None:
        super().setUp()
        self.till.hand_in(Kind.OPEN)
        self.till.hand_in(NUMBERS)
        self.lost = self.till.hand_in(Kind.SALE).stored

    def test_made_again_offline(self) -> None:
        """The same receipt, made again offline, replaces its online copy and takes no further number."""
        self.till.go_offline()
        claim = self.lost.claim
        again = self.till.hand_in(Kind.SALE, local=claim.local, amount=claim.amount, issued=claim.issued)
        self.assertIs(again.cancelled, self.lost)
        self.assertIsNone(self.till.judge(Kind.SALE, local=3))

    def test_other_receipts_do_not_replace(self) -> None:
        """Another sum, time or kind is another receipt, whose local number is taken already."""
        self.till.go_offline()
        local = self.lost.claim.local
        for kind, changes in (
            (Kind.SALE, {"amount": 4_999}),
            (Kind.SALE, {"issued": START + SECOND}),
            (Kind.RETURN, {"amount": 5_000}),
        ):
            refusal = self.till.judge(kind, local=local, **changes)
            self.assertRefused(refusal, Status.ERROR_CHECK, "is expected")

    def test_only_the_first_of_a_session_replaces(self) -> None:
        """After another receipt of the session the online copy stays."""
        self.till.go_offline()
        self.till.hand_in(Kind.SALE)
        self.assertRefused(self.till.judge(Kind.SALE, local=self.lost.claim.local), Status.ERROR_CHECK)

    def test_deleted(self) -> None:
        """The last sale can be deleted: hash and local number are those before it."""
        server, claim = self.server, self.lost.claim
        self.assertIsNone(server.judge_deletion(ANNA, self.lost.number, START))
        self.assertIsNone(server.judge_deletion(ANNA, None, START))
        self.assertIs(server.delete(), self.lost)
        self.assertEqual((server.tip, server.next_local), (claim.previous, claim.local))
        self.till.go_offline()
        self.assertIsNone(self.till.judge(Kind.SALE))

    def test_deleted_once(self) -> None:
        """A second deletion needs another sale first."""
        self.till.hand_in(Kind.SALE)
        self.server.delete()
        self.assertRefused(self.server.judge_deletion(ANNA, None, START), Status.ERROR_CHECK)
        self.till.hand_in(Kind.SALE)
        self.assertIsNone(self.server.judge_deletion(ANNA, None, START))

    def test_only_a_sale_is_deleted(self) -> None:
        """Neither other documents nor a sale before another document are deleted."""
        for kind in (Kind.RETURN, Kind.CASH_IN, NUMBERS, Kind.Z):
            self.till.hand_in(kind)
            self.assertRefused(self.server.judge_deletion(ANNA, None, START), Status.ERROR_CHECK, "only a sale")

    def test_no_offline_document_is_deleted(self) -> None:
        """A sale that was made offline stays."""
        self.till.go_offline()
        self.till.hand_in(Kind.SALE)
        self.assertRefused(self.server.judge_deletion(ANNA, None, START), Status.ERROR_CHECK, "only a sale")

    def test_deleted_by_its_number(self) -> None:
        """A request with the number of another document deletes nothing."""
        self.assertRefused(self.server.judge_deletion(ANNA, "abc", START), Status.ERROR_CHECK, self.lost.number)

    def test_who_deletes(self) -> None:
        """The signer of the shift deletes; others and blocked registers do not."""
        self.assertRefused(self.server.judge_deletion(BORYS, None, START), Status.ERROR_CHECK, ONE_SIGNER)
        self.assertRefused(self.server.judge_deletion(STRANGER, None, START), Status.ERROR_NOT_REGISTERED_SIGNER)
        self.server.block(START)
        self.assertRefused(self.server.judge_deletion(ANNA, None, START), Status.ERROR_OFFLINE_168)

    def test_an_empty_register(self) -> None:
        """A register without documents has nothing to delete."""
        self.assertRefused(Till().server.judge_deletion(ANNA, None, START), Status.ERROR_CHECK)
