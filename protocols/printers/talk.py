"""What is said to a printer around a job, and what its answers mean for the job; no I/O and no clock.

Before a job the printer is asked how it is, and, where it can, made to answer something *in its turn*: such an answer
comes only when everything that an earlier job left in its buffer has been done. So an answer that still belongs to an
earlier job is never taken for a proof that this one is on paper, and nothing is sent to a printer that stands still.

After the job the answers to its marks are counted; the last one proves the job.
"""

from __future__ import annotations

from typing import Protocol

from protocols.printers.compose import Job, encode
from protocols.printers.escpos_status import ALL_QUESTIONS, Changed, EscPosAnswers, Named, Noise, Told, ToldInTurn
from protocols.printers.instructions import AskNow, ClearCount, CountDocument, TellChanges
from protocols.printers.star_status import COUNTS, StarAnswers, StarState
from protocols.printers.status import PrinterStatus

FLUSH = bytes(8192)
"""Ends a picture that an earlier job broke off, or it would swallow this one (printers.md 1.5); blank everywhere."""

_ALL_CHANGES = 0xFF


class Talk(Protocol):
    """The talk around one job."""

    noise: int
    """Bytes that were no answer to anything."""
    heard: bool
    """Whether the printer has answered at all."""

    @property
    def status(self) -> PrinterStatus:
        """What it told about itself."""

    @property
    def stopped(self) -> bool:
        """Whether it asked for a pause."""

    @property
    def told(self) -> bool:
        """Whether it answered all that was asked about its state."""

    @property
    def ready(self) -> bool:
        """Whether it does what it is told, with nothing left of an earlier job."""

    @property
    def proves(self) -> bool:
        """Whether it will prove that the job is on paper."""

    @property
    def proven(self) -> bool:
        """Whether it has."""

    def open(self) -> bytes:
        """The first questions."""

    def open_again(self) -> bytes:
        """The questions to be repeated when answers are missing."""

    def begin(self) -> None:
        """From here the job is sent: its proofs are expected."""

    def question(self) -> bytes:
        """Asks for the state again, after a job that was sent whole."""

    @property
    def answered(self) -> bool:
        """Whether the last `question` has been answered whole."""

    @property
    def polls(self) -> bool:
        """Whether the proof has to be asked for by `question`."""

    def hear(self, data: bytes) -> bytes:
        """Take ``data`` from the printer; returns what is said to it in answer."""


def talk(job: Job, drawer_high_is_open: bool = True) -> Talk:
    """The talk around ``job`` in the printer's language."""
    if job.profile.language == "star":
        return StarTalk(job, drawer_high_is_open)
    return EscPosTalk(job, drawer_high_is_open)


