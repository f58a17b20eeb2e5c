"""``python -m tests.attacks``: try every variant against a real service process, and write the table of the docs."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.attacks.every import FAMILIES, close_desks, try_variant
from tests.attacks.variants import Family, Variant

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
BEGIN, END = "<!-- made by python -m tests.attacks -->\n", "<!-- end -->\n"
RESULT = Path("build") / "attacks.json"


def table() -> str:
    """The classes: how many variants were tried, held, and are accepted because the specification demands it."""
    rows = ["|Class|Tried|Held|Accepted|", "|---|---|---|---|"]
    total: Counter[str] = Counter()
    for family in FAMILIES:
        counts = _counts(family)
        total += counts
        rows.append(_row(family.title, counts))
    rows.append(_row("**All**", total))
    return "\n".join(rows) + "\n"


def _counts(family: Family) -> Counter[str]:
    accepted = sum(bool(each.openness) for each in family)
    tried = len(family.variants)
    return Counter(tried=tried, held=tried - accepted, accepted=accepted)


def _row(title: str, counts: Counter[str]) -> str:
    return f"|{title}|{'|'.join(str(counts[name]) for name in ('tried', 'held', 'accepted'))}|"


def page(text: str) -> str:
    """``text`` with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def listing() -> str:
    """Every variant on a line of its own."""
    return "".join(
        f"{each.id} [{each.severity}] {each.sends}: {each.expects}"
        f"{f' Accepted: specification {each.openness}.' if each.openness else ''}\n"
        for family in FAMILIES
        for each in family
    )


def try_all(variants: Sequence[Variant]) -> int:
    """Try the variants on real processes, print and write what came of each; how many broke."""
    results = []
    for number, variant in enumerate(variants, 1):
        begun, fault = time.monotonic(), ""
        try:
            try_variant(variant, real=True)
        except Exception:
            fault = traceback.format_exc()
        result = "broke" if fault else "accepted" if variant.openness else "held"
        results.append({"id": variant.id, "severity": variant.severity, "sends": variant.sends,
                        "expects": variant.expects, "result": result, "fault": fault[-2000:]})  # fmt: skip
        print(f"{number:4}/{len(variants)} {result:8} {time.monotonic() - begun:5.1f} s  {variant.id}", flush=True)
        if fault:
            print(fault[-2000:], flush=True)
    close_desks()
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, ensure_ascii=False, indent=1), "utf-8")
    counts = Counter(str(each["result"]) for each in results)
    print(f"{len(results)} tried, {counts['held']} held, {counts['broke']} broke, {counts['accepted']} accepted")
    return counts["broke"]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", help="the beginnings of ids: access, json.deep")
    parser.add_argument("--list", action="store_true", help="list the variants and try nothing")
    parser.add_argument("--table", action="store_true", help="write the table of docs/security.md and try nothing")
    options = parser.parse_args()
    if options.list:
        sys.stdout.write(listing())
        return
    if options.table:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
        return
    every = [each for family in FAMILIES for each in family]
    chosen = [each for each in every if not options.names or each.id.startswith(tuple(options.names))]
    broken = try_all(chosen)
    if not (broken or options.names):
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    sys.exit(1 if broken else 0)
