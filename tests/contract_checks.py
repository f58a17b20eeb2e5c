"""What schemathesis checks of each answer beside its own checks; `SCHEMATHESIS_HOOKS` names this file."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

LONGEST = 1.0
"""The longest time of an answer that does not wait for a device, in seconds."""

LONGEST_OF_OTHERS = 10.0
"""The longest time of an answer that waits for something outside the service, in seconds."""

_SLOW = (
    # Another machine, or a simulated terminal, which takes a second for each operation.
    *("/check", "/dm/bank", "/dm/execute-pkg"),
    # The paper of a simulated printer; a thread draws its picture.
    *("/reprint", "/slip", "/strip", "/picture"),
    # Certificates and keys are opened in a process of their own, which takes time to start.
    *("/tls", "/certificate", "/prro/sign", "/diagnostics"),
    # A process that stands back behind all others makes a backup, and the answer says what came of it.
    "/doctor/fix",
)
"""Paths that wait for something; none of them makes a till wait."""


def patience(path: str, body: object) -> float:
    """The longest time of an answer, in seconds."""
    asks_terminal = isinstance(body, dict) and (body.get("device") != "test" or body.get("pay") is not None)
    slow = any(each in path for each in _SLOW) or (path.startswith("/dm/execute") and asks_terminal)
    return LONGEST_OF_OTHERS if slow else LONGEST


@schemathesis.check
def in_time(ctx: Any, response: Any, case: Any) -> bool | None:
    """Every answer comes in time."""
    longest = patience(case.path, case.body)
    # A busy machine may be slow once; a request that hangs is slow again.
    if response.elapsed > longest and case.call().elapsed > longest:
        asked = json.dumps(case.body, default=str)[:200]
        raise AssertionError(
            f"{case.method} {case.path} took {response.elapsed:.2f} s, {longest} are allowed: {asked}"
        )
    return None
