"""What the engine asks of a machine, and what it keeps: one that does as it is told stands for every protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from dmtwisted.documents import documents
from dmtwisted.registers import asking, bookkeeping
from dmtwisted.registers.channels.interface import IFiscalChannel
from dmtwisted.registers.interface import IRegister, OnALine
from dmtwisted.registers.wired.interface import About, Figures, IMachine, Made, NotMade, Slip, Unclear
from dmtwisted.results import Refused, Text
from dmtwisted.store.values import OperationRow
from dmtwisted.unfinished import unfinished
from protocols.errors import LineLost, NotReached
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble
from tests.iron_shop import IronShop
from tests.shop import sale
from tests.test_wired_mg import Killed

Said = Made | NotMade | Unclear | Exception


@implementer(IMachine)
class Told:
    """A machine that answers as a test says, and remembers what it was asked."""

    kinds = frozenset({documents.SALE, documents.Z})

    def __init__(self) -> None:
        self.lines = 1
        self.fiscal_number = "3000000001"
        self.number = 10
        self.makes: list[Said] = []
        """What the next slips come to; then every one is made."""
        self.becomes: list[Said] = []
        self.made: list[tuple[str, int | None]] = []
        """Kind of each slip that was sent, and the number in the figures before it."""
        self.asked: list[int | None] = []
        """The number in the figures of each question."""
        self.figured: Figures | None = None

    async def about(self) -> About:
        """Which machine it is."""
        return About("T-1", "77", self.fiscal_number, "9")

    async def figures(self) -> Figures:
        """Its last number."""
        return self.figured or Figures(number=self.number, z=4)

    async def make(self, slip: Slip, before: Figures) -> Made:
        """As the test says."""
        self.made.append((slip.kind, before.number))
        said = self.makes.pop(0) if self.makes else self._next()
        if isinstance(said, Exception):
            raise said
        assert isinstance(said, Made)
        return said

    def _next(self) -> Made:
        self.number += 1
        return Made(str(self.number))

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """As the test says."""
        self.asked.append(before.number)
        said = self.becomes.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    async def x_report(self) -> None:
        """Print nothing."""

    async def copy_last(self) -> None:
        """Print nothing."""

    async def print_text(self, lines: tuple[str, ...]) -> None:
        """Print nothing."""

    async def open_drawer(self) -> None:
        """Open nothing."""

    async def let_go(self) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


class ChannelTests(SynchronousTestCase):
    """A shop whose machine does as it is told."""

    def setUp(self, **settings: str) -> None:
        self.machine = Told()
        self.shop = IronShop(self, self.machine, **settings)
        self.assertEqual(self.shop.task(0)["res"], 0)

    def sell(self, tag: str) -> dict[str, Any]:
        """The answer to a sale."""
        return self.shop.task(1, tag, receipt=sale())

    def done(self, coroutine: Any) -> Any:
        """What ``coroutine`` comes to."""
        return self.successResultOf(Deferred.fromCoroutine(coroutine))

    def open_operations(self) -> list[OperationRow]:
        """Operations whose outcome is unknown."""
        rows: list[OperationRow] = self.done(self.shop.store.unresolved(None))
        return rows

    def test_interface(self) -> None:
        """Machine, channel and register are what their interfaces say."""
        verifyObject(IMachine, self.machine)
        verifyObject(IFiscalChannel, self.shop.built("iron")._way)
        verifyObject(IRegister, self.shop.built("iron"))
        self.assertIsInstance(self.shop.built("iron"), OnALine)

    def test_new_figures(self) -> None:
        """What was not made is made again with the figures of that moment, and those are asked about."""
        self.machine.makes = [LineLost(), LineLost()]
        self.machine.becomes = [NotMade(), NotMade(), Made("12")]
        self.before_asking(lambda: setattr(self.machine, "number", 11))
        answer = self.sell("t")
        self.assertEqual((answer["res"], answer["info"]["doccode"]), (0, "12"))
        self.assertEqual(self.machine.made, [("sale", 10), ("sale", 11)])
        self.assertEqual(self.machine.asked, [10, 10, 11])

    def before_asking(self, act: Callable[[], object]) -> None:
        """Do something when the first question about a slip comes."""
        became = self.machine.became

        async def asked(slip: Slip, before: Figures) -> Made | NotMade | Unclear:
            act()
            return await became(slip, before)

        self.patch(self.machine, "became", asked)

    def test_power_after_the_second(self) -> None:
        """The service ends behind the second try: after the start the machine is asked with the second figures."""
        for steps, figures in (("document.before-submit", 11), ("document.submitted", 11), ("collision.asked", 10)):
            self.setUp()
            self.machine.makes, self.machine.becomes = [LineLost()], [NotMade(), NotMade()]
            self.before_asking(lambda: setattr(self.machine, "number", 11))
            self.kill_at(steps, 1 if steps == "collision.asked" else 2)
            self.machine.becomes = [Made("12")]
            self.machine.asked.clear()
            self.shop.crash()
            answer = self.sell("t")
            self.assertEqual((answer["task_status"], answer["info"]["doccode"]), (2, "12"))
            self.assertEqual(self.machine.asked, [figures])

    def kill_at(self, point: str, times: int) -> None:
        """End the service in a sale, where it comes to a point for the n-th time."""
        left = [times]

        def reached(name: str) -> None:
            left[0] -= name == point
            if not left[0]:
                raise Killed(name)

        patches = [self.patch(module, "reached", reached) for module in (bookkeeping, asking)]
        task = {"task": 1, "receipt": sale()}
        due = self.shop.asked({"ver": 6, "device": "iron", "tag": "t", "type": 1, "fiscal": task})
        self.shop.endpoint.wait(due)
        self.failureResultOf(due, Killed)
        for patch in patches:
            patch.restore()

    def test_unclear(self) -> None:
        """What the machine cannot tell is a person's: 1074 with the advice, and no other document meanwhile."""
        self.unclear()
        again = self.sell("other")
        self.assertEqual((again["res"], again["res_action"]), (1074, 2))
        [found] = self.done(unfinished(self.shop.store, self.shop.core.devices, self.shop.core.clock.now()))
        self.assertEqual((found.way, found.device, found.number), ("look", "iron", 2))

    def unclear(self) -> None:
        """A sale of which nobody knows what became."""
        self.machine.makes = [LineLost()]
        look = Unclear(Text("Подивіться.", "Look."))
        self.machine.becomes = [look, look, look, look]
        answer = self.sell("t")
        self.assertEqual((answer["res"], answer["res_action"], answer["aq_errortxt"]), (1074, 2, "Подивіться."))

    def settle(self, made: bool) -> None:
        """Say what the tape says."""
        [row] = self.open_operations()
        self.done(self.shop.built("iron").settle(row, made))
        self.assertEqual(self.open_operations(), [])

    def put_another(self) -> None:
        """Another machine is at the address from now on."""
        self.machine.lines += 1
        self.machine.fiscal_number = "3000000002"

    def test_another_asked(self) -> None:
        """Another machine is not asked what became of a slip; the right one is, when it is back."""
        self.machine.makes, self.machine.becomes = [LineLost()], [Made("11")]
        make = self.machine.make

        async def made(slip: Slip, before: Figures) -> Made:
            self.put_another()
            return await make(slip, before)

        patch = self.patch(self.machine, "make", made)
        answer = self.sell("t")
        patch.restore()
        self.assertEqual((answer["res"], self.machine.asked), (1074, []))
        self.assertIn("інша каса", answer["aq_errortxt"])
        self.machine.lines, self.machine.fiscal_number = 3, "3000000001"
        answer = self.sell("t")
        self.assertEqual((answer["task_status"], answer["info"]["doccode"]), (2, "11"))

    def test_refused_machine(self) -> None:
        """A machine that the settings do not mean gets nothing, also when it took the other's place unnoticed."""
        self.setUp(fiscal_number="3000000001")
        self.put_another()
        answer = self.sell("t")
        self.assertEqual((answer["res"], self.machine.made), (430, []))
        self.assertIn("3000000002", str(answer))

    def test_person_says_made(self) -> None:
        """A person says that the receipt is on the tape: it is done, and a repeat gets its answer."""
        self.unclear()
        self.settle(True)
        answer = self.sell("t")
        self.assertEqual((answer["task_status"], answer["info"]["safe"]), (2, 100))
        self.assertEqual(len(self.machine.made), 1)

    def test_person_says_not_made(self) -> None:
        """A person says that it is not there: the tag is free, and the repeat makes it."""
        self.unclear()
        self.settle(False)
        answer = self.sell("t")
        self.assertEqual((answer["task_status"], answer["info"]["doccode"]), (1, "11"))

    def test_machine_knows_better(self) -> None:
        """What the machine says when it is asked once more counts more than a person's word."""
        self.unclear()
        self.machine.becomes = [Made("11")]
        self.settle(False)
        self.assertEqual(self.sell("t")["info"]["doccode"], "11")

    def test_settled_already(self) -> None:
        """What is not open cannot be settled."""
        self.unclear()
        [row] = self.open_operations()
        self.settle(True)
        refused = self.failureResultOf(Deferred.fromCoroutine(self.shop.built("iron").settle(row, True)), Refused)
        self.assertEqual(refused.value.res.code, 5074)

    def test_person_says_of_a_z(self) -> None:
        """The Z of which nobody knows is settled too, and the shift is closed with it."""
        self.machine.makes, self.machine.becomes = [LineLost()], [Unclear(Text("а", "a"))] * 3
        self.assertEqual(self.shop.task(11, "z")["res"], 1074)
        self.settle(True)
        self.assertEqual(self.shop.task(18)["info"]["shift_status"], 0)
        self.assertEqual(self.shop.task(11, "z")["task_status"], 2)

    def test_cannot_be_asked(self) -> None:
        """A machine that is away after a break: 1075, and it is asked before the next task."""
        self.machine.makes, away = [LineLost()], NotReached("off")
        self.machine.becomes = [away] * 60
        self.assertEqual(self.sell("t")["res"], 1075)
        self.machine.becomes = [NotMade()]
        self.assertEqual(self.sell("t")["info"]["doccode"], "11")
        self.assertEqual(len(self.machine.made), 2)

    def test_not_reached(self) -> None:
        """No line for the document itself: it is refused, and nobody is asked."""
        self.machine.makes = [NotReached("off")]
        answer = self.sell("t")
        self.assertEqual((answer["res"], answer["res_action"], self.machine.asked), (430, 1, []))
        self.assertEqual(self.open_operations(), [])

    def test_another_machine(self) -> None:
        """A machine with another fiscal number than the settings name sells nothing."""
        self.shop.settings("iron", fiscal_number="3000000002")
        answer = self.sell("t")
        self.assertEqual((answer["res"], self.machine.made), (430, []))
        self.assertIn("3000000001", answer["errortxt"])

    def test_restart_compares(self) -> None:
        """After a start the first document's answer says where machine and books differ; the next one does not."""
        self.sell("t")
        self.shop.crash()
        self.machine.figured = Figures(shift_open=True, sales=10500, drawer=10000, sold=2)
        answer = self.sell("u")
        [told] = [each["wtxt"] for each in answer["warnings"] if each["code"] == 3011]
        self.assertIn("продажі 105.00, у сервісі 100.00; чеки продажу 2, у сервісі 1", told)
        self.assertEqual(self.sell("v")["warnings"], [])

    def test_nothing_to_close(self) -> None:
        """A Z that the machine refuses because its shift is closed already closes ours, with its last number."""
        wrong_mode = DeviceRefused("xC7", Meaning(Trouble.WRONG_MODE, "the shift is not open", "зміну не відкрито"))
        self.machine.makes = [wrong_mode]
        self.machine.figured = Figures(shift_open=True, z=4)
        self.assertEqual(self.shop.task(11, "z")["res"], 1086)
        self.machine.makes = [wrong_mode]
        self.machine.figured = Figures(shift_open=False, z=4)
        self.assertEqual(self.shop.task(11, "z")["info"]["doccode"], "Z4")
        self.assertEqual(self.shop.task(18)["info"]["shift_status"], 0)

    def test_drawer(self) -> None:
        """A shift opens with what the machine has in its drawer, which is told once."""
        self.assertEqual(self.shop.task(11)["res"], 0)
        self.machine.figured = Figures(shift_open=False, drawer=50000)
        answer = self.shop.task(0)
        self.assertIn("готівка 500.00, у сервісі 0.00", answer["warnings"][-1]["wtxt"])
        self.assertEqual(answer["info"]["safe"], 500)
        answer = self.shop.task(18)
        self.assertEqual((answer["warnings"], answer["info"]["safe"]), ([], 500))

    def test_drawer_told_once(self) -> None:
        """A status that cannot ask the machine tells no more of what the opening has taken over."""
        self.assertEqual(self.shop.task(11)["res"], 0)
        self.machine.figured = Figures(shift_open=False, drawer=50000)
        self.assertEqual(len(self.shop.task(0)["warnings"]), 1)

        async def lost() -> Figures:
            raise LineLost()

        self.patch(self.machine, "figures", lost)
        self.assertEqual(self.shop.task(18)["warnings"], [])

    def test_fiscal_number(self) -> None:
        """Without one in the settings the machine's own number is that of every document."""
        answer = self.sell("t")
        self.assertEqual((answer["info"]["fisid"], answer["info"]["printheader"]["fisid"]), ("3000000001",) * 2)

    def test_state(self) -> None:
        """The state of the register names the machine."""
        state = self.done(self.shop.built("iron").state())
        self.assertEqual((state["model"], state["serial"], state["machine_number"]), ("T-1", "77", "3000000001"))
