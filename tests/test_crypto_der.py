"""DER: reading what others wrote, writing what others read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import der
from protocols.fiscal.crypto.errors import Malformed


class WriteTests(SynchronousTestCase):
    """Bytes worked by hand from X.690."""

    def test_by_hand(self) -> None:
        """Numbers, identifiers, strings, times and lengths are written as the standard's rules say."""
        moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        for made, wanted in (
            (der.integer(0), "02 01 00"),
            (der.integer(127), "02 01 7f"),
            (der.integer(128), "02 02 00 80"),
            (der.integer(-1), "02 01 ff"),
            (der.oid("1.2.840.113549.1.7.2"), "06 09 2a 86 48 86 f7 0d 01 07 02"),
            (der.oid("2.5.29.15"), "06 03 55 1d 0f"),
            (der.oid("2.999.3"), "06 03 88 37 03"),
            (der.octets(b"\1\2"), "04 02 01 02"),
            (der.bits(b"\xc0", 6), "03 02 06 c0"),
            (der.boolean(True), "01 01 ff"),
            (der.boolean(False), "01 01 00"),
            (der.null(), "05 00"),
            (der.utf8("ї"), "0c 02 d1 97"),
            (der.sequence(der.null(), der.null()), "30 04 05 00 05 00"),
            (der.set_of(b"\2\1\2", b"\2\1\1"), "31 06 02 01 01 02 01 02"),
            (der.element(der.context(1), b""), "a1 00"),
            (der.element(der.context(0, constructed=False), b"x"), "80 01 78"),
            (der.time(moment), "17 0d" + b"260102030405Z".hex()),
            (der.time(moment.replace(year=2050)), "18 0f" + b"20500102030405Z".hex()),
            (der.octets(bytes(127))[:2], "04 7f"),
            (der.octets(bytes(128))[:3], "04 81 80"),
            (der.octets(bytes(256))[:4], "04 82 01 00"),
        ):
            self.assertEqual(made, bytes.fromhex(wanted), wanted)

    def test_zones(self) -> None:
        """A moment of another zone is written in UTC."""
        kyiv = datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2)))
        self.assertEqual(der.parse(der.time(kyiv)).content, b"260102030405Z")


class ReadTests(SynchronousTestCase):
    """What is read, and what is refused."""

    @settings(deadline=None)
    @given(st.integers(), st.binary(max_size=300), st.lists(st.integers(0, 2**70), max_size=5))
    def test_round_trips(self, number: int, data: bytes, arcs: list[int]) -> None:
        """Numbers, strings and identifiers come back."""
        dotted = ".".join(map(str, [2, 5, *arcs]))
        fields = der.parse(der.sequence(der.integer(number), der.octets(data), der.oid(dotted))).fields(der.SEQUENCE)
        self.assertEqual((fields.take().integer(), fields.take().octets()), (number, data))
        self.assertEqual(fields.take().oid(), dotted)
        self.assertIsNone(fields.peek())
        for known in ("0.39", "1.0.5", "2.0", "2.999.3"):
            self.assertEqual(der.parse(der.oid(known)).oid(), known)

    def test_texts(self) -> None:
        """Every kind of text is read in its own encoding."""
        for tag, data, wanted in (
            (0x0C, "Ґ".encode(), "Ґ"),
            (0x12, b"12 3", "12 3"),
            (0x13, b"UA", "UA"),
            (0x14, b"\xe9", "é"),
            (0x16, b"a@b", "a@b"),
            (0x1A, b"x", "x"),
            (0x1E, b"\x04\x90", "Ґ"),
        ):
            self.assertEqual(der.parse(der.element(tag, data)).text(), wanted)

    def test_times(self) -> None:
        """Both kinds of time are read, with centuries and fractions; all else is refused."""
        for tag, text, wanted in (
            (der.UTC_TIME, b"491231235959Z", datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC)),
            (der.UTC_TIME, b"500101000000Z", datetime(1950, 1, 1, tzinfo=UTC)),
            (der.GENERALIZED_TIME, b"20260102030405.25Z", datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)),
        ):
            self.assertEqual(der.parse(der.element(tag, text)).time(), wanted)
        for tag, text in (
            (der.UTC_TIME, b"4912312359Z"),
            (der.UTC_TIME, b"491231235959"),
            (der.UTC_TIME, b"491331235959Z"),
            (der.UTC_TIME, b"491231235959+0200"),
            (der.GENERALIZED_TIME, b"2026010203040 Z"),
            (der.GENERALIZED_TIME, "٢٠٢٦٠١٠٢٠٣٠٤٠٥Z".encode()),
            (der.GENERALIZED_TIME, b"20260102030405.xZ"),
            (der.OCTET_STRING, b"20260102030405Z"),
        ):
            self.assertRaises(Malformed, der.parse(der.element(tag, text)).time)

    def test_refused(self) -> None:
        """Cut elements, long tags, endless lengths and what follows an element are refused."""
        for text in ("", "30", "30 01", "30 80 00 00", "30 85 00 00 00 00 00", "1f 81 01 00", "05 00 00", "04 82 01"):
            self.assertRaises(Malformed, der.parse, bytes.fromhex(text))
        self.assertEqual(der.parse_first(b"\5\0\0").raw, b"\5\0")

    def test_endless_numbers(self) -> None:
        """A number or identifier too long to be written out is refused; those of real files are read."""
        self.assertEqual(der.parse(der.integer(2**8190)).integer(), 2**8190)
        self.assertRaises(Malformed, der.parse(der.integer(2**20_000)).integer)
        self.assertTrue(der.parse(der.oid(f"1.2.{2**800}")).oid())
        self.assertRaises(Malformed, der.parse(der.oid(f"1.2.{2**2000}")).oid)

    def test_wrong_kinds(self) -> None:
        """An element is never taken for another kind."""
        null = der.parse(der.null())
        for reading in (null.integer, null.octets, null.bits, null.oid, null.text, null.time):
            self.assertRaises(Malformed, reading)
        self.assertRaises(Malformed, null.fields, der.SEQUENCE)
        self.assertRaises(Malformed, null.fields().take)
        self.assertRaises(Malformed, der.parse(b"\x02\x00").integer)
        self.assertRaises(Malformed, der.parse(b"\x06\x01\x86").oid)
        self.assertRaises(Malformed, der.parse(b"\x06\x00").oid)
        self.assertRaises(Malformed, der.parse(b"\x03\x01\x09").bits)
        self.assertRaises(Malformed, der.parse(b"\x0c\x01\xff").text)

    @settings(deadline=None, max_examples=300)
    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are elements whose bytes are all of them, or are malformed."""
        try:
            children = der.parse(b"\x30" + bytes([len(data)]) + data).children()
        except Malformed:
            return
        self.assertEqual(b"".join(child.raw for child in children), data)
