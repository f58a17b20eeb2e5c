"""Bar codes and QR codes in the size in which pictures and PDF draw them.

A code that fits the paper in no size is written as text instead.
"""

from __future__ import annotations

import msgspec

from dmtwisted.documents.model import Barcode, Qr
from protocols.printers.symbols import (
    BAR_QUIET,
    QR_QUIET,
    NotDrawable,
    bars,
    code128_in_pairs,
    fitting_module,
    squares,
)

MOST_QR = 100
"""QR codes of one drawn form: a large one takes a second."""


class Squares(msgspec.Struct, frozen=True):
    """A QR code: its rows, 1 for black, without the quiet zone, and the side of a square in dots."""

    rows: tuple[bytes, ...]
    module: int

    @property
    def side(self) -> int:
        """Its width in dots."""
        return len(self.rows) * self.module

    @property
    def quiet(self) -> int:
        """White dots around it."""
        return QR_QUIET * self.module


class Bars(msgspec.Struct, frozen=True):
    """A bar code: its modules, `1` for a bar, without the quiet zones, and the width of a module in dots."""

    modules: str
    module: int

    @property
    def width(self) -> int:
        """Its width in dots."""
        return len(self.modules) * self.module


def sized_qr(code: Qr, dots: int) -> Squares | None:
    """``code`` on paper of ``dots`` in the size it asks for, else in the size that fits; `None` when none does.

    The size that fits is that of docs/reference/printers.md#codes.
    """
    try:
        rows = squares(code.data.encode("utf-8", "replace"), code.level)
    except NotDrawable:
        return None
    fits = fitting_module(len(rows), dots)
    if code.module is not None and (len(rows) + 2 * QR_QUIET) * code.module <= dots:
        fits = code.module
    return Squares(rows, fits) if fits else None


def sized_barcode(code: Barcode, dots: int) -> Bars | None:
    """``code`` on paper of ``dots``, as pairs of digits or with thinner bars if necessary; `None` when it does not
    fit.
    """
    try:
        modules = bars(code.kind, code.data)
        if code128_in_pairs(code.data) and (len(modules) + 2 * BAR_QUIET) * code.module > dots:
            modules = bars(code.kind, code.data, pairs=True)
    except NotDrawable:
        return None
    fits = min(code.module, dots // (len(modules) + 2 * BAR_QUIET))
    return Bars(modules, fits) if fits else None
