"""Sales on several registers at the same moment, at a slow tax service: ``dmtwisted bench tax``.

The service, the simulated tax service and the tills are separate processes with sockets between them, by default
with TLS to the tax service. The time counts from a till's first byte to the last byte of its answer. Time above the
delay is ours: signing, the store, checking the ticket, connections.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab import children
from dmtwisted.lab.bench.figures import Figures, Share, quartiles, spread
from dmtwisted.lab.bench.loads import shown_rounds
from dmtwisted.lab.load import percentile, sale_body

FIRST = 4_000_000_001
"""Fiscal number of the first register."""

COMMANDS = "probe"
"""The name of commands in the simulator's rules; a sale needs none."""


@dataclass(frozen=True)
class Round:
    """One round: milliseconds until each till had its answer, in the order of the registers."""

    spent_ms: list[float]

    @property
    def both_ms(self) -> float:
        """Until the last till had its answer."""
        return max(self.spent_ms)


@dataclass(frozen=True)
class Report:
    """The whole measurement, for ``registers`` at once and for one alone."""

    registers: int
    delay_ms: float
    tls: bool
    rounds: list[Round]
    alone: list[Round]
    cpu_ms: dict[str, float] = field(default_factory=dict)
    """Processor time of a sale, by process; empty where unknown. It varies less than the rest on a busy machine."""


