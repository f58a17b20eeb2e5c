"""ZVT's bytes and their meaning: every vector both ways, every cut, and anything at all without a crash."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.zvt import codes
from protocols.terminals.zvt import fields as f
from protocols.terminals.zvt import messages as m
from protocols.terminals.zvt.apdu import Apdu, ApduDeframer
from protocols.terminals.zvt.fields import Fields, bcd, from_bcd, masked_pan, pan_nibbles
from protocols.terminals.zvt.slips import SlipCollector, SlipLine, print_lines
from protocols.terminals.zvt.tlv import Tlv, decode_all, encode_all, encode_length, find, read_length
from tests.terminal_matrix import shows
from tests.vectors.zvt import APDUS, BANNER, EXTENDED, FRAGMENTS, INTERMEDIATE_DATA, UNFINISHED

BY_NAME = {vector.name: vector for vector in APDUS}


def apdus(*pieces: bytes) -> list[Apdu]:
    """The APDUs of a stream that comes in ``pieces``."""
    deframer = ApduDeframer()
    return [apdu for piece in pieces for apdu in deframer.feed(piece)]


def vector(name: str) -> Any:
    """The message of a vector."""
    return m.decode(Apdu.decode(BY_NAME[name].raw))


class VectorTests(SynchronousTestCase):
    """Recorded and printed messages are read and written as they are."""

    def test_both_ways(self) -> None:
        """Each vector is the message that its source says, and becomes the same bytes again."""
        for each in APDUS:
            message: Any = m.decode(Apdu.decode(each.raw))
            self.assertEqual(type(message).__name__, each.kind, each.name)
            for name, value in each.facts.items():
                self.assertEqual(getattr(message, name), value, f"{each.name} {name}")
            self.assertEqual(message.encode().encode(), each.raw, each.name)

    @shows("golden frames", wire="zvt")
    def test_cut_at_every_byte(self) -> None:
        """A message cut anywhere is put together, and nothing comes before its last byte."""
        for each in APDUS:
            whole = [Apdu.decode(each.raw)]
            for cut in range(len(each.raw)):
                self.assertEqual(apdus(each.raw[:cut]), [], each.name)
                self.assertEqual(apdus(each.raw[:cut], each.raw[cut:]), whole, f"{each.name} at {cut}")

    def test_byte_by_byte(self) -> None:
        """All messages after each other, byte by byte, and all in one piece."""
        stream = b"".join(each.raw for each in APDUS)
        expected = [Apdu.decode(each.raw) for each in APDUS]
        self.assertEqual(apdus(*(bytes([byte]) for byte in stream)), expected)
        self.assertEqual(apdus(stream), expected)

    def test_fragments(self) -> None:
        """A slip in the ten pieces in which a terminal sent it."""
        name, sizes = FRAGMENTS
        raw = BY_NAME[name].raw
        pieces, place = [], 0
        for size in sizes:
            pieces.append(raw[place : place + size])
            place += size
        self.assertEqual(apdus(*pieces, raw[place:]), [Apdu.decode(raw)])

    def test_cut_short_inside(self) -> None:
        """A status information whose length was cut with its data is garbled or has fewer fields, never others."""
        for name in ("zvt-013", "zvt-015", "zvt-028"):
            whole = Apdu.decode(BY_NAME[name].raw).data
            items = Fields.decode(whole).items
            for cut in range(len(whole)):
                try:
                    message = m.decode(Apdu(0x040F, whole[:cut]))
                except Garbled:
                    continue
                assert isinstance(message, m.StatusInformation)
                self.assertEqual(message.fields.items, items[: len(message.fields.items)])

    def test_status_details(self) -> None:
        """The recorded approval carries text and the data objects that newer terminals add."""
        status = vector("zvt-013")
        self.assertEqual((status.text(), status.fields.unread), ("GEN.NR.:611804", b""))
        reversal = vector("zvt-015")
        self.assertEqual(find(reversal.fields.tlv, 0x43), bytes.fromhex("a0000000041010"))
        self.assertEqual(vector("zvt-011").text(), "Abbruch durch Kunde")
        self.assertEqual(vector("zvt-028").text(), "Karte abgelehnt")

    def test_registration_answer(self) -> None:
        """The completion of a registration has terminal id and currency."""
        fields = vector("zvt-024").fields
        self.assertEqual((fields.get(f.TERMINAL_ID), fields.get(f.CURRENCY)), (b"\x29\x00\x10\x06", b"\x09\x78"))

    def test_status_report(self) -> None:
        """A status enquiry is answered by the status alone, or with the version before it."""
        self.assertEqual(vector("zvt-025").report, m.StatusReport(codes.CARD_INSERTED))
        told = m.Completion(b"\xf0\xf0\xf7SIM 1.0\x00")
        self.assertEqual(told.report, m.StatusReport(0, "SIM 1.0"))
        for data in (b"", b"\xf0\xf0\xf1a", b"\xf0\xf9\xf9a"):
            with self.assertRaises(Garbled):
                m.Completion(data).report  # noqa: B018

    def test_sequence_numbers(self) -> None:
        """Messages of a numbered session show their number."""
        for name, number in (("zvt-047", "000000"), ("zvt-050", "000002"), ("zvt-052", "000011")):
            self.assertEqual(find(vector(name).fields.tlv, m.SEQUENCE), bytes.fromhex(number))

    def test_intermediate(self) -> None:
        """An intermediate status with a limit in minutes and texts."""
        message = m.decode(Apdu(0x04FF, INTERMEDIATE_DATA))
        assert isinstance(message, m.IntermediateStatus)
        self.assertEqual((message.status, message.minutes), (codes.WORDS_INSIDE, 10))
        self.assertEqual(message.texts, (b"EUR 1.23", b"Bitte warten"))
        self.assertEqual(message.encode().data, INTERMEDIATE_DATA)
        self.assertEqual(m.decode(Apdu(0x04FF, b"\x0a")), m.IntermediateStatus(0x0A))
        self.assertEqual(m.decode(Apdu(0x04FF, b"\x0a\x06")), m.IntermediateStatus(0x0A, 6))

    def test_card_complete(self) -> None:
        """Data objects behind the text of a print line are no text."""
        line = vector("zvt-039")
        self.assertEqual(find(line.fields.tlv, m.RECEIPT_KIND), b"\x01")


class ApduTests(SynchronousTestCase):
    """The unit of the line."""

    def test_extended_length(self) -> None:
        """The longer form of the length is read everywhere, and written from 255 bytes on."""
        self.assertEqual(apdus(EXTENDED), [Apdu(0x040F, b"\x6c")])
        for size in (0, 254, 255, 256, 65535):
            apdu = Apdu(0x06D3, bytes(size))
            self.assertEqual(Apdu.decode(apdu.encode()), apdu)
            self.assertEqual(len(apdu.encode()), size + (3 if size < 255 else 5))
        self.assertRaises(ValueError, Apdu(0x06D3, bytes(65536)).encode)

    def test_unfinished(self) -> None:
        """A message that promises more is waited for."""
        self.assertEqual(apdus(UNFINISHED), [])
        self.assertEqual(apdus(UNFINISHED, bytes(255)), [Apdu(0x040F, b"\x6c" + bytes(255))])

    def test_banner(self) -> None:
        """A port with another protocol is reported with its first bytes."""
        error = self.assertRaises(Garbled, apdus, BANNER)
        self.assertEqual(error.data, BANNER)

    def test_garbage_around(self) -> None:
        """Noise before or behind a message ends the stream; what came before it was delivered."""
        raw = BY_NAME["zvt-001"].raw
        self.assertRaises(Garbled, apdus, b"\xff" + raw)
        deframer = ApduDeframer()
        stream = deframer.feed(raw + b"\xff")
        self.assertEqual(next(stream), Apdu.decode(raw))
        self.assertRaises(Garbled, next, stream)
        self.assertRaises(Garbled, list, deframer.feed(raw))

    def test_wrong_length(self) -> None:
        """A single APDU must be neither shorter nor longer than it says."""
        raw = BY_NAME["zvt-001"].raw
        self.assertRaises(Garbled, Apdu.decode, raw[:-1])
        self.assertRaises(Garbled, Apdu.decode, raw + b"\0")


class FieldTests(SynchronousTestCase):
    """Fields and data objects."""

    def test_lengths(self) -> None:
        """LL and LLL are decimal digits in low nibbles; data objects have lengths of one to three bytes."""
        self.assertEqual(Fields.decode(b"\x22\xf1\xf8" + bytes(18)).items, ((0x22, bytes(18)),))
        self.assertEqual(Fields.decode(b"\x3c\xf0\xf1\xf9" + bytes(19)).items, ((0x3C, bytes(19)),))
        self.assertEqual(Fields.decode(b"\x3c\xf1\xf8\xf9" + bytes(189)).items, ((0x3C, bytes(189)),))
        self.assertEqual(read_length(bytes.fromhex("82028a"), 0), (650, 3))
        for size, raw in ((0x7F, "7f"), (0x80, "8180"), (0xFF, "81ff"), (0x100, "820100"), (650, "82028a")):
            self.assertEqual(encode_length(size), bytes.fromhex(raw))

    def test_unknown_field(self) -> None:
        """Behind an unknown field the rest is kept as it is."""
        fields = Fields.decode(bytes.fromhex("2700 7f 0102"))
        self.assertEqual((fields.items, fields.unread), (((f.RESULT, b"\0"),), b"\x7f\x01\x02"))
        self.assertEqual(fields.encode(), bytes.fromhex("2700 7f 0102"))

    def test_garbled(self) -> None:
        """What is cut short or no number is garbled."""
        for raw in (
            "04000000",
            "22f0",
            "22f0f8ee",
            "22a0f8",
            "3cf0f1fa",
            "06",
            "0605",
            "06021f07",
            "0680",
            "0683000001",
        ):
            self.assertRaises(Garbled, Fields.decode, bytes.fromhex(raw))
        for tag in (f.RECEIPT, f.TRACE, f.CURRENCY):
            data = Fields(((tag, b"\xaa" * f.FIXED[tag]),)).encode()
            self.assertRaises(Garbled, m.decode, Apdu(0x040F, data))
        self.assertRaises(Garbled, m.decode, Apdu(0x040F, Fields(((f.TOTALS, bytes(6)),)).encode()))

    def test_unreadable_amount(self) -> None:
        """A booking whose amount is no number is a booking over no sum; without an amount it names none."""
        for items, amount in (((f.AMOUNT, b"\xaa" * 6),), NOT_A_SUM), ((), None):
            message = m.decode(Apdu(0x040F, Fields(items).encode()))
            assert isinstance(message, m.StatusInformation)
            self.assertEqual(message.amount, amount)

    def test_does_not_fit(self) -> None:
        """Values that do not fit their field are refused when they are written."""
        self.assertRaises(ValueError, Fields(((f.AMOUNT, b"\0"),)).encode)
        self.assertRaises(ValueError, Fields(((f.PAN, bytes(100)),)).encode)
        self.assertRaises(ValueError, bcd, 100, 1)
        self.assertRaises(ValueError, bcd, -1, 1)
        self.assertRaises(ValueError, m.EndOfDay("12345").encode)

    def test_pan(self) -> None:
        """A card number is shown by its first six and last four digits at most, whatever the terminal sends."""
        self.assertEqual(masked_pan(bytes.fromhex("4444333322221111")), "444433******1111")
        self.assertEqual(masked_pan(bytes.fromhex("444433eeeeee1111")), "444433******1111")
        self.assertEqual(masked_pan(bytes.fromhex("eeeeeeeeeeeeeee4281f")), "*" * 15 + "4281")
        self.assertEqual(masked_pan(b""), "")
        self.assertEqual(masked_pan(pan_nibbles("516875******7414")), "516875******7414")

    def test_nested(self) -> None:
        """Data objects are found at the end of a path, and it is known whether they hold others."""
        inner = Tlv(0x1F07, b"\x01")
        parts = (Tlv(0x40, b"x"), Tlv.of(0x25, inner, Tlv(0x07, b"text")))
        self.assertEqual(decode_all(encode_all(parts)), parts)
        self.assertEqual(find(parts, 0x25, 0x07), b"text")
        self.assertEqual((find(parts, 0x26), find(parts, 0x25, 0x26)), (None, None))
        self.assertEqual((parts[0].constructed, parts[1].constructed, inner.constructed), (False, True, False))
        self.assertEqual(parts[1].parts[0], inner)

    @settings(deadline=None)
    @given(st.integers(0, 10**12 - 1))
    def test_bcd(self, number: int) -> None:
        """Every amount comes back as it was."""
        self.assertEqual(from_bcd(bcd(number, 6)), number)


class MessageTests(SynchronousTestCase):
    """Messages without a vector come back as they were, and mean what the tables say."""

    MESSAGES: tuple[Any, ...] = (
        m.Registration("000000", 0xBE, 980, Fields.of(tlv=(Tlv.of(m.COMMANDS, Tlv(0x0A, b"\x06\xd3")),))),
        m.Registration("123456", 0x08),
        m.Registration("123456", 0x08, fields=Fields.of((f.SERVICE, b"\x01"))),
        m.StatusEnquiry(),
        m.StatusEnquiry("123456", Fields.of((f.SERVICE, b"\x02"))),
        m.Authorisation.of(1250, 980, 0x40, m.in_step(473)),
        m.Reversal.of("000000", 473, 100, 980, m.in_step(0)),
        m.Refund.of("000000", 1250, 980),
        m.EndOfDay("123456"),
        m.SendTotals("000000"),
        m.Initialisation("000000"),
        m.RepeatReceipt.of("000000", 3),
        m.RepeatReceipt.of("000000"),
        m.ReprintReceipts("000000", 1, 20),
        m.ReprintReceipts("000000", 7),
        m.ReadCard(30, Fields.of((f.PAYMENT_TYPE, b"\x40"))),
        m.Abort(),
        m.LogOff(),
        m.Diagnosis(),
        m.PrintBlock.of(2, b"one", b"", b"two"),
        m.AbortReport(0x6F, bytes.fromhex("490978")),
        m.Negative(codes.SMALLER_GOODS, bytes.fromhex("04000000000100")),
        m.Unknown(0x0401, b"\x01\x02"),
    )

    def test_both_ways(self) -> None:
        """What is written is read as the same message."""
        for message in self.MESSAGES:
            self.assertEqual(m.decode(Apdu.decode(message.encode().encode())), message)

    def test_bytes(self) -> None:
        """Commands by hand, from the table of commands."""
        for message, raw in (
            (m.RepeatReceipt.of("000000", 3), "06 20 05 00 00 00 03 03"),
            (m.StatusEnquiry(), "05 01 00"),
            (m.Abort(), "06 b0 00"),
            (m.EndOfDay("123456"), "06 50 03 12 34 56"),
            (m.Reversal.of("000000", 473), "06 30 06 00 00 00 87 04 73"),
            (m.Refund.of("000000", 1250, 980), "06 31 0d 00 00 00 04 00 00 00 00 12 50 49 09 80"),
            (m.ReadCard(30), "06 c0 01 30"),
            (m.Authorisation.of(1250, 0, None, m.in_step(473)), "06 01 0e 04 00 00 00 00 12 50 06 05 1f 1f 02 04 73"),
            (m.Authorisation.of(1250, 0, None, m.in_step(0)), "06 01 0c 04 00 00 00 00 12 50 06 03 1f 1f 00"),
        ):
            self.assertEqual(message.encode().encode(), bytes.fromhex(raw))

    def test_totals(self) -> None:
        """The totals of an end of day: numbers, then count and turnover of each group."""
        raw = bytes.fromhex("0001 0007 01 000000001000 00 000000000000 02 000000002050")
        totals = m.BatchTotals(1, 7, ((1, 1000), (0, 0), (2, 2050)))
        self.assertEqual((m.BatchTotals.decode(raw), totals.encode()), (totals, raw))

    def test_garbled(self) -> None:
        """Messages without what they must have are garbled."""
        for control, data in (
            (0x0600, "1234"),
            (0x0600, "123456"),
            (0x0501, "12"),
            (0x0650, "00000a"),
            (0x0630, "1234"),
            (0x0612, "00000001"),
            (0x06C0, ""),
            (0x06C0, "aa"),
            (0x06B0, "00"),
            (0x04FF, ""),
            (0x061E, ""),
            (0x06D1, ""),
            (0x06D3, "0605250107"),
        ):
            self.assertRaises(Garbled, m.decode, Apdu(control, bytes.fromhex(data)))

    def test_positive(self) -> None:
        """84 00 counts as a yes."""
        self.assertTrue(m.Negative(0).positive)

    def test_words(self) -> None:
        """Results and states have texts, unlisted ones their number."""
        self.assertEqual(codes.result_text(0x33), "the bank answered 51")
        self.assertIn("aborted", codes.result_text(codes.ABORTED))
        self.assertEqual(codes.result_text(0xAB), "result AB")
        self.assertEqual(codes.intermediate_text(0x0A), "insert the card")
        self.assertEqual(codes.intermediate_text(0x43), "refused, take the card out")
        self.assertEqual(codes.intermediate_text(0xEE), "state EE")

    @settings(deadline=None)
    @given(st.binary(max_size=80))
    def test_any_bytes(self, data: bytes) -> None:
        """Whatever comes, the deframer and the messages give values or say that it is garbled."""
        try:
            for apdu in apdus(data):
                m.decode(apdu).encode()
        except Garbled:
            pass

    @settings(deadline=None)
    @given(st.sampled_from([*m._DECODERS, 0x8466]), st.binary(max_size=60))
    def test_any_data(self, control: int, data: bytes) -> None:
        """Whatever data a message has, it is read with all its properties, or garbled."""
        try:
            message = m.decode(Apdu(control, data))
        except Garbled:
            return
        message.encode()
        if isinstance(message, m.StatusInformation):
            for name in ("result", "amount", "receipt", "pan", "time", "card_name", "totals", "authorisation"):
                getattr(message, name)
            message.text()
        if isinstance(message, m.PrintLine | m.PrintBlock):
            collector = SlipCollector()
            if isinstance(message, m.PrintLine):
                collector.add_line(message)
            else:
                collector.add_block(message)
            collector.slips()

    @settings(deadline=None)
    @given(st.sampled_from(APDUS), st.data())
    def test_one_wrong_byte(self, each: Any, draw: st.DataObject) -> None:
        """A golden message with one wrong byte is another message or garbled, and never a crash."""
        raw = bytearray(each.raw)
        raw[draw.draw(st.integers(0, len(raw) - 1))] = draw.draw(st.integers(0, 255))
        try:
            for apdu in apdus(bytes(raw)):
                m.decode(apdu)
        except Garbled:
            pass


class SlipTests(SynchronousTestCase):
    """Slips from lines and from blocks."""

    def test_block(self) -> None:
        """A recorded slip of a merchant has its lines, centred where the terminal said so."""
        collector = SlipCollector("iso-8859-1")
        collector.add_block(vector("zvt-032"))
        [slip] = collector.slips()
        self.assertEqual((slip.kind, slip.lines[0]), ("merchant", SlipLine("** HÄNDLERBELEG **", centred=True)))
        self.assertIn("BETRAG:  EUR        0,01", slip.text)
        self.assertEqual(slip.lines[-1].text.strip(), "")

    def test_administration(self) -> None:
        """Slips for the administration and for the customer are distinguished."""
        collector = SlipCollector()
        for name in ("zvt-041", "zvt-043"):
            collector.add_block(vector(name))
        first, second = collector.slips()
        self.assertEqual((first.kind, second.kind), ("administration", "customer"))
        self.assertIn("für PORTALUM GmbH", second.text)

    def test_lines(self) -> None:
        """Lines that come one by one end with the cut; what follows is the next slip."""
        collector = SlipCollector()
        for message in (
            m.PrintLine(0x40, b"SHOP"),
            m.PrintLine(0xFF, b"\x02"),
            m.PrintLine(0x32, b"TOTAL"),
            m.PrintLine(0x81),
            m.PrintLine(0x00, b"next"),
            m.PrintLine(0x80, b"more"),
        ):
            collector.add_line(message)
        first, second = collector.slips()
        empty = SlipLine("")
        total = SlipLine("TOTAL", wide=True, high=True, indent=2)
        self.assertEqual(first.lines, (SlipLine("SHOP", centred=True), empty, empty, total))
        self.assertEqual((first.text, second.text), ("SHOP\n\n\n  TOTAL", "next\nmore"))

    def test_cut_twice(self) -> None:
        """Nothing between two cuts is no slip."""
        collector = SlipCollector()
        for message in (m.PrintLine(0x81), m.PrintLine(0, b"a"), m.PrintLine(0x81), m.PrintLine(0x81)):
            collector.add_line(message)
        self.assertEqual(len(collector.slips()), 1)

    def test_any_text(self) -> None:
        """A text that is printed line by line is the same slip at the other end."""
        collector = SlipCollector("cp1125")
        for message in print_lines("ОПЛАТА\n125.50", "cp1125"):
            collector.add_line(m.decode(Apdu.decode(message.encode().encode())))  # type: ignore[arg-type]
        self.assertEqual([slip.text for slip in collector.slips()], ["ОПЛАТА\n125.50"])
