"""The peers of the benchmark sell as the service does: the same answers to the same requests, kept in two steps."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.lab.bench import peers as bench_peers
from dmtwisted.lab.bench.figures import Share
from dmtwisted.lab.bench.peers import OURS, PEERS, Turn, missing, peers_report, rows_of, table
from dmtwisted.lab.children import BenchFailed, opening_body, scratch_folder
from dmtwisted.lab.load import Load, sale_body
from tests.peers.books import Books, Desk, SharedBooks
from tests.shop import MORNING, Shop

REGISTER = "bench-0"


def without_marks(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the number of the register, and without the name of who made it."""
    answer = copy.deepcopy(answer)
    fisid = answer["info"].get("fisid", "-")
    text = json.dumps(answer).replace(fisid, "FISID")
    bare: dict[str, Any] = json.loads(text)
    if bare["info"]:
        bare["info"]["devinfo"] = bare["info"]["printinfo"]["manuf"] = ""
    return bare


def changed(**members: Any) -> str:
    """The sale of the load with other members in its receipt."""
    body = json.loads(sale_body(REGISTER, "changed"))
    body["fiscal"]["receipt"].update(members)
    return json.dumps(body)


REFUSED = {
    "items that do not come to the sum": changed(sum=200),
    "a payment that is not enough": changed(pays=[{"type": 0, "sum": 100}]),
    "a card that pays too much": changed(pays=[{"type": 2, "sum": 200}]),
    "an unknown payment type": changed(pays=[{"type": 77, "sum": 199.5}]),
    "a payment of nothing": changed(pays=[{"type": 0, "sum": 0}]),
    "an unknown tax group": changed(sum=1, rows=[{"name": "x", "cnt": 1, "price": 1, "taxgrp": 77}]),
    "a row that does not come out": changed(sum=9, rows=[{"name": "x", "cnt": 1, "price": 1, "cost": 9}]),
    "an item without a name": changed(sum=1, rows=[{"name": " ", "cnt": 1, "price": 1}]),
    "an amount for nothing": changed(sum=5, rows=[], pays=[]),
    "an open shift opened": opening_body(REGISTER).replace("open-", "again-"),
}
"""Goods that are not sold."""


def run_apart(answer: Coroutine[Any, Any, bytes]) -> bytes:
    """What it comes to, in a thread of its own: a browser of another test leaves its loop behind in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, answer).result()


class _PeerTests:
    """What every peer has to do as the service does."""

    case: Any

    def peer(self) -> Any:
        """Answers a body as the peer would."""
        raise NotImplementedError

    def both(self, body: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The answers of the service and of the peer."""
        return self.shop.ask(body.encode()), json.loads(self.peer()(body))

    def setUp(self) -> None:
        """A service and a peer at the same moment, with one register each whose shift is open."""
        case: Any = self
        if why := missing():
            raise SkipTest(why)
        self.shop = Shop(case)
        self.shop.add(REGISTER)
        self.path = str(Path(case.mktemp()))
        self.books = self.kept(self.path)
        case.addCleanup(lambda: self.books.close())
        self.desk = Desk(self.books, lambda: MORNING)
        self.desk.register(REGISTER)
        self.opened = self.both(opening_body(REGISTER))

    def kept(self, path: str) -> Books:
        """The books of the peer."""
        return Books(path)

    def test_same_answers(self) -> None:
        """An opening and two sales are answered with the same members, numbers, amounts, taxes and times."""
        case: Any = self
        sales = [self.both(sale_body(REGISTER, tag)) for tag in ("one", "two")]
        for ours, theirs in (self.opened, *sales):
            case.assertEqual(theirs["res"], 0)
            case.assertEqual(without_marks(theirs), without_marks(ours))

    def test_change(self) -> None:
        """Cash that is too much gives the same change."""
        case: Any = self
        ours, theirs = self.both(changed(pays=[{"type": 0, "sum": 500}]))
        case.assertEqual(without_marks(theirs), without_marks(ours))
        case.assertEqual(theirs["info"]["printinfo"]["change"], 300.5)

    def test_once(self) -> None:
        """A tag that comes again gets its receipt again, and none is made."""
        case: Any = self
        first, again = (self.both(sale_body(REGISTER, "one")) for _ in range(2))
        case.assertEqual(again[1], {**first[1], "task_status": 2})
        case.assertEqual(without_marks(again[1]), without_marks(again[0]))
        case.assertEqual(self.both(sale_body(REGISTER, "two"))[1]["info"]["docno"], "3")

    def test_same_refusals(self) -> None:
        """What breaks a rule is refused with the same code, and keeps nothing."""
        case: Any = self
        for what, body in REFUSED.items():
            ours, theirs = self.both(body)
            case.assertNotEqual(ours["res"], 0, what)
            case.assertEqual((theirs["res"], theirs["info"]), (ours["res"], {}), what)
        case.assertEqual(self.both(sale_body(REGISTER, "one"))[1]["info"]["docno"], "2")

    def test_garbage(self) -> None:
        """An invalid request is refused with 2000."""
        case: Any = self
        case.assertEqual([answer["res"] for answer in self.both("{")], [2000, 2000])

    def test_goes_on(self) -> None:
        """Books that are opened again go on with the next number, the drawer and the shift."""
        case: Any = self
        self.both(sale_body(REGISTER, "one"))
        self.books.close()
        self.books = self.kept(self.path)
        self.desk = Desk(self.books, lambda: MORNING)
        answer = json.loads(self.peer()(sale_body(REGISTER, "two")))
        case.assertEqual((answer["info"]["docno"], answer["info"]["safe"]), ("3", 399.0))

    def test_full(self) -> None:
        """The file is kept as ours is: a log that is written ahead, on the disk with each commit."""
        case: Any = self
        (pragmas,) = self.books.committed(
            lambda db: (
                db.execute("PRAGMA journal_mode").fetchone(),
                db.execute("PRAGMA synchronous").fetchone(),
            )
        )
        case.assertEqual(pragmas, (("wal",), (2,)))


