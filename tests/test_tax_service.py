"""The simulated tax service: its rules, their order, and what it still knows after a restart."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.offline import control_number, document_hash, fiscal_number
from protocols.simulators.tax_service import Paper, Places, TaxService, Ticket
from tests.shop import Shop, sale

REGISTER = "4000000007"

ALREADY_OPENED, NOT_OPENED, LAST_MUST_BE_Z, WRONG_NUMBER, Z_REGISTERED, INVALID, PACKAGE = 4, 5, 6, 7, 8, 9, 10
UNKNOWN_REGISTER = 1
"""Error codes of protocol A, as the tax service publishes them."""


START = datetime(2026, 9, 21, 9, tzinfo=ZoneInfo("Europe/Kyiv")).timestamp()
"""When the papers here were written."""


OLD_LEDGER = """\
{"n":1,"kind":"open","status":"accepted","number":"TEST_400000000700000001","sum":0,"ref":"1","dt":"20260901090000"}
{"n":2,"kind":"offline_begin","status":"accepted","number":"000007000.1.5","sum":0,"ref":"2","dt":"20260901090001",\
"hash":"aa"}
{"n":3,"kind":"sale","status":"accepted","number":"000007000.2.7","sum":100,"ref":"3","dt":"20260904090000",\
"hash":"bb"}
{"n":4,"kind":"offline_end","status":"accepted","number":"000007000.3.9","sum":0,"ref":"4","dt":"20260904090000",\
"hash":"cc"}
{"n":5,"kind":"sale","status":"accepted","number":"TEST_400000000700000005","sum":1,"ref":"5","dt":"20260904090100"}
{"n":6,"kind":"return","status":"accepted","number":"TEST_400000000700000006","sum":1,"ref":"6","dt":"20260904090100"}
{"n":7,"kind":"storno","status":"accepted","number":"TEST_400000000700000007","sum":0,\
"ref":"TEST_400000000700000006","dt":"20260904090100"}
"""
"""A ledger as the first versions wrote it; its session of three days was taken without a word."""


def paper(kind: str, number: int, amount: int = 0) -> Paper:
    """A document of the register."""
    return Paper(REGISTER, kind, number, amount, "20260921090000")


class _WithService(SynchronousTestCase):
    """A tax service with its ledger in a file."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute() / "till.ledger"
        self.service = self.started()

    def started(self) -> TaxService:
        """The service as it starts on the ledger."""
        service = TaxService(REGISTER, lambda: START, self.path)
        self.addCleanup(service.close)
        return service

    def restart(self) -> None:
        """Stop the service and start it again."""
        self.service.close()
        self.service = self.started()

    def hand_in(self, *kinds: str) -> None:
        """Documents with the numbers that are due, which must be taken."""
        for kind in kinds:
            self.next = getattr(self, "next", 0) + 1
            self.assertEqual(self.code(kind, self.next), 0, kind)

    def code(self, kind: str, number: int, amount: int = 0) -> int:
        """The code that answers a document."""
        return self.service.submit(paper(kind, number, amount)).code

    def told(self) -> list[tuple[int, str, str, str]]:
        """The entries as people see them: number, kind, status, local number."""
        return [(entry.n, entry.kind, entry.status, entry.ref) for entry in self.service.entries()]


