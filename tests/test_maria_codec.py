"""Frames and commands of Maria: golden bytes both ways, every cut, every kind of damage."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.checksums import crc_kermit
from protocols.errors import Garbled
from protocols.registers.maria import commands as maria
from protocols.registers.maria.frames import FLUSH, LONGEST, WAKE, Deframer, Spoken, frame
from protocols.registers.numbered import Damaged
from protocols.registers.records import formats
from protocols.registers.troubles import Trouble
from tests.vectors import maria as vectors

TEXTS = (
    *((raw, crc, command.encode()) for raw, crc, command in vectors.COMMANDS),
    *vectors.SIGNS,
)
WITH_CRC = [(bytes.fromhex(raw + crc), text) for raw, crc, text in TEXTS]
WITHOUT = [(bytes.fromhex(raw), text) for raw, _, text in TEXTS]


def found(crc: bool | None, *pieces: bytes) -> list[Any]:
    """What is on a line that brings ``pieces``."""
    deframer = Deframer(crc)
    return [each for piece in pieces for each in deframer.feed(piece)]


def spoken(crc: bool | None, *pieces: bytes) -> list[bytes]:
    """The texts of the frames on it."""
    return [each.text for each in found(crc, *pieces) if isinstance(each, Spoken)]


class FrameTests(SynchronousTestCase):
    """Frames with and without CRC."""

    def test_both_ways(self) -> None:
        """Frames are read and written as they are."""
        for raw, text in WITH_CRC:
            self.assertEqual((frame(text, True), found(True, raw)), (raw, [Spoken(text)]))
        for raw, text in WITHOUT:
            self.assertEqual((frame(text, False), found(False, raw)), (raw, [Spoken(text)]))

    def test_crc(self) -> None:
        """The CRC has its known values."""
        self.assertEqual((crc_kermit(b"123456789"), crc_kermit(b"ABC")), (vectors.CRC_OF_DIGITS, vectors.CRC_OF_ABC))

    def test_signs(self) -> None:
        """Waking and flushing are fixed bytes."""
        self.assertEqual((FLUSH.hex(), (WAKE * 2).hex()), (vectors.FLUSH, vectors.WAKE))

    def test_cut_at_every_byte(self) -> None:
        """Every frame is found wherever it is cut, byte by byte, and joined to others."""
        for crc, frames in ((True, WITH_CRC), (False, WITHOUT), (None, WITH_CRC), (None, WITHOUT)):
            for raw, text in frames:
                for cut in range(len(raw)):
                    self.assertEqual(spoken(crc, raw[:cut], raw[cut:]), [text])
            joined, texts = b"".join(raw for raw, _ in frames), [text for _, text in frames]
            self.assertEqual(spoken(crc, joined), texts)
            self.assertEqual(spoken(crc, *(bytes([byte]) for byte in joined)), texts)

    def test_damaged_at_every_byte(self) -> None:
        """With CRC a frame with a wrong, missing or added byte is never read; the next one is."""
        for raw, text in WITH_CRC:
            for place in range(len(raw)):
                before, behind = raw[:place], raw[place + 1 :]
                wrong = [before + bytes([raw[place] ^ bit]) + behind for bit in (0x01, 0x20, 0x80)]
                for spoilt in (*wrong, before + behind, before + b"\x55" + raw[place:]):
                    if raw not in spoilt:
                        self.assertEqual(spoken(True, spoilt), [], spoilt.hex())
                    self.assertIn(text, spoken(True, spoilt, raw * 2), spoilt.hex())

    def test_wrong(self) -> None:
        """A wrong length is a damaged frame, and so is one without an end."""
        self.assertEqual(found(False, b"\xfdREADY\x07\xfe"), [Damaged(b"\xfdREADY\x07\xfe")])
        endless = b"\xfd" + b"x" * 260
        self.assertIsInstance(found(False, endless)[0], Damaged)
        self.assertEqual(spoken(False, endless, WITHOUT[0][0]), [WITHOUT[0][1]])

    def test_flushed(self) -> None:
        """A flush ends every frame that was begun."""
        for raw, _ in WITH_CRC:
            for cut in range(1, len(raw)):
                self.assertEqual(spoken(True, raw[:cut] + FLUSH + WITH_CRC[0][0])[-1:], [WITH_CRC[0][1]])

    def test_limits(self) -> None:
        """The longest text fits, whose length is FD too; nothing longer, and none of three bytes."""
        longest = b"x" * LONGEST
        for crc in (True, False):
            self.assertEqual(spoken(crc, frame(longest, crc)), [longest])
        for text in (b"xx", longest + b"x", b"COMP\xfe", b"COMP\xfd", b"COMP\xff"):
            self.assertRaises(ValueError, frame, text, False)

    @settings(deadline=None)
    @given(st.lists(st.binary(max_size=60), max_size=6), st.sampled_from((True, False, None)))
    def test_any_bytes(self, pieces: list[bytes], crc: bool | None) -> None:
        """Whatever comes, the frames found do not depend on how the bytes are cut."""
        self.assertEqual(spoken(crc, *pieces), spoken(crc, b"".join(pieces)))

    @settings(deadline=None)
    @given(st.lists(st.binary(min_size=4, max_size=LONGEST), min_size=1, max_size=4), st.booleans())
    def test_any_text(self, texts: list[bytes], crc: bool) -> None:
        """Every text comes out of its frame, also where the mode is not known."""
        clean = [text.translate(bytes(range(253)) + b"...") for text in texts]
        line = b"".join(frame(text, crc) for text in clean)
        self.assertEqual(spoken(crc, line), clean)
        self.assertEqual(spoken(None, line), clean)


class CommandTests(SynchronousTestCase):
    """Commands and answers."""

    def test_commands(self) -> None:
        """Every command is written and read as it is."""
        for raw, _, command in vectors.COMMANDS:
            [text] = spoken(False, bytes.fromhex(raw))
            self.assertEqual(command.encode(), text)
            self.assertEqual(maria.MariaCommand.known[text[:4].decode()].decode(text), command)

    def test_every_command(self) -> None:
        """Every command and answer with fields of its own is read as it was written."""
        for kind in maria.MariaCommand.known.values():
            record = sample(kind)
            self.assertEqual(kind.decode(record.encode()), record)
            answer = sample(kind.answer)
            self.assertEqual(kind.answer.decode(answer.encode()), answer)

    def test_discount(self) -> None:
        """A line has its discount and the rest of its name together, filled with zeros, or neither."""
        plain = vectors.BREAD.encode()
        long = maria.Sell("Хлiб", 5100, 2550, 2000, tail="житнiй")
        self.assertEqual(len(plain), 93)
        self.assertTrue(long.encode().endswith(b"0" * 23 + "житнiй".encode("cp866")))
        self.assertEqual(maria.Sell.decode(long.encode()), long)
        cheaper = maria.Sell("Хлiб", 5100, 2550, 2000, sign="-", change_name="Картка", change=100)
        self.assertEqual(maria.Sell.decode(cheaper.encode()), cheaper)
        self.assertEqual(maria.tax_mark("А", 0, 2000), "А02000")

    def test_card_slip(self) -> None:
        """Each value stands behind two digits with its length."""
        slip = maria.CardSlip(("Банк", "", "012345678901"))
        self.assertEqual(slip.encode(), "PSDt04Банк0012012345678901".encode("cp866"))
        self.assertEqual(maria.CardSlip.decode(slip.encode()), slip)
        self.assertRaises(ValueError, maria.CardSlip(("x" * 41,)).encode)
        for text in (b"PSDt05abcd", b"PSDtx", b"PSDt0"):
            self.assertRaises(ValueError, maria.CardSlip.decode, text)

    def test_fields(self) -> None:
        """What does not fit is refused before anything is sent."""
        for command in (
            maria.Complete(10**10),
            maria.Complete(-1),
            maria.Open("x" * 16),
            maria.Sell("x" * 13, 1, 1, 1000),
            maria.AddText("1", "0", "0", "日"),
        ):
            self.assertRaises(ValueError, command.encode)
        for text in (b"COMP123", b"COMP" + b"x" * 60, b"COMP" + b"0" * 50):
            self.assertRaises(ValueError, maria.Complete.decode, text)
        self.assertRaises(ValueError, maria.Sell.decode, vectors.BREAD.encode() + b"-")

    def test_no_answer(self) -> None:
        """An answer that is short, missing or doubled is garbled."""
        for texts in ([], [b"12"], [b"0" * 10] * 2, [b"000000000x"]):
            self.assertRaises(Garbled, maria.LastNumber.decode, texts)

    def test_printable(self) -> None:
        """Ukrainian і is written as the Latin letter; what cannot be printed becomes a question mark."""
        self.assertEqual(maria.printable("Хліб «Ікс» житній", 12), "Хлiб ?Iкс? ж")
        self.assertEqual(maria.printable("■", 5), ",")

    def test_errors(self) -> None:
        """Errors are known by their beginning; a stranger is an unknown one."""
        self.assertEqual(maria.refused(b"HARDPAPER").meaning.trouble, Trouble.NO_PAPER)
        self.assertEqual(maria.refused(b"SOFTSL4").meaning.trouble, Trouble.WRONG_MODE)
        self.assertEqual(maria.refused(b"SOFTNEW").meaning.trouble, Trouble.UNKNOWN)
        self.assertEqual((maria.is_error(b"SOFTNREP"), maria.is_error(b"DONE")), (True, False))


def sample(kind: Any) -> Any:
    """A record whose fields all have values of their own."""
    values: dict[str, Any] = {}
    for number, (name, each) in enumerate(formats(kind).items(), 1):
        text = f"{number % 10}"
        digit = isinstance(each, maria.Digits | maria.RawByte)
        values[name] = number % 10 if digit else (text, "") if isinstance(each, maria.Values) else text
    return kind(**values)
