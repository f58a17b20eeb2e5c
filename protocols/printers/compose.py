"""Makes the bytes of a job from its commands and the printer's profile.

    job = compose((Drawer(), Text("ФІСКАЛЬНИЙ ЧЕК", "center"), Cut()), PROFILES["epson"])
    job.data       # the bytes, always the same
    job.unknown    # characters printed as "?"
    job.problems   # what the printer cannot do

Problems never stop a job: a receipt without its bar code is better than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from protocols.printers import escpos, raster, star
from protocols.printers import instructions as op
from protocols.printers.codepages import spell
from protocols.printers.commands import (
    Align,
    Barcode,
    Beep,
    Command,
    Cut,
    Drawer,
    Feed,
    Font,
    Image,
    Logo,
    Mark,
    Qr,
    Text,
)
from protocols.printers.hazards import hazards, tame
from protocols.printers.profiles import Profile
from protocols.printers.symbols import (
    BAR_QUIET,
    QR_QUIET,
    NotDrawable,
    bars,
    code128_in_pairs,
    complete_ean,
    fitting_module,
    side,
)

LINE_DOTS = 30
"""Paper feed of a line of normal size: a sixth of an inch."""

CUTTER_DOTS = 100
"""From the print head to the cutter or the tear bar."""

STRIP_ROWS = 48
"""Rows of a picture sent at once: a strip as wide as the paper has less than the 4 KB that small printers buffer."""

PAPER = 1
"""The query in turn that proves printing: any would do, and all printers support this one."""

ProblemKind = Literal["not-a-code", "too-wide", "no-logo", "no-beeper", "no-drawer", "too-long"]


@dataclass(frozen=True)
class Problem:
    """A command that this printer cannot execute as requested."""

    command: int
    """Index of the command in the job."""
    kind: ProblemKind
    text: str


@dataclass(frozen=True)
class Job:
    """A print job for one printer, ready to be sent."""

    profile: Profile
    opening: bytes
    """Resets the styles of earlier jobs; prints nothing."""
    data: bytes
    """The rest: everything that prints, beeps or opens the drawer."""
    marks: tuple[bytes, ...]
    """The expected proofs: the name of each, empty for an answer without a name."""
    dots: int
    """Approximate length of its paper."""
    prints: bool
    """Whether anything moves the paper; a job that only opens the drawer does not."""
    at_once: bool = False
    """Whether it only opens the drawer, by a real-time command, which also works when the printer cannot print."""
    unknown: tuple[str, ...] = ()
    """Characters printed as a question mark, once for each occurrence."""
    problems: tuple[Problem, ...] = ()

    @property
    def stream(self) -> bytes:
        """All bytes, for a print queue."""
        return self.opening + self.data


def compose(commands: Iterable[Command], profile: Profile, names: Iterable[bytes] = ()) -> Job:
    """Compose the job that executes ``commands`` on a printer of ``profile``.

    :param names: four printable letters for each mark, if the printer's proof has a name (``process-id``); without
        them the marks are numbered.
    :raises ValueError: when a code page is set whose number is unknown.
    """
    writer = _Writer(profile, list(names))
    ordered = list(enumerate(commands))
    # The drawer opens while the paper is printed, not after it (docs/reference/printers.md#delivery).
    ordered.sort(key=lambda numbered: not isinstance(numbered[1], Drawer))
    for number, command in ordered:
        writer.add(number, command)
    if not ordered or not isinstance(ordered[-1][1], Mark):
        writer.mark()
    # A job that only opens the drawer need not wait for paper.
    only_drawer = all(isinstance(command, Drawer | Mark) for _, command in ordered)
    at_once = only_drawer and bool(writer.at_once)
    return Job(
        profile=profile,
        opening=encode((op.Initialise(),), profile),
        data=encode(writer.at_once if at_once else writer.instructions, profile),
        marks=() if at_once else tuple(writer.marks),
        dots=writer.dots,
        prints=writer.prints,
        at_once=at_once,
        unknown=tuple(writer.unknown),
        problems=tuple(writer.problems),
    )


def encode(instructions: Iterable[op.Instruction], profile: Profile) -> bytes:
    """Encode ``instructions`` in the language of ``profile``."""
    return star.encode(instructions) if profile.language == "star" else escpos.encode(instructions, profile)


class _Writer:
    """Collects the instructions of one job and tracks the current style."""

    def __init__(self, profile: Profile, names: list[bytes]) -> None:
        self._profile = profile
        self._names = names
        self._page = profile.best_page()
        self._align: Align = "left"
        self._bold = self._underline = self._inverted = False
        self._font: Font = "A"
        self._size = (1, 1)
        self.instructions: list[op.Instruction] = []
        self.at_once: list[op.Instruction] = []
        self.marks: list[bytes] = []
        self.dots = 0
        self.prints = False
        self.unknown: list[str] = []
        self.problems: list[Problem] = []
        if profile.kanji_off:
            self.instructions.append(op.SingleByte())
        if self._page != "raster":
            if self._page not in profile.code_tables:
                raise ValueError(f"the number of {self._page} in this printer is unknown")
            self.instructions.append(op.CodeTable(profile.code_tables[self._page]))

    def add(self, number: int, command: Command) -> None:
        """Add the instructions for ``command``, the ``number``-th of the job."""
        match command:
            case Text():
                self._text(command)
            case Feed(lines):
                self._printed(lines * LINE_DOTS, op.FeedLines(lines))
            case Barcode():
                self._barcode(number, command)
            case Qr():
                self._qr(number, command)
            case Image():
                self._image(number, command)
            case Logo():
                self._logo(number, command)
            case Cut():
                self._cut(command)
            case Drawer():
                self._drawer(number, command)
            case Beep():
                self._beep(number, command)
            case Mark():
                self.mark()

    def mark(self) -> None:
        """Request a proof that everything so far is executed."""
        completion = self._profile.completion
        name = b""
        if completion == "none":
            return
        if completion == "process-id":
            name = self._names.pop(0) if self._names else b"%04d" % (len(self.marks) + 1)
            self.instructions.append(op.ReportName(name))
        elif completion == "etb":
            self.instructions.append(op.CountDocument())
        else:
            self.instructions.append(op.AskInTurn(PAPER))
        self.marks.append(name)

    def _printed(self, dots: int, *instructions: op.Instruction) -> None:
        self.instructions += instructions
        self.dots += dots
        self.prints = True

    def _problem(self, number: int, kind: ProblemKind, text: str) -> None:
        self.problems.append(Problem(number, kind, text))

    # Text

    def _text(self, text: Text) -> None:
        if self._page == "raster":
            pictures, unknown = raster.text_lines(text, self._profile.dots)
            self.unknown += unknown
            for picture in pictures:
                self._rows(picture)
            return
        page = self._page
        self._style(text)
        for line in text.text.split("\n"):
            spelled = spell(line, page)
            self.unknown += spelled.unknown
            letters = (op.Letters(spelled.data),) if spelled.data else ()
            columns = max(1, self._profile.columns(text.font, text.width))
            rows = max(1, -(-len(spelled.data) // columns))
            self._printed(rows * LINE_DOTS * text.height, *letters, op.LineFeed())

    def _style(self, text: Text) -> None:
        """Switch to the style of ``text``; unchanged attributes add no bytes."""
        self._aligned(text.align)
        if text.font != self._font:
            self.instructions.append(op.SetFont(text.font))
        if text.bold != self._bold:
            self.instructions.append(op.SetBold(text.bold))
        if text.underline != self._underline:
            self.instructions.append(op.SetUnderline(text.underline))
        inverted = text.inverted and self._profile.inverted
        if inverted != self._inverted:
            self.instructions.append(op.SetInverted(inverted))
        if (text.width, text.height) != self._size:
            self.instructions.append(op.SetSize(text.width, text.height))
        self._font, self._bold, self._underline, self._inverted = text.font, text.bold, text.underline, inverted
        self._size = (text.width, text.height)

    def _aligned(self, align: Align) -> None:
        if align != self._align:
            self.instructions.append(op.SetAlign(align))
            self._align = align

    # Codes

    def _barcode(self, number: int, code: Barcode) -> None:
        try:
            data = code.data if code.kind == "code128" else complete_ean(code.kind, code.data)
            wide = len(bars(code.kind, data)) + 2 * BAR_QUIET
            narrow = len(bars(code.kind, data, pairs=True)) + 2 * BAR_QUIET
        except NotDrawable as wrong:
            self._instead(number, code.data, code.align, "not-a-code", str(wrong))
            return
        dots = self._profile.dots
        whole = Barcode(code.kind, data, code.height, code.module, code.label, code.align)
        if self._profile.barcode == "raster":
            picture = raster.barcode(whole, dots)
            if picture is not None:
                self._rows(picture)
                return
        else:
            pairs = wide * code.module > dots and code128_in_pairs(data) and _harmless_pairs(data)
            if (narrow if pairs else wide) * code.module <= dots:
                self._aligned(code.align)
                self._printed(code.height + LINE_DOTS, *self._native_barcode(whole, pairs))
                return
        self._instead(number, data, code.align, "too-wide", f"{wide * code.module} dots on paper of {dots}")

    def _native_barcode(self, code: Barcode, pairs: bool) -> Iterator[op.Instruction]:
        if self._profile.language == "star":
            yield op.PrintWholeBarcode(code.kind, code.data, code.height, code.module, code.label)
            return
        yield op.BarcodeHeight(code.height)
        yield op.BarcodeModule(code.module)
        yield op.BarcodeLabel(code.label)
        yield op.PrintBarcode(code.kind, code.data, pairs)

    def _qr(self, number: int, code: Qr) -> None:
        data = code.data.encode("utf-8", "replace")
        try:
            modules = side(len(data), code.level)
        except NotDrawable as wrong:
            self._instead(number, code.data, code.align, "too-long" if data else "not-a-code", str(wrong))
            return
        dots = self._profile.dots
        module = min(code.module or 16, max(fitting_module(modules, dots), 0 if code.module is None else code.module))
        if module == 0 or (modules + 2 * QR_QUIET) * module > dots:
            self._instead(number, code.data, code.align, "too-wide", f"{modules} squares on paper of {dots} dots")
            return
        if self._profile.qr == "raster" or (self._profile.real_time and hazards(data)):
            self._rows(raster.qr(code, module, dots))
            return
        self._aligned(code.align)
        self._printed(
            (modules + 2 * QR_QUIET) * module,
            op.QrModel(2),
            op.QrModule(module),
            op.QrCorrection(code.level),
            op.QrStore(data),
            op.QrPrint(),
        )

    def _instead(self, number: int, data: str, align: Align, kind: ProblemKind, why: str) -> None:
        """Print the text of a code that cannot be drawn."""
        self._problem(number, kind, why)
        if data:
            self._text(Text(" ".join(data.split()), align))

    # Pictures

    def _image(self, number: int, image: Image) -> None:
        if image.width > self._profile.dots:
            self._problem(number, "too-wide", f"{image.width} dots on paper of {self._profile.dots}")
            return
        self._rows(image)

    def _rows(self, image: Image) -> None:
        """Print ``image`` in strips, without real-time commands."""
        if image.width == self._profile.dots:
            image = _trimmed(image)
            self._aligned("left")
        else:
            self._aligned(image.align)
        data = tame(image.data) if self._profile.real_time else image.data
        for start in range(0, len(data), STRIP_ROWS * image.stride):
            strip = data[start : start + STRIP_ROWS * image.stride]
            rows = len(strip) // image.stride
            if self._profile.raster == "gs-paren-l":
                self._printed(rows, op.RasterKeep(image.stride, strip), op.RasterPrint())
            else:
                self._printed(rows, op.Raster(image.stride, strip))

    def _logo(self, number: int, logo: Logo) -> None:
        if self._profile.logo == "none":
            self._problem(number, "no-logo", "this printer stores no pictures")
            return
        self._aligned(logo.align)
        self._printed(LINE_DOTS, op.PrintLogo(logo.number))

    # The mechanism

    def _cut(self, cut: Cut) -> None:
        cutter = self._profile.cutter
        if cutter == "none":
            self._printed(self._profile.tear_lines * LINE_DOTS, op.FeedLines(self._profile.tear_lines))
            return
        if self._profile.feed_before_cut:
            lines = self._profile.feed_before_cut
            self._printed(lines * LINE_DOTS, op.FeedLines(lines))
        partial = cut.partial if cutter == "both" else cutter == "partial"
        self._printed(CUTTER_DOTS, op.CutPaper(partial, feed=not self._profile.feed_before_cut))

    def _drawer(self, number: int, drawer: Drawer) -> None:
        if not self._profile.drawer:
            self._problem(number, "no-drawer", "this printer has no drawer connector")
            return
        self.instructions.append(op.Pulse(drawer.pin, drawer.on_ms, drawer.off_ms))
        if self._profile.drawer_now:
            self.at_once.append(op.PulseNow(drawer.pin, min(8, max(1, drawer.on_ms // 100))))

    def _beep(self, number: int, beep: Beep) -> None:
        if self._profile.beeper == "none":
            self._problem(number, "no-beeper", "this printer has no buzzer")
            return
        self.instructions.append(op.Buzz(beep.times, beep.each_ms))


def _trimmed(image: Image) -> Image:
    """``image`` without the white bytes at its right, which are often half of it."""
    stride = image.stride
    rows = [image.data[start : start + stride] for start in range(0, len(image.data), stride)]
    used = max(1, max(len(row.rstrip(b"\0")) for row in rows))
    return Image(used * 8, b"".join(row[:used] for row in rows), "left")


def _harmless_pairs(data: str) -> bool:
    """Whether pairs of digits, encoded as bytes 0 to 99, contain no real-time command."""
    return not hazards(bytes(int(data[at : at + 2]) for at in range(0, len(data), 2)))
