"""The test page of a printer: letters, widths, styles, codes."""

from __future__ import annotations

from dmtwisted.clock import readable
from dmtwisted.documents.model import Barcode, Cut, Element, Line, Pair, Qr, Rule

ALPHABET = ("АБВГҐДЕЄЖЗИІЇЙКЛМНОПРСТУФХЦЧШЩЬЮЯ", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "№ ₴ « » — ’ 0123456789")


def test_page(name: str, columns: int, at: int) -> list[Element]:
    """The page of the printer ``name`` with ``columns`` letters in a line, printed at ``at``."""
    ruler = "".join(str(column % 10) for column in range(1, columns + 1))
    return [
        Line("ПРОБНИЙ ДРУК", "center", bold=True, size=2),
        Line(name, "center"),
        Line(readable(at), "center"),
        Rule(),
        *(Line(letters) for letters in ALPHABET),
        Rule("="),
        Line(ruler),
        Pair("Ліворуч", "праворуч"),
        Line("по центру", "center"),
        Line("напівжирний", bold=True),
        Line("підкреслений", underline=True),
        Line("великий", size=2),
        Barcode("ean13", "4820000000000"),
        Barcode("code128", "DM-TWISTED"),
        Qr("https://cabinet.tax.gov.ua"),
        Line("НЕФІСКАЛЬНИЙ ДОКУМЕНТ", "center"),
        Cut(),
    ]
