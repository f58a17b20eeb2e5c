"""Star line mode: the same instructions in other bytes, and a state that tells its own length."""

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
    """What a printer reads in ``pieces``."""
    reader = StarReader()
    return [told for piece in pieces for told in reader.feed(piece)]


class VectorTests(SynchronousTestCase):
    """The golden bytes, both ways."""

    def test_encode(self) -> None:
        """Every instruction becomes its golden bytes."""
        for vector in STAR:
            self.assertEqual(encode(vector.told).hex(), vector.data.hex(), vector.id)

    def test_read(self) -> None:
        """The golden bytes are read as what they mean."""
        for vector in STAR:
            self.assertEqual(read(vector.data), list(vector.told), vector.id)


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
    """What the vectors do not cover."""

    def test_round_trip(self) -> None:
        """What is encoded is read as the same instructions."""
        self.assertEqual(read(encode(TOLD)), list(TOLD))

    def test_cut_anywhere(self) -> None:
        """Cut at any byte, the stream says the same."""
        stream = encode(TOLD)
        for cut in range(len(stream)):
            self.assertEqual(read(stream[:cut], stream[cut:]), list(TOLD), cut)

    def test_bytes_of_codes(self) -> None:
        """Bar codes and QR codes have the bytes of the specification (docs/reference/printers.md#star)."""
        self.assertEqual(
            encode((PrintWholeBarcode("ean13", "4820000000017", 80, 2, True),)).hex(" "),
            "1b 62 03 02 01 50 34 38 32 30 30 30 30 30 30 30 30 31 37 1e",
        )
        self.assertEqual(encode((QrStore(b"AB"),)).hex(" "), "1b 1d 79 44 31 00 02 00 41 42")

    def test_percent_sign(self) -> None:
        """A per cent sign in a Code 128 is spelled, or the printer would take it for a special letter."""
        self.assertIn(b"5%0A\x1e", encode((PrintWholeBarcode("code128", "5%A", 60, 3, False),)))

    def test_largest(self) -> None:
        """What is larger than Star printers can is made as large as they can."""
        self.assertEqual(
            read(encode((SetSize(8, 8), QrModule(16), FeedLines(255)))), [SetSize(6, 6), QrModule(8), FeedLines(127)]
        )

    def test_not_in_this_language(self) -> None:
        """What only ESC/POS knows is refused."""
        self.assertRaises(ValueError, encode, (AskInTurn(1),))

    def test_unknown(self) -> None:
        """What it does not know it skips."""
        self.assertEqual(read(b"\x1b\x7fX\n"), [Ignored(b"\x1b\x7f"), Letters(b"X"), LineFeed()])

    def test_endless_barcode(self) -> None:
        """A bar code without an end is given up after as many bytes as a bar code can have."""
        told = read(b"\x1bb\x06\x02\x01\x50" + b"A" * 400 + b"\n")
        self.assertEqual(told[0], Ignored(b"\x1bb"))
        self.assertEqual(told[-1], LineFeed())

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from([b"", b"\x1b", b"\x1b\x1d", b"\x1b\x1dy", b"\x1bb", b"\x1b\x1e"]), st.binary(max_size=40))
    def test_any_bytes(self, first: bytes, rest: bytes) -> None:
        """No bytes make the reader fail, wherever they are cut."""
        data = first + rest
        self.assertEqual(read(*(bytes([byte]) for byte in data)), read(data))


class StateTests(SynchronousTestCase):
    """The state of a Star printer."""

    def test_vectors(self) -> None:
        """Every golden state says what it means, wherever it is cut."""
        for vector in STAR_ANSWERS:
            for cut in range(len(vector.data)):
                answers = StarAnswers()
                told = [*answers.feed(vector.data[:cut]), *answers.feed(vector.data[cut:])]
                expected = StarState(replace(vector.status, raw=vector.data), vector.counted)
                self.assertEqual(told, [expected], f"{vector.id} {cut}")
                self.assertEqual((answers.status, answers.count), (expected.status, vector.counted))

    def test_drawer_the_other_way(self) -> None:
        """A drawer whose switch is wired the other way is open when the pin is low."""
        answers = StarAnswers(drawer_high_is_open=False)
        list(answers.feed(bytes.fromhex("230600000000000000")))
        self.assertIs(answers.status.drawer_open, True)

    def test_flow(self) -> None:
        """XOFF and XON are told, in the middle of a state as well."""
        answers = StarAnswers()
        self.assertEqual(list(answers.feed(b"\x23\x06\x13")), [Flow(True)])
        self.assertTrue(answers.stopped)
        told = list(answers.feed(b"\x11" + bytes(7)))
        self.assertEqual(told[0], Flow(False))
        self.assertIsInstance(told[1], StarState)

    def test_broken_off(self) -> None:
        """A state that breaks off is noise, and the next one is read."""
        answers = StarAnswers()
        told = list(answers.feed(b"\x23\x06\x00" + bytes.fromhex("0f060000000000")))
        self.assertEqual(told[0], Noise(b"\x23\x06\x00"))
        self.assertIsInstance(told[1], StarState)

    def test_lengths_and_counts(self) -> None:
        """Lengths and counts are packed around the fixed bits and come out again."""
        self.assertEqual([announced_length(encode_length(length)) for length in range(16)], list(range(16)))
        self.assertEqual([decode_count(encode_count(count)) for count in range(COUNTS)], list(range(COUNTS)))
        self.assertEqual((encode_length(7), encode_length(9)), (0x0F, 0x23))
        self.assertFalse(any(encode_count(count) & 0x91 for count in range(COUNTS)))

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes make it fail, and byte by byte they say the same."""
        whole, single = StarAnswers(), StarAnswers()
        told = list(whole.feed(data))
        self.assertEqual([answer for byte in data for answer in single.feed(bytes([byte]))], told)
        self.assertEqual(whole.status, single.status)
