"""The options with which the service is started, the same for ``dmtwisted run`` and ``twistd dmtwisted``."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.store.carry.swapping import carry_out, planned
from dmtwisted.store.opening import check_database


class LaunchOptions(usage.Options):
    """What to serve, and where."""

    optParameters: ClassVar = [
        ["config", "c", None, "The configuration file (TOML); without it every key has its default."],
        ["state", None, None, "The folder for the database and all that is kept; goes before the file."],
        ["port", None, None, "The TCP port; goes before the file.", int],
    ]
    optFlags: ClassVar = [["training", None, "Training mode: simulated devices, and a clock that can be moved."]]

    def load(self) -> Config:
        """The configuration that these options ask for.

        :raises ConfigError: when it cannot be used, or asks for what this version does not have.
        """
        config = load(
            Path(self["config"]) if self["config"] else None,
            Overrides(
                state=Path(self["state"]) if self["state"] else None,
                port=self["port"],
                training=bool(self["training"]),
            ),
        )
        if config.tls.given:
            # Never in the clear what somebody meant to be encrypted; imported only by who has a certificate.
            from dmtwisted.tls import check_before_start

            check_before_start(config.tls, time.time())
        check_database(config)
        return config


def finish_restore(config: Config) -> None:
    """Put a backup in its place whose restoring was broken off after it was decided.

    :raises ConfigError: when that fails, or somebody is at it just now.
    """
    if not planned(config.state):
        return
    from dmtwisted.store.writer import Locked, take_lock

    file = config.sqlite_file or config.state / "restore"
    try:
        with take_lock(f"{file}.lock", 0):
            if planned(config.state):
                carry_out(config.state)
    except Locked:
        raise ConfigError("a backup is being restored just now; start again when that is done") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"a restore that was broken off cannot be completed: {error}") from None


def prepare_state(folder: Path) -> None:
    """Make the state folder and try to write there.

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
