"""The cost of TLS: ``dmtwisted bench tls``. The same sales over HTTPS and HTTP, on open and on new connections.

Two services of the same build, one with a certificate (P-256, created here), are loaded in turn. An open connection
costs only encryption; a new one for each sale costs a full handshake.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.access.authority import issue, make_authority
from dmtwisted.lab.bench.figures import Figures, Share, columns, medians, share, spread, with_disk
from dmtwisted.lab.bench.loads import PREFIX, WARM_UP, load_on, measured, shown_rounds
from dmtwisted.lab.children import (
    HOST,
    START_PATIENCE,
    Child,
    free_port,
    make_register,
    service,
    service_command,
)
from dmtwisted.lab.load import Load


@dataclass(frozen=True)
class Turn:
    """One measurement over TLS and, right after it, without; the service's processor time of a sale in µs."""

    sealed: Load
    clear: Load
    sealed_cpu_us: float | None
    clear_cpu_us: float | None


@dataclass(frozen=True)
class Row:
    """One line of the table; medians of the rounds."""

    way: str
    connections: int
    sales_per_s: float
    p50_ms: float
    p99_ms: float
    service_cpu_us: float | None
    clear_per_s: float
    clear_cpu_us: float | None
    of_clear: Share


def row_of(way: str, connections: int, turns: Sequence[Turn]) -> Row:
    """The figures of ``turns``."""
    sealed = [turn.sealed_cpu_us for turn in turns if turn.sealed_cpu_us is not None]
    clear = [turn.clear_cpu_us for turn in turns if turn.clear_cpu_us is not None]
    return Row(
        way,
        connections,
        *medians([turn.sealed for turn in turns]),
        median(sealed) if sealed else None,
        median(turn.clear.rate for turn in turns),
        median(clear) if clear else None,
        share([turn.sealed.rate / turn.clear.rate for turn in turns]),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    head = ["connections", "", "sales/s", "p50 ms", "p99 ms", "service µs"]
    lines = [[*head, "in the clear/s", "service µs", "of that (min..max)"]]
    for row in rows:
        cpu = ["" if one is None else f"{one:.0f}" for one in (row.service_cpu_us, row.clear_cpu_us)]
        figures = [f"{row.sales_per_s:.0f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}", cpu[0]]
        lines.append(
            [str(row.connections), row.way, *figures, f"{row.clear_per_s:.0f}", cpu[1], spread(row.of_clear)]
        )
    return columns(lines)


class SealedChild(Child):
    """A service over TLS, whose certificate is issued by ``authority``."""

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path, authority: Path) -> None:
        super().__init__(name, command, port, log)
        self._trusted = ssl.create_default_context(cafile=str(authority))

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("localhost", self.port, timeout=START_PATIENCE, context=self._trusted)


def sealed_service(state: Path, port: int) -> tuple[SealedChild, Path]:
    """The real service over TLS with a new certificate, and the authority's certificate."""
    authority = make_authority(time.time())
    own = issue(authority, ["localhost", HOST], time.time())
    trusted, pair, key = (state.parent / f"{state.name}{end}" for end in (".authority.pem", ".pem", ".key"))
    trusted.write_bytes(authority.certificates_pem())
    pair.write_bytes(own.certificates_pem())
    key.write_bytes(own.key_pem())
    key.chmod(0o600)
    config = state.parent / f"{state.name}.toml"
    config.write_text(f'[tls]\ncertificate = "{pair}"\nkey = "{key}"\n', "utf-8")
    command = [*service_command(state, port), "--config", str(config)]
    return SealedChild("service", command, port, state.parent / f"{state.name}.log", trusted), trusted


WAYS: dict[str, tuple[str, ...]] = {"kept": (), "new for each sale": ("--fresh",)}
"""How connections are used, with the arguments of the load."""


def tls_report(folder: Path, connections: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale fails.
    :raises NotStarted: when a process does not start.
    """
    states = [folder / "sealed", folder / "clear"]
    for state in states:
        state.mkdir()
    child, authority = sealed_service(states[0], free_port())
    turns_of: dict[tuple[str, int], list[Turn]] = {}
    with child as sealed, service(states[1], free_port()) as clear:
        trusted = ("--trusted", str(authority), "--host", "localhost")
        for one in (sealed, clear):
            for n in range(max(connections)):
                make_register(one, f"{PREFIX}{n}")
            load_on(one, max(connections), WARM_UP, "warm-up", *(trusted if one is sealed else ()))
        for turn in shown_rounds(rounds):
            for way, words in WAYS.items():
                for number in connections:
                    salt = f"{len(words)}-{number}-{turn}"
                    loads, cpu = [], []
                    both: list[tuple[Child, tuple[str, ...]]] = [(sealed, (*words, *trusted)), (clear, words)]
                    for one, more in both:
                        load, spent = measured(one, number, seconds, salt, *more)
                        loads.append(load)
                        cpu.append(None if spent is None else spent[0])
                    turns_of.setdefault((way, number), []).append(Turn(loads[0], loads[1], cpu[0], cpu[1]))
    return [row_of(way, number, turns) for (way, number), turns in sorted(turns_of.items())]


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench tls``."""
    rows = tls_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return with_disk(folder, rows, table(rows))
