"""A shop with an MG register: every task, every fault of the line and the machine, and every crash."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators.iron import Kind
from tests.iron_shop import IronShop
from tests.shop import sale


class IronCase(SynchronousTestCase):
    """A shop with a hardware register whose shift is open."""

    def setUp(self) -> None:
        self.shop = IronShop(self)
        self.device = self.shop.device
        self.iron = self.device.iron
        self.good(self.shop.task(0, "open"))

    def good(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer of success."""
        self.assertEqual((answer["res"], answer.get("errortxt", "")), (0, ""), answer)
        return answer

    def sell(self, tag: str, amount: float = 100, **receipt: Any) -> dict[str, Any]:
        """The answer to a sale."""
        return self.shop.task(1, tag, receipt={**sale(amount), **receipt})

    def made(self) -> list[tuple[Kind, int]]:
        """What the machine has registered."""
        return [(receipt.kind, receipt.total) for receipt in self.iron.ledger]


class SellingTests(IronCase):
    """A day at the till."""

    def test_day(self) -> None:
        """Cash in, sale, return, cash out, X and Z are done by the machine, with its numbers."""
        answers = [
            self.shop.task(3, "in", cash={"type": 0, "sum": 50}),
            self.sell("sale"),
            self.shop.task(2, "return", receipt=sale(20)),
            self.shop.task(4, "out", cash={"type": 0, "sum": 30}),
            self.shop.task(10),
            self.shop.task(11, "z"),
        ]
        for answer in answers:
            self.good(answer)
            self.assertEqual(answer.get("warnings", []), [])
        self.assertEqual(
            self.made(), [(Kind.CASH, 5000), (Kind.SALE, 10000), (Kind.RETURN, 2000), (Kind.CASH, -3000)]
        )
        codes = [answer["info"]["doccode"] for answer in answers]
        self.assertEqual([*codes[:4], codes[5]], ["1", "2", "3", "4", "Z1"])
        self.assertEqual(answers[-1]["info"]["safe"], 100)
        self.assertEqual((self.iron.z, self.iron.drawer, self.iron.shift_open), (1, 10000, False))
