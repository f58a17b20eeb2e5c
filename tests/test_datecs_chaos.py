"""Machines of Datecs whose lines, answers and power fail at random, and at every byte of a sale.

After each slip the register's own ledger is compared with what the machine has told; both may end in "a person has
to look", and only where sums cannot tell.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from twisted.internet.interfaces import IProtocol
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, Z
from dmtwisted.registers.wired.interface import Figures, Made, NotMade, Slip, Unclear
from protocols.errors import WireError
from protocols.simulators.iron import AfterCut
from tests.datecs_desk import KINDS, MachineDesk, Outcome, line, slip
from tests.register_desk import Fault, What, always

SLIPS = 2000 if os.environ.get("DMTWISTED_SLOW") == "1" else 500
"""For each dialect."""

LINE = (
    *(What.UNHEARD, What.REFUSED, What.SLOW, What.STORM, What.LOST, What.SHORT, What.DAMAGED, What.GARBAGE),
    *(What.BROKEN_BEFORE, What.BROKEN_AFTER),
)
POWER = (What.DARK_BEFORE, What.DARK_AFTER)
NAMES = ("Хліб", "Вода «Джерельна», 0,5 л", "Кава", "Чай; зелений", "Сир")


class ChaosTests(SynchronousTestCase):
    """Many slips with faults, Ukrainian dialect."""

    classic: ClassVar[bool] = False

    def slip(self, chance: random.Random, shop: MachineDesk) -> Slip:
        """Any slip that the register can make."""
        kind = chance.choices((SALE, RETURN, CASH_IN, CASH_OUT, Z), (70, 12, 7, 7, 4))[0]
        if kind == Z:
            return Slip(kind=Z)
        if kind in (CASH_IN, CASH_OUT):
            return Slip(kind=kind, total=chance.randint(1, 5000))
        lines = [
            line(
                chance.choice(NAMES),
                chance.choice((1000, 2000, 333, 1500)),
                chance.choice((100, 2550, 3, 0)) if chance.random() < 0.1 else chance.randint(1, 9000),
                chance.randrange(3),
                discount=chance.choice((0, 0, 0, 1, -5)),
                text=chance.choice(("", "", "Свіжий")),
            )
            for _ in range(chance.randint(1, 4))
        ]
        lines = [each if each.cost - each.discount >= 0 else line() for each in lines]
        total = sum(each.cost - each.discount for each in lines)
        card = chance.choice((0, 0, total, total // 2))
        given = total - card + (chance.choice((0, 500)) if kind == SALE and total > card else 0)
        return slip(*lines, card=card, form=shop.card, given=given, kind=kind)

    def outcome(self, shop: MachineDesk, document: Slip, before: Figures) -> tuple[Outcome, bool]:
        """What the machine tells in the end, and whether it had to be asked."""
        told = shop.tried(document, before)
        if not isinstance(told, WireError):
            return told, False
        for _ in range(3):
            # What it becomes may fail, too.
            shop.clock.advance(12)
            try:
                return shop.desk.done(shop.machine.became(document, before)), True
            except WireError:
                continue
        return shop.became(document, before), True

    def test_chaos(self) -> None:
        """No slip is doubled or lost, and doubt is left to a person only where the sums cannot tell."""
        chance = random.Random(2026)
        shop = MachineDesk(self.classic)
        shop.make(Slip(kind=CASH_IN, total=10_000_000))
        counts: Counter[str] = Counter()

        def lot(_: str) -> Fault | None:
            if chance.random() > 0.05:
                return None
            what = chance.choice(POWER if chance.random() < 0.15 else LINE)
            amount = {What.SLOW: 2, What.STORM: 200, What.GARBAGE: 100}.get(what, chance.randrange(40))
            return Fault(what, 5 if what in POWER else amount)

        def spoil(data: bytes) -> bytes:
            place = chance.randrange(len(data))
            return data[:place] + chance.choice((b"", bytes([data[place] ^ 0x41]), b"\x10")) + data[place + 1 :]

        for number in range(SLIPS):
            document = self.slip(chance, shop)
            object.__setattr__(shop.iron.settings, "after_cut", chance.choice(list(AfterCut)))
            if chance.random() < 0.02:
                shop.machine.close()
                shop.machine = shop.build()
            before = shop.figures()
            ledger, z = len(shop.made()), shop.iron.z
            shop.device.steer = lot
            if chance.random() < 0.2:
                shop.desk.spoil = spoil
            outcome, asked = self.outcome(shop, document, before)
            shop.desk.spoil, shop.device.steer = None, always(None)
            shop.clock.advance(60)
            self.judge(shop, document, outcome, ledger, z, number)
            counts[type(outcome).__name__] += 1
            counts["asked"] += asked
        self.assertGreater(counts["asked"], SLIPS // 20)
        self.assertGreater(counts["NotMade"], SLIPS // 50)
        self.assertLess(counts["Unclear"], SLIPS // 100)

    def judge(self, shop: MachineDesk, document: Slip, outcome: Outcome, ledger: int, z: int, number: int) -> None:
        """Compare an outcome with the register's ledger."""
        what = (number, document, outcome)
        made = shop.made(ledger)
        count = shop.iron.z - z if document.kind == Z else len(made)
        self.assertIn(count, (0, 1), what)
        self.assertEqual(len(made), 0 if document.kind == Z else count, what)
        self.assertIsNone(shop.iron.document, what)
        if isinstance(outcome, Unclear):
            self.assertEqual(document.total, 0, what)
            return
        self.assertEqual(count, isinstance(outcome, Made), what)
        if made:
            total = -document.total if document.kind == CASH_OUT else document.total
            self.assertEqual((made[0].kind, made[0].total), (KINDS[document.kind], total), what)
            assert isinstance(outcome, Made)
            self.assertIn(outcome.number, ("", str(made[0].number)), what)


