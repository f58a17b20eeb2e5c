"""The ``dmtwisted`` command: finds the sub-command and runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import ClassVar

from twisted.python import usage

from dmtwisted import __version__


def _options(module: str, name: str) -> Callable[[], usage.Options]:
    """The options class of a sub-command, imported only when that command is asked for."""
    return lambda: getattr(import_module(module), name)()


class MainOptions(usage.Options):
    """One plain HTTP interface to fiscal registers, receipt printers and bank terminals."""

    synopsis = "Usage: dmtwisted COMMAND [options]"
    subCommands: ClassVar = [
        ["run", None, _options("dmtwisted.commands.launch", "LaunchOptions"), "Serve until stopped."],
        [
            "simulate",
            None,
            _options("dmtwisted.commands.simulate", "SimulateOptions"),
            "Be a device or the tax service.",
        ],
        [
            "db",
            None,
            _options("dmtwisted.commands.database", "DatabaseOptions"),
            "Look at, check or move the data.",
        ],
        ["doctor", None, _options("dmtwisted.commands.doctor", "DoctorOptions"), "Say whether all is well."],
        ["ready", None, _options("dmtwisted.commands.ready", "ReadyOptions"), "Say whether tasks are taken."],
        ["backup", None, _options("dmtwisted.commands.backup", "BackupOptions"), "Make a backup while it works."],
        ["restore", None, _options("dmtwisted.commands.backup", "RestoreOptions"), "Put a backup in its place."],
        ["signer", None, _options("dmtwisted.commands.signer", "SignerOptions"), "Hold a signing key for registers."],
        ["service", None, _options("dmtwisted.commands.service", "ServiceOptions"), "Be a service of Windows."],
        ["tax", None, _options("dmtwisted.commands.tax", "TaxOptions"), "Look at the tax service's certificates."],
        ["tls", None, _options("dmtwisted.commands.tls", "TlsOptions"), "Install, look at or make a certificate."],
        [
            "conform",
            None,
            _options("dmtwisted.commands.conform", "ConformOptions"),
            "Run the conformance suite on a driver.",
        ],
        ["bench", None, _options("dmtwisted.lab.bench.bench", "BenchOptions"), "Measure what a sale costs."],
        [
            "crashlab",
            None,
            _options("dmtwisted.lab.crash.command", "CrashlabOptions"),
            "Kill the service everywhere, and compare all books.",
        ],
        [
            "soak",
            None,
            _options("dmtwisted.lab.soak.command", "SoakOptions"),
            "Work for hours, and watch what grows.",
        ],
    ]

    def opt_version(self) -> None:
        """Print the version."""
        print(f"dmtwisted {__version__}")
        sys.exit(0)

    def postOptions(self) -> None:
        """Ask for a command when there is none."""
        if not self.subCommand:
            raise usage.UsageError("a command is expected")


RUN = {
    "run": "dmtwisted.commands.run",
    "simulate": "dmtwisted.commands.simulate",
    "doctor": "dmtwisted.commands.doctor",
    "ready": "dmtwisted.commands.ready",
    "backup": "dmtwisted.commands.backup",
    "restore": "dmtwisted.commands.backup",
    "db": "dmtwisted.commands.database",
    "signer": "dmtwisted.commands.signer",
    "service": "dmtwisted.commands.service",
    "tax": "dmtwisted.commands.tax",
    "tls": "dmtwisted.commands.tls",
    "conform": "dmtwisted.commands.conform",
    "bench": "dmtwisted.lab.bench.bench",
    "crashlab": "dmtwisted.lab.crash.command",
    "soak": "dmtwisted.lab.soak.command",
}
"""The module behind each command; its function ``run`` takes the options and returns the exit status."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    options = MainOptions()
    try:
        options.parseOptions(list(sys.argv[1:] if arguments is None else arguments))
    except usage.UsageError as error:
        print(f"{options}\ndmtwisted: {error}", file=sys.stderr)
        sys.exit(1)
    command = options.subCommand or ""
    sys.exit(import_module(RUN[command]).run(options.subOptions))


if __name__ == "__main__":
    main()
