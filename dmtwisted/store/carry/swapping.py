"""Replace files by restored ones: all of them, even if the power fails in between.

A plan is written first, then carried out by renaming; each step can be repeated. After a kill before the plan exists,
nothing has changed. After a later kill, the next start of the service, or of ``dmtwisted restore``, continues with
the plan. This module is light: the service looks for a plan at each start.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from dmtwisted.crash_points import reached
from dmtwisted.secrets import write_private
from dmtwisted.system.files import replace

PLAN = "restore.pending"
"""The plan, in the state folder."""


Step = tuple[Path | None, Path, Path]
"""The new file (`None`: there is none), its place, and where the file that is there now is moved."""


def write_plan(state: Path, steps: list[Step], folders: list[Path]) -> None:
    """Write the plan: from now on the restored files are the valid ones.

    :param folders: what may be removed afterwards.
    """
    plan = {
        "steps": [[None if new is None else str(new), str(place), str(old)] for new, place, old in steps],
        "folders": [str(folder) for folder in folders],
    }
    write_private(state / PLAN, json.dumps(plan).encode())


def planned(state: Path) -> bool:
    """Whether there is a plan that is not finished."""
    return (state / PLAN).exists()


def carry_out(state: Path) -> None:
    """Carry the plan out, from wherever it was interrupted.

    :raises OSError: when a file cannot be renamed; the plan can be carried out again later.
    """
    plan = json.loads((state / PLAN).read_text("utf-8"))
    for new, place, old in plan["steps"]:
        _step(None if new is None else Path(new), Path(place), Path(old))
        reached("restore.step-done")
    for folder in {Path(path).parent for _, *both in plan["steps"] for path in both}:
        if folder.is_dir():
            to_disk(folder)
    (state / PLAN).unlink()
    # If the plan came back after a power cut, it would take away the log of a service that works with the database.
    to_disk(state)
    for folder in plan["folders"]:
        shutil.rmtree(folder, ignore_errors=True)


def _step(new: Path | None, place: Path, old: Path) -> None:
    # When the new file is in its place, it is nowhere else: then this step is done. A step without a new file moves
    # the old one away; no file is made again in between.
    if new is not None and not new.exists():
        return
    if place.exists() and not old.exists():
        old.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(place, old)
    if new is not None:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(new, place)


def to_disk(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system allows it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
