"""The ``dmtwisted`` command: finds the sub-command and runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import ClassVar

from twisted.python import usage

from dmtwisted import __version__
from dmtwisted.system.output import take_any_letter

COMMANDS = {
    "run": ("dmtwisted.commands.run", "LaunchOptions", "Run the service."),
    "simulate": ("dmtwisted.commands.simulate", "SimulateOptions", "Simulate a device or the tax service."),
    "db": ("dmtwisted.commands.database", "DatabaseOptions", "Show, check, upgrade or move the database."),
    "doctor": ("dmtwisted.commands.doctor", "DoctorOptions", "Diagnose the service and its devices."),
    "ready": ("dmtwisted.commands.ready", "ReadyOptions", "Check whether the service accepts tasks."),
    "backup": ("dmtwisted.commands.backup", "BackupOptions", "Make a backup while the service runs."),
    "restore": ("dmtwisted.commands.backup", "RestoreOptions", "Restore a backup."),
    "accounts": (
        "dmtwisted.commands.accounts",
        "AccountsOptions",
        "Write receipts and Z reports for the accountant.",
    ),
    "signer": ("dmtwisted.commands.signer", "SignerOptions", "Run a signing agent for registers."),
    "service": ("dmtwisted.commands.service", "ServiceOptions", "Install, start and stop the Windows service."),
    "tax": ("dmtwisted.commands.tax", "TaxOptions", "Trust and show certificates of the tax service."),
    "tls": ("dmtwisted.commands.tls", "TlsOptions", "Install, show, create or remove the certificate."),
    "conform": ("dmtwisted.commands.conform", "ConformOptions", "Run the conformance suite on a driver."),
    "bench": ("dmtwisted.lab.bench.bench", "BenchOptions", "Measure the performance of the service."),
    "crashlab": (
        "dmtwisted.lab.crash.command",
        "CrashlabOptions",
        "Kill the service at random and compare all books.",
    ),
    "soak": ("dmtwisted.lab.soak.command", "SoakOptions", "Run under load for hours and look for leaks."),
}
"""For each command its module, its options and a description.

Only the module of the given command is imported. Its function ``run`` takes the options and returns the exit status.
"""


def _options(module: str, name: str) -> Callable[[], usage.Options]:
    return lambda: getattr(import_module(module), name)()


class MainOptions(usage.Options):
    """``dmtwisted``"""

    longdesc = "One plain HTTP interface to fiscal registers, receipt printers and bank terminals."
    subCommands: ClassVar = [
        [name, None, _options(module, options), text] for name, (module, options, text) in COMMANDS.items()
    ]

    def opt_version(self) -> None:
        """Print the version."""
        print(f"dmtwisted {__version__}")
        sys.exit(0)

    def getSynopsis(self) -> str:
        """The beginning of every usage line."""
        return "Usage: dmtwisted" if self.subCommand else "Usage: dmtwisted COMMAND [options]"

    def postOptions(self) -> None:
        """Require a command."""
        if not self.subCommand:
            raise usage.UsageError("a command is expected")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    take_any_letter(sys.stdout, sys.stderr)
    options = MainOptions()
    try:
        options.parseOptions(list(sys.argv[1:] if arguments is None else arguments))
    except usage.UsageError as error:
        wrong: usage.Options = options
        while hasattr(wrong, "subOptions"):
            wrong = wrong.subOptions
        print(f"{wrong}\ndmtwisted: {error}", file=sys.stderr)
        sys.exit(1)
    module, _, _ = COMMANDS[options.subCommand or ""]
    sys.exit(import_module(module).run(options.subOptions))


if __name__ == "__main__":
    main()
