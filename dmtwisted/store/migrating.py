"""Run the migration of a database in a separate process (`dmtwisted.store.migrate`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from twisted.internet.utils import getProcessOutputAndValue

from dmtwisted.store.values import StoreFailed
from dmtwisted.system.environment import environment


async def run_migration(reactor: Any, arguments: Sequence[str], variables: dict[str, str], prefix: str = "") -> None:
    """Bring a database to the newest revision.

    :param variables: what is added to the environment.
    :param prefix: goes before the reason of a failure.
    :raises StoreFailed: when that fails.
    """
    try:
        ended = getProcessOutputAndValue(
            sys.executable,
            ["-m", "dmtwisted.store.migrate", *arguments],
            {**environment(), **variables},
            reactor=reactor,
        )
        # When a signal ended it, the same three values come as a failure that holds no exception.
        _, complaint, status = await ended.addErrback(lambda reason: reason.value)
    except OSError as error:
        raise StoreFailed(f"no process for the database: {error}") from error
    if status:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:]
        raise StoreFailed(f"{prefix}{last[0] if last else 'the database could not be brought up to date'}")
