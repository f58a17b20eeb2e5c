"""Bar codes and QR codes: check digits, modules, and the result of an independent reader."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from protocols.printers.commands import Barcode, Command, Cut, Qr
from protocols.printers.compose import compose
from protocols.printers.profiles import PROFILES
from protocols.printers.symbols import (
    NotDrawable,
    bars,
    check_digit,
    code128_in_pairs,
    complete_ean,
    fitting_module,
    squares,
)
from protocols.simulators.printer import simulated_printer
from tests.vectors.printers import EAN13, QR_TEXT


def seen(profile: str, *commands: Command) -> set[tuple[str, str]]:
    """Kind and text of every code that zbar reads on the paper of ``profile``.

    :raises SkipTest: when zbar is not there.
    """
    try:
        decode = import_module("pyzbar.pyzbar").decode
    except ImportError as missing:
        raise SkipTest(f"needs zbar (libzbar0) and pyzbar: {missing}") from None
    from PIL import Image as Pictures

    printer = simulated_printer(profile)
    printer.feed(compose((*commands, Cut()), PROFILES[profile]).stream)
    found: list[Any] = decode(Pictures.open(BytesIO(printer.mechanism.paper.png())).convert("L"))
    return {(code.type, code.data.decode()) for code in found}


class EanTests(SynchronousTestCase):
    """EAN-13 and EAN-8."""

    def test_check_digit(self) -> None:
        """Check digits match known codes."""
        for code in ("4820000000017", "5901234123457", "96385074", "4006381333931"):
            self.assertEqual(check_digit(code[:-1]), code[-1])

    def test_completed(self) -> None:
        """A missing check digit is added, a correct one stays."""
        for given in ("482000000001", "4820000000017"):
            self.assertEqual(complete_ean("ean13", given), "4820000000017")
        self.assertEqual(complete_ean("ean8", "9638507"), "96385074")

    def test_wrong(self) -> None:
        """A wrong check digit, a wrong length and letters are refused with a reason."""
        for wrong in ("4820000000018", "123", "", "48200000000١٧", "ABCDEFGHIJKLM"):
            self.assertRaises(NotDrawable, complete_ean, "ean13", wrong)

    def test_modules(self) -> None:
        """A known example has its bars."""
        self.assertEqual(bars("ean13", EAN13.data), EAN13.modules)
        self.assertEqual(len(bars("ean8", "96385074")), 67)


class Code128Tests(SynchronousTestCase):
    """Code 128."""

    def test_length(self) -> None:
        """Start, characters, check and stop have eleven modules each, and the stop has two more."""
        self.assertEqual(len(bars("code128", "AB-12")), 11 * 8 + 2)
        self.assertEqual(len(bars("code128", "123456", pairs=True)), 11 * 6 + 2)

    def test_pairs(self) -> None:
        """Only an even number of digits can be encoded as pairs."""
        self.assertTrue(code128_in_pairs("1234"))
        for data in ("123", "12a4", "", "१२"):
            self.assertFalse(code128_in_pairs(data), data)

    def test_wrong(self) -> None:
        """Other characters than ASCII are refused."""
        for wrong in ("", "Ї", "a\n"):
            self.assertRaises(NotDrawable, bars, "code128", wrong)


class QrTests(SynchronousTestCase):
    """QR codes."""

    def test_size(self) -> None:
        """The link to a receipt is a code of version 6 at level M (docs/reference/printers.md#codes)."""
        self.assertEqual(len(squares(QR_TEXT.encode(), "M")), 41)

    def test_too_much(self) -> None:
        """A text that is too long for a QR code is refused, and so is an empty one."""
        self.assertRaises(NotDrawable, squares, b"x" * 3000, "L")
        self.assertRaises(NotDrawable, squares, b"", "L")

    def test_fitting(self) -> None:
        """Modules are as large as paper and code allow, 3 to 6 dots (docs/reference/printers.md#codes)."""
        self.assertEqual(fitting_module(41, 384), 4)
        self.assertEqual(fitting_module(21, 384), 6)
        self.assertEqual(fitting_module(45, 576), 6)
        self.assertEqual(fitting_module(177, 384), 2)
        self.assertEqual(fitting_module(177, 100), 0)


class ReadTests(SynchronousTestCase):
    """The result of an independent reader on the paper."""

    def test_codes(self) -> None:
        """Codes are readable, whether the printer or the service draws them."""
        codes = (Qr(QR_TEXT), Barcode("ean13", "482000000001"), Barcode("code128", "No-123 {x}"))
        expected = {("QRCODE", QR_TEXT), ("EAN13", "4820000000017"), ("CODE128", "No-123 {x}")}
        for profile in ("epson", "epson-old", "raster-58", "raster-80", "zjiang-58", "star"):
            self.assertEqual(seen(profile, *codes), expected, profile)

    def test_pairs(self) -> None:
        """A long number that fits only as pairs of digits is printed so and is readable."""
        number = "12345678901234567890"
        for profile in ("zjiang-58", "raster-58"):
            self.assertEqual(seen(profile, Barcode("code128", number)), {("CODE128", number)}, profile)

    def test_cyrillic(self) -> None:
        """A QR code with Ukrainian letters encodes them in UTF-8."""
        self.assertEqual(seen("raster-58", Qr("Їжак і Ґава")), {("QRCODE", "Їжак і Ґава")})
