"""Star line mode: encoding, parsing, and the state."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.escpos_status import Flow, Noise
from protocols.printers.instructions import (
    AskInTurn,
    AskNow,
    ClearCount,
    CountDocument,
    CutPaper,
    FeedDots,
    FeedLines,
    Ignored,
    Instruction,
    Letters,
    LineFeed,
    PrintLogo,
    PrintWholeBarcode,
    Pulse,
    QrCorrection,
    QrModel,
    QrModule,
    QrPrint,
    QrStore,
    Raster,
    ReportChanges,
    SetAlign,
    SetBold,
    SetFont,
    SetInverted,
    SetSize,
    SetUnderline,
)
from protocols.printers.star import StarReader, encode
from protocols.printers.star_status import (
    COUNTS,
    StarAnswers,
    StarState,
    announced_length,
    decode_count,
    encode_count,
    encode_length,
)
from tests.vectors.printers import STAR, STAR_ANSWERS


def read(*pieces: bytes) -> list[Instruction]:
    """The instructions that a printer reads from ``pieces``."""
    reader = StarReader()
    return [instruction for piece in pieces for instruction in reader.feed(piece)]


class VectorTests(SynchronousTestCase):
    """The golden bytes, in both directions."""

    def test_encode(self) -> None:
        """Every instruction is encoded as its golden bytes."""
        for vector in STAR:
            self.assertEqual(encode(vector.instructions).hex(), vector.data.hex(), vector.id)

    def test_read(self) -> None:
        """The golden bytes are parsed as their instructions."""
        for vector in STAR:
            self.assertEqual(read(vector.data), list(vector.instructions), vector.id)


TOLD: tuple[Instruction, ...] = (
    SetAlign("right"),
    SetBold(True),
    SetBold(False),
    SetUnderline(True),
    SetInverted(True),
    SetInverted(False),
    SetFont("B"),
    SetSize(3, 2),
    Letters(b"\xd4\xb2"),
    LineFeed(),
    FeedLines(3),
    FeedDots(8),
    PrintWholeBarcode("ean13", "4820000000017", 80, 2, True),
    PrintWholeBarcode("code128", "5%A", 60, 3, False),
    QrModel(2),
    QrCorrection("Q"),
    QrModule(5),
    QrStore("Ї".encode()),
    QrPrint(),
    Raster(2, bytes(range(4))),
    PrintLogo(3),
    CutPaper(partial=False, feed=False),
    CutPaper(partial=False),
    Pulse(5),
    AskNow(0),
    ReportChanges(1),
    CountDocument(),
    ClearCount(),
)
"""All that Star printers know."""


class CodecTests(SynchronousTestCase):
    """Cases without vectors."""

    def test_round_trip(self) -> None:
        """Encoded instructions are parsed as the same instructions."""
        self.assertEqual(read(encode(TOLD)), list(TOLD))

    def test_cut_anywhere(self) -> None:
        """A stream split at any byte gives the same instructions."""
        stream = encode(TOLD)
        for cut in range(len(stream)):
            self.assertEqual(read(stream[:cut], stream[cut:]), list(TOLD), cut)

    def test_bytes_of_codes(self) -> None:
        """Bar codes and QR codes have the bytes of the reference (docs/reference/printers.md#star)."""
        self.assertEqual(
            encode((PrintWholeBarcode("ean13", "4820000000017", 80, 2, True),)).hex(" "),
            "1b 62 03 02 01 50 34 38 32 30 30 30 30 30 30 30 30 31 37 1e",
        )
        self.assertEqual(encode((QrStore(b"AB"),)).hex(" "), "1b 1d 79 44 31 00 02 00 41 42")

    def test_percent_sign(self) -> None:
        """A percent sign in a Code 128 is escaped, or the printer would take it for a special character."""
        self.assertIn(b"5%0A\x1e", encode((PrintWholeBarcode("code128", "5%A", 60, 3, False),)))

    def test_largest(self) -> None:
        """Sizes are limited to those of Star printers."""
        self.assertEqual(
            read(encode((SetSize(8, 8), QrModule(16), FeedLines(255)))), [SetSize(6, 6), QrModule(8), FeedLines(127)]
        )

    def test_not_in_this_language(self) -> None:
        """Instructions that only ESC/POS has are refused."""
        self.assertRaises(ValueError, encode, (AskInTurn(1),))

    def test_unknown(self) -> None:
        """Unknown commands are skipped."""
        self.assertEqual(read(b"\x1b\x7fX\n"), [Ignored(b"\x1b\x7f"), Letters(b"X"), LineFeed()])

    def test_endless_barcode(self) -> None:
        """An endless bar code is given up after its greatest length."""
        found = read(b"\x1bb\x06\x02\x01\x50" + b"A" * 400 + b"\n")
        self.assertEqual(found[0], Ignored(b"\x1bb"))
        self.assertEqual(found[-1], LineFeed())

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from([b"", b"\x1b", b"\x1b\x1d", b"\x1b\x1dy", b"\x1bb", b"\x1b\x1e"]), st.binary(max_size=40))
    def test_any_bytes(self, first: bytes, rest: bytes) -> None:
        """No input makes the parser fail, wherever it is split."""
        data = first + rest
        self.assertEqual(read(*(bytes([byte]) for byte in data)), read(data))


