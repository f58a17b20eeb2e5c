"""The ``dmtwisted`` command: finds the sub-command and runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import ClassVar

from twisted.python import usage

from dmtwisted.commands.console import FAILED, INTERRUPTED, WRONG_USAGE, complain
from dmtwisted.commands.options import CommandOptions, Group, NoCommand, Table
from dmtwisted.system.output import take_any_letter

PURPOSES = {
    "Run it": {
        "run": ("commands.run", "LaunchOptions", "Run the service."),
        "ready": ("commands.ready", "ReadyOptions", "Check whether the service accepts tasks."),
        "doctor": ("commands.doctor", "DoctorOptions", "Diagnose the service and its devices."),
        "service": ("commands.service", "ServiceOptions", "Install, start and stop the Windows service."),
    },
    "Keep its data": {
        "backup": ("commands.backup", "BackupOptions", "Make a backup while the service runs."),
        "restore": ("commands.backup", "RestoreOptions", "Restore a backup."),
        "accounts": ("commands.accounts", "AccountsOptions", "Write receipts and Z reports for the accountant."),
        "db": ("commands.database", "DatabaseOptions", "Show, check, upgrade or move the database."),
    },
    "Keys and certificates": {
        "tls": ("commands.tls", "TlsOptions", "Install, show, create or remove the certificate."),
        "tax": ("commands.tax", "TaxOptions", "Trust and show certificates of the tax service."),
        "signer": ("commands.signer", "SignerOptions", "Run a signing agent for registers."),
    },
    "Without devices": {
        "simulate": ("commands.simulate", "SimulateOptions", "Simulate a device or the tax service."),
        "conform": ("commands.conform", "ConformOptions", "Run the conformance suite on a driver."),
    },
    "Measure and prove": {
        "bench": ("lab.bench.bench", "BenchOptions", "Measure the performance of the service."),
        "crashlab": ("lab.crash.command", "CrashlabOptions", "Kill the service at random and compare all books."),
        "soak": ("lab.soak.command", "SoakOptions", "Run under load for hours and look for leaks."),
    },
}
"""The commands by purpose, each with its module, its options and a description.

Only the module of the given command is imported. Its function ``run`` takes the options and returns the exit status.
"""

COMMANDS = {name: about for commands in PURPOSES.values() for name, about in commands.items()}


def _options(module: str, name: str) -> Callable[[], usage.Options]:
    return lambda: getattr(import_module(f"dmtwisted.{module}"), name)()


class MainOptions(Group):
    """``dmtwisted``"""

    longdesc = "One plain HTTP interface to fiscal registers, receipt printers and bank terminals."
    subCommands: ClassVar = [
        [name, None, _options(module, options), text] for name, (module, options, text) in COMMANDS.items()
    ]

    def listed(self) -> Mapping[str, Table]:
        """The commands by purpose."""
        return {
            title: [(name, text.removesuffix(".")) for name, (_, _, text) in commands.items()]
            for title, commands in PURPOSES.items()
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    take_any_letter(sys.stdout, sys.stderr)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.exit(_status(words))
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except EOFError:
        # A question, as for a password, where nobody can answer.
        complain(
            "the standard input ended before an answer came", "Run it at a terminal, or give the answer by an option."
        )
        sys.exit(FAILED)
    except BrokenPipeError:
        # Who read our output wants no more of it. Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def _status(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    options = MainOptions()
    try:
        options.parseOptions(words)
    except usage.UsageError as error:
        wrong: usage.Options = options
        while hasattr(wrong, "subOptions"):
            wrong = wrong.subOptions
        if isinstance(error, NoCommand):
            print(wrong, file=sys.stderr)
        else:
            command = wrong.named if isinstance(wrong, CommandOptions) else "dmtwisted"
            complain(str(error), f"All options: {command} --help", command)
        return WRONG_USAGE
    module, _, _ = COMMANDS[options.subCommand or ""]
    status: int = import_module(f"dmtwisted.{module}").run(options.subOptions)
    return status


if __name__ == "__main__":
    main()
