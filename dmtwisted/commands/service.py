"""``dmtwisted service``: install, start, stop and remove the Windows service (docs/windows.md)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from dmtwisted.commands.shared import CommandOptions, Group

ELSEWHERE = "this command is for Windows; on Linux systemd runs the service (docs/operating.md)"


class InstallOptions(CommandOptions):
    """``dmtwisted service install``"""

    longdesc = "Install or update the Windows service. Requires an administrator."
    optParameters: ClassVar = [
        ["config", "c", None, "The configuration file; by default one is created in %ProgramData%\\dmtwisted.", Path]
    ]
    optFlags: ClassVar = [["manual", None, "Do not start the service with Windows."]]


class ServiceOptions(Group):
    """``dmtwisted service``"""

    subCommands: ClassVar[list[Any]] = [
        ["install", None, InstallOptions, "Install or update the service."],
        ["remove", None, CommandOptions, "Stop and remove the service; its data stays."],
        ["start", None, CommandOptions, "Start the service and wait until it accepts requests."],
        ["stop", None, CommandOptions, "Stop the service and wait until it has ended."],
        ["status", None, CommandOptions, "Show the state of the service; exit status 3 when it does not run."],
    ]


def run(options: ServiceOptions, platform: str = sys.platform) -> int:
    """Run the sub-command; 1 after one line that says why it failed."""
    if platform != "win32":
        print(f"dmtwisted: {ELSEWHERE}", file=sys.stderr)
        return 1
    from dmtwisted.windows import control  # for Windows only

    wanted = options.subOptions
    commands: dict[str, Callable[[], list[str]]] = {
        "install": lambda: control.install(wanted["config"], manual=bool(wanted["manual"])),
        "remove": control.remove,
        "start": control.start,
        "stop": control.stop,
    }
    try:
        import_module("pywintypes")
        if options.subCommand == "status":
            runs, words = control.status()
            print(words)
            return 0 if runs else 3
        for line in commands[str(options.subCommand)]():
            print(line)
    except (control.ControlFailed, ImportError) as error:
        why = "pywin32 is missing: pip install pywin32" if isinstance(error, ImportError) else str(error)
        print(f"dmtwisted: {why}", file=sys.stderr)
        return 1
    return 0
