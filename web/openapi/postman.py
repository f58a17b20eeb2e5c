"""A Postman collection (format 2.1) made from the document; every example is a request."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

_SPACE = uuid.UUID("6f2c3d5e-2f2b-5c55-9e0a-0d6d1c1b7a10")


def make_collection(document: Document) -> Document:
    """The requests of ``document`` in folders by their tags; task endpoints once for each example."""
    folders: dict[str, list[Any]] = {tag["name"]: [] for tag in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            folders[operation["tags"][0]] += _items(path, method.upper(), operation)
    return {
        "info": {
            "_postman_id": str(uuid.uuid5(_SPACE, "dmtwisted")),
            "name": "dmtwisted",
            "description": document["info"]["description"],
            "schema": SCHEMA,
        },
        "auth": {
            "type": "apikey",
            "apikey": [
                {"key": "key", "value": "x-api-key", "type": "string"},
                {"key": "value", "value": "{{apiKey}}", "type": "string"},
                {"key": "in", "value": "header", "type": "string"},
            ],
        },
        "variable": [
            {"key": "baseUrl", "value": "http://localhost:3939"},
            {"key": "apiKey", "value": ""},
            {"key": "dev_id", "value": ""},
            {"key": "n", "value": "1"},
            {"key": "id", "value": ""},
            {"key": "number", "value": "1"},
            {"key": "name", "value": "pages.css"},
        ],
        "item": [
            {"name": tag["name"], "description": tag["description"], "item": folders[tag["name"]]}
            for tag in document["tags"]
            if folders[tag["name"]]
        ],
    }


def _items(path: str, method: str, operation: Document) -> Iterator[Document]:
    json_body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = json_body.get("examples")
    if not examples:
        yield _item(f"{method} {path}", path, method, operation, json_body.get("example"))
        return
    for example in examples.values():
        yield _item(example["summary"], path, method, operation, example["value"])


def _item(name: str, path: str, method: str, operation: Document, body: Any) -> Document:
    parts = [f"{{{part}}}" if part.startswith("{") else part for part in path.strip("/").split("/")]
    query = [
        {
            "key": parameter["name"],
            "value": "{{dev_id}}" if parameter["name"] == "dev_id" else "",
            "description": parameter["description"],
            "disabled": not parameter["required"],
        }
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]
    asked = "".join(f"?{each['key']}={each['value']}" for each in query if not each["disabled"])
    url: Document = {"raw": "{{baseUrl}}/" + "/".join(parts) + asked, "host": ["{{baseUrl}}"], "path": parts}
    request: Document = {"method": method, "description": operation["description"], "header": [], "url": url}
    if query:
        url["query"] = query
    if body is not None:
        request["header"] = [{"key": "Content-Type", "value": "application/json"}]
        text = json.dumps(body, ensure_ascii=False, indent=2)
        request["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
    return {"name": name, "request": request, "response": []}
