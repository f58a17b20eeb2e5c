"""Which member of a JSON text an error of msgspec is about, for readable error texts."""

from __future__ import annotations

import re

import msgspec

_PLACE = re.compile(r"(?P<text>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_MEMBER = re.compile(r"(?:unknown|missing required) field `(?P<name>[^`]*)`")


def explain(error: msgspec.ValidationError) -> tuple[str, str]:
    """The path of the member, ``rules[0].then``, and what is wrong with it; the path is empty for the whole."""
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    text, path = found["text"], found["path"] or ""
    member = _MEMBER.search(text)
    if member is not None:
        path = f"{path}.{member['name']}" if path else member["name"]
    return path, text
