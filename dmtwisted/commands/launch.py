"""The options with which the service is started, the same for ``dmtwisted run`` and ``twistd dmtwisted``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.store.carry.swapping import carry_out, planned
from dmtwisted.store.opening import check_database
from dmtwisted.store.sqlite.file import Locked, take_lock


class LaunchOptions(usage.Options):
    """What to serve, and where."""

    optParameters: ClassVar = [
        ["config", "c", None, "The configuration file (TOML); without it every key has its default."],
        ["state", None, None, "The folder for the database and all that is kept; goes before the file."],
        ["port", None, None, "The TCP port; goes before the file.", int],
    ]
    optFlags: ClassVar = [
        ["training", None, "Training mode: simulated devices, and a clock that can be moved."],
        ["until-input-ends", None, "Stop when the standard input ends: for whoever supervises the service."],
    ]

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
            from dmtwisted.access.tls import check_before_start

            check_before_start(config.tls, time.time())
        check_database(config)
        return config


def finish_restore(config: Config) -> None:
    """Put a backup in its place whose restoring was broken off after it was decided.

    :raises ConfigError: when that fails, or somebody is at it just now.
    """
    if not planned(config.state):
        return
    file = config.sqlite_file or config.state / "restore"
    try:
        with take_lock(f"{file}.lock", 0):
            if planned(config.state):
                carry_out(config.state)
    except Locked:
        raise ConfigError("a backup is being restored just now; start again when that is done") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"a restore that was broken off cannot be completed: {error}") from None


@contextmanager
def acting_as(uid: int | None, gid: int | None) -> Iterator[None]:
    """Be the user that twistd will become (``--uid``, ``--gid``), in that user's groups, and then oneself again.

    :raises ConfigError: when we may not.
    """
    if os.name != "posix" or (uid is None and gid is None):
        yield
        return
    before = os.geteuid(), os.getegid(), os.getgroups()
    try:
        _become(os.geteuid() if uid is None else uid, _group_of(uid, gid))
    except (OSError, KeyError) as error:
        raise ConfigError(f"--uid, --gid: this user or group cannot be taken: {_reason(error)}") from None
    try:
        yield
    finally:
        os.seteuid(before[0])
        os.setegid(before[1])
        if before[0] == 0:
            os.setgroups(before[2])


def _become(uid: int, gid: int) -> None:
    import pwd

    # The user last: whoever is no longer root may change no groups.
    if os.geteuid() == 0:
        os.initgroups(pwd.getpwuid(uid).pw_name, gid)
    os.setegid(gid)
    os.seteuid(uid)


def _group_of(uid: int | None, gid: int | None) -> int:
    """The group that twistd will have: the one that is named, else the user's own."""
    import pwd

    if gid is not None:
        return gid
    assert uid is not None
    return pwd.getpwuid(uid).pw_gid


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error.args[0])


def give_state(folder: Path, uid: int | None, gid: int | None) -> None:
    """Make a state folder that is not there yet, where only root may, and let it be the user's of ``--uid``.

    :raises ConfigError: when that fails.
    """
    if uid is None or os.name != "posix" or os.geteuid() != 0 or folder.exists():
        return
    try:
        folder.mkdir(mode=0o700, parents=True)
        os.chown(folder, uid, _group_of(uid, gid))
    except OSError as error:
        raise ConfigError(f"the state folder {folder} cannot be made: {error.strerror or error}") from None
