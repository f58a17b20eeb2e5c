"""What ESC/POS printers tell about themselves: answers told apart by their bits, one value made of them."""

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


def told(data: bytes, *asked: int, in_turn: int = 0) -> tuple[list[EscPosAnswer], PrinterStatus]:
    """The answers in ``data`` when ``asked`` had been asked at once, and ``in_turn`` questions in their turn."""
    answers = EscPosAnswers()
    answers.ask(*asked)
    for _ in range(in_turn):
        answers.ask_in_turn(1)
    return list(answers.feed(data)), answers.status


class VectorTests(SynchronousTestCase):
    """The golden answers."""

    def test_meaning(self) -> None:
        """Every golden answer says what it means, wherever it is cut."""
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
    """Answers that look alike are told apart by what came before."""

    def test_in_order(self) -> None:
        """Answers to several questions belong to them in their order."""
        found, status = told(b"\x12\x16\x12\x72", 1, 2, 3, 4)
        self.assertEqual(
            found, [StateAnswer(1, 0x12), StateAnswer(2, 0x16), StateAnswer(3, 0x12), StateAnswer(4, 0x72)]
        )
        self.assertEqual((status.online, status.cover_open, status.paper), (True, True, "out"))

    def test_group_before_turn(self) -> None:
        """The three bytes after the first of a change belong to it, and only the next one is an answer in turn."""
        found, _ = told(b"\x10\x00\x00\x00\x00", in_turn=1)
        self.assertEqual(found, [StateChange(b"\x10\0\0\0"), TurnAnswer(0)])

    def test_answer_inside_of_a_group(self) -> None:
        """An answer at once, or a pause, may come in the middle of a change."""
        found, status = told(b"\x10\x00\x12\x13\x03\x00", 1)
        self.assertEqual(found, [StateAnswer(1, 0x12), Flow(True), StateChange(b"\x10\x00\x03\x00")])
        self.assertEqual(status.paper, "near_end")

    def test_group_broken_off(self) -> None:
        """A change that breaks off is noise, and the next one is read."""
        found, _ = told(b"\x10\x00\x18\x00\x00\x00")
        self.assertEqual(found, [Noise(b"\x10\x00"), StateChange(b"\x18\0\0\0")])

    def test_nobody_asked(self) -> None:
        """An answer that nobody asked for says nothing about the printer."""
        found, status = told(b"\x16\x00")
        self.assertEqual(found, [Noise(b"\x16"), Noise(b"\x00")])
        self.assertEqual(status, PrinterStatus())
        self.assertFalse(status.known)

    def test_names(self) -> None:
        """Names of the printer and of marks are read whole."""
        found, _ = told(b"_EPSON\x00\x37\x22AB01\x00")
        self.assertEqual(found, [NameAnswer(b"EPSON"), TurnAnswer(name=b"AB01")])

    def test_name_that_is_none(self) -> None:
        """What begins like a name and is none is noise, and nothing after it is lost."""
        found, _ = told(b"_\x12\x37\x12", 1, 2)
        self.assertEqual(found, [Noise(b"_"), StateAnswer(1, 0x12), Noise(b"\x37"), StateAnswer(2, 0x12)])

    def test_name_without_end(self) -> None:
        """A name without an end is given up."""
        answers = EscPosAnswers()
        self.assertTrue(any(isinstance(answer, Noise) for answer in answers.feed(b"_" + b"A" * 100)))

    def test_flow(self) -> None:
        """XOFF and XON are told, and kept."""
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
        """No bytes make it fail, byte by byte they say the same, and no more is kept than is worth showing."""
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
    """The one value that is made of it."""

    def test_faults(self) -> None:
        """Each error has its name, and the gravest one is told."""
        for bits, fault in ((0x04, "mechanical"), (0x08, "cutter"), (0x20, "unrecoverable"), (0x40, "overheat")):
            self.assertEqual(told(bytes([0x12 | bits]), 3)[1].error, fault)
            self.assertEqual(told(bytes([0x10, bits, 0, 0]))[1].error, fault)
        self.assertEqual(told(b"\x3a", 3)[1].error, "unrecoverable")

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
        """A printer that stopped at the end of its paper is out of it."""
        self.assertEqual(told(b"\x32", 2)[1].paper, "out")

    def test_drawer(self) -> None:
        """A high pin means open, or closed where the wiring is the other way."""
        for high_is_open, expected in ((True, True), (False, False)):
            answers = EscPosAnswers(drawer_high_is_open=high_is_open)
            answers.ask(1)
            list(answers.feed(b"\x16"))
            self.assertIs(answers.status.drawer_open, expected)
            answers.ask_in_turn(2)
            list(answers.feed(b"\x00"))
            self.assertIs(answers.status.drawer_open, not expected)

    def test_reason(self) -> None:
        """What a person can mend first is the reason; a printer without complaints has none."""
        ready = PrinterStatus(online=True, cover_open=False, paper="near_end")
        self.assertIsNone(ready.reason)
        self.assertEqual(replace(ready, online=False).reason, "offline")
        self.assertEqual(replace(ready, online=False, error="cutter").reason, "cutter")
        self.assertEqual(replace(ready, online=False, error="cutter", paper="out").reason, "paper")
        self.assertEqual(replace(ready, paper="out", cover_open=True).reason, "cover")
        self.assertIsNone(PrinterStatus().reason)
