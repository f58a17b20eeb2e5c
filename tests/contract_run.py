"""schemathesis against the real service: ``python -m tests.contract_run`` or ``make contract``.

It makes requests from the OpenAPI document, valid and invalid ones, and compares every answer with it: each status,
media type and body must be in the document, and there is no internal error (5xx), no request that hangs, no growth
of memory. The service runs in training mode in a process of its own. Left out are the stream of events, which never
ends, and the clock of the training mode, which would change the time of all other requests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dmtwisted.lab.children import HOME, HOST, family, free_port, is_writer, service

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "in_time",
)

LEFT_OUT = ("/dm/api/v3/events", "/dm/api/v3/training/clock")

MOST_GROWTH = 64.0
"""How much the memory of service and writer may grow, in megabytes."""


def memory_of(pid: int) -> float:
    """The memory of the service and its writer in megabytes: the sum of PSS; 0 without ``/proc``."""
    total = 0
    # What draws print forms stays in processes of its own for some minutes.
    for member in (pid, *filter(is_writer, family(pid))):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text("utf-8").splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def run(
    folder: Path, seconds: int, examples: int, seed: int, phases: str, only: Sequence[str] = ()
) -> tuple[int, float, str]:
    """Its exit status, the growth in megabytes, and its output.

    :param only: the paths to test; all when there are none.
    """
    port = free_port()
    with service(folder / "state", port) as child:
        # The first request for the document loads the modules that make it.
        child.ask("GET", "/dm/api/v3/openapi.json")
        before = memory_of(child.pid)
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"http://{HOST}:{port}/dm/api/v3/openapi.json"),
            *("--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", str(examples)),
            *("--seed", str(seed), "--max-time", str(seconds), "--max-redirects", "0", "--request-timeout", "20"),
            *("--continue-on-failure", "--no-color", "--warnings", "off", "--generation-database", "none"),
        ]
        for path in only or LEFT_OUT:
            command += ["--include-path" if only else "--exclude-path", path]
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract_checks", "PYTHONPATH": str(HOME)}
        done = subprocess.run(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        alive = child.ask("GET", "/health/ready")[0] == 200
        grown = memory_of(child.pid) - before
    said = done.stdout.decode("utf-8", "replace")
    return (done.returncode if alive else 1), grown, said if alive else said + "\nthe service is not ready any more"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print the findings; the exit status says whether there were none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=int, default=240, help="how long")
    parser.add_argument("--examples", type=int, default=25, help="random requests for each path")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--phases", default="examples,coverage,fuzzing")
    parser.add_argument("--only", action="append", default=[], help="a path; every one when there are none")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-contract-"))
    try:
        status, grown, said = run(folder, asked.seconds, asked.examples, asked.seed, asked.phases, asked.only)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(said)
    print(f"memory grew by {grown:.1f} MB")
    return 1 if status or grown > MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
