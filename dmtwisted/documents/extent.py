"""How much a document for printing may hold: rows, codes and pictures, which cost much more than their bytes."""

from __future__ import annotations

from dmtwisted.documents.model import MOST_ROWS, NARROWEST, Barcode, Element, Feed, Image, Line, Pair, Qr
from dmtwisted.results import Text

MOST_CODES, MOST_CODE_BYTES = 100, 16_384
"""QR codes of one document, and the bytes of all of them together."""

MOST_BARCODES = 1000
"""Bar codes of one document."""

MOST_PICTURES, MOST_DOTS = 100, 4_000_000
"""Pictures of one document, and the dots of all of them together, in their files."""

TOO_LONG = Text(f"документ довший за {MOST_ROWS} рядків", f"the document is longer than {MOST_ROWS} lines")
CODES_TOO_MANY = Text(f"щонайбільше {MOST_CODES} QR-кодів", f"at most {MOST_CODES} QR codes are taken")
CODES_TOO_LONG = Text(
    f"QR-коди разом мають понад {MOST_CODE_BYTES} байтів",
    f"the QR codes have more than {MOST_CODE_BYTES} bytes together",
)
BARCODES_TOO_MANY = Text(f"щонайбільше {MOST_BARCODES} штрих-кодів", f"at most {MOST_BARCODES} bar codes are taken")
PICTURES_TOO_MANY = Text(f"щонайбільше {MOST_PICTURES} малюнків", f"at most {MOST_PICTURES} pictures are taken")
DOTS_TOO_MANY = Text(
    f"малюнки разом мають понад {MOST_DOTS} точок", f"the pictures have more than {MOST_DOTS} dots together"
)


class Extent:
    """What a document holds so far."""

    def __init__(self) -> None:
        self._rows = self._codes = self._bytes = self._barcodes = self._pictures = self._dots = 0

    def add(self, element: Element, dots: int = 0) -> Text | None:
        """Count one more element; why it is too much, if it is.

        :param dots: of a picture, in its file.
        """
        self._rows += _rows(element)
        if isinstance(element, Qr):
            self._codes += 1
            self._bytes += len(element.data.encode("utf-8", "replace"))
        elif isinstance(element, Barcode):
            self._barcodes += 1
        elif isinstance(element, Image):
            self._pictures += 1
            self._dots += dots
        for much, most, why in (
            (self._rows, MOST_ROWS, TOO_LONG),
            (self._codes, MOST_CODES, CODES_TOO_MANY),
            (self._bytes, MOST_CODE_BYTES, CODES_TOO_LONG),
            (self._barcodes, MOST_BARCODES, BARCODES_TOO_MANY),
            (self._pictures, MOST_PICTURES, PICTURES_TOO_MANY),
            (self._dots, MOST_DOTS, DOTS_TOO_MANY),
        ):
            if much > most:
                return why
        return None


def _rows(element: Element) -> int:
    """The approximate number of lines on the narrowest paper."""
    if isinstance(element, Feed):
        return element.lines
    text = ""
    if isinstance(element, Line):
        text = element.text
    elif isinstance(element, Pair):
        text = element.left + element.right
    return 1 + text.count("\n") + len(text) // NARROWEST
