"""The command line of ``dmtwisted bench``."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.python import usage

from dmtwisted.lab.bench.keeping import USUAL_SIZES, sizes


def numbers(text: str) -> list[int]:
    """``"1,8,64"`` as numbers.

    :raises ValueError: when one of them is not a positive whole number.
    """
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(f"{min(found)} is not positive")
    return found


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError(f"{text} is not positive")
    return value


def _count(text: str) -> int:
    return numbers(text)[0]


def _rate(text: str) -> float:
    return 0.0 if float(text) == 0 else _positive(text)


class SalesOptions(usage.Options):
    """``dmtwisted bench sales``"""

    synopsis = "Usage: dmtwisted bench sales [options]"
    longdesc = "Durable sales over HTTP, next to the plain resource and to the store's writer alone."
    optParameters: ClassVar[list[Any]] = [
        ["connections", "c", [1, 8, 64], "Numbers of connections, separated by commas.", numbers],
        ["seconds", "s", 5.0, "How long each measurement takes.", _positive],
        ["rounds", "r", 3, "How often each measurement is repeated, in turn with the others.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
        [
            "database",
            None,
            "",
            "The URL of an empty PostgreSQL database to measure, beside the plain resource alone.",
        ],
    ]
    optFlags: ClassVar[list[Any]] = [["json", "j", "Print the figures as JSON."]]


class WriterOptions(usage.Options):
    """``dmtwisted bench writer``"""

    synopsis = "Usage: dmtwisted bench writer [options]"
    longdesc = "The store alone: what a sale keeps, from so many sales at once. Prints JSON."
    optParameters: ClassVar[list[Any]] = [
        ["connections", "c", 8, "How many sales are under way at once.", _count],
        ["seconds", "s", 5.0, "How long the measurement takes.", _positive],
        ["sizes", None, USUAL_SIZES, "Bytes of document, sent document, answer and register state.", sizes],
        ["database", None, None, "The URL of an empty PostgreSQL database to measure, instead of a SQLite file."],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]


class SignOptions(usage.Options):
    """``dmtwisted bench sign``"""

    synopsis = "Usage: dmtwisted bench sign [options]"
    longdesc = "Signing a typical receipt, in plain Python and by the machine's libcrypto where it can be used."
    optParameters: ClassVar[list[Any]] = [
        ["count", "c", 100, "Signatures in each round.", _count],
        ["rounds", "r", 5, "How often each way has its turn.", _count],
    ]
    optFlags: ClassVar[list[Any]] = [["json", "j", "Print the figures as JSON."]]


class TaxOptions(usage.Options):
    """``dmtwisted bench tax``"""

    synopsis = "Usage: dmtwisted bench tax [options]"
    longdesc = "A sale on each of several registers at the same moment, at a simulated tax service that is slow."
    optParameters: ClassVar[list[Any]] = [
        ["registers", "n", 2, "How many registers sell at the same moment.", _count],
        ["delay", None, 1.0, "Seconds that the tax service takes for each answer.", _positive],
        ["rounds", "r", 10, "How often it is measured.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["plain", None, "Plain HTTP to the tax service instead of TLS."],
        ["json", "j", "Print the figures as JSON."],
    ]


class PeersOptions(usage.Options):
    """``dmtwisted bench peers``"""

    synopsis = "Usage: dmtwisted bench peers [options]"
    longdesc = (
        "Durable sales next to the same sale written plainly with FastAPI + uvicorn and with aiohttp + uvloop, "
        "by turns. The peers are in the source tree; pip install -e '.[bench]' brings what they need."
    )
    optParameters: ClassVar[list[Any]] = [
        ["connections", "c", [64], "Numbers of connections, separated by commas.", numbers],
        ["seconds", "s", 5.0, "How long each measurement takes.", _positive],
        ["rounds", "r", 3, "How often each measurement is repeated, in turn with the others.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]
    optFlags: ClassVar[list[Any]] = [["json", "j", "Print the figures as JSON."]]


class HistoryOptions(usage.Options):
    """``dmtwisted bench history``"""

    synopsis = "Usage: dmtwisted bench history [options]"
    longdesc = (
        "A long history of receipts next to a short one: start, look-ups, lists, and selling while half of it is "
        "removed. A million receipts take 5 GB and half an hour."
    )
    optParameters: ClassVar[list[Any]] = [
        ["receipts", "n", 100_000, "Receipts of the long history.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
        ["tills", "t", 8, "With --remove: how many tills sell.", _count],
        ["rate", "r", 80.0, "With --remove: sales a second in all; 0: as many as there can be.", _rate],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["json", "j", "Print the figures as JSON."],
        ["remove", None, "Only the removal, with what tills feel of it: before, beside and after."],
    ]


_ROUNDS = ["rounds", "r", 3, "How often each measurement is repeated, in turn with the others.", _count]
_SECONDS = ["seconds", "s", 5.0, "How long each measurement takes.", _positive]
_STATE = ["state", "d", None, "Make the temporary folder in this one: the disk to measure."]
_DATABASE = ["database", None, "", "The URL of an empty PostgreSQL database to measure, instead of a SQLite file."]
_JSON = ["json", "j", "Print the figures as JSON."]


def _connections(default: list[int]) -> list[Any]:
    return ["connections", "c", default, "Numbers of connections, separated by commas.", numbers]


class LookUpsOptions(usage.Options):
    """``dmtwisted bench look-ups``"""

    synopsis = "Usage: dmtwisted bench look-ups [options]"
    longdesc = "Look-ups by tag of receipts that were just made, next to the plain resource."
    optParameters: ClassVar[list[Any]] = [_connections([1, 8, 64]), _SECONDS, _ROUNDS, _DATABASE, _STATE]
    optFlags: ClassVar[list[Any]] = [_JSON]


class BusyOptions(usage.Options):
    """``dmtwisted bench busy``"""

    synopsis = "Usage: dmtwisted bench busy [options]"
    longdesc = "What everybody hears of registers in the middle of a sale (1105), next to the plain resource."
    optParameters: ClassVar[list[Any]] = [_connections([1, 8, 64]), _SECONDS, _ROUNDS, _DATABASE, _STATE]
    optFlags: ClassVar[list[Any]] = [_JSON]


class PaymentsOptions(usage.Options):
    """``dmtwisted bench payments``"""

    synopsis = "Usage: dmtwisted bench payments [options]"
    longdesc = "Payments at simulated terminals, each in a process of its own, whose customers take no time."
    optParameters: ClassVar[list[Any]] = [_connections([1, 4]), _SECONDS, _ROUNDS, _DATABASE, _STATE]
    optFlags: ClassVar[list[Any]] = [_JSON]


class OpenOptions(usage.Options):
    """``dmtwisted bench open``"""

    synopsis = "Usage: dmtwisted bench open [options]"
    longdesc = (
        "Open load: sales at constant rates, whether the service keeps up or not; a time counts from the moment at "
        "which the sale was due."
    )
    optParameters: ClassVar[list[Any]] = [
        ["rates", None, [100, 500, 1000], "Sales a second, separated by commas.", numbers],
        ["connections", "c", 64, "Over how many connections and registers.", _count],
        _SECONDS,
        _ROUNDS,
        _DATABASE,
        _STATE,
    ]
    optFlags: ClassVar[list[Any]] = [_JSON]


class TlsOptions(usage.Options):
    """``dmtwisted bench tls``"""

    synopsis = "Usage: dmtwisted bench tls [options]"
    longdesc = "Sales over HTTPS next to HTTP, on connections that are kept and on a new one for each sale."
    optParameters: ClassVar[list[Any]] = [_connections([8]), _SECONDS, _ROUNDS, _STATE]
    optFlags: ClassVar[list[Any]] = [_JSON]


class IdleOptions(usage.Options):
    """``dmtwisted bench idle``"""

    synopsis = "Usage: dmtwisted bench idle [options]"
    longdesc = "Memory and processor time while nobody sells: registers, terminals and printers, all simulated."
    optParameters: ClassVar[list[Any]] = [
        ["devices", "n", 50, "How many devices there are.", _count],
        ["sales", None, 4, "Sales on each register beforehand.", _count],
        ["seconds", "s", 20.0, "How long the processor is watched.", _positive],
        _STATE,
    ]
    optFlags: ClassVar[list[Any]] = [_JSON]


class StartOptions(usage.Options):
    """``dmtwisted bench start``"""

    synopsis = "Usage: dmtwisted bench start [options]"
    longdesc = "How soon the service is ready, on the data of an earlier run."
    optParameters: ClassVar[list[Any]] = [
        ["devices", "n", 50, "How many devices there are.", _count],
        ["rounds", "r", 5, "How often it is started.", _count],
        _STATE,
    ]
    optFlags: ClassVar[list[Any]] = [_JSON]


class StepsOptions(usage.Options):
    """``dmtwisted bench steps``"""

    synopsis = "Usage: dmtwisted bench steps [options]"
    longdesc = "Where a sale's time goes, step by step, as a till waits for it."
    optParameters: ClassVar[list[Any]] = [_connections([1, 8, 64]), _SECONDS, _STATE]
    optFlags: ClassVar[list[Any]] = [_JSON]


class BenchOptions(usage.Options):
    """``dmtwisted bench``"""

    synopsis = "Usage: dmtwisted bench PART [options]"
    subCommands: ClassVar[list[Any]] = [
        ["sales", None, SalesOptions, "Durable sales over HTTP, next to their ceilings."],
        ["peers", None, PeersOptions, "Durable sales next to the same written with other frameworks."],
        ["open", None, OpenOptions, "Sales that come at constant rates."],
        ["steps", None, StepsOptions, "Where a sale's time goes, step by step."],
        ["look-ups", None, LookUpsOptions, "Receipts asked for by their tags."],
        ["busy", None, BusyOptions, "Answers of registers that work."],
        ["payments", None, PaymentsOptions, "Payments at simulated terminals."],
        ["tls", None, TlsOptions, "Sales over HTTPS next to HTTP."],
        ["idle", None, IdleOptions, "Memory and processor time at rest."],
        ["start", None, StartOptions, "How soon the service is ready."],
        ["writer", None, WriterOptions, "The store's writer alone."],
        ["sign", None, SignOptions, "Signing a receipt for the tax service."],
        ["tax", None, TaxOptions, "Registers at a slow tax service."],
        ["history", None, HistoryOptions, "What years of receipts do to the service."],
    ]

    def postOptions(self) -> None:
        """One of the measurements has to be named."""
        if not self.subCommand:
            raise usage.UsageError(f"say what to measure: {', '.join(str(part[0]) for part in self.subCommands)}")
