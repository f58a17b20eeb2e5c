"""What several commands share: the configuration, times for people, errors as an exit status."""

from __future__ import annotations

import errno
import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path

from twisted.python import usage

from dmtwisted.changes import By, Caller
from dmtwisted.clock import kyiv
from dmtwisted.commands.console import FAILED, INTERRUPTED, complain
from dmtwisted.config import Config, ConfigError, Overrides, load, near_path
from dmtwisted.system.files import describe_error

if sys.platform != "win32":
    import pwd

_AS_USER = (
    "Run the command as an administrator."
    if sys.platform == "win32"
    else "Run the command as the user of the service: sudo -u dmtwisted dmtwisted ..."
)

ADVICE = {
    errno.ENOENT: "Check how the path is written.",
    errno.EACCES: _AS_USER,
    errno.EPERM: _AS_USER,
    errno.ENOSPC: "Free space on that disk, then repeat the command.",
    errno.EROFS: "That disk can only be read; name a folder on another one.",
    errno.EISDIR: "A file is expected, not a folder.",
    errno.ENOTDIR: "A part of the path is a file, not a folder.",
}
"""What to do about an error of the system."""


def positive(text: str) -> float:
    """A positive number.

    :raises ValueError: when it is something else.
    """
    value = float(text)
    if not value > 0:
        raise ValueError(f"{text} is not positive")
    return value


def configuration(options: usage.Options) -> Config:
    """The configuration that ``--config``, ``--state`` and ``--port`` ask for.

    :raises ConfigError: when it cannot be used.
    """
    config, state = (Path(options[name]) if options[name] else None for name in ("config", "state"))
    return load(config, Overrides(state=state, port=options.get("port")))


def expect_state(config: Config, to_make: bool = False) -> Config:
    """The same configuration, if its state folder exists: a slip must not make a new one.

    :param to_make: the command may make the folder, unless there is one whose name is nearly the same.
    :raises ConfigError: when it does not exist.
    """
    state = config.state
    if not state.is_dir():
        near = near_path(state)
        if near is not None and ((near / "dmtwisted.db").exists() or (near / "secret.key").exists()):
            raise ConfigError(f"there is no state folder {state}", f"Did you mean --state {near} ?")
        if not to_make:
            raise ConfigError(f"there is no state folder {state}", NAME_STATE)
    return config


def expect_database(config: Config, to_make: bool = False) -> Config:
    """The same configuration, if its SQLite file exists; whether a database server does is seen later.

    :param to_make: the command may make the file, but not its folder.
    :raises ConfigError: when it does not exist.
    """
    file = config.sqlite_file
    if file is None or file.exists():
        return config
    if file.parent == config.state:
        expect_state(config)
    if to_make and file.parent.is_dir():
        return config
    raise ConfigError(f"there is no database {file}", NAME_STATE)


NAME_STATE = "Name the folder of the service with --state, or its configuration file with --config."


def operator() -> Caller:
    """The user of the operating system who runs the command, for the journal of changes."""
    if sys.platform == "win32":
        name = getpass.getuser()
    else:
        # Not what the environment says: anybody can change that.
        user = os.getuid()
        try:
            name = pwd.getpwuid(user).pw_name
        except KeyError:
            name = str(user)
    behind = os.environ.get("SUDO_USER", "")
    return Caller(By.COMMAND, f"{name} (sudo {behind})" if behind else name)


def moment(at: int) -> str:
    """A time in milliseconds since 1970 as date and time in Kyiv."""
    return f"{kyiv(at):%Y-%m-%d %H:%M:%S}"


def stamp(at: int) -> str:
    """The same for a file name."""
    return f"{kyiv(at):%Y%m%d-%H%M%S}"


def status_of(
    command: Callable[[], int], *expected: type[Exception], interrupted: str = "nothing was changed"
) -> int:
    """The exit status of ``command``; when it fails with an expected error, 1 after what is wrong and what to do.

    :param interrupted: what Ctrl-C leaves behind.
    """
    kinds: tuple[type[Exception], ...] = (ConfigError, *expected)
    try:
        return command()
    except kinds as error:
        complain(str(error), getattr(error, "advice", ""))
    except BrokenPipeError:
        raise
    except OSError as error:
        near = near_path(Path(error.filename)) if error.errno == errno.ENOENT and error.filename else None
        complain(describe_error(error), f"Did you mean {near} ?" if near else ADVICE.get(error.errno or 0, ""))
    except KeyboardInterrupt:
        complain(f"interrupted: {interrupted}")
        return INTERRUPTED
    return FAILED
