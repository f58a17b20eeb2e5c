"""The routes of a site, from the paths that it has mounted; none is listed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from klein import Klein

from web.openapi.paths import ENTRIES, MOVED, PAGE, Entry
from web.pages import site as pages

_PART = re.compile(r"<(?:(\w+):)?(\w+)>")
_READING = ("HEAD", "OPTIONS")


@dataclass(frozen=True)
class Route:
    """One method of one path; ``numbers`` are the parts that are whole numbers."""

    method: str
    path: str
    text: str
    parts: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    entry: Entry | None = None

    @property
    def key(self) -> str:
        """Its key in the table of entries."""
        return f"{self.method} {self.path}"


def routes_of(paths: Mapping[bytes, Klein | None]) -> list[Route]:
    """The routes of a site with these paths; a path without a Klein app belongs to a plain resource."""
    found: dict[str, Route] = {}
    for path, app in paths.items():
        for route in _of_plain(path.decode()) if app is None else _of_klein(app):
            found[route.key] = route
    return sorted(found.values(), key=lambda route: (route.path, route.method))


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
    """The entry of a page, which needs no line in the table."""
    if path.encode() in pages.MOVED:
        return MOVED
    return PAGE if "/api/" not in path else None


def _of_plain(start: str) -> Iterator[Route]:
    """A plain resource does not list its methods; the table does, for its path or below it."""
    named = [key.split(" ") for key in ENTRIES]
    known = [(method, path) for method, path in named if path == start or _is_below(path, start)]
    for method, path in known or [("GET", start)]:
        entry = ENTRIES.get(f"{method} {path}")
        yield Route(method, path, entry.text if entry else "", tuple(re.findall(r"{(\w+)}", path)), entry=entry)


def _is_below(path: str, start: str) -> bool:
    rest = path.removeprefix(start + "/")
    return rest != path and rest.startswith("{") and "/" not in rest


def _first_sentence(docstring: str) -> str:
    return " ".join(docstring.split("\n\n")[0].split()).replace("``", "`")
