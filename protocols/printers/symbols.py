"""Bar codes and QR codes as black and white modules, for drawing and for the simulated paper.

A bar code is a string of ``1`` (bar) and ``0`` (gap), a QR code a matrix of the same; sizes in dots come later.

===== ==========================================================================================
EAN   three guards, seven modules for each digit; the choice of codes encodes the first digit of EAN-13
128   start, symbols of eleven modules, a check symbol modulo 103, stop; B is ASCII, C is pairs of digits
===== ==========================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols.lazy import LazyModule
from protocols.printers.commands import QrLevel, Symbology

if TYPE_CHECKING:
    import segno
else:
    segno = LazyModule("segno")

_SEVEN = "0001101001100100100110111101010001101100010101111011101101101110001011"
_LEFT_ODD = tuple(_SEVEN[at : at + 7] for at in range(0, len(_SEVEN), 7))
_RIGHT = tuple(code.translate(str.maketrans("01", "10")) for code in _LEFT_ODD)
_LEFT_EVEN = tuple(code[::-1] for code in _RIGHT)
# Digits of the left half that use the even code (1), by the first digit of EAN-13.
_PARITY = ("000000", "001011", "001101", "001110", "010011", "011001", "011100", "010101", "010110", "011010")

_SIX = (
    "212222222122222221121223121322131222122213122312132212221213221312231212112232122132122231113222123122123221"
    "223211221132221231213212223112312131311222321122321221312212322112322211212123212321232121111323131123131321"
    "112313132113132311211313231113231311112133112331132131113123113321133121313121211331231131213113213311213131"
    "311123311321331121312113312311332111314111221411431111111224111422121124121421141122141221112214112412122114"
    "122411142112142211241211221114413111241112134111111242121142121241114212124112124211411212421112421211212141"
    "214121412121111143111341131141114113114311411113411311113141114131311141411131211412211214211232"
)
_WIDTHS = (*(_SIX[at : at + 6] for at in range(0, len(_SIX), 6)), "2331112")
"""Widths of bars and gaps of each symbol; only the stop symbol has seven."""
_START_B, _START_C, _STOP = 104, 105, 106

QR_QUIET = 4
"""White modules around a QR code."""

BAR_QUIET = 10
"""White modules on either side of a bar code."""


class NotDrawable(ValueError):
    """A text that this kind of code cannot encode."""


def check_digit(digits: str) -> str:
    """The check digit of an EAN whose other digits are ``digits``."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def complete_ean(kind: Symbology, data: str) -> str:
    """The digits of an EAN with its check digit, which is verified when present.

    :raises NotDrawable: when the number of digits or the check digit is wrong.
    """
    length = {"ean13": 13, "ean8": 8}[kind]
    if not (data.isascii() and data.isdigit()) or len(data) not in (length - 1, length):
        raise NotDrawable(f"{length} digits are expected")
    body = data[: length - 1]
    if data[length - 1 :] not in ("", check_digit(body)):
        raise NotDrawable(f"the check digit is {check_digit(body)}")
    return body + check_digit(body)


def code128_in_pairs(data: str) -> bool:
    """Whether ``data`` can be written as pairs of digits (code C), which is half as wide."""
    return len(data) >= 2 and len(data) % 2 == 0 and data.isascii() and data.isdigit()


def bars(kind: Symbology, data: str, pairs: bool = False) -> str:
    """The modules of a bar code without its quiet zones; ``pairs`` writes a Code 128 as pairs of digits.

    :raises NotDrawable: when this kind of code cannot encode ``data``.
    """
    if kind == "code128":
        return _code128(data, pairs)
    digits = complete_ean(kind, data)
    if kind == "ean8":
        left = "".join(_LEFT_ODD[int(digit)] for digit in digits[:4])
    else:
        codes = {"0": _LEFT_ODD, "1": _LEFT_EVEN}
        parities = zip(_PARITY[int(digits[0])], digits[1:7], strict=True)
        left = "".join(codes[parity][int(digit)] for parity, digit in parities)
    right = "".join(_RIGHT[int(digit)] for digit in digits[-(len(digits) // 2) :])
    return f"101{left}01010{right}101"


def _code128(data: str, pairs: bool) -> str:
    if not data or not all(" " <= char <= "~" for char in data):
        raise NotDrawable("printable ASCII characters are expected")
    if pairs and code128_in_pairs(data):
        values = [_START_C, *(int(data[at : at + 2]) for at in range(0, len(data), 2))]
    else:
        values = [_START_B, *(ord(char) - 32 for char in data)]
    check = (values[0] + sum(place * value for place, value in enumerate(values[1:], 1))) % 103
    return "".join(
        ("1" if place % 2 == 0 else "0") * int(width)
        for value in (*values, check, _STOP)
        for place, width in enumerate(_WIDTHS[value])
    )


def squares(data: bytes, level: QrLevel) -> tuple[bytes, ...]:
    """The modules of a QR code row by row, 1 for black, without the quiet zone.

    :raises NotDrawable: when ``data`` is empty or too long for a QR code.
    """
    if not data:
        raise NotDrawable("a QR code needs a text")
    try:
        code = segno.make_qr(data, error=level, boost_error=False, mode="byte")
    except segno.DataOverflowError:
        raise NotDrawable("the text is too long for a QR code") from None
    return tuple(bytes(row) for row in code.matrix)


def fitting_module(modules: int, dots: int) -> int:
    """The side of a QR module in dots, for ``modules`` on paper of ``dots`` (docs/reference/printers.md#codes).

    :returns: 3 to 6, or less if 3 does not fit; 0 when the code does not fit at all.
    """
    wanted = max(3, min(6, dots * 6 // 10 // (modules + 2 * QR_QUIET)))
    return min(wanted, dots // (modules + 2 * QR_QUIET))
