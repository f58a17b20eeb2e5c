"""The document itself: routes, entries and schemas put together as OpenAPI 3.1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import msgspec

import dmtwisted
from web.answers import Error
from web.cloud import PATH as CLOUD
from web.gate import METRICS, Rule, rule_of
from web.openapi.paths import Entry
from web.openapi.recorder import Schema, ref
from web.openapi.routes import Route
from web.openapi.schemas import components
from web.openapi.tasks import of_path
from web.openapi.words import INTRO, TAGS

Document = dict[str, Any]

STATUSES = {
    200: "Done.",
    201: "Created.",
    202: "Started; it goes on in the background.",
    204: "Done; there is no body.",
    302: "Redirect: see `Location`.",
    303: "Done; the next page is in `Location`.",
    304: "Not changed since the caller loaded it.",
    400: "The body is not JSON, or too long; or the header `Host` is no name.",
    401: "Wrong login; or a valid `x-api-key` is required, or the one-time code until there is a login.",
    403: "The role, the device, the address of the caller or the origin of the page is not allowed.",
    404: "Not found.",
    405: "Wrong method: see `Allow`.",
    409: "It cannot be done now: `res` has the reason; 2100 is other work under way (1105 is for tasks alone).",
    413: "The body is too long.",
    415: "Wrong media type.",
    421: "The service does not know the name in the header `Host`; the text says how to allow it.",
    422: "A member does not fit: `errors` names it.",
    429: "Too many attempts: see `Retry-After`.",
    500: "Internal error of the service.",
    503: "Not available now: the store does not answer, or there are too many listeners (2100).",
}
"""The meaning of each status."""

JSON = "application/json"
BINARY: Schema = {"type": "string", "format": "binary"}


def make_document(routes: Iterable[Route]) -> Document:
    """The document of a service with these routes; a route without an entry is left out."""
    known = [(route, route.entry) for route in routes if route.entry is not None]
    paths: dict[str, dict[str, Any]] = {}
    for route, entry in known:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, entry)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dmtwisted",
            "version": dmtwisted.__version__,
            "description": INTRO,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components(
                _structs(shape for _, entry in known for shape in entry.answers.values()),
                _structs(entry.body for _, entry in known),
            ),
            "securitySchemes": {
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "DMUIToken",
                    "description": "Set by POST /login; expires after 15 minutes without requests.",
                },
                "key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": "Created by POST /dm/api/v3/api-keys or on the settings page.",
                },
                "token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "The `cloud_token` of a register, for POST /api/v3/fiscal/execute alone.",
                },
            },
        },
    }


def executed() -> dict[str, tuple[Any, Any]]:
    """Request and answer of every example."""
    examples = json.loads((files("web.openapi") / "examples.json").read_text("utf-8"))
    return {key: (request, answer) for key, request, answer in examples}


def _structs(shapes: Iterable[Any]) -> list[type[msgspec.Struct]]:
    """Every struct among ``shapes``."""
    each = (one for shape in shapes for one in (shape if isinstance(shape, tuple) else (shape,)))
    return list(dict.fromkeys(one for one in each if isinstance(one, type)))


def _operation(route: Route, entry: Entry) -> dict[str, Any]:
    words = route.text or entry.text
    summary = words.split(". ")[0].split("; ")[0].rstrip(".")
    operation: dict[str, Any] = {
        "operationId": _id_of(route),
        "tags": [entry.tag],
        "summary": summary,
        "description": words,
        "parameters": [*_path_parameters(route), *_query_parameters(entry)],
        "responses": {str(status): _response(route, status, shape) for status, shape in _answers(route, entry)},
        "security": _security(route),
    }
    if entry.body is not None:
        operation["requestBody"] = _body(route, entry)
    if not operation["parameters"]:
        del operation["parameters"]
    return operation


def _id_of(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").replace(".", "_").replace("-", "_").split("/")
    # Some pages have two addresses, with a slash at the end and without.
    end = ["index"] if route.path.endswith("/") else []
    return "_".join([route.method.lower(), *filter(None, words), *end])


def _path_parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name in route.parts:
        schema: Schema = {"type": "integer", "minimum": 0} if name in route.numbers else {"type": "string"}
        text = _PARTS.get(name, name)
        yield {"name": name, "in": "path", "required": True, "description": text, "schema": schema}


_PARTS = {
    "dev_id": "Id of the device: see GET /dm/api/v3/devices.",
    "n": "Number of the operation or job.",
    "id": "Id of the key or the person.",
    "number": "Local number of the document.",
    "name": "Name of the file.",
}


def _query_parameters(entry: Entry) -> Iterator[dict[str, Any]]:
    for query in entry.query:
        yield {
            "name": query.name,
            "in": "query",
            "required": query.required,
            "description": query.text,
            "schema": dict(query.schema),
        }


def _body(route: Route, entry: Entry) -> dict[str, Any]:
    schema = ref(entry.body if isinstance(entry.body, str) else entry.body.__name__)
    content: dict[str, Any] = {}
    for media in entry.media:
        content[media] = {"schema": schema}
        if media == "multipart/form-data":
            content[media] = {"schema": _FILE_FORM}
        elif media == JSON and entry.example is not None:
            content[media]["example"] = entry.example
    if entry.body == "AnyTask":
        content[JSON]["examples"] = _examples(route, 0)
    return {"required": True, "content": content}


def _examples(route: Route, which: int) -> dict[str, Any]:
    """The requests (0) or answers (1) of a path's examples."""
    done = executed()
    return {task.key: {"summary": task.title, "value": done[task.key][which]} for task in of_path(route.path)}


