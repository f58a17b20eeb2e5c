"""Paper, cover, cutter, drawer and head of a simulated printer, which execute instructions of any language.

It follows the rules of real printers: an open cover or the end of the paper stops it *before* the next line, pending
instructions stay, and it continues by itself when the cover is closed over new paper. Text is decoded by the selected
code page; a wrong number gives wrong characters, as on a real printer.
"""

from __future__ import annotations

from dataclasses import replace

from protocols.printers import instructions as op
from protocols.printers.commands import Align, Barcode, Image, Qr, QrLevel, Text
from protocols.printers.compose import CUTTER_DOTS, LINE_DOTS
from protocols.printers.profiles import Profile
from protocols.printers.raster import CELLS
from protocols.printers.status import Fault, PrinterStatus
from protocols.printers.symbols import QR_QUIET, NotDrawable, side
from protocols.simulators.paper import Blank, Cut, Paper, Piece, PrintedBarcode, PrintedImage, PrintedLine, PrintedQr

NEAR_END_DOTS = 1600
"""Dots of paper below which the sensor reports near end: 20 cm."""

_MOST_LETTERS = 4096
"""Characters that are kept for one line; a stream without line feeds must not fill the memory."""


class PrintMechanism:
    """The moving parts.

    :param roll_dots: length of the paper; `None` never ends.
    """

    def __init__(self, profile: Profile, roll_dots: int | None = None) -> None:
        self.profile = profile
        self.paper = Paper(profile.dots, profile.columns_a)
        self.roll_dots = roll_dots
        self.cover_open = False
        self.drawer_open = False
        self.fault: Fault = "none"
        self.pulses = 0
        """Number of drawer openings."""
        self.beeps = 0
        self.pieces = 0
        """Items printed so far, cuts and blanks included."""
        self._out = False
        self._tables = {number: page for page, number in profile.code_tables.items()}
        self.reset()

    def reset(self) -> None:
        """Reset styles and the pending line; the mechanism keeps its state."""
        self._align: Align = "left"
        self._style = Text("")
        self._runs: list[Text] = []
        self._letters = 0
        self._spacing: int | None = None
        self._page = "cp437"
        self._barcode = Barcode("code128", "", height=162, module=3, label=False)
        self._qr_module = 3
        self._qr_level: QrLevel = "L"
        self._qr_data = b""
        self._kept: op.RasterKeep | None = None
        # Clones start in the double-byte mode.
        self._double_byte = self.profile.kanji_off

    @property
    def status(self) -> PrinterStatus:
        """The printer's state."""
        near = self.roll_dots is not None and self.roll_dots < NEAR_END_DOTS
        return PrinterStatus(
            online=not self.stopped,
            cover_open=self.cover_open,
            paper="out" if self._out or self.roll_dots == 0 else "near_end" if near else "ok",
            drawer_open=self.drawer_open,
            error=self.fault,
        )

    @property
    def stopped(self) -> bool:
        """Whether it executes nothing until a person fixes it."""
        return self.cover_open or self._out or self.roll_dots == 0 or self.fault != "none"

    def load(self, roll_dots: int | None = None) -> None:
        """Put in a new roll."""
        self.roll_dots = roll_dots
        self._out = False

    def kick(self) -> None:
        """Open the drawer."""
        self.pulses += 1
        self.drawer_open = True

    def obey(self, instruction: op.Instruction) -> bool:
        """Execute ``instruction``; `False` when the paper is too short for it: it stays pending."""
        match instruction:
            case op.Initialise():
                self.reset()
            case op.CodeTable(number):
                self._page = self._tables.get(number, "cp437")
            case op.SingleByte():
                self._double_byte = False
            case op.SetAlign(align):
                self._align = align
            case op.SetBold(on):
                self._style = replace(self._style, bold=on)
            case op.SetUnderline(on):
                self._style = replace(self._style, underline=on)
            case op.SetInverted(on):
                self._style = replace(self._style, inverted=on)
            case op.SetFont(font):
                self._style = replace(self._style, font=font)
            case op.SetSize(width, height):
                self._style = replace(self._style, width=width, height=height)
            case op.SetSpacing(dots):
                self._spacing = dots
            case op.Letters(data):
                self._take(data)
            case op.LineFeed():
                return self._print(self._lines() or [Blank(self._line_dots())])
            case op.FeedLines(lines):
                return self._print([*self._lines(), Blank(lines * self._line_dots())])
            case op.FeedDots(dots):
                return self._print([*self._lines(), Blank(dots)])
            case op.BarcodeHeight(dots) if dots:
                self._barcode = replace(self._barcode, height=dots)
            case op.BarcodeModule(dots) if 2 <= dots <= 6:
                self._barcode = replace(self._barcode, module=dots)
            case op.BarcodeLabel(on):
                self._barcode = replace(self._barcode, label=on)
            case op.PrintBarcode(kind, data, pairs) if kind is not None:
                return self._print_barcode(replace(self._barcode, kind=kind, data=data), pairs)
            case op.PrintWholeBarcode(kind, data, height, module, label) if kind is not None and height:
                return self._print_barcode(Barcode(kind, data, height, max(2, min(6, module)), label), False)
            case op.QrModule(dots):
                self._qr_module = dots
            case op.QrCorrection(level):
                self._qr_level = level
            case op.QrStore(data):
                self._qr_data = data
            case op.QrPrint():
                return self._print_qr()
            case op.Raster(stride, data):
                return self._print_raster(stride, data)
            case op.RasterKeep():
                self._kept = instruction
            case op.RasterPrint() if self._kept is not None:
                return self._print_raster(self._kept.stride, self._kept.data)
            case op.PrintLogo(number):
                return self._print([*self._lines(), PrintedLine((Text(f"[logo {number}]"),), self._align, LINE_DOTS)])
            case op.CutPaper(partial, feed):
                return self._cut(partial, feed)
            case op.Pulse():
                self.kick()
            case op.Buzz(times):
                self.beeps += times
        return True

    # Lines

    def _take(self, data: bytes) -> None:
        """Keep characters until their line is printed."""
        data = data[: max(0, _MOST_LETTERS - self._letters)]
        self._letters += len(data)
        text = data.decode("gbk" if self._double_byte else self._page, "replace")
        if text:
            self._runs.append(replace(self._style, text=text))

    def _line_dots(self) -> int:
        if self._spacing is not None:
            return self._spacing
        return max(LINE_DOTS, CELLS[self._style.font][1] * self._style.height)

    def _lines(self) -> list[Piece]:
        """The pending text in lines as wide as the paper."""
        lines: list[list[Text]] = []
        room = 0
        for run in self._runs:
            width = CELLS[run.font][0] * run.width
            rest = run.text
            while rest:
                if room < width:
                    lines.append([])
                    room = max(self.profile.dots, width)
                fits, rest = rest[: room // width], rest[room // width :]
                lines[-1].append(replace(run, text=fits))
                room -= width * len(fits)
        return [PrintedLine(tuple(line), self._align, self._height(line)) for line in lines]

    def _height(self, line: list[Text]) -> int:
        letters = max(CELLS[run.font][1] * run.height for run in line)
        return max(letters, LINE_DOTS if self._spacing is None else self._spacing)

    # Printing

    def _print(self, pieces: list[Piece]) -> bool:
        """Print ``pieces``, all of them or none."""
        dots = sum(piece.dots for piece in pieces)
        if self.roll_dots is not None:
            if self.roll_dots < dots:
                self._out = True
                return False
            self.roll_dots -= dots
        for piece in pieces:
            self.paper.add(piece)
        self.pieces += len(pieces)
        self._runs.clear()
        self._letters = 0
        return True

    def _print_barcode(self, code: Barcode, pairs: bool) -> bool:
        code = replace(code, align=self._align)
        label = CELLS["A"][1] + 2 if code.label else 0
        return self._print([*self._lines(), PrintedBarcode(code, pairs, code.height + label)])

    def _print_qr(self) -> bool:
        level = self._qr_level
        try:
            modules = side(len(self._qr_data), level)
        except NotDrawable:
            return True
        dots = (modules + 2 * QR_QUIET) * self._qr_module
        if dots > self.profile.dots:
            # Too wide: real printers ignore it.
            return True
        code = Qr(self._qr_data.decode("utf-8", "replace"), self._qr_module, level, self._align)
        return self._print([*self._lines(), PrintedQr(code, self._qr_module, dots)])

    def _print_raster(self, stride: int, data: bytes) -> bool:
        rows = len(data) // stride
        if not rows:
            return True
        # The part to the right of the head is lost.
        width = min(stride, self.profile.dots // 8)
        shown = b"".join(data[row * stride : row * stride + width] for row in range(rows))
        return self._print([*self._lines(), PrintedImage(Image(width * 8, shown, self._align))])

    def _cut(self, partial: bool, feed: bool) -> bool:
        if self.profile.cutter == "none":
            return True
        return self._print([*self._lines(), *([Blank(CUTTER_DOTS)] if feed else []), Cut(partial)])
