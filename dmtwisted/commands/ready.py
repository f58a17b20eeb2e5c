"""``dmtwisted ready``: does the service on this machine accept tasks?  For containers, supervisors and scripts."""

from __future__ import annotations

from http.client import HTTPException
from typing import ClassVar

from dmtwisted.commands.console import FAILED, complain
from dmtwisted.commands.options import PLACE, PORT, CommandOptions
from dmtwisted.commands.shared import configuration
from dmtwisted.config import ConfigError
from dmtwisted.doctor.port import Service

PATIENCE = 4.0
"""Seconds to wait for the answer; supervisors usually wait five."""


LOOK = "dmtwisted doctor says what is wrong, with the same options."


class ReadyOptions(CommandOptions):
    """``dmtwisted ready``"""

    longdesc = (
        "Check whether the service on this machine accepts tasks. Exit status 0 when it does, else 1 and the reason."
    )
    optParameters: ClassVar = [*PLACE, PORT]


def run(options: ReadyOptions) -> int:
    """Ask, expecting the configured certificate if there is one, and return the exit status."""
    try:
        service = Service(configuration(options))
    except ConfigError as error:
        complain(str(error), error.advice)
        return FAILED
    try:
        answer = service.ask("GET", "/health/ready", patience=PATIENCE)
    except (OSError, HTTPException) as error:
        why = error.strerror if isinstance(error, OSError) else None
        complain(f"no answer on {service.where}: {why or error or type(error).__name__}", LOOK)
        return FAILED
    if answer.status != 200:
        complain(f"not ready: {answer.body}", LOOK)
        return FAILED
    return 0
