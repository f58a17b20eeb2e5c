"""What schemathesis checks of each answer beside its own rules; it loads this file by ``SCHEMATHESIS_HOOKS``."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

LONGEST = 1.0
"""Seconds in which whatever asks no terminal has to be answered."""

LONGEST_OF_OTHERS = 10.0
"""Seconds for what waits for something else than the service."""

_SLOW = (
    # Another machine, or a simulated terminal, which takes a second for each operation.
    *("/check", "/dm/bank", "/dm/execute-pkg"),
    # The simulated paper; pictures are drawn in a thread.
    *("/reprint", "/slip", "/strip", "/picture"),
    # Certificates and keys are opened in a process of their own, which takes its time to start.
    *("/tls", "/certificate", "/prro/sign", "/diagnostics"),
)
"""Parts of paths behind which something else is waited for; none of it keeps a till waiting."""


def patience(path: str, body: object) -> float:
    """Seconds in which a request has to be answered."""
    asks_terminal = isinstance(body, dict) and (body.get("device") != "test" or body.get("pay") is not None)
    slow = any(each in path for each in _SLOW) or (path.startswith("/dm/execute") and asks_terminal)
    return LONGEST_OF_OTHERS if slow else LONGEST


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
