"""The queries before and after a job, and the meaning of the answers; no I/O and no clock.

Before a job, the state is queried, and, if supported, an answer *in turn*: it comes only when everything that earlier
jobs left in the buffer is executed. So an answer to an earlier job is never taken for the proof of this one, and
nothing is sent to a printer that has stopped (docs/reference/printers.md#delivery).

After the job, the answers to its marks are counted; the last one proves it.
"""

from __future__ import annotations

from protocols.printers.compose import Job, encode
from protocols.printers.escpos_status import (
    ALL_QUESTIONS,
    EscPosAnswers,
    NameAnswer,
    Noise,
    StateAnswer,
    StateChange,
    TurnAnswer,
)
from protocols.printers.instructions import AskNow, ClearCount, CountDocument, ReportChanges
from protocols.printers.star_status import COUNTS, StarAnswers, StarState
from protocols.printers.status import PrinterStatus

FLUSH = bytes(8192)
"""Ends a picture that an earlier job broke off, which would swallow this one; elsewhere it does nothing."""

_ALL_CHANGES = 0xFF


class Talk:
    """The queries and answers of one job, in the printer's language.

    :param only_asks: nothing is printed, so styles are not reset, no answer in turn is needed, nothing is counted.
    """

    polls = False
    """Whether the proof must be requested by `question`."""
    _answers: EscPosAnswers | StarAnswers

    def __init__(self, job: Job, only_asks: bool) -> None:
        self.noise = 0
        """Bytes that were not an answer."""
        self.heard = False
        """Whether the printer has answered at all."""
        self._job, self._only_asks = job, only_asks

    @property
    def status(self) -> PrinterStatus:
        """The printer's state."""
        return self._answers.status

    @property
    def stopped(self) -> bool:
        """Whether the printer requested a pause (XOFF)."""
        return self._answers.stopped

    @property
    def state_known(self) -> bool:
        """Whether all state queries are answered."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether the printer executes commands and has finished all earlier jobs."""
        raise NotImplementedError

    @property
    def proves(self) -> bool:
        """Whether the printer will prove that the job is printed."""
        raise NotImplementedError

    @property
    def proven(self) -> bool:
        """Whether the job is proven."""
        raise NotImplementedError

    @property
    def answered(self) -> bool:
        """Whether the last `question` is fully answered."""
        raise NotImplementedError

    def open(self) -> bytes:
        """The first queries."""
        raise NotImplementedError

    def open_again(self) -> bytes:
        """The queries to repeat when answers are missing."""
        raise NotImplementedError

    def begin(self) -> None:
        """The job is sent from here: expect its proofs."""
        raise NotImplementedError

    def question(self) -> bytes:
        """Query the state again, after a whole job was sent."""
        raise NotImplementedError

    def hear(self, data: bytes) -> bytes:
        """Process ``data`` from the printer; return the bytes to send in reply."""
        raise NotImplementedError


def talk(job: Job, drawer_high_is_open: bool = True, only_asks: bool = False) -> Talk:
    """The `Talk` of ``job`` in the printer's language."""
    kind = StarTalk if job.profile.language == "star" else EscPosTalk
    return kind(job, drawer_high_is_open, only_asks)


class EscPosTalk(Talk):
    """`DLE EOT` for the state, automatic status as the answer in turn, `GS r` or a name as proof."""

    def __init__(self, job: Job, drawer_high_is_open: bool, only_asks: bool) -> None:
        super().__init__(job, only_asks)
        self._answers: EscPosAnswers = EscPosAnswers(drawer_high_is_open)
        self._needs_turn = job.profile.automatic and not only_asks and not job.at_once
        self._had_turn = False
        self._state_known = False
        self._left: list[bytes] | None = None

    @property
    def state_known(self) -> bool:
        return self._state_known or self._had_turn

    @property
    def ready(self) -> bool:
        return self.state_known and (self._had_turn or not self._needs_turn)

    @property
    def proves(self) -> bool:
        return bool(self._job.marks)

    @property
    def proven(self) -> bool:
        return self.proves and self._left == []

    @property
    def answered(self) -> bool:
        return not self._answers.expected

    def open(self) -> bytes:
        questions = self.question()
        return questions if self._only_asks else self._opening() + questions

    def open_again(self) -> bytes:
        said = b""
        if self._needs_turn and not self._had_turn and self.heard:
            # It answers in real time but not in turn: an unfinished picture may have swallowed the opening.
            said = FLUSH + self._opening()
        if not self._state_known:
            said += self.question()
        return said

    def _opening(self) -> bytes:
        turn = encode((ReportChanges(_ALL_CHANGES),), self._job.profile) if self._needs_turn else b""
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
                case StateAnswer():
                    self.heard = True
                    self._state_known = self._state_known or not self._answers.expected
                case StateChange():
                    self.heard = self._had_turn = True
                case TurnAnswer(name=name):
                    self.heard = True
                    # A named answer must be the expected one; another belongs to an earlier job.
                    if self._left and self._left[0] == name:
                        del self._left[0]
                case NameAnswer():
                    self.heard = True
        return b""


class StarTalk(Talk):
    """`ESC ACK SOH` for the state; the document counter as answer in turn and as proof."""

    polls = True

    def __init__(self, job: Job, drawer_high_is_open: bool, only_asks: bool) -> None:
        super().__init__(job, only_asks)
        self._answers: StarAnswers = StarAnswers(drawer_high_is_open)
        self._start: int | None = None
        self._ready = self._answered = False
        self._begun = False

    @property
    def state_known(self) -> bool:
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
            # This first answer is too late for a proof: no command may be sent in the middle of a job.
            return b""
        elif first and state.status.reason is None:
            assert state.count is not None
            # The counter is reset and then counted up to a number far from the old one. Earlier jobs cannot reach
            # this number, so seeing it means that they are finished.
            self._start = 20 if state.count < 16 else 4
            return encode((ClearCount(), *[CountDocument()] * self._start), self._job.profile) + self.question()
        elif state.count == self._start and not self._begun:
            self._ready = True
        return b""