def tax_report(folder: Path, registers: int, delay_s: float, rounds: int, tls: bool) -> Report:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale fails, or is issued offline.
    :raises NotStarted: when a process does not start.
    """
    numbers = [FIRST + n for n in range(registers)]
    names = [f"bench-{n}" for n in range(registers)]
    with ExitStack() as running:
        running.enter_context(server := tax_service(folder, numbers, tls))
        selling = running.enter_context(prro_service(folder))
        own = selling.port
        for place, (name, number) in enumerate(zip(names, numbers, strict=True), 1):
            make_prro(selling, name, number, place, server)
        # The first sale is slower, because of imports and tables.
        _round(own, names, "warm-up")
        server.set_rules(*_slow(delay_s))
        before = _spent(selling, server)
        measured, alone = [], []
        for n in shown_rounds(rounds):
            measured.append(_round(own, names, f"all-{n}"))
            alone.append(_round(own, names[:1], f"one-{n}"))
        sales = rounds * (registers + 1)
        cpu = {name: (spent - before[name]) * 1000 / sales for name, spent in _spent(selling, server).items()}
    return Report(registers, delay_s * 1000, tls, measured, alone, cpu)


def _slow(delay_s: float) -> list[dict[str, object]]:
    """The rules of a server that takes some time for each answer."""
    return [{"on": on, "then": "accept", "delay_ms": int(delay_s * 1000), "times": 0} for on in ("any", COMMANDS)]


PROTOCOLS = ("a", "b")


@dataclass(frozen=True)
class Beside:
    """A sale on each protocol, in turns: milliseconds of each round."""

    delay_ms: float
    tls: bool
    spent_ms: dict[str, list[float]]

    @property
    def ratio(self) -> Share:
        """B to A, by round: quartiles."""
        return quartiles([b / a for a, b in zip(*(self.spent_ms[protocol] for protocol in PROTOCOLS), strict=True)])


def beside_report(folder: Path, delay_s: float, rounds: int, tls: bool) -> Beside:
    """Measure a sale on protocol B next to one on A: one service, and a simulated server for each.

    :raises BenchFailed: when a sale fails, or is issued offline.
    :raises NotStarted: when a process does not start.
    """
    names = {protocol: f"bench-{protocol}" for protocol in PROTOCOLS}
    spent: dict[str, list[float]] = {protocol: [] for protocol in PROTOCOLS}
    with ExitStack() as running:
        selling = running.enter_context(prro_service(folder))
        for place, protocol in enumerate(PROTOCOLS):
            own = folder / protocol
            own.mkdir()
            running.enter_context(server := tax_service(own, [FIRST + place], tls, protocol))
            make_prro(selling, names[protocol], FIRST + place, 1, server)
            _round(selling.port, [names[protocol]], "warm-up")
            server.set_rules(*_slow(delay_s))
        for n in shown_rounds(rounds):
            for protocol in PROTOCOLS if n % 2 else reversed(PROTOCOLS):
                spent[protocol].append(_round(selling.port, [names[protocol]], f"{protocol}-{n}").both_ms)
    return Beside(delay_s * 1000, tls, spent)


def beside_words(report: Beside) -> str:
    """The report as text."""
    way = "TLS" if report.tls else "plain HTTP"
    lines = [
        f"A sale at tax services that take {report.delay_ms:.0f} ms for each answer, over {way}, milliseconds:",
        f"{'protocol':>10} {'p50':>8} {'ours, p50':>10}",
    ]
    for protocol, spent in report.spent_ms.items():
        lines.append(f"{protocol:>10} {median(spent):>8.0f} {median(spent) - report.delay_ms:>10.0f}")
    return "\n".join([*lines, f"B to A: {spread(report.ratio)}."])


def _spent(selling: children.Child, server: children.Child) -> dict[str, float]:
    """Seconds of processor time so far, by process; empty where there is no ``/proc``."""
    own, far = children.cpu_of(selling.pid), children.cpu_of(server.pid)
    if own is None or far is None:
        return {}
    return {"service": own.service, "writer": own.writer, "tax service": far.service}


class TaxService(children.Simulator):
    """A simulated tax service with its address and the folder of the keys that it makes."""

    def __init__(self, folder: Path, port: int, tls: bool, words: Sequence[str], control: int, protocol: str) -> None:
        super().__init__("tax-service", ["dmtwisted.commands.main", *words], control, folder / "tax-service.log")
        self.keys, self.tls, self.protocol = folder / "keys", tls, protocol
        self.url = f"{'https' if tls else 'http'}://{children.HOST}:{port}{'/fs' if protocol == 'a' else ''}"


def tax_service(folder: Path, numbers: Sequence[int], tls: bool, protocol: str = "a") -> TaxService:
    """A simulated tax service that knows the registers with these fiscal numbers."""
    words = ["--protocol", protocol] if protocol != "a" else []
    words += ["--keys", str(folder / "keys"), "--ledger", str(folder / "tax.ledger"), *(["--tls"] if tls else [])]
    words += [word for number in numbers for word in ("--register", str(number))]
    command, port, control = children.simulator_command("tax-service", *words)
    return TaxService(folder, port, tls, command, control, protocol)


def prro_service(folder: Path, tree: Path = children.HOME) -> children.Child:
    """The service of ``tree``, not in training mode."""
    state, port = folder / "state", children.free_port()
    state.mkdir()
    command = ["dmtwisted.commands.main", "run", "--state", str(state), "--port", str(port)]
    return children.Child("service", command, port, folder / "state.log", tree)


def make_prro(selling: children.Child, name: str, number: int, place: int, server: TaxService, **more: object) -> str:
    """Create a register at the simulated tax service and open its shift; return its ``dev_id``.

    :raises BenchFailed: when something is refused.
    """
    settings: dict[str, object] = {
        "server_url": server.url,
        "fiscal_number": str(number),
        "local_number": place,
        "fis_code": children.TIN,
        "name": "ТОВ «Крамниця»",
        "shopname": "Крамниця",
        "shopad": "м. Київ",
        "trusted_certificates": children.root_in(server.keys),
        **({"protocol": server.protocol} if server.protocol != "a" else {}),
        **more,
    }
    if server.tls:
        settings["server_ca"] = (server.keys / "authority.pem").read_text("utf-8")
    dev_id = children.make_device(selling, name, "register", "prro", settings)
    children.upload_key(selling, dev_id, server.keys)
    opening = {"ver": 6, "device": name, "tag": f"open-{name}", "type": 1, "fiscal": {"task": 0}}
    children.execute(selling, json.dumps(opening))
    return dev_id


def _round(port: int, names: Sequence[str], salt: str) -> Round:
    """A sale on each register at the same moment, by tills in a child process."""
    command = [sys.executable, "-m", "dmtwisted.lab.bench.tax", str(port), salt, *names]
    done = subprocess.run(command, capture_output=True, env=children.environment(), check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise children.BenchFailed(words[-1] if words else "the tills failed")
    return Round(json.loads(done.stdout))


def _sell(port: int, name: str, salt: str, start: threading.Barrier, spent: dict[str, float]) -> None:
    wire = http.client.HTTPConnection(children.HOST, port, timeout=60)
    wire.connect()
    body = sale_body(name, f"{salt}-{name}").encode()
    start.wait()
    begun = time.perf_counter()
    wire.request("POST", "/dm/execute", body, {"Content-Type": "application/json"})
    answer = json.loads(wire.getresponse().read())
    spent[name] = (time.perf_counter() - begun) * 1000
    wire.close()
    if answer["res"] or answer["info"]["isoffline"]:
        del spent[name]


def tills(port: int, salt: str, names: Sequence[str]) -> list[float]:
    """Milliseconds of each till.

    :raises BenchFailed: when a till has no receipt, or an offline one.
    """
    start, spent = threading.Barrier(len(names)), dict[str, float]()
    threads = [threading.Thread(target=_sell, args=(port, name, salt, start, spent)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(spent) < len(names):
        raise children.BenchFailed(f"{len(names) - len(spent)} of {len(names)} sales failed")
    return [spent[name] for name in names]


def as_json(report: Report) -> dict[str, Any]:
    """The report with its percentiles."""
    return {**asdict(report), "all_ms": _figures(report.rounds), "one_ms": _figures(report.alone)}


def _figures(rounds: Sequence[Round]) -> dict[str, float]:
    ordered = sorted(int(one.both_ms * 1000) for one in rounds)
    return {
        "p50": percentile(ordered, 0.5) / 1000,
        "p95": percentile(ordered, 0.95) / 1000,
        "max": percentile(ordered, 1) / 1000,
    }


def words(report: Report) -> str:
    """The report as text."""
    way = "TLS" if report.tls else "plain HTTP"
    lines = [
        f"A tax service that takes {report.delay_ms:.0f} ms for each answer, over {way}; {len(report.rounds)} rounds."
        " Milliseconds until the last till had its receipt:",
        f"{'registers':>10} {'p50':>8} {'p95':>8} {'max':>8} {'ours, p50':>10}",
    ]
    for number, rounds in ((1, report.alone), (report.registers, report.rounds)):
        found = _figures(rounds)
        ours = found["p50"] - report.delay_ms
        lines.append(f"{number:>10} {found['p50']:>8.0f} {found['p95']:>8.0f} {found['max']:>8.0f} {ours:>10.0f}")
    if report.cpu_ms:
        cpu = ", ".join(f"{name} {spent:.0f} ms" for name, spent in report.cpu_ms.items())
        lines.append(f"Processor time of a sale: {cpu}.")
    return "\n".join(lines)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench tax``."""
    if chosen["both"]:
        beside = beside_report(folder, chosen["delay"], chosen["rounds"], not chosen["plain"])
        return {**asdict(beside), "ratio": asdict(beside.ratio)}, beside_words(beside)
    report = tax_report(folder, chosen["registers"], chosen["delay"], chosen["rounds"], not chosen["plain"])
    return as_json(report), words(report)


def main(arguments: Sequence[str]) -> int:
    """The tills: port, salt and names of registers."""
    port, salt, *names = arguments
    try:
        print(json.dumps(tills(int(port), salt, names)))
    except children.BenchFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
