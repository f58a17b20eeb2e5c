"""The ceilings of the task endpoint: the same way in and out, and no engine in between.

It reads a task request as the service does and answers each with the same bytes; with ``--state`` it first keeps
in a store of its own what a sale keeps. By how much the service is slower is the price of what it does;
``dmtwisted bench`` runs all of them side by side. ``python -m web.plain --port N`` starts it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import react
from twisted.web.resource import Resource
from twisted.web.server import Site

from dmtwisted.lab.bench.keeping import USUAL_SIZES, Keeping, sizes
from dmtwisted.plain_sales import plain_sale
from dmtwisted.requests import read_json, read_task
from dmtwisted.store.sqlite.store import SqliteStore
from web.connection import IDLE_CONNECTION, BoundedRequest
from web.health import Health
from web.tasks import TaskResource

ANSWER = b'{"ver":6,"type":1,"task":1,"res":0,"errortxt":"","info":{"fill":"%b"}}' % (b"x" * 2900)
"""Of the size of a usual answer, for when no real one is given."""


class PlainSite(Site):
    """The task endpoint that answers everything with the same bytes, and is ready as soon as it answers.

    :param keeping: keeps a sale for each request before it is answered.
    """

    def __init__(self, answer: bytes, keeping: Keeping | None = None) -> None:
        numbers: Counter[str] = Counter()
        devices: dict[str, int] = {}

        async def execute(body: bytes, language: str) -> bytes:
            # As far as the service reads a task before it acts.
            name = (plain_sale(body) or read_task(read_json(body))).device
            if keeping is not None:
                numbers[name] += 1
                await keeping.keep(devices.setdefault(name, len(devices) + 1), numbers[name])
            return answer

        root, dm, health = Resource(), Resource(), Resource()
        root.putChild(b"dm", dm)
        dm.putChild(b"execute", TaskResource(execute, "en"))
        root.putChild(b"health", health)
        health.putChild(b"ready", Health(lambda: True, "en"))
        super().__init__(root, requestFactory=BoundedRequest, timeout=IDLE_CONNECTION, parsePOSTFormSubmission=False)

    def log(self, request: object) -> None:
        """The service writes no access log either."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer on the loopback address until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m web.plain", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answer", type=Path, help="a file with the answer to give")
    parser.add_argument("--state", type=Path, help="keep a sale for each request in a database in this folder")
    parser.add_argument("--sizes", type=sizes, default=USUAL_SIZES, help="bytes of what a sale keeps")
    options = parser.parse_args(arguments)
    answer = options.answer.read_bytes() if options.answer else ANSWER
    react(lambda reactor: Deferred.fromCoroutine(_serve(reactor, options, answer)))
    return 0


async def _serve(reactor: Any, options: argparse.Namespace, answer: bytes) -> None:
    store, keeping = None, None
    if options.state is not None:
        store = SqliteStore(reactor, options.state / "plain.sqlite")
        await store.open()
        keeping = Keeping(store, options.sizes)
    site: Any = PlainSite(answer, keeping)
    port = reactor.listenTCP(options.port, site, interface="127.0.0.1")
    ended: Deferred[None] = Deferred()
    reactor.addSystemEventTrigger("before", "shutdown", ended.callback, None)
    await ended
    await maybeDeferred(port.stopListening)
    if store is not None:
        await store.close()


if __name__ == "__main__":
    sys.exit(main())
