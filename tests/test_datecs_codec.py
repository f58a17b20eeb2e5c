"""Frames and commands of Datecs registers: golden bytes both ways, every cut, every kind of damage."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled
from protocols.registers.datecs import classic
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.frames import LONGEST_DATA, DatecsFrame, Deframer
from protocols.registers.numbered import Damaged, Noise, Sign
from protocols.registers.records import formats, shortened
from protocols.registers.troubles import DeviceRefused, Trouble
from tests.vectors import datecs as vectors

FRAMES = [
    *(bytes.fromhex(each.hex) for each in vectors.UKRAINIAN_ANSWERS),
    *(bytes.fromhex(raw) for raw, _ in (*vectors.UKRAINIAN_COMMANDS, *vectors.CLASSIC_COMMANDS, *vectors.PEER)),
    bytes.fromhex(vectors.STATUS_WITHOUT_DATA),
]


def found(*pieces: bytes) -> list[Any]:
    """What is on a line that brings ``pieces``."""
    deframer = Deframer()
    return [each for piece in pieces for each in deframer.feed(piece)]


def frame_of(raw: bytes) -> DatecsFrame:
    """The frame in ``raw``."""
    frame = DatecsFrame.decode(raw)
    assert frame is not None
    return frame


class FrameTests(SynchronousTestCase):
    """The frame that both dialects share."""

    def test_both_ways(self) -> None:
        """Recorded and calculated frames are read and written as they are."""
        for raw in FRAMES:
            self.assertEqual(found(raw), [frame_of(raw)])
            self.assertEqual(frame_of(raw).encode(), raw)

    def test_cut_at_every_byte(self) -> None:
        """Every frame is found wherever it is cut, byte by byte, and joined to others."""
        for raw in FRAMES:
            for cut in range(len(raw)):
                self.assertEqual(found(raw[:cut]), [])
                self.assertEqual(found(raw[:cut], raw[cut:]), [frame_of(raw)])
        joined = b"".join(FRAMES)
        whole = [frame_of(raw) for raw in FRAMES]
        self.assertEqual(found(joined), whole)
        self.assertEqual(found(*(bytes([byte]) for byte in joined)), whole)

    def test_damaged_at_every_byte(self) -> None:
        """A frame with a wrong, missing or added byte is never read; the one after it is, at once or repeated."""
        for raw in FRAMES:
            for place in range(len(raw)):
                before, behind = raw[:place], raw[place + 1 :]
                wrong = [before + bytes([raw[place] ^ bit]) + behind for bit in (0x01, 0x20, 0x80)]
                for spoilt in (*wrong, before + behind, before + b"\x55" + raw[place:]):
                    pieces = found(spoilt)
                    read = [piece for piece in pieces if isinstance(piece, DatecsFrame)]
                    if raw not in spoilt:
                        self.assertEqual(read, [], spoilt.hex())
                    self.assertIn(frame_of(raw), found(spoilt, raw * 9), spoilt.hex())

    def test_forgotten(self) -> None:
        """An incomplete frame is dropped when its end does not come in time."""
        deframer = Deframer()
        deframer.feed(FRAMES[0][:9])
        self.assertTrue(deframer.inside)
        deframer.forget()
        self.assertEqual(deframer.feed(FRAMES[1]), [frame_of(FRAMES[1])])
        self.assertFalse(deframer.inside)

    def test_wrong(self) -> None:
        """A wrong sum or length is a damaged frame."""
        sum_, length = bytes.fromhex(vectors.BAD_SUM), bytes.fromhex(vectors.BAD_LENGTH)
        self.assertEqual(found(sum_), [Damaged(sum_)])
        self.assertEqual(found(length, b"\x15"), [Damaged(length), Sign.REFUSED])

    def test_signs(self) -> None:
        """Signs stand between frames and end one that was cut short."""
        raw = FRAMES[0]
        self.assertEqual(found(vectors.BUSY, raw, vectors.NAK), [*[Sign.BUSY] * 3, frame_of(raw), Sign.REFUSED])
        self.assertEqual(found(raw[:9], vectors.BUSY[:1], raw), [Damaged(raw[:9]), Sign.BUSY, frame_of(raw)])
        self.assertEqual(found(raw[:3], raw), [Noise(raw[:3]), frame_of(raw)])

    def test_noise(self) -> None:
        """Bytes outside frames are told, and cost nothing."""
        raw = FRAMES[0]
        self.assertEqual(found(b"\xff\x00AT\r", raw, b"zz"), [Noise(b"\xff\x00AT\r"), frame_of(raw), Noise(b"zz")])

    def test_limits(self) -> None:
        """Data that does not fit, or has control characters, is refused before anything is sent."""
        self.assertEqual(len(DatecsFrame(0x20, 0x24, b"x" * LONGEST_DATA).encode()), 0xFF - 0x20 + 6)
        for data in (b"x" * (LONGEST_DATA + 1), b"\x05", b"a\x01"):
            self.assertRaises(ValueError, DatecsFrame(0x20, 0x24, data).encode)

    @settings(deadline=None)
    @given(st.lists(st.binary(max_size=60), max_size=6))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Whatever comes, the frames found do not depend on how the bytes are cut."""

        def frames(*given: bytes) -> list[object]:
            return [each for each in found(*given) if not isinstance(each, Noise)]

        self.assertEqual(frames(*pieces), frames(b"".join(pieces)))

    @settings(deadline=None)
    @given(
        st.integers(0x20, 0xFF),
        st.integers(0x21, 0xFF),
        st.text(st.characters(codec="cp1251", exclude_categories=["Cc"]), max_size=190),
        st.one_of(st.just(b""), st.binary(min_size=6, max_size=6).map(lambda raw: bytes(b | 0x80 for b in raw))),
    )
    def test_any_data(self, number: int, code: int, text: str, status: bytes) -> None:
        """Every command and every answer comes out of its frame."""
        frame = DatecsFrame(number, code, text.encode("cp1251"), status)
        self.assertEqual(found(frame.encode()), [frame])


