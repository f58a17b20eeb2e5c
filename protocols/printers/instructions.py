"""Printer instructions, independent of the printer's language.

`protocols.printers.escpos` and `protocols.printers.star` encode and decode them; the simulated printer executes them.
A number with a meaning of the model's own (`CodeTable`) stays a number.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.printers.commands import Align, Font, QrLevel, Symbology


@dataclass(frozen=True)
class Initialise:
    """Reset styles and code page."""


@dataclass(frozen=True)
class CodeTable:
    """Select code page ``number``."""

    number: int


@dataclass(frozen=True)
class SingleByte:
    """Leave the double-byte mode, in which two Cyrillic letters make one ideograph."""


@dataclass(frozen=True)
class SetAlign:
    """Set the alignment of lines."""

    align: Align


@dataclass(frozen=True)
class SetBold:
    """Switch bold on or off."""

    on: bool


@dataclass(frozen=True)
class SetUnderline:
    """Switch underline on or off."""

    on: bool


@dataclass(frozen=True)
class SetInverted:
    """Switch white on black on or off."""

    on: bool


@dataclass(frozen=True)
class SetFont:
    """Select the font."""

    font: Font


@dataclass(frozen=True)
class SetSize:
    """Set the size of characters, 1 to 8 times the normal one."""

    width: int
    height: int


@dataclass(frozen=True)
class SetSpacing:
    """Set the line spacing in dots; `None` is the printer's default."""

    dots: int | None


@dataclass(frozen=True)
class Letters:
    """Text in the current code page."""

    data: bytes


@dataclass(frozen=True)
class LineFeed:
    """Print the line and start a new one."""


@dataclass(frozen=True)
class FeedLines:
    """Print the current line, if any, and feed ``lines``."""

    lines: int


@dataclass(frozen=True)
class FeedDots:
    """Print the current line, if any, and feed ``dots``."""

    dots: int


@dataclass(frozen=True)
class BarcodeHeight:
    """Set the height of bar codes in dots."""

    dots: int


@dataclass(frozen=True)
class BarcodeModule:
    """Set the width of the thinnest bar in dots."""

    dots: int


@dataclass(frozen=True)
class BarcodeLabel:
    """Set whether the text of a bar code is printed below it."""

    on: bool


@dataclass(frozen=True)
class PrintBarcode:
    """Print a bar code; `None` is an unsupported kind."""

    kind: Symbology | None
    data: str
    pairs: bool = False
    """Code 128 only: whether it encodes pairs of digits."""


@dataclass(frozen=True)
class PrintWholeBarcode:
    """Print a bar code together with its measures."""

    kind: Symbology | None
    data: str
    height: int
    module: int
    label: bool


@dataclass(frozen=True)
class QrModel:
    """Select the QR model; 2 is the usual one."""

    model: int


@dataclass(frozen=True)
class QrModule:
    """Set the side of a QR module in dots."""

    dots: int


@dataclass(frozen=True)
class QrCorrection:
    """Set the error correction level."""

    level: QrLevel


@dataclass(frozen=True)
class QrStore:
    """Store the data of a QR code."""

    data: bytes


@dataclass(frozen=True)
class QrPrint:
    """Print the stored QR code."""


@dataclass(frozen=True)
class Raster:
    """Print rows of dots: ``stride`` bytes each, the leftmost dot in the highest bit; a set bit is black."""

    stride: int
    data: bytes

    @property
    def height(self) -> int:
        """Number of whole rows."""
        return len(self.data) // self.stride if self.stride else 0


@dataclass(frozen=True)
class RasterKeep:
    """Store rows of dots until `RasterPrint`."""

    stride: int
    data: bytes


@dataclass(frozen=True)
class RasterPrint:
    """Print the stored rows."""


@dataclass(frozen=True)
class PrintLogo:
    """Print a picture stored in the printer."""

    number: int


@dataclass(frozen=True)
class CutPaper:
    """Cut; ``feed`` says whether the paper is first fed to the cutter."""

    partial: bool
    feed: bool = True


@dataclass(frozen=True)
class Pulse:
    """Open the drawer by a pulse of ``on_ms`` on ``pin`` 2 or 5, then wait ``off_ms``."""

    pin: int
    on_ms: int = 50
    off_ms: int = 500


@dataclass(frozen=True)
class PulseNow:
    """Open the drawer in real time by a pulse of ``tenths`` of a second."""

    pin: int
    tenths: int = 1


@dataclass(frozen=True)
class Buzz:
    """Sound the buzzer."""

    times: int
    each_ms: int


@dataclass(frozen=True)
class AskNow:
    """Query the state in real time; ``number`` selects a part (ESC/POS 1 to 4; Star 0, all of it)."""

    number: int


@dataclass(frozen=True)
class AskInTurn:
    """Query the state in turn, after everything before is executed; 1 is the paper, 2 the drawer."""

    number: int


@dataclass(frozen=True)
class AskName:
    """Query a name of the printer."""

    number: int


@dataclass(frozen=True)
class ReportName:
    """Request an answer with ``name``, four letters, after everything before is printed."""

    name: bytes


@dataclass(frozen=True)
class ReportChanges:
    """Switch on automatic status for the changes in ``mask``; 0 switches it off."""

    mask: int


@dataclass(frozen=True)
class CountDocument:
    """Increment the document counter after everything before is printed."""


@dataclass(frozen=True)
class ClearCount:
    """Reset the document counter."""


@dataclass(frozen=True)
class Ignored:
    """Bytes of an unsupported instruction."""

    data: bytes


Instruction = (
    Initialise
    | CodeTable
    | SingleByte
    | SetAlign
    | SetBold
    | SetUnderline
    | SetInverted
    | SetFont
    | SetSize
    | SetSpacing
    | Letters
    | LineFeed
    | FeedLines
    | FeedDots
    | BarcodeHeight
    | BarcodeModule
    | BarcodeLabel
    | PrintBarcode
    | PrintWholeBarcode
    | QrModel
    | QrModule
    | QrCorrection
    | QrStore
    | QrPrint
    | Raster
    | RasterKeep
    | RasterPrint
    | PrintLogo
    | CutPaper
    | Pulse
    | PulseNow
    | Buzz
    | AskNow
    | AskInTurn
    | AskName
    | ReportName
    | ReportChanges
    | CountDocument
    | ClearCount
    | Ignored
)
"""One instruction."""

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
