"""The store alone with the data of sales: ``dmtwisted bench writer``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from dmtwisted.config import SQLITE, Config, DatabaseConfig, ServiceConfig
from dmtwisted.lab.bench.figures import Figures
from dmtwisted.lab.bench.keeping import Sizes, keep_sales
from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.load import Load
from dmtwisted.store.opening import check_database, store_of
from dmtwisted.store.values import OperationQuery, StoreFailed


def writer_alone(config: Config, connections: int, seconds: float, kept: Sizes) -> Load:
    """The load on the store alone. It runs the reactor, so only once in a process.

    :raises BenchFailed: when the store fails, or is not empty: its receipts must not be mixed with ours.
    """
    check_database(config)
    seen: list[Load] = []
    complaints: list[str] = []

    async def measure(reactor: Any) -> None:
        store = store_of(config, reactor)
        try:
            await store.open()
            if await store.devices() or (await store.find_operations(OperationQuery(limit=0))).total:
                complaints.append("the database is not empty")
            else:
                seen.append(await keep_sales(store, connections, seconds, kept))
        except StoreFailed as error:
            complaints.append(str(error))
        finally:
            await store.close()

    try:
        react(lambda reactor: Deferred.fromCoroutine(measure(reactor)))
    except SystemExit as end:
        if end.code:
            raise BenchFailed("the store failed") from end
    if complaints:
        raise BenchFailed(complaints[0])
    return seen[0]


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench writer``."""
    database = chosen["database"] or f"{SQLITE}{folder / 'writer.sqlite'}"
    config = Config(database=DatabaseConfig(database), service=ServiceConfig(state=str(folder)))
    found = asdict(writer_alone(config, chosen["connections"], chosen["seconds"], chosen["sizes"]))
    return found, json.dumps(found)
