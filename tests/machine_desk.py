"""A machine and its simulated register: slips that are made through every fault, and what they must come to."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, product
from typing import Any, ClassVar, TypeAlias, cast

from twisted.internet.interfaces import IProtocol
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, Z
from dmtwisted.registers.wired.interface import (
    Figures,
    IMachine,
    Made,
    NotMade,
    Slip,
    SlipLine,
    SlipPayment,
    Unclear,
)
from protocols.errors import NotReached, WireError
from protocols.registers.troubles import DeviceRefused
from protocols.simulators.iron import AfterCut, Kind
from protocols.simulators.register_line import DARK
from tests.register_desk import Desk, DeskTestCase, Fault, What, always

Outcome: TypeAlias = Made | NotMade | Unclear

SLOW = os.environ.get("DMTWISTED_SLOW") == "1"

KINDS = {SALE: Kind.SALE, RETURN: Kind.RETURN, CASH_IN: Kind.CASH, CASH_OUT: Kind.CASH}

FAULTS = (
    Fault(What.UNHEARD),
    Fault(What.REFUSED),
    Fault(What.SLOW, 4),
    Fault(What.STORM, 50),
    Fault(What.LOST),
    Fault(What.SHORT, 3),
    Fault(What.SHORT, 12),
    Fault(What.DAMAGED, 4),
    Fault(What.DAMAGED, 11),
    Fault(What.GARBAGE, 200),
    Fault(What.BROKEN_BEFORE),
    Fault(What.BROKEN_AFTER, 0),
    Fault(What.BROKEN_AFTER, 9),
    Fault(What.DARK_BEFORE, 5),
    Fault(What.DARK_AFTER, 5),
)
"""Each kind of fault; those in bytes at places inside and behind the first frame of an answer."""

LASTING = frozenset({What.UNHEARD, What.REFUSED, What.LOST, What.SHORT, What.DAMAGED})
"""Faults of a line that may stay."""

BREAD = SlipLine(name="Хліб", quantity=2000, price=2550, cost=5100, tax=0)
CHEESE = SlipLine(name="Сир голландський твердий", quantity=345, price=41990, cost=14487, tax=1, discount=487)


def at(place: int, fault: Fault, lasts: bool) -> Callable[[str], Fault | None]:
    """The command at that place, from 0, suffers the fault, or all from there on."""
    places = count()

    def steer(_: str) -> Fault | None:
        now = next(places)
        return fault if now == place or (lasts and now > place) else None

    return steer


class CutDesk(Desk):
    """Lines break at a place that is counted in bytes over all of them."""

    def __init__(self, clock: Clock, device: Any) -> None:
        super().__init__(clock, device)
        self.heard = self.said = -1
        """Bytes to the register, and from it, until the line breaks; negative is never."""

    def _accept(self) -> IProtocol | None:
        line: Any = super()._accept()
        if line is not None:
            line.dataReceived = self._cutting("heard", line, line.dataReceived)
            line.send = self._cutting("said", line, line.send)
        return cast("IProtocol | None", line)

    def _cutting(self, which: str, line: Any, deliver: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def pass_on(data: bytes) -> None:
            left = getattr(self, which)
            if left < 0 or left >= len(data):
                setattr(self, which, left - len(data) if left >= 0 else left)
                deliver(data)
                return
            setattr(self, which, -1)
            if left:
                deliver(data[:left])
            line.hang_up()

        return pass_on


class MachineCase(DeskTestCase):
    """A machine, its register, and the till that uses it as the engine does."""

    cash: ClassVar[int] = 0
    """The form of payment in cash."""
    card: ClassVar[int] = 1

    def device(self, after_cut: AfterCut) -> Any:
        """A new register."""
        raise NotImplementedError

    def machine_of(self) -> Any:
        """A new machine for it."""
        raise NotImplementedError

    def setUp(self) -> None:
        self.fresh()

    def fresh(self, after_cut: AfterCut = AfterCut.VOIDS) -> None:
        """A new register and its machine."""
        self.clock = Clock()
        self.register = self.device(after_cut)
        self.iron = self.register.iron
        self.desk = CutDesk(self.clock, self.register)
        self.machine = self.machine_of()

    # Slips.

    def whole_sale(self) -> Slip:
        """A sale with every command that a receipt can have."""
        raise NotImplementedError

    def sale(self, *lines: SlipLine, kind: str = SALE, given: int | None = None, **more: Any) -> Slip:
        """A receipt that is paid in cash."""
        lines = lines or (BREAD, CHEESE)
        total = sum(line.cost - line.discount for line in lines)
        paid = total if given is None else given
        payments = (SlipPayment(form=self.cash, sum=paid, cash=True),)
        fields = {"cashier": "Олена", "payments": payments, "change": paid - total, **more}
        return Slip(kind=kind, lines=lines, total=total, **fields)

    def slip(self, kind: str, total: int = 0) -> Slip:
        """A document without lines."""
        return Slip(kind=kind, total=total, cashier="Олена")

    def any_slip(self, chance: random.Random) -> Slip:
        """One of everything that a shop does, with articles that collide now and then."""
        what = chance.random()
        if what < 0.08:
            return self.slip(CASH_IN, chance.randint(1, 100_000))
        if what < 0.12:
            return self.slip(CASH_OUT, chance.randint(1, 5_000))
        if what < 0.14:
            return self.slip(Z)
        lines = []
        for _ in range(chance.randint(1, 3)):
            price, quantity = chance.randint(1, 20_000), chance.choice((1000, 2000, 345, 1500))
            cost = (price * quantity + 500) // 1000
            discount = chance.choice((0, 0, cost // 10))
            name = f"Товар {chance.randint(1, 40)}"
            lines.append(
                SlipLine(
                    name=name, quantity=quantity, price=price, cost=cost, tax=chance.randint(0, 2), discount=discount
                )
            )
        if what < 0.25:
            return self.sale(*lines, kind=RETURN, purchase="1")
        total = sum(line.cost - line.discount for line in lines)
        card = chance.choice((0, total // 2, total))
        payments = [SlipPayment(form=self.card, sum=card, rrn="012345678901", card="4***1")] if card else []
        if card < total:
            payments.append(SlipPayment(form=self.cash, sum=total - card + 500, cash=True))
        return self.sale(*lines, payments=tuple(payments), change=500 if card < total else 0)

    # What the engine does.

    def figures(self) -> Figures:
        """What the register says of itself."""
        return cast(Figures, self.desk.done(self.machine.figures()))

    def make(self, slip: Slip, before: Figures | None = None) -> Made:
        """A slip that is registered."""
        return cast(Made, self.desk.done(self.machine.make(slip, before or self.figures())))

    def became(self, slip: Slip, before: Figures) -> Outcome:
        """What became of a slip, asked until it is known."""
        for _ in range(30):
            with suppress(WireError):
                return cast(Outcome, self.desk.done(self.machine.became(slip, before)))
            self.clock.advance(10)
        raise AssertionError("the machine never says what became of a slip")

    def tried(self, slip: Slip, before: Figures) -> tuple[str, Outcome]:
        """What `make` said or raised, and what the slip came to."""
        try:
            return "made", self.make(slip, before)
        except (DeviceRefused, NotReached) as error:
            return type(error).__name__, NotMade()
        except WireError as error:
            self.register.steer = always(None)
            return type(error).__name__, self.became(slip, before)

    def account(self) -> tuple[int, int]:
        """How many documents the register has registered, and how many Z reports."""
        return len(self.iron.ledger), self.iron.z

    def registered(self, slip: Slip, since: tuple[int, int]) -> bool:
        """Whether the register has this one document since then; it has no other, and none is open."""
        self.assertIsNone(self.iron.document)
        found, reports = self.iron.ledger[since[0] :], self.iron.z - since[1]
        if slip.kind == Z:
            self.assertEqual(found, [])
            self.assertIn(reports, (0, 1))
            return bool(reports)
        self.assertEqual(reports, 0)
        totals = [(receipt.kind, receipt.total) for receipt in found]
        total = -slip.total if slip.kind == CASH_OUT else slip.total
        self.assertIn(totals, ([], [(KINDS[slip.kind], total)]))
        return bool(found)


class MachineContract(MachineCase):
    """What every machine keeps, whatever happens on its line."""

    last: ClassVar[str]
    """The command that registers a sale."""
    before_it: ClassVar[dict[What, set[str]]]
    """What `make` says or raises when a fault hits a command before that one; nothing is registered but by `made`."""
    at_it: ClassVar[dict[What, set[tuple[str, bool]]]]
    """The same at that command, and whether the sale is registered."""
    cut_ends: ClassVar[set[tuple[str, bool]]] = {("made", True), ("LineLost", False), ("LineLost", True)}
    """The same when the line breaks at any byte of the sale."""

    def test_interface(self) -> None:
        """It has everything that the engine calls."""
        verifyObject(IMachine, self.machine)
        self.assertEqual(self.machine.kinds, {SALE, RETURN, CASH_IN, CASH_OUT, Z})

    def opened(self, after_cut: AfterCut = AfterCut.VOIDS) -> Figures:
        """A new register that has sold already and has cash; its figures."""
        self.fresh(after_cut)
        self.make(self.slip(CASH_IN, 100_000))
        self.make(self.sale())
        return self.figures()

    def every_fault(self, slip: Slip) -> Iterator[tuple[int, What, bool, str, bool]]:
        """Every fault at every command of a slip, with both habits after a power cut: the slip is there once or not.

        The fault comes once, or at every command from there on. A slip that is not registered is made again, and
        then it is.
        """
        faults = [(fault, after_cut, False) for fault in FAULTS for after_cut in AfterCut if fault.what in DARK]
        faults += [(fault, AfterCut.VOIDS, False) for fault in FAULTS if fault.what not in DARK]
        faults += [(fault, AfterCut.VOIDS, True) for fault in FAULTS if fault.what in LASTING]
        for place, (fault, after_cut, lasts) in product(range(len(self.commands(slip))), faults):
            before = self.opened(after_cut)
            account = self.account()
            self.register.steer = at(place, fault, lasts)
            said, outcome = self.tried(slip, before)
            registered = self.registered(slip, account)
            self.assertEqual(type(outcome), Made if registered else NotMade, (place, fault, after_cut, lasts))
            yield place, fault.what, lasts, said, registered
            if not registered:
                self.register.steer = always(None)
                self.clock.advance(20)
                self.make(slip)
                self.assertTrue(self.registered(slip, account))

    def commands(self, slip: Slip) -> list[str]:
        """The commands of a slip."""
        before = self.opened()
        heard = len(self.register.heard)
        self.make(slip, before)
        names: list[str] = self.register.heard[heard:]
        return names

    def test_sale_faults(self) -> None:
        """A sale is registered once or not at all; what `make` says or raises is known for each fault."""
        slip = self.whole_sale()
        names = self.commands(slip)
        registers = len(names) - 1 - names[::-1].index(self.last)
        before: dict[What, set[str]] = {}
        at_it: dict[What, set[tuple[str, bool]]] = {}
        for place, what, lasts, said, registered in self.every_fault(slip):
            if place == registers:
                at_it.setdefault(what, set()).add((said, registered))
            elif place < registers:
                before.setdefault(what, set()).add(said)
                self.assertTrue(registered == (said == "made") or lasts)
            else:
                self.assertEqual((said, registered), ("made", True))
        self.assertEqual((before, at_it), (self.before_it, self.at_it))

    def test_other_faults(self) -> None:
        """So is a return, cash in and out, and a Z report."""
        for slip in (
            self.sale(BREAD, kind=RETURN, purchase="1"),
            self.slip(CASH_IN, 5_000),
            self.slip(CASH_OUT, 700),
            self.slip(Z),
        ):
            for _ in self.every_fault(slip):
                pass

    def test_cut_at_every_byte(self) -> None:
        """A line that breaks at any byte of a sale, in either direction: one receipt or none."""
        slip, ends = self.whole_sale(), set()
        for direction in ("heard", "said"):
            for place in count():
                before = self.opened()
                account = self.account()
                setattr(self.desk, direction, place)
                said, outcome = self.tried(slip, before)
                registered = self.registered(slip, account)
                self.assertEqual(type(outcome), Made if registered else NotMade, (direction, place))
                ends.add((said, registered))
                if getattr(self.desk, direction) >= 0:
                    break
        self.assertEqual(ends, self.cut_ends)

    def test_chaos(self) -> None:
        """Slips of every kind with faults from a seed: till and register agree on each, none is there twice."""
        for seed, after_cut in enumerate(AfterCut):
            self.fresh(after_cut)
            self.chaos(random.Random(seed), 1000 if SLOW else 250)

    def chaos(self, chance: random.Random, slips: int) -> None:
        """So many slips."""
        made = 0

        def steer(_: str) -> Fault | None:
            return chance.choice(FAULTS) if chance.random() < 0.04 else None

        for _ in range(slips):
            slip = self.any_slip(chance)
            self.register.steer = always(None)
            self.clock.advance(20)
            before = self.figures()
            account = self.account()
            self.register.steer = steer
            _, outcome = self.tried(slip, before)
            registered = self.registered(slip, account)
            self.assertEqual(type(outcome), Made if registered else NotMade)
            made += registered
        self.assertGreater(made, slips // 2)
