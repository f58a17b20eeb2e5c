"""The journal as lists, and the paper of a training printer as text and picture."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from urllib.parse import quote

from PIL import Image

from dmtwisted.store.values import State
from protocols.simulators.paper import render_png
from tests.shop import hurry, sale
from tests.test_printing_service import ENGLISH, JOBS, PrintCase, lines
from tests.web_case import DEVICES, HttpAnswer, fiscal
from web.filters import LARGEST_PAGE, PAGE_SIZE

OPERATIONS = "/dm/api/v3/operations"


class JournalCase(PrintCase):
    """Tests of the lists."""

    def list(self, path: str, **filters: object) -> Any:
        """The body of a list with ``filters``; ``from_`` means ``from``."""
        answer = self.ask_list(path, **filters)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"), answer.body)
        return answer.json

    def ask_list(self, path: str, **filters: object) -> HttpAnswer:
        """The answer to the wish for a list."""
        query = "&".join(f"{name.rstrip('_')}={quote(str(value))}" for name, value in filters.items())
        return self.request("GET", f"{path}?{query}" if query else path)

    def assertWrong(self, path: str, member: str, **filters: object) -> None:
        """These ``filters`` are answered with 422, and ``member`` is named."""
        answer = self.ask_list(path, **filters)
        self.assertEqual((answer.status, answer.json["res"]), (422, 2000), answer.body)
        self.assertEqual([error["path"] for error in answer.json["errors"]], [member])


class ListTests(JournalCase):
    """``/jobs`` and ``/operations``."""

    def test_empty(self) -> None:
        """A fresh service has no jobs."""
        self.assertEqual(self.list(JOBS), {"paging": {"page": 1, "page_size": PAGE_SIZE, "total": 0}, "jobs": []})

    def test_job(self) -> None:
        """A job has its number, printer, key, time, state, fate and document."""
        n = self.print(lines(1))["info"]["job"]
        [job] = self.list(JOBS)["jobs"]
        self.assertEqual(len(job.pop("key")), 36)
        self.assertEqual(
            job,
            {
                "id": n,
                "device": "prn",
                "task": 0,
                "state": "done",
                "dt": "20260921090000000",
                "res": 0,
                "fate": "printed",
                "reason": "",
                "paper": "",
                "replaces": None,
            },
        )

    def test_language(self) -> None:
        """The reason is in the caller's language."""
        self.rule("refuse", code="overheat")
        self.print(lines(1))
        for headers, words in (((), "перегрілася головка друку"), (ENGLISH, "the print head is too hot")):
            self.assertEqual(self.request("GET", JOBS, headers=headers).json["jobs"][0]["reason"], words)

    def test_operations(self) -> None:
        """Operations of every kind are in one list, newest first, each with the answer that was given."""
        self.execute(fiscal(0), "/dm/execute")
        sold = self.execute(fiscal(1, "t", receipt=sale()), "/dm/execute-prn")
        rows = self.list(OPERATIONS)["operations"]
        self.assertEqual([(row["kind"], row["device"]) for row in rows[:2]], [("doc", "prn"), ("fiscal", "test")])
        self.assertEqual((rows[1]["key"], rows[1]["task"], rows[1]["state"], rows[1]["res"]), ("t", 1, "done", 0))
        self.assertEqual(rows[1]["answer"]["info"]["doccode"], sold["info"]["doccode"])
        self.assertEqual(len({row["id"] for row in rows}), len(rows))
        self.assertFalse([row for row in rows if "advice" in row])

    def test_paging(self) -> None:
        """Pages are as long as asked for, newest first, and behind the last one is nothing."""
        for _ in range(5):
            self.print({"opendrawer": 1})
        ids = [job["id"] for job in self.list(JOBS)["jobs"]]
        self.assertEqual(ids, sorted(ids, reverse=True))
        found = []
        for page in (1, 2, 3, 4):
            body = self.list(JOBS, page=page, page_size=2)
            self.assertEqual(body["paging"], {"page": page, "page_size": 2, "total": 5})
            found.append([job["id"] for job in body["jobs"]])
        self.assertEqual(found, [ids[:2], ids[2:4], ids[4:], []])
        self.assertEqual(self.list(JOBS, page_size=LARGEST_PAGE)["paging"]["page_size"], LARGEST_PAGE)

    def test_filters(self) -> None:
        """Device, key, kind and state narrow the list, alone and together."""
        dev_id = self.device("Кухня")
        self.execute(fiscal(0), "/dm/execute")
        self.execute(fiscal(1, "t", receipt=sale()), "/dm/execute-prn")
        self.print(lines(1), "Кухня")
        self.rule("refuse", code="cover")
        self.print(lines(1))
        cases: list[tuple[dict[str, object], int]] = [
            ({"device": "prn"}, 2),
            ({"device": "Кухня"}, 1),
            ({"device": dev_id}, 1),
            ({"state": "refused"}, 1),
            ({"state": "done"}, 2),
            ({"state": "unfinished"}, 0),
            ({"kind": "doc"}, 3),
            ({"device": "prn", "state": "done"}, 1),
            ({"device": "Кухня", "state": "refused"}, 0),
            ({"key": "4000000001/2"}, 1),
            ({"key": "4000000001/"}, 0),
            ({"key": ""}, 3),
        ]
        for filters, count in cases:
            body = self.list(JOBS, **filters)
            self.assertEqual((body["paging"]["total"], len(body["jobs"])), (count, count), filters)
        self.assertEqual(self.list(OPERATIONS, key="t", kind="fiscal")["paging"]["total"], 1)
        self.assertEqual(self.list(OPERATIONS, kind="pay")["paging"]["total"], 0)

    def test_times(self) -> None:
        """`from` and `to` are beginnings of a time in Kyiv, both ends included."""
        self.print(lines(1))
        self.shop.clock.advance(3600)
        self.print(lines(1))
        cases = [("20260921", "20260921", 2), ("2026092109", "2026092109", 1), ("2026092110", "", 1)]
        cases += [("", "20260921095959", 1), ("2027", "", 0), ("", "2025", 0), ("20260921090000", "2026", 2)]
        for start, end, count in cases:
            self.assertEqual(self.list(JOBS, from_=start, to=end)["paging"]["total"], count, (start, end))

    def test_wrong(self) -> None:
        """An invalid or unknown filter is 422 with its name: never a list that ignores it."""
        cases: list[tuple[str, dict[str, object]]] = [
            ("device", {"device": "nobody"}),
            ("kind", {"kind": "hat"}),
            ("state", {"state": "open"}),
            ("from", {"from_": "yesterday"}),
            ("to", {"to": "2026-09-21"}),
            ("to", {"to": "20260231"}),
            ("page", {"page": 0}),
            ("page", {"page": "1.5"}),
            ("page", {"page": "٣"}),
            ("page", {"page": 10**30}),
            ("page_size", {"page_size": LARGEST_PAGE + 1}),
            ("page_size", {"page_size": -1}),
            ("stat", {"stat": "unknown"}),
        ]
        for path in (JOBS, OPERATIONS):
            for member, filters in cases:
                self.assertWrong(path, member, **filters)
        self.assertWrong(JOBS, "kind", kind="fiscal")
        known = self.ask_list(OPERATIONS, state="open").json["errors"][0]["text"]
        for state in ("unfinished", *State):
            self.assertIn(state, known)

    def test_unfinished(self) -> None:
        """Operations with an unknown outcome are listed with advice for a person, in both languages."""
        self.execute(fiscal(0), "/dm/execute")
        hurry(self)
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        self.execute(fiscal(1, "lost", receipt=sale()), "/dm/execute")
        self.rule("lost_after")
        self.print(lines(1))
        self.print(lines(1))
        rows = self.list(OPERATIONS, state="unfinished")["operations"]
        self.assertEqual([(row["kind"], row["state"]) for row in rows], [("doc", "unknown"), ("fiscal", "unknown")])
        self.assertIn("надрукуйте ще раз", rows[0]["advice"])
        self.assertIn("тим самим tag", rows[1]["advice"])
        english = self.request("GET", f"{JOBS}?state=unfinished", headers=ENGLISH).json["jobs"]
        self.assertEqual([job["advice"] for job in english], [english[0]["advice"]])
        self.assertIn("print it again", english[0]["advice"])

    def test_every_kind_has_advice(self) -> None:
        """Whatever kind of operation is open, there is advice."""
        device_n = self.shop.core.devices.by_name("test").row.n
        database = self.shop.store._db
        assert database is not None
        for kind in ("fiscal", "untagged", "pay", "doc", "pkg"):
            database.execute(
                'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, request) '
                "VALUES (?, ?, 1, ?, x'', 'unknown', 0, ?)",
                (device_n, kind, kind, json.dumps({"form": []}).encode()),
            )
        rows = self.list(OPERATIONS, state="unfinished")["operations"]
        self.assertEqual([len(row["advice"]) > 20 for row in rows], [True] * 5)

    def test_store(self) -> None:
        """A store that fails: 503."""
        self.shop.store.broken = True
        for path in (JOBS, OPERATIONS):
            self.assertEqual(self.ask_list(path).status, 503)

    def test_methods(self) -> None:
        """Lists are read; another method is 405, another path 404."""
        self.assertEqual(self.request("POST", JOBS, {}).status, 405)
        self.assertEqual(self.request("GET", f"{JOBS}/1/reprint").status, 405)
        self.assertEqual(self.request("POST", f"{JOBS}/x/reprint").status, 404)

    def test_answer_of_a_reprint(self) -> None:
        """A reprint answers with the new job, in the shape of the list."""
        n = self.print(lines(1))["info"]["job"]
        answer = self.reprint(n)
        self.assertEqual(answer.json, self.list(JOBS)["jobs"][0])
        self.assertEqual((answer.json["replaces"], answer.json["key"]), (n, self.list(JOBS)["jobs"][1]["key"]))


