"""Checksums give the values that are printed in the protocols' papers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.checksums import crc_kermit, lrc


class LrcTests(SynchronousTestCase):
    """The XOR of all bytes."""

    def test_known(self) -> None:
        """The four ways in which ECR17 terminals check the letter A (docs/reference/ecr17.md#frames)."""
        self.assertEqual(lrc(b"A", 0x7F), 0x3E)
        self.assertEqual(lrc(b"\x02A\x03", 0x7F), 0x3F)
        self.assertEqual(lrc(b"A\x03", 0x7F), 0x3D)
        self.assertEqual(lrc(b"\x02A", 0x7F), 0x3C)

    def test_nothing(self) -> None:
        """Of nothing it is the start value."""
        self.assertEqual((lrc(b""), lrc(b"", 0x7F)), (0, 0x7F))

    @settings(deadline=None)
    @given(st.binary(max_size=64), st.binary(max_size=64))
    def test_pieces(self, first: bytes, second: bytes) -> None:
        """The checksum may be calculated in pieces, and data with its own checksum gives 0."""
        whole = lrc(first + second)
        self.assertEqual(whole, lrc(second, lrc(first)))
        self.assertEqual(lrc(first + second + bytes([whole])), 0)


class CrcTests(SynchronousTestCase):
    """The CRC of serial ZVT."""

    def test_known(self) -> None:
        """The check value of the CRC catalogues, and a frame of ZVT (docs/reference/zvt.md#serial-frame)."""
        self.assertEqual(crc_kermit(b"123456789"), 0x2189)
        frame = bytes.fromhex("06 01 07 04 00 00 00 00 12 50 03")
        self.assertEqual(crc_kermit(frame).to_bytes(2, "little"), bytes.fromhex("2d f7"))

    def test_nothing(self) -> None:
        """Of nothing it is the start value."""
        self.assertEqual(crc_kermit(b""), 0)

    @settings(deadline=None)
    @given(st.binary(max_size=64), st.binary(max_size=64))
    def test_pieces(self, first: bytes, second: bytes) -> None:
        """The checksum may be calculated in pieces, and data with its own checksum gives 0."""
        whole = crc_kermit(first + second)
        self.assertEqual(whole, crc_kermit(second, crc_kermit(first)))
        self.assertEqual(crc_kermit(first + second + whole.to_bytes(2, "little")), 0)

    @settings(deadline=None)
    @given(st.binary(min_size=1, max_size=32), st.data())
    def test_one_bit(self, data: bytes, draw: st.DataObject) -> None:
        """A single wrong bit never goes unseen."""
        bit = draw.draw(st.integers(0, len(data) * 8 - 1))
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        self.assertNotEqual(crc_kermit(bytes(wrong)), crc_kermit(data))
