"""A job for one printer: its instructions, its problems, and pictures that never become commands."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.codepages import CodePage
from protocols.printers.commands import Barcode, Beep, Command, Cut, Drawer, Feed, Image, Logo, Mark, Qr, Text
from protocols.printers.compose import STRIP_ROWS, Job, compose
from protocols.printers.escpos import EscPosReader
from protocols.printers.finder import SAMPLE, finder
from protocols.printers.hazards import RealTime, RealTimeScanner, hazards, tame
from protocols.printers.instructions import (
    AskInTurn,
    CodeTable,
    CountDocument,
    CutPaper,
    FeedLines,
    Instruction,
    Letters,
    LineFeed,
    PrintBarcode,
    Pulse,
    PulseNow,
    QrPrint,
    Raster,
    RasterKeep,
    ReportName,
    SetAlign,
    SetBold,
    SetInverted,
    SingleByte,
)
from protocols.printers.profiles import PROFILES
from protocols.printers.star import StarReader
from protocols.simulators.printer import simulated_printer

EPSON, CLONE, STAR, DRAWN = PROFILES["epson"], PROFILES["zjiang-58"], PROFILES["star"], PROFILES["raster-58"]


def read(job: Job) -> list[Instruction]:
    """The instructions of the job without its opening."""
    reader = StarReader() if job.profile.language == "star" else EscPosReader()
    return list(reader.feed(job.data))


class ProfileTests(SynchronousTestCase):
    """The profiles."""

    def test_numbers(self) -> None:
        """The numbers of code pages are those of the reference (docs/reference/printers.md#profiles)."""
        expected = {
            "epson": {"cp866": 17, "cp1125": 44, "cp1251": 46},
            "epson-old": {"cp866": 17},
            "zjiang-58": {"cp866": 59, "cp1251": 73},
            "rongta": {"cp866": 7, "cp1251": 6},
            "kefar": {"cp866": 37, "cp1251": 51},
            "yhd": {"cp866": 12, "cp1251": 18},
            "wincor": {"cp866": 7},
            "star": {"cp866": 10, "cp1251": 34},
        }
        for name, numbers in expected.items():
            self.assertEqual(dict(PROFILES[name].code_tables), numbers, name)

    def test_geometry(self) -> None:
        """The columns match the dots of the head (docs/reference/printers.md#paper)."""
        for profile in PROFILES.values():
            self.assertEqual(profile.columns("A"), profile.dots // 12, profile.name)
            self.assertEqual(profile.columns("A", 2), profile.columns("A") // 2)
        self.assertEqual([PROFILES[name].columns("B") for name in ("epson", "epson-512", "generic-58")], [64, 56, 42])

    def test_best_table(self) -> None:
        """CP1251 is preferred, then CP1125, then CP866; without any, lines are drawn."""
        self.assertEqual(
            [PROFILES[name].best_page() for name in ("epson", "epson-old", "raster-58")],
            ["cp1251", "cp866", "raster"],
        )
        self.assertEqual(replace(EPSON, code_tables={"cp866": 17, "cp1125": 44}).best_page(), "cp1125")
        self.assertEqual(replace(EPSON, code_tables={}).best_page(), "raster")

    def test_set_table(self) -> None:
        """The configured code page is used, and one without a number is refused."""
        self.assertIn(CodeTable(44), read(compose((), replace(EPSON, page="cp1125"))))
        self.assertRaises(ValueError, compose, (), replace(CLONE, page="cp1125"))


class TextTests(SynchronousTestCase):
    """Lines of text."""

    def test_styles(self) -> None:
        """Only changes of style are encoded."""
        job = compose((Text("a", "center", bold=True), Text("b", "center", bold=True), Text("c")), EPSON)
        self.assertEqual(
            read(job),
            [
                CodeTable(46),
                SetAlign("center"),
                SetBold(True),
                Letters(b"a"),
                LineFeed(),
                Letters(b"b"),
                LineFeed(),
                SetAlign("left"),
                SetBold(False),
                Letters(b"c"),
                LineFeed(),
                AskInTurn(1),
            ],
        )

    def test_never_another_table(self) -> None:
        """One job uses one code page, whatever it contains (docs/reference/printers.md#code-pages)."""
        job = compose((Text("Ґ"), Text("é"), Text("ß")), PROFILES["epson-old"])
        self.assertEqual([each for each in read(job) if isinstance(each, CodeTable)], [CodeTable(17)])

    def test_clone(self) -> None:
        """A clone is switched out of its double-byte mode first."""
        self.assertEqual(read(compose((Text("Ї"),), CLONE))[:2], [SingleByte(), CodeTable(73)])

    def test_unknown(self) -> None:
        """Lost characters are listed, drawn ones too."""
        for profile in (EPSON, DRAWN, STAR):
            self.assertEqual(compose((Text("茶 i 茶"),), profile).unknown, ("茶", "茶"), profile.name)

    def test_inverted(self) -> None:
        """White on black is ignored where the printer does not support it."""
        self.assertIn(SetInverted(True), read(compose((Text("a", inverted=True),), EPSON)))
        self.assertNotIn(SetInverted(True), read(compose((Text("a", inverted=True),), CLONE)))

    def test_lines(self) -> None:
        """A line feed begins another line, and an empty text is an empty line."""
        self.assertEqual(
            read(compose((Text("a\n\nb"),), EPSON))[1:-1],
            [Letters(b"a"), LineFeed(), LineFeed(), Letters(b"b"), LineFeed()],
        )

    def test_same_bytes(self) -> None:
        """The same job always gives the same bytes."""
        commands = (Text("Ґанок"), Qr("x"), Barcode("code128", "1"), Cut())
        for profile in PROFILES.values():
            self.assertEqual(compose(commands, profile), compose(commands, profile), profile.name)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.text(max_size=30), max_size=5), st.sampled_from(["epson", "zjiang-58", "star"]))
    def test_any_text(self, texts: list[str], name: str) -> None:
        """No text becomes an instruction: the instructions are those of harmless text."""
        job = compose([Text(text) for text in texts], PROFILES[name])
        harmless = compose([Text("x" if line else "") for text in texts for line in text.split("\n")], PROFILES[name])
        kinds = [type(each) for each in read(job) if not isinstance(each, Letters)]
        self.assertEqual(kinds, [type(each) for each in read(harmless) if not isinstance(each, Letters)])


class CodeTests(SynchronousTestCase):
    """Bar codes and QR codes in a job."""

    def test_wrong_check_digit(self) -> None:
        """An EAN with a wrong check digit is a problem, and its digits are printed."""
        job = compose((Text("a"), Barcode("ean13", "4820000000018")), EPSON)
        (problem,) = job.problems
        self.assertEqual((problem.command, problem.kind, problem.text), (1, "not-a-code", "the check digit is 7"))
        self.assertIn(Letters(b"4820000000018"), read(job))
        self.assertFalse(any(isinstance(each, PrintBarcode) for each in read(job)))

    def test_completed(self) -> None:
        """A missing check digit is added."""
        self.assertIn(
            PrintBarcode("ean13", "4820000000017"), read(compose((Barcode("ean13", "482000000001"),), EPSON))
        )

    def test_too_wide(self) -> None:
        """A bar code that is wider than the paper is a problem, and its text is printed."""
        job = compose((Barcode("code128", "A" * 40),), CLONE)
        self.assertEqual([problem.kind for problem in job.problems], ["too-wide"])
        self.assertIn(Letters(b"A" * 40), read(job))

    def test_pairs_without_commands(self) -> None:
        """A number whose pairs of digits form a real-time command is not encoded as pairs."""
        harmless, harmful = "12" * 10, "160401" + "12" * 7
        self.assertIn(
            PrintBarcode("code128", harmless, pairs=True), read(compose((Barcode("code128", harmless),), CLONE))
        )
        job = compose((Barcode("code128", harmful),), CLONE)
        self.assertEqual([problem.kind for problem in job.problems], ["too-wide"])
        self.assertEqual(hazards(job.data), [])

    def test_qr(self) -> None:
        """A QR code is the printer's own if supported, and drawn if not, or if its text contains a command."""
        self.assertIn(QrPrint(), read(compose((Qr("x"),), EPSON)))
        for profile, text in ((PROFILES["epson-old"], "x"), (EPSON, "x\x10\x04\x01")):
            instructions = read(compose((Qr(text),), profile))
            self.assertNotIn(QrPrint(), instructions)
            self.assertTrue(any(isinstance(each, Raster) for each in instructions))

    def test_qr_that_does_not_fit(self) -> None:
        """A QR code that does not fit is a problem, and its text is printed."""
        for qr, kind in (
            (Qr("x" * 3000), "too-long"),
            (Qr("x" * 300, module=16), "too-wide"),
            (Qr(""), "not-a-code"),
        ):
            job = compose((qr,), CLONE)
            self.assertEqual([problem.kind for problem in job.problems], [kind])
            self.assertEqual(any(isinstance(each, Letters) for each in read(job)), bool(qr.data))


class MechanismTests(SynchronousTestCase):
    """Cutter, drawer, buzzer, logo and proofs."""

    def test_drawer_first(self) -> None:
        """The drawer opens before anything is printed (docs/reference/printers.md#delivery)."""
        instructions = read(compose((Text("a"), Cut(), Drawer(5)), EPSON))
        self.assertEqual(instructions.index(Pulse(5)), 1)

    def test_drawer_alone(self) -> None:
        """A job that only opens the drawer uses the real-time command if supported, without paper and proof."""
        job = compose((Drawer(),), EPSON)
        self.assertEqual((read(job), job.at_once, job.prints, job.marks), ([PulseNow(2, 1)], True, False, ()))
        job = compose((Drawer(),), CLONE)
        self.assertEqual((Pulse(2) in read(job), job.at_once, job.prints), (True, False, False))

    def test_cutter(self) -> None:
        """A printer without a cutter feeds to its tear bar; one with a single kind of cut uses that."""
        self.assertIn(CutPaper(partial=False), read(compose((Cut(partial=False),), EPSON)))
        self.assertIn(FeedLines(5), read(compose((Cut(),), CLONE)))
        self.assertIn(CutPaper(partial=False), read(compose((Cut(),), replace(EPSON, cutter="full"))))
        fed = read(compose((Cut(),), replace(EPSON, feed_before_cut=4)))
        self.assertEqual(fed[1:3], [FeedLines(4), CutPaper(partial=True, feed=False)])

    def test_missing(self) -> None:
        """A missing capability is a problem."""
        bare = replace(CLONE, drawer=False, beeper="none")
        job = compose((Drawer(), Beep(), Logo(), Image(400, bytes(50))), bare)
        self.assertEqual(
            [problem.kind for problem in job.problems], ["no-drawer", "no-beeper", "no-logo", "too-wide"]
        )

    def test_proofs(self) -> None:
        """Every job ends with one request for a proof that the printer supports."""
        self.assertEqual(read(compose((Text("a"), Mark()), EPSON))[-2:], [LineFeed(), AskInTurn(1)])
        named = replace(EPSON, completion="process-id")
        self.assertEqual(read(compose((), named, [b"AB01"]))[-1], ReportName(b"AB01"))
        self.assertEqual(compose((Mark(), Text("a")), named).marks, (b"0001", b"0002"))
        self.assertEqual(read(compose((), STAR))[-1], CountDocument())
        self.assertEqual((compose((Mark(),), CLONE).marks, read(compose((Mark(),), CLONE))[2:]), ((), []))

    def test_stream(self) -> None:
        """For a queue the job is one stream that begins with a reset."""
        self.assertTrue(compose((Text("a"),), EPSON).stream.startswith(b"\x1b@\x1bt\x2ea\n"))

    def test_values(self) -> None:
        """Impossible values are refused when commands are created."""
        for make in (
            lambda: Text("a", width=9),
            lambda: Feed(0),
            lambda: Barcode("ean13", "", height=0),
            lambda: Qr("a", module=17),
            lambda: Image(9, b"a"),
            lambda: Logo(0),
            lambda: Drawer(on_ms=600),
            lambda: Beep(0),
        ):
            self.assertRaises(ValueError, make)


class PictureTests(SynchronousTestCase):
    """Pictures in a job."""

    def test_strips(self) -> None:
        """A high picture is sent in strips that a small printer can buffer."""
        job = compose((Image(384, b"\xff" * 48 * 100, "left"),), CLONE)
        heights = [each.height for each in read(job) if isinstance(each, Raster)]
        self.assertEqual(heights, [STRIP_ROWS, STRIP_ROWS, 4])

    def test_kept(self) -> None:
        """A profile can require pictures to be stored before printing."""
        job = compose((Image(8, b"\xff"),), replace(EPSON, raster="gs-paren-l"))
        self.assertIn(RasterKeep(1, b"\xff"), read(job))

    def test_white_is_not_sent(self) -> None:
        """White bytes at the right of a picture as wide as the paper are not sent."""
        job = compose((Image(384, b"\xff" + bytes(47)),), CLONE)
        self.assertIn(Raster(1, b"\xff"), read(job))

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(b"\x10\x04\x05\x14\x01\x02\x00\xff"), min_size=1, max_size=200).map(bytes))
    def test_no_commands_inside(self, data: bytes) -> None:
        """The printer's receive interrupt finds no command in any picture."""
        job = compose((Image(8, data),), EPSON)
        scanner = RealTimeScanner()
        self.assertEqual([found for _, found in scanner.feed(job.stream) if found is not None], [])
        shown = b"".join(each.data for each in read(job) if isinstance(each, Raster))
        self.assertEqual(len(shown), len(data))
        # At most one dot of each command is missing, and none is added.
        self.assertTrue(all(after in (before, 0) for before, after in zip(data, shown, strict=True)))

    def test_command_made_by_taming(self) -> None:
        """Removing a dot from one command does not complete another one."""
        job = compose((Image(8, b"\x10\x05\x10\x14\x02"),), EPSON)
        self.assertEqual([found for _, found in RealTimeScanner().feed(job.stream) if found is not None], [])

    def test_drawer_stays_shut(self) -> None:
        """A picture that contains the drawer's command is printed and does not open the drawer."""
        picture = Image(8, b"\x10\x14\x01\x00\x01")
        printer = simulated_printer("epson")
        printer.feed(compose((picture,), EPSON).stream)
        self.assertEqual((printer.mechanism.pulses, len(printer.mechanism.paper.pieces)), (0, 1))
        # Unchanged, the same bytes do open it: the simulated printer behaves as a real one.
        printer.feed(b"\x1dv0\0\x01\0\x05\0" + picture.data)
        self.assertEqual(printer.mechanism.pulses, 1)


