"""The start options of the service, the same for ``dmtwisted run`` and ``twistd dmtwisted``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from dmtwisted.commands.options import CommandOptions
from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.store.carry.swapping import carry_out, planned
from dmtwisted.store.opening import check_database
from dmtwisted.store.sqlite.file import Locked, take_lock

with suppress(ImportError):  # not on Windows
    import pwd


class LaunchOptions(CommandOptions):
    """What to serve, and where."""

    longdesc = "Run the service until it is stopped."
    optParameters: ClassVar = [
        ["config", "c", None, "The configuration file (TOML); without it every key has its default."],
        ["state", None, None, "The folder of database and files; by default that of the configuration file, or var."],
        ["port", None, None, "The TCP port; by default that of the configuration file, or 3939.", int],
        ["training-protocol", None, None, "The protocol that training registers practise: a (default) or b."],
    ]
    optFlags: ClassVar = [
        ["training", None, "Training mode: simulated devices and a clock that can be set."],
        ["until-input-ends", None, "Stop when the standard input ends; for supervisors."],
    ]

    def load(self) -> Config:
        """The configuration with these options.

        :raises ConfigError: when it cannot be used.
        """
        config = load(
            Path(self["config"]) if self["config"] else None,
            Overrides(
                state=Path(self["state"]) if self["state"] else None,
                port=self["port"],
                training=bool(self["training"]),
                training_protocol=self["training-protocol"],
            ),
        )
        if config.tls.given:
            # Never HTTP instead of HTTPS. Imported only with a certificate: others do not carry this in memory.
            try:
                from dmtwisted.access.tls import check_before_start
            except ImportError as error:
                raise ConfigError(f"HTTPS needs the TLS library, which does not load: {error}") from None
            check_before_start(config.tls, time.time())
        check_database(config)
        return config


def finish_restore(config: Config) -> None:
    """Complete a restore that was interrupted after it was decided.

    :raises ConfigError: when that fails, or the restore is still running.
    """
    if not planned(config.state):
        return
    file = config.sqlite_file or config.state / "restore"
    try:
        with take_lock(f"{file}.lock", 0):
            if planned(config.state):
                carry_out(config.state)
    except Locked:
        raise ConfigError("a backup is being restored; start again when that is done") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"an interrupted restore cannot be completed: {error}") from None


@contextmanager
def acting_as(uid: int | None, gid: int | None) -> Iterator[None]:
    """Act as the user that twistd will become (``--uid``, ``--gid``), with that user's groups.

    :raises ConfigError: when that is not allowed.
    """
    if os.name != "posix" or (uid is None and gid is None):
        yield
        return
    before = os.geteuid(), os.getegid(), os.getgroups()
    try:
        _become(os.geteuid() if uid is None else uid, _group_of(uid, gid))
    except (OSError, KeyError) as error:
        raise ConfigError(f"--uid, --gid: cannot become this user or group: {_reason(error)}") from None
    try:
        yield
    finally:
        os.seteuid(before[0])
        os.setegid(before[1])
        if before[0] == 0:
            os.setgroups(before[2])


def _become(uid: int, gid: int) -> None:
    # The user last: only root may change groups.
    if os.geteuid() == 0:
        os.initgroups(pwd.getpwuid(uid).pw_name, gid)
    os.setegid(gid)
    os.seteuid(uid)


def _group_of(uid: int | None, gid: int | None) -> int:
    """The group that twistd will have: the given one, or the user's own."""
    if gid is not None:
        return gid
    assert uid is not None
    return pwd.getpwuid(uid).pw_gid


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error.args[0])


def give_state(folder: Path, uid: int | None, gid: int | None) -> None:
    """Create a missing state folder as root, with the user of ``--uid`` as its owner.

    :raises ConfigError: when that fails.
    """
    if uid is None or os.name != "posix" or os.geteuid() != 0 or folder.exists():
        return
    try:
        folder.mkdir(mode=0o700, parents=True)
        os.chown(folder, uid, _group_of(uid, gid))
    except OSError as error:
        raise ConfigError(f"the state folder {folder} cannot be created: {error.strerror or error}") from None
