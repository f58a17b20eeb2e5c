"""Libraries that are loaded at first use."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from protocols.lazy import LazyModule

DRAWING = """
import sys
from protocols.printers.compose import compose
from protocols.printers.commands import Qr, Text
from protocols.printers.profiles import PROFILES
from protocols.printers.symbols import squares
from protocols.simulators.printer import simulated_printer
loaded = lambda: [name for name in ("PIL", "segno") if name in sys.modules]
printer = simulated_printer("epson")
printer.feed(compose((Text("x"),), PROFILES["epson"]).stream)
print(loaded())
compose((Qr("x"),), PROFILES["epson"])
print(loaded())
squares(b"x", "M")
print(loaded())
printer.mechanism.paper.png()
print(loaded())
"""


class LazyModuleTests(SynchronousTestCase):
    """Modules behind `LazyModule`."""

    def test_attributes(self) -> None:
        """The attributes are those of the module; an unknown one is an AttributeError."""
        self.assertEqual(LazyModule("colorsys").rgb_to_hsv(0, 0, 0), (0, 0, 0))
        self.assertRaises(AttributeError, lambda: LazyModule("colorsys").nothing)

    def test_printing(self) -> None:
        """Text and QR codes that the printer draws load no library; one drawn here loads segno, a picture Pillow."""
        shown = subprocess.run([sys.executable, "-c", DRAWING], capture_output=True, text=True, check=True)
        self.assertEqual(shown.stdout.splitlines(), ["[]", "[]", "['segno']", "['PIL', 'segno']"])
