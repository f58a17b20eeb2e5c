"""A shop with an MG register: every task, every fault of the line and the machine, and every crash."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import asking, bookkeeping
from dmtwisted.results import Refused
from protocols.registers.mg.digest import Login
from protocols.simulators.iron import DAY, Article, Kind
from protocols.simulators.register_line import Fault, What
from tests.iron_shop import IronShop
from tests.register_desk import steered
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


class BreakTests(IronCase):
    """Whatever breaks, a tag is one receipt, and its answer is the usual one."""

    def usual(self, answer: dict[str, Any], number: int) -> None:
        """The answer of a sale that nothing has disturbed."""
        self.good(answer)
        self.assertEqual((answer["task_status"], answer.get("warnings", [])), (1, []))
        info = answer["info"]
        self.assertEqual((info["doccode"], info["docno"], info["safe"]), (f"{number}", f"{number + 1}", 100 * number))

    def test_faults(self) -> None:
        """A document or its answer is lost in every way: the caller gets the answer of one receipt."""
        ways = (What.UNHEARD, What.LOST, What.BROKEN_BEFORE, What.BROKEN_AFTER, What.SHORT, What.GARBAGE)
        for number, what in enumerate(ways, 1):
            self.device.steer = steered(register=Fault(what, 20))
            self.usual(self.sell(f"sale {number}"), number)
            self.assertEqual(len(self.iron.ledger), number, what)

    def test_cut_at_every_byte(self) -> None:
        """The line breaks at any byte of a document, or of its answer: one receipt, the usual answer."""
        self.usual(self.sell("whole"), 1)
        [sent] = [sent for sent in self.shop.endpoint.sent if sent.startswith(b"POST")]
        number = 1
        for cut in range(0, len(sent) + 1, 7):
            number += 1
            self.shop.cut(cut)
            self.usual(self.sell(f"sent {cut}"), number)
            assert self.shop.desk is not None and self.shop.desk.cut is None
            self.assertEqual(len(self.iron.ledger), number)
        for cut in range(0, 200, 9):
            number += 1
            self.device.steer = steered(register=Fault(What.BROKEN_AFTER, cut))
            self.usual(self.sell(f"answered {cut}"), number)
            self.assertEqual(len(self.iron.ledger), number)

    def test_every_kind(self) -> None:
        """Cash in and out, a return and a Z whose answers are lost are done once."""
        self.good(self.sell("sale"))
        for task, members, total in (
            (3, {"cash": {"type": 0, "sum": 50}}, 5000),
            (2, {"receipt": sale(20)}, 2000),
            (4, {"cash": {"type": 0, "sum": 30}}, -3000),
        ):
            for what in (What.LOST, What.BROKEN_BEFORE):
                self.device.steer = steered(register=Fault(what))
                self.good(self.shop.task(task, f"{task} {what}", **members))
            self.assertEqual([made for _, made in self.made()[-2:]], [total] * 2)
        for number, what in enumerate((What.LOST, What.BROKEN_BEFORE, What.DARK_AFTER), 1):
            self.device.steer = steered(report=Fault(what, 5))
            answer = self.good(self.shop.task(11, f"z {number}"))
            self.assertEqual((answer["info"]["doccode"], self.iron.z), (f"Z{number}", number))
            self.good(self.shop.task(0))

    def test_late(self) -> None:
        """A machine that registers a document seconds after the line broke has it once."""

        def late(command: str) -> Fault | None:
            if command != "register" or self.iron.ledger:
                return None
            _, _, body = self.shop.endpoint.sent[-1].partition(b"\r\n\r\n")
            self.shop.clock.callLater(5, self.device.answer, "register", "/cgi/chk", "", body)
            return Fault(What.BROKEN_BEFORE)

        self.device.steer = late
        self.usual(self.sell("sale"), 1)
        self.shop.clock.advance(10)
        self.assertEqual(len(self.iron.ledger), 1)

    def test_similar(self) -> None:
        """A sale by hand over the same sum, just while the line was broken, is for a person to tell apart."""

        def meanwhile(command: str) -> Fault | None:
            if command != "register":
                return None
            self.device.steer = steered()
            self.device.sell_by_hand(10000)
            return Fault(What.BROKEN_BEFORE)

        self.device.steer = meanwhile
        answer = self.sell("sale")
        self.assertEqual((answer["res"], answer["res_action"]), (1074, 2))
        self.assertIn("стрічці", answer["aq_errortxt"])

    def test_power(self) -> None:
        """The machine is off for longer than the caller waits: 1075, and a repeat brings the one receipt."""
        for number, what in enumerate((What.DARK_BEFORE, What.DARK_AFTER), 1):
            self.device.steer = steered(register=Fault(what, 60))
            lost = self.sell(f"sale {number}")
            self.assertEqual((lost["res"], lost["res_action"]), (1075, 2))
            self.assertEqual(self.sell("another")["res"], 1075)
            self.shop.clock.advance(60)
            answer = self.good(self.sell(f"sale {number}"))
            self.assertEqual((answer["info"]["doccode"], len(self.iron.ledger)), (f"{number}", number))

    def test_kill(self) -> None:
        """The service is killed at each step of a sale: after the restart a repeat is one receipt."""
        self.good(self.sell("first"))
        count = 1
        for what in (None, What.LOST, What.BROKEN_BEFORE):
            for steps in range(1, 12):
                fault = None if what is None else Fault(what)
                self.device.steer = steered(**({} if fault is None else {"register": fault}))
                tag = f"{what} {steps}"
                came = self.killed(steps, tag)
                self.device.steer = steered()
                self.shop.crash()
                answer = self.good(self.sell(tag))
                count += 1
                self.assertEqual((answer["info"]["doccode"], len(self.iron.ledger)), (f"{count}", count), tag)
                self.assertEqual(answer["info"]["safe"], 100 * count)
                if not came:
                    break

    def test_kill_z(self) -> None:
        """The service is killed at each step of a Z: after the restart a repeat is one Z, and the shift is closed."""
        number = 0
        for what in (None, What.LOST, What.BROKEN_BEFORE):
            for steps in range(1, 16):
                self.good(self.sell(f"{what} {steps}"))
                number += 1
                self.device.steer = steered(**({} if what is None else {"report": Fault(what)}))
                tag = f"z {what} {steps}"
                came = self.killed(steps, tag, {"task": 11})
                self.device.steer = steered()
                self.shop.crash()
                answer = self.shop.task(11, tag)
                self.assertEqual((answer["res"], answer["info"]["doccode"]), (0, f"Z{number}"), (what, steps))
                self.assertEqual((self.iron.z, self.shop.task(18)["info"]["shift_status"]), (number, 0))
                self.good(self.shop.task(0))
                if not came:
                    break

    def killed(self, steps: int, tag: str, task: dict[str, Any] | None = None) -> bool:
        """Whether a task, a sale if none is given, was ended at the step of this number."""
        left = [steps]

        def reached(point: str) -> None:
            left[0] -= 1
            if not left[0]:
                raise Killed(point)

        patches = [self.patch(module, "reached", reached) for module in (bookkeeping, asking)]
        fiscal = task or {"task": 1, "receipt": sale()}
        due = self.shop.asked({"ver": 6, "device": "iron", "tag": tag, "type": 1, "fiscal": fiscal})
        self.shop.endpoint.wait(due)
        if left[0] <= 0:
            self.failureResultOf(due, Killed)
        for patch in patches:
            patch.restore()
        return left[0] <= 0


class Killed(BaseException):
    """The process ends here."""


class RefusalTests(IronCase):
    """What the machine refuses, and what no machine can."""

    def refused(self, answer: dict[str, Any], res: int, action: int = 3) -> str:
        """A refusal of which nothing is left; its text, with the machine's words."""
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), answer)
        return f"{answer['errortxt']}; {answer.get('aq_errortxt', '')}"

    def test_paper(self) -> None:
        """Without paper the caller is told so; with paper the same tag is one receipt."""
        self.iron.paper = 0
        self.assertIn("x25", self.refused(self.sell("sale"), 5005))
        self.iron.paper = None
        self.good(self.sell("sale"))
        self.assertEqual(len(self.iron.ledger), 1)

    def test_day_over(self) -> None:
        """After 24 hours a Z is asked for, and then the machine sells again."""
        self.good(self.sell("first"))
        self.shop.clock.advance(DAY)
        self.refused(self.sell("sale"), 1100)
        self.good(self.shop.task(11))
        self.good(self.shop.task(0))
        self.good(self.sell("sale"))

    def test_password(self) -> None:
        """A wrong password is said before anything happens; the words do not sound like a closed shift."""
        self.device.login = Login("service", "1")
        self.device.renew()
        text = self.refused(self.sell("sale"), 430)
        self.assertIn("неправильний пароль", text)
        self.assertEqual(self.iron.ledger, [])

    def test_away(self) -> None:
        """A machine that is not there is a refusal that may be repeated."""
        self.device.go_dark(30)
        self.refused(self.sell("sale"), 430, action=1)
        self.shop.clock.advance(30)
        self.good(self.sell("sale"))

    def test_never(self) -> None:
        """Storno, withdrawals, income, expense, part payments, unknown forms and groups, and going offline."""
        self.good(self.sell("sale"))
        heard, cash = len(self.device.heard), [{"type": 0, "sum": 10}]
        card = {"type": 2, "sum": 10, "paysys": "V", "rrn": "1", "cardmask": "*1"}
        row = {"code": "9", "name": "Чай", "cnt": 1, "price": 100, "taxgrp": 9}
        for task, members, res in (
            (17, {}, 1158),
            (14, {"cash": card}, 307),
            (15, {"receipt": {"sum": 5, "pays": [{"type": 0, "sum": 5}]}}, 307),
            (16, {"receipt": {"sum": 5, "pays": [{"type": 0, "sum": 5}]}}, 307),
            (
                1,
                {"receipt": {**sale(), "partpay_type": 1, "partpay_sum": 10, "pays": cash}},
                2000,
            ),
            (1, {"receipt": {**sale(), "pays": [{"type": 5, "sum": 100}]}}, 1110),
            (1, {"receipt": {**sale(), "rows": [row]}}, 1087),
        ):
            self.refused(self.shop.task(task, f"{task} {res}", **members), res)
        self.assertNotIn("register", self.device.heard[heard:])
        offline = self.shop.built("iron").go_offline("uk")
        self.assertEqual(self.failureResultOf(Deferred.fromCoroutine(offline), Refused).value.res.code, 1052)

    def test_sold_elsewhere(self) -> None:
        """A machine that sold for another program first makes its Z-report."""
        self.good(self.sell("sale"))
        self.good(self.shop.task(11))
        self.iron.open(Kind.SALE)
        self.iron.write_article(77, Article("Чай", 0))
        self.iron.sell(77, 1000, 500)
        self.iron.pay(0, 500)
        self.iron.close()
        self.refused(self.shop.task(0), 1100)
        self.iron.z_report()
        self.good(self.shop.task(0))


