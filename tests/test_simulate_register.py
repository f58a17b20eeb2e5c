"""``dmtwisted simulate register``: each protocol registers a sale, and the control port steers it."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from twisted.internet.task import Clock
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands.simulated_devices import REGISTER_WIRES
from dmtwisted.lab.children import HOME
from protocols.registers.datecs import classic, ukrainian
from protocols.registers.datecs.frames import DatecsFrame
from protocols.registers.ics import commands as ics
from protocols.registers.ics.frames import IcsFrame
from protocols.registers.maria import commands as maria
from protocols.registers.maria.frames import frame
from protocols.registers.mg import documents as mg
from protocols.simulators.iron import Article, Iron, Kind, Refuses, Why
from protocols.simulators.register_line import Fault, What
from protocols.simulators.register_scenario import DARK_S, ByScenario
from protocols.simulators.scenario import Scenario
from tests.test_simulate import Simulation, options


class SteeringTests(SynchronousTestCase):
    """Which command a rule strikes, and how."""

    def setUp(self) -> None:
        """A register with an article."""
        self.iron = Iron(Clock().seconds)
        self.iron.write_article(1, Article("Кава", 0))
        self.scenario = Scenario()
        self.steer = ByScenario(self.iron, self.scenario, closes=True)

    def rule(self, on: str, then: str, **more: Any) -> None:
        """What goes wrong next."""
        self.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def test_registering_command(self) -> None:
        """A rule for a kind of document waits for the command that registers one of this kind."""
        for kind, on in ((Kind.SALE, "sale"), (Kind.RETURN, "return"), (Kind.CASH, "cash_in")):
            self.rule(on, "lost_after")
            for command in ("ReadState", "Open"):
                self.assertIsNone(self.steer(command))
            self.iron.open(kind)
            for command in ("WriteArticle", "Sell", "Total", "Pay", "ReadState", "MoveCash"):
                self.assertIsNone(self.steer(command), command)
            self.assertEqual(self.steer("Close"), Fault(What.BROKEN_AFTER))
            self.assertIsNone(self.steer("Close"))
            self.iron.void()

    def test_cash_out(self) -> None:
        """Cash that is taken out has a rule of its own."""
        self.iron.cash(1000)
        self.iron.open(Kind.CASH)
        self.iron.move_cash(-500)
        self.rule("cash_in", "silent")
        self.assertIsNone(self.steer("Close"))
        self.rule("cash_out", "silent")
        self.assertEqual(self.steer("Close"), Fault(What.UNHEARD))

    def test_refused_line(self) -> None:
        """A document that is to be refused is refused at a line, and what breaks the line still strikes the close."""
        self.iron.write_article(1, Article("Хліб", 0))
        self.iron.open(Kind.SALE)
        self.rule("sale", "lost_after")
        self.assertIsNone(self.steer("Sell"))
        self.assertEqual(self.steer("Close"), Fault(What.BROKEN_AFTER))
        self.rule("return", "refuse")
        self.assertIsNone(self.steer("Sell"))
        self.iron.sell(1, 1000, 100)
        self.rule("sale", "refuse")
        self.assertIsNone(self.steer("Sell"))
        self.assertIs(self.assertRaises(Refuses, self.iron.sell, 1, 1000, 100).why, Why.PAPER)

    def test_payment_registers(self) -> None:
        """Where no command closes a document, its payment registers it."""
        steer = ByScenario(self.iron, self.scenario, closes=False)
        self.rule("sale", "lost_before")
        self.iron.open(Kind.SALE)
        self.assertEqual(steer("Pay"), Fault(What.BROKEN_BEFORE))

    def test_whole_documents(self) -> None:
        """Where a document comes as a whole, its kind is that of the request."""
        steer = ByScenario(self.iron, self.scenario, closes=True, coming=lambda: Kind.RETURN)
        self.rule("sale", "garbage")
        self.assertIsNone(steer("register"))
        self.rule("return", "garbage")
        self.assertEqual(steer("register"), Fault(What.DAMAGED, 3))

    def test_at_once(self) -> None:
        """Reports, cash and questions are struck where they stand alone."""
        for command, on in (
            *(("ZReport", "z"), ("Report", "z"), ("Report", "print"), ("PrintReport", "z"), ("XReport", "print")),
            *(("MoveCash", "cash_in"), ("MoveCash", "cash_out"), ("PutIn", "cash_in"), ("TakeOut", "cash_out")),
            *(("Copy", "print"), ("ReadState", "probe"), ("state", "probe"), ("ReadNumber", "probe")),
        ):
            self.rule(on, "unreachable", delay_ms=7000)
            self.assertEqual(self.steer(command), Fault(What.DARK_BEFORE, 7.0), command)
        self.rule("any", "unreachable")
        self.assertIsNone(self.steer("ReadState"))
        self.assertEqual(self.steer("ZReport"), Fault(What.DARK_BEFORE, DARK_S))

    def test_slow(self) -> None:
        """What is accepted may take its time."""
        self.rule("z", "accept", delay_ms=1500)
        self.assertEqual(self.steer("ZReport"), Fault(What.SLOW, 1.5))
        self.rule("z", "accept")
        self.assertIsNone(self.steer("ZReport"))

    def test_refusal(self) -> None:
        """A refusal is the register's own, for the reason of the rule, and only once."""
        for code, why in (("", Why.PAPER), ("cover", Why.COVER), ("shift_over", Why.SHIFT_OVER), ("?", Why.PAPER)):
            self.rule("z", "refuse", code=code)
            self.assertIsNone(self.steer("ZReport"))
            self.assertIs(self.assertRaises(Refuses, self.iron.z_report).why, why)
            self.iron.z_report()


