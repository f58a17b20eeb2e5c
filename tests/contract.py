"""Compare answers with the OpenAPI document: it must describe each status, media type and body.

`tests.web_case` does this with every answer that a test gets over HTTP in memory.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from web.openapi.document import make_document
from web.openapi.paths import ENTRIES
from web.openapi.routes import Route

try:
    import jsonschema_rs
except ImportError:  # pragma: no cover - the extra `test` installs it
    jsonschema_rs = None  # type: ignore[assignment]


def judged() -> bool:
    """Whether a validator of JSON schemas is installed."""
    return jsonschema_rs is not None


UNASKED = (400, 413, 414)
"""Statuses of the HTTP parser for an invalid request, whatever its path."""


class Contract:
    """A document that answers are compared with."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._paths = sorted(
            (
                (re.compile(re.sub(r"{\w+}", "[^/]+", path)), operations)
                for path, operations in document["paths"].items()
            ),
            key=lambda each: each[0].pattern.count("[^/]+"),
        )

    def operation(self, method: str, target: str) -> Any:
        """What the document says of a request; `None` when it does not describe it."""
        path = urlsplit(target).path
        for pattern, operations in self._paths:
            if pattern.fullmatch(path):
                return operations.get("get" if method == "HEAD" else method.lower())
        return None

    def check(self, method: str, target: str, status: int, kind: str | None, body: bytes) -> str:
        """What is wrong with an answer; empty when it is right."""
        operation = self.operation(method, target)
        if operation is None or status in UNASKED:
            return ""
        described = operation["responses"].get(str(status))
        if described is None:
            return f"{method} {target}: the status {status} is not in the document"
        content = described.get("content", {})
        if method == "HEAD" or (not body and not content):
            return ""
        media = (kind or "").split(";")[0]
        if media not in content:
            return f"{method} {target}: {status} with {media or 'no media type'} is not in the document"
        if media != "application/json":
            return ""
        wrong = self.wrong(content[media]["schema"], json.loads(body))
        return f"{method} {target}: {'; '.join(wrong)} (shapes of answers: web/openapi)" if wrong else ""

    def wrong(self, schema: Any, value: Any) -> list[str]:
        """Where ``value`` differs from ``schema``; nothing without a validator."""
        if jsonschema_rs is None:
            return []
        return [
            f"{'/'.join(map(str, error.instance_path))}: {error.message}"
            for error in self._validator(json.dumps(schema)).iter_errors(value)
        ]

    @lru_cache(maxsize=256)  # noqa: B019 - there are two of these objects at most
    def _validator(self, schema: str) -> Any:
        whole = {**json.loads(schema), "components": self.document["components"]}
        return jsonschema_rs.Draft202012Validator(whole)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("[^/]+".join(map(re.escape, re.split(r"{\w+}", path))))


def every_route() -> list[Route]:
    """The routes of the service without a service: enough for the schemas of answers."""
    routes = []
    for key, entry in ENTRIES.items():
        method, path = key.split(" ")
        parts = tuple(re.findall(r"{(\w+)}", path))
        routes.append(Route(method, path, entry.text or key, parts, frozenset({"n", "number"} & set(parts)), entry))
    return routes


@lru_cache(maxsize=1)
def contract() -> Contract:
    """The document of every path, made once for each run of tests."""
    return Contract(make_document(every_route()))