class ClassicChaosTests(ChaosTests):
    """Many slips with faults, classic dialect."""

    classic = True


class _Cut:
    """Breaks the line after a number of bytes in one direction."""

    def __init__(self, shop: MachineDesk) -> None:
        self.left = self.passed = 0
        self.armed = False
        self._build: Callable[[Any], Any] = shop.device.buildProtocol
        shop.desk.device = self  # type: ignore[assignment]

    def part(self, data: bytes) -> bytes:
        """What of the bytes still gets through."""
        got = data[: self.left] if self.armed else data
        self.left -= len(got)
        self.passed += len(got)
        return got

    def buildProtocol(self, addr: Any) -> IProtocol | None:
        """A line whose register's end is watched."""
        line = self._build(addr)
        if line is not None:
            self.watch(line)
        return line  # type: ignore[no-any-return]

    def watch(self, line: Any) -> None:
        """Stand in the way of the bytes of one direction."""
        raise NotImplementedError


class _CutCommands(_Cut):
    def watch(self, line: Any) -> None:
        deliver = line.dataReceived

        def receive(data: bytes) -> None:
            part = self.part(data)
            deliver(part)
            if len(part) < len(data):
                self.armed = False
                line.hang_up()

        line.dataReceived = receive


class _CutAnswers(_Cut):
    def watch(self, line: Any) -> None:
        write = line.send

        def send(data: bytes) -> None:
            part = self.part(data)
            write(part)
            if len(part) < len(data):
                self.armed = False
                line.hang_up()

        line.send = send


class EveryByteTests(SynchronousTestCase):
    """One sale whose line is cut at every byte of both directions."""

    classic: ClassVar[bool] = False

    def sale(self, cut: type[_Cut], after: int | None) -> tuple[MachineDesk, Any, int]:
        """A sale whose line breaks after so many bytes: what became of it, and how many bytes passed."""
        shop = MachineDesk(self.classic)
        watch = cut(shop)
        shop.make(slip(line("Вода", price=100)))
        document = slip(line(), line("Кава", 500, 3000, 1, discount=10), card=1000, form=shop.card, given=5000)
        before = shop.figures()
        watch.armed, watch.left, watch.passed = after is not None, after or 0, 0
        return shop, shop.settled(document, before), watch.passed

    def test_cut(self) -> None:
        """One receipt or none, as it is told."""
        for cut in (_CutCommands, _CutAnswers):
            whole = self.sale(cut, None)[2]
            self.assertGreater(whole, 150)
            counts: Counter[bool] = Counter()
            for after in range(whole):
                shop, outcome, _ = self.sale(cut, after)
                made = isinstance(outcome, Made)
                self.assertIsInstance(outcome, Made | NotMade, (cut, after))
                self.assertEqual((len(shop.made(1)), shop.iron.document), (made, None), (cut, after))
                counts[made] += 1
            self.assertGreater(min(counts.values()), 5)


class ClassicEveryByteTests(EveryByteTests):
    """The same, classic dialect."""

    classic = True
