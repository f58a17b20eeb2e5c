"""Bytes of ESC/POS and Star line mode with their meaning and source."""

from __future__ import annotations

from typing import NamedTuple

from protocols.printers.codepages import CodePage
from protocols.printers.instructions import (
    AskInTurn,
    AskNow,
    Buzz,
    CodeTable,
    CutPaper,
    FeedLines,
    Initialise,
    Instruction,
    PrintBarcode,
    Pulse,
    PulseNow,
    QrCorrection,
    QrModel,
    QrModule,
    QrPrint,
    QrStore,
    Raster,
    RasterKeep,
    RasterPrint,
    ReportChanges,
    ReportName,
    SetAlign,
    SetBold,
    SetSize,
    SingleByte,
)
from protocols.printers.status import PrinterStatus

_ESCPOS = "general ESC/POS command knowledge; spot-checked with python-escpos 3.1 and receiptio 2.1.2 output"
_STAR = "receiptline 4.0.4 Star output; Star line-mode manual knowledge; escpos-printer-db"
_ANSWERS = "public ESC/POS specification booklet in repo UcsFiscalPrinters; receiptio 2.1.2 behaviour observed"
_EPSON = "worked by hand from Epson's published description of the command"
_STAR_MANUAL = "worked by hand from the tables of Star's published line mode specification"

QR_TEXT = "https://cabinet.tax.gov.ua/cashregs/check?id=1&fn=4000000001&sm=25.50&date=20260101&time=120000"


class InstructionVector(NamedTuple):
    """Bytes for a printer and their instructions."""

    id: str
    instructions: tuple[Instruction, ...]
    data: bytes
    source: str


def _escpos(id: str, data: str, *instructions: Instruction, source: str = _ESCPOS) -> InstructionVector:
    return InstructionVector(id, instructions, bytes.fromhex(data), source)


ESCPOS = (
    _escpos("escpos-init", "1b40", Initialise()),
    _escpos("escpos-codepage-866-epson", "1b7411", CodeTable(17)),
    _escpos("escpos-codepage-1251-t88iii-rongta", "1b7406", CodeTable(6)),
    _escpos("escpos-codepage-1251-zjiang", "1b7449", CodeTable(73)),
    _escpos("escpos-codepage-866-zjiang", "1b743b", CodeTable(59)),
    _escpos("escpos-codepage-866-star-escpos", "1b740a", CodeTable(10)),
    _escpos("escpos-kanji-off", "1c2e", SingleByte()),
    _escpos("escpos-align-centre", "1b6101", SetAlign("center")),
    _escpos("escpos-bold-off", "1b4500", SetBold(False)),
    _escpos("escpos-size-2x2", "1d2111", SetSize(2, 2)),
    _escpos("escpos-size-normal", "1d2100", SetSize(1, 1)),
    _escpos("escpos-feed-3", "1b6403", FeedLines(3)),
    _escpos("escpos-cut-full-feed", "1d564100", CutPaper(partial=False)),
    _escpos("escpos-cut-partial-feed", "1d564200", CutPaper(partial=True)),
    _escpos("escpos-drawer-pin2", "1b700019fa", Pulse(2, 50, 500)),
    _escpos("escpos-drawer-pin5", "1b700119fa", Pulse(5, 50, 500)),
    _escpos("escpos-drawer-realtime", "1014010001", PulseNow(2, 1)),
    _escpos("escpos-beep-clone", "1b420303", Buzz(3, 150)),
    _escpos("escpos-ean13-b", "1d6b430d34383230303030303030303137", PrintBarcode("ean13", "4820000000017")),
    _escpos("escpos-code128-b", "1d6b490a7b423132333435363738", PrintBarcode("code128", "12345678")),
    _escpos("escpos-asb-on", "1d61ff", ReportChanges(0xFF)),
    _escpos("escpos-gs-r-drawer", "1d7202", AskInTurn(2)),
    _escpos("escpos-dle-eot-1", "100401", AskNow(1)),
    _escpos("escpos-dle-eot-3", "100403", AskNow(3)),
    _escpos("escpos-raster-8x1", "1d76300001000100aa", Raster(1, b"\xaa")),
    _escpos(
        "escpos-qr-model2",
        "1d286b0400314132001d286b03003143051d286b03003145311d286b620031503068747470733a2f2f636162696e65742e7461782e676f"
        "762e75612f63617368726567732f636865636b3f69643d3126666e3d3430303030303030303126736d3d32352e353026646174653d3230"
        "3236303130312674696d653d3132303030301d286b0300315130",
        QrModel(2),
        QrModule(5),
        QrCorrection("M"),
        QrStore(QR_TEXT.encode()),
        QrPrint(),
    ),
    _escpos("gs-h-48", "1d28480600303041423031", ReportName(b"AB01"), source=_EPSON),
    _escpos(
        "gs-l-112",
        "1d284c0c003070300101310800020055aa1d284c02003032",
        RasterKeep(1, b"\x55\xaa"),
        RasterPrint(),
        source=_EPSON,
    ),
)
"""ESC/POS, both ways."""


def _star(id: str, data: str, *instructions: Instruction) -> InstructionVector:
    return InstructionVector(id, instructions, bytes.fromhex(data), _STAR)