class AcceptedTests(_WithService):
    """What is right is taken."""

    def test_whole_day(self) -> None:
        """A day from opening to closing is taken, and the next one too."""
        day = ("open", "cash_in", "sale", "return", "cash_out", "sale", "z", "close")
        self.hand_in(*day, *day)
        self.assertEqual(len(self.service.entries()), 14)

    def test_ticket(self) -> None:
        """A ticket has the code 0 and a number of its own for each document, marked as a test."""
        opened = self.service.submit(paper("open", 1))
        self.assertEqual((opened.code, opened.number, opened.text), (0, "TEST_400000000700000001", ""))
        self.assertEqual(self.service.submit(paper("sale", 2)), Ticket(code=0, number="TEST_400000000700000002"))

    def test_entry(self) -> None:
        """What was taken is in the ledger with amount, numbers and time."""
        self.hand_in("open")
        self.service.submit(paper("sale", 2, 12550))
        entry = self.service.entries()[1]
        self.assertEqual(
            (entry.n, entry.kind, entry.status, entry.number, entry.sum, entry.ref, entry.dt),
            (2, "sale", "accepted", "TEST_400000000700000002", 12550, "2", "20260921090000"),
        )

    def test_z_in_an_empty_shift(self) -> None:
        """A shift without receipts ends with a Z like any other."""
        self.hand_in("open", "z", "close", "open")

    def test_nothing_for_nothing(self) -> None:
        """A receipt over nothing is taken."""
        self.hand_in("open")
        self.assertEqual(self.code("sale", 2, 0), 0)


class RulesTests(_WithService):
    """What is wrong is refused, with the code of the first rule that it breaks."""

    def test_first_number(self) -> None:
        """The first document of a register has the number 1."""
        for number in (0, 2, -1):
            self.assertEqual(self.code("open", number), WRONG_NUMBER)
        self.assertEqual(self.code("open", 1), 0)

    def test_number_again(self) -> None:
        """A number that was used is refused."""
        self.hand_in("open", "sale")
        self.assertEqual([self.code("sale", number) for number in (1, 2)], [WRONG_NUMBER] * 2)

    def test_number_left_out(self) -> None:
        """A number that is not due is refused, and the text has the one that is."""
        self.hand_in("open", "sale")
        ticket = self.service.submit(paper("sale", 4))
        self.assertEqual((ticket.code, ticket.number), (WRONG_NUMBER, ""))
        self.assertTrue(ticket.text.endswith(" 3"), ticket.text)

    def test_refused_number_is_free(self) -> None:
        """A document that was refused has not used up its number."""
        self.hand_in("open")
        self.assertEqual(self.code("sale", 2, -1), INVALID)
        self.assertEqual(self.code("sale", 2, 1), 0)

    def test_opened_twice(self) -> None:
        """An open shift is not opened again, not even after its Z."""
        self.hand_in("open")
        self.assertEqual(self.code("open", 2), ALREADY_OPENED)
        self.hand_in("z")
        self.assertEqual(self.code("open", 3), ALREADY_OPENED)

    def test_closed(self) -> None:
        """Without an open shift only an opening is taken."""
        for kind in ("sale", "return", "cash_in", "cash_out", "z", "close"):
            self.assertEqual(self.code(kind, 1), NOT_OPENED, kind)
        self.hand_in("open", "z", "close")
        for kind in ("sale", "return", "cash_in", "cash_out", "z", "close"):
            self.assertEqual(self.code(kind, 4), NOT_OPENED, kind)

    def test_closing_without_z(self) -> None:
        """A shift is closed directly after its Z and not otherwise."""
        self.hand_in("open")
        self.assertEqual(self.code("close", 2), LAST_MUST_BE_Z)
        self.hand_in("sale")
        self.assertEqual(self.code("close", 3), LAST_MUST_BE_Z)

    def test_after_the_z(self) -> None:
        """After a Z the shift takes nothing but its closing."""
        self.hand_in("open", "z")
        for kind in ("z", "sale", "return", "cash_in", "cash_out"):
            self.assertEqual(self.code(kind, 3), Z_REGISTERED, kind)
        self.assertEqual(self.code("close", 3), 0)

    def test_negative(self) -> None:
        """A document with a negative amount is refused."""
        self.hand_in("open")
        self.assertEqual(self.code("sale", 2, -1), INVALID)

    def test_number_before_shift(self) -> None:
        """A wrong number is reported before a wrong shift."""
        self.assertEqual(self.code("sale", 2, -1), WRONG_NUMBER)
        self.hand_in("open")
        self.assertEqual(self.code("open", 3), WRONG_NUMBER)

    def test_shift_before_z(self) -> None:
        """A wrong shift is reported before a missing or a second Z."""
        self.assertEqual(self.code("close", 1), NOT_OPENED)
        self.hand_in("open", "z", "close")
        self.assertEqual(self.code("z", 4), NOT_OPENED)

    def test_z_before_amount(self) -> None:
        """A missing or a second Z is reported before a wrong amount."""
        self.hand_in("open")
        self.assertEqual(self.code("close", 2, -1), LAST_MUST_BE_Z)
        self.hand_in("z")
        self.assertEqual(self.code("sale", 3, -1), Z_REGISTERED)

    def test_refused_entry(self) -> None:
        """What was refused is in the ledger, without a fiscal number."""
        self.hand_in("open")
        self.service.submit(paper("sale", 7, 300))
        entry = self.service.entries()[1]
        self.assertEqual(
            (entry.kind, entry.status, entry.number, entry.sum, entry.ref), ("sale", "refused", "", 300, "7")
        )

    def test_refused_at_will(self) -> None:
        """What is right can be refused with any code, and leaves everything as it was."""
        self.hand_in("open")
        self.assertEqual(self.service.refuse(paper("sale", 2), 12, "підпис"), Ticket(12, "", "підпис"))
        self.assertEqual(self.told()[1:], [(2, "sale", "refused", "2")])
        self.assertEqual(self.code("sale", 2), 0)