class RegisterTests(SynchronousTestCase):
    """The command, its ports and the actions of people."""

    def simulation(self, protocol: str, *more: str) -> Simulation:
        """The register of a protocol."""
        return Simulation(self, f"register --protocol {protocol}", *more)

    def test_options(self) -> None:
        """The protocol is named; what a register does not have is refused."""
        for words in (
            "register",
            "register --protocol zvt",
            "register --protocol mg --serial COM1",
            "register --protocol ics --after-cut burns",
            "register --protocol ics --ledger file",
        ):
            self.assertRaises(usage.UsageError, options, words)
        self.assertIn(", ".join(REGISTER_WIRES), str(options("register --protocol mg")))

    def test_serial_lines(self) -> None:
        """A serial line has the settings of its protocol."""
        for protocol, expected in (
            ("datecs", (115200, "N", 1)),
            ("datecs-classic", (9600, "N", 1)),
            ("ics", (9600, "N", 1)),
            ("maria", (115200, "E", 2)),
        ):
            settings = options(f"register --protocol {protocol} --serial COM1").serial()
            assert settings is not None
            self.assertEqual((settings.baudrate, settings.parity, settings.stopbits), expected)

    def test_each_answers(self) -> None:
        """Each protocol answers a question on its line, and its ledger begins empty."""
        asked: dict[str, list[bytes]] = {
            "datecs": [_datecs(ukrainian.ReadState())],
            "datecs-classic": [_datecs(classic.ReadStatus())],
            "ics": [IcsFrame(1, 0, ics.ReadState().encode()).encode(False)],
            "maria": [b"UU", _maria(maria.ReadNumber())],
            "mg": [b"GET /cgi/state HTTP/1.1\r\nHost: x\r\n\r\n"],
        }
        self.assertEqual(set(asked), set(REGISTER_WIRES))
        for protocol, questions in asked.items():
            register = self.simulation(protocol)
            line = register.line()
            for question in questions:
                self.assertTrue(line.say(question), protocol)
            self.assertEqual(register.entries, [])
            self.assertEqual(register.running.peer.name, f"register {protocol}")

    def test_sale_of_people(self) -> None:
        """A sale at the register's own keyboard is in its ledger, with the time of the clock."""
        for protocol in REGISTER_WIRES:
            register = self.simulation(protocol)
            register.json("POST", "/sell_by_hand", {"sum": 12.5})
            [entry] = register.json("GET", "/ledger")["entries"]
            self.assertEqual((entry["kind"], entry["sum"], entry["dt"]), ("sale", 1250, "20261121120000"), protocol)
            self.assertTrue(register.json("GET", "/state")["shift_open"])
            self.assertEqual(register.json("GET", "/state")["drawer"], 1250)

    def test_people(self) -> None:
        """Cover, paper, power and time: the register refuses, and works again."""
        register = self.simulation("datecs")
        for action, back, why in (("open_cover", "close_cover", "cover"), ("take_paper_out", "load_paper", "paper")):
            register.json("POST", f"/{action}")
            status, _, answer = register.ask("POST", "/sell_by_hand", {})
            self.assertEqual((status, why in answer.decode()), (409, True))
            register.json("POST", f"/{back}")
        register.json("POST", "/sell_by_hand")
        register.json("POST", "/let_hours_pass", {"hours": 25})
        self.assertEqual(register.ask("POST", "/sell_by_hand", {})[0], 409)
        line = register.line()
        register.json("POST", "/power_cut", {"seconds": 3})
        self.assertTrue(line.broken)
        self.assertIsNone(register.factory.buildProtocol(None))
        register.reactor.advance(4)
        self.assertIsNotNone(register.factory.buildProtocol(None))

    def test_no_shift(self) -> None:
        """No hours pass for a shift that is not open."""
        self.assertEqual(self.simulation("ics").ask("POST", "/let_hours_pass", {})[0], 409)

    def test_after_cut(self) -> None:
        """An open document is kept or void after a power cut, as it was asked for."""
        for habit, kept in (("keeps", True), ("voids", False)):
            register = self.simulation("datecs-classic", "--after-cut", habit)
            line = register.line()
            line.say(_datecs(classic.Open(1, "0000", 1)))
            self.assertEqual(register.json("GET", "/state")["document"], {"kind": "sale", "total": 0})
            register.json("POST", "/power_cut")
            self.assertEqual(register.json("GET", "/state")["document"] is not None, kept, habit)

    def test_whole_document(self) -> None:
        """An MG document meets the rule of its kind, and a refusal changes nothing."""
        register = self.simulation("mg")
        device: Any = register.factory._device
        register.json("PUT", "/scenario", {"rules": [{"on": "sale", "then": "refuse", "code": "cover"}]})
        sale = mg.Document(mg.Kind.SALE, (mg.Sale("1", "Кава", 1000, 500, 1), mg.Payment())).encode()
        device.coming = Kind.SALE
        self.assertIsNone(device.steer("register"))
        refused = msgspec.json.decode(device.answer("register", "/cgi/chk", "", sale))
        self.assertEqual(refused["err"][0]["e"], "x8B")
        self.assertEqual(register.entries, [])
        device.answer("register", "/cgi/chk", "", sale)
        self.assertEqual(register.entries, [("sale", "accepted", 500)])


class PageTests(SynchronousTestCase):
    """docs/simulators.md about registers."""

    page: ClassVar[str] = (HOME / "docs" / "simulators.md").read_text("utf-8")

    def test_nothing_is_missing(self) -> None:
        """The page names each protocol and each action of people."""
        peer = Simulation(self, "register --protocol ics").running.peer
        for name in (*REGISTER_WIRES, *peer.actions):
            self.assertTrue(re.search(rf"`{re.escape(name)}\b", self.page), name)


def _datecs(command: Any) -> bytes:
    return DatecsFrame(0x21, command.code, command.encode()).encode()


def _maria(command: Any) -> bytes:
    return frame(command.encode(), False)
