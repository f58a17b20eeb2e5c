"""A program that gets events, as the labs have it: it remembers what came, and can be cut off."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, NamedTuple

HOST = "127.0.0.1"

Came = Callable[["Got"], bool]
"""Told of each request that came whole, in threads; whether it is answered at all."""


class Got(NamedTuple):
    """One request; names in ``headers`` are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        """The body."""
        event: dict[str, Any] = json.loads(self.body)
        return event


class Receiver:
    """A server on a port of its own, in threads of this process.

    :param came: says whether a request is answered; all are when absent.
    """

    def __init__(self, came: Came | None = None) -> None:
        self.came: Came = came or (lambda got: True)
        self.got: list[Got] = []
        """What came, in its order."""
        self.lock = Lock()
        self._server = _Server((HOST, 0), _Request)
        self._server.receiver = self
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}/"

    def stop(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    receiver: Receiver

    def handle_error(self, *_: object) -> None:
        """Bear that the service was killed, or has given up, before it had its answer."""


class _Request(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        """Remember a request, then answer it or hang up."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver, headers = self.server.receiver, {name.lower(): value for name, value in self.headers.items()}
        got = Got(self.path, headers, body)
        with receiver.lock:
            receiver.got.append(got)
        if receiver.came(got):
            self.send_response(204)
            self.end_headers()
        else:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Write no log."""
