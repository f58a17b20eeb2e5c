"""Excise marks: what a document can carry, and the rules of the settings `marks_*` (docs/registers.md#excise-marks).

A mark is carried whole or its receipt is refused, before it gets a number. A separator of a DataMatrix, character 29,
is part of a mark; the tax service's XML cannot hold it, so there the setting `marks_gs` stands for it.
"""

from __future__ import annotations

import re

import msgspec

from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.documents.law import MARK_LENGTH
from dmtwisted.requests import RowRequest, malformed
from dmtwisted.results import Refused, Res, Text, at_most
from dmtwisted.store.values import MarkMove, MarkStep
from protocols.fiscal.letters import CODE_PAGE

GS = "\x1d"
"""Ends a part of a DataMatrix; a scanner passes it on, for FNC1 too."""

_PLAIN = re.compile(f"[!-~]{{0,{MARK_LENGTH}}}")
"""Almost every mark."""


def check_row_marks(row: RowRequest, index: int, gs: str) -> None:
    """See that a document can carry the marks of ``fiscal.receipt.rows[index]`` as they are.

    :param gs: stands for a separator in the tax service's document; empty refuses it.
    :raises Refused: 1089 for a character that it cannot carry, 2000 for a mark that is too long.
    """
    for n, mark in enumerate((row.code_a, *row.code_aa)):
        if not _PLAIN.fullmatch(mark):
            path = f"fiscal.receipt.rows[{index}].{f'code_aa[{n - 1}]' if n else 'code_a'}"
            longest = max(len(mark), len(written(mark, gs)))
            if longest > MARK_LENGTH:
                raise malformed(path, at_most(MARK_LENGTH, longest))
            why = _trouble(mark, gs)
            if why is not None:
                raise Refused(Res.FORBIDDEN_CHARACTER, index + 1, path, note=why)


def _trouble(mark: str, gs: str) -> Text | None:
    """Why the tax service's document cannot carry ``mark``."""
    if GS in mark and not gs:
        return Text(
            "роздільник GS (символ 29) не вміщається в XML податкової: вимкніть його у сканері або задайте marks_gs",
            "a separator GS (character 29) does not fit into the tax service's XML: "
            "switch it off in the scanner or set marks_gs",
        )
    sent = written(mark, gs)
    if GS in mark and sent.replace(gs, GS) != mark:
        return Text(
            f"у марці вже є «{gs}», яким marks_gs замінює роздільник GS",
            f"the mark has {gs!r} itself, with which marks_gs replaces a separator GS",
        )
    for character in sent:
        if character < " " or "\x7f" <= character <= "\x9f":
            return Text(f"керівний символ U+{ord(character):04X}", f"the control character U+{ord(character):04X}")
        try:
            character.encode(CODE_PAGE)
        except UnicodeEncodeError:
            return Text(
                f"символу U+{ord(character):04X} немає в кодуванні {CODE_PAGE} документів податкової",
                f"the character U+{ord(character):04X} is not in {CODE_PAGE}, which the tax service's documents have",
            )
    return None


def written(mark: str, gs: str) -> str:
    """``mark`` as the tax service's document has it."""
    return mark.replace(GS, gs) if gs else mark


def shown(mark: str) -> str:
    """``mark`` for people, its separators too."""
    return mark.replace(GS, "<GS>")


def marks_of(document: Document) -> list[str]:
    """The marks of a document, each once."""
    if document.receipt is None:
        return []
    for good in document.receipt.goods:
        if good.code_a or good.code_aa:
            return list(dict.fromkeys(mark for good in document.receipt.goods for mark in good.marks))
    return []


def position_of(document: Document, mark: str) -> int:
    """The position of the first item with ``mark``."""
    assert document.receipt is not None
    return next(n for n, good in enumerate(document.receipt.goods, 1) if mark in good.marks)


def sells(document: Document) -> bool:
    """Whether the marks of ``document`` are sold by it: a sale, or the storno of a return."""
    reverses = document.reverses
    return document.kind == documents.SALE or (reverses is not None and reverses.kind == documents.RETURN)


def released(document: Document) -> MarkMove | None:
    """What becomes of marks when ``document`` certainly was not accepted."""
    return MarkMove(MarkStep.RELEASE) if sells(document) and marks_of(document) else None


LETTERS = "marks"
"""The kind of letters to the marks service."""


class Sold(msgspec.Struct, frozen=True):
    """A letter: this mark was sold by that receipt, whose reference is told in 15 characters at most."""

    mark: str
    register: str
    reference: str
    at: int


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Sold).decode
