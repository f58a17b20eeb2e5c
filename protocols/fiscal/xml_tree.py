"""XML as a tree of elements: untrusted when read, always the same bytes when written.

It writes windows-1251 with one declaration, no blanks between the tags, ``&``, ``<`` and ``>`` escaped::

    <?xml version="1.0" encoding="windows-1251"?><CHECK …><CHECKHEAD><DOCTYPE>100</DOCTYPE>…</CHECKHEAD></CHECK>

The same tree gives the same bytes, so a document can be signed, stored and sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.parsers import expat

from protocols.fiscal.letters import CODE_PAGE

DEEPEST = 16
"""Levels of nesting that are read; a document has five."""

DECLARATION = f'<?xml version="1.0" encoding="{CODE_PAGE}"?>'


class MalformedXml(ValueError):
    """Bytes that are not XML, or XML of a kind that no fiscal document uses."""


class Node(NamedTuple):
    """One element: its text when it is a leaf, else its children."""

    name: str
    text: str = ""
    children: tuple[Node, ...] = ()
    attributes: Mapping[str, str] = MappingProxyType({})

    def child(self, name: str) -> Node | None:
        """The first child with that name."""
        return next((child for child in self.children if child.name == name), None)

    def text_of(self, name: str) -> str:
        """The text of a child without the blanks around it; empty when the child is absent."""
        child = self.child(name)
        return child.text.strip() if child is not None else ""


class _Reading:
    def __init__(self) -> None:
        self.open: list[tuple[str, dict[str, str], list[str], list[Node]]] = [("", {}, [], [])]
        """Elements whose end is not read yet: name, attributes, texts and children."""
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        # Declared entities can expand without limit; no fiscal document declares any.
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) > DEEPEST:
            raise MalformedXml(f"more than {DEEPEST} levels")
        self.open.append((name, attributes, [], []))

    def _end(self, name: str) -> None:
        _, attributes, texts, children = self.open.pop()
        text = "".join(texts)
        if children and not text.strip():
            text = ""
        self.open[-1][3].append(Node(name, text, tuple(children), attributes))

    def _text(self, text: str) -> None:
        self.open[-1][2].append(text)

    def _doctype(self, *declaration: Any) -> None:
        raise MalformedXml("a document type is declared")


def parse(data: bytes) -> Node:
    """The root element of ``data``, in the encoding that its declaration names.

    :raises MalformedXml: when it is not XML, declares a document type, or is nested too deep.
    """
    reading = _Reading()
    try:
        reading.parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise MalformedXml(str(error)) from None
    return reading.open[0][3][0]


def write(root: Node) -> bytes:
    """The bytes of the document.

    :raises UnicodeEncodeError: for a character that the code page lacks; the schema checks for them before.
    """
    pieces = [DECLARATION]
    _add_pieces(root, pieces)
    return "".join(pieces).encode(CODE_PAGE)


def _add_pieces(node: Node, pieces: list[str]) -> None:
    name, text, children, attributes = node
    start = name
    for key, value in attributes.items():
        start += f' {key}="{_quoted(value)}"'
    if not children:
        pieces.append(f"<{start}>{_escaped(text)}</{name}>")
        return
    pieces.append(f"<{start}>")
    for child in children:
        _add_pieces(child, pieces)
    pieces.append(f"</{name}>")


def _escaped(text: str) -> str:
    # A carriage return that is not escaped is read back as a line feed.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")