class MachineTests(IronCase):
    """What else the machine does, and where it differs."""

    def warned(self, answer: dict[str, Any]) -> list[int]:
        """The codes of the warnings."""
        return [warning["code"] for warning in self.good(answer).get("warnings", [])]

    def test_prints(self) -> None:
        """X reports, copies and texts are printed by the machine."""
        self.good(self.sell("sale"))
        self.good(self.shop.task(10))
        self.good(self.shop.task(22))
        self.good(self.shop.task(5, lines=[{"t": "Меню"}]))
        self.assertEqual(self.device.heard[-1], "register")
        self.assertIn("report", self.device.heard)
        self.assertEqual(self.iron.copied, 1)
        self.good(self.sell("after"))

    def test_by_hand(self) -> None:
        """Somebody sells on the machine: X, Z and status warn, and the page of the register says it."""
        self.good(self.sell("sale"))
        self.assertEqual(self.warned(self.shop.task(18)), [])
        self.iron.open(Kind.SALE)
        self.iron.sell(1, 1000, 500)
        self.iron.pay(0, 500)
        self.iron.close()
        answer = self.shop.task(18)
        self.assertEqual(self.warned(answer), [3011])
        self.assertIn("105.00, у сервісі 100.00", answer["warnings"][0]["wtxt"])
        self.assertEqual(self.warned(self.sell("next")), [])
        self.assertEqual(self.warned(self.shop.task(10)), [3011])
        self.assertEqual(self.warned(self.shop.task(11)), [3011])
        self.good(self.shop.task(0))
        self.assertEqual(self.warned(self.shop.task(18)), [])

    def test_codes(self) -> None:
        """A code that the till uses for another item is replaced by one of our own."""
        self.good(self.sell("sale"))
        row = {"code": "1", "name": "Чай", "cnt": 1, "price": 100, "taxgrp": 1}
        self.good(self.sell("other", rows=[row]))
        self.assertEqual([receipt.lines[0].name for receipt in self.iron.ledger], ["Кава", "Чай"])