class UkrainianTests(SynchronousTestCase):
    """Commands and answers of the Ukrainian dialect."""

    def test_answers(self) -> None:
        """Every answer of the log is read and written as it is, with the state of the document."""
        for each in vectors.UKRAINIAN_ANSWERS:
            frame = frame_of(bytes.fromhex(each.hex))
            self.assertEqual((frame.code, ua.document_of(frame.status)), (each.code, each.document))
            if isinstance(each.answer, int):
                kind = ua.UkrainianCommand.known.get(each.code, ua.Report).answer
                error = self.assertRaises(DeviceRefused, kind.decode, frame.data)
                self.assertEqual(error.code, f"{each.answer:04X}")
                self.assertEqual(ua.encode_error(each.answer), frame.data)
            else:
                self.assertEqual(ua.UkrainianCommand.known[each.code].answer.decode(frame.data), each.answer)
                self.assertEqual(each.answer.encode(), frame.data)

    def test_commands(self) -> None:
        """Every command is written and read as it is."""
        for raw, command in vectors.UKRAINIAN_COMMANDS:
            frame = frame_of(bytes.fromhex(raw))
            self.assertEqual((frame.number, frame.code), (0x21, command.code))
            self.assertEqual(command.encode(), frame.data)
            self.assertEqual(ua.UkrainianCommand.known[frame.code].decode(frame.data), ("000000", command))

    def test_every_command(self) -> None:
        """Every command and answer with fields of its own is read as it was written."""
        for kind in ua.UkrainianCommand.known.values():
            record = sample(kind)
            self.assertEqual(kind.decode(record.encode("123456")), ("123456", record))
            answer = sample(kind.answer)
            self.assertEqual(kind.answer.decode(answer.encode()), answer)

    def test_fields(self) -> None:
        """The field that cannot be read is named, and a separator inside a field is refused."""
        for data, field in ((b"000000;x;1.000;1.00;", 1), (b"000000;1;1.0001;1.00;", 2), (b"000000;1;1.000;", 3)):
            self.assertEqual(self.assertRaises(ua.FieldError, ua.Sell.decode, data).number, field)
        for name in ("a;b", "a\tb"):
            self.assertRaises(ValueError, ua.WriteArticle(1, name, 0).encode)
        self.assertRaises(ValueError, ua.WriteArticle(1, "日", 0).encode)
        self.assertEqual(shortened("日;a\tb Ґ…", 6, ua.CHARSET, ";"), "?,a b ")

    def test_no_answer(self) -> None:
        """An answer without its error, or without a field, is garbled."""
        for data in (b"", b"0000", b"00;", b"ZZZZ;", b"+000;", b"0000;", b"0000;1.2.3;"):
            self.assertRaises(Garbled, ua.Sum.decode, data)
        self.assertRaises(Garbled, ua.document_of, b"\x80\x80\x8f")
        self.assertRaises(Garbled, ua.document_of, b"")

    def test_meanings(self) -> None:
        """Errors have words in both languages; a detail that is not listed means what its class does."""
        self.assertEqual(ua.meaning(0x0905).trouble, Trouble.SHIFT_OVER)
        self.assertEqual(ua.meaning(0x080B).ukrainian, "недостатньо готівки в касі")
        self.assertEqual(ua.meaning(0x0203).english, "field 2 has a wrong format")
        self.assertEqual(ua.meaning(0x7F0B).trouble, Trouble.WRONG_MODE)
        self.assertEqual(ua.meaning(0x00EE).trouble, Trouble.UNKNOWN)


