"""Sales on PostgreSQL next to the server's own limit, and two services next to one: ``dmtwisted bench postgres``.

In each round, right after each other: one service, two services with half of the registers each, and pgbench with as
many clients, which stores the last sale again and again by two commits, with the same bytes in the same tables. Each
service is confined to one processor. All of it shares the processors with the load, so pgbench has more of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psycopg2

from dmtwisted.lab.bench.figures import Figures, Share, columns, share, spread, with_disk
from dmtwisted.lab.bench.loads import PREFIX, WARM_UP, load_on, shown_rounds
from dmtwisted.lab.children import BenchFailed, Child, free_port, make_register, service
from dmtwisted.store.postgres.sessions import first_line, read_url

OTHER_PREFIX = f"other-{PREFIX}"
"""Begins the names of the registers of the second service."""

FIRST_DEVICE = 1_000_000
"""pgbench writes for devices from this number on: they are nobody's."""

ENVIRONMENT = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
}
"""Parts of the URL in the environment of pgbench: everyone on the machine can read its arguments."""

SALE = """
SELECT encode(d.value, 'hex') AS value, encode(d.sent, 'hex') AS sent, encode(o.answer, 'hex') AS answer,
encode(r.state, 'hex') AS state FROM document d JOIN operation o ON o.n = d.operation_n
JOIN register r ON r.device_n = d.device_n WHERE d.kind = 'sale' AND o.state = 'done' ORDER BY d.n DESC LIMIT 1
"""

SCRIPT = f"""\\set number :number + 1
\\set device {FIRST_DEVICE} + :client_id
\\set at 1800000000000 + :number
WITH op AS (
INSERT INTO operation (device_n, kind, task, key, fingerprint, at, state, token)
VALUES (:device, 'fiscal', 1, :device || '-' || :number, decode(:hash, 'hex'), :at, 'intended', decode(:hash, 'hex'))
RETURNING n)
INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent)
SELECT n, :device, :number, 'sale', 1, :at, 19950, 'intended', decode(:value, 'hex'), decode(:sent, 'hex') FROM op
RETURNING operation_n AS n \\gset
WITH op AS (UPDATE operation SET state = 'done', ended_at = :at, answer = decode(:answer, 'hex') WHERE n = :n),
paper AS (UPDATE document SET state = 'done', fiscal_number = 'TEST-' || :number WHERE operation_n = :n),
reg AS (INSERT INTO register (device_n, state) VALUES (:device, decode(:state, 'hex'))
ON CONFLICT (device_n) DO UPDATE SET state = excluded.state),
sealed AS (INSERT INTO seal (device_n, operation_n, content, chain)
VALUES (:device, :n, decode(:hash || :hash, 'hex'), decode(:hash || :hash, 'hex')))
INSERT INTO chain (device_n, count, hash, anchor, removed)
VALUES (:device, 1, decode(:hash || :hash, 'hex'), decode(:hash || :hash, 'hex'), 0)
ON CONFLICT (device_n) DO UPDATE SET count = chain.count + 1, hash = excluded.hash;
"""
"""A sale by two commits, each one statement, without anything that is calculated."""


@dataclass(frozen=True)
class Row:
    """Medians of sales per second, and ratios within a round."""

    connections: int
    one_per_s: float
    two_per_s: float
    pgbench_per_s: float
    of_pgbench: Share
    two_to_one: Share


def row_of(connections: int, rounds: Sequence[tuple[float, float, float]]) -> Row:
    """The row of rounds of one service, two services, and pgbench."""
    one, two, bare = zip(*rounds, strict=True)
    return Row(
        connections,
        median(one),
        median(two),
        median(bare),
        share([selling / alone for selling, _, alone in rounds]),
        share([both / single for single, both, _ in rounds]),
    )


def table(row: Row) -> str:
    """The row as text."""
    head = ["connections", "sales/s", "of two services", "pgbench", "of pgbench (min..max)", "two to one (min..max)"]
    rates = [f"{rate:.0f}" for rate in (row.one_per_s, row.two_per_s, row.pgbench_per_s)]
    return columns([head, [str(row.connections), *rates, spread(row.of_pgbench), spread(row.two_to_one)]])


