"""The options of commands: how they are read, what is said when they are wrong, and their help."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from getopt import GetoptError
from typing import Any, ClassVar, NoReturn

from twisted.python import usage

from dmtwisted import __version__

PLACE: list[list[Any]] = [
    ["config", "c", None, "The configuration file (TOML)."],
    ["state", None, None, "The state folder; overrides the configuration file."],
]

PORT: list[Any] = ["port", None, None, "The TCP port of the service; overrides the configuration file.", int]

WIDEST = 100
"""Characters of a line of help at most; a terminal may be narrower."""

VALUES = {
    **dict.fromkeys(("listen", "control"), "HOST:PORT"),
    **dict.fromkeys(("connections", "rates", "sizes"), "N,N,…"),
    **dict.fromkeys(("driver", "queue", "device", "name", "terminal-id", "protocol", "profile", "client"), "NAME"),
    **dict.fromkeys(("only", "points", "what"), "NAME,…"),
    **dict.fromkeys(("database", "other-database", "server", "notices"), "URL"),
    **dict.fromkeys(("config", "key", "pem", "certificate", "ledger", "record", "replay"), "FILE"),
    **dict.fromkeys(("register", "receipt", "tin", "person", "owner", "currency"), "NUMBER"),
    **dict.fromkeys(("state", "tree"), "FOLDER"),
    "from": "DATE",
    "stand": "MODULE:NAME",
    "shared-key": "SECRET",
    "api-key": "KEY",
    "token": "TOKEN",
    "password": "PASSWORD",
    "serial": "PORT",
    "language": "uk|en",
    "mark": "MARK",
    "object": "CODE",
}
"""What stands for the value of an option in the help; else it follows from the option's type."""

_NO_NUMBER = re.compile(r"(invalid literal for int|could not convert string to float).*?: (.*)")


_BY_DEFAULT = re.compile(r"[;.] [Bb]y default ([^;.]+)$")


class NoCommand(usage.UsageError):
    """A command that has sub-commands was given none."""


class CommandOptions(usage.Options):
    """Options of a command; ``synopsis`` is what follows its name in the line "Usage:"."""

    synopsis = "[options]"
    longdesc = ""
    written: ClassVar[Mapping[str, str]] = {}
    optParameters: ClassVar[list[Any]] = []
    """What stands for the value of an option in the help where `VALUES` does not fit."""

    def __init_subclass__(cls) -> None:
        """Let an error in a value name its option."""
        super().__init_subclass__()
        if "optParameters" in cls.__dict__:
            cls.optParameters = [_named(*parameter) for parameter in cls.optParameters]

    def opt_version(self) -> None:
        """Show the version."""
        print(f"dmtwisted {__version__}")
        raise SystemExit(0)

    def opt_help(self) -> None:
        """Show this help."""
        print(self)
        raise SystemExit(0)

    opt_h = opt_help

    @property
    def named(self) -> str:
        """The command with the words before it, as one types it."""
        if self.parent is None:
            return "dmtwisted"
        if not isinstance(self.parent, CommandOptions):
            # Within twistd's own options.
            return f"{self.parent.getSynopsis().removeprefix('Usage: ')} {self.parent.subCommand}"
        return f"{self.parent.named} {self.parent.subCommand}"

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Read the words; an error is said in our words, with a near name where there is one.

        :raises UsageError: when a word does not fit.
        """
        try:
            super().parseOptions(options)
        except usage.UsageError as error:
            why = error.__context__
            if isinstance(why, GetoptError):
                self._complain(why)
            if str(error).startswith("Unknown command: "):
                word = str(error).partition(": ")[2]
                known = [str(each[0]) for each in getattr(self, "subCommands", ())]
                raise usage.UsageError(f"there is no command {word}{did_you_mean(word, known)}") from None
            raise

    def _complain(self, error: GetoptError) -> NoReturn:
        name = f"-{error.opt}" if len(error.opt) == 1 else f"--{error.opt}"
        if "requires argument" in error.msg:
            raise usage.UsageError(f"{name} needs a value: {name} {self._value(error.opt)}") from None
        if "must not have" in error.msg:
            raise usage.UsageError(f"{name} takes no value") from None
        known = [each.rstrip("=") for each in self.longOpt]
        if "unique prefix" in error.msg:
            fits = ", ".join(f"--{each}" for each in known if each.startswith(error.opt))
            raise usage.UsageError(f"{name} can mean {fits}") from None
        near = did_you_mean(error.opt, known, "--") if len(error.opt) > 1 else ""
        raise usage.UsageError(f"there is no option {name}{near}") from None

    def parseArgs(self, *words: str) -> None:
        """Nothing but options.

        :raises UsageError: when there is something else.
        """
        if words:
            raise usage.UsageError(f"{words[0]!r} is one word too many")

    # The help

    def getSynopsis(self) -> str:
        """The line "Usage:"."""
        return f"Usage: {self.named} {self.synopsis}"

    def getUsage(self, width: int | None = None) -> str:
        """What the command does, and its options: its own, then those that say which service is meant."""
        wide = min(width or shutil.get_terminal_size().columns, WIDEST)
        parts = [textwrap.fill(self.longdesc, wide)] if self.longdesc else []
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for name, written, text in self._rows():
            (common if COMMON.get(name) == self.docs[name] else own).append((written, text))
        tables = {"Options": own or common, "Which service": common if own else []}
        return "\n" + "\n\n".join([*parts, *_tables(tables, wide)]) + "\n"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Each option, those with a value first: its name, how it is written, what it does."""
        short = {long: letter for letter, long in self.synonyms.items() if len(letter) == 1 and letter != long}
        for name in sorted(self.longOpt, key=lambda name: not name.endswith("=")):
            bare = name.rstrip("=")
            if bare in ("help", "version"):
                continue
            written = f"{f'-{short[bare]}, ' if bare in short else '    '}--{bare}"
            value = f" {self._value(bare)}" if name.endswith("=") else ""
            default = in_plain(self.defaults.get(bare)) if value else ""
            text = _BY_DEFAULT.sub(r" (default: \1)", str(self.docs[bare]).strip().removesuffix("."))
            yield bare, written + value, text + (f" (default: {default})" if default else "")

    def _value(self, name: str) -> str:
        """What stands for the value of an option."""
        name = self.synonyms.get(name, name)
        if name in self.written or name in VALUES:
            return self.written.get(name) or VALUES[name]
        for parameter in self._parameters():
            if parameter[0] == name and len(parameter) > 4:
                return "FILE" if parameter[4].__name__ == "Path" else "NUMBER"
        return "TEXT"

    def _parameters(self) -> Iterator[list[Any]]:
        for kind in type(self).__mro__:
            yield from kind.__dict__.get("optParameters", ())


