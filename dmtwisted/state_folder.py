"""The folder of everything that the service keeps in files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dmtwisted.config import ConfigError


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