STAR = (
    _star("star-init", "1b40", Initialise()),
    _star("star-codepage-866", "1b1d740a", CodeTable(10)),
    _star("star-centre", "1b1d6101", SetAlign("center")),
    _star("star-size", "1b690101", SetSize(2, 2)),
    _star("star-cut", "1b6403", CutPaper(partial=True)),
    _star("star-drawer", "07", Pulse(2)),
)
"""Star line mode, both ways."""


class LettersVector(NamedTuple):
    """A text in a code page."""

    id: str
    page: CodePage
    text: str
    data: bytes
    source: str


LETTERS = (
    LettersVector(
        "text-cp1251",
        "cp1251",
        "Є Ї І Ґ є ї і ґ №",
        bytes.fromhex("aa20af20b220a520ba20bf20b320b420b9"),
        "Unicode mapping tables",
    ),
    LettersVector(
        "text-cp1125",
        "cp1125",
        "Є Ї І Ґ є ї і ґ №",
        bytes.fromhex("f420f820f620f220f520f920f720f320fc"),
        "Unicode mapping tables",
    ),
    LettersVector(
        "text-cp866",
        "cp866",
        "Є є Ї ї №",
        bytes.fromhex("f220f320f420f520fc"),
        "docs/reference/printers.md#code-pages, coverage of Ukrainian letters",
    ),
)


class AnswerVector(NamedTuple):
    """Bytes from an ESC/POS printer, the queries before them, and the resulting state."""

    id: str
    asked: int
    """The number of `DLE EOT`, 0 for a change of state, -1 for `GS r` 1."""
    data: bytes
    status: PrinterStatus
    source: str = _ANSWERS


def _group(id: str, data: str, status: PrinterStatus) -> AnswerVector:
    return AnswerVector(id, 0, bytes.fromhex(data), status)


ESCPOS_ANSWERS = (
    AnswerVector("escpos-dle-eot-idle", 1, b"\x12", PrinterStatus(online=True, drawer_open=False)),
    AnswerVector("escpos-dle-eot-idle", 4, b"\x12", PrinterStatus(paper="ok")),
    AnswerVector("escpos-dle-eot1-offline", 1, b"\x1a", PrinterStatus(online=False, drawer_open=False)),
    AnswerVector("escpos-dle-eot1-drawer", 1, b"\x16", PrinterStatus(online=True, drawer_open=True)),
    AnswerVector("escpos-dle-eot2-cover", 2, b"\x16", PrinterStatus(cover_open=True)),
    AnswerVector("escpos-dle-eot2-error", 2, b"\x52", PrinterStatus(cover_open=False, error="mechanical")),
    AnswerVector("escpos-dle-eot3-unrecoverable", 3, b"\x32", PrinterStatus(error="unrecoverable")),
    AnswerVector("escpos-dle-eot4-near-end", 4, b"\x1e", PrinterStatus(paper="near_end")),
    _group("escpos-asb-offline", "18000000", PrinterStatus(False, False, "ok", False)),
    _group("escpos-asb-cover", "30000000", PrinterStatus(True, True, "ok", False)),
    _group("escpos-asb-near-end", "10000300", PrinterStatus(True, False, "near_end", False)),
    _group("escpos-asb-unrecoverable", "10200000", PrinterStatus(True, False, "ok", False, "unrecoverable")),
    _group("escpos-asb-cutter", "10080000", PrinterStatus(True, False, "ok", False, "cutter")),
    AnswerVector("escpos-gs-r-ok", -1, b"\x00", PrinterStatus(paper="ok")),
)
"""Answers; `raw` is what was sent and is left out of the comparison."""


class StarVector(NamedTuple):
    """The state of a Star printer and its document counter (`None`: absent)."""

    id: str
    data: bytes
    status: PrinterStatus
    counted: int | None
    source: str = _STAR_MANUAL


STAR_ANSWERS = (
    StarVector("idle", bytes.fromhex("230600000000000000"), PrinterStatus(True, False, "ok", False), 0),
    StarVector("seven bytes", bytes.fromhex("0f060000000000"), PrinterStatus(True, False, "ok", False), None),
    StarVector("cover open", bytes.fromhex("230628000000000000"), PrinterStatus(False, True, "ok", False), 0),
    StarVector("paper out", bytes.fromhex("230608000008000000"), PrinterStatus(False, False, "out", False), 0),
    StarVector(
        "paper near its end", bytes.fromhex("230600000004000000"), PrinterStatus(True, False, "near_end", False), 0
    ),
    StarVector(
        "drawer, cutter", bytes.fromhex("23060c080000000000"), PrinterStatus(False, False, "ok", True, "cutter"), 0
    ),
    StarVector(
        "head hot", bytes.fromhex("230608400000000000"), PrinterStatus(False, False, "ok", False, "overheat"), 0
    ),
    StarVector("counted 1", bytes.fromhex("230600000000000200"), PrinterStatus(True, False, "ok", False), 1),
    StarVector("counted 31", bytes.fromhex("230600000000006e00"), PrinterStatus(True, False, "ok", False), 31),
    StarVector("counted 8", bytes.fromhex("230600000000002000"), PrinterStatus(True, False, "ok", False), 8),
)
"""Groups of state."""


class BarsVector(NamedTuple):
    """A bar code as its modules."""

    kind: str
    data: str
    modules: str
    source: str


EAN13 = BarsVector(
    "ean13",
    "5901234123457",
    "10100010110100111011001100100110111101001110101010110011011011001000010101110010011101000100101",
    "the example that descriptions of EAN-13 draw, worked by hand from its tables of digits",
)
