"""What schemathesis checks of each answer beside its own rules; it loads this file by ``SCHEMATHESIS_HOOKS``."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

LONGEST = 1.0
"""Seconds in which whatever asks no terminal has to be answered."""

LONGEST_OF_TERMINAL = 10.0
"""Seconds for what goes to a simulated terminal, which takes a second for each operation, or to a foreign address."""

_SLOW = ("/check", "/dm/bank", "/dm/execute-pkg", "/reprint", "/slip")
"""Ends and beginnings of paths behind which another machine, or the simulated paper, may be waited for."""


def patience(path: str, body: object) -> float:
    """Seconds in which a request has to be answered."""
    asks_terminal = isinstance(body, dict) and (body.get("device") != "test" or body.get("pay") is not None)
    slow = any(each in path for each in _SLOW) or (path.startswith("/dm/execute") and asks_terminal)
    return LONGEST_OF_TERMINAL if slow else LONGEST


@schemathesis.check
def in_time(ctx: Any, response: Any, case: Any) -> bool | None:
    """No answer hangs."""
    longest = patience(case.path, case.body)
    # A machine that has other things to do stalls once in a while; what hangs, hangs again.
    if response.elapsed > longest and case.call().elapsed > longest:
        asked = json.dumps(case.body, default=str)[:200]
        raise AssertionError(
            f"{case.method} {case.path} took {response.elapsed:.2f} s, {longest} are allowed: {asked}"
        )
    return None
