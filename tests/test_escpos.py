"""ESC/POS: instructions are encoded and parsed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.escpos import EscPosReader, encode
from protocols.printers.instructions import (
    BarcodeHeight,
    BarcodeLabel,
    BarcodeModule,
    Buzz,
    ClearCount,
    CutPaper,
    FeedDots,
    Ignored,
    Initialise,
    Instruction,
    Letters,
    LineFeed,
    PrintBarcode,
    PrintLogo,
    QrModule,
    QrStore,
    Raster,
    SetAlign,
    SetBold,
    SetFont,
    SetInverted,
    SetSize,
    SetSpacing,
    SetUnderline,
)
from protocols.printers.profiles import PROFILES
from protocols.printers.reading import LONGEST
from tests.vectors.printers import ESCPOS


def read(*pieces: bytes) -> list[Instruction]:
    """The instructions that a printer reads from ``pieces``, in this order."""
    reader = EscPosReader()
    return [instruction for piece in pieces for instruction in reader.feed(piece)]


class VectorTests(SynchronousTestCase):
    """The golden bytes, in both directions."""

    def test_encode(self) -> None:
        """Every instruction is encoded as its golden bytes."""
        for vector in ESCPOS:
            self.assertEqual(encode(vector.instructions).hex(), vector.data.hex(), vector.id)

    def test_read(self) -> None:
        """The golden bytes are parsed as their instructions."""
        for vector in ESCPOS:
            self.assertEqual(read(vector.data), list(vector.instructions), vector.id)

    def test_cut_anywhere(self) -> None:
        """A stream split at any byte gives the same instructions."""
        stream = b"".join(vector.data + b"\n" for vector in ESCPOS)
        whole = read(stream)
        for cut in range(len(stream)):
            self.assertEqual(read(stream[:cut], stream[cut:]), whole, cut)

    def test_byte_by_byte(self) -> None:
        """A stream that arrives byte by byte gives the same instructions."""
        stream = b"\x1b@\x1ba\x01\xaf\xe6\xe0\n" + b"".join(vector.data for vector in ESCPOS)
        self.assertEqual(read(*(bytes([byte]) for byte in stream)), read(stream))


class EncodeTests(SynchronousTestCase):
    """Cases without vectors."""

    def test_round_trip(self) -> None:
        """Encoded instructions are parsed as the same instructions."""
        instructions: tuple[Instruction, ...] = (
            Initialise(),
            SetAlign("right"),
            SetUnderline(True),
            SetInverted(True),
            SetFont("B"),
            SetSize(8, 3),
            SetSpacing(0),
            SetSpacing(None),
            Letters(b"12"),
            LineFeed(),
            FeedDots(7),
            BarcodeHeight(80),
            BarcodeModule(3),
            BarcodeLabel(True),
            BarcodeLabel(False),
            PrintBarcode("ean8", "12345670"),
            PrintBarcode("code128", "1234567890", pairs=True),
            PrintBarcode("code128", "a{b"),
            CutPaper(partial=True, feed=False),
            CutPaper(partial=False, feed=False),
            Raster(2, bytes(range(8))),
        )
        self.assertEqual(read(encode(instructions)), list(instructions))

    def test_dialects(self) -> None:
        """Logos and buzzers have two commands each, and the profile chooses."""
        epson, old = PROFILES["epson"], PROFILES["epson-old"]
        self.assertEqual(encode((PrintLogo(7),), epson).hex(" "), "1d 28 4c 06 00 30 45 30 37 01 01")
        self.assertEqual(encode((PrintLogo(7),), old).hex(" "), "1c 70 07 00")
        loud = replace(epson, beeper="esc-paren-a")
        self.assertEqual(encode((Buzz(3, 200),), loud).hex(" "), "1b 28 41 04 00 30 37 03 02")
        for profile in (epson, old):
            self.assertEqual(read(encode((PrintLogo(7),), profile)), [PrintLogo(7)])
        self.assertEqual(read(encode((Buzz(3, 200),), loud)), [Buzz(3, 200)])

    def test_not_in_this_language(self) -> None:
        """Instructions that only Star has are refused."""
        self.assertRaises(ValueError, encode, (ClearCount(),))


class ReadTests(SynchronousTestCase):
    """Input from other programs."""

    def test_print_mode(self) -> None:
        """The old command for several styles sets each of them."""
        self.assertEqual(read(b"\x1b!\xb9"), [SetFont("B"), SetBold(True), SetSize(2, 2), SetUnderline(True)])

    def test_barcode_function_a(self) -> None:
        """A bar code that ends with NUL is parsed too."""
        self.assertEqual(read(b"\x1dk\x024820000000017\0x\n")[0], PrintBarcode("ean13", "4820000000017"))

    def test_code_changes_inside(self) -> None:
        """A Code 128 that switches codes keeps its text."""
        instructions = read(b"\x1dkI\x09{BNo{C\x0c\x22\x38")
        self.assertEqual(instructions, [PrintBarcode("code128", "No123456")])

    def test_unknown_with_a_length(self) -> None:
        """An unsupported command in brackets is skipped as a whole."""
        self.assertEqual(read(b"\x1d(Z\x03\0abcX\n"), [Ignored(b"\x1d(Z\x03\0abc"), Letters(b"X"), LineFeed()])

    def test_unknown(self) -> None:
        """An unknown command is skipped by two bytes."""
        self.assertEqual(read(b"\x1b\x01X\n"), [Ignored(b"\x1b\x01"), Letters(b"X"), LineFeed()])

    def test_wrong_parameters(self) -> None:
        """A known command with impossible parameters is skipped by its length."""
        for wrong in (b"\x1ba\x09", b"\x1d!\xff", b"\x1dV\x09", b"\x1d(k\x03\x001C\x63", b"\x1dv0\0\0\0\0\0"):
            self.assertEqual(read(wrong), [Ignored(wrong)], wrong)

    def test_column_picture(self) -> None:
        """A picture in columns is skipped by its length."""
        data = b"\x1b*\x21\x02\x00" + bytes(6)
        self.assertEqual(read(data + b"A\n"), [Ignored(data), Letters(b"A"), LineFeed()])

    def test_blank_bytes(self) -> None:
        """NUL bytes between commands are ignored: they end a broken job."""
        self.assertEqual(read(bytes(8192) + b"\n"), [LineFeed()])

    def test_too_long(self) -> None:
        """An impossible length is noise, and the following input is parsed."""
        instructions = read(b"\x1d8L" + (LONGEST + 1).to_bytes(4, "little") + b"0\n")
        self.assertEqual(instructions[0], Ignored(b"\x1d8"))
        self.assertIn(LineFeed(), instructions)

    def test_endless_line(self) -> None:
        """Endless text is returned in pieces."""
        reader = EscPosReader()
        instructions = list(reader.feed(b"A" * 20_000))
        self.assertTrue(instructions)
        self.assertLessEqual(reader.waiting, 4096)

    def test_reset(self) -> None:
        """Incomplete input can be discarded."""
        reader = EscPosReader()
        self.assertEqual(list(reader.feed(b"\x1dv0\0\x30\0\x30\0abc")), [])
        reader.reset()
        self.assertEqual(list(reader.feed(b"\n")), [LineFeed()])

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.binary(max_size=60), max_size=6))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """No input makes the parser fail, and splitting it elsewhere changes nothing."""
        self.assertEqual(read(*pieces), read(b"".join(pieces)))

    @settings(max_examples=300, deadline=None)
    @given(
        st.sampled_from([b"\x1b", b"\x1c", b"\x1d", b"\x10"]),
        st.binary(min_size=1, max_size=1),
        st.binary(max_size=40),
    )
    def test_any_command(self, first: bytes, second: bytes, rest: bytes) -> None:
        """No command, known or not, makes the parser fail, wherever it is split."""
        data = first + second + rest
        self.assertEqual(read(*(bytes([byte]) for byte in data)), read(data))

    def test_qr_steps(self) -> None:
        """The steps of a QR code are parsed one by one."""
        self.assertEqual(read(encode((QrModule(6), QrStore(b"x")))), [QrModule(6), QrStore(b"x")])
