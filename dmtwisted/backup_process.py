"""The process that makes a backup for a page (`dmtwisted.backups`)."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from dmtwisted.backups import BackupProgress, Order
from dmtwisted.clock import kyiv
from dmtwisted.config import BACKUPS
from dmtwisted.store.carry.backing_up import make_backup
from dmtwisted.store.opening import open_rows
from dmtwisted.store.rows import CarryError
from dmtwisted.system.apart import tell

PACE = 0.5
"""Seconds between two lines of progress."""


def back_up(given: bytes) -> bytes:
    """Make a backup; the reason when it fails, empty when it is done."""
    asked = msgspec.json.decode(given, type=Order)
    state = Path(asked.state)
    target = state / BACKUPS / f"dmtwisted-{kyiv(asked.now):%Y%m%d-%H%M%S}.tar.gz"
    leave_out = [Path(asked.database), state / "dmtwisted.db", *([Path(asked.log)] if asked.log else [])]
    last = 0.0

    def report(doing: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= PACE:
            last = time.monotonic()
            tell(msgspec.json.encode(BackupProgress(doing, done, total)))

    try:
        with open_rows(asked.url, reading=True) as rows:
            make_backup(rows, state, leave_out, target, int(time.time() * 1000), report)
    except (CarryError, OSError) as error:
        return str(error).encode()
    return b""
