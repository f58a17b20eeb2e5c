"""ESC/POS, the language of nearly all receipt printers: encoding and parsing (docs/reference/printers.md#commands).

======================== ====================================================
``1B 40``                reset                      `Initialise`
``1B 74 n``              code page                  `CodeTable`
``1B 61 n``              left, center, right        `SetAlign`
``1D 21 n``              size                       `SetSize`
text ``0A``              a line                     `Letters`, `LineFeed`
``1D 6B m n data``       bar code, function B       `PrintBarcode`
``1D 28 6B p p 31 fn …`` QR code in five steps      `QrModel` … `QrPrint`
``1D 76 30 m x x y y …`` picture                    `Raster`
``1D 56 41 n``           feed and cut               `CutPaper`
``1B 70 m t t``          drawer                     `Pulse`
``10 04 n``              state, in real time        `AskNow`
``1D 72 n``              state, in turn             `AskInTurn`
======================== ====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from protocols.printers import instructions as op
from protocols.printers.commands import ALIGNS, QR_LEVELS, Symbology
from protocols.printers.profiles import PROFILES, Profile
from protocols.printers.reading import LONGEST, InstructionReader, Taken, number_of, word

_KINDS: dict[int, Symbology] = {67: "ean13", 68: "ean8", 73: "code128"}
"""Bar code numbers of function B; function A counts from 0 in the same order."""
_NUMBERS = {kind: number for number, kind in _KINDS.items()}

_BUZZ_UNIT_MS = 50
_PULSE_UNIT_MS = 2


def encode(instructions: Iterable[op.Instruction], profile: Profile = PROFILES["epson"]) -> bytes:
    """Encode ``instructions``; ``profile`` selects between alternative commands.

    :raises ValueError: for an instruction that ESC/POS does not have.
    """
    return b"".join(_encoded(instruction, profile) for instruction in instructions)


def _encoded(instruction: op.Instruction, profile: Profile) -> bytes:
    match instruction:
        case op.Initialise():
            return b"\x1b@"
        case op.CodeTable(number):
            return b"\x1bt" + bytes([number])
        case op.SingleByte():
            return b"\x1c."
        case op.SetAlign(align):
            return b"\x1ba" + bytes([ALIGNS.index(align)])
        case op.SetBold(on):
            return b"\x1bE" + bytes([on])
        case op.SetUnderline(on):
            return b"\x1b-" + bytes([on])
        case op.SetInverted(on):
            return b"\x1dB" + bytes([on])
        case op.SetFont(font):
            return b"\x1bM" + bytes([font == "B"])
        case op.SetSize(width, height):
            return b"\x1d!" + bytes([(width - 1) << 4 | (height - 1)])
        case op.SetSpacing(dots):
            return b"\x1b2" if dots is None else b"\x1b3" + bytes([dots])
        case op.Letters(data) | op.Ignored(data):
            return data
        case op.LineFeed():
            return b"\n"
        case op.FeedLines(lines):
            return b"\x1bd" + bytes([lines])
        case op.FeedDots(dots):
            return b"\x1bJ" + bytes([dots])
        case op.BarcodeHeight(dots):
            return b"\x1dh" + bytes([dots])
        case op.BarcodeModule(dots):
            return b"\x1dw" + bytes([dots])
        case op.BarcodeLabel(on):
            # Below the bars, or not at all.
            return b"\x1dH" + bytes([2 if on else 0])
        case op.PrintBarcode(kind, text, pairs) if kind is not None:
            data = _code128(text, pairs) if kind == "code128" else text.encode("ascii")
            return b"\x1dk" + bytes([_NUMBERS[kind], len(data)]) + data
        case op.QrModel(model):
            return _qr(0x41, bytes([0x30 + model, 0]))
        case op.QrModule(dots):
            return _qr(0x43, bytes([dots]))
        case op.QrCorrection(level):
            return _qr(0x45, bytes([0x30 + QR_LEVELS.index(level)]))
        case op.QrStore(data):
            return _qr(0x50, b"0" + data)
        case op.QrPrint():
            return _qr(0x51, b"0")
        case op.Raster(stride, data):
            return b"\x1dv0\0" + word(stride) + word(instruction.height) + data
        case op.RasterKeep(stride, data):
            # One tone, no enlargement, colour 1.
            head = b"0p0\x01\x011" + word(stride * 8) + word(len(data) // stride)
            return b"\x1d(L" + word(len(head) + len(data)) + head + data
        case op.RasterPrint():
            return b"\x1d(L\x02\x0002"
        case op.PrintLogo(number) if profile.logo == "gs-paren-l":
            return b"\x1d(L\x06\x000E" + b"%02d" % number + b"\x01\x01"
        case op.PrintLogo(number):
            return b"\x1cp" + bytes([number, 0])
        case op.CutPaper(partial, feed):
            return b"\x1dV" + (bytes([0x42 if partial else 0x41, 0]) if feed else bytes([partial]))
        case op.Pulse(pin, on_ms, off_ms):
            return b"\x1bp" + bytes([pin == 5, on_ms // _PULSE_UNIT_MS, off_ms // _PULSE_UNIT_MS])
        case op.PulseNow(pin, tenths):
            return b"\x10\x14\x01" + bytes([pin == 5, tenths])
        case op.Buzz(times, each_ms) if profile.beeper == "esc-paren-a":
            return b"\x1b(A\x04\x000\x37" + bytes([times, max(1, each_ms // 100)])
        case op.Buzz(times, each_ms):
            return b"\x1bB" + bytes([times, each_ms // _BUZZ_UNIT_MS])
        case op.AskNow(number):
            return b"\x10\x04" + bytes([number])
        case op.AskInTurn(number):
            return b"\x1dr" + bytes([number])
        case op.AskName(number):
            return b"\x1dI" + bytes([number])
        case op.ReportName(name):
            return b"\x1d(H\x06\x0000" + name
        case op.ReportChanges(mask):
            return b"\x1da" + bytes([mask])
    raise ValueError(f"ESC/POS has no {type(instruction).__name__}")


def _qr(function: int, parameters: bytes) -> bytes:
    return b"\x1d(k" + word(len(parameters) + 2) + b"1" + bytes([function]) + parameters


def _code128(text: str, pairs: bool) -> bytes:
    if pairs:
        return b"{C" + bytes(int(text[at : at + 2]) for at in range(0, len(text), 2))
    return b"{B" + text.replace("{", "{{").encode("ascii")


class EscPosReader(InstructionReader):
    """The printer's parser of ESC/POS.

    An unsupported command is skipped by its length, or by its first two bytes when its length is unknown.
    """

    def _take(self, buffer: bytes, at: int) -> Taken | None:
        first = buffer[at]
        if first == 0x0A:
            return 1, (op.LineFeed(),)
        if first not in (0x10, 0x1B, 0x1C, 0x1D):
            return 1, (op.Ignored(buffer[at : at + 1]),)
        if at + 1 == len(buffer):
            return None
        syntax = _SYNTAX.get(buffer[at : at + 2])
        if syntax is None:
            return 2, (op.Ignored(buffer[at : at + 2]),)
        length = syntax.length(buffer, at)
        if length is None or (length <= LONGEST and at + length > len(buffer)):
            return None
        if length > LONGEST:
            return 2, (op.Ignored(buffer[at : at + 2]),)
        whole = buffer[at : at + length]
        return length, syntax.parse(whole[2:]) or (op.Ignored(whole),)


Parsed = tuple[op.Instruction, ...] | None


class _Syntax:
    """The syntax of one command.

    :param length: bytes after the first two, or a function that returns them (`None`: more input is needed).
    :param parse: returns the instructions for these bytes; without it the command is ignored.
    """

    def __init__(
        self, length: int | Callable[[bytes], int | None], parse: Callable[[bytes], Parsed] = lambda parameters: None
    ) -> None:
        self._length, self.parse = length, parse

    def length(self, buffer: bytes, at: int) -> int | None:
        """Bytes of the whole command that begins at ``at``; `None` when more input is needed."""
        if isinstance(self._length, int):
            return 2 + self._length
        rest = self._length(buffer[at + 2 : at + 2 + _HEAD])
        return None if rest is None else 2 + rest


_HEAD = 512
"""Bytes that suffice to find the length of any command."""


def _counted(parameters: bytes) -> int | None:
    """The length of a command in brackets: letter, pL, pH, data."""
    return None if len(parameters) < 3 else 3 + number_of(parameters[1:3])


def _until_nul(parameters: bytes) -> int | None:
    end = parameters.find(0)
    if end >= 0:
        return end + 1
    return None if len(parameters) < _HEAD else _HEAD


def _align(parameters: bytes) -> Parsed:
    number = parameters[0] & 0x0F if parameters[0] in b"\0\x01\x02012" else 3
    return (op.SetAlign(ALIGNS[number]),) if number < 3 else None


def _mode(parameters: bytes) -> Parsed:
    bits = parameters[0]
    return (
        op.SetFont("B" if bits & 0x01 else "A"),
        op.SetBold(bool(bits & 0x08)),
        op.SetSize(2 if bits & 0x20 else 1, 2 if bits & 0x10 else 1),
        op.SetUnderline(bool(bits & 0x80)),
    )


def _size(parameters: bytes) -> Parsed:
    width, height = (parameters[0] >> 4) + 1, (parameters[0] & 0x0F) + 1
    return (op.SetSize(width, height),) if width <= 8 and height <= 8 else None


def _pulse(parameters: bytes) -> Parsed:
    pin, on, off = parameters
    return (op.Pulse(5 if pin & 1 else 2, on * _PULSE_UNIT_MS, off * _PULSE_UNIT_MS),)


def _dle(parameters: bytes) -> int | None:
    return {1: 3, 2: 3, 8: 8}.get(parameters[0], 1) if parameters else None


def _pulse_now(parameters: bytes) -> Parsed:
    if parameters[0] != 1 or parameters[1] > 1:
        return None
    return (op.PulseNow(5 if parameters[1] else 2, parameters[2]),)


def _columns(parameters: bytes) -> int | None:
    """The length of `ESC *`, a picture in columns, which is ignored."""
    if len(parameters) < 3:
        return None
    return 3 + number_of(parameters[1:3]) * (3 if parameters[0] in (32, 33) else 1)


def _cut_length(parameters: bytes) -> int | None:
    if not parameters:
        return None
    return 2 if parameters[0] in (65, 66, 97, 98, 103, 104) else 1


def _cut(parameters: bytes) -> Parsed:
    number = parameters[0]
    if number in (0, 1, 48, 49):
        return (op.CutPaper(partial=bool(number & 1), feed=False),)
    return (op.CutPaper(partial=number == 66),) if number in (65, 66) else None


def _barcode_length(parameters: bytes) -> int | None:
    if not parameters:
        return None
    if parameters[0] <= 6:
        rest = _until_nul(parameters[1:])
        return None if rest is None else 1 + rest
    if 65 <= parameters[0] <= 79:
        return None if len(parameters) < 2 else 2 + parameters[1]
    return 1


def _barcode(parameters: bytes) -> Parsed:
    number, data = (parameters[0] + 65, parameters[1:-1]) if parameters[0] <= 6 else (parameters[0], parameters[2:])
    if not 65 <= number <= 79:
        return None
    kind = _KINDS.get(number)
    if kind == "code128":
        return (_read_code128(data),)
    return (op.PrintBarcode(kind, data.decode("latin-1")),)


def _read_code128(data: bytes) -> op.PrintBarcode:
    """The text of a Code 128, which may switch between codes."""
    if data[:2] not in (b"{A", b"{B", b"{C"):
        return op.PrintBarcode(None, data.decode("latin-1"))
    text, code, at = "", "", 0
    while at < len(data):
        if data[at] == ord("{") and at + 1 < len(data):
            follows = chr(data[at + 1])
            code, text = (follows, text) if follows in "ABC" else (code, text + ("{" if follows == "{" else ""))
            at += 2
            continue
        text += f"{data[at]:02d}" if code == "C" else chr(data[at])
        at += 1
    return op.PrintBarcode("code128", text, pairs=data[:2] == b"{C")


def _in_brackets_k(parameters: bytes) -> Parsed:
    """`GS ( k`: the steps of a QR code."""
    if len(parameters) < 6 or parameters[3] != 0x31:
        return None
    function, rest = parameters[4], parameters[5:]
    if function == 0x41 and rest[0] in (0x31, 0x32, 0x33):
        return (op.QrModel(rest[0] - 0x30),)
    if function == 0x43 and 1 <= rest[0] <= 16:
        return (op.QrModule(rest[0]),)
    if function == 0x45 and 0x30 <= rest[0] <= 0x33:
        return (op.QrCorrection(QR_LEVELS[rest[0] - 0x30]),)
    if function == 0x50 and rest[0] == 0x30:
        return (op.QrStore(rest[1:]),)
    if function == 0x51 and rest[0] == 0x30:
        return (op.QrPrint(),)
    return None


def _in_brackets_l(parameters: bytes) -> Parsed:
    """`GS ( L`: stored pictures."""
    if len(parameters) < 5:
        return None
    function, rest = parameters[4], parameters[5:]
    if function in (2, 50):
        return (op.RasterPrint(),)
    if function == 69 and len(rest) >= 2 and rest[:2].isdigit():
        return (op.PrintLogo(int(rest[:2])),)
    if function == 112 and len(rest) > 8:
        stride = (number_of(rest[4:6]) + 7) // 8
        return (op.RasterKeep(stride, rest[8:]),) if stride else None
    return None


def _in_brackets_h(parameters: bytes) -> Parsed:
    """`GS ( H`: answer with a name when everything is printed."""
    return (op.ReportName(parameters[5:9]),) if len(parameters) == 9 and parameters[3:5] == b"00" else None


def _by_letter(**parsers: Callable[[bytes], Parsed]) -> Callable[[bytes], Parsed]:
    def parse(parameters: bytes) -> Parsed:
        parser = parsers.get(chr(parameters[0]))
        return parser(parameters) if parser is not None else None

    return parse


def _buzz_in_brackets(parameters: bytes) -> Parsed:
    wanted = len(parameters) == 7 and parameters[3:4] == b"0"
    return (op.Buzz(parameters[5], parameters[6] * 100),) if wanted else None


def _raster_length(parameters: bytes) -> int | None:
    if len(parameters) < 6:
        return None
    stride, rows = number_of(parameters[2:4]), number_of(parameters[4:6])
    return 6 + stride * rows


def _raster(parameters: bytes) -> Parsed:
    stride = number_of(parameters[2:4])
    return (op.Raster(stride, parameters[6:]),) if parameters[0] == 0x30 and stride else None


def _large_length(parameters: bytes) -> int | None:
    """The length of `GS 8 L`: `GS ( L` with a length of four bytes."""
    return None if len(parameters) < 5 else 5 + number_of(parameters[1:5])


def _large(parameters: bytes) -> Parsed:
    return _in_brackets_l(b"L\0\0" + parameters[5:]) if parameters[:1] == b"L" else None


def _patterns(parameters: bytes) -> int | None:
    """The length of `GS *`, user-defined characters, which are ignored."""
    return None if len(parameters) < 2 else 2 + parameters[0] * parameters[1] * 8


def _one(make: Callable[[int], op.Instruction]) -> _Syntax:
    """A command with one parameter."""
    return _Syntax(1, lambda parameters: (make(parameters[0]),))


def _on_off(make: Callable[[bool], op.Instruction]) -> _Syntax:
    """A command whose lowest bit switches something; its parameter may be a number or an ASCII digit."""
    return _Syntax(1, lambda parameters: (make(bool(parameters[0] & 1)),))


_SYNTAX: dict[bytes, _Syntax] = {
    b"\x10\x04": _one(op.AskNow),
    b"\x10\x05": _Syntax(1),
    b"\x10\x14": _Syntax(_dle, _pulse_now),
    b"\x1b@": _Syntax(0, lambda _: (op.Initialise(),)),
    b"\x1bt": _one(op.CodeTable),
    b"\x1ba": _Syntax(1, _align),
    b"\x1bE": _on_off(op.SetBold),
    b"\x1bG": _on_off(op.SetBold),
    b"\x1b-": _Syntax(1, lambda parameters: (op.SetUnderline(parameters[0] in (1, 2, 49, 50)),)),
    b"\x1bM": _one(lambda number: op.SetFont("B" if number in (1, 49) else "A")),
    b"\x1b!": _Syntax(1, _mode),
    b"\x1b2": _Syntax(0, lambda _: (op.SetSpacing(None),)),
    b"\x1b3": _one(op.SetSpacing),
    b"\x1bd": _one(op.FeedLines),
    b"\x1bJ": _one(op.FeedDots),
    b"\x1bp": _Syntax(3, _pulse),
    b"\x1bB": _Syntax(2, lambda parameters: (op.Buzz(parameters[0], parameters[1] * _BUZZ_UNIT_MS),)),
    b"\x1b(": _Syntax(_counted, _by_letter(A=_buzz_in_brackets)),
    b"\x1b*": _Syntax(_columns),
    b"\x1bD": _Syntax(_until_nul),
    b"\x1bi": _Syntax(0, lambda _: (op.CutPaper(partial=True, feed=False),)),
    b"\x1bm": _Syntax(0, lambda _: (op.CutPaper(partial=True, feed=False),)),
    **{bytes((0x1B, letter)): _Syntax(1) for letter in b"R{V rKe%=UTu"},
    **{bytes((0x1B, letter)): _Syntax(2) for letter in b"$\\c"},
    b"\x1bW": _Syntax(8),
    b"\x1c.": _Syntax(0, lambda _: (op.SingleByte(),)),
    b"\x1cp": _Syntax(2, lambda parameters: (op.PrintLogo(parameters[0]),)),
    b"\x1c(": _Syntax(_counted),
    **{bytes((0x1C, letter)): _Syntax(1) for letter in b"!-WC"},
    b"\x1cS": _Syntax(2),
    b"\x1d!": _Syntax(1, _size),
    b"\x1dB": _on_off(op.SetInverted),
    b"\x1dV": _Syntax(_cut_length, _cut),
    b"\x1dh": _one(op.BarcodeHeight),
    b"\x1dw": _one(op.BarcodeModule),
    b"\x1dH": _Syntax(1, lambda parameters: (op.BarcodeLabel(parameters[0] in (1, 2, 3, 49, 50, 51)),)),
    b"\x1dk": _Syntax(_barcode_length, _barcode),
    b"\x1d(": _Syntax(_counted, _by_letter(k=_in_brackets_k, L=_in_brackets_l, H=_in_brackets_h)),
    b"\x1d8": _Syntax(_large_length, _large),
    b"\x1dv": _Syntax(_raster_length, _raster),
    b"\x1d*": _Syntax(_patterns),
    b"\x1dr": _one(lambda number: op.AskInTurn(number & 0x0F)),
    b"\x1dI": _one(op.AskName),
    b"\x1da": _one(op.ReportChanges),
    **{bytes((0x1D, letter)): _Syntax(1) for letter in b"fbT/|E"},
    **{bytes((0x1D, letter)): _Syntax(2) for letter in b"LWP$\\"},
    b"\x1d^": _Syntax(3),
}
"""Commands by their first two bytes."""