class OfflineTests(_WithService):
    """Documents that were made offline, and are handed in as a package."""

    def setUp(self) -> None:
        """An open shift, and the session that came with it."""
        super().setUp()
        self.granted(self.service.submit(paper("open", 1)))

    def granted(self, ticket: Ticket) -> None:
        """Go by the session of ``ticket`` from now on."""
        self.assertTrue(ticket.session and ticket.seed)
        self.session, self.seed = ticket.session, ticket.seed
        self.ordinal, self.hash = 0, ""

    def made(self, kind: str, number: int, amount: int | None = None) -> bytes:
        """The next document of the session, numbered as registers do it."""
        self.ordinal += 1
        total = "" if amount is None else f"{amount // 100}.{amount % 100:02d}"
        control = control_number(self.seed, "21092026", "090000", number, REGISTER, "1", total, self.hash)
        sent = msgspec.json.encode(
            msgspec.structs.replace(
                paper(kind, number, amount or 0),
                offline=fiscal_number(self.session, self.ordinal, control),
                hash=self.hash,
                has_total=amount is not None,
            )
        )
        self.hash = "" if kind == "offline_begin" else document_hash(sent)
        return sent

    def package(self) -> list[bytes]:
        """A whole session with two receipts."""
        return [
            *(self.made("offline_begin", 2), self.made("sale", 3, 1050), self.made("cash_in", 4, 5)),
            self.made("offline_end", 5),
        ]

    def changed(self, sent: bytes, **members: str) -> bytes:
        """A document with other members than its register gave it."""
        return msgspec.json.encode(msgspec.structs.replace(msgspec.json.decode(sent, type=Paper), **members))

    def test_session(self) -> None:
        """A session comes with an opening, again when the opening is looked up, and is the same after a restart."""
        opened = self.service.look_up(1)
        assert opened is not None
        self.assertEqual((opened.session, opened.seed), (self.session, self.seed))
        self.restart()
        self.assertEqual(self.service.look_up(1), opened)

    def test_taken(self) -> None:
        """A package is taken with the numbers that the register gave; begin and end are no entries."""
        self.assertEqual(self.service.take_package(self.package()).code, 0)
        self.assertEqual(self.told()[1:], [(2, "sale", "accepted", "3"), (3, "cash_in", "accepted", "4")])
        sold = self.service.entries()[1]
        self.assertEqual((sold.sum, sold.number.split(".")[:2]), (1050, [self.session, "2"]))
        self.assertEqual(self.service.look_up(3), Ticket(code=0, number=sold.number))
        self.assertEqual(self.code("sale", 6), 0)

    def test_next_session(self) -> None:
        """The end of a session grants another one, by which the next package is taken, after a restart too."""
        first = self.session
        self.granted(self.service.take_package(self.package()))
        self.assertNotEqual(self.session, first)
        self.restart()
        again = [self.made("offline_begin", 6), self.made("sale", 7, 100), self.made("offline_end", 8)]
        self.assertEqual(self.service.take_package(again).code, 0)

    def test_again(self) -> None:
        """A package that is handed in again, also cut otherwise and after a restart, is taken once."""
        sent = self.package()
        for package in (sent[:2], sent[:3], sent[1:3], sent, sent):
            self.assertEqual(self.service.take_package(package).code, 0)
            self.restart()
        self.assertEqual([kind for _, kind, _, _ in self.told()], ["open", "sale", "cash_in"])

    def test_all_or_none(self) -> None:
        """A package with one wrong document is refused whole, the document is named, and nothing stays of it."""
        sent = self.package()
        ticket = self.service.take_package([*sent[:3], self.changed(sent[3], hash="0" * 64)])
        self.assertEqual((ticket.code, ticket.number), (PACKAGE, ""))
        self.assertIn("за № 4 в пакеті", ticket.text)
        self.assertEqual(len(self.service.entries()), 1)
        self.assertEqual(self.service.take_package(sent).code, 0)

    def test_wrong(self) -> None:
        """Begin, number, hash and control number of each document have to be right, and the rules hold for each."""
        begin, sold, put, end = self.package()
        other = self.changed(sold, offline=f"{self.session}.2.0")
        self.granted(Ticket(0, "", "", self.session, self.seed))
        closing = [self.made("offline_begin", 2), self.made("close", 3)]
        for package in ([sold, put, end], [begin, begin], [begin, put, end], [begin, put, sold, end]):
            self.assertEqual(self.service.take_package(package).code, WRONG_NUMBER)
            self.assertEqual(len(self.service.entries()), 1)
        for package in (
            *([begin, self.changed(sold, hash="0" * 64)], [self.changed(begin, kind="sale")], closing),
            *([begin, other], [begin, b"{"], [begin, self.changed(sold, dt="today")], []),
            [begin, self.changed(sold, register="4000000008")],
        ):
            self.assertEqual(self.service.take_package(package).code, PACKAGE, package)
            self.assertEqual(len(self.service.entries()), 1)

    def test_another_document(self) -> None:
        """A package that holds another document under a number that was taken is refused."""
        sent = self.package()
        self.assertEqual(self.service.take_package(sent[:2]).code, 0)
        foreign = self.changed(sent[1], offline=f"{self.session}.2.0")
        self.assertEqual(self.service.take_package([sent[0], foreign, *sent[2:]]).code, WRONG_NUMBER)

    def test_ahead_of_time(self) -> None:
        """The clock of training may have been set back since: a package may be ahead of it, alone nothing may."""
        begin, sold = self.made("offline_begin", 2), self.made("sale", 3, 100)
        self.service.close()
        self.service = TaxService(REGISTER, lambda: START - 10 * 24 * 3600, self.path)
        self.addCleanup(self.service.close)
        self.assertEqual(self.service.take_package([begin, sold]).code, 0)
        self.granted(self.service.take_package([self.made("offline_end", 4)]))
        self.assertEqual(self.code("sale", 5), INVALID)

    def test_handed_in_alone(self) -> None:
        """A document that was made offline is not taken outside of a package."""
        self.made("offline_begin", 2)
        sold = msgspec.json.decode(self.made("sale", 2), type=Paper)
        self.assertEqual(self.service.submit(sold).code, INVALID)


