"""The shape of a request, recorded from the functions that read requests.

`Recorder` replaces the members of a JSON object. A reader asks it for texts, amounts, arrays; it returns the usual
value of each and records the question. So the document names exactly the members that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dmtwisted.requests import Members, Outline, Reader

T = TypeVar("T")
Schema = dict[str, Any]

REF = "#/components/schemas/"


def ref(name: str) -> Schema:
    """A reference to the component ``name``."""
    return {"$ref": REF + name}


KINDS: dict[str, Schema] = {
    "Text": {
        "type": ["string", "number", "null"],
        "description": "A text; a number is taken as it is written, null is empty.",
    },
    "Code": {
        "type": ["integer", "string", "null"],
        "description": 'A code of a catalogue of the register, such as a payment type: 2 or "2".',
    },
    "OneCode": {
        "type": ["integer", "string", "array", "null"],
        "items": {"type": ["integer", "string", "null"]},
        "description": "A code, or an array with one.",
    },
    "Texts": {"type": ["array", "null"], "items": {"type": ["string", "number", "null"]}, "description": "Texts."},
    "Whole": {
        "type": ["integer", "string", "null"],
        "description": "A whole number, also as a text; an empty text or null is no value.",
    },
    "Amount": {
        "type": ["number", "string", "null"],
        "description": 'Hryvnias with at most two decimal places, also as a text: 125.5, "125.50".',
    },
    "Quantity": {
        "type": ["number", "string", "null"],
        "description": "A quantity with at most three decimal places, also as a text: 1, 0.125.",
    },
    "Flag": {
        "type": ["boolean", "integer", "string", "null"],
        "description": 'true, 1, "1" and "true" are yes; false, 0, an empty text and null are no.',
    },
}
"""The types that members of requests may have (specification 2.2, "Value typing")."""


def _asks(kind: str, usual: Any) -> Any:
    """A method of `Recorder` that records a member of a kind and returns its usual value."""

    def asked(self: Recorder, name: str) -> Any:
        self._ask(name, kind)
        return usual

    return asked


class Recorder(Members):
    """Members without values, which record what a reader asks for.

    :param found: collects nested objects, by their names among the components.
    :param numbers: values of whole numbers on which readers depend.
    :param absent: members that readers must not find.
    """

    __slots__ = ("_absent", "_found", "_numbers", "asked")

    def __init__(
        self, found: dict[str, Schema], numbers: Mapping[str, int] | None = None, absent: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(Outline({}), "")
        self._found, self._numbers, self._absent = found, dict(numbers or {}), absent
        self.asked: dict[str, Schema] = {}

    def _ask(self, name: str, kind: str) -> None:
        self.asked.setdefault(name, ref(kind))

    def check(self, reader: Reader) -> None:
        """Nothing to do: there are no members."""

    def has(self, name: str) -> bool:
        """Every member is there, so that readers ask for everything."""
        return name not in self._absent

    text = _asks("Text", "")
    code = _asks("Code", "")
    codes = _asks("OneCode", ())
    texts = _asks("Texts", ())
    amount = _asks("Amount", 0)
    amount_or_none = _asks("Amount", None)
    quantity = _asks("Quantity", 0)

    def integer(self, name: str, default: int = 0) -> int:
        """See `Members`."""
        self._ask(name, "Whole")
        return self._numbers.get(name, default)

    def flag(self, name: str) -> bool:
        """True, so that readers ask for what depends on it."""
        self._ask(name, "Flag")
        return True

    def object(self, name: str) -> Members | None:
        """An object that is read elsewhere."""
        self.asked.setdefault(name, {"type": ["object", "null"]})
        return None

    def read(self, name: str, read: Callable[[Members], T]) -> T | None:
        """An object with a reader of its own, which is recorded too."""
        self.asked[name] = {"anyOf": [self._recorded(read), {"type": "null"}]}
        return None

    def read_each(self, name: str, read: Callable[[Members], T], most: int) -> tuple[T, ...]:
        """An array of objects with a reader of its own, which is recorded too."""
        self.asked[name] = {"type": ["array", "null"], "maxItems": most, "items": self._recorded(read)}
        return ()

    def _recorded(self, read: Callable[[Members], T]) -> Schema:
        name = component_of(read)
        if name not in self._found:
            # Set before the reader runs: a reader that reads itself would never end.
            self._found[name] = {}
            inner = Recorder(self._found, self._numbers, self._absent)
            read(inner)
            self._found[name] = {"type": "object", "properties": inner.asked}
        return ref(name)


def component_of(read: Callable[..., Any]) -> str:
    """The name among the components of what ``read`` reads: ``Row`` for ``_read_row``."""
    words = read.__name__.strip("_").removeprefix("read_").split("_")
    return "".join(word.capitalize() for word in words)


def recorded(read: Callable[[Members], object], recorder: Recorder) -> dict[str, Schema]:
    """The members that ``read`` asks for."""
    read(recorder)
    return recorder.asked