class FastApiTests(_PeerTests, SynchronousTestCase):
    """The peer with FastAPI."""

    def peer(self) -> Any:
        """Its application, spoken to without a line."""
        from tests.peers.with_fastapi import app_of

        app = app_of(self.books, self.desk)

        async def answer(body: str) -> bytes:
            sent: list[Any] = []

            async def receive() -> Any:
                return {"type": "http.request", "body": body.encode(), "more_body": False}

            async def send(message: Any) -> None:
                sent.append(message)

            head = [(b"content-type", b"application/json")]
            scope = {"type": "http", "method": "POST", "path": "/dm/execute", "query_string": b"", "headers": head}
            await app({**scope, "raw_path": b"/dm/execute", "http_version": "1.1"}, receive, send)
            return b"".join(message.get("body", b"") for message in sent)

        return lambda body: run_apart(answer(body))


class AiohttpTests(_PeerTests, SynchronousTestCase):
    """The peer with aiohttp."""

    def peer(self) -> Any:
        """Its application, spoken to over the loopback device."""
        from aiohttp.test_utils import TestClient, TestServer

        from tests.peers.with_aiohttp import app_of

        async def answer(body: str) -> bytes:
            async with TestClient(TestServer(app_of(self.books, self.desk))) as client:
                response = await client.post("/dm/execute", data=body.encode())
                return await response.read()

        return lambda body: run_apart(answer(body))


class SharedFastApiTests(FastApiTests):
    """The peer with FastAPI whose commits are shared."""

    def kept(self, path: str) -> Books:
        """The books of the peer."""
        return SharedBooks(path)


class SharedAiohttpTests(AiohttpTests):
    """The peer with aiohttp whose commits are shared."""

    def kept(self, path: str) -> Books:
        """The books of the peer."""
        return SharedBooks(path)