class LookUpTests(_WithService):
    """What became of a number."""

    def test_unknown(self) -> None:
        """A number that never came is not found, one that was refused neither."""
        self.assertIsNone(self.service.look_up(1))
        self.hand_in("open")
        self.code("sale", 2, -1)
        for number in (-1, 0, 2, 3):
            self.assertIsNone(self.service.look_up(number), number)

    def test_known(self) -> None:
        """Each number that was taken is found with its fiscal number, whatever was refused in between."""
        tickets = [self.service.submit(paper("open", 1))]
        self.code("sale", 9)
        tickets.append(self.service.submit(paper("sale", 2)))
        self.code("open", 3)
        tickets += [self.service.submit(paper("z", 3)), self.service.submit(paper("close", 4))]
        self.assertEqual([self.service.look_up(number) for number in (1, 2, 3, 4)], tickets)


class EntriesTests(_WithService):
    """The ledger as people see it."""

    def test_closings_hidden(self) -> None:
        """The closing after a Z is no entry, and the entries are numbered without it."""
        self.hand_in("open", "z", "close", "open", "sale")
        self.assertEqual(
            self.told(),
            [
                (1, "open", "accepted", "1"),
                (2, "z", "accepted", "2"),
                (3, "open", "accepted", "4"),
                (4, "sale", "accepted", "5"),
            ],
        )

    def test_refused_closing_hidden(self) -> None:
        """A closing that was refused is no entry either."""
        self.hand_in("open")
        self.code("close", 2)
        self.assertEqual(self.told(), [(1, "open", "accepted", "1")])


