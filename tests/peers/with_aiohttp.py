"""The sale with aiohttp: everything in the loop but the database, which has a thread of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from aiohttp import web

from tests.peers.books import Books, Desk, SharedBooks, repeated
from tests.peers.receipts import Refused, Task, refusal_of, task_of

JSON = "application/json"


def app_of(books: Books, desk: Desk) -> web.Application:
    """The application."""
    locks = {name: asyncio.Lock() for name in desk.names()}
    thread = ThreadPoolExecutor(1)

    async def committed(work: Callable[[Any], Any]) -> Any:
        if isinstance(books, SharedBooks):
            return await asyncio.wrap_future(books.later(work))
        (done,) = await asyncio.get_running_loop().run_in_executor(thread, books.committed, work)
        return done

    async def execute(request: web.Request) -> web.Response:
        begun, res = desk.now(), 0
        task: Task | None = None
        try:
            task = _task(await request.text())
            async with locks.get(task.device) or asyncio.Lock():
                operation = await committed(desk.intent(task))
                if operation.known is not None:
                    text = repeated(operation.known)
                else:
                    number = desk.submit(operation)
                    text = await committed(desk.outcome(operation, number))
        except Refused as refused:
            res = refused.res
            text = json.dumps(refusal_of(task, refused), ensure_ascii=False)
        desk.told(task, res, begun)
        return web.Response(text=text, content_type=JSON)

    async def ready(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ended(app: web.Application) -> None:
        thread.shutdown()

    app = web.Application()
    app.router.add_post("/dm/execute", execute)
    app.router.add_get("/health/ready", ready)
    app.on_cleanup.append(ended)
    return app


def _task(text: str) -> Task:
    try:
        return task_of(json.loads(text, parse_float=Decimal))
    except ValueError as error:
        raise Refused(2000, str(error)) from error
