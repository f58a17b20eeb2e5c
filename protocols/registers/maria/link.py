"""The till's end of a line to Maria: a dialogue without numbers, so nothing is ever sent twice
(docs/reference/registers.md#maria).

::

    till      FISC…
    register        WAIT  WRK … PRN …  COMP…  DONE  READY        or  SOFT…  READY

`WRK` and `PRN` come every 2 s while it works. After 6 s of silence the till flushes the line; what became of the
command is then unknown, and `ReadNumber` tells. What comes before the `WAIT` of a command belongs to an
earlier one, except for an error that stands in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from twisted.internet import protocol
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import shown
from protocols.registers.maria.commands import CheckFrames, MariaAnswer, MariaCommand, is_error, refused
from protocols.registers.maria.frames import FLUSH, WAKE, WAKE_PAUSE, Deframer, Spoken, frame
from protocols.registers.numbered import MOST_NOISE, Noise
from protocols.registers.troubles import DeviceRefused
from protocols.serial import SerialSettings
from protocols.terminals.lines import stop

log = Logger()

LIMIT = 120.0
"""Seconds for any command (L)."""

_Answer = TypeVar("_Answer", bound=MariaAnswer)


@dataclass(frozen=True)
class Patience:
    """How long a link waits, in seconds.

    :param wait: for WAIT (L).
    :param quiet: between two signs of life.
    :param flush: for READY after a flush.
    :param wake: for READY after opening the line.
    """

    wait: float = 1.0
    quiet: float = 6.0
    flush: float = 1.0
    wake: float = 10.0

    def doubled(self) -> Patience:
        """For a register behind a converter."""
        return Patience(2 * self.wait, self.quiet, 2 * self.flush, self.wake)


PATIENCE = Patience()

BLOCKED = b"SOFTBLOCK"

DARK = 3.0
"""Seconds without DTR, that is with the port closed, before another try to wake the register."""


def line_settings(port: str, baudrate: int = 115200) -> SerialSettings:
    """How the line is opened: 8E2, DTR held; 57600 is what a register has after power-on."""
    return SerialSettings(port, baudrate, parity="E", stopbits=2, dtr=True)


@dataclass(frozen=True)
class Answered:
    """The end of a dialogue: the texts behind the command's name, or an error."""

    texts: list[bytes]
    error: bytes = b""


