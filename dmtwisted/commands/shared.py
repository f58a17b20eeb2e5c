"""What several commands share: their common options, the configuration, times for people, errors in one line."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from twisted.python import usage

from dmtwisted.changes import By, Caller
from dmtwisted.clock import kyiv
from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.system.files import describe_error

if sys.platform != "win32":
    import pwd

PLACE: list[list[object]] = [
    ["config", "c", None, "The configuration file (TOML)."],
    ["state", None, None, "The state folder; overrides the configuration file."],
]

PORT = ["port", None, None, "The TCP port of the service; overrides the configuration file.", int]


class CommandOptions(usage.Options):
    """Options of a command; ``synopsis`` is what follows its name in the line "Usage:"."""

    synopsis = "[options]"
    longdesc = ""


class Group(CommandOptions):
    """A command that consists of sub-commands."""

    subCommands: ClassVar[list[Any]]

    def getSynopsis(self) -> str:
        """The name of this command, and of its sub-commands if none is given."""
        above = "Usage: dmtwisted"
        if self.parent is not None:
            above = f"{self.parent.getSynopsis()} {self.parent.subCommand}"
        return above if self.subCommand else f"{above} {'|'.join(str(each[0]) for each in self.subCommands)}"

    def postOptions(self) -> None:
        """Require a sub-command."""
        if not self.subCommand:
            known = ", ".join(str(each[0]) for each in self.subCommands)
            raise usage.UsageError(f"a command is expected: {known}")


def options_class(
    longdesc: str, parameters: Sequence[list[Any]] = PLACE, flags: Sequence[list[Any]] = ()
) -> type[CommandOptions]:
    """The options of a command that has nothing else of its own."""
    members = {"longdesc": longdesc, "optParameters": list(parameters), "optFlags": list(flags)}
    return type("PlainOptions", (CommandOptions,), members)


def positive(text: str) -> float:
    """A positive number.

    :raises ValueError: when it is something else.
    """
    value = float(text)
    if not value > 0:
        raise ValueError(f"{text} is not positive")
    return value


class FileOptions(CommandOptions):
    """Options of a command that takes one file, before or after its options."""

    synopsis = "FILE [options]"

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Accept the file before the options too."""
        words = list(options or ())
        if words and not words[0].startswith("-"):
            words.append(words.pop(0))
        super().parseOptions(words)

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        """One file."""
        self["file"] = file


def configuration(options: usage.Options) -> Config:
    """The configuration that ``--config``, ``--state`` and ``--port`` ask for.

    :raises ConfigError: when it cannot be used.
    """
    config, state = (Path(options[name]) if options[name] else None for name in ("config", "state"))
    return load(config, Overrides(state=state, port=options.get("port")))


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


def status_of(command: Callable[[], int], *expected: type[Exception]) -> int:
    """The exit status of ``command``; when it fails with an expected error, 1 after one line that says why."""
    kinds: tuple[type[Exception], ...] = (ConfigError, *expected)
    try:
        return command()
    except kinds as error:
        why = str(error)
    except OSError as error:
        why = describe_error(error)
    except KeyboardInterrupt:
        why = "interrupted"
    print(f"dmtwisted: {why}", file=sys.stderr)
    return 1
