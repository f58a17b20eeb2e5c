"""Star line mode, the second printer language: encoding and parsing (docs/reference/printers.md#star).

========================== ===================================== ====================
``1B 1D 74 n``             code page                             `CodeTable`
``1B 1D 61 n``             left, center, right                   `SetAlign`
``1B 45`` / ``1B 46``      bold on, off                          `SetBold`
``1B 69 h w``              size, 0 is normal                     `SetSize`
``1B 62 … data 1E``        bar code with its measures            `PrintWholeBarcode`
``1B 1D 79 …``             QR code in steps                      `QrModel` … `QrPrint`
``1B 1D 53 1 x x y y 0 …`` picture                               `Raster`
``1B 64 n``                cut                                   `CutPaper`
``07`` / ``1A``            drawer on pin 2, on the second output `Pulse`
``1B 06 01``               state, in real time                   `AskNow`
``17``                     count a document when it is printed   `CountDocument`
========================== ===================================== ====================
"""

from __future__ import annotations

from collections.abc import Iterable

from protocols.printers import instructions as op
from protocols.printers.commands import ALIGNS, QR_LEVELS, Symbology
from protocols.printers.reading import LONGEST, InstructionReader, Taken, number_of, word

LARGEST_ENLARGEMENT = 6
LARGEST_QR_MODULE = 8
LARGEST_FEED = 127

_KINDS: dict[int, Symbology] = {2: "ean8", 3: "ean13", 6: "code128"}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_END_OF_BARCODE = 0x1E
_DOTS_PER_QUARTER_MM = 2


def encode(instructions: Iterable[op.Instruction]) -> bytes:
    """Encode ``instructions``.

    :raises ValueError: for an instruction that Star line mode does not have.
    """
    return b"".join(map(_encoded, instructions))


