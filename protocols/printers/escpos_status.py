"""The answers of an ESC/POS printer, recognised by their fixed bits (docs/reference/printers.md#status).

=============== ============================== =================================================
answer          fixed bits (7 4 1 0)           to
=============== ============================== =================================================
``12``          0 1 1 0                        ``10 04 n``; n is known only from the order of queries
``10 00 00 00`` 0 1 0 0, then three of 0 0 . . automatic status
``00``          0 0 . .                        ``1D 72 n``
``11`` ``13``   0 1 . 1                        XON, XOFF
``5F … 00``     text                           ``1D 49 n``
``37 22 … 00``  four letters                   the name of a mark, ``1D 28 48``
=============== ============================== =================================================

The last three bytes of an automatic status look like the answer to ``1D 72``, so the parser counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from protocols.printers.status import Fault, Paper, PrinterStatus

ALL_QUESTIONS = (1, 2, 3, 4)
"""The queries of `DLE EOT`: printer, cause of offline, error, paper."""

XON, XOFF = 0x11, 0x13
_ASB_MORE = 3
_NAME_BEGINS, _TEXT_BEGINS = b"\x37\x22", 0x5F
_NAME_LENGTH = 4
_LONGEST_TEXT = 80


@dataclass(frozen=True)
class StateAnswer:
    """The answer to `DLE EOT` ``number``."""

    number: int
    byte: int


@dataclass(frozen=True)
class StateChange:
    """An automatic status of four bytes."""

    group: bytes


@dataclass(frozen=True)
class TurnAnswer:
    """The answer to `GS r`, or the name of a mark: everything before it is executed."""

    byte: int = 0
    name: bytes = b""


@dataclass(frozen=True)
class Flow:
    """XOFF (``stop``) or XON."""

    stop: bool


@dataclass(frozen=True)
class NameAnswer:
    """The answer to `GS I`."""

    text: bytes


@dataclass(frozen=True)
class Noise:
    """Bytes that are not an answer, or an answer without a query."""

    data: bytes


EscPosAnswer = StateAnswer | StateChange | TurnAnswer | Flow | NameAnswer | Noise
"""One item of an ESC/POS printer's output."""