class RestartTests(_WithService):
    """A restart forgets the scenario and nothing else."""

    def test_entries(self) -> None:
        """What happened before a restart is still there."""
        self.hand_in("open", "sale", "z", "close")
        self.code("sale", 5)
        before = self.service.entries()
        self.restart()
        self.assertEqual(self.service.entries(), before)

    def test_next_number(self) -> None:
        """The number that is due after a restart is the one that was due before it."""
        self.hand_in("open", "sale")
        self.code("sale", 3, -1)
        self.restart()
        self.assertEqual([self.code("sale", number) for number in (2, 4)], [WRONG_NUMBER] * 2)
        self.hand_in("sale")

    def test_open_shift(self) -> None:
        """A shift that was open is open after a restart."""
        self.hand_in("open")
        self.restart()
        self.assertEqual(self.code("open", 2), ALREADY_OPENED)
        self.assertEqual(self.code("close", 2), LAST_MUST_BE_Z)
        self.hand_in("sale")

    def test_after_the_z(self) -> None:
        """A Z whose closing is due is remembered over a restart."""
        self.hand_in("open", "z")
        self.restart()
        self.assertEqual(self.code("sale", 3), Z_REGISTERED)
        self.hand_in("close")

    def test_closed_shift(self) -> None:
        """A shift that was closed is closed after a restart."""
        self.hand_in("open", "z", "close")
        self.restart()
        self.assertEqual(self.code("sale", 4), NOT_OPENED)
        self.hand_in("open")

    def test_look_up(self) -> None:
        """A document that was taken before a restart is found after it, one that was refused is not."""
        self.hand_in("open")
        ticket = self.service.submit(paper("sale", 2))
        self.code("sale", 3, -1)
        self.restart()
        self.assertEqual(self.service.look_up(2), ticket)
        self.assertIsNone(self.service.look_up(3))

    def test_scenario(self) -> None:
        """The rules of a scenario end with the process."""
        self.service.scenario.replace({"rules": [{"on": "sale", "then": "silent", "times": 0}]})
        self.restart()
        self.assertEqual(self.service.scenario.document(), {"rules": []})

    def test_old_ledger(self) -> None:
        """A ledger from before anything was known of blocks: all of it counts, and no session in it blocks now."""
        self.service.close()
        self.path.write_text(OLD_LEDGER, "utf-8")
        self.restart()
        self.assertEqual([kind for _, kind, _, _ in self.told()], ["open", "sale", "sale", "return", "storno"])
        self.assertEqual(self.service.next_number, 8)
        opened, sold = self.service.look_up(1), self.service.look_up(3)
        assert opened is not None and sold is not None
        self.assertEqual((opened.session, sold.number), ("000007001", "000007000.2.7"))
        self.assertEqual(self.code("storno", 8), INVALID)
        self.assertEqual([self.code("z", 8), self.code("close", 9)], [0, 0])

    def test_bad_paper(self) -> None:
        """A paper whose time names no moment is refused, and so is one of another register."""
        self.hand_in("open")
        sale = paper("sale", 2)
        for dt in ("", "2026", "20261340000000", "yesterday 9:00"):
            self.assertEqual(self.service.submit(msgspec.structs.replace(sale, dt=dt)).code, INVALID)
        self.assertEqual(self.service.submit(msgspec.structs.replace(sale, register="1")).code, UNKNOWN_REGISTER)
        self.assertEqual(self.code("sale", 2), 0)

    def test_cut_short(self) -> None:
        """A document whose line a crash cut short never came: its number is due again."""
        self.hand_in("open", "sale")
        self.service.close()
        self.path.write_bytes(self.path.read_bytes()[:-1])
        self.restart()
        self.assertIsNone(self.service.look_up(2))
        self.assertEqual(self.code("sale", 2), 0)


