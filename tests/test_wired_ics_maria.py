"""A shop with an ICS register, and one with a Maria: a day, faults of the line and of the power, every crash."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers import asking, bookkeeping
from dmtwisted.registers.drivers import ics as ics_driver
from dmtwisted.registers.drivers import maria as maria_driver
from dmtwisted.registers.drivers.ics import IcsSettings
from dmtwisted.registers.drivers.maria import MariaSettings
from dmtwisted.registers.wired import ics, maria
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.ics import IcsMachine
from dmtwisted.registers.wired.interface import IMachine
from dmtwisted.registers.wired.maria import MariaMachine
from protocols.registers.ics.link import PATIENCE as ICS_PATIENCE
from protocols.registers.maria.link import PATIENCE as MARIA_PATIENCE
from protocols.serial import SerialEndpoint, TcpEndpoint
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.iron import Kind
from protocols.simulators.maria_register import MariaDevice
from tests.iron_shop import BreakingDesk, IronShop
from tests.register_desk import Fault, What, steered
from tests.shop import sale


class Killed(BaseException):
    """The process ends here."""


class IcsShop(IronShop):
    """A shop with an ICS register."""

    driver = "ics"
    kind: ClassVar[type[msgspec.Struct]] = IcsSettings
    device: Any

    def _open(self) -> Core:
        if self.desk is None:
            self.device = self.new_device()
            self.desk = BreakingDesk(self.clock, self.device)
        core = Core(self._config, self.store, self.clock, self.state)
        core.dispatcher.programs.training &= self._warns
        core.devices.drivers[REGISTER, self.driver] = wired_driver(
            self.driver, "", self.kind, lambda *_: self.new_machine(), secrets=("password",)
        )
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def new_device(self) -> Any:
        """The register."""
        return IcsDevice(self.clock)

    def new_machine(self) -> IMachine:
        """A new machine for it."""
        return IcsMachine(self.endpoint, self.clock)


class MariaShop(IcsShop):
    """A shop with a Maria."""

    driver = "maria"
    kind = MariaSettings

    def new_device(self) -> Any:
        """The register."""
        return MariaDevice(self.clock)

    def new_machine(self) -> IMachine:
        """A new machine for it."""
        return MariaMachine(self.endpoint, self.clock)


class IcsShopTests(SynchronousTestCase):
    """A shop whose shift is open."""

    shop_kind: ClassVar[type[IcsShop]] = IcsShop
    last: ClassVar[str] = "Pay"
    codes: ClassVar[list[str]] = ["N2", "2", "3", "4", "N6", "Z1"]

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
        self.assertEqual([(receipt.kind, receipt.total) for receipt in self.iron.ledger], sums)
        codes = [answer["info"]["doccode"] for answer in answers]
        self.assertEqual([*codes[:5], codes[6]], self.codes)
        self.assertEqual((answers[-1]["info"]["safe"], self.iron.z, self.iron.drawer), (100, 1, 10000))

    def test_faults(self) -> None:
        """A line that breaks at any command, or power that fails shortly: there is one receipt in the end."""
        self.good(self.sell("first"))
        heard = len(self.device.heard)
        self.good(self.sell("second"))
        count = 2
        for name in dict.fromkeys(self.device.heard[heard:]):
            for fault in (Fault(What.BROKEN_BEFORE), Fault(What.BROKEN_AFTER, 7), Fault(What.DARK_AFTER, 3)):
                self.device.steer = steered(**{name: fault})
                answer = self.sell(f"{name} {fault}")
                if answer["res"]:
                    self.assertIn((answer["res"], answer["res_action"]), ((430, 1), (1075, 2)), (name, fault))
                    self.shop.clock.advance(10)
                    answer = self.sell(f"{name} {fault}")
                count += 1
                self.assertEqual((answer["res"], len(self.iron.ledger)), (0, count), (name, fault, answer))
                self.assertEqual(answer["info"]["safe"], 100 * count, (name, fault))
        self.assertIsNone(self.iron.document)

    def test_power(self) -> None:
        """The power fails for longer than the caller waits: 1075, and a repeat brings the one receipt."""
        count = 0
        for name in ("Sell", self.last):
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
            (self.last, What.BROKEN_BEFORE),
            ("Sell", What.BROKEN_AFTER),
            (self.last, What.LOST),
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

    def test_paper_ends(self) -> None:
        """The paper ends in the receipt: it is taken back when there is some, and made once."""
        self.good(self.sell("first"))
        for paper in range(4):
            self.iron.paper = paper
            answer = self.sell(f"sale {paper}")
            self.assertIn(answer["res"], (1075, 5005), answer)
            self.iron.paper = None
            self.good(self.sell(f"sale {paper}"))
            self.assertEqual((len(self.iron.ledger), self.iron.document), (2 + paper, None))

    def test_counted_otherwise(self) -> None:
        """A receipt that nobody can tell from another's is a person's, with the advice to look at the paper."""
        self.device.steer = steered(**{self.last: Fault(What.DARK_BEFORE, 90)})
        self.assertEqual(self.sell("lost")["res"], 1075)
        self.shop.clock.advance(90)
        self.iron.document = None
        self.iron.z_report()
        answer = self.sell("lost")
        self.assertEqual((answer["res"], self.iron.ledger), (1074, []), answer)
        self.assertIn("100.00", str(answer))


class MariaShopTests(IcsShopTests):
    """The same with a Maria, whose numbers count no cash."""

    shop_kind = MariaShop
    last = "Complete"
    codes: ClassVar[list[str]] = ["N2", "1", "2", "3", "N6", "Z1"]


class DriverTests(SynchronousTestCase):
    """The drivers."""

    def test_machines(self) -> None:
        """Settings make a machine at a COM port or behind a converter, which gets twice the time."""

        class Around:
            """What a driver gets."""

            reactor = self

        places: tuple[tuple[dict[str, Any], type[object], float], ...] = (
            ({"host": "192.0.2.1", "port": 4001}, TcpEndpoint, 2.0),
            ({"interface": "serial", "serial_port": "COM3"}, SerialEndpoint, 1.0),
        )
        for place, endpoint, times in places:
            made: Any = ics.machine(IcsSettings(**place, password="12", report_password="7"), Around())  # type: ignore[arg-type]
            self.assertIsInstance(made._line._endpoint, endpoint)
            self.assertEqual(made._line._build()._patience.reply_wait, times * ICS_PATIENCE.reply_wait)
            self.assertEqual((made._password, made._report_password), (12, 7))
            made = maria.machine(MariaSettings(**place), Around())  # type: ignore[arg-type]
            self.assertIsInstance(made._line._endpoint, endpoint)
            self.assertEqual(made._line._build()._patience.wait, times * MARIA_PATIENCE.wait)
            self.assertEqual(made._password, "1" * 10)
        line = made._line._endpoint._settings
        self.assertEqual((line.baudrate, line.parity, line.stopbits, line.dtr), (115200, "E", 2, True))
        self.assertIn("report_password", ics_driver.DRIVER.secrets)
        self.assertIn("password", maria_driver.DRIVER.secrets)
