"""What devices show of themselves, and the one list of what needs a person."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import observing
from dmtwisted.devices.devices import Device, PrinterDevice, TerminalDevice
from dmtwisted.events import Event
from dmtwisted.metrics import render
from dmtwisted.needs import Need
from dmtwisted.observed import FRESH_S
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.ways import LineWay
from dmtwisted.terminals.connection import Unreached
from dmtwisted.terminals.privatbank.driver import PrivatbankDriver
from dmtwisted.terminals.privatbank.settings import PrivatbankSettings
from dmtwisted.terminals.service import TerminalService
from protocols.simulators.in_process import InProcessEndpoint
from protocols.simulators.printer import simulated_printer
from protocols.simulators.printer_port import PrinterPort
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.terminal import Terminal
from tests.prro_shop import PrroShop
from tests.shop import Shop
from tests.web_case import WebCase

STEP = 0.25


class ObservedCase(SynchronousTestCase):
    """A shop whose time passes in steps, as a page sees it."""

    shop: Shop

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds / STEP)):
            self.shop.clock.advance(STEP)

    def look(self) -> None:
        """Open a page."""
        self.heard: list[Event] = []
        self.shop.core.dispatcher.events.listen(self.heard.append)
        self.shop.core.dispatcher.events.pages = 1

    def device(self, name: str) -> Device:
        """One device."""
        return self.shop.core.devices.by_name(name)

    def health(self, name: str) -> str:
        """How a device is, as far as that was observed."""
        health: str = self.shop.built(name).observed.health
        return health

    def needs(self, device: str = "") -> dict[str, Need]:
        """What needs a person now, by code; of one device."""
        listed = self.shop.core.needs.seen()
        return {need.code: need for need in listed if need.device == device}


class RegisterTests(ObservedCase):
    """A register at the tax service."""

    def setUp(self) -> None:
        """Two registers with keys, and nobody looks."""
        self.shop = self.prro = PrroShop(self, "one", "two")

    def away(self, then: str = "unreachable") -> None:
        """The tax service stays away."""
        self.prro.rules(*({"on": on, "then": then, "times": 0} for on in ("probe", "any")))

    def test_fault_and_recovery(self) -> None:
        """With a page open, a tax service that is away shows within 5 s, whatever way it is away, and so does its
        return; without a question nothing is known."""
        self.assertEqual(self.health("one"), "unknown")
        self.look()
        self.wait(3)
        self.assertEqual((self.health("one"), self.needs("one")), ("good", {}))
        for then in ("unreachable", "silent"):
            self.away(then)
            self.wait(5)
            self.assertEqual(self.health("one"), "bad", then)
            need = self.needs("one")["tax_away"]
            self.assertEqual((need.level, need.link.split("/")[3]), ("bad", "registers"))
            self.assertTrue(need.at and need.advice.uk and need.advice.en)
            self.prro.rules()
            self.wait(5)
            self.assertEqual((self.health("one"), self.needs("one")), ("good", {}), then)
        told = [(event.data["device"], event.data["needs"]) for event in self.heard if event.kind == "needs"]
        self.assertEqual([codes for name, codes in told if name == "one"], [["tax_away"], [], ["tax_away"], []])

    def test_in_the_background(self) -> None:
        """With nobody there, a register is asked once a minute, and after a failure until it works again."""
        self.wait(1)
        asked: list[object] = []
        receive = self.prro.far_end.receive

        def count(call: Any) -> Any:
            asked.append(call)
            return receive(call)

        self.patch(self.prro.far_end, "receive", count)
        self.wait(57)
        self.assertEqual(asked, [])
        self.wait(5)
        self.assertEqual(len(asked), 2)
        self.away()
        self.wait(61)
        self.assertEqual(self.health("one"), "bad")
        self.prro.rules()
        self.wait(8)
        self.assertEqual(self.health("one"), "good")

    def test_refused_sale(self) -> None:
        """A register is not ready after 1050: it says since when, and is ready again with the next sale."""
        self.prro.settings("one", offline_allowed=False)
        self.assertEqual(self.prro.fiscal(0, device="one")["res"], 0)
        self.assertEqual(self.health("one"), "good")
        self.away()
        self.assertEqual(self.sale(), 1050)
        need = self.needs("one")["tax_away"]
        self.assertEqual((need.level, need.at), ("bad", self.shop.core.clock.now()))
        self.prro.rules()
        self.assertEqual(self.sale(), 0)
        self.assertEqual(self.needs("one"), {})

    def test_refused_document(self) -> None:
        """What the tax service refuses is shown until it accepts a document; that it is there does not end it."""
        self.assertEqual(self.prro.fiscal(0, device="one")["res"], 0)
        self.prro.rules({"on": "sale", "then": "refuse", "code": "7"})
        self.assertNotIn(self.sale(), (0, 1050))
        self.look()
        self.wait(5)
        self.assertEqual(self.needs("one")["refused"].level, "warn")
        self.assertEqual(self.sale(), 0)
        self.assertEqual(self.needs("one"), {})

    def sale(self) -> int:
        """The result of a sale."""
        row = {"code": "1", "name": "Кава", "cnt": 1, "price": 10, "taxgrp": 1}
        receipt = {"sum": 10, "rows": [row], "pays": [{"type": 0, "sum": 10}]}
        res: int = self.prro.fiscal(1, device="one", receipt=receipt)["res"]
        return res

    def test_program_listens(self) -> None:
        """A program that listens day and night makes no more questions than nobody."""
        self.look()
        self.shop.core.dispatcher.events.pages = 0
        self.wait(3)
        self.away()
        self.wait(30)
        self.assertEqual(self.health("one"), "good")
        self.wait(40)
        self.assertEqual(self.health("one"), "bad")

    def test_not_during_a_task(self) -> None:
        """Nothing is asked while a task runs, and a sale does not wait for a question."""
        self.look()
        self.wait(3)
        turns = self.device("one").turns
        self.prro.done(turns.take())
        self.away()
        self.wait(6)
        self.assertEqual((self.health("one"), self.health("two")), ("good", "bad"))
        turns.give_back()
        self.prro.rules()
        self.wait(5)
        self.away("silent")
        self.wait(2.5)
        self.assertFalse(turns.taken)

    def test_stop(self) -> None:
        """A service that stops asks no more."""
        self.look()
        self.away("silent")
        self.wait(2.5)
        self.prro.done(self.shop.core.close())
        left = [call for call in self.shop.clock.getDelayedCalls() if "observing" in repr(call)]
        self.assertEqual(left, [])


class PrinterTests(ObservedCase):
    """A printer with a line of its own."""

    def setUp(self) -> None:
        """A printer as of a shop, and a page that is open."""
        self.shop = Shop(self, whole=True)
        was: Any = self.device("prn")
        self.printer = simulated_printer("epson", clock=self.shop.clock)
        self.addCleanup(self.printer.ledger.close)
        endpoint = InProcessEndpoint(PrinterPort(self.printer), self.shop.clock)
        way = LineWay(self.printer.profile, endpoint, self.shop.clock, 60.0)
        core = self.shop.core
        built = PrinterService(was.row.n, "prn", self.shop.store, way, core.clock)
        core.devices._keep(PrinterDevice(was.row, was.driver, was.turns, was.settings, built))
        self.look()
        self.wait(3)

    def test_conditions(self) -> None:
        """Paper, cover, a fault and a printer that is switched off show within 5 s, and so does their end."""
        self.assertEqual((self.health("prn"), self.needs("prn")), ("good", {}))
        faults: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
            ("paper_out", self.printer.take_paper_out, self.printer.load_paper),
            ("cover_open", self.printer.open_cover, self.printer.close_cover),
            ("fault", lambda: self.printer.break_down("cutter"), self.printer.mend),
            ("not_answering", lambda: self.rule("unreachable"), lambda: self.printer.scenario.replace({"rules": []})),
            ("not_answering", lambda: self.rule("silent"), lambda: self.printer.scenario.replace({"rules": []})),
        ]
        for code, begin, end in faults:
            begin()
            self.wait(5)
            self.assertEqual(list(self.needs("prn")), [code])
            self.assertEqual((self.health("prn"), self.needs("prn")[code].level), ("bad", "bad"))
            end()
            self.wait(5)
            self.assertEqual((self.health("prn"), self.needs("prn")), ("good", {}), code)

    def rule(self, then: str) -> None:
        """Let the printer behave so from now on."""
        rules = [{"on": on, "then": then, "times": 0} for on in ("probe", "any")]
        self.printer.scenario.replace({"rules": rules})

    def test_near_end(self) -> None:
        """Paper near its end, and a drawer that is left open, ask for attention while the printer works."""
        self.printer.load_paper(roll_dots=10)
        self.wait(5)
        self.assertEqual((self.health("prn"), self.needs("prn")["paper_low"].level), ("good", "warn"))

    def test_a_task_waits(self) -> None:
        """A print that comes during a question waits for its end, 2 s at most; none begins while it prints."""
        self.rule("silent")
        while not self.device("prn").turns.taken:
            self.shop.clock.advance(STEP)
        self.assertFalse(self.device("prn").turns.busy)
        begun = self.shop.clock.seconds()
        turn = Deferred.fromCoroutine(self.device("prn").turns.take())
        self.printer.scenario.replace({"rules": []})
        while not turn.called:
            self.shop.clock.advance(STEP)
        self.assertLessEqual(self.shop.clock.seconds() - begun, observing.LIMIT_S)
        self.printer.take_paper_out()
        self.wait(6)
        self.assertNotIn("paper_out", self.needs("prn"))
        self.device("prn").turns.give_back()
        self.wait(5)
        self.assertIn("paper_out", self.needs("prn"))

    def test_a_print_tells(self) -> None:
        """The fate of a print shows the printer's state at once, with nobody asking."""
        self.printer.take_paper_out()
        answer = self.shop.asked({"ver": 6, "device": "prn", "type": 2, "doc": {"test": 1}})
        self.wait(1)
        self.assertEqual(json.loads(self.successResultOf(answer))["res"], 430)
        self.assertEqual(self.health("prn"), "bad")

    def test_says_nothing(self) -> None:
        """A printer that answers no question is asked no more; without work nothing is known of it after a while."""
        built = self.shop.built("prn")

        async def nothing() -> None:
            return None

        self.patch(built._way, "status", nothing)
        self.wait(3)
        self.assertEqual(built.observed.asked, False)
        self.assertEqual(self.health("prn"), "good")
        self.wait(FRESH_S + 1)
        self.assertEqual(self.health("prn"), "unknown")
        answer = self.shop.asked({"ver": 6, "device": "prn", "type": 2, "doc": {"test": 1}})
        self.wait(6)
        self.assertEqual(json.loads(self.successResultOf(answer))["res"], 0)
        self.assertEqual(self.health("prn"), "good")