class PlacesTests(SynchronousTestCase):
    """Where documents lie in the ledger."""

    def test_places(self) -> None:
        """Every number has its entry, with refusals between them; a number that is taken over has the later one."""
        places, entries, n = Places(), {}, 0
        for local in range(1, 500):
            n += 3 if local % 50 == 7 else 1
            places.put(local, n)
            entries[local] = n
        for local in (499, 17):
            n += 1
            places.put(local, n)
            entries[local] = n
        places.put(500, n + 2)
        entries[500] = n + 2
        self.assertEqual({local: places.of(local) for local in entries}, entries)
        self.assertEqual([places.of(local) for local in (-1, 0, 501)], [None] * 3)

    def test_memory(self) -> None:
        """Documents without refusals between them take no memory."""
        places = Places()
        for local in range(1, 10_000):
            places.put(local, local + 5)
        self.assertEqual((places.of(9_999), len(places._firsts)), (10_004, 1))


class MemoryTests(SynchronousTestCase):
    """Without a path the ledger is in memory."""

    def test_registers_apart(self) -> None:
        """Two registers are two services: neither knows what the other one was given."""
        first, second = TaxService("1", lambda: START), TaxService("2", lambda: START)
        opened = msgspec.structs.replace(paper("open", 1), register="1")
        self.assertEqual(first.submit(opened).number, "TEST_100000001")
        self.assertEqual(second.submit(opened).code, UNKNOWN_REGISTER)
        self.assertEqual((first.register, second.register), ("1", "2"))
        self.assertEqual([len(service.entries()) for service in (first, second)], [1, 1])
        self.assertEqual([entry.status for entry in second.entries()], ["refused"])
        self.assertIsNone(second.look_up(1))


class ChannelTests(SynchronousTestCase):
    """Documents of a training register on their way to its tax service."""

    def day(self, reads: bool) -> list[str]:
        """The answers and the ledger of a day, with one register number for all shops.

        :param reads: whether only the sent bytes are there when a document is submitted, as after a restart.
        """
        shop = Shop(self)
        channel = shop.built()._channel
        prepare = channel.prepare

        async def elsewhere(document: object) -> bytes:
            sent: bytes = await prepare(document)
            return bytes(bytearray(sent))

        if reads:
            self.patch(channel, "prepare", elsewhere)
        answers = [shop.fiscal(0, "open"), shop.fiscal(3, "in", cash={"type": 0, "sum": 500})]
        for n, then in enumerate(("accept", "refuse", "lost_after", "unreachable")):
            shop.scenario({"on": "any", "then": then})
            answers.append(shop.fiscal(1, f"sale {n}", receipt=sale(20)))
            answers.append(shop.fiscal(2, f"return {n}", receipt=sale(3)))
            answers.append(shop.fiscal(17))
        answers += [shop.fiscal(14, "out", cash={"type": 2, "sum": 20}), shop.fiscal(11, "z")]
        found = [*answers, *shop.ledger(), *shop.ledger(status="refused")]
        return [repr(each).replace(shop.built()._fisid, "FISID") for each in found]

    def test_bytes(self) -> None:
        """It makes no difference whether the tax service reads a document or was kept what its bytes say."""
        self.assertEqual(self.day(reads=False), self.day(reads=True))
