"""The sale with FastAPI: the body checked by its types, each request in a thread of the pool."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError

from tests.peers.books import Books, Desk, SharedBooks, repeated
from tests.peers.receipts import Refused, Task, refusal_of

JSON = "application/json"


def app_of(books: Books, desk: Desk) -> FastAPI:
    """The application."""
    app = FastAPI()
    locks = {name: threading.Lock() for name in desk.names()}

    def committed(work: Callable[[Any], Any]) -> Any:
        if isinstance(books, SharedBooks):
            return books.later(work).result()
        (done,) = books.committed(work)
        return done

    def execute(task: Task) -> Response:
        begun, res = desk.now(), 0
        try:
            with locks.get(task.device, threading.Lock()):
                operation = committed(desk.intent(task))
                if operation.known is not None:
                    text = repeated(operation.known)
                else:
                    number = desk.submit(operation)
                    text = committed(desk.outcome(operation, number))
        except Refused as refused:
            res = refused.res
            text = json.dumps(refusal_of(task, refused), ensure_ascii=False)
        desk.told(task, res, begun)
        return Response(text, media_type=JSON)

    def malformed(request: Request, error: Exception) -> Response:
        return Response(json.dumps(refusal_of(None, Refused(2000, str(error))), ensure_ascii=False), media_type=JSON)

    def ready() -> dict[str, str]:
        return {"status": "ok"}

    app.add_api_route("/dm/execute", execute, methods=["POST"])
    app.add_api_route("/health/ready", ready, methods=["GET"])
    app.add_exception_handler(RequestValidationError, malformed)
    return app
