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

_WORDS: dict[QrLevel, tuple[int, ...]] = {
    "L": (
        *(19, 34, 55, 80, 108, 136, 156, 194, 232, 274, 324, 370, 428, 461),
        *(523, 589, 647, 721, 795, 861, 932, 1006, 1094, 1174, 1276, 1370, 1468),
        *(1531, 1631, 1735, 1843, 1955, 2071, 2191, 2306, 2434, 2566, 2702, 2812, 2956),
    ),
    "M": (
        *(16, 28, 44, 64, 86, 108, 124, 154, 182, 216, 254, 290, 334, 365),
        *(415, 453, 507, 563, 627, 669, 714, 782, 860, 914, 1000, 1062, 1128),
        *(1193, 1267, 1373, 1455, 1541, 1631, 1725, 1812, 1914, 1992, 2102, 2216, 2334),
    ),
    "Q": (
        *(13, 22, 34, 48, 62, 76, 88, 110, 132, 154, 180, 206, 244, 261),
        *(295, 325, 367, 397, 445, 485, 512, 568, 614, 664, 718, 754, 808),
        *(871, 911, 985, 1033, 1115, 1171, 1231, 1286, 1354, 1426, 1502, 1582, 1666),
    ),
    "H": (
        *(9, 16, 26, 36, 46, 60, 66, 86, 100, 122, 140, 158, 180, 197),
        *(223, 253, 283, 313, 341, 385, 406, 442, 464, 514, 538, 596, 628),
        *(661, 701, 745, 793, 845, 901, 961, 986, 1054, 1096, 1142, 1222, 1276),
    ),
}
"""Data codewords of a QR code of each version, 1 to 40, by its error correction (ISO/IEC 18004, table 7)."""

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


def side(length: int, level: QrLevel) -> int:
    """The squares in a row of the QR code of ``length`` bytes, which is not drawn for it.

    :raises NotDrawable: when there are none, or too many for a QR code.
    """
    if not length:
        raise NotDrawable("a QR code needs a text")
    for version, words in enumerate(_WORDS[level], 1):
        # Four bits name the mode, and the length has a byte, from the tenth version on two.
        if 4 + (8 if version < 10 else 16) + 8 * length <= 8 * words:
            return 17 + 4 * version
    raise NotDrawable("the text is too long for a QR code")


def fitting_module(modules: int, dots: int) -> int:
    """The side of a QR module in dots, for ``modules`` on paper of ``dots`` (docs/reference/printers.md#codes).

    :returns: 3 to 6, or less if 3 does not fit; 0 when the code does not fit at all.
    """
    wanted = max(3, min(6, dots * 6 // 10 // (modules + 2 * QR_QUIET)))
    return min(wanted, dots // (modules + 2 * QR_QUIET))
