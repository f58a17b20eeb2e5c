"""The connection of a till that never gives up: it repeats a request until the outcome is known."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dmtwisted.lab.children import HOST, BenchFailed

ANSWER_PATIENCE = 30.0
"""Seconds within which every sale has to be answered, kills and restarts included."""

BUSY, NOT_STORED = 1105, 1082


def shown(answer: object) -> str:
    """The beginning of an answer, for messages."""
    return json.dumps(answer, default=str, ensure_ascii=False)[:300]


class TillConnection:
    """A connection that stays open as long as possible."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=ANSWER_PATIENCE)

    def move_to(self, port: int) -> None:
        """Use another service from now on."""
        if self._connection.port != port:
            self._connection.close()
            self._connection.port = port

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The decoded answer; money in it is `Decimal`.

        :raises OSError: or `http.client.HTTPException` when there is no answer.
        """
        try:
            text = None if body is None else json.dumps(body).encode()
            self._connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            whole = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if answer.status != 200:
            raise BenchFailed(f"{method} {path}: status {answer.status}: {whole[:300]!r}")
        return json.loads(whole, parse_float=Decimal)

    def execute(
        self,
        body: dict[str, object],
        again: Callable[[], None],
        patience: float = ANSWER_PATIENCE,
        path: str = "/dm/execute",
    ) -> Any:
        """The answer to a task that may be repeated: it is, until the answer is final.

        ``again`` is called before each repeat.

        :raises BenchFailed: when there is no final answer within ``patience`` seconds.
        """
        deadline = time.monotonic() + patience
        while True:
            try:
                answer = self.ask("POST", path, body)
                words = shown(answer)
                if answer["res"] not in (BUSY, NOT_STORED) and answer["res_action"] not in (1, 2):
                    return answer
            except (OSError, http.client.HTTPException) as error:
                words = repr(error)
            if time.monotonic() > deadline:
                raise BenchFailed(f"{body.get('tag', 'a task')} was not answered in {patience:.0f} s: {words}")
            again()

    def close(self) -> None:
        """Close it."""
        self._connection.close()