_FILE_FORM: Schema = {
    "type": "object",
    "properties": {"file": BINARY, "password": {"type": "string"}, "certificate": BINARY, "key": BINARY},
    "required": ["file"],
}


def _answers(route: Route, entry: Entry) -> Iterator[tuple[int, Any]]:
    """The answers of the entry, and those that every path of its kind can give."""
    rule = rule_of(route.path.encode())
    reads = route.method == "GET"
    common: dict[int, Any] = {400: Error, 405: Error, 403: Error, 421: Error}
    if rule is Rule.TASK or route.path.encode() == METRICS:
        common |= {401: Error}
    elif rule is Rule.API:
        common |= {401: Error, 302: "", 404: Error, 429: Error, 500: Error, 503: Error}
        if entry.query or entry.body is not None:
            common |= {422: Error}
        if not reads:
            common |= {409: Error}
    elif rule is Rule.PAGE and entry.tag == "pages":
        common |= {
            302: "",
            403: (Error, "text/html"),
            404: (Error, "text/html"),
            405: (Error, "text/html"),
            503: "text/html",
        }
    elif rule is Rule.PAGE:
        common |= {302: ""}
    yield from sorted({**common, **entry.answers}.items())


def _response(route: Route, status: int, shape: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"description": STATUSES[status]}
    content: dict[str, Any] = {}
    ways = []
    for each in shape if isinstance(shape, tuple) else (shape,):
        if isinstance(each, str) and "/" in each:
            content[each] = {"schema": {"type": "string"} if each.startswith("text/") else BINARY}
        elif each:
            ways.append(ref(each if isinstance(each, str) else each.__name__))
    if ways:
        content[JSON] = {"schema": ways[0] if len(ways) == 1 else {"anyOf": ways}}
    if content:
        response["content"] = content
    if status in (302, 303):
        response["headers"] = {"Location": {"description": "The next address.", "schema": {"type": "string"}}}
    if status == 200 and shape == "TaskAnswer":
        response["headers"] = {
            "X-Request-Id": {"description": "The name of the request in the log.", "schema": {"type": "string"}}
        }
        content[JSON]["examples"] = _examples(route, 1)
    return response


def _security(route: Route) -> list[Mapping[str, list[str]]]:
    """What a caller has to send: nothing while the login is switched off."""
    rule = rule_of(route.path.encode())
    if route.path.encode() == CLOUD:
        return [{"token": []}]
    if rule in (Rule.API, Rule.TASK):
        return [{}, {"session": []}, {"key": []}]
    return [{}, {"session": []}] if rule is Rule.PAGE else [{}]