class EscPosAnswers:
    """Parses the printer's output and keeps its state; no input makes it fail.

    :param drawer_high_is_open: the wiring of the drawer's switch; usually a high pin means open.
    """

    def __init__(self, drawer_high_is_open: bool = True) -> None:
        self.status = PrinterStatus()
        self.stopped = False
        self._high_is_open = drawer_high_is_open
        self._asked: deque[int] = deque()
        self._turns: deque[int] = deque()
        self._group = b""
        self._text = b""

    def ask(self, *numbers: int) -> None:
        """Expect answers to `DLE EOT` ``numbers``, in this order."""
        self._asked.extend(numbers)

    def ask_in_turn(self, number: int) -> None:
        """Expect an answer to `GS r` ``number``."""
        self._turns.append(number)

    def forget(self) -> None:
        """Stop expecting answers to `DLE EOT`: they did not come in time."""
        self._asked.clear()

    @property
    def expected(self) -> int:
        """Answers to `DLE EOT` that are still missing."""
        return len(self._asked)

    def feed(self, data: bytes) -> Iterator[EscPosAnswer]:
        """Yield the answers that ``data`` completes."""
        for byte in data:
            yield from self._byte(byte)

    def _byte(self, byte: int) -> Iterator[EscPosAnswer]:
        if self._text:
            yield from self._texts(byte)
            return
        if byte in (XON, XOFF):
            self.stopped = byte == XOFF
            yield Flow(self.stopped)
        elif byte & 0x93 == 0x12:
            yield self._state(byte)
        elif byte & 0x93 == 0x10:
            if self._group:
                yield Noise(self._group)
            self._group = bytes([byte])
        elif byte & 0x90 == 0 and self._group:
            self._group += bytes([byte])
            if len(self._group) == 1 + _ASB_MORE:
                group, self._group = self._group, b""
                self._change(group)
                yield StateChange(group)
        elif byte == _TEXT_BEGINS or byte == _NAME_BEGINS[0]:
            self._text = bytes([byte])
        elif byte & 0x90 == 0 and self._turns:
            self._in_turn(self._turns.popleft(), byte)
            yield TurnAnswer(byte)
        else:
            yield Noise(bytes([byte]))

    def _texts(self, byte: int) -> Iterator[EscPosAnswer]:
        """Continue a name until it ends, or until a byte shows that it is not one."""
        text = self._text + bytes([byte])
        if text[0] == _NAME_BEGINS[0]:
            if len(text) == 2 and byte != _NAME_BEGINS[1]:
                self._text = b""
                yield Noise(text[:1])
                yield from self._byte(byte)
                return
            ended = len(text) == len(_NAME_BEGINS) + _NAME_LENGTH + 1
            self._text = b"" if ended else text
            if ended:
                yield TurnAnswer(name=text[2:-1]) if byte == 0 else Noise(text)
            return
        if byte == 0:
            self._text = b""
            yield NameAnswer(text[1:-1])
        elif byte < 0x20 or len(text) > _LONGEST_TEXT:
            self._text = b""
            yield Noise(text[:-1])
            yield from self._byte(byte)
        else:
            self._text = text

    def _state(self, byte: int) -> EscPosAnswer:
        if not self._asked:
            return Noise(bytes([byte]))
        number = self._asked.popleft()
        status = replace(self.status, raw=self._raw(bytes([byte])))
        if number == 1:
            status = replace(status, online=not byte & 0x08, drawer_open=self._drawer(bool(byte & 0x04)))
        elif number == 2:
            status = replace(status, cover_open=bool(byte & 0x04))
            if byte & 0x20:
                status = replace(status, paper="out")
            if not byte & 0x40:
                status = replace(status, error="none")
            elif status.error == "none":
                # The answer to query 3 names the error; until then assume one that a person can fix.
                status = replace(status, error="mechanical")
        elif number == 3:
            status = replace(status, error=fault_of(byte) if byte & 0x6C else status.error)
        elif number == 4:
            status = replace(status, paper=_paper(bool(byte & 0x60), bool(byte & 0x0C)))
        self.status = status
        return StateAnswer(number, byte)

    def _change(self, group: bytes) -> None:
        self.status = replace(
            self.status,
            online=not group[0] & 0x08,
            cover_open=bool(group[0] & 0x20),
            drawer_open=self._drawer(bool(group[0] & 0x04)),
            error=fault_of(group[1]),
            paper=_paper(bool(group[2] & 0x0C), bool(group[2] & 0x03)),
            raw=self._raw(group),
        )

    def _in_turn(self, number: int, byte: int) -> None:
        status = replace(self.status, raw=self._raw(bytes([byte])))
        if number == 1:
            status = replace(status, paper=_paper(bool(byte & 0x0C), bool(byte & 0x03)))
        elif number == 2:
            status = replace(status, drawer_open=self._drawer(bool(byte & 0x01)))
        self.status = status

    def _drawer(self, high: bool) -> bool:
        return high == self._high_is_open

    def _raw(self, more: bytes) -> bytes:
        return (self.status.raw + more)[-_LONGEST_RAW:]


_LONGEST_RAW = 16
"""Bytes of answers that are kept; a printer that sends without end must not fill the memory."""


def fault_of(bits: int) -> Fault:
    """The most serious error in ``bits``, which ESC/POS and Star share."""
    if bits & 0x20:
        return "unrecoverable"
    if bits & 0x08:
        return "cutter"
    if bits & 0x04:
        return "mechanical"
    return "overheat" if bits & 0x40 else "none"


def _paper(out: bool, near_end: bool) -> Paper:
    return "out" if out else "near_end" if near_end else "ok"
