"""The document of the interface and the service: each says of the other what is true."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import __version__
from tests.contract import Contract, contract, judged
from tests.example_day import (
    COLLECTION,
    EXAMPLES,
    ExampleCase,
    as_text,
    at,
    collection_text,
    every_route,
    put,
    without,
)
from tests.shop import Shop
from tests.specification import promises
from tests.web_case import WebCase
from web.openapi.document import executed
from web.openapi.paths import ENTRIES
from web.openapi.routes import Route
from web.openapi.schemas import request_name
from web.openapi.tasks import ALL, FISCAL, PAY, Task
from web.openapi.words import MEMBERS, TAGS
from web.site import Door

HOME = Path(__file__).parent.parent
OPENAPI = "/dm/api/v3/openapi.json"


def answer_name(task: Task) -> str:
    """The schema of the answer to a task."""
    return "Refusal" if task.res else task.info.removesuffix("Info") + "Answer"


class RouteTests(WebCase):
    """Which paths there are."""

    def routes(self) -> list[Route]:
        """Every route that a service can have."""
        return every_route(self.door)

    def test_every_route_has_an_entry(self) -> None:
        """A route that the document does not know fails here: it wants a line in `web.openapi.paths`."""
        self.assertEqual([route.key for route in self.routes() if route.entry is None], [])

    @promises("9.1")
    def test_version(self) -> None:
        """The document has the version of the application, which changes with the interface."""
        self.assertEqual(self.request("GET", OPENAPI).json["info"]["version"], __version__)

    def test_every_entry_has_a_route(self) -> None:
        """The document names no path that the service has not."""
        self.assertEqual(sorted(set(ENTRIES) - {route.key for route in self.routes()}), [])

    def test_every_route_says_what_it_does(self) -> None:
        """Each path has a description and a group."""
        for route in self.routes():
            assert route.entry is not None
            self.assertTrue(route.text or route.entry.text, route.key)
            self.assertIn(route.entry.tag, TAGS)

    def test_unknown_route_is_found(self) -> None:
        """A path that is only known to the door is found, whatever answers it."""
        self.door.exact[b"/dm/new"] = self.door.resource
        self.assertEqual([route.key for route in self.routes() if route.entry is None], ["GET /dm/new"])


class DocumentTests(WebCase):
    """What is served."""

    def setUp(self) -> None:
        """The document as the service answers it."""
        super().setUp()
        answer = self.request("GET", OPENAPI)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        self.document: Any = json.loads(answer.body)

    def test_every_path_answers(self) -> None:
        """Each path without a part to fill in answers its GET as the document says."""
        held = Contract(self.document)
        for path, operations in self.document["paths"].items():
            if "get" in operations and "{" not in path and not path.endswith("/events"):
                answer = self.request("GET", path)
                told = held.check("GET", path, answer.status, answer.header("content-type"), answer.body)
                self.assertEqual(told, "", path)

    def test_references(self) -> None:
        """Each schema that is referred to is there, each that is there is one, and none is there for nothing."""
        schemas = self.document["components"]["schemas"]
        named = set(references(self.document))
        self.assertEqual(named - set(schemas), set())
        self.assertEqual(set(schemas) - named, set())

    def test_valid(self) -> None:
        """It is a document of OpenAPI 3.1, by the rules of its makers."""
        try:
            from openapi_spec_validator import OpenAPIV31SpecValidator
        except ImportError as missing:
            raise SkipTest("openapi-spec-validator is not installed") from missing
        OpenAPIV31SpecValidator(self.document).validate()

    def test_page(self) -> None:
        """`/dm/api` is a page of ours that reads the document; it loads nothing from elsewhere."""
        answer = self.request("GET", "/dm/api")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"))
        self.assertRegex(answer.body, rb'"/dm/static/[0-9a-f]+/api.js"')
        self.assertNotIn(b"//", answer.body.replace(b"http://localhost:3939", b""))

    def test_page_in_ukrainian(self) -> None:
        """The page has each path for programs, each task and each member of a request in Ukrainian, too."""
        texts = json.loads((files("web.openapi") / "uk.json").read_text("utf-8"))
        wanted = {text for members in MEMBERS.values() for text in members.values()} | {task.title for task in ALL}
        for ways in self.document["paths"].values():
            wanted |= {way["description"] for way in ways.values() if way["tags"] != ["pages"]}
        for tag in self.document["tags"]:
            wanted |= {tag["name"], tag["description"]} if tag["name"] != "pages" else set()
        self.assertEqual((wanted - set(texts), set(texts) - wanted), (set(), set()), "web/openapi/uk.json")
        self.assertIn(texts[TAGS["tasks"]].encode(), self.request("GET", "/dm/api?lang=uk").body)
        self.assertNotIn(texts[TAGS["tasks"]].encode(), self.request("GET", "/dm/api?lang=en").body)

    def test_collection(self) -> None:
        """The Postman collection of the documentation is the one that is made today; `make docs` writes it."""
        self.assertEqual(collection_text(self.door), COLLECTION.read_text("utf-8"))
        served = self.request("GET", "/dm/api/v3/postman.json")
        names = [folder["name"] for folder in served.json["item"]]
        self.assertEqual(names, [tag for tag in TAGS if tag in names])

    def test_operations_have_names(self) -> None:
        """Each operation has a name of its own, by which programs are made from the document."""
        names = [each["operationId"] for path in self.document["paths"].values() for each in path.values()]
        self.assertEqual(len(names), len(set(names)))

    def test_login_guards_it(self) -> None:
        """Where a login is switched on, the document is behind it as the interface is."""
        login = {
            "usr_uiauth": True,
            "usr_login": "shop",
            "usr_pass": "longer than that",
            "usr_confpass": "longer than that",
        }
        self.request("POST", "/dm/main/api/v1/settings", login)
        answer = self.request("GET", OPENAPI)
        self.assertEqual((answer.status, answer.header("location")), (302, "http://localhost:3939/login"))

    def test_training_paths_only_in_training(self) -> None:
        """What a service has not is not in its document."""
        self.assertTrue("/dm/api/v3/training/clock" in self.document["paths"])
        self.shop = Shop(self, training=False)
        self.door = Door(self.shop.core)
        document = json.loads(self.request("GET", OPENAPI).body)
        self.assertFalse("/dm/api/v3/training/clock" in document["paths"])
        self.assertFalse("ClockState" in document["components"]["schemas"])


def references(value: Any) -> list[str]:
    """Every schema that ``value`` refers to."""
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if isinstance(value.get("$ref"), str) else []
        return own + [name for member in value.values() for name in references(member)]
    if isinstance(value, list):
        return [name for member in value for name in references(member)]
    return []


class IdleTests(SynchronousTestCase):
    """A service before the first request for the document."""

    def test_not_loaded(self) -> None:
        """The document and what makes it are not loaded with the pages."""
        code = "import sys, web.tree; print([name for name in sys.modules if name.startswith('web.openapi.')])"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME)
        self.assertEqual(told.stdout.strip(), "['web.openapi.resource']")


class DayTests(ExampleCase):
    """Every example, executed."""

    def test_day(self) -> None:
        """Each example fits its schema, is answered as it says, and the answer fits the schema of its kind."""
        held = contract()
        schemas = held.document["components"]["schemas"]
        for task, request, answer in self.day():
            asked, told = _plain(request), _plain(answer)
            self.assertEqual(held.wrong(schemas[request_name(task)], asked), [], task.key)
            self.assertEqual(held.wrong(schemas["AnyTask"], asked), [], task.key)
            self.assertEqual(answer["res"], task.res, f"{task.key}: {answer['errortxt']}")
            self.assertEqual(held.wrong(schemas[answer_name(task)], told), [], task.key)
            self.assertEqual(held.wrong(schemas["TaskAnswer"], told), [], task.key)

    def test_written_down(self) -> None:
        """The examples of the document are what is answered today; `make docs` writes them."""
        day = [[task.key, request, answer] for task, request, answer in self.day()]
        self.assertEqual(json.loads(as_text(day)), json.loads(EXAMPLES.read_text("utf-8")))

    def test_what_is_needed(self) -> None:
        """Without a member that the document calls required, a task is refused."""
        told: dict[str, Any] = {}
        for task in ALL:
            for count, path in enumerate(task.needs):
                body = self.filled(task, told)
                if "tag" in body and path != "tag":
                    body["tag"] = f"less-{task.key}-{count}"
                answer = self.request_in_time("POST", task.path, without(body, path)).json
                self.assertGreater(answer["res"], 0, f"{task.key} without {path}")
            told[task.key] = self.run_task(task, told)

    def test_nothing_else_is_needed(self) -> None:
        """With the required members alone a task is not refused for the lack of one (2000, 1098, 1091)."""
        told: dict[str, Any] = {}
        for task in ALL:
            body = self.filled(task, told)
            for path in task.may:
                try:
                    body = without(body, path)
                except (KeyError, TypeError):
                    continue
            if task.tagged:
                body["tag"] = f"bare-{task.key}"
            answer = self.request_in_time("POST", task.path, body).json
            self.assertNotIn(answer["res"], (2000, 1098, 1091), f"{task.key}: {answer['errortxt']}")
            told[task.key] = (body, answer)

    def filled(self, task: Any, told: dict[str, Any]) -> Any:
        """The request of an example, filled in from earlier answers."""
        body = copy.deepcopy(task.body)
        for path, source in task.fills.items():
            key, _, where = source.partition(":")
            put(body, path, at(told[key][1], where))
        return body


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=float))


class ManagementTests(ExampleCase):
    """Every other path, with the example that the document has for it."""

    def test_examples(self) -> None:
        """Each example of a body is taken, and answered as the document says."""
        held, ids = contract(), self.ids()
        self.door.tree.finder.machine.addresses = list
        for path, operations in held.document["paths"].items():
            for method, operation in operations.items():
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                if "example" not in content or path in ("/login",):
                    continue
                target = path.replace("{dev_id}", ids["test"]).replace("{n}", "1")
                if path.endswith("prro/sign"):
                    target += f"?dev_id={ids['test']}"
                answer = self.request_in_time(method.upper(), target, content["example"])
                kind = answer.header("content-type")
                self.assertEqual(held.check(method.upper(), target, answer.status, kind, answer.body), "")
                self.assertNotIn(answer.status, (400, 422), f"{method} {path}: {answer.body!r}")
                self.assertEqual(held.wrong(content["schema"], content["example"]), [], path)


class WordTests(SynchronousTestCase):
    """Words of the document."""

    def test_members(self) -> None:
        """Each member that a reader asks for has words, and no other one has."""
        schemas = contract().document["components"]["schemas"]
        for name, words in MEMBERS.items():
            self.assertEqual(set(words), set(schemas[name]["properties"]), name)

    def test_every_task(self) -> None:
        """Each task of the tables of registers and terminals has an example."""
        from dmtwisted.terminals.interface import TASKS

        self.assertEqual({task.task for task in PAY}, set(TASKS))
        self.assertEqual(
            {task.task for task in FISCAL if task.task is not None}, {*range(6), *range(10, 19), 20, 21, 22, 23}
        )

    def test_every_code(self) -> None:
        """Each result code of the catalogue has its text and what to do next."""
        from dmtwisted.results import Res

        lines = contract().document["components"]["schemas"]["ResultCode"]["oneOf"]
        self.assertEqual({line["const"] for line in lines}, {res.code for res in Res})
        for line in lines:
            self.assertTrue(line["title"] and line["description"] and line["x-uk"]["caller"])

    def test_examples_are_those_of_the_tasks(self) -> None:
        """The file of executed examples has each task of the table once."""
        self.assertEqual(list(executed()), [task.key for task in ALL])


class GuardTests(SynchronousTestCase):
    """The guard that holds the suite's answers to the document."""

    def setUp(self) -> None:
        """The document, and a judge of schemas."""
        if not judged():
            raise SkipTest("jsonschema-rs is not installed")
        self.held = contract()

    def wrong(self, status: int, body: object, kind: str = "application/json") -> str:
        """What is said of an answer to the list of drivers."""
        return self.held.check("GET", "/dm/api/v3/drivers", status, kind, json.dumps(body).encode())

    def test_right(self) -> None:
        """An answer as the document says is let pass."""
        self.assertEqual(self.wrong(200, {"drivers": []}), "")

    def test_status(self) -> None:
        """A status that the document does not name is reported."""
        self.assertIn("206", self.wrong(206, {"drivers": []}))

    def test_media_type(self) -> None:
        """So is another media type."""
        self.assertIn("text/plain", self.wrong(200, {"drivers": []}, "text/plain"))

    def test_member(self) -> None:
        """So are a member too many and one too few."""
        self.assertNotEqual(self.wrong(200, {"drivers": [], "more": 1}), "")
        self.assertNotEqual(self.wrong(200, {}), "")