class TerminalTests(ObservedCase):
    """A terminal with a line of its own."""

    def setUp(self) -> None:
        """A terminal as of a shop, and a page that is open."""
        self.shop = Shop(self, whole=True)
        was: Any = self.device("pos")
        core = self.shop.core
        self.terminal = Terminal(core.clock)
        self.addCleanup(self.terminal.close)
        simulator = PrivatbankSimulator(self.terminal, self.shop.clock)
        endpoint = InProcessEndpoint(simulator, self.shop.clock)
        settings = PrivatbankSettings(host="192.0.2.1", opening="short")
        driver = PrivatbankDriver(settings, endpoint, core.clock, self.shop.clock, Unreached(settings))
        built = TerminalService(was.row.n, "pos", self.shop.store, driver, core.clock)
        core.devices._keep(TerminalDevice(was.row, was.driver, was.turns, was.settings, built))
        self.look()
        self.wait(5)

    def test_fault_and_recovery(self) -> None:
        """A terminal whose port is refused, or that does not answer, shows within 5 s, and so does its return."""
        self.assertEqual((self.health("pos"), self.needs("pos")), ("good", {}))
        for then in ("silent", "unreachable"):
            self.terminal.scenario.replace({"rules": [{"on": "probe", "then": then, "times": 0}]})
            self.wait(5)
            self.assertEqual(list(self.needs("pos")), ["not_answering"], then)
            self.terminal.scenario.replace({"rules": []})
            # A line that was lost is opened as the bank's sequence has it, with its pauses.
            self.wait(15)
            self.assertEqual((self.health("pos"), self.needs("pos")), ("good", {}), then)


