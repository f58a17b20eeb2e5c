"""The day of the OpenAPI document: runs every example of `web.openapi` on a training service in memory.

``python -m tests.example_day`` writes the answers to ``web/openapi/examples.json``, from which the document takes its
examples, and the Postman collection to ``docs/``.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import TestResult

from tests.shop import Shop
from tests.web_case import DEVICES, HttpAnswer, WebCase
from web.openapi.document import make_document
from web.openapi.postman import make_collection
from web.openapi.routes import Route, routes_of
from web.openapi.tasks import ALL, Task
from web.site import Door

EXAMPLES = Path(__file__).parent.parent / "web" / "openapi" / "examples.json"

COLLECTION = Path(__file__).parent.parent / "docs" / "dmtwisted.postman_collection.json"


def at(value: Any, path: str) -> Any:
    """The member of ``value`` at a path such as ``info.printinfo.pays.0.rrn``."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def put(value: Any, path: str, member: Any) -> None:
    """Replace the member at ``path``."""
    head, _, last = path.rpartition(".")
    (at(value, head) if head else value)[last] = member


def without(value: Any, path: str) -> Any:
    """``value`` without the member at ``path``."""
    less = copy.deepcopy(value)
    head, _, last = path.rpartition(".")
    del (at(less, head) if head else less)[last]
    return less


class ExampleCase(WebCase):
    """A training service with all devices of a new one: `test`, `prn`, `pos`."""

    def setUp(self) -> None:
        """A new service whose random keys are the same on each day, so that its answers are too."""
        numbers = iter(range(1, 1 << 30))
        for module in ("dmtwisted.devices.devices", "dmtwisted.printing.service", "dmtwisted.dispatch"):
            self.patch(__import__(module, fromlist=["uuid4"]), "uuid4", lambda: uuid.UUID(int=next(numbers)))
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)

    def request_in_time(self, method: str, path: str, body: object = None, headers: Any = ()) -> HttpAnswer:
        """The answer to a request that may take time; the clock advances until it is there."""
        connection = self.connect()
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        named = [("Content-Type", "application/json"), *headers] if raw else list(headers)
        connection.ask(method, path, raw, named)
        for _ in range(2000):
            answers = connection.answers()
            if answers:
                return answers[0]
            self.shop.clock.advance(0.05)
        raise AssertionError(f"{method} {path} was not answered")

    def run_task(self, task: Task, done: dict[str, Any]) -> tuple[Any, Any]:
        """The request of an example, completed from earlier answers, and its answer."""
        body = copy.deepcopy(task.body)
        for path, source in task.fills.items():
            key, _, where = source.partition(":")
            put(body, path, at(done[key][1], where))
        answer = self.request_in_time("POST", task.path, body)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"), task.key)
        return body, answer.json

    def day(self) -> Iterator[tuple[Task, Any, Any]]:
        """Every example with its request and answer, in the order of the day."""
        done: dict[str, Any] = {}
        for task in ALL:
            done[task.key] = self.run_task(task, done)
            yield task, *done[task.key]

    def ids(self) -> dict[str, str]:
        """The ids of the devices by their names."""
        return {each["device"]: each["dev_id"] for each in self.request("GET", DEVICES).json["devices"]}


class Writing(ExampleCase):
    """Runs the day and writes the answers."""

    def test_day(self) -> None:
        """Write the examples, then the collection, which contains them."""
        day = [[task.key, request, answer] for task, request, answer in self.day()]
        EXAMPLES.write_text(as_text(day), "utf-8")
        COLLECTION.write_text(collection_text(self.door), "utf-8")


def write() -> None:
    """Write both."""
    result = TestResult()
    Writing("test_day").run(result)
    for _, trouble in [*result.failures, *result.errors]:
        raise SystemExit(trouble)


def every_route(door: Door) -> list[Route]:
    """The routes of a service."""
    return routes_of(door.tree.paths())


def collection_text(door: Door) -> str:
    """The Postman collection of all routes, as the text of its file."""
    collection = make_collection(make_document(every_route(door)))
    return json.dumps(collection, ensure_ascii=False, indent=1) + "\n"


def as_text(day: list[Any]) -> str:
    """The day as the text of its file: a value is spelled as it was answered, 2.0 stays 2.0."""
    text = json.dumps(day, ensure_ascii=False, indent=1, default=float)
    return text + "\n"


if __name__ == "__main__":
    write()
