"""Frames and commands of ICS registers: golden bytes both ways, doubled bytes, every cut, every kind of damage."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled
from protocols.registers.ics import commands as ics
from protocols.registers.ics.frames import LONGEST, Deframer, IcsFrame
from protocols.registers.numbered import Damaged, Noise, Sign
from protocols.registers.records import formats
from protocols.registers.troubles import Trouble
from tests.vectors import ics as vectors

FRAMES = [
    *((bytes.fromhex(raw), False) for raw, _, _, _ in vectors.COMMANDS),
    *((bytes.fromhex(raw + crc), True) for raw, crc, _, _ in vectors.COMMANDS),
    *((IcsFrame(0x10, 0x10, b"\x10\x10\x03\x10\x02" * 3).encode(crc), crc) for crc in (False, True)),
]


def found(crc: bool, *pieces: bytes) -> list[Any]:
    """What is on a line that brings ``pieces`` and is quiet then."""
    deframer = Deframer(crc)
    return [*(each for piece in pieces for each in deframer.feed(piece)), *deframer.forget()]


def frames(crc: bool, *pieces: bytes) -> list[IcsFrame]:
    """The frames on it."""
    return [each for each in found(crc, *pieces) if isinstance(each, IcsFrame)]


def undoubled(number: int, code: int, data: bytes) -> bytes:
    """A frame whose CS is 10, and not doubled."""
    frame = IcsFrame(number, code, data).encode()
    assert frame.endswith(b"\x10\x10\x10\x03")
    return frame[:-4] + b"\x10\x10\x03"


class FrameTests(SynchronousTestCase):
    """Frames with and without CRC."""

    def test_both_ways(self) -> None:
        """Frames are read and written as they are."""
        for raw, crc, number, command in vectors.COMMANDS:
            frame = IcsFrame(number, command.code, command.encode())
            for with_crc, whole in ((False, raw), (True, raw + crc)):
                self.assertEqual(frame.encode(with_crc).hex(), whole)
                self.assertEqual(found(with_crc, bytes.fromhex(whole)), [frame])
            self.assertEqual(ics.IcsCommand.known[frame.code].decode(frame.data), command)

    def test_answer(self) -> None:
        """An answer stands behind its acknowledgement, with status, result and state."""
        taken, frame = found(False, bytes.fromhex(vectors.NO_PAPER))
        self.assertEqual((taken, frame.number, frame.code), (Sign.TAKEN, 3, 9))
        self.assertEqual(ics.Head.decode(frame.data), (vectors.NO_PAPER_HEAD, b""))
        self.assertEqual(vectors.NO_PAPER_HEAD.encode(), frame.data)
        refusal = vectors.NO_PAPER_HEAD.refusal
        assert refusal is not None
        self.assertEqual((refusal.code, refusal.meaning.trouble), ("2", Trouble.NO_PAPER))

    def test_signs(self) -> None:
        """Signs stand between frames."""
        raw = FRAMES[0][0]
        self.assertEqual(
            found(False, bytes.fromhex(vectors.TAKEN) + b"\x16\x16" + raw + b"\x15"),
            [Sign.TAKEN, Sign.BUSY, Sign.BUSY, *frames(False, raw), Sign.REFUSED],
        )

    def test_wrong(self) -> None:
        """A wrong CS is a damaged frame, and so is one in which another begins, or a 10 stands alone."""
        wrong = bytes.fromhex(vectors.BAD_CHECK)
        self.assertEqual(found(False, wrong), [Damaged(wrong)])
        raw = FRAMES[0][0]
        self.assertEqual(found(False, raw[:6] + raw), [Damaged(raw[:6]), *frames(False, raw)])
        self.assertEqual(frames(False, raw[:4] + b"\x10\x41" + raw[4:] + raw), frames(False, raw))
        self.assertEqual(frames(False, b"\x10\x02" + b"x" * (LONGEST + 1) + raw), frames(False, raw))
        self.assertEqual(found(False, b"\x10\x02\x10\x03"), [Damaged(b"\x10\x02\x10\x03")])
        self.assertEqual(found(False, b"\x10\x41"), [Noise(b"\x10"), Noise(b"\x41")])

    def test_cut_at_every_byte(self) -> None:
        """Every frame is found wherever it is cut, byte by byte, and joined to others."""
        for raw, crc in FRAMES:
            whole = frames(crc, raw)
            self.assertEqual(len(whole), 1)
            for cut in range(len(raw)):
                self.assertEqual(frames(crc, raw[:cut]), [])
                self.assertEqual(frames(crc, raw[:cut], raw[cut:]), whole)
            self.assertEqual(frames(crc, *(bytes([byte]) for byte in raw * 3)), whole * 3)

    def test_damaged_at_every_byte(self) -> None:
        """A frame with a wrong or missing byte is never read as another; the next one is read, or its repeat."""
        for raw, crc in FRAMES:
            [right] = frames(crc, raw)
            for place in range(len(raw)):
                before, behind = raw[:place], raw[place + 1 :]
                wrong = [before + bytes([raw[place] ^ bit]) + behind for bit in (0x01, 0x20, 0x80)]
                # The sum does not know how many zeros there are: their lengths do.
                lost = [before + behind] if raw[place] or crc else []
                for spoilt in (*wrong, *lost):
                    self.assertIn(frames(crc, spoilt), ([], [right]), spoilt.hex())
                    self.assertIn(right, frames(crc, spoilt, raw, raw), spoilt.hex())

    def test_undoubled(self) -> None:
        """A CS of 10 that is not doubled ends its frame: when the line is quiet, or another frame follows."""
        frame = IcsFrame(1, 9, b"\xe6")
        raw = undoubled(1, 9, b"\xe6")
        self.assertEqual(raw.hex(), "10020109e6101003")
        deframer = Deframer()
        self.assertEqual(deframer.feed(raw), [])
        self.assertTrue(deframer.inside)
        self.assertEqual(deframer.forget(), [frame])
        self.assertEqual(frames(False, raw, frame.encode()), [frame, frame])
        self.assertEqual(frames(False, raw, raw, b"\x16"), [frame, frame])

    def test_looks_ended(self) -> None:
        """Data that looks like such an end is data when the rest of the frame follows."""
        frame = IcsFrame(1, 9, b"\xe6\x10\x03\x07")
        self.assertEqual(found(False, frame.encode()), [frame])
        self.assertEqual(found(False, *(bytes([byte]) for byte in frame.encode())), [frame])

    def test_limits(self) -> None:
        """Data that does not fit is refused before anything is sent."""
        self.assertRaises(ValueError, IcsFrame(1, 9, b"x" * LONGEST).encode)

    @settings(deadline=None)
    @given(st.integers(1, 255), st.integers(0, 255), st.binary(max_size=200), st.booleans())
    @example(1, 9, b"\xe6", False)
    @example(16, 16, b"\x10\x10\x03", True)
    def test_any_data(self, number: int, code: int, data: bytes, crc: bool) -> None:
        """Every command comes out of its frame."""
        frame = IcsFrame(number, code, data)
        self.assertEqual(found(crc, frame.encode(crc)), [frame])

    @settings(deadline=None)
    @given(st.lists(st.binary(max_size=60), max_size=6), st.booleans())
    def test_any_bytes(self, pieces: list[bytes], crc: bool) -> None:
        """Whatever comes, the frames found do not depend on how the bytes are cut."""
        self.assertEqual(frames(crc, *pieces), frames(crc, b"".join(pieces)))


class CommandTests(SynchronousTestCase):
    """Commands and answers."""

    def test_every_command(self) -> None:
        """Every command and answer with fields of its own is read as it was written."""
        for kind in ics.IcsCommand.known.values():
            record = sample(kind)
            self.assertEqual(kind.decode(record.encode()), record)
            answer = sample(kind.answer)
            self.assertEqual(kind.answer.decode(answer.encode()), answer)

    def test_line(self) -> None:
        """A line, worked out by hand: 2.000 of article 7 at 25.50, tax А, with its name and without."""
        line = ics.Sell(2000, 3, 2550, 0x80, "Хлiб", 7)
        self.assertEqual(line.encode().hex(), "d0070003f6090000800495ab69a1070000000000")
        known = ics.Sell(2, 0, -2550, 0x81, None, 7)
        self.assertEqual(known.encode().hex(), "02000000f609008081ff070000000000")
        self.assertEqual((line.thousandths, known.thousandths), (2000, 2000))
        for each in (line, known):
            self.assertEqual(ics.Sell.decode(each.encode()), each)

    def test_comment(self) -> None:
        """Bit 7 of the length opens a return."""
        self.assertEqual(ics.Comment("ab", True).encode().hex(), "826162")
        self.assertEqual(ics.Comment("ab").encode().hex(), "026162")

    def test_limits(self) -> None:
        """What does not fit, or cannot be read, is refused."""
        for command in (
            ics.PutIn(1 << 32),
            ics.PutIn(-1),
            ics.Change(1, 1 << 31),
            ics.Sell(1, 0, 1, 0x80, "x" * 76, 1),
            ics.SetDate("2311261"),
            ics.Comment("日"),
        ):
            self.assertRaises(ValueError, command.encode)
        for kind, data in (
            (ics.PutIn, b"123"),
            (ics.PutIn, b"12345"),
            (ics.Comment, b""),
            (ics.Comment, b"\x01ab"),
            (ics.Pay, b"\x03\0\0\0\0\0x"),
            (ics.SetDate, b"\xff\x11\x26"),
            (ics.LogIn, b"\0\0\x01\x05ab"),
        ):
            self.assertRaises(ValueError, kind.decode, data)
        self.assertRaises(Garbled, ics.LineAdded.decode, b"1234")
        self.assertRaises(Garbled, ics.Head.decode, b"12")

    def test_version(self) -> None:
        """The name of the protocol tells whether frames have a CRC."""
        for text, crc in (("ЕП-11", True), ("ЕП-09", True), ("ЕП-06", False), ("ОП-02", False), ("", False)):
            state = ics.State(b"\x10" * 20 + text.encode("cp866"))
            self.assertEqual((state.version, state.crc), (text, crc))

    def test_printable(self) -> None:
        """Letters that the register lacks are replaced."""
        self.assertEqual(ics.printable("Хліб № 5 日"), "Хлiб N 5 ?")

    def test_meanings(self) -> None:
        """A forbidden command is refused by its bit too, and 24 hours make the need of a Z report another one."""
        self.assertEqual(ics.meaning(41).trouble, Trouble.WRONG_MODE)
        self.assertEqual(ics.meaning(41, ics.Status.SHIFT_OVER).trouble, Trouble.SHIFT_OVER)
        self.assertEqual(ics.meaning(99).trouble, Trouble.UNKNOWN)
        forbidden = ics.Head(ics.Status.FORBIDDEN, 0, ics.Reserve(0)).refusal
        assert forbidden is not None
        self.assertEqual(forbidden.code, "S7")
        self.assertIsNone(ics.Head(ics.Status.PRINTER, 0, ics.Reserve(0)).refusal)


def sample(kind: Any) -> Any:
    """A record whose fields all have values of their own."""
    values: dict[str, Any] = {}
    for number, (name, each) in enumerate(formats(kind).items(), 1):
        match each:
            case ics.Unsigned():
                values[name] = number
            case ics.Packed():
                values[name] = f"{number:0{2 * each.size}d}"
            case ics.Rest():
                values[name] = True if name in ("closes", "opens_return") else b"x"
            case _:
                values[name] = f"x{number}"
    return kind(**values)