class ClassicTests(SynchronousTestCase):
    """Commands and answers of the classic dialect."""

    def test_commands(self) -> None:
        """Every command is written and read as it is, also those of another client."""
        for raw, command in (*vectors.CLASSIC_COMMANDS, *vectors.PEER):
            frame = frame_of(bytes.fromhex(raw))
            self.assertEqual(frame.code, command.code)
            self.assertEqual(command.encode(), frame.data)
            self.assertEqual(classic.ClassicCommand.known[frame.code].decode(frame.data), command)

    def test_status_without_data(self) -> None:
        """Some clients ask for the status without a letter."""
        frame = frame_of(bytes.fromhex(vectors.STATUS_WITHOUT_DATA))
        self.assertEqual(classic.ReadStatus.decode(frame.data), classic.ReadStatus(""))

    def test_answers(self) -> None:
        """Data of a log are read and written as they are."""
        for text, answer in vectors.CLASSIC_DATA:
            self.assertEqual(type(answer).decode(text.encode("cp1251")), answer)
            self.assertEqual(answer.encode(), text.encode("cp1251"))

    def test_every_command(self) -> None:
        """Every command and answer with fields of its own is read as it was written."""
        own = {
            classic.Pay,
            classic.Sell,
            classic.SellFree,
            classic.SellFreeShown,
            classic.WriteArticle,
            classic.ReadStatus,
            classic.PrintReport,
        }
        for kind in set(classic.ClassicCommand.known.values()) - own:
            record = sample(kind)
            self.assertEqual(kind.decode(record.encode()), record)
        for answer in (
            classic.Counts(12, 7),
            classic.Subtotals(5100, "0000005100,0000000000"),
            classic.PaidAnswer("R", 900),
            classic.Cash("P", 10000, 20000, 10000),
            classic.ReceiptState(1, 2, 5100, 0),
            classic.LastNumber(471),
            classic.FormSums(5100, 0, 25, 0),
            classic.Report(17, "0000005100"),
            classic.Clock("23-11-26 22:15:00"),
        ):
            self.assertEqual(type(answer).decode(answer.encode()), answer)

    def test_lines(self) -> None:
        """Percentages, sums and prices stand where the description has them."""
        for text, line in (
            ("+20*1.500,-10.00#25.50", classic.Sell(20, 1500, 2550, -1000)),
            ("-20*1.000;-0.50", classic.Sell(20, 1000, change=-50, sign="-")),
        ):
            self.assertEqual((line.text(), classic.Sell.decode(text.encode())), (text, line))
        self.assertEqual(classic.Subtotals(5100, "0000005100,0000000000").by_tax, (5100, 0))

    def test_pay(self) -> None:
        """A payment may say everything or nothing; its answer may have decimals."""
        for pay in (classic.Pay(), classic.Pay("C", 5100, "Картка"), classic.Pay("P", 6000)):
            self.assertEqual(classic.Pay.decode(pay.encode()), pay)
        self.assertEqual(classic.PaidAnswer.decode(b"R9.00"), classic.PaidAnswer("R", 900))
        self.assertEqual(classic.PaidAnswer.decode(b"F"), classic.PaidAnswer("F"))
        for data in (b"", b"Q12", b"R1x"):
            self.assertRaises(Garbled, classic.PaidAnswer.decode, data)

    def test_unreadable(self) -> None:
        """What is no command is refused, and what is no answer is garbled."""
        for kind, data in ((classic.Open, b"1"), (classic.Sell, b"1x2"), (classic.PrintReport, b"0000")):
            self.assertRaises(ValueError, kind.decode, data)
        for data in (b"", b"1", b"1,x"):
            self.assertRaises(Garbled, classic.Counts.decode, data)

    def test_status(self) -> None:
        """A bit of the last command refuses it; conditions alone do not."""
        none = classic.Status.of(classic.FISCALISED, classic.NO_PAPER, classic.GENERAL)
        self.assertIsNone(none.refusal)
        self.assertEqual([each.trouble for each in none.conditions], [Trouble.NO_PAPER])
        for bits, trouble in (
            ((classic.FORBIDDEN, classic.FISCALISED), Trouble.WRONG_MODE),
            ((classic.FORBIDDEN,), Trouble.NOT_FISCALISED),
            ((classic.FORBIDDEN, classic.NO_PAPER), Trouble.NO_PAPER),
            ((classic.FORBIDDEN, classic.MEMORY_FULL), Trouble.MEMORY_FULL),
            ((classic.SYNTAX,), Trouble.BAD_SYNTAX),
            ((classic.OVERFLOW,), Trouble.OVERFLOW),
            ((classic.MEMORY_WRITE,), Trouble.MEMORY_FAULT),
        ):
            refusal = classic.Status.of(*bits).refusal
            assert refusal is not None
            self.assertEqual(refusal.meaning.trouble, trouble)


def sample(kind: Any) -> Any:
    """A record whose fields all have values of their own."""
    values: dict[str, Any] = {}
    for number, (name, each) in enumerate(formats(kind).items(), 1):
        text = type(each.read("7") if name not in ("date", "time") else "x")
        values[name] = number if text is int else f"{number}"
    return kind(**values)
