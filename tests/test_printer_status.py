"""Answers of ESC/POS printers: recognised by their bits and combined into one state."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.escpos_status import (
    EscPosAnswer,
    EscPosAnswers,
    Flow,
    NameAnswer,
    Noise,
    StateAnswer,
    StateChange,
    TurnAnswer,
)
from protocols.printers.status import PrinterStatus
from tests.vectors.printers import ESCPOS_ANSWERS


def parse(data: bytes, *asked: int, in_turn: int = 0) -> tuple[list[EscPosAnswer], PrinterStatus]:
    """The answers in ``data`` after the real-time queries ``asked`` and ``in_turn`` queries in turn."""
    answers = EscPosAnswers()
    answers.ask(*asked)
    for _ in range(in_turn):
        answers.ask_in_turn(1)
    return list(answers.feed(data)), answers.status


class VectorTests(SynchronousTestCase):
    """The golden answers."""

    def test_meaning(self) -> None:
        """Every golden answer is parsed correctly, wherever it is split."""
        for vector in ESCPOS_ANSWERS:
            for cut in range(len(vector.data)):
                answers = EscPosAnswers()
                if vector.asked > 0:
                    answers.ask(vector.asked)
                elif vector.asked < 0:
                    answers.ask_in_turn(1)
                found = [*answers.feed(vector.data[:cut]), *answers.feed(vector.data[cut:])]
                self.assertEqual(len(found), 1, vector.id)
                self.assertNotIsInstance(found[0], Noise)
                self.assertEqual(answers.status, replace(vector.status, raw=vector.data), vector.id)


class ApartTests(SynchronousTestCase):
    """Answers that look alike are distinguished by the queries before them."""

    def test_in_order(self) -> None:
        """Answers belong to queries in their order."""
        found, status = parse(b"\x12\x16\x12\x72", 1, 2, 3, 4)
        self.assertEqual(
            found, [StateAnswer(1, 0x12), StateAnswer(2, 0x16), StateAnswer(3, 0x12), StateAnswer(4, 0x72)]
        )
        self.assertEqual((status.online, status.cover_open, status.paper), (True, True, "out"))

    def test_group_before_turn(self) -> None:
        """The last three bytes of an automatic status belong to it; the next one is an answer in turn."""
        found, _ = parse(b"\x10\x00\x00\x00\x00", in_turn=1)
        self.assertEqual(found, [StateChange(b"\x10\0\0\0"), TurnAnswer(0)])

    def test_answer_inside_of_a_group(self) -> None:
        """A real-time answer, or XOFF, may come in the middle of an automatic status."""
        found, status = parse(b"\x10\x00\x12\x13\x03\x00", 1)
        self.assertEqual(found, [StateAnswer(1, 0x12), Flow(True), StateChange(b"\x10\x00\x03\x00")])
        self.assertEqual(status.paper, "near_end")

    def test_group_broken_off(self) -> None:
        """An incomplete automatic status is noise, and the next one is parsed."""
        found, _ = parse(b"\x10\x00\x18\x00\x00\x00")
        self.assertEqual(found, [Noise(b"\x10\x00"), StateChange(b"\x18\0\0\0")])

    def test_nobody_asked(self) -> None:
        """An answer without a query does not change the state."""
        found, status = parse(b"\x16\x00")
        self.assertEqual(found, [Noise(b"\x16"), Noise(b"\x00")])
        self.assertEqual(status, PrinterStatus())
        self.assertFalse(status.known)

    def test_names(self) -> None:
        """Names of the printer and of marks are parsed completely."""
        found, _ = parse(b"_EPSON\x00\x37\x22AB01\x00")
        self.assertEqual(found, [NameAnswer(b"EPSON"), TurnAnswer(name=b"AB01")])

    def test_name_that_is_none(self) -> None:
        """The beginning of a name alone is noise, and nothing after it is lost."""
        found, _ = parse(b"_\x12\x37\x12", 1, 2)
        self.assertEqual(found, [Noise(b"_"), StateAnswer(1, 0x12), Noise(b"\x37"), StateAnswer(2, 0x12)])

    def test_name_without_end(self) -> None:
        """An endless name is given up."""
        answers = EscPosAnswers()
        self.assertTrue(any(isinstance(answer, Noise) for answer in answers.feed(b"_" + b"A" * 100)))

    def test_flow(self) -> None:
        """XOFF and XON are returned and remembered."""
        answers = EscPosAnswers()
        self.assertEqual(list(answers.feed(b"\x13")), [Flow(True)])
        self.assertTrue(answers.stopped)
        self.assertEqual(list(answers.feed(b"\x11")), [Flow(False)])
        self.assertFalse(answers.stopped)

    def test_forget(self) -> None:
        """After forgetting, a late answer is noise."""
        answers = EscPosAnswers()
        answers.ask(1)
        answers.forget()
        self.assertEqual((answers.expected, list(answers.feed(b"\x1a"))), (0, [Noise(b"\x1a")]))

    @settings(max_examples=300, deadline=None)
    @given(st.binary(max_size=60), st.lists(st.integers(1, 4), max_size=6), st.integers(0, 3))
    def test_any_bytes(self, data: bytes, asked: list[int], in_turn: int) -> None:
        """No input makes it fail, splitting changes nothing, and the kept answers are limited."""
        whole, single = EscPosAnswers(), EscPosAnswers()
        for answers in (whole, single):
            answers.ask(*asked)
            for _ in range(in_turn):
                answers.ask_in_turn(1)
        found = list(whole.feed(data))
        self.assertEqual([answer for byte in data for answer in single.feed(bytes([byte]))], found)
        self.assertEqual(whole.status, single.status)
        self.assertLessEqual(len(whole.status.raw), 16)


class StatusTests(SynchronousTestCase):
    """The combined state."""

    def test_faults(self) -> None:
        """Each error has its name, and the most serious one is reported."""
        for bits, fault in ((0x04, "mechanical"), (0x08, "cutter"), (0x20, "unrecoverable"), (0x40, "overheat")):
            self.assertEqual(parse(bytes([0x12 | bits]), 3)[1].error, fault)
            self.assertEqual(parse(bytes([0x10, bits, 0, 0]))[1].error, fault)
        self.assertEqual(parse(b"\x3a", 3)[1].error, "unrecoverable")

    def test_error_goes(self) -> None:
        """An error is over when the printer says so."""
        answers = EscPosAnswers()
        answers.ask(2, 3)
        list(answers.feed(b"\x52\x1a"))
        self.assertEqual(answers.status.error, "cutter")
        answers.ask(2, 3)
        list(answers.feed(b"\x12\x12"))
        self.assertEqual(answers.status.error, "none")

    def test_stopped_by_paper(self) -> None:
        """A printer that stopped at the end of its paper is out of paper."""
        self.assertEqual(parse(b"\x32", 2)[1].paper, "out")

    def test_drawer(self) -> None:
        """A high pin means open, or closed with inverted wiring."""
        for high_is_open, expected in ((True, True), (False, False)):
            answers = EscPosAnswers(drawer_high_is_open=high_is_open)
            answers.ask(1)
            list(answers.feed(b"\x16"))
            self.assertIs(answers.status.drawer_open, expected)
            answers.ask_in_turn(2)
            list(answers.feed(b"\x00"))
            self.assertIs(answers.status.drawer_open, not expected)

    def test_reason(self) -> None:
        """The reason is what a person can fix first; a printer without errors has none."""
        ready = PrinterStatus(online=True, cover_open=False, paper="near_end")
        self.assertIsNone(ready.reason)
        self.assertEqual(replace(ready, online=False).reason, "offline")
        self.assertEqual(replace(ready, online=False, error="cutter").reason, "cutter")
        self.assertEqual(replace(ready, online=False, error="cutter", paper="out").reason, "paper")
        self.assertEqual(replace(ready, paper="out", cover_open=True).reason, "cover")
        self.assertIsNone(PrinterStatus().reason)
