"""What a printer is told, one instruction at a time, whatever the language on its wire.

`protocols.printers.escpos` and `protocols.printers.star` turn these into bytes and back; a simulated printer obeys
them. A number that only the printer's own tables explain (`CodeTable`) stays a number here.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.printers.commands import Align, Font, QrLevel, Symbology


@dataclass(frozen=True)
class Initialise:
    """Forget every style and code table."""


@dataclass(frozen=True)
class CodeTable:
    """Take letters from table ``number`` from now on."""

    number: int


@dataclass(frozen=True)
class SingleByte:
    """Leave the double-byte mode in which two Cyrillic letters are one ideograph."""


@dataclass(frozen=True)
class SetAlign:
    """Where lines stand from now on."""

    align: Align


@dataclass(frozen=True)
class SetBold:
    """Bold letters from now on, or no longer."""

    on: bool


@dataclass(frozen=True)
class SetUnderline:
    """Underlined letters from now on, or no longer."""

    on: bool


@dataclass(frozen=True)
class SetInverted:
    """White letters on black from now on, or no longer."""

    on: bool


@dataclass(frozen=True)
class SetFont:
    """The font from now on."""

    font: Font


@dataclass(frozen=True)
class SetSize:
    """How many times letters are enlarged from now on, 1 to 8."""

    width: int
    height: int


@dataclass(frozen=True)
class SetSpacing:
    """Dots from line to line from now on; `None` is the printer's own distance."""

    dots: int | None


@dataclass(frozen=True)
class Letters:
    """Letters of the current code table."""

    data: bytes


@dataclass(frozen=True)
class LineFeed:
    """Print the line and go to the next one."""


@dataclass(frozen=True)
class FeedLines:
    """Print the line, if there is one, and feed ``lines``."""

    lines: int


@dataclass(frozen=True)
class FeedDots:
    """Print the line, if there is one, and feed ``dots``."""

    dots: int


@dataclass(frozen=True)
class BarcodeHeight:
    """The height of bar codes from now on, in dots."""

    dots: int


@dataclass(frozen=True)
class BarcodeModule:
    """The width of the thinnest bar from now on, in dots."""

    dots: int


@dataclass(frozen=True)
class BarcodeLabel:
    """Whether digits stand under bar codes from now on."""

    on: bool


@dataclass(frozen=True)
class PrintBarcode:
    """Print a bar code; `None` is a kind that we do not use."""

    kind: Symbology | None
    data: str
    pairs: bool = False
    """Code 128 only: whether it is written as pairs of digits."""


@dataclass(frozen=True)
class PrintWholeBarcode:
    """Print a bar code, in languages that tell its measures with it."""

    kind: Symbology | None
    data: str
    height: int
    module: int
    label: bool


@dataclass(frozen=True)
class QrModel:
    """The kind of QR code from now on: 2 is the usual one."""

    model: int


@dataclass(frozen=True)
class QrModule:
    """The side of a square from now on, in dots."""

    dots: int


@dataclass(frozen=True)
class QrCorrection:
    """How much may be damaged, from now on."""

    level: QrLevel


@dataclass(frozen=True)
class QrStore:
    """Keep the data of a QR code."""

    data: bytes


@dataclass(frozen=True)
class QrPrint:
    """Print the QR code whose data is kept."""


@dataclass(frozen=True)
class Raster:
    """Print rows of dots: ``stride`` bytes each, the first dot in the highest bit, a set bit black."""

    stride: int
    data: bytes

    @property
    def height(self) -> int:
        """Rows; what does not fill a row is not one."""
        return len(self.data) // self.stride if self.stride else 0


@dataclass(frozen=True)
class RasterKeep:
    """Keep rows of dots until `RasterPrint`."""

    stride: int
    data: bytes


@dataclass(frozen=True)
class RasterPrint:
    """Print the rows that are kept."""


@dataclass(frozen=True)
class PrintLogo:
    """Print a picture from the printer's memory."""

    number: int


@dataclass(frozen=True)
class Knife:
    """Cut; ``feed`` tells whether the paper is first fed past the knife."""

    partial: bool
    feed: bool = True


@dataclass(frozen=True)
class Pulse:
    """Open the drawer on ``pin`` 2 or 5, for ``on_ms``, and wait ``off_ms``."""

    pin: int
    on_ms: int = 50
    off_ms: int = 500


@dataclass(frozen=True)
class PulseNow:
    """Open the drawer without waiting for anything, ``tenths`` of a second long."""

    pin: int
    tenths: int = 1


@dataclass(frozen=True)
class Buzz:
    """Sound the buzzer."""

    times: int
    each_ms: int


@dataclass(frozen=True)
class AskNow:
    """Tell a state at once; ``number`` says which (ESC/POS 1 to 4, Star 0: all of it)."""

    number: int


@dataclass(frozen=True)
class AskInTurn:
    """Tell a state when everything before this has been done; 1 is the paper, 2 the drawer."""

    number: int


@dataclass(frozen=True)
class AskName:
    """Tell a name of the printer."""

    number: int


@dataclass(frozen=True)
class TellName:
    """Tell ``name``, four letters, when everything before this has been printed."""

    name: bytes


@dataclass(frozen=True)
class TellChanges:
    """Tell changes of state by yourself; ``mask`` says which, 0 none."""

    mask: int


@dataclass(frozen=True)
class CountDocument:
    """Count one document as printed when everything before this has been printed."""


@dataclass(frozen=True)
class ClearCount:
    """Begin counting documents anew."""


@dataclass(frozen=True)
class Ignored:
    """Bytes of an instruction that means nothing to us."""

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
    | Knife
    | Pulse
    | PulseNow
    | Buzz
    | AskNow
    | AskInTurn
    | AskName
    | TellName
    | TellChanges
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
    Knife,
)
"""Instructions that move the paper or leave something on it."""
