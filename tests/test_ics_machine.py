"""ICS registers as machines: slips in their commands, refusals, and what becomes of slips when lines and power fail."""

from __future__ import annotations

from typing import Any, ClassVar

from dmtwisted.registers.wired.ics import IcsMachine
from dmtwisted.registers.wired.interface import Slip, SlipPayment
from protocols.registers.ics.commands import PayKind
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.iron import AfterCut, IronSettings
from tests import machine_desk
from tests.machine_desk import BREAD, CHEESE
from tests.register_desk import What


class IcsMachineCase(machine_desk.MachineCase):
    """An ICS register."""

    cash, card = PayKind.CASH, PayKind.CARD
    crc: ClassVar[bool] = False

    def device(self, after_cut: AfterCut) -> Any:
        """A new register."""
        return IcsDevice(self.clock, IronSettings(taxes=6, after_cut=after_cut), crc=self.crc)

    def machine_of(self) -> Any:
        """A new machine for it."""
        return IcsMachine(self.desk.endpoint, self.clock, crc=self.crc)

    def whole_sale(self) -> Slip:
        """Text, a discount, a card and cash with change."""
        return self.sale(
            BREAD,
            CHEESE,
            above=("Вітаємо",),
            below=("Дякуємо",),
            payments=(
                SlipPayment(form=PayKind.CASH, sum=11000, cash=True),
                SlipPayment(form=PayKind.CARD, sum=9000, rrn="012345678901"),
            ),
            change=900,
        )


class IcsContractTests(machine_desk.MachineContract, IcsMachineCase):
    """Faults, cuts and chaos."""

    last = "Pay"
    before_it: ClassVar[dict[What, set[str]]] = {
        # The line sends the same bytes again, which mends what comes once.
        What.UNHEARD: {"Silent", "made"},
        What.REFUSED: {"LineLost", "made"},
        What.SLOW: {"made"},
        What.STORM: {"made"},
        What.LOST: {"Silent", "made"},
        What.SHORT: {"Silent", "made"},
        What.DAMAGED: {"Silent", "made"},
        What.GARBAGE: {"made"},
        What.BROKEN_BEFORE: {"LineLost"},
        What.BROKEN_AFTER: {"LineLost"},
        What.DARK_BEFORE: {"LineLost"},
        What.DARK_AFTER: {"LineLost"},
    }
    at_it: ClassVar[dict[What, set[tuple[str, bool]]]] = {
        What.UNHEARD: {("Silent", False), ("made", True)},
        What.REFUSED: {("LineLost", False), ("made", True)},
        What.SLOW: {("made", True)},
        What.STORM: {("made", True)},
        What.LOST: {("Silent", True), ("made", True)},
        What.SHORT: {("Silent", True), ("made", True)},
        What.DAMAGED: {("Silent", True), ("made", True)},
        What.GARBAGE: {("made", True)},
        What.BROKEN_BEFORE: {("LineLost", False)},
        What.BROKEN_AFTER: {("LineLost", True)},
        What.DARK_BEFORE: {("LineLost", False)},
        What.DARK_AFTER: {("LineLost", True)},
    }
