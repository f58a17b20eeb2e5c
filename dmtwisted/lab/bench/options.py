"""The parts of ``dmtwisted bench`` and their command lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from dmtwisted.commands.options import Group, options_class
from dmtwisted.commands.shared import positive
from dmtwisted.lab.bench.keeping import USUAL_SIZES, sizes


def numbers(text: str) -> list[int]:
    """``"1,8,64"`` as numbers.

    :raises ValueError: when one of them is not a positive whole number.
    """
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(f"{min(found)} is not positive")
    return found


def names_of(*known: str) -> Callable[[str], list[str]]:
    """Reads ``"sales,start"`` as some of the ``known`` names; raises `ValueError` for any other."""

    def read(text: str) -> list[str]:
        found = [part.strip() for part in text.split(",")]
        for name in found:
            if name not in known:
                raise ValueError(f"{name} is none of {', '.join(known)}")
        return found

    return read


def _count(text: str) -> int:
    return numbers(text)[0]


def _even(text: str) -> int:
    if _count(text) % 2:
        raise ValueError("an even number is expected")
    return _count(text)


def _rate(text: str) -> float:
    return 0.0 if float(text) == 0 else positive(text)


def _connections(*default: int) -> list[Any]:
    return ["connections", "c", list(default), "Numbers of connections, separated by commas.", numbers]


def _what(*known: str) -> list[Any]:
    return ["what", None, [*known], "What is measured, separated by commas.", names_of(*known)]


_ROUNDS = ["rounds", "r", 3, "How often each measurement is repeated, in turn with the others.", _count]
_SECONDS = ["seconds", "s", 5.0, "How long each measurement takes.", positive]
_STATE = ["state", "d", None, "Create the temporary folder in this one: the disk to measure."]
_DATABASE = ["database", None, "", "The URL of an empty PostgreSQL database to measure instead of a SQLite file."]
_DEVICES = ["devices", "n", 50, "Number of devices.", _count]
_JSON = ["json", "j", "Print the figures as JSON."]


class Part(NamedTuple):
    """One measurement: its module in this folder, what it shows in short and in full, its options and flags."""

    module: str
    short: str
    full: str
    parameters: list[list[Any]]
    flags: list[list[Any]] = [_JSON]  # noqa: RUF012


PARTS = {
    "sales": Part(
        "sales",
        "Measure durable sales over HTTP next to their upper limits.",
        "Measure durable sales over HTTP, next to the plain resource and to the store's writer alone.",
        [_connections(1, 8, 64), _SECONDS, _ROUNDS, _STATE, _DATABASE],
    ),
    "peers": Part(
        "peers",
        "Measure durable sales next to the same written with other frameworks.",
        "Measure durable sales next to the same sale written plainly with FastAPI + uvicorn and with aiohttp + "
        "uvloop, by turns. The peers are in the source tree; pip install -e '.[bench]' installs what they need.",
        [_connections(64), _SECONDS, _ROUNDS, _STATE],
    ),
    "against": Part(
        "against",
        "Measure this source tree next to another one.",
        "Measure sales, receipts offline, start and memory of this source tree next to another one with its own "
        ".venv, in turn. The ratios are the medians of the rounds between the quartiles.",
        [
            ["tree", None, None, "The other source tree."],
            _what("sales", "offline", "start"),
            _connections(1, 8, 64),
            _SECONDS,
            _ROUNDS,
            _DEVICES,
            _DATABASE,
            ["other-database", None, "", "The URL of another empty PostgreSQL database, for the other tree."],
            _STATE,
        ],
    ),
    "commits": Part(
        "commits",
        "Measure a lone till next to two bare commits.",
        "Measure the sales of a lone till next to two bare commits of the same bytes on the same disk.",
        [_SECONDS, _ROUNDS, _STATE],
    ),
    "beside": Part(
        "beside",
        "Measure sales while the service does something else.",
        "Measure the p99 of sales alone and beside attacks, backups, reports over a year, print forms, slow and dead "
        "subscribers, and the removal of old receipts, in turn.",
        [
            _what("attacks", "backup", "report", "forms", "subscribers", "removal"),
            ["receipts", "n", 30_000, "Receipts of the history.", _count],
            ["tills", "t", 8, "Number of tills that sell.", _count],
            ["rate", None, 80.0, "Sales per second in all.", positive],
            ["seconds", "s", 10.0, "How long each measurement takes.", positive],
            _ROUNDS,
            _STATE,
        ],
    ),
    "open": Part(
        "tasks",
        "Measure sales at constant rates.",
        "Open load: sales at constant rates, whether the service keeps up or not. A time counts from the moment when "
        "the sale was due.",
        [
            ["rates", None, [100, 500, 1000], "Sales per second, separated by commas.", numbers],
            ["connections", "c", 64, "Number of connections and registers.", _count],
            _SECONDS,
            _ROUNDS,
            _DATABASE,
            _STATE,
        ],
    ),
    "steps": Part(
        "steps",
        "Measure each step of a sale.",
        "Measure the time of each step of a sale while a till waits for it.",
        [_connections(1, 8, 64), _SECONDS, _STATE],
    ),
    "look-ups": Part(
        "tasks",
        "Measure look-ups of receipts by tag.",
        "Measure look-ups by tag of receipts that were just made, next to the plain resource.",
        [_connections(1, 8, 64), _SECONDS, _ROUNDS, _DATABASE, _STATE],
    ),
    "busy": Part(
        "tasks",
        "Measure the answers of busy registers.",
        "Measure the answer 1105 of registers in the middle of a sale, next to the plain resource.",
        [_connections(1, 8, 64), _SECONDS, _ROUNDS, _DATABASE, _STATE],
    ),
    "payments": Part(
        "tasks",
        "Measure payments at simulated terminals.",
        "Measure payments at simulated terminals, each in its own process, with customers who take no time.",
        [_connections(1, 4), _SECONDS, _ROUNDS, _DATABASE, _STATE],
    ),
    "tls": Part(
        "tls",
        "Measure sales over HTTPS next to HTTP.",
        "Measure sales over HTTPS next to HTTP, on open connections and on a new connection for each sale.",
        [_connections(8), _SECONDS, _ROUNDS, _STATE],
    ),
    "idle": Part(
        "idle",
        "Measure memory and processor time at rest.",
        "Measure memory and processor time without sales, with simulated registers, terminals and printers.",
        [
            _DEVICES,
            ["sales", None, 4, "Sales on each register beforehand.", _count],
            ["seconds", "s", 20.0, "How long the processor is watched.", positive],
            _STATE,
        ],
    ),
    "start": Part(
        "idle",
        "Measure how soon the service is ready.",
        "Measure how soon the service is ready with the data of an earlier run.",
        [_DEVICES, ["rounds", "r", 5, "How often it is started.", _count], _STATE],
    ),
    "writer": Part(
        "writer",
        "Measure the store's writer alone.",
        "Measure the store alone with the data of concurrent sales. Prints JSON.",
        [
            ["connections", "c", 8, "Number of concurrent sales.", _count],
            ["seconds", "s", 5.0, "How long the measurement takes.", positive],
            ["sizes", None, USUAL_SIZES, "Bytes of document, sent document, answer and register state.", sizes],
            ["database", None, None, "The URL of an empty PostgreSQL database to measure instead of a SQLite file."],
            _STATE,
        ],
        [],
    ),
    "postgres": Part(
        "postgres",
        "Measure sales on PostgreSQL next to pgbench.",
        "Measure sales on PostgreSQL next to pgbench, which stores the same bytes by two commits, and those of two "
        "services on one database next to one.",
        [
            ["connections", "c", 64, "Number of connections and registers.", _even],
            _SECONDS,
            _ROUNDS,
            ["database", None, None, "The URL of an empty PostgreSQL database."],
            _STATE,
        ],
    ),
    "sign": Part(
        "sign",
        "Measure signing a receipt for the tax service.",
        "Measure signing a typical receipt in plain Python and, where possible, by the machine's libcrypto.",
        [
            ["count", "c", 100, "Signatures in each round.", _count],
            ["rounds", "r", 5, "How often each way is measured, in turn.", _count],
        ],
    ),
    "tax": Part(
        "tax",
        "Measure registers at a slow tax service.",
        "Measure a sale on several registers at the same moment, at a slow simulated tax service.",
        [
            ["registers", "n", 2, "Number of registers that sell at the same moment.", _count],
            ["delay", None, 1.0, "Seconds that the tax service takes for each answer.", positive],
            ["rounds", "r", 10, "How often it is measured.", _count],
            _STATE,
        ],
        [
            ["both", None, "Measure a sale on protocol B next to one on A instead, in turns."],
            ["plain", None, "Use plain HTTP to the tax service instead of TLS."],
            _JSON,
        ],
    ),
    "history": Part(
        "history",
        "Measure the effect of years of receipts.",
        "Measure start, look-ups and lists with a long history of receipts next to a short one. A million receipts "
        "take 5 GB and five minutes.",
        [
            ["receipts", "n", 100_000, "Receipts of the long history.", _count],
            _STATE,
            ["tills", "t", 8, "With --remove: number of tills that sell.", _count],
            ["rate", "r", 80.0, "With --remove: sales per second in all; 0: as many as possible.", _rate],
        ],
        [_JSON, ["remove", None, "Measure only the removal and its effect on tills: before, during and after."]],
    ),
}


class BenchOptions(Group):
    """``dmtwisted bench``"""

    subCommands: ClassVar[list[Any]] = [
        [name, None, options_class(part.full, part.parameters, part.flags), part.short]
        for name, part in PARTS.items()
    ]
