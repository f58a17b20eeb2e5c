"""The least that may still call itself a durable sale: aiohttp, one commit for all that waits, no arithmetic.

The request is read, its tag looked up, and the receipt answered as the till reckoned it: no rule is checked, no tax
or change or total of the shift comes out of it, and no line of log. What a sale keeps is kept: the document in one
commit, the answer and the register's next number in another, each shared by all that waits meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from time import localtime, strftime, time
from typing import Any

from aiohttp import web

from tests.peers.books import Books
from tests.peers.receipts import HEADER, OPEN, Fiscal, Register, Task, answer_of, print_pay

Work = Callable[[sqlite3.Connection], Any]

GOOD = {"code1": "", "code2": "", "code3": "", "code_a": "", "code_aa": [], "disc": 0.0, "taxlit": "А", "comment": ""}
TAXES = [{"group": code, "base": 0, "tax": 0} for code in (1, 2)]
"""What an answer says besides, as long as it would be if it was reckoned."""


class SharedCommits:
    """One thread and one commit for all that waits; the loop hears of a commit once, not of each sale in it."""

    def __init__(self, books: Books) -> None:
        self._books, self._thread = books, ThreadPoolExecutor(1)
        self._waiting: list[tuple[Work, asyncio.Future[Any]]] = []
        self._working: asyncio.Task[None] | None = None

    async def committed(self, work: Work) -> Any:
        """What ``work`` returns, when it is on the disk."""
        due: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, due))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await due

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await loop.run_in_executor(self._thread, self._books.committed, *(work for work, _ in batch))
            except sqlite3.Error as error:
                for _, due in batch:
                    due.set_exception(error)
            else:
                for (_, due), value in zip(batch, found, strict=True):
                    due.set_result(value)
        self._working = None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()


def app_of(books: Books, clock: Callable[[], float] = time) -> web.Application:
    """The application."""
    registers = books.registers()
    locks = {name: asyncio.Lock() for name in registers}
    shared = SharedCommits(books)

    async def execute(request: web.Request) -> web.Response:
        task = json.loads(await request.read())
        name = task["device"]
        async with locks[name]:
            n, known = await shared.committed(intent(task, registers[name], clock()))
            text = known or await shared.committed(outcome(n, task, registers[name], clock()))
        return web.Response(text=text, content_type="application/json")

    async def ready(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ended(app: web.Application) -> None:
        shared.close()

    app = web.Application()
    app.router.add_post("/dm/execute", execute)
    app.router.add_get("/health/ready", ready)
    app.on_cleanup.append(ended)
    return app


def intent(task: dict[str, Any], register: Register, at: float) -> Work:
    """What stores the document, unless its tag has an answer."""
    number, tag = register.next_number, task.get("tag", "")
    document = {"number": number, "shift": register.shift, "at": at, "fisid": register.fisid, **HEADER, **task}
    text = json.dumps(document, ensure_ascii=False)

    def store(db: sqlite3.Connection) -> tuple[int, str]:
        known = db.execute(
            "SELECT n, answer FROM operation WHERE device = ? AND tag = ? AND state = 'done'", (register.name, tag)
        ).fetchone()
        if known is not None:
            return known[0], known[1].replace('"task_status":1', '"task_status":2', 1)
        added = db.execute(
            "INSERT INTO operation (device, tag, fingerprint, at, number, document, state) "
            "VALUES (?, ?, ?, ?, ?, ?, 'intended')",
            (register.name, tag, b"", at, number, text),
        )
        assert added.lastrowid is not None
        return added.lastrowid, ""

    return store


def outcome(n: int, task: dict[str, Any], register: Register, at: float) -> Work:
    """What stores the answer and the register, which is the next one's then."""
    fiscal_number = f"TEST_{register.fisid}{register.next_number:08d}"
    answer = answered(task, register, fiscal_number, at)
    register.next_number += 1
    register.shift_open = register.shift_open or task["fiscal"]["task"] == OPEN
    state = json.dumps(asdict(register))

    def store(db: sqlite3.Connection) -> str:
        db.execute(
            "UPDATE operation SET state = 'done', fiscal_number = ?, answer = ? WHERE n = ?",
            (fiscal_number, answer, n),
        )
        db.execute("UPDATE register SET state = ? WHERE name = ?", (state, register.name))
        return answer

    return store


def shape() -> str:
    """An answer with places for what differs between sales, each of them a whole value."""
    receipt = {"goods": [], "pays": [], "taxes": TAXES, "sum": 0}
    document = {"task": 1, "number": "@number", "shift": 1, "at": 0, "cashier": "@cashier", **HEADER}
    document |= {"fisid": "@fisid", "receipt": receipt}
    task = Task("@device", Fiscal("@task"), "@tag", "@source")  # type: ignore[arg-type]
    answer = answer_of(task, document, "@doccode", Register("", "@fisid"))
    answer["dt"] = answer["info"]["dt"] = "@dt"
    answer["info"] |= {"docno": "@docno", "qr": "@qr"}
    answer["info"]["printheader"]["dt"] = "@dt"
    answer["info"]["printinfo"] |= {"goods": "@rows", "pays": "@pays", "dt": "@dt", "docno": "@docno", "qr": "@qr"}
    answer["info"]["printinfo"] |= dict.fromkeys(("sum_0", "sum_receipt", "sum_topay"), "@sum")
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).replace("%", "%%")
    return re.sub(r'"@(\w+)"', r"%(\1)s", text)


SHAPE = shape()
PAY = print_pay({"type": 0, "given": 0, "change": 0})


def answered(task: dict[str, Any], register: Register, fiscal_number: str, at: float) -> str:
    """The answer, with the amounts of the request."""
    fiscal, number, stamp = task["fiscal"], register.next_number, strftime("%Y%m%d%H%M%S", localtime(at))
    receipt = fiscal.get("receipt") or {"sum": 0, "rows": [], "pays": []}
    values = {
        "source": task.get("source", ""),
        "device": register.name,
        "tag": task.get("tag", ""),
        "task": fiscal["task"],
        "cashier": fiscal.get("cashier", ""),
        "fisid": register.fisid,
        "doccode": fiscal_number,
        "number": number,
        "docno": str(number),
        "dt": stamp,
        "qr": f"https://cabinet.tax.gov.ua/cashregs/check?id={fiscal_number}&fn={register.fisid}&date={stamp}",
        "rows": [GOOD | row for row in receipt["rows"]],
        "pays": [PAY | pay for pay in receipt["pays"]],
        "sum": receipt["sum"],
    }
    return SHAPE % {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