def _encoded(instruction: op.Instruction) -> bytes:
    match instruction:
        case op.Initialise():
            return b"\x1b@"
        case op.CodeTable(number):
            return b"\x1b\x1dt" + bytes([number])
        case op.SetAlign(align):
            return b"\x1b\x1da" + bytes([ALIGNS.index(align)])
        case op.SetBold(on):
            return b"\x1bE" if on else b"\x1bF"
        case op.SetUnderline(on):
            return b"\x1b-" + bytes([on])
        case op.SetInverted(on):
            return b"\x1b4" if on else b"\x1b5"
        case op.SetFont(font):
            return b"\x1b\x1eF" + bytes([font == "B"])
        case op.SetSize(width, height):
            return b"\x1bi" + bytes([min(height, LARGEST_ENLARGEMENT) - 1, min(width, LARGEST_ENLARGEMENT) - 1])
        case op.Letters(data) | op.Ignored(data):
            return data
        case op.LineFeed():
            return b"\n"
        case op.FeedLines(lines):
            return b"\x1ba" + bytes([min(lines, LARGEST_FEED)])
        case op.FeedDots(dots):
            return b"\x1bJ" + bytes([(dots + 1) // _DOTS_PER_QUARTER_MM])
        case op.PrintWholeBarcode(kind, text, height, module, label) if kind is not None:
            # Both values of the label end the line; module 1 is 2 dots.
            measures = bytes([_NUMBERS[kind], 2 if label else 1, max(1, min(3, module - 1)), height])
            # A percent sign begins a special character.
            spelled = text.replace("%", "%0") if kind == "code128" else text
            return b"\x1bb" + measures + spelled.encode("ascii") + bytes([_END_OF_BARCODE])
        case op.QrModel(model):
            return b"\x1b\x1dyS0" + bytes([model])
        case op.QrCorrection(level):
            return b"\x1b\x1dyS1" + bytes([QR_LEVELS.index(level)])
        case op.QrModule(dots):
            return b"\x1b\x1dyS2" + bytes([min(dots, LARGEST_QR_MODULE)])
        case op.QrStore(data):
            return b"\x1b\x1dyD1\0" + word(len(data)) + data
        case op.QrPrint():
            return b"\x1b\x1dyP"
        case op.Raster(stride, data):
            return b"\x1b\x1dS\x01" + word(stride) + word(instruction.height) + b"\0" + data
        case op.PrintLogo(number):
            return b"\x1b\x1cp" + bytes([number, 0])
        case op.CutPaper(partial, feed):
            return b"\x1bd" + bytes([partial + 2 * feed])
        case op.Pulse(pin):
            return b"\x1a" if pin == 5 else b"\x07"
        case op.AskNow():
            return b"\x1b\x06\x01"
        case op.ReportChanges(mask):
            return b"\x1b\x1ea" + bytes([mask])
        case op.CountDocument():
            return b"\x17"
        case op.ClearCount():
            return b"\x1b\x1eE\0"
    raise ValueError(f"Star line mode has no {type(instruction).__name__}")


_ALONE: dict[int, op.Instruction] = {
    0x0A: op.LineFeed(),
    0x07: op.Pulse(2),
    0x1C: op.Pulse(2),
    0x1A: op.Pulse(5),
    0x19: op.Pulse(5),
    0x17: op.CountDocument(),
}
"""Instructions of one byte."""

_SHORT: dict[bytes, int] = {
    **{bytes((0x1B, letter)): 0 for letter in b"@EF450"},
    **{bytes((0x1B, letter)): 1 for letter in b"-_adJIzWhR\x06"},
    **{bytes((0x1B, letter)): 2 for letter in b"i\x07\x1e"},
    b"\x1b\x1c": 3,
}
"""Number of parameters of commands with a fixed length, by their first two bytes."""


class StarReader(InstructionReader):
    """The printer's parser of Star line mode; unsupported commands are skipped."""

    def _take(self, buffer: bytes, at: int) -> Taken | None:
        if buffer[at] != 0x1B:
            return 1, (_ALONE.get(buffer[at]) or op.Ignored(buffer[at : at + 1]),)
        head = buffer[at : at + 10]
        if len(head) < 2:
            return None
        if head[1] == 0x62:
            return self._barcode(buffer, at)
        if head[1] == 0x1D:
            return self._extended(buffer, at)
        count = _SHORT.get(head[:2])
        if count is None:
            return 2, (op.Ignored(head[:2]),)
        if len(head) < 2 + count:
            return None
        return 2 + count, (_short(head[:2], head[2 : 2 + count]) or op.Ignored(head[: 2 + count]),)

    def _barcode(self, buffer: bytes, at: int) -> Taken | None:
        end = buffer.find(_END_OF_BARCODE, at + 6, at + 6 + 256)
        if end < 0:
            # Longer than any bar code, so this is not one.
            return (2, (op.Ignored(buffer[at : at + 2]),)) if len(buffer) - at > 6 + 256 else None
        number, label, module, height = buffer[at + 2 : at + 6]
        data = buffer[at + 6 : end].decode("latin-1")
        kind = _KINDS.get(number & 0x0F)
        if kind == "code128":
            data = data.replace("%0", "%")
        code = op.PrintWholeBarcode(kind, data, height, (module & 0x0F) + 1, (label & 0x0F) in (2, 4))
        return end + 1 - at, (code,)

    def _extended(self, buffer: bytes, at: int) -> Taken | None:
        """``1B 1D``: code pages, pictures and QR codes."""
        head = buffer[at : at + 10]
        if len(head) < 3:
            return None
        length = _extended_length(head)
        if length is None or (length <= LONGEST and at + length > len(buffer)):
            return None
        if length > LONGEST:
            return 3, (op.Ignored(head[:3]),)
        whole = buffer[at : at + length]
        return length, (_extended(whole) or op.Ignored(whole),)


def _short(command: bytes, parameters: bytes) -> op.Instruction | None:
    match command, *parameters:
        case (b"\x1b@",):
            return op.Initialise()
        case ((b"\x1bE" | b"\x1bF"),):
            return op.SetBold(command == b"\x1bE")
        case ((b"\x1b4" | b"\x1b5"),):
            return op.SetInverted(command == b"\x1b4")
        case b"\x1b-", number:
            return op.SetUnderline(bool(number & 1))
        case b"\x1ba", lines:
            return op.FeedLines(lines)
        case b"\x1bJ", quarters:
            return op.FeedDots(quarters * _DOTS_PER_QUARTER_MM)
        case b"\x1bd", number if number & 0x0F <= 3:
            return op.CutPaper(partial=bool(number & 1), feed=bool(number & 2))
        case b"\x1bi", height, width:
            return op.SetSize((width & 0x07) + 1, (height & 0x07) + 1)
        case b"\x1b\x06", 1:
            return op.AskNow(0)
        case b"\x1b\x1c", 0x70, number, _:
            return op.PrintLogo(number)
        case b"\x1b\x1e", 0x46, number:
            return op.SetFont("B" if number & 1 else "A")
        case b"\x1b\x1e", 0x61, mask:
            return op.ReportChanges(mask)
        case b"\x1b\x1e", 0x45, (0 | 48):
            return op.ClearCount()
    return None


def _extended_length(head: bytes) -> int | None:
    """Bytes of the whole command; `None` when more input is needed."""
    if head[2] in b"ta":
        return 4
    if head[2] == 0x53:
        if len(head) < 9:
            return None
        return 9 + number_of(head[4:6]) * number_of(head[6:8])
    if head[2] == 0x03:
        return 6
    if head[2] != 0x79:
        return 3
    if len(head) < 5 and head[3:4] != b"P":
        return None
    if head[3:4] == b"S":
        return 6
    if head[3:5] == b"D1":
        return None if len(head) < 8 else 8 + number_of(head[6:8])
    return 4


def _extended(whole: bytes) -> op.Instruction | None:
    rest = whole[3:]
    if whole[2] == 0x74:
        return op.CodeTable(rest[0])
    if whole[2] == 0x61 and rest[0] & 0x0F < 3:
        return op.SetAlign(ALIGNS[rest[0] & 0x0F])
    if whole[2] == 0x53:
        stride = number_of(rest[1:3])
        return op.Raster(stride, rest[6:]) if stride else None
    if whole[2] != 0x79:
        return None
    if rest[:1] == b"P":
        return op.QrPrint()
    if rest[:2] == b"S0":
        return op.QrModel(rest[2])
    if rest[:2] == b"S1" and rest[2] & 0x0F < 4:
        return op.QrCorrection(QR_LEVELS[rest[2] & 0x0F])
    if rest[:2] == b"S2" and 1 <= rest[2] <= LARGEST_QR_MODULE:
        return op.QrModule(rest[2])
    return op.QrStore(rest[5:]) if rest[:2] == b"D1" else None
