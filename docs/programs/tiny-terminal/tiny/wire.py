"""The wire of the counter terminal: lines of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import connectionDone
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, Silent

MEMBERS = {"HERE": 0, "OK": 5, "NO": 2, "BUSY": 1, "NONE": 1, "WAIT": 1}
"""Each word of the terminal, and how many members follow it."""


@dataclass(frozen=True)
class Reply:
    """What the terminal said."""

    word: str
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Whose it is; empty for a word that belongs to no payment."""
        return self.members[0] if self.members else ""

    def encode(self) -> bytes:
        """The line, without its end."""
        return " ".join((self.word, *self.members)).encode("ascii")

    @classmethod
    def decode(cls, line: bytes) -> Reply:
        """What ``line`` says.

        :raises Garbled: when it is no line of this wire.
        """
        try:
            word, *members = line.decode("ascii").split(" ")
        except UnicodeDecodeError:
            raise Garbled("no line of a counter terminal", line) from None
        if MEMBERS.get(word) != len(members) or not all(members):
            raise Garbled("no line of a counter terminal", line)
        if word == "OK" and not (members[1].isdigit() and members[2].isdigit()):
            raise Garbled("no sum or number", line)
        return cls(word, tuple(members))


class TinyLine(LineOnlyReceiver):
    """The till's end of a line: one question, one answer."""

    delimiter = b"\n"
    MAX_LENGTH = 512

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._due: Deferred[Reply] | None = None
        self._name = ""
        self._ended: Failure | None = None

    def ask(self, question: str, name: str, patience: float) -> Deferred[Reply]:
        """Send ``question``; fire with the reply that carries ``name``, or fail with a `WireError`."""
        self._due = due = Deferred(self._abandon)
        self._name = name
        if self._ended is not None:
            self._fail(self._ended)
        else:
            self.transport.write(question.encode("ascii") + b"\n")
        return due.addTimeout(patience, self._clock, lambda *_: Failure(Silent(patience)))

    def lineReceived(self, line: bytes) -> None:
        """A reply to our question settles it; noise ends the exchange; all else is nobody's."""
        try:
            reply = Reply.decode(line)
        except Garbled:
            self._fail(Failure())
            self.drop()
            return
        if self._due is not None and reply.name == self._name:
            due, self._due = self._due, None
            due.callback(reply)

    def lineLengthExceeded(self, line: bytes) -> None:
        """No reply is that long."""
        self._fail(Failure(Garbled("a line without an end", line[:16])))
        self.drop()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Who waits hears of it."""
        self._fail(Failure(LineLost()))

    def drop(self) -> None:
        """Close the line."""
        self.transport.loseConnection()

    def _abandon(self, due: Deferred[Reply]) -> None:
        # A late reply must not pass for the next one.
        self._due = None
        self.drop()

    def _fail(self, why: Failure) -> None:
        self._ended = self._ended or why
        due, self._due = self._due, None
        if due is not None:
            due.errback(why)
