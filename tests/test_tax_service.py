"""The simulated tax service: its rules, their order, and what it still knows after a restart."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators.tax_service import Paper, TaxService, Ticket

REGISTER = "4000000007"

ALREADY_OPENED, NOT_OPENED, LAST_MUST_BE_Z, WRONG_NUMBER, Z_REGISTERED, INVALID = 4, 5, 6, 7, 8, 9
"""Error codes of protocol A, as the tax service publishes them."""


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
        service = TaxService(REGISTER, self.path)
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
        self.assertEqual(
            self.service.submit(paper("open", 1)), Ticket(code=0, number="TEST_400000000700000001", text="")
        )
        self.assertEqual(self.service.submit(paper("sale", 2)).number, "TEST_400000000700000002")

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
        """A number before which another one is due is refused, and the due one is told."""
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
        """A wrong number is told before a wrong shift."""
        self.assertEqual(self.code("sale", 2, -1), WRONG_NUMBER)
        self.hand_in("open")
        self.assertEqual(self.code("open", 3), WRONG_NUMBER)

    def test_shift_before_z(self) -> None:
        """A wrong shift is told before a missing or a second Z."""
        self.assertEqual(self.code("close", 1), NOT_OPENED)
        self.hand_in("open", "z", "close")
        self.assertEqual(self.code("z", 4), NOT_OPENED)

    def test_z_before_amount(self) -> None:
        """A missing or a second Z is told before a wrong amount."""
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

    def test_cut_short(self) -> None:
        """A document whose line a crash cut short never came: its number is due again."""
        self.hand_in("open", "sale")
        self.service.close()
        self.path.write_bytes(self.path.read_bytes()[:-1])
        self.restart()
        self.assertIsNone(self.service.look_up(2))
        self.assertEqual(self.code("sale", 2), 0)


class MemoryTests(SynchronousTestCase):
    """Without a path the ledger is in memory."""

    def test_registers_apart(self) -> None:
        """Two registers are two services: neither knows what the other one was given."""
        first, second = TaxService("1"), TaxService("2")
        self.assertEqual(first.submit(paper("open", 1)).number, "TEST_100000001")
        self.assertEqual((first.register, second.register), ("1", "2"))
        self.assertEqual((len(first.entries()), second.entries()), (1, []))
        self.assertIsNone(second.look_up(1))
