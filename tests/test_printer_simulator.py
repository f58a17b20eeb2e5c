"""The simulated printer, which knows what it has really printed."""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pictures
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.test.iosim import FakeTransport, IOPump, connect
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.commands import Barcode, Command, Cut, Drawer, Image, Logo, Qr, Text
from protocols.printers.compose import compose
from protocols.printers.delivery import Delivery, DeliveryVerdict, Inquiry
from protocols.printers.profiles import PROFILES
from protocols.printers.status import PrinterStatus
from protocols.printers.verdict import Outcome
from protocols.simulators.paper import MOST_DOTS, Blank, Paper, PrintedLine
from protocols.simulators.printer import RUBBISH, XOFF, XON, SimulatedPrinter, simulated_printer
from protocols.simulators.printer_port import PrinterLine, PrinterPort

EPSON = PROFILES["epson"]
RECEIPT: tuple[Command, ...] = (Text("ФІСКАЛЬНИЙ ЧЕК", "center"), Text("Кава 51.00"), Cut())
ASK = b"\x10\x04\x01\x10\x04\x02\x10\x04\x03\x10\x04\x04"
STAR_ASK = b"\x1b\x06\x01"
NOON = datetime(2026, 1, 2, 12, 30, 45)


def receipt(*texts: str) -> bytes:
    """The bytes of a receipt with these lines."""
    return compose([*(Text(text) for text in texts), Cut()], EPSON).stream


def rules(printer: SimulatedPrinter, *given: dict[str, Any]) -> None:
    """Set these rules for ``printer``."""
    printer.scenario.replace({"rules": list(given)})


def entries(printer: SimulatedPrinter) -> list[tuple[str, str, str]]:
    """The ledger as tuples."""
    return [(entry.kind, entry.status, entry.ref) for entry in printer.ledger.entries()]