class HazardTests(SynchronousTestCase):
    """Real-time commands in a stream."""

    def test_found(self) -> None:
        """Every command is found, and nothing else."""
        self.assertEqual(hazards(b"a\x10\x04\x01b\x10\x14\x01\x10\x05\x02"), [1, 5, 8])
        self.assertEqual(hazards(b"\x10\x03\x01\x10\x04\x40\x10\x10\x1b"), [])

    def test_tame(self) -> None:
        """Only the first byte of each command changes."""
        self.assertEqual(tame(b"\x10\x10\x04\x01\xff"), b"\x10\x00\x04\x01\xff")

    def test_scanner(self) -> None:
        """The scanner returns a command with the byte that completes it, wherever the stream is split."""
        stream = b"ab\x10\x10\x04\x01\x10\x14\x01\x00\x05c\x10\x05\x09\x10\x04\x02"
        expected = [RealTime(0x04, b"\x01"), RealTime(0x14, b"\x01\x00\x05"), RealTime(0x04, b"\x02")]
        for cut in range(len(stream)):
            scanner = RealTimeScanner()
            pieces = [*scanner.feed(stream[:cut]), *scanner.feed(stream[cut:])]
            self.assertEqual([found for _, found in pieces if found], expected, cut)
            self.assertEqual(b"".join(piece for piece, _ in pieces), stream)


