"""``python -m tests.peers NAME --port N --database FILE --registers N`` serves a peer until a signal."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

from tests.peers.books import Books, Desk, SharedBooks


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve on the loopback address."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("framework", choices=tuple(SERVERS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True, help="the SQLite file")
    parser.add_argument("--registers", type=int, default=1, help="how many there are: bench-0, bench-1 ...")
    parser.add_argument("--prefix", default="bench-", help="the registers' names without their numbers")
    parser.add_argument("--shared", action="store_true", help="commit all that waits at once")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    books = SharedBooks(options.database) if options.shared else Books(options.database)
    desk = Desk(books)
    for n in range(options.registers):
        desk.register(f"{options.prefix}{n}")
    try:
        SERVERS[options.framework](books, desk, options.port)
    finally:
        books.close()
    return 0


def _fastapi(books: Books, desk: Desk, port: int) -> None:
    import uvicorn

    from tests.peers.with_fastapi import app_of

    # With httptools and uvloop beside it uvicorn takes both by itself; the lines of the log are ours.
    uvicorn.run(app_of(books, desk), host="127.0.0.1", port=port, log_level="warning", access_log=False)


def _aiohttp(books: Books, desk: Desk, port: int) -> None:
    from tests.peers.with_aiohttp import app_of

    _run(app_of(books, desk), port)


def _leanest(books: Books, desk: Desk, port: int) -> None:
    from tests.peers.leanest import app_of

    _run(app_of(books), port)


def _run(app: Any, port: int) -> None:
    import uvloop
    from aiohttp import web

    uvloop.install()
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None)


SERVERS = {"fastapi": _fastapi, "aiohttp": _aiohttp, "leanest": _leanest}

if __name__ == "__main__":
    sys.exit(main())