class PaperTests(SynchronousTestCase):
    """The paper as text and as a picture."""

    def test_text(self) -> None:
        """Lines are aligned as on paper, codes are named, a cut is a dashed line."""
        printer = simulated_printer("generic-80")
        job = (Text("Чек", "center"), Text("51.00", "right"), Barcode("ean13", "482000000001"), Qr("x"), Cut())
        printer.feed(compose(job, EPSON).stream)
        lines = printer.mechanism.paper.text().split("\n")
        self.assertEqual(lines[1], " " * 43 + "51.00")
        self.assertIn("[ean13 4820000000017]", lines[2])
        self.assertIn("[qr x]", lines[3])
        self.assertEqual(lines[-2], ("- " * 24).rstrip())

    def test_wide_letters(self) -> None:
        """Enlarged characters count several times when they are centred."""
        printer = simulated_printer("epson")
        printer.feed(compose((Text("СУМА", "center", width=2),), EPSON).stream)
        self.assertEqual(printer.mechanism.paper.text(), " " * 20 + "СУМА\n")

    def test_wrapped(self) -> None:
        """A line that is wider than the paper continues on the next one."""
        printer = simulated_printer("zjiang-58")
        printer.feed(compose((Text("x" * 40),), PROFILES["zjiang-58"]).stream)
        self.assertEqual(printer.mechanism.paper.lines(), ["x" * 32, "x" * 8])

    def test_picture(self) -> None:
        """The picture is as wide as the head and as long as the paper, black on white."""
        for name in ("epson", "zjiang-58", "star", "raster-58"):
            printer = simulated_printer(name)
            job = compose(
                (Text("Ї"), Image(8, b"\xff" * 4), Qr("x"), Barcode("ean8", "9638507"), Cut()), PROFILES[name]
            )
            printer.feed(job.stream)
            picture = Pictures.open(BytesIO(printer.mechanism.paper.png()))
            length = sum(piece.dots for piece in printer.mechanism.paper.pieces)
            self.assertEqual((picture.format, picture.size), ("PNG", (PROFILES[name].dots, length)), name)
            black = picture.convert("L").histogram()[0]
            self.assertTrue(100 < black < picture.width * picture.height // 3, name)

    def test_empty(self) -> None:
        """Blank paper can be drawn."""
        self.assertEqual(Paper(384, 32).text(), "")
        self.assertEqual(Pictures.open(BytesIO(Paper(384, 32).png())).size, (384, 1))

    def test_bounded(self) -> None:
        """Only the last metres are kept."""
        paper = Paper(384, 32)
        for number in range(3000):
            paper.add(PrintedLine((Text(str(number)),), "left", 30))
        self.assertEqual(len(paper.pieces), MOST_DOTS // 30)
        self.assertEqual(paper.lines()[-1], "2999")

    def test_torn_off(self) -> None:
        """Paper that was torn off is gone."""
        paper = Paper(384, 32)
        paper.add(Blank(30))
        paper.tear_off()
        self.assertEqual(paper.pieces, ())

    def test_wrong_table(self) -> None:
        """A wrong code page number gives wrong characters, as on a real printer."""
        printer = simulated_printer("zjiang-58")
        printer.feed(compose((Text("Їжак"),), EPSON).stream)
        self.assertNotIn("Їжак", printer.mechanism.paper.text())

    def test_ideographs(self) -> None:
        """A clone in its double-byte mode prints ideographs."""
        printer = simulated_printer("zjiang-58")
        printer.feed(b"\x1b@\x1bt\x49" + "Кава".encode("cp1251") + b"\n")
        (line,) = printer.mechanism.paper.lines()
        self.assertEqual(len(line), 2)

    def test_nothing_for_too_wide(self) -> None:
        """A QR code that is wider than the paper is not printed, without an answer."""
        printer = simulated_printer("zjiang-58")
        printer.feed(b"\x1d(k\x03\x001C\x10\x1d(k\x2b\x001P0" + b"x" * 40 + b"\x1d(k\x03\x001Q0")
        self.assertEqual(printer.mechanism.paper.pieces, ())

    def test_logo(self) -> None:
        """A stored picture is shown by its number."""
        printer = simulated_printer("epson")
        printer.feed(compose((Logo(7),), EPSON).stream)
        self.assertEqual(printer.mechanism.paper.lines(), ["[logo 7]"])


class StateTests(SynchronousTestCase):
    """Actions of people, and the reported state."""

    def test_fine(self) -> None:
        """A printer without errors reports that."""
        printer = simulated_printer("epson")
        self.assertEqual(printer.feed(ASK), b"\x12\x12\x12\x12")

    def test_conditions(self) -> None:
        """Every condition is reported by its bits."""
        printer = simulated_printer("epson")
        printer.open_cover()
        self.assertEqual(printer.feed(ASK), b"\x1a\x16\x12\x12")
        printer.close_cover()
        printer.take_paper_out()
        self.assertEqual(printer.feed(ASK), b"\x1a\x32\x12\x7e")
        printer.load_paper(1000)
        self.assertEqual(printer.feed(ASK), b"\x12\x12\x12\x1e")
        printer.load_paper()
        printer.break_down("cutter")
        self.assertEqual(printer.feed(ASK), b"\x1a\x52\x1a\x12")
        printer.mend()
        self.assertEqual(printer.feed(ASK), b"\x12\x12\x12\x12")

    def test_drawer(self) -> None:
        """The drawer stays open until it is closed."""
        printer = simulated_printer("epson")
        printer.feed(compose((Drawer(), Text("a")), EPSON).stream)
        self.assertEqual(printer.feed(b"\x10\x04\x01\x1dr\x02"), b"\x16\x01")
        printer.close_drawer()
        self.assertEqual(printer.feed(b"\x10\x04\x01\x1dr\x02"), b"\x12\x00")

    def test_changes(self) -> None:
        """Automatic status, if switched on, reports every change, and only changes."""
        printer = simulated_printer("epson")
        self.assertEqual(printer.feed(b"\x1b@\x1da\xff"), b"\x10\x00\x00\x00")
        printer.open_cover()
        self.assertEqual(printer.take_answers(), b"\x38\x00\x00\x00")
        printer.open_cover()
        self.assertEqual(printer.take_answers(), b"")
        printer.close_cover()
        self.assertEqual(printer.take_answers(), b"\x10\x00\x00\x00")
        printer.feed(b"\x1b@")
        printer.open_cover()
        self.assertEqual(printer.take_answers(), b"")

    def test_names(self) -> None:
        """It returns its names."""
        self.assertEqual(simulated_printer("epson").feed(b"\x1dIB"), b"_EPSON\x00")

    def test_named_proof(self) -> None:
        """It returns the name of a mark when it reaches it."""
        self.assertEqual(simulated_printer("epson").feed(b"\x1d(H\x06\x0000AB01"), b"\x37\x22AB01\x00")

    def test_real_time(self) -> None:
        """The drawer opens by the real-time command even when the printer cannot print."""
        printer = simulated_printer("epson")
        printer.take_paper_out()
        printer.feed(receipt("a"))
        printer.feed(compose((Drawer(),), EPSON).stream)
        self.assertEqual((printer.mechanism.pulses, printer.mechanism.paper.pieces), (1, ()))

    def test_recovered_at_once(self) -> None:
        """After a cutter fault it can continue, or discard its buffer."""
        for command, lines in ((b"\x10\x05\x01", ["a"]), (b"\x10\x05\x02", [])):
            printer = simulated_printer("epson")
            printer.break_down("cutter")
            printer.feed(receipt("a"))
            printer.feed(command)
            self.assertEqual(printer.mechanism.paper.lines(), lines)

    def test_mute(self) -> None:
        """A mute printer prints and never answers."""
        printer = simulated_printer("epson", mute=True)
        self.assertEqual(printer.feed(ASK + receipt("a")), b"")
        self.assertEqual(printer.mechanism.paper.lines(), ["a"])

    @settings(max_examples=300, deadline=None)
    @given(
        st.sampled_from(["epson", "zjiang-58", "star"]),
        st.lists(
            st.binary(max_size=80) | st.sampled_from([ASK, b"\x1b@", receipt("a"), b"\x1b\x06\x01"]), max_size=8
        ),
    )
    def test_any_bytes(self, name: str, pieces: list[bytes]) -> None:
        """No input makes it fail, and it prints afterwards."""
        printer = simulated_printer(name)
        for piece in pieces:
            printer.feed(piece)
            printer.mechanism.paper.text()
        printer.power_cycle()
        printer.hang_up()
        printer.mend()
        printer.mechanism.paper.tear_off()
        printer.feed(compose((Text("Їжак"),), PROFILES[name]).stream)
        self.assertEqual(printer.mechanism.paper.lines(), ["Їжак"])


class StopTests(SynchronousTestCase):
    """What stops a printer during a job, and how it continues."""

    def test_paper_ends(self) -> None:
        """It stops before the line that does not fit, keeps the rest, and prints it on new paper."""
        printer = simulated_printer("epson", roll_dots=100)
        answers = printer.feed(compose([Text(str(number)) for number in range(6)], EPSON).stream)
        self.assertEqual((printer.mechanism.paper.lines(), answers, entries(printer)), (["0", "1", "2"], b"", []))
        self.assertEqual(printer.status.paper, "out")
        printer.load_paper()
        self.assertEqual(printer.mechanism.paper.lines(), ["0", "1", "2", "3", "4", "5"])
        self.assertEqual((printer.take_answers(), entries(printer)), (b"\x00", [("print", "accepted", "1")]))

    def test_cover(self) -> None:
        """With an open cover it takes data, prints nothing, and prints it when the cover is closed."""
        printer = simulated_printer("epson")
        printer.open_cover()
        self.assertEqual(printer.feed(receipt("a")), b"")
        self.assertEqual(printer.mechanism.paper.pieces, ())
        printer.close_cover()
        self.assertEqual((printer.mechanism.paper.lines(), printer.take_answers()), (["a"], b"\x00"))

    def test_printed_after_the_line_is_gone(self) -> None:
        """Data that was taken is printed even after the client has closed."""
        printer = simulated_printer("epson")
        printer.open_cover()
        printer.feed(receipt("a"))
        printer.hang_up()
        printer.close_cover()
        self.assertEqual((printer.mechanism.paper.lines(), entries(printer)), (["a"], [("print", "accepted", "1")]))
        self.assertEqual(printer.take_answers(), b"")

    def test_full_buffer(self) -> None:
        """Data that does not fit into the buffer of a stopped printer is lost and counted."""
        printer = simulated_printer("epson", buffer_size=1000)
        printer.open_cover()
        printer.feed(b"x" * 900 + b"\n")
        self.assertEqual((printer.lost, printer.room), (0, 99))
        printer.feed(b"y" * 200)
        self.assertEqual((printer.lost, printer.room), (101, 0))

    def test_flow_control(self) -> None:
        """On a serial line it sends XOFF before the buffer is full, and XON when there is room."""
        printer = simulated_printer("epson", flow_control=True, buffer_size=2000)
        printer.open_cover()
        self.assertEqual(printer.feed(b"x\n" * 700), b"")
        self.assertEqual(printer.feed(b"x\n" * 100), XOFF)
        self.assertEqual(printer.feed(b"x\n" * 10), b"")
        printer.close_cover()
        self.assertEqual(printer.take_answers(), XON)
        self.assertEqual((len(printer.mechanism.paper.lines()), printer.lost), (810, 0))

    def test_picture_larger_than_the_buffer(self) -> None:
        """A picture larger than the buffer is printed as it comes."""
        printer = simulated_printer("epson", buffer_size=1000)
        printer.feed(b"\x1dv0\0\x48\0\x64\0" + bytes(7200))
        self.assertEqual((len(printer.mechanism.paper.pieces), printer.lost), (1, 0))

    def test_power(self) -> None:
        """Switching off and on discards unprinted data, and a partial job is not a job."""
        printer = simulated_printer("epson", roll_dots=100)
        broken: list[bool] = []
        printer.on_break = lambda: broken.append(True)
        printer.feed(receipt(*"abcdef"))
        printer.power_cycle()
        printer.hang_up()
        printer.load_paper()
        self.assertEqual((printer.mechanism.paper.lines(), entries(printer), broken), (["a", "b", "c"], [], [True]))
        printer.feed(receipt("z"))
        self.assertEqual((printer.mechanism.paper.lines()[-1], len(entries(printer))), ("z", 1))


class LedgerTests(SynchronousTestCase):
    """The ledger: what was really printed."""

    def test_entry(self) -> None:
        """Each complete job is an entry with its number and time."""
        printer = simulated_printer("epson", now=lambda: NOON)
        for _ in range(2):
            printer.feed(receipt("a"))
            printer.hang_up()
        self.assertEqual(entries(printer), [("print", "accepted", "1"), ("print", "accepted", "2")])
        self.assertEqual({entry.dt for entry in printer.ledger.entries()}, {"20260102123045"})

    def test_nothing_printed(self) -> None:
        """Queries and drawer openings are not print jobs."""
        printer = simulated_printer("epson")
        printer.feed(ASK + b"\x1b@\x1dr\x01" + b"\x1bp\x00\x19\xfa")
        printer.hang_up()
        self.assertEqual((entries(printer), printer.mechanism.pulses), ([], 1))

    def test_two_receipts_on_one_line(self) -> None:
        """Two receipts over one connection are two jobs; two copies before one proof are one."""
        printer = simulated_printer("epson")
        printer.feed(receipt("a") + receipt("b"))
        self.assertEqual(len(entries(printer)), 2)
        printer.feed(compose((Text("a"), Cut(), Text("a"), Cut()), EPSON).stream)
        self.assertEqual(len(entries(printer)), 3)

    def test_restart(self) -> None:
        """A ledger file outlives the process, and numbers continue."""
        # Not prn.ledger: for Windows that is a printer.
        path = Path(self.mktemp()) / "till.ledger"
        for _ in range(2):
            printer = simulated_printer("epson", ledger=path)
            printer.feed(receipt("a"))
            printer.ledger.close()
        printer = simulated_printer("epson", ledger=path)
        self.addCleanup(printer.ledger.close)
        self.assertEqual([ref for _, _, ref in entries(printer)], ["1", "2"])


class Wire(FakeTransport):
    """A line in memory: the printer closes it when its client has written all."""

    def loseWriteConnection(self) -> None:
        """End the line."""
        self.loseConnection()


class ScenarioTests(SynchronousTestCase):
    """Rules with the real client over a line in memory."""

    def setUp(self) -> None:
        self.clock = Clock()

    def deliver(self, printer: SimulatedPrinter, *commands: Command, seconds: int = 60) -> DeliveryVerdict | None:
        """Deliver a receipt to ``printer``; return the verdict, if there is one after ``seconds``."""
        delivery = Delivery(compose(commands or RECEIPT, printer.profile), self.clock)
        found: list[DeliveryVerdict] = []
        delivery.done.addCallback(found.append)
        line = PrinterPort(printer).buildProtocol(None)
        assert line is not None
        pump = connect(line, Wire(line, True), delivery, Wire(delivery, False))
        self.pump(pump, seconds)
        return found[0] if found else None

    def pump(self, pump: IOPump, seconds: int) -> None:
        """Carry bytes and advance the time."""
        for _ in range(seconds * 4):
            pump.flush()
            self.clock.advance(0.25)
        pump.flush()

    def test_printed(self) -> None:
        """Every profile with a proof prints and proves, in any language."""
        for name in ("epson", "epson-old", "citizen", "star"):
            printer = simulated_printer(name)
            verdict = self.deliver(printer)
            assert verdict is not None
            self.assertIs(verdict.outcome, Outcome.PRINTED, name)
            self.assertEqual(entries(printer), [("print", "accepted", "1")])

    def test_accepted(self) -> None:
        """A mute clone prints without a proof."""
        printer = simulated_printer("zjiang-58", mute=True)
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertIs(verdict.outcome, Outcome.ACCEPTED)
        self.assertEqual(entries(printer), [("print", "accepted", "1")])

    def expect(self, then: str, outcome: Outcome, cause: str, printed: bool, **rule: object) -> None:
        """Check a rule: its verdict, whether paper came out, and a successful repetition."""
        for name in ("epson", "star"):
            printer = simulated_printer(name)
            rules(printer, {"on": "print", "then": then, **rule})
            verdict = self.deliver(printer)
            assert verdict is not None
            self.assertEqual((verdict.outcome, verdict.cause), (outcome, cause), name)
            self.assertEqual(bool(printer.mechanism.paper.pieces), printed, name)
            accepted = [status for _, status, _ in entries(printer)].count("accepted")
            self.assertEqual(accepted, int(printed), name)
            again = self.deliver(printer)
            assert again is not None
            self.assertIs(again.outcome, Outcome.PRINTED, name)

    def test_refused(self) -> None:
        """A refusal is the end of the paper or the condition in the code; nothing is printed, but the next job is."""
        self.expect("refuse", Outcome.NOT_PRINTED, "paper", False)
        for code in ("cover", "cutter", "mechanical", "overheat", "unrecoverable", "offline"):
            self.expect("refuse", Outcome.NOT_PRINTED, code, False, code=code)
        self.expect("refuse", Outcome.NOT_PRINTED, "paper", False, code=5005)

    def test_refusal_in_the_ledger(self) -> None:
        """A refusal is an entry too."""
        printer = simulated_printer("epson")
        rules(printer, {"on": "print", "then": "refuse"})
        self.deliver(printer)
        self.assertEqual(entries(printer), [("print", "refused", "")])

    def test_lost_before(self) -> None:
        """The line breaks before anything is printed: unknown, and nothing on paper."""
        self.expect("lost_before", Outcome.UNKNOWN, "lost", False)

    def test_lost_after(self) -> None:
        """Everything is printed and the line breaks: unknown, and all of it on paper."""
        self.expect("lost_after", Outcome.UNKNOWN, "lost", True)

    def test_silent(self) -> None:
        """A silent printer gets nothing and prints nothing."""
        self.expect("silent", Outcome.NOT_PRINTED, "silent", False)

    def test_garbage(self) -> None:
        """Garbage instead of the proof: with ESC/POS the job is unknown and on paper."""
        printer = simulated_printer("epson")
        rules(printer, {"on": "print", "then": "garbage"})
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertEqual((verdict.outcome, verdict.cause), (Outcome.UNKNOWN, "unproven"))
        self.assertEqual(entries(printer), [("print", "accepted", "1")])

    def test_garbage_from_star(self) -> None:
        """A Star printer is queried for its counter again, so garbage in between has no effect."""
        printer = simulated_printer("star")
        rules(printer, {"on": "print", "then": "garbage"})
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertIs(verdict.outcome, Outcome.PRINTED)

    def test_unreachable(self) -> None:
        """The connection fails, which uses up the rule."""
        printer = simulated_printer("epson")
        rules(printer, {"on": "print", "then": "unreachable"})
        self.assertIsNone(PrinterPort(printer).buildProtocol(None))
        self.assertEqual((printer.scenario.document()["rules"], printer.connected), ([], False))
        self.assertIsNotNone(PrinterPort(printer).buildProtocol(None))
        rules(printer, {"on": "print", "then": "unreachable"})
        self.assertEqual((printer.feed(receipt("a") + ASK), printer.mechanism.paper.pieces), (b"", ()))

    def test_any(self) -> None:
        """A rule for any operation applies to a print."""
        printer = simulated_printer("epson")
        rules(printer, {"on": "any", "then": "lost_after"})
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertIs(verdict.outcome, Outcome.UNKNOWN)

    def test_delay(self) -> None:
        """A delay postpones the print and its proof."""
        printer = simulated_printer("epson", clock=self.clock)
        rules(printer, {"on": "print", "then": "accept", "delay_ms": 1500})
        self.assertIsNone(self.deliver(printer, seconds=1))
        self.assertEqual(printer.mechanism.paper.pieces, ())
        printer = simulated_printer("epson", clock=self.clock)
        rules(printer, {"on": "print", "then": "accept", "delay_ms": 1500})
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertIs(verdict.outcome, Outcome.PRINTED)

    def test_paper_ends_in_the_middle(self) -> None:
        """Paper that ends during the job leaves it unknown; with new paper the rest is printed once."""
        for name in ("epson", "star"):
            printer = simulated_printer(name, roll_dots=2000)
            lines = [Text(f"{number}") for number in range(100)]
            verdict = self.deliver(printer, *lines)
            assert verdict is not None
            self.assertEqual((verdict.outcome, verdict.cause), (Outcome.UNKNOWN, "paper"))
            self.assertLess(len(printer.mechanism.paper.lines()), 100)
            self.assertEqual(entries(printer), [])
            printer.load_paper()
            self.assertEqual(printer.mechanism.paper.lines(), [f"{number}" for number in range(100)])
            self.assertEqual(entries(printer), [("print", "accepted", "1")])

    def test_left_over_picture(self) -> None:
        """A printer in the middle of an earlier job's picture prints the next receipt completely."""
        printer = simulated_printer("epson")
        printer.feed(b"\x1b@\x1dv0\0\x48\0\x30\0" + b"\xff" * 1000)
        printer.hang_up()
        verdict = self.deliver(printer)
        assert verdict is not None
        self.assertIs(verdict.outcome, Outcome.PRINTED)
        self.assertEqual(printer.mechanism.paper.lines()[-2:], ["ФІСКАЛЬНИЙ ЧЕК", "Кава 51.00"])

    def ask(self, printer: SimulatedPrinter) -> Inquiry:
        """Query the state of ``printer``."""
        inquiry = Inquiry(printer.profile, self.clock)
        line = PrinterPort(printer).buildProtocol(None)
        assert line is not None
        self.pump(connect(line, FakeTransport(line, True), inquiry, FakeTransport(inquiry, False)), 3)
        return inquiry

    def test_probe(self) -> None:
        """Rules for queries apply to queries only, and rules for prints to prints only."""
        for name in ("epson", "star"):
            printer = simulated_printer(name)
            rules(printer, {"on": "any", "then": "silent"}, {"on": "probe", "then": "refuse", "code": "cover"})
            status: PrinterStatus = self.successResultOf(self.ask(printer).done)
            self.assertEqual(status.reason, "cover", name)
            self.assertIsNone(self.successResultOf(self.ask(printer).done).reason)
            self.assertEqual([rule["on"] for rule in printer.scenario.document()["rules"]], ["any"])
            self.assertEqual(entries(printer), [])

    def test_probe_goes_wrong(self) -> None:
        """A query can end in silence, garbage or a broken line."""
        for then in ("silent", "garbage", "lost_before"):
            for name in ("epson", "star"):
                printer = simulated_printer(name)
                rules(printer, {"on": "probe", "then": then})
                self.failureResultOf(self.ask(printer).done)
                self.assertEqual(printer.scenario.document()["rules"], [])

    def test_in_process(self) -> None:
        """Rules also work without a port: a broken line ignores data until it is closed."""
        printer = simulated_printer("epson")
        rules(printer, {"on": "print", "then": "lost_after"}, {"on": "print", "then": "garbage"})
        self.assertEqual(printer.feed(receipt("a") + ASK), b"")
        self.assertEqual(printer.feed(ASK), b"")
        printer.hang_up()
        self.assertEqual(printer.feed(receipt("b")), RUBBISH)
        self.assertEqual(printer.mechanism.paper.lines(), ["a", "b"])


class PortTests(SynchronousTestCase):
    """The network port."""

    def line(self, port: PrinterPort) -> tuple[PrinterLine, StringTransport]:
        """Connect a client."""
        line, transport = port.buildProtocol(None), StringTransport()
        assert line is not None
        line.makeConnection(transport)
        return line, transport

    def test_one_at_a_time(self) -> None:
        """A second client waits until the first one is gone, and is served then."""
        port = PrinterPort(simulated_printer("epson"))
        first, one = self.line(port)
        second, two = self.line(port)
        second.dataReceived(ASK)
        first.dataReceived(ASK)
        self.assertEqual((one.value(), two.value()), (b"\x12" * 4, b""))
        first.connectionLost()
        self.assertEqual(two.value(), b"\x12" * 4)

    def test_turned_away(self) -> None:
        """Some printers refuse the second client."""
        port = PrinterPort(simulated_printer("epson"), turns_away=True)
        first, _ = self.line(port)
        second, two = self.line(port)
        self.assertTrue(two.disconnecting)
        second.connectionLost()
        first.connectionLost()
        third, three = self.line(port)
        third.dataReceived(ASK)
        self.assertEqual(three.value(), b"\x12" * 4)

    def test_gave_up_waiting(self) -> None:
        """A client that gave up waiting is not served."""
        port = PrinterPort(simulated_printer("epson"))
        first, _ = self.line(port)
        second, _ = self.line(port)
        second.dataReceived(receipt("b"))
        second.connectionLost()
        first.connectionLost()
        self.assertEqual(port.printer.mechanism.paper.pieces, ())

    def test_full_buffer(self) -> None:
        """A stopped printer stops reading when its buffer is full, and loses nothing."""
        printer = simulated_printer("epson", buffer_size=500)
        line, transport = self.line(PrinterPort(printer))
        printer.open_cover()
        line.dataReceived(b"x\n" * 1000)
        self.assertEqual(transport.producerState, "paused")
        printer.close_cover()
        self.assertEqual(transport.producerState, "producing")
        self.assertEqual((len(printer.mechanism.paper.lines()), printer.lost), (1000, 0))

    def test_sent_and_gone(self) -> None:
        """Data that was sent before the client closed is printed."""
        port = PrinterPort(simulated_printer("epson"))
        line, _ = self.line(port)
        line.dataReceived(receipt("a"))
        line.connectionLost()
        self.assertEqual((port.printer.mechanism.paper.lines(), len(entries(port.printer))), (["a"], 1))