class LeanestTests(SynchronousTestCase):
    """The peer that calculates nothing."""

    def asked(self, *bodies: str) -> list[dict[str, Any]]:
        """The answers to these, in the order in which they came."""
        if why := missing():
            raise SkipTest(why)
        from aiohttp.test_utils import TestClient, TestServer

        from tests.peers.leanest import app_of

        books = Books(self.path)
        desk = Desk(books)
        desk.register(REGISTER)
        desk.register("bench-1")

        async def answers() -> bytes:
            async with TestClient(TestServer(app_of(books, lambda: MORNING))) as client:
                found = [await client.post("/dm/execute", data=body.encode()) for body in bodies]
                return b"[%b]" % b",".join([await one.read() for one in found])

        try:
            answered: list[dict[str, Any]] = json.loads(run_apart(answers()))
            return answered
        finally:
            books.close()

    def setUp(self) -> None:
        """The place of its books."""
        self.path = str(Path(self.mktemp()))

    def test_members(self) -> None:
        """A sale is answered with all members of an answer, as long as ours, and the sums that were asked for."""
        shop = Shop(self)
        shop.add(REGISTER)
        bodies = (opening_body(REGISTER), sale_body(REGISTER, 'one "%s"'))
        (_, ours), (_, theirs) = ([shop.ask(body.encode()) for body in bodies], self.asked(*bodies))
        self.assertEqual(theirs["tag"], ours["tag"])
        self.assertEqual(members(theirs), members(ours))
        self.assertEqual(theirs["info"]["printinfo"]["sum_topay"], 199.5)
        self.assertEqual([good["cost"] for good in theirs["info"]["printinfo"]["goods"]], [63.0, 132.3, 4.2])
        sizes = [len(json.dumps(one, ensure_ascii=False)) for one in (ours, theirs)]
        self.assertApproximates(sizes[1], sizes[0], sizes[0] * 0.1)

    def test_kept(self) -> None:
        """A tag that comes again gets its receipt again; books that are opened again go on with the next number."""
        first, again = self.asked(opening_body(REGISTER), sale_body(REGISTER, "one"), sale_body(REGISTER, "one"))[1:]
        self.assertEqual(again, {**first, "task_status": 2})
        (known, new, other) = self.asked(
            sale_body(REGISTER, "one"), sale_body(REGISTER, "two"), sale_body("bench-1", "one")
        )
        self.assertEqual([known["info"], new["info"]["docno"]], [first["info"], "3"])
        self.assertEqual(other["info"]["docno"], "1")


def members(value: Any, path: str = "") -> set[str]:
    """The paths of all members."""
    if isinstance(value, list):
        return {found for one in value for found in members(one, f"{path}[]")}
    if not isinstance(value, dict):
        return {path}
    return {found for name, one in value.items() for found in members(one, f"{path}.{name}")}


def turn(name: str, rate: float, cpu: float | None = 500.0) -> Turn:
    """A measurement of ten seconds."""
    return Turn(name, Load(int(rate * 10), 10.0, 2.0, 9.0, 20.0, 0), cpu)


class ReportTests(SynchronousTestCase):
    """``dmtwisted bench peers``"""

    fastapi, aiohttp = list(PEERS)[:2]
    rounds = (
        [turn(OURS, 2000), turn(fastapi, 500), turn(aiohttp, 1000)],
        [turn(fastapi, 400), turn(aiohttp, 1000), turn(OURS, 1000)],
        [turn(aiohttp, 1000), turn(OURS, 1800), turn(fastapi, 600)],
    )

    def test_ratios(self) -> None:
        """How many times as much the service sells is taken within each round, whatever the order in it."""
        ours, fastapi, aiohttp = rows_of(64, self.rounds)
        self.assertEqual((ours.name, ours.sales_per_s, ours.ours_to_it), (OURS, 1800, None))
        self.assertEqual((fastapi.name, fastapi.ours_to_it), (self.fastapi, Share(3.0, 2.5, 4.0)))
        self.assertEqual((aiohttp.name, aiohttp.ours_to_it), (self.aiohttp, Share(1.8, 1.0, 2.0)))

    def test_table(self) -> None:
        """The table shows each with its ratio, and processor time only if it is known."""
        lines = table(rows_of(64, self.rounds)).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("500", lines[1])
        self.assertTrue(lines[2].endswith("3.00 (2.50..4.00) times"))
        unknown = [[turn(one.name, one.load.rate, None) for one in each] for each in self.rounds]
        self.assertNotIn("500", table(rows_of(64, unknown)).splitlines()[1])

    def test_not_installed(self) -> None:
        """Where the peers cannot be had, one line says what brings them."""
        self.patch(bench_peers, "find_spec", lambda name: None)
        with self.assertRaises(BenchFailed) as raised:
            peers_report(Path(self.mktemp()), [1], 0.1, 1)
        self.assertIn("pip install -e '.[bench]'", str(raised.exception))

    def test_no_source_tree(self) -> None:
        """Without the source tree there are no peers."""
        self.patch(bench_peers, "HOME", Path(self.mktemp()))
        self.assertIn("source tree", missing())

    def test_measured(self) -> None:
        """The real service and the real peers sell under the same load."""
        if not os.environ.get("DMTWISTED_SLOW"):
            raise SkipTest("set DMTWISTED_SLOW=1 to start the service and its peers")
        if find_spec("fastapi") is None:
            raise SkipTest(missing())
        with scratch_folder(None) as folder:
            rows = peers_report(folder, [2], 0.3, 1)
        self.assertEqual([row.name for row in rows], [OURS, *PEERS])
        self.assertTrue(all(row.sales_per_s > 0 for row in rows))
