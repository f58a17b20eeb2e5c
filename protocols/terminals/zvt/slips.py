"""Slips that the terminal lets the till print, put together from lines or blocks (docs/reference/zvt.md#messages)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protocols.terminals.zvt.messages import PrintBlock, PrintLine

_SPECIAL, _CENTRED, _WIDE, _HIGH, _INDENT = 0x80, 0x40, 0x20, 0x10, 0x0F
_FEED, _PLAIN = 0xFF, 0x80

KINDS = {1: "merchant", 2: "customer", 3: "administration"}
"""Whom a slip is for; single lines do not say."""


@dataclass(frozen=True)
class SlipLine:
    """One line as it is to be printed."""

    text: str
    centred: bool = False
    wide: bool = False
    high: bool = False
    indent: int = 0
    """Blanks before the text, 0 to 15."""


@dataclass(frozen=True)
class Slip:
    """One slip; `kind` is a name of `KINDS`, or empty."""

    kind: str
    lines: tuple[SlipLine, ...]

    @property
    def text(self) -> str:
        """The slip as plain text, one line for each."""
        return "\n".join(" " * line.indent + line.text for line in self.lines)


class SlipCollector:
    """Puts slips together in the order in which their lines come.

    :param charset: name of the terminal's character set for Python: CP437 unless another one is set.
    """

    def __init__(self, charset: str = "cp437") -> None:
        self._charset = charset
        self._lines: list[SlipLine] = []
        self._slips: list[Slip] = []

    def add_line(self, message: PrintLine) -> None:
        """A line that came by itself."""
        lines, last = self._read(message.attribute, message.text)
        self._lines += lines
        if last:
            self._cut("")

    def add_block(self, message: PrintBlock) -> None:
        """A slip that came in one piece."""
        self._cut("")
        for attribute, text in message.lines:
            self._lines += self._read(attribute, text)[0]
        self._cut(KINDS.get(message.kind, ""))

    def slips(self) -> tuple[Slip, ...]:
        """Every slip so far; lines without an end are the last one."""
        self._cut("")
        return tuple(self._slips)

    def _cut(self, kind: str) -> None:
        if any(line.text for line in self._lines):
            self._slips.append(Slip(kind, tuple(self._lines)))
        self._lines = []

    def _read(self, attribute: int, text: bytes) -> tuple[list[SlipLine], bool]:
        """The lines of one message, and whether the slip ends with it."""
        if attribute == _FEED:
            return [SlipLine("")] * (text[0] if text else 1), False
        last = bool(attribute & _SPECIAL) and attribute != _PLAIN
        words = text.decode(self._charset, "replace")
        if last and not words:
            return [], True
        high = not attribute & _SPECIAL and bool(attribute & _HIGH)
        line = SlipLine(
            words, bool(attribute & _CENTRED), bool(attribute & _WIDE), high, 0 if last else attribute & _INDENT
        )
        return [line], last


def print_lines(text: str, charset: str = "cp437") -> Iterator[PrintLine]:
    """The messages that print ``text`` line by line, with the end of the slip."""
    for line in text.split("\n"):
        yield PrintLine(0, line.encode(charset, "replace"))
    yield PrintLine(0x81)
