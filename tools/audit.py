"""Asks pip-audit for known holes in the pinned versions: ``python -m tools.audit``.

The exit status is 0 if none are known and 1 if some are. It is 2, with one line, if its data could not be reached,
which pip-audit itself calls a success.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.pins import BUILD_PINS, PINS

OPTIONS = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")


def everywhere(pins: str) -> str:
    """Pins without their markers: pip-audit would leave out those of other systems, and not say so."""
    return re.sub(r" ; [^\\\n]*", " ", pins)


def audited(command: Sequence[str]) -> tuple[int, str]:
    """Run pip-audit; the exit status, and what to say."""
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        parts = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        parts = []
    if not parts:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return 2, f"Not audited: pip-audit told nothing ({last})"
    lines = [
        f"{part['name']} {part['version']}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'no version'}"
        for part in parts
        for hole in part.get("vulns", ())
    ]
    status = 1 if lines else 0
    if skipped := [part["skip_reason"] for part in parts if "vulns" not in part]:
        lines.append(f"Not audited: pip-audit has no data on {len(skipped)} of {len(parts)} versions ({skipped[0]})")
        status = status or 2
    return status, "\n".join(lines) or f"No known holes in {len(parts)} pinned versions"


def main() -> None:
    """Print it and leave."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pins.txt")
        file.write_text(everywhere(PINS.read_text("utf-8") + BUILD_PINS.read_text("utf-8")), "utf-8")
        status, text = audited([sys.executable, "-m", "pip_audit", *OPTIONS, "--requirement", str(file)])
    print(text, file=sys.stderr if status else sys.stdout)
    sys.exit(status)


if __name__ == "__main__":
    main()
