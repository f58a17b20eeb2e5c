"""The time of a signature, in plain Python and by the machine's libcrypto: ``dmtwisted bench sign``.

A typical receipt is signed as by a register: the hash of the XML, the signed attributes and their hash, the
signature, and the message around them; the XML is not included. Both ways are measured in turn, so that other load
on the machine affects both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures
from dmtwisted.lab.bench.loads import shown_rounds
from dmtwisted.lab.load import percentile
from protocols.fiscal.check_goods import BodyRow
from protocols.fiscal.check_head import CheckHead
from protocols.fiscal.check_xml import Check, CheckTotal, PayRow, TaxRow
from protocols.fiscal.crypto.arithmetic import PLAIN, Arithmetic
from protocols.fiscal.crypto.authority import Authority, Identity
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.self_test import accelerated
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.document_xml import encode


def typical_receipt() -> bytes:
    """The XML of a sale of three items, one of them weighed, paid in cash."""
    head = CheckHead(
        doctype=0,
        docsubtype=0,
        uid="6FF6036F-8BC2-4459-82E4-19D4068AF7F4",
        tin="34554363",
        orgnm="ТОВ «Крамниця»",
        pointnm="Крамниця «Продукти»",
        pointaddr="м. Київ, вул. Прикладна, 1",
        orderdate=date(2026, 9, 21),
        ordertime=time_of_day(9, 0),
        ordernum=2,
        cashdesknum=1,
        cashregisternum=4_000_000_202,
        cashier="Оксана Коваль",
    )
    rows = (
        BodyRow(code="1", name="Хліб житній, 0.7 кг", amount=2000, price=3150, letters="А", cost=6300),
        BodyRow(code="2", name="Сир твердий ваговий", amount=315, price=42000, letters="А", cost=13230),
        BodyRow(code="3", name="Пакет", amount=1000, price=420, cost=420),
    )
    tax = TaxRow(
        type=0,
        name="ПДВ",
        letter="А",
        prc=2000,
        sign=False,
        turnover=19530,
        turnoverdiscount=19530,
        sourcesum=19530,
        sum=3255,
    )
    return encode(
        Check(
            checkhead=head,
            checktotal=CheckTotal(sum=19950),
            checkpay=(PayRow(payformcd=0, payformnm="Готівка", sum=19950, provided=19950),),
            checktax=(tax,),
            checkbody=rows,
        )
    )


@dataclass(frozen=True)
class Signed:
    """The time of one way in milliseconds; the 95 % are of single rounds.

    ``cpu_p50_ms`` and ``cpu_p95_ms`` are processor time, which does not depend on other load.
    """

    by: str
    p50_ms: float
    p95_ms: float
    p95_low_ms: float
    p95_high_ms: float
    cpu_p50_ms: float
    cpu_p95_ms: float


@dataclass(frozen=True)
class Report:
    """The whole measurement; ``why_plain`` is the reason if the second row is missing."""

    receipt_bytes: int
    message_bytes: int
    curve_m: int
    count: int
    rounds: int
    rows: list[Signed]
    why_plain: str = ""


def ways() -> tuple[list[Arithmetic], str]:
    """The ways to multiply points on this machine, and why the library is missing, if it is."""
    try:
        return [PLAIN, accelerated()], ""
    except SelfTestFailed as why:
        return [PLAIN], str(why)


def signing_report(
    count: int,
    rounds: int,
    clock: Callable[[], int] = time.perf_counter_ns,
    processor: Callable[[], int] = time.thread_time_ns,
) -> Report:
    """Sign ``count`` receipts per round, each way in turn."""
    receipt = typical_receipt()
    owner = Authority(datetime.now(UTC)).cashier("Оксана Коваль", "34554363")
    found, why = ways()
    seen: dict[str, list[list[int]]] = {way.name: [] for way in found}
    used: dict[str, list[list[int]]] = {way.name: [] for way in found}
    message = b""
    for way in found:
        # The first signature makes tables.
        message = _sign(receipt, owner, way)
    for _ in shown_rounds(rounds):
        for way in found:
            spent, worked = [], []
            for _ in range(count):
                begun, busy = clock(), processor()
                _sign(receipt, owner, way)
                worked.append(processor() - busy)
                spent.append(clock() - begun)
            seen[way.name].append(sorted(spent))
            used[way.name].append(sorted(worked))
    rows = [_row(name, spent, used[name]) for name, spent in seen.items()]
    return Report(len(receipt), len(message), owner.key.curve.m, count, rounds, rows, why)


def _sign(receipt: bytes, owner: Identity, by: Arithmetic) -> bytes:
    return sign(receipt, owner.key, owner.certificate, by=by)


def _row(name: str, spent: Sequence[Sequence[int]], used: Sequence[Sequence[int]]) -> Signed:
    def each(rounds: Sequence[Sequence[int]], share: float) -> list[float]:
        return [percentile(one, share) / 1e6 for one in rounds]

    late = each(spent, 0.95)
    return Signed(
        by=name,
        p50_ms=median(each(spent, 0.5)),
        p95_ms=median(late),
        p95_low_ms=min(late),
        p95_high_ms=max(late),
        cpu_p50_ms=median(each(used, 0.5)),
        cpu_p95_ms=median(each(used, 0.95)),
    )


def words(report: Report) -> str:
    """The report as text."""
    lines = [
        f"One signature: a receipt of {report.receipt_bytes} bytes (sale of three items) made a signed message of"
        f" {report.message_bytes} bytes;",
        f"both hashes (GOST 34.311), attributes, DSTU 4145 on the curve of m = {report.curve_m}."
        f" {report.rounds} rounds of {report.count}.",
        "",
        f"{'':28} {'median':>9} {'95 %':>9}  {'95 % of the rounds':>19}   {'processor: median, 95 %':>23}",
    ]
    for row in report.rows:
        spread = f"{row.p95_low_ms:.2f} to {row.p95_high_ms:.2f} ms"
        used = f"{row.cpu_p50_ms:.2f}, {row.cpu_p95_ms:.2f} ms"
        lines.append(f"{row.by:28} {row.p50_ms:6.2f} ms {row.p95_ms:6.2f} ms  {spread:>19}   {used:>23}")
    if report.why_plain:
        lines += ["", f"The machine's library is not used: {report.why_plain}."]
    return "\n".join(lines)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench sign``."""
    report = signing_report(chosen["count"], chosen["rounds"])
    return asdict(report), words(report)
