"""Every route of a door, found by looking behind it: nothing is listed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from klein import Klein
from twisted.web.resource import IResource

from web.openapi.paths import ENTRIES, MOVED, PAGE, Entry
from web.pages import site as pages

_PART = re.compile(r"<(?:(\w+):)?(\w+)>")
_READING = ("HEAD", "OPTIONS")


@dataclass(frozen=True)
class Route:
    """One method of one path; ``numbers`` are the parts of the path that are whole numbers."""

    method: str
    path: str
    text: str
    parts: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    entry: Entry | None = None

    @property
    def key(self) -> str:
        """How the table of entries names it."""
        return f"{self.method} {self.path}"


def routes_of(resources: Iterable[tuple[bytes, IResource]]) -> list[Route]:
    """The routes behind ``resources``, each with the start of its path; one path behind another once."""
    found: dict[str, Route] = {}
    for start, resource in resources:
        inner = _innermost(resource)
        app = getattr(inner, "_app", None)
        routes = _of_klein(app) if isinstance(app, Klein) else _of_plain(start.decode())
        for route in routes:
            found.setdefault(route.key, route)
    return sorted(found.values(), key=lambda route: (route.path, route.method))


def _innermost(resource: Any) -> Any:
    while hasattr(resource, "_inner"):
        resource = resource._inner
    return resource


def _of_klein(app: Klein) -> Iterator[Route]:
    for rule in app.url_map.iter_rules():
        parts = _PART.findall(rule.rule)
        path = _PART.sub(r"{\2}", rule.rule)
        text = _first_sentence(app.endpoints[rule.endpoint].__doc__ or "")
        for method in sorted(set(rule.methods or ()) - set(_READING)):
            yield Route(
                method,
                path,
                text,
                tuple(name for _, name in parts),
                frozenset(name for kind, name in parts if kind == "int"),
                ENTRIES.get(f"{method} {path}") or _of_page(path),
            )


def _of_page(path: str) -> Entry | None:
    """What goes for a page that has no line of its own."""
    if path.encode() in pages.MOVED:
        return MOVED
    return PAGE if "/api/" not in path else None


def _of_plain(start: str) -> Iterator[Route]:
    """A resource that is no Klein's says nothing of its methods; the table does, for its path or below it."""
    named = [key.split(" ") for key in ENTRIES]
    known = [(method, path) for method, path in named if path == start or _is_below(path, start)]
    for method, path in known or [("GET", start)]:
        entry = ENTRIES.get(f"{method} {path}")
        yield Route(method, path, entry.text if entry else "", tuple(re.findall(r"{(\w+)}", path)), entry=entry)


def _is_below(path: str, start: str) -> bool:
    rest = path.removeprefix(start + "/")
    return rest != path and rest.startswith("{") and "/" not in rest


def _first_sentence(docstring: str) -> str:
    text = " ".join(docstring.split("\n\n")[0].split()).replace("``", "`")
    return text