COMMON = {each[0]: each[3] for each in (*PLACE, PORT)}
"""Options that say which service is meant; they come last in the help."""


def _named(name: str, short: str | None, default: Any, text: str, read: Callable[[str], Any] = str) -> list[Any]:
    """A parameter whose error names it."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            found = _NO_NUMBER.match(str(error))
            if found is None:
                raise usage.UsageError(f"--{name}: {error}") from None
            kind = "a whole number" if "int" in found[1] else "a number"
            raise usage.UsageError(f"--{name}: {kind} is expected, not {found[2]}") from None

    value.__name__ = getattr(read, "__name__", "")
    return [name, short, default, text, *([] if read is str else [value])]


def in_plain(value: object) -> str:
    """A default as one types it; empty when there is none."""
    if value is None or value == "" or value == [] or isinstance(value, bool):
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return f"{value[0]}:{value[1]}"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


Table = Sequence[tuple[str, str]]


def _tables(tables: Mapping[str, Table], wide: int) -> Iterator[str]:
    """Tables of two columns below their titles; what is too long for the first column has a line of its own."""
    first = min(max((len(name) for rows in tables.values() for name, _ in rows), default=0), 26) + 4
    for title, rows in tables.items():
        lines = [f"{title}:"] if rows else []
        for name, text in rows:
            told = textwrap.wrap(text, max(wide - first, 20), break_on_hyphens=False) or [""]
            if len(name) > first - 4:
                lines.append(f"  {name}")
                name = ""
            lines += [f"  {name:<{first - 2}}{told[0]}", *(" " * first + more for more in told[1:])]
        if lines:
            yield "\n".join(line.rstrip() for line in lines)


def did_you_mean(word: str, known: Sequence[str], before: str = "") -> str:
    """A question for the near name; empty when none is near."""
    near = get_close_matches(word, known, 1)
    return f"; did you mean {before}{near[0]}?" if near else ""


class Group(CommandOptions):
    """A command that consists of sub-commands."""

    subCommands: ClassVar[list[Any]]
    synopsis = "COMMAND [options]"

    def getUsage(self, width: int | None = None) -> str:
        """The sub-commands."""
        wide = min(width or shutil.get_terminal_size().columns, WIDEST)
        parts = [textwrap.fill(self.longdesc, wide)] if self.longdesc else []
        parts += _tables(self.listed(), wide)
        return "\n" + "\n\n".join([*parts, f"{self.named} COMMAND --help says more about one of them."]) + "\n"

    def listed(self) -> Mapping[str, Table]:
        """The sub-commands with what each does, by title."""
        return {"Commands": [(str(each[0]), str(each[3]).removesuffix(".")) for each in self.subCommands]}

    def postOptions(self) -> None:
        """Require a sub-command.

        :raises NoCommand: when there is none.
        """
        if not self.subCommand:
            raise NoCommand(f"a command is expected: {', '.join(str(each[0]) for each in self.subCommands)}")


def options_class(
    longdesc: str, parameters: Sequence[list[Any]] = PLACE, flags: Sequence[list[Any]] = ()
) -> type[CommandOptions]:
    """The options of a command that has nothing else of its own."""
    members = {"longdesc": longdesc, "optParameters": list(parameters), "optFlags": list(flags)}
    return type("PlainOptions", (CommandOptions,), members)


class FileOptions(CommandOptions):
    """Options of a command that takes one file, before or after its options."""

    synopsis = "FILE [options]"

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Accept the file before the options too."""
        words = list(options or ())
        if words and not words[0].startswith("-"):
            words.append(words.pop(0))
        super().parseOptions(words)

    def parseArgs(self, *files: str) -> None:
        """One file.

        :raises UsageError: when there is none, or more.
        """
        what = self.synopsis.split()[0]
        if not files:
            raise usage.UsageError(f"{what} is missing")
        if len(files) > 1:
            raise usage.UsageError(f"one {what} is expected, not {len(files)}: {' '.join(files)}")
        self["file"] = files[0]