class MariaLink(protocol.Protocol):
    """One command at a time.

    :param crc: whether frames have a CRC; `None` when that is not known.
    """

    def __init__(self, clock: IReactorTime, patience: Patience = PATIENCE, crc: bool | None = None) -> None:
        self._clock, self._patience = clock, patience
        self._deframer = Deframer(crc)
        self._due: Deferred[Answered] | None = None
        self._waking: Deferred[None] | None = None
        self._command = self._name = b""
        self._limit = LIMIT
        self._sent = self._taken = self._done = self._flushing = False
        self._unclear = False
        """Whether frames of an earlier command may still come: the line is flushed before the next."""
        self._error = self._noise = b""
        self._texts: list[bytes] = []
        self._began = 0.0
        self._timer: IDelayedCall | None = None
        self._deadline: IDelayedCall | None = None
        self.gone = False
        """Whether the line is closed."""
        self.lost: Deferred[None] = Deferred()
        """Fires when the line is closed."""

    @property
    def crc(self) -> bool | None:
        """The mode of frames."""
        return self._deframer.crc

    @crc.setter
    def crc(self, mode: bool | None) -> None:
        self._deframer.crc = mode

    def wake(self) -> Deferred[None]:
        """Say hello on a new line and fire when the register is ready.

        :raises NotReached: it is not, the line is closed. Open it again after `DARK`.
        """
        assert self._due is None and self._waking is None
        if self.gone:
            return fail(NotReached("the line was closed before the command"))
        self._waking = waking = Deferred[None](self._stop_waking)
        self._write(WAKE)
        self._clock.callLater(WAKE_PAUSE, self._write, WAKE)
        self._timer = self._clock.callLater(self._patience.wake, self._asleep)
        return waking

    def ask(self, text: bytes, limit: float = LIMIT) -> Deferred[Answered]:
        """Send a command and fire with the end of its dialogue.

        :raises ValueError: it does not fit; nothing was sent.
        :raises NotReached: the line is not ready; nothing was sent.
        :raises Silent: the dialogue has no end; the outcome is unknown.
        :raises LineLost: as `Silent`, because the line was closed.
        :raises Garbled: as `Silent`, because the end is there and what stands before it is damaged.
        """
        assert self._due is None and self._waking is None
        self._command = frame(text, self.crc is not False)
        if self.gone or self.transport is None:
            return fail(NotReached("the line was closed before the command"))
        self._name = text[:4]
        self._taken = self._done = False
        self._error = self._noise = b""
        self._texts = []
        self._began = self._clock.seconds()
        self._due = due = Deferred[Answered](self._abandon)
        self._limit = limit
        if self._unclear:
            self._flush()
        else:
            self._send()
        return due

    def leave(self) -> None:
        """Close the line."""
        if self.transport is not None:
            self.transport.loseConnection()

    def _send(self) -> None:
        log.debug("command {name}", name=self._name.decode("ascii", "replace"))
        self._began = self._clock.seconds()
        self._sent = True
        self._deadline = self._clock.callLater(self._limit, self._flush)
        self._write(self._command)
        self._arm(self._patience.wait)

    def _arm(self, seconds: float) -> None:
        stop(self._timer)
        self._timer = self._clock.callLater(seconds, self._quiet)

    def _quiet(self) -> None:
        if self._flushing:
            self._flushed(False)
        else:
            self._flush()

    def _flush(self) -> None:
        """End whatever the register is reading or saying."""
        if self._flushing:
            return
        self._flushing = True
        self._deframer.forget()
        self._write(FLUSH)
        self._arm(self._patience.flush)

    def _flushed(self, ready: bool) -> None:
        """The register is ready, or it is not."""
        self._flushing = False
        self._unclear = not ready
        if not self._sent:
            if ready:
                self._send()
            else:
                self._fail(NotReached("the register does not answer"))
        elif self._done or self._error:
            self._settle()
        else:
            self._fail(Silent(self._clock.seconds() - self._began, self._taken))

    # Receiving.

    def dataReceived(self, data: bytes) -> None:
        """Act on every frame that ``data`` completes."""
        for piece in self._deframer.feed(data):
            match piece:
                case Spoken():
                    self._noise = b""
                    self._hear(piece.text)
                case Noise():
                    self._overhear(piece.data)
                case _:
                    log.warn("a damaged frame: {data}", data=shown(piece.data))

    def _hear(self, text: bytes) -> None:
        if self._waking is not None:
            if text == b"READY":
                self._awake()
        elif self._due is None:
            log.debug("unasked: {text}", text=text[:10].decode("ascii", "replace"))
        elif self._flushing:
            if text == b"READY":
                stop(self._timer)
                self._flushed(True)
        elif not self._taken:
            self._first(text)
        else:
            self._next(text)

    def _first(self, text: bytes) -> None:
        """The beginning of the dialogue. A late answer to a flush is no answer to the command."""
        if text == b"WAIT":
            self._taken = True
            self._arm(self._patience.quiet)
        elif is_error(text) and text != BLOCKED:
            self._error = text
        elif text == b"READY" and self._error:
            self._settle()

    def _next(self, text: bytes) -> None:
        self._arm(self._patience.quiet)
        if text == b"DONE":
            self._done = True
        elif text == b"READY":
            if self._done or self._error:
                self._settle()
            else:
                self._fail(Garbled("the end of the dialogue has no result"))
        elif is_error(text):
            self._error = text
        elif text.startswith(self._name) and not self._done:
            self._texts.append(text[4:])

    def _overhear(self, data: bytes) -> None:
        self._noise = (self._noise + data)[: MOST_NOISE + 1]
        if len(self._noise) > MOST_NOISE:
            noise, self._noise = self._noise, b""
            self._fail(Garbled("the device does not speak this protocol", noise))
            self.leave()

    # The end.

    def _settle(self) -> None:
        answer = Answered(self._texts, b"" if self._done else self._error)
        due = self._end()
        if due is not None:
            due.callback(answer)

    def _fail(self, error: WireError) -> None:
        due = self._end()
        if due is not None:
            due.errback(Failure(error))

    def _abandon(self, _: Deferred[Answered]) -> None:
        self._unclear = self._sent
        self._end()

    def _end(self) -> Deferred[Answered] | None:
        due, self._due = self._due, None
        self._flushing = self._sent = False
        stop(self._timer)
        stop(self._deadline)
        return due

    def _awake(self) -> None:
        waking, self._waking = self._waking, None
        stop(self._timer)
        if waking is not None:
            waking.callback(None)

    def _asleep(self) -> None:
        waking, self._waking = self._waking, None
        if waking is not None:
            waking.errback(NotReached(f"no answer in {self._patience.wake:g} s"))
        self.leave()

    def _stop_waking(self, _: Deferred[None]) -> None:
        self._waking = None
        stop(self._timer)
        self.leave()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Fail the command that waits."""
        self.gone = True
        clean = reason.check(ConnectionDone) is not None
        lost = LineLost("the register closed the line" if clean else str(reason.value))
        sent, done = self._sent, self._done or bool(self._error)
        if done:
            self._settle()
        else:
            self._fail(lost if sent else NotReached(lost.reason))
        waking, self._waking = self._waking, None
        stop(self._timer)
        if waking is not None:
            waking.errback(NotReached(lost.reason))
        self.lost.callback(None)

    def _write(self, data: bytes) -> None:
        if self.transport is not None and not self.gone:
            self.transport.write(data)


class MariaRegister:
    """A register on an open line."""

    def __init__(self, link: MariaLink) -> None:
        self.link = link

    async def begin(self, crc: bool = True) -> None:
        """Wake the register and choose the mode of frames."""
        await self.link.wake()
        self.link.crc = None
        try:
            await self.do(CheckFrames("1" if crc else "0"))
        except DeviceRefused:
            # It has no such mode.
            crc = False
        self.link.crc = crc

    async def do(self, command: MariaCommand[_Answer], limit: float = LIMIT) -> _Answer:
        """Have a command executed.

        :raises DeviceRefused: the register answers with an error. Of COMP only `ReadNumber` proves what became of it.
        :raises WireError: as `MariaLink.ask`; also `Garbled` when the answer is not that of the command.
        """
        answered = await self.link.ask(command.encode(), limit)
        if answered.error:
            raise refused(answered.error)
        answer: _Answer = command.answer.decode(answered.texts)
        return answer
