"""``dmtwisted ready``: does the service on this machine take tasks?  For containers, supervisors and scripts."""

from __future__ import annotations

import sys
from http.client import HTTPException
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.commands.database import PLACE
from dmtwisted.config import ConfigError, Overrides, load
from dmtwisted.doctor.port import Service

PATIENCE = 4.0
"""Seconds for the answer; who asks by a clock waits five."""


class ReadyOptions(usage.Options):
    """``dmtwisted ready``"""

    synopsis = "Usage: dmtwisted ready [options]"
    longdesc = "Ask the service of this machine whether it takes tasks. Status 0: it does; 1: it does not, and why."
    optParameters: ClassVar = [
        *PLACE,
        ["port", None, None, "The TCP port of the service; goes before the file.", int],
    ]


def run(options: ReadyOptions) -> int:
    """Ask, with its own certificate expected where it has one, and return the exit status."""
    try:
        config = load(
            Path(options["config"]) if options["config"] else None,
            Overrides(state=Path(options["state"]) if options["state"] else None, port=options["port"]),
        )
        answer = Service(config).ask("GET", "/health/ready", patience=PATIENCE)
    except (ConfigError, OSError, HTTPException) as error:
        print(f"dmtwisted: {error}", file=sys.stderr)
        return 1
    if answer.status != 200:
        print(f"dmtwisted: not ready: {answer.body}", file=sys.stderr)
        return 1
    return 0