class StateTests(SynchronousTestCase):
    """The state of a Star printer."""

    def test_vectors(self) -> None:
        """Every golden state is parsed correctly, wherever it is split."""
        for vector in STAR_ANSWERS:
            for cut in range(len(vector.data)):
                answers = StarAnswers()
                found = [*answers.feed(vector.data[:cut]), *answers.feed(vector.data[cut:])]
                expected = StarState(replace(vector.status, raw=vector.data), vector.counted)
                self.assertEqual(found, [expected], f"{vector.id} {cut}")
                self.assertEqual((answers.status, answers.count), (expected.status, vector.counted))

    def test_drawer_the_other_way(self) -> None:
        """With inverted wiring the drawer is open when the pin is low."""
        answers = StarAnswers(drawer_high_is_open=False)
        list(answers.feed(bytes.fromhex("230600000000000000")))
        self.assertIs(answers.status.drawer_open, True)

    def test_flow(self) -> None:
        """XOFF and XON are returned, also in the middle of a state."""
        answers = StarAnswers()
        self.assertEqual(list(answers.feed(b"\x23\x06\x13")), [Flow(True)])
        self.assertTrue(answers.stopped)
        found = list(answers.feed(b"\x11" + bytes(7)))
        self.assertEqual(found[0], Flow(False))
        self.assertIsInstance(found[1], StarState)

    def test_broken_off(self) -> None:
        """An incomplete state is noise, and the next one is parsed."""
        answers = StarAnswers()
        found = list(answers.feed(b"\x23\x06\x00" + bytes.fromhex("0f060000000000")))
        self.assertEqual(found[0], Noise(b"\x23\x06\x00"))
        self.assertIsInstance(found[1], StarState)

    def test_lengths_and_counts(self) -> None:
        """Lengths and counters are encoded around the fixed bits and decoded again."""
        self.assertEqual([announced_length(encode_length(length)) for length in range(16)], list(range(16)))
        self.assertEqual([decode_count(encode_count(count)) for count in range(COUNTS)], list(range(COUNTS)))
        self.assertEqual((encode_length(7), encode_length(9)), (0x0F, 0x23))
        self.assertFalse(any(encode_count(count) & 0x91 for count in range(COUNTS)))

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """No input makes it fail, and splitting changes nothing."""
        whole, single = StarAnswers(), StarAnswers()
        found = list(whole.feed(data))
        self.assertEqual([answer for byte in data for answer in single.feed(bytes([byte]))], found)
        self.assertEqual(whole.status, single.status)