class TrainingTests(ObservedCase):
    """The devices of practice, whose scenario is their state."""

    def test_scenario(self) -> None:
        """A rule of a scenario shows on the device before it is met, and is not used up by that."""
        self.shop = Shop(self, whole=True)
        self.look()
        self.wait(3)
        rules: dict[str, tuple[dict[str, Any], str]] = {
            "test": ({"on": "any", "then": "unreachable", "times": 0}, "tax_away"),
            "prn": ({"on": "print", "then": "refuse", "code": "paper"}, "paper_out"),
            "pos": ({"on": "payment", "then": "unreachable"}, "not_answering"),
        }
        for name, (rule, code) in rules.items():
            self.assertEqual((self.health(name), self.needs(name)), ("good", {}))
            self.shop.scenario(rule, device=name)
            self.wait(5)
            self.assertEqual(list(self.needs(name)), [code])
            self.assertEqual(len(self.device(name).simulator.scenario.document()["rules"]), 1)
            self.shop.scenario(device=name)
            self.wait(5)
            self.assertEqual((self.health(name), self.needs(name)), ("good", {}))


class OneListTests(WebCase):
    """The same list everywhere."""

    def test_agree(self) -> None:
        """The pages, the doctor, the metrics and the events name the same needs, and are empty of them together."""
        shop = self.shop
        shop.add("kitchen")
        heard: list[Event] = []
        shop.core.dispatcher.events.listen(heard.append)
        shop.core.dispatcher.events.pages = 1
        shop.clock.advance(1)
        shop.clock.advance(3)
        shop.scenario({"on": "any", "then": "unreachable", "times": 0}, device="kitchen")
        for _ in range(20):
            shop.clock.advance(STEP)
        wanted = {("exposed", ""), ("tax_away", "kitchen")}
        doctor = self.request("POST", "/dm/api/v3/doctor").json["findings"]
        self.assertEqual({(one["code"], one["about"]) for one in doctor if one["code"]}, wanted)
        figures = self.successResultOf(Deferred.fromCoroutine(render(shop.core))).decode()
        found = re.findall(r'dmtwisted_needs{code="(\w+)",level="\w+",device="(\w*)"} 1', figures)
        self.assertEqual(set(found), wanted)
        told: dict[str, list[str]] = {}
        for event in heard:
            if event.kind == "needs":
                told[event.data["device"]] = event.data["needs"]
        # Who listens reads the page once; from then on each change is told.
        self.assertEqual(told, {"kitchen": ["tax_away"]})
        for page in ("/dm/main/", "/dm/main/codes"):
            shown = self.request("GET", page, headers=[("Accept-Language", "en")]).body.decode()
            self.assertIn("Needs you: 2", re.sub("<[^>]*>", "", shown))
            for need in shop.core.needs.now:
                self.assertIn(need.text.en, shown)
                self.assertIn(f'href="{need.link}"', shown)
        shop.scenario(device="kitchen")
        for _ in range(20):
            shop.clock.advance(STEP)
        self.assertEqual([need.code for need in shop.core.needs.now], ["exposed"])
