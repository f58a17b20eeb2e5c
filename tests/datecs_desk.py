"""A machine of Datecs and its simulator with a line between them, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from twisted.internet.task import Clock

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE
from dmtwisted.registers.wired.datecs.classic import ClassicMachine
from dmtwisted.registers.wired.datecs.machine import DatecsMachine
from dmtwisted.registers.wired.datecs.ukrainian import UkrainianMachine
from dmtwisted.registers.wired.interface import Figures, Made, NotMade, Slip, SlipLine, SlipPayment, Unclear
from protocols.errors import NotReached, WireError
from protocols.registers.troubles import DeviceRefused
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.iron import AfterCut, IronSettings, Kind, Receipt, cost_of
from tests.register_desk import Desk, always

KINDS = {SALE: Kind.SALE, RETURN: Kind.RETURN, CASH_IN: Kind.CASH, CASH_OUT: Kind.CASH}

Outcome: TypeAlias = Made | NotMade | Unclear


def line(name: str = "Хліб", quantity: int = 1000, price: int = 2550, tax: int = 0, **more: Any) -> SlipLine:
    """A line of goods."""
    return SlipLine(name, quantity, price, cost_of(quantity, price), tax, **more)


def slip(*lines: SlipLine, card: int = 0, form: int = 1, given: int = 0, kind: str = SALE, **more: Any) -> Slip:
    """A receipt.

    :param card: what is paid with the form of payment ``form``; the rest is cash.
    :param given: cash from the buyer, when it is more than the rest.
    """
    total = sum(each.cost - each.discount for each in lines)
    cash = given or total - card
    payments = [SlipPayment(form, card)] * bool(card) + [SlipPayment(0, cash, cash=True)] * bool(cash or not card)
    return Slip(kind=kind, lines=lines, payments=tuple(payments), total=total, change=cash + card - total, **more)


class MachineDesk:
    """A shop's machine and the register behind it.

    :param stays: what the register does with an open document when its power fails.
    """

    def __init__(self, classic: bool = False, stays: AfterCut = AfterCut.KEEPS, **settings: Any) -> None:
        self.clock = Clock()
        given = IronSettings(after_cut=stays, needs_operators=not classic, **settings)
        self.device: UkrainianDevice | ClassicDevice = (ClassicDevice if classic else UkrainianDevice)(
            self.clock, given
        )
        self.iron = self.device.iron
        self.desk = Desk(self.clock, self.device)
        self.machine = self.build()

    def build(self) -> DatecsMachine[Any]:
        """Another process: it knows what the register tells."""
        kind: Callable[..., DatecsMachine[Any]] = (
            ClassicMachine if isinstance(self.device, ClassicDevice) else UkrainianMachine
        )
        return kind(self.desk.endpoint, self.clock)

    @property
    def card(self) -> int:
        """The form of payment of cards."""
        return 2 if isinstance(self.device, ClassicDevice) else 1

    def figures(self) -> Figures:
        """What the machine says."""
        return self.desk.done(self.machine.figures())

    def make(self, document: Slip, before: Figures | None = None) -> Made:
        """Register a slip."""
        return self.desk.done(self.machine.make(document, self.figures() if before is None else before))

    def became(self, document: Slip, before: Figures) -> Outcome:
        """Ask what became of it, on a line that works, until that is known."""
        self.device.steer = always(None)
        for _ in range(5):
            self.clock.advance(60)
            try:
                return self.desk.done(self.machine.became(document, before))
            except NotReached:
                continue
        raise AssertionError("the machine is never reached")

    def tried(self, document: Slip, before: Figures) -> Made | NotMade | WireError:
        """What `make` comes to: what it raises may be a surety, or not."""
        try:
            return self.desk.done(self.machine.make(document, before))
        except (DeviceRefused, NotReached):
            return NotMade()
        except WireError as error:
            return error

    def settled(self, document: Slip, before: Figures) -> Outcome:
        """The same, and what became of it where that is unknown."""
        outcome = self.tried(document, before)
        return self.became(document, before) if isinstance(outcome, WireError) else outcome

    def made(self, since: int = 0) -> list[Receipt]:
        """What the register has registered."""
        return self.iron.ledger[since:]
