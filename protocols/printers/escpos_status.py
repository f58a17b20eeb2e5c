"""The answers of an ESC/POS printer, told apart by their fixed bits (printers.md 1.4).

=============== ============================== =====================================
answer          fixed bits (7 4 1 0)           to
=============== ============================== =====================================
``12``          0 1 1 0                        ``10 04 n``: whose answer it is, only the order tells
``10 00 00 00`` 0 1 0 0, then three of 0 0 . . change of state (automatic status back)
``00``          0 0 . .                        ``1D 72 n``
``11`` ``13``   0 1 . 1                        go on, stop
``5F … 00``     text                           ``1D 49 n``
``37 22 … 00``  four letters                   the name of a mark, ``1D 28 48``
=============== ============================== =====================================

The last three bytes of a change and the answer to ``1D 72`` look the same, so the reader counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from protocols.printers.status import Fault, Paper, PrinterStatus

ALL_QUESTIONS = (1, 2, 3, 4)
"""What can be asked by `DLE EOT`: printer, why offline, error, paper."""

XON, XOFF = 0x11, 0x13
_ASB_MORE = 3
_NAME_BEGINS, _TEXT_BEGINS = b"\x37\x22", 0x5F
_NAME_LENGTH = 4
_LONGEST_TEXT = 80


@dataclass(frozen=True)
class Told:
    """The answer to `DLE EOT` ``number``."""

    number: int
    byte: int


@dataclass(frozen=True)
class Changed:
    """A change of state, told without being asked: four bytes."""

    group: bytes


@dataclass(frozen=True)
class ToldInTurn:
    """The answer to `GS r`, or the name of a mark: everything before it has been done."""

    byte: int = 0
    name: bytes = b""


@dataclass(frozen=True)
class Flow:
    """The printer cannot take more, or can again."""

    stop: bool


@dataclass(frozen=True)
class Named:
    """A name of the printer."""

    text: bytes


@dataclass(frozen=True)
class Noise:
    """Bytes that are no answer, or one that nobody asked for."""

    data: bytes


Answer = Told | Changed | ToldInTurn | Flow | Named | Noise
"""What a printer says."""


class EscPosAnswers:
    """Tells the answers apart and keeps what they say about the printer; no bytes make it fail.

    :param drawer_high_is_open: the wiring of the drawer; with most of them a high pin means open.
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
        """`DLE EOT` was sent for ``numbers``: that many answers are expected, in this order."""
        self._asked.extend(numbers)

    def ask_in_turn(self, number: int) -> None:
        """`GS r` was sent for ``number``."""
        self._turns.append(number)

    def forget(self) -> None:
        """Stop expecting answers to what was asked at once: they did not come in time."""
        self._asked.clear()

    @property
    def expected(self) -> int:
        """How many answers to `DLE EOT` are still due."""
        return len(self._asked)

    def feed(self, data: bytes) -> Iterator[Answer]:
        """The answers that ``data`` completes."""
        for byte in data:
            yield from self._byte(byte)

    def _byte(self, byte: int) -> Iterator[Answer]:
        if self._text:
            yield from self._texts(byte)
            return
        if byte in (XON, XOFF):
            self.stopped = byte == XOFF
            yield Flow(self.stopped)
        elif byte & 0x93 == 0x12:
            yield self._told(byte)
        elif byte & 0x93 == 0x10:
            if self._group:
                yield Noise(self._group)
            self._group = bytes([byte])
        elif byte & 0x90 == 0 and self._group:
            self._group += bytes([byte])
            if len(self._group) == 1 + _ASB_MORE:
                group, self._group = self._group, b""
                self._change(group)
                yield Changed(group)
        elif byte == _TEXT_BEGINS or byte == _NAME_BEGINS[0]:
            self._text = bytes([byte])
        elif byte & 0x90 == 0 and self._turns:
            self._in_turn(self._turns.popleft(), byte)
            yield ToldInTurn(byte)
        else:
            yield Noise(bytes([byte]))

    def _texts(self, byte: int) -> Iterator[Answer]:
        """Inside of a name: until its end, or until it shows that it never was one."""
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
                yield ToldInTurn(name=text[2:-1]) if byte == 0 else Noise(text)
            return
        if byte == 0:
            self._text = b""
            yield Named(text[1:-1])
        elif byte < 0x20 or len(text) > _LONGEST_TEXT:
            self._text = b""
            yield Noise(text[:-1])
            yield from self._byte(byte)
        else:
            self._text = text

    def _told(self, byte: int) -> Answer:
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
                # Which error it is, question 3 tells; until then it is the one that can be mended by hand.
                status = replace(status, error="mechanical")
        elif number == 3:
            status = replace(status, error=_fault(byte, overheat=0x40) if byte & 0x6C else status.error)
        elif number == 4:
            status = replace(status, paper=_paper(bool(byte & 0x60), bool(byte & 0x0C)))
        self.status = status
        return Told(number, byte)

    def _change(self, group: bytes) -> None:
        self.status = replace(
            self.status,
            online=not group[0] & 0x08,
            cover_open=bool(group[0] & 0x20),
            drawer_open=self._drawer(bool(group[0] & 0x04)),
            error=_fault(group[1], overheat=0x40),
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
"""Answers that are worth showing; a printer that talks all day must not fill the memory."""


def _fault(bits: int, overheat: int) -> Fault:
    """The gravest of the errors that ``bits`` tell."""
    if bits & 0x20:
        return "unrecoverable"
    if bits & 0x08:
        return "cutter"
    if bits & 0x04:
        return "mechanical"
    return "overheat" if bits & overheat else "none"


def _paper(out: bool, near_end: bool) -> Paper:
    return "out" if out else "near_end" if near_end else "ok"
