"""``dmtwisted ready``: does the service on this machine accept tasks?  For containers, supervisors and scripts."""

from __future__ import annotations

import sys
from http.client import HTTPException
from typing import ClassVar

from dmtwisted.commands.shared import PLACE, PORT, CommandOptions, configuration
from dmtwisted.config import ConfigError
from dmtwisted.doctor.port import Service

PATIENCE = 4.0
"""Seconds to wait for the answer; supervisors usually wait five."""


class ReadyOptions(CommandOptions):
    """``dmtwisted ready``"""

    longdesc = (
        "Check whether the service on this machine accepts tasks. Exit status 0 when it does, else 1 and the reason."
    )
    optParameters: ClassVar = [*PLACE, PORT]


def run(options: ReadyOptions) -> int:
    """Ask, expecting the configured certificate if there is one, and return the exit status."""
    try:
        answer = Service(configuration(options)).ask("GET", "/health/ready", patience=PATIENCE)
    except (ConfigError, OSError, HTTPException) as error:
        print(f"dmtwisted: {error}", file=sys.stderr)
        return 1
    if answer.status != 200:
        print(f"dmtwisted: not ready: {answer.body}", file=sys.stderr)
        return 1
    return 0
