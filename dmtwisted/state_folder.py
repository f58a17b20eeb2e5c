"""The folder of everything that the service keeps in files."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from twisted.logger import Logger

from dmtwisted.config import Config, ConfigError

_log = Logger()


def prepare_state(folder: Path) -> None:
    """Create the state folder and check that it can be written.

    :raises ConfigError: when that fails.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"the state folder {folder} cannot be written: {error.strerror or error}") from None
    if os.name == "posix" and not os.access(folder, os.X_OK):
        raise ConfigError(f"the state folder {folder} cannot be entered")


def close_to_others(config: Config) -> None:
    """Take the rights of other users from all that is in the state folder, and from the database wherever it is.

    Earlier versions, copies and restores by hand left files that everybody could read. What cannot be closed is
    logged, and does not stop the service. On Windows the rights of the folder decide.
    """
    if os.name != "posix":
        return
    closed, failed = 0, []
    for path in _kept(config):
        try:
            mode = path.lstat().st_mode
            # A link has no rights of its own, and what it leads to may be another program's.
            if not stat.S_ISLNK(mode) and mode & 0o077:
                path.chmod(stat.S_IMODE(mode) & 0o700)
                closed += 1
        except FileNotFoundError:
            continue
        except OSError as error:
            failed.append(f"{path} ({error.strerror or error})")
    if closed:
        _log.warn(
            "{folder}: {closed} files and folders were open to others; now they are not",
            folder=str(config.state),
            closed=closed,
        )
    if failed:
        _log.error(
            "others can read {count} files, {first} among them; doctor says more", count=len(failed), first=failed[0]
        )


def _kept(config: Config) -> Iterator[Path]:
    yield config.state
    for folder, folders, files in os.walk(config.state):
        yield from (Path(folder, name) for name in (*folders, *files))
    database = config.sqlite_file
    if database is not None and not database.is_relative_to(config.state):
        yield from (database.with_name(f"{database.name}{ending}") for ending in ("", "-wal", "-shm", "-journal"))
