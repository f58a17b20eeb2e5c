"""The shape of a request, learned from the very functions that read requests.

`Recorder` stands in for the members of a JSON object. A reader asks it for texts, amounts, arrays; it gives the
usual value for each and remembers what it was asked for. So the document cannot name a member that nobody reads, nor
miss one that somebody does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dmtwisted.requests import Members

T = TypeVar("T")
Schema = dict[str, Any]

REF = "#/components/schemas/"


def ref(name: str) -> Schema:
    """The schema that stands among the components by ``name``."""
    return {"$ref": REF + name}


KINDS: dict[str, Schema] = {
    "Text": {
        "type": ["string", "number", "null"],
        "description": "A text; a number is taken as it is spelled, null is nothing.",
    },
    "Code": {
        "type": ["integer", "string", "null"],
        "description": 'A code of a catalogue of the register, such as a payment type: 2 or "2".',
    },
    "Texts": {
        "type": ["array", "null"],
        "items": {"type": ["string", "number", "null"]},
        "description": "Texts.",
    },
    "Whole": {
        "type": ["integer", "string", "null"],
        "description": "A whole number, also spelled as a text; an empty text or null is nothing.",
    },
    "Amount": {
        "type": ["number", "string", "null"],
        "description": 'Hryvnias with at most two digits behind the point, also spelled as a text: 125.5, "125.50".',
    },
    "Quantity": {
        "type": ["number", "string", "null"],
        "description": "A quantity with at most three digits behind the point, also spelled as a text: 1, 0.125.",
    },
    "Flag": {
        "type": ["boolean", "integer", "string", "null"],
        "description": 'true, 1, "1" and "true" are yes; false, 0, an empty text and null are no.',
    },
}
"""What a member of a request can be, and what of it is taken (specification 2.2, "Value typing")."""


class Recorder(Members):
    """Members that are asked for and not there.

    :param found: where the objects are collected that lie in this one, by their names among the components.
    :param numbers: what whole numbers shall be, for readers that go by one.
    :param absent: members that shall not be there.
    """

    __slots__ = ("_absent", "_found", "_numbers", "asked")

    def __init__(
        self, found: dict[str, Schema], numbers: Mapping[str, int] | None = None, absent: frozenset[str] = frozenset()
    ) -> None:
        super().__init__({}, "")
        self._found, self._numbers, self._absent = found, dict(numbers or {}), absent
        self.asked: dict[str, Schema] = {}

    def _ask(self, name: str, kind: str) -> None:
        self.asked.setdefault(name, ref(kind))

    def has_none_of(self, names: frozenset[str]) -> bool:
        """Never: whoever asks goes on to read them, and is heard then."""
        return False

    def has(self, name: str) -> bool:
        """Everything is there, so that readers look at everything."""
        return name not in self._absent

    def text(self, name: str) -> str:
        """See `Members`."""
        self._ask(name, "Text")
        return ""

    def code(self, name: str) -> str:
        """See `Members`."""
        self._ask(name, "Code")
        return ""

    def texts(self, name: str) -> tuple[str, ...]:
        """See `Members`."""
        self._ask(name, "Texts")
        return ()

    def integer(self, name: str, default: int = 0) -> int:
        """See `Members`."""
        self._ask(name, "Whole")
        return self._numbers.get(name, default)

    def amount(self, name: str) -> int:
        """See `Members`."""
        self._ask(name, "Amount")
        return 0

    def amount_or_none(self, name: str) -> int | None:
        """See `Members`."""
        self._ask(name, "Amount")
        return None

    def quantity(self, name: str) -> int:
        """See `Members`."""
        self._ask(name, "Quantity")
        return 0

    def flag(self, name: str) -> bool:
        """Yes, so that readers look at what comes with it."""
        self._ask(name, "Flag")
        return True

    def object(self, name: str) -> Members | None:
        """An object whose reader is elsewhere."""
        self.asked.setdefault(name, {"type": ["object", "null"]})
        return None

    def read(self, name: str, read: Callable[[Members], T]) -> T | None:
        """An object with a reader of its own, which is recorded too."""
        self.asked[name] = {"anyOf": [self._recorded(read), {"type": "null"}]}
        return None

    def read_each(self, name: str, read: Callable[[Members], T]) -> tuple[T, ...]:
        """An array of objects with a reader of its own, which is recorded too."""
        self.asked[name] = {"type": ["array", "null"], "items": self._recorded(read)}
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