def program() -> str:
    """The path of pgbench.

    :raises BenchFailed: when there is none.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    found = shutil.which("pgbench") or shutil.which("pgbench", path=os.pathsep.join(map(str, reversed(folders))))
    if found is None:
        raise BenchFailed("there is no pgbench on this machine (Debian: apt-get install postgresql)")
    return found


def last_sale(url: str) -> dict[str, str]:
    """The bodies of the last sale in the database, as hexadecimal digits.

    :raises BenchFailed: when there is none.
    """
    try:
        with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute(SALE)
            row = cursor.fetchone()
    except psycopg2.Error as error:
        raise BenchFailed(first_line(error)) from None
    if row is None:
        raise BenchFailed("there is no sale in the database")
    return dict(zip(("value", "sent", "answer", "state"), row, strict=True))


def bare(url: str, folder: Path, clients: int, seconds: float, turn: int) -> float:
    """Sales per second of pgbench.

    :raises BenchFailed: when it fails.
    """
    script = folder / "sale.sql"
    script.write_text(SCRIPT, "utf-8")
    values = {**last_sale(url), "hash": "5a" * 16, "number": str(turn * 10**9)}
    known = {ENVIRONMENT[name]: value for name, value in read_url(url).items() if name in ENVIRONMENT}
    command = [program(), "--no-vacuum", "--protocol", "prepared", "--file", str(script)]
    command += ["--client", str(clients), "--jobs", "2", "--time", str(max(1, round(seconds)))]
    command += [f"--define={name}={value}" for name, value in values.items()]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **known}, check=False)
    found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
    if done.returncode or found is None:
        words = done.stderr.strip().splitlines()
        raise BenchFailed(f"pgbench ended with status {done.returncode}: {words[-1] if words else ''}")
    return float(found[1])


def _start(stack: ExitStack, folder: Path, url: str, place: int, registers: int) -> Child:
    """One of the services, with its registers."""
    state = folder / f"state-{place}"
    state.mkdir()
    child = stack.enter_context(service(state, free_port(), url))
    _, answer = child.ask("GET", "/dm/api/v3/operations?page_size=1")
    if not place and json.loads(answer)["paging"]["total"]:
        raise BenchFailed("the database is not empty")
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(child.pid, {allowed[place % len(allowed)]})
    for n in range(registers):
        make_register(child, f"{_prefix(place)}{n}")
    return child


def _prefix(place: int) -> str:
    return OTHER_PREFIX if place else PREFIX


def _sold(children: Sequence[Child], connections: int, seconds: float, salt: str) -> float:
    """Sales per second of services together, each with its share of the connections."""

    def load(place: int) -> float:
        return load_on(children[place], connections // len(children), seconds, salt, "--prefix", _prefix(place)).rate

    with ThreadPoolExecutor() as pool:
        return sum(pool.map(load, range(len(children))))


def postgres(folder: Path, connections: int, seconds: float, rounds: int, url: str) -> Row:
    """Measure on the empty database ``url``.

    :raises BenchFailed: when a sale fails, or the database is not empty.
    """
    with ExitStack() as stack:
        both = [_start(stack, folder, url, 0, connections), _start(stack, folder, url, 1, connections // 2)]
        _sold(both, connections, WARM_UP, "warm-up")
        found = []
        for turn in shown_rounds(rounds):
            one = _sold(both[:1], connections, seconds, f"one-{turn}")
            two = _sold(both, connections, seconds, f"two-{turn}")
            found.append((one, two, bare(url, folder, connections, seconds, turn)))
    return row_of(connections, found)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench postgres``.

    :raises BenchFailed: when it is not given a database of PostgreSQL.
    """
    if chosen["database"] is None:
        raise BenchFailed("--database: the URL of an empty PostgreSQL database is needed")
    row = postgres(folder, chosen["connections"], chosen["seconds"], chosen["rounds"], chosen["database"])
    return with_disk(folder, [row], table(row), chosen["database"])
