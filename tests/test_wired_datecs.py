"""A shop with a Datecs register of each dialect: a day, every fault of the line and the power, and every crash."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers import asking, bookkeeping
from dmtwisted.registers.drivers.datecs import DRIVER, DatecsSettings
from dmtwisted.registers.drivers.datecs_classic import DRIVER as CLASSIC_DRIVER
from dmtwisted.registers.drivers.datecs_classic import ClassicSettings
from dmtwisted.registers.wired.datecs import classic, ukrainian
from dmtwisted.registers.wired.datecs.classic import ClassicMachine
from dmtwisted.registers.wired.datecs.ukrainian import UkrainianMachine
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.interface import IMachine
from protocols.registers.datecs.link import PATIENCE
from protocols.serial import SerialEndpoint, TcpEndpoint
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.iron import DAY, Kind
from tests.iron_shop import BreakingDesk, IronShop
from tests.register_desk import Fault, What, steered
from tests.shop import sale


class Killed(BaseException):
    """The process ends here."""


class DatecsShop(IronShop):
    """A shop with a register of the Ukrainian dialect."""

    driver = "datecs"
    device: Any

    def _open(self) -> Core:
        if self.desk is None:
            self.device = self._device()
            self.desk = BreakingDesk(self.clock, self.device)

        core = Core(self._config, self.store, self.clock, self.state)
        core.dispatcher.programs.training &= self._warns
        settings = ClassicSettings if self.driver == "datecs_classic" else DatecsSettings
        core.devices.drivers[REGISTER, self.driver] = wired_driver(
            self.driver, "Datecs", settings, lambda *_: self._built(), secrets=("password",)
        )
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def _device(self) -> Any:
        return UkrainianDevice(self.clock)

    def _built(self) -> IMachine:
        return UkrainianMachine(self.endpoint, self.clock)


class ClassicShop(DatecsShop):
    """A shop with one of the classic dialect."""

    driver = "datecs_classic"

    def _device(self) -> Any:
        return ClassicDevice(self.clock)

    def _built(self) -> IMachine:
        return ClassicMachine(self.endpoint, self.clock)


class DatecsCase(SynchronousTestCase):
    """A shop whose shift is open."""

    shop_kind: ClassVar[type[DatecsShop]] = DatecsShop
    pay: ClassVar[str] = "Pay"

    def setUp(self) -> None:
        self.shop = self.shop_kind(self, port=4001)
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

    def receipts(self) -> list[tuple[Kind, int]]:
        """What the register has registered."""
        return [(receipt.kind, receipt.total) for receipt in self.iron.ledger]

    def test_day(self) -> None:
        """Cash in, sale, card, return, cash out, X and Z are done by the register, with its numbers."""
        card = [{"type": 2, "sum": 30, "rrn": "1", "paysys": "V", "cardmask": "****1", "bankid": "Б", "termid": "T"}]
        answers = [
            self.shop.task(3, "in", cash={"type": 0, "sum": 50}),
            self.sell("sale"),
            self.sell("card", 30, pays=card),
            self.shop.task(2, "return", receipt=sale(20)),
            self.shop.task(4, "out", cash={"type": 0, "sum": 30}),
            self.shop.task(10),
            self.shop.task(11, "z"),
        ]
        for answer in answers:
            self.good(answer)
            self.assertEqual(answer.get("warnings", []), [])
        sums = [(Kind.CASH, 5000), (Kind.SALE, 10000), (Kind.SALE, 3000), (Kind.RETURN, 2000), (Kind.CASH, -3000)]
        self.assertEqual(self.receipts(), sums)
        codes = [answer["info"]["doccode"] for answer in answers]
        self.assertEqual([*codes[:5], codes[6]], ["1", "2", "3", "4", "5", "Z1"])
        self.assertEqual((answers[-1]["info"]["safe"], self.iron.z, self.iron.drawer), (100, 1, 10000))

    def test_faults(self) -> None:
        """A line that breaks at any command, or power that fails shortly: the caller gets the usual answer.

        Where the first question finds nobody, nothing has happened, and a repeat is right.
        """
        self.good(self.sell("first"))
        heard = len(self.device.heard)
        self.good(self.sell("second"))
        count = 2
        for name in dict.fromkeys(self.device.heard[heard:]):
            for fault in (Fault(What.BROKEN_BEFORE), Fault(What.BROKEN_AFTER, 7), Fault(What.DARK_AFTER, 3)):
                self.device.steer = steered(**{name: fault})
                answer = self.sell(f"{name} {fault}")
                if (answer["res"], answer["res_action"]) == (430, 1):
                    self.assertEqual((len(self.iron.ledger), fault.what), (count, What.DARK_AFTER), name)
                    self.shop.clock.advance(10)
                    answer = self.sell(f"{name} {fault}")
                count += 1
                self.assertEqual((answer["res"], len(self.iron.ledger)), (0, count), (name, fault, answer))
                self.assertEqual(answer["info"]["safe"], 100 * count, (name, fault))
        self.assertIsNone(self.iron.document)

    def test_power(self) -> None:
        """The power fails for longer than the caller waits: 1075, and a repeat brings the one receipt."""
        count = 0
        for name in ("Open", "Sell", self.pay, "Close"):
            for what in (What.DARK_BEFORE, What.DARK_AFTER):
                self.device.steer = steered(**{name: Fault(what, 90)})
                tag = f"{name} {what}"
                lost = self.sell(tag)
                self.assertEqual((lost["res"], lost["res_action"]), (1075, 2), (tag, lost))
                self.shop.clock.advance(90)
                answer = self.good(self.sell(tag))
                count += 1
                self.assertEqual((len(self.iron.ledger), answer["info"]["safe"]), (count, 100 * count), tag)

    def test_kill(self) -> None:
        """The service is killed at each step of a sale: after the restart a repeat is one receipt."""
        count = 0
        for name, what in (
            (None, None),
            ("Close", What.BROKEN_BEFORE),
            ("Sell", What.BROKEN_AFTER),
            ("Close", What.LOST),
        ):
            for steps in range(1, 12):
                self.device.steer = steered() if what is None else steered(**{str(name): Fault(what)})
                tag = f"{name} {what} {steps}"
                came = self.killed(steps, tag)
                self.device.steer = steered()
                self.shop.crash()
                answer = self.good(self.sell(tag))
                count += 1
                self.assertEqual((len(self.iron.ledger), answer["info"]["safe"]), (count, 100 * count), tag)
                if not came:
                    break

    def killed(self, steps: int, tag: str) -> bool:
        """Whether a sale was ended at the step of this number."""
        left = [steps]

        def reached(point: str) -> None:
            left[0] -= 1
            if not left[0]:
                raise Killed(point)

        patches = [self.patch(module, "reached", reached) for module in (bookkeeping, asking)]
        task = {"task": 1, "receipt": sale()}
        due = self.shop.asked({"ver": 6, "device": "iron", "tag": tag, "type": 1, "fiscal": task})
        self.shop.endpoint.wait(due)
        if left[0] <= 0:
            self.failureResultOf(due, Killed)
        for patch in patches:
            patch.restore()
        return left[0] <= 0

    def test_refused(self) -> None:
        """No paper is said, and the receipt is made when there is some."""
        self.iron.paper = 0
        self.assertEqual(self.sell("sale")["res"], 5005)
        self.iron.paper = None
        self.good(self.sell("sale"))
        self.assertEqual(len(self.iron.ledger), 1)

    def test_shift_over(self) -> None:
        """After 24 hours the machine sells no more, whatever its refusal says: a Z is due, then it sells again."""
        self.good(self.sell("first"))
        self.shop.clock.advance(DAY)
        answer = self.sell("second")
        self.assertEqual(answer["res"], 1100, answer)
        self.assertTrue(answer["aq_errortxt"])
        self.good(self.shop.task(11, "z"))
        self.good(self.shop.task(0, "next"))
        self.good(self.sell("second"))
        self.assertEqual(len(self.iron.ledger), 2)

    def test_paper_ends(self) -> None:
        """The paper ends in the receipt: it is taken back or finished when there is some, and made once."""
        self.good(self.sell("first"))
        for paper in range(1, 4):
            self.iron.paper = paper
            answer = self.sell(f"sale {paper}")
            self.assertIn(answer["res"], (1075, 5005), answer)
            self.iron.paper = None
            self.good(self.sell(f"sale {paper}"))
            self.assertEqual((len(self.iron.ledger), self.iron.document), (1 + paper, None))


class ClassicCase(DatecsCase):
    """The same, classic dialect."""

    shop_kind = ClassicShop

    def test_sold_before(self) -> None:
        """What was sold by hand since the last Z is in the turnover: no shift opens before a Z on the machine."""
        self.good(self.sell("sale"))
        self.good(self.shop.task(11, "z"))
        self.iron.sell_by_hand(777)
        self.assertEqual(self.shop.task(0, "next")["res"], 1100)
        self.iron.z_report()
        self.good(self.shop.task(0, "next"))
        self.good(self.sell("second"))
        self.assertEqual(self.good(self.shop.task(10))["warnings"], [])


class DriverTests(SynchronousTestCase):
    """The drivers."""

    def test_machines(self) -> None:
        """Settings make a machine at a COM port or behind a converter, which gets twice the time."""

        class Around:
            """What a driver gets."""

            reactor = self

        for module, kind, driver in (
            (ukrainian, DatecsSettings, DRIVER),
            (classic, ClassicSettings, CLASSIC_DRIVER),
        ):
            self.assertIn("password", driver.secrets)
            for place, endpoint, wait in (
                ({"host": "192.0.2.1", "port": 4001}, TcpEndpoint, 2 * PATIENCE.reply_wait),
                ({"interface": "serial", "serial_port": "COM3"}, SerialEndpoint, PATIENCE.reply_wait),
            ):
                made: Any = module.machine(kind(**place), Around())
                self.assertIsInstance(made._line._endpoint, endpoint)
                self.assertEqual(made._line._build()._patience.reply_wait, wait)
