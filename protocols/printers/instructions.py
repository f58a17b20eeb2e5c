"""Printer instructions, independent of the printer's language.

`protocols.printers.escpos` and `protocols.printers.star` encode and decode them; the simulated printer executes them.
A number with a meaning of the model's own (`CodeTable`) stays a number.
"""

from __future__ import annotations

import msgspec

from protocols.printers.commands import Align, Font, QrLevel, Symbology


class Instruction(msgspec.Struct, frozen=True):
    """One instruction: one of the classes below."""


class Initialise(Instruction, frozen=True):
    """Reset styles and code page."""


class CodeTable(Instruction, frozen=True):
    """Select code page ``number``."""

    number: int


class SingleByte(Instruction, frozen=True):
    """Leave the double-byte mode, in which two Cyrillic letters make one ideograph."""


class SetAlign(Instruction, frozen=True):
    """Set the alignment of lines."""

    align: Align


class SetBold(Instruction, frozen=True):
    """Switch bold on or off."""

    on: bool


class SetUnderline(Instruction, frozen=True):
    """Switch underline on or off."""

    on: bool


class SetInverted(Instruction, frozen=True):
    """Switch white on black on or off."""

    on: bool


class SetFont(Instruction, frozen=True):
    """Select the font."""

    font: Font


class SetSize(Instruction, frozen=True):
    """Set the size of characters, 1 to 8 times the normal one."""

    width: int
    height: int


class SetSpacing(Instruction, frozen=True):
    """Set the line spacing in dots; `None` is the printer's default."""

    dots: int | None


class Letters(Instruction, frozen=True):
    """Text in the current code page."""

    data: bytes


class LineFeed(Instruction, frozen=True):
    """Print the line and start a new one."""


class FeedLines(Instruction, frozen=True):
    """Print the current line, if any, and feed ``lines``."""

    lines: int


class FeedDots(Instruction, frozen=True):
    """Print the current line, if any, and feed ``dots``."""

    dots: int


class BarcodeHeight(Instruction, frozen=True):
    """Set the height of bar codes in dots."""

    dots: int


class BarcodeModule(Instruction, frozen=True):
    """Set the width of the thinnest bar in dots."""

    dots: int


class BarcodeLabel(Instruction, frozen=True):
    """Set whether the text of a bar code is printed below it."""

    on: bool


class PrintBarcode(Instruction, frozen=True):
    """Print a bar code; `None` is an unsupported kind."""

    kind: Symbology | None
    data: str
    pairs: bool = False
    """Code 128 only: whether it encodes pairs of digits."""


class PrintWholeBarcode(Instruction, frozen=True):
    """Print a bar code together with its measures."""

    kind: Symbology | None
    data: str
    height: int
    module: int
    label: bool


class QrModel(Instruction, frozen=True):
    """Select the QR model; 2 is the usual one."""

    model: int


class QrModule(Instruction, frozen=True):
    """Set the side of a QR module in dots."""

    dots: int


class QrCorrection(Instruction, frozen=True):
    """Set the error correction level."""

    level: QrLevel


class QrStore(Instruction, frozen=True):
    """Store the data of a QR code."""

    data: bytes


class QrPrint(Instruction, frozen=True):
    """Print the stored QR code."""


class Raster(Instruction, frozen=True):
    """Print rows of dots: ``stride`` bytes each, the leftmost dot in the highest bit; a set bit is black."""

    stride: int
    data: bytes

    @property
    def height(self) -> int:
        """Number of whole rows."""
        return len(self.data) // self.stride if self.stride else 0


class RasterKeep(Instruction, frozen=True):
    """Store rows of dots until `RasterPrint`."""

    stride: int
    data: bytes


class RasterPrint(Instruction, frozen=True):
    """Print the stored rows."""


class PrintLogo(Instruction, frozen=True):
    """Print a picture stored in the printer."""

    number: int


class CutPaper(Instruction, frozen=True):
    """Cut; ``feed`` says whether the paper is first fed to the cutter."""

    partial: bool
    feed: bool = True


class Pulse(Instruction, frozen=True):
    """Open the drawer by a pulse of ``on_ms`` on ``pin`` 2 or 5, then wait ``off_ms``."""

    pin: int
    on_ms: int = 50
    off_ms: int = 500


class PulseNow(Instruction, frozen=True):
    """Open the drawer in real time by a pulse of ``tenths`` of a second."""

    pin: int
    tenths: int = 1


class Buzz(Instruction, frozen=True):
    """Sound the buzzer."""

    times: int
    each_ms: int


class AskNow(Instruction, frozen=True):
    """Query the state in real time; ``number`` selects a part (ESC/POS 1 to 4; Star 0, all of it)."""

    number: int


class AskInTurn(Instruction, frozen=True):
    """Query the state in turn, after everything before is executed; 1 is the paper, 2 the drawer."""

    number: int


class AskName(Instruction, frozen=True):
    """Query a name of the printer."""

    number: int


class ReportName(Instruction, frozen=True):
    """Request an answer with ``name``, four letters, after everything before is printed."""

    name: bytes


class ReportChanges(Instruction, frozen=True):
    """Switch on automatic status for the changes in ``mask``; 0 switches it off."""

    mask: int


class CountDocument(Instruction, frozen=True):
    """Increment the document counter after everything before is printed."""


class ClearCount(Instruction, frozen=True):
    """Reset the document counter."""


class Ignored(Instruction, frozen=True):
    """Bytes of an unsupported instruction."""

    data: bytes


PRINTS = (
    Letters,
    LineFeed,
    FeedLines,
    FeedDots,
    PrintBarcode,
    PrintWholeBarcode,
    QrPrint,
    Raster,
    RasterPrint,
    PrintLogo,
    CutPaper,
)
"""Instructions that print or move the paper."""