class FinderTests(SynchronousTestCase):
    """The test page of code pages."""

    def test_page(self) -> None:
        """Each number has a line, and only the right one is readable."""
        cases: tuple[tuple[CodePage, int], ...] = (("cp1251", 73), ("cp866", 59))
        for page, number in cases:
            printer = simulated_printer("zjiang-58")
            printer.feed(finder(CLONE, page).stream)
            lines = printer.mechanism.paper.lines()
            self.assertEqual(len(lines), 257)
            sample = SAMPLE if page == "cp1251" else "Єє Її Ii Гг №"
            self.assertEqual([line for line in lines if line.endswith(sample)], [f"n={number} {sample}"])

    def test_some(self) -> None:
        """Fewer numbers are possible, and the page ends with a cut and a proof."""
        job = finder(EPSON, "cp1251", [46, 17])
        self.assertEqual([each.number for each in read(job) if isinstance(each, CodeTable)], [46, 17])
        self.assertEqual(read(job)[-2:], [CutPaper(partial=True), AskInTurn(1)])

    def test_no_table(self) -> None:
        """Drawn lines need no number."""
        self.assertRaises(ValueError, finder, EPSON, cast(CodePage, "raster"))


COMMANDS: tuple[Command, ...] = (Text("Кава"), Feed(2), Barcode("ean13", "482000000001"), Qr("x"), Cut(), Drawer())


class EveryProfileTests(SynchronousTestCase):
    """Every profile can print a receipt."""

    def test_receipt(self) -> None:
        """Every profile prints a receipt without problems and lost bytes."""
        for profile in PROFILES.values():
            job = compose(COMMANDS, profile)
            printer = simulated_printer(profile)
            printer.feed(job.stream)
            printer.hang_up()
            self.assertEqual((job.problems, job.unknown, printer.lost, printer.mechanism.pulses), ((), (), 0, 1))
            self.assertEqual(
                [(entry.kind, entry.status, entry.ref) for entry in printer.ledger.entries()],
                [("print", "accepted", "1")],
                profile.name,
            )
            if profile.best_page() != "raster":
                self.assertEqual(printer.mechanism.paper.lines()[0], "Кава", profile.name)