class StripTests(PrintCase):
    """The paper of a training printer."""

    def roll(self, name: str = "prn", query: str = "") -> HttpAnswer:
        """The answer to the wish to see the paper."""
        return self.request("GET", f"{DEVICES}/{self.shop.core.devices.by_name(name).row.dev_id}/strip{query}")

    def test_text(self) -> None:
        """As text it is the printed paper in UTF-8, with the format named or not; it is not cached."""
        self.print(lines(2, "Їжак"))
        for query in ("", "?format=text"):
            answer = self.roll(query=query)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.header("content-type"), "text/plain; charset=utf-8")
            self.assertEqual(answer.header("cache-control"), "no-store")
            self.assertTrue(answer.body.decode().startswith("Їжак 1\nЇжак 2\n"))

    def test_png_is_drawn_aside(self) -> None:
        """Metres of paper are drawn apart from the tills' requests, which do not wait for that."""
        drawn: list[Any] = []
        clock = self.shop.core.clock
        apart = clock.apart

        async def watched(work: Any, *arguments: Any) -> Any:
            drawn.append(work)
            return await apart(work, *arguments)

        self.patch(clock, "apart", watched)
        self.print(lines(2))
        self.assertEqual((self.roll(query="?format=png").status, drawn), (200, [render_png]))

    def test_png(self) -> None:
        """As a picture it is as wide as the paper, and there is ink on it."""
        self.print(lines(2))
        answer = self.roll(query="?format=png")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "image/png"))
        picture = Image.open(BytesIO(answer.body))
        self.assertEqual(picture.width, 576)
        self.assertGreater(picture.height, 60)
        self.assertEqual(picture.convert("L").getextrema(), (0, 255))

    def test_nothing_printed(self) -> None:
        """Before anything was printed both are there, and empty."""
        self.assertEqual(self.roll().body, b"")
        self.assertEqual(Image.open(BytesIO(self.roll(query="?format=png").body)).width, 576)

    def test_wrong(self) -> None:
        """Another format is 422; what has no paper is 404."""
        answer = self.roll(query="?format=pdf")
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "format"))
        self.assertEqual(self.roll("test").status, 404)
        self.device("real", "escpos", host="192.0.2.1")
        self.assertEqual(self.roll("real").status, 404)
        self.assertEqual(self.request("GET", f"{DEVICES}/nobody/strip").status, 404)