class EscPosTalk:
    """`DLE EOT` for the state, automatic status as the answer in turn, `GS r` or a name as proof.

    :param only_asks: nothing is printed: the printer's styles are left alone and no answer in turn is needed.
    """

    def __init__(self, job: Job, drawer_high_is_open: bool = True, only_asks: bool = False) -> None:
        self.noise = 0
        self.heard = False
        self._job = job
        self._answers = EscPosAnswers(drawer_high_is_open)
        self._only_asks = only_asks
        self._needs_turn = job.profile.automatic and not only_asks and not job.at_once
        self._had_turn = False
        self._told = False
        self._left: list[bytes] | None = None

    @property
    def status(self) -> PrinterStatus:
        return self._answers.status

    @property
    def stopped(self) -> bool:
        return self._answers.stopped

    @property
    def told(self) -> bool:
        return self._told or self._had_turn

    @property
    def ready(self) -> bool:
        return self.told and (self._had_turn or not self._needs_turn)

    @property
    def proves(self) -> bool:
        return bool(self._job.marks)

    @property
    def proven(self) -> bool:
        return self.proves and self._left == []

    @property
    def answered(self) -> bool:
        return not self._answers.expected

    @property
    def polls(self) -> bool:
        return False

    def open(self) -> bytes:
        self._answers.ask(*ALL_QUESTIONS)
        questions = encode(map(AskNow, ALL_QUESTIONS), self._job.profile)
        return questions if self._only_asks else self._opening() + questions

    def open_again(self) -> bytes:
        said = b""
        if self._needs_turn and not self._had_turn and self.heard:
            # It answers at once but does not get to our turn: an unfinished picture may have swallowed the opening.
            said = FLUSH + self._opening()
        if not self._told:
            self._answers.forget()
            self._answers.ask(*ALL_QUESTIONS)
            said += encode(map(AskNow, ALL_QUESTIONS), self._job.profile)
        return said

    def _opening(self) -> bytes:
        turn = encode((TellChanges(_ALL_CHANGES),), self._job.profile) if self._needs_turn else b""
        return self._job.opening + turn

    def begin(self) -> None:
        self._left = list(self._job.marks)
        for name in self._job.marks:
            if not name:
                self._answers.ask_in_turn(1)

    def question(self) -> bytes:
        self._answers.forget()
        self._answers.ask(*ALL_QUESTIONS)
        return encode(map(AskNow, ALL_QUESTIONS), self._job.profile)

    def hear(self, data: bytes) -> bytes:
        for answer in self._answers.feed(data):
            match answer:
                case Noise(rubbish):
                    self.noise += len(rubbish)
                case Told():
                    self.heard = True
                    self._told = self._told or not self._answers.expected
                case Changed():
                    self.heard = self._had_turn = True
                case ToldInTurn(name=name):
                    self.heard = True
                    # By name it has to be the one that is due; an earlier job's is nothing to us.
                    if self._left and self._left[0] == name:
                        del self._left[0]
                case Named():
                    self.heard = True
        return b""


class StarTalk:
    """`ESC ACK SOH` for the state; the counter of documents as answer in turn and as proof.

    :param only_asks: nothing is printed, nothing counted.
    """

    def __init__(self, job: Job, drawer_high_is_open: bool = True, only_asks: bool = False) -> None:
        self.noise = 0
        self.heard = False
        self._job = job
        self._only_asks = only_asks
        self._answers = StarAnswers(drawer_high_is_open)
        self._start: int | None = None
        self._ready = self._answered = False
        self._begun = False

    @property
    def status(self) -> PrinterStatus:
        return self._answers.status

    @property
    def stopped(self) -> bool:
        return self._answers.stopped

    @property
    def told(self) -> bool:
        return self.heard

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def proves(self) -> bool:
        return self._start is not None

    @property
    def proven(self) -> bool:
        if not self._begun or self._start is None:
            return False
        return self._answers.count == (self._start + len(self._job.marks)) % COUNTS

    @property
    def answered(self) -> bool:
        return self._answered

    @property
    def polls(self) -> bool:
        return True

    def open(self) -> bytes:
        return (b"" if self._only_asks else self._job.opening) + self.question()

    def open_again(self) -> bytes:
        return self.question()

    def begin(self) -> None:
        self._begun = True

    def question(self) -> bytes:
        self._answered = False
        return encode((AskNow(0),), self._job.profile)

    def hear(self, data: bytes) -> bytes:
        said = b""
        for answer in self._answers.feed(data):
            if isinstance(answer, Noise):
                self.noise += len(answer.data)
            elif isinstance(answer, StarState):
                said += self._state(answer)
        return said

    def _state(self, state: StarState) -> bytes:
        first, self.heard, self._answered = not self.heard, True, True
        if self._only_asks or not self._job.marks or (first and state.count is None):
            self._ready = True
        elif first and self._begun:
            # It woke up too late to prove anything: nothing may be said into the middle of a job.
            return b""
        elif first and state.status.reason is None:
            assert state.count is not None
            # The counter is cleared and then led to a number that is far from where it was, so that seeing this
            # number means that the printer came to our turn: nothing that an earlier job counts leads there.
            self._start = 20 if state.count < 16 else 4
            return encode((ClearCount(), *[CountDocument()] * self._start), self._job.profile) + self.question()
        elif state.count == self._start and not self._begun:
            self._ready = True
        return b""
