"""The layout of a form in rows, the same for text, printer, picture and PDF (docs/reference/printers.md#layout).

A row of double size is one row in the text form too; it is enlarged only as far as it fits::

    Line("Z-ЗВІТ", "center", size=2)            Row("Z-ЗВІТ", "center", width=2, height=2)
    Line("ДУЖЕ ДОВГА НАЗВА ЗВІТУ", size=2)      Row("ДУЖЕ ДОВГА НАЗВА ЗВІТУ", height=2)       on 32 columns
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import TextWrapper

import msgspec

from dmtwisted.documents.model import NARROWEST, Align, Direct, Element, Feed, Image, Line, Pair, Rule, Size
from dmtwisted.documents.pictures import fitted
from dmtwisted.printing.letters import Letters
from protocols.printers import commands as printer

_MOST_FED = 255
"""Blank lines that one command can feed."""


class TooLong(ValueError):
    """A form is too long to be drawn."""


class Row(msgspec.Struct, frozen=True):
    """One line of text, at most as wide as the paper, without the blanks of its alignment."""

    text: str
    align: Align = "left"
    bold: bool = False
    underline: bool = False
    width: Size = 1
    height: Size = 1


Laid = Row | Direct
"""The parts of a form after its layout."""


def lay_out(elements: Iterable[Element], columns: int, letters: Letters, *, enlarge: bool = True) -> Iterator[Laid]:
    """The rows of a form on paper of ``columns`` letters.

    :param enlarge: whether the medium has large letters; the number of rows is the same without.
    :raises ValueError: when ``columns`` is less than `NARROWEST`.
    """
    if columns < NARROWEST:
        raise ValueError(f"at least {NARROWEST} columns are expected")
    return _laid(elements, columns, letters, enlarge)


def _laid(elements: Iterable[Element], columns: int, letters: Letters, enlarge: bool) -> Iterator[Laid]:
    written = letters.written
    for element in elements:
        if isinstance(element, Pair):
            left, right = written(element.left), written(element.right)
            if element.size == 1 or not enlarge:
                for text in _pair(left, right, columns):
                    yield Row(text, "left", element.bold)
            elif 2 * (len(left) + len(right) + 1) <= columns:
                yield Row(_pair(left, right, columns // 2)[0], "left", element.bold, width=2, height=2)
            else:
                for text in _pair(left, right, columns):
                    yield Row(text, "left", element.bold, height=2)
        elif isinstance(element, Line):
            texts = _wrapped(written(element.text), columns)
            width, height = _scale(texts, columns) if element.size == 2 and enlarge else (1, 1)
            for text in texts:
                yield Row(text, element.align, element.bold, element.underline, width, height)
        elif isinstance(element, Rule):
            yield Row((written(element.char) * columns)[:columns])
        else:
            yield element


def commands(
    elements: Iterable[Element], columns: int, letters: Letters, dots: int | None = None
) -> list[printer.Command]:
    """The form as the commands of a print job on paper of ``columns`` letters.

    :param letters: those of the printer's code table (`Profile.best_page`); afterwards ``letters.unknown`` is the
        number of letters that could not be written. Letters that the font of drawn lines lacks are counted by the
        composer.
    :param dots: width of the paper, to which wider pictures are reduced.
    :raises ValueError: when ``columns`` is less than `NARROWEST`.
    """
    job: list[printer.Command] = []
    for laid in lay_out(elements, columns, letters):
        if isinstance(laid, Row):
            job.append(
                printer.Text(laid.text, laid.align, laid.bold, laid.underline, width=laid.width, height=laid.height)
            )
        elif isinstance(laid, Feed):
            whole, rest = divmod(max(0, laid.lines), _MOST_FED)
            job += [printer.Feed(_MOST_FED)] * whole
            if rest:
                job.append(printer.Feed(rest))
        elif isinstance(laid, Image) and dots is not None:
            job.append(fitted(laid, dots))
        else:
            job.append(laid)
    return job


def cut(text: str, columns: int) -> list[str]:
    """``text`` cut into pieces of ``columns`` letters, with nothing left out."""
    return [text[at : at + columns] for at in range(0, len(text), columns)] or [""]


def aligned(texts: list[str], align: Align, columns: int) -> list[str]:
    """``texts`` with the blanks of their alignment in front."""
    if align == "left":
        return texts
    if align == "right":
        return [text.rjust(columns) for text in texts]
    return [" " * ((columns - len(text)) // 2) + text for text in texts]


def _scale(texts: list[str], columns: int) -> tuple[Size, Size]:
    """Twice as wide only when all parts of a text fit: a title with letters of two widths looks wrong."""
    return (2, 2) if all(2 * len(text) <= columns for text in texts) else (1, 2)


def _wrapped(text: str, columns: int) -> list[str]:
    """``text`` wrapped into lines of at most ``columns`` letters; a line that fits stays as it is."""
    if len(text) <= columns and "\n" not in text:
        return [text.rstrip()]
    wrap = TextWrapper(columns, break_on_hyphens=False).wrap
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line.rstrip()] if len(line) <= columns else wrap(line) or [""]
    return lines


def _pair(left: str, right: str, columns: int) -> list[str]:
    """``left``, wrapped, with ``right`` at the end of its last line, or below it when it is long."""
    if "\n" in left or "\n" in right:
        left, right = left.replace("\n", " "), right.replace("\n", " ")
    room = columns - len(right) - 1
    if len(left) <= room:
        return [left + right.rjust(columns - len(left))]
    if 2 * room < columns:
        return _wrapped(left, columns) + aligned(_wrapped(right, columns), "right", columns)
    *above, last = _wrapped(left, room)
    return [*above, last + right.rjust(columns - len(last))]
