"""``dmtwisted service``: the service of Windows, installed, looked at, removed (docs/windows.md)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

ELSEWHERE = "this command is for Windows; on Linux systemd keeps the service (packaging, docs/operating.md)"


class InstallOptions(usage.Options):
    """``dmtwisted service install``"""

    longdesc = "Install the service, or bring an installed one up to date. Needs an administrator."
    optParameters: ClassVar = [
        ["config", "c", None, "The configuration file; one is made in %ProgramData%\\dmtwisted when absent.", Path]
    ]
    optFlags: ClassVar = [["manual", None, "Begin only when somebody starts it, not with Windows."]]


class ServiceOptions(usage.Options):
    """``dmtwisted service``"""

    synopsis = "Usage: dmtwisted service install|remove|start|stop|status"
    subCommands: ClassVar = [
        ["install", None, InstallOptions, "Install it, or bring it up to date."],
        ["remove", None, usage.Options, "Stop and remove it; the data stay."],
        ["start", None, usage.Options, "Start it, and wait until it serves."],
        ["stop", None, usage.Options, "Stop it, and wait until it has ended."],
        ["status", None, usage.Options, "Tell whether it runs; status 3 when it does not."],
    ]

    def postOptions(self) -> None:
        """One of them has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to do: install, remove, start, stop or status")


def run(options: ServiceOptions, platform: str = sys.platform) -> int:
    """Do it; 1 and one line of why when it cannot be done."""
    if platform != "win32":
        print(f"dmtwisted: {ELSEWHERE}", file=sys.stderr)
        return 1
    from dmtwisted.windows import control

    wanted = options.subOptions
    commands: dict[str, Callable[[], list[str]]] = {
        "install": lambda: control.install(wanted["config"], manual=bool(wanted["manual"])),
        "remove": control.remove,
        "start": control.start,
        "stop": control.stop,
    }
    try:
        if options.subCommand == "status":
            runs, words = control.status()
            print(words)
            return 0 if runs else 3
        for line in commands[str(options.subCommand)]():
            print(line)
    except (control.ControlFailed, ImportError) as error:
        missing = "pywin32 is missing: pip install pywin32" if isinstance(error, ImportError) else str(error)
        print(f"dmtwisted: {missing}", file=sys.stderr)
        return 1
    return 0
