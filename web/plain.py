"""The ceiling of the task endpoint: the same way in and out, and nothing in between.

It reads a task request as the service does and answers each with the same bytes. By how much the service is
slower is the price of what it does; ``dmtwisted bench`` runs both side by side.
``python -m web.plain --port N`` starts it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorCore, IReactorTCP
from twisted.web.resource import Resource
from twisted.web.server import Site

from dmtwisted.requests import read_json, read_task
from web.health import Health
from web.site import IDLE_CONNECTION, BoundedRequest
from web.tasks import TaskResource

ANSWER = b'{"ver":6,"type":1,"task":1,"res":0,"errortxt":"","info":{"fill":"%b"}}' % (b"x" * 2900)
"""Of the size of a usual answer, for when no real one is given."""


class PlainSite(Site):
    """The task endpoint that answers everything with the same bytes, and is ready as soon as it answers."""

    def __init__(self, answer: bytes) -> None:
        async def execute(body: bytes, language: str) -> bytes:
            # As far as the service reads a task before it acts.
            read_task(read_json(body))
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
    options = parser.parse_args(arguments)
    answer = options.answer.read_bytes() if options.answer else ANSWER
    site: Any = PlainSite(answer)
    assert IReactorTCP.providedBy(reactor) and IReactorCore.providedBy(reactor)
    reactor.listenTCP(options.port, site, interface="127.0.0.1")
    reactor.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
